"""Writes the files that `tests/cli/convert_files.rs` imports, with pyarrow 26:

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1 && venv/bin/python make.py
"""

import datetime as dt
import decimal
import pathlib

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
DAYS = [dt.date(1969, 12, 31), None, dt.date(2024, 2, 29)]
TIMES = [dt.datetime(2024, 2, 29, 12, 30, 15), None, dt.datetime(1969, 12, 31, 23, 59, 59)]

table = pa.table({
    "i8": pa.array([-1, None, 127], pa.int8()),
    "u64": pa.array([0, 1, 2**64 - 1], pa.uint64()),
    "f32": pa.array([0.5, None, float("nan")], pa.float32()),
    "flag": pa.array([True, None, False]),
    "text": pa.array(["é", None, ""]),
    "large": pa.array(["a", "b,c", None], pa.large_string()),
    "bytes": pa.array([b"\x00\xff", None, b""], pa.binary()),
    "three": pa.array([b"abc", None, b"def"], pa.binary(3)),
    "day": pa.array(DAYS, pa.date32()),
    "ms": pa.array(TIMES, pa.timestamp("ms")),
    "utc": pa.array(TIMES, pa.timestamp("us", tz="UTC")),
    "took": pa.array([1, None, 3], pa.duration("ms")),
    "city": pa.array(["Oslo", None, "Oslo"]).dictionary_encode(),
    "list": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
    "pair": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float64(), 2)),
})

pq.write_table(table, HERE / "types.parquet", row_group_size=2, write_page_index=True)
pq.write_table(table, HERE / "pages.parquet", data_page_version="2.0", compression="gzip", use_dictionary=False)
pa.feather.write_feather(table, HERE / "types.feather", compression="zstd")
with pa.ipc.new_stream(HERE / "types.arrows", table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
    for batch in table.to_batches(max_chunksize=1):
        stream.write_batch(batch)

refused = pa.table({
    "price": pa.array([decimal.Decimal("1.50")], pa.decimal128(9, 2)),
    "place": pa.array([{"x": 1, "y": 2}]),
})
for name in refused.column_names:
    pq.write_table(refused.select([name]), HERE / f"refused_{name}.parquet")
