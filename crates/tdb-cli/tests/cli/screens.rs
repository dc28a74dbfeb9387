//! `tdb read` on a terminal: what fits it.

use std::path::{Path, PathBuf};

use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::Durability;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_cli::Screen;
use tdb_schema::{Attribute, Dimension};

use crate::common::{Scratch, fixture, said, text};

const CELLS: i32 = 50_000;

/// A sparse array with these attributes besides the coordinate.
fn array(scratch: &Scratch, attributes: &[&str]) -> PathBuf {
    let path = scratch.path().join("array");
    let mut schema =
        ArraySchema::sparse().dimension(Dimension::new("x", 0..=CELLS).with_tile(1000)).capacity(1000);
    for name in attributes {
        schema = schema.attribute(Attribute::new(*name, Datatype::Int64, CellValNum::ONE));
    }
    let options = || WriteOptions::new().durability(Durability::Buffered);
    options().create(&path, &schema.build().unwrap()).unwrap();
    let x: Vec<i32> = (0..CELLS).collect();
    let a: Vec<i64> = x.iter().map(|x| i64::from(*x) + 1_000_000).collect();
    let writer = options().open(&path).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &x));
    attributes.iter().fold(write, |write, name| write.column(WriteColumn::fixed(name, &a))).commit().unwrap();
    path
}

/// What `tdb read` prints on a terminal of 80 columns and 24 rows.
fn shown(array: &Path, args: &[&str]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Some(Screen { columns: 80, rows: 24 });
    let args = [&["tdb", "read", text(array)], args].concat();
    let code = tdb_cli::run_on(screen, args, &mut out, &mut err);
    assert_eq!((code, String::from_utf8(err).unwrap().as_str()), (0, ""));
    String::from_utf8(out).unwrap()
}

/// Checks that a text fits the terminal, with a line for the prompt.
fn assert_fits(text: &str) {
    assert!(text.lines().count() < 24, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_long_table_shows_its_ends_and_the_number_of_all_rows() {
    let scratch = Scratch::new();
    let array = array(&scratch, &["a"]);
    let table = shown(&array, &["--order", "row"]);
    assert_fits(&table);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[2].split_whitespace().eq(["0", "1000000"]), "{table}");
    assert!(lines.iter().any(|line| line.split_whitespace().eq(["…", "…"])), "{table}");
    assert!(lines[lines.len() - 2].split_whitespace().eq(["49999", "1049999"]), "{table}");
    let last = "50000 cells, of which the first 9 and the last 9 are shown; --all shows all";
    assert_eq!(lines.last(), Some(&last));
}

#[test]
fn all_and_limits_and_other_formats_print_what_they_say() {
    let scratch = Scratch::new();
    let array = array(&scratch, &["a"]);
    for args in [&["--order", "row", "--all"][..], &["--order", "row", "--format", "csv"]] {
        assert!(shown(&array, args) == said(&[&["read", text(&array)], args].concat()), "{args:?}");
    }
    let args = ["--order", "row", "--limit", "100"];
    assert_eq!(shown(&array, &args), said(&[&["read", text(&array)], &args[..]].concat()));
    assert!(said(&["read", text(&array)]).lines().count() > 50_000, "what is no terminal gets all rows");
}

#[test]
fn a_wide_table_shows_the_columns_that_fit_and_says_so() {
    let scratch = Scratch::new();
    let names: Vec<String> = (0..20).map(|at| format!("attribute{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let array = array(&scratch, &names);
    let table = shown(&array, &[]);
    assert_fits(&table);
    let headings: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!((headings[0], headings.last()), ("x", Some(&"attribute19")));
    assert!(headings.contains(&"…"), "{table}");
    let fit = headings.len() - 1;
    let last = format!("21 columns, of which {fit} fit; --fields chooses, --all shows all");
    assert_eq!(table.lines().last(), Some(last.as_str()));
    assert!(fit >= 4, "{table}");
}

#[test]
fn what_fits_is_shown_as_a_whole() {
    for args in [&[][..], &["--fields", "a"], &["--subarray", "1,1:3"]] {
        let id = fixture("2.30.0/quickstart");
        assert_eq!(shown(&id, args), said(&[&["read", text(&id)], args].concat()));
    }
    let plane = shown(&fixture("2.30.0/dense2d_rr"), &["--fields", "a"]);
    assert_fits(&plane);
}
