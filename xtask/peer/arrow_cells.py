"""Cells of Arrow tables, as the bytes that an array stores for them, and the rules by which readers of Parquet differ.

A column is a list with the bytes of each cell, None for null: what expect.py makes of libtiledb's buffers.
"""

import struct

import pyarrow as pa

import capi

NUMBERS = {
    "INT8": pa.int8(), "UINT8": pa.uint8(), "INT16": pa.int16(), "UINT16": pa.uint16(), "INT32": pa.int32(),
    "UINT32": pa.uint32(), "INT64": pa.int64(), "UINT64": pa.uint64(), "FLOAT32": pa.float32(), "FLOAT64": pa.float64(),
    "STRING_UTF16": pa.uint16(), "STRING_UCS2": pa.uint16(), "STRING_UTF32": pa.uint32(), "STRING_UCS4": pa.uint32(),
    "DATETIME_SEC": pa.timestamp("s"), "DATETIME_MS": pa.timestamp("ms"), "DATETIME_US": pa.timestamp("us"),
    "DATETIME_NS": pa.timestamp("ns"), "TIME_SEC": pa.duration("s"), "TIME_MS": pa.duration("ms"),
    "TIME_US": pa.duration("us"), "TIME_NS": pa.duration("ns"),
}
SMALL = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
BYTES = ("CHAR", "STRING_ASCII", "STRING_UTF8", "ANY", "BLOB", "GEOM_WKB", "GEOM_WKT")
LAST = 2 ** 63 - 1
# The named differences between what is in a file and what pyarrow and DuckDB make of it: see `pyarrow_type`, `duckdb_type`,
# `duckdb_wanted` and `too_far`; `NO_SECONDS` is in arrow_files.py.
MILLISECONDS = "DuckDB reads milliseconds as microseconds"
INFINITE = "DuckDB takes the largest number of milliseconds for infinity"
FAR_MILLISECONDS = "DuckDB refuses milliseconds that are too far away to be microseconds"
INTEGERS = "DuckDB reads seconds, durations as the integers that Parquet stores"
NO_SECONDS = "pyarrow has no seconds for Parquet: it writes milliseconds, and refuses what is too far away"
SECONDS = "pyarrow reads seconds as the integers that Parquet stores"
SMALL_DICTIONARIES = "pyarrow reads dictionaries of texts with 32-bit offsets"
PLAIN = "pyarrow reads dictionaries of other values than texts as their values"
BLOBS = "DuckDB reads bytes of fixed size as BLOB"


class Differs(Exception):
    """What a reader returned is not what was written."""


def arrow_type(datatype, cell_val_num, as_stored):
    """The type that docs/tables/arrow.md names, by the options of `tdb export`."""
    if datatype in BYTES:
        if cell_val_num != "var":
            return pa.binary(cell_val_num)
        return pa.large_string() if datatype in ("STRING_ASCII", "STRING_UTF8") and not as_stored else pa.large_binary()
    one = NUMBERS.get(datatype, pa.int64())
    if datatype == "BOOL":
        one = pa.uint8() if as_stored else pa.bool_()
    elif datatype == "DATETIME_DAY" and not as_stored:
        one = pa.date32()
    if cell_val_num == 1:
        return one
    item = pa.field("item", one, nullable=False)
    return pa.large_list(item) if cell_val_num == "var" else pa.list_(item, cell_val_num)


def column_type(field, enumeration, as_stored):
    """The type of a whole column: a dictionary if it is enumerated."""
    plain = arrow_type(field["type"], field["cell_val_num"], as_stored)
    if enumeration is None or as_stored:
        return plain
    return pa.dictionary(plain, arrow_type(enumeration["type"], enumeration["cell_val_num"], False))


def flat(values, datatype):
    """The bytes that an array stores for values that are no lists and no texts."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return bytes(bool(v) for v in values.to_pylist())
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.view(pa.int32()).cast(pa.int64())
        kind = values.type
    width = kind.bit_width // 8
    if width != capi.size_of(datatype):
        raise Differs("%s for %s" % (values.type, datatype))
    data = values.buffers()[1]
    start = values.offset * width
    return b"" if data is None else data.to_pybytes()[start:start + len(values) * width]


def chunk_cells(values, datatype):
    kind, count = values.type, len(values)
    if pa.types.is_dictionary(kind):
        known = chunk_cells(values.dictionary, datatype)
        return [None if i is None else known[i] for i in values.indices.to_pylist()]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends, data, width = values.offsets.to_pylist(), flat(values.values, datatype), capi.size_of(datatype)
        cells = [data[a * width:b * width] for a, b in zip(ends, ends[1:])]
    elif pa.types.is_fixed_size_list(kind):
        width = kind.list_size * capi.size_of(datatype)
        data = flat(values.values.slice(values.offset * kind.list_size, count * kind.list_size), datatype)
        cells = [data[i * width:(i + 1) * width] for i in range(count)]
    elif pa.types.is_fixed_size_binary(kind):
        return values.to_pylist()
    elif datatype in BYTES and not pa.types.is_integer(kind):
        return values.cast(pa.large_binary()).to_pylist()
    else:
        data, width = flat(values, datatype), capi.size_of(datatype)
        cells = [data[i * width:(i + 1) * width] for i in range(count)]
    return [cell if valid else None for cell, valid in zip(cells, values.is_valid().to_pylist())]


def cells_of(column, datatype):
    return [cell for chunk in column.chunks for cell in chunk_cells(chunk, datatype)]


def enumerated(cells, datatype, values):
    """The values of an enumeration in the place of its numbers; None for numbers that it does not have."""
    read = lambda cell: int.from_bytes(cell, "little", signed=not datatype.startswith("U"))
    numbers = (None if cell is None else read(cell) for cell in cells)
    return [values[n] if n is not None and 0 <= n < len(values) else None for n in numbers]


# -- pyarrow -----------------------------------------------------------------------------------------------------------


def pyarrow_type(kind, used):
    """The type of what pyarrow reads from a Parquet column that was of this type. Adds the rules that it takes to `used`.

    Parquet has no seconds: they are INT64 without a logical type. pyarrow makes durations of such columns if the Arrow schema in the
    metadata says so, and no points in time. Of the dictionaries that the Arrow schema names, it makes those of texts, with 32-bit
    offsets. All this holds for what pyarrow itself writes: it reads `pa.dictionary(pa.int8(), pa.large_string())` back with `string`
    values, and `pa.dictionary(pa.int8(), pa.int64())` as `int64`; seconds it writes as milliseconds.
    """
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        used.add(SECONDS)
        return pa.int64()
    if pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        item = kind.value_field.with_type(pyarrow_type(kind.value_type, used))
        return pa.large_list(item) if pa.types.is_large_list(kind) else pa.list_(item, kind.list_size)
    if pa.types.is_dictionary(kind):
        value = SMALL.get(kind.value_type)
        used.add(SMALL_DICTIONARIES if value else PLAIN)
        return pa.dictionary(kind.index_type, value) if value else pyarrow_type(kind.value_type, used)
    return kind


# -- DuckDB ------------------------------------------------------------------------------------------------------------


def duckdb_type(kind, used):
    """The Arrow type of what DuckDB reads from a Parquet column of this Arrow type. Adds the rules that it takes to `used`.

    Parquet's own types are the proof: it has milli-, micro- and nanoseconds, as points in time only, so seconds and durations
    are INT64 without a logical type, which nothing but the Arrow schema in the file's metadata tells from integers; and
    FIXED_LEN_BYTE_ARRAY, for which DuckDB has BLOB. DuckDB's own TIMESTAMP counts microseconds, and it reads milliseconds as that.
    """
    if pa.types.is_dictionary(kind):
        return duckdb_type(kind.value_type, used)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(duckdb_type(kind.value_type, used))
    if pa.types.is_timestamp(kind) and kind.unit == "s" or pa.types.is_duration(kind):
        used.add(INTEGERS)
        return pa.int64()
    if pa.types.is_timestamp(kind) and kind.unit == "ms":
        used.add(MILLISECONDS)
        return pa.timestamp("us")
    if pa.types.is_fixed_size_binary(kind):
        used.add(BLOBS)
        return pa.binary()
    return SMALL.get(kind, kind)


def duckdb_wanted(cells, datatype, used):
    """The bytes that DuckDB returns for cells: microseconds in the place of milliseconds, except for its two infinities."""
    if datatype != "DATETIME_MS":
        return cells

    def micro(value):
        if abs(value) == LAST:
            used.add(INFINITE)
            return value
        return value * 1000

    def changed(cell):
        return struct.pack("<%dq" % (len(cell) // 8), *map(micro, milliseconds([cell])))

    return [None if cell is None else changed(cell) for cell in cells]


def too_far(cells, datatype):
    """Whether DuckDB refuses these cells: milliseconds whose microseconds are no number of 64 bits, and that are no infinity."""
    if datatype != "DATETIME_MS":
        return False
    return any(abs(v) != LAST and not -LAST <= v * 1000 <= LAST for v in milliseconds(cells))


def milliseconds(cells):
    return [v for cell in cells if cell for v in struct.unpack("<%dq" % (len(cell) // 8), cell)]
