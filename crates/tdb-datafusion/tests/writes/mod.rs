//! INSERT, REPLACE and UPDATE: rows that arrays number, arrays that grow, and cells that are written
//! again.

use std::sync::Arc;

use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, CurrentDomain, Datatype, Dimension, Range};
use tdb_array::storage::MemoryStorage;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_datafusion::{TableOptions, TdbTable, register};

use crate::common::{self, ask};

/// A session with a table, which knows the rules of arrays.
fn with(storage: &MemoryStorage, memory: Option<usize>) -> (SessionContext, Arc<TdbTable>) {
    let config = SessionConfig::new().with_target_partitions(3);
    let session = match memory {
        Some(bytes) => {
            let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0).build_arc().unwrap();
            SessionContext::new_with_config_rt(config, runtime)
        }
        None => SessionContext::new_with_config(config),
    };
    register(&session);
    let table = Arc::new(TableOptions::new().open_storage(storage.clone()).unwrap());
    session.register_table("t", table.clone()).unwrap();
    (session, table)
}

/// The error of a statement.
async fn refused(session: &SessionContext, sql: &str) -> String {
    let planned = match session.sql(sql).await {
        Ok(frame) => frame.collect().await.map(|_| ()),
        Err(error) => Err(error),
    };
    planned.map_or_else(|error| error.to_string(), |()| "nothing was refused".to_owned())
}

/// An array that numbers rows, as an import makes it.
fn numbered() -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .allow_duplicates()
        .dimension(Dimension::new("row", 0u64..=u64::MAX - 1))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .current_domain(vec![Range::new(0u64.to_le_bytes(), 0u64.to_le_bytes())])
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    storage
}

fn current(table: &TdbTable) -> Vec<Range> {
    table.array().schema().current_domain.clone().map(|CurrentDomain { ranges, .. }| ranges).unwrap()
}

#[tokio::test]
async fn rows_without_a_number_get_the_next_ones_and_the_current_domain_grows() {
    let storage = numbered();
    let (session, table) = with(&storage, None);
    assert_eq!(ask(&session, "INSERT INTO t (a) VALUES (7), (8)").await, ["2"]);
    assert_eq!(ask(&session, "INSERT INTO t (a) VALUES (9)").await, ["1"]);
    assert_eq!(ask(&session, "INSERT INTO t VALUES (NULL, 10), (20, 11)").await, ["2"]);
    assert_eq!(ask(&session, "INSERT INTO t (a) SELECT a + 10 FROM t WHERE a = 7").await, ["1"]);
    let rows = ask(&session, "SELECT * FROM t ORDER BY row").await;
    assert_eq!(rows, ["0 | 7", "1 | 8", "2 | 9", "3 | 10", "20 | 11", "21 | 17"]);
    assert_eq!(current(&table), [Range::new(0u64.to_le_bytes(), 21u64.to_le_bytes())]);
    let why = refused(&session, "INSERT INTO t (row) VALUES (30)").await;
    assert!(why.contains("row 1 has no value for the column a, which cannot be null"), "{why}");
    assert_eq!(current(&table)[0].high, 21u64.to_le_bytes(), "nothing grows for rows that are refused");
    assert_eq!(ask(&session, "INSERT INTO t (a) SELECT a FROM t WHERE a < 0").await, ["0"]);
}

#[tokio::test]
async fn rows_that_do_not_fit_the_memory_wait_on_disk() {
    let storage = numbered();
    let (session, _) = with(&storage, Some(4 << 20));
    let rows = "INSERT INTO t (a) SELECT value * 3 FROM generate_series(0, 299999)";
    assert_eq!(ask(&session, rows).await, ["300000"]);
    let (session, _) = with(&storage, None);
    let sums = ask(&session, "SELECT count(*), count(DISTINCT row), max(row), sum(a) FROM t").await;
    assert_eq!(sums, ["300000 | 300000 | 299999 | 134999550000"]);
}

/// Statements that fail, each with a part of what is said.
async fn all_refused(session: &SessionContext, statements: &[(&str, &str)]) {
    for (sql, part) in statements {
        let why = refused(session, sql).await;
        assert!(why.contains(part), "{sql}: {why}");
    }
}

/// A sparse array of numbers with a nullable text.
fn sparse() -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=999))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringUtf8, CellValNum::Var).with_nulls())
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    storage
}

#[tokio::test]
async fn an_update_writes_cells_again_at_one_time_and_keeps_what_is_not_set() {
    let storage = sparse();
    let (session, table) = with(&storage, None);
    let rows = "INSERT INTO t SELECT value, value * 2, CASE WHEN value % 2 = 0 THEN 'even' END FROM generate_series(0, 9)";
    ask(&session, rows).await;
    let before = table.array().fragments().len();
    assert_eq!(ask(&session, "UPDATE t SET a = a + x, s = 'odd' WHERE s IS NULL AND x < 8").await, ["4"]);
    assert_eq!(table.array().fragments().len(), before + 1, "one fragment");
    let rows = ask(&session, "SELECT * FROM t WHERE x < 4 OR x = 9 ORDER BY x").await;
    assert_eq!(rows, ["0 | 0 | even", "1 | 3 | odd", "2 | 4 | even", "3 | 9 | odd", "9 | 18 | NULL"]);
    // Conditions and values may have queries, and names may be aliases.
    let sql =
        "UPDATE t AS own SET a = (SELECT max(a) FROM t) WHERE own.x IN (SELECT x + 1 FROM t WHERE a = 0)";
    assert_eq!(ask(&session, sql).await, ["1"]);
    assert_eq!(ask(&session, "SELECT a FROM t WHERE x = 1").await, ["21"]);
    assert_eq!(ask(&session, "UPDATE t SET s = NULL").await, ["10"]);
    assert_eq!(ask(&session, "SELECT count(s), count(*) FROM t").await, ["0 | 10"]);
    assert_eq!(ask(&session, "UPDATE t SET a = 1 WHERE x > 100").await, ["0"]);
    all_refused(
        &session,
        &[
            ("UPDATE t SET x = x + 1", "SET x: the coordinates of a cell cannot change"),
            ("UPDATE t SET a = 1.5 WHERE x = 1", "1.5 (Float64) cannot be stored in the column a (Int32)"),
            ("UPDATE t SET a = 3000000000", "cannot be stored in the column a"),
            ("UPDATE t SET a = NULL WHERE x = 2", "no value for the column a, which cannot be null"),
            ("UPDATE t SET a = 1 FROM t AS u", "FROM"),
        ],
    )
    .await;
    assert_eq!(ask(&session, "SELECT a FROM t WHERE x IN (1, 2) ORDER BY x").await, ["21", "4"]);
    let plain = SessionContext::new();
    plain.register_table("t", table).unwrap();
    let why = refused(&plain, "UPDATE t SET a = 1").await;
    assert!(why.contains("tdb_datafusion::register"), "{why}");
    let (session, _) = with(&numbered(), None);
    let why = refused(&session, "UPDATE t SET a = 1").await;
    assert!(why.contains("allows duplicates"), "{why}");
}

/// A dense array of rows and columns, of which a box was written.
fn dense() -> MemoryStorage {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("y", 1i64..=40).with_tile(4i64))
        .dimension(Dimension::new("x", 0i64..=29).with_tile(7i64))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringUtf8, CellValNum::Var).with_nulls())
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
    let numbers: Vec<i32> = (0..300).collect();
    let (texts, offsets): (Vec<u8>, Vec<u64>) = (b"x".repeat(300), (0..=300).collect());
    let write = writer.write().range("y", 11i64..=20).range("x", 0i64..=29);
    let text = WriteColumn::var("s", &texts, &offsets).nullable(&[1; 300]);
    write.column(WriteColumn::fixed("a", &numbers)).column(text).commit().unwrap();
    storage
}

#[tokio::test]
async fn an_update_of_a_dense_array_writes_the_box_around_its_rows() {
    let storage = dense();
    let (session, table) = with(&storage, None);
    let model = |changed: &dyn Fn(i32, i32) -> Option<String>| {
        let mut rows = Vec::new();
        for (y, x) in (11..=20).flat_map(|y| (0..30).map(move |x| (y, x))) {
            let plain = format!("{y} | {x} | {} | x", (y - 11) * 30 + x);
            rows.push(changed(y, x).unwrap_or(plain));
        }
        rows
    };
    let all = "SELECT * FROM t ORDER BY y, x";
    let sql = "UPDATE t SET a = -a, s = CASE WHEN x % 2 = 0 THEN NULL ELSE 'new' END WHERE (y, x) IN ((12, 29), (13, 0), (15, 6), (15, 7))";
    assert_eq!(ask(&session, sql).await, ["4"]);
    let changed = |y: i32, x: i32| {
        let text = if x % 2 == 0 { "NULL" } else { "new" };
        [(12, 29), (13, 0), (15, 6), (15, 7)]
            .contains(&(y, x))
            .then(|| format!("{y} | {x} | {} | {text}", -((y - 11) * 30 + x)))
    };
    assert_eq!(ask(&session, all).await, model(&changed));
    assert_eq!(table.array().fragments().len(), 2, "one fragment more");
    // Rows of the whole array, in several batches.
    assert_eq!(ask(&session, "UPDATE t SET a = y * 100 + x WHERE x < 25").await, ["250"]);
    assert_eq!(ask(&session, "SELECT sum(a - y * 100 - x) FROM t WHERE x < 25").await, ["0"]);
    assert_eq!(ask(&session, "SELECT count(*) FROM t WHERE x >= 25 AND s = 'x'").await, ["49"]);
    // Rows may come from anywhere.
    let sql = "REPLACE INTO t VALUES (14, 3, 5, 'five'), (11, 2, 5, 'five'), (11, 1, 5, 'five')";
    assert_eq!(ask(&session, sql).await, ["3"]);
    assert_eq!(
        ask(&session, "SELECT y, x FROM t WHERE a = 5 ORDER BY y, x").await,
        ["11 | 1", "11 | 2", "14 | 3"]
    );
    all_refused(
        &session,
        &[
            ("UPDATE t SET y = 1", "SET y"),
            ("REPLACE INTO t VALUES (11, 1, 1, 'a'), (11, 1, 2, 'b')", "two rows have the same coordinates"),
            ("REPLACE INTO t VALUES (41, 1, 1, 'a')", "outside of the domain"),
            ("INSERT INTO t VALUES (11, 1, 1, 'a')", "INSERT INTO a dense array"),
        ],
    )
    .await;
    assert_eq!(common::cells(&table.array()).num_rows(), 300);
}
