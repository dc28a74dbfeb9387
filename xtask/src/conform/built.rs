//! The command `tdb`, built with the features that a part of `conform` needs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The command at a path; without one, it is built next to this program, with these features.
pub(super) fn tdb(path: Option<PathBuf>, features: &str) -> Result<PathBuf, String> {
    if let Some(path) = path {
        return std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()));
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["build", "--quiet", "--package", "tdb-cli", "--bin", "tdb", "--features", features];
    let built = Command::new(cargo).args(words).stdin(Stdio::null()).status();
    match built.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        true => Ok(own.with_file_name("tdb")),
        false => Err(format!("tdb cannot be built with the feature {features}")),
    }
}
