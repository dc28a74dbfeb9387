"""What is not copied, and how much memory is used."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

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


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_stream_stays_inside_its_memory(uri: str) -> None:
    count = 16_000_000
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("x", (0, count - 1), "int64", tile=100_000)],
        [tdb.Attribute("a", "int64", filters="zstd(1)")],
    )
    tdb.create(uri, schema).write(np.arange(count) % 1000)
    program = textwrap.dedent(
        """
        import sys, tdb
        def peak():
            return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10
        array = tdb.open(sys.argv[1])
        array.read(ranges={"x": (0, 10)}).to_numpy()
        before, cells, total = peak(), 0, 0
        for batch in array.stream(memory="16MiB"):
            values = batch.to_numpy()["a"]
            cells, total = cells + len(values), total + int(values.sum())
            del values, batch
        print(cells, total, peak() - before)
        """
    )
    output = subprocess.run([sys.executable, "-c", program, uri], capture_output=True, text=True, check=True).stdout
    cells, total, grown = map(int, output.split())
    assert (cells, total) == (count, count // 1000 * 499_500)
    # The cells are 128 MB. The batch before is freed after the next one is made.
    assert grown < 40 << 20
