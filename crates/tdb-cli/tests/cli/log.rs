//! `tdb log`, and the files that it and other commands skip.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Scratch, assert_fails, files, fixture, manifest, tdb, text};

fn events(array: &Path) -> Vec<Value> {
    let outcome = tdb(&["log", text(array), "--json"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{}", array.display());
    let log: Value = serde_json::from_str(&outcome.out).unwrap();
    log["events"].as_array().unwrap().clone()
}

/// What happened when, and its state.
fn short(events: &[Value]) -> Vec<Value> {
    events.iter().map(|e| json!([e["timestamps"], e["what"], e["state"]])).collect()
}

#[test]
fn a_write_is_a_line_with_its_time_cells_and_bytes() {
    let outcome = tdb(&["log", text(&fixture("2.30.0/quickstart"))]);
    let lines: Vec<Vec<&str>> = outcome.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["when", "what", "version", "cells", "bytes", "state", "name"]);
    assert_eq!(lines[2][..6], ["1", "(1970-01-01T00:00:00.001Z)", "schema", "22", "-", "175"]);
    assert_eq!(lines[3][2..8], ["dense", "write", "22", "16", "4260", "live"]);
}

#[test]
fn deletes_say_what_they_keep() {
    let events = events(&fixture("2.30.0/deletes"));
    let deletes: Vec<&Value> = events.iter().filter(|event| event["what"] == "delete").collect();
    assert_eq!(deletes.len(), 2);
    assert_eq!(deletes[0]["keeps"], "a >= 30");
    assert_eq!(deletes[1]["keeps"], "(a <= 60 or x > 25) and s != tile");
}

#[test]
fn fragments_behind_a_vacuum_file_are_shadowed_and_vacuumed_ones_still_have_a_line() {
    let array = Scratch::copy_of("2.30.0/commits_vac_dense");
    let found = events(array.path());
    let consolidated = found.iter().find(|event| event["what"] == "consolidated fragment").unwrap();
    assert_eq!(consolidated["state"], "live");
    let shadowed: Vec<&Value> = found.iter().filter(|event| event["state"] == "shadowed").collect();
    assert!(shadowed.len() >= 2, "{found:#?}");
    assert!(
        shadowed
            .iter()
            .all(|event| event["by"].as_str().unwrap().ends_with(".vac") && event["cells"].is_u64())
    );
    let shown = tdb(&["log", text(array.path())]).out;
    let by = consolidated["name"].as_str().unwrap().rsplit('/').next().unwrap();
    assert_eq!(shown.matches(&format!("shadowed by {by} ")).count(), shadowed.len(), "{shown}");
    let name = shadowed[0]["name"].as_str().unwrap();
    fs::remove_dir_all(array.path().join(name)).unwrap();
    let commit = name.replace("__fragments", "__commits") + ".wrt";
    fs::remove_file(array.path().join(commit)).unwrap();
    let found = events(array.path());
    let gone = found.iter().find(|event| event["name"] == name).unwrap();
    assert_eq!((&gone["state"], &gone["cells"]), (&json!("vacuumed"), &Value::Null));
}

#[test]
fn a_fragment_without_commit_is_uncommitted_and_a_damaged_one_says_why() {
    let array = Scratch::copy_of("2.30.0/fragments_sparse");
    let commits = || files(array.path()).into_iter().filter(|path| text(path).ends_with(".wrt"));
    fs::remove_file(commits().next().unwrap()).unwrap();
    let footer =
        files(array.path()).into_iter().rfind(|path| text(path).ends_with("__fragment_metadata.tdb"));
    fs::write(footer.unwrap(), "damage").unwrap();
    let found = events(array.path());
    let states: Vec<&Value> = found.iter().filter(|e| e["what"] == "write").map(|e| &e["state"]).collect();
    assert_eq!((states[0], states[states.len() - 1]), (&json!("uncommitted"), &json!("damaged")));
    assert!(found.iter().any(|event| event["error"].as_str().is_some_and(|error| error.contains("offset"))));
}

#[test]
fn a_dense_fragment_inside_a_newer_one_is_overwritten() {
    let array = Scratch::copy_of("2.30.0/single_dense");
    let fragment = files(array.path()).into_iter().find(|path| text(path).ends_with(".wrt")).unwrap();
    let name = fragment.file_stem().unwrap().to_str().unwrap().to_owned();
    let later = "__99_99_0123456789abcdef0123456789abcdef_22";
    fs::copy(&fragment, fragment.with_file_name(format!("{later}.wrt"))).unwrap();
    let folder = array.path().join("__fragments");
    fs::create_dir(folder.join(later)).unwrap();
    for file in files(&folder.join(&name)) {
        fs::copy(&file, folder.join(later).join(file.file_name().unwrap())).unwrap();
    }
    let found = events(array.path());
    let of = |name: &str| found.iter().find(|e| e["name"].as_str().unwrap().ends_with(name)).unwrap();
    assert_eq!(of(&name)["state"], "overwritten");
    assert_eq!(of(&name)["by"], format!("__fragments/{later}"));
    assert_eq!(of(later)["state"], "live");
}

#[test]
fn schemas_enumerations_and_metadata_have_their_places_in_time() {
    let evolved = events(&fixture("2.30.0/evolved_enumeration"));
    let states: Vec<&Value> = evolved.iter().filter(|e| e["what"] == "schema").map(|e| &e["state"]).collect();
    assert_eq!(states.last().unwrap(), &&json!("live"));
    assert!(states[..states.len() - 1].iter().all(|state| *state == "superseded"));
    assert!(evolved.iter().any(|e| e["what"] == "enumeration" && e["timestamps"].is_array()));
    let meta = short(&events(&fixture("2.30.0/meta_consolidated")));
    let has = |what: &str, state: &str| meta.iter().any(|event| event[1] == what && event[2] == state);
    assert!(has("metadata", "shadowed") && has("consolidated metadata", "live"), "{meta:#?}");
}

#[test]
fn every_fixture_has_a_log_whose_live_cells_are_those_info_counts() {
    let scratch = Scratch::new();
    for entry in manifest() {
        let id = entry["id"].as_str().unwrap();
        let mut key = Vec::new();
        let file = scratch.path().join("key");
        if let Some(bytes) = entry["key"].as_str() {
            fs::write(&file, bytes).unwrap();
            key.extend(["--key-file", text(&file)]);
        }
        let run = |command: &[&str]| -> Value {
            let outcome = tdb(&[command, &[text(&fixture(id)), "--json"], key.as_slice()].concat());
            assert_eq!(outcome.code, 0, "{id}: {}", outcome.err);
            serde_json::from_str(&outcome.out).unwrap()
        };
        // The log also contains the future.
        let (log, info) = (run(&["log"]), run(&["info", "--at", "18446744073709551615"]));
        let sum = |list: &Value, counts: &dyn Fn(&Value) -> bool| -> u64 {
            let cells = list
                .as_array()
                .unwrap()
                .iter()
                .filter(|item| counts(item))
                .filter_map(|i| i["cells"].as_u64());
            cells.sum()
        };
        let live = sum(&log["events"], &|e| e["state"] == "live" || e["state"] == "overwritten");
        assert_eq!(live, sum(&info["fragments"], &|_| true), "{id}");
        assert!(log["events"].as_array().unwrap().iter().all(|e| e["state"] != "damaged"), "{id}");
    }
}

#[test]
fn partly_written_files_are_skipped_and_listed() {
    let array = Scratch::copy_of("2.30.0/base_meta");
    let before = tdb(&["meta", text(array.path())]).out;
    let partial = "__90_90_0123456789abcdef0123456789abcdef.tmp";
    for folder in ["__meta", "__schema"] {
        fs::write(array.path().join(folder).join(partial), "half").unwrap();
    }
    assert_eq!(tdb(&["meta", text(array.path())]).out, before);
    let verified = tdb(&["verify", text(array.path())]);
    assert_eq!(verified.code, 0, "{}", verified.out);
    assert_eq!(verified.out.matches("partly written").count(), 2, "{}", verified.out);
    let states = short(&events(array.path()));
    assert_eq!(states.iter().filter(|event| event[2] == "partly written").count(), 2, "{states:?}");
}

#[test]
fn the_lock_file_is_known_and_missed() {
    let array = Scratch::copy_of("1.7.7/base_sparse");
    let info = || tdb(&["info", text(array.path())]).out;
    let line = |info: &str| info.lines().find(|line| line.starts_with("lock file")).map(str::to_owned);
    assert_eq!(line(&info()).unwrap(), "lock file         __lock.tdb");
    let verified = tdb(&["verify", text(array.path())]);
    assert_eq!((verified.code, verified.out.contains("__lock")), (0, false), "{}", verified.out);
    fs::remove_file(array.path().join("__lock.tdb")).unwrap();
    assert!(line(&info()).unwrap().contains("missing (libtiledb 1.7 to 2.5"));
    assert_eq!(line(&tdb(&["info", text(&fixture("2.30.0/quickstart"))]).out), None);
}

#[test]
fn versions_of_experimental_builds_are_refused_by_name() {
    let array = Scratch::copy_of("2.30.0/single_dense");
    let name = "__99_99_0123456789abcdef0123456789abcdef_2147483668.wrt";
    fs::write(array.path().join("__commits").join(name), "").unwrap();
    let parts = ["2147483668", "format version 20 of an experimental build of libtiledb is not supported"];
    assert_fails(&tdb(&["info", text(array.path())]), &parts);
    let array = Scratch::copy_of("2.30.0/single_dense");
    let schema = files(array.path()).into_iter().find(|path| text(path).contains("__schema")).unwrap();
    let mut bytes = fs::read(&schema).unwrap();
    bytes[..4].copy_from_slice(&0x8000_0014u32.to_le_bytes());
    fs::write(&schema, bytes).unwrap();
    assert_fails(
        &tdb(&["info", text(array.path())]),
        &[text(&schema), "offset 0", "version 20 of an experimental build"],
    );
}
