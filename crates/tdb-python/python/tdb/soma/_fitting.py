"""Rows that come to a table: which rows of it they are, and its columns in its types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import Array
from .._errors import QueryError
from .._schema import Attribute
from .._types import number_dtype
from ._arrays import DataFrame
from ._axes import JOINID, index_of
from ._frames import Table, values_of

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]


def id_column(table: DataFrame, asked: str | None, axis: str) -> str:
    """The column that has the names of the rows."""
    usual = "obs_id" if axis == "obs" else "var_id"
    found = asked or index_of(table.meta) or usual
    if found not in table.columns:
        raise QueryError(f"{table.uri} has no column {found!r}: say with {usual} which one has the names (of {', '.join(table.columns)})")
    return found


def renamed(table: Table, column: str) -> Table:
    """The table with the column of names under the name that it has in the experiment."""
    names = table.columns.column_names
    if column in names:
        kept = [name for name in names if name == column or name != table.index or table.own_name]
        return Table(table.columns.select(kept), column, True)
    renamed = [column if name == table.index else name for name in names]
    return Table(table.columns.rename_columns(renamed), column, True)


def fitted(array: Array, rows: pyarrow.Table, what: str, partly: bool = False) -> tuple[pyarrow.Table, dict[str, Sequence[Any]]]:
    """Rows with all columns of a table in the types that they have there, and the values that its enumerations lack.
    ``partly`` leaves out the columns that the rows do not have; without it, they are null."""
    import pyarrow

    known = [one.name for one in array.schema.attributes]
    for name in rows.column_names:
        if name not in known:
            raise QueryError(f"{what}: column {name!r} is not in the experiment (it has {', '.join(known)}): update() adds columns")
    columns, extended = {}, {}
    for own in array.schema.attributes:
        if own.name == JOINID or (partly and own.name not in rows.column_names):
            continue
        kind = arrow_type_of(array, own)
        if own.name not in rows.column_names:
            if not own.nullable:
                raise QueryError(f"{what}: column {own.name!r} is missing, and in the experiment it cannot be null")
            columns[own.name] = pyarrow.nulls(len(rows), kind)
            continue
        values = rows[own.name].combine_chunks()
        found = converted(values, kind, f"{what}: column {own.name!r}")
        if found.null_count and not own.nullable:
            if not pyarrow.types.is_floating(kind):
                missing = f"{found.null_count} of {len(found)} values are missing, and in the experiment none can be"
                raise QueryError(f"{what}: column {own.name!r}: {missing}")
            # What pandas took for a missing one.
            found = found.fill_null(float("nan"))
        columns[own.name] = found
        if own.enumeration is not None:
            more = _missing(array, own.enumeration, columns[own.name])
            if more:
                extended[own.enumeration] = more
    return pyarrow.table(columns), extended


def arrow_type_of(array: Array, attribute: Attribute) -> Any:
    """The type of Arrow of a column."""
    import pyarrow

    def plain(datatype: str) -> Any:
        if datatype in ("CHAR", "BLOB"):
            return pyarrow.large_binary()
        dtype = number_dtype(datatype)
        return pyarrow.large_string() if dtype is None else pyarrow.from_numpy_dtype(dtype)

    kind = plain(attribute.datatype)
    if attribute.enumeration is None:
        return kind
    datatype, _, ordered = array._enumeration(attribute.enumeration)
    return pyarrow.dictionary(kind, plain(datatype), ordered)


def converted(values: Any, kind: Any, what: str) -> Any:
    """Values of Arrow in another type, if it has them all."""
    import pyarrow

    if values.type == kind:
        return values
    try:
        if pyarrow.types.is_dictionary(values.type):
            if pyarrow.types.is_dictionary(kind):
                listed = values.dictionary.cast(kind.value_type)
                return pyarrow.DictionaryArray.from_arrays(values.indices.cast(kind.index_type), listed, ordered=kind.ordered)
            values = values.dictionary_decode()
        if pyarrow.types.is_floating(values.type) and pyarrow.types.is_floating(kind):
            return _rounded(values, kind, what)
        if pyarrow.types.is_dictionary(kind):
            found = values.cast(kind.value_type).dictionary_encode()
            return pyarrow.DictionaryArray.from_arrays(found.indices.cast(kind.index_type), found.dictionary, ordered=kind.ordered)
        return values.cast(kind)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise QueryError(f"{what} has the type {values.type}, but in the experiment it is {kind}: {error}") from error


def _rounded(values: Any, kind: Any, what: str) -> Any:
    """Real numbers in another type of them. To Arrow, those that are too large for it are infinite there."""
    from pyarrow import compute  # type: ignore[import-untyped, unused-ignore]

    found = values.cast(kind)
    lost = compute.and_(compute.is_inf(found), compute.is_finite(values))
    if compute.any(lost).as_py():
        raise QueryError(f"{what} has {values.filter(lost)[0]}, which is more than {kind} has, the type in the experiment")
    return found


def _missing(array: Array, name: str, values: Any) -> Sequence[Any]:
    """The values of a dictionary that an enumeration does not have."""
    stored = array._enumeration(name)[1].tolist()
    listed = values_of(values.dictionary)
    # "Not a number" is equal to no other.
    plain = [_comparable(one) for one in (listed.tolist() if isinstance(listed, np.ndarray) else listed)]
    known = {_comparable(one) for one in stored}
    return [one for one, own in zip(listed, plain) if own is not None and own not in known]


def _comparable(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and value != value else value
