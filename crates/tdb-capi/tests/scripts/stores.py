"""Files in arrays, profiles, statistics, and labels of new arrays. The working folder is empty."""

import json
import os
import re

import numpy as np
import tiledb
from tiledb.main import stats_dump_str, stats_raw_dump_str

here = os.getcwd()


def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__)


def about(uri):
    with tiledb.open(uri) as array:
        print(uri, sorted((key, repr(value)) for key, value in array.meta.items()))
        print(array.nonempty_domain(), array.schema.domain.dim(0).tile)
    print(tiledb.array_fragments(uri).cell_num)


print("== files")
with open("name.tar.gz", "wb") as file:
    file.write(bytes(range(256)) * 10)
with open("plain", "wb") as file:
    file.write(b"x" * (1 << 20) + b"y")
open("empty", "wb").close()
for name in ["name.tar.gz", "plain", "empty", ""]:
    schema = tiledb.ArraySchema.from_file(name) if name else tiledb.ArraySchema.from_file()
    uri = "array_" + name.split(".")[0]
    print(name, schema)
    tiledb.Array.create(uri, schema)
    store = tiledb.Filestore(uri)
    attempt(lambda: len(store))
    attempt(lambda: store.read())
    if name:
        tiledb.Filestore.copy_from(uri, name)
    else:
        store.write(b"some bytes")
        about(uri)
        store.write(b"other", mime_type="application/pdf")
    attempt(lambda: about(uri))
    attempt(lambda: len(store))
    attempt(lambda: store.read()[:20])
    attempt(lambda: store.read(2, 3))
    attempt(lambda: store.read(0, 10**9))
    if name and name != "empty":
        tiledb.Filestore.copy_to(uri, name + ".copy")
        print(open(name, "rb").read() == open(name + ".copy", "rb").read())
small = tiledb.Ctx({"filestore.buffer_size": "512"})
attempt(lambda: tiledb.Filestore.copy_to("array_name", "copy", ctx=small))
with_kib = tiledb.Ctx({"filestore.buffer_size": "1500"})
tiledb.Filestore.copy_to("array_name", "copy", ctx=with_kib)
print(open("copy", "rb").read() == open("name.tar.gz", "rb").read())

print("== profiles", flush=True)
folder = os.path.join(here, "profiles")
one = tiledb.Profile("one", folder)
print(one.name, one.dir.replace(here, "HERE"), repr(one))
attempt(lambda: one["rest.token"])
one["rest.token"] = 'a "token"\n\x01ä\\'
one["some.key"] = ""
print(repr(one))
one.save()
two = tiledb.Profile(dir=folder)
two["rest.username"] = "user"
attempt(two.save)
two["rest.password"] = "word"
two.save()
print(open(os.path.join(folder, "profiles.json"), encoding="utf-8").read())
attempt(lambda: one.save())
one["sm.memory_budget"] = "77"
one.save(overwrite=True)
config = tiledb.Config({"profile_dir": folder, "profile_name": "one"})
print(repr(config["rest.token"]), config["sm.memory_budget"], config["sm.tile_cache_size"] if "sm.tile_cache_size" in config else None)
config["sm.memory_budget"] = "88"
print(config["sm.memory_budget"])
config["profile_name"] = "default"
print(config["rest.username"])
attempt(lambda: config["rest.token"])
config["profile_name"] = "none"
attempt(lambda: config["rest.token"])
attempt(lambda: tiledb.Profile.load("none", folder))
attempt(lambda: tiledb.Profile.load("one", folder + "/none"))
print(tiledb.Profile.load("one", folder)["sm.memory_budget"])
tiledb.Profile.remove("one", folder)
attempt(lambda: tiledb.Profile.remove("one", folder))
print(open(os.path.join(folder, "profiles.json"), encoding="utf-8").read())
with open(os.path.join(folder, "profiles.json"), "w") as file:
    file.write("{ broken")
attempt(lambda: tiledb.Profile.load("default", folder))
attempt(two.save)

print("== statistics")
print(stats_dump_str() == stats_raw_dump_str(), tiledb.default_ctx().get_stats(print_out=False).startswith("{\n"))
tiledb.stats_enable()
tiledb.stats_reset()
print(repr(stats_dump_str()))
with tiledb.open("array_name") as array:
    pass
stats = json.loads(stats_dump_str())
print(len(stats), sorted(stats[0]), stats[0]["timers"]["Context.array_open_READ.sum"] > 0)
print(re.sub(r"[0-9.e-]+", "N", stats_dump_str()).count('"Context.array_open_READ.avg": N'))
tiledb.stats_disable()

print("== labels")
dim = tiledb.Dim("x", domain=(1, 10), tile=5, dtype="u4")
label = dim.create_label_schema("increasing", "f8", tile=2, filters=tiledb.FilterList([tiledb.ZstdFilter(7)]))
schema = tiledb.ArraySchema(tiledb.Domain(dim), [tiledb.Attr("a", dtype="i4")], dim_labels={0: {"l": label}})
tiledb.Array.create("labels", schema)
loaded = tiledb.ArraySchema.load("labels")
print(loaded.dim_label("l").uri.replace(here, "HERE"))
inner = tiledb.ArraySchema.load(loaded.dim_label("l").uri)
print(inner.domain.dim(0).tile, inner.attr(0).filters, inner.attr(0).name, inner.domain.dim(0).name)
