"""What the peers have in common that take a batch of cases and answer each in a line: `conform_peer.py`, `writes_peer.py`."""

import argparse
import json
import os
import signal

import capi

# Seconds that a case may take, of the processor and of the clock: a library that hangs is ended by the signal, as if it crashed.
MOST, MOST_WAITING = 5, 300


def main(description, answer):
    """Answers the cases of a batch: `answer(lib, op, arrays, case, blob)`, where blob is the batch's file of cells."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--batch", required=True)
    parser.add_argument("--arrays", required=True)
    parser.add_argument("--op", required=True, choices=["read", "write"])
    parser.add_argument("--skip", type=int, default=0)
    args = parser.parse_args()
    with open(os.path.join(args.batch, "cases.json")) as file:
        cases = json.load(file)
    with open(os.path.join(args.batch, "cells"), "rb") as file:
        blob = file.read()
    libs = {}
    for case in cases[args.skip:]:
        signal.setitimer(signal.ITIMER_PROF, MOST)
        signal.alarm(MOST_WAITING)
        key = case["key"]
        if key not in libs:
            libs[key] = capi.Lib(args.lib, {"sm.memory_budget": 1 << 30}, key)
        print(json.dumps(answer(libs[key], args.op, args.arrays, case, blob)), flush=True)
