"""C functions of fragments that TileDB-Py does not call. The working folder has the arrays of fragments.py (`write`)."""

import ctypes
import glob
import os
import re
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p, create_string_buffer

import tiledb

here = "file://" + os.getcwd()
folder = os.path.dirname(os.path.dirname(tiledb.__file__))
lib = ctypes.CDLL(glob.glob(folder + "/tiledb.libs/libtiledb-*.so.2.30")[0])
libc = ctypes.CDLL(None)
libc.fopen.restype = c_void_p


def plain(text):
    text = re.sub(r"_[0-9a-f]{32}", "_ID", text.replace(here, "HERE"))
    return re.sub(r"(?<![0-9])1[78][0-9]{11}", "NOW", text)


ctx = c_void_p()
assert lib.tiledb_ctx_alloc(None, byref(ctx)) == 0


def call(name, *args):
    code = getattr(lib, "tiledb_" + name)(ctx, *args)
    if code:
        print(name, code)
    return code


def number(name, *args, kind=c_uint64):
    out = kind(99)
    call(name, *args, byref(out))
    return out.value


def text(name, *args):
    out = c_void_p()
    if call(name, *args, byref(out)):
        return None
    data, size = c_char_p(), ctypes.c_size_t()
    lib.tiledb_string_view(out, byref(data), byref(size))
    found = ctypes.string_at(data, size.value).decode()
    lib.tiledb_string_free(byref(out))
    return plain(found)


def open_info(uri, load=True):
    info = c_void_p()
    assert call("fragment_info_alloc", uri.encode(), byref(info)) == 0
    if load:
        call("fragment_info_load", info)
    return info


get = "fragment_info_get_"
info = open_info("sparse", load=False)
print(number(get + "fragment_num", info, kind=c_uint32))
config, error = c_void_p(), c_void_p()
lib.tiledb_config_alloc(byref(config), byref(error))
call("fragment_info_set_config", info, config)
call("fragment_info_load", info)
call("fragment_info_set_config", info, config)
got = c_void_p()
call("fragment_info_get_config", info, byref(got))
print(got.value is not None)
for uri in ["dense", "sparse", "strings", "evolved", "none"]:
    info = open_info(uri)
    count = number(get + "fragment_num", info, kind=c_uint32)
    print("--", uri, count, number(get + "total_cell_num", info), number(get + "unconsolidated_metadata_num", info, kind=c_uint32))
    print(number(get + "to_vacuum_num", info, kind=c_uint32))
    for at in list(range(count)) + [count] if count < 99 else []:
        numbers = [number(get + name, info, c_uint32(at)) for name in ["cell_num", "mbr_num"]]
        size, fragment = number(get + "fragment_size", info, c_uint32(at)), c_char_p()
        if call(get + "fragment_uri", info, c_uint32(at), byref(fragment)) == 0:
            files = glob.glob(fragment.value.decode()[len("file://") :] + "/*")
            print("size", size == sum(os.path.getsize(file) for file in files))
        kinds = [number(get + name, info, c_uint32(at), kind=c_int32) for name in ["dense", "sparse"]]
        kinds.append(number("fragment_info_has_consolidated_metadata", info, c_uint32(at), kind=c_int32))
        print(numbers, kinds, text(get + "fragment_name_v2", info, c_uint32(at)))
        schema = c_void_p()
        if call(get + "array_schema", info, c_uint32(at), byref(schema)) == 0:
            print(number("array_schema_get_attribute_num", schema, kind=c_uint32))
    for at in range(min(count, 1)):
        at = c_uint32(at)
        for name in [b"x", b"y", b"s", b"f", b"none"]:
            out, low, high = create_string_buffer(64), create_string_buffer(64), create_string_buffer(64)
            print(name, call(get + "non_empty_domain_from_name", info, at, name, out), out.raw[:16])
            print(call(get + "mbr_from_name", info, at, c_uint32(0), name, out), out.raw[:16])
            sizes = [c_uint64(), c_uint64()]
            call(get + "non_empty_domain_var_size_from_name", info, at, name, byref(sizes[0]), byref(sizes[1]))
            call(get + "non_empty_domain_var_from_name", info, at, name, low, high)
            print([size.value for size in sizes], low.value, high.value)
            call(get + "mbr_var_size_from_name", info, at, c_uint32(1), name, byref(sizes[0]), byref(sizes[1]))
            call(get + "mbr_var_from_name", info, at, c_uint32(1), name, low, high)
            print([size.value for size in sizes], low.value, high.value)
        out = create_string_buffer(64)
        for dim in [0, 1, 2]:
            print(call(get + "non_empty_domain_from_index", info, at, c_uint32(dim), out), out.raw[:16])
            print(call(get + "mbr_from_index", info, at, c_uint32(9), c_uint32(dim), out))
    dump = text("fragment_info_dump_str", info)
    file = libc.fopen(b"dump.txt", b"w")
    call("fragment_info_dump", info, c_void_p(file))
    libc.fclose(c_void_p(file))
    print(plain(open("dump.txt").read()) == (dump or ""), re.sub("Size: [0-9]+", "Size: N", dump or ""))
    lib.tiledb_fragment_info_free(byref(info))

print(number("array_encryption_type", b"dense", kind=c_uint32), number("array_encryption_type", b"none", kind=c_uint32))
tiledb.Array.create("secret", tiledb.ArraySchema.load("many"), key="0123456789abcdeF0123456789abcdeF")
print(number("array_encryption_type", b"secret", kind=c_uint32))


def names(uri):
    return [os.path.basename(one) for one in tiledb.array_fragments(uri).uri]


def texts(list_of):
    return (c_char_p * len(list_of))(*[one.encode() for one in list_of])


some = names("many")
print(call("array_consolidate_fragments", b"many", texts(some[1:3]), c_uint64(2), None), len(names("many")))
print(call("array_consolidate_fragments", b"many", texts(some[1:2]), c_uint64(1), None), len(names("many")))
print(call("array_consolidate_fragments", b"many", texts(["a", "b"]), c_uint64(2), None), len(names("many")))
wrong = here + "/other/__fragments/" + some[0]
print(call("array_consolidate_fragments", b"many", texts([wrong, some[0]]), c_uint64(2), None), len(names("many")))
uris = [here + "/many/__fragments/" + some[at] for at in [0, 5]]
print(call("array_delete_fragments_list", b"many", texts(uris), c_uint64(2)), [plain(one) for one in names("many")])
print(call("array_delete_fragments_list", b"many", texts(["none"]), c_uint64(1)), len(names("many")))
print(call("array_delete_fragments_v2", b"many", c_uint64(4), c_uint64(4)), [plain(one) for one in names("many")])
print(call("array_delete_fragments_v2", b"none", c_uint64(4), c_uint64(4)))
print(call("array_vacuum", b"many", None), [plain(one) for one in sorted(os.listdir("many/__fragments"))])
print(call("array_vacuum", b"none", None))
with tiledb.open("many") as array:
    print(array[:]["x"].tolist())
sys.stdout.flush()
