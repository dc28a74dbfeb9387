"""Cells that are written: tables in the types of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

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
        _extend(array, cast)
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


def _extend(array: SOMAArray, batch: pa.RecordBatch) -> None:
    """Appends to enumerations what the columns of a batch have beyond them."""
    wanted = {}
    for column, field in zip(batch.columns, batch.schema):
        if not pa.types.is_dictionary(field.type):
            continue
        if column.dictionary.null_count:
            raise SOMAError(f"column {field.name!r}: null values are not supported among the values of an enumeration")
        new = enumerations.missing(array, field.name, column.dictionary)
        if len(new):
            wanted[field.name] = new
    if wanted:
        enumerations.extended(array, wanted)


__all__ = ["write_table"]
