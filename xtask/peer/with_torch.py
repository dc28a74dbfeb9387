"""`python with_torch.py`: `tdb.soma.torch` with PyPI's torch: tensors, workers of both kinds, epochs and ranks.

`cargo xtask python --only torch` runs it in an environment of its own, whose size it prints: gigabytes. The other
tests have a stub of torch.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile
from typing import Any

import anndata
import numpy as np
import pandas
import torch
import torch.distributed
from scipy import sparse
from torch.utils.data import DataLoader

import tdb.soma
from tdb.soma.torch import IterableDataset

CELLS, GENES = 523, 30


def experiment(place: pathlib.Path) -> tuple[tdb.soma.AxisQuery, Any]:
    """A query of all cells, and their values."""
    values = sparse.random(CELLS, GENES, 0.3, "csr", np.float32, np.random.default_rng(1))
    kinds = pandas.Categorical([("B", "NK", "T")[at % 3] for at in range(CELLS)])
    obs = pandas.DataFrame({"kind": kinds}, index=[f"c{at}" for at in range(CELLS)])
    var = pandas.DataFrame(index=[f"g{at}" for at in range(GENES)])
    made = tdb.soma.from_anndata(place, anndata.AnnData(values, obs, var))
    return made.axis_query("RNA"), values.toarray()


def epochs(query: tdb.soma.AxisQuery, values: Any, method: str, workers: int) -> None:
    """Each of two epochs has every cell once, with its values, in another order."""
    dataset = IterableDataset(query, batch_size=50, obs_columns=["kind"], dense=True, seed=3)
    own: dict[str, Any] = {"multiprocessing_context": method, "persistent_workers": True} if workers else {}
    loader: Any = DataLoader(dataset, batch_size=None, num_workers=workers, **own)
    orders = []
    for epoch in range(2):
        dataset.set_epoch(epoch)
        order: list[int] = []
        for X, obs, ids in loader:
            assert isinstance(X, torch.Tensor) and isinstance(ids, torch.Tensor) and len(obs["kind"]) == len(ids)
            np.testing.assert_array_equal(X.numpy(), values[ids.numpy()])
            order += ids.tolist()
        assert sorted(order) == list(range(CELLS))
        orders.append(order)
    assert orders[0] != orders[1]
    print(f"{method} with {workers} workers: every cell once in each epoch")


def main() -> None:
    size = sum(one.stat().st_size for one in pathlib.Path(sys.prefix).rglob("*") if one.is_file())
    print(f"torch {torch.__version__}, in an environment of {size / 1e9:.1f} GB")
    with tempfile.TemporaryDirectory() as folder:
        query, values = experiment(pathlib.Path(folder) / "experiment")
        for method in ("spawn", "fork") if sys.platform == "linux" else ("spawn",):
            for workers in (0, 2):
                epochs(query, values, method, workers)
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/ranks", rank=0, world_size=1)
        cells = sum(len(ids) for _, _, ids in IterableDataset(query, batch_size=50))
        assert cells == CELLS, cells
        torch.distributed.destroy_process_group()
        print("one rank of torch.distributed: every cell")


if __name__ == "__main__":
    main()
