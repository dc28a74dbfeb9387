"""Runs of calls that make sense, so that sequences get deep: arrays are made, written and read.
Each call goes through `Machine.call`, which draws some arguments anew; the handles stay in the
pools, where any other call may find them."""

import ctypes
import pathlib

DENSE, SPARSE = 0, 1
READ, WRITE, DELETE = 0, 1, 2
ROW, COLUMN, GLOBAL, UNORDERED, HILBERT = 0, 1, 2, 3, 4
INT32, INT64, FLOAT64, UINT8, UINT16, UINT64, ASCII, UTF8, DAY = 0, 1, 3, 6, 8, 10, 11, 12, 21
VAR = 0xFFFFFFFF
SIZES = {INT32: 4, INT64: 8, FLOAT64: 8, UINT8: 1, UINT16: 2, UINT64: 8, ASCII: 1, UTF8: 1, DAY: 8}
NUMBERS = {INT32: ctypes.c_int32, INT64: ctypes.c_int64, FLOAT64: ctypes.c_double, UINT8: ctypes.c_uint8, UINT16: ctypes.c_uint16, UINT64: ctypes.c_uint64, DAY: ctypes.c_int64}
# Filters by the code of their type: those that any field may have come first.
FILTERS = [1, 2, 3, 4, 5, 8, 9, 12, 13, 0, 6, 7, 10, 14, 15, 16, 19]


class Arrays:
    """The runs of one machine that make, write and read arrays."""

    def __init__(self, machine):
        self.machine, self.call, self.random, self.pools = machine, machine.call, machine.random, machine.pools

    def array(self):
        """The name and the shape of an array that exists, most often."""
        # Other calls remove and move them.
        with self.pools.lock:
            for uri in [uri for uri in self.pools.arrays if not pathlib.Path(uri).is_dir()]:
                del self.pools.arrays[uri]
        if not self.pools.arrays:
            self.create()
        if not self.pools.arrays:
            return None, None
        uri = self.random.choice(sorted(self.pools.arrays))
        return uri, self.pools.arrays[uri]

    def keep(self, values):
        """Memory of the caller that lasts."""
        self.pools.kept.append(values)
        return ctypes.addressof(values)

    # Arrays.

    def filters(self):
        context = self.context()
        made = self.call("tiledb_filter_list_alloc", context, ...)
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            code = self.random.choice(FILTERS[:9] if self.random.random() < 0.8 else FILTERS)
            one = self.call("tiledb_filter_alloc", context, code, ...)
            if made and one:
                self.call("tiledb_filter_list_add_filter", context, made, one)
        return made

    def context(self):
        contexts = [entry for entry in self.pools.handles["tiledb_ctx_t"] if not entry.freed]
        return contexts[0] if self.random.random() < 0.8 or not contexts else self.random.choice(contexts)

    def create(self):
        context, draw = self.context(), self.random
        uri = f"array{draw.randrange(6)}"
        if uri in self.pools.arrays and draw.random() < 0.7:
            return
        sparse = draw.random() < 0.6
        schema = self.call("tiledb_array_schema_alloc", context, SPARSE if sparse else DENSE, ...)
        domain = self.call("tiledb_domain_alloc", context, ...)
        if not schema or not domain:
            return
        dims, type = [], draw.choice([INT32, INT32, INT64, UINT8, UINT64, DAY])
        for index in range(draw.choice([1, 1, 2, 2, 3])):
            if sparse:
                type = draw.choice([INT32, INT64, FLOAT64, UINT8, ASCII, ASCII])
            name = f"d{index + 1}"
            bounds, extent = None, None
            if type != ASCII:
                bounds = self.keep((NUMBERS[type] * 2)(0, draw.choice([3, 9, 19, 99])))
                extent = self.keep((NUMBERS[type] * 1)(draw.choice([1, 2, 4])))
            one = self.call("tiledb_dimension_alloc", context, name, type, bounds, extent, ...)
            if one:
                filters = self.filters() if draw.random() < 0.3 else None
                if filters:
                    self.call("tiledb_dimension_set_filter_list", context, one, filters)
                self.call("tiledb_domain_add_dimension", context, domain, one)
                dims.append((name, type, type == ASCII, False))
        self.call("tiledb_array_schema_set_domain", context, schema, domain)
        fields = []
        for name in draw.sample(["a", "b", "n", "s", "e"], draw.choice([1, 2, 3])):
            type = draw.choice([INT32, INT64, FLOAT64, UINT8, UINT16, ASCII, UTF8, DAY])
            var, nullable = draw.random() < 0.3, draw.random() < 0.3
            one = self.call("tiledb_attribute_alloc", context, name, type, ...)
            if not one:
                continue
            if var:
                self.call("tiledb_attribute_set_cell_val_num", context, one, VAR)
            if nullable:
                self.call("tiledb_attribute_set_nullable", context, one, 1)
            if draw.random() < 0.5 and (filters := self.filters()):
                self.call("tiledb_attribute_set_filter_list", context, one, filters)
            if name == "e" and not var and (words := self.words("words")):
                self.call("tiledb_attribute_set_enumeration_name", context, one, "words")
                self.call("tiledb_array_schema_add_enumeration", context, schema, words)
            if self.call("tiledb_array_schema_add_attribute", context, schema, one):
                fields.append((name, type, var, nullable))
        if sparse:
            self.call("tiledb_array_schema_set_capacity", context, schema, draw.choice([1, 2, 5, 100]))
            self.call("tiledb_array_schema_set_allows_dups", context, schema, draw.randrange(2))
        self.call("tiledb_array_schema_set_cell_order", context, schema, draw.choice([ROW, ROW, COLUMN, HILBERT]))
        self.call("tiledb_array_schema_set_tile_order", context, schema, draw.choice([ROW, COLUMN]))
        if not sparse and draw.random() < 0.2:
            self.call("tiledb_array_schema_add_dimension_label", context, schema, 0, "x", 1, FLOAT64)
        if draw.random() < 0.2 and (current := self.current(domain, dims)):
            self.call("tiledb_array_schema_set_current_domain", context, schema, current)
        self.call("tiledb_array_schema_check", context, schema)
        if uri in self.pools.arrays:
            self.call("tiledb_array_delete", context, uri)
        if self.call("tiledb_array_create", context, uri, schema):
            self.pools.arrays[uri] = (sparse, dims, fields)

    def words(self, name):
        text, places = ctypes.create_string_buffer(b"redgreenblue"), (ctypes.c_uint64 * 3)(0, 3, 8)
        return self.call("tiledb_enumeration_alloc", self.context(), name, ASCII, VAR, 0, self.keep(text), 12, self.keep(places), 24, ...)

    def current(self, domain, dims):
        context = self.context()
        rectangle = self.call("tiledb_ndrectangle_alloc", context, domain, ...)
        made = self.call("tiledb_current_domain_create", context, ...)
        for index, (_, type, _, _) in enumerate(dims):
            if type == ASCII:
                ends, size = ctypes.create_string_buffer(b"az"), 1
            else:
                ends, size = (NUMBERS[type] * 2)(0, self.random.randrange(10)), SIZES[type]
            low = self.keep(ends)
            range = self.keep((ctypes.c_uint64 * 4)(low, size, low + size, size))
            if rectangle:
                self.call("tiledb_ndrectangle_set_range", context, rectangle, index, range)
        if rectangle and made:
            self.call("tiledb_current_domain_set_ndrectangle", context, made, rectangle)
        return made

    def open(self, uri, type, context):
        array = self.call("tiledb_array_alloc", context, uri, ...)
        if not array:
            return None
        if self.random.random() < 0.7:
            self.call("tiledb_array_set_open_timestamp_end", context, array, self.random.randrange(1, 60))
        return array if self.call("tiledb_array_open", context, array, type) else None

    def buffer(self, context, query, field, cells, read):
        """Gives a field its buffers."""
        name, type, var, nullable = field
        slack = self.random.choice([0, 0, 0, 1, 4]) if self.random.random() < 0.1 else 0
        count = max(cells - slack, 0)
        width = SIZES[type]
        if type == ASCII or type == UTF8:
            data = ctypes.create_string_buffer(self.random.randbytes(4 * cells + 8).replace(b"\0", b"a").translate(bytes(97 + i % 5 for i in range(256))), 4 * cells + 16)
        else:
            numbers = [self.random.randrange(20) for _ in range(4 * cells)]
            if name == "d1" and self.random.random() < 0.7:
                # So that writes in global order succeed.
                numbers = sorted(numbers[:count]) + numbers[count:]
            data = (NUMBERS[type] * (4 * cells + 8))(*numbers)
        size = ctypes.c_uint64(width * count * (2 if var and not read else 1) if not read else width * self.random.choice([count, count, 3 * count]))
        self.call("tiledb_query_set_data_buffer", context, query, name, self.pools.lend(data, size), ctypes.addressof(size))
        if var:
            places = (ctypes.c_uint64 * (cells + 8))(*(width * 2 * i for i in range(cells)))
            extent = ctypes.c_uint64(8 * count)
            address = self.pools.lend(places, extent)
            self.call("tiledb_query_set_offsets_buffer", context, query, name, address, ctypes.addressof(extent))
        if nullable:
            valid = (ctypes.c_uint8 * (cells + 8))(*(self.random.randrange(2) for _ in range(cells)))
            extent = ctypes.c_uint64(count)
            address = self.pools.lend(valid, extent)
            self.call("tiledb_query_set_validity_buffer", context, query, name, address, ctypes.addressof(extent))

    def query(self, context, array, type, layout):
        query = self.call("tiledb_query_alloc", context, array, type, ...)
        if query and self.random.random() < 0.2 and (config := self.config()):
            self.call("tiledb_query_set_config", context, query, config)
        if query and layout is not None:
            self.call("tiledb_query_set_layout", context, query, layout)
        return query

    def box(self, context, array, query, dims, ranges):
        subarray = self.call("tiledb_subarray_alloc", context, array, ...)
        if not subarray:
            return 1
        cells = 1
        for index, (name, type, var, _) in enumerate(dims):
            wide = 1
            for _ in range(self.random.randrange(1, ranges + 1)):
                low = self.random.randrange(8)
                high = low + self.random.randrange(4)
                if var:
                    ends = self.keep(ctypes.create_string_buffer(b"abcdefghijklmnop"))
                    self.call("tiledb_subarray_add_range_var", context, subarray, index, ends + low, 1, ends + high, self.random.randrange(3))
                else:
                    ends = self.keep((NUMBERS[type] * 2)(low, high))
                    self.call("tiledb_subarray_add_range", context, subarray, index, ends, ends + SIZES[type], None)
                    wide = high - low + 1
            cells *= wide
        self.call("tiledb_query_set_subarray_t", context, query, subarray)
        return cells

    def write(self):
        uri, shape = self.array()
        context = self.context()
        if not uri or not (array := self.open(uri, WRITE, context)):
            return
        sparse, dims, fields = shape
        layout = self.random.choice([UNORDERED, UNORDERED, GLOBAL] if sparse else [ROW, ROW, COLUMN, GLOBAL])
        query = self.query(context, array, WRITE, layout)
        if not query:
            return
        cells = self.random.choice([0, 1, 2, 5, 20])
        if not sparse:
            cells = min(self.box(context, array, query, dims, 1), 64)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            for field in fields + (dims if sparse else []):
                if self.random.random() < 0.98:
                    self.buffer(context, query, field, cells, False)
            self.call("tiledb_query_submit", context, query)
            if self.random.random() < 0.2:
                self.machine.any()
        if self.random.random() < 0.9:
            self.call("tiledb_query_finalize", context, query)
        if self.random.random() < 0.8:
            self.call("tiledb_array_close", context, array)

    def read(self):
        uri, shape = self.array()
        context = self.context()
        if not uri or not (array := self.open(uri, READ, context)):
            return
        sparse, dims, fields = shape
        query = self.query(context, array, READ, self.random.choice([ROW, COLUMN, GLOBAL, UNORDERED, None]))
        if not query:
            return
        if not sparse or self.random.random() < 0.6:
            self.box(context, array, query, dims, self.random.choice([1, 1, 3]))
        if self.random.random() < 0.3 and (condition := self.condition(fields + dims)):
            self.call("tiledb_query_set_condition", context, query, condition)
        if self.random.random() < 0.2:
            self.aggregate(context, query, fields)
        cells = self.random.choice([0, 1, 2, 3, 10, 100])
        some = [field for field in fields + dims if self.random.random() < 0.7]
        for field in some:
            self.buffer(context, query, field, cells, True)
        for _ in range(self.random.choice([1, 2, 4])):
            self.call("tiledb_query_submit", context, query)
            self.call("tiledb_query_get_status", context, query, ...)
            if self.random.random() < 0.2:
                self.machine.any()
            if self.random.random() < 0.3 and some:
                self.buffer(context, query, self.random.choice(some), self.random.choice([1, 5, 50]), True)
        if self.random.random() < 0.5:
            self.call("tiledb_query_finalize", context, query)
        if self.random.random() < 0.6:
            self.call("tiledb_array_close", context, array)

    def condition(self, fields):
        context, made = self.context(), None
        for _ in range(self.random.choice([1, 1, 2, 3])):
            name, type, var, _ = self.random.choice(fields)
            value = self.keep((ctypes.c_uint64 * 2)(self.random.randrange(20), 0))
            one = self.call("tiledb_query_condition_alloc", context, ...)
            if not one:
                continue
            size = self.random.randrange(3) if var else SIZES[type]
            self.call("tiledb_query_condition_init", context, one, name, value, size, self.random.randrange(6))
            made = self.call("tiledb_query_condition_combine", context, made, one, self.random.randrange(2), ...) if made else one
        return self.call("tiledb_query_condition_negate", context, made, ...) if made and self.random.random() < 0.2 else made

    def aggregate(self, context, query, fields):
        channel = self.call("tiledb_query_get_default_channel", context, query, ...)
        kind = self.random.choice(["sum", "min", "max", "mean", "null_count"])
        operator = self.call(f"tiledb_channel_operator_{kind}_get", context, ...)
        name = self.random.choice(fields)[0] if fields else "a"
        operation = self.call("tiledb_create_unary_aggregate", context, query, operator, name, ...) if operator else None
        if self.random.random() < 0.3:
            operation = self.call("tiledb_aggregate_count_get", context, ...)
        if channel and operation:
            self.call("tiledb_channel_apply_aggregate", context, channel, "Sum", operation)
            self.buffer(context, query, ("Sum", INT64, False, False), 1, True)

    def config(self):
        config = self.call("tiledb_config_alloc", ..., ...)
        keys = {
            "sm.consolidation.mode": ["fragments", "fragment_meta", "commits", "array_meta", "group_meta"],
            "sm.vacuum.mode": ["fragments", "fragment_meta", "commits", "array_meta"],
            "sm.var_offsets.mode": ["bytes", "elements"], "sm.var_offsets.bitsize": ["32", "64"],
            "sm.var_offsets.extra_element": ["true", "false"], "sm.read_range_oob": ["warn", "error"],
            "sm.dedup_coords": ["true"], "sm.check_coord_dups": ["false"], "sm.check_coord_oob": ["false"],
            "sm.mem.total_budget": ["1", "1000", "100000"], "sm.memory_budget": ["0", "100"],
            "sm.consolidation.buffer_size": ["1", "10000"], "sm.consolidation.timestamp_end": ["10"],
            "sm.compute_concurrency_level": ["1", "2"], "sm.consolidation.purge_deleted_cells": ["true"],
        }
        for _ in range(self.random.randrange(1, 4)):
            key = self.random.choice(sorted(keys))
            if config:
                self.call("tiledb_config_set", config, key, self.random.choice(keys[key]), ...)
        return config
