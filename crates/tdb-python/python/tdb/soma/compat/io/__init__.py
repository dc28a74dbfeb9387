"""Reading and writing of AnnData, as ``tiledbsoma.io`` has it."""

from __future__ import annotations

from .ingest import add_matrix_to_collection, add_X_layer, from_anndata, from_h5ad
from .outgest import to_anndata, to_h5ad
from .registration import ExperimentAmbientLabelMapping, register_anndatas, register_h5ads
from .shaping import get_experiment_shapes, resize_experiment, show_experiment_shapes, upgrade_experiment_shapes
from .update import update_matrix, update_obs, update_uns_by_uri, update_var

__all__ = [
    "ExperimentAmbientLabelMapping",
    "add_X_layer",
    "add_matrix_to_collection",
    "from_anndata",
    "from_h5ad",
    "get_experiment_shapes",
    "register_anndatas",
    "register_h5ads",
    "resize_experiment",
    "show_experiment_shapes",
    "to_anndata",
    "to_h5ad",
    "update_matrix",
    "update_obs",
    "update_uns_by_uri",
    "update_var",
    "upgrade_experiment_shapes",
]
