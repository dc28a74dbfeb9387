"""Dense arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from .._create import create_dense
from .constants import SOMA_DATA
from .context import SOMATileDBContext
from .coordinates import check_slice, checked
from .core import ResultOrder
from .creating import created, opened_after
from .exceptions import SOMAError, translated
from .ndarray import NDArray, checked_shape, checked_type
from .platform_config import write_options


class DenseNDArray(NDArray):
    """An array of numbers that has all of them."""

    soma_type = "SOMADenseNDArray"

    @classmethod
    def create(
        cls,
        uri: str,
        *,
        type: pa.DataType,
        shape: Sequence[int | None],
        platform_config: Any = None,
        context: SOMATileDBContext | None = None,
        tiledb_timestamp: Any = None,
    ) -> DenseNDArray:
        """Creates an array, and opens it for writing."""
        checked_type(type)
        if any(size is None for size in shape):
            raise ValueError("DenseNDArray shape slots must be numeric")
        sizes = checked_shape(shape, cls.__name__)
        names = [f"soma_dim_{at}" for at in range(len(sizes))]
        with created(cls, uri, context, tiledb_timestamp, platform_config, names, [SOMA_DATA]) as (place, config):
            create_dense(uri, type, sizes, config, **place)
        return opened_after(cls, uri, context, place)

    def read(
        self, coords: Sequence[Any] = (), *, result_order: Any = ResultOrder.ROW_MAJOR, partitions: Any = None, platform_config: Any = None
    ) -> pa.Tensor:
        """The values of a box. In column-major order its axes are turned around."""
        self._verify_open_for_reading()
        order = ResultOrder(result_order)
        if order == ResultOrder.AUTO:
            raise ValueError("The use of 'result_order=\"auto\"' is unsupported. Use 'row-major' (the default) or 'column-major' instead.")
        box = self._box(coords)
        context = self._context._of_call(platform_config)
        _ = context._threads, context._memory
        with translated(self._uri):
            found = self._array.read([SOMA_DATA], {f"soma_dim_{at}": pair for at, pair in enumerate(box)}).to_numpy()[SOMA_DATA]
        return pa.Tensor.from_numpy(np.ascontiguousarray(found if order == ResultOrder.ROW_MAJOR else found.T))

    def write(self, coords: Sequence[Any], values: pa.Tensor, *, platform_config: Any = None) -> DenseNDArray:
        """Writes the values of a box."""
        if not isinstance(values, pa.Tensor):
            raise TypeError(f"expected values argument to be of type {pa.Tensor}; got {type(values)}")
        self.verify_open_for_writing()
        options = write_options(platform_config)
        box = self._box(coords)
        shape = tuple(high - low + 1 for low, high in box)
        given = np.asarray(values.to_numpy(), dtype=self.type.to_pandas_dtype())
        if given.size != int(np.prod(shape, dtype=np.int64)):
            raise SOMAError(f"{self._uri}: values of the shape {given.shape} are given for a box of the shape {shape}")
        region = tuple(slice(low, high + 1) for low, high in box)
        with translated(self._uri):
            self._array.write({SOMA_DATA: given.reshape(shape)}, region, at=self._timestamp_ms)
        if options.consolidate_and_vacuum:
            self._consolidate()
        return self

    def delete_cells(self, coords: Sequence[Any], *, platform_config: Any = None) -> None:
        """Not there: a dense array has all its values."""
        raise NotImplementedError("Support for deleting cells is not implemented on dense arrays.")

    def _box(self, coords: Sequence[Any]) -> list[tuple[int, int]]:
        """The first and the last coordinate of each axis."""
        if not isinstance(coords, (str, bytes)) and hasattr(coords, "__len__") and len(coords) > self.ndim:
            raise ValueError(f"coordinate length ({len(coords)}) must be <= array dimension count ({self.ndim})")
        wanted = checked(coords, self.ndim)
        return [_ends(wanted[at] if at < len(wanted) else None, size) for at, size in enumerate(self.shape)]


def _ends(wanted: Any, size: int) -> tuple[int, int]:
    if wanted is None:
        return 0, size - 1
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
        if not 0 <= wanted < size:
            raise SOMAError(f"coordinate {wanted} is out of bounds [0, {size - 1}]")
        return int(wanted), int(wanted)
    if not isinstance(wanted, slice) or not all(end is None or isinstance(end, (int, np.integer)) for end in (wanted.start, wanted.stop)):
        raise TypeError(f"coordinate {wanted} must be integer or integer slice")
    check_slice(wanted)
    low = 0 if wanted.start is None else max(int(wanted.start), 0)
    high = size - 1 if wanted.stop is None else min(int(wanted.stop), size - 1)
    if high < low:
        raise ValueError(f"slice [{wanted.start!r}:{wanted.stop!r}] does not overlap [0:{size - 1}]")
    return low, high


__all__ = ["DenseNDArray"]
