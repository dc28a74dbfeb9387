"""The fragments of arrays."""

from __future__ import annotations

import os
import pprint
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._array import Array as Own
from .._schema import Schema, json_value_of
from .._types import number_dtype, value_of_json
from .ctx import Ctx, path_of
from .libtiledb import TileDBError
from .write import uri_of


def between(own: Own, first: int, last: int) -> list[dict[str, Any]]:
    """The fragments that were written in a time."""
    return [one for one in own.fragments if first <= one["timestamps"][0] and one["timestamps"][1] <= last]


class FragmentInfoList:
    """The fragments of an array, the oldest first."""

    def __init__(self, array_uri: Any, include_mbrs: bool = False, ctx: Ctx | None = None) -> None:
        from .array import opened

        if include_mbrs:
            raise NotImplementedError("the bounding rectangles of tiles: tdb.Array.fragments and `tdb info` have more")
        own = opened(array_uri, ctx)
        self.array_uri = path_of(array_uri)
        base, found = uri_of(self.array_uri), own.fragments
        schema = own.schema
        self.uri = tuple(f"{base}/{_folder(one)}{one['name']}" for one in found)
        self.version = tuple(one["version"] for one in found)
        self.nonempty_domain = tuple(
            tuple(
                tuple(_end(dim.datatype, end) for end in ends)
                for dim, ends in zip(schema.dimensions, one["non_empty_domain"] or ())
            )
            for one in found
        )
        self.cell_num = tuple(_cells(schema, one) for one in found)
        self.timestamp_range = tuple((one["timestamps"][0], one["timestamps"][1]) for one in found)
        self.sparse = tuple(one["type"] == "sparse" for one in found)

    def __getattr__(self, name: str) -> Any:
        if name == "mbrs":
            raise AttributeError("'FragmentInfoList' object has no attribute 'mbrs'")
        raise AttributeError(f"'FragmentInfoList' object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.uri)

    def __iter__(self) -> Iterator[FragmentInfo]:
        return (FragmentInfo(self, at) for at in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [FragmentInfo(self, at) for at in range(*key.indices(len(self)))]
        if not isinstance(key, int):
            raise TypeError("Invalid argument type.")
        if not -len(self) <= key < len(self):
            raise IndexError("there is no such fragment")
        return FragmentInfo(self, key)

    def __repr__(self) -> str:
        return pprint.pformat({name: one for name, one in self.__dict__.items() if not name.startswith("_")})


def _end(datatype: str, said: Any) -> Any:
    """A coordinate in numpy's type."""
    value, dtype = value_of_json(datatype, said), number_dtype(datatype)
    return value if dtype is None else np.asarray(value, dtype)[()]


def _cells(schema: Schema, one: dict[str, Any]) -> int:
    """The cells of a fragment. Those of a dense one fill whole tiles."""
    if one["type"] == "sparse" or not one["non_empty_domain"]:
        return int(one["cells"])
    count = 1
    for dim, ends in zip(schema.dimensions, one["non_empty_domain"]):
        begin = int(json_value_of(dim.domain[0])) if dim.domain else 0
        low, high = (int(json_value_of(_end(dim.datatype, end))) for end in ends)
        extent = int(dim.tile or high - low + 1)
        count *= ((high - begin) // extent - (low - begin) // extent + 1) * extent
    return count


def _folder(one: dict[str, Any]) -> str:
    return "__fragments/" if int(one["version"]) >= 12 else ""


class FragmentInfo:
    """A fragment."""

    def __init__(self, fragments: FragmentInfoList, num: int) -> None:
        self.num = num
        self.uri = fragments.uri[num]
        self.version = fragments.version[num]
        self.nonempty_domain = fragments.nonempty_domain[num]
        self.cell_num = fragments.cell_num[num]
        self.timestamp_range = fragments.timestamp_range[num]
        self.sparse = fragments.sparse[num]

    def __repr__(self) -> str:
        return pprint.pformat({name: one for name, one in self.__dict__.items() if not name.startswith("_")})


def delete_fragments(uri: Any, first: int, last: int, ctx: Ctx | None = None) -> None:
    """Removes the fragments that were written in a time."""
    from .array import opened

    path = path_of(uri)
    if "://" in path and not path.startswith("file://"):
        raise NotImplementedError("fragments can be removed from local arrays only")
    path = path[len("file://") :] if path.startswith("file://") else path
    own = opened(path, ctx)
    if own.schema.version is not None and own.schema.version < 12:
        raise NotImplementedError("fragments can be removed from arrays of format version 12 and newer only")
    for one in between(own, first, last):
        commit = os.path.join(path, "__commits", f"{one['name']}.wrt")
        if not os.path.exists(commit):
            raise TileDBError(f"the fragment {one['name']} has no commit of its own: consolidated commits cannot be changed")
        os.remove(commit)
        shutil.rmtree(os.path.join(path, "__fragments", one["name"]))


__all__ = ["FragmentInfo", "FragmentInfoList", "delete_fragments"]
