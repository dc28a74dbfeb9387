"""Values in the type of a field: a value that the type does not have is an error, and never changed to fit."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from ._errors import QueryError, WriteError
from ._schema import Field
from ._types import AnyArray, ticks

#: The types of what Python and pandas say for "nothing".
NULLS = {"NoneType", "NAType", "NaTType"}

#: What numpy makes of lists of these without a loss.
_DATES: dict[type, str] = {datetime.datetime: "M8[us]", datetime.date: "M8[D]", datetime.timedelta: "m8[us]"}


def is_null(value: Any) -> bool:
    """Whether this is what Python or pandas says for "nothing"."""
    return type(value).__name__ in NULLS


#: Which values other than those of the field's type are taken. ``same_kind`` is numpy's rule for assignment, with the difference that
#: integers and dates have to fit: real numbers are rounded to the precision of the type. ``safe`` rounds none of numpy.
CASTINGS = ("same_kind", "safe")


def checked_casting(casting: str) -> str:
    """A rule for casts that there is."""
    if casting not in CASTINGS:
        raise WriteError(f"casting={casting!r}: {' or '.join(map(repr, CASTINGS))} is expected; .astype makes values of another type")
    return casting


def as_type(field: Field, values: Any, dtype: np.dtype[Any], casting: str = "same_kind") -> AnyArray:
    """Values in a type, if none of them can change by that, except that real numbers are rounded to the type's precision. Values of
    the right type are not copied. See :data:`CASTINGS`."""
    try:
        if isinstance(values, np.ndarray) and values.dtype == object:
            return _of_objects(field, list(values.ravel()), dtype).reshape(values.shape)
        if isinstance(values, (np.ndarray, np.generic)) or hasattr(values, "__array__"):
            return _of_array(field, np.asarray(values), dtype, casting)
        if dtype.kind in "mM":
            found = np.asarray(values, object)
            return _of_objects(field, list(found.ravel()), dtype).reshape(found.shape)
        return _of_objects(field, values, dtype)
    except (OverflowError, TypeError, ValueError, QueryError) as error:
        raise error if isinstance(error, WriteError) else WriteError(f'field "{field.name}": {error}') from error


def _of_objects(field: Field, values: Any, dtype: np.dtype[Any]) -> AnyArray:
    """Objects of Python in a type: a flat list if it is one of dates, or if some of them can be null."""
    kinds = set(map(type, values)) if isinstance(values, (list, tuple)) else set()
    if dtype.kind in "mM":
        own = _DATES.get(next(iter(kinds))) if len(kinds) == 1 else None
        if own is not None and own[0] == dtype.kind:
            return _of_array(field, np.array(values, own), dtype)
        nothing = int(np.iinfo(np.int64).min)
        return np.array([nothing if is_null(one) else ticks(one, dtype) for one in values], np.int64).view(dtype)
    if {one.__name__ for one in kinds} & NULLS:
        nothing = dtype.type(0).item()
        values = [nothing if is_null(one) else one for one in values]
    with np.errstate(over="ignore"):
        found, cast = np.asarray(values), np.array(values, dtype)
    if found.dtype.kind in "iu" and dtype.kind != "b":
        return _of_array(field, found, dtype)
    if found.dtype.kind in "fO" and dtype.kind == "f":
        for one, stored in zip(found.ravel().tolist() if kinds <= {float} else np.asarray(values, object).ravel(), cast.ravel()):
            if isinstance(one, int) and int(stored) != one:
                raise _missing(field, dtype, one)
    if found.dtype.kind in "iufO" and dtype.kind in "iub" and not (cast == found).all():
        raise _missing(field, dtype, found[cast != found].ravel()[0])
    if found.dtype.kind == "f" and dtype.kind == "f":
        # Rounding to the precision of a type is no more than that.
        far = np.isinf(cast) & ~np.isinf(found)
        if far.any():
            raise _missing(field, dtype, found[far].ravel()[0])
    return cast


def _of_array(field: Field, found: AnyArray, dtype: np.dtype[Any], casting: str = "same_kind") -> AnyArray:
    """An array of numpy in a type."""
    if found.dtype == dtype:
        return found
    kinds = found.dtype.kind + dtype.kind
    whole = found.dtype.kind in "iu" and dtype.kind in "iuf"
    if kinds in ("MM", "mm") or (kinds == "ff" and casting == "same_kind"):
        exact = np.can_cast(found.dtype, dtype, "same_kind")
    else:
        exact = whole or np.can_cast(found.dtype, dtype, "safe")
    if not exact:
        cure = f'; .astype("{dtype}") makes such values' if found.dtype.kind in "iufb" and dtype.kind in "iufb" else ""
        raise WriteError(f'field "{field.name}" has the type {dtype}, but values of type {found.dtype} are given{cure}')
    with np.errstate(over="ignore"):
        cast = found.astype(dtype)
    if kinds == "ff":
        same = np.isfinite(cast) | ~np.isfinite(found)
    elif kinds in ("MM", "mm"):
        same = (cast.astype(found.dtype) == found) | np.isnat(found)
    elif whole and dtype.kind == "f":
        same = _same_numbers(cast, found)
    elif whole:
        same = (cast.astype(found.dtype) == found) & ((cast < 0) == (found < 0))
    else:
        return cast
    if not same.all():
        raise _missing(field, dtype, found[~same].ravel()[0])
    return cast


def _same_numbers(cast: AnyArray, found: AnyArray) -> AnyArray:
    """Which integers are the same as real numbers."""
    exact = 1 << (np.finfo(cast.dtype).nmant + 1)
    same = found <= exact if found.dtype.kind == "u" else (found <= exact) & (found >= -exact)
    large = np.flatnonzero(~same)
    same = np.array(same)
    numbers = zip(large, cast.ravel()[large].tolist(), found.ravel()[large].tolist())
    same.ravel()[[at for at, own, given in numbers if int(own) == given]] = True
    return same


def _missing(field: Field, dtype: np.dtype[Any], value: Any) -> WriteError:
    return WriteError(f'field "{field.name}" has the type {dtype}, which does not have the value {value}')
