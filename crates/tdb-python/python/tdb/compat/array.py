"""Open arrays."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _array, _tdb
from .._array import Array as Own
from .._columns import Column
from .._condition import Condition
from .._errors import IoError, NotAnArrayError
from .._types import Window
from .array_schema import ArraySchema
from .attribute import Attr, bytes_of
from .ctx import Config, Ctx, ctx_of, key_of, path_of, storage_of
from .dimension import Dim, Domain
from .enumeration import Enumeration
from .indexing import Box
from .libtiledb import TileDBError
from .metadata import Metadata
from .multirange_indexing import DataFrameIndexer, LabelIndexer, MultiRangeIndexer
from .query_condition import QueryCondition
from .results import Cells, labelled

_MODES = ("r", "w", "m", "d")


def place_of(uri: Any, ctx: Ctx, key: Any = None) -> _tdb.Place:
    """Where something is, with the options of a context."""
    config = ctx._config
    path = path_of(uri)
    path = path[len("file://") :] if path.startswith("file:///") else path
    return _array.place(path, storage_of(config), key_of(config, key), None)


@contextmanager
def there(kind: str, place: _tdb.Place) -> Iterator[None]:
    """Says "does not exist", which programs look for, where something fails because there is no array (or group) at a place."""
    try:
        yield
    except (IoError, NotAnArrayError) as error:
        if _tdb.object_type(place) == kind:
            raise
        raise TileDBError(f"Cannot open {kind}; {kind.capitalize()} does not exist: {error}") from error


def own_at(place: _tdb.Place, at: Window = None) -> Own:
    """The array at a place, in ``tdb``."""
    with there("array", place):
        return Own(place, at=at)


def opened(uri: Any, ctx: Ctx | None = None, key: Any = None, at: Window = None) -> Own:
    """The array at a location, in ``tdb``."""
    return own_at(place_of(uri, ctx_of(ctx), key), at)


def _times(timestamp: Any) -> tuple[int | None, int | None]:
    """The first and the last millisecond that were asked for."""
    if timestamp is None:
        return None, None
    if isinstance(timestamp, tuple):
        if len(timestamp) != 2 or not all(one is None or isinstance(one, (int, np.integer)) for one in timestamp):
            raise ValueError("'timestamp' argument expects either int or tuple(start: int, end: int)")
        return timestamp
    if isinstance(timestamp, (int, np.integer)):
        return None, int(timestamp)
    raise TypeError("Unexpected argument type for 'timestamp' keyword argument")


class Array:
    """An open array: to be read (``"r"``), written (``"w"``), or to have cells deleted (``"d"``)."""

    def __init__(
        self,
        uri: Any,
        mode: str = "r",
        key: Any = None,
        timestamp: Any = None,
        attr: str | None = None,
        ctx: Ctx | None = None,
        **_: Any,
    ) -> None:
        if mode not in _MODES:
            raise ValueError(f"TileDB array mode must be one of {_MODES}")
        self.ctx, self.key, self.view_attr, self._mode = ctx_of(ctx), key, attr, mode
        self.uri = path_of(uri)
        self._start, self._end = _times(timestamp)
        self._own: Own | None = None
        self.last_fragment_info: Any = {}
        self._open()
        if attr is not None and not self.schema.has_attr(attr):
            self._own = None
            raise KeyError(f"No attribute matching '{attr}'")

    def _open(self) -> None:
        place = place_of(self.uri, self.ctx, self.key)
        window = None
        if self._mode == "r" and (self._start is not None or self._end is not None):
            # TileDB takes no end for "now".
            end = self._end if self._end is not None else own_at(place).window[1]
            window = (self._start or 0, end)
        self._own = own_at(place, window)
        self._meta = Metadata(self, place, self._own.window if self._mode == "r" else None, self._mode, self._end)
        self._schema: ArraySchema | None = None

    @property
    def _array(self) -> Own:
        if self._own is None:
            raise TileDBError("Array is not opened")
        return self._own

    @classmethod
    def create(
        cls, uri: Any, schema: ArraySchema, key: Any = None, overwrite: bool = False, ctx: Ctx | None = None
    ) -> None:
        """Creates an array."""
        from . import highlevel
        from .dense_array import DenseArray
        from .sparse_array import SparseArray

        if ctx is not None and not isinstance(ctx, Ctx):
            raise TypeError("tiledb.Array.create() expected tiledb.Ctx object to argument ctx")
        kind = "dense" if issubclass(cls, DenseArray) else "sparse" if issubclass(cls, SparseArray) else None
        if kind is not None and schema.sparse != (kind == "sparse"):
            raise ValueError(f"Array.create `schema` argument must be a {kind} schema for {kind.title()}Array and subclasses")
        path = path_of(uri)
        if overwrite:
            if highlevel.object_type(path, ctx) != "array":
                warnings.warn("Overwrite set, but array does not exist", stacklevel=2)
            elif "://" in path and not path.startswith("file://"):
                raise TypeError("Cannot overwrite non-local array.")
            else:
                highlevel.remove(path, ctx)
        elif highlevel.object_type(path, ctx) is not None:
            raise TileDBError(f"Cannot create array; Array or group already exists: {path}")
        highlevel.create(path, schema, ctx_of(ctx), key)

    @classmethod
    def load_typed(
        cls,
        uri: Any,
        mode: str = "r",
        key: Any = None,
        timestamp: Any = None,
        attr: str | None = None,
        ctx: Ctx | None = None,
    ) -> Array:
        """Opens an array as what it is: dense or sparse."""
        from .dense_array import DenseArray
        from .sparse_array import SparseArray

        array = Array(uri, mode, key, timestamp, attr, ctx)
        array.__class__ = SparseArray if array.schema.sparse else DenseArray
        return array

    @staticmethod
    def delete_array(uri: Any, ctx: Ctx | None = None) -> None:
        """Removes an array."""
        from . import highlevel

        if highlevel.object_type(uri, ctx) != "array":
            raise TileDBError(f"Cannot delete array; there is none at {path_of(uri)}")
        highlevel.remove(uri, ctx)

    @staticmethod
    def delete_fragments(uri: Any, timestamp_start: int, timestamp_end: int, ctx: Ctx | None = None) -> None:
        """Removes the fragments of a time."""
        from .fragment import delete_fragments

        delete_fragments(uri, timestamp_start, timestamp_end, ctx)

    def __enter__(self) -> Array:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_own", None) is not None:
            self.close()

    def close(self) -> None:
        """Ends the use of the array. Metadata that was changed is written."""
        if self._own is not None:
            self._own = None
            self._meta.close()

    def reopen(self) -> None:
        """Sees what others have written meanwhile."""
        if self._own is None:
            raise TileDBError("Cannot reopen array; Array is not open")
        self._meta.flush()
        if self._mode == "r":
            self._start = self._end = None
        self._open()

    @property
    def schema(self) -> ArraySchema:
        """What the cells are."""
        if self._own is None:
            raise TileDBError("Cannot access schema, array is closed")
        if self._schema is None:
            self._schema = ArraySchema._of(self._own.schema, self.uri)
        return self._schema

    @property
    def mode(self) -> str:
        """``"r"``, ``"w"``, ``"m"`` or ``"d"``."""
        return self._mode

    @property
    def iswritable(self) -> bool:
        """Whether cells can be written."""
        return self._mode == "w"

    @property
    def isopen(self) -> bool:
        """Whether :meth:`close` was not called."""
        return self._own is not None

    @property
    def domain(self) -> Domain:
        """The dimensions."""
        return self.schema.domain

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.schema.ndim

    @property
    def shape(self) -> tuple[Any, ...]:
        """The number of coordinates of each dimension."""
        return self.schema.shape

    @property
    def nattr(self) -> int:
        """The number of attributes that are seen."""
        return 1 if self.view_attr is not None else self.schema.nattr

    @property
    def attr_names(self) -> list[str]:
        """The names of the attributes."""
        return self.schema.attr_names

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the only attribute."""
        if self.view_attr is None and self.schema.nattr > 1:
            raise NotImplementedError("Multi-attribute does not have single dtype!")
        return self.attr(0 if self.view_attr is None else self.view_attr).dtype

    @property
    def timestamp_range(self) -> tuple[int, int]:
        """The first and the last millisecond that are seen."""
        first, last = self._array.window
        return (first if self._start is None else self._start, last if self._end is None else self._end)

    @property
    def meta(self) -> Metadata:
        """Key-value metadata."""
        return self._meta

    @property
    def last_write_info(self) -> Any:
        """The fragments of the last write, and their times."""
        return self.last_fragment_info

    def attr(self, key: Any) -> Attr:
        """An attribute by its name or number."""
        return self.schema.attr(key)

    def dim(self, dim_id: Any) -> Dim:
        """A dimension by its name or number."""
        return self.domain.dim(dim_id)

    def enum(self, name: str) -> Enumeration:
        """An enumeration."""
        found = self._array._core.enumeration(name)
        if found is None:
            raise TileDBError(f"the array has no enumeration {name!r}")
        return Enumeration._of(name, Column(found[0]), found[1])

    def nonempty_domain(self) -> tuple[tuple[Any, Any], ...] | None:
        """The first and the last coordinate of each dimension that cells have."""
        found = self._array.non_empty_domain
        if found is None:
            return None
        return tuple(_typed_ends(dim, ends) for dim, ends in zip(self.domain, found))

    def consolidate(
        self, config: Any = None, key: Any = None, fragment_uris: Sequence[str] | None = None, timestamp: Any = None
    ) -> None:
        """Makes many fragments into few."""
        from .highlevel import consolidated

        if self.mode == "r":
            raise TileDBError("cannot consolidate array opened in readonly mode (mode='r')")
        merged = Config(config if config is not None else self.ctx.config())
        consolidated(self.uri, Ctx(merged), self.key if key is None else key, fragment_uris, timestamp)

    def upgrade_version(self, config: Any = None) -> None:
        """Makes the version of the format the newest."""
        own_at(place_of(self.uri, self.ctx, self.key)).evolve(upgrade=True)

    def dump(self) -> None:
        """Prints the schema."""
        self.schema.dump()

    @property
    def multi_index(self) -> MultiRangeIndexer:
        """Ranges with both ends."""
        return MultiRangeIndexer(self)

    @property
    def df(self) -> DataFrameIndexer:
        """Ranges with both ends, as a table of pandas."""
        return DataFrameIndexer(self)

    def label_index(self, labels: Sequence[str]) -> LabelIndexer:
        """Ranges of dimension labels."""
        return LabelIndexer(self, labels)

    @property
    def domain_index(self) -> Any:
        """Ranges of coordinates with both ends, with the coordinates in the result."""
        from .query import DomainIndexer

        return DomainIndexer(self)

    @property
    def dindex(self) -> Any:
        """The same as :attr:`domain_index`."""
        return self.domain_index

    def condition(self, cond: Any) -> Condition | None:
        """A condition for the fields of the array."""
        if cond is None or cond == "":
            return None
        if not isinstance(cond, str):
            raise TypeError("`cond` expects type str.")
        return QueryCondition(cond).bound(self.schema, self.enum)

    def _reads(self, what: str, modes: str = "r") -> None:
        if not self.isopen:
            raise TileDBError("Array is not opened")
        if self.mode not in modes:
            mode = {"w": "Write", "d": "Delete", "m": "Modify"}.get(self.mode, self.mode)
            raise TileDBError(f"{mode} mode is not supported for {what}")

    def _selected(
        self, key: Any, names: Sequence[str], order: str, cond: Any = None
    ) -> tuple[OrderedDict[str, Any], Box]:
        """The cells of a box, before axes are dropped."""
        ends = self.nonempty_domain() if any(dim.isvar for dim in self.domain) else None
        box = Box(self.schema, key, ends)
        # Without cells, dimensions of texts have no ends.
        box.ranges = [[] if isinstance(one, list) and one == [(None, None)] else one for one in box.ranges]
        cells = Cells(self._array, names, box.ranges, order, self.condition(cond))
        return cells.arrays(), box

    def _labelled(self, found: Any) -> Any:
        """Cells with the values of enumerations in place of their numbers."""
        for attr in self.schema:
            if attr.enum_label is not None and attr.name in found:
                found[attr.name] = labelled(found[attr.name], self.enum(attr.enum_label).values())
        return found

    def __repr__(self) -> str:
        if not self.isopen:
            return f"Array(uri={self.uri!r}, mode=closed)"
        kind = "Sparse" if self.schema.sparse else "Dense"
        return f"Array(type={kind}, uri={self.uri!r}, mode={self.mode}, ndim={self.schema.ndim})"

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.uri, self.mode, self.key, self.view_attr, self.timestamp_range, self.ctx.config().dict())

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        uri, mode, key, attr, times, config = state
        Array.__init__(self, uri, mode, key, times, attr, Ctx(Config(config)))


def _typed_ends(dim: Dim, ends: tuple[Any, Any]) -> tuple[Any, Any]:
    if dim.isvar:
        return (bytes_of(ends[0]), bytes_of(ends[1]))
    low, high = (np.asarray(end, dim.dtype)[()] for end in ends)
    return (low.item(), high.item()) if dim.dtype.kind in "iuf" else (low, high)


__all__ = ["Array"]
