"""Dense arrays."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from . import write
from .array import Array
from .libtiledb import TileDBError
from .query import Query
from .results import Cells, order_of
from .subarray import Subarray


class DenseArray(Array):
    """A dense array."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if self.schema.sparse:
            raise ValueError(f"Array at {self.uri} is not a dense array")

    def __len__(self) -> int:
        return int(self.domain.shape[0])

    def __getitem__(self, selection: Any) -> Any:
        found = self.subarray(selection)
        return self._labelled(found) if self.view_attr is None and isinstance(found, dict) else found

    def __setitem__(self, selection: Any, val: Any) -> None:
        write.dense(self, selection, val, {})

    def _setitem_impl(self, selection: Any, val: Any, nullmaps: Any) -> None:
        """Writes a box; ``nullmaps`` says of which attributes which cells are not null."""
        write.dense(self, selection, val, nullmaps)

    def __array__(self, dtype: Any = None, **_: Any) -> Any:
        if self.view_attr is None and self.nattr > 1:
            raise ValueError("cannot call __array__ for TileDB array with more than one attribute")
        found = self.read_direct(self.view_attr or self.attr(0).name)
        return found.astype(dtype) if dtype is not None and found.dtype != dtype else found

    def query(
        self,
        attrs: Any = None,
        cond: Any = None,
        dims: Any = None,
        coords: Any = False,
        order: str | None = "C",
        use_arrow: bool | None = None,
        return_arrow: bool = False,
        return_incomplete: bool = False,
    ) -> Query:
        """A query: which attributes and dimensions, of which cells, in which order."""
        self._reads("queries on Dense Arrays")
        return Query(self, None, attrs, cond, dims, coords, True, order, use_arrow, return_arrow, return_incomplete)

    def subarray(self, selection: Any, attrs: Any = None, cond: Any = None, coords: Any = False, order: Any = None) -> Any:
        """The cells of a box."""
        self._reads("subarray queries on Dense Arrays")
        layout = order_of(order or "C", True)
        dims = [dim.name for dim in self.domain] if coords is True else list(coords or ())
        names = [self.view_attr] if self.view_attr is not None and attrs is None else attrs
        own = self.attr_names if names is None else [self.attr(one).name for one in names]
        found, box = self._selected(selection, dims + own, layout, cond)
        for name, values in found.items():
            if box.stepped:
                values = values[box.steps]
            found[name] = values.squeeze(axis=box.dropped) if box.dropped and values.ndim == self.ndim else values
        if not coords and self.schema.nattr == 1 and self.attr(0).isanon:
            return found[""]
        return found[self.view_attr] if self.view_attr is not None else found

    def read_direct(self, name: str | None = None) -> Any:
        """All cells of an attribute."""
        if not self.isopen or self.mode != "r":
            raise TileDBError("DenseArray is not opened for reading")
        if name is None and self.schema.nattr != 1:
            raise ValueError("read_direct with no provided attribute is ambiguous for multi-attribute arrays")
        own = self.attr(0 if name is None else name).name
        found, _ = self._selected(Ellipsis, [own], "row-major")
        return found[own]

    def write_direct(self, array: Any, **how: Any) -> None:
        """Writes an array of numpy at the beginning of the domain, or behind what is there (``mode="append"``)."""
        write.direct(self, array, **how)

    def read_subarray(self, subarray: Subarray) -> OrderedDict[str, Any]:
        """The cells of ranges of each dimension."""
        self._reads("subarray queries on Dense Arrays")
        names = [self.view_attr] if self.view_attr is not None else self.attr_names
        cells = Cells(self._array, names, subarray._ranges, "row-major", None, subarray._labels)
        return OrderedDict((column.name, cells.values(column)) for column in cells.columns)

    def write_subarray(self, subarray: Subarray, values: Any) -> None:
        """Writes the cells of a box."""
        if subarray._labels:
            raise TileDBError("writing by ranges of labels is not supported")
        write.dense(self, subarray, values, {})

    def __repr__(self) -> str:
        if self.isopen:
            return f"DenseArray(uri={self.uri!r}, mode={self.mode}, ndim={self.schema.ndim})"
        return f"DenseArray(uri={self.uri!r}, mode=closed)"


__all__ = ["DenseArray"]
