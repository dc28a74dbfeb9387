"""What is wanted of dimensions: coordinates, ranges of them, and indices as numpy has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

import numpy as np

from . import _tdb
from ._errors import QueryError, UnsupportedError
from ._schema import Dimension, Schema, json_value_of
from ._types import date_span, is_text, number_dtype, ticks

#: What is wanted of a dimension: a value, ``(first, last)`` with both ends, a slice without its end, or a list of values. A date as
#: text, such as ``"2020-02"`` or ``"2020-02-29"``, is all that is inside of it.
Wanted: TypeAlias = Any
Ranges: TypeAlias = Mapping[str, Union[Wanted, Sequence[Wanted]]]

#: Cells between two wanted ones that are read along, rather than asking for single coordinates.
READ_ALONG = 8
#: The most coordinates of a sparse array that a slice with a step may choose.
MOST_OF_STEPS = 1_000_000


def coordinate(dimension: Dimension, value: Any) -> Any:
    """A coordinate as the extension module takes it."""
    dtype = number_dtype(dimension.datatype)
    if dtype is not None and dtype.kind in "mM":
        return ticks(value, dtype)
    return value.item() if isinstance(value, np.generic) else value


def span(dimension: Dimension, value: Any) -> tuple[Any, Any]:
    """The first and the last coordinate of what is wanted: a date as text is all that is inside of it, another value is itself."""
    dtype = number_dtype(dimension.datatype)
    if not isinstance(value, str) or dtype is None or dtype.kind != "M":
        own = coordinate(dimension, value)
        return own, own
    return date_span(dimension.datatype, value)


def add_range(read: _tdb.Read, dimension: Dimension, wanted: Wanted) -> _tdb.Read:
    """The query with what is wanted of a dimension: see :data:`Wanted`."""
    if isinstance(wanted, slice):
        return _add_slice(read, dimension, wanted)
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise QueryError(f"dimension {dimension.name!r}: (first, last) is expected, not {wanted!r}")
        low, high = (None if end is None else (span(dimension, end)[at], False) for at, end in enumerate(wanted))
        return read.range(dimension.name, low, high)
    if _is_mask(wanted):
        raise QueryError(f"dimension {dimension.name!r}: coordinates are expected, not booleans: np.flatnonzero makes positions of a mask")
    if isinstance(wanted, (list, range, np.ndarray)):
        ranges = [one for one in wanted if isinstance(one, (tuple, slice))]
        if not ranges and not any(isinstance(one, str) for one in wanted):
            return read.points(dimension.name, [coordinate(dimension, one) for one in wanted])
        if not ranges:
            return _of_spans(read, dimension, [span(dimension, one) for one in wanted])
        for one in wanted:
            read = add_range(read, dimension, one)
        return read
    return _of_spans(read, dimension, [span(dimension, wanted)])


def _of_spans(read: _tdb.Read, dimension: Dimension, spans: list[tuple[Any, Any]]) -> _tdb.Read:
    """The query of these coordinates, each from a first to a last one."""
    if all(first == last for first, last in spans):
        return read.points(dimension.name, [first for first, _ in spans])
    for first, last in spans:
        read = read.range(dimension.name, (first, False), (last, False))
    return read


def _is_mask(wanted: Any) -> bool:
    """Whether these are booleans, which Python would also take for the numbers 0 and 1."""
    if isinstance(wanted, (np.ndarray, np.generic)):
        return wanted.dtype == bool
    return isinstance(wanted, bool) or (isinstance(wanted, list) and bool(wanted) and isinstance(wanted[0], (bool, np.bool_)))


def _add_slice(read: _tdb.Read, dimension: Dimension, wanted: slice) -> _tdb.Read:
    if wanted.step not in (None, 1):
        raise UnsupportedError(f"dimension {dimension.name!r}: a slice with a step is an index, as in A[::10]; give ranges= a list of values")
    if wanted.start is None and wanted.stop is None:
        return read
    low = None if wanted.start is None else (span(dimension, wanted.start)[0], False)
    # No text is the last one before another text, so the end of a slice of texts belongs to it.
    excluded = not is_text(dimension.datatype)
    high = None if wanted.stop is None else (span(dimension, wanted.stop)[0], excluded)
    return read.range(dimension.name, low, high)


def keys(schema: Schema, key: Any) -> list[Any]:
    """What is wanted of each dimension."""
    given = list(key) if isinstance(key, tuple) else [key]
    if any(one is Ellipsis for one in given):
        at = next(at for at, one in enumerate(given) if one is Ellipsis)
        missing = schema.ndim - len(given) + 1
        given[at : at + 1] = [slice(None)] * max(missing, 0)
    if len(given) > schema.ndim:
        raise IndexError(f"{len(given)} indices for {schema.ndim} dimensions")
    return given + [slice(None)] * (schema.ndim - len(given))


def _of_mask(schema: Schema, axis: int, mask: Any) -> list[Any]:
    """The coordinates that a mask chooses, which has an item for each."""
    (low, _), size = schema._ends()[axis], schema.shape[axis]
    if len(mask) != size:
        raise IndexError(f"dimension {schema.dimensions[axis].name!r}: the mask has {len(mask)} items for {size} coordinates")
    first = low if isinstance(low, (np.datetime64, np.timedelta64)) else int(low)
    return [first + int(at) for at in np.flatnonzero(mask)]


def select(read: _tdb.Read, schema: Schema, key: Any) -> tuple[_tdb.Read, list[Any]]:
    """The query of a box, and what is then taken of each axis of its cells: ``0`` drops an axis of a single coordinate."""
    given, taken = keys(schema, key), []
    then: Any
    for at, (dimension, one) in enumerate(zip(schema.dimensions, given)):
        if isinstance(one, tuple):
            raise IndexError(f"dimension {dimension.name!r}: a slice, a value or a list of values is expected")
        if not isinstance(one, (np.ndarray, np.generic)) and hasattr(one, "__array__"):
            one = np.asarray(one)
        if _is_mask(one) and np.ndim(one) == 1:
            one = _of_mask(schema, at, one)
        if isinstance(one, str) and one in schema.names and not _takes_text(dimension):
            raise QueryError(
                f'dimension "{dimension.name}" has coordinates of the type {dimension.datatype}, and "{one}" is a field:'
                f' A.read(fields="{one}")[...] has its cells'
            )
        one = from_end(schema, at, one)
        if isinstance(one, slice) and one.step not in (None, 1):
            read, then = _stepped(read, schema, at, one)
        elif schema.dense and isinstance(one, slice) and _is_empty(dimension, one):
            read, then = _nothing(read, schema, at)
        else:
            read, then = add_range(read, dimension, one), 0 if _is_single(dimension, one) else slice(None)
        taken.append(then)
    return read, taken


def _takes_text(dimension: Dimension) -> bool:
    """Whether a text can be a coordinate."""
    dtype = number_dtype(dimension.datatype)
    return is_text(dimension.datatype) or (dtype is not None and dtype.kind in "mM")


def from_end(schema: Schema, axis: int, one: Any) -> Any:
    """What is wanted of a dimension, where a negative integer is counted from the end, as numpy counts: -1 is the last
    coordinate. Where a dimension has negative coordinates, it is one of these."""
    dimension = schema.dimensions[axis]
    dtype = number_dtype(dimension.datatype)
    if dtype is None or dtype.kind not in "iu" or dimension.domain is None or dimension.domain[0] < 0:
        return one
    parts = [one.start, one.stop] if isinstance(one, slice) else one if isinstance(one, (list, range, np.ndarray)) else [one]
    if isinstance(parts, np.ndarray) and (parts.dtype.kind != "i" or not (parts < 0).any()):
        return one
    if not any(_is_negative(part) for part in parts):
        return one
    if schema.sparse:
        raise QueryError(
            f"dimension {dimension.name!r} has no negative coordinates, and the cells of a sparse array have no end to count from:"
            " A.non_empty_domain says what the last coordinate is"
        )
    low, high = schema._ends()[axis]
    if isinstance(one, slice):
        # As numpy has it, a slice that begins before the first coordinate begins with it.
        start, stop = (int(part) + int(high) + 1 if _is_negative(part) else part for part in parts)
        if one.step not in (None, 1):
            return slice(start, stop, one.step)
        return slice(start if start is None else max(start, low), stop if stop is None else max(stop, low))
    found = [int(part) + int(high) + 1 if _is_negative(part) else part for part in parts]
    for before, after in zip(parts, found):
        if _is_negative(before) and after < low:
            raise IndexError(f"dimension {dimension.name!r}: index {before} is outside of its {int(high) - int(low) + 1} coordinates")
    return found if isinstance(one, (list, range, np.ndarray)) else found[0]


def _is_negative(one: Any) -> bool:
    """Whether this is a negative integer."""
    return isinstance(one, (int, np.integer)) and not isinstance(one, (bool, np.timedelta64)) and bool(one < 0)


def steps_of(schema: Schema, axis: int, wanted: slice) -> range:
    """The coordinates that a slice with a step chooses, which begins with its first coordinate inside of the domain."""
    dimension = schema.dimensions[axis]
    if not isinstance(wanted.step, (int, np.integer)) or wanted.step == 0:
        raise QueryError(f"dimension {dimension.name!r}: the step of a slice is an integer other than 0, not {wanted.step!r}")
    step, (low, high) = int(wanted.step), (int(json_value_of(end)) for end in schema._ends()[axis])
    start, stop = (None if end is None else int(span(dimension, end)[0]) for end in (wanted.start, wanted.stop))
    if step > 0:
        return range(low if start is None else max(start, low), high + 1 if stop is None else min(stop, high + 1), step)
    return range(high if start is None else min(start, high), low - 1 if stop is None else max(stop, low - 1), step)


def _stepped(read: _tdb.Read, schema: Schema, axis: int, wanted: slice) -> tuple[_tdb.Read, slice]:
    """The query of a slice with a step, and what is then taken of the axis."""
    dimension, chosen = schema.dimensions[axis], steps_of(schema, axis, wanted)
    step = chosen.step
    if schema.sparse:
        return _points_of_steps(read, dimension, chosen), slice(None)
    if not chosen:
        return _nothing(read, schema, axis)
    first, last = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
    if abs(step) <= READ_ALONG:
        return read.range(dimension.name, (first, False), (last, False)), slice(None, None, step)
    return read.points(dimension.name, list(range(first, last + 1, abs(step)))), slice(None, None, 1 if step > 0 else -1)


def _is_empty(dimension: Dimension, wanted: slice) -> bool:
    """Whether a slice of a dense array ends before it begins."""
    if wanted.start is None or wanted.stop is None:
        return False
    start, stop = (span(dimension, end)[0] for end in (wanted.start, wanted.stop))
    return bool(stop <= start)


def _nothing(read: _tdb.Read, schema: Schema, axis: int) -> tuple[_tdb.Read, slice]:
    """The query of an axis without coordinates, and what is then taken of it: no range is empty, so it is one of the first one."""
    dimension, (low, _) = schema.dimensions[axis], schema._ends()[axis]
    first = coordinate(dimension, low)
    return read.range(dimension.name, (first, False), (first, False)), slice(0, 0)


def _points_of_steps(read: _tdb.Read, dimension: Dimension, chosen: range) -> _tdb.Read:
    """The query of the coordinates that a slice with a step chooses, in the order of the query."""
    if chosen.step < 0:
        raise UnsupportedError(f"dimension {dimension.name!r}: a negative step needs a dense array; order= says how cells are sorted")
    if len(chosen) > MOST_OF_STEPS:
        raise UnsupportedError(
            f"dimension {dimension.name!r}: a slice with a step chooses {len(chosen)} coordinates of a sparse array, which are more than"
            f" {MOST_OF_STEPS}: give a list of values, or a smaller range"
        )
    return read.points(dimension.name, list(chosen))


def _is_single(dimension: Dimension, one: Any) -> bool:
    if isinstance(one, (slice, list, range, np.ndarray)):
        return False
    first, last = span(dimension, one) if isinstance(one, str) else (None, None)
    return first == last
