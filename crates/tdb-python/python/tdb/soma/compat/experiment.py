"""Experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .collection import CollectionBase, item
from .constants import SOMA_JOINID
from .core import AxisQuery
from .dataframe import DataFrame
from .dense import DenseNDArray
from .exceptions import SOMAError
from .indexer import IntIndexer
from .platform_config import TileDBDeleteOptions
from .query import ExperimentAxisQuery
from .soma_object import SOMAObject
from .sparse import SparseNDArray

#: Objects of a delete, and their columns of ids.
_Part = tuple[Any, str, tuple[str, ...]]


class Experiment(CollectionBase):
    """The observations, and what was measured of them."""

    soma_type = "SOMAExperiment"
    _types_of_members = {
        "obs": ("SOMADataFrame",),
        "ms": ("SOMACollection",),
        "spatial": ("SOMACollection",),
        "obs_spatial_presence": ("SOMADataFrame",),
    }

    obs = item()
    ms = item()
    spatial = item()
    obs_spatial_presence = item()

    def axis_query(
        self, measurement_name: str, *, obs_query: AxisQuery | None = None, var_query: AxisQuery | None = None
    ) -> ExperimentAxisQuery:
        """Some observations and some variables of a measurement."""
        return ExperimentAxisQuery(
            self, measurement_name, obs_query=obs_query, var_query=var_query, index_factory=partial(IntIndexer, context=self.context)
        )

    def obs_axis_delete(self, coords: Sequence[Any] = (), *, value_filter: str | None = None, platform_config: Any = None) -> None:
        """Deletes observations from ``obs``, and from the matrices of all measurements."""
        parts = [part for part in _of_observations(self)]
        _check_options(platform_config)
        _delete(parts, _ids_of(self.obs, coords, value_filter), platform_config)

    def var_axis_delete(
        self, measurement_name: str, coords: Sequence[Any] = (), *, value_filter: str | None = None, platform_config: Any = None
    ) -> None:
        """Deletes variables from ``var`` of a measurement, and from its matrices."""
        if measurement_name not in self.ms:
            raise ValueError(f"Measurement name {measurement_name} does not exist in the experiment")
        parts = [part for part in _of_variables(self, measurement_name)]
        _check_options(platform_config)
        _delete(parts, _ids_of(self.ms[measurement_name].var, coords, value_filter), platform_config)


def _check_options(platform_config: Any) -> None:
    if platform_config is not None and not isinstance(platform_config, TileDBDeleteOptions):
        raise TypeError(f"Invalid PlatformConfig with type {type(platform_config)}. Must have type TileDBDeleteOptions.")


def _ids_of(table: DataFrame, coords: Sequence[Any], value_filter: str | None) -> Any:
    """The ids of the rows of a table that is open for deleting."""
    if not len(coords) and value_filter is None:
        raise ValueError("no coordinates and no value_filter: nothing says what is deleted")
    with DataFrame.open(table.uri, context=table.context) as readable:
        found = readable.read(coords, [SOMA_JOINID], value_filter=value_filter).concat()
    return found.column(SOMA_JOINID).to_numpy()


def _of_observations(experiment: Experiment) -> Iterator[_Part]:
    if "obs_spatial_presence" in experiment:
        yield from _part(experiment.obs_spatial_presence, "obs_spatial_presence", SOMA_JOINID)
    for name, own in experiment.ms.items():
        for collection, dims in (("X", ("soma_dim_0",)), ("obsm", ("soma_dim_0",)), ("obsp", ("soma_dim_0", "soma_dim_1"))):
            yield from _parts(own, f"ms[{name}]", collection, dims)
    if "spatial" in experiment:
        for name, scene in experiment.spatial.items():
            yield from _parts(scene, f"spatial[{name}]", "obsl", (SOMA_JOINID,))
    yield from _part(experiment.obs, "obs", SOMA_JOINID)


def _of_variables(experiment: Experiment, measurement: str) -> Iterator[_Part]:
    own, name = experiment.ms[measurement], f"ms[{measurement}]"
    if "var_spatial_presence" in own:
        yield from _part(own.var_spatial_presence, f"{name}.var_spatial_presence", SOMA_JOINID)
    for collection, dims in (("X", ("soma_dim_1",)), ("varm", ("soma_dim_0",)), ("varp", ("soma_dim_0", "soma_dim_1"))):
        yield from _parts(own, name, collection, dims)
    if "spatial" in experiment:
        for scene_name, scene in experiment.spatial.items():
            if "varl" in scene and measurement in scene["varl"]:
                yield from _parts(scene["varl"], f"spatial[{scene_name}].varl", measurement, (SOMA_JOINID,))
    yield from _part(own.var, f"{name}.var", SOMA_JOINID)


def _parts(owner: Any, where: str, collection: str, columns: tuple[str, ...]) -> Iterator[_Part]:
    if collection in owner:
        for key, one in owner[collection].items():
            yield from _part(one, f"{where}.{collection}[{key}]", *columns)


def _part(one: SOMAObject, name: str, *columns: str) -> Iterator[_Part]:
    """An array of which cells are deleted. Others that someone has put there are left alone."""
    if isinstance(one, DenseNDArray):
        raise SOMAError(f"Delete operation not permitted on dense array: {name}")
    if one.soma_type == "SOMAGeometryDataFrame":
        raise NotImplementedError(f"Delete operation not permitted on GeometryDataFrame: {name}")
    if isinstance(one, (DataFrame, SparseNDArray)) and all(column in one.schema.names for column in columns):
        yield one, name, columns


def _delete(parts: list[_Part], ids: Any, platform_config: Any) -> None:
    for one, _, columns in parts:
        for column in columns:
            axis = one._dimensions.index(column) if column in one._dimensions else None
            if axis is None:
                raise SOMAError(f"{one.uri}: {column} is no index column, so rows cannot be deleted by it")
            low, high = one._domain()[axis]
            inside = ids[(ids >= low) & (ids <= high)]
            if len(inside):
                coords: list[Any] = [slice(None)] * axis + [np.asarray(inside)]
                one.delete_cells(tuple(coords), platform_config=platform_config)


__all__ = ["Experiment"]
