"""Tables of pandas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from . import _tdb
from ._array import Array, Key, Location, Storage, place
from ._columns import Column, pack
from ._errors import QueryError
from ._frames import ROWS, attribute_of, dimension_of, rows_of
from ._schema import Filters, Schema
from ._types import AnyArray, Time, encoding, milliseconds, nearest_unit

if TYPE_CHECKING:
    from ._read import Read


def to_pandas(read: Read, index: Sequence[str] | None) -> pd.DataFrame:
    """The cells of a query."""
    cells = read.with_dimensions()._core.collect_rows()
    columns = [Column(parts) for parts in cells.take_columns()]
    frame = pd.DataFrame({column.name: _series(read.array, column) for column in columns})
    return frame if index is None else frame.set_index(list(index))


def _series(array: Array, column: Column) -> Any:
    """A column in pandas' own type for it."""
    field = array.schema.field(column.name)
    nulls = column.nulls()
    if field is not None and field.enumeration is not None:
        _, labels, ordered = array._enumeration(field.enumeration)
        stored = column.values()
        missing = (stored < 0) | (stored >= len(labels))
        codes = stored.astype(np.int64)
        codes[missing if nulls is None else missing | nulls] = -1
        if labels.dtype.kind in "mM":
            labels = nearest_unit(column.name, labels)
        elif labels.dtype.kind not in "iufb":
            labels = labels.tolist()
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
        data[nulls] = np.array("NaT", data.dtype)
        return nearest_unit(column.name, data)
    if values.ndim > 1 and column.count != 1:
        return list(values)
    if values.dtype.kind in "mM":
        return nearest_unit(column.name, values)
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
    """Creates an array from a table of pandas, and opens it. If that fails, nothing is left behind.

    ``index`` names the columns that become dimensions of a sparse array, as ``frame.set_index(index)`` does. Without it the
    index of the table does: under its name, or as ``__tiledb_rows``. An index without a name that only counts the rows
    becomes their numbers in the dimension ``__tiledb_rows``; with ``sparse=False`` the array is then a dense one, whose cells
    are the rows. Categorical columns become enumerated attributes. ``full_domain`` gives dimensions the whole range of their
    type, so that later rows fit, too; so do dimensions of a table without rows. What arrays do not have is refused, with the
    name of the column.

    >>> import pandas
    >>> frame = pandas.DataFrame({"station": ["Oslo", "Bergen"], "rain": [0.5, 7.25]})
    >>> A = tdb.from_pandas(scratch / "rain", frame, index=["station"])
    >>> A.read().to_pandas()
      station  rain
    0  Bergen  7.25
    1    Oslo  0.50
    >>> tdb.from_pandas(scratch / "rows", frame).read(where="rain > 1").to_pandas()
       __tiledb_rows station  rain
    0              1  Bergen  7.25
    """
    frame, index = _with_index(frame, index)
    if sparse is False and (index or full_domain):
        why = "full_domain is for sparse ones" if not index else f"{index[0]!r} is a column of coordinates, which sparse ones have"
        raise QueryError(f"the cells of a dense array are the rows of the table, and {why}: leave out sparse=False")
    dense = sparse is False
    full = full_domain or not len(frame)
    columns, rows = [(name, frame[name]) for name in frame.columns], len(frame)
    named = [dimension_of(name, frame[name], tile, full) for name in index]
    if not index:
        named = [rows_of(rows, tile, full and not dense)]
    attributes = [attribute_of(name, column, filters) for name, column in columns if name not in index]
    schema = Schema(
        "dense" if dense else "sparse",
        [dimension for dimension, _ in named],
        [attribute for attribute, _, _ in attributes],
        [labels[0] for _, labels, _ in attributes if labels is not None],
        duplicates=duplicates and not dense,
        capacity=capacity,
    )
    data = [] if dense else [(dimension.name, values) for dimension, values in named]
    data += [(attribute.name, values) for attribute, _, values in attributes]
    given = []
    for name, values in data if rows else ():
        field = schema.field(name)
        assert field is not None
        given.append(pack(field, values, None, "C")[0])
    values_of = [labels[1] for _, labels, _ in attributes if labels is not None]
    box = [(ROWS, 0, rows - 1)] if dense and rows else []
    where = place(uri, storage, key, threads)
    said, time = json.dumps(schema.to_json()), None if at is None else milliseconds(at)
    _tdb.create_filled(where, said, values_of, given, box, "refuse", time)
    return Array(where)


def _with_index(frame: pd.DataFrame, index: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    """A table whose index only counts the rows, with names that are texts, and which columns are dimensions."""
    if index is None and not _only_counts(frame.index):
        if frame.index.names == [None]:
            frame = frame.rename_axis(index=ROWS)
        if None in frame.index.names:
            raise QueryError("a level of the index has no name: name it, or say with index which columns are dimensions")
        index = [str(name) for name in frame.index.names]
    if index is not None and list(frame.index.names) != [None]:
        frame = frame.reset_index()
    names, index = [str(name) for name in frame.columns], list(index or ())
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise QueryError(f"the table has two columns with the name {twice[0]!r}: rename one")
    unknown = [name for name in index if name not in names]
    if unknown:
        raise QueryError(f"the table has no column {unknown[0]!r} (it has {', '.join(names)})")
    if not index and ROWS in names:
        raise QueryError(f"the column {ROWS!r} has the name of the numbers of rows: say index=[{ROWS!r}], or rename it")
    return frame.set_axis(names, axis=1), index


def _only_counts(index: pd.Index[Any]) -> bool:
    """Whether an index has no name, and says of each row only the how manieth it is."""
    if index.names != [None] or index.dtype.kind not in "iu":
        return False
    return bool((index.to_numpy() == np.arange(len(index))).all())
