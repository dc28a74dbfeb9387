"""Files that pyarrow writes for `cargo xtask conform arrow`: the same cells in other types, formats and encodings.

A variant is a table and a way to write it. Those in KEPT keep the metadata by which tdb makes the same array again; those in
BARE have none, as anybody's files do.
"""

import os
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from arrow_cells import SMALL

VIEWS = {pa.large_string(): pa.string_view(), pa.large_binary(): pa.binary_view()}


def retyped(table, change):
    """The table with other types, and all of its metadata."""
    fields = [f.with_type(change(f.type) or f.type) for f in table.schema]
    columns = [c if f.type == c.type else c.cast(f.type) for f, c in zip(fields, table.columns)]
    return pa.table(columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def small(table):
    def change(kind):
        return pa.list_(kind.value_field) if pa.types.is_large_list(kind) else SMALL.get(kind)
    return retyped(table, change)


def views(table):
    return retyped(table, VIEWS.get)


def utc(table):
    return retyped(table, lambda kind: pa.timestamp(kind.unit, tz="UTC") if pa.types.is_timestamp(kind) else None)


def as_parquet(table):
    """What pyarrow writes of the table to Parquet, which has no seconds: milliseconds."""
    def change(kind):
        if kind == pa.timestamp("s"):
            return pa.timestamp("ms")
        item = kind.value_field if pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) else None
        if item is None or item.type != pa.timestamp("s"):
            return None
        item = item.with_type(pa.timestamp("ms"))
        return pa.large_list(item) if pa.types.is_large_list(kind) else pa.list_(item, kind.list_size)
    return retyped(table, change)


def dictionaries(table):
    """Texts and integers as dictionaries, whose values are in the order in which they occur. Not the numbers of enumerations: the
    values of a dictionary are those of an enumeration."""
    fields, columns = [], []
    for field, column in zip(table.schema, table.columns):
        kind = field.type
        number = pa.types.is_integer(kind) and b"tdb:enumeration" not in (field.metadata or {})
        if kind in SMALL or number:
            column = column.combine_chunks().dictionary_encode()
            field = field.with_type(column.type)
        fields.append(field)
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def bare(table):
    fields = [f.remove_metadata() for f in table.schema]
    return pa.table(table.columns, schema=pa.schema(fields))


def ipc_file(table, path, rows=None, **options):
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table, rows)


def ipc_stream(table, path, rows=None, **options):
    with pa.ipc.new_stream(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table, rows)


same = lambda table: table
# name -> (what becomes of the table, how it is written, the ending of the file, options)
KEPT = {
    "lz4": (same, ipc_file, "arrow", {"compression": "lz4"}),
    "zstd": (same, ipc_stream, "arrows", {"compression": "zstd"}),
    "small": (small, ipc_file, "arrow", {"rows": 7}),
    "views": (views, ipc_stream, "arrows", {}),
    "utc": (utc, ipc_stream, "arrows", {"rows": 5}),
    "dictionaries": (dictionaries, ipc_file, "arrow", {"compression": "zstd"}),
    "delta": (dictionaries, ipc_stream, "arrows", {"rows": 3, "emit_dictionary_deltas": True}),
    "snappy": (same, pq.write_table, "parquet", {"compression": "snappy", "row_group_size": 11}),
    "v2": (small, pq.write_table, "parquet", {"compression": "zstd", "data_page_version": "2.0", "use_dictionary": False}),
    "gzip": (dictionaries, pq.write_table, "parquet", {"compression": "gzip"}),
    "plain": (same, pq.write_table, "parquet", {"compression": "none", "use_dictionary": False, "write_statistics": False}),
}
BARE = {
    "bare": (bare, ipc_file, "arrow", {}),
    "bare-small": (lambda table: bare(small(table)), ipc_stream, "arrows", {"rows": 4}),
    "bare-views": (lambda table: bare(views(table)), ipc_file, "arrow", {}),
    "bare-dictionaries": (lambda table: bare(dictionaries(table)), ipc_stream, "arrows", {"compression": "lz4"}),
    "bare-parquet": (bare, pq.write_table, "parquet", {"compression": "lz4"}),
}
VARIANTS = dict(KEPT, **BARE)


def has_seconds(table):
    values = (f.type.value_type if hasattr(f.type, "value_type") else f.type for f in table.schema)
    return pa.timestamp("s") in values


def write(name, table, folder):
    """Writes a variant; False if there is none: pyarrow writes milliseconds where Parquet has no seconds, so that the columns are no
    longer those that the metadata describes; and it refuses seconds whose milliseconds are no number of 64 bits."""
    change, writer, ending, options = VARIANTS[name]
    path = "%s/%s.%s" % (folder, name, ending)
    if ending == "parquet" and name in KEPT and has_seconds(table):
        return False
    try:
        writer(change(table), path, **options)
    except pa.ArrowInvalid as error:
        if "overflow when casting timestamp" not in str(error) or ending != "parquet":
            raise
        if os.path.exists(path):
            os.remove(path)
        return False
    return True


# -- what an array without metadata becomes --------------------------------------------------------------------------------

INFERRED = {
    pa.bool_(): "BOOL", pa.int8(): "INT8", pa.uint8(): "UINT8", pa.int16(): "INT16", pa.uint16(): "UINT16", pa.int32(): "INT32",
    pa.uint32(): "UINT32", pa.int64(): "INT64", pa.uint64(): "UINT64", pa.float32(): "FLOAT32", pa.float64(): "FLOAT64",
    pa.date32(): "DATETIME_DAY", pa.string(): "STRING_UTF8", pa.binary(): "BLOB",
}
UNITS = {"s": "SEC", "ms": "MS", "us": "US", "ns": "NS"}


def inferred(kind):
    """The datatype and the number of values of a cell, by docs/tables/arrow.md."""
    if pa.types.is_dictionary(kind):
        return inferred(kind.value_type)
    if pa.types.is_fixed_size_binary(kind):
        return "BLOB", kind.byte_width
    if pa.types.is_fixed_size_list(kind):
        return inferred(kind.value_type)[0], kind.list_size
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return inferred(kind.value_type)[0], "var"
    if pa.types.is_timestamp(kind):
        return "DATETIME_" + UNITS[kind.unit], 1
    if pa.types.is_duration(kind):
        return "TIME_" + UNITS[kind.unit], 1
    kind = {pa.large_string(): pa.string(), pa.string_view(): pa.string(), pa.large_binary(): pa.binary(),
            pa.binary_view(): pa.binary()}.get(kind, kind)
    return INFERRED[kind], "var" if kind in (pa.string(), pa.binary()) else 1


# -- what no array can hold -----------------------------------------------------------------------------------------------


def refused():
    """Columns of types that arrays do not have, each with a plain column beside it."""
    plain = pa.array([1, 2], pa.int32())
    decimal = pa.array([1, 2], pa.decimal128(19, 2))
    return {
        "decimal": decimal,
        "decimal256": decimal.cast(pa.decimal256(40, 2)),
        "half": pa.array([1.0, 2.0], pa.float32()).cast(pa.float16()),
        "struct": pa.array([{"x": 1}, {"x": 2}], pa.struct([("x", pa.int32())])),
        "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32())),
        "texts": pa.array([["a"], []], pa.list_(pa.string())),
        "nested": pa.array([[[1]], []], pa.list_(pa.list_(pa.int32()))),
        "null": pa.nulls(2),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), plain),
        "listview": pa.array([[1], [2]], pa.list_view(pa.int32())),
        "interval": pa.array([pa.MonthDayNano([1, 2, 3]), None], pa.month_day_nano_interval()),
        "union": pa.UnionArray.from_dense(pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [plain]),
        "holes": pa.array([[1, None], [2]], pa.list_(pa.int32())),
    }


def write_refused(folder):
    for name, column in refused().items():
        table = pa.table({"plain": pa.array([1, 2], pa.int32()), name: column})
        ipc_file(table, "%s/%s.arrow" % (folder, name))
        ipc_stream(table, "%s/%s.arrows" % (folder, name))


# -- what arrays keep as another type ----------------------------------------------------------------------------------------

def kept():
    """Columns of types that arrays do not have, and what the exported file has in their place: integers of a decimal's smallest
    unit, and the same instants in the same zone."""
    zone = pa.array([1, None, -10**18], pa.timestamp("ns", tz="Europe/Paris"))
    return {
        "decimal": (pa.array([Decimal("1.23"), None, Decimal("-0.07")], pa.decimal128(10, 2)), pa.array([123, None, -7], pa.int64())),
        "zone": (zone, zone),
    }


def write_kept(folder):
    for name, (column, _) in kept().items():
        ipc_file(pa.table({name: column}), "%s/%s.arrow" % (folder, name))


def differs_from_kept(folder):
    """The first exported column that is not as it must be, and None if all are."""
    for name, (_, column) in kept().items():
        found = pa.ipc.open_file("%s/%s-exported.arrow" % (folder, name)).read_all().column(name).combine_chunks()
        if not found.equals(column):
            return "%s: %s instead of %s" % (name, found, column)
