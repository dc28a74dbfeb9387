"""Groups, their members and metadata, and walks over objects. The working folder is empty."""

import os

import numpy as np
import tiledb

here = "file://" + os.getcwd()


def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__)


def short(text):
    return str(text).replace(here, "HERE")


def show(group):
    print(short(group.uri), group.mode, len(group), group.isopen)
    for member in sorted(group, key=lambda member: member.uri):
        print(short(member.uri), member.type.__name__, member.name)
    print(sorted(group.meta.items()))


domain = tiledb.Domain(tiledb.Dim("x", domain=(1, 4), tile=2, dtype="i4"))
schema = tiledb.ArraySchema(domain=domain, attrs=[tiledb.Attr("a", dtype="f8")])
for base in ["groups", "mem://groups"]:
    print("==", base)
    tiledb.Group.create(base)
    attempt(lambda: tiledb.Group.create(base))
    for name in ["one", "two"]:
        tiledb.Array.create(base + "/" + name, schema)
    tiledb.Group.create(base + "/inner")
    tiledb.Array.create(base + "/inner/three", schema)
    print(tiledb.object_type(base), tiledb.object_type(base + "/one"), tiledb.object_type(base + "/none"))
    attempt(lambda: tiledb.Array.create(base + "/one", schema))

    with tiledb.Group(base, "w") as group:
        group.add("one", name="first", relative=True)
        group.add("two", relative=True)
        group.add("inner", name="inner", relative=True)
        group.meta["integer"] = 7
        group.meta["text"] = "héllo"
        group.meta["real"] = 1.5
        group.meta["bytes"] = b"\x01\x02"
        group.meta["tuple"] = (1, 2, 3)
        group.meta["array"] = np.array([1, 2], dtype="u2")
        group.meta["empty"] = ""
    with tiledb.Group(base + "/inner", "w") as group:
        group.add("three", name="third", relative=True)
    group = tiledb.Group(base)
    show(group)
    print(short(group["first"].uri), "first" in group, "none" in group, group.is_relative("first"))
    attempt(lambda: group["none"])
    attempt(lambda: group[7])
    attempt(lambda: group.meta["none"])
    print("text" in group.meta, len(group.meta), list(sorted(group.meta.keys())))
    attempt(lambda: group.add("one", name="again", relative=True))
    group.close()
    print(group.isopen)

    with tiledb.Group(base, "w") as group:
        group.remove("first")
        attempt(lambda: group.remove("none"))
        del group.meta["text"]
        group.meta["integer"] = 8
    show(tiledb.Group(base))
    with tiledb.Group(base, "w") as group:
        group.meta["more"] = 1
    tiledb.Group.consolidate_metadata(base)
    tiledb.Group.vacuum_metadata(base)
    show(tiledb.Group(base))
    attempt(lambda: tiledb.Group(base + "/none"))

    found = []
    tiledb.walk(base, lambda path, kind: found.append((short(path), kind)))
    print(found)
    found = []
    tiledb.walk(base, lambda path, kind: found.append((short(path), kind)), order="postorder")
    print(found)
    found = []
    tiledb.ls(base, lambda path, kind: found.append((short(path), kind)))
    print(found)
    tiledb.move(base + "/two", base + "/moved")
    print(tiledb.object_type(base + "/two"), tiledb.object_type(base + "/moved"))
    tiledb.remove(base + "/moved")
    print(tiledb.object_type(base + "/moved"))
    attempt(lambda: tiledb.remove(base + "/none"))

    loaded = tiledb.ArraySchema.load(base + "/one")
    print(loaded == schema, loaded.version)
    loaded.dump()
    with tiledb.Group(base, "w") as group:
        group.remove("two")
    with tiledb.Group(base, "m") as group:
        group.delete(recursive=True)
    print(tiledb.object_type(base))
