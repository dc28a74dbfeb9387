"""Ranges of each dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .indexing import within
from .libtiledb import TileDBError

if TYPE_CHECKING:
    from .array import Array


class Subarray:
    """A part of an array: ranges of its dimensions, or of labels. Both ends of a range belong to it."""

    def __init__(self, array: Array, ctx: Any = None) -> None:
        self._array = array
        self._ranges: list[list[tuple[Any, Any]]] = [[] for _ in range(array.schema.ndim)]
        self._labels: dict[str, list[tuple[Any, Any]]] = {}

    def _at(self, key: Any) -> int:
        if isinstance(key, str):
            for at, dim in enumerate(self._array.domain):
                if dim.name == key:
                    return at
            raise TileDBError(f"there is no dimension {key!r}")
        if not 0 <= int(key) < len(self._ranges):
            raise TileDBError(f"there is no dimension number {key}")
        return int(key)

    def add_dim_range(self, dim_idx: Any, dim_range: Any) -> None:
        """Adds a range of a dimension."""
        at = self._at(dim_idx)
        dim = self._array.domain.dim(at)
        if not isinstance(dim_range, (tuple, list)) or len(dim_range) != 2:
            raise TileDBError(f"a range has two ends, which {dim_range!r} has not")
        low, high = dim_range
        if any(isinstance(end, (str, bytes)) != dim.isvar for end in (low, high) if end is not None):
            raise TileDBError(f"Failed to add dim range '{dim_range}' to dimension '{dim.name}': the types differ")
        if low is not None and high is not None and not dim.isvar:
            if dim.dtype.kind in "iu" and any(not isinstance(end, (int, np.integer)) for end in (low, high)):
                raise TileDBError(f"Failed to add dim range '{dim_range}' to dimension '{dim.name}', which has integers")
            within(dim, low, high)
        self._ranges[at].append((low, high))

    def add_label_range(self, label: str, label_range: Any) -> None:
        """Adds a range of a label."""
        if not self._array.schema.has_dim_label(label):
            raise TileDBError(f"there is no dimension label {label!r}")
        self._labels.setdefault(label, []).append((label_range[0], label_range[1]))

    def add_ranges(self, dim_ranges: Any = None, label_ranges: Mapping[str, Any] | None = None) -> None:
        """Adds ranges of all dimensions, and of labels."""
        if dim_ranges is not None and len(dim_ranges) > len(self._ranges):
            raise TileDBError(f"ranges of {len(dim_ranges)} dimensions are given, but there are {len(self._ranges)}")
        for at, ranges in enumerate(dim_ranges or ()):
            for one in ranges:
                pair = (one, one) if isinstance(ranges, np.ndarray) or np.isscalar(one) else one
                if isinstance(pair, slice):
                    raise TileDBError("a slice is not a range: give (first, last)")
                self.add_dim_range(at, pair)
        for label, ranges in (label_ranges or {}).items():
            for one in ranges:
                self.add_label_range(label, one)

    def copy_ranges(self, other: Subarray, dims: Sequence[int]) -> None:
        """Takes the ranges of some dimensions from another part."""
        for at in dims:
            self._ranges[at] = list(other._ranges[at])

    def get_range(self, dim_idx: Any, range_idx: int) -> list[Any]:
        """A range of a dimension: its ends, and for numbers its stride, which is always 0."""
        found = self._all(self._at(dim_idx))
        if not 0 <= range_idx < len(found):
            raise TileDBError(f"there is no range number {range_idx}")
        ends = list(found[range_idx])
        return ends if self._array.domain.dim(self._at(dim_idx)).isvar else [*ends, 0]

    def _all(self, at: int) -> list[tuple[Any, Any]]:
        dim = self._array.domain.dim(at)
        if self._ranges[at]:
            return self._ranges[at]
        current = self._array.schema.current_domain
        return [dim.domain if current.is_empty else current.ndrectangle.range(at)]

    def has_label_range(self, dim_idx: int) -> bool:
        """Whether the dimension has ranges of a label."""
        said = self._array.schema._own.said
        on = {label["name"]: label["dimension"] for label in said["labels"]}
        return any(on[name] in (dim_idx, self._array.domain.dim(dim_idx).name) for name in self._labels)

    def num_dim_ranges(self, key: Any) -> np.uint64:
        """The number of ranges of a dimension."""
        at = self._at(key)
        return np.uint64(0 if self.has_label_range(at) else len(self._all(at)))

    def num_label_ranges(self, label: str) -> np.uint64:
        """The number of ranges of a label."""
        if not isinstance(label, str):
            raise TypeError(f"invalid type {type(label)} for label")
        return np.uint64(len(self._labels.get(label, ())))

    def shape(self) -> tuple[int, ...] | None:
        """The number of coordinates of each dimension; not for sparse arrays."""
        if self._array.schema.sparse:
            return None
        counts = []
        for at in range(len(self._ranges)):
            pairs = [tuple(int(np.asarray(end).astype(np.int64)) if isinstance(end, np.datetime64) else int(end) for end in pair) for pair in self._all(at)]
            counts.append(sum(high - low + 1 for low, high in pairs))
        return tuple(counts)


__all__ = ["Subarray"]
