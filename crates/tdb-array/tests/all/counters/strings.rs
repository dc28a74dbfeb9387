//! Sparse arrays of strings: offsets and values, strings that are stored with their lengths, and a
//! dimension of strings.

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Layout, OpenOptions, WriteColumn, WriteOptions, field};

use crate::common::Strings;
use crate::counters::least::{Case, Stored, Table};

const TILE: usize = 32768;
const CELLS: usize = 4 * TILE;

const X: Stored = Stored::fixed(TILE, 8);
const OFFSETS: Stored = Stored::fixed(TILE, 8);
/// Strings of eight bytes.
const S: Stored = Stored::values(TILE, 8);
/// Strings that are stored in runs or with a dictionary: no writer cuts a tile of them.
const CODED: Stored = Stored::whole(TILE);
/// Cells with the same string of eight bytes, one after the other.
const RUN: usize = 64;

fn own(cell: usize) -> String {
    format!("k{cell:07}")
}

/// An array of cells in a row: `s` is another string in each, `r` is stored in runs, `d` with a
/// dictionary.
fn array() -> Array {
    let strings = |name: &str, filter: Filter| {
        let pipeline = Pipeline::new(vec![filter]);
        Attribute::new(name, Datatype::StringAscii, CellValNum::Var).with_filters(pipeline)
    };
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0..=CELLS as i64 - 1).with_tile(CELLS as i64))
        .attribute(strings("s", Filter::Zstd { level: 1 }))
        .attribute(strings("r", Filter::Rle { level: 0 }))
        .attribute(strings("d", Filter::Dictionary { level: 0 }))
        .capacity(TILE as u64)
        .build()
        .unwrap();
    let x: Vec<i64> = (0..CELLS as i64).collect();
    let s = Strings::new((0..CELLS).map(own));
    let r = Strings::new((0..CELLS).map(|cell| format!("r{:07}", cell / RUN)));
    let d = Strings::new((0..CELLS).map(|cell| format!("d{:03}", cell % 16)));
    write(&schema, &[WriteColumn::fixed("x", &x), s.column("s"), r.column("r"), d.column("d")])
}

fn write(schema: &ArraySchema, columns: &[WriteColumn<'_>]) -> Array {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, schema).unwrap();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let write = writer.write().order(Layout::GlobalOrder);
    columns.iter().fold(write, |write, column| write.column(*column)).commit().unwrap();
    OpenOptions::new().threads(1).open_storage(storage).unwrap()
}

/// The numbers of the cells that were found.
fn numbers(cells: &tdb_array::Cells) -> Vec<usize> {
    cells.field("x").unwrap().values::<i64>().unwrap().iter().map(|x| *x as usize).collect()
}

#[test]
fn strings_are_decoded_in_the_chunks_that_have_wanted_bytes() {
    let mut table = Table::new("strings");
    let array = array();
    let tile = TILE..2 * TILE;

    let case = Case::new("all", &[("offsets", OFFSETS.chunks(0..CELLS)), ("s", S.chunks(0..CELLS))]);
    let found = table.read(&case, &array.read().fields(["s"]));
    assert_eq!(found.field("s").unwrap().cell(70_000), Some(own(70_000).as_bytes()));

    // Statistics leave one tile, whose strings are all compared.
    let looked = [("offsets", OFFSETS.chunks(tile.clone())), ("s", S.chunks(tile.clone()))];
    let one = || array.read().condition(field("s").eq(own(40_000)));
    let case = Case::new("one value, another field", &[looked[0], looked[1], ("x", 1)]).copies(8);
    assert_eq!(numbers(&table.read(&case, &one().fields(["x"]))), [40_000]);

    let case = Case::new("one value, its own field", &looked).copies(8);
    let found = table.read(&case, &one().fields(["s"]));
    assert_eq!((found.len(), found.field("s").unwrap().cell(0)), (1, Some(own(40_000).as_bytes())));

    let begun = 40_000..50_000;
    let case = Case::new("a common beginning", &[looked[0], looked[1], ("x", X.chunks(begun.clone()))]);
    let condition = field("s").ge("k004").and(field("s").lt("k005"));
    let read = array.read().fields(["x"]).condition(condition);
    assert_eq!(numbers(&table.read(&case.copies(begun.len() * 8), &read)), begun.collect::<Vec<_>>());

    // Offsets are decoded whole, because each is compared with the one before.
    let some = 40_000..=40_100;
    let needed =
        [("x", X.chunks(tile.clone())), ("offsets", OFFSETS.chunks(some.clone())), ("s", S.chunks(some))];
    let decoded = needed[0].1 + OFFSETS.chunks(tile) + needed[2].1;
    let case = Case::new("of a few cells", &needed).copies(101 * 8).but_decodes(decoded);
    let found = table.read(&case, &array.read().fields(["s"]).range("x", 40_000..=40_100));
    assert_eq!(found.field("s").unwrap().cell(100), Some(own(40_100).as_bytes()));

    table.finish();
}

#[test]
fn strings_that_are_stored_once_are_decoded_once() {
    let mut table = Table::new("strings, coded");
    let array = array();

    // Only a chunk as a whole says how long its strings are, so they are decoded to a text and from
    // there to the result.
    let all = [("r", CODED.chunks(0..CELLS))];
    let case = Case::new("runs, all", &all).but_copies(CELLS * 8);
    let found = table.read(&case, &array.read().fields(["r"]));
    assert_eq!(found.field("r").unwrap().cell(70_000), Some(&b"r0001093"[..]));

    // The strings of four tiles become one list; the codes of a tile are decoded before their
    // number in the list is known.
    let strings = CELLS / RUN * 8;
    let case = Case::new("runs, all as codes", &all).copies(strings).but_copies(strings + CELLS * 4);
    let found = table.read(&case, &array.read().fields(["r"]).dictionary_codes(true));
    assert_eq!(found.field("r").unwrap().cell(70_000), Some(&b"r0001093"[..]));

    // A condition is compared with each string once, however many cells have it.
    let run = 40_000..40_000 + RUN;
    let case = Case::new("runs, one value", &[("r", 1), ("x", 1)]);
    let case = case.copies(RUN * 8).but_copies(TILE / RUN * 8 + RUN * 8);
    let read = array.read().fields(["x"]).condition(field("r").eq("r0000625"));
    assert_eq!(numbers(&table.read(&case, &read)), run.collect::<Vec<_>>());

    let case =
        Case::new("dictionary, one value", &[("d", CODED.chunks(0..CELLS)), ("x", X.chunks(0..CELLS))]);
    let case = case.copies(CELLS / 16 * 8).but_copies(CELLS / TILE * 16 * 4 + CELLS / 16 * 8);
    let read = array.read().fields(["x"]).condition(field("d").eq("d007"));
    assert_eq!(
        numbers(&table.read(&case, &read)),
        (0..CELLS).filter(|cell| cell % 16 == 7).collect::<Vec<_>>()
    );

    table.finish();
}

#[test]
fn one_value_of_a_dimension_of_strings_decodes_one_tile_of_it() {
    let mut table = Table::new("strings, dimension");
    let each = 4096;
    let cells = 0..16 * each;
    let schema = ArraySchema::sparse()
        .dimension(Dimension::string("name"))
        .dimension(Dimension::new("x", 0..=each as i64 - 1).with_tile(each as i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .capacity(TILE as u64)
        .build()
        .unwrap();
    let names = Strings::new(cells.clone().map(|cell| format!("g{:02}", cell / each)));
    let x: Vec<i64> = cells.clone().map(|cell| (cell % each) as i64).collect();
    let a: Vec<i64> = cells.map(|cell| cell as i64).collect();
    let array =
        write(&schema, &[names.column("name"), WriteColumn::fixed("x", &x), WriteColumn::fixed("a", &a)]);

    // Nobody asks for `x`, neither the range nor the caller.
    let own = 5 * each..6 * each;
    let name = Stored::values(TILE, 3);
    let needed =
        [("offsets", OFFSETS.chunks(0..TILE)), ("name", name.chunks(0..TILE)), ("a", X.chunks(own.clone()))];
    let case = Case::new("one value", &needed).copies(each * 8);
    let found = table.read(&case, &array.read().fields(["a"]).range("name", "g05"..="g05"));
    let expected: Vec<i64> = own.map(|cell| cell as i64).collect();
    assert_eq!(found.field("a").unwrap().values::<i64>().unwrap(), expected);

    table.finish();
}
