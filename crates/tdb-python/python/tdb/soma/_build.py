"""An experiment while it is written: what is below it comes first, and the experiment itself last."""

from __future__ import annotations

import os
import pathlib
import shutil
import urllib.parse
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .. import _tdb
from .._array import Array, Key, Location, Storage, object_type
from .._errors import QueryError
from .._group import Group
from .._types import Time
from ._axes import DATA, JOINID
from ._create import create_collection, create_dense, create_sparse
from ._options import CreateOptions

#: Hears what is written, and how many of how many rows (or columns) of it are done.
Progress = Callable[[str, int, int], None]
#: What a name of a member may have in the name of its folder, beside letters and digits.
_SAFE = "-_.()^!@+={}~'"
#: The memory of a write that is not told one.
MEMORY = "512MB"


@dataclass(frozen=True)
class Build:
    """Where an experiment is written, and how."""

    root: str
    options: CreateOptions
    memory: int
    at: Time | None = None
    key: Key = None
    storage: Storage = None
    threads: int | None = None
    progress: Progress | None = None

    def at_path(self, path: str) -> str:
        """The location of a part."""
        return f"{self.root}/{path}" if path else self.root

    @staticmethod
    def quoted(name: str) -> str:
        """The name of the folder of a member."""
        found = urllib.parse.quote(name, safe=_SAFE)
        if found in ("", ".", ".."):
            raise QueryError(f"{name!r} is no name of a member: a folder cannot be called so")
        if found.startswith("__"):
            raise QueryError(f"{name!r} is no name of a member: names that begin with __ are for the format's own folders")
        return found

    def how(self, attrs: Iterable[str], dims: Iterable[str] = ()) -> dict[str, Any]:
        """What each creation is told."""
        return {
            "platform_config": self.options.only([JOINID, *dims], attrs),
            "at": self.at,
            "key": self.key,
            "storage": self.storage,
            "threads": self.threads,
        }

    def sparse(self, path: str, type: Any, shape: Sequence[int], by_cells: bool = False) -> Array:
        """Creates a sparse matrix; ``by_cells``: of the values of cells."""
        how = self._matrix(shape)
        if by_cells:
            how["platform_config"] = how["platform_config"].by_cells()
        return create_sparse(self.at_path(path), type, shape, **how)

    def dense(self, path: str, type: Any, shape: Sequence[int]) -> Array:
        """Creates a dense matrix."""
        return create_dense(self.at_path(path), type, shape, **self._matrix(shape))

    def _matrix(self, shape: Sequence[int]) -> dict[str, Any]:
        names = [f"soma_dim_{at}" for at in range(len(shape))]
        return {**self.how([DATA], names), "platform_config": self.options.only(names, [DATA])}

    def collection(
        self, path: str, kind: str, members: Sequence[str], metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Creates a collection of what is in the folders of these names below it. It is there once it has all its
        members."""
        group = create_collection(
            self.at_path(path), kind, metadata=metadata, at=self.at, key=self.key, storage=self.storage
        )
        if members:
            group._change([(self.quoted(name), name, True) for name in members], self.at)

    def heard(self, path: str) -> Callable[[int, int], None] | None:
        """What hears how far a part is."""
        progress = self.progress
        return None if progress is None else lambda done, total: progress(path, done, total)


@contextmanager
def built(
    uri: Location,
    *,
    platform_config: Any,
    memory: str | int,
    at: Time | None,
    key: Key,
    storage: Storage,
    threads: int | None,
    progress: Progress | None,
) -> Iterator[Build]:
    """A place to build an experiment at. A local folder is written beside its place, and gets its name when all is
    there; if anything fails, it is removed. In object stores, which rename nothing, the experiment is there once its
    own group is, which comes last."""
    place = os.fspath(uri).rstrip("/")
    options = CreateOptions.of(platform_config)
    build = Build(place, options, _tdb.memory_bytes(str(memory)), at, key, storage, threads, progress)
    folder = _folder(place)
    if object_type(place, storage=storage) is not None or (folder is not None and folder.exists()):
        raise QueryError(f"there is something at {place} already: append() adds cells to an experiment")
    if folder is None:
        yield build
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        yield replace(build, root=str(beside))
        os.rename(beside, folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _folder(place: str) -> pathlib.Path | None:
    """The folder of a local place."""
    if place.startswith("file://"):
        return pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(place).path))
    return None if "://" in place else pathlib.Path(place)
