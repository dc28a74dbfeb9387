"""Random objects of AnnData, experiments of them, and what two libraries read. `python soma_random.py FIRST LAST` compares these seeds
with the `tiledbsoma` that is installed, and prints those that differ."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import tempfile
import traceback
import warnings
from typing import Any

import numpy as np

import tdb
import tdb.soma

# pytest looks for examples here also where they are not installed.
with contextlib.suppress(ImportError):
    import anndata
    import pandas
    import scipy.sparse as sparse
    import tiledbsoma
    import tiledbsoma.io

NUMBERS = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]


def column(rng: np.random.Generator, rows: int) -> Any:
    """Values of a random type, with nulls where the type has them."""
    kind = rng.integers(0, 11)
    numbers = rng.integers(0, 100, rows)
    nulls = rng.random(rows) < 0.3
    words = np.array(["", "B", "T", "größe", "a longer text"], object)[numbers % 5]
    if kind == 0:
        return numbers.astype(rng.choice(NUMBERS))
    if kind == 1:
        return numbers > 50
    if kind == 2:
        return words
    if kind == 3:
        return np.where(nulls, None, words)
    if kind == 4:
        return pandas.Categorical(words, ordered=bool(rng.random() < 0.5), categories=sorted(set(words)))
    if kind == 5:
        return pandas.Categorical(np.where(nulls, None, words))
    if kind == 6:
        return pandas.Categorical(numbers % 7)
    if kind == 7:
        return pandas.array(np.where(nulls, None, numbers), dtype="Int64")
    if kind == 8:
        return pandas.array(np.where(nulls, None, numbers > 50), dtype="boolean")
    if kind == 9:
        return np.array(numbers, "M8[ns]")
    return np.where(nulls, np.nan, numbers / 7)


def matrix(rng: np.random.Generator, rows: int, columns: int, dtype: Any = None) -> Any:
    """A sparse or a dense matrix, sometimes without a value."""
    dtype = rng.choice(NUMBERS) if dtype is None else dtype
    density = rng.choice([0.0, 0.05, 0.3, 0.9])
    found = (rng.integers(1, 100, (rows, columns)) * (rng.random((rows, columns)) < density)).astype(dtype)
    return {0: sparse.csr_matrix, 1: sparse.csc_matrix, 2: np.asarray}[int(rng.integers(0, 3))](found)


def data_of(seed: int, rows: int | None = None, names: str = "c", like: Any = None) -> Any:
    """A random object, or one with the columns, genes and matrices of another."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 60)) if rows is None else rows
    if like is not None:
        picked = rng.integers(0, like.n_obs, rows)
        made = like[picked].copy()
        made.obs.index = pandas.Index([f"{names}{at}" for at in range(rows)], name=like.obs.index.name)
        genes = rng.permutation(like.n_vars)
        return made[:, genes].copy()
    genes = int(rng.integers(1, 40))
    obs = pandas.DataFrame({f"o{at}": column(rng, rows) for at in range(rng.integers(0, 6))}, index=[f"{names}{at}" for at in range(rows)])
    var = pandas.DataFrame({f"v{at}": column(rng, genes) for at in range(rng.integers(0, 4))}, index=[f"g{at}" for at in range(genes)])
    if rng.random() < 0.3:
        obs.index.name = "cell"
    made = anndata.AnnData(matrix(rng, rows, genes), obs, var)
    for at in range(rng.integers(0, 3)):
        made.layers[f"layer_{at}"] = matrix(rng, rows, genes)
    if rng.random() < 0.5:
        made.obsm["m"] = rng.random((rows, int(rng.integers(1, 4))))
        made.varm["m"] = rng.random((genes, 2)).astype(np.float32)
    if rng.random() < 0.5:
        made.obsp["p"] = sparse.csr_matrix(np.asarray(rng.random((rows, rows)) < 0.2, float))
        made.varp["p"] = sparse.csr_matrix(np.asarray(rng.random((genes, genes)) < 0.2, float))
    if rng.random() < 0.5:
        made.uns = {"text": "x", "n": int(rng.integers(9)), "r": 0.5, "a": np.arange(3), "t": np.array(["x", "y"]), "d": {"e": np.eye(2)}}
    return made


def plain(values: Any) -> list[Any]:
    """Values of a column, whatever type holds them."""
    found = []
    for one in pandas.Series(np.asarray(values, object)).tolist():
        null = one is None or one is pandas.NaT or one is pandas.NA or one != one
        text = isinstance(one, (str, bytes, pandas.Timestamp, np.datetime64))
        found.append(None if null else str(one) if text else float(one))
    return found


def normal(data: Any) -> dict[str, Any]:
    """Everything in an object, in one form."""
    found: dict[str, Any] = {"obs": list(data.obs_names), "var": list(data.var_names)}
    for axis in ("obs", "var"):
        frame = getattr(data, axis)
        for name in frame.columns:
            if name != "soma_joinid":
                found[f"{axis}.{name}"] = plain(frame[name])
    for group in ("layers", "obsm", "varm", "obsp", "varp"):
        for name, one in getattr(data, group).items():
            # Releases before 2 make these float32, whatever they are.
            found[f"{group}.{name}"] = dense(one, group != "layers" and tiledbsoma.__version__ < "2")
    found["X"] = dense(data.X)
    return found


def dense(one: Any, rounded: bool = False) -> Any:
    found = one.toarray() if hasattr(one, "toarray") else np.asarray(one)
    if rounded:
        found = found.astype(np.float32)
    return str(found.dtype), found.tolist()


def by_tdb(uri: str) -> Any:
    return tdb.soma.to_anndata(uri)


def by_tiledbsoma(uri: str) -> Any:
    with tiledbsoma.open(uri) as opened:
        ms = opened.ms["RNA"]
        members = {f"{group}_layers": list(ms[group].keys()) for group in ("obsm", "varm", "obsp", "varp") if group in ms}
        layers = [name for name in ms.X.keys() if name != "data"]
        with opened.axis_query("RNA") as query:
            made = query.to_anndata("data", X_layers=layers, **members)
        # It leaves the names to a column.
        for axis in ("obs", "var"):
            frame = getattr(made, axis)
            names = [name for name in ("cell", f"{axis}_id") if name in frame.columns]
            if names:
                setattr(made, axis, frame.set_index(names[0]))
        return made


def expect_equal(what: str, one: Any, other: Any) -> None:
    one, other = normal(one), normal(other)
    assert set(one) == set(other), f"{what}: {set(one) ^ set(other)}"
    for name, values in one.items():
        assert values == other[name], f"{what}: {name}: {values} {other[name]}"


def append_by_tiledbsoma(uri: str, more: Any) -> None:
    names = {"obs_field_name": more.obs.index.name or "obs_id", "var_field_name": "var_id"}
    registered = tiledbsoma.io.register_anndatas(uri, [more], measurement_name="RNA", append_obsm_varm=True, **names)
    if hasattr(registered, "prepare_experiment"):
        registered.prepare_experiment(uri)
    else:
        shapes = {"nobs": registered.get_obs_shape(), "nvars": registered.get_var_shapes()}
        tiledbsoma.io.resize_experiment(uri, **shapes)
    # With names of its own for the index, as at first.
    own = {"obs_id_name": names["obs_field_name"], "var_id_name": "var_id"}
    tiledbsoma.io.from_anndata(uri, more, measurement_name="RNA", registration_mapping=registered, **own)


def compare(seed: int, folder: pathlib.Path) -> None:
    """Writes by both, reads by both; appends by one and deletes by the other."""
    data = data_of(seed)
    ours, theirs = str(folder / "ours"), str(folder / "theirs")
    tdb.soma.from_anndata(ours, data)
    tiledbsoma.io.from_anndata(theirs, data.copy(), measurement_name="RNA")
    for uri in (ours, theirs):
        expect_equal(f"{seed}: tdb of {uri}", by_tdb(uri), data)
        expect_equal(f"{seed}: tiledbsoma of {uri}", by_tiledbsoma(uri), data)
    for at in range(2):
        one, other = (ours, theirs) if at == 0 else (theirs, ours)
        more = data_of(seed + 1000 + at, 5, f"n{at}-", data)
        # It appends none of these; and a column of texts that are all null has no type for it.
        more.uns, more.varm, more.varp, more.obsp = {}, {}, {}, {}
        for name in more.obs.columns:
            if isinstance(more.obs[name].dtype, pandas.CategoricalDtype) and more.obs[name].dtype.ordered:
                more.obs[name] = more.obs[name].cat.set_categories(data.obs[name].cat.categories)
            if more.obs[name].dtype == object and more.obs[name].isna().all():
                more.obs[name] = ["B"] * more.n_obs
        tdb.soma.append(one, more)
        append_by_tiledbsoma(other, more.copy())
        found = [read(uri) for uri in (one, other) for read in (by_tdb, by_tiledbsoma)]
        for which in found[1:]:
            expect_equal(f"{seed}: append {at}", found[0], which)
    rng = np.random.default_rng(seed)
    gone = np.unique(rng.integers(0, data.n_obs + 10, 6))
    tdb.soma.delete(theirs, gone)
    if hasattr(tiledbsoma.Experiment, "obs_axis_delete"):
        with tiledbsoma.Experiment.open(ours, "d") as opened:
            opened.obs_axis_delete(coords=(gone.tolist(),))
    else:
        tdb.soma.delete(ours, gone)
    if len(gone) < data.n_obs + 10:
        found = [read(uri) for uri in (ours, theirs) for read in (by_tdb, by_tiledbsoma)]
        for which in found[1:]:
            expect_equal(f"{seed}: delete", found[0], which)


def main() -> None:
    wrong = 0
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        with tempfile.TemporaryDirectory() as folder:
            try:
                compare(seed, pathlib.Path(folder))
            except Exception as error:  # noqa: BLE001
                wrong += 1
                print(seed, str(error)[:600], traceback.format_exc().splitlines()[-3:][0][:200], flush=True)
    print(f"{tiledbsoma.__version__}: {int(sys.argv[2]) - int(sys.argv[1])} experiments, {wrong} differ")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
