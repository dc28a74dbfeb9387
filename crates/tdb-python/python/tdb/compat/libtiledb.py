"""Names of TileDB-Py's module ``libtiledb``: the exception, the version, and the words of the format."""

from __future__ import annotations

from enum import Enum

from .._errors import Error

#: What TileDB-Py raises.
TileDBError = Error

_DATATYPES = (
    "INT32 INT64 FLOAT32 FLOAT64 CHAR INT8 UINT8 INT16 UINT16 UINT32 UINT64 STRING_ASCII STRING_UTF8 STRING_UTF16 "
    "STRING_UTF32 STRING_UCS2 STRING_UCS4 ANY DATETIME_YEAR DATETIME_MONTH DATETIME_WEEK DATETIME_DAY DATETIME_HR "
    "DATETIME_MIN DATETIME_SEC DATETIME_MS DATETIME_US DATETIME_NS DATETIME_PS DATETIME_FS DATETIME_AS TIME_HR TIME_MIN "
    "TIME_SEC TIME_MS TIME_US TIME_NS TIME_PS TIME_FS TIME_AS BLOB BOOL GEOM_WKB GEOM_WKT"
)

#: The datatypes of the format, by their names.
DataType = Enum("DataType", [(name, at) for at, name in enumerate(_DATATYPES.split())])


class LayoutType(Enum):
    """Orders of cells."""

    ROW_MAJOR = "row-major"
    COL_MAJOR = "col-major"
    GLOBAL_ORDER = "global-order"
    UNORDERED = "unordered"
    HILBERT = "hilbert"


class ArrayType(Enum):
    """Kinds of arrays."""

    DENSE = "dense"
    SPARSE = "sparse"


class CurrentDomainType(Enum):
    """Kinds of current domains."""

    NDRECTANGLE = 0


class WebpInputFormat(Enum):
    """The colours of pictures that the filter WebP has."""

    WEBP_NONE = 0
    WEBP_RGB = 1
    WEBP_BGR = 2
    WEBP_RGBA = 3
    WEBP_BGRA = 4


def TILEDB_VAR_NUM() -> int:
    """What stands for "any number of values per cell"."""
    return 0xFFFF_FFFF


def version() -> tuple[int, int, int]:
    """The release of libtiledb whose behaviour this package has."""
    return (2, 30, 0)


__all__ = ["ArrayType", "CurrentDomainType", "DataType", "LayoutType", "TILEDB_VAR_NUM", "TileDBError", "WebpInputFormat", "version"]
