"""SOMA experiments, which ``tiledbsoma`` writes: tables, and matrices of any size.

Tables (``obs``, ``var``) are queries: ``to_pandas``, ``to_polars`` and everything that takes Arrow. Matrices become numpy's or
scipy's, whole or in batches that fit into a memory budget. Nothing is read before it is asked for, and everything is read at
one time.

>>> import numpy as np, tdb.soma
>>> dims = [tdb.Dimension("soma_dim_0", (0, 3), "int64"), tdb.Dimension("soma_dim_1", (0, 2), "int64")]
>>> X = tdb.create(scratch / "X", tdb.Schema("sparse", dims, [tdb.Attribute("soma_data", "float32")]))
>>> _ = X.write({"soma_dim_0": [0, 2], "soma_dim_1": [1, 2], "soma_data": [1.5, 2.5]})
>>> X.meta["soma_object_type"] = "SOMASparseNDArray"
>>> matrix = tdb.soma.open(scratch / "X")
>>> matrix.shape, matrix.nnz
((4, 3), 2)
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from . import _tdb
from ._array import Array, Key, Location, Metadata, Storage, object_type
from ._array import open as _open_array
from ._condition import Condition, FieldExpression, field
from ._errors import NotAnArrayError, QueryError
from ._group import Group
from ._needs import needed
from ._read import Batch, Read, Stream, to_numpy
from ._types import AnyArray, Window, number_dtype

if TYPE_CHECKING:
    import anndata
    import pandas
    import scipy.sparse

#: What is wanted of an axis: all, the rows of a table that satisfy a condition, or those with these ids.
Wanted: TypeAlias = "str | Condition | Sequence[int] | AnyArray | slice | None"
Node: TypeAlias = "Union[Collection, DataFrame, SparseMatrix, DenseMatrix]"

#: The name of the ids of a table.
JOINID = "soma_joinid"
#: The name of the values of a matrix.
DATA = "soma_data"
#: The memory of a read in batches whose results are kept in a smaller form.
_MEMORY = "64MB"
#: Metadata that is SOMA's own begins with this.
_OWN = ("soma_", "dataset_type")
#: The most items of a table from ids to positions; larger ones are searched for.
_TABLE = 1 << 26


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

    def axis_query(self, measurement: str, obs: Wanted = None, var: Wanted = None) -> AxisQuery:
        """Some observations and some variables of a measurement: those that satisfy a condition, or have these ids."""
        ms = self.ms
        if measurement not in ms:
            raise QueryError(f"{self.uri} has no measurement {measurement!r} (it has {', '.join(ms)})")
        return AxisQuery(self, ms[measurement], obs, var)


class _OfArray:
    """Something that is one array."""

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def uri(self) -> str:
        """The location."""
        return self.array.uri

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata."""
        return dict(self.array.meta)

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.uri, self.array.window)

    def __repr__(self) -> str:
        return f"<tdb.soma.{type(self).__name__} {self.uri!r}>"


class DataFrame(_OfArray):
    """A table: an array whose rows have ids, ``soma_joinid``."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.array.schema.names

    def __len__(self) -> int:
        return self.read([JOINID]).count()

    def read(self, fields: Sequence[str] | None = None, rows: Wanted = None) -> Read:
        """The rows as a query, in the order of the table's index, which is mostly that of their ids: ``to_pandas()``,
        ``pyarrow.table(…)``, ``stream(memory)``. ``rows`` is a condition, such as ``"n_genes > 500"``, or ids."""
        wanted = None if fields is None else list(fields)
        if rows is None or (isinstance(rows, slice) and rows == slice(None)):
            return self.array.read(wanted, order="row-major")
        if isinstance(rows, (str, Condition)):
            return self.array.read(wanted, where=rows, order="row-major")
        ids: Any = rows if isinstance(rows, slice) else _ids(rows).tolist()
        if any(dimension.name == JOINID for dimension in self.array.schema.dimensions):
            return self.array.read(wanted, ranges={JOINID: ids if isinstance(rows, slice) or ids else []}, order="row-major")
        joinid: FieldExpression = field(JOINID)
        if isinstance(rows, slice):
            if rows.stop is None:
                return self.array.read(wanted, where=joinid >= (rows.start or 0), order="row-major")
            ids = np.arange(rows.start or 0, rows.stop).tolist()
        return self.array.read(wanted, where=joinid.is_in(ids), order="row-major")

    def to_pandas(self, fields: Sequence[str] | None = None, rows: Wanted = None) -> pandas.DataFrame:
        """The rows as a table of pandas."""
        return _plain(self.read(fields, rows).to_pandas())

    def ids(self, rows: Wanted = None) -> AnyArray:
        """The ids of rows, in ascending order."""
        return np.sort(self.read([JOINID], rows).to_numpy()[JOINID])

    def _as_array(self, hint: Any) -> Any:
        """What was an array of texts before it was stored as a table, as the metadata says; all else is a table."""
        names = [name for name in self.columns if name.startswith("values")]
        if hint not in ("array_1d", "array_2d") or not names:
            return self.to_pandas()
        cells = self.read(names).to_numpy()
        return cells[names[0]] if hint == "array_1d" else np.stack([cells[name] for name in names], axis=1)


class SparseMatrix(_OfArray):
    """A sparse matrix. Rows and columns are chosen by their ids; the result has them in ascending order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and columns, also of those without a value. Matrices of ``tiledbsoma`` before 1.15 have the
        largest shape that there is, as there; what is read of them ends with the last row and column that has a value."""
        return self.array.schema.shape

    def _extents(self) -> tuple[int, ...]:
        """The shape of the matrix if all of it is wanted. Before ``tiledbsoma`` 1.15 matrices had no shape of their own, but the
        largest that there is: what holds their values, and what the metadata says of the shape, counts there."""
        if self.array.schema.current_domain is not None:
            return self.shape
        ends = self.array.non_empty_domain
        found = []
        for at, size in enumerate(self.shape):
            said = self.array.meta.get(f"soma_dim_{at}_domain_upper")
            last = max(-1 if ends is None else int(ends[at][1]), -1 if said is None else int(said))
            found.append(min(last + 1, size))
        return tuple(found)

    @property
    def nnz(self) -> int:
        """The number of values."""
        return self.array.read([DATA]).count()

    def read(self, *ids: Wanted) -> Read:
        """The values with their ids as a query: ``soma_dim_0``, …, ``soma_data``. Each of ``ids`` is about one axis."""
        ranges = {}
        for dimension, one in zip(self.array.schema.dimensions, ids):
            if one is not None:
                ranges[dimension.name] = one if isinstance(one, slice) else _ids(one)
        return self.array.read(self.array.schema.names, ranges=ranges, order="unordered")

    def stream(self, *ids: Wanted, memory: str | int = "256MB") -> Stream:
        """The values in batches: ``pyarrow.RecordBatchReader.from_stream(…)`` makes tables of them."""
        return self.read(*ids).stream(memory)

    def to_scipy(self, rows: Wanted = None, columns: Wanted = None) -> scipy.sparse.csr_matrix:
        """The matrix, or some rows and columns of it."""
        axes = [_Axis(one, size) for one, size in zip((rows, columns), self._two())]
        parts = [self._placed(batch, axes) for batch in self.read(*(axis.asked for axis in axes)).stream(_MEMORY)]
        return _csr(parts, axes[0].size, axes[1].size, self._dtype())

    def batches(
        self, rows: Wanted = None, columns: Wanted = None, memory: str | int = "256MB"
    ) -> Iterator[tuple[AnyArray, scipy.sparse.csr_matrix]]:
        """The matrix in parts of whole rows: their ids, and the part. What is read and what is returned stay inside the
        memory together, as far as a row fits."""
        axes = [_Axis(one, size) for one, size in zip((rows, columns), self._two())]
        read = self.read(*(axis.asked for axis in axes))
        ordered = Read(self.array, read._core.order("row-major"), self.array.schema.names)
        begun, held = 0, None
        budget = _tdb.memory_bytes(str(memory))
        # Positions and values of a batch, and the matrix, are smaller than the batch.
        for batch in ordered.stream(max(budget // 2, 1 << 20)):
            part = self._placed(batch, axes)
            if held is not None:
                part = tuple(np.concatenate(pair) for pair in zip(held, part))
            # The last row may go on in the next batch.
            last = int(part[0][-1]) if len(part[0]) else begun
            cut = int(np.searchsorted(part[0], last))
            if last > begun:
                yield self._rows([one[:cut] for one in part], begun, last, axes)
                begun = last
            held = tuple(one[cut:].copy() for one in part)
        yield self._rows(list(held or self._placed(None, axes)), begun, axes[0].size, axes)

    def _rows(self, part: list[AnyArray], first: int, end: int, axes: list[_Axis]) -> Any:
        matrix = _csr([(part[0] - part[0].dtype.type(first), part[1], part[2])], end - first, axes[1].size, self._dtype())
        return axes[0].ids(first, end), matrix

    def _two(self) -> tuple[int, ...]:
        if len(self.shape) != 2:
            raise QueryError(f"{self.uri} has {len(self.shape)} axes: only matrices with two become scipy's; use read() or stream()")
        return self._extents()

    def _dtype(self) -> Any:
        return number_dtype(self.array.schema.attribute(DATA).datatype)

    def _placed(self, batch: Batch | None, axes: list[_Axis]) -> tuple[AnyArray, ...]:
        """The rows, columns and values of a batch: positions in the result."""
        if batch is None:
            return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, self._dtype())
        cells = to_numpy(batch._core)
        names = [dimension.name for dimension in self.array.schema.dimensions]
        return (*(axis.positions(cells.pop(name)) for axis, name in zip(axes, names)), cells[DATA])


class DenseMatrix(_OfArray):
    """A matrix that has all its values."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and columns."""
        return self.array.schema.shape

    def read(self, *ids: Wanted) -> Read:
        """The values as a query. Each of ``ids`` is about one axis."""
        dimensions = self.array.schema.dimensions
        ranges = {own.name: one if isinstance(one, slice) else _ids(one) for own, one in zip(dimensions, ids) if one is not None}
        return self.array.read([DATA], ranges=ranges)

    def to_numpy(self, *ids: Wanted) -> AnyArray:
        """The matrix, or some rows and columns of it."""
        axes = [_Axis(one, size) for one, size in zip([*ids, *[None] * (len(self.shape) - len(ids))], self.shape)]
        for axis in axes:
            axis.expect_inside()
        if all(axis.size for axis in axes):
            return self.read(*(axis.asked for axis in axes)).to_numpy()[DATA]
        return np.empty([axis.size for axis in axes], number_dtype(self.array.schema.attribute(DATA).datatype))


class AxisQuery:
    """Some observations and some variables of a measurement: :meth:`Experiment.axis_query` makes one."""

    def __init__(self, experiment: Experiment, measurement: Measurement, obs: Wanted, var: Wanted) -> None:
        self.experiment, self.measurement = experiment, measurement
        self._wanted = {"obs": obs, "var": var}
        self._ids: dict[str, AnyArray] = {}

    def _table(self, axis: str) -> DataFrame:
        return self.experiment.obs if axis == "obs" else self.measurement.var

    def _ids_of(self, axis: str) -> AnyArray:
        if axis not in self._ids:
            self._ids[axis] = self._table(axis).ids(self._wanted[axis])
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
        return self.experiment.obs.read(fields, self._wanted["obs"])

    def var(self, fields: Sequence[str] | None = None) -> Read:
        """The variables as a query, in the order of the table's index: of their ids, if it has no other."""
        return self.measurement.var.read(fields, self._wanted["var"])

    def X(self, layer: str = "data") -> Any:
        """The values of a layer: a matrix of scipy, or of numpy if it is stored so."""
        return self._matrix("X", layer, "obs", "var")

    def batches(
        self, layer: str = "data", memory: str | int = "256MB"
    ) -> Iterator[tuple[AnyArray, scipy.sparse.csr_matrix]]:
        """The values of a layer in parts of whole rows: see :meth:`SparseMatrix.batches`."""
        matrix: SparseMatrix = self.measurement.X._member(layer)
        return matrix.batches(self.obs_ids, self.var_ids, memory)

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
        X: str = "data",
        layers: Sequence[str] = (),
        *,
        obs_fields: Sequence[str] | None = None,
        var_fields: Sequence[str] | None = None,
        obsm: Sequence[str] = (),
        varm: Sequence[str] = (),
        obsp: Sequence[str] = (),
        varp: Sequence[str] = (),
    ) -> anndata.AnnData:
        """Everything that is named, as AnnData. The indices are ``obs_id`` and ``var_id`` where there are such columns."""
        made = needed("anndata", "anndata", "Objects of AnnData")
        matrix = self.X(X)
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
        named = own in table.columns
        index = own if named else JOINID
        frame = table.to_pandas(list(dict.fromkeys([*names, index, JOINID])), self._wanted[axis])
        # Matrices have rows in the order of ids; tables that are not indexed by them alone come in another order.
        frame = frame.sort_values(JOINID, kind="stable").set_index(index)
        frame.index = frame.index.astype(str)
        frame.index.name = None
        return frame.drop(columns=[JOINID], errors="ignore")

    def __repr__(self) -> str:
        return f"<tdb.soma.AxisQuery of {self.measurement.uri!r}>"


class _Axis:
    """An axis of a matrix: which ids are wanted, and where they are in the result."""

    def __init__(self, wanted: Wanted, size: int) -> None:
        if isinstance(wanted, (str, Condition)):
            raise QueryError("a condition is about a table: use axis_query, or ids")
        if isinstance(wanted, slice):
            wanted = np.arange(*wanted.indices(size))
        self._first, self._table, self._ids = 0, None, None
        self.size = self._whole = size
        self._ends: tuple[int, ...] = ()
        #: What the array is asked for.
        self.asked: Any = None
        if wanted is None:
            return
        ids = np.unique(_ids(wanted))
        self.size = len(ids)
        self._ends = tuple(int(end) for end in ids[[0, -1]]) if self.size else ()
        if self.size and int(ids[-1]) - int(ids[0]) + 1 == self.size:
            self._first = int(ids[0])
            self.asked = None if len(ids) == size and self._first == 0 else slice(int(ids[0]), int(ids[-1]) + 1)
            return
        self._ids, self.asked = ids, ids
        if self.size and int(ids[-1]) - int(ids[0]) < _TABLE:
            self._first = int(ids[0])
            self._table = np.zeros(int(ids[-1]) - self._first + 1, np.int32)
            self._table[ids - self._first] = np.arange(self.size, dtype=np.int32)

    def expect_inside(self) -> None:
        """An error if ids are wanted that the axis does not have."""
        for wrong in (one for one in self._ends if not 0 <= one < self._whole):
            raise QueryError(f"id {wrong} is wanted of an axis of {self._whole}")

    def positions(self, ids: AnyArray) -> AnyArray:
        """Where ids are in the result."""
        if self._table is not None:
            found: AnyArray = self._table[ids - self._first if self._first else ids]
            return found
        if self._ids is not None:
            return np.searchsorted(self._ids, ids).astype(np.int32)
        return (ids - self._first if self._first else ids).astype(_place(self.size))

    def ids(self, first: int, end: int) -> AnyArray:
        """The ids of positions in the result."""
        return np.arange(self._first + first, self._first + end) if self._ids is None else self._ids[first:end]


def _place(size: int) -> Any:
    """The type of positions on an axis."""
    return np.int32 if size < 1 << 31 else np.int64


def _ids(wanted: Any) -> AnyArray:
    """Ids as an array: a mask or real numbers would be taken for other ids."""
    found = np.asarray(wanted)
    if found.dtype == object and all(isinstance(one, (int, np.integer)) for one in found.ravel()):
        found = found.astype(np.int64)
    if found.dtype.kind not in "iu" and found.size:
        what = "a mask" if found.dtype == bool else f"an array of {found.dtype}"
        raise QueryError(f"ids are integers, not {what}: take the ids of the rows that are wanted, or a condition")
    return found.astype(np.int64)


def _csr(parts: list[tuple[AnyArray, ...]], rows: int, columns: int, dtype: Any) -> Any:
    """A matrix of rows, columns and values, which are freed meanwhile."""
    sparse = needed("scipy.sparse", "scipy", "Sparse matrices")
    joined = []
    place = _place(max(rows, columns))
    for at in range(3):
        kind = dtype if at == 2 else place
        joined.append(np.concatenate([part[at] for part in parts]) if len(parts) != 1 else parts[0][at])
        joined[at] = joined[at].astype(kind, copy=False)
        parts[:] = [tuple(None if own == at else one for own, one in enumerate(part)) for part in parts]  # type: ignore[misc]
    matrix = sparse.csr_matrix((joined[2], (joined[0], joined[1])), shape=(rows, columns))
    matrix.sort_indices()
    return matrix


def _plain(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The table with numpy's types where nothing is missing: SOMA lets values be missing from every column."""
    for name, column in frame.items():
        own = getattr(column.dtype, "numpy_dtype", None)
        if own is not None and not column.isna().any():
            frame[name] = column.astype(own)
    return frame


def _dense(matrix: Any) -> Any:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


__all__ = ["AxisQuery", "Collection", "DataFrame", "DenseMatrix", "Experiment", "Measurement", "SparseMatrix", "open"]
