"""Sparse arrays of numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from .._create import create_sparse
from .blockwise import BlockwiseScipyReadIter, BlockwiseTableReadIter
from .constants import SOMA_DATA
from .context import SOMATileDBContext
from .core import BatchSize, ResultOrder
from .creating import created, opened_after
from .deleting import delete_cells
from .ndarray import NDArray, checked_shape, checked_type
from .platform_config import write_options
from .reads import SparseCOOTensorReadIter, TableReadIter, check_unpartitioned


class SparseNDArray(NDArray):
    """An array of numbers, of which only those that were written are there."""

    soma_type = "SOMASparseNDArray"
    is_sparse = True

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
    ) -> SparseNDArray:
        """Creates an array, and opens it for writing."""
        checked_type(type)
        if any(size is None for size in shape):
            made = tuple(1 if size is None else size for size in shape)
            warnings.warn(f"Using ``None`` in the shape is deprecated. Updating shape={shape} to shape={made}.", DeprecationWarning, stacklevel=2)
            shape = made
        sizes = checked_shape(shape, cls.__name__)
        names = [f"soma_dim_{at}" for at in range(len(sizes))]
        with created(cls, uri, context, tiledb_timestamp, platform_config, names, [SOMA_DATA]) as (place, config):
            create_sparse(uri, type, sizes, config, **place)
        return opened_after(cls, uri, context, place)

    @property
    def nnz(self) -> int:
        """The number of values that were written."""
        self._verify_open_for_reading()
        return self._array.read([SOMA_DATA]).count()

    def read(
        self,
        coords: Sequence[Any] = (),
        *,
        result_order: Any = ResultOrder.AUTO,
        batch_size: Any = BatchSize(),
        partitions: Any = None,
        platform_config: Any = None,
    ) -> SparseNDArrayRead:
        """The values at some coordinates, in a form that is then chosen."""
        self._verify_open_for_reading()
        check_unpartitioned(partitions)
        return SparseNDArrayRead(self, coords, ResultOrder(result_order), platform_config)

    def write(self, values: Any, *, platform_config: Any = None) -> SparseNDArray:
        """Writes values: a tensor or a matrix of Arrow, or a table of coordinates and values."""
        options = write_options(platform_config)
        self._write_table(self._table(values), options.sort_coords)
        if options.consolidate_and_vacuum:
            self._consolidate()
        return self

    def _table(self, values: Any) -> pa.Table:
        if isinstance(values, pa.Table):
            return values
        if isinstance(values, pa.SparseCOOTensor):
            data, found = values.to_numpy()
            coords = list(found.T)
        elif isinstance(values, (pa.SparseCSCMatrix, pa.SparseCSRMatrix)):
            if self.ndim != 2:
                raise ValueError(f"Unable to write 2D Arrow sparse matrix to {self.ndim}D SparseNDArray")
            matrix = values.to_scipy().tocoo()
            data, coords = matrix.data, [matrix.row, matrix.col]
        else:
            raise TypeError(f"Unsupported Arrow type or non-arrow type for values argument: {type(values)}")
        columns = {f"soma_dim_{at}": pa.array(np.asarray(one).astype(np.int64, copy=False)) for at, one in enumerate(coords)}
        own = self.type
        columns[SOMA_DATA] = pa.array(np.asarray(data).ravel().astype(own.to_pandas_dtype(), copy=False)).cast(own)
        return pa.table(columns)

    def delete_cells(self, coords: Sequence[Any], *, platform_config: Any = None) -> None:
        """Deletes the values at some coordinates."""
        delete_cells(self, coords, None, platform_config)


class SparseNDArrayRead:
    """Values at some coordinates: :meth:`tables`, :meth:`coos` and :meth:`blockwise` are the forms in which they are read."""

    def __init__(self, array: SparseNDArray, coords: Sequence[Any], result_order: Any, platform_config: Any = None) -> None:
        self.array, self.coords, self.result_order, self._config = array, coords, result_order, platform_config
        self.shape = array.shape

    def tables(self) -> TableReadIter:
        """The coordinates and values as tables."""
        return TableReadIter(self.array, self.coords, None, self.result_order, None, self._config)

    def coos(self, shape: Sequence[int] | None = None) -> SparseCOOTensorReadIter:
        """The coordinates and values as tensors, which may have another shape."""
        if shape is not None and len(shape) != len(self.shape):
            raise ValueError(f"shape must be a tuple of size {len(self.shape)}")
        return SparseCOOTensorReadIter(self.tables(), shape or self.shape)

    def blockwise(
        self,
        axis: int | Sequence[int],
        *,
        size: int | Sequence[int] | None = None,
        reindex_disable_on_axis: int | Sequence[int] | None = None,
        eager: bool = True,
    ) -> SparseNDArrayBlockwiseRead:
        """The values in blocks of so many coordinates of an axis, whose coordinates are counted from 0 in each block."""
        return SparseNDArrayBlockwiseRead(self, axis, size, reindex_disable_on_axis, eager)

    def dense_tensors(self) -> Any:
        """Not there: nothing says how large a tensor would be."""
        raise NotImplementedError("dense tensors of a sparse array: tables() and coos() have its values")

    def dask_array(self, **_: Any) -> Any:
        """Arrays of dask are made by :func:`tdb.dask.from_tdb`; those of sparse blocks are not supported."""
        raise NotImplementedError("arrays of dask with sparse blocks: read blockwise, or tdb.soma's batches, instead")


class SparseNDArrayBlockwiseRead:
    """Values in blocks, in a form that is then chosen."""

    def __init__(self, read: SparseNDArrayRead, axis: Any, size: Any, reindex_disable_on_axis: Any, eager: bool) -> None:
        self._read = read
        self._how = {"axis": axis, "size": size, "reindex_disable_on_axis": reindex_disable_on_axis, "eager": eager}
        self._how["platform_config"] = read._config

    def tables(self) -> BlockwiseTableReadIter:
        """Each block as a table, and the coordinates of its axes."""
        return BlockwiseTableReadIter(self._read.array, self._read.coords, self._read.result_order, **self._how)

    def coos(self) -> Any:
        """Not there, because Arrow's tensors cannot be empty."""
        raise NotImplementedError("Blockwise SparseCOOTensor not implemented due to ARROW-17933.")

    def scipy(self, *, compress: bool = True) -> BlockwiseScipyReadIter:
        """Each block as a matrix of scipy, and the coordinates of its axes."""
        return BlockwiseScipyReadIter(self._read.array, self._read.coords, self._read.result_order, compress=compress, **self._how)


__all__ = ["SparseNDArray", "SparseNDArrayBlockwiseRead", "SparseNDArrayRead"]
