"""Datasets of xarray and arrays of dask that become groups and arrays."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import tdb

xarray = pytest.importorskip("xarray")
dask_array = pytest.importorskip("dask.array")

import tdb.xarray  # noqa: E402


@pytest.fixture
def weather() -> Any:
    """A dataset with coordinates of dates, texts and two dimensions, a scalar, attributes, and variables of several types."""
    return xarray.Dataset(
        {
            "rain": (("day", "place"), np.arange(6.0).reshape(3, 2), {"units": "mm", "limits": np.array([0.0, 9.5])}),
            "count": (("day",), np.array([1, 2, 3], "int16")),
            "note": (("place",), np.array(["dry", ""], object)),
            "wet": (("day", "place"), np.array([[True, False]] * 3)),
        },
        {
            "day": np.array(["2020-02-28", "2020-02-29", "2020-03-01"], "M8[ns]"),
            "place": ["Oslo", "Bergen"],
            "height": ("place", [23.0, 12.0], {"units": "m"}),
            "run": 7,
        },
        {"source": "gauges", "version": 3},
    )


def opened(place: pathlib.Path, **how: Any) -> Any:
    """The dataset in which texts have the type of those that were written."""
    return xarray.open_dataset(place, engine="tdb", **how).load()


def test_a_dataset_comes_back_as_it_was(weather: Any, tmp_path: pathlib.Path) -> None:
    weather.tdb.to_tdb(tmp_path / "all")
    found = opened(tmp_path / "all")
    xarray.testing.assert_equal(found, weather)
    assert found["rain"].attrs["units"] == "mm" and found["rain"].attrs["limits"].tolist() == [0.0, 9.5]
    assert found["height"].attrs == {"units": "m"} and found.attrs == {"source": "gauges", "version": 3}
    assert set(found.coords) == set(weather.coords) and found["count"].dtype == np.int16 and found["wet"].dtype == bool
    assert found["rain"].sel(day="2020-02-29", place="Bergen").item() == 3.0
    group = tdb.Group(tmp_path / "all")
    assert {member.name for member in group} == set(weather.variables) and len(group) == 8
    assert tdb.open(tmp_path / "all" / "day").schema.attributes[0].datatype == "DATETIME_NS"


def test_variables_of_dask_are_written_chunk_by_chunk(weather: Any, tmp_path: pathlib.Path) -> None:
    weather[["rain", "count"]].chunk({"day": 2}).tdb.to_tdb(tmp_path / "chunks", filters={"rain": "gzip(6)"})
    array = tdb.open(tmp_path / "chunks" / "rain")
    assert len(array.fragments) == 2 and [one.tile for one in array.schema.dimensions] == [2, 2]
    assert array.schema.attribute("rain").filters[0]["name"] == "gzip"
    xarray.testing.assert_equal(opened(tmp_path / "chunks"), weather[["rain", "count"]])
    weather[["rain"]].tdb.to_tdb(tmp_path / "tiles", tile={"day": 1})
    assert [one.tile for one in tdb.open(tmp_path / "tiles" / "rain").schema.dimensions] == [1, 2]


def test_missing_texts_and_numbers_stay_missing(tmp_path: pathlib.Path) -> None:
    ds = xarray.Dataset({"s": ("x", np.array(["a", None, "c"], object)), "f": ("x", [1.0, np.nan, 3.0])}, {"x": [10, 20, 30]})
    ds.tdb.to_tdb(tmp_path / "all")
    found = opened(tmp_path / "all")
    assert found["s"].values.tolist() == ["a", None, "c"] and np.isnan(found["f"].values).tolist() == [False, True, False]


def test_what_cannot_be_written_is_refused_before_anything_is(weather: Any, tmp_path: pathlib.Path) -> None:
    place = tmp_path / "all"
    for wrong, message in [
        (weather.rename(rain="rain/day"), "rain/day.*ds.rename"),
        (weather.assign_attrs(source={"a": 1}), "the attribute 'source' of the dataset"),
        (weather.assign(rain=weather["rain"].assign_attrs(flags=["a", "b"])), "the attribute 'flags' of 'rain'"),
    ]:
        with pytest.raises(tdb.QueryError, match=message):
            wrong.tdb.to_tdb(place)
        assert not place.exists()
    with pytest.raises(tdb.QueryError, match="'rain'.*complex128"):
        weather.assign(rain=weather["rain"] * 1j).tdb.to_tdb(place)
    assert tdb.object_type(place) is None
    weather.tdb.to_tdb(tmp_path / "other")
    with pytest.raises(tdb.WriteError, match="already"):
        weather.tdb.to_tdb(tmp_path / "other")


def test_sparse_arrays_are_no_datasets_whatever_their_dimensions_are(tmp_path: pathlib.Path) -> None:
    for dimension in (tdb.Dimension("d", dtype="ascii"), tdb.Dimension("d", (0, 9), "int64"), tdb.Dimension("d", (0.0, 1.0), "float64")):
        place = tmp_path / str(dimension.datatype)
        array = tdb.create(place, tdb.Schema("sparse", [dimension], [tdb.Attribute("a", "int64")]))
        array.write({"d": ["9E"] if dimension.domain is None else [1], "a": [1]})
        with pytest.raises(tdb.UnsupportedError, match="sparse.*to_pandas"):
            xarray.open_dataset(place, engine="tdb")


def test_arrays_of_dask_are_stored_in_chunks(tmp_path: pathlib.Path) -> None:
    values = np.arange(35, dtype="float32").reshape(7, 5)
    array = tdb.dask.to_tdb(dask_array.from_array(values, chunks=(3, 5)) + 1, tmp_path / "a", dims=["x", "y"], name="v")
    assert np.array_equal(array[:], values + 1) and array.schema.names == ["x", "y", "v"]
    assert [one.tile for one in array.schema.dimensions] == [3, 5] and len(array.fragments) == 3
    assert array.to_dask().sum().compute() == (values + 1).sum()
    with pytest.raises(tdb.QueryError, match="unknown sizes"):
        tdb.dask.to_tdb(dask_array.from_array(np.arange(5))[dask_array.from_array(np.arange(5)) > 2], tmp_path / "b")
    with pytest.raises(tdb.WriteError, match="already"):
        tdb.dask.to_tdb(dask_array.ones(3), tmp_path / "a")
