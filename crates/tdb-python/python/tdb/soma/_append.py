"""Cells that come to an experiment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tdb
from .._array import Key, Location, Storage
from .._errors import QueryError
from .._needs import needed
from .._types import AnyArray, Time, number_dtype
from ._arrays import DataFrame, DenseMatrix, SparseMatrix
from ._axes import DATA, JOINID
from ._build import MEMORY, Progress
from ._change import about_obs, grow, measurement_of, shapes
from ._collections import Experiment, Measurement
from ._collections import open as _open
from ._fitting import fitted, id_column, renamed
from ._frames import table_of, write_table
from ._ingest import RAW
from ._matrices import Compressed, expect_values, write_dense, write_sparse
from ._source import Matrix, Source, exists, expect_unique, of_10x_folder, of_10x_h5, of_anndata, of_h5ad

if TYPE_CHECKING:
    import anndata
    import pandas
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

#: What can be appended.
_PARTS = ("X", "layers", "obsm", "obsp", "raw")


@dataclass(frozen=True)
class _Axis:
    """The rows of a table that are new, and the ids of all that were given."""

    table: DataFrame
    new: pyarrow.Table
    new_ids: AnyArray
    ids: AnyArray
    size: int
    extended: Mapping[str, Sequence[Any]]


def append(
    uri: Location,
    data: anndata.AnnData | str | os.PathLike[str],
    measurement: str = "RNA",
    *,
    X: str = "data",
    parts: Sequence[str] = _PARTS,
    obs_id: str | None = None,
    var_id: str | None = None,
    memory: str | int = MEMORY,
    progress: Progress | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Experiment:
    """Appends the cells of an object of AnnData, of an h5ad file, or of what 10x Genomics writes, and opens the
    experiment.

    Genes are found by ``var_id`` (without it, the column that was the index, or ``var_id``); new ones are added.
    Cells whose ``obs_id`` the experiment has already are refused. Columns that the experiment has and the data does
    not are null in new rows; columns and layers that only the data has are refused: :func:`update` adds columns.
    ``parts`` names what is appended beside the tables; ``varm``, ``varp`` and ``uns`` stay as they are.

    Names, columns, shapes, and values whose type is another one than in the experiment are checked first. Then new
    categories and genes are registered, shapes grow, and matrices get their values; the cells come last, so that a
    query sees none whose values are missing. If a write fails, as it does where the indices of a file are damaged,
    an append can be done again, with the same cells or with others: ids that have values already, also those of
    such an append, are not given to new cells. What it left is in no query by cells, but is counted by ``nnz``."""
    for part in parts:
        if part not in _PARTS:
            raise QueryError(f"parts has {part!r}, which is none of {', '.join(_PARTS)}{_tdb.hint(part, list(_PARTS))}")
    how = {"key": key, "storage": storage, "threads": threads}
    experiment: Experiment = _open(uri, **how)  # type: ignore[arg-type]
    with _source(data) as source:
        _append(experiment, source, measurement, X, parts, (obs_id, var_id), _tdb.memory_bytes(str(memory)), progress, at)
    found: Experiment = _open(uri, **how)  # type: ignore[arg-type]
    return found


@contextmanager
def _source(data: Any) -> Iterator[Source]:
    """What is appended, while it is open."""
    if not isinstance(data, (str, os.PathLike)):
        yield of_anndata(data)
        return
    path = exists(data)
    if path.is_dir():
        yield of_10x_folder(path)
        return
    h5py = needed("h5py", "h5py", "Files of HDF5")
    with h5py.File(path, "r") as file:
        yield of_h5ad(file) if "obs" in file else of_10x_h5(file)


def _append(
    experiment: Experiment,
    source: Source,
    measurement: str,
    X: str,
    parts: Sequence[str],
    named: tuple[str | None, str | None],
    memory: int,
    progress: Progress | None,
    at: Time | None,
) -> None:
    ms = measurement_of(experiment, measurement)
    obs = _registered(experiment.obs, source.obs, named[0], "obs", all_new=True, least=_past_values(experiment))
    var = _registered(ms.var, source.var, named[1], "var")
    axes = [obs, var]
    # What is written where: the matrix, its rows and its columns (None: they are counted).
    todo: list[tuple[Any, Matrix, _Axis, _Axis | None, str]] = []
    if source.X is not None and "X" in parts:
        todo.append((_layer(ms, "X", X), source.X, obs, var, f"X/{X}"))
    for group, second in (("layers", var), ("obsm", None), ("obsp", obs)):
        matrices: Mapping[str, Matrix] = getattr(source, group) if group in parts else {}
        own = "X" if group == "layers" else group
        todo += [(_layer(ms, own, name), one, obs, second, f"{own}/{name}") for name, one in matrices.items()]
    if source.raw_X is not None and source.raw_var is not None and "raw" in parts:
        raw = measurement_of(experiment, RAW)
        raw_var = _registered(raw.var, source.raw_var, named[1], "raw.var")
        axes.append(raw_var)
        todo.append((_layer(raw, "X", X), source.raw_X, obs, raw_var, f"{RAW}/X/{X}"))
    for target, matrix, rows, columns, what in todo:
        _expect_fitting(target, matrix, rows, columns, what, memory)
    # Nothing is changed above this line.
    for axis in axes:
        grow(axis.table.array, {JOINID: axis.size}, axis.extended, at)
    for axis in axes[1:]:
        write_table(axis.table.array, axis.new, axis.new_ids, memory, at)
    genes = {measurement: var.size, **({RAW: axes[2].size} if len(axes) > 2 else {})}
    for array, sizes in shapes(experiment, obs.size, genes):
        grow(array, sizes, {}, at)
    for target, matrix, rows, columns, what in todo if len(obs.ids) else ():
        heard = None if progress is None else _heard(progress, what)
        if isinstance(target, DenseMatrix):
            write_dense(target.array, matrix, int(rows.ids[0]), memory, at, heard)
        else:
            write_sparse(target.array, matrix, rows.ids, None if columns is None else columns.ids, memory, at, heard)
    write_table(obs.table.array, obs.new, obs.new_ids, memory, at)


def _heard(progress: Progress, what: str) -> Any:
    return lambda done, total: progress(what, done, total)


def _layer(measurement: Measurement, group: str, name: str) -> Any:
    """The matrix that values are appended to."""
    if group not in measurement or name not in measurement[group]:
        known = ", ".join(measurement[group]) if group in measurement else "none"
        raise QueryError(f"{measurement.uri} has no {group}[{name!r}] (it has {known}): remove it from the data, or leave it out by parts")
    return measurement[group][name]


def _past_values(experiment: Experiment) -> int:
    """The first id from which on no matrix has values of cells. An append that failed leaves some that obs does not
    have."""
    least = 0
    for matrix, axes in about_obs(experiment):
        if not isinstance(matrix, (SparseMatrix, DenseMatrix)):
            continue
        ends = matrix.array.non_empty_domain
        names = [own.name for own in matrix.array.schema.dimensions]
        if ends is not None:
            least = max(least, *(int(ends[names.index(axis)][1]) + 1 for axis in axes))
    return least


def _registered(
    table: DataFrame, frame: pandas.DataFrame, asked: str | None, axis: str, all_new: bool = False, least: int = 0
) -> _Axis:
    """The ids that rows have or get, from ``least`` on, and what the table needs for them."""
    column = id_column(table, asked, "obs" if axis == "obs" else "var")
    given = renamed(table_of(frame, column, axis), column)
    names = given.ids(column)
    expect_unique(names, axis)
    stored = table.read([JOINID, column]).to_numpy()
    known = dict(zip((str(one) for one in stored[column]), stored[JOINID].tolist()))
    fresh = [at for at, name in enumerate(names) if name not in known]
    if all_new and len(fresh) < len(names):
        old = [name for name in names if name in known]
        raise QueryError(f"{axis}: {len(old)} ids are in the experiment already, of which the first is {old[0]!r}")
    ends = table.array.non_empty_domain
    # Ids of deleted rows are not given again.
    index = [own.name for own in table.array.schema.dimensions]
    last = int(ends[index.index(JOINID)][1]) if ends is not None and JOINID in index else -1
    begin = max([last + 1, least, *(own + 1 for own in known.values())])
    new_ids = np.arange(begin, begin + len(fresh), dtype=np.int64)
    known.update(zip((names[at] for at in fresh), new_ids.tolist()))
    ids = np.array([known[name] for name in names], np.int64)
    rows = given.columns.take(np.array(fresh, np.int64))
    aligned, extended = fitted(table.array, rows, axis)
    return _Axis(table, aligned, new_ids, ids, begin + len(fresh), extended)


def _expect_fitting(target: Any, matrix: Matrix, rows: _Axis, columns: _Axis | None, what: str, memory: int) -> None:
    """Refuses a matrix whose values do not fit the one that they are appended to."""
    width = target.shape[1]
    if columns is None and matrix.shape[1] != width:
        raise QueryError(f"{what} has {matrix.shape[1]} columns, but {width} in the experiment")
    own = np.dtype(number_dtype(target.array.schema.attribute(DATA).datatype))
    if not np.can_cast(matrix.dtype, own, "same_kind"):
        raise QueryError(f"{what} has values of the type {matrix.dtype}, but in the experiment they are {own}")
    if isinstance(target, DenseMatrix) and columns is not None and not np.array_equal(columns.ids, np.arange(width)):
        raise QueryError(f"{what} is dense in the experiment: only cells with the same genes in the same order can be appended")
    if isinstance(matrix, Compressed):
        matrix.ends()
    expect_values(target.array, matrix, memory, what)
