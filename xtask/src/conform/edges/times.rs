//! Equal times: processes of the command and libtiledb write into one object with one time, or by
//! the clock.
//!
//! `xtask/peer/times_peer.py` draws the writes and looks at the object after each: what was written
//! last is what both libraries read. It prints each case that differs, with its number.

use std::process::{Command, Stdio};

use super::super::built;
use super::Options;
use crate::peer::{environment, repository_root};

/// The release of TileDB-Py that has libtiledb 2.30.
const PACKAGES: [&str; 2] = ["tiledb==0.36.1", "numpy>=2"];

/// Runs the part.
pub(super) fn run(options: &Options) -> Result<(), String> {
    let tdb = built::tdb(options.tdb.clone(), "sql")?;
    let python = environment("edges-times", "bin/python", &PACKAGES)?;
    let script = repository_root()?.join("xtask/peer/times_peer.py");
    let mut command = Command::new(python);
    command.arg(&script).arg("--tdb").arg(tdb);
    command.args(["--seed", &options.seed.to_string(), "--seconds", &options.time.as_secs().to_string()]);
    let command = command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
    let status = command.status().map_err(|error| format!("{}: {error}", script.display()))?;
    if status.success() { Ok(()) } else { Err(format!("{} ({status})", script.display())) }
}
