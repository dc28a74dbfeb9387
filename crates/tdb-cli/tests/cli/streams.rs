//! `tdb read` of results that are larger than its memory: the same bytes as with enough memory.

use std::fs;
use std::path::PathBuf;

use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::Durability;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension, Domain};

use crate::common::{Scratch, fixture, tdb, text};

const CELLS: i32 = 60_000;

/// A dense array with two dimensions, a nullable attribute and one of strings: some 2 MiB of
/// results.
fn array(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("array");
    let rows = Dimension::new("row", 1..=CELLS / 10).with_tile(100);
    let columns = Dimension::new("column", 1..=10).with_tile(5);
    let schema = ArraySchema::new(ArrayType::Dense, Domain::new(vec![rows, columns]))
        .with_attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE).with_nulls())
        .with_attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var));
    let options = || WriteOptions::new().durability(Durability::Buffered);
    options().create(&path, &schema).unwrap();
    let numbers: Vec<i32> = (0..CELLS).collect();
    let valid: Vec<u8> = numbers.iter().map(|number| u8::from(number % 7 != 0)).collect();
    let (mut values, mut offsets) = (Vec::new(), vec![0u64]);
    for number in &numbers {
        values.extend_from_slice(&b"abcdefghijklmnopqrstuvwxyz"[..usize::try_from(number % 27).unwrap()]);
        offsets.push(u64::try_from(values.len()).unwrap());
    }
    let writer = options().open(&path).unwrap();
    let write = writer.write().column(WriteColumn::fixed("a", &numbers).nullable(&valid));
    write.column(WriteColumn::var("s", &values, &offsets)).commit().unwrap();
    path
}

fn read(array: &str, args: &[&str]) -> String {
    let outcome = tdb(&[&["read", array, "--threads", "1"], args].concat());
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    outcome.out
}

#[test]
fn small_memory_changes_nothing_in_what_is_printed() {
    let scratch = Scratch::new();
    let path = array(&scratch);
    for format in ["csv", "json"] {
        for order in ["row", "global"] {
            let args = ["--format", format, "--order", order];
            let whole = read(text(&path), &args);
            let streamed = read(text(&path), &[&args[..], &["--memory", "2MiB"]].concat());
            assert!(whole == streamed, "{format}, {order}");
        }
        let args = ["--format", format, "--limit", "51234", "--fields", "s"];
        let limited = read(text(&path), &args);
        assert!(limited == read(text(&path), &[&args[..], &["--memory", "2 MiB"]].concat()));
    }
    let csv = read(text(&path), &["--format", "csv", "--memory", "2MiB"]);
    assert_eq!(csv.lines().count(), usize::try_from(CELLS).unwrap() + 1);
    assert!(csv.starts_with("row,column,a,s\n1,1,,\"\"\n1,2,1,a\n"), "{}", &csv[..60]);
}

#[test]
fn raw_buffers_go_on_where_the_batch_before_ended() {
    let scratch = Scratch::new();
    let path = array(&scratch);
    let folder = |name: &str, more: &[&str]| {
        let folder = scratch.path().join(name);
        let args = ["--format", "raw", "--out", text(&folder)];
        assert_eq!(read(text(&path), &[&args[..], more].concat()), "");
        let mut files: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        files.into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect::<Vec<_>>()
    };
    let whole = folder("whole", &[]);
    assert_eq!(whole.len(), 5, "two of a, two of s, the manifest");
    assert!(folder("streamed", &["--memory", "2MiB"]) == whole);
}

#[test]
fn memory_that_is_not_enough_says_what_is() {
    let path = fixture("2.30.0/dense2d_rr");
    let outcome = tdb(&["read", text(&path), "--memory", "10kB", "--format", "csv"]);
    assert_eq!(outcome.code, 2);
    let least = outcome.err.split("at least ").nth(1).expect(&outcome.err).trim();
    assert_eq!(tdb(&["read", text(&path), "--memory", least, "--format", "csv"]).code, 0, "{least}");

    let scratch = Scratch::new();
    let path = array(&scratch);
    let table = tdb(&["read", text(&path), "--memory", "2MiB"]);
    assert!(table.code == 2 && table.err.contains("its budget is 2 MiB"), "{}", table.err);
    let table = tdb(&["read", text(&path), "--memory", "2 miles"]);
    assert!(table.code == 2 && table.err.contains("not a unit of memory"), "{}", table.err);
}
