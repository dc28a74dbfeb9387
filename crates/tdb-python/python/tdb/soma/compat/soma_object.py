"""What all objects have: a location, a mode, a time, metadata, and an end."""

from __future__ import annotations

import datetime
from contextlib import ExitStack
from typing import Any, ClassVar, TypeVar

from ... import _tdb
from ..._array import Array
from ..._group import Group
from .constants import (
    SOMA_ENCODING_VERSION_METADATA_KEY,
    SOMA_OBJECT_TYPE_METADATA_KEY,
    SUPPORTED_SOMA_ENCODING_VERSIONS,
)
from .context import SOMATileDBContext, context_of, ms_to_datetime
from .exceptions import DoesNotExistError, SOMAError, translated
from .metadata import SOMAMetadata

Self = TypeVar("Self", bound="SOMAObject")

_MODES = ("r", "w", "d")
#: What constructors are given by the functions that open objects.
_OPENED = "opened"


def checked_mode(mode: Any) -> str:
    """The mode of an opening."""
    if mode not in _MODES:
        raise ValueError(f"invalid mode {mode!r}: r (reading), w (writing) and d (deleting) are expected")
    return str(mode)


def checked_uri(uri: Any) -> str:
    """The location of an opening."""
    if not isinstance(uri, str):
        raise TypeError(f"expected uri argument to be of type {str}; got {type(uri)}")
    return uri


class SOMAObject:
    """An object at a location, opened for reading, for writing or for deleting."""

    #: The name of the type in the metadata.
    soma_type: ClassVar[str] = ""
    #: What TileDB has at the location: ``"array"`` or ``"group"``.
    _storage: ClassVar[str] = "array"

    _metadata: SOMAMetadata

    def __init__(
        self, uri: str, mode: str, context: SOMATileDBContext, timestamp_ms: int, *, _dont_call_this: str = ""
    ) -> None:
        own = type(self).__name__
        if _dont_call_this != _OPENED:
            raise TypeError(
                f"{own} objects must be created using a factory function: open an existing one with tiledbsoma.open(uri, …) or"
                f" {own}.open(uri, …), and create a new one with {own}.create"
            )
        self._uri, self._context = uri, context
        self._close_stack = ExitStack()
        self._closed = False
        self._begin(mode, timestamp_ms)

    @classmethod
    def open(
        cls: type[Self],
        uri: str,
        mode: str = "r",
        *,
        tiledb_timestamp: Any = None,
        context: SOMATileDBContext | None = None,
        platform_config: Any = None,
    ) -> Self:
        """Opens an object of this type."""
        context = context_of(context)
        return cls._opened(checked_uri(uri), checked_mode(mode), context, context._open_timestamp_ms(tiledb_timestamp))

    @classmethod
    def _opened(cls: type[Self], uri: str, mode: str, context: SOMATileDBContext, timestamp_ms: int) -> Self:
        return cls(uri, mode, context, timestamp_ms, _dont_call_this=_OPENED)

    @classmethod
    def exists(cls, uri: str, context: SOMATileDBContext | None = None, tiledb_timestamp: Any = None) -> bool:
        """Whether there is an object of this type."""
        checked_uri(uri)
        try:
            with cls.open(uri, context=context, tiledb_timestamp=tiledb_timestamp):
                return True
        except (SOMAError, ValueError):
            return False

    def reopen(self: Self, mode: str, tiledb_timestamp: Any = None) -> Self:
        """Opens the object itself in another mode, or at another time."""
        checked_mode(mode)
        self._flush()
        self._closed = False
        self._begin(mode, self._context._open_timestamp_ms(tiledb_timestamp))
        return self

    def _begin(self, mode: str, timestamp_ms: int) -> None:
        # What is written is written at the time of the opening, each after the one before.
        self._mode, self._timestamp_ms = mode, timestamp_ms
        self._place = self._context._place(self._uri)
        with translated(self._uri):
            kind = _tdb.object_type(self._place)
            if kind not in ("array", "group"):
                raise DoesNotExistError(f"{self._uri!r} does not exist")
            if kind != self._storage:
                raise SOMAError(f"{self._uri!r} is a {kind} of TileDB, which is no {self.soma_type}")
            self._load()
        self._check_metadata()

    def _load(self) -> None:
        """Reads what there is at the time of the opening."""
        raise NotImplementedError

    def _check_metadata(self) -> None:
        version, kind = (
            self._text(self.metadata.get(name)) for name in (SOMA_ENCODING_VERSION_METADATA_KEY, SOMA_OBJECT_TYPE_METADATA_KEY)
        )
        if kind is None or kind.lower() != self.soma_type.lower():
            raise SOMAError(f"{self._uri!r} is no {self.soma_type}: its metadata says {kind!r}")
        if version is None:
            raise SOMAError(f"{self._uri!r} has no {SOMA_ENCODING_VERSION_METADATA_KEY!r} in its metadata")
        if version not in SUPPORTED_SOMA_ENCODING_VERSIONS:
            raise ValueError(f"Unsupported SOMA object encoding version '{version}': this is newer than what is known here")

    @staticmethod
    def _text(value: Any) -> str | None:
        return value.decode() if isinstance(value, bytes) else None if value is None else str(value)

    @property
    def _window(self) -> tuple[int, int]:
        """What is seen."""
        return 0, min(self._timestamp_ms, (1 << 63) - 1)

    @property
    def uri(self) -> str:
        """The location."""
        return self._uri

    @property
    def context(self) -> SOMATileDBContext:
        """The context with which it was opened."""
        return self._context

    @property
    def mode(self) -> str:
        """How it was opened: ``r``, ``w`` or ``d``."""
        return self._mode

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @property
    def metadata(self) -> SOMAMetadata:
        """The metadata, which is written when the object is closed."""
        return self._metadata

    @property
    def tiledb_timestamp(self) -> datetime.datetime:
        """The time at which it was opened."""
        return ms_to_datetime(self._timestamp_ms)

    @property
    def tiledb_timestamp_ms(self) -> int:
        """The time at which it was opened, in milliseconds since 1970."""
        return self._timestamp_ms

    def _flush(self) -> None:
        if not self._closed and self._mode == "w":
            self._metadata._write()

    def _opened_now(self) -> Array | Group:
        raise NotImplementedError

    def close(self) -> None:
        """Writes the metadata that was changed, and closes the object, and those that were opened through it."""
        try:
            self._flush()
        finally:
            # What cannot be written here must not keep members from writing theirs.
            self._closed = True
            self._close_stack.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _verify(self, mode: str, what: str) -> None:
        own = f"{type(self).__name__} ({self.uri}) must be open for {what}"
        if self.closed:
            raise SOMAError(f"{own} (closed).")
        if self.mode != mode:
            raise SOMAError(f"{own}. Mode is '{self.mode}'.")

    def _verify_open_for_reading(self) -> None:
        self._verify("r", "reading")

    def verify_open_for_writing(self) -> None:
        """Raises an error if the object is not open for writing."""
        self._verify("w", "writing")

    def _verify_open_for_deleting(self) -> None:
        self._verify("d", "deleting")

    def _my_repr(self) -> str:
        return f"{type(self).__name__} {self.uri!r} ({'CLOSED' if self.closed else 'open'} for {self.mode!r})"

    def __repr__(self) -> str:
        return f"<{self._my_repr()}>"


__all__ = ["SOMAObject"]
