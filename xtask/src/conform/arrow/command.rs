//! The command `tdb`, with Parquet and Arrow files: `tdb export` and `tdb import`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::built;

/// A build of the command with the feature `convert`.
pub(super) struct Tdb(PathBuf);

impl Tdb {
    /// The command at a path; without one, it is built next to this program.
    pub(super) fn new(path: Option<PathBuf>) -> Result<Self, String> {
        built::tdb(path, "convert").map(Self)
    }

    /// Exports an array; `true` if the types of Arrow cannot represent a cell, so that the numbers
    /// and bytes that are stored were exported.
    pub(super) fn export(&self, array: &Path, key: Option<&Path>, files: &[PathBuf]) -> Result<bool, String> {
        let export = |as_stored: bool| -> Result<(), String> {
            for file in files {
                let mut command = Command::new(&self.0);
                command.arg("export").args([array, file]).args(["--threads", "1", "--force"]);
                command.args(as_stored.then_some("--as-stored"));
                // Small batches, so that most files have several.
                command.args(["--memory", "64MB"]);
                if let Some(key) = key {
                    command.arg("--key-file").arg(key);
                }
                run(command)?;
            }
            Ok(())
        };
        match export(false) {
            Ok(()) => Ok(false),
            Err(why) if why.contains("--as-stored") => export(true).map(|()| true),
            Err(why) => Err(why),
        }
    }

    /// Makes an array of a file; with `dimensions`, these columns are the coordinates.
    pub(super) fn import(&self, array: &Path, file: &Path, dimensions: &[String]) -> Result<(), String> {
        let mut command = Command::new(&self.0);
        command.arg("import").args([array, file]);
        if !dimensions.is_empty() {
            let names: Vec<String> =
                dimensions.iter().map(|name| name.replace('\\', "\\\\").replace(',', "\\,")).collect();
            command.args(["--allow-duplicates", "--dims", &names.join(",")]);
        }
        run(command)
    }
}

/// Runs a command; the error is its first line on standard error.
fn run(mut command: Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("tdb ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim_end()))
}
