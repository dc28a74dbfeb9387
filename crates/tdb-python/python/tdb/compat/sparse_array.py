"""Sparse arrays."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import numpy as np

from . import write
from .array import Array
from .libtiledb import TileDBError
from .query import Query
from .results import Cells, order_of
from .subarray import Subarray


class SparseArray(Array):
    """A sparse array."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if not self.schema.sparse:
            raise ValueError(f"Array at '{self.uri}' is not a sparse array")

    def __len__(self) -> int:
        raise TypeError("SparseArray length is ambiguous; use shape[0]")

    def __getitem__(self, selection: Any) -> Any:
        found = self.subarray(selection)
        return self._labelled(found) if self.view_attr is None and found is not None else found

    def __setitem__(self, selection: Any, val: Any) -> None:
        write.sparse(self, selection, val, {})

    def query(
        self,
        attrs: Any = None,
        cond: Any = None,
        dims: Any = None,
        index_col: Any = True,
        coords: Any = None,
        order: str | None = "U",
        use_arrow: bool | None = None,
        return_arrow: bool | None = None,
        return_incomplete: bool = False,
    ) -> Query:
        """A query: which attributes and dimensions, of which cells, in which order."""
        self._reads("queries on Sparse Arrays", "rd")
        if dims is False:
            coords = False
        elif dims is None and coords is None:
            coords = True
        return Query(
            self, None, attrs, cond, dims, coords, index_col, order, use_arrow, bool(return_arrow), return_incomplete
        )

    def subarray(self, selection: Any, coords: Any = True, attrs: Any = None, cond: Any = None, order: Any = None) -> Any:
        """The cells of a box; in an array that was opened for deletes, deletes those that satisfy the condition."""
        self._reads("subarray queries on Sparse Arrays", "rd")
        layout = order_of(order, False)
        if self.mode == "d":
            self._delete(cond)
            return None
        dims = [dim.name for dim in self.domain] if coords is True else list(coords or ())
        if self.view_attr is not None:
            if attrs is not None:
                warnings.warn("view_attr is set, ignoring attrs parameter", UserWarning, 2)
            attrs = [self.view_attr]
        own = self.attr_names if attrs is None else [self.attr(one).name for one in attrs]
        return self._selected(selection, own + dims, layout, cond)[0]

    def _delete(self, cond: Any) -> None:
        where = self.condition(cond)
        if where is None:
            raise TileDBError("a delete needs a condition")
        self._array.delete(where, at=self._end, unknown_too=True)

    def read_subarray(self, subarray: Subarray) -> OrderedDict[str, Any]:
        """The cells of ranges of each dimension."""
        self._reads("subarray queries on Sparse Arrays")
        own = [self.view_attr] if self.view_attr is not None else self.attr_names
        names = [dim.name for dim in self.domain] + own
        cells = Cells(self._array, names, subarray._ranges, "unordered", None, subarray._labels)
        return OrderedDict((column.name, cells.values(column)) for column in cells.columns)

    def unique_dim_values(self, dim: Any = None) -> Any:
        """The coordinates that cells have."""
        if dim is not None and not isinstance(dim, str):
            raise ValueError(f"Given Dimension {dim} is not a string.")
        if dim is not None and not self.domain.has_dim(dim):
            raise ValueError(f"Array does not contain Dimension '{dim}'.")
        found = self.query(attrs=[])[:]
        unique = OrderedDict((name, tuple(np.unique(values))) for name, values in found.items())
        return unique[dim] if dim else unique

    def __repr__(self) -> str:
        if self.isopen:
            return f"SparseArray(uri={self.uri}, mode={self.mode}, ndim={self.schema.ndim})"
        return f"SparseArray(uri={self.uri}, mode=closed)"


__all__ = ["SparseArray"]
