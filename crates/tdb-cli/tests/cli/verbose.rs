//! `-v`: what is read and written, call by call, on standard error.

use std::fs;
use std::process::{Command, Output};

use crate::common::{Scratch, fixture, text};

/// Runs the command as a process: what is reported goes to its own standard error.
fn tdb(args: &[&str]) -> (Output, Vec<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_tdb")).args(args).output().unwrap();
    let lines = String::from_utf8(output.stderr.clone()).unwrap().lines().map(str::to_owned).collect();
    assert!(output.status.success(), "{args:?}: {lines:?}");
    (output, lines)
}

fn position(lines: &[String], words: [&str; 2]) -> usize {
    let found = lines.iter().position(|line| words.iter().all(|word| line.contains(word)));
    found.unwrap_or_else(|| panic!("{words:?} in {lines:#?}"))
}

#[test]
fn reads_are_reported_with_their_files_bytes_and_times_and_change_nothing_else() {
    let array = fixture("2.30.0/quickstart");
    let (plain, none) = tdb(&["read", text(&array)]);
    assert_eq!(none, Vec::<String>::new(), "nothing is said unasked");
    for place in [["-v", "read"], ["read", "-v"]] {
        let (told, lines) = tdb(&[&place[..], &[text(&array)]].concat());
        assert_eq!(told.stdout, plain.stdout);
        let metadata = position(&lines, ["read the end of", "__fragment_metadata.tdb bytes="]);
        let cells = position(&lines, ["read ", "a0.tdb, from byte 0 bytes="]);
        assert!(metadata < cells, "{lines:#?}");
        assert!(
            lines.iter().all(|line| line.contains("tdb::storage") && line.contains("time=")),
            "{lines:#?}"
        );
    }
}

#[test]
fn a_write_finishes_all_its_files_before_it_creates_the_commit() {
    let scratch = Scratch::new();
    let (file, array) = (scratch.path().join("t.csv"), scratch.path().join("t"));
    fs::write(&file, "a,b\n1,2\n3,4\n").unwrap();
    let (_, lines) = tdb(&["import", text(&array), text(&file), "--no-progress", "-v"]);
    let finished: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("finish ")).collect();
    let commit = lines.iter().position(|line| line.contains(".wrt")).unwrap();
    assert!(finished.len() > 2 && finished.iter().all(|at| *at < commit), "{lines:#?}");
}

#[test]
fn members_of_groups_are_reported_too() {
    let (_, lines) = tdb(&["group", text(&fixture("2.30.0/group_nested")), "--recursive", "-v"]);
    let told = |line: &String| {
        line.contains("list ") && line.contains("group_nested/") && !line.contains("group_nested/__")
    };
    assert!(lines.iter().any(told), "{lines:#?}");
}
