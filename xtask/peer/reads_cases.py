"""Random arrays for `cargo xtask conform reads`, and random queries of them.

Arrays are those of random_cases.py, some with an enumeration and some whose schema gains an attribute half-way. Case
number i depends on the seed and i only; its queries also on the cells that are in the array.
"""

import base64
import struct

import capi
import expect
from cases import FLOATS, Rng, attr, b64, hx, pack
from random_cases import random_case

TEXT = ("CHAR", "STRING_ASCII", "STRING_UTF8")
LEVELS = ["low", "middle", "high", "none", "a", "zz"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
# schemas count in the order of their names, so all times have as many digits
FIRST = 1000


def array(version, seed, number):
    """A case in the layout of cases.py."""
    case = random_case(version, seed, number)
    rng = Rng("reads/%d/%d" % (seed, number))
    for step in case["steps"]:
        if step.get("t"):
            step["t"] = FIRST + 10 * step["t"]
    if rng.below(3) == 0:
        enumerate_(rng, case)
    if rng.below(4) == 0:
        evolve(rng, case)
    return case


def cells_of_step(case, step):
    if step["subarray"]:
        count = 1
        for (lo, hi), d in zip(step["subarray"], case["schema"]["dimensions"]):
            ends = [expect.unpack(d["type"], bytes.fromhex(x)) for x in (lo, hi)]
            count *= ends[1] - ends[0] + 1
        return count
    d = case["schema"]["dimensions"][0]
    f = step["fields"][d["name"]]
    return len(base64.b64decode(f.get("offsets", f["data"]))) // (8 if "offsets" in f else capi.size_of(d["type"]))


def enumerate_(rng, case):
    """Adds an attribute with an enumeration of strings or numbers."""
    ordered, count = bool(rng.below(2)), rng.between(2, len(LEVELS))
    if rng.below(2):
        words = LEVELS[:count]
        starts = [sum(map(len, words[:i])) for i in range(count)]
        values = {"type": "STRING_ASCII", "cell_val_num": "var", "data": b64("".join(words).encode()),
                  "offsets": b64(struct.pack("<%dQ" % count, *starts))}
    else:
        values = {"type": "INT32", "cell_val_num": 1, "data": b64(pack("INT32", rng.sample(range(-9, 40), count)))}
    case["schema"]["enumerations"] = [dict(values, name="levels", ordered=ordered)]
    nullable = rng.below(3) == 0
    case["schema"]["attributes"].append(attr("e", rng.pick(["INT8", "UINT8", "INT32"]), 1, nullable, enumeration="levels"))
    kind = case["schema"]["attributes"][-1]["type"]
    for step in case["steps"]:
        if step["op"] == "write":
            fill(rng, step["fields"], "e", kind, nullable, cells_of_step(case, step), count)


def fill(rng, fields, name, kind, nullable, count, end):
    valid = [rng.below(4) != 0 or not nullable for _ in range(count)]
    fields[name] = {"data": b64(pack(kind, [rng.below(end) if v else 0 for v in valid]))}
    if nullable:
        fields[name]["validity"] = b64(bytes(valid))


def evolve(rng, case):
    """Adds an attribute between two writes."""
    steps = case["steps"]
    writes = [i for i, s in enumerate(steps) if s["op"] == "write"]
    if len(writes) < 2:
        return
    at = rng.pick(writes[1:])
    added = attr("z", rng.pick(["INT16", "FLOAT64", "UINT32"]), 1, rng.below(2) == 0)
    for step in steps[at:]:
        if step["op"] == "write":
            fill(rng, step["fields"], "z", added["type"], added["nullable"], cells_of_step(case, step), 50)
    steps.insert(at, {"op": "evolve", "t": steps[at]["t"] - 5, "add": [added]})


def whole(schema):
    """The box of all cells of a dense array."""
    return None if schema["array_type"] == "sparse" else [d["domain"] for d in schema["dimensions"]]


def range_pool(rng, d, cells):
    """Values of a dimension that ranges of it begin or end at."""
    if d["cell_val_num"] == "var":
        return [c.hex() for c in set(cells) if c] + [b"a".hex(), b"m".hex(), b"zebra2".hex(), b"~~".hex()]
    lo, hi = (expect.unpack(d["type"], bytes.fromhex(x)) for x in d["domain"])
    if d["type"] in FLOATS:
        near = [expect.unpack(d["type"], c) for c in set(cells)] + [lo + (hi - lo) * rng.below(100) / 100 for _ in range(8)]
    else:
        known = [expect.unpack(d["type"], c) for c in set(cells)]
        near = known + [v + 1 for v in known] + [rng.between(lo, hi) for _ in range(12)]
    return [hx(d["type"], v) for v in sorted(set(near)) + [lo, hi] if lo <= v <= hi]


def draw_ranges(rng, d, pool, several):
    value = (lambda x: bytes.fromhex(x)) if d["cell_val_num"] == "var" else (
        lambda x: expect.unpack(d["type"], bytes.fromhex(x)))
    points = rng.below(4) == 0
    out = []
    for _ in range(rng.pick([2, 2, 3, 5, 8]) if several else 1):
        lo = rng.pick(pool)
        hi = lo if points or rng.below(4) == 0 else rng.pick(pool)
        out.append(sorted([lo, hi], key=value))
    return out


def condition_fields(schema, cells):
    """[name, type of operands, operands, nullable, whether they are in order] of the fields a condition can be about."""
    out = []
    enumerations = {e["name"]: e for e in schema.get("enumerations", [])}
    for f in (schema["dimensions"] if schema["array_type"] == "sparse" else []) + schema["attributes"]:
        kind, e = f["type"], enumerations.get(f.get("enumeration"))
        if e:
            data = base64.b64decode(e["data"])
            kind = e["type"]
            if "offsets" in e:
                starts = base64.b64decode(e["offsets"])
                starts = list(struct.unpack("<%dQ" % (len(starts) // 8), starts)) + [len(data)]
                values = [data[a:b] for a, b in zip(starts, starts[1:])] + [b"nope"]
            else:
                values = [data[i:i + 4] for i in range(0, len(data), 4)]
        elif kind in TEXT and f["cell_val_num"] == "var" or kind not in TEXT + ("BLOB", "ANY") and f["cell_val_num"] == 1:
            values = sorted(set(cells[f["name"]]))
        else:
            continue
        if values:
            out.append((f["name"], kind, values, f.get("nullable"), not e or e["ordered"]))
    return out


def condition(rng, fields, depth):
    """A tree as capi.condition takes it; tests have the type of their operands besides."""
    kind = rng.below(5)
    if depth and kind < 3:
        if kind == 2:
            return ["not", condition(rng, fields, depth - 1)]
        return [["and", "or"][kind], condition(rng, fields, depth - 1), condition(rng, fields, depth - 1)]
    name, datatype, values, nullable, ordered = rng.pick(fields)
    if nullable and rng.below(5) == 0:
        return [name, rng.pick(["==", "!="]), None, datatype]
    if rng.below(5) == 0:
        return [name, rng.pick(["in", "not-in"]), sorted({rng.pick(values).hex() for _ in range(3)} - {""}) or ["61"]
                if datatype in TEXT else sorted({rng.pick(values).hex() for _ in range(3)}), datatype]
    return [name, rng.pick(COMPARISONS if ordered else ["==", "!="]), rng.pick(values).hex(), datatype]


def aggregates(rng, schema):
    out = [["count", None]]
    sparse = schema["array_type"] == "sparse"
    for f in rng.sample((schema["dimensions"] if sparse else []) + schema["attributes"], 3):
        if f.get("enumeration"):
            continue
        if f.get("nullable") and rng.below(2):
            out.append(["null_count", f["name"]])
        if f["type"] in expect.FORMATS and f["cell_val_num"] == 1:
            out += [[function, f["name"]] for function in rng.sample(["sum", "min", "max", "mean"], 2)]
        elif f["type"] == "STRING_ASCII" and f["cell_val_num"] == "var":
            out.append([rng.pick(["min", "max"]), f["name"]])
    return out


def queries(case, schema, seed, number, count, cells):
    """Some queries; `cells` are those of the whole array, field by field."""
    rng = Rng("queries/%d/%d" % (seed, number))
    sparse = schema["array_type"] == "sparse"
    dimensions = schema["dimensions"]
    pools = [range_pool(rng, d, cells.get(d["name"], [])) for d in dimensions]
    fields = condition_fields(schema, cells)
    times = sorted({s["t"] for s in case["steps"] if s.get("t")})
    added = {a["name"] for s in case["steps"] if s["op"] == "evolve" for a in s["add"]}
    layouts = ["row-major", "col-major", "global-order"] + (["unordered"] if sparse else [])
    if schema["cell_order"] == "hilbert":
        layouts.remove("col-major")
    out = []
    for _ in range(count):
        query = {"layout": rng.pick(layouts), "timestamps": [None, None], "names": None, "condition": None, "aggregates": []}
        if rng.below(3) == 0:
            start, end = sorted([rng.pick(times) - rng.below(2), rng.pick(times) + rng.below(2)])
            query["timestamps"] = [rng.pick([None, start]), rng.pick([None, end])]
        several = query["layout"] != "global-order" and rng.below(3) > 0
        ranged = rng.below(4) > 0
        query["ranges"] = [draw_ranges(rng, d, pool, several) if ranged and rng.below(3) else []
                           for d, pool in zip(dimensions, pools)]
        if not sparse:
            # libtiledb wants to know of dense arrays what they are asked for
            query["ranges"] = [r or [d["domain"]] for r, d in zip(query["ranges"], dimensions)]
        # fields that an attribute was added after are asked only for where all fragments may have it
        known = [f for f in fields if f[0] not in added]
        if known and rng.below(5) < 2:
            query["condition"] = condition(rng, known, 3)
        if rng.below(4) == 0:
            query["aggregates"] = aggregates(rng, dict(schema, attributes=[
                a for a in schema["attributes"] if a["name"] not in added]))
            if not sparse and any(s["op"] == "consolidate" for s in case["steps"]):
                # fragment info, from which the peer knows what was written, does not list what was consolidated
                query["timestamps"] = [None, None]
        elif rng.below(4) == 0:
            names = [f["name"] for f in (dimensions if sparse else []) + schema["attributes"] if f["name"] not in added]
            query["names"] = rng.sample(names, rng.between(1, len(names)))
        all_dimensions = query["names"] is None or all(d["name"] in query["names"] for d in dimensions)
        query["order"] = "exact" if not sparse else "canonical" if query["layout"] == "unordered" else (
            "layout" if all_dimensions else "canonical" if schema["allows_dups"] else "exact")
        out.append(query)
    return out
