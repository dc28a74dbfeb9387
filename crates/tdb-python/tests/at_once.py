"""What threads and processes do at once: in a module of its own, which spawned processes import."""

from __future__ import annotations

import numpy as np

import tdb

CELLS = 5_000


def shared(uri: str) -> tdb.Array:
    """A sparse array that many write to at once."""
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("writer", (0, 99), "int32", tile=1), tdb.Dimension("x", (0, CELLS - 1), "int64", tile=1000)],
        [tdb.Attribute("a", "int64", filters="zstd")],
    )
    return tdb.create(uri, schema)


def work(uri: str, writer: int) -> int:
    """Writes cells and reads them back, and what others wrote meanwhile."""
    array = tdb.open(uri)
    array.write({"writer": np.full(CELLS, writer, np.int32), "x": np.arange(CELLS), "a": np.arange(CELLS) * writer})
    again = tdb.open(uri)
    own = again.read(fields=["a"], ranges={"writer": writer}, order="row-major").to_numpy()["a"]
    assert (own == np.arange(CELLS) * writer).all()
    for cells in again.stream(memory="8MB", fields=["writer", "x", "a"]):
        batch = cells.to_numpy()
        assert (batch["a"] == batch["x"] * batch["writer"]).all()
    return int(again.aggregate("sum(a)", ranges={"writer": writer})["sum(a)"])


def sum_of(writer: int) -> int:
    return writer * CELLS * (CELLS - 1) // 2
