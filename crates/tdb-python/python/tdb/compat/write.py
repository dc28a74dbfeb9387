"""Writes, by the rules of TileDB-Py: values are converted as numpy does, and null is what is ``None``, "not a number" or infinite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tdb
from .._columns import pack
from .._errors import WriteError
from .._coordinates import coordinate
from .._types import AnyArray, number_dtype
from .attribute import ANONYMOUS, Attr
from .ctx import flag
from .dimension import Dim
from .indexing import Box, as_tuple
from .libtiledb import TileDBError
from .subarray import Subarray

if TYPE_CHECKING:
    from .array import Array
    from .dense_array import DenseArray
    from .sparse_array import SparseArray


def dense(array: DenseArray, selection: Any, values: Any, valid: Mapping[str, Any]) -> None:
    """Writes a box of a dense array. ``valid`` says of which fields which cells are not null."""
    if not array.isopen or array.mode != "w":
        raise TileDBError("DenseArray is not opened for writing")
    schema = array.schema
    if isinstance(selection, Subarray):
        ranges: list[Any] = [selection._all(at) for at in range(schema.ndim)]
    else:
        box = Box(schema, selection, None)
        if box.stepped:
            raise TileDBError("a write covers one box, so slices have no step")
        ranges = [_run(one) if isinstance(one, np.ndarray) else one for one in box.ranges]
    if any(isinstance(one, np.ndarray) or len(one) != 1 for one in ranges):
        raise TileDBError("a write covers one box: give one range of each dimension")
    ends = [one[0] for one in ranges]
    shape = tuple(_count(low, high) for low, high in ends)
    _check_valid(array, valid)
    given = _by_attribute(array, selection, values, shape)
    columns = []
    for attr in schema:
        one, own = _converted(attr, given[attr.name], valid.get(attr.name))
        if one.shape != shape:
            # Memory in another shape with as many cells is taken cell by cell, as TileDB does.
            if one.size != int(np.prod(shape, dtype=np.int64)):
                raise WriteError(
                    f"shape mismatch; data dimensions do not match the domain given in array schema ({shape} != {one.shape})"
                )
        columns.append(_column(array, attr, one, own))
    place = array._array._place
    box_of = [(dim.name, coordinate(own, low), coordinate(own, high)) for dim, own, (low, high) in zip(schema.domain, schema._own.dimensions, ends)]
    _wrote(array, _tdb.write(place, columns, box_of, None, "refuse", array._end))
    for name, given in values.items() if isinstance(values, Mapping) else ():
        if schema.has_dim_label(name):
            _write_label(array, name, given, ends[schema.dim_label(name).dim_index])


def _run(points: AnyArray) -> Any:
    """Coordinates that follow each other as a range."""
    follows = points.dtype.kind in "iu" and len(points) > 0 and bool((np.diff(points) == 1).all())
    return [(points[0], points[-1])] if follows else points


def _count(low: Any, high: Any) -> int:
    if isinstance(low, np.datetime64):
        return int(high.astype(np.int64)) - int(low.astype(np.int64)) + 1
    return int(high) - int(low) + 1


def _by_attribute(array: DenseArray, selection: Any, values: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """The values of each attribute."""
    schema = array.schema
    if isinstance(values, np.ndarray):
        try:
            np.broadcast_shapes(shape, values.shape)
        except ValueError as error:
            raise ValueError(
                f"shape mismatch; data dimensions do not match the domain given in array schema ({shape} != {values.shape})"
            ) from error
    if isinstance(values, Mapping):
        return {attr.name: values[attr.name] for attr in schema}
    if np.isscalar(values):
        found = {}
        for attr in schema:
            full = np.empty(shape, object if attr.isvar else attr.dtype)
            full[...] = values
            found[attr.name] = full
        return found
    if schema.nattr == 1:
        return {schema.attr(0).name: values}
    if array.view_attr is not None:
        from .dense_array import DenseArray

        with DenseArray(array.uri, "r", key=array.key, ctx=array.ctx) as readable:
            own: Any = readable
            current: dict[str, Any] = dict(own.subarray(selection))
        current[array.view_attr] = np.ascontiguousarray(values, dtype=schema.attr(array.view_attr).dtype)
        return current
    raise ValueError(
        "ambiguous attribute assignment, more than one array attribute (use a dict({'attr': val}) to assign multiple attributes)"
    )


def sparse(array: SparseArray, selection: Any, values: Any, valid: Mapping[str, Any]) -> None:
    """Writes cells of a sparse array: their coordinates are the selection."""
    if not array.isopen or array.mode != "w":
        raise TileDBError("SparseArray is not opened for writing")
    schema = array.schema
    coordinates = _coordinates(schema.domain, as_tuple(selection))
    cells = len(coordinates[0])
    if values is None and schema.nattr:
        raise TileDBError("the array has attributes, but no values are given")
    if not isinstance(values, Mapping):
        if schema.nattr > 1:
            raise ValueError("Expected dict-like object {name: value} for multi-attribute array.")
        values = {} if values is None else {schema.attr(0).name: values}
    _check_valid(array, valid)
    place, columns = array._array._place, []
    for attr in schema:
        one, own = _converted(attr, values[attr.name] if isinstance(values[attr.name], np.ndarray) else np.asarray(values[attr.name]), valid.get(attr.name))
        if one.size != cells:
            raise ValueError(f"value length ({one.size}) does not match coordinate length ({cells})")
        columns.append(_column(array, attr, one, own))
    labels = [name for name in values if schema.has_dim_label(name)]
    if len(values) != schema.nattr + len(labels):
        raise TileDBError("Sparse write input data count does not match number of attributes")
    if not cells:
        return
    for dim, one in zip(schema.domain, coordinates):
        field = schema._own.field(dim.name)
        assert field is not None
        columns.append(pack(field, one.tolist() if dim.isvar else one, None, "C")[0])
    duplicates = "last" if flag(array.ctx, "sm.dedup_coords") else "refuse"
    _wrote(array, _tdb.write(place, columns, [], None, duplicates, array._end))
    for name in labels:
        dim = schema.domain.dim(schema.dim_label(name).dim_index)
        if dim.isvar or cells != dim.shape[0]:
            raise NotImplementedError("the label of a sparse array is written for the whole domain of its dimension")
        _write_label(array, name, values[name], dim.domain)


def _write_label(array: Array, name: str, given: Any, ends: tuple[Any, Any]) -> None:
    """Writes the values of a label: those of a range of its dimension."""
    label, own = array.schema.dim_label(name), array.schema._own
    known, values = own.field(name), np.asarray(given).ravel()
    assert known is not None
    if len(values) != _count(*ends):
        raise ValueError(f"the label {name!r} has {len(values)} values, but its dimension has {_count(*ends)} coordinates")
    field = replace(known, name=label.label_attr_name)
    column = pack(field, values.tolist() if label.isvar else values.astype(label.dtype), None, "C")[0]
    low, high = (coordinate(own.dimensions[label.dim_index], end) for end in ends)
    _tdb.write(array._array._place, [column], [("index", low, high)], None, "refuse", array._end, name)


def _coordinates(domain: Any, given: tuple[Any, ...]) -> list[AnyArray]:
    if len(given) != domain.ndim:
        raise IndexError(f"sparse index ndim must match domain ndim: {len(given)!r} != {domain.ndim!r}")
    found = [_coordinate(dim, one) for dim, one in zip(domain, given)]
    if any(len(one) != len(found[0]) for one in found):
        raise IndexError("sparse index dimension length mismatch")
    return found


def _coordinate(dim: Dim, one: Any) -> AnyArray:
    if not dim.isvar:
        return np.array(one, dtype=dim.dtype, ndmin=1)
    try:
        return np.array(one, dtype=np.bytes_, ndmin=1)
    except (UnicodeError, TypeError) as error:
        raise TileDBError(f"the texts of dimension {dim.name!r} may only contain ASCII characters") from error


def _as_ascii(name: str, values: AnyArray) -> None:
    try:
        np.asarray([one for one in values.ravel() if one is not None], dtype=np.bytes_)
    except UnicodeError as error:
        raise TileDBError(f'dtype of attr {name} is "ascii" but attr_val contains invalid ASCII characters') from error


def _check_valid(array: Array, valid: Mapping[str, Any]) -> None:
    for name, one in valid.items():
        if not array.schema.has_attr(name):
            raise TileDBError("Cannot set validity for non-existent attribute.")
        if not array.schema.attr(name).isnullable:
            raise ValueError("Cannot set validity map for non-nullable attribute.")
        if not isinstance(one, np.ndarray):
            raise TypeError(f"Expected NumPy array for attribute '{name}' validity bitmap, got {type(one)}")


def _converted(attr: Attr, values: Any, valid: Any) -> tuple[AnyArray, AnyArray | None]:
    """The values of an attribute in its type, and which of them are not null."""
    found = np.ma.getdata(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    own = None if valid is None else np.asarray(valid).astype(bool)
    if attr.isnullable and own is None:
        own = ~np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else _present(found)
    try:
        if attr.isascii:
            _as_ascii(attr.name, found)
        if attr.isvar:
            return found, own
        if attr.dtype.kind == "S" and found.dtype.kind not in "SO":
            raise ValueError(f"Cannot write a string value to non-string typed attribute '{attr.name}'!")
        if own is not None and not own.all():
            found = found.copy()
            found[~own] = b"" if attr.dtype.kind == "S" else np.zeros((), attr.dtype if found.dtype == object else found.dtype)[()]
        if found.dtype.kind == "f" and attr.dtype.kind in "iu" and not np.isfinite(found).all():
            raise ValueError("integers have neither infinities nor not-a-number")
        return np.ascontiguousarray(found, dtype=attr.dtype).reshape(found.shape), own
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"NumPy array conversion check failed for attr '{attr.name}'") from error


def _present(values: AnyArray) -> AnyArray:
    """Which values are not null: as TileDB-Py has it, ``None``, "not a number" and, of reals, infinities are."""
    if values.dtype == object:
        present: AnyArray = np.frompyfunc(lambda one: one is not None and not _is_nan(one), 1, 1)(values)
        return present.astype(bool)
    if values.dtype.kind in "fc":
        return np.isfinite(values)
    return ~np.isnat(values) if values.dtype.kind in "mM" else np.ones(values.shape, bool)


def _is_nan(value: Any) -> bool:
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _column(array: Array, attr: Attr, values: AnyArray, valid: AnyArray | None) -> _tdb.Given:
    """A column for the extension module."""
    field = array.schema._own.field(attr.name) or array.schema._own.field(ANONYMOUS)
    assert field is not None
    own = number_dtype(field.datatype)
    if own is not None and values.dtype.kind in "Vc" and not attr.isvar:
        values = np.ascontiguousarray(values).view(own).reshape(*values.shape, field.values_per_cell)
    given: Any = values
    if attr.isvar:
        flat = values.ravel()
        texts = own is None
        if attr.isascii and flat.dtype.kind in "biuf":
            # As TileDB-Py has it, numbers are stored as numpy writes them.
            flat = flat.astype(np.bytes_)
        if values.dtype.kind in "SU" and not texts:
            raise TypeError(f"Failed to convert buffer for attribute: '{attr.name}'")
        if valid is not None:
            flat = np.array([one if ok else None for one, ok in zip(flat, valid.ravel())] + [None], object)[:-1]
        given = flat.tolist() if texts else [None if one is None else _list(attr, one, own) for one in flat]
        if texts and not all(isinstance(one, (str, bytes)) for one in given):
            given = [_bytes(attr, one) for one in given]
    elif valid is not None and not valid.all():
        # The extension takes one flag for each cell, also where cells have several values.
        name, data, offsets, _ = pack(field, values, None, "C")[0]
        return name, data, offsets, np.ascontiguousarray(valid.ravel().astype(np.uint8))
    return pack(field, given, None, "C")[0]


def _list(attr: Attr, one: Any, dtype: Any) -> AnyArray:
    found = np.atleast_1d(np.asarray(one))
    if found.dtype != dtype and not np.can_cast(found.dtype, dtype, "same_kind"):
        raise TypeError(f"Failed to convert buffer for attribute: '{attr.name}'")
    return found.astype(dtype)


def _bytes(attr: Attr, one: Any) -> Any:
    if isinstance(one, (str, bytes)):
        return one
    if one is None:
        # TileDB-Py stores the word, with which programs mark what they have removed.
        return b"None" if attr.isascii and not attr.isnullable else None
    if attr.isascii and isinstance(one, (int, float, np.number, np.bool_)):
        return str(one).encode()
    if isinstance(one, np.ndarray) and one.dtype.kind in "SUiu":
        return one.tobytes() if one.dtype.kind != "U" else str(one)
    raise TypeError(f"Failed to convert buffer for attribute: '{attr.name}': {type(one)} is neither a text nor bytes")


def _wrote(array: Array, name: str) -> None:
    """Notes what a write made, if that is wanted."""
    info = array.last_fragment_info
    if info is False:
        return
    if not isinstance(info, dict):
        raise ValueError(f"Expected fragment_info to be a dict, got {type(info)}")
    first, last = name.split("/")[-1].split("_")[2:4]
    path = name if "/" in name else f"__fragments/{name}"
    info.clear()
    info[f"{uri_of(array.uri)}/{path}"] = (int(first), int(last))


def uri_of(path: str) -> str:
    """A location as a URL, as TileDB has it."""
    import os

    return path.rstrip("/") if "://" in path else "file://" + os.path.abspath(path)


def direct(array: DenseArray, values: Any, mode: str = "ingest", append_dim: int | None = None, start_idx: int | None = None, **_: Any) -> None:
    """Writes an array of numpy as it is."""
    if not array.isopen or array.mode != "w":
        raise TileDBError("DenseArray is not opened for writing")
    if array.schema.nattr != 1:
        raise ValueError("cannot write_direct to a multi-attribute DenseArray")
    if not values.flags.c_contiguous and not values.flags.f_contiguous:
        raise ValueError("array is not contiguous")
    first = [start_idx or 0] * values.ndim
    if mode == "append":
        first = _behind(array, values, append_dim or 0, start_idx)
    part = Subarray(array)
    for at, (low, count) in enumerate(zip(first, values.shape)):
        part.add_dim_range(at, (low, low + count - 1))
    dense(array, part, values, {})


def _behind(array: DenseArray, values: Any, append_dim: int, start_idx: int | None) -> list[int]:
    from .array import Array

    with Array.load_typed(array.uri, key=array.key, ctx=array.ctx) as readable:
        ends = readable.nonempty_domain()
    if values.ndim <= append_dim:
        raise IndexError("`append_dim` out of range")
    if ends is None or values.ndim != len(ends):
        raise ValueError("The number of dimension of the TileDB array and Numpy array to append do not match")
    first = []
    for at, (low, high) in enumerate(ends):
        if at == append_dim:
            first.append(high + 1 if start_idx is None else start_idx)
        elif values.shape[at] != high - low + 1:
            raise ValueError(
                "The input Numpy array must be of the same shape as the TileDB array, exluding the `append_dim`, but the "
                f"Numpy array at index {at} has {values.shape[at]} coordinates and the TileDB array has {high - low + 1}."
            )
        else:
            first.append(start_idx or 0)
    return first


__all__ = ["dense", "direct", "sparse", "uri_of"]
