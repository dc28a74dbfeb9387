"""The axes of matrices: which ids are wanted, and where they are in a result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._condition import Condition
from .._errors import QueryError
from .._needs import needed
from .._types import AnyArray

#: What is wanted of an axis: all, the rows of a table that satisfy a condition, those with these ids, or those with these
#: coordinates (of index columns, as :meth:`tdb.Array.read` takes ranges).
Wanted: TypeAlias = "str | Condition | Sequence[int] | AnyArray | slice | Mapping[str, Any] | None"

#: The name of the ids of a table.
JOINID = "soma_joinid"
#: The name of the values of a matrix.
DATA = "soma_data"
#: The entry of the metadata that says, as JSON, which column was the index of the table under its own name.
INDEX = "soma_dataframe_original_index_name"
#: The most items of a table from ids to positions; larger ones are searched for.
_TABLE = 1 << 26


class _Axis:
    """An axis of a matrix: which ids are wanted, and where they are in the result."""

    def __init__(self, wanted: Wanted, size: int) -> None:
        if isinstance(wanted, (str, Condition, Mapping)):
            raise QueryError("a condition is about a table: use axis_query, or ids")
        if isinstance(wanted, slice):
            wanted = np.arange(*id_slice(wanted).indices(size))
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


def id_slice(wanted: slice) -> slice:
    """A slice of ids. Ids are coordinates, of which none is counted from the end: that end would be another one once
    cells are deleted."""
    for one in (wanted.start, wanted.stop, wanted.step):
        if one is not None and (isinstance(one, (bool, np.bool_)) or not isinstance(one, (int, np.integer))):
            raise QueryError(f"the ends and the step of a slice of ids are integers, not {one!r}")
    for end in (wanted.start, wanted.stop):
        if end is not None and end < 0:
            raise QueryError(f"a slice of ids has the end {end}: ids count from 0, and none is counted from the end")
    if wanted.step is not None and wanted.step < 1:
        raise QueryError(f"a slice of ids has the step {wanted.step}: results are in the ascending order of ids")
    return wanted


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


def index_of(metadata: Mapping[str, Any]) -> str | None:
    """The name of the index that a table had, if it had one of its own."""
    try:
        found = json.loads(str(metadata.get(INDEX, "null")))
    except ValueError:
        return None
    return found if isinstance(found, str) else None
