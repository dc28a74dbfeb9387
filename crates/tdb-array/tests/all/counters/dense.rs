//! Dense arrays.

use core::ops::RangeInclusive;

use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Layout, OpenOptions, WriteColumn, WriteOptions, field};

use crate::common::Strings;
use crate::counters::least::{Case, Stored, Table};

/// Cells along each side of the array and of a tile, and in a tile.
const SIDE: i32 = 512;
const EXTENT: i32 = 256;
const TILE: usize = 65536;

const A: Stored = Stored::fixed(TILE, 4);
const B: Stored = Stored::fixed(TILE, 8);
const N: Stored = Stored::fixed(TILE, 1);
/// Offsets and values of the strings.
const OFFSETS: Stored = Stored::fixed(TILE, 8);
const S: Stored = Stored::values(TILE, 4);

const ALL: RangeInclusive<i32> = 0..=SIDE - 1;

/// Where a cell is stored, counted over all tiles.
fn place((y, x): (i32, i32)) -> usize {
    let tile = y / EXTENT * (SIDE / EXTENT) + x / EXTENT;
    tile as usize * TILE + (y % EXTENT * EXTENT + x % EXTENT) as usize
}

fn value((y, x): (i32, i32), time: i32) -> i32 {
    time * 1_000_000 + y * SIDE + x
}

/// The cells of some rows and columns, in row-major order.
fn cells(
    rows: impl IntoIterator<Item = i32>,
    columns: impl IntoIterator<Item = i32> + Clone,
) -> Vec<(i32, i32)> {
    rows.into_iter().flat_map(|y| columns.clone().into_iter().map(move |x| (y, x))).collect()
}

/// An array of which these rows were written, one range after the other.
fn array(written: &[RangeInclusive<i32>]) -> Array {
    let zstd = Pipeline::new(vec![Filter::ByteShuffle, Filter::Zstd { level: 1 }]);
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("y", ALL).with_tile(EXTENT))
        .dimension(Dimension::new("x", ALL).with_tile(EXTENT))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE).with_filters(zstd))
        .attribute(Attribute::new("b", Datatype::Float64, CellValNum::ONE))
        .attribute(Attribute::new("n", Datatype::Uint8, CellValNum::ONE).with_nulls())
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, rows) in (1i32..).zip(written) {
        let cells = cells(rows.clone(), ALL);
        let a: Vec<i32> = cells.iter().map(|cell| value(*cell, time)).collect();
        let b: Vec<f64> = a.iter().map(|value| f64::from(*value) / 2.0).collect();
        let n: Vec<u8> = cells.iter().map(|(y, _)| (y % 100) as u8).collect();
        let valid: Vec<u8> = cells.iter().map(|(_, x)| u8::from(x % 7 != 0)).collect();
        let s = Strings::new(a.iter().map(|value| format!("{:04}", value % 10_000)));
        let writer = WriteOptions::new().timestamp(time as u64).open_storage(storage.clone()).unwrap();
        let write = writer.write().range("y", rows.clone()).range("x", ALL);
        let write = write.column(WriteColumn::fixed("a", &a)).column(WriteColumn::fixed("b", &b));
        write.column(WriteColumn::fixed("n", &n).nullable(&valid)).column(s.column("s")).commit().unwrap();
    }
    // Several threads cut rows of tiles among them, and no chunk.
    OpenOptions::new().threads(3).open_storage(storage).unwrap()
}

/// The chunks of a field that have some cells.
fn chunks(field: Stored, cells: &[(i32, i32)]) -> u64 {
    field.chunks(cells.iter().map(|cell| place(*cell)))
}

fn values(cells: &[(i32, i32)], time: i32) -> Vec<i32> {
    cells.iter().map(|cell| value(*cell, time)).collect()
}

#[test]
fn dense_queries_decode_the_chunks_with_wanted_cells_and_copy_them_once() {
    let array = array(&[ALL]);
    let mut table = Table::new("dense");
    let all = cells(ALL, ALL);

    let case = Case::new(
        "all, global order",
        &[
            ("a", chunks(A, &all)),
            ("b", chunks(B, &all)),
            ("n", chunks(N, &all)),
            ("validity", chunks(N, &all)),
        ],
    );
    let found = table.read(&case, &array.read().fields(["a", "b", "n"]).order(Layout::GlobalOrder));
    let mut stored = all.clone();
    stored.sort_by_key(|cell| place(*cell));
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), values(&stored, 1));

    // No tile is a run of the result: its rows are half as long.
    let case = Case::new("all, row-major", &[("a", chunks(A, &all))]).copies(all.len() * 4);
    let found = table.read(&case, &array.read().fields(["a"]));
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), values(&all, 1));

    let window = cells(100..=299, 100..=299);
    let case =
        Case::new("window that cuts four tiles", &[("a", chunks(A, &window)), ("b", chunks(B, &window))]);
    let read = array.read().fields(["a", "b"]).range("y", 100..=299).range("x", 100..=299);
    let found = table.read(&case.copies(window.len() * 12), &read);
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), values(&window, 1));

    let column = cells(ALL, [7]);
    let case = Case::new("one column", &[("a", chunks(A, &column))]).copies(column.len() * 4);
    let found = table.read(&case, &array.read().fields(["a"]).range("x", 7..=7));
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), values(&column, 1));

    let row = cells([70], ALL);
    let case = Case::new("one row", &[("a", chunks(A, &row))]).copies(row.len() * 4);
    let found = table.read(&case, &array.read().fields(["a"]).range("y", 70..=70));
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), values(&row, 1));

    let case = Case::new("one cell", &[("a", 1), ("n", 1), ("validity", 1)]).copies(4 + 1 + 1);
    let read = array.read().fields(["a", "n"]).range("y", 300..=300).range("x", 40..=40);
    let found = table.read(&case, &read);
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), [value((300, 40), 1)]);

    let two = cells((0..=3).chain(250..=260), ALL);
    let case = Case::new("two ranges of rows", &[("a", chunks(A, &two))]).copies(two.len() * 4);
    let found = table.read(&case, &array.read().fields(["a"]).ranges("y", [0..=3, 250..=260]));
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), values(&two, 1));

    let every = cells(ALL.step_by(100), ALL.step_by(50));
    let case = Case::new(
        "every 100th row, every 50th column",
        &[("a", chunks(A, &every)), ("b", chunks(B, &every))],
    );
    let read = array.read().fields(["a", "b"]).points("y", ALL.step_by(100)).points("x", ALL.step_by(50));
    let found = table.read(&case.copies(every.len() * 12), &read);
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), values(&every, 1));

    // A cell goes to its place among the merged ranges, and from there to where it was asked for:
    // so each is decoded once, however often it is asked for.
    let apart = cells((300..=301).chain(10..=11), ALL);
    let case = Case::new("two ranges of rows, the later first", &[("a", chunks(A, &apart))]);
    let case = case.copies(apart.len() * 4).but_copies(apart.len() * 8);
    let found = table.read(&case, &array.read().fields(["a"]).ranges("y", [300..=301, 10..=11]));
    assert_eq!(found.field("a").unwrap().values::<i32>().unwrap(), values(&apart, 1));

    // Offsets are decoded whole, because each is compared with the one before; values go to an
    // arena of the region with what lies between their first and last cell in the tile, and from
    // there to their places.
    let window = cells(100..=163, 0..=127);
    let (offsets, text) = (chunks(OFFSETS, &window), chunks(S, &window));
    let case = Case::new("strings in a window of one tile", &[("offsets", offsets), ("s", text)]);
    let case = case.copies(window.len() * 4).but_decodes(OFFSETS.chunks(0..TILE) + text);
    let between = place((163, 127)) + 1 - place((100, 0));
    let case = case.but_copies((between + window.len()) * 4);
    let found = table.read(&case, &array.read().fields(["s"]).range("y", 100..=163).range("x", 0..=127));
    assert_eq!(found.field("s").unwrap().cell(1), Some(&b"1201"[..]));

    table.finish();
}

#[test]
fn what_newer_dense_fragments_cover_is_not_decoded() {
    let mut table = Table::new("dense fragments");
    let all = cells(ALL, ALL);

    let covered = array(&[ALL, ALL]);
    let case = Case::new("all of two fragments, the older covered", &[("a", chunks(A, &all))]);
    let found = table.read(&case, &covered.read().fields(["a"]).order(Layout::GlobalOrder));
    assert!(found.field("a").unwrap().values::<i32>().unwrap().iter().all(|value| *value >= 2_000_000));

    // The newer fragment has the upper half of the upper tiles: two fragments share these tiles,
    // and each of their cells is copied once. The lower tiles are decoded in place.
    let partly = array(&[ALL, 0..=127]);
    let case = Case::new("all of two fragments, a quarter covered", &[("a", chunks(A, &all))]);
    let case = case.copies(2 * TILE * 4);
    let found = table.read(&case, &partly.read().fields(["a"]).order(Layout::GlobalOrder));
    let found = found.field("a").unwrap().values::<i32>().unwrap();
    assert_eq!((found[0], found[TILE / 2]), (value((0, 0), 2), value((128, 0), 1)));

    // Of the upper tiles nothing of the oldest fragment is left to see.
    let together = array(&[ALL, 0..=127, 128..=255]);
    let case =
        Case::new("all of three fragments, two of them cover half of the oldest", &[("a", chunks(A, &all))]);
    let case = case.copies(2 * TILE * 4);
    let found = table.read(&case, &together.read().fields(["a"]).order(Layout::GlobalOrder));
    let found = found.field("a").unwrap().values::<i32>().unwrap();
    assert_eq!((found[0], found[TILE / 2]), (value((0, 0), 2), value((128, 0), 3)));

    table.finish();
}

#[test]
fn dense_conditions_and_aggregates_decode_what_statistics_leave_open() {
    let array = array(&[ALL]);
    let mut table = Table::new("dense conditions");

    let case = Case::new("condition that statistics refute", &[]);
    let found = table.read(&case, &array.read().fields(["b"]).condition(field("a").lt(0)));
    assert_eq!(found.len(), 512 * 512);

    // The extremes of both upper tiles admit the value, so all of their chunks of `a` must be
    // looked at. Of `b`, the chunk with the cell is enough; but a tile with any wanted cell is
    // painted whole, and the others get fill values afterwards.
    let case = Case::new("condition that one cell satisfies", &[("a", 2 * A.chunks(0..TILE)), ("b", 1)]);
    let case = case.but_decodes(2 * A.chunks(0..TILE) + B.chunks(0..TILE));
    let read = array.read().fields(["b"]).condition(field("a").eq(value((10, 20), 1)));
    let found = table.read(&case, &read.order(Layout::GlobalOrder));
    let found = found.field("b").unwrap().values::<f64>().unwrap();
    assert_eq!(found.iter().filter(|value| !value.is_nan()).count(), 1);

    let case = Case::new("count, sum and maximum of all", &[]);
    let asked = || [Aggregate::count(), Aggregate::sum("a"), Aggregate::max("a")];
    let found = table.aggregate(&case, &array, (&array.read(), asked()));
    let all: Vec<i64> = values(&cells(ALL, ALL), 1).into_iter().map(i64::from).collect();
    assert_eq!(found[1].as_i64(), Some(all.iter().sum()));

    // Statistics answer for the upper tiles. The cells of a cut tile are put together before they
    // are added up.
    let cut = cells(256..=299, ALL);
    let case = Case::new("the same of a box that cuts two of four tiles", &[("a", chunks(A, &cut))]);
    let case = case.but_copies(cut.len() * 4);
    let found = table.aggregate(&case, &array, (&array.read().range("y", 0..=299), asked()));
    let sum = values(&cells(0..=299, ALL), 1).into_iter().map(i64::from).sum();
    assert_eq!(found[1].as_i64(), Some(sum));

    table.finish();
}
