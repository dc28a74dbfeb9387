"""``tdb soma import`` of folders of Zarr makes what ``tdb.soma.from_anndata`` makes, and ``export`` writes what
``to_anndata`` reads."""

from __future__ import annotations

import importlib.util
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdb
import tdb.soma

for needed in ("pyarrow", "scipy", "zarr"):
    pytest.importorskip(needed)
anndata = pytest.importorskip("anndata", minversion="0.12")
pandas = pytest.importorskip("pandas")


def _beside(name: str) -> Any:
    """A module in the folder of the tests, which pytest does not look for."""
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


soma_random = _beside("soma_random")
command = _beside("test_soma_command").command


def _everything(node: Any, path: str = "") -> dict[str, Any]:
    """All groups and arrays of an experiment: names, schemas, metadata, cells."""
    found: dict[str, Any] = {}
    if isinstance(node, tdb.soma.Collection):
        found[path] = (type(node).__name__, sorted(node), sorted(node.meta.items()))
        for name in node:
            found.update(_everything(node[name], f"{path}/{name}"))
        return found
    array = node.array
    cells = array.read(order="row-major").to_numpy()
    values = {name: soma_random.plain(np.ma.filled(one.astype(object), None).ravel()) for name, one in cells.items()}
    lists = [(one.name, one.datatype, one.ordered, np.asarray(one.values).tolist()) for one in array.schema.enumerations]
    found[path] = (repr(array.schema), lists, sorted(dict(array.meta).items()), values)
    return found


def _expect_same(one: tdb.soma.Experiment, other: tdb.soma.Experiment) -> None:
    found, wanted = _everything(one), _everything(other)
    assert list(sorted(found)) == list(sorted(wanted))
    for path, own in wanted.items():
        assert found[path] == own, path


def _expect_equal(found: Any, wanted: Any) -> None:
    """Both objects of AnnData have the same tables and matrices."""

    def dense(matrix: Any) -> Any:
        return None if matrix is None else (matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix))

    for axis in ("obs", "var"):
        own, other = getattr(found, axis), getattr(wanted, axis)
        assert list(own.columns) == list(other.columns) and list(own.index) == list(other.index)
        assert own.index.name == other.index.name
        for name in other.columns:
            assert soma_random.plain(own[name]) == soma_random.plain(other[name]), name
            kinds = [isinstance(frame[name].dtype, pandas.CategoricalDtype) for frame in (own, other)]
            assert kinds[0] == kinds[1]
            if not kinds[0] and other[name].dtype.kind in "iufb":
                assert own[name].dtype == other[name].dtype, name
    np.testing.assert_array_equal(dense(found.X), dense(wanted.X))
    assert wanted.X is None or found.X.dtype == wanted.X.dtype
    for group in ("layers", "obsm", "varm", "obsp", "varp"):
        # Since AnnData 0.13, X is among the layers, and has no name there.
        own, other = ({name: one for name, one in getattr(data, group).items() if name is not None} for data in (found, wanted))
        assert sorted(own) == sorted(other), group
        for name, one in other.items():
            np.testing.assert_array_equal(dense(own[name]), dense(one), err_msg=name)
    assert (found.raw is None) == (wanted.raw is None)
    if wanted.raw is not None:
        np.testing.assert_array_equal(dense(found.raw.X), dense(wanted.raw.X))
        # Texts have the type str in some releases of pandas, and none in others.
        own, other = ({name: soma_random.plain(one) for name, one in data.raw.var.items()} for data in (found, wanted))
        assert own == other and list(found.raw.var.index) == list(wanted.raw.var.index)


def _written(data: Any, path: pathlib.Path, version: int, **how: Any) -> Any:
    """Writes a folder, and reads it."""
    with warnings.catch_warnings(), anndata.settings.override(zarr_write_format=version, allow_write_nullable_strings=True):
        warnings.simplefilter("ignore")
        # As it is: otherwise texts that come more than once become categories.
        data.write_zarr(path, convert_strings_to_categoricals=False, **how)
        return anndata.read_zarr(path)


def _random(seed: int) -> Any:
    """A random object without dates, which AnnData does not write."""
    data = soma_random.data_of(seed)
    for frame in (data.obs, data.var):
        for name in list(frame.columns):
            if frame[name].dtype.kind == "M":
                frame[name] = frame[name].astype("int64")
            elif frame[name].dtype == object and frame[name].isna().any():
                frame[name] = frame[name].astype("string")
    rng = np.random.default_rng(seed)
    rows = data.n_obs
    data.obs["truth"] = rng.random(rows) < 0.5
    data.obs["text"] = pandas.array([None if at % 3 == 1 else f"t{at % 4}" for at in range(rows)], dtype="string")
    if seed % 4 == 0:
        data.raw = data.copy()
    if seed % 5 == 0:
        data.obs["many"] = pandas.Categorical.from_codes(
            rng.integers(-1, 5000, rows), [f"category {at}" for at in range(5000)]
        )
    return data


@pytest.mark.parametrize("seed", range(10))
def test_the_command_makes_the_experiment_that_from_anndata_makes(
    tmp_path: pathlib.Path, command: Callable[..., None], seed: int
) -> None:
    how = {"chunks": (7, 5)} if seed % 3 == 0 and isinstance(_random(seed).X, np.ndarray) else {}
    data = _written(_random(seed), tmp_path / "cells.zarr", 2 + seed % 2, **how)
    command("soma", "import", tmp_path / "cells.zarr", tmp_path / "made")
    made, wanted = tdb.soma.open(tmp_path / "made"), tdb.soma.from_anndata(tmp_path / "wanted", data)
    _expect_same(made, wanted)
    command("soma", "verify", tmp_path / "made", "--deep")
    command("soma", "export", tmp_path / "made", tmp_path / "back.zarr", "--zarr", 3 - seed % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _expect_equal(anndata.read_zarr(tmp_path / "back.zarr"), tdb.soma.to_anndata(made))


def test_objects_may_be_without_cells_genes_and_matrices(tmp_path: pathlib.Path, command: Callable[..., None]) -> None:
    for at, (cells, genes) in enumerate([(0, 0), (0, 3), (4, 0), (4, 3)]):
        obs = pandas.DataFrame({"n": np.arange(cells)}, index=[f"c{one}" for one in range(cells)])
        var = pandas.DataFrame(index=[f"g{one}" for one in range(genes)])
        source = tmp_path / f"cells-{at}.zarr"
        data = _written(anndata.AnnData(obs=obs, var=var), source, 2 + at % 2)
        command("soma", "import", source, tmp_path / f"made-{at}", "--measurement", "ATAC")
        wanted = tdb.soma.from_anndata(tmp_path / f"wanted-{at}", data, "ATAC")
        _expect_same(tdb.soma.open(tmp_path / f"made-{at}"), wanted)


def test_folders_of_anndata_0_7_have_their_categories_beside_the_columns(
    tmp_path: pathlib.Path, command: Callable[..., None]
) -> None:
    import zarr

    source = tmp_path / "old.zarr"
    root = zarr.open_group(source, mode="w", zarr_format=2)

    def texts(group: Any, name: str, values: list[str]) -> Any:
        made = group.create_array(name, shape=(len(values),), dtype=str)
        made[:] = np.array(values, object)
        return made

    root.create_array("X", data=np.array([[0, 1.5], [2.5, 0], [0, -0.0]], np.float32))
    for axis, names in (("obs", ["a", "b", "c"]), ("var", ["x", "y"])):
        group = root.create_group(axis)
        group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.1.0", "_index": "name", "column-order": ["kind", "n"]})
        texts(group, "name", names)
        group.create_array("n", data=np.arange(len(names)))
        kinds = group.create_array("kind", data=np.array([1, -1, 0][: len(names)], np.int8))
        kinds.attrs["categories"] = "__categories/kind"
        texts(group.create_group("__categories"), "kind", ["B", "T"]).attrs["ordered"] = True
    sparse = root.create_group("layers").create_group("s")
    sparse.attrs.update({"encoding-type": "csc_matrix", "encoding-version": "0.1.0", "shape": [3, 2]})
    for name, own in (("data", [1, 2]), ("indices", [0, 2]), ("indptr", [0, 1, 2])):
        sparse.create_array(name, data=np.array(own, np.int32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.read_zarr(source)
    command("soma", "import", source, tmp_path / "made")
    _expect_same(tdb.soma.open(tmp_path / "made"), tdb.soma.from_anndata(tmp_path / "wanted", data))


def test_names_of_cells_that_are_there_twice_are_refused_by_both(
    tmp_path: pathlib.Path, command: Callable[..., None]
) -> None:
    obs = pandas.DataFrame(index=["a", "b", "a"])
    data = _written(anndata.AnnData(np.eye(3), obs), tmp_path / "cells.zarr", 2)
    with pytest.raises(tdb.QueryError, match="ids are unique"):
        tdb.soma.from_anndata(tmp_path / "wanted", data)
    with pytest.raises(AssertionError, match="import"):
        command("soma", "import", tmp_path / "cells.zarr", tmp_path / "made")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cells.zarr"]


def test_the_index_is_the_one_of_the_metadata_though_a_column_is_called_as_the_usual_one(
    tmp_path: pathlib.Path, command: Callable[..., None]
) -> None:
    obs = pandas.DataFrame({"obs_id": ["x", "y", "x"]}, pandas.Index(["a", "b", "c"], name="cell_id"))
    data = _written(anndata.AnnData(np.eye(3), obs), tmp_path / "cells.zarr", 2)
    command("soma", "import", tmp_path / "cells.zarr", tmp_path / "made")
    made = tdb.soma.open(tmp_path / "made")
    _expect_same(made, tdb.soma.from_anndata(tmp_path / "wanted", data))
    command("soma", "export", tmp_path / "made", tmp_path / "back.zarr")
    for found in (tdb.soma.to_anndata(made), anndata.read_zarr(tmp_path / "back.zarr")):
        assert found.obs_names.tolist() == ["a", "b", "c"] and found.obs_names.name == "cell_id"
        assert found.obs["obs_id"].tolist() == ["x", "y", "x"]
