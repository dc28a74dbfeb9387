"""The cases behind xtask/fixtures, as data.

    python3 cases.py --out DIR [--only SUBSTRING]

writes DIR/<library version>.json, a list of cases. A case is a dict that JSON can hold:

    {"id": "2.30.0/dense2d_rr", "name": "dense2d_rr", "lib": "2.30.0", "features": [...], "key": null or text,
     "object": "array" if it is not there,             others: structure_cases.py
     "oracle": release to read it                      if it is not 2.30.0; "case" if none reads what was written
     "notes": [...],
     "schema": {"array_type", "tile_order", "cell_order", "capacity", "allows_dups",
                "coords_filters", "offsets_filters", "validity_filters",   lists of {"type", options...}
                "dimensions": [{"name", "type", "domain": [hex, hex] or null, "tile_extent": hex or null, "filters"}],
                "attributes": [{"name", "type", "cell_val_num": n or "var", "nullable", "filters", "fill": hex,
                                "fill_valid", "enumeration"}],
                "enumerations", "current_domain", "dimension_labels"},
     "steps": [{"op": "create", "t": timestamp},
               {"op": "write", "t", "layout", "subarray": [[hex, hex], ...] or null,
                "fields": {name: {"data": base64, "offsets": base64 u64, "validity": base64}}},
               {"op": "meta", "t", "puts": [{"key", "type", "num", "value": base64}], "deletes": [key]},
               {"op": "consolidate" or "vacuum", "config": {...}},
               {"op": "delete", "t", "condition"}, {"op": "evolve", "t", "add", "drop"}, {"op": "upgrade"},
               {"op": "delete_fragments", "first", "last"}],
     "queries": [{"kind", "ranges", "layout"}],        more queries to record
     "light": true,                                    record fewer layouts, boxes and time windows
     "now_only": true}                                 record no time windows

Scalars are hex of little-endian bytes. A step with "by": "reader", or the number of a release, is executed by that library
after all steps of the writer, in the order in which they are first named.
"""

import argparse
import base64
import json
import os
import struct

import capi
from expect import FORMATS

KEY = "0123456789abcdeF0123456789abcdeF"
READER = "2.30.0"
# cases recorded with all layouts, several boxes and time windows; the others with fewer
HEAVY = ("base_", "dense1d", "dense2d", "dense3d", "dense_global", "sparse2d", "sparse3d", "fragments", "hilbert", "sparse_dups",
         "sparse_dims_mixed", "current_domain", "sparse_in_dense", "sparse_bytes")
FULL = ("1.6.3", READER)  # one array per feature; the other releases get a selection
VERSIONS = ["1.6.3", "1.7.7", "2.0.8", "2.1.6", "2.2.2", "2.2.9", "2.3.3", "2.4.3", "2.7.2", "2.8.2", "2.9.5",
            "2.10.4", "2.11.3", "2.12.3", "2.14.0", "2.15.4", "2.16.3", "2.17.4", "2.19.2", "2.30.0"]
OTHERS = ["2.6.4"]  # the only release of its kind that shares its format version with others
INTS = ["INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"]
FLOATS = ["FLOAT32", "FLOAT64"]
DATETIMES = [d for d in capi.DATATYPES if d.startswith("DATETIME")]
TIMES = [d for d in capi.DATATYPES if d.startswith("TIME_")]
LIMITS = {}
for _t in INTS:
    _bits = 8 * capi.size_of(_t)
    LIMITS[_t] = (0, 2 ** _bits - 1) if _t[0] == "U" else (-(2 ** (_bits - 1)), 2 ** (_bits - 1) - 1)
WORDS = ["", "a", "b", "tile", "zebra", "aa", "delta-0", "x y", "~", "Quick", "brown", "foxtrot", "00", "!"]


class Rng:
    """SplitMix64."""

    def __init__(self, seed):
        self.s = 0x9E3779B97F4A7C15
        for c in seed.encode() if isinstance(seed, str) else struct.pack("<Q", seed):
            self.s = (self.s ^ c) * 0x100000001B3 & (2 ** 64 - 1)

    def next(self):
        self.s = (self.s + 0x9E3779B97F4A7C15) & (2 ** 64 - 1)
        z = self.s
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & (2 ** 64 - 1)
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & (2 ** 64 - 1)
        return z ^ (z >> 31)

    def below(self, n):
        return self.next() % n

    def between(self, lo, hi):
        return lo + self.next() % (hi - lo + 1)

    def pick(self, items):
        return items[self.next() % len(items)]

    def sample(self, items, n):
        """n distinct items, in random order."""
        pool = list(items)
        for i in range(min(n, len(pool))):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:n]


def b64(data):
    return base64.b64encode(data).decode()


def pack(datatype, values):
    if datatype in ("BOOL",):
        return bytes(values)
    if datatype in ("CHAR", "STRING_ASCII", "STRING_UTF8", "ANY", "BLOB", "GEOM_WKB", "GEOM_WKT"):
        return bytes(values)
    code = {"STRING_UTF16": "H", "STRING_UCS2": "H", "STRING_UTF32": "I", "STRING_UCS4": "I"}.get(datatype)
    return struct.pack("<%d%s" % (len(values), code or FORMATS.get(datatype, "q")), *values)


def hx(datatype, value):
    return pack(datatype, [value]).hex()


def gen(rng, datatype, n, profile="mixed"):
    """n values of a datatype."""
    out = []
    if datatype in FORMATS and datatype not in FLOATS or datatype.startswith(("DATETIME", "TIME_")):
        lo, hi = LIMITS.get(datatype, LIMITS["INT64"])
        if profile == "mono":
            v = 3
            for _ in range(n):
                out.append(min(v, hi))
                v += rng.below(3)
        elif profile == "runs":
            while len(out) < n:
                out += [rng.below(5)] * rng.between(1, 9)
            out = out[:n]
        elif profile == "small":
            out = [rng.below(100) for _ in range(n)]
        elif profile == "wave":
            out = [max(lo, min(hi, 100 + (i * i // 7) % 23)) for i in range(n)]
        else:
            for _ in range(n):
                k = rng.below(10)
                out.append(lo if k == 0 else hi if k == 1 else rng.between(lo, hi) if k < 5
                           else rng.between(max(lo, -50), 50))
    elif datatype in FLOATS:
        special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, -2.25]
        for i in range(n):
            if profile == "small" or profile == "mono":
                out.append(0.25 * (rng.below(64) if profile == "small" else i))
            elif profile == "runs":
                out.append(float(i // 7))
            elif profile == "wave":
                out.append(round(((i * 37) % 101) * 0.5, 2))
            else:
                out.append(special[rng.below(7)] if rng.below(4) == 0 else (rng.below(200000) - 100000) / 64.0)
    elif datatype == "BOOL":
        out = [rng.below(2) for _ in range(n)]
    elif datatype in ("ANY", "BLOB", "GEOM_WKB"):
        out = [rng.below(256) for _ in range(n)]
    else:
        out = [97 + rng.below(3 if profile in ("runs", "small") else 26) for _ in range(n)]
    return pack(datatype, out)


def field(rng, a, n, profile=None, words=None, null_rate=3, lengths=(0, 5), nonempty=()):
    """The buffers of n cells of an attribute. Var-length cells at the positions in nonempty get at least one value."""
    profile = profile or a.get("profile", "mixed")
    cvn = a.get("cell_val_num", 1)
    size = capi.size_of(a["type"])
    out = {}
    valid = [0 if null_rate and rng.below(null_rate) == 0 else 1 for _ in range(n)] if a.get("nullable") else None
    if cvn == "var":
        parts, offs, pos, last = [], [], 0, b""
        for i in range(n):
            offs.append(pos)
            if words and size == 1:
                cell = rng.pick(words).encode()
            else:
                cell = gen(rng, a["type"], rng.between(*lengths), profile)
            if profile == "runs" and rng.below(3):
                cell = last
            last = cell
            if valid and not valid[i]:
                cell = b""
            if not cell and i in nonempty:
                cell = gen(rng, a["type"], 1, profile)
            parts.append(cell)
            pos += len(cell)
        out["data"], out["offsets"] = b64(b"".join(parts)), b64(struct.pack("<%dQ" % n, *offs))
    else:
        data = bytearray(gen(rng, a["type"], n * cvn, profile))
        if valid:
            for i in range(n):
                if not valid[i]:
                    data[i * cvn * size:(i + 1) * cvn * size] = bytes(cvn * size)
        out["data"] = b64(bytes(data))
    if valid:
        out["validity"] = b64(bytes(valid))
    return out


def dim(name, datatype, lo, hi, extent, filters=None):
    if datatype == "STRING_ASCII":
        d = {"name": name, "type": datatype, "domain": None, "tile_extent": None}
    else:
        d = {"name": name, "type": datatype, "domain": [hx(datatype, lo), hx(datatype, hi)],
             "tile_extent": None if extent is None else hx(datatype, extent)}
    if filters:
        d["filters"] = filters
    return d


def attr(name, datatype="INT32", cell_val_num=1, nullable=False, filters=None, **more):
    a = {"name": name, "type": datatype, "cell_val_num": cell_val_num, "nullable": nullable}
    if filters is not None:
        a["filters"] = filters
    a.update(more)
    return a


def flt(kind, **options):
    return dict({"type": kind}, **options)


ZSTD = [flt("zstd", level=3)]


class Case:
    """Builds one case."""

    def __init__(self, version, name, features, dims, attrs, dense=True, key=None, notes=None, t0=1, **schema):
        self.v = version
        self.rng = Rng(name)
        self.dims, self.attrs = dims, attrs
        self.schema = dict({"array_type": "dense" if dense else "sparse", "tile_order": "row-major",
                            "cell_order": "row-major", "dimensions": dims, "attributes": attrs}, **schema)
        self.d = {"id": version + "/" + name, "name": name, "lib": version,
                  "features": ["dense" if dense else "sparse"] + features, "key": key, "notes": notes or [],
                  "schema": self.schema, "steps": [{"op": "create", "t": t0}], "queries": []}
        self.by = None

    def step(self, op, **more):
        s = dict({"op": op}, **more)
        if self.by:
            s["by"] = self.by
        self.d["steps"].append(s)
        return self

    def nonempty(self, n, box=None):
        """Positions whose var-length cells must not be empty.

        1.6 and 1.7 refuse all empty cells, 2.0 to 2.2 an empty last one. 2.4 to 2.30 now and then crash in a dense write
        of several var-length attributes with empty cells (a null source in OrderedWriter's copy into tiles)."""
        if n == 1 or vt(self.v) < (2, 0) or box and len(self.attrs) > 1 and vt(self.v) >= (2, 3):
            return range(n)
        return (n - 1,) if vt(self.v) < (2, 3) else ()

    def dense(self, t, box, layout="row-major", attrs=None, more=None, **how):
        """A dense write of generated cells over a box of integers."""
        n = 1
        for lo, hi in box:
            n *= hi - lo + 1
        fields = {a["name"]: field(self.rng, a, n, nonempty=self.nonempty(n, box), **how) for a in attrs or self.attrs}
        fields.update(more or {})
        return self.step("write", t=t, layout=layout, fields=fields,
                         subarray=[[hx(d["type"], lo), hx(d["type"], hi)] for d, (lo, hi) in zip(self.dims, box)])

    def sparse(self, t, coords, layout="unordered", attrs=None, **how):
        """A sparse write of generated cells at given coordinates (tuples of values, text for string dimensions)."""
        n = len(coords)
        fields = {}
        for i, d in enumerate(self.dims):
            col = [c[i] for c in coords]
            if d["type"] == "STRING_ASCII":
                parts = [c.encode() if isinstance(c, str) else c for c in col]
                pos, offs = 0, []
                for p in parts:
                    offs.append(pos)
                    pos += len(p)
                fields[d["name"]] = {"data": b64(b"".join(parts)), "offsets": b64(struct.pack("<%dQ" % n, *offs))}
            else:
                fields[d["name"]] = {"data": b64(pack(d["type"], col))}
        for a in attrs or self.attrs:
            fields[a["name"]] = field(self.rng, a, n, nonempty=self.nonempty(n), **how)
        return self.step("write", t=t, layout=layout, fields=fields, subarray=None)

    def coords(self, n, dups=False):
        """n random coordinates in the domain, distinct unless dups."""
        seen, out = set(), []
        tries = 0
        while len(out) < n and tries < 50 * n:
            tries += 1
            c = []
            for d in self.dims:
                if d["type"] == "STRING_ASCII":
                    # 2.0 to 2.2 compute garbage bounds when a string coordinate is empty
                    c.append(self.rng.pick(WORDS if vt(self.v) >= (2, 3) else WORDS[1:]) + self.rng.pick(["", "1", "22", "z"]))
                    continue
                code = FORMATS.get(d["type"], "q")
                lo, hi = (struct.unpack("<" + code, bytes.fromhex(x))[0] for x in d["domain"])
                if code in "fd":
                    c.append(lo + (hi - lo) * self.rng.below(4097) / 4096.0)
                else:
                    c.append(self.rng.between(lo, hi))
            c = tuple(c)
            if dups or c not in seen:
                seen.add(c)
                out.append(c)
        return out

    def meta(self, t, puts, deletes=()):
        return self.step("meta", t=t, deletes=list(deletes), puts=[
            {"key": k, "type": d, "num": len(v), "value": b64(pack(d, v))} for k, d, v in puts])

    def consolidate(self, mode="fragments", **config):
        return self.step("consolidate", config=dict({"sm.consolidation.mode": mode}, **config)
                         if vt(self.v) >= (2, 0) or self.by else {})

    def vacuum(self, mode="fragments"):
        return self.step("vacuum", config={"sm.vacuum.mode": mode})

    def query(self, layout, ranges, kind="subarray"):
        self.d["queries"].append({"kind": kind, "ranges": [
            None if r is None else [hx(d["type"], r[0]), hx(d["type"], r[1])] for d, r in zip(self.dims, ranges)],
            "layout": layout})
        return self

    def done(self):
        d = json.loads(json.dumps(self.d))
        for step in d["steps"] + [d]:
            for a in step.get("add", []) + (step.get("schema", {}) or {}).get("attributes", []):
                a.pop("profile", None)
        return d


def vt(version):
    return tuple(int(x) for x in version.split("."))[:2]


def string_type(v):
    return "STRING_ASCII" if vt(v) >= (2, 0) else "CHAR"


def plus(coords, *more):
    """The coordinates and those of the others that are not among them."""
    return coords + [m for m in more if m not in coords]


def xy(extents=(4, 3), hi=(10, 7), types=("INT32", "INT32"), lo=(1, 1)):
    return [dim(n, t, l, h, e) for n, t, l, h, e in zip("xyzw", types, lo, hi, extents)]


# -- what every release gets ---------------------------------------------------------------------------------------


def base(v):
    s = string_type(v)
    out = []
    c = Case(v, "base_dense", ["fragments:overlapping", "var"], xy(), [
        attr("a", "INT32", filters=ZSTD), attr("d", "FLOAT64"), attr("s", s, "var", filters=ZSTD)])
    c.dense(10, [[1, 10], [1, 7]], words=WORDS).dense(20, [[3, 7], [2, 5]], "col-major", words=WORDS)
    if v in FULL:
        c.dense(30, [[9, 10], [7, 7]], words=WORDS)
    out.append(c)
    if v == READER:
        # the array of the README and of tdb-array's front page: 1 to 16 in a square
        dims = [dim(n, "INT32", 1, 4, 2) for n in ("rows", "cols")]
        c = Case(v, "quickstart", ["dense"], dims, [attr("a", "INT32", filters=ZSTD)])
        out.append(c.dense(10, [[1, 4], [1, 4]], more={"a": {"data": b64(pack("INT32", range(1, 17)))}}))
    c = Case(v, "base_sparse", ["fragments:overlapping", "var"], xy((10, 10), (50, 40), ("INT64", "INT64")), [
        attr("a", "INT32", filters=ZSTD), attr("u", "UINT8", 2), attr("s", s, "var", filters=ZSTD)],
        dense=False, capacity=4)
    first = c.coords(17)
    c.sparse(10, first, words=WORDS).sparse(20, plus(first[3:9], (50, 40), (1, 40)), words=WORDS)
    if v in FULL:
        c.sparse(30, plus(first[:1], (50, 1)), words=WORDS)
    out.append(c)
    if vt(v) >= (2, 0):
        c = Case(v, "base_strings", ["dim:string", "dim:heterogeneous", "var"],
                 [dim("s", "STRING_ASCII", 0, 0, None), dim("t", "DATETIME_MS", -100, 1000, 50),
                  dim("f", "FLOAT32", -1.0, 1.0, 0.5)],
                 [attr("a", "INT16"), attr("w", s, "var", filters=ZSTD)], dense=False, capacity=5, allows_dups=True)
        first = c.coords(14)
        out.append(c.sparse(10, first + first[:2], words=WORDS))
        if v in FULL:
            c.sparse(20, first[2:5], words=WORDS)
    else:
        c = Case(v, "base_strings", ["var", "filter:zstd"], xy((10, 10), (50, 40)),
                 [attr("s", "CHAR", "var", filters=ZSTD), attr("w", "STRING_ASCII", "var"),
                  attr("u", "STRING_UTF8", "var", filters=[flt("gzip", level=5)])], dense=False, capacity=5)
        out.append(c.sparse(10, c.coords(13), words=WORDS).sparse(20, [(1, 1)], words=WORDS))
    if vt(v) >= (2, 2):
        na = [attr("i", "INT32", nullable=True), attr("m", "FLOAT32", 2, nullable=True, filters=ZSTD),
              attr("s", "STRING_ASCII", "var", nullable=True, filters=ZSTD), attr("k", "UINT8")]
        c = Case(v, "base_nullable_dense", ["nullable", "var"], xy((5, 2), (10, 4)), na)
        out.append(c.dense(10, [[1, 8], [1, 4]], words=WORDS))
        if v in FULL:
            c.dense(20, [[4, 6], [2, 3]], words=WORDS)
        c = Case(v, "base_nullable_sparse", ["nullable", "var"], xy((10,), (100,)), na, dense=False, capacity=6)
        if v != "2.2.2":  # whose nullable sparse arrays 2.30 cannot read ("Incorrect unfiltered tile size allocated")
            out.append(c.sparse(10, c.coords(15), words=WORDS))
    if (1, 7) <= vt(v):
        c = Case(v, "base_meta", ["meta"], xy((10,), (20,)), [attr("a")])
        c.meta(5, [("one", "INT32", [1]), ("two", "FLOAT64", [1.5, -2.5])])
        c.dense(10, [[1, 20]]).meta(12, [("text", "STRING_UTF8", list("h\u00e9llo".encode())), ("one", "INT64", [7])])
        out.append(c.meta(15, [], ["two"]))
    return out


def consolidated(v):
    out = []
    new = vt(v) >= (2, 0)
    for dense in (True, False):
        c = Case(v, "consolidated_dense" if dense else "consolidated_sparse", ["consolidated"],
                 xy((5, 4), (10, 8)), [attr("a", "INT32", filters=ZSTD), attr("s", "CHAR", "var")], dense=dense,
                 **({} if dense else {"capacity": 5}))
        if dense:
            c.dense(10, [[1, 10], [1, 8]], words=WORDS).dense(20, [[2, 6], [3, 8]], words=WORDS)
            c.dense(30, [[6, 10], [5, 5]], words=WORDS)
        else:
            k = c.coords(12)
            c.sparse(10, k, words=WORDS).sparse(20, plus(k[4:8], (1, 1)), words=WORDS).sparse(30, k[6:7], words=WORDS)
        c.consolidate()
        if new:
            c.vacuum()
        out.append(c)
    if v == READER:
        # tiles that reach out of the fragment's domain: their statistics count the fill values there
        c = Case(v, "consolidated_dense_part", ["consolidated"], [dim("x", "INT32", 1, 9, 4)],
                 [attr("a", "INT32", fill=hx("INT32", 7000))])
        c.dense(10, [[2, 6]], profile="small").dense(20, [[5, 7]], profile="small")
        out.append(c.consolidate(**{"sm.consolidation.amplification": "100"}).vacuum())
    return out


def modern_extras(v):
    """Features with a first release, for the releases that have them."""
    out = []
    n = vt(v)
    if v in ("2.8.2", "2.12.3", "2.14.0", READER):
        a = [attr("r", "STRING_ASCII", "var", filters=[flt("rle", level=-1)], profile="runs"),
             attr("c", "CHAR", "var", filters=[flt("rle", level=-1)], profile="runs")]
        if n >= (2, 12):
            a.append(attr("z", "STRING_ASCII", "var", filters=[flt("rle", level=-1), flt("zstd", level=3)], profile="runs"))
        if n >= (2, 14):
            a.append(attr("u", "STRING_UTF8", "var", filters=[flt("rle", level=-1)], profile="runs"))
        c = Case(v, "filter_rle_string", ["filter:rle-string", "var"], xy((10,), (40,)), a)
        out.append(c.dense(10, [[1, 40]], words=WORDS).dense(20, [[12, 15]], words=WORDS))
    if v in ("2.9.5", "2.12.3", "2.14.0", READER):
        a = [attr("r", "STRING_ASCII", "var", filters=[flt("dictionary", level=-1)], profile="runs")]
        if n >= (2, 12):
            a.append(attr("z", "STRING_ASCII", "var", filters=[flt("dictionary", level=-1), flt("gzip", level=4)]))
        if n >= (2, 14):
            a.append(attr("u", "STRING_UTF8", "var", filters=[flt("dictionary", level=-1)], profile="runs"))
        c = Case(v, "filter_dictionary", ["filter:dictionary", "var"], xy((10,), (40,)), a)
        out.append(c.dense(10, [[1, 40]], words=WORDS).dense(20, [[12, 15]], words=WORDS))
    if v in ("2.11.3", "2.17.4", READER):
        a = [attr("f", "FLOAT32", filters=[flt("scale_float", scale_float_bytewidth=2, scale_float_factor=0.25,
                                               scale_float_offset=1.0)], profile="small"),
             attr("d", "FLOAT64", filters=[flt("scale_float", scale_float_bytewidth=4, scale_float_factor=0.5,
                                               scale_float_offset=-3.0)], profile="wave")]
        c = Case(v, "filter_scale_float", ["filter:scale-float"], xy((20,), (40,)), a)
        out.append(c.dense(10, [[1, 40]]))
    if v in ("2.12.3", "2.17.4", READER):
        a = [attr("x%d" % i, t, filters=[flt("xor")]) for i, t in enumerate(["INT8", "UINT16", "INT32", "FLOAT64"])]
        c = Case(v, "filter_xor", ["filter:xor"], xy((20,), (40,)), a)
        out.append(c.dense(10, [[1, 40]]))
        c = Case(v, "deletes", ["commits:del"], xy((10, 10), (50, 40)), [attr("a", "INT32", profile="small"),
                 attr("s", "STRING_ASCII", "var")], dense=False, capacity=5)
        k = c.coords(20)
        c.sparse(10, k, words=WORDS).step("delete", t=20, condition=["a", "<", hx("INT32", 30)])
        c.sparse(30, k[:4], words=WORDS)
        c.step("delete", t=40, condition=["or", ["and", ["a", ">", hx("INT32", 60)], ["x", "<=", hx("INT32", 25)]],
                                          ["s", "==", b"tile".hex()]])
        out.append(c)
    if v in ("2.16.3", "2.17.4", READER):
        a = [attr("x%d" % i, t, filters=[flt("delta", level=-1)], profile=p) for i, (t, p) in enumerate(
            [("INT8", "small"), ("UINT16", "mono"), ("INT32", "mono"), ("INT64", "small"), ("DATETIME_S".replace("_S", "_SEC"), "mono")])]
        c = Case(v, "filter_delta", ["filter:delta"], xy((20,), (40,)), a)
        out.append(c.dense(10, [[1, 40]]))
    if v in ("2.17.4", READER):
        e = [{"name": "fruit", "type": "STRING_ASCII", "cell_val_num": "var", "ordered": False,
              "data": b64(b"applefigkiwi"), "offsets": b64(struct.pack("<3Q", 0, 5, 8))},
             {"name": "level", "type": "INT64", "cell_val_num": 1, "ordered": True,
              "data": b64(struct.pack("<3q", -5, 0, 700))}]
        a = [attr("f", "UINT8", enumeration="fruit"), attr("n", "INT32", nullable=True, enumeration="level")]
        c = Case(v, "enumeration", ["enumeration", "nullable"], xy((5,), (10,)), a, enumerations=e)
        f = {"f": {"data": b64(bytes([0, 1, 2, 0, 1, 2, 2, 2, 1, 0]))},
             "n": {"data": b64(struct.pack("<10i", 0, 1, 2, 2, 1, 0, 0, 1, 2, 0)),
                   "validity": b64(bytes([1, 1, 0, 1, 1, 1, 1, 0, 1, 1]))}}
        out.append(c.dense(10, [[1, 10]], more=f))
    if v in ("2.4.3", "2.8.2", "2.12.3", READER):
        for dense in (True, False):
            b = attr("b", "FLOAT64", fill=hx("FLOAT64", 7.5))
            c = Case(v, "evolved_dense" if dense else "evolved_sparse", ["evolved"], xy((5,), (12,)),
                     [attr("a"), attr("z", "UINT8")], dense=dense, t0=10)
            new = [c.attrs[0], b, attr("s", "STRING_ASCII", "var", nullable=True)]
            (c.dense(10, [[1, 12]]) if dense else c.sparse(10, [(i,) for i in range(1, 9)]))
            c.step("evolve", t=15, drop=["z"], add=new[1:])
            later = dict(attrs=new, words=WORDS)
            (c.dense(20, [[4, 8]], **later) if dense else c.sparse(20, [(4,), (12,), (5,)], **later))
            out.append(c)
    if v == READER:
        # Dropped, overwritten in whole space tiles (elsewhere libtiledb returns what was there before), and added again.
        back = [attr("n", nullable=True), attr("s", "STRING_ASCII", "var"), attr("z", "UINT8")]
        c = Case(v, "readded_dense", ["evolved", "fill:default"], xy((5,), (12,)), [attr("a")] + back, t0=10)
        c.dense(10, [[1, 12]], words=WORDS).step("evolve", t=15, drop=[b["name"] for b in back], add=[])
        c.dense(20, [[6, 12]], attrs=c.attrs[:1]).step("evolve", t=25, drop=[], add=back)
        out.append(c.dense(30, [[4, 7]], words=WORDS))
        # Cells and metadata of the year 2100, which readers of today do not see.
        later = 4102444800000
        for dense in (True, False):
            c = Case(v, "future_dense" if dense else "future_sparse", ["time-travel", "meta"], xy((5,), (12,)), [attr("a")],
                     dense=dense)
            for i, t in enumerate((10, 20, later, later + 1)):
                (c.dense(t, [[1 + i, 12 - 2 * i]]) if dense else c.sparse(t, [(j,) for j in range(1 + i, 13 - 2 * i)]))
                c.meta(t, [("k", "INT32", [i])])
            out.append(c)
    return out


def commits(v):
    """Consolidation in all its forms (2.8 and later)."""
    out = []

    def fresh(name, features, dense=False):
        c = Case(v, name, features, xy((4, 4), (8, 8)) if dense else xy((10, 10), (30, 30)),
                 [attr("a", "INT32"), attr("s", "STRING_ASCII", "var")], dense=dense, **({} if dense else {"capacity": 5}))
        k = c.coords(10)
        for t in (10, 20, 30):
            if dense:
                c.dense(t, [[t // 10, t // 10 + 4], [1, 5]], words=WORDS)
            else:
                c.sparse(t, k[: 12 - t // 5], words=WORDS)
        return c

    out.append(fresh("commits_con", ["commits:con"]).consolidate("commits"))
    out.append(fresh("commits_con_vacuumed", ["commits:con"]).consolidate("commits").vacuum("commits"))
    out.append(fresh("commits_vac_sparse", ["commits:vac", "consolidated"]).consolidate())
    out.append(fresh("commits_vac_dense", ["commits:vac", "consolidated"], True).consolidate())
    out.append(fresh("commits_ign", ["commits:ign", "commits:con", "consolidated"])
               .consolidate("commits").vacuum("commits").consolidate().vacuum())
    out.append(fresh("fragment_meta", ["fragment-meta:consolidated"]).consolidate("fragment_meta"))
    c = Case(v, "meta_consolidated", ["meta", "meta:consolidated"], xy((5,), (10,)), [attr("a")])
    c.meta(10, [("a", "INT32", [1]), ("b", "INT32", [2])]).meta(20, [("c", "UINT8", [3])], ["b"])
    c.meta(30, [("a", "INT64", [9, 10])])
    out.append(c.consolidate("array_meta"))
    c = Case(v, "meta_consolidated_vacuumed", ["meta", "meta:consolidated"], xy((5,), (10,)), [attr("a")])
    c.meta(10, [("a", "INT32", [1]), ("b", "INT32", [2])]).meta(20, [("c", "UINT8", [3])], ["b"])
    out.append(c.consolidate("array_meta").vacuum("array_meta"))
    if vt(v) >= (2, 12):
        for name, vac in (("deletes_consolidated", True), ("deletes_commits_con", False)):
            c = fresh(name, ["commits:del"] + (["consolidated"] if vac else ["commits:con"]))
            c.step("delete", t=40, condition=["a", "<", hx("INT32", 0)])
            out.append(c.consolidate().vacuum() if vac else c.consolidate("commits").vacuum("commits"))
    return out


def encrypted(v):
    out = []
    s = string_type(v)
    c = Case(v, "encrypted_dense", ["encrypted"], xy(), [attr("a", "INT32", filters=ZSTD), attr("s", s, "var")], key=KEY)
    c.dense(10, [[1, 10], [1, 7]], words=WORDS).dense(20, [[2, 3], [3, 4]], words=WORDS)
    if vt(v) >= (2, 3):
        c.meta(30, [("k", "INT32", [1, 2])])
    out.append(c)
    c = Case(v, "encrypted_sparse", ["encrypted"], xy((10, 10), (50, 40)), [attr("a", "INT32", filters=ZSTD),
             attr("s", s, "var")], key=KEY, dense=False, capacity=5)
    out.append(c.sparse(10, c.coords(11), words=WORDS).sparse(20, c.coords(3), words=WORDS))
    return out


# -- filters ---------------------------------------------------------------------------------------------------------


def filters(v):
    out = []
    s = string_type(v)
    any_types = [("i", "INT32", 1, "mixed"), ("f", "FLOAT64", 1, "wave"), ("u", "UINT8", 3, "runs"),
                 ("g", "FLOAT32", 1, "mixed"), ("s", s, "var", "mixed"), ("w", "INT32", "var", "small")]
    int_types = [("i%d" % i, t, 1, "small") for i, t in enumerate(INTS)] + [("t", "DATETIME_MS", 1, "small"),
                                                                           ("w", "UINT16", "var", "small")]
    mono_types = [("i%d" % i, t, 1, "mono") for i, t in enumerate(INTS[2:])] + [("t", "DATETIME_MS", 1, "mono")]
    dd_types = [("i%d" % i, t, 1, p) for i, (t, p) in enumerate(
        [("INT8", "small"), ("INT16", "small"), ("INT32", "mono"), ("UINT32", "small"), ("INT64", "mono"),
         ("UINT64", "small")])] + [("t", "DATETIME_MS", 1, "mono"), ("w", "INT32", "var", "small")]
    rle_types = [("i", "INT32", 1, "runs"), ("j", "INT64", 1, "runs"), ("f", "FLOAT32", 1, "runs"),
                 ("u", "UINT8", 3, "runs"), ("s", "CHAR", "var", "runs"), ("w", "INT16", "var", "runs")]
    if v not in FULL:
        any_types, int_types, dd_types = any_types[:2] + any_types[-2:], int_types[2:6] + int_types[-2:], dd_types[1:4]
    single = [
        ("none", [flt("none")], any_types), ("gzip", [flt("gzip", level=6)], any_types),
        ("zstd", [flt("zstd", level=5)], any_types), ("lz4", [flt("lz4", level=1)], any_types),
        ("bzip2", [flt("bzip2", level=3)], any_types), ("rle", [flt("rle", level=-1)], rle_types),
        ("double_delta", [flt("double_delta", level=-1)], dd_types), ("byteshuffle", [flt("byteshuffle")], any_types),
        ("bitshuffle", [flt("bitshuffle")], any_types),
        ("bit_width_reduction", [flt("bit_width_reduction", bit_width_max_window=64)], int_types),
        ("positive_delta", [flt("positive_delta", positive_delta_max_window=48)], mono_types),
    ]
    if vt(v) >= (1, 7):
        single += [("checksum_md5", [flt("checksum_md5")], any_types),
                   ("checksum_sha256", [flt("checksum_sha256")], any_types)]
    tags = {"double_delta": "double-delta", "bit_width_reduction": "bit-width-reduction",
            "positive_delta": "positive-delta", "checksum_md5": "md5", "checksum_sha256": "sha256"}
    chains = [
        ("chain_shuffle_zstd", [flt("byteshuffle"), flt("zstd", level=3)], any_types),
        ("chain_bitshuffle_lz4", [flt("bitshuffle"), flt("lz4", level=1)], any_types),
        ("chain_bwr_gzip", [flt("bit_width_reduction", bit_width_max_window=40), flt("gzip", level=3)], int_types),
        ("chain_pd_bwr_zstd", [flt("positive_delta", positive_delta_max_window=64),
                               flt("bit_width_reduction", bit_width_max_window=32), flt("zstd", level=2)], mono_types),
        ("chain_dd_bzip2", [flt("double_delta", level=-1), flt("bzip2", level=1)], dd_types),
        ("chain_long", [flt("byteshuffle"), flt("none"), flt("zstd", level=1),
                        flt("lz4", level=2), flt("gzip", level=1)], any_types),
    ]
    if vt(v) >= (1, 7):
        chains.append(("chain_checksums", [flt("checksum_md5"), flt("zstd", level=3), flt("checksum_sha256")], any_types))
    for name, fl, types in single + chains:
        tag = sorted({"filter:" + tags.get(f["type"], f["type"]) for f in fl})
        a = [attr(n, t, cvn, filters=fl, profile=p) for n, t, cvn, p in types]
        # UTF-8/ASCII run-length of strings is a feature of its own: keep it out of these
        for x in a:
            if x["cell_val_num"] == "var" and x["type"] == "STRING_ASCII" and any(f["type"] == "rle" for f in fl):
                x["type"] = "CHAR"
        c = Case(v, "filter_" + name, tag, xy((25,), (50,)), a)
        out.append(c.dense(10, [[1, 50]]))
    for i, fl in enumerate([[flt("gzip", level=2)], [flt("double_delta", level=-1)],
                            [flt("positive_delta", positive_delta_max_window=1024), flt("zstd", level=3)],
                            [flt("byteshuffle"), flt("lz4", level=1)], [flt("bit_width_reduction", bit_width_max_window=256),
                                                                       flt("bzip2", level=1)]]):
        c = Case(v, "offsets_filters_%d" % i, ["offsets-filters", "var"] + ["filter:" + tags.get(f["type"], f["type"])
                 for f in fl], xy((20,), (40,)), [attr("s", s, "var"), attr("w", "FLOAT64", "var")], offsets_filters=fl)
        out.append(c.dense(10, [[1, 40]], words=WORDS))
    for i, (fl, types) in enumerate([
            ([flt("gzip", level=2)], ("FLOAT64", "FLOAT64")), ([flt("double_delta", level=-1)], ("INT64", "INT64")),
            ([flt("byteshuffle"), flt("zstd", level=1)], ("UINT32", "UINT32")),
            ([flt("rle", level=-1), flt("lz4", level=1)], ("UINT8", "UINT8")), ([flt("none")], ("INT16", "INT16")),
            ([flt("bitshuffle"), flt("bzip2", level=2)], ("FLOAT32", "FLOAT32"))]):
        tag = ["filter:" + tags.get(f["type"], f["type"]) for f in fl]
        c = Case(v, "coords_filters_%d" % i, ["coords-filters"] + tag, xy((10, 10), (60, 50), types), [attr("a")],
                 dense=False, capacity=12, coords_filters=fl)
        out.append(c.sparse(10, c.coords(30)))
    if vt(v) >= (2, 0):
        c = Case(v, "dimension_filters", ["dimension-filters", "dim:string"],
                 [dim("x", "INT32", 1, 100, 10, [flt("double_delta", level=-1), flt("zstd", level=3)]),
                  dim("s", "STRING_ASCII", 0, 0, None, [flt("gzip", level=1)]),
                  dim("f", "FLOAT64", 0.0, 1.0, None if vt(v) >= (2, 1) else 0.5)], [attr("a")], dense=False, capacity=8)
        out.append(c.sparse(10, c.coords(20)))
    if vt(v) >= (2, 2):
        c = Case(v, "validity_filters", ["validity-filters", "nullable", "filter:rle"], xy((20,), (40,)),
                 [attr("a", nullable=True), attr("s", s, "var", nullable=True)], validity_filters=[flt("rle", level=-1)])
        out.append(c.dense(10, [[1, 40]], words=WORDS))
    return out


def chunks(v):
    out = []
    if v in FULL:
        c = Case(v, "chunks_fixed", ["chunks:many", "filter:zstd", "filter:byteshuffle"], xy((17000,), (17000,)),
                 [attr("a", "INT32", filters=[flt("byteshuffle"), flt("zstd", level=9)], profile="wave")])
        out.append(c.dense(10, [[1, 17000]]))
    n = 230
    c = Case(v, "chunks_var", ["chunks:many", "var", "filter:gzip"], xy((n,), (n,)),
             [attr("s", string_type(v), "var", filters=[flt("gzip", level=9)])])
    rng = c.rng
    cells = []
    for i in range(n):
        length = rng.between(600, 1200) if rng.below(12) == 0 else rng.below(200)
        cells.append("abcdefgh"[i % 8] * max(length, 1 if vt(v) < (2, 0) else 0))
    cells[200] = "z" * 20000
    cells[n - 1] = "last"
    parts, offs, pos = [], [], 0
    for w in cells:
        offs.append(pos)
        parts.append(w.encode())
        pos += len(w)
    f = {"s": {"data": b64(b"".join(parts)), "offsets": b64(struct.pack("<%dQ" % n, *offs))}}
    out.append(c.step("write", t=10, layout="row-major", subarray=[[hx("INT32", 1), hx("INT32", n)]], fields=f))
    if v == READER:
        c = Case(v, "chunks_var_big_cell", ["chunks:many", "var", "filter:zstd"], xy((50,), (50,)), [
            attr("s", "STRING_ASCII", "var", filters=ZSTD)], dense=False)
        c.sparse(10, [(i,) for i in (3, 7, 20, 31)])
        cells = [b"a" * 10, b"y" * 70000, b"", b"tail"]
        offs = [0, 10, 70010, 70010]
        c.d["steps"][-1]["fields"]["s"] = {"data": b64(b"".join(cells)), "offsets": b64(struct.pack("<4Q", *offs))}
        out.append(c)
    return out


# -- one array per feature ---------------------------------------------------------------------------------------------


def features(v):
    n = vt(v)
    s = string_type(v)
    out = []
    ab = [attr("a", "INT32"), attr("s", s, "var")]
    # dense shapes and orders
    c = Case(v, "dense1d", ["layouts"], xy((10,), (25,)), ab)
    out.append(c.dense(10, [[1, 25]], words=WORDS).dense(20, [[7, 13]], words=WORDS))
    for to in ("row", "col"):
        for co in ("row", "col"):
            o = dict(tile_order=to + "-major", cell_order=co + "-major")
            c = Case(v, "dense2d_%s%s" % (to[0], co[0]), ["orders:%s-%s" % (to, co)], xy(), ab, **o)
            c.dense(10, [[1, 10], [1, 7]], words=WORDS)
            out.append(c.dense(20, [[3, 8], [3, 6]], "row-major" if co == "col" else "col-major", words=WORDS))
            c = Case(v, "sparse2d_%s%s" % (to[0], co[0]), ["orders:%s-%s" % (to, co)], xy((10, 8), (40, 40)), ab,
                     dense=False, capacity=4, **o)
            out.append(c.sparse(10, c.coords(18), words=WORDS).sparse(20, c.coords(5), words=WORDS))
    for o in ("row", "col"):
        c = Case(v, "dense3d_%s" % o[0], ["dims:3"], xy((2, 3, 2), (5, 6, 4), ("INT32",) * 3, (1, 1, 1)),
                 [attr("a", "INT16")], tile_order=o + "-major", cell_order=("row" if o == "col" else "col") + "-major")
        out.append(c.dense(10, [[1, 5], [1, 6], [1, 4]]).dense(20, [[2, 4], [3, 5], [2, 2]]))
    c = Case(v, "dense_global", ["write:global"], xy((4, 3), (8, 6)), ab, tile_order="col-major")
    out.append(c.dense(10, [[1, 8], [1, 6]], "global-order", words=WORDS).dense(20, [[5, 8], [1, 3]], "global-order"))
    # datatypes
    types = ["attr:all-int", INTS, "attr:float", FLOATS, "attr:datetime", DATETIMES]
    if n >= (2, 3):
        types += ["attr:time", TIMES]
    for tag, ts in zip(types[::2], types[1::2]):
        a = [attr("a%d" % i, t) for i, t in enumerate(ts)]
        name = tag.split(":")[1].replace("-", "_")
        c = Case(v, "attr_%s_dense" % name, [tag], xy((6,), (14,)), a)
        out.append(c.dense(10, [[1, 12]]))
        c = Case(v, "attr_%s_sparse" % name, [tag], xy((6,), (40,)), a[::2] if len(a) > 4 else a, dense=False, capacity=5)
        out.append(c.sparse(10, c.coords(12)))
    chars = [attr("c1", "CHAR"), attr("c5", "CHAR", 5), attr("a3", "STRING_ASCII", 3), attr("u2", "STRING_UTF8", 2)]
    chars += [attr("w%d" % i, t, 2) for i, t in enumerate(["STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4"])]
    varc = [attr("v%d" % i, t, "var") for i, t in enumerate(
        ["CHAR", "STRING_ASCII", "STRING_UTF8", "STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4"])]
    c = Case(v, "attr_strings_fixed", ["attr:string"], xy((6,), (14,)), chars)
    out.append(c.dense(10, [[1, 12]]))
    # one array of all of them makes 2.30 crash: keep CHAR and ASCII apart from the others
    c = Case(v, "attr_strings_var_dense", ["attr:string", "var"], xy((6,), (14,)), varc[2:])
    out.append(c.dense(10, [[1, 12]]))
    c = Case(v, "attr_chars_var_dense", ["attr:string", "var"], xy((6,), (14,)), varc[:2])
    out.append(c.dense(10, [[1, 12]]))
    c = Case(v, "attr_any", ["attr:any", "var"], xy((6,), (14,)), [attr("y", "ANY", "var")])
    out.append(c.dense(10, [[1, 12]]))
    c = Case(v, "attr_strings_var_sparse", ["attr:string", "var"], xy((6,), (40,)), varc, dense=False, capacity=5)
    out.append(c.sparse(10, c.coords(12)))
    c = Case(v, "attr_var_numeric", ["var"], xy((6,), (14,)), [attr("v%d" % i, t, "var") for i, t in enumerate(
        INTS + FLOATS + ["DATETIME_DAY"])])
    out.append(c.dense(10, [[1, 12]]))
    c = Case(v, "attr_multi", ["attr:multi-value"], xy((6,), (14,)), [
        attr("m%d" % i, t, 2 + i % 2) for i, t in enumerate(INTS + FLOATS + ["DATETIME_NS"])])
    out.append(c.dense(10, [[1, 12]]).dense(20, [[5, 7]]))
    if n >= (2, 21):
        c = Case(v, "attr_bytes", ["attr:blob", "attr:bool", "attr:geometry"], xy((6,), (14,)), [
            attr("b", "BOOL"), attr("bn", "BOOL", nullable=True), attr("l", "BLOB", "var"), attr("l3", "BLOB", 3),
            attr("g", "GEOM_WKB", "var"), attr("k", "GEOM_WKT", "var")])
        out.append(c.dense(10, [[1, 12]]))
    # fragments
    c = Case(v, "fragments_dense", ["fragments:overlapping", "time-travel"], xy((4, 4), (12, 12)), [attr("a", "INT16"),
             attr("f", "FLOAT32"), attr("s", s, "var")])
    for i, box in enumerate([[[2, 7], [2, 9]], [[5, 11], [1, 4]], [[1, 1], [1, 12]], [[6, 9], [6, 12]], [[7, 7], [7, 7]]]):
        c.dense(10 * i + 10, box, "col-major" if i % 2 else "row-major", words=WORDS)
    out.append(c)
    c = Case(v, "fragments_sparse", ["fragments:overlapping", "time-travel"], xy((5, 5), (20, 20)), [attr("a", "INT16"),
             attr("s", s, "var")], dense=False, capacity=3)
    k = c.coords(14)
    for i in range(5):
        c.sparse(10 * i + 10, k[i:i + 9 - i], words=WORDS)
    out.append(c)
    c = Case(v, "gaps", ["fill:default"], xy((4,), (20,)), [attr("i8", "INT8"), attr("u16", "UINT16"), attr("f", "FLOAT32"),
             attr("d", "FLOAT64"), attr("t", "DATETIME_DAY"), attr("c", "CHAR"), attr("c3", "CHAR", 3), attr("i2", "INT64", 2),
             attr("vc", "CHAR", "var"), attr("vi", "INT32", "var"), attr("va", "STRING_ASCII", "var"),
             attr("vu", "STRING_UTF8", "var")])
    out.append(c.dense(10, [[3, 6]], words=WORDS).dense(20, [[14, 14]], words=WORDS))
    if n >= (2, 1):
        c = Case(v, "fill_custom", ["fill:custom"], xy((4,), (20,)), [
            attr("i", "INT32", fill=hx("INT32", -77)), attr("d", "FLOAT64", fill=hx("FLOAT64", 0.5)),
            attr("m", "UINT8", 2, fill="0708"), attr("s", "STRING_ASCII", "var", fill=b"none".hex()),
            attr("v", "INT16", "var", fill="010002000300")]
            + ([attr("n", "INT32", nullable=True, fill=hx("INT32", 5), fill_valid=True),
                attr("ns", "STRING_ASCII", "var", nullable=True, fill=b"x".hex(), fill_valid=False)] if n >= (2, 2) else []))
        out.append(c.dense(10, [[3, 6]], words=WORDS))
    # sparse dimensions
    for t, lo, hi, e in [("INT8", -100, 100, 10), ("UINT8", 1, 200, 20), ("INT16", -3000, 3000, 100),
                         ("UINT16", 5, 60000, 1000), ("INT32", -1000, 1000, 50), ("UINT32", 0, 4000000000, 1000000),
                         ("INT64", -10 ** 15, 10 ** 15, 10 ** 13), ("UINT64", 2 ** 63 - 50, 2 ** 63 + 50, 7),
                         ("FLOAT32", -5.0, 5.0, 0.5), ("FLOAT64", -1e6, 1e6, 1000.0),
                         ("DATETIME_DAY", -1000, 20000, 365), ("DATETIME_NS", 0, 10 ** 18, 10 ** 15)]:
        c = Case(v, "sparse_dim_" + t.lower(), ["dim:" + t.lower()], [dim("x", t, lo, hi, e)], [attr("a")], dense=False,
                 capacity=5)
        out.append(c.sparse(10, c.coords(12)))
    for t, lo, hi, e in [("INT8", -50, 49, 9), ("UINT16", 3, 60, 7), ("INT64", -20, 20, 6), ("UINT64", 10, 40, 4),
                         ("DATETIME_SEC", 100, 140, 8)]:
        c = Case(v, "dense_dim_" + t.lower(), ["dim:" + t.lower()], [dim("x", t, lo, hi, e)], [attr("a")])
        out.append(c.dense(10, [[lo + 2, hi]]))
    # 1.6 and 1.7 refuse signed domains that end below zero
    hi = -3 if n >= (2, 0) else 1
    c = Case(v, "dense_negative", ["dense:negative-domain", "dense:odd-extent"], [dim("x", "INT32", -7, 5, 5),
             dim("y", "INT32", -11, hi, 4)], ab)
    out.append(c.dense(10, [[-7, 5], [-11, hi]], words=WORDS).dense(20, [[-1, 2], [-9, -8]], words=WORDS))
    lo64 = -(2 ** 63)
    c = Case(v, "dense_int64_min", ["dense:domain-limit"], [dim("x", "INT64", lo64, lo64 + 41, 10)], ab)
    if n >= (2, 0):
        out.append(c.dense(10, [[lo64, lo64 + 15]], words=WORDS).dense(20, [[lo64 + 38, lo64 + 41]], words=WORDS))
    hi64 = 2 ** 64 - 12
    c = Case(v, "dense_uint64_max", ["dense:domain-limit"], [dim("x", "UINT64", hi64 - 41, hi64, 10)], ab)
    out.append(c.dense(10, [[hi64 - 41, hi64 - 20]], words=WORDS).dense(20, [[hi64 - 3, hi64]], words=WORDS))
    c = Case(v, "sparse_huge_domain", ["sparse:domain-limit"], [dim("x", "INT64", lo64, 2 ** 63 - 1 - 2 ** 32, 2 ** 32),
             dim("y", "INT64", lo64, 2 ** 63 - 1 - 2 ** 32, 2 ** 32)], ab, dense=False, capacity=4)
    out.append(c.sparse(10, [(lo64, lo64), (0, 0), (-1, 5), (2 ** 62, -(2 ** 62)), (2 ** 63 - 1 - 2 ** 32, lo64)], words=WORDS))
    c = Case(v, "sparse3d", ["dims:3"], xy((5, 5, 5), (20, 20, 20), ("INT32",) * 3, (1, 1, 1)), ab, dense=False, capacity=4)
    out.append(c.sparse(10, c.coords(15), words=WORDS).sparse(20, c.coords(4), words=WORDS))
    c = Case(v, "rtree_3_levels", ["rtree:deep"], xy((10, 10), (100, 100)), [attr("a", "INT16")], dense=False, capacity=2)
    out.append(c.sparse(10, c.coords(230)))
    c = Case(v, "capacity_exact", ["sparse"], xy((100,), (100,)), ab, dense=False, capacity=5)
    out.append(c.sparse(10, c.coords(10), words=WORDS).sparse(20, [(50,)], words=WORDS))
    c = Case(v, "sparse_global", ["write:global"], xy((10,), (100,)), ab, dense=False, capacity=4)
    out.append(c.sparse(10, sorted(c.coords(14)), "global-order", words=WORDS))
    # edge cases
    out.append(Case(v, "empty_dense", ["empty"], xy(), ab))
    out.append(Case(v, "empty_sparse", ["empty"], xy(), ab, dense=False))
    c = Case(v, "single_dense", ["single-cell"], [dim("x", "INT32", 5, 5, 1)], ab)
    out.append(c.dense(10, [[5, 5]], words=WORDS))
    c = Case(v, "single_sparse", ["single-cell"], xy(), ab, dense=False)
    out.append(c.sparse(10, [(3, 4)], words=WORDS))
    c = Case(v, "empty_strings", ["var", "empty-strings"], xy((5,), (10,)), [attr("s", s, "var")])
    out.append(c.dense(10, [[1, 10]], words=["", "", "b"], lengths=(0, 1)))
    if n >= (2, 3):
        c = Case(v, "empty_strings_sparse", ["var", "empty-strings"], xy((5,), (10,)),
                 [attr("s", s, "var"), attr("z", s, "var", filters=ZSTD), attr("i", "INT32", "var")], dense=False, capacity=3)
        out.append(c.sparse(10, [(i,) for i in range(2, 10)], words=[""], lengths=(0, 0)))
    c = Case(v, "anonymous_dense", ["anonymous"], xy((5,), (10,)), [attr("", "INT32")])
    out.append(c.dense(10, [[2, 9]]))
    c = Case(v, "anonymous_sparse", ["anonymous"], xy((5,), (10,)), [attr("", s, "var")], dense=False)
    out.append(c.sparse(10, [(2,), (3,), (9,)], words=WORDS))
    out.append(odd_names(v))
    c = Case(v, "many_attrs", ["attrs:many"], xy((5,), (10,)), [attr("a%d" % i, INTS[i % 8]) for i in range(12)])
    out.append(c.dense(10, [[1, 10]]))
    if n >= (2, 0):
        c = Case(v, "sparse_dim_string", ["dim:string"], [dim("s", "STRING_ASCII", 0, 0, None)], [attr("a")], dense=False,
                 capacity=4)
        k = [(w,) for w in ("", "a", "aa", "b", "tile", "tiledb", "zebra", "~", "0", "Az", "mm", "tilf")]
        k = k if n >= (2, 3) else k[1:]
        out.append(c.sparse(10, k).sparse(20, k[2:5] + [("new",)]))
        c = Case(v, "sparse_dims_mixed", ["dim:heterogeneous", "dim:string"], [
            dim("i", "INT16", -50, 50, 10), dim("f", "FLOAT64", 0.0, 10.0, 2.5), dim("k", "STRING_ASCII", 0, 0, None)], ab,
            dense=False, capacity=5)
        out.append(c.sparse(10, c.coords(16), words=WORDS).sparse(20, c.coords(3), words=WORDS))
        c = Case(v, "sparse_dups", ["dups"], xy((10, 10), (20, 20)), ab, dense=False, capacity=4, allows_dups=True)
        k = c.coords(8)
        out.append(c.sparse(10, k + k[:4] + k[:2], words=WORDS).sparse(20, k[2:6], words=WORDS))
        c = Case(v, "sparse_no_extent", ["dim:no-extent"], [dim("x", "INT32", 1, 100, None)], [attr("a")], dense=False,
                 capacity=5)
        if n >= (2, 1):
            out.append(c.sparse(10, c.coords(12)))
    if n >= (2, 2):
        c = Case(v, "nullable_types", ["nullable"], xy((5,), (12,)), [attr("n%d" % i, t, nullable=True) for i, t in enumerate(
            INTS + FLOATS + ["DATETIME_MS", "CHAR"])] + [attr("m", "INT16", 3, nullable=True), attr("v", "FLOAT32", "var", nullable=True)])
        out.append(c.dense(10, [[2, 11]]))
        c = Case(v, "all_null", ["nullable", "all-null"], xy((5,), (10,)), [attr("a", nullable=True),
                 attr("s", s, "var", nullable=True)])
        out.append(c.dense(10, [[1, 10]], null_rate=1))
        c = Case(v, "all_null_sparse", ["nullable", "all-null"], xy((5,), (30,)), [attr("a", nullable=True),
                 attr("s", s, "var", nullable=True)], dense=False, capacity=4)
        out.append(c.sparse(10, c.coords(9), null_rate=1).sparse(20, c.coords(3), null_rate=0, words=WORDS))
        hil = [("int32", xy((10, 10), (100, 100)), False), ("float64", [dim("x", "FLOAT64", -1.0, 1.0, None),
               dim("y", "FLOAT64", 0.0, 5.0, None)], True), ("mixed3", [dim("x", "UINT8", 0, 200, None),
               dim("k", "STRING_ASCII", 0, 0, None), dim("t", "DATETIME_MS", 0, 1000, None)], True),
               ("string", [dim("k", "STRING_ASCII", 0, 0, None)], False)]
        for name, dims, dups in hil:
            c = Case(v, "hilbert_" + name, ["hilbert"], dims, ab, dense=False, capacity=4, cell_order="hilbert",
                     allows_dups=dups)
            k = c.coords(18)
            out.append(c.sparse(10, k, words=WORDS).sparse(20, k[3:6], words=WORDS))
    if v == READER:
        # the first cell of the second fragment's tile has NaN as x, and so has the tile's rectangle
        nan = float("nan")
        c = Case(v, "nan_coordinates", ["coords:nan", "hilbert"], [dim("x", "FLOAT64", -1.0, 1.0, None),
                 dim("y", "FLOAT64", 0.0, 5.0, None)], [attr("a")], dense=False, capacity=8, cell_order="hilbert")
        out.append(c.sparse(10, [(-0.5, 1.0), (0.25, 2.0), (0.5, 3.5)]).sparse(20, [(nan, 2.5), (0.25, 2.0), (0.75, 4.0)]))
    if n < (2, 3):
        # no dense fragment over an older sparse one's cells: all releases answer that differently for different boxes
        c = Case(v, "sparse_in_dense", ["fragments:sparse-in-dense"], xy((4, 4), (8, 8)), [attr("a", "INT32")])
        out.append(c.dense(10, [[1, 8], [1, 6]]).sparse(20, [(2, 3), (7, 7), (8, 8), (1, 1)]).dense(30, [[6, 8], [5, 6]]))
        c = Case(v, "sparse_in_dense_only", ["fragments:sparse-in-dense"], xy((4, 4), (8, 8)), ab)
        out.append(c.sparse(10, [(2, 3), (7, 7), (8, 8), (1, 1)], words=WORDS))
    if n < (2, 0):
        # rectangles of dates that their cells do not lie in
        days = [dim("x", "DATETIME_DAY", -1000, 20000, 365), dim("y", "DATETIME_DAY", -300, 300, 25)]
        c = Case(v, "sparse_dates", ["dim:datetime_day", "fragments:overlapping"], days, [attr("a")], dense=False, capacity=3)
        k = c.coords(14)
        out.append(c.sparse(10, k[:11]).sparse(20, k[6:]))
        c = Case(v, "sparse_dates_in_dense", ["dim:datetime_day", "fragments:sparse-in-dense"], [
            dim("x", "DATETIME_DAY", -12, 12, 4), dim("y", "DATETIME_DAY", -6, 6, 3)], [attr("a")], capacity=2)
        out.append(c.dense(10, [[-12, 12], [-6, 6]]).sparse(20, [(-11, 5), (-3, -6), (0, 0), (4, -1), (7, 2), (-12, -5), (12, 6)]))
    if n >= (1, 7):
        c = Case(v, "meta_types", ["meta"], xy((5,), (10,)), [attr("a")])
        allt = INTS + FLOATS + ["CHAR", "STRING_ASCII", "STRING_UTF8", "STRING_UTF16", "STRING_UTF32", "DATETIME_DAY", "DATETIME_NS"]
        if n >= (2, 21):
            allt += ["BLOB", "BOOL", "TIME_SEC", "GEOM_WKB"]
        rng = Rng("meta")
        puts = []
        for i, t in enumerate(allt):
            raw = gen(rng, t, 1 + i % 3)
            puts.append({"key": "k%02d_%s" % (i, t.lower()), "type": t, "num": 1 + i % 3, "value": b64(raw)})
        c.step("meta", t=10, puts=puts, deletes=[])
        c.meta(20, [("k00_int8", "UINT16", [9]), ("zz", "INT32", [1]), ("\u00fcn\u00ef", "CHAR", list(b"odd key"))], ["k01_uint8"])
        c.dense(25, [[1, 10]])
        out.append(c.meta(30, [("k01_uint8", "STRING_UTF8", list(b"back"))], ["zz", "k03_uint16"]))
        c = Case(v, "meta_sparse", ["meta"], xy((5,), (10,)), [attr("a")], dense=False)
        c.meta(10, [("empty", "INT32", []), ("full", "INT32", [3])])
        out.append(c.sparse(20, [(3,)]).meta(30, [], ["full"]))
    return out


def odd_names(v):
    """Names that are legal on every file system the repository may be checked out on."""
    n = vt(v)
    s = string_type(v)
    names = ["a b%c&d=e", "\u00e9[0]", "a_var", "a0", "t", "A+B,(c)!@#$';"]
    if n >= (2, 2) and v != "2.2.2":
        names += ["q?x:y*z", "<p>|\\\"/"]
    c = Case(v, "odd_names", ["odd-names"], [dim("dim name", "INT32", 1, 100, 10), dim("\u00fcn\u00ef", "INT32", 1, 100, 10)],
             [attr(x, s if i % 2 else "INT32", "var" if i % 2 else 1) for i, x in enumerate(names)], dense=False, capacity=4)
    return c.sparse(10, c.coords(9), words=WORDS)


def upgraded(v):
    """Arrays of older releases that 2.30 continues."""
    out = []
    s = string_type(v)
    for dense in (True, False):
        for upgrade in (False, True):
            if upgrade and not dense:
                continue
            name = "upgraded_%s%s" % ("dense" if dense else "sparse", "_schema" if upgrade else "")
            c = Case(v, name, ["upgraded"], xy((5, 4), (10, 8)), [attr("a", "INT32", filters=ZSTD), attr("s", s, "var")],
                     dense=dense, **({} if dense else {"capacity": 4}))
            k = c.coords(8)
            (c.dense(10, [[1, 6], [1, 8]], words=WORDS) if dense else c.sparse(10, k, words=WORDS))
            c.by = "reader"
            if upgrade:
                c.step("upgrade")
            (c.dense(20, [[4, 10], [3, 5]], words=WORDS) if dense else c.sparse(20, plus(k[2:5], (10, 8)), words=WORDS))
            out.append(c)
    c = Case(v, "upgraded_consolidated", ["upgraded", "consolidated"], xy((5, 4), (10, 8)), [attr("a"), attr("s", s, "var")],
             dense=False, capacity=4)
    k = c.coords(8)
    c.sparse(10, k, words=WORDS)
    c.by = "reader"
    out.append(c.sparse(20, plus(k[2:5], (10, 8)), words=WORDS).consolidate().vacuum())
    return out


def newest(v):
    """What only the newest format has, or only the reader's own files show."""
    out = []
    # stored as signed bytes, in row- and column-major order unsigned where there are several dimensions
    texts = [b"", b"a", b"\x7f", b"\x80", b"\xff", b"a\x80", b"a\x7f", b"\xffz"]
    s, t = dim("s", "STRING_ASCII", 0, 0, None), dim("t", "STRING_ASCII", 0, 0, None)
    i = dim("i", "INT32", 0, 9, 5)
    for name, dims, cells in [
            ("1d", [s], [(x,) for x in texts]),
            ("2d", [s, t], [(x, y) for n, x in enumerate(texts) for y in texts[n % 3::3]]),
            ("mixed", [s, i, t], [(x, (3 * n + m) % 10, texts[-m - 1]) for n, x in enumerate(texts) for m in range(3)])]:
        c = Case(v, "sparse_bytes_" + name, ["dim:string"], dims, [attr("a")], dense=False, capacity=4)
        out.append(c.sparse(10, cells))
    c = Case(v, "current_domain_dense", ["current-domain"], xy((5, 5), (1000, 1000)), [attr("a")],
             current_domain=[[hx("INT32", 1), hx("INT32", 8)], [hx("INT32", 3), hx("INT32", 9)]])
    out.append(c.dense(10, [[1, 8], [3, 9]]).dense(20, [[2, 4], [5, 6]]))
    c = Case(v, "current_domain_sparse", ["current-domain", "dim:string"], [dim("x", "INT32", 1, 1000, 10),
             dim("s", "STRING_ASCII", 0, 0, None)], [attr("a")], dense=False,
             current_domain=[[hx("INT32", 5), hx("INT32", 50)], [b"a".hex(), b"q".hex()]])
    out.append(c.sparse(10, [(5, "a"), (50, "p"), (7, "kilo"), (8, "b")]))
    c = Case(v, "filter_webp", ["filter:webp"], [dim("y", "INT32", 1, 12, 6), dim("x", "INT32", 1, 24, 12)],
             [attr("p", "UINT8", filters=[flt("webp", webp_quality=100.0, webp_input_format=1, webp_lossless=1)],
                   profile="wave")])
    out.append(c.dense(10, [[1, 12], [1, 24]]))
    # one attribute each: libtiledb cannot write two with this filter in one array
    for name, code, quality in [("rgb", 1, 100.0), ("bgr", 2, 75.0), ("rgba", 3, 30.5), ("bgra", 4, 1.0)]:
        c = Case(v, "filter_webp_lossy_" + name, ["filter:webp"],
                 [dim("y", "INT32", 1, 16, 16), dim("x", "INT32", 1, 96, 48)],
                 [attr("p", "UINT8", profile="wave", filters=[flt("webp", webp_quality=quality, webp_input_format=code,
                                                                  webp_lossless=0)])])
        out.append(c.dense(10, [[1, 16], [1, 96]]))
    c = Case(v, "dimension_label", ["dimension-label"], xy((5,), (10,)), [attr("a")],
             dimension_labels=[{"dimension": 0, "name": "l", "order": "increasing", "type": "FLOAT64"}])
    lab = {"l": {"data": b64(struct.pack("<10d", *[i * 0.5 - 1 for i in range(10)]))}}
    out.append(c.dense(10, [[1, 10]], more=lab))
    a = [attr("f", "FLOAT32", filters=[flt("scale_float", scale_float_bytewidth=2, scale_float_factor=0.25,
         scale_float_offset=1.0), flt("bit_width_reduction", bit_width_max_window=64), flt("zstd", level=3)], profile="small"),
         attr("d", "FLOAT64", filters=[flt("xor"), flt("bitshuffle"), flt("lz4", level=1)]),
         attr("r", "FLOAT64", filters=[flt("delta", level=-1, reinterpret_datatype="INT64"), flt("gzip", level=1)]),
         attr("q", "FLOAT32", filters=[flt("double_delta", level=-1, reinterpret_datatype="INT32")], profile="mono")]
    c = Case(v, "filter_chain_modern", ["filter:scale-float", "filter:xor", "filter:delta", "filter:double-delta",
             "filter:bit-width-reduction"], xy((20,), (40,)), a)
    out.append(c.dense(10, [[1, 40]]))
    e = [{"name": "e", "type": "STRING_UTF8", "cell_val_num": "var", "ordered": False, "data": b64(b"redblue"),
          "offsets": b64(struct.pack("<2Q", 0, 3))}]
    c = Case(v, "evolved_enumeration", ["evolved", "enumeration"], xy((5,), (10,)), [attr("a")], dense=False,
             t0=10)
    c.sparse(10, [(1,), (4,)])
    c.step("evolve", t=15, add_enumerations=e, add=[attr("c", "INT8", enumeration="e", nullable=True)])
    f = attr("c", "INT8", nullable=True)
    c.sparse(20, [(4,), (6,), (9,)], attrs=c.attrs)
    c.d["steps"][-1]["fields"]["c"] = {"data": b64(bytes([0, 1, 0])), "validity": b64(bytes([1, 1, 0]))}
    out.append(c)
    return out


def validity(v):
    """Validity filters that ask for a type. 2.6 to 2.10 told them the attribute's where cells were in row-major order, and read
    bytes themselves."""
    out = []
    attrs = [attr("i1", "INT8", nullable=True), attr("i2", "INT16", nullable=True), attr("i4", "INT32", nullable=True),
             attr("i8", "UINT64", nullable=True), attr("f8", "FLOAT64", nullable=True), attr("t", "DATETIME_DAY", nullable=True),
             attr("s", "STRING_UTF16", "var", nullable=True)]
    pipelines = {"windows": [flt("bit_width_reduction", bit_width_max_window=16), flt("zstd", level=3)],
                 "shuffled": [flt("byteshuffle"), flt("bitshuffle"), flt("lz4", level=1)]}
    for name, filters in pipelines.items():
        c = Case(v, "validity_" + name, ["validity-filters", "nullable"], [dim("x", "INT32", 1, 48, 24)], attrs,
                 validity_filters=filters)
        c.dense(10, [[1, 48]])
        if v == "2.8.2":  # another release goes on with it
            c.by = READER
            c.dense(20, [[30, 40]])
        out.append(c)
    # In global order, and in sparse arrays, they were bytes.
    c = Case(v, "validity_windows_global", ["validity-filters", "nullable"], [dim("x", "INT32", 1, 48, 24)], attrs,
             validity_filters=pipelines["windows"])
    out.append(c.dense(10, [[1, 48]], layout="global-order"))
    if v != "2.6.4":  # which wrote no statistics: only they tell shuffled validity in global order
        c = Case(v, "validity_shuffled_global", ["validity-filters", "nullable"], [dim("x", "INT32", 1, 48, 24)], attrs,
                 validity_filters=[flt("byteshuffle"), flt("lz4", level=1)])
        out.append(c.dense(10, [[1, 48]], layout="global-order"))
    c = Case(v, "validity_shuffled_sparse", ["validity-filters", "nullable"], [dim("x", "INT32", 1, 48, 24)], attrs, dense=False,
             validity_filters=pipelines["shuffled"], capacity=20)
    out.append(c.sparse(10, [(i,) for i in range(1, 49)]))
    for c in out:
        c.d["oracle"] = "case"
    return out


def nothing(v):
    """Tiles of empty strings: gzip made of no bytes what it does not read again."""
    attrs = [attr("g", "CHAR", "var", filters=[flt("gzip", level=5)]),
             attr("b", "CHAR", "var", filters=[flt("byteshuffle"), flt("gzip", level=-1)]),
             attr("i", "INT32", "var", filters=[flt("gzip", level=5)])]
    c = Case(v, "empty_gzip", ["var", "filter:gzip"], [dim("x", "INT32", 1, 8, 4)], attrs, dense=False, capacity=4)

    # The first tile has the bytes of one value, the second none.
    def cells(size):
        return {"data": b64(bytes([65] + [0] * (size - 1))), "offsets": b64(struct.pack("<8Q", *([0] + [size] * 7)))}

    fields = {a["name"]: cells(capi.size_of(a["type"])) for a in attrs}
    fields["x"] = {"data": b64(struct.pack("<8i", *range(1, 9)))}
    c.step("write", t=10, layout="unordered", fields=fields, subarray=None)
    c.d["oracle"] = "case"
    return [c]


def handed_on(v):
    """Types handed on between filters by a release that does it, in an array of one that does not: only the headers of the
    fragments' metadata tell whose is whose."""
    filters = [flt("xor"), flt("bit_width_reduction", bit_width_max_window=64)]
    c = Case(v, "continued_types", ["filter:xor", "filter:bit-width-reduction", "upgraded"], [dim("x", "INT32", 1, 40, 20)],
             [attr("f", "FLOAT64", filters=filters, profile="small")])
    c.dense(10, [[1, 40]])
    c.by = READER
    c.dense(20, [[15, 25]])
    c.d["oracle"] = "case"
    return [c]


def cases(v):
    import structure_cases  # which needs this module

    if v not in VERSIONS:
        return [c.done() for c in validity(v)]
    out = base(v)
    n = vt(v)
    if v in FULL:
        out += features(v) + encrypted(v)
    elif n >= (2, 0):
        out.append(odd_names(v))
    if v in ("1.6.3", "2.8.2", "2.30.0"):
        out += filters(v)
    if v in ("1.6.3", "2.0.8", "2.30.0"):
        out += chunks(v)
    if v in ("1.6.3", "1.7.7", "2.0.8", "2.4.3", "2.8.2", "2.10.4", "2.11.3", "2.30.0"):
        out += consolidated(v)
    if v in ("2.0.8", "2.8.2"):
        out += [c for c in features(v) if c.d["name"] in (
            "fill_custom", "sparse_dim_string", "sparse_dims_mixed", "sparse_dups",
            "nullable_types", "all_null_sparse", "hilbert_int32", "attr_strings_var_dense", "attr_chars_var_dense", "sparse_in_dense", "anonymous_dense", "anonymous_sparse", "empty_dense", "empty_sparse", "empty_strings", "empty_strings_sparse",
            "meta_types")]
    if v in ("1.7.7", "2.1.6", "2.2.2", "2.2.9"):
        out += [c for c in features(v) if c.d["name"] in ("sparse_in_dense", "anonymous_sparse", "hilbert_int32",
                                                          "fill_custom", "meta_types", "sparse_dates",
                                                          "sparse_dates_in_dense")]
    if v in ("2.0.8", "2.8.2", "2.12.3"):
        out += encrypted(v)
    if v in ("1.6.3", "1.7.7", "2.0.8", "2.1.6", "2.2.9", "2.4.3", "2.7.2", "2.8.2"):
        out += upgraded(v)
    if v in ("2.8.2", "2.30.0"):
        out += [c for c in commits(v) if v == READER or c.d["name"] in (
            "commits_con", "commits_vac_dense", "commits_ign", "fragment_meta", "meta_consolidated")]
    if v in ("2.8.2", "2.10.4"):
        out += validity(v)
    if v in ("2.7.2", "2.19.2"):
        out += nothing(v)
    if v == "2.12.3":
        out += handed_on(v)
    out += modern_extras(v)
    if v == READER:
        out += newest(v)
    out += structure_cases.cases(v)
    if v == "2.8.2":  # some of the chains, offsets and coordinates pipelines are enough here
        out = [c for c in out if not c.d["name"].startswith(("filter_chain_", "offsets_filters_", "coords_filters_"))
               or c.d["name"] in ("filter_chain_pd_bwr_zstd", "filter_chain_checksums", "offsets_filters_2",
                                  "coords_filters_0", "coords_filters_2")]
    for c in out:
        if v not in FULL or not c.d["name"].startswith(HEAVY):
            c.d["light"] = True
    return [c.done() for c in out]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--not-in", help="a manifest of cases to leave out")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    known = set()
    if args.not_in:
        with open(args.not_in) as handle:
            known = {entry["id"] for entry in json.load(handle)}
    for v in VERSIONS + OTHERS:
        chosen = [c for c in cases(v) if args.only in c["id"] and c["id"] not in known]
        names = [c["name"] for c in chosen]
        assert len(names) == len(set(names)), [x for x in names if names.count(x) > 1]
        if chosen:
            with open(os.path.join(args.out, v + ".json"), "w") as handle:
                json.dump(chosen, handle)


if __name__ == "__main__":
    main()
