//! Damaged and missing files: one line with the file, the offset and the cause, exit code 1, never
//! a panic.

use std::fs;
use std::path::Path;

use crate::common::{Scratch, assert_fails, file_named, files, fixture, tdb, text};

const DENSE: &str = "2.30.0/single_dense";
const CHECKED: &str = "2.30.0/filter_checksum_sha256";

fn read(array: &Path) -> crate::common::Outcome {
    tdb(&["read", text(array), "--format", "csv"])
}

/// Changes a file in place.
fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn an_array_that_does_not_exist_is_named() {
    assert_fails(&tdb(&["read", "/no/such/array"]), &["/no/such/array", "No such file"]);
    assert_fails(&tdb(&["info", "/no/such/array"]), &["/no/such/array", "No such file"]);
}

#[test]
fn a_folder_that_is_no_array_is_told_apart() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("x"), "x").unwrap();
    assert_fails(&read(scratch.path()), &[text(scratch.path()), "not a TileDB array"]);
}

#[test]
fn a_missing_data_file_is_named() {
    let scratch = Scratch::copy_of(DENSE);
    let file = file_named(scratch.path(), "a0.tdb");
    fs::remove_file(&file).unwrap();
    assert_fails(&read(scratch.path()), &[text(&file), "No such file"]);
}

#[test]
fn a_truncated_data_file_is_named_with_the_offset_that_is_missing() {
    let scratch = Scratch::copy_of(DENSE);
    let file = file_named(scratch.path(), "a0.tdb");
    let len = fs::metadata(&file).unwrap().len();
    edit(&file, |bytes| bytes.truncate(bytes.len() - 1));
    assert_fails(&read(scratch.path()), &[text(&file), "offset", &len.to_string()]);
}

#[test]
fn a_truncated_schema_and_a_truncated_footer_are_named_with_an_offset() {
    for name in ["__schema", "__fragment_metadata.tdb"] {
        let scratch = Scratch::copy_of(DENSE);
        let file = files(scratch.path()).into_iter().find(|file| text(file).contains(name)).unwrap();
        edit(&file, |bytes| bytes.truncate(bytes.len() / 2));
        assert_fails(&read(scratch.path()), &[text(&file), "offset"]);
    }
}

#[test]
fn a_flipped_bit_under_a_checksum_is_found() {
    let scratch = Scratch::copy_of(CHECKED);
    let file = file_named(scratch.path(), "a0.tdb");
    edit(&file, |bytes| *bytes.last_mut().unwrap() ^= 1);
    assert_fails(&read(scratch.path()), &[text(&file), "offset", "wrong checksum", "checksum-sha256"]);
}

#[test]
fn keys_that_are_wrong_missing_or_no_keys_say_so() {
    let array = fixture("2.30.0/encrypted_dense");
    let scratch = Scratch::new();
    let with = |name: &str, bytes: &[u8], array: &Path| {
        let file = scratch.path().join(name);
        fs::write(&file, bytes).unwrap();
        (tdb(&["read", text(array), "--format", "csv", "--key-file", text(&file)]), file)
    };
    let key = b"0123456789abcdeF0123456789abcdeF";
    let hex: String = key.iter().map(|byte| format!("{byte:02X}")).collect();
    let (raw, _) = with("raw", key, &array);
    let (digits, _) = with("hex", format!(" {hex}\r\n").as_bytes(), &array);
    assert!(raw.code == 0 && raw.out.lines().count() > 10 && raw.out == digits.out, "{}", digits.err);

    let (wrong, _) = with("wrong", b"0123456789abcdeF0123456789abcdeG", &array);
    assert_fails(&wrong, &[text(&array), "the key is wrong", "offset"]);
    for bad in [&b"short"[..], b"", &key[1..], &[b'x'; 64], &hex.as_bytes()[1..]] {
        let (outcome, file) = with("bad", bad, &array);
        assert_fails(&outcome, &[text(&file), "32 raw bytes or 64 hex digits"]);
    }
    assert_fails(&read(&array), &[text(&array), "encrypted", "no key"]);
    let (unneeded, _) = with("raw", key, &fixture(DENSE));
    assert_fails(&unneeded, &["a key was given, but the tile is not encrypted"]);
    assert_fails(&tdb(&["read", text(&array), "--key-file", "/no/such/key"]), &["/no/such/key"]);
}

#[test]
fn a_future_version_is_refused_by_number() {
    let scratch = Scratch::copy_of(DENSE);
    let file = files(scratch.path()).into_iter().find(|file| text(file).contains("__schema")).unwrap();
    edit(&file, |bytes| bytes[0] = 99);
    assert_fails(&read(scratch.path()), &[text(&file), "offset 0", "version 99 is not supported"]);
}

#[test]
fn verify_goes_on_after_a_problem_and_names_each() {
    let scratch = Scratch::copy_of(CHECKED);
    let damaged = file_named(scratch.path(), "a0.tdb");
    edit(&damaged, |bytes| *bytes.last_mut().unwrap() ^= 1);
    let missing = file_named(scratch.path(), "a1.tdb");
    fs::remove_file(&missing).unwrap();
    let outcome = tdb(&["verify", text(scratch.path())]);
    assert_eq!(outcome.code, 1);
    assert_eq!(outcome.err, "");
    let line =
        |file: &Path| outcome.out.lines().find(|line| line.starts_with(text(file))).unwrap_or_default();
    assert!(
        line(&damaged).contains("offset") && line(&damaged).contains("wrong checksum"),
        "{}",
        outcome.out
    );
    assert!(line(&missing).contains("No such file"), "{}", outcome.out);
    let json = tdb(&["verify", text(scratch.path()), "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["ok"], false);
    assert!(json["problems"].as_array().unwrap().iter().any(|problem| problem["offset"].is_u64()));
}

#[test]
fn verify_notes_a_file_longer_than_its_footer_says() {
    let scratch = Scratch::copy_of(DENSE);
    let file = file_named(scratch.path(), "a0.tdb");
    edit(&file, |bytes| bytes.push(0));
    let outcome = tdb(&["verify", text(scratch.path())]);
    assert_eq!(outcome.code, 0);
    assert!(outcome.out.contains("nothing refers to 1 of its bytes"), "{}", outcome.out);
}

#[test]
fn verify_reports_orphans_as_notes() {
    let scratch = Scratch::copy_of(DENSE);
    let commit = files(scratch.path()).into_iter().find(|file| text(file).ends_with(".wrt")).unwrap();
    fs::remove_file(commit).unwrap();
    let outcome = tdb(&["verify", text(scratch.path())]);
    assert_eq!(outcome.code, 0, "{}", outcome.out);
    assert!(
        outcome.out.starts_with("note: ")
            && outcome.out.contains("no commit file lists")
            && outcome.out.contains("vacuum --orphans"),
        "{}",
        outcome.out
    );
}

#[test]
fn dump_explains_a_damaged_file_up_to_the_first_byte_that_makes_no_sense() {
    let scratch = Scratch::copy_of(DENSE);
    let file = files(scratch.path()).into_iter().find(|file| text(file).contains("__schema")).unwrap();
    edit(&file, |bytes| bytes.truncate(60));
    let outcome = tdb(&["dump", text(&file)]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.out.contains("persisted size"), "{}", outcome.out);
    assert!(outcome.err.contains(text(&file)) && outcome.err.contains("offset"), "{}", outcome.err);
    assert_eq!(outcome.err.lines().count(), 1);
}

#[test]
fn no_truncation_or_flipped_bit_makes_a_command_panic() {
    for id in [DENSE, "2.30.0/single_sparse", "1.7.7/base_sparse"] {
        let scratch = Scratch::copy_of(id);
        for file in files(scratch.path()) {
            let original = fs::read(&file).unwrap();
            let step = (original.len() / 12).max(1);
            for at in (0..original.len()).step_by(step) {
                for damage in 0..2 {
                    let mut bytes = original.clone();
                    if damage == 0 {
                        bytes.truncate(at);
                    } else {
                        bytes[at] ^= 0x41;
                    }
                    fs::write(&file, &bytes).unwrap();
                    let array = text(scratch.path());
                    for args in
                        [&["info", array][..], &["read", array], &["verify", array], &["dump", text(&file)]]
                    {
                        let outcome = tdb(args);
                        let lines = outcome.err.lines().count();
                        assert!(outcome.code <= 2 && lines <= 1, "{args:?}: {}", outcome.err);
                    }
                }
            }
            fs::write(&file, &original).unwrap();
        }
    }
}
