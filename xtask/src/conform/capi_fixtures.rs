//! `cargo xtask conform capi-fixtures`: the fixtures through our library in the place of libtiledb.
//!
//! `xtask/peer/expect.py`, which records with libtiledb 2.30.0 the cells that the fixtures hold,
//! reads all of them with our library: what it sees must be what is recorded. Then
//! `xtask/peer/write.py` makes the arrays of 2.30.0 with our library, and what libtiledb reads from
//! these must be that as well.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::capi;
use crate::fixtures::{array, names, normal_name, read_json, string};
use crate::peer;

pub(super) const USAGE: &str = "[--only WORD] [--library FILE] [--part reads|writes]";

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
            let expected = fixtures.join(format!("expected/{id}.json"));
            // Objects that are no arrays have no expected cells; some arrays are for other readers.
            if case.get("oracle").is_some() || !expected.is_file() {
                continue;
            }
            counts.0 += 1;
            let found = found.join(format!("{name}.json"));
            let how = if found.is_file() {
                difference(&normal(&expected)?, &normal(&found)?, "")
            } else {
                Some("it cannot be read".to_owned())
            };
            match how {
                Some(how) => wrong.push(format!("{what} {id}: {how}")),
                None => counts.1 += 1,
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
        let libraries = peer::libraries(root, &peer::releases(root)?)?;
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
    let text = normal_name(&read_json(path)?.to_string());
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
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
