"""Random cases that together touch everything a release can store: the input of `cargo xtask conform versions`.

    python3 version_cases.py --version 2.8.2 --seed 1 --out CASES.json [--count N]

writes {"supported": [bin...], "cases": [case...]}. Cases are those of cases.py; each also has "bins", what it holds, and
"oracle", who reads it. The choices are stratified: wherever there is a choice, one of those taken least often so far is
taken. The list is longer than the N arrays that are wanted, because libraries refuse some cases. Case by case it follows from
version and seed alone.
"""

import argparse
import base64
import bisect
import json
import struct

import fetch
import model
import programs
import wild
from cases import (DATETIMES, FLOATS, INTS, KEY, LIMITS, READER, TIMES, VERSIONS, WORDS, Rng, attr, b64, dim, flt, gen, hx,
                   vt)

STRINGS = ["CHAR", "STRING_ASCII", "STRING_UTF8", "STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4"]
COMPRESSORS = {"gzip": (1, 9), "zstd": (1, 12), "lz4": (1, 3), "bzip2": (1, 9)}
PLAIN = list(COMPRESSORS) + ["none", "rle", "byteshuffle", "bitshuffle"]
ALWAYS = (0, 0)
NEVER = (9, 9)
# 1.7.0 has none
CHECKSUMS = (1, 7, 1)

# What libraries can do: bin -> (first release that can, first that cannot any more).
# Where a release has the interface but gets it wrong, the comment says so.
CAN = {}


def can(factor, values, since=ALWAYS, until=NEVER):
    for value in values:
        CAN["%s/%s" % (factor, value)] = (since, until)


for _kind in ("dense", "sparse"):
    can("dimension", [_kind + " " + t for t in INTS + DATETIMES])
    can("dimension", [_kind + " " + t for t in TIMES], (2, 3))
    can("order", ["%s tiles %s, cells %s" % (_kind, t, c) for t in ("row", "col") for c in ("row", "col")])
    can("consolidation", [_kind + " none"])
    can("consolidation", [_kind + " vacuumed"])  # 1.x removes what it has consolidated
    can("consolidation", [_kind + " consolidated"], (2, 0))
    can("structure", [_kind + " encrypted", _kind + " continued by a newer release"])
can("dimension", ["sparse " + t for t in FLOATS])
can("dimension", ["sparse STRING_ASCII", "sparse mixed types"], (2, 0))
can("order", ["sparse hilbert"], (2, 2))
for _form in ("one", "several", "var"):
    can("attribute", ["%s %s" % (t, _form) for t in INTS + FLOATS + DATETIMES + STRINGS])
    can("attribute", ["%s %s" % (t, _form) for t in TIMES], (2, 3))
    can("attribute", ["BLOB " + _form], (2, 10))
    can("attribute", ["%s %s" % (t, _form) for t in ("GEOM_WKB", "GEOM_WKT")], (2, 21))
    can("structure", ["nullable " + _form], (2, 2))
can("attribute", ["BOOL one", "BOOL several", "BOOL var"], (2, 10))
can("attribute", ["ANY var"])
for _place in ("fixed", "var", "coordinates", "offsets"):
    can("filter", ["%s on %s" % (f, _place) for f in PLAIN + ["double_delta", "bit_width_reduction"]])
    can("filter", ["%s on %s" % (f, _place) for f in ("checksum_md5", "checksum_sha256")], CHECKSUMS)
can("filter", [f + " on validity" for f in PLAIN + ["checksum_md5", "checksum_sha256", "bit_width_reduction", "double_delta"]],
    (2, 6))
can("filter", ["positive_delta on fixed", "positive_delta on offsets"])
can("filter", ["dictionary on var"], (2, 9))
can("filter", ["scale_float on fixed"], (2, 11))
can("filter", ["xor on fixed"], (2, 12))
can("filter", ["delta on fixed"], (2, 17))  # 2.16 reads its own uninitialised memory
can("filter", ["webp on fixed"], (2, 30))
can("consolidation", ["sparse with timestamps"], (2, 10))
can("consolidation", ["commits consolidated", "commits vacuumed", "fragment metadata"], (2, 8))
can("consolidation", ["array metadata consolidated", "array metadata vacuumed"], (2, 0))
can("metadata", INTS + FLOATS + ["CHAR", "STRING_ASCII", "STRING_UTF8", "STRING_UTF16", "STRING_UTF32", "DATETIME_DAY",
                                 "DATETIME_NS", "empty", "deleted"], (1, 7))
can("metadata", ["TIME_SEC", "BLOB", "BOOL", "GEOM_WKB"], (2, 21))
can("structure", ["sparse in dense"], ALWAYS, (2, 3))
can("structure", ["global-order write", "anonymous attribute", "many fragments"])
can("structure", ["duplicates"], (2, 0))
can("structure", ["custom fill value"], (2, 1))
can("structure", ["nullable fill value"], (2, 2))
can("structure", ["attribute added", "attribute dropped"], (2, 4))
can("structure", ["schema upgraded"], ALWAYS, (2, 30))
can("structure", ["delete " + x for x in ("<", "<=", ">", ">=", "==", "!=", "null", "and", "or")], (2, 12))
can("structure", ["delete in", "delete not-in", "delete not"], (2, 17))
can("structure", ["enumeration", "enumeration ordered", "enumeration added"], (2, 17))
can("structure", ["enumeration extended"], (2, 19))
can("structure", ["dimension label increasing", "dimension label decreasing"], (2, 15))
can("structure", ["current domain", "current domain expanded"], (2, 30))
can("structure", ["ends of an integer's type", "extent that does not divide", "one coordinate", "many dimensions",
                  "cell wider than a chunk", "capacity 1"])
can("structure", ["no extent"], (2, 1))
can("structure", ["reals without end"], (2, 2))
can("structure", ["strings of any bytes in one dimension", "strings of any bytes in several dimensions"], (2, 0))
can("structure", ["attribute again", "attribute again of another type"], (2, 4))
can("structure", ["in the future", "out of order"], (2, 1))
for _filter in list(COMPRESSORS) + ["rle", "byteshuffle", "bit_width_reduction"]:
    can("structure", ["empty cells by " + _filter], (2, 3))
for _kind in ("dense", "sparse"):
    CAN["structure/%s continued by a newer release" % _kind] = (ALWAYS, (2, 30))

# Themes: what a case is built around, and for which kind of array.
THEMES = [
    ("plain", None), ("plain", "dense"), ("plain", "sparse"), ("encrypted", "dense"), ("encrypted", "sparse"),
    ("continued", "dense"), ("continued", "sparse"), ("upgraded", None), ("hilbert", "sparse"), ("duplicates", "sparse"),
    ("sparse in dense", "dense"), ("global", None), ("anonymous", None), ("fragments", None), ("fill", "dense"),
    ("evolved", None), ("deletes", "sparse"), ("enumeration", None), ("label", "dense"), ("current domain", None),
    ("commits", None), ("fragment metadata", None), ("array metadata", None), ("webp", "dense"), ("timestamps", "sparse"),
    ("sorted", "dense"), ("edges", "dense"), ("edges", "sparse"), ("edges", "sparse"), ("reals", "sparse"), ("bytes", "sparse"),
    ("again", "dense"), ("again", "sparse"), ("times", None), ("large", None), ("empty", "dense"), ("empty", "sparse"),
    ("program", "dense"), ("program", "sparse"), ("narrow", "dense"),
]
NEEDS = {
    "continued": "structure/dense continued by a newer release", "upgraded": "structure/schema upgraded",
    "hilbert": "order/sparse hilbert", "duplicates": "structure/duplicates", "sparse in dense": "structure/sparse in dense",
    "fill": "structure/custom fill value", "evolved": "structure/attribute added", "deletes": "structure/delete ==",
    "enumeration": "structure/enumeration", "label": "structure/dimension label increasing",
    "current domain": "structure/current domain", "commits": "consolidation/commits consolidated",
    "fragment metadata": "consolidation/fragment metadata", "array metadata": "metadata/INT8",
    "webp": "filter/webp on fixed", "timestamps": "consolidation/sparse with timestamps", "reals": "structure/reals without end",
    "bytes": "structure/strings of any bytes in one dimension", "again": "structure/attribute again",
    "times": "structure/in the future", "empty": "structure/empty cells by gzip",
}
# Theme -> the bins that it alone fills.
FILLS = {"empty": "structure/empty cells", "again": "structure/attribute again", "bytes": "structure/strings of any",
         "times": ("structure/in the future", "structure/out of"), "edges": ("structure/ends", "structure/one coord"),
         "deletes": "structure/delete ", "array metadata": ("metadata/", "consolidation/array metadata"),
         "commits": "consolidation/commits", "enumeration": "structure/enumeration", "evolved": "structure/attribute",
         "label": "structure/dimension label", "current domain": "structure/current domain", "fill": "structure/nullable fill",
         "upgraded": "structure/schema upgraded", "sorted": "filter/positive_delta on fixed"}


def age(version):
    return tuple(int(x) for x in version.split("."))


def able(version, key):
    since, until = CAN.get(key, (NEVER, NEVER))
    return since <= age(version) < until


def supported(version):
    return [key for key in CAN if able(version, key)]


def form_of(a):
    cvn = a.get("cell_val_num", 1)
    return "var" if cvn == "var" else "one" if cvn == 1 else "several"


def filters_of(spec):
    return [f["type"] for f in (spec["filters"] if isinstance(spec, dict) else spec or [])]


def bins_of(case):
    """What a case holds, as far as it says itself; live.py adds what only files tell."""
    s, steps = case["schema"], case["steps"]
    kind = s["array_type"]
    out = set()
    add = out.add
    types = [d["type"] for d in s["dimensions"]]
    for t in types:
        add("dimension/%s %s" % (kind, t))
    if len(set(types)) > 1:
        add("dimension/sparse mixed types")
    if s["cell_order"] == "hilbert":
        add("order/sparse hilbert")
    else:
        add("order/%s tiles %s, cells %s" % (kind, s["tile_order"][:3], s["cell_order"][:3]))
    for d in s["dimensions"]:
        out.update("filter/%s on coordinates" % f for f in filters_of(d.get("filters")))
    if kind == "sparse" and any(not d.get("filters") for d in s["dimensions"]):
        out.update("filter/%s on coordinates" % f for f in filters_of(s.get("coords_filters")))
    attrs = s["attributes"] + [a for step in steps for a in step.get("add", [])]
    for a in attrs:
        form = form_of(a)
        add("attribute/%s %s" % (a["type"], form))
        out.update("filter/%s on %s" % (f, "var" if form == "var" else "fixed") for f in filters_of(a.get("filters")))
        if form == "var":
            out.update("filter/%s on offsets" % f for f in filters_of(s.get("offsets_filters")))
        if a.get("nullable"):
            add("structure/nullable " + form)
            out.update("filter/%s on validity" % f for f in filters_of(s.get("validity_filters")))
        if a.get("fill") is not None:
            add("structure/nullable fill value" if a.get("nullable") else "structure/custom fill value")
        if a["name"] == "":
            add("structure/anonymous attribute")
        if a.get("enumeration"):
            add("structure/enumeration")
    if s.get("allows_dups"):
        add("structure/duplicates")
    if any(e["ordered"] for e in s.get("enumerations", [])):
        add("structure/enumeration ordered")
    for label in s.get("dimension_labels", []):
        add("structure/dimension label " + label["order"])
    if s.get("current_domain"):
        add("structure/current domain")
    if case.get("key"):
        add("structure/%s encrypted" % kind)
    out.update("structure/" + x for x in edges_of(case))
    writes = [x for x in steps if x["op"] == "write"]
    if len(writes) > 7:
        add("structure/many fragments")
    if any(x["layout"] == "global-order" for x in writes):
        add("structure/global-order write")
    if kind == "dense" and any(x["subarray"] is None for x in writes):
        add("structure/sparse in dense")
    if any(x.get("by") for x in writes):
        add("structure/%s continued by a newer release" % kind)
    for step in steps:
        if step["op"] == "upgrade":
            add("structure/schema upgraded")
        elif step["op"] == "evolve":
            if step.get("add"):
                add("structure/attribute added")
            if step.get("drop"):
                add("structure/attribute dropped")
            if step.get("add_enumerations"):
                add("structure/enumeration added")
            if step.get("extend_enumerations"):
                add("structure/enumeration extended")
            if step.get("current_domain"):
                add("structure/current domain expanded")
        elif step["op"] == "delete":
            out.update("structure/delete " + word for word in words_of(step["condition"]))
        elif step["op"] == "meta":
            out.update("metadata/" + (p["type"] if p["num"] else "empty") for p in step["puts"])
            if step["deletes"]:
                add("metadata/deleted")
    done = {op: [x["config"].get("sm.consolidation.mode", x["config"].get("sm.vacuum.mode", "fragments"))
                 for x in steps if x["op"] == op] for op in ("consolidate", "vacuum")}
    if "fragments" not in done["consolidate"]:
        add("consolidation/%s none" % kind)
    else:
        vacuumed = "fragments" in done["vacuum"] or vt(case["lib"]) < (2, 0)
        add("consolidation/%s %s" % (kind, "vacuumed" if vacuumed else "consolidated"))
    for mode, name in (("commits", "commits"), ("array_meta", "array metadata")):
        if mode in done["consolidate"]:
            add("consolidation/%s %s" % (name, "vacuumed" if mode in done["vacuum"] else "consolidated"))
    if "fragment_meta" in done["consolidate"]:
        add("consolidation/fragment metadata")
    return out


def edges_of(case):
    """What stands at an edge in a case."""
    s, out = case["schema"], set()
    for d in s["dimensions"]:
        if d["domain"] is None:
            continue
        lo, hi = (wild.unpacked(d["type"], x) for x in d["domain"])
        low, high = wild.limits(d["type"])
        if d["type"] not in FLOATS:
            if lo == low or hi == high:
                out.add("ends of an integer's type")
            if lo == hi:
                out.add("one coordinate")
            if d["tile_extent"] and (hi - lo + 1) % wild.unpacked(d["type"], d["tile_extent"]):
                out.add("extent that does not divide")
        elif hi - lo == float("inf") or d["type"] == "FLOAT32" and hi - lo > high:
            out.add("reals without end")
        if not d["tile_extent"]:
            out.add("no extent")
    if len(s["dimensions"]) > 3:
        out.add("many dimensions")
    if s.get("capacity") == 1:
        out.add("capacity 1")
    fields = [f for step in case["steps"] for f in step.get("fields", {}).items()]
    for k, d in enumerate(s["dimensions"]):
        texts = b"".join(base64.b64decode(f["data"]) for n, f in fields if n == d["name"])
        if d["type"] == "STRING_ASCII" and any(b > 127 for b in texts):
            out.add("strings of any bytes in %s" % ("one dimension" if len(s["dimensions"]) == 1 else "several dimensions"))
    told = model.Model(case)
    for a in s["attributes"]:
        cells = [c or b"" for w in told.writes for c in w.columns.get(a["name"], [])]
        if cells and not any(cells):
            out.update("empty cells by " + f for f in filters_of(a.get("filters")))
        if any(len(c) > 65536 for c in cells):
            out.add("cell wider than a chunk")
    dropped = set()
    for step in told.evolutions:
        for a in step.get("add", []):
            if a["name"] in dropped:
                old = next(x for x in s["attributes"] if x["name"] == a["name"])
                same = a["type"] == old["type"] and a["cell_val_num"] == old["cell_val_num"]
                out.add("attribute again" + ("" if same else " of another type"))
        dropped |= set(step.get("drop", []))
    times = [w.time for w in told.writes]
    if any(t > wild.FUTURE // 2 for t in times):
        out.add("in the future")
    if times != sorted(times):
        out.add("out of order")
    return out


def words_of(condition):
    """The operators of a condition."""
    if condition[0] in ("and", "or", "not"):
        return {condition[0]}.union(*[words_of(c) for c in condition[1:]])
    return {"null" if condition[2] is None else condition[1]}


class Maker:
    """Makes the cases of one release and remembers what it has taken."""

    def __init__(self, version, seed):
        self.version, self.seed, self.n = version, seed, vt(version)
        self.taken = {}
        self.rng = Rng("versions/%s/%d" % (version, seed))

    def least(self, factor, values):
        """One of the values of a factor that the release can do and that were taken least."""
        values = [v for v in values if able(self.version, "%s/%s" % (factor, v))]
        if not values:
            return None
        fewest = min(self.taken.get((factor, v), 0) for v in values)
        value = self.rng.pick([v for v in values if self.taken.get((factor, v), 0) == fewest])
        self.take(factor, value)
        return value

    def take(self, factor, value):
        self.taken[factor, value] = self.taken.get((factor, value), 0) + 1

    def one_in(self, n):
        return self.rng.below(n) == 0

    def can(self, key):
        return able(self.version, key)

    # -- parts of a schema ---------------------------------------------------------------------------------------

    def filter(self, kind):
        if kind in COMPRESSORS:
            return flt(kind, level=self.rng.between(*COMPRESSORS[kind]))
        if kind == "scale_float":
            return flt(kind, scale_float_bytewidth=self.rng.pick([1, 2, 4, 8]), scale_float_factor=0.25,
                       scale_float_offset=1.0)
        if kind in ("bit_width_reduction", "positive_delta"):
            return flt(kind, **{("bit_width" if kind[0] == "b" else kind) + "_max_window": self.rng.pick([16, 64, 256])})
        return flt(kind, level=-1) if kind in ("rle", "double_delta", "dictionary", "delta") else flt(kind)

    def compressor(self):
        return self.filter(self.rng.pick(sorted(COMPRESSORS)))

    def pipeline(self, place, kinds, alone=()):
        """A filter for a place, with another one in front or behind now and then."""
        kind = self.least("filter", ["%s on %s" % (k, place) for k in kinds])
        if kind is None:
            return None
        kind = kind.split(" on ")[0]
        out = [self.filter(kind)]
        if kind not in alone and kind not in COMPRESSORS and self.one_in(2):
            out.append(self.compressor())
        if kind not in alone and self.one_in(4):
            out.append(wild.made(self.rng, self.rng.pick(["byteshuffle", "bitshuffle", "none"] + sorted(COMPRESSORS))))
        if kind not in alone and age(self.version) >= CHECKSUMS and self.one_in(6):
            # in front of what looks at values there would be the checksum's metadata
            first = kind in COMPRESSORS and self.one_in(2)
            out.insert(0 if first else len(out), self.filter(self.rng.pick(["checksum_md5", "checksum_sha256"])))
        return out

    def attribute(self, k, dense, theme, types_changed=True):
        """An attribute; `types_changed` allows filters that change the type the next one sees."""
        names = INTS + FLOATS + DATETIMES + TIMES + STRINGS + ["BLOB", "BOOL", "GEOM_WKB", "GEOM_WKT"]
        forms = ["one", "several", "var"]
        if theme == "sorted":
            names, forms = [t for t in INTS + DATETIMES + TIMES if not t.endswith("INT8")], forms[:2]
        pick = self.least("attribute", ["%s %s" % (t, f) for t in names for f in forms] + ["ANY var"] * (theme != "sorted"))
        t, form = pick.split(" ")
        cvn = {"one": 1, "several": self.rng.between(2, 4), "var": "var"}[form]
        integer = t in INTS or t.startswith(("DATETIME", "TIME_"))
        kinds = PLAIN + ["checksum_md5", "checksum_sha256"]
        alone = ["checksum_md5", "checksum_sha256"]
        profile = self.rng.pick(["mixed", "small", "runs"])
        if integer:
            kinds = kinds + ["bit_width_reduction"]
            # a dense tile's empty cells hold fill values: differences of the default ones overflow
            if not dense or form != "var" and self.n >= (2, 1) or theme == "sorted":
                kinds = kinds + ["double_delta"]
            if theme == "sorted":
                kinds = ["positive_delta"]
        if types_changed and form != "var":
            kinds = kinds + (["scale_float"] if t in FLOATS else []) + (["delta"] if integer else []) + (
                ["xor"] if integer or t in FLOATS else [])
        if form == "var" and t in ("STRING_ASCII", "STRING_UTF8"):
            if t == "STRING_ASCII" or self.n >= (2, 14):
                kinds = kinds + ["dictionary"]
            if self.n < (2, 12):
                alone = alone + ["rle", "dictionary"]
            if not types_changed:
                # 2.30 cannot read what it appends to an old array of run-length encoded strings
                kinds = [x for x in kinds if x not in ("rle", "dictionary")]
        if t == "ANY":
            kinds = list(COMPRESSORS)
        filters = None if self.one_in(6) else self.pipeline("var" if form == "var" else "fixed", kinds, alone)
        used = filters_of(filters)
        if "double_delta" in used or "delta" in used or "scale_float" in used:
            profile = "small"
        if "positive_delta" in used:
            profile = "mono"
        a = attr("a%d" % k, t, cvn, False, filters, profile=profile)
        # scale_float reads a nullable attribute's null cells too: any value will do
        # 2.2.2 cannot read the nullable attributes of its sparse arrays
        # 2.30 loses cells of nullable attributes of sparse fragments in dense arrays
        nullable = self.can("structure/nullable one") and t != "ANY" and theme != "sparse in dense"
        if nullable and self.one_in(3) and (dense or self.version != "2.2.2"):
            a["nullable"] = "positive_delta" not in used  # null cells are zeros: not sorted
        if dense and "double_delta" in used and self.n >= (2, 1):
            a["fill"] = gen(rng_of(a), t, cvn, "small").hex()
            if a["nullable"]:
                a["fill_valid"] = False
        return a

    def dimensions(self, kind, theme):
        rng = self.rng
        if theme == "webp":
            return [dim("y", "INT32", 1, 12, 6), dim("x", "INT32", 1, 24, 12)], [(1, 12), (1, 24)]
        if theme == "narrow":
            return wild.narrow(rng, self.version)
        rank = rng.pick([1, 1, 2, 2, 2, 3])
        wide = theme in ("edges", "reals", "bytes")
        if theme == "edges":
            rank = rng.pick([1, 1, 2, 2, 3, 4, 4, 6])
        if theme in ("global", "label", "sorted"):
            rank = 1
        types = INTS + DATETIMES + TIMES + (FLOATS + ["STRING_ASCII"] if kind == "sparse" else [])
        if theme in ("sparse in dense", "global"):
            types = INTS
        if theme == "hilbert" and self.n < (2, 3):
            types = INTS + FLOATS
        if theme == "current domain":
            types = INTS + DATETIMES
        if theme == "reals":
            types = FLOATS
        if theme == "bytes":
            types, rank = ["STRING_ASCII"], rng.pick([1, 2, 3])
            # strings alone, or with numbers
            types = types if rng.below(2) or rank == 1 else types + INTS + FLOATS
        one = self.least("dimension", ["%s %s" % (kind, t) for t in types]).split(" ")[1]
        mixed = kind == "sparse" and rank > 1 and self.n >= (2, 0) and not self.one_in(3)
        dims, sizes = [], []
        for k in range(rank):
            t = one if k == 0 or not mixed else self.least("dimension", ["%s %s" % (kind, t) for t in types]).split(" ")[1]
            size = [40, 12, 6, 4, 3, 3][rank - 1] if kind == "dense" else rng.pick([20, 60, 100])
            size = rng.between(max(2, size // 3), size)
            if t.endswith("INT8"):
                size = min(size, 60)
            if wide or theme in ("plain", "hilbert", "duplicates", "encrypted", "fragments") and self.n >= (2, 0) and self.one_in(5):
                d, end = wild.dimension(rng, self.version, kind == "dense", "d%d" % k, t, size)
                dims.append(d)
                sizes.append(end)
                continue
            # fragments without an extent are a case of their own; Hilbert order needs none
            extent = None if kind == "sparse" and (2, 1) <= self.n and self.one_in(8) else 1
            if t in FLOATS:
                lo = float(rng.between(-20, 20))
                dims.append(dim("d%d" % k, t, lo, lo + size, extent and max(1.0, size / 4.0)))
                sizes.append(None)
            elif t == "STRING_ASCII":
                dims.append(dim("d%d" % k, t, 0, 0, None))
                sizes.append(None)
            else:
                low, _ = LIMITS.get(t, LIMITS["INT64"])
                lo = rng.between(max(low, -30), 20)
                if theme == "global":
                    lo = abs(lo)
                # older releases refuse signed domains that end below zero
                hi = max(lo + size - 1, 0)
                step = rng.between(1, hi - lo + 1)
                # 1.x consolidates no domain that ends within a tile, and makes none of negative dates
                if theme in ("global", "sorted") or self.n < (2, 0) and (kind == "dense" or lo < 0 and t not in INTS):
                    step = rng.pick([2, 3, 4])
                    while (hi - lo + 1) % step or hi - lo + 1 < 2 * step:
                        hi += 1
                elif t.endswith("INT8"):
                    step = min(step, 20)  # the last tile must not end beyond the type
                dims.append(dim("d%d" % k, t, lo, hi, extent and step))
                sizes.append((lo, hi))
        if mixed and self.one_in(4):
            for d in dims:
                kinds = self.coordinate_kinds([d["type"]])
                d["filters"] = self.pipeline("coordinates", kinds, ["checksum_md5", "checksum_sha256"])
        if kind == "sparse" and len({d["type"] for d in dims}) > 1:
            self.take("dimension", "sparse mixed types")
        return dims, sizes

    def coordinate_kinds(self, types):
        kinds = [k for k in PLAIN] + ["checksum_md5", "checksum_sha256"]
        if "STRING_ASCII" in types:
            kinds = [k for k in kinds if k != "rle"]
        elif not set(types) & set(FLOATS):
            kinds += ["double_delta", "bit_width_reduction"]
        return kinds

    # -- a case --------------------------------------------------------------------------------------------------

    def case(self, i, empty):
        rng, n = self.rng, self.n
        themes = ["%s|%s" % t for t in THEMES if t[0] not in NEEDS or self.can(NEEDS[t[0]])]
        fewest = min(self.taken.get(("theme", t), 0) for t in themes)
        pick = rng.pick([t for t in themes if self.taken.get(("theme", t), 0) == fewest])
        # once every theme was there, those come first that still fill a bin
        wanted = [t for t in themes if t.split("|")[0] in FILLS and any(
            k.startswith(FILLS[t.split("|")[0]]) for k in empty)]
        if i >= len(themes) and not self.one_in(3):
            pick = rng.pick(wanted) if wanted and self.one_in(2) else "plain|None"
        self.take("theme", pick)
        theme, kind = pick.split("|")
        if kind == "None":
            left = [sum(k.startswith("dimension/" + x) for k in empty) for x in ("dense", "sparse")]
            kind = "dense" if left[0] > left[1] or left[0] == left[1] and self.one_in(2) else "sparse"
        if theme == "program":
            return self.judged(programs.case(self.version, self.seed, i, kind))
        dense = kind == "dense"
        later = VERSIONS[bisect.bisect(VERSIONS, age(self.version), key=age):]
        by = None
        if theme in ("continued", "upgraded"):
            # 2.7 is the first that names what it writes by the given time and upgrades schemas
            by = self.rng.pick([v for v in later if theme == "continued" or vt(v) >= (2, 12)])
        dims, sizes = self.dimensions(kind, theme)
        types = [d["type"] for d in dims]
        orders = ["%s tiles %s, cells %s" % (kind, t, c) for t in ("row", "col") for c in ("row", "col")]
        order = self.least("order", orders).replace(",", "").split(" ")
        schema = {"tile_order": order[2] + "-major", "cell_order": order[4] + "-major"}
        if not dense:
            schema["capacity"] = rng.pick([1, 2, 5, 10, 10000])
            schema["allows_dups"] = theme == "duplicates"
            if theme == "hilbert":
                schema["cell_order"] = "hilbert"
            if any(d["type"] != "STRING_ASCII" for d in dims) and not self.one_in(4):
                kinds = self.coordinate_kinds(types)
                if n < (2, 0) and len(dims) > 1:
                    # 1.x drops what is left over when a tile's cells of one dimension are no multiple of their number
                    kinds.remove("rle")
                schema["coords_filters"] = self.pipeline("coordinates", kinds,
                                                         ["checksum_md5", "checksum_sha256"])
        numeric = PLAIN + ["double_delta", "bit_width_reduction", "positive_delta", "checksum_md5", "checksum_sha256"]
        if not self.one_in(3):
            schema["offsets_filters"] = self.pipeline("offsets", numeric, ["checksum_md5", "checksum_sha256"])
        if self.can("filter/rle on validity") and not self.one_in(3):
            # of dense tiles 2.6 to 2.10 do not store what is no whole value of the attribute
            kinds = PLAIN + ["checksum_md5", "checksum_sha256", "bit_width_reduction"] + (
                [] if dense and n <= (2, 10) else ["double_delta"])
            schema["validity_filters"] = self.pipeline("validity", kinds)
            if dense and theme == "global" and (2, 6) <= n <= (2, 10):
                # nothing in the file tells them from shuffled ones of other orders
                schema["validity_filters"] = [f for f in schema["validity_filters"] if "shuffle" not in f["type"]]
        attrs = [self.attribute(k, dense, theme, types_changed=by is None) for k in range(rng.between(2, 5))]
        # 2.30 crashes now and then on dense writes of many var-length attributes
        while dense and sum(a["cell_val_num"] == "var" for a in attrs) > 2:
            attrs.remove([a for a in attrs if a["cell_val_num"] == "var"][-1])
        if not attrs:
            attrs = [attr("a0")]
        if theme == "webp":
            attrs = [attr("a0", "UINT8", filters=[flt("webp", webp_quality=100.0, webp_input_format=1, webp_lossless=1)])]
        if theme == "anonymous":
            attrs[0]["name"] = ""
        if theme == "large":
            t = rng.pick(["INT64", "UINT8", "FLOAT32"])
            attrs = [attr("a0", rng.pick(["CHAR", "STRING_ASCII", "INT32"]), "var", n >= (2, 2) and self.one_in(3),
                          self.pipeline("var", PLAIN[:5] + PLAIN[6:])),
                     attr("a1", t, rng.pick([9000, 70000 // (8 if t == "INT64" else 4 if t == "FLOAT32" else 1)]), False,
                          self.pipeline("fixed", PLAIN))]
        if theme == "empty":
            attrs = self.empty_attributes(dense)
        if theme == "fill":
            for a in attrs:
                count = 2 if a["cell_val_num"] == "var" else a["cell_val_num"]
                if a["type"] != "ANY" and not self.one_in(3):
                    a["fill"] = gen(rng, a["type"], count, "small").hex()
                    if a["nullable"]:
                        a["fill_valid"] = bool(rng.below(2))
            if self.can("structure/nullable fill value"):
                attrs.append(attr("filled", "INT32", nullable=True, fill=hx("INT32", 5), fill_valid=True))
            attrs.append(attr("fills", "INT16", fill=hx("INT16", -9)))
        if theme == "deletes":
            attrs += [attr("n", self.rng.pick(INTS), profile="small"), attr("m", "STRING_ASCII", "var", nullable=True)]
        if theme == "enumeration":
            ordered = bool(rng.below(2))
            schema["enumerations"] = [self.enumeration("e", ordered)]
            attrs.append(attr("kind", "UINT8", nullable=bool(rng.below(2)), enumeration="e"))
        if theme == "label":
            order = self.least("structure", ["dimension label increasing", "dimension label decreasing"]).split(" ")[2]
            schema["dimension_labels"] = [{"dimension": 0, "name": "label", "order": order,
                                           "type": rng.pick(["FLOAT64", "INT32", "UINT64", "DATETIME_MS"])}]
        if theme == "current domain":
            current = []
            for d, size in zip(dims, sizes):
                lo, hi = size
                hi = rng.between((lo + hi) // 2, hi)
                current.append((lo, hi))
            schema["current_domain"] = [[hx(d["type"], x) for x in r] for d, r in zip(dims, current)]
            sizes = current
        evolving = theme in ("evolved", "enumeration", "current domain", "again")
        c = wild.WildCase(self.version, "v%03d_%s" % (i, theme.replace(" ", "_")), ["conform"], dims, attrs, dense,
                 key=KEY if theme == "encrypted" else None, t0=10 if evolving else 1, **schema)
        c.rng = rng
        c.wild = theme in ("edges", "reals", "bytes", "hilbert") or self.one_in(3)
        self.steps(c, theme, kind, sizes, by)
        self.queries(c, dims, sizes, kind)
        # travelling to before an upgrade, 2.30 takes the filters of the new dimension files from the old schema
        c.d["now_only"] = theme == "upgraded" and n < (2, 0)
        return self.judged(c.done())

    def judged(self, case):
        """A case with what it holds, and who reads it."""
        case["bins"] = sorted(bins_of(case))
        case["oracle"] = self.oracle(case)
        return case

    def empty_attributes(self, dense):
        """Attributes whose cells are all empty or null, beside one that has values."""
        out = []
        for k in range(2 if dense else 3):
            kind = self.least("structure", ["empty cells by " + f for f in list(COMPRESSORS) + [
                "rle", "byteshuffle", "bit_width_reduction"]]).split(" by ")[1]
            t = "INT32" if kind == "bit_width_reduction" else self.rng.pick(["STRING_ASCII", "CHAR", "INT32"] if kind != "rle" else [
                "CHAR", "INT16"])
            filters = wild.chain(self.rng, self.version, None, kind) if self.one_in(3) else [self.filter(kind)]
            nullable = self.can("structure/nullable var") and self.one_in(3) and self.version != "2.2.2"
            out.append(attr("a%d" % k, t, "var", nullable, filters, profile="void"))
        return out + [attr("b", "INT32", nullable=self.can("structure/nullable one") and self.version != "2.2.2")]

    def enumeration(self, name, ordered):
        words = self.rng.sample(["apple", "fig", "kiwi", "plum", "pear", ""], 4)
        if self.one_in(2):
            return {"name": name, "type": "INT64", "cell_val_num": 1, "ordered": ordered,
                    "data": b64(struct.pack("<4q", *self.rng.sample([-5, 0, 700, 12, 13], 4)))}
        starts = [sum(len(w) for w in words[:k]) for k in range(4)]
        return {"name": name, "type": "STRING_ASCII", "cell_val_num": "var", "ordered": ordered,
                "data": b64("".join(words).encode()), "offsets": b64(struct.pack("<4Q", *starts))}

    def write(self, c, t, dense, sizes, old, attrs=None, full=False):
        rng = self.rng
        words = WORDS if rng.below(2) else None
        how = {"words": words}
        if c.d["name"].endswith("_large"):
            how = {"lengths": rng.pick([(0, 30000), (66000, 70000), (0, 9)])}
        elif c.d["name"].endswith("_empty"):
            how = {"lengths": (0, 0)}
        if dense:
            box = []
            for lo, hi in sizes:
                full = full or c.d["name"].endswith("_sorted")
                a = lo if full else rng.between(lo, hi)
                hi = min(hi, a + 2) if c.d["name"].endswith("_large") else hi
                box.append([a, hi if full else rng.pick([hi, rng.between(a, hi), rng.between(a, hi)])])
            layout = "global-order" if full == "global" else rng.pick(["row-major", "col-major"])
            if len(sizes) == 1 and layout == "col-major":
                layout = "row-major"
            more = {}
            if full == "label":
                d = c.schema["dimension_labels"][0]
                count = sizes[0][1] - sizes[0][0] + 1
                values = list(range(0, 3 * count, 3))
                if d["order"] == "decreasing":
                    values.reverse()
                code = {"FLOAT64": "d", "INT32": "i"}.get(d["type"], "q")
                more = {"label": {"data": b64(struct.pack("<%d%s" % (count, code), *values))}}
            c.dense(t, box, layout, attrs=attrs, **how, more=more)
        else:
            dups = c.schema.get("allows_dups", False)
            coords = c.coords(rng.between(1, 5 if c.d["name"].endswith("_large") else 40), dups=dups)
            if c.schema.get("current_domain"):
                limits = sizes
                coords = [x for x in coords if all(lo <= v <= hi for v, (lo, hi) in zip(x, limits))] or [
                    tuple(lo for lo, _ in limits)]
            again = [x for x in rng.sample(old, rng.below(8)) if x not in coords]
            cells = coords + again
            if full == "global":
                cells = sorted(set(cells))
                c.sparse(t, cells, "global-order", attrs=attrs, **how)
            else:
                c.sparse(t, cells, attrs=attrs, **how)
            old += [x for x in coords if x not in old]
        for a in attrs or c.attrs:
            if "positive_delta" in filters_of(a.get("filters")):
                count = (sizes[0][1] - sizes[0][0] + 1) * a["cell_val_num"]
                c.d["steps"][-1]["fields"][a["name"]] = {"data": b64(gen(rng, a["type"], count, "mono"))}
            if a.get("enumeration"):
                fields = c.d["steps"][-1]["fields"][a["name"]]
                fields["data"] = b64(bytes(x % 4 for x in base64.b64decode(fields["data"])))

    def metadata(self, c, t):
        kinds = [k.split("/")[1] for k in CAN if k.startswith("metadata/") and k not in ("metadata/deleted",)]
        puts = []
        for _ in range(self.rng.between(1, 3)):
            kind = self.least("metadata", kinds)
            t_ = "INT32" if kind == "empty" else kind
            count = 0 if kind == "empty" else self.rng.between(1, 4)
            key = "k%d" % self.rng.below(5)
            if all(p["key"] != key for p in puts):
                puts.append({"key": key, "type": t_, "num": count, "value": b64(gen(self.rng, t_, count))})
        keys = {p["key"] for p in puts}
        deletes = ["k%d" % self.rng.below(5)] if self.one_in(2) else []
        c.step("meta", t=t, puts=puts, deletes=[k for k in deletes if k not in keys])

    def condition(self, c, depth=0):
        rng = self.rng
        words = ["<", "<=", ">", ">=", "==", "!=", "null", "in", "not-in"] + (["and", "or", "not"] if depth < 2 else [])
        word = self.least("structure", ["delete " + w for w in words]).split(" ")[1]
        if word in ("and", "or"):
            return [word, self.condition(c, depth + 1), self.condition(c, depth + 2)]
        if word == "not":
            return [word, self.condition(c, 2)]
        if word == "null":
            # of a field of fixed size libtiledb cannot read it back ("Value node condition value size mismatch")
            return ["m", rng.pick(["==", "!="]), None]
        a = [x for x in c.attrs if x["name"] == "n"][0]
        if word in ("in", "not-in"):
            values = rng.sample(range(100), 20 if word == "in" else 60)
            return ["n", word, [hx(a["type"], v) for v in values]]
        middle = {"<": 20, "<=": 20, ">": 80, ">=": 80, "==": 50, "!=": 50}[word]
        return ["n", word, hx(a["type"], max(0, middle + rng.below(20) - 10))]

    def steps(self, c, theme, kind, sizes, by):
        rng, n = self.rng, self.n
        dense = kind == "dense"
        old, t = [], 10
        attrs = None
        count = rng.between(8, 12) if theme == "fragments" else rng.between(2, 5)
        if theme == "again":
            count = rng.between(3, 5)
        if theme == "plain" and self.one_in(12):
            count = 0
        many = self.can("metadata/INT8") and (theme == "array metadata" or self.one_in(3))
        if not dense and c.schema["capacity"] < 10 and theme != "empty":
            # several releases divide by the size of a tile of nothing but empty cells
            c.nonempty = lambda n, box=None: range(n)
        for k in range(count):
            t += rng.between(2, 9)
            if by and k == count // 2:
                c.by = by
                if theme == "upgraded":
                    c.step("upgrade")
            full = {"global": "global", "label": "label"}.get(theme) if k == 0 or theme == "label" else dense and k == 0
            if dense and theme == "sparse in dense" and k >= count - 1:
                c.sparse(t, c.coords(rng.between(1, 12)))
            else:
                self.write(c, t, dense, sizes, old, attrs, full)
            if many and (theme != "array metadata" or rng.below(3)):
                t += 1
                # releases before 2.3 cannot be told a time
                self.metadata(c, t)
            if k == 0 and theme == "evolved":
                new = [attr("b", "FLOAT64", fill=hx("FLOAT64", 7.5)),
                       attr("w", "STRING_ASCII", "var", nullable=bool(rng.below(2)))]
                drop = [c.attrs[-1]["name"]] if len(c.attrs) > 1 and rng.below(2) else []
                c.step("evolve", t=t + 1, drop=drop, add=new)
                attrs = [a for a in c.attrs if a["name"] not in drop] + new
                t += 2
            if theme == "again" and k in (0, 1):
                t += 2
                attrs = self.again(c, t, k == 0)
            if k == 0 and theme == "enumeration":
                options = ["added"] + (["extended"] if self.can("structure/enumeration extended") else [])
                options = ["structure/enumeration " + x for x in options]
                word = self.least("structure", [x.split("/")[1] for x in options])
                if word == "enumeration added":
                    new = [attr("more", "UINT8", enumeration="f", nullable=True)]
                    c.step("evolve", t=t + 1, add_enumerations=[self.enumeration("f", False)], add=new)
                    attrs = c.attrs + new
                else:
                    e = c.schema["enumerations"][0]
                    more = {"name": "e", "data": b64(b"grape")}
                    if e["type"] == "INT64":
                        more["data"] = b64(struct.pack("<q", 9999))
                    else:
                        more["offsets"] = b64(struct.pack("<Q", 0))
                    c.step("evolve", t=t + 1, extend_enumerations=[more])
                t += 2
            if k == 0 and theme == "current domain" and rng.below(3):
                sizes = [(struct_int(d, 0), struct_int(d, 1)) for d in c.dims]
                c.step("evolve", t=t + 1, current_domain=[[hx(d["type"], x) for x in r] for d, r in zip(c.dims, sizes)])
                t += 2
            for _ in range(rng.between(1, 3) if theme == "deletes" and k + 1 < count else 0):
                t += 2
                c.step("delete", t=t, condition=self.condition(c))
        if theme == "times":
            self.times(c)
        self.consolidations(c, theme, kind, count)

    def again(self, c, t, goes):
        """The first attribute goes, or it comes back: of the same type or of another. The attributes after that."""
        if goes:
            c.step("evolve", t=t, drop=[c.attrs[0]["name"]])
            # a schema without attributes is refused
            return c.attrs[1:]
        old = c.attrs[0]
        same = self.least("structure", ["attribute again", "attribute again of another type"]) == "attribute again"
        new = dict(old)
        if not same:
            new = attr(old["name"], "INT16" if old["type"] != "INT16" else "FLOAT64", self.rng.pick([1, 1, 3]))
        elif self.one_in(2) and old["type"] in INTS and old["cell_val_num"] == 1 and not old.get("nullable"):
            new["fill"] = hx(old["type"], 9)
        c.step("evolve", t=t, add=[new])
        return [new] + c.attrs[1:]

    def times(self, c):
        """Times of writes that have not come, or that are in another order than the writes."""
        written = [s for s in c.d["steps"] if s["op"] == "write"]
        word = self.least("structure", ["in the future", "out of order"])
        if word == "in the future":
            for k, step in enumerate(written[-self.rng.between(1, 2):]):
                step["t"] = wild.FUTURE + 10 * k
        else:
            times = [s["t"] for s in written]
            for step, t in zip(written, times[1:] + times[:1]):
                step["t"] = t

    def consolidations(self, c, theme, kind, count):
        rng = self.rng
        by = c.by
        able_ = lambda key: self.can(key) or by and able(by, key)
        if theme == "commits":
            c.consolidate("commits")
            if self.least("consolidation", ["commits consolidated", "commits vacuumed"]).endswith("vacuumed"):
                c.vacuum("commits")
            if self.one_in(2):
                return
        if theme == "fragment metadata":
            c.consolidate("fragment_meta")
        if theme == "array metadata" and able_("consolidation/array metadata consolidated"):
            if sum(s["op"] == "meta" for s in c.d["steps"]) > 1:
                c.consolidate("array_meta")
                if self.least("consolidation", ["array metadata consolidated", "array metadata vacuumed"]).endswith("vacuumed"):
                    c.vacuum("array_meta")
        # 2.30 reads garbage from what was consolidated after an upgrade when it travels to before it
        if count < 2 or theme in ("sparse in dense", "label", "upgraded", "again", "times", "narrow"):
            return
        if self.n == (2, 2) and any(a["nullable"] for a in c.attrs):
            return  # "Cannot set buffer"
        names = ["%s %s" % (kind, x) for x in ("none", "consolidated", "vacuumed")]
        name = self.least("consolidation", names[1:] if theme == "timestamps" else names).split(" ")[1]
        if name == "none":
            return
        more = {"sm.consolidation.buffer_size": "1000000"}  # by default as much memory as there is, all of it cleared
        if kind == "dense":
            more["sm.consolidation.amplification"] = "1000"
        elif self.n == (2, 10) and not by:
            more["sm.consolidation.with_timestamps"] = "true"
        c.consolidate(**more)
        # what 1.x wrote has no commit files, which newer releases fail to delete
        if name == "vacuumed" and not (by and self.n < (2, 0)):
            c.vacuum()

    def queries(self, c, dims, sizes, kind):
        """Queries with ranges that begin and end at cells and beside them, or anywhere."""
        rng = self.rng
        dense = kind == "dense"
        known = [w for w in model.Model(c.d).writes if w.box is None]
        for _ in range(4):
            ranges = []
            for k, (d, size) in enumerate(zip(dims, sizes)):
                own = sorted({x[k] for w in known for x in w.coordinates}, key=lambda x, d=d: model.value(d, x))
                if own and not dense and rng.below(3):
                    near = [x for cell in rng.sample(own, 2) for x in wild.beside(d, cell)] or own
                    pair = sorted([rng.pick(near), rng.pick(near)], key=lambda x, d=d: model.value(d, x))
                    ranges.append([x.hex() for x in pair] if all(pair) else None)
                elif size is None:
                    ranges.append(None)
                else:
                    a = rng.between(*size)
                    ranges.append([hx(d["type"], a), hx(d["type"], rng.between(a, size[1]))])
            layouts = ["row-major", "col-major", "global-order"] if dense else ["unordered", "row-major", "global-order"]
            if c.schema.get("current_domain") and dense:
                layouts = layouts[:2]
            c.d["queries"].append({"kind": "subarray", "ranges": ranges, "layout": rng.pick(layouts)})

    def oracle(self, case):
        """Who reads the array: 2.30, except where it is known to misread what an older release wrote."""
        changing = {"scale_float", "xor", "delta"}
        looking = {"byteshuffle", "bitshuffle", "bit_width_reduction", "positive_delta", "double_delta", "delta", "xor",
                   "rle", "scale_float"}
        for field in case["schema"]["attributes"] + case["schema"]["dimensions"]:
            names = filters_of(field.get("filters"))
            for k, f in enumerate(names):
                if f in changing and set(names[k + 1:]) & looking and self.n < (2, 17):
                    return "writer"
        return "reader"


def rng_of(a):
    return Rng(a["name"] + a["type"])


def struct_int(d, which):
    signed = not d["type"].startswith("U")
    return int.from_bytes(bytes.fromhex(d["domain"][which]), "little", signed=signed)


def make(version, seed, count):
    """Cases until each bin is in some of them, or as many as `count` good ones may need."""
    maker = Maker(version, seed)
    # what only the files tell cannot be waited for
    every = {k for k in supported(version) if k != "consolidation/sparse with timestamps"}
    cases, waiting, rounds = [], set(every), 0
    while rounds < 6 and len(cases) < min(600, 2 * count + 20):
        case = maker.case(len(cases), waiting)
        waiting -= set(case["bins"])
        cases.append(case)
        if not waiting:
            waiting, rounds = set(every), rounds + 1
    return cases, rounds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True, choices=list(fetch.PEERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    parser.add_argument("--count", type=int, default=90)
    args = parser.parse_args()
    cases, rounds = make(args.version, args.seed, args.count)
    with open(args.out, "w") as handle:
        json.dump({"supported": supported(args.version), "cases": cases}, handle)
    print(json.dumps({"cases": len(cases), "rounds": rounds}))


if __name__ == "__main__":
    main()
