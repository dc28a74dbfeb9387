//! Results with filters pushed down are the same as those of DataFusion for the same cells in
//! memory.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a panic is a failure"
)]

mod common;

use std::sync::Arc;

use common::{Random, cells, fixture, rows};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, Operator, binary_expr, ident, lit};
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_datafusion::{TableOptions, TdbTable};

/// A value of a column, from any of its rows, or a special floating-point value.
fn literal(batch: &RecordBatch, column: usize, random: &mut Random) -> ScalarValue {
    let values = batch.column(column);
    let value = ScalarValue::try_from_array(values, random.below(values.len())).unwrap();
    let special = [f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 2.5];
    match (value, random.below(4)) {
        (ScalarValue::Dictionary(_, value), _) => *value,
        (ScalarValue::Float64(_), 0) => ScalarValue::Float64(Some(special[random.below(7)])),
        (ScalarValue::Float32(_), 0) => ScalarValue::Float64(Some(special[random.below(7)])),
        (ScalarValue::Int64(Some(value)), 0) => ScalarValue::Int64(Some(value.saturating_add(1))),
        // Literals of other types, which DataFusion casts to the column's type.
        (ScalarValue::Int32(Some(value)), 0) => ScalarValue::Float64(Some(f64::from(value) + 0.5)),
        (ScalarValue::UInt8(Some(value)), 0) => ScalarValue::Int64(Some(i64::from(value) * 2 - 100)),
        (ScalarValue::LargeUtf8(value), 0) => ScalarValue::Utf8(value),
        (value, _) => value,
    }
}

fn is_comparable(data_type: &DataType) -> bool {
    let nested = data_type.is_nested();
    !nested && !matches!(data_type, DataType::FixedSizeBinary(_) | DataType::Duration(_))
}

/// A filter on one column.
fn leaf(batch: &RecordBatch, random: &mut Random) -> Expr {
    let number = random.below(batch.num_columns());
    let schema = batch.schema();
    let column = ident(schema.field(number).name());
    let mut value = || lit(literal(batch, number, random));
    let values = [value(), value(), value(), value()];
    if !is_comparable(schema.field(number).data_type()) {
        return if random.below(2) == 0 { column.is_null() } else { column.is_not_null() };
    }
    if schema.field(number).data_type() == &DataType::Boolean && random.below(2) == 0 {
        return column;
    }
    let [first, second, ..] = values.clone();
    let operators =
        [Operator::Eq, Operator::NotEq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq];
    match random.below(14) {
        0 => column.is_null(),
        1 => column.is_not_null(),
        2 => column.in_list(values[..random.below(4) + 1].to_vec(), false),
        3 => column.in_list(values[..random.below(4) + 1].to_vec(), true),
        4 | 5 => column.between(first, second),
        6 => column.not_between(first, second),
        7 => binary_expr(first, operators[random.below(6)], column),
        _ => binary_expr(column, operators[random.below(6)], first),
    }
}

fn tree(batch: &RecordBatch, random: &mut Random, depth: usize) -> Expr {
    match random.below(if depth == 0 { 1 } else { 5 }) {
        0 => leaf(batch, random),
        1 => !tree(batch, random, depth - 1),
        2 => tree(batch, random, depth - 1).or(tree(batch, random, depth - 1)),
        _ => tree(batch, random, depth - 1).and(tree(batch, random, depth - 1)),
    }
}

/// How many times as many questions are asked as usual: `TDB_QUESTIONS=3` asks some 7,000.
fn more() -> usize {
    std::env::var("TDB_QUESTIONS").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// Runs `count` queries on both tables; returns how many plans had ranges, conditions, and no
/// remaining filter.
async fn compare(name: &str, table: TdbTable, seed: u64, count: usize) -> [usize; 3] {
    let batch = cells(&table.array());
    let session =
        SessionContext::new_with_config(SessionConfig::new().with_target_partitions(3).with_batch_size(16));
    let memory = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]]).unwrap();
    session.register_table("memory", Arc::new(memory)).unwrap();
    session.register_table("array", Arc::new(table)).unwrap();
    let mut random = Random::new(seed);
    let mut pushed = [0; 3];
    for number in 0..count * more() {
        let filter = tree(&batch, &mut random, 3);
        let columns: Vec<_> = batch.schema().fields().iter().map(|field| ident(field.name())).collect();
        let columns: Vec<_> = columns.into_iter().filter(|_| random.below(3) > 0).collect();
        let mut answers = Vec::new();
        for table in ["memory", "array"] {
            let mut frame = session.table(table).await.unwrap().filter(filter.clone()).unwrap();
            if !columns.is_empty() {
                frame = frame.select(columns.clone()).unwrap();
            }
            let plan = match frame.create_physical_plan().await {
                Ok(plan) => plan,
                // DataFusion itself rejects some filters, such as one that overflows while it is
                // simplified.
                Err(error) => panic!("{name}: question {number}: {filter}: {error}"),
            };
            let shown = displayable(plan.as_ref()).indent(false).to_string();
            let found = collect(plan, session.task_ctx()).await;
            let found = found.unwrap_or_else(|error| panic!("{name}: {filter}\n{shown}: {error}"));
            let mut found = rows(&found);
            found.sort_unstable();
            answers.push((found, shown));
        }
        let (mine, shown) = answers.pop().unwrap();
        let (theirs, _) = answers.pop().unwrap();
        assert!(mine == theirs, "{name}: question {number}: {filter}\n{shown}\n{mine:#?}\nbut {theirs:#?}");
        pushed[0] += usize::from(shown.contains("ranges="));
        pushed[1] += usize::from(shown.contains("condition="));
        pushed[2] += usize::from(!shown.contains("FilterExec"));
    }
    pushed
}

fn table(storage: MemoryStorage) -> TdbTable {
    TableOptions::new().open_storage(storage).unwrap()
}

#[tokio::test]
async fn a_sparse_array_with_versions_and_deletes_answers_as_its_cells_in_memory() {
    let pushed = compare("sparse", table(common::sparse()), 11, 400).await;
    assert!(pushed[0] > 20 && pushed[1] > 100 && pushed[2] > 60, "{pushed:?}");
}

#[tokio::test]
async fn a_sparse_array_with_duplicates_and_strings_answers_as_its_cells_in_memory() {
    let pushed = compare("duplicates", table(common::duplicates()), 12, 400).await;
    assert!(pushed[0] > 20 && pushed[1] > 100 && pushed[2] > 60, "{pushed:?}");
}

#[tokio::test]
async fn a_dense_array_with_fills_answers_as_its_cells_in_memory() {
    let pushed = compare("dense", table(common::dense()), 13, 300).await;
    // Each plan shows the box that it reads; conditions would leave out rows that were never
    // written.
    assert!(pushed[1] == 0 && pushed[2] > 10, "{pushed:?}");
}

#[tokio::test]
async fn a_dense_array_without_fills_answers_as_its_cells_in_memory() {
    let pushed = compare("whole", table(common::whole()), 14, 400).await;
    assert!(pushed[1] > 200 && pushed[2] > 10, "{pushed:?}");
}

/// A sparse array of fragments that overlap, with one dimension, along which arrays can be sorted.
fn line(random: &mut Random) -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", -20i64..=999).with_tile(10i64))
        .attribute(Attribute::new("small", Datatype::Int64, CellValNum::ONE))
        .capacity(7)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for time in 1..=3 {
        let mut xs: Vec<i64> = (0..200).map(|_| i64::try_from(random.below(600)).unwrap() - 20).collect();
        xs.sort_unstable();
        xs.dedup();
        let small: Vec<i64> = xs.iter().map(|_| i64::try_from(random.below(256)).unwrap()).collect();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().column(WriteColumn::fixed("x", &xs));
        write.column(WriteColumn::fixed("small", &small)).commit().unwrap();
    }
    storage
}

/// Questions about the first rows in the order of the dimension: joins, sorts and aggregates above
/// a limit.
fn above_a_limit(table: &str, random: &mut Random) -> String {
    let most = [1, 3, 20, 60, 200, 1000][random.below(6)];
    let filter = match random.below(3) {
        0 => String::new(),
        _ => format!("WHERE small > {}", random.below(256)),
    };
    let some = format!("(SELECT x, small FROM {table} {filter} ORDER BY x LIMIT {most})");
    let keys = format!("(VALUES ({}), ({}), ({}))", random.below(40), random.below(300), random.below(600));
    let key = ["x", "small"][random.below(2)];
    match random.below(5) {
        0 => format!("SELECT s.x, s.small FROM {some} AS s JOIN {keys} AS k (v) ON s.{key} = k.v - 20"),
        1 => format!("SELECT count(*), sum(small), min(x), max(x) FROM {some}"),
        2 => format!("SELECT x, small FROM {some} ORDER BY small DESC, x LIMIT 2"),
        3 => format!("SELECT max(small) FROM {some} WHERE {key} IN (SELECT v FROM {keys} AS k (v))"),
        _ => format!(
            "SELECT o.x, count(*) FROM {table} AS o JOIN {some} AS s ON o.{key} = s.{key} GROUP BY o.x"
        ),
    }
}

#[tokio::test]
async fn what_is_above_a_limit_does_not_choose_its_rows() {
    for (partitions, seed) in [(1, 31), (3, 32)] {
        let mut random = Random::new(seed);
        let array = table(line(&mut random));
        let batch = cells(&array.array());
        let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(16);
        let session = SessionContext::new_with_config(config);
        tdb_datafusion::register(&session);
        let memory = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]]).unwrap();
        session.register_table("memory", Arc::new(memory)).unwrap();
        session.register_table("array", Arc::new(array)).unwrap();
        let mut limited = 0;
        for _ in 0..150 * more() {
            let asked = above_a_limit("memory", &mut random);
            let mut answers = Vec::new();
            for sql in [asked.clone(), asked.replace("memory", "\"array\"")] {
                let plan = session.sql(&sql).await.unwrap().create_physical_plan().await.unwrap();
                let shown = displayable(plan.as_ref()).indent(false).to_string();
                limited += usize::from(shown.contains("limit="));
                let mut found = rows(&collect(plan, session.task_ctx()).await.unwrap());
                found.sort_unstable();
                answers.push((found, shown));
            }
            let ((theirs, _), (mine, shown)) = (&answers[0], &answers[1]);
            assert_eq!(mine, theirs, "{asked}\n{shown}");
        }
        assert!(partitions > 1 || limited > 50, "{limited}");
    }
}

/// A row in which zeros behind the keys have no sign: zeros of both signs are equal, and DataFusion
/// takes the one that it saw first for the least.
fn with_one_zero(row: &str, keys: usize) -> String {
    let values = row.split(" | ").enumerate();
    let values = values.map(|(at, text)| if at >= keys && text == "-0.0" { "0.0" } else { text });
    values.collect::<Vec<_>>().join(" | ")
}

/// Aggregates that arrays compute themselves where filters leave nothing to DataFusion, of all rows
/// and of groups; returns how often they did each.
async fn compare_aggregates(name: &str, table: TdbTable, seed: u64, count: usize) -> [usize; 2] {
    use datafusion::functions_aggregate::expr_fn::{avg, count as count_of, count_distinct, max, min, sum};

    let batch = cells(&table.array());
    let partitions = if seed.is_multiple_of(2) { 1 } else { 3 };
    let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(16);
    let session = SessionContext::new_with_config(config);
    tdb_datafusion::register(&session);
    let memory = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]]).unwrap();
    session.register_table("memory", Arc::new(memory)).unwrap();
    session.register_table("array", Arc::new(table)).unwrap();
    let functions = || {
        let wide = || ident("count");
        let all = vec![
            count_of(lit(1)),
            count_of(wide()),
            count_of(ident("name")),
            count_of(ident("real")),
            sum(wide()),
            sum(ident("small")),
            avg(wide()),
            avg(ident("small")),
            min(wide()),
            max(ident("small")),
            min(ident("time")),
            max(ident("time")),
        ];
        all
    };
    let distinct = || ["count", "name", "small"].map(|name| count_distinct(ident(name)));
    let mut random = Random::new(seed);
    let mut computed = [0; 2];
    for number in 0..count * more() {
        let mut filter = tree(&batch, &mut random, 2);
        let schema = batch.schema();
        let (mut keys, mut has_real_key) = (Vec::new(), false);
        for _ in 0..random.below(4) {
            let field = schema.field(random.below(batch.num_columns()));
            if !field.data_type().is_nested() && !keys.contains(&ident(field.name())) {
                keys.push(ident(field.name()));
                has_real_key |= field.data_type().is_floating();
            }
        }
        let some = if keys.is_empty() { 3 } else { 2 };
        let mut chosen: Vec<_> = functions().into_iter().filter(|_| random.below(some) > 0).collect();
        // Not in groups: there DataFusion forgets what was before a NaN, so that its extremes
        // depend on the order of rows.
        if keys.is_empty() && number % 2 == 0 {
            chosen.extend([min(ident("real")), max(ident("real"))]);
        }
        // One `count(DISTINCT …)` makes another plan than several functions, and arrays compute
        // several only of all rows.
        if number % 4 == 3 {
            chosen.retain(|_| random.below(12) == 0);
            let first = chosen.len();
            chosen.extend(distinct().into_iter().filter(|_| random.below(2) == 0));
            if chosen.len() == first {
                chosen.extend(distinct().into_iter().next());
            }
            if chosen.len() > 1 {
                filter = lit(true);
            }
        }
        let chosen = if chosen.is_empty() && keys.is_empty() { functions() } else { chosen };
        let mut answers = Vec::new();
        for table in ["memory", "array"] {
            let frame = session.table(table).await.unwrap().filter(filter.clone()).unwrap();
            let frame = frame.aggregate(keys.clone(), chosen.clone()).unwrap();
            let plan = frame.create_physical_plan().await.unwrap();
            let shown = displayable(plan.as_ref()).indent(false).to_string();
            computed[0] += usize::from(shown.contains("TdbAggregateExec"));
            computed[1] += usize::from(shown.contains("TdbGroupsExec"));
            let found = collect(plan, session.task_ctx()).await;
            let found = found.unwrap_or_else(|error| panic!("{name}: {filter}\n{shown}: {error}"));
            let mut found: Vec<String> =
                rows(&found).iter().map(|row| with_one_zero(row, keys.len())).collect();
            found.sort_unstable();
            answers.push((found, shown));
        }
        let ((theirs, _), (mine, shown)) = (&answers[0], &answers[1]);
        // Where a filter makes a real key constant, DataFusion takes rows for sorted by it, and
        // makes a group twice if zeros of both signs take turns.
        if has_real_key && shown.contains("ordering_mode=") {
            continue;
        }
        assert_eq!(mine, theirs, "{name}: question {number}: {filter}\n{shown}");
    }
    computed
}

#[tokio::test]
async fn aggregates_that_arrays_compute_are_those_of_the_cells_in_memory() {
    for seed in [21, 22] {
        let computed = compare_aggregates("sparse", table(common::sparse()), seed, 200).await;
        assert!(computed.iter().all(|times| *times > 10), "{computed:?}");
        let computed = compare_aggregates("duplicates", table(common::duplicates()), seed, 200).await;
        assert!(computed.iter().all(|times| *times > 10), "{computed:?}");
    }
    let computed = compare_aggregates("dense", table(common::dense()), 23, 30).await;
    assert_eq!(computed, [0, 0], "fill values are rows in SQL");
}

#[tokio::test]
async fn arrays_of_libtiledb_answer_as_their_cells_in_memory() {
    let names = [
        "base_nullable_sparse",
        "base_strings",
        "enumeration",
        "enumeration_types",
        "enumeration_extended",
        "evolved_sparse",
        "evolved_dense",
        "evolved_chain",
        "evolved_enumeration",
        "nan_coordinates",
        "deletes",
        "deletes_consolidated",
        "delete_operators",
        "sparse_dups",
        "sparse_dims_mixed",
        "sparse_dim_datetime_day",
        "sparse_dim_float32",
        "sparse_dim_uint64",
        "sparse_huge_domain",
        "hilbert_float64",
        "hilbert_string",
        "nullable_types",
        "quickstart",
        "dense2d_cc",
        "dense_dim_uint64",
        "dense_negative",
        "current_domain_sparse",
        "current_domain_dense",
        "attr_multi",
        "attr_strings_var_sparse",
        "attr_float_sparse",
        "attr_time_sparse",
        "attr_datetime_sparse",
        "odd_names",
        "consolidated_sparse",
        "consolidated_dense",
        "real_one_point",
        "all_null_sparse",
        "fill_custom",
    ];
    for (seed, name) in names.into_iter().enumerate() {
        let table = TdbTable::open(fixture(name)).expect(name);
        compare(name, table, u64::try_from(seed).unwrap() + 100, 25).await;
    }
}
