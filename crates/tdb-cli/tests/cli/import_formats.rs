//! `tdb import` of what other programs write.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::common::{Scratch, refused, said, tdb, text};
use crate::import::{csv, file};

#[test]
fn booleans_in_any_case_and_nan_are_what_other_programs_mean_by_them() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let table = file(&scratch, "t.csv", "x,b,f\n1,True,nan\n2,FALSE,1.5\n3,true,-inf\n4,False,NaN\n");
    assert_eq!(said(&["import", text(&array), text(&table), "--dims", "x"]), "4 cells written\n");
    assert_eq!(csv(text(&array)), "x,b,f\n1,true,NaN\n2,false,1.5\n3,true,-inf\n4,false,NaN\n");
    // Into an array that exists, too.
    let more = file(&scratch, "more.csv", "x,b,f\n1,TRUE,NAN\n2,yes,1\n");
    refused(&["import", text(&array), text(&more)], 1, "line 3, column \"b\": \"yes\"");
    let bad = file(&scratch, "bad.csv", "x,a\n1,2\nnan,3\n1.5,4\n");
    let new = scratch.path().join("new");
    refused(&["import", text(&new), text(&bad), "--dims", "x"], 2, "line 3: column \"x\" is nan");
}

#[test]
fn leading_zeros_are_kept_and_a_note_says_so() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let table = file(&scratch, "t.csv", "x,zip\n1,01234\n2,90210\n");
    let import = ["import", text(&array), text(&table), "--dims", "x"];
    let note = "column \"zip\" becomes text, because it has numbers with leading zeros (line 2: 01234)\n";
    for (args, said) in [(&["--dry-run"][..], None), (&[], Some("2 cells written\n"))] {
        let outcome = tdb(&[&import[..], args].concat());
        assert_eq!(outcome.code, 0);
        assert!(outcome.err.starts_with("note: ") && outcome.err.ends_with(note), "{}", outcome.err);
        assert_eq!(outcome.err.lines().count(), 1);
        assert!(said.is_none_or(|said| said == outcome.out));
    }
    assert_eq!(csv(text(&array)), "x,zip\n1,01234\n2,90210\n");
    // An array that exists has said already what it holds.
    let more = file(&scratch, "more.csv", "x,zip\n2,00001\n");
    assert_eq!(said(&["import", text(&array), text(&more)]), "1 cell written\n");
}

#[test]
fn a_line_that_is_not_utf8_is_named() {
    let scratch = Scratch::new();
    let table = file(&scratch, "t.csv", b"x,a\n1,b\n2,\"\n\xe9\"\n");
    let array = scratch.path().join("array");
    let why = "t.csv: line 4: the text is not valid UTF-8 at byte 1 of the line";
    refused(&["import", text(&array), text(&table)], 1, why);
}

#[test]
fn cells_may_be_divided_by_another_character() {
    let scratch = Scratch::new();
    let expected = "x,a\n1,\"b,c\"\n2,\n";
    for (number, (name, content, args)) in [
        ("t.csv", "x;a\n1;b,c\n2;\n", &["--delimiter", ";"][..]),
        ("t.csv", "x\ta\n1\tb,c\n2\t\n", &["--delimiter", "tab"]),
        ("t.tsv", "x\ta\r\n1\tb,c\r\n2\t\r\n", &[]),
        ("t.TAB", "x\ta\n1\tb,c\n2\t\n", &[]),
        ("t.txt", "x\ta\n1\tb,c\n2\t\n", &["--format", "tsv"]),
        ("t.tsv", "x|a\n1|b,c\n2|\n", &["--delimiter", "|"]),
    ]
    .into_iter()
    .enumerate()
    {
        let (table, array) = (file(&scratch, name, content), scratch.path().join(number.to_string()));
        said(&[&["import", text(&array), text(&table), "--dims", "x"], args].concat());
        assert_eq!(csv(text(&array)), expected, "{name} {args:?}");
    }
    let (table, array) = (file(&scratch, "t.csv", "x\n1\n"), scratch.path().join("new"));
    for bad in ["", ";;", "\"", "\n"] {
        let import = ["import", text(&array), text(&table), "--delimiter", bad];
        let outcome = tdb(&import);
        assert_eq!(outcome.code, 2, "{bad:?}: {}", outcome.err);
    }
    let json = file(&scratch, "t.ndjson", "{}\n");
    refused(&["import", text(&array), text(&json), "--delimiter", ";"], 2, "--delimiter is only for CSV");
}

#[test]
fn a_dash_is_standard_input() {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t", "x,a\n1,b\n"), scratch.path().join("array"));
    let import = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.args(["import", text(&array), "-", "--dims", "x"]).args(args);
        command.stdin(File::open(&table).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + str::from_utf8(&output.stderr).unwrap(),
        )
    };
    let (code, said) = import(&[]);
    assert_eq!(
        (code, said.as_str()),
        (
            Some(2),
            "error: standard input: --format csv, tsv, ndjson, json, npy, parquet, arrow, arrows or zarr is needed\n"
        )
    );
    assert_eq!(import(&["--format", "csv"]), (Some(0), "1 cell written\n".to_owned()));
    assert_eq!(csv(text(&array)), "x,a\n1,b\n");
    fs::write(&table, "x,a\n1\n").unwrap();
    let (code, said) = import(&["--format", "csv"]);
    let skip = "; --skip leaves out lines before the header\n";
    assert_eq!(
        (code, said),
        (Some(1), format!("error: standard input: line 2: there is 1 cell for 2 columns{skip}"))
    );
}

#[test]
fn objects_in_json_become_rows() {
    let scratch = Scratch::new();
    let objects = "\
{\"x\":1,\"when\":\"2020-01-01\",\"zip\":\"01234\",\"ok\":true}
{\"x\":2,\"f\":2.5,\"ok\":null,\"zip\":\"1\",\"when\":\"2020-01-02\"}

{\"x\":3,\"f\":\"NaN\",\"zip\":\"\",\"when\":\"2020-01-03\"}
";
    let expected = "x,when,zip,ok,f\n1,2020-01-01,01234,true,\n2,2020-01-02,1,,2.5\n3,2020-01-03,\"\",,NaN\n";
    for name in ["t.ndjson", "t.jsonl"] {
        let (table, array) = (file(&scratch, name, objects), scratch.path().join(format!("of {name}")));
        assert_eq!(said(&["import", text(&array), text(&table), "--dims", "x"]), "3 cells written\n");
        assert_eq!(csv(text(&array)), expected);
    }
    let bad = file(&scratch, "bad.ndjson", "{\"x\":1}\n{\"x\":\n");
    let new = scratch.path().join("new");
    refused(&["import", text(&new), text(&bad)], 1, "bad.ndjson: line 2: an object in JSON is expected");
}

#[test]
#[cfg(all(feature = "gzip", feature = "zstd"))]
fn compressed_files_are_read_as_what_they_contain() {
    use std::io::Write;

    let scratch = Scratch::new();
    let content = b"x,a\n1,b\n2,c\n";
    let gzip = |bytes: &[u8]| {
        let mut file = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        file.write_all(bytes).unwrap();
        file.finish().unwrap()
    };
    // Both formats may have several parts, one after the other.
    let parts = [gzip(&content[..6]), gzip(&content[6..])].concat();
    let frames = [&content[..6], &content[6..]].map(|part| zstd::encode_all(part, 3).unwrap()).concat();
    for (name, bytes) in [("t.csv.gz", &parts), ("t.csv.zst", &frames), ("t.csv", &parts)] {
        let (table, array) = (file(&scratch, name, bytes), scratch.path().join(format!("of {name}")));
        assert_eq!(said(&["import", text(&array), text(&table), "--dims", "x"]), "2 cells written\n");
        assert_eq!(csv(text(&array)), "x,a\n1,b\n2,c\n", "{name}");
    }
    let new = scratch.path().join("new");
    for (name, bytes) in [("cut.csv.gz", &parts), ("cut.csv.zst", &frames)] {
        let cut = file(&scratch, name, &bytes[..bytes.len() - 3]);
        let outcome = tdb(&["import", text(&new), text(&cut), "--dims", "x"]);
        assert_eq!(outcome.code, 1, "{name}");
        assert!(outcome.err.contains(name) && outcome.err.contains("line "), "{}", outcome.err);
        assert!(!new.exists());
    }
}
