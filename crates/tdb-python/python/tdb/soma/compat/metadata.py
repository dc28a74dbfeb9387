"""Metadata of an object: it is read when the object is opened, and changes are written when it is closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from .exceptions import SOMAError, translated

if TYPE_CHECKING:
    from .soma_object import SOMAObject

#: What values may be. Those of numpy are not, but for the ones that are Python's, too.
_TYPES = (bytes, float, int, str)


class SOMAMetadata(MutableMapping[str, Any]):
    """Key-value metadata."""

    def __init__(self, owner: SOMAObject, values: Mapping[str, Any]) -> None:
        self._owner = owner
        self._values = dict(values)
        self._put: set[str] = set()
        self._gone: set[str] = set()

    def _open(self, what: str) -> None:
        if self._owner.closed:
            raise SOMAError(f"Cannot {what}; object is closed.")

    def _writable(self, what: str) -> None:
        self._open(what)
        if self._owner.mode != "w":
            raise SOMAError(f"Cannot {what}; current mode='{self._owner.mode}'. Reopen in mode='w'.")

    def __len__(self) -> int:
        self._open("get length of metadata")
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        self._open("iterate over metadata")
        return iter(self._values)

    def __getitem__(self, key: str) -> Any:
        self._open(f"get metadata item {key!r}")
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._writable(f"write metadata item {key!r}")
        if not isinstance(key, str):
            raise TypeError(f"metadata keys must be strings, not {type(key)}")
        if not isinstance(value, _TYPES):
            raise TypeError(f"cannot store {type(value)} instance as metadata")
        self._values[key] = value
        self._put.add(key)
        self._gone.discard(key)

    def __delitem__(self, key: str) -> None:
        self._writable(f"delete metadata item {key!r}")
        del self._values[key]
        self._put.discard(key)
        self._gone.add(key)

    def _write(self) -> None:
        """Writes the changes. What cannot be stored as ``tiledbsoma`` stores it is an error here, where it is one there."""
        put, gone = {key: self._values[key] for key in sorted(self._put)}, sorted(self._gone)
        self._put, self._gone = set(), set()
        wrong = [key for key, value in put.items() if "\x00" in key or isinstance(value, bytes) or _has_zero(value)]
        for key in wrong:
            del put[key]
        put = {key: "" if value == "\x00" else value for key, value in put.items()}
        if put or gone:
            own = self._owner._opened_now()
            with translated(self._owner.uri):
                own.meta.change(put, gone, at=self._owner.tiledb_timestamp_ms)
        if wrong:
            raise SOMAError(f"{self._owner.uri}: metadata {', '.join(map(repr, wrong))}: bytes, and texts with a null byte, cannot be stored")

    def __repr__(self) -> str:
        own = type(self._owner).__name__
        return f"<SOMAMetadata of {own} (closed)>" if self._owner.closed else f"<SOMAMetadata of {own} ({self._owner.mode}) {self._values}>"


def _has_zero(value: Any) -> bool:
    return isinstance(value, str) and value != "\x00" and "\x00" in value


__all__ = ["SOMAMetadata"]
