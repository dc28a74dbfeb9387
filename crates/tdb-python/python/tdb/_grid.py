"""Fields of dense arrays by the position of their cells, as xarray and dask ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._array import Array
from ._errors import QueryError, UnsupportedError
from ._coordinates import READ_ALONG
from ._read import to_numpy
from ._types import AnyArray, is_text, nearest_unit, number_dtype


class Grid:
    """A field of a box of a dense array: its cells by position, the first one of the box being 0.

    Values are what programs expect that know no masks: missing numbers are "not a number", missing dates "not a time", other
    missing values ``None``; enumerated attributes have their values. It can be pickled: it is location, time, name and box.
    """

    def __init__(self, array: Array, name: str, box: Sequence[tuple[int, int]] | None = None) -> None:
        schema = array.schema
        if not schema.dense:
            raise UnsupportedError(f"{array.uri} is sparse: its cells have no places in a box; read().to_pandas() is a table")
        field = schema.field(name)
        if field is None:
            known = ", ".join(one.name for one in schema.attributes)
            raise QueryError(f'the array has no field "{name}" (it has {known})')
        # What is written through the array later is not seen: all cells are those of one time.
        self.array = Array(array._place, array._core, array.window)
        self.name = name
        self._field = field
        self._box = list(ends_of(array) if box is None else box)
        self._labels: AnyArray | None = None
        if field.enumeration is not None:
            self._labels = _as_array(array.enumeration(field.enumeration))
        several = field.values_per_cell != 1 and not field.var and not is_text(field.datatype)
        self.shape = tuple(max(high - low + 1, 0) for low, high in self._box)
        if several:
            self.shape += (field.values_per_cell,)
        self.dtype = self._decoded(self._stored(0)).dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The lengths of the tiles along each axis, cut by the ends of the box."""
        found = []
        for said, (low, high) in zip(self.array.schema.said["dimensions"], self._box):
            dimension = self.array.schema.dimension(said["name"])
            first = _integer(dimension.domain[0] if dimension.domain else 0)
            extent = int(said["extent"] or high - low + 1)
            cuts = [low, *range(first + ((low - first) // extent + 1) * extent, high + 1, extent), high + 1]
            found.append(tuple(int(one) for one in np.diff(np.array(cuts, object))) if high >= low else (0,))
        return (*found, *((one,) for one in self.shape[len(found) :]))

    def __getitem__(self, key: Any) -> AnyArray:
        """The cells of some positions: of each axis a number, a slice, or a list of numbers. Lists choose from their axes
        independently of each other."""
        given = list(key) if isinstance(key, tuple) else [key]
        if any(one is Ellipsis for one in given):
            at = next(at for at, one in enumerate(given) if one is Ellipsis)
            given[at : at + 1] = [slice(None)] * (self.ndim - len(given) + 1)
        if len(given) > self.ndim:
            raise IndexError(f"{len(given)} indices for {self.ndim} axes")
        given = [_positions(one, size) for one, size in zip(given + [slice(None)] * (self.ndim - len(given)), self.shape)]
        core, after = self.array._core.read().fields([self.name]), []
        empty = False
        for dimension, (low, _), size, one in zip(self.array.schema.dimensions, self._box, self.shape, given):
            first, last, points, then = _chosen(one, size)
            empty = empty or last < first
            after.append(then)
            if points is None:
                core = core.range(dimension.name, (low + first, False), (low + last, False))
            else:
                core = core.points(dimension.name, [low + int(point) for point in points])
        after += given[len(self._box) :]
        if empty:
            lengths = [len(range(*one.indices(size))) if isinstance(one, slice) else np.size(one) for one, size in zip(given, self.shape)]
            kept = [length for length, one in zip(lengths, given) if isinstance(one, slice) or np.ndim(one)]
            return np.empty(kept, self.dtype)
        values = self._decoded(to_numpy(core.collect())[self.name])
        for axis in reversed(range(len(after))):
            values = values[(slice(None),) * axis + (after[axis],)]
        return values

    def _stored(self, cells: int) -> AnyArray:
        """No cells, in the type that reading returns."""
        dtype = number_dtype(self._field.datatype)
        fixed = self._field.datatype in ("CHAR", "BLOB") and not self._field.var
        if fixed:
            dtype = np.dtype(f"S{self._field.values_per_cell}")
        if dtype is None or self._field.var:
            return np.empty(cells, object)
        none: AnyArray = np.empty(cells, dtype)
        return np.ma.MaskedArray(none, False) if self._field.nullable else none

    def _decoded(self, values: AnyArray) -> AnyArray:
        """The cells without masks and numbers of labels."""
        nulls = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
        plain = values.data if isinstance(values, np.ma.MaskedArray) else values
        if self._labels is not None:
            return self._labelled(np.asarray(plain), nulls)
        if plain.dtype.kind in "mM":
            plain = nearest_unit(self.name, plain)
        if nulls is None:
            return np.asarray(plain)
        if plain.dtype.kind in "mM":
            missing: Any = np.array("NaT", plain.dtype)
        elif plain.dtype.kind in "iufb":
            plain, missing = plain.astype(plain.dtype if plain.dtype.kind == "f" else np.float64), np.nan
        else:
            plain, missing = plain.astype(object), None
        if nulls.any():
            plain = np.array(plain)
            plain[nulls] = missing
        return np.asarray(plain)

    def _labelled(self, codes: AnyArray, nulls: AnyArray | None) -> AnyArray:
        """The values of an enumeration; ``None`` where the number is null or has no value."""
        assert self._labels is not None
        unknown = (codes < 0) | (codes >= len(self._labels))
        if nulls is not None:
            unknown = unknown | nulls
        if len(self._labels) == 0:
            return np.full(codes.shape, None, object)
        labels = self._labels.astype(object)
        found: AnyArray = labels[np.where(unknown, 0, codes)]
        found[unknown] = None
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Grid, (self.array, self.name, self._box)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """What makes it equal to another one: dask gives equal arrays equal names."""
        return "tdb.Grid", self.array.uri, self.array.window, self.name, tuple(self._box)

    def __repr__(self) -> str:
        return f"<tdb.Grid {self.name!r} {self.shape} {self.dtype} of {self.array.uri!r}>"


def _integer(end: Any) -> int:
    """A coordinate as a number."""
    return int(end.astype(np.int64)) if isinstance(end, (np.datetime64, np.timedelta64)) else int(end)


def ends_of(array: Array, written: bool = False) -> list[tuple[int, int]]:
    """The first and the last coordinate of each dimension: of the current domain, or of what was written."""
    if not written:
        return [(_integer(low), _integer(high)) for low, high in array.schema._ends()]
    found = array.non_empty_domain
    if found is None:
        # No cells: a box without any, at the beginning of the domain.
        return [(_integer(low), _integer(low) - 1) for low, _ in array.schema._ends()]
    return [(_integer(low), _integer(high)) for low, high in found]


def coordinates(array: Array, dimension: int, ends: tuple[int, int]) -> AnyArray:
    """All coordinates of a dimension between two of them."""
    own = array.schema.dimensions[dimension]
    dtype = number_dtype(own.datatype)
    assert dtype is not None
    values = np.arange(ends[0], ends[1] + 1, dtype=np.uint64 if dtype.kind == "u" else np.int64)
    return nearest_unit(own.name, values.view(dtype)) if dtype.kind in "mM" else values.astype(dtype)


def labels_of(array: Array, name: str, dimension: int, box: Sequence[tuple[int, int]]) -> AnyArray:
    """The values of a label along its dimension."""
    core = array._core.read().fields([name])
    for at, (own, (low, high)) in enumerate(zip(array.schema.dimensions, box)):
        core = core.range(own.name, (low, False), (high if at == dimension else low, False))
    return to_numpy(core.collect())[name].ravel()


def _as_array(values: list[Any]) -> AnyArray:
    """Values of an enumeration, one to an item."""
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _positions(one: Any, size: int) -> Any:
    """What is wanted of an axis, where a mask is the positions that it chooses."""
    found = None if isinstance(one, slice) else np.asarray(one)
    if found is None or found.dtype != bool:
        return one
    if found.shape != (size,):
        raise IndexError(f"a mask of the shape {found.shape} is given for an axis of {size}")
    return np.flatnonzero(found)


def _chosen(one: Any, size: int) -> tuple[int, int, AnyArray | None, Any]:
    """What is read for the positions that are wanted of an axis: the first and the last one, or single ones in ascending
    order; and what is then taken of it."""
    if isinstance(one, slice):
        positions = range(*one.indices(size))
        if not positions:
            return 0, -1, None, slice(None)
        first, last = min(positions[0], positions[-1]), max(positions[0], positions[-1])
        if abs(positions.step) <= READ_ALONG:
            return first, last, None, slice(None, None, positions.step)
        return first, last, np.arange(first, last + 1, abs(positions.step)), slice(None, None, 1 if positions.step > 0 else -1)
    found = np.asarray(one)
    if found.ndim > 1 or (found.size and found.dtype.kind not in "iu"):
        raise IndexError(f"{one!r} is neither a position, a slice, nor a list of positions")
    wrong = (found < -size) | (found >= size)
    if wrong.any():
        raise IndexError(f"position {int(found[wrong][0])} is outside of an axis of {size}")
    found = np.where(found < 0, found + size, found).astype(np.int64)
    if found.ndim == 0:
        return int(found), int(found), None, 0
    if not found.size:
        return 0, -1, None, slice(None)
    single, back = np.unique(found, return_inverse=True)
    first, last = int(single[0]), int(single[-1])
    if last - first + 1 == len(single):
        return first, last, None, back
    return first, last, single, back
