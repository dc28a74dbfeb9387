//! Creating groups and changing their members.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tdb_schema::{GroupDetails, GroupMember, GroupMembers, GroupVersion, ObjectType};

use crate::context::Context;
use crate::create::generic_tile;
use crate::group::members;
use crate::names::{Names, Nonces};
use crate::object::{list_root, object_type};
use crate::paths::{GROUP_FOLDER, GROUP_MARKER, METADATA};
use crate::put::{ensure_folder, put, sync_folder};
use crate::storage::{
    Below, Durability, LocalPlaces, LocalStorage, Places, Storage, WriteStorage, join,
    location_without_secrets,
};
use crate::timed::TimedFiles;
use crate::{Error, Result, TimeWindow, WriteError, clock};
use crate::{MetadataChanges, WriteOptions};

const WHAT: &str = "changing a group";

impl WriteOptions {
    /// Creates a group in a local folder, which is created if it does not exist.
    ///
    /// # Errors
    /// An array or group there already, or any I/O error of the storage.
    pub fn create_group(self, path: impl Into<PathBuf>) -> Result<()> {
        self.create_group_storage(&LocalStorage::new(path))
    }

    /// Creates a group in a storage.
    ///
    /// # Errors
    /// As for [`Self::create_group`].
    pub fn create_group_storage(self, storage: &dyn WriteStorage) -> Result<()> {
        refuse_taken(storage)?;
        storage.create_folder("").map_err(|error| Error::io(storage.describe(""), error))?;
        mark(storage, self.durability)
    }

    /// Begins a group in a storage: there is none until its first members and its metadata are
    /// committed, together. If that fails, what was written of it is removed as far as the storage
    /// allows.
    ///
    /// # Errors
    /// As for [`Self::create_group`].
    pub fn begin_group_storage(self, storage: impl WriteStorage + 'static) -> Result<GroupWriter> {
        let storage: Arc<dyn WriteStorage> = Arc::new(storage);
        refuse_taken(&*storage)?;
        storage.create_folder("").map_err(|error| Error::io(storage.describe(""), error))?;
        Ok(GroupWriter {
            context: self.context(storage.clone()),
            storage,
            options: self,
            version: GroupVersion::V2,
            members: GroupMembers::default(),
            changes: BTreeMap::new(),
            metadata: MetadataChanges::new(),
            is_new: true,
        })
    }

    /// Opens the group in a local folder for changes.
    ///
    /// # Errors
    /// No group there, or a damaged file.
    pub fn open_group(self, path: impl Into<PathBuf>) -> Result<GroupWriter> {
        self.open_group_storage(LocalStorage::new(path))
    }

    /// Opens the group in a storage for changes.
    ///
    /// # Errors
    /// As for [`Self::open_group`].
    pub fn open_group_storage(self, storage: impl WriteStorage + 'static) -> Result<GroupWriter> {
        let storage: Arc<dyn WriteStorage> = Arc::new(storage);
        let context = self.context(storage.clone());
        let (root, _) = list_root(&*context.storage, &[ObjectType::Group])?;
        let files = TimedFiles::load(&*context.storage, &root, GROUP_FOLDER)?;
        // A write at a given time changes the state at that time.
        let end = self.given_time().or_else(clock::present).ok_or(WriteError::NoClock)?;
        let (version, members) = members(&context, &files, TimeWindow::until(end))?;
        let version = version.unwrap_or(GroupVersion::V2);
        let metadata = MetadataChanges::new();
        Ok(GroupWriter {
            context,
            storage,
            options: self,
            version,
            members,
            changes: BTreeMap::new(),
            metadata,
            is_new: false,
        })
    }
}

/// Refuses a folder that is something already.
fn refuse_taken(storage: &dyn WriteStorage) -> Result<()> {
    match object_type(storage) {
        Ok(ObjectType::Invalid) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(WriteError::Exists.into()),
        Err(error) => Err(Error::io(storage.describe(""), error)),
    }
}

/// Makes a folder a group for every reader.
fn mark(storage: &dyn WriteStorage, durability: Durability) -> Result<()> {
    ensure_folder(storage, METADATA, durability)?;
    // For this reader, the folder of details alone makes a group; other readers need the marker.
    ensure_folder(storage, GROUP_FOLDER, durability)?;
    put(storage, GROUP_MARKER, &[], durability)?;
    sync_folder(storage, "", durability)
}

/// Changes to a group: members and key-value metadata. They take effect when they are committed.
///
/// If the group's files are a history (version 2), only what changed is written, so that two
/// writers do not undo each other's removals. If each file is a full list (version 1), all members
/// are written.
///
/// ```
/// use tdb_array::WriteOptions;
/// use tdb_array::group::{GroupMember, ObjectType};
/// use tdb_array::storage::MemoryStorage;
///
/// let storage = MemoryStorage::default();
/// WriteOptions::new().create_group_storage(&storage)?;
/// let mut group = WriteOptions::new().open_group_storage(storage.clone())?;
/// group.add(GroupMember::new(ObjectType::Array, "a").with_name("first").with_relative_uri())?;
/// group.commit()?;
/// assert!(WriteOptions::new().open_group_storage(storage)?.remove("second").is_err());
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "changes of a group count when they are committed"]
pub struct GroupWriter {
    context: Context,
    storage: Arc<dyn WriteStorage>,
    options: WriteOptions,
    version: GroupVersion,
    members: GroupMembers,
    /// By key: members to add, and members to remove, with their mark.
    changes: BTreeMap<String, GroupMember>,
    metadata: MetadataChanges,
    /// Whether there is no group yet.
    is_new: bool,
}

impl GroupWriter {
    #[doc(hidden)]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    #[doc(hidden)]
    pub const fn storage(&self) -> &Arc<dyn WriteStorage> {
        &self.storage
    }

    #[doc(hidden)]
    pub const fn options(&self) -> &WriteOptions {
        &self.options
    }

    /// The version in which the group's members are stored.
    #[must_use]
    pub const fn version(&self) -> GroupVersion {
        self.version
    }

    /// The members as they will be after the commit, in the order of their keys.
    #[must_use]
    pub fn members(&self) -> Vec<GroupMember> {
        let mut all: BTreeMap<&str, &GroupMember> = self.members.iter().map(|m| (m.key(), m)).collect();
        for (key, member) in &self.changes {
            if member.deleted {
                all.remove(key.as_str());
            } else {
                all.insert(key, member);
            }
        }
        all.into_values().cloned().collect()
    }

    /// Adds a member.
    ///
    /// # Errors
    /// A member with the same key, no URI, or a type that is neither array nor group.
    pub fn add(&mut self, mut member: GroupMember) -> Result<()> {
        let refuse = |why: &str| {
            Err(Error::refused(WHAT, format!("member \"{}\" {why}", member.key().escape_debug())))
        };
        if member.uri.is_empty() || member.name.as_deref() == Some("") {
            return refuse("has no URI or an empty name");
        }
        if member.object == ObjectType::Invalid {
            return refuse("is neither an array nor a group");
        }
        if self.members().iter().any(|other| other.key() == member.key()) {
            return refuse("is in the group already");
        }
        let key = member.key().to_owned();
        (member.version, member.deleted) = (self.version, false);
        self.changes.insert(key, member);
        Ok(())
    }

    /// Adds the array or group at a path in the local file system; if `relative`, the path is
    /// relative to the group's folder. Its type is detected.
    ///
    /// # Errors
    /// As for [`Self::add`]; nothing there.
    pub fn add_path(&mut self, path: &str, relative: bool, name: Option<&str>) -> Result<()> {
        self.add_in(&LocalPlaces, path, relative, name)
    }

    /// Adds the array or group at a location; if `relative`, the location is relative to the
    /// group's folder. Its type is detected. The group stores the location without a user name, a
    /// password, or the query of a web server's URL: everybody who may read the group could read
    /// these.
    ///
    /// # Errors
    /// As for [`Self::add`]; nothing there, or a location that these places do not support.
    pub fn add_in(
        &mut self,
        places: &dyn Places,
        location: &str,
        relative: bool,
        name: Option<&str>,
    ) -> Result<()> {
        let place = if relative { join(&self.storage.describe(""), location) } else { location.to_owned() };
        let place = place.strip_prefix("file://").unwrap_or(&place).to_owned();
        let shown = location_without_secrets(&place);
        let parts: Vec<&str> = location.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        // The group's own storage has all that it takes to look at what is below. A description of
        // it lacks the secrets.
        let storage: Option<Box<dyn Storage>> = if relative && !parts.contains(&"..") {
            Some(Box::new(Below::new(self.storage.clone(), parts.join("/"))))
        } else {
            places.storage(&place)
        };
        let Some(storage) = storage else {
            return Err(Error::unsupported(shown, "members at this kind of place are not supported"));
        };
        let object = object_type(&*storage).map_err(|error| Error::io(&*shown, error))?;
        let uri = if relative {
            location.to_owned()
        } else if place.contains("://") {
            shown.into_owned()
        } else {
            let absolute = std::path::absolute(&place).map_err(|error| Error::io(&place, error))?;
            format!("file://{}", absolute.display())
        };
        let mut member = GroupMember::new(object, uri);
        (member.relative, member.name) = (relative, name.map(str::to_owned));
        self.add(member)
    }

    /// Removes a member by its name, or by its URI if only one member has that URI.
    ///
    /// # Errors
    /// No such member, or several.
    pub fn remove(&mut self, name_or_uri: &str) -> Result<()> {
        let members = self.members();
        let by_name = members.iter().find(|member| member.key() == name_or_uri);
        // A location is stored without its secrets.
        let stored = location_without_secrets(name_or_uri);
        let mut by_uri = members.iter().filter(|member| member.uri == name_or_uri || member.uri == stored);
        let mut found = match (by_name, by_uri.next(), by_uri.next()) {
            (Some(member), ..) | (None, Some(member), None) => member.clone(),
            (None, None, _) => {
                let why = format!("there is no member \"{}\"", name_or_uri.escape_debug());
                return Err(Error::refused(WHAT, why));
            }
            (None, Some(_), Some(_)) => {
                let why = format!(
                    "several members have the URI \"{}\": give the name of one",
                    name_or_uri.escape_debug()
                );
                return Err(Error::refused(WHAT, why));
            }
        };
        let key = found.key().to_owned();
        if self.members.iter().any(|member| member.key() == key) {
            (found.version, found.deleted) = (self.version, true);
            self.changes.insert(key, found);
        } else {
            self.changes.remove(&key);
        }
        Ok(())
    }

    /// Changes the group's key-value metadata.
    pub fn metadata(&mut self, changes: MetadataChanges) {
        self.metadata = changes;
    }

    /// Writes the changes: members in one file, metadata in another.
    ///
    /// # Errors
    /// Any I/O error of the storage. Metadata may be written already then, if both were changed.
    pub fn commit(self) -> Result<()> {
        if self.is_new {
            return self.finish().inspect_err(|_| self.discard());
        }
        let metadata = self.metadata.write(&*self.storage, &self.options)?;
        self.write_members()?;
        if metadata.is_some() || !self.changes.is_empty() { self.renew_manifest(&[]) } else { Ok(()) }
    }

    /// Makes a group of what was begun. The metadata comes first: the members make it a group.
    fn finish(&self) -> Result<()> {
        self.metadata.write(&*self.storage, &self.options)?;
        self.write_members()?;
        mark(&*self.storage, self.options.durability)
    }

    /// Removes what was written of a group that is not complete, the members first.
    fn discard(&self) {
        // What cannot be removed is in the way of another group here, and no more than that.
        let _ = self.storage.remove_folder(GROUP_FOLDER);
        let _ = self.storage.remove_file(GROUP_MARKER);
        let _ = self.storage.remove_folder(METADATA);
    }

    fn write_members(&self) -> Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let members = if self.version == GroupVersion::V1 {
            let mut members = self.members();
            members.iter_mut().for_each(|member| member.version = GroupVersion::V1);
            members
        } else {
            self.changes.values().cloned().collect()
        };
        let details = GroupDetails { version: self.version, members };
        let payload = details.to_bytes().map_err(|error| Error::refused(WHAT, error.to_string()))?;
        let mut scratch = Nonces::new()?.scratch();
        let bytes = generic_tile(&payload, self.context.key.as_ref(), &mut scratch)?;
        let name = Names::behind(&*self.storage, GROUP_FOLDER, self.options.when()?)?.next_file()?;
        let name = match self.version {
            // The format that the first libraries with groups used for these files.
            GroupVersion::V1 => name.to_string(),
            version => format!("{name}_{version}"),
        };
        ensure_folder(&*self.storage, GROUP_FOLDER, self.options.durability)?;
        put(&*self.storage, &join(GROUP_FOLDER, &name), &bytes, self.options.durability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;
    use crate::storage::testing::{Fault, Faults, FaultyStorage};

    /// A group with an array in it, and a place that knows the array only with its signature.
    #[derive(Debug)]
    struct Signed(MemoryStorage);

    impl Places for Signed {
        fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
            let array = location.strip_prefix("https://user:word@host/")?.strip_suffix("?sig=secret")?;
            Some(Box::new(Below::new(Arc::new(self.0.clone()), array)))
        }

        fn identity(&self, location: &str) -> String {
            location.to_owned()
        }
    }

    /// A new group with an array in it and an entry of metadata.
    fn begun(storage: impl WriteStorage + 'static) -> GroupWriter {
        let mut group = WriteOptions::new().begin_group_storage(storage).unwrap();
        group.add(GroupMember::new(ObjectType::Array, "a").with_name("a").with_relative_uri()).unwrap();
        group.metadata(MetadataChanges::new().put_text("key", "value"));
        group
    }

    #[test]
    fn a_group_that_was_begun_is_there_with_its_members_or_not_at_all() {
        let storage = MemoryStorage::default();
        let group = begun(storage.clone());
        assert!(WriteOptions::new().open_group_storage(storage.clone()).is_err());
        group.commit().unwrap();
        let group = WriteOptions::new().open_group_storage(storage.clone()).unwrap();
        assert_eq!(group.members().len(), 1);
        assert!(WriteOptions::new().begin_group_storage(storage).is_err());
        // Whichever call fails, nothing is left that could be taken for a group.
        for fault in [Fault::Fail(io::ErrorKind::TimedOut), Fault::FailAfter(io::ErrorKind::TimedOut)] {
            let mut failures = 0;
            for call in 0.. {
                let storage = Arc::new(FaultyStorage::new(MemoryStorage::default()));
                let group = begun(storage.clone());
                storage.set(Faults::call(call, fault));
                if group.commit().is_ok() {
                    // A call that a commit does without may fail.
                    if storage.faults() == 0 {
                        break;
                    }
                    continue;
                }
                failures += 1;
                let left = object_type(storage.inner());
                assert!(!matches!(left, Ok(ObjectType::Group)), "{fault:?} of call {call}: {left:?}");
            }
            assert!(failures > 2, "{fault:?}: {failures}");
        }
    }

    #[test]
    fn secrets_of_members_are_used_and_not_stored() {
        let storage = MemoryStorage::new([("a/__schema/x".to_owned(), Vec::new())]);
        WriteOptions::new().create_group_storage(&storage).unwrap();
        let mut group = WriteOptions::new().open_group_storage(storage.clone()).unwrap();
        let places = Signed(storage.clone());
        group.add_in(&places, "https://user:word@host/a?sig=secret", false, Some("signed")).unwrap();
        // The place does not know the array without its signature, but the group's own storage
        // does.
        group.add_in(&places, "./a/", true, Some("below")).unwrap();
        let members: Vec<_> =
            group.members().into_iter().map(|member| (member.uri, member.object, member.relative)).collect();
        let array = ObjectType::Array;
        assert_eq!(members, [("./a/".into(), array, true), ("https://host/a".into(), array, false)]);

        let error = group.add_in(&places, "https://user:word@host/b?sig=secret", false, None).unwrap_err();
        assert!(!error.to_string().contains("secret") && !error.to_string().contains("word"), "{error}");
        group.remove("https://user:word@host/a?sig=secret").unwrap();
        assert_eq!(group.members().len(), 1);
    }
}
