//! The timing program of another commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::workers::{self, Program};

/// The files of a commit in a separate work tree, and the target folder next to it.
pub(super) struct Tree {
    root: PathBuf,
    folder: PathBuf,
    name: String,
    /// Whether the folder is kept when this value is dropped.
    kept: bool,
}

impl Tree {
    /// Checks out the files of a commit: in `kept`, where they and the build output are kept for
    /// the next run, or otherwise in a temporary folder.
    pub(super) fn at(root: &Path, commit: &str, kept: Option<&Path>) -> Result<Self, String> {
        let hash = git(root, &["rev-parse", "--verify", &format!("{commit}^{{commit}}")])?;
        let name = git(root, &["log", "-1", "--format=%h %s", &hash])?;
        let temporary = || std::env::temp_dir().join(format!("tdb-against-{}", std::process::id()));
        let folder = kept.map_or_else(temporary, Path::to_path_buf);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        // Paths in manifests are relative to this folder, and cargo runs in another folder.
        let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
        let tree = Self { root: root.to_path_buf(), folder, name, kept: kept.is_some() };
        let files = tree.files();
        if files.join(".git").exists() {
            git(&files, &["checkout", "--quiet", "--detach", &hash])?;
        } else {
            let path = files.display().to_string();
            git(root, &["worktree", "add", "--quiet", "--detach", &path, &hash])?;
        }
        Ok(tree)
    }

    fn files(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// The commit's hash and the first line of its message.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Builds the commit's timing program, with the commit's release profile and locked
    /// dependencies.
    pub(super) fn build(&self) -> Result<Program, String> {
        eprintln!("building {}", self.name);
        workers::build_in(&self.files(), &self.folder.join("target"))
            .map_err(|error| format!("the timing program of {}: {error}", self.name))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let path = self.files().display().to_string();
        let removed = git(&self.root, &["worktree", "remove", "--force", &path]).map(drop);
        let removed = removed.and(fs::remove_dir_all(&self.folder).map_err(|error| error.to_string()));
        if let Err(error) = removed {
            eprintln!("cannot remove {}: {error}", self.folder.display());
        }
    }
}

/// The output of a git command, without the final line end.
fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output();
    let output = output.map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("git {}: {}", args.join(" "), said.trim_end()))
    }
}
