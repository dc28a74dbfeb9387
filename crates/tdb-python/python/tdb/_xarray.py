"""The engine ``tdb`` of xarray: ``xarray.open_dataset(uri, engine="tdb")``. The package's metadata names the class."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from ._array import Array, Key, Location, Metadata, Storage, object_type, open
from ._errors import NotAnArrayError, QueryError, UnsupportedError
from ._grid import Grid, coordinates, ends_of, labels_of
from ._group import Group
from ._types import AnyArray, Window

#: How the metadata of an array begins that is about one of its attributes or dimensions: TileDB's convention for CF.
OF_ATTRIBUTE, _OF_DIMENSION = "__tiledb_attr.", "__tiledb_dim."
#: What the same convention puts behind the names of attributes that have the name of a dimension.
_SUFFIXES = (".data", ".index")
#: The only dimension, of one coordinate, of an array for a variable that has none.
SCALAR = "__scalar"


class _Cells(BackendArray):
    """A variable that reads the cells that are asked for."""

    def __init__(self, grid: Grid) -> None:
        self.grid, self.shape, self.dtype = grid, grid.shape, grid.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> AnyArray:
        outer = indexing.IndexingSupport.OUTER
        found: AnyArray = indexing.explicit_indexing_adapter(key, self.shape, outer, self.grid.__getitem__)
        return found


class TdbBackendEntrypoint(BackendEntrypoint):
    """Dense arrays, and groups of them, as datasets."""

    description = "TileDB arrays and groups, without libtiledb"
    url = "https://github.com/tdb-rs/tdb/blob/main/docs/python.md"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether it is a local folder that looks like an array or a group."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        folder = os.fspath(filename_or_obj)
        return any(os.path.isdir(os.path.join(folder, own)) for own in ("__schema", "__group"))

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: Any = True,
        concat_characters: bool = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        at: Window = None,
        key: Key = None,
        storage: Storage = None,
        threads: int | None = None,
        full_domain: bool = False,
    ) -> xr.Dataset:
        """An array, or a group whose arrays share their dimensions. See docs/python.md."""
        opened = _opened(filename_or_obj, at, key, storage, threads)
        dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        if isinstance(opened, Array):
            found = _dataset([(None, opened)], dict(opened.meta), full_domain, dropped)
        else:
            found = _dataset(_arrays(opened), dict(opened.meta), full_domain, dropped)
        more: dict[str, Any] = {} if use_cftime is None else {"use_cftime": use_cftime}
        return xr.decode_cf(
            found,
            concat_characters=concat_characters,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            decode_coords=decode_coords,
            decode_timedelta=decode_timedelta,
            **more,
        )

    def open_groups_as_dict(self, filename_or_obj: Any, **how: Any) -> dict[str, xr.Dataset]:
        """The datasets of a group and of the groups in it, by their paths."""
        given = {name: how.get(name) for name in ("at", "key", "storage", "threads")}
        found = {"/": self.open_dataset(filename_or_obj, **how)}
        opened = _opened(filename_or_obj, **given)
        for member in opened if isinstance(opened, Group) else ():
            if member.kind == "group" and member.name is not None:
                for path, dataset in self.open_groups_as_dict(member.uri, **how).items():
                    found[f"/{member.name}{path if path != '/' else ''}"] = dataset
        return found

    def open_datatree(self, filename_or_obj: Any, **how: Any) -> Any:
        """A group and the groups in it."""
        return xr.DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **how))


def _opened(uri: Location, at: Window, key: Key, storage: Storage, threads: int | None) -> Array | Group:
    kind = object_type(uri, storage=storage)
    if kind == "group":
        return Group(uri, at, key=key, storage=storage, threads=threads)
    if kind is None:
        raise NotAnArrayError(f"{os.fspath(uri)}: there is neither an array nor a group", os.fspath(uri))
    return open(uri, at, key=key, storage=storage, threads=threads)


def _arrays(group: Group) -> list[tuple[str | None, Array]]:
    """The dense arrays of a group, with their names."""
    found: list[tuple[str | None, Array]] = []
    for member in group:
        if member.kind != "array":
            continue
        storage, key, threads = group._opened
        array = open(member.uri, group._at, key=key, storage=storage, threads=threads)
        if array.schema.sparse:
            warnings.warn(f"{member.uri} is sparse, so it is no variable of the dataset", stacklevel=4)
            continue
        found.append((member.name, array))
    return found


def _dataset(
    arrays: list[tuple[str | None, Array]], attributes: Mapping[str, Any], full_domain: bool, dropped: set[str]
) -> xr.Dataset:
    """The dataset of arrays that share dimensions of equal names."""
    names = [attribute.name for _, array in arrays for attribute in array.schema.attributes]
    by_attribute = len(set(names)) == len(names) and "" not in names
    variables: dict[str, xr.Variable] = {}
    domains: dict[str, tuple[tuple[int, int], xr.Variable]] = {}
    labels: dict[str, xr.Variable] = {}
    for member, array in arrays:
        if array.schema.sparse:
            raise UnsupportedError(
                f"{array.uri} is sparse: its cells are a table and no grid, which tdb.open(uri).read().to_pandas() has;"
                " .set_index(…).to_xarray() makes a dataset of that"
            )
        box = ends_of(array, written=not full_domain)
        dims = [dimension.name or f"dim_{at}" for at, dimension in enumerate(array.schema.dimensions)]
        meta = array.meta if len(arrays) != 1 or member is not None else attributes
        for at, dim in enumerate(dims if dims != [SCALAR] else []):
            if dim in domains and domains[dim][0] != box[at]:
                raise QueryError(
                    f"dimension {dim!r} is from {box[at][0]} to {box[at][1]} in {array.uri}, but from {domains[dim][0][0]} to "
                    f"{domains[dim][0][1]} in another array of the group: open the arrays one by one, or use full_domain=True"
                )
            about = _about(meta, _OF_DIMENSION, array.schema.dimensions[at].name)
            domains[dim] = (box[at], xr.Variable(dim, coordinates(array, at, box[at]), about))
        for said in array.schema.said["labels"]:
            at = _place(array, said["dimension"])
            if box[at][0] <= box[at][1] and said["name"] not in dropped:
                labels[said["name"]] = xr.Variable(dims[at], labels_of(array, said["name"], at, box))
        single = len(array.schema.attributes) == 1
        for attribute in array.schema.attributes:
            name = _name(attribute.name, member, by_attribute, single)
            if name in dropped:
                continue
            grid = Grid(array, attribute.name, box)
            if dims == [SCALAR]:
                variables[name] = xr.Variable((), grid[0], _about(meta, OF_ATTRIBUTE, attribute.name))
                continue
            own = dims + [f"{name}_values"] * (grid.ndim - len(dims))
            variable = xr.Variable(own, indexing.LazilyIndexedArray(_Cells(grid)), _about(meta, OF_ATTRIBUTE, attribute.name))
            variable.encoding = {"preferred_chunks": dict(zip(own, grid.chunks)), "source": array.uri}
            variables[name] = variable
    given = {
        name: value for name, value in attributes.items() if not name.startswith((OF_ATTRIBUTE, _OF_DIMENSION))
    }
    # What is stored about a dimension goes before its domain.
    coords = {dim: variable for dim, (_, variable) in domains.items() if dim not in dropped}
    coords.update(labels)
    coords.update({name: variables.pop(name) for name in list(variables) if variables[name].dims == (name,)})
    return xr.Dataset(variables, coords, given)


def _place(array: Array, dimension: Any) -> int:
    """The place of a dimension that is said by its name or its number."""
    names = [one.name for one in array.schema.dimensions]
    return names.index(dimension) if isinstance(dimension, str) else int(dimension)


def _name(attribute: str, member: str | None, by_attribute: bool, single: bool) -> str:
    """The name of a variable: that of the attribute, where it says which one is meant."""
    if by_attribute or member is None:
        for suffix in _SUFFIXES:
            attribute = attribute.removesuffix(suffix)
        return attribute or "value"
    return member if single else f"{member}.{attribute}"


def _about(meta: Mapping[str, Any] | Metadata, prefix: str, name: str) -> dict[str, Any]:
    """What the metadata of an array says about one of its attributes or dimensions."""
    start = f"{prefix}{name}."
    found = {key[len(start) :]: value for key, value in dict(meta).items() if key.startswith(start)}
    return {key: value.item() if isinstance(value, np.ndarray) and value.size == 1 else value for key, value in found.items()}
