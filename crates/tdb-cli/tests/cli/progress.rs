//! Progress on a pseudo-terminal of 80 columns and 24 rows, and reports in JSON.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};
use tdb_array::maintain::verify_watched;
use tdb_array::storage::LocalStorage;

use crate::common::{Scratch, files, fixture, said, sparse, text};

fn in_json(args: &[&str]) -> Value {
    let said = said(&[args, &["--json"]].concat());
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{args:?}: {error}: {said}"))
}

/// A table of numbers.
fn numbers(path: &Path, rows: u32) {
    let mut csv = "a,b\n".to_owned();
    (0..rows).for_each(|row| writeln!(csv, "{row},{}", row % 7).unwrap());
    fs::write(path, csv).unwrap();
}

#[cfg(unix)]
mod terminal {
    use std::fs::File;
    use std::io::Read;
    use std::process::{Command, Stdio};

    use nix::pty::{Winsize, openpty};

    use super::*;

    /// Runs the command with standard error on a terminal: what the terminal gets.
    fn seen(args: &[&str], variables: &[(&str, &str)]) -> String {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.args(args).env("TERM", "xterm").envs(variables.iter().copied());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::from(pty.slave))
            .spawn()
            .unwrap();
        // It has the other end, too, until it is dropped.
        drop(command);
        let (mut bytes, mut part, mut terminal) = (Vec::new(), [0; 4096], File::from(pty.master));
        // Linux says that the other end is closed by an error.
        while let Ok(len @ 1..) = terminal.read(&mut part) {
            bytes.extend_from_slice(&part[..len]);
        }
        assert!(child.wait().unwrap().success());
        String::from_utf8(bytes).unwrap()
    }

    /// The lines that were drawn, one over the other, without what moves the cursor.
    fn drawn(seen: &str) -> Vec<String> {
        let mut plain = String::new();
        let mut rest = seen.chars();
        while let Some(c) = rest.next() {
            match c {
                '\x1b' => {
                    let end = rest.by_ref().find(char::is_ascii_alphabetic).unwrap();
                    assert_ne!(end, 'm', "there are no colours: {seen:?}");
                    plain.push('\n');
                }
                '\r' => plain.push('\n'),
                c => plain.push(c),
            }
        }
        plain.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Whether the last line that was drawn is erased in the end.
    fn is_clean(seen: &str) -> bool {
        let last = seen.trim_end_matches("\x1b[1A").trim_end_matches('\r');
        last.ends_with("\x1b[2K")
    }

    #[test]
    fn a_long_import_shows_how_far_and_how_fast_it_is_and_cleans_up() {
        let scratch = Scratch::new();
        let (csv, array) = (scratch.path().join("numbers.csv"), scratch.path().join("array"));
        numbers(&csv, 1_500_000);
        let (array, csv) = (text(&array), text(&csv));
        let import = ["import", array, csv, "--force"];
        let seen_of = seen(&import, &[("NO_COLOR", "1")]);
        let lines = drawn(&seen_of);
        let bar = lines.iter().find(|line| line.contains('%')).unwrap_or_else(|| panic!("{seen_of:?}"));
        for part in ["writing [", "#", " rows, ", "/s, ", " left"] {
            assert!(bar.contains(part), "{part:?} is not in {bar:?}");
        }
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        assert!(is_clean(&seen_of), "{seen_of:?}");
        for (more, variables) in [(&["--no-progress"][..], &[][..]), (&[], &[("TERM", "dumb")])] {
            assert_eq!(seen(&[&import[..], more].concat(), variables), "", "{more:?} {variables:?}");
        }
        let verified = seen(&["verify", array, "--no-progress"], &[]);
        assert_eq!(verified, "");
    }

    #[test]
    fn commands_that_end_soon_show_nothing_that_stays() {
        let scratch = Scratch::new();
        let (csv, array, copy) =
            (scratch.path().join("numbers.csv"), scratch.path().join("array"), scratch.path().join("copy"));
        numbers(&csv, 100);
        said(&["import", text(&array), text(&csv)]);
        for args in [
            &["copy", text(&array), text(&copy)][..],
            &["verify", text(&array)],
            &["delete", text(&array), "--where", "b = 3"],
            &["consolidate", text(&array)],
            &["vacuum", text(&array)],
        ] {
            let seen = seen(args, &[]);
            // On a busy machine it may have been drawn.
            assert!(!seen.contains('\n') && (seen.is_empty() || is_clean(&seen)), "{args:?}: {seen:?}");
        }
    }
}

#[test]
fn commands_that_report_have_one_object_in_json() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path().join(name);
    numbers(&at("numbers.csv"), 10);
    let (array, csv) = (at("array"), at("numbers.csv"));
    let (array, csv) = (text(&array), text(&csv));
    let made = in_json(&["import", array, csv, "--compress", "fast"]);
    assert_eq!((&made["new"], &made["cells"], &made["dry_run"]), (&json!(true), &json!(10), &json!(false)));
    assert_eq!(made["filters"]["a"], "byteshuffle, lz4");
    let more = in_json(&["import", array, csv]);
    assert_eq!((&more["new"], &more["current_domain"]), (&json!(false), &json!({"row": "0..19"})));

    let plan = in_json(&["consolidate", array, "--dry-run"]);
    assert_eq!((&plan["done"], plan["steps"][0]["inputs"].as_array().unwrap().len()), (&json!(false), 2));
    assert_eq!(in_json(&["consolidate", array])["done"], true);
    let vacuum = in_json(&["vacuum", array]);
    assert!(vacuum["done"] == true && vacuum["steps"][0]["output"].is_null(), "{vacuum}");
    let idle = in_json(&["vacuum", array]);
    assert!(idle["done"] == false && idle["steps"] == json!([]), "{idle}");

    let counted = in_json(&["delete", array, "--where", "a < 3", "--dry-run"]);
    assert_eq!(
        (&counted["cells"], &counted["deleted"], &counted["delete"]),
        (&json!(20), &json!(6), &Value::Null)
    );
    let deleted = in_json(&["delete", array, "--where", "a < 3"]);
    assert!(deleted["deleted"] == 6 && deleted["delete"].as_str().unwrap().ends_with(".del"), "{deleted}");
    let again = in_json(&["delete", array, "--where", "a < 3", "--unknown-too"]);
    assert!(again["deleted"].is_null() && again["delete"].is_string(), "{again}");

    let published = in_json(&["publish", array]);
    assert_eq!(published["published"][0]["object"], array);
    assert!(published["published"][0]["files"].as_u64() > Some(3), "{published}");

    let copied = in_json(&["copy", array, text(&at("copy"))]);
    assert_eq!((&copied["source"], &copied["cells"]), (&json!(array), &json!(14)));
    assert_eq!(in_json(&["verify", array])["ok"], true);
    let evolved = in_json(&["evolve", array, "--add", "note:string"]);
    assert!(evolved["schema"].as_str().unwrap().starts_with("__schema/"), "{evolved}");

    let (from, buffers) = (at("from"), at("buffers"));
    sparse(&from);
    said(&["read", text(&from), "--format", "raw", "--out", text(&buffers)]);
    let written = in_json(&["write", text(&from), text(&buffers)]);
    assert!(written["cells"] == 10 && written["fragment"].is_string(), "{written}");
    assert!(files(&from).len() > 4);
}

#[test]
fn verifying_tells_how_many_bytes_are_checked_up_to_all() {
    let told = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&told);
    let storage = LocalStorage::new(fixture("2.30.0/single_sparse"));
    let found = verify_watched(storage, None, move |bytes| sink.borrow_mut().push(bytes));
    let told = told.borrow();
    assert!(found.is_clean() && told.len() > 2 && told.is_sorted(), "{told:?}");
    assert_eq!(told.last(), Some(&found.bytes));
}
