//! Values and coordinates that a filter rounds: what fragments say of them is about those that were
//! written.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::cast_precision_loss,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed, and its numbers are small"
)]

use std::collections::HashSet;

use proptest::prelude::*;
use tdb_array::error::QueryError;
use tdb_array::query::{Aggregate, QueryCondition};
use tdb_array::schema::{
    ArraySchema, Attribute, ByteWidth, CellValNum, Datatype, Dimension, Filter, Pipeline, ScaleFloat,
};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Error, Layout, MemoryBudget, OpenOptions, WriteColumn, WriteOptions, field};

/// Hundredths.
fn hundredths() -> Pipeline {
    Pipeline::new(vec![Filter::ScaleFloat(ScaleFloat {
        scale: 0.01,
        offset: 0.0,
        byte_width: ByteWidth::Four,
    })])
}

/// A point cloud as PDAL makes it: two real dimensions in hundredths, here of cells in thousandths,
/// and one attribute alike.
fn cloud(fragments: &[Vec<(u16, u16)>], duplicates: bool, capacity: u64) -> Array {
    let storage = MemoryStorage::default();
    let dimension = |name| Dimension::new(name, -1.0f64..=50.0).with_filters(hundredths());
    let schema = ArraySchema::sparse()
        .dimension(dimension("x"))
        .dimension(dimension("y"))
        .attribute(Attribute::new("a", Datatype::Float64, CellValNum::ONE).with_filters(hundredths()))
        .attribute(Attribute::new("n", Datatype::Int32, CellValNum::ONE))
        .capacity(capacity);
    let schema = if duplicates { schema.allow_duplicates() } else { schema }.build().unwrap();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let mut number = 0;
    for (time, cells) in (1..).zip(fragments) {
        let x: Vec<f64> = cells.iter().map(|cell| f64::from(cell.0) / 1000.0).collect();
        let y: Vec<f64> = cells.iter().map(|cell| f64::from(cell.1) / 1000.0).collect();
        let n: Vec<i32> = cells
            .iter()
            .map(|_| {
                number += 1;
                number
            })
            .collect();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("y", &y));
        write.column(WriteColumn::fixed("a", &x)).column(WriteColumn::fixed("n", &n)).commit().unwrap();
    }
    OpenOptions::new().open_storage(storage).unwrap()
}

/// The numbers of cells, with their coordinates and values.
fn rows(cells: &tdb_array::Cells) -> Vec<(i32, f64, f64, f64)> {
    let real = |name: &str| cells.field(name).unwrap().values::<f64>().unwrap().to_vec();
    let n = cells.field("n").unwrap().values::<i32>().unwrap();
    let (x, y, a) = (real("x"), real("y"), real("a"));
    (0..cells.len()).map(|cell| (n[cell], x[cell], y[cell], a[cell])).collect()
}

fn numbers(rows: &[(i32, f64, f64, f64)]) -> Vec<i32> {
    let mut numbers: Vec<i32> = rows.iter().map(|row| row.0).collect();
    numbers.sort_unstable();
    numbers
}

fn all(array: &Array) -> Vec<(i32, f64, f64, f64)> {
    rows(&array.read().order(Layout::RowMajor).collect().unwrap())
}

fn cells() -> impl Strategy<Value = Vec<(u16, u16)>> {
    let ordinate = prop_oneof![2 => 0u16..40, 1 => 0u16..10_000];
    prop::collection::vec((ordinate.clone(), ordinate), 1..60).prop_map(|cells| {
        let mut seen = HashSet::new();
        cells.into_iter().filter(|cell| seen.insert(*cell)).collect()
    })
}

#[test]
fn conditions_are_about_the_values_that_are_read() {
    let array = cloud(&[vec![(1004, 1004)]], true, 10);
    let count = |condition: QueryCondition| array.read().condition(condition).collect().unwrap().len();
    for name in ["a", "x"] {
        assert_eq!(count(field(name).le(1.0)), 1, "{name} is 1.00");
        assert_eq!(count(field(name).gt(1.0)), 0, "{name} is 1.00");
        assert_eq!(count(field(name).eq(1.0)), 1, "{name} is 1.00");
    }
    let totals =
        array.read().aggregate([Aggregate::sum("a"), Aggregate::max("a"), Aggregate::min("x")]).unwrap();
    assert_eq!(totals.iter().map(|total| total.as_f64().unwrap()).collect::<Vec<_>>(), [1.0; 3]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn parts_and_conditions_have_the_cells_of_the_whole(
        fragments in prop::collection::vec(cells(), 1..4),
        duplicates in any::<bool>(),
        capacity in 1u64..12,
        bound in 0u16..40,
        names in prop::sample::select(vec!["a", "x", "y"]),
        memory in 1u64..40,
    ) {
        let array = cloud(&fragments, duplicates, capacity);
        let whole = all(&array);
        if duplicates {
            prop_assert_eq!(whole.len(), fragments.iter().map(Vec::len).sum::<usize>());
        } else {
            let places: HashSet<_> = whole.iter().map(|row| (row.1.to_bits(), row.2.to_bits())).collect();
            // Two cells of one fragment may be rounded to one place.
            let most = fragments.iter().map(Vec::len).sum::<usize>();
            prop_assert!(places.len() <= whole.len() && whole.len() <= most);
        }
        let bound = f64::from(bound) / 1000.0;
        let value = |row: &(i32, f64, f64, f64)| match names { "x" => row.1, "y" => row.2, _ => row.3 };
        for (condition, holds) in [
            (field(names).le(bound), (|a, b| a <= b) as fn(f64, f64) -> bool),
            (field(names).gt(bound), |a, b| a > b),
            (field(names).ne(bound), |a, b| a != b),
        ] {
            let expected: Vec<_> = whole.iter().copied().filter(|row| holds(value(row), bound)).collect();
            let found = rows(&array.read().condition(condition.clone()).collect().unwrap());
            prop_assert_eq!(numbers(&found), numbers(&expected), "{} {}", names, bound);
            let count = array.read().condition(condition).aggregate([Aggregate::count()]).unwrap();
            prop_assert_eq!(count[0].as_u64(), u64::try_from(expected.len()).ok());
        }
        let totals = array.read().aggregate([Aggregate::max("a"), Aggregate::min("a")]).unwrap();
        let max = whole.iter().map(|row| row.3).fold(f64::MIN, f64::max);
        prop_assert_eq!(totals[0].as_f64(), Some(max));
        // With ranges of all dimensions, in parts of little memory and cut into partitions: the
        // same cells, each once.
        for order in [Layout::RowMajor, Layout::ColMajor, Layout::Unordered] {
            let read = || array.read().range("x", -1.0..=50.0).range("y", bound..=50.0).order(order);
            let expected = rows(&read().collect().unwrap());
            let mut found = Vec::new();
            let batches = |bytes| read().memory(MemoryBudget::from_bytes(bytes)).batches();
            let batches = match batches(memory * 100) {
                Err(Error::Query(QueryError::BudgetTooSmall { min, .. })) => batches(min.bytes()),
                batches => batches,
            };
            for batch in batches.unwrap() {
                found.extend(rows(&batch.unwrap()));
            }
            prop_assert_eq!(numbers(&found), numbers(&expected), "batches in {:?}", order);
            let mut found = Vec::new();
            for part in read().partitions(4).unwrap() {
                found.extend(rows(&part.collect().unwrap()));
            }
            prop_assert_eq!(numbers(&found), numbers(&expected), "partitions in {:?}", order);
            let count = read().aggregate([Aggregate::count()]).unwrap();
            prop_assert_eq!(count[0].as_u64(), u64::try_from(expected.len()).ok(), "{:?}", order);
        }
    }
}
