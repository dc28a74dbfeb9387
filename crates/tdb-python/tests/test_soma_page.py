"""The program of docs/soma.md runs, on an AnnData file that is made here."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "soma.md"
MOST_LINES = 40


def _program() -> str:
    found = re.findall(r"<!-- run: train -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def _table(group: Any, index: list[str], columns: dict[str, Any]) -> None:
    """A table as AnnData stores it."""
    import h5py

    group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
    group.attrs["column-order"] = np.array(list(columns), h5py.string_dtype())
    _texts(group, "_index", index)
    for name, values in columns.items():
        if values.dtype.kind == "i":
            numbers = group.create_dataset(name, data=values)
            numbers.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
            continue
        categories, codes = np.unique(values, return_inverse=True)
        column = group.create_group(name)
        column.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
        _texts(column, "categories", categories.tolist())
        codes = column.create_dataset("codes", data=codes.astype(np.int8))
        codes.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


def _texts(group: Any, name: str, values: list[str]) -> None:
    import h5py

    found = group.create_dataset(name, data=np.array(values, object), dtype=h5py.string_dtype())
    found.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})


def _cells(path: pathlib.Path, cells: int = 1200, genes: int = 60) -> None:
    """Cells of three types, of which each has ten genes of its own more often."""
    import h5py
    import scipy.sparse as sparse

    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, cells)
    rates = np.full((3, genes), 0.5)
    for at in range(3):
        rates[at, 10 * at : 10 * at + 10] = 2
    X = sparse.csr_matrix(rng.poisson(rates[kind]).astype(np.float32))
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        matrix = file.create_group("X")
        matrix.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": np.array(X.shape)})
        for name in ("data", "indices", "indptr"):
            matrix.create_dataset(name, data=getattr(X, name))
        names = np.array(["B", "NK", "T"])
        donors = np.array([f"d{at}" for at in np.arange(cells) * 6 // cells])
        columns = {"cell_type": names[kind], "donor": donors, "n_genes": np.diff(X.indptr).astype(np.int64)}
        _table(file.create_group("obs"), [f"cell-{at}" for at in range(cells)], columns)
        _table(file.create_group("var"), [f"gene-{at}" for at in range(genes)], {})
        for name in ("layers", "obsm", "obsp", "varm", "varp", "uns"):
            file.create_group(name).attrs.update({"encoding-type": "dict", "encoding-version": "0.1.0"})


def test_the_program_of_the_page_trains_a_model(tmp_path: pathlib.Path) -> None:
    for package in ("h5py", "scipy", "pandas", "pyarrow"):
        pytest.importorskip(package)
    _cells(tmp_path / "cells.h5ad")
    done = subprocess.run([sys.executable, "-c", _program()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = re.fullmatch(r"3 types, (\d+)% right\n", done.stdout)
    # A third is right by chance.
    assert said is not None and int(said[1]) > 85, done.stdout


def test_the_program_of_the_page_is_short() -> None:
    assert len(_program().splitlines()) <= MOST_LINES


def test_a_file_as_the_page_has_it_is_what_anndata_reads(tmp_path: pathlib.Path) -> None:
    anndata = pytest.importorskip("anndata")
    _cells(tmp_path / "cells.h5ad")
    found = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert found.shape == (1200, 60) and found.obs["cell_type"].cat.categories.tolist() == ["B", "NK", "T"]
