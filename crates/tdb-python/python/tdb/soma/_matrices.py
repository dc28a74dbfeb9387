"""Matrices in parts: those of scipy and numpy, those in HDF5, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _tdb
from .._array import Array
from .._errors import QueryError
from .._needs import needed
from .._types import AnyArray, Time, milliseconds, number_dtype
from ._axes import DATA

#: Rows, columns and values of some cells of a matrix.
Part = tuple[AnyArray, AnyArray, AnyArray]
#: Hears how many rows (or columns) of how many are done.
Heard = Callable[[int, int], None]
#: The bytes that a value needs while it is read and handed on: as it is stored, its place and itself, in two parts at a time.
_BYTES = 120
#: The types of numpy that matrices are kept in.
_KEPT = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


@dataclass
class Compressed:
    """A compressed sparse matrix: of scipy, or in a group of HDF5, of which only parts are read."""

    shape: tuple[int, int]
    #: 0 if it is stored row by row (CSR), 1 if column by column (CSC).
    axis: int
    indptr: Any
    indices: Any
    data: Any
    #: What messages call it.
    what: str = "the matrix"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        found: np.dtype[Any] = self.data.dtype
        return found

    def parts(self, values: int) -> Iterator[tuple[int, Part]]:
        """At most so many values at a time, but whole rows; and the number of rows (or columns) that are done."""
        ends = self.ends()
        begun, rows = 0, self.shape[self.axis]
        while begun < rows:
            end = int(np.searchsorted(ends, int(ends[begun]) + values, "right")) - 1
            end = min(max(end, begun + 1), rows)
            low, high = int(ends[begun]), int(ends[end])
            if high > low:
                own = np.repeat(np.arange(begun, end, dtype=np.int64), np.diff(ends[begun : end + 1]))
                other = self.places(low, high)
                cells = np.asarray(self.data[low:high])
                yield end, ((own, other, cells) if self.axis == 0 else (other, own, cells))
            begun = end

    def ends(self) -> AnyArray:
        """Where rows (or columns) end, which files may say wrongly: they ascend, and there are values up to the last."""
        name = "rows" if self.axis == 0 else "columns"
        found: AnyArray = np.asarray(self.indptr[:])
        if found.ndim != 1 or found.dtype.kind not in "iu" or len(found) != self.shape[self.axis] + 1:
            raise QueryError(f"{self.what} has the shape {self.shape}, but its indptr is not {self.shape[self.axis] + 1} integers")
        found = found.astype(np.int64, copy=False)
        falling = np.flatnonzero(np.diff(found) < 0)
        if found[0] != 0 or len(falling):
            said = f"begins with {found[0]}" if found[0] != 0 else f"falls after {name[:-1]} {falling[0]}"
            raise QueryError(f"{self.what} is damaged: the ends of its {name} ascend from 0, but indptr {said}")
        if found[-1] > min(len(self.indices), len(self.data)):
            held = f"{len(self.indices)} indices and {len(self.data)} values"
            raise QueryError(f"{self.what} is damaged: its {name} end at {found[-1]}, but it has {held}")
        return found

    def places(self, low: int, high: int) -> AnyArray:
        """The columns (or rows) of some values, which files may say wrongly, too."""
        found: AnyArray = np.asarray(self.indices[low:high])
        if found.dtype.kind not in "iu":
            raise QueryError(f"{self.what} is damaged: its indices have the type {found.dtype}")
        found = found.astype(np.int64)
        size = self.shape[1 - self.axis]
        wrong = found[(found < 0) | (found >= size)]
        if len(wrong):
            name = "columns" if self.axis == 0 else "rows"
            raise QueryError(f"{self.what} is damaged: it has {size} {name}, but a value in one with the index {wrong[0]}")
        return found


@dataclass
class Dense:
    """A dense matrix: of numpy, or a data set of HDF5. Its zeros are no values of a sparse matrix."""

    values: Any

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        rows, columns = self.values.shape
        return int(rows), int(columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        found: np.dtype[Any] = self.values.dtype
        return found

    def bands(self, values: int) -> Iterator[tuple[int, AnyArray]]:
        """Rows of at most so many values at a time, and the number of rows that are done."""
        rows, columns = self.shape
        each = max(values // max(columns, 1), 1)
        for begun in range(0, rows, each):
            end = min(begun + each, rows)
            yield end, np.asarray(self.values[begun:end])

    def parts(self, values: int) -> Iterator[tuple[int, Part]]:
        """As :meth:`Compressed.parts`."""
        begun = 0
        for end, band in self.bands(values):
            rows, columns = np.nonzero(band)
            if len(rows):
                yield end, (rows + begun, columns, band[rows, columns])
            begun = end


def matrix_of(given: Any, what: str) -> Compressed | Dense:
    """A matrix of scipy, numpy, AnnData or HDF5 that can be read in parts."""
    if hasattr(given, "group") and hasattr(given, "format"):
        # A sparse matrix that AnnData leaves in its file.
        given = given.group
    if hasattr(given, "iloc"):
        raise QueryError(f"{what} is a table of pandas: to_numpy() makes a matrix of it, whose columns have no names")
    if hasattr(given, "attrs") and hasattr(given, "keys"):
        return _in_group(given, what)
    if hasattr(given, "tocsr"):
        if getattr(given, "format", "") not in ("csr", "csc"):
            given = given.tocsr()
        _expect_type(given.dtype, what)
        axis = 0 if given.format == "csr" else 1
        return Compressed(_two(given.shape, what), axis, given.indptr, given.indices, given.data, what)
    if not hasattr(given, "dtype"):
        raise QueryError(f"{what} is {type(given).__name__}, not a matrix of scipy, numpy or HDF5")
    _two(given.shape, what)
    _expect_type(given.dtype, what)
    return Dense(given)


def _in_group(group: Any, what: str) -> Compressed:
    """A sparse matrix in a group of HDF5, as AnnData writes it."""
    kind = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", b""))
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    shape = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
    if kind[:3] not in ("csr", "csc") or shape is None:
        raise QueryError(f"{what} is encoded as {kind!r}, not as a sparse matrix")
    _expect_type(group["data"].dtype, what)
    size = _two(tuple(int(one) for one in shape), what)
    axis = 0 if kind.startswith("csr") else 1
    return Compressed(size, axis, group["indptr"], group["indices"], group["data"], what)


def _two(shape: tuple[int, ...], what: str) -> tuple[int, int]:
    if len(shape) != 2:
        raise QueryError(f"{what} has the shape {tuple(shape)}: only matrices with two axes are kept")
    return int(shape[0]), int(shape[1])


def _expect_type(dtype: np.dtype[Any], what: str) -> None:
    if np.dtype(dtype).newbyteorder("=").str[1:] not in (*_KEPT, "f2"):
        raise QueryError(f"{what} has values of the type {dtype}, which SOMA does not keep: numbers and truth values are kept")


def kept_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that values of a matrix are kept in: the format has no reals of two bytes."""
    return np.dtype(np.float32) if dtype == np.float16 else np.dtype(dtype).newbyteorder("=")


def arrow_type(dtype: np.dtype[Any]) -> Any:
    """The type of Arrow for it."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    return pyarrow.from_numpy_dtype(kept_dtype(dtype))


def write_sparse(
    array: Array,
    matrix: Compressed | Dense,
    rows: AnyArray | None,
    columns: AnyArray | None,
    memory: int,
    at: Time | None,
    heard: Heard | None = None,
) -> int:
    """Writes the values of a matrix, and returns their number. ``rows`` and ``columns`` are the ids of its rows and
    columns; without them, these are counted. All cells are part of the array at once."""
    import pyarrow

    kind = _stored(array)
    names = ["soma_dim_0", "soma_dim_1", DATA]
    schema = pyarrow.schema(
        [(names[0], pyarrow.int64()), (names[1], pyarrow.int64()), (DATA, pyarrow.from_numpy_dtype(kind))]
    )
    total = matrix.shape[matrix.axis if isinstance(matrix, Compressed) else 0]

    def batches() -> Iterator[Any]:
        for done, (own, other, cells) in matrix.parts(max(memory // 2 // _BYTES, 1)):
            places = [own if rows is None else rows[own], other if columns is None else columns[other]]
            given = [*places, _cast(cells, kind)]
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array(one) for one in given], schema=schema)
            if heard is not None:
                heard(done, total)

    return _streamed(array, schema, batches(), [], memory // 2, at)


def write_dense(
    array: Array, matrix: Compressed | Dense, first: int, memory: int, at: Time | None, heard: Heard | None = None
) -> int:
    """Writes a whole matrix as rows of a dense one, from row ``first`` on; returns the number of values."""
    import pyarrow

    kind = _stored(array)
    schema = pyarrow.schema([(DATA, pyarrow.from_numpy_dtype(kind))])
    total = matrix.shape[0]
    if 0 in matrix.shape:
        return 0

    def batches() -> Iterator[Any]:
        for done, band in _bands(matrix, max(memory // 2 // (4 * kind.itemsize), 1)):
            flat = np.ascontiguousarray(_cast(band, kind)).ravel()
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array(flat)], schema=schema)
            if heard is not None:
                heard(done, total)

    box = [("soma_dim_0", first, first + total - 1), ("soma_dim_1", 0, matrix.shape[1] - 1)]
    return _streamed(array, schema, batches(), box, memory // 2, at)


def _stored(array: Array) -> np.dtype[Any]:
    """The type of the values of a matrix."""
    return np.dtype(number_dtype(array.schema.attribute(DATA).datatype))


def expect_values(array: Array, matrix: Compressed | Dense, memory: int, what: str) -> None:
    """Refuses a matrix with values that the type of another one does not have: see :func:`_cast`."""
    kind = _stored(array)
    # To numpy it is safe to round integers of eight bytes.
    rounded = matrix.dtype.kind in "iu" and matrix.dtype.itemsize == 8 and kind.kind == "f"
    if np.can_cast(matrix.dtype, kind, "safe") and not rounded:
        return
    try:
        for _, (_, _, cells) in matrix.parts(max(memory // 2 // _BYTES, 1)):
            _cast(cells, kind)
    except QueryError as error:
        raise QueryError(f"{what}: {error}") from None


def _cast(values: AnyArray, kind: np.dtype[Any]) -> AnyArray:
    """Values in another type: real numbers are rounded to real ones, all else must be kept."""
    if values.dtype == kind:
        return values
    with np.errstate(invalid="ignore", over="ignore"):
        found: AnyArray = values.astype(kind)
        if values.dtype.kind == kind.kind == "f":
            lost = np.isinf(found) & np.isfinite(values)
        else:
            # There and back, with the same sign. Numbers up to the end of a type may be rounded to more than it has.
            lost = (found.astype(values.dtype) != values) | ((found < 0) != (values < 0))
            for one, of in ((found, values.dtype), (values, kind)):
                if one.dtype.kind == "f" and of.kind in "iu":
                    lost |= one >= 2.0 ** (8 * of.itemsize - (of.kind == "i"))
    if lost.any():
        raise QueryError(f"{values[lost][0]}, of the type {values.dtype}, is none of the values of {kind}, which the matrix has")
    return found


def _streamed(
    array: Array, schema: Any, batches: Iterator[Any], box: list[tuple[str, Any, Any]], memory: int, at: Time | None
) -> int:
    """Writes batches at once, and returns the number of cells. What goes wrong where the batches come from is raised
    as it is."""
    import pyarrow

    failed: list[BaseException] = []

    def heard() -> Iterator[Any]:
        try:
            yield from batches
        except BaseException as error:
            failed.append(error)
            raise

    reader = pyarrow.RecordBatchReader.from_batches(schema, heard())
    time = None if at is None else milliseconds(at)
    try:
        return _tdb.write_arrow(array._place, reader, box, memory, "refuse", time)[0]
    except Exception:
        if failed:
            raise failed[0] from None
        raise


def _bands(matrix: Compressed | Dense, values: int) -> Iterator[tuple[int, AnyArray]]:
    """Dense bands of rows."""
    if isinstance(matrix, Dense):
        yield from matrix.bands(values)
        return
    if matrix.axis == 1:
        # No part of it has whole rows.
        sparse = needed("scipy.sparse", "scipy", "Sparse matrices")
        bounds = matrix.ends()
        places = matrix.places(0, int(bounds[-1]))
        held = sparse.csc_matrix((np.asarray(matrix.data[: len(places)]), places, bounds), matrix.shape).tocsr()
        matrix = Compressed(matrix.shape, 0, held.indptr, held.indices, held.data, matrix.what)
    ends = matrix.ends()
    rows, columns = matrix.shape
    each = max(values // columns, 1)
    for begun in range(0, rows, each):
        end = min(begun + each, rows)
        band = np.zeros((end - begun, columns), matrix.dtype)
        own = np.repeat(np.arange(end - begun), np.diff(ends[begun : end + 1]))
        low, high = int(ends[begun]), int(ends[end])
        other = matrix.places(low, high)
        band[own, other] = np.asarray(matrix.data[low:high])
        filled = np.zeros(band.shape, bool)
        filled[own, other] = True
        if np.count_nonzero(filled) < len(own):
            places, counts = np.unique(own * columns + other, return_counts=True)
            row, column = divmod(int(places[counts > 1][0]), columns)
            said = f"row {begun + row} and column {column}"
            raise QueryError(f"{matrix.what} has several values in {said}: sum_duplicates() of scipy makes one of them")
        yield end, band
