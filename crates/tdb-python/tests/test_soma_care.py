"""SOMA's objects, written with what is wrong, damaged or twice: it is refused, or becomes what it says."""

from __future__ import annotations

import gzip
import pathlib
import warnings
from typing import Any

import numpy as np
import pytest

import tdb
import tdb.soma
from tdb.soma._matrices import _cast

pytest.importorskip("pyarrow")
anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

CELLS, GENES = 6, 4


def made(cells: int = CELLS, first: int = 0, kind: Any = np.float32) -> Any:
    """An object of AnnData whose value in each row and column is the row times 10 and the column, and one more."""
    X = (np.arange(first, first + cells)[:, None] * 10 + np.arange(GENES)[None, :] + 1).astype(kind)
    obs = pandas.DataFrame({"score": np.arange(cells) + 0.5}, index=[f"c{first + at}" for at in range(cells)])
    return anndata.AnnData(sparse.csr_matrix(X), obs, pandas.DataFrame(index=[f"g{at}" for at in range(GENES)]))


def files_of(path: pathlib.Path) -> list[str]:
    return sorted(str(one) for one in path.rglob("*"))


def test_matrices_of_cells_have_tiles_of_few_cells_unless_the_options_say_others(tmp_path: pathlib.Path) -> None:
    cases: list[tuple[dict[str, Any], tuple[list[int], int]]] = [
        ({}, ([64, 2048], 8192)),
        ({"sparse_nd_array_dim_zstd_level": 9}, ([64, 2048], 8192)),
        ({"capacity": 77}, ([2048, 2048], 77)),
        ({"dims": {"soma_dim_1": {"tile": 5}}}, ([2048, 5], 100_000)),
    ]
    for at, (own, wanted) in enumerate(cases):
        tdb.soma.from_anndata(tmp_path / f"{at}", made(), platform_config={"tiledb": {"create": own}})
        schema = tdb.open(tmp_path / f"{at}" / "ms" / "RNA" / "X" / "data").schema
        assert ([dimension.tile for dimension in schema.dimensions], schema.capacity) == wanted, own


def test_slices_of_ids_have_no_ends_below_zero(tmp_path: pathlib.Path) -> None:
    experiment = tdb.soma.from_anndata(tmp_path / "e", made())
    dense = tdb.soma.from_anndata(tmp_path / "dense", made(), dense=True).ms["RNA"].X["data"]
    X = experiment.ms["RNA"].X["data"]
    wrong: list[Any] = [slice(-2, None), slice(None, -1), {"soma_joinid": slice(-2, None)}, {"soma_joinid": [slice(-2, None)]}]
    for one in wrong:
        with pytest.raises(tdb.QueryError, match="a slice of ids has the end -"):
            tdb.soma.delete(tmp_path / "e", one)
        with pytest.raises(tdb.QueryError, match="a slice of ids has the end -"):
            experiment.obs.ids(one)
    reads: list[Any] = [X.read, X.to_scipy, X.stream, dense.read, dense.to_numpy, lambda one: experiment.axis_query("RNA", one).X()]
    for read in reads:
        with pytest.raises(tdb.QueryError, match="a slice of ids has the end -2"):
            read(slice(-2, None))
    with pytest.raises(tdb.QueryError, match="are integers, not 'c1'"):
        experiment.obs.ids(slice("c1", None))
    with pytest.raises(tdb.QueryError, match="has the step -1"):
        X.to_scipy(slice(None, None, -1))
    with pytest.raises(tdb.QueryError, match="are integers, not 1.5"):
        X.to_scipy(slice(0, 4, 1.5))
    # The same slice is the same ids of tables and of matrices.
    assert tdb.soma.open(tmp_path / "e").obs.ids(slice(4, None)).tolist() == [4, 5]
    assert X.to_scipy(slice(4, None)).toarray()[:, 0].tolist() == dense.to_numpy(slice(4, None))[:, 0].tolist() == [41, 51]
    assert tdb.soma.delete(tmp_path / "e", slice(4, None)) == 2 and len(tdb.soma.open(tmp_path / "e").obs) == 4


@pytest.mark.parametrize("dense", [False, True])
def test_what_a_failed_append_left_is_in_no_later_cell(tmp_path: pathlib.Path, dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    tdb.soma.from_anndata(tmp_path / "e", made(), dense=dense)
    whole = tdb.soma._append.write_table

    def stop(array: Any, *rest: Any) -> None:
        if array.uri.endswith("obs"):
            raise OSError("the disk is full")
        whole(array, *rest)

    monkeypatch.setattr("tdb.soma._append.write_table", stop)
    with pytest.raises(OSError, match="is full"):
        tdb.soma.append(tmp_path / "e", made(3, CELLS))
    monkeypatch.undo()
    # Another one, with fewer values where the first one had some.
    other = made(2, 100)
    if not dense:
        other.X = sparse.csr_matrix(np.eye(2, GENES, dtype=np.float32))
    experiment = tdb.soma.append(tmp_path / "e", other)
    found = experiment.axis_query("RNA", obs="obs_id in ('c100', 'c101')").X()
    assert np.array_equal(found if dense else found.toarray(), other.X.toarray())
    # One whose values do not come.
    experiment = tdb.soma.append(tmp_path / "e", made(1, 200), parts=[])
    found = experiment.axis_query("RNA", obs="obs_id == 'c200'").X()
    assert np.isnan(found).all() and found.shape == (1, GENES) if dense else found.nnz == 0
    # The same one.
    again = tdb.soma.append(tmp_path / "e", made(3, CELLS))
    rows = again.axis_query("RNA", obs="obs_id in ('c6', 'c7', 'c8')").X()
    assert np.array_equal(rows if dense else rows.toarray(), made(3, CELLS).X.toarray())
    assert len(again.obs) == CELLS + 6


def test_values_are_checked_before_an_append_writes(tmp_path: pathlib.Path) -> None:
    for name, kind, given, value, why in [
        ("small", np.int8, np.int64, 300, "X/data: 300, of the type int64, is none of the values of int8"),
        ("real", np.float32, np.float64, 1e300, "X/data: 1e\\+300, of the type float64"),
        ("large", np.float64, np.int64, 2**53 + 1, "X/data: 9007199254740993, of the type int64"),
        ("sign", np.uint64, np.int64, -1, "is none of the values of uint64"),
    ]:
        tdb.soma.from_anndata(tmp_path / name, made(3, 0, kind))
        before = files_of(tmp_path / name)
        more = made(2, 3, given)
        more.X[1, 2] = value
        # Integers with a sign are refused by their type where the matrix has none.
        with pytest.raises(tdb.QueryError, match=why if name != "sign" else "type int64"):
            tdb.soma.append(tmp_path / name, more)
        assert files_of(tmp_path / name) == before
        more.X[1, 2] = 7
        if name != "sign":
            assert tdb.soma.append(tmp_path / name, more).axis_query("RNA").X()[4, 2] == 7


def test_numbers_become_others_only_without_loss() -> None:
    kept: list[tuple[Any, Any]] = [
        (np.array([2**53, -(2**62)]), np.float64),
        (np.array([np.nan, np.inf, 1.1]), np.float32),
        (np.array([1.0, 5.0]), np.int8),
        (np.array([True, False]), np.int64),
        (np.array([255], np.uint64), np.uint8),
    ]
    for values, kind in kept:
        assert np.allclose(_cast(values, np.dtype(kind)).astype(np.float64), values.astype(np.float64), equal_nan=True)
    lost: list[tuple[Any, Any]] = [
        (np.array([2**53 + 1]), np.float64),
        (np.array([2**63 - 1]), np.float64),
        (np.array([2**64 - 1], np.uint64), np.float64),
        (np.array([2**24 + 1]), np.float32),
        (np.array([-1]), np.uint64),
        (np.array([2**63], np.uint64), np.int64),
        (np.array([1e39]), np.float32),
        (np.array([np.nan]), np.int64),
        (np.array([2.0**63]), np.int64),
        (np.array([1.5]), np.int64),
    ]
    for values, kind in lost:
        with pytest.raises(tdb.QueryError, match="is none of the values of"):
            _cast(values, np.dtype(kind))


def test_columns_are_checked_before_an_append_writes(tmp_path: pathlib.Path) -> None:
    import pyarrow

    tdb.soma.from_anndata(tmp_path / "e", made())
    obs = tdb.open(tmp_path / "e" / "obs")
    obs.evolve(add=[tdb.Attribute("n", "int32"), tdb.Attribute("real", "float64"), tdb.Attribute("small", "float32", nullable=True)])
    before = files_of(tmp_path / "e")
    more = made(2, CELLS)
    more.obs["n"], more.obs["real"], more.obs["small"] = pandas.array([1, None], dtype="Int32"), [np.nan, 1.5], [1e300, 1.0]
    for column, why in [("n", "'n': 1 of 2 values are missing"), ("small", "'small' has 1e\\+300, which is more than float has")]:
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.append(tmp_path / "e", more)
        assert files_of(tmp_path / "e") == before
        more.obs[column] = np.array([3, 4], np.int32)
    rows = pyarrow.table(tdb.soma.append(tmp_path / "e", more).obs.read(["n", "real", "small"], slice(CELLS, None)))
    assert rows["n"].to_pylist() == rows["small"].to_pylist() == [3, 4] and np.isnan(rows["real"][0].as_py())


def test_a_column_that_comes_again_has_nothing_of_what_it_had(tmp_path: pathlib.Path) -> None:
    data = made()
    data.obs["kind"] = pandas.Categorical(["B", "T", "B", "T", "B", "T"])
    data.obs["n"] = np.arange(CELLS)
    tdb.soma.from_anndata(tmp_path / "e", data)
    obs = tmp_path / "e" / "obs"
    tdb.soma.update(obs, drop=["kind", "n"])
    fragments = len(tdb.open(obs).fragments)
    tdb.soma.update(obs, pandas.DataFrame({"never": [1]}, index=["c0"]))
    # Where a column never was, only the rows of the frame are written.
    assert len(tdb.open(obs).fragments) == fragments + 1
    frame = pandas.DataFrame({"kind": pandas.Categorical(["NK", "M"]), "n": ["x", "y"]}, index=["c4", "c1"])
    found = tdb.soma.update(obs, frame).to_pandas()
    assert found["kind"].astype(object).fillna("-").tolist() == ["-", "M", "-", "-", "NK", "-"]
    assert found["n"].astype(object).fillna("-").tolist() == ["-", "y", "-", "-", "x", "-"]
    assert found["score"].tolist() == data.obs["score"].tolist() and found["obs_id"].tolist() == list(data.obs_names)


def test_a_column_that_comes_again_has_no_old_value_if_the_write_of_its_values_fails(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = tdb.soma.from_anndata(tmp_path / "e", made())
    obs = tmp_path / "e" / "obs"
    tdb.soma.update(obs, drop=["score"])
    whole = tdb.soma._change.write_table

    def stop(array: Any, columns: Any, *rest: Any) -> None:
        if "score" in columns.column_names:
            raise OSError("the disk is full")
        whole(array, columns, *rest)

    frame = pandas.DataFrame({"score": [7.0]}, index=["c2"])
    monkeypatch.setattr("tdb.soma._change.write_table", stop)
    with pytest.raises(OSError, match="is full"):
        tdb.soma.update(obs, frame)
    monkeypatch.undo()
    assert tdb.soma.open(obs).to_pandas()["score"].isna().all()
    found = tdb.soma.update(obs, frame).to_pandas()["score"].fillna(-1)
    assert found.tolist() == [-1, -1, 7, -1, -1, -1]
    assert experiment.obs.to_pandas()["score"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]


def test_a_column_that_comes_again_at_one_time_has_nothing_of_what_it_had(tmp_path: pathlib.Path) -> None:
    tdb.soma.from_anndata(tmp_path / "e", made(), at=10)
    obs = tmp_path / "e" / "obs"
    # All that can be opened at 20 and 30 has no such column: those between are of the same time.
    for name, time in [("score", 20), ("brief", 30)]:
        if name == "brief":
            tdb.soma.update(obs, pandas.DataFrame({name: np.arange(CELLS)}, index=made().obs_names), at=time)
        tdb.soma.update(obs, drop=[name], at=time)
        found = tdb.soma.update(obs, pandas.DataFrame({name: [7]}, index=["c2"]), at=time + 5).to_pandas()
        assert found[name].fillna(-1).tolist() == [-1, -1, 7, -1, -1, -1]


def test_uns_keeps_values_as_they_are_or_not_at_all(tmp_path: pathlib.Path) -> None:
    data = made()
    data.uns = {
        "texts": np.array(["a", None, "c"], object),
        "plain": np.ma.masked_array([1, 2], [False, False]),
        "list": ["a", "b"],
        "numbers": np.array([0, 1, 2], object),
        "mixed": np.array(["a", 0, False], object),
        "mixed_list": ["a", 0],
        "masked": np.ma.masked_array([1, 2], [False, True]),
        "time": np.datetime64("2020-01-01T00:00:00", "ns"),
        "span": np.timedelta64(5, "s"),
        "ragged": [[1], [2, 3]],
    }
    with pytest.warns(UserWarning) as warned:
        experiment = tdb.soma.from_anndata(tmp_path / "e", data)
    left = sorted(str(one.message).split("'")[1] for one in warned if "is left out" in str(one.message))
    assert left == ["masked", "mixed", "mixed_list", "numbers", "ragged", "span", "time"]
    found = experiment.ms["RNA"].uns.to_dict()
    assert {name: list(one) for name, one in found.items()} == {"texts": ["a", "", "c"], "plain": [1, 2], "list": ["a", "b"]}


def test_only_names_that_uns_has_are_kept(tmp_path: pathlib.Path) -> None:
    data = made()
    data.uns = {"title": "made", "n": 3}
    with pytest.raises(tdb.QueryError, match=r"uns names 'typo', which the data does not have in uns \(it has title, n\)"):
        tdb.soma.from_anndata(tmp_path / "e", data, uns=["n", "typo"])
    assert not (tmp_path / "e").exists()
    assert tdb.soma.from_anndata(tmp_path / "e", data, uns=["n"]).ms["RNA"].uns.to_dict() == {"n": 3}


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_values_that_are_there_twice_are_refused(tmp_path: pathlib.Path, format: str) -> None:
    row = np.array([0, 1, 2, 2, 3, 4, 5, 5])
    column = np.array([0, 1, 3, 3, 2, 0, 1, 2])
    order = np.lexsort((column, row) if format == "csr" else (row, column))
    ends = np.searchsorted(np.sort(row if format == "csr" else column), np.arange((CELLS if format == "csr" else GENES) + 1))
    made_of = sparse.csr_matrix if format == "csr" else sparse.csc_matrix
    other = (column if format == "csr" else row)[order]
    data = made()
    data.X = made_of((np.arange(8.0)[order], other, ends), (CELLS, GENES))
    assert data.X.nnz == 8
    with pytest.raises(tdb.QueryError, match="X has several values in row 2 and column 3"):
        tdb.soma.from_anndata(tmp_path / "e", data, dense=True)
    with pytest.raises(tdb.Error, match="have the same coordinates"):
        tdb.soma.from_anndata(tmp_path / "e", data)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_damaged_matrices_of_files_are_refused(tmp_path: pathlib.Path, format: str, dense: bool) -> None:
    h5py = pytest.importorskip("h5py")
    size, ends = (GENES, CELLS) if format == "csr" else (CELLS, GENES)
    damages: list[tuple[str, int, int, str]] = [
        ("indices", 3, -1, f"X is damaged: it has {size} .*, but a value in one with the index -1"),
        ("indices", 5, size, f"X is damaged: it has {size} .*, but a value in one with the index {size}"),
        ("indptr", 2, 0, "X is damaged: the ends of its .* ascend from 0, but indptr falls after"),
        ("indptr", 0, 1, "indptr begins with 1"),
        ("indptr", ends, 1000, "end at 1000, but it has 24 indices and 24 values"),
    ]
    tdb.soma.from_anndata(tmp_path / "e", made(1, 900), dense=dense)
    for name, at, value, why in damages:
        data = made()
        data.X = data.X.asformat(format)
        data.write_h5ad(tmp_path / "d.h5ad")
        with h5py.File(tmp_path / "d.h5ad", "r+") as file:
            file["X"][name][at] = value
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.from_h5ad(tmp_path / "no", tmp_path / "d.h5ad", dense=dense)
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.append(tmp_path / "e", tmp_path / "d.h5ad")
        assert not (tmp_path / "no").exists() and len(tdb.soma.open(tmp_path / "e").obs) == 1


def test_exports_take_ids_of_numpy_and_real_numbers_that_are_missing(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("h5py")
    data = made()
    data.obs["part"] = np.array([1.5, np.nan] * (CELLS // 2))
    data.obs["half"] = np.array([0.5, np.nan] * (CELLS // 2), np.float32)
    data.raw = data.copy()
    experiment = tdb.soma.from_anndata(tmp_path / "e", data)
    tdb.soma.to_h5ad(experiment, tmp_path / "whole.h5ad")
    for found in (tdb.soma.to_anndata(experiment), anndata.read_h5ad(tmp_path / "whole.h5ad")):
        assert found.obs.dtypes.to_dict() == data.obs.dtypes.to_dict()
        assert found.obs["part"].isna().tolist() == [False, True] * (CELLS // 2) and found.raw is not None
    ids = np.array([1, 4])
    tdb.soma.to_h5ad(experiment, tmp_path / "some.h5ad", obs=ids)
    for found in (tdb.soma.to_anndata(experiment, obs=ids), anndata.read_h5ad(tmp_path / "some.h5ad")):
        assert list(found.obs_names) == ["c1", "c4"] and found.raw is None


def test_only_the_usual_layer_may_be_missing_in_an_export(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("h5py")
    from tdb.soma.__main__ import main

    experiment = tdb.soma.from_anndata(tmp_path / "e", made(), X="counts")
    assert tdb.soma.to_anndata(experiment).X is None and set(tdb.soma.to_anndata(experiment).layers) - {None} == {"counts"}
    with pytest.raises(tdb.QueryError, match=r"has no layer 'count' \(it has counts\)"):
        tdb.soma.to_anndata(experiment, X="count")
    assert main(["export", str(tmp_path / "e"), str(tmp_path / "no.h5ad"), "--layer", "count"]) == 1
    assert not (tmp_path / "no.h5ad").exists()


@pytest.mark.parametrize("dense", [False, True])
def test_no_cells_can_be_appended(tmp_path: pathlib.Path, dense: bool) -> None:
    tdb.soma.from_anndata(tmp_path / "e", made(), dense=dense)
    assert len(tdb.soma.append(tmp_path / "e", made()[:0].copy()).obs) == CELLS


def test_features_of_10x_keep_their_places_in_the_genome(tmp_path: pathlib.Path) -> None:
    io = pytest.importorskip("scipy.io")
    with gzip.open(tmp_path / "matrix.mtx.gz", "wb") as file:
        io.mmwrite(file, made().X.T.tocoo())
    with gzip.open(tmp_path / "barcodes.tsv.gz", "wt") as file:
        file.writelines(f"c{at}\n" for at in range(CELLS))

    def features(end: str) -> Any:
        lines = [f"g{at}\tname{at}\tPeaks\tchr{at % 2}\t{at * 100}\t{at * 100 + 50}{end}\n" for at in range(GENES - 1)]
        with gzip.open(tmp_path / "features.tsv.gz", "wt") as file:
            file.writelines([*lines, f"g{GENES - 1}\tname\tGene Expression\n"])
        return tdb.soma.from_10x(tmp_path / f"e{len(end)}", tmp_path).ms["RNA"].var.to_pandas()

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = features("")
    assert found["chromosome"].tolist() == ["chr0", "chr1", "chr0", ""]
    assert found["start"][:3].tolist() == [0, 100, 200] and found["end"][:3].tolist() == [50, 150, 250] and found["end"].isna()[3]
    with pytest.warns(UserWarning, match="features.tsv: 1 columns after end have no known names, and are left out"):
        assert "end" in features("\tmore")
