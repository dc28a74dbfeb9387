"""Answers in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _tdb
from ._array import Array, Key, Storage, place
from ._errors import QueryError, UnsupportedError
from ._needs import needed
from ._read import memory_text
from ._types import Window, window

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

#: How to get what a build from source has only by wish.
NO_SQL = (
    "this build of tdb has no SQL: released wheels have it, and so has "
    'pip install ./crates/tdb-python --config-settings=build-args="--features sql"'
)


class SqlResult:
    """The answer of :func:`sql`. A query is answered each time its rows are asked for; they are the same, unless the query itself
    is about chance. Other statements have been carried out once, and the answer says how many rows they wrote.

    It is anything that takes Arrow: ``pyarrow.table(result)``, ``polars.DataFrame(result)``, ``tdb.from_arrow(uri, result, …)``.
    """

    def __init__(self, core: _tdb.Sql) -> None:
        self._core = core

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self._core.columns()]

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow."""
        table: pyarrow.Table = needed("pyarrow", "pyarrow", "tables of Arrow").table(self._core.collected())
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a table of pandas, by way of pyarrow. Nullable numbers have pandas' types with missing values (``Int64``, …)
        where some are missing."""
        package = needed("pandas", "pandas", "tables of pandas")
        table: Any = self.to_arrow()
        frame: pandas.DataFrame = table.to_pandas()
        for name, column in zip(table.column_names, table.columns):
            dtype = _nullable(package, str(column.type))
            if column.null_count and dtype is not None:
                frame[name] = column.to_pandas(types_mapper=lambda _, dtype=dtype: dtype)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The rows as a table of polars."""
        frame: polars.DataFrame = needed("polars", "polars", "tables of polars").DataFrame(self._core.collected())
        return frame

    def show(self, rows: int = 20) -> None:
        """Prints the first rows.

        >>> tdb.sql(f"SELECT rows, sum(a) FROM '{fixtures}/quickstart' GROUP BY rows ORDER BY rows").show(2)
        rows  sum(a)
        ----  ------
           1      10
           2      26
        (there are more rows)
        """
        text, is_cut = self._core.table(rows)
        print(text + "(there are more rows)" if is_cut else text, end="\n" if is_cut else "")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.arrow_stream().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self._core.columns())
        return f"<tdb.SqlResult {columns or 'without columns'}>"


def sql(
    query: str,
    *,
    tables: Mapping[str, Any] | None = None,
    at: Window = None,
    key: Key = None,
    storage: Storage = None,
    memory: str | int | None = None,
    threads: int | None = None,
    **named: Any,
) -> SqlResult:
    """The answer of a query in SQL, as the command ``tdb sql`` gives it.

    Places of arrays are tables (``FROM 's3://bucket/trips'``), and so are files (``FROM 'trips.parquet'``) and what ``tables`` and
    further keywords name: arrays, and anything that Arrow takes (tables of pandas, polars and pyarrow, reads, other answers). Arrays
    with a name are seen as they are open, those in places as they are now or ``at`` a time; ``key`` and ``storage`` are theirs. What
    is no array is in memory while the query runs. Sorts, joins and groups that need more than ``memory`` use temporary files.

    A text may have several statements, separated by semicolons; the answer is that of the last one. What they make (``CREATE
    TABLE``, ``SET``) ends with the text.

    >>> grid = tdb.open(fixtures / "quickstart")
    >>> tdb.sql("SELECT count(*) AS cells, max(a) AS most FROM grid WHERE cols < 3", grid=grid).to_polars().row(0)
    (8, 14)
    """
    core = getattr(_tdb, "Sql", None)
    if core is None:
        raise UnsupportedError(NO_SQL)
    arrays: list[tuple[str, _tdb.Array]] = []
    rows: list[tuple[str, Any]] = []
    for name, table in [*(tables or {}).items(), *named.items()]:
        if isinstance(table, Array):
            arrays.append((name, table._core))
        elif hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
            rows.append((name, table))
        else:
            raise QueryError(
                f"{name}={type(table).__name__}: tables are arrays of tdb.open, and what Arrow takes (tables of pandas, polars, pyarrow)"
            )
    return SqlResult(
        core(
            query,
            place("", storage, key, None),
            arrays,
            rows,
            window(at),
            None if memory is None else memory_text(memory),
            threads,
        )
    )


def _nullable(pandas: Any, name: str) -> Any:
    """The type of pandas with missing values for a type of Arrow; ``None`` if pandas' own has them."""
    names = {"bool": "boolean", "float": "Float32", "double": "Float64"}
    for bits in (8, 16, 32, 64):
        names[f"int{bits}"], names[f"uint{bits}"] = f"Int{bits}", f"UInt{bits}"
    return pandas.api.types.pandas_dtype(names[name]) if name in names else None
