"""Random queries for `cargo xtask conform reads`, of the arrays that reads_cases.py draws.

A query is {"layout", "timestamps": [start, end], "names": [...] or null, "condition": tree or null, "aggregates": [[function,
field]], "ranges": for each dimension [[low, high], ...] in hex, null for an open end, "labels": [[label, low, high]],
"order": how far the order of its cells is fixed}.
"""

import capi
import expect
import reads_deeper
import wild
from cases import FLOATS, Rng, hx
from model import Model
from reads_cases import cells, condition, condition_fields, order_of

# no string of the arrays is greater
LAST = b"\xff" * 16


def view(case, schema):
    """The part of a dense array that is looked at: all of it, or what was written and a little more. None of sparse ones."""
    if schema["array_type"] == "sparse":
        return None
    boxes = [w.box for w in Model(case).writes if w.box]
    out = []
    for k, d in enumerate(schema["dimensions"]):
        low, high = schema.get("current_domain", [e["domain"] for e in schema["dimensions"]])[k]
        lo, hi = (expect.unpack(d["type"], bytes.fromhex(x)) for x in (low, high))
        if hi - lo < [120, 40, 16, 8, 6, 5][len(schema["dimensions"]) - 1]:
            out.append([low, high])
            continue
        first, last = min([b[k][0] for b in boxes] or [lo]), max([b[k][1] for b in boxes] or [lo])
        out.append([hx(d["type"], max(lo, first - 2)), hx(d["type"], min(hi, last + 2))])
    return out


def bounds(schema, index):
    """The ends of what is looked at of a dimension: of its domain, or of the current domain; hex."""
    seen = schema.get("view") or schema.get("current_domain")
    return seen[index] if seen else schema["dimensions"][index]["domain"]


def range_pool(rng, schema, index, known):
    """Values of a dimension that ranges of it begin or end at."""
    d = schema["dimensions"][index]
    ends = bounds(schema, index)
    if d["cell_val_num"] == "var":
        pool = [c.hex() for c in sorted(set(known)) if c] + [b"a".hex(), b"m".hex(), b"zebra2".hex(), b"~~".hex()]
        pool += [x.hex() for c in sorted(set(known))[:12] for x in wild.beside(d, c)]
        inside = [x for x in pool if not ends or bytes.fromhex(ends[0]) <= bytes.fromhex(x) <= bytes.fromhex(ends[1])]
        return inside or [ends[1]]
    lo, hi = (expect.unpack(d["type"], bytes.fromhex(x)) for x in ends)
    own = sorted(set(expect.unpack(d["type"], c) for c in set(known)))
    if d["type"] in FLOATS:
        near = own + [wild.stored(d["type"], wild.between(lo, hi, rng.below(100) / 100)) for _ in range(8)]
        near += [expect.unpack(d["type"], x) for v in own for x in wild.beside(d, expect.pack(d["type"], v))]
    else:
        near = own + [v + more for v in own for more in (-1, 1)] + [rng.between(lo, hi) for _ in range(12)]
    return [hx(d["type"], v) for v in sorted(set(near)) + [lo, hi] if lo <= v <= hi]


def draw_ranges(rng, d, pool, several):
    value = lambda x: order_of(d)(bytes.fromhex(x))
    if several and rng.below(8) == 0:
        # a look-up of many coordinates, in no order, some of them twice
        return [[x, x] for x in (rng.pick(pool) for _ in range(rng.between(20, 120)))]
    points = rng.below(4) == 0
    out = []
    for _ in range(rng.pick([2, 2, 3, 5, 8]) if several else 1):
        lo = rng.pick(pool)
        hi = lo if points or rng.below(4) == 0 else rng.pick(pool)
        lo, hi = sorted([lo, hi], key=value)
        if rng.below(10) == 0:
            lo, hi = (None, hi) if rng.below(2) else (lo, None)
        out.append([lo, hi])
    return out


def bounded(query, dimensions, schema):
    """Leaves out ranges of a dense array until its answer is of bearable size."""
    def cells():
        count = 1
        for i, (d, ranges) in enumerate(zip(dimensions, query["ranges"])):
            lo, hi = bounds(schema, i)
            ends = [[expect.unpack(d["type"], bytes.fromhex(x or end)) for x, end in zip(r, (lo, hi))] for r in ranges]
            count *= sum(b - a + 1 for a, b in ends) if ends else 40
        return count

    while cells() > 20000:
        longest = max(query["ranges"], key=len)
        if len(longest) < 2:
            return
        del longest[len(longest) // 2:]


def label_range(rng, label, field):
    """A range between two values of a label."""
    values = sorted(cells(field, capi.size_of(label["type"])), key=order_of(label))
    lo, hi = sorted(rng.below(len(values)) for _ in range(2))
    return [label["name"], label["type"], values[lo].hex(), values[hi].hex()]


def aggregates(rng, schema, without):
    out = [["count", None]]
    sparse = schema["array_type"] == "sparse"
    attributes = [a for a in schema["attributes"] if a["name"] not in without]
    for f in rng.sample((schema["dimensions"] if sparse else []) + attributes, 3):
        if f.get("enumeration"):
            continue
        if f.get("nullable") and rng.below(2):
            out.append(["null_count", f["name"]])
        if f["type"] in expect.FORMATS and f["cell_val_num"] == 1:
            out += [[function, f["name"]] for function in rng.sample(["sum", "min", "max", "mean"], 2)]
        elif f["type"] == "STRING_ASCII" and f["cell_val_num"] == "var":
            out.append([rng.pick(["min", "max"]), f["name"]])
    return out


def queries(case, schema, seed, number, count, known):
    """Some queries; `known` are the cells of the whole array, field by field."""
    rng = Rng("queries/%d/%d" % (seed, number))
    sparse = schema["array_type"] == "sparse"
    dimensions = schema["dimensions"]
    pools = [range_pool(rng, schema, i, known.get(d["name"], [])) for i, d in enumerate(dimensions)]
    fields = condition_fields(schema, known)
    steps = case["steps"]
    times = sorted({s["t"] for s in steps if s.get("t")})
    added = {a["name"] for s in steps if s["op"] == "evolve" for a in s.get("add", [])}
    # in some windows the array has no such field
    unsure = added | {name for s in steps if s["op"] == "evolve" for name in s.get("drop", [])}
    changes = [s["t"] for s in steps if s["op"] == "evolve"]
    labels = [(l, s["fields"][l["name"]]) for l in case["schema"].get("dimension_labels", []) for s in steps
              if l["name"] in s.get("fields", {})]
    layouts = ["row-major", "col-major", "global-order"] + (["unordered"] if sparse else [])
    if schema["cell_order"] == "hilbert":
        layouts.remove("col-major")
    out = []
    for _ in range(count):
        query = {"layout": rng.pick(layouts), "timestamps": [None, None], "names": None, "condition": None, "aggregates": [],
                 "labels": []}
        if rng.below(3) == 0:
            start, end = sorted([rng.pick(times) - rng.below(2), rng.pick(times) + rng.below(2)])
            query["timestamps"] = [rng.pick([None, start]), rng.pick([None, end])]
            if start > wild.FUTURE // 2 and query["timestamps"][1] is None:
                # a window that begins after its end is refused by both
                query["timestamps"][0] = None
        several = query["layout"] != "global-order" and rng.below(3) > 0
        ranged = rng.below(4) > 0
        query["ranges"] = [draw_ranges(rng, d, pool, several) if ranged and rng.below(3) else []
                           for d, pool in zip(dimensions, pools)]
        if labels and rng.below(2):
            label, field = rng.pick(labels)
            query["labels"] = [label_range(rng, label, field)]
            labelled = label["dimension"]
            query["ranges"][labelled] = []
            query["timestamps"] = [None, None]
        # conditions on what was added later are compared where nothing else is asked, of sparse arrays
        late = [f for f in fields if f[0] in added]
        surely = [f for f in fields if f[0] not in added]
        if sparse and late and rng.below(6) == 0:
            query["condition"], query["timestamps"] = condition(rng, late, 0), [None, None]
        elif surely and rng.below(5) < 2:
            query["condition"] = condition(rng, surely, 3)
        if not sparse:
            # libtiledb wants to know of dense arrays what they are asked for
            query["ranges"] = [r or ([] if query["labels"] and i == labelled else [bounds(schema, i)])
                               for i, r in enumerate(query["ranges"])]
            query["ranges"] = [[[lo or bounds(schema, i)[0], hi or bounds(schema, i)[1]] for lo, hi in r]
                               for i, r in enumerate(query["ranges"])]
            bounded(query, dimensions, schema)
            if schema.get("current_domain") and any(t > (query["timestamps"][1] or t) for t in changes):
                # it refuses today's box in a window of a smaller domain
                query["timestamps"][1] = None
        if rng.below(4) == 0 and not query["labels"]:
            query["aggregates"] = aggregates(rng, schema, unsure)
            if not sparse and any(s["op"] == "consolidate" for s in steps):
                # fragment info, from which the peer knows what was written, does not list what was consolidated
                query["timestamps"] = [None, None]
        elif rng.below(4) == 0:
            names = [f["name"] for f in (dimensions if sparse else []) + schema["attributes"] if f["name"] not in unsure]
            query["names"] = rng.sample(names, rng.between(1, len(names)))
        all_dimensions = query["names"] is None or all(d["name"] in query["names"] for d in dimensions)
        query["order"] = "exact" if not sparse else "canonical" if query["layout"] == "unordered" else (
            "layout" if all_dimensions else "canonical" if schema["allows_dups"] else "exact")
        out.append(query)
    surely = [f for f in fields if f[0] not in unsure]
    reads_deeper.deepen(out, schema, seed, number, pools, surely, known, labels, unsure)
    return out
