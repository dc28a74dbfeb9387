//! The least and the greatest values are those of all rows: of several expressions, of infinities
//! and NaN.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a panic is a failure"
)]

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::prelude::{SessionConfig, SessionContext};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_datafusion::{TableOptions, register};

/// A session with an array `t` of 400 cells in tiles of 5: `x` from 1, `a` which falls, `k` of four
/// groups, and reals.
fn session(partitions: usize) -> SessionContext {
    let one = |name, datatype| Attribute::new(name, datatype, CellValNum::ONE);
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 1i64..=1000))
        .attribute(one("a", Datatype::Int64))
        .attribute(one("k", Datatype::Int64))
        .attribute(one("r", Datatype::Float64))
        .attribute(one("s", Datatype::Float32))
        .capacity(5)
        .build()
        .unwrap();
    let x: Vec<i64> = (1..=400).collect();
    let a: Vec<i64> = x.iter().map(|x| 1000 - x).collect();
    let k: Vec<i64> = x.iter().map(|x| x % 4).collect();
    let r: Vec<f64> = k
        .iter()
        .map(|k| [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.5][usize::try_from(*k).unwrap()])
        .collect();
    let s: Vec<f32> = x.iter().map(|x| if x % 8 == 3 { f32::INFINITY } else { f32::NEG_INFINITY }).collect();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().open_storage(Arc::new(storage.clone())).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &a));
    let write = write.column(WriteColumn::fixed("k", &k)).column(WriteColumn::fixed("r", &r));
    write.column(WriteColumn::fixed("s", &s)).commit().unwrap();
    let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(16);
    let session = SessionContext::new_with_config(config);
    register(&session);
    session.register_table("t", Arc::new(TableOptions::new().open_storage(storage).unwrap())).unwrap();
    session
}

/// The rows of a query, their values as text.
async fn rows(session: &SessionContext, sql: &str) -> Vec<String> {
    let frame = session.sql(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let batches = frame.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let row = |batch: &datafusion::arrow::array::RecordBatch, row: usize| {
        let values = batch.columns().iter().map(|column| array_value_to_string(column, row).unwrap());
        values.collect::<Vec<_>>().join(" ")
    };
    let mut rows: Vec<String> =
        batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at))).collect();
    rows.sort();
    rows
}

#[tokio::test]
async fn an_extreme_of_an_expression_is_that_of_all_rows_beside_one_of_a_column() {
    for partitions in [1, 2, 4] {
        let session = session(partitions);
        for (sql, expected) in [
            // The greatest x is in the first rows of some parts, and the least of the others in the
            // last.
            ("SELECT max(a), min(a - x) FROM t WHERE k >= 0", "999 200"),
            ("SELECT min(x), max(x + a), max(-x) FROM t WHERE k >= 0", "1 1000 -1"),
            ("SELECT max(a), min(CAST(a AS SMALLINT)) FROM t WHERE k >= 0", "999 600"),
            ("SELECT max(x), min(-x) FROM t WHERE k >= 0", "400 -400"),
            ("SELECT max(a), min(x) FROM t WHERE k >= 0", "999 1"),
        ] {
            assert_eq!(rows(&session, sql).await, [expected], "{sql} in {partitions} partitions");
        }
    }
}

#[tokio::test]
async fn groups_of_reals_have_infinities_and_nan_as_extremes() {
    for partitions in [1, 3] {
        let session = session(partitions);
        // In SQL, NaN is greater than all numbers.
        let expected = ["0 inf inf", "1 -inf -inf", "2 NaN NaN", "3 1.5 1.5"];
        for table in ["t", "(SELECT k, r + 0.0 AS r FROM t) AS u"] {
            let sql = format!("SELECT k, min(r), max(r) FROM {table} GROUP BY k");
            assert_eq!(rows(&session, &sql).await, expected, "{sql} in {partitions} partitions");
        }
        let sql = "SELECT k % 2 AS two, min(s), max(s) FROM t GROUP BY k % 2";
        assert_eq!(rows(&session, sql).await, ["0 -inf -inf", "1 -inf inf"]);
        let sql = "SELECT min(r), max(r), max(s), max(r) FILTER (WHERE k = 3) FROM t";
        assert_eq!(rows(&session, sql).await, ["-inf NaN inf 1.5"]);
        let sql = "SELECT x % 3 AS m, max(r) FILTER (WHERE k = 3) FROM t WHERE x < 0 OR k = 1 GROUP BY x % 3";
        assert_eq!(rows(&session, sql).await, ["0 ", "1 ", "2 "], "no value is null");
    }
}

#[tokio::test]
async fn columns_of_extremes_are_called_as_always() {
    let session = session(1);
    let frame = session.sql("SELECT min(r), max(x + 1) FROM t").await.unwrap();
    let names: Vec<String> = frame.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["min(t.r)", "max(t.x + Int64(1))"]);
    let plan = session.sql("EXPLAIN SELECT min(r), max(s) FROM t").await.unwrap().collect().await.unwrap();
    let text: String =
        plan.iter().flat_map(|batch| batch.column(1).as_string::<i32>().iter().flatten()).collect();
    assert!(text.contains("TdbAggregateExec"), "{text}");
}

#[tokio::test]
async fn zeros_of_both_signs_are_counted_once() {
    for partitions in [1, 3] {
        let session = session(partitions);
        for (sql, expected) in [
            ("SELECT count(DISTINCT r * 0) FROM t WHERE k = 3", "1"),
            ("SELECT count(DISTINCT (x % 2 * 2 - 1) * 0e0) FROM t", "1"),
            ("SELECT count(DISTINCT z) FROM (SELECT (x % 2 * 2 - 1) * 0e0 AS z FROM t) AS u", "1"),
            ("SELECT count(DISTINCT (x % 2 * 2 - 1) * 0e0) FILTER (WHERE k = 1) FROM t", "1"),
            (
                "SELECT count(DISTINCT z), count(*) FROM (SELECT (x % 2 * 2 - 1) * 0e0 AS z FROM t) AS u",
                "1 400",
            ),
            ("SELECT count(DISTINCT (x % 2 * 2 - 1) * CAST(0 AS REAL)), max(x) FROM t", "1 400"),
        ] {
            assert_eq!(rows(&session, sql).await, [expected], "{sql} in {partitions} partitions");
        }
        let sql = "SELECT x % 2 AS m, count(DISTINCT (k - 2) * 0e0) FROM t GROUP BY x % 2";
        assert_eq!(rows(&session, sql).await, ["0 1", "1 1"]);
        let both = "(SELECT k, x, CASE WHEN x % 2 = 0 THEN 0e0 ELSE -0e0 END AS z FROM t) AS u";
        for asked in ["count(DISTINCT z)", "count(DISTINCT z + (1 - 1))", "count(DISTINCT z * 2), max(z * 2)"]
        {
            let sql = format!("SELECT {asked} FROM {both}");
            assert!(rows(&session, &sql).await[0].starts_with('1'), "{sql} in {partitions} partitions");
            let sql = format!("SELECT {asked}, k, max(x) AS x FROM {both} GROUP BY k, k");
            assert!(rows(&session, &sql).await.iter().all(|row| row.starts_with("1 ")), "{sql}");
        }
        let sql = "SELECT count(DISTINCT r), count(*) + count(DISTINCT s) AS n FROM t";
        let frame = session.sql(sql).await.unwrap();
        assert_eq!(frame.schema().field(0).name(), "count(DISTINCT t.r)");
        assert_eq!(rows(&session, sql).await, ["4 402"]);
        // A single count of different values is made of groups, which arrays can make themselves.
        let plan =
            session.sql("EXPLAIN SELECT count(DISTINCT r) FROM t").await.unwrap().collect().await.unwrap();
        let text: String =
            plan.iter().flat_map(|batch| batch.column(1).as_string::<i32>().iter().flatten()).collect();
        assert!(text.contains("TdbGroupsExec"), "{text}");
    }
}
