"""Creating SOMA's objects, each with the schema and the metadata that ``tiledbsoma`` gives it: tables, matrices, collections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tdb
from .._array import Array, Key, Location, Storage, place
from .._columns import pack
from .._errors import QueryError
from .._group import Group
from .._schema import Attribute, Dimension, Enumeration, Field, Schema
from .._types import Time, encode_value, milliseconds, number_dtype, ticks
from ._axes import DATA, JOINID
from ._options import TILE, CreateOptions

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

#: The version of SOMA's encoding, and of what is about space.
VERSION, SPATIAL_VERSION = "1.1.0", "0.2.0"
#: The column of the geometries of a table of geometries.
GEOMETRY = "soma_geometry"
#: The kinds of collections, and whether their metadata says the version of what is about space.
_COLLECTIONS = {"Collection": False, "Measurement": False, "Experiment": False, "Scene": True, "MultiscaleImage": True}
#: Coordinates in a tile of a dense array, by its number of dimensions; those of more dimensions have 4.
_DENSE_TILES = {1: 2048, 2: 512, 3: 128}
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
_TEXTS = {"string": "STRING_UTF8", "large_string": "STRING_UTF8", "binary": "CHAR", "large_binary": "CHAR"}
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


def create_dataframe(
    uri: Location,
    schema: pyarrow.Schema,
    index_columns: Sequence[str] = (JOINID,),
    domain: Sequence[Any] | None = None,
    platform_config: Any = None,
    at: Time | None = None,
    *,
    enumerations: Mapping[str, Sequence[Any]] | None = None,
    metadata: Mapping[str, Any] | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates a table without rows (a ``SOMADataFrame``), and opens it as an array.

    ``schema`` has all columns. A column ``soma_joinid`` is added if there is none. Columns of dictionaries become enumerations,
    which have no values yet, or those of ``enumerations`` (by the names of columns). ``domain`` says for each index column which
    values it can have now: the first and the last one, or ``None`` for the least that there is (0; of texts, and bytes, all).
    ``platform_config`` is ``{"tiledb": {"create": {…}}}`` with the options of ``tiledbsoma``'s ``TileDBCreateOptions``.
    ``metadata`` are more entries, written with the others. If anything fails, nothing is left behind."""
    schema = _with_column(schema, JOINID)
    _expect_names(schema, index_columns)
    options = CreateOptions.of(platform_config)
    options.expect_columns(index_columns, [name for name in schema.names if name not in index_columns])
    ends = _ends_of(index_columns, domain)
    dimensions, current = [], []
    for name, own in zip(index_columns, ends):
        made, now = _index(name, schema.field(name).type, own, options, options.dataframe_dim_zstd_level)
        dimensions.append(made)
        current.append(now)
    attributes, lists = _attributes(schema, index_columns, options, enumerations or {})
    made_of = Schema("sparse", dimensions, attributes, lists, current_domain=current, **options.schema())
    entries = {**_marks("SOMADataFrame"), **(metadata or {})}
    return _created(place(uri, storage, key, threads), made_of, entries, at)


def create_sparse(
    uri: Location,
    type: pyarrow.DataType,
    shape: Sequence[int],
    platform_config: Any = None,
    at: Time | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates a sparse matrix without values (a ``SOMASparseNDArray``) with any number of axes, and opens it as an array. ``type`` is
    a type of Arrow (numbers, truth values, times), ``shape`` what the matrix has now: it can grow."""
    options = CreateOptions.of(platform_config)
    level = options.sparse_nd_array_dim_zstd_level
    made = _matrix("sparse", type, shape, options, level, TILE)
    entries = {**_marks("SOMASparseNDArray"), **(metadata or {})}
    return _created(place(uri, storage, key, threads), made, entries, at)


def create_dense(
    uri: Location,
    type: pyarrow.DataType,
    shape: Sequence[int],
    platform_config: Any = None,
    at: Time | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates a dense matrix (a ``SOMADenseNDArray``) with any number of axes, and opens it as an array: see :func:`create_sparse`."""
    options = CreateOptions.of(platform_config)
    level = options.dense_nd_array_dim_zstd_level
    made = _matrix("dense", type, shape, options, level, _DENSE_TILES.get(len(shape), 4))
    entries = {**_marks("SOMADenseNDArray"), **(metadata or {})}
    return _created(place(uri, storage, key, threads), made, entries, at)


def create_collection(
    uri: Location,
    kind: str = "Collection",
    *,
    coordinate_space: Any = None,
    metadata: Mapping[str, Any] | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Group:
    """Creates an empty collection, and opens it as a group. ``kind`` is ``Collection``, ``Measurement``, ``Experiment``, ``Scene`` or
    ``MultiscaleImage``. The latter two can have a ``coordinate_space``: the names of its axes, or pairs of names and units."""
    if kind not in _COLLECTIONS:
        known = list(_COLLECTIONS)
        raise QueryError(f"{kind!r} is no kind of collection: {', '.join(known)} are{_tdb.hint(kind, known)}")
    entries = _marks(f"SOMA{kind}", _COLLECTIONS[kind])
    if kind == "Experiment":
        entries["dataset_type"] = "soma"
    if coordinate_space is not None:
        if not _COLLECTIONS[kind]:
            raise QueryError(f"coordinate_space: a {kind} has none")
        entries["soma_coordinate_space"] = _space(coordinate_space)
    entries.update(metadata or {})
    group = Group.create(uri, at=at, key=key, storage=storage)
    group.meta.change(entries, at=at)
    return Group(uri, key=key, storage=storage, threads=threads)


def create_multiscale_image(
    uri: Location,
    type: pyarrow.DataType,
    shape: Sequence[int],
    *,
    coordinate_space: Any = ("x", "y"),
    data_axis_order: Sequence[str] | None = None,
    has_channel_axis: bool = True,
    metadata: Mapping[str, Any] | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Group:
    """Creates an image without levels (a ``SOMAMultiscaleImage``) and opens it as a group. ``shape`` is that of its largest level, in the
    order in which the axes are stored: ``data_axis_order``, or the channels and the axes in reverse order. Each level is a dense matrix
    (:func:`create_dense`), a member of the group, and has an entry ``soma_level_NAME`` with its shape in the metadata."""
    names = [axis["name"] for axis in json.loads(_space(coordinate_space))]
    axes = [*names, *(["soma_channel"] if has_channel_axis else [])]
    if len(shape) != len(axes):
        raise QueryError(f"the shape {tuple(shape)} has {len(shape)} axes, but the image has {len(axes)}: {', '.join(axes)}")
    if data_axis_order is not None and sorted(data_axis_order) != sorted(axes):
        raise QueryError(f"data_axis_order is {list(data_axis_order)}, which is no order of {', '.join(axes)}")
    order = [axes.index(name) for name in data_axis_order] if data_axis_order is not None else list(range(len(axes)))[::-1]
    said = {
        "data_axis_permutation": order,
        "shape": [int(size) for size in shape],
        "has_channel_axis": has_channel_axis,
        "datatype": LETTERS[_number(type, "an image")],
    }
    entries = {"soma_multiscale_image_schema": json.dumps(said), **(metadata or {})}
    return create_collection(
        uri,
        "MultiscaleImage",
        coordinate_space=coordinate_space,
        metadata=entries,
        at=at,
        key=key,
        storage=storage,
        threads=threads,
    )


def create_point_cloud(
    uri: Location,
    schema: pyarrow.Schema,
    coordinate_space: Any = ("x", "y"),
    domain: Sequence[Any] | None = None,
    platform_config: Any = None,
    at: Time | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates a table of points (a ``SOMAPointCloudDataFrame``), whose index is the axes of the coordinate space and ``soma_joinid``. The
    other arguments are those of :func:`create_dataframe`."""
    space = _space(coordinate_space)
    axes = [axis["name"] for axis in json.loads(space)]
    schema = _with_column(schema, JOINID)
    index = [*axes, JOINID]
    _expect_names(schema, index)
    types = {str(schema.field(name).type) for name in axes}
    if len(types) != 1 or not any(word in next(iter(types)) for word in ("int", "float", "double")):
        raise QueryError(f"the axes {', '.join(axes)} have the types {', '.join(sorted(types))}: all have one, which is of numbers")
    options = CreateOptions.of(platform_config)
    options.expect_columns(index, [name for name in schema.names if name not in index])
    made = [_index(name, schema.field(name).type, own, options, None) for name, own in zip(index, _ends_of(index, domain))]
    attributes, lists = _attributes(schema, index, options, {})
    made_of = Schema(
        "sparse", [one for one, _ in made], attributes, lists, current_domain=[now for _, now in made], **options.schema()
    )
    entries = {**_marks("SOMAPointCloudDataFrame", True), "soma_coordinate_space": space, **(metadata or {})}
    return _created(place(uri, storage, key, threads), made_of, entries, at)


def create_geometry(
    uri: Location,
    schema: pyarrow.Schema,
    coordinate_space: Any = ("x", "y"),
    domain: Sequence[Any] | None = None,
    platform_config: Any = None,
    at: Time | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates a table of geometries (a ``SOMAGeometryDataFrame``): the geometries are bytes (WKB) in ``soma_geometry``, and the index is
    the box around each, and ``soma_joinid``. ``domain`` has the ends of all axes as a list, and those of the ids."""
    space = _space(coordinate_space)
    axes = [axis["name"] for axis in json.loads(space)]
    schema = _with_column(_with_column(schema, JOINID), GEOMETRY)
    _expect_names(schema, [JOINID])
    boxes, ids = domain if domain is not None else (None, None)
    boxes = [None] * len(axes) if boxes is None else list(boxes)
    if len(boxes) != len(axes):
        raise QueryError(f"the domain of {GEOMETRY} has {len(boxes)} axes, but the coordinate space has {', '.join(axes)}")
    options = CreateOptions.of(platform_config)
    whole = (float(np.finfo(np.float64).min), float(np.finfo(np.float64).max))
    tile = float(options.tile(GEOMETRY))
    names = [f"tiledb__internal__{axis}__{end}" for end in ("min", "max") for axis in axes]
    filters = options.dim_filters(GEOMETRY, None)
    ends = [whole if box is None else (float(box[0]), float(box[1])) for box in boxes] * 2
    joinid, now = _index(JOINID, schema.field(JOINID).type, ids, options, None)
    others = [name for name in schema.names if name not in (JOINID, GEOMETRY)]
    attributes, lists = _attributes(schema.empty_table().select(others).schema, (), options, {})
    made_of = Schema(
        "sparse",
        [*(Dimension(name, whole, "float64", tile, filters) for name in names), joinid],
        [Attribute(GEOMETRY, "GEOM_WKB", "var", filters=options.attr_filters(GEOMETRY)), *attributes],
        lists,
        current_domain=[*ends, now],
        **options.schema(),
    )
    columns = [
        {"tiledb_attributes": [GEOMETRY], "tiledb_column_type": 2, "tiledb_dimensions": names},
        {"tiledb_column_type": 0, "tiledb_dimensions": [JOINID]},
        *({"tiledb_attributes": [name], "tiledb_column_type": 1} for name in others),
    ]
    entries = {
        **_marks("SOMAGeometryDataFrame", True),
        "soma_coordinate_space": space,
        "tiledb_soma_schema": json.dumps({"tiledb_columns": columns, "version": "0.0.1"}, separators=(",", ":")),
        **(metadata or {}),
    }
    return _created(place(uri, storage, key, threads), made_of, entries, at)


def _marks(kind: str, spatial: bool = False) -> dict[str, Any]:
    """The entries of the metadata that say what an object is."""
    found = {"soma_encoding_version": VERSION, "soma_object_type": kind}
    return {**found, "soma_spatial_encoding_version": SPATIAL_VERSION} if spatial else found


def _created(where: _tdb.Place, schema: Schema, metadata: Mapping[str, Any], at: Time | None) -> Array:
    """Creates an array with its metadata at once."""
    entries = [(name.encode("utf-8", "surrogateescape"), *encode_value(value)) for name, value in metadata.items()]
    values = []
    for own in schema.enumerations:
        field = Field(own.name, own.datatype, 1, own.datatype in _TEXTS.values(), False)
        values.append(pack(field, own.values, None, "C")[0])
    time = None if at is None else milliseconds(at)
    _tdb.create_filled(where, json.dumps(schema.to_json()), values, [], [], "refuse", time, entries)
    return Array(where)


def _space(given: Any) -> str:
    """A coordinate space as the metadata says it."""
    axes = []
    for one in given:
        name, unit = (one, None) if isinstance(one, str) else one
        axes.append({"name": name, "unit": unit})
    if not axes:
        raise QueryError("coordinate_space has no axis")
    return json.dumps(axes, separators=(",", ":"))


def _with_column(schema: pyarrow.Schema, name: str) -> pyarrow.Schema:
    """The schema with a column that all tables of a kind have."""
    import pyarrow

    allowed = {JOINID: [pyarrow.int64()], GEOMETRY: [pyarrow.large_binary(), pyarrow.binary()]}[name]
    if name not in schema.names:
        return schema.append(pyarrow.field(name, allowed[0]))
    if schema.field(name).type not in allowed:
        raise QueryError(f"column {name!r} has the type {schema.field(name).type}, but it is {allowed[0]}")
    return schema


def _expect_names(schema: pyarrow.Schema, index_columns: Sequence[str]) -> None:
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


def _ends_of(index_columns: Sequence[str], domain: Sequence[Any] | None) -> list[Any]:
    """What is said of each index column."""
    ends = [None] * len(index_columns) if domain is None else list(domain)
    if len(ends) != len(index_columns):
        raise QueryError(f"domain has {len(ends)} parts, but there are {len(index_columns)} index columns")
    return ends


def _number(type: pyarrow.DataType, what: str) -> str:
    """The datatype of numbers, truth values and times."""
    found = _TYPES.get(str(type))
    if found is None:
        raise QueryError(f"{what} cannot have the type {type}: numbers, bool and timestamps without a zone can be")
    return found


def _index(name: str, type: pyarrow.DataType, ends: Any, options: CreateOptions, level: int | None) -> tuple[Dimension, Any]:
    """The dimension of an index column, and its current domain."""
    filters = options.dim_filters(name, level)
    if str(type) in _TEXTS:
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


def _attributes(
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
            length = "var" if datatype in _TEXTS.values() else 1
            lists.append(Enumeration(enumeration, values.get(column.name, ()), kind.ordered, datatype, length))
            kind = kind.index_type
        datatype = datatype_of(column.name, kind)
        count = "var" if datatype in _TEXTS.values() else 1
        filters = options.attr_filters(column.name)
        attributes.append(
            Attribute(column.name, datatype, count, column.nullable, None, enumeration, filters),
        )
    for name in values:
        if not any(one.name == name and one.enumeration for one in attributes):
            raise QueryError(f"enumerations has {name!r}, which is no column of dictionaries")
    return attributes, lists


def datatype_of(name: str, type: pyarrow.DataType) -> str:
    found = _TYPES.get(str(type)) or _TEXTS.get(str(type))
    if found is None:
        help = "timestamps in UTC without a zone, texts or numbers are kept"
        raise QueryError(f"column {name!r} has the type {type}, which SOMA does not keep: {help}")
    return found


def _matrix(
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
    attribute = Attribute(DATA, _number(type, "a matrix"), 1, False, filters=options.attr_filters(DATA))
    current = [(0, int(size) - 1) for size in shape]
    return Schema(kind, dimensions, [attribute], current_domain=current, **options.schema())


__all__ = [
    "create_collection",
    "create_dataframe",
    "create_dense",
    "create_geometry",
    "create_multiscale_image",
    "create_point_cloud",
    "create_sparse",
]
