"""Datatypes of the format, and the numpy types that TileDB-Py has for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import QueryError
from .._types import AnyArray, datatype_name, number_dtype, ticks
from .libtiledb import TILEDB_VAR_NUM
from .libtiledb import DataType as _Name

#: Types that TileDB-Py names by a word.
WORDS = {"ascii": "STRING_ASCII", "blob": "BLOB", "wkb": "GEOM_WKB", "wkt": "GEOM_WKT"}
_BYTES = ("CHAR", "BLOB", "GEOM_WKB", "GEOM_WKT", "ANY", "STRING_ASCII")


def _duration(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of differences of dates of a type."""
    return np.dtype(dtype.str.replace("M8", "m8"))


def _plain(dtype: np.dtype[Any]) -> str:
    """The datatype of a numpy type of one value."""
    if dtype.kind == "S":
        return "CHAR"
    if dtype.kind == "U":
        return "STRING_UTF8"
    if dtype.kind == "c":
        return "FLOAT32" if dtype.itemsize == 8 else "FLOAT64"
    try:
        return datatype_name(dtype) if dtype.kind in "iufbmM" else ""
    except QueryError:
        return ""


@dataclass(frozen=True)
class DataType:
    """A datatype with its number of values per cell."""

    np_dtype: np.dtype[Any]
    name: str
    ncells: int

    @property
    def tiledb_type(self) -> Any:
        """The datatype of the format."""
        return _Name[self.name]

    @classmethod
    def from_numpy(cls, dtype: Any) -> DataType:
        """The datatype of a numpy type, or of the words ``ascii``, ``blob``, ``wkb``, ``wkt``."""
        if isinstance(dtype, str) and dtype in WORDS:
            return cls(np.dtype("S"), WORDS[dtype], TILEDB_VAR_NUM() if dtype == "ascii" else 1)
        dtype = np.dtype(dtype)
        count, one = 1, dtype
        if dtype.kind == "V":
            if dtype.shape != ():
                raise TypeError("nested sub-array numpy dtypes are not supported")
            kinds = {field[0] for field in (dtype.fields or {}).values()}
            if len(kinds) != 1:
                raise TypeError("heterogenous record numpy dtypes are not supported")
            one, count = kinds.pop(), len(dtype.fields or ())
        elif dtype.kind in "SU":
            size = dtype.itemsize // (4 if dtype.kind == "U" else 1)
            count = size or TILEDB_VAR_NUM()
        elif dtype.kind == "c":
            count = 2
        name = _plain(one)
        if not name:
            raise TypeError(f"{dtype!r} cannot be mapped to a DataType")
        return cls(dtype, name, count)

    @classmethod
    def from_tiledb(cls, name: Any, ncells: int = 1) -> DataType:
        """The numpy type of a datatype with so many values per cell."""
        own = name if isinstance(name, str) else name.name
        return cls(dtype_of(own, "var" if ncells == TILEDB_VAR_NUM() else ncells), own, ncells)

    @property
    def domain(self) -> tuple[Any, Any]:
        """The lowest and the highest value."""
        dtype = self.np_dtype
        if dtype.kind in "mM":
            info, unit = np.iinfo(np.int64), np.datetime_data(dtype)
            return dtype.type(info.min + 1, unit), dtype.type(info.max, unit)
        if dtype.kind in "iu":
            return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if dtype.kind in "fc":
            return np.finfo(dtype).min, np.finfo(dtype).max
        if dtype.kind == "b":
            return False, True
        if dtype.kind in "SU":
            return None, None
        raise TypeError(f"Cannot determine min/max for {dtype!r}")

    def cast_tile_extent(self, tile_extent: Any) -> AnyArray:
        """A tile's extent in the type of the coordinates."""
        if self.np_dtype.kind == "M":
            if isinstance(tile_extent, np.timedelta64):
                tile_extent = ticks(tile_extent, np.dtype(_duration(self.np_dtype)))
            found = np.array(tile_extent, np.int64)
        else:
            found = np.array(tile_extent, self.np_dtype)
        if found.size != 1:
            raise ValueError("tile extent must be a scalar")
        return found

    def uncast_tile_extent(self, tile_extent: Any) -> Any:
        """A tile's extent as TileDB-Py shows it."""
        if self.np_dtype.kind in "SU":
            return tile_extent
        if self.np_dtype.kind == "M":
            return np.array(int(tile_extent), _duration(self.np_dtype))[()]
        return self.np_dtype.type(tile_extent)


def dtype_of(datatype: str, values: int | str | None) -> np.dtype[Any]:
    """The numpy type that TileDB-Py has for a field."""
    own = number_dtype(datatype)
    if own is not None and own.kind == "f" and values == 2:
        return np.dtype("<c8" if own.itemsize == 4 else "<c16")
    if own is not None:
        return own if values in (1, None, "var") else np.dtype([("", own)] * int(values))
    if datatype in _BYTES:
        return np.dtype("S") if values in (None, "var") or datatype != "CHAR" else np.dtype(f"S{values}")
    return np.dtype("<U0") if values in (None, "var", 1) else np.dtype(f"<U{values}")


__all__ = ["DataType", "WORDS", "dtype_of"]
