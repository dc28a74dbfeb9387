"""Groups and key-value objects: the steps of structure_cases.py, and what a library reads from a group."""

import base64
import ctypes as C
import os
import time

import capi


def b64(data):
    return base64.b64encode(data).decode()


def run(lib, uri, case, step):
    """Executes a step if it is one of these; says whether it was."""
    op = step["op"]
    if op == "kv":
        key_value(lib, uri, case, step)
    elif op == "array_create":
        lib.create(os.path.join(uri, step["path"]), lib.schema(case["schema"], 1))
    elif op == "group_create":
        lib.call("group_create", os.path.join(uri, step["path"]).encode())
    elif op == "group_change":
        change(lib, os.path.join(uri, step["path"]).rstrip("/"), step)
    elif op in ("group_consolidate", "group_vacuum"):
        lib.call("group_%s_metadata" % op[6:], os.path.join(uri, step["path"]).rstrip("/").encode(), lib.config)
    else:
        return False
    return True


def open_group(lib, uri, mode, window):
    group = lib.new("group_alloc", uri.encode())
    entries = dict(lib.base)
    for which, value in zip(("start", "end"), window):
        if value is not None and lib.version >= (2, 10):
            entries["sm.group.timestamp_" + which] = value
    lib.call("group_set_config", group, lib.make_config(entries))
    lib.call("group_open", group, mode)
    return group


def close_group(lib, group):
    lib.call("group_close", group)
    lib.dll.tiledb_group_free(C.byref(group))


def change(lib, uri, step):
    if lib.version < (2, 10):
        time.sleep(0.01)  # its names carry the clock's time
    group = open_group(lib, uri, capi.WRITE, (None, step["t"]))
    for name in step["remove"]:
        lib.call("group_remove_member", group, name.encode())
    for member, relative, name in step["members"]:
        target = member if relative else os.path.join(uri, member)
        lib.call("group_add_member", group, target.encode(), C.c_uint8(1 if relative else 0),
                 name.encode() if name is not None else None)
    for m in step["puts"]:
        data = base64.b64decode(m["value"])
        lib.call("group_put_metadata", group, m["key"].encode(), capi.DT[m["type"]], capi.u32(m["num"]), capi.cbytes(data))
    for key in step["deletes"]:
        lib.call("group_delete_metadata", group, key.encode())
    close_group(lib, group)


def key_value(lib, uri, case, step):
    schema = lib.new("kv_schema_alloc")
    for a in case["schema"]["attributes"]:
        lib.call("kv_schema_add_attribute", schema, lib.attribute(a))
    lib.call("kv_schema_check", schema)
    lib.call("kv_create", uri.encode(), schema)
    kv = lib.new("kv_alloc", uri.encode())
    lib.call("kv_open", kv, capi.WRITE)
    for key, number, word in step["items"]:
        item = lib.new("kv_item_alloc")
        key = key.encode()
        lib.call("kv_item_set_key", item, capi.cbytes(key), capi.DT["CHAR"], capi.u64(len(key)))
        number, word = number.to_bytes(4, "little"), word.encode()
        lib.call("kv_item_set_value", item, b"a", capi.cbytes(number), capi.DT["INT32"], capi.u64(len(number)))
        lib.call("kv_item_set_value", item, b"s", capi.cbytes(word), capi.DT["CHAR"], capi.u64(len(word)))
        lib.call("kv_add_item", kv, item)
    lib.call("kv_flush", kv)
    lib.call("kv_close", kv)


# -- what a group holds --------------------------------------------------------------------------------------------------


def member(lib, group, i):
    """A member by its place; whether its uri is relative is not known here."""
    where, name, kind = C.c_void_p(), C.c_void_p(), C.c_int()
    lib.call("group_get_member_by_index_v2", group, C.c_uint64(i), C.byref(where), C.byref(kind), C.byref(name))
    return {"uri": lib.string(where), "type": {1: "group", 2: "array"}.get(kind.value, "none"),
            "name": lib.string(name) if name.value else None, "relative": None}


def members(lib, group, uri):
    """The members in the library's order; a uri below the group is shown relative to it."""
    out = []
    for i in range(lib.get(C.c_uint64, "group_get_member_count", group)):
        entry = member(lib, group, i)
        if entry["name"] is not None:
            entry["relative"] = bool(lib.get(C.c_uint8, "group_get_is_relative_uri_by_name", group, entry["name"].encode()))
        base = "file://" + uri + "/"
        # an unnamed member's flag cannot be asked for; all of them are relative here
        if entry["relative"] is not False and entry["uri"].startswith(base):
            entry["uri"] = entry["uri"][len(base):]
        out.append(entry)
    return out


def metadata(lib, group):
    out = []
    for i in range(lib.get(C.c_uint64, "group_get_metadata_num", group)):
        key, klen, kind, num, val = C.c_char_p(), C.c_uint32(), C.c_int(), C.c_uint32(), C.c_void_p()
        lib.call("group_get_metadata_from_index", group, C.c_uint64(i), C.byref(key), C.byref(klen), C.byref(kind),
                 C.byref(num), C.byref(val))
        datatype = capi.DATATYPES[kind.value]
        size = capi.size_of(datatype) * num.value if val.value else 0
        out.append({"key": C.string_at(key, klen.value).decode(), "type": datatype, "num": num.value if val.value else 0,
                    "value": b64(C.string_at(val.value, size) if size else b"")})
    return out


def expect_group(lib, case, uri):
    """The JSON of a group: each group of the tree, and the outermost at the times of its changes."""
    out = {"id": case["id"], "writer": "libtiledb " + case["lib"], "features": " ".join(case["features"]), "key": None,
           "notes": [], "kind": "group", "reader": "libtiledb " + lib.name, "groups": [], "time_travel": []}

    def look(path, window):
        group = open_group(lib, path, capi.READ, window)
        found = {"members": members(lib, group, path), "metadata": metadata(lib, group)}
        close_group(lib, group)
        return found

    for step in case["steps"]:
        if step["op"] == "group_create":
            path = os.path.join(uri, step["path"]).rstrip("/")
            out["groups"].append(dict({"path": step["path"]}, **look(path, (None, None))))
    times = sorted(s["t"] for s in case["steps"] if s["op"] == "group_change" and s["path"] == "")
    if len(times) > 1 and tuple(int(x) for x in case["lib"].split(".")) >= (2, 10):
        for window in [[None, times[0] - 1], [None, times[0]], [None, times[-2]], [times[1], None]]:
            out["time_travel"].append(dict({"timestamps": window}, **look(uri, window)))
    return out
