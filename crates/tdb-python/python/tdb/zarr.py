"""Arrays and groups as stores of zarr-python 3: what reads Zarr reads them where they are.

``zarr.open_group(tdb.zarr.store("weather"), mode="r")`` has an array for each attribute, and
``xarray.open_zarr(tdb.zarr.store("weather"), consolidated=False)`` is a dataset. See docs/zarr.md.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from . import _tdb
from ._array import Key, Location, Storage, place
from ._errors import QueryError
from ._needs import needed
from ._types import Window, window

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest, Store
    from zarr.core.buffer import Buffer, BufferPrototype
else:
    try:
        from zarr.abc.store import Store
    except ModuleNotFoundError:
        # The module can be imported without zarr, and its function says that it is missing.
        Store = object


def store(
    uri: Location,
    at: Window = None,
    *,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
    zarr_format: int = 3,
    rows: int | None = None,
) -> TdbStore:
    """A store of zarr-python that shows the array or group at a place; nothing is copied or written.

    An array is a group of arrays, one for each attribute: see docs/zarr.md. ``uri``, ``at``, ``key``, ``storage`` and
    ``threads`` are those of :func:`tdb.open`. ``zarr_format`` is the version of Zarr's documents. A chunk of a sparse array
    has at most ``rows`` cells, which are 1 or more.
    """
    needed("zarr.abc.store", "zarr>=3.1", "Stores of zarr-python")
    if rows is not None and (isinstance(rows, bool) or not hasattr(rows, "__index__") or not 1 <= rows < 1 << 63):
        raise QueryError(f"rows={rows!r}: a chunk has a number of cells from 1 on")
    shown = _tdb.Zarr.open(place(uri, storage, key, threads), window(at), zarr_format, rows)
    return TdbStore(shown, (os.fspath(uri), zarr_format, rows, threads))


class TdbStore(Store):
    """An array or a group as a store that can be read: :func:`store` makes one.

    A copy in another process opens the array again, without the key and the options of stores, which never leave a process.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, shown: _tdb.Zarr, opened: tuple[str, int, int | None, int | None]) -> None:
        super().__init__(read_only=True)
        self._shown, self._opened = shown, opened

    @property
    def refused(self) -> dict[str, str]:
        """The paths of what cannot be shown, and the reasons."""
        return dict(self._shown.refused())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TdbStore):
            return False
        # With how many threads a store reads says nothing about it.
        return self._opened[:3] == other._opened[:3] and self._shown.window() == other._shown.window()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<tdb.zarr.TdbStore {self._opened[0]!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_again, (*self._opened, self._shown.window())

    def with_read_only(self, read_only: bool = False) -> TdbStore:
        """The same store: it can only be read."""
        if not read_only:
            _refuse()
        return TdbStore(self._shown, self._opened)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """The bytes of a key, or some of them."""
        # Cells are read in a thread, so that several chunks are read at once.
        found = await asyncio.to_thread(self._shown.get, key, *_ends(byte_range))
        if found is None:
            return None
        if prototype is None:
            from zarr.core.buffer import default_buffer_prototype

            prototype = default_buffer_prototype()
        return prototype.buffer.from_bytes(found)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """The bytes of several keys."""
        return list(await asyncio.gather(*(self.get(key, prototype, span) for key, span in key_ranges)))

    async def exists(self, key: str) -> bool:
        """Whether a key has bytes."""
        return await asyncio.to_thread(self._shown.get, key, 0, 0) is not None

    async def set(self, key: str, value: Buffer) -> None:
        """Always fails."""
        _refuse()

    async def delete(self, key: str) -> None:
        """Always fails."""
        _refuse()

    async def list(self) -> AsyncIterator[str]:
        """All keys."""
        for key in await asyncio.to_thread(self._shown.list, ""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """The keys that begin with a prefix."""
        for key in await asyncio.to_thread(self._shown.list, prefix):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """The names of what lies directly below a path."""
        for name in await asyncio.to_thread(self._shown.children, prefix.strip("/")):
            yield name


def _open_again(uri: str, zarr_format: int, rows: int | None, threads: int | None, at: tuple[int, int]) -> TdbStore:
    return store(uri, at, threads=threads, zarr_format=zarr_format, rows=rows)


def _ends(span: ByteRequest | None) -> tuple[int | None, int | None]:
    """The ends of a range of bytes; a negative start counts from the end."""
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

    match span:
        case None:
            return None, None
        case RangeByteRequest(start=start, end=end):
            return start, end
        case OffsetByteRequest(offset=offset):
            return offset, None
        case SuffixByteRequest(suffix=suffix):
            return -suffix, None
    raise TypeError(f"a range of bytes of an unknown kind: {span!r}")


def _refuse() -> NoReturn:
    raise PermissionError("a store that shows an array can only be read: write to the array itself")


__all__ = ["TdbStore", "store"]
