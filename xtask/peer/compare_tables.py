"""Draws the tables and the questions of `cargo xtask compare tables`: sparse arrays that libtiledb writes, and Parquet files of the same
rows.

    python compare_tables.py --out DIR --seed S --cases N [--lib LIBTILEDB.so]

Table number i depends on the seed and i only. DIR/cases.json holds a request for each question, in the form of
xtask/src/compare/sql/worker.rs. Rows of all fragments are at different places, so that both forms have the same rows; the files are in the
order of the coordinates, a file for each fragment.
"""

import ctypes as C
import json
import os
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import capi
from compare_peer import COMPLETED, find_lib
from compare_random import between, dtype, pick, told

ROW_GROUP = 122_880
INTEGERS = ["INT8", "UINT8", "INT16", "UINT16", "INT32", "INT32", "INT64", "INT64", "UINT32"]
# Sums of so many of these fit 64 bits in every engine.
SUMMED = ["INT8", "UINT8", "INT16", "UINT16", "INT32"]
FLOATS = ["FLOAT32", "FLOAT64", "FLOAT64"]


def vocabulary(rng, distinct, longest):
    """Different words, as people's data has them: some begin alike."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789_-"))
    beginnings = ["", "", "ENSG", "chr", "https://example.org/", "user-"]
    out = set()
    while len(out) < distinct:
        out.add(pick(rng, beginnings) + "".join(letters[rng.integers(0, len(letters), int(rng.integers(1, longest + 1)))]))
    return np.array(sorted(out), dtype=object)


class Table:
    """A table: its array's schema, and its columns by name."""

    def __init__(self, seed, number):
        self.rng = rng = np.random.default_rng([seed, number, 7])
        self.name = "t%d_%d" % (seed, number)
        self.rows = between(rng, 50_000, 3_000_000)
        self.fragments = pick(rng, [1, 1, 2, 4, 16])
        self.columns, self.valid, self.words = {}, {}, {}
        self.dims, self.attributes = [], []
        self.places()
        for k in range(between(rng, 2, 9)):
            self.attribute("a%d" % k)
        self.schema = {"array_type": "sparse", "capacity": between(rng, 5_000, 200_000), "allows_dups": bool(rng.integers(2)),
                       "tile_order": "row-major", "cell_order": pick(rng, ["row-major"] * 4 + ["hilbert"]),
                       "dimensions": self.dims, "attributes": self.attributes}
        if rng.integers(3):
            self.schema["offsets_filters"] = pick(rng, [[{"type": "byteshuffle"}, {"type": "zstd"}], [{"type": "double_delta"}, {"type": "zstd"}],
                                                        [{"type": "zstd"}]])

    def places(self):
        """One or two dimensions, and different coordinates for each row."""
        rng, rows = self.rng, self.rows
        kind = pick(rng, ["line", "line", "plane", "plane", "names"])
        hexes = lambda low, high: [np.array([v], "<i8").tobytes().hex() for v in (low, high)]
        shuffled = [{"type": pick(rng, ["byteshuffle", "bitshuffle"])}, {"type": "zstd"}]

        def number(name, high, extent):
            extent = np.array([extent], "<i8").tobytes().hex()
            self.dims.append({"name": name, "type": "INT64", "domain": hexes(0, high), "tile_extent": extent,
                              "filters": pick(rng, [shuffled, shuffled, [{"type": "double_delta"}, {"type": "zstd"}], [{"type": "zstd"}], []])})

        if kind == "line":
            high = rows * pick(rng, [1, 3, 100])
            self.columns["x"] = np.sort(rng.choice(high, rows, replace=False)) if high < 20_000_000 else np.unique(
                rng.integers(0, high, rows + rows // 20))[:rows]
            number("x", high, max(1, high // pick(rng, [1, 10, 100])))
        elif kind == "plane":
            side = int(rows ** 0.5) * pick(rng, [2, 10, 1000])
            at = np.unique(rng.integers(0, side * side, rows + rows // 2))
            at = np.sort(rng.permutation(at)[:rows])
            self.columns["x"], self.columns["y"] = at // side, at % side
            for name in ("x", "y"):
                number(name, side, max(1, side // pick(rng, [1, 10, 30])))
        else:
            names = vocabulary(rng, between(rng, 2, min(20_000, rows // 10)), 12)
            self.columns["x"] = names[np.sort(rng.integers(0, len(names), rows))]
            self.words["x"] = names
            self.columns["y"] = np.arange(rows)
            self.dims.append({"name": "x", "type": "STRING_ASCII", "domain": None,
                              "filters": pick(rng, [[{"type": "rle"}], [{"type": "dictionary"}, {"type": "zstd"}], [{"type": "zstd"}]])})
            number("y", rows, rows)
        self.rows = len(self.columns["x"])

    def attribute(self, name):
        rng, rows = self.rng, self.rows
        datatype = pick(rng, INTEGERS + FLOATS + ["STRING_UTF8"] * 4)
        last = [{"type": pick(rng, ["zstd", "zstd", "zstd", "lz4", "gzip"])}] if rng.integers(6) else []
        if datatype == "STRING_UTF8":
            words = vocabulary(rng, between(rng, 2, min(rows // 2, 100_000)), between(rng, 2, 40))
            numbers = rng.integers(0, len(words), rows)
            if rng.integers(3) == 0:
                numbers.sort()
            elif rng.integers(2):
                # some words are much more frequent than others
                numbers = (len(words) * rng.random(rows) ** 4).astype(np.int64)
            self.columns[name], self.words[name] = words[numbers], words
            first = pick(rng, [[], [], [{"type": "dictionary"}], [{"type": "rle"}]])
        else:
            kind = dtype(datatype)
            top = min(between(rng, 2, 2_000_000_000), 2 ** (8 * kind.itemsize - 1) - 1) if kind.kind != "f" else 1000
            values = rng.random(rows) * top
            if rng.integers(4) == 0:
                values.sort()
            self.columns[name] = np.round(values, 3).astype(kind) if kind.kind == "f" else values.astype(kind)
            first = pick(rng, [[], [], [{"type": "byteshuffle"}], [{"type": "bitshuffle"}]])
        nullable = bool(rng.integers(4) == 0)
        if nullable:
            self.valid[name] = rng.integers(0, pick(rng, [2, 10, 100]), rows) > 0
        self.attributes.append({"name": name, "type": datatype, "cell_val_num": "var" if datatype == "STRING_UTF8" else 1,
                                "nullable": nullable, "filters": first + last})

    # -- the two forms -------------------------------------------------------------------------------------------------

    def parts(self):
        if self.fragments == 1:
            return [slice(None)]
        owner = self.rng.integers(0, self.fragments, self.rows)
        return [owner == part for part in range(self.fragments)]

    def write(self, lib, folder):
        array, files = (os.path.join(folder, self.name, form) for form in ("tiledb", "parquet"))
        shutil.rmtree(os.path.join(folder, self.name), ignore_errors=True)
        os.makedirs(files)
        lib.create(array, lib.schema(self.schema))
        for number, rows in enumerate(self.parts()):
            self.write_fragment(lib, array, number + 1, rows)
            columns = {}
            for name, values in self.columns.items():
                valid = self.valid.get(name)
                kind = pa.string() if values.dtype == object else None
                columns[name] = pa.array(values[rows], kind, mask=None if valid is None else ~valid[rows])
            pq.write_table(pa.table(columns), "%s/%04d.parquet" % (files, number), compression="zstd", compression_level=3,
                           row_group_size=ROW_GROUP, write_page_index=True)
        return array, files

    def write_fragment(self, lib, uri, time, rows):
        array = lib.open(uri, capi.WRITE, end=time)
        query = lib.new("query_alloc", array, capi.WRITE)
        lib.call("query_set_layout", query, capi.LAYOUTS["unordered"])
        keep = []
        for name, values in self.columns.items():
            values, offsets, valid = values[rows], None, self.valid.get(name)
            valid = None if valid is None else valid[rows].astype(np.uint8)
            if values.dtype == object:
                coded = [v.encode() for v in values]
                lengths = np.fromiter(map(len, coded), np.int64, len(coded))
                if valid is not None:
                    coded = [v if ok else b"" for v, ok in zip(coded, valid)]
                    lengths = lengths * valid
                offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.uint64)
                values = np.frombuffer(b"".join(coded), np.uint8)
            columns = (np.ascontiguousarray(values), offsets, valid)
            sizes = [C.c_uint64(0 if column is None else column.nbytes) for column in columns]
            keep.append((columns, sizes))
            pointers = [None if column is None else C.c_void_p(column.ctypes.data) for column in columns]
            lib.set_buffers(query, name, *(x for pair in zip(pointers, sizes) for x in pair))
        lib.call("query_submit", query)
        if lib.get(C.c_int, "query_get_status", query) != COMPLETED:
            raise capi.TileDBError("the write did not complete")
        lib.dll.tiledb_query_free(C.byref(query))
        lib.close(array)

    # -- questions -----------------------------------------------------------------------------------------------------

    def literal(self, name, value=None):
        """A value of the column, as SQL has it."""
        values = self.columns[name]
        value = values[int(self.rng.integers(len(values)))] if value is None else value
        return "'%s'" % value if values.dtype == object else repr(float(value)) if values.dtype.kind == "f" else str(int(value))

    def test(self, name):
        """A test of a column."""
        rng, literal = self.rng, lambda: self.literal(name)
        if name in self.valid and rng.integers(4) == 0:
            return "%s IS %sNULL" % (name, pick(rng, ["", "NOT "]))
        if name in self.words:
            word = literal()
            return pick(rng, ["%s = %s" % (name, word), "%s = %s" % (name, word), "%s LIKE '%s%%'" % (name, word[1:max(3, len(word) // 2)]),
                              "%s IN (%s, %s, %s)" % (name, word, literal(), literal()), "%s >= %s" % (name, word),
                              "%s <> %s" % (name, word)])
        ends = sorted((self.columns[name][int(i)] for i in rng.integers(0, self.rows, 2)))
        near = self.literal(name, ends[0]), self.literal(name, ends[1])
        return pick(rng, ["%s = %s" % (name, literal()), "%s < %s" % (name, literal()), "%s BETWEEN %s AND %s" % (name, *near),
                          "%s > %s" % (name, literal()), "%s IN (%s, %s, %s)" % (name, literal(), literal(), literal())])

    def narrow(self, share):
        """Ranges of all dimensions that hold about this share of the rows."""
        terms = []
        for d in self.dims:
            own = share ** (1 / len(self.dims))
            ordered = np.sort(self.columns[d["name"]]) if d["type"] != "STRING_ASCII" else self.columns[d["name"]]
            first = int(self.rng.integers(0, max(1, int(self.rows * (1 - own)))))
            last = min(self.rows - 1, first + int(self.rows * own))
            terms.append("%s BETWEEN %s AND %s" % (d["name"], self.literal(d["name"], ordered[first]), self.literal(d["name"], ordered[last])))
        return " AND ".join(terms)

    def questions(self):
        """(what, SQL) of each question."""
        rng = self.rng
        every = list(self.columns)
        attributes = [a["name"] for a in self.attributes]
        numeric = [n for n in attributes if self.columns[n].dtype != object]
        summed = [a["name"] for a in self.attributes if a["type"] in SUMMED]
        some = lambda n: ", ".join(rng.permutation(every)[:n])
        totals = ["count(*)"] + ["%s(%s)" % (f, n) for n in rng.permutation(numeric)[:2] for f in ("min", "max")]
        totals += ["CAST(sum(%s) AS BIGINT)" % n for n in rng.permutation(summed)[:1]]
        totals = ", ".join(totals)
        yield "whole", "SELECT * FROM a"
        yield "whole, some columns", "SELECT %s FROM a" % some(2)
        yield "box of 1 %", "SELECT * FROM a WHERE " + self.narrow(0.01)
        yield "box of 30 %, some columns", "SELECT %s FROM a WHERE %s" % (some(3), self.narrow(0.3))
        one = int(rng.integers(self.rows))
        cell = " AND ".join("%s = %s" % (d["name"], self.literal(d["name"], self.columns[d["name"]][one])) for d in self.dims)
        yield "one row", "SELECT * FROM a WHERE " + cell
        for _ in range(3):
            test = self.test(pick(rng, attributes))
            yield "condition " + test, "SELECT %s FROM a WHERE %s" % (some(3), test)
        both = " %s " % pick(rng, ["AND", "OR"])
        test = both.join(self.test(n) for n in rng.permutation(attributes)[:2])
        yield "condition " + test, "SELECT %s FROM a WHERE %s" % (some(3), test)
        test = self.test(pick(rng, attributes))
        yield "count where " + test, "SELECT count(*) FROM a WHERE " + test
        yield "totals", "SELECT %s FROM a" % totals
        yield "totals of a box", "SELECT %s FROM a WHERE %s" % (totals, self.narrow(0.2))
        test = self.test(pick(rng, attributes))
        yield "totals where " + test, "SELECT %s FROM a WHERE %s" % (totals, test)
        key = pick(rng, attributes)
        yield "groups by " + self.key_text(key), "SELECT %s, %s FROM a GROUP BY %s" % (key, totals, key)
        key, other = (list(rng.permutation(attributes)) * 2)[:2]
        if key != other:
            yield "groups by %s, %s" % (self.key_text(key), self.key_text(other)), "SELECT %s, %s, %s FROM a GROUP BY %s, %s" % (
                key, other, totals, key, other)
        key = pick(rng, attributes)
        yield "groups by %s of a box" % self.key_text(key), "SELECT %s, count(*) FROM a WHERE %s GROUP BY %s" % (key, self.narrow(0.3), key)
        key = pick(rng, attributes)
        yield "distinct " + self.key_text(key), "SELECT DISTINCT %s FROM a" % key
        key = pick(rng, attributes)
        yield "count distinct " + self.key_text(key), "SELECT count(DISTINCT %s) FROM a" % key
        key = pick(rng, attributes)
        order = ", ".join([key + " DESC"] + [d["name"] for d in self.dims])
        if key not in self.valid:
            yield "top 10 by " + self.key_text(key), "SELECT %s, %s FROM a ORDER BY %s LIMIT 10" % (
                key, ", ".join(d["name"] for d in self.dims), order)

    def key_text(self, name):
        own = next(a for a in self.attributes if a["name"] == name)
        values = self.words.get(name)
        many = len(values) if values is not None else int(self.columns[name].max()) if self.columns[name].dtype.kind != "f" else -1
        return "%s %s%s of %d" % (name, own["type"].lower(), "?" if own["nullable"] else "", many)

    def text(self):
        """The table in a line."""
        filters = lambda f: "+".join(x["type"] for x in f["filters"])
        dims = ",".join("%s:%s[%s]" % (d["name"], d["type"].lower(), filters(d)) for d in self.dims)
        attributes = " ".join("%s[%s]" % (self.key_text(a["name"]), filters(a)) for a in self.attributes)
        return "(%s) %s capacity %d%s %d rows %d fragments; %s" % (
            dims, self.schema["cell_order"], self.schema["capacity"], " dups" if self.schema["allows_dups"] else "", self.rows,
            self.fragments, attributes)


def main():
    args = told(__doc__)
    lib = capi.Lib(args.lib or find_lib(), {"sm.compute_concurrency_level": 2})
    cases = []
    for number in range(args.cases):
        table = Table(args.seed, number)
        about = table.text()
        print("%s: %s" % (table.name, about), file=sys.stderr, flush=True)
        array, parquet = table.write(lib, args.out)
        tables = {"a": {"array": array, "parquet": parquet}}
        cases += [{"array": table.name, "about": about, "what": what, "request": {"op": "sql", "query": query, "tables": tables}}
                  for what, query in table.questions()]
    with open(os.path.join(args.out, "cases.json"), "w") as handle:
        json.dump(cases, handle)


if __name__ == "__main__":
    main()
