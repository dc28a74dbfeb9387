"""The libtiledb side of `cargo xtask conform maintenance`.

    python3 maintain_peer.py --lib LIBTILEDB.so --cases CASES.json --ours DIR --theirs DIR [--skip N]
    python3 maintain_peer.py --lib LIBTILEDB.so --look ARRAYS.json

CASES.json is a list of cases as write.py takes them, each with "windows": pairs of times. libtiledb takes the steps of each
case itself, in DIR/<name> of --theirs; tdb did in --ours. Both arrays are then read by libtiledb in every window, cells and
metadata. Each case is answered with a line of JSON: {"name", "outcome": "equal" | "differs" | "refused", "what", "skipped"},
where "skipped" are the maintenance steps that libtiledb refuses, with its words.

ARRAYS.json is a list of {"path", "windows"}. Each is answered with a line: for each window {"fields", "cells", "sum",
"metadata"}, the last two being sums of hashes, of cells and of metadata.
"""

import argparse
import base64
import json
import os
import shutil
import struct

import capi
import expect
import objects
import write

MAINTENANCE = ("consolidate", "vacuum", "group_consolidate", "group_vacuum")


def take_steps(lib, case, out):
    uri = os.path.join(out, case["name"])
    shutil.rmtree(uri, ignore_errors=True)
    skipped = []
    for step in case["steps"]:
        try:
            write.run_step(lib, uri, case, step)
        except capi.TileDBError as error:
            if step["op"] not in MAINTENANCE:
                raise
            skipped.append("%s %s: %s" % (step["op"], json.dumps(step["config"]), error))
    return skipped


def look(lib, uri, window):
    """Cells and metadata in a window, in an order that says nothing."""
    reader = expect.Reader(lib)
    array = lib.open(uri, capi.READ, window[1], window[0])
    try:
        schema = reader.schema(array)
        sparse = schema["array_type"] == "sparse"
        ranges = None if sparse else [[d["domain"][0], d["domain"][1]] for d in schema["dimensions"]]
        count, fields = reader.query(array, schema, "unordered" if sparse else "row-major", ranges)
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


def look_at_group(lib, uri, window):
    group = objects.open_group(lib, uri, capi.READ, window)
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


def sums(lib, uri, window):
    seen = look(lib, uri, window)
    hashes = sum(fnv([None if cell is None else bytes.fromhex(cell) for cell in row]) for row in seen["rows"])
    metadata = sum(fnv([e["key"].encode(), base64.b64decode(e["value"])]) for e in seen["metadata"])
    return {"fields": seen["fields"], "cells": len(seen["rows"]), "sum": "%016x" % (hashes % (1 << 64)),
            "metadata": "%016x" % (metadata % (1 << 64))}


def compare(lib, case, ours, theirs):
    for window in case["windows"]:
        a, b = [(look_at_group if case["group"] else look)(lib, os.path.join(side, case["name"]), window)
                for side in (ours, theirs)]
        for what in ("fields", "metadata", "rows"):
            if a[what] != b[what]:
                only = [[x for x in p if x not in q][:4] for p, q in ((a[what], b[what]), (b[what], a[what]))]
                return "%s in %s: tdb alone has %s, libtiledb alone %s" % (what, window, only[0], only[1])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--cases")
    parser.add_argument("--ours")
    parser.add_argument("--theirs")
    parser.add_argument("--look")
    parser.add_argument("--skip", type=int, default=0)
    args = parser.parse_args()
    lib = capi.Lib(args.lib)
    if args.look:
        with open(args.look) as handle:
            arrays = json.load(handle)
        expect.BUFFER = 1 << 22
        for array in arrays:
            print(json.dumps([sums(lib, array["path"], window) for window in array["windows"]]), flush=True)
        return
    with open(args.cases) as handle:
        cases = json.load(handle)
    expect.BUFFER = 1 << 16
    for case in cases[args.skip:]:
        answer = {"name": case["name"], "outcome": "equal", "what": "", "skipped": []}
        if lib.key != case["key"]:
            lib.set_key(case["key"])
        try:
            answer["skipped"] = take_steps(lib, case, args.theirs)
            different = compare(lib, case, args.ours, args.theirs)
            if different:
                answer.update(outcome="differs", what=different)
        except capi.TileDBError as error:
            answer.update(outcome="refused", what=str(error))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
