"""Answers in SQL, and the command that comes with them."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import tdb
from tdb import _tdb

has_sql = hasattr(_tdb, "Sql")
needs_sql = pytest.mark.skipif(not has_sql, reason="this build has no SQL: cargo xtask python --features sql")


@pytest.mark.skipif(has_sql, reason="this build has SQL")
def test_a_build_without_sql_says_how_to_get_it() -> None:
    with pytest.raises(tdb.UnsupportedError, match="released wheels have it.*--features sql"):
        tdb.sql("SELECT 1")
    told = command("--version")
    assert told.returncode == 1 and "has no command" in told.stderr and "cargo install tdb-cli" in told.stderr


def command(*words: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """The command, as the script that pip makes runs it."""
    program = [sys.executable, "-c", "from tdb._command import main; main()", *words]
    return subprocess.run(program, capture_output=True, text=True, **how)


def rows(result: tdb.SqlResult) -> list[tuple[Any, ...]]:
    table = pytest.importorskip("pyarrow").table(result)
    return list(zip(*(column.to_pylist() for column in table.columns)))


@pytest.fixture
def trips(uri: str) -> tdb.Array:
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("id", (0, 9_999), "int64", tile=100)],
        [tdb.Attribute("city", str), tdb.Attribute("price", "float64", nullable=True), tdb.Attribute("day", "datetime64[D]")],
    )
    array = tdb.create(uri, schema, at=1)
    day = np.datetime64("2024-03-01")
    array.write({"id": [1, 2, 3], "city": ["Oslo", "Bergen", "Oslo"], "price": [2.5, None, 4.0], "day": [day, day + np.timedelta64(1, "D"), day]}, at=10)
    array.write({"id": [4], "city": ["Bodø"], "price": [1.0], "day": [day]}, at=20)
    return tdb.open(uri)


@needs_sql
def test_places_and_names_are_tables(trips: tdb.Array) -> None:
    by_place = f"SELECT city, count(*) AS n, sum(price) FROM '{trips.uri}' GROUP BY city ORDER BY city"
    expected = [("Bergen", 1, None), ("Bodø", 1, 1.0), ("Oslo", 2, 6.5)]
    assert rows(tdb.sql(by_place)) == expected
    by_name = by_place.replace(f"'{trips.uri}'", "trips")
    assert rows(tdb.sql(by_name, trips=trips)) == rows(tdb.sql(by_name, tables={"trips": trips})) == expected
    # Days are dates in both.
    days = "SELECT count(*) FROM {} WHERE day >= DATE '2024-03-02'"
    assert rows(tdb.sql(days.format("t"), t=trips)) == rows(tdb.sql(days.format(f"'{trips.uri}'"))) == [(1,)]


@needs_sql
def test_arrays_are_seen_at_a_time(trips: tdb.Array) -> None:
    count = f"SELECT count(*) FROM '{trips.uri}'"
    assert rows(tdb.sql(count, at=15)) == [(3,)] and rows(tdb.sql(count)) == [(4,)]
    joined = "SELECT n.city FROM now n LEFT JOIN before b ON n.id = b.id WHERE b.id IS NULL"
    assert rows(tdb.sql(joined, now=trips, before=tdb.open(trips.uri, at=15))) == [("Bodø",)]
    with pytest.raises(tdb.Error, match="read-only|past"):
        tdb.sql(f"DELETE FROM '{trips.uri}' WHERE id = 1", at=15)


@needs_sql
def test_frames_and_other_answers_are_tables(trips: tdb.Array) -> None:
    pyarrow, pandas, polars = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    lands = {"city": ["Oslo", "Bodø"], "north": [59.9, 67.3]}
    query = "SELECT t.id, north FROM trips t JOIN places p ON t.city = p.city WHERE north > 60"
    for places in (pyarrow.table(lands), pandas.DataFrame(lands), polars.DataFrame(lands), pyarrow.record_batch(lands)):
        assert rows(tdb.sql(query, trips=trips, places=places)) == [(4, 67.3)]
    cheap = tdb.sql("SELECT * FROM trips WHERE price < 3", trips=trips)
    assert rows(tdb.sql("SELECT count(*) FROM cheap", cheap=cheap)) == [(2,)]
    assert rows(tdb.sql("SELECT max(id) FROM part", part=trips.read(where="city == 'Oslo'"))) == [(3,)]
    with pytest.raises(tdb.QueryError, match="t=dict: tables are arrays"):
        tdb.sql("SELECT 1", t={"a": [1]})
    with pytest.raises(tdb.Error):
        tdb.sql("INSERT INTO places VALUES ('Oslo', 1)", places=pyarrow.table(lands))


@needs_sql
def test_an_answer_is_a_table_of_every_package(trips: tdb.Array, uri: str) -> None:
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    found = tdb.sql("SELECT t.city, t.price, t.id, u.id FROM trips t JOIN trips u ON t.id = u.id ORDER BY t.id LIMIT 2", trips=trips)
    assert found.columns == ["city", "price", "id", "id~2"] and repr(found) == "<tdb.SqlResult city LargeUtf8, price Float64, id Int64, id~2 Int64>"
    for _ in range(2):
        assert found.to_arrow()["price"].to_pylist() == [2.5, None]
    assert found.to_polars().row(1) == ("Bergen", None, 2, 2)
    frame = found.to_pandas()
    assert frame["price"].isna().tolist() == [False, True] and str(frame["price"].dtype) == "Float64"
    assert str(frame["id"].dtype) == "int64" and frame["city"].tolist() == ["Oslo", "Bergen"]
    made = tdb.from_arrow(uri + "-made", tdb.sql("SELECT id, price FROM trips", trips=trips), [tdb.Dimension("id", (0, 9_999), "int64")])
    assert made.read().count() == 4
    empty = tdb.sql("SELECT * FROM trips WHERE id > 100", trips=trips)
    assert empty.to_arrow().num_rows == 0 and len(empty.columns) == 4
    assert polars.DataFrame(tdb.sql("SELECT * FROM trips", trips=trips)).height == pyarrow.table(tdb.sql("SELECT * FROM trips", trips=trips)).num_rows


@needs_sql
def test_statements_that_write_are_carried_out_once(trips: tdb.Array) -> None:
    inserted = tdb.sql(f"INSERT INTO '{trips.uri}' VALUES (7, 'Oslo', 9, DATE '2024-03-05')")
    assert rows(inserted) == rows(inserted) == [(1,)]
    assert rows(tdb.sql(f"UPDATE '{trips.uri}' SET price = 0 WHERE city = 'Oslo'; SELECT sum(price) FROM '{trips.uri}'")) == [(1.0,)]
    # An array with a name is read as it is open.
    assert rows(tdb.sql("SELECT count(*) FROM t", t=trips)) == [(4,)]
    with pytest.raises(tdb.Error):
        tdb.sql("DELETE FROM t WHERE id = 1", t=trips)


@needs_sql
def test_what_only_the_command_has_is_refused_by_name(trips: tdb.Array, uri: str) -> None:
    with pytest.raises(tdb.UnsupportedError, match="STORED AS TILEDB.*from_arrow"):
        tdb.sql(f"COPY (SELECT 1 AS a) TO '{uri}-x' STORED AS TILEDB")
    with pytest.raises(tdb.UnsupportedError, match="tdb rm"):
        tdb.sql(f"DROP TABLE '{trips.uri}'")
    with pytest.raises(tdb.QueryError, match="gone at its end"):
        tdb.sql("CREATE TABLE t AS SELECT 1 AS a")
    assert rows(tdb.sql("CREATE TABLE t AS SELECT 1 AS a; SELECT a + 1 FROM t")) == [(2,)]
    assert [row[0] for row in rows(tdb.sql(f"SUMMARIZE '{trips.uri}'"))] == ["id", "city", "price", "day"]


@needs_sql
def test_errors_say_what_is_wrong_and_where(trips: tdb.Array, tmp_path: pathlib.Path) -> None:
    with pytest.raises(tdb.QueryError, match="citty") as caught:
        tdb.sql("SELECT citty\nFROM trips", trips=trips)
    assert "\n  SELECT citty\n         ^" in str(caught.value)
    with pytest.raises(tdb.QueryError, match="there is no table of this name"):
        tdb.sql("SELECT * FROM nowhere")
    with pytest.raises(tdb.Error, match="nowhere/at/all"):
        tdb.sql(f"SELECT * FROM '{tmp_path}/nowhere/at/all'")
    with pytest.raises(tdb.QueryError, match="memory"):
        tdb.sql("SELECT 1", memory="a lot")
    with pytest.raises(tdb.QueryError, match="one thread at least"):
        tdb.sql("SELECT 1", threads=0)
    for data in pathlib.Path(trips.uri).glob("__fragments/*/a1.tdb"):
        data.write_bytes(b"\xff" * data.stat().st_size)
    with pytest.raises(tdb.CorruptError, match="a1.tdb"):
        tdb.sql("SELECT sum(price + id) FROM t", t=tdb.open(trips.uri)).to_arrow()


@needs_sql
def test_keys_are_those_of_places(uri: str) -> None:
    key = "00112233445566778899aabbccddeeff" * 2
    array = tdb.create(uri, tdb.Schema("sparse", [tdb.Dimension("x", (0, 9), "int64")], [tdb.Attribute("a", "int32")]), key=key)
    array.write({"x": [1, 2], "a": np.array([3, 4], np.int32)})
    assert rows(tdb.sql(f"SELECT sum(a) FROM '{uri}'", key=key)) == [(7,)]
    with pytest.raises(tdb.Error):
        tdb.sql(f"SELECT sum(a) FROM '{uri}'")


@needs_sql
def test_memory_is_a_limit_and_sorts_use_temporary_files(uri: str) -> None:
    array = tdb.from_numpy(uri, np.random.default_rng(3).permutation(400_000))
    query = "SELECT a FROM t ORDER BY a"
    found = tdb.sql(query, t=array, memory="24MB", threads=2).to_arrow()["a"]
    assert found[0].as_py() == 0 and found[-1].as_py() == 399_999
    with pytest.raises(tdb.QueryError, match="memory= sets the limit"):
        tdb.sql("SELECT array_agg(a) FROM t", t=array, memory="1MB").to_arrow()


#: A join that takes minutes.
SLOW = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b WHERE a.value * 7 = b.value - 3 OR a.value % 3 = b.value % 1000"


@needs_sql
def test_an_interrupt_ends_a_query_within_a_second() -> None:
    code = f"""
import sys, tdb
result = tdb.sql({SLOW!r})
print("begun", flush=True)
try:
    result.show()
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(tdb.sql("SELECT 1 AS one").columns)
"""
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None and program.stdout.readline() == "begun\n"
    time.sleep(1)
    asked = time.monotonic()
    program.send_signal(signal.SIGINT)
    assert program.stdout.readline() == "interrupted\n"
    took = time.monotonic() - asked
    out, errors = program.communicate(timeout=30)
    assert (out, program.returncode) == ("['one']\n", 0), errors
    assert took < 1.5


@needs_sql
def test_other_threads_run_while_a_query_does(trips: tdb.Array) -> None:
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    rows(tdb.sql("SELECT count(*) FROM generate_series(1, 3000000) a JOIN generate_series(1, 3000000) b ON a.value = b.value"))
    over.set()
    other.join()
    assert counted > 20


@needs_sql
def test_the_command_reads_writes_and_answers(tmp_path: pathlib.Path) -> None:
    version = command("--version")
    assert version.returncode == 0 and version.stdout.startswith(f"tdb {tdb.__version__}")
    (tmp_path / "trips.csv").write_text("id,city,price\n1,Oslo,2.5\n2,Bergen,\n3,Oslo,4\n")
    made = command("import", "trips", "trips.csv", "--dims", "id", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    answer = command("sql", "SELECT city, sum(price) AS s FROM 'trips' GROUP BY city ORDER BY city", cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (0, "city,s\nBergen,\nOslo,6.5\n"), answer.stderr
    assert tdb.open(tmp_path / "trips").read().count() == 3


@needs_sql
def test_the_command_has_its_exit_codes_and_its_end_of_output(tmp_path: pathlib.Path) -> None:
    assert command("info", str(tmp_path / "nothing")).returncode == 1
    wrong = command("no-such-command")
    assert wrong.returncode == 2 and "Usage: tdb" in wrong.stderr
    # A reader that has seen enough is no failure.
    program = [sys.executable, "-c", "from tdb._command import main; main()", "sql", "SELECT * FROM generate_series(1, 3000000)"]
    writing = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert writing.stdout is not None and writing.stderr is not None
    assert writing.stdout.readline() == b"value\n"
    writing.stdout.close()
    assert (writing.wait(60), writing.stderr.read()) == (0, b"")
    writing.stderr.close()


@needs_sql
@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of Unix")
def test_an_interrupt_ends_the_command_as_the_system_does() -> None:
    program = [sys.executable, "-c", "from tdb._command import main; main()", "sql", SLOW]
    running = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    asked = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=30)
    assert running.returncode == -signal.SIGINT and time.monotonic() - asked < 1.5
    assert "Traceback" not in errors and out == ""
