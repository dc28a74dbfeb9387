"""What queries of reads_queries.py are besides: conditions on dimensions of dense arrays and on texts of fixed size, empty strings among
the operands, coordinates of dense arrays as fields, ranges that begin or end at the empty string, several labels, extremes of dates
and texts.

All of it is drawn apart, from a sequence of its own.
"""

import math

import reads_cases
from cases import DATETIMES, FLOATS, INTS, TIMES, Rng
from model import TEXT

# what libtiledb computes extremes of
EXTREMES = INTS + FLOATS + DATETIMES + TIMES
FIXED = ("STRING_ASCII", "STRING_UTF8")


def deepen(queries, schema, seed, number, pools, surely, known, labels, unsure):
    rng = Rng("deeper/%d/%d" % (seed, number))
    dense = schema["array_type"] == "dense"
    fields = surely + fixed_texts(schema, known, {f[0] for f in surely})
    dimensions = places(schema, pools) if dense else []
    for query in queries:
        fewer(query)
        if rng.below(4) == 0 and query["labels"]:
            more_labels(rng, query, schema, labels)
        if query["labels"] and rng.below(4):
            # libtiledb refuses these
            query["condition"] = None
            query["layout"] = "row-major" if query["layout"] == "global-order" else query["layout"]
        if dense and rng.below(3) == 0 and not query["labels"]:
            query["condition"] = emptied(rng, reads_cases.condition(rng, dimensions + rng.sample(fields, 2), 3))
        elif fields and rng.below(6) == 0 and query["timestamps"] == [None, None]:
            query["condition"] = emptied(rng, reads_cases.condition(rng, fields, 4))
        if not dense:
            empty_ends(rng, query, schema, known)
        elif query["names"] and rng.below(3) == 0 and not query["labels"]:
            query["names"] += [d["name"] for d in rng.sample(schema["dimensions"], 2)]
        if query["aggregates"] and rng.below(3) == 0:
            extremes(rng, query, schema, unsure)


def fewer(query):
    """Leaves out ranges of many dimensions: libtiledb takes each combination for a query of its own, and does not end."""
    count = lambda: math.prod(len(r) or 1 for r in query["ranges"])
    while len(query["ranges"]) > 6 and count() > 200:
        longest = max(query["ranges"], key=len)
        del longest[len(longest) // 2:]


def fixed_texts(schema, known, told):
    """As reads_cases.condition_fields, of texts of fixed size."""
    return [(a["name"], a["type"], sorted(set(known[a["name"]])), a.get("nullable"), True) for a in schema["attributes"]
            if a["type"] in FIXED and a["cell_val_num"] != "var" and a["name"] not in told and known.get(a["name"]) and not a.get(
                "enumeration")]


def places(schema, pools):
    """The same, of the dimensions of a dense array."""
    return [(d["name"], d["type"], [bytes.fromhex(x) for x in pool], False, True) for d, pool in zip(schema["dimensions"], pools) if pool]


def emptied(rng, tree, stored=False):
    """The condition, with the empty string in some sets of texts; and, if it is stored, in place of some texts that others are less or
    greater than; unless it is stored, with tests for null of what cannot be."""
    if tree[0] in ("and", "or", "not"):
        return [tree[0]] + [emptied(rng, part, stored) for part in tree[1:]]
    name, op, operand, datatype = tree
    if op in ("in", "not-in") and datatype in TEXT and rng.below(2):
        operand = [""] + operand
    elif stored and op in ("<", "<=", ">", ">=") and datatype in TEXT and rng.below(6) == 0:
        operand = ""
    elif not stored and rng.below(12) == 0:
        op, operand = rng.pick(["==", "!="]), None
    return [name, op, operand, datatype]


def empty_ends(rng, query, schema, known):
    """Ranges from the empty string, and the empty string alone."""
    for d, ranges in zip(schema["dimensions"], query["ranges"]):
        if d["cell_val_num"] != "var" or schema.get("current_domain") or rng.below(4) or not ranges:
            continue
        if rng.below(2):
            ranges[0][0] = ""
        elif b"" in known.get(d["name"], []):
            ranges[0][:] = ["", ""]


def more_labels(rng, query, schema, labels):
    """A range of the label of another dimension."""
    import reads_queries

    label, field = rng.pick(labels)
    mine = {l["name"]: l["dimension"] for l, _ in labels}
    asked = query["labels"][0][0]
    if label["dimension"] == mine[asked]:
        # cells of variable length are cut in the wrong places where ranges overlap
        return
    query["labels"].append(reads_queries.label_range(rng, label, field))
    query["ranges"][label["dimension"]] = []


def extremes(rng, query, schema, unsure):
    sparse = schema["array_type"] == "sparse"
    told = {name for _, name in query["aggregates"]}
    for f in rng.sample((schema["dimensions"] if sparse else []) + schema["attributes"], 2):
        one = f["type"] in EXTREMES and f["cell_val_num"] == 1
        if f["name"] in told | unsure or f.get("enumeration") or not one and (f["type"] != "STRING_ASCII" or f["cell_val_num"] != "var"):
            continue
        query["aggregates"] += [[function, f["name"]] for function in rng.pick([["min"], ["max"], ["min", "max"]])]
