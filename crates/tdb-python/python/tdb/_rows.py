"""Tables as they are written to an array: their columns in the types of its fields, where that loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._domains import ROWS
from ._errors import WriteError
from ._extension import arrow_dtype, has_zone, is_binary, is_text_of_pandas
from ._types import number_dtype

if TYPE_CHECKING:
    from ._array import Array
    from ._schema import Schema

#: The units that Arrow has for dates and times.
_UNITS = ("s", "ms", "us", "ns")


def is_frame(data: Any) -> bool:
    """Whether this is a table of pandas, all columns of which are of types that are packed without Arrow."""
    if type(data).__module__.partition(".")[0] != "pandas" or not hasattr(data, "iloc") or getattr(data, "ndim", 0) != 2:
        return False
    return all(_is_plain(dtype) for dtype in data.dtypes)


def _is_plain(dtype: Any) -> bool:
    if isinstance(dtype, np.dtype):
        return dtype.kind in "iufbmMO"
    if hasattr(dtype, "pyarrow_dtype"):
        return arrow_dtype(dtype) is not None or is_binary(dtype) or is_text_of_pandas(dtype)
    own = getattr(dtype, "numpy_dtype", None)
    return is_text_of_pandas(dtype) or has_zone(dtype) or hasattr(dtype, "categories") or isinstance(own, np.dtype)


def columns_of_frame(array: Array, frame: Any) -> dict[str, Any]:
    """The columns of a table of pandas, among them what its index says. Where the only dimension numbers rows, and the table does
    not, its rows follow the last one that was written."""
    schema = array.schema
    index = frame.index
    numbered = schema.sparse and schema.ndim == 1 and schema.dimensions[0].name == ROWS and ROWS not in frame.columns
    counts = index.names == [None] and index.dtype.kind in "iu" and bool((index.to_numpy() == np.arange(len(index))).all())
    if index.names != [None]:
        frame = frame.reset_index()
    elif numbered and not counts:
        frame = frame.rename_axis(index=ROWS).reset_index()
    columns: dict[str, Any] = {}
    for at, name in enumerate(map(str, frame.columns)):
        if name in columns:
            raise WriteError(f"the table has two columns with the name {name!r}: rename one")
        columns[name] = frame.iloc[:, at]
    if numbered and ROWS not in columns:
        ends = array.non_empty_domain
        first = 0 if ends is None else int(ends[0][1]) + 1
        columns[ROWS] = np.arange(first, first + len(frame), dtype=np.uint64)
    return columns


def in_types_of(schema: Schema, data: Any, casting: str) -> Any:
    """A table or a stream of Arrow, whose columns of numbers and dates have the types of their fields; what a type does not have is an
    error. It is itself where nothing is to be done, or pyarrow is not installed."""
    try:
        import pyarrow  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return data
    if not hasattr(data, "__arrow_c_stream__"):
        return data
    reader = pyarrow.RecordBatchReader.from_stream(data)
    wanted = {}
    for own in reader.schema:
        field = schema.field(own.name)
        target = None if field is None or field.enumeration is not None or field.var else _arrow_type(pyarrow, field.datatype)
        if target is not None and own.type != target and _is_cast(pyarrow, own.type, target, casting):
            wanted[own.name] = target
    if not wanted:
        return reader
    fields = [own.with_type(wanted[own.name]) if own.name in wanted else own for own in reader.schema]
    cast = pyarrow.schema(fields, metadata=reader.schema.metadata)

    def batches() -> Iterator[Any]:
        for batch in reader:
            columns = [
                _cast(pyarrow, name, column, wanted[name]) if name in wanted else column
                for name, column in zip(batch.schema.names, batch.columns)
            ]
            yield pyarrow.RecordBatch.from_arrays(columns, schema=cast)

    return pyarrow.RecordBatchReader.from_batches(cast, batches())


def _arrow_type(pyarrow: Any, datatype: str) -> Any:
    """Arrow's type for numbers, dates and times of a datatype; ``None`` if there is none."""
    dtype = number_dtype(datatype)
    if dtype is None or dtype.kind == "b":
        return None
    if dtype.kind not in "mM":
        return pyarrow.from_numpy_dtype(dtype)
    unit = np.datetime_data(dtype)[0]
    if unit not in _UNITS:
        return None
    return pyarrow.timestamp(unit) if dtype.kind == "M" else pyarrow.duration(unit)


def _is_cast(pyarrow: Any, given: Any, target: Any, casting: str) -> bool:
    """Whether a column is cast, as columns of numpy are; what is not is left to the write, which takes or refuses it."""
    types = pyarrow.types
    if types.is_timestamp(target):
        return bool(types.is_timestamp(given) or types.is_date(given))
    if types.is_duration(target):
        return bool(types.is_duration(given))
    if types.is_integer(target):
        return bool(types.is_integer(given))
    if types.is_floating(given):
        return casting == "same_kind" or given.bit_width < target.bit_width
    return bool(types.is_integer(given))


def _cast(pyarrow: Any, name: str, column: Any, target: Any) -> Any:
    """A column in another type."""
    import pyarrow.compute as compute  # type: ignore[import-untyped, unused-ignore]

    try:
        if pyarrow.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pyarrow.timestamp(column.type.unit))
        found = column.cast(target)
    except pyarrow.ArrowInvalid as error:
        raise WriteError(f'field "{name}" has the type {target}, which does not have all values of its column: {error}') from error
    if pyarrow.types.is_floating(column.type) and not compute.all(compute.equal(compute.is_inf(found), compute.is_inf(column))).as_py() in (True, None):
        raise WriteError(f'field "{name}" has the type {target}, but some values of its column are too large for it')
    return found
