"""The part of the domain that an array uses, which may grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dimension import Domain
from .libtiledb import CurrentDomainType, TileDBError


class NDRectangle:
    """A range of each dimension."""

    def __init__(self, ctx: Any, domain: Domain) -> None:
        self._domain = domain
        self._ranges: list[tuple[Any, Any] | None] = [None] * domain.ndim

    def _at(self, dim: Any) -> int:
        if isinstance(dim, str):
            for at, one in enumerate(self._domain):
                if one.name == dim:
                    return at
            raise TileDBError(f"there is no dimension {dim!r}")
        if not 0 <= int(dim) < self._domain.ndim:
            raise TileDBError(f"there is no dimension number {dim}")
        return int(dim)

    def set_range(self, dim: Any, start: Any, end: Any) -> None:
        """Sets the range of a dimension; both ends belong to it."""
        at = self._at(dim)
        own = self._domain.dim(at)
        if own.isvar != isinstance(start, (str, bytes)) or own.isvar != isinstance(end, (str, bytes)):
            raise TileDBError(f"the range ({start!r}, {end!r}) does not fit dimension {own.name!r}")
        if own.dtype.kind in "iu" and any(isinstance(one, (float, np.floating)) for one in (start, end)):
            raise TileDBError(f"the range ({start!r}, {end!r}) does not fit dimension {own.name!r}, which has integers")
        if start > end:
            raise TileDBError(f"the range of dimension {own.name!r} ends before it begins")
        self._ranges[at] = (start, end)

    def range(self, dim: Any) -> tuple[Any, Any]:
        """The range of a dimension."""
        at = self._at(dim)
        found, own = self._ranges[at], self._domain.dim(at)
        if found is None:
            raise TileDBError(f"dimension {own.name!r} has no range yet")
        if own.isvar:
            return found
        low, high = (np.asarray(end, own.dtype)[()] for end in found)
        return (low, high) if own.dtype.kind == "M" else (low.item(), high.item())

    def __str__(self) -> str:
        shown = (f"{one.name}: {self.range(at)}" for at, one in enumerate(self._domain))
        return f"NDRectangle({', '.join(shown)})"


class CurrentDomain:
    """The current domain: empty, or a rectangle."""

    def __init__(self, ctx: Any = None) -> None:
        self._rectangle: NDRectangle | None = None

    @property
    def type(self) -> CurrentDomainType:
        """The kind of the current domain."""
        return CurrentDomainType.NDRECTANGLE

    @property
    def is_empty(self) -> bool:
        """Whether there is none: then the whole domain is used."""
        return self._rectangle is None

    def set_ndrectangle(self, ndrect: NDRectangle) -> None:
        """Sets the rectangle."""
        self._rectangle = ndrect

    @property
    def ndrectangle(self) -> NDRectangle:
        """The rectangle."""
        if self._rectangle is None:
            raise TileDBError("the current domain is empty")
        return self._rectangle


__all__ = ["CurrentDomain", "NDRectangle"]
