"""The release of TileDB-Py whose behaviour this package has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VersionHelper:
    """A release: as a text, and when it is called as numbers."""

    version: str
    version_tuple: tuple[int, ...]

    def __call__(self) -> tuple[int, ...]:
        return self.version_tuple


version = VersionHelper("0.36.1", (0, 36, 1))

__all__ = ["VersionHelper", "version"]
