"""Random arrays for `cargo xtask conform reads`: what is read is in reads_queries.py.

Arrays are those of random_cases.py with more in their histories: enumerations that grow, attributes that come and go, current
domains, dimension labels, deletes by all kinds of conditions, consolidations of parts. Some have many more cells, and some an
older release began. Case number i depends on the seed and i only.
"""

import base64
import itertools
import struct

import capi
import expect
import programs
import reads_evolutions
import reads_rare
import reads_states
import reads_wider
import wild
from cases import FLOATS, INTS, READER, Rng, attr, b64, field, hx, pack, vt
from model import TEXT, cells
from random_cases import BUFFERS, WIDE, random_case

LEVELS = ["low", "middle", "high", "none", "a", "zz"]
MORE_LEVELS = ["higher", "", "nil"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
# types that no condition compares
UNCOMPARED = ("BLOB", "ANY", "GEOM_WKB", "GEOM_WKT", *WIDE)
# schemas count in the order of their names, so all times have as many digits
FIRST = 1000
# releases that begin an array now and then: statistics are believed from some of them on, commit files differ
OLDER = ["2.2.9", "2.4.3", "2.8.2", "2.11.3", "2.14.0", "2.16.3", "2.19.2"]


def array(seed, number):
    """A case in the layout of cases.py."""
    case = reads_wider.widen(drawn(seed, number), seed, number)
    case = reads_states.change(reads_rare.change(case, seed, number), seed, number)
    return reads_evolutions.change(case, seed, number)


def drawn(seed, number):
    rng = Rng("reads/%d/%d" % (seed, number))
    version = rng.pick(OLDER) if rng.below(8) == 0 else READER
    times = rng.pick([12, 30]) if version == READER and rng.below(6) == 0 else 1
    # every fifth has the shape of what a program makes
    case = programs.case(version, seed, number) if number % 5 == 4 else random_case(version, seed, number, times)
    schema, steps = case["schema"], case["steps"]
    for step in steps:
        if step.get("t"):
            step["t"] = FIRST + 10 * step["t"]
    if version != READER:
        older(rng, case)
        return case
    dense = schema["array_type"] == "dense"
    if rng.below(5) == 0:
        again(rng, case)
        return case
    if rng.below(3) == 0:
        enumerate_(rng, case)
    if rng.below(4) == 0:
        evolve(rng, case)
    if rng.below(6) == 0:
        current_domain(rng, case)
    elif dense and times == 1 and rng.below(4) == 0:
        label(rng, case)
    if not dense and rng.below(3) == 0:
        for _ in range(rng.between(1, 3)):
            delete(rng, case)
    if rng.below(4) == 0:
        consolidate_part(rng, case)
    if rng.below(4) == 0:
        times_of_writes(rng, case)
    return case


def times_of_writes(rng, case):
    """Gives writes times that have not come, the same time, or times in another order than they are written in."""
    written = [case["steps"][i] for i in writes(case)]
    if any(s["op"] in ("evolve", "delete", "consolidate") for s in case["steps"]) or not written:
        return
    kind = rng.below(4)
    if kind < 2:
        for k, step in enumerate(written[-rng.between(1, 2):]):
            step["t"] = wild.FUTURE + 10 * k
    elif kind == 2:
        for step, t in zip(written, rng.sample([s["t"] for s in written], len(written))):
            step["t"] = t
    else:
        for step in written[1:]:
            if rng.below(2):
                step["t"] = written[0]["t"]


def writes(case):
    return [i for i, s in enumerate(case["steps"]) if s["op"] == "write"]


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


def time_before(case, at):
    """A time between that of step `at` and what comes before."""
    return case["steps"][at]["t"] - 5


# -- what happens to schemas ---------------------------------------------------------------------------------------------


def words(values):
    starts = [sum(map(len, values[:i])) for i in range(len(values))]
    return {"data": b64("".join(values).encode()), "offsets": b64(struct.pack("<%dQ" % len(values), *starts))}


def enumerate_(rng, case):
    """Adds an attribute with an enumeration of strings or numbers; of strings, more may come later."""
    ordered, count = bool(rng.below(2)), rng.between(2, len(LEVELS))
    text = rng.below(2)
    if text:
        values = dict(words(LEVELS[:count]), type="STRING_ASCII", cell_val_num="var")
    else:
        values = {"type": "INT32", "cell_val_num": 1, "data": b64(pack("INT32", rng.sample(range(-9, 40), count)))}
    case["schema"]["enumerations"] = [dict(values, name="levels", ordered=ordered)]
    nullable = rng.below(3) == 0
    case["schema"]["attributes"].append(attr("e", rng.pick(["INT8", "UINT8", "INT32"]), 1, nullable, enumeration="levels"))
    kind = case["schema"]["attributes"][-1]["type"]
    later = writes(case)[1:]
    grows = rng.pick(later) if text and later and rng.below(2) else None
    for i, step in enumerate(case["steps"]):
        if step["op"] == "write":
            end = count + (len(MORE_LEVELS) if grows is not None and i >= grows else 0)
            fill(rng, step["fields"], "e", kind, nullable, cells_of_step(case, step), end)
    if grows is not None:
        case["steps"].insert(grows, {"op": "evolve", "t": time_before(case, grows),
                                     "extend_enumerations": [dict(words(MORE_LEVELS), name="levels")]})


def fill(rng, fields, name, kind, nullable, count, end):
    valid = [rng.below(4) != 0 or not nullable for _ in range(count)]
    fields[name] = {"data": b64(pack(kind, [rng.below(end) if v else 0 for v in valid]))}
    if nullable:
        fields[name]["validity"] = b64(bytes(valid))


def evolve(rng, case):
    """Adds an attribute between two writes, and may drop another."""
    steps = case["steps"]
    if len(writes(case)) < 2:
        return
    at = rng.pick(writes(case)[1:])
    added = attr("z", rng.pick(["INT16", "FLOAT64", "UINT32"]), 1, rng.below(2) == 0)
    step = {"op": "evolve", "t": time_before(case, at) + 1, "add": [added]}
    own = [a["name"] for a in case["schema"]["attributes"] if a["name"] != "e"]
    deleted = {s["condition"][0] for s in steps if s["op"] == "delete"}
    if len(own) > 1 and own[-1] not in deleted and rng.below(3) == 0:
        step["drop"] = [own[-1]]
    for later in steps[at:]:
        if later["op"] == "write":
            fill(rng, later["fields"], "z", added["type"], added["nullable"], cells_of_step(case, later), 50)
            for name in step.get("drop", []):
                del later["fields"][name]
    steps.insert(at, step)


def again(rng, case):
    """An attribute goes between two writes and comes back before a later one, of the same type or of another. Of a sparse array, some of
    its cells may have been deleted before by what they had in it."""
    steps, schema = case["steps"], case["schema"]
    steps[:] = [s for s in steps if s["op"] != "delete"]
    a = rng.pick(schema["attributes"])
    at = writes(case)
    if len(at) < 2 or len(schema["attributes"]) < 2:
        return
    gone = rng.between(1, len(at) - 1)
    back = rng.between(gone, len(at))
    new = dict(a)
    kind = rng.below(4)
    if kind == 0:
        new = attr(a["name"], rng.pick(["INT16", "FLOAT64", "UINT32", "INT64"]), rng.pick([1, 1, 2]), rng.below(3) == 0)
    elif kind == 1:
        new = attr(a["name"], "STRING_ASCII", "var", rng.below(2) == 0)
    elif kind == 2 and a["type"] in INTS and a["cell_val_num"] == 1 and not a["nullable"]:
        new["fill"] = hx(a["type"], 9)
    before = deletion(rng, a, [steps[i] for i in at[:gone]]) if schema["array_type"] == "sparse" and rng.below(2) else None
    if before:
        # libtiledb reads no array with a delete whose operand has another size than the attribute has now
        alike = [t for t in INTS + FLOATS if a["type"] in INTS + FLOATS and capi.size_of(t) == capi.size_of(a["type"])]
        alike = alike or [t for t in TEXT if a["type"] in TEXT and capi.size_of(t) == capi.size_of(a["type"])] or [a["type"]]
        # of what may not be null any more, it tests the bytes that are stored in the place of null
        new = attr(a["name"], rng.pick(alike), a["cell_val_num"], a["nullable"] or rng.below(3) == 0)
    new.pop("profile", None)
    for k, i in enumerate(at):
        if gone <= k < back:
            del steps[i]["fields"][a["name"]]
        elif k >= back:
            steps[i]["fields"][a["name"]] = field(rng, new, cells_of_step(case, steps[i]), nonempty=range(1 << 30))
    where = lambda k: at[k] if k < len(at) else len(steps)
    time_of = lambda k: steps[at[k]]["t"] if k < len(at) else max(s.get("t", 0) for s in steps) + 10
    steps.insert(where(back), {"op": "evolve", "t": time_of(back) - 2, "add": [new]})
    steps.insert(where(gone), {"op": "evolve", "t": time_of(gone) - 4, "drop": [a["name"]]})
    if before:
        steps.insert(at[gone - 1] + 1, {"op": "delete", "t": steps[at[gone - 1]]["t"] + 1, "condition": before})


def deletion(rng, attribute, written):
    """A condition on an attribute for a delete; None if there is none."""
    size = capi.size_of(attribute["type"]) * (attribute["cell_val_num"] if attribute["cell_val_num"] != "var" else 1)
    known = {attribute["name"]: [c for step in written for c in cells(step["fields"][attribute["name"]], size)]}
    of = condition_fields({"array_type": "sparse", "dimensions": [], "attributes": [attribute]}, known)
    # stored conditions cannot ask for null
    of = [f[:3] + (False,) + f[4:] for f in of if f[2]]
    return condition(rng, of, 1) if of and not attribute.get("enumeration") else None


def current_domain(rng, case):
    """Gives the array a current domain that holds its first writes, and extends it before those that need more. Or, to a sparse array,
    after its first writes, one that does not hold all of their cells: those outside are not read."""
    dimensions = case["schema"]["dimensions"]
    steps = case["steps"]
    if not writes(case):
        return

    def box(step):
        out = []
        for i, d in enumerate(dimensions):
            if step["subarray"]:
                out.append([bytes.fromhex(x) for x in step["subarray"][i]])
            else:
                found = found_in(step, d)
                out.append([found[0], found[-1]])
        return out

    def found_in(step, d):
        return sorted(cells(step["fields"][d["name"]], capi.size_of(d["type"])), key=order_of(d))

    def part(steps):
        """Of each dimension, from one of its cells to another."""
        out = []
        for d in dimensions:
            found = sorted((c for step in steps for c in found_in(step, d)), key=order_of(d))
            out.append(sorted((rng.pick(found), rng.pick(found)), key=order_of(d)))
        return out

    def joined(a, b):
        return [[min(x[0], y[0], key=order_of(d)), max(x[1], y[1], key=order_of(d))] for d, x, y in zip(dimensions, a, b)]

    now, at = None, writes(case)
    first = rng.between(1, len(at))
    for i in at[:first]:
        now = box(steps[i]) if now is None else joined(now, box(steps[i]))
    late = case["schema"]["array_type"] == "sparse" and rng.below(3) == 0
    if late:
        now = part([steps[i] for i in at[:first]])
    if any(lo == b"" for lo, _ in now):
        return
    hexes = lambda b: [[lo.hex(), hi.hex()] for lo, hi in b]
    inserted = []
    if late:
        i = at[first - 1] + 1
        inserted.append((i, {"op": "evolve", "t": steps[i - 1]["t"] + 6, "current_domain": hexes(now)}))
    else:
        case["schema"]["current_domain"] = hexes(now)
    for i in at[first:]:
        wider = joined(now, box(steps[i]))
        if any(lo == b"" for lo, _ in wider):
            wider = [[b"" if d["type"] == "STRING_ASCII" else lo, hi] for d, (lo, hi) in zip(dimensions, wider)]
        if wider != now:
            inserted.append((i, {"op": "evolve", "t": time_before(case, i) + 2, "current_domain": hexes(wider)}))
        now = wider
    for i, step in reversed(inserted):
        steps.insert(i, step)


def order_of(d):
    """What a dimension's values are sorted by."""
    return (lambda c: c) if d["type"] == "STRING_ASCII" else (lambda c, t=d["type"]: expect.unpack(t, c))


def label(rng, case):
    """Gives the first dimension of a dense array a label, written with the first write that covers all of it."""
    schema = case["schema"]
    d = schema["dimensions"][0]
    # libtiledb evolves no schema with labels
    if d["type"] not in INTS or not writes(case) or any(s["op"] == "evolve" for s in case["steps"]):
        return
    lo, hi = (expect.unpack(d["type"], bytes.fromhex(x)) for x in d["domain"])
    count = hi - lo + 1
    if count > 60:
        return
    order, kind = rng.pick(["increasing", "decreasing"]), rng.pick(["INT32", "FLOAT64", "STRING_ASCII"])
    if kind == "STRING_ASCII":
        values = sorted({"%s%s" % (rng.pick("abcxyz"), rng.below(10 ** 6)) for _ in range(3 * count)})[:count]
        field = words(values if order == "increasing" else values[::-1])
    else:
        values, at = [], -20
        for _ in range(count):
            at += rng.between(1, 4)
            values.append(at / 2 if kind == "FLOAT64" else at)
        field = {"data": b64(pack(kind, values if order == "increasing" else values[::-1]))}
    if len(values) < count:
        return
    schema["dimension_labels"] = [{"dimension": 0, "name": "l", "order": order, "type": kind}]
    step = case["steps"][writes(case)[0]]
    # the whole dimension is written once, so that all labels are
    old = cells_of_step(case, step)
    first = [expect.unpack(d["type"], bytes.fromhex(x)) for x in step["subarray"][0]]
    new = old // (first[1] - first[0] + 1) * count
    step["subarray"][0] = list(d["domain"])
    for a in schema["attributes"]:
        f = step["fields"][a["name"]]
        size = capi.size_of(a["type"]) * (a["cell_val_num"] if a["cell_val_num"] != "var" else 1)
        own = cells(f, size)
        many = [own[i % old] for i in range(new)]
        f["data"] = b64(b"".join(many))
        if "offsets" in f:
            ends = itertools.accumulate(map(len, many), initial=0)
            f["offsets"] = b64(struct.pack("<%dQ" % new, *itertools.islice(ends, new)))
        if "validity" in f:
            valid = base64.b64decode(f["validity"])
            f["validity"] = b64(bytes(valid[i % old] for i in range(new)))
    step["fields"]["l"] = field


# -- what happens to cells -----------------------------------------------------------------------------------------------


def delete(rng, case):
    """Deletes by a condition, at some time between the writes or after them."""
    steps, schema = case["steps"], case["schema"]
    if not writes(case):
        return
    gone = {name for s in steps if s["op"] == "evolve" for name in s.get("drop", [])}
    known = {}
    fields = [dict({"cell_val_num": "var" if f["type"] == "STRING_ASCII" else 1}, **f)
              for f in schema["dimensions"] + schema["attributes"] if f["name"] not in gone and not f.get("enumeration")]
    for f in fields:
        size = capi.size_of(f["type"]) * (f["cell_val_num"] if f["cell_val_num"] != "var" else 1)
        known[f["name"]] = [c for i in writes(case) for c in cells(steps[i]["fields"][f["name"]], size)]
    of = condition_fields({"array_type": "sparse", "dimensions": [], "attributes": fields}, known)
    # stored conditions cannot ask for null
    of = [f[:3] + (False,) + f[4:] for f in of if f[2]]
    if not of:
        return
    at = rng.pick(writes(case)[1:] + [len(steps)])
    t = steps[at]["t"] - 3 if at < len(steps) else max(s.get("t", 0) for s in steps) + 7
    if any(s.get("t") == t for s in steps):
        return
    steps.insert(at, {"op": "delete", "t": t, "condition": condition(rng, of, 2)})


def consolidate_part(rng, case):
    """Consolidates what was written in some time, before the rest is written or at the end."""
    steps = case["steps"]
    times = sorted(s["t"] for s in steps if s["op"] == "write")
    if len(times) < 3:
        return
    first, last = sorted(rng.sample(range(len(times)), 2))
    config = {**BUFFERS, "sm.consolidation.mode": "fragments", "sm.consolidation.timestamp_start": str(times[first]),
              "sm.consolidation.timestamp_end": str(times[last])}
    if case["schema"]["array_type"] == "dense":
        config["sm.consolidation.amplification"] = "100"
    at = next((i for i, s in enumerate(steps) if s.get("t", 0) > times[last]), len(steps))
    steps.insert(at, {"op": "consolidate", "config": config})


def older(rng, case):
    """An array that an older release began, and 2.30 may go on with; dense ones of 2.2 with sparse fragments."""
    schema, steps = case["schema"], case["steps"]
    if vt(case["lib"]) == (2, 2):
        if schema["array_type"] != "dense" or any(a["nullable"] for a in schema["attributes"]):
            case["lib"] = READER
            return
        case["queries"] = []
        for i in writes(case)[1:]:
            if rng.below(2):
                scatter(rng, case, steps[i])
        steps[:] = [s for s in steps if s["op"] not in ("consolidate", "vacuum")]
        return
    for i in writes(case)[1:]:
        if rng.below(2):
            # all that follows is written by 2.30
            for step in steps[i:]:
                step["by"] = "reader"
            return


def scatter(rng, case, step):
    """Makes the write of a box one of some of its cells."""
    dimensions = case["schema"]["dimensions"]
    box = [[expect.unpack(d["type"], bytes.fromhex(x)) for x in r] for d, r in zip(dimensions, step["subarray"])]
    count = cells_of_step(case, step)
    chosen = rng.sample(range(count), rng.between(1, min(count, 12)))
    coords = {tuple(rng.between(lo, hi) for lo, hi in box) for _ in chosen}
    coords = rng.sample(sorted(coords), len(coords))
    chosen = chosen[:len(coords)]
    for a in case["schema"]["attributes"]:
        f = step["fields"][a["name"]]
        own = cells(f, capi.size_of(a["type"]) * (a["cell_val_num"] if a["cell_val_num"] != "var" else 1))
        some = [own[i] for i in chosen]
        if "offsets" in f:
            # 2.2 refuses a last cell that is empty
            some[-1] = some[-1] or bytes(capi.size_of(a["type"]))
            f["offsets"] = b64(struct.pack("<%dQ" % len(some), *(sum(map(len, some[:i])) for i in range(len(some)))))
        f["data"] = b64(b"".join(some))
    for k, d in enumerate(dimensions):
        step["fields"][d["name"]] = {"data": b64(pack(d["type"], [c[k] for c in coords]))}
    step["layout"], step["subarray"] = "unordered", None


# -- conditions, for deletes and for queries -----------------------------------------------------------------------------


def condition_fields(schema, known):
    """[name, type of operands, operands, nullable, whether they are in order] of the fields a condition can be about."""
    out = []
    enumerations = {e["name"]: e for e in schema.get("enumerations", [])}
    for f in (schema["dimensions"] if schema["array_type"] == "sparse" else []) + schema["attributes"]:
        kind, e = f["type"], enumerations.get(f.get("enumeration"))
        if e:
            kind = e["type"]
            values = cells(e, capi.size_of(e["type"])) + ([b"nope"] if "offsets" in e else [])
        elif kind in TEXT and f["cell_val_num"] == "var" or kind not in TEXT + UNCOMPARED and f["cell_val_num"] == 1:
            values = sorted(set(known[f["name"]]))
        else:
            values = []
        # cells of types that nobody compares may still be null
        if values or f.get("nullable"):
            out.append((f["name"], kind, values, f.get("nullable"), not e or e["ordered"]))
    return out


def operand(rng, datatype, values):
    """A value that some cell has, or one beside it."""
    value = rng.pick(values)
    if datatype in TEXT + ("BOOL",) or datatype in FLOATS or rng.below(4):
        return value.hex()
    near = expect.unpack(datatype, value) + rng.pick([-1, 1])
    try:
        return hx(datatype, near)
    except struct.error:
        return value.hex()


def condition(rng, fields, depth):
    """A tree as capi.condition takes it; tests have the type of their operands besides."""
    kind = rng.below(5)
    if depth and kind < 3:
        if kind == 2:
            return ["not", condition(rng, fields, depth - 1)]
        return [["and", "or"][kind], condition(rng, fields, depth - 1), condition(rng, fields, depth - 1)]
    name, datatype, values, nullable, ordered = rng.pick(fields)
    if nullable and (not values or rng.below(5) == 0):
        return [name, rng.pick(["==", "!="]), None, datatype]
    if rng.below(5) == 0:
        several = {rng.pick(values).hex() for _ in range(rng.pick([2, 3, 12]))}
        return [name, rng.pick(["in", "not-in"]), sorted(several - {""}) or ["61"] if datatype in TEXT else sorted(several),
                datatype]
    return [name, rng.pick(COMPARISONS if ordered else ["==", "!="]), operand(rng, datatype, values), datatype]
