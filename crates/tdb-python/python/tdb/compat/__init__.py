"""TileDB-Py's names, for programs that switch: ``import tdb.compat as tiledb``.

>>> import numpy as np, tdb.compat as tiledb
>>> with tiledb.open(fixtures / "quickstart") as A:
...     A[1:3, 2:4]["a"].tolist(), A.multi_index[1, [2, 4]]["a"].tolist()
([[2, 3], [6, 7]], [[2, 4]])
>>> with tiledb.from_numpy(scratch / "numbers", np.arange(6).reshape(2, 3)) as A:
...     A[1, 0:2]
array([3, 4])

Results have the shapes, the types and the order of TileDB-Py's. What is not here raises ``AttributeError``,
``NotImplementedError`` or ``TileDBError``; docs/python.md shows what ``tdb`` has in its place.
"""

from __future__ import annotations

from . import cc
from .array import Array
from .array_schema import ArraySchema
from .attribute import Attr
from .ctx import Config, Ctx, default_ctx, scope_ctx
from .current_domain import CurrentDomain, NDRectangle
from .dataframe_ import from_csv, from_pandas, from_parquet, open_dataframe
from .dense_array import DenseArray
from .dimension import Dim, Domain
from .dimension_label import DimLabel, DimLabelSchema
from .enumeration import Enumeration
from .filter import (
    BitShuffleFilter,
    BitWidthReductionFilter,
    ByteShuffleFilter,
    Bzip2Filter,
    ChecksumMD5Filter,
    ChecksumSHA256Filter,
    CompressionFilter,
    DeltaFilter,
    DictionaryFilter,
    DoubleDeltaFilter,
    Filter,
    FilterList,
    FloatScaleFilter,
    GzipFilter,
    LZ4Filter,
    NoOpFilter,
    PositiveDeltaFilter,
    RleFilter,
    WebpFilter,
    XORFilter,
    ZstdFilter,
)
from .fragment import FragmentInfo, FragmentInfoList
from .group import Group, Object
from .highlevel import (
    array_exists,
    array_fragments,
    consolidate,
    empty_like,
    from_numpy,
    ls,
    move,
    object_type,
    open,
    remove,
    save,
    schema_like,
    vacuum,
    walk,
)
from .indexing import EmptyRange
from .libtiledb import TileDBError
from .metadata import Metadata
from .query import Query
from .query_condition import QueryCondition
from .schema_evolution import ArraySchemaEvolution
from .sparse_array import SparseArray
from .stats import stats_disable, stats_dump, stats_enable, stats_reset
from .subarray import Subarray
from .version_helper import version
from .vfs import VFS, FileIO

#: Another name of :meth:`Group.create`.
group_create = Group.create

__all__ = [
    "Array",
    "ArraySchema",
    "ArraySchemaEvolution",
    "Attr",
    "BitShuffleFilter",
    "BitWidthReductionFilter",
    "ByteShuffleFilter",
    "Bzip2Filter",
    "ChecksumMD5Filter",
    "ChecksumSHA256Filter",
    "CompressionFilter",
    "Config",
    "Ctx",
    "CurrentDomain",
    "DeltaFilter",
    "DenseArray",
    "DictionaryFilter",
    "Dim",
    "DimLabel",
    "DimLabelSchema",
    "Domain",
    "DoubleDeltaFilter",
    "EmptyRange",
    "Enumeration",
    "FileIO",
    "Filter",
    "FilterList",
    "FloatScaleFilter",
    "FragmentInfo",
    "FragmentInfoList",
    "Group",
    "GzipFilter",
    "LZ4Filter",
    "Metadata",
    "NDRectangle",
    "NoOpFilter",
    "Object",
    "PositiveDeltaFilter",
    "Query",
    "QueryCondition",
    "RleFilter",
    "SparseArray",
    "Subarray",
    "TileDBError",
    "VFS",
    "WebpFilter",
    "XORFilter",
    "ZstdFilter",
    "array_exists",
    "array_fragments",
    "cc",
    "consolidate",
    "default_ctx",
    "empty_like",
    "from_csv",
    "from_numpy",
    "from_pandas",
    "from_parquet",
    "group_create",
    "ls",
    "move",
    "object_type",
    "open",
    "open_dataframe",
    "remove",
    "save",
    "schema_like",
    "scope_ctx",
    "stats_disable",
    "stats_dump",
    "stats_enable",
    "stats_reset",
    "vacuum",
    "version",
    "walk",
]
