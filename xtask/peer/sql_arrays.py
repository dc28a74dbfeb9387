"""Random arrays, which libtiledb writes, and the rows that they are to SQL."""

import base64
import itertools
import json
import os
import shutil
import struct
import subprocess

import model
import write
from cases import FLOATS, INTS, LIMITS, READER, attr, b64, dim, pack
from random_cases import BUFFERS
from sql_values import NANOSECONDS, NUMBERS, TEXTS, WORDS, Kind, pool

NAMES = ["STRING_UTF8", "STRING_ASCII"]
MOST = 60
LONG = {"INT64", "UINT64", "INT32", "UINT32"}


class Column:
    """A column of a table."""

    def __init__(self, name, kind, nullable=False, is_dimension=False, values=(), domain=None):
        self.name, self.kind, self.nullable, self.is_dimension = name, kind, nullable, is_dimension
        self.values, self.domain = list(values), domain

    def holds(self, value):
        """Whether a coordinate is in the domain of a dimension."""
        return self.domain is None or self.domain[0] <= value <= self.domain[1]


class Table:
    """An array as a table: its columns and its rows, which are dicts."""

    def __init__(self, path, dense, dups, columns, rows, about):
        self.path, self.dense, self.dups, self.columns, self.rows, self.about = path, dense, dups, columns, rows, about

    def column(self, name):
        return next(c for c in self.columns if c.name == name)


def kind_of_attribute(rng):
    choice = rng.below(20)
    if choice < 6:
        return Kind(rng.pick(INTS))
    if choice < 9:
        return Kind(rng.pick(FLOATS))
    if choice < 11:
        return Kind(rng.pick(NAMES), "var")
    if choice < 13:
        return Kind(rng.pick(["DATETIME_DAY", "DATETIME_SEC", "DATETIME_MS", "DATETIME_US", "DATETIME_NS"]))
    if choice < 14:
        return Kind(rng.pick([n for n in NANOSECONDS if n.startswith("TIME")]))
    if choice < 15:
        return Kind("BOOL")
    if choice < 16:
        return Kind(rng.pick(["CHAR", "BLOB", "STRING_ASCII", "STRING_UTF8"]), rng.between(1, 4))
    if choice < 17:
        return Kind(rng.pick(["BLOB", "CHAR"]), "var")
    return Kind(rng.pick(NUMBERS))


class Attribute(Column):
    """An attribute: a column whose cells may be numbers of an enumeration."""

    def __init__(self, rng, name):
        self.stored = kind_of_attribute(rng)
        self.enumeration = None
        kind = self.stored
        if rng.below(6) == 0:
            self.stored = Kind(rng.pick(["UINT8", "INT8", "UINT16", "INT32"]))
            of = Kind(*rng.pick([("STRING_UTF8", "var"), ("STRING_ASCII", "var"), ("INT32", 1), ("INT64", 1), ("UINT8", 1)]))
            values = list(dict.fromkeys(pool(rng, of)))
            kind = Kind(of.name, of.count, values)
            self.enumeration = {"name": "e_" + name, "type": of.name, "cell_val_num": of.count, "ordered": rng.below(2) == 0}
            raw = [of.raw(v) for v in values]
            self.enumeration["data"] = b64(b"".join(raw))
            if of.count == "var":
                self.enumeration["offsets"] = offsets(raw)
        nullable = rng.below(2) == 0
        super().__init__(name, kind, nullable, False, kind.values or pool(rng, kind))
        self.draw_fill(rng)

    def draw_fill(self, rng):
        kind = self.stored
        chosen = kind.family in ("text", "bool") or kind.name == "DATETIME_DAY" or rng.below(3) == 0
        self.raw_fill = None
        if chosen and self.enumeration is None:
            value = rng.pick([v for v in self.values if v != ""] or ["fill" if kind.family == "text" else self.values[0]])
            if kind.raw(value):
                self.raw_fill = kind.raw(value)
        self.fill_valid = self.raw_fill is not None and rng.below(2) == 0

    def schema(self):
        more = {"enumeration": self.enumeration["name"]} if self.enumeration else {}
        if self.raw_fill is not None:
            more["fill"] = self.raw_fill.hex()
            more["fill_valid"] = self.fill_valid
        return attr(self.name, self.stored.name, self.stored.count, self.nullable, **more)

    @property
    def filled(self):
        """What is read where nothing was written."""
        if self.nullable and not self.fill_valid:
            return None
        raw = self.raw_fill if self.raw_fill is not None else model.default_fill(self.schema())
        if self.enumeration:
            code = self.stored.value(raw)
            return self.kind.values[code] if 0 <= code < len(self.kind.values) else None
        return self.stored.value(raw)

    def field(self, values):
        """The buffers of cells."""
        valid = bytes(v is not None for v in values)
        if self.enumeration:
            raw = [self.stored.raw(0 if v is None else self.kind.values.index(v)) for v in values]
        else:
            some = self.values[0]
            raw = [self.stored.raw(some if v is None else v) for v in values]
        if self.stored.count == "var":
            # a cell that is null may be empty
            raw = [r if v is not None else b"" for r, v in zip(raw, values)]
        out = {"data": b64(b"".join(raw))}
        if self.stored.count == "var":
            out["offsets"] = offsets(raw)
        if self.nullable:
            out["validity"] = b64(valid)
        return out

    def draw(self, rng):
        return None if self.nullable and rng.below(4) == 0 else rng.pick(self.values)


def offsets(raw):
    return b64(struct.pack("<%dQ" % len(raw), *itertools.accumulate([0] + [len(r) for r in raw[:-1]]))) if raw else b64(b"")


def dimension(rng, name, dense):
    """A dimension and its column."""
    if not dense and rng.below(6) == 0:
        column = Column(name, Kind("STRING_ASCII", "var"), False, True, rng.sample(WORDS, rng.between(3, 9)))
        return dim(name, "STRING_ASCII", 0, 0, None), column
    if not dense and rng.below(8) == 0:
        kind = Kind(rng.pick(FLOATS))
        values = [v for v in [0.0, 1.5, -2.25, 3.0, 0.5, 1e6, 16777216.0, -100.0, 7.0]]
        return dim(name, kind.name, -1000.0, 2.0 ** 30, None), Column(name, kind, False, True, values, [-1000.0, 2.0 ** 30])
    kind = Kind(rng.pick(INTS * 2 + NUMBERS[:4] + ["TIME_HR", "TIME_MIN"] + [n for n in NANOSECONDS]))
    lo, hi = kind.limits or LIMITS["INT64"]
    unit = kind.unit or 1
    extent = rng.pick([1, 2, 3, 4, 6]) if dense else rng.between(1, 10)
    if kind.family == "time":
        base = rng.pick([0, -5, 1577836800 * 10 ** 9 // unit, -100])
    else:
        base = rng.pick([0, 1, lo, hi - 60, max(lo, -5), lo + 1])
    domain = [base, base + (11 if dense else 45)]
    values = [v * unit for v in range(base, domain[1] + 1)]
    if not dense and kind.limits and rng.below(3) == 0:
        domain, extent = [lo, hi - 20], 20
        values = [lo, lo + 1, hi - 20, hi - 21, 0 if lo < 0 else 3, 1, 2, 5, 10]
    elif not dense:
        values = rng.sample(values, rng.between(5, 30))
    own = Column(name, kind, False, True, values, [v * unit for v in domain])
    return dim(name, kind.name, *domain, extent), own


class Maker:
    """Draws an array and writes it."""

    def __init__(self, rng, lib, tdb, path):
        self.rng, self.lib, self.tdb, self.path = rng, lib, tdb, path
        self.dense = rng.below(3) == 0
        self.dups = not self.dense and rng.below(3) == 0
        several = rng.pick([1, 1, 2, 2, 3] if not self.dense else [1, 2])
        drawn = [dimension(rng, "d%d" % i, self.dense) for i in range(several)]
        if self.dense:
            # all dimensions of a dense array have one type
            same = drawn[0][1].kind.name
            drawn = [d if d[1].kind.name == same else None for d in drawn]
            drawn = [d for d in drawn if d]
        self.dimensions = [c for _, c in drawn]
        self.attributes = [Attribute(rng, "a%d" % i) for i in range(rng.between(2, 6))]
        schema = {"array_type": "dense" if self.dense else "sparse", "tile_order": rng.pick(["row-major", "col-major"]),
                  "cell_order": rng.pick(["row-major", "col-major"]), "dimensions": [d for d, _ in drawn],
                  "attributes": [a.schema() for a in self.attributes], "allows_dups": self.dups, "capacity": rng.pick([2, 3, 5, 100]),
                  "enumerations": [a.enumeration for a in self.attributes if a.enumeration]}
        self.case = {"name": os.path.basename(path), "lib": READER, "key": None, "schema": schema, "steps": []}
        self.cells, self.about, self.time = [], [], 1

    def step(self, **step):
        self.time += 10
        step["t"] = self.time
        if step["op"] == "write":
            step["schema"] = self.case["schema"]
        write.run_step(self.lib, self.path, self.case, step)

    def make(self):
        rng = self.rng
        self.case["steps"] = [{"op": "create", "t": 1}]
        write.run_step(self.lib, self.path, self.case, {"op": "create", "t": 1})
        number = rng.between(1, 4)
        grows = rng.between(1, 3) if rng.below(3) == 0 else None
        for i in range(number):
            if grows == i:
                added = Attribute(rng, "b0")
                while added.enumeration:
                    added = Attribute(rng, "b0")
                self.step(op="evolve", add=[added.schema()])
                self.attributes.append(added)
                self.about.append("b0 was added after %d writes" % i)
            (self.write_box if self.dense else self.write_cells)()
        if rng.below(6) == 0 and not grows:
            config = {"sm.consolidation.mode": "fragments", **BUFFERS}
            if self.dense:
                config["sm.consolidation.amplification"] = "100"
            write.run_step(self.lib, self.path, self.case, {"op": "consolidate", "config": config})
            self.about.append("consolidated")
        return Table(self.path, self.dense, self.dups, self.dimensions + self.attributes, self.rows(), self.about)

    def write_box(self):
        rng = self.rng
        box = []
        for d in self.dimensions:
            unit = d.kind.unit or 1
            ends = sorted(rng.pick(d.values) // unit for _ in range(2))
            low, high = ends[0], min(ends[1], ends[0] + (11 if len(self.dimensions) == 1 else 5))
            box.append((low, high))
        cells = [{d.name: x * (d.kind.unit or 1) for d, x in zip(self.dimensions, place)}
                 for place in itertools.product(*[range(lo, hi + 1) for lo, hi in box])]
        self.drawn(cells)
        hexes = [[pack(d.kind.name, [x]).hex() for x in ends] for d, ends in zip(self.dimensions, box)]
        fields = {a.name: a.field([c[a.name] for c in cells]) for a in self.attributes}
        if any(a.stored.count == "var" for a in self.attributes):
            return self.write_by_tdb(box, len(cells), fields)
        self.step(op="write", layout="row-major", subarray=hexes, fields=fields)

    def write_by_tdb(self, box, count, fields):
        """Writes a box as libtiledb would, which now and then crashes in dense writes of text (docs/correctness_issues.md)."""
        self.time += 10
        folder = self.path + ".cells"
        os.makedirs(folder)
        manifest = {"order": "row-major", "cells": count, "shape": [hi - lo + 1 for lo, hi in box], "subarray": box, "fields": []}
        for a in self.attributes:
            entry = {"name": a.name, "datatype": a.stored.name, "cell_val_num": a.stored.count}
            for part, data in fields[a.name].items():
                entry[part] = "%s.%s" % (a.name, part)
                with open(os.path.join(folder, entry[part]), "wb") as file:
                    file.write(base64.b64decode(data))
            manifest["fields"].append(entry)
        with open(os.path.join(folder, "manifest.json"), "w") as file:
            json.dump(manifest, file)
        subprocess.run([self.tdb, "write", self.path, folder, "--time", str(self.time)], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder)

    def write_cells(self):
        rng = self.rng
        cells, seen = [], set()
        for _ in range(rng.between(1, 25)):
            place = tuple(rng.pick(d.values) for d in self.dimensions)
            if self.dups or place not in seen:
                seen.add(place)
                cells.append({d.name: x for d, x in zip(self.dimensions, place)})
        self.drawn(cells)
        fields = {}
        for d in self.dimensions:
            raw = [d.kind.raw(c[d.name]) for c in cells]
            fields[d.name] = {"data": b64(b"".join(raw))}
            if d.kind.count == "var":
                fields[d.name]["offsets"] = offsets(raw)
        fields.update({a.name: a.field([c[a.name] for c in cells]) for a in self.attributes})
        self.step(op="write", layout="unordered", subarray=None, fields=fields)

    def drawn(self, cells):
        for cell in cells:
            cell.update({a.name: a.draw(self.rng) for a in self.attributes})
        self.cells.append([dict(c) for c in cells])

    def rows(self):
        """What is there in the end."""
        fill = {a.name: a.filled for a in self.attributes}
        full = lambda cell: {**{n: v for n, v in fill.items()}, **cell}
        if self.dups:
            return [full(cell) for cells in self.cells for cell in cells]
        newest = {}
        for cells in self.cells:
            for cell in cells:
                newest[tuple(cell[d.name] for d in self.dimensions)] = full(cell)
        if not self.dense:
            return list(newest.values())
        ranges = []
        for i, d in enumerate(self.dimensions):
            places = [p[i] for p in newest]
            ranges.append(range(min(places), max(places) + 1, d.kind.unit or 1))
        return [newest.get(p) or full({d.name: x for d, x in zip(self.dimensions, p)}) for p in itertools.product(*ranges)]
