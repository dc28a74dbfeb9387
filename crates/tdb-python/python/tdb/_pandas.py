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
from ._domains import ROWS, rows_of
from ._errors import QueryError
from ._frames import attribute_of, dimension_of
from ._schema import Filters, Schema
from ._types import AnyArray, Time, decode_value, encode_value, encoding, milliseconds, nearest_unit
from ._zones import Zone, zone_entry, zone_of, zones_of

if TYPE_CHECKING:
    from ._read import Read

#: The entry of the metadata that says which dimensions were the index of a table, as TileDB-Py writes it.
INDEX = "__pandas_index_dims"


def to_pandas(read: Read, index: Sequence[str] | None) -> pd.DataFrame:
    """The cells of a query. Without ``index``, the index is that of the table of which the array was made."""
    frame = to_frame(read.array, read.with_dimensions()._columns())
    if index is None:
        return _with_own_index(read, frame)
    return frame.set_index(list(index)) if index else frame


def _with_own_index(read: Read, frame: pd.DataFrame) -> pd.DataFrame:
    """A table with the index that the table had of which :func:`from_pandas` made the array."""
    if read._fields is not None:
        return frame
    entries = {key: (datatype, count, data) for key, datatype, count, data in read.array._core.metadata() if key == INDEX.encode()}
    if INDEX.encode() not in entries:
        return frame
    try:
        names = [str(name) for name in json.loads(decode_value(*entries[INDEX.encode()]))]
    except (TypeError, ValueError):
        return frame
    if not names or not all(name in frame.columns for name in names):
        return frame
    if names != [ROWS]:
        return frame.set_index(names)
    rows = frame.pop(ROWS)
    if rows.dtype.kind == "u":
        rows = rows.astype(np.int64)
    counts = rows.dtype.kind == "i" and bool((rows.to_numpy() == np.arange(len(rows))).all())
    return frame if counts else frame.set_axis(pd.Index(rows.array), axis=0)


def to_frame(array: Array, columns: Sequence[Column]) -> pd.DataFrame:
    """Columns as a table."""
    zones = zones_of(array, [column.name for column in columns])
    return pd.DataFrame({column.name: _in_zone(_series(array, column), zones.get(column.name)) for column in columns})


def _in_zone(values: Any, zone: Zone | None) -> Any:
    """Dates in UTC as those of a zone."""
    if zone is None:
        return values
    if isinstance(values, pd.Categorical):
        moments = pd.DatetimeIndex(values.categories).tz_localize("UTC").tz_convert(zone)
        return values.rename_categories(dict(zip(values.categories, moments)))
    return pd.DatetimeIndex(values).tz_localize("UTC").tz_convert(zone)


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
    full_domain: bool | None = None,
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
    are the rows. :meth:`Read.to_pandas` makes an index of what was one. Categorical columns become enumerated attributes.
    Dates in a time zone are stored in UTC, and the metadata of the array says the zone.

    Dimensions have room for later rows, as in the command's import: dates the years 1 to 9999. ``full_domain=True`` gives them the
    whole range of their type, as do tables without rows, and ``full_domain=False`` ends them with the rows that there are. What arrays
    do not have is refused, with the name of the column.

    >>> import pandas
    >>> frame = pandas.DataFrame({"station": ["Oslo", "Bergen"], "rain": [0.5, 7.25]})
    >>> A = tdb.from_pandas(scratch / "rain", frame, index=["station"])
    >>> A.read().to_pandas()
      station  rain
    0  Bergen  7.25
    1    Oslo  0.50
    >>> tdb.from_pandas(scratch / "rows", frame).read(where="rain > 1").to_pandas()
      station  rain
    1  Bergen  7.25
    """
    frame, index, types = _with_index(frame, index)
    if sparse is False and (index or full_domain):
        why = "full_domain is for sparse ones" if not index else f"{index[0]!r} is a column of coordinates, which sparse ones have"
        raise QueryError(f"the cells of a dense array are the rows of the table, and {why}: leave out sparse=False")
    dense = sparse is False
    full = full_domain if len(frame) else True
    columns, rows = [(name, frame[name]) for name in frame.columns], len(frame)
    zones = {name: zone for name, column in columns if (zone := zone_of(name, column.dtype)) is not None}
    named = [dimension_of(name, frame[name], tile, full) for name in index]
    if not index:
        named = [(rows_of(rows, tile, full is not False and not dense), np.arange(rows, dtype=np.uint64))]
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
    metadata = [(INDEX.encode(), *encode_value(json.dumps(types)))] if types else []
    metadata += [zone_entry(name, name in index, zone) for name, zone in zones.items()]
    _tdb.create_filled(where, said, values_of, given, box, "refuse", time, metadata)
    return Array(where)


def _with_index(frame: pd.DataFrame, index: Sequence[str] | None) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """A table whose index only counts the rows, with names that are texts; which columns are dimensions; and the types of those that
    were an index, by name."""
    if frame.columns.nlevels > 1:
        raise QueryError(
            f"the columns of the table have {frame.columns.nlevels} levels, but fields have one name: "
            'frame.columns = ["_".join(map(str, one)) for one in frame.columns] makes one of them'
        )
    types = {} if index is not None else _types_of(frame.index)
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
    return frame.set_axis(names, axis=1), index, types


def _types_of(index: pd.Index[Any]) -> dict[str, str]:
    """The types of an index by the names of its dimensions, as TileDB-Py writes them."""
    types = [level.dtype for level in index.levels] if isinstance(index, pd.MultiIndex) else [index.dtype]
    # A text has no type of numpy that astype would take.
    said = [str(one) if isinstance(one, np.dtype) and one.kind in "iufmM" else "<U0" for one in types]
    return {ROWS if name is None else str(name): one for name, one in zip(index.names, said)}


def _only_counts(index: pd.Index[Any]) -> bool:
    """Whether an index has no name, and says of each row only the how manieth it is."""
    if index.names != [None] or index.dtype.kind not in "iu":
        return False
    return bool((index.to_numpy() == np.arange(len(index))).all())
