"""Collections, measurements and experiments, and how they are opened."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, Union

import numpy as np

from .._array import Array, Key, Location, Metadata, Storage, object_type
from .._array import open as _open_array
from .._condition import Condition
from .._errors import NotAnArrayError, QueryError
from .._group import Group
from .._types import Window
from ._arrays import DataFrame, DenseMatrix, SparseMatrix
from ._axes import Wanted
from ._query import AxisQuery

Node: TypeAlias = "Union[Collection, DataFrame, SparseMatrix, DenseMatrix]"

#: Metadata that is SOMA's own begins with this.
_OWN = ("soma_", "dataset_type")


def open(
    uri: Location,
    at: Window = None,
    *,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Any:
    """Opens an experiment, or anything in one: what it is, is said by its metadata."""
    if at is None:
        # All members are seen as they are now.
        at = time.time_ns() // 1_000_000
    if object_type(uri, storage=storage) == "group":
        group = Group(uri, at, key=key, storage=storage, threads=threads)
        return _of(group, group.meta)
    array = _open_array(uri, at, key=key, storage=storage, threads=threads)
    return _of(array, array.meta)


def _of(opened: Array | Group, meta: Metadata) -> Node:
    kind = str(dict(meta).get("soma_object_type", ""))
    known: dict[str, Any] = {
        "SOMAExperiment": Experiment,
        "SOMAMeasurement": Measurement,
        "SOMACollection": Collection,
        "SOMADataFrame": DataFrame,
        "SOMASparseNDArray": SparseMatrix,
        "SOMADenseNDArray": DenseMatrix,
    }
    made = known.get(kind, Collection if isinstance(opened, Group) and kind else None)
    if made is None:
        said = f"an object of the kind {kind!r}, which cannot be read" if kind else "no object of SOMA: its metadata has no type"
        raise NotAnArrayError(f"{opened.uri}: this is {said}", opened.uri, said)
    node: Node = made(opened)
    return node


class Collection(Mapping[str, Any]):
    """A collection: its members by name."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self._kept: dict[str, Any] = {}

    @property
    def uri(self) -> str:
        """The location."""
        return self.group.uri

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata."""
        return dict(self.group.meta)

    def __getitem__(self, name: str) -> Any:
        if name not in self._kept:
            opened = self.group[name]
            self._kept[name] = _of(opened, opened.meta)
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return (member.name for member in self.group if member.name is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.group

    def _member(self, name: str) -> Any:
        if name not in self:
            raise QueryError(f"{self.uri} has no {name!r} (it has {', '.join(self) or 'nothing'})")
        return self[name]

    def to_dict(self) -> dict[str, Any]:
        """Everything in it, as ``uns`` has it: values of the metadata, arrays, tables, and dictionaries of them. Members of a
        kind that cannot be read are left out with a warning."""
        found = {name: value for name, value in self.meta.items() if not name.startswith(_OWN)}
        for name in self:
            try:
                node = self[name]
            except NotAnArrayError as error:
                warnings.warn(f"{name!r} is left out: {error}", stacklevel=2)
                continue
            if isinstance(node, Collection):
                found[name] = node.to_dict()
            elif isinstance(node, DataFrame):
                found[name] = node._as_array(node.array.meta.get("soma_uns_outgest_hint"))
            elif isinstance(node, DenseMatrix):
                found[name] = node.to_numpy()
            else:
                # What has other than two axes is no matrix for scipy: a table of coordinates and values.
                found[name] = node.to_scipy() if node.array.schema.ndim == 2 else node.read().to_pandas()
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.uri, self.group._at)

    def __repr__(self) -> str:
        return f"<tdb.soma.{type(self).__name__} {self.uri!r}: {', '.join(self)}>"


class Measurement(Collection):
    """A measurement: the variables, and matrices of observations and variables."""

    @property
    def var(self) -> DataFrame:
        """The variables."""
        found: DataFrame = self._member("var")
        return found

    @property
    def X(self) -> Collection:
        """Matrices with a row for each observation and a column for each variable, by the names of their layers."""
        return self._collection("X")

    @property
    def obsm(self) -> Collection:
        """Matrices with a row for each observation."""
        return self._collection("obsm")

    @property
    def varm(self) -> Collection:
        """Matrices with a row for each variable."""
        return self._collection("varm")

    @property
    def obsp(self) -> Collection:
        """Matrices of observations and observations."""
        return self._collection("obsp")

    @property
    def varp(self) -> Collection:
        """Matrices of variables and variables."""
        return self._collection("varp")

    @property
    def uns(self) -> Collection:
        """What has no axis."""
        return self._collection("uns")

    def _collection(self, name: str) -> Collection:
        found: Collection = self._member(name)
        return found


class Experiment(Collection):
    """An experiment: the observations, and what was measured of them."""

    @property
    def obs(self) -> DataFrame:
        """The observations."""
        found: DataFrame = self._member("obs")
        return found

    @property
    def ms(self) -> Mapping[str, Measurement]:
        """The measurements by name."""
        found: Mapping[str, Measurement] = self._member("ms")
        return found

    @property
    def uns(self) -> Collection:
        """What has no axis."""
        found: Collection = self._member("uns")
        return found

    def axis_query(
        self,
        measurement: str,
        obs: Wanted = None,
        var: Wanted = None,
        *,
        obs_where: str | Condition | None = None,
        var_where: str | Condition | None = None,
    ) -> AxisQuery:
        """Some observations and some variables of a measurement: those that satisfy a condition, or have these ids, or these
        coordinates (``{"soma_joinid": slice(0, 100)}``); ``obs_where`` and ``var_where`` are conditions in addition."""
        ms = self.ms
        if measurement not in ms:
            raise QueryError(f"{self.uri} has no measurement {measurement!r} (it has {', '.join(ms)})")
        return AxisQuery(self, ms[measurement], obs, var, obs_where, var_where)
