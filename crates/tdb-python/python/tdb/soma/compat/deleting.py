"""Cells that are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._condition import Condition, field
from ..._schema import Dimension
from ..._types import number_dtype
from .conditions import condition_of
from .coordinates import number, points_of
from .exceptions import translated
from .platform_config import TileDBDeleteOptions

if TYPE_CHECKING:
    from .soma_array import SOMAArray


def delete_cells(array: SOMAArray, coords: Any, value_filter: str | None, platform_config: Any) -> None:
    """Deletes the cells at some coordinates for which a condition is true."""
    if platform_config is not None and not isinstance(platform_config, TileDBDeleteOptions):
        raise TypeError(f"Invalid PlatformConfig with type {type(platform_config)}. Must have type TileDBDeleteOptions.")
    if isinstance(coords, (str, bytes)) or not isinstance(coords, (Sequence, np.ndarray)):
        raise TypeError(f"The coords type {type(coords)} must be a regular sequence, not str or bytes")
    dimensions = array._array.schema.dimensions
    if len(coords) > len(dimensions):
        raise ValueError(f"The coords ({len(coords)} elements) must be shorter than the number of index columns ({len(dimensions)})")
    parts = []
    for dimension, wanted, ends in zip(dimensions, coords, array._domain()):
        part = _of_coordinate(dimension, wanted, ends)
        if part is not None:
            parts.append(part)
    if value_filter is not None:
        parts.append(condition_of(value_filter, array.schema)[0])
    array._verify_open_for_deleting()
    if not parts:
        raise ValueError("no coordinates and no value_filter: nothing says which cells are deleted")
    condition = parts[0]
    for part in parts[1:]:
        condition = condition & part
    with translated(array.uri):
        array._array.delete(condition, at=array._timestamp_ms, unknown_too=True)


def _of_coordinate(dimension: Dimension, wanted: Any, ends: tuple[Any, Any]) -> Condition | None:
    own = field(dimension.name)
    if isinstance(wanted, slice):
        return _of_slice(dimension, wanted, ends)
    if not isinstance(wanted, (Sequence, np.ndarray)) and not hasattr(wanted, "to_pylist"):
        raise TypeError(f"Cannot add coordinate with type '{type(wanted)}' to column '{dimension.name}'.")
    if isinstance(wanted, (str, bytes)):
        wanted = [wanted]
    points = points_of(dimension, wanted)
    if not len(points):
        raise ValueError(f"no coordinates are wanted of index column {dimension.name!r}: leave them out, or say slice(None)")
    dtype = number_dtype(dimension.datatype)
    if dtype is None:
        return own.is_in(list(points))
    first, last = (number(end) for end in ends)
    outside = (points < first) | (points > last)
    if outside.any():
        raise IndexError(f"index column {dimension.name!r}: {points[outside][0]} is out of bounds [{first}, {last}]")
    unique = np.unique(points)
    if dtype.kind in "mM":
        unique = unique.astype(np.int64).view(dtype)
    if len(unique) > 1 and dtype.kind in "iu" and int(unique[-1]) - int(unique[0]) + 1 == len(unique):
        return (own >= int(unique[0])) & (own <= int(unique[-1]))
    return own.is_in(list(unique))


def _of_slice(dimension: Dimension, wanted: slice, ends: tuple[Any, Any]) -> Condition | None:
    if wanted.step is not None and wanted.step != 1:
        raise ValueError(f"Invalid coordinate selection on column '{dimension.name}'. Slice steps are not supported.")
    dtype = number_dtype(dimension.datatype)
    start, stop = (None if end is None else number(end) for end in (wanted.start, wanted.stop))
    if dtype is None:
        start, stop = start or None, stop or None
    elif any(isinstance(end, (str, bytes)) for end in (start, stop)):
        raise TypeError(f"Unexpected type on column '{dimension.name}'.")
    else:
        first, last = (number(end) for end in ends)
        if (start is not None and start > last) or (stop is not None and stop < first):
            raise IndexError(f"index column {dimension.name!r}: [{start}, {stop}] is out of bounds [{first}, {last}]")
    if start is not None and stop is not None and stop < start:
        raise ValueError(f"slice start ({start!r}) must be <= slice stop ({stop!r})")
    own, parts = field(dimension.name), []
    if dtype is not None and dtype.kind == "M":
        start, stop = (None if end is None else np.int64(end).view(dtype) for end in (start, stop))
    if start is not None:
        parts.append(own >= start)
    if stop is not None:
        parts.append(own <= stop)
    return None if not parts else parts[0] if len(parts) == 1 else parts[0] & parts[1]


__all__ = ["delete_cells"]
