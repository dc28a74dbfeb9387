"""Scenes: images, and what was observed at which place."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .._create import create_collection
from .collection import CollectionBase, item
from .context import SOMATileDBContext
from .creating import created, opened_after
from .exceptions import SOMAError
from .spaces import DISCLAIMER, InSpace, axes_of, transform_from_json, transform_to_json
from .spatial import GeometryDataFrame, MultiscaleImage, PointCloudDataFrame

#: How entries of the metadata begin that say where a member is in the scene.
_REGISTRY = "soma_scene_registry_"


class Scene(InSpace, CollectionBase):
    """A scene: images, and what was observed at which place."""

    soma_type = "SOMAScene"
    _types_of_members = {"img": ("SOMACollection",), "obsl": ("SOMACollection",), "varl": ("SOMACollection",)}
    _names_change = True

    img = item()
    obsl = item()
    varl = item()

    @classmethod
    def create(
        cls,
        uri: str,
        *,
        coordinate_space: Any = None,
        platform_config: Any = None,
        context: SOMATileDBContext | None = None,
        tiledb_timestamp: Any = None,
    ) -> Scene:
        """Creates a scene, and opens it for writing."""
        warnings.warn(DISCLAIMER, stacklevel=2)
        space = None if coordinate_space is None else axes_of(coordinate_space)
        with created(cls, uri, context, tiledb_timestamp) as (place, _):
            create_collection(uri, "Scene", coordinate_space=space, **place)
        return opened_after(cls, uri, context, place)

    def _within(self, names: str | Sequence[str]) -> CollectionBase:
        """The collection of these names, each in the one before."""
        if not names:
            raise ValueError("Invalid subcollection: value cannot be empty.")
        found: Any = self
        for name in (names,) if isinstance(names, str) else names:
            if name not in found:
                raise KeyError(f"Unable to open collection '{name}' in {found.uri}.")
            found = found[name]
        own: CollectionBase = found
        return own

    def _expect_from_here(self, transform: Any) -> None:
        space = self.coordinate_space
        if space is None:
            raise SOMAError("The scene coordinate space must be set before setting a transform.")
        if tuple(transform.input_axes) != tuple(space.axis_names):
            raise ValueError(f"The transform is from the axes {transform.input_axes}, but those of the scene are {space.axis_names}.")

    def _add_element(self, kind: Any, key: str, where: str | Sequence[str], transform: Any, uri: str | None, how: dict[str, Any]) -> Any:
        owner = self._within(where)
        if transform is not None:
            self._expect_from_here(transform)
            names = tuple(name for name, _ in axes_of(how["coordinate_space"]))
            if tuple(transform.output_axes) != names:
                raise ValueError(f"The transform is to the axes {transform.output_axes}, but the coordinate space has {names}.")
        made = owner._add_new(key, kind, uri, lambda place: kind.create(place, **owner._child_time, **how))
        if transform is not None:
            owner.metadata[_REGISTRY + key] = transform_to_json(transform)
        return made

    def add_new_geometry_dataframe(
        self, key: str, subcollection: str | Sequence[str], *, transform: Any, uri: str | None = None, **kwargs: Any
    ) -> GeometryDataFrame:
        """Creates a table of geometries in a collection of the scene."""
        how = {"coordinate_space": ("x", "y"), **kwargs}
        made: GeometryDataFrame = self._add_element(GeometryDataFrame, key, subcollection, transform, uri, how)
        return made

    def add_new_point_cloud_dataframe(
        self, key: str, subcollection: str | Sequence[str], *, transform: Any, uri: str | None = None, **kwargs: Any
    ) -> PointCloudDataFrame:
        """Creates a table of points in a collection of the scene."""
        how = {"coordinate_space": ("x", "y"), **kwargs}
        made: PointCloudDataFrame = self._add_element(PointCloudDataFrame, key, subcollection, transform, uri, how)
        return made

    def add_new_multiscale_image(
        self, key: str, subcollection: str | Sequence[str], *, transform: Any, uri: str | None = None, **kwargs: Any
    ) -> MultiscaleImage:
        """Creates an image in a collection of the scene."""
        how = {"coordinate_space": ("x", "y"), **kwargs}
        made: MultiscaleImage = self._add_element(MultiscaleImage, key, subcollection, transform, uri, how)
        return made

    def _place_element(self, kind: Any, key: str, where: str | Sequence[str], transform: Any, space: Any) -> Any:
        self._expect_from_here(transform)
        if space is not None and tuple(transform.output_axes) != tuple(space.axis_names):
            raise ValueError(f"The transform is to the axes {transform.output_axes}, but the coordinate space has {space.axis_names}.")
        owner = self._within(where)
        if key not in owner:
            raise KeyError(f"No element named '{key}' in '{where}'.")
        one = owner[key]
        if not isinstance(one, kind):
            raise TypeError(f"'{key}' in '{where}' is a {type(one).__name__} not a {kind.__name__}.")
        if space is not None:
            one.coordinate_space = space
        elif tuple(one.coordinate_space.axis_names) != tuple(transform.output_axes):
            raise ValueError(f"The transform is to the axes {transform.output_axes}, but '{key}' has {one.coordinate_space.axis_names}.")
        owner.metadata[_REGISTRY + key] = transform_to_json(transform)
        return one

    def set_transform_to_geometry_dataframe(
        self, key: str, subcollection: str | Sequence[str] = "obsl", *, transform: Any, coordinate_space: Any = None
    ) -> GeometryDataFrame:
        """Says where a table of geometries is in the scene."""
        found: GeometryDataFrame = self._place_element(GeometryDataFrame, key, subcollection, transform, coordinate_space)
        return found

    def set_transform_to_point_cloud_dataframe(
        self, key: str, subcollection: str | Sequence[str] = "obsl", *, transform: Any, coordinate_space: Any = None
    ) -> PointCloudDataFrame:
        """Says where a table of points is in the scene."""
        found: PointCloudDataFrame = self._place_element(PointCloudDataFrame, key, subcollection, transform, coordinate_space)
        return found

    def set_transform_to_multiscale_image(
        self, key: str, subcollection: str | Sequence[str] = "img", *, transform: Any, coordinate_space: Any = None
    ) -> MultiscaleImage:
        """Says where an image is in the scene."""
        found: MultiscaleImage = self._place_element(MultiscaleImage, key, subcollection, transform, coordinate_space)
        return found

    def _transform_to(self, key: str, where: str | Sequence[str]) -> Any:
        owner = self._within(where)
        if _REGISTRY + key not in owner.metadata:
            raise KeyError(f"No coordinate space registry for '{key}' in collection '{where}'")
        return transform_from_json(owner.metadata[_REGISTRY + key])

    def get_transform_to_geometry_dataframe(self, key: str, subcollection: str | Sequence[str] = "obsl") -> Any:
        """The transform from the scene to a table of geometries."""
        return self._transform_to(key, subcollection)

    def get_transform_to_point_cloud_dataframe(self, key: str, subcollection: str | Sequence[str] = "obsl") -> Any:
        """The transform from the scene to a table of points."""
        return self._transform_to(key, subcollection)

    def get_transform_to_multiscale_image(
        self, key: str, subcollection: str | Sequence[str] = "img", *, level: str | int | None = None
    ) -> Any:
        """The transform from the scene to an image, or to one of its levels."""
        own = self._transform_to(key, subcollection)
        return own if level is None else self._image(key, subcollection).get_transform_to_level(level) @ own

    def get_transform_from_geometry_dataframe(self, key: str, subcollection: str | Sequence[str] = "obsl") -> Any:
        """The transform from a table of geometries to the scene."""
        return self._transform_to(key, subcollection).inverse_transform()

    def get_transform_from_point_cloud_dataframe(self, key: str, subcollection: str | Sequence[str] = "obsl") -> Any:
        """The transform from a table of points to the scene."""
        return self._transform_to(key, subcollection).inverse_transform()

    def get_transform_from_multiscale_image(
        self, key: str, subcollection: str | Sequence[str] = "img", *, level: str | int | None = None
    ) -> Any:
        """The transform from an image, or from one of its levels, to the scene."""
        own = self._transform_to(key, subcollection).inverse_transform()
        return own if level is None else own @ self._image(key, subcollection).get_transform_from_level(level)

    def _image(self, key: str, where: str | Sequence[str]) -> MultiscaleImage:
        owner = self._within(where)
        if key not in owner:
            raise KeyError(f"No MultiscaleImage named '{key}' in '{where}'.")
        one = owner[key]
        if not isinstance(one, MultiscaleImage):
            raise TypeError(f"Item at '{key}' in '{where}' has an unexpected type {type(one)!r}.")
        return one


__all__ = ["Scene"]
