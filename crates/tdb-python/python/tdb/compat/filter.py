"""Filters and lists of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from .._errors import UnsupportedError
from .datatypes import DataType
from .libtiledb import WebpInputFormat


class Filter:
    """What is done to the bytes of tiles."""

    #: The name of the filter in the format.
    _word: ClassVar[str]
    #: What is shown and compared.
    _shown: ClassVar[tuple[str, ...]] = ()

    def _said(self) -> dict[str, Any]:
        """The notation of ``tdb info --json``."""
        return {"name": self._word}

    @classmethod
    def _of_said(cls, said: Mapping[str, Any]) -> Filter:
        return cls()

    @property
    def filter_name(self) -> str:
        """The name that TileDB has for it."""
        return self._word.replace("-", "_").upper()

    def _attrs_(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._shown}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Filter) and self._attrs_() == other._attrs_()

    def __hash__(self) -> int:
        return hash(self._word)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(f'{name}={value}' for name, value in self._attrs_().items())})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<td>{name}</td><td>{value}</td>" for name, value in self._attrs_().items())
        return f"<table><tr><td>{type(self).__name__}</td>{rows}</tr></table>"


def _integer(name: str, value: Any) -> int:
    if not isinstance(value, (int, np.integer)):
        raise ValueError(f"`{name}` argument must be a int")
    return int(value)


class CompressionFilter(Filter):
    """A compressor, with its level."""

    def __init__(self, level: int = -1, ctx: Any = None) -> None:
        self.level = _integer("level", level)

    def _said(self) -> dict[str, Any]:
        return {"name": self._word, "level": self.level}

    @classmethod
    def _of_said(cls, said: Mapping[str, Any]) -> Filter:
        return cls(said.get("level", -1))


class NoOpFilter(Filter):
    """Does nothing."""

    _word = "none"

    def __init__(self, ctx: Any = None) -> None:
        pass


class GzipFilter(CompressionFilter):
    """Gzip."""

    _word, _shown = "gzip", ("level",)


class ZstdFilter(CompressionFilter):
    """Zstandard."""

    _word, _shown = "zstd", ("level",)


class LZ4Filter(CompressionFilter):
    """LZ4."""

    _word, _shown = "lz4", ("level",)


class Bzip2Filter(CompressionFilter):
    """Bzip2."""

    _word, _shown = "bzip2", ("level",)


class RleFilter(CompressionFilter):
    """Runs of equal values."""

    _word = "rle"


class DictionaryFilter(CompressionFilter):
    """Texts as numbers of their places in a list."""

    _word = "dictionary"


class _Differences(CompressionFilter):
    def __init__(self, level: int = -1, reinterp_dtype: Any = None, ctx: Any = None) -> None:
        super().__init__(level)
        if reinterp_dtype is None or getattr(reinterp_dtype, "name", None) == "ANY":
            self._reinterpret = None
        elif hasattr(reinterp_dtype, "name") and not isinstance(reinterp_dtype, np.dtype):
            self._reinterpret = str(reinterp_dtype.name)
        else:
            self._reinterpret = DataType.from_numpy(reinterp_dtype).name

    @property
    def reinterp_dtype(self) -> np.dtype[Any] | None:
        """The type that the bytes are taken as; ``None``: that of the field."""
        return None if self._reinterpret is None else DataType.from_tiledb(self._reinterpret).np_dtype

    def _said(self) -> dict[str, Any]:
        said = super()._said()
        return said if self._reinterpret is None else {**said, "reinterpret": self._reinterpret}

    @classmethod
    def _of_said(cls, said: Mapping[str, Any]) -> Filter:
        made = cls(said.get("level", -1))
        made._reinterpret = said.get("reinterpret")
        return made


class DeltaFilter(_Differences):
    """Differences of neighbours."""

    _word, _shown = "delta", ("reinterp_dtype",)


class DoubleDeltaFilter(_Differences):
    """Differences of differences."""

    _word, _shown = "double-delta", ("reinterp_dtype",)


class BitShuffleFilter(NoOpFilter):
    """Bits of equal places together."""

    _word = "bitshuffle"


class ByteShuffleFilter(NoOpFilter):
    """Bytes of equal places together."""

    _word = "byteshuffle"


class ChecksumMD5Filter(NoOpFilter):
    """A checksum, MD5."""

    _word = "checksum-md5"


class ChecksumSHA256Filter(NoOpFilter):
    """A checksum, SHA-256."""

    _word = "checksum-sha256"


class XORFilter(NoOpFilter):
    """Exclusive or of neighbours."""

    _word = "xor"


class _Window(Filter):
    _shown = ("window",)
    _default: ClassVar[int]

    def __init__(self, window: int = -1, ctx: Any = None) -> None:
        given = _integer("window", window)
        self.window = self._default if given == -1 else given

    def _said(self) -> dict[str, Any]:
        return {"name": self._word, "max_window": self.window}

    @classmethod
    def _of_said(cls, said: Mapping[str, Any]) -> Filter:
        return cls(said["max_window"])


class BitWidthReductionFilter(_Window):
    """Fewer bits for small numbers."""

    _word, _default = "bit-width-reduction", 256


class PositiveDeltaFilter(_Window):
    """Differences of numbers that never fall."""

    _word, _default = "positive-delta", 1024


class FloatScaleFilter(Filter):
    """Real numbers as integers, with a scale."""

    _word, _shown = "scale-float", ("factor", "offset", "bytewidth")

    def __init__(
        self, factor: float | None = None, offset: float | None = None, bytewidth: int | None = None, ctx: Any = None
    ) -> None:
        self.factor = 1.0 if not factor else float(factor)
        self.offset = 0.0 if offset is None else float(offset)
        self.bytewidth = int(bytewidth or 8)

    def _said(self) -> dict[str, Any]:
        return {"name": self._word, "scale": self.factor, "offset": self.offset, "bytes": self.bytewidth}

    @classmethod
    def _of_said(cls, said: Mapping[str, Any]) -> Filter:
        return cls(said["scale"], said["offset"], said["bytes"])


class WebpFilter(Filter):
    """Pictures."""

    _word, _shown = "webp", ("input_format", "quality", "lossless")
    WebpInputFormat = WebpInputFormat

    def __init__(
        self, input_format: Any = None, quality: float | None = None, lossless: bool | None = None, ctx: Any = None
    ) -> None:
        self.input_format = WebpInputFormat.WEBP_NONE if input_format is None else WebpInputFormat(input_format)
        self.quality = 100.0 if quality is None else float(quality)
        self.lossless = bool(lossless)

    def _said(self) -> dict[str, Any]:
        if self.input_format is WebpInputFormat.WEBP_NONE:
            raise UnsupportedError("the filter WebP needs the format of the colours (input_format)")
        said = {"name": self._word, "quality": self.quality, "lossless": self.lossless}
        # the extents of the picture are those of the tile
        said["format"] = self.input_format.name[len("WEBP_") :].lower()
        return said

    @classmethod
    def _of_said(cls, said: Mapping[str, Any]) -> Filter:
        return cls(WebpInputFormat[f"WEBP_{said['format'].upper()}"], said["quality"], said["lossless"])


_ALL: dict[str, type[Filter]] = {
    one._word: one
    for one in (
        NoOpFilter, GzipFilter, ZstdFilter, LZ4Filter, Bzip2Filter, RleFilter, DictionaryFilter, DeltaFilter,
        DoubleDeltaFilter, BitShuffleFilter, ByteShuffleFilter, ChecksumMD5Filter, ChecksumSHA256Filter, XORFilter,
        BitWidthReductionFilter, PositiveDeltaFilter, FloatScaleFilter, WebpFilter,
    )
}  # fmt: skip


#: The size of the chunks that filters are applied to, if nothing else is said.
_CHUNK = 65536


class FilterList(Sequence[Filter]):
    """Filters, in the order in which they are applied to what is written."""

    def __init__(self, filters: Any = None, chunksize: int | None = None, ctx: Any = None) -> None:
        self._filters: list[Filter] = []
        for one in filters if filters is not None else ():
            self.append(one)
        self.chunksize = _CHUNK if chunksize is None else int(chunksize)

    def append(self, filter: Filter) -> None:
        """Adds a filter at the end."""
        if not isinstance(filter, Filter):
            raise ValueError("filters argument must be an iterable of TileDB filter objects")
        self._filters.append(filter)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            found = self._filters[idx]
            return found[0] if len(found) == 1 else found
        if not isinstance(idx, (int, np.integer)):
            raise TypeError(f"FilterList indices must be integers or slices, not {type(idx).__name__}")
        if idx < 0 or idx >= len(self):
            raise IndexError("FilterList index out of range")
        return self._filters[idx]

    def __iter__(self) -> Iterator[Filter]:
        return iter(self._filters)

    def __len__(self) -> int:
        return len(self._filters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ",\n       ".join(map(repr, self._filters))
        return f"FilterList([{shown}])"

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self._filters) or "-"

    def _said_all(self) -> Any:
        """The notation of ``tdb create``."""
        filters = [one._said() for one in self._filters]
        return filters if self.chunksize == _CHUNK else {"filters": filters, "max_chunk_size": self.chunksize}

    @classmethod
    def _of_said(cls, said: Sequence[Any]) -> FilterList:
        named = [{"name": one} if isinstance(one, str) else one for one in said]
        for one in named:
            if one["name"] not in _ALL:
                raise UnsupportedError(f"TileDB-Py has no filter {one['name']!r}")
        return cls([_ALL[one["name"]]._of_said(one) for one in named])


def list_of(filters: Any) -> FilterList:
    """What was given for filters, as a list."""
    return filters if isinstance(filters, FilterList) else FilterList(filters)
