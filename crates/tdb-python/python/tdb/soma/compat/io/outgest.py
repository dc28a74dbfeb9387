"""Experiments as AnnData and as h5ad files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...._needs import needed
from ...._types import AnyArray
from ..collection import Collection
from ..constants import SOMA_DATAFRAME_ORIGINAL_INDEX_NAME_JSON, SOMA_JOINID
from ..dataframe import DataFrame
from ..dense import DenseNDArray
from ..exceptions import SOMAError
from ..experiment import Experiment
from ..logging import logger
from ..query import MISSING, with_index
from ..sparse import SparseNDArray

if TYPE_CHECKING:
    import anndata
    import pandas

#: What the metadata of a table says that was an array of texts.
_HINT = "soma_uns_outgest_hint"


def to_h5ad(
    experiment: Experiment,
    h5ad_path: str | os.PathLike[str],
    measurement_name: str,
    *,
    X_layer_name: Any = MISSING,
    obs_id_name: str | None = None,
    var_id_name: str | None = None,
    obsm_varm_width_hints: Mapping[str, Mapping[str, int]] | None = None,
    uns_keys: Sequence[str] | None = None,
) -> None:
    """Writes a measurement of an experiment as an h5ad file."""
    made = to_anndata(
        experiment,
        measurement_name,
        X_layer_name=X_layer_name,
        obs_id_name=obs_id_name,
        var_id_name=var_id_name,
        obsm_varm_width_hints=obsm_varm_width_hints,
        uns_keys=uns_keys,
    )
    made.write_h5ad(h5ad_path)


def to_anndata(
    experiment: Experiment,
    measurement_name: str,
    *,
    X_layer_name: Any = MISSING,
    extra_X_layer_names: Sequence[str] | None = None,
    obs_id_name: str | None = None,
    var_id_name: str | None = None,
    obsm_varm_width_hints: Mapping[str, Mapping[str, int]] | None = None,
    uns_keys: Sequence[str] | None = None,
    dask: Any = None,
) -> anndata.AnnData:
    """A measurement of an experiment as AnnData. Without a name, X is the layer ``data`` if there is one."""
    if dask is not None:
        raise NotImplementedError("dask=: X is read as a matrix of scipy; read blockwise for what is larger than memory")
    if measurement_name not in experiment.ms:
        raise ValueError(f"requested measurement name {measurement_name} not found in input: {list(experiment.ms)}")
    measurement = experiment.ms[measurement_name]
    obs = read_dataframe(experiment.obs, obs_id_name, "obs_id")
    var = read_dataframe(measurement.var, var_id_name, "var_id")
    extra = [] if extra_X_layer_names is None else list(extra_X_layer_names)
    if X_layer_name is None and extra:
        raise ValueError("If X_layer_name is None, extra_X_layer_names must not be provided")
    layers = measurement.X if "X" in measurement else {}
    chosen = ("data" if "data" in layers else None) if X_layer_name is MISSING else X_layer_name
    for name in [*([] if chosen is None else [chosen]), *extra]:
        if name not in layers:
            raise ValueError(f"X_layer_name '{name}' not found in measurement: {list(layers)}")
    shape = len(obs), len(var)
    hints = obsm_varm_width_hints or {}
    made = needed("anndata", "anndata", "Objects of AnnData")
    return made.AnnData(
        X=None if chosen is None else _matrix(layers[chosen], shape),
        layers={name: _matrix(layers[name], shape) for name in extra if name != X_layer_name},
        obs=obs,
        var=var,
        obsm=_rows(measurement, "obsm", shape[0], hints.get("obsm", {})),
        varm=_rows(measurement, "varm", shape[1], hints.get("varm", {})),
        obsp=_pairs(measurement, "obsp", shape[0]),
        varp=_pairs(measurement, "varp", shape[1]),
        uns=read_uns(measurement["uns"], uns_keys) if "uns" in measurement else {},
    )


def read_dataframe(table: DataFrame, id_name: str | None = None, fallback: str | None = None) -> pandas.DataFrame:
    """A table as one of pandas, with the index that it had before it was stored."""
    said = json.loads(table.metadata.get(SOMA_DATAFRAME_ORIGINAL_INDEX_NAME_JSON, "null"))
    if said is not None and not isinstance(said, str):
        raise ValueError(f"{table.uri}: invalid {SOMA_DATAFRAME_ORIGINAL_INDEX_NAME_JSON} metadata: {said}")
    found = table.read().concat()
    # The rows of matrices are in the order of the ids.
    frame = found.sort_by(SOMA_JOINID).to_pandas().drop(columns=[SOMA_JOINID])
    return with_index(frame, id_name or said, fallback)


def _matrix(layer: Any, shape: tuple[int, int]) -> Any:
    """A layer as a matrix of the rows and columns that the tables have."""
    if isinstance(layer, DenseNDArray):
        return layer.read((slice(0, shape[0] - 1), slice(0, shape[1] - 1))).to_numpy()
    if not isinstance(layer, SparseNDArray):
        raise TypeError(f"Unexpected NDArray type {type(layer)}")
    return _csr(layer, shape)


def _csr(layer: SparseNDArray, shape: tuple[int, int]) -> Any:
    sparse = needed("scipy.sparse", "scipy", "Sparse matrices")
    parts: list[list[AnyArray]] = [[], [], []]
    kind = np.int32 if max(shape) < 1 << 31 else np.int64
    for table in layer.read().tables():
        for at, name in enumerate(("soma_dim_0", "soma_dim_1")):
            parts[at].append(table.column(name).to_numpy().astype(kind))
        parts[2].append(table.column("soma_data").to_numpy())
    rows, columns, data = (np.concatenate(one) for one in parts)
    matrix = sparse.csr_matrix((data, (rows, columns)), shape=shape)
    matrix.sort_indices()
    return matrix


def _pairs(measurement: Any, collection: str, count: int) -> dict[str, Any]:
    own = measurement[collection] if collection in measurement else {}
    return {name: _csr(own[name], (count, count)) for name in own}


def _rows(measurement: Any, collection: str, count: int, hints: Mapping[str, int]) -> dict[str, Any]:
    own = measurement[collection] if collection in measurement else {}
    return {name: _dense(own[name], count, hints.get(name), f"{collection}[{name!r}]") for name in own}


def _dense(matrix: Any, count: int, width: int | None, what: str) -> AnyArray:
    """A matrix with so many rows. Where nothing says how many columns it has, they end with the last one that has a value."""
    if len(matrix.shape) != 2:
        raise ValueError(f"{what}: a matrix has two axes, not {len(matrix.shape)}")
    if isinstance(matrix, DenseNDArray):
        found: AnyArray = matrix.read().to_numpy()
        return found
    if width is None:
        width = matrix.shape[1] if matrix.tiledbsoma_has_upgraded_shape else int(matrix.non_empty_domain()[1][1]) + 1
    dense: AnyArray = _csr(matrix, (count, width)).toarray()
    return dense


def read_uns(collection: Collection, uns_keys: Sequence[str] | None = None) -> dict[str, Any]:
    """What ``uns`` has: values of the metadata, arrays, tables, and dictionaries of them."""
    found: dict[str, Any] = {}
    for key in collection:
        if uns_keys is not None and key not in uns_keys:
            continue
        one = collection[key]
        if isinstance(one, Collection):
            found[key] = read_uns(one)
        elif isinstance(one, DataFrame):
            found[key] = _table_or_texts(one)
        elif isinstance(one, SparseNDArray):
            found[key] = one.read().tables().concat().to_pandas()
        elif isinstance(one, DenseNDArray):
            found[key] = one.read().to_numpy()
        else:
            logger.info("Skipping uns key %s with unhandled type %s", key, one.soma_type)
    for key, value in collection.metadata.items():
        if not key.startswith("soma_") and (uns_keys is None or key in uns_keys):
            found[key] = value
    return found


def _table_or_texts(table: DataFrame) -> Any:
    hint = table.metadata.get(_HINT)
    if hint not in ("array_1d", "array_2d"):
        if hint is not None:
            logger.info("Warning: %s has %s as unrecognized %s: leaving this as Pandas DataFrame", table.uri, _HINT, hint)
        return read_dataframe(table, None, "index")
    rows = table.read().concat().sort_by(SOMA_JOINID)
    names = [name for name in rows.column_names if name != SOMA_JOINID]
    if not names or (hint == "array_1d" and len(names) != 1):
        raise SOMAError(f"{table.uri} was an array of texts, but it has the columns {', '.join(names) or 'nothing'}")
    columns = [np.asarray(rows.column(name).to_pylist()) for name in names]
    return columns[0] if hint == "array_1d" else np.stack(columns, axis=1)


__all__ = ["read_dataframe", "read_uns", "to_anndata", "to_h5ad"]
