"""Runs of calls that ask, maintain and damage what there is: the rest of a sequence."""

import ctypes
import pathlib
import shutil

from steps import COLUMN, DELETE, INT32, NUMBERS, READ, ROW, SIZES, UNORDERED, WRITE, Arrays


class Steps(Arrays):
    """All runs of one machine."""

    def some(self):
        """One run."""
        runs = [self.write] * 3 + [self.read] * 6 + [self.create] * 2 + [
            self.delete, self.maintain, self.maintain, self.fragments, self.metadata, self.evolve, self.group,
            self.damage, self.damage, self.look, self.files, self.store, self.config, self.ask, self.ask,
            self.profile, self.words_of,
        ]
        self.random.choice(runs)()

    def ask(self):
        """All that a query and a subarray can say, before and after a submit."""
        uri, shape = self.array()
        context = self.context()
        if not uri or not shape[2] or not (array := self.open(uri, READ, context)):
            return
        sparse, dims, fields = shape
        query = self.query(context, array, READ, self.random.choice([ROW, COLUMN, UNORDERED]))
        subarray = self.call("tiledb_subarray_alloc", context, array, ...)
        if not query or not subarray or not dims:
            return
        index = self.random.randrange(len(dims))
        name, type, var, _ = dims[index]
        if var:
            ends = self.keep(ctypes.create_string_buffer(b"abcdefghijklmnop"))
            places = self.keep((ctypes.c_uint64 * 3)(0, 2, 3))
            self.call("tiledb_subarray_add_range_var_by_name", context, subarray, name, ends, 1, ends + 5, 2)
            self.call("tiledb_subarray_add_point_ranges_var", context, subarray, index, ends, 6, places, self.random.randrange(4))
        else:
            ends = self.keep((NUMBERS[type] * 4)(0, 1, 2, 3))
            self.call("tiledb_subarray_add_range_by_name", context, subarray, name, ends, ends + SIZES[type], None)
            self.call("tiledb_subarray_add_point_ranges", context, subarray, index, ends, self.random.randrange(5))
        label = self.keep((ctypes.c_double * 2)(0, 9))
        self.call("tiledb_subarray_add_label_range", context, subarray, "x", label, label + 8, None)
        for function in self.pools.names:
            if function.startswith("tiledb_subarray_get_") and self.random.random() < 0.5:
                which = name if function.endswith("_from_name") else index
                which = "x" if "label_range" in function else which
                self.call(function, context, subarray, *[which, 0][: 2 if "num" not in function else 1])
        self.call("tiledb_query_set_subarray_t", context, query, subarray)
        for field in fields:
            self.buffer(context, query, field, 20, True)
        for field in self.random.sample(fields + dims, 1):
            for kind in ("", "_nullable", "_var", "_var_nullable"):
                self.call(f"tiledb_query_get_est_result_size{kind}", context, query, field[0])
            for kind in ("data", "offsets", "validity"):
                self.call(f"tiledb_query_get_{kind}_buffer", context, query, field[0])
            if found := self.call("tiledb_query_get_field", context, query, field[0], ...):
                for what in ("datatype", "cell_val_num", "channel", "origin"):
                    self.call(f"tiledb_field_{what}", context, found)
            self.call("tiledb_array_get_non_empty_domain_from_name", context, array, field[0])
            self.call("tiledb_array_get_non_empty_domain_var_from_name", context, array, field[0])
        for function in ("get_relevant_fragment_num", "get_stats", "get_plan", "submit", "get_status_details", "has_results", "get_array"):
            self.call(f"tiledb_query_{function}", context, query)

    def words_of(self):
        """Enumerations: of arrays, in conditions, and longer ones."""
        uri, _ = self.array()
        context = self.context()
        if words := self.words("words"):
            text = self.keep(ctypes.create_string_buffer(b"blackyellow"))
            places = self.keep((ctypes.c_uint64 * 2)(0, 5))
            longer = self.call("tiledb_enumeration_extend", context, words, text, 11, places, 16, ...)
            if longer and uri and (evolution := self.call("tiledb_array_schema_evolution_alloc", context, ...)):
                self.call("tiledb_array_schema_evolution_extend_enumeration", context, evolution, longer)
                self.call("tiledb_array_evolve", context, uri, evolution)
        if uri and (array := self.open(uri, READ, context)):
            self.call("tiledb_array_load_all_enumerations", context, array)
            self.call("tiledb_array_get_enumeration", context, array, "words", ...)
            text = self.keep(ctypes.create_string_buffer(b"redblue"))
            places = self.keep((ctypes.c_uint64 * 2)(0, 3))
            condition = self.call("tiledb_query_condition_alloc_set_membership", context, "e", text, 7, places, 16, self.random.randrange(6, 8), ...)
            query = self.query(context, array, READ, UNORDERED)
            if query and condition:
                self.call("tiledb_query_condition_set_use_enumeration", context, condition, self.random.randrange(2))
                self.call("tiledb_query_set_condition", context, query, condition)
                self.buffer(context, query, ("e", INT32, False, False), 10, True)
                self.call("tiledb_query_submit", context, query)

    def profile(self):
        if profile := self.call("tiledb_profile_alloc", "mine", "profiles/", ..., ...):
            for function in ("set_param", "save", "load", "dump_str", "get_param", "get_name"):
                self.call(f"tiledb_profile_{function}", profile)
            self.call("tiledb_profile_remove", "mine", "profiles/")

    def maintain(self):
        uri, _ = self.array()
        config, context = self.config(), self.context()
        if uri and config:
            self.call("tiledb_array_consolidate", context, uri, config)
            self.call(self.random.choice(["tiledb_array_vacuum", "tiledb_array_consolidate", "tiledb_array_upgrade_version"]), context, uri, config)

    def delete(self):
        uri, shape = self.array()
        context = self.context()
        if not uri or not (array := self.open(uri, DELETE, context)):
            return
        query = self.query(context, array, DELETE, None)
        condition = self.condition(shape[2] + shape[1])
        if query and condition:
            self.call("tiledb_query_set_condition", context, query, condition)
            self.call("tiledb_query_submit", context, query)
        self.call("tiledb_array_close", context, array)

    def fragments(self):
        uri, _ = self.array()
        context = self.context()
        info = self.call("tiledb_fragment_info_alloc", context, uri or "array0", ...)
        if not info or not self.call("tiledb_fragment_info_load", context, info):
            return
        names = [name for name in self.pools.names if name.startswith("tiledb_fragment_info_get_")]
        for name in self.random.sample(names, 12):
            # A fragment, a rectangle and a dimension that exist, most often.
            indices = [self.random.choice([0, 0, 0, 1])] * (2 if "_mbr_" in name else 1)
            last = ["d1"] if name.endswith("from_name") else [0]
            self.call(name, context, info, *(indices + last)[: len(self.pools.functions[name][1]) - 2])
        if uri and self.random.random() < 0.3 and (array := self.open(uri, READ, context)):
            if plan := self.call("tiledb_consolidation_plan_create_with_mbr", context, array, ...):
                self.call("tiledb_consolidation_plan_dump_json_str", context, plan, ...)

    def metadata(self):
        uri, _ = self.array()
        context = self.context()
        if uri and (array := self.open(uri, WRITE, context)):
            for _ in range(self.random.randrange(4)):
                self.call("tiledb_array_put_metadata", context, array)
                self.call("tiledb_array_delete_metadata", context, array)
            self.call("tiledb_array_close", context, array)
        if uri and (array := self.open(uri, READ, context)):
            for name in ("num", "from_index", ""):
                self.call(f"tiledb_array_get_metadata{'_' if name else ''}{name}", context, array)
            self.call("tiledb_array_has_metadata_key", context, array)

    def evolve(self):
        uri, shape = self.array()
        context = self.context()
        evolution = self.call("tiledb_array_schema_evolution_alloc", context, ...)
        if not uri or not evolution:
            return
        attribute = self.call("tiledb_attribute_alloc", context, "b", INT32, ...)
        if attribute and self.random.random() < 0.5:
            self.call("tiledb_array_schema_evolution_add_attribute", context, evolution, attribute)
        elif shape[2]:
            self.call("tiledb_array_schema_evolution_drop_attribute", context, evolution, self.random.choice(shape[2])[0])
        self.call("tiledb_array_evolve", context, uri, evolution)

    def group(self):
        context, uri = self.context(), f"group{self.random.randrange(2)}"
        self.call("tiledb_group_create", context, uri)
        group = self.call("tiledb_group_alloc", context, uri, ...)
        if group and self.call("tiledb_group_open", context, group, self.random.choice([WRITE, WRITE, READ, 4])):
            self.call("tiledb_group_add_member", context, group, f"../{self.array()[0]}", 1, "a")
            for name in self.random.sample([name for name in self.pools.names if name.startswith("tiledb_group_") and "delete_group" not in name], 5):
                if self.pools.functions[name][1][1:2] == ["tiledb_group_t*"]:
                    self.call(name, context, group)
            self.call("tiledb_group_close", context, group)
        if group and self.call("tiledb_group_open", context, group, READ):
            for name in ("member_by_name_v2", "is_relative_uri_by_name", "metadata"):
                self.call(f"tiledb_group_get_{name}", context, group, "a")
            for name in ("member_by_index_v2", "metadata_from_index"):
                self.call(f"tiledb_group_get_{name}", context, group, 0)
            self.call("tiledb_group_dump_str_v2", context, group, ..., 1)

    def damage(self):
        """Copies an array, changes bytes of one of its files, and opens it from then on."""
        uri, shape = self.array()
        target = f"damaged{self.random.randrange(4)}"
        if not uri or uri == target or not pathlib.Path(uri).is_dir() or self.pools.threads > 1:
            return
        shutil.rmtree(target, ignore_errors=True)
        try:
            shutil.copytree(uri, target)
        except OSError:
            # Other calls may have moved something there.
            return
        files = sorted(path for path in pathlib.Path(target).rglob("*") if path.is_file() and path.stat().st_size)
        if self.random.random() < 0.8:
            # An array whose schema is damaged shows nothing else.
            files = [path for path in files if "__schema" not in path.parts]
        for path in self.random.sample(files, min(len(files), self.random.choice([1, 1, 2]))):
            data = bytearray(path.read_bytes())
            for _ in range(self.random.choice([1, 1, 3, 10])):
                data[self.random.randrange(len(data))] = self.random.choice([0, 1, 255, self.random.randrange(256)])
            if self.random.random() < 0.2:
                del data[self.random.randrange(len(data)):]
            path.write_bytes(data)
            self.pools.log(f"{self.machine.name} damaged {path}")
        self.pools.arrays[target] = shape

    def look(self):
        """All that a schema or an open array can say."""
        uri, _ = self.array()
        context = self.context()
        if uri and (schema := self.call("tiledb_array_schema_load", context, uri, ...)):
            for name in self.pools.names:
                if name.startswith(("tiledb_array_schema_get_", "tiledb_array_schema_dump")) and self.random.random() < 0.3:
                    self.call(name, context, schema)
            if label := self.call("tiledb_array_schema_get_dimension_label_from_name", context, schema, "x", ...):
                for name in self.pools.names:
                    if name.startswith("tiledb_dimension_label_get_"):
                        self.call(name, context, label)
        if uri and (array := self.open(uri, READ, context)):
            for name in self.pools.names:
                if name.startswith("tiledb_array_get_") and self.random.random() < 0.3:
                    self.call(name, context, array)

    def files(self):
        context = self.context()
        if vfs := self.call("tiledb_vfs_alloc", context, None, ...):
            path = self.random.choice(["folder/file", "mem://m/f", "file.txt"])
            self.call("tiledb_vfs_create_dir", context, vfs, "folder")
            if file := self.call("tiledb_vfs_open", context, vfs, path, self.random.randrange(3), ...):
                self.call("tiledb_vfs_write", context, file)
                self.call("tiledb_vfs_read", context, file)
                self.call("tiledb_vfs_close", context, file)

    def store(self):
        context = self.context()
        if schema := self.call("tiledb_filestore_schema_create", context, None, ...):
            self.call("tiledb_array_create", context, "store", schema)
            self.call("tiledb_filestore_buffer_import", context, "store")
            self.call("tiledb_filestore_buffer_export", context, "store")
            self.call("tiledb_filestore_size", context, "store")
