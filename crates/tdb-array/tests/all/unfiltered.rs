//! Tiles of many chunks without filters: few cells that lie far apart are read alone, and
//! correctly.
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
use core::slice;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::storage::{LocalStorage, MemoryStorage, Storage, WriteStorage};
use tdb_array::{Array, Cells, Error, Layout, OpenOptions, WriteColumn, WriteOptions};

/// Rows and columns of the array.
const SIDES: (i32, i32) = (700, 600);
/// A tile has up to 180,000 cells: 23 chunks of eight-byte values.
const EXTENTS: [(i32, i32); 4] = [(700, 600), (300, 600), (512, 257), (90, 599)];

/// The value of a cell, different in each place and each fragment.
fn value(y: i64, x: i64, time: i64) -> i64 {
    (y * 1000 + x) * 10 + time
}

/// An array whose cells were written at time 1, and these rows and columns of it again at time 2.
fn write<S: WriteStorage + Clone + 'static>(
    storage: S,
    (rows, columns): (i32, i32),
    orders: (Layout, Layout),
    again: &(RangeInclusive<i32>, RangeInclusive<i32>),
) {
    let zstd = Pipeline::new(vec![Filter::Zstd { level: 1 }]);
    let three = CellValNum::Fixed(3.try_into().unwrap());
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("y", 0..=SIDES.0 - 1).with_tile(rows))
        .dimension(Dimension::new("x", 0..=SIDES.1 - 1).with_tile(columns))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("t", Datatype::Uint16, three))
        .attribute(Attribute::new("n", Datatype::Uint32, CellValNum::ONE).with_nulls())
        .attribute(Attribute::new("z", Datatype::Int64, CellValNum::ONE).with_filters(zstd))
        .tile_order(orders.0)
        .cell_order(orders.1)
        .build()
        .unwrap();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let whole = (0..=SIDES.0 - 1, 0..=SIDES.1 - 1);
    for (time, (rows, columns)) in (1i64..).zip([whole, again.clone()]) {
        let places = rows.clone().flat_map(|y| columns.clone().map(move |x| (y, x)));
        let a: Vec<i64> = places.map(|(y, x)| value(y.into(), x.into(), time)).collect();
        let t: Vec<u16> = a.iter().flat_map(|a| [0u16, 1, 2].map(|i| (*a as u16).wrapping_add(i))).collect();
        let n: Vec<u32> = a.iter().map(|a| *a as u32).collect();
        let valid: Vec<u8> = a.iter().map(|a| u8::from(a % 3 != 0)).collect();
        let writer = WriteOptions::new().timestamp(time as u64).open_storage(storage.clone()).unwrap();
        let write = writer.write().range("y", rows.clone()).range("x", columns.clone());
        let write = write.column(WriteColumn::fixed("a", &a)).column(WriteColumn::fixed("t", &t));
        let write = write.column(WriteColumn::fixed("n", &n).nullable(&valid));
        write.column(WriteColumn::fixed("z", &a)).commit().unwrap();
    }
}

/// Compares every field of the cells with what was written there last.
fn check(cells: &Cells, again: &(RangeInclusive<i32>, RangeInclusive<i32>)) {
    let numbers = |name: &str| cells.field(name).unwrap().values::<i64>().unwrap();
    let places = |name: &str| cells.field(name).unwrap().values::<i32>().unwrap();
    let (ys, xs) = (places("y"), places("x"));
    let expected: Vec<i64> = ys
        .iter()
        .zip(xs)
        .map(|(y, x)| {
            let time = if again.0.contains(y) && again.1.contains(x) { 2 } else { 1 };
            value((*y).into(), (*x).into(), time)
        })
        .collect();
    assert_eq!(numbers("a"), expected);
    assert_eq!(numbers("z"), expected);
    let three: Vec<u16> =
        expected.iter().flat_map(|a| [0u16, 1, 2].map(|i| (*a as u16).wrapping_add(i))).collect();
    assert_eq!(cells.field("t").unwrap().values::<u16>().unwrap(), three);
    let nullable = cells.field("n").unwrap();
    assert_eq!(nullable.values::<u32>().unwrap(), expected.iter().map(|a| *a as u32).collect::<Vec<_>>());
    let valid: Vec<u8> = expected.iter().map(|a| u8::from(a % 3 != 0)).collect();
    assert_eq!(nullable.validity().unwrap(), valid);
}

fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)]
}

/// Up to four ranges that do not overlap, mostly short ones.
fn ranges(side: i32) -> impl Strategy<Value = Vec<RangeInclusive<i32>>> {
    let range = (0..side, prop_oneof![Just(0), 1..20i32, 0..side]);
    let range = range.prop_map(move |(low, more)| low..=(low + more).min(side - 1));
    proptest::collection::vec(range, 1..5).prop_map(|mut ranges| {
        ranges.sort_by_key(|range| *range.start());
        let mut last = -1;
        ranges.retain(|range| {
            let apart = *range.start() > last;
            last = if apart { *range.end() } else { last };
            apart
        });
        ranges
    })
}

/// Some of many rows or columns at equal distances.
fn steps(side: i32) -> impl Strategy<Value = Vec<RangeInclusive<i32>>> {
    (0..9i32, 1..40i32).prop_map(move |(first, step)| {
        (first..side).step_by(step as usize).map(|place| place..=place).collect()
    })
}

fn asked(side: i32) -> impl Strategy<Value = Vec<RangeInclusive<i32>>> {
    prop_oneof![3 => ranges(side), 1 => steps(side), 1 => Just(vec![0..=side - 1])]
}

fn read(
    array: &Array,
    rows: &[RangeInclusive<i32>],
    columns: &[RangeInclusive<i32>],
    order: Layout,
) -> Cells {
    let read = array.read().fields(["y", "x", "a", "t", "n", "z"]).order(order);
    read.ranges("y", rows.iter().cloned()).ranges("x", columns.iter().cloned()).collect().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn any_cells_of_large_tiles_are_those_that_were_written(
        extents in proptest::sample::select(EXTENTS.to_vec()),
        orders in (layout(), layout()),
        again in ((0..600i32, 0..200i32), (0..500i32, 0..300i32)),
        queries in proptest::collection::vec((asked(SIDES.0), asked(SIDES.1), layout()), 6),
        threads in 1..4usize,
    ) {
        let ((y, rows), (x, columns)) = again;
        let again = (y..=(y + rows).min(SIDES.0 - 1), x..=(x + columns).min(SIDES.1 - 1));
        let storage = MemoryStorage::default();
        write(storage.clone(), extents, orders, &again);
        let array = OpenOptions::new().threads(threads).open_storage(storage).unwrap();
        for (rows, columns, order) in queries {
            let count = |ranges: &[RangeInclusive<i32>]| -> usize { ranges.iter().cloned().map(Iterator::count).sum() };
            if count(&rows) * count(&columns) > 100_000 {
                continue;
            }
            let cells = read(&array, &rows, &columns, order);
            prop_assert_eq!(cells.len(), count(&rows) * count(&columns));
            check(&cells, &again);
        }
    }
}

const NOTHING: (RangeInclusive<i32>, RangeInclusive<i32>) = (0..=0, 0..=0);

#[test]
fn a_column_of_a_local_array_is_read_without_what_lies_between_if_that_is_much() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unfiltered");
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    write(LocalStorage::new(&folder), (700, 600), (Layout::RowMajor, Layout::RowMajor), &NOTHING);
    let array = OpenOptions::new().open(&folder).unwrap();
    let cells = read(&array, &[0..=699], &[17..=17], Layout::RowMajor);
    check(&cells, &NOTHING);
    // Of the second fragment, no cell is in the column. Rows have 4,800 bytes: all are read, in
    // parts of 256 KiB.
    let column = || array.read().fields(["a"]).range("x", 17..=17);
    let (cells, stats) = column().collect_with_stats().unwrap();
    assert_eq!(cells.len(), 700);
    assert!(stats.requests < 20 && stats.bytes_read < 3_365_000, "{stats:?}");
    // Between every second cell lie 9,600 bytes. With each of the 52 headers, cells that are near
    // are read.
    let some = column().ranges("y", (0..700).step_by(2).map(|y| y..=y));
    let (cells, stats) = some.collect_with_stats().unwrap();
    assert_eq!(cells.len(), 350);
    assert!(stats.requests > 350 && stats.bytes_read < 200_000, "{stats:?}");
}

#[test]
fn of_a_cell_the_header_of_its_chunk_is_read_and_no_other_but_the_first() {
    let storage = MemoryStorage::default();
    write(storage.clone(), (700, 600), (Layout::RowMajor, Layout::RowMajor), &NOTHING);
    let array = OpenOptions::new().open_storage(storage).unwrap();
    let requests = |y: i32| {
        let cell = array.read().fields(["a"]).range("y", y..=y).range("x", 17..=17);
        let (cells, stats) = cell.collect_with_stats().unwrap();
        assert_eq!(cells.len(), 1);
        stats.requests
    };
    // What else must be known of the array is read by the first of them.
    let (_, first, last) = (requests(350), requests(0), requests(699));
    assert!(last - first <= 2, "{first} requests for the first cell, {last} for the last, of 52 chunks");
}

#[test]
fn rows_of_column_major_tiles_and_scattered_cells_are_read_alone_too() {
    let storage = MemoryStorage::default();
    write(storage.clone(), (700, 600), (Layout::RowMajor, Layout::ColMajor), &NOTHING);
    let array = OpenOptions::new().open_storage(storage).unwrap();
    // In this order a column of the tile has 5,600 bytes, and a row lies as far apart.
    let row = array.read().fields(["a"]).order(Layout::ColMajor).range("y", 17..=17);
    let some = |side: i32, step: usize| (3..side).step_by(step).map(|place| place..=place);
    let scattered = array.read().fields(["a"]).order(Layout::ColMajor);
    let scattered = scattered.ranges("y", some(SIDES.0, 300)).ranges("x", some(SIDES.1, 97));
    for (read, count) in [(row, 600), (scattered, 21)] {
        let (cells, stats) = read.collect_with_stats().unwrap();
        assert_eq!(cells.len(), count);
        assert!(stats.bytes_read < 150_000, "{stats:?}");
    }
}

/// The data file of the first fragment's field `a`, and the array with other bytes in it.
fn with_other_chunks(storage: &MemoryStorage, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Array {
    let fragment = storage.list("__fragments").unwrap().into_iter().next().unwrap().name;
    let key = format!("__fragments/{fragment}/a0.tdb");
    let mut changed = Some(change(storage.read(&key).unwrap().to_vec()));
    let files = storage.keys().into_iter().map(|name| {
        let other = (name == key).then(|| changed.take().unwrap());
        let content = other.unwrap_or_else(|| storage.read(&name).unwrap().to_vec());
        (name, content)
    });
    OpenOptions::new().open_storage(MemoryStorage::new(files)).unwrap()
}

/// The cells of an unfiltered tile, cut into as many chunks of these lengths as fit, and the last
/// one.
fn cut(tile: &[u8], lengths: &[usize]) -> Vec<u8> {
    let count = u64::from_le_bytes(tile[..8].try_into().unwrap());
    let (mut cells, mut at) = (Vec::new(), 8);
    for _ in 0..count {
        let len = u32::from_le_bytes(tile[at..at + 4].try_into().unwrap()) as usize;
        cells.extend_from_slice(&tile[at + 12..at + 12 + len]);
        at += 12 + len;
    }
    let mut rest = &cells[..];
    let mut out = tile[..8].to_vec();
    for number in 0..count as usize {
        let wanted = lengths[number % lengths.len()];
        let len = if number + 1 == count as usize { rest.len() } else { wanted.min(rest.len()) };
        let (chunk, later) = rest.split_at(len);
        out.extend((len as u32).to_le_bytes());
        out.extend((len as u32).to_le_bytes());
        out.extend([0; 4]);
        out.extend_from_slice(chunk);
        rest = later;
    }
    out
}

#[test]
fn chunks_of_any_lengths_have_the_same_cells() {
    let storage = MemoryStorage::default();
    write(storage.clone(), (700, 600), (Layout::RowMajor, Layout::ColMajor), &NOTHING);
    for lengths in [&[1, 0, 131_071, 7][..], &[0, 65_536], &[200_000], &[65_533, 65_541], &[3]] {
        let array = with_other_chunks(&storage, |tile| cut(&tile, lengths));
        for (rows, columns) in
            [(0..=699, 17..=17), (17..=17, 0..=599), (100..=199, 300..=399), (699..=699, 599..=599)]
        {
            let cells = read(&array, slice::from_ref(&rows), slice::from_ref(&columns), Layout::RowMajor);
            assert_eq!(cells.len(), rows.count() * columns.count());
            check(&cells, &NOTHING);
        }
    }
}

#[test]
fn damaged_chunks_of_cells_that_are_read_alone_are_errors() {
    let storage = MemoryStorage::default();
    write(storage.clone(), (700, 600), (Layout::RowMajor, Layout::RowMajor), &NOTHING);
    let query = |change: &dyn Fn(&mut Vec<u8>)| {
        let array = with_other_chunks(&storage, |mut bytes| {
            change(&mut bytes);
            bytes
        });
        array.read().fields(["a"]).range("x", 17..=17).collect()
    };
    let number =
        |bytes: &mut Vec<u8>, at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    assert!(query(&|_| ()).is_ok());
    // Both chunks have 65,536 bytes, and the lengths that they promise still add up.
    let longer = query(&|bytes| {
        number(bytes, 8, 65_544);
        number(bytes, 8 + 12 + 65_536, 65_528);
    });
    assert!(matches!(longer, Err(Error::Corrupt { .. })), "{longer:?}: a chunk has fewer bytes than cells");
    let metadata = query(&|bytes| {
        number(bytes, 12, 65_528);
        number(bytes, 16, 8);
    });
    assert!(
        matches!(metadata, Err(Error::Corrupt { .. })),
        "{metadata:?}: without filters there is no metadata"
    );
    let huge = query(&|bytes| number(bytes, 8 + 12 + 65_536 + 4, u32::MAX));
    assert!(matches!(huge, Err(Error::Corrupt { .. })), "{huge:?}: a chunk ends after its tile");
    let cut = query(&|bytes| bytes.truncate(bytes.len() - 4_700));
    assert!(cut.is_err(), "the last row is cut before its cell");
}
