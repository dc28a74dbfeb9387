"""Schemas."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._schema import Schema
from .attribute import Attr, dump_of, visible
from .ctx import Ctx, path_of
from .current_domain import CurrentDomain, NDRectangle
from .dimension import Dim, Domain
from .dimension_label import DimLabel
from .enumeration import Enumeration
from .filter import FilterList, list_of
from .libtiledb import TileDBError

_ORDERS = {"C": "row-major", "F": "col-major", "hilbert": "hilbert", None: "row-major"}


def _order(name: Any) -> str:
    if name not in _ORDERS and name not in _ORDERS.values():
        raise ValueError(f"unknown tiledb layout: {name}")
    return str(_ORDERS.get(name, name))


class ArraySchema:
    """What an array is: dense or sparse, its dimensions and attributes."""

    def __init__(
        self,
        domain: Domain | None = None,
        attrs: Sequence[Attr] = (),
        cell_order: Any = "row-major",
        tile_order: Any = "row-major",
        capacity: int = 0,
        coords_filters: Any = None,
        offsets_filters: Any = None,
        validity_filters: Any = None,
        allows_duplicates: bool = False,
        sparse: bool = False,
        dim_labels: Any = None,
        enums: Sequence[Enumeration] | None = None,
        ctx: Ctx | None = None,
    ) -> None:
        if not isinstance(domain, Domain):
            raise TypeError("'domain' must be an instance of Domain (domain is: %s)" % type(domain))
        for attr in attrs or ():
            if not isinstance(attr, Attr):
                raise TypeError(f"Cannot create schema attribute with non-Attr type {type(attr)}")
        labels = [
            one._said(name, int(at)) for at, of_dim in (dim_labels or {}).items() for name, one in of_dim.items()
        ]
        if coords_filters is not None:
            warnings.warn("coords_filters is deprecated; set the FilterList for each dimension", DeprecationWarning, 2)
            for one in domain:
                one.filters = list_of(coords_filters)
        self._loaded = False
        self._base: str | None = None
        order, tile_order = _order(cell_order), None if cell_order == "hilbert" else _order(tile_order)
        filters = {"offsets_filters": offsets_filters, "validity_filters": validity_filters}
        said = {name: list_of(one)._said_all() for name, one in filters.items() if one is not None}
        self._own = Schema(
            "sparse" if sparse else "dense",
            [one._own() for one in domain],
            [one._own() for one in attrs or ()],
            [one._own() for one in enums or ()],
            cell_order=order,
            tile_order=tile_order,
            capacity=int(capacity) or None,
            duplicates=bool(allows_duplicates),
            # What is given for all dimensions was given to each of them.
            coords_filters=None if coords_filters is None else [],
            labels=labels,
            **said,
        )

    @classmethod
    def _of(cls, own: Schema, base: str | None = None) -> ArraySchema:
        made = cls.__new__(cls)
        made._own, made._loaded, made._base = own, True, base
        return made

    @classmethod
    def load(cls, uri: Any, ctx: Ctx | None = None, key: Any = None) -> ArraySchema:
        """The schema of an array."""
        from .array import opened

        return cls._of(opened(uri, ctx, key).schema, path_of(uri))

    @classmethod
    def from_file(cls, uri: Any = None, ctx: Ctx | None = None) -> ArraySchema:
        """Arrays of files cannot be made here."""
        raise NotImplementedError("arrays of files (Filestore) are not supported")

    def check(self) -> bool:
        """A schema is checked when it is made."""
        return True

    @property
    def domain(self) -> Domain:
        """The dimensions."""
        said = self._own.said["dimensions"]
        dims = [Dim._of(own, one) for own, one in zip(self._own.dimensions, said)]
        if self._loaded:
            # Dimensions without filters of their own have those of all coordinates.
            dims = [one if len(one.filters) else _with_filters(one, self.coords_filters) for one in dims]
        return Domain(*dims)

    @property
    def sparse(self) -> bool:
        """Whether the array is sparse."""
        return self._own.sparse

    @property
    def nattr(self) -> int:
        """The number of attributes."""
        return len(self._own.attributes)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._own.ndim

    @property
    def shape(self) -> tuple[Any, ...]:
        """The number of coordinates of each dimension."""
        return self.domain.shape

    @property
    def capacity(self) -> int:
        """The number of cells of a tile of a sparse array."""
        return int(self._own.said["capacity"] or 0)

    @property
    def allows_duplicates(self) -> bool:
        """Whether several cells may have the same coordinates."""
        if not self.sparse:
            raise TileDBError("ArraySchema.allows_duplicates does not apply to dense arrays")
        return self._own.duplicates

    @property
    def version(self) -> int:
        """The version of the format."""
        return int(self._own.version or 0)

    @property
    def cell_order(self) -> str:
        """The order of cells inside of a tile."""
        return str(self._own.cell_order)

    @property
    def tile_order(self) -> str | None:
        """The order of tiles."""
        return None if self.cell_order == "hilbert" else str(self._own.tile_order)

    @property
    def coords_filters(self) -> FilterList:
        """The filters of dimensions that have none of their own."""
        return FilterList._of_said(self._own.said["coords_filters"])

    @coords_filters.setter
    def coords_filters(self, value: Any) -> None:
        warnings.warn("coords_filters is deprecated; set the FilterList for each dimension", DeprecationWarning, 2)

    @property
    def offsets_filters(self) -> FilterList:
        """The filters of offsets."""
        return FilterList._of_said(self._own.said["offsets_filters"])

    @property
    def validity_filters(self) -> FilterList:
        """The filters of what says which cells are null."""
        return FilterList._of_said(self._own.said["validity_filters"])

    @property
    def attr_names(self) -> list[str]:
        """The names of the attributes."""
        return [visible(own.name) for own in self._own.attributes]

    def attr(self, key: Any) -> Attr:
        """An attribute by its name or number."""
        if isinstance(key, str):
            names = self.attr_names
            name = visible(key)
            if name not in names:
                raise TileDBError(f"Attribute does not exist: '{key}'")
            key = names.index(name)
        if not isinstance(key, (int, np.integer)):
            raise TypeError(f"attr indices must be a string name, or an integer index, not {type(key)!r}")
        if not 0 <= key < self.nattr:
            raise TileDBError(f"there is no attribute number {key}")
        return Attr._of(self._own.attributes[int(key)], self._own.said["attributes"][int(key)])

    def has_attr(self, name: str) -> bool:
        """Whether there is an attribute of this name."""
        return visible(name) in self.attr_names

    def dim_label(self, name: str) -> DimLabel:
        """A label by its name."""
        for said in self._own.said["labels"]:
            if said["name"] == name:
                return DimLabel(said, self._base)
        raise TileDBError(f"there is no dimension label {name!r}")

    def has_dim_label(self, name: str) -> bool:
        """Whether there is a label of this name."""
        return any(label["name"] == name for label in self._own.said["labels"])

    def attr_or_dim_dtype(self, name: str) -> np.dtype[Any]:
        """The numpy type of an attribute or a dimension; texts have one with a length."""
        if self.has_attr(name):
            found = self.attr(name).dtype
        elif self.domain.has_dim(name):
            found = self.domain.dim(name).dtype
        else:
            raise TileDBError(f"Unknown attribute or dimension ('{name}')")
        return np.dtype((found, 1)) if found.itemsize == 0 else found

    @property
    def current_domain(self) -> CurrentDomain:
        """The part of the domain that is used."""
        found = CurrentDomain()
        if self._own.current_domain is not None:
            rectangle = NDRectangle(None, self.domain)
            for at, (low, high) in enumerate(self._own.current_domain):
                rectangle.set_range(at, low, high)
            found.set_ndrectangle(rectangle)
        return found

    def set_current_domain(self, current_domain: CurrentDomain) -> None:
        """Sets the part of the domain that is used."""
        rectangle = current_domain.ndrectangle
        own = self._own
        self._own = Schema(
            own.kind, own.dimensions, own.attributes, own.enumerations, own.cell_order, own.tile_order, own.capacity,
            own.duplicates, own.offsets_filters, own.validity_filters, own.coords_filters,
            [rectangle.range(at) for at in range(own.ndim)], own.version, own.labels,
        )  # fmt: skip

    def __len__(self) -> int:
        return self.nattr

    def __iter__(self) -> Iterator[Attr]:
        return (self.attr(at) for at in range(self.nattr))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArraySchema):
            return False
        names = ("sparse", "cell_order", "tile_order", "capacity", "coords_filters", "offsets_filters", "validity_filters")
        if any(getattr(self, name) != getattr(other, name) for name in names) or self.nattr != other.nattr:
            return False
        if self.domain != other.domain or (self.sparse and self.allows_duplicates != other.allows_duplicates):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        dims = "".join(f"    {one!r},\n" for one in self.domain)
        attrs = "".join(f"    {one!r},\n" for one in self)
        tail = f"  cell_order='{self.cell_order}',\n  tile_order={self.tile_order!r},\n"
        tail += f"  capacity={self.capacity},\n  sparse=True,\n" if self.sparse else "  sparse=False,\n"
        tail += f"  allows_duplicates={self.allows_duplicates},\n" if self.sparse else ""
        return f"ArraySchema(\n  domain=Domain(*[\n{dims}  ]),\n  attrs=[\n{attrs}  ],\n{tail})\n"

    def _repr_html_(self) -> str:
        rows = "".join(one._repr_html_row_only_() for one in self)
        return f"<div>{self.domain._repr_html_()}<table>{rows}</table></div>"

    def dump(self) -> None:
        """Prints the schema."""
        print(repr(self), *(one._dump() for one in self.domain), *(dump_of(one) for one in self), sep="\n")


def _with_filters(dim: Dim, filters: FilterList) -> Dim:
    made = Dim.__new__(Dim)
    made.__dict__.update(dim.__dict__)
    made.filters = filters
    return made


__all__ = ["ArraySchema"]
