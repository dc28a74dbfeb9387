"""Programs for ``tiledbsoma`` on ``tdb.soma.compat``: what is created is read, changed and refused as there."""

from __future__ import annotations

import json
import pathlib
import pickle
import sys
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("scipy")
pytest.importorskip("anndata")

import tdb.soma.compat as tiledbsoma  # noqa: E402
import tdb.soma.compat.io  # noqa: E402

CELLS, GENES = 60, 20
COLOURS = ["red", "green", "blue"]


def _frame(uri: str, **how: Any) -> tiledbsoma.DataFrame:
    schema = pa.schema(
        [("soma_joinid", pa.int64()), ("n", pa.int32()), ("label", pa.large_string()), ("colour", pa.dictionary(pa.int8(), pa.string()))]
    )
    return tiledbsoma.DataFrame.create(uri, schema=schema, **{"domain": [(0, 9)], **how})


def _rows(first: int, count: int) -> pa.Table:
    ids = np.arange(first, first + count)
    colours = pa.array([COLOURS[one % 3] for one in ids]).dictionary_encode()
    return pa.table({"soma_joinid": ids, "n": pa.array(ids * 10, pa.int32()), "label": [f"l{one}" for one in ids], "colour": colours})


def _anndata(cells: int = CELLS, prefix: str = "c") -> Any:
    import anndata
    import pandas
    import scipy.sparse

    rng = np.random.default_rng(cells)
    obs = pandas.DataFrame(
        {"n": np.arange(cells), "colour": pandas.Categorical([COLOURS[one % 3] for one in range(cells)])},
        index=[f"{prefix}{one}" for one in range(cells)],
    )
    var = pandas.DataFrame({"mean": np.arange(GENES, dtype=np.float32)}, index=[f"g{one}" for one in range(GENES)])
    X = scipy.sparse.random(cells, GENES, 0.3, "csr", np.float32, random_state=rng)
    return anndata.AnnData(X, obs, var)


@pytest.fixture
def experiment(uri: str) -> str:
    return tiledbsoma.io.from_anndata(uri, _anndata(), "RNA")


def test_a_table_is_written_and_read_with_conditions_coordinates_and_columns(uri: str) -> None:
    with _frame(uri) as table:
        assert table.mode == "w" and table.index_column_names == ("soma_joinid",)
        table.write(_rows(0, 6))
    with tiledbsoma.open(uri) as table:
        assert isinstance(table, tiledbsoma.DataFrame) and table.count == len(table) == 6
        assert table.domain == ((0, 9),) and table.non_empty_domain() == ((0, 5),)
        assert table.read((slice(1, 3),), ["label"]).concat()["label"].to_pylist() == ["l1", "l2", "l3"]
        found = table.read(([5, 0],), value_filter="n > 10 and colour != 'red'").concat()
        assert found["soma_joinid"].to_pylist() == [5] and found.schema.field("colour").type.value_type == pa.large_string()
        assert table.read(value_filter="label == 'none'").concat().num_rows == 0
        assert table.get_enumeration_values(["colour"])["colour"].to_pylist() == COLOURS
        with pytest.raises(tiledbsoma.SOMAError, match="not found in schema"):
            table.read(value_filter="missing == 1")
        with pytest.raises(tiledbsoma.SOMAError, match="out of bounds"):
            table.read(([10],)).concat()
        with pytest.raises(tiledbsoma.SOMAError, match="must be open for writing"):
            table.write(_rows(6, 1))


def test_a_domain_grows_and_what_does_not_fit_says_why(uri: str) -> None:
    _frame(uri).close()
    with tiledbsoma.DataFrame.open(uri, "w") as table:
        with pytest.raises(tiledbsoma.SOMAError):
            table.write(_rows(8, 4))
        assert table.change_domain([(0, 5)], check_only=True)[1].endswith("(downsize is unsupported)")
        assert table.change_domain([(0, 19)]) == (True, "")
        table.write(_rows(8, 4))
        with pytest.raises(ValueError, match="not a column"):
            table.write(_rows(0, 1).append_column("more", [[1]]))
    with tiledbsoma.open(uri) as table:
        assert table.domain == ((0, 19),) and table.count == 4
        assert table.tiledbsoma_resize_soma_joinid_shape(3, check_only=True)[0] is False


def test_rows_and_values_are_deleted(uri: str) -> None:
    with _frame(uri) as table:
        table.write(_rows(0, 10))
    with tiledbsoma.open(uri, "d") as table:
        table.delete_cells((slice(7, None),))
        table.delete_cells(([0, 3],), value_filter="colour == 'red'")
        with pytest.raises(ValueError):
            table.delete_cells()
        with pytest.raises(IndexError):
            table.delete_cells(([99],))
    with tiledbsoma.open(uri) as table:
        assert table.read().concat()["soma_joinid"].to_pylist() == [1, 2, 4, 5, 6]
        with pytest.raises(tiledbsoma.SOMAError, match="must be open for deleting"):
            table.delete_cells((slice(0, 1),))


def test_sparse_values_are_read_as_tables_tensors_and_blocks(uri: str) -> None:
    import scipy.sparse

    matrix = scipy.sparse.random(50, 8, 0.4, "coo", np.float32, random_state=1)
    with tiledbsoma.SparseNDArray.create(uri, type=pa.float32(), shape=matrix.shape) as array:
        array.write(pa.SparseCOOTensor.from_scipy(matrix))
    with tiledbsoma.open(uri) as array:
        assert (array.shape, array.nnz, array.ndim, array.is_sparse) == ((50, 8), matrix.nnz, 2, True)
        dense = array.read().coos().concat().to_scipy().toarray()
        assert (dense == matrix.toarray()).all()
        table = array.read((slice(10, 19), [1, 3])).tables().concat()
        assert set(table["soma_dim_1"].to_pylist()) <= {1, 3} and table.num_rows == np.count_nonzero(dense[10:20, [1, 3]])
        blocks = list(array.read((slice(0, 24),)).blockwise(axis=0, size=10).scipy())
        assert [block.shape for block, _ in blocks] == [(10, 8), (10, 8), (5, 8)]
        assert (np.vstack([block.toarray() for block, _ in blocks]) == dense[:25]).all()
        for size in (0, -1, [0]):
            with pytest.raises(ValueError, match="at least one coordinate"):
                array.read().blockwise(axis=0, size=size).tables()
        with pytest.raises(NotImplementedError):
            array.read().blockwise(axis=0).coos()
    with tiledbsoma.open(uri, "w") as array:
        assert array.resize((50, 4), check_only=True)[0] is False
        array.resize((60, 9))
        with pytest.raises(TypeError):
            array.write(dense)
    assert tiledbsoma.SparseNDArray.open(uri).shape == (60, 9)


def test_dense_values_are_boxes(uri: str) -> None:
    with tiledbsoma.DenseNDArray.create(uri, type=pa.int32(), shape=(4, 3)) as array:
        array.write((slice(0, 3), slice(0, 2)), pa.Tensor.from_numpy(np.arange(12, dtype=np.int32).reshape(4, 3)))
        array.write((1, 1), pa.Tensor.from_numpy(np.array([[99]], np.int32)))
    with tiledbsoma.open(uri) as array:
        assert array.read((slice(0, 1),)).to_numpy().tolist() == [[0, 1, 2], [3, 99, 5]]
        assert array.read((2,), result_order="column-major").to_numpy().tolist() == [[6], [7], [8]]
        with pytest.raises(ValueError):
            array.read(result_order="auto")
        with pytest.raises(NotImplementedError):
            array.delete_cells((0,))


def test_collections_have_members_that_close_with_them(uri: str) -> None:
    with tiledbsoma.Experiment.create(uri) as made:
        made.metadata["who"] = "Ada"
        made.add_new_dataframe("obs", schema=pa.schema([("a", pa.int64())]), domain=[(0, 3)])
        inner = made.add_new_collection("ms").add_new_collection("RNA", tiledbsoma.Measurement)
        with pytest.raises(TypeError):
            made.add_new_collection("obs_spatial_presence")
        with pytest.raises(KeyError):
            made.add_new_collection("ms")
    assert inner.closed
    with tiledbsoma.open(uri) as found:
        assert sorted(found) == ["ms", "obs"] and found.metadata["who"] == "Ada"
        obs = found.obs
        assert found.ms["RNA"].uri.endswith("/ms/RNA") and obs.mode == "r"
        with pytest.raises(tiledbsoma.SOMAError):
            found.metadata["who"] = "Bob"
        with pytest.raises(AttributeError):
            found.spatial
    assert obs.closed
    with tiledbsoma.open(uri, "d") as found:
        del found["obs"]
    assert list(tiledbsoma.open(uri)) == ["ms"]
    with pytest.raises(tiledbsoma.AlreadyExistsError):
        tiledbsoma.Collection.create(uri)
    with pytest.raises(tiledbsoma.DoesNotExistError):
        tiledbsoma.open(uri + "x")
    with pytest.raises(TypeError):
        tiledbsoma.open(uri, soma_type=tiledbsoma.DataFrame)
    assert tiledbsoma.Experiment.exists(uri) and not tiledbsoma.Collection.exists(uri)


def test_objects_are_seen_as_of_a_time(uri: str) -> None:
    with _frame(uri, tiledb_timestamp=10) as table:
        table.write(_rows(0, 2))
    with tiledbsoma.open(uri, "w", tiledb_timestamp=20) as table:
        table.metadata["late"] = 1
        table.write(_rows(2, 3))
    counts = [tiledbsoma.open(uri, context=tiledbsoma.SOMATileDBContext(timestamp=time)).count for time in (10, 19, 20)]
    assert counts == [2, 2, 5]
    assert "late" not in tiledbsoma.open(uri, tiledb_timestamp=19).metadata
    assert tiledbsoma.open(uri, tiledb_timestamp=20).tiledb_timestamp.year == 1970


def test_a_query_becomes_anndata(experiment: str) -> None:
    given = _anndata()
    with tiledbsoma.open(experiment) as found:
        wanted = tiledbsoma.AxisQuery(value_filter="colour in ['red', 'blue'] and n < 30")
        query = found.axis_query("RNA", obs_query=wanted, var_query=tiledbsoma.AxisQuery(coords=(slice(5, 9),)))
        rows = [one for one in range(30) if one % 3 != 1]
        assert (query.n_obs, query.n_vars) == (len(rows), 5) and query.obs_joinids().to_pylist() == rows
        made = query.to_anndata("data", column_names={"obs": ["n"], "var": None})
        assert (made.X.toarray() == given.X[rows][:, 5:10].toarray()).all()
        assert list(made.obs.columns) == ["n", "colour"] or list(made.obs.columns) == ["n", "colour", "obs_id"]
        assert query.X("data").tables().concat().num_rows == given.X[rows][:, 5:10].nnz
        assert query.indexer.by_obs(np.array([rows[1], 999])).tolist() == [1, -1]
        with pytest.raises(KeyError):
            query.X("missing")
        with pytest.raises(ValueError):
            found.axis_query("protein")


def test_anndata_comes_back_and_files_do(experiment: str, tmp_path: pathlib.Path) -> None:
    given = _anndata()
    with tiledbsoma.open(experiment) as found:
        made = tiledbsoma.io.to_anndata(found, "RNA")
        tiledbsoma.io.to_h5ad(found, tmp_path / "out.h5ad", "RNA")
    assert (made.X != given.X).nnz == 0 and made.obs.equals(given.obs) and made.var.equals(given.var)
    again = tiledbsoma.io.from_h5ad(str(tmp_path / "again"), str(tmp_path / "out.h5ad"), "RNA")
    assert tiledbsoma.io.get_experiment_shapes(again)["ms"]["RNA"]["X"]["data"]["shape"] == (CELLS, GENES)
    with pytest.raises(tiledbsoma.AlreadyExistsError):
        tiledbsoma.io.from_anndata(experiment, given, "RNA")
    with pytest.raises(tiledbsoma.SOMAError, match="ingest_mode"):
        tiledbsoma.io.from_anndata(experiment, given, "RNA", ingest_mode="resume")


def test_registered_cells_are_appended_and_deleted(experiment: str) -> None:
    new = _anndata(30, "d")
    names = {"measurement_name": "RNA", "obs_field_name": "obs_id", "var_field_name": "var_id"}
    with pytest.raises(tiledbsoma.SOMAError, match="allow_duplicate_obs_ids"):
        tiledbsoma.io.register_anndatas(experiment, [new, new], **names)
    plan = tiledbsoma.io.register_anndatas(experiment, [new], **names)
    with pytest.raises(tiledbsoma.SOMAError, match="prepare_experiment"):
        tiledbsoma.io.from_anndata(experiment, new, "RNA", registration_mapping=plan)
    plan.prepare_experiment(experiment)
    tiledbsoma.io.from_anndata(experiment, new, "RNA", registration_mapping=plan)
    with tiledbsoma.open(experiment) as found:
        assert found.obs.count == CELLS + 30 and found.ms["RNA"].var.count == GENES
        made = tiledbsoma.io.to_anndata(found, "RNA")
    assert (made.X[CELLS:] != new.X).nnz == 0 and list(made.obs.index[CELLS:]) == list(new.obs.index)
    with tiledbsoma.open(experiment, "d") as found:
        found.obs_axis_delete(value_filter="n >= 20")
    with tiledbsoma.open(experiment) as found:
        assert found.obs.count == 40
        assert set(found.ms["RNA"].X["data"].read().tables().concat()["soma_dim_0"].to_pylist()) <= {*range(20), *range(CELLS, CELLS + 20)}


def test_options_are_followed_or_refused(uri: str) -> None:
    config = {"tiledb": {"create": {"capacity": 77, "dims": {"soma_joinid": {"tile": 5, "filters": ["RleFilter"]}}}}}
    with _frame(uri, platform_config=config) as table:
        said = table.schema_config_options()
    assert said.capacity == 77 and json.loads(said.dims)["soma_joinid"]["filters"] == [{"COMPRESSION_LEVEL": -1, "name": "RLE"}]
    own = tiledbsoma.TileDBCreateOptions(capacity=55, dims={"soma_dim_0": {"tile": 6}})
    found = tiledbsoma.open(tiledbsoma.io.from_anndata(uri + "_all", _anndata(), "RNA", platform_config=own))
    assert [one.schema_config_options().capacity for one in (found.obs, found.ms["RNA"].X["data"])] == [55, 55]
    with pytest.raises(ValueError):
        tiledbsoma.TileDBCreateOptions(offsets_filters=["NoSuchFilter"])
    with pytest.raises(TypeError):
        tiledbsoma.TileDBCreateOptions(capacity="many")
    with pytest.raises(ValueError):
        tiledbsoma.open(uri, "w").write(_rows(0, 1), platform_config=tiledbsoma.TileDBCreateOptions())
    context = tiledbsoma.SOMATileDBContext({"soma.init_buffer_bytes": 2000, "sm.mem.total_budget": "0"})
    with pytest.raises(tiledbsoma.SOMAError, match="total_budget"):
        tiledbsoma.open(uri, context=context).read().concat()
    again = pickle.loads(pickle.dumps(context.replace(tiledb_config={"sm.mem.total_budget": None}, timestamp=5)))
    assert again.timestamp_ms == 5 and "sm.mem.total_budget" not in again.tiledb_config
    with pytest.raises(ValueError):
        tiledbsoma.open(uri, "x")


def test_options_of_reads_reach_all_parts_of_a_query(experiment: str) -> None:
    wrong = {"sm.mem.total_budget": "0"}
    with tiledbsoma.open(experiment) as found:
        query = found.axis_query("RNA")
        reads: list[Any] = [
            lambda: query.obs(platform_config=wrong).concat(),
            lambda: query.var(platform_config=wrong).concat(),
            lambda: query.X("data", platform_config=wrong).tables().concat(),
            lambda: next(query.X("data", platform_config=wrong).blockwise(axis=0).scipy()),
        ]
        for read in reads:
            with pytest.raises(tiledbsoma.SOMAError, match="total_budget"):
                read()


def test_members_keep_their_metadata_if_that_of_their_parent_fails(uri: str) -> None:
    with pytest.raises(tiledbsoma.SOMAError, match="bytes, and texts with a null byte"):
        with tiledbsoma.Collection.create(uri) as parent:
            child = parent.add_new_collection("child")
            child.metadata["kept"] = "yes"
            parent.metadata["lost"] = b"x"
    assert parent.closed and child.closed
    with tiledbsoma.open(uri) as found:
        assert found["child"].metadata["kept"] == "yes" and "lost" not in found.metadata


def test_times_do_not_become_numbers_in_uns(uri: str) -> None:
    data = _anndata()
    data.uns = {"n": 1}
    experiment = tiledbsoma.io.from_anndata(uri, data, "RNA")
    with pytest.raises(ValueError, match="unsupported uns type.*datetime64"):
        tiledbsoma.io.update_uns_by_uri(experiment, {"day": np.datetime64(1, "ns")}, "RNA")


def _census(uri: str) -> None:
    """A census of one experiment, with a matrix of the genes that each of two data sets has."""
    with tiledbsoma.Collection.create(uri) as root:
        with root.add_new_collection("census_data") as data:
            data["homo_sapiens"] = tiledbsoma.open(tiledbsoma.io.from_anndata(uri + "_cells", _anndata(), "RNA", X_layer_name="raw"))
        with root.add_new_collection("census_info") as info:
            info.metadata["census_build_date"] = "some day"
    with tiledbsoma.open(uri + "_cells", "w") as experiment:
        presence = experiment.ms["RNA"].add_new_sparse_ndarray("feature_dataset_presence_matrix", type=pa.bool_(), shape=(2, GENES))
        columns = {"soma_dim_0": [0, 1, 1], "soma_dim_1": [3, 3, 7], "soma_data": [True, True, True]}
        presence.write(pa.table(columns))


def test_the_readers_of_the_census_run_unchanged(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiledbsoma", tiledbsoma)
    census = pytest.importorskip("cellxgene_census")
    _census(uri)
    with census.open_soma(uri=uri) as found:
        obs = census.get_obs(found, "Homo sapiens", value_filter="colour == 'red'", column_names=["n"])
        assert obs["n"].tolist() == list(range(0, CELLS, 3))
        assert census.get_var(found, "Homo sapiens", coords=slice(5, 9))["mean"].tolist() == [5, 6, 7, 8, 9]
        presence = census.get_presence_matrix(found, "Homo sapiens", "RNA")
        assert presence.shape == (2, GENES) and presence.nnz == 3
        made = census.get_anndata(found, "Homo sapiens", obs_value_filter="n < 6", obs_column_names=["n", "colour"])
        assert (made.X.toarray() == _anndata().X[:6].toarray()).all() and made.obs["n"].tolist() == list(range(6))
    for name in [one for one in sys.modules if one.startswith("cellxgene_census")]:
        monkeypatch.delitem(sys.modules, name)
