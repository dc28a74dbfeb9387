"""A side of `cargo xtask compare python`: what people write with TileDB-Py, and with tdb.

    python python_peer.py tdb|tiledb --threads N

Reads requests from standard input, one line of JSON each, and answers with seconds and the number of cells. The last result is
kept; `hash` compares it with the other side's. Both sides return the same things: arrays of numpy, tables of pandas.
"""

import json
import shutil
import sys
import tempfile
import time

import numpy as np
import pandas as pd

#: Cells that are read one by one.
CELLS = 1000


class Tdb:
    def __init__(self, threads):
        import tdb

        self.tdb, self.threads, self.version = tdb, threads, tdb.__version__

    def open(self, uri):
        return self.tdb.open(uri, threads=self.threads)

    def whole(self, uri):
        return self.open(uri)[:]

    def window(self, uri, rows, columns):
        return self.open(uri)[rows[0] : rows[1], columns[0] : columns[1]]

    def cells(self, uri, places):
        A = self.open(uri)
        return np.array([A[row, column] for row, column in places])

    def df(self, uri):
        return self.open(uri).read().to_pandas()

    def query(self, uri, cond):
        return self.open(uri).read(where=cond).to_numpy()

    def from_pandas(self, uri, frame, index):
        self.tdb.from_pandas(uri, frame, index=index, filters="zstd(1)", capacity=100_000, threads=self.threads)


class TileDB:
    def __init__(self, threads):
        import tiledb

        self.tiledb, self.version = tiledb, ".".join(map(str, tiledb.libtiledb.version()))
        self.ctx = tiledb.Ctx({name: str(threads) for name in ("sm.compute_concurrency_level", "sm.io_concurrency_level")})

    def open(self, uri):
        return self.tiledb.open(uri, ctx=self.ctx)

    def whole(self, uri):
        with self.open(uri) as A:
            found = A[:]
        return next(iter(found.values())) if isinstance(found, dict) else found

    def window(self, uri, rows, columns):
        with self.open(uri) as A:
            found = A[rows[0] : rows[1], columns[0] : columns[1]]
        return found["a"] if isinstance(found, dict) else found

    def cells(self, uri, places):
        with self.open(uri) as A:
            found = [A[row, column] for row, column in places]
        return np.array([one["a"] if isinstance(one, dict) else one for one in found])

    def df(self, uri):
        with self.open(uri) as A:
            return A.df[:]

    def query(self, uri, cond):
        with self.open(uri) as A:
            return A.query(cond=cond)[:]

    def from_pandas(self, uri, frame, index):
        zstd = self.tiledb.FilterList([self.tiledb.ZstdFilter(1)])
        self.tiledb.from_pandas(
            uri, frame, index_dims=index, sparse=True, attr_filters=zstd, capacity=100_000, allows_duplicates=True, ctx=self.ctx
        )


def frame(kind):
    """A table of a million rows."""
    rng = np.random.default_rng(7)
    rows = 1_000_000
    found = {"x": rng.integers(0, 1_000_000, rows), "y": rng.integers(0, 1_000, rows), "v": np.round(rng.random(rows), 3)}
    if kind == "texts":
        found["name"] = np.array([f"name-{at}" for at in range(1000)], object)[rng.integers(0, 1000, rows)]
    return pd.DataFrame(found)


def digest(result):
    """A number for the cells: of arrays with their places, of tables and dictionaries in any order."""
    if isinstance(result, np.ndarray):
        values = result.ravel()
        mixed = pd.util.hash_array(values) * (np.arange(len(values), dtype=np.uint64) * np.uint64(2) + np.uint64(1))
        return f"{result.shape} {result.dtype} {int(mixed.sum(dtype=np.uint64))}"
    table = result if isinstance(result, pd.DataFrame) else pd.DataFrame({name: list(one) if one.ndim > 1 else one for name, one in result.items()})
    if table.index.names != [None]:
        # TileDB-Py makes an index of the dimensions again.
        table = table.reset_index()
    table = table[sorted(table.columns)]
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            table[name] = [one.decode() if isinstance(one, bytes) else one for one in table[name]]
    return f"{list(table.columns)} {len(table)} {int(pd.util.hash_pandas_object(table, index=False).sum(skipna=False))}"


def answer(side, request, kept):
    op = request["op"]
    if op == "hash":
        return {"hash": digest(kept["result"])}
    kept.clear()
    if op == "from_pandas":
        kind = request["kind"]
        if kind not in FRAMES:
            FRAMES[kind] = frame(kind)
        folder = tempfile.mkdtemp(dir="/dev/shm")
        try:
            begun = time.perf_counter()
            side.from_pandas(f"{folder}/a", FRAMES[kind], request["index"])
            seconds = time.perf_counter() - begun
            kept["result"] = side.df(f"{folder}/a")
        finally:
            shutil.rmtree(folder)
    else:
        given = {name: value for name, value in request.items() if name not in ("op", "first", "side")}
        if op == "cells":
            rng = np.random.default_rng(3)
            given["places"] = [tuple(map(int, one)) for one in rng.integers(request["first"], request["first"] + request["side"], (CELLS, 2))]
        begun = time.perf_counter()
        kept["result"] = getattr(side, op)(**given)
        seconds = time.perf_counter() - begun
    result = kept["result"]
    one = next(iter(result.values())) if isinstance(result, dict) else result
    return {"seconds": seconds, "cells": int(one.size if isinstance(one, np.ndarray) else len(one))}


FRAMES = {}


def main():
    threads = int(sys.argv[sys.argv.index("--threads") + 1])
    side = {"tdb": Tdb, "tiledb": TileDB}[sys.argv[1]](threads)
    kept = {}
    print(json.dumps({"version": side.version}), flush=True)
    for line in sys.stdin:
        try:
            said = answer(side, json.loads(line), kept)
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
