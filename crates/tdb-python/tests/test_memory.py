"""What is not copied, and how much memory is used."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from stream_memory import make, measure

import tdb
from tdb import _tdb


def one(uri: str, count: int = 1000) -> tdb.Array:
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, count - 1), "int64", tile=count)], [tdb.Attribute("a", "int64")])
    array = tdb.create(uri, schema)
    array.write(np.arange(count))
    return array


def test_numpy_uses_the_memory_of_the_result(uri: str) -> None:
    cells = one(uri).read()._core.collect()
    ((_, _, _, memory, _, _),) = cells.take_columns()
    address, read_only = memory.__array_interface__["data"]
    values = np.asarray(memory).view(np.int64)
    assert values.ctypes.data == address and not read_only
    del memory, cells
    assert values.tolist() == list(range(1000)), "the array keeps the memory"


def test_a_box_is_a_view_of_one_allocation_and_may_be_written_to(uri: str) -> None:
    values = one(uri)[:]
    assert values.flags.writeable
    base = values
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert isinstance(base, _tdb.Memory)
    assert base.__array_interface__["data"][0] == values.ctypes.data
    values[0] = 7
    assert values[0] == 7 and one.__name__ == "one"


def test_arrow_shares_the_memory_of_the_query(uri: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    array = one(uri)
    batch = pyarrow.record_batch(array.read())
    _, data = batch["a"].buffers()
    # numpy and polars look at the same memory.
    assert batch["a"].to_numpy(zero_copy_only=True).ctypes.data == data.address
    polars = pytest.importorskip("polars")
    series = polars.from_arrow(batch)["a"]
    assert series.to_numpy().ctypes.data == data.address


def test_contiguous_columns_are_written_from_where_they_are(uri: str) -> None:
    from tdb._columns import pack

    array = one(uri)
    field = array.schema.field("a")
    assert field is not None
    values = np.arange(1000)
    (_, data, _, _), cells = pack(field, values, None, "C")
    assert cells == 1000 and data.ctypes.data == values.ctypes.data
    fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
    (_, data, _, _), _ = pack(field, fortran, None, "F")
    assert data.ctypes.data == fortran.ctypes.data


def test_columns_of_arrow_and_polars_are_written_from_where_they_are(uri: str) -> None:
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    from tdb._columns import pack

    array = one(uri)
    field = array.schema.field("a")
    assert field is not None
    column = pyarrow.array(np.arange(1000))
    (_, data, _, _), _ = pack(field, column.to_numpy(zero_copy_only=True), None, "C")
    assert data.ctypes.data == column.buffers()[1].address
    series = polars.Series("a", np.arange(1000))
    (_, data, _, _), _ = pack(field, series.to_numpy(), None, "C")
    assert data.ctypes.data == series.to_numpy(allow_copy=False).ctypes.data
    # A table goes through Arrow's interface: addresses are those of the table in the batch that Rust gets.
    array.write(polars.DataFrame({"a": series}))
    assert array[:].tolist() == list(range(1000))


def test_other_libraries_see_the_memory_of_a_read_through_dlpack(uri: str) -> None:
    cells = one(uri).read()
    values = np.from_dlpack(cells)
    base = values
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert not isinstance(base, np.ndarray), "a capsule, not a copy, owns the memory"
    assert values.tolist() == list(range(1000))


def test_arrow_and_polars_share_the_memory_of_whole_streams(uri: str) -> None:
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    reader = pyarrow.RecordBatchReader.from_stream(one(uri).stream(memory="16MB"))
    batch = reader.read_next_batch()
    series = polars.from_arrow(batch)["a"]
    assert series.to_numpy(allow_copy=False).ctypes.data == batch["a"].buffers()[1].address


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_stream_stays_inside_its_memory(uri: str) -> None:
    count = 16_000_000
    make(uri, count)
    found = measure(uri, "16MiB")
    assert (found["cells"], found["total"]) == (count, count // 1000 * 499_500)
    # The cells are 128 MB.
    assert found["batches"] > 8 and found["peak"] - found["before"] < 24 << 20
    assert found["peak"] - found["alone"] < 64 << 20
