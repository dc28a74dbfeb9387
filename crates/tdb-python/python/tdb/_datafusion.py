"""Arrays as tables of the package `datafusion`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from . import _tdb
from ._errors import UnsupportedError

if TYPE_CHECKING:
    from ._array import Array


class Table(Protocol):
    """What ``SessionContext.register_table`` takes."""

    def __datafusion_table_provider__(self, session: object = None) -> object: ...


def datafusion(array: Array) -> Table:
    """An array as a table for SQL in the package ``datafusion`` (version 55). The table shows the array as it is open, and is read
    only. Ranges of dimensions and conditions become part of the read; so do columns and limits.

    The wheel must have been built with DataFusion, which is not the default because it makes the wheel much larger:
    ``pip install ./crates/tdb-python --config-settings=build-args="--features datafusion"``.

    ::

        session = datafusion.SessionContext()
        session.register_table("weather", tdb.datafusion(tdb.open("weather")))
        session.sql("SELECT station, max(temperature) FROM weather GROUP BY station").show()
    """
    table = getattr(_tdb, "Table", None)
    if table is None:
        raise UnsupportedError(
            "this build of tdb has no DataFusion: "
            'pip install ./crates/tdb-python --config-settings=build-args="--features datafusion"'
        )
    return cast(Table, table(array._core))
