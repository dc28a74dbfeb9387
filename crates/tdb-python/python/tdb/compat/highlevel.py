"""Functions on places: create, look, remove, maintain."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _tdb
from .array import Array, opened, place_of, there
from .array_schema import ArraySchema
from .attribute import Attr
from .ctx import Config, Ctx, ctx_of, flag, path_of
from .dense_array import DenseArray
from .dimension import Dim, Domain
from .fragment import FragmentInfoList, between
from .libtiledb import TileDBError
from .write import uri_of


#: The name under which programs take it from here.
_get_ctx = ctx_of


def open(
    uri: Any,
    mode: str = "r",
    key: Any = None,
    attr: str | None = None,
    config: Any = None,
    timestamp: Any = None,
    ctx: Ctx | None = None,
) -> Any:
    """Opens an array."""
    return Array.load_typed(uri, mode, key, timestamp, attr, ctx_of(ctx, config))


def create(uri: Any, schema: ArraySchema, ctx: Ctx, key: Any = None) -> None:
    """Creates an array."""
    _tdb.create(place_of(uri, ctx, key), json.dumps(schema._own.to_json()), None)


def save(uri: Any, array: Any, **how: Any) -> DenseArray:
    """The same as :func:`from_numpy`."""
    return from_numpy(uri, array, **how)


def from_numpy(uri: Any, array: Any, config: Any = None, ctx: Ctx | None = None, **how: Any) -> DenseArray:
    """Creates a dense array from an array of numpy, and opens it; with ``mode="append"``, writes behind what is there."""
    if not isinstance(array, np.ndarray):
        raise Exception("from_numpy is only currently supported for numpy.ndarray")
    ctx = ctx_of(ctx, config)
    mode, timestamp = how.pop("mode", "ingest"), how.pop("timestamp", None)
    if how.pop("sparse", False):
        raise TileDBError("from_numpy only supports dense arrays")
    if mode not in ("ingest", "schema_only", "append"):
        raise TileDBError(f"Invalid mode specified ('{mode}')")
    if mode == "append":
        how["append_dim"] = how.get("append_dim", 0)
        if ArraySchema.load(uri, ctx).sparse:
            raise TileDBError("Cannot append to sparse array")
    else:
        wanted = {name: one for name, one in how.items() if name not in ("append_dim", "start_idx")}
        Array.create(uri, _schema_of(array, ctx, **wanted), ctx=ctx)
    if mode != "schema_only":
        with open(uri, "w", ctx=ctx, timestamp=timestamp) as written:
            if array.dtype == object:
                written[:] = array
            else:
                written.write_direct(
                    np.ascontiguousarray(array), mode=mode, append_dim=how.get("append_dim"), start_idx=how.get("start_idx")
                )
    return DenseArray(uri, "r", ctx=ctx)


def empty_like(
    uri: Any, arr: Any, config: Any = None, key: Any = None, tile: Any = None, ctx: Ctx | None = None, dtype: Any = None
) -> DenseArray:
    """Creates an array with the shape and the type of an array of numpy, and opens it to be written."""
    ctx = ctx_of(ctx, config)
    if isinstance(arr, tuple):
        if dtype is None:
            raise ValueError("dtype must be valid data type (e.g. np.int32), not None")
        schema = schema_like(shape=arr, tile=tile, ctx=ctx, dtype=dtype)
    else:
        schema = schema_like(arr, tile=tile, ctx=ctx)
    DenseArray.create(uri, schema, key=key, ctx=ctx)
    return DenseArray(uri, "w", key=key, ctx=ctx)


def schema_like(*args: Any, shape: Any = None, dtype: Any = None, ctx: Ctx | None = None, **how: Any) -> ArraySchema:
    """The schema for an array of numpy, or for a shape and a type."""
    dim_dtype, tile = how.pop("dim_dtype", np.uint64), how.pop("tile", None)
    if len(args) == 1:
        if not all(hasattr(args[0], name) for name in ("shape", "dtype", "ndim")):
            raise ValueError("expected ndarray-like object")
        return _schema_of(args[0], ctx, dim_dtype, tile=tile)
    if not shape or not dtype:
        raise ValueError("Must provide either ndarray-like object or 'shape' and 'dtype' keyword arguments")
    tiles = _tiles(tile, len(shape)) or tuple(shape)
    dims = [Dim(domain=(0, size - 1), tile=one, dtype=dim_dtype) for size, one in zip(shape, tiles)]
    kind = np.dtype(dtype)
    own = np.dtype(kind.kind) if kind.kind in "SU" and kind.itemsize == 0 else kind
    return ArraySchema(domain=Domain(*dims), attrs=(Attr(dtype=own),), **how)


def _schema_of(
    array: Any,
    ctx: Ctx | None,
    dim_dtype: Any = np.uint64,
    attr_name: str = "",
    full_domain: bool = False,
    tile: Any = None,
    **how: Any,
) -> ArraySchema:
    from .dataframe_ import create_dim

    tiles = _tiles(tile, array.ndim) or array.shape
    dims = [
        create_dim(dtype=np.dtype(dim_dtype), values=(0, size - 1), full_domain=full_domain, tile=one, name="__dim_0")
        for size, one in zip(array.shape, tiles)
    ]
    dtype, var = array.dtype, False
    if dtype == object:
        first = array.flat[0]
        if isinstance(first, (bytes, str)):
            dtype, var = np.dtype("S" if isinstance(first, bytes) else "U"), True
        elif isinstance(first, np.ndarray) and first.ndim == 1:
            dtype, var = first.dtype, True
        else:
            raise TypeError(
                f"Unsupported sub-array type for Attribute: {type(first)} (only strings and homogeneous-typed NumPy arrays are supported)"
            )
    return ArraySchema(domain=Domain(*dims), attrs=(Attr(dtype=dtype, name=attr_name, var=var or None),), **how)


def _tiles(tile: Any, ndim: int) -> tuple[Any, ...] | None:
    if not tile:
        return None
    if np.isscalar(tile) and not isinstance(tile, str):
        return tuple(int(tile) for _ in range(ndim))  # type: ignore[arg-type]
    if isinstance(tile, str) or len(tile) != ndim:
        raise ValueError("'tile' must be iterable and match array dimensionality")
    return tuple(tile)


def array_exists(uri: Any, isdense: bool = False, issparse: bool = False, ctx: Ctx | None = None) -> bool:
    """Whether there is an array, of a kind."""
    if object_type(uri, ctx) != "array":
        return False
    if not (isdense or issparse):
        return True
    sparse = opened(uri, ctx).schema.sparse
    return not sparse if isdense else sparse


def array_fragments(uri: Any, include_mbrs: bool = False, ctx: Ctx | None = None) -> FragmentInfoList:
    """The fragments of an array, the oldest first."""
    return FragmentInfoList(uri, include_mbrs, ctx)


def object_type(uri: Any, ctx: Ctx | None = None) -> str | None:
    """What is at a place: ``"array"``, ``"group"`` or ``None``."""
    if os.path.isfile(path_of(uri)):
        return None
    found = _tdb.object_type(place_of(uri, ctx_of(ctx)))
    return found if found in ("array", "group") else None


def consolidate(
    uri: Any,
    config: Any = None,
    ctx: Ctx | None = None,
    fragment_uris: Sequence[str] | None = None,
    timestamp: Any = None,
) -> None:
    """Makes many fragments (or files of metadata, or of commits: ``sm.consolidation.mode``) into few."""
    own = ctx_of(ctx)
    merged = Config({**own.config().dict(), **(dict(config) if config is not None else {})})
    consolidated(uri, Ctx(merged), None, fragment_uris, timestamp)


_STORED = {"fragments": "fragments", "fragment_meta": "fragment-metadata", "commits": "commits", "array_meta": "metadata", "group_meta": "metadata"}


def _stored(name: str) -> str:
    if name not in _STORED:
        raise TileDBError(f"{name!r} is not a kind of files: {', '.join(_STORED)} are")
    return _STORED[name]


def consolidated(uri: Any, ctx: Ctx, key: Any, fragment_uris: Sequence[str] | None, timestamp: Any) -> None:
    """Consolidates as the options of a context say."""
    config = ctx._config
    if fragment_uris is not None and timestamp is not None:
        warnings.warn("The `timestamp` argument will be ignored: the fragments are given", DeprecationWarning, 3)
    names = None
    if fragment_uris is not None:
        names = [one.rstrip("/").split("/")[-1] for one in fragment_uris]
    else:
        first, last = int(config["sm.consolidation.timestamp_start"]), int(config["sm.consolidation.timestamp_end"])
        if timestamp is not None:
            if not isinstance(timestamp, tuple) or len(timestamp) != 2:
                raise TypeError("'timestamp' argument expects tuple(start: int, end: int)")
            first, last = timestamp[0] or 0, last if timestamp[1] is None else timestamp[1]
        if (first, last) != (0, 0xFFFF_FFFF_FFFF_FFFF):
            names = [one["name"] for one in between(opened(uri, ctx, key), first, last)]
    if names is not None and len(names) < 2:
        return
    mode, purge = _stored(config["sm.consolidation.mode"]), flag(ctx, "sm.consolidation.purge_deleted_cells")
    place = place_of(uri, ctx, key)
    with there("array", place):
        _tdb.consolidate(place, mode, names, None, purge and mode == "fragments")


def vacuum(uri: Any, config: Any = None, ctx: Ctx | None = None, timestamp: Any = None) -> None:
    """Removes what consolidated files replace (``sm.vacuum.mode`` says which)."""
    own = ctx_of(ctx)
    merged = Config({**own.config().dict(), **(dict(config) if config is not None else {})})
    if timestamp is not None:
        warnings.warn("Partial vacuuming via timestamp will be deprecated", DeprecationWarning, 2)
        if not isinstance(timestamp, tuple) or len(timestamp) != 2:
            raise TypeError("'timestamp' argument expects tuple(start: int, end: int)")
        for name, one in zip(("start", "end"), timestamp):
            if one is not None:
                merged[f"sm.vacuum.timestamp_{name}"] = one
    # Releases of libtiledb differ in whether these keys have defaults: what is not given is all times.
    words = merged.dict()
    first, last = words.get("sm.vacuum.timestamp_start", "0"), words.get("sm.vacuum.timestamp_end", str(0xFFFF_FFFF_FFFF_FFFF))
    if (int(first), int(last)) != (0, 0xFFFF_FFFF_FFFF_FFFF):
        raise NotImplementedError("a vacuum of a time is not supported: what was replaced is removed as a whole")
    ctx = Ctx(merged)
    # As TileDB's, it removes also what reads at earlier times saw.
    place = place_of(uri, ctx)
    with there("array", place):
        _tdb.vacuum(place, _stored(merged["sm.vacuum.mode"]), False, True)


def _local(uri: Any) -> str:
    path = path_of(uri)
    if path.startswith("file://"):
        return path[len("file://") :]
    if "://" in path:
        raise NotImplementedError(f"{path}: only local objects can be listed, moved and removed here")
    return path


def remove(uri: Any, ctx: Ctx | None = None) -> None:
    """Removes an array or a group."""
    if object_type(uri, ctx) is None:
        raise TileDBError(f"Cannot remove object; {path_of(uri)!r} is neither an array nor a group")
    shutil.rmtree(_local(uri))


def move(old_uri: Any, new_uri: Any, ctx: Ctx | None = None) -> None:
    """Moves an array or a group."""
    if object_type(old_uri, ctx) is None:
        raise TileDBError(f"Cannot move object; {path_of(old_uri)!r} is neither an array nor a group")
    if os.path.exists(_local(new_uri)):
        raise TileDBError(f"Cannot move object; there is something at {path_of(new_uri)!r}")
    os.rename(_local(old_uri), _local(new_uri))


def _children(path: str) -> list[str]:
    # Where there is nothing, there are no objects.
    if not os.path.isdir(path):
        return []
    return sorted(os.path.join(path, name) for name in os.listdir(path) if os.path.isdir(os.path.join(path, name)))


def ls(uri: Any, func: Callable[[str, str], Any], ctx: Ctx | None = None) -> None:
    """Calls a function with the location and the kind of each array and group in a folder."""
    for one in _children(_local(uri)):
        kind = object_type(one, ctx)
        if kind is not None:
            func(uri_of(one), kind)


def walk(uri: Any, func: Callable[[str, str], Any], order: str = "preorder", ctx: Ctx | None = None) -> None:
    """The same for all folders below."""
    if order not in ("preorder", "postorder"):
        raise ValueError(f"invalid order {order!r}: 'preorder' and 'postorder' are known")
    for one in _children(_local(uri)):
        kind = object_type(one, ctx)
        if kind is not None and order == "preorder":
            func(uri_of(one), kind)
        # Objects in folders that are no groups are not visited, as in TileDB.
        if kind == "group":
            walk(one, func, order, ctx)
        if kind is not None and order == "postorder":
            func(uri_of(one), kind)


__all__ = [
    "array_exists", "array_fragments", "consolidate", "empty_like", "from_numpy", "ls", "move", "object_type", "open", "remove",
    "save", "schema_like", "vacuum", "walk",
]  # fmt: skip

