//! Validity of which only statistics of other fields tell how libtiledb 2.7 to 2.10 filtered it:
//! damage in what a query does not read does not make it fail.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::{Array, Error};

const FIXTURE: &str = "arrays/2.10.4/validity_shuffled_global";
/// The fields of numbers whose tiles can tell, and their files.
const NUMBERS: [(&str, &str); 5] = [("i2", "a1"), ("i4", "a2"), ("i8", "a3"), ("f8", "a4"), ("t", "a5")];

/// A copy of the fixture without the values of these fields.
fn without(name: &str, fields: &[(&str, &str)]) -> PathBuf {
    let copy = std::env::temp_dir().join(format!("tdb-doubtful-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&copy);
    copy_folder(&crate::common::fixtures().join(FIXTURE), &copy);
    let fragment = fs::read_dir(copy.join("__fragments")).unwrap().next().unwrap().unwrap().path();
    for (_, file) in fields {
        fs::remove_file(fragment.join(format!("{file}.tdb"))).unwrap();
    }
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn validity(array: &Path, field: &str) -> Result<Vec<u8>, Error> {
    let cells = Array::open(array)?.read().fields([field]).collect()?;
    Ok(cells.field(field)?.validity().unwrap().to_vec())
}

#[test]
fn one_whole_field_of_numbers_is_enough_to_read_strings_rightly() {
    let right = validity(&crate::common::fixtures().join(FIXTURE), "s").unwrap();
    assert!(right.contains(&0) && right.contains(&1));
    let copy = without("one", &NUMBERS[1..]);
    assert_eq!(validity(&copy, "s").unwrap(), right, "i2 tells");
    assert!(matches!(validity(&copy, "i4"), Err(Error::Io { .. })), "its own values are gone");
    fs::remove_dir_all(copy).unwrap();
}

#[test]
fn without_any_field_that_tells_cells_count_as_written_in_row_major_order() {
    let right = validity(&crate::common::fixtures().join(FIXTURE), "s").unwrap();
    let copy = without("none", &NUMBERS);
    let found = validity(&copy, "s").unwrap();
    assert_ne!(found, right, "docs/correctness_issues.md: this is what nobody can know");
    let nulls = |validity: &[u8]| validity.iter().filter(|byte| **byte == 0).count();
    assert_eq!((found.len(), nulls(&found)), (right.len(), nulls(&right)));
    fs::remove_dir_all(copy).unwrap();
}
