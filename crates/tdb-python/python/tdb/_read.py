"""Queries, and what they return."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _tdb
from ._columns import Column, joined
from ._condition import Where, core_of
from ._coordinates import select
from ._errors import QueryError, UnsupportedError
from ._types import AnyArray, decode_value

if TYPE_CHECKING:
    import pandas
    import polars

    from ._array import Array

class Read:
    """A query: which fields of which cells, in which order. It reads when it is asked for its result, every time anew.

    :meth:`Array.read` makes one. Results are dictionaries of numpy arrays, tables of pandas or polars, and anything that
    takes Arrow: ``pyarrow.table(read)``, ``polars.DataFrame(read)``, ``duckdb.sql("select * from read")``.
    """

    def __init__(self, array: Array, core: _tdb.Read, fields: Sequence[str] | None = None, first: int | None = None) -> None:
        self._array = array
        self._core = core
        self._fields = None if fields is None else list(fields)
        #: How many of the first cells are wanted; ``None``: all.
        self._first = first

    def _with(self, core: _tdb.Read, fields: Sequence[str] | None = None) -> Read:
        """The same query with another core, of these fields or the same ones."""
        return Read(self._array, core, self._fields if fields is None else fields, self._first)

    @property
    def array(self) -> Array:
        """The array that is read."""
        return self._array

    def to_numpy(self) -> dict[str, AnyArray]:
        """The cells as arrays of numpy, by field.

        Cells of dense arrays have the shape of the ranges. Numbers, dates and times are not copied. Nullable fields are
        masked arrays; texts, bytes and lists are objects (``str``, ``bytes``, arrays), ``None`` where they are null.
        Fields with several values per cell have one more axis. Enumerated attributes are the numbers of their values.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> A.read(ranges={"rows": (1, 2), "cols": (2, 4)}).to_numpy()["a"]
        array([[2, 3, 4],
               [6, 7, 8]], dtype=int32)
        """
        if self._first is None:
            return to_numpy(self._core.collect())
        return {column.name: column.to_numpy() for column in self._columns()}

    def _columns(self) -> list[Column]:
        """The columns of the cells that are rows of a table."""
        if self._first is None:
            return [Column(parts) for parts in self._core.collect_rows().take_columns()]
        batches, cells = self._core.batches(self._first), 0
        found: list[list[Column]] = []
        # At least one batch, because it says what the columns are.
        while not found or cells < self._first:
            batch = batches.next()
            if batch is None:
                break
            rows = batch.take_rows()
            cells += len(rows)
            found.append([Column(parts) for parts in rows.take_columns()])
        batches.close()
        if not found:
            return [Column(parts) for parts in self._core.collect_rows().take_columns()]
        return [joined(parts).first(min(cells, self._first)) for parts in zip(*found)]

    def _whole(self, what: str) -> _tdb.Read:
        """The query, for what is not possible with a limit."""
        if self._first is not None:
            raise QueryError(f"{what} all cells of the query, so it has no limit: leave out limit=")
        return self._core

    def to_pandas(self, index: Sequence[str] | None = None) -> pandas.DataFrame:
        """The cells as a table of pandas, with the dimensions as columns. What does not satisfy the condition is not among them.

        Nullable numbers have pandas' types with missing values (``Int32``, …), enumerated attributes are categorical.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> A.read(ranges={"rows": 1, "cols": (1, 2)}).to_pandas()
           rows  cols  a
        0     1     1  1
        1     1     2  2
        """
        from ._pandas import to_pandas

        return to_pandas(self, index)

    def to_polars(self) -> polars.DataFrame:
        """The cells as a table of polars."""
        import polars

        return polars.DataFrame(self.with_dimensions())

    def head(self, n: int = 5) -> pandas.DataFrame:
        """The first cells as a table of pandas. No more is read than they need.

        >>> tdb.open(fixtures / "quickstart").read(where="a > 5").head(2)
           rows  cols  a
        0     2     2  6
        1     2     3  7
        """
        return self.limit(n).to_pandas()

    def export(self, file: str | os.PathLike[str], memory: str | int = "256MB") -> int:
        """Writes the cells to a file in batches, and returns their number. The file is what its name ends with: ``.csv``,
        ``.parquet`` or ``.arrow``. pyarrow writes it.

        >>> tdb.open(fixtures / "quickstart").read().export(scratch / "cells.parquet")
        16
        """
        from ._files import export

        return export(self, file, memory)

    def with_dimensions(self) -> Read:
        """The same query, with the dimensions as fields, unless fields were chosen."""
        if self._fields is not None or self._array.schema.sparse:
            return self
        return self.fields(self._array.schema.names)

    def fields(self, names: Sequence[str] | str) -> Read:
        """The same query of these fields: attributes, dimensions and labels."""
        names = [names] if isinstance(names, str) else list(names)
        for name in names:
            self._array._known(name)
        return self._with(self._core.fields(names), names)

    def limit(self, cells: int) -> Read:
        """The same query of the first so many cells, in its order. They are rows of a table: those of a dense array are in no
        box, and what does not satisfy the condition is not among them. No more is read than they need.

        >>> tdb.open(fixtures / "quickstart").read(fields="a").limit(6).to_numpy()
        {'a': array([1, 2, 3, 4, 5, 6], dtype=int32)}
        """
        if isinstance(cells, bool) or not isinstance(cells, (int, np.integer)) or cells < 0:
            raise QueryError(f"limit={cells!r}: a number of cells is expected")
        return Read(self._array, self._core, self._fields, int(cells))

    def where(self, condition: Where) -> Read:
        """The same query of the cells that satisfy a condition. The others are not among the rows of tables; in grids of dense
        arrays, which have the shape of the ranges, they have the fill value."""
        return self._with(self._core.condition(core_of(condition)))

    def stream(self, memory: str | int = "256MB") -> Stream:
        """The cells in batches. The whole query, with the batch, stays inside the memory. Batches of dense arrays are grids for
        numpy, and tables, without what does not satisfy the condition, for Arrow and polars.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> sum(len(batch) for batch in A.read().stream(memory="16MB"))
        16
        """
        return Stream(self._array, self._core.memory(memory_text(memory)), self._first)

    def aggregate(self, *wanted: str) -> dict[str, Any]:
        """Aggregates, in the notation of ``tdb read --aggregate``: ``count``, ``sum(a)``, ``min(a)``, ``max(a)``,
        ``mean(a)``, ``null_count(a)``. ``None`` means that there is no value.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> A.read().aggregate("count", "mean(a)")
        {'count': 16, 'mean(a)': 8.5}
        """
        found = {}
        for name, datatype, data, overflowed in self._whole("An aggregate is over").aggregate(", ".join(wanted)):
            if overflowed:
                raise OverflowError(f"{name} does not fit {datatype}")
            found[name] = None if data is None else decode_value(datatype, 1, data)
        return found

    def count(self) -> int:
        """The number of cells."""
        ((_, datatype, data, _),) = self._core.aggregate("count")
        cells = 0 if data is None else int(decode_value(datatype, 1, data))
        return cells if self._first is None else min(cells, self._first)

    def group_by(self, keys: Sequence[str] | str) -> GroupBy:
        """The cells of a sparse array in groups, whose values of these fields are equal: dimensions or attributes.

        >>> S = tdb.open(fixtures / "sql_stations")
        >>> S.read(where="id < -890").group_by("city").to_pandas("count", "max(beds)")
            city  count  max(beds)
        0   Oslo      1         30
        1  Praha      1         17
        2   oslo      1         61
        """
        return GroupBy(self, [keys] if isinstance(keys, str) else list(keys))

    def explain(self) -> dict[str, Any]:
        """What the query would read, and what it can skip, as ``tdb explain --json`` says it.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> A.read().explain()["cells"]
        16
        """
        found: dict[str, Any] = json.loads(self._whole("A plan is of").explain())
        return found

    def partitions(self, count: int) -> list[Read]:
        """The query in parts of about equal cost, at most so many. Each is a query of its own, and can be pickled."""
        return [self._with(part) for part in self._whole("Parts have").partitions(count)]

    def __getitem__(self, key: Any) -> Any:
        """The cells of a box, as :meth:`Array.__getitem__` returns them."""
        core, taken = select(self._whole("A box has"), self._array.schema, key)
        cells = to_numpy(core.collect())
        if self._array.schema.dense:
            for axis, (then, dimension) in enumerate(zip(taken, self._array.schema.dimensions)):
                # A range outside has no cells, but a single coordinate leaves no axis that could be empty.
                if then == 0 and any(values.shape[axis] == 0 for values in cells.values()):
                    raise QueryError(f'the coordinate of dimension "{dimension.name}" lies outside its domain')
            cells = {name: values[tuple(taken)] for name, values in cells.items()}
            if len(cells) == 1:
                return next(iter(cells.values()))
        return cells

    def __dlpack__(self, **how: Any) -> object:
        """One field of numbers without nulls, for everything that takes DLPack: ``torch.from_dlpack(A.read(fields="a"))``.

        >>> np.from_dlpack(tdb.open(fixtures / "quickstart").read(ranges={"rows": 1}))
        array([[1, 2, 3, 4]], dtype=int32)
        """
        cells = self.to_numpy()
        if len(cells) != 1:
            raise BufferError(f"DLPack has one field, but the query has {len(cells)}: choose one with fields=")
        ((name, values),) = cells.items()
        if isinstance(values, np.ma.MaskedArray) or values.dtype.kind not in "iufb":
            raise BufferError(f"field {name!r}: DLPack has neither nulls nor dates, texts and bytes")
        return values.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The memory of the processor."""
        return 1, 0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """The cells of one field for ``np.asarray``, in the shape of the ranges.

        >>> np.asarray(tdb.open(fixtures / "quickstart").read(ranges={"rows": 2}))
        array([[5, 6, 7, 8]], dtype=int32)
        """
        cells = self.to_numpy()
        if len(cells) != 1:
            raise TypeError(f"an array of numpy has one field, but the query has {', '.join(cells)}: choose one with fields=")
        ((name, values),) = cells.items()
        return plain(name, values, dtype, copy)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.arrow_stream(self._first).__arrow_c_stream__(requested_schema)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._core.arrow_batch(self._first).__arrow_c_array__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process needs: the location and what is asked for, but neither keys nor credentials."""
        return _read_again, (self._array.uri, self._core.describe(self._array.uri), self._fields, self._first)

    def __repr__(self) -> str:
        fields = "" if self._fields is None else f" fields {', '.join(self._fields)}"
        return f"<tdb.Read{fields}{'' if self._first is None else f' limit {self._first}'} of {self._array!r}>"


def _read_again(uri: str, description: bytes, fields: list[str] | None, first: int | None = None) -> Read:
    from ._array import Array

    place = Array._place_of(uri, None, None, None)
    core = _tdb.Read.from_description(place, description)
    return Read(Array(place, core.array()), core, fields, first)


class GroupBy:
    """A query whose cells are grouped: :meth:`Read.group_by` makes one."""

    def __init__(self, read: Read, keys: list[str]) -> None:
        self._read = read
        self._keys = keys

    def aggregate(self, *wanted: str) -> dict[str, AnyArray]:
        """The keys of each group, and its aggregates, in the notation of :meth:`Read.aggregate`, as arrays of numpy. The groups
        have no order. Without aggregates they are the distinct keys; enumerated ones are the numbers of their values.

        >>> S = tdb.open(fixtures / "sparse2d_rr")
        >>> found = S.read().group_by(S.schema.names[0]).aggregate("count")
        >>> int(found["count"].sum()) == S.read().count()
        True
        """
        return {column.name: column.to_numpy() for column in self._found(wanted)}

    def to_pandas(self, *wanted: str) -> pandas.DataFrame:
        """The same as a table of pandas, in the order of the keys."""
        from ._pandas import to_frame

        frame = to_frame(self._read.array, self._found(wanted))
        return frame.sort_values(self._keys, ignore_index=True) if self._keys else frame

    def _found(self, wanted: Sequence[str]) -> list[Column]:
        """The columns of the keys and of the aggregates."""
        for name in self._keys:
            self._read.array._known(name)
        if self._read.array.schema.dense:
            raise UnsupportedError("only cells of sparse arrays are grouped: read().to_pandas().groupby(…) groups those of a dense array")
        keys, values = self._read._whole("Groups have").group_by(self._keys, ", ".join(wanted))
        for parts, overflowed in values:
            if overflowed:
                raise OverflowError(f"{parts[0]} does not fit {parts[1]}")
        return [Column(parts) for parts in keys] + [Column(parts) for parts, _ in values]

    def __repr__(self) -> str:
        return f"<tdb.GroupBy {', '.join(self._keys)} of {self._read!r}>"


class Batch:
    """Some cells of a query."""

    def __init__(self, array: Array, core: _tdb.Cells, first: int | None = None) -> None:
        self._array = array
        self._core = core
        #: How many of the first cells are meant; ``None``: all.
        self._first = first
        self._numpy: dict[str, AnyArray] | None = None

    def __len__(self) -> int:
        return len(self._core) if self._first is None else min(len(self._core), self._first)

    def to_numpy(self) -> dict[str, AnyArray]:
        """The cells as arrays of numpy, by field. Their memory is that of the batch."""
        if self._numpy is None:
            if self._first is None:
                self._numpy = to_numpy(self._core)
            else:
                count = len(self)
                cells = [Column(parts).first(count) for parts in self._core.take_columns()]
                self._numpy = {column.name: column.to_numpy() for column in cells}
        return self._numpy

    def to_polars(self) -> polars.DataFrame:
        """The cells as a table of polars."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The cells for Arrow: a copy, because numpy may share the memory of the batch. A whole :class:`Stream` is handed to
        Arrow without copies."""
        return self._core.to_arrow(self._array._core, False, self._first).__arrow_c_array__(requested_schema)


class Stream(Iterator[Batch]):
    """The cells of a query in batches: an iterator, an asynchronous iterator, and a stream of Arrow.

    ``pyarrow.RecordBatchReader.from_stream(stream)`` takes the whole stream without copies.
    """

    def __init__(self, array: Array, core: _tdb.Read, first: int | None = None) -> None:
        self._array = array
        self._read = core
        self._first = first
        #: How many cells are still wanted; ``None``: all.
        self._left = first
        self._batches: _tdb.Batches | None = None
        self._handed_over = False

    def _begun(self) -> _tdb.Batches:
        if self._handed_over:
            raise QueryError("this stream was handed over to Arrow")
        if self._batches is None:
            self._batches = self._read.batches(self._first)
        return self._batches

    def __next__(self) -> Batch:
        batch = self._next()
        if batch is None:
            raise StopIteration
        return batch

    def _next(self) -> Batch | None:
        """The next batch; ``None`` after the last one that is wanted."""
        batches = self._begun()
        found = None if self._left == 0 else batches.next()
        if found is None:
            return None
        if self._left is None:
            return Batch(self._array, found)
        batch = Batch(self._array, found.take_rows(), self._left)
        self._left -= len(batch)
        return batch

    def __iter__(self) -> Stream:
        return self

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self._asynchronous()

    async def _asynchronous(self) -> AsyncIterator[Batch]:
        self._begun()
        while (batch := await asyncio.to_thread(self._next)) is not None:
            yield batch

    @property
    def fraction(self) -> float:
        """The share of the query that was read, from 0 to 1."""
        return 0.0 if self._batches is None else self._batches.fraction() or 0.0

    def close(self) -> None:
        """Ends the stream, and frees what it holds."""
        if self._batches is not None:
            self._batches.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self._batches is not None or self._handed_over:
            raise QueryError("this stream has begun: Arrow takes streams that have not")
        self._handed_over = True
        return self._read.arrow_stream(self._first).__arrow_c_stream__(requested_schema)


def to_numpy(cells: _tdb.Cells) -> dict[str, AnyArray]:
    """All columns as arrays of numpy."""
    shape, order = cells.shape()
    columns = [Column(parts) for parts in cells.take_columns()]
    own = None if shape is None else tuple(shape)
    return {column.name: column.to_numpy(own, order) for column in columns}


def plain(name: str, values: AnyArray, dtype: Any, copy: bool | None) -> AnyArray:
    """The cells of a field as ``np.asarray`` wants them, which knows no masks."""
    if copy is False:
        raise ValueError("the cells are read, so np.asarray always makes an array: leave out copy=False")
    if isinstance(values, np.ma.MaskedArray):
        nulls = np.ma.getmaskarray(values)
        if nulls.any() and values.dtype.kind not in "fmM":
            raise QueryError(
                f'field "{name}" is null in {int(nulls.sum())} cells, which numbers of the type {values.dtype} cannot say:'
                f' A.read(fields="{name}").to_numpy() has a masked array'
            )
        found = values.data
        if nulls.any():
            found[nulls] = np.nan if values.dtype.kind == "f" else np.array("NaT", values.dtype)
        values = found
    return values if dtype is None else values.astype(dtype)


def memory_text(memory: str | int) -> str:
    """A limit of memory as a text: a number of bytes, or a number with a unit, such as ``256MB`` or ``64MiB``."""
    return str(memory)
