"""Datasets of xarray as groups of arrays. Importing this module gives datasets the accessor ``tdb``.

>>> import tdb.xarray, xarray
>>> ds = xarray.Dataset({"rain": (("day", "place"), [[0.5, 1.0], [0.0, 2.0]])}, {"place": ["Oslo", "Bergen"]}, {"source": "gauges"})
>>> ds.tdb.to_tdb(scratch / "rain")
>>> xarray.open_dataset(scratch / "rain", engine="tdb")["rain"].sel(place="Bergen").values
array([1., 2.])

Engines need no import: ``xarray.open_dataset(uri, engine="tdb")``.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from xarray.conventions import encode_dataset_coordinates

from ._array import Key, Location, Storage, object_type, open
from ._errors import QueryError, WriteError
from ._group import Group
from ._schema import Filters
from ._tables import from_numpy
from ._types import Time
from ._xarray import OF_ATTRIBUTE, SCALAR
from .dask import to_tdb as _dask_to_tdb


def to_tdb(
    dataset: xr.Dataset,
    uri: Location,
    *,
    filters: Filters | Mapping[str, Filters] = "zstd",
    tile: Mapping[str, int] | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> None:
    """Writes a dataset as a new group of dense arrays, one for each variable, which ``xarray.open_dataset`` opens again.

    ``filters`` are those of all variables, or of each by its name; ``tile`` has extents of tiles by the names of dimensions. Without
    it tiles are the chunks of dask, or whole rows. Variables of dask are written chunk by chunk. Values are stored as they are: dates
    are dates, and what ``encoding`` says about packing is not used. The group is there once all arrays are.
    """
    place = os.fspath(uri).rstrip("/")
    if object_type(place, storage=storage) is not None:
        raise WriteError(f"{place}: there is an array or a group here already")
    variables, attributes = encode_dataset_coordinates(dataset)
    names = [_member(name) for name in variables]
    for name, values in attributes.items():
        _checked(f"the attribute {name!r} of the dataset", values)
    for name, variable in variables.items():
        for about, value in variable.attrs.items():
            _checked(f"the attribute {about!r} of {name!r}", value)
    how: dict[str, Any] = {"key": key, "storage": storage, "threads": threads}
    for name, variable in zip(names, variables.values()):
        own = filters.get(name, "zstd") if isinstance(filters, Mapping) and "filters" not in filters else filters
        _write(f"{place}/{name}", name, variable, own, tile or {}, at, how)
    group = Group.create(place, at=at, key=key, storage=storage)
    for name in names:
        group.add(name, name=name, relative=True, at=at)
    if attributes:
        group.meta.change({str(name): _plain(value) for name, value in attributes.items()}, at=at)


def _member(name: Hashable) -> str:
    """The name of a variable as that of a member of a group."""
    if not isinstance(name, str) or not name or "/" in name or name.startswith(("_", ".")):
        raise QueryError(f"the variable {name!r} has no name for a folder: ds.rename gives it one of letters, without / and a first _ or .")
    return name


def _write(
    uri: str, name: str, variable: xr.Variable, filters: Any, tile: Mapping[str, int], at: Time | None, how: Mapping[str, Any]
) -> None:
    """Writes a variable as an array."""
    dims = [str(dim) for dim in variable.dims] or [SCALAR]
    if 0 in variable.shape:
        raise QueryError(f"the variable {name!r} has the shape {variable.shape}: arrays have at least one coordinate in each dimension")
    # An attribute cannot have the name of a dimension.
    attribute = f"{name}.data" if name in dims else name
    extents: Sequence[int] | None = None
    if tile:
        extents = [int(tile.get(dim, size)) for dim, size in zip(dims, variable.shape)] or None
    if variable.chunks is not None:
        _dask_to_tdb(variable.data, uri, tile=extents, dims=dims, name=attribute, filters=filters, at=at, **how)
    else:
        values = np.asarray(variable.values)
        if values.dtype == object:
            # What xarray says for a missing text.
            values = np.array([None if one != one else one for one in values.ravel()], object).reshape(values.shape)
        values = values.reshape(variable.shape or (1,))
        try:
            from_numpy(uri, values, tile=extents, dims=dims, name=attribute, filters=filters, at=at, **how)
        except QueryError as error:
            raise QueryError(f"the variable {name!r}: {error}") from error
    if variable.attrs:
        entries = {f"{OF_ATTRIBUTE}{attribute}.{about}": _plain(value) for about, value in variable.attrs.items()}
        open(uri, **how).meta.change(entries, at=at)


def _checked(what: str, value: Any) -> None:
    """Refuses what cannot be metadata."""
    found = _plain(value)
    if not isinstance(found, (str, bytes)) and (np.ndim(found) > 1 or np.asarray(found).dtype.kind not in "iufbmM"):
        raise QueryError(f"{what} is {value!r}: numbers, dates, texts, bytes and lists of numbers can be metadata")


def _plain(value: Any) -> Any:
    """A value of an attribute as metadata."""
    return str(value) if isinstance(value, np.str_) else value


@xr.register_dataset_accessor("tdb")  # type: ignore[no-untyped-call, unused-ignore]
class TdbAccessor:
    """What datasets have as ``ds.tdb``."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def to_tdb(self, uri: Location, **how: Any) -> None:
        """Writes the dataset as a new group: see :func:`tdb.xarray.to_tdb`."""
        to_tdb(self._dataset, uri, **how)


__all__ = ["TdbAccessor", "to_tdb"]
