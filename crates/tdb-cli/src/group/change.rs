//! `tdb group create`, `add` and `remove`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand};

use crate::args::ChangeArgs;
use crate::failure::{Failure, Result};
use crate::place::Stores;

/// The changes of a group.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupChange {
    Create(CreateArgs),
    Add(AddArgs),
    Remove(RemoveArgs),
}

/// Create a group.
#[derive(Debug, Group)]
pub(crate) struct CreateArgs {
    /// Folder of the group, which is created.
    group: PathBuf,
    #[command(flatten)]
    change: ChangeArgs,
}

/// Add an array or a group to a group.
#[derive(Debug, Group)]
pub(crate) struct AddArgs {
    /// Folder of the group.
    group: PathBuf,
    /// Location of the member: a path, or a URL such as file://... or s3://...
    member: String,
    /// Name of the member in the group. Default: its URI.
    #[arg(long)]
    name: Option<String>,
    /// The path is relative to the group's folder, so it stays valid if both are moved together.
    #[arg(long)]
    relative: bool,
    #[command(flatten)]
    change: ChangeArgs,
}

/// Remove members from a group; the arrays and groups themselves are not removed.
#[derive(Debug, Group)]
pub(crate) struct RemoveArgs {
    /// Folder of the group.
    group: PathBuf,
    /// Names or URIs of members.
    #[arg(name = "MEMBER", required = true)]
    members: Vec<String>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub(super) fn run(change: &GroupChange, stores: &Stores) -> Result {
    match change {
        GroupChange::Create(args) => {
            let created = args.change.options()?.create_group_storage(&*stores.storage(&args.group)?);
            created.map_err(|error| Failure::of_array(&args.group, error))
        }
        GroupChange::Add(args) => {
            let failed = |error| Failure::of_array(&args.group, error);
            let mut group =
                args.change.options()?.open_group_storage(stores.storage(&args.group)?).map_err(failed)?;
            group
                .add_in(&*stores.places(), &args.member, args.relative, args.name.as_deref())
                .map_err(failed)?;
            group.commit().map_err(failed)
        }
        GroupChange::Remove(args) => {
            let failed = |error| Failure::of_array(&args.group, error);
            let mut group =
                args.change.options()?.open_group_storage(stores.storage(&args.group)?).map_err(failed)?;
            args.members.iter().try_for_each(|member| group.remove(member)).map_err(failed)?;
            group.commit().map_err(failed)
        }
    }
}
