"""Reads arrays with one library (the fixtures use 2.30) and writes what they hold as JSON.

    python3 expect.py --lib LIBTILEDB.so --case CASES.json --arrays DIR --out DIR [--only SUBSTRING]

For every case the array DIR/<name> is read; the answer goes to OUT/<name>.json, in the layout that
/xtask/fixtures/README.md describes. Which queries are recorded follows from the case's timestamps and the cells
themselves; a case may add its own under "queries".
"""

import argparse
import base64
import ctypes as C
import itertools
import json
import os
import struct
import sys

import capi
import fetch
import objects

BUFFER = 4 << 20
# what a query may say of itself
COMPLETED, INCOMPLETE = 1, 3
BIG = 20000
FORMATS = {
    "INT8": "b", "UINT8": "B", "INT16": "h", "UINT16": "H", "INT32": "i", "UINT32": "I", "INT64": "q",
    "UINT64": "Q", "FLOAT32": "f", "FLOAT64": "d",
}


def unpack(datatype, data):
    return struct.unpack("<" + FORMATS.get(datatype, "q"), data)[0]


def pack(datatype, value):
    return struct.pack("<" + FORMATS.get(datatype, "q"), value)


def b64(data):
    return base64.b64encode(data).decode()


class Reader:
    def __init__(self, lib):
        self.lib = lib
        self.pool = []

    # -- schema --------------------------------------------------------------------------------------------------

    def filters(self, fl):
        lib = self.lib
        out = []
        for i in range(lib.get(C.c_uint32, "filter_list_get_nfilters", fl)):
            f = lib.new("filter_list_get_filter_from_index", fl, capi.u32(i))
            kind = capi.FILTER_NAMES[lib.get(C.c_int, "filter_get_type", f)]
            entry = {"type": kind}
            for option in capi.FILTER_OPTIONS.get(kind, []):
                number, ctype = capi.OPTIONS[option]
                value = ctype()
                lib.call("filter_get_option", f, number, C.byref(value))
                entry[option] = value.value
            out.append(entry)
        return {"max_chunk_size": lib.get(C.c_uint32, "filter_list_get_max_chunk_size", fl), "filters": out}

    def cell_val_num(self, n):
        return "var" if n == capi.VAR else n

    def schema(self, array):
        lib = self.lib
        s = lib.new("array_get_schema", array)
        cvn = self.cell_val_num
        out = {
            "array_type": ["dense", "sparse"][lib.get(C.c_int, "array_schema_get_array_type", s)],
            "tile_order": capi.LAYOUT_NAMES[lib.get(C.c_int, "array_schema_get_tile_order", s)],
            "cell_order": capi.LAYOUT_NAMES[lib.get(C.c_int, "array_schema_get_cell_order", s)],
            "capacity": lib.get(C.c_uint64, "array_schema_get_capacity", s),
            "version": lib.get(C.c_uint32, "array_schema_get_version", s),
            "allows_dups": bool(lib.get(C.c_int, "array_schema_get_allows_dups", s)),
        }
        for which in ("coords", "offsets", "validity"):
            out[which + "_filters"] = self.filters(lib.new("array_schema_get_%s_filter_list" % which, s))
        dom = lib.new("array_schema_get_domain", s)
        out["dimensions"] = []
        for i in range(lib.get(C.c_uint32, "domain_get_ndim", dom)):
            d = lib.new("domain_get_dimension_from_index", dom, capi.u32(i))
            name = lib.get(C.c_char_p, "dimension_get_name", d).decode()
            kind = capi.DATATYPES[lib.get(C.c_int, "dimension_get_type", d)]
            size = capi.size_of(kind)
            lo_hi = lib.get(C.c_void_p, "dimension_get_domain", d)
            extent = lib.get(C.c_void_p, "dimension_get_tile_extent", d)
            var = kind == "STRING_ASCII"
            out["dimensions"].append({
                "name": name, "type": kind, "cell_val_num": cvn(lib.get(C.c_uint32, "dimension_get_cell_val_num", d)),
                "domain": None if var or not lo_hi else
                [C.string_at(lo_hi, size).hex(), C.string_at(lo_hi + size, size).hex()],
                "tile_extent": None if var or not extent else C.string_at(extent, size).hex(),
                "filters": self.filters(lib.new("dimension_get_filter_list", d)),
            })
        out["attributes"] = []
        enums = []
        for i in range(lib.get(C.c_uint32, "array_schema_get_attribute_num", s)):
            a = lib.new("array_schema_get_attribute_from_index", s, capi.u32(i))
            nullable = bool(lib.get(C.c_uint8, "attribute_get_nullable", a))
            ptr, size, valid = C.c_void_p(), C.c_uint64(), C.c_uint8(1)
            if nullable:
                lib.call("attribute_get_fill_value_nullable", a, C.byref(ptr), C.byref(size), C.byref(valid))
            else:
                lib.call("attribute_get_fill_value", a, C.byref(ptr), C.byref(size))
            entry = {
                "name": lib.get(C.c_char_p, "attribute_get_name", a).decode(),
                "type": capi.DATATYPES[lib.get(C.c_int, "attribute_get_type", a)],
                "cell_val_num": cvn(lib.get(C.c_uint32, "attribute_get_cell_val_num", a)),
                "nullable": nullable,
                "filters": self.filters(lib.new("attribute_get_filter_list", a)),
                "fill": C.string_at(ptr.value, size.value).hex(),
            }
            if nullable:
                entry["fill_valid"] = bool(valid.value)
            en = lib.new("attribute_get_enumeration_name", a)
            if en:
                entry["enumeration"] = lib.string(en)
                if entry["enumeration"] not in enums:
                    enums.append(entry["enumeration"])
            out["attributes"].append(entry)
        if enums:
            out["enumerations"] = [self.enumeration(array, n) for n in enums]
        cd = lib.new("array_schema_get_current_domain", s)
        if not lib.get(C.c_uint32, "current_domain_get_is_empty", cd):
            ndr = lib.new("current_domain_get_ndrectangle", cd)
            out["current_domain"] = []
            for i in range(len(out["dimensions"])):
                r = capi.Range()
                lib.call("ndrectangle_get_range", ndr, capi.u32(i), C.byref(r))
                out["current_domain"].append([C.string_at(r.min, r.min_size).hex(), C.string_at(r.max, r.max_size).hex()])
        labels = lib.get(C.c_uint64, "array_schema_get_dimension_label_num", s)
        if labels:
            out["dimension_labels"] = [self.label(s, i) for i in range(labels)]
        return out

    def enumeration(self, array, name):
        lib = self.lib
        e = lib.new("array_get_enumeration", array, name.encode())
        ptr, size = C.c_void_p(), C.c_uint64()
        lib.call("enumeration_get_data", e, C.byref(ptr), C.byref(size))
        data = C.string_at(ptr.value, size.value) if size.value else b""
        lib.call("enumeration_get_offsets", e, C.byref(ptr), C.byref(size))
        out = {
            "name": name,
            "type": capi.DATATYPES[lib.get(C.c_int, "enumeration_get_type", e)],
            "cell_val_num": self.cell_val_num(lib.get(C.c_uint32, "enumeration_get_cell_val_num", e)),
            "ordered": bool(lib.get(C.c_int, "enumeration_get_ordered", e)),
            "data": b64(data),
        }
        if size.value:
            out["offsets"] = b64(C.string_at(ptr.value, size.value))
        return out

    def label(self, schema, i):
        lib = self.lib
        h = lib.new("array_schema_get_dimension_label_from_index", schema, C.c_uint64(i))
        return {
            "name": lib.get(C.c_char_p, "dimension_label_get_name", h).decode(),
            "dimension": lib.get(C.c_uint32, "dimension_label_get_dimension_index", h),
            "type": capi.DATATYPES[lib.get(C.c_int, "dimension_label_get_label_type", h)],
            "cell_val_num": self.cell_val_num(lib.get(C.c_uint32, "dimension_label_get_label_cell_val_num", h)),
            "order": ["unordered", "increasing", "decreasing"][lib.get(C.c_int, "dimension_label_get_label_order", h)],
            "attribute": lib.get(C.c_char_p, "dimension_label_get_label_attr_name", h).decode(),
            "uri": os.path.join("__labels", os.path.basename(
                lib.get(C.c_char_p, "dimension_label_get_uri", h).decode().rstrip("/"))),
        }

    # -- array level ---------------------------------------------------------------------------------------------

    def non_empty_domain(self, array, schema):
        lib = self.lib
        out = []
        empty = C.c_int32()
        for i, d in enumerate(schema["dimensions"]):
            if d["cell_val_num"] == "var":
                s, e = C.c_uint64(), C.c_uint64()
                lib.call("array_get_non_empty_domain_var_size_from_index", array, capi.u32(i), C.byref(s), C.byref(e),
                         C.byref(empty))
                if empty.value:
                    return None
                a, b = capi.cbytes(bytes(s.value)), capi.cbytes(bytes(e.value))
                lib.call("array_get_non_empty_domain_var_from_index", array, capi.u32(i), a, b, C.byref(empty))
                out.append([C.string_at(a, s.value).hex(), C.string_at(b, e.value).hex()])
            else:
                size = capi.size_of(d["type"])
                buf = capi.cbytes(bytes(2 * size))
                lib.call("array_get_non_empty_domain_from_index", array, capi.u32(i), buf, C.byref(empty))
                if empty.value:
                    return None
                raw = C.string_at(buf, 2 * size)
                out.append([raw[:size].hex(), raw[size:].hex()])
        return out

    def metadata(self, array):
        lib = self.lib
        out = []
        for i in range(lib.get(C.c_uint64, "array_get_metadata_num", array)):
            key, klen, kind, num, val = C.c_char_p(), C.c_uint32(), C.c_int(), C.c_uint32(), C.c_void_p()
            lib.call("array_get_metadata_from_index", array, C.c_uint64(i), C.byref(key), C.byref(klen), C.byref(kind),
                     C.byref(num), C.byref(val))
            datatype = capi.DATATYPES[kind.value]
            size = capi.size_of(datatype) * num.value if val.value else 0
            out.append({"key": C.string_at(key, klen.value).decode(), "type": datatype,
                        "num": num.value if val.value else 0, "value": b64(C.string_at(val.value, size) if size else b"")})
        return out

    def fragments(self, uri):
        lib = self.lib
        fi = lib.new("fragment_info_alloc", uri.encode())
        lib.call("fragment_info_set_config", fi, lib.config)
        lib.call("fragment_info_load", fi)
        out = []
        for i in range(lib.get(C.c_uint32, "fragment_info_get_fragment_num", fi)):
            t1, t2 = C.c_uint64(), C.c_uint64()
            lib.call("fragment_info_get_timestamp_range", fi, capi.u32(i), C.byref(t1), C.byref(t2))
            out.append({
                "name": lib.string(lib.new("fragment_info_get_fragment_name_v2", fi, capi.u32(i))),
                "dense": bool(lib.get(C.c_int32, "fragment_info_get_dense", fi, capi.u32(i))),
                "timestamps": [t1.value, t2.value],
                "cell_num": lib.get(C.c_uint64, "fragment_info_get_cell_num", fi, capi.u32(i)),
                "version": lib.get(C.c_uint32, "fragment_info_get_version", fi, capi.u32(i)),
            })
        return out

    # -- cells ---------------------------------------------------------------------------------------------------

    def query(self, array, schema, layout, ranges):
        """Runs a read and returns (cell count, {field: {"type", "cell_val_num", "data", ...} with raw bytes})."""
        lib = self.lib
        q = lib.new("query_alloc", array, capi.READ)
        lib.call("query_set_layout", q, capi.LAYOUTS[layout])
        if ranges is not None and any(r is not None for r in ranges):
            box = [None if r is None else (bytes.fromhex(r[0]), bytes.fromhex(r[1]), d["cell_val_num"] == "var")
                   for r, d in zip(ranges, schema["dimensions"])]
            lib.set_box(array, q, box)
        sparse = schema["array_type"] == "sparse"
        fields = (schema["dimensions"] if sparse else []) + schema["attributes"]
        used = 0

        def buffer():
            nonlocal used
            if used == len(self.pool):
                self.pool.append((C.c_char * BUFFER)())
            used += 1
            return self.pool[used - 1]

        bufs = {}
        for f in fields:
            b = [buffer(), C.c_uint64(BUFFER), None, None, None, None]
            if f["cell_val_num"] == "var":
                b[2], b[3] = buffer(), C.c_uint64(BUFFER)
            if f.get("nullable"):
                b[4], b[5] = buffer(), C.c_uint64(BUFFER)
            bufs[f["name"]] = b
            lib.set_buffers(q, f["name"], *b)
        total, out, empty = 0, {}, 0
        while True:
            lib.call("query_submit", q)
            status = lib.get(C.c_int, "query_get_status", q)
            count = self.take(fields, bufs, out)
            total += count
            if status == COMPLETED:
                break
            # now and then the library stops before its buffers are full, sometimes before the first cell
            empty = 0 if count else empty + 1
            if status != INCOMPLETE or empty > 2:
                raise capi.TileDBError("read did not complete: status %d" % status)
        lib.dll.tiledb_query_free(C.byref(q))
        return total, out

    @staticmethod
    def take(fields, bufs, out):
        """Appends what a submission left in its buffers to `out`, makes the buffers as large as they were, and returns the number of
        cells."""
        count = None
        for f in fields:
            data, size, off, off_size, val, val_size = bufs[f["name"]]
            entry = out.setdefault(f["name"], {"type": f["type"], "cell_val_num": f["cell_val_num"], "data": b""})
            before = len(entry["data"])
            entry["data"] += C.string_at(data, size.value)
            if off is not None:
                n = off_size.value // 8
                starts = struct.unpack("<%dQ" % n, C.string_at(off, off_size.value))
                entry["offsets"] = entry.get("offsets", b"") + struct.pack("<%dQ" % n, *(before + start for start in starts))
            else:
                n = size.value // (capi.size_of(f["type"]) * f["cell_val_num"])
            if val is not None:
                entry["validity"] = entry.get("validity", b"") + C.string_at(val, val_size.value)
            if count is not None and n != count:
                raise capi.TileDBError("fields disagree on the number of cells")
            count = n
            for left in (size, off_size, val_size):
                if left is not None:
                    left.value = BUFFER
        return count

    def cells_of(self, entry, count):
        """The byte strings of one field, cell by cell."""
        data = entry["data"]
        if "offsets" in entry:
            offs = list(struct.unpack("<%dQ" % count, entry["offsets"])) + [len(data)]
            return [data[offs[i]:offs[i + 1]] for i in range(count)]
        size = capi.size_of(entry["type"]) * entry["cell_val_num"]
        return [data[i * size:(i + 1) * size] for i in range(count)]

    def canonical(self, count, fields):
        columns = {n: self.cells_of(e, count) for n, e in fields.items()}
        order = sorted(range(count), key=lambda i: tuple(c[i] for c in columns.values()))
        for n, e in fields.items():
            cells = [columns[n][i] for i in order]
            e["data"] = b"".join(cells)
            if "offsets" in e:
                pos, offs = 0, []
                for c in cells:
                    offs.append(pos)
                    pos += len(c)
                e["offsets"] = struct.pack("<%dQ" % count, *offs)
            if "validity" in e:
                e["validity"] = bytes(e["validity"][i] for i in order)


def false_rectangles(case, schema):
    """Whether range reads of the library lose cells: rectangles of dates that 1.6 and 1.7 wrote are not those of the cells, and
    none with a NaN is."""
    if "coords:nan" in case["features"]:
        return True
    dates = any(d["type"].startswith("DATETIME") for d in schema["dimensions"])
    sparse = schema["array_type"] == "sparse" or "fragments:sparse-in-dense" in case["features"]
    return sparse and dates and case["lib"].startswith("1.")


def inside(reader, schema, ranges, whole, layout, count, fields):
    """Of a read of fixed-size fields, of the whole array or of a dense box, the cells that lie in the ranges."""
    columns = {n: reader.cells_of(e, count) for n, e in fields.items()}
    dims = schema["dimensions"]
    ends = lambda box: [None if r is None else [unpack(d["type"], bytes.fromhex(x)) for x in r] for d, r in zip(dims, box)]
    if whole is None:
        cells = list(zip(*([unpack(d["type"], x) for x in columns[d["name"]]] for d in dims)))
    else:
        sides = [range(low, high + 1) for low, high in ends(whole)]
        turned = layout == "col-major"
        cells = [c[::-1] if turned else c for c in itertools.product(*(sides[::-1] if turned else sides))]
    wanted = ends(ranges)
    kept = [i for i, c in enumerate(cells) if all(r is None or r[0] <= x <= r[1] for x, r in zip(c, wanted))]
    for n, e in fields.items():
        e["data"] = b"".join(columns[n][i] for i in kept)
    return len(kept), fields


def dense_boxes(schema, ned):
    """The box of the full query and a few smaller ones, as lists of (lo, hi) integers."""
    dims = schema["dimensions"]
    dom = [[unpack(d["type"], bytes.fromhex(x)) for x in d["domain"]] for d in dims]
    if "current_domain" in schema:
        dom = [[unpack(d["type"], bytes.fromhex(x)) for x in r] for d, r in zip(dims, schema["current_domain"])]
    cells = 1
    for lo, hi in dom:
        cells *= hi - lo + 1
    full = dom
    if cells > 3000:
        if ned is None:
            full = [[lo, min(hi, lo + 4)] for lo, hi in dom]
        else:
            ends = [[unpack(d["type"], bytes.fromhex(x)) for x in r] for d, r in zip(dims, ned)]
            full = [[max(lo, a - 1), min(hi, b + 1)] for (lo, hi), (a, b) in zip(dom, ends)]
    subs = []
    for num, den, length in ((1, 4, 2), (1, 2, 3), (0, 1, 3)):
        box = []
        for k, (lo, hi) in enumerate(full):
            span = hi - lo
            a = lo + span * num // den
            box.append([a, min(hi, a + max(1, span * length // (5 + k)))])
        if length == 3 and num == 1:
            box = [[b - (b - a) // 2, b] for a, b in full]
        for i, (a, b) in enumerate(box):
            box[i] = [a, min(b, a + 40)]
        if box not in subs:
            subs.append(box)
    enc = [[[pack(d["type"], v).hex() for v in r] for d, r in zip(dims, box)] for box in [full] + subs]
    return enc[0], enc[1:]


def sparse_boxes(reader, schema, count, fields):
    """A few boxes whose corners are coordinates that occur."""
    dims = schema["dimensions"]
    if not count:
        return []
    values = []
    for d in dims:
        cells = set(reader.cells_of(fields[d["name"]], count))
        if d["cell_val_num"] != "var":
            # no NaN, and nothing outside the domain, which comes from cells that a library misread
            low, high = (unpack(d["type"], bytes.fromhex(x)) for x in d["domain"])
            cells = {c for c in cells if low <= unpack(d["type"], c) <= high}
        key = None if d["cell_val_num"] == "var" else (lambda c, t=d["type"]: unpack(t, c))
        if not cells:
            return []
        values.append(sorted(cells, key=key))
    out = []
    for kind in range(3):
        box = []
        for i, v in enumerate(values):
            n = len(v)
            if kind == 0:
                a, b = n // 4, (3 * n) // 4
            elif kind == 1:
                a, b = (n // 2, n // 2) if i == 0 else (0, n - 1)
            else:
                a, b = n // 3, n - 1
            a, b = min(a, n - 1), min(b, n - 1)
            box.append(None if kind == 1 and i > 0 else [v[a].hex(), v[b].hex()])
        if kind == 2 and len(box) > 1:
            box[0] = None
        if box not in out:
            out.append(box)
    return out


def windows(case):
    """Time windows worth recording, from the timestamps of the case's steps."""
    if case.get("now_only"):
        return []
    ts = sorted({s["t"] for s in case["steps"] if s.get("t") and s["op"] in ("write", "meta", "delete", "evolve")})
    if not ts:
        return []
    out = [[None, ts[0] - 1]] if ts[0] > 1 else []
    if len(ts) > 1:
        middle = ts[:-1]
        if len(middle) > 3:
            middle = [middle[0], middle[len(middle) // 2], middle[-1]]
        out += [[None, t] for t in middle]
        out.append([ts[1], None])
    if len(ts) > 2:
        out.append([ts[1], ts[-2]])
    if len(ts) > 3:
        out.append([ts[1], ts[1]])
    unique = []
    for w in out:
        if w not in unique:
            unique.append(w)
    return unique


def schema_of(case):
    """The schema as the case has it, for releases that cannot tell all of theirs."""
    out = dict(case["schema"], version=fetch.PEERS[case["lib"]][2])
    string = lambda d: d["type"] == "STRING_ASCII"
    out["dimensions"] = [dict(d, cell_val_num="var" if string(d) else 1) for d in out["dimensions"]]
    attributes = {a["name"]: a for a in out["attributes"]}
    for step in case["steps"]:
        if step["op"] == "evolve":
            for name in step.get("drop", []):
                attributes.pop(name, None)
            attributes.update((a["name"], a) for a in step.get("add", []))
    out["attributes"] = list(attributes.values())
    return out


def nulls(reader, entry, count):
    """The cells of a field, None where null."""
    validity = entry.get("validity")
    return [None if validity and not validity[i] else c for i, c in enumerate(reader.cells_of(entry, count))]


def expect(lib, case, uri, own=False, note=None):
    """What a library reads; with `own`, only cells, by a release that does not know all of today's interface. `note` is told
    of each query: its schema, the query, its columns."""
    reader = Reader(lib)
    if lib.key != case.get("key"):
        lib.set_key(case.get("key"))
    out = {
        "id": case["id"], "writer": "libtiledb " + case["lib"], "features": " ".join(case["features"]),
        "key": case.get("key"), "notes": case.get("notes", []), "kind": "array", "reader": "libtiledb " + lib.name,
        "fragments": None if own else reader.fragments(uri),
    }
    array = lib.open(uri, capi.READ)
    schema = schema_of(case) if own else reader.schema(array)
    ned = None if own else reader.non_empty_domain(array, schema)
    metadata = None if own else reader.metadata(array)
    out.update({"schema": schema, "non_empty_domain": ned, "metadata": metadata, "queries": []})
    sparse = schema["array_type"] == "sparse"
    queries = out["queries"]

    def record(array, schema, kind, ranges, layout, window):
        if ranges not in (None, full) and false_rectangles(case, schema):
            count, fields = inside(reader, schema, ranges, full, layout, *reader.query(array, schema, layout, full))
        else:
            count, fields = reader.query(array, schema, layout, ranges)
        order = "exact" if not sparse else "canonical" if layout == "unordered" else "layout"
        if order == "canonical":
            reader.canonical(count, fields)
        size = 0
        for e in fields.values():
            for k in ("data", "offsets", "validity"):
                if k in e:
                    size += len(e[k])
        queries.append({
            "id": "q%d" % len(queries), "kind": kind, "ranges": ranges, "layout": layout, "order": order,
            "timestamps": window, "cells": count,
            "fields": {n: {k: b64(v) if isinstance(v, bytes) else v for k, v in e.items()} for n, e in fields.items()},
        })
        if note:
            note(schema, queries[-1], {n: nulls(reader, e, count) for n, e in fields.items()})
        return count, fields, size

    now = [None, None]
    hilbert = schema["cell_order"] == "hilbert"
    if sparse:
        full, layouts = None, ["unordered", "row-major", "col-major", "global-order"]
        if hilbert:
            layouts = ["unordered", "row-major", "global-order"]
    else:
        full, subs = dense_boxes(schema, ned)
        layouts = ["row-major", "col-major", "global-order"]
        if "current_domain" in schema:
            layouts = ["row-major", "col-major"]
    if len(schema["dimensions"]) == 1:
        layouts = [x for x in layouts if x != "col-major"]
    light = case.get("light", False)
    big = False
    for layout in layouts[:1] if light else layouts:
        if big:
            break
        count, fields, size = record(array, schema, "full", full, layout, now)
        if layout == layouts[0]:
            big = size > BIG
            if sparse:
                subs = sparse_boxes(reader, schema, count, fields)
    for i, box in enumerate(subs[: 0 if big and sparse else 1 if big or light else 3]):
        layout = ["unordered", "row-major", "global-order"][i] if sparse else ["col-major", "row-major", "row-major"][i]
        record(array, schema, "subarray", box, layout, now)
    for q in case.get("queries", []):
        if q.get("timestamps", now) == now:
            record(array, schema, q.get("kind", "subarray"), q.get("ranges"), q["layout"], now)
    lib.close(array)
    out["time_travel"] = []
    times = [] if own else windows(case)
    if light and not sparse:
        times = times[1:]  # before the first write a dense array is nothing but fill values
    for window in times[: 0 if big else 3 if light else 5 if sparse else 4]:
        array = lib.open(uri, capi.READ, window[1], window[0])
        then = reader.schema(array)
        record(array, then, "time-travel", full, "unordered" if sparse else "row-major", window)
        out["time_travel"].append({"timestamps": window, "metadata": reader.metadata(array),
                                   "non_empty_domain": reader.non_empty_domain(array, then)})
        lib.close(array)
    return out


def written(case):
    """What the steps of a case have written, for arrays that no release reads right. The writes of a dense case cover its
    one dimension."""
    schema = schema_of(case)
    sparse = schema["array_type"] == "sparse"
    dims = schema["dimensions"]
    fields = (dims if sparse else []) + schema["attributes"]
    cells = {}
    for step in case["steps"]:
        if step["op"] != "write":
            continue
        columns = {}
        for f in fields:
            parts = {k: base64.b64decode(v) for k, v in step["fields"][f["name"]].items()}
            size = capi.size_of(f["type"]) * (1 if f["cell_val_num"] == "var" else f["cell_val_num"])
            entry = dict(parts, type=f["type"], cell_val_num=f["cell_val_num"])
            count = len(parts["offsets"]) // 8 if "offsets" in parts else len(parts["data"]) // size
            values = Reader(None).cells_of({k: v for k, v in entry.items() if k != "validity"}, count)
            columns[f["name"]] = list(zip(values, parts.get("validity", bytes(count))))
        if sparse:
            places = list(zip(*[[c for c, _ in columns[d["name"]]] for d in dims]))
        else:
            lo, hi = (unpack(dims[0]["type"], bytes.fromhex(x)) for x in step["subarray"][0])
            places = list(range(lo, hi + 1))
        for i, place in enumerate(places):
            cells[place] = {n: column[i] for n, column in columns.items()}
    places = sorted(cells)
    out = {}
    for f in fields:
        column = [cells[place][f["name"]] for place in places]
        entry = {"type": f["type"], "cell_val_num": f["cell_val_num"], "data": b"".join(c for c, _ in column)}
        if f["cell_val_num"] == "var":
            ends = [0]
            for c, _ in column:
                ends.append(ends[-1] + len(c))
            entry["offsets"] = struct.pack("<%dQ" % len(column), *ends[:-1])
        if f.get("nullable"):
            entry["validity"] = bytes(v for _, v in column)
        out[f["name"]] = entry
    if sparse:
        Reader(None).canonical(len(places), out)
    full = None if sparse else [dims[0]["domain"]]
    query = {"id": "q0", "kind": "full", "ranges": full, "layout": "unordered" if sparse else "row-major",
             "order": "canonical" if sparse else "exact", "timestamps": [None, None], "cells": len(places),
             "fields": {n: {k: b64(v) if isinstance(v, bytes) else v for k, v in x.items()} for n, x in out.items()}}
    return {
        "id": case["id"], "writer": "libtiledb " + case["lib"], "features": " ".join(case["features"]),
        "key": case.get("key"), "notes": case.get("notes", []), "kind": "array", "reader": "none: the case itself",
        "fragments": None, "schema": schema, "non_empty_domain": None, "metadata": None, "queries": [query],
        "time_travel": [],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True)
    parser.add_argument("--case", required=True)
    parser.add_argument("--arrays", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--release", default="2.30.0", help="read what this release is to read, which the library is of")
    args = parser.parse_args()
    with open(args.case) as handle:
        cases = json.load(handle)
    cases = cases if isinstance(cases, list) else [cases]
    os.makedirs(args.out, exist_ok=True)
    lib = capi.Lib(args.lib)
    failed = 0
    for case in cases:
        uri = os.path.abspath(os.path.join(args.arrays, case["name"]))
        if args.only not in case["id"] or not os.path.isdir(uri):
            continue
        oracle = case.get("oracle", "2.30.0")
        if oracle != args.release or case.get("object") == "kv":
            continue
        try:
            if oracle == "case":
                answer = written(case)
            elif case.get("object") == "group":
                answer = objects.expect_group(lib, case, uri)
            else:
                answer = expect(lib, case, uri, own="oracle" in case)
        except capi.TileDBError as error:
            failed += 1
            print("UNREADABLE %s: %s" % (case["id"], error), file=sys.stderr)
            continue
        with open(os.path.join(args.out, case["name"] + ".json"), "w") as handle:
            json.dump(answer, handle, separators=(",", ":"), ensure_ascii=False)
            handle.write("\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
