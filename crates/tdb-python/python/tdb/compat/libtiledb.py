"""Names of TileDB-Py's module ``libtiledb``: the exception, the version, and the words of the format."""

from __future__ import annotations

import importlib
from enum import Enum
from typing import Any

from .._errors import Error

#: What TileDB-Py raises.
TileDBError = Error


class DataType(Enum):
    """The datatypes of the format."""

    INT32 = 0
    INT64 = 1
    FLOAT32 = 2
    FLOAT64 = 3
    CHAR = 4
    INT8 = 5
    UINT8 = 6
    INT16 = 7
    UINT16 = 8
    UINT32 = 9
    UINT64 = 10
    STRING_ASCII = 11
    STRING_UTF8 = 12
    STRING_UTF16 = 13
    STRING_UTF32 = 14
    STRING_UCS2 = 15
    STRING_UCS4 = 16
    ANY = 17
    DATETIME_YEAR = 18
    DATETIME_MONTH = 19
    DATETIME_WEEK = 20
    DATETIME_DAY = 21
    DATETIME_HR = 22
    DATETIME_MIN = 23
    DATETIME_SEC = 24
    DATETIME_MS = 25
    DATETIME_US = 26
    DATETIME_NS = 27
    DATETIME_PS = 28
    DATETIME_FS = 29
    DATETIME_AS = 30
    TIME_HR = 31
    TIME_MIN = 32
    TIME_SEC = 33
    TIME_MS = 34
    TIME_US = 35
    TIME_NS = 36
    TIME_PS = 37
    TIME_FS = 38
    TIME_AS = 39
    BLOB = 40
    BOOL = 41
    GEOM_WKB = 42
    GEOM_WKT = 43


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


#: Classes that TileDB-Py has here too, and the modules that have them. They use this module, so they are looked up when asked for.
_CLASSES = {
    "Array": ("array", "Array"),
    "ArraySchema": ("array_schema", "ArraySchema"),
    "Attribute": ("attribute", "Attr"),
    "Config": ("ctx", "Config"),
    "Context": ("ctx", "Ctx"),
    "CurrentDomain": ("current_domain", "CurrentDomain"),
    "Dimension": ("dimension", "Dim"),
    "Domain": ("dimension", "Domain"),
    "Enumeration": ("enumeration", "Enumeration"),
    "Filter": ("filter", "Filter"),
    "FilterList": ("filter", "FilterList"),
    "Group": ("group", "Group"),
    "Metadata": ("metadata", "Metadata"),
    "NDRectangle": ("current_domain", "NDRectangle"),
    "Query": ("query", "Query"),
    "Subarray": ("subarray", "Subarray"),
    "VFS": ("vfs", "VFS"),
}


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, own = _CLASSES[name]
    return getattr(importlib.import_module(f".{module}", __package__), own)


__all__ = ["ArrayType", "CurrentDomainType", "DataType", "LayoutType", "TILEDB_VAR_NUM", "TileDBError", "WebpInputFormat", "version"]
