"""Tables, matrices and ``uns`` of experiments that are open for writing, replaced by others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ...._errors import Error
from ...._tdb import memory_bytes
from ..._build import MEMORY, Build
from ..._change import _evolve
from ..._frames import table_of
from ..._matrices import matrix_of, write_sparse
from ..._options import CreateOptions
from ..._uns import _written
from ..collection import Collection
from ..constants import SOMA_JOINID
from ..context import SOMATileDBContext
from ..dataframe import DataFrame
from ..dense import DenseNDArray
from ..exceptions import translated
from ..experiment import Experiment
from ..factory import open as open_any
from ..logging import logger
from ..ndarray import NDArray
from .conversions import named

if TYPE_CHECKING:
    import pandas

#: What becomes of a conflict: an error, or a message of this level.
STRICT = (True, "raise", "warn", "info", "debug", "dry_run")


def update_obs(
    exp: Experiment,
    new_data: pandas.DataFrame,
    *,
    context: SOMATileDBContext | None = None,
    platform_config: Any = None,
    default_index_name: str = "obs_id",
) -> None:
    """Replaces the observations, row by row in the order of their ids: columns come, go and change."""
    _replace(exp.obs, new_data, "update_obs", default_index_name)


def update_var(
    exp: Experiment,
    new_data: pandas.DataFrame,
    measurement_name: str,
    *,
    context: SOMATileDBContext | None = None,
    platform_config: Any = None,
    default_index_name: str = "var_id",
) -> None:
    """Replaces the variables of a measurement, row by row in the order of their ids: columns come, go and change."""
    if measurement_name not in exp.ms:
        raise ValueError(f"cannot find measurement name {measurement_name} within experiment at {exp.uri}")
    _replace(exp.ms[measurement_name].var, new_data, "update_var", default_index_name)


def _replace(table: DataFrame, frame: pandas.DataFrame, caller: str, index: str) -> None:
    table.verify_open_for_writing()
    with DataFrame.open(table.uri, context=table.context) as readable:
        ids = np.sort(readable.read(column_names=[SOMA_JOINID]).concat()[SOMA_JOINID].to_numpy())
    if len(ids) != len(frame):
        raise ValueError(f"{caller}: old and new data must have the same row count; got {len(ids)} != {len(frame)}")
    if (ids != np.arange(len(ids))).any():
        raise ValueError(f"{caller}: old data soma_joinid must be [0,{len(ids)}), but others are there")
    with translated(table.uri):
        columns = table_of(named(frame, index), index, caller).columns
    known = [name for name in table.schema.names if name != SOMA_JOINID]
    wrong = [
        f"{name} type {table.schema.field(name).type} != {columns.schema.field(name).type}"
        for name in columns.column_names
        if name in known and _kind(table.schema.field(name).type) != _kind(columns.schema.field(name).type)
    ]
    if wrong:
        raise ValueError(f"unsupported type updates: {', '.join(wrong)}")
    drop = [name for name in known if name not in columns.column_names]
    fresh = columns.select([name for name in columns.column_names if name not in known])
    with translated(table.uri):
        _evolve(table._opened_now(), drop, fresh, {}, table.tiledb_timestamp_ms)
    table._array, table._known_schema = table._opened_now(), None
    table.write(columns.add_column(0, SOMA_JOINID, [pa.array(ids)]).combine_chunks())


def _kind(one: Any) -> str:
    """What a column keeps when it is updated: its type, of categories only that of their numbers."""
    return str(getattr(one, "index_type", one)).removeprefix("large_")


def update_matrix(soma_ndarray: NDArray, new_data: Any, *, context: SOMATileDBContext | None = None, platform_config: Any = None) -> None:
    """Writes values to a matrix that is open for writing. Those that it has at other places stay."""
    if isinstance(soma_ndarray, DenseNDArray):
        dense = new_data.toarray() if hasattr(new_data, "toarray") else np.asarray(new_data)
        soma_ndarray.write(tuple(slice(0, size - 1) for size in dense.shape), pa.Tensor.from_numpy(np.ascontiguousarray(dense)))
        return
    soma_ndarray.verify_open_for_writing()
    with translated(soma_ndarray.uri):
        matrix = matrix_of(new_data, "the matrix")
        write_sparse(soma_ndarray._array, matrix, None, None, memory_bytes(MEMORY), soma_ndarray.tiledb_timestamp_ms)


def update_uns_by_uri(
    uri: str,
    uns: Mapping[str, Any],
    measurement_name: str,
    *,
    use_relative_uri: bool | None = None,
    context: SOMATileDBContext | None = None,
    additional_metadata: Mapping[str, Any] | None = None,
    platform_config: Any = None,
    default_index_name: str | None = None,
    strict: Any = True,
) -> None:
    """Adds to ``uns`` of a measurement, and changes its single values. Tables and arrays that are there are not replaced."""
    with Experiment.open(uri, "w", context=context) as experiment:
        update_uns(experiment, uns, measurement_name, strict=strict)


def update_uns(exp: Experiment, uns: Mapping[str, Any], measurement_name: str, *, strict: Any = True, **_: Any) -> None:
    """Does what :func:`update_uns_by_uri` does in an experiment that is open for writing."""
    if strict not in STRICT:
        raise ValueError(f"strict={strict!r}: one of {STRICT} is expected")
    if measurement_name not in exp.ms:
        raise ValueError(f"cannot find measurement name {measurement_name} within experiment at {exp.uri}")
    own = exp.ms[measurement_name]["uns"]
    if strict is True:
        # Nothing is written if anything cannot be.
        _update(own, uns, "dry_run")
        strict = "raise"
    _update(own, uns, strict)


def _update(own: Collection, uns: Mapping[str, Any], strict: str) -> None:
    for key, value in uns.items():
        known = own[key] if key in own else own.metadata.get(key)
        if isinstance(value, (np.datetime64, np.timedelta64)):
            raise ValueError(f"unsupported uns type {type(value)}")
        if isinstance(value, (str, int, float, np.generic)):
            if key in own:
                raise ValueError(f"can't overwrite {type(known).__name__} at {own.uri}/{key} with scalar {value}")
            if strict != "dry_run":
                own.metadata[key] = value.item() if isinstance(value, np.generic) else value
        elif isinstance(value, Mapping):
            if known is not None and not isinstance(known, Collection):
                raise ValueError(f"{own.uri}/{key}: expected Collection, found {type(known).__name__}")
            _update(own[key], value, strict)
        elif isinstance(value, np.ndarray) or hasattr(value, "iloc"):
            if known is not None:
                _conflict(f"{own.uri}[{key}]: already exists (type {type(known).__name__}), refusing to overwrite with {value}", strict)
            elif strict != "dry_run":
                _add(own, key, value)
        else:
            raise ValueError(f"unsupported uns type {type(value)}")


def _conflict(message: str, strict: str) -> None:
    if strict in ("raise", "dry_run"):
        raise ValueError(message)
    levels = {"warn": logger.warning, "info": logger.info, "debug": logger.debug}
    levels[strict](f"Skipping {message}")


def _add(own: Collection, key: str, value: Any) -> None:
    opening = own.context._opening()
    build = Build(own.uri, CreateOptions.of(None), memory_bytes(MEMORY), own.tiledb_timestamp_ms, opening["key"], opening["storage"])

    def create(where: str) -> Any:
        try:
            written = _written(build, build.quoted(key), value)
        except Error as error:
            raise ValueError(f"{own.uri}[{key}]: {error}") from error
        if not written:
            raise ValueError(f"{own.uri}[{key}]: {type(value).__name__} of this shape and type is not kept")
        return open_any(where, "w", **own._child_time)

    own._add_new(key, DataFrame, None, create)


__all__ = ["update_matrix", "update_obs", "update_uns_by_uri", "update_var"]
