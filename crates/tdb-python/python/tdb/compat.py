"""TileDB-Py's names for reading, for programs that switch: ``import tdb.compat as tiledb``.

>>> import tdb.compat as tiledb
>>> with tiledb.open(fixtures / "quickstart") as A:
...     A[1:3, 2:4]["a"].tolist(), A.multi_index[1, [2, 4]]["a"].tolist()
([[2, 3], [6, 7]], [[2, 4]])

Results have the shapes, the types and the order of TileDB-Py's. What is not here raises ``AttributeError`` or
``TileDBError``; docs/python.md shows what ``tdb`` has in its place.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _array as _own
from ._array import Location, Metadata, Storage
from ._columns import Column
from ._condition import Condition, Where
from ._errors import Error, QueryError, UnsupportedError
from ._python_condition import parse as _parse
from ._read import Read, add_range, keys
from ._schema import Attribute, Dimension, Schema
from ._types import AnyArray, Window, is_text, number_dtype

if TYPE_CHECKING:
    import pandas

#: What TileDB-Py raises.
TileDBError = Error

_ORDERS = {"C": "row-major", "F": "col-major", "G": "global-order", "U": "unordered"}


def _dtype(datatype: str, values: int | str | None) -> np.dtype[Any]:
    """The numpy type that TileDB-Py has for a field."""
    own = number_dtype(datatype)
    if own is not None and own.kind == "f" and values == 2:
        return np.dtype("<c8" if own.itemsize == 4 else "<c16")
    if own is not None:
        return own if values in (1, None, "var") else np.dtype([("", own)] * int(values))
    text = datatype in ("STRING_UTF8", "STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4")
    if text:
        return np.dtype("<U0")
    return np.dtype("S") if values in (None, "var") or datatype == "STRING_ASCII" else np.dtype(f"S{values}")


class Dim:
    """A dimension."""

    def __init__(self, own: Dimension) -> None:
        self._own = own

    @property
    def name(self) -> str:
        """The name."""
        return self._own.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type."""
        return _dtype(self._own.datatype, 1)

    @property
    def domain(self) -> tuple[Any, Any]:
        """The first and the last coordinate."""
        if self._own.domain is None:
            return ("", "")
        low, high = self._own.domain
        return (self.dtype.type(low), self.dtype.type(high)) if self.dtype.kind in "iuf" else (low, high)

    @property
    def tile(self) -> Any:
        """The extent of a tile."""
        return self._own.tile

    @property
    def isvar(self) -> bool:
        """Whether the coordinates are texts."""
        return is_text(self._own.datatype)

    @property
    def shape(self) -> tuple[int]:
        """The number of coordinates."""
        return (self.size,)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        low, high = self.domain
        if self.dtype.kind not in "iumM":
            raise TypeError("only dimensions of integers and dates have a size")
        span = high - low
        return int(span.astype(np.int64) if self.dtype.kind in "mM" else int(high) - int(low)) + 1

    def __repr__(self) -> str:
        return f"Dim(name={self.name!r}, domain={self.domain!r}, tile={self.tile!r}, dtype='{self.dtype}')"


class Domain:
    """The dimensions."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def dim(self, which: int | str) -> Dim:
        """A dimension by its name or number."""
        if isinstance(which, str):
            return Dim(self._schema.dimension(which))
        return Dim(self._schema.dimensions[which])

    def has_dim(self, name: str) -> bool:
        """Whether there is a dimension of this name."""
        return any(own.name == name for own in self._schema.dimensions)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._schema.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of coordinates of each dimension."""
        return tuple(own.size for own in self)

    @property
    def size(self) -> int:
        """The number of cells of the domain."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def homogeneous(self) -> bool:
        """Whether all dimensions have the same type."""
        return len({own.dtype for own in self}) == 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the first dimension."""
        return self.dim(0).dtype

    def __iter__(self) -> Iterator[Dim]:
        return (Dim(own) for own in self._schema.dimensions)

    def __len__(self) -> int:
        return self.ndim


class Attr:
    """An attribute."""

    def __init__(self, own: Attribute) -> None:
        self._own = own

    @property
    def name(self) -> str:
        """The name; empty for the anonymous one."""
        return self._own.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type."""
        return _dtype(self._own.datatype, self._own.values)

    @property
    def isvar(self) -> bool:
        """Whether the number of values differs from cell to cell."""
        return self._own.values == "var"

    @property
    def ncells(self) -> int:
        """The number of values per cell."""
        return np.iinfo(np.uint32).max if self.isvar else int(self._own.values or 1)

    @property
    def isnullable(self) -> bool:
        """Whether cells may be null."""
        return self._own.nullable

    @property
    def isanon(self) -> bool:
        """Whether the attribute has no name."""
        return self._own.name == ""

    @property
    def fill(self) -> Any:
        """The value of cells that were not written."""
        return self._own.fill

    @property
    def enum_label(self) -> str | None:
        """The name of its enumeration."""
        return self._own.enumeration


class ArraySchema:
    """A schema."""

    def __init__(self, own: Schema) -> None:
        self._own = own

    @property
    def domain(self) -> Domain:
        """The dimensions."""
        return Domain(self._own)

    @property
    def sparse(self) -> bool:
        """Whether the array is sparse."""
        return self._own.sparse

    @property
    def nattr(self) -> int:
        """The number of attributes."""
        return len(self._own.attributes)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._own.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of coordinates of each dimension."""
        return self.domain.shape

    @property
    def capacity(self) -> int:
        """The number of cells of a tile of a sparse array."""
        return int(self._own.capacity or 0)

    @property
    def allows_duplicates(self) -> bool:
        """Whether several cells may have the same coordinates."""
        return self._own.duplicates

    @property
    def version(self) -> int:
        """The version of the format."""
        return int(self._own.version or 0)

    @property
    def cell_order(self) -> str:
        """The order of cells inside of a tile."""
        return str(self._own.cell_order)

    @property
    def tile_order(self) -> str:
        """The order of tiles."""
        return str(self._own.tile_order)

    @property
    def attr_names(self) -> list[str]:
        """The names of the attributes."""
        return [own.name for own in self._own.attributes]

    def attr(self, which: int | str) -> Attr:
        """An attribute by its name or number."""
        if isinstance(which, str):
            return Attr(self._own.attribute(which))
        return Attr(self._own.attributes[which])

    def has_attr(self, name: str) -> bool:
        """Whether there is an attribute of this name."""
        return name in self.attr_names

    def __iter__(self) -> Iterator[Attr]:
        return (Attr(own) for own in self._own.attributes)


class Enumeration:
    """The values of an enumeration."""

    def __init__(self, name: str, values: AnyArray, ordered: bool) -> None:
        self.name, self.ordered = name, ordered
        self._values = values

    def values(self) -> AnyArray | list[Any]:
        """The values, in the order of their numbers: a list of texts, or an array."""
        if self._values.dtype != object or not len(self._values):
            return self._values
        return np.array(self._values.tolist()) if isinstance(self._values[0], bytes) else list(self._values)


class Query:
    """A query: which fields, which cells, in which order."""

    def __init__(
        self,
        array: Array,
        attrs: Sequence[str] | None = None,
        cond: Where | None = None,
        dims: Sequence[str] | bool | None = None,
        has_coords: bool | None = None,
        order: str | None = None,
        index_col: bool | Sequence[str] | None = True,
        use_arrow: bool | None = None,
        return_arrow: bool = False,
    ) -> None:
        if order is not None and order not in _ORDERS:
            raise ValueError("order must be 'C', 'F', 'U', or 'G'")
        for name in attrs or ():
            if not array.schema.has_attr(name):
                raise TileDBError(f"Attribute does not exist: '{name}'")
        self._array, self._attrs, self._cond, self._order = array, attrs, cond, order
        coords = array.schema.sparse if has_coords is None else has_coords
        known = [own.name for own in array.schema.domain]
        if isinstance(dims, bool):
            self._dims = known if dims else []
        elif dims is not None:
            self._dims = [name for name in known if name in dims]
        else:
            self._dims = known if coords else []
        self._index_col, self._return_arrow = index_col, return_arrow

    def __getitem__(self, key: Any) -> Any:
        return self._array._boxed(self, key)

    @property
    def multi_index(self) -> MultiIndexer:
        """Ranges with both ends."""
        return MultiIndexer(self)

    @property
    def df(self) -> DataFrameIndexer:
        """Ranges with both ends, as a table of pandas."""
        return DataFrameIndexer(self)

    def _fields(self) -> list[str]:
        return self._dims + list(self._array.schema.attr_names if self._attrs is None else self._attrs)

    def _read(self, fields: Sequence[str]) -> Read:
        array = self._array._own
        default = "row-major" if array.schema.dense else "unordered"
        where = _parse(self._cond) if isinstance(self._cond, str) and self._cond else self._cond or None
        return array.read(fields=fields, where=where, order=_ORDERS[self._order] if self._order else default)


class MultiIndexer:
    """``A.multi_index[...]``: slices and tuples are with both ends, and a list may have any of them."""

    def __init__(self, query: Query) -> None:
        self._query = query

    def _selected(self, key: Any, fields: Sequence[str]) -> Read:
        array = self._query._array._own
        read = self._query._read(fields)
        core, bounds = read._core, array.non_empty_domain
        for at, (dimension, wanted) in enumerate(zip(array.schema.dimensions, keys(array.schema, key))):
            ends = None if bounds is None else bounds[at]
            core = _with_both_ends(core, dimension, wanted, array.schema.dense, ends)
        return Read(array, core, fields)

    def __getitem__(self, key: Any) -> Any:
        query = self._query
        cells = self._selected(key, query._fields())._core.collect()
        shape, order = cells.shape()
        own = tuple(shape) if shape is not None and len(shape) > 1 else None
        found: OrderedDict[str, AnyArray] = OrderedDict()
        for parts in cells.take_columns():
            column = Column(parts)
            values = column.values(own, order)
            found[column.name] = query._array._decoded(column.name, _as_bytes(column, values), None)
        return found


class DataFrameIndexer(MultiIndexer):
    """``A.df[...]``: the same as a table of pandas, with the dimensions as its index."""

    def __getitem__(self, key: Any) -> Any:
        query = self._query
        sparse, dims = query._array.schema.sparse, query._dims
        read = self._selected(key, query._fields())
        if query._return_arrow:
            import pyarrow  # type: ignore[import-untyped, unused-ignore]

            return pyarrow.table(read)
        frame: pandas.DataFrame = read.to_pandas()
        if query._index_col is True:
            stored = query._array.meta.get("__pandas_index_dims")
            index = dims if sparse or stored is not None else []
        else:
            index = list(query._index_col) if query._index_col else []
        return frame.set_index(index) if index else frame


def _with_both_ends(core: Any, dimension: Dimension, wanted: Any, dense: bool, ends: tuple[Any, Any] | None) -> Any:
    for one in wanted if isinstance(wanted, list) else [wanted]:
        if isinstance(one, slice):
            if one.step is not None:
                raise ValueError("Stepped slice ranges are not supported")
            low, high = one.start, one.stop
            if ends is not None and (dense or low is not None or high is not None):
                low, high = ends[0] if low is None else low, ends[1] if high is None else high
            if low is not None or high is not None:
                core = add_range(core, dimension, (low, high))
        elif isinstance(one, np.ndarray):
            core = add_range(core, dimension, one)
        else:
            core = add_range(core, dimension, one if isinstance(one, tuple) else (one, one))
    return core


def _as_bytes(column: Column, values: AnyArray) -> AnyArray:
    """Values in the type that TileDB-Py has for them."""
    if column.datatype == "STRING_ASCII" and values.dtype == object:
        found = np.empty(values.shape, object)
        for at, one in np.ndenumerate(values):
            found[at] = one.encode("utf-8", "surrogateescape")
        return found
    if isinstance(column.count, int) and column.count > 1 and values.dtype.kind in "iuf":
        record = _dtype(column.datatype, column.count)
        return np.ascontiguousarray(values).view(record).reshape(values.shape[:-1])
    return values


class Array:
    """An open array, to be read."""

    def __init__(
        self,
        uri: Location,
        mode: str = "r",
        key: Any = None,
        timestamp: Window = None,
        attr: str | None = None,
        ctx: Ctx | None = None,
        config: Config | Mapping[str, str] | None = None,
    ) -> None:
        if mode != "r":
            raise UnsupportedError(f"mode {mode!r}: here arrays are only read; tdb.open(uri) writes, deletes and evolves")
        options = _options(ctx, config)
        key = key if key is not None else options.pop("__key", None)
        self._own = _own.open(uri, timestamp, key=key, storage=options)
        self._attr, self._opened = attr, True
        if attr is not None and not self.schema.has_attr(attr):
            raise KeyError(f"No attribute matching '{attr}'")

    def _array(self) -> _own.Array:
        if not self._opened:
            raise TileDBError("Array is not opened")
        return self._own

    @property
    def schema(self) -> ArraySchema:
        """What the cells are."""
        return ArraySchema(self._array().schema)

    @property
    def uri(self) -> str:
        """The location."""
        return self._own.uri

    @property
    def mode(self) -> str:
        """Always ``"r"``."""
        return "r"

    @property
    def isopen(self) -> bool:
        """Whether :meth:`close` was not called."""
        return self._opened

    @property
    def domain(self) -> Domain:
        """The dimensions."""
        return self.schema.domain

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.schema.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of coordinates of each dimension."""
        return self.schema.shape

    @property
    def nattr(self) -> int:
        """The number of attributes."""
        return self.schema.nattr

    @property
    def timestamp_range(self) -> tuple[int, int]:
        """The first and the last millisecond that are seen."""
        return self._array().window

    @property
    def meta(self) -> Metadata:
        """Key-value metadata."""
        return self._array().meta

    def attr(self, which: int | str) -> Attr:
        """An attribute by its name or number."""
        return self.schema.attr(which)

    def dim(self, which: int | str) -> Dim:
        """A dimension by its name or number."""
        return self.domain.dim(which)

    def enum(self, name: str) -> Enumeration:
        """An enumeration."""
        found = self._array()._core.enumeration(name)
        if found is None:
            raise TileDBError(f"the array has no enumeration {name!r}")
        column = Column(found[0])
        return Enumeration(name, _as_bytes(column, column.values()), found[1])

    def nonempty_domain(self) -> tuple[tuple[Any, Any], ...] | None:
        """The first and the last coordinate of each dimension that cells have."""
        found = self._array().non_empty_domain
        if found is None:
            return None
        return tuple(_typed_ends(dimension, ends) for dimension, ends in zip(self.domain, found))

    def query(self, **asked: Any) -> Query:
        """A query: ``attrs``, ``dims``, ``cond``, ``order``, ``index_col``, ``return_arrow``."""
        return Query(self, **asked)

    @property
    def multi_index(self) -> MultiIndexer:
        """Ranges with both ends."""
        return MultiIndexer(Query(self))

    @property
    def df(self) -> DataFrameIndexer:
        """Ranges with both ends, as a table of pandas."""
        return DataFrameIndexer(Query(self, has_coords=True))

    def __getitem__(self, key: Any) -> Any:
        return self._boxed(Query(self), key)

    def _boxed(self, query: Query, key: Any) -> Any:
        """The cells of a box, in which slices are without their end, but those of real numbers and texts with it."""
        array = self._array()
        attrs = [self._attr] if self._attr is not None else query._attrs
        names = list(self.schema.attr_names if attrs is None else attrs)
        read = query._read(names + query._dims)
        core, single = read._core, []
        for dimension, one in zip(array.schema.dimensions, keys(array.schema, key)):
            single.append(not isinstance(one, (slice, list, np.ndarray)))
            dtype = number_dtype(dimension.datatype)
            if isinstance(one, slice) and (dtype is None or dtype.kind == "f"):
                if one.start is not None or one.stop is not None:
                    core = add_range(core, dimension, (one.start, one.stop))
            else:
                core = add_range(core, dimension, one)
        cells = core.collect()
        shape, order = cells.shape()
        own = None if shape is None else tuple(shape)
        found: OrderedDict[str, AnyArray] = OrderedDict()
        for parts in cells.take_columns():
            column = Column(parts)
            values, nulls = _as_bytes(column, column.values(own, order)), column.nulls(own, order)
            if own is not None:
                # A single cell stays an array, of no dimensions.
                axes = tuple(at for at, one in enumerate(single) if one)
                values, nulls = values.squeeze(axes), None if nulls is None else nulls.squeeze(axes)
            found[column.name] = self._decoded(column.name, values, nulls)
        if array.schema.dense and (self._attr is not None or names == [""]):
            return found[names[0]]
        return found

    def _decoded(self, name: str, values: AnyArray, nulls: AnyArray | None) -> AnyArray:
        """The values of an enumerated attribute in place of their numbers; and which are null."""
        own = self._array().schema.field(name)
        if own is not None and own.enumeration is not None:
            labels = self.enum(own.enumeration).values()
            values = np.array([labels[int(at)] for at in values.ravel()]).reshape(values.shape)
        return values if nulls is None else np.ma.MaskedArray(values, nulls)

    def close(self) -> None:
        """Ends the use of the array."""
        self._opened = False

    def __enter__(self) -> Array:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.domain.shape[0]


class DenseArray(Array):
    """A dense array."""


class SparseArray(Array):
    """A sparse array."""


def _typed_ends(dimension: Dim, ends: tuple[Any, Any]) -> tuple[Any, Any]:
    if dimension.isvar:
        low, high = (end.encode() if isinstance(end, str) else end for end in ends)
        return (low, high)
    if dimension.dtype.kind in "iuf":
        return (dimension.dtype.type(ends[0]).item(), dimension.dtype.type(ends[1]).item())
    return ends


class Config(dict[str, str]):
    """Options. Of TileDB's, those of S3 mean something here; all others are kept and have no effect."""


class Ctx:
    """What holds the options."""

    def __init__(self, config: Config | Mapping[str, str] | None = None) -> None:
        self._config = Config(config or {})

    def config(self) -> Config:
        """The options."""
        return self._config


#: Options of TileDB, and those of stores here.
_S3 = {
    "vfs.s3.region": "aws_region",
    "vfs.s3.aws_access_key_id": "aws_access_key_id",
    "vfs.s3.aws_secret_access_key": "aws_secret_access_key",
    "vfs.s3.aws_session_token": "aws_session_token",
    "vfs.s3.no_sign_request": "aws_skip_signature",
}


def _options(ctx: Ctx | None, config: Config | Mapping[str, str] | None) -> dict[str, Any]:
    given = {**(ctx.config() if ctx is not None else {}), **(config or {})}
    options: dict[str, Any] = {own: str(given[name]) for name, own in _S3.items() if given.get(name)}
    if given.get("vfs.s3.endpoint_override"):
        scheme = given.get("vfs.s3.scheme", "https")
        options["aws_endpoint"] = f"{scheme}://{given['vfs.s3.endpoint_override']}"
        options["allow_http"] = "true" if scheme == "http" else "false"
    if given.get("sm.encryption_key"):
        options["__key"] = given["sm.encryption_key"].encode()
    return options


def default_ctx() -> Ctx:
    """A context without options."""
    return Ctx()


def open(
    uri: Location,
    mode: str = "r",
    key: Any = None,
    attr: str | None = None,
    config: Config | Mapping[str, str] | None = None,
    timestamp: Window = None,
    ctx: Ctx | None = None,
) -> Array:
    """Opens an array for reading."""
    array = Array(uri, mode, key, timestamp, attr, ctx, config)
    array.__class__ = SparseArray if array.schema.sparse else DenseArray
    return array


def object_type(uri: Location, ctx: Ctx | None = None) -> str | None:
    """What is at a place: ``"array"``, ``"group"`` or ``None``."""
    options: Storage = {name: value for name, value in _options(ctx, None).items() if name != "__key"}
    return _own.object_type(uri, storage=options)


def array_exists(uri: Location, isdense: bool = False, issparse: bool = False) -> bool:
    """Whether there is an array, of a kind."""
    if object_type(os.fspath(uri)) != "array":
        return False
    schema = _own.open(uri).schema
    return not (isdense and schema.sparse) and not (issparse and schema.dense)


__all__ = [
    "Array",
    "ArraySchema",
    "Attr",
    "Condition",
    "Config",
    "Ctx",
    "DataFrameIndexer",
    "DenseArray",
    "Dim",
    "Domain",
    "Enumeration",
    "MultiIndexer",
    "Query",
    "QueryError",
    "SparseArray",
    "TileDBError",
    "array_exists",
    "default_ctx",
    "object_type",
    "open",
]
