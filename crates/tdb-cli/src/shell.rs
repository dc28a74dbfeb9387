//! Completions for shells, manual pages, and the text of `tdb --version`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args as Group, Command};
use clap_complete::Shell;
use tdb_codec::FormatVersion;
use tdb_filters::registry;

use crate::failure::{Failure, Result};
use crate::features::FEATURES;

/// The name of the command.
const NAME: &str = "tdb";

/// Print a script that completes commands and options in a shell.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb completions bash > ~/.local/share/bash-completion/completions/tdb
  tdb completions zsh > ~/.zfunc/_tdb
  tdb completions fish > ~/.config/fish/completions/tdb.fish
  tdb completions powershell >> $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Write a manual page for each command into a folder.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb man ~/.local/share/man/man1
  man tdb-read")]
pub(crate) struct ManArgs {
    /// The folder, which is created if it does not exist.
    folder: PathBuf,
}

/// Runs `tdb completions`.
pub(crate) fn completions(args: &CompletionsArgs, mut command: Command, out: &mut dyn Write) -> Result {
    // The generator stops the program if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, NAME, &mut script);
    Ok(out.write_all(&script)?)
}

/// Runs `tdb man`.
pub(crate) fn man(args: &ManArgs, command: Command) -> Result {
    let failed = |error| Failure::at(&args.folder, error);
    fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(command, &args.folder).map_err(failed)
}

/// The text that `tdb --version` prints after the name: the version, the format versions and
/// filters of the build, and its features.
pub(crate) fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(describe);
    &TEXT
}

fn describe() -> String {
    let missing: Vec<&str> =
        registry::all().iter().filter(|row| !row.available).map(|row| row.name).collect();
    let filters =
        if missing.is_empty() { "all".to_owned() } else { format!("all but {}", missing.join(", ")) };
    let features: Vec<&str> = FEATURES.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let places =
        if cfg!(feature = "object-store") { "folders, s3://, az://, gs://, https://" } else { "folders" };
    format!(
        "{}\nformat versions: reads {} to {}, writes {}\nfilters: {filters}\narrays in: {places}\nfeatures: {}",
        env!("CARGO_PKG_VERSION"),
        FormatVersion::OLDEST,
        FormatVersion::NEWEST,
        FormatVersion::CURRENT,
        features.join(", "),
    )
}
