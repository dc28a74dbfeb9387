//! `tdb import` of text as it is: nulls, headers, comments, dates.

use serde_json::json;

use crate::common::{Scratch, refused, said, schema_json, tdb, text};
use crate::import::{csv, file};

/// Imports a table as new array, and prints the array.
fn imported(name: &str, content: &str, options: &[&str]) -> String {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, name, content), scratch.path().join("array"));
    said(&[&["import", text(&array), text(&table)], options].concat());
    csv(text(&array))
}

/// The only note of an import.
fn note(content: &str, options: &[&str]) -> String {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t.csv", content), scratch.path().join("array"));
    let outcome = tdb(&[&["import", text(&array), text(&table)], options].concat());
    assert_eq!((outcome.code, outcome.err.lines().count()), (0, 1), "{}", outcome.err);
    outcome.err
}

#[test]
fn words_for_null_are_null_if_the_command_says_so_and_are_offered_if_not() {
    let table = "x,t\n1,5\n2,NA\n3,\"NA\"\n4,-\n";
    let numbers = ["--null", "NA", "--null", "-", "--null", "\"NA\"", "--types", "t=int8"];
    assert_eq!(imported("t.csv", table, &numbers), "row,x,t\n0,1,5\n1,2,\n2,3,\n3,4,\n");
    let words = ["--null", "NA", "--types", "t=string"];
    assert_eq!(imported("t.csv", table, &words), "row,x,t\n0,1,5\n1,2,\n2,3,NA\n3,4,-\n");
    let told = note("x,t\n1,5\n2,NA\n3,-\n", &[]);
    assert!(told.ends_with(
        "column \"t\" becomes text: it has NA (line 3): --null NA --null - makes such cells null \
         (--force imports anew)\n"
    ));
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t.csv", table), scratch.path().join("array"));
    let import = ["import", text(&array), text(&table)];
    let why = "line 3, column \"t\": \"NA\" is not an integer; --null NA makes such cells null";
    refused(&[&import[..], &["--types", "t=int32"]].concat(), 1, why);
    let json = "{\"a\":\"NA\",\"b\":-999}\n{\"a\":1.5,\"b\":1}\n";
    let nulls = ["--null", "NA", "--null", "-999"];
    assert_eq!(imported("t.ndjson", json, &nulls), "row,a,b\n0,,\n1,1.5,1\n");
    // An array that exists takes them, too.
    let outcome = tdb(&[&import[..], &["--null", "NA", "--null", "-", "--dry-run"]].concat());
    assert!(
        outcome.err.contains("it has NA (line 4): --null '\"NA\"' makes such cells null"),
        "{}",
        outcome.err
    );
    said(&[&import[..], &["--null", "NA", "--null", "-", "--null", "\"NA\""]].concat());
    let more = file(&scratch, "more.csv", "x,t\n9,NA\n");
    refused(&["import", text(&array), text(&more)], 1, "--null NA makes such cells null");
    said(&["import", text(&array), text(&more), "--null", "NA"]);
    assert!(csv(text(&array)).ends_with("4,9,\n"));
}

#[test]
fn a_file_may_have_no_header_other_names_comments_and_lines_before_it() {
    let expected = "row,a,b\n0,1,x\n1,2,y\n";
    let names = ["--names", "a,b"];
    assert_eq!(imported("t.csv", "1,x\n2,y\n", &[&["--header", "no"], &names[..]].concat()), expected);
    assert_eq!(imported("t.csv", "p,q\n1,x\n2,y\n", &[&["--header", "yes"], &names[..]].concat()), expected);
    assert_eq!(
        imported("t.csv", "1,x\n2,y\n", &["--header", "no"]),
        expected.replace("a,b", "column1,column2")
    );
    let text = "About, this, file\n\"\n\n# made today\na,b\n1,x\n\n# so far\n2,y\n\n";
    assert_eq!(imported("t.csv", text, &["--skip", "2", "--comment", "#"]), expected);
    assert_eq!(imported("t.csv", "a,b\n1,'x'\n2,y\n", &["--quote", "'"]), expected);
    assert_eq!(
        imported("t.csv", "a,b\n1,\"x\n2,y\n", &["--quote", "none"]),
        expected.replace('x', "\"\"\"x\"")
    );
    assert_eq!(imported("t.csv", "a,n,b\n1,5,x\n2,6,y\n", &["--columns", "b,a"]), expected);
    assert_eq!(imported("t.csv", "a,n,b\n1,5,x\n2,6,y\n", &["--drop", "n"]), expected);
    let json = "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"c\":[1],\"b\":\"y\"}\n";
    assert_eq!(imported("t.ndjson", json, &["--columns", "a,b"]), expected);
}

#[test]
fn a_long_file_is_read_with_the_same_rules_in_every_part() {
    let scratch = Scratch::new();
    let row = |row: u64| match row % 3 {
        0 => format!("{row},NA,\"a\nb\"\n"),
        1 => format!("\n#{row}\n{row},{row},x\n"),
        _ => format!("{row},{row},x\n"),
    };
    let rows = 400_000u64;
    let long: String = (0..rows).map(row).collect();
    let (table, array) = (file(&scratch, "t.csv", long), scratch.path().join("array"));
    let options = ["--header", "no", "--names", "k,v,w", "--drop", "w", "--null", "NA", "--comment", "#"];
    said(&[&["import", text(&array), text(&table)], &options[..]].concat());
    let found =
        said(&["read", text(&array), "--aggregate", "count, sum(k), sum(v), max(row)", "--format", "csv"]);
    let sum: u64 = (0..rows).sum();
    let values: u64 = (0..rows).filter(|row| row % 3 != 0).sum();
    let last = rows - 1;
    assert_eq!(found.lines().nth(1), Some(format!("{rows},{sum},{values},{last}").as_str()), "{found}");
}

#[test]
fn options_that_a_file_has_no_use_for_are_refused() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let (table, objects) = (file(&scratch, "t.csv", "a,b\n1,2\n"), file(&scratch, "t.ndjson", "{\"a\":1}\n"));
    let npy = file(&scratch, "t.npy", "");
    for (source, options, why) in [
        (&table, &["--columns", "c"][..], "--columns: there is no column \"c\" (there are a, b)"),
        (&table, &["--drop", "a,c"], "--drop: there is no column \"c\""),
        (&table, &["--names", "x,y"], "--header"),
        (&table, &["--names", "x", "--header", "yes"], "--names: there are 1 names for 2 columns"),
        (&table, &["--names", "x,x", "--header", "yes"], "--names: \"x\" is there twice"),
        (&table, &["--quote", ","], "the same character"),
        (&table, &["--date-format", "c=%F"], "--date-format: there is no column \"c\""),
        (&table, &["--date-format", "%F"], "no column has only cells that are written so"),
        (&table, &["--date-format", "%Q"], "%Q is not known"),
        (&objects, &["--header", "no"], "--header is only for CSV files"),
        (&objects, &["--skip", "1"], "--skip is only for CSV files"),
        (&npy, &["--null", "1"], "--null is not for NPY files"),
        (&npy, &["--columns", "a"], "--columns is not for NPY files"),
    ] {
        let outcome = tdb(&[&["import", text(&array), text(source)], options].concat());
        assert!(outcome.code != 0 && outcome.err.contains(why), "{options:?}: {}", outcome.err);
        assert!(!array.exists());
    }
}

#[test]
fn times_are_recognised_with_their_unit_and_their_zone() {
    let scratch = Scratch::new();
    let content = "x,us,z,o,m\n1,2024-03-31T01:30:00.123456,2024-03-31T01:30:00Z,2024-03-31 01:30:00+02:00,2024-03-31 01:30:00+01:00\n\
                   2,2024-03-31,2024-03-31 01:30:00+00:00,2024-04-01 01:30:00+0200,2024-03-31 03:30:00+02:00\n";
    let (table, array) = (file(&scratch, "t.csv", content), scratch.path().join("array"));
    let outcome = tdb(&["import", text(&array), text(&table), "--dims", "z"]);
    assert!(outcome.err.contains("coordinates"), "{}", outcome.err);
    let outcome = tdb(&["import", text(&array), text(&table), "--dims", "o"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    assert_eq!(
        csv(text(&array)),
        "o,x,us,z,m\n\
         2024-03-30T23:30:00.000,1,2024-03-31T01:30:00.123456,2024-03-31T01:30:00.000,2024-03-31T00:30:00.000\n\
         2024-03-31T23:30:00.000,2,2024-03-31T00:00:00.000000,2024-03-31T01:30:00.000,2024-03-31T01:30:00.000\n"
    );
    let meta = |key: &str| said(&["meta", "get", text(&array), key]);
    assert!(meta("__tiledb_dim.o.timezone").contains("+02:00"));
    assert!(meta("__tiledb_attr.z.timezone").contains("UTC"));
    assert!(meta("__tiledb_attr.m.timezone").contains("UTC"));
    assert!(!said(&["meta", text(&array)]).contains("us.timezone"));
}

#[test]
fn dates_and_times_of_day_in_other_notations_are_read_if_the_command_says_how() {
    let expected = "row,d,t\n0,2012-01-31,45000\n1,2012-02-01,\n";
    let table = "d,t\n31/01/2012,12:30:00\n01/02/2012,\n";
    let dates = ["--date-format", "%d/%m/%Y"];
    assert_eq!(imported("t.csv", table, &[&dates[..], &["--types", "t=time_sec"]].concat()), expected);
    assert_eq!(imported("t.csv", table, &[&dates[..], &["--date-format", "t=%H:%M:%S"]].concat()), expected);
    let told = note("d\n2012/01/31\n", &[]);
    assert!(told.contains("its dates are not in ISO 8601: --date-format 'd=%Y/%m/%d' reads them"), "{told}");
    let told = note("d\n12:30:00\n", &[]);
    assert!(told.contains("it has times of day: --types 'd=time_sec' stores them as numbers"), "{told}");
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t.csv", "d,s\n2012-01-31,x\n"), scratch.path().join("array"));
    said(&["import", text(&array), text(&table)]);
    let more = file(&scratch, "more.csv", "d,s\n20120201,y\n");
    said(&["import", text(&array), text(&more), "--date-format", "%Y%m%d"]);
    assert_eq!(csv(text(&array)), "row,d,s\n0,2012-01-31,x\n1,2012-02-01,y\n");
    let bad = file(&scratch, "bad.csv", "d,s\n2012021,y\n");
    refused(
        &["import", text(&array), text(&bad), "--date-format", "d=%Y%m%d"],
        1,
        "is not written as %Y%m%d",
    );
    refused(&["import", text(&array), text(&bad), "--date-format", "s=%Y%m%d"], 1, "this field has no dates");
}

#[test]
fn a_type_may_be_nullable_by_wish() {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t.csv", "k,v\n1,2\n"), scratch.path().join("array"));
    said(&["import", text(&array), text(&table), "--types", "v=int64?"]);
    assert_eq!(schema_json(&array)["attributes"][1]["nullable"], json!(true));
    let more = file(&scratch, "more.csv", "k,v\n3,\n");
    said(&["import", text(&array), text(&more)]);
    assert_eq!(csv(text(&array)), "row,k,v\n0,1,2\n1,3,\n");
}

#[test]
fn a_list_of_objects_is_a_table_wherever_its_lines_end() {
    let expected = "row,a,b\n0,1,x\n1,2,\n";
    for json in [
        "[{\"a\":1,\"b\":\"x\"},{\"a\":2}]",
        "[\n  {\n    \"a\": 1,\n    \"b\": \"x\"\n  },\n  {\n    \"a\": 2\n  }\n]\n",
        "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n",
        "{\"a\":1,\n\"b\":\"x\"} {\"a\":2,\"b\":null}",
    ] {
        assert_eq!(imported("t.json", json, &[]), expected, "{json}");
    }
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    for (name, json, why) in [
        ("t.json", "[{\"a\":1},\n{\"a\":2}", "line 2: the file ends inside of an object or a list"),
        ("t.json", "[{\"a\":1},\n\n{\"a\" 2}]", "line 3: an object in JSON is expected"),
        ("t.json", "[{\"a\":1}\n{\"a\":2}]", "line 2: an object in JSON is expected"),
        ("t.json", "[1,2]", "line 1: an object in JSON is expected"),
        ("t.ndjson", "[{\"a\":1}]\n", "--format json reads a list of objects"),
    ] {
        refused(&["import", text(&array), text(&file(&scratch, name, json))], 1, why);
    }
}

#[test]
fn a_long_list_of_objects_is_read_in_parts() {
    let scratch = Scratch::new();
    let rows = 300_000u64;
    let objects: Vec<String> =
        (0..rows).map(|row| format!("{{\n\"k\": {row},\n \"t\": \"{{[\\\"\"}}")).collect();
    let table = file(&scratch, "t.json", format!("[{}]", objects.join(",\n")));
    let array = scratch.path().join("array");
    said(&["import", text(&array), text(&table)]);
    let found = said(&["read", text(&array), "--aggregate", "count, sum(k), max(row)", "--format", "csv"]);
    let sum: u64 = (0..rows).sum();
    assert_eq!(found.lines().nth(1), Some(format!("{rows},{sum},{}", rows - 1).as_str()), "{found}");
    let bad = objects.join(",\n") + ",\n\n{\"k\": 1,\n \"k\" 2}";
    let bad = file(&scratch, "bad.json", format!("[{bad}]"));
    let line = rows * 3 + 2 + 1;
    let why = format!("line {line}: an object in JSON is expected");
    refused(&["import", text(&scratch.path().join("bad")), text(&bad)], 1, &why);
}

#[test]
fn a_wrong_delimiter_or_header_is_told() {
    let told = note("a;b\n1;2\n", &[]);
    assert!(
        told.contains("there is one column, \"a;b\": --delimiter ';' says what is between cells"),
        "{told}"
    );
    let told = note("1,2.5,x\n2,3.5,y\n", &[]);
    assert!(
        told.contains("look like cells, such as \"1\": --header no takes the first line as cells"),
        "{told}"
    );
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t.csv", "a;b\n1;2,5\n"), scratch.path().join("array"));
    refused(
        &["import", text(&array), text(&table)],
        1,
        "1 column; --delimiter ';' says what is between cells",
    );
    let (table, bare) = (file(&scratch, "t.csv", "a,b\n1,2\n"), file(&scratch, "bare.csv", "5,2\n1,2\n"));
    said(&["import", text(&array), text(&table)]);
    refused(
        &["import", text(&array), text(&bare)],
        1,
        "--header no and --names say that the first line has cells",
    );
}

#[test]
fn text_may_be_in_another_encoding() {
    let scratch = Scratch::new();
    let table = file(&scratch, "t.csv", b"a,b\n1,caf\xe9\n2,\"\xfc\"\n");
    let array = scratch.path().join("array");
    let import = ["import", text(&array), text(&table)];
    refused(
        &import,
        1,
        "line 2: the text is not valid UTF-8 at byte 6 of the line: --encoding names another",
    );
    said(&[&import[..], &["--encoding", "latin1"]].concat());
    assert_eq!(csv(text(&array)), "row,a,b\n0,1,café\n1,2,ü\n");
    let wide: Vec<u8> = "\u{feff}a\tb\n3\t€\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = file(&scratch, "wide.tsv", wide);
    said(&["import", text(&array), text(&wide), "--encoding", "utf-16le"]);
    assert!(csv(text(&array)).ends_with("2,3,€\n"));
    // Its mark says so, too, in both orders of bytes.
    said(&["import", text(&array), text(&wide)]);
    let other: Vec<u8> = "\u{feff}a,b\n4,$\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    said(&["import", text(&array), text(&file(&scratch, "other.csv", other))]);
    assert!(csv(text(&array)).ends_with("3,3,€\n4,4,$\n"));
    let bad = file(&scratch, "bad.csv", b"a,b\n1,x\n2,\x81\xff\n");
    refused(
        &["import", text(&array), text(&bad), "--encoding", "shift_jis"],
        1,
        "line 3: the bytes are no text in Shift_JIS",
    );
    let outcome = tdb(&["import", text(&array), text(&table), "--encoding", "latin"]);
    assert!(outcome.code == 2 && outcome.err.contains("a name of an encoding is needed"), "{}", outcome.err);
}
