"""Shapes of all that an experiment has: what they are, and how they grow."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from ..context import SOMATileDBContext
from ..dataframe import DataFrame
from ..dense import DenseNDArray
from ..experiment import Experiment
from ..ndarray import NDArray
from ..soma_object import SOMAObject
from ..sparse import SparseNDArray

#: The collections of matrices, and what their axes are.
_AXES = {"X": ("obs", "var"), "obsm": ("obs", None), "obsp": ("obs", "obs"), "varm": ("var", None), "varp": ("var", "var")}
#: Where an object is: its measurement, its collection, its name.
_Where = tuple[str | None, str | None, str]


def _all(experiment: Experiment) -> Iterator[tuple[_Where, SOMAObject]]:
    """The tables and matrices of an experiment, as far as it has them."""
    if "obs" in experiment:
        yield (None, None, "obs"), experiment.obs
    for name, measurement in (experiment.ms if "ms" in experiment else {}).items():
        if "var" in measurement:
            yield (name, None, "var"), measurement.var
        for collection in _AXES:
            if collection in measurement:
                for key, one in measurement[collection].items():
                    yield (name, collection, key), one


def _path(where: _Where) -> str:
    measurement, collection, name = where
    return "/".join(["ms", measurement, *([collection] if collection else []), name]) if measurement is not None else name


def get_experiment_shapes(uri: str, *, context: SOMATileDBContext | None = None) -> dict[str, Any]:
    """The shapes of all tables and matrices, as dictionaries of dictionaries."""
    found: dict[str, Any] = {}
    with Experiment.open(uri, context=context) as experiment:
        if "ms" in experiment:
            found["ms"] = {name: {} for name in experiment.ms}
        for (measurement, collection, name), one in _all(experiment):
            place = found
            for word in (*(("ms", measurement) if measurement is not None else ()), *((collection,) if collection else ())):
                place = place.setdefault(word, {})
            place[name] = {"uri": one.uri, "type": type(one).__name__, **_facts(one)}
    return found


def _facts(one: Any) -> dict[str, Any]:
    if isinstance(one, DataFrame):
        return {
            "count": one.count,
            "non_empty_domain": one.non_empty_domain(),
            "domain": one.domain,
            "maxdomain": one.maxdomain,
            "upgraded": one.tiledbsoma_has_upgraded_domain,
        }
    own: NDArray = one
    facts = {"non_empty_domain": own.non_empty_domain()} if isinstance(own, SparseNDArray) else {}
    return {**facts, "shape": own.shape, "maxshape": own.maxshape, "upgraded": own.tiledbsoma_has_upgraded_shape}


def show_experiment_shapes(uri: str, *, context: SOMATileDBContext | None = None, output_handle: TextIO | None = None) -> bool:
    """Prints the shapes of all tables and matrices."""
    file = output_handle or sys.stdout
    with Experiment.open(uri, context=context) as experiment:
        for where, one in _all(experiment):
            print(f"\n[{type(one).__name__}] {_path(where)}", file=file)
            print(f"  URI {one.uri}", file=file)
            for name, value in _facts(one).items():
                print(f"  {name:<18}{value}", file=file)
    return True


def upgrade_experiment_shapes(
    uri: str,
    *,
    verbose: bool = False,
    check_only: bool = False,
    context: SOMATileDBContext | None = None,
    output_handle: TextIO | None = None,
) -> bool:
    """Gives all tables and matrices of an old experiment shapes that can grow. Returns whether that is possible."""
    with Experiment.open(uri, context=context) as experiment:
        sizes = {None: _count(experiment.obs), **{name: _count(own.var) for name, own in experiment.ms.items()}}
        found = list(_all(experiment))
        all_ok = True
        for where, one in found:
            ok = _changed(where, one, sizes, True, check_only, verbose, output_handle)
            all_ok = all_ok and ok
    return all_ok


def resize_experiment(
    uri: str,
    *,
    nobs: int,
    nvars: Mapping[str, int],
    verbose: bool = False,
    check_only: bool = False,
    context: SOMATileDBContext | None = None,
    output_handle: TextIO | None = None,
) -> bool:
    """Lets all tables and matrices grow to so many observations and variables. Returns whether that is possible."""
    with Experiment.open(uri, context=context) as experiment:
        missing = [name for name in experiment.ms if name not in nvars]
        unknown = [name for name in nvars if name not in experiment.ms]
        if missing or unknown:
            raise ValueError(f"nvars has {sorted(nvars)}, but the measurements are {sorted(experiment.ms)}: each has one number of variables")
        sizes: dict[str | None, int] = {None: nobs, **{name: int(count) for name, count in nvars.items()}}
        all_ok = True
        for where, one in list(_all(experiment)):
            ok = _changed(where, one, sizes, False, check_only, verbose, output_handle)
            all_ok = all_ok and ok
    return all_ok


def _count(table: DataFrame) -> int:
    """How many ids a table has room for: as many as it has, and one more than the greatest."""
    if table.index_column_names == ("soma_joinid",):
        return int(table.non_empty_domain()[0][1]) + 1
    return table.count


def _changed(
    where: _Where, one: Any, sizes: Mapping[str | None, int], upgrade: bool, check_only: bool, verbose: bool, file: TextIO | None
) -> bool:
    measurement, collection, name = where
    done = one.tiledbsoma_has_upgraded_domain if isinstance(one, DataFrame) else one.tiledbsoma_has_upgraded_shape
    if upgrade and done and not check_only:
        return True
    wanted: Any
    if isinstance(one, DataFrame):
        method = "tiledbsoma_upgrade_soma_joinid_shape" if upgrade else "tiledbsoma_resize_soma_joinid_shape"
        wanted = sizes[measurement if name == "var" and measurement is not None else None]
    else:
        method = "tiledbsoma_upgrade_shape" if upgrade else "resize"
        wanted = _shape(one, collection, sizes, measurement, upgrade)
    if verbose or check_only:
        print(f"[{type(one).__name__}] {_path(where)}\n  {'Dry run for' if check_only else 'Applying'}: {method}({wanted})", file=file)
    if check_only:
        ok, why = getattr(one, method)(wanted, check_only=True)
        print("  OK" if ok else f"  Not OK: {why}", file=file)
        return bool(ok)
    with type(one).open(one.uri, "w", context=one.context) as writable:
        getattr(writable, method)(wanted)
    return True


def _shape(one: NDArray, collection: str | None, sizes: Mapping[str | None, int], measurement: str | None, upgrade: bool) -> tuple[int, ...]:
    ends = one.non_empty_domain() if not isinstance(one, DenseNDArray) else tuple((0, size - 1) for size in one.shape)
    found = []
    for at, axis in enumerate(_AXES[collection or "X"]):
        if axis is None:
            found.append(int(ends[at][1]) + 1 if upgrade else one.shape[at])
        else:
            found.append(sizes[None if axis == "obs" else measurement])
    return tuple(found)


__all__ = ["get_experiment_shapes", "resize_experiment", "show_experiment_shapes", "upgrade_experiment_shapes"]
