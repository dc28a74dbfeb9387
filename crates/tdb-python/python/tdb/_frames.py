"""Columns of tables of pandas as fields of new arrays. A type that arrays do not have is refused with the name of the column, and
with what can be done about it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from . import _tdb
from ._columns import pack
from ._errors import QueryError
from ._extension import arrow_dtype, is_binary, is_text_of_pandas, of_extension
from ._schema import Attribute, Dimension, Enumeration, Field, Filters
from ._types import AnyArray, is_text

#: The name of the dimension of a table without an index.
ROWS = "__tiledb_rows"
#: Rows of a tile, unless the caller says how many.
ROW_TILE = 10_000

#: What can be done about a type that arrays do not have, by the kind of a numpy type.
_KINDS = {
    "c": "make its real and its imaginary part columns of their own (.apply(numpy.real), .apply(numpy.imag))",
    "f": 'convert it with .astype("float32") or .astype("float64")',
}
#: The same for types of pandas, by their class.
_CLASSES = {
    "DatetimeTZDtype": "arrays have no time zones: .dt.tz_convert(None) makes times in UTC of it",
    "PeriodDtype": "convert it with .dt.to_timestamp()",
    "IntervalDtype": "make its two ends columns of their own (.array.left, .array.right)",
    "SparseDtype": "convert it with .sparse.to_dense()",
    "ArrowDtype": "convert it to numbers, dates without a zone, texts or bytes with .astype; lists of numbers are taken by tdb.from_arrow",
}
_OTHERWISE = "convert it to numbers, dates, texts or bytes first"


def _refused(name: str, dtype: Any, advice: str) -> QueryError:
    return QueryError(f"column {name!r} has the type {dtype}, which arrays do not have: {advice}")


def rows_of(rows: int, tile: int | None, full: bool) -> tuple[Dimension, AnyArray]:
    """The dimension of the numbers of rows, and these."""
    last = max(rows - 1, 0)
    extent = min(tile or ROW_TILE, ROW_TILE if full else last + 1)
    high = int(np.iinfo(np.uint64).max) - extent if full else last
    return Dimension(ROWS, (0, high), "uint64", extent), np.arange(rows, dtype=np.uint64)


def dimension_of(name: str, column: pd.Series[Any], tile: int | None, full: bool) -> tuple[Dimension, Any]:
    """A dimension for a column, and its coordinates."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    values, missing = _cells(name, column)
    if missing is not None and missing.any():
        raise QueryError(f"column {name!r} is a dimension, but {int(missing.sum())} of its values are missing: every cell has coordinates")
    if not isinstance(values, np.ndarray) or values.dtype == object:
        return Dimension(name, dtype="ascii"), values
    kind = values.dtype.kind
    if kind == "b":
        raise QueryError(f'column {name!r} has the type {column.dtype}, which dimensions do not have: convert it with .astype("uint8")')
    numbers = values.view(np.int64) if kind in "mM" else values
    if full:
        limits: Any = np.finfo(numbers.dtype) if kind == "f" else np.iinfo(numbers.dtype)
        # The smallest number is "not a time", and the end of the last tile is a coordinate, too.
        low, high = int(limits.min) + 1 if kind in "mM" else limits.min, limits.max if kind == "f" else limits.max - (tile or 1)
    else:
        if kind == "f" and not np.isfinite(numbers).all():
            raise QueryError(f"column {name!r} is a dimension, but some of its values are infinite or not a number")
        low, high = numbers.min(), numbers.max()
    ends: Any = (low, high) if kind not in "mM" else np.array([low, high], np.int64).view(values.dtype)
    return Dimension(name, (ends[0], ends[1]), values.dtype, tile), values


#: An enumeration without its values, and these as a column: the notation of schemas does not have every text.
Labels: TypeAlias = "tuple[Enumeration, _tdb.Given]"


def attribute_of(name: str, column: pd.Series[Any], filters: Filters) -> tuple[Attribute, Labels | None, Any]:
    """An attribute for a column, its enumeration, and its cells."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _enumerated(name, column, filters)
    values, missing = _cells(name, column)
    some = bool(missing is not None and missing.any())
    if not isinstance(values, np.ndarray):
        return Attribute(name, str, nullable=some, filters=filters), None, values
    if values.dtype == object:
        of_bytes = any(isinstance(one, bytes) for one in values)
        return Attribute(name, bytes if of_bytes else str, nullable=some, filters=filters), None, values
    # pandas' own types of numbers can always have missing values, and come back as what they are.
    nullable = some or (missing is not None and values.dtype.kind in "iufb")
    given = values if missing is None or not nullable else np.ma.MaskedArray(values, missing)
    return Attribute(name, values.dtype, nullable=nullable, filters=filters), None, given


def _enumerated(name: str, column: pd.Series[Any], filters: Filters) -> tuple[Attribute, Labels, Any]:
    labels, none = _cells(name, pd.Series(column.cat.categories))
    if not isinstance(labels, np.ndarray):
        labels, none = of_extension(labels)
    if none is not None and none.any():
        raise QueryError(f"column {name!r}: one of its categories is missing")
    codes = column.cat.codes.to_numpy()
    # The greatest number of a type is none of a value.
    kind = next(np.dtype(own) for own in ("int8", "int16", "int32") if len(labels) < np.iinfo(own).max)
    missing = codes < 0
    codes = np.where(missing, 0, codes).astype(kind)
    nullable = bool(missing.any())
    of_bytes = any(isinstance(one, bytes) for one in labels)
    dtype = labels.dtype if labels.dtype != object else bytes if of_bytes else str
    enumeration = Enumeration(name, (), bool(column.cat.ordered), dtype)
    field = Field(name, enumeration.datatype, 1, is_text(enumeration.datatype), False)
    attribute = Attribute(name, kind, nullable=nullable, enumeration=name, filters=filters)
    return attribute, (enumeration, pack(field, labels, None, "C")[0]), np.ma.MaskedArray(codes, missing) if nullable else codes


def _cells(name: str, column: pd.Series[Any]) -> tuple[Any, AnyArray | None]:
    """The cells of a column, and which of them are missing (``None``: its type has no missing values): numbers, dates and times as
    numpy has them, texts as pandas has them or as objects."""
    dtype: Any = column.dtype
    if is_text_of_pandas(dtype):
        return column.array, column.isna().to_numpy()
    if dtype == object:
        return _objects(name, column)
    if isinstance(dtype, np.dtype):
        values = column.to_numpy()
        if dtype.kind in "mM":
            return values, np.isnat(values)
        if dtype.kind in "iub" or (dtype.kind == "f" and dtype.itemsize in (4, 8)):
            return values, None
        raise _refused(name, dtype, _KINDS.get(dtype.kind, _OTHERWISE))
    if isinstance(dtype, pd.ArrowDtype):
        if arrow_dtype(dtype) is not None or is_binary(dtype):
            return of_extension(column)
    elif isinstance(getattr(dtype, "numpy_dtype", None), np.dtype) and dtype.numpy_dtype.kind in "iufb":
        return of_extension(column)
    raise _refused(name, dtype, _CLASSES.get(type(dtype).__name__, _OTHERWISE))


def _objects(name: str, column: pd.Series[Any]) -> tuple[AnyArray, AnyArray]:
    """Objects, which are texts or bytes."""
    values, missing = column.to_numpy(), column.isna().to_numpy()
    kinds = set(map(type, values[~missing]))
    texts, of_bytes = (all(issubclass(kind, wanted) for kind in kinds) for wanted in (str, bytes))
    if not texts and not of_bytes:
        shown = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise QueryError(
            f"column {name!r} has objects that are neither texts nor bytes, or both ({shown}): .convert_dtypes() finds a type for"
            " numbers, pandas.to_datetime makes dates of them, .astype(str) makes texts"
        )
    if missing.any():
        values = values.copy()
        values[missing] = None
    return values, missing
