"""What is wanted of each dimension: values, lists of them, and slices with both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ... import _tdb
from ..._schema import Dimension
from ..._types import number_dtype
from .exceptions import SOMAError

if TYPE_CHECKING:
    from .soma_array import SOMAArray


def checked(coords: Any, count: int) -> list[Any]:
    """The coordinates, one for each of the first dimensions."""
    if isinstance(coords, (str, bytes)) or not isinstance(coords, (Sequence, np.ndarray, pa.Array)):
        raise TypeError(f"The coords type {type(coords)} must be a regular sequence, not str or bytes")
    if len(coords) > count:
        raise ValueError(f"The coords ({len(coords)} elements) must be shorter than ndim ({count})")
    return list(coords)


def check_slice(wanted: slice) -> None:
    """Refuses a slice with a step, and one that ends before it begins."""
    if wanted.step is not None:
        raise ValueError("slice steps are not supported")
    if wanted.start is None or wanted.stop is None:
        return
    if number(wanted.stop) < number(wanted.start):
        raise ValueError(f"slice start ({wanted.start!r}) must be <= slice stop ({wanted.stop!r})")


def number(value: Any) -> Any:
    """A coordinate as a plain value: of times, the number of their units."""
    if isinstance(value, pa.TimestampScalar):
        return int(value.value)
    if isinstance(value, pa.Scalar):
        return value.as_py()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return int(value.astype(np.int64))
    return value.item() if isinstance(value, np.generic) else value


def narrowed(core: _tdb.Read, array: SOMAArray, coords: Any) -> _tdb.Read:
    """The query with what is wanted of the dimensions."""
    dimensions = array._array.schema.dimensions
    domain = array._domain()
    for dimension, wanted, ends in zip(dimensions, checked(coords, len(dimensions)), domain):
        if wanted is None:
            continue
        if isinstance(wanted, slice):
            core = _sliced(core, dimension, wanted, ends)
        else:
            core = _points(core, dimension, wanted, ends)
    return core


def _sliced(core: _tdb.Read, dimension: Dimension, wanted: slice, ends: tuple[Any, Any]) -> _tdb.Read:
    check_slice(wanted)
    if wanted.start is None and wanted.stop is None:
        return core
    start, stop = (None if end is None else number(end) for end in (wanted.start, wanted.stop))
    dtype = number_dtype(dimension.datatype)
    for end in (start, stop):
        if end is not None and isinstance(end, (str, bytes)) != (dtype is None):
            raise TypeError(f"unhandled type {type(end).__name__} for index column named {dimension.name}")
    if dtype is None:
        low, high = (_text(end) for end in (start, stop))
        return core.range(dimension.name, None if not low else (low, False), None if high is None else (high, False))
    first, last = (number(end) for end in ends)
    low = first if start is None else max(start, first)
    high = last if stop is None else min(stop, last)
    if high < low:
        raise ValueError(f"slice [{start!r}:{stop!r}] does not overlap [{first!r}:{last!r}]")
    if dtype.kind in "iumM":
        low, high = _whole(dimension, low), _whole(dimension, high)
    return core.range(dimension.name, (low, False), (high, False))


def _whole(dimension: Dimension, value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise TypeError(f"unhandled type {type(value).__name__} for index column named {dimension.name}")
    return int(value)


def _points(core: _tdb.Read, dimension: Dimension, wanted: Any, ends: tuple[Any, Any]) -> _tdb.Read:
    dtype = number_dtype(dimension.datatype)
    points = points_of(dimension, wanted)
    if dtype is None or dtype.kind not in "iumM" or not len(points):
        return core.points(dimension.name, list(points) if dtype is None else [one.item() for one in points])
    unique = np.unique(points)
    low, high = int(unique[0]), int(unique[-1])
    first, last = (number(end) for end in ends)
    for one in (low, high):
        if not first <= one <= last:
            raise _outside(dimension, one, first, last)
    if high - low + 1 == len(unique):
        return core.range(dimension.name, (low, False), (high, False))
    return core.points(dimension.name, unique.tolist())


def _outside(dimension: Dimension, one: Any, first: Any, last: Any) -> SOMAError:
    return SOMAError(f"index column {dimension.name!r}: {one} is out of bounds [{first}, {last}]")


def points_of(dimension: Dimension, wanted: Any) -> Any:
    """Coordinates as an array of numpy in the type of the dimension, or as a list of texts."""
    dtype = number_dtype(dimension.datatype)
    if isinstance(wanted, np.ndarray) and wanted.ndim != 1:
        raise ValueError(f"only 1D numpy arrays may be used to index; got {wanted.ndim}")
    if isinstance(wanted, (str, bytes)) or not isinstance(wanted, (Sequence, np.ndarray, pa.Array, pa.ChunkedArray)):
        if not isinstance(wanted, (str, bytes, bool, int, float, np.generic, pa.Scalar)):
            raise TypeError(f"unhandled type {type(wanted).__name__} for index column named {dimension.name}")
        wanted = [wanted]
    if isinstance(wanted, (pa.Array, pa.ChunkedArray)):
        _expect_type(dimension, wanted.type, dtype)
        wanted = wanted.to_pylist() if dtype is None else wanted.to_numpy()
    if dtype is None:
        return [_text(one) for one in wanted]
    return _numbers(dimension, wanted, dtype)


def _expect_type(dimension: Dimension, given: Any, dtype: Any) -> None:
    """Refuses an array of Arrow of another type than that of the dimension."""
    types = pa.types
    texts = types.is_string(given) or types.is_large_string(given) or types.is_binary(given) or types.is_large_binary(given)
    if dtype is None:
        fits = texts
    elif dtype.kind == "M":
        fits = types.is_int64(given) or (types.is_timestamp(given) and given.unit == np.datetime_data(dtype)[0])
    else:
        fits = not texts and given == pa.from_numpy_dtype(dtype)
    if not fits:
        raise SOMAError(f"index column {dimension.name!r} has the type {dimension.datatype}, not {given} as its coordinates")


def _numbers(dimension: Dimension, wanted: Any, dtype: Any) -> Any:
    own = np.dtype(np.int64) if dtype.kind in "mM" else dtype
    if not isinstance(wanted, np.ndarray) or wanted.dtype == object:
        wanted = [number(one) for one in wanted]
        if any(isinstance(one, (str, bytes)) or one is None for one in wanted):
            raise TypeError(f"a coordinate of index column {dimension.name!r} is a number, not a text or null")
    found = np.asarray(wanted)
    if not found.size:
        return found.astype(own)
    if found.dtype.kind in "mM":
        found = found.astype(dtype).astype(np.int64) if dtype.kind in "mM" else found.astype(np.int64)
    if own.kind in "iu" and found.dtype.kind not in "iu":
        raise TypeError(f"a coordinate of index column {dimension.name!r} is an integer, not {found.dtype}")
    if found.dtype.kind not in "iuf":
        raise TypeError(f"a coordinate of index column {dimension.name!r} is a number, not {found.dtype}")
    if own.kind in "iu" and (int(found.min()) < np.iinfo(own).min or int(found.max()) > np.iinfo(own).max):
        raise TypeError(f"a coordinate of index column {dimension.name!r} does not fit the type {own}")
    return found.astype(own)


def _text(value: Any) -> Any:
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if value is not None and not isinstance(value, (str, bytes)):
        raise TypeError(f"a coordinate of texts is a text, not {type(value).__name__}")
    return value


__all__ = ["check_slice", "narrowed", "number", "points_of"]
