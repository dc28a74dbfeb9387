"""Filters in the notation of libtiledbsoma: names and options of TileDB in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_NAMES = {
    "gzip": "GZIP",
    "zstd": "ZSTD",
    "lz4": "LZ4",
    "bzip2": "BZIP2",
    "rle": "RLE",
    "delta": "DELTA",
    "double-delta": "DOUBLE_DELTA",
    "bit-width-reduction": "BIT_WIDTH_REDUCTION",
    "bitshuffle": "BITSHUFFLE",
    "byteshuffle": "BYTESHUFFLE",
    "positive-delta": "POSITIVE_DELTA",
    "checksum-md5": "CHECKSUM_MD5",
    "checksum-sha256": "CHECKSUM_SHA256",
    "dictionary": "DICTIONARY_ENCODING",
    "scale-float": "SCALE_FLOAT",
    "xor": "XOR",
    "webp": "WEBP",
    "none": "NOOP",
    "noop": "NOOP",
}
_OPTIONS = {
    "level": "COMPRESSION_LEVEL",
    "max_window": "BIT_WIDTH_MAX_WINDOW",
    "scale": "SCALE_FLOAT_FACTOR",
    "offset": "SCALE_FLOAT_OFFSET",
    "byte_width": "SCALE_FLOAT_BYTEWIDTH",
}


def filters_text(filters: Sequence[Any] | None) -> list[dict[str, Any]]:
    """Filters of a schema in TileDB's words."""
    found = []
    for one in filters or ():
        said = {"name": one} if isinstance(one, str) else dict(one)
        name = _NAMES.get(said.pop("name"), "")
        window = "POSITIVE_DELTA_MAX_WINDOW" if name == "POSITIVE_DELTA" else "BIT_WIDTH_MAX_WINDOW"
        options = {**_OPTIONS, "max_window": window}
        found.append({**{options[own]: value for own, value in said.items() if own in options}, "name": name})
    return found
