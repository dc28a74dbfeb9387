"""Some observations and some variables of a measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._condition import Condition
from .._needs import needed
from .._read import Read, Stream
from .._types import AnyArray
from ._arrays import DataFrame, DenseMatrix, SparseMatrix
from ._axes import JOINID, Wanted, _Axis, index_of

if TYPE_CHECKING:
    import anndata
    import pandas
    import scipy.sparse

    from ._collections import Experiment, Measurement


class AxisQuery:
    """Some observations and some variables of a measurement: :meth:`Experiment.axis_query` makes one."""

    def __init__(
        self,
        experiment: Experiment,
        measurement: Measurement,
        obs: Wanted,
        var: Wanted,
        obs_where: str | Condition | None = None,
        var_where: str | Condition | None = None,
    ) -> None:
        self.experiment, self.measurement = experiment, measurement
        self._wanted = {"obs": (obs, obs_where), "var": (var, var_where)}
        self._ids: dict[str, AnyArray] = {}

    def _table(self, axis: str) -> DataFrame:
        return self.experiment.obs if axis == "obs" else self.measurement.var

    def _ids_of(self, axis: str) -> AnyArray:
        if axis not in self._ids:
            self._ids[axis] = self._table(axis).ids(*self._wanted[axis])
        return self._ids[axis]

    @property
    def obs_ids(self) -> AnyArray:
        """The ids of the observations, in ascending order."""
        return self._ids_of("obs")

    @property
    def var_ids(self) -> AnyArray:
        """The ids of the variables, in ascending order."""
        return self._ids_of("var")

    @property
    def shape(self) -> tuple[int, int]:
        """The number of observations and of variables."""
        return len(self.obs_ids), len(self.var_ids)

    def obs(self, fields: Sequence[str] | None = None) -> Read:
        """The observations as a query, in the order of the table's index: of their ids, if it has no other."""
        return self.experiment.obs.read(fields, *self._wanted["obs"])

    def var(self, fields: Sequence[str] | None = None) -> Read:
        """The variables as a query, in the order of the table's index: of their ids, if it has no other."""
        return self.measurement.var.read(fields, *self._wanted["var"])

    def X(self, layer: str | Sequence[str] = "data") -> Any:
        """The values of a layer: a matrix of scipy, or of numpy if it is stored so. Of several layers, a dictionary."""
        if not isinstance(layer, str):
            return {name: self._matrix("X", name, "obs", "var") for name in layer}
        return self._matrix("X", layer, "obs", "var")

    def batches(
        self, layer: str = "data", memory: str | int = "256MB"
    ) -> Iterator[tuple[AnyArray, scipy.sparse.csr_matrix]]:
        """The values of a layer in parts of whole rows: see :meth:`SparseMatrix.batches`."""
        matrix: SparseMatrix = self.measurement.X._member(layer)
        return matrix.batches(self.obs_ids, self.var_ids, memory)

    def blocks(self, size: int, layer: str = "data", axis: int = 0) -> Iterator[tuple[AnyArray, Any]]:
        """The values of a layer in parts of so many cells, or genes: see :meth:`SparseMatrix.blocks`."""
        matrix: SparseMatrix = self.measurement.X._member(layer)
        return matrix.blocks(size, self.obs_ids, self.var_ids, axis)

    def stream(self, layer: str = "data", memory: str | int = "256MB") -> Stream:
        """The values of a layer with their ids, in batches for Arrow."""
        matrix: SparseMatrix = self.measurement.X._member(layer)
        axes = [_Axis(ids, size) for ids, size in zip((self.obs_ids, self.var_ids), matrix._extents())]
        return matrix.stream(*(axis.asked for axis in axes), memory=memory)

    def obsm(self, name: str) -> Any:
        """A matrix with a row for each observation."""
        return self._matrix("obsm", name, "obs")

    def varm(self, name: str) -> Any:
        """A matrix with a row for each variable."""
        return self._matrix("varm", name, "var")

    def obsp(self, name: str) -> Any:
        """A matrix of observations and observations."""
        return self._matrix("obsp", name, "obs", "obs")

    def varp(self, name: str) -> Any:
        """A matrix of variables and variables."""
        return self._matrix("varp", name, "var", "var")

    def _matrix(self, collection: str, name: str, rows: str, columns: str | None = None) -> Any:
        matrix = self.measurement._member(collection)._member(name)
        ids = [self._ids_of(rows), None if columns is None else self._ids_of(columns)]
        if isinstance(matrix, DenseMatrix):
            return matrix.to_numpy(*ids)
        return matrix.to_scipy(*ids)

    def to_anndata(
        self,
        X: str | None = "data",
        layers: Sequence[str] = (),
        *,
        obs_fields: Sequence[str] | None = None,
        var_fields: Sequence[str] | None = None,
        obsm: Sequence[str] = (),
        varm: Sequence[str] = (),
        obsp: Sequence[str] = (),
        varp: Sequence[str] = (),
    ) -> anndata.AnnData:
        """Everything that is named, as AnnData. The indices are the columns that the metadata says were the indices,
        and else ``obs_id`` and ``var_id`` where there are such columns. :func:`tdb.soma.to_anndata` has all without
        names."""
        made = needed("anndata", "anndata", "Objects of AnnData")
        matrix = None if X is None else self.X(X)
        return made.AnnData(
            matrix,
            self._frame("obs", obs_fields),
            self._frame("var", var_fields),
            layers={name: self.X(name) for name in layers},
            obsm={name: _dense(self.obsm(name)) for name in obsm},
            varm={name: _dense(self.varm(name)) for name in varm},
            obsp={name: self.obsp(name) for name in obsp},
            varp={name: self.varp(name) for name in varp},
        )

    def _frame(self, axis: str, fields: Sequence[str] | None) -> pandas.DataFrame:
        """The rows of a table with the index that AnnData wants: texts."""
        own = f"{axis}_id"
        table = self._table(axis)
        names = list(table.columns if fields is None else fields)
        name = index_of(table.meta)
        # As tiledbsoma does it.
        index = next((one for one in (name, own) if one in table.columns), JOINID)
        frame = table.to_pandas(list(dict.fromkeys([*names, index, JOINID])), *self._wanted[axis])
        # Matrices have rows in the order of ids; tables that are not indexed by them alone come in another order.
        frame = frame.sort_values(JOINID, kind="stable").set_index(index)
        frame.index = frame.index.astype(str)
        frame.index.name = name if name == index else None
        return frame.drop(columns=[JOINID], errors="ignore")

    def __repr__(self) -> str:
        return f"<tdb.soma.AxisQuery of {self.measurement.uri!r}>"


def _dense(matrix: Any) -> Any:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
