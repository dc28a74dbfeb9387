"""Arrays as tables of the package `datafusion`."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import tdb
from tdb import _tdb


def test_a_build_without_datafusion_says_what_to_do(fixtures: pathlib.Path) -> None:
    if hasattr(_tdb, "Table"):
        pytest.skip("this build has DataFusion")
    with pytest.raises(tdb.UnsupportedError, match="--features datafusion"):
        tdb.datafusion(tdb.open(fixtures / "quickstart"))


@pytest.fixture
def session() -> Any:
    if not hasattr(_tdb, "Table"):
        pytest.skip("this build has no DataFusion: cargo xtask python --features datafusion")
    return pytest.importorskip("datafusion").SessionContext()


def rows(session: Any, text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = session.sql(text).to_pylist()
    return found


def plan(session: Any, text: str) -> str:
    return "\n".join(str(row["plan"]) for row in rows(session, f"EXPLAIN {text}"))


def test_sql_has_the_cells_of_a_dense_array(session: Any, fixtures: pathlib.Path) -> None:
    session.register_table("q", tdb.datafusion(tdb.open(fixtures / "quickstart")))
    assert rows(session, "SELECT count(*) AS n, sum(a) AS s FROM q") == [{"n": 16, "s": 136}]
    assert rows(session, "SELECT a FROM q WHERE rows = 2 AND cols BETWEEN 2 AND 3 ORDER BY a") == [{"a": 6}, {"a": 7}]


def test_conditions_are_part_of_the_read_of_a_sparse_array(session: Any, uri: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.permutation(10_000)
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("x", (0, 9_999), "int64", tile=100)],
        [tdb.Attribute("v", "float64", nullable=True), tdb.Attribute("s", str)],
        capacity=100,
    )
    values = np.ma.MaskedArray(x / 7.0, x % 11 == 0)
    array = tdb.create(uri, schema)
    array.write({"x": x, "v": values, "s": [f"{one % 13}" for one in x]})
    session.register_table("t", tdb.datafusion(array))
    chosen = [one for one in range(500, 701) if one % 11 and one / 7.0 > 80 and f"{one % 13}" == "5"]
    question = "SELECT x FROM t WHERE x BETWEEN 500 AND 700 AND v > 80 AND s = '5' ORDER BY x"
    assert [row["x"] for row in rows(session, question)] == chosen
    assert "FilterExec" not in plan(session, "SELECT x FROM t WHERE x BETWEEN 500 AND 700 AND s = '5'")
    # What only DataFusion knows is left to it.
    assert rows(session, "SELECT count(*) AS n FROM t WHERE length(s) = 2") == [{"n": sum(one % 13 > 9 for one in range(10_000))}]
    # The function is none of ours, and nothing knows it but the session.
    datafusion = pytest.importorskip("datafusion")
    pyarrow = pytest.importorskip("pyarrow")
    own = datafusion.udf(lambda column: pyarrow.compute.equal(column, "3"), [pyarrow.string()], pyarrow.bool_(), "volatile", "is_three")
    session.register_udf(own)
    assert rows(session, "SELECT count(*) AS n FROM t WHERE is_three(s)") == [{"n": sum(one % 13 == 3 for one in range(10_000))}]


def test_a_table_shows_the_array_as_it_is_open(session: Any, uri: str) -> None:
    schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 99), "int64", tile=10)], [tdb.Attribute("a", "int32")])
    array = tdb.create(uri, schema, at=1)
    array.write({"x": np.array([1, 2]), "a": np.array([10, 20], np.int32)}, at=10)
    array.write({"x": np.array([3]), "a": np.array([30], np.int32)}, at=20)
    session.register_table("before", tdb.datafusion(tdb.open(uri, at=15)))
    session.register_table("now", tdb.datafusion(tdb.open(uri)))
    assert rows(session, "SELECT sum(a) AS s FROM before") == [{"s": 30}]
    joined = rows(session, "SELECT n.x FROM now n LEFT JOIN before b ON n.x = b.x WHERE b.x IS NULL")
    assert joined == [{"x": 3}]


def test_errors_of_the_read_are_errors_of_the_query(session: Any, uri: str) -> None:
    schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 99), "int64", tile=10)], [tdb.Attribute("a", "int32", filters="zstd")])
    array = tdb.create(uri, schema)
    array.write({"x": np.array([1, 2]), "a": np.array([10, 20], np.int32)})
    session.register_table("t", tdb.datafusion(tdb.open(uri)))
    (data,) = pathlib.Path(uri).glob("__fragments/*/a0.tdb")
    data.write_bytes(b"\xff" * len(data.read_bytes()))
    with pytest.raises(Exception, match="a0.tdb"):
        rows(session, "SELECT sum(a + x) AS s FROM t")
