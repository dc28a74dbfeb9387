"""Datatypes of the format and their counterparts in numpy."""

from __future__ import annotations

import datetime
import functools
import json
import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _tdb
from ._errors import QueryError

#: A point in time: milliseconds since 1970, or a date.
Time: TypeAlias = "int | str | datetime.datetime | np.datetime64"
#: A time, or the first and the last one of a window.
Window: TypeAlias = "Time | tuple[Time, Time] | None"
AnyArray: TypeAlias = "npt.NDArray[Any]"

_NUMBERS = {
    "INT8": "<i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "UINT8": "<u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "FLOAT32": "<f4",
    "FLOAT64": "<f8",
    "BOOL": "|b1",
}

#: The units of dates and times, and numpy's names for them.
_UNITS = {
    "YEAR": "Y",
    "MONTH": "M",
    "WEEK": "W",
    "DAY": "D",
    "HR": "h",
    "MIN": "m",
    "SEC": "s",
    "MS": "ms",
    "US": "us",
    "NS": "ns",
    "PS": "ps",
    "FS": "fs",
    "AS": "as",
}

#: The encodings of texts.
_ENCODINGS = {
    "STRING_ASCII": "utf-8",
    "STRING_UTF8": "utf-8",
    "STRING_UTF16": "utf-16-le",
    "STRING_UTF32": "utf-32-le",
    "STRING_UCS2": "utf-16-le",
    "STRING_UCS4": "utf-32-le",
    "GEOM_WKT": "utf-8",
}

#: Types whose cells are bytes.
_BYTES = ("CHAR", "BLOB", "GEOM_WKB", "ANY")


def number_dtype(datatype: str) -> np.dtype[Any] | None:
    """The numpy type of a number, a date or a time; ``None`` for texts and bytes."""
    if datatype in _NUMBERS:
        return np.dtype(_NUMBERS[datatype])
    kind, _, unit = datatype.partition("_")
    if kind in ("DATETIME", "TIME") and unit in _UNITS:
        return np.dtype(f"<{'M8' if kind == 'DATETIME' else 'm8'}[{_UNITS[unit]}]")
    return None


def result_dtype(datatype: str, values: Any) -> np.dtype[Any]:
    """The numpy type that a field has in results: of texts, bytes and lists, objects. ``values`` is the number of values per cell."""
    if datatype in _BYTES and isinstance(values, int):
        return np.dtype(f"S{values}")
    dtype = number_dtype(datatype)
    return np.dtype(object) if dtype is None or values == "var" else dtype


def encoding(datatype: str) -> str | None:
    """The encoding of a type of texts; ``None`` for bytes and everything else."""
    return _ENCODINGS.get(datatype)


def is_text(datatype: str) -> bool:
    """Whether a cell is a text or bytes."""
    return datatype in _ENCODINGS or datatype in _BYTES


def value_size(datatype: str) -> int:
    """The bytes of one value."""
    dtype = number_dtype(datatype)
    if dtype is not None:
        return dtype.itemsize
    return {"STRING_UTF16": 2, "STRING_UCS2": 2, "STRING_UTF32": 4, "STRING_UCS4": 4}.get(datatype, 1)


def datatype_name(dtype: Any) -> str:
    """The name of the datatype for a numpy type, a Python type, or a name of the command."""
    if dtype is datetime.date:
        return "DATETIME_DAY"
    if dtype is datetime.datetime:
        return "DATETIME_US"
    try:
        found = np.dtype(dtype)
    except TypeError:
        return _known_name(str(dtype))
    if found.kind in "iufb":
        for name, text in _NUMBERS.items():
            if np.dtype(text) == found.newbyteorder("<"):
                return name
    if found.kind in "mM":
        unit, count = np.datetime_data(found)
        names = [name for name, own in _UNITS.items() if own == unit]
        if names and count == 1:
            return ("DATETIME_" if found.kind == "M" else "TIME_") + names[0]
    if found.kind in "UT":
        return "STRING_UTF8"
    if found.kind == "S":
        return "BLOB"
    raise QueryError(f"{found} is not a type that arrays have")


@functools.cache
def _known_name(name: str) -> str:
    """The name, if it is one of a datatype of the format or another word for it."""
    dimension = {"name": "d", "datatype": "INT8", "domain": [0, 0]}
    schema = {"type": "dense", "dimensions": [dimension], "attributes": [{"name": "a", "datatype": name}]}
    try:
        _tdb.check_schema(json.dumps(schema))
    except QueryError as error:
        # Behind the place in this schema.
        raise QueryError(str(error).split(": ", 2)[-1]) from None
    return name


def json_value(datatype: str, value: Any) -> Any:
    """A value of a field in the notation of schemas in JSON. Dates and times are numbers in the unit of the field, which are
    exact also where no calendar reaches."""
    if isinstance(value, (np.datetime64, np.timedelta64, datetime.date, datetime.timedelta)):
        dtype = number_dtype(datatype)
        if dtype is None or dtype.kind not in "mM":
            raise QueryError(f"{value!r} is not a value of the type {datatype}")
        return ticks(value, dtype)
    if isinstance(value, np.generic):
        return json_value(datatype, value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if value != value else ("inf" if value > 0 else "-inf")
    if isinstance(value, bytes):
        return "".join(chr(c) if 32 <= c < 127 and c != 92 else f"\\x{c:02x}" for c in value)
    return value


def value_of_json(datatype: str, value: Any) -> Any:
    """A value from the notation of schemas in JSON, in which dates may be texts, too."""
    dtype = number_dtype(datatype)
    if value is None or dtype is None:
        return value
    if isinstance(value, list):
        return [value_of_json(datatype, one) for one in value]
    if dtype.kind in "mM":
        return date_of(_tdb.ticks_of_text(datatype, value) if isinstance(value, str) else value, dtype)
    if dtype.kind != "f":
        return value
    # The same object each time, so that equal schemas are equal.
    return math.nan if value == "NaN" else float(value)


def date_of(number: int, dtype: np.dtype[Any]) -> Any:
    """The date or time that is a number in the unit of a type."""
    return np.array([number], np.int64).view(dtype)[0]


def ticks(value: Any, dtype: np.dtype[Any]) -> int:
    """A date or time as a number in the unit of a type. A number is taken as it is."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        return int(value)
    # What pandas has is as precise as a nanosecond; numpy would take it for what Python has.
    exact_of = getattr(value, "to_timedelta64" if dtype.kind == "m" else "to_datetime64", None)
    exact = exact_of() if exact_of else np.timedelta64(value) if dtype.kind == "m" else np.datetime64(value)
    if np.datetime_data(exact.dtype)[0] == "generic":
        return int(exact.astype(np.int64))
    try:
        own = exact.astype(dtype)
        # Not the other way round: numbers that are too large for the finer unit may wrap on both sides.
        same = own.astype(exact.dtype) == exact or np.isnat(exact)
    except OverflowError:
        same = False
    if not same:
        raise QueryError(f"{dtype} does not have {value}: it is more precise than the unit, or too far away")
    return int(own.astype(np.int64))


def date_span(datatype: str, text: str) -> tuple[int, int]:
    """The first and the last tick of what a date names: a year, a month, a day, an hour, a minute or a second."""
    if not text.isdecimal() or datatype == "DATETIME_YEAR":
        return _tdb.date_span(datatype, f"{text}-01" if text.isdecimal() else text)
    return _tdb.date_span(datatype, f"{text}-01")[0], _tdb.date_span(datatype, f"{text}-12")[1]


#: The seconds of the units that are longer than a second and always equally long.
_SECONDS = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60}
#: The parts of a nanosecond that shorter units are.
_PARTS = {"ps": 10**3, "fs": 10**6, "as": 10**9}


def nearest_unit(name: str, values: Any) -> Any:
    """Dates and times of a field in the nearest unit that pandas and xarray have. What that unit does not have is an error."""
    unit = np.datetime_data(values.dtype)[0]
    if unit in ("s", "ms", "us", "ns"):
        return values
    dtype = np.dtype(f"{values.dtype.kind}8[{'ns' if unit in _PARTS else 's'}]")
    numbers, greatest = values.view(np.int64), int(np.iinfo(np.int64).max)
    if unit in _PARTS:
        held = numbers % _PARTS[unit] == 0
    elif unit in _SECONDS:
        most = greatest // _SECONDS[unit]
        held = (numbers >= -most) & (numbers <= most)
    else:
        # Years and months: their first seconds. A date in a longer unit is the beginning of that unit.
        first, last = (int(date_of(end, dtype).astype(values.dtype).astype(np.int64)) for end in (-greatest, greatest))
        held = (numbers > first) & (numbers <= last)
    held = np.asarray(held | np.isnat(values))
    if not held.all():
        wrong = int(numbers[~held].ravel()[0])
        raise QueryError(
            f"field {name!r}: the {values.dtype} {wrong} (counted from 1970) is not a {dtype}, which is the nearest type that"
            " pandas and xarray have: read the field with to_numpy() or as Arrow, or leave it out"
        )
    return values.astype(dtype)


def milliseconds(time: Time) -> int:
    """A time in milliseconds since 1970."""
    if isinstance(time, datetime.datetime) and time.tzinfo is not None:
        time = time.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return ticks(time, np.dtype("<M8[ms]"))


def _end(time: Time) -> int:
    """The last millisecond of a time: of a date as text, its end."""
    return date_span("DATETIME_MS", time)[1] if isinstance(time, str) else milliseconds(time)


def window(at: Window) -> tuple[int, int] | None:
    """The first and the last millisecond that are seen at a time."""
    if at is None:
        return None
    if isinstance(at, tuple):
        return milliseconds(at[0]), _end(at[1])
    return 0, _end(at)


def decode_value(datatype: str, count: int, data: bytes) -> Any:
    """A value of the metadata, or of an aggregate."""
    own = encoding(datatype)
    if own is not None:
        return data.decode(own, "surrogateescape" if own == "utf-8" else "strict")
    dtype = number_dtype(datatype)
    if dtype is None:
        return data
    found = np.frombuffer(data, dtype)
    if count != 1:
        return found
    return found[0] if dtype.kind in "mM" else found[0].item()


def encode_value(value: Any) -> tuple[str, bytes]:
    """The datatype and the bytes of a value for the metadata."""
    if isinstance(value, str):
        return "STRING_UTF8", value.encode()
    if isinstance(value, (bytes, bytearray)):
        return "BLOB", bytes(value)
    found = np.asarray(value)
    if found.ndim > 1 or found.dtype.kind not in "iufbmM":
        raise QueryError(f"{value!r} cannot be metadata: numbers, dates, texts, bytes and lists of numbers can")
    return datatype_name(found.dtype), np.ascontiguousarray(found).astype(found.dtype.newbyteorder("<")).tobytes()
