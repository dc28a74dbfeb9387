"""New arrays of arrays of numpy and tables of polars, and tables that are written to arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._array import Array, Key, Location, Storage, create_filled, from_arrow
from ._domains import dimension_for
from ._errors import QueryError
from ._schema import Attribute, Dimension, Filters, Schema
from ._types import AnyArray, Time

if TYPE_CHECKING:
    import polars

#: Cells of a tile, unless the caller says how many.
TILE_CELLS = 1 << 17


def from_numpy(
    uri: Location,
    values: Any,
    *,
    tile: int | Sequence[int] | None = None,
    dims: Sequence[str] | None = None,
    name: str = "a",
    filters: Filters = "zstd",
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates a dense array of an array of numpy, and opens it. If that fails, nothing is left behind.

    Dimensions begin with 0 and have the names ``dims`` (``d0``, ``d1``, …); ``tile`` is the number of coordinates of a tile along
    each of them, or along all. The attribute has the name ``name``; the fields of a structured array are attributes of their own. A
    masked array becomes a nullable attribute.

    >>> A = tdb.from_numpy(scratch / "numbers", np.arange(6).reshape(2, 3))
    >>> A[1].tolist(), A.schema.shape
    ([3, 4, 5], (2, 3))
    """
    given = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if given.ndim == 0 or given.size == 0:
        raise QueryError(f"an array of the shape {given.shape} has no dimension or no cells: tdb.create makes an array without cells")
    fields = given.dtype.names
    columns = {name: given} if fields is None else {own: given[own] for own in fields}
    schema = schema_for(given.shape, columns, tile, dims, filters)
    return create_filled(uri, schema, columns, given.shape, at=at, key=key, storage=storage, threads=threads)


def schema_for(
    shape: Sequence[int],
    columns: Mapping[str, AnyArray],
    tile: int | Sequence[int] | None,
    dims: Sequence[str] | None,
    filters: Filters,
) -> Schema:
    """The schema of a dense array for columns of this shape, which say only of which types they are."""
    names = [f"d{axis}" for axis in range(len(shape))] if dims is None else [str(one) for one in dims]
    if len(names) != len(shape):
        raise QueryError(f"dims={list(names)}: {len(names)} names for {len(shape)} dimensions")
    extents = _tiles(shape, tile)
    dimensions = [Dimension(own, (0, size - 1), "int64", extent) for own, size, extent in zip(names, shape, extents)]
    return Schema("dense", dimensions, [_attribute(name, column, filters) for name, column in columns.items()])


def _tiles(shape: Sequence[int], tile: int | Sequence[int] | None) -> list[int]:
    """The extents of the tiles: without a choice whole rows, as far as a tile has room for them."""
    if tile is None:
        room, found = TILE_CELLS, []
        for size in reversed(shape):
            found.append(min(size, max(room, 1)))
            room //= found[-1]
        return found[::-1]
    wanted = [int(tile)] * len(shape) if isinstance(tile, (int, np.integer)) else [int(one) for one in tile]
    if len(wanted) != len(shape):
        raise QueryError(f"tile={tile!r}: {len(wanted)} extents for {len(shape)} dimensions")
    return [min(one, size) for one, size in zip(wanted, shape)]


def _attribute(name: str, values: AnyArray, filters: Filters) -> Attribute:
    """The attribute for the cells of an array of numpy."""
    nullable = isinstance(values, np.ma.MaskedArray)
    if values.dtype != object:
        try:
            return Attribute(name, values.dtype, nullable=nullable, filters=filters)
        except QueryError as error:
            raise QueryError(f"{error}: .astype makes another type of it, such as .astype('float64')") from error
    flat = np.asarray(values).ravel()
    kinds = {type(one) for one in flat if one is not None}
    for own in (str, bytes):
        if kinds and all(issubclass(kind, own) for kind in kinds):
            return Attribute(name, own, nullable=nullable or any(one is None for one in flat), filters=filters)
    shown = ", ".join(sorted(kind.__name__ for kind in kinds)) or "nothing"
    raise QueryError(f"the objects of {name!r} are neither texts nor bytes, or both ({shown}): .astype makes another type of them")


def from_polars(
    uri: Location,
    frame: polars.DataFrame,
    index: Sequence[str] | str | None = None,
    *,
    tile: int | None = None,
    duplicates: bool = True,
    full_domain: bool | None = None,
    **array: Any,
) -> Array:
    """Creates a sparse array from a table of polars, and opens it. If that fails, nothing is left behind.

    ``index`` names the columns that become dimensions; without it the rows are numbered, in the dimension ``__tiledb_rows``. ``tile``
    and ``full_domain`` are those of :func:`from_pandas`, the other keywords those of :func:`from_arrow`.

    >>> import polars
    >>> frame = polars.DataFrame({"station": ["Oslo", "Bergen"], "rain": [0.5, 7.25]})
    >>> tdb.from_polars(scratch / "rain", frame, "station").read().to_polars()["rain"].to_list()
    [7.25, 0.5]
    """
    names = [index] if isinstance(index, str) else list(index or ())
    unknown = [name for name in names if name not in frame.columns]
    if unknown:
        raise QueryError(f"the table has no column {unknown[0]!r} (it has {', '.join(frame.columns)})")
    if not names:
        if tile is not None or full_domain is not None:
            raise QueryError("tile= and full_domain= are about the dimensions: name them with index=")
        return from_arrow(uri, frame, duplicates=duplicates, **array)
    dimensions = [_dimension(frame[name], tile, full_domain) for name in names]
    return from_arrow(uri, frame, dimensions, duplicates=duplicates, **array)


def _dimension(column: polars.Series, tile: int | None, full: bool | None) -> Dimension:
    """The dimension for a column of polars."""
    if column.null_count():
        raise QueryError(
            f"column {column.name!r} is a dimension, but {column.null_count()} of its values are missing: every cell has coordinates"
        )
    dtype = str(column.dtype)
    if dtype in ("String", "Utf8", "Binary"):
        return Dimension(column.name, dtype="ascii")
    values = column.to_numpy()
    if values.dtype.kind not in "iufmM":
        raise QueryError(f"column {column.name!r} has the type {dtype}, which dimensions do not have: .cast makes another type of it")
    return dimension_for(column.name, values, tile, full)


__all__ = ["from_numpy", "from_polars"]
