"""Columns of tables of pandas as fields of new arrays. A type that arrays do not have is refused with the name of the column, and
with what can be done about it."""

from __future__ import annotations

import datetime
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from . import _tdb
from ._columns import pack
from ._domains import dimension_for
from ._errors import QueryError
from ._extension import arrow_dtype, has_zone, is_binary, is_text_of_pandas, of_extension
from ._schema import Attribute, Dimension, Enumeration, Field, Filters
from ._types import AnyArray, is_text

#: What can be done about a type that arrays do not have, by the kind of a numpy type.
_KINDS = {
    "c": "make its real and its imaginary part columns of their own (.apply(numpy.real), .apply(numpy.imag))",
    "f": 'convert it with .astype("float32") or .astype("float64")',
}
#: The same for types of pandas, by their class.
_CLASSES = {
    "PeriodDtype": "convert it with .dt.to_timestamp()",
    "IntervalDtype": "make its two ends columns of their own (.array.left, .array.right)",
    "SparseDtype": "convert it with .sparse.to_dense()",
    "ArrowDtype": "convert it to numbers, dates, texts or bytes with .astype; lists of numbers are taken by tdb.from_arrow",
}
#: The same for objects of Python, by their class.
_OBJECTS = {
    "Decimal": '.astype("float64") makes real numbers of it, and (column * 100).astype("int64") hundredths, which are exact',
    "list": "tdb.from_arrow takes lists of numbers, as in tdb.from_arrow(uri, pyarrow.Table.from_pandas(frame), …)",
    "ndarray": "tdb.from_arrow takes lists of numbers, as in tdb.from_arrow(uri, pyarrow.Table.from_pandas(frame), …)",
    "Timestamp": "pandas.to_datetime(column, utc=True) makes dates in UTC of it",
    "datetime": "pandas.to_datetime(column, utc=True) makes dates in UTC of it",
    "time": "pandas.to_timedelta(column.astype(str)) makes times since midnight of it",
    "UUID": ".astype(str) makes texts of it",
}
_OTHERWISE = "convert it to numbers, dates, texts or bytes first"


def _refused(name: str, dtype: Any, advice: str) -> QueryError:
    return QueryError(f"column {name!r} has the type {dtype}, which arrays do not have: {advice}")


def dimension_of(name: str, column: pd.Series[Any], tile: int | None, full: bool | None) -> tuple[Dimension, Any]:
    """A dimension for a column, and its coordinates."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    values, missing = _cells(name, column)
    if missing is not None and missing.any():
        raise QueryError(f"column {name!r} is a dimension, but {int(missing.sum())} of its values are missing: every cell has coordinates")
    if not isinstance(values, np.ndarray) or values.dtype == object:
        return Dimension(name, dtype="ascii"), values
    if values.dtype.kind == "b":
        raise QueryError(f'column {name!r} has the type {column.dtype}, which dimensions do not have: convert it with .astype("uint8")')
    return dimension_for(name, values, tile, full), values


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
    elif has_zone(dtype) or (isinstance(getattr(dtype, "numpy_dtype", None), np.dtype) and dtype.numpy_dtype.kind in "iufb"):
        return of_extension(column)
    raise _refused(name, dtype, _CLASSES.get(type(dtype).__name__, _OTHERWISE))


def _objects(name: str, column: pd.Series[Any]) -> tuple[AnyArray, AnyArray | None]:
    """Objects, which are texts, bytes, booleans or days."""
    values, missing = column.to_numpy(), column.isna().to_numpy()
    kinds = set(map(type, values[~missing]))
    if kinds and kinds <= {bool, np.bool_}:
        return np.where(missing, False, values).astype(bool), missing if missing.any() else None
    if kinds == {datetime.date}:
        days: AnyArray = np.full(len(values), np.datetime64("NaT", "D"), "M8[D]")
        days[~missing] = values[~missing].astype("M8[D]")
        return days, missing
    if not any(all(issubclass(kind, wanted) for kind in kinds) for wanted in (str, bytes)):
        shown = ", ".join(sorted(kind.__name__ for kind in kinds))
        advice = next((_OBJECTS[kind.__name__] for kind in kinds if kind.__name__ in _OBJECTS), None)
        raise QueryError(
            f"column {name!r} has objects that are neither texts nor bytes, or both ({shown}): "
            + (advice or ".convert_dtypes() finds a type for numbers, pandas.to_datetime makes dates of them, .astype(str) makes texts")
        )
    if missing.any():
        values = values.copy()
        values[missing] = None
    return values, missing
