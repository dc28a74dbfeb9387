"""Makes the same cells for every side of `cargo xtask compare peers` and `cargo xtask compare sql`.

    python peers_data.py --out DIR [--only SUBSTRING] [--small]

DIR/raw has columns as plain numbers, DIR/tiledb arrays, DIR/parquet folders of files, one for each fragment. Arrays of Zarr are
made by benches/peers. What is there already is kept. Each part is built aside and renamed when it is complete. The content depends
on nothing but this file and `--small`, which makes a sixteenth of the cells.
"""

import argparse
import json
import os
import shutil
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tiledb

import compare_data

SPAN = 1_000_000
# Space tiles of 100,000 × 100,000: of four million cells, each has about as many as a data tile (`capacity`).
EXTENT = 100_000
CAPACITY = 50_000
# DuckDB's own size of row groups.
ROW_GROUP = 122_880
LEVEL = 3
POINTS = 100
NAMES = ["ENSG%011d" % (n * 7919) for n in range(2000)]


def zstd(*before):
    return tiledb.FilterList([*before, tiledb.ZstdFilter(LEVEL)])


def shuffled_zstd():
    return zstd(tiledb.ByteShuffleFilter())


def cells(count):
    """Cells at different places, in the order of tiles: x, y, and three attributes."""
    rng = np.random.default_rng(6)
    places = rng.permutation(np.unique(rng.integers(0, SPAN * SPAN, count + count // 50)))[:count]
    x, y = places // SPAN, places % SPAN
    order = np.lexsort((y, x, y // EXTENT, x // EXTENT))
    x, y = x[order], y[order]
    return {"x": x, "y": y, "k": rng.integers(0, 1000, count).astype(np.int32), "v": np.round(rng.random(count), 4),
            "w": np.round(np.sin(x / 1e5) + y / 1e6, 3)}


def words(count):
    """Short words of UTF-8, about twenty thousand different ones, at numbers in order."""
    rng = np.random.default_rng(3)
    syllables = np.array(["ka", "to", "mi", "ré", "sol", "fa", "lun", "zé", "bor", "an", "", "ost"], dtype=object)
    picks = rng.integers(0, len(syllables), (count, 4))
    return {"i": np.arange(count), "s": syllables[picks[:, 0]] + syllables[picks[:, 1]] + syllables[picks[:, 2]]
            + syllables[picks[:, 3]]}


def genes(count):
    """Two thousand names, each with as many numbers, in the order of the names."""
    each = count // len(NAMES)
    return {"gene": np.repeat(np.array(NAMES, dtype=object), each), "i": np.tile(np.arange(each), len(NAMES)),
            "v": np.round(np.sin(np.arange(each * len(NAMES)) / 1e4), 3)}


# -- arrays ---------------------------------------------------------------------------------------------------------


def dimension(name, high, extent):
    return tiledb.Dim(name=name, domain=(0, high - 1), tile=extent, dtype=np.int64, filters=shuffled_zstd())


def square_schema(duplicates):
    attrs = [tiledb.Attr(name=n, dtype=t, filters=zstd()) for n, t in (("k", np.int32), ("v", np.float64), ("w", np.float64))]
    return tiledb.ArraySchema(domain=tiledb.Domain(*[dimension(n, SPAN, EXTENT) for n in ("x", "y")]), attrs=attrs,
                              sparse=True, capacity=CAPACITY, allows_duplicates=duplicates)


def words_schema(count, coded):
    filters = zstd(tiledb.DictionaryFilter()) if coded else zstd()
    attr = tiledb.Attr(name="s", dtype="ascii" if coded else str, var=True, filters=filters)
    return tiledb.ArraySchema(domain=tiledb.Domain(dimension("i", count, CAPACITY)), attrs=[attr], sparse=True,
                              capacity=CAPACITY, offsets_filters=shuffled_zstd())


def genes_schema(count):
    gene = tiledb.Dim(name="gene", domain=(None, None), tile=None, dtype="ascii", filters=tiledb.FilterList([tiledb.RleFilter()]))
    attr = tiledb.Attr(name="v", dtype=np.float64, filters=zstd())
    number = dimension("i", count // len(NAMES), count // len(NAMES))
    return tiledb.ArraySchema(domain=tiledb.Domain(gene, number), attrs=[attr], sparse=True, capacity=CAPACITY)


def write_array(uri, schema, dims, parts):
    """An array with a fragment for each part."""
    tiledb.Array.create(uri, schema)
    for time_, part in enumerate(parts):
        place = tuple(part[name] for name in dims)
        with tiledb.open(uri, "w", timestamp=time_ + 1) as array:
            array[place] = {name: values for name, values in part.items() if name not in dims}


def write_files(folder, parts):
    os.makedirs(folder)
    for number, part in enumerate(parts):
        table = pa.table({name: pa.array(values, pa.string() if values.dtype == object else None)
                          for name, values in part.items()})
        pq.write_table(table, "%s/%04d.parquet" % (folder, number), compression="zstd", compression_level=LEVEL,
                       row_group_size=ROW_GROUP, write_page_index=True)


def split(columns, parts):
    """Parts of the cells, each over the whole domain and in the order of all."""
    if parts == 1:
        return [columns]
    owner = np.random.default_rng(7).integers(0, parts, len(next(iter(columns.values()))))
    return [{name: values[owner == part] for name, values in columns.items()} for part in range(parts)]


# -- what is made ---------------------------------------------------------------------------------------------------


def write_raw(folder, columns):
    os.makedirs(folder)
    for name, values in columns.items():
        if values.dtype == object:
            coded = [value.encode() for value in values]
            lengths = np.fromiter(map(len, coded), np.int64, len(coded))
            np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.uint64).tofile("%s/%s.offsets" % (folder, name))
            values = np.frombuffer(b"".join(coded), np.uint8)
        values.tofile("%s/%s" % (folder, name))


def points(columns):
    """Places of cells, far from each other in the order of tiles."""
    picks = np.linspace(0, len(columns["x"]) - 1, POINTS).astype(np.int64)
    return {name: columns[name][picks].tolist() for name in ("x", "y")}


def builds(small):
    """Path and builder of each part."""
    share = 16 if small else 1
    made = {}

    def once(make, *args):
        key = (make.__name__, args)
        if key not in made:
            made[key] = make(*args)
        return made[key]

    square, lines = lambda: once(cells, 4_000_000 // share), lambda: once(words, 2_000_000 // share)
    named = lambda: once(genes, 2_000_000 // share)
    side = compare_data.SIDE // (4 if small else 1)
    plane = lambda: once(compare_data.surface)[:side, :side]
    whole = lambda: np.ascontiguousarray(plane())
    numbers = lambda: (whole() * 100).astype(np.int32)
    shuffled = [tiledb.ByteShuffleFilter(), tiledb.ZstdFilter(LEVEL)]
    out = {
        "raw/plane": lambda path: write_raw(path, {"a": whole()}),
        "raw/plane_i32": lambda path: write_raw(path, {"a": numbers()}),
        "raw/cells": lambda path: write_raw(path, shuffle(square())),
        "raw/words": lambda path: write_raw(path, shuffle(lines())),
        "raw/append": lambda path: write_raw(path, {"a": (np.arange(100_000) * 7 % 1013).astype(np.int32)}),
        "raw/points.json": lambda path: json.dump(points(square()), open(path, "w")),
        "tiledb/dense_none": lambda path: compare_data.dense(path, whole(), []),
        "tiledb/dense_zstd": lambda path: compare_data.dense(path, whole(), [tiledb.ZstdFilter(LEVEL)]),
        "tiledb/dense_lz4": lambda path: compare_data.dense(path, whole(), [tiledb.LZ4Filter()]),
        "tiledb/dense_gzip": lambda path: compare_data.dense(path, whole(), [tiledb.GzipFilter(6)]),
        "tiledb/dense_i32": lambda path: compare_data.dense(path, numbers(), shuffled),
    }
    for fragments in (1, 4, 500):
        name = "cells_%d" % fragments
        parts = lambda fragments=fragments: split(square(), fragments)
        out["parquet/" + name] = lambda path, parts=parts: write_files(path, parts())
        for duplicates in (False, True):
            out["tiledb/" + name + ("_dups" if duplicates else "")] = lambda path, parts=parts, duplicates=duplicates: write_array(
                path, square_schema(duplicates), ("x", "y"), parts())
    out["parquet/words"] = lambda path: write_files(path, [lines()])
    out["parquet/genes"] = lambda path: write_files(path, [named()])
    count = 2_000_000 // share
    out["tiledb/words"] = lambda path: write_array(path, words_schema(count, False), ("i",), [lines()])
    out["tiledb/words_coded"] = lambda path: write_array(path, words_schema(count, True), ("i",), [coded(lines())])
    out["tiledb/genes"] = lambda path: write_array(path, genes_schema(count), ("gene", "i"), [named()])
    return out


def shuffle(columns):
    """The same cells in no order."""
    order = np.random.default_rng(8).permutation(len(next(iter(columns.values()))))
    return {name: values[order] for name, values in columns.items()}


def coded(columns):
    """The dictionary filter takes ASCII only in TileDB-Py; these are the bytes of the words."""
    return {"i": columns["i"], "s": np.array([value.encode() for value in columns["s"]], dtype=object)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    for name, build in builds(args.small).items():
        final = os.path.join(args.out, name)
        if args.only not in name or os.path.exists(final):
            continue
        os.makedirs(os.path.dirname(final), exist_ok=True)
        aside = "%s.%d.part" % (final, os.getpid())
        shutil.rmtree(aside, ignore_errors=True)
        start = time.time()
        build(aside)
        os.rename(aside, final)
        print("%-24s %5.1f s" % (name, time.time() - start), flush=True)


if __name__ == "__main__":
    main()
