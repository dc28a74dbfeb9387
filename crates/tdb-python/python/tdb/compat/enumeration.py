"""Enumerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _schema
from .._columns import Column
from .._types import AnyArray
from .datatypes import DataType
from .libtiledb import TILEDB_VAR_NUM, TileDBError


class Enumeration:
    """A list of values that attributes refer to by their numbers."""

    def __init__(
        self, name: str, ordered: bool = False, values: Any = None, dtype: Any = None, ctx: Any = None
    ) -> None:
        self.name, self.ordered = name, bool(ordered)
        if values is None or len(values) == 0:
            if dtype is None:
                raise ValueError("dtype must be provided for empty enumeration")
            self._values: AnyArray = np.array([], np.dtype(dtype))
        else:
            self._values = np.array(values)
        if self._values.dtype.kind not in "iufbmMSU" or self._values.ndim != 1:
            raise TileDBError(f"an enumeration cannot have values of type {self._values.dtype}")
        if len(set(self._values.tolist())) != len(self._values):
            raise TileDBError(f"Invalid duplicated value in enumeration {name!r}")
        kind = self._values.dtype.kind
        self._datatype = {"U": "STRING_UTF8", "S": "STRING_ASCII"}.get(kind) or DataType.from_numpy(self._values.dtype).name

    @classmethod
    def _of(cls, name: str, column: Column, ordered: bool) -> Enumeration:
        made = cls.__new__(cls)
        made.name, made.ordered, made._datatype = name, ordered, column.datatype
        values = column.values()
        if values.dtype == object:
            utf8 = column.datatype == "STRING_UTF8"
            values = np.array(column.texts("utf-8").tolist(), np.str_) if utf8 else np.array(column.texts(None).tolist(), np.bytes_)
        made._values = values
        return made

    def _own(self) -> _schema.Enumeration:
        """The same enumeration in ``tdb``."""
        values = [one.decode() if isinstance(one, bytes) else one for one in self._values.tolist()]
        if self._values.dtype.kind in "mM":
            values = list(self._values)
        return _schema.Enumeration(self.name, values, self.ordered, self._datatype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of the values."""
        return DataType.from_tiledb(self._datatype).np_dtype

    @property
    def type(self) -> Any:
        """The datatype of the format."""
        return DataType.from_tiledb(self._datatype).tiledb_type

    @property
    def cell_val_num(self) -> int:
        """The number of items of a value."""
        return TILEDB_VAR_NUM() if self._values.dtype.kind in "SU" else 1

    def values(self) -> AnyArray:
        """The values, in the order of their numbers."""
        return self._values.copy()

    def extend(self, values: Sequence[Any]) -> Enumeration:
        """The enumeration with more values at its end."""
        more = np.array(values)
        if self._values.dtype.kind in "US" and more.dtype.kind not in "US":
            raise TileDBError("Passed in enumeration must be string type")
        if self._values.dtype.kind in "iu" and more.dtype.kind not in "iu":
            raise TileDBError("Passed in enumeration must be integer type")
        if self._values.dtype.kind in "US" and more.dtype.kind != self._values.dtype.kind:
            more = np.char.encode(more, "utf-8") if more.dtype.kind == "U" else np.char.decode(more, "utf-8")
        if self._values.dtype.kind not in "US":
            more = more.astype(self._values.dtype)
        return Enumeration(self.name, self.ordered, np.concatenate([self._values, more]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Enumeration):
            return False
        mine, theirs = ((one.name, one.dtype, one.cell_val_num, one.ordered) for one in (self, other))
        return mine == theirs and np.array_equal(self._values, other._values)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"Enumeration(name='{self.name}', dtype={self.dtype}, dtype_name='{self.dtype.name}', "
            f"cell_val_num={self.cell_val_num}, ordered={self.ordered}, values={self._values.tolist()})"
        )


__all__ = ["Enumeration"]
