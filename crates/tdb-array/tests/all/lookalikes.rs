//! Cells whose bytes look like the headers that the format stores between cells.
#![allow(
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, and its numbers are small"
)]

use proptest::prelude::*;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, FormatVersion, Pipeline};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, OpenOptions, WriteColumn, WriteOptions};

/// The header of a chunk of so many bytes that no filter changed.
fn header(len: usize) -> [u8; 12] {
    let len = (len as u32).to_le_bytes();
    [len, len, [0; 4]].concat().try_into().unwrap()
}

/// An array of one tile without filters: `v` has these bytes of variable length, `f` 24 bytes of
/// each cell.
fn array(cells: &[Vec<u8>], fixed: &[u8]) -> Array {
    let storage = MemoryStorage::default();
    let last = cells.len() as u64 - 1;
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("i", 0..=last).with_tile(last + 1))
        .attribute(Attribute::new("v", Datatype::Blob, CellValNum::Var))
        .attribute(Attribute::new("f", Datatype::Uint8, CellValNum::Fixed(24.try_into().unwrap())))
        .build()
        .unwrap();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let mut offsets = vec![0];
    cells.iter().for_each(|cell| offsets.push(offsets[offsets.len() - 1] + cell.len() as u64));
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let values = cells.concat();
    let write = writer.write().range("i", 0..=last);
    let write = write.column(WriteColumn::var("v", &values, &offsets));
    write.column(WriteColumn::fixed("f", fixed)).commit().unwrap();
    OpenOptions::new().open_storage(storage).unwrap()
}

/// The bytes of cells from `first` to `last` of a field.
fn read(array: &Array, field: &str, (first, last): (u64, u64)) -> Vec<u8> {
    let cells = array.read().fields([field]).range("i", first..=last).collect().unwrap();
    let column = cells.field(field).unwrap();
    (0..cells.len()).flat_map(|cell| column.cell(cell).unwrap().to_vec()).collect()
}

#[test]
fn a_value_that_begins_with_a_header_is_a_value() {
    // The first chunk has 65,540 bytes, and the tile is as long as one whose chunks all have so
    // many.
    let sizes = [40_000, 25_540, 40_000, 70_000, 70_000, 70_000, 70_000, 70_000, 50_000];
    let mut cells: Vec<Vec<u8>> = (1u8..).zip(sizes).map(|(cell, size)| vec![cell; size]).collect();
    // Where the headers of such a tile would be.
    for (cell, at) in [(3, 25_528), (4, 21_068), (5, 16_608)] {
        cells[cell][at..at + 12].copy_from_slice(&header(65_540));
    }
    let array = array(&cells, &[0; 24 * 9]);
    for (cell, expected) in (0..).zip(&cells) {
        assert!(read(&array, "v", (cell, cell)) == *expected, "cell {cell}");
    }
}

#[test]
fn coordinates_that_look_like_headers_are_coordinates() {
    // Old arrays have the coordinates of all dimensions in one tile, each dimension's in chunks of
    // 65,536 and 54,464 bytes: ten in all, as if all but the last had 65,536.
    const CELLS: usize = 30_000;
    const NAMES: [&str; 5] = ["i", "j", "k", "l", "m"];
    for phase in 0..3 {
        let storage = MemoryStorage::default();
        let schema = NAMES.into_iter().fold(ArraySchema::sparse(), |schema, name| {
            schema.dimension(Dimension::new(name, 0..=99_999i32).with_tile(100_000))
        });
        let schema = schema
            .attribute(Attribute::new("a", Datatype::Uint8, CellValNum::ONE))
            .coords_filters(Pipeline::default())
            .capacity(30_000)
            .build()
            .unwrap();
        let mut schema = schema;
        schema.version = FormatVersion::parse(4).unwrap();
        WriteOptions::new().create_storage(&storage, &schema).unwrap();
        let first: Vec<i32> = (0..30_000).collect();
        let headers: Vec<i32> = (0..CELLS).map(|cell| [65_536, 65_536, 0][(cell + phase) % 3]).collect();
        let last: Vec<i32> = first.iter().map(|first| 70_000 - first).collect();
        let values = [&first, &headers, &headers, &headers, &last];
        let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
        let write = NAMES
            .into_iter()
            .zip(values)
            .fold(writer.write(), |write, (name, values)| write.column(WriteColumn::fixed(name, values)));
        let write = write.column(WriteColumn::fixed("a", &[1u8; CELLS]));
        write.commit().unwrap();
        let array = OpenOptions::new().open_storage(storage).unwrap();
        for (name, expected) in NAMES.into_iter().zip(values) {
            let cells = array.read().fields([name]).collect().unwrap();
            assert!(cells.field(name).unwrap().values::<i32>().unwrap() == expected, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 50, ..ProptestConfig::default() })]

    /// All bytes of all cells look like headers of chunks as long as the first.
    #[test]
    fn cells_that_look_like_headers_are_the_cells_that_were_written(
        sizes in prop_oneof![
            // The first chunk is a little shorter than the others, and an empty one follows: as
            // many as if all were as long as the first.
            prop::collection::vec(66_000usize..72_000, 7..16).prop_map(|sizes| [vec![66_000], sizes].concat()),
            prop::collection::vec(
                prop_oneof![Just(65_536usize), Just(70_000), Just(40_000), Just(32_768), 0usize..140_000],
                4..16,
            ),
        ],
        phase in prop_oneof![Just(0usize), 0usize..12],
        count in 10_000u64..30_000,
    ) {
        let total: usize = sizes.iter().sum();
        let offsets: Vec<u64> = sizes
            .iter()
            .scan(0, |end, size| Some(std::mem::replace(end, *end + *size as u64)))
            .collect();
        let cut = tdb_tile::split::Cells::Var { offsets: &offsets, value_size: 1 };
        let first = tdb_tile::split::chunk_lengths(total, cut).unwrap()[0];
        // Beside each byte of a header lie the others of it: phase by phase, one of them is where a
        // header is expected.
        let pattern = |len: usize, at: usize| header(len)[(at + phase) % 12];
        let cells: Vec<Vec<u8>> = sizes
            .iter()
            .zip(&offsets)
            .map(|(size, start)| (0..*size).map(|at| pattern(first, *start as usize + at)).collect())
            .collect();
        let array_of_var = array(&cells, &vec![0; 24 * cells.len()]);
        for (cell, expected) in (0..).zip(&cells) {
            prop_assert!(read(&array_of_var, "v", (cell, cell)) == *expected, "cell {}", cell);
        }
        // Cells of 24 bytes are stored in chunks of 65,520.
        let fixed: Vec<u8> = (0..24 * count as usize).map(|at| pattern(65_520, at)).collect();
        let array_of_fixed = array(&vec![Vec::new(); count as usize], &fixed);
        for first in [0, count / 3, count / 2, count - 2] {
            let expected = &fixed[24 * first as usize..][..48];
            prop_assert!(read(&array_of_fixed, "f", (first, first + 1)) == expected, "cell {}", first);
        }
    }
}
