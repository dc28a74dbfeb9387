"""Reading and writing of AnnData, as ``tiledbsoma.io`` has it."""

from __future__ import annotations

from .outgest import to_anndata, to_h5ad
from .shaping import get_experiment_shapes, resize_experiment, show_experiment_shapes, upgrade_experiment_shapes

__all__ = [
    "get_experiment_shapes",
    "resize_experiment",
    "show_experiment_shapes",
    "to_anndata",
    "to_h5ad",
    "upgrade_experiment_shapes",
]
