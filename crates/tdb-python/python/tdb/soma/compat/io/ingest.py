"""AnnData and h5ad files as experiments: at once, or one after the other with ids that were registered."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ...._errors import Error
from ...._needs import needed
from ...._tdb import memory_bytes
from ...._types import AnyArray
from ..._build import MEMORY, Build, built
from ..._frames import Table, create_table, table_of
from ..._ingest import _write
from ..._matrices import arrow_type, matrix_of, write_sparse
from ..._options import CreateOptions
from ..._source import Matrix, Source, of_anndata, of_h5ad
from ..._uns import write_uns
from ..collection import Collection, CollectionBase
from ..constants import SOMA_JOINID
from ..context import SOMATileDBContext, context_of
from ..creating import options_of
from ..dataframe import DataFrame
from ..dense import DenseNDArray
from ..exceptions import AlreadyExistsError, SOMAError, translated
from ..experiment import Experiment
from ..measurement import Measurement
from ..ndarray import NDArray
from ..platform_config import TileDBCreateOptions
from ..sparse import SparseNDArray
from .conversions import named
from .registration import AxisIDMapping, ExperimentAmbientLabelMapping, ExperimentIDMapping

if TYPE_CHECKING:
    import anndata

#: What can be done with data: all of it is written, or only what is needed to write it.
MODES = ("write", "schema_only")
_RAW = "raw"


def from_anndata(experiment_uri: str, anndata: anndata.AnnData, measurement_name: str, **how: Any) -> str:
    """Writes AnnData to an experiment. The keywords are those of :class:`Ingest`."""
    if not hasattr(anndata, "obs") or not hasattr(anndata, "var"):
        raise TypeError("Second argument is not an AnnData object -- did you want from_h5ad?")
    return Ingest(experiment_uri, measurement_name, **how).run(of_anndata(anndata))


def from_h5ad(experiment_uri: str, input_path: str | os.PathLike[str], measurement_name: str, **how: Any) -> str:
    """Writes an h5ad file, whose matrices are read in parts, to an experiment. The keywords are those of :class:`Ingest`."""
    if not isinstance(input_path, (str, os.PathLike)):
        raise TypeError("Second argument is not a path to a file -- did you want from_anndata?")
    h5py = needed("h5py", "h5py", "h5ad files")
    ingest = Ingest(experiment_uri, measurement_name, **how)
    with h5py.File(input_path, "r") as file:
        return ingest.run(of_h5ad(file))


class Ingest:
    """How data becomes an experiment."""

    def __init__(
        self,
        experiment_uri: str,
        measurement_name: str,
        *,
        context: SOMATileDBContext | None = None,
        platform_config: Any = None,
        obs_id_name: str = "obs_id",
        var_id_name: str = "var_id",
        X_layer_name: str = "data",
        raw_X_layer_name: str = "data",
        ingest_mode: str = "write",
        use_relative_uri: bool | None = None,
        X_kind: type[NDArray] = SparseNDArray,
        registration_mapping: ExperimentAmbientLabelMapping | None = None,
        uns_keys: Sequence[str] | None = None,
        additional_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if ingest_mode not in MODES:
            raise SOMAError(f'expected ingest_mode to be one of {MODES}; got "{ingest_mode}"')
        if use_relative_uri is False:
            raise NotImplementedError("use_relative_uri=False: members of experiments are found relative to them")
        self.uri, self.measurement = experiment_uri, measurement_name
        self.context = context_of(context)
        self.config = platform_config
        self.ids = (obs_id_name, var_id_name)
        self.layer, self.raw_layer = X_layer_name, raw_X_layer_name
        self.mode, self.dense = ingest_mode, X_kind is DenseNDArray
        self.mapping, self.uns = registration_mapping, uns_keys
        self.metadata = dict(additional_metadata or {})
        if registration_mapping is not None and self.dense:
            raise ValueError("dense X is not supported for append mode")

    def run(self, source: Source) -> str:
        """Writes the data."""
        if not len(source.obs) or not len(source.var):
            raise NotImplementedError("Empty AnnData.obs or AnnData.var unsupported.")
        source.obs, source.var = named(source.obs, self.ids[0]), named(source.var, self.ids[1])
        if source.raw_var is not None:
            source.raw_var = named(source.raw_var, self.ids[1])
        there = Experiment.exists(self.uri, self.context)
        if self.mapping is None and self.mode == "write":
            if there:
                raise AlreadyExistsError(f"{self.uri!r} already exists: register what is to be appended to it first")
            self._write_whole(source)
        else:
            if self.mapping is not None and there and not self.mapping.prepared:
                raise SOMAError("Experiment must be prepared prior to ingestion. Please call ``registration_map.prepare_experiment`` method.")
            with translated(self.uri):
                self._write_parts(source, there)
        if self.metadata:
            _add_metadata(self.uri, self.metadata, self.context)
        return self.uri

    def _options(self) -> Any:
        """The options of all arrays: each takes what is said of its columns."""
        own = TileDBCreateOptions.from_platform_config(self.config)
        return options_of(self.config, list(own.dims), list(own.attrs))

    def _place(self) -> dict[str, Any]:
        return {**self.context._opening(), "at": self.context.timestamp_ms or None}

    def _write_whole(self, source: Source) -> None:
        """Writes a new experiment, which is there when all of it is."""
        folder = None if "://" in self.uri else pathlib.Path(self.uri)
        if folder is not None and folder.is_dir() and not any(folder.iterdir()):
            # A place that was made for it.
            folder.rmdir()
        if source.raw_X is not None and self.raw_layer != self.layer:
            # What is written at once has one name for both layers.
            with translated(self.uri):
                self._write_parts(source, False)
            return
        how = {"platform_config": self._options(), "memory": MEMORY, "progress": None}
        with translated(self.uri), built(self.uri, **how, **self._place()) as build:
            _write(build, source, self.measurement, self.layer, self.dense, self.ids, self.uns)

    def _write_parts(self, source: Source, there: bool) -> None:
        """Writes to an experiment what it does not have yet, and cells with the ids that were registered."""
        ids = self._ids(source)
        sizes = self._sizes(source)
        keep = self.mapping is None or self.mapping.obs_axis.allow_duplicate_ids
        opened = Experiment.open(self.uri, "w", context=self.context) if there else Experiment.create(self.uri, context=self.context)
        with opened as experiment:
            self._table(experiment, "obs", table_of(source.obs, self.ids[0], "obs"), sizes["obs"], ids.obs_axis, keep)
            measurements = _collection(experiment, "ms", Collection)
            own = _collection(measurements, self.measurement, Measurement)
            self._measurement(own, self.measurement, source, ids, sizes, source.layers_of(self.layer))
            if source.uns and self.mode == "write" and "uns" not in own:
                self._uns(own, source.uns)
            if source.raw_X is not None and source.raw_var is not None:
                raw = Source(source.obs, source.raw_var)
                other = _collection(measurements, _RAW, Measurement)
                self._measurement(other, _RAW, raw, ids, sizes, {self.raw_layer: source.raw_X})

    def _ids(self, source: Source) -> ExperimentIDMapping:
        if self.mapping is not None:
            axes = {self.measurement: self.mapping.var_axes[self.measurement].id_mapping_from_dataframe(source.var)}
            if source.raw_var is not None:
                axes[_RAW] = self.mapping.var_axes[_RAW].id_mapping_from_dataframe(source.raw_var)
            return ExperimentIDMapping(obs_axis=self.mapping.obs_axis.id_mapping_from_dataframe(source.obs), var_axes=axes)
        axes = {self.measurement: AxisIDMapping.identity(len(source.var))}
        if source.raw_var is not None:
            axes[_RAW] = AxisIDMapping.identity(len(source.raw_var))
        return ExperimentIDMapping(obs_axis=AxisIDMapping.identity(len(source.obs)), var_axes=axes)

    def _sizes(self, source: Source) -> dict[str, int]:
        """What new tables and matrices have room for."""
        if self.mapping is not None:
            return {"obs": self.mapping.get_obs_shape(), **self.mapping.get_var_shapes()}
        raw = {} if source.raw_var is None else {_RAW: len(source.raw_var)}
        return {"obs": len(source.obs), self.measurement: len(source.var), **raw}

    def _measurement(
        self, own: Measurement, name: str, source: Source, ids: ExperimentIDMapping, sizes: Mapping[str, int], layers: Mapping[str, Matrix]
    ) -> None:
        rows, columns = ids.obs_axis, ids.var_axes[name]
        shape = sizes["obs"], sizes[name]
        self._table(own, "var", table_of(source.var, self.ids[1], "var"), sizes[name], columns, True)
        X = _collection(own, "X", Collection)
        for key, matrix in layers.items():
            self._matrix(X, key, matrix, shape, rows.data, columns.data)
        parts: list[tuple[str, Mapping[str, Matrix], int, AnyArray, int | None, AnyArray | None]] = [
            ("obsm", source.obsm, shape[0], rows.data, None, None),
            ("varm", source.varm, shape[1], columns.data, None, None),
            ("obsp", source.obsp, shape[0], rows.data, shape[0], rows.data),
            ("varp", source.varp, shape[1], columns.data, shape[1], columns.data),
        ]
        for collection, matrices, size, first, other_size, other in parts:
            for key, matrix in matrices.items():
                group = _collection(own, collection, Collection)
                wide = matrix.shape[1] if other_size is None else other_size
                self._matrix(group, key, matrix, (size, wide), first, other)

    def _table(self, owner: CollectionBase, key: str, table: Table, size: int, ids: AxisIDMapping, keep: bool) -> None:
        if key not in owner:
            how = {**self._how(table.columns.column_names), "at": owner.tiledb_timestamp_ms}

            def create(where: str) -> DataFrame:
                create_table(where, table, size, **how)
                return DataFrame.open(where, "w", **owner._child_time)

            owner._add_new(key, DataFrame, None, create)
        if self.mode == "schema_only":
            return
        rows = table.columns.add_column(0, SOMA_JOINID, [pa.array(ids.data)])
        own: DataFrame = owner[key]
        if keep:
            with DataFrame.open(own.uri, context=self.context) as readable:
                known = readable.read(column_names=[SOMA_JOINID]).concat()[SOMA_JOINID].to_numpy()
            new = ~np.isin(ids.data, known)
            rows = rows.filter(pa.array(new))
        if len(rows):
            own.write(rows.combine_chunks())

    def _matrix(
        self, owner: CollectionBase, key: str, matrix: Matrix, shape: tuple[int, int], rows: AnyArray, columns: AnyArray | None
    ) -> None:
        if key not in owner:
            sizes = [max(size, 1) for size in shape]
            if self.dense:
                owner.add_new_dense_ndarray(key, type=arrow_type(matrix.dtype), shape=sizes, platform_config=self.config)
            else:
                owner.add_new_sparse_ndarray(key, type=arrow_type(matrix.dtype), shape=sizes, platform_config=self.config)
        if self.mode == "write":
            own = owner[key]
            own.verify_open_for_writing()
            write_sparse(own._array, matrix, rows, columns, memory_bytes(MEMORY), own.tiledb_timestamp_ms)

    def _how(self, columns: Sequence[str]) -> dict[str, Any]:
        options = CreateOptions.of(self._options()).only([SOMA_JOINID], columns)
        return {"platform_config": options, **self._place()}

    def _uns(self, owner: Measurement, values: Mapping[str, Any]) -> None:
        own = self.context._opening()
        build = Build(owner.uri, CreateOptions.of(self._options()), memory_bytes(MEMORY), owner.tiledb_timestamp_ms, own["key"], own["storage"])

        def create(where: str) -> Collection:
            write_uns(build, "uns", values, self.uns)
            return Collection.open(where, "w", **owner._child_time)

        owner._add_new("uns", Collection, None, create)


def _collection(owner: CollectionBase, key: str, kind: Any) -> Any:
    return owner[key] if key in owner else owner.add_new_collection(key, kind)


def _add_metadata(uri: str, metadata: Mapping[str, Any], context: SOMATileDBContext) -> None:
    """Adds metadata to an experiment, and to all that is in it."""
    from ..factory import open as open_any

    with open_any(uri, "w", context=context) as whole:
        todo = [whole]
        while todo:
            one = todo.pop()
            one.metadata.update(metadata)
            if isinstance(one, CollectionBase):
                todo.extend(one.values())


def add_X_layer(
    exp: Experiment,
    measurement_name: str,
    X_layer_name: str,
    X_layer_data: Any,
    ingest_mode: str = "write",
    use_relative_uri: bool | None = None,
    context: SOMATileDBContext | None = None,
    schema_validation: bool = True,
) -> None:
    """Adds a layer to a measurement of an experiment that is open for writing."""
    add_matrix_to_collection(
        exp, measurement_name, "X", X_layer_name, X_layer_data, ingest_mode, use_relative_uri, context, schema_validation
    )


def add_matrix_to_collection(
    exp: Experiment,
    measurement_name: str,
    collection_name: str,
    matrix_name: str,
    matrix_data: Any,
    ingest_mode: str = "write",
    use_relative_uri: bool | None = None,
    context: SOMATileDBContext | None = None,
    schema_validation: bool = True,
) -> None:
    """Adds a matrix to a collection of a measurement of an experiment that is open for writing."""
    if ingest_mode not in MODES:
        raise SOMAError(f'expected ingest_mode to be one of {MODES}; got "{ingest_mode}"')
    exp.verify_open_for_writing()
    own = exp.ms[measurement_name]
    try:
        matrix = matrix_of(matrix_data, f"{collection_name}[{matrix_name!r}]")
    except Error as error:
        raise TypeError(str(error)) from error
    if schema_validation:
        _expect_shape(exp, own, collection_name, matrix.shape)
    group = _collection(own, collection_name, Collection)
    made = group.add_new_sparse_ndarray(matrix_name, type=arrow_type(matrix.dtype), shape=[max(size, 1) for size in matrix.shape])
    if ingest_mode == "write":
        with translated(made.uri):
            write_sparse(made._array, matrix, None, None, memory_bytes(MEMORY), made.tiledb_timestamp_ms)


def _expect_shape(exp: Experiment, own: Measurement, collection: str, shape: tuple[int, int]) -> None:
    """Refuses a matrix that has another number of rows or columns than the tables have rows."""
    axes = {"X": ("obs", "var"), "obsm": ("obs", None), "varm": ("var", None), "obsp": ("obs", "obs"), "varp": ("var", "var")}
    for size, axis in zip(shape, axes.get(collection, (None, None))):
        if axis is None:
            continue
        table = exp.obs if axis == "obs" else own.var
        # As many as there are ids for, whichever of them have a row.
        count = table._maybe_soma_joinid_shape
        if size != count:
            raise SOMAError(f"Matrix shape {shape} must match the {axis} size {count}")


__all__ = ["add_X_layer", "add_matrix_to_collection", "from_anndata", "from_h5ad"]
