"""Options of single calls: how arrays are laid out, written and deleted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from .._options import _filters as _known_filters

Made = TypeVar("Made")

def _filter(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        given = {"_type": given}
    if not isinstance(given, Mapping):
        raise TypeError(f"filters must be specified as a string or dict, not {type(given)}")
    if "_type" not in given:
        raise ValueError("filter dicts must include a `_type` key with the filter name")
    name = given["_type"]
    if not isinstance(name, str):
        raise TypeError(f"filter name must be a str, not {type(name)}")
    _known_filters([given], "a filter")
    return dict(given)


def _filters(given: Any) -> tuple[dict[str, Any], ...] | None:
    return None if given is None else tuple(_filter(one) for one in given)


@dataclass(frozen=True)
class ColumnConfig:
    """The filters and the tile of a column."""

    filters: tuple[dict[str, Any], ...] | None = None
    tile: int | None = None

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ColumnConfig:
        """The column that a dictionary says."""
        tile = given.get("tile")
        if tile is not None and not isinstance(tile, int):
            raise TypeError(f"a tile is an integer, not {type(tile)}")
        return cls(_filters(given.get("filters")), tile)


def _columns(given: Any) -> dict[str, ColumnConfig]:
    if not isinstance(given, Mapping):
        raise TypeError("column configuration must be a dictionary")
    return {name: one if isinstance(one, ColumnConfig) else ColumnConfig.from_dict(one) for name, one in given.items()}


def _checked(made: Any, kinds: Mapping[str, tuple[type, ...]]) -> None:
    for name, types in kinds.items():
        value = getattr(made, name)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise TypeError(f"{name!r} must be {' or '.join(one.__name__ for one in types)}, not {type(value).__name__}")


def _of_config(cls: type[Made], platform_config: Any, word: str) -> Made:
    found: Made | dict[str, Any] = dig(platform_config, cls, ("tiledb", word))
    if isinstance(found, dict):
        names = {one.name for one in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in found.items() if name in names})
    return found


@dataclass(frozen=True, kw_only=True)
class TileDBCreateOptions:
    """How new arrays are laid out."""

    dataframe_dim_zstd_level: int = 3
    sparse_nd_array_dim_zstd_level: int = 3
    dense_nd_array_dim_zstd_level: int = 3
    write_X_chunked: bool = True
    goal_chunk_nnz: int = 100_000_000
    remote_cap_nbytes: int = 2_400_000_000
    capacity: int = 100_000
    offsets_filters: Any = ("DoubleDeltaFilter", "BitWidthReductionFilter", "ZstdFilter")
    validity_filters: Any = None
    allows_duplicates: bool = False
    tile_order: str | None = None
    cell_order: str | None = None
    dims: Any = field(default_factory=dict)
    attrs: Any = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = ("dataframe_dim_zstd_level", "sparse_nd_array_dim_zstd_level", "dense_nd_array_dim_zstd_level", "goal_chunk_nnz")
        _checked(self, dict.fromkeys((*numbers, "remote_cap_nbytes", "capacity"), (int,)))
        _checked(self, dict.fromkeys(("write_X_chunked", "allows_duplicates"), (bool,)))
        _checked(self, dict.fromkeys(("tile_order", "cell_order"), (str, type(None))))
        object.__setattr__(self, "offsets_filters", _filters(self.offsets_filters))
        object.__setattr__(self, "validity_filters", _filters(self.validity_filters))
        object.__setattr__(self, "dims", _columns(self.dims))
        object.__setattr__(self, "attrs", _columns(self.attrs))

    @classmethod
    def from_platform_config(cls, platform_config: Any = None) -> TileDBCreateOptions:
        """The options that ``platform_config`` says: as they are, or under ``{"tiledb": {"create": …}}``."""
        return _of_config(cls, platform_config, "create")

    def cell_tile_orders(self) -> tuple[str | None, str | None]:
        """The orders of cells and tiles."""
        if self.cell_order is None and self.tile_order is None:
            return "row-major", "row-major"
        return self.cell_order, self.tile_order

    def dim_tile(self, dim_name: str, default: int = 2048) -> int:
        """The extent of the tiles of a dimension."""
        found = self.dims.get(dim_name)
        return default if found is None or found.tile is None else int(found.tile)


@dataclass(frozen=True, kw_only=True)
class TileDBWriteOptions:
    """How cells are written: whether coordinates are sorted first, and whether fragments are united afterwards."""

    sort_coords: bool = True
    consolidate_and_vacuum: bool | None = False

    def __post_init__(self) -> None:
        _checked(self, {"sort_coords": (bool,), "consolidate_and_vacuum": (bool, type(None))})

    @classmethod
    def from_platform_config(cls, platform_config: Any = None) -> TileDBWriteOptions:
        """The options that ``platform_config`` says: as they are, or under ``{"tiledb": {"write": …}}``."""
        return _of_config(cls, platform_config, "write")


@dataclass(frozen=True, kw_only=True)
class TileDBDeleteOptions:
    """How cells are deleted, about which there is nothing to choose."""

    @classmethod
    def from_platform_config(cls, platform_config: Any = None) -> TileDBDeleteOptions:
        """The options that ``platform_config`` says."""
        return cls()


def dig(given: Any, kind: type[Made], path: tuple[str, ...]) -> Any:
    """What is found in dictionaries of dictionaries: an object of this kind on the way, or what is at its end."""
    for name in path:
        if isinstance(given, kind):
            return given
        if not isinstance(given, dict) or name not in given:
            return {}
        given = given[name]
    if not isinstance(given, (kind, dict)):
        raise TypeError(f"`{'.'.join(path)}` entry of `platform_config` must be either a dict or `{kind.__name__}`, not {type(given)}")
    return given


def write_options(platform_config: Any) -> TileDBWriteOptions:
    """The options of a write. Those of a creation are refused, which old programs gave."""
    if isinstance(platform_config, TileDBCreateOptions):
        raise ValueError("As of TileDB-SOMA 1.13, the write method takes TileDBWriteOptions instead of TileDBCreateOptions")
    return TileDBWriteOptions.from_platform_config(platform_config)


__all__ = ["TileDBCreateOptions", "TileDBDeleteOptions", "TileDBWriteOptions"]
