"""Locations of members, relative to their collections or not."""

from __future__ import annotations

import os
import pathlib
import urllib.parse

#: What names of members keep in the names of their folders.
_SAFE = "-_.()^!@+={}~'"


def sanitize_key(key: str) -> str:
    """The name of the folder of a member."""
    found = urllib.parse.quote(key, safe=_SAFE)
    # Names that begin with __ are those of the format's own folders.
    if found in (".", "..") or found.startswith("__"):
        raise ValueError(f"{key} is not a supported name")
    return found


def is_relative(uri: str) -> bool:
    """Whether a location is relative to another one."""
    return "://" not in uri and not uri.startswith("/")


def joined(base: str, path: str) -> str:
    """A location below another one."""
    if not path:
        return base
    parts = urllib.parse.urlparse(base)
    if parts.scheme in ("", "file"):
        return urllib.parse.urlunparse(parts._replace(path=pathlib.PurePath(parts.path).joinpath(path).as_posix()))
    if ".." in path:
        raise ValueError("Relative paths unsupported")
    own = path if path.startswith("/") else f"{parts.path.rstrip('/')}/{path}"
    return urllib.parse.urlunparse(parts._replace(path=own))


def relative_path(uri: str, relative_to: str) -> str:
    """A location as a path from another one that it is below."""
    own, base = urllib.parse.urlparse(uri), urllib.parse.urlparse(relative_to)
    if (own.scheme or "file") != (base.scheme or "file"):
        raise ValueError("Unable to make relative path between URIs with different scheme")
    return pathlib.PurePath(own.path).relative_to(base.path).as_posix()


def as_url(location: str) -> str:
    """A location as a URL, as TileDB says those of members: without escapes in local ones."""
    return location if "://" in location else f"file://{os.path.abspath(location)}"


__all__ = ["as_url", "is_relative", "joined", "relative_path", "sanitize_key"]
