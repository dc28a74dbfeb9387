"""Writing: every type, dense boxes, sparse cells, tables, changes of schemas, maintenance, groups, pickles."""

from __future__ import annotations

import pathlib
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import tdb

TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool", "datetime64[ns]", "datetime64[D]", "timedelta64[ms]"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("nullable", [False, True])
def test_numbers_and_dates_come_back_as_they_were(uri: str, dtype: str, nullable: bool) -> None:
    values = np.arange(12).astype(dtype).reshape(3, 4)
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("x", (1, 3), "uint8", tile=2), tdb.Dimension("y", (1, 4), "uint8", tile=3)],
        [tdb.Attribute("a", dtype, nullable=nullable, filters="byteshuffle, zstd")],
    )
    array = tdb.create(uri, schema)
    given: Any = np.ma.MaskedArray(values, values == values[1, 1]) if nullable else values
    array.write(given)
    got = array[:]
    assert got.dtype == values.dtype and got.shape == (3, 4)
    if nullable:
        assert (np.ma.getmaskarray(got) == np.ma.getmaskarray(given)).all()
        assert (got.compressed() == given.compressed()).all()
    else:
        assert (got == values).all()


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (str, ["", "Größe", "a" * 300, "日本"]),
        ("ascii", ["", "b", "c", "d"]),
        (bytes, [b"", b"\0\xff", b"x", b"yz"]),
        ("STRING_UTF16", ["", "é", "𝄞", "x"]),
        ("STRING_UTF32", ["", "é", "𝄞", "x"]),
    ],
)
@pytest.mark.parametrize("nullable", [False, True])
def test_texts_and_bytes_come_back_as_they_were(uri: str, dtype: Any, values: list[Any], nullable: bool) -> None:
    schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 9), "int64")], [tdb.Attribute("a", dtype, nullable=nullable)])
    array = tdb.create(uri, schema)
    given: list[Any] = [*values, None] if nullable else values
    array.write({"x": np.arange(len(given)), "a": given})
    assert array.read(order="row-major").to_numpy()["a"].tolist() == given


def test_lists_and_several_values_per_cell_come_back_as_they_were(uri: str) -> None:
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("x", (0.0, 1.0), "float64")],
        [tdb.Attribute("list", "int16", values="var"), tdb.Attribute("three", "float32", values=3), tdb.Attribute("code", "CHAR", values=2)],
    )
    array = tdb.create(uri, schema)
    array.write(
        {
            "x": [0.5, 0.25],
            "list": [np.array([1, 2, 3], np.int16), []],
            "three": np.array([[1, 2, 3], [4, 5, 6]], np.float32),
            "code": np.array([b"ab", b"cd"]),
        }
    )
    cells = array.read(order="row-major").to_numpy()
    assert [one.tolist() for one in cells["list"]] == [[], [1, 2, 3]]
    assert cells["three"].tolist() == [[4, 5, 6], [1, 2, 3]]
    assert cells["code"].tolist() == [b"cd", b"ab"]


def test_boxes_are_written_in_the_order_of_their_memory(uri: str) -> None:
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("x", (0, 4), "int32", tile=2), tdb.Dimension("y", (0, 5), "int32", tile=4)],
        [tdb.Attribute("a", "int64", fill=-1), tdb.Attribute("b", "float32", values=2)],
    )
    array = tdb.create(uri, schema)
    values = np.arange(6).reshape(2, 3)
    pairs = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    array[1:3, 2:5] = {"a": values, "b": pairs}
    array[3, 0:2] = {"a": [[8, 9]], "b": 0.5}
    array[4:5, 0:3] = {"a": np.asfortranarray([[5, 6, 7]]), "b": np.zeros((1, 3, 2), np.float32)}
    got = array[:]
    assert got["a"][1:3, 2:5].tolist() == values.tolist() and got["a"][0].tolist() == [-1] * 6
    assert got["b"][1:3, 2:5].tolist() == pairs.tolist()
    assert got["a"][3, :2].tolist() == [8, 9] and got["a"][4, :3].tolist() == [5, 6, 7]


def test_fortran_arrays_are_written_column_by_column(uri: str) -> None:
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("x", (0, 2), "int32", tile=2), tdb.Dimension("y", (0, 3), "int32", tile=3)],
        [tdb.Attribute("a", "int64")],
    )
    array = tdb.create(uri, schema)
    values = np.arange(12).reshape(3, 4)
    array.write(np.asfortranarray(values))
    assert array[:].tolist() == values.tolist()
    array.write(values.T.copy().T)
    assert array[:].tolist() == values.tolist()


def test_equal_coordinates_are_refused_kept_or_replaced(uri: str, tmp_path: pathlib.Path) -> None:
    dimension, attribute = tdb.Dimension("x", (0, 9), "int64"), tdb.Attribute("a", "int64")
    array = tdb.create(uri, tdb.Schema("sparse", [dimension], [attribute]))
    with pytest.raises(tdb.WriteError, match="same coordinates"):
        array.write({"x": [1, 1], "a": [1, 2]})
    array.write({"x": [1, 1], "a": [1, 2]}, duplicates="last")
    assert array[:]["a"].tolist() == [2]
    both = tdb.create(tmp_path / "both", tdb.Schema("sparse", [dimension], [attribute], duplicates=True))
    both.write({"x": [1, 1], "a": [1, 2]})
    assert sorted(both[:]["a"].tolist()) == [1, 2]


def test_a_delete_by_coordinates_spares_what_is_null_and_takes_it_if_asked_for(uri: str) -> None:
    schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 99), "int64", tile=10)], [tdb.Attribute("a", "int64", nullable=True)])
    array = tdb.create(uri, schema)
    array.write({"x": [1, 2, 3, 4], "a": [10, None, 30, None]})
    left = lambda: array.read(order="row-major").to_numpy()["x"].tolist()
    with pytest.raises(tdb.QueryError, match="2 cells would be deleted .* by_coordinates=True spares them"):
        array.delete("a > 20")
    with pytest.raises(ValueError, match="exclude each other"):
        array.delete("a > 20", unknown_too=True, by_coordinates=True)
    assert array.delete("a > 20", by_coordinates=True, dry_run=True) == 1 and left() == [1, 2, 3, 4]
    assert array.delete("a > 20", by_coordinates=True) == 1 and left() == [1, 2, 4]
    assert array.delete("a > 20", by_coordinates=True) == 0
    with pytest.raises(tdb.QueryError, match="null; by_coordinates=True finds the cells first"):
        array.delete("a is null")
    assert array.delete("a is null", by_coordinates=True) == 2 and left() == [1]


def test_deletes_schema_changes_and_maintenance_leave_the_right_cells(uri: str) -> None:
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("x", (0, 99), "int64", tile=10)],
        [tdb.Attribute("a", "int64"), tdb.Attribute("sky", "uint8", enumeration="sky")],
        [tdb.Enumeration("sky", ["clear", "cloudy"])],
        current_domain=[(0, 9)],
    )
    array = tdb.create(uri, schema, at=1)
    array.write({"x": [1, 2, 3], "a": [10, 20, 30], "sky": ["clear", "cloudy", "clear"]}, at=2)
    assert array.delete("a == 20 or x == 9", at=3) == 1
    array.evolve(
        add=[tdb.Attribute("b", "float32", nullable=True)],
        extend_enumerations={"sky": ["fog"]},
        expand={"x": (0, 19)},
        at=4,
    )
    assert array.schema.current_domain == ((0, 19),) and array.enumeration("sky") == ["clear", "cloudy", "fog"]
    array.write({"x": [15], "a": [150], "sky": ["fog"], "b": [0.5]}, at=5)
    expected = {"x": [1, 3, 15], "a": [10, 30, 150], "sky": [0, 0, 2], "b": [None, None, 0.5]}
    read = lambda: {name: values.tolist() for name, values in array.read(order="row-major").to_numpy().items()}
    assert read() == expected
    assert array.consolidate(dry_run=True)["done"] is False and len(array.fragments) == 2
    assert array.consolidate()["done"] is True and len(array.fragments) == 1
    assert array.vacuum()["done"] is True
    assert array.consolidate("commits")["done"] in (True, False)
    assert read() == expected and array.verify()["problems"] == []
    array.evolve(drop=["sky"], drop_enumerations=["sky"], at=7)
    del expected["sky"]
    assert read() == expected
    with pytest.raises(tdb.QueryError, match="fragmints"):
        array.consolidate("fragmints")


def test_metadata_is_a_dictionary(uri: str) -> None:
    array = tdb.create(uri, tdb.Schema("sparse", [tdb.Dimension("x", (0, 9), "int64")], [tdb.Attribute("a")]))
    array.meta.update({"text": "Größe", "bytes": b"\0\1", "one": 1, "real": 0.5, "day": np.datetime64("2020-01-01"), "list": [1, 2, 3]})
    assert array.meta["text"] == "Größe" and array.meta["bytes"] == b"\0\1" and array.meta["one"] == 1
    assert array.meta["list"].tolist() == [1, 2, 3] and array.meta["day"] == np.datetime64("2020-01-01")
    del array.meta["one"]
    assert sorted(array.meta) == ["bytes", "day", "list", "real", "text"] and "one" not in array.meta
    with pytest.raises(KeyError):
        del array.meta["one"]
    with pytest.raises(tdb.QueryError, match="metadata"):
        array.meta["x"] = {"a": 1}


def test_groups_have_members_and_metadata(tmp_path: pathlib.Path, fixtures: pathlib.Path) -> None:
    group = tdb.Group.create(tmp_path / "group")
    tdb.Group.create(tmp_path / "group" / "inner")
    group.add("inner", name="in", relative=True)
    group.add(fixtures / "quickstart", name="quick")
    group.meta["title"] = "all"
    again = tdb.Group(tmp_path / "group")
    assert sorted((one.name or "", one.kind) for one in again) == [("in", "group"), ("quick", "array")]
    assert isinstance(again["in"], tdb.Group) and again.meta["title"] == "all"
    assert again["quick"][1, 1] == 1 and "quick" in again and len(again) == 2  # type: ignore[index]
    again.remove("in")
    assert [one.name for one in pickle.loads(pickle.dumps(again))] == ["quick"]
    with pytest.raises(KeyError):
        again["in"]


def test_arrays_and_queries_are_pickled_by_place_and_time_and_never_with_keys(uri: str) -> None:
    key = b"0123456789abcdeF0123456789abcdeF"
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, 3), "int32", tile=2)], [tdb.Attribute("a", "int64")])
    secret = tdb.create(uri, schema, key=key)
    secret.write([1, 2, 3, 4])
    pickled = pickle.dumps(secret)
    assert key not in pickled and key.hex().encode() not in pickled and uri.encode() in pickled
    assert key.decode() not in repr(secret) + repr(secret._place)
    with pytest.raises(tdb.Error):
        pickle.loads(pickled)

    plain = tdb.create(uri + "-plain", schema)
    plain.write([1, 2, 3, 4])
    opened = tdb.open(uri + "-plain")
    copy, query = pickle.dumps(opened), pickle.dumps(opened.read(fields=["a"], ranges={"x": (1, 2)}, where="a > 2"))
    import time

    time.sleep(0.01)
    plain.write([5, 6, 7, 8])
    assert pickle.loads(copy)[:].tolist() == [1, 2, 3, 4], "what was written later is not seen"
    assert pickle.loads(query).to_numpy()["a"].tolist()[1] == 3
    stored = opened.read(where="a > 2").explain()["cells"]
    assert stored == 4


def test_tables_of_arrow_become_arrays_and_come_back(uri: str, tmp_path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(
        {
            "x": pyarrow.array([3, 1, 2], pyarrow.int32()),
            "name": pyarrow.array(["c", None, "b"]),
            "rain": pyarrow.array([0.5, None, 7.25], pyarrow.float32()),
            "sky": pyarrow.array(["clear", "cloudy", "clear"]).dictionary_encode(),
        }
    )
    array = tdb.from_arrow(uri, table, [tdb.Dimension("x", (0, 9), "int32")], filters="byteshuffle, zstd(5)")
    assert array.schema.attribute("rain").nullable and array.enumeration(array.schema.attribute("sky").enumeration or "") == ["clear", "cloudy"]
    assert [one["name"] for one in array.schema.attribute("rain").filters] == ["byteshuffle", "zstd"]  # type: ignore[index]
    back = pyarrow.table(array.read(order="row-major"))
    assert back["x"].to_pylist() == [1, 2, 3] and back["name"].to_pylist() == [None, "b", "c"]
    assert back["sky"].to_pylist() == ["cloudy", "clear", "clear"]
    array.write(table.slice(0, 1).set_column(0, "x", pyarrow.array([7], pyarrow.int32())))
    assert array.read().count() == 4
    # A table that came from an array makes the same array again.
    again = tdb.from_arrow(tmp_path / "again", pyarrow.table(array.read()))
    assert {**again.schema.to_json(), "enumerations": []} == {**array.schema.to_json(), "enumerations": []}
    with pytest.raises(tdb.ArrowError):
        tdb.from_arrow(tmp_path / "bad", pyarrow.table({"x": [1], "c": [{"a": 1}]}), [tdb.Dimension("x", (0, 9), "int64")])


def test_dense_tables_of_arrow_fill_the_domain(uri: str) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2, 3, 4], "b": ["w", "x", "y", "z"]})
    array = tdb.from_arrow(uri, frame, [tdb.Dimension("row", (1, 4), "int64", tile=2)], sparse=False)
    assert array.schema.dense and array.read().to_numpy()["b"].tolist() == ["w", "x", "y", "z"]


def test_tables_of_pandas_become_arrays_and_come_back(uri: str, tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "station": ["Oslo", "Bergen", "Oslo"],
            "day": pandas.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]),
            "rain": [0.5, 7.25, 1.0],
            "count": pandas.array([1, None, 3], dtype="Int64"),
            "note": ["a", None, "c"],
            "sky": pandas.Categorical(["clear", "cloudy", None]),
        }
    )
    array = tdb.from_pandas(uri, frame, index=["station", "day"])
    back = array.read(order="row-major").to_pandas()
    assert back["station"].tolist() == ["Bergen", "Oslo", "Oslo"]
    assert back["day"].dt.strftime("%d").tolist() == ["02", "01", "03"]
    assert back["rain"].tolist() == [7.25, 0.5, 1.0]
    assert back["count"].isna().tolist() == [True, False, False] and back["count"].tolist()[1:] == [1, 3]
    assert back["sky"].isna().tolist() == [False, False, True] and back["sky"].tolist()[:2] == ["cloudy", "clear"]
    assert back["note"].isna().tolist() == [True, False, False]
    rows = tdb.from_pandas(tmp_path / "rows", frame[["rain", "note"]])
    assert rows.schema.sparse and rows.read(fields=["rain"]).to_numpy()["rain"].tolist() == [0.5, 7.25, 1.0]
    dense = tdb.from_pandas(tmp_path / "dense", frame[["rain", "note"]], sparse=False)
    assert dense.schema.dense and dense.read(fields=["rain"]).to_numpy()["rain"].tolist() == [0.5, 7.25, 1.0]


@pytest.mark.parametrize("dtype", ["object", "string", "str"])
@pytest.mark.parametrize("nothing", [None, float("nan"), "NA"])
def test_missing_texts_of_pandas_become_null_cells(uri: str, dtype: str, nothing: Any) -> None:
    pandas = pytest.importorskip("pandas")
    if dtype == "str" and not isinstance(pandas.Series([""]).dtype, pandas.StringDtype):
        pytest.skip("this pandas has no such type")
    missing = pandas.NA if nothing == "NA" else nothing
    column = pandas.Series(["a", missing, "Größe", "", missing], dtype=dtype)
    array = tdb.from_pandas(uri, pandas.DataFrame({"note": column})[1:])
    assert array.schema.attributes[0].nullable
    assert array.read(fields="note").to_numpy()["note"].tolist() == [None, "Größe", "", None]
    back = array.read().to_pandas()["note"]
    assert back.isna().tolist() == [True, False, False, True] and back.tolist()[1:3] == ["Größe", ""]
    # Without missing texts nothing can be null, and pandas has the type that it makes of texts by itself.
    array = tdb.from_pandas(f"{uri}-full", pandas.DataFrame({"note": column.dropna().reset_index(drop=True)}))
    assert not array.schema.attributes[0].nullable
    back = array.read().to_pandas()["note"]
    assert back.tolist() == ["a", "Größe", ""] and back.dtype == pandas.Series(["a"]).dtype


@pytest.mark.parametrize("datatype", ["STRING_UTF8", "STRING_UTF16"])
@pytest.mark.parametrize("has_arrow", [True, False])
def test_texts_of_pandas_are_written_with_and_without_arrow(
    uri: str, datatype: str, has_arrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.array(["a", None, "Größe 🌊", ""], dtype=pandas.StringDtype("python", na_value=np.nan))[1:]
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, 2), "int64", tile=3)], [tdb.Attribute("a", datatype, values="var", nullable=True)])
    array = tdb.create(uri, schema)
    if not has_arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    array.write({"a": column})
    assert array[:].tolist() == [None, "Größe 🌊", ""]
    whole = tdb.create(f"{uri}-whole", tdb.Schema("dense", schema.dimensions, [tdb.Attribute("a", datatype, values="var")]))
    with pytest.raises(tdb.WriteError, match="cannot be null"):
        whole.write({"a": column})


def test_objects_that_are_no_texts_are_refused(uri: str) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(tdb.QueryError, match="neither texts nor bytes"):
        tdb.from_pandas(uri, pandas.DataFrame({"note": pandas.Series(["a", 1.5], dtype=object)}))


def test_schemas_are_equal_after_json(uri: str, fixtures: pathlib.Path) -> None:
    for name in ("quickstart", "enumeration", "sparse_dims_mixed", "current_domain_sparse", "filter_chain_long", "hilbert_string"):
        schema = tdb.open(fixtures / name).schema
        core = tdb.open(fixtures / name)._core.whole_schema()
        again = tdb.Schema.of_json(core)
        assert again.dimensions == schema.dimensions and again.attributes == schema.attributes
        array = tdb.create(f"{uri}-{name}", again)
        assert array.schema.said == {**schema.said, "version": array.schema.version}


def test_a_single_cell_takes_a_text(uri: str) -> None:
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, 3), "int64", tile=2)], [tdb.Attribute("a", str), tdb.Attribute("b", "int8", nullable=True)])
    array = tdb.create(uri, schema)
    array[2] = {"a": "Größe", "b": None}
    assert array[2] == {"a": "Größe", "b": None} or array[2]["a"] == "Größe" and array[2]["b"].mask


def test_members_of_groups_are_removed_by_name_location_and_path(tmp_path: pathlib.Path) -> None:
    group = tdb.Group.create(tmp_path / "g")
    for name in ("a", "b"):
        tdb.Group.create(tmp_path / name)
    tdb.Group.create(tmp_path / "g" / "c")
    group.add(tmp_path / "a", name="first")
    group.add(tmp_path / "b")
    group.add("c", relative=True)
    group.remove(str(tmp_path / "b"))
    assert {member.name for member in group} == {"first", None} and len(group) == 2
    group.remove("c")
    group.remove("first")
    assert len(group) == 0
    with pytest.raises(tdb.WriteError, match="no member"):
        group.remove(str(tmp_path / "b"))


def test_years_and_far_dates_are_what_was_given(uri: str) -> None:
    years = (np.datetime64("2000", "Y"), np.datetime64("2099", "Y"))
    array = tdb.create(uri, tdb.Schema("sparse", [tdb.Dimension("y", years, "datetime64[Y]", tile=10)], [tdb.Attribute("a", "int8")]))
    array.write({"y": np.array(["2001", "2050"], "M8[Y]"), "a": [1, 2]})
    assert tdb.Schema.of_json(array.schema.to_json()).dimensions[0].domain == array.schema.dimensions[0].domain == years
    assert array[:]["y"].tolist() == np.array(["2001", "2050"], "M8[Y]").tolist()
    hours = (np.datetime64(-(2**63) + 1, "h"), np.datetime64(2**62, "h"))
    schema = tdb.Schema("sparse", [tdb.Dimension("h", hours, "datetime64[h]")], [tdb.Attribute("a")])
    assert schema.dimensions[0].domain == tdb.Schema.of_json(schema.to_json()).dimensions[0].domain == hours
