//! `tdb meta set`, `get` and `rm`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args as Group, Subcommand};
use tdb_array::group::{ObjectType, object_type};
use tdb_array::schema::Datatype;
use tdb_array::storage::WriteStorage;
use tdb_array::write::MetadataChanges;
use tdb_schema::MetadataValue;
use tdb_text::parse::parse_value;
use tdb_text::schema;

use super::{key_of, missing, show};
use crate::args::{ChangeArgs, WindowArgs};
use crate::failure::{Failure, Result};
use crate::place::Stores;

/// The changes of metadata.
#[derive(Debug, Subcommand)]
pub(crate) enum MetaChange {
    Set(SetArgs),
    Get(GetArgs),
    Rm(RmArgs),
}

/// Set the value of a key.
#[derive(Debug, Group)]
#[command(after_long_help = schema::datatypes_help())]
pub(crate) struct SetArgs {
    /// Folder of the array or group.
    object: PathBuf,
    /// The key; \xNN is any byte.
    #[arg(name = "KEY")]
    entry: String,
    /// The values: one or more numbers or dates, one text, or none for an empty value.
    #[arg(name = "VALUE", allow_negative_numbers = true)]
    values: Vec<String>,
    /// Type of the values.
    #[arg(long = "type", value_name = "TYPE", default_value = "string_utf8", value_parser = schema::datatype)]
    datatype: Datatype,
    #[command(flatten)]
    change: ChangeArgs,
}

/// Show a key's value.
#[derive(Debug, Group)]
pub(crate) struct GetArgs {
    /// Folder of the array or group.
    object: PathBuf,
    /// The key; \xNN is any byte.
    #[arg(name = "KEY")]
    entry: String,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: crate::args::KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Remove keys.
#[derive(Debug, Group)]
pub(crate) struct RmArgs {
    /// Folder of the array or group.
    object: PathBuf,
    /// The keys; \xNN is any byte.
    #[arg(name = "KEY", required = true)]
    entries: Vec<String>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub(super) fn run(change: &MetaChange, stores: &Stores, out: &mut dyn Write) -> Result {
    match change {
        MetaChange::Set(args) => {
            let key = key_of(&args.object, &args.entry)?;
            let usage = |error| Failure::Usage(format!("{}: {error}", args.object.display()));
            if tdb_text::value::is_text(args.datatype) && args.values.len() > 1 {
                return Err(usage("a text is a single value: put it in quotes".to_owned()));
            }
            let values = args.values.iter().map(|value| parse_value(args.datatype, value));
            let data = values.collect::<Result<Vec<_>, _>>().map_err(usage)?.concat();
            let changes = MetadataChanges::new().put(key, MetadataValue { datatype: args.datatype, data });
            write(stores.storage(&args.object)?, &args.object, &args.change, changes)
        }
        MetaChange::Get(args) => {
            let options = args.window.options(&args.key)?;
            let metadata = options
                .metadata_storage(stores.storage(&args.object)?)
                .map_err(|error| Failure::of_array(&args.object, error))?;
            show(&args.object, &metadata, &args.entry, args.json, out)
        }
        MetaChange::Rm(args) => {
            // A removal at a given time applies to the state at that time.
            let at = args.change.time.filter(|time| *time != 0);
            let options = WindowArgs { at, between: None }.options(&args.change.key)?;
            let metadata = options
                .metadata_storage(stores.storage(&args.object)?)
                .map_err(|error| Failure::of_array(&args.object, error))?;
            let mut changes = MetadataChanges::new();
            for text in &args.entries {
                let key = key_of(&args.object, text)?;
                if metadata.get(&key).is_none() {
                    return Err(missing(&args.object, &metadata, text));
                }
                changes = changes.remove(key);
            }
            write(stores.storage(&args.object)?, &args.object, &args.change, changes)
        }
    }
}

fn write(
    storage: Arc<dyn WriteStorage>,
    object: &Path,
    change: &ChangeArgs,
    changes: MetadataChanges,
) -> Result {
    let failed = |error| Failure::of_array(object, error);
    let kind = object_type(&storage).map_err(|error| Failure::at(object, error))?;
    let options = change.options()?;
    if kind == ObjectType::Group {
        let mut group = options.open_group_storage(storage).map_err(failed)?;
        group.metadata(changes);
        return group.commit().map_err(failed);
    }
    options.open_storage(storage).map_err(failed)?.write_metadata(&changes).map(drop).map_err(failed)
}
