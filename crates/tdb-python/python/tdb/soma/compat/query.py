"""Queries of an experiment: some observations, some variables, and what was measured of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as compute  # type: ignore[import-untyped, unused-ignore]

from ..._needs import needed
from ..._types import AnyArray
from .constants import SOMA_DATAFRAME_ORIGINAL_INDEX_NAME_JSON, SOMA_JOINID
from .core import AxisColumnNames, AxisQuery, BatchSize, ResultOrder
from .dataframe import DataFrame
from .indexer import IntIndexer
from .reads import TableReadIter
from .sparse import SparseNDArray, SparseNDArrayRead

if TYPE_CHECKING:
    import anndata
    import pandas

    from .experiment import Experiment

#: That an argument was not given, where ``None`` says something.
MISSING: Any = object()
#: Positions of matrices of scipy that are not larger have four bytes.
_INT32 = np.iinfo(np.int32).max


class AxisIndexer:
    """Where ids are among those of a query."""

    def __init__(self, query: ExperimentAxisQuery, index_factory: Callable[[Any], Any]) -> None:
        self._query, self._factory = query, index_factory
        self._made: dict[str, Any] = {}

    def _of(self, axis: str) -> Any:
        if axis not in self._made:
            self._made[axis] = self._factory(self._query._joinids(axis).to_numpy())
        return self._made[axis]

    def by_obs(self, coords: Any) -> AnyArray:
        """Where ids of observations are."""
        found: AnyArray = self._of("obs").get_indexer(_numpy(coords))
        return found

    def by_var(self, coords: Any) -> AnyArray:
        """Where ids of variables are."""
        found: AnyArray = self._of("var").get_indexer(_numpy(coords))
        return found


class ExperimentAxisQuery:
    """Some observations and some variables of a measurement."""

    def __init__(
        self,
        experiment: Experiment,
        measurement_name: str,
        *,
        obs_query: AxisQuery | None = None,
        var_query: AxisQuery | None = None,
        index_factory: Callable[[Any], Any] = IntIndexer,
    ) -> None:
        if measurement_name not in experiment.ms:
            raise ValueError("Measurement does not exist in the experiment")
        self.experiment, self.measurement_name = experiment, measurement_name
        self._queries = {"obs": obs_query or AxisQuery(), "var": var_query or AxisQuery()}
        self._known: dict[str, pa.Array] = {}
        self._indexer = AxisIndexer(self, index_factory)

    @property
    def _ms(self) -> Any:
        return self.experiment.ms[self.measurement_name]

    def _table(self, axis: str) -> DataFrame:
        found: DataFrame = self.experiment.obs if axis == "obs" else self._ms.var
        return found

    def _read(self, axis: str, column_names: Sequence[str] | None, **how: Any) -> TableReadIter:
        own = self._queries[axis]
        return self._table(axis).read(own.coords, column_names, value_filter=own.value_filter, **how)

    def _joinids(self, axis: str) -> pa.Array:
        if axis not in self._known:
            self._known[axis] = self._read(axis, [SOMA_JOINID]).concat().column(SOMA_JOINID).combine_chunks()
        return self._known[axis]

    def obs(
        self,
        *,
        column_names: Sequence[str] | None = None,
        batch_size: BatchSize | None = None,
        partitions: Any = None,
        result_order: Any = ResultOrder.AUTO,
        platform_config: Any = None,
    ) -> TableReadIter:
        """The observations as tables."""
        return self._read("obs", column_names, partitions=partitions, result_order=result_order, platform_config=platform_config)

    def var(
        self,
        *,
        column_names: Sequence[str] | None = None,
        batch_size: BatchSize | None = None,
        partitions: Any = None,
        result_order: Any = ResultOrder.AUTO,
        platform_config: Any = None,
    ) -> TableReadIter:
        """The variables as tables."""
        return self._read("var", column_names, partitions=partitions, result_order=result_order, platform_config=platform_config)

    def obs_joinids(self) -> pa.Array:
        """The ids of the observations."""
        return self._joinids("obs")

    def var_joinids(self) -> pa.Array:
        """The ids of the variables."""
        return self._joinids("var")

    @property
    def n_obs(self) -> int:
        """The number of observations."""
        return len(self.obs_joinids())

    @property
    def n_vars(self) -> int:
        """The number of variables."""
        return len(self.var_joinids())

    @property
    def indexer(self) -> AxisIndexer:
        """Where ids are among those of the query."""
        return self._indexer

    def X(
        self,
        layer_name: str,
        *,
        batch_size: BatchSize | None = None,
        partitions: Any = None,
        result_order: Any = ResultOrder.AUTO,
        platform_config: Any = None,
    ) -> SparseNDArrayRead:
        """The values of a layer."""
        try:
            layer = self._ms.X[layer_name]
        except KeyError as error:
            raise KeyError(f"{layer_name} is not present in X") from error
        if not isinstance(layer, SparseNDArray):
            raise TypeError("X layers may only be sparse arrays")
        ids = self.obs_joinids(), self.var_joinids()
        return layer.read(ids, partitions=partitions, result_order=result_order, platform_config=platform_config)

    def obsp(self, layer: str) -> SparseNDArrayRead:
        """The values of a matrix of observations and observations."""
        return self._layer("obsp", layer).read((self.obs_joinids(), self.obs_joinids()))

    def varp(self, layer: str) -> SparseNDArrayRead:
        """The values of a matrix of variables and variables."""
        return self._layer("varp", layer).read((self.var_joinids(), self.var_joinids()))

    def obsm(self, layer: str) -> SparseNDArrayRead:
        """The values of a matrix with a row for each observation."""
        return self._layer("obsm", layer).read((self.obs_joinids(), slice(None)))

    def varm(self, layer: str) -> SparseNDArrayRead:
        """The values of a matrix with a row for each variable."""
        return self._layer("varm", layer).read((self.var_joinids(), slice(None)))

    def obs_scene_ids(self) -> pa.Array:
        """The scenes that have some of the observations."""
        if "obs_spatial_presence" not in self.experiment:
            raise KeyError("No obs_spatial_presence dataframe in this experiment.")
        return self._scenes(self.experiment["obs_spatial_presence"], "obs_spatial_presence", self.obs_joinids())

    def var_scene_ids(self) -> pa.Array:
        """The scenes that have some of the variables."""
        if "var_spatial_presence" not in self._ms:
            raise KeyError(f"No var_spatial_presence dataframe in measurement '{self.measurement_name}'.")
        return self._scenes(self._ms["var_spatial_presence"], "var_spatial_presence", self.var_joinids())

    @staticmethod
    def _scenes(table: Any, name: str, ids: pa.Array) -> pa.Array:
        if not isinstance(table, DataFrame):
            raise TypeError(f"{name} must be a dataframe; got {type(table).__name__}.")
        found = table.read((ids, slice(None)), ["scene_id", "data"], result_order="column-major", value_filter="data != 0").concat()
        return compute.unique(found["scene_id"])

    def to_anndata(
        self,
        X_name: Any = MISSING,
        *,
        column_names: AxisColumnNames | None = None,
        X_layers: Sequence[str] = (),
        obsm_layers: Sequence[str] = (),
        obsp_layers: Sequence[str] = (),
        varm_layers: Sequence[str] = (),
        varp_layers: Sequence[str] = (),
        drop_levels: bool = False,
        dask: Any = None,
        obs_id_name: str | None = None,
        var_id_name: str | None = None,
    ) -> anndata.AnnData:
        """Everything that is named, as AnnData. Without a name, X is the layer ``data`` if there is one."""
        made = needed("anndata", "anndata", "Objects of AnnData")
        if dask is not None:
            raise NotImplementedError("dask=: X is read as a matrix of scipy; read blockwise for what is larger than memory")
        chosen, layers = self._chosen(X_name, X_layers)
        columns = column_names or {}
        obs = self._frame("obs", columns.get("obs"), obs_id_name)
        var = self._frame("var", columns.get("var"), var_id_name)
        if drop_levels:
            for frame in (obs, var):
                for name in frame:
                    if frame[name].dtype.name == "category":
                        frame[name] = frame[name].cat.remove_unused_categories()
        matrices = {name: self._csr(layer, "obs", "var") for name, layer in layers.items()}
        own = self._layer
        return made.AnnData(
            X=matrices.pop(chosen) if chosen is not None else None,
            obs=obs,
            var=var,
            obsm={name: self._dense(own("obsm", name), "obs") for name in obsm_layers} or None,
            obsp={name: self._csr(own("obsp", name), "obs", "obs") for name in obsp_layers} or None,
            varm={name: self._dense(own("varm", name), "var") for name in varm_layers} or None,
            varp={name: self._csr(own("varp", name), "var", "var") for name in varp_layers} or None,
            layers=matrices,
        )

    def to_spatialdata(self, *_: Any, **__: Any) -> Any:
        """Not there: objects of SpatialData are made of tables and images by themselves."""
        raise NotImplementedError("to_spatialdata: read the scenes, and make objects of SpatialData of them")

    def _chosen(self, X_name: Any, X_layers: Sequence[str]) -> tuple[str | None, dict[str, SparseNDArray]]:
        """The layer that becomes X, and all layers that are wanted."""
        if X_name is None and len(X_layers):
            raise ValueError("If X_name is None, X_layers must not be provided")
        known = self._ms.X if "X" in self._ms else {}
        chosen = ("data" if "data" in known else None) if X_name is MISSING else X_name
        layers: dict[str, SparseNDArray] = {}
        for name in [*([] if chosen is None else [chosen]), *X_layers]:
            if not isinstance(name, str) or not name:
                raise ValueError("X layer names must be specified as a string.")
            if name not in known:
                raise ValueError(f"Unknown X layer name: {name!r} not found in measurement")
            if not isinstance(known[name], SparseNDArray):
                raise NotImplementedError("Dense array unsupported")
            layers[name] = known[name]
        return chosen, layers

    def _frame(self, axis: str, column_names: Sequence[str] | None, id_name: str | None) -> pandas.DataFrame:
        """The rows of an axis, with the index that the table had before it was stored."""
        names = None if column_names is None else list(column_names)
        if names is not None and SOMA_JOINID not in names:
            names = [SOMA_JOINID, *names]
        table = self._read(axis, names).concat()
        self._known.setdefault(axis, table.column(SOMA_JOINID).combine_chunks())
        if column_names is not None and SOMA_JOINID not in column_names:
            table = table.drop([SOMA_JOINID])
        said = json.loads(self._table(axis).metadata.get(SOMA_DATAFRAME_ORIGINAL_INDEX_NAME_JSON, "null"))
        if said is not None and not isinstance(said, str):
            raise ValueError(f"{self._table(axis).uri}: invalid {SOMA_DATAFRAME_ORIGINAL_INDEX_NAME_JSON} metadata: {said}")
        return with_index(table.to_pandas(), id_name or said, f"{axis}_id")

    def _layer(self, collection: str, name: str) -> SparseNDArray:
        if collection not in self._ms:
            raise ValueError(f"Measurement does not contain {collection!r} data.")
        own = self._ms[collection]
        if own.soma_type != "SOMACollection":
            raise TypeError(f"Unexpected SOMA type {type(own).__name__} for {collection!r}.")
        if name not in own:
            raise ValueError(f"layer {name!r} is not available in {collection!r}.")
        if not isinstance(own[name], SparseNDArray):
            raise TypeError(f"Unexpected SOMA type {type(own[name]).__name__} stored in {collection!r} layer {name!r}.")
        found: SparseNDArray = own[name]
        return found

    def _place(self, axis: str, coords: Any) -> AnyArray:
        return self._indexer.by_obs(coords) if axis == "obs" else self._indexer.by_var(coords)

    def _csr(self, layer: SparseNDArray, rows: str, columns: str) -> Any:
        """A matrix of the ids of two axes, in their order."""
        sparse = needed("scipy.sparse", "scipy", "Sparse matrices")
        ids = [self._joinids(axis) for axis in (rows, columns)]
        kind = np.int32 if max(len(one) for one in ids) < _INT32 else np.int64
        parts: list[list[AnyArray]] = [[], [], []]
        for table in layer.read(ids).tables():
            for at, axis in enumerate((rows, columns)):
                parts[at].append(self._place(axis, table.column(f"soma_dim_{at}")).astype(kind))
            parts[2].append(table.column("soma_data").to_numpy())
        row, column, data = (np.concatenate(one) for one in parts)
        matrix = sparse.csr_matrix((data, (row, column)), shape=(len(ids[0]), len(ids[1])))
        matrix.sort_indices()
        return matrix

    def _dense(self, layer: SparseNDArray, axis: str) -> AnyArray:
        """A matrix with a row for each id of an axis, in their order."""
        ids = self._joinids(axis)
        table = layer.read((ids, slice(None))).tables().concat()
        columns = table.column("soma_dim_1").to_numpy()
        count = layer.shape[1] if layer.tiledbsoma_has_upgraded_shape else int(columns.max(initial=-1)) + 1
        made = np.zeros((len(ids), count), layer.type.to_pandas_dtype())
        made[self._place(axis, table.column("soma_dim_0")), columns] = table.column("soma_data").to_numpy()
        return made

    def close(self) -> None:
        """Does nothing: what is read is read at once."""

    def __enter__(self) -> ExperimentAxisQuery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def with_index(frame: pandas.DataFrame, named: str | None, fallback: str | None) -> pandas.DataFrame:
    """A table with one of its columns as the index: one that is named keeps its name, that which stands for no name loses it."""
    if named is not None:
        if named not in frame:
            raise ValueError(f"Requested ID column name {named} not found in input: {frame.keys()}")
        return frame.set_index(named)
    if fallback is not None and fallback in frame:
        frame = frame.set_index(fallback)
        frame.index.name = None
    return frame


def X_as_series(table: pa.Table) -> pandas.Series:
    """Coordinates and values of a matrix as a series of pandas whose index is the coordinates."""
    pd = needed("pandas", "pandas", "Series")
    index = pd.MultiIndex.from_arrays([table[name].to_numpy() for name in ("soma_dim_0", "soma_dim_1")], names=("soma_dim_0", "soma_dim_1"))
    series: pandas.Series[Any] = pd.Series(table["soma_data"].to_numpy(), index, name="soma_data")
    return series


def _numpy(coords: Any) -> AnyArray:
    return coords if isinstance(coords, np.ndarray) else coords.to_numpy()


__all__ = ["AxisIndexer", "ExperimentAxisQuery"]
