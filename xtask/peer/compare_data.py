"""Builds the arrays that `cargo xtask compare` reads, with TileDB-Py.

    python compare_data.py --out DIR [--only SUBSTRING]

Arrays that are already there are kept. Each is built aside and renamed when it is complete, so that a broken run leaves
nothing that looks finished. The content depends on nothing but this file. About 1.5 GB.
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
WIDE = 100_000_000
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
    dims = [tiledb.Dim(name=n, domain=(0, len(data) - 1), tile=TILE, dtype=np.int64) for n in ("row", "col")]
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


def merged(uri, duplicates):
    """Eight million cells in four fragments, all over the domain."""
    zstd = tiledb.FilterList([tiledb.ZstdFilter()])
    coords = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter()])
    dims = [tiledb.Dim(name=n, domain=(0, WIDE - 1), tile=WIDE // 100, dtype=np.int64, filters=coords)
            for n in ("x", "y")]
    attr = tiledb.Attr(name="v", dtype=np.float64, filters=zstd)
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[attr], sparse=True, capacity=100_000,
                                                allows_duplicates=duplicates))
    rng = np.random.default_rng(4)
    for fragment in range(4):
        x, y = rng.integers(0, WIDE, 2_000_000), rng.integers(0, WIDE, 2_000_000)
        value = np.round(np.sin(x / 1e7) + y / 1e8 + rng.normal(0, 0.1, len(x)), 3) + fragment
        with tiledb.open(uri, "w", timestamp=fragment + 1) as array:
            array[x, y] = value


def scaled(uri, cells):
    """Cells in eight fragments, as `points` has them."""
    coords = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter()])
    dims = [tiledb.Dim(name=n, domain=(0, SPAN - 1), tile=SPAN // 100, dtype=np.int64, filters=coords)
            for n in ("x", "y")]
    attr = tiledb.Attr(name="v", dtype=np.float64, filters=tiledb.FilterList([tiledb.ZstdFilter()]))
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[attr], sparse=True, capacity=50_000))
    rng = np.random.default_rng(5)
    for fragment in range(8):
        places = np.unique(rng.integers(0, SPAN * SPAN, cells // 8))
        x, y = places // SPAN, places % SPAN
        with tiledb.open(uri, "w", timestamp=fragment + 1) as array:
            array[x, y] = np.round(np.sin(x / 1e5) + y / 1e6, 3) + fragment


def genes(uri):
    """Two thousand names by a thousand numbers, in two fragments."""
    gene = tiledb.Dim(name="gene", domain=(None, None), tile=None, dtype="ascii",
                      filters=tiledb.FilterList([tiledb.RleFilter()]))
    number = tiledb.Dim(name="i", domain=(0, 999), tile=1000, dtype=np.int64,
                        filters=tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter()]))
    attr = tiledb.Attr(name="v", dtype=np.float64, filters=tiledb.FilterList([tiledb.ZstdFilter()]))
    schema = tiledb.ArraySchema(domain=tiledb.Domain(gene, number), attrs=[attr], sparse=True, capacity=10_000)
    tiledb.Array.create(uri, schema)
    names = np.array(["ENSG%011d" % (n * 7919) for n in range(2000)], dtype="S")
    for fragment in range(2):
        numbers = np.arange(fragment, 1000, 2)
        gene, i = np.repeat(names, len(numbers)), np.tile(numbers, len(names))
        with tiledb.open(uri, "w", timestamp=fragment + 1) as array:
            array[gene, i] = np.round(np.sin(np.arange(len(i)) / 1e4), 3)


def measures(uri, duplicates):
    """Four million cells with two attributes to ask for, in four fragments."""
    coords = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter()])
    dims = [tiledb.Dim(name=n, domain=(0, SPAN - 1), tile=SPAN // 100, dtype=np.int64, filters=coords)
            for n in ("x", "y")]
    zstd = tiledb.FilterList([tiledb.ZstdFilter()])
    attrs = [tiledb.Attr(name=n, dtype=t, filters=zstd) for n, t in (("k", np.int32), ("v", np.float64), ("w", np.float64))]
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=attrs, sparse=True, capacity=50_000,
                                                allows_duplicates=duplicates))
    rng = np.random.default_rng(6)
    for fragment in range(4):
        places = np.unique(rng.integers(0, SPAN * SPAN, 1_000_000))
        x, y = places // SPAN, places % SPAN
        values = {"k": rng.integers(0, 1000, len(x)).astype(np.int32), "v": np.round(rng.random(len(x)), 4),
                  "w": np.round(np.sin(x / 1e5) + y / 1e6, 3)}
        with tiledb.open(uri, "w", timestamp=fragment + 1) as array:
            array[x, y] = values


def fragments(uri, count, consolidated):
    dim = tiledb.Dim(name="i", domain=(0, count * 100 - 1), tile=100, dtype=np.int64)
    attr = tiledb.Attr(name="a", dtype=np.int32, filters=tiledb.FilterList([tiledb.ZstdFilter()]))
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=tiledb.Domain(dim), attrs=[attr]))
    for fragment in range(count):
        start = fragment * 100
        with tiledb.open(uri, "w", timestamp=fragment + 1) as array:
            array[start:start + 100] = (np.arange(start, start + 100) * 7 % 1013).astype(np.int32)
    if consolidated:
        tiledb.consolidate(uri, config=tiledb.Config({"sm.consolidation.mode": "fragment_meta"}))


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
        "dense_1": lambda uri: dense(uri, data()[:1280, :1280], [tiledb.ZstdFilter()]),
        "dense_4": lambda uri: dense(uri, data()[:2560, :2560], [tiledb.ZstdFilter()]),
        "scaled_1": lambda uri: scaled(uri, 250_000),
        "scaled_4": lambda uri: scaled(uri, 1_000_000),
        "scaled_16": lambda uri: scaled(uri, 4_000_000),
        "merged": lambda uri: merged(uri, False),
        "merged_dups": lambda uri: merged(uri, True),
        "measures": lambda uri: measures(uri, False),
        "measures_dups": lambda uri: measures(uri, True),
        "genes": genes,
        "fragments_5000": lambda uri: fragments(uri, 5000, False),
        "fragments_5000_meta": lambda uri: fragments(uri, 5000, True),
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
