"""Columns in pandas' own types, as arrays of numpy. Nothing here needs pandas: whoever has such a column has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._types import AnyArray


def is_text_of_pandas(dtype: Any) -> bool:
    """Whether this is one of pandas' types of texts."""
    name = getattr(dtype, "name", "")
    return not isinstance(dtype, np.dtype) and name.partition("[")[0] in ("str", "string", "large_string", "string_view")


def has_zone(dtype: Any) -> bool:
    """Whether this is pandas' type of dates in a time zone. What it stores is UTC."""
    return getattr(dtype, "tz", None) is not None


def arrow_dtype(dtype: Any) -> np.dtype[Any] | None:
    """The numpy type for one of pandas' types of Arrow, if it is one of numbers, dates or times. Dates in a zone are stored
    in UTC."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    own, types = dtype.pyarrow_dtype, pyarrow.types
    if types.is_timestamp(own):
        return np.dtype(f"M8[{own.unit}]")
    if types.is_duration(own) or types.is_time(own):
        return np.dtype(f"m8[{own.unit}]")
    if types.is_date(own):
        return np.dtype("M8[D]" if types.is_date32(own) else "M8[ms]")
    if types.is_boolean(own) or types.is_integer(own) or (types.is_floating(own) and not types.is_float16(own)):
        found: np.dtype[Any] = np.dtype(own.to_pandas_dtype())
        return found
    return None


def is_binary(dtype: Any) -> bool:
    """Whether this is one of pandas' types of Arrow for bytes."""
    import pyarrow

    own, types = dtype.pyarrow_dtype, pyarrow.types
    return bool(types.is_binary(own) or types.is_large_binary(own) or types.is_binary_view(own) or types.is_fixed_size_binary(own))


def of_extension(values: Any) -> tuple[Any, AnyArray]:
    """The values of a column, and which of them are missing: numbers, dates and times as numpy has them, everything else
    as objects."""
    array = getattr(values, "array", values)
    dtype, missing = array.dtype, np.asarray(array.isna())
    if hasattr(dtype, "pyarrow_dtype"):
        own = arrow_dtype(dtype)
        if own is not None:
            return _of_arrow(array, own), missing
        if is_binary(dtype):
            return _bytes_of_arrow(array), missing
    elif isinstance(getattr(dtype, "numpy_dtype", None), np.dtype) and dtype.numpy_dtype.kind in "iufb":
        own = dtype.numpy_dtype
        return array.to_numpy(dtype=own, na_value=own.type(0)), missing
    if has_zone(dtype):
        return array.asi8.view(f"M8[{dtype.unit}]"), missing
    if hasattr(dtype, "categories"):
        # pandas would make reals of integers beside a missing one.
        found = np.empty(len(array), object)
        labels = np.array(dtype.categories, dtype=object)
        codes = np.asarray(array.codes)
        found[~missing] = labels[codes[~missing]]
        return found, missing
    found = np.array(array, dtype=object)
    found[missing] = None
    return found, missing


def _bytes_of_arrow(array: Any) -> AnyArray:
    """A column of Arrow's bytes as objects. pandas itself cannot make them of all of its types."""
    import pyarrow

    found = np.empty(len(array), object)
    found[:] = pyarrow.array(array).to_pylist()
    return found


def objects_of(column: Any) -> AnyArray:
    """The objects of a column of pandas, which says "nothing" with numbers, too: ``None`` there."""
    values: AnyArray = np.array(column, dtype=object)
    values[np.asarray(column.isna())] = None
    return values


def _of_arrow(array: Any, dtype: np.dtype[Any]) -> AnyArray:
    """A column of Arrow's numbers, dates or times: nothing is converted between units."""
    import pyarrow

    column = pyarrow.array(array)
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    if dtype.kind in "mM":
        half = column.type.bit_width == 32
        column = column.view(pyarrow.int32() if half else pyarrow.int64())
    numbers: AnyArray = column.fill_null(False if dtype.kind == "b" else 0).to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64, copy=False).view(dtype) if dtype.kind in "mM" else numbers
