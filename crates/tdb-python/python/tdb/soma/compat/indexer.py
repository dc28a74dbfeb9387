"""Where ids are in a list of ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ..._types import AnyArray
from .context import SOMATileDBContext
from .exceptions import SOMAError

#: The most items of a table from ids to places, in times of the number of ids; others are searched for.
_SPARSENESS = 8
_SMALL_TABLE = 1 << 16


class IntIndexer:
    """Where ids are in a list of ids, each of which it has once."""

    def __init__(self, data: Any, *, context: SOMATileDBContext | None = None) -> None:
        if context is not None:
            # Options that are no numbers are refused here, as threads are.
            _ = context._threads
        keys = _ids(data)
        self._first, self._table = 0, None
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]
        if len(keys) > 1 and bool((self._sorted[1:] == self._sorted[:-1]).any()):
            raise SOMAError("There are duplicate keys.")
        if len(keys):
            self._first, last = int(self._sorted[0]), int(self._sorted[-1])
            span = last - self._first + 1
            if span <= max(_SPARSENESS * len(keys), _SMALL_TABLE):
                self._table = np.full(span, -1, np.int64)
                self._table[keys - self._first] = np.arange(len(keys))

    def get_indexer(self, target: Any) -> AnyArray:
        """The places of ids; -1 for those that are not there."""
        wanted = _ids(target)
        if not len(self._sorted):
            return np.full(len(wanted), -1, np.int64)
        if self._table is not None:
            places = wanted - self._first
            inside = (places >= 0) & (places < len(self._table))
            return np.where(inside, self._table[np.where(inside, places, 0)], -1)
        places = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        return np.where(self._sorted[places] == wanted, self._order[places], -1)


def tiledbsoma_build_index(data: Any, *, context: SOMATileDBContext | None = None) -> IntIndexer:
    """An indexer of ids, as old programs ask for it."""
    return IntIndexer(data, context=context)


def _ids(given: Any) -> AnyArray:
    found = given.to_numpy() if isinstance(given, (pa.Array, pa.ChunkedArray)) else np.asarray(given)
    if found.size and found.ndim != 1:
        raise ValueError(f"ids are a list of integers, not an array with {found.ndim} axes")
    if found.size and (found.dtype.kind not in "iu" or found.dtype == np.uint64 or not found.dtype.isnative):
        raise TypeError(f"ids are a list of integers, not an array of {found.dtype} with {found.ndim} axes")
    return found.astype(np.int64, copy=False)


__all__ = ["IntIndexer", "tiledbsoma_build_index"]
