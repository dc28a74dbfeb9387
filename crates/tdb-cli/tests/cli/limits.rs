//! `tdb read --limit`: what it reads, and what it prints.

use std::path::PathBuf;

use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::Durability;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::common::{Scratch, said, tdb, text};

const CELLS: i32 = 400_000;

/// A sparse array with many tiles.
fn array(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("array");
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0..=CELLS).with_tile(1000))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .capacity(1000)
        .build()
        .unwrap();
    let options = || WriteOptions::new().durability(Durability::Buffered);
    options().create(&path, &schema).unwrap();
    let x: Vec<i32> = (0..CELLS).collect();
    let a: Vec<i64> = x.iter().map(|x| i64::from(*x) * 7).collect();
    let writer = options().open(&path).unwrap();
    writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &a)).commit().unwrap();
    path
}

/// The number of tiles that a read decodes, and what it prints.
fn tiles(array: &str, args: &[&str]) -> (u64, String) {
    let outcome = tdb(&[&["read", array, "--stats", "--threads", "1"], args].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let (_, rest) = outcome.err.split_once(" chunks of ").unwrap();
    (rest.split(' ').next().unwrap().parse().unwrap(), outcome.out)
}

#[test]
fn a_limit_reads_only_what_it_takes_in_every_format_and_order() {
    let scratch = Scratch::new();
    let path = array(&scratch);
    for format in ["table", "csv", "json"] {
        for order in ["unordered", "row", "global", "col"] {
            let args = ["--format", format, "--order", order];
            let (all, _) = tiles(text(&path), &args);
            let (few, out) = tiles(text(&path), &[&args[..], &["--limit", "3"]].concat());
            assert!(all >= 800 && few * 20 < all, "{format}, {order}: {few} of {all} tiles");
            assert!(out.contains("14"), "{out}");
        }
    }
}

#[test]
fn a_limit_over_several_batches_prints_the_first_rows_of_all() {
    let scratch = Scratch::new();
    let path = array(&scratch);
    let all = said(&["read", text(&path), "--order", "row", "--format", "csv"]);
    let some = said(&["read", text(&path), "--order", "row", "--format", "csv", "--limit", "123456"]);
    assert_eq!(some.lines().count(), 123_457);
    assert!(all.starts_with(&some));
    let table = said(&["read", text(&path), "--order", "row", "--limit", "123456"]);
    let rows = table.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(","));
    assert!(rows.eq(some.lines().skip(1)), "the table has the rows of the csv file");
    let (read, _) = tiles(text(&path), &["--limit", "123456"]);
    assert!(read < 700, "{read} tiles");
}

#[test]
fn a_condition_that_few_cells_satisfy_finds_them_behind_the_first_batch() {
    let scratch = Scratch::new();
    let path = array(&scratch);
    let found = said(&["read", text(&path), "--format", "csv", "--limit", "1", "--where", "a = 2799993"]);
    assert_eq!(found, "x,a\n399999,2799993\n");
}

#[test]
fn memory_is_that_of_the_rows_that_are_shown() {
    let scratch = Scratch::new();
    let path = array(&scratch);
    let whole = tdb(&["read", text(&path), "--memory", "4MiB", "--threads", "1"]);
    assert!(whole.code == 2 && whole.err.contains("its budget is 4 MiB"), "{}", whole.err);
    let first =
        said(&["read", text(&path), "--memory", "4MiB", "--threads", "1", "--limit", "2", "--order", "row"]);
    assert_eq!(first, "x  a\n-  -\n0  0\n1  7\n");
}
