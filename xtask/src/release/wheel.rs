//! The Python package with SQL and the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::Context;
use super::programs::{row, runs_here};
use super::table::{Row, Tried};
use super::trial::{call, said};
use crate::{peer, python};

/// What the released wheel has, beside the default features.
const FEATURES: &str = "sql";

/// Installs a wheel into an environment of its own, and tries it.
const TRIAL: &str = "xtask/peer/try_wheel.py";

/// Where the package has the viewer, which is there only while a wheel is built.
const VIEWER: &str = "crates/tdb-python/python/tdb/viewer";

/// Adds up the files in a wheel.
const INSTALLED: &str =
    "import sys, zipfile; print(sum(one.file_size for one in zipfile.ZipFile(sys.argv[1]).infolist()))";

pub(super) fn run(context: &Context) -> Result<Row, String> {
    let Some(version) = python::newest() else {
        return Ok(Row::not_here("wheel", "there is no Python that the tests know"));
    };
    let folder = python::folder(&context.root);
    let environment = match python::environment(&folder, "release", version, &[], &[]) {
        Ok(environment) => environment,
        Err(why) => return Ok(Row::not_here("wheel", why)),
    };
    let program = |name| python::program(&environment, name);
    let viewer = match crate::wasm::make(&context.root) {
        Ok(made) => made.viewer,
        Err(why) => return Ok(Row::not_here("wheel", why)),
    };
    let placed = Placed::new(&viewer, context.root.join(VIEWER))?;
    let begun = Instant::now();
    let wheels = context.out.join("wheels");
    let how =
        python::Build { profile: &context.profile, features: FEATURES, target: context.target.as_deref() };
    let file = python::build(&context.root, &wheels, &program("maturin"), &program("python"), how)?;
    drop(placed);
    let built = begun.elapsed();
    let sum = said(Command::new(program("python")).args(["-c", INSTALLED]).arg(&file))?;
    let installed =
        sum.trim().parse().map_err(|_| format!("python printed {sum:?} for the size of a wheel"))?;
    let tried = if runs_here(context) {
        let mut trial = Command::new(program("python"));
        trial.arg(context.root.join(TRIAL)).arg(&file).arg(&context.version);
        call(&mut trial)?;
        Tried::Yes("import, SQL, the command tdb, the viewer")
    } else {
        Tried::Made("it is for another system".to_owned())
    };
    row("wheel", &file, installed, built, tried)
}

/// A copy of a folder that is gone with its owner.
struct Placed(PathBuf);

impl Placed {
    fn new(from: &Path, to: PathBuf) -> Result<Self, String> {
        let _ = fs::remove_dir_all(&to);
        let placed = Self(to);
        peer::copy_folder(from, &placed.0)?;
        Ok(placed)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // Git ignores what cannot be removed, and the next build replaces it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
