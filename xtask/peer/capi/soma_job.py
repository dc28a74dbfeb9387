"""A job for tiledbsoma: makes an experiment, appends to it, or reads it and prints what it holds.

    python soma_job.py write|append URI CELLS GENES
    python soma_job.py read URI

`cargo xtask conform capi-soma` runs it with two libraries and compares what is printed.
"""

import hashlib
import sys

import anndata
import numpy as np
import pandas as pd
import scipy.sparse
import tiledbsoma
import tiledbsoma.io

MEASUREMENT = "RNA"
#: Cells that are appended, as a share of those that are there.
APPENDED = 20


def cells(count, genes, seed, with_pca):
    """Counts of genes in cells, drawn from a seed."""
    rng = np.random.default_rng(seed)
    counts = scipy.sparse.random(count, genes, density=0.05, format="csr", random_state=seed, dtype=np.float32)
    columns = {
        "cell_type": pd.Categorical(rng.choice(["T", "B", "NK"], count)),
        "n": rng.integers(0, 1000, count),
        "name": [f"c{at}" for at in range(count)],
    }
    obs = pd.DataFrame(columns, index=[f"cell{seed}_{at}" for at in range(count)])
    names = [f"gene{at}" for at in range(genes)]
    weights = np.random.default_rng(genes).random(genes)
    made = anndata.AnnData(X=counts, obs=obs, var=pd.DataFrame({"weight": weights}, index=names))
    if with_pca:
        made.obsm["pca"] = rng.random((count, 5)).astype(np.float32)
    return made


def write(uri, count, genes):
    tiledbsoma.io.from_anndata(uri, cells(count, genes, 1, True), measurement_name=MEASUREMENT)


def append(uri, count, genes):
    more = cells(max(1, count // APPENDED), genes, 2, False)
    known = tiledbsoma.io.register_anndatas(
        uri, [more], measurement_name=MEASUREMENT, obs_field_name="obs_id", var_field_name="var_id"
    )
    known.prepare_experiment(uri)
    tiledbsoma.io.from_anndata(uri, more, measurement_name=MEASUREMENT, registration_mapping=known)


def digest(value):
    data = value if isinstance(value, bytes) else value.to_csv(index=False).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def table(read):
    """Cells of a matrix in the order of their coordinates."""
    found = read.tables().concat().to_pandas()
    return found.sort_values(["soma_dim_0", "soma_dim_1"])


def read(uri):
    with tiledbsoma.Experiment.open(uri) as experiment:
        obs = experiment.obs.read().concat().to_pandas()
        print("obs", obs.shape, [str(one) for one in obs.dtypes], digest(obs))
        some = experiment.obs.read(value_filter="cell_type == 'T' and n > 500", column_names=["soma_joinid", "n"])
        some = some.concat().to_pandas()
        print("filter", some.shape, digest(some))
        matrix = experiment.ms[MEASUREMENT].X["data"]
        whole = table(matrix.read())
        print("matrix", matrix.shape, matrix.nnz, whole.shape, digest(whole))
        part = table(matrix.read((slice(10, 50), [1, 5, 7])))
        print("part", part.shape, digest(part))
        chosen = tiledbsoma.AxisQuery(value_filter="cell_type == 'B'")
        with experiment.axis_query(MEASUREMENT, obs_query=chosen) as query:
            found = query.to_anndata("data")
            print("query", found.shape, digest(found.obs), digest(np.asarray(found.X.todense()).tobytes()))
        found = tiledbsoma.io.to_anndata(experiment, MEASUREMENT)
        print("anndata", found.shape, digest(found.obs), digest(found.var), digest(found.X.tocsr().data.tobytes()))
        print("pca", digest(np.nan_to_num(np.asarray(found.obsm["pca"])).tobytes()))


def main():
    op, uri, *size = sys.argv[1:]
    {"write": write, "append": append, "read": read}[op](uri, *map(int, size))


if __name__ == "__main__":
    main()
