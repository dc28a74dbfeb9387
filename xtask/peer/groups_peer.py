"""The libtiledb side of `cargo xtask conform groups`.

    python3 groups_peer.py --out DIR --seed S --cases N [--skip K] [--only CASE] [--versions V,...]

Case i is a tree of random groups with arrays in it, in DIR/<i>, which one release of libtiledb, or two, write: members of odd names and
places, by relative and absolute URIs, which go and come again, nested groups, metadata of all types and sizes. Releases run in processes
of their own (live.py); 2.30 reads. One line of JSON a case:

    {"case": i, "by": releases, "steps": [...], "refused": text}            a release does not write it, or crashes
    {"case": i, "by", "steps", "looks": [{"path", "timestamps", "members", "metadata"} or {..., "refused": text}]}
"""

import argparse
import ctypes as C
import json
import os
import sys

import capi
import fetch
import live
import objects
import reads_states
from cases import READER, Rng, attr, dim, vt

WRITERS = ["2.8.2", "2.9.5", "2.11.3", "2.12.3", "2.14.0", "2.15.4", "2.16.3", "2.17.4", "2.19.2", READER, READER]
# of folders
PLACES = ["a", "b", "a b", " lead", "100%", "%2F", "%41", "%", "\u00e4\u20ac", "e\u0301", "\u00e9", "\U0001F600", "a+b&c=d", "#x", "q?x=1",
          "x" * 150, "tab\there", "a\\b", "-1", "'", "\"", "*", "x.tdb", "__x", "~", "a:b", "[1]", "{}", "A"]
# of members, besides those
NAMES = PLACES + ["a/b", "/", "..", ".", "../up", "/abs", "file:///x", "s3://bucket/x", " ", "name", "Name", "", "x" * 2000, "new\nline", "\u200b"]
CLOCK = (2, 10)


def case(rng, number, versions):
    first = rng.pick(versions)
    later = [v for v in versions if vt(v) >= vt(first) and v != first]
    second = rng.pick(later) if later and rng.below(2) else None
    steps = [{"op": "group_create", "path": ""}]
    made, groups = {}, [""]
    schema = {"array_type": "sparse", "allows_dups": False, "dimensions": [dim("d", "INT32", 0, 9, 5)], "attributes": [attr("a")]}
    t = 100
    held = {"": {}}

    def make(by):
        parent = rng.pick(groups)
        name = rng.pick(PLACES)
        path = os.path.join(parent, name)
        if path in made or len(path) > 400:
            return
        made[path] = rng.pick(["group", "array", "array"])
        if made[path] == "group":
            groups.append(path)
            held[path] = {}
        steps.append(by({"op": "%s_create" % made[path], "path": path}))

    def alter(by, v):
        nonlocal t
        path = rng.pick(groups + [""] * 2)
        own = held[path]
        step = {"op": "group_change", "t": t, "path": path, "members": [], "remove": [], "puts": [], "deletes": []}
        if own and rng.below(2):
            key = rng.pick(sorted(own))
            if not key.startswith("file://"):
                step["remove"] = [key]
                del own[key]
        candidates = [p for p in made if p != path]
        for place in rng.sample(candidates, rng.between(0, 3)):
            below = os.path.relpath(place, path or ".") if not path or place.startswith(path + "/") else None
            relative = below is not None and rng.below(3) > 0
            name = rng.pick(NAMES) if rng.below(4) else None
            uri = below if relative else place
            key = name if name is not None else below if relative else "file://"
            if key in own or key in step["remove"] or key == "file://" and vt(v) < (2, 12) and rng.below(2):
                continue
            if key != "file://":
                own[key] = place
            step["members"].append([uri, relative, name])
        for _ in range(rng.pick([0, 0, 1, 3])):
            value = dict({"key": rng.pick(reads_states.KEYS)}, **reads_states.value(rng))
            # a type that a release does not know takes no bytes in what it writes
            if value["type"] in ("GEOM_WKB", "GEOM_WKT") and v != READER or value["type"] in ("BLOB", "BOOL") and vt(v) < CLOCK:
                value["type"] = "UINT8"
            if value["num"]:
                step["puts"].append(value)
        if rng.below(4) == 0:
            step["deletes"] = [k for k in rng.sample(reads_states.KEYS, 2) if all(p["key"] != k for p in step["puts"])]
        if any(step[k] for k in ("members", "remove", "puts", "deletes")):
            steps.append(by(step))
            t += rng.pick([0, 1, 5, 10]) if vt(v) >= (2, 19) else rng.pick([1, 5, 10])

    for v in [first, second] if second else [first]:
        by = (lambda s: s) if v == first else (lambda s, v=v: dict(s, by=v))
        for _ in range(rng.between(1, 5)):
            make(by)
        for _ in range(rng.between(1, 5)):
            alter(by, v)
            if rng.below(3) == 0:
                make(by)
        if rng.below(4) == 0 and vt(v) >= CLOCK:
            path = rng.pick(groups)
            steps.append(by({"op": "group_consolidate", "path": path}))
            if rng.below(2):
                steps.append(by({"op": "group_vacuum", "path": path}))
    return {"name": str(number), "lib": first, "object": "group", "schema": schema, "steps": steps}, [first] + ([second] if second else [])


def look(lib, uri, path, window):
    """What the library says of a group at a time."""
    out = {"path": path, "timestamps": window}
    try:
        group = objects.open_group(lib, os.path.join(uri, path).rstrip("/"), capi.READ, window)
    except capi.TileDBError as error:
        return dict(out, refused=str(error))
    members = []
    for i in range(lib.get(C.c_uint64, "group_get_member_count", group)):
        entry = objects.member(lib, group, i)
        if entry["name"] is not None:
            try:
                entry["relative"] = bool(lib.get(C.c_uint8, "group_get_is_relative_uri_by_name", group, entry["name"].encode()))
            except capi.TileDBError:
                pass
        members.append(entry)
    try:
        out.update(members=members, metadata=objects.metadata(lib, group))
    except capi.TileDBError as error:
        out.update(refused=str(error))
    objects.close_group(lib, group)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--versions", default=",".join(WRITERS))
    args = parser.parse_args()
    out = os.path.abspath(args.out)
    os.makedirs(out, exist_ok=True)
    servers = {}
    lib = capi.Lib(fetch.fetch(READER))
    say = lambda **more: print(json.dumps(more), flush=True)
    for number in range(args.skip, args.cases) if args.only is None else [args.only]:
        made, versions = case(Rng("groups/%d/%d" % (args.seed, number)), number, args.versions.split(","))
        shown = [{k: [p["key"] for p in v] if k == "puts" else v for k, v in s.items()} for s in made["steps"]]
        uri = os.path.join(out, made["name"])
        for step in made["steps"]:
            for member in step.get("members", []):
                member[0] = member[0] if member[1] else os.path.join(uri, member[0])
        refused = None
        for by, v in zip(["writer"] + versions[1:], versions):
            if v not in servers:
                servers[v] = live.Server(v)
            answer = servers[v].ask({"do": "write", "case": made, "by": by, "arrays": out})
            if answer["code"]:
                refused = "libtiledb %s: %s" % (v, answer["text"][-300:] or answer["code"])
                break
        if refused:
            say(case=number, by=versions, steps=shown, refused=refused)
            continue
        looks = [look(lib, uri, s["path"], [None, None]) for s in made["steps"] if s["op"] == "group_create"]
        changes = [s for s in made["steps"] if s["op"] == "group_change"]
        if all(vt(v) >= CLOCK for v in versions) and changes:
            for path in sorted({s["path"] for s in changes}):
                times = sorted({s["t"] for s in changes if s["path"] == path})
                windows = [[None, times[0] - 1], [None, times[0]], [None, times[len(times) // 2]], [times[len(times) // 2], None]]
                looks += [look(lib, uri, path, window) for window in windows]
        say(case=number, by=versions, steps=shown, looks=looks)
    for server in servers.values():
        server.close()


if __name__ == "__main__":
    sys.exit(main())
