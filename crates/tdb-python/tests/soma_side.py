"""`python soma_side.py make|tdb|tiledbsoma TASK URI [CELLS GENES]`: makes an experiment with `tiledbsoma`, or does one task with one of
the two libraries and prints JSON: seconds, memory beyond that of the imports, and what came out as a digest."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from typing import Any

import numpy as np

OBS, VAR = "kind == 'B' and n_genes > 20", "length > 5000"


#: What has to stay open.
OPENED: list[Any] = []


def make(uri: str, cells: int, genes: int) -> None:
    import anndata
    import pandas
    import scipy.sparse as sparse
    import tiledbsoma.io

    rng = np.random.default_rng(1)
    X = sparse.random(cells, genes, density=0.1, format="csr", random_state=rng, dtype=np.float32)
    X.data = np.ceil(X.data * 20).astype(np.float32)
    obs = pandas.DataFrame(
        {
            "n_genes": np.diff(X.indptr),
            "kind": pandas.Categorical(rng.choice(["B", "T", "NK"], cells)),
            "score": rng.random(cells),
            "flag": rng.random(cells) > 0.5,
        },
        index=[f"cell-{at:06}" for at in range(cells)],
    )
    var = pandas.DataFrame(
        {"length": rng.integers(100, 10_000, genes), "name": [f"g{at}" for at in range(genes)]},
        index=[f"ENSG{at:06}" for at in range(genes)],
    )
    data = anndata.AnnData(
        X,
        obs,
        var,
        obsm={"X_pca": rng.random((cells, 10)).astype(np.float32)},
        varm={"PCs": rng.random((genes, 5))},
        obsp={"near": sparse.random(cells, cells, density=20 / cells / 10, format="csr", random_state=rng)},
        uns={"title": "made", "n": 3, "colors": np.array(["red", "blue"]), "numbers": np.arange(5), "nested": {"x": 1.5}},
    )
    data.layers["half"] = X * np.float32(0.5)
    tiledbsoma.io.from_anndata(uri, data, measurement_name="RNA")


def peak() -> int:
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10


def digest(*values: Any) -> str:
    """Of arrays, matrices and tables, by their values."""
    found = hashlib.sha256()
    for value in values:
        if hasattr(value, "tocsr"):
            value = value.tocsr()
            value.sort_indices()
            parts = [value.data, value.indices.astype(np.int64), value.indptr.astype(np.int64), np.array(value.shape)]
        elif hasattr(value, "columns"):
            parts = [np.array(json.dumps({name: value[name].astype(object).tolist() for name in sorted(value.columns)}))]
        else:
            parts = [np.ascontiguousarray(value)]
        for part in parts:
            found.update(str(part.dtype.kind).encode() + part.tobytes())
    return found.hexdigest()


def with_tdb(task: str, uri: str) -> Any:
    # The other library imports these with itself.
    import anndata  # noqa: F401
    import pyarrow
    import scipy.sparse  # noqa: F401

    import tdb.soma

    experiment = tdb.soma.open(uri)
    rna = experiment.ms["RNA"]
    if task == "matrix":
        return lambda: digest(rna.X["data"].to_scipy())
    if task == "tables":

        def tables() -> str:
            rows, total = 0, 0.0
            for batch in pyarrow.RecordBatchReader.from_stream(rna.X["data"].stream(memory="64MB")):
                rows, total = rows + batch.num_rows, total + float(batch["soma_data"].to_numpy().sum(dtype=np.float64))
            return f"{rows} {total}"

        return tables
    if task == "batches":
        parts = rna.X["data"].batches(memory="64MB")
        return lambda: digest(np.concatenate([np.asarray(part.sum(axis=1)).ravel() for _, part in parts]))
    if task == "tables of axes":
        return lambda: digest(experiment.obs.to_pandas(), rna.var.to_pandas())
    query = experiment.axis_query("RNA", obs=OBS, var=VAR)
    return lambda: _anndata(query.to_anndata("data", ["half"], obsm=["X_pca"], varm=["PCs"], obsp=["near"]))


def with_tiledbsoma(task: str, uri: str) -> Any:
    import tiledbsoma

    experiment = tiledbsoma.open(uri)
    OPENED.append(experiment)
    rna = experiment.ms["RNA"]
    if task == "matrix":
        return lambda: digest(next(iter(rna.X["data"].read().blockwise(axis=0).scipy()))[0])
    if task == "tables":

        def tables() -> str:
            rows, total = 0, 0.0
            for table in rna.X["data"].read().tables():
                rows, total = rows + len(table), total + float(table["soma_data"].to_numpy().sum(dtype=np.float64))
            return f"{rows} {total}"

        return tables
    if task == "batches":
        # So many rows that a part is about as large as those of tdb.
        parts = rna.X["data"].read().blockwise(axis=0, size=4096).scipy()
        return lambda: digest(np.concatenate([np.asarray(part.sum(axis=1)).ravel() for part, _ in parts]))
    if task == "tables of axes":
        return lambda: digest(experiment.obs.read().concat().to_pandas(), rna.var.read().concat().to_pandas())
    query = experiment.axis_query(
        "RNA", obs_query=tiledbsoma.AxisQuery(value_filter=OBS), var_query=tiledbsoma.AxisQuery(value_filter=VAR)
    )
    return lambda: _anndata(
        query.to_anndata("data", X_layers=["half"], obsm_layers=["X_pca"], varm_layers=["PCs"], obsp_layers=["near"])
    )


def _anndata(data: Any) -> str:
    """Values of everything, without the ids, which only `tiledbsoma` adds to the tables."""
    tables = [one.drop(columns=["soma_joinid"], errors="ignore") for one in (data.obs, data.var)]
    indices = [np.array("|".join(one.index.astype(str))) for one in tables]
    return digest(data.X, data.layers["half"], data.obsm["X_pca"], data.varm["PCs"], data.obsp["near"], *tables, *indices)


def main() -> None:
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    side, task, uri = sys.argv[1:4]
    work = {"tdb": with_tdb, "tiledbsoma": with_tiledbsoma}[side](task, uri)
    before, begun = peak(), time.perf_counter()
    found = work()
    seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "peak": peak() - before, "resident": peak(), "found": found}))


if __name__ == "__main__":
    main()
