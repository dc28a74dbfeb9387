"""Registration: which ids the rows of several AnnData get in an experiment, and which categories it needs for them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ...._needs import needed
from ...._types import AnyArray
from ..constants import SOMA_JOINID
from ..context import SOMATileDBContext, context_of
from ..dataframe import DataFrame
from ..exceptions import SOMAError
from ..experiment import Experiment
from .shaping import resize_experiment

if TYPE_CHECKING:
    import anndata
    import pandas

_RAW = "raw"


@dataclass(frozen=True, kw_only=True)
class AxisIDMapping:
    """The ids of the rows of one AnnData."""

    data: AnyArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", np.asarray(self.data, np.int64))

    def get_shape(self) -> int:
        """How many ids an axis has room for that has these."""
        return int(self.data.max()) + 1 if len(self.data) else 0

    def is_identity(self) -> bool:
        """Whether the ids count the rows."""
        return bool((self.data == np.arange(len(self.data))).all())

    @classmethod
    def identity(cls, n: int) -> AxisIDMapping:
        """Ids that count so many rows."""
        return cls(data=np.arange(n))


@dataclass(frozen=True, kw_only=True)
class AxisAmbientLabelMapping:
    """The ids of all rows of an axis by their labels, and the categories of its columns."""

    field_name: str
    joinid_map: pandas.DataFrame
    enum_values: dict[str, pandas.CategoricalDtype]
    allow_duplicate_ids: bool
    shape: int = field(init=False)

    def __post_init__(self) -> None:
        own = self.joinid_map
        object.__setattr__(self, "shape", int(own[SOMA_JOINID].max()) + 1 if len(own) else 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AxisAmbientLabelMapping):
            return NotImplemented
        same = self.field_name == other.field_name and self.enum_values == other.enum_values
        return same and bool(self.joinid_map.equals(other.joinid_map))

    def id_mapping_from_values(self, input_ids: Any) -> AxisIDMapping:
        """The ids of rows with these labels."""
        found = self.joinid_map.reindex(labels=list(input_ids), fill_value=-1)[SOMA_JOINID].to_numpy()
        if (found == -1).any():
            raise ValueError(f"The input_ids for {self.field_name} [{list(input_ids)[:10]}...] were not found in registration data.")
        return AxisIDMapping(data=found)

    def id_mapping_from_dataframe(self, df: pandas.DataFrame) -> AxisIDMapping:
        """The ids of the rows of a table."""
        return self.id_mapping_from_values(labels_of(df, self.field_name))


@dataclass(frozen=True, kw_only=True)
class ExperimentIDMapping:
    """The ids of the rows of one AnnData on all its axes."""

    obs_axis: AxisIDMapping
    var_axes: dict[str, AxisIDMapping]


@dataclass(frozen=True, kw_only=True)
class ExperimentAmbientLabelMapping:
    """The ids of all rows of all axes of an experiment, with those of the AnnData that are to be written to it."""

    obs_axis: AxisAmbientLabelMapping
    var_axes: dict[str, AxisAmbientLabelMapping]
    prepared: bool = False

    def get_obs_shape(self) -> int:
        """How many observations the experiment has room for then."""
        return self.obs_axis.shape

    def get_var_shapes(self) -> dict[str, int]:
        """How many variables the measurements have room for then."""
        return {name: axis.shape for name, axis in self.var_axes.items()}

    def id_mappings_for_anndata(self, adata: anndata.AnnData, *, measurement_name: str = "RNA") -> ExperimentIDMapping:
        """The ids of the rows of one AnnData."""
        axes = {measurement_name: self.var_axes[measurement_name].id_mapping_from_dataframe(adata.var)}
        if adata.raw is not None:
            axes[_RAW] = self.var_axes[_RAW].id_mapping_from_dataframe(adata.raw.var)
        return ExperimentIDMapping(obs_axis=self.obs_axis.id_mapping_from_dataframe(adata.obs), var_axes=axes)

    def subset_for_anndata(self, adata: anndata.AnnData) -> ExperimentAmbientLabelMapping:
        """What of this is needed to write one AnnData."""
        own = self.obs_axis
        return replace(self, obs_axis=replace(own, joinid_map=own.joinid_map.loc[labels_of(adata.obs, own.field_name)]))

    def subset_for_h5ad(self, h5ad_path: str) -> ExperimentAmbientLabelMapping:
        """What of this is needed to write one file."""
        made = needed("anndata", "anndata", "Files of AnnData")
        return self.subset_for_anndata(made.read_h5ad(h5ad_path, backed="r"))

    def prepare_experiment(self, experiment_uri: str, context: SOMATileDBContext | None = None) -> None:
        """Lets an experiment grow, and gives its columns the categories, so that all that was registered can be written."""
        context = context_of(context)
        help = "Did you create the Experiment using `from_anndata` or `from_h5ad`?"
        with Experiment.open(experiment_uri, context=context) as experiment:
            if "obs" not in experiment:
                raise ValueError(f"SOMA Experiment is missing required 'obs' DataFrame. {help}")
            for name, axis in self.var_axes.items():
                if len(axis.joinid_map) and (name not in experiment.ms or "var" not in experiment.ms[name]):
                    raise ValueError(f"SOMA Experiment is missing required Measurement '{name}', or its `var`. {help}")
            can_grow, _ = experiment.obs.tiledbsoma_resize_soma_joinid_shape(self.get_obs_shape(), check_only=True)
            sizes = {name: self.get_var_shapes().get(name, 0) for name in experiment.ms}
            sizes = {name: size or int(experiment.ms[name].var.domain[0][1]) + 1 for name, size in sizes.items()}
        if can_grow:
            resize_experiment(experiment_uri, nobs=self.get_obs_shape(), nvars=sizes, context=context)
        else:
            warnings.warn(
                "Experiment does not support resizing. Please consider upgrading the dataset using"
                " 'tiledbsoma.io.upgrade_experiment_shapes'.",
                stacklevel=2,
            )
        with Experiment.open(experiment_uri, "w", context=context) as experiment:
            _extend(experiment.obs, self.obs_axis.enum_values)
            for name, axis in self.var_axes.items():
                if axis.enum_values:
                    _extend(experiment.ms[name].var, axis.enum_values)
        object.__setattr__(self, "prepared", True)


def _extend(table: DataFrame, wanted: Mapping[str, pandas.CategoricalDtype]) -> None:
    """Gives enumerated columns the categories that they do not have."""
    values = {
        name: pa.array(dtype.categories)
        for name, dtype in wanted.items()
        if name in table.schema.names and pa.types.is_dictionary(table.schema.field(name).type)
    }
    own = {name: one.cast(table.schema.field(name).type.value_type) for name, one in values.items()}
    if own:
        table.extend_enumeration_values(own, deduplicate=True)


@dataclass(frozen=True)
class _Axis:
    """The labels and categories of an axis of one AnnData or of several."""

    labels: Any
    categories: dict[str, pandas.CategoricalDtype]

    @staticmethod
    def of(frame: pandas.DataFrame, name: str) -> _Axis:
        categories: dict[str, Any] = {str(key): one.dtype for key, one in frame.items() if one.dtype == "category"}
        return _Axis(labels_of(frame, name), categories)


def register_anndatas(
    experiment_uri: str | None,
    adatas: Iterable[anndata.AnnData] | anndata.AnnData,
    *,
    measurement_name: str,
    obs_field_name: str,
    var_field_name: str,
    append_obsm_varm: bool = False,
    context: SOMATileDBContext | None = None,
    allow_duplicate_obs_ids: bool = False,
) -> ExperimentAmbientLabelMapping:
    """Gives the rows of AnnData ids in an experiment, which may not be there yet."""
    given = [adatas] if hasattr(adatas, "obs") else list(adatas)
    openers = [lambda one=one: one for one in given]
    names = (measurement_name, obs_field_name, var_field_name)
    return _registered(experiment_uri, openers, names, append_obsm_varm, context, allow_duplicate_obs_ids)


def register_h5ads(
    experiment_uri: str | None,
    h5ad_file_names: Sequence[str] | str,
    *,
    measurement_name: str,
    obs_field_name: str,
    var_field_name: str,
    append_obsm_varm: bool = False,
    context: SOMATileDBContext | None = None,
    use_multiprocessing: bool = False,
    allow_duplicate_obs_ids: bool = False,
) -> ExperimentAmbientLabelMapping:
    """Gives the rows of h5ad files ids in an experiment, which may not be there yet. Only tables are read, so files are read one
    after the other, whatever ``use_multiprocessing`` says."""
    paths = [h5ad_file_names] if isinstance(h5ad_file_names, (str, os.PathLike)) else list(h5ad_file_names)
    made = needed("anndata", "anndata", "Files of AnnData")
    openers = [lambda path=path: made.read_h5ad(path, backed="r") for path in paths]
    names = (measurement_name, obs_field_name, var_field_name)
    return _registered(experiment_uri, openers, names, append_obsm_varm, context, allow_duplicate_obs_ids)


def _registered(
    experiment_uri: str | None,
    openers: Sequence[Callable[[], anndata.AnnData]],
    names: tuple[str, str, str],
    append_obsm_varm: bool,
    context: SOMATileDBContext | None,
    allow_duplicate_obs_ids: bool,
) -> ExperimentAmbientLabelMapping:
    measurement, obs_name, var_name = names
    context = context_of(context)
    known_obs, known_vars, obs_categories, var_categories = _known(experiment_uri, measurement, obs_name, var_name, context)
    obs, var, raw = [], [], []
    for opened in openers:
        one = opened()
        _check(one, append_obsm_varm)
        obs.append(_Axis.of(one.obs, obs_name))
        var.append(_Axis.of(one.var, var_name))
        if one.raw is not None:
            raw.append(_Axis.of(one.raw.var, var_name))
    maps = {measurement: _ids(known_vars.get(measurement), var, True)}
    categories = {**var_categories, measurement: _merged([var_categories.get(measurement, {}), *(one.categories for one in var)])}
    if raw:
        maps[_RAW] = _ids(known_vars.get(_RAW), raw, True)
        categories[_RAW] = _merged([var_categories.get(_RAW, {}), *(one.categories for one in raw)])
    elif experiment_uri is None:
        maps[_RAW] = _ids(None, [], True)
    maps = {**known_vars, **maps}
    return ExperimentAmbientLabelMapping(
        obs_axis=AxisAmbientLabelMapping(
            field_name=obs_name,
            joinid_map=_ids(known_obs, obs, allow_duplicate_obs_ids),
            enum_values=_merged([obs_categories, *(one.categories for one in obs)]),
            allow_duplicate_ids=allow_duplicate_obs_ids,
        ),
        var_axes={
            name: AxisAmbientLabelMapping(
                field_name=var_name, joinid_map=one, enum_values=categories.get(name, {}), allow_duplicate_ids=True
            )
            for name, one in maps.items()
        },
    )


def _known(
    uri: str | None, measurement: str, obs_name: str, var_name: str, context: SOMATileDBContext
) -> tuple[Any, dict[str, Any], dict[str, Any], dict[str, dict[str, Any]]]:
    """The ids and categories of an experiment."""
    if uri is None:
        return None, {}, {}, {}
    with Experiment.open(uri, context=context) as experiment:
        maps, categories = {}, {}
        for name, own in experiment.ms.items():
            if "var" in own and var_name in own.var.keys():
                maps[name], categories[name] = _ids_of(own.var, var_name), _categories_of(own.var)
        return _ids_of(experiment.obs, obs_name), maps, _categories_of(experiment.obs), categories


def _ids_of(table: DataFrame, name: str) -> Any:
    return table.read(column_names=[SOMA_JOINID, name]).concat().to_pandas().set_index(name)


def _categories_of(table: DataFrame) -> dict[str, Any]:
    pandas = needed("pandas", "pandas", "Categories")
    names = [one.name for one in table.schema if pa.types.is_dictionary(one.type)]
    return {
        name: pandas.CategoricalDtype(values.to_pandas(), ordered=table.schema.field(name).type.ordered)
        for name, values in table.get_enumeration_values(names).items()
    }


def _check(one: anndata.AnnData, append_obsm_varm: bool) -> None:
    """Refuses what cannot be written together with others."""
    frames = {"obs": one.obs, "var": one.var, **({"raw.var": one.raw.var} if one.raw is not None else {})}
    for name, frame in frames.items():
        if frame.index.empty:
            raise ValueError(f"Unable to ingest AnnData with empty {name} dataframe.")
        if not frame.index.is_unique:
            raise ValueError(f"Non-unique registration values have been provided in {name} dataframe.")
    if not append_obsm_varm and (len(one.obsm) or len(one.varm)):
        raise ValueError(
            "The append-mode ingest of obsm and varm is only supported via explicit opt-in. Please drop them from the inputs, or retry"
            " with append_obsm_varm=True."
        )
    if len(one.obsp) or len(one.varp):
        raise ValueError("The append-mode ingest of obsp and varp is not supported. Please retry without them.")
    if one.uns:
        warnings.warn(
            "The append-mode ingest of 'uns' is typically an error due to uns key collisions across multiple AnnData. Drop 'uns' from"
            " AnnData to remove this warning, or if you intend for 'uns' to merge, ensure each AnnData uses unique keys.",
            stacklevel=3,
        )


def _ids(known: Any, axes: Sequence[_Axis], duplicates: bool) -> Any:
    """Ids by labels: those that are known, and then the others in the order in which they come."""
    pandas = needed("pandas", "pandas", "Registration")
    labels = axes[0].labels.append([one.labels for one in axes[1:]]) if axes else pandas.Index([])
    if any(one.labels.dtype != axes[0].labels.dtype for one in axes):
        raise SOMAError("All AnnData must have a common dtype for their index.")
    if not duplicates and not labels.is_unique:
        raise _twice(labels[labels.duplicated()])
    labels = labels.drop_duplicates()
    first, parts = 0, []
    if known is not None and len(known):
        there = labels.isin(known.index)
        if not duplicates and there.any():
            raise _twice(labels[there])
        labels, first = labels[~there], int(known[SOMA_JOINID].max()) + 1
        parts.append(known)
    ids = np.arange(first, first + len(labels), dtype=np.int64)
    parts.append(pandas.DataFrame({SOMA_JOINID: ids}, index=labels))
    return pandas.concat(parts)


def _twice(labels: Any) -> SOMAError:
    return SOMAError(
        f"obs ids are there twice, such as {list(labels[:5])}: set allow_duplicate_obs_ids=True if a measurement is added to the same cells"
    )


def _merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The categories of columns, with those of all parts."""
    pandas = needed("pandas", "pandas", "Categories")
    found: dict[str, Any] = {}
    for part in parts:
        for name, dtype in part.items():
            known = found.setdefault(name, dtype)
            if known is dtype:
                continue
            if known.ordered != dtype.ordered:
                raise SOMAError(f"Unable to register AnnData -- for column `{name}`, all AnnData dtype must have the same categorical ordering.")
            if known.ordered and known != dtype:
                raise SOMAError(f"Unable to register AnnData -- for column `{name}`, all AnnData must have the same dtype.")
            if not known.ordered:
                found[name] = pandas.CategoricalDtype(known.categories.append(dtype.categories).drop_duplicates(), ordered=False)
    return found


def labels_of(frame: pandas.DataFrame, name: str) -> Any:
    """The labels of the rows of a table: a column of this name, or the index."""
    pandas = needed("pandas", "pandas", "Registration")
    if name in frame:
        return pandas.Index(frame[name])
    if frame.index.name in (name, None, "index"):
        return frame.index.rename(name)
    raise ValueError(f"could not find field name {name} in dataframe: its index is {frame.index.name!r}")


__all__ = ["ExperimentAmbientLabelMapping", "register_anndatas", "register_h5ads"]
