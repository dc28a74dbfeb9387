"""Columns of the format as arrays of numpy, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _tdb
from ._errors import WriteError
from ._schema import Field
from ._casts import NULLS, as_type, is_null
from ._extension import is_text_of_pandas, objects_of, of_extension
from ._types import AnyArray, encoding, is_text, number_dtype, value_size


class Column:
    """A column of a result, as it came: its memory is that of the result."""

    __slots__ = ("name", "datatype", "count", "data", "offsets", "validity")

    def __init__(self, parts: _tdb.Parts) -> None:
        self.name, self.datatype, self.count, data, offsets, validity = parts
        self.data: AnyArray = np.asarray(data)
        self.offsets: AnyArray | None = None if offsets is None else np.asarray(offsets)
        self.validity: AnyArray | None = None if validity is None else np.asarray(validity)

    def values(self, shape: tuple[int, ...] | None = None, order: str = "row-major") -> AnyArray:
        """The cells, without the knowledge of which are null. Numbers of fixed length are not copied."""
        if is_text(self.datatype):
            own = encoding(self.datatype)
            if own is None and self.count is not None:
                return _shaped(self.data.view(f"S{self.count}"), shape, order)
            return self.texts(own, shape, order)
        dtype = number_dtype(self.datatype)
        assert dtype is not None
        numbers = self.data.view(dtype)
        if self.count is None:
            return _shaped(self._lists(numbers, dtype), shape, order)
        if self.count != 1:
            numbers = numbers.reshape(-1, self.count)
        return _shaped(numbers, shape, order)

    def nulls(self, shape: tuple[int, ...] | None = None, order: str = "row-major") -> AnyArray | None:
        """Which cells are null; ``None`` if the field cannot be null."""
        return None if self.validity is None else _shaped(self.validity == 0, shape, order)

    def to_numpy(self, shape: tuple[int, ...] | None = None, order: str = "row-major") -> AnyArray:
        """The cells: a masked array if the field is nullable; of texts, bytes and lists an array of objects, ``None`` where
        they are null."""
        values, nulls = self.values(shape, order), self.nulls(shape, order)
        if nulls is None:
            return values
        if values.dtype == object:
            values[nulls] = None
            return values
        if values.ndim > nulls.ndim:
            nulls = np.broadcast_to(nulls[..., np.newaxis], values.shape)
        return np.ma.MaskedArray(values, nulls)

    def __len__(self) -> int:
        """The number of cells."""
        if self.offsets is not None:
            return len(self.offsets) - 1
        return len(self.data) // ((self.count or 1) * value_size(self.datatype))

    def first(self, cells: int) -> Column:
        """The first cells of the column."""
        end = cells * (self.count or 1) * value_size(self.datatype) if self.offsets is None else int(self.offsets[cells])
        offsets = None if self.offsets is None else self.offsets[: cells + 1]
        return self._of(self.data[:end], offsets, None if self.validity is None else self.validity[:cells])

    def _of(self, data: AnyArray, offsets: AnyArray | None, validity: AnyArray | None) -> Column:
        """A column of the same field with other cells."""
        made = Column.__new__(Column)
        made.name, made.datatype, made.count = self.name, self.datatype, self.count
        made.data, made.offsets, made.validity = data, offsets, validity
        return made

    def texts(self, own: str | None, shape: tuple[int, ...] | None = None, order: str = "row-major") -> AnyArray:
        """The cells as texts in this encoding, or as bytes without one, whatever the datatype says: an array of objects.
        Bytes that are not text are kept as surrogates. Equal cells may share an object."""
        size = 0 if self.count is None else self.count * value_size(self.datatype)
        return _shaped(_tdb.unpack_texts(self.data, self.offsets, size, own), shape, order)

    def _lists(self, numbers: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
        assert self.offsets is not None
        ends = (self.offsets // dtype.itemsize).tolist()
        found = np.empty(len(ends) - 1, dtype=object)
        for at, (low, high) in enumerate(zip(ends, ends[1:])):
            found[at] = numbers[low:high]
        return found


def joined(parts: Sequence[Column]) -> Column:
    """Columns of the same field, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    data = np.concatenate([part.data for part in parts])
    offsets = None
    if parts[0].offsets is not None:
        begins = np.cumsum([0] + [len(part.data) for part in parts], dtype=np.uint64)
        ends = [part.offsets[1:] + begin for part, begin in zip(parts, begins) if part.offsets is not None]
        offsets = np.concatenate([np.zeros(1, np.uint64), *ends])
    own = [part.validity for part in parts if part.validity is not None]
    return parts[0]._of(data, offsets, np.concatenate(own) if own else None)


def _shaped(cells: AnyArray, shape: tuple[int, ...] | None, order: str) -> AnyArray:
    """Cells of a box with this shape."""
    if shape is None:
        return cells
    tail = cells.shape[1:]
    if order != "col-major":
        return cells.reshape(shape + tail)
    axes = tuple(range(len(shape) - 1, -1, -1))
    return cells.reshape(shape[::-1] + tail).transpose(axes + tuple(range(len(shape), len(shape) + len(tail))))


def pack(
    field: Field, values: Any, labels: list[Any] | None, order: str, casting: str = "same_kind"
) -> tuple[_tdb.Given, int]:
    """A column for a write, and its number of cells. ``labels`` are the values of the field's enumeration; ``order`` is
    ``C`` or ``F``; ``casting`` is one of :data:`tdb._casts.CASTINGS`."""
    nulls: AnyArray | None = None
    if getattr(values, "dtype", None) == object and hasattr(values, "isna"):
        values = objects_of(values)
    if labels is not None and hasattr(getattr(values, "dtype", None), "categories"):
        values = _codes_of_categories(field, values, labels)
    packed = _texts_of_arrow(field, values) if labels is None else None
    # Objects that become texts are asked for nulls one by one anyway.
    if packed is None and (labels is not None or not (field.var and is_text(field.datatype) and _is_list(values))):
        values, nulls = _without_nulls(values)
    if labels is not None:
        values, nulls = _codes(field, values, nulls, labels)
    if field.var:
        data, offsets, valid = packed or _pack_var(field, values, casting)
        cells = len(offsets) - 1
        if nulls is None and not valid.all():
            nulls = valid == 0
    else:
        cells_of = _pack_fixed(field, values, casting)
        tail = 1 if field.values_per_cell != 1 and not is_text(field.datatype) else 0
        cells = int(np.prod(cells_of.shape[: cells_of.ndim - tail], dtype=np.int64))
        if order == "F" and tail:
            axes = tuple(range(cells_of.ndim - 2, -1, -1)) + (cells_of.ndim - 1,)
            cells_of = cells_of.transpose(axes)
            order = "C"
        data, offsets = cells_of.ravel(order="F" if order == "F" else "C").view(np.uint8), None
    if nulls is not None and nulls.any() and not field.nullable:
        raise WriteError(f'field "{field.name}" cannot be null, but {int(nulls.sum())} cells are')
    validity = None
    if field.nullable:
        validity = np.ones(cells, np.uint8)
        if nulls is not None:
            validity[np.asarray(nulls).ravel(order="F" if order == "F" else "C")] = 0
    return (field.name, data, offsets, validity), cells


def _is_list(values: Any) -> bool:
    """Whether these are objects of Python."""
    if isinstance(values, np.ndarray):
        return values.dtype == object and not isinstance(values, np.ma.MaskedArray)
    return isinstance(values, (list, tuple))


def _without_nulls(values: Any) -> tuple[Any, AnyArray | None]:
    """Values and which of them are null."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        return values.data, mask
    dtype = getattr(values, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype):
        return of_extension(values)
    if _is_list(values):
        if isinstance(values, np.ndarray):
            flat = values
        else:
            flat = np.empty(len(values), object)
            flat[:] = list(values)
        # Types are told apart much faster than values.
        if {one.__name__ for one in set(map(type, flat.ravel()))} & NULLS:
            mask = np.asarray(np.frompyfunc(is_null, 1, 1)(flat)).astype(bool)
            return flat, mask
    return values, None


def _codes(field: Field, values: Any, nulls: AnyArray | None, labels: list[Any]) -> tuple[Any, AnyArray | None]:
    """The numbers of values of an enumeration. What is a number already stays."""
    found = np.asarray(values, dtype=object) if isinstance(values, (list, tuple)) else np.asarray(values)
    if found.dtype.kind in "iu" and not (labels and isinstance(labels[0], (int, np.integer))):
        return found, nulls
    if labels and isinstance(labels[0], np.generic):
        # Dates are compared in the unit of the enumeration.
        found = as_type(field, found, labels[0].dtype)
    known = {label: at for at, label in enumerate(labels)}
    codes = np.zeros(found.shape, np.int64)
    for at, value in np.ndenumerate(found):
        if nulls is not None and nulls[at]:
            continue
        if value not in known:
            raise WriteError(f'field "{field.name}": {value!r} is not a value of the enumeration "{field.enumeration}"')
        codes[at] = known[value]
    dtype = number_dtype(field.datatype)
    assert dtype is not None
    return codes.astype(dtype), nulls


def _codes_of_categories(field: Field, values: Any, labels: list[Any]) -> Any:
    """The numbers of values of an enumeration for a categorical column of pandas: each category is looked up once. Where the values
    of the enumeration are numbers or dates, the column stays as it is."""
    if not labels or not isinstance(labels[0], (str, bytes)):
        return values
    array = getattr(values, "array", values)
    codes, known = np.asarray(array.codes), {label: at for at, label in enumerate(labels)}
    places = np.array([known.get(one, -1) for one in array.categories], np.int64)
    used = np.unique(codes[codes >= 0])
    unknown = used[places[used] < 0] if len(used) else used
    if len(unknown):
        wrong = array.categories[int(unknown[0])]
        raise WriteError(f'field "{field.name}": {wrong!r} is not a value of the enumeration "{field.enumeration}"')
    if not len(places):
        places = np.zeros(1, np.int64)
    return np.ma.MaskedArray(places[np.where(codes < 0, 0, codes)].clip(0), codes < 0)


def _pack_var(field: Field, values: Any, casting: str) -> tuple[AnyArray, AnyArray, AnyArray]:
    flat = values.ravel() if isinstance(values, np.ndarray) else values
    if is_text(field.datatype):
        if isinstance(flat, np.ndarray) and flat.dtype != object:
            flat = flat.tolist()
        packed = _tdb.pack_texts(flat, encoding(field.datatype))
        return np.asarray(packed[0]), np.asarray(packed[1]), np.asarray(packed[2])
    flat = list(flat)
    dtype = number_dtype(field.datatype)
    assert dtype is not None
    for at, one in enumerate(flat):
        if not is_null(one) and _lacks(one):
            raise WriteError(f'field "{field.name}", cell {at}: one of its values is missing, which cells with several values cannot say')
    validity = np.array([not is_null(one) for one in flat], np.uint8)
    lists = [as_type(field, () if is_null(one) else one, dtype, casting) for one in flat]
    lengths = np.array([0] + [one.nbytes for one in lists], np.uint64)
    joined: AnyArray = np.concatenate(lists) if lists else np.empty(0, dtype)
    offsets: AnyArray = np.cumsum(lengths, dtype=np.uint64)
    return joined.view(np.uint8), offsets, validity


def _lacks(values: Any) -> bool:
    """Whether one of the values of a cell is missing."""
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(values).any())
    if isinstance(values, np.ndarray) and values.dtype != object:
        return False
    return any(is_null(one) for one in values)


def _texts_of_arrow(field: Field, values: Any) -> tuple[AnyArray, AnyArray, AnyArray] | None:
    """A column of texts of pandas, packed as Arrow has it; ``None`` for all else, and if there is no Arrow."""
    if not field.var or encoding(field.datatype) != "utf-8" or not is_text_of_pandas(getattr(values, "dtype", None)):
        return None
    try:
        import pyarrow  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    made = pyarrow.array(values, type=pyarrow.large_string())
    if isinstance(made, pyarrow.ChunkedArray):
        made = made.combine_chunks()
    _, ends, data = made.buffers()
    offsets: AnyArray = np.frombuffer(ends, np.int64)[made.offset : made.offset + len(made) + 1] if ends else np.zeros(1, np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    bytes_of: AnyArray = np.frombuffer(data or b"", np.uint8)[first:last]
    return bytes_of, (offsets - first).view(np.uint64), made.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)


def _pack_fixed(field: Field, values: Any, casting: str) -> AnyArray:
    if is_text(field.datatype):
        own = encoding(field.datatype)
        size = field.values_per_cell * value_size(field.datatype)
        if own is None:
            return _fixed_bytes(field, values, size)
        flat = [str(one).encode(own) for one in np.asarray(values, dtype=object).ravel()]
        wrong = [one for one in flat if len(one) != size]
        if wrong:
            raise WriteError(f'field "{field.name}" has cells of {size} bytes, but {wrong[0]!r} is given')
        return np.frombuffer(b"".join(flat), f"S{size}").reshape(np.shape(values))
    dtype = number_dtype(field.datatype)
    assert dtype is not None
    return as_type(field, values, dtype, casting)


def _fixed_bytes(field: Field, values: Any, size: int) -> AnyArray:
    """Bytes of one length: shorter ones are filled up with zeros."""
    found = np.asarray(values)
    if found.dtype == object:
        found = np.asarray([b"" if is_null(one) else one for one in found.ravel()]).reshape(found.shape)
    try:
        found = found if found.dtype.kind == "S" else found.astype(np.bytes_)
    except UnicodeEncodeError as error:
        raise WriteError(f'field "{field.name}" has cells of bytes: {error}') from error
    if found.dtype.itemsize > size and found.size:
        longest = max(found.ravel().tolist(), key=len)
        if len(longest) > size:
            raise WriteError(f'field "{field.name}" has cells of {size} bytes, but {longest!r} is given')
    return np.ascontiguousarray(found.astype(f"S{size}"))
