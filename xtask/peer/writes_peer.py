"""The libtiledb side of `cargo xtask conform writes`.

    python3 writes_peer.py --lib LIBTILEDB.so --batch DIR --op read|write --arrays DIR [--skip N]

DIR/cases.json is a list of arrays with queries, DIR/cells the bytes of the right answers; both are written by
xtask/src/conform/writes. Every array is opened, its schema compared (where the library can tell it), and every query run
and compared. With `write` the library makes the array itself, of the same cells. Each is answered with a line of JSON as soon as it is done, so that after a crash it is known which crashed:

    {"outcome": "equal" | "refused" | "differs", "what": text}
"""

import base64
import copy
import ctypes as C
import os
import struct

import batches
import capi
import expect
import write

COMPLETED = 1
SLACK = 1 << 16
SCHEMAS_SINCE = (2, 30)
# What libtiledb 1.x, which writes these versions, stores as the name of an attribute without one. Later releases show it.
OLD_VERSIONS, OLD_ANONYMOUS = (3, 4), "__attr"
# What a schema has that a library before some release would leave out without a word; no interface takes what has none.
NEEDS = {"dimension filters": (2, 0), "fill values": (2, 1), "Hilbert order": (2, 2), "validity filters": (2, 6),
         "a type for double delta": (2, 17),
         "ordered attributes": None}


def part(blob, spec, name):
    at = spec.get(name)
    return None if at is None else blob[at[0]:at[0] + at[1]]


def submit(lib, query):
    lib.call("query_submit", query)
    status = lib.get(C.c_int, "query_get_status", query)
    if status != COMPLETED:
        raise capi.TileDBError("the query did not complete: status %d" % status)


class Field:
    """Buffers for one field, and what should come to be in them."""

    def __init__(self, blob, spec):
        self.size = spec["cell"]
        self.expected = [part(blob, spec, n) for n in ("data", "offsets", "validity")]
        self.buffers = [(None, None) if e is None else (capi.cbytes(bytes(len(e) + SLACK)), C.c_uint64(len(e) + SLACK))
                        for e in self.expected]

    def found(self):
        return [None if size is None else bytes(memoryview(buf)[:size.value]) for buf, size in self.buffers]


def rows(fields):
    """Cells as tuples, of [(size or None, data, offsets, validity)...]."""
    columns = []
    for size, data, offsets, validity in fields:
        if offsets is not None:
            starts = list(struct.unpack("<%dQ" % (len(offsets) // 8), offsets)) + [len(data)]
            cells = [data[a:b] for a, b in zip(starts, starts[1:])]
        else:
            cells = [data[i:i + size] for i in range(0, len(data), size)]
        columns.append(cells if validity is None else list(zip(cells, validity)))
    return list(zip(*columns))


def compare(query, fields, dimensions):
    names = list(fields)
    found = {n: fields[n].found() for n in names}
    if query["order"] == "exact":
        for n in names:
            for what, got, right in zip(("values", "offsets", "validity"), found[n], fields[n].expected):
                if got != right:
                    at = next((i for i in range(min(len(got), len(right))) if got[i] != right[i]), "the end")
                    return "%s of %s differ from byte %s on (%d bytes, not %d)" % (what, n, at, len(got), len(right))
        return None
    got = rows([[fields[n].size] + found[n] for n in names])
    right = rows([[fields[n].size] + fields[n].expected for n in names])
    if len(got) != len(right):
        return "%d cells, not %d" % (len(got), len(right))
    if query["order"] == "any":
        got.sort()
        right.sort()
    else:
        where = [i for i, n in enumerate(names) if n in dimensions]
        for cells in (got, right):
            start = 0
            for end in range(1, len(cells) + 1):
                if end == len(cells) or any(cells[end][i] != cells[start][i] for i in where):
                    cells[start:end] = sorted(cells[start:end])
                    start = end
    for i, (a, b) in enumerate(zip(got, right)):
        if a != b:
            order = "in another order, " if sorted(got) == sorted(right) else ""
            return "%scell %d is %s, not %s" % (order, i, a, b)
    return None


class Zipped:
    """The coordinates of libraries before 2.0, which have one buffer for all dimensions."""

    def __init__(self, fields, dimensions):
        self.parts = [fields[d] for d in dimensions]
        size = sum(len(p.expected[0]) for p in self.parts) + SLACK
        self.buffer = (capi.cbytes(bytes(size)), C.c_uint64(size))

    def split(self):
        data = bytes(memoryview(self.buffer[0])[:self.buffer[1].value])
        tuple_size = sum(p.size for p in self.parts)
        at = 0
        for p in self.parts:
            cells = b"".join(data[i + at:i + at + p.size] for i in range(0, len(data), tuple_size))
            p.buffers[0] = (capi.cbytes(cells), C.c_uint64(len(cells)))
            at += p.size


def shown(lib, array, name):
    """A field's name as the library shows it."""
    if name or lib.version < (2, 0):
        return name
    schema = lib.new("array_get_schema", array)
    old = lib.get(C.c_int32, "array_schema_has_attribute", schema, OLD_ANONYMOUS.encode())
    lib.dll.tiledb_array_schema_free(C.byref(schema))
    return OLD_ANONYMOUS if old else name


def ask(lib, uri, case, query, blob):
    """None, or how the answer differs."""
    array = lib.open(uri, capi.READ, query["until"])
    handle = lib.new("query_alloc", array, capi.READ)
    try:
        lib.call("query_set_layout", handle, capi.LAYOUTS[query["layout"]])
        old = lib.version < (2, 0)
        if not case["sparse"] or old:
            lib.set_box(array, handle, [(bytes.fromhex(b[0]), bytes.fromhex(b[1]), False) for b in query["box"]])
        fields = {shown(lib, array, name): Field(blob, spec) for name, spec in query["fields"].items()}
        zipped = Zipped(fields, case["dimensions"]) if old and case["sparse"] else None
        for name, field in fields.items():
            if zipped is None or name not in case["dimensions"]:
                lib.set_buffers(handle, name, *[p for pair in field.buffers for p in pair])
        if zipped:
            lib.set_buffers(handle, "__coords", *zipped.buffer)
        submit(lib, handle)
        if zipped:
            zipped.split()
        wrong = compare(query, fields, case["dimensions"])
        when = "now" if query["until"] is None else "at %d" % query["until"]
        return wrong and "%s, %s: %s" % (query["layout"], when, wrong)
    finally:
        lib.dll.tiledb_query_free(C.byref(handle))
        lib.close(array)


def schema_differs(lib, uri, case):
    array = lib.open(uri, capi.READ)
    try:
        told = expect.Reader(lib).schema(array)
    finally:
        lib.close(array)
    for label in told.get("dimension_labels", []):
        # the label's own array, which the array's schema only names
        array = lib.open(os.path.join(uri, label["uri"]), capi.READ)
        own = expect.Reader(lib).schema(array)
        lib.close(array)
        first, label_dimension = told["dimensions"][label["dimension"]], own["dimensions"][0]
        if [label_dimension[k] for k in ("type", "domain", "tile_extent")] != [
                first[k] for k in ("type", "domain", "tile_extent")] or own["attributes"][0]["type"] != label["type"]:
            return "the label's array is %s" % own
    if case["schema"].get("version") in OLD_VERSIONS:
        for attribute in case["schema"]["attributes"]:
            attribute["name"] = attribute["name"] or OLD_ANONYMOUS
    for name, right in case["schema"].items():
        if name in told and told[name] != right:
            return "the schema's %s is %s, not %s" % (name, told[name], right)
    return None


def metadata_differs(lib, uri, case):
    if "metadata" not in case or not lib.has("tiledb_array_get_metadata_num"):
        return None
    array = lib.open(uri, capi.READ)
    try:
        told = expect.Reader(lib).metadata(array)
    finally:
        lib.close(array)
    told.sort(key=lambda entry: entry["key"].encode())
    return None if told == case["metadata"] else "metadata are %s, not %s" % (told, case["metadata"])


def run(lib, uri, case, blob):
    try:
        wrong = schema_differs(lib, uri, case) if lib.version >= SCHEMAS_SINCE and not case.get("own") else None
        wrong = wrong or metadata_differs(lib, uri, case)
        for query in case["queries"]:
            wrong = wrong or ask(lib, uri, case, query, blob)
    except capi.TileDBError as error:
        return {"outcome": "refused", "what": str(error)}
    return {"outcome": "differs", "what": wrong} if wrong else {"outcome": "equal", "what": ""}


def own_schema(lib, case):
    """The schema as a release can make it."""
    for need in case.get("needs", []):
        if NEEDS[need] is None or lib.version < NEEDS[need]:
            raise KeyError(need)
    schema = copy.deepcopy(case["schema"])
    if not lib.has("tiledb_array_schema_set_validity_filter_list"):
        schema.pop("validity_filters", None)
    for attribute in schema["attributes"]:
        if lib.version < (2, 1) or attribute["type"] == "ANY":
            attribute.pop("fill", None)
    for dimension in schema["dimensions"]:
        if lib.version < (2, 0):
            dimension.pop("filters", None)
    for part in [schema, *schema["attributes"], *schema["dimensions"]]:
        for name, pipeline in part.items():
            for entry in pipeline["filters"] if name.endswith("filters") else []:
                if entry.get("reinterpret_datatype") == capi.DT["ANY"]:
                    del entry["reinterpret_datatype"]
    return schema


def write_own(lib, folder, case, blob):
    """Has the library make the array itself."""
    text = lambda data: None if data is None else base64.b64encode(data).decode()
    steps = []
    for step in case["steps"]:
        if step["op"] == "meta":
            steps.append(step)
            continue
        fields = {}
        for name, spec in step["fields"].items():
            found = {k: text(part(blob, spec, k)) for k in ("data", "offsets", "validity")}
            fields[name] = {k: v for k, v in found.items() if v is not None}
        steps.append({"op": "write", "layout": step["layout"], "t": step["t"], "fields": fields,
                      "subarray": None if case["sparse"] else step["box"]})
    doing = ""
    try:
        doing = "create: "
        own = {"name": str(case["number"]), "key": case["key"], "schema": own_schema(lib, case)}
        write.run_case(lib, dict(own, steps=[{"op": "create", "t": 1}]), folder, "writer")
        doing = ""
        write.run_case(lib, dict(own, steps=[dict(step, by="then") for step in steps]), folder, "then")
    except capi.TileDBError as error:
        return {"outcome": "refused", "what": doing + str(error)}
    except KeyError as error:
        return {"outcome": "refused", "what": doing + "the release does not have %s" % error}
    return {"outcome": "equal", "what": ""}


def answer(lib, op, arrays, case, blob):
    if op == "write":
        return write_own(lib, arrays, case, blob)
    return run(lib, os.path.join(arrays, str(case["number"])), case, blob)


if __name__ == "__main__":
    batches.main(__doc__, answer)
