//! `cargo xtask fixtures [--check | --new | --pure DIR] [--only SUBSTRING] [--corpus DIR]`: the
//! arrays under `xtask/fixtures`.
//!
//! Without `--check`, the released libraries write the arrays again, and these replace the arrays
//! in the tree; with `--new`, only arrays that are not in the tree are written. With `--check`,
//! they are written to a temporary folder and compared with the tree. With `--pure`, tdb writes
//! them to a folder, without Python. See `xtask/fixtures/README.md`. `cargo xtask fixtures sql` is
//! about answers to questions in SQL.

pub(crate) mod pure;
mod sql;

use crate::peer;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Cases of `/corpus` that are part of the fixtures; they cannot be written again.
const CORPUS: &[(&str, &[&str])] = &[
    ("anonymous_attr", &["sparse", "anonymous"]),
    ("capacity_exact", &["sparse", "var"]),
    ("cons_dense", &["dense", "consolidated"]),
    ("cons_sparse_nodups", &["sparse", "consolidated"]),
    ("coords_filters_1", &["sparse", "coords-filters", "filter:gzip"]),
    ("coords_filters_4", &["sparse", "coords-filters"]),
    ("dense_global_rc", &["dense", "orders:row-col", "write:global"]),
    ("enc_sparse", &["sparse", "encrypted"]),
    ("filters_str_rle_zstd", &["dense", "filter:rle", "filter:zstd", "var"]),
];
const CORPUS_VERSIONS: &[&str] = &["1.4.0", "1.5.1"];
/// Cases whose data files differ from run to run: the delta filter of 2.16 writes an additional,
/// uninitialised value.
const UNSTABLE: &[&str] = &["2.16.3/filter_delta"];

/// Entry point: `args` are the words after `cargo xtask fixtures`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut check = false;
    let mut new = false;
    let mut pure = None;
    let mut only = String::new();
    let mut corpus = std::env::var_os("TDB_CORPUS").map(PathBuf::from);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "sql" => return sql::run(&peer::repository_root()?, words.as_slice()),
            "--check" => check = true,
            "--new" => new = true,
            "--pure" => pure = Some(PathBuf::from(words.next().ok_or("--pure needs a folder")?)),
            "--only" => only = words.next().ok_or("--only needs a substring of case ids")?.clone(),
            "--corpus" => corpus = Some(PathBuf::from(words.next().ok_or("--corpus needs a folder")?)),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    let root = peer::repository_root()?;
    let scratch = std::env::temp_dir().join(format!("tdb-fixtures-{}", std::process::id()));
    let fixtures = root.join("xtask/fixtures");
    if let Some(out) = pure {
        return pure::run(&fixtures, &out, &only);
    }
    let result = generate(&root, &scratch, &only, new.then(|| fixtures.join("manifest.json")));
    let result = result.and_then(|manifest| {
        if check {
            compare(&fixtures, &scratch, &only, &manifest)
        } else if new {
            install(&fixtures, &scratch, None, manifest, None)
        } else {
            install(&fixtures, &scratch, Some(&only), manifest, corpus.as_deref())
        }
    });
    let cleaned =
        fs::remove_dir_all(&scratch).map_err(|e| format!("cannot remove {}: {e}", scratch.display()));
    result.and(cleaned)
}

/// Writes and reads the chosen cases below `scratch`, except those of `not_in`; returns their
/// manifest entries.
fn generate(root: &Path, scratch: &Path, only: &str, not_in: Option<PathBuf>) -> Result<Vec<Value>, String> {
    let cases = scratch.join("cases");
    let mut words = vec!["--out", text(&cases)?, "--only", only];
    if let Some(manifest) = &not_in {
        words.extend(["--not-in", text(manifest)?]);
    }
    peer::python(root, "cases.py", &words)?;
    let mut versions = Vec::new();
    for name in names(&cases)? {
        if let Some(version) = name.strip_suffix(".json") {
            versions.push(version.to_owned());
        }
    }
    let libraries = peer::libraries(root, &peer::releases(root)?)?;
    let library = |version: &str| {
        let version = if version == "reader" { peer::READER } else { version };
        libraries.get(version).ok_or_else(|| format!("no library {version}"))
    };
    let mut manifest = Vec::new();
    for version in &versions {
        let writer = library(version)?;
        let file = cases.join(format!("{version}.json"));
        let arrays = scratch.join("arrays").join(version);
        let expected = scratch.join("expected").join(version);
        let (file_arg, arrays_arg) = (text(&file)?, text(&arrays)?);
        // released libraries sometimes crash in dense writes; a second run starts every array again
        let first = ["--lib", text(writer)?, "--case", file_arg, "--out", arrays_arg];
        peer::python(root, "write.py", &first).or_else(|_| peer::python(root, "write.py", &first))?;
        let list = read_json(&file)?;
        let list = array(&list)?;
        for by in later(list) {
            let words = ["--lib", text(library(&by)?)?, "--case", file_arg, "--out", arrays_arg, "--by", &by];
            peer::python(root, "write.py", &words)?;
        }
        let oracles: BTreeSet<&str> =
            list.iter().filter_map(|case| case.get("oracle").and_then(Value::as_str)).collect();
        for oracle in std::iter::once(peer::READER).chain(oracles) {
            // If no release reads it correctly, the expected cells are those that the case wrote.
            let reader = if oracle == "case" { peer::READER } else { oracle };
            let (lib, expected) = (text(library(reader)?)?, text(&expected)?);
            let words = ["--lib", lib, "--case", file_arg, "--arrays", arrays_arg, "--out", expected];
            peer::python(root, "expect.py", &[&words[..], &["--release", oracle]].concat())?;
        }
        for case in list {
            let name = string(case, "name")?;
            if let Some(object) = case.get("object") {
                manifest.push(json!({
                    "id": string(case, "id")?,
                    "writer": format!("libtiledb {version}"),
                    "object": object,
                    "features": case.get("features").cloned().unwrap_or_default(),
                    "bytes": size(&arrays.join(name))?,
                }));
                continue;
            }
            let answer = read_json(&expected.join(format!("{name}.json")))?;
            manifest.push(json!({
                "id": string(case, "id")?,
                "writer": string(&answer, "writer")?,
                "format_version": answer.pointer("/schema/version").cloned().unwrap_or_default(),
                "features": case.get("features").cloned().unwrap_or_default(),
                "key": case.get("key").cloned().unwrap_or_default(),
                "bytes": size(&arrays.join(name))?,
            }));
        }
        println!("libtiledb {version}: {} arrays so far", manifest.len());
    }
    Ok(manifest)
}

/// The releases that continue the arrays of a list of cases after their writers, by age.
fn later(cases: &[Value]) -> Vec<String> {
    let steps = cases.iter().filter_map(|case| case.get("steps").and_then(Value::as_array)).flatten();
    let by: BTreeSet<&str> = steps.filter_map(|step| step.get("by").and_then(Value::as_str)).collect();
    let mut by: Vec<String> = by.into_iter().map(str::to_owned).collect();
    by.sort_by_key(|by| order(if by == "reader" { peer::READER } else { by }));
    by
}

/// Copies newly written arrays into the tree; they replace those whose ids contain `only`, if it is
/// given. An array that is like the one in the tree but for random names stays as it is, so that
/// only what changed is in the next commit.
fn install(
    fixtures: &Path,
    scratch: &Path,
    only: Option<&str>,
    fresh: Vec<Value>,
    corpus: Option<&Path>,
) -> Result<(), String> {
    let path = fixtures.join("manifest.json");
    let old = if path.is_file() { array(&read_json(&path)?)?.clone() } else { Vec::new() };
    let mut manifest = Vec::new();
    let mut alike = BTreeSet::new();
    for entry in &fresh {
        let id = string(entry, "id")?;
        if fixtures.join("arrays").join(id).is_dir() && difference(fixtures, scratch, id)?.wrong.is_empty() {
            alike.insert(id.to_owned());
        }
    }
    for entry in old {
        let id = string(&entry, "id")?.to_owned();
        let copied = entry.get("corpus").is_some();
        if alike.contains(&id) {
            continue;
        }
        if (copied && corpus.is_none()) || (!copied && !only.is_some_and(|only| id.contains(only))) {
            manifest.push(entry);
        } else {
            remove(&fixtures.join("arrays").join(&id))?;
            remove(&fixtures.join("expected").join(format!("{id}.json")))?;
        }
    }
    for mut entry in fresh {
        let id = string(&entry, "id")?.to_owned();
        let array_dir = fixtures.join("arrays").join(&id);
        if alike.contains(&id) {
            let bytes = size(&array_dir)?;
            entry
                .as_object_mut()
                .into_iter()
                .for_each(|entry| drop(entry.insert("bytes".to_owned(), json!(bytes))));
            manifest.push(entry);
            continue;
        }
        remove(&array_dir)?;
        copy(&scratch.join("arrays").join(&id), &array_dir)?;
        let json_name = format!("{id}.json");
        let expected = scratch.join("expected").join(&json_name);
        if expected.is_file() {
            copy(&expected, &fixtures.join("expected").join(&json_name))?;
        }
        manifest.push(entry);
    }
    if let Some(corpus) = corpus {
        for version in CORPUS_VERSIONS {
            for (name, features) in CORPUS {
                manifest.push(copy_corpus(fixtures, corpus, &format!("{version}/{name}"), features)?);
            }
        }
    }
    manifest.sort_by_key(|entry| order(entry.get("id").and_then(Value::as_str).unwrap_or_default()));
    let lines: Vec<String> = manifest.iter().map(Value::to_string).collect();
    write(&path, format!("[\n{}\n]\n", lines.join(",\n")).as_bytes())?;
    println!(
        "{} arrays in {}; {} were written again as they were",
        manifest.len(),
        fixtures.display(),
        alike.len()
    );
    Ok(())
}

/// Copies one case of the corpus and returns its manifest entry.
fn copy_corpus(fixtures: &Path, corpus: &Path, id: &str, features: &[&str]) -> Result<Value, String> {
    let json_name = format!("{id}.json");
    let target = fixtures.join("arrays").join(id);
    remove(&target)?;
    copy(&corpus.join("arrays").join(id), &target)?;
    copy(&corpus.join("expected").join(&json_name), &fixtures.join("expected").join(&json_name))?;
    let answer = read_json(&corpus.join("expected").join(&json_name))?;
    Ok(json!({
        "id": id,
        "writer": string(&answer, "writer")?,
        "format_version": answer.pointer("/schema/version").cloned().unwrap_or_default(),
        "features": features,
        "key": answer.get("key").cloned().unwrap_or_default(),
        "bytes": size(&target)?,
        "corpus": true,
    }))
}

/// Compares newly written arrays with the tree; the error lists every difference.
fn compare(fixtures: &Path, scratch: &Path, only: &str, fresh: &[Value]) -> Result<(), String> {
    let mut wrong = Vec::new();
    let ids = |entries: &[Value]| -> BTreeSet<String> {
        let chosen = entries.iter().filter(|e| e.get("corpus").is_none());
        chosen.filter_map(|e| e.get("id").and_then(Value::as_str).map(str::to_owned)).collect()
    };
    let manifest = read_json(&fixtures.join("manifest.json"))?;
    let mut old = ids(array(&manifest)?);
    old.retain(|id| id.contains(only));
    let new = ids(fresh);
    wrong.extend(old.difference(&new).map(|id| format!("{id}: no longer written")));
    wrong.extend(new.difference(&old).map(|id| format!("{id}: not in the tree")));
    let mut skipped = 0_usize;
    let mut compared = 0_usize;
    for id in old.intersection(&new) {
        let Difference { wrong: found, compared: more, skipped: exempt } = difference(fixtures, scratch, id)?;
        wrong.extend(found);
        compared += more;
        skipped += exempt;
    }
    if wrong.is_empty() {
        println!("{} arrays agree; {compared} files compared byte by byte, {skipped} exempt", new.len());
        Ok(())
    } else {
        Err(format!("{} differences:\n{}", wrong.len(), wrong.join("\n")))
    }
}

/// How a newly written array differs from that in the tree.
#[derive(Debug, Default)]
struct Difference {
    /// What differs.
    wrong: Vec<String>,
    /// Number of files that were compared byte by byte, and of those whose bytes may differ.
    compared: usize,
    skipped: usize,
}

/// Compares an array with that in the tree: expected cells, names of files but for random ids and
/// clock times, and the bytes of files that do not differ from run to run.
fn difference(fixtures: &Path, scratch: &Path, id: &str) -> Result<Difference, String> {
    let mut found = Difference::default();
    let json_name = format!("expected/{id}.json");
    let expected = [fixtures, scratch].map(|folder| folder.join(&json_name));
    // Objects that are no arrays have no expected cells.
    let mut unstable = UNSTABLE.contains(&id);
    match expected.each_ref().map(|path| path.is_file()) {
        [true, true] => {
            let [a, b] = expected.map(|path| read_json(&path));
            let (a, b) = (a?, b?);
            if normal_name(&a.to_string()) != normal_name(&b.to_string()) {
                found.wrong.push(format!("{id}: the expected cells differ"));
            }
            // encrypting the same cells gives other bytes each time
            unstable |= !a.get("key").is_none_or(Value::is_null);
        }
        [false, false] => {}
        _ => found.wrong.push(format!("{id}: only one has expected cells")),
    }
    let (a, b) = (files(&fixtures.join("arrays").join(id))?, files(&scratch.join("arrays").join(id))?);
    if a.keys().ne(b.keys()) {
        found.wrong.push(format!("{id}: the lists of files differ"));
    }
    for (name, content) in &a {
        if unstable || exempt(name) {
            found.skipped += content.len();
        } else if b.get(name) != Some(content) {
            found.wrong.push(format!("{id}: {name} differs"));
        } else {
            found.compared += content.len();
        }
    }
    Ok(found)
}

/// Whether the bytes of a file (array-relative name) may differ between two runs of the same
/// library.
///
/// Fragment metadata: libtiledb leaves parts uninitialised. Schemas contain names of enumeration
/// files, which are random. Vacuum, ignore and consolidation files contain names of fragments,
/// which are random, and in old releases are absolute paths.
fn exempt(name: &str) -> bool {
    name.ends_with("__fragment_metadata.tdb")
        || name.starts_with("__schema/")
        || name.contains("/__schema/")
        || [".vac", ".ign", ".con", ".meta"].iter().any(|suffix| name.ends_with(suffix))
}

/// A name with random ids and clock times replaced: 32 hex digits by `U`, 13 decimal digits by `T`.
pub(crate) fn normal_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        if word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
            out.push('U');
        } else if word.len() == 13 && word.bytes().all(|b| b.is_ascii_digit()) {
            out.push('T');
        } else {
            out.push_str(word);
        }
        word.clear();
    };
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    out
}

/// All files below a folder: normalised relative name to the contents of the files that share it,
/// sorted.
fn files(dir: &Path) -> Result<BTreeMap<String, Vec<Vec<u8>>>, String> {
    let mut out: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    let mut todo = vec![(dir.to_path_buf(), String::new())];
    while let Some((dir, prefix)) = todo.pop() {
        for name in names(&dir)? {
            let path = dir.join(&name);
            let relative = format!("{prefix}{name}");
            if path.is_dir() {
                todo.push((path, format!("{relative}/")));
            } else {
                let content = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                out.entry(normal_name(&relative)).or_default().push(content);
            }
        }
    }
    out.values_mut().for_each(|contents| contents.sort());
    Ok(out)
}

/// Sorts ids by version number, then by name.
fn order(id: &str) -> (Vec<u32>, String) {
    let (version, name) = id.split_once('/').unwrap_or((id, ""));
    (version.split('.').map(|n| n.parse().unwrap_or(0)).collect(), name.to_owned())
}

/// The names in a folder, sorted.
pub(crate) fn names(dir: &Path) -> Result<Vec<String>, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut out = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        out.push(name.into_string().map_err(|n| format!("{}: {n:?} is not UTF-8", dir.display()))?);
    }
    out.sort();
    Ok(out)
}

/// Number of bytes of all files below a folder.
fn size(dir: &Path) -> Result<usize, String> {
    Ok(files(dir)?.values().flatten().map(Vec::len).sum())
}

/// Copies a file, or the files of a folder; empty folders are left out, as in git.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if from.is_dir() {
        for name in names(from)? {
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    let content = fs::read(from).map_err(|e| format!("{}: {e}", from.display()))?;
    write(to, &content)
}

fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(fail)?;
    }
    fs::write(path, content).map_err(fail)
}

fn remove(path: &Path) -> Result<(), String> {
    let result = if path.is_dir() {
        fs::remove_dir_all(path)
    } else if path.is_file() {
        fs::remove_file(path)
    } else {
        Ok(())
    };
    result.map_err(|e| format!("{}: {e}", path.display()))
}

pub(crate) fn read_json(path: &Path) -> Result<Value, String> {
    let content = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_slice(&content).map_err(|e| format!("{}: {e}", path.display()))
}

pub(crate) fn array(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| "a JSON list was expected".to_owned())
}

pub(crate) fn string<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| format!("no text {key:?} in the JSON"))
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "__10_10_0123456789abcdef0123456789abcdef_22";
    const NEW: &str = "__10_10_fedcba9876543210fedcba9876543210_22";

    /// A tree with one array of one fragment.
    fn tree(folder: &Path, fragment: &str, cells: &str) {
        let array = folder.join("arrays/2.30.0/case");
        write(&array.join(format!("__fragments/{fragment}/a0.tdb")), cells.as_bytes()).unwrap();
        write(&array.join(format!("__fragments/{fragment}/__fragment_metadata.tdb")), fragment.as_bytes())
            .unwrap();
        let expected =
            json!({ "id": "2.30.0/case", "key": null, "fragments": [{ "name": fragment }], "cells": cells });
        write(&folder.join("expected/2.30.0/case.json"), expected.to_string().as_bytes()).unwrap();
    }

    #[test]
    fn an_array_that_is_written_again_as_it_was_keeps_its_names() {
        let folder = std::env::temp_dir().join(format!("tdb-fixtures-test-{}", std::process::id()));
        let (fixtures, scratch) = (folder.join("fixtures"), folder.join("scratch"));
        let entry = || json!({ "id": "2.30.0/case", "bytes": 1 });
        tree(&fixtures, OLD, "cells");
        write(&fixtures.join("manifest.json"), json!([entry()]).to_string().as_bytes()).unwrap();
        let names = || names(&fixtures.join("arrays/2.30.0/case/__fragments")).unwrap();

        tree(&scratch, NEW, "cells");
        install(&fixtures, &scratch, Some(""), vec![entry()], None).unwrap();
        assert_eq!(names(), [OLD]);

        tree(&scratch, NEW, "other cells");
        install(&fixtures, &scratch, Some(""), vec![entry()], None).unwrap();
        assert_eq!(names(), [NEW]);
        let manifest = read_json(&fixtures.join("manifest.json")).unwrap();
        assert_eq!(manifest.as_array().unwrap().len(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
