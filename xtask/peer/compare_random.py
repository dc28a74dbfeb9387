"""Draws the arrays and the queries of `cargo xtask compare random`, and writes the arrays with libtiledb.

    python compare_random.py --out DIR --seed S --cases N [--lib LIBTILEDB.so]

Array number i depends on the seed and i only. Each is large enough that cells, not opening, take the time: 20,000 to
2,000,000 cells. DIR/cases.json holds a request for each query, in the form of xtask/src/compare/worker.rs.
"""

import argparse
import ctypes as C
import json
import math
import os
import shutil
import sys

import numpy as np

import capi
from cases import FLOATS, INTS
from compare_peer import COMPLETED, find_lib

DATES = ["DATETIME_DAY", "DATETIME_MS", "DATETIME_NS"]
KINDS = {"INT": "i", "UINT": "u", "FLOAT": "f"}
MOST_BYTES = 48 << 20
BUFFERS = {"sm.consolidation.total_buffer_size": "200000000", "sm.consolidation.amplification": "100"}


def dtype(datatype):
    """The type of numpy for a datatype of numbers."""
    if datatype.startswith("DATETIME"):
        return np.dtype("<i8")
    letters = datatype.rstrip("0123456789")
    return np.dtype("<%s%d" % (KINDS[letters], capi.size_of(datatype)))


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def between(rng, low, high):
    """A number between two of different magnitude: each magnitude is as likely as the others."""
    return int(round(math.exp(rng.uniform(math.log(low), math.log(high)))))


def words(rng, cells, distinct, longest):
    """The bytes of so many strings, and where each begins."""
    lengths = rng.integers(0 if longest > 3 else 1, longest + 1, distinct)
    letters = rng.integers(97, 123, (distinct, longest)).astype(np.uint8)
    picks = rng.integers(0, distinct, cells)
    if rng.integers(3) == 0:
        picks.sort()
    lengths = lengths[picks]
    data = letters[picks][np.arange(longest)[None, :] < lengths[:, None]]
    return data, np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.uint64)


def numbers(rng, datatype, cells, profile):
    """Values of a type: as random as they can be, or as data mostly is."""
    kind = dtype(datatype)
    if kind.kind == "f":
        base = {"constant": lambda: np.full(cells, 2.5), "random": lambda: rng.normal(0, 1000, cells),
                "runs": lambda: np.repeat(rng.integers(0, 100, cells // 8 + 1), 8)[:cells] / 4,
                "small": lambda: rng.integers(0, 50, cells) / 2, "rising": lambda: np.arange(cells) / 8,
                "smooth": lambda: np.round(10 * np.sin(np.arange(cells) / 3000) + rng.normal(0, 0.1, cells), 2)}
        return base[profile]().astype(kind)
    top = 100 if kind.itemsize == 1 else 30_000 if kind.itemsize == 2 else 2_000_000_000
    base = {"constant": lambda: np.full(cells, 7), "random": lambda: rng.integers(0, top, cells),
            "runs": lambda: np.repeat(rng.integers(0, 100, cells // 8 + 1), 8)[:cells],
            "small": lambda: rng.integers(0, 50, cells),
            "rising": lambda: np.minimum(np.arange(cells) // max(1, cells // top + 1), top),
            "smooth": lambda: (top / 4 * (1.1 + np.sin(np.arange(cells) / 3000))).astype(np.int64)}
    return base[profile]().astype(kind)


def filters(rng, datatype, var, profile):
    """A pipeline, as people choose it."""
    number = not var and datatype not in ("CHAR", "STRING_ASCII", "STRING_UTF8")
    integer = number and datatype not in FLOATS
    last = [{"type": pick(rng, ["zstd"] * 4 + ["lz4", "lz4", "gzip", "bzip2"])}]
    if last[0]["type"] != "lz4" and rng.integers(3) == 0:
        last[0]["level"] = int(rng.integers(1, 10))
    first = [[], [], []]
    if number:
        first += [[{"type": "byteshuffle"}], [{"type": "byteshuffle"}], [{"type": "bitshuffle"}], [{"type": "rle"}]]
    if integer:
        first += [[{"type": "bit_width_reduction", "bit_width_max_window": 256}]]
    if integer and profile in ("small", "runs", "constant", "rising"):
        first += [[{"type": "double_delta"}], [{"type": "delta"}]]
    if integer and profile in ("rising", "constant"):
        first += [[{"type": "positive_delta", "positive_delta_max_window": 1024}]] * 2
    if number and datatype in FLOATS:
        first += [[{"type": "xor"}], [{"type": "scale_float", "scale_float_bytewidth": 4, "scale_float_factor": 0.25,
                                       "scale_float_offset": 0.0}]]
    if var and datatype.startswith("STRING"):
        first += [[{"type": "rle"}], [{"type": "dictionary"}], [{"type": "dictionary"}]]
    sums = [{"type": "checksum_md5"}] if rng.integers(8) == 0 else []
    return pick(rng, first) + (last if rng.integers(5) else []) + sums


class Drawn:
    """An array: its schema, and what its queries need to know of its cells."""

    def __init__(self, seed, number):
        self.rng = rng = np.random.default_rng([seed, number])
        self.later = np.random.default_rng([seed, number, 1])
        self.name = "%d_%d" % (seed, number)
        self.dense = bool(rng.integers(2))
        self.cells = between(rng, 20_000, 2_000_000)
        self.profiles, self.dims, self.ends, self.samples = {}, [], [], []
        self.schema = {"array_type": "dense" if self.dense else "sparse", "tile_order": pick(rng, ["row-major"] * 3 + ["col-major"]),
                       "cell_order": pick(rng, ["row-major"] * 3 + ["col-major"])}
        (self.draw_dense if self.dense else self.draw_sparse)()
        self.schema["dimensions"] = self.dims
        self.schema["attributes"] = self.attributes()
        for which in ("offsets", "validity", "coords"):
            if rng.integers(3) == 0:
                self.schema[which + "_filters"] = [{"type": pick(rng, ["zstd", "lz4", "gzip"])}]

    def dimension(self, name, datatype, low, high, extent):
        kind = dtype(datatype)
        value = lambda number: np.array([number]).astype(kind).tobytes().hex()
        dim = {"name": name, "type": datatype, "domain": [value(low), value(high)]}
        if extent:
            dim["tile_extent"] = value(extent)
        self.dims.append(dim)
        self.ends.append((low, high))

    def draw_dense(self):
        rng = self.rng
        rank = pick(rng, [1, 2, 2, 2, 3, 4])
        datatype = pick(rng, ["INT32", "INT64", "UINT32", "UINT64", "INT16", "DATETIME_MS"])
        side = max(2, int(self.cells ** (1 / rank)))
        if datatype == "INT16":
            side = min(side, 20_000)
        inside = between(rng, 200, 200_000) ** (1 / rank)
        self.cells = 1
        for k in range(rank):
            length = max(2, int(side * math.exp(rng.uniform(-0.7, 0.7)))) if rank > 1 else side
            extent = min(length, max(1, int(inside * math.exp(rng.uniform(-0.7, 0.7)))))
            # more tiles than this take libtiledb minutes
            extent = max(extent, length // int(20_000 ** (1 / rank)))
            low = pick(rng, [0, 0, 1, 100])
            self.dimension("d%d" % k, datatype, low, low + length - 1, extent)
            self.cells *= length

    def draw_sparse(self):
        rng, schema = self.rng, self.schema
        rank = pick(rng, [1, 2, 2, 2, 3, 4])
        types = [t for t in INTS if not t.endswith("INT8")] + FLOATS + DATES[1:] + ["STRING_ASCII"]
        one = pick(rng, types)
        # coordinates are not rounded: filters that lose bits are for values
        mixed = rng.integers(3) == 0
        for k in range(rank):
            datatype = pick(rng, types) if mixed else one
            if datatype == "STRING_ASCII":
                dim = {"name": "d%d" % k, "type": datatype, "domain": None}
                self.dims.append(dim)
                self.ends.append(None)
            else:
                high = 30_000 if datatype.endswith("INT16") else between(rng, 1000, 1_000_000_000)
                self.dimension("d%d" % k, datatype, 0, high, max(1, high // pick(rng, [1, 2, 10, 30])))
            drawn = filters(rng, datatype, datatype == "STRING_ASCII", "random") if rng.integers(2) else []
            self.dims[-1]["filters"] = [f for f in drawn if f["type"] != "scale_float"]
        schema["capacity"] = between(rng, 100, 100_000)
        schema["allows_dups"] = bool(rng.integers(2))
        if rng.integers(5) == 0:
            schema["cell_order"] = "hilbert"

    def attributes(self):
        rng, made, width = self.rng, [], 0
        for k in range(between(rng, 1, 7)):
            datatype = pick(rng, INTS + FLOATS * 3 + DATES + ["STRING_ASCII", "STRING_UTF8", "STRING_UTF8", "CHAR"])
            text = datatype.startswith("STRING")
            number = pick(rng, [1] * 8 + [2, "var"]) if not text else "var"
            profile = pick(rng, ["constant", "random", "runs", "small", "rising", "smooth"])
            width += 12 if number == "var" else number * capi.size_of(datatype)
            if made and width * self.cells > MOST_BYTES:
                break
            attribute = {"name": "a%d" % k, "type": datatype, "cell_val_num": number, "nullable": bool(rng.integers(4) == 0),
                         "filters": filters(rng, datatype, number == "var", profile)}
            self.profiles[attribute["name"]] = profile
            made.append(attribute)
        return made

    def coordinates(self, cells, part, parts):
        """Coordinates of a fragment: all over the domain, in a part of it, or near some places."""
        rng, out = self.rng, []
        how = self.how = getattr(self, "how", None) or pick(rng, ["all", "all", "part", "near", "rising"])
        for k, (dim, ends) in enumerate(zip(self.dims, self.ends)):
            if ends is None:
                data, offsets = words(rng, cells, min(cells, between(rng, 20, 20_000)), 12)
                out.append((data, offsets))
                continue
            low, high = ends
            if k == 0 and how == "part" and parts > 1:
                low, high = high * part // parts, high * (part + 1) // parts
            values = rng.uniform(low, high, cells)
            if how == "near":
                centres = rng.uniform(low, high, 20)
                values = np.clip(rng.normal(centres[rng.integers(0, 20, cells)], (high - low) / 200 + 1), low, high)
            if k == 0 and how == "rising":
                values.sort()
            out.append((values.astype(dtype(dim["type"])), None))
        return out

    def values(self, attribute, cells):
        """Data, offsets, validity."""
        rng, datatype, number = self.rng, attribute["type"], attribute["cell_val_num"]
        offsets = None
        if datatype in ("STRING_ASCII", "STRING_UTF8", "CHAR"):
            if number == "var":
                self.wordy = getattr(self, "wordy", {})
                distinct, longest = self.wordy.setdefault(attribute["name"], (between(rng, 2, 50_000), between(rng, 2, 40)))
                data, offsets = words(np.random.default_rng(len(attribute["name"]) + cells), cells, distinct, longest)
            else:
                data = rng.integers(97, 123, cells * number).astype(np.uint8)
        elif number == "var":
            lengths = rng.integers(0, 5, cells)
            data = numbers(rng, datatype, int(lengths.sum()), self.profiles[attribute["name"]])
            size = data.dtype.itemsize
            offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.uint64) * np.uint64(size)
        else:
            data = numbers(rng, datatype, cells * number, self.profiles[attribute["name"]])
        validity = (rng.integers(0, 10, cells) > 0).astype(np.uint8) if attribute["nullable"] else None
        return data, offsets, validity

    def write(self, lib, uri):
        shutil.rmtree(uri, ignore_errors=True)
        lib.create(uri, lib.schema(self.schema))
        rng = self.rng
        self.fragments = pick(rng, [1, 1, 2, 5, 30]) if self.cells < 500_000 else pick(rng, [1, 1, 1, 2, 4])
        for part in range(self.fragments):
            array = lib.open(uri, capi.WRITE, end=part + 1)
            query = lib.new("query_alloc", array, capi.WRITE)
            lib.call("query_set_layout", query, capi.LAYOUTS["row-major" if self.dense else "unordered"])
            fields, cells = [], self.cells
            if self.dense:
                box = self.box(part)
                cells = math.prod(high - low + 1 for low, high in box)
                lib.set_box(array, query, [tuple(self.packed(d, v) for v in pair) + (False,) for d, pair in zip(self.dims, box)])
            else:
                cells = max(1, self.cells // self.fragments)
                made = self.coordinates(cells, part, self.fragments)
                fields += [(dim["name"],) + own + (None,) for dim, own in zip(self.dims, made)]
                at = rng.integers(0, cells, 400)
                self.samples.append([cell_at(own, at) for own in made])
            fields += [(a["name"],) + self.values(a, cells) for a in self.schema["attributes"]]
            keep = []
            for name, data, offsets, validity in fields:
                sizes = [C.c_uint64(0 if column is None else column.nbytes) for column in (data, offsets, validity)]
                keep.append((data, offsets, validity, sizes))
                pointer = lambda column: None if column is None else C.c_void_p(column.ctypes.data)
                lib.set_buffers(query, name, pointer(data), sizes[0], pointer(offsets), sizes[1], pointer(validity), sizes[2])
            lib.call("query_submit", query)
            if lib.get(C.c_int, "query_get_status", query) != COMPLETED:
                raise capi.TileDBError("the write did not complete")
            lib.dll.tiledb_query_free(C.byref(query))
            lib.close(array)

    def live_on(self, lib, uri):
        """What happens to a third of the arrays afterwards: cells are deleted, fragments become one, old ones are removed."""
        rng, self.rng, self.lived = self.rng, self.later, []
        time = self.fragments
        events = ["consolidated", "vacuumed"] if self.fragments > 1 else []
        events += [] if self.dense else ["deleted"] * 2
        for _ in range(pick(self.rng, [0, 0, 0, 1, 2]) if events else 0):
            what = pick(self.rng, events)
            if what == "deleted":
                text, tree = self.condition()
                if not text:
                    continue
                time += 1
                array = lib.open(uri, capi.DELETE, time)
                query = lib.new("query_alloc", array, capi.DELETE)
                lib.call("query_set_condition", query, lib.condition(tree))
                lib.call("query_submit", query)
                lib.dll.tiledb_query_free(C.byref(query))
                lib.close(array)
                what += " " + text
            else:
                lib.consolidate(uri, BUFFERS)
                if what == "vacuumed":
                    lib.vacuum(uri, {})
            self.lived.append(what)
        self.rng = rng

    def packed(self, dim, value):
        return np.array([value]).astype(dtype(dim["type"])).tobytes()

    def box(self, part):
        """The whole domain first, then boxes in it; or one band after the other."""
        rng, box = self.rng, [list(ends) for ends in self.ends]
        if part == 0:
            self.bands = self.fragments > 1 and rng.integers(2) == 0
        low, high = box[0]
        if self.bands:
            box[0] = [low + (high - low + 1) * part // self.fragments, low + (high - low + 1) * (part + 1) // self.fragments - 1]
            if box[0][1] < box[0][0]:
                box[0] = [low, low]
        elif part:
            for pair in box:
                a, b = sorted(int(v) for v in rng.integers(pair[0], pair[1] + 1, 2))
                pair[:] = [a, b]
        return box

    # -- queries -----------------------------------------------------------------------------------------------------

    def requests(self, uri):
        """(what, request) of each query."""
        rng, dims, attributes = self.rng, [d["name"] for d in self.dims], [a["name"] for a in self.schema["attributes"]]
        every = attributes if self.dense else dims + attributes
        whole = [list(ends) if self.dense else None for ends in self.ends]
        orders = ["row-major", "col-major", "global-order"]

        def read(what, ranges, order, fields=every, **more):
            request = {"op": "read", "array": uri, "fields": fields, "order": order, "dimensions": dims, "ranges": ranges,
                       "types": [d["type"] for d in self.dims], "ties": bool(self.schema.get("allows_dups")),
                       "nullable": [a["name"] for a in self.schema["attributes"] if a["nullable"]]}
            return what, dict(request, **more)

        easy = "row-major" if self.dense else "unordered"
        order = pick(rng, orders if self.schema["cell_order"] != "hilbert" else orders[:2])
        yield read("whole, " + easy, whole, easy)
        yield read("whole, " + order, whole, order)
        one = pick(rng, attributes)
        yield read("whole, one attribute", whole, easy, [one])
        for share in (0.3, 0.05):
            yield read("box of %d %%" % (share * 100), [self.part(k, share) for k in range(len(dims))], easy)
        yield read("box of 5 %, " + order, [self.part(k, 0.05) for k in range(len(dims))], order)
        one = int(rng.integers(len(dims)))
        yield read("one value of d%d" % one, [self.part(k, 0) if k == one else whole[k] for k in range(len(dims))], easy)
        cell = [self.part(k, 0) for k in range(len(dims))]
        if not self.dense:
            own = [column[int(rng.integers(400))] for column in pick(rng, self.samples)]
            cell = [[v, v] for v in own]
        yield read("one cell", cell, easy)
        text, tree = self.condition()
        if text:
            yield read("condition " + text, whole, easy, where=text, condition=tree)
        numeric = [a for a in self.schema["attributes"]
                   if a["cell_val_num"] == 1 and not a["nullable"] and a["type"] in INTS + FLOATS]
        if numeric:
            a = pick(rng, numeric)
            asked = [["count", None, 8], ["min", a["name"], capi.size_of(a["type"])], ["max", a["name"], capi.size_of(a["type"])]]
            if a["type"] in INTS:
                asked.append(["sum", a["name"], 8])
            for what, ranges in (("aggregates of the whole", whole), ("aggregates of a box", [self.part(k, 0.3) for k in range(len(dims))])):
                yield what, {"op": "aggregate", "array": uri, "aggregates": asked, "order": easy, "ranges": ranges,
                             "types": [d["type"] for d in self.dims]}

    def part(self, k, share):
        """A range of a dimension that holds about this share of it, of all dimensions together; one value for 0."""
        rng, ends = self.rng, self.ends[k]
        share = share ** (1 / len(self.ends))
        if ends is None or not self.dense:
            own = sorted(pick(rng, self.samples)[k])
            width = int(share * (len(own) - 1))
            first = int(rng.integers(0, len(own) - width))
            return [own[first], own[first + width]]
        low, high = ends
        width = int(share * (high - low))
        first = int(rng.integers(low, high - width + 1))
        return [first, first + width]

    def condition(self):
        """A test of one attribute, as a text and as a tree."""
        rng = self.rng
        usable = [a for a in self.schema["attributes"] if (a["cell_val_num"] == 1 and a["type"] in INTS + FLOATS)
                  or a["type"].startswith("STRING")]
        if not usable:
            return None, None
        a = pick(rng, usable)
        data, offsets, _ = self.values(dict(a, nullable=False), 1000)
        operator = pick(rng, ["<", ">=", "==", "=="])
        if offsets is not None:
            value = bytes(data[int(offsets[500]):int(offsets[501])])
            return "%s %s '%s'" % (a["name"], operator, value.decode()), [a["name"], operator, value.hex()]
        value = data[int(rng.integers(0, 1000))]
        # the text must be the same number: seventeen digits are enough
        text = str(int(value)) if value.dtype.kind in "iu" else repr(float(value))
        return "%s %s %s" % (a["name"], operator, text), [a["name"], operator, value.tobytes().hex()]

    def text(self):
        """The array in a line."""
        dims = ",".join("%s%s" % (d["type"].lower(), "" if d.get("domain") else "*") for d in self.dims)
        attributes = " ".join("%s:%s%s%s[%s]" % (a["name"], a["type"].lower(), "" if a["cell_val_num"] == 1 else "x%s" % a["cell_val_num"],
                                                 "?" if a["nullable"] else "", "+".join(f["type"] for f in a["filters"]))
                              for a in self.schema["attributes"])
        more = "" if self.dense else " capacity %d%s" % (self.schema["capacity"], " dups" if self.schema["allows_dups"] else "")
        return "%s (%s) %s %d cells %d fragments%s; %s" % (self.schema["array_type"], dims, self.schema["cell_order"], self.cells,
                                                           self.fragments, ", ".join([more] + self.lived), attributes)


def cell_at(own, places):
    """The coordinates at some places, as numbers or text."""
    data, offsets = own
    if offsets is None:
        return [float(v) if data.dtype.kind == "f" else int(v) for v in data[places]]
    ends = np.append(offsets[1:], len(data)).astype(np.int64)
    return [bytes(data[int(offsets[p]):int(ends[p])]).decode() for p in places]


def told(description):
    """The arguments of a script that draws cases, whose folder is made."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--lib")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    return args


def main():
    args = told(__doc__)
    path = args.lib or find_lib()
    lib = capi.Lib(path, {"sm.dedup_coords": "true", "sm.compute_concurrency_level": 2})
    # it cannot consolidate dense arrays where duplicates are dropped
    plain = capi.Lib(path)
    cases = []
    for number in range(args.cases):
        drawn = Drawn(args.seed, number)
        uri = os.path.join(args.out, drawn.name)
        try:
            drawn.write(lib, uri)
            drawn.live_on(plain, uri)
        except capi.TileDBError as error:
            print("%s: libtiledb refuses it: %s" % (drawn.name, error), file=sys.stderr)
            shutil.rmtree(uri, ignore_errors=True)
            continue
        about = drawn.text()
        print("%s: %s" % (drawn.name, about), file=sys.stderr, flush=True)
        cases += [{"array": drawn.name, "about": about, "what": what, "request": request} for what, request in drawn.requests(uri)]
    with open(os.path.join(args.out, "cases.json"), "w") as handle:
        json.dump(cases, handle)


if __name__ == "__main__":
    main()
