//! Malicious arrays: each is rejected, and nothing is allocated, opened or skipped because of what
//! they claim.
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use tdb_array::error::QueryError;
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Error, OpenOptions};
use tdb_codec::{ArrayType, CellValNum, Datatype, FormatVersion};
use tdb_schema::{ArraySchema, Attribute, Dimension, Domain, EnumerationName};
use tdb_tile::GenericTile;

const SCHEMA: &str = "__schema/__1_1_0123456789abcdef0123456789abcdef";

fn storage(schema: &ArraySchema) -> MemoryStorage {
    let payload = schema.to_bytes(FormatVersion::CURRENT).unwrap();
    MemoryStorage::new([(SCHEMA, GenericTile::encode(&payload, FormatVersion::CURRENT).unwrap())])
}

fn dense(last: u64, extent: u64) -> ArraySchema {
    let dimension = Dimension::fixed("x", Datatype::Uint64, 0u64.to_le_bytes(), last.to_le_bytes());
    let domain = Domain::new(vec![dimension.with_tile_bytes(extent.to_le_bytes())]);
    ArraySchema::new(ArrayType::Dense, domain).with_attribute(Attribute::new(
        "a",
        Datatype::Int32,
        CellValNum::ONE,
    ))
}

fn open(storage: MemoryStorage) -> Array {
    OpenOptions::new().open_storage(storage).unwrap()
}

#[test]
fn a_domain_that_no_memory_holds_is_refused_and_a_part_of_it_is_read() {
    for extent in [1, 1000, 1 << 40] {
        let array = open(storage(&dense(1 << 60, extent)));
        for order in [tdb_array::Layout::RowMajor, tdb_array::Layout::GlobalOrder] {
            let error = array.read().order(order).collect().unwrap_err();
            assert!(
                matches!(error, Error::Query(QueryError::OutOfMemory { .. } | QueryError::TooLarge { .. })),
                "{error}"
            );
        }
        let cells = array.read().range("x", 5..=6u64).collect().unwrap();
        assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [i32::MIN; 2]);
    }
}

#[test]
fn a_domain_of_all_integers_is_refused_whole_and_read_in_part() {
    let array = open(storage(&dense(u64::MAX - 1, 7)));
    assert!(matches!(array.read().collect(), Err(Error::Query(_))));
    let end = u64::MAX - 1;
    let cells = array.read().range("x", end - 2..=end).collect().unwrap();
    assert_eq!(cells.len(), 3);
}

#[test]
fn a_domain_of_more_tiles_than_can_be_visited_is_explained() {
    let array = open(storage(&dense(1 << 40, 1)));
    let explain = array.read().explain().unwrap();
    assert_eq!((explain.cells, explain.tiles()), ((1 << 40) + 1, 0));
}

#[test]
fn names_in_files_do_not_lead_out_of_the_array() {
    for name in ["../secret", "..", "a/b", ""] {
        let mut schema = dense(9, 5);
        schema.enumerations.push(EnumerationName { name: "e".into(), file_name: name.into() });
        let array = open(storage(&schema));
        let error = array.enumeration("e").unwrap_err().to_string();
        assert!(error.contains("is not a file name"), "{error}");
    }
}

#[test]
fn a_damaged_update_file_in_the_window_is_refused_by_name_and_outside_it_is_not_seen() {
    let files = storage(&dense(9, 5));
    files.insert("__commits/__20_20_0123456789abcdef0123456789abcdef_22.upd", Vec::new());
    let error = OpenOptions::new().open_storage(files.clone()).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }) && error.to_string().contains(".upd"), "{error}");
    let before = OpenOptions::new().window(tdb_array::TimeWindow::until(19));
    assert!(before.open_storage(files).is_ok());
}

#[test]
fn a_commit_without_its_fragment_is_an_error_and_a_fragment_without_commit_is_not_seen() {
    let name = "__20_20_0123456789abcdef0123456789abcdef_22";
    let files = storage(&dense(9, 5));
    files.insert(format!("__fragments/{name}/a0.tdb"), Vec::new());
    assert_eq!(open(files.clone()).fragments().len(), 0);
    files.insert(format!("__commits/{name}.wrt"), Vec::new());
    let error = OpenOptions::new().open_storage(files).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert!(error.to_string().contains("__fragment_metadata.tdb"), "{error}");
}
