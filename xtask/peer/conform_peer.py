"""The libtiledb side of `cargo xtask conform filters`.

    python3 conform_peer.py --lib LIBTILEDB.so --batch DIR --op read|write --arrays DIR [--skip N]

DIR/cases.json is a list of cases, DIR/cells their bytes; both are written by xtask/src/conform. With `write` every case is
created, written and read back; with `read` it is read. Each case is answered with a line of JSON as soon as it is done, so
that after a crash it is known which case crashed:

    {"outcome": "equal" | "refused" | "differs" | "self-refused" | "self-differs", "what": text}

"self-": libtiledb wrote the cells, but cannot read them or reads others.
"""

import ctypes as C
import os

import batches
import capi

COMPLETED = 1
SLACK = 4096


class Cells:
    def __init__(self, blob, spec):
        self.data, self.offsets, self.validity = (
            None if spec.get(k) is None else blob[spec[k][0]:spec[k][0] + spec[k][1]]
            for k in ("data", "offsets", "validity"))


def attach(lib, query, keep, name, data, offsets, validity, slack):
    def buffer(content):
        if content is None:
            return None, None
        return capi.cbytes(content + b"\xa5" * slack), C.c_uint64(len(content) + slack)

    bufs = [buffer(data), buffer(offsets), buffer(validity)]
    keep[name] = bufs
    lib.set_buffers(query, name, *[part for buf in bufs for part in buf])


def submit(lib, query):
    lib.call("query_submit", query)
    status = lib.get(C.c_int, "query_get_status", query)
    if status != COMPLETED:
        raise capi.TileDBError("the query did not complete: status %d" % status)


def box(case):
    return [(bytes.fromhex(lo), bytes.fromhex(hi), False) for lo, hi in case["subarray"]]


def write(lib, uri, case, fields):
    lib.create(uri, lib.schema(case["schema"]))
    array = lib.open(uri, capi.WRITE)
    query = lib.new("query_alloc", array, capi.WRITE)
    try:
        lib.call("query_set_layout", query, capi.LAYOUTS["row-major" if case["subarray"] else "unordered"])
        if case["subarray"]:
            lib.set_box(array, query, box(case))
        keep = {}
        for name, cells in fields.items():
            attach(lib, query, keep, name, cells.data, cells.offsets, cells.validity, 0)
        submit(lib, query)
    finally:
        lib.dll.tiledb_query_free(C.byref(query))
        lib.close(array)


def read(lib, uri, case, fields):
    """None, or how the cells differ."""
    array = lib.open(uri, capi.READ)
    query = lib.new("query_alloc", array, capi.READ)
    try:
        lib.call("query_set_layout", query, capi.LAYOUTS["row-major" if case["subarray"] else "global-order"])
        if case["subarray"]:
            lib.set_box(array, query, box(case))
        keep = {}
        for name, cells in fields.items():
            attach(lib, query, keep, name, cells.data, cells.offsets, cells.validity, SLACK)
        submit(lib, query)
        for name, cells in fields.items():
            for what, expected, (buf, size) in zip(("values", "offsets", "validity"),
                                                   (cells.data, cells.offsets, cells.validity), keep[name]):
                if expected is None:
                    continue
                if size.value != len(expected):
                    return "%s of %s: %d bytes, not %d" % (what, name, size.value, len(expected))
                found = bytes(memoryview(buf)[:size.value])
                if found != expected:
                    at = next(i for i in range(len(expected)) if found[i] != expected[i])
                    return "%s of %s differ from byte %d on" % (what, name, at)
        return None
    finally:
        lib.dll.tiledb_query_free(C.byref(query))
        lib.close(array)


def run(lib, op, uri, case, blob):
    fields = {name: Cells(blob, spec) for name, spec in case["fields"].items()}
    prefix = ""
    try:
        if op == "write":
            write(lib, uri, case, fields)
            prefix = "self-"
        wrong = read(lib, uri, case, fields)
    except capi.TileDBError as error:
        return {"outcome": prefix + "refused", "what": str(error)}
    if wrong:
        return {"outcome": prefix + "differs", "what": wrong}
    return {"outcome": "equal", "what": ""}


def answer(lib, op, arrays, case, blob):
    return run(lib, op, os.path.join(arrays, str(case["number"])), case, blob)


if __name__ == "__main__":
    batches.main(__doc__, answer)
