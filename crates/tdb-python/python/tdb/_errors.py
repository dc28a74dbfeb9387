"""Exceptions. The extension module raises them, too."""

from __future__ import annotations


class Error(Exception):
    """An operation on an array failed. The subclasses say why."""

    #: The file or folder that it is about, if there is one.
    file: str | None
    #: What is wrong, without the name of the file.
    cause: str

    def __init__(self, message: str, file: str | None = None, cause: str | None = None) -> None:
        super().__init__(message)
        self.file = file
        self.cause = message if cause is None else cause

    def __reduce__(self) -> tuple[type[Error], tuple[str, str | None, str]]:
        return type(self), (str(self), self.file, self.cause)

    def __str__(self) -> str:
        return str(self.args[0])


class IoError(Error, OSError):
    """A storage could not read or write something."""


class NotAnArrayError(Error):
    """There is no array (or group) at this place, but something else or nothing."""


class CorruptError(Error):
    """The bytes of a file do not follow the format."""


class UnsupportedError(Error, NotImplementedError):
    """The array needs something that this build does not support, or the operation is not possible."""


class QueryError(Error, ValueError):
    """The query asks for something that the array does not have, or an argument cannot be understood."""


class WriteError(Error, ValueError):
    """What was to be written does not fit the array. The array is unchanged."""


class ArrowError(Error, ValueError):
    """A column of Arrow does not fit the array."""


class LocationError(Error, ValueError):
    """A URL or an option of a store cannot be used."""


class DescriptionError(Error, ValueError):
    """Bytes are not the description of a query."""


class InternalError(Error):
    """A fault of tdb itself. Please report it with its message."""


class FilesGoneError(Error):
    """Files that a query was planned with are gone: a vacuum removed them. Plan it again."""


# Tracebacks say where programs find them.
for _class in (Error, *Error.__subclasses__()):
    _class.__module__ = "tdb"
