"""Queries, and what they return."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from . import _tdb
from ._columns import Column
from ._condition import Where, core_of
from ._errors import QueryError, UnsupportedError
from ._schema import Dimension, Schema
from ._types import AnyArray, date_span, decode_value, is_text, number_dtype, ticks

if TYPE_CHECKING:
    import pandas
    import polars

    from ._array import Array

#: What is wanted of a dimension: a value, ``(first, last)`` with both ends, a slice without its end, or a list of values. A date as
#: text, such as ``"2020-02"`` or ``"2020-02-29"``, is all that is inside of it.
Wanted: TypeAlias = Any
Ranges: TypeAlias = Mapping[str, Union[Wanted, Sequence[Wanted]]]


class Read:
    """A query: which fields of which cells, in which order. It reads when it is asked for its result, every time anew.

    :meth:`Array.read` makes one. Results are dictionaries of numpy arrays, tables of pandas or polars, and anything that
    takes Arrow: ``pyarrow.table(read)``, ``polars.DataFrame(read)``, ``duckdb.sql("select * from read")``.
    """

    def __init__(self, array: Array, core: _tdb.Read, fields: Sequence[str] | None = None) -> None:
        self._array = array
        self._core = core
        self._fields = None if fields is None else list(fields)

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
        return to_numpy(self._core.collect())

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

    def fields(self, names: Sequence[str]) -> Read:
        """The same query of these fields: attributes, dimensions and labels."""
        return Read(self._array, self._core.fields(list(names)), names)

    def where(self, condition: Where) -> Read:
        """The same query of the cells that satisfy a condition. The others are not among the rows of tables; in grids of dense
        arrays, which have the shape of the ranges, they have the fill value."""
        return Read(self._array, self._core.condition(core_of(condition)), self._fields)

    def stream(self, memory: str | int = "256MB") -> Stream:
        """The cells in batches. The whole query, with the batch, stays inside the memory. Batches of dense arrays are grids for
        numpy, and tables, without what does not satisfy the condition, for Arrow and polars.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> sum(len(batch) for batch in A.read().stream(memory="16MB"))
        16
        """
        return Stream(self._array, self._core.memory(memory_text(memory)))

    def aggregate(self, *wanted: str) -> dict[str, Any]:
        """Aggregates, in the notation of ``tdb read --aggregate``: ``count``, ``sum(a)``, ``min(a)``, ``max(a)``,
        ``mean(a)``, ``null_count(a)``. ``None`` means that there is no value.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> A.read().aggregate("count", "mean(a)")
        {'count': 16, 'mean(a)': 8.5}
        """
        found = {}
        for name, datatype, data, overflowed in self._core.aggregate(", ".join(wanted)):
            if overflowed:
                raise OverflowError(f"{name} does not fit {datatype}")
            found[name] = None if data is None else decode_value(datatype, 1, data)
        return found

    def count(self) -> int:
        """The number of cells."""
        return int(self.aggregate("count")["count"])

    def explain(self) -> dict[str, Any]:
        """What the query would read, and what it can skip, as ``tdb explain --json`` says it.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> A.read().explain()["cells"]
        16
        """
        found: dict[str, Any] = json.loads(self._core.explain())
        return found

    def partitions(self, count: int) -> list[Read]:
        """The query in parts of about equal cost, at most so many. Each is a query of its own, and can be pickled."""
        return [Read(self._array, part, self._fields) for part in self._core.partitions(count)]

    def __getitem__(self, key: Any) -> Any:
        """The cells of a box, as :meth:`Array.__getitem__` returns them."""
        core, single = select(self._core, self._array.schema, key)
        cells = to_numpy(core.collect())
        if self._array.schema.dense:
            drop = tuple(0 if one else slice(None) for one in single)
            for axis, (one, dimension) in enumerate(zip(single, self._array.schema.dimensions)):
                # A range outside has no cells, but a single coordinate leaves no axis that could be empty.
                if one and any(values.shape[axis] == 0 for values in cells.values()):
                    raise QueryError(f'the coordinate of dimension "{dimension.name}" lies outside its domain')
            cells = {name: values[drop] for name, values in cells.items()}
            if len(cells) == 1:
                return next(iter(cells.values()))
        return cells

    def __dlpack__(self, **how: Any) -> object:
        """One field of numbers without nulls, for everything that takes DLPack: ``torch.from_dlpack(A.read(fields="a"))``.

        >>> np.from_dlpack(tdb.open(fixtures / "quickstart").read(ranges={"rows": 1}))
        array([[1, 2, 3, 4]], dtype=int32)
        """
        cells = to_numpy(self._core.collect())
        if len(cells) != 1:
            raise BufferError(f"DLPack has one field, but the query has {len(cells)}: choose one with fields=")
        ((name, values),) = cells.items()
        if isinstance(values, np.ma.MaskedArray) or values.dtype.kind not in "iufb":
            raise BufferError(f"field {name!r}: DLPack has neither nulls nor dates, texts and bytes")
        return values.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The memory of the processor."""
        return 1, 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.arrow_stream().__arrow_c_stream__(requested_schema)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._core.arrow_batch().__arrow_c_array__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process needs: the location and what is asked for, but neither keys nor credentials."""
        return _read_again, (self._array.uri, self._core.describe(self._array.uri), self._fields)

    def __repr__(self) -> str:
        return f"Read of {self._array!r}"


def _read_again(uri: str, description: bytes, fields: list[str] | None) -> Read:
    from ._array import Array

    place = Array._place_of(uri, None, None, None)
    core = _tdb.Read.from_description(place, description)
    return Read(Array(place, core.array()), core, fields)


class Batch:
    """Some cells of a query."""

    def __init__(self, array: Array, core: _tdb.Cells) -> None:
        self._array = array
        self._core = core
        self._numpy: dict[str, AnyArray] | None = None

    def __len__(self) -> int:
        return len(self._core)

    def to_numpy(self) -> dict[str, AnyArray]:
        """The cells as arrays of numpy, by field. Their memory is that of the batch."""
        if self._numpy is None:
            self._length = len(self._core)
            self._numpy = to_numpy(self._core)
        return self._numpy

    def to_polars(self) -> polars.DataFrame:
        """The cells as a table of polars."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The cells for Arrow: a copy, because numpy may share the memory of the batch. A whole :class:`Stream` is handed to
        Arrow without copies."""
        return self._core.to_arrow(self._array._core, False).__arrow_c_array__(requested_schema)


class Stream(Iterator[Batch]):
    """The cells of a query in batches: an iterator, an asynchronous iterator, and a stream of Arrow.

    ``pyarrow.RecordBatchReader.from_stream(stream)`` takes the whole stream without copies.
    """

    def __init__(self, array: Array, core: _tdb.Read) -> None:
        self._array = array
        self._read = core
        self._batches: _tdb.Batches | None = None
        self._handed_over = False

    def _begun(self) -> _tdb.Batches:
        if self._handed_over:
            raise QueryError("this stream was handed over to Arrow")
        if self._batches is None:
            self._batches = self._read.batches()
        return self._batches

    def __next__(self) -> Batch:
        batch = self._begun().next()
        if batch is None:
            raise StopIteration
        return Batch(self._array, batch)

    def __iter__(self) -> Stream:
        return self

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self._asynchronous()

    async def _asynchronous(self) -> AsyncIterator[Batch]:
        batches = self._begun()
        while (batch := await asyncio.to_thread(batches.next)) is not None:
            yield Batch(self._array, batch)

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
        return self._read.arrow_stream().__arrow_c_stream__(requested_schema)


def to_numpy(cells: _tdb.Cells) -> dict[str, AnyArray]:
    """All columns as arrays of numpy."""
    shape, order = cells.shape()
    columns = [Column(parts) for parts in cells.take_columns()]
    own = None if shape is None else tuple(shape)
    return {column.name: column.to_numpy(own, order) for column in columns}


def memory_text(memory: str | int) -> str:
    """A limit of memory as a text: a number of bytes, or a number with a unit, such as ``256MB`` or ``64MiB``."""
    return str(memory)


def coordinate(dimension: Dimension, value: Any) -> Any:
    """A coordinate as the extension module takes it."""
    dtype = number_dtype(dimension.datatype)
    if dtype is not None and dtype.kind in "mM":
        return ticks(value, dtype)
    return value.item() if isinstance(value, np.generic) else value


def span(dimension: Dimension, value: Any) -> tuple[Any, Any]:
    """The first and the last coordinate of what is wanted: a date as text is all that is inside of it, another value is itself."""
    dtype = number_dtype(dimension.datatype)
    if not isinstance(value, str) or dtype is None or dtype.kind != "M":
        own = coordinate(dimension, value)
        return own, own
    return date_span(dimension.datatype, value)


def add_range(read: _tdb.Read, dimension: Dimension, wanted: Wanted) -> _tdb.Read:
    """The query with what is wanted of a dimension: see :data:`Wanted`."""
    if isinstance(wanted, slice):
        return _add_slice(read, dimension, wanted)
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise QueryError(f"dimension {dimension.name!r}: (first, last) is expected, not {wanted!r}")
        low, high = (None if end is None else (span(dimension, end)[at], False) for at, end in enumerate(wanted))
        return read.range(dimension.name, low, high)
    if _is_mask(wanted):
        raise QueryError(f"dimension {dimension.name!r}: coordinates are expected, not booleans: np.flatnonzero makes positions of a mask")
    if isinstance(wanted, (list, range, np.ndarray)):
        ranges = [one for one in wanted if isinstance(one, (tuple, slice))]
        if not ranges and not any(isinstance(one, str) for one in wanted):
            return read.points(dimension.name, [coordinate(dimension, one) for one in wanted])
        if not ranges:
            return _of_spans(read, dimension, [span(dimension, one) for one in wanted])
        for one in wanted:
            read = add_range(read, dimension, one)
        return read
    return _of_spans(read, dimension, [span(dimension, wanted)])


def _of_spans(read: _tdb.Read, dimension: Dimension, spans: list[tuple[Any, Any]]) -> _tdb.Read:
    """The query of these coordinates, each from a first to a last one."""
    if all(first == last for first, last in spans):
        return read.points(dimension.name, [first for first, _ in spans])
    for first, last in spans:
        read = read.range(dimension.name, (first, False), (last, False))
    return read


def _is_mask(wanted: Any) -> bool:
    """Whether these are booleans, which Python would also take for the numbers 0 and 1."""
    if isinstance(wanted, (np.ndarray, np.generic)):
        return wanted.dtype == bool
    return isinstance(wanted, bool) or (isinstance(wanted, list) and bool(wanted) and isinstance(wanted[0], (bool, np.bool_)))


def _add_slice(read: _tdb.Read, dimension: Dimension, wanted: slice) -> _tdb.Read:
    if wanted.step not in (None, 1):
        raise UnsupportedError(f"dimension {dimension.name!r}: slices with a step are not supported; give a list of values")
    if wanted.start is None and wanted.stop is None:
        return read
    low = None if wanted.start is None else (span(dimension, wanted.start)[0], False)
    # No text is the last one before another text, so the end of a slice of texts belongs to it.
    excluded = not is_text(dimension.datatype)
    high = None if wanted.stop is None else (span(dimension, wanted.stop)[0], excluded)
    return read.range(dimension.name, low, high)


def keys(schema: Schema, key: Any) -> list[Any]:
    """What is wanted of each dimension."""
    given = list(key) if isinstance(key, tuple) else [key]
    if any(one is Ellipsis for one in given):
        at = next(at for at, one in enumerate(given) if one is Ellipsis)
        missing = schema.ndim - len(given) + 1
        given[at : at + 1] = [slice(None)] * max(missing, 0)
    if len(given) > schema.ndim:
        raise IndexError(f"{len(given)} indices for {schema.ndim} dimensions")
    return given + [slice(None)] * (schema.ndim - len(given))


def _of_mask(schema: Schema, axis: int, mask: Any) -> list[Any]:
    """The coordinates that a mask chooses, which has an item for each."""
    (low, _), size = schema._ends()[axis], schema.shape[axis]
    if len(mask) != size:
        raise IndexError(f"dimension {schema.dimensions[axis].name!r}: the mask has {len(mask)} items for {size} coordinates")
    first = low if isinstance(low, (np.datetime64, np.timedelta64)) else int(low)
    return [first + int(at) for at in np.flatnonzero(mask)]


def select(read: _tdb.Read, schema: Schema, key: Any) -> tuple[_tdb.Read, list[bool]]:
    """The query of a box, and for which dimensions a single coordinate was given."""
    given = keys(schema, key)
    for at, (dimension, one) in enumerate(zip(schema.dimensions, given)):
        if isinstance(one, tuple):
            raise IndexError(f"dimension {dimension.name!r}: a slice, a value or a list of values is expected")
        if not isinstance(one, (np.ndarray, np.generic)) and hasattr(one, "__array__"):
            one = given[at] = np.asarray(one)
        if _is_mask(one) and np.ndim(one) == 1:
            one = given[at] = _of_mask(schema, at, one)
        read = add_range(read, dimension, one)
    return read, [_is_single(dimension, one) for dimension, one in zip(schema.dimensions, given)]


def _is_single(dimension: Dimension, one: Any) -> bool:
    if isinstance(one, (slice, list, range, np.ndarray)):
        return False
    first, last = span(dimension, one) if isinstance(one, str) else (None, None)
    return first == last
