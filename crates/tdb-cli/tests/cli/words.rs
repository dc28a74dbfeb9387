//! Words on the command line: other spellings that are understood, and answers that say what would
//! be right.

use std::fs;

use serde_json::json;

use crate::common::{Scratch, fixture, refused, said, schema_json, sparse, tdb, text};

const PLANE: &str = "2.30.0/dense2d_rr";

/// The filters of an array's first attribute, in words.
fn filters(array: &std::path::Path) -> String {
    let schema = schema_json(array);
    let list = schema["attributes"][0]["filters"].as_array().unwrap().clone();
    let name = |filter: &serde_json::Value| match filter["level"].as_i64() {
        Some(level) => format!("{} {level}", filter["name"].as_str().unwrap()),
        None => filter["name"].as_str().unwrap().to_owned(),
    };
    list.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[test]
fn filters_of_a_copy_are_understood_in_usual_spellings() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    sparse(&array);
    let copies = [
        ("bit_width_reduction, zstd(9)", "bit-width-reduction, zstd 9"),
        ("Double_Delta,gzip(level=6)", "double-delta -1, gzip 6"),
        ("ByteShuffleFilter, zstd:5", "byteshuffle, zstd 5"),
    ];
    for (at, (asked, made)) in copies.into_iter().enumerate() {
        let copy = scratch.path().join(format!("copy{at}"));
        said(&["copy", text(&array), text(&copy), "--filters", &format!("k={asked}")]);
        assert_eq!(filters(&copy), made, "{asked}");
    }
}

#[test]
fn a_wrong_filter_level_or_option_is_exit_code_2_and_says_what_is_right() {
    let scratch = Scratch::new();
    let (array, copy) = (scratch.path().join("array"), scratch.path().join("copy"));
    sparse(&array);
    for (filters, part) in [
        ("zstd(99)", "level -7 to 22"),
        ("gzip(level 10)", "level 0 to 9"),
        ("bit_width_reduction(0)", "out of range"),
        ("zsdt(9)", "did you mean \"zstd\"?"),
        ("snappy", "filters are none, gzip, zstd"),
        ("zstd(levle 9)", "did you mean \"level\"?"),
        ("xor(9)", "xor has no option for \"9\""),
        ("zstd(9", "a closing parenthesis is missing"),
        // Options are right, but the filter does not fit the datatype.
        ("v=delta", "FLOAT64"),
    ] {
        refused(&["copy", text(&array), text(&copy), "--filters", filters], 2, part);
        assert!(!copy.exists(), "{filters}");
    }
}

#[test]
fn datatypes_are_understood_or_answered_with_the_right_word() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    sparse(&array);
    said(&[
        "evolve",
        text(&array),
        "--add",
        "wind:double?",
        "--add",
        "note:string",
        "--add",
        "flag:boolean",
        "--time",
        "2",
    ]);
    let schema = schema_json(&array);
    let added = |at: usize| {
        (schema["attributes"][at]["datatype"].clone(), schema["attributes"][at]["cell_val_num"].clone())
    };
    assert_eq!(added(3), (json!("FLOAT64"), json!(1)));
    assert_eq!(
        added(4),
        (json!("STRING_UTF8"), json!("var")),
        "cells of one byte would lose all but the first"
    );
    assert_eq!(added(5), (json!("BOOL"), json!(1)));
    refused(&["evolve", text(&array), "--add", "rain:float"], 2, "write FLOAT32 or FLOAT64");
    refused(&["evolve", text(&array), "--add", "rain:flaot32"], 2, "did you mean \"FLOAT32\"?");
    refused(&["meta", "set", text(&array), "a", "1", "--type", "timestamp"], 2, "DATETIME_MS");
}

#[test]
fn strings_in_a_schema_are_of_any_length_unless_it_says_otherwise() {
    let scratch = Scratch::new();
    let (file, array) = (scratch.path().join("schema.json"), scratch.path().join("array"));
    let attribute = |name: &str| json!({"name": name, "datatype": name});
    let mut schema = json!({
        "type": "sparse",
        "dimensions": [{"name": "d", "datatype": "i32", "domain": [0, 9], "extent": 1}],
        "attributes": [attribute("STRING_UTF8"), attribute("string_ascii"), attribute("BLOB"), attribute("CHAR"), attribute("f32")],
    });
    schema["attributes"][1]["cell_val_num"] = json!(1);
    fs::write(&file, schema.to_string()).unwrap();
    said(&["create", text(&array), "--schema", text(&file)]);
    let made = schema_json(&array);
    let cells: Vec<_> =
        made["attributes"].as_array().unwrap().iter().map(|own| own["cell_val_num"].clone()).collect();
    assert_eq!(cells, [json!("var"), json!(1), json!("var"), json!(1), json!(1)]);

    schema["attributes"][4]["fliters"] = json!([]);
    fs::write(&file, schema.to_string()).unwrap();
    refused(
        &["create", text(&scratch.path().join("b")), "--schema", text(&file)],
        1,
        "did you mean \"filters\"?",
    );
}

#[test]
fn a_field_with_a_slip_is_answered_with_the_one_that_was_meant() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let schema = json!({
        "type": "sparse",
        "dimensions": [{"name": "station", "datatype": "string"}],
        "attributes": [{"name": "temperature", "datatype": "f64"}],
    });
    fs::write(scratch.path().join("schema.json"), schema.to_string()).unwrap();
    said(&["create", text(&array), "--schema", text(&scratch.path().join("schema.json"))]);
    for (args, meant) in [
        (&["--fields", "temprature"][..], "temperature"),
        (&["--where", "temperatur > 3"], "temperature"),
        (&["--aggregate", "mean(Temperature)"], "temperature"),
        (&["--range", "staton=OSLO"], "station"),
        (&["--points", "Station=OSLO"], "station"),
    ] {
        let outcome = tdb(&[&["read", text(&array)], args].concat());
        let hint = format!("did you mean \"{meant}\"?");
        assert!(outcome.code == 2 && outcome.err.contains(&hint), "{args:?}: {}", outcome.err);
    }
    let outcome = tdb(&["read", text(&array), "--fields", "pressure"]);
    assert!(!outcome.err.contains("did you mean"), "{}", outcome.err);
}

#[test]
fn help_lists_filters_their_options_and_datatypes() {
    for (command, parts) in [
        (
            "create",
            &[
                "bit-width-reduction(max_window)",
                "zstd(level)",
                "level -7 to 22",
                "DATETIME_MS",
                "STRING_UTF8",
            ][..],
        ),
        (
            "copy",
            &["bit-width-reduction(max_window)", "scale-float(scale 0.01, offset 0, bytes 4)", "zstd(9)"],
        ),
        ("evolve", &["FLOAT32", "GEOM_WKB"]),
    ] {
        let help = said(&[command, "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("Examples:"), "{command}");
        for part in parts {
            assert!(help.contains(part), "{part} is not in the help of {command}: {help}");
        }
    }
}

#[test]
fn values_are_written_alike_in_ranges_points_and_conditions() {
    let id = fixture("2.30.0/sparse_dim_datetime_day");
    let read = |option: &str, value: &str| {
        said(&["read", text(&id), "--order", "row", "--format", "csv", option, value])
    };
    let expected = read("--where", "x >= '1973-04-11' and x <= '1976-01-15'");
    assert_eq!(expected.lines().count(), 3, "{expected}");
    for range in ["x='1973-04-11'..'1976-01-15'", "x=1973-04-11..1976-01-15", "x=\"1973-04-11\":'1976-01-15'"]
    {
        assert_eq!(read("--range", range), expected, "{range}");
    }
    for points in ["x='1973-04-11','1976-01-15'", "x=1973-04-11,1976-01-15"] {
        assert_eq!(read("--points", points), expected, "{points}");
    }
    refused(&["read", text(&id), "--where", "x > 1973-04-11"], 2, "dates must be in quotes");
}

#[test]
fn a_range_of_an_attribute_says_how_to_ask_for_it() {
    for option in ["--range", "--points"] {
        refused(&["read", text(&fixture(PLANE)), option, "a=1"], 2, "\"a\" is an attribute: use --where");
    }
}

#[test]
fn points_outside_the_domain_are_cut_off_as_ranges_are() {
    let read = |args: &[&str]| said(&[&["read", text(&fixture(PLANE)), "--format", "csv"], args].concat());
    assert_eq!(read(&["--points", "x=1,99"]), read(&["--range", "x=1"]));
    for (option, range) in [("--points", "x=98,99"), ("--range", "x=98..99"), ("--range", "x=99:")] {
        let outcome = tdb(&["read", text(&fixture(PLANE)), option, range, "--format", "csv"]);
        assert_eq!((outcome.code, outcome.out.as_str()), (0, "x,y,a,s\n"), "{option} {range}");
        assert!(
            outcome.err.contains("lies outside its domain, 1..10: there are no cells"),
            "{}",
            outcome.err
        );
    }
}
