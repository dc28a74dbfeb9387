"""Experiments as AnnData, and as h5ad files."""

from __future__ import annotations

import os
import pathlib
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tdb
from .._array import Location
from .._condition import Condition
from .._errors import QueryError
from .._needs import needed
from .._types import AnyArray
from ._arrays import DenseMatrix, SparseMatrix
from ._axes import Wanted
from ._build import MEMORY, Progress
from ._change import measurement_of
from ._collections import Experiment
from ._collections import open as _open
from ._ingest import RAW
from ._query import AxisQuery

if TYPE_CHECKING:
    import anndata

#: The layer that becomes X if none is named; an experiment may be without it.
_X = "data"


def to_anndata(
    experiment: Experiment | Location,
    measurement: str = "RNA",
    X: str | None = _X,
    layers: Sequence[str] | None = None,
    *,
    obs: Wanted = None,
    var: Wanted = None,
    obs_where: str | Condition | None = None,
    var_where: str | Condition | None = None,
) -> anndata.AnnData:
    """A measurement as an object of AnnData, with everything that it has: ``obsm``, ``varm``, ``obsp``, ``varp``,
    ``uns``, ``raw`` if all cells are wanted, and all other layers unless ``layers`` names some. ``obs`` and ``var``
    choose cells and genes as :meth:`Experiment.axis_query` does. An experiment without the layer ``data`` has no X
    unless ``X`` names another one, which must be there."""
    opened = _opened(experiment)
    query = _query(opened, measurement, obs, var, obs_where, var_where)
    X, others = _layers(query, X, layers)
    made = query.to_anndata(X, others, **{group: _members(query, group) for group in ("obsm", "varm", "obsp", "varp")})
    made.uns = _uns(query)
    if RAW in opened.ms and measurement != RAW and obs is None and obs_where is None:
        raw = opened.axis_query(RAW)
        name = _raw_layer(raw, X)
        if name is not None:
            made.raw = raw.to_anndata(name)
    return made


def to_h5ad(
    experiment: Experiment | Location,
    path: str | os.PathLike[str],
    measurement: str = "RNA",
    X: str | None = _X,
    layers: Sequence[str] | None = None,
    *,
    obs: Wanted = None,
    var: Wanted = None,
    obs_where: str | Condition | None = None,
    var_where: str | Condition | None = None,
    memory: str | int = MEMORY,
    progress: Progress | None = None,
) -> None:
    """Writes a measurement as an h5ad file: what :func:`to_anndata` has of it. Matrices of cells and genes, and of
    cells and cells, are written in parts: all that is needed beside the tables is ``memory``. The file is there once
    all of it is."""
    anndata, h5py = needed("anndata", "anndata", "h5ad files"), needed("h5py", "h5py", "h5ad files")
    write = getattr(anndata, "io", anndata.experimental).write_elem
    opened = _opened(experiment)
    query = _query(opened, measurement, obs, var, obs_where, var_where)
    X, others = _layers(query, X, layers)
    budget = _tdb.memory_bytes(str(memory))
    for name in others:
        if "/" in name:
            raise QueryError(f"layer {name!r} has a slash in its name, which is a folder in HDF5: leave it out with layers")
    kept = {group: _members(query, group) for group in ("obsm", "varm")}
    small = query.to_anndata(None, **kept)
    small.uns = _uns(query)
    target = pathlib.Path(path)
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        small.write_h5ad(beside)
        with h5py.File(beside, "r+") as file:
            parts = [("X", X, "X", query.obs_ids, query.var_ids)] if X is not None else []
            parts += [(f"layers/{name}", name, "X", query.obs_ids, query.var_ids) for name in others]
            for group, ids in (("obsp", query.obs_ids), ("varp", query.var_ids)):
                parts += [(f"{group}/{name}", name, group, ids, ids) for name in _members(query, group)]
            for place, name, group, rows, columns in parts:
                _write(file, place, query.measurement[group][name], rows, columns, budget, progress)
            if RAW in opened.ms and measurement != RAW and obs is None and obs_where is None:
                _write_raw(file, write, opened, X, budget, progress)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def _opened(given: Experiment | Location) -> Experiment:
    found = given if isinstance(given, Experiment) else _open(given)
    if not isinstance(found, Experiment):
        raise QueryError(f"{found.uri} is no experiment")
    return found


def _query(experiment: Experiment, measurement: str, obs: Any, var: Any, obs_where: Any, var_where: Any) -> AxisQuery:
    measurement_of(experiment, measurement)
    return experiment.axis_query(measurement, obs, var, obs_where=obs_where, var_where=var_where)


def _layers(query: AxisQuery, X: str | None, layers: Sequence[str] | None) -> tuple[str | None, list[str]]:
    """The layer that is X, if there is one, and the others."""
    known = _members(query, "X")
    if layers is None:
        layers = [name for name in known if name != X]
    if X == _X and X not in known:
        X = None
    for name in [*layers, *([] if X is None else [X])]:
        if name not in known:
            raise QueryError(f"{query.measurement.uri} has no layer {name!r} (it has {', '.join(known) or 'none'})")
    return X, list(layers)


def _members(query: AxisQuery, group: str) -> list[str]:
    return list(query.measurement[group]) if group in query.measurement else []


def _uns(query: AxisQuery) -> dict[str, Any]:
    return query.measurement.uns.to_dict() if "uns" in query.measurement else {}


def _write(
    file: Any,
    place: str,
    matrix: SparseMatrix | DenseMatrix,
    rows: AnyArray,
    columns: AnyArray,
    memory: int,
    progress: Progress | None,
) -> None:
    """Writes a matrix in parts, as AnnData encodes it."""
    if place in file:
        del file[place]
    if isinstance(matrix, DenseMatrix):
        kind = matrix.to_numpy(rows[:0], columns[:0]).dtype
        made = file.create_dataset(place, (len(rows), len(columns)), kind)
        made.attrs["encoding-type"], made.attrs["encoding-version"] = "array", "0.2.0"
        each = max(memory // 4 // max(len(columns) * kind.itemsize, 1), 1)
        for first in range(0, len(rows), each):
            end = min(first + each, len(rows))
            made[first:end] = matrix.to_numpy(rows[first:end], columns)
            if progress is not None:
                progress(place, end, len(rows))
        return
    group = file.create_group(place)
    group.attrs["encoding-type"], group.attrs["encoding-version"] = "csr_matrix", "0.1.0"
    group.attrs["shape"] = np.array([len(rows), len(columns)], np.int64)
    kind = matrix._dtype()
    data = group.create_dataset("data", (0,), kind, maxshape=(None,), chunks=(1 << 16,))
    place_kind = np.int32 if len(columns) < 1 << 31 else np.int64
    indices = group.create_dataset("indices", (0,), place_kind, maxshape=(None,), chunks=(1 << 16,))
    ends = np.zeros(len(rows) + 1, np.int64)
    done = held = 0
    for _, part in matrix.batches(rows, columns, memory) if len(rows) and len(columns) else ():
        count = part.shape[0]
        ends[done + 1 : done + count + 1] = part.indptr[1:].astype(np.int64) + held
        data.resize((held + part.nnz,))
        indices.resize((held + part.nnz,))
        data[held:], indices[held:] = part.data, part.indices
        done, held = done + count, held + part.nnz
        if progress is not None:
            progress(place, done, len(rows))
    group.create_dataset("indptr", data=ends)


def _raw_layer(query: AxisQuery, X: str | None) -> str | None:
    """The layer of the measurement that was ``raw`` that becomes its X: that of the same name, or its first one."""
    known = _members(query, "X")
    return X if X in known else next(iter(known), None)


def _write_raw(
    file: Any, write: Any, experiment: Experiment, X: str | None, memory: int, progress: Progress | None
) -> None:
    """The measurement that was ``raw``."""
    query = experiment.axis_query(RAW)
    name = _raw_layer(query, X)
    if name is None:
        return
    group = file.create_group("raw")
    group.attrs["encoding-type"], group.attrs["encoding-version"] = "raw", "0.1.0"
    write(group, "var", query._frame("var", None))
    write(group, "varm", {})
    _write(file, "raw/X", query.measurement.X[name], query.obs_ids, query.var_ids, memory, progress)
