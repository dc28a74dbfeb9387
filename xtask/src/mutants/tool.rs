//! Asks cargo-mutants for mutants.

use std::path::Path;
use std::process::Command;

use super::mutant::{self, Mutant};
use super::suites::Suite;
use super::tree::Tree;

/// How to get what is missing.
const MISSING: &str = "cargo-mutants is missing: `cargo install --locked cargo-mutants`";

/// Fails, and says how to install it, where cargo-mutants is missing.
pub(super) fn find() -> Result<(), String> {
    let found = Command::new("cargo").args(["mutants", "--version"]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if is_there { Ok(()) } else { Err(MISSING.into()) }
}

/// The mutants of a suite; `diff` leaves out those in lines that it does not touch.
pub(super) fn list(tree: &Tree, suite: &Suite, diff: Option<&Path>) -> Result<Vec<Mutant>, String> {
    let mut command = Command::new("cargo");
    command
        .arg("mutants")
        .args(suite.packages.iter().flat_map(|package| ["--package", package]))
        .args(["--list", "--json", "--no-config"])
        .current_dir(&tree.files);
    if let Some(diff) = diff {
        command.arg("--in-diff").arg(diff);
    }
    let output = command.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo mutants --list: {}", String::from_utf8_lossy(&output.stderr)));
    }
    mutant::parse(&String::from_utf8_lossy(&output.stdout))
}
