"""Calls every function with nulls and zeros, with a context and without, and with handles that are
none: no call may crash. `python crates/tdb-capi/tests/nulls.py target/debug/libtiledb.so`."""

import ctypes
import pathlib
import sys

POINTER = ctypes.c_void_p
TABLE = pathlib.Path(__file__).parent.parent / "signatures.tsv"
NUMBERS = {"uint64_t": ctypes.c_uint64, "size_t": ctypes.c_uint64, "uint8_t": ctypes.c_uint8}


def kind(text):
    text = text.replace("const ", "")
    return POINTER if "*" in text or "callback" in text else NUMBERS.get(text, ctypes.c_uint32)


library = ctypes.CDLL(sys.argv[1])
context = POINTER()
assert library.tiledb_ctx_alloc(None, ctypes.byref(context)) == 0
foreign = (ctypes.c_uint64 * 64)()
calls = 0
for line in TABLE.read_text().splitlines()[1:]:
    name, result, arguments = line.split("\t")
    if arguments == "-":
        continue
    types = [text for text in arguments.split(", ") if text]
    function = getattr(library, name)
    function.argtypes = [kind(text) for text in types]
    function.restype = None if result == "void" else ctypes.c_int
    nothing = [None if kind(text) is POINTER else 0 for text in types]
    function(*nothing)
    calls += 1
    if types[:1] != ["tiledb_ctx_t*"]:
        continue
    function(context, *nothing[1:])
    calls += 1
    # Memory without a tag, and a context in the place of another object.
    second = types[1] if len(types) > 1 else ""
    if second.startswith(("tiledb_", "const tiledb_")) and second.count("*") == 1:
        for handle in (ctypes.cast(foreign, POINTER), context):
            function(context, handle, *nothing[2:])
            calls += 1
print(calls, "calls, no crash")
