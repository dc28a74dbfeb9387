"""`python soma_times_tasks.py TASK LIBRARY PLACE WORK`: one measurement for `soma_times.py`, or `make`, which makes
the file.

It prints JSON: the seconds without imports, the peak memory of the process and that after the imports, and what
came out.
"""

from __future__ import annotations

import json
import pathlib
import resource
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

#: Rows of a batch of training.
BATCH = 1024
#: The genes whose frequency differs between types of cells: one of so many.
MARKED = 10
TYPES = ["B", "T", "NK", "mono", "DC", "mast", "plasma", "neuron", "glia", "muscle", "fat", "stem"]


def make(place: str, work: pathlib.Path, cells: int, genes: int, values: int) -> None:
    """An AnnData file whose rows, columns and groups differ in their numbers of values, as those of cells do."""
    import anndata
    import pandas
    import scipy.sparse as sparse

    rng = np.random.default_rng(51)
    frequency = rng.lognormal(0, 1.5, genes).astype(np.float32)
    size = rng.lognormal(0, 0.4, cells).astype(np.float32)
    kind = rng.choice(len(TYPES), cells)
    factors = np.ones((len(TYPES), genes), np.float32)
    factors[:, ::MARKED] = rng.lognormal(0, 1, (len(TYPES), len(range(0, genes, MARKED))))

    def chances(scale: float, rows: Any) -> Any:
        return np.minimum(scale * size[rows, None] * frequency * factors[kind[rows]], 0.9)

    low, high, some = 0.0, 10.0, np.arange(0, cells, max(cells // 200, 1))
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if chances(middle, some).mean() * cells * genes < values else (low, middle)
    parts = []
    for at in range(0, cells, 500):
        rows = np.arange(at, min(at + 500, cells))
        found = sparse.csr_matrix(rng.random((len(rows), genes), np.float32) < chances(low, rows), dtype=np.float32)
        found.data = rng.geometric(0.4, found.nnz).astype(np.float32)
        parts.append(found)
    X = sparse.vstack(parts, format="csr")
    del parts
    obs = pandas.DataFrame(
        {
            "cell_type": pandas.Categorical.from_codes(kind, TYPES),
            "donor": pandas.Categorical.from_codes(np.arange(cells) * 20 // cells, [f"donor {at}" for at in range(20)]),
            "n_genes": np.diff(X.indptr).astype(np.int64),
            "total": np.asarray(X.sum(axis=1)).ravel(),
        },
        index=[f"cell-{at:07}" for at in range(cells)],
    )
    var = pandas.DataFrame({"length": rng.integers(100, 10_000, genes)}, index=[f"ENSG{at:08}" for at in range(genes)])
    anndata.AnnData(X, obs, var).write_h5ad(place)
    asked = {
        "cells": np.sort(rng.choice(cells, 100, replace=False)).tolist(),
        "filter": [TYPES[1], int(np.median(np.diff(X.indptr)))],
        "gene": int(np.argsort(frequency)[genes // 2]),
        "rows": [cells // 4, cells // 4 + cells // 10],
        "columns": [genes // 3, genes // 3 + genes // 50],
    }
    (work / "case.json").write_text(json.dumps(asked))
    print(json.dumps({"values": X.nnz}))


def condition(case: Any) -> str:
    """The condition on obs, as pandas, tdb and tiledbsoma take it."""
    kind, least = case["filter"]
    return f'cell_type == "{kind}" and n_genes > {least}'


def of(values: Any) -> list[Any]:
    """What came out of a selection: the number of values and their sum."""
    values = np.asarray(values)
    return [int(np.count_nonzero(values)), float(values.sum(dtype=np.float64))]


def means_of(sums: Any, counts: Any) -> str:
    """What came out of the means."""
    means = np.asarray(sums).reshape(len(counts), -1) / np.asarray(counts)[:, None]
    return f"{np.square(means).sum():.6g}"


class Tdb:
    """tdb, on its own experiment or on that of tiledbsoma."""

    def __init__(self) -> None:
        # The other libraries import it with themselves.
        import pandas  # noqa: F401
        import scipy.sparse  # noqa: F401

        import tdb.soma

        self.soma: Any = tdb.soma

    def convert(self, source: str, place: str, case: Any) -> Any:
        self.soma.from_h5ad(place, source)

    def filter(self, place: str, case: Any) -> Any:
        return len(self.soma.open(place).obs.to_pandas(None, condition(case)))

    def _X(self, place: str) -> Any:
        return self.soma.open(place).ms["RNA"].X["data"]

    def cells(self, place: str, case: Any) -> Any:
        return of(self._X(place).to_scipy(case["cells"]).data)

    def gene(self, place: str, case: Any) -> Any:
        return of(self._X(place).to_scipy(None, [case["gene"]]).data)

    def submatrix(self, place: str, case: Any) -> Any:
        return of(self._X(place).to_scipy(slice(*case["rows"]), slice(*case["columns"])).data)

    def means(self, place: str, case: Any) -> Any:
        experiment = self.soma.open(place)
        codes = experiment.obs.to_pandas(["soma_joinid", "cell_type"]).sort_values("soma_joinid")["cell_type"].cat.codes
        group, X = codes.to_numpy().astype(np.int64), experiment.ms["RNA"].X["data"]
        genes = len(experiment.ms["RNA"].var)
        sums = np.zeros(len(TYPES) * genes)
        for batch in X.stream(memory="128MB"):
            found = batch.to_numpy()
            at = group[found["soma_dim_0"]] * genes + found["soma_dim_1"]
            sums += np.bincount(at, found["soma_data"], len(sums))
        return means_of(sums, np.bincount(group, minlength=len(TYPES)))

    def _epoch(self, place: str, **options: Any) -> Any:
        query = self.soma.open(place).axis_query("RNA")
        loader = self.soma.loader.Loader(query, batch_size=BATCH, obs_columns=["cell_type"], seed=1, **options)
        return epoch((X, obs["cell_type"]) for X, obs, _ in loader)

    def epoch(self, place: str, case: Any) -> Any:
        return self._epoch(place)

    def epoch512(self, place: str, case: Any) -> Any:
        return self._epoch(place, chunk=512, buffer=16 * BATCH)


def epoch(batches: Any) -> list[Any]:
    """What came out of an epoch: the cells, their values, and their sum."""
    cells = values = 0
    total = 0.0
    for X, labels in batches:
        assert X.shape[0] == len(labels)
        cells += X.shape[0]
        values += X.nnz
        total += float(X.data.sum(dtype=np.float64))
    return [cells, values, total]


class TiledbSoma:
    """tiledbsoma, and tiledbsoma-ml on the same experiment."""

    def __init__(self) -> None:
        import scipy.sparse  # noqa: F401
        import tiledbsoma.io

        self.soma: Any = tiledbsoma

    def convert(self, source: str, place: str, case: Any) -> Any:
        self.soma.io.from_h5ad(place, source, measurement_name="RNA")

    def filter(self, place: str, case: Any) -> Any:
        with self.soma.open(place) as experiment:
            return len(experiment.obs.read(value_filter=condition(case)).concat().to_pandas())

    def _read(self, place: str, *ids: Any) -> Any:
        """Some rows and columns as a matrix in CSR, as the other libraries make it."""
        import scipy.sparse as sparse

        with self.soma.open(place) as experiment:
            X = experiment.ms["RNA"].X["data"]
            found = X.read(ids).tables().concat()
        axes = [np.unique(found[f"soma_dim_{at}"].to_numpy(), return_inverse=True) for at in range(2)]
        return sparse.csr_matrix((found["soma_data"].to_numpy(), tuple(places for _, places in axes)))

    def cells(self, place: str, case: Any) -> Any:
        return of(self._read(place, case["cells"]).data)

    def gene(self, place: str, case: Any) -> Any:
        return of(self._read(place, slice(None), [case["gene"]]).data)

    def submatrix(self, place: str, case: Any) -> Any:
        # The ends of its slices belong to them.
        return of(self._read(place, *(slice(first, end - 1) for first, end in (case["rows"], case["columns"]))).data)

    def means(self, place: str, case: Any) -> Any:
        with self.soma.open(place) as experiment:
            obs = experiment.obs.read(column_names=["soma_joinid", "cell_type"]).concat().to_pandas()
            group = obs.sort_values("soma_joinid")["cell_type"].cat.codes.to_numpy().astype(np.int64)
            genes = experiment.ms["RNA"].var.count
            sums = np.zeros(len(TYPES) * genes)
            for found in experiment.ms["RNA"].X["data"].read().tables():
                at = group[found["soma_dim_0"].to_numpy()] * genes + found["soma_dim_1"].to_numpy()
                sums += np.bincount(at, found["soma_data"].to_numpy(), len(sums))
        return means_of(sums, np.bincount(group, minlength=len(TYPES)))


class TiledbSomaMl(TiledbSoma):
    """tiledbsoma-ml: of torch it uses names that cost nothing, so stand-ins do."""

    def __init__(self) -> None:
        super().__init__()
        names = ["torch", "torch.utils", "torch.utils.data", "torch.distributed", "torch.multiprocessing"]
        stubs: dict[str, Any] = {name: types.ModuleType(name) for name in names}
        sys.modules.update(stubs)
        for name in names[1:]:
            above, _, own = name.rpartition(".")
            setattr(stubs[above], own, stubs[name])
        generic = {"__class_getitem__": classmethod(lambda cls, _: cls)}
        data, distributed = stubs["torch.utils.data"], stubs["torch.distributed"]
        data.IterableDataset, data.DataLoader = type("IterableDataset", (), generic), type("DataLoader", (), generic)
        data.get_worker_info, distributed.is_initialized = (lambda: None), (lambda: False)
        import tiledbsoma_ml

        self.ml: Any = tiledbsoma_ml

    def warm(self, place: str) -> None:
        """Numba compiles when the first batch is made, which takes as long however many there are."""
        self._epoch(place, self.soma.AxisQuery(coords=(slice(0, 99),)))

    def epoch(self, place: str, case: Any) -> Any:
        return self._epoch(place, None)

    def _epoch(self, place: str, wanted: Any) -> Any:
        with self.soma.open(place) as experiment, experiment.axis_query("RNA", obs_query=wanted) as query:
            dataset = self.ml.ExperimentDataset(
                query, layer_name="data", obs_column_names=["cell_type"], batch_size=BATCH, seed=1, return_sparse_X=True
            )
            return epoch((X, obs["cell_type"]) for X, obs in dataset)


class AnnData:
    """AnnData, backed: what it reads of an h5ad file."""

    def __init__(self) -> None:
        import anndata
        import scipy.sparse  # noqa: F401

        self.anndata: Any = anndata

    def open(self, place: str) -> tuple[Any, Any]:
        """The matrix and the table of cells."""
        found = self.anndata.read_h5ad(place, backed="r")
        return found.X, found.obs

    def filter(self, place: str, case: Any) -> Any:
        return len(self.open(place)[1].query(condition(case)))

    def cells(self, place: str, case: Any) -> Any:
        return of(self.open(place)[0][case["cells"]].data)

    def gene(self, place: str, case: Any) -> Any:
        return of(self.open(place)[0][:, [case["gene"]]].data)

    def submatrix(self, place: str, case: Any) -> Any:
        return of(self.open(place)[0][slice(*case["rows"])][:, slice(*case["columns"])].data)

    def means(self, place: str, case: Any) -> Any:
        import scipy.sparse as sparse

        X, obs = self.open(place)
        group = obs["cell_type"].cat.codes.to_numpy()
        sums = np.zeros((len(TYPES), X.shape[1]))
        for at in range(0, X.shape[0], 5000):
            own = group[at : at + 5000]
            picked = sparse.csr_matrix((np.ones(len(own)), (own, np.arange(len(own)))), (len(TYPES), len(own)))
            sums += picked @ X[at : at + 5000]
        return means_of(sums, np.bincount(group, minlength=len(TYPES)))

    def epoch(self, place: str, case: Any) -> Any:
        """Chunks of 64 rows in an order by chance, as many at once as make a batch."""
        X, obs = self.open(place)
        firsts = np.random.default_rng(1).permutation(np.arange(0, X.shape[0], 64))

        def batches() -> Any:
            for at in range(0, len(firsts), BATCH // 64):
                rows = np.concatenate(
                    [np.arange(first, min(first + 64, X.shape[0])) for first in firsts[at : at + BATCH // 64]]
                )
                rows = np.sort(rows)
                yield X[rows], obs["cell_type"].to_numpy()[rows]

        return epoch(batches())


class AnnDataZarr(AnnData):
    """AnnData, backed by Zarr."""

    def convert(self, source: str, place: str, case: Any) -> Any:
        self.anndata.read_h5ad(source).write_zarr(place)

    def open(self, place: str) -> tuple[Any, Any]:
        import zarr

        group = zarr.open_group(place, mode="r")
        return self.anndata.io.sparse_dataset(group["X"]), self.anndata.io.read_elem(group["obs"])


class Annbatch(AnnDataZarr):
    """annbatch on its own shuffled and sharded Zarr."""

    def __init__(self) -> None:
        super().__init__()
        import annbatch
        import zarr

        try:
            import zarrs  # noqa: F401

            zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
        except ModuleNotFoundError:
            pass
        self.annbatch: Any = annbatch

    def convert(self, source: str, place: str, case: Any) -> Any:
        import zarr

        self.anndata.settings.zarr_write_format = 3
        collection = self.annbatch.DatasetCollection(zarr.open_group(place, mode="w", zarr_format=3))
        collection.add_adatas([source], shuffle=True, rng=np.random.default_rng(1))

    def epoch512(self, place: str, case: Any) -> Any:
        import zarr

        loader = self.annbatch.Loader(
            batch_size=BATCH, chunk_size=512, preload_nchunks=32, shuffle=True, rng=np.random.default_rng(1)
        )
        loader.use_collection(self.annbatch.DatasetCollection(zarr.open_group(place, mode="r")))
        return epoch((one["X"], one["obs"]["cell_type"]) for one in loader)


class Slaf:
    """slafdb: SQL of Polars on Lance. Its loader needs torch."""

    def __init__(self) -> None:
        import slaf
        import slaf.data

        self.slaf: Any = slaf

    def convert(self, source: str, place: str, case: Any) -> Any:
        self.slaf.data.SLAFConverter().convert(source, place)

    def filter(self, place: str, case: Any) -> Any:
        kind, least = case["filter"]
        said = f"SELECT * FROM cells WHERE cell_type = '{kind}' AND n_genes > {least}"
        return len(self.slaf.SLAFArray(place).query(said))

    def cells(self, place: str, case: Any) -> Any:
        return of(self.slaf.SLAFArray(place).get_submatrix(case["cells"], None)["value"].to_numpy())

    def gene(self, place: str, case: Any) -> Any:
        return of(self.slaf.SLAFArray(place).get_submatrix(None, [case["gene"]])["value"].to_numpy())

    def submatrix(self, place: str, case: Any) -> Any:
        opened = self.slaf.SLAFArray(place)
        return of(opened.get_submatrix(slice(*case["rows"]), slice(*case["columns"]))["value"].to_numpy())

    def means(self, place: str, case: Any) -> Any:
        opened = self.slaf.SLAFArray(place)
        sums = opened.query(
            "SELECT c.cell_type AS cell_type, e.gene_integer_id AS gene, SUM(e.value) AS total FROM expression e "
            "JOIN cells c ON e.cell_integer_id = c.cell_integer_id GROUP BY c.cell_type, e.gene_integer_id"
        )
        counts = dict(opened.query("SELECT cell_type, COUNT(*) AS n FROM cells GROUP BY cell_type").iter_rows())
        group = np.array([counts[one] for one in sums["cell_type"].to_list()])
        return f"{np.square(sums['total'].to_numpy() / group).sum():.6g}"


MAKERS: dict[str, Callable[[], Any]] = {
    "tdb": Tdb,
    "tdb on tiledbsoma's": Tdb,
    "tiledbsoma": TiledbSoma,
    "tiledbsoma-ml": TiledbSomaMl,
    "AnnData h5ad": AnnData,
    "AnnData Zarr": AnnDataZarr,
    "annbatch": Annbatch,
    "slafdb": Slaf,
}


def peak() -> int:
    """The peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    task, library, place, work = sys.argv[1:5]
    if task == "make":
        make(place, pathlib.Path(work), *map(int, sys.argv[5:]))
        return
    own = MAKERS[library]()
    case = json.loads((pathlib.Path(work) / "case.json").read_text())
    if hasattr(own, "warm"):
        own.warm(place)
    before, begun = peak(), time.perf_counter()
    if task == "convert":
        found = own.convert(str(pathlib.Path(work) / "source.h5ad"), place, case)
    else:
        found = getattr(own, task)(place, case)
    seconds = time.perf_counter() - begun
    print("\n" + json.dumps({"seconds": seconds, "peak": peak(), "before": before, "found": found}))


if __name__ == "__main__":
    main()
