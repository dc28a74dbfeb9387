"""What schemas of reads_cases.py seldom or never have: dimensions and attributes of all types of dates, times and bytes, fill values,
dimensions without extents, labels of any dimension and of sparse arrays, attributes without a name, filters that few use, enumerations
of no values and such that go and come back.

All of it is drawn apart, as in reads_wider.py.
"""

import base64
import struct

import capi
import expect
import wild
from cases import DATETIMES, FLOATS, INTS, TIMES, Rng, attr, b64, flt, gen, pack
from model import TEXT, cells
from reads_wider import is_new, of, told_of

WORDS = ["", "red", "green", "blue", "a b", "\u00e4", "zz"]
LONG = ["INT64"] + DATETIMES + TIMES
# of a byte each; what is in one of them may be in another
BYTES = ["BLOB", "GEOM_WKB", "GEOM_WKT", "CHAR", "STRING_ASCII", "STRING_UTF8", "UINT8"]


def change(case, seed, number):
    """Changes a case in some ways."""
    rng = Rng("rare/%d/%d" % (seed, number))
    ways = [(dates, 3), (kinds, 3), (flags, 5), (fills, 3), (no_extents, 6), (filters, 4), (labels, 5), (enumerations, 5), (nameless, 12)]
    for way, rarely in ways:
        if rng.below(rarely) == 0 and is_new(case):
            way(rng, case)
    return case


def retyped(case, name, kind):
    """Gives the tests of a field in conditions of deletes another type."""
    def walk(tree):
        if tree[0] in ("and", "or", "not"):
            for part in tree[1:]:
                walk(part)
        elif tree[0] == name and len(tree) > 3:
            tree[3] = kind

    for step in of(case, "delete"):
        walk(step["condition"])


# -- types -------------------------------------------------------------------------------------------------------------------


def dates(rng, case):
    """Dimensions of 64 signed bits become some of dates or times: all of a dense array the same."""
    schema = case["schema"]
    if schema.get("dimension_labels"):
        return
    one = rng.pick(LONG)
    for d in schema["dimensions"]:
        if d["type"] in LONG:
            d["type"] = one if schema["array_type"] == "dense" or rng.below(2) else rng.pick(LONG)
            retyped(case, d["name"], d["type"])


def kinds(rng, case):
    """Attributes of bytes and of 64 bits become others of the same width."""
    told = told_of(case)
    for a in case["schema"]["attributes"]:
        if a["name"] in told or a.get("enumeration"):
            continue
        several = (a.get("filters") or [])
        plain = not several or all(f["type"] in wild.LEVELS or f["type"] in ("byteshuffle", "bitshuffle", "checksum_md5", "checksum_sha256")
                                   for f in (several["filters"] if isinstance(several, dict) else several))
        if a["type"] in LONG:
            a["type"] = rng.pick(LONG)
        elif a["type"] in BYTES and plain and a.get("fill") is None:
            a["type"] = rng.pick(BYTES)
        elif a["type"] in ("STRING_UTF16", "STRING_UCS2", "UINT16") and plain and a.get("fill") is None:
            a["type"] = rng.pick(["STRING_UTF16", "STRING_UCS2"])
        elif a["type"] in ("STRING_UTF32", "STRING_UCS4", "UINT32") and plain and a.get("fill") is None:
            a["type"] = rng.pick(["STRING_UTF32", "STRING_UCS4", "UINT32"])


def flags(rng, case):
    """Another attribute of truth values, of one or several in a cell, which may be null."""
    count = rng.pick([1, 1, 3, "var"])
    a = attr("truth", "BOOL", count, rng.below(2) == 0, rng.pick([None, [flt("rle", level=-1)], [flt("bitshuffle"), flt("zstd", level=3)]]))
    if any(f["name"] == "truth" for f in case["schema"]["dimensions"] + case["schema"]["attributes"]):
        return
    case["schema"]["attributes"].append(a)
    for step in of(case, "write"):
        number = count_of(case, step)
        own = [bytes(rng.below(2) for _ in range(rng.below(5) if count == "var" else count)) for _ in range(number)]
        step["fields"]["truth"] = column(a, own, [rng.below(4) != 0 for _ in range(number)])


def count_of(case, step):
    """The number of cells of a write."""
    if step["subarray"]:
        total = 1
        for (lo, hi), d in zip(step["subarray"], case["schema"]["dimensions"]):
            lo, hi = (expect.unpack(d["type"], bytes.fromhex(x)) for x in (lo, hi))
            total *= hi - lo + 1
        return total
    d = case["schema"]["dimensions"][0]
    return len(cells(step["fields"][d["name"]], capi.size_of(d["type"])))


def column(a, own, valid):
    """The buffers of some cells: bytes each, nothing or zeros where null."""
    var = a["cell_val_num"] == "var"
    if a["nullable"]:
        own = [c if v else b"" if var else bytes(wild.width(a)) for c, v in zip(own, valid)]
    out = {"data": b64(b"".join(own))}
    if var:
        starts, at = [], 0
        for c in own:
            starts.append(at)
            at += len(c)
        out["offsets"] = b64(struct.pack("<%dQ" % len(own), *starts))
    if a["nullable"]:
        out["validity"] = b64(bytes(valid))
    return out


def fills(rng, case):
    """Fill values of all kinds: of single values, of cells of several, of variable length, null and not null."""
    added = [a for s in of(case, "evolve") for a in s.get("add", [])]
    for a in case["schema"]["attributes"] + added:
        if a.get("enumeration") or rng.below(3) == 0 or any(b["name"] == a["name"] for b in added) and a not in added:
            continue
        names = {f["type"] for f in (a.get("filters") or [])}
        if names & {"double_delta", "positive_delta", "scale_float"}:
            continue
        count = a["cell_val_num"] if a["cell_val_num"] != "var" else rng.pick([1, 1, 3])
        a["fill"] = gen(rng, a["type"], count, "small").hex()
        if a["nullable"]:
            a["fill_valid"] = rng.below(2)


def no_extents(rng, case):
    """Dimensions without extents: the tile of a dense array is its domain then, which must be small."""
    schema = case["schema"]
    for d in schema["dimensions"]:
        if not d.get("domain") or d["type"] in FLOATS and schema["array_type"] == "dense":
            continue
        lo, hi = (expect.unpack(d["type"], bytes.fromhex(x)) for x in d["domain"])
        if schema["array_type"] == "sparse" and rng.below(2) or schema["array_type"] == "dense" and hi - lo < 20 and len(
                schema["dimensions"]) < 4:
            d["tile_extent"] = None


def filters(rng, case):
    """Filters that random_cases.py does not draw, for attributes whose cells they can be undone of."""
    told = told_of(case)
    for a in case["schema"]["attributes"]:
        if a["name"] in told or a.get("enumeration") or a.get("max_chunk_size"):
            continue
        if a["cell_val_num"] == "var":
            if a["type"] in ("STRING_ASCII", "STRING_UTF8"):
                a["filters"] = [flt(rng.pick(["dictionary", "rle"]), level=-1)] + rng.pick([[], [flt("zstd", level=2)], [flt("bitshuffle")]])
            continue
        after = rng.pick([[], [], [flt("zstd", level=2)], [flt("checksum_md5")], [flt("lz4", level=1), flt("checksum_sha256")]])
        if a["type"] in INTS or a["type"] in LONG:
            a["filters"] = [flt("delta", level=-1)] + after
        elif a["type"] in FLOATS:
            kind = rng.below(3)
            bits = {"FLOAT32": ["INT32", "UINT32", "INT16", "UINT8"], "FLOAT64": ["INT64", "UINT32", "UINT16", "INT8"]}[a["type"]]
            if kind == 0:
                a["filters"] = [flt("delta", level=-1, reinterpret_datatype=rng.pick(bits))] + after
            elif kind == 1:
                a["filters"] = [flt("byteshuffle"), flt("bitshuffle")] + after
            else:
                scaled(rng, case, a, after)


def scaled(rng, case, a, after):
    """Cells that a scale and an offset make whole numbers of, or that are rounded to such."""
    a["filters"] = [flt("scale_float", scale_float_bytewidth=rng.pick([2, 4, 8]), scale_float_factor=rng.pick([0.25, 0.5, 2.0]),
                        scale_float_offset=rng.pick([0.0, -3.5, 100.0]))] + after
    factor, offset = a["filters"][0]["scale_float_factor"], a["filters"][0]["scale_float_offset"]
    if case["schema"]["array_type"] == "dense":
        # the default, NaN, is no whole number
        a["fill"] = pack(a["type"], [offset] * a["cell_val_num"]).hex()
        a.pop("fill_valid", None)
    rounds = rng.below(2) == 0
    if rounds:
        case["rounds"] = True
    part = lambda: rng.below(100) / 100 if rounds else 0
    for step in of(case, "write"):
        f = step["fields"].get(a["name"])
        if f:
            count = len(base64.b64decode(f["data"])) // capi.size_of(a["type"])
            f["data"] = b64(pack(a["type"], [offset + factor * (rng.below(2000) - 1000 + part()) for _ in range(count)]))


def nameless(rng, case):
    """An attribute without a name."""
    told = told_of(case)
    free = [a for a in case["schema"]["attributes"] if a["name"] not in told]
    if not free:
        return
    a = rng.pick(free)
    old, a["name"] = a["name"], ""
    for step in of(case, "write"):
        step["fields"] = {"" if n == old else n: f for n, f in step["fields"].items()}


# -- labels ------------------------------------------------------------------------------------------------------------------


def labels(rng, case):
    """One or two labels, of any dimensions of whole numbers, of all types, written by themselves."""
    schema = case["schema"]
    if schema.get("dimension_labels") or schema.get("current_domain") or of(case, "evolve"):
        return
    taken = {f["name"] for f in schema["dimensions"] + schema["attributes"]}
    for k in range(rng.pick([1, 1, 2])):
        at = rng.below(len(schema["dimensions"]))
        d = schema["dimensions"][at]
        if not d.get("domain") or d["type"] in FLOATS:
            continue
        lo, hi = (expect.unpack(d["type"], bytes.fromhex(x)) for x in d["domain"])
        name = "label %d" % k
        if hi - lo > 400 or name in taken:
            continue
        kind = rng.pick(INTS + FLOATS + DATETIMES + ["TIME_SEC", "STRING_ASCII", "STRING_ASCII", "STRING_ASCII"])
        order = rng.pick(["increasing", "decreasing"])
        field = rising(rng, kind, hi - lo + 1, order)
        if field is None:
            continue
        schema.setdefault("dimension_labels", []).append({"dimension": at, "name": name, "order": order, "type": kind})
        case["steps"].insert(1, {"op": "label", "t": case["steps"][0]["t"] + 1, "name": name, "dimension": at, "fields": {name: field}})


def rising(rng, kind, count, order):
    """Values in some order; None if the type has not so many."""
    if kind == "STRING_ASCII":
        words = sorted({"%s%d" % (rng.pick(["", "a", "b", "x y", "zz"]), rng.below(10 ** 6)) for _ in range(3 * count)})
        words = sorted(rng.sample(words, count))
        if len(words) < count:
            return None
        words = [w.encode() for w in (words if order == "increasing" else words[::-1])]
        return column({"cell_val_num": "var", "nullable": False}, words, [])
    lo, hi = wild.limits(kind)
    if kind in FLOATS:
        at, values = float(rng.pick([-1000, 0, 7])), []
        for _ in range(count):
            values.append(at)
            at += rng.between(1, 9) / 8.0
    else:
        at, values = rng.pick([max(lo, -30), 0, lo]), []
        for _ in range(count):
            values.append(at)
            at += rng.between(1, 1 if hi < 300 else 3)
        if values[-1] > hi:
            return None
    return {"data": b64(pack(kind, values if order == "increasing" else values[::-1]))}


# -- enumerations --------------------------------------------------------------------------------------------------------------


def enumeration(rng, name, empty=False):
    """An enumeration of any type, and the number of its values."""
    kind = rng.pick(["STRING_ASCII", "STRING_UTF8", "CHAR", "INT8", "UINT64", "FLOAT64", "FLOAT32", "BOOL", "DATETIME_DAY", "STRING_ASCII"])
    e = {"name": name, "type": kind, "cell_val_num": 1, "ordered": bool(rng.below(2))}
    if kind in TEXT:
        own = [w.encode() for w in rng.sample(WORDS[:5] if kind == "STRING_ASCII" else WORDS, 0 if empty else rng.between(1, 5))]
        e.update(column({"cell_val_num": "var", "nullable": False}, own, []), cell_val_num="var")
        return e, len(own)
    several = [0, 1] if kind == "BOOL" else [x / 4 if kind in FLOATS else x for x in rng.sample(range(100), 7)]
    several = [] if empty else several[:rng.between(1, 7)]
    e["data"] = b64(pack(kind, several))
    return e, len(several)


def enumerations(rng, case):
    """An attribute of an enumeration of any type; later both may go, and come back as others."""
    schema, steps = case["schema"], case["steps"]
    at = [i for i, s in enumerate(steps) if s["op"] == "write"]
    taken = {f["name"] for f in schema["dimensions"] + schema["attributes"]}
    if not at or "other" in taken or schema.get("current_domain"):
        return
    e, count = enumeration(rng, "kinds")
    a = attr("other", rng.pick(["INT8", "UINT16", "INT64", "UINT8"]), 1, rng.below(2) == 0, enumeration="kinds")
    schema.setdefault("enumerations", []).append(e)
    schema["attributes"].append(a)
    gone = rng.pick([len(at)] * 2 + list(range(1, len(at) + 1))) if of(case, "evolve") == [] else len(at)
    if schema.get("dimension_labels"):
        # libtiledb evolves no schema with labels
        gone = len(at)
    for k, i in enumerate(at[:gone]):
        number = count_of(case, steps[i])
        valid = [rng.below(4) != 0 or not a["nullable"] for _ in range(number)]
        steps[i]["fields"]["other"] = column(a, [pack(a["type"], [rng.below(count)]) for _ in valid], valid)
    if gone == len(at):
        return
    again, more = enumeration(rng, "kinds")
    b = attr("other", rng.pick(["UINT8", "INT32"]), 1, rng.below(2) == 0, enumeration="kinds")
    for i in at[gone:]:
        number = count_of(case, steps[i])
        valid = [rng.below(4) != 0 or not b["nullable"] for _ in range(number)]
        steps[i]["fields"]["other"] = column(b, [pack(b["type"], [rng.below(more)]) for _ in valid], valid)
    t = steps[at[gone]]["t"]
    steps.insert(at[gone], {"op": "evolve", "t": t - 1, "add_enumerations": [again], "add": [b]})
    steps.insert(at[gone], {"op": "evolve", "t": t - 2, "drop": ["other"], "drop_enumerations": ["kinds"]})
