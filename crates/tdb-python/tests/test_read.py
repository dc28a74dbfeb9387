"""Reading: boxes, fields, conditions, orders, tables, streams."""

from __future__ import annotations

import asyncio
import pathlib

import numpy as np
import pytest

import tdb


@pytest.fixture
def grid(uri: str) -> tdb.Array:
    """Two attributes on 6 times 4 cells, rows from -2 to 3."""
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("row", (-2, 3), "int32", tile=3), tdb.Dimension("column", (0, 3), "int32", tile=2)],
        [tdb.Attribute("a", "int32"), tdb.Attribute("b", "float64", nullable=True)],
    )
    array = tdb.create(uri + "-grid", schema)
    mask = np.zeros((6, 4), bool)
    mask[1, 2] = True
    array.write({"a": np.arange(24, dtype=np.int32).reshape(6, 4), "b": np.ma.MaskedArray(np.arange(24.0).reshape(6, 4), mask)})
    return array


@pytest.fixture
def points(uri: str) -> tdb.Array:
    """Sparse cells with a text, a date and an enumerated attribute."""
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("day", ("2020-01-01", "2020-12-31"), "datetime64[D]", tile=30), tdb.Dimension("place", dtype="ascii")],
        [tdb.Attribute("rain", "float32", nullable=True), tdb.Attribute("sky", "uint8", enumeration="sky"), tdb.Attribute("note", str)],
        [tdb.Enumeration("sky", ["clear", "cloudy"])],
    )
    array = tdb.create(uri, schema)
    array.write(
        {
            "day": np.array(["2020-03-01", "2020-02-29", "2020-02-29"], "datetime64[D]"),
            "place": ["Oslo", "Oslo", "Bergen"],
            "rain": [1.5, None, 7.25],
            "sky": ["cloudy", "clear", "cloudy"],
            "note": ["", "Größe", "x"],
        }
    )
    return array


def test_a_slice_of_a_dense_array_is_a_box_without_its_end(grid: tdb.Array) -> None:
    cells = grid[-1:1, 1:3]
    assert set(cells) == {"a", "b"}
    assert cells["a"].tolist() == [[5, 6], [9, 10]]
    assert cells["b"].tolist() == [[5.0, None], [9.0, 10.0]]


def test_a_single_coordinate_drops_its_axis_and_a_list_keeps_it(grid: tdb.Array) -> None:
    read = grid.read(fields="a")
    assert read[-2].tolist() == [0, 1, 2, 3]
    assert read[-2, 3] == 3 and read[-2, 3].ndim == 0
    assert read[[-2, 3], 1].tolist() == [1, 21]
    assert read[..., 2].tolist() == [2, 6, 10, 14, 18, 22]
    assert read[[3, -2], 0:2].tolist() == [[20, 21], [0, 1]]


def test_ranges_are_with_both_ends_and_may_be_open(grid: tdb.Array) -> None:
    read = lambda ranges: grid.read(fields=["a"], ranges=ranges).to_numpy()["a"].tolist()
    assert read({"row": (2, None), "column": (None, 0)}) == [[16], [20]]
    assert read({"row": [(-2, -2), 3], "column": 0}) == [[0], [20]]


def test_column_major_cells_have_the_shape_of_the_ranges(grid: tdb.Array) -> None:
    cells = grid.read(fields=["a"], order="col-major").to_numpy()["a"]
    assert cells.shape == (6, 4) and cells.tolist() == grid.read(fields=["a"]).to_numpy()["a"].tolist()
    assert cells.flags.f_contiguous


def test_sparse_cells_are_a_dictionary_with_coordinates(points: tdb.Array) -> None:
    cells = points["2020-02-01":"2020-03-01"]
    assert list(cells) == ["day", "place", "rain", "sky", "note"]
    assert cells["day"].dtype == np.dtype("datetime64[D]")
    order = np.argsort(cells["place"])
    assert cells["place"][order].tolist() == ["Bergen", "Oslo"]
    assert cells["rain"][order].tolist() == [7.25, None]
    assert cells["note"][order].tolist() == ["x", "Größe"]
    assert cells["sky"][order].tolist() == [1, 0]
    assert points.enumeration("sky") == ["clear", "cloudy"]


def test_slices_of_texts_are_with_their_end(points: tdb.Array) -> None:
    assert sorted(points[:, "Bergen":"Oslo"]["place"].tolist()) == ["Bergen", "Oslo", "Oslo"]


@pytest.mark.parametrize(
    "where",
    [
        "rain > 2 and sky == 'cloudy'",
        (tdb.field("rain") > 2) & (tdb.field("sky") == "cloudy"),
        ~((tdb.field("rain") <= 2) | tdb.field("rain").is_null()),
        (tdb.field("day") == np.datetime64("2020-02-29")) & tdb.field("place").is_in(["Bergen", "Paris"]),
        "day <= '2020-02-29' and not (place == 'Oslo')",
    ],
)
def test_conditions_are_texts_or_expressions(points: tdb.Array, where: str | tdb.Condition) -> None:
    assert points.read(where=where).to_numpy()["place"].tolist() == ["Bergen"]


def test_conditions_are_not_combined_with_and(points: tdb.Array) -> None:
    with pytest.raises(TypeError, match="&"):
        bool(tdb.field("a") > 1)


def test_an_earlier_time_is_seen_as_it_was(uri: str) -> None:
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, 1), "int32", tile=2)], [tdb.Attribute("a", "int64")])
    array = tdb.create(uri, schema, at=1)
    array.write([1, 2], at=10)
    array.write([3, 4], at=20)
    assert tdb.open(uri, 15)[:].tolist() == [1, 2]
    assert tdb.open(uri)[:].tolist() == [3, 4]
    assert tdb.open(uri, (11, 30))[:].tolist() == [3, 4]
    assert [one["timestamps"] for one in tdb.open(uri).fragments] == [[10, 10], [20, 20]]
    assert [one["what"] for one in array.history].count("write") == 2
    assert tdb.open(uri, "1970-01-01T00:00:00.015").window == (0, 15)


def test_aggregates_are_computed_without_the_cells(grid: tdb.Array, points: tdb.Array) -> None:
    found = grid.aggregate("count", "sum(a)", "min(b)", "max(b)", "mean(b)", "null_count(b)", ranges={"row": (-1, 0)})
    assert found == {"count": 8, "sum(a)": 60, "min(b)": 4.0, "max(b)": 11.0, "mean(b)": 54 / 7, "null_count(b)": 1}
    assert points.aggregate("max(note)", "max(rain)", where="rain > 100") == {"max(note)": None, "max(rain)": None}
    assert points.read().count() == 3


def test_a_plan_says_what_would_be_read(grid: tdb.Array) -> None:
    plan = grid.read(fields=["a"], ranges={"row": 0}).explain()
    assert plan["cells"] == 4 and [one["name"] for one in plan["fields"]] == ["a"]


def test_parts_of_a_query_have_its_cells_in_their_order(grid: tdb.Array) -> None:
    parts = grid.read(fields=["a"]).partitions(3)
    assert len(parts) > 1
    joined = np.concatenate([part.to_numpy()["a"].ravel() for part in parts])
    assert joined.tolist() == list(range(24))


def test_tables_of_pandas_have_coordinates_and_pandas_types(points: tdb.Array) -> None:
    pandas = pytest.importorskip("pandas")
    frame = points.read(order="row-major").to_pandas()
    assert list(frame.columns) == ["day", "place", "rain", "sky", "note"]
    assert str(frame["rain"].dtype) == "Float32" and frame["rain"].isna().tolist() == [False, True, False]
    assert list(frame["sky"]) == ["cloudy", "clear", "cloudy"] and isinstance(frame["sky"].dtype, pandas.CategoricalDtype)
    assert frame["day"].dt.day.tolist() == [29, 29, 1]
    indexed = points.read(order="row-major").to_pandas(index=["place"])
    assert indexed.index.tolist() == ["Bergen", "Oslo", "Oslo"]


def test_dense_tables_have_the_coordinates_of_every_cell(grid: tdb.Array) -> None:
    pytest.importorskip("pandas")
    frame = grid.read(ranges={"row": (3, 3)}).to_pandas()
    assert frame["row"].tolist() == [3, 3, 3, 3] and frame["column"].tolist() == [0, 1, 2, 3]
    assert frame["a"].tolist() == [20, 21, 22, 23]


def test_polars_and_pyarrow_take_a_query_as_it_is(points: tdb.Array) -> None:
    polars = pytest.importorskip("polars")
    frame = points.read(order="row-major").to_polars()
    assert frame["place"].to_list() == ["Bergen", "Oslo", "Oslo"]
    assert frame["sky"].to_list() == ["cloudy", "clear", "cloudy"]
    assert polars.DataFrame(points.read(fields=["note"], order="row-major"))["note"].to_list() == ["x", "Größe", ""]
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(points.read(order="row-major"))
    assert table["rain"].to_pylist() == [7.25, None, 1.5]
    batch = pyarrow.record_batch(points.read(order="row-major"))
    assert batch.num_rows == 3 and batch["day"].to_pylist() == [18321, 18321, 18322]


def test_a_stream_has_all_cells_in_small_batches(uri: str) -> None:
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, 1_999_999), "int64", tile=1000)], [tdb.Attribute("a", "int64")])
    array = tdb.create(uri, schema)
    array.write(np.arange(2_000_000))
    batches = [batch.to_numpy()["a"] for batch in array.stream(memory="4MB")]
    assert len(batches) > 4 and max(len(batch) for batch in batches) * 8 <= 4 << 20
    assert np.concatenate(batches).tolist() == list(range(2_000_000))

    async def collected() -> list[int]:
        found: list[int] = []
        async for batch in array.stream(memory="4MB"):
            found += batch.to_numpy()["a"].tolist()
        return found

    assert asyncio.run(collected()) == list(range(2_000_000))


def test_arrow_takes_a_stream_once_and_only_from_its_beginning(grid: tdb.Array) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    stream = grid.stream(memory="4MB", fields=["a"])
    assert pyarrow.RecordBatchReader.from_stream(stream).read_all()["a"].to_pylist() == list(range(24))
    with pytest.raises(tdb.QueryError, match="handed over"):
        next(stream)
    begun = grid.stream(memory="4MB")
    next(begun)
    with pytest.raises(tdb.QueryError, match="begun"):
        pyarrow.RecordBatchReader.from_stream(begun)


def test_a_batch_is_taken_by_numpy_and_by_arrow(grid: tdb.Array) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    batch = next(grid.stream(memory="4MB", fields=["a"]))
    assert pyarrow.record_batch(batch)["a"].to_pylist() == list(range(24))
    assert batch.to_numpy()["a"].ravel().tolist() == list(range(24))


def test_a_label_chooses_cells(fixtures: pathlib.Path) -> None:
    array = tdb.open(fixtures / "label_increasing_int64")
    name = array.schema.said["labels"][0]["name"]
    labels = array.read(fields=[name]).to_numpy()[name].ravel()
    chosen = array.read(fields=[name], ranges={name: (int(labels[1]), int(labels[2]))}).to_numpy()[name]
    assert chosen.ravel().tolist() == labels[1:3].tolist()


def test_encrypted_arrays_open_with_their_key_in_both_notations(fixtures: pathlib.Path) -> None:
    import json

    said = json.loads((fixtures.parents[1] / "expected" / "2.30.0" / "encrypted_dense.json").read_text())
    key = said["key"].encode()
    whole = tdb.open(fixtures / "encrypted_dense", key=key).read().count()
    assert whole == tdb.open(fixtures / "encrypted_dense", key=key.hex()).read().count() > 0
    with pytest.raises(tdb.Error):
        tdb.open(fixtures / "encrypted_dense")
    with pytest.raises(tdb.QueryError, match="32 bytes"):
        tdb.open(fixtures / "encrypted_dense", key=b"short")


@pytest.mark.parametrize("kind", ["letters of one byte", "letters of several bytes", "bytes that are no text", "half letters", "hardly any twice"])
def test_texts_come_back_as_they_were_written(uri: str, kind: str) -> None:
    texts: list[object] = ["", "abc", "z" * 50] * 30_000
    if kind != "letters of one byte":
        texts[1::1000] = ["Größe 水 🌊"] * 90
    if kind == "bytes that are no text":
        texts[40_000] = b"\xff\xfe".decode("utf-8", "surrogateescape")
    if kind == "half letters":
        texts[5:7] = [half.decode("utf-8", "surrogateescape") for half in (b"x\xc3", b"\xb6y")]
    if kind == "hardly any twice":
        texts[100:80_000] = [f"text number {number}" for number in range(79_900)]
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, len(texts) - 1), "int64", tile=10_000)], [tdb.Attribute("a", str, filters="zstd")])
    array = tdb.create(uri, schema)
    array.write(texts)
    found = array[:]
    assert found.tolist() == texts
    # Equal texts share an object, where they are found.
    assert found[0] is found[3]
    pandas = pytest.importorskip("pandas")
    back = array.read().to_pandas()["a"]
    assert back.tolist() == texts
    if not kind.startswith("bytes") and not kind.startswith("half"):
        assert back.dtype == pandas.Series(["a"]).dtype
