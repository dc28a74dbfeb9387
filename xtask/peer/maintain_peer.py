"""The libtiledb side of `cargo xtask conform maintenance`.

    python3 maintain_peer.py --lib LIBTILEDB.so --cases CASES.json --ours DIR --theirs DIR [--skip N]
    python3 maintain_peer.py --lib LIBTILEDB.so --turns CASES.json --ours DIR
    python3 maintain_peer.py --lib LIBTILEDB.so --look ARRAYS.json

CASES.json is a list of cases as write.py takes them, each with "windows": pairs of times. libtiledb takes the steps of each
case itself, in DIR/<name> of --theirs; tdb did in --ours. Both arrays are then read by libtiledb in every window, cells and
metadata. Each case is answered with a line of JSON: {"name", "outcome": "equal" | "known" | "differs" | "refused", "what", "skipped"},
where "skipped" are the maintenance steps that libtiledb refuses, with its words.

With --turns, questions come as lines of JSON: {"case": number, "step": number} to take a step of a case in DIR/<name>, or
{"case", "window", "order", "ignored"} to read. Each is answered with a line: what is read, or {"refused": words}.

ARRAYS.json is a list of {"path", "windows"}. Each is answered with a line: for each window {"fields", "cells", "sum",
"metadata"}, the last two being sums of hashes, of cells and of metadata.
"""

import argparse
import base64
import json
import os
import shutil
import signal
import struct
import sys
import time

import batches
import capi
import expect
import objects
import write
from random_cases import BUFFERS

MAINTENANCE = ("consolidate", "vacuum", "group_consolidate", "group_vacuum")


def take_step(lib, uri, case, step):
    if step["op"] == "consolidate":
        step = dict(step, config={**BUFFERS, **step["config"]})
    write.run_step(lib, uri, case, step)


def take_steps(lib, case, out):
    uri = os.path.join(out, case["name"])
    shutil.rmtree(uri, ignore_errors=True)
    skipped = []
    for step in case["steps"]:
        writes = step["op"] == "write" and case["schema"]["array_type"] == "dense"
        try:
            # Who starts this process looks at the last of these lines if libtiledb crashes.
            print("libtiledb writes a box" if writes else "libtiledb takes a step", file=sys.stderr, flush=True)
            take_step(lib, uri, case, step)
            print("libtiledb has taken a step", file=sys.stderr, flush=True)
        except capi.TileDBError as error:
            if step["op"] not in MAINTENANCE:
                raise
            skipped.append("%s %s: %s" % (step["op"], json.dumps(step["config"]), error))
    return skipped


def without(schema, ignored):
    """A schema without an attribute, whose values are not asked for."""
    return dict(schema, attributes=[own for own in schema["attributes"] if own["name"] != ignored])


def look(lib, uri, window, ignored, order="unordered"):
    """Cells and metadata in a window, read in an order, and sorted in one that says nothing."""
    reader = expect.Reader(lib)
    array = lib.open(uri, capi.READ, *([] if window is None else [window[1], window[0]]))
    try:
        schema = without(reader.schema(array), ignored)
        sparse = schema["array_type"] == "sparse"
        ranges = None if sparse else [[d["domain"][0], d["domain"][1]] for d in schema["dimensions"]]
        count, fields = reader.query(array, schema, order if sparse else "row-major", ranges)
        columns = []
        for name in sorted(fields):
            cells = reader.cells_of(fields[name], count)
            valid = fields[name].get("validity", b"\1" * count)
            columns.append([cell.hex() if ok else None for cell, ok in zip(cells, valid)])
        rows = list(zip(*columns)) if columns else []
        if sparse:
            rows.sort(key=lambda row: tuple("" if cell is None else cell for cell in row))
        metadata = sorted(reader.metadata(array), key=lambda entry: entry["key"])
        return {"fields": sorted(fields), "rows": rows, "metadata": metadata}
    finally:
        lib.close(array)


def turn(lib, cases, arrays, question):
    """One step of a case, or what libtiledb reads in a window and an order."""
    case = cases[question["case"]]
    if lib.key != case["key"]:
        lib.set_key(case["key"])
    uri = os.path.join(arrays, case["name"])
    if "step" in question:
        take_step(lib, uri, case, case["steps"][question["step"]])
        return {}
    reader, window = expect.Reader(lib), question["window"]
    array = lib.open(uri, capi.READ, *([] if window is None else [window[1], window[0]]))
    try:
        schema = without(reader.schema(array), question["ignored"])
        sparse = schema["array_type"] == "sparse"
        ranges = None if sparse else [[d["domain"][0], d["domain"][1]] for d in schema["dimensions"]]
        order = "row-major" if question["order"] == "unordered" and not sparse else question["order"]
        count, fields = reader.query(array, schema, order, ranges)
        columns = {}
        for name in fields:
            cells = reader.cells_of(fields[name], count)
            valid = fields[name].get("validity", b"\1" * count)
            columns[name] = [cell.hex() if ok else None for cell, ok in zip(cells, valid)]
        rows = [{name: column[at] for name, column in columns.items()} for at in range(count)]
        metadata = sorted([e["key"], base64.b64decode(e["value"]).hex()] for e in reader.metadata(array))
        return {"sparse": sparse, "rows": rows, "metadata": metadata}
    finally:
        lib.close(array)


def take_turns(lib, cases, arrays):
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, batches.MOST)
        signal.alarm(batches.MOST_WAITING)
        try:
            answer = turn(lib, cases, arrays, json.loads(line))
        except capi.TileDBError as error:
            answer = {"refused": str(error)}
        # no time is measured while tdb works
        signal.alarm(0)
        print(json.dumps(answer), flush=True)


def look_at_group(lib, uri, window):
    group = objects.open_group(lib, uri, capi.READ, window or [0, int(1000 * time.time())])
    try:
        members = sorted(m["name"] for m in objects.members(lib, group, uri))
        metadata = sorted(objects.metadata(lib, group), key=lambda entry: entry["key"])
        return {"fields": members, "rows": [], "metadata": metadata}
    finally:
        objects.close_group(lib, group)


def fnv(values):
    """FNV-1a of values, None being null, as xtask/src/conform/processes.rs does it."""
    value = 0xcbf29ce484222325
    for data in values:
        for byte in (b"\0" + b"\0" * 4 if data is None else b"\1" + struct.pack("<I", len(data)) + data):
            value = ((value ^ byte) * 0x100000001b3) & 0xffffffffffffffff
    return value


def places(seen, each):
    """The coordinates of each cell, in one text, and its hash."""
    at = [seen["fields"].index(name) for name in ("x", "y") if name in seen["fields"]]
    return [["".join(row[i] for i in at), value] for row, value in zip(seen["rows"], each)]


def sums(lib, uri, window, order):
    seen = look(lib, uri, window, None, order)
    each = [fnv([None if cell is None else bytes.fromhex(cell) for cell in row]) for row in seen["rows"]]
    metadata = sum(fnv([e["key"].encode(), base64.b64decode(e["value"])]) for e in seen["metadata"])
    return {"fields": seen["fields"], "cells": len(seen["rows"]), "sum": "%016x" % (sum(each) % (1 << 64)),
            "metadata": "%016x" % (metadata % (1 << 64))}, places(seen, each)


def older_version(case, fields, row):
    """Whether a row is a cell that a later write replaced, in a history with a purge: where a delete removed that later
    version, libtiledb's purge brings the older one back."""
    if not any("purge" in key for step in case["steps"] for key in step.get("config", {})):
        return False
    if any(d["type"] != "INT32" for d in case["schema"]["dimensions"]):
        return False
    names = [d["name"] for d in case["schema"]["dimensions"]]
    cell = dict(zip(fields, row))
    versions = []
    for step in case["steps"]:
        if step["op"] == "write":
            columns = {n: base64.b64decode(step["fields"][n]["data"]) for n in [*names, "a"]}
            for at in range(0, len(columns["a"]), 4):
                if all(columns[n][at:at + 4].hex() == cell[n] for n in names):
                    versions.append(columns["a"][at:at + 4].hex())
    return cell.get("a") in versions[:-1]


def purges_later(case, window):
    """Whether a purge comes after a delete of a time that the window does not reach: libtiledb's drops the cells that it is
    about, so that windows before the delete lack them too."""
    end = window[1] if window else time.time() * 1000
    later = False
    for step in case["steps"]:
        later = later or step["op"] == "delete" and step["t"] > end
        if later and any("purge" in key for key in step.get("config", {})):
            return True
    return False


def named(lib, case, uri, window, what, a, b):
    """What a difference is called that docs/correctness_issues.md tells of; None of others."""
    more = [x for x in b[what] if x not in a[what]]
    if not case["group"] and what == "rows" and not more and purges_later(case, window):
        return "\"Purges\": cells that a delete of a later time is about"
    if not more or any(x not in b[what] for x in a[what]):
        return None
    if case["group"] and what == "fields" and window and window[0] > 0:
        whole = look_at_group(lib, uri, [0, window[1]])["fields"]
        return "\"Group files\": members that are older than the window" if all(m in whole for m in more) else None
    if not case["group"] and what == "rows" and all(older_version(case, a["fields"], row) for row in more):
        return "\"Purges\": an older version of a deleted cell comes back"
    return None


def seen(lib, case, uri, window):
    """What is in an array or group; before there is one, the words of the library."""
    try:
        return look_at_group(lib, uri, window) if case["group"] else look(lib, uri, window, case["ignored"])
    except capi.TileDBError as error:
        if window is None or window[1] >= case["steps"][0].get("t", 0):
            raise
        return {"fields": [str(error).replace(uri, "")], "rows": [], "metadata": []}


def compare(lib, case, ours, theirs):
    """How what tdb left differs from what libtiledb left, and how that is called if it is known."""
    known = None
    for window in case["windows"]:
        a, b = [seen(lib, case, os.path.join(side, case["name"]), window) for side in (ours, theirs)]
        for what in ("fields", "metadata", "rows"):
            if a[what] != b[what]:
                name = named(lib, case, os.path.join(ours, case["name"]), window, what, a, b)
                if name is None:
                    only = [[x for x in p if x not in q][:4] for p, q in ((a[what], b[what]), (b[what], a[what]))]
                    return "%s in %s: tdb alone has %s, libtiledb alone %s" % (what, window, only[0], only[1]), None
                known = name
    return None, known


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--cases")
    parser.add_argument("--ours")
    parser.add_argument("--theirs")
    parser.add_argument("--look")
    parser.add_argument("--turns")
    parser.add_argument("--skip", type=int, default=0)
    args = parser.parse_args()
    lib = capi.Lib(args.lib)
    if args.look:
        with open(args.look) as handle:
            arrays = json.load(handle)
        expect.BUFFER = 1 << 22
        for array in arrays:
            order = array.get("order", "unordered")
            found = [sums(lib, array["path"], window, order) for window in array["windows"]]
            # Where it is asked for, with a hash of each cell.
            print(json.dumps([{**said, "each": each} if array.get("each") else said for said, each in found]), flush=True)
        return
    with open(args.turns or args.cases) as handle:
        cases = json.load(handle)
    expect.BUFFER = 1 << 16
    if args.turns:
        take_turns(lib, cases, args.ours)
        return
    for case in cases[args.skip:]:
        signal.setitimer(signal.ITIMER_PROF, 6 * batches.MOST)
        signal.alarm(2 * batches.MOST_WAITING)
        answer = {"name": case["name"], "outcome": "equal", "what": "", "skipped": []}
        if lib.key != case["key"]:
            lib.set_key(case["key"])
        try:
            answer["skipped"] = take_steps(lib, case, args.theirs)
            different, known = compare(lib, case, args.ours, args.theirs)
            if different or known:
                answer.update(outcome="differs" if different else "known", what=different or known)
        except capi.TileDBError as error:
            answer.update(outcome="refused", what=str(error))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
