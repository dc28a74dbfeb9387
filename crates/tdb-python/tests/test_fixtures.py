"""Every array of the fixtures is read as libtiledb 2.30 read it."""

from __future__ import annotations

import base64
import json
import pathlib
from typing import Any

import numpy as np
import pytest

import tdb

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "xtask" / "fixtures"
EXPECTED = FIXTURES / "expected"
Cell = bytes | None

DTYPES = {"INT": "i", "UINT": "u", "FLOAT": "f"}
UNITS = {"YEAR": "Y", "MONTH": "M", "WEEK": "W", "DAY": "D", "HR": "h", "MIN": "m", "SEC": "s"}
WIDE = {"STRING_UTF16": "utf-16-le", "STRING_UCS2": "utf-16-le", "STRING_UTF32": "utf-32-le", "STRING_UCS4": "utf-32-le"}


def dtype_of(datatype: str) -> np.dtype[Any] | None:
    for name, kind in DTYPES.items():
        if datatype.startswith(name) and datatype[len(name) :].isdigit():
            return np.dtype(f"<{kind}{int(datatype[len(name):]) // 8}")
    if datatype == "BOOL":
        return np.dtype("|b1")
    kind, _, unit = datatype.partition("_")
    if kind in ("DATETIME", "TIME"):
        return np.dtype(f"<{'M' if kind == 'DATETIME' else 'm'}8[{UNITS.get(unit, unit.lower())}]")
    return None


def expected_cells(said: dict[str, Any]) -> list[Cell]:
    """The cells of a field as the fixture has them."""
    data = base64.b64decode(said["data"])
    if said.get("offsets") is not None:
        starts = np.frombuffer(base64.b64decode(said["offsets"]), "<u8").tolist() + [len(data)]
        cells = [data[low:high] for low, high in zip(starts, starts[1:])]
    else:
        own = dtype_of(said["type"])
        size = own.itemsize if own is not None else {"STRING_UTF16": 2, "STRING_UCS2": 2, "STRING_UTF32": 4, "STRING_UCS4": 4}.get(said["type"], 1)
        size *= said["cell_val_num"]
        cells = [data[at : at + size] for at in range(0, len(data), size)]
    if said.get("validity") is None:
        return list(cells)
    return [cell if valid else None for cell, valid in zip(cells, base64.b64decode(said["validity"]))]


def read_cells(values: Any, datatype: str, axes: int) -> list[Cell]:
    """The cells of a field as tdb returned them."""
    nulls = None
    if isinstance(values, np.ma.MaskedArray):
        nulls = np.ma.getmaskarray(values)
        values = values.data
        if nulls.ndim > axes:
            nulls = nulls[..., 0]
        nulls = nulls.ravel()
    flat = values.reshape((-1, *values.shape[axes:]))
    cells: list[Cell] = []
    for at, one in enumerate(flat):
        if one is None or (nulls is not None and nulls[at]):
            cells.append(None)
        elif isinstance(one, str):
            codec = WIDE.get(datatype)
            cells.append(one.encode(codec) if codec else one.encode("utf-8", "surrogateescape"))
        elif isinstance(one, np.bytes_):
            cells.append(one.tobytes().ljust(flat.dtype.itemsize, b"\0"))
        elif isinstance(one, bytes):
            cells.append(one)
        else:
            cells.append(np.ascontiguousarray(one).tobytes())
    return cells


def end(hexed: str, datatype: str) -> Any:
    own = dtype_of(datatype)
    data = bytes.fromhex(hexed)
    if own is None:
        return data
    value = np.frombuffer(data, own)[0]
    return value if own.kind in "mM" else value.item()


def check(case: str, said: dict[str, Any], query: dict[str, Any]) -> None:
    key = said["key"].encode() if said["key"] else None
    low, high = query["timestamps"]
    at = None if low is None and high is None else (low or 0, high if high is not None else (1 << 64) - 1)
    array = tdb.open(FIXTURES / "arrays" / case, at, key=key)
    ranges = {}
    for dimension, pair in zip(said["schema"]["dimensions"], query["ranges"] or []):
        if pair is not None:
            ranges[dimension["name"]] = tuple(end(one, dimension["type"]) for one in pair)
    fields = [name for name in query["fields"]]
    got = array.read(fields=fields, ranges=ranges, order=query["layout"]).to_numpy()
    dense = said["schema"]["array_type"] == "dense"
    columns, wanted = [], []
    for name, field in query["fields"].items():
        axes = len(said["schema"]["dimensions"]) if dense and query["layout"] in ("row-major", "col-major") else 1
        values = got[name]
        if dense and query["layout"] == "col-major":
            values = values.transpose(tuple(range(axes - 1, -1, -1)) + tuple(range(axes, values.ndim)))
        columns.append(read_cells(values, field["type"], axes))
        wanted.append(expected_cells(field))
    if query["order"] == "exact":
        assert columns == wanted
    else:
        order = lambda row: tuple((cell is not None, cell or b"") for cell in row)
        assert sorted(zip(*columns), key=order) == sorted(zip(*wanted), key=order)


VERSIONS = sorted(one.name for one in EXPECTED.iterdir())

#: Arrays that tdb refuses, and the reason.
REFUSED = {"nan_coordinates": "a coordinate that is not a number has no place in any order"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_cells_of_every_array_are_those_that_libtiledb_reads(version: str) -> None:
    wrong, queries = [], 0
    for path in sorted((EXPECTED / version).glob("*.json")):
        said = json.loads(path.read_text())
        if said["kind"] != "array" or path.stem in REFUSED:
            continue
        for query in said["queries"]:
            queries += 1
            try:
                check(f"{version}/{path.stem}", said, query)
            except Exception as error:  # every array is tried before the test fails
                wrong.append(f"{path.stem} {query['id']}: {type(error).__name__}: {str(error)[:300]}")
    assert queries > 0
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_metadata_of_every_array_is_that_which_libtiledb_reads(version: str) -> None:
    for path in sorted((EXPECTED / version).glob("*.json")):
        said = json.loads(path.read_text())
        if said["kind"] != "array" or not said.get("metadata"):
            continue
        key = said["key"].encode() if said["key"] else None
        meta = dict(tdb.open(FIXTURES / "arrays" / version / path.stem, key=key).meta)
        for entry in said["metadata"]:
            name, data = entry["key"], base64.b64decode(entry["value"])
            own, value = dtype_of(entry["type"]), meta[name]
            if isinstance(value, str):
                codec = WIDE.get(entry["type"])
                assert (value.encode(codec) if codec else value.encode("utf-8", "surrogateescape")) == data, name
            elif own is None:
                assert value == data, name
            else:
                assert np.asarray(value, own).tobytes() == data, name
