"""Queries, and aggregates."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._read import Read
from .indexing import EmptyRange, as_tuple, multi_ranges
from .libtiledb import TileDBError
from .multirange_indexing import DataFrameIndexer, LabelIndexer, MultiRangeIndexer
from .results import Cells, Labels, by_labels, narrowed, order_of

if TYPE_CHECKING:
    from .array import Array
    from .attribute import Attr

_AGGREGATES = ("sum", "min", "max", "mean", "count", "null_count")


class Query:
    """A query: which fields, which cells, in which order."""

    def __init__(
        self,
        array: Array,
        ctx: Any = None,
        attrs: Sequence[Any] | None = None,
        cond: Any = None,
        dims: Any = False,
        has_coords: Any = False,
        index_col: Any = True,
        order: str | None = None,
        use_arrow: bool | None = None,
        return_arrow: bool = False,
        return_incomplete: bool = False,
    ) -> None:
        if array.mode not in ("r", "d"):
            raise ValueError("array mode must be read or delete mode")
        if dims not in (False, None) and has_coords is True:
            raise ValueError("Cannot pass both dims and has_coords=True to Query")
        if return_incomplete and not array.schema.sparse:
            raise TileDBError("Incomplete queries are only supported for sparse arrays at this time")
        known = [dim.name for dim in array.domain]
        if dims is True or has_coords is True:
            self.dims: Any = known
        elif dims:
            for name in dims:
                if name not in known:
                    raise TileDBError(f"Selected dimension does not exist: '{name}'")
            self.dims = list(dims)
        else:
            self.dims = None
        for name in attrs or ():
            if isinstance(name, str) and not array.schema.has_attr(name):
                raise TileDBError(f"Selected attribute does not exist: '{name}'")
        if return_arrow and use_arrow is False:
            raise TileDBError("Cannot initialize return_arrow with use_arrow=False")
        self.array, self.attrs, self.cond, self.has_coords, self.index_col = array, attrs, cond, has_coords, index_col
        self.order = order if order is not None else "U" if array.schema.sparse else "C"
        self.use_arrow = True if return_arrow else use_arrow
        self.return_arrow, self.return_incomplete = return_arrow, return_incomplete

    def __getitem__(self, selection: Any) -> Any:
        if self.return_arrow:
            raise TileDBError("`return_arrow=True` requires .df indexer`")
        coords = self.has_coords if self.has_coords else self.dims
        array: Any = self.array
        return array.subarray(selection, attrs=self.attrs, cond=self.cond, coords=coords, order=self.order)

    def submit(self) -> Any:
        """The query of all cells; in an array that was opened for deletes, the delete."""
        return self[:]

    def agg(self, aggs: Any) -> Aggregation:
        """Aggregates: ``"sum"``, ``["min", "max"]``, or a dictionary of them by attribute."""
        return Aggregation(self, aggs)

    @property
    def domain_index(self) -> DomainIndexer:
        """Ranges of coordinates with both ends."""
        return DomainIndexer(self.array, self)

    @property
    def multi_index(self) -> MultiRangeIndexer:
        """Ranges with both ends."""
        return MultiRangeIndexer(self.array, self)

    @property
    def df(self) -> DataFrameIndexer:
        """Ranges with both ends, as a table of pandas."""
        return DataFrameIndexer(self.array, self, self.use_arrow)

    def label_index(self, labels: Sequence[str]) -> LabelIndexer:
        """Ranges of dimension labels."""
        return LabelIndexer(self.array, labels, self)

    def get_stats(self, print_out: bool = True, json: bool = False) -> Any:
        """Statistics of TileDB do not exist here: ``tdb.Array.read(...).explain()`` says what a query reads."""
        raise NotImplementedError("statistics: tdb.Array.read(...).explain() says what a query reads")


class Aggregation:
    """Aggregates of the cells that a query selects."""

    def __init__(self, query: Query | None = None, aggs: Any = None) -> None:
        if query is None:
            raise ValueError("must pass in a query object")
        self.query = query
        names = query.array.attr_names
        if isinstance(aggs, Mapping):
            given = {name: (one,) if isinstance(one, str) else tuple(one) for name, one in aggs.items()}
        else:
            given = {name: (aggs,) if isinstance(aggs, str) else tuple(aggs) for name in names}
        self.attr_to_aggs = given
        for name, wanted in given.items():
            self._check(name, wanted)

    def _check(self, name: str, wanted: Sequence[str]) -> None:
        schema = self.query.array.schema
        if not schema.has_attr(name):
            raise TileDBError(f"Attribute does not exist: '{name}'")
        attr = schema.attr(name)
        for one in wanted:
            if one not in _AGGREGATES:
                raise TileDBError(f"Invalid channel operation '{one}': {', '.join(_AGGREGATES)} exist")
            if one == "null_count" and not attr.isnullable:
                raise TileDBError(f"{one} may only be requested on nullable attributes, which {name!r} is not")
            if one in ("sum", "mean") and (attr.isvar or attr.dtype.kind not in "iufb"):
                raise TileDBError(f"{one} operation not supported for attribute {name!r} of type {attr.dtype}")
            if one in ("min", "max") and (attr.isvar or attr.dtype.kind not in "iufbmM"):
                raise TileDBError(f"{one} operation not supported for attribute {name!r} of type {attr.dtype}")

    def __getitem__(self, selection: Any) -> Any:
        array = self.query.array
        from .indexing import Box

        ends = array.nonempty_domain() if any(dim.isvar for dim in array.domain) else None
        return self._of(Box(array.schema, selection, ends).ranges)

    @property
    def multi_index(self) -> _MultiRangeAggregation:
        """Ranges with both ends."""
        return _MultiRangeAggregation(self)

    @property
    def df(self) -> Any:
        """Aggregates are no table."""
        raise NotImplementedError(".df indexer not supported for Aggregations")

    def label_index(self, labels: Sequence[str]) -> _LabelAggregation:
        """Ranges of dimension labels."""
        return _LabelAggregation(self, labels)

    def _of(self, ranges: Sequence[Any], labels: Labels | None = None) -> Any:
        array, own = self.query.array, self.query.array._array
        order_of(self.query.order, not array.schema.sparse)
        core = by_labels(narrowed(own._core.read(), own, ranges), labels or {})
        where = array.condition(self.query.cond)
        read = Read(own, core if where is None else core.condition(where._core))
        found: dict[str, dict[str, Any]] = {}
        for name, wanted in self.attr_to_aggs.items():
            quoted = '"' + name.replace('"', '""') + '"'
            asked = ["count" if one == "count" else f"{one}({quoted})" for one in wanted]
            values = list(read.aggregate(*dict.fromkeys(asked)).values())
            by_text = dict(zip(dict.fromkeys(asked), values))
            attr = array.attr(name)
            found[name] = {one: _result(by_text[text], attr, one) for one, text in zip(wanted, asked)}
        if len(found) == 1:
            only = next(iter(found.values()))
            return next(iter(only.values())) if len(only) == 1 else only
        return found


def _result(value: Any, attr: Attr, what: str) -> Any:
    """An aggregate as TileDB-Py has it: where there is none, ``None`` for integers and "not a number" for others. The mean of
    nothing is "not a number", too, but for nullable integers."""
    if value is not None:
        return value
    if attr.dtype.kind in "iub" and (what != "mean" or attr.isnullable):
        return None
    return math.nan


class _MultiRangeAggregation:
    def __init__(self, aggregation: Aggregation) -> None:
        self._aggregation = aggregation

    def __getitem__(self, key: Any) -> Any:
        array = self._aggregation.query.array
        if key is EmptyRange:
            raise TileDBError("an aggregate of no range does not exist")
        return self._aggregation._of(multi_ranges(array.schema, key, array.nonempty_domain()))


class _LabelAggregation:
    def __init__(self, aggregation: Aggregation, labels: Sequence[str]) -> None:
        self._aggregation = aggregation
        self._indexer = LabelIndexer(aggregation.query.array, labels, aggregation.query)

    def __getitem__(self, key: Any) -> Any:
        return self._aggregation._of(*self._indexer.selected(key))


class DomainIndexer:
    """``A.domain_index[...]``: one range of each dimension, with both ends; the coordinates are part of the result."""

    def __init__(self, array: Array, query: Query | None = None) -> None:
        self.array, self.query = array, query

    def __getitem__(self, key: Any) -> OrderedDict[str, Any]:
        array, query, given = self.array, self.query, as_tuple(key)
        array._reads("queries")
        if len(given) < array.ndim:
            raise IndexError(f"number of indices does not match domain rank: (got {len(given)!r}, expected: {array.ndim!r})")
        ranges = []
        for one in given:
            low, high = (one, one) if np.isscalar(one) else (one.start, one.stop)
            ranges.append([(low, high)])
        names = list(query.attrs) if query is not None and query.attrs else array.attr_names
        if query is None or query.has_coords:
            names = [dim.name for dim in array.domain] + names
        order = order_of("C" if query is None else query.order, True)
        where = array.condition(None if query is None else query.cond)
        return Cells(array._array, names, ranges, order, where).arrays()


__all__ = ["Aggregation", "DomainIndexer", "Query"]
