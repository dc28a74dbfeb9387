"""The types that ``somacore`` defines. Where it is installed they are its own, so that programs may import them from there;
without it, those that reading needs are defined here."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

try:
    from somacore import AxisColumnNames, AxisQuery  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from somacore.options import BatchSize, IOfN, ResultOrder  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:

    class ResultOrder(enum.Enum):  # type: ignore[no-redef]
        """The order of results."""

        AUTO = "auto"
        ROW_MAJOR = "row-major"
        COLUMN_MAJOR = "column-major"

    @dataclass(frozen=True)
    class BatchSize:  # type: ignore[no-redef]
        """How large batches are: a number of rows, or of bytes."""

        count: int | None = None
        bytes: int | None = None

    @dataclass(frozen=True)
    class IOfN:  # type: ignore[no-redef]
        """One of so many parts of a read."""

        i: int
        n: int

    class AxisColumnNames(TypedDict, total=False):  # type: ignore[no-redef]
        """The columns that are wanted of each axis."""

        obs: Sequence[str] | None
        var: Sequence[str] | None

    @dataclass(frozen=True, init=False)
    class AxisQuery:  # type: ignore[no-redef]
        """What is wanted of an axis: coordinates, a condition, or both."""

        value_filter: str | None
        coords: tuple[Any, ...]

        def __init__(self, *, value_filter: str | None = None, coords: Sequence[Any] = ()) -> None:
            if isinstance(coords, (str, bytes)) or not isinstance(coords, Sequence):
                raise TypeError(f"coordinates are a sequence with one item for each dimension, not {type(coords).__name__}")
            if value_filter is not None and not isinstance(value_filter, str):
                raise TypeError("value_filter is a text")
            object.__setattr__(self, "value_filter", value_filter)
            object.__setattr__(self, "coords", tuple(coords))


#: Types of spaces and transforms, which only ``somacore`` has.
SPATIAL = ("AffineTransform", "Axis", "CoordinateSpace", "CoordinateTransform", "IdentityTransform", "ScaleTransform", "UniformScaleTransform")


def spatial_type(name: str) -> Any:
    """A type of spaces and transforms."""
    from ..._needs import needed

    return getattr(needed("somacore", "somacore", "Coordinate spaces and their transforms"), name)


def order_of(wanted: Any) -> Any:
    """An order of results, which may be given by its name."""
    return ResultOrder(wanted)


__all__ = ["AxisColumnNames", "AxisQuery", "BatchSize", "IOfN", "ResultOrder"]
