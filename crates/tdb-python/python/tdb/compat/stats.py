"""What was read and decoded, while counting is enabled. The counts are those of ``tdb read --stats``, and not libtiledb's."""

from __future__ import annotations

import json as _json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from .. import _tdb

_LOCK = Lock()
_enabled = False
_counts: dict[str, float] = {}


def stats_enable() -> None:
    """Begins to count what reads of cells read and decode."""
    global _enabled
    _enabled = True


def stats_disable() -> None:
    """Ends to count; what was counted stays."""
    global _enabled
    _enabled = False


def stats_reset() -> None:
    """Makes all counts zero."""
    with _LOCK:
        _counts.clear()


@contextmanager
def counted(array: _tdb.Array) -> Iterator[None]:
    """Counts what an array reads in the meantime, if counting is enabled. What other threads read of the same object is among it."""
    if not _enabled:
        yield
        return
    before = _json.loads(array.stats())
    try:
        yield
    finally:
        after = _json.loads(array.stats())
        with _LOCK:
            _counts["reads"] = _counts.get("reads", 0) + 1
            for name, value in after.items():
                _counts[name] = _counts.get(name, 0) + value - before[name]


def stats_dump(
    version: bool = True, print_out: bool = True, include_python: bool = True, json: bool = False, verbose: bool = True
) -> str | None:
    """Prints what was counted, or returns it as text if ``print_out`` is false: as JSON with ``json``, without zeros unless
    ``verbose``. There are no counts of Python, so ``include_python`` changes nothing."""
    with _LOCK:
        found: dict[str, Any] = {name: value for name, value in _counts.items() if verbose or value}
    timers = {name: value for name, value in found.items() if name.endswith("_seconds")}
    counters = {name: int(value) for name, value in found.items() if name not in timers}
    if json:
        text = _json.dumps([{"timers": timers, "counters": counters}])
    else:
        lines = [f"tdb {_tdb.__version__}"] if version else []
        lines += [f"{name}: {value}" for name, value in counters.items()]
        lines += [f"{name}: {value:.6f}" for name, value in timers.items()]
        text = "\n".join(lines)
    if not print_out:
        return text
    print(text)
    return None


__all__ = ["stats_disable", "stats_dump", "stats_enable", "stats_reset"]
