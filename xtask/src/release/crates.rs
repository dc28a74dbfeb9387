//! The crates, as a registry gets them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Context;
use super::packing::size;
use super::programs::cargo;
use super::table::{Row, Tried};
use super::trial::call;

/// The folder in cargo's folder for packages.
const REGISTRY: &str = "tmp-registry";

/// Packs all crates that are published, and builds each from its package unless it is to be quick.
pub(super) fn run(context: &Context) -> Result<Row, String> {
    let begun = Instant::now();
    let packages = context.built.join("package");
    // Packages of other versions would be counted, too.
    remove_packages(&packages)?;
    let mut publish = cargo();
    // What is not committed is part of what is tried; the workflow has nothing like it.
    publish.current_dir(&context.root).args([
        "publish",
        "--dry-run",
        "--workspace",
        "--locked",
        "--allow-dirty",
    ]);
    if context.quick {
        publish.arg("--no-verify");
    }
    call(&mut publish)?;
    let (count, packed) = packed(&packages)?;
    let tried = match context.quick {
        true => Tried::Made("--quick".to_owned()),
        false => Tried::Yes("each is built from its package"),
    };
    Ok(Row {
        part: "crates".to_owned(),
        file: format!("{count} crates"),
        size: None,
        packed: Some(packed),
        built: Some(begun.elapsed()),
        tried,
    })
}

/// The files of packages below cargo's folder for them: several crates at once are in a registry of
/// their own there.
fn files(packages: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for folder in [packages.to_owned(), packages.join(REGISTRY)] {
        let failed = |error| format!("{}: {error}", folder.display());
        if !folder.exists() {
            continue;
        }
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|ending| ending == "crate") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn remove_packages(packages: &Path) -> Result<(), String> {
    let remove =
        |file: &PathBuf| fs::remove_file(file).map_err(|error| format!("{}: {error}", file.display()));
    files(packages)?.iter().try_for_each(remove)
}

/// How many packages there are, and their bytes.
fn packed(packages: &Path) -> Result<(usize, u64), String> {
    let files = files(packages)?;
    if files.is_empty() {
        return Err(format!("cargo left no package in {}", packages.display()));
    }
    let mut sum = 0u64;
    for file in &files {
        sum = sum.saturating_add(size(file)?);
    }
    Ok((files.len(), sum))
}

#[cfg(test)]
mod tests {
    use super::super::empty_folder;
    use super::*;

    #[test]
    fn packages_are_counted_and_nothing_beside_them() {
        let folder = std::env::temp_dir().join(format!("tdb-packages-{}", std::process::id()));
        empty_folder(&folder.join("a-0.1.0")).unwrap();
        empty_folder(&folder.join(REGISTRY)).unwrap();
        let names = ["a-0.1.0.crate", "tmp-registry/b-0.1.0.crate", "other.txt"];
        for (name, text) in names.into_iter().zip(["12345", "123", "1"]) {
            fs::write(folder.join(name), text).unwrap();
        }
        assert_eq!(packed(&folder).unwrap(), (2, 8));
        remove_packages(&folder).unwrap();
        assert!(packed(&folder).is_err() && folder.join("other.txt").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
