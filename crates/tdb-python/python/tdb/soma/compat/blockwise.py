"""Values in blocks of an axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ..._needs import needed
from ..._types import AnyArray
from .coordinates import check_slice
from .core import ResultOrder
from .exceptions import SOMAError
from .indexer import IntIndexer
from .reads import TableReadIter

if TYPE_CHECKING:
    from .sparse import SparseNDArray

Made = TypeVar("Made")

#: The coordinates of a block of the first axis, and of others.
_ROWS, _COLUMNS = 1 << 16, 1 << 8
#: The most ids that an axis may have for all of them to be in a list: a minor axis of old arrays has all that there are.
_MOST_IDS = 1 << 31


class _Blockwise(Iterator[Made], Generic[Made]):
    """Blocks of one axis, each of which is read when it is wanted, or one ahead."""

    def __init__(
        self,
        array: SparseNDArray,
        coords: Sequence[Any],
        order: Any,
        *,
        axis: Any,
        size: Any,
        reindex_disable_on_axis: Any,
        eager: bool,
        platform_config: Any,
    ) -> None:
        self._config = platform_config
        self._array, self._order, self._eager = array, order, eager
        self._shape = array.shape
        self._major = _axis_of(axis, len(self._shape))
        self._size = _size_of(size, self._major)
        self._as_they_are = _axes_of(reindex_disable_on_axis, len(self._shape))
        self._coords = [coords[at] if at < len(coords) else None for at in range(len(self._shape))]
        self._ids = [self._all_ids(at) if at != self._major else np.empty(0, np.int64) for at in range(len(self._shape))]
        self._indexers = {
            at: IntIndexer(ids, context=array.context)
            for at, ids in enumerate(self._ids)
            if at != self._major and at not in self._as_they_are
        }
        self._made: Iterator[Made] | None = None

    def __next__(self) -> Made:
        if self._made is None:
            self._made = self._ahead(self._blocks()) if self._eager else self._blocks()
        return next(self._made)

    def concat(self) -> Made:
        """Not there: the blocks are what is wanted."""
        raise NotImplementedError("Blockwise iterators do not support concat operation")

    def _ahead(self, blocks: Iterator[Made]) -> Iterator[Made]:
        pool = self._array.context.threadpool
        end = object()
        then: Future[Any] = pool.submit(next, blocks, end)
        while (found := then.result()) is not end:
            then = pool.submit(next, blocks, end)
            yield found

    def _blocks(self) -> Iterator[Made]:
        raise NotImplementedError

    def _all_ids(self, axis: int) -> AnyArray:
        parts = list(_parts(self._coords[axis], self._shape[axis], self._shape[axis]))
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _tables(self) -> Iterator[tuple[list[Any], Any, list[AnyArray], pa.Table]]:
        """Of each block the columns of coordinates, the values, the coordinates of the axes, and the table as it was read."""
        for part in _parts(self._coords[self._major], self._shape[self._major], self._size):
            coords = list(self._coords)
            coords[self._major] = part
            table = TableReadIter(self._array, coords, None, self._order, None, self._config).concat()
            ids = list(self._ids)
            ids[self._major] = part
            columns = []
            for at in range(len(self._shape)):
                column = table.column(f"soma_dim_{at}")
                if at not in self._as_they_are:
                    indexer = IntIndexer(part, context=self._array.context) if at == self._major else self._indexers[at]
                    column = indexer.get_indexer(column)
                columns.append(column)
            yield columns, table.column("soma_data"), ids, table


class BlockwiseTableReadIter(_Blockwise[Any]):
    """Blocks as tables, each with the coordinates of its axes."""

    def _blocks(self) -> Iterator[Any]:
        for columns, data, ids, table in self._tables():
            if len(self._as_they_are) == len(self._shape):
                yield table, tuple(pa.array(one) for one in ids)
                continue
            named = {f"soma_dim_{at}": column for at, column in enumerate(columns)}
            yield pa.table({**named, "soma_data": data}), tuple(pa.array(one) for one in ids)


class BlockwiseScipyReadIter(_Blockwise[Any]):
    """Blocks as matrices of scipy, each with the coordinates of its axes."""

    def __init__(self, array: SparseNDArray, coords: Sequence[Any], order: Any, *, compress: bool, **how: Any) -> None:
        super().__init__(array, coords, order, **how)
        self._compress = compress
        if len(self._shape) != 2:
            raise SOMAError("SciPy sparse matrix iterator compatible only with 2D arrays")
        if compress and self._major in self._as_they_are:
            raise SOMAError("Unable to disable reindexing of coordinates on CSC/CSR major axis")

    def _blocks(self) -> Iterator[Any]:
        sparse = needed("scipy.sparse", "scipy", "Sparse matrices")
        for columns, data, ids, _ in self._tables():
            shape = tuple(size if at in self._as_they_are else len(ids[at]) for at, size in enumerate(self._shape))
            rows, cols = (np.asarray(one) for one in columns)
            order = np.lexsort((cols, rows) if self._major == 0 else (rows, cols))
            made = sparse.coo_matrix((data.to_numpy()[order], (rows[order], cols[order])), shape=shape)
            if self._compress:
                made = made.tocsr() if self._major == 0 else made.tocsc()
                made.sort_indices()
            elif self._order == ResultOrder.ROW_MAJOR:
                made.has_canonical_format = True
            yield made, (ids[0], ids[1])


def _axis_of(axis: Any, ndim: int) -> int:
    axes = list(axis) if isinstance(axis, Sequence) else [axis]
    if len(axes) != 1:
        raise NotImplementedError("Multi-dimension blockwise iterators not implemented")
    if not 0 <= axes[0] < ndim:
        raise ValueError("blockwise `axis` value must be in range [0, ndim)")
    return int(axes[0])


def _size_of(size: Any, major: int) -> int:
    if isinstance(size, Sequence) and not isinstance(size, str):
        size = size[0] if len(size) else None
    if size is None:
        return _ROWS if major == 0 else _COLUMNS
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
        if size < 1:
            raise ValueError(f"blockwise iterator `size` is {size}: a block has at least one coordinate")
        return int(size)
    raise TypeError("blockwise iterator `size` must be None, int or Sequence[int]")


def _axes_of(axes: Any, ndim: int) -> set[int]:
    if axes is None:
        return set()
    if not isinstance(axes, (int, Sequence)) or isinstance(axes, str):
        raise TypeError("reindex_disable_on_axis must be None, int or Sequence[int]")
    found = {axes} if isinstance(axes, int) else set(axes)
    if not all(0 <= one < ndim for one in found):
        raise ValueError("blockwise `reindex_disable_on_axis` value must be in range [0, ndim)")
    return found


def _parts(wanted: Any, length: int, size: int) -> Iterator[AnyArray]:
    """The coordinates that are wanted of an axis, so many at a time."""
    if wanted is None:
        wanted = slice(None)
    if isinstance(wanted, slice):
        check_slice(wanted)
        first = 0 if wanted.start is None else max(int(wanted.start), 0)
        last = length - 1 if wanted.stop is None else min(int(wanted.stop), length - 1)
        for at in range(first, last + 1, size):
            yield np.arange(at, min(at + size, last + 1), dtype=np.int64)
        return
    if isinstance(wanted, (pa.Array, pa.ChunkedArray)):
        wanted = wanted.to_numpy()
    elif isinstance(wanted, (int, np.integer)):
        wanted = [wanted]
    elif not isinstance(wanted, (Sequence, np.ndarray)):
        raise TypeError("Unsupported slice coordinate type")
    ids = np.asarray(wanted).astype(np.int64, copy=False)
    for at in range(0, len(ids), size):
        yield ids[at : at + size]


__all__ = ["BlockwiseScipyReadIter", "BlockwiseTableReadIter"]
