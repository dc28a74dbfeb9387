//! `tdb info --all`, and tables on a terminal.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tdb_cli::Screen;

use crate::common::{Scratch, fixture, said, sparse, tdb, text};

/// A folder with an array, a group that has it as a member, and a damaged array.
fn sample(folder: &Path) {
    sparse(&folder.join("trips"));
    let group = folder.join("stations");
    said(&["group", "create", text(&group)]);
    sparse(&group.join("oslo"));
    said(&["group", "add", text(&group), "oslo", "--relative", "--name", "Oslo"]);
    sparse(&group.join("roma"));
    said(&["meta", "set", text(&group), "owner", "me"]);
    said(&["meta", "set", text(&folder.join("trips")), "units", "km"]);
}

/// Output without the places, sizes and times that differ between runs.
fn stable(output: &str, folder: &Path) -> String {
    let output = output.replace(text(folder), "FOLDER");
    let word =
        |word: &str| if word.parse::<u64>().is_ok_and(|bytes| bytes > 999) { "N" } else { word }.to_owned();
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n";
    output.lines().map(line).collect()
}

#[test]
fn a_tree_has_a_few_lines_for_each_array() {
    let scratch = Scratch::new();
    sample(scratch.path());
    let shown = stable(&said(&["info", "--all", text(scratch.path())]), scratch.path());
    let expected = "\
folder FOLDER
  group stations: 1 member
    metadata  owner  STRING_UTF8  me
    array Oslo: sparse, version 22, 10 cells in 1 fragment, N bytes, 2 (1970-01-01T00:00:00.002Z)
      dimension  x  INT32     0..99       zstd
      attribute  k  INT32
      attribute  v  FLOAT64?
      attribute  c  INT8      of colours
    array roma: sparse, version 22, 10 cells in 1 fragment, N bytes, 2 (1970-01-01T00:00:00.002Z)
      dimension  x  INT32     0..99       zstd
      attribute  k  INT32
      attribute  v  FLOAT64?
      attribute  c  INT8      of colours
  array trips: sparse, version 22, 10 cells in 1 fragment, N bytes, 2 (1970-01-01T00:00:00.002Z)
    dimension  x      INT32        0..99       zstd
    attribute  k      INT32
    attribute  v      FLOAT64?
    attribute  c      INT8         of colours
    metadata   units  STRING_UTF8  km
";
    assert_eq!(shown, expected);
}

#[test]
fn a_tree_is_json_too() {
    let scratch = Scratch::new();
    sample(scratch.path());
    let tree: Value =
        serde_json::from_str(&said(&["info", "--all", text(scratch.path()), "--json"])).unwrap();
    let (stations, trips) = (&tree["inside"][0], &tree["inside"][1]);
    assert_eq!((&tree["type"], &stations["type"]), (&"folder".into(), &"group".into()));
    assert_eq!(stations["metadata"]["owner"]["value"], "me");
    assert_eq!(
        (&stations["inside"][0]["name"], &stations["inside"][1]["name"]),
        (&"Oslo".into(), &"roma".into())
    );
    assert_eq!(
        (&trips["cells"], &trips["fragments"], &trips["array_type"]),
        (&10.into(), &1.into(), &"sparse".into())
    );
    assert_eq!((&trips["timestamps"][0], &trips["attributes"][1]["nullable"]), (&2.into(), &true.into()));
    assert_eq!(trips["location"], text(&scratch.path().join("trips")));
}

#[test]
fn one_array_is_a_tree_of_one() {
    let shown = said(&["info", "--all", text(&fixture("2.30.0/quickstart"))]);
    assert!(shown.contains(": dense, version 22, 16 cells in 1 fragment, "), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].starts_with("  dimension  rows  INT32  1..4"), "{shown}");
    assert!(lines[3].starts_with("  attribute  a     INT32"), "{shown}");
}

#[test]
fn what_cannot_be_opened_is_said_in_its_place_and_the_rest_is_shown() {
    let scratch = Scratch::new();
    sparse(&scratch.path().join("z"));
    let broken = scratch.path().join("broken/__schema");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("__1_1_0123456789abcdef0123456789abcdef"), "no schema").unwrap();
    let outcome = tdb(&["info", "--all", text(scratch.path())]);
    assert_eq!((outcome.code, outcome.err.as_str()), (1, ""));
    let line = outcome.out.lines().find(|line| line.starts_with("  array broken: ")).unwrap();
    assert!(line.contains("__schema/__1_1_0123456789abcdef0123456789abcdef"), "{line}");
    assert!(outcome.out.contains("  array z: sparse"), "{}", outcome.out);
    let outcome = tdb(&["info", "--all", text(scratch.path()), "--json"]);
    let tree: Value = serde_json::from_str(&outcome.out).unwrap();
    assert!(outcome.code == 1 && tree["inside"][0]["error"].is_string(), "{tree}");
    let missing = tdb(&["info", "--all", "/no/such/folder"]);
    assert_eq!((missing.code, missing.out.as_str()), (1, ""));
}

#[test]
fn groups_that_contain_each_other_and_members_that_are_gone_end_the_walk() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.path().join("one"), scratch.path().join("two"));
    for group in [&one, &two] {
        said(&["group", "create", text(group)]);
    }
    said(&["group", "add", text(&one), text(&two), "--name", "other"]);
    said(&["group", "add", text(&two), text(&one), "--name", "back"]);
    let gone = scratch.path().join("gone");
    sparse(&gone);
    said(&["group", "add", text(&two), text(&gone), "--name", "lost"]);
    fs::remove_dir_all(&gone).unwrap();
    let shown = said(&["info", "--all", text(&one)]);
    let lines: Vec<&str> = shown.lines().skip(1).collect();
    assert_eq!(
        lines,
        ["  group other: 2 members", "    group back: shown above", "    member lost: missing"]
    );
}

#[test]
fn names_in_a_tree_stay_on_their_line() {
    let scratch = Scratch::new();
    sparse(&scratch.path().join("a\u{1b}[2J\nb"));
    let shown = said(&["info", "--all", text(scratch.path())]);
    assert!(shown.contains("  array a\\u{1b}[2J\\nb: sparse"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn tables_fit_a_terminal_and_are_whole_elsewhere() {
    let scratch = Scratch::new();
    let array = scratch.path().join("trips");
    sparse(&array);
    for command in [&["info"][..], &["log"], &["fragments"], &["info", "--all"]] {
        let args = [&["tdb"], command, &[text(&array)]].concat();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let screen = Some(Screen { columns: 60, rows: 24 });
        assert_eq!(tdb_cli::run_on(screen, args, &mut out, &mut err), 0);
        let shown = String::from_utf8(out).unwrap();
        assert!(shown.lines().all(|line| line.chars().count() <= 60 || line.starts_with('…')), "{shown}");
        assert!(shown.contains("… stands for what does not fit; "), "{shown}");
        let whole = said(&[command, &[text(&array)]].concat());
        assert!(!whole.contains('…'), "{whole}");
        assert!(whole.lines().any(|line| line.chars().count() > 60), "{whole}");
    }
}
