"""Dense arrays as arrays of dask, which read their chunks when they are computed.

>>> import tdb.dask
>>> cells = tdb.dask.from_tdb(fixtures / "quickstart", chunks="tiles")
>>> cells.chunks
((2, 2), (2, 2))
>>> int(cells[1:].sum().compute())
126
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._array import Array, Key, Storage, create, open
from ._errors import QueryError
from ._grid import Grid
from ._needs import needed
from ._schema import Filters
from ._tables import schema_for
from ._types import Time, Window, milliseconds

if TYPE_CHECKING:
    import dask.array


def from_tdb(
    array: Array | str | os.PathLike[str],
    field: str | None = None,
    *,
    chunks: Any = "auto",
    at: Window = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> dask.array.Array:
    """A field of a dense array as an array of dask.

    ``chunks`` is what dask takes: ``"auto"`` makes chunks of whole tiles, each of about the size that dask prefers. In
    addition, ``"tiles"`` makes each tile a chunk. Positions begin with 0, whatever the domain is. All chunks are read at the
    same time of the array; in other processes each opens the array again, with the environment of its process: see
    docs/python.md about keys and options of stores. Missing numbers are "not a number".
    """
    dask_array = needed("dask.array", "dask", "Arrays of dask")
    if not isinstance(array, Array):
        array = open(array, at, key=key, storage=storage, threads=threads)
    elif at is not None:
        array = array.reopen(at)
    if field is None:
        names = [one.name for one in array.schema.attributes]
        if len(names) != 1:
            raise QueryError(f"the array has several attributes ({', '.join(names)}): choose one with field=")
        field = names[0]
    grid = Grid(array, field)
    if isinstance(chunks, str) and (chunks == "tiles" or (chunks == "auto" and grid.dtype.hasobject)):
        chunks = grid.chunks
    elif chunks == "auto":
        chunks = dask_array.core.normalize_chunks("auto", grid.shape, dtype=grid.dtype, previous_chunks=grid.chunks)
    # The name says which cells these are, so the same ones are computed once.
    name = "tdb-" + needed("dask.base", "dask", "Arrays of dask").tokenize(grid, chunks)
    empty = grid._decoded(grid._stored(0)).reshape((0,) * grid.ndim)
    found: dask.array.Array = dask_array.from_array(grid, chunks=chunks, name=name, asarray=False, lock=False, meta=empty)
    return found


def to_tdb(
    array: dask.array.Array,
    uri: str | os.PathLike[str],
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
    """Computes an array of dask into a new dense array, chunk by chunk, and opens it.

    Tiles are as large as the first chunk, unless ``tile`` says otherwise; the other keywords are those of :func:`tdb.from_numpy`. Each
    chunk is one fragment: :meth:`Array.consolidate` makes one of them. If a chunk cannot be computed, the array stays with those that
    were written. Other processes need keys and options of stores in their environment: see docs/python.md.

    >>> import dask.array
    >>> A = tdb.dask.to_tdb(dask.array.arange(6, chunks=3), scratch / "chunks")
    >>> A[:].tolist(), len(A.fragments)
    ([0, 1, 2, 3, 4, 5], 2)
    """
    dask_array = needed("dask.array", "dask", "Arrays of dask")
    if any(size != size for size in array.shape):
        raise QueryError("the array has chunks of unknown sizes: array.compute_chunk_sizes() finds them")
    schema = schema_for(array.shape, {name: array._meta}, tile or [sizes[0] for sizes in array.chunks], dims, filters)
    target = create(uri, schema, at=at, key=key, storage=storage, threads=threads)
    dask_array.store(array, Target(target, name, None if at is None else milliseconds(at)), lock=False)
    return target.reopen()


class Target:
    """Where dask stores chunks: a field of a dense array whose coordinates begin with 0."""

    def __init__(self, array: Array, name: str, at: int | None) -> None:
        self._array, self._name, self._time = array, name, at

    def __setitem__(self, region: Any, values: Any) -> None:
        self._array.write({self._name: values}, region=region, at=self._time)


__all__ = ["from_tdb", "to_tdb"]
