"""Evolutions of the arrays of reads_cases.py that are seldom drawn: several at one time, at the time of the array, of enumerations that
have no values, or no attribute.

All of it is drawn apart, as in reads_wider.py.
"""

import base64

import wild
from cases import FLOATS, INTS, Rng, attr, b64, pack
from model import TEXT
from reads_rare import column, count_of, enumeration
from reads_wider import is_new, of, told_of

# the first is not empty: libtiledb does not extend by no bytes
MORE = {"text": [b"one", b"", b"two words", b"\xc3\xa9"], "number": [3, 1, 100, 7]}


def change(case, seed, number):
    """Changes a case in some ways."""
    rng = Rng("evolutions/%d/%d" % (seed, number))
    for way, rarely in [(empty, 6), (unused, 6), (tied, 6)]:
        # libtiledb evolves no schema with labels
        if rng.below(rarely) == 0 and is_new(case) and not case["schema"].get("dimension_labels"):
            way(rng, case)
    return case


def last(case):
    return max(s.get("t", 0) for s in case["steps"])


def has(case, name):
    own = case["schema"]["dimensions"] + case["schema"]["attributes"] + [a for s in of(case, "evolve") for a in s.get("add", [])]
    return any(f["name"] == name for f in own)


def values_for(rng, e):
    """The layout of some values that an enumeration does not have, where it has none."""
    number = rng.between(1, 3)
    if e["type"] in TEXT:
        own = [v for v in MORE["text"] if e["type"] != "STRING_ASCII" or v.isascii()][:number]
        return column({"cell_val_num": "var", "nullable": False}, own, []), len(own)
    own = [0, 1] if e["type"] == "BOOL" else [x / 4 if e["type"] in FLOATS else x for x in MORE["number"][:number]]
    return {"data": b64(pack(e["type"], own))}, len(own)


# -- enumerations ----------------------------------------------------------------------------------------------------------


def empty(rng, case):
    """An attribute, null in all cells, of an enumeration without values; values, and cells that have them, come later, or never."""
    schema, steps = case["schema"], case["steps"]
    if has(case, "void") or schema.get("current_domain") or last(case) >= wild.FUTURE or not of(case, "write"):
        return
    e, _ = enumeration(rng, "nothing", empty=True)
    a = attr("void", rng.pick(["INT8", "UINT16", "INT64"]), 1, True, enumeration="nothing")
    schema.setdefault("enumerations", []).append(e)
    schema["attributes"].append(a)
    at = [i for i, s in enumerate(steps) if s["op"] == "write"]
    grows = rng.between(1, len(at))
    more, count = values_for(rng, e)
    for k, i in enumerate(at):
        number = count_of(case, steps[i])
        valid = [k >= grows and rng.below(3) > 0 for _ in range(number)]
        steps[i]["fields"]["void"] = column(a, [pack(a["type"], [rng.below(count)]) for _ in valid], valid)
    if grows < len(at) or rng.below(2):
        place, t = (at[grows], steps[at[grows]]["t"] - 1) if grows < len(at) else (len(steps), last(case) + 2)
        steps.insert(place, {"op": "evolve", "t": t, "extend_enumerations": [dict(more, name="nothing")]})


def unused(rng, case):
    """An enumeration that no attribute has, with the array or later, and what may happen to it."""
    steps = case["steps"]
    e, _ = enumeration(rng, "spare", empty=rng.below(2) == 0)
    t = last(case)
    if t >= wild.FUTURE - 20:
        return
    later = rng.below(3)
    if later == 0:
        case["schema"].setdefault("enumerations", []).append(e)
    elif later == 1:
        # at the very time of the array: the name of the schema's file decides which is the last
        steps.insert(1, {"op": "evolve", "t": steps[0]["t"], "add_enumerations": [e]})
        return
    else:
        steps.append({"op": "evolve", "t": t + 2, "add_enumerations": [e]})
    # no attribute can have it later: "the enumeration has not been loaded"
    kind = rng.below(2)
    if kind == 0:
        steps.append({"op": "evolve", "t": t + 4, "drop_enumerations": ["spare"]})
    elif not base64.b64decode(e["data"]) and not e.get("offsets"):
        more, _ = values_for(rng, e)
        steps.append({"op": "evolve", "t": t + 4, "extend_enumerations": [dict(more, name="spare")]})


# -- times -----------------------------------------------------------------------------------------------------------------


def tied(rng, case):
    """Two or three evolutions at one time, behind all else; the names of the schemas' files decide which is the last."""
    steps, t = case["steps"], last(case)
    if t >= wild.FUTURE - 20 or has(case, "p") or has(case, "q"):
        return
    t += rng.pick([0, 3]) if not any(s.get("t") == t and s["op"] != "write" for s in steps) else 3
    told = told_of(case)
    old = [a["name"] for a in case["schema"]["attributes"] if a["name"] not in told | {""} and not a.get("enumeration")]
    changes = [{"add": [some(rng, "p")]}, {"add": [some(rng, "q")]}, {"add_enumerations": [enumeration(rng, "tied")[0]]}]
    if len(old) > 1 and len(case["schema"]["attributes"]) > 2:
        changes.append({"drop": [rng.pick(old)]})
    for more in rng.sample(changes, rng.pick([2, 2, 3])):
        steps.append(dict({"op": "evolve", "t": t}, **more))


def some(rng, name):
    """An attribute of some type."""
    kind = rng.pick(INTS + FLOATS + ["STRING_UTF8", "CHAR", "BOOL", "BLOB", "DATETIME_MS"])
    count = "var" if kind == "STRING_UTF8" else rng.pick([1, 1, 3, "var"])
    return attr(name, kind, count, rng.below(2) == 0)
