"""Coordinate spaces of objects, and transforms between them, as their metadata says them."""

from __future__ import annotations

import json
from typing import Any

from .constants import SOMA_COORDINATE_SPACE_METADATA_KEY
from .core import spatial_type

DISCLAIMER = "Support for spatial types is experimental. Changes to both the API and data storage may not be backwards compatible."
_TRANSFORMS = ("IdentityTransform", "UniformScaleTransform", "ScaleTransform", "AffineTransform")


class InSpace:
    """Something with a coordinate space, which its metadata says."""

    @property
    def coordinate_space(self) -> Any:
        """The coordinate space, as ``somacore`` has it; ``None`` if there is none."""
        said = self.metadata.get(SOMA_COORDINATE_SPACE_METADATA_KEY)  # type: ignore[attr-defined]
        if said is None:
            return None
        axis = spatial_type("Axis")
        return spatial_type("CoordinateSpace")(tuple(axis(name=one["name"], unit=one.get("unit")) for one in json.loads(said)))

    @coordinate_space.setter
    def coordinate_space(self, value: Any) -> None:
        if not hasattr(value, "axis_names"):
            raise TypeError(f"Invalid type {type(value).__name__}.")
        known = self.coordinate_space
        if known is not None and not self._names_change and value.axis_names != known.axis_names:
            raise ValueError(f"Cannot change axis names from {known.axis_names} to {value.axis_names}.")
        said = [{"name": axis.name, "unit": axis.unit} for axis in value.axes]
        self.metadata[SOMA_COORDINATE_SPACE_METADATA_KEY] = json.dumps(said)  # type: ignore[attr-defined]

    #: Whether the axes can get other names: not where they are columns.
    _names_change = False

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(self.coordinate_space.axis_names)


def axes_of(given: Any) -> list[tuple[str, str | None]]:
    """Names and units of the axes of a space, which may be given by their names."""
    axes = getattr(given, "axes", given)
    return [(one, None) if isinstance(one, str) else (one.name, one.unit) if hasattr(one, "name") else tuple(one) for one in axes]


def transform_to_json(transform: Any) -> str:
    """A transform as the metadata says it."""
    name = type(transform).__name__
    if name not in _TRANSFORMS:
        raise TypeError(f"Unrecognized coordinate transform type {type(transform)!r}.")
    said: dict[str, Any] = {"input_axes": transform.input_axes, "output_axes": transform.output_axes}
    if name == "UniformScaleTransform":
        said["scale"] = transform.scale
    elif name == "ScaleTransform":
        said["scale_factors"] = transform.scale_factors.tolist()
    elif name == "AffineTransform":
        said["matrix"] = transform.augmented_matrix.tolist()
    return json.dumps({"transform_type": name, "transform": said})


def transform_from_json(text: str) -> Any:
    """The transform that the metadata says."""
    said = json.loads(text)
    if said.get("transform_type") not in _TRANSFORMS or "transform" not in said:
        raise KeyError(f"{text!r} is no transform: transform_type is one of {', '.join(_TRANSFORMS)}, and transform says what it does")
    return spatial_type(said["transform_type"])(**said["transform"])


__all__ = ["DISCLAIMER", "InSpace", "axes_of", "transform_from_json", "transform_to_json"]
