//! Comparisons, conversions and sums in SQL are those of the values themselves, computed here
//! without DataFusion.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_wrap,
    reason = "helpers of tests: a panic is a failure"
)]

mod common;
mod model;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Random, ask, cells};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use model::{COLUMNS, Cell, Cells};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_arrow::{Days, Options};
use tdb_datafusion::{TableOptions, TdbTable, register};

fn session(partitions: usize) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(16);
    let session = SessionContext::new_with_config(config);
    register(&session);
    session
}

fn table(storage: &MemoryStorage) -> Arc<TdbTable> {
    let options = TableOptions::new().arrow(Options::new().days(Days::Date32));
    Arc::new(options.open_storage(storage.clone()).unwrap())
}

/// A session in which an array is `t`, and the same cells in memory are `memory`.
fn both(cells_of: &Cells, partitions: usize) -> SessionContext {
    let session = session(partitions);
    let table = table(&cells_of.storage());
    let batch = cells_of.batch(&table.array());
    session
        .register_table("memory", Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap()))
        .unwrap();
    session.register_table("t", table).unwrap();
    session
}

/// The rows of a query that has one column of numbers.
async fn found(session: &SessionContext, sql: &str) -> Vec<i64> {
    let frame = session.sql(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let batches = frame.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut rows: Vec<i64> = batches
        .iter()
        .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec())
        .collect();
    rows.sort_unstable();
    rows
}

#[tokio::test]
async fn filters_are_true_of_the_values_themselves_whatever_types_constants_have() {
    for (partitions, seed) in [(1, 41), (3, 42)] {
        let mut random = Random::new(seed);
        let own = Cells::random(&mut random, 40);
        let session = both(&own, partitions);
        let questions = std::env::var("TDB_QUESTIONS").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
        let mut some = 0;
        for number in 0..250 * questions {
            let (filter, truth) = own.question(&mut random);
            let right: Vec<i64> =
                (0..own.rows()).filter(|row| truth(*row) == Some(true)).map(|row| row as i64).collect();
            some += usize::from(!right.is_empty() && right.len() < own.rows());
            for source in ["t", "memory"] {
                let sql = match number % 3 {
                    0 => format!("SELECT x FROM (SELECT x, {filter} AS c FROM {source}) WHERE c"),
                    _ => format!("SELECT x FROM {source} WHERE {filter}"),
                };
                assert_eq!(found(&session, &sql).await, right, "seed {seed}, question {number}: {sql}");
            }
        }
        assert!(some > 100, "{some} questions have some rows and not all");
    }
}

#[tokio::test]
async fn joins_and_subqueries_compare_constants_exactly_that_become_known_late() {
    let mut random = Random::new(43);
    let own = Cells::random(&mut random, 40);
    let session = both(&own, 2);
    for number in 0..150 {
        let (column, op, literal, truth) = own.comparison(&mut random);
        // DataFusion makes decimal numbers of reals where neither side is known to be a constant;
        // it fails where they do not fit.
        if literal.contains("DECIMAL") && column.starts_with('f') {
            continue;
        }
        let right: Vec<i64> =
            (0..own.rows()).filter(|row| truth(*row) == Some(true)).map(|row| row as i64).collect();
        for sql in [
            format!("SELECT x FROM t JOIN (SELECT {literal} AS v) AS k ON t.{column} {op} k.v"),
            format!("SELECT x FROM (SELECT x, {column}, {literal} AS v FROM t) WHERE {column} {op} v"),
            format!("SELECT x FROM t GROUP BY x, {column} HAVING {column} {op} {literal}"),
            format!("SELECT x FROM t WHERE CASE WHEN {column} {op} {literal} THEN true ELSE false END"),
        ] {
            assert_eq!(found(&session, &sql).await, right, "question {number}: {sql}");
        }
    }
}

#[tokio::test]
async fn columns_of_different_types_are_compared_exactly() {
    let mut random = Random::new(44);
    let own = Cells::random(&mut random, 40);
    let session = both(&own, 2);
    for (number, (left, right)) in own.pairs().into_iter().enumerate() {
        let op = model::OPERATORS[number % model::OPERATORS.len()];
        let rows: Vec<i64> = (0..own.rows())
            .filter(|row| model::holds(op, own.cell(left, *row), own.cell(right, *row)) == Some(true))
            .map(|row| row as i64)
            .collect();
        let (left, right) = (COLUMNS[left].0, COLUMNS[right].0);
        for source in ["t", "memory"] {
            let sql = format!("SELECT x FROM {source} WHERE {left} {op} {right}");
            assert_eq!(found(&session, &sql).await, rows, "{sql}");
        }
    }
    for refused in [
        "SELECT x FROM t WHERE i64 IN (SELECT f64 FROM t)",
        "SELECT x FROM t WHERE u32 = ANY (SELECT f32 FROM t)",
    ] {
        let plan = session.sql(refused).await.unwrap().collect().await.unwrap_err().to_string();
        assert!(plan.contains("not compared exactly"), "{plan}");
    }
}

#[tokio::test]
async fn a_delete_removes_the_cells_of_which_its_condition_is_true_or_nothing() {
    let mut random = Random::new(45);
    let mut removed = 0;
    for number in 0..60 {
        // A delete of the format would also remove what has no value.
        let own = Cells::random(&mut random, 12).without_nulls();
        let session = session(1);
        let table = table(&own.storage());
        session.register_table("t", table).unwrap();
        let (column, op, literal, truth) = own.comparison(&mut random);
        let sql = format!("DELETE FROM t WHERE {column} {op} {literal}");
        let deleted = match session.sql(&sql).await {
            Ok(frame) => frame.collect().await.is_ok(),
            Err(_) => false,
        };
        let left = found(&session, "SELECT x FROM t").await;
        let right: Vec<i64> = (0..own.rows())
            .filter(|row| !deleted || truth(*row) != Some(true))
            .map(|row| row as i64)
            .collect();
        removed += usize::from(deleted && right.len() < own.rows());
        assert_eq!(left, right, "question {number}: {sql}");
    }
    assert!(removed > 5, "{removed}");
}

/// What `INSERT` of a value into a column stores, as text; `None` if it must be refused.
const INSERTED: [(&str, &str, Option<&str>); 44] = [
    ("i32", "1.0", Some("1")),
    ("i32", "1.5", None),
    ("i32", "-0.0", Some("0")),
    ("i32", "2147483648", None),
    ("i64", "9.223372036854776e18", None),
    ("i64", "CAST('7.00' AS DECIMAL(10, 2))", Some("7")),
    ("i64", "CAST('7.25' AS DECIMAL(10, 2))", None),
    ("i64", "CAST('NaN' AS DOUBLE)", None),
    ("u8", "-1", None),
    ("u64", "18446744073709551615", Some("18446744073709551615")),
    ("u64", "1.8446744073709552e19", None),
    ("i8", "'12'", Some("12")),
    ("i8", "'1.5'", None),
    ("f32", "0.1", Some("0.1")),
    ("f32", "16777216", Some("16777216.0")),
    ("f32", "16777217", None),
    ("f32", "16777217.0", Some("16777216.0")),
    ("f32", "1e300", None),
    ("f32", "-1e39", None),
    ("f32", "CAST('inf' AS DOUBLE)", Some("inf")),
    ("f32", "CAST('0.1' AS DECIMAL(10, 2))", Some("0.1")),
    ("f32", "'1e40'", None),
    ("f64", "9007199254740993", None),
    ("f64", "9007199254740992", Some("9007199254740992.0")),
    ("f64", "18446744073709551615", None),
    ("f64", "CAST('0.30' AS DECIMAL(20, 2))", Some("0.3")),
    ("f64", "'1e400'", None),
    ("f64", "NULL", Some("NULL")),
    ("s", "TIMESTAMP '1969-12-31T23:59:59.9'", None),
    ("s", "'1969-12-31T23:59:59.9'", None),
    ("s", "TIMESTAMP '1969-12-31T23:59:59'", Some("1969-12-31T23:59:59")),
    ("s", "'2020-01-01T00:00:00'", Some("2020-01-01T00:00:00")),
    ("s", "DATE '2020-01-01'", Some("2020-01-01T00:00:00")),
    ("ms", "TIMESTAMP '2020-01-01T00:00:00.0005'", None),
    ("ms", "TIMESTAMP '2020-01-01T00:00:00.005'", Some("2020-01-01T00:00:00.005")),
    ("ns", "'3000-01-01'", None),
    ("us", "'3000-01-01T00:00:00.000001'", Some("3000-01-01T00:00:00.000001")),
    ("d", "TIMESTAMP '2020-01-01T12:00:00'", None),
    ("d", "'2020-01-01T12:00:00'", None),
    ("d", "TIMESTAMP '2020-01-01T00:00:00'", Some("2020-01-01")),
    ("text", "'Oslo'", Some("Oslo")),
    ("text", "'Tromsø'", None),
    ("words", "'Tromsø'", Some("Tromsø")),
    ("words", "7", Some("7")),
];

#[tokio::test]
async fn inserted_values_are_stored_as_they_are_or_refused() {
    let attribute = |name: &str, datatype, cells| Attribute::new(name, datatype, cells).with_nulls();
    let builder = ArraySchema::sparse().dimension(Dimension::new("x", 0i64..=999).with_tile(10i64));
    let builder = COLUMNS.iter().fold(builder, |builder, (name, datatype, _)| {
        builder.attribute(attribute(name, *datatype, CellValNum::ONE))
    });
    let builder = builder.attribute(attribute("text", Datatype::StringAscii, CellValNum::Var));
    let schema =
        builder.attribute(attribute("words", Datatype::StringUtf8, CellValNum::Var)).build().unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let session = session(1);
    session.register_table("t", table(&storage)).unwrap();
    let mut x = 0;
    for (column, value, stored) in INSERTED {
        for source in ["VALUES (#, $)", "SELECT #, $", "SELECT #, v FROM (SELECT $ AS v)"] {
            let source = source.replace('#', &x.to_string()).replace('$', value);
            let sql = format!("INSERT INTO t (x, {column}) {source}");
            let done = match session.sql(&sql).await {
                Ok(frame) => frame.collect().await,
                Err(error) => Err(error),
            };
            let question = format!("SELECT {column} FROM t WHERE x = {x}");
            match (stored, done) {
                (Some(stored), Ok(_)) => assert_eq!(ask(&session, &question).await, [stored], "{sql}"),
                (None, Err(error)) => {
                    assert!(ask(&session, &question).await.is_empty(), "{sql}");
                    let error = error.to_string();
                    let why = error.contains(&format!("the column {column}"))
                        || error.contains("onver")
                        || error.contains("out of range");
                    assert!(why, "{sql}: {error}");
                }
                (stored, done) => panic!("{sql}: {done:?} instead of {stored:?}"),
            }
            x += 1;
        }
    }
    // A cast in a SELECT is asked for.
    let sql = "INSERT INTO t (x, s, i32) SELECT 998, CAST(TIMESTAMP '1969-12-31T23:59:58.9' AS TIMESTAMP(0)), CAST(1.5 AS INT)";
    assert_eq!(ask(&session, sql).await, ["1"]);
    assert_eq!(ask(&session, "SELECT i32 FROM t WHERE x = 998").await, ["1"]);
}

#[tokio::test]
async fn operators_of_integers_fail_where_the_result_does_not_fit() {
    let session = both(&Cells::random(&mut Random::new(46), 40), 1);
    for failing in [
        "9223372036854775807 + 1",
        "i64 + 9223372036854775807",
        "-9223372036854775808 - 1",
        "i64 * i64 * i64 * i64",
        "u64 - 18446744073709551615 - 1",
        "-(i64 - i64 - 9223372036854775807 - 1)",
        "u8 * CAST(200 AS TINYINT UNSIGNED) * CAST(200 AS TINYINT UNSIGNED)",
    ] {
        for source in ["t", "memory"] {
            let sql = format!("SELECT x, {failing} FROM {source} WHERE abs(coalesce(i64, 0) % 1000) >= 0");
            let error = session.sql(&sql).await.unwrap().collect().await.unwrap_err().to_string();
            assert!(error.to_lowercase().contains("overflow"), "{sql}: {error}");
        }
    }
    let names = session.sql("SELECT i32 + 1, -i32, sum(i32 + 1) FROM t GROUP BY i32").await.unwrap();
    let names: Vec<_> = names.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["t.i32 + Int64(1)", "(- t.i32)", "sum(t.i32 + Int64(1))"]);
    assert_eq!(ask(&session, "SELECT 5 + 3 * 2 - 1, -(-7)").await, ["10 | 7"]);
}

#[tokio::test]
async fn integers_that_became_decimal_numbers_are_compared_with_reals() {
    let own = Cells::random(&mut Random::new(49), 40);
    let session = both(&own, 1);
    let zeros: Vec<i64> =
        (0..own.rows()).filter(|row| *own.cell(5, *row) == Cell::Integer(0)).map(|row| row as i64).collect();
    assert!(!zeros.is_empty());
    for filter in [
        "u64 + 1 IN (0.5, 1, 1e300, 1e-300)",
        "u64 + 1 < 1.5",
        "NOT (u64 + 1 >= CAST('1.001' AS DECIMAL(10, 3)))",
    ] {
        assert_eq!(found(&session, &format!("SELECT x FROM t WHERE {filter}")).await, zeros, "{filter}");
    }
    // No side is a constant, and no decimal number is that large.
    let known = found(&session, "SELECT x FROM t WHERE u64 IS NOT NULL").await;
    for filter in ["u64 + 1 < 1e300 + x", "-1e300 - x <= u64 + 1", "u64 + 1 <> 1e300 * (x + 1)"] {
        assert_eq!(found(&session, &format!("SELECT x FROM t WHERE {filter}")).await, known, "{filter}");
    }
}

#[tokio::test]
async fn sums_of_integers_are_exact_or_errors_in_every_plan() {
    let mut random = Random::new(47);
    let mut failed = 0;
    for round in 0..12 {
        let rows = 60usize;
        let few = round % 3 == 0;
        let values: Vec<i64> = (0..rows)
            .map(|_| match random.below(if few { 3 } else { 12 }) {
                0 => i64::MAX - random.below(5) as i64,
                1 => i64::MIN + random.below(5) as i64,
                _ => random.below(1000) as i64 - 500,
            })
            .collect();
        let keys: Vec<i64> = (0..rows).map(|_| random.below(6) as i64).collect();
        let schema = ArraySchema::sparse()
            .dimension(Dimension::new("x", 0i64..=999).with_tile(10i64))
            .attribute(Attribute::new("k", Datatype::Int64, CellValNum::ONE))
            .attribute(Attribute::new("v", Datatype::Int64, CellValNum::ONE))
            .capacity(7)
            .build()
            .unwrap();
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema).unwrap();
        let xs: Vec<i64> = (0..rows as i64).collect();
        let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
        let write =
            writer.write().column(WriteColumn::fixed("x", &xs)).column(WriteColumn::fixed("k", &keys));
        write.column(WriteColumn::fixed("v", &values)).commit().unwrap();
        let total: i128 = values.iter().map(|value| i128::from(*value)).sum();
        let mut groups = BTreeMap::<i64, i128>::new();
        keys.iter()
            .zip(&values)
            .for_each(|(key, value)| *groups.entry(*key).or_default() += i128::from(*value));
        let frames = (0..rows).map(|end| {
            values[end.saturating_sub(2)..=end].iter().map(|value| i128::from(*value)).sum::<i128>()
        });
        let frames: Vec<i128> = frames.collect();
        let fits = |sums: &[i128]| {
            sums.iter().all(|sum| i64::try_from(*sum).is_ok()).then(|| {
                let mut sums: Vec<_> = sums.iter().map(ToString::to_string).collect();
                sums.sort_unstable();
                sums
            })
        };
        let of_groups: Vec<i128> = groups.values().copied().collect();
        for partitions in [1, 3] {
            let session = session(partitions);
            let table = table(&storage);
            let batch = cells(&table.array());
            session
                .register_table(
                    "memory",
                    Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap()),
                )
                .unwrap();
            session.register_table("t", table).unwrap();
            for source in ["t", "memory"] {
                for (sql, right) in [
                    (format!("SELECT sum(v) FROM {source}"), fits(&[total])),
                    (format!("SELECT sum(v) FROM (SELECT v FROM {source} ORDER BY v)"), fits(&[total])),
                    (format!("SELECT sum(v) FROM {source} GROUP BY k"), fits(&of_groups)),
                    (format!("SELECT sum(v) FROM {source} GROUP BY k % 100"), fits(&of_groups)),
                    (
                        format!("SELECT sum(v) OVER (ORDER BY x ROWS 2 PRECEDING) FROM {source}"),
                        fits(&frames),
                    ),
                    (format!("SELECT DISTINCT sum(v) OVER () FROM {source}"), fits(&[total])),
                ] {
                    let mine = session.sql(&sql).await.unwrap().collect().await;
                    match (mine, right) {
                        (Ok(batches), Some(right)) => {
                            let mut mine = common::rows(&batches);
                            mine.sort_unstable();
                            assert_eq!(mine, right, "{sql}, {partitions} partitions");
                        }
                        (Err(error), None) => {
                            failed += 1;
                            assert!(error.to_string().contains("overflow: a sum is"), "{sql}: {error}");
                        }
                        (mine, right) => {
                            panic!("{sql}, {partitions} partitions: {mine:?} instead of {right:?}")
                        }
                    }
                }
            }
        }
    }
    assert!(failed > 20, "{failed}");
}

#[test]
fn every_kind_of_column_has_cells_of_both_signs_and_null() {
    let own = Cells::random(&mut Random::new(48), 40);
    for (number, (name, ..)) in COLUMNS.iter().enumerate() {
        let null = (0..own.rows()).filter(|row| *own.cell(number, *row) == Cell::Null).count();
        assert!(null > 0 && null < own.rows(), "{name}");
    }
}
