"""The sides of `cargo xtask compare peers` and `compare sql` that are packages of Python: Polars, DuckDB and DataFusion on Parquet, and
libtiledb with pyarrow. Reads requests on standard input, answers each with a line of JSON.

    python peers_engines.py --engine polars|duckdb|datafusion|libtiledb --threads N

Every timed request opens the files again and ends with an Arrow table whose strings are views. The protocol is that of
xtask/src/compare/peers/cases.rs and sql/cases.rs; digests are those of compare_peer.py.
"""

import argparse
import glob
import json
import os
import shutil
import struct
import sys
import time

import numpy as np

import compare_peer

LEVEL, ROW_GROUP = 3, 122_880
# The number of a null cell in digests.
NULL = 0x6e756c6c00


class Polars:
    def __init__(self, threads):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars
        self.pl = polars
        self.version = "Polars " + polars.__version__

    def scan(self, request):
        pl = self.pl
        frame = pl.scan_parquet(request["parquet"] + "/*.parquet")
        for name, ends in zip(request["dimensions"], request["ranges"]):
            if ends is not None:
                # A text alone would be the name of a column.
                frame = frame.filter(pl.col(name).is_between(*map(pl.lit, ends)))
        for name, values in (request.get("points") or {}).items():
            frame = frame.filter(pl.col(name).is_in(values))
        if request.get("sql"):
            frame = frame.filter(pl.sql_expr(request["sql"]))
        return frame

    def arrow(self, frame):
        return frame.collect().to_arrow(compat_level=self.pl.CompatLevel.newest())

    def read(self, request):
        return self.arrow(self.scan(request).select(request["fields"]))

    def aggregate(self, request):
        pl = self.pl
        k, v = pl.col("k").cast(pl.Int64), pl.col("v")
        return self.arrow(self.scan(request).select(pl.len(), k.sum(), v.min(), v.max().alias("top")))

    def group(self, request):
        pl = self.pl
        return self.arrow(self.scan(request).group_by("k").agg(pl.len().cast(pl.Int64), pl.col("v").max()))

    def distinct(self, request):
        return self.arrow(self.scan(request).select("s").unique())

    def table(self, arrow):
        return self.pl.from_arrow(arrow)

    def write(self, table, path, order):
        pl = self.pl
        if order:
            keys = [pl.col(name) // extent for name, extent in order if extent] + [pl.col(name) for name, _ in order]
            table = table.sort(keys)
        table.write_parquet(path, compression="zstd", compression_level=LEVEL, row_group_size=ROW_GROUP)


class DuckDb:
    def __init__(self, threads):
        import duckdb
        self.db = duckdb.connect()
        self.db.execute("SET threads = %d" % threads)
        self.db.execute("SET preserve_insertion_order = false")
        self.db.execute("SET produce_arrow_string_view = true")
        self.db.execute("SET arrow_output_version = '1.4'")
        self.version = "DuckDB " + duckdb.__version__

    def query(self, request, what, rest=""):
        terms = ["%s BETWEEN %s AND %s" % (name, *map(literal, ends))
                 for name, ends in zip(request["dimensions"], request["ranges"]) if ends is not None]
        terms += ["%s IN (%s)" % (name, ", ".join(map(literal, values)))
                  for name, values in (request.get("points") or {}).items()]
        terms += [request["sql"]] if request.get("sql") else []
        where = " WHERE " + " AND ".join(terms) if terms else ""
        text = "SELECT %s FROM read_parquet('%s/*.parquet')%s%s" % (what, request["parquet"], where, rest)
        return self.db.sql(text).to_arrow_table()

    def read(self, request):
        return self.query(request, ", ".join(request["fields"]))

    def aggregate(self, request):
        return self.query(request, "count(*), sum(k)::BIGINT, min(v), max(v)")

    def group(self, request):
        return self.query(request, "k, count(*), max(v)", " GROUP BY k")

    def distinct(self, request):
        return self.query(request, "DISTINCT s")

    def table(self, arrow):
        self.db.execute("DROP TABLE IF EXISTS loaded")
        self.db.execute("CREATE TABLE loaded AS SELECT * FROM arrow")
        return "loaded"

    def write(self, table, path, order):
        keys = ["%s // %d" % (name, extent) for name, extent in order if extent] + [name for name, _ in order]
        rest = " ORDER BY " + ", ".join(keys) if keys else ""
        self.db.execute("COPY (SELECT * FROM %s%s) TO '%s' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL %d, ROW_GROUP_SIZE %d)"
                        % (table, rest, path, LEVEL, ROW_GROUP))


    def sql(self, request):
        for name, table in request["tables"].items():
            self.db.execute("CREATE OR REPLACE TEMP VIEW %s AS SELECT * FROM read_parquet('%s/*.parquet')" % (name, table["parquet"]))
        return self.db.sql(request["query"]).to_arrow_table()


class DataFusion:
    def __init__(self, threads):
        os.environ["TOKIO_WORKER_THREADS"] = str(threads)
        import datafusion
        self.session = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(threads))
        self.version = "DataFusion " + datafusion.__version__

    def sql(self, request):
        import pyarrow as pa
        for name, table in request["tables"].items():
            self.session.register_parquet(name, table["parquet"])
        batches = self.session.sql(request["query"]).collect()
        for name in request["tables"]:
            self.session.deregister_table(name)
        return pa.Table.from_batches(batches)


class LibTileDb:
    """Reads what a question needs with libtiledb, and answers it with pyarrow."""

    def __init__(self, threads):
        import pyarrow as pa
        pa.set_cpu_count(threads)
        pa.set_io_thread_count(threads)
        self.peer = compare_peer.Peer(compare_peer.find_lib(), threads, {})
        self.version = "libtiledb %s with pyarrow %s" % (self.peer.lib.name, pa.__version__)

    def table(self, read):
        """The cells of a read as a table, without a copy."""
        import pyarrow as pa
        self.peer.read(read)
        _, columns = self.peer.last
        types = {"x": pa.int64(), "y": pa.int64(), "i": pa.int64(), "k": pa.int32(), "v": pa.float64(), "w": pa.float64()}
        arrays = {}
        for name, (data, offsets, (size, ends), _) in zip(read["fields"], columns):
            values = pa.py_buffer(data)
            if offsets is None:
                kind = types[name]
                arrays[name] = pa.Array.from_buffers(kind, size.value * 8 // kind.bit_width, [None, values])
            else:
                cells = ends.value // 8
                offsets[cells] = size.value
                text = pa.Array.from_buffers(pa.large_string(), cells, [None, pa.py_buffer(offsets), values])
                arrays[name] = text
        return pa.table(arrays)

    def count(self, read):
        self.peer.aggregate(dict(read, aggregates=[["count", None, 8]]))
        return int.from_bytes(bytes.fromhex(self.peer.last[1]), "little")

    def sql(self, request):
        import pyarrow as pa
        import pyarrow.compute as pc
        plan, reads = request["plan"], {name: table["read"] for name, table in request["tables"].items()}
        if plan == "count":
            return pa.table({"n": [self.count(reads["a"])]})
        tables = {name: self.table(read) for name, read in reads.items()}
        a = tables["a"]
        if plan == "scan":
            high, low = pc.max(pc.add(a["v"], a["w"])), pc.min(pc.subtract(a["v"], a["w"]))
            return pa.table({"n": [a.num_rows], "k": [pc.sum(a["k"]).as_py()], "high": [high.as_py()], "low": [low.as_py()]})
        if plan == "genes":
            return a.group_by("gene").aggregate([([], "count_all"), ("v", "max"), ("i", "sum")])
        if plan == "words":
            return a.group_by("s").aggregate([([], "count_all")])
        if plan == "top":
            order = [("w", "descending"), ("x", "ascending"), ("y", "ascending")]
            return a.take(pc.select_k_unstable(a, 10, sort_keys=order))
        if plan == "join":
            both = a.join(tables["b"], ["x", "y"], join_type="inner")
            return pa.table({"n": [both.num_rows], "k": [pc.sum(both["k"]).as_py()], "v": [pc.max(both["v"]).as_py()]})
        return a


def viewed(table):
    """Text as views."""
    import pyarrow as pa
    columns = [column.cast(pa.string_view()) if column.type in (pa.string(), pa.large_string()) else column
               for column in table.columns]
    return pa.table(columns, names=table.column_names)


def literal(value):
    return "'%s'" % value if isinstance(value, str) else str(value)


ENGINES = {"polars": Polars, "duckdb": DuckDb, "datafusion": DataFusion, "libtiledb": LibTileDb}


class Side:
    """Answers requests with an engine."""

    def __init__(self, engine):
        self.engine, self.last, self.loaded = engine, None, None

    def answer(self, request):
        op = request["op"]
        if op == "hash":
            return {"hash": self.last if isinstance(self.last, str) else digest(self.last)}
        self.last = None
        if op == "load":
            return self.load(request)
        if op == "write":
            return self.write(request)
        run = getattr(self.engine, {"arrow": "read", "aggregate": "aggregate", "group": "group", "distinct": "distinct",
                                    "sql": "sql"}[op])
        started = time.perf_counter()
        table = run(request)
        table = viewed(table) if op == "sql" else table
        seconds = time.perf_counter() - started
        if op == "aggregate":
            count, total, low, high = (column[0].as_py() for column in table.columns)
            self.last = " ".join(struct.pack(form, value).hex()
                                 for form, value in (("<Q", count), ("<q", total), ("<d", low), ("<d", high)))
            return {"seconds": seconds, "cells": 0, "bytes": 0}
        self.last = table
        return {"seconds": seconds, "cells": table.num_rows, "bytes": sum(map(size, table.columns))}

    def load(self, request):
        import pyarrow as pa
        columns = {}
        for column in request["columns"]:
            values = np.fromfile(column["data"], column["type"])
            if column["offsets"]:
                starts = np.append(np.fromfile(column["offsets"], np.int64), len(values))
                columns[column["name"]] = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(values))
            else:
                columns[column["name"]] = pa.array(values)
        arrow = pa.table(columns)
        pieces = request["pieces"]
        ends = [arrow.num_rows * piece // pieces for piece in range(pieces + 1)]
        self.loaded = [arrow.slice(low, high - low) for low, high in zip(ends, ends[1:])]
        return {"seconds": 0.0}

    def write(self, request):
        """Writes each loaded part as a file of its own; what turns Arrow into the engine's own tables is not timed."""
        folder, seconds = request["parquet"], 0.0
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for number, part in enumerate(self.loaded):
            table = self.engine.table(part)
            started = time.perf_counter()
            self.engine.write(table, "%s/%04d.parquet" % (folder, number), request["order"])
            seconds += time.perf_counter() - started
        return {"seconds": seconds}


def size(column):
    """Bytes of the values: strings with 8 bytes for each end."""
    import pyarrow as pa
    import pyarrow.compute as pc
    if column.type == pa.string_view():
        lengths = pc.binary_length(column.cast(pa.large_string()))
        return (pc.sum(lengths).as_py() or 0) + 8 * len(column)
    return column.type.bit_width // 8 * len(column)


def digest(table):
    """The digest of all rows, in any order."""
    import pyarrow as pa
    total = 0
    with np.errstate(over="ignore"):
        hashes = np.zeros(table.num_rows, np.uint64)
        for column in table.columns:
            if column.type == pa.string_view():
                text = column.cast(pa.large_string()).combine_chunks()
                text = text if isinstance(text, pa.Array) else pa.concat_arrays(text.chunks)
                _, starts, data = text.buffers()
                starts = np.frombuffer(starts, np.int64)[text.offset:text.offset + len(text) + 1]
                value = compare_peer.string_values(np.frombuffer(data or b"", np.uint8), starts)
            else:
                numbers = (column.fill_null(0) if column.null_count else column).to_numpy()
                value = numbers.view("u%d" % numbers.itemsize).astype(np.uint64)
            if column.null_count:
                value[column.is_null().to_numpy()] = NULL
            hashes = compare_peer.mix(hashes ^ value)
        total = int(hashes.sum(dtype=np.uint64))
    return "%016x" % total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True, choices=list(ENGINES))
    parser.add_argument("--threads", type=int, required=True)
    args = parser.parse_args()
    engine = ENGINES[args.engine](args.threads)
    side = Side(engine)
    print(json.dumps({"version": engine.version, "resident": compare_peer.status("VmRSS")}), flush=True)
    for line in sys.stdin:
        try:
            answer = side.answer(json.loads(line))
        except Exception as error:  # whatever an engine raises is the answer
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
