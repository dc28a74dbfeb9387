"""The libtiledb side of `cargo xtask compare`: reads requests on standard input, answers each with a line of JSON.

    python compare_peer.py --threads N [--lib LIBTILEDB.so] [--config KEY=VALUE]...

It calls libtiledb's C API on buffers that fit the result, without TileDB-Py in between: what is timed is the library
itself. The protocol is that of xtask/src/compare/worker.rs, which is the tdb side.
"""

import argparse
import ctypes as C
import glob
import hashlib
import json
import os
import shutil
import struct
import sys
import sysconfig
import time

import numpy as np

import capi

COMPLETED = 1
# How numbers of a type are packed; what is missing is as a 64-bit integer.
PACKED = {"INT8": "b", "UINT8": "B", "INT16": "h", "UINT16": "H", "INT32": "i", "UINT32": "I", "UINT64": "Q", "FLOAT32": "f",
          "FLOAT64": "d"}
# Room beyond the result, in bytes: address space only, it is never touched.
SLACK = 1 << 20


def find_lib():
    """The library inside the installed TileDB-Py wheel."""
    folder = sysconfig.get_paths()["platlib"]
    hits = [p for p in glob.glob(os.path.join(folder, "tiledb*", "**", "libtiledb*.so*"), recursive=True)
            if "cpython" not in p]
    if not hits:
        sys.exit("no libtiledb below " + folder)
    return sorted(hits)[0]


def status(name):
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return None


def reset_peak():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


class Peer:
    def __init__(self, lib, threads, more):
        config = {"sm.compute_concurrency_level": threads, "sm.io_concurrency_level": threads}
        self.lib = capi.Lib(lib, dict(config, **more))
        self.last = None
        self.input = None

    def load(self, request):
        self.input = {c["name"]: (np.fromfile(c["data"], np.uint8),
                                  np.fromfile(c["offsets"], np.uint64) if c["offsets"] else None)
                      for c in request["columns"]}
        return {"seconds": 0.0}

    def write(self, request):
        """Creates the array, then writes the loaded cells: timed from opening it to closing it."""
        lib, uri, count = self.lib, request["array"], request.get("pieces", 1)
        shutil.rmtree(uri, ignore_errors=True)
        lib.create(uri, lib.schema(request["schema"]))
        pieces = [self.piece(request, number, count) for number in range(count)]
        kept_open = request.get("kept_open", False)
        started = time.perf_counter()
        array = lib.open(uri, capi.WRITE) if kept_open else None
        for box, columns in pieces:
            own = array or lib.open(uri, capi.WRITE)
            self.write_piece(own, box, columns)
            if not kept_open:
                lib.close(own)
        if kept_open:
            lib.close(array)
        return {"seconds": time.perf_counter() - started}

    def piece(self, request, number, count):
        """The box and the cells of a piece."""
        sizes = {f["name"]: capi.size_of(f["type"])
                 for f in request["schema"]["dimensions"] + request["schema"]["attributes"]}
        box = [list(ends) for ends in request.get("box") or []]
        if box:
            low, high = box[0]
            step = (high - low + 1) // count
            box[0] = [low + number * step, low + (number + 1) * step - 1]
        columns = []
        for name, (data, offsets) in self.input.items():
            cells = len(data) // sizes[name] if offsets is None else len(offsets)
            start, end = cells * number // count, cells * (number + 1) // count
            if offsets is None:
                columns.append((name, data[start * sizes[name]:end * sizes[name]], None))
            else:
                last = int(offsets[end]) if end < cells else len(data)
                columns.append((name, data[int(offsets[start]):last], offsets[start:end] - offsets[start]))
        return [(struct.pack("<q", low), struct.pack("<q", high), False) for low, high in box], columns

    def write_piece(self, array, box, columns):
        lib = self.lib
        query = lib.new("query_alloc", array, capi.WRITE)
        lib.call("query_set_layout", query, capi.LAYOUTS["row-major" if box else "unordered"])
        if box:
            lib.set_box(array, query, box)
        keep = []
        for name, data, offsets in columns:
            sizes = C.c_uint64(data.nbytes), C.c_uint64(0 if offsets is None else offsets.nbytes)
            keep.append(sizes)
            lib.set_buffers(query, name, C.c_void_p(data.ctypes.data), sizes[0],
                            None if offsets is None else C.c_void_p(offsets.ctypes.data), sizes[1])
        lib.call("query_submit", query)
        if lib.get(C.c_int, "query_get_status", query) != COMPLETED:
            raise capi.TileDBError("the write did not complete")
        lib.dll.tiledb_query_free(C.byref(query))

    def append(self, request):
        """Writes the loaded cells so many times, each time as a fragment of its own, to an array that is there."""
        _, columns = self.piece(request, 0, 1)
        started = time.perf_counter()
        for _ in range(request["times"]):
            array = self.lib.open(request["array"], capi.WRITE)
            self.write_piece(array, [], columns)
            self.lib.close(array)
        return {"seconds": time.perf_counter() - started}

    def memory(self, request):
        return {"resident": status("VmRSS")}

    def consolidate(self, request):
        started = time.perf_counter()
        self.lib.consolidate(request["array"], {})
        return {"seconds": time.perf_counter() - started}

    def clear(self):
        self.last = None
        reset_peak()

    def read(self, request):
        lib = self.lib
        if request.get("fresh"):
            # What a context remembers of arrays would be remembered from the run before.
            lib.set_key(lib.key)
        started = time.perf_counter()
        array = lib.open(request["array"], capi.READ)
        query = lib.new("query_alloc", array, capi.READ)
        lib.call("query_set_layout", query, capi.LAYOUTS[request["order"]])
        box = ranges(request)
        if request.get("points"):
            box = [[(end(value), end(value), False) for value in request["points"][name]] for name in request["dimensions"]]
        lib.set_box(array, query, box)
        if request.get("condition"):
            lib.call("query_set_condition", query, lib.condition(request["condition"]))
        columns = []
        for name in request["fields"]:
            data_bytes, offsets_bytes = request["sizes"][name]
            data = np.empty(data_bytes + SLACK, np.uint8)
            offsets = None if offsets_bytes is None else np.empty(offsets_bytes // 8 + SLACK, np.uint64)
            sizes = C.c_uint64(data.nbytes), C.c_uint64(0 if offsets is None else offsets.nbytes)
            valid = None
            if name in request.get("nullable", ()):
                valid = np.empty(request["cells"] + SLACK, np.uint8), C.c_uint64(request["cells"] + SLACK)
            lib.set_buffers(query, name, C.c_void_p(data.ctypes.data), sizes[0],
                            None if offsets is None else C.c_void_p(offsets.ctypes.data), sizes[1],
                            valid and C.c_void_p(valid[0].ctypes.data), valid and valid[1])
            columns.append((data, offsets, sizes, valid))
        lib.call("query_submit", query)
        seconds = time.perf_counter() - started
        if lib.get(C.c_int, "query_get_status", query) != COMPLETED:
            raise capi.TileDBError("the query did not complete in one go")
        self.last = request, columns
        counts = cell_counts(request, columns)
        size = sum(data.value + offsets.value for _, _, (data, offsets), _ in columns)
        lib.dll.tiledb_query_free(C.byref(query))
        lib.close(array)
        return {"seconds": seconds, "cells": min(counts), "bytes": size}

    def aggregate(self, request):
        """Aggregates of a whole array: timed from opening it to their values."""
        lib, outs = self.lib, []
        started = time.perf_counter()
        array = lib.open(request["array"], capi.READ)
        query = lib.new("query_alloc", array, capi.READ)
        lib.call("query_set_layout", query, capi.LAYOUTS[request["order"]])
        lib.set_box(array, query, ranges(request))
        channel = lib.new("query_get_default_channel", query)
        for i, (function, name, width) in enumerate(request["aggregates"]):
            if name is None:
                operation = lib.new("aggregate_count_get")
            else:
                operator = lib.new("channel_operator_%s_get" % function)
                operation = lib.new("create_unary_aggregate", query, operator, name.encode())
            lib.call("channel_apply_aggregate", channel, b"out%d" % i, operation)
            outs.append((capi.cbytes(bytes(width)), C.c_uint64(width)))
            lib.set_buffers(query, "out%d" % i, *outs[-1])
        lib.call("query_submit", query)
        seconds = time.perf_counter() - started
        if lib.get(C.c_int, "query_get_status", query) != COMPLETED:
            raise capi.TileDBError("the query did not complete in one go")
        self.last = request, " ".join(C.string_at(data, size.value).hex() for data, size in outs)
        lib.dll.tiledb_query_free(C.byref(query))
        lib.close(array)
        return {"seconds": seconds, "cells": 0, "bytes": 0}

    def open(self, request):
        lib = self.lib
        domain, empty = (C.c_int64 * 2)(), C.c_int32()
        started = time.perf_counter()
        array = lib.open(request["array"], capi.READ)
        lib.call("array_get_non_empty_domain", array, domain, C.byref(empty))
        seconds = time.perf_counter() - started
        lib.close(array)
        self.last = request, "none" if empty.value else "%d..=%d" % (domain[0], domain[1])
        return {"seconds": seconds, "cells": 0, "bytes": 0}

    def content(self):
        """The digest of the bytes of the last result's fields, one after the other."""
        request, columns = self.last
        content = hashlib.sha256()
        for data, _, (size, _), _ in columns:
            content.update(memoryview(data)[:size.value])
        return content.hexdigest()

    def hash(self):
        """The digest of the last result: see `hash` in xtask/src/compare/worker.rs."""
        request, result = self.last
        if isinstance(result, str):
            return result
        counts = cell_counts(request, result)
        if len(set(counts)) != 1:
            return "columns of %s cells" % counts
        if request["order"] == "unordered":
            return "%016x" % digest(request, result, request["fields"], False)
        if request["ties"]:
            every = digest(request, result, request["fields"], False)
            return "%016x %016x" % (every, digest(request, result, request["dimensions"], True))
        return "%016x" % digest(request, result, request["fields"], True)


def ranges(request):
    """The range of each dimension: both ends, and whether they are strings; None for all of a dimension."""
    types = request.get("types") or ["INT64"] * len(request["ranges"])
    return [None if r is None else (end(r[0], t), end(r[1], t), isinstance(r[0], str)) for r, t in zip(request["ranges"], types)]


def end(value, datatype="INT64"):
    """An end of a range: bytes of a number or of a string."""
    if isinstance(value, str):
        return value.encode()
    return struct.pack("<" + PACKED.get(datatype, "q"), value)


def digest(request, result, names, ordered):
    total, step, cells = 0, 1 << 20, cell_counts(request, result)[0]
    with np.errstate(over="ignore"):
        for start in range(0, cells, step):
            end = min(start + step, cells)
            h = np.zeros(end - start, np.uint64)
            for name, (data, offsets, (data_size, _), valid), width in zip(request["fields"], result, request["widths"]):
                if name not in names:
                    continue
                if offsets is None and width > 8:
                    value = string_values(data, np.arange(start, end + 1) * width)
                elif offsets is None:
                    unsigned = np.dtype("u%d" % width)
                    value = data[start * width:end * width].view(unsigned).astype(np.uint64)
                else:
                    last = offsets[end] if end < cells else np.uint64(data_size.value)
                    value = string_values(data, np.append(offsets[start:end], last).astype(np.int64))
                h = mix(h ^ value)
                if valid:
                    h = mix(h ^ valid[0][start:end].astype(np.uint64))
            if ordered:
                h = mix(h ^ np.arange(start, end, dtype=np.uint64))
            total = (total + int(h.sum(dtype=np.uint64))) % (1 << 64)
    return total


def cell_counts(request, columns):
    """The number of cells in each column."""
    return [size.value // width if offsets is None else offsets_size.value // 8
            for (_, offsets, (size, offsets_size), _), width in zip(columns, request["widths"])]


def mix(x):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


POWER = 0x100000001B3


def string_values(data, offsets):
    lengths = np.diff(offsets)
    bytes_ = data[offsets[0]:offsets[-1]].astype(np.uint64) + np.uint64(1)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, POWER, np.uint64))
    position = np.arange(len(bytes_)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    sums = np.concatenate([[np.uint64(0)], np.cumsum(bytes_ * powers[position])]).astype(np.uint64)
    cell = sums[offsets[1:] - offsets[0]] - sums[offsets[:-1] - offsets[0]]
    return cell + mix(lengths.astype(np.uint64))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--lib")
    parser.add_argument("--config", action="append", default=[])
    args = parser.parse_args()
    peer = Peer(args.lib or find_lib(), args.threads, dict(entry.split("=", 1) for entry in args.config))
    print(json.dumps({"version": peer.lib.name, "resident": status("VmRSS")}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] in ("hash", "content"):
                answer = {"hash": getattr(peer, {op: op for op in ("hash", "content")}[request["op"]])()}
            else:
                peer.clear()
                known = ("read", "aggregate", "open", "load", "write", "append", "consolidate", "memory")
                answer = getattr(peer, {op: op for op in known}[request["op"]])(request)
                answer["peak"] = status("VmHWM")
        except (capi.TileDBError, KeyError, ValueError, MemoryError) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
