//! `tdb sql --format parquet` and `arrow`: results as files.

use std::fs::File;
use std::process::Command;

use tdb_arrow::arrow_array::cast::AsArray;
use tdb_arrow::arrow_array::types::Int64Type;
use tdb_cli::Screen;
use tdb_convert::{Format, Source};

use crate::common::{Scratch, fixture, refused, said, sparse, tdb, text};

const ROWS: &str =
    "SELECT 1 AS a, 'x' AS b, CAST(NULL AS DATE) AS d UNION ALL SELECT 2, NULL, DATE '2020-02-29' ORDER BY a";

#[test]
fn a_result_is_a_file_of_the_format_of_its_name() {
    let scratch = Scratch::new();
    for (ending, format) in
        [("parquet", Format::Parquet), ("feather", Format::Arrow), ("arrows", Format::ArrowStream)]
    {
        let file = scratch.path().join(format!("rows.{ending}"));
        assert_eq!(said(&["sql", ROWS, "--out", text(&file)]), "");
        let source = Source::open(format, File::open(&file).unwrap(), "rows", 1 << 20).unwrap();
        let names: Vec<String> = source.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["a", "b", "d"]);
        let batches: Vec<_> = source.map(Result::unwrap).collect();
        let a =
            batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
        assert_eq!(a.collect::<Vec<_>>(), [1, 2]);
        // An import of it has the same rows.
        let array = scratch.path().join(ending);
        said(&["import", text(&array), text(&file)]);
        let rows = said(&["read", text(&array), "--format", "csv", "--order", "row"]);
        assert_eq!(rows, "row,a,b,d\n0,1,x,\n1,2,,2020-02-29\n");
    }
}

#[test]
fn columns_of_arrays_and_results_without_rows_are_written_too() {
    let scratch = Scratch::new();
    let (array, file) = (scratch.path().join("array"), scratch.path().join("rows.parquet"));
    sparse(&array);
    let query = format!(
        "SELECT l.x, r.x, l.v, l.c FROM '{0}' l JOIN '{0}' r ON l.x = r.x WHERE l.x >= 8 ORDER BY l.x",
        text(&array)
    );
    said(&["sql", &query, "--out", text(&file)]);
    let copy = scratch.path().join("copy");
    said(&["import", text(&copy), text(&file), "--dims", "x"]);
    assert_eq!(
        said(&["read", text(&copy), "--format", "csv", "--order", "row"]),
        "x,x~2,v,c\n8,8,8.0,red\n9,9,9.0,green\n"
    );
    let none = format!("SELECT x FROM '{}' WHERE x > 50", text(&array));
    said(&["sql", &none, "--out", text(&file), "--force"]);
    let source = Source::open(Format::Parquet, File::open(&file).unwrap(), "rows", 1 << 20).unwrap();
    assert_eq!((source.schema().fields().len(), source.rows()), (1, Some(0)));
}

#[test]
fn standard_output_takes_a_file_unless_it_is_a_terminal() {
    let array = fixture("2.30.0/quickstart");
    let query = format!("SELECT a FROM '{}'", text(&array));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
    let output = command.args(["sql", &query, "--format", "arrows"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    let source = Source::stream(std::io::Cursor::new(output.stdout), "rows", 1 << 20).unwrap();
    assert_eq!(source.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 16);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Some(Screen { columns: 60, rows: 20 });
    let code = tdb_cli::run_on(screen, ["tdb", "sql", &query, "--format", "parquet"], &mut out, &mut err);
    assert_eq!((code, out.len()), (2, 0));
    assert!(
        String::from_utf8(err).unwrap().contains("standard output is a terminal: give a file with --out")
    );
}

#[test]
fn a_file_has_one_result_and_no_plan() {
    let scratch = Scratch::new();
    let file = scratch.path().join("rows.parquet");
    refused(&["sql", "SELECT 1 AS a; SELECT 2 AS b", "--out", text(&file)], 2, "run each query on its own");
    assert!(!file.exists());
    refused(&["sql", "SELECT 1 AS a", "--explain", "--out", text(&file)], 2, "a plan is text");
    let failed = tdb(&["sql", "SELECT CAST('x' AS INT)", "--out", text(&file)]);
    assert!(failed.code == 1 && !file.exists(), "{}", failed.err);
    let lost = tdb(&["sql", "SELECT 1 AS a", "--out", "/no/such/folder/rows.arrow"]);
    assert!(lost.code == 1 && lost.err.contains("/no/such/folder/rows.arrow: "), "{}", lost.err);
}
