"""TileDB arrays in Python: numpy, Arrow, pandas and polars, without libtiledb.

>>> A = tdb.open(fixtures / "quickstart")
>>> A[1:3, 2:4]
array([[2, 3],
       [6, 7]], dtype=int32)
>>> A.aggregate("mean(a)", ranges={"rows": (3, 4)})
{'mean(a)': 12.5}
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._array import Array, Metadata, create, from_arrow, object_type, open
from ._condition import Condition, FieldExpression, field
from ._datafusion import datafusion
from ._errors import (
    ArrowError,
    CorruptError,
    DescriptionError,
    Error,
    FilesGoneError,
    InternalError,
    IoError,
    LocationError,
    NotAnArrayError,
    QueryError,
    UnsupportedError,
    WriteError,
)
from ._files import import_csv
from ._group import Group, Member
from ._read import Batch, GroupBy, Read, Stream
from ._schema import Attribute, Dimension, Enumeration, Schema
from ._sql import SqlResult, sql
from ._tables import from_numpy, from_polars
from ._tdb import __version__

if TYPE_CHECKING:
    from ._pandas import from_pandas


#: Modules of the package, which are imported when they are used.
_MODULES = ("compat", "dask", "soma", "xarray")


def __getattr__(name: str) -> Any:
    # pandas is imported when it is used.
    if name == "from_pandas":
        from ._pandas import from_pandas

        return from_pandas
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])


__all__ = [
    "Array",
    "ArrowError",
    "Attribute",
    "Batch",
    "Condition",
    "CorruptError",
    "DescriptionError",
    "Dimension",
    "Enumeration",
    "Error",
    "FieldExpression",
    "FilesGoneError",
    "InternalError",
    "Group",
    "GroupBy",
    "IoError",
    "LocationError",
    "Member",
    "Metadata",
    "NotAnArrayError",
    "QueryError",
    "Read",
    "Schema",
    "SqlResult",
    "Stream",
    "UnsupportedError",
    "WriteError",
    "__version__",
    "create",
    "datafusion",
    "field",
    "from_arrow",
    "from_numpy",
    "from_pandas",
    "from_polars",
    "import_csv",
    "object_type",
    "open",
    "sql",
]
