"""Tables of pandas as those of Arrow, in the types that experiments have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ...._needs import needed
from ..._frames import _MAX_CATEGORIES, _column, table_of

if TYPE_CHECKING:
    import pandas

#: The most categories of texts that stay categories.
COLUMN_DECAT_THRESHOLD = _MAX_CATEGORIES


def df_to_arrow_table(df: pandas.DataFrame) -> pa.Table:
    """The columns of a table, without its index."""
    own = needed("pandas", "pandas", "Tables")
    return pa.table({str(name): _column(pa, own, column, f"column {name!r}") for name, column in df.items()})


def df_to_arrow_schema(df: pandas.DataFrame, default_index_name: str) -> pa.Schema:
    """The schema of a table with its index, which has this name if it has none of its own."""
    fields = list(table_of(named(df, default_index_name), default_index_name, "the table").columns.schema)
    return pa.schema([pa.field("soma_joinid", pa.int64(), nullable=False), *fields])


def named(frame: pandas.DataFrame, name: str) -> pandas.DataFrame:
    """A table whose index has no name but which has a column of ids: that is the index then, and the other is dropped."""
    if name in frame.columns and frame.index.name in (None, "index"):
        return frame.set_index(name).rename_axis(None)
    return frame


__all__ = ["COLUMN_DECAT_THRESHOLD", "df_to_arrow_schema", "df_to_arrow_table"]
