"""Opening objects of any type."""

from __future__ import annotations

from typing import Any

from ... import _tdb
from ..._array import Array
from ..._group import Group
from .collection import Collection
from .constants import SOMA_OBJECT_TYPE_METADATA_KEY
from .context import SOMATileDBContext, context_of
from .dataframe import DataFrame
from .dense import DenseNDArray
from .exceptions import DoesNotExistError, SOMAError, translated
from .experiment import Experiment
from .measurement import Measurement
from .scene import Scene
from .soma_object import SOMAObject, checked_mode, checked_uri
from .sparse import SparseNDArray
from .spatial import GeometryDataFrame, MultiscaleImage, PointCloudDataFrame

_TYPES: dict[str, type[SOMAObject]] = {
    one.soma_type.lower(): one
    for one in (
        Collection,
        DataFrame,
        DenseNDArray,
        Experiment,
        GeometryDataFrame,
        Measurement,
        MultiscaleImage,
        PointCloudDataFrame,
        Scene,
        SparseNDArray,
    )
}


def open(
    uri: str,
    mode: str = "r",
    *,
    soma_type: type[SOMAObject] | str | None = None,
    context: SOMATileDBContext | None = None,
    tiledb_timestamp: Any = None,
) -> Any:
    """Opens an object of any type, or of the type that is said."""
    context = context_of(context)
    found = opened(checked_uri(uri), checked_mode(mode), context, context._open_timestamp_ms(tiledb_timestamp))
    if soma_type is None:
        return found
    if isinstance(soma_type, str):
        wanted = class_of(soma_type).soma_type
    elif isinstance(soma_type, type) and issubclass(soma_type, SOMAObject):
        wanted = soma_type.soma_type
    else:
        found.close()
        raise TypeError(f"Cannot convert soma_type {soma_type!r} to expected SOMA type.")
    if found.soma_type.lower() != wanted.lower():
        found.close()
        raise TypeError(f"Type of URI {uri!r} was {found.soma_type}; expected {wanted}.")
    return found


def class_of(name: str) -> type[SOMAObject]:
    """The class of a type by its name."""
    if name.lower() not in _TYPES:
        raise SOMAError(f"{name!r} is not a recognized SOMA type; expected one of {sorted(_TYPES)}")
    return _TYPES[name.lower()]


def opened(uri: str, mode: str, context: SOMATileDBContext, timestamp_ms: int) -> SOMAObject:
    """Opens an object of the type that its metadata says."""
    place = context._place(uri)
    window = (0, min(timestamp_ms, (1 << 63) - 1))
    with translated(uri):
        kind = _tdb.object_type(place)
        if kind == "group":
            meta = dict(Group(uri, window, **context._opening()).meta)
        elif kind == "array":
            meta = dict(Array(place, at=window).meta)
        else:
            raise DoesNotExistError(f"{uri!r} does not exist")
    said = SOMAObject._text(meta.get(SOMA_OBJECT_TYPE_METADATA_KEY))
    if said is None:
        raise SOMAError(f"{uri!r} is no object of SOMA: its metadata has no {SOMA_OBJECT_TYPE_METADATA_KEY!r}")
    return class_of(said)._opened(uri, mode, context, timestamp_ms)


__all__ = ["open"]
