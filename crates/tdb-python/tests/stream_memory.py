"""Measures the memory of a stream: `python stream_memory.py 1000` streams 1,000 MB, and prints what the process had at most.

A process of its own reads, so that nothing else is counted. What the interpreter has with numpy alone is told beside it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap

import numpy as np

import tdb

#: The cells of a tile.
TILE = 100_000

PROGRAM = """
    import json, sys, numpy
    def peak():
        return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10
    alone = peak()
    import tdb
    array = tdb.open(sys.argv[1])
    array.read(ranges={"x": (0, 10)}).to_numpy()
    before, cells, total, batches = peak(), 0, 0, 0
    for batch in array.stream(memory=sys.argv[2]):
        values = batch.to_numpy()["a"]
        cells, total, batches = cells + len(values), total + int(values.sum()), batches + 1
        # The batch before is freed before the next one is made.
        del values, batch
    print(json.dumps({"alone": alone, "before": before, "peak": peak(), "cells": cells, "total": total, "batches": batches}))
"""


def make(uri: str, count: int) -> None:
    """A dense array of so many compressible numbers, which are written in parts."""
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("x", (0, count - 1), "int64", tile=TILE)],
        [tdb.Attribute("a", "int64", filters="zstd(1)")],
    )
    array = tdb.create(uri, schema)
    part = 100 * TILE
    for first in range(0, count, part):
        array[first : min(first + part, count)] = np.arange(first, min(first + part, count)) % 1000


def measure(uri: str, memory: str) -> dict[str, int]:
    """Streams an array inside of so much memory: peaks in bytes (numpy alone, before and after), cells, their sum, batches."""
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), uri, memory]
    said: dict[str, int] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return said


def main() -> None:
    count = int(sys.argv[1] if len(sys.argv) > 1 else "1000") * 1_000_000 // 8
    with tempfile.TemporaryDirectory() as folder:
        make(f"{folder}/a", count)
        for memory in ("16MiB", "32MiB", "64MiB"):
            found = measure(f"{folder}/a", memory)
            mib = {name: round(found[name] / (1 << 20), 1) for name in ("alone", "before", "peak")}
            more = round(mib["peak"] - mib["alone"], 1)
            print(
                f"memory={memory}: {found['cells'] * 8 / 1e6:.0f} MB in {found['batches']} batches; peak {mib['peak']} MiB, "
                f"numpy alone {mib['alone']}, tdb before the stream {mib['before']}: {more} MiB more than numpy alone"
            )


if __name__ == "__main__":
    main()
