"""What has no axis: dictionaries of values, arrays and tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import Error
from .._needs import needed
from ._frames import create_table, table_of, write_table
from ._matrices import arrow_type, kept_dtype, matrix_of, write_sparse

if TYPE_CHECKING:
    from ._build import Build

#: The entry of the metadata that says what a table was, and what it says.
HINT, ONE, TWO = "soma_uns_outgest_hint", "array_1d", "array_2d"


def write_uns(build: Build, path: str, values: Mapping[str, Any], only: Sequence[str] | None = None) -> None:
    """Writes a dictionary as a collection: single values become its metadata. What no part of SOMA can be is left out
    with a warning. A ``None`` between texts becomes an empty one."""
    metadata: dict[str, Any] = {"soma_tiledbsoma_type": "uns"}
    members = []
    for key, value in values.items():
        if only is not None and key not in only:
            continue
        name = str(key)
        value = _single(value)
        if isinstance(value, (bool, int, float, str)) and not _too_large(value):
            if name.startswith("soma_"):
                _left_out(path, name, "its name begins with soma_, which is for SOMA's own")
                continue
            metadata[name] = value
            continue
        try:
            if _written(build, f"{path}/{build.quoted(name)}", value):
                members.append(name)
                continue
            why = f"{type(value).__name__} is none of what SOMA keeps"
        except Error as error:
            why = str(error)
        _left_out(path, name, why)
    build.collection(path, "Collection", members, metadata)


def _left_out(path: str, name: str, why: str) -> None:
    warnings.warn(f"{path}: {name!r} is left out: {why}", stacklevel=2)


def _single(value: Any) -> Any:
    """A single value of numpy as one of Python. Times stay numpy's, since they would become numbers."""
    single = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    if not single or value.dtype.kind in "mM" or (np.ma.isMaskedArray(value) and np.ma.is_masked(value)):
        return value
    return value.item()


def _listed(value: Sequence[Any]) -> Any:
    """A list as an array, if it can be one."""
    try:
        found = np.asarray(value)
    except (ValueError, OverflowError):
        return None
    # Between texts, numbers have become texts.
    return np.asarray(value, object) if found.dtype.kind == "U" and found.size else found


def _too_large(value: Any) -> bool:
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 64


def _written(build: Build, path: str, value: Any) -> bool:
    """Writes a value that is no single one; returns whether it could be."""
    if isinstance(value, Mapping):
        write_uns(build, path, value)
        return True
    if hasattr(value, "columns") and hasattr(value, "iloc"):
        _write_frame(build, path, table_of(value, None, path), {})
        return True
    if hasattr(value, "tocsr"):
        matrix = matrix_of(value, path)
        if 0 in matrix.shape:
            return False
        write_sparse(build.sparse(path, arrow_type(matrix.dtype), matrix.shape), matrix, None, None, build.memory, build.at)
        return True
    if isinstance(value, (list, tuple)):
        value = _listed(value)
    if not isinstance(value, np.ndarray) or value.ndim == 0 or np.ma.is_masked(value) or value.dtype.names is not None or 0 in value.shape:
        return False
    if value.dtype.kind in "UOT":
        return _write_texts(build, path, value)
    if value.dtype.kind not in "iufbM" or value.dtype.itemsize > 8:
        return False
    kind = value.dtype if value.dtype.kind == "M" else kept_dtype(value.dtype)
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    array = build.dense(path, pyarrow.from_numpy_dtype(kind), value.shape)
    array.write(np.ascontiguousarray(value, kind), tuple(slice(0, size) for size in value.shape), at=build.at)
    return True


def _write_texts(build: Build, path: str, value: np.ndarray[Any, Any]) -> bool:
    """Texts are a table, whose metadata says what it was."""
    pandas = needed("pandas", "pandas", "Tables")
    if value.ndim > 2 or not all(one is None or isinstance(one, str) for one in value.ravel().tolist()):
        return False
    texts = np.array([str(one) if one else "" for one in value.ravel()], object).reshape(value.shape)
    columns = {"values": texts} if value.ndim == 1 else {f"values_{at}": texts[:, at] for at in range(value.shape[1])}
    table = table_of(pandas.DataFrame(columns), None, path)
    names = [name for name in table.columns.column_names if name in columns]
    _write_frame(build, path, type(table)(table.columns.select(names), "index", False), {HINT: ONE if value.ndim == 1 else TWO})
    return True


def _write_frame(build: Build, path: str, table: Any, metadata: dict[str, Any]) -> None:
    size = len(table.columns)
    array = create_table(build.at_path(path), table, size, metadata=metadata, **build.how(table.columns.column_names, ()))
    write_table(array, table.columns, np.arange(size), build.memory, build.at)
