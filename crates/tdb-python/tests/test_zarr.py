"""Arrays as stores of zarr-python: what libtiledb recorded is what zarr and xarray read."""

from __future__ import annotations

import asyncio
import json
import pathlib
import pickle
from typing import Any

import numpy as np
import pytest

import tdb
import tdb.zarr

from test_fixtures import EXPECTED, FIXTURES, REFUSED, VERSIONS, WIDE, Cell, expected_cells

zarr = pytest.importorskip("zarr", minversion="3.1")

pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning", "ignore:The data type")

#: Why something of a fixture cannot be shown: what each reason contains.
REASONS = [
    "values, and Zarr has no lists",
    "which separates the names of Zarr's keys",
    "Zarr reserves names that begin with two underscores",
    "would be too long for readers that load it whole",
    "has more positions than Zarr's readers count",
    "there is another node of this name",
]


def cells_of(values: Any, datatype: str, axes: int) -> list[Cell]:
    """The cells of a field as zarr-python returned them."""
    flat = values.reshape((-1, *values.shape[axes:]))
    cells: list[Cell] = []
    for one in flat:
        if isinstance(one, str):
            codec = WIDE.get(datatype, "utf-8")
            # Trailing zeros are not a part of numpy's strings of a fixed length.
            width = flat.dtype.itemsize if flat.dtype.kind == "U" else 0
            cells.append(one.encode(codec).ljust(width, b"\0"))
        elif isinstance(one, np.bytes_):
            cells.append(one.tobytes().ljust(flat.dtype.itemsize, b"\0"))
        elif isinstance(one, bytes):
            cells.append(one)
        else:
            cells.append(np.ascontiguousarray(one).tobytes())
    return cells


def shown(group: Any, name: str, datatype: str, where: tuple[slice, ...], axes: int) -> list[Cell]:
    """The cells of a field with those that are null."""
    path = name if name not in ("", "__attr") else "values"
    cells = cells_of(np.asarray(group[path][where]), datatype, axes)
    if f"{path}_validity" not in group:
        return cells
    valid = np.asarray(group[f"{path}_validity"][where]).ravel()
    return [cell if is_valid else None for cell, is_valid in zip(cells, valid, strict=True)]


def number(hexed: str, datatype: str) -> int:
    """A coordinate as a number."""
    return int.from_bytes(bytes.fromhex(hexed), "little", signed=not datatype.startswith("UINT"))


def place_of(said: dict[str, Any], query: dict[str, Any]) -> tuple[slice, ...]:
    """The positions of a dense query: distances from the low ends of the domain."""
    slices = []
    for at, dimension in enumerate(said["schema"]["dimensions"]):
        pair, datatype = (query["ranges"] or {at: None})[at], dimension["type"]
        if pair is None:
            slices.append(slice(None))
        else:
            first = number(dimension["domain"][0], datatype)
            low, high = (number(one, datatype) - first for one in pair)
            slices.append(slice(low, high + 1))
    return tuple(slices)


def is_text(cell: Cell) -> bool:
    """Whether the bytes of a cell are text."""
    try:
        return (cell or b"").decode() is not None
    except UnicodeDecodeError:
        return False


def check(case: str, said: dict[str, Any], query: dict[str, Any], version: int, reasons: set[str]) -> bool:
    """Compares a query with what Zarr shows. Whether anything was compared."""
    key = said["key"].encode() if said["key"] else None
    low, high = query["timestamps"]
    at = None if low is None and high is None else (low or 0, high if high is not None else (1 << 64) - 1)
    store = tdb.zarr.store(FIXTURES / "arrays" / case, at, key=key, zarr_format=version, rows=5)
    reasons.update(store.refused.values())
    group = zarr.open_group(store, mode="r", zarr_format=version, use_consolidated=False)
    dense = said["schema"]["array_type"] == "dense"
    where = place_of(said, query) if dense else (slice(None),)
    columns, wanted = [], []
    for name, field in query["fields"].items():
        path = name if name not in ("", "__attr") else "values"
        if path in store.refused or "" in store.refused:
            continue
        said_cells = expected_cells(field)
        try:
            columns.append(shown(group, name, field["type"], where, len(where)))
        except tdb.UnsupportedError as error:
            assert "is not valid STRING" in str(error) and not all(map(is_text, said_cells)), error
            continue
        wanted.append(said_cells)
    if dense or query["order"] == "exact":
        assert columns == wanted
    else:
        order = lambda row: tuple((cell is not None, cell or b"") for cell in row)
        assert sorted(zip(*columns), key=order) == sorted(zip(*wanted), key=order)
    return bool(columns)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_cells_of_every_array_are_those_that_libtiledb_reads(version: str) -> None:
    wrong, compared, reasons = [], 0, set()
    for path in sorted((EXPECTED / version).glob("*.json")):
        said = json.loads(path.read_text())
        if said["kind"] != "array" or path.stem in REFUSED:
            continue
        dense = said["schema"]["array_type"] == "dense"
        for number_of_query, query in enumerate(said["queries"]):
            # Zarr shows positions of dense arrays, and all cells of sparse ones.
            if query["layout"] != "row-major" if dense else query["ranges"] is not None and query["kind"] == "subarray":
                continue
            try:
                compared += check(f"{version}/{path.stem}", said, query, 2 + number_of_query % 2, reasons)
            except Exception as error:  # every array is tried before the test fails
                wrong.append(f"{path.stem} {query['id']}: {type(error).__name__}: {str(error)[:300]}")
    assert compared > 0
    assert not wrong, "\n".join(wrong)
    assert [why for why in reasons if not any(known in why for known in REASONS)] == []


def test_parts_of_keys_and_keys_that_are_not_there(fixtures: pathlib.Path) -> None:
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
    from zarr.core.buffer import default_buffer_prototype

    store = tdb.zarr.store(fixtures / "quickstart")
    prototype = default_buffer_prototype()

    async def ask() -> list[bytes | None]:
        spans = [None, RangeByteRequest(4, 8), OffsetByteRequest(12), SuffixByteRequest(4)]
        found = await store.get_partial_values(prototype, [("a/c/0/0", span) for span in spans])
        found.append(await store.get("a/c/9/9", prototype))
        assert await store.exists("a/zarr.json") and not await store.exists("b/zarr.json")
        return [None if one is None else one.to_bytes() for one in found]

    whole = np.array([1, 2, 5, 6], "<i4").tobytes()
    assert asyncio.run(ask()) == [whole, whole[4:8], whole[12:], whole[-4:], None]


def test_listings(fixtures: pathlib.Path) -> None:
    store = tdb.zarr.store(fixtures / "quickstart", zarr_format=2)

    async def ask() -> list[list[str]]:
        listings = store.list(), store.list_prefix("a/1"), store.list_dir("")
        # Python 3.10 has no asynchronous comprehension inside another one.
        found = []
        for listing in listings:
            found.append([name async for name in listing])
        return found

    everything, some, names = asyncio.run(ask())
    assert some == ["a/1.0", "a/1.1"] and set(some) < set(everything)
    assert names == [".zattrs", ".zgroup", ".zmetadata", "rows", "cols", "a"]


def test_a_store_is_read_only_and_says_so(fixtures: pathlib.Path) -> None:
    store = tdb.zarr.store(fixtures / "quickstart")
    with pytest.raises(PermissionError, match="can only be read"):
        asyncio.run(store.delete("a/zarr.json"))
    with pytest.raises(PermissionError, match="can only be read"):
        store.with_read_only(False)
    with pytest.raises(ValueError, match="read-only|read only"):
        zarr.open_group(store, mode="r+").create_group("new")


def test_wrong_arguments_and_places(fixtures: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(tdb.QueryError, match="zarr_format is 2 or 3, not 4"):
        tdb.zarr.store(fixtures / "quickstart", zarr_format=4)
    wrong: list[Any] = [0, -1, 1 << 63, 1.5, True, "10"]
    for rows in wrong:
        with pytest.raises(tdb.QueryError, match="a chunk has a number of cells from 1 on"):
            tdb.zarr.store(fixtures / "quickstart", rows=rows)
    with pytest.raises(tdb.Error):
        tdb.zarr.store(tmp_path / "nothing")


def test_a_copy_in_another_process_sees_the_same_time(uri: str) -> None:
    array = tdb.create(uri, tdb.Schema("dense", [tdb.Dimension("x", (0, 9), "int32", tile=4)], [tdb.Attribute("a", "int32")]))
    array.write({"a": np.arange(10, dtype=np.int32)}, at=5)
    store = tdb.zarr.store(uri, at=7)
    array.write({"a": np.zeros(10, np.int32)}, at=9)
    again = pickle.loads(pickle.dumps(store))
    assert again == store and again != tdb.zarr.store(uri)
    two = tdb.zarr.store(uri, at=7, threads=2)
    assert two == store and pickle.loads(pickle.dumps(two))._opened == (uri, 3, None, 2)
    for one in (store, again):
        assert zarr.open_group(one, mode="r")["a"][:].tolist() == list(range(10))
    assert zarr.open_group(tdb.zarr.store(uri), mode="r")["a"][:].tolist() == [0] * 10


def test_only_what_was_written_is_read_and_the_rest_is_filled(uri: str) -> None:
    dimensions = [tdb.Dimension(name, (0, 999_999), "int64", tile=100) for name in ("x", "y")]
    array = tdb.create(uri, tdb.Schema("dense", dimensions, [tdb.Attribute("a", "float32")]))
    array.write({"a": np.ones((100, 100), np.float32)}, region=(slice(500, 600), slice(300, 400)))
    found = zarr.open_group(tdb.zarr.store(uri), mode="r")["a"]
    assert found.shape == (1_000_000, 1_000_000)
    part = found[550:650, 350:450]
    assert np.nansum(part) == 2500 and np.isnan(part[50:]).all()


def test_xarray_reads_coordinates_dates_and_attributes(uri: str) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    days = tdb.Dimension("day", (np.datetime64("2024-01-30"), np.datetime64("2024-02-08")), "datetime64[D]", tile=4)
    array = tdb.create(uri, tdb.Schema("dense", [days], [tdb.Attribute("rain", "float64")]))
    rain = np.arange(10.0)
    array.write({"rain": rain})
    array.meta["title"] = "Rain"
    array.meta["__tiledb_attr.rain.units"] = "mm"
    for version in (2, 3):
        store = tdb.zarr.store(uri, zarr_format=version)
        ds = xarray.open_zarr(store, consolidated=version == 2, zarr_format=version, chunks={})
        assert ds["rain"].chunks == ((4, 4, 2),)
        assert ds.attrs == {"title": "Rain"} and ds["rain"].attrs["units"] == "mm"
        assert ds["rain"].sel(day="2024-02-01").values.item() == 2
        assert np.array_equal(ds["rain"].values, rain)
        assert ds["rain"].sum().compute().item() == rain.sum()


def test_xarray_reads_coordinates_that_do_not_begin_with_zero(fixtures: pathlib.Path) -> None:
    xarray = pytest.importorskip("xarray")
    ds = xarray.open_zarr(tdb.zarr.store(fixtures / "quickstart"), consolidated=False)
    assert ds["a"].dims == ("rows", "cols") and ds["rows"].values.tolist() == [1, 2, 3, 4]
    assert ds["a"].sel(rows=2, cols=3).values.item() == 7


def test_nulls_texts_and_enumerations(uri: str) -> None:
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("x", (0, 99), "int64")],
        [tdb.Attribute("t", str), tdb.Attribute("n", "int16", nullable=True)],
    )
    array = tdb.create(uri, schema)
    numbers = np.ma.MaskedArray(np.arange(5, dtype=np.int16), [False, True, False, False, True])
    array.write({"x": np.array([9, 7, 5, 3, 1]), "t": np.array(["a", "", "ü", "𝄞", "e"], object), "n": numbers})
    for version in (2, 3):
        group = zarr.open_group(tdb.zarr.store(uri, zarr_format=version, rows=2), mode="r", zarr_format=version)
        assert group["x"][:].tolist() == [1, 3, 5, 7, 9] and group["x"].chunks == (2,)
        assert group["t"][:].tolist() == ["e", "𝄞", "ü", "", "a"]
        assert group["n_validity"][:].tolist() == [False, True, True, False, True]
        assert group["n"].attrs["tdb_validity"] == "n_validity"


def test_a_group_has_its_arrays_under_their_names(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "stations"
    group = tdb.Group.create(place)
    for name in ("north", "south"):
        tdb.from_numpy(place / name, np.arange(6.0) + len(name))
        group.add(place / name, name)
    group.meta["kind"] = "rain"
    shown = zarr.open_group(tdb.zarr.store(place), mode="r")
    assert sorted(shown.group_keys()) == ["north", "south"] and dict(shown.attrs) == {"kind": "rain"}
    [name] = shown["north"].array_keys()
    assert shown[f"north/{name}"][:].tolist() == [5, 6, 7, 8, 9, 10]
