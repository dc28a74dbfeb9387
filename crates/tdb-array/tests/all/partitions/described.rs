//! Queries as bytes: exactly the files that they name are read, or there is an error.

use core::ops::ControlFlow;

use tdb_array::error::DescriptionError;
use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::query::QueryDescription;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Error, Layout, OpenOptions, Read, WriteColumn, WriteOptions, field};

use super::{open, rows, sparse};

/// The bytes of the parts of a query.
fn described(read: Read, most: usize) -> Vec<Vec<u8>> {
    let parts = read.partitions(most).unwrap();
    parts.iter().map(|part| part.describe("memory").unwrap().to_bytes()).collect()
}

fn reopened(bytes: &[u8], storage: &MemoryStorage) -> tdb_array::Result<Read> {
    QueryDescription::from_bytes(bytes).unwrap().open_storage(OpenOptions::new(), storage.clone())
}

fn rows_of_parts(parts: &[Vec<u8>], storage: &MemoryStorage) -> Vec<Vec<u8>> {
    let rows_of = |bytes: &Vec<u8>| rows(&reopened(bytes, storage).unwrap().collect().unwrap());
    parts.iter().flat_map(rows_of).collect()
}

#[test]
fn what_is_written_after_planning_changes_no_answer() {
    let storage = sparse("tiled", 2000, 3, 100, Layout::RowMajor);
    let read = open(&storage).read().order(Layout::RowMajor);
    let (whole, parts) = (rows(&read.clone().collect().unwrap()), described(read, 3));
    assert_eq!(parts.len(), 3);
    // At a time inside the window, as from a clock that is behind the reader's.
    let writer = WriteOptions::new().timestamp(4).open_storage(storage.clone()).unwrap();
    let (x, y, a) = ([5i64, 600_000_000], [1, 2], [-1, -2]);
    let columns = [WriteColumn::fixed("x", &x), WriteColumn::fixed("y", &y), WriteColumn::fixed("a", &a)];
    columns.into_iter().fold(writer.write(), tdb_array::Write::column).commit().unwrap();
    let writer = WriteOptions::new().timestamp(5).open_storage(storage.clone()).unwrap();
    let condition = field("a").ge(0).to_stored(&open(&storage)).unwrap();
    writer.delete(&condition).unwrap();
    assert_eq!(open(&storage).fragments().len(), 4);
    assert_eq!(rows_of_parts(&parts, &storage), whole);
    // What was consolidated still exists until it is vacuumed.
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(open(&storage).fragments().len(), 1);
    assert_eq!(rows_of_parts(&parts, &storage), whole);
    let plan = Vacuum::new(Stored::Fragments).plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    let error = reopened(&parts[0], &storage).unwrap_err();
    let Error::FilesGone { names, count, .. } = &error else { panic!("{error}") };
    assert_eq!((*count, names.len()), (3, 3));
    assert!(names[0].starts_with("__fragments/__1_1_"), "{names:?}");
    assert!(error.to_string().ends_with("plan it again"), "{error}");
}

#[test]
fn marks_of_selected_cells_are_part_of_a_description() {
    let path = crate::common::fixtures().join("arrays/2.30.0/quickstart");
    let array = tdb_array::Array::open(&path).unwrap();
    let read = array.read().fields(["a"]).condition(field("a").gt(14)).selection(true);
    let bytes = read.describe("quickstart").unwrap().to_bytes();
    let other = QueryDescription::from_bytes(&bytes).unwrap().open(OpenOptions::new(), &path).unwrap();
    let selected = |read: Read| read.collect().unwrap().into_selected().unwrap().len();
    assert_eq!((selected(other), selected(read)), (2, 2));
}

#[test]
fn a_part_names_only_fragments_that_have_cells_in_it() {
    let storage = MemoryStorage::default();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=999))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for fragment in 0..8i64 {
        let writer = WriteOptions::new()
            .timestamp(u64::try_from(fragment).unwrap() + 1)
            .open_storage(storage.clone())
            .unwrap();
        let x: Vec<i64> = (0..100).map(|cell| fragment * 100 + cell).collect();
        let a = vec![7; 100];
        writer
            .write()
            .column(WriteColumn::fixed("x", &x))
            .column(WriteColumn::fixed("a", &a))
            .commit()
            .unwrap();
    }
    let array = open(&storage);
    let parts = array.read().partitions(4).unwrap();
    for part in &parts {
        assert_eq!(part.describe("memory").unwrap().fragments().len(), 2);
    }
    assert_eq!(array.read().range("x", 850..).describe("memory").unwrap().fragments().len(), 0);
}

#[test]
fn every_prefix_and_damaged_byte_of_a_description_is_an_error_or_a_query() {
    let storage = sparse("text", 300, 2, 20, Layout::RowMajor);
    let read = open(&storage).read().fields(["x", "a"]).points("y", 0..50);
    let read = read.condition(field("a").lt(100).or(!field("x").is_in(["key-1", "key-2"])));
    let bytes = described(read, 2).pop().unwrap();
    assert!(reopened(&bytes, &storage).unwrap().collect().is_ok());
    for len in 0..bytes.len() {
        assert!(QueryDescription::from_bytes(&bytes[..len]).is_err(), "{len}");
    }
    let (mut refused, mut opened) = (0, 0);
    for at in 0..bytes.len() {
        for flip in [1u8, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            match QueryDescription::from_bytes(&damaged) {
                Err(error) => {
                    assert!(matches!(error, Error::Description(_)), "{error}");
                    refused += 1;
                }
                Ok(description) => {
                    assert_eq!(description.to_bytes(), damaged);
                    if let Ok(read) = description.open_storage(OpenOptions::new().threads(1), storage.clone())
                    {
                        let _ = read.collect();
                        opened += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 100 && opened > 100, "{refused} were refused, {opened} opened");
}

#[test]
fn other_bytes_are_no_description() {
    let error = QueryDescription::from_bytes(b"tdbquery\x09").unwrap_err();
    assert!(matches!(error, Error::Description(DescriptionError::UnknownVersion { version: 9, known: 2 })));
    let error = QueryDescription::from_bytes(b"PK\x03\x04").unwrap_err();
    assert!(matches!(error, Error::Description(DescriptionError::NotADescription)));
}
