//! A budget that is too small is rejected with the least budget that works, and that budget works.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests: a panic is a failure")]

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use tdb_array::error::QueryError;
use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::{Durability, MemoryStorage};
use tdb_array::{Array, Error, Layout, MemoryBudget, OpenOptions, Read, WriteColumn, WriteOptions, field};
use tdb_schema::{Attribute, Dimension, Domain};

use crate::common::Strings;

fn bytes(bytes: u64) -> MemoryBudget {
    MemoryBudget::from_bytes(bytes)
}

/// The least budget that is named in the error for a tiny one.
fn least<T>(ask: impl Fn(MemoryBudget) -> tdb_array::Result<T>) -> MemoryBudget {
    match ask(bytes(1)) {
        Err(Error::Query(QueryError::BudgetTooSmall { budget, min: least })) => {
            assert_eq!(budget, bytes(1));
            assert!(least > budget);
            least
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("one byte is enough"),
    }
}

/// The number of cells of a stream.
fn count(read: Read) -> tdb_array::Result<usize> {
    read.batches()?.map(|batch| Ok(batch?.len())).sum()
}

fn create(schema: &ArraySchema) -> (MemoryStorage, WriteOptions) {
    let storage = MemoryStorage::default();
    let options = WriteOptions::new().durability(Durability::Buffered);
    options.clone().create_storage(&storage, schema).unwrap();
    (storage, options)
}

/// A dense array with strings, one tile of which is much larger than the others.
fn dense() -> Array {
    let domain = Domain::new(vec![Dimension::new("x", 0i32..=9999).with_tile(1000)]);
    let schema = ArraySchema::new(ArrayType::Dense, domain)
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .with_attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var));
    let (storage, options) = create(&schema);
    let a: Vec<i64> = (0..10_000).collect();
    let long = |cell: &i64| if cell / 1000 == 7 { 300 } else { 3 };
    let strings = Strings::new(a.iter().map(|cell| "x".repeat(long(cell))));
    let write = options.open_storage(storage.clone()).unwrap();
    let write = write.write().range("x", 0..=9999).column(WriteColumn::fixed("a", &a));
    write.column(strings.column("s")).commit().unwrap();
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

/// Three fragments that overlap, with tiles of several sizes; `string` selects the type of the
/// dimension.
fn sparse(string: bool, duplicates: bool) -> Array {
    let dimension =
        if string { Dimension::string("x") } else { Dimension::new("x", 0i64..=99_999).with_tile(1000i64) };
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![dimension]))
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .with_attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var));
    schema.capacity = 2000;
    schema.allows_duplicates = duplicates;
    let (storage, options) = create(&schema);
    for fragment in 0..3 {
        let a: Vec<i64> = (0..5000).map(|cell| cell * 3 + fragment).collect();
        let names = Strings::new(a.iter().map(|x| format!("{x:05}")));
        let long = |cell: &i64| if cell / 3000 == fragment { 200 } else { 2 };
        let strings = Strings::new(a.iter().map(|cell| "y".repeat(long(cell))));
        let writer =
            options.clone().timestamp(1 + fragment.unsigned_abs()).open_storage(storage.clone()).unwrap();
        let x = if string { names.column("x") } else { WriteColumn::fixed("x", &a) };
        let write = writer.write().order(Layout::GlobalOrder).column(x).column(WriteColumn::fixed("a", &a));
        write.column(strings.column("s")).commit().unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

fn arrays() -> Vec<(&'static str, Array, usize)> {
    vec![
        ("dense", dense(), 10_000),
        ("sparse", sparse(false, false), 15_000),
        ("sparse with duplicates", sparse(false, true), 15_000),
        ("strings", sparse(true, false), 15_000),
    ]
}

#[test]
fn the_least_budget_that_is_named_streams_everything() {
    for (name, array, cells) in arrays() {
        for order in [Layout::RowMajor, Layout::GlobalOrder, Layout::Unordered] {
            let named = least(|budget| count(array.read().order(order).memory(budget)));
            let found = count(array.read().order(order).memory(named));
            assert!(matches!(found, Ok(found) if found == cells), "{name}, {order:?}: {found:?}");
            assert!(named < bytes(16 << 20), "{name}, {order:?}: {named} for at most 5 MiB");
        }
    }
}

#[test]
fn the_least_budget_of_a_condition_streams_what_satisfies_it() {
    for (name, array, cells) in arrays() {
        let read = || array.read().condition(field("a").ge(3).and(field("s").ne("z")));
        let left = if name == "dense" { cells } else { cells - 3 };
        let named = least(|budget| count(read().memory(budget)));
        let found = count(read().memory(named));
        assert!(matches!(found, Ok(found) if found == left), "{name}: {found:?}");
        let plain = least(|budget| count(array.read().memory(budget)));
        assert!(named > plain, "{name}: the condition's columns take room beside {plain}");
    }
}

#[test]
fn the_least_budget_of_aggregates_computes_them() {
    let list = [Aggregate::count(), Aggregate::sum("a"), Aggregate::max("s")];
    for (name, array, _) in arrays() {
        let read = || array.read().condition(field("a").ge(3).and(field("s").ne("z")));
        let whole = read().aggregate(list.clone()).unwrap();
        let named = least(|budget| read().memory(budget).aggregate(list.clone()));
        assert_eq!(read().memory(named).aggregate(list.clone()).unwrap(), whole, "{name}");
    }
}

#[test]
fn a_result_that_does_not_fit_names_what_it_needs_and_fits_then() {
    for (name, array, cells) in arrays() {
        let mut budget = least(|budget| count(array.read().memory(budget)));
        let mut refused = 0;
        let len = loop {
            match array.read().order(Layout::RowMajor).memory(budget).collect() {
                Ok(cells) => break cells.len(),
                Err(Error::Query(
                    QueryError::OverBudget { needed, .. } | QueryError::BudgetTooSmall { min: needed, .. },
                )) => {
                    assert!(needed > budget, "{name}: {needed} after {budget}");
                    (budget, refused) = (needed, refused + 1);
                }
                Err(error) => panic!("{name}: {error}"),
            }
        };
        assert_eq!(len, cells);
        assert!(refused > 0, "{name} fits {budget}");
    }
}

/// Twenty fragments of three cells, whose strings are interleaved.
fn small_fragments() -> Array {
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![Dimension::string("x")]))
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE));
    schema.allows_duplicates = true;
    let (storage, options) = create(&schema);
    for fragment in 0u64..20 {
        let a: Vec<i64> = (0..3).map(|cell| cell * 20 + fragment.cast_signed()).collect();
        let names = Strings::new(a.iter().map(|x| format!("{x:02}")));
        let writer = options.clone().timestamp(fragment + 1).open_storage(storage.clone()).unwrap();
        writer.write().column(names.column("x")).column(WriteColumn::fixed("a", &a)).commit().unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

/// Fragments with tiles of two cells, whose rectangles are as wide as the domain of reals.
fn wide_tiles() -> Array {
    let domain = Domain::new(vec![
        Dimension::new("x", -18.0f32..=16.0).with_tile(8.5f32),
        Dimension::new("y", 7i32..=26).with_tile(8),
    ]);
    let mut schema = ArraySchema::new(ArrayType::Sparse, domain).with_attribute(Attribute::new(
        "a",
        Datatype::Int64,
        CellValNum::ONE,
    ));
    (schema.capacity, schema.tile_order) = (2, Layout::ColMajor);
    let (storage, options) = create(&schema);
    for fragment in 0u16..5 {
        let place = |cell: u16| usize::from(cell * 7 + fragment * 3);
        let x: Vec<f32> = (0u16..40).map(|cell| f32::from(cell * 31 % 40) * 0.8 - 17.0).collect();
        let y: Vec<i32> = (0u16..40).map(|cell| 7 + i32::try_from(place(cell) % 20).unwrap()).collect();
        let a: Vec<i64> = (0..40).map(|cell| cell + i64::from(fragment) * 100).collect();
        let writer =
            options.clone().timestamp(u64::from(fragment) + 1).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(Layout::Unordered).column(WriteColumn::fixed("x", &x));
        write.column(WriteColumn::fixed("y", &y)).column(WriteColumn::fixed("a", &a)).commit().unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

/// Four fragments; in each of their tiles one cell has nearly all of the bytes. Cells are wide, or
/// their values are long.
fn uneven(string: bool, wide: bool) -> Array {
    let dimension =
        if string { Dimension::string("x") } else { Dimension::new("x", 0i64..=999).with_tile(100i64) };
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![dimension]));
    schema = schema.with_attribute(match wide {
        true => Attribute::new("s", Datatype::Uint8, CellValNum::from_code(50_000).unwrap()),
        false => Attribute::new("s", Datatype::StringAscii, CellValNum::Var),
    });
    schema.capacity = 10;
    let (storage, options) = create(&schema);
    for fragment in 0..4 {
        let x: Vec<i64> = (0..20).map(|cell| cell * 40 + fragment % 2).collect();
        let names = Strings::new(x.iter().map(|x| format!("{x:03}")));
        let long = |cell: usize| if cell % 10 == 3 { 90_000 } else { 1 };
        let strings = Strings::new((0..20).map(|cell| "y".repeat(long(cell))));
        let bytes = vec![7u8; 20 * 50_000];
        let writer =
            options.clone().timestamp(1 + fragment.unsigned_abs()).open_storage(storage.clone()).unwrap();
        let x = if string { names.column("x") } else { WriteColumn::fixed("x", &x) };
        let cells = if wide { WriteColumn::bytes("s", &bytes) } else { strings.column("s") };
        writer.write().order(Layout::Unordered).column(x).column(cells).commit().unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

#[test]
fn the_least_budget_that_is_named_holds_the_largest_cell() {
    for (string, wide) in [(false, false), (false, true), (true, false), (true, true)] {
        let array = uneven(string, wide);
        for order in [Layout::RowMajor, Layout::GlobalOrder, Layout::Unordered] {
            let named = least(|budget| count(array.read().order(order).memory(budget)));
            let found = count(array.read().order(order).memory(named));
            assert!(
                matches!(found, Ok(40)),
                "strings {string}, wide {wide}, {order:?}: {found:?} in {named}"
            );
        }
    }
}

/// Tiles of five cells of 72 KB each, in Hilbert order; four fragments have the same cells.
fn few_wide_cells() -> Array {
    let dimensions = ["x", "y"].map(|name| Dimension::new(name, 3u16..=37).with_tile(7u16));
    let wide = Attribute::new("wide", Datatype::Int64, CellValNum::Fixed(9000.try_into().unwrap()));
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(dimensions.into())).with_attribute(wide);
    (schema.cell_order, schema.capacity) = (Layout::Hilbert, 5);
    let (storage, options) = create(&schema);
    for fragment in 0..4u16 {
        let x: Vec<u16> = (0..8).map(|cell| 3 + cell * 4 + fragment % 2).collect();
        let y: Vec<u16> = x.iter().map(|x| 40 - x).collect();
        let values = vec![i64::from(fragment); 9000 * x.len()];
        let write = options.clone().open_storage(storage.clone()).unwrap();
        let write = write.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("y", &y));
        write.column(WriteColumn::fixed("wide", &values)).commit().unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

#[test]
fn the_least_budget_that_is_named_counts_a_cell_as_a_whole() {
    let array = few_wide_cells();
    for order in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
        let named = least(|budget| count(array.read().order(order).memory(budget)));
        let found = count(array.read().order(order).memory(named));
        assert!(matches!(found, Ok(16)), "{order:?}: {found:?} in {named}");
    }
}

#[test]
fn a_condition_is_decided_without_statistics_where_there_is_no_room_for_them() {
    let array = wide_tiles();
    let read = || array.read().order(Layout::RowMajor).condition(field("a").ge(100).and(field("a").lt(300)));
    let named = least(|budget| count(read().memory(budget)));
    assert_eq!(count(read().memory(named)).unwrap(), read().collect().unwrap().len(), "in {named}");
}

#[test]
fn a_tiny_room_takes_as_many_parts_as_there_are_cells_not_as_there_are_reals() {
    let array = wide_tiles();
    let read = || array.read().order(Layout::RowMajor);
    let whole = read().collect().unwrap();
    let expected = whole.field("a").unwrap().values::<i64>().unwrap().to_vec();
    for room in [8 << 10, 12 << 10, 20 << 10, 40 << 10] {
        let parts = Arc::new(AtomicUsize::new(0));
        let counted = parts.clone();
        let read = read().on_progress(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let mut found: Vec<i64> = Vec::new();
        let mut refused = None;
        for batch in read.batch_memory(bytes(room)).batches().unwrap() {
            match batch {
                Ok(batch) => found.extend(batch.field("a").unwrap().values::<i64>().unwrap()),
                Err(error) => refused = Some(error),
            }
        }
        let parts = parts.load(Ordering::Relaxed);
        assert!(parts < 1000, "{parts} parts of {} cells in {room} bytes", expected.len());
        match refused {
            Some(Error::Query(QueryError::BudgetTooSmall { budget, min: least })) => {
                assert!(budget == bytes(room) && least > budget, "{least} of {budget}");
            }
            Some(error) => panic!("{error}"),
            None => assert_eq!(found, expected, "in {room} bytes"),
        }
    }
}

#[test]
fn a_stream_in_a_tiny_room_ends_with_all_cells_or_with_what_is_missing() {
    // Small rooms make thousands of batches: the arrays are read side by side.
    std::thread::scope(|scope| {
        for (name, array, cells) in arrays().into_iter().chain([("small fragments", small_fragments(), 60)]) {
            scope.spawn(move || streams_in_tiny_rooms(name, &array, cells));
        }
    });
}

fn streams_in_tiny_rooms(name: &str, array: &Array, cells: usize) {
    let (mut refused, mut read_all) = (0, 0);
    let rooms = (0..12).map(|step| 1000 + (step * step * step) * 300);
    for room in rooms.chain([2_000_000]) {
        for conditioned in [false, true] {
            let read = array.read().order(Layout::RowMajor).batch_memory(bytes(room));
            let read = if conditioned { read.condition(field("a").ge(0)) } else { read };
            match count(read) {
                Ok(found) => {
                    assert_eq!(found, cells, "{name} in {room} bytes");
                    read_all += 1;
                }
                Err(Error::Query(QueryError::BudgetTooSmall { budget, min: least })) => {
                    assert!(budget == bytes(room) && least > budget, "{name}: {least} of {budget}");
                    refused += 1;
                }
                Err(error) => panic!("{name} in {room} bytes: {error}"),
            }
        }
    }
    assert!(refused > 0 && read_all > 0, "{name}: {refused} refused, {read_all} read");
}
