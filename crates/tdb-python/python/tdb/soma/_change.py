"""Experiments that change: shapes grow, cells are deleted, columns updated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tdb
from .._array import Array, Key, Location, Storage
from .._condition import Condition, FieldExpression, field
from .._errors import QueryError
from .._schema import Attribute, Enumeration
from .._types import AnyArray, Time, number_dtype
from ._arrays import DataFrame, DenseMatrix, SparseMatrix
from ._axes import JOINID, Wanted
from ._build import MEMORY
from ._collections import Experiment, Measurement
from ._collections import open as _open
from ._fitting import fitted, id_column, renamed
from ._frames import categories_of, table_of, write_table
from ._options import ZSTD
from ._schemas import datatype_of
from ._source import expect_unique

if TYPE_CHECKING:
    import pandas
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

#: The most runs of ids that a delete has as ranges; of more, the ids are listed.
_MAX_RUNS = 64
#: The groups of matrices, and what their rows and columns are.
_MATRICES = (("X", "obs", "var"), ("obsm", "obs", ""), ("varm", "var", ""), ("obsp", "obs", "obs"), ("varp", "var", "var"))


def measurement_of(experiment: Experiment, name: str) -> Measurement:
    if not isinstance(experiment, Experiment):
        raise QueryError(f"{getattr(experiment, 'uri', experiment)} is no experiment")
    ms = experiment.ms
    if name not in ms:
        raise QueryError(f"{experiment.uri} has no measurement {name!r} (it has {', '.join(ms)})")
    return ms[name]


def grow(array: Array, sizes: Mapping[str, int], extended: Mapping[str, Sequence[Any]], at: Time | None) -> None:
    """Grows the current domain, and extends enumerations, by one new schema if any is needed."""
    schema = array.schema
    expand = {}
    if schema.current_domain is not None:
        for own, (low, high) in zip(schema.dimensions, schema.current_domain):
            if own.name in sizes and sizes[own.name] - 1 > high:
                expand[own.name] = (low, sizes[own.name] - 1)
            else:
                expand[own.name] = (low, high)
        if all(tuple(expand[own.name]) == tuple(ends) for own, ends in zip(schema.dimensions, schema.current_domain)):
            expand = {}
    if expand or extended:
        array.evolve(expand=expand or None, extend_enumerations=dict(extended) or None, at=at)


def resize(
    uri: Location,
    obs: int | None = None,
    var: int | Mapping[str, int] | None = None,
    *,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Experiment:
    """Makes room for so many cells and genes in all tables and matrices, and opens the experiment. ``var`` is the
    number of genes of all measurements, or of each by its name. Shapes never shrink: what is smaller than there is
    now is refused."""
    how = {"key": key, "storage": storage, "threads": threads}
    experiment: Experiment = _open(uri, **how)  # type: ignore[arg-type]
    if not isinstance(experiment, Experiment):
        raise QueryError(f"{experiment.uri} is no experiment")
    ms = experiment.ms
    genes = dict(var) if isinstance(var, Mapping) else {name: var for name in ms if var is not None}
    for name in genes:
        measurement_of(experiment, name)
    tables = [(experiment.obs.array, {} if obs is None else {JOINID: obs})]
    tables += [(ms[name].var.array, {JOINID: size}) for name, size in genes.items() if size is not None]
    todo = [*tables, *shapes(experiment, obs, genes)]
    for array, sizes in todo:
        current = array.schema.current_domain
        for own, ends in zip(array.schema.dimensions, current or ()):
            if own.name in sizes and sizes[own.name] - 1 < ends[1]:
                raise QueryError(f"{array.uri}: {own.name} has room for {ends[1] + 1}, and {sizes[own.name]} is less")
        if sizes and current is None:
            raise QueryError(f"{array.uri} has no current domain: tiledbsoma before 1.15 made it, and its shape cannot grow")
    for array, sizes in todo:
        grow(array, sizes, {}, at)
    found: Experiment = _open(uri, **how)  # type: ignore[arg-type]
    return found


def shapes(
    experiment: Experiment, obs: int | None, genes: Mapping[str, int | None]
) -> Iterator[tuple[Array, dict[str, int]]]:
    """All matrices, and what their axes have room for when there are so many cells and genes."""
    for name in experiment.ms:
        measurement = experiment.ms[name]
        sizes = {"obs": obs, "var": genes.get(name), "": None}
        for group, rows, columns in _MATRICES:
            for member in measurement[group] if group in measurement else ():
                matrix = measurement[group][member]
                if isinstance(matrix, (SparseMatrix, DenseMatrix)):
                    asked = {"soma_dim_0": sizes[rows], "soma_dim_1": sizes[columns]}
                    yield matrix.array, {axis: size for axis, size in asked.items() if size is not None}


def about_obs(experiment: Experiment) -> Iterator[tuple[Any, list[str]]]:
    """All matrices that have cells on some of their axes, and the dimensions of these."""
    for name in experiment.ms:
        measurement = experiment.ms[name]
        for group, rows, columns in _MATRICES:
            axes = [axis for axis, of in (("soma_dim_0", rows), ("soma_dim_1", columns)) if of == "obs"]
            for member in measurement[group] if axes and group in measurement else ():
                yield measurement[group][member], axes


def delete(
    uri: Location,
    obs: Wanted,
    *,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> int:
    """Deletes cells: those that satisfy a condition, such as ``"n_genes < 200"``, or have these ids. Returns their
    number. A slice of ids has no end below 0: ids are no positions.

    Their rows in ``obs``, and their values in X, ``obsm`` and ``obsp`` of all measurements, are gone; at earlier
    times they can still be read. Dense matrices have all their cells: an experiment with some about cells is refused.
    The rows of ``obs`` are deleted last, so that the same delete can be done again if one fails."""
    if obs is None:
        raise QueryError("delete needs a condition or ids: without one, all cells would go")
    experiment: Experiment = _open(uri, key=key, storage=storage, threads=threads)
    if not isinstance(experiment, Experiment):
        raise QueryError(f"{experiment.uri} is no experiment")
    ids = experiment.obs.ids(obs)
    if not len(ids):
        return 0
    todo: list[tuple[Array, Condition]] = []
    for matrix, axes in about_obs(experiment):
        if not isinstance(matrix, SparseMatrix):
            raise QueryError(f"{matrix.uri} is dense, so its cells cannot be deleted: nothing was")
        todo += [(matrix.array, _those(axis, ids)) for axis in axes]
    for array, condition in [*todo, (experiment.obs.array, _those(JOINID, ids))]:
        array.delete(condition, at=at)
    return len(ids)


def _those(name: str, ids: AnyArray) -> Condition:
    """The condition of these ids: as few ranges, or a list."""
    own: FieldExpression = field(name)
    cuts = np.flatnonzero(np.diff(ids) != 1) + 1
    if len(cuts) >= _MAX_RUNS:
        return own.is_in(ids.tolist())
    found: Condition | None = None
    for run in np.split(ids, cuts):
        low, high = int(run[0]), int(run[-1])
        one = own == low if low == high else (own >= low) & (own <= high)
        found = one if found is None else found | one
    assert found is not None
    return found


def update(
    uri: Location,
    frame: pandas.DataFrame | None = None,
    *,
    drop: Sequence[str] = (),
    id: str | None = None,
    memory: str | int = MEMORY,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> DataFrame:
    """Updates columns of a table (``EXPERIMENT/obs``, ``EXPERIMENT/ms/RNA/var``), and opens it. The rows of ``frame``
    are found by its index, whose values ``id`` has (without it, the column that was the index, ``obs_id`` or
    ``var_id``). Its columns replace those of the same name in these rows; new ones are added, and are null elsewhere.
    ``drop`` names columns that go. A column keeps its type, but gets new categories: to give it another type, drop it
    in a call before. One that comes again has nothing of what it had: for that, all rows are read at once, and
    written."""
    how = {"key": key, "storage": storage, "threads": threads}
    table: DataFrame = _open(uri, **how)  # type: ignore[arg-type]
    if not isinstance(table, DataFrame):
        raise QueryError(f"{table.uri} is no table")
    array = table.array
    for name in drop:
        if name not in [one.name for one in array.schema.attributes] or name == JOINID:
            raise QueryError(f"{table.uri} has no column {name!r} to drop (it has {', '.join(table.columns)})")
    if frame is None:
        _evolve(array, drop, None, {}, at)
    else:
        _update(table, frame, drop, id, _tdb.memory_bytes(str(memory)), at)
    found: DataFrame = _open(uri, **how)  # type: ignore[arg-type]
    return found


def _update(
    table: DataFrame, frame: pandas.DataFrame, drop: Sequence[str], id: str | None, memory: int, at: Time | None
) -> None:
    import pyarrow

    array = table.array
    column = id_column(table, id, "obs" if id or "obs_id" in table.columns else "var")
    given = renamed(table_of(frame, column, "the table"), column)
    expect_unique(given.ids(column), "the table")
    both = [name for name in drop if name in given.columns.column_names]
    if column in drop or both:
        raise QueryError(f"drop has {(both or [column])[0]!r}, which the update needs: drop it in a call of its own")
    stored = table.read([JOINID, column]).to_numpy()
    known = dict(zip((str(one) for one in stored[column]), stored[JOINID].tolist()))
    unknown = [name for name in given.ids(column) if name not in known]
    if unknown:
        raise QueryError(f"{table.uri} has no {unknown[0]!r} in {column!r} ({len(unknown)} of the rows are not in the table)")
    ids = np.array([known[name] for name in given.ids(column)], np.int64)
    changed = given.columns.drop_columns([column])
    names = [one.name for one in array.schema.attributes]
    fresh = changed.select([name for name in changed.column_names if name not in names])
    replaced, extended = fitted(array, changed.select([name for name in changed.column_names if name in names]), "the table", True)
    # What the rows have in other columns is written again: a cell is written whole.
    order = np.argsort(ids)
    whole = pyarrow.table(table.read(None, ids)).sort_by(JOINID)
    if _had(array, fresh.column_names):
        # What the rows had in a column that comes again would be back with it. So all of them are written without it
        # before, and are null there, also where the values that follow do not come.
        every = pyarrow.table(table.read()).sort_by(JOINID)
        write_table(array, every.drop_columns([JOINID]), every[JOINID].to_numpy(), memory, at)
    _evolve(array, drop, fresh, extended, at)
    columns = {}
    for name in whole.column_names:
        if name in drop or name == JOINID:
            continue
        columns[name] = replaced[name].take(order) if name in replaced.column_names else whole[name]
    for name in fresh.column_names:
        columns[name] = fresh[name].take(order)
    write_table(Array(array._place), pyarrow.table(columns), ids[order], memory, at)


def _had(array: Array, names: Sequence[str]) -> bool:
    """Whether a schema of the array, of now or before, has some of these attributes."""
    if not names:
        return False
    times = [int(one["timestamps"][1]) for one in array.history if one["what"] == "schema"]
    # Of several schemas of one time only the last one can be opened: the others may have had any attribute.
    if len(set(times)) < len(times):
        return True
    return any(name in Array(array._place, at=time).schema.names for time in times for name in names)


def _evolve(
    array: Array, drop: Sequence[str], fresh: pyarrow.Table | None, extended: Mapping[str, Sequence[Any]], at: Time | None
) -> None:
    """Drops and adds columns, and extends enumerations, by one new schema if any is needed."""
    gone = [one.enumeration for one in array.schema.attributes if one.name in drop and one.enumeration is not None]
    attributes, lists = [], []
    listed = {} if fresh is None else categories_of(fresh)
    for column in [] if fresh is None else fresh.schema:
        kind, enumeration = column.type, None
        if column.name in listed:
            datatype = datatype_of(column.name, kind.value_type)
            enumeration = column.name
            length = "var" if number_dtype(datatype) is None else 1
            lists.append(Enumeration(enumeration, listed[column.name], kind.ordered, datatype, length))
            kind = kind.index_type
        datatype = datatype_of(column.name, kind)
        count = "var" if number_dtype(datatype) is None else 1
        attributes.append(Attribute(column.name, datatype, count, True, None, enumeration, ZSTD))
    if drop or attributes or extended:
        array.evolve(
            add=attributes,
            drop=drop,
            add_enumerations=lists,
            drop_enumerations=gone,
            extend_enumerations=dict(extended) or None,
            at=at,
        )
