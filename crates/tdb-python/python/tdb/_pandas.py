"""Tables of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ._array import Array, Key, Location, Storage, create
from ._columns import Column
from ._errors import QueryError
from ._schema import Attribute, Dimension, Enumeration, Filters, Schema
from ._types import AnyArray, Time, datatype_name, encoding, nearest_unit

if TYPE_CHECKING:
    from ._read import Read

#: The name of the dimension of a table without an index.
ROWS = "__tiledb_rows"


def to_pandas(read: Read, index: Sequence[str] | None) -> pd.DataFrame:
    """The cells of a query."""
    cells = read.with_dimensions()._core.collect()
    columns = [Column(parts) for parts in cells.take_columns()]
    frame = pd.DataFrame({column.name: _series(read.array, column) for column in columns})
    return frame if index is None else frame.set_index(list(index))


def _series(array: Array, column: Column) -> Any:
    """A column in pandas' own type for it."""
    field = array.schema.field(column.name)
    nulls = column.nulls()
    if field is not None and field.enumeration is not None:
        labels, ordered = array._labels(field.enumeration)
        stored = column.values()
        missing = (stored < 0) | (stored >= len(labels))
        codes = stored.astype(np.int64)
        codes[missing if nulls is None else missing | nulls] = -1
        return pd.Categorical.from_codes(codes, pd.Index(labels), ordered=ordered)
    texts = _strings(column, nulls)
    if texts is not None:
        return texts
    values = column.to_numpy()
    if isinstance(values, np.ma.MaskedArray):
        kind, data = values.dtype.kind, values.data
        if nulls is None or values.ndim > 1:
            return list(values)
        if kind in "iu":
            return pd.arrays.IntegerArray(data, nulls)
        if kind == "f":
            return pd.arrays.FloatingArray(data, nulls)
        if kind == "b":
            return pd.arrays.BooleanArray(data, nulls)
        data[nulls] = np.datetime64("NaT") if kind == "M" else np.timedelta64("NaT")
        return nearest_unit(data)
    if values.ndim > 1 and column.count != 1:
        return list(values)
    if values.dtype.kind in "mM":
        return nearest_unit(values)
    return values.ravel() if values.dtype.kind != "S" else values.astype(object)


def _strings(column: Column, nulls: AnyArray | None) -> Any:
    """A column of texts in pandas' own type for them, without objects of Python, where pandas makes that type of texts anyway
    and keeps it in Arrow; ``None`` elsewhere. Texts that are not UTF-8 stay objects."""
    if column.offsets is None or encoding(column.datatype) != "utf-8":
        return None
    # What pandas makes of texts by itself depends on its version and its options.
    dtype = pd.Series([""]).dtype
    if getattr(dtype, "storage", None) != "pyarrow":
        return None
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    bitmap = None if nulls is None else pyarrow.py_buffer(np.packbits(~nulls, bitorder="little"))
    buffers = [bitmap, pyarrow.py_buffer(column.offsets), pyarrow.py_buffer(column.data)]
    made = pyarrow.Array.from_buffers(pyarrow.large_string(), len(column.offsets) - 1, buffers)
    try:
        made.validate(full=True)
    except pyarrow.ArrowInvalid:
        # Bytes that are not text: pandas would try to make its type of them, and fail.
        return pd.Series(column.to_numpy(), dtype=object)
    return dtype.__from_arrow__(made)  # type: ignore[union-attr, unused-ignore]


def from_pandas(
    uri: Location,
    frame: pd.DataFrame,
    index: Sequence[str] | None = None,
    *,
    sparse: bool | None = None,
    tile: int | None = None,
    filters: Filters = "zstd",
    duplicates: bool = True,
    full_domain: bool = False,
    capacity: int | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates an array from a table of pandas, and opens it.

    ``index`` names the columns that become dimensions of a sparse array, as ``frame.set_index(index)`` does. Without it the
    index of the table does: under its name, or as ``__tiledb_rows``. An index without a name that only counts the rows makes
    the array dense. Categorical columns become enumerated attributes. ``full_domain`` gives dimensions the whole range of their type, so that later rows fit, too.

    >>> import pandas
    >>> frame = pandas.DataFrame({"station": ["Oslo", "Bergen"], "rain": [0.5, 7.25]})
    >>> A = tdb.from_pandas(scratch / "rain", frame, index=["station"])
    >>> A.read().to_pandas()
      station  rain
    0  Bergen  7.25
    1    Oslo  0.50
    """
    if index is None and not _only_counts(frame.index):
        if frame.index.names == [None]:
            frame = frame.rename_axis(index=ROWS)
        if None in frame.index.names:
            raise QueryError("a level of the index has no name: name it, or say with index which columns are dimensions")
        index = [str(name) for name in frame.index.names]
    if index is not None and list(frame.index.names) != [None]:
        frame = frame.reset_index()
    if sparse is None:
        sparse = index is not None
    dimensions = []
    if index is None:
        if sparse:
            raise QueryError("a sparse array needs dimensions: say with index which columns they are")
        high = max(len(frame) - 1, 0)
        dimensions.append(Dimension(ROWS, (0, high), "uint64", tile=min(tile or 10_000, high + 1)))
    for name in index or ():
        dimensions.append(_dimension(name, frame[name], tile, full_domain))
    attributes, enumerations, data = [], [], {}
    for name in map(str, frame.columns):
        column = frame[name]
        values, kinds = _values(column)
        if index is None or name not in index:
            attribute, enumeration = _attribute(name, column, kinds, filters)
            attributes.append(attribute)
            enumerations += [] if enumeration is None else [enumeration]
        data[name] = values
    schema = Schema(
        "sparse" if sparse else "dense",
        dimensions,
        attributes,
        enumerations,
        duplicates=duplicates and sparse,
        capacity=capacity,
    )
    array = create(uri, schema, at=at, key=key, storage=storage, threads=threads)
    if len(frame):
        array.write(data, at=at)
    return array


def _only_counts(index: pd.Index[Any]) -> bool:
    """Whether an index has no name, and says of each row only the how manieth it is."""
    if index.names != [None] or index.dtype.kind not in "iu":
        return False
    return bool((index.to_numpy() == np.arange(len(index))).all())


def _values(column: pd.Series[Any]) -> tuple[Any, set[type]]:
    """A column as :meth:`Array.write` takes it, and the types of its objects, if it has objects."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM":
        return np.ma.MaskedArray(column.to_numpy(), column.isna().to_numpy()), set()
    if column.dtype == object:
        values = column.to_numpy()
        kinds = set(map(type, values))
        if not kinds <= {str, bytes, type(None)}:
            # pandas says "nothing" with numbers, too.
            values = values.copy()
            values[column.isna().to_numpy()] = None
            kinds = set(map(type, values))
        return values, kinds
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array, set()


def _is_text(column: pd.Series[Any]) -> bool:
    return isinstance(column.dtype, pd.StringDtype) or column.dtype == object


def _dimension(name: str, column: pd.Series[Any], tile: int | None, full_domain: bool) -> Dimension:
    if _is_text(column):
        return Dimension(name, dtype="ascii")
    values = column.to_numpy()
    if values.dtype.kind in "mM":
        # The smallest number is "not a time", and the greatest tile has to fit.
        info = np.iinfo(np.int64)
        low, high = (values.min(), values.max()) if not full_domain else (info.min + 1, info.max - (tile or 1))
        ends = tuple(np.asarray(end).astype(values.dtype) for end in (low, high))
        return Dimension(name, (ends[0][()], ends[1][()]), values.dtype, tile)
    low, high = values.min(), values.max()
    if full_domain:
        limits = np.finfo(values.dtype) if values.dtype.kind == "f" else np.iinfo(values.dtype)
        low, high = limits.min, limits.max if values.dtype.kind == "f" else limits.max - (tile or 1)
    return Dimension(name, (low, high), values.dtype, tile)


def _attribute(
    name: str, column: pd.Series[Any], kinds: set[type], filters: Filters
) -> tuple[Attribute, Enumeration | None]:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        labels = list(column.cat.categories.to_numpy())
        count = len(labels)
        codes = "int8" if count < 1 << 7 else "int16" if count < 1 << 15 else "int32"
        enumeration = Enumeration(name, labels, bool(column.cat.ordered))
        return Attribute(name, codes, nullable=bool(column.isna().any()), enumeration=name, filters=filters), enumeration
    if _is_text(column):
        if dtype != object:
            return Attribute(name, str, nullable=bool(column.isna().any()), filters=filters), None
        nullable = type(None) in kinds
        kinds = kinds - {type(None)}
        if not all(issubclass(one, (str, bytes)) for one in kinds):
            raise QueryError(f"column {name!r} has objects that are neither texts nor bytes")
        of_bytes = bool(kinds) and all(issubclass(one, bytes) for one in kinds)
        return Attribute(name, bytes if of_bytes else str, nullable=nullable, filters=filters), None
    if isinstance(dtype, np.dtype):
        dates = dtype.kind in "mM" and bool(column.isna().any())
        return Attribute(name, dtype, nullable=dates, filters=filters), None
    own = getattr(dtype, "numpy_dtype", None)
    if own is None:
        raise QueryError(f"column {name!r} has the type {dtype}, which arrays do not have: convert it first")
    return Attribute(name, datatype_name(own), nullable=True, filters=filters), None
