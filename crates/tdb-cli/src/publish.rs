//! `tdb publish`: the manifest by which an array or a group is read from plain web servers.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args as Group;
use tdb_array::{Found, MANIFEST, ObjectType, OpenOptions, Publication, WriteOptions, object_type};

use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;

/// Write the manifest by which an array or a group is read from web servers that cannot list.
///
/// It is the file tdb_manifest.txt in the folder, which names the other files and their sizes. Whatever tdb changes from then on
/// renews it; other programs do not, so publish again after them. Members of groups have manifests of their own. To
/// publish no more, remove the file.
#[derive(Debug, Group)]
#[command(after_help = "\
Put the files on the server before the manifest that names them:
  tdb publish weather
  rsync -a --exclude=tdb_manifest.txt weather/ host:/var/www/weather
  rsync -a weather/tdb_manifest.txt host:/var/www/weather
  tdb read https://host/weather

Examples:
  tdb publish weather
  tdb publish s3://bucket/weather
  tdb publish stations --recursive")]
pub(crate) struct PublishArgs {
    /// Folder of the array or the group.
    object: PathBuf,
    /// Publish also the members of the group that it names relative to itself, and theirs.
    #[arg(long)]
    recursive: bool,
}

/// Runs the command.
pub(crate) fn run(args: &PublishArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let place = &args.object;
    if args.recursive {
        // Members first: a group that is published has members that are.
        for member in members(place, stores)? {
            publish(Path::new(&member), stores, out)?;
        }
    }
    publish(place, stores, out)
}

fn publish(place: &Path, stores: &Stores, out: &mut dyn Write) -> Result {
    let published = WriteOptions::new().publish_storage(&*stores.storage(place)?);
    let Publication { files, bytes, .. } = published.map_err(|error| Failure::of_array(place, error))?;
    let shown = one_line(&place.display().to_string());
    writeln!(out, "published {shown}: {files} files, {bytes} bytes, in {MANIFEST}")?;
    Ok(())
}

/// Where the members are that a group, and the groups in it, name relative to themselves: the deepest first. None of an array.
fn members(place: &Path, stores: &Stores) -> Result<Vec<String>> {
    let kind = object_type(&stores.storage(place)?).map_err(|error| Failure::at(place, error))?;
    if kind != ObjectType::Group {
        return Ok(Vec::new());
    }
    let failed = |error| Failure::of_array(place, error);
    let location = place.to_str().map(|location| location.strip_prefix("file://").unwrap_or(location));
    let location =
        location.ok_or_else(|| Failure::at(place, "the path is not UTF-8, as groups' URIs are"))?;
    let group = OpenOptions::new().open_group_in(stores.places(), location).map_err(failed)?;
    let mut places = Vec::new();
    // Depth of the member outside, whose own members are not walked through.
    let mut outside = usize::MAX;
    for visited in group.walk() {
        if visited.depth > outside {
            continue;
        }
        outside = if visited.member.relative { usize::MAX } else { visited.depth };
        let is_there = matches!(visited.found, Found::Object(ObjectType::Array | ObjectType::Group));
        if visited.member.relative && is_there {
            places.push(visited.location);
        }
    }
    places.reverse();
    Ok(places)
}
