//! The copy of the tree in which the mutants are made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The copy, and the folder beside it for what is built and written.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) files: PathBuf,
    pub(super) built: PathBuf,
    /// The folder for what is written beside them.
    pub(super) out: PathBuf,
}

impl Tree {
    /// Brings the copy in line with the files of the working tree, those that git ignores left out.
    /// A file that is the same keeps its time, so that cargo does not build it again.
    pub(super) fn copy(root: &Path) -> Result<Self, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        // The tool runs in the copy, where a relative path would lead elsewhere.
        let target =
            std::path::absolute(&target).map_err(|error| format!("{}: {error}", target.display()))?;
        let folder = target.join("mutants");
        let tree = Self { files: folder.join("tree"), built: folder.join("built"), out: folder.join("out") };
        for made in [&tree.files, &tree.built, &tree.out] {
            fs::create_dir_all(made).map_err(|error| format!("{}: {error}", made.display()))?;
        }
        let names = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        let names: BTreeSet<&str> =
            names.split('\0').filter(|name| !name.is_empty() && root.join(name).is_file()).collect();
        for name in &names {
            copy_if_changed(&root.join(name), &tree.files.join(name))?;
        }
        remove_others(&tree.files, &tree.files, &names)?;
        Ok(tree)
    }

    /// Writes what changed since a commit to a file, and returns its path.
    pub(super) fn write_diff(&self, root: &Path, commit: &str) -> Result<PathBuf, String> {
        let diff = git(root, &["diff", "--no-color", "--no-ext-diff", commit, "--", "crates"])?;
        let path = self.out.join("against.diff");
        fs::write(&path, diff).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// The text of a file of the copy.
    pub(super) fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.files.join(file)).map_err(|error| format!("{file}: {error}"))
    }

    /// Replaces the text of a file of the copy.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), String> {
        write_if_changed(&self.files.join(file), text.as_bytes())
    }
}

fn git(root: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(args)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "git {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim_end()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn copy_if_changed(from: &Path, to: &Path) -> Result<(), String> {
    let new = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    write_if_changed(to, &new)
}

fn write_if_changed(to: &Path, new: &[u8]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", to.display());
    if fs::read(to).is_ok_and(|old| old == new) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // Writing does what copying would not: the new file is younger than what was built of it.
    fs::write(to, new).map_err(failed)
}

fn remove_others(base: &Path, folder: &Path, names: &BTreeSet<&str>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            remove_others(base, &path, names)?;
        } else if !path.strip_prefix(base).is_ok_and(|name| name.to_str().is_some_and(|n| names.contains(n)))
        {
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_gets_what_changed_and_loses_what_is_gone() {
        let base = std::env::temp_dir().join(format!("tdb-mutants-{}", std::process::id()));
        let (from, to) = (base.join("from"), base.join("to"));
        fs::create_dir_all(&from).unwrap();
        fs::create_dir_all(to.join("old")).unwrap();
        fs::write(from.join("same"), "1").unwrap();
        fs::write(to.join("old/gone"), "2").unwrap();
        copy_if_changed(&from.join("same"), &to.join("new/same")).unwrap();
        let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        let before = time(&to.join("new/same"));
        copy_if_changed(&from.join("same"), &to.join("new/same")).unwrap();
        assert_eq!(time(&to.join("new/same")), before, "a file that is the same keeps its time");
        fs::write(from.join("same"), "3").unwrap();
        copy_if_changed(&from.join("same"), &to.join("new/same")).unwrap();
        remove_others(&to, &to, &BTreeSet::from(["new/same"])).unwrap();
        assert_eq!(fs::read_to_string(to.join("new/same")).unwrap(), "3");
        assert!(!to.join("old/gone").exists());
        fs::remove_dir_all(&base).unwrap();
    }
}
