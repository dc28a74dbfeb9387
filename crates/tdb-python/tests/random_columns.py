"""Random columns of every type that numpy, pandas and pyarrow have, what they mean, and what becomes of them in an array.

Nothing lists types: they are what the libraries say that they have. A column means its values, exactly: numbers by their bits, dates
in attoseconds, texts and bytes, and where it has none. What comes back of an array has to mean the same, in the type that
docs/python.md says; or the column is refused by name, and nothing is left behind.

    python random_columns.py --seed 1 --seconds 60 [--only WORD]
"""

from __future__ import annotations

import argparse
import collections
import datetime
import functools
import os
import pathlib
import random
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import tdb

#: Attoseconds of the units of numpy, pandas and Arrow.
ATTOS = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18, "D": 86_400 * 10**18}
TEXTS = ["", "a", "ä", "日本", "🦀", "NaN", "null", "None", "\\x41", "\x00", "a\x00b", " ", "\n", '"', "1", "x" * 300]
ROWS = "__tiledb_rows"


#: The smallest number in each unit.
_NONE = {-(2**63) * one for one in ATTOS.values()}


class Unexplained(Exception):
    """What comes back is not what was given."""


@dataclass
class Drawn:
    """A column, and what it is called in messages."""

    kind: str
    column: Any
    #: Whether arrays have to refuse it.
    refused: bool


# What columns mean.


def _date(number: int, unit: str, count: int = 1) -> Any:
    return None if number == -(2**63) else number * count * ATTOS[unit]


def _bits(value: Any) -> Any:
    return value.tobytes() if value.dtype.kind == "f" else value.item()


def _of_numpy(values: Any) -> list[Any]:
    if values.dtype.kind in "mM":
        unit, count = np.datetime_data(values.dtype)
        return [_date(int(one), unit, count) for one in values.view(np.int64)]
    if values.dtype == object:
        return [None if _none(one) else one for one in values]
    return [_bits(one) for one in values]


def _days(day: datetime.date) -> int:
    return (day - datetime.date(1970, 1, 1)).days * ATTOS["D"]


def _none(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def meaning(column: pd.Series[Any]) -> list[Any]:
    """The values of a column of pandas; ``None`` where there is none."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        labels = meaning(pd.Series(column.cat.categories))
        return [None if code < 0 else labels[code] for code in column.cat.codes]
    if isinstance(dtype, pd.ArrowDtype):
        values = meaning_of_arrow(pa.array(column.array))
        # For numpy and pandas the smallest number of dates and times is none.
        dated = pa.types.is_temporal(dtype.pyarrow_dtype)
        return [None if dated and isinstance(one, int) and one in _NONE else one for one in values]
    if isinstance(dtype, pd.DatetimeTZDtype):
        return meaning(column.dt.tz_convert(None))
    if isinstance(dtype, np.dtype):
        return [_days(one) if type(one) is datetime.date else one for one in _of_numpy(column.to_numpy())]
    if isinstance(getattr(dtype, "numpy_dtype", None), np.dtype):
        missing = column.isna().to_numpy()
        values = column.array.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return [None if none else one for none, one in zip(missing, _of_numpy(values))]
    return [None if _none(one) else one for one in column.astype(object)]


def meaning_of_arrow(column: Any) -> list[Any]:
    """The values of a column of Arrow."""
    if isinstance(column, pa.ChunkedArray):
        return [one for chunk in column.chunks for one in meaning_of_arrow(chunk)]
    own, types = column.type, pa.types
    if types.is_dictionary(own):
        labels = meaning_of_arrow(column.dictionary)
        return [None if code is None else labels[code] for code in column.indices.to_pylist()]
    missing = column.is_null().to_pylist()
    if types.is_floating(own):
        numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
        return [None if none else one.tobytes() for none, one in zip(missing, numbers)]
    if types.is_temporal(own) and not types.is_interval(own):
        unit = "D" if types.is_date32(own) else "ms" if types.is_date64(own) else own.unit
        plain = column.view(pa.int32() if own.bit_width == 32 else pa.int64()).fill_null(0)
        return [None if none else one * ATTOS[unit] for none, one in zip(missing, plain.to_pylist())]
    if types.is_list(own) or types.is_large_list(own) or types.is_fixed_size_list(own):
        return [None if none else meaning_of_arrow(column[at].values) for at, none in enumerate(missing)]
    return column.to_pylist()


# What types there are.


def numpy_types() -> list[np.dtype[Any]]:
    """Every type of numpy that pandas can have, dates in each unit."""
    found = {np.dtype(code) for code in np.typecodes["All"] if code not in "mMSUVO"}
    dates = {np.dtype(f"{kind}8[{unit}]") for kind in "mM" for unit in ("s", "ms", "us", "ns")}
    return sorted(found | dates, key=str)


@functools.cache
def _plain_arrow_types() -> list[Any]:
    """The types of Arrow that need nothing else."""
    found = {pa.bool_(), pa.month_day_nano_interval()}
    for name in dir(pa.types):
        # For most types there is a function of their name beside the one that knows them.
        make = getattr(pa, name.removeprefix("is_"), None)
        try:
            found.add(make() if name.startswith("is_") and callable(make) else pa.null())
        except TypeError:
            continue
    return sorted((own for own in found if isinstance(own, pa.DataType)), key=str)


def arrow_types(rng: random.Random, depth: int = 0) -> Any:
    """A type of Arrow: one that needs nothing else, or one made of others."""
    plain = _plain_arrow_types()
    units = ["s", "ms", "us", "ns"]
    made: list[Callable[[], Any]] = [lambda: rng.choice(plain)] * 4 + [
        lambda: pa.timestamp(rng.choice(units), rng.choice([None, None, "UTC", "Europe/Paris"])),
        lambda: pa.duration(rng.choice(units)),
        lambda: pa.time32(rng.choice(units[:2])),
        lambda: pa.time64(rng.choice(units[2:])),
        lambda: pa.binary(rng.randint(1, 5)),
        lambda: pa.decimal128(rng.randint(1, 38), rng.randint(0, 5)),
    ]
    if depth < 1:
        inner = lambda: arrow_types(rng, depth + 1)  # noqa: E731
        made += [
            lambda: pa.list_(inner()),
            lambda: pa.large_list(inner()),
            lambda: pa.list_(inner(), rng.randint(1, 3)),
            lambda: pa.struct([("x", inner())]),
            lambda: pa.map_(pa.string(), inner()),
            lambda: pa.dictionary(rng.choice([pa.int8(), pa.uint16(), pa.int32(), pa.int64()]), inner(), rng.random() < 0.5),
            lambda: pa.dictionary(rng.choice([pa.int8(), pa.int32()]), pa.string(), rng.random() < 0.5),
        ]
    return rng.choice(made)()


# Columns.


def random_numbers(rng: random.Random, dtype: np.dtype[Any], rows: int) -> Any:
    """Numbers of a type: any bits, small ones, and the limits."""
    if dtype.kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(rows)], bool)
    size = dtype.itemsize
    if dtype.kind in "iumM":
        plain = np.dtype(f"{'u' if dtype.kind == 'u' else 'i'}{size}")
        info = np.iinfo(plain)
        special = [info.min, info.min + 1, info.max, info.max - 1, 0, 1]
        picks = [rng.choice(special) if rng.random() < 0.4 else rng.randint(info.min, info.max) if rng.random() < 0.5 else rng.randint(0, 99) for _ in range(rows)]
        return np.array(picks, plain).view(dtype)
    if dtype.kind == "f" and size in (4, 8):
        special = [0.0, -0.0, np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny, 5e-324 if size == 8 else 1e-45, 0.1]
        own = [struct.pack("<d", rng.choice(special))[:0] or np.array(rng.choice(special), dtype).tobytes() if rng.random() < 0.5 else rng.randbytes(size) for _ in range(rows)]
        return np.frombuffer(b"".join(own), dtype).copy()
    return np.array([rng.randint(0, 9) for _ in range(rows)]).astype(dtype)


def _flags(rng: random.Random, rows: int) -> list[bool]:
    share = rng.choice([0, 0, 0.3, 1])
    return [rng.random() < share for _ in range(rows)]


def random_text(rng: random.Random) -> str:
    return rng.choice(TEXTS) if rng.random() < 0.7 else "".join(chr(rng.choice([97, 233, 0x4E2D, 0x1F600])) for _ in range(rng.randint(0, 9)))


def random_arrow(rng: random.Random, own: Any, rows: int, nulls: bool = True) -> Any:
    """An array of Arrow of a type; ``None`` if it cannot be made."""
    types = pa.types
    missing = _flags(rng, rows) if nulls else [False] * rows
    if types.is_null(own):
        return pa.nulls(rows)
    if types.is_dictionary(own):
        labels = random_arrow(rng, own.value_type, 5, False)
        if labels is None:
            return None
        codes = pa.array([None if none else rng.randint(0, 4) for none in missing], own.index_type)
        try:
            return pa.DictionaryArray.from_arrays(codes, labels.unique(), ordered=own.ordered) if len(labels.unique()) == 5 else None
        except pa.ArrowException:
            return None
    if types.is_boolean(own) or types.is_string(own) or types.is_large_string(own) or types.is_string_view(own):
        draw = (lambda: rng.random() < 0.5) if types.is_boolean(own) else (lambda: random_text(rng))
        return pa.array([None if none else draw() for none in missing], own)
    if types.is_binary(own) or types.is_large_binary(own) or types.is_binary_view(own):
        return pa.array([None if none else rng.randbytes(rng.randint(0, 5)) for none in missing], own)
    if types.is_fixed_size_binary(own) and not types.is_decimal(own):
        return pa.array([None if none else rng.randbytes(own.byte_width) for none in missing], own)
    if types.is_date64(own):
        numbers = pa.array([None if none else rng.randint(-(10**6), 10**6) * 86_400_000 for none in missing], pa.int64())
        return numbers.view(own)
    if types.is_time(own):
        most = 86_400 * ATTOS["s"] // ATTOS[own.unit] - 1
        numbers = [None if none else rng.randint(0, most) for none in missing]
        return pa.array(numbers, pa.int32() if own.bit_width == 32 else pa.int64()).view(own)
    if types.is_integer(own) or types.is_temporal(own) and not types.is_interval(own):
        kind = own.to_pandas_dtype() if types.is_integer(own) else f"i{own.bit_width // 8}"
        numbers = pa.array(random_numbers(rng, np.dtype(kind), rows), mask=np.array(missing, bool))
        return numbers.view(own)
    if types.is_floating(own) and not types.is_float16(own):
        return pa.array(random_numbers(rng, np.dtype(own.to_pandas_dtype()), rows), own, mask=np.array(missing, bool), from_pandas=False)
    if types.is_list(own) or types.is_large_list(own) or types.is_fixed_size_list(own):
        size = own.list_size if types.is_fixed_size_list(own) else None
        lengths = [0 if none and size is None else rng.randint(0, 3) if size is None else size for none in missing]
        items = random_arrow(rng, own.value_type, sum(lengths), False)
        if items is None:
            return None
        if size is not None:
            return pa.FixedSizeListArray.from_arrays(items, type=own, mask=pa.array(missing, pa.bool_()))
        ends = np.cumsum([0] + lengths)
        maker = pa.LargeListArray if types.is_large_list(own) else pa.ListArray
        offsets = pa.array(ends, pa.int64() if types.is_large_list(own) else pa.int32())
        return maker.from_arrays(offsets, items, type=own, mask=pa.array(missing, pa.bool_()))
    try:
        return pa.array([None] * rows, own)
    except (pa.ArrowException, TypeError, ValueError):
        return None


#: Which types of Arrow have a place in arrays, one value to a cell.
def stored(own: Any) -> bool:
    types = pa.types
    if types.is_floating(own):
        return not types.is_float16(own)
    if types.is_interval(own) or types.is_decimal(own) or types.is_null(own) or isinstance(own, pa.BaseExtensionType):
        return False
    return bool(types.is_primitive(own) or _bytes(own))


def _bytes(own: Any) -> bool:
    types = pa.types
    texts = types.is_string(own) or types.is_large_string(own) or types.is_string_view(own)
    return texts or types.is_binary(own) or types.is_large_binary(own) or types.is_binary_view(own) or types.is_fixed_size_binary(own)


def _number(own: Any) -> bool:
    return stored(own) and not _bytes(own)


def stored_in_tables(own: Any) -> bool:
    """Whether a table of Arrow with a column of this type becomes an array."""
    types = pa.types
    if types.is_dictionary(own):
        return stored(own.value_type) and not isinstance(own.value_type, pa.DictionaryType)
    if types.is_list(own) or types.is_large_list(own) or types.is_fixed_size_list(own):
        return _number(own.value_type)
    return stored(own)


def random_category(rng: random.Random, rows: int) -> Drawn:
    kind = rng.choice(["text", "bytes", "number", "nullable", "arrow", "bool"])
    count = rng.choice([0, 1, 3, 20, 127, 128, 200]) if kind in ("text", "number") else rng.randint(0, 2)
    if kind == "text":
        labels: Any = pd.Index(list(dict.fromkeys(random_text(rng) + (str(at) if at >= 3 else "") for at in range(count))))
    elif kind == "bytes":
        labels = pd.Index([b"a\\x41", b"\x80\x00"][:count], dtype=object)
    elif kind == "bool":
        labels = pd.Index([True, False][:count], dtype=bool)
    elif kind == "nullable":
        labels = pd.Index(pd.array([1, 5][:count], dtype=rng.choice(["Int8", "UInt64", "Float32"])))
    elif kind == "arrow":
        labels = pd.Index(pd.array([1, 5][:count], dtype=pd.ArrowDtype(rng.choice([pa.int16(), pa.float64()]))))
    else:
        dtype = rng.choice([one for one in numpy_types() if one.kind in "iufmM" and one.itemsize in (1, 2, 4, 8) and str(one) != "float16"])
        labels = pd.Index(random_numbers(rng, dtype, count))
        labels = labels[labels.notna()].unique()
    missing = _flags(rng, rows)
    codes = [-1 if none or not len(labels) else rng.randrange(len(labels)) for none in missing]
    return Drawn(f"category of {labels.dtype}", pd.Series(pd.Categorical.from_codes(codes, labels, ordered=rng.random() < 0.5)), False)


def random_objects(rng: random.Random, rows: int) -> Drawn:
    import decimal

    none = rng.choice([None, float("nan"), pd.NA, pd.NaT])
    kinds: dict[str, Callable[[], Any]] = {
        "str": lambda: random_text(rng),
        "bytes": lambda: rng.randbytes(rng.randint(0, 4)),
        "int": lambda: rng.randint(0, 9),
        "float": lambda: 0.5,
        "bool": lambda: True,
        "date": lambda: datetime.date(2020, 1, 1),
        "decimal": lambda: decimal.Decimal(1),
        "list": lambda: [1],
    }
    names = rng.sample(sorted(kinds), rng.choice([1, 1, 2])) if rng.random() < 0.6 else [rng.choice(["str", "bytes"])]
    values = np.empty(rows, object)
    used = set()
    for at, lacks in enumerate(_flags(rng, rows)):
        name = rng.choice(names)
        used |= set() if lacks else {name}
        values[at] = none if lacks else kinds[name]()
    return Drawn(f"objects {'+'.join(names)}", pd.Series(values, dtype=object), not any(used <= {one} for one in ("str", "bytes", "bool", "date")))


def _extensions() -> list[type]:
    """All classes of pandas' own types."""
    found, open_ = [], [pd.api.extensions.ExtensionDtype]
    while open_:
        for one in open_.pop().__subclasses__():
            if one not in found:
                found.append(one)
                open_.append(one)
    return sorted((one for one in found if one.__module__.partition(".")[0] == "pandas"), key=lambda one: one.__name__)


def random_extension(rng: random.Random, rows: int) -> Drawn | None:
    """A column of one of pandas' own types."""
    own = rng.choice(_extensions())
    name = own.__name__
    missing = _flags(rng, rows)
    if name in ("CategoricalDtype", "ArrowDtype"):
        return None
    if name == "DatetimeTZDtype":
        dates = pd.Series(random_numbers(rng, np.dtype("M8[s]"), rows).astype("M8[s]").view("i8") % 10**9).astype("M8[s]")
        zone = rng.choice(["UTC", "Europe/Paris"])
        return Drawn(name, dates.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT"), False)
    if name == "PeriodDtype":
        return Drawn(name, pd.Series(pd.period_range("2020", periods=rows, freq="D")), True)
    if name == "IntervalDtype":
        return Drawn(name, pd.Series(pd.interval_range(0, rows)) if rows else pd.Series(pd.array([], "interval")), True)
    if name == "SparseDtype":
        return Drawn(name, pd.Series(pd.arrays.SparseArray(np.zeros(rows))), True)
    if name == "StringDtype":
        storage = rng.choice(["python", "pyarrow"])
        try:
            dtype: Any = own(storage, na_value=rng.choice([pd.NA, np.nan]))  # type: ignore[call-arg]
        except TypeError:
            dtype = own(storage)
        return Drawn(f"{name} {storage}", pd.Series([None if none else random_text(rng) for none in missing], dtype=dtype), False)
    try:
        dtype = own()
        plain = dtype.numpy_dtype
    except Exception:
        return None
    if not isinstance(plain, np.dtype):
        return None
    array = dtype.construct_array_type()(random_numbers(rng, plain, rows), np.array(missing, bool))
    return Drawn(name, pd.Series(array), False)


def random_column(rng: random.Random, rows: int) -> Drawn | None:
    """A column of pandas of any type."""
    kind = rng.choice(["numpy", "extension", "extension", "arrow", "arrow", "category", "objects"])
    if kind == "numpy":
        dtype = rng.choice(numpy_types())
        values = random_numbers(rng, dtype, rows)
        refused = dtype.kind == "c" or (dtype.kind == "f" and dtype.itemsize not in (4, 8))
        return Drawn(f"numpy {dtype}", pd.Series(values, dtype=dtype), refused)
    if kind == "extension":
        return random_extension(rng, rows)
    if kind == "category":
        return random_category(rng, rows)
    if kind == "objects":
        return random_objects(rng, rows)
    own = arrow_types(rng)
    made = random_arrow(rng, own, rows)
    if made is None:
        return None
    try:
        column = pd.Series(pd.arrays.ArrowExtensionArray(made))
    except (NotImplementedError, ValueError, TypeError):
        return None
    return Drawn(f"arrow {own}", column, not stored(own))


# What becomes of them.


def expected_dtype(column: pd.Series[Any]) -> Any:
    """The type of what comes back, by docs/python.md; ``None`` if that depends on pandas."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return None
    if isinstance(dtype, pd.ArrowDtype):
        own, types = dtype.pyarrow_dtype, pa.types
        if _bytes(own):
            return None
        if types.is_temporal(own):
            unit = "s" if types.is_date32(own) else "ms" if types.is_date64(own) else own.unit
            if types.is_timestamp(own) and own.tz is not None:
                return pd.DatetimeTZDtype(unit, own.tz)
            return np.dtype(f"{'M' if types.is_timestamp(own) or types.is_date(own) else 'm'}8[{unit}]")
        plain = np.dtype(own.to_pandas_dtype())
        return pd.array([], dtype="boolean" if plain.kind == "b" else str(plain).replace("f", "F").replace("ui", "UI").replace("i", "I", plain.kind == "i")).dtype
    return None if isinstance(dtype, pd.StringDtype) or dtype == object else dtype


def _left(path: str) -> list[str]:
    return sorted(str(one) for one in pathlib.Path(path).rglob("*")) if os.path.exists(path) else []


def _compare(drawn: Drawn, given: list[Any], got: list[Any], how: str) -> None:
    if given != got:
        at = next((at for at, (one, two) in enumerate(zip(given, got)) if one != two), min(len(given), len(got)))
        raise Unexplained(f"{drawn.kind}, {how}: {len(given)} and {len(got)} values, at {at} {given[at:at + 1]} became {got[at:at + 1]}")


def check_pandas(drawn: Drawn, path: str, rng: random.Random) -> str:
    """A column of pandas goes into an array, and comes back."""
    column, name = drawn.column, rng.choice(["c", "a column", "ä"])
    frame = pd.DataFrame({"n": np.arange(len(column)), name: column})
    before = _left(path)
    sparse = rng.choice([None, True, False])
    full = sparse is not False and rng.random() < 0.5
    try:
        array = tdb.from_pandas(path, frame, sparse=sparse, full_domain=full)
    except tdb.Error as error:
        if not drawn.refused:
            raise Unexplained(f"{drawn.kind} is refused: {error}") from error
        if repr(name) not in str(error) or ":" not in str(error):
            raise Unexplained(f"{drawn.kind}: the message does not say which column, or what to do: {error}") from error
        if _left(path) != before or os.path.exists(path) != bool(before):
            raise Unexplained(f"{drawn.kind} is refused, but something is left behind: {_left(path)}") from error
        return "refused"
    if drawn.refused:
        raise Unexplained(f"{drawn.kind} is not refused")
    if len(column):
        _same(drawn, column, array.read(order="row-major").to_pandas()[name], "from_pandas, to_pandas")
        some = array.read(where=f"n >= {len(column) // 2}", order="row-major").to_pandas()
        _same(drawn, column[len(column) // 2 :].reset_index(drop=True), some[name], "the rows of a condition")
    if full and len(column) and not (column.isna().any() and not array.schema.attribute(name).nullable):
        more = {ROWS: np.arange(len(column)) + len(column), "n": frame["n"], name: column}
        array.write(more)
        twice = array.read(order="row-major").to_pandas()[name]
        _same(drawn, pd.concat([column, column], ignore_index=True), twice, "written again")
    if isinstance(column.dtype, pd.CategoricalDtype):
        _check_plain(drawn, f"{path}-plain")
    return "same"


def _check_plain(drawn: Drawn, path: str) -> None:
    """Categories of integers are written as their values into a column without an enumeration."""
    column = drawn.column
    own = column.cat.categories.dtype
    if not len(column) or not isinstance(own, np.dtype) or own.kind not in "iu":
        return
    attribute = tdb.Attribute("a", str(own), nullable=True)
    array = tdb.create(path, tdb.Schema("sparse", [tdb.Dimension("x", (0, 99), "int64")], [attribute]))
    array.write({"x": np.arange(len(column)), "a": column})
    got = [None if pd.isna(one) else int(one) for one in array.read(order="row-major").to_pandas()["a"]]
    labels = [int(one) for one in column.cat.categories]
    _compare(drawn, [None if code < 0 else labels[code] for code in column.cat.codes], got, "as plain values")


def _same(drawn: Drawn, given: pd.Series[Any], got: pd.Series[Any], how: str) -> None:
    _compare(drawn, meaning(given), meaning(got), how)
    wanted = expected_dtype(given)
    if wanted is not None and got.dtype != wanted:
        raise Unexplained(f"{drawn.kind}, {how}: comes back as {got.dtype} instead of {wanted}")
    if isinstance(given.dtype, pd.CategoricalDtype):
        if not isinstance(got.dtype, pd.CategoricalDtype) or got.cat.ordered != given.cat.ordered:
            raise Unexplained(f"{drawn.kind}, {how}: {given.dtype} became {got.dtype}")
        _compare(drawn, meaning(pd.Series(given.cat.categories)), meaning(pd.Series(got.cat.categories)), f"{how}, categories")


def expected_arrow(own: Any) -> Any:
    """The type of Arrow that comes back, by docs/tables/arrow.md."""
    types = pa.types
    if types.is_dictionary(own):
        return pa.dictionary(own.index_type, expected_arrow(own.value_type), own.ordered)
    if types.is_fixed_size_list(own) and own.list_size == 1:
        # One value to a cell is no list.
        return expected_arrow(own.value_type)
    if types.is_fixed_size_list(own):
        return pa.list_(pa.field("item", _without_zone(expected_arrow(own.value_type)), False), own.list_size)
    if types.is_list(own) or types.is_large_list(own):
        return pa.large_list(pa.field("item", _without_zone(expected_arrow(own.value_type)), False))
    if types.is_string(own) or types.is_string_view(own):
        return pa.large_string()
    if types.is_binary(own) or types.is_binary_view(own):
        return pa.large_binary()
    if types.is_date32(own):
        return pa.int64()
    if types.is_date64(own):
        return pa.timestamp("ms")
    return pa.duration(own.unit) if types.is_time(own) else own


def _without_zone(own: Any) -> Any:
    """What becomes of the values of a list: zones are those of single values."""
    return pa.timestamp(own.unit) if pa.types.is_timestamp(own) else own


def _in_days(values: Any) -> Any:
    """Days as the numbers that they come back as."""
    if isinstance(values, list):
        return [_in_days(one) for one in values]
    return None if values is None else values // ATTOS["D"]


def check_arrow(drawn: Drawn, path: str, rng: random.Random) -> str:
    """A column of a table of Arrow goes into an array, and comes back."""
    made, name = drawn.column, rng.choice(["c", "a column"])
    table = pa.table({"n": pa.array(range(len(made)), pa.int64()), name: made})
    sparse = rng.random() < 0.7 or not len(made)
    dimension = tdb.Dimension("n", (0, max(len(made) - 1, 0)), "int64")
    try:
        array = tdb.from_arrow(path, table, [dimension], sparse=sparse)
    except tdb.Error as error:
        if not drawn.refused:
            raise Unexplained(f"{drawn.kind} is refused: {error}") from error
        if f'"{name}"' not in str(error):
            raise Unexplained(f"{drawn.kind}: the message does not say which column: {error}") from error
        if os.path.exists(path):
            raise Unexplained(f"{drawn.kind} is refused, but something is left behind: {_left(path)}") from error
        return "refused"
    if drawn.refused:
        raise Unexplained(f"{drawn.kind} is not refused")
    if not len(made):
        return "same"
    back = pa.table(array.read(fields=["n", name], order="row-major"))
    wanted, got = expected_arrow(made.type), back.schema.field(name).type
    if got != wanted:
        raise Unexplained(f"{drawn.kind}: comes back as {got} instead of {wanted}")
    given = meaning_of_arrow(made)
    if pa.types.is_fixed_size_list(made.type) and made.type.list_size == 1:
        given = [None if one is None else one[0] for one in given]
    if pa.types.is_date32(getattr(made.type, "value_type", made.type)):
        given = _in_days(given)
    _compare(drawn, given, meaning_of_arrow(back.column(name)), "from_arrow, as Arrow")
    some = pa.table(array.read(fields=["n", name], where=f"n >= {len(made) // 2}", order="row-major"))
    _compare(drawn, given[len(made) // 2 :], meaning_of_arrow(some.column(name)), "the rows of a condition")
    again = tdb.from_arrow(f"{path}-again", back)
    _compare(drawn, given, meaning_of_arrow(pa.table(again.read(fields=["n", name], order="row-major")).column(name)), "again")
    return "same"


def check(seed: int, folder: str) -> tuple[str, str]:
    """Draws a column, and tries it. Returns its kind, and what became of it."""
    rng = random.Random(seed)
    rows = rng.choice([0, 1, 2, 7, 7, 7, 30])
    path = os.path.join(folder, "a")
    if rng.random() < 0.7:
        drawn = random_column(rng, rows)
        result = "not made" if drawn is None else check_pandas(drawn, path, rng)
    else:
        own = arrow_types(rng)
        made = random_arrow(rng, own, rows)
        drawn = None if made is None else Drawn(f"table {own}", made, not stored_in_tables(own))
        result = "not made" if drawn is None else check_arrow(drawn, path, rng)
    return "" if drawn is None else drawn.kind, result


def run(seed: int, seconds: float, most: int | None = None) -> tuple[collections.Counter[str], list[str]]:
    """Tries columns for a time; returns how many became what, and what is unexplained."""
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    kinds = set()
    end, at = time.monotonic() + seconds, 0
    while time.monotonic() < end and (most is None or at < most):
        own = seed * 1_000_000 + at
        folder = tempfile.mkdtemp()
        try:
            kind, result = check(own, folder)
            kinds.add(kind)
            counts[result] += 1
        except Unexplained as error:
            wrong.append(f"seed {own}: {error}")
        except Exception as error:
            wrong.append(f"seed {own}: {type(error).__name__}: {error}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        at += 1
    counts["kinds"] = len(kinds)
    return counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--one", type=int, help="the seed of a single column")
    args = parser.parse_args()
    if args.one is not None:
        print(check(args.one, tempfile.mkdtemp()))
        return 0
    counts, wrong = run(args.seed, args.seconds)
    print(f"pandas {pd.__version__}, numpy {np.__version__}, pyarrow {pa.__version__}: {dict(counts)}, {len(wrong)} unexplained")
    for line in wrong[:40]:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
