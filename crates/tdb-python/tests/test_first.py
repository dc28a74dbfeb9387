"""The first cells, groups of cells, and how things are shown."""

from __future__ import annotations

import asyncio
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tdb


@pytest.fixture
def flights(uri: str) -> tdb.Array:
    """Six sparse cells with an enumerated carrier, a text and a nullable delay, in two fragments."""
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("flight", (0, 999), "int64", tile=100)],
        [
            tdb.Attribute("carrier", "uint8", enumeration="carrier"),
            tdb.Attribute("dest", str),
            tdb.Attribute("delay", "int32", nullable=True),
        ],
        [tdb.Enumeration("carrier", ["AA", "UA"])],
    )
    array = tdb.create(uri, schema)
    for at in (0, 3):
        array.write(
            {
                "flight": np.arange(at, at + 3),
                "carrier": ["UA", "AA", "UA"],
                "dest": ["LAX", "Größe", ""],
                "delay": [at, None, at + 2],
            }
        )
    return array


@pytest.fixture
def grid(uri: str) -> tdb.Array:
    return tdb.from_numpy(uri + "-grid", np.arange(20).reshape(5, 4), dims=["x", "y"], tile=2)


def test_a_limit_takes_the_first_cells_of_a_query(flights: tdb.Array, grid: tdb.Array) -> None:
    read = flights.read(limit=4, order="row-major")
    found = read.to_numpy()
    assert found["flight"].tolist() == [0, 1, 2, 3] and found["dest"].tolist() == ["LAX", "Größe", "", "LAX"]
    assert found["delay"].tolist() == [0, None, 2, 3]
    assert read.count() == 4 and flights.read(limit=100).count() == 6
    assert grid.read(fields="a", limit=6).to_numpy()["a"].tolist() == [0, 1, 2, 3, 4, 5]
    assert grid.read(where="a > 2 and y == 1", limit=3).to_numpy()["a"].tolist() == [5, 9, 13]
    assert grid.read(limit=0).to_numpy()["a"].tolist() == []
    assert grid.read(where="a > 100", limit=3).to_numpy()["a"].tolist() == []
    assert pickle.loads(pickle.dumps(read)).to_numpy()["flight"].tolist() == [0, 1, 2, 3]


def test_tables_and_arrow_have_a_limit_too(flights: tdb.Array, grid: tdb.Array) -> None:
    pandas = pytest.importorskip("pandas")
    frame = flights.head(4, order="row-major")
    assert frame["flight"].tolist() == [0, 1, 2, 3] and frame["carrier"].tolist() == ["UA", "AA", "UA", "UA"]
    assert isinstance(frame["carrier"].dtype, pandas.CategoricalDtype) and str(frame["delay"].dtype) == "Int32"
    assert grid.head(2).to_dict("list") == {"x": [0, 0], "y": [0, 1], "a": [0, 1]}
    assert len(flights.head()) == 5 and len(flights.read(where="delay > 2").head(1)) == 1
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(flights.read(limit=4, order="row-major"))["flight"].to_pylist() == [0, 1, 2, 3]
    assert pyarrow.record_batch(flights.read(limit=4, order="row-major"))["flight"].to_pylist() == [0, 1, 2, 3]
    pytest.importorskip("polars")
    assert grid.read(limit=3).to_polars().shape == (3, 3)


def test_streams_end_at_a_limit(flights: tdb.Array, grid: tdb.Array) -> None:
    assert [len(batch) for batch in grid.stream("16MB", limit=3)] == [3]
    assert [batch.to_numpy()["a"].tolist() for batch in grid.stream("16MB", limit=3, where="a > 4")] == [[5, 6, 7]]
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.RecordBatchReader.from_stream(flights.stream("16MB", limit=2)).read_all().num_rows == 2
    assert pyarrow.record_batch(next(grid.stream("16MB", limit=2))).num_rows == 2

    async def collected() -> list[int]:
        return [len(batch) async for batch in flights.stream("16MB", limit=4)]

    assert sum(asyncio.run(collected())) == 4


def test_no_more_is_read_than_the_first_cells_need(uri: str) -> None:
    array = tdb.from_numpy(uri, np.arange(2_000_000), tile=1000)
    (file,) = pathlib.Path(uri, "__fragments").glob("*/a0.tdb")
    data = bytearray(file.read_bytes())
    data[-2000:] = bytes(2000)
    file.write_bytes(data)
    assert tdb.open(uri).read(limit=5).to_numpy()["a"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(tdb.CorruptError):
        tdb.open(uri).read().to_numpy()
    assert array.uri == uri


def test_what_is_over_all_cells_has_no_limit(flights: tdb.Array) -> None:
    read = flights.read(limit=2)
    for call in (lambda: read.aggregate("count"), read.explain, lambda: read.partitions(2), lambda: read[0:3], lambda: read.group_by("dest").aggregate()):
        with pytest.raises(tdb.QueryError, match="leave out limit="):
            call()
    for wrong in (-1, 1.5, True, "3"):
        with pytest.raises(tdb.QueryError, match="number of cells"):
            flights.read(limit=wrong)  # type: ignore[arg-type]


def test_groups_have_their_aggregates(flights: tdb.Array, grid: tdb.Array) -> None:
    found = flights.group_by("carrier").aggregate("count", "max(delay)")
    assert sorted(zip(found["carrier"].tolist(), found["count"].tolist(), found["max(delay)"].tolist())) == [(0, 2, None), (1, 4, 5)]
    assert sorted(flights.group_by(["dest"], where="delay > 0").aggregate()["dest"]) == ["", "LAX"]
    pytest.importorskip("pandas")
    frame = flights.group_by(["carrier", "dest"]).to_pandas("count", "sum(delay)")
    assert frame.astype({"carrier": str}).values.tolist() == [["AA", "Größe", 2, frame["sum(delay)"][0]], ["UA", "", 2, 7], ["UA", "LAX", 2, 3]]
    with pytest.raises(tdb.QueryError, match='did you mean "carrier"'):
        flights.group_by("carrer").aggregate("count")
    with pytest.raises(tdb.UnsupportedError, match="groupby"):
        grid.group_by("x").aggregate("count")


def test_isin_is_what_pandas_calls_it(flights: tdb.Array) -> None:
    assert flights.read(where=tdb.field("flight").isin([1, 4])).count() == 2


def test_names_that_no_field_has_are_refused_at_once_with_the_one_that_was_meant(flights: tdb.Array) -> None:
    with pytest.raises(tdb.QueryError, match=r'no field "carrer" \(it has flight, carrier, dest, delay\); did you mean "carrier"\?'):
        flights.read(fields="carrer")
    with pytest.raises(tdb.QueryError, match='did you mean "flight"'):
        flights.read(ranges={"fligth": 1})
    with pytest.raises(tdb.WriteError, match='did you mean "delay"'):
        flights.write({"flight": [9], "carrier": ["AA"], "dest": [""], "dely": [1]})
    assert flights.fields == ["flight", "carrier", "dest", "delay"]
    assert flights.read(fields="__timestamps").to_numpy()["__timestamps"].shape == (6,)


def test_a_with_block_and_close_are_there_for_those_who_use_them(flights: tdb.Array) -> None:
    with tdb.open(flights.uri) as array:
        assert array.read().count() == 6
    array.close()
    assert array.read().count() == 6


def test_a_schema_is_shown_on_several_lines_and_in_notebooks(flights: tdb.Array, grid: tdb.Array, fixtures: pathlib.Path) -> None:
    lines = repr(flights.schema).splitlines()
    assert lines[0].startswith("<tdb.Schema sparse: cells row-major") and len(lines) == 7
    assert lines[2].split() == ["flight", "INT64", "0", "to", "999,", "tile", "100"]
    assert lines[4].split() == ["carrier", "UINT8", "values", "of", "carrier"] and lines[6].split()[:3] == ["delay", "INT32", "nullable>"]
    html = grid._repr_html_()
    assert grid.uri in html and "<table>" in html and "INT64" in html and "zstd" in html
    odd = tdb.Schema("sparse", [tdb.Dimension("<x>", (0, 9), "int64")], [tdb.Attribute("a&b")])
    assert "<x>" not in odd._repr_html_() and "&lt;x&gt;" in odd._repr_html_() and "a&amp;b" in odd._repr_html_()
    label = tdb.open(fixtures / "label_increasing_int64").schema
    assert "labels" in repr(label)


def test_a_group_is_shown_in_notebooks(tmp_path: pathlib.Path, grid: tdb.Array) -> None:
    group = tdb.Group.create(tmp_path / "all")
    group.add(grid.uri, name="<grid>")
    html = tdb.Group(tmp_path / "all")._repr_html_()
    assert "&lt;grid&gt;" in html and "1 members" in html and grid.uri in html
    assert "limit 3" in repr(grid.read(fields="a", limit=3)) and "fields a" in repr(grid.read(fields="a"))


def test_dir_has_public_names_only_among_them_lazy_ones() -> None:
    names = dir(tdb)
    assert {"from_pandas", "from_numpy", "from_polars", "soma", "dask", "compat", "xarray", "open"} <= set(names)
    assert not {"Any", "TYPE_CHECKING", "annotations", "importlib"} & set(names)
    assert all(name == "__version__" or not name.startswith("_") for name in names)
    # In a new process, because this one may have imported the modules.
    code = "import tdb; assert tdb.compat.open and tdb.from_numpy; assert 'pandas' not in __import__('sys').modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="opne"):
        tdb.opne
