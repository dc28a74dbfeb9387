"""Arrays of dask: chunks, processes, names."""

from __future__ import annotations

import pathlib
import pickle

import numpy as np
import pytest

import tdb

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")


def dense(uri: str) -> tdb.Array:
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("x", (-50, 49), "int64", tile=30), tdb.Dimension("y", (1, 20), "int64", tile=10)],
        [tdb.Attribute("a", "int64"), tdb.Attribute("b", "float32", nullable=True), tdb.Attribute("c", str)],
    )
    array = tdb.create(uri, schema)
    cells = np.arange(2000).reshape(100, 20)
    array.write({"a": cells, "b": np.ma.MaskedArray(cells.astype(np.float32), cells == 7), "c": cells.astype(str).astype(object)})
    return array


def test_chunks_are_tiles_or_what_is_asked_for(uri: str) -> None:
    array = dense(uri)
    tiles = array.to_dask("a", chunks="tiles")
    assert tiles.chunks == ((30, 30, 30, 10), (10, 10)) and tiles.dtype == np.int64
    assert array.to_dask("a").chunks == ((100,), (20,)), "small arrays are one chunk"
    assert array.to_dask("a", chunks=(7, 20)).chunks[0][:2] == (7, 7)
    with dask.config.set({"array.chunk-size": "5kiB"}):
        parts = array.to_dask("a").chunks
    assert all(part % 30 == 0 for part in parts[0][:-1]) and len(parts[0]) > 1, "whole tiles"


def test_what_is_computed_is_what_numpy_computes(uri: str) -> None:
    array = dense(uri)
    whole = array.read().to_numpy()
    a = array.to_dask("a", chunks="tiles")
    assert a.compute().tolist() == whole["a"].tolist()
    assert a[::-7, [3, 1]].compute().tolist() == whole["a"][::-7, [3, 1]].tolist()
    assert int((a[10:60].T @ a[10:60]).sum().compute()) == int((whole["a"][10:60].T @ whole["a"][10:60]).sum())
    b = array.to_dask("b", chunks=(40, 20)).compute()
    assert np.isnan(b[0, 7]) and b[0, 8] == 8
    assert array.to_dask("c")[3, 4].compute() == "64"


def test_other_processes_read_the_same_time(uri: str) -> None:
    array = dense(uri)
    cells = array.to_dask("a", chunks="tiles")
    array[-50, 1] = {"a": 1_000_000, "b": 0.0, "c": ""}
    for scheduler in ("threads", "processes"):
        assert int(cells.sum().compute(scheduler=scheduler, num_workers=2)) == 2000 * 1999 // 2
    assert pickle.loads(pickle.dumps(cells)).compute()[0, 0] == 0
    assert array.to_dask("a")[0, 0].compute() == 1_000_000


def test_equal_cells_have_equal_names_and_others_have_not(uri: str) -> None:
    array = dense(uri)
    first = tdb.open(uri, 10**15)
    assert first.to_dask("a").name == tdb.open(uri, 10**15).to_dask("a").name
    names = {first.to_dask("a").name, first.to_dask("b").name, tdb.open(uri, 10**15 + 1).to_dask("a").name}
    assert len(names) == 3
    assert array.schema.dense


def test_what_is_no_array_of_dask_says_so(uri: str, fixtures: pathlib.Path) -> None:
    array = dense(uri)
    with pytest.raises(tdb.QueryError, match="several attributes"):
        array.to_dask()
    with pytest.raises(tdb.QueryError, match='no field "z"'):
        array.to_dask("z")
    with pytest.raises(tdb.UnsupportedError, match="sparse"):
        tdb.open(fixtures / "sql_stations").to_dask("height")
    cells = array.to_dask("a")
    with pytest.raises(IndexError):
        cells[100].compute()
