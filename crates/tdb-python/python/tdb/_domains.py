"""The domains of new dimensions: with room for later rows, whole, or no larger than the rows that there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import QueryError
from ._schema import Dimension
from ._types import AnyArray

#: The name of the dimension of a table without an index.
ROWS = "__tiledb_rows"
#: Rows of a tile, unless the caller says how many.
ROW_TILE = 10_000
#: Units in which the years 1 to 9999 are less than half of what 64 bits hold.
_CALENDAR = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us")


def rows_of(rows: int, tile: int | None, room: bool) -> Dimension:
    """The dimension of the numbers of rows, with room for more than there will ever be, or of so many."""
    last = max(rows - 1, 0)
    extent = min(tile or ROW_TILE, ROW_TILE if room else last + 1)
    return Dimension(ROWS, (0, int(np.iinfo(np.uint64).max) - extent if room else last), "uint64", extent)


def dimension_for(name: str, values: AnyArray, tile: int | None, full: bool | None) -> Dimension:
    """A dimension for coordinates that are numbers, dates or times. If ``full`` is ``None`` it has room for later ones, as a new
    array of the command's import; if it is true the whole range of its type; otherwise it ends where they do."""
    kind = values.dtype.kind
    numbers = values.view(np.int64) if kind in "mM" else values
    if kind == "f" and not full and not np.isfinite(numbers).all():
        raise QueryError(f"column {name!r} is a dimension, but some of its values are infinite or not a number")
    span = (numbers.min().item(), numbers.max().item()) if len(numbers) else None
    if full or span is None:
        low, high = _whole(numbers.dtype, kind, tile)
    else:
        low, high = span if full is False else _roomy(values.dtype, span, tile)
    ends: Any = (low, high) if kind not in "mM" else np.array([low, high], np.int64).view(values.dtype)
    return Dimension(name, (ends[0], ends[1]), values.dtype, tile)


def _whole(dtype: np.dtype[Any], kind: str, tile: int | None) -> tuple[Any, Any]:
    """The whole range of a type."""
    if kind == "f":
        return np.finfo(dtype).min.item(), np.finfo(dtype).max.item()
    limits = np.iinfo(dtype)
    # The smallest number is "not a time", and the end of the last tile is a coordinate, too.
    return int(limits.min) + 1 if kind in "mM" else int(limits.min), int(limits.max) - (tile or 1)


def _roomy(dtype: np.dtype[Any], span: tuple[Any, Any], tile: int | None) -> tuple[Any, Any]:
    """A range that has these coordinates and many more. What reads the array may take its length for that of a tile, so the
    length fits the type; where it would not, there is no more room than the coordinates need."""
    kind, bits = dtype.kind, dtype.itemsize * 8
    if kind == "f":
        most = 1e30 if bits == 32 else 1e300
        return min(span[0], -most), max(span[1], most)
    if kind == "M" and np.datetime_data(dtype)[0] in _CALENDAR:
        days = np.array(["0001-01-01", "10000-01-01"], "M8[D]").astype(dtype).astype(np.int64)
        low, high = int(days[0]), int(days[1]) - 1
    elif kind == "u":
        low, high = 0, (1 << bits) - 1 - (tile or 1)
    else:
        high = 4_000_000_000_000_000_000 if bits == 64 else (1 << (bits - 2)) - 1
        low = -high
    low, high = min(low, span[0]), max(high, span[1])
    least, most_of_type = (0, (1 << bits) - 1) if kind == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    extent = tile or 1
    fits = high - low + 1 <= most_of_type and low + -(-(high - low + 1) // extent) * extent - 1 <= most_of_type
    # The smallest number of dates is "not a time".
    return (low, high) if fits and low > least - (kind == "u") else span
