"""Schemas: what the cells of an array are."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, Union

import numpy as np

from . import _tdb
from ._show import schema_html, schema_text
from ._types import date_of, datatype_name, is_text, json_value, number_dtype, ticks, value_of_json

#: Filters: one line such as ``"byteshuffle, zstd(level 5)"``, or a list of names and objects as ``tdb info --json`` has.
#: An object with such a list as ``filters``, and ``max_chunk_size``, says also the size of the chunks that they are applied to.
Filters: TypeAlias = Union[str, Mapping[str, Any], Sequence[Union[str, Mapping[str, Any]]]]


def _filters(filters: Filters) -> Any:
    if isinstance(filters, Mapping):
        return dict(filters)
    if isinstance(filters, str):
        found: list[Any] = json.loads(_tdb.filters_of_text(filters))
        return found
    return [one if isinstance(one, str) else dict(one) for one in filters]


@dataclass(frozen=True)
class Dimension:
    """A dimension: its coordinates, and the tiles that they are cut into.

    ``domain`` has the first and the last coordinate, both of which belong to it; texts have none. ``tile`` is the number
    of coordinates of a tile.

    >>> tdb.Dimension("day", domain=("2020-01-01", "2029-12-31"), dtype="datetime64[D]", tile=365)
    Dimension(name='day', domain=(np.datetime64('2020-01-01'), np.datetime64('2029-12-31')), dtype='DATETIME_DAY', tile=365, filters=[])
    """

    name: str
    domain: tuple[Any, Any] | None = None
    dtype: Any = "int64"
    tile: Any = None
    filters: Filters = ()

    def __post_init__(self) -> None:
        datatype = datatype_name(self.dtype)
        if datatype in ("STRING_UTF8", "BLOB"):
            # The only texts that the format has as coordinates.
            datatype = "STRING_ASCII"
        object.__setattr__(self, "dtype", datatype)
        object.__setattr__(self, "filters", _filters(self.filters))
        if self.domain is not None:
            low, high = (_end(datatype, end) for end in self.domain)
            object.__setattr__(self, "domain", (low, high))

    @property
    def datatype(self) -> str:
        """The name of the datatype in the format."""
        return str(self.dtype)

    def to_json(self) -> dict[str, Any]:
        """The notation of ``tdb info --json``."""
        ends = None if self.domain is None else [json_value(self.datatype, end) for end in self.domain]
        found = {"name": self.name, "datatype": self.datatype, "domain": ends, "filters": self.filters}
        return found if self.tile is None else {**found, "extent": extent_value(self.datatype, self.tile)}

    @classmethod
    def _of_json(cls, said: Mapping[str, Any]) -> Dimension:
        ends = said["domain"]
        domain = None if ends is None else (value_of_json(said["datatype"], ends[0]), value_of_json(said["datatype"], ends[1]))
        return cls(said["name"], domain, said["datatype"], said["extent"], said["filters"])


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute: values that every cell has.

    ``values`` is the number of values per cell, or ``"var"`` if it differs from cell to cell, which is the default for
    texts and bytes. ``enumeration`` names a list of values (see :class:`Enumeration`); the attribute then has the numbers
    of their places.

    >>> tdb.Attribute("rain", "float32", nullable=True, filters="byteshuffle, zstd(5)").datatype
    'FLOAT32'
    """

    name: str
    dtype: Any = "float64"
    values: int | str | None = None
    nullable: bool = False
    fill: Any = None
    enumeration: str | None = None
    filters: Filters = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", datatype_name(self.dtype))
        object.__setattr__(self, "filters", _filters(self.filters))

    @property
    def datatype(self) -> str:
        """The name of the datatype in the format."""
        return str(self.dtype)

    def to_json(self) -> dict[str, Any]:
        """The notation of ``tdb info --json``."""
        found: dict[str, Any] = {
            "name": self.name,
            "datatype": self.datatype,
            "nullable": self.nullable,
            "filters": self.filters,
        }
        if self.values is not None:
            found["cell_val_num"] = self.values
        if self.fill is not None:
            found["fill_value"] = json_value(self.datatype, self.fill)
        if self.enumeration is not None:
            found["enumeration"] = self.enumeration
        return found

    def __eq__(self, other: object) -> bool:
        # As JSON, because a fill value may be "not a number", which equals nothing.
        return isinstance(other, Attribute) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.name, self.datatype))

    @classmethod
    def _of_json(cls, said: Mapping[str, Any]) -> Attribute:
        return cls(
            said["name"],
            said["datatype"],
            said["cell_val_num"],
            said["nullable"],
            value_of_json(said["datatype"], said["fill_value"]),
            said["enumeration"],
            said["filters"],
        )


@dataclass(frozen=True)
class Enumeration:
    """A list of values that attributes refer to by their numbers.

    >>> tdb.Enumeration("sky", ["clear", "cloudy"]).datatype
    'STRING_UTF8'
    """

    name: str
    values: Sequence[Any]
    ordered: bool = False
    dtype: Any = None
    #: The number of values of the type in each, or ``"var"``; without it, what the type has mostly.
    length: int | str | None = None

    def __post_init__(self) -> None:
        dtype = self.dtype
        if dtype is None:
            first = self.values[0] if len(self.values) else ""
            dtype = str if isinstance(first, str) else bytes if isinstance(first, bytes) else np.asarray(self.values).dtype
        object.__setattr__(self, "dtype", datatype_name(dtype))

    @property
    def datatype(self) -> str:
        """The name of the datatype in the format."""
        return str(self.dtype)

    def to_json(self) -> dict[str, Any]:
        """The notation of ``tdb info --json``."""
        values = [json_value(self.datatype, one) for one in self.values]
        found: dict[str, Any] = {"name": self.name, "datatype": self.datatype, "ordered": self.ordered, "values": values}
        return found if self.length is None else {**found, "cell_val_num": self.length}


@dataclass(frozen=True)
class Field:
    """What reading and writing need to know about a field."""

    name: str
    datatype: str
    values_per_cell: int
    var: bool
    nullable: bool
    enumeration: str | None = None


@dataclass(frozen=True, repr=False)
class Schema:
    """What an array is: dense or sparse, its dimensions and attributes.

    A new schema is checked by all rules of the format, and everything that was left out gets its default.

    >>> schema = tdb.Schema(
    ...     "dense",
    ...     [tdb.Dimension("row", (1, 4), "int32", tile=2), tdb.Dimension("column", (1, 3), "int32", tile=3)],
    ...     [tdb.Attribute("a", "int32")],
    ... )
    >>> schema.shape
    (4, 3)
    >>> schema.attribute("a").nullable
    False
    """

    kind: str
    dimensions: Sequence[Dimension]
    attributes: Sequence[Attribute]
    enumerations: Sequence[Enumeration] = ()
    cell_order: str | None = None
    tile_order: str | None = None
    capacity: int | None = None
    duplicates: bool = False
    offsets_filters: Filters | None = None
    validity_filters: Filters | None = None
    coords_filters: Filters | None = None
    current_domain: Sequence[tuple[Any, Any]] | None = None
    version: int | None = None
    #: Labels of dimensions, as ``tdb info --json`` has them: name, dimension, datatype, order.
    labels: Sequence[Mapping[str, Any]] = ()
    #: The whole description, in the notation of ``tdb info --json``.
    said: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.said:
            object.__setattr__(self, "said", json.loads(_tdb.check_schema(json.dumps(self._asked()))))
        said = self.said
        ends = said["current_domain"]
        dimensions = tuple(Dimension._of_json(one) for one in said["dimensions"])
        current = None
        if ends is not None:
            current = tuple(
                tuple(value_of_json(own.datatype, end) for end in pair) for own, pair in zip(dimensions, ends)
            )
        for name, value in {
            "dimensions": dimensions,
            "attributes": tuple(Attribute._of_json(one) for one in said["attributes"]),
            "enumerations": tuple(self.enumerations),
            "cell_order": said["cell_order"],
            "tile_order": said["tile_order"],
            "capacity": said["capacity"],
            "duplicates": said["allows_duplicates"],
            "offsets_filters": said["offsets_filters"],
            "validity_filters": said["validity_filters"],
            "coords_filters": said["coords_filters"],
            "current_domain": current,
            "version": said["version"],
            "labels": tuple(said["labels"]),
        }.items():
            object.__setattr__(self, name, value)

    def _asked(self) -> dict[str, Any]:
        """What was given, in the notation of ``tdb create``."""
        found: dict[str, Any] = {
            "type": self.kind,
            "dimensions": [one.to_json() for one in self.dimensions],
            "attributes": [one.to_json() for one in self.attributes],
            "enumerations": [one.to_json() for one in self.enumerations],
            "allows_duplicates": self.duplicates,
        }
        for name in ("cell_order", "tile_order", "capacity", "version"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        for name in ("offsets_filters", "validity_filters", "coords_filters"):
            if getattr(self, name) is not None:
                found[name] = _filters(getattr(self, name))
        if self.labels:
            found["labels"] = [dict(one) for one in self.labels]
        if self.current_domain is not None:
            pairs = zip(self.dimensions, self.current_domain)
            found["current_domain"] = [[json_value(own.datatype, end) for end in pair] for own, pair in pairs]
        return found

    @classmethod
    def of_json(cls, said: str | Mapping[str, Any]) -> Schema:
        """A schema in the notation of ``tdb info --json`` and ``tdb create``."""
        text = said if isinstance(said, str) else json.dumps(said)
        whole = json.loads(_tdb.check_schema(text))
        enumerations = [
            Enumeration(one["name"], one["values"], one["ordered"], one["datatype"], one["cell_val_num"])
            for one in whole["enumerations"]
        ]
        return cls(whole["type"], (), (), enumerations, said=whole)

    @classmethod
    def _opened(cls, said: Mapping[str, Any]) -> Schema:
        return cls(said["type"], (), (), said=dict(said))

    def to_json(self) -> dict[str, Any]:
        """The whole schema in the notation of ``tdb info --json``."""
        return {**self.said, "enumerations": [one.to_json() for one in self.enumerations] or self.said["enumerations"]}

    def __repr__(self) -> str:
        return schema_text(self)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return schema_html(self)

    @property
    def dense(self) -> bool:
        """Whether every cell of the domain exists."""
        return self.kind == "dense"

    @property
    def sparse(self) -> bool:
        """Whether only the cells that were written exist."""
        return self.kind == "sparse"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dimensions)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of coordinates of each dimension; not for dimensions of real numbers and texts."""
        return tuple(int(json_value_of(high)) - int(json_value_of(low)) + 1 for low, high in self._ends())

    def _ends(self) -> list[tuple[Any, Any]]:
        ends = []
        for at, own in enumerate(self.dimensions):
            pair = own.domain if self.current_domain is None else self.current_domain[at]
            dtype = number_dtype(own.datatype)
            if pair is None or dtype is None or dtype.kind == "f":
                raise TypeError(f"dimension {own.name!r} has no number of coordinates: its type is {own.datatype}")
            ends.append((pair[0], pair[1]))
        return ends

    @property
    def names(self) -> list[str]:
        """The names of all dimensions and attributes."""
        return [one.name for one in self.dimensions] + [one.name for one in self.attributes]

    def dimension(self, name: str) -> Dimension:
        """The dimension of a name."""
        return {one.name: one for one in self.dimensions}[name]

    def attribute(self, name: str) -> Attribute:
        """The attribute of a name."""
        return {one.name: one for one in self.attributes}[name]

    def field(self, name: str) -> Field | None:
        """What reading and writing need to know about a field; ``None`` if there is no such field."""
        for said in self.said["dimensions"]:
            if said["name"] == name:
                return _field(said, False, None)
        for said in self.said["attributes"]:
            if said["name"] == name:
                return _field(said, said["nullable"], said["enumeration"])
        for said in self.said["labels"]:
            if said["name"] == name:
                return _field(said, False, None)
        return None


def _end(datatype: str, end: Any) -> Any:
    """A coordinate in the type of its dimension."""
    dtype = number_dtype(datatype)
    if dtype is not None and dtype.kind in "mM":
        return date_of(ticks(end, dtype), dtype)
    return value_of_json(datatype, json_value(datatype, end))


def extent_value(datatype: str, tile: Any) -> Any:
    """The extent of a tile in the notation of schemas in JSON: of dates it is a number of units, or a time."""
    if isinstance(tile, (np.timedelta64, datetime.timedelta)):
        unit = np.datetime_data(number_dtype(datatype) or np.dtype("m8"))[0]
        return ticks(tile, np.dtype(f"m8[{unit}]"))
    return json_value(datatype, tile)


def json_value_of(end: Any) -> Any:
    """A coordinate as a number."""
    return end.astype(np.int64) if isinstance(end, (np.datetime64, np.timedelta64)) else end


def _field(said: Mapping[str, Any], nullable: bool, enumeration: str | None) -> Field:
    count = said["cell_val_num"]
    var = count == "var"
    return Field(said["name"], said["datatype"], 1 if var else int(count), var, nullable, enumeration)


def text_dimension(dimension: Dimension) -> bool:
    """Whether the coordinates are texts."""
    return is_text(dimension.datatype)
