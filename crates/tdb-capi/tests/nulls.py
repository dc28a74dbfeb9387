"""Calls every function with nulls and zeros, with a context and without, and with handles that are
none: no call may crash. `python crates/tdb-capi/tests/nulls.py target/debug/libtiledb.so`."""

import ctypes
import sys

from capi import POINTER, functions, is_pointer, load

library = load(sys.argv[1])
context = POINTER()
assert library.tiledb_ctx_alloc(None, ctypes.byref(context)) == 0
foreign = (ctypes.c_uint64 * 64)()
calls = 0
for name, _, types in functions():
    function = getattr(library, name)
    nothing = [None if is_pointer(text) else 0 for text in types]
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
