//! `tdb import` of several files, of patterns and of URLs.

use serde_json::json;

use crate::common::{Scratch, refused, said, schema_json, tdb, text};
use crate::import::{csv, file};

#[test]
fn several_files_become_one_array_whose_rows_are_numbered_through() {
    let scratch = Scratch::new();
    let (one, two) =
        (file(&scratch, "n1.csv", "a,b\n1,x\n2,y\n"), file(&scratch, "n2.csv", "b,a\nz,3\n,4\n"));
    let array = scratch.path().join("array");
    assert_eq!(said(&["import", text(&array), text(&one), text(&two)]), "4 cells written\n");
    assert_eq!(csv(text(&array)), "row,a,b\n0,1,x\n1,2,y\n2,3,z\n3,4,\n");
    // The first file has no gap, but the second one has.
    assert_eq!(schema_json(&array)["attributes"][1]["nullable"], json!(true));
    assert_eq!(schema_json(&array)["attributes"][0]["nullable"], json!(false));
    let pattern = scratch.path().join("n*.csv");
    said(&["import", text(&array), text(&pattern)]);
    assert_eq!(csv(text(&array)).lines().skip(5).collect::<Vec<_>>(), ["4,1,x", "5,2,y", "6,3,z", "7,4,"]);
    let reals = file(&scratch, "n3.csv", "a,b\n1.5,x\n");
    let other = scratch.path().join("other");
    said(&["import", text(&other), text(&one), text(&reals)]);
    assert_eq!(csv(text(&other)), "row,a,b\n0,1.0,x\n1,2.0,y\n2,1.5,x\n");
}

#[test]
fn what_is_wrong_with_one_of_several_files_is_said_with_its_name() {
    let scratch = Scratch::new();
    let one = file(&scratch, "n1.csv", "a,b\n1,x\n");
    let array = scratch.path().join("array");
    for (name, content, options, why) in [
        ("bad.csv", "a,b\n2\n", &[][..], "bad.csv: line 2: there is 1 cell for 2 columns"),
        (
            "bad.csv",
            "a,b\n\nx,y\n",
            &["--types", "a=int8"],
            "bad.csv: line 3, column \"a\": \"x\" is not an integer",
        ),
        ("bad.csv", "a,c\n2,y\n", &[], "there is no column"),
        ("bad.csv", "a,b\n2,y\n\n1,z\n", &["--dims", "a"], "n1.csv: line 2 and"),
        ("bad.csv", "a,b\n2,y\n\n1,z\n", &["--dims", "a"], "bad.csv: line 4 have the same coordinates, a=1:"),
        ("bad.csv", "a,b\n2,y\n2,z\n", &["--dims", "a"], "bad.csv: line 2 and"),
        ("bad.tsv", "a\tb\n2\ty\n", &[], "end in different formats"),
    ] {
        let bad = file(&scratch, name, content);
        let outcome = tdb(&[&["import", text(&array), text(&one), text(&bad)], options].concat());
        assert!(outcome.code != 0 && outcome.err.contains(why), "{content:?}: {}", outcome.err);
        assert!(!array.exists());
    }
    refused(&["import", text(&array), text(&scratch.path().join("x*.csv"))], 1, "no file has such a name");
    let npy = file(&scratch, "a.npy", "");
    refused(&["import", text(&array), text(&npy), text(&npy)], 2, "NPY files are imported one at a time");
    // Duplicates are left out whichever file they are in.
    let more = file(&scratch, "n2.csv", "a,b\n1,y\n2,z\n");
    said(&["import", text(&array), text(&one), text(&more), "--dims", "a", "--duplicates", "last"]);
    assert_eq!(csv(text(&array)), "a,b\n1,y\n2,z\n");
}

#[test]
fn long_files_are_read_one_after_the_other() {
    let scratch = Scratch::new();
    let rows =
        |from: u64, to: u64| -> String { (from..to).map(|row| format!("{row},some text\n")).collect() };
    let one = file(&scratch, "n1.csv", "k,t\n".to_owned() + &rows(0, 400_000));
    let two = file(&scratch, "n2.csv", "t,k\nx,400000\n");
    let three = file(&scratch, "n3.csv", "k,t\n".to_owned() + &rows(400_001, 700_000) + "oops,x\n");
    let array = scratch.path().join("array");
    let why = "n3.csv: line 300001, column \"k\": \"oops\" is not an integer";
    refused(&["import", text(&array), text(&one), text(&two), text(&three)], 1, why);
    assert!(!array.exists());
    let three = file(&scratch, "n3.csv", "k,t\n".to_owned() + &rows(400_001, 700_000));
    said(&["import", text(&array), text(&one), text(&two), text(&three)]);
    let wrong = said(&["read", text(&array), "--where", "t = 'x'", "--format", "csv"]);
    assert_eq!(wrong, "row,k,t\n400000,400000,x\n");
    let found = said(&["read", text(&array), "--aggregate", "count, max(row), sum(k)", "--format", "csv"]);
    let sum: u64 = (0..700_000).sum();
    assert_eq!(found.lines().nth(1), Some(format!("700000,699999,{sum}").as_str()), "{found}");
}

#[test]
#[cfg(feature = "object-store")]
fn a_file_may_be_in_a_store() {
    let scratch = Scratch::new();
    let table = file(&scratch, "n 1.csv", "a\n1\n2\n");
    file(&scratch, "n 2.csv", "a\n3\n");
    let url = |name: &str| format!("file://{}/{name}", text(table.parent().unwrap()));
    let array = scratch.path().join("array");
    said(&["import", text(&array), &url("n 1.csv")]);
    said(&["import", text(&array), &url("n*.csv")]);
    assert_eq!(csv(text(&array)), "row,a\n0,1\n1,2\n2,1\n3,2\n4,3\n");
    refused(&["import", text(&array), &url("m.csv")], 1, "m.csv: ");
    refused(&["import", text(&array), &url("m*.csv")], 1, "no file has such a name");
}
