//! What is pushed down to the read, what plans show, and SQL statements other than queries.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

mod common;
mod writes;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{ask, fixture};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::common::stats::Precision;
use datafusion::datasource::MemTable;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Range};
use tdb_array::storage::{MemoryStorage, WriteStorage};
use tdb_array::write::SchemaEvolution;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_datafusion::{
    FUNCTIONS, LocalFolders, Locate, SortedColumn, TableOptions, TdbExec, TdbTable, TdbTableFactory, register,
};

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
    assert!(shown.contains("FilterExec") && shown.contains("b > 10.0 or b is nan"), "NaN is larger: {shown}");
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
async fn conditions_on_dense_arrays_leave_rows_out_while_they_are_read_if_all_were_written() {
    let (session, table) = with(session(1), "q", TdbTable::open(fixture("quickstart")).unwrap());
    let sql = "SELECT rows, cols, a FROM q WHERE a > 13 AND rows < 4 + cols";
    let shown = explain(&session, sql).await;
    assert!(shown.contains("condition=a > 13") && shown.contains("FilterExec: a"), "{shown}");
    assert_eq!(ask(&session, sql).await, ["4 | 2 | 14", "4 | 3 | 15", "4 | 4 | 16"]);
    let plan = session.sql("SELECT a FROM q WHERE a IN (3, 7)").await.unwrap().create_physical_plan().await;
    let mut leaf = plan.unwrap();
    while let Some(child) = leaf.children().first().copied().cloned() {
        leaf = child;
    }
    let read = datafusion::physical_plan::collect(leaf, session.task_ctx()).await.unwrap();
    assert_eq!(common::rows(&read), ["3", "7"], "the other rows never become batches");
    assert_eq!(
        ask(&session, "SELECT count(*), min(rows), max(cols) FROM q WHERE a > 5 AND a < 12").await,
        ["6 | 2 | 4"]
    );
    assert_eq!(ask(&session, "SELECT a FROM q WHERE a > 6 ORDER BY rows, cols LIMIT 2").await, ["7", "8"]);
    drop(table);
    // Rows that were never written have fill values, which may satisfy a condition.
    let (session, _) = with(session, "grid", TdbTable::open(fixture("sql_grid")).unwrap());
    let shown = explain(&session, "SELECT heat FROM grid WHERE label = ''").await;
    assert!(!shown.contains("condition="), "{shown}");
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

/// Fragments that all have cells everywhere, half of them the newest version of others.
fn overlapping(fragments: i64, cells: i64) -> MemoryStorage {
    let storage = numbers(1);
    for fragment in 0..fragments {
        let xs: Vec<i64> = (0..cells).map(|cell| cell * fragments + fragment / 2 * 2).collect();
        let own: Vec<i64> = xs.iter().map(|x| x % 1000 * 10 + fragment).collect();
        let bs: Vec<f64> = xs.iter().map(|x| (x % 77) as f64).collect();
        let time = 2 + fragment.unsigned_abs();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().column(WriteColumn::fixed("x", &xs)).column(WriteColumn::fixed("a", &own));
        write.column(WriteColumn::fixed("b", &bs)).commit().unwrap();
    }
    storage
}

#[tokio::test]
async fn tiles_of_fragments_that_overlap_are_read_twice_at_most_whatever_the_partitions() {
    let storage = overlapping(8, 20_000);
    let cells = common::cells(&stored(&storage).array());
    for (partitions, memory) in [(1, 64 << 20), (2, 64 << 20), (4, 16 << 20), (7, 24 << 20)] {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0).build_arc().unwrap();
        let config = SessionConfig::new().with_target_partitions(partitions);
        let session = SessionContext::new_with_config_rt(config, runtime);
        let (session, table) = with(session, "t", stored(&storage));
        let memory = MemTable::try_new(cells.schema(), vec![vec![cells.clone()]]).unwrap();
        session.register_table("memory", Arc::new(memory)).unwrap();
        for sql in [
            "SELECT a % 10, count(*), sum(b), max(x) FROM t GROUP BY a % 10 ORDER BY 1",
            "SELECT count(*), sum(a), min(x + a), max(b) FROM t WHERE a > 300",
            "SELECT x, a, b FROM t WHERE a = 707 AND b < 40 ORDER BY x",
            "SELECT a, x FROM t ORDER BY a DESC, x LIMIT 9",
            "SELECT count(*), sum(one.a), max(two.b) FROM t AS one JOIN t AS two ON one.x = two.x WHERE two.a < 30",
            "SELECT count(*) FROM (SELECT x FROM t WHERE b >= 3 LIMIT 30000)",
            "SELECT x FROM t WHERE b = 5 ORDER BY x LIMIT 40",
        ] {
            let before = table.array().stats();
            let found = ask(&session, sql).await;
            let read = table.array().stats().since(&before);
            let expected =
                ask(&session, &sql.replace("FROM t", "FROM memory").replace("JOIN t", "JOIN memory")).await;
            assert_eq!(found, expected, "{sql} in {partitions} partitions");
            if partitions <= 2 && sql.contains("GROUP") {
                // 1,600 tiles of three fields; coordinates are decoded a second time, because the
                // query wants them.
                assert!(read.tiles <= 2 * 1600 * 3, "{} tiles in {partitions} partitions", read.tiles);
            }
        }
    }
    let (session, _) = with(session(4), "t", stored(&storage));
    assert!(explain(&session, "SELECT x FROM t").await.contains("partitions=4"));
    assert!(
        explain(&session, "SELECT x FROM t WHERE a = 707").await.contains("partitions=1"),
        "it leaves few rows"
    );
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

/// Fragments of one large tile each, whose cells lie between each other's.
fn large_tiles(duplicates: bool, fragments: i64) -> MemoryStorage {
    let mut schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=1_000_000).with_tile(1_000_000i64))
        .attribute(Attribute::new("s", Datatype::StringUtf8, CellValNum::Var))
        .capacity(100_000);
    if duplicates {
        schema = schema.allow_duplicates();
    }
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
    for fragment in 0..fragments {
        let xs: Vec<i64> = (0..40_000).map(|cell| cell * fragments + fragment).collect();
        let text: String = xs.iter().map(|x| format!("{x:07}")).collect();
        let ends: Vec<u64> = (0..=40_000).map(|cell| cell * 7).collect();
        let writer =
            WriteOptions::new().timestamp(1 + fragment.unsigned_abs()).open_storage(storage.clone()).unwrap();
        let write = writer.write().column(WriteColumn::fixed("x", &xs));
        write.column(WriteColumn::var("s", text.as_bytes(), &ends)).commit().unwrap();
    }
    storage
}

#[tokio::test]
async fn a_few_rows_are_found_in_tiles_that_are_much_larger() {
    for (duplicates, fragments) in [(true, 1), (true, 3), (false, 1), (false, 3)] {
        let storage = large_tiles(duplicates, fragments);
        for (partitions, memory) in [(1, 64 << 20), (4, 256 << 20), (2, 128 << 20)] {
            let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0).build_arc().unwrap();
            let config = SessionConfig::new().with_target_partitions(partitions);
            let session = SessionContext::new_with_config_rt(config, runtime);
            let (session, _) = with(session, "t", stored(&storage));
            for (sql, rows) in [
                ("SELECT x, s FROM t LIMIT 5", 5),
                ("SELECT s FROM t LIMIT 9000", 9000),
                ("SELECT x FROM t WHERE s >= '0030000' LIMIT 3", 3),
                ("SELECT s FROM t WHERE x > 20000 LIMIT 10000", 10_000),
                ("SELECT x, s FROM t ORDER BY s LIMIT 7", 7),
                ("SELECT s FROM t ORDER BY x LIMIT 7", 7),
            ] {
                let found = ask(&session, sql).await;
                let place = format!("{sql}, {fragments} fragments, {duplicates}, {partitions} partitions");
                assert_eq!(found.len(), rows, "{place}");
                assert_eq!(
                    found.iter().collect::<HashSet<_>>().len(),
                    rows,
                    "{place}: rows are not the same"
                );
                if sql.contains("ORDER BY s") {
                    assert_eq!(found[6], "6 | 0000006", "{place}");
                }
            }
            let all = ask(&session, "SELECT count(*), max(s) FROM t WHERE s > '0000009'").await;
            let last = 40_000 * fragments - 1;
            assert_eq!(all, [format!("{} | {last:07}", last - 9)]);
        }
    }
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
async fn deleted_rows_are_those_of_the_condition_and_a_doubtful_delete_is_refused() {
    let (session, table) = with(session(2), "t", stored(&numbers(100)));
    let refused = async |session: &SessionContext, sql: &str| {
        let planned = match session.sql(sql).await {
            Ok(frame) => frame.collect().await.map(|_| ()),
            Err(error) => Err(error),
        };
        planned.expect_err(sql).to_string()
    };
    let why = refused(&session, "DELETE FROM t WHERE a < 5").await;
    assert!(why.contains("tdb_datafusion::register"), "{why}");
    register(&session);
    assert_eq!(ask(&session, "DELETE FROM t WHERE a < 5 OR x BETWEEN 90 AND 94").await, ["10"]);
    assert_eq!(ask(&session, "SELECT count(*), min(x) FROM t").await, ["90 | 5"]);
    assert_eq!(ask(&session, "DELETE FROM t WHERE a IN (7, 8, 1000) AND b >= 3.5 AND b < 4").await, ["1"]);
    assert_eq!(ask(&session, "SELECT count(*) FROM t WHERE a IN (7, 8)").await, ["1"]);
    assert_eq!(ask(&session, "DELETE FROM t WHERE a < -5").await, ["0"]);
    for (sql, expected) in [
        ("DELETE FROM t", "needs a condition"),
        ("DELETE FROM t WHERE 1 = 0", "needs a condition"),
        ("DELETE FROM t WHERE a > 3 OR true", "needs a condition"),
        ("DELETE FROM t WHERE a > 3 AND x IN (SELECT x FROM t WHERE a = 50)", "subquery"),
        ("DELETE FROM t WHERE a > 3 AND EXISTS (SELECT 1 FROM t AS u WHERE u.x = 1)", "subquery"),
        ("DELETE FROM t WHERE a > (SELECT max(a) - 1 FROM t)", "subquery"),
        ("DELETE FROM t WHERE a + 1 > 3", "arrays store comparisons"),
        ("DELETE FROM t WHERE a > 3 AND random() < 0.5", "arrays store comparisons"),
    ] {
        let why = refused(&session, sql).await;
        assert!(why.contains(expected), "{sql}: {why}");
    }
    assert_eq!(ask(&session, "SELECT count(*) FROM t").await, ["89"]);
    // NaN would be larger than 3.5: there is none.
    assert_eq!(ask(&session, "DELETE FROM t WHERE b > 3.5 OR NOT b >= 1").await, ["87"]);
    assert_eq!(ask(&session, "SELECT count(*), min(b), max(b) FROM t").await, ["2 | 2.5 | 3.0"]);
    ask(&session, "INSERT INTO t VALUES (200, 1, 'NaN')").await;
    let why = refused(&session, "DELETE FROM t WHERE b > 2.5").await;
    assert!(why.contains("1 of the rows have NaN") && why.contains("AND v <= 'Infinity'"), "{why}");
    // It is not among the rows that are meant.
    assert_eq!(ask(&session, "DELETE FROM t WHERE b > 2.5 AND a > 50").await, ["0"]);
    assert_eq!(ask(&session, "DELETE FROM t WHERE b > 2.5 AND b <= 'Infinity'").await, ["1"]);
    assert_eq!(table.array().snapshot().deletes().len(), 6);
    let (session, _) = with(session, "dense", TdbTable::open(fixture("quickstart")).unwrap());
    assert!(refused(&session, "DELETE FROM dense WHERE a = 3").await.contains("sparse arrays only"));
    let (session, _) = with(session, "nulls", stored(&common::sparse()));
    // The format cannot tell rows that satisfy these from others that are null: they are listed.
    let nulls = ask(&session, "SELECT count(*) FROM nulls WHERE count IS NULL").await;
    let all = ask(&session, "SELECT count(*) FROM nulls").await;
    let largest = ask(&session, "SELECT max(count) FROM nulls").await.remove(0);
    ask(&session, &format!("DELETE FROM nulls WHERE count = {largest}")).await;
    let left = format!("SELECT count(*) FROM nulls WHERE count = {largest}");
    assert_eq!(ask(&session, &left).await, ["0"]);
    assert_eq!(ask(&session, "SELECT count(*) FROM nulls WHERE count IS NULL").await, nulls);
    assert_ne!(ask(&session, "SELECT count(*) FROM nulls").await, all);
    ask(&session, "DELETE FROM nulls WHERE count IS NULL").await;
    assert_eq!(ask(&session, "SELECT count(*) FROM nulls WHERE count IS NULL").await, ["0"]);
}

#[tokio::test]
async fn the_other_side_of_a_join_and_the_last_row_of_a_top_k_leave_out_tiles() {
    let config = SessionConfig::new().with_target_partitions(1).with_batch_size(256);
    let (session, table) = with(SessionContext::new_with_config(config), "t", stored(&numbers(400_000)));
    let cost = async |sql: &str| {
        let before = table.array().stats();
        let rows = ask(&session, sql).await;
        (rows, table.array().stats().since(&before).tiles)
    };
    let (_, all) = cost("SELECT sum(a), sum(b) FROM t").await;
    let join =
        "SELECT count(*), sum(t.b) FROM t JOIN (VALUES (100500), (100501), (100999)) AS k (x) ON t.x = k.x";
    let (rows, tiles) = cost(join).await;
    assert_eq!(rows, ["3 | 151000.0"]);
    assert!(tiles * 20 < all, "{tiles} of {all}");
    assert!(explain(&session, join).await.contains("dynamic_filter="));
    let top = "SELECT x, a FROM t ORDER BY a LIMIT 3";
    let (rows, tiles) = cost(top).await;
    assert_eq!(rows, ["0 | 0", "1 | 1", "2 | 2"]);
    assert!(tiles * 3 < all * 2, "{tiles} of {all}");
    assert_eq!(cost("SELECT x, b FROM t ORDER BY b DESC LIMIT 1").await.0, ["399999 | 199999.5"]);
}

#[tokio::test]
async fn the_rows_of_a_limit_are_chosen_before_filters_of_joins_and_sorts_above_it() {
    let config = SessionConfig::new().with_target_partitions(1).with_batch_size(256);
    let (session, _) = with(SessionContext::new_with_config(config), "t", stored(&numbers(400_000)));
    let first = "(SELECT x, a FROM t ORDER BY x LIMIT 100)";
    let join = format!("SELECT count(*) FROM (VALUES (500), (99)) AS k (x) JOIN {first} AS s ON s.x = k.x");
    assert_eq!(ask(&session, &join).await, ["1"]);
    assert!(explain(&session, &join).await.contains("limit=100"), "{}", explain(&session, &join).await);
    let first = "(SELECT x, a FROM t ORDER BY x LIMIT 200000)";
    let top = format!("SELECT a FROM {first} ORDER BY (a % 1000) * 1000 - a DESC LIMIT 1");
    assert_eq!(ask(&session, &top).await, ["999"]);
    assert_eq!(ask(&session, &format!("SELECT x FROM {first} ORDER BY a DESC LIMIT 1")).await, ["199999"]);
    assert_eq!(ask(&session, &format!("SELECT max(a), count(*) FROM {first}")).await, ["199999 | 200000"]);
}

#[tokio::test]
async fn rows_without_columns_do_not_need_texts_that_arrow_can_hold() {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::string("key"))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::var("key", b"\xffb", &[0, 1, 2]));
    write.column(WriteColumn::fixed("a", &[1i64, 2])).commit().unwrap();
    let (session, _) = with(session(1), "t", stored(&storage));
    assert_eq!(ask(&session, "SELECT 1 FROM t WHERE a > 0").await, ["1", "1"]);
    assert_eq!(ask(&session, "SELECT count(*) FROM t WHERE a > 1").await, ["1"]);
    assert_eq!(ask(&session, "SELECT count(*) FROM t AS u CROSS JOIN t AS v").await, ["4"]);
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
async fn aggregates_are_read_from_statistics_where_these_are_exact() {
    let (session, table) = with(session(2), "t", stored(&numbers(100_000)));
    register(&session);
    let cost = async |sql: &str| {
        let before = table.array().stats();
        let rows = ask(&session, sql).await;
        (rows, table.array().stats().since(&before).tiles)
    };
    let sql = "SELECT count(*), sum(a), min(a), max(x), avg(a) FROM t";
    let (rows, tiles) = cost(sql).await;
    assert_eq!(rows, ["100000 | 4999950000 | 0 | 99999 | 49999.5"]);
    assert!(tiles <= 2, "{tiles}");
    assert!(explain(&session, sql).await.contains("TdbAggregateExec"));
    let (rows, tiles) = cost("SELECT sum(a) AS total, count(b) FROM t WHERE x BETWEEN 150 AND 80049").await;
    assert_eq!(rows, ["3203950050 | 79900"]);
    assert!(tiles <= 8, "{tiles}");
    assert_eq!(
        ask(&session, "SELECT sum(a), min(a), count(a), avg(a) FROM t WHERE x > 500000").await,
        ["NULL | NULL | 0 | NULL"]
    );
    for left in [
        "SELECT sum(DISTINCT a) FROM t",
        "SELECT sum(a + 1) FROM t",
        "SELECT sum(a) FILTER (WHERE a > 5) FROM t",
        "SELECT a % 2, sum(a) FROM t GROUP BY a % 2",
        "SELECT sum(a) FROM t WHERE b > 10",
        "SELECT sum(a) FROM (SELECT a FROM t LIMIT 5)",
    ] {
        let shown = explain(&session, left).await;
        assert!(!shown.contains("TdbAggregateExec"), "{left}: {shown}");
    }
}

/// Cells of few keys (`a` from 0 to 99), with integers and reals of both signs; the last real may
/// be NaN.
fn keyed(count: i64, nan: bool) -> MemoryStorage {
    let storage = numbers(1);
    let xs: Vec<i64> = (1..count).collect();
    let keys: Vec<i64> = xs.iter().map(|x| x % 100).collect();
    let mut reals: Vec<f64> = xs.iter().map(|x| (x * 37 % 1001) as f64 / 8.0 - 50.0).collect();
    if nan {
        *reals.last_mut().unwrap() = f64::NAN;
    }
    let writer = WriteOptions::new().timestamp(2).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &xs)).column(WriteColumn::fixed("a", &keys));
    write.column(WriteColumn::fixed("b", &reals)).commit().unwrap();
    storage
}

/// A sparse array of the words a, ab, null, a and null.
fn nullable_words() -> MemoryStorage {
    let mut words = Attribute::new("s", Datatype::StringUtf8, CellValNum::Var);
    words.nullable = true;
    let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i64..=9)).attribute(words);
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
    let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &[0i64, 1, 2, 3, 4]));
    let words = WriteColumn::var("s", b"aaba", &[0, 1, 3, 3, 4, 4]).nullable(&[1, 1, 0, 1, 0]);
    write.column(words).commit().unwrap();
    storage
}

/// Asks a session in which arrays compute aggregates, and one in which DataFusion does; returns the
/// sorted rows and the first one's plan.
async fn both(storage: &MemoryStorage, partitions: usize, sql: &str) -> (Vec<String>, Vec<String>, String) {
    let (plain, _) = with(session(1), "t", stored(storage));
    let (session, _) = with(session(partitions), "t", stored(storage));
    register(&session);
    let (mut mine, mut theirs) = (ask(&session, sql).await, ask(&plain, sql).await);
    mine.sort_unstable();
    theirs.sort_unstable();
    (mine, theirs, explain(&session, sql).await)
}

#[tokio::test]
async fn extremes_of_reals_come_from_statistics_and_with_nan_from_sql() {
    for (nan, partitions) in [(false, 1), (false, 3), (true, 1), (true, 3)] {
        for sql in [
            "SELECT min(b), max(b) FROM t",
            "SELECT max(b), count(*), sum(a), avg(x), min(b) FROM t WHERE x BETWEEN 150 AND 17070",
            "SELECT min(b), max(b), count(b) FROM t WHERE a > 3",
            "SELECT min(b), count(b), sum(b), avg(x) FROM t WHERE a > 300",
            "SELECT max(b) FROM t WHERE x >= 1500",
        ] {
            let (mine, theirs, shown) = both(&keyed(20_000, nan), partitions, sql).await;
            assert!(shown.contains("TdbAggregateExec"), "{sql}: {shown}");
            assert_eq!(mine, theirs, "{sql}");
        }
        let (mine, theirs, shown) =
            both(&keyed(20_000, nan), partitions, "SELECT max(b) FROM t WHERE a > 3").await;
        assert!(!shown.contains("TdbAggregateExec"), "{shown}");
        assert_eq!(mine, theirs);
    }
    let (session, table) = with(session(1), "t", stored(&keyed(20_000, false)));
    register(&session);
    let before = table.array().stats();
    assert_eq!(ask(&session, "SELECT min(b), max(b) FROM t WHERE x > 0").await, ["-50.0 | 75.0"]);
    assert_eq!(table.array().stats().since(&before).tiles, 0, "no tile is decoded");
}

#[tokio::test]
async fn groups_are_made_by_the_array_where_keys_are_columns() {
    let storage = keyed(20_000, false);
    for (sql, step) in [
        ("SELECT a, count(*), max(b), min(b), sum(x), avg(x), min(x) FROM t GROUP BY a", "both"),
        ("SELECT DISTINCT a FROM t", "both"),
        (
            "SELECT a + 1, 2 * count(b) FROM t WHERE x BETWEEN 50 AND 7070 GROUP BY a ORDER BY a DESC LIMIT 7",
            "both",
        ),
        ("SELECT a, count(*) FROM t WHERE a > 3 GROUP BY a HAVING count(*) > 90", "both"),
        // A join relies on how groups are distributed, and DataFusion decides which reals are
        // equal.
        (
            "SELECT l.a, l.n, r.m FROM (SELECT a, count(*) n FROM t GROUP BY a) l JOIN (SELECT a, max(x) m FROM t WHERE x > 500 GROUP BY a) r ON l.a = r.a",
            "first",
        ),
        ("SELECT b, count(*) FROM t GROUP BY b", "first"),
        ("SELECT a % 7, count(*) FROM t GROUP BY a % 7", "none"),
        ("SELECT a, sum(CAST(x AS DOUBLE)) FROM t GROUP BY a", "none"),
        ("SELECT a, count(DISTINCT b) FROM t GROUP BY a", "any"),
        ("SELECT a, max(b) FROM t GROUP BY ROLLUP (a)", "none"),
    ] {
        for partitions in [1, 2, 3] {
            let (mine, theirs, shown) = both(&storage, partitions, sql).await;
            assert_eq!(mine, theirs, "{sql}\n{shown}");
            // One partition has every group.
            let step = if partitions == 1 && sql.contains("JOIN") { "both" } else { step };
            let found = match shown.contains("TdbGroupsExec") {
                true if shown.contains("mode=Partial, ") && step == "first" => "first",
                true => "both",
                false => "none",
            };
            assert!(step == "any" || found == step, "{sql}: {partitions} partitions:\n{shown}");
        }
    }
}

#[tokio::test]
async fn distinct_values_are_counted_by_the_array_where_that_is_one_query_or_of_all_rows() {
    let storage = keyed(20_000, false);
    for (sql, is_computed) in [
        ("SELECT count(DISTINCT a) FROM t", true),
        ("SELECT count(DISTINCT a) FROM t WHERE x BETWEEN 50 AND 7070 AND a > 3", true),
        ("SELECT count(*), count(a), count(1) FROM (SELECT DISTINCT a FROM t)", true),
        ("SELECT count(DISTINCT a), count(DISTINCT x), count(DISTINCT a) + 1 FROM t", true),
        ("SELECT count(DISTINCT a), avg(a), max(x), count(*) FROM t", true),
        ("SELECT count(NULL) FROM (SELECT DISTINCT a FROM t)", false),
        ("SELECT count(DISTINCT a), count(DISTINCT x) FROM t WHERE x > 50", false),
        ("SELECT count(DISTINCT a), count(DISTINCT b) FROM t", false),
        ("SELECT count(DISTINCT b) FROM t", false),
        ("SELECT sum(DISTINCT a), count(DISTINCT a) FROM t", false),
        ("SELECT count(DISTINCT a) FILTER (WHERE b > 0), count(DISTINCT x) FROM t", false),
        ("SELECT count(DISTINCT a + 1), count(DISTINCT x) FROM t", false),
        ("SELECT a, count(DISTINCT x), count(DISTINCT b) FROM t GROUP BY a", false),
    ] {
        for partitions in [1, 3] {
            let (mine, theirs, shown) = both(&storage, partitions, sql).await;
            assert_eq!(mine, theirs, "{sql}\n{shown}");
            assert_eq!(shown.contains("distinct("), is_computed, "{sql}: {partitions} partitions:\n{shown}");
        }
    }
    // Null is no value, and one row of distinct ones.
    let rows = "count(DISTINCT s), (SELECT count(*) FROM (SELECT DISTINCT s FROM t)) FROM t";
    let (mine, theirs, shown) = both(&nullable_words(), 2, &format!("SELECT {rows}")).await;
    assert_eq!(shown.matches("distinct(").count(), 2, "{shown}");
    assert_eq!((&mine, mine.as_slice()), (&theirs, ["2 | 3".to_owned()].as_slice()));
    // Memory for the values is less than they need.
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(16 << 20, 1.0).build_arc().unwrap();
    let config = SessionConfig::new().with_target_partitions(2);
    let session = SessionContext::new_with_config_rt(config, runtime);
    let (session, _) = with(session, "t", stored(&numbers(100_000)));
    register(&session);
    assert_eq!(ask(&session, "SELECT count(DISTINCT a) FROM t").await, ["100000"]);
}

#[tokio::test]
async fn groups_that_arrays_do_not_answer_are_those_of_datafusion() {
    // Very many groups: also the array's.
    let (mine, theirs, shown) = both(&numbers(150_000), 2, "SELECT a, count(*) FROM t GROUP BY a").await;
    assert!(mine == theirs && mine.len() == 150_000 && shown.contains("TdbGroupsExec"), "{shown}");
    // SQL orders NaN.
    let (mine, theirs, shown) = both(&keyed(20_000, true), 1, "SELECT a, max(b) FROM t GROUP BY a").await;
    assert!(mine == theirs && mine.iter().any(|row| row.ends_with("NaN")), "{mine:?}\n{shown}");
    // A sum that does not fit.
    let storage = numbers(1);
    let writer = WriteOptions::new().timestamp(2).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &[1i64, 2, 3]));
    let write = write.column(WriteColumn::fixed("a", &[i64::MAX, i64::MAX, 7]));
    write.column(WriteColumn::fixed("b", &[1.0f64, 1.0, 2.0])).commit().unwrap();
    let (mine, theirs, shown) = both(&storage, 1, "SELECT b, avg(a), max(a) FROM t GROUP BY b").await;
    assert_eq!(mine, theirs, "{shown}");
    let (session, _) = with(session(1), "t", stored(&storage));
    register(&session);
    let sum = session.sql("SELECT b, sum(a) FROM t GROUP BY b").await.unwrap().collect().await.unwrap_err();
    assert!(sum.to_string().contains("overflow"), "{sum}");
    // Characters of a string are numbers in SQL.
    let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i64..=9)).attribute(Attribute::new(
        "c",
        Datatype::StringUtf16,
        CellValNum::ONE,
    ));
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
    let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &[1i64, 2, 3]));
    write.column(WriteColumn::fixed("c", &[7u16, 9, 8])).commit().unwrap();
    for sql in ["SELECT x, max(c), sum(c) FROM t GROUP BY x", "SELECT max(c), sum(c) FROM t"] {
        let (mine, theirs, shown) = both(&storage, 2, sql).await;
        assert_eq!(mine, theirs, "{shown}");
    }
    // Memory for groups is a quarter of that of the scan.
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(16 << 20, 1.0).build_arc().unwrap();
    let config = SessionConfig::new().with_target_partitions(2);
    let session = SessionContext::new_with_config_rt(config, runtime);
    let (session, _) = with(session, "t", stored(&numbers(100_000)));
    register(&session);
    let rows =
        ask(&session, "SELECT count(*), sum(n) FROM (SELECT a, count(*) AS n FROM t GROUP BY a)").await;
    assert_eq!(rows, ["100000 | 100000"]);
}

#[tokio::test]
async fn plans_know_rows_and_extremes_and_say_when_they_are_only_estimates() {
    let (session, _) = with(session(1), "t", stored(&numbers(100_000)));
    register(&session);
    // The node of a plan that reads the array.
    let scan = async |sql: &str| {
        let mut node = session.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
        while let Some(child) = node.children().first().map(|child| Arc::clone(child)) {
            node = child;
        }
        node
    };
    let known = |node: Arc<_>| StatisticsContext::new().compute(&*node, &StatisticsArgs::new()).unwrap();
    let statistics = async |sql: &str| known(scan(sql).await);
    let all = statistics("SELECT x FROM t").await;
    assert_eq!(all.num_rows, Precision::Exact(100_000));
    let x = &all.column_statistics[0];
    let inexact = |value: i64| Precision::Inexact(ScalarValue::Int64(Some(value)));
    assert_eq!((&x.min_value, &x.max_value), (&inexact(0), &inexact(99_999)));
    let part = statistics("SELECT x FROM t WHERE x < 1000").await;
    let x = &part.column_statistics[0];
    assert_eq!((&x.min_value, &x.max_value), (&inexact(0), &inexact(999)));

    // How many rows a condition leaves is estimated from the least and the greatest value of each
    // tile.
    let some = statistics("SELECT x, a FROM t WHERE a >= 99005").await;
    assert_eq!(some.num_rows, Precision::Inexact(995));
    let joined = session
        .sql("SELECT count(*) FROM t JOIN t AS few ON t.x = few.x WHERE few.a >= 99005")
        .await
        .unwrap();
    let plan = joined.create_physical_plan().await.unwrap();
    let shown = displayable(plan.as_ref()).indent(false).to_string();
    // The table of a hash join is made of its first side.
    let (first, _) = shown.split_once("condition=").unwrap();
    assert_eq!(first.matches("TdbExec").count(), 1, "{shown}");

    // A filter that comes while the plan runs leaves out rows that were counted.
    let scan = scan("SELECT x, a FROM t ORDER BY a LIMIT 3").await;
    let shown = displayable(scan.as_ref()).one_line().to_string();
    assert!(shown.contains("dynamic_filter"), "{shown}");
    assert_eq!(known(scan).num_rows, Precision::Inexact(100_000));
}

#[tokio::test]
async fn a_sum_that_does_not_fit_is_an_error_that_names_it() {
    let storage = numbers(1);
    let writer = WriteOptions::new().timestamp(2).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &[1i64, 2, 3]));
    let write = write.column(WriteColumn::fixed("a", &[i64::MAX, 5, i64::MAX - 7]));
    write.column(WriteColumn::fixed("b", &[0.0f64, 1.0, 2.0])).commit().unwrap();
    let (session, _) = with(session(1), "t", stored(&storage));
    register(&session);
    for sql in [
        "SELECT sum(a), avg(a), max(a) FROM t",
        "SELECT sum(a) OVER () FROM t",
        "SELECT sum(DISTINCT a) FROM t",
    ] {
        let sum = session.sql(sql).await.unwrap().collect().await.unwrap_err();
        assert!(sum.to_string().contains("overflow: a sum is 18446744073709551612"), "{sql}: {sum}");
    }
    assert_eq!(ask(&session, "SELECT sum(a) FROM t WHERE x <> 1").await, [(i64::MAX - 2).to_string()]);
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
    for (name, why) in [("open", "read-only"), ("dense", "cells are all there")] {
        let sql = format!("INSERT INTO {name} VALUES (1, 1, 1)");
        let error = session.sql(&sql).await.unwrap().collect().await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Arrays in memory under `mem://numbers`, and how often it was looked for.
#[derive(Debug)]
struct Memory {
    numbers: MemoryStorage,
    asked: AtomicUsize,
}

impl Locate for Memory {
    fn storage(&self, location: &str) -> tdb_datafusion::Result<Arc<dyn WriteStorage>> {
        if location != "mem://numbers" {
            return LocalFolders.storage(location);
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(self.numbers.clone()))
    }
}

#[tokio::test]
async fn locations_are_tables_that_a_statement_opens_once() {
    let memory = Arc::new(Memory { numbers: numbers(1000), asked: AtomicUsize::new(0) });
    let session = session(2);
    let factory = TdbTableFactory::new().locate(memory.clone());
    factory.clone().register(&session);
    factory.register_names(&session);
    let joined =
        "SELECT count(*) FROM 'mem://numbers' a JOIN \"mem://numbers\" b ON a.x = b.a WHERE b.x < 10";
    assert_eq!(ask(&session, joined).await, ["10"]);
    assert_eq!(memory.asked.load(Ordering::Relaxed), 1);
    assert_eq!(ask(&session, "INSERT INTO 'mem://numbers' VALUES (5000, 1, 1)").await, ["1"]);
    assert_eq!(ask(&session, "SELECT max(x) FROM 'mem://numbers'").await, ["5000"], "opened again");
    ask(&session, "CREATE EXTERNAL TABLE named STORED AS TILEDB LOCATION 'mem://numbers'").await;
    assert_eq!(ask(&session, "SELECT count(*) FROM named").await, ["1001"]);
    let quickstart = fixture("quickstart");
    assert_eq!(ask(&session, &format!("SELECT max(a) FROM '{quickstart}'")).await, ["16"]);
    let refused = async |name: &str| {
        let asked = session.sql(&format!("SELECT * FROM '{name}'")).await;
        asked.expect_err(name).to_string()
    };
    assert!(refused("s3://bucket/array").await.contains("local folders only"));
    assert!(refused("no/such/array").await.contains("no/such/array"));
    assert!(refused("nothing").await.contains("table 'datafusion.public.nothing' not found"));
    ask(&session, "CREATE TABLE nothing AS VALUES (7)").await;
    assert_eq!(ask(&session, "SELECT * FROM nothing").await, ["7"], "a name that is no array is free");
}

#[tokio::test]
async fn tables_by_location_have_the_options_of_the_factory() {
    let memory = Memory { numbers: numbers(10), asked: AtomicUsize::new(0) };
    let session = session(1);
    let factory = TdbTableFactory::new().locate(Arc::new(memory)).options(TableOptions::new().since(2));
    factory.register_names(&session);
    assert_eq!(ask(&session, "SELECT count(*) FROM 'mem://numbers'").await, ["0"], "it was written at 1");
    let insert = session.sql("INSERT INTO 'mem://numbers' VALUES (1, 1, 1)").await.unwrap().collect().await;
    assert!(insert.unwrap_err().to_string().contains("read-only"));
}

#[tokio::test]
async fn a_filter_outside_the_current_domain_finds_no_rows() {
    let session = session(2);
    register(&session);
    for name in ["current_domain_sparse", "current_domain_dense"] {
        let table = TdbTable::open(fixture(name)).unwrap();
        let column = table.array().schema().domain.dimensions[0].name.clone();
        let (session, _) = with(session.clone(), name, table);
        for filter in ["> 1000000", "< -1000000", "> 50", "= 51"] {
            let found =
                ask(&session, &format!("SELECT count(*) >= 0 FROM {name} WHERE \"{column}\" {filter}")).await;
            assert_eq!(found, ["true"], "{name} {filter}");
        }
    }
    let found = ask(&session, "SELECT count(*) FROM current_domain_sparse WHERE x > 50").await;
    assert_eq!(found, ["0"]);
}

/// A dense array of 100 cells with the values 0 to 99.
fn line() -> MemoryStorage {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i64..=999).with_tile(10i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
    let values: Vec<i64> = (0..100).collect();
    writer.write().range("x", 0..100).column(WriteColumn::fixed("a", &values)).commit().unwrap();
    storage
}

#[tokio::test]
async fn rows_outside_of_a_current_domain_that_came_later_are_no_rows() {
    for storage in [numbers(100), line()] {
        let current = vec![Range::new(10i64.to_le_bytes(), 39i64.to_le_bytes())];
        let change = SchemaEvolution::new().expand_current_domain(current);
        WriteOptions::new().evolve_storage(storage.clone(), &change).unwrap();
        let (session, _) = with(session(2), "t", stored(&storage));
        for (sql, expected) in [
            ("SELECT count(*) FROM t", "30"),
            ("SELECT count(*), min(a), max(a), sum(a) FROM t", "30 | 10 | 39 | 735"),
            ("SELECT count(*), max(x) FROM t WHERE x >= 10", "30 | 39"),
            ("SELECT count(*) FROM t WHERE x > 50 OR x < 5", "0"),
            ("SELECT count(*) FROM t WHERE a < 20", "10"),
        ] {
            assert_eq!(ask(&session, sql).await, [expected], "{sql}");
        }
        assert_eq!(ask(&session, "SELECT x, a FROM t").await.len(), 30);
    }
}

#[tokio::test]
async fn members_of_groups_are_rows_and_their_locations_are_names_of_tables() {
    let session = session(1);
    register(&session);
    TdbTableFactory::new().register_names(&session);
    let group = fixture("group_nested");
    let query =
        format!("SELECT path, location FROM tiledb_members('{group}', 'nested') WHERE there = 'array'");
    let found = ask(&session, &query).await;
    assert_eq!(found, [format!("a/b/leaf | {group}/a/b/leaf"), format!("a/leaf | {group}/a/leaf")]);
    assert_eq!(ask(&session, &format!("SELECT count(*) FROM '{group}/a/leaf'")).await, ["0"]);
    let own = format!("SELECT path, name, type, uri, relative, depth FROM tiledb_members('file://{group}')");
    assert_eq!(ask(&session, &own).await, ["a | a | group | a | true | 1"]);
    for (query, part) in [
        (format!("tiledb_members('{group}', 'all')"), "takes the location of a group"),
        ("tiledb_members()".to_owned(), "takes the location of a group"),
        ("tiledb_members('s3://bucket/group')".to_owned(), "local folders only"),
        (format!("tiledb_members('{}')", fixture("quickstart")), "not a group"),
    ] {
        let error = session.sql(&format!("SELECT * FROM {query}")).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn functions_tell_what_an_array_is_made_of() {
    let session = session(1);
    register(&session);
    let path = fixture("deletes");
    let query = "SELECT count(*) > 0, min(cells) > 0, min(bytes) > 0, min(version), min(first_time) <= max(last_time)";
    assert_eq!(
        ask(&session, &format!("{query} FROM tiledb_fragments('{path}')")).await,
        ["true | true | true | 22 | true"]
    );
    let query = "SELECT DISTINCT event, state FROM tiledb_history('{}') ORDER BY event";
    let found = ask(&session, &query.replace("{}", &path)).await;
    assert_eq!(found, ["delete | live", "schema | live", "write | live"]);

    let path = fixture("meta_types");
    let query = format!("SELECT count(*) > 0, count(*) = count(value) FROM tiledb_metadata('{path}')");
    assert_eq!(ask(&session, &query).await, ["true | true"]);
    let quickstart = fixture("quickstart");
    let query =
        format!("SELECT name, kind, datatype, \"values\", nullable FROM tiledb_schema('{quickstart}')");
    assert_eq!(
        ask(&session, &query).await,
        [
            "rows | dimension | INT32 | 1 | false",
            "cols | dimension | INT32 | 1 | false",
            "a | attribute | INT32 | 1 | false"
        ]
    );
    for (query, part) in [
        ("tiledb_fragments()", "takes the location of an array: tiledb_fragments('path/to/array')"),
        ("tiledb_schema(7)", "takes the location of an array"),
        ("tiledb_history('no/such/array')", "no/such/array"),
    ] {
        let error = session.sql(&format!("SELECT * FROM {query}")).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    // Each function has the columns that the list says.
    for (name, _, columns) in FUNCTIONS {
        let of = if name == "tiledb_members" { fixture("group_nested") } else { quickstart.clone() };
        let plan = session.sql(&format!("SELECT * FROM {name}('{of}')")).await.unwrap();
        let found: Vec<_> = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(found.join(", "), columns, "{name}");
    }
}

/// The scan below the operators that DataFusion puts above it.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<TdbExec> {
    match plan.downcast_ref::<TdbExec>() {
        Some(scan) => Some(scan.clone()),
        None => plan.children().into_iter().find_map(scan_of),
    }
}

#[tokio::test]
async fn tables_and_scans_that_were_described_are_opened_as_they_were() {
    let path = fixture("quickstart");
    let factory = TdbTableFactory::new();
    let table = TdbTable::open(&path).unwrap();
    let description = table.describe().unwrap();
    assert!(description.array.uri().ends_with("quickstart"));
    // Partitions end in any order.
    let sql = "SELECT rows, a FROM t WHERE a > 4 AND cols >= 2 ORDER BY rows, a";
    let expected = ask(&with(session(2), "t", table).0, sql).await;
    let (session, _) = with(session(2), "t", factory.open_described(&description).unwrap());
    assert_eq!(ask(&session, sql).await, expected);
    let plan =
        session.sql("SELECT a FROM t WHERE cols >= 2").await.unwrap().create_physical_plan().await.unwrap();
    let mut scan = scan_of(&plan).expect("a scan is at the bottom").describe().unwrap();
    let again = factory.open_scan(&scan).unwrap();
    assert_eq!(again.describe().unwrap(), scan);
    scan.order.push(SortedColumn { column: 9, nulls_first: false });
    assert!(factory.open_scan(&scan).unwrap_err().to_string().contains("column 9, of 1"));
    scan.parts.clear();
    assert!(factory.open_scan(&scan).unwrap_err().to_string().contains("without partitions"));
    let error = stored(&numbers(10)).describe().unwrap_err().to_string();
    assert!(error.contains("create it with a location"), "{error}");
}

#[tokio::test]
async fn a_scan_by_tiles_is_described_in_as_many_parts_as_it_has_and_no_row_twice() {
    let folder = std::env::temp_dir().join(format!("tdb-sql-one-place-{}", std::process::id()));
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=99).with_tile(100i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .allow_duplicates()
        .capacity(100)
        .build()
        .unwrap();
    WriteOptions::new().create(&folder, &schema).unwrap();
    let values: Vec<i64> = (0..1000).collect();
    let write = WriteOptions::new().open(&folder).unwrap();
    let write = write.write().column(WriteColumn::fixed("x", &[5i64; 1000]));
    write.column(WriteColumn::fixed("a", &values)).commit().unwrap();
    let (session, _) = with(session(4), "t", TdbTable::open(folder.display().to_string()).unwrap());
    let plan =
        session.sql("SELECT a FROM t WHERE x < 50").await.unwrap().create_physical_plan().await.unwrap();
    let scan = scan_of(&plan).unwrap();
    let planned = scan.properties().partitioning.partition_count();
    let description = scan.describe().unwrap();
    // Ten tiles of cells at one place: boxes cannot be cut there.
    assert_eq!((planned, description.parts.len()), (4, 4));
    let opened: Arc<dyn ExecutionPlan> = Arc::new(TdbTableFactory::new().open_scan(&description).unwrap());
    let found = datafusion::physical_plan::collect(opened, session.task_ctx()).await.unwrap();
    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 1000);
    std::fs::remove_dir_all(&folder).unwrap();
}
