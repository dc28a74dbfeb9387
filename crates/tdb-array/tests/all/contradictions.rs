//! Fragments whose metadata and files contradict each other: the error names the file, or `verify`
//! names the cells.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests: a panic is a failure")]

use tdb_array::maintain::verify;
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::{Durability, MemoryStorage};
use tdb_array::{Error, Layout, OpenOptions, WriteColumn, WriteOptions, field};
use tdb_schema::{Attribute, Dimension, Domain};

/// A sparse array of two tiles, with a fragment of these coordinates.
fn sparse(x: &[i32]) -> MemoryStorage {
    let domain = Domain::new(vec![Dimension::new("x", 0i32..=9999).with_tile(10i32)]);
    let mut schema = ArraySchema::new(ArrayType::Sparse, domain)
        .with_attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .with_attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var));
    schema.capacity = 5;
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    write(&storage, 7, x);
    storage
}

fn write(storage: &MemoryStorage, time: u64, x: &[i32]) {
    let options = WriteOptions::new().durability(Durability::Buffered).timestamp(time);
    let offsets: Vec<u64> = (0..=x.len() as u64).map(|cell| cell * 2).collect();
    let strings = "ab".repeat(x.len());
    let writer = options.open_storage(storage.clone()).unwrap();
    let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", x));
    let write = write.column(WriteColumn::fixed("a", x));
    write.column(WriteColumn::var("s", strings.as_bytes(), &offsets)).commit().unwrap();
}

const CELLS: [i32; 10] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90];

fn key(storage: &MemoryStorage, end: &str) -> String {
    storage.keys().into_iter().find(|key| key.ends_with(end)).unwrap()
}

/// Changes a file.
fn change(storage: &MemoryStorage, end: &str, change: impl Fn(&mut Vec<u8>)) {
    let key = key(storage, end);
    let mut bytes = storage.remove(&key).unwrap().to_vec();
    change(&mut bytes);
    storage.insert(key, bytes);
}

/// The errors of reads of every kind; none of the reads may succeed.
fn errors(storage: &MemoryStorage) -> Vec<String> {
    let array = match OpenOptions::new().threads(1).open_storage(storage.clone()) {
        Ok(array) => array,
        Err(error) => return vec![error.to_string()],
    };
    let mut errors = Vec::new();
    for order in [Layout::RowMajor, Layout::Unordered] {
        let read = || array.read().order(order);
        let ranged = || read().range("x", 5..=95);
        let batches = read().batches().and_then(Iterator::collect::<Result<Vec<_>, _>>).map(|_| ());
        let conditioned = read().condition(field("a").ne(40).and(field("s").ne("x"))).collect().map(|_| ());
        for result in [read().collect().map(|_| ()), ranged().collect().map(|_| ()), batches, conditioned] {
            match result {
                Err(error @ (Error::Corrupt { .. } | Error::Io { .. })) => errors.push(error.to_string()),
                other => panic!("{other:?}"),
            }
        }
    }
    errors
}

#[test]
fn a_data_file_that_is_cut_off_or_missing_is_named() {
    for file in ["/a0.tdb", "/a1.tdb", "/a1_var.tdb"] {
        let storage = sparse(&CELLS);
        change(&storage, file, |bytes| bytes.truncate(bytes.len() - 9));
        assert!(errors(&storage).iter().all(|error| error.contains(file)), "{file}: {:?}", errors(&storage));
        assert!(!verify(storage.clone()).is_clean());
        let whole = key(&storage, file);
        storage.remove(&whole).unwrap();
        assert!(errors(&storage).iter().all(|error| error.contains(file)), "{file}: {:?}", errors(&storage));
    }
}

#[test]
fn metadata_of_a_larger_fragment_are_refused() {
    let storage = sparse(&(0..40).map(|cell| cell * 2).collect::<Vec<i32>>());
    let metadata = storage.remove(&key(&storage, "/__fragment_metadata.tdb")).unwrap();
    let larger: Vec<String> = storage.keys().into_iter().filter(|key| key.contains("__7_7_")).collect();
    write(&storage, 8, &CELLS);
    larger.iter().filter(|key| !key.contains("__schema")).for_each(|key| drop(storage.remove(key)));
    change(&storage, "/__fragment_metadata.tdb", |bytes| *bytes = metadata.to_vec());
    let folder = key(&storage, "/a0.tdb").replace("/a0.tdb", "");
    assert!(errors(&storage).iter().all(|error| error.contains(&folder)), "{:?}", errors(&storage));
}

#[test]
fn cells_outside_their_tiles_rectangle_are_found() {
    let (storage, other) = (sparse(&CELLS), sparse(&CELLS.map(|x| x + 1)));
    let coordinates = other.remove(&key(&other, "/d0.tdb")).unwrap();
    change(&storage, "/d0.tdb", |bytes| *bytes = coordinates.to_vec());
    let checked = verify(storage.clone());
    let found: Vec<&str> = checked.problems.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(
        found,
        [
            "the sum of tile 0 of dimension \"x\" is stored as 100, but that of the cells is 105",
            "the sum of tile 1 of dimension \"x\" is stored as 350, but that of the cells is 355",
            "tile 0, cell 4, (x=41): is outside its tile's rectangle, which is 0 to 40 in dimension \"x\"",
            "tile 1, cell 4, (x=91): is outside its tile's rectangle, which is 50 to 90 in dimension \"x\"",
            "tile 1, cell 4, (x=91): is outside the fragment's non-empty domain, which is 0 to 90 in dimension \"x\"",
            "the sum of dimension \"x\" is stored as 450, but that of the cells is 460",
        ]
    );
    // Reads rely on the metadata, and return no cell outside the ranges that they compared
    // coordinates with.
    let array = OpenOptions::new().open_storage(storage).unwrap();
    let cells = array.read().range("x", 5..=25).collect().unwrap();
    assert_eq!(cells.field("x").unwrap().values::<i32>().unwrap(), [11, 21]);
}

#[test]
fn a_non_empty_domain_that_leaves_cells_out_is_found() {
    let storage = sparse(&CELLS);
    let domain: Vec<u8> = [0i32, 90].into_iter().flat_map(i32::to_le_bytes).collect();
    change(&storage, "/__fragment_metadata.tdb", |bytes| {
        let at = bytes.windows(8).rposition(|window| window == domain).unwrap();
        let low = bytes.get_mut(at..at + 4).unwrap();
        low.copy_from_slice(&1000i32.to_le_bytes());
    });
    let checked = verify(storage);
    let found: Vec<&str> = checked.problems.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(
        found.get(..2).unwrap(),
        [
            "the fragment's non-empty domain is 1000 to 90, but its tiles' rectangles span 0 to 90 in dimension \"x\"",
            "tile 0, cell 0, (x=0): is outside the fragment's non-empty domain, which is 1000 to 90 in dimension \"x\"",
        ]
    );
}

#[test]
fn a_non_empty_domain_beyond_the_domain_is_found_and_hides_no_cell() {
    let storage = sparse(&CELLS);
    let domain: Vec<u8> = [0i32, 90].into_iter().flat_map(i32::to_le_bytes).collect();
    change(&storage, "/__fragment_metadata.tdb", |bytes| {
        let at = bytes.windows(8).rposition(|window| window == domain).unwrap();
        let range = bytes.get_mut(at..at + 8).unwrap();
        range.copy_from_slice(&[i32::MIN, i32::MAX].map(i32::to_le_bytes).concat());
    });
    let found: Vec<String> =
        verify(storage.clone()).problems.into_iter().map(|problem| problem.what).collect();
    assert_eq!(
        found,
        [
            "the non-empty domain of dimension \"x\" is not within the domain",
            "the fragment's non-empty domain is -2147483648 to 2147483647, but its tiles' rectangles span 0 to 90 in \
             dimension \"x\"",
        ]
    );
    let array = OpenOptions::new().open_storage(storage).unwrap();
    for order in [Layout::RowMajor, Layout::Unordered] {
        let cells = array.read().order(order).batches().unwrap().map(|batch| batch.unwrap().len());
        assert_eq!(cells.sum::<usize>(), CELLS.len(), "{order:?}");
    }
}
