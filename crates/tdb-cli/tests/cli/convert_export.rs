//! `tdb export`: which cells, in which file.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tdb_arrow::arrow_array::cast::AsArray;
use tdb_arrow::arrow_array::types::{Float64Type, Int32Type};
use tdb_arrow::arrow_array::{Array as _, RecordBatch};
use tdb_arrow::arrow_schema::{DataType, SchemaRef};
use tdb_convert::{Format, SUBARRAY, Source};

use crate::common::{Scratch, assert_fails, files, fixture, refused, said, sparse, tdb, text};

/// The schema and the batches of a file.
fn read(file: &Path, format: Format) -> (SchemaRef, Vec<RecordBatch>) {
    let source = Source::open(format, File::open(file).unwrap(), text(file), 64 << 20).unwrap();
    (source.schema().clone(), source.map(Result::unwrap).collect())
}

fn names(schema: &SchemaRef) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

/// The numbers of a column.
fn numbers(batches: &[RecordBatch], column: &str) -> Vec<i32> {
    let column = |batch: &RecordBatch| {
        let column = batch.column_by_name(column).unwrap().clone();
        column.as_primitive::<Int32Type>().values().to_vec()
    };
    batches.iter().flat_map(column).collect()
}

/// Exports with these options to a Parquet file, which must succeed.
fn exported(array: &Path, scratch: &Scratch, more: &[&str]) -> (SchemaRef, Vec<RecordBatch>) {
    let file = scratch.path().join("exported.parquet");
    said(&[&["export", text(array), text(&file), "--force"], more].concat());
    read(&file, Format::Parquet)
}

fn file(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.path().join(name)
}

#[test]
fn a_file_has_the_format_that_its_name_or_the_option_says() {
    let scratch = Scratch::new();
    let array = fixture("2.30.0/quickstart");
    for (name, format) in [
        ("a.parquet", Format::Parquet),
        ("a.PQ", Format::Parquet),
        ("a.arrow", Format::Arrow),
        ("a.feather", Format::Arrow),
        ("a.arrows", Format::ArrowStream),
    ] {
        let file = file(&scratch, name);
        assert_eq!(said(&["export", text(&array), text(&file)]), "16 cells written\n");
        let (schema, batches) = read(&file, format);
        assert_eq!(names(&schema), ["rows", "cols", "a"]);
        assert_eq!(numbers(&batches, "a"), (1..=16).collect::<Vec<_>>(), "{name}");
    }
    let odd = file(&scratch, "odd.csv");
    said(&["export", text(&array), text(&odd), "--format", "arrow", "--compression", "lz4"]);
    assert_eq!(read(&odd, Format::Arrow).1.len(), 1);
    let export = |name: &str, more: &[&str]| {
        let file = file(&scratch, name);
        tdb(&[&["export", text(&array), text(&file)], more].concat())
    };
    assert_eq!(export("a.csv", &[]).code, 0);
    assert!(fs::read_to_string(file(&scratch, "a.csv")).unwrap().starts_with("rows,cols,a\n1,1,1\n"));
    let unknown = export("a.xyz", &[]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("tdb read --format csv"), "{}", unknown.err);
    let snappy = export("b.arrow", &["--compression", "snappy"]);
    assert!(snappy.code == 2 && snappy.err.contains("zstd and lz4"), "{}", snappy.err);
    for compression in ["none", "zstd", "lz4", "snappy"] {
        assert_eq!(export(&format!("{compression}.pq"), &["--compression", compression]).code, 0);
    }
}

#[test]
fn the_part_of_an_array_is_what_the_options_say() {
    let scratch = Scratch::new();
    let dense = fixture("2.30.0/quickstart");
    let (schema, batches) = exported(&dense, &scratch, &["--range", "rows=2..3", "--fields", "a"]);
    assert_eq!((names(&schema), numbers(&batches, "a")), (vec!["a"], (5..=12).collect()));
    assert!(schema.metadata().contains_key(SUBARRAY), "a box can become a dense array again");
    let ways: [(&[&str], &[i32]); 5] = [
        (&["--subarray", "4:4,", "--where", "a != 14"], &[13, 15, 16]),
        (&["--range", "rows=1", "--range", "rows=4", "--range", "cols=1..2"], &[1, 2, 13, 14]),
        (&["--points", "cols=4", "--order", "col"], &[4, 8, 12, 16]),
        (&["--points", "rows=1,4", "--where", "a > 3"], &[4, 13, 14, 15, 16]),
        (&["--where", "a > 100"], &[]),
    ];
    for (options, expected) in ways {
        let (schema, batches) = exported(&dense, &scratch, options);
        assert_eq!(numbers(&batches, "a"), expected, "{options:?}");
        assert_eq!(names(&schema), ["rows", "cols", "a"]);
        assert!(!schema.metadata().contains_key(SUBARRAY), "{options:?}: this is no box in its order");
    }

    let array = file(&scratch, "array");
    sparse(&array);
    let (schema, batches) =
        exported(&array, &scratch, &["--where", "v > 7", "--order", "row", "--threads", "1"]);
    assert_eq!((names(&schema), numbers(&batches, "x")), (vec!["x", "k", "v", "c"], vec![8, 9]));
    assert_eq!(batches[0].column(2).as_primitive::<Float64Type>().values(), &[8.0, 9.0]);
    assert!(matches!(schema.field(3).data_type(), DataType::Dictionary(..)));
    let stored = exported(&array, &scratch, &["--as-stored"]);
    assert_eq!(stored.0.field(3).data_type(), &DataType::Int8);
    assert_eq!(stored.1[0].column(2).null_count(), 1);
    assert_eq!(numbers(&exported(&array, &scratch, &["--range", "x=3..4"]).1, "k"), [3, 4]);
    // Before the first cell was written, and in an array without any.
    for options in [&["--at", "1"][..], &["--between", "3,"]] {
        let (schema, batches) = exported(&array, &scratch, options);
        assert_eq!((names(&schema).len(), numbers(&batches, "k")), (4, vec![]), "{options:?}");
    }
    assert!(numbers(&exported(&dense, &scratch, &["--at", "5"]).1, "a").is_empty());
}

#[test]
fn days_and_text_are_those_of_other_software_unless_the_cells_are_none() {
    let scratch = Scratch::new();
    let (schema, _) = exported(&fixture("2.30.0/sparse_dim_datetime_day"), &scratch, &[]);
    assert_eq!(schema.field(0).data_type(), &DataType::Date32);
    // Text that is not UTF-8.
    let array = scratch.path().join("array");
    let table = scratch.path().join("t.csv");
    fs::write(&table, "s\n\\xff\n").unwrap();
    said(&["import", text(&array), text(&table), "--types", "s=string_ascii"]);
    let target = file(&scratch, "text.parquet");
    let refused = tdb(&["export", text(&array), text(&target)]);
    assert_fails(&refused, &[text(&array), "column \"s\"", "not UTF-8", "--as-stored"]);
    assert!(!target.exists());
    said(&["export", text(&array), text(&target), "--as-stored"]);
    assert_eq!(read(&target, Format::Parquet).0.field(1).data_type(), &DataType::LargeBinary);
}

#[test]
fn a_file_is_replaced_only_when_asked_and_only_by_a_whole_one() {
    let scratch = Scratch::new();
    let (array, target) = (fixture("2.30.0/quickstart"), file(&scratch, "a.parquet"));
    fs::write(&target, "mine").unwrap();
    let export = ["export", text(&array), text(&target)];
    refused(&export, 1, "a.parquet: there is a file here already; --force replaces it");
    // What fails leaves the file as it was, and no other one.
    let wrong = tdb(&[&export[..], &["--force", "--where", "a > "]].concat());
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    let damaged = Scratch::copy_of("2.30.0/quickstart");
    let data = files(damaged.path()).into_iter().find(|path| path.ends_with("a0.tdb")).unwrap();
    File::options().write(true).open(&data).unwrap().set_len(20).unwrap();
    let failed = tdb(&["export", text(damaged.path()), text(&target), "--force"]);
    assert_fails(&failed, &["a0.tdb"]);
    assert_eq!((fs::read(&target).unwrap(), files(scratch.path()).len()), (b"mine".to_vec(), 1));
    said(&[&export[..], &["--force"]].concat());
    assert_eq!(numbers(&read(&target, Format::Parquet).1, "a").len(), 16);
    assert_eq!(files(scratch.path()).len(), 1, "nothing temporary is left");

    refused(
        &["export", text(&array), text(scratch.path()), "--format", "arrow", "--force"],
        1,
        "this is a folder",
    );
    refused(&["export", text(&array), "/no/such/folder/a.arrow"], 1, "/no/such/folder/a.arrow");
    refused(&["export", text(&array), "s3://bucket/a.arrow"], 2, "local folders only");
    refused(&["export", "/no/such/array", text(&file(&scratch, "b.arrow"))], 1, "/no/such/array");
}

#[test]
#[cfg(unix)]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let scratch = Scratch::new();
    let (array, target, link) =
        (fixture("2.30.0/quickstart"), file(&scratch, "a.parquet"), file(&scratch, "link.parquet"));
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    said(&["export", text(&array), text(&link), "--force"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read(&target).unwrap().starts_with(b"PAR1"));
    assert_eq!(said(&["export", text(&array), "/dev/null", "--format", "parquet"]), "16 cells written\n");
}

#[test]
fn standard_output_is_a_stream_or_any_other_format() {
    let scratch = Scratch::new();
    let array = fixture("2.30.0/quickstart");
    for (more, format) in [(&[][..], Format::ArrowStream), (&["--format", "parquet"], Format::Parquet)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        let output = command.args(["export", text(&array), "-"]).args(more).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        let target = file(&scratch, "out");
        fs::write(&target, output.stdout).unwrap();
        assert_eq!(numbers(&read(&target, format).1, "a").len(), 16);
    }
}

#[test]
fn a_reader_that_has_enough_ends_the_export_quietly() {
    let scratch = Scratch::new();
    let (array, table) = (scratch.path().join("array"), scratch.path().join("t.csv"));
    let mut rows = File::create(&table).unwrap();
    writeln!(rows, "a").unwrap();
    (0..200_000).for_each(|row| writeln!(rows, "{row}").unwrap());
    said(&["import", text(&array), text(&table)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
    command.args(["export", text(&array), "-"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn memory_that_is_not_enough_says_what_is() {
    let scratch = Scratch::new();
    let (array, target) = (fixture("2.30.0/dense2d_rr"), file(&scratch, "a.parquet"));
    let export = ["export", text(&array), text(&target), "--threads", "1", "--memory"];
    let outcome = tdb(&[&export[..], &["10kB"]].concat());
    assert_eq!(outcome.code, 2, "{}", outcome.err);
    let least = outcome.err.split("at least ").nth(1).expect(&outcome.err).trim();
    assert!(!target.exists());
    said(&[&export[..], &[least]].concat());
}
