"""Dimension labels: values that stand for coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .datatypes import DataType
from .filter import FilterList, list_of

_ORDERS = ("increasing", "decreasing", "unordered")


class DimLabelSchema:
    """What a label is: its type, its order, and the type of its dimension."""

    def __init__(
        self,
        order: str = "increasing",
        label_dtype: Any = np.uint64,
        dim_dtype: Any = np.uint64,
        dim_tile: Any = None,
        label_filters: Any = None,
        ctx: Any = None,
    ) -> None:
        if order not in _ORDERS:
            raise KeyError(order)
        text = label_dtype in ("ascii", "blob") or np.dtype(label_dtype).kind in "SU"
        self._type = DataType.from_numpy("ascii" if text else label_dtype)
        self.label_order, self.dim_dtype = order, DataType.from_numpy(dim_dtype).np_dtype
        if dim_tile is not None and self.dim_dtype.kind == "S":
            raise TypeError("invalid tile extent, cannot set a tile a string dimension")
        self.dim_tile = dim_tile
        self.label_filters: FilterList | None = None if label_filters is None else list_of(label_filters)

    @property
    def label_dtype(self) -> np.dtype[Any]:
        """The numpy type of the label's values."""
        return self._type.np_dtype

    def _said(self, name: str, dimension: int) -> dict[str, Any]:
        """The notation of ``tdb create``."""
        if self.label_filters is not None and len(self.label_filters):
            raise NotImplementedError("tdb chooses the filters of labels: label_filters cannot be given")
        return {"name": name, "dimension": dimension, "datatype": self._type.name, "order": self.label_order}


class DimLabel:
    """A label of an array."""

    def __init__(self, said: Mapping[str, Any], base: str | None = None) -> None:
        self._said, self._base = said, base
        self._type = DataType.from_tiledb(said["datatype"])

    @property
    def name(self) -> str:
        """The name."""
        return str(self._said["name"])

    @property
    def dim_index(self) -> int:
        """The number of the dimension."""
        return int(self._said["dimension"])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of the values."""
        return self._type.np_dtype

    @property
    def isvar(self) -> bool:
        """Whether the values are texts."""
        return bool(self._said["cell_val_num"] == "var")

    @property
    def isascii(self) -> bool:
        """Whether the values are texts of ASCII."""
        return self._type.name == "STRING_ASCII"

    @property
    def label_attr_name(self) -> str:
        """The attribute that has the values, in the array of the label."""
        return str(self._said["attribute"])

    @property
    def order(self) -> str:
        """The order of the values."""
        return str(self._said["order"])

    @property
    def uri(self) -> str:
        """Where the array of the label is."""
        own = str(self._said["uri"])
        return own if self._base is None or not self._said["relative"] else f"{self._base.rstrip('/')}/{own}"

    def __repr__(self) -> str:
        dtype = "ascii" if self.isascii else self.dtype
        return f"DimLabel(name={self.name}, dtype='{dtype}', var={self.isvar}, order={self.order})"


__all__ = ["DimLabel", "DimLabelSchema"]
