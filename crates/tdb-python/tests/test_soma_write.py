"""SOMA's objects, written: what they are created as, what is in them, and what is refused."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import tdb
import tdb.soma

CELLS, GENES = 20, 12

pa = pytest.importorskip("pyarrow")


def test_a_table_is_created_with_its_marks_and_its_domain(tmp_path: pathlib.Path) -> None:
    schema = pa.schema([("soma_joinid", pa.int64()), ("name", pa.string()), ("kind", pa.dictionary(pa.int8(), pa.string()))])
    made = tdb.soma.create_dataframe(tmp_path / "a", schema, domain=[(0, 99)], enumerations={"kind": ["B", "T"]}, metadata={"x": 1})
    assert made.schema.current_domain == ((0, 99),) and made.schema.dimensions[0].domain == (0, 2**63 - 2 - 100)
    assert made.schema.attribute("kind").enumeration == "kind" and made.enumeration("kind") == ["B", "T"]
    assert dict(made.meta) == {"soma_encoding_version": "1.1.0", "soma_object_type": "SOMADataFrame", "x": 1}
    assert tdb.soma.open(tmp_path / "a").columns == ["soma_joinid", "name", "kind"]


def test_matrices_and_collections_are_created(tmp_path: pathlib.Path) -> None:
    sparse = tdb.soma.create_sparse(tmp_path / "s", pa.float32(), (10, 3000))
    assert sparse.shape == (10, 3000) and [own.tile for own in sparse.schema.dimensions] == [2048, 2048]
    dense = tdb.soma.create_dense(tmp_path / "d", pa.int8(), (4, 5, 6))
    assert dense.shape == (4, 5, 6) and [own.tile for own in dense.schema.dimensions] == [128] * 3
    tdb.soma.create_collection(tmp_path / "e", "Experiment")
    assert isinstance(tdb.soma.open(tmp_path / "e"), tdb.soma.Experiment)


def test_options_are_taken_or_refused_by_their_names(tmp_path: pathlib.Path) -> None:
    own = {"capacity": 7, "dims": {"soma_dim_0": {"tile": 5, "filters": [{"_type": "ZstdFilter", "level": 9}]}}}
    made = tdb.soma.create_sparse(tmp_path / "s", pa.int8(), (10,), {"tiledb": {"create": own}})
    assert made.schema.capacity == 7 and made.schema.dimensions[0].tile == 5
    assert made.schema.dimensions[0].filters == [{"name": "zstd", "level": 9}]
    wrong: list[tuple[Any, str]] = [
        ({"capacitY": 7}, "no option 'capacitY'"),
        ({"capacity": "7"}, "not int"),
        ({"dims": {"soma_dim_1": {"tile": 5}}}, "names 'soma_dim_1'"),
        ({"attrs": {"soma_data": {"filters": ["Zstd"]}}}, "'Zstd', which is not known"),
        ({"attrs": {"soma_data": {"filters": [{"_type": "ZstdFilter", "window": 3}]}}}, "has no option 'window'"),
        ({"tile_order": "hilbert"}, "tile_order is 'hilbert'"),
    ]
    for said, why in wrong:
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.create_sparse(tmp_path / "no", pa.int8(), (10,), {"tiledb": {"create": said}})
    assert not (tmp_path / "no").exists()


def test_what_soma_does_not_have_is_refused(tmp_path: pathlib.Path) -> None:
    joinid = ("soma_joinid", pa.int64())
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ([("soma_joinid", pa.int32())], {}, "'soma_joinid' has the type int32"),
        ([joinid, ("soma_x", pa.int8())], {}, "begins with soma_"),
        ([joinid, ("day", pa.date32())], {}, "'day' has the type date32"),
        ([joinid], {"index_columns": ["x"]}, "index_columns has 'x'"),
        ([joinid], {"domain": [(0, 1), (0, 1)]}, "domain has 2 parts"),
        ([joinid], {"domain": [(5, 1)]}, "wrong order"),
        ([joinid, ("t", pa.string())], {"index_columns": ["t"], "domain": [("a", "b")]}, "say None"),
    ]
    for columns, more, why in wrong:
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.create_dataframe(tmp_path / "no", pa.schema(columns), **more)
    shapes: list[Any] = [(), (0,), (-1, 2), (1 << 63,), (1.5,)]
    for shape in shapes:
        with pytest.raises(tdb.QueryError, match="shape is"):
            tdb.soma.create_sparse(tmp_path / "no", pa.int8(), shape)
    with pytest.raises(tdb.QueryError, match="cannot have the type string"):
        tdb.soma.create_dense(tmp_path / "no", pa.string(), (2,))
    with pytest.raises(tdb.QueryError, match="no kind of collection"):
        tdb.soma.create_collection(tmp_path / "no", "Expriment")
    assert not (tmp_path / "no").exists()


@pytest.fixture
def data() -> Any:
    """An object of AnnData with everything that it can have."""
    anndata, sparse = pytest.importorskip("anndata"), pytest.importorskip("scipy.sparse")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    X = sparse.random(CELLS, GENES, density=0.2, format="csr", random_state=rng, dtype=np.float32)
    obs = pandas.DataFrame(
        {
            "kind": pandas.Categorical(rng.choice(["B", "T"], CELLS)),
            "size": rng.integers(0, 9, CELLS),
            "maybe": pandas.array([1, None] * (CELLS // 2), dtype="Int64"),
        },
        index=[f"c{at}" for at in range(CELLS)],
    )
    var = pandas.DataFrame({"length": rng.integers(1, 9, GENES)}, index=pandas.Index([f"g{at}" for at in range(GENES)], name="gene"))
    made = anndata.AnnData(
        X,
        obs,
        var,
        obsm={"pca": rng.random((CELLS, 3))},
        varm={"PCs": rng.random((GENES, 2))},
        obsp={"near": sparse.random(CELLS, CELLS, density=0.1, format="csr", random_state=rng)},
        uns={"title": "made", "colors": np.array(["red", "blue"]), "nested": {"n": np.arange(3)}},
        layers={"half é %1": X.tocsc() * np.float32(0.5), "dense": X.toarray()},
    )
    made.raw = made.copy()
    return made


def test_an_object_of_anndata_becomes_an_experiment(tmp_path: pathlib.Path, data: Any) -> None:
    heard: list[tuple[str, int, int]] = []
    made = tdb.soma.from_anndata(tmp_path / "e", data, progress=lambda *said: heard.append(said))
    rna = made.ms["RNA"]
    assert set(made) == {"obs", "ms"} and set(made.ms) == {"RNA", "raw"}
    assert set(rna) == {"var", "X", "obsm", "varm", "obsp", "uns"} and set(rna.X) == {"data", "half é %1", "dense"}
    for name, matrix in {"data": data.X, "half é %1": data.layers["half é %1"], "dense": data.X}.items():
        assert abs(rna.X[name].to_scipy() - matrix).nnz == 0
    assert np.array_equal(rna.obsm["pca"].to_scipy().toarray(), data.obsm["pca"])
    assert made.obs.columns == ["soma_joinid", "obs_id", "kind", "size", "maybe"]
    assert rna.var.columns == ["soma_joinid", "gene", "length"]
    assert rna.var.meta["soma_dataframe_original_index_name"] == '"gene"'
    assert made.obs.to_pandas()["kind"].tolist() == data.obs["kind"].tolist()
    uns = rna.uns.to_dict()
    assert uns["title"] == "made" and uns["colors"].tolist() == ["red", "blue"] and uns["nested"]["n"].tolist() == [0, 1, 2]
    assert ("ms/RNA/X/data", CELLS, CELLS) in heard
    # Each matrix is one fragment, however it comes.
    assert [len(rna.X[name].array.fragments) for name in rna.X] == [1, 1, 1]


def test_h5ad_files_are_read_in_parts(tmp_path: pathlib.Path, data: Any) -> None:
    pytest.importorskip("h5py")
    data.write_h5ad(tmp_path / "d.h5ad")
    made = tdb.soma.from_h5ad(tmp_path / "e", tmp_path / "d.h5ad", memory="1MB")
    dense = tdb.soma.from_h5ad(tmp_path / "dense", tmp_path / "d.h5ad", dense=True, uns=[], X="counts")
    for name in ("data", "half é %1", "dense"):
        found = made.ms["RNA"].X[name].to_scipy().toarray()
        assert np.array_equal(found, data.X.toarray() * (0.5 if "half" in name else 1))
    assert np.array_equal(dense.ms["RNA"].X["counts"].to_numpy(), data.X.toarray())
    assert dict(dense.ms["RNA"].uns) == {}


def test_what_10x_writes_becomes_an_experiment(tmp_path: pathlib.Path, data: Any) -> None:
    import gzip

    h5py, io = pytest.importorskip("h5py"), pytest.importorskip("scipy.io")
    counts = (data.X * 10).astype(np.int32).tocsr()
    counts.eliminate_zeros()
    folder = tmp_path / "filtered"
    folder.mkdir()
    with gzip.open(folder / "matrix.mtx.gz", "wb") as file:
        io.mmwrite(file, counts.T.tocoo())
    with gzip.open(folder / "barcodes.tsv.gz", "wt") as file:
        file.writelines(f"c{at}\n" for at in range(CELLS))
    with gzip.open(folder / "features.tsv.gz", "wt") as file:
        file.writelines(f"g{at}\tname{at % 3}\tGene Expression\n" for at in range(GENES))
    with h5py.File(tmp_path / "m.h5", "w") as file:
        group = file.create_group("matrix")
        for name, values in {"data": counts.data, "indices": counts.indices, "indptr": counts.indptr, "shape": [GENES, CELLS]}.items():
            group[name] = values
        group["barcodes"] = [f"c{at}".encode() for at in range(CELLS)]
        group.create_group("features")["id"] = [f"g{at}".encode() for at in range(GENES)]
        group["features"]["name"] = [f"name{at % 3}".encode() for at in range(GENES)]
    for source in (folder, tmp_path / "m.h5"):
        made = tdb.soma.from_10x(tmp_path / f"of {source.name}", source)
        assert abs(made.ms["RNA"].X["data"].to_scipy() - counts).nnz == 0
        assert made.ms["RNA"].var.to_pandas()["gene_names"].tolist() == [f"name{at % 3}" for at in range(GENES)]
        assert made.obs.to_pandas()["obs_id"].tolist() == [f"c{at}" for at in range(CELLS)]
    (folder / "barcodes.tsv.gz").unlink()
    with pytest.raises(tdb.QueryError, match="has no barcodes.tsv"):
        tdb.soma.from_10x(tmp_path / "no", folder)


def test_an_experiment_is_complete_or_not_there(tmp_path: pathlib.Path, data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = data.copy()
    broken.layers["bad"] = np.full((CELLS, GENES), "x", object)
    twice = data.copy()
    twice.obs_names = ["c0"] * CELLS
    for wrong, why in [(broken, "values of the type object"), (twice, "'c0' 20 times")]:
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.from_anndata(tmp_path / "e", wrong)
        assert list(tmp_path.iterdir()) == []

    def stop(name: str, done: int, total: int) -> None:
        if name == "ms/RNA/obsp/near":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tdb.soma.from_anndata(tmp_path / "e", data, progress=stop)
    assert list(tmp_path.iterdir()) == []
    # Where nothing can be renamed, the experiment's own group comes last.
    monkeypatch.setattr("tdb.soma._build._folder", lambda place: None)
    with pytest.raises(KeyboardInterrupt):
        tdb.soma.from_anndata(tmp_path / "e", data, progress=stop)
    assert (tmp_path / "e").exists() and tdb.object_type(tmp_path / "e") is None
    tdb.soma.from_anndata(tmp_path / "whole", data)
    with pytest.raises(tdb.QueryError, match="something at .* already"):
        tdb.soma.from_anndata(tmp_path / "whole", data)


def test_what_uns_cannot_keep_is_left_out_with_a_warning(tmp_path: pathlib.Path, data: Any) -> None:
    data.uns = {"none": None, "soma_x": 1, "empty": np.empty(0), "n": 3, "huge": 1 << 70, "pairs": np.zeros(2, "i4,f8")}
    with pytest.warns(UserWarning) as warned:
        made = tdb.soma.from_anndata(tmp_path / "e", data)
    assert sorted(str(one.message).split("'")[1] for one in warned) == ["empty", "huge", "none", "pairs", "soma_x"]
    assert made.ms["RNA"].uns.to_dict() == {"n": 3}


def test_tables_that_soma_does_not_have_are_refused(tmp_path: pathlib.Path, data: Any) -> None:
    pandas = pytest.importorskip("pandas")
    columns: list[tuple[Any, str]] = [
        (pandas.to_timedelta([1] * CELLS, "s"), "'x' has the type duration"),
        (pandas.date_range("2020", periods=CELLS, tz="UTC"), "'x' has the type timestamp.(ns|us), tz=UTC"),
        ([1, "a"] * (CELLS // 2), "column 'x'"),
    ]
    for values, why in columns:
        wrong = data.copy()
        wrong.obs["x"] = values
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.from_anndata(tmp_path / "no", wrong)
    data.obsm["table"] = pandas.DataFrame({"a": range(CELLS)}, index=data.obs_names)
    with pytest.raises(tdb.QueryError, match="is a table of pandas"):
        tdb.soma.from_anndata(tmp_path / "no", data)


def _cells(data: Any, first: int, count: int) -> Any:
    """Some cells under other names."""
    made = data[:count].copy()
    made.obs_names = [f"c{first + at}" for at in range(count)]
    made.uns, made.varm = {}, {}
    return made


def test_cells_are_appended_with_new_genes_and_categories(tmp_path: pathlib.Path, data: Any) -> None:
    pandas = pytest.importorskip("pandas")
    tdb.soma.from_anndata(tmp_path / "e", data)
    more = _cells(data, CELLS, 6)[:, ::-1].copy()
    more.raw = more.copy()
    more.var_names = ["new", *more.var_names[1:]]
    more.obs["kind"] = pandas.Categorical(["B", "NK", "NK", "T", None, "B"])
    del more.obs["maybe"]
    made = tdb.soma.append(tmp_path / "e", more)
    rna = made.ms["RNA"]
    assert len(made.obs) == CELLS + 6 and len(rna.var) == GENES + 1
    assert rna.X["data"].shape == (CELLS + 6, GENES + 1) and rna.varm["PCs"].shape == (GENES + 1, 2)
    assert made.ms["raw"].X["data"].shape == (CELLS + 6, GENES)
    found = rna.X["data"].to_scipy().toarray()
    assert np.array_equal(found[:CELLS, :GENES], data.X.toarray())
    ids = {name: at for at, name in enumerate(rna.var.to_pandas()["gene"])}
    assert np.array_equal(found[CELLS:, [ids[name] for name in more.var_names]], more.X.toarray())
    obs = made.obs.to_pandas()
    assert obs["obs_id"].tolist()[-6:] == list(more.obs_names)
    assert obs["kind"].astype(object).fillna("-").tolist()[-6:] == ["B", "NK", "NK", "T", "-", "B"]
    assert obs["maybe"].isna().tolist()[-6:] == [True] * 6
    assert np.array_equal(rna.obsm["pca"].to_scipy().toarray()[CELLS:], more.obsm["pca"])
    assert abs(rna.obsp["near"].to_scipy()[CELLS:, CELLS:] - more.obsp["near"]).nnz == 0
    # One fragment for each append.
    assert len(rna.X["data"].array.fragments) == 2


def test_an_append_that_does_not_fit_changes_nothing(tmp_path: pathlib.Path, data: Any) -> None:
    tdb.soma.from_anndata(tmp_path / "e", data)
    before = sorted(str(path) for path in (tmp_path / "e").rglob("*"))
    extra, layer, wide, kind = (_cells(data, CELLS, 3) for _ in range(4))
    extra.obs["extra"] = 1
    layer.layers["other"] = layer.X
    wide.obsm["pca"] = np.zeros((3, 9))
    kind.X = kind.X.astype(np.complex128)
    for wrong, why in [
        (_cells(data, CELLS - 1, 3), "1 ids are in the experiment already.*'c19'"),
        (extra, r"column 'extra' is not in the experiment.*update\(\)"),
        (layer, "has no X.'other'"),
        (wide, "has 9 columns, but 3"),
        (kind, "values of the type complex128"),
    ]:
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.append(tmp_path / "e", wrong)
    with pytest.raises(tdb.QueryError, match="no measurement 'DNA'"):
        tdb.soma.append(tmp_path / "e", _cells(data, CELLS, 3), "DNA")
    with pytest.raises(tdb.QueryError, match="parts has 'layer'"):
        tdb.soma.append(tmp_path / "e", _cells(data, CELLS, 3), parts=["layer"])
    assert sorted(str(path) for path in (tmp_path / "e").rglob("*")) == before
    made = tdb.soma.append(tmp_path / "e", layer, parts=["X"])
    assert made.ms["RNA"].X["data"].nnz == data.X.nnz + layer.X.nnz
    assert made.ms["RNA"].obsm["pca"].shape == (CELLS + 3, 3)


def test_values_that_a_matrix_cannot_hold_are_refused(tmp_path: pathlib.Path, data: Any) -> None:
    data.X = data.X.astype(np.int8)
    data.X.data[:] = 1
    tdb.soma.from_anndata(tmp_path / "e", data)
    more = _cells(data, CELLS, 3)
    more.X = more.X.astype(np.int64) * 1000
    with pytest.raises(tdb.QueryError, match="X/data: 1000, of the type int64, is none of the values of int8"):
        tdb.soma.append(tmp_path / "e", more, parts=["X"])
    # The cells come last: a query sees none of those that were to be appended.
    assert len(tdb.soma.open(tmp_path / "e").obs) == CELLS


def test_cells_are_deleted_everywhere(tmp_path: pathlib.Path, data: Any) -> None:
    made = tdb.soma.from_anndata(tmp_path / "e", data)
    gone = data.obs["kind"].to_numpy() == "B"
    before = made.obs.array.window[1]
    assert tdb.soma.delete(tmp_path / "e", "kind == 'B'") == gone.sum()
    after = tdb.soma.open(tmp_path / "e")
    rna = after.ms["RNA"]
    assert after.obs.to_pandas()["obs_id"].tolist() == list(data.obs_names[~gone])
    kept = np.flatnonzero(~gone)
    assert rna.X["data"].nnz == data.X[kept].nnz and after.ms["raw"].X["data"].nnz == data.X[kept].nnz
    assert rna.obsp["near"].nnz == data.obsp["near"][kept][:, kept].nnz
    assert rna.obsm["pca"].nnz == len(kept) * 3
    query = after.axis_query("RNA")
    assert abs(query.X() - data.X[kept]).nnz == 0
    assert tdb.soma.delete(tmp_path / "e", "kind == 'B'") == 0 and tdb.soma.delete(tmp_path / "e", [int(kept[0])]) == 1
    # What is appended later gets ids that none of the deleted cells had.
    tdb.soma.append(tmp_path / "e", _cells(data, 100, 2))
    assert tdb.soma.open(tmp_path / "e").obs.ids()[-2:].tolist() == [CELLS, CELLS + 1]
    assert len(tdb.soma.open(tmp_path / "e", at=before).obs) == CELLS
    with pytest.raises(tdb.QueryError, match="without one, all cells"):
        tdb.soma.delete(tmp_path / "e", None)
    tdb.soma.from_anndata(tmp_path / "dense", data, dense=True)
    with pytest.raises(tdb.QueryError, match="is dense, so its cells cannot be deleted"):
        tdb.soma.delete(tmp_path / "dense", [1])


def test_many_single_cells_are_deleted_by_a_list(tmp_path: pathlib.Path) -> None:
    anndata, sparse = pytest.importorskip("anndata"), pytest.importorskip("scipy.sparse")
    X = sparse.random(1000, 5, density=0.5, format="csr", random_state=1)
    tdb.soma.from_anndata(tmp_path / "e", anndata.AnnData(X))
    assert tdb.soma.delete(tmp_path / "e", np.arange(0, 1000, 2)) == 500
    assert tdb.soma.open(tmp_path / "e").ms["RNA"].X["data"].nnz == X[1::2].nnz


def test_columns_are_updated_added_and_dropped(tmp_path: pathlib.Path, data: Any) -> None:
    pandas = pytest.importorskip("pandas")
    tdb.soma.from_anndata(tmp_path / "e", data)
    frame = pandas.DataFrame(
        {"kind": pandas.Categorical(["NK", "B"]), "score": [1.5, 2.5], "tag": pandas.Categorical(["u", "v"])}, index=["c7", "c3"]
    )
    made = tdb.soma.update(tmp_path / "e" / "obs", frame, drop=["size"]).to_pandas()
    assert list(made.columns) == ["soma_joinid", "obs_id", "kind", "maybe", "score", "tag"]
    assert (made["kind"][7], made["kind"][3], made["kind"][2]) == ("NK", "B", data.obs["kind"].iloc[2])
    assert made["score"][[3, 7]].tolist() == [2.5, 1.5] and made["score"].isna().sum() == CELLS - 2
    assert made["tag"][3] == "v" and made["maybe"].isna().tolist() == data.obs["maybe"].isna().tolist()
    var = pandas.DataFrame({"length": [99]}, index=["g2"])
    assert tdb.soma.update(tmp_path / "e" / "ms" / "RNA" / "var", var).to_pandas()["length"][2] == 99
    for wrong, more, why in [
        (pandas.DataFrame({"score": [1.0]}, index=["c99"]), {}, "has no 'c99' in 'obs_id'"),
        (pandas.DataFrame({"score": ["x"]}, index=["c1"]), {}, "'score' has the type"),
        (None, {"drop": ["nothing"]}, "has no column 'nothing' to drop"),
        (frame, {"drop": ["kind"]}, "drop has 'kind', which the update needs"),
    ]:
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.update(tmp_path / "e" / "obs", wrong, **more)  # type: ignore[arg-type]


def test_shapes_grow_and_never_shrink(tmp_path: pathlib.Path, data: Any) -> None:
    tdb.soma.from_anndata(tmp_path / "e", data)
    made = tdb.soma.resize(tmp_path / "e", 100, {"RNA": 50})
    rna = made.ms["RNA"]
    assert rna.X["data"].shape == (100, 50) and rna.varm["PCs"].shape == (50, 2) and rna.obsp["near"].shape == (100, 100)
    assert made.obs.array.schema.current_domain == ((0, 99),) and made.ms["raw"].X["data"].shape == (100, GENES)
    with pytest.raises(tdb.QueryError, match="has room for 100, and 99 is less"):
        tdb.soma.resize(tmp_path / "e", 99)
    with pytest.raises(tdb.QueryError, match="no measurement 'DNA'"):
        tdb.soma.resize(tmp_path / "e", var={"DNA": 100})


def test_an_experiment_becomes_what_it_was(tmp_path: pathlib.Path, data: Any) -> None:
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("h5py")
    made = tdb.soma.from_anndata(tmp_path / "e", data)
    heard: list[str] = []
    tdb.soma.to_h5ad(made, tmp_path / "whole.h5ad", memory="4MB", progress=lambda name, done, total: heard.append(name))
    for found in (tdb.soma.to_anndata(tmp_path / "e"), anndata.read_h5ad(tmp_path / "whole.h5ad")):
        assert abs(found.X - data.X).nnz == 0 and set(found.layers) - {None} == {"half é %1", "dense"}
        assert abs(found.layers["half é %1"] - data.layers["half é %1"]).nnz == 0
        assert list(found.obs_names) == list(data.obs_names) and list(found.var_names) == list(data.var_names)
        assert found.var.index.name == "gene" and found.obs.index.name is None
        assert found.obs["kind"].tolist() == data.obs["kind"].tolist() and list(found.obs.columns) == list(data.obs.columns)
        assert np.array_equal(found.obsm["pca"], data.obsm["pca"]) and np.array_equal(found.varm["PCs"], data.varm["PCs"])
        assert abs(found.obsp["near"] - data.obsp["near"]).nnz == 0
        assert found.uns["title"] == "made" and found.uns["nested"]["n"].tolist() == [0, 1, 2]
        assert abs(found.raw.X - data.X).nnz == 0 and list(found.raw.var_names) == list(data.var_names)
    assert "layers/half é %1" in heard and sorted(path.name for path in tmp_path.iterdir()) == ["e", "whole.h5ad"]
    part: dict[str, Any] = {"obs": "kind == 'B'", "var": [1, 5], "layers": []}
    tdb.soma.to_h5ad(made, tmp_path / "part.h5ad", **part)
    some = anndata.read_h5ad(tmp_path / "part.h5ad")
    rows = (data.obs["kind"] == "B").to_numpy()
    assert np.array_equal(some.X.toarray(), data.X.toarray()[rows][:, [1, 5]]) and not set(some.layers) - {None} and some.raw is None
    assert np.array_equal(tdb.soma.to_anndata(made, **part).X.toarray(), some.X.toarray())
    with pytest.raises(tdb.QueryError, match="has no layer 'other'"):
        tdb.soma.to_h5ad(made, tmp_path / "no.h5ad", layers=["other"])
    assert not (tmp_path / "no.h5ad").exists()


def test_queries_read_layers_blocks_and_coordinates(tmp_path: pathlib.Path, data: Any) -> None:
    made = tdb.soma.from_anndata(tmp_path / "e", data)
    query = made.axis_query("RNA", {"soma_joinid": slice(2, 15)}, obs_where="kind == 'B'")
    rows = np.flatnonzero((data.obs["kind"] == "B").to_numpy())
    rows = rows[(rows >= 2) & (rows < 15)]
    assert query.obs_ids.tolist() == rows.tolist()
    layers = query.X(["data", "dense"])
    assert set(layers) == {"data", "dense"} and all(abs(one - data.X[rows]).nnz == 0 for one in layers.values())
    parts = list(query.blocks(3))
    assert [len(ids) for ids, _ in parts] == [min(3, len(rows) - at) for at in range(0, len(rows), 3)]
    assert np.array_equal(np.concatenate([part.toarray() for _, part in parts]), data.X[rows].toarray())
    X = made.ms["RNA"].X["data"]
    columns = [part for _, part in X.blocks(5, axis=1)]
    assert [part.format for part in columns] == ["csc"] * 3
    assert np.array_equal(np.concatenate([part.toarray() for part in columns], axis=1), data.X.toarray())
    assert sum(len(table) for _, table in X.block_tables(7)) == data.X.nnz
    with pytest.raises(tdb.QueryError, match="'kind' is no index column"):
        made.obs.read(rows={"kind": "B"})
    with pytest.raises(tdb.QueryError, match="at least one row"):
        next(X.blocks(0))


def test_an_experiment_may_be_without_cells(tmp_path: pathlib.Path, data: Any) -> None:
    empty = data[:0].copy()
    empty.raw = None
    made = tdb.soma.from_anndata(tmp_path / "e", empty)
    assert len(made.obs) == 0 and made.axis_query("RNA").X().shape == (0, GENES)
    more = _cells(data, 0, CELLS)
    more.raw = None
    made = tdb.soma.append(tmp_path / "e", more)
    assert abs(made.axis_query("RNA").X() - data.X).nnz == 0 and made.obs.ids().tolist() == list(range(CELLS))


def test_objects_that_are_backed_by_files_are_read_from_them(tmp_path: pathlib.Path, data: Any) -> None:
    anndata = pytest.importorskip("anndata")
    data.write_h5ad(tmp_path / "d.h5ad")
    backed = anndata.read_h5ad(tmp_path / "d.h5ad", backed="r")
    made = tdb.soma.from_anndata(tmp_path / "e", backed)
    backed.file.close()
    assert abs(made.ms["RNA"].X["data"].to_scipy() - data.X).nnz == 0


def test_dense_matrices_are_appended_to(tmp_path: pathlib.Path, data: Any) -> None:
    tdb.soma.from_anndata(tmp_path / "e", data, dense=True)
    more = _cells(data, CELLS, 4)
    made = tdb.soma.append(tmp_path / "e", more, parts=["X", "layers"])
    assert np.array_equal(made.ms["RNA"].X["data"].to_numpy()[CELLS:], more.X.toarray())
    other = _cells(data, CELLS + 4, 2)[:, ::-1].copy()
    with pytest.raises(tdb.QueryError, match="same genes in the same order"):
        tdb.soma.append(tmp_path / "e", other, parts=["X"])


def test_a_shell_imports_and_exports(tmp_path: pathlib.Path, data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    anndata = pytest.importorskip("anndata")
    from tdb.soma.__main__ import main

    data.write_h5ad(tmp_path / "d.h5ad")
    assert main(["import", str(tmp_path / "d.h5ad"), str(tmp_path / "e"), "--layer", "counts"]) == 0
    assert "ms/RNA/X/counts: 20 of 20" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "e"), str(tmp_path / "b.h5ad"), "--layer", "counts", "--obs", "kind == 'B'", "--quiet"]) == 0
    assert anndata.read_h5ad(tmp_path / "b.h5ad").n_obs == (data.obs["kind"] == "B").sum()
    assert main(["import", str(tmp_path / "d.h5ad"), str(tmp_path / "e")]) == 1
    assert "error: there is something at" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["import", "one"])


def test_writes_at_a_time_are_seen_from_then_on(tmp_path: pathlib.Path, data: Any) -> None:
    tdb.soma.from_anndata(tmp_path / "e", data, at=1_000)
    more = _cells(data, CELLS, 4)
    tdb.soma.append(tmp_path / "e", more, at=2_000)
    tdb.soma.delete(tmp_path / "e", [0, 1], at=3_000)
    found = [tdb.soma.open(tmp_path / "e", at) for at in (1_500, 2_500, 3_500)]
    assert [len(one.obs) for one in found] == [CELLS, CELLS + 4, CELLS + 2]
    nnz = [data.X.nnz, data.X.nnz + more.X.nnz, data.X[2:].nnz + more.X.nnz]
    assert [one.ms["RNA"].X["data"].nnz for one in found] == nnz
    with pytest.raises(tdb.Error):
        tdb.soma.open(tmp_path / "e", 500)
