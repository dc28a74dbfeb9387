"""Columns of every type of numpy, pandas and pyarrow come back as they were, or are refused by name and leave nothing behind."""

from __future__ import annotations

import os
import pathlib
import threading
from typing import Any

import numpy as np
import pytest

import tdb

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet, ipc = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.ipc")

#: Units of dates and times.
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
TIMES = UNITS[4:]
GREATEST = 2**63 - 1


def _files(folder: pathlib.Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*"))


def test_random_columns_come_back_or_are_refused_by_name() -> None:
    import random_columns

    counts, wrong = random_columns.run(1, 60, 150)
    assert not wrong, "\n".join(wrong)
    assert counts["same"] > 50 and counts["refused"] > 10


def test_missing_values_of_pandas_booleans_are_null(uri: str) -> None:
    column = pandas.Series([True, None, False], dtype="boolean")
    array = tdb.from_pandas(uri, pandas.DataFrame({"b": column}), full_domain=True)
    array.write({"__tiledb_rows": [3, 4, 5], "b": column})
    back = array.read().to_pandas()["b"]
    assert back.dtype == "boolean" and back.isna().tolist() == [False, True, False] * 2
    assert back.dropna().tolist() == [True, False] * 2


def test_a_list_with_a_missing_value_is_refused(uri: str) -> None:
    schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 9), "int64")], [tdb.Attribute("a", "int32", values="var", nullable=True)])
    array = tdb.create(uri, schema)
    with pytest.raises(tdb.WriteError, match='"a", cell 1'):
        array.write({"x": [0, 1, 2], "a": [[1], [2, None], None]})
    array.write({"x": [0, 1], "a": [[1, 2], None]})
    assert array.read().count() == 2


class Failing:
    """A stream of Arrow that breaks off."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        def some() -> Any:
            yield from self.batches
            raise OSError("broken off")

        reader = pyarrow.RecordBatchReader.from_batches(self.batches[0].schema, some())
        return reader.__arrow_c_stream__(requested_schema)


def _failures() -> dict[str, Any]:
    dimension = tdb.Dimension("x", (0, 9), "int64")
    batch = pyarrow.record_batch({"x": [0, 1], "a": [1.5, 2.5]})
    outside = pyarrow.table({"x": [0, 10], "a": [1, 2]})
    lists = pyarrow.table({"x": [0, 1], "a": [[1], [None]]})
    other = [pyarrow.array(labels).dictionary_encode() for labels in (["a"], ["b"])]
    labels = pyarrow.Table.from_batches([pyarrow.record_batch({"x": [at], "a": one}) for at, one in enumerate(other)])
    mixed = pandas.DataFrame({"a": [1, 2], "b": pandas.Series(["x", 1], dtype=object)})
    missing = pandas.DataFrame({"a": [1, 2], "b": ["x", None]})
    return {
        "a stream that breaks off": lambda uri: tdb.from_arrow(uri, Failing([batch, batch]), [dimension]),
        "a coordinate outside of the domain": lambda uri: tdb.from_arrow(uri, outside, [dimension]),
        "a null in a list": lambda uri: tdb.from_arrow(uri, lists, [dimension]),
        "values that come later": lambda uri: tdb.from_arrow(uri, labels, [dimension]),
        "a type that arrays do not have": lambda uri: tdb.from_pandas(uri, mixed),
        "a coordinate that is missing": lambda uri: tdb.from_pandas(uri, missing, index=["b"]),
        "equal coordinates": lambda uri: tdb.from_pandas(uri, mixed[["a"]].assign(a=1, n=2), index=["a"], duplicates=False),
    }


@pytest.mark.parametrize("name", _failures())
@pytest.mark.parametrize("place", ["nothing", "a folder", "an array"])
def test_what_fails_leaves_nothing_behind(tmp_path: pathlib.Path, name: str, place: str) -> None:
    uri = tmp_path / "a"
    if place == "a folder":
        uri.mkdir()
        (uri / "note.txt").write_text("mine")
    if place == "an array":
        tdb.from_pandas(uri, pandas.DataFrame({"a": [7]}))
    before = _files(tmp_path)
    with pytest.raises(tdb.Error):
        _failures()[name](uri)
    assert _files(tmp_path) == before
    if place != "an array":
        assert tdb.from_pandas(uri, pandas.DataFrame({"a": [7]})).read().count() == 1
    assert tdb.open(uri).read().to_pandas()["a"].tolist() == [7]


def test_an_array_is_there_only_once_its_cells_are(tmp_path: pathlib.Path) -> None:
    batch, uri = pyarrow.record_batch({"x": [0, 1], "a": [1.5, 2.5]}), tmp_path / "a"
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> Any:
        yield batch
        begun.set()
        go_on.wait(60)

    reader = pyarrow.RecordBatchReader.from_batches(batch.schema, slow())
    thread = threading.Thread(target=tdb.from_arrow, args=(uri, reader, [tdb.Dimension("x", (0, 9), "int64")]))
    thread.start()
    try:
        assert begun.wait(60)
        assert tdb.object_type(uri) is None
    finally:
        go_on.set()
        thread.join()
    assert tdb.open(uri).read().count() == 2


def test_names_of_columns_are_texts_and_differ(uri: str) -> None:
    assert tdb.from_pandas(uri, pandas.DataFrame({0: [1], 1: [2]})).schema.names == ["__tiledb_rows", "0", "1"]
    with pytest.raises(tdb.QueryError, match="two columns with the name '1'"):
        tdb.from_pandas(f"{uri}-twice", pandas.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(tdb.QueryError, match="no column 'y'"):
        tdb.from_pandas(f"{uri}-unknown", pandas.DataFrame({"x": [1]}), index=["y"])
    with pytest.raises(tdb.QueryError, match="index="):
        tdb.from_pandas(f"{uri}-rows", tdb.open(uri).read().to_pandas(index=[]))
    with pytest.raises(tdb.QueryError, match="coordinates"):
        tdb.from_pandas(f"{uri}-dense", pandas.DataFrame({"x": [1], "a": [1]}), index=["x"], sparse=False)


def test_tables_without_rows_become_arrays_that_take_rows(uri: str) -> None:
    frame = pandas.DataFrame({"x": np.array([], np.int64), "t": np.array([], "M8[ns]"), "s": pandas.Series([], dtype=str), "a": np.array([], np.float32)})
    for index in (None, ["x"], ["t"], ["s"]):
        array = tdb.from_pandas(f"{uri}-{index}", frame, index=index)
        assert len(array.read().to_pandas()) == 0
        more = {"x": [-5], "t": [np.datetime64("1900-01-01", "ns")], "s": ["z"], "a": [0.5]}
        array.write({**more, "__tiledb_rows": [3]} if index is None else more)
        assert array.read().to_pandas()["a"].tolist() == [0.5]


# Rows of tables.


def test_rows_that_do_not_satisfy_a_condition_are_in_no_table(uri: str) -> None:
    dimension = tdb.Dimension("x", (0, 5), "int64", tile=3)
    array = tdb.create(uri, tdb.Schema("dense", [dimension], [tdb.Attribute("a", "int32"), tdb.Attribute("b", str)]))
    array[0:5] = {"a": [1, 5, 2, 6, 7], "b": ["v", "w", "x", "y", "z"]}
    read = array.read(where="a > 4")
    table = {"x": [1, 3, 4], "a": [5, 6, 7], "b": ["w", "y", "z"]}
    assert read.to_pandas().to_dict("list") == table
    assert pyarrow.table(read.with_dimensions()).to_pydict() == table
    assert pyarrow.record_batch(read.with_dimensions()).to_pydict() == table
    polars = pytest.importorskip("polars")
    assert read.to_polars().to_dict(as_series=False) == table
    stream = array.stream(fields=["x", "a", "b"], where="a > 4", memory="16MB")
    assert pyarrow.RecordBatchReader.from_stream(stream).read_all().to_pydict() == table
    batches = [pyarrow.record_batch(batch) for batch in array.stream(fields=["x", "a", "b"], where="a > 4")]
    assert pyarrow.Table.from_batches(batches).to_pydict() == table
    frames = [batch.to_polars() for batch in array.stream(fields=["x", "a", "b"], where="a > 4")]
    assert polars.concat(frames).to_dict(as_series=False) == table
    import pickle

    assert pickle.loads(pickle.dumps(read)).to_pandas().to_dict("list") == table
    parts = [part.to_pandas() for part in read.partitions(2)]
    assert pandas.concat(parts).to_dict("list") == table
    assert read.export(os.path.join(os.path.dirname(uri), "cells.parquet")) == 3
    # Grids keep their shape, and without a condition cells that nobody wrote are rows.
    assert read.to_numpy()["a"].tolist()[1] == 5 and read.to_numpy()["a"].shape == (6,)
    assert read[1:4]["b"].shape == (3,) and len(array.read().to_pandas()) == 6
    assert len(array.read(where="a > 100").to_pandas()) == 0


# Dates and times at the ends of 64 bits.


def _numbers(dtype: Any) -> Any:
    return np.array([-GREATEST, -GREATEST + 1, -1, 0, GREATEST - 1, GREATEST, -(2**63)], np.int64).view(dtype)


@pytest.mark.parametrize("dtype", [f"M8[{unit}]" for unit in UNITS] + [f"m8[{unit}]" for unit in TIMES])
def test_dates_and_times_are_exact_at_both_ends_of_64_bits(uri: str, dtype: str) -> None:
    values, x = _numbers(dtype), list(range(7))
    low, high = (np.array([end], np.int64).view(dtype)[0] for end in (-GREATEST, GREATEST - 10))
    dimension = tdb.Dimension("t", (low, high), dtype, tile=7)
    assert [int(end.astype(np.int64)) for end in dimension.domain or ()] == [-GREATEST, GREATEST - 10]
    plain = tdb.Dimension("x", (0, 9), "int64")
    for fill in (low, high):
        labels = tdb.Enumeration("e", list(values[:6]))
        schema = tdb.Schema("sparse", [dimension, plain], [tdb.Attribute("a", dtype, fill=fill), tdb.Attribute("e", "int8", enumeration="e")], [labels])
        array = tdb.create(f"{uri}-{int(fill.astype(np.int64)) > 0}", schema)
        for known in (schema, tdb.Schema.of_json(schema.to_json()), array.schema, array.reopen().schema):
            assert known.dimensions[0].domain == (low, high) and known.attributes[0].fill == fill
        assert [int(one.astype(np.int64)) for one in array.enumeration("e")] == values[:6].view(np.int64).tolist()
    coordinates = np.array([-GREATEST, -1, 0, 1, GREATEST - 10], np.int64).view(dtype)
    array.write({"t": coordinates, "x": x[:5], "a": values[:5], "e": values[:5]})
    cells = array.read(order="row-major").to_numpy()
    assert (cells["t"].view(np.int64) == coordinates.view(np.int64)).all()
    assert (cells["a"].view(np.int64) == values[:5].view(np.int64)).all() and cells["e"].tolist() == [0, 1, 2, 3, 4]
    found = array.non_empty_domain
    assert found is not None and found[0] == (low, high)
    table = pyarrow.table(array.read(fields=["t", "a"], order="row-major"))
    for name, wanted in (("t", coordinates), ("a", values[:5])):
        assert table.column(name).combine_chunks().view(pyarrow.int64()).to_pylist() == wanted.view(np.int64).tolist()
    again = pyarrow.table(tdb.from_arrow(f"{uri}-arrow", table, [tdb.Dimension("t", (low, high), dtype, tile=7)]).read(order="row-major"))
    assert again.column("a").combine_chunks().view(pyarrow.int64()).to_pylist() == values[:5].view(np.int64).tolist()
    assert array.read(ranges={"t": [coordinates[0]]}).to_numpy()["a"].view(np.int64).tolist() == [-GREATEST]
    array.evolve(add=[tdb.Attribute("b", dtype, fill=high)], extend_enumerations={"e": [np.array([GREATEST - 5], np.int64).view(dtype)[0]]})
    assert array.read().to_numpy()["b"].view(np.int64).tolist() == [GREATEST - 10] * 5
    assert int(array.enumeration("e")[-1].astype(np.int64)) == GREATEST - 5


@pytest.mark.parametrize("dtype", [f"M8[{unit}]" for unit in UNITS] + [f"m8[{unit}]" for unit in TIMES])
def test_pandas_gets_exact_dates_or_none(uri: str, dtype: str) -> None:
    schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 9), "int64")], [tdb.Attribute("a", dtype)])
    array, unit = tdb.create(uri, schema), dtype[3:-1]
    array.write({"x": [0, 1], "a": np.array([-(2**63), 1000 if unit in ("ps", "fs", "as") else 3], np.int64).view(dtype)})
    if unit in ("fs", "as"):
        # A nanosecond has more of them.
        with pytest.raises(tdb.QueryError, match="'a'.*to_numpy"):
            array.read().to_pandas()
        array = array.reopen()
        array.write({"x": [1], "a": np.array([10**9], np.int64).view(dtype)})
        array = tdb.create(f"{uri}-whole", schema)
        array.write({"x": [0, 1], "a": np.array([-(2**63), 10**9], np.int64).view(dtype)})
    back = array.read(order="row-major").to_pandas()["a"]
    assert back.isna().tolist() == [True, False]
    assert back.to_numpy()[1].astype(dtype) == array.read(order="row-major").to_numpy()["a"][1]
    array.write({"x": [2], "a": np.array([GREATEST], np.int64).view(dtype)})
    if unit in ("s", "ms", "us", "ns"):
        assert array.read(order="row-major").to_pandas()["a"].to_numpy().view(np.int64)[2] == GREATEST
    else:
        with pytest.raises(tdb.QueryError, match="'a'.*to_numpy"):
            array.read().to_pandas()


def test_domains_of_weeks_in_numpy_pandas_and_xarray_are_what_was_given(uri: str) -> None:
    weeks = tuple(np.array([end], np.int64).view("M8[W]")[0] for end in (9 * 10**18 - 3, 9 * 10**18))
    array = tdb.create(uri, tdb.Schema("dense", [tdb.Dimension("w", weeks, "M8[W]", tile=2)], [tdb.Attribute("a", "int8")]))
    array.write(np.arange(4, dtype=np.int8))
    assert array.shape == (4,) and array.read(ranges={"w": [weeks[1]]}).to_numpy()["a"].tolist() == [3]
    import tdb.compat as tiledb

    with tiledb.open(uri) as old:
        domain, found = old.schema.domain.dim("w").domain, old.nonempty_domain()
        assert [int(end.astype(np.int64)) for end in domain] == [9 * 10**18 - 3, 9 * 10**18]
        assert [int(end.astype(np.int64)) for end in found[0]] == [9 * 10**18 - 3, 9 * 10**18]


def test_times_are_taken_in_their_unit(uri: str) -> None:
    minute = np.timedelta64(1, "m")
    schema = tdb.Schema("sparse", [tdb.Dimension("d", (np.datetime64("2000-01-01"), np.datetime64("2030-01-01")), "M8[h]", tile=np.timedelta64(1, "D"))], [tdb.Attribute("t", "m8[s]", fill=minute)])
    assert schema.attributes[0].fill == minute and schema.dimensions[0].tile == 24
    with pytest.raises(tdb.QueryError):
        tdb.Schema("sparse", schema.dimensions, [tdb.Attribute("t", "m8[h]", fill=minute)])


# Whether the values of enumerations have an order.


@pytest.mark.parametrize("ordered", [True, False])
def test_the_order_of_the_values_of_enumerations_goes_both_ways(uri: str, ordered: bool) -> None:
    levels = pandas.Categorical(["lo", "hi", "lo"], categories=["lo", "hi"], ordered=ordered)
    table = pyarrow.table({"i": pyarrow.array([0, 1, 2], pyarrow.int64()), "o": pyarrow.array(levels)})
    frame = table.to_pandas()
    arrays = [tdb.from_arrow(f"{uri}-0", table, [tdb.Dimension("i", (0, 9), "int64")]), tdb.from_pandas(f"{uri}-1", frame, index=["i"])]
    for at, array in enumerate(arrays):
        assert array.read().to_pandas()["o"].dtype.ordered is ordered
        back = pyarrow.table(array.read())
        assert back.schema.field("o").type.ordered is ordered
        assert pyarrow.record_batch(array.read()).schema.field("o").type.ordered is ordered
        again = tdb.from_arrow(f"{uri}-{at}-again", back)
        assert again.read().to_pandas()["o"].dtype.ordered is ordered
        for end in ("parquet", "arrow"):
            file = f"{uri}-{at}.{end}"
            array.read().export(file)
            read = parquet.read_table(file) if end == "parquet" else ipc.open_file(file).read_all()
            assert read.schema.field("o").type.ordered is ordered
        import tdb.compat as tiledb

        with tiledb.open(array.uri) as old:
            assert old.df[:]["o"].dtype.ordered is ordered


def test_fixed_lists_of_values_of_polars_become_enumerations_and_come_back(uri: str) -> None:
    polars = pytest.importorskip("polars")
    levels = polars.Series("o", ["lo", "hi", "lo"], dtype=polars.Enum(["lo", "hi"]))
    array = tdb.from_arrow(uri, polars.DataFrame({"i": [0, 1, 2], "o": levels}), [tdb.Dimension("i", (0, 9), "int64")])
    assert array.enumeration("o") == ["lo", "hi"]
    back = array.read(order="row-major").to_polars()["o"]
    assert back.to_list() == ["lo", "hi", "lo"]


def test_compat_refuses_categories_that_the_enumeration_lacks(uri: str) -> None:
    import tdb.compat as tiledb

    first = pandas.DataFrame({"id": np.array([0, 1]), "c": pandas.Categorical(["a", "b"])})
    tiledb.from_pandas(uri, first, sparse=True, index_dims=["id"], full_domain=True)
    more = pandas.DataFrame({"id": np.array([5, 6]), "c": pandas.Categorical(["z", "a"])})
    with pytest.raises(tiledb.TileDBError, match="'z'.*extend"):
        tiledb.from_pandas(uri, more, sparse=True, index_dims=["id"], mode="append")
    known = more.assign(c=pandas.Categorical(["b", None], categories=["b", "z"]))
    tiledb.from_pandas(uri, known, sparse=True, index_dims=["id"], mode="append")
    with tiledb.open(uri) as array:
        assert array.df[:]["c"].tolist()[:3] == ["a", "b", "b"] and array.df[:]["c"].isna().tolist()[3]


def test_a_slip_in_a_datatype_is_refused_where_it_is_made() -> None:
    with pytest.raises(tdb.QueryError, match=r'^"flot32" is not a valid datatype; did you mean "FLOAT32"\?$'):
        tdb.Attribute("a", "flot32")
    with pytest.raises(tdb.QueryError, match='did you mean "UINT8"'):
        tdb.Dimension("d", (0, 9), dtype="uint99")
    assert tdb.Attribute("a", "DATETIME_US").datatype == "DATETIME_US"
    assert tdb.Attribute("a", "string").datatype == "string"
