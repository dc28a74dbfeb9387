//! Cells that were written before there was a current domain, or outside of one that is read at an
//! earlier time: no read finds them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use core::ops::Bound::{self, Included, Unbounded};

use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Range};
use tdb_array::storage::MemoryStorage;
use tdb_array::write::SchemaEvolution;
use tdb_array::{Array, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions, field};

fn at(time: u64) -> WriteOptions {
    WriteOptions::new().timestamp(time)
}

/// A sparse array of numbers and words, without a current domain at first.
fn create(duplicates: bool) -> MemoryStorage {
    let storage = MemoryStorage::default();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=100).with_tile(10i32))
        .dimension(Dimension::string("s"))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("b", Datatype::Int32, CellValNum::ONE));
    let schema = if duplicates { schema.allow_duplicates() } else { schema }.build().unwrap();
    at(1).create_storage(&storage, &schema).unwrap();
    storage
}

fn write(storage: &MemoryStorage, time: u64, cells: &[(i32, &str, i32)]) {
    let x: Vec<i32> = cells.iter().map(|cell| cell.0).collect();
    let words: Vec<u8> = cells.iter().flat_map(|cell| cell.1.bytes()).collect();
    let ends = cells.iter().scan(0u64, |end, cell| {
        *end += u64::try_from(cell.1.len()).ok()?;
        Some(*end)
    });
    let offsets: Vec<u64> = core::iter::once(0).chain(ends).collect();
    let a: Vec<i32> = cells.iter().map(|cell| cell.2).collect();
    let writer = at(time).open_storage(storage.clone()).unwrap();
    let write =
        writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::var("s", &words, &offsets));
    write.column(WriteColumn::fixed("a", &a)).column(WriteColumn::fixed("b", &a)).commit().unwrap();
}

fn expand(storage: &MemoryStorage, time: u64, x: (i32, i32), s: (&str, &str)) {
    let ranges = vec![Range::new(x.0.to_le_bytes(), x.1.to_le_bytes()), Range::new(s.0, s.1)];
    at(time).evolve_storage(storage.clone(), &SchemaEvolution::new().expand_current_domain(ranges)).unwrap();
}

const CELLS: [(i32, &str, i32); 4] = [(12, "b", 1), (14, "a", 2), (16, "b", 3), (18, "c", 4)];

/// The array of libtiledb's own test, whose current domain leaves two of four cells out.
fn late(duplicates: bool) -> Array {
    let storage = create(duplicates);
    write(&storage, 2, &CELLS);
    expand(&storage, 3, (10, 16), ("b", "c"));
    OpenOptions::new().open_storage(storage).unwrap()
}

fn values(array: &Array, order: Layout) -> Vec<i32> {
    let cells = array.read().order(order).collect().unwrap();
    let mut values = cells.field("a").unwrap().values::<i32>().unwrap().to_vec();
    values.sort_unstable();
    values
}

#[test]
fn cells_outside_of_a_current_domain_that_came_later_are_not_read() {
    for duplicates in [false, true] {
        let array = late(duplicates);
        for order in [Layout::Unordered, Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
            assert_eq!(values(&array, order), [1, 3], "{order:?}");
        }
        let batches = array.read().batches().unwrap();
        assert_eq!(batches.map(|batch| batch.unwrap().len()).sum::<usize>(), 2);
        let parts = array.read().tile_partitions(3).unwrap();
        assert_eq!(parts.into_iter().map(|part| part.collect().unwrap().len()).sum::<usize>(), 2);
        let totals =
            array.read().aggregate([Aggregate::count(), Aggregate::sum("a"), Aggregate::max("x")]).unwrap();
        assert_eq!(
            totals
                .iter()
                .map(|total| total.as_i64().or(total.as_u64().and_then(|n| i64::try_from(n).ok())))
                .collect::<Vec<_>>(),
            [Some(2), Some(4), Some(16)]
        );
        let groups = array.read().group_by(["a"]).aggregate([Aggregate::count()]).unwrap();
        assert_eq!(groups.len(), 2);
        let explained = array.read().explain().unwrap();
        assert!(!explained.exact, "not all cells of the tile are returned");
        assert!(!array.stored_cells().unwrap().is_exact, "nor all of the fragment");
        assert_eq!(array.read().condition(field("a").ge(2)).collect().unwrap().len(), 1);
    }
}

#[test]
fn ranges_that_reach_to_the_ends_of_a_current_domain_end_there() {
    let array = late(false);
    let count = |x: (Bound<i32>, Bound<i32>), s: (Bound<&str>, Bound<&str>)| {
        array
            .read()
            .range("x", x)
            .range("s", (s.0.map(str::to_owned), s.1.map(str::to_owned)))
            .collect()
            .unwrap()
            .len()
    };
    let all = (Unbounded, Unbounded);
    assert_eq!(count((Included(10), Included(16)), (Unbounded, Unbounded)), 2);
    assert_eq!(count((Included(0), Included(100)), (Unbounded, Unbounded)), 2);
    assert_eq!(count(all, (Included("a"), Included("b"))), 2);
    assert_eq!(count((Unbounded, Included(15)), (Included("a"), Included("z"))), 1);
    assert_eq!(count((Included(13), Unbounded), (Unbounded, Included("b"))), 1);
}

#[test]
fn a_current_domain_that_grows_shows_the_cells_again() {
    let storage = create(false);
    write(&storage, 2, &CELLS);
    expand(&storage, 3, (10, 16), ("b", "c"));
    expand(&storage, 5, (10, 20), ("a", "c"));
    let open =
        |until| OpenOptions::new().window(TimeWindow::until(until)).open_storage(storage.clone()).unwrap();
    assert_eq!(
        [open(2), open(3), open(5)].map(|array| values(&array, Layout::Unordered)),
        [vec![1, 2, 3, 4], vec![1, 3], vec![1, 2, 3, 4]]
    );
}

#[test]
fn a_write_at_a_time_when_the_current_domain_was_smaller_is_not_read_at_that_time() {
    let storage = create(false);
    expand(&storage, 2, (10, 16), ("b", "c"));
    expand(&storage, 9, (0, 100), ("a", "z"));
    write(&storage, 5, &CELLS);
    let open =
        |until| OpenOptions::new().window(TimeWindow::until(until)).open_storage(storage.clone()).unwrap();
    assert_eq!(values(&open(5), Layout::Unordered), [1, 3]);
    assert_eq!(values(&open(9), Layout::Unordered), [1, 2, 3, 4]);
}
