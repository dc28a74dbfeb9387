"""What is cast in writes: by numpy's rule for assignment, but no value of an integer or a date changes."""

from __future__ import annotations

import datetime
import decimal
import pathlib
from typing import Any

import numpy as np
import pytest

import tdb


def made(uri: str, dtype: Any, nullable: bool = False) -> tdb.Array:
    """A dense array with three cells of a type."""
    attribute = tdb.Attribute("a", dtype, nullable=nullable)
    return tdb.create(uri, tdb.Schema("dense", [tdb.Dimension("x", (0, 2), "int64", tile=3)], [attribute]))


def table(uri: str, dtype: Any) -> tdb.Array:
    """A sparse array with one attribute of a type."""
    dimension = tdb.Dimension("x", (0, 99), "int64", tile=10)
    return tdb.create(uri, tdb.Schema("sparse", [dimension], [tdb.Attribute("a", dtype)]))


def test_real_numbers_are_rounded_to_the_precision_of_a_type(uri: str) -> None:
    array = made(uri, "float32")
    array[:] = np.array([0.1, np.inf, np.nan])
    assert array[:].tolist()[:2] == [float(np.float32(0.1)), np.inf] and np.isnan(array[2])
    with pytest.raises(tdb.WriteError, match=r"float32, which does not have the value 1e\+300"):
        array[:] = np.array([0.1, 1e300, 0.0])
    with pytest.raises(tdb.WriteError, match="float64 are given"):
        array.write(np.array([0.5, 1.0, 2.0]), casting="safe")
    with pytest.raises(tdb.WriteError, match="'same_kind' or 'safe'"):
        array.write(np.zeros(3), casting="unsafe")


def test_integers_fit_or_are_refused(uri: str) -> None:
    array = made(uri, "int32")
    array[:] = np.array([1, -2, 1 << 30], "int64")
    assert array[:].tolist() == [1, -2, 1 << 30]
    with pytest.raises(tdb.WriteError, match="does not have the value 2147483648"):
        array[:] = np.array([1, 2, 1 << 31], "int64")
    with pytest.raises(tdb.WriteError, match=r'float64 are given; \.astype\("int32"\) makes such values'):
        array[:] = np.zeros(3)
    assert array[:].tolist() == [1, -2, 1 << 30]


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars"])
def test_tables_are_cast_as_their_columns_are(uri: str, library: str) -> None:
    module = pytest.importorskip(library)
    pytest.importorskip("pyarrow")

    def frame(**columns: Any) -> Any:
        return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)

    days = np.array(["2015-01-01", "2016-02-29"], "M8[s]")
    for name, dtype, values, expected in [
        ("int", "int64", np.array([1, 2], "int32"), [1, 2]),
        ("narrow", "int8", np.array([1, -128], "int64"), [1, -128]),
        ("unsigned", "uint16", np.array([1, 65535], "int64"), [1, 65535]),
        ("real", "float32", np.array([0.5, 0.1]), [0.5, float(np.float32(0.1))]),
        ("whole", "float64", np.array([1, 2], "int16"), [1.0, 2.0]),
        ("date", "datetime64[ns]", days.astype("M8[ms]" if library == "polars" else "M8[s]"), days.astype("M8[ns]").tolist()),
        ("coarse", "datetime64[s]", days.astype("M8[ns]"), days.tolist()),
    ]:
        array = table(f"{uri}-{name}", dtype)
        array.write(frame(x=np.array([3, 5], "int32"), a=values))
        assert array[:]["x"].tolist() == [3, 5] and array[:]["a"].tolist() == expected, name
    for name, dtype, values in [
        ("too-large", "int8", np.array([1, 128])),
        ("too-precise", "datetime64[s]", np.array(["2015-01-01T00:00:00.5"] * 2, "M8[ns]")),
        ("too-many-digits", "float32", np.array([1, (1 << 24) + 1])),
        ("too-far", "float32", np.array([1.0, 1e300])),
        ("fraction", "int64", np.array([1.5, 2.0])),
    ]:
        array = table(f"{uri}-{name}", dtype)
        with pytest.raises((tdb.WriteError, tdb.ArrowError), match="a"):
            array.write(frame(x=[3, 5], a=values))
        assert array.fragments == [], name
    array = table(f"{uri}-safe", "float32")
    with pytest.raises((tdb.WriteError, tdb.ArrowError)):
        array.write(frame(x=[3, 5], a=np.array([0.5, 0.1])), casting="safe")


def test_what_pandas_and_python_have_for_dates_and_booleans_becomes_dates_and_booleans(uri: str) -> None:
    pandas = pytest.importorskip("pandas")
    moments = pandas.date_range("2020-01-01", periods=3, tz="UTC", unit="us")
    frame = pandas.DataFrame(
        {
            "utc": moments,
            "arrow": pandas.Series(moments).astype(pandas.ArrowDtype(pytest.importorskip("pyarrow").timestamp("us", "UTC"))),
            "flag": pandas.Series([True, None, False], dtype=object),
            "sure": pandas.Series([True, True, False], dtype=object),
            "day": pandas.Series([datetime.date(2020, 2, 29), None, datetime.date(1, 1, 1)], dtype=object),
        }
    )
    array = tdb.from_pandas(uri, frame)
    attributes = {one.name: (one.datatype, one.nullable) for one in array.schema.attributes}
    assert attributes == {
        "utc": ("DATETIME_US", False),
        "arrow": ("DATETIME_US", False),
        "flag": ("BOOL", True),
        "sure": ("BOOL", False),
        "day": ("DATETIME_DAY", True),
    }
    back = array.read().to_pandas()
    assert back["utc"].tolist() == list(moments) == back["arrow"].tolist()
    assert back["flag"].isna().tolist() == [False, True, False] and back["flag"][0] and str(back["flag"].dtype) == "boolean"
    assert [None if one is pandas.NaT else one.date() for one in back["day"]] == [datetime.date(2020, 2, 29), None, datetime.date(1, 1, 1)]
    array.write(frame)
    assert array.read().count() == 6
    by_time = tdb.from_pandas(uri + "-index", frame[["utc", "sure"]].set_index("utc"))
    assert by_time.schema.dimensions[0].datatype == "DATETIME_US"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([decimal.Decimal("1.5")], r'"a".*|\'a\'.*Decimal.*astype\("float64"\)'),
        ([[1, 2]], r"list.*tdb.from_arrow"),
        ([datetime.time(12)], "time.*to_timedelta"),
        ([1, "x"], r"int, str.*convert_dtypes"),
    ],
)
def test_objects_that_arrays_do_not_have_are_refused_with_the_cure(uri: str, column: list[Any], message: str) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(tdb.QueryError, match=message):
        tdb.from_pandas(uri, pandas.DataFrame({"a": pandas.Series(column, dtype=object)}))
    assert tdb.object_type(uri) is None


def test_times_of_zones_are_stored_in_utc_and_come_back_in_their_zones(uri: str) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    rome = pandas.date_range("2020-03-28 23:30", periods=3, freq="h", tz="Europe/Rome", unit="ms")
    summer = rome.tz_convert(datetime.timezone(datetime.timedelta(hours=-5, minutes=-30)))
    frame = pandas.DataFrame(
        {
            "rome": rome,
            "summer": summer,
            "arrow": pandas.Series(rome).astype(pandas.ArrowDtype(pyarrow.timestamp("ms", "Asia/Tokyo"))),
            "gaps": pandas.Series(rome).where([True, False, True]),
            "kinds": pandas.Categorical([rome[0], rome[1], rome[0]]),
            "plain": rome.tz_localize(None),
        }
    )
    array = tdb.from_pandas(uri, frame)
    assert array.meta["__tiledb_attr.rome.timezone"] == "Europe/Rome" and array.meta["__tiledb_attr.summer.timezone"] == "-05:30"
    assert array.meta["__tiledb_attr.arrow.timezone"] == "Asia/Tokyo" and "__tiledb_attr.plain.timezone" not in array.meta
    assert array.read().to_numpy()["rome"].tolist() == rome.tz_convert("UTC").tz_localize(None).to_pydatetime().tolist()
    back = array.read().to_pandas()
    for name in frame.columns:
        assert back[name].tolist() == frame[name].astype(object).tolist() or name == "gaps", name
    assert back["gaps"].isna().tolist() == [False, True, False] and back["gaps"][2] == rome[2]
    assert [str(back[name].dtype) for name in ("rome", "summer", "arrow", "plain")] == [
        "datetime64[ms, Europe/Rome]",
        "datetime64[ms, UTC-05:30]",
        "datetime64[ms, Asia/Tokyo]",
        "datetime64[ms]",
    ]
    assert pyarrow.table(array.read(fields="rome")).schema.field("rome").type == pyarrow.timestamp("ms", "Europe/Rome")
    # More rows of another zone are the same moments.
    array.write(frame.assign(rome=rome.tz_convert("UTC")))
    assert sorted(array.read().to_pandas()["rome"]) == sorted([*rome, *rome])
    by_time = tdb.from_pandas(uri + "-index", frame[["rome", "plain"]].set_index("rome"))
    assert by_time.meta["__tiledb_dim.rome.timezone"] == "Europe/Rome"
    assert by_time.read().to_pandas().index.tolist() == list(rome)


def test_zones_of_tables_of_arrow_and_polars_are_kept_as_well(uri: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    moment = datetime.datetime(2020, 7, 1, 12, tzinfo=datetime.timezone.utc)
    columns = {
        "k": pyarrow.array([1, 2], "int64"),
        "t": pyarrow.array([moment, None], pyarrow.timestamp("us", "Europe/Rome")),
        "d": pyarrow.array([moment, moment], pyarrow.timestamp("us", "+05:30")),
    }
    array = tdb.from_arrow(uri, pyarrow.table(columns), [tdb.Dimension("k", (0, 9), "int64")])
    assert array.meta["__tiledb_attr.t.timezone"] == "Europe/Rome" and array.meta["__tiledb_attr.d.timezone"] == "+05:30"
    assert array.read().to_pandas()["t"][0] == moment and array.read().to_pandas()["t"][0].hour == 14
    assert pyarrow.table(array.read())["t"].to_pylist() == [moment, None]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"k": [1], "t": polars.Series([moment]).dt.convert_time_zone("Asia/Tokyo")})
    array = tdb.from_polars(uri + "-polars", frame, "k")
    assert array.meta["__tiledb_attr.t.timezone"] == "Asia/Tokyo" and array.read().to_polars()["t"].to_list() == [moment]


def test_zones_without_a_name_that_others_know_are_refused_and_texts_that_are_no_zones_are_none(uri: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.date_range("2020-01-01", periods=2, tz="EST5EDT")})
    with pytest.raises(tdb.QueryError, match=r"'a'.*EST5EDT.*tz_convert\(\"UTC\"\)"):
        tdb.from_pandas(uri, frame)
    assert tdb.object_type(uri) is None
    array = tdb.from_pandas(uri, frame.assign(a=frame["a"].dt.tz_convert("UTC")))
    for zone in ("../../etc/passwd", "No/Such_Zone", "+99:00", "", "EST5EDT"):
        array.meta["__tiledb_attr.a.timezone"] = zone
        dtype = str(array.reopen().read().to_pandas()["a"].dtype)
        assert dtype.startswith("datetime64[") and "," not in dtype, zone


def test_names_of_columns_that_are_not_names_of_fields_are_refused(uri: str) -> None:
    pandas = pytest.importorskip("pandas")
    levels = pandas.DataFrame([[1, 2]], columns=pandas.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    with pytest.raises(tdb.QueryError, match=r"2 levels.*frame.columns = "):
        tdb.from_pandas(uri, levels)
    levels.columns = ["_".join(map(str, one)) for one in levels.columns]
    assert tdb.from_pandas(uri, levels).schema.names == ["__tiledb_rows", "a_x", "a_y"]
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    for index in (None, ["a"]):
        with pytest.raises(tdb.QueryError, match="two columns with the name 'a'"):
            tdb.from_pandas(uri + "-twice", twice, index=index)
    with pytest.raises(tdb.WriteError, match="two columns with the name 'a'"):
        table(uri + "-array", "int64").write(twice)


@pytest.mark.parametrize("kind", ["counted", "named", "texts", "dates", "levels", "some", "columns", "dense"])
def test_a_table_comes_back_with_its_index(uri: str, kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": [3, 5, 9], "s": ["a", "b", "c"], "v": [0.5, 1.5, 2.5]})
    how: dict[str, Any] = {}
    if kind == "named":
        frame = frame.set_index("k")
    elif kind == "texts":
        frame.index = pandas.Index(["x", "y", "z"])
    elif kind == "dates":
        frame.index = pandas.DatetimeIndex(np.array(["2020-01-01", "2020-01-02", "2020-01-05"], "M8[ns]"), name="t")
    elif kind == "levels":
        frame = frame.set_index(["k", "s"])
    elif kind == "some":
        frame = frame.iloc[1:]
    elif kind == "columns":
        how = {"index": ["k"]}
    elif kind == "dense":
        how = {"sparse": False}
    array = tdb.from_pandas(uri, frame, **how)
    pandas.testing.assert_frame_equal(array.read().to_pandas(), frame, check_freq=False)
    expected = frame[frame["v"] > 1]
    expected = expected.reset_index(drop=True) if kind == "columns" else expected
    pandas.testing.assert_frame_equal(tdb.open(uri).read(where="v > 1").to_pandas(), expected, check_freq=False)
    plain = array.read().to_pandas(index=[])
    assert plain.index.tolist() == [0, 1, 2][: len(frame)] and len(plain.columns) == array.schema.ndim + len(array.schema.attributes)


def test_programs_of_tiledb_py_see_the_index_and_theirs_is_seen(uri: str) -> None:
    pandas = pytest.importorskip("pandas")
    import tdb.compat as tiledb

    frame = pandas.DataFrame({"v": [0.5, 1.5]}, index=pandas.Index([3, 5], name="k"))
    tdb.from_pandas(uri, frame)
    with tiledb.open(uri) as array:
        assert array.df[:].index.name == "k" and array.df[:].index.tolist() == [3, 5]
    tiledb.from_pandas(uri + "-compat", frame, sparse=True)
    pandas.testing.assert_frame_equal(tdb.open(uri + "-compat").read().to_pandas(), frame)


def test_dimensions_of_tables_have_room_for_later_rows(uri: str) -> None:
    pandas = pytest.importorskip("pandas")
    for name, first, later in [
        ("dates", np.array(["2020-01-01"], "M8[ns]"), np.array(["2020-01-02"], "M8[ns]")),
        ("days", np.array(["2020-01-01"], "M8[D]").astype("M8[s]"), np.array(["9999-12-31"], "M8[s]")),
        ("numbers", np.array([7]), np.array([-(1 << 61)])),
        ("small", np.array([7], "int8"), np.array([-60], "int8")),
        ("unsigned", np.array([7], "uint8"), np.array([254], "uint8")),
        ("real", np.array([0.5]), np.array([-1e30])),
        ("times", np.array([1], "m8[ms]"), np.array([-5], "m8[ms]")),
        ("the greatest", np.array([255], "uint8"), np.array([255], "uint8")),
    ]:
        array = tdb.from_pandas(f"{uri}-{name}", pandas.DataFrame({"k": first, "v": [1]}), index=["k"])
        array.write(pandas.DataFrame({"k": later, "v": [2]}))
        assert sorted(array[:]["v"].tolist()) == [1, 2], name
        assert array.verify()["problems"] == []
    tiled = tdb.from_pandas(uri + "-tile", pandas.DataFrame({"k": np.array([7], "uint8"), "v": [1]}), index=["k"], tile=10)
    assert tiled.schema.dimensions[0].domain == (0, 245)
    exact = tdb.from_pandas(uri + "-exact", pandas.DataFrame({"k": [3, 9], "v": [1, 2]}), index=["k"], full_domain=False)
    assert exact.schema.dimensions[0].domain == (3, 9)


def test_rows_that_are_written_to_a_numbered_table_follow_the_others(uri: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": [1, 2]})
    array = tdb.from_pandas(uri, frame)
    array.write(frame.assign(v=[3, 4]))
    assert array[:]["__tiledb_rows"].tolist() == [0, 1, 2, 3] and array[:]["v"].tolist() == [1, 2, 3, 4]
    array.write(frame.set_axis([10, 20], axis=0))
    assert array[:]["__tiledb_rows"].tolist() == [0, 1, 2, 3, 10, 20]
    pandas.testing.assert_frame_equal(array.read(where="v > 2").to_pandas(), pandas.DataFrame({"v": [3, 4]}, index=[2, 3]))


def test_categories_are_looked_up_by_their_text(uri: str) -> None:
    pandas = pytest.importorskip("pandas")
    array = tdb.from_pandas(uri, pandas.DataFrame({"c": pandas.Categorical(["b", "a"])}))
    array.write(pandas.DataFrame({"c": pandas.Categorical(["b", "b", "a"], categories=["x", "b", "a"])}))
    assert array.read().to_pandas()["c"].tolist() == ["b", "a", "b", "b", "a"]
    with pytest.raises(tdb.WriteError, match="'x' is not a value of the enumeration"):
        array.write(pandas.DataFrame({"c": pandas.Categorical(["x"])}))


def test_tables_of_polars_become_arrays(uri: str) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"t": [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)], "s": ["x", None], "v": [1, 2]})
    rows = tdb.from_polars(uri, frame)
    assert rows.schema.names == ["__tiledb_rows", "t", "s", "v"] and rows[:]["v"].tolist() == [1, 2]
    array = tdb.from_polars(uri + "-index", frame, "t")
    assert array[:]["v"].tolist() == [2, 1] and array[:]["s"].tolist() == [None, "x"]
    array.write(polars.DataFrame({"t": [datetime.date(2030, 1, 1)], "s": ["y"], "v": [3]}))
    assert array.read().count() == 3
    for index, message in [("q", "no column 'q'"), ("s", "1 of its values are missing")]:
        with pytest.raises(tdb.QueryError, match=message):
            tdb.from_polars(uri + "-wrong", frame, index)
    with pytest.raises(tdb.QueryError, match="index="):
        tdb.from_polars(uri + "-wrong", frame, tile=3)
    assert tdb.object_type(uri + "-wrong") is None


def test_tables_of_arrow_without_dimensions_are_numbered_in_batches(uri: str, tmp_path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"v": pyarrow.chunked_array([[1, 2], [3]]), "s": ["a", "b", "a"]})
    array = tdb.from_arrow(uri, table)
    assert array[:]["__tiledb_rows"].tolist() == [0, 1, 2] and array[:]["v"].tolist() == [1, 2, 3]
    again = tdb.from_arrow(tmp_path / "again", pyarrow.table(array.read()))
    assert again.schema.names == array.schema.names and again[:]["v"].tolist() == [1, 2, 3]
    with pytest.raises(tdb.QueryError, match="__tiledb_rows.*as a dimension, or rename"):
        tdb.from_arrow(tmp_path / "twice", table.append_column("__tiledb_rows", [[0, 1, 2]]))
    with pytest.raises(tdb.ArrowError, match=r"from_arrow\(uri, table, \[tdb.Dimension") as refused:
        tdb.from_arrow(tmp_path / "dense", table, sparse=False)
    assert "SchemaOptions" not in str(refused.value)
