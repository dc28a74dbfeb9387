"""Builds the arrays that `cargo xtask compare` reads, with TileDB-Py.

    python compare_data.py --out DIR [--only SUBSTRING]

Arrays that are already there are kept. Each is built aside and renamed when it is complete, so that a broken run leaves
nothing that looks finished. The content depends on nothing but this file. About 1 GB.
"""

import argparse
import os
import shutil
import time

import numpy as np
import tiledb

SIDE = 5120
TILE = 512
POINTS = 510_000  # a fragment
FRAGMENTS = 8
SPAN = 1_000_000
STRINGS = 2_000_000
SMALL = 500
SMALL_CELLS = 1000


def surface():
    """A smooth surface with noise, in steps of 0.01: what a sensor grid looks like."""
    rng = np.random.default_rng(1)
    y, x = np.ogrid[0:SIDE, 0:SIDE]
    smooth = 15 + 10 * np.sin(x / 300.0) * np.cos(y / 450.0) + 3 * np.sin((x + y) / 90.0)
    return np.round(smooth + rng.normal(0, 0.05, (SIDE, SIDE)), 2)


def dense(uri, data, filters):
    dims = [tiledb.Dim(name=n, domain=(0, SIDE - 1), tile=TILE, dtype=np.int64) for n in ("row", "col")]
    attr = tiledb.Attr(name="a", dtype=data.dtype, filters=tiledb.FilterList(filters))
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[attr]))
    with tiledb.open(uri, "w") as array:
        array[:] = data


def points(uri, duplicates):
    zstd = tiledb.FilterList([tiledb.ZstdFilter()])
    coords = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter()])
    dims = [tiledb.Dim(name=n, domain=(0, SPAN - 1), tile=SPAN // 100, dtype=t, filters=coords)
            for n, t in (("x", np.int64), ("y", np.int64))]
    attr = tiledb.Attr(name="v", dtype=np.float64, filters=zstd)
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[attr], sparse=True, capacity=50_000,
                                                allows_duplicates=duplicates))
    rng = np.random.default_rng(2)
    before = np.empty(0, np.int64)
    for fragment in range(FRAGMENTS):
        # One cell in a hundred was written by the fragment before, too: later ones must win.
        again = before[::100]
        cells = np.unique(np.concatenate([rng.integers(0, SPAN * SPAN, POINTS), again]))
        before = cells
        x, y = cells // SPAN, cells % SPAN
        value = np.round(np.sin(x / 1e5) + y / 1e6 + rng.normal(0, 0.1, len(cells)), 3) + fragment
        with tiledb.open(uri, "w", timestamp=fragment + 1) as array:
            array[x, y] = value


def many(uri):
    dim = tiledb.Dim(name="i", domain=(0, SMALL * SMALL_CELLS - 1), tile=SMALL_CELLS, dtype=np.int64)
    attr = tiledb.Attr(name="a", dtype=np.int32, filters=tiledb.FilterList([tiledb.ZstdFilter()]))
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=tiledb.Domain(dim), attrs=[attr]))
    for fragment in range(SMALL):
        start = fragment * SMALL_CELLS
        with tiledb.open(uri, "w", timestamp=fragment + 1) as array:
            array[start:start + SMALL_CELLS] = (np.arange(start, start + SMALL_CELLS) * 7 % 1013).astype(np.int32)


def words():
    rng = np.random.default_rng(3)
    syllables = ["ka", "to", "mi", "ré", "sol", "fa", "lun", "zé", "bor", "an", "", "ost"]
    picks = rng.integers(0, len(syllables), (STRINGS, 4))
    return np.array(["".join([syllables[a], syllables[b], syllables[c], syllables[d]]) for a, b, c, d in picks.tolist()],
                    dtype=object)


def strings(uri, sparse):
    dim = tiledb.Dim(name="i", domain=(0, STRINGS - 1), tile=100_000, dtype=np.int64,
                     filters=tiledb.FilterList([tiledb.ZstdFilter()]))
    attr = tiledb.Attr(name="s", dtype=str, var=True, filters=tiledb.FilterList([tiledb.ZstdFilter()]))
    offsets = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter()])
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=tiledb.Domain(dim), attrs=[attr], sparse=sparse, capacity=100_000,
                                                offsets_filters=offsets))
    text = words()
    if not sparse:
        with tiledb.open(uri, "w") as array:
            array[:] = text
        return
    for fragment in range(4):  # interleaved: every fourth cell
        with tiledb.open(uri, "w", timestamp=fragment + 1) as array:
            array[np.arange(fragment, STRINGS, 4)] = text[fragment::4]


def arrays():
    shuffled = [tiledb.ByteShuffleFilter(), tiledb.ZstdFilter()]
    cache = []

    def data():
        if not cache:
            cache.append(surface())
        return cache[0]

    return {
        "dense_none": lambda uri: dense(uri, data(), []),
        "dense_zstd": lambda uri: dense(uri, data(), [tiledb.ZstdFilter()]),
        "dense_lz4": lambda uri: dense(uri, data(), [tiledb.LZ4Filter()]),
        "dense_gzip": lambda uri: dense(uri, data(), [tiledb.GzipFilter()]),
        "dense_i32": lambda uri: dense(uri, (data() * 100).astype(np.int32), shuffled),
        "points": lambda uri: points(uri, False),
        "points_dups": lambda uri: points(uri, True),
        "fragments": many,
        "strings_dense": lambda uri: strings(uri, False),
        "strings_sparse": lambda uri: strings(uri, True),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name, build in arrays().items():
        final = os.path.join(args.out, name)
        if args.only not in name or os.path.isdir(final):
            continue
        aside = "%s.%d.part" % (final, os.getpid())
        shutil.rmtree(aside, ignore_errors=True)
        start = time.time()
        build(aside)
        os.rename(aside, final)
        print("%-16s %5.1f s" % (name, time.time() - start), flush=True)


if __name__ == "__main__":
    main()
