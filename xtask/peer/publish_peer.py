"""The libtiledb side of `cargo xtask conform publish`.

    python3 publish_peer.py --lib LIBTILEDB.so --newest LIBTILEDB.so --release NAME --dir DIR --begin
    python3 publish_peer.py --lib LIBTILEDB.so --newest LIBTILEDB.so --release NAME --dir DIR --go-on

With --begin, the library writes a dense and a sparse array to DIR/plain/<case>, and they are copied to DIR/published/<case>. tdb then
puts a manifest into the copy. With --go-on, the library does the same with both: it reads, writes again, reads, consolidates, reads,
vacuums, reads. What 1.x leaves of sparse arrays the newest release reads. Each array is answered with a line of JSON: {"case", "plain": [...], "published": [...]}, a hash or the words
of an error for each of these. Each is done by a process of its own.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys

import capi
import cases
import expect
import write

SECONDS = 20
TIMES = 8


def chosen(release):
    return [case.done() for case in cases.base(release) if case.d["name"] in ("base_dense", "base_sparse")]


def seen(lib, case, uri):
    """A hash of what the library reads."""
    found = expect.expect(lib, case, uri, own=True)
    return hashlib.sha256(json.dumps(found["queries"], sort_keys=True).encode()).hexdigest()[:16]


def once(library, run):
    """What a process of its own answers: releases crash, or never come back from work on arrays of their own."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            answer = run(capi.Lib(library))
        except capi.TileDBError as error:
            answer = "refused: %s" % str(error).replace("/plain/", "/./").replace("/published/", "/./")
        os.write(there, answer.encode()[:4000])
        os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        answer = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return answer if status == 0 else "ended by signal %d" % (status & 127)


def is_answer(answer):
    return not answer.startswith("ended") and "did not complete" not in answer


def attempt(library, run):
    """What a library reads, and how often it failed before it did."""
    for failures in range(TIMES):
        answer = once(library, run)
        if is_answer(answer):
            return answer, failures
    return answer, TIMES


def go_on(library, newest, case, uri):
    # of the coordinates of old releases the reader here knows nothing
    old = case["lib"].startswith("1.") and case["schema"]["array_type"] == "sparse"
    reader = newest if old else library
    # the first write once more covers the second: what is read changes
    again = [dict(s, t=s["t"] + 100) for s in case["steps"] if s["op"] == "write"][:1]

    def take(steps):
        def run(lib):
            for step in steps:
                write.run_step(lib, uri, case, step)
            return "done"
        return [(once(library, run), 0), attempt(reader, read)]

    def read(lib):
        return seen(lib, case, uri)

    # 2.8 to 2.17 read beyond a buffer where they read this dense array: bytes that depend on the path, or a crash
    beyond = case["schema"]["array_type"] == "dense" and (2, 8) <= cases.vt(case["lib"]) <= (2, 17)
    out = [attempt(newest if beyond else reader, read)]
    for steps in (again, [{"op": "consolidate", "config": {}}], [{"op": "vacuum", "config": {}}]):
        out += take(steps)
    return out


def compared(plain, published):
    """The answers of both sides. 2.8 to 2.17 crash now and then when they read the dense array as it was first written (double free), with
    a manifest and without: where one side crashed always, and the other at least once, neither is an answer."""
    def side(own, other):
        crashed = not is_answer(own[0]) or not is_answer(other[0])
        return "no answer" if crashed and own[1] and other[1] else own[0]
    return {"plain": [side(*both) for both in zip(plain, published)],
            "published": [side(*both) for both in zip(published, plain)]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True)
    parser.add_argument("--newest", required=True)
    parser.add_argument("--release", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--begin", action="store_true")
    parser.add_argument("--go-on", action="store_true")
    args = parser.parse_args()
    for case in chosen(args.release):
        uris = {side: os.path.join(os.path.abspath(args.dir), side) for side in ("plain", "published")}
        if args.begin:
            # The names of fragments are random, so one array is a copy of the other.
            os.makedirs(uris["plain"], exist_ok=True)
            write.run_case(capi.Lib(args.lib), case, uris["plain"], "writer")
            shutil.copytree(os.path.join(uris["plain"], case["name"]), os.path.join(uris["published"], case["name"]))
            print(json.dumps({"case": case["name"]}), flush=True)
        if args.go_on:
            answer = {side: go_on(args.lib, args.newest, case, os.path.join(uri, case["name"])) for side, uri in uris.items()}
            print(json.dumps({"case": case["name"], **compared(**answer)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
