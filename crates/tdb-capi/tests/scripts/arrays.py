"""Arrays opened at times: schemas, metadata, non-empty domains, enumerations. The working folder is empty."""

import os

import numpy as np
import tiledb

here = "file://" + os.getcwd()


def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__)


domain = tiledb.Domain(tiledb.Dim("x", domain=(1, 4), tile=2, dtype="i4"), tiledb.Dim("y", domain=(1, 4), tile=2, dtype="i4"))
colors = tiledb.Enumeration("colors", True, ["red", "green"])
schema = tiledb.ArraySchema(domain=domain, attrs=[tiledb.Attr("a", dtype="f8"), tiledb.Attr("c", dtype="u1", enum_label="colors")], enums=[colors])
for base in ["array", "mem://array"]:
    print("==", base)
    attempt(lambda: tiledb.open(base))
    tiledb.Array.create(base, schema)
    print(tiledb.array_exists(base), tiledb.array_exists(base + "/none"), tiledb.object_type(base))
    with tiledb.open(base) as array:
        print(array.uri.replace(here, "HERE"), array.mode, array.isopen, array.iswritable, array.shape, array.ndim)
        print(array.nonempty_domain(), array.schema.nattr, array.timestamp_range[0], len(array.meta))
        print(array.enum("colors").values(), array.schema.sparse)
        attempt(lambda: array.enum("none"))
        attempt(lambda: array.meta.__setitem__("key", 1))
        array.schema.dump()
        array.reopen()
    for time in [10, 20]:
        with tiledb.open(base, "w", timestamp=time) as array:
            print(array.mode, array.iswritable)
            array.meta["time"] = time
            array.meta["text"] = "at " + str(time)
            array.meta["list"] = (1.5, 2.5)
            array.meta["numbers"] = np.arange(3)
            if time == 20:
                del array.meta["text"]
    for time in [5, 10, 15, 20, (11, 30), None]:
        with tiledb.open(base, timestamp=time) as array:
            print(time, sorted((key, repr(value)) for key, value in array.meta.items()))
            print("time" in array.meta, "none" in array.meta)
            if time is not None:
                print(array.timestamp_range)
    attempt(lambda: array.meta["time"])
    print(array.isopen)
    loaded = tiledb.ArraySchema.load(base)
    print(loaded.has_attr("c"), loaded.attr("c").enum_label)
    tiledb.Array.delete_array(base)
    print(tiledb.array_exists(base))
