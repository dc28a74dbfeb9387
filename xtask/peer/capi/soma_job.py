"""A job for tiledbsoma: makes things, appends to them, changes them, or looks at them and prints what they hold.

    python soma_job.py URI CELLS GENES write|append|change|look...

An experiment of so many cells and genes is at the URI, small objects of all kinds are at URI_parts, and a census that has
the experiment is at URI_census. A word after a hyphen only tells phases of one kind apart. `cargo xtask conform
capi-soma` runs it with two libraries in turns and compares what is printed, but for lines that begin with `#`.
"""

import hashlib
import sys
import time

import anndata
import cellxgene_census
import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse
import tiledbsoma
import tiledbsoma.io
from tiledbsoma.io.update_uns import update_uns_by_uri

import soma_parts

MEASUREMENT = "RNA"
#: Cells that are appended, as a share of those that are there.
APPENDED = 20


def matrix_of(rows, columns, count, seed):
    """A matrix with about so many cells; scipy's own is slow where there could be many more."""
    rng = np.random.default_rng(seed)
    places = np.unique(rng.integers(0, rows * columns, count))
    values = rng.random(len(places), dtype=np.float32)
    return scipy.sparse.coo_matrix((values, (places // columns, places % columns)), shape=(rows, columns)).tocsr()


def cells(count, genes, seed, with_pca):
    """Counts of genes in cells, drawn from a seed: one place in twenty has one."""
    rng = np.random.default_rng(seed)
    counts = matrix_of(count, genes, count * genes // 20, seed)
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
        made.uns.update({"note": "ä", "more": {"flag": True, "numbers": np.arange(3.0)}, "texts": np.array(["a", "bc"])})
    return made


def write(uri, count, genes):
    tiledbsoma.io.from_anndata(uri, cells(count, genes, 1, True), measurement_name=MEASUREMENT)
    soma_parts.make(uri + "_parts")
    census(uri, genes)


def census(uri, genes):
    """A census of the experiment, with a matrix of the genes that each of two data sets has."""
    with tiledbsoma.Experiment.open(uri, "w") as experiment:
        with experiment.ms[MEASUREMENT].add_new_sparse_ndarray("feature_dataset_presence_matrix", type=pa.uint8(), shape=(2, genes)) as made:
            places = [(dataset, gene) for dataset in range(2) for gene in range(dataset, genes, dataset + 2)]
            columns = [pa.array(column, pa.int64()) for column in zip(*places)]
            values = pa.array(np.ones(len(places), dtype="u1"))
            made.write(pa.table([*columns, values], names=["soma_dim_0", "soma_dim_1", "soma_data"]))
    with tiledbsoma.Collection.create(uri + "_census") as root, tiledbsoma.Experiment.open(uri) as experiment:
        with root.add_new_collection("census_data") as data:
            data.set("homo_sapiens", experiment, use_relative_uri=False)
        with root.add_new_collection("census_info") as info:
            info.metadata["census_build_date"] = "some day"


def append(uri, count, genes):
    more = cells(max(1, count // APPENDED), genes, 2, False)
    more.obs["cell_type"] = more.obs["cell_type"].cat.rename_categories({"NK": "another kind"})
    known = tiledbsoma.io.register_anndatas(
        uri, [more], measurement_name=MEASUREMENT, obs_field_name="obs_id", var_field_name="var_id"
    )
    known.prepare_experiment(uri)
    tiledbsoma.io.from_anndata(uri, more, measurement_name=MEASUREMENT, registration_mapping=known)


def change(uri, count, genes):
    """Room for more, cells that are deleted, a column and a layer that are added."""
    soma_parts.change(uri + "_parts")
    tiledbsoma.io.resize_experiment(uri, nobs=2 * count, nvars={MEASUREMENT: 2 * genes})
    with tiledbsoma.DataFrame.open(uri + "/obs", "d") as obs:
        obs.delete_cells((slice(count // 2, None),), value_filter="n < 100 and cell_type != 'T'")
    with tiledbsoma.Experiment.open(uri) as experiment:
        matrix = experiment.ms[MEASUREMENT].X["data"].uri
        var = experiment.ms[MEASUREMENT].var.read().concat().to_pandas()
    with tiledbsoma.SparseNDArray.open(matrix, "d") as cells_:
        cells_.delete_cells(([1, 3, 5, 7], slice(0, genes // 2)))
    var["twice"] = 2 * var["weight"]
    with tiledbsoma.Experiment.open(uri, "w") as experiment:
        tiledbsoma.io.update_var(experiment, var, MEASUREMENT, default_index_name="var_id")
        layer = matrix_of(2 * count, 2 * genes, count * genes // 200, 5)
        tiledbsoma.io.add_X_layer(experiment, MEASUREMENT, "layer", layer)
    update_uns_by_uri(uri, {"note": "changed", "more": {"later": np.arange(5)}}, MEASUREMENT)


def digest(value):
    data = value if isinstance(value, bytes) else pd.util.hash_pandas_object(value, index=False).to_numpy().tobytes()
    return hashlib.sha256(data).hexdigest()[:16]


def table(read):
    """Cells of a matrix in the order of their coordinates."""
    found = read.tables().concat().to_pandas()
    return found.sort_values(["soma_dim_0", "soma_dim_1"])


def look(uri, count, genes):
    soma_parts.look(uri + "_parts", lambda label, value: print(label, str(value).replace("\n", " ").replace(uri, "URI")))
    look_at_experiment(uri)
    look_at_census(uri + "_census")


def look_at_experiment(uri):
    with tiledbsoma.Experiment.open(uri) as experiment:
        obs = experiment.obs.read().concat().to_pandas()
        print("obs", experiment.obs.domain, experiment.obs.count, obs.shape, [str(one) for one in obs.dtypes], digest(obs))
        some = experiment.obs.read(value_filter="cell_type == 'T' and n > 500", column_names=["soma_joinid", "n"])
        some = some.concat().to_pandas()
        print("filter", some.shape, digest(some))
        var = experiment.ms[MEASUREMENT].var.read().concat().to_pandas()
        print("var", var.shape, list(var), digest(var))
        for name, matrix in sorted(experiment.ms[MEASUREMENT].X.items()):
            whole = table(matrix.read())
            print("matrix", name, matrix.shape, matrix.nnz, whole.shape, digest(whole))
        matrix = experiment.ms[MEASUREMENT].X["data"]
        part = table(matrix.read((slice(10, 50), [1, 5, 7])))
        print("part", part.shape, digest(part))
        chosen = tiledbsoma.AxisQuery(value_filter="cell_type == 'B'")
        with experiment.axis_query(MEASUREMENT, obs_query=chosen) as query:
            found = query.to_anndata("data")
            print("query", found.shape, digest(found.obs), digest(np.asarray(found.X.todense()).tobytes()))
        found = tiledbsoma.io.to_anndata(experiment, MEASUREMENT)
        print("anndata", found.shape, digest(found.obs), digest(found.var), digest(found.X.tocsr().data.tobytes()))
        print("pca", digest(np.nan_to_num(np.asarray(found.obsm["pca"])).tobytes()))
        print("uns", {key: str(value) for key, value in sorted(found.uns.items())})
    shapes = tiledbsoma.io.get_experiment_shapes(uri)
    print("shapes", str(shapes).replace(uri, "URI"))


def look_at_census(uri):
    with cellxgene_census.open_soma(uri=uri) as found:
        print("census", sorted(found), dict(found["census_info"].metadata)["census_build_date"])
        obs = cellxgene_census.get_obs(found, "Homo sapiens", value_filter="cell_type in ['B', 'another kind']", column_names=["n", "cell_type"])
        print("census obs", obs.shape, digest(obs))
        print("census var", digest(cellxgene_census.get_var(found, "Homo sapiens", coords=slice(5, 9))))
        presence = cellxgene_census.get_presence_matrix(found, "Homo sapiens", MEASUREMENT)
        print("presence", presence.shape, presence.nnz, digest(np.asarray(presence.todense()).tobytes()))
        made = cellxgene_census.get_anndata(
            found, "Homo sapiens", X_name="data", obs_value_filter="n > 700", var_coords=slice(0, 20), obs_column_names=["name"], obsm_layers=["pca"]
        )
        print("census anndata", made.shape, digest(made.obs), digest(made.var), digest(np.asarray(made.X.todense()).tobytes()))
        print("census pca", digest(np.nan_to_num(np.asarray(made.obsm["pca"])).tobytes()))


def main():
    uri, count, genes, *phases = sys.argv[1:]
    jobs = {"write": write, "append": append, "change": change, "look": look}
    for phase in phases:
        begun = time.monotonic()
        jobs[phase.partition("-")[0]](uri, int(count), int(genes))
        print("# %s %.1f" % (phase, time.monotonic() - begun))


if __name__ == "__main__":
    main()
