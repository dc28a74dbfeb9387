"""What sparse and dense arrays of numbers have in common: a type, and a shape that grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from . import domains
from .constants import SOMA_DATA
from .creating import column_type, texts_or_bytes
from .domains import Answer
from .soma_array import SOMAArray


class NDArray(SOMAArray):
    """An array of numbers with any number of axes."""

    #: Whether only what was written is there.
    is_sparse = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._array.schema.dimensions)

    @property
    def shape(self) -> tuple[int, ...]:
        """What each axis has room for now."""
        return tuple(int(high) - int(low) + 1 for low, high in self._domain())

    @property
    def maxshape(self) -> tuple[int, ...]:
        """What each axis can have room for."""
        return tuple(int(high) - int(low) + 1 for low, high in self._maxdomain())

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return self.schema.field(SOMA_DATA).type

    @property
    def tiledbsoma_has_upgraded_shape(self) -> bool:
        """Whether the array has a shape that can grow."""
        return self._upgraded

    def resize(self, newshape: Sequence[int | None], check_only: bool = False) -> Answer:
        """Lets the shape grow. With ``check_only`` it says whether it can, and why not."""
        return self._grow(newshape, False, check_only)

    def tiledbsoma_upgrade_shape(self, newshape: Sequence[int | None], check_only: bool = False) -> Answer:
        """Gives an old array a shape that can grow."""
        return self._grow(newshape, True, check_only)

    def _grow(self, newshape: Sequence[int | None], upgrade: bool, check_only: bool) -> Answer:
        answer = domains.shape_answer(self, newshape, upgrade)
        if check_only:
            return answer
        return domains.grow(self, [None if size is None else (0, int(size) - 1) for size in newshape], answer)


def checked_type(kind: Any) -> pa.DataType:
    """The type of values, which are numbers, truth values or times."""
    if not isinstance(kind, pa.DataType) or texts_or_bytes(kind) or column_type(kind) is None:
        raise TypeError(f"Unsupported Arrow type {kind}: values are numbers, truth values or timestamps without a zone")
    return kind


def checked_shape(shape: Sequence[Any], own: str) -> list[int]:
    """A shape, all sizes of which are positive."""
    for size in shape:
        if isinstance(size, bool) or size is None or int(size) < 1:
            raise ValueError(f"{own} shape slots must be at least 1, not {size!r}")
    return [int(size) for size in shape]


__all__ = ["NDArray", "checked_shape", "checked_type"]
