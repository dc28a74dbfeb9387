"""Groups."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

from .. import _tdb
from .._group import remove_member
from .._types import Window
from .array import Array, place_of, there
from .ctx import Config, Ctx, ctx_of, path_of
from .libtiledb import TileDBError
from .metadata import Metadata
from .write import uri_of

_MODES = ("r", "w", "m")


class Object:
    """A member of a group: what it is, where it is, and its name."""

    def __init__(self, type: str, uri: str, name: str | None = None) -> None:
        self._type, self._uri, self._name = type, uri, name

    @property
    def uri(self) -> str:
        """Where it is."""
        return self._uri

    @property
    def name(self) -> str | None:
        """Its name."""
        return self._name

    @property
    def type(self) -> Any:
        """The class of what it is."""
        return {"array": Array, "group": Group}.get(self._type)

    def __repr__(self) -> str:
        name = "" if not self._name else f"{self._name} "
        return f"Object<{self._type.upper()} {name}{self._uri}>"


class Group:
    """A group: to be read (``"r"``), or to be changed (``"w"``). Changes are written when it is closed."""

    def __init__(self, uri: Any, mode: str = "r", config: Any = None, ctx: Ctx | None = None) -> None:
        if mode not in _MODES:
            raise ValueError(f"invalid mode {mode}")
        merged = {**ctx_of(ctx).config().dict(), **(dict(config) if config is not None else {})}
        self._ctx, self._uri = Ctx(Config(merged)), path_of(uri)
        self._isopen = False
        self.open(mode)

    @staticmethod
    def create(uri: Any, ctx: Ctx | None = None) -> None:
        """Creates an empty group."""
        from .highlevel import object_type

        if object_type(uri, ctx) is not None:
            raise TileDBError(f"Cannot create group; Array or group already exists: {path_of(uri)}")
        _tdb.create_group(place_of(uri, ctx_of(ctx)), None)

    def open(self, mode: str = "r") -> None:
        """Opens the group again."""
        if mode not in _MODES:
            raise ValueError(f"invalid mode {mode}")
        if self._isopen:
            raise TileDBError("Cannot open group; Group already open")
        config = self._ctx._config
        first, last = int(config["sm.group.timestamp_start"]), int(config["sm.group.timestamp_end"])
        whole = (first, last) == (0, 0xFFFF_FFFF_FFFF_FFFF)
        self._window: Window = None if whole else (first, last)
        self._at = None if whole else last
        self._place, self._mode = place_of(self._uri, self._ctx), mode
        window = None if self._window is None else (first, last)
        with there("group", self._place):
            self._members = _tdb.group_members(self._place, window)
        self._meta = Metadata(self, self._place, window, mode, self._at)
        self._added: list[tuple[str, str | None, bool]] = []
        self._removed: list[str] = []
        self._isopen = True

    def close(self) -> None:
        """Ends the use of the group. What was changed is written."""
        if self._isopen:
            self._isopen = False
            self._meta.close()
            for one in self._removed:
                remove_member(self._place, one, self._at)
            if self._added:
                _tdb.group_update(self._place, self._added, [], self._at)

    def _changes(self) -> None:
        if not self._isopen or self._mode == "r":
            raise TileDBError("the group is not opened for writing")

    def _reads(self) -> None:
        if not self._isopen:
            raise TileDBError("the group is not open")
        if self._mode != "r":
            raise TileDBError("the group is not opened for reading")

    def add(self, uri: Any, name: str | None = None, relative: bool = False, type: Any = None) -> None:
        """Adds an array or a group."""
        self._changes()
        if type is not None and type not in (Array, Group, *Array.__subclasses__()):
            raise ValueError(f"Invalid type '{type}'. Must be tiledb.Array or tiledb.Group")
        if any((one[1] or one[0]) == (name or path_of(uri)) for one in self._added):
            raise TileDBError(f"Cannot add group member {path_of(uri)}: the name is added twice")
        self._added.append((path_of(uri), name, relative))

    def remove(self, member: str) -> None:
        """Removes a member by its name or its location. What it is remains."""
        if not isinstance(member, str):
            raise TypeError(f"Unexpected member type '{type(member)}': expected str")
        self._changes()
        self._removed.append(member)

    def __delitem__(self, uri: str) -> None:
        self.remove(uri)

    def delete(self, recursive: bool = False) -> None:
        """Removes the group and, if that is wanted, its members."""
        from .highlevel import remove

        if self._mode != "m":
            raise TileDBError("Cannot delete group; Query type must be MODIFY_EXCLUSIVE")
        path = self._uri[len("file://") :] if self._uri.startswith("file://") else self._uri
        if "://" in path:
            raise NotImplementedError("only local groups can be removed here")
        if recursive:
            for _, uri, kind in self._members:
                if kind == "group":
                    with Group(uri, "m", ctx=self._ctx) as inner:
                        inner.delete(True)
                elif kind == "array":
                    remove(uri, self._ctx)
        for name in os.listdir(path) if not recursive else ():
            if name.startswith("__"):
                below = os.path.join(path, name)
                shutil.rmtree(below) if os.path.isdir(below) else os.remove(below)
        if recursive:
            shutil.rmtree(path)
        self._isopen = False

    def __getitem__(self, member: Any) -> Object:
        if not isinstance(member, (int, str)):
            raise TypeError(f"Unexpected member type '{type(member)}': expected int or str")
        self._reads()
        if isinstance(member, int):
            if not 0 <= member < len(self._members):
                raise TileDBError(f"there is no member number {member}")
            name, uri, kind = self._members[member]
            return Object(kind, uri_of(uri), name)
        for name, uri, kind in self._members:
            if member in (name, uri, uri_of(uri)):
                return Object(kind, uri_of(uri), name)
        raise TileDBError(f"the group has no member {member!r}")

    def __len__(self) -> int:
        self._reads()
        return len(self._members)

    def __iter__(self) -> Iterator[Object]:
        return iter([self[at] for at in range(len(self))])

    def __contains__(self, member: object) -> bool:
        self._reads()
        return any(member in (name, uri, uri_of(uri)) for name, uri, _ in self._members)

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = os.path.basename(self._uri.rstrip("/"))
        lines = [f"|-- {one[0] or os.path.basename(one[1].rstrip('/'))} {one[2].upper()}" for one in self._members]
        return "\n".join([f"{name} GROUP", *lines]) + "\n"

    @property
    def meta(self) -> Metadata:
        """Key-value metadata."""
        return self._meta

    @property
    def isopen(self) -> bool:
        """Whether the group is open."""
        return self._isopen

    @property
    def uri(self) -> str:
        """The location."""
        return uri_of(self._uri)

    @property
    def mode(self) -> str:
        """``"r"``, ``"w"`` or ``"m"``."""
        return self._mode

    def is_relative(self, name: str) -> bool:
        """Whether the location of a member is relative to the group."""
        raise NotImplementedError("whether a member is relative cannot be told here: `tdb group` shows it")

    def set_config(self, cfg: Config) -> None:
        """Other options for the next :meth:`open`."""
        if self.isopen:
            raise ValueError("`set_config` can only be used on closed groups")
        self._ctx = Ctx(cfg)

    @staticmethod
    def consolidate_metadata(uri: Any, config: Any = None, ctx: Ctx | None = None) -> None:
        """Makes many files of metadata into one."""
        _tdb.consolidate(place_of(uri, ctx_of(ctx)), "metadata")

    @staticmethod
    def vacuum_metadata(uri: Any, config: Any = None, ctx: Ctx | None = None) -> None:
        """Removes the files that :meth:`consolidate_metadata` replaced."""
        _tdb.vacuum(place_of(uri, ctx_of(ctx)), "metadata", False, True)


__all__ = ["Group", "Object"]
