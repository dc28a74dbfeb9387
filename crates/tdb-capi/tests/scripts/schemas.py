"""Attributes, dimensions, domains, enumerations, current domains, schemas: what they print."""

import numpy as np
import tiledb


def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__)


# Attributes.
zstd = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter(level=7)])
attributes = [
    tiledb.Attr("a", dtype="f8", filters=zstd),
    tiledb.Attr("b", dtype="i4", nullable=True, fill=None),
    tiledb.Attr("c", dtype="U", var=True),
    tiledb.Attr("d", dtype="S3"),
    tiledb.Attr("e", dtype="ascii", var=True, nullable=True),
    tiledb.Attr("f", dtype=np.dtype([("", "i4"), ("", "i4")]), fill=(1, 2)),
    tiledb.Attr("g", dtype="datetime64[ms]"),
    tiledb.Attr("h", dtype="bool"),
    tiledb.Attr("i", dtype="blob"),
    tiledb.Attr("j", dtype="uint16", fill=7),
    tiledb.Attr("k", dtype="c8"),
    tiledb.Attr("", dtype="i1"),
]
for one in attributes:
    print(one, one.isvar, one.isnullable, one.ncells, one.isanon)
    print(one._get_name() if hasattr(one, "_get_name") else one.name)
    one.dump()
attempt(lambda: tiledb.Attr("a", dtype="f8", filters=[tiledb.BitWidthReductionFilter()]))

# Dimensions.
dimensions = [
    tiledb.Dim("x", domain=(1, 10), tile=3, dtype="i4", filters=zstd),
    tiledb.Dim("y", domain=(-5.5, 1e8), tile=3.25, dtype="f8"),
    tiledb.Dim("s", domain=(None, None), dtype="ascii"),
    tiledb.Dim("t", domain=(np.datetime64("2020-01-01"), np.datetime64("2020-12-31")), tile=np.timedelta64(7, "D"), dtype="datetime64[D]"),
    tiledb.Dim("u", domain=(0, 2**64 - 11), tile=10, dtype="u8"),
    tiledb.Dim("v", domain=(-100, 99), tile=100, dtype="i1"),
    tiledb.Dim("w", domain=(1, 10), dtype="i8"),
]
for one in dimensions:
    print(one, one.domain, one.tile, one.dtype, one.isvar)
attempt(lambda: tiledb.Dim("x", domain=(10, 1), tile=3, dtype="i4"))
attempt(lambda: tiledb.Dim("x", domain=(1, 10), tile=30, dtype="i4"))
attempt(lambda: tiledb.Dim("x", domain=(1, 10), tile=0, dtype="i4"))
attempt(lambda: tiledb.Dim("x", domain=(0, 255), tile=10, dtype="u1"))
attempt(lambda: tiledb.Dim("x", domain=(0.0, float("nan")), tile=10.0, dtype="f8"))

# Domains.
domain = tiledb.Domain(dimensions[0], tiledb.Dim("z", domain=(0, 99), tile=10, dtype="i4"))
print(domain, domain.ndim, domain.dtype, domain.has_dim("z"), domain.has_dim("q"), domain.dim(1).name, domain.dim("x").name)
attempt(lambda: domain.dim("q"))
attempt(lambda: domain.dim(7))
attempt(lambda: tiledb.Domain())
domain.dump()
attempt(lambda: tiledb.Domain(dimensions[0], dimensions[2]).dtype)

# Enumerations.
colors = tiledb.Enumeration("colors", True, ["red", "green", "blue", ""])
numbers = tiledb.Enumeration("numbers", False, [3, 1, 2])
empty = tiledb.Enumeration("empty", False, dtype="i4")
for one in [colors, numbers, empty, colors.extend(["black"]), numbers.extend([9, 8])]:
    print(one, one.name, one.ordered, one.dtype, one.cell_val_num, list(one.values()))
attempt(lambda: tiledb.Enumeration("twice", False, [1, 1]))
attempt(lambda: colors.extend(["red"]))
attempt(lambda: numbers.extend(["red"]))

# Schemas.
dense = tiledb.ArraySchema(
    domain=domain,
    attrs=[
        attributes[0],
        attributes[1],
        attributes[2],
        tiledb.Attr("color", dtype="u1", enum_label="colors"),
    ],
    cell_order="col-major",
    tile_order="row-major",
    offsets_filters=[tiledb.DoubleDeltaFilter(), tiledb.LZ4Filter(5)],
    enums=[colors],
)
dense.dump()
print(dense.shape, dense.nattr, dense.ndim, dense.sparse, dense.capacity, dense.version, dense.cell_order, dense.tile_order)
print(dense.attr("color").enum_label, dense.attr(0), dense.has_attr("b"), dense.has_attr("q"), dense.check())
print(dense.offsets_filters, dense.coords_filters, dense.validity_filters)
attempt(lambda: dense.attr("q"))
attempt(lambda: dense.attr(17))

sparse = tiledb.ArraySchema(
    domain=tiledb.Domain(*dimensions[1:5]),
    attrs=[attributes[4], attributes[9], attributes[11]],
    sparse=True,
    allows_duplicates=True,
    capacity=12,
    cell_order="hilbert",
    coords_filters=[tiledb.GzipFilter(level=5)],
    validity_filters=[tiledb.RleFilter()],
)
sparse.dump()
print(sparse, sparse.allows_duplicates, sparse.capacity, sparse.cell_order)
print(sparse == sparse, sparse == dense)
attempt(lambda: tiledb.ArraySchema(domain=domain, attrs=[attributes[0], attributes[0]]))
attempt(lambda: tiledb.ArraySchema(domain=domain, attrs=[tiledb.Attr("color", dtype="u1", enum_label="none")]))
attempt(lambda: tiledb.ArraySchema(domain=tiledb.Domain(dimensions[1]), attrs=[attributes[0]]))
attempt(lambda: tiledb.ArraySchema(domain=domain, attrs=[attributes[0]], allows_duplicates=True))
attempt(lambda: tiledb.ArraySchema(domain=domain, attrs=[attributes[0]], cell_order="hilbert"))
attempt(lambda: tiledb.ArraySchema(domain=domain, attrs=[]))
attempt(lambda: tiledb.ArraySchema(domain=domain, attrs=[attributes[0]], sparse=True, capacity=0))

# Current domains.
rectangle = tiledb.NDRectangle(tiledb.default_ctx(), domain)
rectangle.set_range(0, 2, 5)
rectangle.set_range("z", 10, 20)
print(rectangle.range(0), rectangle.range("z"))
current = tiledb.CurrentDomain(tiledb.default_ctx())
print(current.is_empty)
current.set_ndrectangle(rectangle)
print(current.is_empty, current.type, current.ndrectangle.range("x"))
dense.set_current_domain(current)
print(dense.current_domain.ndrectangle.range("z"))
