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
    assert made.schema.attribute("kind").enumeration == "kind_U" and made.enumeration("kind_U") == ["B", "T"]
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
        (pandas.date_range("2020", periods=CELLS, tz="UTC"), "'x' has the type timestamp.ns, tz=UTC"),
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
