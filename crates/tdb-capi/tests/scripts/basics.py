"""Versions, configurations, contexts, filters: what they print."""

import tiledb

print(tiledb.libtiledb.version())

config = tiledb.Config()
for key, value in config.dict().items():
    print(key, value)
for key, value in config.dict("vfs.azure.").items():
    print("azure", key, value)
config["sm.memory_budget"] = "7"
config["my.key"] = "kept"
print(config["sm.memory_budget"], config["my.key"], len(config))
del config["sm.memory_budget"]
print(config["sm.memory_budget"])
print(config == tiledb.Config(), tiledb.Config() == tiledb.Config())
try:
    config["sm.memory_budget"] = "x"
except tiledb.TileDBError as error:
    print(type(error).__name__, "Failed to convert string 'x' to uint64_t" in str(error))

context = tiledb.Ctx({"sm.tile_cache_size": "5", "sm.compute_concurrency_level": "1"})
print(context.config()["sm.tile_cache_size"], context.config()["sm.compute_concurrency_level"])

filters = [
    tiledb.NoOpFilter(),
    tiledb.GzipFilter(level=3),
    tiledb.ZstdFilter(level=-5),
    tiledb.LZ4Filter(),
    tiledb.Bzip2Filter(level=9),
    tiledb.RleFilter(),
    tiledb.DoubleDeltaFilter(reinterp_dtype="int32"),
    tiledb.DeltaFilter(level=1),
    tiledb.DictionaryFilter(),
    tiledb.BitShuffleFilter(),
    tiledb.ByteShuffleFilter(),
    tiledb.BitWidthReductionFilter(window=12),
    tiledb.PositiveDeltaFilter(window=34),
    tiledb.ChecksumMD5Filter(),
    tiledb.ChecksumSHA256Filter(),
    tiledb.FloatScaleFilter(factor=2.0, offset=1.5, bytewidth=4),
    tiledb.XORFilter(),
    tiledb.WebpFilter(quality=50.0),
]
for one in filters:
    print(one)
many = tiledb.FilterList(filters[1:4], chunksize=1000)
print(many, many.chunksize, len(many), many[1])
many.append(filters[9])
print(many, many == tiledb.FilterList(many), many != tiledb.FilterList())
for call in [
    lambda: tiledb.FloatScaleFilter(factor=float("nan")),
    lambda: tiledb.FloatScaleFilter(bytewidth=3),
    lambda: tiledb.WebpFilter(quality=101.0),
    lambda: many[9],
]:
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__)
