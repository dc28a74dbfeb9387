//! `cargo xtask conform groups`: random groups that releases of libtiledb wrote, as tdb and as
//! libtiledb 2.30 see them.
//!
//! `xtask/peer/groups_peer.py` draws and writes them: members of odd names, by relative and
//! absolute URIs, that go and come again, nested groups, metadata of all types and sizes. Every
//! group is compared as it is now, and at the times of its changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tdb_array::group::Group;

use super::expected;
use super::form::{base64, list, text};
use crate::peer::{repository_root, scratch};

pub(super) const USAGE: &str = "[--cases N] [--seed S] [--only CASE] [--versions V,…] [--dir DIR]";

/// A member: its type, where it is, its name, and whether its URI is relative, as far as libtiledb
/// tells.
type Member = (String, String, Option<String>, Option<bool>);
/// A key of metadata with its type and its value.
type Entry = (Vec<u8>, String, Vec<u8>);

#[derive(Debug, Default)]
struct Counts {
    cases: u64,
    looks: u64,
    members: u64,
    metadata: u64,
    /// Groups, or groups at some time, that libtiledb does not open, and whether tdb does.
    unopened: BTreeMap<String, u64>,
    /// Cases that a release does not write.
    refused: u64,
    failures: Vec<String>,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let mut passed: Vec<String> = Vec::new();
    let (mut cases, mut seed, mut folder) = ("200".to_owned(), "1".to_owned(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?.clone();
        match arg.as_str() {
            "--cases" => cases = value,
            "--seed" => seed = value,
            "--dir" => folder = Some(PathBuf::from(value)),
            "--only" | "--versions" => passed.extend([arg.clone(), value]),
            _ => return Err(format!("unknown argument {arg}: {USAGE}")),
        }
    }
    let scratch = scratch("conform-groups");
    let groups = folder.clone().unwrap_or_else(|| scratch.clone());
    fs::create_dir_all(&groups).map_err(|error| format!("{}: {error}", groups.display()))?;
    passed.extend(["--cases".to_owned(), cases, "--seed".to_owned(), seed.clone()]);
    let mut child = Command::new("python3")
        .arg(repository_root()?.join("xtask/peer/groups_peer.py"))
        .arg("--out")
        .arg(&groups)
        .args(&passed)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run python3: {error}"))?;
    let output = child.stdout.take().ok_or("no pipe from python3")?;
    let mut counts = Counts::default();
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| error.to_string())?;
        let case: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
        counts.add(&groups, &case, &seed);
        if folder.is_none() {
            let number = case.get("case").and_then(Value::as_u64).unwrap_or_default();
            let _ = fs::remove_dir_all(groups.join(number.to_string()));
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if folder.is_none() {
        let _ = fs::remove_dir_all(&scratch);
    }
    counts.print()?;
    if status.success() { Ok(()) } else { Err(format!("groups_peer.py failed: {status}")) }
}

impl Counts {
    fn add(&mut self, groups: &Path, case: &Value, seed: &str) {
        if case.get("refused").is_some() {
            self.refused = self.refused.saturating_add(1);
            return;
        }
        self.cases = self.cases.saturating_add(1);
        let number = case.get("case").and_then(Value::as_u64).unwrap_or_default();
        let root = groups.join(number.to_string());
        for look in list(case, "looks") {
            match compare(&root, look) {
                Ok(Some((members, metadata))) => {
                    self.looks = self.looks.saturating_add(1);
                    self.members = self.members.saturating_add(members);
                    self.metadata = self.metadata.saturating_add(metadata);
                }
                Ok(None) => {
                    let opened = open(&root, look).map(|_| ());
                    let kind = match opened {
                        Ok(()) => "tdb opens it".to_owned(),
                        Err(error) => format!("tdb: {}", error.replace(&root.display().to_string(), "")),
                    };
                    let kind = format!("{} by {:?}; {kind}", text(look, "refused"), case.get("by"));
                    let count = self.unopened.entry(kind).or_default();
                    *count = count.saturating_add(1);
                }
                Err(what) => self.failures.push(format!(
                    "case {number} by {}: {:?} within {}: {what}\n    {}\n    cargo xtask conform groups --seed {seed} --only {number} --dir DIR",
                    case.get("by").unwrap_or(&Value::Null),
                    text(look, "path"),
                    look.get("timestamps").unwrap_or(&Value::Null),
                    case.get("steps").unwrap_or(&Value::Null),
                )),
            }
        }
    }

    fn print(&self) -> Result<(), String> {
        let Self { cases, looks, members, metadata, refused, failures, .. } = self;
        println!(
            "{looks} groups of {cases} trees, now or at some time, with {members} members and {metadata} metadata keys"
        );
        println!("{refused} trees that a release does not write");
        self.unopened.iter().for_each(|(what, count)| println!("not opened by libtiledb {count} × {what}"));
        failures.iter().for_each(|failure| println!("{failure}"));
        match failures.len() {
            0 if *looks == 0 => Err("no group was compared".into()),
            0 => Ok(()),
            failures => Err(format!("{failures} failures in {looks} groups")),
        }
    }
}

fn open(root: &Path, look: &Value) -> Result<Group, String> {
    let options = expected::options(&Value::Null, look)?;
    let path = match text(look, "path") {
        "" => root.to_owned(),
        below => root.join(below),
    };
    options.open_group(path).map_err(|error| error.to_string())
}

/// The numbers of members and of metadata keys that are equal; `None` if libtiledb does not open
/// the group.
fn compare(root: &Path, look: &Value) -> Result<Option<(u64, u64)>, String> {
    if look.get("refused").is_some() {
        return Ok(None);
    }
    let group = open(root, look)?;
    let mut wanted: Vec<Member> = Vec::new();
    for member in list(look, "members") {
        let place = text(member, "uri");
        let place = place.strip_prefix("file://").unwrap_or(place).to_owned();
        let name = member.get("name").and_then(Value::as_str).map(str::to_owned);
        let relative = member.get("relative").and_then(Value::as_bool);
        wanted.push((text(member, "type").to_owned(), place, name, relative));
    }
    let mut found: Vec<Member> = group
        .members()
        .map(|member| {
            let relative = Some(member.relative);
            (member.object.name().to_owned(), group.location_of(member), member.name.clone(), relative)
        })
        .collect();
    found.sort();
    wanted.sort();
    // libtiledb does not tell of every member whether it is relative.
    for (found, wanted) in found.iter_mut().zip(&wanted) {
        found.3 = wanted.3.and(found.3);
    }
    if found != wanted {
        return Err(format!("members {found:?} instead of {wanted:?}"));
    }
    let metadata = group.metadata().map_err(|error| error.to_string())?;
    let found_keys: Vec<Entry> = metadata
        .iter()
        .map(|(key, value)| (key.to_vec(), value.datatype.name().to_owned(), value.data.clone()))
        .collect();
    let mut wanted_keys: Vec<Entry> = Vec::new();
    for entry in list(look, "metadata") {
        let key = text(entry, "key").as_bytes().to_vec();
        wanted_keys.push((key, text(entry, "type").to_owned(), base64(text(entry, "value"))?));
    }
    if found_keys != wanted_keys {
        let brief = |entries: &[Entry]| -> Vec<String> {
            let one = |(key, kind, data): &Entry| {
                format!("{:?}: {} bytes of {kind}", String::from_utf8_lossy(key), data.len())
            };
            entries.iter().map(one).collect()
        };
        return Err(format!("metadata {:?} instead of {:?}", brief(&found_keys), brief(&wanted_keys)));
    }
    for member in group.members().filter(|member| member.object.name() == "group") {
        group.open_member(member).map_err(|error| format!("member {:?}: {error}", member.key()))?;
    }
    Ok(Some((tdb_codec::to_u64(found.len()), tdb_codec::to_u64(found_keys.len()))))
}
