"""The libtiledb side of `cargo xtask conform publish`.

    python3 publish_peer.py --lib LIBTILEDB.so --release NAME --dir DIR --begin
    python3 publish_peer.py --lib LIBTILEDB.so --release NAME --dir DIR --go-on

With --begin, the library writes its `base` arrays twice: to DIR/plain/<case> and DIR/published/<case>. tdb then puts a manifest into
the second. With --go-on, the library does the same with both: it reads them, writes all cells of the case again at a later time, reads, consolidates,
reads, vacuums, reads. Each array is answered with a line of JSON: {"case", "plain": [...], "published": [...]}, a hash or the words
of an error for each of these.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys

import capi
import cases
import expect
import write


def chosen(release):
    return [case.done() for case in cases.base(release)]


def seen(lib, case, uri):
    """A hash of what the library reads."""
    case = dict(case, key=case.get("key"))
    found = expect.expect(lib, case, uri, own=True)
    return hashlib.sha256(json.dumps(found["queries"], sort_keys=True).encode()).hexdigest()[:16]


def attempt(run):
    try:
        return run()
    except capi.TileDBError as error:
        return "refused: %s" % str(error).replace("/plain/", "/./").replace("/published/", "/./")


def go_on(lib, case, uri):
    out = [attempt(lambda: seen(lib, case, uri))]
    again = [dict(s, t=s["t"] + 100) for s in case["steps"] if s["op"] == "write" and s.get("by", "writer") == "writer"]

    def take(steps):
        def run():
            for step in steps:
                write.run_step(lib, uri, case, step)
            return "done"
        out.append(attempt(run))
        out.append(attempt(lambda: seen(lib, case, uri)))

    take(again)
    take([{"op": "consolidate", "config": {}}])
    take([{"op": "vacuum", "config": {}}])
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True)
    parser.add_argument("--release", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--begin", action="store_true")
    parser.add_argument("--go-on", action="store_true")
    args = parser.parse_args()
    lib = capi.Lib(args.lib)
    for case in chosen(args.release):
        uris = {side: os.path.join(os.path.abspath(args.dir), side) for side in ("plain", "published")}
        if args.begin:
            # The names of fragments are random, so one array is a copy of the other.
            os.makedirs(uris["plain"], exist_ok=True)
            write.run_case(lib, case, uris["plain"], "writer")
            shutil.copytree(os.path.join(uris["plain"], case["name"]), os.path.join(uris["published"], case["name"]))
            print(json.dumps({"case": case["name"]}), flush=True)
        if args.go_on:
            answer = {side: go_on(lib, case, os.path.join(uri, case["name"])) for side, uri in uris.items()}
            print(json.dumps({"case": case["name"], **answer}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
