//! `cargo xtask conform zarr`: folders that zarr-python wrote, imported and exported by the
//! command, and read again.
//!
//! `xtask/peer/zarr_files.py` writes arrays of every type, of both versions, with shards and with
//! every codec of numcodecs that is read, and groups. What zarr-python reads of the export must be
//! what it wrote, with the same attributes and names of axes. Where zarr-python cannot be had, the
//! part fails; with `--optional yes` it says so and does nothing.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::built;
use crate::peer::{environment, repository_root, scratch};

pub(super) const USAGE: &str = "[--tdb COMMAND] [--optional yes]";

/// The releases that are compared with; zarr 3.1 needs Python 3.11.
const PACKAGES: [&str; 3] = ["zarr>=3.1,<3.2", "numcodecs>=0.16,<0.17", "numpy"];

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    tdb: Option<PathBuf>,
    optional: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match arg.as_str() {
                "--tdb" => options.tdb = Some(value.into()),
                "--optional" => options.optional = value == "yes",
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let python = match environment("zarr", "bin/python", &PACKAGES) {
        Ok(python) => python,
        Err(why) if options.optional => {
            println!("skipped: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let tdb = built::tdb(options.tdb, "")?;
    let folder = scratch("conform-zarr");
    let mut script = Command::new(python);
    script.arg(root.join("xtask/peer/zarr_files.py")).arg("--tdb").arg(tdb).arg("--out").arg(&folder);
    script.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1").stdin(Stdio::null());
    let status = script.status().map_err(|error| format!("cannot run python: {error}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    if status?.success() { Ok(()) } else { Err("see above".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::super::words;
    use super::*;

    #[test]
    fn words_that_mean_nothing_are_refused() {
        let options = Options::parse(&words("--tdb a/tdb --optional yes")).unwrap();
        assert_eq!(options, Options { tdb: Some("a/tdb".into()), optional: true });
        for wrong in ["--tdb", "--only 3"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
