//! Enumerations at both doors: `tdb read` prints their values, and `tdb import` takes what it
//! prints.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tdb_array::schema::{CellValNum, Datatype};
use tdb_array::{Array, WriteColumn, WriteOptions};
use tdb_schema::{ArraySchema, Attribute, Dimension, Enumeration};

use crate::common::{Scratch, refused, said, tdb, text};
use crate::import::{csv, file};

/// An enumeration of values of this type, back to back; texts are separated by commas.
fn enumeration(name: &str, datatype: Datatype, values: Vec<Vec<u8>>) -> Enumeration {
    let var = datatype.is_string();
    let count = if var { CellValNum::Var } else { CellValNum::ONE };
    Enumeration::new(name, format!("__{name}_0"), datatype, count, values).unwrap()
}

/// Enumerations of each kind of value: texts that look like other things, integers, reals with both
/// zeros, days, booleans.
fn enumerations() -> Vec<Enumeration> {
    let texts = ["red", "", "1", "null", "a,\"b\"", "\u{e9}\\x"];
    let texts = texts.map(|text| text.as_bytes().to_vec()).to_vec();
    let numbers = [10i64, 30, -1, 1, 0].map(|value| value.to_le_bytes().to_vec()).to_vec();
    let reals =
        [0.0f64, -0.0, 0.1, f64::NAN, f64::INFINITY].map(|value| value.to_le_bytes().to_vec()).to_vec();
    let days = [0i64, 18_321].map(|value| value.to_le_bytes().to_vec()).to_vec();
    vec![
        enumeration("texts", Datatype::StringUtf8, texts),
        enumeration("numbers", Datatype::Int64, numbers),
        enumeration("reals", Datatype::Float64, reals),
        enumeration("days", Datatype::DatetimeDay, days),
        enumeration("truths", Datatype::Bool, vec![vec![1], vec![0]]),
    ]
}

/// An array with an attribute for each enumeration, every second one nullable.
fn made(path: &Path) {
    let mut schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i64..=99));
    let mut options = WriteOptions::new().timestamp(1);
    for (at, one) in enumerations().into_iter().enumerate() {
        let attribute = Attribute::new(format!("a_{}", one.name), Datatype::Uint8, CellValNum::ONE);
        let attribute = attribute.with_enumeration(one.name.clone());
        schema =
            schema.attribute(if at % 2 == 0 { attribute } else { attribute.with_nulls() }).enumeration(&one);
        options = options.enumeration(one);
    }
    options.create(path, &schema.build().unwrap()).unwrap();
}

/// Every value of each enumeration, and nulls where there may be some.
fn filled(path: &Path) {
    made(path);
    let writer = WriteOptions::new().open(path).unwrap();
    let x: Vec<i64> = (0..12).collect();
    let valid: Vec<u8> = (0..12).map(|at| u8::from(at % 5 != 4)).collect();
    let mut write = writer.write().column(WriteColumn::fixed("x", &x));
    let all = enumerations();
    let columns: Vec<(String, Vec<u8>)> = all
        .iter()
        .map(|one| {
            (format!("a_{}", one.name), (0..12).map(|at| u8::try_from(at % one.len()).unwrap()).collect())
        })
        .collect();
    for (at, (name, codes)) in columns.iter().enumerate() {
        let column = WriteColumn::fixed(name, codes);
        write = write.column(if at % 2 == 0 { column } else { column.nullable(&valid) });
    }
    write.commit().unwrap();
}

fn read(array: &Path, more: &[&str]) -> String {
    said(&[&["read", text(array), "--order", "row"], more].concat())
}

/// What `--format json` prints as objects, one on each line.
fn lines_of_json(printed: &str) -> String {
    let printed: Value = serde_json::from_str(printed).unwrap();
    let fields = printed["fields"].as_object().unwrap();
    let row = |row: usize| {
        let cells = fields.iter().map(|(name, cells)| (name.clone(), cells[row].clone()));
        format!("{}\n", Value::Object(cells.collect()))
    };
    (0..usize::try_from(printed["cells"].as_u64().unwrap()).unwrap()).map(row).collect()
}

#[test]
fn what_read_prints_goes_back_in_in_every_format_by_value_and_by_code() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    filled(&array);
    let raw = read(&array, &["--codes", "--format", "csv"]);
    assert_ne!(read(&array, &["--format", "csv"]), raw);
    for codes in [&[][..], &["--codes"]] {
        for format in ["csv", "ndjson"] {
            let printed = match format {
                "csv" => read(&array, &[codes, &["--format", "csv"]].concat()),
                _ => lines_of_json(&read(&array, &[codes, &["--format", "json"]].concat())),
            };
            let table = file(&scratch, &format!("t.{format}"), &printed);
            let copy = scratch.path().join(format!("{format}{}", codes.len()));
            made(&copy);
            let import = [&["import", text(&copy), text(&table)], codes].concat();
            assert_eq!(said(&import), "12 cells written\n", "{printed}");
            assert_eq!(read(&copy, &["--codes", "--format", "csv"]), raw, "{format} {codes:?}: {printed}");
        }
    }
    // A table for people is for people, but it has the same words.
    let (table, codes) =
        (read(&array, &["--fields", "a_texts"]), read(&array, &["--fields", "a_texts", "--codes"]));
    assert!(table.contains("red") && !codes.contains("red"), "{table}{codes}");
    // Buffers are what is stored, unless values are wanted.
    for (option, datatype) in [("--codes", "UINT8"), ("--values", "STRING_UTF8")] {
        let out = scratch.path().join(option);
        said(&["read", text(&array), option, "--format", "raw", "--fields", "a_texts", "--out", text(&out)]);
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(out.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["fields"][0]["datatype"], json!(datatype));
    }
}

/// An array with one attribute `c` of these values.
fn one(
    scratch: &Scratch,
    name: &str,
    datatype: Datatype,
    values: &[&[u8]],
    options: WriteOptions,
) -> PathBuf {
    let path = scratch.path().join(name);
    let values = enumeration("e", datatype, values.iter().map(|value| value.to_vec()).collect());
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("d", 0i64..=99))
        .attribute(Attribute::new("c", Datatype::Uint8, CellValNum::ONE).with_enumeration("e"))
        .enumeration(&values)
        .build()
        .unwrap();
    options.enumeration(values).create(&path, &schema).unwrap();
    path
}

fn values(array: &Path) -> usize {
    Array::open(array).unwrap().enumeration("e").unwrap().unwrap().len()
}

#[test]
fn a_value_that_an_enumeration_lacks_is_refused_with_line_column_and_remedy() {
    let scratch = Scratch::new();
    let numbers = one(
        &scratch,
        "n",
        Datatype::Int32,
        &[&[10, 0, 0, 0], &[20, 0, 0, 0], &[30, 0, 0, 0]],
        WriteOptions::new(),
    );
    for (name, content) in
        [("n.csv", "d,c\n0,10\n1,30\n2,1\n"), ("n.ndjson", "\n{\"d\":0,\"c\":10}\n{\"d\":2,\"c\":1}\n")]
    {
        let table = file(&scratch, name, content);
        for part in [
            if name == "n.csv" { "line 4, column \"c\"" } else { "line 3, column \"c\"" },
            "enumeration \"e\" does not have the value \"1\" (it has 10, 20, 30)",
            "--extend-enumerations adds it, --codes takes numbers for positions",
        ] {
            refused(&["import", text(&numbers), text(&table)], 1, part);
        }
        assert_eq!(csv(text(&numbers)).lines().count(), 1, "nothing was written");
    }
    let codes = file(&scratch, "codes.csv", "d,c\n0,2\n1,255\n");
    said(&["import", text(&numbers), text(&codes), "--codes"]);
    assert_eq!(csv(text(&numbers)), "d,c\n0,30\n1,\n", "255 is the fill value, which is no value");
    for past in ["3", "254", "-1", "much"] {
        let codes = file(&scratch, "past.csv", format!("d,c\n0,{past}\n"));
        let import = ["import", text(&numbers), text(&codes), "--codes"];
        let outcome = tdb(&import);
        assert!(outcome.code == 1 && outcome.err.contains("line 2, column \"c\""), "{past}: {}", outcome.err);
    }
    let texts = one(&scratch, "t", Datatype::StringAscii, &[b"A", b"B"], WriteOptions::new());
    let table = file(&scratch, "t.csv", "d,c\n0,A\n1,B\n");
    said(&["import", text(&texts), text(&table)]);
    assert_eq!(csv(text(&texts)), "d,c\n0,A\n1,B\n");
    assert_eq!(tdb(&["verify", text(&texts)]).out.lines().filter(|line| line.contains("note")).count(), 0);
}

#[test]
fn values_are_added_to_enumerations_before_the_cells_and_only_if_the_file_is_right() {
    let scratch = Scratch::new();
    let texts = one(&scratch, "t", Datatype::StringUtf8, &[b"A", b"B"], WriteOptions::new());
    let table = file(&scratch, "t.csv", "d,c\n0,B\n1,D\n2,C\n3,D\n");
    let import = ["import", text(&texts), text(&table), "--extend-enumerations"];
    let wrong = file(&scratch, "w.csv", "d,c\n0,E\nmuch,F\n");
    refused(&["import", text(&texts), text(&wrong), "--extend-enumerations"], 1, "line 3, column \"d\"");
    let dry = said(&[&import[..], &["--dry-run"]].concat());
    assert_eq!(dry, "enumeration \"e\" would get 2 values: D, C\n4 cells would be written\n");
    assert_eq!(values(&texts), 2);
    assert_eq!(said(&import), "enumeration \"e\" got 2 values: D, C\n4 cells written\n");
    assert_eq!(csv(text(&texts)), "d,c\n0,B\n1,D\n2,C\n3,D\n");
    assert_eq!(said(&import), "4 cells written\n", "there is nothing to add");
    let report: Value = serde_json::from_str(&said(&[&import[..], &["--json"]].concat())).unwrap();
    assert_eq!((&report["enumerations"], &report["left_out"]), (&json!({}), &json!(0)));
    let reals = one(&scratch, "r", Datatype::Float64, &[&0.5f64.to_le_bytes()], WriteOptions::new());
    let table = file(&scratch, "r.csv", "d,c\n0,0.5\n1,much\n");
    let outcome = tdb(&["import", text(&reals), text(&table), "--extend-enumerations"]);
    assert!(outcome.code == 1 && outcome.err.contains("line 3, column \"c\""), "{}", outcome.err);
    assert_eq!(values(&reals), 1);
}

#[test]
fn a_write_of_a_code_past_the_end_is_refused_and_a_stored_one_is_noted() {
    let scratch = Scratch::new();
    let array = one(&scratch, "t", Datatype::StringUtf8, &[b"A", b"B"], WriteOptions::new().timestamp(1));
    let write = |options: WriteOptions, codes: &[u8]| {
        let writer = options.open(&array).unwrap();
        let d: Vec<i64> = (0..).take(codes.len()).collect();
        let write = writer.write().column(WriteColumn::fixed("d", &d)).column(WriteColumn::fixed("c", codes));
        write.commit().map(drop).map_err(|error| error.to_string())
    };
    let error = write(WriteOptions::new(), &[1, 0, 2]).unwrap_err();
    assert!(
        error.contains("cell 2 of field \"c\" has the code 2, but enumeration \"e\" has 2 values"),
        "{error}"
    );
    write(WriteOptions::new().timestamp(5), &[1, 255, 0]).unwrap();
    assert!(!tdb(&["verify", text(&array)]).out.contains("has the code"));
    write(WriteOptions::new().timestamp(9).any_codes(), &[1, 7, 9]).unwrap();
    let verified = tdb(&["verify", text(&array)]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
    let all = format!("{}{}", verified.out, verified.err);
    assert!(
        all.contains("has the code 7, but enumeration \"e\" has 2 values, and there are 1 more"),
        "{all}"
    );
    // A copy has what is there.
    let copy = scratch.path().join("copy");
    said(&["copy", text(&array), text(&copy)]);
    assert_eq!(read(&copy, &["--codes", "--format", "csv"]), "d,c\n0,1\n1,7\n2,9\n");
    said(&["consolidate", text(&array)]);
    assert_eq!(read(&array, &["--codes", "--format", "csv"]), "d,c\n0,1\n1,7\n2,9\n");
}
