"""Lists the stored chunks that reads of `cargo xtask compare peers` need, without tdb: for the column "limit".

    python peers_limit.py < REQUESTS

REQUESTS is a list of {"out", "array", "kind", "fields", "dimensions", "ranges", "points", "terms", "parquet", "side", "answer",
"duplicates"}. For each, OUT gets the list that benches/peers/src/limit.rs reads, empty if no chunk is needed. What is in an array is
known from peers_data.py: the cells of each fragment lie in the order of the file of Parquet that has the same cells. A chunk is needed

- in a dense array, if it has a wanted cell;
- in a sparse one, for coordinates, if its tile's rectangle meets the ranges and a cell of it satisfies the ranges of the dimensions
  before; for fields of a condition, if a cell of it satisfies the terms before; for all other fields, if it has a wanted cell.

Where "answer" is not "cells", no cell is returned: "groups" and "distinct" look at all cells of their fields, "totals" at the wanted
cells of tiles that ranges cut; statistics say the rest. Without duplicates, these also need the coordinates of tiles that meet a tile of
another fragment. (No cell is there twice, which only these show.)
"""

import glob
import json
import os
import struct
import sys

import numpy as np
import pyarrow.parquet as pq

import compare_data
from peers_data import CAPACITY

# Files of each kind of array: field, file, bytes of a cell (None: variable length; "coded": so, without a file of offsets), codec,
# filters beside it.
KINDS = {
    "dense_none": [("a", "a0", 8, "none", 0)],
    "dense_zstd": [("a", "a0", 8, "zstd", 0)],
    "dense_lz4": [("a", "a0", 8, "lz4", 0)],
    "dense_gzip": [("a", "a0", 8, "gzip", 0)],
    "dense_i32": [("a", "a0", 4, "zstd", 1)],
    "cells": [("x", "d0", 8, "zstd", 1), ("y", "d1", 8, "zstd", 1), ("k", "a0", 4, "zstd", 0), ("v", "a1", 8, "zstd", 0),
              ("w", "a2", 8, "zstd", 0)],
    "words": [("i", "d0", 8, "zstd", 1), ("s", "a0", 8, "zstd", 1), ("s", "a0_var", None, "zstd", 0)],
    "words_coded": [("i", "d0", 8, "zstd", 1), ("s", "a0_var", "coded", "zstd", 1)],
    "genes": [("gene", "d0_var", "coded", "rle", 1), ("i", "d1", 8, "zstd", 1), ("v", "a0", 8, "zstd", 0)],
}


# The fields that are looked at and not returned.
FOLDED = {"cells": [], "totals": ["k", "v"], "groups": ["k", "v"], "distinct": ["s"]}


def chunks(path, codec):
    """The chunks of each tile of a file: bytes of a decoded chunk, and parts [offset, stored, decoded]."""
    with open(path, "rb") as file:
        data = file.read()
    at, tiles = 0, []
    while at < len(data):
        count, = struct.unpack_from("<Q", data, at)
        at, tile = at + 8, []
        for _ in range(count):
            decoded, stored, metadata = struct.unpack_from("<III", data, at)
            at += 12
            parts = []
            if codec in ("none", "rle"):
                parts.append([at + metadata, stored, stored])
            else:
                before, after = struct.unpack_from("<II", data, at)
                sizes = struct.unpack_from("<%dI" % (2 * (before + after)), data, at + 8)
                offset = at + metadata
                for number in range(before + after):
                    parts.append([offset, sizes[2 * number + 1], sizes[2 * number]])
                    offset += sizes[2 * number + 1]
                if offset != at + metadata + stored:
                    raise ValueError("%s: a chunk of parts that do not fill it" % path)
            at += metadata + stored
            tile.append((decoded, parts))
        tiles.append(tile)
    return tiles


def needed(tiles, starts, wanted, looked_at, more=0):
    """The chunks with wanted cells or with cells that are looked at; `starts` are the bytes before each cell of a tile. The result has
    `more` bytes for each cell beside those of the chunk."""
    out = []
    for tile, first, want, look in zip(tiles, starts, wanted, looked_at):
        low = 0
        sizes = np.diff(first)
        for decoded, parts in tile:
            # Cells that begin in the chunk; no cell of these arrays lies in two.
            cells = slice(*np.searchsorted(first[:-1], [low, low + decoded]))
            low += decoded
            if look[cells].any() or want[cells].any():
                out.append({"parts": parts, "wanted": int((sizes[cells][want[cells]] + more).sum())})
    return out


def dense(request):
    extent = compare_data.TILE
    # Tiles at the end are stored whole.
    side = -(-request["side"] // extent) * extent
    (_, file, size, codec, further), = KINDS[request["kind"]]
    path, = glob.glob(request["array"] + "/__fragments/*/%s.*" % file)
    want = np.zeros((side, side), bool)
    (top, bottom), (left, right) = request["ranges"]
    want[top:bottom + 1, left:right + 1] = True
    tiles = want.reshape(side // extent, extent, side // extent, extent).swapaxes(1, 2).reshape(-1, extent * extent)
    first = np.arange(extent * extent + 1) * size
    listed = needed(chunks(path, codec), [first] * len(tiles), tiles, np.zeros_like(tiles))
    return [{"path": path, "codec": codec, "further": further, "chunks": listed}]


def satisfied(columns, request):
    """For each dimension and term, in order: its field, and the cells that satisfy it."""
    tests = []
    for name, ends in zip(request["dimensions"], request["ranges"]):
        if ends is not None:
            tests.append((name, (columns[name] >= ends[0]) & (columns[name] <= ends[1])))
    for name, values in (request.get("points") or {}).items():
        tests.append((name, np.isin(columns[name], values)))
    for name, operator, value in request.get("terms") or []:
        column = columns[name]
        tests.append((name, column == value if operator == "==" else column > value if operator == ">"
                      else np.array([cell.startswith(value) for cell in column])))
    return tests


def sparse(request):
    out = []
    fragments = sorted(glob.glob(request["array"] + "/__fragments/*"), key=lambda path: int(os.path.basename(path).split("_")[2]))
    tables = [pq.read_table(file) for file in sorted(glob.glob(request["parquet"] + "/*.parquet"))]
    tables = [{name: table[name].to_numpy() for name in table.column_names} for table in tables]
    folded = FOLDED[request["answer"]]
    fields = [] if folded else request["fields"]
    sizes = [len(columns[request["dimensions"][0]]) for columns in tables]
    unique = folded and not request["duplicates"]
    all_contested = shared(tables, request) if unique else [np.zeros(size, bool) for size in sizes]
    for fragment, columns, contested in zip(fragments, tables, all_contested):
        count = len(contested)
        edges = tile_edges(count)
        looked, before = {}, np.ones(count, bool)
        for name, holds in satisfied(columns, request):
            # A tile is looked at if some cell could satisfy its ranges: its rectangle meets them.
            candidates = before if name not in request["dimensions"] else before & meets(columns, request, edges)
            if folded and name in request["dimensions"]:
                candidates = candidates & (cut_tiles(columns, request, edges) | contested)
            looked[name] = candidates
            before = before & holds
        if folded:
            for name in request["dimensions"]:
                looked.setdefault(name, contested)
            wanted = before & cut_tiles(columns, request, edges) if request["answer"] == "totals" else before
            looked.update({name: wanted for name in folded})
        for name, stem, size, codec, further in KINDS[request["kind"]]:
            if name not in fields and name not in looked:
                continue
            path, = glob.glob("%s/%s.*" % (fragment, stem))
            sizes = np.full(count, size) if isinstance(size, int) else np.array([len(cell.encode()) for cell in columns[name]])
            starts = [np.concatenate([[0], np.cumsum(sizes[a:b])]) for a, b in zip(edges, edges[1:])]
            cut = lambda mask: [mask[a:b] for a, b in zip(edges, edges[1:])]
            want = before if name in fields else np.zeros(count, bool)
            look = looked.get(name, np.zeros(count, bool))
            out.append({"path": path, "codec": "none" if codec == "rle" else codec, "further": further,
                        "chunks": needed(chunks(path, codec), starts, cut(want), cut(look), 8 if size == "coded" else 0)})
    return [file for file in out if file["chunks"]] if folded else out


def tile_edges(count):
    """The first cell of each tile, and the number of cells."""
    return list(range(0, count, CAPACITY)) + [count]


def rectangles(columns, request, edges):
    """The least and the greatest coordinate of each tile in each dimension."""
    return [[(columns[name][a:b].min(), columns[name][a:b].max()) for name in request["dimensions"]] for a, b in zip(edges, edges[1:])]


def shared(tables, request):
    """For each fragment, the cells of tiles that meet a tile of another fragment."""
    tiles = [(number, box) for number, columns in enumerate(tables)
             for box in rectangles(columns, request, tile_edges(len(columns[request["dimensions"][0]])))]
    owner = np.array([number for number, _ in tiles])
    low = np.array([[ends[0] for ends in box] for _, box in tiles])
    high = np.array([[ends[1] for ends in box] for _, box in tiles])
    out = [[] for _ in tables]
    for number, (own, _) in enumerate(tiles):
        meeting = (low <= high[number]).all(axis=1) & (high >= low[number]).all(axis=1) & (owner != own)
        out[own].append(bool(meeting.any()))
    sizes = [np.diff(tile_edges(len(columns[request["dimensions"][0]]))) for columns in tables]
    return [np.repeat(met, size) for met, size in zip(out, sizes)]


def cut_tiles(columns, request, edges):
    """The cells of tiles whose rectangle does not lie inside the ranges."""
    out = np.zeros(edges[-1], bool)
    for (a, b), box in zip(zip(edges, edges[1:]), rectangles(columns, request, edges)):
        out[a:b] = any(ends is not None and (low < ends[0] or high > ends[1]) for ends, (low, high) in zip(request["ranges"], box))
    return out


def meets(columns, request, edges):
    """The cells of tiles whose rectangle meets the ranges, or has the place of a point."""
    out = np.zeros(edges[-1], bool)
    asked = dict(zip(request["dimensions"], request["ranges"]))
    for a, b in zip(edges, edges[1:]):
        box = {name: (columns[name][a:b].min(), columns[name][a:b].max()) for name in request["dimensions"]
               if asked[name] is not None or request.get("points")}
        if request.get("points"):
            inside = [(np.array(values) >= box[name][0]) & (np.array(values) <= box[name][1])
                      for name, values in request["points"].items()]
            out[a:b] = np.logical_and.reduce(inside).any()
        else:
            out[a:b] = all(low <= asked[name][1] and high >= asked[name][0] for name, (low, high) in box.items())
    return out


def main():
    for request in json.load(sys.stdin):
        listed = dense(request) if request["kind"].startswith("dense") else sparse(request)
        os.makedirs(os.path.dirname(request["out"]), exist_ok=True)
        with open(request["out"], "w") as file:
            json.dump(listed, file)


if __name__ == "__main__":
    main()
