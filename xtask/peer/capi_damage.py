"""Damaged arrays, read through the C functions of tdb's library, which must neither crash nor hang.

    python3 cases.py --out CASES
    python3 capi_damage.py --lib LIBRARY.so --cases CASES --arrays ../fixtures/arrays --seed 1 --seconds 60

A seed chooses an array of the fixtures and what is damaged: bytes of a file change, a file ends early, is gone, or has the contents
of another one. All that `expect.py` reads of an array is read; errors are what is expected. The process that reads is another one: if
it dies or needs more than two minutes for an array, its seed is shown, and the exit code is 1.

Under the address sanitizer, in a build with RUSTFLAGS=-Zsanitizer=address for a named target, its library comes first:
LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 python3 capi_damage.py …
"""

import argparse
import faulthandler
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

SECONDS = 120


def damage(rng, folder):
    """Damages some files of an array; returns what was done."""
    done = []
    for _ in range(rng.choice([1, 1, 2, 4])):
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 0)
        if not files:
            break
        path = rng.choice(files)
        data = bytearray(path.read_bytes())
        kind = rng.choice(["bytes", "bytes", "bytes", "number", "end", "gone", "other"])
        if kind == "bytes":
            for _ in range(rng.choice([1, 1, 3, 16])):
                data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif kind == "number":
            # A count or an offset that is too large, or negative.
            at, size = rng.randrange(len(data)), rng.choice([4, 8])
            value = rng.choice([0, 1, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
            data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        elif kind == "end":
            del data[rng.randrange(len(data)) :]
        elif kind == "other":
            data = bytearray(rng.choice(files).read_bytes())
        if kind == "gone":
            path.unlink()
        else:
            path.write_bytes(data)
        done.append(f"{path.relative_to(folder)}: {kind}")
    return done


def child(args):
    import capi
    import expect

    faulthandler.enable()
    lib = capi.Lib(args.lib)
    cases = []
    for path in sorted(pathlib.Path(args.cases).glob("*.json")):
        folder = pathlib.Path(args.arrays, path.stem)
        found = json.loads(path.read_text())
        cases += [(folder / case["name"], case) for case in found if case.get("object") is None and (folder / case["name"]).is_dir()]
    work = pathlib.Path(tempfile.mkdtemp(prefix="damage."))
    begun, number, read = time.monotonic(), args.seed, 0
    try:
        while time.monotonic() - begun < args.seconds:
            rng = random.Random(number)
            place, case = rng.choice(cases)
            array = work / "array"
            shutil.rmtree(array, ignore_errors=True)
            shutil.copytree(place, array)
            done = damage(rng, array)
            print(number, case["id"], "; ".join(done), flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                expect.expect(lib, case, str(array), own="oracle" in case)
                read += 1
            except (capi.TileDBError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError, AssertionError):
                # An error of the library, or what this script makes of a schema that is another one now.
                pass
            faulthandler.cancel_dump_traceback_later()
            number += 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("end", number - args.seed, read, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--arrays", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args)
    end, seed, arrays, died = time.monotonic() + args.seconds, args.seed, 0, 0
    while (left := end - time.monotonic()) > 0:
        command = [sys.executable, __file__, "--child", "--lib", args.lib, "--cases", args.cases, "--arrays", args.arrays]
        command += ["--seed", str(seed), "--seconds", str(left)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        lines = done.stdout.splitlines() or [f"{seed} nothing"]
        panics = sorted({line.split("panicked at ")[1] for line in done.stderr.splitlines() if "panicked at " in line})
        for panic in panics:
            print(f"panic at {panic}")
        if lines[-1].startswith("end "):
            _, count, _ = lines[-1].split()
            arrays += int(count)
            died += len(panics)
            break
        last = lines[-1]
        print(f"the process ended with {done.returncode} at: {last}\n{done.stderr[-3000:]}", flush=True)
        died += 1
        arrays += int(last.split()[0]) - seed + 1
        seed = int(last.split()[0]) + 1
    print(f"{arrays} damaged arrays were read; {died} faults")
    sys.exit(1 if died else 0)


main()
