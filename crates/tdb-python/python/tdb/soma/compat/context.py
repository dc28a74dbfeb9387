"""Contexts: options of TileDB, a time, and threads.

Of TileDB's options, those of S3 (``vfs.s3.…``), ``sm.encryption_key``, ``soma.init_buffer_bytes`` (the bytes of a batch) and the
numbers of threads mean something here. All others are kept and have no effect."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..._array import place
from ...compat.ctx import key_of, storage_of
from .exceptions import SOMAError

#: What ``tiledbsoma`` sets unless it is told otherwise.
_DEFAULTS: dict[str, Any] = {"sm.mem.reader.sparse_global_order.ratio_array_data": 0.3}
#: The last time there is.
_ETERNITY = (1 << 64) - 1
#: The bytes of a batch, where no option says them.
_BATCH = 1 << 27
#: The fewest bytes of a batch that a query is asked for.
_SMALLEST_BATCH = 1 << 10
_THREADS = ("soma.compute_concurrency_level", "sm.compute_concurrency_level", "sm.io_concurrency_level")
#: The least memory of a query, whatever the options say.
_LEAST_MEMORY = 1 << 26
#: The memory of a query in times of what a batch may have, where no option says it.
_MEMORY_OF_BATCHES = 4
_UNSET: Any = "__unset__"


def to_timestamp_ms(given: Any) -> int:
    """A time as milliseconds since 1970."""
    if isinstance(given, datetime.datetime):
        # The milliseconds apart, because numbers with a fraction round.
        found = int(given.replace(microsecond=0).timestamp()) * 1000 + given.microsecond // 1000
    elif isinstance(given, int) and not isinstance(given, bool):
        found = given
    else:
        raise TypeError(f"a timestamp is a number of milliseconds or a datetime, not {type(given).__name__}")
    if not 0 <= found <= _ETERNITY:
        raise ValueError("open timestamp must be between 0 (Unix epoch) and 2**64-1 ms")
    return found


def ms_to_datetime(millis: int) -> datetime.datetime:
    """Milliseconds since 1970 as a time in UTC."""
    seconds, rest = divmod(millis, 1000)
    return datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc).replace(microsecond=rest * 1000)


class SOMATileDBContext:
    """Options, a time, and threads, which objects share. It is not changed: :meth:`replace` makes another one."""

    def __init__(
        self,
        tiledb_config: Mapping[str, Any] | None = None,
        tiledb_ctx: Any = None,
        timestamp: Any = None,
        threadpool: ThreadPoolExecutor | None = None,
    ) -> None:
        if tiledb_ctx is not None and tiledb_config is not None:
            raise ValueError("only one of tiledb_config or tiledb_ctx may be set when constructing a SOMATileDBContext")
        if tiledb_ctx is not None and not hasattr(tiledb_ctx, "config"):
            raise ModuleNotFoundError("tiledb_ctx is a context of TileDB-Py or of tdb.compat, which has options: give tiledb_config")
        self._tiledb_ctx = tiledb_ctx
        self._config = dict(_DEFAULTS) if tiledb_config is None else {**_DEFAULTS, **tiledb_config}
        if tiledb_ctx is not None:
            self._config = dict(tiledb_ctx.config().dict())
        self._timestamp_ms = None if timestamp is None else to_timestamp_ms(timestamp)
        self._lock = threading.Lock()
        self._threadpool = threadpool

    @property
    def threadpool(self) -> ThreadPoolExecutor:
        """The threads for what is done at the same time."""
        with self._lock:
            if self._threadpool is None:
                self._threadpool = ThreadPoolExecutor()
            return self._threadpool

    @property
    def timestamp_ms(self) -> int | None:
        """The time of operations that have no other, in milliseconds since 1970."""
        return self._timestamp_ms

    @property
    def timestamp(self) -> datetime.datetime | None:
        """The time of operations that have no other."""
        return None if self._timestamp_ms is None else ms_to_datetime(self._timestamp_ms)

    @property
    def tiledb_ctx(self) -> Any:
        """The context of TileDB-Py that was given."""
        return self._tiledb_ctx

    @property
    def tiledb_config(self) -> dict[str, Any]:
        """A copy of the options."""
        return dict(self._config)

    def replace(
        self, *, tiledb_config: Mapping[str, Any] | None = None, tiledb_ctx: Any = None, timestamp: Any = _UNSET, threadpool: Any = _UNSET
    ) -> SOMATileDBContext:
        """Another context, with these changes. An option that is ``None`` is removed."""
        if tiledb_config is not None and tiledb_ctx is not None:
            raise ValueError("Either tiledb_config or tiledb_ctx may be provided to replace(), but not both.")
        config = None
        if tiledb_ctx is None:
            config = {name: value for name, value in {**self._config, **(tiledb_config or {})}.items() if value is not None}
        made = type(self)(
            config,
            tiledb_ctx,
            self._timestamp_ms if isinstance(timestamp, str) and timestamp == _UNSET else timestamp,
            self._threadpool if isinstance(threadpool, str) and threadpool == _UNSET else threadpool,
        )
        if config is not None:
            # A default that was removed stays away.
            made._config = config
        return made

    def _open_timestamp_ms(self, given: Any = None) -> int:
        """The time at which something is opened. Zero stands for now, as in TileDB."""
        for one in (given, self._timestamp_ms):
            own = 0 if one is None else to_timestamp_ms(one)
            if own:
                return own
        return int(time.time() * 1000)

    def _text(self, name: str) -> str | None:
        value = self._config.get(name)
        return None if value is None or str(value) == "" else str(value)

    def _number(self, name: str) -> int | None:
        value = self._text(name)
        if value is None:
            return None
        try:
            return int(float(value))
        except ValueError as error:
            raise SOMAError(f"option {name!r}: {value!r} is not a number") from error

    @property
    def _threads(self) -> int | None:
        for name in _THREADS:
            found = self._number(name)
            if found is not None:
                if found < 1:
                    raise SOMAError(f"option {name!r}: {found} is no number of threads")
                return found
        return None

    @property
    def _batch_bytes(self) -> int:
        return max(self._number("soma.init_buffer_bytes") or _BATCH, _SMALLEST_BATCH)

    @property
    def _memory(self) -> int:
        """The memory of a query."""
        found = self._number("sm.mem.total_budget")
        if found is not None and found < 1:
            raise SOMAError(f"option 'sm.mem.total_budget': {found} bytes are no budget")
        return max(self._batch_bytes * _MEMORY_OF_BATCHES if found is None else found, _LEAST_MEMORY)

    def _of_call(self, platform_config: Any) -> SOMATileDBContext:
        """The context of a read that has options of its own, which are those of TileDB by name."""
        if not isinstance(platform_config, Mapping) or "tiledb" in platform_config:
            return self
        return self.replace(tiledb_config=platform_config)

    def _opening(self) -> dict[str, Any]:
        """The keywords with which tdb opens something."""
        config = {name: str(value) for name, value in self._config.items()}
        try:
            threads = self._threads
        except SOMAError:
            # What reads and writes refuses it.
            threads = None
        return {"storage": storage_of(config), "key": key_of(config), "threads": threads}

    def _place(self, uri: str) -> Any:
        own = self._opening()
        return place(uri, own["storage"], own["key"], own["threads"])

    def data_protocol(self, uri: str) -> str:
        """The data model of a location, of which there is one here."""
        return "tiledbv2"

    def is_tiledbv2_uri(self, uri: str) -> bool:
        """Whether a location has the usual data model."""
        return True

    def is_tiledbv3_uri(self, uri: str) -> bool:
        """Whether a location has the data model of TileDB's server, which is not supported."""
        return False

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __getstate__(self) -> dict[str, Any]:
        return {"_config": self._config, "_timestamp_ms": self._timestamp_ms}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(timestamp=state["_timestamp_ms"])  # type: ignore[misc]
        self._config = state["_config"]


def context_of(context: Any) -> SOMATileDBContext:
    """The context of a call: the one that is given, or one with the defaults."""
    if context is None:
        return SOMATileDBContext()
    if not isinstance(context, SOMATileDBContext):
        raise TypeError(
            f"context must be a SOMATileDBContext, not {type(context).__name__}: SOMATileDBContext(tiledb_ctx=…) makes one of a tiledb.Ctx"
        )
    return context


__all__ = ["SOMATileDBContext"]
