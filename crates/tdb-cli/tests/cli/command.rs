//! The output of the command, and its exit codes.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{Scratch, file_named, files, fixture, json_file, manifest, tdb, text};

const PLANE: &str = "2.30.0/dense2d_rr";
const NULLS: &str = "2.30.0/base_nullable_sparse";

fn read(id: &str, args: &[&str]) -> String {
    let outcome = tdb(&[&["read", text(&fixture(id))], args].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert_eq!(outcome.err, "");
    outcome.out
}

/// Checks for exit code 2 and an error of one line that contains `part`.
fn assert_usage(id: &str, args: &[&str], part: &str) {
    let outcome = tdb(&[&["read", text(&fixture(id))], args].concat());
    assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{}", outcome.err);
    assert!(outcome.err.starts_with("error: ") && outcome.err.contains(part), "{}", outcome.err);
}

#[test]
fn a_plane_of_one_attribute_is_a_grid() {
    let expected = "\
a
x\\y            1    2           3
  1  -2147483648  -38          29
  2           43  -29  2147483647
";
    assert_eq!(read(PLANE, &["--fields", "a", "--subarray", "1:2,1:3"]), expected);
    assert_eq!(read(PLANE, &["--fields", "a", "--subarray", "1:2,1:3", "--order", "col"]), expected);
    let plane = read("2.30.0/dense3d_r", &["--range", "x=1"]);
    assert!(plane.starts_with("a at x = 1\ny\\z "), "{plane}");
}

#[test]
fn everything_else_is_a_row_a_cell_with_coordinates() {
    let expected = "\
x  y            a  s
-  -  -----------  -----
1  1  -2147483648  tile
1  2          -38  ~
1  3           29  Quick
";
    assert_eq!(read(PLANE, &["--subarray", "1,1:3"]), expected);
    assert_eq!(read(PLANE, &["--limit", "3"]), expected);
    // A line break at the start keeps the first heading's leading space.
    let nulls = "
 x     i  m                        s       k
--  ----  -----------------------  ----  ---
13   -32  [-0.0, 513.7969]         null  184
14   -23  [491.09375, 1411.4063]   !       4
17  null  [-142.96875, -558.9844]  a       0
";
    assert_eq!("\n".to_owned() + &read(NULLS, &["--order", "row", "--limit", "3"]), nulls);
}

#[test]
fn several_ranges_and_points_of_a_dimension_add_up_in_their_order() {
    let expected = "\
a
x\\y            3    1    2
  2  2147483647   43  -29
  1          29  -2147483648  -38
";
    let squeeze = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let ranges = ["--range", "x=2", "--range", "x=1", "--range", "y=3", "--range", "y=1:2"];
    let found = read(PLANE, &[&["--fields", "a"], &ranges[..]].concat());
    assert_eq!(squeeze(&found), squeeze(expected), "{found}");
    let scratch = Scratch::new();
    let list = scratch.path().join("rows.txt");
    std::fs::write(&list, "2\n1\n").unwrap();
    let listed = format!("x=@{}", text(&list));
    assert_eq!(read(PLANE, &["--fields", "a", "--points", &listed, "--points", "y=3,1,2"]), found);
    assert_usage(PLANE, &["--points", "x=1:2"], "\"1:2\" is not a coordinate of dimension \"x\"");
}

#[test]
fn ranges_of_labels_and_values_of_enumerations() {
    let by_label = read("2.30.0/label_two", &["--range", "m=0:2", "--format", "csv"]);
    assert_eq!(by_label, read("2.30.0/label_two", &["--range", "y=2:3", "--format", "csv"]));
    assert_usage("2.30.0/label_two", &["--range", "m=x"], "not an integer");
    let fruit = |option: &[&str]| {
        let ask = ["--fields", "f", "--limit", "2", "--format", "csv"];
        read("2.30.0/enumeration", &[&ask[..], option].concat())
    };
    assert_eq!(fruit(&[]), "f\napple\nfig\n");
    assert_eq!(
        fruit(&["--values"]),
        fruit(&[]),
        "what is the default today stays a word of the command line"
    );
    assert!(fruit(&["--codes"]).lines().skip(1).all(|code| code.parse::<u8>().is_ok()));
    let first = read("2.30.0/current_domain_dense", &["--limit", "3", "--format", "csv", "--fields", "x,y"]);
    assert_eq!(first, "x,y\n1,3\n1,4\n1,5\n");
}

#[test]
fn explain_says_what_is_read_and_stats_what_was() {
    let id = "2.30.0/sparse_dim_int32";
    let array = fixture(id);
    let outcome = tdb(&["explain", text(&array), "--range", "x=0:0", "--json"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    let explain: Value = serde_json::from_str(&outcome.out).unwrap();
    assert!(explain["fragments"].as_array().is_some_and(|fragments| !fragments.is_empty()), "{explain}");
    let outcome = tdb(&["explain", text(&array)]);
    assert!(outcome.out.starts_with("fragments: ") && outcome.out.contains("\nreads: "), "{}", outcome.out);
    let outcome = tdb(&["explain", text(&array), "--range", "nope=1"]);
    assert_eq!(outcome.code, 2, "{}", outcome.err);
    let outcome = tdb(&["read", text(&array), "--stats", "--format", "csv"]);
    assert_eq!(outcome.code, 0);
    assert_eq!(outcome.out, read(id, &["--format", "csv"]));
    let shows = |part: &str| assert!(outcome.err.contains(part), "{}", outcome.err);
    [" requests\n", "\ncopied after they were decoded: ", "\ntime: "].into_iter().for_each(shows);
}

#[test]
fn explain_tells_what_statistics_rule_out_and_run_what_it_took() {
    let array = fixture("2.30.0/rtree_3_levels");
    let asked = ["explain", text(&array), "--range", "x=10..29", "--where", "a > 20000"];
    let outcome = tdb(&[&asked[..], &["--run", "--json"]].concat());
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    let explain: Value = serde_json::from_str(&outcome.out).unwrap();
    let fragment = &explain["fragments"][0];
    assert_eq!((&fragment["tiles_read"], &fragment["tiles_ruled_out"]), (&json!(5), &json!(14)));
    assert_eq!(explain["tiles_ruled_out"], 14);
    let purposes: Vec<&str> =
        explain["fields"].as_array().unwrap().iter().filter_map(|f| f["purpose"].as_str()).collect();
    assert_eq!(purposes, ["result", "result", "result", "condition", "search"], "no range is about y");
    let count = |value: &Value| value.as_u64().unwrap();
    assert!(count(&explain["run"]["cells"]) <= count(&explain["cells"]));
    assert!(count(&explain["run"]["chunks"]) <= count(&explain["chunks"]), "{explain}");
    assert!(count(&explain["run"]["copied"]) > 0, "cells of a tile that is cut are moved: {explain}");
    assert!(explain["run"]["microseconds"]["total"].is_u64());
    let outcome = tdb(&[&asked[..], &["--run"]].concat());
    assert!(outcome.out.contains("statistics rule out 14\n"), "{}", outcome.out);
    assert!(
        outcome.out.contains("for the condition\n") && outcome.out.contains("\nrun: "),
        "{}",
        outcome.out
    );
    let outcome = tdb(&["explain", text(&array), "--where", "a > 'x'"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.err.contains("column 5"), "{}", outcome.err);
}

#[test]
fn dates_are_dates_in_results_and_in_ranges() {
    let id = "2.30.0/sparse_dim_datetime_day";
    let expected = "\
x                    a
----------  ----------
1973-04-11         -30
1976-01-15  1604529785
";
    assert_eq!(read(id, &["--order", "row", "--range", "x=1972-01-01:1976-01-15"]), expected);
    assert_eq!(read(id, &["--order", "row", "--range", "x=1972-01-01..1976-01-15"]), expected);
    assert_usage(id, &["--range", "x=yesterday"], "\"yesterday\" is neither a date");
}

#[test]
fn csv_quotes_lists_and_leaves_nulls_empty() {
    let expected = "x,i,m,s,k\n13,-32,\"[-0.0, 513.7969]\",,184\n";
    assert_eq!(read(NULLS, &["--order", "row", "--limit", "1", "--format", "csv"]), expected);
    let fields = read(PLANE, &["--fields", "a", "--subarray", "1,1:2", "--format", "csv"]);
    assert_eq!(fields, "a\n-2147483648\n-38\n");
}

#[test]
fn json_is_one_object_of_columns() {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let dense = parse(&read(PLANE, &["--subarray", "1,1:2", "--format", "json"]));
    let expected =
        json!({"cells": 2, "shape": [1, 2], "fields": {"a": [-2147483648, -38], "s": ["tile", "~"]}});
    assert_eq!(dense, expected);
    let sparse = parse(&read(NULLS, &["--order", "row", "--limit", "1", "--format", "json"]));
    assert_eq!(sparse["fields"]["s"], json!([null]));
    assert_eq!(sparse["fields"]["m"], json!([[-0.0, 513.7969]]));
    assert_eq!(sparse["shape"], Value::Null);
}

#[test]
fn raw_buffers_have_a_manifest() {
    let scratch = Scratch::new();
    let folder = scratch.path().join("new/folder");
    let out = text(&folder);
    assert_eq!(read(PLANE, &["--subarray", "1:2,:3", "--at", "1000", "--format", "raw", "--out", out]), "");
    let manifest = json_file(&folder.join("manifest.json"));
    assert_eq!(manifest["shape"], json!([2, 3]));
    assert_eq!(manifest["order"], "row-major");
    assert_eq!(manifest["subarray"], json!([[1, 2], [1, 3]]));
    assert_eq!(manifest["timestamps"], json!([0, 1000]));
    let field = json!({"name": "a", "datatype": "INT32", "cell_val_num": 1, "nullable": false, "data": "a.data",
        "offsets": null, "validity": null, "bytes": 24});
    assert_eq!(manifest["fields"][0], field);
    assert_eq!(manifest["fields"][1]["cell_val_num"], "var");
    let offsets = std::fs::read(folder.join("s.offsets")).unwrap();
    assert_eq!(offsets.len(), 6 * 8, "one offset a cell, no extra one");
    assert_usage(PLANE, &["--format", "raw"], "--out DIR is needed");
}

#[test]
fn out_writes_a_file() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cells.csv");
    let args = ["--fields", "a", "--subarray", "1,1:2", "--format", "csv", "--out", text(&path)];
    assert_eq!(read(PLANE, &args), "");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\n-2147483648\n-38\n");
}

#[test]
fn mistakes_on_the_command_line_are_exit_code_2() {
    assert_usage(PLANE, &["--fields", "nope"], "no field \"nope\"");
    assert_usage(PLANE, &["--range", "nope=1"], "does not begin with a dimension");
    assert_usage(PLANE, &["--range", "x=5:2"], "5 is after 2");
    assert_usage(PLANE, &["--range", "x=a"], "not an integer");
    assert_usage(PLANE, &["--subarray", "1"], "1 ranges for 2 dimensions");
    assert_usage(PLANE, &["--at", "soon"], "neither a number of milliseconds nor a date");
    assert_usage(PLANE, &["--order", "zigzag"], "zigzag");
    assert_eq!(tdb(&[]).code, 2);
}

#[test]
fn help_goes_to_standard_output_and_has_examples() {
    for command in ["info", "read", "dump", "verify", "group", "meta", "log"] {
        let outcome = tdb(&[command, "--help"]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{command}");
        assert!(outcome.out.contains("Examples:"), "{command}");
    }
    assert!(tdb(&["--version"]).out.starts_with("tdb "));
}

#[test]
fn earlier_times_show_earlier_cells() {
    let count =
        |args: &[&str]| read("2.30.0/base_sparse", &[args, &["--format", "csv"]].concat()).lines().count();
    let (at_10, at_20) = (count(&["--at", "10"]), count(&["--at", "1970-01-01T00:00:00.020"]));
    assert!(1 < at_10 && at_10 < at_20, "{at_10} and {at_20}");
    assert_eq!(count(&["--between", "0,10"]), at_10);
    assert_eq!(count(&["--at", "9"]), 1);
}

#[test]
fn info_shows_what_the_array_is() {
    let text_of = |id: &str| tdb(&["info", text(&fixture(id))]).out;
    let info = text_of("2.30.0/base_sparse");
    for part in [
        "sparse",
        "format version",
        "22",
        "zstd(level 3)",
        "1..50",
        "STRING_ASCII",
        "1970-01-01T00:00:00.010Z",
    ] {
        assert!(info.contains(part), "{part} is not in\n{info}");
    }
    assert!(text_of("2.30.0/enumeration").contains("apple, fig, kiwi"));
    assert!(text_of("2.30.0/current_domain_sparse").contains("current domain"));
    assert!(text_of("2.30.0/meta_types").contains("k15_datetime_day  DATETIME_DAY  1969-11-12"));
    assert!(text_of("1.7.7/base_sparse").contains("lock file"));
}

#[test]
fn dump_explains_every_byte_of_a_schema() {
    let path = files(&fixture("2.30.0/enumeration"));
    let path = path.iter().find(|path| text(path).contains("__schema/__1_1")).unwrap();
    let outcome = tdb(&["dump", text(path)]);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    for part in [
        "generic tile at offset 0",
        "payload of the generic tile",
        "dimension datatype",
        "0 (INT32)",
        "\"fruit\"",
    ] {
        assert!(outcome.out.contains(part), "{part} is not in\n{}", outcome.out);
    }
    let dump: Value = serde_json::from_str(&tdb(&["dump", text(path), "--json"]).out).unwrap();
    for block in dump["blocks"].as_array().unwrap() {
        let mut end = 0;
        for field in block["fields"].as_array().unwrap() {
            assert_eq!(field["offset"], end, "{field} in {}", block["title"]);
            end += field["length"].as_u64().unwrap();
        }
    }
}

#[test]
fn dump_explains_every_file_of_every_base_fixture() {
    let mut kinds = 0;
    for entry in manifest() {
        let id = entry["id"].as_str().unwrap();
        let shown = ["base", "commits", "fragment_meta", "meta_", "upgraded", "enum"];
        if !shown.iter().any(|part| id.contains(part)) || crate::common::has_tag(&entry, &["encrypted"]) {
            continue;
        }
        for file in files(&fixture(id)) {
            let outcome = tdb(&["dump", text(&file)]);
            assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{}", file.display());
            kinds += 1;
        }
    }
    assert!(kinds > 100, "only {kinds} files");
}

#[test]
fn a_file_that_stands_alone_needs_its_kind() {
    let scratch = Scratch::new();
    let path = scratch.path().join("stray");
    let schema = files(&fixture(PLANE)).into_iter().find(|path| text(path).contains("__schema")).unwrap();
    std::fs::copy(schema, &path).unwrap();
    // A generic tile can be recognized by its contents, but not what is in it.
    let outcome = tdb(&["dump", text(&path)]);
    assert!(outcome.code == 0 && !outcome.out.contains("array type"), "{}", outcome.out);
    assert!(tdb(&["dump", text(&path), "--kind", "schema"]).out.contains("array type"));
    let data = scratch.path().join("a0.tdb");
    std::fs::copy(file_named(&fixture(PLANE), "a0.tdb"), &data).unwrap();
    assert!(tdb(&["dump", text(&data)]).out.contains("chunk original length"));
}

#[test]
fn the_binary_itself_exits_as_it_should() {
    let tdb = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_tdb")).args(args).output().unwrap();
    let good = tdb(&["verify", text(&fixture(PLANE))]);
    assert!(good.status.success() && good.stdout.starts_with(b"ok: "), "{good:?}");
    assert_eq!(tdb(&["info", "/no/such/array"]).status.code(), Some(1));
    assert_eq!(tdb(&["info"]).status.code(), Some(2));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tdb"))
        .args(["dump", text(&file_named(&fixture("2.30.0/many_attrs"), "__fragment_metadata.tdb"))])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // More output than a pipe can buffer, and nobody reads it.
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}
