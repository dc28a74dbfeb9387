"""Tables of pandas as SOMA's tables: with ids, without an index, and with the types that SOMA has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tdb
from .._array import Array
from .._errors import QueryError
from .._needs import needed
from .._types import AnyArray, Time, milliseconds
from ._axes import INDEX, JOINID
from ._create import create_dataframe

if TYPE_CHECKING:
    import pandas
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

#: The most categories of texts that are kept as an enumeration; ``tiledbsoma`` has the same threshold.
_MAX_CATEGORIES = 4096


@dataclass(frozen=True)
class Table:
    """A table without ids: its columns, the name of the column that was the index, and whether that name was its own."""

    columns: pyarrow.Table
    index: str
    own_name: bool

    @property
    def metadata(self) -> dict[str, Any]:
        """What the metadata says of the index."""
        return {INDEX: json.dumps(self.index if self.own_name else None)}

    def ids(self, column: str) -> list[str]:
        """The values of the column that names the rows, as texts."""
        if column not in self.columns.column_names:
            raise QueryError(f"the table has no column {column!r} (it has {', '.join(self.columns.column_names)})")
        return [str(one) for one in self.columns[column].to_pylist()]


def table_of(frame: pandas.DataFrame, named: str | None, what: str) -> Table:
    """A table of pandas without its index. An index that has a name becomes the column of that name; one without, or called
    ``index``, the column ``named`` (of ``uns``: ``index``)."""
    pandas = needed("pandas", "pandas", "Tables")
    arrow = needed("pyarrow", "pyarrow", "Writing SOMA")
    if isinstance(frame.index, pandas.MultiIndex) or frame.columns.nlevels > 1:
        raise QueryError(f"{what}: its index or its columns have several levels, and SOMA has one")
    own = frame.index.name
    index = str(own) if own is not None and own != "index" else named or "index"
    names = [str(name) for name in frame.columns]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise QueryError(f"{what}: two columns have the name {name!r}: rename one")
    columns: dict[str, Any] = {}
    if index not in names:
        columns[index] = _column(arrow, pandas, frame.index.to_series(), f"{what}: index")
    elif [str(one) for one in frame[index]] != [str(one) for one in frame.index]:
        raise QueryError(f"{what}: its index becomes the column {index!r}, which it already has with other values: rename one")
    for name, (_, column) in zip(names, frame.items()):
        # The ids are those of this experiment, not those of the one that the table comes from.
        if name != JOINID:
            columns[name] = _column(arrow, pandas, column, f"{what}: column {name!r}")
    return Table(arrow.table(columns), index, own is not None and own != "index")


def _column(arrow: Any, pandas: Any, column: Any, what: str) -> Any:
    """A column as an array of Arrow, in a type that SOMA has."""
    if column.dtype == np.float16:
        column = column.astype(np.float32)
    if isinstance(column.dtype, pandas.CategoricalDtype):
        categories = column.cat.categories
        texts = len(categories) == 0 or categories.dtype.kind not in "iufbM"
        if texts and len(categories) > _MAX_CATEGORIES:
            column = column.astype(categories.dtype)
    try:
        made = arrow.Array.from_pandas(column)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError) as error:
        raise QueryError(f"{what}: {error}: make it texts (astype(str)) or numbers") from error
    if isinstance(made, arrow.ChunkedArray):
        made = made.combine_chunks()
    kind = made.type
    if arrow.types.is_dictionary(kind):
        values = arrow.large_string() if arrow.types.is_null(kind.value_type) else kind.value_type
        # Room for the categories that are appended later.
        small = kind.index_type in (arrow.int8(), arrow.int16())
        return made.cast(arrow.dictionary(arrow.int32() if small else kind.index_type, values, kind.ordered))
    if arrow.types.is_null(kind):
        return made.cast(arrow.large_string())
    if kind == arrow.string_view():
        return made.cast(arrow.large_string())
    return made


def create_table(uri: str, table: Table, size: int, **how: Any) -> Array:
    """Creates the table for so many rows, with its enumerations; ``how`` has keywords of :func:`create_dataframe`."""
    import pyarrow

    fields = [pyarrow.field(JOINID, pyarrow.int64(), nullable=False), *table.columns.schema]
    metadata = {**table.metadata, **how.pop("metadata", {})}
    return create_dataframe(
        uri,
        pyarrow.schema(fields),
        domain=[(0, max(size, 1) - 1)],
        enumerations=categories_of(table.columns),
        metadata=metadata,
        **how,
    )


def categories_of(columns: pyarrow.Table) -> dict[str, Sequence[Any]]:
    """The categories of the columns that have some, in their order."""
    found: dict[str, Sequence[Any]] = {}
    for name in columns.column_names:
        kind = columns.schema.field(name).type
        if hasattr(kind, "index_type"):
            column = columns[name].unify_dictionaries()
            found[name] = values_of(column.chunk(0).dictionary) if column.num_chunks else []
    return found


def values_of(values: Any) -> Sequence[Any]:
    """Values of Arrow as those of an enumeration."""
    if str(values.type).removeprefix("large_") in ("string", "binary"):
        listed: Sequence[Any] = values.to_pylist()
        return listed
    numbers: Sequence[Any] = values.to_numpy(zero_copy_only=False)
    return numbers


def write_table(array: Array, columns: pyarrow.Table, ids: AnyArray, memory: int, at: Time | None) -> None:
    """Writes rows with their ids."""
    if len(columns):
        whole = columns.add_column(0, JOINID, [np.ascontiguousarray(ids, np.int64)])
        time = None if at is None else milliseconds(at)
        _tdb.write_arrow(array._place, whole, [], memory, "refuse", time)
