"""SOMA experiments, made here with tdb itself: what is read of them, how it is cut, and what is refused."""

from __future__ import annotations

import pathlib
import pickle

import numpy as np
import pytest

import tdb
import tdb.soma

ROWS, COLUMNS = 300, 40


def _marked(place: tdb.Array | tdb.Group, kind: str) -> None:
    place.meta.update(soma_object_type=kind, soma_encoding_version="1.1.0")


def _collection(folder: pathlib.Path, kind: str = "SOMACollection") -> tdb.Group:
    group = tdb.Group.create(folder)
    _marked(group, kind)
    return group


def _table(folder: pathlib.Path, columns: dict[str, object], count: int) -> None:
    attributes = [
        tdb.Attribute(name, str if isinstance(values, list) else np.asarray(values).dtype) for name, values in columns.items()
    ]
    array = tdb.create(folder, tdb.Schema("sparse", [tdb.Dimension("soma_joinid", (0, 10**9), "int64", tile=100)], attributes))
    array.write({"soma_joinid": np.arange(count), **columns})
    _marked(array, "SOMADataFrame")


def _sparse(folder: pathlib.Path, matrix: np.ndarray) -> None:
    dimensions = [tdb.Dimension(f"soma_dim_{at}", (0, 10**9), "int64", tile=16) for at in range(2)]
    schema = tdb.Schema(
        "sparse",
        dimensions,
        [tdb.Attribute("soma_data", matrix.dtype, filters="zstd")],
        capacity=50,
        current_domain=[(0, size - 1) for size in matrix.shape],
    )
    array = tdb.create(folder, schema)
    rows, columns = np.nonzero(matrix)
    array.write({"soma_dim_0": rows, "soma_dim_1": columns, "soma_data": matrix[rows, columns]})
    _marked(array, "SOMASparseNDArray")


def _dense(folder: pathlib.Path, matrix: np.ndarray) -> None:
    dimensions = [tdb.Dimension(f"soma_dim_{at}", (0, size - 1), "int64", tile=min(size, 16)) for at, size in enumerate(matrix.shape)]
    array = tdb.create(folder, tdb.Schema("dense", dimensions, [tdb.Attribute("soma_data", matrix.dtype)]))
    array.write(matrix)
    _marked(array, "SOMADenseNDArray")


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    rng = np.random.default_rng(1)
    found = rng.integers(1, 100, (ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.2)
    # Rows without a value: the first, some in the middle, the last.
    found[[0, 17, 18, 19, ROWS - 1]] = 0
    return found.astype(np.float32)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory, matrix: np.ndarray) -> str:
    folder = tmp_path_factory.mktemp("soma")
    top = _collection(folder / "e", "SOMAExperiment")
    ms = _collection(folder / "ms")
    rna = _collection(folder / "rna", "SOMAMeasurement")
    parts = {name: _collection(folder / name) for name in ("X", "obsm", "obsp", "uns")}
    _table(folder / "obs", {"obs_id": [f"c{at}" for at in range(ROWS)], "size": np.arange(ROWS) % 10}, ROWS)
    _table(folder / "var", {"var_id": [f"g{at}" for at in range(COLUMNS)], "length": np.arange(COLUMNS) * 100}, COLUMNS)
    _sparse(folder / "data", matrix)
    _dense(folder / "pca", matrix[:, :3].astype(np.float64))
    _sparse(folder / "near", (matrix @ matrix.T > 9_000).astype(np.int8))
    parts["uns"].meta["title"] = "made"
    for group, name, place in [
        (parts["X"], "data", "data"),
        (parts["obsm"], "pca", "pca"),
        (parts["obsp"], "near", "near"),
        (rna, "var", "var"),
        (ms, "RNA", "rna"),
        (top, "obs", "obs"),
        (top, "ms", "ms"),
        *((rna, name, name) for name in parts),
    ]:
        group.add(str(folder / place), name)
    return str(folder / "e")


def test_members_are_reached_by_their_names(experiment: str) -> None:
    opened = tdb.soma.open(experiment)
    assert isinstance(opened, tdb.soma.Experiment) and list(opened.ms) == ["RNA"]
    rna = opened.ms["RNA"]
    assert set(rna) == {"X", "obsm", "obsp", "uns", "var"} and list(rna.X) == ["data"]
    assert opened.obs.columns == ["soma_joinid", "obs_id", "size"] and len(opened.obs) == ROWS and len(rna.var) == COLUMNS
    assert rna.uns.to_dict() == {"title": "made"}
    again = pickle.loads(pickle.dumps(opened))
    assert again.ms["RNA"].X["data"].nnz == rna.X["data"].nnz


def test_tables_are_queries_with_conditions_or_ids(experiment: str) -> None:
    obs = tdb.soma.open(experiment).obs
    assert obs.read(["size"], "size == 3 and obs_id < 'c2'").to_numpy()["size"].tolist() == [3] * 11
    assert obs.read(["obs_id"], [5, 3]).to_numpy()["obs_id"].tolist() == ["c3", "c5"]
    assert obs.read(["obs_id"], slice(2, 4)).to_numpy()["obs_id"].tolist() == ["c2", "c3"]
    assert len(obs.read(["obs_id"], []).to_numpy()["obs_id"]) == 0
    assert obs.ids(tdb.field("size") == 9).tolist() == list(range(9, ROWS, 10))
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(obs.read(["obs_id"]))["obs_id"].to_pylist()[:2] == ["c0", "c1"]


def test_a_sparse_matrix_becomes_scipys(experiment: str, matrix: np.ndarray) -> None:
    pytest.importorskip("scipy")
    X = tdb.soma.open(experiment).ms["RNA"].X["data"]
    assert X.shape == (ROWS, COLUMNS) and X.nnz == np.count_nonzero(matrix)
    whole = X.to_scipy()
    assert whole.dtype == np.float32 and whole.indices.dtype == np.int32 and whole.has_sorted_indices
    assert (whole.toarray() == matrix).all()
    rows, columns = [200, 3, 17, 18], np.array([39, 0])
    assert (X.to_scipy(rows, columns).toarray() == matrix[np.ix_(sorted(rows), sorted(columns))]).all()
    assert (X.to_scipy(slice(10, 60)).toarray() == matrix[10:60]).all()
    assert X.to_scipy([], columns).shape == (0, 2)


@pytest.mark.parametrize("rows", [None, np.arange(0, ROWS, 3), slice(16, 21)], ids=["all", "some", "few"])
def test_batches_have_whole_rows_and_all_of_them(experiment: str, matrix: np.ndarray, rows: object) -> None:
    pytest.importorskip("scipy")
    X = tdb.soma.open(experiment).ms["RNA"].X["data"]
    found = list(X.batches(rows, memory="16MB"))
    wanted = np.arange(ROWS)[rows if rows is not None else slice(None)]
    assert np.concatenate([ids for ids, _ in found]).tolist() == wanted.tolist()
    assert all(part.shape == (len(ids), COLUMNS) for ids, part in found)
    assert (np.concatenate([part.toarray() for _, part in found]) == matrix[wanted]).all()


def test_a_matrix_of_several_batches_is_cut_between_rows(uri: str) -> None:
    pytest.importorskip("scipy")
    big = (np.arange(2_000 * 300) % 7).reshape(2_000, 300).astype(np.int64)
    _sparse(pathlib.Path(uri), big)
    found = list(tdb.soma.open(uri).batches(memory="12MB"))
    assert len(found) > 3
    assert (np.concatenate([part.toarray() for _, part in found]) == big).all()
    assert np.concatenate([ids for ids, _ in found]).tolist() == list(range(2_000))


def test_an_axis_query_has_what_satisfies_its_conditions(experiment: str, matrix: np.ndarray) -> None:
    pytest.importorskip("scipy")
    query = tdb.soma.open(experiment).axis_query("RNA", obs="size >= 8", var=tdb.field("length") < 1000)
    rows, columns = [at for at in range(ROWS) if at % 10 >= 8], list(range(10))
    assert query.shape == (len(rows), 10) and query.obs_ids.tolist() == rows and query.var_ids.tolist() == columns
    assert (query.X().toarray() == matrix[np.ix_(rows, columns)]).all()
    assert (query.obsm("pca") == matrix[rows, :3]).all()
    assert (query.obsp("near").toarray() == (matrix @ matrix.T > 9_000)[np.ix_(rows, rows)]).all()
    assert query.obs(["size"]).to_numpy()["size"].tolist() == [at % 10 for at in rows]
    assert sum(len(batch) for batch in query.stream(memory="16MB")) == np.count_nonzero(matrix[np.ix_(rows, columns)])
    assert np.concatenate([part.toarray() for _, part in query.batches(memory="16MB")]).sum() == matrix[np.ix_(rows, columns)].sum()
    nothing = tdb.soma.open(experiment).axis_query("RNA", obs="size > 100")
    assert nothing.X().shape == (0, COLUMNS) and nothing.obsm("pca").shape == (0, 3)


def test_an_axis_query_becomes_anndata(experiment: str, matrix: np.ndarray) -> None:
    pytest.importorskip("anndata")
    query = tdb.soma.open(experiment).axis_query("RNA", obs=[4, 2, 250])
    data = query.to_anndata(obsm=["pca"], obsp=["near"])
    assert data.obs_names.tolist() == ["c2", "c4", "c250"] and data.var_names.tolist()[:2] == ["g0", "g1"]
    assert (data.X.toarray() == matrix[[2, 4, 250]]).all() and list(data.obs.columns) == ["size"]


def test_tables_that_are_not_indexed_by_ids_alone_are_paired_with_their_matrices(tmp_path: pathlib.Path, matrix: np.ndarray) -> None:
    pytest.importorskip("anndata")
    top, ms = _collection(tmp_path / "e", "SOMAExperiment"), _collection(tmp_path / "ms")
    rna, layers = _collection(tmp_path / "rna", "SOMAMeasurement"), _collection(tmp_path / "X")
    schema = tdb.Schema("sparse", [tdb.Dimension("kind", None, str)], [tdb.Attribute("soma_joinid", "int64")], duplicates=True)
    for name, count in (("obs", ROWS), ("var", COLUMNS)):
        table = tdb.create(tmp_path / name, schema)
        table.write({"kind": [f"k{at % 7}" for at in range(count)], "soma_joinid": np.arange(count)})
        _marked(table, "SOMADataFrame")
    _sparse(tmp_path / "data", matrix)
    for group, name, place in ((layers, "data", "data"), (rna, "X", "X"), (rna, "var", "var"), (ms, "RNA", "rna")):
        group.add(str(tmp_path / place), name)
    top.add(str(tmp_path / "obs"), "obs")
    top.add(str(tmp_path / "ms"), "ms")
    data = tdb.soma.open(str(tmp_path / "e")).axis_query("RNA", obs=slice(290, None)).to_anndata()
    assert data.obs_names.tolist() == [str(at) for at in range(290, ROWS)]
    assert data.obs["kind"].tolist() == [f"k{at % 7}" for at in range(290, ROWS)]
    assert (data.X.toarray() == matrix[290:]).all()


def test_what_is_not_there_is_said(experiment: str, fixtures: pathlib.Path) -> None:
    opened = tdb.soma.open(experiment)
    with pytest.raises(tdb.QueryError, match=r"no measurement 'ATAC' \(it has RNA\)"):
        opened.axis_query("ATAC")
    with pytest.raises(tdb.QueryError, match=r"no 'counts' \(it has data\)"):
        opened.axis_query("RNA").X("counts")
    with pytest.raises(tdb.QueryError, match="no 'varm'"):
        opened.ms["RNA"].varm
    with pytest.raises(tdb.NotAnArrayError, match="no object of SOMA"):
        tdb.soma.open(fixtures / "quickstart")
    with pytest.raises(tdb.QueryError, match="condition"):
        opened.obs.read(["size"], "nothing >").to_numpy()


def _old_sparse(folder: pathlib.Path, upper: int | None = None) -> tdb.soma.SparseMatrix:
    """A matrix as tiledbsoma before 1.15 makes it: with the largest shape that there is."""
    dimensions = [tdb.Dimension(f"soma_dim_{at}", (0, 2**31 - 3), "int64", tile=16) for at in range(2)]
    array = tdb.create(folder, tdb.Schema("sparse", dimensions, [tdb.Attribute("soma_data", "float32")]))
    array.write({"soma_dim_0": [0, 2, 5], "soma_dim_1": [1, 3, 0], "soma_data": [1.5, 2.5, 3.5]})
    _marked(array, "SOMASparseNDArray")
    if upper is not None:
        array.meta["soma_dim_0_domain_upper"] = upper
    return tdb.soma.open(folder)


def test_a_matrix_without_a_shape_of_its_own_is_read_as_far_as_it_has_values(tmp_path: pathlib.Path) -> None:
    old = _old_sparse(tmp_path / "old")
    assert old.shape == (2**31 - 2, 2**31 - 2)
    assert old.to_scipy().shape == (6, 4)
    assert old.to_scipy(slice(1, None), [0, 3]).toarray().tolist() == [[0, 0], [0, 2.5], [0, 0], [0, 0], [3.5, 0]]
    assert sum(part.shape[0] for _, part in old.batches()) == 6
    assert _old_sparse(tmp_path / "said", 9).to_scipy().shape == (10, 4)


def test_masks_and_real_numbers_are_no_ids(tmp_path: pathlib.Path) -> None:
    _dense(tmp_path / "dense", np.arange(30, dtype=np.int32).reshape(10, 3))
    matrix, old = tdb.soma.open(tmp_path / "dense"), _old_sparse(tmp_path / "old")
    for wrong in (np.array([True, False]), [1.7], ["a"]):
        with pytest.raises(tdb.QueryError, match="ids are integers"):
            matrix.to_numpy(wrong)
        with pytest.raises(tdb.QueryError, match="ids are integers"):
            old.read(wrong)
    assert matrix.to_numpy([]).shape == (0, 3)
    # As many ids as rows, but other ones.
    with pytest.raises(tdb.Error):
        matrix.to_numpy(range(1, 11))


def test_what_uns_cannot_show_is_left_out_with_a_warning(tmp_path: pathlib.Path) -> None:
    group = _collection(tmp_path / "uns")
    _table(tmp_path / "uns" / "table", {"n": np.arange(2)}, 2)
    three = [tdb.Dimension(f"soma_dim_{at}", (0, 3), "int64") for at in range(3)]
    cube = tdb.create(tmp_path / "uns" / "cube", tdb.Schema("sparse", three, [tdb.Attribute("soma_data", "int32")]))
    cube.write({"soma_dim_0": [1], "soma_dim_1": [2], "soma_dim_2": [3], "soma_data": [4]})
    _marked(cube, "SOMASparseNDArray")
    cloud = tdb.create(tmp_path / "uns" / "cloud", tdb.Schema("sparse", three[:1], [tdb.Attribute("a", "int32")]))
    _marked(cloud, "SOMAPointCloudDataFrame")
    tdb.open(tmp_path / "uns" / "table").meta["soma_uns_outgest_hint"] = "array_9d"
    for name in ("table", "cube", "cloud"):
        group.add(name, name, relative=True)
    with pytest.warns(UserWarning, match="cloud"):
        found = tdb.soma.open(tmp_path / "uns").to_dict()
    assert set(found) == {"table", "cube"} and found["table"]["n"].tolist() == [0, 1]
    assert found["cube"]["soma_data"].tolist() == [4]
