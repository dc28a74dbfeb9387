"""SOMA's objects, written with what is wrong, damaged or twice: it is refused, or becomes what it says."""

from __future__ import annotations

import gzip
import pathlib
import warnings
from typing import Any

import numpy as np
import pytest

import tdb
import tdb.soma
from tdb.soma._matrices import _cast

pytest.importorskip("pyarrow")
anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

CELLS, GENES = 6, 4


def made(cells: int = CELLS, first: int = 0, kind: Any = np.float32) -> Any:
    """An object of AnnData whose value in each row and column is the row times 10 and the column, and one more."""
    X = (np.arange(first, first + cells)[:, None] * 10 + np.arange(GENES)[None, :] + 1).astype(kind)
    obs = pandas.DataFrame({"score": np.arange(cells) + 0.5}, index=[f"c{first + at}" for at in range(cells)])
    return anndata.AnnData(sparse.csr_matrix(X), obs, pandas.DataFrame(index=[f"g{at}" for at in range(GENES)]))


def files_of(path: pathlib.Path) -> list[str]:
    return sorted(str(one) for one in path.rglob("*"))


def test_slices_of_ids_have_no_ends_below_zero(tmp_path: pathlib.Path) -> None:
    experiment = tdb.soma.from_anndata(tmp_path / "e", made())
    dense = tdb.soma.from_anndata(tmp_path / "dense", made(), dense=True).ms["RNA"].X["data"]
    X = experiment.ms["RNA"].X["data"]
    wrong: list[Any] = [slice(-2, None), slice(None, -1), {"soma_joinid": slice(-2, None)}, {"soma_joinid": [slice(-2, None)]}]
    for one in wrong:
        with pytest.raises(tdb.QueryError, match="a slice of ids has the end -"):
            tdb.soma.delete(tmp_path / "e", one)
        with pytest.raises(tdb.QueryError, match="a slice of ids has the end -"):
            experiment.obs.ids(one)
    reads: list[Any] = [X.read, X.to_scipy, X.stream, dense.read, dense.to_numpy, lambda one: experiment.axis_query("RNA", one).X()]
    for read in reads:
        with pytest.raises(tdb.QueryError, match="a slice of ids has the end -2"):
            read(slice(-2, None))
    with pytest.raises(tdb.QueryError, match="are integers, not 'c1'"):
        experiment.obs.ids(slice("c1", None))
    with pytest.raises(tdb.QueryError, match="has the step -1"):
        X.to_scipy(slice(None, None, -1))
    with pytest.raises(tdb.QueryError, match="are integers, not 1.5"):
        X.to_scipy(slice(0, 4, 1.5))
    # The same slice is the same ids of tables and of matrices.
    assert tdb.soma.open(tmp_path / "e").obs.ids(slice(4, None)).tolist() == [4, 5]
    assert X.to_scipy(slice(4, None)).toarray()[:, 0].tolist() == dense.to_numpy(slice(4, None))[:, 0].tolist() == [41, 51]
    assert tdb.soma.delete(tmp_path / "e", slice(4, None)) == 2 and len(tdb.soma.open(tmp_path / "e").obs) == 4
