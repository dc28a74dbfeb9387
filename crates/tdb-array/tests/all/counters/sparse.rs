//! Sparse arrays of numbers.

use core::ops::RangeInclusive;

use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Layout, MemoryBudget, OpenOptions, WriteColumn, WriteOptions, field};

use crate::counters::least::{Case, Stored, Table};

const ROWS: i32 = 1024;
const COLUMNS: i32 = 512;
/// A tile is 256 rows.
const TILE: usize = 256 * COLUMNS as usize;

/// Coordinates: a chunk is 32 rows.
const AT: Stored = Stored::fixed(TILE, 4);
/// A chunk is 16 rows.
const A: Stored = Stored::fixed(TILE, 8);
/// A chunk is 64 rows.
const W: Stored = Stored::fixed(TILE, 2);
/// A chunk is 128 rows.
const VALIDITY: Stored = Stored::fixed(TILE, 1);
/// Bytes of a cell in all columns.
const CELL: usize = 4 + 4 + 8 + 2 + 1;

/// Where a cell is stored: every cell of the domain is there, row after row.
fn place((y, x): (i32, i32)) -> usize {
    (y * COLUMNS + x) as usize
}

fn rows(rows: RangeInclusive<i32>) -> core::ops::Range<usize> {
    place((*rows.start(), 0))..place((*rows.end() + 1, 0))
}

/// The three cells with a negative `w`, two of them in the second tile and one in the last.
const FEW: [(i32, i32); 3] = [(300, 5), (301, 501), (1000, 77)];

fn schema(duplicates: bool) -> ArraySchema {
    let zstd = Pipeline::new(vec![Filter::ByteShuffle, Filter::Zstd { level: 1 }]);
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("y", 0..=ROWS - 1).with_tile(ROWS))
        .dimension(Dimension::new("x", 0..=COLUMNS - 1).with_tile(COLUMNS))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(zstd))
        .attribute(Attribute::new("w", Datatype::Int16, CellValNum::ONE).with_nulls())
        .capacity(TILE as u64);
    if duplicates { schema.allow_duplicates() } else { schema }.build().unwrap()
}

/// An array with these rows, one fragment for each range.
fn storage(duplicates: bool, written: &[RangeInclusive<i32>]) -> MemoryStorage {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema(duplicates)).unwrap();
    for (time, rows) in (1u64..).zip(written) {
        let cells: Vec<(i32, i32)> = rows.clone().flat_map(|y| (0..COLUMNS).map(move |x| (y, x))).collect();
        let (y, x): (Vec<i32>, Vec<i32>) = cells.iter().copied().unzip();
        let a: Vec<i64> = cells.iter().map(|cell| place(*cell) as i64 + time as i64).collect();
        let w: Vec<i16> =
            cells.iter().map(|(y, x)| if FEW.contains(&(*y, *x)) { -1 } else { (x % 100) as i16 }).collect();
        let valid: Vec<u8> = x.iter().map(|x| u8::from(x % 7 != 3)).collect();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(Layout::GlobalOrder);
        let write = write.column(WriteColumn::fixed("y", &y)).column(WriteColumn::fixed("x", &x));
        let write = write.column(WriteColumn::fixed("a", &a));
        write.column(WriteColumn::fixed("w", &w).nullable(&valid)).commit().unwrap();
    }
    storage
}

fn array(duplicates: bool, written: &[RangeInclusive<i32>]) -> Array {
    OpenOptions::new().threads(1).open_storage(storage(duplicates, written)).unwrap()
}

const WHOLE: RangeInclusive<i32> = 0..=ROWS - 1;

/// The chunks of all fields that have some cells.
fn of_all(cells: impl IntoIterator<Item = usize> + Clone) -> [(&'static str, u64); 5] {
    let count = |field: Stored| field.chunks(cells.clone());
    [("y", count(AT)), ("x", count(AT)), ("a", count(A)), ("w", count(W)), ("validity", count(VALIDITY))]
}

fn with_a(array: &Array) -> tdb_array::Read {
    array.read().fields(["a"])
}

/// The values of `a` in some cells.
fn values(cells: impl IntoIterator<Item = usize>) -> Vec<i64> {
    cells.into_iter().map(|cell| cell as i64 + 1).collect()
}

#[test]
fn whole_sparse_reads_decode_each_chunk_once_and_where_it_stays() {
    let mut table = Table::new("sparse, whole");
    let all = rows(WHOLE);
    let one = array(false, &[WHOLE]);

    let found = table.read(&Case::new("unordered", &of_all(all.clone())), &one.read());
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(all.clone()));

    let case = Case::new("one attribute", &[("a", A.chunks(all.clone()))]);
    assert_eq!(table.read(&case, &with_a(&one)).len(), all.len());

    let case = Case::new("row-major, as it is stored", &of_all(all.clone()));
    let found = table.read(&case, &one.read().order(Layout::RowMajor));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(all.clone()));

    let case = Case::new("column-major", &of_all(all.clone())).copies(all.len() * CELL);
    let found = table.read(&case, &one.read().order(Layout::ColMajor));
    let columns = (0..COLUMNS).flat_map(|x| (0..ROWS).map(move |y| place((y, x))));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(columns));

    let two = array(true, &[WHOLE, 5..=5]);
    let each = of_all(all.clone()).map(|(field, chunks)| (field, chunks + 1));
    let case = Case::new("two fragments, duplicates allowed", &each);
    assert_eq!(table.read(&case, &two.read()).len(), all.len() + COLUMNS as usize);

    // The newer fragment replaces a row of the first tile. The least is to decode all chunks but
    // the one with that row where they stay. But the first tile is decoded whole, and then all
    // later cells close the gap.
    let two = array(false, &[WHOLE, 5..=5]);
    let row = COLUMNS as usize;
    // Rows of a chunk of `y`, `x`, `a`, `w` and validity, and bytes of a cell.
    let with_gap = [(32, 4), (32, 4), (16, 8), (64, 2), (128, 1)].map(|(rows, size)| (rows - 1) * row * size);
    let case = Case::new("two fragments, one row replaced", &each).copies(with_gap.iter().sum());
    let case = case.but_copies((all.len() - 5 * row) * CELL);
    let found = table.read(&case, &two.read());
    assert_eq!(found.len(), all.len());
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap()[5 * row], place((6, 0)) as i64 + 1);

    table.finish();
}

#[test]
fn sparse_ranges_decode_chunks_with_wanted_cells_of_the_tiles_that_they_cut() {
    let mut table = Table::new("sparse, ranges");
    let array = array(false, &[WHOLE]);

    // The rectangle of a tile says nothing about its chunks: all of the first dimension is
    // compared. The chunks that this leaves are compared with the next range.
    let cells: Vec<usize> = (100..=140).flat_map(|y| (10..=20).map(move |x| place((y, x)))).collect();
    let [_, x, a, w, validity] = of_all(cells.clone());
    let needed = [("y", AT.chunks(0..TILE)), x, a, w, validity];
    // Coordinates that were compared are put aside, until the number of cells is known.
    let case = Case::new("box in one tile", &needed).copies(cells.len() * CELL);
    let case = case.but_copies(cells.len() * (CELL + 8));
    let found = table.read(&case, &array.read().range("y", 100..=140).range("x", 10..=20));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(cells));

    let case = Case::new("one point", &[("y", AT.chunks(0..TILE)), ("x", 1), ("a", 1)]).copies(8);
    let found = table.read(&case, &with_a(&array).range("y", 700..=700).range("x", 33..=33));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values([place((700, 33))]));

    let inside = rows(256..=767);
    let case = Case::new("rows of two whole tiles", &[("a", A.chunks(inside.clone()))]);
    let found = table.read(&case, &with_a(&array).range("y", 256..=767));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(inside));

    let cut = rows(250..=260);
    let needed = [("y", 2 * AT.chunks(0..TILE)), ("a", A.chunks(cut.clone()))];
    let case = Case::new("rows of two cut tiles, any column", &needed).copies(cut.len() * 8);
    let found = table.read(&case, &with_a(&array).range("y", 250..=260));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(cut));

    let two = rows(3..=3).chain(rows(900..=901));
    let needed = [("y", 2 * AT.chunks(0..TILE)), ("a", A.chunks(two.clone()))];
    let case = Case::new("two ranges of rows", &needed).copies(two.clone().count() * 8);
    let found = table.read(&case, &with_a(&array).ranges("y", [3..=3, 900..=901]));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(two));

    table.finish();
}

#[test]
fn sparse_conditions_decode_what_they_ask_and_of_other_fields_the_chunks_of_matches() {
    let mut table = Table::new("sparse, conditions");
    let array = array(false, &[WHOLE]);

    let few = FEW.map(place);
    // Statistics leave two of the four tiles.
    let looked = rows(256..=511).chain(rows(768..=1023));
    let needed =
        [("w", W.chunks(looked.clone())), ("validity", VALIDITY.chunks(looked)), ("a", A.chunks(few))];
    let case = Case::new("three cells satisfy it", &needed).copies(few.len() * 8);
    let found = table.read(&case, &with_a(&array).condition(field("w").lt(0)));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(few));

    let last = rows(1000..=1023);
    let needed = [("y", AT.chunks(0..TILE)), ("a", A.chunks(last.clone()))];
    let case = Case::new("on a dimension", &needed).copies(last.len() * 8);
    let found = table.read(&case, &with_a(&array).condition(field("y").ge(1000)));
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), values(last));

    let case = Case::new("statistics refute it", &[]);
    assert!(table.read(&case, &array.read().condition(field("a").lt(0))).is_empty());

    // A cell of the nullable field, too, in the only chunk of validity that has it.
    let cell = place((700, 33));
    let needed = [("a", A.chunks(rows(512..=767))), ("w", 1), ("validity", 1)];
    let case = Case::new("one cell of a nullable field", &needed).copies(2 + 1);
    let read = array.read().fields(["w"]).condition(field("a").eq(cell as i64 + 1));
    assert_eq!(table.read(&case, &read).field("w").unwrap().values::<i16>().unwrap(), [33]);

    table.finish();
}

#[test]
fn sparse_aggregates_decode_only_tiles_that_are_cut() {
    let mut table = Table::new("sparse, aggregates");
    let array = array(false, &[WHOLE]);
    let asked = || [Aggregate::count(), Aggregate::sum("a"), Aggregate::max("a")];

    let found = table.aggregate(&Case::new("all", &[]), &array, (&array.read(), asked()));
    assert_eq!(found[1].as_i64(), Some(values(rows(WHOLE)).iter().sum()));

    let inside = rows(256..=511);
    let read = array.read().range("y", 256..=511);
    let found = table.aggregate(&Case::new("a whole tile", &[]), &array, (&read, asked()));
    assert_eq!(found[1].as_i64(), Some(values(inside).iter().sum()));

    let cut = rows(200..=255);
    let needed = [("y", AT.chunks(0..TILE)), ("a", A.chunks(cut))];
    let case = Case::new("a whole tile and a cut one", &needed);
    let read = array.read().range("y", 200..=511);
    let found = table.aggregate(&case, &array, (&read, asked()));
    assert_eq!(found[1].as_i64(), Some(values(rows(200..=511)).iter().sum()));

    table.finish();
}

#[test]
fn an_open_array_reads_listings_footers_and_offsets_once() {
    let array = array(false, &[WHOLE]);
    let (opened, tiles) = (array.stats(), 4);
    let (_, first) = with_a(&array).collect_with_stats().unwrap();
    let (_, second) = with_a(&array).collect_with_stats().unwrap();
    assert!(opened.requests > 0 && !first.sections.is_zero(), "{opened:?}, {first:?}");
    assert!(first.requests >= tiles, "{first:?}");
    assert_eq!((second.requests, second.sections.as_nanos()), (tiles, 0), "one read a tile of the field");
    assert_eq!((first.chunks, first.bytes_copied), (second.chunks, second.bytes_copied));
}

#[test]
fn a_first_batch_decodes_no_more_than_its_own_tile() {
    let array = array(false, &[WHOLE]);
    let before = array.stats();
    let read = with_a(&array).initial_batch_memory(MemoryBudget::from_bytes(64 << 10));
    let cells = read.batches().unwrap().next().unwrap().unwrap();
    let stats = array.stats().since(&before);
    let (least, most) = (A.chunks(0..cells.len()), A.chunks(0..TILE) + AT.chunks(0..TILE));
    assert!((least..=most).contains(&stats.chunks), "{} cells: {least} to {most}, {stats:?}", cells.len());
}

#[test]
fn several_threads_decode_and_copy_as_much_as_one() {
    let storage = storage(false, &[WHOLE, 5..=5]);
    for order in [Layout::Unordered, Layout::ColMajor] {
        let counts = [1, 4].map(|threads| {
            let array = OpenOptions::new().threads(threads).open_storage(storage.clone()).unwrap();
            let (_, stats) = array.read().range("y", 3..=900).order(order).collect_with_stats().unwrap();
            (stats.chunks, stats.bytes_decoded, stats.bytes_copied)
        });
        assert_eq!(counts[0], counts[1], "{order:?}");
    }
}
