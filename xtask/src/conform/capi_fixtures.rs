//! `cargo xtask conform capi-fixtures`: the fixtures through our library in the place of libtiledb.
//!
//! `xtask/peer/expect.py`, which records with libtiledb 2.30.0 the cells that the fixtures hold,
//! reads all of them with our library: what it sees must be what is recorded. Then
//! `xtask/peer/write.py` makes the arrays of 2.30.0 with our library, and what libtiledb reads from
//! these must be that as well. `xtask/peer/capi/fixtures.txt` has the arrays that differ, with the
//! reason.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::capi::{self, LIST};
use super::pytest::Expected;
use crate::fixtures::{array, names, normal_name, read_json, string};
use crate::peer;

pub(super) const USAGE: &str = "[--only WORD] [--library FILE] [--part reads|writes]";

/// The list of arrays that differ.
const EXPECTED: &str = "fixtures.txt";

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    only: String,
    library: Option<PathBuf>,
    /// The only part that runs, if it is not both.
    part: Option<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match (arg.as_str(), value.as_str()) {
                ("--only", _) => options.only.clone_from(value),
                ("--library", _) => options.library = Some(PathBuf::from(value)),
                ("--part", "reads" | "writes") => options.part = Some(value.clone()),
                _ => return Err(format!("unknown argument {arg} {value}: {USAGE}")),
            }
        }
        Ok(options)
    }

    fn has(&self, part: &str) -> bool {
        self.part.as_deref().is_none_or(|only| only == part)
    }
}

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let library = match &options.library {
        Some(library) => library.clone(),
        None => capi::built(&root)?,
    };
    let library = library.canonicalize().map_err(|error| format!("{}: {error}", library.display()))?;
    let scratch = peer::scratch("capi-fixtures");
    let result = compared(&root, &scratch, &library, &options);
    fs::remove_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let wrong = result?;
    if wrong.is_empty() { Ok(()) } else { Err(format!("{} differ:\n{}", wrong.len(), wrong.join("\n"))) }
}

/// Runs the parts in a scratch folder, and returns what differs.
fn compared(root: &Path, scratch: &Path, library: &Path, options: &Options) -> Result<Vec<String>, String> {
    let fixtures = root.join("xtask/fixtures");
    let cases = scratch.join("cases");
    fs::create_dir_all(&cases).map_err(|error| format!("{}: {error}", cases.display()))?;
    let place = |path: &Path| path.display().to_string();
    peer::python(root, "cases.py", &["--out", &place(&cases), "--only", &options.only])?;
    let expected = Expected::read(&root.join(LIST).join(EXPECTED))?;
    let mut wrong = Vec::new();
    let mut run = |version: &str, reader: &Path, arrays: &Path, what: &str| -> Result<(), String> {
        let file = cases.join(format!("{version}.json"));
        let found = scratch.join(what).join(version);
        let words = ["--lib", &place(reader), "--case", &place(&file), "--arrays", &place(arrays), "--out"];
        // It goes on after an array that cannot be read, which then has no answer.
        if let Err(why) = peer::python(root, "expect.py", &[&words[..], &[&place(&found)]].concat()) {
            println!("{version}: {why}");
        }
        let list = read_json(&file)?;
        let mut counts = (0_usize, 0_usize);
        for case in array(&list)? {
            let (id, name) = (string(case, "id")?, string(case, "name")?);
            let recorded = fixtures.join(format!("expected/{id}.json"));
            // Objects that are no arrays have no expected cells; some arrays are for other readers.
            if case.get("oracle").is_some() || !recorded.is_file() {
                continue;
            }
            counts.0 += 1;
            let found = found.join(format!("{name}.json"));
            let how = if found.is_file() {
                difference(&normal(&recorded)?, &normal(&found)?, "")
            } else {
                Some("it cannot be read".to_owned())
            };
            match (how, expected.is_expected(&format!("{what} {id}"))) {
                (Some(how), false) => wrong.push(format!("{what} {id}: {how}")),
                (None, true) => wrong.push(format!("{what} {id} is equal, but is listed")),
                (Some(_), true) => {}
                (None, false) => counts.1 += 1,
            }
        }
        println!("{what}, libtiledb {version}: {} of {} arrays equal", counts.1, counts.0);
        Ok(())
    };
    if options.has("reads") {
        for version in names(&cases)?.iter().filter_map(|name| name.strip_suffix(".json")) {
            run(version, library, &fixtures.join("arrays").join(version), "read")?;
        }
    }
    let own = cases.join(format!("{}.json", peer::READER));
    if options.has("writes") && own.is_file() {
        let libraries = peer::libraries(root, &[peer::READER.to_owned()])?;
        let genuine = libraries.get(peer::READER).ok_or("no libtiledb 2.30.0")?;
        let arrays = scratch.join("arrays");
        let words = ["--lib", &place(library), "--case", &place(&own), "--out", &place(&arrays)];
        if let Err(why) = peer::python(root, "write.py", &words) {
            println!("{}: {why}", peer::READER);
        }
        run(peer::READER, genuine, &arrays, "written")?;
    }
    Ok(wrong)
}

/// A recorded answer without random names and times of the clock.
fn normal(path: &Path) -> Result<Value, String> {
    let mut value = read_json(path)?;
    let is_free = value.pointer("/schema/allows_dups") == Some(&Value::Bool(true));
    sort(&mut value, is_free);
    Ok(normal_value(value))
}

/// Sorts what may come in any order: members of groups, and where cells with equal coordinates are
/// free to, the bytes of each field.
fn sort(value: &mut Value, is_free: bool) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Array(values) if name == "members" => {
                        values.sort_by_key(Value::to_string);
                    }
                    // Cells in another order begin elsewhere.
                    Value::String(text) if is_free && name == "offsets" => {
                        *text = format!("{} letters", text.len());
                    }
                    Value::String(text) if is_free && ["data", "validity"].contains(&&**name) => {
                        let mut bytes = base64(text);
                        bytes.sort_unstable();
                        *text = format!("{bytes:02x?}");
                    }
                    value => sort(value, is_free),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| sort(value, is_free)),
        _ => {}
    }
}

/// The bytes of a text in base64.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |letter: u8| LETTERS.iter().position(|own| *own == letter);
    let (mut bytes, mut word, mut bits) = (Vec::new(), 0usize, 0u32);
    for value in text.bytes().filter_map(value) {
        (word, bits) = ((word << 6 | value) & 0xffff, bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.extend(u8::try_from(word >> bits & 0xff));
        }
    }
    bytes
}

fn normal_value(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (normal_name(&name), normal_value(value)));
            Value::Object(members.collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(normal_value).collect()),
        Value::String(text) => Value::String(normal_name(&text)),
        Value::Number(number) => {
            let text = normal_name(&number.to_string());
            if text == number.to_string() { Value::Number(number) } else { Value::String(text) }
        }
        value => value,
    }
}

/// The first place in which two answers differ.
fn difference(expected: &Value, found: &Value, place: &str) -> Option<String> {
    match (expected, found) {
        (Value::Object(left), Value::Object(right)) => {
            let names = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name)));
            names
                .filter_map(|name| {
                    let at = format!("{place}/{name}");
                    let of = |side: &serde_json::Map<String, Value>| {
                        side.get(name).cloned().unwrap_or(Value::Null)
                    };
                    difference(&of(left), &of(right), &at)
                })
                .next()
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(at, (left, right))| difference(left, right, &format!("{place}/{at}")))
        }
        _ if expected == found => None,
        _ => {
            let shown = |value: &Value| value.to_string().chars().take(120).collect::<String>();
            Some(format!("{place} is {}, not {}", shown(found), shown(expected)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_part_runs_if_it_is_named() {
        let options = Options::parse(&super::super::words("--part reads --only hilbert")).unwrap();
        assert!(options.has("reads") && !options.has("writes"));
        assert!(Options::default().has("writes"));
        assert!(Options::parse(&super::super::words("--part other")).is_err());
    }

    #[test]
    fn only_what_may_come_in_any_order_is_sorted() {
        assert_eq!(base64("AQID/w=="), [1, 2, 3, 255]);
        let sorted = |text: &str, is_free: bool| {
            let mut value = json!({"members": ["b", "a"], "data": text});
            sort(&mut value, is_free);
            value
        };
        assert_eq!(sorted("AQID", false), json!({"members": ["a", "b"], "data": "AQID"}));
        assert_eq!(sorted("AQID", true), sorted("AwIB", true));
        assert_ne!(sorted("AQID", true), sorted("AQIE", true));
    }

    #[test]
    fn times_of_the_clock_are_equal_as_numbers_and_in_names() {
        let value = json!({"times": [1_700_000_000_000_u64, 5], "name": "__1700000000000_5"});
        assert_eq!(normal_value(value), json!({"times": ["T", 5], "name": "__T_5"}));
    }

    #[test]
    fn the_place_of_the_first_difference_is_told() {
        let expected = json!({"queries": [{"cells": 1}, {"cells": 2}]});
        assert_eq!(difference(&expected, &expected, ""), None);
        let other = json!({"queries": [{"cells": 1}, {"cells": 3}]});
        assert_eq!(difference(&expected, &other, "").unwrap(), "/queries/1/cells is 3, not 2");
        let shorter = json!({"queries": [{"cells": 1}]});
        assert!(difference(&expected, &shorter, "").unwrap().starts_with("/queries is"));
        assert!(
            difference(&expected, &json!({"queries": [{"cells": 1}, {"cells": 2}], "more": 1}), "").is_some()
        );
    }
}
