"""Random cases within what a release can do, reproducible from a seed.

    python3 random_cases.py --version 2.30.0 --seed 1 --count 50 --out CASES.json
    python3 random_cases.py --version 2.30.0 --seed 1 --count 50 --run DIR

The first form only writes the list of cases (see cases.py). The second also has every case written by that release and
read by 2.30, one process each, into DIR/arrays/<version>/<case> and DIR/expected/<version>/<case>.json, as in
xtask/fixtures. Case number i depends on the version, the seed and i only.
"""

import argparse
import json
import os
import subprocess
import sys

import capi
import fetch
import model
import wild
from cases import (DATETIMES, FLOATS, INTS, LIMITS, READER, TIMES, WORDS, Rng, attr, dim, flt, hx, vt)
from wild import compressor

# by default as much memory as there is, all of it cleared
BUFFERS = {"sm.consolidation.buffer_size": "10000000"}
WIDE = ["STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4"]
STRUCTURAL = ["byteshuffle", "bitshuffle", "rle", "none"]


def pipeline(rng, version, datatype, var):
    """Filters that the release accepts for a field of this type."""
    n = vt(version)
    integer = datatype in INTS or datatype.startswith(("DATETIME", "TIME_"))
    out = []
    kind = rng.below(10)
    if kind == 0:
        return None
    if kind > 7:
        kinds = STRUCTURAL + sorted(wild.LEVELS) + (["bit_width_reduction"] if integer else [])
        # strings of variable length have a run-length encoding of their own, which stands alone up to 2.11
        return wild.chain(rng, version, [k for k in kinds if k != "rle" or not var or not datatype.startswith("STRING_")])
    if kind == 1 and integer:
        out.append(flt("bit_width_reduction", bit_width_max_window=rng.pick([16, 64, 256])))
    elif kind == 2 and datatype in FLOATS and not var and n >= (2, 17):
        out.append(flt("xor"))
    elif kind == 3 and integer and not var:
        return [flt("double_delta", level=-1)] + ([compressor(rng)] if rng.below(2) else [])
    elif kind == 4 and n >= (2, 17) and datatype in ("STRING_ASCII", "STRING_UTF8") and var:
        return [flt(rng.pick(["rle", "dictionary"]), level=-1)] + ([compressor(rng)] if rng.below(2) else [])
    elif kind == 5 and not var:
        return [flt("rle", level=-1)] + ([compressor(rng)] if rng.below(2) else [])
    elif kind == 6:
        out.append(flt(rng.pick(["byteshuffle", "bitshuffle"])))
    if rng.below(3):
        out.append(compressor(rng))
    if n >= (1, 7) and rng.below(6) == 0:
        out.append(flt(rng.pick(["checksum_md5", "checksum_sha256"])))
    return out or None


def dimensions(rng, version, dense, times, edges):
    """Dimensions, and the ends of where cells are: None where a type has no end."""
    n = vt(version)
    types = [t for t in INTS + ["DATETIME_DAY", "DATETIME_MS"]] + ([] if dense else FLOATS)
    if times > 1:
        types = [t for t in types if not t.endswith("INT8")]
    if edges and not dense and n >= (2, 0):
        types = types + FLOATS + ["STRING_ASCII"] * 3
    rank = rng.pick([1, 1, 2, 2, 2, 3]) if times > 1 or rng.below(5) else rng.pick([3, 4, 4, 6])
    one = rng.pick(types)
    dims, ends = [], []
    for k in range(rank):
        t = one if dense or n < (2, 0) or rng.below(2) else rng.pick(types + ["STRING_ASCII"])
        size = [40, 13, 6, 4, 3, 3][rank - 1] if dense else rng.pick([20, 60, 100])
        size = rng.between(max(1, size // 3), size)
        if times > 1:
            size = int(size * times ** (1 / rank))
        name = "d%d" % k
        if edges and rng.below(4):
            d, end = wild.dimension(rng, version, dense, name, t, size)
        elif t in FLOATS:
            lo = float(rng.between(-20, 20))
            d, end = dim(name, t, lo, lo + size, max(1.0, size / 4.0)), None
        elif t == "STRING_ASCII":
            d, end = dim(name, t, 0, 0, None), None
        else:
            low, _ = LIMITS.get(t, LIMITS["INT64"])
            lo = rng.between(max(low, -30), 20)
            # older releases refuse signed domains that end below zero
            hi = max(lo + size - 1, 0)
            d, end = dim(name, t, lo, hi, rng.between(1, hi - lo + 1)), (lo, hi)
        dims.append(d)
        ends.append(end)
    return dims, ends


def attributes(rng, version, large):
    n = vt(version)
    kinds = INTS + FLOATS + DATETIMES + ["CHAR", "STRING_ASCII", "STRING_UTF8", rng.pick(WIDE)] + (TIMES if n >= (2, 3) else []) + (
        ["BLOB", "BOOL"] if n >= (2, 10) else [])
    attrs = []
    for k in range(rng.between(1, 2 if large else 4)):
        t = rng.pick(kinds)
        cvn = rng.pick([1, 1, 1, 2, 3, "var", "var"] if t not in ("STRING_ASCII", "STRING_UTF8") else ["var", "var", "var", 1, 3])
        if large and k == 0:
            # cells wider than a chunk, or nearly as wide
            cvn = rng.pick(["var", 65536 // capi.size_of(t) - 1, 9000]) if cvn != "var" else cvn
        a = attr("a%d" % k, t, cvn, n >= (2, 2) and rng.below(3) == 0, pipeline(rng, version, t, cvn == "var"),
                 profile=rng.pick(["mixed", "small", "runs"]))
        if n >= (2, 1) and cvn == 1 and (t in INTS) and rng.below(4) == 0 and not a["nullable"]:
            a["fill"] = hx(t, 7)
        if any(f["type"] == "double_delta" for f in a.get("filters") or []):
            a["profile"] = "small"  # it refuses differences of differences that overflow
        if not large and rng.below(6) == 0:
            # at least a cell, or an offset; beside the default of 64 KiB
            a["max_chunk_size"] = max(8, wild.width(a)) * rng.pick([1, 3, 100]) + rng.pick([0, 0, 5]) if rng.below(2) else rng.pick([1000, 1 << 20, 0, (1 << 32) - 1])
        attrs.append(a)
    return attrs


def how_cells_are(rng, large):
    """What the cells of a write are like: words, lengths, how many are null or empty."""
    if large:
        return rng.pick([{"lengths": (0, 30000)}, {"lengths": (66000, 70000)}, {"lengths": (0, 9)}])
    return rng.pick([{"words": WORDS}, {"words": WORDS}, {}, {}, {}, {"words": [""], "null_rate": 1}, {"null_rate": 1},
                     {"lengths": (0, 0)}, {"lengths": (0, 90)}])


def random_case(version, seed, i, times=1):
    """Case i of a seed; with `times`, of about so many times as many cells."""
    n = vt(version)
    rng = Rng("%s/%d/%d" % (version, seed, i))
    dense = rng.below(2) == 0
    edges = times == 1 and rng.below(2) == 0
    large = times == 1 and rng.below(30) == 0
    dims, ends = dimensions(rng, version, dense, times, edges)
    schema = {"tile_order": rng.pick(["row-major", "col-major"]), "cell_order": rng.pick(["row-major", "col-major"])}
    if not dense:
        schema["capacity"] = rng.pick([1, 2, 5, 10, 10000])
        if n >= (2, 0):
            schema["allows_dups"] = rng.below(3) == 0
        if n >= (2, 2) and rng.below(6) == 0:
            schema["cell_order"] = "hilbert"
    for which in ("coords", "offsets", "validity"):
        if rng.below(3) == 0 and (which != "validity" or n >= (2, 6)):
            schema[which + "_filters"] = wild.chain(rng, version, sorted(wild.LEVELS) + STRUCTURAL[:2] + (
                ["rle", "bit_width_reduction"] if which != "coords" else []))
    attrs = attributes(rng, version, large)
    c = wild.WildCase(version, "random_%d_%d" % (seed, i), ["random"], dims, attrs, dense, **schema)
    c.rng, c.wild = rng, edges
    writes(rng, c, ends, times, large)
    t = max([s.get("t", 0) for s in c.d["steps"]])
    if n >= (2, 12) and not dense and rng.below(3) == 0:
        numeric = [a for a in attrs if a["type"] in INTS and a["cell_val_num"] == 1 and not a["nullable"]]
        if numeric:
            a = rng.pick(numeric)
            c.step("delete", t=t + 3, condition=[a["name"], rng.pick(["<", ">=", "=="]), hx(a["type"], rng.below(50))])
    if n >= (2, 0) and rng.below(4) == 0 and sum(s["op"] == "write" for s in c.d["steps"]) > 1:
        c.consolidate(**dict(BUFFERS, **({"sm.consolidation.amplification": "100"} if dense else {})))
        if rng.below(2):
            c.vacuum()
    queries(rng, c, ends)
    return c.done()


def writes(rng, c, ends, times, large):
    """The writes of a case, in a few of which nothing is written."""
    n, old, t = vt(c.v), [], 0
    count = rng.between(1, 5) if rng.below(30) else 0
    for _ in range(count):
        t += rng.between(1, 9)
        how = how_cells_are(rng, large)
        if c.schema["array_type"] == "dense":
            box = []
            for lo, hi in ends:
                if large:
                    hi = min(hi, lo + (3 if len(ends) == 1 else 1))
                a = rng.pick([lo, rng.between(lo, hi), rng.between(lo, hi)])
                box.append([a, rng.pick([hi, rng.between(a, hi), rng.between(a, hi)])])
            c.dense(t, box, rng.pick(["row-major", "col-major"]), **how)
        else:
            dups = c.schema.get("allows_dups", False)
            coords = c.coords(rng.between(1, 6 if large else 40) * times, dups=dups)
            again = [x for x in rng.sample(old, rng.below(8)) if x not in coords]
            c.sparse(t, coords + again, **how)
            old += [x for x in coords if x not in old]
        if n >= (1, 7) and rng.below(3) == 0:
            key = "k%d" % rng.below(3)
            c.meta(t + 1, [(key, "INT32", [rng.below(100)])] if rng.below(3) else [], [] if rng.below(2) else ["k9"])
            t += 1


def queries(rng, c, ends):
    """Three queries with a range of each dimension, between coordinates of cells or anywhere."""
    dense = c.schema["array_type"] == "dense"
    known = [w for w in model.Model(c.d).writes if w.box is None]
    for _ in range(3):
        ranges = []
        for k, (d, end) in enumerate(zip(c.dims, ends)):
            own = sorted({x[k] for w in known for x in w.coordinates}, key=lambda x, d=d: model.value(d, x))
            if own and rng.below(3):
                near = [x for cell in rng.sample(own, 2) for x in wild.beside(d, cell)]
                pair = sorted([rng.pick(near or own), rng.pick(near or own)], key=lambda x, d=d: model.value(d, x))
                ranges.append([x.hex() for x in pair] if all(pair) else None)
            elif end is None:
                ranges.append(None)
            else:
                a = rng.between(*end)
                ranges.append([hx(d["type"], a), hx(d["type"], rng.between(a, end[1]))])
        layouts = ["row-major", "col-major", "global-order"] if dense else ["unordered", "row-major", "global-order"]
        c.d["queries"].append({"kind": "subarray", "ranges": ranges, "layout": rng.pick(layouts)})


def run(version, chosen, folder):
    libraries = {v: fetch.fetch(v) for v in (version, READER)}
    here = os.path.dirname(os.path.abspath(__file__))
    arrays, expected = (os.path.join(folder, d, version) for d in ("arrays", "expected"))
    counts = {"good": 0, "refused": 0, "unreadable": 0, "crashed": 0}
    os.makedirs(os.path.join(folder, "cases", version), exist_ok=True)
    for case in chosen:
        path = os.path.join(folder, "cases", version, case["name"] + ".json")
        with open(path, "w") as handle:
            json.dump(case, handle)
        outcome = "good"
        for script, lib, more in (("write.py", libraries[version], ["--out", arrays]),
                                  ("expect.py", libraries[READER], ["--arrays", arrays, "--out", expected])):
            done = subprocess.run([sys.executable, os.path.join(here, script), "--lib", lib, "--case", path] + more,
                                  stderr=subprocess.PIPE, text=True)
            if done.returncode:
                outcome = "crashed" if done.returncode != 1 else "refused" if script == "write.py" else "unreadable"
                print(case["id"], outcome, script, done.returncode, done.stderr.strip()[-300:], file=sys.stderr)
                break
        counts[outcome] += 1
    print(json.dumps(counts))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True, choices=list(fetch.PEERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--out")
    parser.add_argument("--run")
    args = parser.parse_args()
    chosen = [random_case(args.version, args.seed, i) for i in range(args.count)]
    if args.out:
        with open(args.out, "w") as handle:
            json.dump(chosen, handle)
    if args.run:
        run(args.version, chosen, args.run)


if __name__ == "__main__":
    main()
