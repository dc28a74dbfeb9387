"""Makes calls of the C API with arguments that fit their types, more or less: handles from pools
that earlier calls filled (some of them null, freed, or of another type), numbers of any size, names
that exist and names that do not. Memory is always large enough for what a call may read or write; a
crash is a fault of the library."""

import ctypes
import random
import threading

import capi

# A caller's memory for input, for output, and the greatest size that is told of either.
INPUT, OUTPUT, MOST = 1 << 17, 1 << 17, 4096
POOL = 24
WILD = [0, 1, 2, 3, 4, 5, 7, 8, 16, 100, 255, 256, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 63, (1 << 64) - 1]
# Functions that read a count of values at a pointer which follows it.
COUNTED = {"tiledb_array_put_metadata", "tiledb_group_put_metadata"}
# Numbers of values in a cell: the library may make memory for one cell.
SMALL = {"tiledb_attribute_set_cell_val_num", "tiledb_dimension_set_cell_val_num", "tiledb_enumeration_alloc"}
LISTS = {"tiledb_array_consolidate_fragments", "tiledb_array_delete_fragments_list"}
BUFFERS = {"tiledb_query_set_data_buffer", "tiledb_query_set_offsets_buffer", "tiledb_query_set_validity_buffer"}
# Texts that the library made, and the function that frees them.
TEXTS = {
    "tiledb_ctx_get_stats": "stats", "tiledb_query_get_stats": "stats", "tiledb_stats_dump_str": "stats",
    "tiledb_stats_raw_dump_str": "stats", "tiledb_stats_free_str": "stats",
    "tiledb_consolidation_plan_dump_json_str": "json", "tiledb_consolidation_plan_free_json_str": "json",
}
WORDS = [
    "", "a", "b", "n", "s", "e", "d1", "d2", "d3", "key", "x", "Count", "Sum", "words", "__timestamps", "__coords",
    "no", "value", "true", "false", "0", "1", "3", "100", "sm.dedup_coords", "sm.memory_budget",
    "sm.consolidation.mode", "fragments", "fragment_meta", "commits", "array_meta", "sm.vacuum.mode",
    "sm.var_offsets.mode", "elements", "sm.var_offsets.bitsize", "32", "sm.var_offsets.extra_element",
    "sm.read_range_oob", "error", "sm.mem.total_budget", "rest.username", "INT32", "READ", "row-major", "ZSTD",
    "f\u00fc\u00df", "a" * 300, "colour", "red", "mem://m", "mem://m/f", "no://scheme", "file.txt", "folder",
]
FILES = ["array0", "array1", "array2", "array3", "group0", "group1", "folder", "folder/file", "file.txt", "mem://m", "mem://a"]


class Entry:
    """A handle in a pool."""

    def __init__(self, type, value, number):
        self.type, self.value, self.number = type, value, number
        self.users, self.freed = 0, False

    def __str__(self):
        return f"{self.type.removeprefix('tiledb_').removesuffix('_t')}{self.number}{'!' if self.freed else ''}"


class Pools:
    """What the threads share: handles, texts, memory, and the log."""

    def __init__(self, path, log, threads, freed):
        self.library = capi.load(path)
        self.enums = capi.constants()
        self.functions = {name: (result, types) for name, result, types in capi.functions()}
        self.names = sorted(self.functions)
        self.handles, self.texts = {}, {"stats": [], "json": []}
        self.lock, self.log, self.threads = threading.RLock(), log, threads
        # Freed handles are used again in one thread only: with two, their memory may be another's.
        self.freed = freed and threads == 1
        # Texts that the library returned, and the places of fragments among them.
        self.words, self.fragments = ["INT32"], ["array0/__fragments/__1_1_0"]
        self.lent = []
        self.kept, self.arrays, self.counts, self.good = [], {}, dict.fromkeys(self.names, 0), set()
        self.number = 0
        self.input = ctypes.create_string_buffer(INPUT)
        self.output = ctypes.create_string_buffer(OUTPUT)
        draw = random.Random(1)
        data = b"".join(draw.choice([draw.randrange(12).to_bytes(4, "little"), draw.randbytes(4), b"abcd"]) for _ in range(INPUT // 4))
        ctypes.memmove(self.input, data, INPUT)
        libc = ctypes.CDLL(None)
        libc.fopen.restype = ctypes.c_void_p
        self.null_file = libc.fopen(b"/dev/null", b"w")
        # Memory that was freed stays mapped, so that a freed handle can be looked at.
        for option, value in ((-1, 1 << 30), (-3, 1 << 25), (-8, 1)):
            libc.mallopt(option, value)

    def add(self, type, value):
        with self.lock:
            self.number += 1
            entry = Entry(type, value, self.number)
            pool = self.handles.setdefault(type, [])
            pool.append(entry)
            if len(pool) > POOL:
                # Old ones are forgotten, but for the first context; whoever uses them goes on.
                pool.pop(1 if type == "tiledb_ctx_t" else 0)
            return entry

    def lend(self, data, size):
        """Keeps a buffer of the caller as long as the program runs, and what is behind its end."""
        address = ctypes.addressof(data)
        behind = ctypes.string_at(address + size.value, ctypes.sizeof(data) - size.value)
        self.kept.append((data, size))
        with self.lock:
            self.lent.append((address + size.value, behind, size, size.value))
            del self.lent[:-60]
        return address

    def check(self):
        """Nothing may be behind the end of a buffer."""
        with self.lock:
            for address, behind, size, told in self.lent:
                assert ctypes.string_at(address, len(behind)) == behind, "a call wrote behind a buffer"
                assert size.value <= told, "a call returned a size that is greater than the buffer"

    def take(self, entry):
        with self.lock:
            if entry.freed and not self.freed:
                return False
            entry.users += 1
            return True

    def give(self, entry):
        with self.lock:
            entry.users -= 1


class Machine:
    """One thread of calls."""

    def __init__(self, pools, seed, name):
        self.pools, self.random, self.name, self.calls = pools, random.Random(seed), name, 0
        self.used = []

    # Arguments. Each draws a value for ctypes and a word for the log.

    def handle(self, type):
        draw, pool = self.random.random(), self.pools.handles.get(type, [])
        context = type == "tiledb_ctx_t"
        if draw < (0.002 if context else 0.03):
            return None, "null"
        if draw < (0.004 if context else 0.06):
            others = sorted(self.pools.handles)
            if others:
                return self.use(self.random.choice(self.pools.handles[self.random.choice(others)]))
        if draw < (0.005 if context else 0.07):
            return ctypes.addressof(self.pools.output) + 8 * self.random.randrange(64), "memory"
        if not pool:
            return None, "null"
        recent = context or self.random.random() < 0.6
        return self.use(pool[-1] if recent and not pool[-1].freed else self.random.choice(pool))

    def use(self, entry):
        if not self.pools.take(entry):
            return None, "null"
        self.used.append(entry)
        return entry.value, str(entry)

    def number(self, bits):
        draw = self.random.random()
        if draw < 0.6:
            return self.random.randrange(6)
        if draw < 0.85:
            return self.random.randrange(200)
        return self.random.choice(WILD) % (1 << bits)

    def size(self):
        draw = self.random.random()
        return self.random.choice([0, 1, 4, 8, 12, 16, 24]) if draw < 0.6 else self.random.randrange(MOST)

    def text(self, name, index):
        draw = self.random.random()
        if draw < 0.02:
            return None, "null"
        path = index <= 1 and name.startswith(("tiledb_array_", "tiledb_group_", "tiledb_object_", "tiledb_vfs_", "tiledb_filestore_", "tiledb_fragment_info_alloc"))
        path = path or (name.startswith(("tiledb_vfs_", "tiledb_object_", "tiledb_filestore_")) and index == 2)
        if path and draw < 0.9:
            known = FILES + sorted(self.pools.arrays)
            word = self.random.choice(known)
        elif name.endswith("_from_str") or draw < 0.2:
            word = self.random.choice(self.pools.words)
        elif "name" in name or "field" in name or "buffer" in name:
            word = self.random.choice(WORDS[:15])
        else:
            word = self.random.choice(WORDS if draw < 0.9 else FILES)
        return word.encode(), repr(word)

    def memory(self):
        at = self.random.randrange(0, INPUT - 8 * MOST, 4) if self.random.random() < 0.7 else 0
        return ctypes.addressof(self.pools.input) + at, f"input+{at}"

    def callback(self, name):
        kinds = {
            "tiledb_vfs_ls": [ctypes.c_char_p, ctypes.c_void_p],
            "tiledb_vfs_ls_recursive": [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_void_p],
            "tiledb_vfs_ls_recursive_v2": [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint8, ctypes.c_void_p],
        }.get(name, [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p])
        answer, again = self.random.choice([1, 1, 1, 0, -1]), self.random.random() < 0.3
        contexts = self.pools.handles.get("tiledb_ctx_t", [])
        context = next((entry.value for entry in contexts if not entry.freed), None)

        def answers(*_):
            if again:
                self.pools.library.tiledb_object_type(context, b"array0", ctypes.byref(ctypes.c_uint32()))
            return answer

        made = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(answers)
        return made, f"callback({answer})"

    def buffers(self, name, types):
        """A buffer of the caller, and its size, which last as long as the program."""
        size = ctypes.c_uint64(self.random.choice([0, 1, 2, 4, 8, 32, 64, 100, 400, 1024, 1024, 1024]))
        data = ctypes.create_string_buffer(self.pools.input[0:1024], 1032)
        self.pools.lend(data, size)
        field, word = self.text(name, 2)
        arguments = [(field, word), (ctypes.addressof(data), f"buffer[{size.value}]"), (ctypes.addressof(size), "size")]
        return [(None, "null") if self.random.random() < 0.02 else argument for argument in arguments]

    def arguments(self, name, types):
        """Values, words, and the variables that the call may fill."""
        values, words, outs = [], [], []

        def put(pair):
            values.append(pair[0])
            words.append(pair[1])

        for index, text in enumerate(types):
            plain = capi.plain(text)
            base = plain.rstrip("*")
            before = capi.plain(types[index - 1]) if index else ""
            if name in BUFFERS and index >= 2:
                if index == 2:
                    for pair in self.buffers(name, types):
                        put(pair)
            elif "callback" in plain:
                made = self.callback(name)
                outs.append(("kept", made[0], None))
                put((ctypes.cast(made[0], ctypes.c_void_p).value, made[1]) if self.random.random() > 0.03 else (None, "null"))
            elif plain == "FILE*":
                put((self.pools.null_file, "file"))
            elif plain == "char*" and name == "tiledb_uri_to_path" and index == 2:
                put((ctypes.addressof(self.pools.output), "output"))
            elif plain == "uint32_t*" and name == "tiledb_uri_to_path":
                slot = ctypes.c_uint32(self.random.choice([0, 1, 10, 300, 4096]))
                outs.append(("number", slot, None))
                put((ctypes.addressof(slot), f"&{slot.value}"))
            elif plain == "char*":
                put(self.text(name, index))
            elif name in LISTS and plain == "char**":
                uris = [self.random.choice(self.pools.fragments).encode() if self.random.random() < 0.95 else None for _ in range(4)]
                made = (ctypes.c_char_p * 4)(*uris)
                outs.append(("kept", made, None))
                put((ctypes.addressof(made), f"{uris}"))
            elif name in LISTS and index == len(types) - (2 if "consolidate" in name else 1):
                put((self.random.randrange(5),) * 2)
            elif plain == "char**" and name in TEXTS:
                pool = self.pools.texts[TEXTS[name]]
                slot = ctypes.c_void_p(None)
                with self.pools.lock:
                    if "free" in name and pool:
                        slot.value = pool.pop()
                outs.append(("text", slot, TEXTS[name]))
                put((ctypes.addressof(slot), "&text"))
            elif plain == "tiledb_range_t*":
                made = (ctypes.c_uint64 * 4)(*self.range())
                outs.append(("kept", made, None))
                put((ctypes.addressof(made), "range") if self.random.random() > 0.03 else (None, "null"))
            elif plain == "void*" and "const" not in text:
                put((ctypes.addressof(self.pools.output), "output") if self.random.random() > 0.02 else (None, "null"))
            elif plain == "void*" or text in ("const uint64_t*",):
                put(self.memory() if self.random.random() > 0.03 else (None, "null"))
            elif plain.endswith("**") and base in ("void", "char", "uint64_t", "uint8_t"):
                slot = ctypes.c_void_p(None)
                outs.append(("data" if base == "void" else base, slot, None))
                put((ctypes.addressof(slot), f"&{base}") if self.random.random() > 0.02 else (None, "null"))
            elif plain.endswith("**"):
                self.variable(name, base, outs, put)
            elif plain.endswith("*") and base.startswith("tiledb_") and base not in self.pools.enums and base != "tiledb_query_status_details_t":
                put(self.handle(base))
            elif plain.endswith("*"):
                slot = ctypes.c_uint64(self.number(64))
                outs.append(("number", slot, None))
                put((ctypes.addressof(slot), f"&{base}") if self.random.random() > 0.02 else (None, "null"))
            elif plain in self.pools.enums:
                put((self.random.choice(self.pools.enums[plain]) if self.random.random() < 0.97 else self.number(32),) * 2)
            elif plain in ("uint64_t", "size_t") and before in ("void*", "uint64_t*", "char*"):
                put((self.size(),) * 2)
            elif plain == "uint32_t" and (name in COUNTED or name in SMALL):
                put((self.random.choice([0, 1, 1, 1, 2, 3, 100, 0xFFFFFFFF if name in SMALL else 256]),) * 2)
            else:
                bits = {"uint64_t": 64, "size_t": 64, "uint8_t": 8}.get(plain, 32)
                put((self.number(bits),) * 2)
        return values, words, outs

    def range(self):
        base = ctypes.addressof(self.pools.input)
        size = self.random.choice([0, 1, 4, 4, 4, 8, 16])
        ends = sorted(self.random.randrange(0, 400, 4) for _ in range(2))
        return [base + ends[0], size, base + ends[1], size if self.random.random() < 0.9 else self.size()]

    def variable(self, name, base, outs, put):
        """A variable for a handle: empty, or with one that the function frees."""
        slot = ctypes.c_void_p(None)
        if name.endswith("_free"):
            pool = [entry for entry in self.pools.handles.get(base, []) if self.pools.freed or not entry.freed]
            # The first context lasts.
            pool = pool[1:] if base == "tiledb_ctx_t" else pool
            if pool:
                entry = self.random.choice(pool)
                with self.pools.lock:
                    if entry.users == 0 and (self.pools.freed or not entry.freed):
                        entry.freed = True
                        slot.value = entry.value
                        put((ctypes.addressof(slot), f"&{entry}"))
                        outs.append(("kept", slot, None))
                        return
            put((ctypes.addressof(slot), "&null"))
            outs.append(("kept", slot, None))
            return
        outs.append(("handle", slot, base))
        put((ctypes.addressof(slot), f"&{base}") if self.random.random() > 0.02 else (None, "null"))

    # Calls.

    def any(self):
        """Calls some function, most often one that was called seldom."""
        names = self.pools.names
        name = min(self.random.sample(names, 3), key=self.pools.counts.get) if self.random.random() < 0.3 else self.random.choice(names)
        if name == "tiledb_ctx_free" and self.random.random() < 0.9:
            return
        self.run(name, *self.arguments(name, self.pools.functions[name][1]))

    def call(self, name, *arguments):
        """Calls a function with these arguments: `Entry`s, numbers, texts, `None`, variables of
        ctypes. Those that are `...` are drawn. Now and then one of the others is drawn, too."""
        types = self.pools.functions[name][1]
        values, words, outs = self.arguments(name, types)
        for index, argument in enumerate(arguments):
            keep = isinstance(argument, ctypes._SimpleCData) or self.random.random() < 0.995
            if argument is ... or not (keep or name in BUFFERS):
                continue
            # A number that stands where the function has a pointer is none of its arguments.
            if isinstance(argument, int) and argument < MOST and capi.is_pointer(types[index]):
                continue
            if isinstance(argument, Entry):
                values[index], words[index] = self.use(argument)
            elif isinstance(argument, str):
                values[index], words[index] = argument.encode(), repr(argument)
            elif isinstance(argument, ctypes._SimpleCData):
                values[index], words[index] = ctypes.addressof(argument), f"&{argument.value}"
            else:
                values[index], words[index] = argument, argument
        return self.run(name, values, words, outs)

    def run(self, name, values, words, outs):
        pools = self.pools
        pools.log(f"{self.name} {self.calls} {name}({', '.join(map(str, words))})")
        self.calls += 1
        result = getattr(pools.library, name)(*values)
        pools.counts[name] += 1
        made = None
        ok = result == 0 or pools.functions[name][0] == "void"
        if ok:
            pools.good.add(name)
            made = self.collect(name, outs)
        if name.startswith(("tiledb_query_submit", "tiledb_query_finalize")):
            pools.check()
        for entry in self.used:
            pools.give(entry)
        self.used.clear()
        return made if made is not None else (True if ok else None)

    def collect(self, name, outs):
        """Keeps the handles that a call made, and reads the memory that it points to."""
        made = None
        number = next((slot.value for kind, slot, _ in outs if kind == "number"), 0)
        for kind, slot, base in outs:
            if kind == "kept" or not slot.value:
                continue
            if kind == "handle":
                made = self.pools.add(base, slot.value)
            elif kind == "text" and "free" not in name:
                ctypes.string_at(slot.value)
                self.pools.texts[base].append(slot.value)
            elif kind == "char":
                # A view has a length; other texts end with a zero.
                word = ctypes.string_at(slot.value, *([number] if name == "tiledb_string_view" else []))
                self.learn(word.decode(errors="replace"))
            elif kind == "data" and name.endswith(("_get_data", "_get_offsets", "_get_fill_value")):
                ctypes.string_at(slot.value, number)
            elif kind == "data":
                ctypes.string_at(slot.value, 1)
        return made

    def learn(self, word):
        """Keeps a text for later calls; of paths, those of fragments alone."""
        known = self.pools.fragments if "__fragments/" in word or word.startswith("__") else self.pools.words
        if len(word) < 200 and not (known is self.pools.words and ("/" in word or "." in word or "\0" in word)):
            known.append(word)
            if len(known) > 100:
                known.pop(self.random.randrange(100))
