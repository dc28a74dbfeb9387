//! TileDB groups: their members and metadata.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tdb_schema::{ArrayMetadata, GroupDetails, GroupMember, GroupMembers, GroupVersion, ObjectType};

use crate::context::Context;
use crate::object::{list_root, object_type};
use crate::paths::{GROUP_FOLDER, METADATA};
use crate::storage::{LocalPlaces, Places, Storage, location_without_secrets, split_query};
use crate::timed::TimedFiles;
use crate::timed::last_part;
use crate::{Error, Result, SnapshotOptions, TimeWindow};

mod walk;

pub use walk::{Found, Visited};

/// A TileDB group, opened at one point of its history: named arrays and groups, and key-value
/// metadata.
///
/// ```no_run
/// use tdb_array::group::Group;
///
/// let group = Group::open("path/to/group")?;
/// for member in group.members() {
///     println!("{} is at {}", member.key(), group.location_of(member));
/// }
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Debug)]
pub struct Group {
    context: Context,
    options: SnapshotOptions,
    window: TimeWindow,
    places: Arc<dyn Places>,
    location: String,
    version: Option<GroupVersion>,
    members: GroupMembers,
    metadata: TimedFiles,
}

impl SnapshotOptions {
    /// Opens the group in a local folder.
    ///
    /// # Errors
    /// The folder contains no group, or a file is damaged.
    pub fn open_group(self, path: impl Into<PathBuf>) -> Result<Group> {
        let path: PathBuf = path.into();
        let Some(location) = path.to_str() else {
            let error = io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path is not valid UTF-8, which the URIs of groups must be",
            );
            return Err(Error::io(path.display().to_string(), error));
        };
        self.open_group_in(Arc::new(LocalPlaces), location)
    }

    /// Opens the group at a location that `places` resolves.
    ///
    /// # Errors
    /// As [`Self::open_group`].
    pub fn open_group_in(self, places: Arc<dyn Places>, location: impl Into<String>) -> Result<Group> {
        let location = location.into();
        // Members are opened with the same time.
        let window = self.time_window()?;
        let options = self.window(window);
        let Some(storage) = places.storage(&location) else {
            let shown = location_without_secrets(&location);
            return Err(Error::unsupported(shown, "members at this kind of place are not supported"));
        };
        let context = options.context(storage);
        let (root, _) = list_root(&*context.storage, &[ObjectType::Group])?;
        let details = TimedFiles::load(&*context.storage, &root, GROUP_FOLDER)?;
        let metadata = TimedFiles::load(&*context.storage, &root, METADATA)?;
        let (version, members) = members(&context, &details, window)?;
        Ok(Group { context, options, window, places, location, version, members, metadata })
    }

    /// The key-value metadata of the array or group in a local folder, without opening its
    /// fragments or members.
    ///
    /// # Errors
    /// The folder contains neither an array nor a group, or a metadata file is damaged.
    pub fn metadata(self, path: impl Into<PathBuf>) -> Result<ArrayMetadata> {
        self.metadata_storage(crate::LocalStorage::new(path))
    }

    /// The key-value metadata of the array or group in a storage, without opening its fragments or
    /// members.
    ///
    /// # Errors
    /// As [`Self::metadata`].
    pub fn metadata_storage(self, storage: impl Storage + 'static) -> Result<ArrayMetadata> {
        let context = self.context(Box::new(storage));
        let (root, _) = list_root(&*context.storage, &[ObjectType::Array, ObjectType::Group])?;
        let files = TimedFiles::load(&*context.storage, &root, METADATA)?;
        files.metadata(&context, self.time_window()?)
    }
}

/// The members that are left in `window`. The name of the newest file shows whether that file alone
/// is the list, or whether all files are applied one after another.
pub fn members(
    context: &Context,
    files: &TimedFiles,
    window: TimeWindow,
) -> Result<(Option<GroupVersion>, GroupMembers)> {
    let parse = |key: &str| -> Result<GroupDetails> {
        let payload = context.generic_file(key)?;
        GroupDetails::parse(&payload).map_err(|error| Error::corrupt(context.describe(key), error))
    };
    let mut members = GroupMembers::default();
    let visible: Vec<&str> = files.visible(window).collect();
    let Some(newest) = visible.last() else { return Ok((None, members)) };
    let version = GroupVersion::of_name(last_part(newest));
    if version == GroupVersion::V1 {
        members.apply(parse(newest)?);
        return Ok((Some(version), members));
    }
    for key in visible {
        let details = parse(key)?;
        if details.version != version {
            let detail = "the group has files of version 1 (a list) and of version 2 (a history)";
            return Err(Error::inconsistent(context.describe(key), "group version", 0, detail));
        }
        members.apply(details);
    }
    Ok((Some(version), members))
}

impl Group {
    /// Opens the group in a local folder as it is now.
    ///
    /// # Errors
    /// The folder contains no group, or a file is damaged.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        SnapshotOptions::new().open_group(path)
    }

    /// The location of the group.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.location
    }

    /// How its members are stored; `None` if no file lists members.
    #[must_use]
    pub const fn version(&self) -> Option<GroupVersion> {
        self.version
    }

    /// The window the group was opened in; by default, it ends at the time of opening.
    #[must_use]
    pub const fn window(&self) -> TimeWindow {
        self.window
    }

    /// The members, ordered by their keys.
    pub fn members(&self) -> impl Iterator<Item = &GroupMember> {
        self.members.iter()
    }

    /// The location of a member: relative URIs are relative to the group, local ones become paths,
    /// others stay as they are. If the group's URL has a signature, it also grants access to the
    /// relative ones, so it is part of their locations: show [`location_without_secrets`] of it.
    #[must_use]
    pub fn location_of(&self, member: &GroupMember) -> String {
        if !member.relative {
            return member.uri.strip_prefix("file://").unwrap_or(&member.uri).to_owned();
        }
        let (place, query) = split_query(&self.location);
        let mut location = place.to_owned();
        for part in member.uri.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if !location.ends_with('/') && !location.is_empty() {
                location.push('/');
            }
            location.push_str(part);
        }
        location.push_str(query);
        location
    }

    /// The type of the object at a member's location, whatever type the group says it has.
    #[must_use]
    pub fn look(&self, member: &GroupMember) -> Found {
        let location = self.location_of(member);
        // Without a scheme or a root, an absolute URI would be relative to the program's working
        // directory.
        let placed = member.relative || location.starts_with('/') || location.contains("://");
        let Some(storage) = self.places.storage(&location).filter(|_| placed) else {
            return Found::Elsewhere;
        };
        match object_type(&*storage) {
            Ok(object) => Found::Object(object),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Missing,
            Err(error) => Found::Failed(Error::io(location_without_secrets(&location), error)),
        }
    }

    /// The group's key-value metadata, as of the window.
    ///
    /// # Errors
    /// A damaged metadata file.
    pub fn metadata(&self) -> Result<ArrayMetadata> {
        self.metadata.metadata(&self.context, self.window())
    }

    /// Opens a member that is also a group, in the same window, with the same key.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_member(&self, member: &GroupMember) -> Result<Self> {
        self.options.clone().open_group_in(self.places.clone(), self.location_of(member))
    }
}

#[cfg(test)]
mod tests;
