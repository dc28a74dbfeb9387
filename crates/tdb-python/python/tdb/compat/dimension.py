"""Dimensions and domains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._schema import Dimension
from .._types import AnyArray
from .datatypes import DataType
from .dimension_label import DimLabelSchema
from .filter import FilterList, list_of
from .libtiledb import TileDBError


class Dim:
    """A dimension."""

    def __init__(
        self,
        name: str = "__dim_0",
        domain: Any = None,
        tile: Any = None,
        filters: Any = None,
        dtype: Any = np.uint64,
        var: bool | None = None,
        ctx: Any = None,
    ) -> None:
        found = DataType.from_numpy(dtype)
        own = found.np_dtype
        if own.kind not in "iufMS":
            raise TypeError(f"invalid Dim dtype {own!r}")
        if var and own.kind not in "SU":
            raise TypeError("'var=True' specified for non-str/bytes dtype")
        if domain is not None and len(domain) != 2:
            raise ValueError("invalid domain extent, must be a pair")
        self._name, self.filters = name, list_of(filters)
        if own.kind == "S":
            self._type, self._ends, self._tile = DataType.from_numpy("ascii"), None, None
            return
        low, high = found.domain
        if domain is not None and tuple(domain) != (None, None):
            if not (low <= domain[0] <= high and low <= domain[1] <= high):
                raise TypeError(f"invalid domain extent, domain cannot be safely cast to dtype {own!r}")
            low, high = domain
        ends = np.asarray((low, high), own)
        self._type, self._ends = found, (ends[0], ends[1])
        self._tile = None if tile is None else found.cast_tile_extent(tile)[()]
        self._check()

    def _check(self) -> None:
        assert self._ends is not None
        low, high = self._ends
        if self._type.np_dtype.kind == "f" and not (np.isfinite(low) and np.isfinite(high)):
            raise TileDBError(f"Cannot set domain; Domain of dimension {self._name!r} contains NaN or infinite values")
        if low > high:
            raise TileDBError(f"Cannot set domain; Lower domain bound of {self._name!r} should not exceed the upper one")
        if self._tile is None:
            return
        if not self._tile > 0:
            raise TileDBError("Tile extent check failed; Tile extent must be greater than 0")
        if self._type.np_dtype.kind == "f":
            return
        count = int(high.astype(np.int64)) - int(low.astype(np.int64)) if low.dtype.kind == "M" else int(high) - int(low)
        if int(self._tile) > count + 1:
            raise TileDBError("Tile extent check failed; Tile extent exceeds the range of the domain")

    @classmethod
    def _of(cls, own: Dimension, said: Any) -> Dim:
        made = cls.__new__(cls)
        made._name, made.filters = own.name, FilterList._of_said(said["filters"])
        made._type = DataType.from_tiledb(own.datatype)
        dtype = made._type.np_dtype
        made._ends, made._tile = None, None
        if own.domain is not None and dtype.kind != "S":
            made._ends = (np.asarray(own.domain[0], dtype)[()], np.asarray(own.domain[1], dtype)[()])
            made._tile = None if own.tile is None else made._type.cast_tile_extent(own.tile)[()]
        return made

    def _own(self) -> Dimension:
        """The same dimension in ``tdb``."""
        return Dimension(self._name, self._ends, self._type.name, self._tile, self.filters._said_all())

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type."""
        found: np.dtype[Any] = self._type.np_dtype
        return found

    @property
    def domain(self) -> tuple[Any, Any]:
        """The first and the last coordinate."""
        return ("", "") if self._ends is None else self._ends

    @property
    def tile(self) -> Any:
        """The extent of a tile; 0 if there is none."""
        if self._ends is None:
            return None
        return self._type.uncast_tile_extent(0 if self._tile is None else self._tile)

    @property
    def isvar(self) -> bool:
        """Whether the coordinates are texts."""
        return self._ends is None

    @property
    def isanon(self) -> bool:
        """Whether the dimension has no name of its own."""
        return self._name == "" or self._name.startswith("__dim")

    @property
    def shape(self) -> tuple[Any]:
        """The number of coordinates."""
        if self._ends is None or self.dtype.kind not in "iuM":
            raise TypeError("shape only valid for integer and datetime dimension domains")
        low, high = (int(end.astype(np.int64)) if self.dtype.kind == "M" else int(end) for end in self._ends)
        return (high - low + 1,)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        if self.dtype.kind not in "iu":
            raise TypeError("size only valid for integer dimension domains")
        return int(self.shape[0])

    def __len__(self) -> int:
        return self.size

    def __array__(self, dtype: Any = None, **_: Any) -> AnyArray:
        if self._ends is None or self.dtype.kind not in "iu":
            raise TypeError("conversion to numpy ndarray only valid for integer dimension domains")
        return np.arange(int(self._ends[0]), int(self._ends[1]) + 1, dtype=dtype or self.dtype)

    def create_label_schema(
        self, order: str = "increasing", dtype: Any = np.uint64, tile: Any = None, filters: Any = None
    ) -> DimLabelSchema:
        """What a label of this dimension is."""
        return DimLabelSchema(order, dtype, self.dtype, self.tile if tile is None and self.tile != 0 else tile, filters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dim):
            return False
        mine, theirs = ((one.name, one.domain, one.tile, one.dtype, one.isvar) for one in (self, other))
        return mine == theirs and self.filters == other.filters

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        filters = "" if not len(self.filters) else f", filters=FilterList([{''.join(repr(one) + ', ' for one in self.filters)}])"
        ends, var = ", ".join(map(_shown, self.domain)), ", var=True" if self.isvar else ""
        return f"Dim(name={self.name!r}, domain=({ends}), tile={_shown(self.tile)}, dtype='{self.dtype}'{var}{filters})"

    def _dump(self) -> str:
        """The dimension in several lines."""
        lines = {"Name": self.name, "Type": self._type.name, "Domain": self.domain, "Tile extent": self.tile}
        lines["Filters"] = ", ".join(map(repr, self.filters)) or "none"
        return "\n".join(["### Dimension ###", *(f"- {name}: {value}" for name, value in lines.items())])

    def dump(self) -> None:
        """Prints the dimension."""
        print(self._dump(), "\n")

    def _repr_html_row_only_(self) -> str:
        cells = [self.name, self.domain, self.tile, self.dtype, self.isvar, self.filters._repr_html_()]
        return "<tr>" + "".join(f"<td>{one}</td>" for one in cells) + "</tr>"

    def _repr_html_(self) -> str:
        return f"<table><tr>{_HEAD}</tr>{self._repr_html_row_only_()}</table>"


_HEAD = "".join(f"<th>{one}</th>" for one in ("Name", "Domain", "Tile", "Data Type", "Is Var-Len", "Filters"))


def _shown(value: Any) -> str:
    """A value as programs write it."""
    if isinstance(value, np.datetime64):
        return f"numpy.datetime64('{value}')"
    if isinstance(value, np.timedelta64):
        return f"numpy.timedelta64({int(value.astype(np.int64))},'{np.datetime_data(value.dtype)[0]}')"
    return repr(value.item() if isinstance(value, np.generic) else value)


class Domain:
    """The dimensions."""

    def __init__(self, *dims: Any, ctx: Any = None) -> None:
        given: list[Dim] = list(dims[0]) if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else list(dims)
        if not given:
            raise TileDBError("Domain must have ndim >= 1")
        for one in given:
            if not isinstance(one, Dim):
                raise TypeError("Cannot create Domain with non-Dim value for 'dims' argument")
        if len(given) > 1 and all(one.name == "__dim_0" for one in given):
            given = [_renamed(one, f"__dim_{at}") for at, one in enumerate(given)]
        elif any(one.name.startswith("__dim_0") for one in given[1:]):
            raise TileDBError("Mixed dimension naming: dimensions must be either all anonymous or all named.")
        self._dims = given

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._dims)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of all dimensions."""
        if not self.homogeneous:
            raise TileDBError("Domain has heterogeneous dimensions")
        return self._dims[0].dtype

    @property
    def homogeneous(self) -> bool:
        """Whether all dimensions have the same type."""
        return len({one.dtype for one in self._dims}) == 1

    @property
    def shape(self) -> tuple[Any, ...]:
        """The number of coordinates of each dimension."""
        if not all(one.dtype.kind in "iuM" for one in self._dims):
            raise TypeError("shape valid only for integer and datetime dimension domains")
        return tuple(one.shape[0] for one in self._dims)

    @property
    def size(self) -> int:
        """The number of cells."""
        if not all(one.dtype.kind in "iu" for one in self._dims):
            raise TypeError("shape valid only for integer dimension domains")
        return int(np.prod(self.shape, dtype=object))

    def dim(self, dim_id: Any) -> Dim:
        """A dimension by its name or number."""
        if isinstance(dim_id, (str, bytes)):
            wanted = dim_id.decode() if isinstance(dim_id, bytes) else dim_id
            for one in self._dims:
                if one.name == wanted:
                    return one
            raise TileDBError(f"Cannot get dimension: there is no dimension {dim_id!r}")
        if not isinstance(dim_id, (int, np.integer)):
            raise ValueError(f"Unsupported dim identifier: '{dim_id!r}' (expected int or str)")
        if not 0 <= dim_id < self.ndim:
            raise TileDBError(f"Cannot get dimension: there is no dimension number {dim_id}")
        return self._dims[int(dim_id)]

    def has_dim(self, name: str) -> bool:
        """Whether there is a dimension of this name."""
        return any(one.name == name for one in self._dims)

    def __len__(self) -> int:
        return self.ndim

    def __iter__(self) -> Iterator[Dim]:
        return iter(self._dims)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self._dims == other._dims

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        dims = ",\n       ".join(map(repr, self._dims))
        return f"Domain({dims})"

    def _repr_html_(self) -> str:
        return f"<table><tr>{_HEAD}</tr>{''.join(one._repr_html_row_only_() for one in self._dims)}</table>"

    def dump(self) -> None:
        """Prints the dimensions."""
        print(*(one._dump() for one in self._dims), sep="\n")


def _renamed(dim: Dim, name: str) -> Dim:
    made = Dim.__new__(Dim)
    made.__dict__.update(dim.__dict__, _name=name)
    return made


__all__ = ["Dim", "Domain"]
