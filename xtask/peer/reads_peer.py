"""The libtiledb side of `cargo xtask conform reads`.

    python3 reads_peer.py --lib LIBTILEDB.so --arrays DIR --seed S --cases N [--queries Q] [--skip K] [--only CASE]

Case i is an array of a random schema and a random history (reads_cases.py), which the library, or an older one before it,
writes to DIR/<i>, and random queries of it (reads_queries.py). What goes on is told in lines of JSON, so that after a crash it is known what crashed:

    {"case": i, "doing": text}                          before whatever may crash
    {"case": i, "refused": text}                        the library does not write this array
    {"case": i, "key", "schema", "steps", "queries": [...], "facts", "fragments"}    what it reads: see `ask` and
                                                        reads_facts.py
"""

import argparse
import ctypes as C
import itertools
import json
import os
import signal
import struct
import subprocess
import sys
from collections import Counter

import capi
import expect
import fetch
import model
import reads_cases
import reads_facts
import reads_queries
import write
from cases import READER
from reads_ranges import bounded, closed, merged

expect.BUFFER = 1 << 21
SECONDS = 120
OPERATORS = {"sum": "sum", "min": "min", "max": "max", "mean": "mean", "null_count": "null_count"}


class Ranges(expect.Reader):
    """A reader whose queries may have several ranges, a condition, and fewer fields."""

    def ask(self, array, schema, query, ranges):
        lib = self.lib
        subset = dict(schema)
        wanted = lambda fields: [f for f in fields if query["names"] is None or f["name"] in query["names"]]
        sparse = schema["array_type"] == "sparse"
        if query["names"] is not None:
            # Reader.query reads the dimensions of sparse arrays and all attributes: as many as are left here
            own = wanted(schema["dimensions"])
            subset["dimensions"], subset["attributes"] = own if sparse else [], ([] if sparse else own) + wanted(
                schema["attributes"])
        handle = {}
        call = lib.call

        def hook(name, *args):
            if name == "query_set_layout":
                handle["query"] = args[0]
                self.restrict(array, args[0], schema, query, ranges)
            return call(name, *args)

        lib.call = hook
        try:
            return self.query(array, subset, query["layout"], None)
        finally:
            del lib.call

    def restrict(self, array, handle, schema, query, ranges):
        lib = self.lib
        if query["condition"]:
            lib.call("query_set_condition", handle, lib.condition(query["condition"]))
        if any(ranges) or query["labels"]:
            sub = lib.new("subarray_alloc", array)
            for name, kind, lo, hi in query["labels"]:
                lo, hi = bytes.fromhex(lo), bytes.fromhex(hi)
                if kind == "STRING_ASCII":
                    lib.call("subarray_add_label_range_var", sub, name.encode(), capi.cbytes(lo), capi.u64(len(lo)),
                             capi.cbytes(hi), capi.u64(len(hi)))
                else:
                    lib.call("subarray_add_label_range", sub, name.encode(), capi.cbytes(lo), capi.cbytes(hi), None)
            for i, (several, d) in enumerate(zip(ranges, schema["dimensions"])):
                for lo, hi in several or []:
                    lo, hi = bytes.fromhex(lo), bytes.fromhex(hi)
                    if d["cell_val_num"] == "var":
                        lib.call("subarray_add_range_var", sub, capi.u32(i), capi.cbytes(lo), capi.u64(len(lo)),
                                 capi.cbytes(hi), capi.u64(len(hi)))
                    else:
                        lib.call("subarray_add_range", sub, capi.u32(i), capi.cbytes(lo), capi.cbytes(hi), None)
            lib.call("query_set_subarray_t", handle, sub)
            lib.dll.tiledb_subarray_free(C.byref(sub))

    def aggregates(self, array, schema, query, ranges):
        """The values of aggregates: hex, or None where there is none."""
        lib = self.lib
        handle = lib.new("query_alloc", array, capi.READ)
        lib.call("query_set_layout", handle, capi.LAYOUTS["row-major" if schema["array_type"] == "dense" else "unordered"])
        self.restrict(array, handle, schema, query, ranges)
        channel = lib.new("query_get_default_channel", handle)
        fields = {f["name"]: f for f in schema["dimensions"] + schema["attributes"]}
        keep = []
        for i, (function, name) in enumerate(query["aggregates"]):
            if name is None:
                operation = lib.new("aggregate_count_get")
            else:
                operator = lib.new("channel_operator_%s_get" % OPERATORS[function])
                operation = lib.new("create_unary_aggregate", handle, operator, name.encode())
            out = "out%d" % i
            lib.call("channel_apply_aggregate", channel, out.encode(), operation)
            f = fields.get(name)
            own = function in ("min", "max")
            var = own and f["cell_val_num"] == "var"
            size = 1 << 12 if var else capi.size_of(f["type"]) if own else 8
            nullable = name is not None and f.get("nullable") and function != "null_count"
            bufs = [capi.cbytes(bytes(size)), C.c_uint64(size), None, None, None, None]
            if var:
                bufs[2:4] = [capi.cbytes(bytes(8)), C.c_uint64(8)]
            if nullable:
                bufs[4:6] = [capi.cbytes(bytes(1)), C.c_uint64(1)]
            keep.append(bufs)
            lib.set_buffers(handle, out, *bufs)
        lib.call("query_submit", handle)
        status = lib.get(C.c_int, "query_get_status", handle)
        lib.dll.tiledb_query_free(C.byref(handle))
        if status != 1:
            raise capi.TileDBError("the query did not complete: status %d" % status)
        valid = lambda b: b[4] is None or C.string_at(b[4], 1) != b"\0"
        return [C.string_at(b[0], b[1].value).hex() if valid(b) else None for b in keep]


def number(datatype, data):
    return expect.unpack(datatype, data)


def written(reader, uri, schema, query, ranges):
    """Which cells of a dense query, in row-major order, some fragment in its time window has."""
    lib, types = reader.lib, [d["type"] for d in schema["dimensions"]]
    start, end = query["timestamps"]
    boxes = []
    info = lib.new("fragment_info_alloc", uri.encode())
    lib.call("fragment_info_load", info)
    for i, fragment in enumerate(reader.fragments(uri)):
        first, last = fragment["timestamps"]
        if first < (start or 0) or end is not None and last > end:
            continue
        box = []
        for k, t in enumerate(types):
            size = capi.size_of(t)
            buf = capi.cbytes(bytes(2 * size))
            lib.call("fragment_info_get_non_empty_domain_from_index", info, capi.u32(i), capi.u32(k), buf)
            raw = C.string_at(buf, 2 * size)
            box.append((expect.unpack(t, raw[:size]), expect.unpack(t, raw[size:])))
        boxes.append(box)
    lib.dll.tiledb_fragment_info_free(C.byref(info))
    axes = []
    for t, several in zip(types, ranges):
        ends = [[expect.unpack(t, bytes.fromhex(x)) for x in r] for r in several]
        axes.append([v for lo, hi in ends for v in range(lo, hi + 1)])
    inside = lambda cell, box: all(lo <= v <= hi for v, (lo, hi) in zip(cell, box))
    return [any(inside(cell, box) for box in boxes) for cell in itertools.product(*axes)]


def truth(reader, array, uri, schema, query, ranges, told):
    """The aggregates by what was written, or by the cells that the library returns itself; None where there is no value."""
    sparse = schema["array_type"] == "sparse"
    table = told.table(schema, dict(query, ranges=ranges, layout="row-major"))
    right = told.whole_answer(schema, dict(query, ranges=ranges, layout="row-major", names=None, condition=None))
    # consolidation writes fill values around what was written, and they count from then on
    if table and right and (not query["condition"] if sparse else not told.consolidated):
        columns, count = right
        chosen = [s is not None for s in table[1]]
        if query["condition"]:
            if told.lacking(schema, query["timestamps"], model.tested(query["condition"])):
                return None
            fields = coordinates(schema, dict(query, layout="row-major"), ranges) | columns
            chosen = [c and model.holds(schema, query["condition"], {n: x[i] for n, x in fields.items()})
                      for i, c in enumerate(chosen)]
        return values(schema, query, columns, count, chosen)
    if sparse and query["condition"]:
        right = told.whole_answer(schema, dict(query, ranges=ranges, layout="row-major", names=None))
        if right:
            columns, count = right
            return values(schema, query, columns, count, [True] * count)
    plain = dict(query, layout="unordered" if sparse else "row-major", names=None)
    if not sparse:
        plain["condition"] = None
        if not all(fragment["dense"] for fragment in reader.fragments(uri)):
            return None
    count, fields = reader.ask(array, schema, plain, ranges)
    chosen = [True] * count if sparse else written(reader, uri, schema, query, ranges)
    if query["condition"] and not sparse:
        columns = coordinates(schema, plain, ranges) | {n: expect.nulls(reader, e, count) for n, e in fields.items()}
        chosen = [c and model.holds(schema, query["condition"], {n: x[i] for n, x in columns.items()})
                  for i, c in enumerate(chosen)]
    return values(schema, query, {n: expect.nulls(reader, e, count) for n, e in fields.items()}, count, chosen)


def values(schema, query, columns, count, chosen):
    """The aggregates of the chosen cells; the count is of all cells, if there is no condition."""
    out = []
    for function, name in query["aggregates"]:
        if name is None:
            out.append(struct.pack("<Q", sum(chosen) if query["condition"] else count).hex())
            continue
        f = next(f for f in schema["dimensions"] + schema["attributes"] if f["name"] == name)
        some = [c for c, good in zip(columns[name], chosen) if good and c is not None]
        if function == "null_count":
            out.append(struct.pack("<Q", sum(chosen) - len(some)).hex())
        elif not some:
            # a sum of nothing is 0
            out.append(None if function != "sum" or f.get("nullable") else bytes(8).hex())
        elif f["cell_val_num"] == "var":
            out.append((min if function == "min" else max)(some).hex())
        else:
            values = [(number(f["type"], c), c) for c in some]
            real = f["type"].startswith("FLOAT")
            if function in ("min", "max"):
                ordered = [v for v in values if v[0] == v[0]] or values[:1]
                out.append((min if function == "min" else max)(ordered, key=lambda v: v[0])[1].hex())
            else:
                total = sum(v for v, _ in values)
                if function == "mean":
                    out.append(struct.pack("<d", total / len(values)).hex())
                elif real:
                    out.append(struct.pack("<d", total).hex())
                else:
                    lo, hi = (0, 2 ** 64 - 1) if f["type"].startswith("U") else (-2 ** 63, 2 ** 63 - 1)
                    out.append(struct.pack("<Q", max(lo, min(hi, total)) % 2 ** 64).hex())
    return out


def one_by_one(reader, array, schema, query, ranges):
    """The columns of a dense query, put together of what the library returns for one range in row-major order."""
    value = lambda d, x: expect.unpack(d["type"], bytes.fromhex(x))
    values = lambda ranges: [[[value(d, x) for x in r] for r in several] for d, several in zip(schema["dimensions"], ranges)]
    box = [[[min((lo for lo, _ in r), key=lambda x: value(d, x)), max((hi for _, hi in r), key=lambda x: value(d, x))]]
           for d, r in zip(schema["dimensions"], ranges)]
    count, fields = reader.ask(array, schema, dict(query, names=None, condition=None, layout="row-major"), box)
    at = {cell: i for i, cell in enumerate(model.places(schema, "row-major", values(box)))}
    wanted = [at[cell] for cell in model.places(schema, query["layout"], values(ranges))]
    columns = {n: expect.nulls(reader, e, count) for n, e in fields.items()}
    return {n: [c[i] for i in wanted] for n, c in columns.items()}, len(wanted)


def coordinates(schema, query, ranges):
    """The coordinates of a dense query's cells, which conditions may be about: {name: cells}."""
    if schema["array_type"] == "sparse" or query["labels"]:
        return {}
    value = lambda d, x: expect.unpack(d["type"], bytes.fromhex(x))
    ends = [[[value(d, x) for x in r] for r in several] for d, several in zip(schema["dimensions"], ranges)]
    return model.along(schema, model.places(schema, query["layout"], ends))


def by_model(reader, array, schema, query, ranges):
    """The cells that satisfy the query's condition, if it has one, among those that the library returns without it."""
    if query.get("mixed"):
        columns, count = one_by_one(reader, array, schema, query, ranges)
    else:
        count, fields = reader.ask(array, schema, dict(query, names=None, condition=None), ranges)
        columns = {n: expect.nulls(reader, e, count) for n, e in fields.items()}
    condition, axes = query["condition"], coordinates(schema, query, ranges)
    good = [not condition or model.holds(schema, condition, {n: c[i] for n, c in (axes | columns).items()}) for i in range(count)]
    names = [n for n in columns if query["names"] is None or n in query["names"]]
    if schema["array_type"] == "sparse":
        return {n: [c for c, g in zip(columns[n], good) if g] for n in names}
    fill = {a["name"]: None if a["nullable"] and not a["fill_valid"] else bytes.fromhex(a["fill"]) for a in schema["attributes"]}
    own = {n: axes[n] for n in axes if query["names"] and n in query["names"]}
    return own | {n: [c if g else fill[n] for c, g in zip(columns[n], good)] for n in names}


def add_model(reader, array, schema, query, ranges, count, fields):
    """Adds "model" if the library's answer is not what follows from its own cells."""
    say_model(reader, schema, query, by_model(reader, array, schema, query, ranges), count, fields)


def say_model(reader, schema, query, right, count, fields):
    """Adds "model", columns, if the library's answer is another."""
    rows = lambda columns: list(zip(*columns))
    told = [rows(expect.nulls(reader, e, count) for e in fields.values()), rows(right.values())]
    if schema["array_type"] == "sparse":
        told = [Counter(rows) for rows in told]
    if told[0] == told[1]:
        return
    out = {}
    for n, column in right.items():
        cells = [c or b"" for c in column]
        if "offsets" not in fields[n]:
            size = capi.size_of(fields[n]["type"]) * fields[n]["cell_val_num"]
            cells = [c or bytes(size) for c in cells]
        out[n] = {"type": fields[n]["type"], "data": b"".join(cells)}
        if "offsets" in fields[n]:
            out[n]["offsets"] = struct.pack("<%dQ" % len(cells), *(sum(map(len, cells[:i])) for i in range(len(cells))))
        if "validity" in fields[n]:
            out[n]["validity"] = bytes(c is not None for c in column)
    query["model"] = shown(len(next(iter(right.values()))), out)


def add_inside(reader, array, schema, query, ranges, count, fields):
    """Adds "model" if the library returns cells of a sparse array that lie in none of several string ranges."""
    several = [i for i, (r, d) in enumerate(zip(ranges, schema["dimensions"])) if d["cell_val_num"] == "var" and len(r) > 1]
    if not several:
        return
    _, whole = reader.ask(array, schema, dict(query, names=None), ranges)
    columns = {n: expect.nulls(reader, e, count) for n, e in whole.items()}
    ends = {schema["dimensions"][i]["name"]: [tuple(map(bytes.fromhex, r)) for r in ranges[i]] for i in several}
    good = [all(any(lo <= columns[n][i] <= hi for lo, hi in r) for n, r in ends.items()) for i in range(count)]
    if not all(good):
        right = {n: [c for c, g in zip(columns[n], good) if g] for n in fields}
        say_model(reader, schema, query, right, count, fields)


def add_written(reader, schema, query, right, count, fields):
    """Adds "model", the columns that were written, if the library's answer is another; it may have none."""
    columns, total = right
    names = list(fields) if fields else list(columns)
    if fields and not model.differs(schema, query, columns, {n: expect.nulls(reader, e, count) for n, e in fields.items()}, names):
        return
    query["written"] = True
    query["model"] = {"cells": total, "fields": model.encoded(schema, {n: columns[n] for n in names}, total)}


def shown(count, fields):
    return {"cells": count, "fields": {n: {k: expect.b64(v) if isinstance(v, bytes) else v for k, v in e.items()}
                                       for n, e in fields.items()}}


def ask(reader, uri, query, told):
    """Adds to a query what the library answers: "cells" and "fields" in the layout of expect.py, or "values" and
    "truth" of aggregates, or "refused". "repeats": it returns cells twice that are in several ranges. "model": the right
    answer, if the library's is another or none. That is what the steps of the case say (`told`, a Model) where these decide;
    else, cells that satisfy the condition among those that it returns without; of a dense array with sparse fragments
    ("mixed"), those that it returns in one range; of a sparse array, those that lie in the ranges. "rules": the known
    faults that the query may meet by schema and history."""
    lib = reader.lib
    start, end = query["timestamps"]
    array = lib.open(uri, capi.READ, end, start)
    right = schema = None
    try:
        schema = reader.schema(array)
        sparse = schema["array_type"] == "sparse"
        if told.case.get("rounds"):
            # it compares the cells of a tile with those ranges alone that meet its rectangle, which need not hold them
            query["ranges"] = [several[:1] for several in query["ranges"]]
        ranges = closed(schema, query["ranges"])
        if not sparse:
            # what does not fit the buffers comes in parts, and where there are labels, in another order
            most = (expect.BUFFER,) if query["labels"] else ()
            query["ranges"] = ranges = bounded(schema, ranges, *most)
        if sparse and query["layout"] in ("row-major", "col-major"):
            # in these orders it forgets the current domain, which it adds to others as ranges
            ranges = within_current_domain(reader, array, schema, ranges)
        joined = merged(schema, ranges)
        query["mixed"] = not sparse and not query["labels"] and not all(f["dense"] for f in reader.fragments(uri))
        # aggregates of sparse arrays are asked for unordered, in which fragments are merged
        asked = dict(query, layout="unordered") if sparse and query["aggregates"] else query
        query["rules"] = model.rules(told, schema, asked)
        if any(name in model.OUT_OF_ORDER for name in query["rules"]):
            query["order"] = "canonical"
        query["cut"] = told.doubt == model.CUT
        query["lost"] = told.lost()
        var = any(a["cell_val_num"] == "var" for a in schema["attributes"]
                  if query["names"] is None or a["name"] in query["names"])
        if not sparse and var:
            # cells of variable length are cut in the wrong places when ranges overlap or descend
            query["ranges"] = ranges = joined
        if query["labels"]:
            told.undecided("labels")
        else:
            right = told.whole_answer(schema, dict(query, ranges=joined if sparse else ranges))
        query["decided"] = bool(right)
        if not right:
            query["why"] = told.why
        if query["aggregates"]:
            query["ranges"] = joined
            query["values"] = reader.aggregates(array, schema, query, joined)
            query["truth"] = truth(reader, array, uri, schema, query, joined, told)
            return
        count, fields = reader.ask(array, schema, query, joined if sparse else ranges)
        query.update(shown(count, fields))
        if right:
            add_written(reader, schema, query, right, count, fields)
        elif query["condition"] or query["mixed"]:
            add_model(reader, array, schema, query, joined if sparse else ranges, count, fields)
        elif sparse:
            add_inside(reader, array, schema, query, joined, count, fields)
        if sparse and joined != ranges:
            rows = lambda n, all_: Counter(zip(*[reader.cells_of(e, n) for e in all_.values()]))
            query["repeats"] = rows(*reader.ask(array, schema, query, ranges)) != rows(count, fields)
    except capi.TileDBError as error:
        if "fields" in query:
            return
        query["refused"] = str(error)
        if right and not query["aggregates"]:
            add_written(reader, schema, query, right, 0, None)
    finally:
        lib.close(array)


def within_current_domain(reader, array, schema, ranges):
    """The ranges, with those of the current domain where there are none, if there are cells outside of it."""
    current, written = schema.get("current_domain"), reader.non_empty_domain(array, schema)
    if not current or not written:
        return ranges
    number = lambda d, x: bytes.fromhex(x) if d["cell_val_num"] == "var" else expect.unpack(d["type"], bytes.fromhex(x))
    dimensions = schema["dimensions"]
    cut = any(any(c) and not number(d, c[0]) <= number(d, w[0]) <= number(d, w[1]) <= number(d, c[1])
              for d, c, w in zip(dimensions, current, written))
    return [several or ([c] if cut and any(c) else []) for several, c in zip(ranges, current)]


def begin(lib, case, arrays):
    """Writes the array, as far as the case says with the release that it names."""
    if case["lib"] == READER:
        return write.run_case(lib, case, arrays, "writer")
    path = os.path.join(arrays, case["name"] + ".json")
    with open(path, "w") as handle:
        json.dump(case, handle)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "write.py")
    done = subprocess.run([sys.executable, script, "--lib", fetch.fetch(case["lib"]), "--case", path, "--out", arrays],
                          stderr=subprocess.PIPE, text=True)
    os.remove(path)
    if done.returncode:
        raise capi.TileDBError("%s: %s" % (case["lib"], done.stderr.strip()[-200:] or done.returncode))
    write.run_case(lib, case, arrays, "reader")


def whole(reader, array, schema, told):
    """The cells of the array, field by field, of which queries are made."""
    box = schema["view"] = reads_queries.view(told.case, schema)
    try:
        count, fields = reader.query(array, schema, "row-major", box)
        return {n: reader.cells_of(e, count) for n, e in fields.items()}
    except capi.TileDBError:
        query = {"ranges": [[r] for r in box] if box else [[] for _ in schema["dimensions"]], "layout": "row-major",
                 "timestamps": [None, None]}
        right = told.whole_answer(schema, query)
        if not right:
            raise
        return known_of(schema, right[0])


def known_of(schema, columns):
    """The cells of columns, zeros or nothing in the place of null."""
    var = {f["name"] for f in schema["dimensions"] + schema["attributes"] if f["cell_val_num"] == "var"}
    size = {f["name"]: model.width(f) for f in schema["dimensions"] + schema["attributes"]}
    return {n: [c if c is not None else b"" if n in var else bytes(size[n]) for c in column] for n, column in columns.items()}


def unread(case, told, args):
    """A case whose queries are answered by what was written alone."""
    schema = told.last_schema()
    schema["view"] = reads_queries.view(case, schema)
    times = [step["t"] for step in told.evolutions]
    if len(set(times)) < len(times):
        # their names, of which the last is the schema, are random
        told.undecided("evolutions at one time")
        return {"begun": case["lib"], "key": case.get("key"), "schema": schema, "steps": [s["op"] for s in case["steps"]], "queries": []}
    box = {"ranges": [[r] for r in schema["view"]] if schema["view"] else [[] for _ in schema["dimensions"]],
           "layout": "row-major", "timestamps": [None, None]}
    right = told.whole_answer(schema, box)
    out = {"begun": case["lib"], "key": case.get("key"), "schema": schema, "steps": [s["op"] for s in case["steps"]], "queries": []}
    if right is None:
        return out
    known = known_of(schema, right[0])
    for query in reads_queries.queries(case, schema, args.seed, int(case["name"]), args.queries, known):
        ranges = merged(schema, closed(schema, query["ranges"]))
        # in windows, schemas may be others
        if query["aggregates"] or query["labels"] or told.evolutions and query["timestamps"] != [None, None]:
            continue
        query["ranges"] = ranges
        right = told.whole_answer(schema, query)
        if right:
            query["refused"] = "the library crashes"
            add_written(None, schema, query, right, 0, None)
            out["queries"].append(query)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--arrays", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--unread", type=int, help="a case that the library crashes on: only what was written is told")
    args = parser.parse_args()
    lib = capi.Lib(args.lib)
    reader = Ranges(lib)
    say = lambda number, **more: print(json.dumps(dict({"case": number}, **more)), flush=True)
    for number in range(args.skip, args.cases) if args.only is None else [args.only]:
        case = reads_cases.array(args.seed, number)
        case["name"] = str(number)
        uri = os.path.join(args.arrays, case["name"])
        told = model.Model(case)
        # what a library's own mistake has left hanging ends as a crash
        signal.alarm(SECONDS)
        say(number, doing="write")
        try:
            begin(lib, case, args.arrays)
            if number == args.unread:
                say(number, **unread(case, told, args))
                continue
            array = lib.open(uri, capi.READ)
            schema = reader.schema(array)
            say(number, doing="read whole")
            known = whole(reader, array, schema, told)
            lib.close(array)
        except capi.TileDBError as error:
            say(number, refused=str(error))
            continue
        queries = reads_queries.queries(case, schema, args.seed, number, args.queries, known)
        for query in queries:
            signal.alarm(SECONDS)
            say(number, doing=json.dumps({k: v for k, v in query.items() if v}))
            ask(reader, uri, query, told)
        say(number, doing="facts")
        facts, fragments = reads_facts.facts(reader, uri, case)
        # whoever reads this may take its time
        signal.alarm(0)
        steps = [s["op"] + (" at %s" % s["t"] if s.get("t") else "") for s in case["steps"]]
        say(number, begun=case["lib"], key=case.get("key"), schema=schema, steps=steps, queries=queries, facts=facts,
            fragments=fragments)


if __name__ == "__main__":
    main()
