"""What TileDB-Py called ``libtiledb`` up to 0.32: ``tiledb.cc.TileDBError``, ``tiledb.cc.Context``."""

from __future__ import annotations

from typing import Any

from . import libtiledb
from .libtiledb import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(libtiledb, name)
