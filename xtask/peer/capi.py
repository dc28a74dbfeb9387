"""A thin ctypes binding of the TileDB C API that hides the differences between releases 1.4 to 2.30.

One process loads one library. Only the standard library is used. All values are raw little-endian bytes.
"""

import ctypes as C
import os

DATATYPES = [
    "INT32", "INT64", "FLOAT32", "FLOAT64", "CHAR", "INT8", "UINT8", "INT16", "UINT16", "UINT32", "UINT64",
    "STRING_ASCII", "STRING_UTF8", "STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4", "ANY",
    "DATETIME_YEAR", "DATETIME_MONTH", "DATETIME_WEEK", "DATETIME_DAY", "DATETIME_HR", "DATETIME_MIN",
    "DATETIME_SEC", "DATETIME_MS", "DATETIME_US", "DATETIME_NS", "DATETIME_PS", "DATETIME_FS", "DATETIME_AS",
    "TIME_HR", "TIME_MIN", "TIME_SEC", "TIME_MS", "TIME_US", "TIME_NS", "TIME_PS", "TIME_FS", "TIME_AS",
    "BLOB", "BOOL", "GEOM_WKB", "GEOM_WKT",
]
DT = {n: i for i, n in enumerate(DATATYPES)}
_SIZES = {
    "INT32": 4, "FLOAT32": 4, "UINT32": 4, "CHAR": 1, "INT8": 1, "UINT8": 1, "INT16": 2, "UINT16": 2,
    "STRING_ASCII": 1, "STRING_UTF8": 1, "STRING_UTF16": 2, "STRING_UTF32": 4, "STRING_UCS2": 2, "STRING_UCS4": 4,
    "ANY": 1, "BLOB": 1, "BOOL": 1, "GEOM_WKB": 1, "GEOM_WKT": 1,
}


def size_of(datatype):
    """Bytes of one value of a datatype, by name."""
    return _SIZES.get(datatype, 8)


FILTERS = {
    "none": 0, "gzip": 1, "zstd": 2, "lz4": 3, "rle": 4, "bzip2": 5, "double_delta": 6, "bit_width_reduction": 7,
    "bitshuffle": 8, "byteshuffle": 9, "positive_delta": 10, "checksum_md5": 12, "checksum_sha256": 13,
    "dictionary": 14, "scale_float": 15, "xor": 16, "webp": 18, "delta": 19,
}
FILTER_NAMES = {v: k for k, v in FILTERS.items()}
# option name -> (enum value, ctype)
OPTIONS = {
    "level": (0, C.c_int32), "bit_width_max_window": (1, C.c_uint32), "positive_delta_max_window": (2, C.c_uint32),
    "scale_float_bytewidth": (3, C.c_uint64), "scale_float_factor": (4, C.c_double),
    "scale_float_offset": (5, C.c_double), "webp_quality": (6, C.c_float), "webp_input_format": (7, C.c_uint8),
    "webp_lossless": (8, C.c_uint8), "reinterpret_datatype": (9, C.c_uint8),
}
FILTER_OPTIONS = {
    "gzip": ["level"], "zstd": ["level"], "lz4": ["level"], "rle": ["level"], "bzip2": ["level"],
    "dictionary": ["level"], "double_delta": ["level", "reinterpret_datatype"],
    "delta": ["level", "reinterpret_datatype"], "bit_width_reduction": ["bit_width_max_window"],
    "positive_delta": ["positive_delta_max_window"],
    "scale_float": ["scale_float_bytewidth", "scale_float_factor", "scale_float_offset"],
    "webp": ["webp_quality", "webp_input_format", "webp_lossless"],
}
LAYOUTS = {"row-major": 0, "col-major": 1, "global-order": 2, "unordered": 3, "hilbert": 4}
LAYOUT_NAMES = {v: k for k, v in LAYOUTS.items()}
READ, WRITE, DELETE, MODIFY_EXCLUSIVE = 0, 1, 2, 4
OPS = {"<": 0, "<=": 1, ">": 2, ">=": 3, "==": 4, "!=": 5}
VAR = 0xFFFFFFFF


class TileDBError(Exception):
    """An error the library reported."""


class Range(C.Structure):
    """tiledb_range_t"""

    _fields_ = [("min", C.c_void_p), ("min_size", C.c_uint64), ("max", C.c_void_p), ("max_size", C.c_uint64)]


def u64(value):
    return C.c_uint64(value)


def u32(value):
    return C.c_uint32(value)


def cbytes(data):
    """A ctypes buffer that holds exactly these bytes (at least one byte long, so that it has an address)."""
    buf = (C.c_char * max(1, len(data)))()
    buf[: len(data)] = data
    return buf


class Lib:
    """One loaded library with one context."""

    def __init__(self, path, config=None, key=None):
        self.dll = C.CDLL(os.path.abspath(path))
        nums = [C.c_int() for _ in range(3)]
        self.dll.tiledb_version(*[C.byref(n) for n in nums])
        self.version = tuple(n.value for n in nums)
        self.name = ".".join(map(str, self.version))
        base = {"sm.tbb.num_threads": "1"} if self.version < (2, 0) else {}
        if self.version >= (2, 1):
            base.update({"sm.compute_concurrency_level": "1", "sm.io_concurrency_level": "1"})
        base.update({"vfs.num_threads": "1"} if self.version < (2, 1) else {})
        base.update(config or {})
        self.base = base
        self.set_key(key)

    def set_key(self, key):
        """Chooses the AES-256-GCM key (text of 32 characters, or None) and makes a new context."""
        self.key = key
        self.config = self.make_config(self.base)
        self.ctx = C.c_void_p()
        if self.dll.tiledb_ctx_alloc(self.config, C.byref(self.ctx)) != 0:
            raise TileDBError("cannot make a context")

    def has(self, name):
        return hasattr(self.dll, name)

    @property
    def key_in_config(self):
        return not self.has("tiledb_array_open_with_key") or self.version >= (2, 4)

    def make_config(self, entries):
        cfg, err = C.c_void_p(), C.c_void_p()
        self.dll.tiledb_config_alloc(C.byref(cfg), C.byref(err))
        entries = dict(entries)
        if self.key and self.key_in_config:
            entries["sm.encryption_type"] = "AES_256_GCM"
            entries["sm.encryption_key"] = self.key
        for k, v in entries.items():
            if self.dll.tiledb_config_set(cfg, k.encode(), str(v).encode(), C.byref(err)) != 0:
                msg = C.c_char_p()
                self.dll.tiledb_error_message(err, C.byref(msg))
                raise TileDBError("config %s: %s" % (k, (msg.value or b"").decode("utf-8", "replace")))
        return cfg

    def call(self, name, *args):
        """Calls tiledb_<name>(ctx, ...) and raises the context's last error when it fails."""
        full = "tiledb_" + name
        if not self.has(full):
            raise TileDBError(full + " is not exported")
        rc = getattr(self.dll, full)(self.ctx, *args)
        if rc != 0:
            err, msg = C.c_void_p(), C.c_char_p()
            self.dll.tiledb_ctx_get_last_error(self.ctx, C.byref(err))
            if err:
                self.dll.tiledb_error_message(err, C.byref(msg))
            raise TileDBError("%s: %s" % (full, (msg.value or b"?").decode("utf-8", "replace")))

    def new(self, name, *args):
        """Calls a function whose last parameter receives a handle, and returns the handle."""
        handle = C.c_void_p()
        self.call(name, *args, C.byref(handle))
        return handle

    def get(self, ctype, name, *args):
        """Calls a function whose last parameter receives a plain value, and returns the value."""
        out = ctype()
        self.call(name, *args, C.byref(out))
        return out.value

    def string(self, handle):
        """Text of a tiledb_string_t."""
        ptr, length = C.c_void_p(), C.c_size_t()
        self.dll.tiledb_string_view(handle, C.byref(ptr), C.byref(length))
        text = C.string_at(ptr.value, length.value).decode() if length.value else ""
        self.dll.tiledb_string_free(C.byref(handle))
        return text

    # -- schemas -------------------------------------------------------------------------------------------------

    def filter_list(self, filters):
        """A filter list of {"type", options...} dicts."""
        fl = self.new("filter_list_alloc")
        for f in filters:
            h = self.new("filter_alloc", FILTERS[f["type"]])
            for opt, value in f.items():
                if opt in ("type", "max_chunk_size"):
                    continue
                number, ctype = OPTIONS[opt]
                if isinstance(value, str):
                    value = DT[value]
                self.call("filter_set_option", h, number, C.byref(ctype(value)))
            self.call("filter_list_add_filter", fl, h)
        return fl

    def chunked_filter_list(self, spec):
        """As filter_list, from a list or from {"max_chunk_size", "filters"}."""
        if isinstance(spec, dict):
            fl = self.filter_list(spec["filters"])
            self.call("filter_list_set_max_chunk_size", fl, u32(spec["max_chunk_size"]))
            return fl
        return self.filter_list(spec)

    def attribute(self, a):
        h = self.new("attribute_alloc", a["name"].encode(), DT[a["type"]])
        cvn = a.get("cell_val_num", 1)
        if a["type"] != "ANY":
            self.call("attribute_set_cell_val_num", h, u32(VAR if cvn == "var" else cvn))
        if a.get("nullable"):
            self.call("attribute_set_nullable", h, C.c_uint8(1))
        if a.get("filters") or a.get("max_chunk_size") is not None:
            fl = self.chunked_filter_list(a.get("filters") or [])
            if a.get("max_chunk_size") is not None:
                self.call("filter_list_set_max_chunk_size", fl, u32(a["max_chunk_size"]))
            self.call("attribute_set_filter_list", h, fl)
        if a.get("fill") is not None:
            data = bytes.fromhex(a["fill"])
            if a.get("nullable"):
                self.call("attribute_set_fill_value_nullable", h, cbytes(data), u64(len(data)),
                          C.c_uint8(1 if a.get("fill_valid") else 0))
            else:
                self.call("attribute_set_fill_value", h, cbytes(data), u64(len(data)))
        if a.get("enumeration"):
            self.call("attribute_set_enumeration_name", h, a["enumeration"].encode())
        return h

    def enumeration(self, e):
        import base64

        data = base64.b64decode(e["data"])
        offs = base64.b64decode(e["offsets"]) if e.get("offsets") else None
        cvn = VAR if e["cell_val_num"] == "var" else e["cell_val_num"]
        return self.new("enumeration_alloc", e["name"].encode(), DT[e["type"]], u32(cvn),
                        C.c_int(1 if e["ordered"] else 0), cbytes(data) if data else None, u64(len(data)),
                        cbytes(offs) if offs is not None else None, u64(len(offs) if offs is not None else 0))

    def domain(self, s):
        """The domain of a schema."""
        dom = self.new("domain_alloc")
        for d in s["dimensions"]:
            lo_hi = cbytes(bytes.fromhex("".join(d["domain"]))) if d.get("domain") else None
            ext = cbytes(bytes.fromhex(d["tile_extent"])) if d.get("tile_extent") else None
            dim = self.new("dimension_alloc", d["name"].encode(), DT[d["type"]], lo_hi, ext)
            if d.get("filters"):
                self.call("dimension_set_filter_list", dim, self.chunked_filter_list(d["filters"]))
            self.call("domain_add_dimension", dom, dim)
        return dom

    def current_domain(self, dom, ranges):
        """A current domain of pairs of hex, one a dimension."""
        ndr = self.new("ndrectangle_alloc", dom)
        keep = []
        for i, (lo, hi) in enumerate(ranges):
            lo, hi = bytes.fromhex(lo), bytes.fromhex(hi)
            a, b = cbytes(lo), cbytes(hi)
            keep.append((a, b))
            r = Range(C.addressof(a), len(lo), C.addressof(b), len(hi))
            self.call("ndrectangle_set_range", ndr, u32(i), C.byref(r))
        cd = self.new("current_domain_create")
        self.call("current_domain_set_ndrectangle", cd, ndr)
        return cd

    def schema(self, s, timestamp=None):
        """A schema from the "schema" part of a case."""
        kind = 0 if s["array_type"] == "dense" else 1
        if timestamp is not None and self.has("tiledb_array_schema_alloc_at_timestamp"):
            h = self.new("array_schema_alloc_at_timestamp", kind, u64(timestamp))
        else:
            h = self.new("array_schema_alloc", kind)
        dom = self.domain(s)
        self.call("array_schema_set_domain", h, dom)
        for e in s.get("enumerations", []):
            self.call("array_schema_add_enumeration", h, self.enumeration(e))
        for a in s["attributes"]:
            self.call("array_schema_add_attribute", h, self.attribute(a))
        for l in s.get("dimension_labels", []):
            self.call("array_schema_add_dimension_label", h, u32(l["dimension"]), l["name"].encode(),
                      {"unordered": 0, "increasing": 1, "decreasing": 2}[l["order"]], DT[l["type"]])
        self.call("array_schema_set_tile_order", h, LAYOUTS[s.get("tile_order", "row-major")])
        self.call("array_schema_set_cell_order", h, LAYOUTS[s.get("cell_order", "row-major")])
        if s.get("capacity"):
            self.call("array_schema_set_capacity", h, u64(s["capacity"]))
        if s.get("allows_dups"):
            self.call("array_schema_set_allows_dups", h, C.c_int(1))
        for which in ("coords", "offsets", "validity"):
            if s.get(which + "_filters") is not None:
                self.call("array_schema_set_%s_filter_list" % which, h,
                          self.chunked_filter_list(s[which + "_filters"]))
        if s.get("current_domain"):
            cd = self.current_domain(dom, s["current_domain"])
            self.call("array_schema_set_current_domain", h, cd)
        self.call("array_schema_check", h)
        return h

    def create(self, uri, schema):
        if self.key and not self.key_in_config:
            self.call("array_create_with_key", uri.encode(), schema, 1, self.key.encode(), u32(len(self.key)))
        else:
            self.call("array_create", uri.encode(), schema)

    # -- arrays --------------------------------------------------------------------------------------------------

    def open(self, uri, mode, end=None, start=None):
        """Opens an array; `end` is the timestamp for writing, [start, end] the window for reading.

        Before 2.3 only reads can be given a timestamp: write.py renames what was written."""
        if mode != READ and not self.has("tiledb_array_set_open_timestamp_end"):
            end = None
        h = self.new("array_alloc", uri.encode())
        if self.has("tiledb_array_set_open_timestamp_end"):
            if self.key:
                if self.has("tiledb_array_set_config"):
                    self.call("array_set_config", h, self.config)
            if start is not None:
                self.call("array_set_open_timestamp_start", h, u64(start))
            if end is not None:
                self.call("array_set_open_timestamp_end", h, u64(end))
            if self.key and not self.key_in_config:
                self.call("array_open_with_key", h, mode, 1, self.key.encode(), u32(len(self.key)))
            else:
                self.call("array_open", h, mode)
        elif self.key:
            key = (1, self.key.encode(), u32(len(self.key)))
            if end is None:
                self.call("array_open_with_key", h, mode, *key)
            else:
                self.call("array_open_at_with_key", h, mode, *key, u64(end))
        elif end is None:
            self.call("array_open", h, mode)
        else:
            self.call("array_open_at", h, mode, u64(end))
        return h

    def close(self, array):
        self.call("array_close", array)
        self.dll.tiledb_array_free(C.byref(array))

    def set_box(self, array, query, box):
        """Restricts a query to one range per dimension; an entry None keeps the whole dimension.

        Every entry is (lo bytes, hi bytes, var); new libraries also take a list of such ranges."""
        if self.has("tiledb_subarray_alloc") and self.has("tiledb_query_set_subarray_t"):
            sub = self.new("subarray_alloc", array)
            for i, r in enumerate(box):
                if r is None:
                    continue
                for lo, hi, var in r if isinstance(r, list) else [r]:
                    if var:
                        self.call("subarray_add_range_var", sub, u32(i), cbytes(lo), u64(len(lo)), cbytes(hi), u64(len(hi)))
                    else:
                        self.call("subarray_add_range", sub, u32(i), cbytes(lo), cbytes(hi), None)
            self.call("query_set_subarray_t", query, sub)
            self.dll.tiledb_subarray_free(C.byref(sub))
        elif any(r is None for r in box):
            for i, r in enumerate(box):
                if r is not None and r[2]:
                    self.call("query_add_range_var", query, u32(i), cbytes(r[0]), u64(len(r[0])), cbytes(r[1]),
                              u64(len(r[1])))
                elif r is not None:
                    self.call("query_add_range", query, u32(i), cbytes(r[0]), cbytes(r[1]), None)
        else:
            # old write path: homogeneous fixed dimensions
            self.call("query_set_subarray", query, cbytes(b"".join(lo + hi for lo, hi, _ in box)))

    def set_buffers(self, query, name, data, data_size, offsets=None, off_size=None, valid=None, valid_size=None):
        """Attaches buffers; sizes are c_uint64 that the library updates."""
        n = name.encode()
        if self.has("tiledb_query_set_data_buffer"):
            self.call("query_set_data_buffer", query, n, data, C.byref(data_size))
            if offsets is not None:
                self.call("query_set_offsets_buffer", query, n, offsets, C.byref(off_size))
            if valid is not None:
                self.call("query_set_validity_buffer", query, n, valid, C.byref(valid_size))
        elif valid is not None and offsets is not None:
            self.call("query_set_buffer_var_nullable", query, n, offsets, C.byref(off_size), data,
                      C.byref(data_size), valid, C.byref(valid_size))
        elif valid is not None:
            self.call("query_set_buffer_nullable", query, n, data, C.byref(data_size), valid, C.byref(valid_size))
        elif offsets is not None:
            self.call("query_set_buffer_var", query, n, offsets, C.byref(off_size), data, C.byref(data_size))
        else:
            self.call("query_set_buffer", query, n, data, C.byref(data_size))

    def condition(self, c):
        """["and"|"or", c...], ["not", c], [field, "in"|"not-in", [hex...]], [field, op, hex], or null for hex: is null."""
        if c[0] in ("and", "or"):
            left = self.condition(c[1])
            for nxt in c[2:]:
                left = self.new("query_condition_combine", left, self.condition(nxt), 0 if c[0] == "and" else 1)
            return left
        if c[0] == "not":
            return self.new("query_condition_negate", self.condition(c[1]))
        if c[1] in ("in", "not-in"):
            cells = [bytes.fromhex(x) for x in c[2]]
            data, starts = b"".join(cells), [sum(map(len, cells[:i])) for i in range(len(cells))]
            offsets = (C.c_uint64 * len(cells))(*starts)
            return self.new("query_condition_alloc_set_membership", c[0].encode(), cbytes(data), u64(len(data)), offsets,
                            u64(8 * len(cells)), 6 if c[1] == "in" else 7)
        h = self.new("query_condition_alloc")
        if c[2] is None:
            self.call("query_condition_init", h, c[0].encode(), None, u64(0), OPS[c[1]])
            return h
        data = bytes.fromhex(c[2])
        self.call("query_condition_init", h, c[0].encode(), cbytes(data), u64(len(data)), OPS[c[1]])
        return h

    def consolidate(self, uri, config):
        cfg = self.make_config(dict(self.base, **config))
        if self.key and not self.key_in_config:
            self.call("array_consolidate_with_key", uri.encode(), 1, self.key.encode(), u32(len(self.key)), cfg)
        else:
            self.call("array_consolidate", uri.encode(), cfg)

    def vacuum(self, uri, config):
        self.call("array_vacuum", uri.encode(), self.make_config(dict(self.base, **config)))
