"""xarray's engine: lazy variables, coordinates, attributes, groups, chunks."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tdb

xarray = pytest.importorskip("xarray")


@pytest.fixture
def weather(uri: str) -> str:
    """Days and places: a temperature, a nullable count and a sky, with metadata of CF."""
    schema = tdb.Schema(
        "dense",
        [
            tdb.Dimension("day", (0, 365), "int32", tile=10),
            tdb.Dimension("place", (5, 8), "int32", tile=2),
        ],
        [
            tdb.Attribute("temperature", "int16"),
            tdb.Attribute("visitors", "int32", nullable=True),
            tdb.Attribute("sky", "uint8", enumeration="sky"),
            tdb.Attribute("pair", "float32", values=2),
        ],
        [tdb.Enumeration("sky", ["clear", "cloudy"])],
    )
    array = tdb.create(uri, schema)
    cells = np.arange(100).reshape(25, 4)
    array[5:30, :] = {
        "temperature": cells.astype(np.int16),
        "visitors": np.ma.MaskedArray(cells.astype(np.int32), cells % 7 == 0),
        "sky": (cells % 2).astype(np.uint8),
        "pair": np.stack([cells, -cells], axis=-1).astype(np.float32),
    }
    array.meta.update(
        {
            "title": "made",
            "__tiledb_attr.temperature.scale_factor": 0.5,
            "__tiledb_attr.temperature.units": "degC",
            "__tiledb_dim.day.units": "days since 2020-01-01",
            "__tiledb_dim.place.long_name": "number of the place",
        }
    )
    return uri


def test_a_dense_array_is_a_dataset_of_what_was_written(weather: str) -> None:
    ds = xarray.open_dataset(weather, engine="tdb")
    assert dict(ds.sizes) == {"day": 25, "place": 4, "pair_values": 2}
    assert ds.attrs == {"title": "made"}
    assert ds["place"].values.tolist() == [5, 6, 7, 8] and ds["place"].attrs == {"long_name": "number of the place"}
    assert str(ds["day"].values[0])[:10] == "2020-01-06" and str(ds["day"].values[-1])[:10] == "2020-01-30"
    # Scaled as CF says.
    assert ds["temperature"].attrs == {"units": "degC"}
    assert ds["temperature"].sel(day="2020-01-07", place=6).item() == 2.5
    assert np.isnan(ds["visitors"].values[0, 0]) and ds["visitors"].values[0, 1] == 1
    assert ds["sky"].sel(day="2020-01-06").values.tolist() == ["clear", "cloudy", "clear", "cloudy"]
    assert ds["pair"].isel(day=1, place=2).values.tolist() == [6.0, -6.0]


def test_the_whole_domain_and_earlier_times_can_be_asked_for(weather: str) -> None:
    whole = xarray.open_dataset(weather, engine="tdb", full_domain=True, mask_and_scale=False)
    assert whole.sizes["day"] == 366 and whole["temperature"].dtype == np.int16
    assert whole["temperature"].sel(day="2020-01-07", place=6).item() == 5
    assert whole["temperature"].isel(day=0, place=0).item() == np.iinfo(np.int16).min
    written = tdb.open(weather).fragments[0]["timestamps"][0]
    before = xarray.open_dataset(weather, engine="tdb", at=(0, written - 1))
    assert dict(before.sizes) == {"day": 0, "place": 0, "pair_values": 2} and before["pair"].values.shape == (0, 0, 2)


@pytest.mark.parametrize(
    "key",
    [
        {"day": 3},
        {"day": slice(2, 20, 3), "place": [3, 0]},
        {"day": slice(20, 1, -1), "place": slice(None, None, 2)},
        {"day": [4, 4, 0], "place": -1},
        {"day": slice(0, 25, 12)},
        {"day": slice(24, None, -9), "place": [False, True, True, False]},
        {"day": slice(3, 3)},
        {"day": []},
        {"day": xarray.DataArray([1, 5, 5], dims="z"), "place": xarray.DataArray([0, 3, 1], dims="z")},
    ],
    ids=str,
)
def test_every_way_to_index_reads_what_numpy_takes(weather: str, key: dict[str, object]) -> None:
    for name in ("temperature", "sky", "pair"):
        lazy = xarray.open_dataset(weather, engine="tdb", mask_and_scale=False)[name]
        loaded = xarray.open_dataset(weather, engine="tdb", mask_and_scale=False)[name].load()
        found, expected = lazy.isel(key), loaded.isel(key)
        assert found.values.tolist() == expected.values.tolist() and found.shape == expected.shape


def test_nothing_is_read_before_it_is_asked_for(weather: str) -> None:
    ds = xarray.open_dataset(weather, engine="tdb")
    for file in pathlib.Path(weather).rglob("a0.tdb"):
        file.unlink()
    assert ds["sky"].isel(day=0, place=0).item() == "clear"
    with pytest.raises(tdb.Error):
        ds["temperature"].load()


def test_chunks_are_tiles_and_are_read_in_other_processes(weather: str) -> None:
    dask = pytest.importorskip("dask")
    ds = xarray.open_dataset(weather, engine="tdb", chunks={})
    # From the 6th to the 30th, in tiles that begin on the 1st.
    assert ds["temperature"].chunks == ((5, 10, 10), (2, 2))
    plain = xarray.open_dataset(weather, engine="tdb")
    with dask.config.set(scheduler="processes", num_workers=2):
        assert float(ds["temperature"].sum()) == float(plain["temperature"].sum()) == 4950 / 2
    again = pickle.loads(pickle.dumps(plain))
    assert again["temperature"].isel(day=2).values.tolist() == plain["temperature"].isel(day=2).values.tolist()


def test_dates_as_coordinates_are_dates(uri: str) -> None:
    schema = tdb.Schema("dense", [tdb.Dimension("day", ("2019-12-30", "2020-12-31"), "datetime64[D]", tile=7)], [tdb.Attribute("a", "datetime64[D]")])
    array = tdb.create(uri, schema)
    array["2020-01-01":"2020-01-04"] = np.array(["2020-02-01", "2020-02-02", "2020-02-03"], "datetime64[D]")
    ds = xarray.open_dataset(uri, engine="tdb", chunks={})
    assert str(ds["day"].dtype) == str(ds["a"].dtype) == "datetime64[s]" and ds["a"].chunks == ((3,),)
    assert str(ds["a"].sel(day="2020-01-02").values)[:10] == "2020-02-02"


def test_a_label_is_a_coordinate(fixtures: pathlib.Path) -> None:
    ds = xarray.open_dataset(fixtures / "label_increasing_int64", engine="tdb")
    array = tdb.open(fixtures / "label_increasing_int64")
    labels = array.read(fields=["l"]).to_numpy()["l"]
    assert ds["l"].dims == ("x",) and ds["l"].values.tolist() == labels.tolist()
    at = ds.set_xindex("l").sel(l=labels[3])
    assert at["a"].item() == array.read().to_numpy()["a"][3]


def test_a_group_is_a_dataset_of_its_arrays(tmp_path: pathlib.Path) -> None:
    def array(name: str, attribute: str, dims: list[str], values: np.ndarray) -> None:
        dimensions = [tdb.Dimension(dim, (0, size - 1), "int64", tile=size) for dim, size in zip(dims, values.shape)]
        tdb.create(tmp_path / name, tdb.Schema("dense", dimensions, [tdb.Attribute(attribute, values.dtype)])).write(values)

    group = tdb.Group.create(tmp_path / "cube")
    inner = tdb.Group.create(tmp_path / "inner")
    group.meta["institution"] = "here"
    array("a", "t", ["lat", "lon"], np.arange(6.0).reshape(2, 3))
    array("b", "p", ["lat", "lon"], np.arange(6).reshape(2, 3))
    array("c", "lat.data", ["lat"], np.array([50.5, 60.5]))
    array("d", "deep", ["z"], np.arange(4))
    for name in ("a", "b", "c"):
        group.add(tmp_path / name, name)
    inner.add(tmp_path / "d", "d")
    group.add(tmp_path / "inner", "inner")
    ds = xarray.open_dataset(tmp_path / "cube", engine="tdb")
    assert set(ds.data_vars) == {"t", "p"} and set(ds.coords) == {"lat", "lon"} and ds.attrs == {"institution": "here"}
    assert ds["t"].sel(lat=60.5, lon=1).item() == 4.0 and ds["p"].sel(lat=50.5, lon=2).item() == 2
    if hasattr(xarray, "open_datatree"):
        tree = xarray.open_datatree(tmp_path / "cube", engine="tdb")
        assert tree["inner/deep"].values.tolist() == [0, 1, 2, 3] and "t" in tree.data_vars
    array("e", "other", ["lat"], np.arange(3))
    group.add(tmp_path / "e", "e")
    with pytest.raises(tdb.QueryError, match="'lat' is from 0 to 2 in .*e, but from 0 to 1"):
        xarray.open_dataset(tmp_path / "cube", engine="tdb")


def test_what_is_no_grid_says_so(fixtures: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(tdb.UnsupportedError, match="sparse"):
        xarray.open_dataset(fixtures / "sql_stations", engine="tdb")
    with pytest.raises(tdb.NotAnArrayError, match="nothing"):
        xarray.open_dataset(tmp_path / "nothing", engine="tdb")
    with pytest.raises(ValueError):
        xarray.open_dataset(tmp_path, engine=None)
    assert xarray.open_dataset(fixtures / "quickstart")["a"].shape == (4, 4), "the engine is found by what is there"


def test_a_missing_package_is_named_with_the_way_to_get_it(fixtures: pathlib.Path) -> None:
    program = f"""
import sys
sys.modules["dask"] = sys.modules["dask.array"] = sys.modules["pyarrow"] = None
import tdb, tdb.dask
for call in (lambda: tdb.dask.from_tdb({str(fixtures / "quickstart")!r}), lambda: tdb.open({str(fixtures / "quickstart")!r}).read().export("a.csv")):
    try:
        call()
    except ModuleNotFoundError as error:
        print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == ["Arrays of dask need dask: pip install dask", "Files of Arrow, Parquet and CSV need pyarrow: pip install pyarrow"]
