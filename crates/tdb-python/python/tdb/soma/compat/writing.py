"""Cells that are written: tables in the types of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from ..._types import AnyArray, number_dtype

from . import enumerations
from .exceptions import SOMAError, translated

if TYPE_CHECKING:
    from .soma_array import SOMAArray


def write_table(array: SOMAArray, values: pa.Table, sort_coords: bool) -> None:
    """Writes a table, each of its batches on its own: a later one replaces what an earlier one wrote. What is sorted already is written
    as one, because its batches belong together."""
    schema = array.schema
    for name in values.schema.names:
        if name not in schema.names:
            raise ValueError(f"Cannot write data. Field '{name}' in the input data is not a column in this {array.soma_type}.")
    target = pa.schema([schema.field(name) for name in values.schema.names])
    if not sort_coords:
        values = values.combine_chunks()
    for batch in values.to_batches():
        cast = _cast(batch, target)
        if not sort_coords:
            _expect_sorted(array, cast)
        _extend(array, cast, batch.schema)
        if batch.num_rows:
            with translated(array.uri):
                array._array.write(pa.Table.from_batches([cast]), at=array._timestamp_ms)


def _cast(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    columns = []
    for column, field in zip(batch.columns, target):
        if not field.nullable and column.null_count:
            raise ValueError(f"Casting field {field.name!r} with null values to non-nullable")
        columns.append(_column(column, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _column(column: Any, wanted: Any) -> Any:
    """A column in another type, if it has all its values."""
    if column.type == wanted:
        return column
    if not pa.types.is_dictionary(wanted):
        return column.cast(wanted)
    if not pa.types.is_dictionary(column.type):
        column = column.cast(wanted.value_type).dictionary_encode()
    if column.dictionary.type != wanted.value_type or column.indices.type != wanted.index_type:
        indices, values = column.indices.cast(wanted.index_type), column.dictionary.cast(wanted.value_type)
        return pa.DictionaryArray.from_arrays(indices, values, ordered=wanted.ordered)
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary, ordered=wanted.ordered)


def _extend(array: SOMAArray, batch: pa.RecordBatch, given: pa.Schema) -> None:
    """Appends to enumerations what the columns of a batch have beyond them."""
    wanted = {}
    for column, field in zip(batch.columns, batch.schema):
        if not pa.types.is_dictionary(field.type):
            continue
        if column.dictionary.null_count:
            raise SOMAError(f"column {field.name!r}: null values are not supported among the values of an enumeration")
        values = column.dictionary
        if not getattr(given.field(field.name).type, "ordered", False):
            # Only those that cells have: others may never be needed. Where they have an order, all of them are.
            values = values.take(pc.unique(column.indices.drop_null()).sort())
        new = enumerations.missing(array, field.name, values)
        if len(new):
            wanted[field.name] = new
    if wanted:
        enumerations.extended(array, wanted)


def _expect_sorted(array: SOMAArray, batch: pa.RecordBatch) -> None:
    """Refuses cells that are not in the order of tiles, and of cells in each: whoever says that they are may be wrong about more."""
    tiles: list[AnyArray] = []
    coordinates: list[AnyArray] = []
    for dimension in array._array.schema.dimensions:
        dtype = number_dtype(dimension.datatype)
        if dtype is None or dtype.kind not in "iu" or dimension.name not in batch.schema.names or dimension.domain is None:
            return
        own = batch.column(dimension.name).to_numpy()
        coordinates.append(own)
        tiles.append((own - int(dimension.domain[0])) // int(dimension.tile or 1))
    order = np.lexsort([*coordinates[::-1], *tiles[::-1]])
    wrong = np.flatnonzero(order[1:] < order[:-1])
    if len(wrong):
        after, before = (tuple(int(own[order[wrong[0] + at]]) for own in coordinates) for at in (1, 0))
        raise SOMAError(f"Write failed; Coordinates {before} succeed {after} in the global order")


__all__ = ["write_table"]
