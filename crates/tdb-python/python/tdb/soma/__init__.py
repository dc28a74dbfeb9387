"""SOMA experiments, which ``tiledbsoma`` writes: tables, and matrices of any size.

Tables (``obs``, ``var``) are queries: ``to_pandas``, ``to_polars`` and everything that takes Arrow. Matrices become numpy's or
scipy's, whole or in batches that fit into a memory budget. Nothing is read before it is asked for, and everything is read at
one time.

>>> import numpy as np, tdb.soma
>>> dims = [tdb.Dimension("soma_dim_0", (0, 3), "int64"), tdb.Dimension("soma_dim_1", (0, 2), "int64")]
>>> X = tdb.create(scratch / "X", tdb.Schema("sparse", dims, [tdb.Attribute("soma_data", "float32")]))
>>> _ = X.write({"soma_dim_0": [0, 2], "soma_dim_1": [1, 2], "soma_data": [1.5, 2.5]})
>>> X.meta["soma_object_type"] = "SOMASparseNDArray"
>>> matrix = tdb.soma.open(scratch / "X")
>>> matrix.shape, matrix.nnz
((4, 3), 2)
"""

from __future__ import annotations

from . import loader
from ._append import append
from ._arrays import DataFrame, DenseMatrix, SparseMatrix
from ._change import delete, resize, update
from ._collections import Collection, Experiment, Measurement, open
from ._create import (
    create_collection,
    create_dataframe,
    create_dense,
    create_geometry,
    create_multiscale_image,
    create_point_cloud,
    create_sparse,
)
from ._export import to_anndata, to_h5ad
from ._ingest import from_10x, from_anndata, from_h5ad
from ._query import AxisQuery

__all__ = [
    "AxisQuery",
    "Collection",
    "DataFrame",
    "DenseMatrix",
    "Experiment",
    "Measurement",
    "SparseMatrix",
    "append",
    "create_collection",
    "create_dataframe",
    "create_dense",
    "create_geometry",
    "create_multiscale_image",
    "create_point_cloud",
    "create_sparse",
    "delete",
    "from_10x",
    "from_anndata",
    "from_h5ad",
    "loader",
    "open",
    "resize",
    "to_anndata",
    "to_h5ad",
    "update",
]
