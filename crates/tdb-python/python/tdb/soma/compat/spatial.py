"""What scenes have: clouds of points, geometries, images."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from .._create import create_geometry, create_multiscale_image, create_point_cloud
from .constants import SOMA_COORDINATE_SPACE_METADATA_KEY, SOMA_GEOMETRY, SOMA_JOINID, SOMA_MULTISCALE_IMAGE_SCHEMA
from .context import SOMATileDBContext
from .core import spatial_type
from .creating import created, opened_after
from .dataframe import DataFrame, checked_schema
from .dense import DenseNDArray
from .ndarray import checked_type
from .soma_group import SOMAGroup
from .spaces import DISCLAIMER, InSpace, axes_of

class PointCloudDataFrame(InSpace, DataFrame):
    """A table of points."""

    soma_type = "SOMAPointCloudDataFrame"

    @classmethod
    def create(  # type: ignore[override]
        cls,
        uri: str,
        *,
        schema: pa.Schema,
        domain: Sequence[Any] | None = None,
        coordinate_space: Any = ("x", "y"),
        platform_config: Any = None,
        context: SOMATileDBContext | None = None,
        tiledb_timestamp: Any = None,
    ) -> PointCloudDataFrame:
        """Creates a table of points, and opens it for writing."""
        warnings.warn(DISCLAIMER, stacklevel=2)
        axes = axes_of(coordinate_space)
        index = [*(name for name, _ in axes), SOMA_JOINID]
        for name, _ in axes:
            if name.startswith("soma_"):
                raise ValueError(f"Axis names may not begin with 'soma_': got {name!r}")
            if name not in schema.names:
                raise ValueError(f"Axis {name!r} is missing in the schema")
        schema = checked_schema(schema, index)
        if domain is not None and len(domain) != len(index):
            raise ValueError(f"if domain is specified, it must have the same length as the index; got {len(domain)} != {len(index)}")
        names = [name for name in schema.names if name not in index]
        with created(cls, uri, context, tiledb_timestamp, platform_config, index, names) as (place, config):
            create_point_cloud(uri, schema, axes, domain, config, **place)
        return opened_after(cls, uri, context, place)


class GeometryDataFrame(InSpace, DataFrame):
    """A table of geometries."""

    soma_type = "SOMAGeometryDataFrame"

    @classmethod
    def create(  # type: ignore[override]
        cls,
        uri: str,
        *,
        schema: pa.Schema,
        coordinate_space: Any = ("x", "y"),
        domain: Sequence[Any] | None = None,
        platform_config: Any = None,
        context: SOMATileDBContext | None = None,
        tiledb_timestamp: Any = None,
    ) -> GeometryDataFrame:
        """Creates a table of geometries, and opens it for writing."""
        warnings.warn(DISCLAIMER, stacklevel=2)
        schema = checked_schema(schema, [SOMA_JOINID], (SOMA_GEOMETRY,))
        names = [name for name in schema.names if name != SOMA_JOINID]
        with created(cls, uri, context, tiledb_timestamp, platform_config, [SOMA_GEOMETRY, SOMA_JOINID], names) as (place, config):
            create_geometry(uri, schema, axes_of(coordinate_space), domain, config, **place)
        return opened_after(cls, uri, context, place)


class MultiscaleImage(InSpace, SOMAGroup):
    """An image in several sizes, which are its levels."""

    soma_type = "SOMAMultiscaleImage"

    @classmethod
    def create(
        cls,
        uri: str,
        *,
        type: pa.DataType,
        level_shape: Sequence[int],
        level_key: str = "level0",
        level_uri: str | None = None,
        coordinate_space: Any = ("x", "y"),
        data_axis_order: Sequence[str] | None = None,
        has_channel_axis: bool = True,
        platform_config: Any = None,
        context: SOMATileDBContext | None = None,
        tiledb_timestamp: Any = None,
    ) -> MultiscaleImage:
        """Creates an image with one level, and opens it for writing."""
        warnings.warn(DISCLAIMER, stacklevel=2)
        checked_type(type)
        with created(cls, uri, context, tiledb_timestamp) as (place, _):
            create_multiscale_image(
                uri,
                type,
                list(level_shape),
                coordinate_space=axes_of(coordinate_space),
                data_axis_order=data_axis_order,
                has_channel_axis=has_channel_axis,
                **place,
            )
        made = opened_after(cls, uri, context, place)
        made.add_new_level(level_key, uri=level_uri, shape=level_shape, platform_config=platform_config)
        return made

    @property
    def _said(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.metadata[SOMA_MULTISCALE_IMAGE_SCHEMA])
        return found

    @property
    def has_channel_axis(self) -> bool:
        """Whether the image has channels."""
        return bool(self._said["has_channel_axis"])

    @property
    def data_axis_order(self) -> tuple[str, ...]:
        """The axes in the order in which they are stored."""
        names = [one["name"] for one in json.loads(self.metadata[SOMA_COORDINATE_SPACE_METADATA_KEY])]
        axes = [*names, *(["soma_channel"] if self.has_channel_axis else [])]
        return tuple(axes[at] for at in self._said["data_axis_permutation"])

    @property
    def nchannels(self) -> int:
        """The number of channels."""
        return self.level_shape(0)[self.data_axis_order.index("soma_channel")] if self.has_channel_axis else 1

    def get_transform_from_level(self, level: int | str) -> Any:
        """The transform from a level to the largest one."""
        return self._scale(level, 0)

    def get_transform_to_level(self, level: int | str) -> Any:
        """The transform from the largest level to another one."""
        return self._scale(0, level)

    def _scale(self, source: int | str, target: int | str) -> Any:
        """The transform from one level to another one, of which one is the largest."""
        names = self.coordinate_space.axis_names
        first, other = (self.level_shape(one) for one in (source, target))
        if source in (0, next(iter(self._level_shapes()))) and target in (0, next(iter(self._level_shapes()))):
            return spatial_type("IdentityTransform")(input_axes=names, output_axes=names)
        order = self.data_axis_order
        factors = [other[order.index(name)] / first[order.index(name)] for name in names]
        return spatial_type("ScaleTransform")(input_axes=names, output_axes=names, scale_factors=factors)

    def _level_shapes(self) -> dict[str, tuple[int, ...]]:
        prefix = "soma_level_"
        found = {key[len(prefix) :]: tuple(json.loads(value)["shape"]) for key, value in self.metadata.items() if key.startswith(prefix)}
        return dict(sorted(found.items(), key=lambda one: (-_volume(one[1]), one[0])))

    @property
    def level_count(self) -> int:
        """The number of levels."""
        return len(self._level_shapes())

    def levels(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """The locations and shapes of the levels by name, the largest first."""
        return {name: (self._members[name].uri, shape) for name, shape in self._level_shapes().items()}

    def level_shape(self, level: int | str) -> tuple[int, ...]:
        """The shape of a level."""
        shapes = self._level_shapes()
        if isinstance(level, str):
            return shapes[level]
        return list(shapes.values())[level]

    def level_uri(self, level: int | str) -> str:
        """The location of a level."""
        name = level if isinstance(level, str) else list(self._level_shapes())[level]
        return self._members[name].uri

    def add_new_level(self, key: str, *, uri: str | None = None, shape: Sequence[int], platform_config: Any = None) -> DenseNDArray:
        """Creates a level, which is not larger than the first one."""
        sizes = tuple(int(size) for size in shape)
        known = self._level_shapes()
        if f"soma_level_{key}" in self.metadata:
            raise KeyError(f"{key!r} already exists in {type(self)} scales")
        if len(sizes) != len(self._said["shape"]):
            raise ValueError(f"New level must have {len(self._said['shape'])} dimensions, but shape {sizes} has {len(sizes)}.")
        if any(size < 1 for size in sizes):
            raise ValueError(f"Level shape {sizes} has a size below 1.")
        if self.has_channel_axis and known:
            at = self.data_axis_order.index("soma_channel")
            if sizes[at] != next(iter(known.values()))[at]:
                raise ValueError(f"New level must have as many channels as the others, not {sizes[at]}.")
        kind = _types()[self._said["datatype"]]
        made = self._add_new(
            key,
            DenseNDArray,
            uri,
            lambda where: DenseNDArray.create(where, type=kind, shape=sizes, platform_config=platform_config, **self._child_time),
        )
        self.metadata[f"soma_level_{key}"] = json.dumps({"shape": list(sizes)})
        return made


def _volume(shape: Sequence[int]) -> int:
    found = 1
    for size in shape:
        found *= size
    return found


def _types() -> dict[str, pa.DataType]:
    """Arrow's types by the letters of its C interface."""
    return {
        "b": pa.bool_(),
        "c": pa.int8(),
        "s": pa.int16(),
        "i": pa.int32(),
        "l": pa.int64(),
        "C": pa.uint8(),
        "S": pa.uint16(),
        "I": pa.uint32(),
        "L": pa.uint64(),
        "f": pa.float32(),
        "g": pa.float64(),
    }


__all__ = ["GeometryDataFrame", "MultiscaleImage", "PointCloudDataFrame"]
