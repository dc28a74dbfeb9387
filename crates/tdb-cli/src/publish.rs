//! `tdb publish`: writes the manifest that is needed to read an array or a group from plain web
//! servers.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args as Group;
use serde_json::json;
use tdb_array::group::{Found, ObjectType, object_type};
use tdb_array::publish::{MANIFEST, Publication};
use tdb_array::{OpenOptions, WriteOptions};

use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, is_url, shown};
use crate::viewer::{Viewer, ViewerArgs, name, relative_url};

/// Write the manifest that is needed to read an array or a group from web servers that cannot list
/// folders.
///
/// It is the file tdb_manifest.txt in the folder, which lists the other files and their sizes.
/// Every later change with tdb renews it; other programs do not, so publish again after using them.
/// Members of groups have their own manifests. To stop publishing, remove the file.
#[derive(Debug, Group)]
#[command(after_help = "\
Put the files on the server before the manifest that lists them:
  tdb publish weather
  rsync -a --exclude=tdb_manifest.txt weather/ host:/var/www/weather
  rsync -a weather/tdb_manifest.txt host:/var/www/weather
  tdb read https://host/weather

Examples:
  tdb publish weather
  tdb publish weather --viewer weather-viewer
  tdb publish s3://bucket/weather
  tdb publish stations --recursive")]
pub(crate) struct PublishArgs {
    /// Folder of the array or the group.
    object: PathBuf,
    /// Also publish the members whose URIs in the group are relative, and their members.
    #[arg(long)]
    recursive: bool,
    /// Also put the viewer into this new folder, which goes to the same web server: its page shows
    /// what is published. The place of one from the other stays as it is here.
    #[arg(long, value_name = "FOLDER")]
    viewer: Option<PathBuf>,
    #[command(flatten)]
    files: ViewerArgs,
    /// Print one JSON object: a list of what is published, with the number and the bytes of its
    /// files, and the manifest.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &PublishArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let viewer = args.viewer.as_deref().map(|folder| viewer(args, folder)).transpose()?;
    let mut places = Vec::new();
    if args.recursive {
        // Members first, so that a published group has published members.
        places.extend(members(&args.object, stores)?.into_iter().map(PathBuf::from));
    }
    places.push(args.object.clone());
    let mut published = Vec::new();
    for place in &places {
        let made = WriteOptions::new().publish_storage(&*stores.storage(place)?);
        let Publication { files, bytes, .. } = made.map_err(|error| Failure::of_array(place, error))?;
        let shown = shown(place);
        if args.json {
            published.push(json!({"object": shown, "files": files, "bytes": bytes, "manifest": MANIFEST}));
        } else {
            writeln!(out, "published {}: {files} files, {bytes} bytes, in {MANIFEST}", one_line(&shown))?;
        }
    }
    if let Some((viewer, folder)) = &viewer {
        viewer.copy_to(folder)?;
    }
    if args.json {
        let mut document = json!({"published": published});
        if let (Some(folder), Some(document)) = (&args.viewer, document.as_object_mut()) {
            document.insert("viewer".to_owned(), json!(shown(folder)));
        }
        writeln!(out, "{document:#}")?;
    } else if let Some(folder) = &args.viewer {
        writeln!(out, "viewer: {}", one_line(&folder.join("index.html").to_string_lossy()))?;
    }
    Ok(())
}

/// The viewer of what is published, and the folder into which it goes.
fn viewer(args: &PublishArgs, folder: &Path) -> Result<(Viewer, PathBuf)> {
    let object = args.object.as_path();
    if is_url(folder) {
        let what = "the viewer goes into a folder of this machine; copy it to the store with a program \
                    that says which types the files have, as those for stores of objects do";
        return Err(Failure::Usage(format!("{}: {what}", folder.display())));
    }
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let new = folder.file_name().ok_or_else(|| Failure::at(folder, "this is no name for a new folder"))?;
    let folder = parent.canonicalize().map_err(|error| Failure::at(parent, error))?.join(new);
    // Found out before anything is published.
    if folder.symlink_metadata().is_ok() {
        return Err(Failure::at(&folder, "this is there already; remove it, or name a new folder"));
    }
    let local = object.to_str().and_then(|object| object.strip_prefix("file://")).map_or(object, Path::new);
    if is_url(local) {
        let what = "--viewer needs to know where the array is from the page, and knows that of folders";
        return Err(Failure::Usage(format!("{}: {what} only", shown(object))));
    }
    let local = local.canonicalize().map_err(|error| Failure::at(local, error))?;
    if folder.starts_with(&local) {
        let what = "this is inside of what is published, where nothing else belongs; name a folder beside it";
        return Err(Failure::Usage(format!("{}: {what}", folder.display())));
    }
    let what = "no relative address leads there from the folder of the viewer";
    let url = relative_url(&folder, &local).ok_or_else(|| Failure::at(&local, what))?;
    Ok((args.files.find(&url, &name(object))?, folder))
}

/// The locations of the members with relative URIs in a group and in the groups in it: the deepest
/// first. Empty for an array.
fn members(place: &Path, stores: &Stores) -> Result<Vec<String>> {
    let kind = object_type(&stores.storage(place)?).map_err(|error| Failure::at(place, error))?;
    if kind != ObjectType::Group {
        return Ok(Vec::new());
    }
    let failed = |error| Failure::of_array(place, error);
    let location = place.to_str().map(|location| location.strip_prefix("file://").unwrap_or(location));
    let location = location
        .ok_or_else(|| Failure::at(place, "the path is not valid UTF-8, which URIs of groups must be"))?;
    let group = OpenOptions::new().open_group_in(stores.places(), location).map_err(failed)?;
    let mut places = Vec::new();
    // The depth of the last member with an absolute URI; its own members are skipped.
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
