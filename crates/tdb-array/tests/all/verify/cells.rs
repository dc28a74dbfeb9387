//! The order of cells, duplicate coordinates, and rectangles.

use core::ops::ControlFlow;
use std::path::Path;

use tdb_array::maintain::{Consolidation, Stored, verify};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Layout, WriteColumn, WriteOptions};
use tdb_codec::{CellValNum, Datatype};
use tdb_fragment::Section;
use tdb_schema::{ArraySchema, Attribute, Dimension, Range};

use crate::verify::remake::{change, key, metadata, replace, section};

/// An array whose files contain unfiltered coordinates, in tiles of five cells, with cells at `x`.
fn sparse(duplicates: bool, x: &[i32]) -> MemoryStorage {
    let storage = MemoryStorage::default();
    let mut schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=9999).with_tile(1000i32))
        .attribute(Attribute::new("a", Datatype::Uint8, CellValNum::ONE))
        .capacity(5)
        .build()
        .unwrap();
    schema.allows_duplicates = duplicates;
    schema.coords_filters = tdb_filters::Pipeline::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    write(&storage, 7, x);
    storage
}

fn write(storage: &MemoryStorage, time: u64, x: &[i32]) {
    let a = vec![1u8; x.len()];
    let writer = WriteOptions::new().threads(1).timestamp(time).open_storage(storage.clone()).unwrap();
    let write = writer.write().order(Layout::Unordered).column(WriteColumn::fixed("x", x));
    write.column(WriteColumn::fixed("a", &a)).commit().unwrap();
}

/// The problems that `verify` finds, without the sums of coordinates, which change when cells are
/// moved.
fn problems(storage: &MemoryStorage) -> Vec<String> {
    let mut found = crate::verify::problems(storage);
    found.retain(|what| !what.starts_with("the sum of ") && !what.contains("more sums"));
    found
}

/// Replaces one coordinate by another.
fn move_cell(storage: &MemoryStorage, from: i32, to: i32) {
    replace(storage, "/d0.tdb", &from.to_le_bytes(), &to.to_le_bytes());
}

const CELLS: [i32; 10] = [11, 22, 33, 44, 55, 66, 77, 88, 99, 111];

#[test]
fn an_array_that_consolidation_once_left_out_of_hilbert_order_is_named_cell_by_cell() {
    // Domain −10 to 10 along a Hilbert curve; cells 8 and 10 were written one after the other and
    // consolidated by tdb at commit 62aad05, which put the upper end of the domain first.
    let storage =
        crate::verify::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hilbert_upper_end"));
    let found = verify(storage.clone());
    assert_eq!(found.problems.len(), 1, "{found:?}");
    let problem = &found.problems[0];
    assert!(problem.path.ends_with("/d0.tdb"), "{}", problem.path);
    assert_eq!(
        problem.what,
        "tile 0, cell 1, (x=8.0): is out of order: it comes after (x=10.0), but sorts before it in Hilbert order"
    );
}

#[test]
fn nulls_of_strings_that_libtiledb_did_not_count_are_only_noted() {
    let storage =
        crate::verify::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nulls_of_strings"));
    let found = verify(storage);
    assert!(found.problems.is_empty(), "{found:?}");
    assert!(found.notes.iter().any(|note| note.what.contains("number of nulls")), "{found:?}");
}

#[test]
fn an_array_as_it_is_written_is_clean() {
    for duplicates in [false, true] {
        let storage = sparse(duplicates, &CELLS);
        let found = verify(storage);
        assert!(found.problems.is_empty() && found.notes.is_empty(), "{found:?}");
    }
}

#[test]
fn cells_out_of_order_are_named_inside_a_tile_and_across_the_end_of_one() {
    let storage = sparse(false, &CELLS);
    // The rectangle of the tile remains what its cells need.
    move_cell(&storage, 33, 45);
    assert_eq!(
        problems(&storage),
        [
            "tile 0, cell 3, (x=44): is out of order: it comes after (x=45), but sorts before it in global order"
        ]
    );
    // Two tiles that are swapped in the file keep their own order.
    let storage = sparse(false, &CELLS);
    change(&storage, "/d0.tdb", |bytes| {
        let half = bytes.len() / 2;
        bytes.rotate_left(half);
    });
    let found = problems(&storage);
    let expected = "tile 1, cell 0, (x=11): is out of order: it comes after (x=111), but sorts before it in global order";
    assert!(found.iter().any(|what| what == expected), "{found:?}");
}

#[test]
fn coordinates_that_are_there_twice_are_named_unless_the_array_allows_them() {
    let inside = (22, 11, "tile 0, cell 1, (x=11): has the same coordinates as an earlier cell");
    let across = (66, 55, "tile 1, cell 0, (x=55): has the same coordinates as an earlier cell");
    for (from, to, expected) in [inside, across] {
        let storage = sparse(false, &CELLS);
        move_cell(&storage, from, to);
        let found = problems(&storage);
        assert!(found.iter().any(|what| what.starts_with(expected)), "{found:?}");
        let storage = sparse(true, &CELLS);
        move_cell(&storage, from, to);
        let found = problems(&storage);
        assert!(!found.iter().any(|what| what.contains("the same coordinates")), "{found:?}");
    }
    // Three equal cells are two too many.
    let storage = sparse(false, &CELLS);
    move_cell(&storage, 22, 11);
    move_cell(&storage, 33, 11);
    let found = problems(&storage);
    assert_eq!(found.iter().filter(|what| what.contains("the same coordinates")).count(), 2, "{found:?}");
}

/// Two fragments with cells at the same places, consolidated with their timestamps, which are
/// stored without filters.
fn versions() -> MemoryStorage {
    let storage = sparse(false, &[11, 22]);
    write(&storage, 9, &[22, 33]);
    let writer = WriteOptions::new().threads(1).open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    let keys = storage.keys();
    keys.iter().filter(|key| key.contains("__7_7_") || key.contains("__9_9_")).for_each(|key| {
        storage.remove(key).unwrap();
    });
    let vacuum = key(&storage, ".vac");
    storage.remove(&vacuum).unwrap();
    storage
}

#[test]
fn versions_of_a_cell_may_repeat_its_coordinates_newest_first() {
    let storage = versions();
    assert_eq!(problems(&storage), [""; 0]);
    let times = |times: [u64; 2]| times.map(u64::to_le_bytes).concat();
    // The versions of cell 22 are the second and the third cell.
    replace(&storage, "/t.tdb", &times([9, 7]), &times([7, 9]));
    let found = problems(&storage);
    assert_eq!(
        found,
        [
            "tile 0, cell 2, (x=22): was written at 9, but comes after the version of the same cell written at 7"
        ]
    );
}

#[test]
fn cells_outside_their_rectangle_and_the_non_empty_domain_are_named_and_counted() {
    let storage = sparse(false, &CELLS);
    move_cell(&storage, 44, 54);
    assert_eq!(problems(&storage), [""; 0], "still inside");
    move_cell(&storage, 55, 56);
    assert_eq!(
        problems(&storage),
        ["tile 0, cell 4, (x=56): is outside its tile's rectangle, which is 11 to 55 in dimension \"x\""]
    );
    // All of 400 cells are outside: eight of each kind are shown.
    let many: Vec<i32> = (0..400).collect();
    let (storage, other) =
        (sparse(false, &many), sparse(false, &many.iter().map(|x| x + 500).collect::<Vec<_>>()));
    let coordinates = other.remove(&key(&other, "/d0.tdb")).unwrap();
    change(&storage, "/d0.tdb", |bytes| *bytes = coordinates.to_vec());
    let found = problems(&storage);
    assert_eq!(found.len(), 18, "{found:?}");
    assert!(found.contains(&"and 392 more cells outside their tile's rectangle".to_owned()), "{found:?}");
    assert!(
        found.contains(&"and 392 more cells outside the fragment's non-empty domain".to_owned()),
        "{found:?}"
    );
}

#[test]
fn a_rectangle_outside_the_one_above_it_is_named() {
    let storage = sparse(false, &CELLS);
    // Fanout, number of levels, one rectangle, 11 to 111; then those of two tiles.
    section(&storage, Section::RTree, |tree| {
        assert_eq!(tree[16..24], [11, 111].map(i32::to_le_bytes).concat());
        tree[20..24].copy_from_slice(&110i32.to_le_bytes());
    });
    assert_eq!(
        problems(&storage),
        ["the rectangle of tile 1 is 66 to 111, outside the one above it, 11 to 110 in dimension \"x\""]
    );
}

#[test]
fn a_rectangle_that_is_larger_than_its_cells_need_is_a_note() {
    let storage = sparse(false, &CELLS);
    section(&storage, Section::RTree, |tree| {
        let len = tree.len();
        tree[len - 8..len - 4].copy_from_slice(&60i32.to_le_bytes());
    });
    assert_eq!(problems(&storage), [""; 0]);
    let notes = crate::verify::notes(&storage);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].starts_with("the rectangle of tile 1 is 60 to 111, but its cells span 66 to 111"),
        "{notes:?}"
    );
}

#[test]
fn a_non_empty_domain_that_is_not_that_of_the_tiles_is_named() {
    for (low, high, outside) in [(0, 111, 0), (11, 9999, 0), (12, 111, 1), (11, 90, 2)] {
        let storage = sparse(false, &CELLS);
        metadata(
            &storage,
            |_, _| (),
            |footer| {
                footer.non_empty_domain =
                    Some(vec![Range::new(i32::to_le_bytes(low), i32::to_le_bytes(high))]);
            },
        );
        let found = problems(&storage);
        let expected = format!(
            "the fragment's non-empty domain is {low} to {high}, but its tiles' rectangles span 11 to 111 in dimension \"x\""
        );
        assert!(found.contains(&expected), "{found:?}");
        let named = found.iter().filter(|what| what.contains("is outside the fragment's non-empty domain"));
        assert_eq!(named.count(), outside, "{found:?}");
    }
}

#[test]
fn no_more_tiles_are_looked_at_than_are_listed_whatever_a_damaged_footer_claims() {
    let storage = sparse(false, &CELLS);
    let cut = |section: Section, payload: &mut Vec<u8>| {
        if section == Section::RTree {
            payload.clear();
        }
    };
    metadata(&storage, cut, |footer| footer.sparse_tile_num = u64::MAX / 2);
    let found = crate::verify::problems(&storage);
    assert!(found.len() < 20, "{found:?}");
    assert!(found.iter().any(|what| what.contains("lists 2 tiles")), "{found:?}");
}
