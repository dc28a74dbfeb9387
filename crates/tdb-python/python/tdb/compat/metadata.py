"""Key-value metadata of arrays and groups."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tdb
from .._types import decode_value, number_dtype
from .datatypes import DataType
from .libtiledb import TileDBError

if TYPE_CHECKING:
    from .array import Array
    from .ctx import Config, Ctx
    from .group import Group

_FLAT, _SHAPE = "__np_flat_", "__np_shape_"


class Metadata(MutableMapping[str, Any]):
    """Metadata, as TileDB-Py has it: what is written becomes visible when the array or the group is closed."""

    def __init__(
        self, of: Array | Group, place: _tdb.Place, window: tuple[int, int] | None, mode: str, at: int | None = None
    ) -> None:
        self._of, self._place, self._window, self._mode, self._at = of, place, window, mode, at
        self._put: dict[str, tuple[str, bytes]] = {}
        self._removed: dict[str, None] = {}
        self._seen: dict[str, tuple[str, int, bytes]] | None = None

    @property
    def array(self) -> Any:
        """The array or the group whose metadata this is."""
        return self._of

    def _entries(self) -> dict[str, tuple[str, int, bytes]]:
        if self._mode != "r" and self._mode != "m":
            raise TileDBError("metadata can be read where it was opened for reading only")
        if self._seen is None:
            self._seen = {
                key.decode("utf-8", "surrogateescape"): (datatype, count, data)
                for key, datatype, count, data in _tdb.metadata(self._place, self._window)
            }
        return self._seen

    def _forget(self, window: tuple[int, int] | None) -> None:
        self._window, self._seen = window, None

    def close(self) -> None:
        """Writes what was changed, and ends the use."""
        self.flush()
        self._mode = "closed"

    def flush(self) -> None:
        """Writes what was changed, as one file."""
        if not (self._put or self._removed):
            return
        put = [(key.encode("utf-8", "surrogateescape"), *value) for key, value in self._put.items()]
        remove = [key.encode("utf-8", "surrogateescape") for key in self._removed if key not in self._put]
        self._put, self._removed = {}, {}
        _tdb.write_metadata(self._place, put, remove, self._at)

    def _change(self, key: str, value: tuple[str, bytes] | None) -> None:
        if self._mode not in ("w", "m"):
            raise TileDBError("Cannot write metadata; it was not opened in write or modify_exclusive mode")
        self._removed[key] = None
        self._put.pop(key, None)
        if value is not None:
            self._put[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        _check(key)
        del self[key]
        if isinstance(value, np.ndarray):
            dtype = value.dtype
            name = {"|S1": "STRING_ASCII", "<U1": "STRING_UTF8"}.get(dtype.str)
            if name is None and (dtype.kind not in "iufbmM" or (dtype.kind == "f" and dtype.itemsize not in (4, 8))):
                raise TypeError(f"Unsupported dtype '{dtype}' for metadata")
            name = name or DataType.from_numpy(dtype).name
            self._change(_FLAT + key, (name, np.ascontiguousarray(value).tobytes()))
            if value.ndim != 1:
                self._change(_SHAPE + key, _packed(tuple(value.shape)))
        else:
            self._change(key, _packed(value))

    def __getitem__(self, key: str) -> Any:
        return self._with_type(key)[0]

    def _with_type(self, key: str) -> tuple[Any, Any]:
        _check(key)
        entries = self._entries()
        if key in entries:
            datatype, count, data = entries[key]
            found = _plain(datatype, count, data)
        elif _FLAT + key in entries:
            datatype, count, data = entries[_FLAT + key]
            characters = {"STRING_ASCII": np.dtype("S1"), "STRING_UTF8": np.dtype("<U1")}
            dtype = characters.get(datatype) or number_dtype(datatype)
            if dtype is None:
                raise TileDBError(f"the array of numbers {key!r} has the type {datatype}")
            found = np.frombuffer(data, dtype)
            if _SHAPE + key in entries:
                found = found.reshape(_plain(*entries[_SHAPE + key]))
        else:
            raise KeyError(f"KeyError: {key}")
        return found, DataType.from_tiledb(datatype).tiledb_type

    def __delitem__(self, key: str) -> None:
        _check(key)
        for one in (key, _FLAT + key, _SHAPE + key):
            self._change(one, None)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            raise TypeError(f"Unexpected key type '{type(key)}': expected str")
        return key in self._entries() or _FLAT + key in self._entries()

    def __len__(self) -> int:
        return sum(not one.startswith(_SHAPE) for one in self._entries())

    def __iter__(self) -> Iterator[str]:
        for one in self._entries():
            if one.startswith(_FLAT):
                yield one[len(_FLAT) :]
            elif not one.startswith(_SHAPE):
                yield one

    def __repr__(self) -> str:
        return str(dict(self))

    def consolidate(self, config: Config | None = None, ctx: Ctx | None = None) -> None:
        """Makes many files of metadata into one."""
        self.flush()
        _tdb.consolidate(self._place, "metadata")

    def _refuse(self, name: str) -> Any:
        raise NotImplementedError(f"Metadata.{name} requires read-write access")

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Not possible, as in TileDB-Py."""
        return self._refuse("setdefault")

    def pop(self, key: str, default: Any = None) -> Any:
        """Not possible, as in TileDB-Py."""
        return self._refuse("pop")

    def popitem(self) -> Any:
        """Not possible, as in TileDB-Py."""
        return self._refuse("popitem")

    def clear(self) -> None:
        """Not possible, as in TileDB-Py."""
        self._refuse("clear")

    def dump(self) -> None:
        """Prints the entries."""
        for key in self:
            value, kind = self._with_type(key)
            print(f"### Array Metadata ###\n- Key: {key}\n- Value: {value}\n- Type: {kind}\n")


def _check(key: Any) -> None:
    if not isinstance(key, str):
        raise TypeError(f"Unexpected key type '{type(key)}': expected str")


def _packed(value: Any) -> tuple[str, bytes]:
    """The datatype and the bytes of a value."""
    if isinstance(value, np.generic) and not isinstance(value, (str, bytes)):
        if value.dtype.kind not in "iufbmM":
            raise TypeError(f"Unsupported dtype '{value.dtype}' for metadata")
        return DataType.from_numpy(value.dtype).name, value.tobytes()
    if isinstance(value, bytes):
        return ("CHAR" if isinstance(value, np.bytes_) else "BLOB"), bytes(value)
    if isinstance(value, str):
        return "STRING_UTF8", str(value).encode("utf-8", "surrogateescape")
    items = value if isinstance(value, (list, tuple)) else (value,)
    if not items:
        return "INT32", b""
    kind = int if isinstance(items[0], int) else float
    if not isinstance(items[0], (int, float)):
        raise TypeError(f"Unsupported item type '{type(items[0])}'")
    if not all(isinstance(one, kind) for one in items):
        raise TypeError(f"Mixed-type sequences are not supported: {value}")
    return ("INT64", np.array(items, "<i8").tobytes()) if kind is int else ("FLOAT64", np.array(items, "<f8").tobytes())


def _plain(datatype: str, count: int, data: bytes) -> Any:
    """A value of Python: a text, bytes, a number, or a tuple of numbers."""
    dtype = number_dtype(datatype)
    if dtype is None:
        if datatype == "STRING_ASCII":
            return data
        return decode_value(datatype, count, data)
    numbers = np.frombuffer(data, dtype)
    if len(numbers) != 1:
        return tuple(numbers.tolist())
    return numbers[0] if dtype.kind in "ifmM" else numbers[0].item()


__all__ = ["Metadata"]
