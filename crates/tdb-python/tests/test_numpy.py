"""Arrays as numpy people expect them: as arrays of numpy, with indices from the end and steps, and made of arrays of numpy."""

from __future__ import annotations

import numpy as np
import pytest

import tdb

VALUES = np.arange(60, dtype=np.int32).reshape(12, 5)


@pytest.fixture
def matrix(uri: str) -> tdb.Array:
    """12 times 5 numbers, whose coordinates begin with 0."""
    return tdb.from_numpy(uri, VALUES, tile=(4, 2))


@pytest.fixture
def years(uri: str) -> tdb.Array:
    """A number for each of the years 1990 to 2019."""
    schema = tdb.Schema("dense", [tdb.Dimension("year", (1990, 2019), "int64", tile=7)], [tdb.Attribute("a", "int64")])
    array = tdb.create(uri + "-years", schema)
    array.write(np.arange(1990, 2020))
    return array


@pytest.fixture
def points(uri: str) -> tdb.Array:
    """Sparse cells at the coordinates 0, 3, 6, … 27."""
    schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 29), "int64", tile=7)], [tdb.Attribute("a", "int64")])
    array = tdb.create(uri + "-points", schema)
    array.write({"x": np.arange(0, 30, 3), "a": np.arange(10)})
    return array


def test_a_dense_array_is_an_array_of_numpy(matrix: tdb.Array) -> None:
    assert np.array_equal(np.asarray(matrix), VALUES) and np.asarray(matrix).dtype == np.int32
    assert np.asarray(matrix, "float64").dtype == np.float64
    assert np.mean(matrix) == VALUES.mean() and np.sum(matrix) == VALUES.sum()
    assert (matrix.shape, matrix.ndim, matrix.size, len(matrix), matrix.dtype) == ((12, 5), 2, 60, 12, np.dtype("int32"))
    assert [row.tolist() for row in matrix] == VALUES.tolist()
    assert bool(matrix)
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(matrix, copy=False)


def test_rows_of_a_part_of_a_domain_are_all_there(years: tdb.Array) -> None:
    assert [int(year) for year in years] == list(range(1990, 2020))
    assert len(years) == 30 and years[-1] == 2019 and years[1990] == 1990


def test_several_attributes_are_no_array_of_numpy_but_each_of_them_is(uri: str) -> None:
    array = tdb.from_numpy(uri, np.array([(1, 2.5), (3, 4.5)], [("i", "int32"), ("x", "float64")]))
    with pytest.raises(TypeError, match=r"i, x.*np.asarray\(A.read\(fields='i'\)\)"):
        np.asarray(array)
    with pytest.raises(TypeError, match="choose one"):
        np.asarray(array.read())
    assert np.asarray(array.read(fields="x")).tolist() == [2.5, 4.5]
    assert array.dtype == np.dtype([("i", "int32"), ("x", "float64")])
    assert [{name: value.item() for name, value in row.items()} for row in array] == [{"i": 1, "x": 2.5}, {"i": 3, "x": 4.5}]


def test_a_sparse_array_says_how_its_cells_are_had(points: tdb.Array) -> None:
    with pytest.raises(TypeError, match=r"sparse.*to_numpy.*to_pandas"):
        np.asarray(points)
    with pytest.raises(TypeError, match=r"count\(\)"):
        len(points)
    with pytest.raises(TypeError, match="stream"):
        iter(points).__next__()
    assert bool(points) and np.asarray(points.read(fields="a")).tolist() == list(range(10))


def test_nulls_are_no_numbers_unless_a_type_has_some_for_them(uri: str) -> None:
    real = tdb.from_numpy(uri, np.ma.MaskedArray([1.5, 2.5], [False, True]))
    assert np.isnan(np.asarray(real)).tolist() == [False, True]
    dates = tdb.from_numpy(uri + "-dates", np.ma.MaskedArray(np.array(["2020-01-01", "2021-01-01"], "M8[D]"), [True, False]))
    assert np.isnat(np.asarray(dates)).tolist() == [True, False]
    whole = tdb.from_numpy(uri + "-whole", np.ma.MaskedArray([1, 2], [False, True]))
    with pytest.raises(tdb.QueryError, match='"a" is null in 1 cells'):
        np.asarray(whole)
    none = tdb.from_numpy(uri + "-none", np.ma.MaskedArray([1, 2], False))
    assert np.asarray(none).tolist() == [1, 2] and none[:].mask.any() == False  # noqa: E712


@pytest.mark.parametrize(
    "key",
    [
        np.s_[-1],
        np.s_[-12],
        np.s_[-3:],
        np.s_[:-3],
        np.s_[-100:2],
        np.s_[-3:-1, -2],
        np.s_[[0, -1, 3]],
        np.s_[np.array([-1, -2])],
        np.s_[..., -1],
        np.s_[..., 3],
        np.s_[::2],
        np.s_[::10],
        np.s_[1::3, ::2],
        np.s_[::-1],
        np.s_[::-1, ::-1],
        np.s_[10:2:-3],
        np.s_[-2:-11:-9],
        np.s_[::-10],
        np.s_[:-8:-1],
        np.s_[-100::5],
        np.s_[100::-5],
        np.s_[2:100:9],
        np.s_[-1, ::4],
        np.s_[::11, -1],
        np.s_[5:2],
        np.s_[5:2:2],
        np.s_[2:5:-1],
        np.s_[-20:-15],
    ],
)
def test_indices_are_those_of_numpy_where_coordinates_begin_with_0(matrix: tdb.Array, key: object) -> None:
    found, expected = matrix[key], VALUES[key]  # type: ignore[index]
    assert found.shape == expected.shape and found.tolist() == expected.tolist()


def test_steps_and_ends_are_those_of_coordinates(years: tdb.Array) -> None:
    assert years[1995:2010:5].tolist() == [1995, 2000, 2005]
    assert years[::10].tolist() == [1990, 2000, 2010]
    assert years[-3:].tolist() == [2017, 2018, 2019]
    assert years[2000:1990:-4].tolist() == [2000, 1996, 1992]
    with pytest.raises(IndexError, match="index -31 is outside of its 30 coordinates"):
        years[-31]


def test_a_negative_index_is_a_coordinate_where_there_are_negative_coordinates(uri: str) -> None:
    array = tdb.create(uri, tdb.Schema("dense", [tdb.Dimension("x", (-3, 3), "int8", tile=7)], [tdb.Attribute("a", "int64")]))
    array.write(np.arange(-3, 4))
    assert array[-1] == -1 and array[-2:1].tolist() == [-2, -1, 0] and array[::-3].tolist() == [3, 0, -3]


def test_dates_have_steps_in_their_unit(uri: str) -> None:
    day = tdb.Dimension("day", ("2020-01-01", "2020-01-31"), "datetime64[D]", tile=31)
    array = tdb.create(uri, tdb.Schema("dense", [day], [tdb.Attribute("a", "int64")]))
    array.write(np.arange(1, 32))
    assert array["2020-01-10":"2020-01-20":3].tolist() == [10, 13, 16, 19]
    assert array[:: -10].tolist() == [31, 21, 11, 1]


def test_a_sparse_array_takes_steps_forwards_and_has_no_end_to_count_from(points: tdb.Array) -> None:
    assert points[::2]["x"].tolist() == [0, 6, 12, 18, 24]
    assert points[3:20:6]["a"].tolist() == [1, 3, 5]
    for key in (np.s_[-1], np.s_[-3:], np.s_[[-1, 2]]):
        with pytest.raises(tdb.QueryError, match="no end to count from"):
            points[key]
    with pytest.raises(tdb.UnsupportedError, match="negative step"):
        points[::-1]
    wide = tdb.create(points.uri + "-wide", tdb.Schema("sparse", [tdb.Dimension("x", (0, 1 << 40), "int64")], [tdb.Attribute("a")]))
    with pytest.raises(tdb.UnsupportedError, match="more than 1000000"):
        wide[::2]


def test_a_region_that_is_written_may_be_counted_from_the_end(matrix: tdb.Array) -> None:
    matrix[-2:, -1] = [[-1], [-2]]
    expected = VALUES.copy()
    expected[-2:, -1] = [-1, -2]
    assert matrix[:].tolist() == expected.tolist()
    with pytest.raises(tdb.WriteError, match="no step"):
        matrix[::2] = 1


def test_a_field_is_no_index_and_the_message_says_what_is(matrix: tdb.Array) -> None:
    with pytest.raises(tdb.QueryError, match=r'"a" is a field: A.read\(fields="a"\)'):
        matrix["a"]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "bool", "M8[ns]", "m8[s]", "<U3", "S3", object])
def test_an_array_of_numpy_becomes_an_array_in_one_line(uri: str, dtype: str) -> None:
    values = np.array(["abc", "", "x"], object) if dtype is object else np.array([1, 0, 1]).astype(dtype)
    array = tdb.from_numpy(uri, values, dims=["x"], name="v")
    assert array.schema.names == ["x", "v"] and array[:].tolist() == values.tolist()
    assert np.asarray(array).dtype == (values.dtype if values.dtype.kind in "iufbmM" else object)


def test_what_is_no_array_of_cells_is_refused_by_name(uri: str) -> None:
    for values, message in [
        (np.array(1), "no dimension"),
        (np.empty((0, 3)), "no cells"),
        (np.array([1j]), "complex128 is not a type that arrays have.*astype"),
        (np.array([1.5], "float16"), "float16"),
        (np.array([{}, "x"]), r"neither texts nor bytes, or both \(dict, str\)"),
    ]:
        with pytest.raises(tdb.QueryError, match=message):
            tdb.from_numpy(uri, values)
    with pytest.raises(tdb.QueryError, match="2 names for 1 dimensions"):
        tdb.from_numpy(uri, np.arange(3), dims=["x", "y"])
    with pytest.raises(tdb.QueryError, match="2 extents for 1 dimensions"):
        tdb.from_numpy(uri, np.arange(3), tile=[1, 2])
    assert tdb.object_type(uri) is None


def test_an_array_in_fortran_order_and_one_of_large_rows_come_back(uri: str) -> None:
    values = np.asfortranarray(np.arange(300_000.0).reshape(2, 150_000))
    array = tdb.from_numpy(uri, values)
    assert np.array_equal(array[:], values) and [one.tile for one in array.schema.dimensions] == [1, 131_072]
