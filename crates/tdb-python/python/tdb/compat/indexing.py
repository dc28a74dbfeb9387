"""What ``A[...]`` and ``A.multi_index[...]`` mean: ranges of each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .array_schema import ArraySchema
from .current_domain import CurrentDomain
from .dimension import Dim
from .libtiledb import TileDBError

_INTEGERS = (int, np.integer)


class EmptyRange:
    """Stands for no cells at all in ``A.multi_index[...]`` and ``A.df[...]``."""


def as_tuple(key: Any) -> tuple[Any, ...]:
    """A key with one item for each dimension that it names."""
    return key if isinstance(key, tuple) else (key,)


def without_ellipsis(ndim: int, key: Any) -> tuple[Any, ...]:
    """A key with one item for each dimension."""
    given = list(as_tuple(key))
    places = [at for at, one in enumerate(given) if one is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if places:
        given[places[0] : places[0] + 1] = [slice(None)] * max(ndim - len(given) + 1, 0)
    if len(given) > ndim:
        raise IndexError("too many indices for array")
    return tuple(given + [slice(None)] * (ndim - len(given)))


def _is_arrow(one: Any) -> bool:
    return type(one).__module__.startswith("pyarrow")


class Box:
    """What ``A[...]`` selects: ranges, the steps of slices, and the axes that single coordinates drop."""

    def __init__(self, schema: ArraySchema, key: Any, ends: Sequence[Any] | None) -> None:
        """``ends`` are the first and the last coordinate of the cells, for dimensions of texts."""
        self.ranges: list[Any] = []
        self.dropped: tuple[int, ...] = ()
        self.steps: tuple[slice, ...] = ()
        current = schema.current_domain
        for at, (dim, one) in enumerate(zip(schema.domain, without_ellipsis(schema.ndim, key))):
            low, high = dim.domain
            if dim.isvar:
                low, high = ends[at] if ends is not None else (None, None)
            bounds = None if current.is_empty or dim.isvar else current.ndrectangle.range(at)
            step = None
            if np.isscalar(one):
                self.dropped += (at,)
                one = _single(dim, one)
            if isinstance(one, slice):
                step = one.step
                if step and schema.sparse:
                    raise IndexError("steps are not supported for sparse arrays")
                one = _text_range(dim, one, low, high) if dim.isvar else _bounded(dim, one, schema.sparse, bounds)
                within(dim, *one)
                self.ranges.append([one])
            else:
                self.ranges.append(_points(dim, one))
            self.steps += (slice(None, None, step),)

    @property
    def stepped(self) -> bool:
        """Whether a slice has a step."""
        return any(one.step for one in self.steps)


def within(dim: Dim, low: Any, high: Any) -> None:
    """Fails, with the words of TileDB, where a range does not lie inside of the domain, which ``tdb`` itself allows."""
    if dim.isvar:
        return
    if low > high:
        raise TileDBError(f"Lower range bound {low} cannot be larger than the higher bound {high} of dimension '{dim.name}'")
    if low < dim.domain[0] or high > dim.domain[1]:
        first, last = dim.domain
        raise TileDBError(f"Cannot add range to dimension '{dim.name}'; Range [{low}, {high}] is out of domain bounds [{first}, {last}]")


def _single(dim: Dim, one: Any) -> slice:
    if isinstance(one, _INTEGERS) and not isinstance(one, np.timedelta64):
        start = int(one)
        start += int(dim.domain[1]) + 1 if start < 0 else 0
        return slice(start, start + 1)
    return slice(one, one)


def _points(dim: Dim, one: Any) -> Any:
    if _is_arrow(one):
        one = one.to_numpy(zero_copy_only=False)
    if not isinstance(one, (list, np.ndarray)):
        raise IndexError(f"invalid index type: {type(one)!r}")
    return [(value, value) for value in one] if dim.isvar else np.asarray(one)


def _text_range(dim: Dim, one: slice, low: Any, high: Any) -> tuple[Any, Any]:
    for end in (one.start, one.stop):
        if end is not None and not isinstance(end, (str, bytes)):
            raise TileDBError(f"Non-string range '({one.start},{one.stop})' provided for string dimension '{dim.name}'")
    return (low if one.start is None else one.start, high if one.stop is None else one.stop)


def _checked(dim: Dim, end: Any) -> Any:
    """An end of a slice, if it fits the type of the dimension."""
    kind = dim.dtype.kind
    if kind == "M" and not isinstance(end, np.datetime64):
        raise IndexError("cannot index datetime dimension with non-datetime interval")
    if kind in "iu" and not isinstance(end, _INTEGERS):
        raise IndexError(f"cannot index integral domain dimension with non-integral slice (dtype: {type(end)})")
    if kind == "f" and not np.issubdtype(type(end), np.number):
        raise IndexError("domain indexing is defined for integral and floating point values")
    return int(end) if kind in "iu" else end


def _bounded(dim: Dim, one: slice, sparse: bool, bounds: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """The range of a slice: without an end, that of the current domain applies."""
    low, high = _range(dim, one, *dim.domain)
    if bounds is None:
        return low, high
    low, high = (bounds[0] if one.start is None else low), (bounds[1] if one.stop is None else high)
    if not sparse and not bounds[0] <= low <= high <= bounds[1]:
        raise TileDBError(f"the range {low} to {high} of dimension {dim.name!r} is not inside of the current domain, {bounds}")
    return low, high


def _range(dim: Dim, one: slice, low: Any, high: Any) -> tuple[Any, Any]:
    """The inclusive range of a slice. Slices of integers are without their end, others with it."""
    kind = dim.dtype.kind
    start, stop = (None if end is None else _checked(dim, end) for end in (one.start, one.stop))
    if kind == "M":
        ends = (low if start is None else start, high if stop is None else min(stop, high))
        if ends[0] < low:
            raise IndexError(f"index out of bounds: {ends[0]} is before the domain of {dim.name!r}")
        return ends[0].astype(dim.dtype), ends[1].astype(dim.dtype)
    if kind == "f":
        start = low if start is None else start
        start += int(high) + 1 if start < 0 and one.start is not None else 0
        if start < low:
            raise IndexError(f"index out of bounds: {start} is below the domain of {dim.name!r}")
        return dim.dtype.type(start), dim.dtype.type(high if stop is None else min(stop, high))
    if None not in (one.start, one.stop) and type(one.start) is not type(one.stop):
        if np.promote_types(type(one.start), type(one.stop)).kind == "f":
            raise IndexError(f"cannot index integral domain dimension with {type(one.start)} and {type(one.stop)} together")
    # Negative numbers count from the end, as TileDB-Py does also where the domain has negative coordinates.
    last = int(high)
    if start is None:
        start = int(low)
    else:
        start += last + 1 if start < 0 else 0
        if start < int(low):
            raise IndexError(f"index out of bounds: {start} is below the domain of {dim.name!r}")
    if stop is None:
        stop = last + 1
    else:
        # TileDB-Py takes a negative end as one less than numpy does, but for uint64.
        negative = stop < 0
        stop = min(stop + last if negative else stop, last + 1)
        stop += 1 if negative and dim.dtype == np.uint64 else 0
    return start, stop - 1


def multi_ranges(schema: ArraySchema, key: Any, ends: Sequence[Any] | None) -> list[list[tuple[Any, Any]]]:
    """The inclusive ranges that ``A.multi_index[...]`` selects. ``ends`` are those of the cells."""
    given, ndim = as_tuple(key), schema.domain.ndim
    if len(given) > ndim:
        raise IndexError(f"{len(given)} indices for {ndim} dimensions")
    current = getattr(schema, "current_domain", CurrentDomain())
    if not current.is_empty and schema.sparse:
        given += (slice(None),) * (ndim - len(given))
    found: list[list[tuple[Any, Any]]] = [[] for _ in range(ndim)]
    for at, one in enumerate(given):
        own = ends[at] if ends is not None else None
        bounds = None if current.is_empty else current.ndrectangle.range(at)
        for part in one if isinstance(one, list) else [one]:
            found[at] += _multi(part, schema.sparse, own, bounds)
        dim = schema.domain.dim(at)
        for pair in found[at]:
            within(dim, *pair)
    return found


def _multi(one: Any, sparse: bool, ends: Any, bounds: Any) -> list[tuple[Any, Any]]:
    if isinstance(one, slice):
        if one.step is not None:
            raise ValueError("Stepped slice ranges are not supported")
        if sparse and one.start is None and one.stop is None:
            # The current domain of an open array may have been narrowed.
            return [] if bounds is None or isinstance(bounds[0], str) else [bounds]
        known = [pair for pair in (bounds, ends) if pair is not None]
        if bounds is not None and any(end is not None and not bounds[0] <= end <= bounds[1] for end in (one.start, one.stop)) and not sparse:
            raise TileDBError(f"the range {one.start}:{one.stop} is not inside of the current domain, {bounds}")
        start = one.start if one.start is not None else max((pair[0] for pair in known), default=None)
        stop = one.stop if one.stop is not None else min((pair[1] for pair in known), default=None)
        return [] if start is None or stop is None else [(scalar(start), scalar(stop))]
    if isinstance(one, tuple):
        if len(one) != 2:
            raise TileDBError(f"a range has two ends, but {one!r} has {len(one)}")
        return [(scalar(one[0]), scalar(one[1]))]
    if isinstance(one, np.ndarray) and one.ndim:
        return [(value, value) for value in one]
    if _is_arrow(one) and hasattr(one, "to_numpy"):
        return [(value, value) for value in one.to_numpy(zero_copy_only=False)]
    if isinstance(one, list):
        return [(scalar(value), scalar(value)) for value in one]
    value = scalar(one)
    return [(value, value)]


def label_ranges(key: Any) -> list[tuple[Any, Any]]:
    """The inclusive ranges of a label."""
    found = []
    for one in key if isinstance(key, list) else [key]:
        if isinstance(one, slice):
            if one.start is None or one.stop is None:
                raise NotImplementedError("partial and full indexing is not yet supported on dimension labels")
            found.append((scalar(one.start), scalar(one.stop)))
        elif isinstance(one, tuple):
            found.append((scalar(one[0]), scalar(one[1])))
        else:
            found.append((scalar(one), scalar(one)))
    return found


def scalar(one: Any) -> Any:
    """A single value."""
    if np.isscalar(one):
        return one
    if isinstance(one, np.ndarray) and one.ndim == 0:
        return one[()]
    if _is_arrow(one) and hasattr(one, "as_py"):
        return one.as_py()
    raise ValueError(f"Cannot convert {type(one)} to scalar")


def is_empty(key: Any) -> bool:
    """Whether a key says that no cells are wanted."""
    return key is EmptyRange or (hasattr(key, "__len__") and len(key) == 0 and not isinstance(key, (str, bytes)))


__all__ = ["Box", "EmptyRange", "multi_ranges"]
