//! `tdb ls`, `tdb rm`, `tdb mv`: arrays and groups as what is in folders and buckets.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args as Group;
use serde_json::{Value, json};
use tdb_array::group::{ObjectType, object_type};
use tdb_array::storage::{Storage, WriteStorage};
use tdb_array::write::is_vacant;

use crate::failure::{Failure, Result, UNFINISHED, one_line};
use crate::place::{Stores, is_url, shown};
use crate::table::{Heading, write_rows};
use crate::temporary;
use crate::tree::{self, Kind, Object};

/// List the arrays and groups in a folder or a bucket.
///
/// Folders that are neither are listed as well, because arrays may be in them; files are not.
#[derive(Debug, Group)]
#[command(after_help = "\
What is in a group, wherever it is, is listed by tdb group.

Examples:
  tdb ls
  tdb ls s3://bucket/data --recursive
  tdb ls --json | jq -r '.objects[] | select(.type == \"array\") | .location'")]
pub(crate) struct LsArgs {
    /// The folder. Default: the working folder.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Also list what is in folders and groups.
    #[arg(long, short)]
    recursive: bool,
    /// Print one JSON object with a list of names, types and locations.
    #[arg(long)]
    json: bool,
}

/// Remove an array or a group, with all of its history.
///
/// Other folders and files are never removed. An array is none any more before its cells go.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb rm weather
  tdb rm s3://bucket/stations --recursive --dry-run
  tdb rm half-imported --unfinished")]
pub(crate) struct RmArgs {
    /// Folders of arrays and groups.
    #[arg(required = true)]
    objects: Vec<PathBuf>,
    /// Also remove groups, with all that is in their folders. Members elsewhere stay.
    #[arg(long, short)]
    recursive: bool,
    /// Remove arrays that were begun and never finished, by an import or a copy that was stopped.
    #[arg(long)]
    unfinished: bool,
    /// Only say what would be removed.
    #[arg(long)]
    dry_run: bool,
}

/// Give an array or a group on the local disk another name.
///
/// Groups elsewhere that have it as a member by its old place lose it: tdb group shows and changes
/// members.
#[derive(Debug, Group)]
#[command(after_help = "\
In object stores, nothing can be renamed: copy it (tdb copy), and remove the old one (tdb rm).

Examples:
  tdb mv weather archive/weather-2024")]
pub(crate) struct MvArgs {
    /// Folder of the array or the group.
    object: PathBuf,
    /// Its new name, at which there is nothing yet.
    new: PathBuf,
}

/// Something in a folder.
struct Listed {
    /// Its name below the listed folder.
    name: String,
    kind: &'static str,
    location: PathBuf,
}

/// Runs `tdb ls`.
pub(crate) fn ls(args: &LsArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let mut found = Vec::new();
    list(&args.folder, "", args.recursive, stores, &mut found)?;
    if args.json {
        let object =
            |one: &Listed| json!({"name": one.name, "type": one.kind, "location": shown(&one.location)});
        let objects: Vec<Value> = found.iter().map(object).collect();
        return Ok(writeln!(out, "{:#}", json!({ "objects": objects }))?);
    }
    if found.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = found.iter().map(|one| vec![one.kind.to_owned(), one_line(&one.name)]).collect();
    Ok(write_rows(out, 0, &[Heading::left("type"), Heading::left("name")], &rows)?)
}

fn list(folder: &Path, above: &str, recursive: bool, stores: &Stores, found: &mut Vec<Listed>) -> Result {
    let inside = tree::folders(stores, folder)?;
    if inside.is_empty() && matches!(object_type(&stores.storage(folder)?), Ok(ObjectType::Array)) {
        found.push(Listed { name: shown(folder), kind: Kind::Array.word(), location: folder.to_owned() });
        return Ok(());
    }
    for Object { name, kind, location } in inside {
        let name = format!("{above}{name}");
        let below = format!("{name}/");
        found.push(Listed { name, kind: kind.word(), location: location.clone() });
        if recursive && kind != Kind::Array {
            list(&location, &below, true, stores, found)?;
        }
    }
    Ok(())
}

/// Whether a folder has what an import or a copy left that was stopped.
fn is_unfinished(storage: &dyn Storage) -> io::Result<bool> {
    Ok(!storage.list("")?.is_empty() && is_vacant(storage)?)
}

/// Runs `tdb rm`.
pub(crate) fn rm(args: &RmArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    // All of them are looked at before any of them is gone.
    let mut objects = Vec::new();
    for place in &args.objects {
        let storage = stores.storage(place)?;
        let kind = object_type(&storage).map_err(|error| Failure::at(place, error))?;
        match kind {
            ObjectType::Array => {}
            ObjectType::Group if args.recursive => {}
            ObjectType::Group => {
                let what = "this is a group: --recursive removes it with all that is in its folder";
                return Err(Failure::at(place, what));
            }
            ObjectType::Invalid if is_unfinished(&*storage).map_err(|error| Failure::at(place, error))? => {
                if !args.unfinished {
                    let remedy = "--unfinished removes what is there; make sure that no program writes it";
                    return Err(Failure::at(place, format!("{UNFINISHED}: {remedy}")));
                }
            }
            ObjectType::Invalid => {
                return Err(Failure::at(place, "this is neither a TileDB array nor a group"));
            }
        }
        objects.push((place, storage, kind));
    }
    for (place, storage, kind) in objects {
        if !args.dry_run {
            remove(place, &*storage)?;
        }
        let done = if args.dry_run { "would be removed" } else { "removed" };
        // Of other folders, those alone are removed that an unfinished array is in.
        let what = if kind == ObjectType::Invalid { "unfinished array" } else { Kind::from(kind).word() };
        writeln!(out, "{what} {} {done}", one_line(&shown(place)))?;
    }
    Ok(())
}

/// Removes the folder of an array or a group. It is nothing of the kind from the first moment on: a
/// local folder loses its name first, and an object store its schemas.
pub(crate) fn remove(place: &Path, storage: &dyn WriteStorage) -> Result {
    let failed = |error: io::Error| Failure::at(place, error);
    if is_url(place) {
        for folder in ["__schema", "__group"] {
            match storage.remove_folder(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        return storage.remove_folder("").map_err(failed);
    }
    // A link is removed, and not what it leads to.
    if fs::symlink_metadata(place).map_err(failed)?.is_symlink() {
        return fs::remove_file(place).map_err(failed);
    }
    let gone = temporary::free_name_beside(&std::path::absolute(place).map_err(failed)?);
    fs::rename(place, &gone).map_err(failed)?;
    fs::remove_dir_all(&gone).map_err(|error| Failure::at(&gone, error))
}

/// Runs `tdb mv`.
pub(crate) fn mv(args: &MvArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let (old, new) = (&args.object, &args.new);
    if is_url(old) || is_url(new) {
        let what = format!(
            "{}: only what is on the local disk can be renamed; copy it with tdb copy, then remove the old one \
             with tdb rm",
            shown(if is_url(old) { old } else { new })
        );
        return Err(Failure::Usage(what));
    }
    let kind = object_type(&stores.storage(old)?).map_err(|error| Failure::at(old, error))?;
    if kind == ObjectType::Invalid {
        return Err(Failure::at(old, "this is neither a TileDB array nor a group"));
    }
    if new.symlink_metadata().is_ok() {
        return Err(Failure::at(new, "there is something here already"));
    }
    fs::rename(old, new).map_err(|error| match error.kind() {
        io::ErrorKind::CrossesDevices => Failure::at(
            new,
            "this is on another disk: copy it with tdb copy, then remove the old one with tdb rm",
        ),
        _ => Failure::at(new, error),
    })?;
    Ok(writeln!(
        out,
        "{} {} is now {}",
        Kind::from(kind).word(),
        one_line(&shown(old)),
        one_line(&shown(new))
    )?)
}
