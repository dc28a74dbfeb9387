"""Exceptions of ``tiledbsoma``, and those of tdb as these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..._errors import CorruptError, Error, IoError, NotAnArrayError


class SOMAError(Exception):
    """An operation failed. The subclasses say why."""


class DoesNotExistError(SOMAError):
    """There is no object at this place."""


class AlreadyExistsError(SOMAError):
    """There is an object at this place already."""


class NotCreateableError(SOMAError):
    """A location cannot be created. Only old programs ask for it; :class:`AlreadyExistsError` is what is raised."""


class UnsupportedOperationError(SOMAError):
    """The data model does not have the operation."""


#: Words in messages that say that nothing is there.
_MISSING = ("does not exist", "Unrecognized array", "HTTP code 401", "HTTP code 404", "not a valid TileDB", "Unable to open")


def is_does_not_exist_error(e: Exception) -> bool:
    """Whether an error says that an object does not exist."""
    return isinstance(e, DoesNotExistError) or any(words in str(e) for words in _MISSING)


def is_already_exists_error(e: Exception) -> bool:
    """Whether an error says that an object exists already."""
    return isinstance(e, AlreadyExistsError) or "already exists" in str(e).lower()


def is_duplicate_group_key_error(e: Exception) -> bool:
    """Whether an error says that a group has a member of this name."""
    return "member already exists in group" in str(e)


@contextmanager
def translated(uri: str | None = None) -> Iterator[None]:
    """Raises what ``tiledbsoma`` raises where tdb raises its own errors."""
    try:
        yield
    except Error as error:
        if is_already_exists_error(error) or "here already" in str(error):
            raise AlreadyExistsError(f"{uri!r} already exists") from error
        missing = isinstance(error, NotAnArrayError) and not isinstance(error, CorruptError)
        if missing or (isinstance(error, IoError) and isinstance(error.__cause__, FileNotFoundError)):
            raise DoesNotExistError(f"{uri or ''}: does not exist: {error}") from error
        raise SOMAError(str(error)) from error


__all__ = ["AlreadyExistsError", "DoesNotExistError", "NotCreateableError", "SOMAError", "UnsupportedOperationError"]
