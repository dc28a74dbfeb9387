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
from typing import TYPE_CHECKING, Any

from ._array import Array, Key, Storage, open
from ._errors import QueryError
from ._grid import Grid
from ._needs import needed
from ._types import Window

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


__all__ = ["from_tdb"]
