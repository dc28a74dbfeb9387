"""What is one array: tables and matrices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tdb
from .._array import Array
from .._condition import Condition, FieldExpression, core_of, field
from .._errors import QueryError
from .._needs import needed
from .._read import Batch, Read, Stream, to_numpy
from .._types import AnyArray, number_dtype
from ._axes import DATA, JOINID, Wanted, _Axis, _csr, _ids, id_slice

if TYPE_CHECKING:
    import pandas
    import scipy.sparse

#: The memory of a read in batches whose results are kept in a smaller form.
_MEMORY = "64MB"


class _OfArray:
    """Something that is one array."""

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def uri(self) -> str:
        """The location."""
        return self.array.uri

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata."""
        return dict(self.array.meta)

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.uri, self.array.window)

    def __repr__(self) -> str:
        return f"<tdb.soma.{type(self).__name__} {self.uri!r}>"


class DataFrame(_OfArray):
    """A table: an array whose rows have ids, ``soma_joinid``."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.array.schema.names

    def __len__(self) -> int:
        return self.read([JOINID]).count()

    def read(
        self, fields: Sequence[str] | None = None, rows: Wanted = None, where: str | Condition | None = None
    ) -> Read:
        """The rows as a query, in the order of the table's index, which is mostly that of their ids: ``to_pandas()``,
        ``pyarrow.table(…)``, ``stream(memory)``. ``rows`` is a condition, such as ``"n_genes > 500"``, or ids, or
        coordinates of index columns (``{"cell_type": "B"}``); ``where`` is a condition in addition."""
        wanted = None if fields is None else list(fields)
        if isinstance(rows, (str, Condition)):
            where, rows = _both(rows, where), None
        if rows is None or (isinstance(rows, slice) and rows == slice(None)):
            return self.array.read(wanted, where=where, order="row-major")
        index = [dimension.name for dimension in self.array.schema.dimensions]
        if isinstance(rows, Mapping):
            for name in rows:
                if name not in index:
                    raise QueryError(f"{name!r} is no index column (those of {self.uri} are {', '.join(index)}): say it with a condition")
            own = rows.get(JOINID)
            for one in own if isinstance(own, (list, tuple)) else [own]:
                if isinstance(one, slice):
                    id_slice(one)
            return self.array.read(wanted, ranges=dict(rows), where=where, order="row-major")
        ids: Any = id_slice(rows) if isinstance(rows, slice) else _ids(rows).tolist()
        if JOINID in index:
            ranges = {JOINID: ids if isinstance(rows, slice) or ids else []}
            return self.array.read(wanted, ranges=ranges, where=where, order="row-major")
        joinid: FieldExpression = field(JOINID)
        if isinstance(rows, slice) and rows.step not in (None, 1):
            raise QueryError(f"a slice of ids with the step {rows.step} is no range: give the ids themselves")
        if isinstance(rows, slice) and rows.stop is None:
            these = joinid >= (rows.start or 0)
        else:
            these = joinid.is_in(np.arange(rows.start or 0, rows.stop).tolist() if isinstance(rows, slice) else ids)
        return self.array.read(wanted, where=_both(these, where), order="row-major")

    def to_pandas(
        self, fields: Sequence[str] | None = None, rows: Wanted = None, where: str | Condition | None = None
    ) -> pandas.DataFrame:
        """The rows as a table of pandas."""
        return _plain(self.read(fields, rows, where).to_pandas())

    def ids(self, rows: Wanted = None, where: str | Condition | None = None) -> AnyArray:
        """The ids of rows, in ascending order."""
        return np.sort(self.read([JOINID], rows, where).to_numpy()[JOINID])

    def _as_array(self, hint: Any) -> Any:
        """What was an array of texts before it was stored as a table, as the metadata says; all else is a table."""
        names = [name for name in self.columns if name.startswith("values")]
        if hint not in ("array_1d", "array_2d") or not names:
            return self.to_pandas()
        cells = self.read(names).to_numpy()
        return cells[names[0]] if hint == "array_1d" else np.stack([cells[name] for name in names], axis=1)


class SparseMatrix(_OfArray):
    """A sparse matrix. Rows and columns are chosen by their ids; the result has them in ascending order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and columns, also of those without a value. Matrices of ``tiledbsoma`` before 1.15 have
        the largest shape that there is, as there; what is read of them ends with the last row and column that has a
        value."""
        return self.array.schema.shape

    def _extents(self) -> tuple[int, ...]:
        """The shape of the matrix if all of it is wanted. Before ``tiledbsoma`` 1.15 matrices had no shape of their
        own, but the largest that there is: what holds their values, and what the metadata says of the shape, counts
        there."""
        if self.array.schema.current_domain is not None:
            return self.shape
        ends = self.array.non_empty_domain
        found = []
        for at, size in enumerate(self.shape):
            said = self.array.meta.get(f"soma_dim_{at}_domain_upper")
            last = max(-1 if ends is None else int(ends[at][1]), -1 if said is None else int(said))
            found.append(min(last + 1, size))
        return tuple(found)

    @property
    def nnz(self) -> int:
        """The number of values."""
        return self.array.read([DATA]).count()

    def read(self, *ids: Wanted) -> Read:
        """The values with their ids as a query: ``soma_dim_0``, …, ``soma_data``. Each of ``ids`` is about one axis."""
        ranges = {}
        for dimension, one in zip(self.array.schema.dimensions, ids):
            if one is not None:
                ranges[dimension.name] = id_slice(one) if isinstance(one, slice) else _ids(one)
        return self.array.read(self.array.schema.names, ranges=ranges, order="unordered")

    def stream(self, *ids: Wanted, memory: str | int = "256MB") -> Stream:
        """The values in batches: ``pyarrow.RecordBatchReader.from_stream(…)`` makes tables of them."""
        return self.read(*ids).stream(memory)

    def to_scipy(self, rows: Wanted = None, columns: Wanted = None) -> scipy.sparse.csr_matrix:
        """The matrix, or some rows and columns of it."""
        axes = [_Axis(one, size) for one, size in zip((rows, columns), self._two())]
        parts = [self._placed(batch, axes) for batch in self.read(*(axis.asked for axis in axes)).stream(_MEMORY)]
        return _csr(parts, axes[0].size, axes[1].size, self._dtype())

    def batches(
        self, rows: Wanted = None, columns: Wanted = None, memory: str | int = "256MB"
    ) -> Iterator[tuple[AnyArray, scipy.sparse.csr_matrix]]:
        """The matrix in parts of whole rows: their ids, and the part. What is read and what is returned stay inside the
        memory together, as far as a row fits."""
        axes = [_Axis(one, size) for one, size in zip((rows, columns), self._two())]
        read = self.read(*(axis.asked for axis in axes))
        ordered = Read(self.array, read._core.order("row-major"), self.array.schema.names)
        begun, held = 0, None
        budget = _tdb.memory_bytes(str(memory))
        # Positions and values of a batch, and the matrix, are smaller than the batch.
        for batch in ordered.stream(max(budget // 2, 1 << 20)):
            part = self._placed(batch, axes)
            if held is not None:
                part = tuple(np.concatenate(pair) for pair in zip(held, part))
            # The last row may go on in the next batch.
            last = int(part[0][-1]) if len(part[0]) else begun
            cut = int(np.searchsorted(part[0], last))
            if last > begun:
                yield self._rows([one[:cut] for one in part], begun, last, axes)
                begun = last
            held = tuple(one[cut:].copy() for one in part)
        yield self._rows(list(held or self._placed(None, axes)), begun, axes[0].size, axes)

    def blocks(
        self, size: int, rows: Wanted = None, columns: Wanted = None, axis: int = 0
    ) -> Iterator[tuple[AnyArray, scipy.sparse.csr_matrix | scipy.sparse.csc_matrix]]:
        """The matrix in parts of so many rows (or, with ``axis=1``, columns): their ids, and the part in CSR (or
        CSC). Parts without a value come, too. Where the memory counts, not the number of rows, :meth:`batches` reads
        each value once."""
        for ids, asked in self._blocks(size, rows, columns, axis):
            part = self.to_scipy(*asked)
            yield ids, part if axis == 0 else part.tocsc()

    def block_tables(
        self, size: int, rows: Wanted = None, columns: Wanted = None, axis: int = 0
    ) -> Iterator[tuple[AnyArray, Any]]:
        """As :meth:`blocks`, but each part is a table of pyarrow with ``soma_dim_0``, ``soma_dim_1`` and
        ``soma_data``."""
        arrow = needed("pyarrow", "pyarrow", "Tables")
        for ids, asked in self._blocks(size, rows, columns, axis):
            yield ids, arrow.table(self.read(*asked))

    def _blocks(
        self, size: int, rows: Wanted, columns: Wanted, axis: int
    ) -> Iterator[tuple[AnyArray, tuple[Wanted, Wanted]]]:
        if axis not in (0, 1) or size < 1:
            raise QueryError(f"blocks are of at least one row (axis=0) or column (axis=1), not size={size}, axis={axis}")
        own = _Axis((rows, columns)[axis], self._two()[axis])
        for first in range(0, own.size, size):
            ids = own.ids(first, min(first + size, own.size))
            yield ids, (ids, columns) if axis == 0 else (rows, ids)

    def _rows(self, part: list[AnyArray], first: int, end: int, axes: list[_Axis]) -> Any:
        matrix = _csr([(part[0] - part[0].dtype.type(first), part[1], part[2])], end - first, axes[1].size, self._dtype())
        return axes[0].ids(first, end), matrix

    def _two(self) -> tuple[int, ...]:
        if len(self.shape) != 2:
            raise QueryError(f"{self.uri} has {len(self.shape)} axes: only matrices with two become scipy's; use read() or stream()")
        return self._extents()

    def _dtype(self) -> Any:
        return number_dtype(self.array.schema.attribute(DATA).datatype)

    def _placed(self, batch: Batch | None, axes: list[_Axis]) -> tuple[AnyArray, ...]:
        """The rows, columns and values of a batch: positions in the result."""
        if batch is None:
            return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, self._dtype())
        cells = to_numpy(batch._core)
        names = [dimension.name for dimension in self.array.schema.dimensions]
        return (*(axis.positions(cells.pop(name)) for axis, name in zip(axes, names)), cells[DATA])


class DenseMatrix(_OfArray):
    """A matrix that has all its values."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and columns."""
        return self.array.schema.shape

    def read(self, *ids: Wanted) -> Read:
        """The values as a query. Each of ``ids`` is about one axis."""
        dimensions = self.array.schema.dimensions
        given = [(own.name, one) for own, one in zip(dimensions, ids) if one is not None]
        ranges = {name: id_slice(one) if isinstance(one, slice) else _ids(one) for name, one in given}
        return self.array.read([DATA], ranges=ranges)

    def to_numpy(self, *ids: Wanted) -> AnyArray:
        """The matrix, or some rows and columns of it."""
        axes = [_Axis(one, size) for one, size in zip([*ids, *[None] * (len(self.shape) - len(ids))], self.shape)]
        for axis in axes:
            axis.expect_inside()
        if all(axis.size for axis in axes):
            return self.read(*(axis.asked for axis in axes)).to_numpy()[DATA]
        return np.empty([axis.size for axis in axes], number_dtype(self.array.schema.attribute(DATA).datatype))


def _both(one: str | Condition, other: str | Condition | None) -> Condition:
    """A condition, and another in addition if there is one."""
    first = Condition(core_of(one))
    return first if other is None else first & Condition(core_of(other))


def _plain(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The table with numpy's types where nothing is missing: SOMA lets values be missing from every column. Real
    numbers have them always, since "not a number" says there that one is missing."""
    for name, column in frame.items():
        own = getattr(column.dtype, "numpy_dtype", None)
        if own is not None and own.kind == "f":
            frame[name] = column.to_numpy(own, na_value=np.nan)
        elif own is not None and not column.isna().any():
            frame[name] = column.astype(own)
    return frame
