"""Creating SOMA's objects, each with the schema and the metadata that ``tiledbsoma`` gives it: tables, matrices,
collections."""

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
from .._schema import Attribute, Dimension, Field, Schema
from .._types import Time, encode_value, milliseconds
from ._axes import JOINID
from ._options import TILE, CreateOptions
from ._schemas import (
    GEOMETRY,
    LETTERS,
    TEXTS,
    attributes_of,
    ends_of,
    expect_names,
    index_dimension,
    matrix_schema,
    number_type,
    space_of,
    with_column,
)

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

#: The version of SOMA's encoding, and of what is about space.
VERSION, SPATIAL_VERSION = "1.1.0", "0.2.0"
#: The kinds of collections, and whether their metadata says the version of what is about space.
_COLLECTIONS = {"Collection": False, "Measurement": False, "Experiment": False, "Scene": True, "MultiscaleImage": True}
#: Coordinates in a tile of a dense array, by its number of dimensions; those of more dimensions have 4.
_DENSE_TILES = {1: 2048, 2: 512, 3: 128}


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

    ``schema`` has all columns. A column ``soma_joinid`` is added if there is none. Columns of dictionaries become
    enumerations, which have no values yet, or those of ``enumerations`` (by the names of columns). ``domain`` says
    for each index column which values it can have now: the first and the last one, or ``None`` for the least that
    there is (0; of texts, and bytes, all). ``platform_config`` is ``{"tiledb": {"create": {…}}}`` with the options of
    ``tiledbsoma``'s ``TileDBCreateOptions``. ``metadata`` are more entries, written with the others. If anything
    fails, nothing is left behind."""
    schema = with_column(schema, JOINID)
    expect_names(schema, index_columns)
    options = CreateOptions.of(platform_config)
    options.expect_columns(index_columns, [name for name in schema.names if name not in index_columns])
    ends = ends_of(index_columns, domain)
    dimensions, current = [], []
    for name, own in zip(index_columns, ends):
        made, now = index_dimension(name, schema.field(name).type, own, options, options.dataframe_dim_zstd_level)
        dimensions.append(made)
        current.append(now)
    attributes, lists = attributes_of(schema, index_columns, options, enumerations or {})
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
    """Creates a sparse matrix without values (a ``SOMASparseNDArray``) with any number of axes, and opens it as an
    array. ``type`` is a type of Arrow (numbers, truth values, times), ``shape`` what the matrix has now: it can
    grow."""
    options = CreateOptions.of(platform_config)
    level = options.sparse_nd_array_dim_zstd_level
    made = matrix_schema("sparse", type, shape, options, level, TILE)
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
    """Creates a dense matrix (a ``SOMADenseNDArray``) with any number of axes, and opens it as an array: see
    :func:`create_sparse`."""
    options = CreateOptions.of(platform_config)
    level = options.dense_nd_array_dim_zstd_level
    made = matrix_schema("dense", type, shape, options, level, _DENSE_TILES.get(len(shape), 4))
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
    """Creates an empty collection, and opens it as a group. ``kind`` is ``Collection``, ``Measurement``,
    ``Experiment``, ``Scene`` or ``MultiscaleImage``. The latter two can have a ``coordinate_space``: the names of its
    axes, or pairs of names and units."""
    if kind not in _COLLECTIONS:
        known = list(_COLLECTIONS)
        raise QueryError(f"{kind!r} is no kind of collection: {', '.join(known)} are{_tdb.hint(kind, known)}")
    entries = _marks(f"SOMA{kind}", _COLLECTIONS[kind])
    if kind == "Experiment":
        entries["dataset_type"] = "soma"
    if coordinate_space is not None:
        if not _COLLECTIONS[kind]:
            raise QueryError(f"coordinate_space: a {kind} has none")
        entries["soma_coordinate_space"] = space_of(coordinate_space)
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
    """Creates an image without levels (a ``SOMAMultiscaleImage``) and opens it as a group. ``shape`` is that of its
    largest level, in the order in which the axes are stored: ``data_axis_order``, or the channels and the axes in
    reverse order. Each level is a dense matrix (:func:`create_dense`), a member of the group, and has an entry
    ``soma_level_NAME`` with its shape in the metadata."""
    names = [axis["name"] for axis in json.loads(space_of(coordinate_space))]
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
        "datatype": LETTERS[number_type(type, "an image")],
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
    """Creates a table of points (a ``SOMAPointCloudDataFrame``), whose index is the axes of the coordinate space and
    ``soma_joinid``. The other arguments are those of :func:`create_dataframe`."""
    space = space_of(coordinate_space)
    axes = [axis["name"] for axis in json.loads(space)]
    schema = with_column(schema, JOINID)
    index = [*axes, JOINID]
    expect_names(schema, index)
    types = {str(schema.field(name).type) for name in axes}
    if len(types) != 1 or not any(word in next(iter(types)) for word in ("int", "float", "double")):
        raise QueryError(f"the axes {', '.join(axes)} have the types {', '.join(sorted(types))}: all have one, which is of numbers")
    options = CreateOptions.of(platform_config)
    options.expect_columns(index, [name for name in schema.names if name not in index])
    made = [index_dimension(name, schema.field(name).type, own, options, None) for name, own in zip(index, ends_of(index, domain))]
    attributes, lists = attributes_of(schema, index, options, {})
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
    """Creates a table of geometries (a ``SOMAGeometryDataFrame``): the geometries are bytes (WKB) in
    ``soma_geometry``, and the index is the box around each, and ``soma_joinid``. ``domain`` has the ends of all axes
    as a list, and those of the ids."""
    space = space_of(coordinate_space)
    axes = [axis["name"] for axis in json.loads(space)]
    schema = with_column(with_column(schema, JOINID), GEOMETRY)
    expect_names(schema, [JOINID])
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
    joinid, now = index_dimension(JOINID, schema.field(JOINID).type, ids, options, None)
    others = [name for name in schema.names if name not in (JOINID, GEOMETRY)]
    attributes, lists = attributes_of(schema.empty_table().select(others).schema, (), options, {})
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
        field = Field(own.name, own.datatype, 1, own.datatype in TEXTS.values(), False)
        values.append(pack(field, own.values, None, "C")[0])
    time = None if at is None else milliseconds(at)
    _tdb.create_filled(where, json.dumps(schema.to_json()), values, [], [], "refuse", time, entries)
    return Array(where)


__all__ = [
    "create_collection",
    "create_dataframe",
    "create_dense",
    "create_geometry",
    "create_multiscale_image",
    "create_point_cloud",
    "create_sparse",
]
