"""What objects have that are groups: members by name, which are opened when they are wanted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from ... import _tdb
from ..._group import Group
from . import locations
from .exceptions import SOMAError, translated
from .metadata import SOMAMetadata
from .soma_object import SOMAObject

Child = TypeVar("Child", bound=SOMAObject)
Self = TypeVar("Self", bound="SOMAGroup")

_TYPES = {"group": "SOMAGroup", "array": "SOMAArray"}


@dataclass
class _Member:
    """A member: where it is, what it is, and the object if it is open."""

    uri: str
    kind: str
    opened: SOMAObject | None = None


class SOMAGroup(SOMAObject, MutableMapping[str, Any]):
    """An object that has members. Those that are added or removed are so when the object is closed."""

    _storage = "group"
    __hash__ = object.__hash__

    def __class_getitem__(cls, item: Any) -> Any:
        # The type of the members, which programs name in annotations.
        import types

        return types.GenericAlias(cls, item)

    def __eq__(self, other: object) -> bool:
        return self is other

    def _load(self) -> None:
        own = self._context._opening()
        group = Group(self._uri, self._window, **own)
        self._metadata = SOMAMetadata(self, dict(group.meta))
        self._members = {
            one.name: _Member(locations.as_url(one.uri), _TYPES.get(one.kind, "")) for one in group.members if one.name is not None
        }
        self._added: list[tuple[str, str | None, bool]] = []
        self._removed: list[str] = []
        self._changed: set[str] = set()
        self._lock = Lock()

    def _opened_now(self) -> Group:
        return Group(self._uri, **self._context._opening())

    def _flush(self) -> None:
        if not self._closed and self._mode in ("w", "d") and (self._added or self._removed):
            with translated(self._uri):
                _tdb.group_update(self._place, self._added, self._removed, self._timestamp_ms)
            self._added, self._removed = [], []
        super()._flush()

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __contains__(self, key: object) -> bool:
        return key in self._members

    def __getitem__(self, key: str) -> Any:
        if key not in self._members:
            raise KeyError(f"{type(self).__name__} has no item {key!r}")
        member = self._members[key]
        with self._lock:
            if member.opened is None:
                from .factory import opened

                member.opened = opened(member.uri, self._mode, self._context, self._timestamp_ms)
                self._close_stack.enter_context(member.opened)
        return member.opened

    def __setitem__(self, key: str, value: SOMAObject) -> None:
        self.set(key, value)

    def set(self: Self, key: str, value: SOMAObject, *, use_relative_uri: bool | None = None) -> Self:
        """Adds an object: by its location relative to the collection, if it is below it and nothing else is said."""
        self.verify_open_for_writing()
        self._check_child(key, type(value))
        uri, relative = value.uri, False
        if use_relative_uri is not False:
            try:
                uri, relative = locations.relative_path(value.uri, self.uri), True
            except ValueError:
                if use_relative_uri:
                    raise
        self._add(key, uri, relative, value)
        return self

    def _add(self, key: str, uri: str, relative: bool, value: SOMAObject) -> None:
        if key in self._changed or key in self._members:
            raise SOMAError(f"replacing key {key!r} is unsupported")
        self._added.append((uri if relative else locations.as_url(uri), key, relative))
        self._members[key] = _Member(value.uri, value.soma_type, value)
        self._changed.add(key)

    def __delitem__(self, key: str) -> None:
        if key in self._changed:
            raise SOMAError(f"Cannot delete previously-mutated key '{key!r}'.")
        if self.closed:
            raise SOMAError(f"Cannot delete '{key!r}'. {self} is closed")
        if self.mode == "w":
            warnings.warn(f"Deleting in write mode is deprecated. {self} should be reopened with mode='d'.", DeprecationWarning, stacklevel=2)
        elif self.mode != "d":
            raise SOMAError(f"Deleting is not allowed in mode '{self.mode}'. {self} should be reopened with mode='d'.")
        if key not in self._members:
            raise KeyError(f"{type(self).__name__} has no item {key!r}")
        self._removed.append(key)
        del self._members[key]
        self._changed.add(key)

    def _check_child(self, key: str, kind: type) -> None:
        """Refuses a member of a type that cannot be there."""
        if not issubclass(kind, SOMAObject):
            raise TypeError(f"only TileDB objects can be added as children of {type(self)}, not {kind}")

    def _add_new(self, key: str, kind: type[Child], uri: str | None, create: Callable[[str], Child]) -> Child:
        """Creates an object, and adds it."""
        self._check_child(key, kind)
        self.verify_open_for_writing()
        if key in self:
            raise KeyError(f"{key!r} already exists in {type(self)}")
        own = uri or locations.sanitize_key(key)
        relative = locations.is_relative(own)
        child = create(locations.joined(self._uri, own) if relative else own)
        self._add(key, own, relative, child)
        self._close_stack.enter_context(child)
        return child

    @property
    def _child_time(self) -> dict[str, Any]:
        """The keywords with which members are created: at the time of the collection."""
        return {"context": self._context, "tiledb_timestamp": self._timestamp_ms}

    def members(self) -> dict[str, tuple[str, str]]:
        """The locations and types of the members by name."""
        return {name: (member.uri, member.kind) for name, member in self._members.items()}

    def _lines(self, indent: str) -> Iterator[str]:
        own = indent + "    "
        if self.closed:
            return
        for name, member in self._members.items():
            if member.opened is None:
                yield f"{own}{name!r}: {member.uri!r} (unopened)"
                continue
            yield f"{own}{name!r}: {member.opened._my_repr()}"
            if isinstance(member.opened, SOMAGroup):
                yield from member.opened._lines(own)

    def _my_repr(self) -> str:
        start = super()._my_repr()
        if self.closed:
            return start
        count = len(self._members)
        return f"{start} ({'empty' if not count else '1 item' if count == 1 else f'{count} items'})"

    def __repr__(self) -> str:
        return "<" + "\n".join([self._my_repr(), *self._lines("")]) + ">"


__all__ = ["SOMAGroup"]
