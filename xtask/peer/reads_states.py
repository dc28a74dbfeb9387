"""What is done to the arrays of reads_cases.py besides writing cells: commits, footers and metadata that are consolidated
between writes, vacuums and consolidations that stopped half way, writes of no cells and of one attribute after another, times that are
equal, metadata of all kinds.

All of it is drawn apart, as in reads_wider.py.
"""

import base64
import itertools
import struct

import capi
import model
import reads_cases
import reads_deeper
import wild
from cases import DATETIMES, FLOATS, INTS, READER, TIMES, Rng, b64, gen, vt
from model import cells
from random_cases import BUFFERS
from reads_wider import is_new, of

# of metadata; an empty key is one, too
KEYS = ["", "k", "\u00e4\u20ac", "a b", "100%", "a/b", "x" * 300, "__tiledb", "tab\there", "\U0001F600", "K"]
META_TYPES = INTS + FLOATS + ["CHAR", "STRING_ASCII", "STRING_UTF8", "STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4",
                              "BLOB", "BOOL", "GEOM_WKB", "GEOM_WKT"]


def change(case, seed, number):
    """Changes a case in some ways."""
    rng = Rng("states/%d/%d" % (seed, number))
    ways = [(deletes, 4), (nothing, 10), (apart, 5), (in_order, 5), (same_time, 3), (maintained, 3), (purged, 2), (interrupted, 5),
            (metadata, 3)]
    for way, rarely in ways:
        if rng.below(rarely) == 0:
            way(rng, case)
    return case


def written(case):
    return [i for i, s in enumerate(case["steps"]) if s["op"] == "write"]


def insert(case, at, step):
    """Inserts a step that the library executes which executes the one before."""
    before = case["steps"][at - 1]
    case["steps"].insert(at, dict(step, by=before["by"]) if "by" in before else step)


def release(case, at):
    """The release that executes what is inserted at a place."""
    by = case["steps"][at - 1].get("by", "writer")
    return vt(READER if by == "reader" else case["lib"])


def consolidation(case, mode, **more):
    config = {"sm.consolidation.mode": mode, **more}
    if mode == "fragments":
        config.update(BUFFERS)
        if case["schema"]["array_type"] == "dense":
            config["sm.consolidation.amplification"] = "100"
    return {"op": "consolidate", "config": config}


def vacuum(mode):
    return {"op": "vacuum", "config": {"sm.vacuum.mode": mode}}


# -- maintenance -----------------------------------------------------------------------------------------------------------


def maintained(rng, case):
    """Consolidates and vacuums something between the writes, or behind them, several times."""
    for _ in range(rng.between(1, 3)):
        at = written(case)
        if not at:
            return
        place = rng.pick([i + 1 for i in at] + [len(case["steps"])])
        modes = ["fragments", "fragment_meta"] + (["commits"] * 2 if release(case, place) >= (2, 8) else [])
        mode = rng.pick(modes)
        deleted = [i for i, s in enumerate(case["steps"]) if s["op"] == "delete_fragments"]
        if mode == "fragments" and deleted and place <= deleted[0]:
            mode = "fragment_meta"
        # a list of commits that is not vacuumed, and then a vacuum of fragments, is an array that libtiledb cannot open
        if rng.below(3) and mode != "fragments" or mode == "fragments" and rng.below(2):
            insert(case, place, vacuum(mode))
        insert(case, place, consolidation(case, mode))


def purged(rng, case):
    """Consolidations leave out the cells that were deleted."""
    for step in of(case, "consolidate"):
        if step["config"].get("sm.consolidation.mode") == "fragments" and of(case, "delete") and is_new(case):
            step["config"]["sm.consolidation.purge_deleted_cells"] = "true"


def interrupted(rng, case):
    """A consolidation or a vacuum ends half way, or a write does. What was written before the last write may be meant."""
    at = written(case)
    if not at or of(case, "delete_fragments"):
        return
    place = rng.pick([len(case["steps"]), at[-1] if len(at) > 2 else len(case["steps"])])
    kind = rng.pick(["commits", "commits", "folders", "folders", "vacuum file", "unlisted", "torn"])
    done = [s for s in case["steps"][:place] if s["op"] in ("consolidate", "vacuum")]
    insert(case, place, {"op": "interrupt", "kind": kind, "salt": rng.below(1 << 30)})
    modes = [(s["op"], s["config"].get("sm.%s.mode" % ("vacuum" if s["op"] == "vacuum" else "consolidation"))) for s in done]
    if kind != "torn" and (not modes or modes[-1] != ("consolidate", "fragments")):
        insert(case, place, consolidation(case, "fragments"))
    if rng.below(4) == 0:
        # somebody goes on with it
        insert(case, len(case["steps"]), vacuum("fragments"))


# -- writes ------------------------------------------------------------------------------------------------------------------


def deletes(rng, case):
    """Deletes by conditions on every kind of field, one or several, at any time."""
    schema, steps = case["schema"], case["steps"]
    if schema["array_type"] == "dense" or not written(case) or not is_new(case):
        return
    unsure = {n for s in of(case, "evolve") for n in s.get("drop", []) + [a["name"] for a in s.get("add", [])]}
    fields = [dict({"cell_val_num": "var" if f["type"] == "STRING_ASCII" else 1}, **f) for f in schema["dimensions"] + schema["attributes"]
              if f["name"] not in unsure]
    known = {f["name"]: [c for s in of(case, "write") for c in cells(s["fields"][f["name"]], wild.width(f))] for f in fields}
    sparse = {"array_type": "sparse", "dimensions": [], "attributes": fields, "enumerations": schema.get("enumerations", [])}
    can = reads_cases.condition_fields(sparse, known) + reads_deeper.fixed_texts(sparse, known, set())
    # stored conditions cannot ask for null
    can = [f[:3] + (False,) + f[4:] for f in can if f[2]]
    for _ in range(rng.pick([1, 1, 2, 4]) if can else 0):
        at = rng.pick(written(case) + [len(steps)])
        t = steps[at - 1].get("t", 0) + rng.below(3)
        if at == len(steps) or not steps[at - 1].get("t"):
            t = max(s.get("t", 0) for s in steps) + rng.below(5)
        if t < wild.FUTURE:
            insert(case, at, {"op": "delete", "t": t, "condition": reads_deeper.emptied(rng, reads_cases.condition(rng, can, 3), True)})


def in_order(rng, case):
    """Writes cells of a sparse array in global order, in several parts. Where they turn out to be in another order, they are refused."""
    schema = case["schema"]
    if schema["array_type"] == "dense" or schema["cell_order"] == "hilbert" or not is_new(case):
        return
    dimensions = schema["dimensions"]
    for step in of(case, "write"):
        columns = [cells(step["fields"][d["name"]], capi.size_of(d["type"])) for d in dimensions]
        count = len(columns[0])
        if step.get("apart") or not count or rng.below(2):
            continue
        places = [tuple(model.value(d, c) for d, c in zip(dimensions, cell)) for cell in zip(*columns)]
        turned = lambda order, cell: cell[::-1] if schema[order] == "col-major" else cell
        key = lambda i: (turned("tile_order", [tile(d, v) for d, v in zip(dimensions, places[i])]), turned("cell_order", places[i]))
        order = sorted(range(count), key=key)
        for name, f in step["fields"].items():
            size = 0 if "offsets" in f else len(base64.b64decode(f["data"])) // count
            own = cells(f, size)
            f["data"] = b64(b"".join(own[i] for i in order))
            if "offsets" in f:
                starts = itertools.accumulate([0] + [len(own[i]) for i in order[:-1]])
                f["offsets"] = b64(struct.pack("<%dQ" % count, *starts))
            if "validity" in f:
                valid = base64.b64decode(f["validity"])
                f["validity"] = b64(bytes(valid[i] for i in order))
        step["layout"] = "global-order"
        step["parts"] = sorted({rng.between(1, count) for _ in range(rng.below(4))} | {count})


def tile(d, v):
    """The number of the space tile of a coordinate."""
    if not d.get("tile_extent") or not d.get("domain"):
        return 0
    lo, extent = (model.value(d, bytes.fromhex(x)) for x in (d["domain"][0], d["tile_extent"]))
    return int((v - lo) // extent)


def nothing(rng, case):
    """Writes no cells to a sparse array: what is left is a folder without a commit."""
    schema = case["schema"]
    at = written(case)
    if schema["array_type"] == "dense" or not at or not is_new(case):
        return
    place = rng.pick(at)
    like = case["steps"][place]
    fields = {name: {part: "" for part in f} for name, f in like["fields"].items()}
    step = dict(like, fields=fields, t=like["t"] - 1)
    case["steps"].insert(place, step)


def apart(rng, case):
    """Writes the attributes of sparse cells one after another."""
    if case["schema"]["array_type"] == "dense" or not is_new(case):
        return
    for step in of(case, "write"):
        if rng.below(2) and len(step["fields"]) > len(case["schema"]["dimensions"]) and any(
                f["data"] for f in step["fields"].values()):
            step["apart"] = True


def same_time(rng, case):
    """Deletes, or evolves the schema, at the very time of a write."""
    times = sorted({s["t"] for s in of(case, "write")})
    if not times or times[-1] >= wild.FUTURE:
        return
    for step in case["steps"]:
        if step["op"] == "delete" and rng.below(2):
            step["t"] = rng.pick(times)
    order = [s for s in case["steps"] if s["op"] in ("evolve", "write", "create")]
    for before, step in zip(order, order[1:]):
        # not before what was there: schemas are ordered by time
        if step["op"] == "evolve" and before["op"] == "write" and before["t"] < step["t"] and rng.below(2):
            step["t"] = before["t"]


# -- metadata ----------------------------------------------------------------------------------------------------------------


def value(rng):
    """A value of some type: {"type", "num", "value"}; sometimes of no values, or of many."""
    kind = rng.pick(META_TYPES + DATETIMES + TIMES)
    num = rng.pick([0, 1, 1, 2, 7, 1000])
    if rng.below(6) == 0:
        num = rng.pick([300_000, 70_000]) // capi.size_of(kind)
    data = gen(rng, kind, min(num, 997))
    size = num * capi.size_of(kind)
    data = (data * (size // max(1, len(data)) + 1))[:size]
    return {"type": kind, "num": num, "value": b64(data)}


def metadata(rng, case):
    """Metadata of all types and sizes, put, deleted and put again between the writes, and consolidated."""
    if not is_new(case):
        return
    times = {s["t"] for s in case["steps"] if s.get("t")}
    keys = rng.sample(KEYS, rng.between(1, 5))
    for _ in range(rng.between(2, 6)):
        place = rng.between(1, len(case["steps"]))
        base = rng.pick(sorted(times))
        t = base + rng.below(3)
        if t >= wild.FUTURE:
            continue
        chosen = rng.sample(keys, rng.between(1, len(keys)))
        puts = [dict({"key": key}, **value(rng)) for key in chosen if rng.below(4)]
        gone = [key for key in chosen if all(p["key"] != key for p in puts)]
        insert(case, place, {"op": "meta", "t": t, "puts": puts, "deletes": gone})
    if rng.below(2):
        place = rng.between(max(1, len(case["steps"]) - 3), len(case["steps"]))
        if rng.below(2):
            insert(case, place, vacuum("array_meta"))
        insert(case, place, consolidation(case, "array_meta"))
