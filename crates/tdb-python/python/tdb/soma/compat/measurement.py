"""Measurements."""

from __future__ import annotations

from .collection import CollectionBase, item

_COLLECTION = ("SOMACollection",)


class Measurement(CollectionBase):
    """The variables, and matrices of observations and variables."""

    soma_type = "SOMAMeasurement"
    _types_of_members = {
        "var": ("SOMADataFrame",),
        "X": _COLLECTION,
        "obsm": _COLLECTION,
        "obsp": _COLLECTION,
        "varm": _COLLECTION,
        "varp": _COLLECTION,
        "var_spatial_presence": ("SOMADataFrame",),
    }

    var = item()
    X = item()
    obsm = item()
    obsp = item()
    varm = item()
    varp = item()
    var_spatial_presence = item()


__all__ = ["Measurement"]
