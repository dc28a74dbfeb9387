//! Queries with fewer regions or tiles than threads, and conditions whose fields are returned: what
//! was decoded tile by tile, field by field, or for the condition arrives in its place.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed, and its numbers are small"
)]

use core::ops::RangeInclusive;

use proptest::prelude::*;
use tdb_array::query::QueryCondition;
use tdb_array::schema::{
    ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline, SchemaBuilder,
};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Cells, Layout, OpenOptions, WriteColumn, WriteOptions};

/// Rows and columns of the domain.
const SIDES: (i32, i32) = (120, 250);
const FILL: &[u8] = b"fill";

/// What a cell holds: a number, a short string, whether that is null, a longer string.
#[derive(Clone, Debug, PartialEq)]
struct Cell {
    n: i64,
    s: Vec<u8>,
    valid: bool,
    t: Vec<u8>,
}

/// The cell at a place, of the write at a time.
fn cell(y: i32, x: i32, time: i32) -> Cell {
    let mixed = (y * 131 + x * 17 + time * 7919) % 1000;
    let s = format!("{mixed:b}").into_bytes();
    Cell {
        n: i64::from(mixed),
        s,
        valid: mixed % 7 != 0,
        t: format!("t{}", mixed % 10).repeat(mixed as usize % 5).into_bytes(),
    }
}

/// What cells hold that no write covers, or for which the condition is false.
fn nothing() -> Cell {
    Cell { n: -1, s: FILL.to_vec(), valid: false, t: FILL.to_vec() }
}

type Boxed = (RangeInclusive<i32>, RangeInclusive<i32>);

fn strings<'a>(all: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<u64>) {
    let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
    for one in all {
        bytes.extend_from_slice(one);
        offsets.push(bytes.len() as u64);
    }
    (bytes, offsets)
}

fn attributes(slow: bool) -> [Attribute; 3] {
    // With the slow filter, little is enough for a second thread.
    let filters =
        Pipeline::new(vec![if slow { Filter::Bzip2 { level: 1 } } else { Filter::Lz4 { level: 1 } }]);
    [
        Attribute::new("n", Datatype::Int64, CellValNum::ONE).with_fill((-1i64).to_le_bytes()),
        Attribute::new("s", Datatype::StringAscii, CellValNum::Var).with_nulls().with_fill(FILL),
        Attribute::new("t", Datatype::StringUtf8, CellValNum::Var).with_fill(FILL),
    ]
    .map(|attribute| attribute.with_filters(filters.clone()))
}

fn dense(
    (rows, columns): (i32, i32),
    orders: (Layout, Layout),
    slow: bool,
    writes: &[Boxed],
) -> MemoryStorage {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("y", 0..=SIDES.0 - 1).with_tile(rows))
        .dimension(Dimension::new("x", 0..=SIDES.1 - 1).with_tile(columns))
        .tile_order(orders.0)
        .cell_order(orders.1);
    let schema = attributes(slow).into_iter().fold(schema, SchemaBuilder::attribute);
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
    for (time, (rows, columns)) in (1..).zip(writes) {
        let places = rows.clone().flat_map(|y| columns.clone().map(move |x| (y, x)));
        let cells: Vec<Cell> = places.map(|(y, x)| cell(y, x, time)).collect();
        let writer = WriteOptions::new().timestamp(time as u64).open_storage(storage.clone()).unwrap();
        let write = writer.write().range("y", rows.clone()).range("x", columns.clone());
        let n: Vec<i64> = cells.iter().map(|cell| cell.n).collect();
        let (s, s_offsets) = strings(cells.iter().map(|cell| &cell.s[..]));
        let (t, t_offsets) = strings(cells.iter().map(|cell| &cell.t[..]));
        let valid: Vec<u8> = cells.iter().map(|cell| u8::from(cell.valid)).collect();
        let write = write.column(WriteColumn::fixed("n", &n));
        let write = write.column(WriteColumn::var("s", &s, &s_offsets).nullable(&valid));
        write.column(WriteColumn::var("t", &t, &t_offsets)).commit().unwrap();
    }
    storage
}

/// The cells of a result, by their places.
fn found(cells: &Cells) -> Vec<((i32, i32), Cell)> {
    let place = |name: &str| cells.field(name).unwrap().values::<i32>().unwrap().to_vec();
    let (ys, xs) = (place("y"), place("x"));
    let n = cells.field("n").unwrap().values::<i64>().unwrap().to_vec();
    let (s, t) = (cells.field("s").unwrap(), cells.field("t").unwrap());
    let one = |at: usize| {
        let valid = s.validity().unwrap()[at] == 1;
        let own = Cell { n: n[at], s: s.cell(at).unwrap().to_vec(), valid, t: t.cell(at).unwrap().to_vec() };
        ((ys[at], xs[at]), own)
    };
    (0..cells.len()).map(one).collect()
}

/// A test of a cell as text, and as a function.
type Test = (&'static str, fn(&Cell) -> bool);
const TESTS: [Test; 6] = [
    ("n >= 500", |cell| cell.n >= 500),
    ("s < '11'", |cell| cell.valid && cell.s[..] < b"11"[..]),
    ("t == 't3t3t3'", |cell| cell.t == b"t3t3t3"),
    ("t != '' and n < 900", |cell| !cell.t.is_empty() && cell.n < 900),
    ("s is null", |cell| !cell.valid),
    ("n >= 0", |cell| cell.n >= 0),
];

fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor), Just(Layout::GlobalOrder)]
}

fn stored() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)]
}

fn range(side: i32) -> impl Strategy<Value = RangeInclusive<i32>> {
    prop_oneof![
        2 => Just(0..=side - 1),
        1 => (0..side).prop_map(|place| place..=place),
        2 => (0..side, 0..side).prop_map(|(a, b)| a.min(b)..=a.max(b)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn cells_of_few_tiles_are_in_their_places_whatever_was_decoded_side_by_side(
        extents in proptest::sample::select(vec![(120, 250), (120, 60), (50, 250), (30, 70)]),
        orders in (stored(), stored()),
        slow in any::<bool>(),
        first in (range(SIDES.0), range(SIDES.1)),
        again in (range(SIDES.0), range(SIDES.1)),
        queries in proptest::collection::vec(
            (range(SIDES.0), range(SIDES.1), layout(), proptest::option::of(proptest::sample::select(TESTS.to_vec()))), 6),
        threads in 1..6usize,
    ) {
        let storage = dense(extents, orders, slow, &[first.clone(), again.clone()]);
        let array = OpenOptions::new().threads(threads).open_storage(storage).unwrap();
        let written = |(y, x): (i32, i32)| {
            let covers = |(rows, columns): &Boxed| rows.contains(&y) && columns.contains(&x);
            match (covers(&first), covers(&again)) {
                (_, true) => cell(y, x, 2),
                (true, false) => cell(y, x, 1),
                _ => nothing(),
            }
        };
        for (rows, columns, order, test) in queries {
            let read = array.read().fields(["t", "y", "n", "s", "x"]).order(order);
            let mut read = read.range("y", rows.clone()).range("x", columns.clone());
            if let Some((text, _)) = test {
                read = read.condition(QueryCondition::parse(text).unwrap());
            }
            let found = found(&read.collect().unwrap());
            prop_assert_eq!(found.len(), rows.clone().count() * columns.clone().count());
            for (place, own) in found {
                let mut expected = written(place);
                if test.is_some_and(|(_, test)| !test(&expected)) {
                    expected = nothing();
                }
                prop_assert_eq!(own, expected, "{:?} {:?}", place, test.map(|(text, _)| text));
            }
        }
    }
}

#[test]
fn values_that_a_condition_looked_at_go_on_in_the_next_tile_of_a_region() {
    // With more tiles than this, a region has several, one behind the other.
    let cells = 66_000;
    let schema = ArraySchema::dense().dimension(Dimension::new("y", 0..=cells - 1).with_tile(1i32));
    let schema = schema.attribute(Attribute::new("t", Datatype::StringUtf8, CellValNum::Var).with_fill(FILL));
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
    let stored: Vec<String> = (0..cells).map(|y| format!("{y}")).collect();
    let (t, offsets) = strings(stored.iter().map(String::as_bytes));
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    writer.write().range("y", 0..=cells - 1).column(WriteColumn::var("t", &t, &offsets)).commit().unwrap();
    let array = OpenOptions::new().threads(2).open_storage(storage).unwrap();
    let read = array.read().fields(["t"]).condition(QueryCondition::parse("t != '777'").unwrap());
    let found = read.collect().unwrap();
    let t = found.field("t").unwrap();
    for (at, expected) in stored.iter().enumerate() {
        let expected = if at == 777 { FILL } else { expected.as_bytes() };
        assert_eq!(t.cell(at), Some(expected), "{at}");
    }
}

#[test]
fn columns_of_a_single_sparse_tile_are_those_of_one_thread() {
    let schema = ArraySchema::sparse().dimension(Dimension::new("y", 0..=99_999)).capacity(100_000);
    let schema = attributes(true).into_iter().fold(schema, SchemaBuilder::attribute);
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
    let cells: Vec<Cell> = (0..50_000).map(|y| cell(y, 0, 1)).collect();
    let places: Vec<i32> = (0..50_000).collect();
    let n: Vec<i64> = cells.iter().map(|cell| cell.n).collect();
    let (s, s_offsets) = strings(cells.iter().map(|cell| &cell.s[..]));
    let (t, t_offsets) = strings(cells.iter().map(|cell| &cell.t[..]));
    let valid: Vec<u8> = cells.iter().map(|cell| u8::from(cell.valid)).collect();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("y", &places)).column(WriteColumn::fixed("n", &n));
    let write = write.column(WriteColumn::var("s", &s, &s_offsets).nullable(&valid));
    write.column(WriteColumn::var("t", &t, &t_offsets)).commit().unwrap();
    for threads in [1, 2, 5] {
        let array = OpenOptions::new().threads(threads).open_storage(storage.clone()).unwrap();
        for range in [0..=49_999, 100..=40_000] {
            let read = array.read().fields(["t", "n", "y", "s"]).range("y", range.clone());
            let found = read.order(Layout::RowMajor).collect().unwrap();
            assert_eq!(
                found.field("y").unwrap().values::<i32>().unwrap(),
                range.clone().collect::<Vec<i32>>()
            );
            let (n, s, t) = (found.field("n").unwrap(), found.field("s").unwrap(), found.field("t").unwrap());
            for (at, place) in range.enumerate() {
                let expected = &cells[place as usize];
                let own = Cell {
                    n: n.values::<i64>().unwrap()[at],
                    s: s.cell(at).unwrap().to_vec(),
                    valid: s.validity().unwrap()[at] == 1,
                    t: t.cell(at).unwrap().to_vec(),
                };
                assert_eq!(&own, expected, "{place}, {threads} threads");
            }
        }
    }
}
