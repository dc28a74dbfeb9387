"""Experiments of AnnData, h5ad files, and what 10x Genomics writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import Key, Location, Storage
from .._errors import QueryError
from .._needs import needed
from .._types import Time
from ._axes import DATA, JOINID
from ._build import MEMORY, Build, Progress, built
from ._collections import Experiment
from ._collections import open as _open
from ._frames import Table, create_table, table_of, write_table
from ._matrices import arrow_type, write_dense, write_sparse
from ._source import Matrix, Source, exists, expect_unique, of_10x_folder, of_10x_h5, of_anndata, of_h5ad
from ._uns import write_uns

if TYPE_CHECKING:
    import os

    import anndata

#: The measurement that has what AnnData has as ``raw``.
RAW = "raw"


def from_anndata(
    uri: Location,
    data: anndata.AnnData,
    measurement: str = "RNA",
    *,
    X: str = "data",
    dense: bool = False,
    obs_id: str = "obs_id",
    var_id: str = "var_id",
    uns: Sequence[str] | None = None,
    platform_config: Any = None,
    memory: str | int = MEMORY,
    progress: Progress | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Experiment:
    """Makes an experiment with one measurement of an object of AnnData, and opens it.

    ``X`` is the name of the layer that AnnData's X becomes; with ``dense`` all layers are dense matrices. ``obs_id``
    and ``var_id`` are the columns that indices without a name become. ``raw`` becomes a second measurement. ``uns``
    names what is kept of ``uns``, and must name what is there; without it, everything is kept. Ids that are there
    twice are refused. ``progress`` is called with the name of what is written, and how many of how many rows of it
    are. Writing takes ``memory`` beside the data.

    ``platform_config`` has ``tiledbsoma``'s options of creation; what it says of columns is for all arrays that have
    them.

    An experiment is complete or not there: local folders are written beside their place, and renamed; elsewhere the
    experiment's own group comes last. If a write to an object store fails, what it left there is no experiment."""
    how = {"platform_config": platform_config, "memory": memory, "at": at, "key": key, "storage": storage, "threads": threads}
    with built(uri, progress=progress, **how) as build:
        _write(build, of_anndata(data), measurement, X, dense, (obs_id, var_id), uns)
    return _opened(uri, key, storage, threads)


def from_h5ad(
    uri: Location,
    path: str | os.PathLike[str],
    measurement: str = "RNA",
    *,
    X: str = "data",
    dense: bool = False,
    obs_id: str = "obs_id",
    var_id: str = "var_id",
    uns: Sequence[str] | None = None,
    platform_config: Any = None,
    memory: str | int = MEMORY,
    progress: Progress | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Experiment:
    """Makes an experiment of an h5ad file, whose matrices are read in parts: all that is needed beside the tables is
    ``memory``. The arguments are those of :func:`from_anndata`."""
    h5py = needed("h5py", "h5py", "h5ad files")
    how = {"platform_config": platform_config, "memory": memory, "at": at, "key": key, "storage": storage, "threads": threads}
    with h5py.File(exists(path), "r") as file, built(uri, progress=progress, **how) as build:
        _write(build, of_h5ad(file), measurement, X, dense, (obs_id, var_id), uns)
    return _opened(uri, key, storage, threads)


def from_10x(
    uri: Location,
    path: str | os.PathLike[str],
    measurement: str = "RNA",
    *,
    X: str = "data",
    dense: bool = False,
    obs_id: str = "obs_id",
    var_id: str = "var_id",
    platform_config: Any = None,
    memory: str | int = MEMORY,
    progress: Progress | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Experiment:
    """Makes an experiment of what Cell Ranger writes: an ``.h5`` file, which is read in parts, or a folder with
    ``matrix.mtx``, ``barcodes.tsv`` and ``features.tsv`` (also with ``.gz``), whose matrix is in memory. Genes are
    called by their ids (``gene_ids``); their names, and what else ``features.tsv`` says of them, are columns. The
    other arguments are those of :func:`from_anndata`."""
    how = {"platform_config": platform_config, "memory": memory, "at": at, "key": key, "storage": storage, "threads": threads}
    place = exists(path)
    ids = (obs_id, var_id)
    if place.is_dir():
        with built(uri, progress=progress, **how) as build:
            _write(build, of_10x_folder(place), measurement, X, dense, ids, None)
        return _opened(uri, key, storage, threads)
    h5py = needed("h5py", "h5py", "Files of 10x Genomics")
    with h5py.File(place, "r") as file, built(uri, progress=progress, **how) as build:
        _write(build, of_10x_h5(file), measurement, X, dense, ids, None)
    return _opened(uri, key, storage, threads)


def _opened(uri: Location, key: Key, storage: Storage, threads: int | None) -> Experiment:
    found: Experiment = _open(uri, key=key, storage=storage, threads=threads)
    return found


def _write(
    build: Build,
    source: Source,
    measurement: str,
    X: str,
    dense: bool,
    ids: tuple[str, str],
    uns: Sequence[str] | None,
) -> None:
    """Writes all parts, and the experiment last."""
    if source.raw_X is not None and measurement == RAW:
        raise QueryError(f"the data has raw, which becomes the measurement {RAW!r}: call the measurement otherwise")
    missing = [name for name in uns or () if name not in source.uns]
    if missing:
        known = ", ".join(map(str, source.uns)) or "nothing"
        raise QueryError(f"uns names {missing[0]!r}, which the data does not have in uns (it has {known})")
    obs, var = table_of(source.obs, ids[0], "obs"), table_of(source.var, ids[1], "var")
    raw_var = None if source.raw_var is None else table_of(source.raw_var, ids[1], "raw.var")
    expect_unique(obs.ids(obs.index), "obs")
    expect_unique(var.ids(var.index), "var")
    _expect_known(build, [obs, var])
    _write_axis(build, "obs", obs)
    measurements = [measurement]
    base = f"ms/{build.quoted(measurement)}"
    write_measurement(build, base, source, var, source.layers_of(X), dense, uns)
    if source.raw_X is not None and raw_var is not None and source.raw_var is not None:
        measurements.append(RAW)
        write_measurement(build, f"ms/{RAW}", Source(source.obs, source.raw_var), raw_var, {X: source.raw_X}, dense, None)
    build.collection("ms", "Collection", measurements)
    build.collection("", "Experiment", ["obs", "ms"])


def write_measurement(
    build: Build,
    base: str,
    source: Source,
    var: Table,
    layers: Mapping[str, Matrix],
    dense: bool,
    uns: Sequence[str] | None,
) -> None:
    """Writes a measurement, and what is in it first."""
    members = ["var", "X"]
    _write_axis(build, f"{base}/var", var)
    for name, matrix in layers.items():
        _write_matrix(build, f"{base}/X/{build.quoted(name)}", matrix, dense, by_cells=True)
    build.collection(f"{base}/X", "Collection", list(layers))
    for group in ("obsm", "varm", "obsp", "varp"):
        matrices: Mapping[str, Matrix] = getattr(source, group)
        for name, matrix in matrices.items():
            # As tiledbsoma does, which expects them to be sparse when it appends.
            _write_matrix(build, f"{base}/{group}/{build.quoted(name)}", matrix, False)
        if matrices:
            build.collection(f"{base}/{group}", "Collection", list(matrices))
            members.append(group)
    if source.uns:
        write_uns(build, f"{base}/uns", source.uns, uns)
        members.append("uns")
    build.collection(base, "Measurement", members)


def _write_axis(build: Build, path: str, table: Table) -> None:
    size = len(table.columns)
    array = create_table(build.at_path(path), table, size, **build.how(table.columns.column_names))
    write_table(array, table.columns, np.arange(size), build.memory, build.at)
    heard = build.heard(path)
    if heard is not None:
        heard(size, size)


def _write_matrix(build: Build, path: str, matrix: Matrix, dense: bool, by_cells: bool = False) -> None:
    shape = tuple(max(size, 1) for size in matrix.shape)
    kind = arrow_type(matrix.dtype)
    if dense:
        write_dense(build.dense(path, kind, shape), matrix, 0, build.memory, build.at, build.heard(path))
    else:
        made = build.sparse(path, kind, shape, by_cells)
        write_sparse(made, matrix, None, None, build.memory, build.at, build.heard(path))


def _expect_known(build: Build, tables: Sequence[Table]) -> None:
    """Refuses options of columns that no array has."""
    columns = [name for table in tables for name in table.columns.column_names]
    build.options.expect_columns([JOINID, "soma_dim_0", "soma_dim_1"], [DATA, *columns])
