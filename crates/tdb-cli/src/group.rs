//! `tdb group`: the members of a group.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tdb_array::group::{Found, Group, GroupVersion, ObjectType, Visited};
use tdb_array::storage::{location_without_secrets, without_secrets};
use tdb_schema::ArrayMetadata;

use self::change::GroupChange;
use crate::args::{KeyArgs, WindowArgs};
use crate::failure::{Failure, Result, one_line};
use crate::meta;
use crate::place::{Stores, is_url};
use crate::table::{self, Heading};

mod change;

/// Show a group: its members, what is at their locations, and its metadata; or change it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "\
Members are shown with their names in the group. With --recursive, or if the group itself is in a store, members in stores are \
looked up, too; otherwise their URIs are shown.

Examples:
  tdb group stations
  tdb group stations --recursive --json
  tdb group create stations
  tdb group add stations oslo --relative --name Oslo
  tdb group remove stations Oslo",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct GroupArgs {
    #[command(subcommand)]
    pub(crate) change: Option<GroupChange>,
    /// Folder of the group.
    #[arg(required = true)]
    group: Option<PathBuf>,
    /// Also show the members of member groups, recursively, and look up members in stores.
    #[arg(long, short)]
    recursive: bool,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &GroupArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    if let Some(change) = &args.change {
        return change::run(change, stores);
    }
    let Some(path) = &args.group else { return Ok(()) };
    let failed = |error| Failure::of_array(path, error);
    let group = open(args, stores, path)?;
    let metadata = group.metadata().map_err(failed)?;
    let members = if args.recursive { group.walk() } else { direct(&group) };
    if args.json {
        writeln!(out, "{:#}", describe(&group, &members, &metadata, args.window.timestamps()))?;
    } else {
        write(&group, &members, &metadata, args.window.text(), out)?;
    }
    Ok(())
}

/// Opens the group. For a local group, members in stores are looked up only on request, because
/// that needs network requests.
fn open(args: &GroupArgs, stores: &Stores, path: &Path) -> Result<Group> {
    let options = args.window.options(&args.key)?;
    // For a store that is not supported, this returns the store's own error.
    stores.storage(path)?;
    let group = match path.to_str().map(|location| location.strip_prefix("file://").unwrap_or(location)) {
        Some(location) if args.recursive || is_url(path) => options.open_group_in(stores.places(), location),
        Some(location) => options.open_group(location),
        None => options.open_group(path),
    };
    group.map_err(|error| Failure::of_array(path, error))
}

/// The group's own members, not those of member groups.
fn direct(group: &Group) -> Vec<Visited> {
    let visit = |member: &tdb_array::group::GroupMember| Visited {
        depth: 1,
        member: member.clone(),
        location: group.location_of(member),
        found: group.look(member),
    };
    group.members().map(visit).collect()
}

fn write(
    group: &Group,
    members: &[Visited],
    metadata: &ArrayMetadata,
    window: Option<String>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut line = |name: &str, value: String| writeln!(out, "{name:<14} {value}");
    line("group", one_line(&location_without_secrets(group.location())))?;
    let version = group.version().map_or_else(|| "none".to_owned(), |version| format!("{version}"));
    line("group version", version)?;
    if let Some(window) = window {
        line("opened between", window)?;
    }
    line("members", group.members().count().to_string())?;
    if !members.is_empty() {
        let headings = ["member", "type", "URI", "there", "at"].map(Heading::left);
        let row = |visited: &Visited| {
            let Visited { depth, member, location, found } = visited;
            let indent = "  ".repeat(depth.saturating_sub(1));
            let name = member.name.as_deref().unwrap_or("(no name)");
            let shown = |location: &str| one_line(&location_without_secrets(location));
            vec![
                format!("{indent}{}", one_line(name)),
                member.object.name().to_owned(),
                shown(&member.uri),
                one_line(&found_text(found)),
                shown(location),
            ]
        };
        writeln!(out)?;
        table::write_rows(out, 0, &headings, &members.iter().map(row).collect::<Vec<_>>())?;
    }
    if !metadata.is_empty() {
        writeln!(out)?;
        table::write_rows(out, 0, &meta::headings(), &meta::rows(metadata))?;
    }
    Ok(())
}

/// The object at a member's location, in words.
fn found_text(found: &Found) -> String {
    match found {
        Found::Object(ObjectType::Invalid) => "neither array nor group".to_owned(),
        Found::Object(object) => object.name().to_owned(),
        Found::Missing => "missing".to_owned(),
        Found::Elsewhere => "not looked up".to_owned(),
        Found::Repeated => "group, shown above".to_owned(),
        Found::TooDeep => "group, too deep to follow".to_owned(),
        Found::Failed(error) => without_secrets(&error.to_string()).into_owned(),
    }
}

fn describe(
    group: &Group,
    members: &[Visited],
    metadata: &ArrayMetadata,
    timestamps: [Option<u64>; 2],
) -> Value {
    json!({
        "group": location_without_secrets(group.location()),
        "version": group.version().map(GroupVersion::number),
        "timestamps": timestamps,
        "members": members.iter().map(member_json).collect::<Vec<_>>(),
        "metadata": meta::all_json(metadata),
    })
}

fn member_json(visited: &Visited) -> Value {
    let Visited { depth, member, location, found } = visited;
    let error = match found {
        Found::Failed(_) => Some(found_text(found)),
        _ => None,
    };
    json!({
        "depth": depth,
        "name": member.name,
        "type": member.object.name(),
        "uri": location_without_secrets(&member.uri),
        "relative": member.relative,
        "member_version": member.version.number(),
        "location": location_without_secrets(location),
        "there": found.word(),
        "error": error,
    })
}
