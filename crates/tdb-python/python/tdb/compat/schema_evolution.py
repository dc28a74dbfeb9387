"""Changes of schemas."""

from __future__ import annotations

import json
from typing import Any

from .. import _tdb
from .._types import json_value
from .attribute import Attr
from .ctx import Ctx, ctx_of
from .current_domain import CurrentDomain
from .enumeration import Enumeration
from .libtiledb import TileDBError


class ArraySchemaEvolution:
    """What is to be changed: :meth:`array_evolve` does it."""

    def __init__(self, ctx: Ctx | None = None) -> None:
        self._ctx = ctx
        self._add: list[Attr] = []
        self._drop: list[str] = []
        self._enumerations: list[Enumeration] = []
        self._dropped: list[str] = []
        self._extended: list[Enumeration] = []
        self._current: CurrentDomain | None = None
        self._time: int | None = None

    def add_attribute(self, attr: Attr) -> None:
        """A new attribute."""
        if not isinstance(attr, Attr):
            raise TypeError(f"an Attr is expected, not {type(attr)}")
        if any(one.name == attr.name for one in self._add):
            raise TileDBError(f"Cannot add attribute; {attr.name!r} is added twice")
        self._add.append(attr)

    def drop_attribute(self, attr_name: str) -> None:
        """An attribute that goes."""
        self._drop.append(attr_name)

    def add_enumeration(self, enmr: Enumeration) -> None:
        """A new enumeration."""
        if any(one.name == enmr.name for one in self._enumerations):
            raise TileDBError(f"Cannot add enumeration; {enmr.name!r} is added twice")
        self._enumerations.append(enmr)

    def drop_enumeration(self, enmr_name: str) -> None:
        """An enumeration that goes."""
        self._dropped.append(enmr_name)

    def extend_enumeration(self, enmr: Enumeration) -> None:
        """An enumeration with more values than before."""
        self._extended.append(enmr)

    def expand_current_domain(self, current_domain: CurrentDomain) -> None:
        """A greater current domain."""
        self._current = current_domain

    def timestamp(self, timestamp: int) -> None:
        """The time of the change."""
        if not isinstance(timestamp, int):
            raise ValueError("'timestamp' argument expects int")
        self._time = timestamp

    def array_evolve(self, uri: Any) -> None:
        """Changes the schema of an array."""
        from .array import place_of
        from .array import Array

        ctx = ctx_of(self._ctx)
        said: dict[str, Any] = {
            "add": [one._own().to_json() for one in self._add],
            "drop": self._drop,
            "add_enumerations": [one._own().to_json() for one in self._enumerations],
            "drop_enumerations": self._dropped,
            "extend_enumerations": [],
            "upgrade": False,
        }
        if self._extended:
            with Array.load_typed(uri, ctx=ctx) as array:
                for enmr in self._extended:
                    said["extend_enumerations"].append({"name": enmr.name, "values": _added(array.enum(enmr.name), enmr)})
        if self._current is not None:
            rectangle = self._current.ndrectangle
            ranges = {one.name: rectangle.range(at) for at, one in enumerate(rectangle._domain)}
            types = {one.name: one._own().datatype for one in rectangle._domain}
            said["expand"] = {name: [json_value(types[name], end) for end in ends] for name, ends in ranges.items()}
        _tdb.evolve(place_of(uri, ctx), json.dumps(said), self._time)


def _added(known: Enumeration, wanted: Enumeration) -> list[Any]:
    """The values that an enumeration has in addition."""
    own = known._own()
    before, after = own.values, wanted._own().values
    if list(after[: len(before)]) != list(before):
        raise TileDBError(f"the enumeration {wanted.name!r} does not begin with the values that the array has")
    return [json_value(own.datatype, one) for one in after[len(before) :]]


__all__ = ["ArraySchemaEvolution"]
