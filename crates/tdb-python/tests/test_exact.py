"""What is written is what was given, or an error; masks and positions choose the cells that they name."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pytest

import tdb

DAY = datetime.datetime(2020, 1, 1)
NOON = datetime.datetime(2020, 1, 1, 12, 30)


def _array(uri: str, dtype: Any, values: int = 1) -> tdb.Array:
    schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 99), "int64")], [tdb.Attribute("a", dtype, values=values)])
    return tdb.create(uri, schema)


@pytest.mark.parametrize(
    ("dtype", "given"),
    [
        ("datetime64[D]", [DAY, NOON]),
        ("datetime64[D]", np.array([DAY, NOON], object)),
        ("datetime64[D]", ["2020-01-01", "2020-01-01T12:30"]),
        ("datetime64[h]", [np.datetime64("2020-01-01T12:30", "m"), np.datetime64("2020", "Y")]),
        ("datetime64[ns]", np.array(["2000-01-01", "3000-01-01"], "M8[s]")),
        ("datetime64[ns]", [datetime.datetime(2000, 1, 1), datetime.datetime(3000, 1, 1)]),
        ("datetime64[s]", np.array([0, 1], "M8[ms]")),
        ("timedelta64[s]", [datetime.timedelta(seconds=1), datetime.timedelta(milliseconds=1)]),
        ("timedelta64[ns]", np.array([0, 1 << 60], "m8[s]")),
        ("float64", np.array([0, 2**53 + 1])),
        ("float64", [0, 2**53 + 1]),
        ("float64", [0.5, 2**53 + 1]),
        ("float32", np.array([0, 2**24 + 1], np.int32)),
        ("float64", np.array([0, 2**64 - 1], np.uint64)),
        ("int8", [1, 300]),
        ("int32", [1.0, 1.5]),
        ("uint64", np.array([1, -1])),
        ("int64", np.array([1, 2**63], np.uint64)),
        ("bool", [1, 2]),
        ("int32", [1, decimal.Decimal("1.5")]),
        ("float32", [0.5, 1e300]),
    ],
)
def test_a_value_that_a_type_does_not_have_is_refused(uri: str, dtype: str, given: Any) -> None:
    array = _array(uri, dtype)
    with pytest.raises(tdb.WriteError):
        array.write({"x": [0, 1], "a": given})
    assert array.read().count() == 0


@pytest.mark.parametrize(
    ("dtype", "given", "stored"),
    [
        ("datetime64[D]", [DAY, DAY], ["2020-01-01"] * 2),
        ("datetime64[D]", [datetime.date(2020, 1, 1), DAY], ["2020-01-01"] * 2),
        ("datetime64[ns]", np.array(["2000-01-01", "NaT"], "M8[s]"), ["2000-01-01", "NaT"]),
        ("datetime64[s]", np.array([0, 1000], "M8[ms]"), [0, 1]),
        ("datetime64[s]", [0, np.datetime64(1, "s")], [0, 1]),
        ("timedelta64[us]", [datetime.timedelta(microseconds=7), datetime.timedelta(days=1)], [7, 86_400_000_000]),
        ("float64", np.array([2**53, -(2**60)]), [2.0**53, -(2.0**60)]),
        ("float64", np.array([2**63, 2**64 - 2**11], np.uint64), [2.0**63, 2.0**64 - 2.0**11]),
        ("float32", [0.1, 2], np.array([0.1, 2], np.float32)),
        ("int32", [1.0, 2], [1, 2]),
        ("bool", [True, False], [True, False]),
        ("bool", [0, 1], [False, True]),
        ("int32", [decimal.Decimal("2"), 3], [2, 3]),
        ("float32", [0.5, float("inf")], [0.5, np.inf]),
    ],
)
def test_a_value_that_a_type_has_comes_back_from_any_other_type(uri: str, dtype: str, given: Any, stored: Any) -> None:
    array = _array(uri, dtype)
    array.write({"x": [0, 1], "a": given})
    got = array.read(order="row-major").to_numpy()["a"]
    np.testing.assert_array_equal(got, np.array(stored, dtype))


def test_objects_of_python_may_be_null_in_every_type(uri: str) -> None:
    types: dict[str, list[Any]] = {
        "bool": [True, None],
        "int8": [-1, None],
        "float32": [0.5, None],
        "datetime64[ms]": [DAY, None],
        "timedelta64[s]": [datetime.timedelta(seconds=3), None],
    }
    attributes = [tdb.Attribute(name, name, nullable=True) for name in types]
    array = tdb.create(uri, tdb.Schema("sparse", [tdb.Dimension("x", (0, 99), "int64")], attributes))
    array.write({"x": [0, 1], **types})
    array.write({"x": [2, 3], **{name: np.array(values, object) for name, values in types.items()}})
    cells = array.read(order="row-major").to_numpy()
    for name, values in types.items():
        assert np.ma.getmaskarray(cells[name]).tolist() == [False, True, False, True]
        assert (cells[name].compressed() == np.array(values[:1], name)).all()


def test_dates_of_dimensions_are_neither_cut_nor_wrapped(uri: str) -> None:
    dimension = tdb.Dimension("t", (np.datetime64("1900-01-01", "ns"), np.datetime64("2200-01-01", "ns")), "datetime64[ns]")
    array = tdb.create(uri, tdb.Schema("sparse", [dimension], [tdb.Attribute("a", "int8")]))
    with pytest.raises(tdb.WriteError):
        array.write({"t": np.array(["3000-01-01"], "M8[s]"), "a": [1]})
    array.write({"t": np.array(["2000-01-01"], "M8[s]"), "a": [1]})
    with pytest.raises(tdb.QueryError, match="3000"):
        array.read(ranges={"t": [np.datetime64("3000-01-01", "s")]}).count()
    assert array.read(ranges={"t": [np.datetime64("2000-01-01", "s")]}).count() == 1


def test_bytes_that_are_too_long_for_their_cells_are_refused(uri: str) -> None:
    array = _array(uri, "CHAR", 3)
    for given in ([b"ab", b"abcd"], np.array([b"abcd", b""]), ["abcd", "a"], np.array(["é", "a"])):
        with pytest.raises(tdb.WriteError):
            array.write({"x": [0, 1], "a": given})
    array.write({"x": [0, 1], "a": np.array([b"ab", b"abc"], "S9")})
    assert array.read(order="row-major").to_numpy()["a"].tolist() == [b"ab", b"abc"]


def test_a_mask_chooses_the_coordinates_that_it_marks(uri: str) -> None:
    dimensions = [tdb.Dimension("x", (10, 15), "uint64", tile=4), tdb.Dimension("y", (1, 3), "uint64", tile=2)]
    array = tdb.create(uri, tdb.Schema("dense", dimensions, [tdb.Attribute("a", "int32")]))
    values = np.arange(18, dtype=np.int32).reshape(6, 3)
    array.write(values)
    mask = np.array([True, False, False, True, False, True])
    np.testing.assert_array_equal(array[mask], values[mask])
    np.testing.assert_array_equal(array[mask.tolist()], values[mask])
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(array[pandas.Series(mask)], values[mask])
    np.testing.assert_array_equal(array[:, [False, True, True]], values[:, 1:])
    with pytest.raises(IndexError, match="5 items for 6"):
        array[mask[:5]]
    with pytest.raises(tdb.QueryError, match="booleans"):
        array.read(ranges={"x": mask})
    with pytest.raises(tdb.QueryError, match="booleans"):
        array[True]


pandas = pytest.importorskip("pandas")


def test_nanoseconds_of_pandas_are_kept(uri: str) -> None:
    array = _array(uri, "datetime64[ns]")
    moment = pandas.Timestamp("2020-01-01T00:00:00.123456789")
    array.write({"x": [0, 1], "a": [moment, moment]})
    array.write({"x": [2, 3], "a": pandas.Series([moment, moment]).dt.tz_localize("UTC")})
    assert array.read().to_numpy()["a"].tolist() == [moment.value] * 4


def test_numbers_without_a_label_are_missing_in_tables(uri: str) -> None:
    frame = pandas.DataFrame({"s": pandas.Categorical(["a", "b"]), "n": [1, 2]})
    array = tdb.from_pandas(uri, frame)
    # A dense array has cells that nobody wrote, and their fill value is no number of a label.
    dimension = tdb.Dimension("x", (0, 3), "int64", tile=4)
    dense = tdb.create(f"{uri}-dense", tdb.Schema("dense", [dimension], array.schema.attributes, [tdb.Enumeration("s", ["a", "b"])]))
    dense[1:3] = {"s": ["a", "b"], "n": [1, 2]}
    assert dense.read().to_pandas()["s"].isna().tolist() == [True, False, False, True]


def test_an_index_with_values_of_its_own_is_kept(tmp_path: Any) -> None:
    frame = pandas.DataFrame({"a": [1, 2, 3]}, index=["x", "y", "z"])
    table = tdb.from_pandas(tmp_path / "texts", frame).read(order="row-major").to_pandas()
    assert table.index.tolist() == ["x", "y", "z"] and table["a"].tolist() == [1, 2, 3]
    some = pandas.DataFrame({"a": [1, 2, 3]})[[False, True, True]]
    table = tdb.from_pandas(tmp_path / "some", some).read(order="row-major").to_pandas()
    assert table.index.tolist() == [1, 2]
    counted = tdb.from_pandas(tmp_path / "counted", some.reset_index(drop=True))
    assert counted.schema.sparse and counted[:]["a"].tolist() == [2, 3] and counted[:]["__tiledb_rows"].tolist() == [0, 1]
    dense = tdb.from_pandas(tmp_path / "dense", some.reset_index(drop=True), sparse=False)
    assert dense.schema.dense and dense[:].tolist() == [2, 3]
    levels = pandas.MultiIndex.from_product([[1, 2], ["p"]])
    with pytest.raises(tdb.QueryError, match="no name"):
        tdb.from_pandas(tmp_path / "levels", pandas.DataFrame({"a": [1, 2]}, index=levels))


def test_enumerations_of_dates_are_dates(uri: str) -> None:
    days = pandas.DatetimeIndex(np.array(["2020-01-01", "2021-01-01T00:00:00.000000001"], "M8[ns]"))
    frame = pandas.DataFrame({"day": pandas.Categorical.from_codes([0, 1, 0], days)})
    array = tdb.from_pandas(uri, frame)
    assert array.enumeration("day") == list(days.to_numpy())
    table = array.read().to_pandas()
    assert table["day"].tolist() == [days[0], days[1], days[0]]
    array = tdb.from_pandas(f"{uri}-dense", frame, sparse=False)
    array.write({"day": np.array(["2021-01-01T00:00:00.000000001", "2020-01-01", "2020-01-01"], "M8[ns]")})
    assert array.read().to_pandas()["day"].tolist() == [days[1], days[0], days[0]]


def test_categories_of_integers_keep_their_digits_beside_a_missing_one(uri: str) -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    large = [2**63 - 2, -(2**53) - 1]
    column = pd.Series(pd.Categorical.from_codes([0, -1, 1], pd.Index(large)))
    plain = tdb.Schema(
        "sparse", [tdb.Dimension("x", (0, 99), "int64")], [tdb.Attribute("a", "int64", nullable=True)]
    )
    array = tdb.create(uri, plain)
    array.write({"x": [0, 1, 2], "a": column})
    assert pa.table(array.read()).column("a").to_pylist() == [large[0], None, large[1]]
    frame = tdb.from_pandas(uri + "-frame", pd.DataFrame({"a": column}), full_domain=True)
    frame.write({"__tiledb_rows": [3, 4, 5], "a": column})
    labels = pa.table(frame.read()).column("a").to_pylist()
    assert labels == [large[0], None, large[1]] * 2
