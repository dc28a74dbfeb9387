"""The values of enumerated columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from .exceptions import SOMAError, translated

if TYPE_CHECKING:
    from .soma_array import SOMAArray


def values_of(array: SOMAArray, column: str) -> pa.Array:
    """The values that an enumerated column can have, in the order of their numbers."""
    own = array.schema.field(column).type
    name = array._array.schema.attribute(column).enumeration
    assert name is not None
    with translated(array.uri):
        found = array._array.enumeration(name)
    if pa.types.is_large_binary(own.value_type):
        found = [one.encode() if isinstance(one, str) else one for one in found]
    return pa.array(found, type=own.value_type)


def extended(array: SOMAArray, wanted: Mapping[str, pa.Array]) -> None:
    """Appends values to enumerations, which do not have them yet, all at once."""
    schema, changes = array.schema, {}
    for column, values in wanted.items():
        own = schema.field(column).type
        known = values_of(array, column)
        room = np.iinfo(own.index_type.to_pandas_dtype()).max
        if len(known) + len(values) > room + 1:
            raise SOMAError(
                f"column {column!r} has numbers of the type {own.index_type}, which are too few for {len(known) + len(values)} values"
            )
        if len(values):
            changes[array._array.schema.attribute(column).enumeration] = values.to_pylist()
    if changes:
        array._evolve(extend_enumerations=changes)


def missing(array: SOMAArray, column: str, values: pa.Array) -> pa.Array:
    """Those of some values that an enumeration does not have, in their order and each once."""
    known = set(_keys(values_of(array, column)))
    kept = []
    for at, key in enumerate(_keys(values)):
        if key is not None and key not in known:
            known.add(key)
            kept.append(at)
    return values.take(pa.array(kept, pa.int64()))


def _keys(values: pa.Array) -> list[Any]:
    """Values as something that equals itself, which "not a number" does not."""
    return ["nan" if isinstance(one, float) and one != one else one for one in values.to_pylist()]


__all__ = ["extended", "missing", "values_of"]
