"""The schemas of SOMA's objects: dimensions, attributes and enumerations for the columns of Arrow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import QueryError
from .._schema import Attribute, Dimension, Enumeration, Schema
from .._types import number_dtype, ticks
from ._axes import DATA, JOINID
from ._options import CreateOptions

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

#: The column of the geometries of a table of geometries.
GEOMETRY = "soma_geometry"
#: The datatypes of Arrow's types. Those of texts and bytes are not here.
_TYPES = {
    "bool": "BOOL",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "float": "FLOAT32",
    "double": "FLOAT64",
    "timestamp[s]": "DATETIME_SEC",
    "timestamp[ms]": "DATETIME_MS",
    "timestamp[us]": "DATETIME_US",
    "timestamp[ns]": "DATETIME_NS",
}
TEXTS = {"string": "STRING_UTF8", "large_string": "STRING_UTF8", "binary": "CHAR", "large_binary": "CHAR"}
#: What Arrow's C interface calls the types.
LETTERS = {
    "BOOL": "b",
    "INT8": "c",
    "INT16": "s",
    "INT32": "i",
    "INT64": "l",
    "UINT8": "C",
    "UINT16": "S",
    "UINT32": "I",
    "UINT64": "L",
    "FLOAT32": "f",
    "FLOAT64": "g",
    "DATETIME_SEC": "tss:",
    "DATETIME_MS": "tsm:",
    "DATETIME_US": "tsu:",
    "DATETIME_NS": "tsn:",
    "STRING_UTF8": "U",
    "CHAR": "Z",
}


def space_of(given: Any) -> str:
    """A coordinate space as the metadata says it."""
    axes = []
    for one in given:
        name, unit = (one, None) if isinstance(one, str) else one
        axes.append({"name": name, "unit": unit})
    if not axes:
        raise QueryError("coordinate_space has no axis")
    return json.dumps(axes, separators=(",", ":"))


def with_column(schema: pyarrow.Schema, name: str) -> pyarrow.Schema:
    """The schema with a column that all tables of a kind have."""
    import pyarrow

    allowed = {JOINID: [pyarrow.int64()], GEOMETRY: [pyarrow.large_binary(), pyarrow.binary()]}[name]
    if name not in schema.names:
        return schema.append(pyarrow.field(name, allowed[0]))
    if schema.field(name).type not in allowed:
        raise QueryError(f"column {name!r} has the type {schema.field(name).type}, but it is {allowed[0]}")
    return schema


def expect_names(schema: pyarrow.Schema, index_columns: Sequence[str]) -> None:
    """Refuses names that a table cannot have."""
    if not index_columns:
        raise QueryError("index_columns is empty: a table has at least one")
    for name in schema.names:
        if name.startswith("soma_") and name not in (JOINID, GEOMETRY):
            raise QueryError(f"column {name!r} has a name that begins with soma_, which is for SOMA's own: rename it")
        if "\0" in name:
            raise QueryError(f"column {name!r} has a name with a null byte: rename it")
        if schema.names.count(name) > 1:
            raise QueryError(f"two columns have the name {name!r}: rename one")
    for name in index_columns:
        if name not in schema.names:
            raise QueryError(f"index_columns has {name!r}, but the columns are {', '.join(schema.names)}")


def ends_of(index_columns: Sequence[str], domain: Sequence[Any] | None) -> list[Any]:
    """What is said of each index column."""
    ends = [None] * len(index_columns) if domain is None else list(domain)
    if len(ends) != len(index_columns):
        raise QueryError(f"domain has {len(ends)} parts, but there are {len(index_columns)} index columns")
    return ends


def number_type(type: pyarrow.DataType, what: str) -> str:
    """The datatype of numbers, truth values and times."""
    found = _TYPES.get(str(type))
    if found is None:
        raise QueryError(f"{what} cannot have the type {type}: numbers, bool and timestamps without a zone can be")
    return found


def index_dimension(name: str, type: pyarrow.DataType, ends: Any, options: CreateOptions, level: int | None) -> tuple[Dimension, Any]:
    """The dimension of an index column, and its current domain."""
    filters = options.dim_filters(name, level)
    if str(type) in TEXTS:
        if ends is not None and tuple(ends) not in (("", ""), (b"", b"")):
            raise QueryError(f"index column {name!r} is of texts, whose domain is always all of them: say None")
        return Dimension(name, None, "STRING_ASCII", None, filters), ("", "\x7f")
    datatype = _TYPES.get(str(type))
    if datatype in (None, "BOOL"):
        raise QueryError(f"index column {name!r} has the type {type}: numbers, texts, bytes and timestamps can be an index")
    dtype = number_dtype(str(datatype))
    assert dtype is not None
    real = dtype.kind == "f"
    low, high = (0, 0) if ends is None else (_number_of(name, dtype, end) for end in _pair(name, ends))
    if high < low or (name == JOINID and low < 0):
        raise QueryError(f"the domain of {name!r} is {low} to {high}: its ends are in the wrong order, or below 0")
    tile: Any = 1 if dtype.itemsize == 1 else min(options.tile(name), high - low + 1)
    if real:
        # The largest number less a tile is the largest number.
        first, last = float(np.finfo(dtype).min), float(np.finfo(dtype).max)
        tile = float(tile)
    elif dtype.kind == "M":
        first, last = -(1 << 63) + 1, (1 << 63) - 1 - 1_000_000
    else:
        limits = np.iinfo(dtype)
        first, last = (0 if name == JOINID else int(limits.min)), int(limits.max) - 1 - tile
    if low < first or high > last:
        raise QueryError(f"the domain of {name!r} is {low} to {high}, but there is only {first} to {last}")
    if dtype.kind == "M":
        dates = np.array([first, last, low, high], np.int64).view(dtype)
        first, last, low, high = dates
    return Dimension(name, (first, last), datatype, tile, filters), (low, high)


def _pair(name: str, ends: Any) -> tuple[Any, Any]:
    if len(ends) != 2 or None in tuple(ends):
        raise QueryError(f"the domain of {name!r} is {ends!r}: the first and the last value are expected, or None for both")
    return ends[0], ends[1]


def _number_of(name: str, dtype: np.dtype[Any], end: Any) -> Any:
    """An end of a domain as a number."""
    if hasattr(end, "as_py"):
        end = np.array([end.value], np.int64).view(dtype)[0] if dtype.kind == "M" else end.as_py()
    if dtype.kind == "M":
        return ticks(end, dtype)
    if dtype.kind == "f":
        return float(end)
    if int(end) != end:
        raise QueryError(f"the domain of {name!r} ends with {end!r}, which is no integer")
    return int(end)


def attributes_of(
    schema: pyarrow.Schema, index_columns: Sequence[str], options: CreateOptions, values: Mapping[str, Sequence[Any]]
) -> tuple[list[Attribute], list[Enumeration]]:
    """The attributes of the columns that are no index, and the enumerations."""
    attributes, lists = [], []
    for column in schema:
        if column.name in index_columns:
            continue
        kind, enumeration = column.type, None
        if hasattr(kind, "index_type"):
            datatype = datatype_of(column.name, kind.value_type)
            # Not with the type behind it, as releases since 1.16 call it: those before look for this name, and all read it.
            enumeration = column.name
            length = "var" if datatype in TEXTS.values() else 1
            lists.append(Enumeration(enumeration, values.get(column.name, ()), kind.ordered, datatype, length))
            kind = kind.index_type
        datatype = datatype_of(column.name, kind)
        count = "var" if datatype in TEXTS.values() else 1
        filters = options.attr_filters(column.name)
        attributes.append(
            Attribute(column.name, datatype, count, column.nullable, None, enumeration, filters),
        )
    for name in values:
        if not any(one.name == name and one.enumeration for one in attributes):
            raise QueryError(f"enumerations has {name!r}, which is no column of dictionaries")
    return attributes, lists


def datatype_of(name: str, type: pyarrow.DataType) -> str:
    found = _TYPES.get(str(type)) or TEXTS.get(str(type))
    if found is None:
        help = "timestamps in UTC without a zone, texts or numbers are kept"
        raise QueryError(f"column {name!r} has the type {type}, which SOMA does not keep: {help}")
    return found


def matrix_schema(
    kind: str, type: pyarrow.DataType, shape: Sequence[int], options: CreateOptions, level: int, tile: int
) -> Schema:
    """The schema of a matrix."""
    if not len(shape):
        raise QueryError("shape is empty: a matrix has at least one axis")
    names = [f"soma_dim_{at}" for at in range(len(shape))]
    options.expect_columns(names, [DATA])
    dimensions = []
    for name, size in zip(names, shape):
        own = options.tile(name, tile)
        last = (1 << 63) - 2 - own
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 1 <= size <= last + 1:
            raise QueryError(f"shape is {tuple(shape)}: each axis has at least 1 and at most {last + 1}")
        dimensions.append(Dimension(name, (0, last), "int64", own, options.dim_filters(name, level)))
    attribute = Attribute(DATA, number_type(type, "a matrix"), 1, False, filters=options.attr_filters(DATA))
    current = [(0, int(size) - 1) for size in shape]
    return Schema(kind, dimensions, [attribute], current_domain=current, **options.schema())
