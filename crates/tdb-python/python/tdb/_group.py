"""Groups of arrays and groups."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from . import _tdb
from ._array import Array, Key, Location, Metadata, Storage, place
from ._errors import WriteError
from ._show import group_html
from ._types import Time, Window, milliseconds, window


def remove_member(where: _tdb.Place, name: str, time: int | None) -> None:
    """Removes a member by its name, its location as it was given, or its path."""
    try:
        _tdb.group_update(where, [], [name], time)
    except WriteError:
        if "://" in name or not os.path.isabs(name):
            raise
        # Absolute paths are stored as URLs.
        _tdb.group_update(where, [], ["file://" + name], time)


@dataclass(frozen=True)
class Member:
    """A member of a group."""

    #: Its name in the group; ``None`` if it has none.
    name: str | None
    #: Where it is.
    uri: str
    #: What is there: ``"array"``, ``"group"``, ``"missing"``, …
    kind: str


class Group:
    """A group at a time.

    >>> group = tdb.Group.create(scratch / "all")
    >>> group.add(str(fixtures / "quickstart"), name="quick")
    >>> [(member.name, member.kind) for member in group]
    [('quick', 'array')]
    >>> group["quick"][1, 1]
    np.int32(1)
    """

    def __init__(
        self, uri: Location, at: Window = None, *, key: Key = None, storage: Storage = None, threads: int | None = None
    ) -> None:
        self._place = place(uri, storage, key, threads)
        self._opened = (storage, key, threads)
        self._at = window(at)
        self._members = [Member(*one) for one in _tdb.group_members(self._place, self._at)]

    @classmethod
    def create(cls, uri: Location, *, at: Time | None = None, key: Key = None, storage: Storage = None) -> Group:
        """Creates an empty group, and opens it."""
        _tdb.create_group(place(uri, storage, key, None), None if at is None else milliseconds(at))
        return cls(uri, key=key, storage=storage)

    @property
    def uri(self) -> str:
        """The location."""
        return self._place.uri

    @property
    def meta(self) -> Metadata:
        """Key-value metadata, as a dictionary that can be written to."""
        return Metadata(self._place, self._at)

    @property
    def members(self) -> list[Member]:
        """The members."""
        return list(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        return any(member.name == name for member in self._members)

    def __getitem__(self, name: str) -> Array | Group:
        """The member of a name, opened at the same time."""
        for member in self._members:
            if member.name == name:
                storage, key, threads = self._opened
                if member.kind == "group":
                    return Group(member.uri, self._at, key=key, storage=storage, threads=threads)
                return Array(place(member.uri, storage, key, threads), at=self._at)
        raise KeyError(name)

    def add(self, uri: Location, name: str | None = None, *, relative: bool = False, at: Time | None = None) -> None:
        """Adds an array or a group. A relative location stays valid if both are moved together."""
        self._change([(str(uri), name, relative)], at)

    def remove(self, name: str, *, at: Time | None = None) -> None:
        """Removes a member, by its name or its location. What it is remains."""
        self._change([], at, [name])

    def publish(self) -> dict[str, Any]:
        """Writes the manifest of the group itself: see :meth:`Array.publish`. Members have manifests of their own."""
        made: dict[str, Any] = json.loads(_tdb.publish(self._place))
        return made

    def _change(
        self, add: list[tuple[str, str | None, bool]], at: Time | None, remove: Sequence[str] = ()
    ) -> None:
        time = None if at is None else milliseconds(at)
        if add:
            _tdb.group_update(self._place, add, [], time)
        for name in remove:
            remove_member(self._place, name, time)
        if self._at is None:
            self._members = [Member(*one) for one in _tdb.group_members(self._place, None)]

    def __reduce__(self) -> tuple[Any, ...]:
        return Group, (self.uri, self._at)

    def __repr__(self) -> str:
        return f"<tdb.Group {self.uri!r}>"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return group_html(self)
