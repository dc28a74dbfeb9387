//! Arrays of dates that libtiledb 1.6 and 1.7 wrote: their rectangles do not contain all cells, so
//! every range is compared with the cells of a whole read.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use tdb_array::query::Aggregate;
use tdb_array::schema::ArrayType;
use tdb_array::{Array, Cells, Layout, MemoryBudget, Read, field};
use tdb_codec::{FormatVersion, Gate};

/// The fixtures of that kind.
fn arrays() -> Vec<(String, Array)> {
    let all = crate::common::arrays().into_iter().map(|(id, path)| (id, Array::open(path).unwrap()));
    let arrays: Vec<_> = all
        .filter(|(_, array)| {
            let dates = array.schema().domain.dimensions.iter().all(|own| own.datatype.is_datetime());
            let old = |version: FormatVersion| !version.has(Gate::DateRectangles);
            dates && array.fragments().iter().any(|own| !own.is_dense() && old(own.version()))
        })
        .collect();
    assert!(arrays.len() >= 6, "only {} arrays", arrays.len());
    arrays
}

/// The coordinates of all cells, each with the cell's text.
fn cells_of(array: &Array, cells: &Cells) -> Vec<(Vec<i64>, String)> {
    let dimensions = &array.schema().domain.dimensions;
    let columns: Vec<&[i64]> =
        dimensions.iter().map(|own| cells.field(&own.name).unwrap().values().unwrap()).collect();
    (0..cells.len())
        .map(|cell| (columns.iter().map(|column| column[cell]).collect(), crate::common::row(cells, cell)))
        .collect()
}

/// A read of every field.
fn read(array: &Array) -> Read {
    array.read().fields(array.schema().fields().map(|own| own.name.to_owned()).collect::<Vec<_>>())
}

/// Every pair of values that cells have in one dimension, and of the days next to them.
fn pairs(cells: &[(Vec<i64>, String)], dimension: usize) -> Vec<(i64, i64)> {
    let mut ends: Vec<i64> = cells.iter().map(|(at, _)| at[dimension]).collect();
    ends.sort_unstable();
    ends.dedup();
    let all = ends.iter().flat_map(|low| ends.iter().map(move |high| (*low, *high)));
    all.filter(|(low, high)| low <= high).collect()
}

#[test]
fn every_range_of_dates_holds_the_cells_that_a_whole_read_has_there() {
    for (id, array) in arrays() {
        let sparse = array.schema().array_type == ArrayType::Sparse;
        let names: Vec<&str> = array.schema().domain.dimensions.iter().map(|own| &*own.name).collect();
        let orders = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder];
        let orders = orders.into_iter().chain(sparse.then_some(Layout::Unordered));
        for order in orders {
            let whole = cells_of(&array, &read(&array).order(order).collect().unwrap());
            for (dimension, name) in names.iter().enumerate() {
                for (low, high) in pairs(&whole, dimension) {
                    let inside = whole.iter().filter(|(at, _)| (low..=high).contains(&at[dimension]));
                    let expected: Vec<&String> = inside.map(|(_, text)| text).collect();
                    let asked = || read(&array).order(order).range(*name, low..=high);
                    let found = cells_of(&array, &asked().collect().unwrap());
                    let found: Vec<&String> = found.iter().map(|(_, text)| text).collect();
                    assert_eq!(found, expected, "{id}: {name} {low}..={high}, {order:?}");
                }
            }
        }
    }
}

#[test]
fn streams_counts_and_conditions_on_dates_agree_with_a_whole_read() {
    for (id, array) in
        arrays().into_iter().filter(|(_, array)| array.schema().array_type == ArrayType::Sparse)
    {
        let whole = cells_of(&array, &read(&array).order(Layout::RowMajor).collect().unwrap());
        let count = |read: Read| read.aggregate([Aggregate::count()]).unwrap()[0].as_u64().unwrap();
        assert_eq!(count(array.read()), u64::try_from(whole.len()).unwrap(), "{id}");
        let names: Vec<&str> = array.schema().domain.dimensions.iter().map(|own| &*own.name).collect();
        for (dimension, name) in names.iter().enumerate() {
            for (low, high) in pairs(&whole, dimension) {
                let inside = whole.iter().filter(|(at, _)| (low..=high).contains(&at[dimension]));
                let expected: Vec<&String> = inside.map(|(_, text)| text).collect();
                let what = format!("{id}: {name} {low}..={high}");
                let asked = || read(&array).order(Layout::RowMajor).range(*name, low..=high);
                assert_eq!(count(asked()), u64::try_from(expected.len()).unwrap(), "{what}");
                let condition = field(*name).ge(low).and(field(*name).le(high));
                let found = read(&array).order(Layout::RowMajor).condition(condition).collect().unwrap();
                let found = cells_of(&array, &found);
                assert_eq!(
                    found.iter().map(|(_, text)| text).collect::<Vec<_>>(),
                    expected,
                    "{what} as condition"
                );
                let mut found = Vec::new();
                for batch in asked().batch_memory(MemoryBudget::from_bytes(20_000)).batches().unwrap() {
                    found.extend(cells_of(&array, &batch.unwrap()).into_iter().map(|(_, text)| text));
                }
                assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{what} as a stream");
                let explained = asked().explain().unwrap();
                assert!(explained.cells >= u64::try_from(expected.len()).unwrap(), "{what}");
            }
        }
    }
}
