"""How arrays are created: the options of ``platform_config``, as ``tiledbsoma`` names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import _tdb
from .._errors import QueryError

#: The names of filters, and tdb's.
_FILTERS = {
    "GzipFilter": "gzip",
    "ZstdFilter": "zstd",
    "LZ4Filter": "lz4",
    "Bzip2Filter": "bzip2",
    "RleFilter": "rle",
    "DeltaFilter": "delta",
    "DoubleDeltaFilter": "double-delta",
    "BitWidthReductionFilter": "bit-width-reduction",
    "BitShuffleFilter": "bitshuffle",
    "ByteShuffleFilter": "byteshuffle",
    "PositiveDeltaFilter": "positive-delta",
    "ChecksumMD5Filter": "checksum-md5",
    "ChecksumSHA256Filter": "checksum-sha256",
    "DictionaryFilter": "dictionary",
    "FloatScaleFilter": "scale-float",
    "XORFilter": "xor",
    "NoOpFilter": "none",
}
#: The options of filters, and tdb's.
_WITH = {"level": "level", "window": "max_window", "factor": "scale", "offset": "offset", "bytewidth": "bytes"}
#: The filters that have each option.
_HAVE = {
    "level": ("gzip", "zstd", "lz4", "bzip2", "rle", "delta", "double-delta", "dictionary"),
    "window": ("bit-width-reduction", "positive-delta"),
    "factor": ("scale-float",),
    "offset": ("scale-float",),
    "bytewidth": ("scale-float",),
}
_ORDERS = {"row-major": "row-major", "col-major": "col-major", "column-major": "col-major", "hilbert": "hilbert"}
#: Coordinates in a tile.
TILE = 2048
#: Cells of a measurement in a tile of its values, where the options do not say it: cells are read and trained on by
#: few at a time, and 64 with 2,048 of their genes have some 8,192 values.
CELLS = 64
#: The values in a tile, there and elsewhere.
CAPACITY_OF_CELLS = 8192
CAPACITY = 100_000
ZSTD: list[Any] = [{"name": "zstd", "level": -1}]


@dataclass(frozen=True)
class Column:
    """How one column is stored."""

    filters: list[Any] | None = None
    tile: int | None = None


@dataclass(frozen=True)
class CreateOptions:
    """The entries below ``tiledb.create`` of a ``platform_config``, with the names and the defaults that they have in
    ``tiledbsoma``. Unlike there, an unknown one is an error."""

    dataframe_dim_zstd_level: int = 3
    sparse_nd_array_dim_zstd_level: int = 3
    dense_nd_array_dim_zstd_level: int = 3
    #: The three are about writes that are cut into parts: a creation has nothing to do with them.
    write_X_chunked: bool = True
    goal_chunk_nnz: int = 100_000_000
    remote_cap_nbytes: int = 2_400_000_000
    capacity: int | None = None
    offsets_filters: list[Any] = field(
        default_factory=lambda: _filters(["DoubleDeltaFilter", "BitWidthReductionFilter", "ZstdFilter"], "offsets_filters")
    )
    validity_filters: list[Any] | None = None
    allows_duplicates: bool = False
    tile_order: str | None = None
    cell_order: str | None = None
    dims: Mapping[str, Column] = field(default_factory=dict)
    attrs: Mapping[str, Column] = field(default_factory=dict)

    @classmethod
    def of(cls, platform_config: Any) -> CreateOptions:
        """The options of a ``platform_config``: ``{"tiledb": {"create": {…}}}``, or options themselves."""
        if isinstance(platform_config, cls):
            return platform_config
        return cls(**{name: _value(name, value) for name, value in _created(platform_config).items()})

    def only(self, dims: Iterable[str], attrs: Iterable[str]) -> CreateOptions:
        """The options for an array of an experiment: what is said about columns that others have is left to those."""
        kept = {**self.__dict__, "dims": _some(self.dims, dims), "attrs": _some(self.attrs, attrs)}
        return CreateOptions(**kept)

    def expect_columns(self, dims: Sequence[str], attrs: Sequence[str]) -> None:
        """Refuses options of columns that an array does not have."""
        for what, given, known in (("dims", self.dims, dims), ("attrs", self.attrs, attrs)):
            for name in given:
                if name not in known:
                    hint = _tdb.hint(name, list(known))
                    raise QueryError(f"platform_config: {what} names {name!r}, which is none of {', '.join(known)}{hint}")

    def tile(self, name: str, default: int = TILE) -> int:
        """The coordinates of a tile of a dimension."""
        own = self.dims.get(name)
        return default if own is None or own.tile is None else own.tile

    def dim_filters(self, name: str, level: int | None) -> list[Any]:
        """The filters of a dimension, which are zstd of a level unless the options say others."""
        own = self.dims.get(name)
        if own is not None and own.filters is not None:
            return own.filters
        return ZSTD if level is None else [{"name": "zstd", "level": level}]

    def attr_filters(self, name: str) -> list[Any]:
        """The filters of an attribute."""
        own = self.attrs.get(name)
        return ZSTD if own is None or own.filters is None else own.filters

    def by_cells(self) -> CreateOptions:
        """The options for the values of cells: smaller tiles, unless these options say how large they are."""
        if self.capacity is not None or any(own.tile is not None for own in self.dims.values()):
            return self
        rows = replace(self.dims.get("soma_dim_0", Column()), tile=CELLS)
        return replace(self, capacity=CAPACITY_OF_CELLS, dims={**self.dims, "soma_dim_0": rows})

    def schema(self) -> dict[str, Any]:
        """What all arrays have in common, as keywords of :class:`tdb.Schema`."""
        return {
            "capacity": CAPACITY if self.capacity is None else self.capacity,
            "duplicates": self.allows_duplicates,
            "cell_order": self.cell_order or "row-major",
            "tile_order": self.tile_order or "row-major",
            "offsets_filters": self.offsets_filters,
            "validity_filters": self.validity_filters,
        }


def _created(platform_config: Any) -> Mapping[str, Any]:
    """What is said about creation."""
    found = platform_config
    for name in ("tiledb", "create"):
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            raise QueryError(f"platform_config is not {{'tiledb': {{'create': {{…}}}}}}: {found!r} stands where a dictionary does")
        found = found.get(name)
    if found is not None and not isinstance(found, Mapping):
        raise QueryError(f"platform_config: the entry tiledb.create is {found!r}, not a dictionary")
    return found or {}


def _value(name: str, value: Any) -> Any:
    """The value of an option in its own type."""
    default = CreateOptions.__dataclass_fields__.get(name)
    if default is None:
        known = list(CreateOptions.__dataclass_fields__)
        raise QueryError(f"platform_config: tiledb.create has no option {name!r}{_tdb.hint(name, known)}")
    if name in ("dims", "attrs"):
        if not isinstance(value, Mapping):
            raise QueryError(f"platform_config: {name} is {value!r}, not a dictionary from columns to their options")
        return {column: _column(f"{name}.{column}", own) for column, own in value.items()}
    if name.endswith("_filters"):
        return value if value is None and name == "validity_filters" else _filters(value, name)
    if name.endswith("_order"):
        # libtiledbsoma takes them in any case, and with either sign.
        known_order = None if value is None else _ORDERS.get(str(value).lower().replace("_", "-"))
        if value is not None and (known_order is None or (name == "tile_order" and known_order == "hilbert")):
            raise QueryError(f"platform_config: {name} is {value!r}: row-major and col-major are orders (of cells also hilbert)")
        return known_order
    kind = int if name == "capacity" else type(default.default)
    if type(value) is not kind:
        raise QueryError(f"platform_config: {name} is {value!r}, not {kind.__name__}")
    return value


def _column(where: str, said: Any) -> Column:
    if not isinstance(said, Mapping):
        raise QueryError(f"platform_config: {where} is {said!r}, not a dictionary with filters and tile")
    for name in said:
        if name not in ("filters", "tile"):
            raise QueryError(f"platform_config: {where} has no option {name!r}: filters and tile are options of a column")
    tile = said.get("tile")
    if tile is not None and (type(tile) is not int or tile < 1):
        raise QueryError(f"platform_config: the tile of {where} is {tile!r}, not a number of coordinates")
    filters = said.get("filters")
    return Column(None if filters is None else _filters(filters, where), tile)


def _filters(given: Any, where: str) -> list[Any]:
    """Filters in the notation of schemas in JSON."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise QueryError(f"platform_config: the filters of {where} are {given!r}, not a list of names and dictionaries")
    found = []
    for one in given:
        said = {"_type": one} if isinstance(one, str) else one
        if not isinstance(said, Mapping) or not isinstance(said.get("_type"), str):
            raise QueryError(f"platform_config: {one!r} of {where} is not a filter: a name, or a dictionary with _type")
        name = _FILTERS.get(said["_type"])
        if name is None:
            hint = _tdb.hint(said["_type"], list(_FILTERS))
            raise QueryError(f"platform_config: {where} names the filter {said['_type']!r}, which is not known{hint}")
        own: dict[str, Any] = {"name": name}
        for option, value in said.items():
            if option == "_type":
                continue
            if name not in _HAVE.get(option, ()):
                raise QueryError(f"platform_config: the filter {said['_type']} of {where} has no option {option!r}")
            own[_WITH[option]] = value
        found.append(own)
    return found


def _some(columns: Mapping[str, Column], names: Iterable[str]) -> dict[str, Column]:
    wanted = set(names)
    return {name: column for name, column in columns.items() if name in wanted}
