//! Conditions and aggregates on the command line.

use crate::common::{fixture, tdb, text};

fn read(id: &str, args: &[&str]) -> String {
    let outcome = tdb(&[&["read", text(&fixture(id))], args].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    outcome.out
}

fn refused(id: &str, args: &[&str]) -> String {
    let outcome = tdb(&[&["read", text(&fixture(id))], args].concat());
    assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{}", outcome.err);
    outcome.err
}

#[test]
fn a_condition_leaves_the_cells_that_satisfy_it() {
    let array = "2.30.0/quickstart";
    let all = read(array, &["--format", "csv"]);
    assert_eq!(all.lines().count(), 17);
    let some = read(array, &["--format", "csv", "--where", "a > 14 or a in (1, 2) or rows = 2 and a < 6"]);
    // A dense array shows other cells as fill values.
    let shown = some.lines().skip(1).filter(|line| !line.ends_with("-2147483648")).count();
    assert_eq!(shown, 5, "{some}");
    let dates = read("2.30.0/sparse_dim_datetime_day", &["--format", "csv", "--where", "x < '1970-01-01'"]);
    let ticks = read("2.30.0/sparse_dim_datetime_day", &["--format", "csv", "--where", "x < 0"]);
    assert_eq!(dates, ticks);
}

#[test]
fn what_is_wrong_with_a_condition_is_pointed_at() {
    let error = refused("2.30.0/quickstart", &["--where", "a > 3 and nothing = 1"]);
    let (line, pointer) = error.split_once('\n').unwrap();
    assert!(line.starts_with("error: "), "{error}");
    let rest = "--where: column 11: the array has no field \"nothing\" (it has rows, cols, a)";
    assert!(line.ends_with(rest), "{error}");
    assert_eq!(pointer, "  a > 3 and nothing = 1\n            ^\n");
    let error = refused("2.30.0/quickstart", &["--where", "a >"]);
    assert!(error.contains("column 4: a value is expected, not the end"), "{error}");
    let error = refused("2.30.0/sparse_dim_datetime_day", &["--where", "x = 'yesterday'"]);
    assert!(error.contains("column 5: \"yesterday\" is neither a date"), "{error}");
}

#[test]
fn aggregates_are_one_row() {
    let array = "2.30.0/quickstart";
    let list = "sum(a),count,mean(a),min(a),null_count(a)";
    let expected = "\
sum(a)  count  mean(a)  min(a)  null_count(a)
------  -----  -------  ------  -------------
   136     16      8.5       1              0
";
    assert_eq!(read(array, &["--aggregate", list]), expected);
    assert_eq!(read(array, &["--aggregate", "sum(a),max(a)", "--format", "csv"]), "sum(a),max(a)\n136,16\n");
    let json = read(array, &["--aggregate", "count,max(a)", "--format", "json", "--where", "a < 4"]);
    assert_eq!(json, "{\"count\":16,\"max(a)\":3}\n");
    let none = read(array, &["--aggregate", "max(a)", "--format", "json", "--where", "a < -4"]);
    assert_eq!(none, "{\"max(a)\":null}\n");
}

#[test]
fn what_is_wrong_with_a_list_of_aggregates_is_pointed_at() {
    let error = refused("2.30.0/quickstart", &["--aggregate", "count,median(a)"]);
    assert!(error.ends_with("  count,median(a)\n        ^\n"), "{error}");
    let error = refused("2.30.0/quickstart", &["--aggregate", "sum(b)"]);
    assert!(error.contains("no field \"b\""), "{error}");
    refused("2.30.0/quickstart", &["--aggregate", "count", "--format", "raw"]);
}
