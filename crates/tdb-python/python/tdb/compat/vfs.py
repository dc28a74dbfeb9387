"""Files. Only local ones: programs reach others through packages such as fsspec."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .ctx import Config, Ctx, ctx_of, path_of
from .libtiledb import TileDBError


def _local(uri: Any) -> str:
    if not isinstance(uri, (str, bytes, os.PathLike)):
        raise TypeError("VFS paths must be strings, bytes, or os.PathLike objects")
    path = path_of(uri)
    if path.startswith("file://"):
        return path[len("file://") :]
    if "://" in path:
        raise NotImplementedError(f"{path}: only local files are supported here")
    return path


def _uri(path: str) -> str:
    return "file://" + os.path.abspath(path)


class VFS:
    """Files and folders."""

    def __init__(self, config: Any = None, ctx: Ctx | None = None) -> None:
        base = ctx_of(ctx)
        if config is not None and not isinstance(config, (Config, Mapping)):
            try:
                config = dict(config)
            except (TypeError, ValueError) as error:
                raise ValueError("`config` argument must be of type Config or dict") from error
        given = {} if config is None else dict(config.items())
        self._ctx = Ctx(Config({**base.config().dict(), **given}))

    def ctx(self) -> Ctx:
        """The context."""
        return self._ctx

    def config(self) -> Config:
        """The options."""
        return self._ctx.config()

    def open(self, uri: Any, mode: str = "rb") -> FileIO:
        """Opens a file."""
        return FileIO(self, uri, mode)

    def close(self, file: Any) -> Any:
        """Closes a file."""
        file.close()
        return file

    def supports(self, scheme: str) -> bool:
        """Whether locations of a kind are supported."""
        return scheme == "file"

    def create_dir(self, uri: Any) -> None:
        """Creates a folder."""
        os.makedirs(_local(uri), exist_ok=True)

    def is_dir(self, uri: Any) -> bool:
        """Whether there is a folder."""
        return os.path.isdir(_local(uri))

    def remove_dir(self, uri: Any) -> None:
        """Removes a folder with what is in it."""
        self._call(shutil.rmtree, _local(uri))

    def dir_size(self, uri: Any) -> int:
        """The bytes of the files in a folder."""
        return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(_local(uri)) for name in names)

    def move_dir(self, old_uri: Any, new_uri: Any) -> None:
        """Moves a folder."""
        self._call(os.rename, _local(old_uri), _local(new_uri))

    def copy_dir(self, old_uri: Any, new_uri: Any) -> None:
        """Copies a folder."""
        self._call(shutil.copytree, _local(old_uri), _local(new_uri))

    def is_file(self, uri: Any) -> bool:
        """Whether there is a file."""
        return os.path.isfile(_local(uri))

    def remove_file(self, uri: Any) -> None:
        """Removes a file."""
        self._call(os.remove, _local(uri))

    def file_size(self, uri: Any) -> int:
        """The bytes of a file."""
        return int(self._call(os.path.getsize, _local(uri)))

    def move_file(self, old_uri: Any, new_uri: Any) -> None:
        """Moves a file."""
        self._call(os.rename, _local(old_uri), _local(new_uri))

    def copy_file(self, old_uri: Any, new_uri: Any) -> None:
        """Copies a file."""
        self._call(shutil.copyfile, _local(old_uri), _local(new_uri))

    def touch(self, uri: Any) -> None:
        """Creates an empty file, if there is none."""
        self._call(lambda path: open(path, "ab").close(), _local(uri))

    def ls(self, uri: Any, recursive: bool = False) -> list[str]:
        """What is in a folder."""
        if recursive:
            return [name for name, _ in self._below(_local(uri))]
        if not os.path.isdir(_local(uri)):
            return []
        names: list[str] = self._call(os.listdir, _local(uri))
        return [_uri(os.path.join(_local(uri), name)) for name in sorted(names)]

    def ls_recursive(self, uri: Any, callback: Callable[[str, int], bool] | None = None) -> Any:
        """Everything below a folder, with sizes."""
        found = self._below(_local(uri))
        if callback is None:
            return [name for name, _ in found]
        for name, size in found:
            if not callback(name, size):
                break
        return None

    def _below(self, path: str) -> list[tuple[str, int]]:
        found = []
        for root, folders, names in os.walk(path):
            found += [(_uri(os.path.join(root, one)), 0) for one in folders]
            found += [(_uri(os.path.join(root, one)), os.path.getsize(os.path.join(root, one))) for one in names]
        return sorted(found)

    @staticmethod
    def _call(what: Callable[..., Any], *given: Any) -> Any:
        try:
            return what(*given)
        except OSError as error:
            raise TileDBError(str(error)) from error

    isdir = is_dir
    isfile = is_file
    size = file_size


class FileIO(io.FileIO):
    """An open file."""

    def __init__(self, vfs: VFS, uri: Any, mode: str = "rb") -> None:
        if mode not in ("rb", "wb", "ab"):
            raise ValueError(f"invalid mode {mode}")
        path = _local(uri)
        if mode == "rb" and not os.path.isfile(path):
            raise TileDBError(f"URI {path!r} is not a valid file")
        self._shown = mode
        super().__init__(path, mode[0])

    def __len__(self) -> int:
        return os.fstat(self.fileno()).st_size

    def seek(self, offset: int, whence: int = 0) -> int:
        """Moves to a place, at most to the end and at least to the beginning."""
        if not isinstance(offset, (int, np.integer)):
            raise TypeError(f"Offset must be an integer or None (got type {type(offset)})")
        if whence not in (0, 1, 2):
            raise ValueError("whence must be equal to SEEK_SET, SEEK_START, SEEK_END")
        if whence == 0 and offset < 0:
            raise ValueError("offset must be a positive or zero value when SEEK_SET")
        begin = {0: 0, 1: self.tell(), 2: len(self)}[whence]
        return super().seek(max(0, min(begin + int(offset), len(self))))

    def write(self, buff: Any) -> int:
        """Writes bytes, or a text as UTF-8."""
        return super().write(buff.encode() if isinstance(buff, str) else buff)


__all__ = ["FileIO", "VFS"]
