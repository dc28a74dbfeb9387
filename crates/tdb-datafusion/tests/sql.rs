//! What is pushed down to the read, what plans show, and SQL statements other than queries.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

mod common;

use std::sync::Arc;

use common::{ask, fixture};
use datafusion::datasource::MemTable;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use tdb_array::schema::{Attribute, Dimension};
use tdb_array::{ArraySchema, CellValNum, Datatype, MemoryStorage, WriteColumn, WriteOptions};
use tdb_datafusion::{TableOptions, TdbTable, register};

fn session(partitions: usize) -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions))
}

fn with(session: SessionContext, name: &str, table: TdbTable) -> (SessionContext, Arc<TdbTable>) {
    let table = Arc::new(table);
    session.register_table(name, table.clone()).unwrap();
    (session, table)
}

fn stored(storage: &MemoryStorage) -> TdbTable {
    TableOptions::new().open_storage(storage.clone()).unwrap()
}

async fn explain(session: &SessionContext, sql: &str) -> String {
    ask(session, &format!("EXPLAIN FORMAT INDENT {sql}")).await.join("\n")
}

/// A sparse array of numbers with several tiles.
fn numbers(count: i64) -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=1_000_000).with_tile(1000i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("b", Datatype::Float64, CellValNum::ONE))
        .capacity(100)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let xs: Vec<i64> = (0..count).collect();
    let bs: Vec<f64> = xs.iter().map(|x| *x as f64 / 2.0).collect();
    let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &xs)).column(WriteColumn::fixed("a", &xs));
    write.column(WriteColumn::fixed("b", &bs)).commit().unwrap();
    storage
}

#[tokio::test]
async fn a_plan_shows_ranges_condition_fragments_tiles_and_limit() {
    let (session, _) = with(session(1), "t", stored(&numbers(10_000)));
    let sql = "SELECT a FROM t WHERE x BETWEEN 250 AND 449 AND a <> 300 AND b >= 1 AND b < 1000";
    let shown = explain(&session, sql).await;
    for part in ["fields=[a", "ranges=[x in 250..=449]", "a != 300", "fragments=1 of 1", "FilterExec: b"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.contains("b >= 1"), "{shown}");
    let shown = explain(&session, "SELECT a FROM t WHERE x >= 250 LIMIT 5").await;
    assert!(shown.contains("limit=5") && !shown.contains("FilterExec"), "{shown}");
    let shown = explain(&session, "SELECT a FROM t WHERE b > 10").await;
    assert!(shown.contains("FilterExec") && !shown.contains("condition="), "NaN is larger than 10: {shown}");
    let shown = explain(&session, "SELECT a FROM t WHERE x > 5 AND x < 5").await;
    assert!(!shown.contains("fragments=1"), "{shown}");
}

#[tokio::test]
async fn ranges_columns_and_limits_reach_the_read() {
    let (session, table) = with(session(1), "t", stored(&numbers(100_000)));
    let cost = async |sql: &str| {
        let before = table.array().stats();
        let rows = ask(&session, sql).await.len();
        (rows, table.array().stats().since(&before))
    };
    let (_, all) = cost("SELECT x, a, b FROM t").await;
    let (rows, column) = cost("SELECT a FROM t").await;
    assert!(rows == 100_000 && column.bytes_decoded * 2 < all.bytes_decoded, "{column:?} of {all:?}");
    let (rows, range) = cost("SELECT a FROM t WHERE x < 150").await;
    assert!(rows == 150 && range.tiles <= 4, "{range:?}");
    let (rows, limit) = cost("SELECT x, a, b FROM t LIMIT 7").await;
    assert!(rows == 7 && limit.tiles * 5 < all.tiles, "{limit:?} of {all:?}");
    let (rows, condition) = cost("SELECT b FROM t WHERE a = 777").await;
    assert!(rows == 1 && condition.tiles <= 4, "{condition:?}");
}

#[tokio::test]
async fn rows_are_counted_by_metadata_only_where_these_are_exact() {
    let (session, _) = with(session(2), "t", stored(&numbers(1000)));
    let shown = explain(&session, "SELECT count(*) FROM t").await;
    assert!(!shown.contains("TdbExec"), "{shown}");
    assert_eq!(ask(&session, "SELECT count(*) FROM t").await, ["1000"]);
    assert_eq!(ask(&session, "SELECT count(*) FROM t WHERE x < 10 AND a <> 3").await, ["9"]);
    let (session, table) = with(session, "history", stored(&common::sparse()));
    let shown = explain(&session, "SELECT count(*) FROM history").await;
    assert!(shown.contains("TdbExec"), "versions and deletes: {shown}");
    let cells = table.array().read().collect().unwrap().len();
    assert_eq!(ask(&session, "SELECT count(*) FROM history").await, [cells.to_string()]);
}

#[tokio::test]
async fn dense_rows_come_in_the_order_of_their_dimensions_without_a_sort() {
    let (session, _) = with(session(3), "q", TdbTable::open(fixture("quickstart")).unwrap());
    let shown = explain(&session, "SELECT * FROM q ORDER BY rows, cols").await;
    assert!(!shown.contains("SortExec"), "{shown}");
    let rows = ask(&session, "SELECT rows, cols, a FROM q WHERE cols IN (4, 1) ORDER BY rows, cols").await;
    let expected = ["1 | 1 | 1", "1 | 4 | 4", "2 | 1 | 5", "2 | 4 | 8", "3 | 1 | 9", "3 | 4 | 12"];
    assert_eq!(rows[..6], expected);
    let shown = explain(&session, "SELECT * FROM q ORDER BY cols").await;
    assert!(shown.contains("SortExec"), "{shown}");
    assert_eq!(
        ask(&session, "SELECT min(rows), max(cols), count(*) FROM q WHERE rows > 1").await,
        ["2 | 4 | 12"]
    );
}

#[tokio::test]
async fn sparse_rows_are_read_in_the_order_of_their_dimensions_where_a_query_wants_it() {
    let (session, _) = with(session(3), "t", stored(&common::sparse()));
    let memory = common::cells(&stored(&common::sparse()).array());
    let memory = MemTable::try_new(memory.schema(), vec![vec![memory]]).unwrap();
    session.register_table("memory", Arc::new(memory)).unwrap();
    let sql = |table: &str, rest: &str| format!("SELECT x FROM {table} WHERE small > 40 ORDER BY x {rest}");
    let shown = explain(&session, &sql("t", "")).await;
    assert!(!shown.contains("SortExec") && shown.contains("order=row-major"), "{shown}");
    for rest in ["", "LIMIT 7", "LIMIT 20 OFFSET 30"] {
        assert_eq!(ask(&session, &sql("t", rest)).await, ask(&session, &sql("memory", rest)).await);
    }
    for rest in ["DESC", ", y"] {
        let shown = explain(&session, &sql("t", rest)).await;
        assert!(shown.contains("SortExec"), "{rest}: {shown}");
    }
}

#[tokio::test]
async fn a_limit_of_several_partitions_is_that_of_all_of_them() {
    let config = SessionConfig::new().with_target_partitions(4).with_batch_size(16);
    let (session, _) = with(SessionContext::new_with_config(config), "t", stored(&numbers(10_000)));
    assert_eq!(ask(&session, "SELECT x FROM t LIMIT 50").await.len(), 50);
    assert_eq!(
        ask(&session, "SELECT count(*) FROM (SELECT x FROM t WHERE a > 3 LIMIT 5000)").await,
        ["5000"]
    );
    assert!(explain(&session, "SELECT x FROM t LIMIT 50").await.contains("partitions=4"));
    assert!(explain(&session, "SELECT x FROM t LIMIT 5").await.contains("partitions=1"));
}

#[tokio::test]
async fn inserted_rows_count_as_a_whole_or_not_at_all() {
    let (session, table) = with(session(1), "t", stored(&numbers(3)));
    let begun =
        session.sql("SELECT l.x FROM t AS l JOIN t AS r ON l.x = r.x WHERE l.b < 99 AND l.b >= 0").await;
    let begun = begun.unwrap().create_physical_plan().await.unwrap();
    assert_eq!(ask(&session, "INSERT INTO t VALUES (10, 5, 0.5), (2, 6, 1.5)").await, ["2"]);
    let rows = ask(&session, "SELECT * FROM t ORDER BY x").await;
    assert_eq!(rows, ["0 | 0 | 0.0", "1 | 1 | 0.5", "2 | 6 | 1.5", "10 | 5 | 0.5"]);
    let found = datafusion::physical_plan::collect(begun, session.task_ctx()).await.unwrap();
    assert_eq!(common::rows(&found).len(), 3, "a plan reads the state that it was made for");
    let outside =
        session.sql("INSERT INTO t VALUES (20, 1, 1.0), (-5, 1, 1.0)").await.unwrap().collect().await;
    assert!(outside.is_err());
    assert_eq!(ask(&session, "SELECT count(*) FROM t").await, ["4"]);
    assert_eq!(table.array().fragments().len(), 2);
}

#[tokio::test]
async fn sql_makes_tables_of_the_present_and_the_past_and_of_encrypted_arrays() {
    let folder = std::env::temp_dir().join(format!("tdb-sql-{}", std::process::id()));
    let location = folder.to_str().unwrap();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=99).with_tile(10i64))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().create(location, &schema).unwrap();
    for (time, x) in [(1000, [1i64]), (2000, [2])] {
        let writer = WriteOptions::new().timestamp(time).open(location).unwrap();
        let write = writer.write().column(WriteColumn::fixed("x", &x));
        write.column(WriteColumn::fixed("a", &[1i32])).commit().unwrap();
    }
    let session = session(1);
    register(&session);
    let make = |name: &str, options: &str| {
        format!("CREATE EXTERNAL TABLE {name} STORED AS TILEDB LOCATION '{location}' {options}")
    };
    ask(&session, &make("now", "")).await;
    ask(&session, &make("before", "OPTIONS (timestamp '1500')")).await;
    ask(&session, &make("between", "OPTIONS ('timestamp' '1500-2500')")).await;
    assert_eq!(ask(&session, "SELECT x FROM now ORDER BY x").await, ["1", "2"]);
    assert_eq!(ask(&session, "SELECT x FROM before").await, ["1"]);
    assert_eq!(ask(&session, "SELECT x FROM between").await, ["2"]);
    assert_eq!(ask(&session, "INSERT INTO now SELECT x + 10, a + 1 FROM before").await, ["1"]);
    assert_eq!(ask(&session, "SELECT x, a FROM now WHERE a > 1").await, ["11 | 2"]);
    let secret = format!(
        "CREATE EXTERNAL TABLE secret STORED AS TILEDB LOCATION '{}' OPTIONS (key '3031323334353637383961626364654630313233343536373839616263646546')",
        fixture("encrypted_sparse")
    );
    ask(&session, &secret).await;
    assert!(!ask(&session, "SELECT * FROM secret").await.is_empty());
    let refused = async |sql: &str| {
        let planned = match session.sql(sql).await {
            Ok(frame) => frame.collect().await.map(|_| ()),
            Err(error) => Err(error),
        };
        planned.expect_err(sql).to_string()
    };
    assert!(refused("INSERT INTO before VALUES (1, 1)").await.contains("read-only"));
    assert!(refused(&make("t", "OPTIONS (colour 'red')")).await.contains("colour is not an option"));
    assert!(refused(&make("t", "OPTIONS (key 'abc')")).await.contains("64 hex digits"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn the_memory_limit_of_the_session_holds() {
    let storage = numbers(200_000);
    let limited = |bytes: usize| {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0).build_arc().unwrap();
        let config = SessionConfig::new().with_target_partitions(2);
        let session = SessionContext::new_with_config_rt(config, runtime);
        with(session, "t", stored(&storage)).0
    };
    let sum = "SELECT sum(a), count(b) FROM t";
    assert_eq!(ask(&limited(32 << 20), sum).await, ["19999900000 | 200000"]);
    let session = limited(512 << 10);
    let error = session.sql(sum).await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("Resources exhausted"), "{error}");
}

#[tokio::test]
async fn a_table_over_an_open_array_and_a_dense_one_take_no_rows() {
    let table = TdbTable::new(tdb_array::Array::open(fixture("quickstart")).unwrap()).unwrap();
    let (session, _) = with(session(1), "open", table);
    let (session, _) = with(session, "dense", TdbTable::open(fixture("quickstart")).unwrap());
    for (name, why) in [("open", "read-only"), ("dense", "boxes")] {
        let sql = format!("INSERT INTO {name} VALUES (1, 1, 1)");
        let error = session.sql(&sql).await.unwrap().collect().await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
