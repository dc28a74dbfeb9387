"""What else the arrays of reads_cases.py are like: names of any characters, keys, chunks of a few bytes, many dimensions, no
attributes, bytes below null cells, fragments that are deleted.

All of it is drawn apart, from a sequence of its own, after a case is made: a case without any of it is as older seeds drew it.
"""

import base64
import itertools

import capi
import wild
from cases import INTS, KEY, READER, Rng, attr, b64, dim, pack
from model import cells, tested

# of attributes and dimensions; files have them percent-encoded
NAMES = ["a b", " a", "a ", "\u00e4\u20ac", "100%", "%41", "a.b", "..", "x" * 120, "a+b&c=d", "#", "-1", "null", "select", "\U0001F600",
         "e\u0301", "\u00e9", "tab\there", "\"", "'", "*", "a/b", "a\\b", "a:b", "coords", "A0", "a0_var", "a0_validity", "offsets", "0"]
# kinds of a byte each, whose cells may be anything
BYTES_ONLY = ("INT8", "UINT8", "BLOB")
FEWEST = 8


def widen(case, seed, number):
    """Changes a case of reads_cases.py in up to three ways."""
    rng = Rng("wider/%d/%d" % (seed, number))
    # what is changed later may rely on what was changed before
    ways = [(more_dimensions, 8), (no_attributes, 12), (second_enumerated, 2), (delete_by_enumeration, 2), (below_null, 4),
            (small_chunks, 5), (delete_fragments, 8), (odd_names, 5), (encrypt, 10)]
    for way, rarely in ways:
        if rng.below(rarely) == 0:
            way(rng, case)
    return case


def of(case, op):
    return [s for s in case["steps"] if s["op"] == op]


def told_of(case):
    """The attributes that steps speak of."""
    names = {n for s in of(case, "delete") for n in tested(s["condition"])}
    return names | {a["name"] for s in of(case, "evolve") for a in s.get("add", [])} | {
        n for s in of(case, "evolve") for n in s.get("drop", [])}


def is_new(case):
    return case["lib"] == READER


# -- schemas -------------------------------------------------------------------------------------------------------------


def more_dimensions(rng, case):
    """Gives a sparse array up to 20 dimensions. A cell's new coordinates follow from its old ones, so those that were equal are."""
    schema = case["schema"]
    if schema["array_type"] == "dense" or not is_new(case) or schema.get("current_domain"):
        return
    old = list(schema["dimensions"])
    own = {"STRING_ASCII"} if any(d["type"] == "STRING_ASCII" for d in old) else set()
    many = rng.pick([7, 8, 9, 12, 20])
    added = []
    for k in range(len(old), many):
        kind = rng.pick(["INT8", "UINT16", "INT32", "UINT64", "INT64"] + sorted(own))
        added.append(dim("m%d" % k, kind, 0, 50, None if kind == "STRING_ASCII" else rng.pick([1, 7, 51])))
    salt = rng.below(1000)
    for step in of(case, "write"):
        columns = [cells(step["fields"][d["name"]], capi.size_of(d["type"])) for d in old]
        for k, d in enumerate(added):
            values = [Rng("%d/%d/%s" % (salt, k, b"/".join(cell).hex())).below(51) for cell in zip(*columns)]
            step["fields"][d["name"]] = texts(values) if d["type"] == "STRING_ASCII" else {"data": b64(pack(d["type"], values))}
    schema["dimensions"] = old + added
    for query in case.get("queries", []):
        query["ranges"] += [None] * len(added)


def texts(values):
    parts = [b"%d" % v for v in values]
    starts = itertools.accumulate([0] + [len(p) for p in parts[:-1]]) if parts else []
    return {"data": b64(b"".join(parts)), "offsets": b64(pack("UINT64", list(starts)))}


def no_attributes(rng, case):
    """Leaves a sparse array its dimensions only."""
    schema = case["schema"]
    if schema["array_type"] == "dense" or not is_new(case) or told_of(case):
        return
    for step in of(case, "write"):
        for a in schema["attributes"]:
            step["fields"].pop(a["name"], None)
    schema["attributes"], schema["enumerations"] = [], []


def second_enumerated(rng, case):
    """Another attribute with the enumeration that one has."""
    schema = case["schema"]
    first = next((a for a in schema["attributes"] if a.get("enumeration")), None)
    if first is None:
        return
    a = attr("f", rng.pick(["INT8", "UINT32", "INT64"]), 1, bool(rng.below(2)), enumeration=first["enumeration"])
    schema["attributes"].append(a)
    for step in of(case, "write"):
        numbers = [int.from_bytes(c, "little") for c in cells(step["fields"][first["name"]], capi.size_of(first["type"]))]
        # numbers that the enumeration has when this is written
        numbers = rng.sample(numbers, len(numbers))
        step["fields"]["f"] = {"data": b64(pack(a["type"], numbers))}
        if a["nullable"]:
            step["fields"]["f"]["validity"] = b64(bytes(rng.below(4) != 0 for _ in numbers))


def delete_by_enumeration(rng, case):
    """Deletes by values of an enumeration, which a delete stores as they are."""
    schema, steps = case["schema"], case["steps"]
    first = next((a for a in schema["attributes"] if a.get("enumeration")), None)
    if first is None or schema["array_type"] == "dense" or not of(case, "write"):
        return
    e = next(e for e in schema["enumerations"] if e["name"] == first["enumeration"])
    values = [v for v in cells(e, capi.size_of(e["type"])) if v]
    test = [first["name"], rng.pick(["==", "!=", "<", ">="] if e["ordered"] else ["==", "!="]), rng.pick(values).hex(), e["type"]]
    if rng.below(3) == 0:
        test = [first["name"], rng.pick(["in", "not-in"]), sorted({rng.pick(values).hex() for _ in range(3)}), e["type"]]
    t = max(s.get("t", 0) for s in steps) + 7
    if t < wild.FUTURE:
        steps.append({"op": "delete", "t": t, "condition": test})


def small_chunks(rng, case):
    """Chunks of a few bytes, for dimensions, offsets and validity that have filters."""
    schema = case["schema"]

    def chunked(filters, least):
        if not filters or isinstance(filters, dict):
            return filters
        size = rng.pick([0, (1 << 32) - 1]) if rng.below(4) == 0 else least * rng.pick([1, 2, 3, 30]) + rng.pick([0, 0, 5])
        return {"max_chunk_size": size, "filters": filters}

    for d in schema["dimensions"]:
        if d.get("filters") and rng.below(2):
            d["filters"] = chunked(d["filters"], FEWEST)
    for which in ("coords_filters", "offsets_filters", "validity_filters"):
        if schema.get(which) and rng.below(3):
            schema[which] = chunked(schema[which], FEWEST if which != "validity_filters" else rng.pick([1, 3, 8]))


def odd_names(rng, case):
    """Other names for some fields."""
    schema = case["schema"]
    if not is_new(case):
        return
    fields = schema["dimensions"] + schema["attributes"]
    added = [a for s in of(case, "evolve") for a in s.get("add", [])]
    taken = {f["name"] for f in fields + added}
    new = [n for n in NAMES if n not in taken]
    names = dict(zip(rng.sample(sorted(taken), rng.between(1, len(taken))), rng.sample(new, len(taken))))
    to = lambda name: names.get(name, name)

    def condition(tree):
        if tree[0] in ("and", "or", "not"):
            return [tree[0]] + [condition(part) for part in tree[1:]]
        return [to(tree[0]), *tree[1:]]

    # an attribute that comes back may be the same object
    for f in {id(f): f for f in fields + added}.values():
        f["name"] = to(f["name"])
    for step in case["steps"]:
        if "fields" in step:
            step["fields"] = {to(n): f for n, f in step["fields"].items()}
        if "drop" in step:
            step["drop"] = [to(n) for n in step["drop"]]
        if step["op"] == "delete":
            step["condition"] = condition(step["condition"])


def encrypt(rng, case):
    case["key"] = KEY


# -- cells ---------------------------------------------------------------------------------------------------------------


def below_null(rng, case):
    """Null cells of fixed size hold any bytes, and those of variable length may hold some."""
    schema = case["schema"]
    added = [a for s in of(case, "evolve") for a in s.get("add", [])]
    for step in of(case, "write"):
        for a in schema["attributes"] + added:
            f = step["fields"].get(a["name"])
            if not f or "validity" not in f or "offsets" in f or a.get("enumeration"):
                continue
            size = wild.width(a)
            own = cells(f, size)
            valid = base64.b64decode(f["validity"])
            if len(own) != len(valid):
                # written before the attribute had this type
                continue
            some = [bytes(rng.below(256) for _ in range(size)) if a["type"] in BYTES_ONLY + tuple(INTS) else rng.pick(own)
                    for _ in own]
            f["data"] = b64(b"".join(c if v else s for c, v, s in zip(own, valid, some)))


def delete_fragments(rng, case):
    """Deletes what was written in some time, after commits were consolidated or not."""
    if not is_new(case) or of(case, "consolidate") or of(case, "delete"):
        return
    times = sorted({s["t"] for s in of(case, "write")})
    if len(times) < 2:
        return
    first, last = sorted([rng.pick(times), rng.pick(times)])
    steps = case["steps"]
    if rng.below(2):
        steps.append({"op": "consolidate", "config": {"sm.consolidation.mode": "commits"}})
        if rng.below(2):
            steps.append({"op": "vacuum", "config": {"sm.vacuum.mode": "commits"}})
    steps.append({"op": "delete_fragments", "first": first, "last": last})
