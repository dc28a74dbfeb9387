"""Results in batches: tables, and tensors of coordinates and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ..._read import Read
from .conditions import condition_of
from .coordinates import narrowed
from .core import IOfN, ResultOrder, order_of
from .exceptions import SOMAError, translated

if TYPE_CHECKING:
    from .soma_array import SOMAArray


def check_unpartitioned(partitions: Any) -> None:
    """Refuses a part of a read, because nothing here cuts reads."""
    if partitions and partitions != IOfN(0, 1):
        raise ValueError("Paritioned reads are not currently supported")


def order_name(array: SOMAArray, wanted: Any) -> str:
    """The name of an order in tdb. Without a choice, sparse arrays have that in which cells are stored."""
    order = order_of(wanted)
    if order == ResultOrder.ROW_MAJOR:
        return "row-major"
    if order == ResultOrder.COLUMN_MAJOR:
        return "col-major"
    return "global-order" if array._array.schema.sparse else "row-major"


class TableReadIter(Iterator[pa.Table]):
    """The results as tables of Arrow, at least one."""

    def __init__(
        self,
        array: SOMAArray,
        coords: Any,
        names: Sequence[str] | None,
        order: Any,
        value_filter: str | None,
        platform_config: Any = None,
    ) -> None:
        whole = array.schema
        chosen = list(names) if names else list(whole.names)
        condition = None
        if value_filter is not None:
            condition, named = condition_of(value_filter, whole)
            # As there, the columns of the condition are in the result, too.
            chosen += [name for name in named if name not in chosen]
        unknown = [name for name in chosen if name not in whole.names]
        if unknown:
            raise SOMAError(f"there is no column {unknown[0]!r} (there are {', '.join(whole.names)})")
        self._schema = pa.schema([whole.field(name) for name in chosen])
        self._array = array
        with translated(array.uri):
            read = array._array.read(chosen, order=order_name(array, order))
            core = narrowed(read._core, array, coords)
            if condition is not None:
                core = core.condition(condition._core)
        context = array.context._of_call(platform_config)
        _ = context._threads
        memory = context._memory
        batch = min(context._batch_bytes, memory // 4)
        self._read = Read(array._array, core.memory(str(memory), str(batch)), chosen)
        self._bytes = batch
        self._batches: Iterator[Any] | None = None
        self._any = False

    def __next__(self) -> pa.Table:
        with translated(self._array.uri):
            if self._batches is None:
                self._batches = _cut(pa.RecordBatchReader.from_stream(self._read._core.arrow_stream()), self._bytes)
            for batch in self._batches:
                if batch.num_rows:
                    self._any = True
                    return self._table([batch])
        if not self._any:
            self._any = True
            return self._empty()
        raise StopIteration

    def concat(self) -> pa.Table:
        """What is left of the results in one table."""
        tables = list(self)
        return pa.concat_tables(tables) if tables else self._empty()

    def _table(self, batches: list[Any]) -> pa.Table:
        own = [pa.RecordBatch.from_arrays([_as(one, field.type) for one, field in zip(batch.columns, self._schema)], schema=self._schema)
               for batch in batches]
        return pa.Table.from_batches(own, schema=self._schema)

    def _empty(self) -> pa.Table:
        columns = []
        for field in self._schema:
            if pa.types.is_dictionary(field.type):
                values = self._array._enumeration_values(field.name)
                columns.append(pa.DictionaryArray.from_arrays(pa.array([], field.type.index_type), values, ordered=field.type.ordered))
            else:
                columns.append(pa.array([], field.type))
        return pa.Table.from_batches([pa.RecordBatch.from_arrays(columns, schema=self._schema)], schema=self._schema)


def _cut(batches: Any, size: int) -> Iterator[Any]:
    """Batches of at most about so many bytes: those of tdb have at least a tile. The parts share their memory."""
    for batch in batches:
        rows = max(batch.num_rows * size // max(batch.nbytes, 1), 1)
        for first in range(0, batch.num_rows, rows):
            yield batch.slice(first, rows)


def _as(column: Any, wanted: Any) -> Any:
    return column if column.type == wanted else column.cast(wanted)


class SparseCOOTensorReadIter(Iterator[pa.SparseCOOTensor]):
    """The results as tensors of coordinates and values."""

    def __init__(self, tables: TableReadIter, shape: Sequence[int]) -> None:
        self._tables, self.shape = tables, tuple(shape)

    def __next__(self) -> pa.SparseCOOTensor:
        return self._tensor(next(self._tables))

    def concat(self) -> pa.SparseCOOTensor:
        """What is left of the results in one tensor."""
        return self._tensor(self._tables.concat())

    def _tensor(self, table: pa.Table) -> pa.SparseCOOTensor:
        coords = np.array([table.column(f"soma_dim_{at}").to_numpy() for at in range(len(self.shape))]).T
        return pa.SparseCOOTensor.from_numpy(table.column("soma_data").to_numpy(), coords, shape=self.shape)


__all__ = ["SparseCOOTensorReadIter", "TableReadIter"]
