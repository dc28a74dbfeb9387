//! `cargo xtask conform publish`: published arrays, used by released libraries, which do not know
//! manifests.
//!
//! Each release writes a dense and a sparse array. tdb publishes a copy of each. The release then
//! reads, writes, consolidates and vacuums both arrays, the one with a manifest and the one
//! without, and must give the same answers for both. It must not change the manifest. tdb then
//! publishes the result, and must read the same with the manifest as without it.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tdb_array::publish::{MANIFEST, Published};
use tdb_array::storage::{LocalStorage, Storage};
use tdb_array::{Array, OpenOptions, TimeWindow, WriteOptions};

use super::form::text;
use crate::peer::{self, READER, python, repository_root};

pub(super) const USAGE: &str = "[--only RELEASE]";

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let only = match args {
        [] => None,
        [word, release] if word == "--only" => Some(release.as_str()),
        _ => return Err(USAGE.to_owned()),
    };
    let root = repository_root()?;
    let all = peer::releases(&root)?;
    let chosen: Vec<&String> = all.iter().filter(|name| only.is_none_or(|only| *name == only)).collect();
    let libraries = peer::libraries(&root, &all)?;
    let folder = std::env::temp_dir().join(format!("tdb-publish-{}", std::process::id()));
    let mut failures = Vec::new();
    for release in &chosen {
        let library = |name: &str| libraries.get(name).ok_or_else(|| format!("no libtiledb {name}"));
        let (own, newest) = (library(release)?, library(READER)?);
        let folder = folder.join(release);
        let found = of_release(&root, release, [own.as_path(), newest.as_path()], &folder);
        failures.extend(
            found.unwrap_or_else(|error| vec![error]).into_iter().map(|what| format!("{release}: {what}")),
        );
    }
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    failures.iter().for_each(|failure| println!("FAILED {failure}"));
    println!("{} releases", chosen.len());
    if failures.is_empty() { Ok(()) } else { Err(format!("{} checks failed", failures.len())) }
}

/// What one release does differently if there is a manifest.
fn of_release(
    root: &Path,
    release: &str,
    libraries: [&Path; 2],
    folder: &Path,
) -> Result<Vec<String>, String> {
    let shown = folder.display().to_string();
    let [own, newest] = libraries.map(|library| library.display().to_string());
    let peer = |phase: &str| -> Result<Vec<Value>, String> {
        let args = ["--lib", &own, "--newest", &newest, "--release", release, "--dir", &shown, phase];
        let answer = python(root, "publish_peer.py", &args)?;
        answer
            .lines()
            .map(|line| serde_json::from_str(line).map_err(|error| format!("{line}: {error}")))
            .collect()
    };
    let cases: Vec<String> = peer("--begin")?.iter().map(|case| text(case, "case").to_owned()).collect();
    let mut manifests = Vec::new();
    for case in &cases {
        let array = folder.join("published").join(case);
        WriteOptions::new().publish(&array).map_err(|error| error.to_string())?;
        manifests.push(LocalStorage::new(&array).read(MANIFEST).map_err(|error| error.to_string())?);
    }
    let mut failures = Vec::new();
    for answer in peer("--go-on")? {
        let side = |side: &str| answer.get(side).cloned().unwrap_or_default();
        println!("{release} {}: {}", text(&answer, "case"), side("published"));
        if side("plain") != side("published") {
            failures.push(format!("{}: {} without a manifest", text(&answer, "case"), side("plain")));
        }
    }
    for (case, before) in cases.iter().zip(manifests) {
        let array = folder.join("published").join(case);
        let storage = LocalStorage::new(&array);
        if storage.read(MANIFEST).ok() != Some(before) {
            failures.push(format!("{case}: the manifest was changed"));
        }
        WriteOptions::new().publish(&array).map_err(|error| error.to_string())?;
        let published = Published::open(storage.clone()).map_err(|error| error.to_string())?;
        let open = |storage: Arc<dyn Storage>| -> Result<String, String> {
            let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage);
            cells(&array.map_err(|error| error.to_string())?)
        };
        if open(Arc::new(published))? != open(Arc::new(storage))? {
            failures.push(format!("{case}: tdb reads other cells by the manifest"));
        }
    }
    Ok(failures)
}

/// All cells, as bytes in text.
fn cells(array: &Array) -> Result<String, String> {
    let cells = array.read().collect().map_err(|error| error.to_string())?;
    Ok(cells.columns().iter().map(|column| format!("{:?}", column.bytes())).collect())
}
