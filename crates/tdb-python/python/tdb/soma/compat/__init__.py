"""Names that programs for ``tiledbsoma`` use, without libtiledb: ``import tdb.soma.compat as tiledbsoma``.

>>> import pyarrow as pa, tdb.soma.compat as tiledbsoma
>>> schema = pa.schema([("soma_joinid", pa.int64()), ("label", pa.large_string())])
>>> with tiledbsoma.DataFrame.create(str(scratch / "labels"), schema=schema, domain=[(0, 9)]) as table:
...     _ = table.write(pa.table({"soma_joinid": [0, 1], "label": ["a", "b"]}))
>>> with tiledbsoma.open(str(scratch / "labels")) as table:
...     table.read(value_filter="label == 'b'").concat()["soma_joinid"].to_pylist(), table.domain
([1], ((0, 9),))
"""

from __future__ import annotations

import importlib
from typing import Any

from .collection import Collection
from .constants import SOMA_JOINID
from .core import SPATIAL, AxisColumnNames, AxisQuery, ResultOrder, spatial_type
from .dataframe import DataFrame
from .dense import DenseNDArray
from .exceptions import AlreadyExistsError, DoesNotExistError, NotCreateableError, SOMAError, UnsupportedOperationError
from .experiment import Experiment
from .factory import open
from .general import (
    get_implementation,
    get_implementation_version,
    get_libtiledbsoma_core_version,
    get_SOMA_version,
    get_storage_engine,
    show_package_versions,
    tiledbsoma_stats_as_py,
    tiledbsoma_stats_disable,
    tiledbsoma_stats_dump,
    tiledbsoma_stats_enable,
    tiledbsoma_stats_json,
    tiledbsoma_stats_reset,
)
from .general import LIKE as __version__
from .indexer import IntIndexer, tiledbsoma_build_index
from .measurement import Measurement
from .options import SOMATileDBContext, TileDBCreateOptions, TileDBDeleteOptions, TileDBWriteOptions
from .query import ExperimentAxisQuery
from .scene import Scene
from .soma_object import SOMAObject
from .sparse import SparseNDArray, SparseNDArrayRead
from .spatial import GeometryDataFrame, MultiscaleImage, PointCloudDataFrame

#: Modules that are imported when they are used.
_MODULES = ("io", "logging", "options")


def __getattr__(name: str) -> Any:
    if name in SPATIAL:
        return spatial_type(name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, *SPATIAL])


__all__ = [
    "AlreadyExistsError",
    "AxisColumnNames",
    "AxisQuery",
    "Collection",
    "DataFrame",
    "DenseNDArray",
    "DoesNotExistError",
    "Experiment",
    "ExperimentAxisQuery",
    "GeometryDataFrame",
    "IntIndexer",
    "Measurement",
    "MultiscaleImage",
    "NotCreateableError",
    "PointCloudDataFrame",
    "ResultOrder",
    "SOMAError",
    "SOMAObject",
    "SOMATileDBContext",
    "SOMA_JOINID",
    "Scene",
    "SparseNDArray",
    "SparseNDArrayRead",
    "TileDBCreateOptions",
    "TileDBDeleteOptions",
    "TileDBWriteOptions",
    "UnsupportedOperationError",
    "__version__",
    "get_SOMA_version",
    "get_implementation",
    "get_implementation_version",
    "get_libtiledbsoma_core_version",
    "get_storage_engine",
    "open",
    "show_package_versions",
    "tiledbsoma_build_index",
    "tiledbsoma_stats_as_py",
    "tiledbsoma_stats_disable",
    "tiledbsoma_stats_dump",
    "tiledbsoma_stats_enable",
    "tiledbsoma_stats_json",
    "tiledbsoma_stats_reset",
]
