"""Files of CSV, Parquet and Arrow, which pyarrow reads and writes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._array import Array, Location, from_arrow
from ._errors import QueryError
from ._needs import needed
from ._schema import Dimension

if TYPE_CHECKING:
    from ._read import Read


def import_csv(
    uri: Location,
    file: str | os.PathLike[str],
    dimensions: Sequence[Dimension],
    *,
    delimiter: str = ",",
    types: Mapping[str, Any] | None = None,
    missing: Sequence[str] = ("",),
    **array: Any,
) -> Array:
    """Creates an array from a CSV file, which is read in parts, and opens it.

    The first line has the names of the columns. Those with the names of ``dimensions`` are coordinates, the others attributes;
    their types are those of the first lines, or ``types`` by name (types of pyarrow, or their names). ``missing`` are the
    texts that mean "no value". The other keywords are those of :func:`from_arrow`.

    >>> file = scratch / "rain.csv"
    >>> _ = file.write_text("day,rain\\n3,0.5\\n1,7.25\\n")
    >>> tdb.import_csv(scratch / "csv", file, [tdb.Dimension("day", (1, 31), "int64")])[:]
    {'day': array([1, 3]), 'rain': masked_array(data=[7.25, 0.5],
                 mask=[False, False],
           fill_value=1e+20)}
    """
    csv = needed("pyarrow.csv", "pyarrow", "CSV files")
    convert = csv.ConvertOptions(
        column_types=_types(dimensions, types or {}), null_values=list(missing), strings_can_be_null=True
    )
    reader = csv.open_csv(file, parse_options=csv.ParseOptions(delimiter=delimiter), convert_options=convert)
    known = reader.schema.names
    unknown = [one.name for one in dimensions if one.name not in known]
    if unknown:
        raise QueryError(f"{os.fspath(file)} has no column {unknown[0]!r} (it has {', '.join(known)})")
    return from_arrow(uri, reader, dimensions, **array)


def _types(dimensions: Sequence[Dimension], types: Mapping[str, Any]) -> dict[str, Any]:
    """The types of the columns that have one: coordinates have the types of their dimensions."""
    arrow = needed("pyarrow", "pyarrow", "CSV files")
    found = {name: arrow.type_for_alias(one) if isinstance(one, str) else one for name, one in types.items()}
    for one in dimensions:
        kind = one.datatype.lower()
        if kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"):
            found.setdefault(one.name, arrow.type_for_alias(kind))
        elif kind == "string_ascii":
            found.setdefault(one.name, arrow.large_string())
        elif kind in ("datetime_sec", "datetime_ms", "datetime_us", "datetime_ns"):
            unit = kind.rpartition("_")[2]
            found.setdefault(one.name, arrow.timestamp("s" if unit == "sec" else unit))
    return found


def export(read: Read, file: str | os.PathLike[str], memory: str | int) -> int:
    """See :meth:`Read.export`."""
    kind = os.path.splitext(os.fspath(file))[1].lower()
    if kind not in (".csv", ".parquet", ".arrow"):
        raise QueryError(f"{os.fspath(file)}: the name of the file ends with .csv, .parquet or .arrow, not with {kind!r}")
    arrow = needed("pyarrow", "pyarrow", "Files of Arrow, Parquet and CSV")
    reader = arrow.RecordBatchReader.from_stream(read.with_dimensions().stream(memory))
    if kind == ".parquet":
        writer = needed("pyarrow.parquet", "pyarrow", "Parquet files").ParquetWriter(file, reader.schema, compression="zstd")
    elif kind == ".csv":
        writer = needed("pyarrow.csv", "pyarrow", "CSV files").CSVWriter(file, reader.schema)
    else:
        writer = needed("pyarrow.ipc", "pyarrow", "Arrow files").new_file(file, reader.schema)
    cells = 0
    with writer:
        for batch in reader:
            writer.write_batch(batch)
            cells += batch.num_rows
    return cells
