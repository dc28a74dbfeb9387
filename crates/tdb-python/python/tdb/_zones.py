"""Time zones of dates: arrays have dates in UTC, and their metadata says in which zone a field is shown."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ._errors import QueryError
from ._types import encode_value, encoding

if TYPE_CHECKING:
    from ._array import Array

#: A zone as pandas takes it.
Zone: TypeAlias = "datetime.tzinfo | str"
#: What time zones say of themselves that are UTC.
_UTC = ("utc", "etc/utc", "utc+00:00", "+00:00", "zulu", "tzutc()", "etc/gmt")
#: Offsets, as Python, pandas and Arrow write them.
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):(\d\d)")
#: Names of zones of which tdb's SQL and Arrow know that they are none of something else.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)+|GMT")
#: The datatypes that have the hour of a day.
_DATES = ("DATETIME_SEC", "DATETIME_MS", "DATETIME_US", "DATETIME_NS")


def _key(name: str, is_dimension: bool) -> str:
    """The key of the metadata that names the zone of a field."""
    return f"__tiledb_{'dim' if is_dimension else 'attr'}.{name}.timezone"


def zone_of(name: str, dtype: Any) -> str | None:
    """The zone of a type of pandas, as metadata has it; ``None`` if it has none.

    Raises :class:`QueryError` if the zone has no name that others know."""
    if hasattr(dtype, "categories"):
        dtype = dtype.categories.dtype
    own: Any = getattr(dtype, "pyarrow_dtype", dtype)
    zone = getattr(own, "tz", None)
    if zone is None:
        return None
    # Zones of pytz, zoneinfo and dateutil say their names in three ways.
    found = str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)
    if found.lower() in _UTC:
        return "UTC"
    offset = _OFFSET.fullmatch(found)
    if offset is not None:
        return "".join((offset[1], offset[2], ":", offset[3]))
    if _NAME.fullmatch(found):
        return found
    raise QueryError(
        f"column {name!r} has times in the zone {found!r}, which is not the name of a zone such as Europe/Rome, nor an offset:"
        ' .dt.tz_convert("UTC") makes times in UTC of it'
    )


def zone_entry(name: str, is_dimension: bool, zone: str) -> tuple[bytes, str, bytes]:
    """The entry of the metadata that says the zone of a field."""
    return (_key(name, is_dimension).encode(), *encode_value(zone))


def zones_of(array: Array, names: Sequence[str]) -> dict[str, Zone]:
    """The zones of those of these fields that have one. What is not the name of a zone is none: anybody may have written it."""
    dimensions = {one.name: one.datatype for one in array.schema.dimensions}
    fields = {**{one.name: _datatype(array, one) for one in array.schema.attributes if one.name in names}, **dimensions}
    keys = {_key(name, name in dimensions).encode(): name for name in names if fields.get(name) in _DATES}
    if not keys:
        return {}
    entries = {key: (datatype, data) for key, datatype, _, data in array._core.metadata() if key in keys}
    zones = {keys[key]: _zone(datatype, data) for key, (datatype, data) in entries.items()}
    return {name: zone for name, zone in zones.items() if zone is not None}


def _datatype(array: Array, attribute: Any) -> str:
    """The datatype of the values that are shown of an attribute."""
    if attribute.enumeration is None:
        return str(attribute.datatype)
    return array._enumeration(attribute.enumeration)[0]


def _zone(datatype: str, data: bytes) -> Zone | None:
    if encoding(datatype) is None:
        return None
    text = data.decode("utf-8", "replace")
    offset = _OFFSET.fullmatch(text)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes >= 24 * 60:
            return None
        return datetime.timezone(datetime.timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    if text != "UTC" and _NAME.fullmatch(text) is None:
        return None
    try:
        zoneinfo.ZoneInfo(text)
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError):
        return None
    # pandas chooses by itself which library's zone it makes of a name.
    return text
