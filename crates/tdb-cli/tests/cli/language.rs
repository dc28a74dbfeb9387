//! Words that are the same in all commands: formats, endings, aggregates, groups, conditions.

use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::{WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::common::{Scratch, fixture, refused, said, sparse, tdb, text};

/// Four flights: the airport, the delay (null for the last one), and a note that is older than one
/// fragment.
fn flights(scratch: &Scratch) -> PathBuf {
    let (table, array) = (scratch.path().join("flights.csv"), scratch.path().join("flights"));
    fs::write(&table, "k,name,delay\n1,JFK,3\n2,JFX,1\n3,LGA,-4\n4,JFK,\n").unwrap();
    said(&["import", text(&array), text(&table), "--dims", "k"]);
    array
}

/// The keys of the flights that satisfy a condition.
fn keys(array: &Path, condition: &str) -> Vec<String> {
    let lines = said(&["read", text(array), "--fields", "k", "--where", condition, "--format", "csv"]);
    lines.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn text_is_like_a_pattern() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    for (condition, expected) in [
        ("name like 'JF%'", &["1", "2", "4"][..]),
        ("name not like 'JF%'", &["3"]),
        ("not name like 'JF%'", &["3"]),
        ("name like '%A'", &["3"]),
        ("name like 'J_K'", &["1", "4"]),
        ("name like 'jf%'", &[]),
        ("name like '%'", &["1", "2", "3", "4"]),
        ("name like 'LGA' or delay > 2", &["1", "3"]),
    ] {
        assert_eq!(keys(&array, condition), expected, "{condition}");
    }
    refused(&["read", text(&array), "--where", "delay like '3'"], 2, "only text can be like a pattern");
    refused(&["read", text(&array), "--where", "name like 3"], 2, "a pattern in quotes, such as 'JF%'");
}

#[test]
fn values_of_enumerations_and_padded_texts_are_like_a_pattern() {
    let scratch = Scratch::new();
    let array = scratch.path().join("coloured");
    sparse(&array);
    let count = |array: &Path, condition: &str| {
        let args = ["read", text(array), "--where", condition, "--aggregate", "count", "--format", "csv"];
        said(&args).lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(count(&array, "c like 're%'"), "5");
    assert_eq!(count(&array, "c not like 're%'"), "5");
    assert_eq!(count(&array, "c like '%e%'"), "10");
    assert_eq!(count(&array, "c like 'x%'"), "0");

    let fixed = scratch.path().join("fixed");
    let three = CellValNum::from_code(3).unwrap();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=9))
        .attribute(Attribute::new("s", Datatype::StringAscii, three))
        .build()
        .unwrap();
    WriteOptions::new().create(&fixed, &schema).unwrap();
    let writer = WriteOptions::new().open(&fixed).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &[0i32, 1, 2]));
    write.column(WriteColumn::fixed("s", b"ab\0abcb\0\0")).commit().unwrap();
    for (condition, expected) in
        [("s like '_b'", "1"), ("s like 'ab%'", "2"), ("s like '_'", "1"), ("s like ''", "0")]
    {
        assert_eq!(count(&fixed, condition), expected, "{condition}");
    }
}

#[test]
fn a_number_between_two_integers_is_compared_with_integers_as_what_it_is() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    for (condition, expected) in [
        ("delay > 1.5", &["1"][..]),
        ("delay >= 2.5", &["1"]),
        ("delay < 1.5", &["2", "3"]),
        ("delay <= -3.5", &["3"]),
        ("delay = 1.5", &[]),
        ("delay != 1.5", &["1", "2", "3"]),
        ("delay in (1.5, 3)", &["1"]),
        ("not delay > 1.5", &["2", "3"]),
        ("k between 1.5 and 3.5", &["2", "3"]),
        ("k > 3.0", &["4"]),
    ] {
        assert_eq!(keys(&array, condition), expected, "{condition}");
    }
    refused(&["read", text(&array), "--where", "delay > 1e300"], 2, "is of type INT64, but 1e300 is not");
}

#[test]
fn deletes_take_prefixes_and_numbers_between_integers() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    refused(&["delete", text(&array), "--where", "name like '%A'"], 2, "unless % is at its end");
    let deleted = said(&["delete", text(&array), "--where", "name like 'JF%' and k > 1.5"]);
    assert!(deleted.starts_with("2 of 4 cells deleted by "), "{deleted}");
    assert_eq!(keys(&array, "k > 0"), ["1", "3"]);
    let log = said(&["log", text(&array)]);
    assert!(log.contains("delete where (name >= JF and name < JG) and k > 1"), "{log}");
    let coloured = scratch.path().join("coloured");
    sparse(&coloured);
    refused(&["delete", text(&coloured), "--where", "c like 'x%'"], 2, "has no value like 'x%'");
    refused(&["delete", text(&coloured), "--where", "c not like 'x%'"], 2, "has no value like 'x%'");
    said(&["delete", text(&coloured), "--where", "c like 'gr%'"]);
    assert!(said(&["read", text(&coloured), "--aggregate", "count"]).ends_with(" 5\n"));
    // Both values: a set of codes.
    said(&["delete", text(&coloured), "--where", "c like '%e%'"]);
    assert!(said(&["read", text(&coloured), "--aggregate", "count"]).ends_with(" 0\n"));
}

#[test]
fn the_ending_of_a_name_is_the_format() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    for (name, format) in [
        ("a.csv", "csv"),
        ("a.TSV", "tsv"),
        ("a.json", "json"),
        ("a.ndjson", "ndjson"),
        ("a.jsonl", "ndjson"),
        ("a.txt", "table"),
    ] {
        let out = scratch.path().join(name);
        let expected = said(&["read", text(&array), "--format", format]);
        assert_eq!(said(&["read", text(&array), "--out", text(&out)]), "");
        assert_eq!(fs::read_to_string(&out).unwrap(), expected, "{name}");
        if format == "table" {
            continue;
        }
        said(&["export", text(&array), text(&out), "--force"]);
        assert_eq!(fs::read_to_string(&out).unwrap(), expected, "export {name}");
    }
    assert_eq!(said(&["read", text(&array), "--format", "tsv"]).lines().nth(1), Some("1\tJFK\t3"));
    let (out, other) = (scratch.path().join("b.csv"), scratch.path().join("b.parquet"));
    said(&["read", text(&array), "--format", "json", "--out", text(&out)]);
    assert!(fs::read_to_string(&out).unwrap().starts_with("{\"cells\":4"), "--format is stronger");
    refused(&["read", text(&array), "--out", text(&other), "--limit", "2"], 2, "--limit does not go with");
    refused(&["export", text(&array), text(&out), "--as-stored"], 2, "--as-stored does not go with a text");
}

#[cfg(feature = "convert")]
#[test]
fn a_parquet_file_is_written_by_read_as_by_export() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    let (read, exported) = (scratch.path().join("read.parquet"), scratch.path().join("export.parquet"));
    said(&["read", text(&array), "--out", text(&read), "--where", "k > 1"]);
    said(&["export", text(&array), text(&exported), "--where", "k > 1"]);
    assert!(fs::read(&read).unwrap() == fs::read(&exported).unwrap());
}

#[test]
fn avg_is_the_mean_and_orders_have_both_names() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    let args = ["read", text(&array), "--aggregate", "avg(delay), AVG(k)", "--format", "csv"];
    assert_eq!(said(&args), "mean(delay),mean(k)\n0.0,2.5\n");
    let tsv = ["read", text(&array), "--aggregate", "count, max(name)", "--format", "tsv"];
    assert_eq!(said(&tsv), "count\tmax(name)\n4\tLGA\n");
    for (one, other) in [("row", "row-major"), ("col", "col-major")] {
        let read = |order| said(&["read", text(&array), "--order", order, "--format", "csv"]);
        assert_eq!(read(one), read(other));
    }
}

#[test]
fn cells_are_grouped_by_fields() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    let read = |args: &[&str]| said(&[&["read", text(&array)], args].concat());
    let grouped = read(&["--group-by", "name", "--aggregate", "count,sum(delay)", "--format", "csv"]);
    let mut lines: Vec<&str> = grouped.lines().collect();
    lines[1..].sort_unstable();
    assert_eq!(lines, ["name,count,sum(delay)", "JFK,2,3", "JFX,1,1", "LGA,1,-4"]);
    let distinct = read(&["--group-by", "name", "--where", "delay < 2", "--format", "tsv"]);
    let mut lines: Vec<&str> = distinct.lines().collect();
    lines[1..].sort_unstable();
    assert_eq!(lines, ["name", "JFX", "LGA"]);
    let one = ["--group-by", "name,delay", "--aggregate", "max(k)", "--where", "k = 4"];
    assert_eq!(
        read(&[&one[..], &["--format", "json"]].concat()),
        "{\"cells\":1,\"shape\":null,\"fields\":{\"name\":[\"JFK\"],\"delay\":[null],\"max(k)\":[4]}}\n"
    );
    assert_eq!(
        read(&[&one[..], &["--format", "ndjson"]].concat()),
        "{\"name\":\"JFK\",\"delay\":null,\"max(k)\":4}\n"
    );
    assert_eq!(read(&one), "name  delay  max(k)\n----  -----  ------\nJFK    null       4\n");
    let out = scratch.path().join("groups.csv");
    read(&["--group-by", "name", "--out", text(&out)]);
    assert!(fs::read_to_string(&out).unwrap().starts_with("name\n"));
}

#[test]
fn groups_that_cannot_be_made_are_refused_by_name() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    let refused = |args: &[&str], part| refused(&[&["read", text(&array)], args].concat(), 2, part);
    refused(&["--group-by", "nam"], "did you mean \"name\"?");
    refused(&["--group-by", "name", "--format", "raw"], "--group-by can be printed as");
    let outcome = tdb(&["read", text(&array), "--group-by", "name", "--limit", "1"]);
    assert!(outcome.code == 2 && outcome.err.contains("--limit"), "{}", outcome.err);
    let dense = fixture("2.30.0/quickstart");
    let outcome = tdb(&["read", text(&dense), "--group-by", "rows"]);
    assert!(
        outcome.code == 2 && outcome.err.contains("tdb sql groups the cells of a dense one"),
        "{}",
        outcome.err
    );
}

#[test]
fn enumerations_are_grouped_by_their_values() {
    let scratch = Scratch::new();
    sparse(scratch.path());
    let read = |more: &[&str]| {
        let args =
            ["read", text(scratch.path()), "--group-by", "c", "--aggregate", "count", "--format", "csv"];
        said(&[&args[..], more].concat())
    };
    assert_eq!(read(&[]), "c,count\nred,5\ngreen,5\n");
    assert_eq!(read(&["--codes"]), "c,count\n0,5\n1,5\n");
}

#[test]
fn texts_of_rows_that_are_older_than_their_column_are_empty() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    said(&["evolve", text(&array), "--add", "note:string"]);
    let csv = said(&["read", text(&array), "--fields", "note", "--where", "k < 3", "--format", "csv"]);
    assert_eq!(csv, "note\n\"\"\n\"\"\n");
    let table = said(&["read", text(&array), "--fields", "note", "--where", "k = 1"]);
    assert!(table.ends_with("1  \"\"\n"), "{table}");
    let json = said(&["read", text(&array), "--fields", "note", "--where", "k = 1", "--format", "ndjson"]);
    assert_eq!(json, "{\"note\":\"\"}\n");
}

#[test]
fn blanks_around_the_names_of_fields_do_not_count() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    let read = |names| said(&["read", text(&array), "--fields", names, "--format", "csv"]);
    assert_eq!(read("k, name"), read("k,name"));
    refused(&["read", text(&array), "--fields", "k, nam"], 2, "did you mean \"name\"?");
    said(&["evolve", text(&array), "--add", "wind=float32?", "--add", "rain:float32"]);
    assert_eq!(read("wind , rain"), read("wind,rain"));
}

#[test]
fn aggregates_have_statistics() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    for args in [&["--aggregate", "sum(delay)"][..], &["--group-by", "name"]] {
        let outcome = tdb(&[&["read", text(&array), "--stats"], args].concat());
        assert!(outcome.code == 0 && outcome.err.starts_with("read: "), "{args:?}: {}", outcome.err);
    }
}

#[test]
fn several_files_are_dumped_one_after_the_other() {
    let scratch = Scratch::new();
    let array = flights(&scratch);
    said(&["evolve", text(&array), "--add", "note=string"]);
    let mut files: Vec<PathBuf> =
        fs::read_dir(array.join("__schema")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    let [first, second] = [0, 1].map(|at| text(&files[at]));
    let both = said(&["dump", first, second]);
    let expected = format!("{first}:\n{}\n{second}:\n{}", said(&["dump", first]), said(&["dump", second]));
    assert_eq!(both, expected);
    let json: serde_json::Value = serde_json::from_str(&said(&["dump", first, second, "--json"])).unwrap();
    assert_eq!((&json[0]["file"], &json[1]["kind"]), (&first.into(), &"schema".into()));
    refused(&["dump", "/no/such/file", first], 1, "/no/such/file");
}

#[test]
fn browse_is_known_in_every_build() {
    assert!(said(&["browse", "--help"]).contains("Look around in arrays, groups and folders"));
    if !cfg!(feature = "browse") {
        let refused = tdb(&["browse"]);
        crate::common::assert_fails(
            &refused,
            &["the feature browse", "cargo install tdb-cli --features browse"],
        );
    }
}
