//! `tdb meta`: key-value metadata of an array or a group.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args as Group;
use serde_json::{Value, json};
use tdb_codec::{CellValNum, Datatype};
use tdb_schema::{ArrayMetadata, MetadataValue};
use tdb_text::parse::unescape;
use tdb_text::report::count_of;
use tdb_text::suggest::hint;
use tdb_text::value::{cell_json, cell_plain, cell_text, escape_bytes, hex_text};

use self::change::MetaChange;
use crate::args::{KeyArgs, WindowArgs};
use crate::failure::{Failure, Result};
use crate::place::Stores;
use crate::table::{self, Heading};

mod change;

/// Show the key-value metadata of an array or a group, or one value of it; or change it.
#[derive(Debug, Group)]
#[command(
    after_help = "\
Keys may contain any bytes: \\xNN is any byte, \\\\ a backslash. Without --json, a single value is printed unchanged, \
followed by a line feed for strings; --json also contains the bytes of every value in hexadecimal.

Examples:
  tdb meta weather
  tdb meta weather units
  tdb meta stations --at 2020-06-01 --json | jq '.[].key'
  tdb meta set weather units kelvin
  tdb meta set weather limits 180 330 --type float64
  tdb meta rm weather draft",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct MetaArgs {
    #[command(subcommand)]
    pub(crate) change: Option<MetaChange>,
    /// Folder of the array or group.
    #[arg(required = true)]
    object: Option<PathBuf>,
    /// Show only the value of this key; the exit code is 1 if there is none.
    #[arg(name = "KEY")]
    entry: Option<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Print JSON: a list, or one object if KEY is given.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &MetaArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    if let Some(change) = &args.change {
        return change::run(change, stores, out);
    }
    let Some(object) = &args.object else { return Ok(()) };
    let options = args.window.options(&args.key)?;
    let metadata = options
        .metadata_storage(stores.storage(object)?)
        .map_err(|error| Failure::of_array(object, error))?;
    let Some(text) = &args.entry else {
        if args.json {
            writeln!(out, "{:#}", all_json(&metadata))?;
        } else {
            table::write_rows(out, 0, &headings(), &rows(&metadata))?;
        }
        return Ok(());
    };
    show(object, &metadata, text, args.json, out)
}

/// Shows one key's value.
fn show(object: &Path, metadata: &ArrayMetadata, text: &str, json: bool, out: &mut dyn Write) -> Result {
    let key = key_of(object, text)?;
    let Some(value) = metadata.get(&key) else {
        return Err(missing(object, metadata, text));
    };
    if json {
        writeln!(out, "{:#}", entry_json(&key, value))?;
    } else {
        writeln!(out, "{}", cell_plain(value.datatype, count_of(value), &value.data))?;
    }
    Ok(())
}

/// The failure of a key that is not there.
fn missing(object: &Path, metadata: &ArrayMetadata, text: &str) -> Failure {
    let known = metadata.iter().filter_map(|(key, _)| str::from_utf8(key).ok());
    Failure::at(object, format!("there is no metadata key {text:?}{}", hint(text, known)))
}

/// A key in the notation of the command line.
fn key_of(object: &Path, text: &str) -> Result<Vec<u8>> {
    unescape(text).map_err(|error| Failure::Usage(format!("{}: {error}", object.display())))
}

/// Headings of [`rows`].
pub(crate) fn headings() -> [Heading; 3] {
    ["metadata key", "type", "value"].map(Heading::left)
}

/// One row per key.
pub(crate) fn rows(metadata: &ArrayMetadata) -> Vec<Vec<String>> {
    let row = |(key, value): (&[u8], &MetadataValue)| {
        vec![
            cell_text(Datatype::StringUtf8, CellValNum::Var, key),
            value.datatype.to_string(),
            cell_text(value.datatype, count_of(value), &value.data),
        ]
    };
    metadata.iter().map(row).collect()
}

/// A list of objects: keys need not be text, so they cannot be the keys of a JSON object.
pub(crate) fn all_json(metadata: &ArrayMetadata) -> Value {
    metadata.iter().map(|(key, value)| entry_json(key, value)).collect()
}

fn entry_json(key: &[u8], value: &MetadataValue) -> Value {
    json!({
        "key": core::str::from_utf8(key).map_or_else(|_| escape_bytes(key), str::to_owned),
        "key_hex": hex_text(key),
        "datatype": value.datatype.name(),
        "count": value.count(),
        "value": cell_json(value.datatype, count_of(value), &value.data),
        "hex": hex_text(&value.data),
    })
}
