"""What queries return, as TileDB-Py has it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _tdb
from .._array import Array as Own
from .._columns import Column
from .._condition import Condition
from .._coordinates import coordinate
from .._types import AnyArray
from .attribute import visible
from .datatypes import dtype_of
from .libtiledb import TileDBError
from .stats import counted

#: What is wanted of a dimension: inclusive ranges, or single coordinates. Nothing stands for the whole dimension.
Ranges = Sequence[Any]
#: Inclusive ranges of labels.
Labels = Mapping[str, Sequence[tuple[Any, Any]]]
ORDERS = {"C": "row-major", "F": "col-major", "G": "global-order", "U": "unordered"}


def order_of(name: str | None, dense: bool) -> str:
    """An order by its letter."""
    if name is None:
        return "row-major" if dense else "unordered"
    if name not in ORDERS:
        raise ValueError("order must be 'C' (row-major), 'F' (column-major), 'G' (global order), or 'U' (unordered)")
    return ORDERS[name]


def narrowed(core: _tdb.Read, own: Own, ranges: Ranges) -> _tdb.Read:
    """The query of these ranges."""
    for dimension, wanted in zip(own.schema.dimensions, ranges):
        if isinstance(wanted, np.ndarray):
            # ``coordinate`` takes dates as they are; arrays of numpy have numbers of their own types.
            core = core.points(dimension.name, [coordinate(dimension, one) for one in wanted])
            continue
        for low, high in wanted or ():
            ends = [None if end is None else (_end(dimension, end), False) for end in (low, high)]
            core = core.range(dimension.name, ends[0], ends[1])
    # libtiledb refuses what tdb finds no cells in.
    return core.refuse_outside()


def _end(dimension: Any, end: Any) -> Any:
    if isinstance(end, (str, bytes)):
        if isinstance(end, str) and not end.isascii():
            raise TileDBError(f"the texts of dimension {dimension.name!r} have ASCII characters only, but {end!r} has others")
        return end
    return coordinate(dimension, end)


def by_labels(core: _tdb.Read, labels: Labels) -> _tdb.Read:
    """The query of these ranges of labels."""
    for label, wanted in labels.items():
        for low, high in wanted:
            core = core.label_range(label, (_plain(low), False), (_plain(high), False))
    return core


def _plain(end: Any) -> Any:
    """An end of a range of a label: dates are numbers in their unit."""
    if isinstance(end, (np.datetime64, np.timedelta64)):
        return int(end.astype(np.int64))
    return end.item() if isinstance(end, np.generic) else end


class Cells:
    """The cells of a query."""

    def __init__(
        self,
        own: Own,
        fields: Sequence[str],
        ranges: Ranges,
        order: str,
        where: Condition | None,
        labels: Labels | None = None,
    ) -> None:
        stored = {visible(one.name): one.name for one in own.schema.attributes}
        core = own._core.read().fields([stored.get(name, name) for name in fields])
        core = by_labels(narrowed(core, own, ranges).order(order), labels or {})
        if where is not None:
            core = core.condition(where._core)
        with counted(own._core):
            cells = core.collect()
        shape, self._order = cells.shape()
        self.shape = None if shape is None else tuple(shape)
        self.columns = [Column(parts) for parts in cells.take_columns()]
        for column in self.columns:
            column.name = visible(column.name)

    def values(self, column: Column, shaped: bool = True) -> AnyArray:
        """The values of a column, in TileDB-Py's type for them."""
        return typed(column, self.shape if shaped else None, self._order if shaped else "row-major")

    def nulls(self, column: Column) -> AnyArray | None:
        """Which cells of a column are null."""
        return column.nulls(self.shape, self._order)

    def arrays(self) -> OrderedDict[str, AnyArray]:
        """The columns, by name. Nullable ones are masked arrays."""
        found: OrderedDict[str, AnyArray] = OrderedDict()
        for column in self.columns:
            values, nulls = self.values(column), self.nulls(column)
            found[column.name] = values if nulls is None else np.ma.MaskedArray(values, nulls)
        return found


def typed(column: Column, shape: tuple[int, ...] | None = None, order: str = "row-major") -> AnyArray:
    """The values of a column in the type that TileDB-Py has for them: some texts are bytes."""
    if column.datatype in ("STRING_ASCII", "GEOM_WKT"):
        return column.texts(None, shape, order)
    values = column.values(shape, order)
    if column.datatype == "GEOM_WKB" and values.dtype == object:
        found = np.empty(values.shape, object)
        for at, one in np.ndenumerate(values):
            found[at] = np.frombuffer(one, np.int8)
        return found
    if isinstance(column.count, int) and column.count > 1 and values.dtype.kind not in "SO":
        record = dtype_of(column.datatype, column.count)
        return np.ascontiguousarray(values).view(record).reshape(values.shape[:-1])
    return values


def labelled(values: AnyArray, labels: AnyArray) -> AnyArray:
    """The values of an enumeration in place of their numbers."""
    numbers = np.ma.getdata(values)
    if not len(labels):
        return np.array([], labels.dtype).reshape(0) if not numbers.size else _unknown(numbers)
    inside = (numbers >= 0) & (numbers < len(labels))
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if not (inside if mask is None else inside | mask).all():
        _unknown(numbers)
    found = labels[np.where(inside, numbers, 0)]
    return found if mask is None else np.ma.MaskedArray(found, mask)


def _unknown(numbers: AnyArray) -> AnyArray:
    raise IndexError(f"cells have numbers that the enumeration has no values for: {numbers.ravel()[:5]}")


__all__ = ["Cells", "labelled", "narrowed", "order_of", "typed"]
