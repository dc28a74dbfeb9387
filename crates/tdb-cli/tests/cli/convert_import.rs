//! `tdb import` of Parquet and Arrow files: what becomes of them, and what is refused.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tdb_arrow::arrow_array::{
    Array as ArrowArray, ArrayRef, Date32Array, Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use tdb_arrow::arrow_array::{Decimal128Array, DictionaryArray, types::Int8Type};
use tdb_arrow::arrow_schema::{DataType, Field};
use tdb_convert::{Format, SinkOptions, sink};

use crate::common::{Scratch, assert_fails, fixture, refused, said, schema_json, sparse, tdb, text};
use crate::import::csv;

/// A file with these columns, without metadata of an array. Each batch has all rows once.
fn made(scratch: &Scratch, name: &str, columns: Vec<(&str, ArrayRef)>, batches: usize) -> PathBuf {
    let path = scratch.path().join(name);
    let format = Format::of_ending(path.extension().unwrap().to_str().unwrap()).unwrap();
    let nullable = columns.into_iter().map(|(name, column)| {
        let nulls = column.null_count() > 0;
        (name, column, nulls)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(nullable).unwrap();
    let mut rows = sink(format, File::create(&path).unwrap(), &batch.schema(), &SinkOptions::new()).unwrap();
    (0..batches).for_each(|_| rows.write(&batch).unwrap());
    rows.finish().unwrap();
    path
}

fn ints(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

/// Stations and temperatures, with a null.
fn weather(scratch: &Scratch, name: &str, days: &[i32]) -> PathBuf {
    let stations: Vec<&str> = days.iter().map(|day| if day % 2 == 0 { "OSLO" } else { "ROMA" }).collect();
    let heat: Vec<Option<f64>> = days.iter().map(|day| (*day > 1).then(|| f64::from(*day))).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("station", Arc::new(StringArray::from(stations))),
        ("day", Arc::new(Date32Array::from(days.to_vec()))),
        ("heat", Arc::new(Float64Array::from(heat))),
    ];
    made(scratch, name, columns, 1)
}

#[test]
fn a_table_becomes_rows_with_numbers_and_the_next_one_follows() {
    let scratch = Scratch::new();
    for ending in ["parquet", "arrow", "arrows"] {
        let array = scratch.path().join(format!("array_{ending}"));
        let (first, second) = (
            weather(&scratch, &format!("a.{ending}"), &[1, 2]),
            weather(&scratch, &format!("b.{ending}"), &[3]),
        );
        assert_eq!(said(&["import", text(&array), text(&first)]), "2 cells written\n");
        let schema = schema_json(&array);
        assert_eq!(schema["dimensions"][0]["datatype"], json!("UINT64"));
        assert_eq!(
            (&schema["current_domain"], &schema["allows_duplicates"]),
            (&json!([[0, 1]]), &json!(true))
        );
        assert_eq!(schema["attributes"][1]["datatype"], json!("DATETIME_DAY"));
        assert_eq!(
            said(&["import", text(&array), text(&second), "--dry-run"]),
            "the current domain would grow: row=0..2\n1 cell would be written\n"
        );
        let grew = "the current domain grew: row=0..2\n1 cell written\n";
        assert_eq!(said(&["import", text(&array), text(&second)]), grew);
        let expected =
            "row,station,day,heat\n0,ROMA,1970-01-02,\n1,OSLO,1970-01-03,2.0\n2,ROMA,1970-01-04,3.0\n";
        assert_eq!(csv(text(&array)), expected, "{ending}");
        assert_eq!(tdb(&["verify", text(&array)]).err, "");
    }
}

#[test]
fn columns_become_coordinates_and_the_array_grows_with_them() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let first = weather(&scratch, "a.parquet", &[4, 0]);
    let import = ["import", text(&array), text(&first), "--dims", "station,day"];
    let shown: Value = serde_json::from_str(&said(&[&import[..], &["--dry-run"]].concat())).unwrap();
    assert!(!array.exists());
    said(&import);
    let schema = schema_json(&array);
    for key in ["dimensions", "attributes", "current_domain", "type"] {
        assert_eq!(shown[key], schema[key], "a dry run shows the schema that the array gets");
    }
    assert_eq!(schema["current_domain"], json!([["", "\\xff"], ["1970-01-01", "1970-01-05"]]));
    let second = weather(&scratch, "b.arrow", &[9]);
    said(&["import", text(&array), text(&second)]);
    let expected = "station,day,heat\nOSLO,1970-01-01,\nOSLO,1970-01-05,4.0\nROMA,1970-01-10,9.0\n";
    assert_eq!(csv(text(&array)), expected);
    // A table of text goes into the same array.
    let table = scratch.path().join("t.csv");
    fs::write(&table, "station,day,heat\nBERGEN,1970-01-01,\n").unwrap();
    said(&["import", text(&array), text(&table)]);
    assert_eq!(csv(text(&array)).lines().nth(1), Some("BERGEN,1970-01-01,"));

    let bounded = scratch.path().join("bounded");
    let domain = ["--dims", "day", "--domain", "day=1970-01-01..1970-01-09", "--force"];
    said(&[&["import", text(&bounded), text(&first)], &domain[..]].concat());
    let outside = tdb(&["import", text(&bounded), text(&second)]);
    assert_fails(
        &outside,
        &["b.arrow", "row 0", "outside the domain of dimension \"day\"", "--domain 'day=LO..HI'"],
    );
    let wrong = |more: &[&str], part: &str| {
        refused(&[&["import", text(&scratch.path().join("new")), text(&first)], more].concat(), 2, part);
    };
    wrong(
        &["--dims", "statoin"],
        "there is no column \"statoin\" (there are station, day, heat); did you mean",
    );
    wrong(&["--types", "hat=float32"], "--types: there is no column \"hat\"");
    wrong(&["--null", "NA"], "--null is only for text");
    wrong(&["--delimiter", ";"], "--delimiter is only for CSV files");
    wrong(&["--dims", "day", "--domain", "dy=1..2"], "dy");
}

#[test]
fn a_domain_that_was_not_given_holds_the_keys_of_the_file() {
    let scratch = Scratch::new();
    // Seconds since 1970: beyond the wide domain of their type.
    let file = made(&scratch, "a.parquet", vec![("t", ints(&[1_700_000_000, -5]))], 1);
    let array = scratch.path().join("array");
    said(&["import", text(&array), text(&file), "--dims", "t"]);
    assert_eq!(csv(text(&array)), "t\n-5\n1700000000\n");
    assert_eq!(schema_json(&array)["current_domain"], json!([[-5, 1_700_000_000]]));
    let narrow = scratch.path().join("narrow");
    let given =
        tdb(&["import", text(&narrow), text(&file), "--dims", "t", "--domain", "t=-1000000000..1000000000"]);
    assert_fails(&given, &["outside the domain of dimension \"t\""]);
}

#[test]
fn a_dense_array_has_the_rows_of_a_file_and_is_written_over_only_when_asked() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let file = made(&scratch, "a.parquet", vec![("row", ints(&[7, 8, 9]))], 1);
    said(&["import", text(&array), text(&file), "--dense"]);
    assert_eq!(csv(text(&array)), "row_number,row\n0,7\n1,8\n2,9\n");
    let other = made(&scratch, "b.arrow", vec![("row", ints(&[5]))], 1);
    let import = ["import", text(&array), text(&other)];
    refused(&import, 1, "has cells at 0..2 already: --overwrite writes over them");
    said(&[&import[..], &["--overwrite"]].concat());
    assert_eq!(csv(text(&array)), "row_number,row\n0,5\n1,8\n2,9\n");
    let long = made(&scratch, "long.arrow", vec![("row", ints(&[1, 2, 3, 4]))], 1);
    refused(&["import", text(&array), text(&long), "--overwrite"], 1, "is outside its domain, 0..2");
}

#[test]
fn what_was_exported_goes_back_where_it_was() {
    let scratch = Scratch::new();
    let (dense, file) = (fixture("2.30.0/quickstart"), scratch.path().join("part.parquet"));
    let copy = scratch.path().join("copy");
    said(&["export", text(&dense), text(&file), "--subarray", "2:3,2:3"]);
    said(&["import", text(&copy), text(&file)]);
    assert_eq!(schema_json(&copy), schema_json(&dense));
    assert_eq!(
        said(&["read", text(&copy), "--format", "csv", "--subarray", "2:3,"]),
        "rows,cols,a\n2,1,\n2,2,6\n2,3,7\n2,4,\n3,1,\n3,2,10\n3,3,11\n3,4,\n"
    );
    refused(&["import", text(&copy), text(&file)], 1, "has cells at 2..3, 2..3 already");
    let rest = scratch.path().join("rest.arrow");
    said(&["export", text(&dense), text(&rest), "--subarray", "4:4,", "--fields", "a"]);
    assert_eq!(said(&["import", text(&copy), text(&rest)]), "4 cells written\n", "the box is elsewhere");
    assert!(said(&["read", text(&copy), "--format", "json", "--subarray", "4:4,"]).contains("[13,14,15,16]"));

    // A selection is no box.
    let some = scratch.path().join("some.parquet");
    said(&["export", text(&dense), text(&some), "--where", "a > 14"]);
    let new = scratch.path().join("new");
    refused(&["import", text(&new), text(&some)], 2, "--dims rows,cols makes a sparse array of them");
    said(&["import", text(&new), text(&some), "--dims", "rows,cols"]);
    assert_eq!(csv(text(&new)), "rows,cols,a\n4,3,15\n4,4,16\n");
    refused(&["import", text(&copy), text(&some), "--overwrite"], 1, "sparse array, with --dims");
    refused(
        &["import", text(&copy), text(&file), "--domain", "rows=1..2", "--force"],
        2,
        "has the schema of an array",
    );

    // Coordinates that were left out are numbers of rows, as in any other table.
    let array = scratch.path().join("sparse");
    sparse(&array);
    said(&[
        "export",
        text(&array),
        text(&some),
        "--fields",
        "k",
        "--where",
        "k > 7",
        "--order",
        "row",
        "--force",
    ]);
    said(&["import", text(&new), text(&some), "--force"]);
    assert_eq!(csv(text(&new)), "row,k\n0,8\n1,9\n");
}

#[test]
fn an_enumeration_and_the_state_at_a_time_come_back() {
    let scratch = Scratch::new();
    let (array, file, copy) =
        (scratch.path().join("array"), scratch.path().join("a.parquet"), scratch.path().join("copy"));
    sparse(&array);
    let more = scratch.path().join("more.csv");
    fs::write(&more, "x,k,v,c\n50,1,1,green\n").unwrap();
    said(&["import", text(&array), text(&more), "--time", "9"]);
    said(&["export", text(&array), text(&file), "--at", "5"]);
    said(&["import", text(&copy), text(&file)]);
    let (now, then) = (csv(text(&array)), csv(text(&copy)));
    assert_eq!((now.lines().count(), then.lines().count()), (12, 11));
    assert!(now.starts_with(&then));
    assert_eq!(schema_json(&copy), schema_json(&array));
    // A value that the enumeration does not have.
    let colours: DictionaryArray<Int8Type> = vec!["red", "blue"].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("x", ints(&[60, 61])),
        ("k", ints(&[1, 2])),
        ("v", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
        ("c", Arc::new(colours)),
    ];
    let blue = made(&scratch, "blue.arrow", columns, 1);
    assert_fails(
        &tdb(&["import", text(&copy), text(&blue)]),
        &["blue.arrow", "column \"c\"", "does not have this value"],
    );
    assert_eq!(csv(text(&copy)), then);
}

#[test]
fn columns_that_an_array_cannot_take_are_named() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let price: ArrayRef =
        Arc::new(Decimal128Array::from(vec![1, 2]).with_precision_and_scale(19, 2).unwrap());
    let decimal = made(&scratch, "decimal.parquet", vec![("price", price)], 1);
    for dims in [&[][..], &["--dims", "price"], &["--dense"]] {
        let outcome = tdb(&[&["import", text(&array), text(&decimal)], dims].concat());
        assert!(
            outcome.code != 0 && outcome.err.contains("column \"price\" is of type Decimal128(19, 2)"),
            "{}",
            outcome.err
        );
        assert!(!array.exists());
    }
    sparse(&array);
    let before = csv(text(&array));
    let wrong = |columns: Vec<(&str, ArrayRef)>, parts: &[&str]| {
        let file = made(&scratch, "wrong.parquet", columns, 1);
        assert_fails(&tdb(&["import", text(&array), text(&file)]), &[&["wrong.parquet"], parts].concat());
        assert_eq!(csv(text(&array)), before);
    };
    let c: ArrayRef = Arc::new(StringArray::from(vec!["red"]));
    let v: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let good = || vec![("x", ints(&[9])), ("v", v.clone()), ("c", c.clone())];
    wrong(good(), &["field \"k\" is missing"]);
    wrong([good(), vec![("kk", ints(&[1]))]].concat(), &["no field \"kk\" (it has x, k, v, c)"]);
    let long: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    wrong([good(), vec![("k", long)]].concat(), &["column \"k\" is of type Int64", "cast the column"]);
    let null: ArrayRef = Arc::new(Int32Array::from(vec![None]));
    wrong([good(), vec![("k", null)]].concat(), &["column \"k\", row 0: null"]);
    wrong(
        [vec![("x", ints(&[100])), ("k", ints(&[1]))], good()[1..].to_vec()].concat(),
        &["row 0", "outside the domain"],
    );
}

#[test]
fn a_file_that_is_damaged_leaves_everything_as_it_was() {
    let scratch = Scratch::new();
    let (array, good) = (scratch.path().join("array"), weather(&scratch, "good.csv.parquet", &[1, 2, 3]));
    let bytes = fs::read(&good).unwrap();
    let bad = scratch.path().join("bad.parquet");
    for end in [0, 3, 10, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&bad, &bytes[..end]).unwrap();
        assert_fails(&tdb(&["import", text(&array), text(&bad)]), &["bad.parquet: "]);
        assert!(!array.exists(), "{end}");
    }
    assert_fails(
        &tdb(&["import", text(&array), text(&good), "--format", "arrow"]),
        &["not a file of the format Arrow"],
    );
    assert_fails(&tdb(&["import", text(&array), "/no/such/file.parquet"]), &["/no/such/file.parquet"]);
    assert_fails(&tdb(&["import", text(&array), text(scratch.path()), "--format", "parquet"]), &[": "]);
    // Pages in the middle of the file are found before the old array is removed.
    said(&["import", text(&array), text(&good)]);
    let before = csv(text(&array));
    let many = weather(&scratch, "many.arrow", &(0..5000).collect::<Vec<_>>());
    let bytes = fs::read(&many).unwrap();
    let stream = [&bytes[8..bytes.len() / 2], b"ARROW1"].concat();
    fs::write(&bad, [&bytes[..8], &stream].concat()).unwrap();
    let failed = tdb(&["import", text(&array), text(&bad), "--format", "arrow", "--force"]);
    assert_fails(&failed, &["bad.parquet: "]);
    assert_eq!(csv(text(&array)), before);
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
}

#[test]
fn standard_input_and_streams_with_another_ending_are_read() {
    let scratch = Scratch::new();
    let stream = weather(&scratch, "a.arrows", &[5]);
    let renamed = scratch.path().join("b.feather");
    fs::copy(&stream, &renamed).unwrap();
    let array = scratch.path().join("renamed");
    said(&["import", text(&array), text(&renamed)]);
    let expected = "row,station,day,heat\n0,ROMA,1970-01-06,5.0\n";
    assert_eq!(csv(text(&array)), expected);
    for (file, format) in [(stream, "arrows"), (weather(&scratch, "a.parquet", &[5]), "parquet")] {
        let array = scratch.path().join(format);
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.args(["import", text(&array), "-", "--format", format]);
        let status = command.stdin(File::open(&file).unwrap()).stdout(Stdio::null()).status().unwrap();
        assert!(status.success());
        assert_eq!(csv(text(&array)), expected);
    }
}

#[test]
fn a_batch_that_does_not_fit_the_memory_says_what_is_enough() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let file = made(&scratch, "a.arrow", vec![("a", Arc::new(UInt64Array::from(vec![7; 1 << 18])))], 3);
    let import = ["import", text(&array), text(&file), "--memory"];
    let outcome = tdb(&[&import[..], &["1MiB"]].concat());
    assert_eq!(outcome.code, 2, "{}", outcome.err);
    let least = outcome.err.split("at least ").nth(1).expect(&outcome.err).trim();
    assert_eq!(said(&[&import[..], &[least]].concat()), format!("{} cells written\n", 3 << 18));
    let fragments: Value = serde_json::from_str(&said(&["info", text(&array), "--json"])).unwrap();
    assert_eq!(fragments["fragments"].as_array().unwrap().len(), 1, "rows with numbers are in order");
    let table = scratch.path().join("t.csv");
    fs::write(&table, "a\n1\n").unwrap();
    refused(
        &["import", text(&array), text(&table), "--memory", "1GiB"],
        2,
        "only for Parquet and Arrow files",
    );
}

/// The largest memory of a process, as far as it was seen before it ended, without the pages of its
/// program: how many of these the system maps differs from run to run.
#[cfg(target_os = "linux")]
fn peak(args: &[&str]) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tdb")).args(args).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("RssAnon"));
        let kibibytes =
            line.and_then(|line| line.split_whitespace().nth(1)).and_then(|number| number.parse().ok());
        peak = peak.max(kibibytes.unwrap_or(0u64) << 10);
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{args:?}");
            return peak;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_bounded_whatever_the_size_of_the_file() {
    const MIB: u64 = 1 << 20;
    let scratch = Scratch::new();
    // Numbers that do not compress: 96 MiB.
    let numbers = (0..1u64 << 18).map(|at| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let numbers: ArrayRef = Arc::new(UInt64Array::from(numbers.collect::<Vec<_>>()));
    let file = made(&scratch, "a.arrow", vec![("a", numbers.clone()), ("b", numbers)], 24);
    let [array, parquet, again] = ["array", "a.parquet", "again"].map(|name| scratch.path().join(name));
    let idle = peak(&["info", text(&fixture("2.30.0/quickstart"))]);
    let memory = ["--memory", "32MiB"];
    let runs = [
        [&["import", text(&array), text(&file)], &memory[..]].concat(),
        [&["export", text(&array), text(&parquet), "--threads", "2"], &memory[..]].concat(),
        [&["import", text(&again), text(&parquet)], &memory[..]].concat(),
    ];
    for run in runs {
        let used = peak(&run).saturating_sub(idle);
        println!("{}: {} MiB", run[0], used / MIB);
        assert!(used < 36 * MIB, "{run:?} took {} MiB", used / MIB);
    }
    assert!(fs::metadata(&parquet).unwrap().len() > 64 * MIB);
}

#[test]
fn rows_with_the_same_coordinates_are_refused_or_left_out_by_their_numbers() {
    let scratch = Scratch::new();
    for ending in ["parquet", "arrow"] {
        let (array, name) = (scratch.path().join(ending), format!("t.{ending}"));
        let columns = vec![("x", ints(&[5, 7, 9])), ("a", ints(&[1, 2, 3]))];
        let twice = made(&scratch, &name, columns, 2);
        let import = ["import", text(&array), text(&twice), "--dims", "x"];
        refused(
            &import,
            1,
            "rows 0 and 3 have the same coordinates, x=5: --duplicates first or last keeps one",
        );
        assert!(!array.exists());
        for rule in ["first", "last"] {
            let again = [&import[..], &["--duplicates", rule, "--force"]].concat();
            let wrote = "3 cells written; 3 rows were left out, whose coordinates another row has\n";
            assert_eq!(said(&again), wrote);
            assert_eq!(csv(text(&array)), "x,a\n5,1\n7,2\n9,3\n");
        }
        refused(&["import", text(&array), text(&twice)], 1, "rows 0 and 3");
        assert!(
            said(&["import", text(&array), text(&twice), "--duplicates", "last"])
                .starts_with("3 cells written;")
        );
        let none = made(&scratch, &format!("none.{ending}"), vec![("x", ints(&[])), ("a", ints(&[]))], 1);
        assert_eq!(said(&["import", text(&array), text(&none)]), "0 cells written\n");
        assert_eq!(csv(text(&array)), "x,a\n5,1\n7,2\n9,3\n");
    }
}

#[test]
fn plain_columns_and_dictionaries_have_values_of_enumerations_and_codes_only_if_asked() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let schema = scratch.path().join("schema.json");
    let described = json!({"type": "sparse", "dimensions": [{"name": "x", "datatype": "INT32", "domain": [0, 99], "extent": 10}],
        "attributes": [{"name": "k", "datatype": "INT32"}, {"name": "v", "datatype": "FLOAT64", "nullable": true},
            {"name": "c", "datatype": "INT8", "enumeration": "colours"}],
        "enumerations": [{"name": "colours", "datatype": "STRING_UTF8", "cell_val_num": "var", "values": ["red", "green"]}]});
    fs::write(&schema, described.to_string()).unwrap();
    said(&["create", text(&array), "--schema", text(&schema)]);
    let colours = |words: &[&str]| -> ArrayRef { Arc::new(StringArray::from(words.to_vec())) };
    let columns = |c: ArrayRef| {
        let v: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
        vec![("x", ints(&[50, 51])), ("k", ints(&[1, 2])), ("v", v), ("c", c)]
    };
    let named = ["read", text(&array), "--points", "x=50,51", "--fields", "c", "--format", "csv"];
    let table = made(&scratch, "t.parquet", columns(colours(&["green", "red"])), 1);
    said(&["import", text(&array), text(&table)]);
    assert_eq!(said(&named), "c\ngreen\nred\n");
    let table = made(&scratch, "u.parquet", columns(colours(&["blue", "red"])), 1);
    refused(&["import", text(&array), text(&table)], 1, "does not have this value");
    let got = said(&["import", text(&array), text(&table), "--extend-enumerations"]);
    assert_eq!(got, "enumeration \"colours\" got 1 values: blue\n2 cells written\n");
    assert_eq!(said(&named), "c\nblue\nred\n");
    let numbers = |codes: &[i8]| -> ArrayRef { Arc::new(Int8Array::from(codes.to_vec())) };
    let table = made(&scratch, "n.parquet", columns(numbers(&[1, 2])), 1);
    refused(
        &["import", text(&array), text(&table)],
        1,
        "column \"c\" has numbers, but enumeration \"colours\"",
    );
    said(&["import", text(&array), text(&table), "--codes"]);
    assert_eq!(said(&named), "c\ngreen\nblue\n");
    let table = made(&scratch, "p.parquet", columns(numbers(&[1, 3])), 1);
    refused(&["import", text(&array), text(&table), "--codes"], 1, "has the code 3");
    assert_eq!(said(&named), "c\ngreen\nblue\n");
}

#[test]
fn times_with_a_zone_are_those_of_utc_and_the_zone_comes_back() {
    let scratch = Scratch::new();
    let times = TimestampMicrosecondArray::from(vec![1_000_000, 2_000_000]);
    let seen: ArrayRef = Arc::new(times.clone().with_timezone("Europe/Rome"));
    let when: ArrayRef = Arc::new(times.with_timezone("+02:00"));
    let file = made(&scratch, "t.parquet", vec![("when", when), ("seen", seen)], 1);
    let array = scratch.path().join("array");
    said(&["import", text(&array), text(&file), "--dims", "when"]);
    let meta = |array: &PathBuf, key: &str| said(&["meta", "get", text(array), key]);
    assert_eq!(meta(&array, "__tiledb_dim.when.timezone"), "+02:00\n");
    assert_eq!(meta(&array, "__tiledb_attr.seen.timezone"), "Europe/Rome\n");
    let cells = "when,seen\n1970-01-01T00:00:01.000000,1970-01-01T00:00:01.000000\n";
    assert!(csv(text(&array)).starts_with(cells), "{}", csv(text(&array)));
    // More of them, and a copy by way of a file.
    said(&["import", text(&array), text(&file)]);
    for ending in ["parquet", "arrow"] {
        let exported = scratch.path().join(format!("exported.{ending}"));
        said(&["export", text(&array), text(&exported)]);
        let again = scratch.path().join(format!("again_{ending}"));
        said(&["import", text(&again), text(&exported)]);
        assert_eq!(schema_json(&again), schema_json(&array));
        assert_eq!(meta(&again, "__tiledb_dim.when.timezone"), "+02:00\n");
        assert_eq!(meta(&again, "__tiledb_attr.seen.timezone"), "Europe/Rome\n");
    }
    let copy = scratch.path().join("copy");
    said(&["copy", text(&array), text(&copy)]);
    assert_eq!(meta(&copy, "__tiledb_attr.seen.timezone"), "Europe/Rome\n");
    said(&["evolve", text(&array), "--add", "x:int8?", "--drop", "seen"]);
    assert!(!said(&["meta", text(&array)]).contains("seen.timezone"));
}

#[test]
fn decimals_are_integers_with_their_unit_or_reals_by_wish() {
    let scratch = Scratch::new();
    let prices = |values: Vec<Option<i128>>, digits: u8| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(digits, 2).unwrap())
    };
    let file = made(&scratch, "t.parquet", vec![("p", prices(vec![Some(1234), None], 9))], 1);
    let [scaled, real] = ["scaled", "real"].map(|name| scratch.path().join(name));
    let outcome = tdb(&["import", text(&scaled), text(&file)]);
    let note = "note: column \"p\" has decimals, which are kept as whole numbers in units of 0.01: SQL and \
                conditions see these; --types 'p=float64' makes real numbers of them\n";
    assert_eq!((outcome.code, outcome.err.as_str()), (0, note));
    assert_eq!(csv(text(&scaled)), "row,p\n0,1234\n1,\n");
    assert!(said(&["meta", "get", text(&scaled), "__tiledb_attr.p.scale_factor"]).starts_with("0.01"));
    said(&["import", text(&scaled), text(&file)]);
    said(&["import", text(&real), text(&file), "--types", "p=float64"]);
    said(&["import", text(&real), text(&file)]);
    assert_eq!(csv(text(&real)), "row,p\n0,12.34\n1,\n2,12.34\n3,\n");
    let long = made(&scratch, "long.parquet", vec![("p", prices(vec![Some(5)], 30)), ("a", ints(&[1]))], 1);
    said(&["import", text(&real), text(&long), "--columns", "p"]);
    assert!(csv(text(&real)).ends_with("4,0.05\n"));
    let new = scratch.path().join("new");
    refused(&["import", text(&new), text(&long)], 1, "--drop 'p' leaves it out");
    said(&["import", text(&new), text(&long), "--drop", "p"]);
    assert_eq!(csv(text(&new)), "row,a\n0,1\n");
    // Integers of another unit are not mixed.
    let whole = made(&scratch, "whole.parquet", vec![("p", ints(&[1]))], 1);
    let plain = scratch.path().join("plain");
    said(&["import", text(&plain), text(&whole), "--types", "p=int64?"]);
    refused(
        &["import", text(&plain), text(&file)],
        1,
        "the array's metadata has no __tiledb_attr.p.scale_factor",
    );
}

#[test]
fn columns_are_cast_or_left_out_by_wish() {
    let scratch = Scratch::new();
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1", "2"]));
    let items = Field::new("a", DataType::Int32, false);
    let place: ArrayRef = Arc::new(StructArray::from(vec![(Arc::new(items), ints(&[7, 8]))]));
    let file = made(&scratch, "t.parquet", vec![("t", texts), ("s", place), ("i", ints(&[1, 300]))], 1);
    let array = scratch.path().join("array");
    said(&["import", text(&array), text(&file), "--types", "t=int64,s=string,i=int16?"]);
    assert_eq!(csv(text(&array)), "row,t,s,i\n0,1,{a: 7},1\n1,2,{a: 8},300\n");
    assert_eq!(schema_json(&array)["attributes"][2]["nullable"], json!(true));
    let new = scratch.path().join("new");
    refused(
        &["import", text(&new), text(&file), "--types", "i=int8", "--drop", "s"],
        1,
        "column \"i\" cannot be cast",
    );
    refused(&["import", text(&new), text(&file)], 1, "--types 's=TYPE' casts it");
    assert!(!new.exists());
}

#[test]
fn several_files_of_batches_are_one() {
    let scratch = Scratch::new();
    let (one, two) = (weather(&scratch, "n1.parquet", &[3, 2]), weather(&scratch, "n2.parquet", &[1, 4]));
    let array = scratch.path().join("array");
    assert_eq!(said(&["import", text(&array), text(&one), text(&two)]), "4 cells written\n");
    // Only the second file has a null.
    assert_eq!(schema_json(&array)["attributes"][2]["nullable"], json!(true));
    let days = |array: &PathBuf| said(&["read", text(array), "--fields", "day,heat", "--format", "csv"]);
    assert!(days(&array).contains("1970-01-02,\n"), "{}", days(&array));
    let sorted = scratch.path().join("sorted");
    let pattern = scratch.path().join("n*.parquet");
    said(&["import", text(&sorted), text(&pattern), "--dims", "day"]);
    assert_eq!(csv(text(&sorted)).lines().count(), 5);
    refused(
        &["import", text(&scratch.path().join("x")), text(&one), text(&two), text(&one), "--dims", "day"],
        1,
        "rows 0 and 4 have the same coordinates",
    );
    let other = made(&scratch, "m.parquet", vec![("day", ints(&[1]))], 1);
    refused(&["import", text(&sorted), text(&one), text(&other)], 1, "there is not one column \"station\"");
}
