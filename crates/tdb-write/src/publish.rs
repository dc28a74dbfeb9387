//! Publishing: the manifest that plain web servers need, and its renewal.
//!
//! A manifest lists the files that an array or a group has at one moment, so that it can be read
//! where listing is not possible. It may be older than the array, but never lists a file that does
//! not exist yet:
//!
//! - *Commits first.* The folder of commits is listed before the fragments, and once more after
//!   them. Every fragment that was committed the first time has all its files by then. If something
//!   is gone the second time, everything is listed again, because a vacuum removes a commit before
//!   it removes the fragment.
//! - *No lost updates.* The version of the manifest is read before anything is listed, and exactly
//!   that version is replaced. Of two writers, the later one lists again, so every manifest
//!   contains everything that was committed before the manifest it replaces was written.
//! - *Renewed last, or first.* A write renews the manifest after its commit. A vacuum renews it
//!   before it removes anything, without the files that it will remove.
//!
//! A crash between a commit and the renewal leaves an outdated manifest: the next write or
//! `tdb publish` renews it.

use std::collections::HashSet;
use std::io;

use tdb_codec::to_u64;
use tdb_schema::ObjectType;
use tdb_snapshot::UNFINISHED;

use crate::directory::Directory;
use crate::object::list_root;
use crate::paths::{
    COMMITS, FRAGMENT_META, FRAGMENT_METADATA, FRAGMENTS, GROUP_FOLDER, GROUP_MARKER, LABELS, METADATA,
    PARTIAL, SCHEMA_FOLDER,
};
use crate::put::sync_folder;
use crate::storage::{
    Below, Durability, Entry, FileVersion, LocalStorage, MANIFEST, Manifest, ManifestError, Reply, Request,
    Storage, WriteStorage, join,
};
use crate::thresholds::{MAX_DEPTH, MAX_LISTINGS, MAX_REPLACEMENTS};
use crate::{ArrayWriter, GroupWriter, WriteOptions};
use crate::{Error, Result, WriteError, clock};

const WHAT: &str = "publishing";

/// The time, files and bytes of a published state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Publication {
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// Number of files in the manifest.
    pub files: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

impl WriteOptions {
    /// Publishes the array or group in a local folder: writes the manifest, from which it is read
    /// on web servers that cannot list folders. From then on every write with tdb renews it.
    ///
    /// # Errors
    /// Neither an array nor a group there, or any I/O error of the storage.
    pub fn publish(self, path: impl Into<std::path::PathBuf>) -> Result<Publication> {
        self.publish_storage(&LocalStorage::new(path))
    }

    /// Publishes the array or group in a storage. For a group, only the group itself: each member
    /// has its own manifest.
    ///
    /// ```
    /// use tdb_array::publish::Published;
    /// use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
    /// use tdb_array::storage::MemoryStorage;
    /// use tdb_array::{OpenOptions, WriteOptions};
    ///
    /// let schema = ArraySchema::dense()
    ///     .dimension(Dimension::new("x", 1i32..=4))
    ///     .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
    ///     .build()?;
    /// let storage = MemoryStorage::default();
    /// WriteOptions::new().create_storage(&storage, &schema)?;
    /// let published = WriteOptions::new().publish_storage(&storage)?;
    /// assert_eq!(published.files, 1);
    /// let array = OpenOptions::new().open_storage(Published::open(storage)?)?;
    /// assert_eq!(array.schema().attributes[0].name, "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Self::publish`].
    pub fn publish_storage(self, storage: &dyn WriteStorage) -> Result<Publication> {
        let fail = |error| Error::io(storage.describe(MANIFEST), error);
        for _ in 0..MAX_REPLACEMENTS {
            let before = current(storage).map_err(fail)?;
            // A damaged manifest is replaced like any other.
            let old = before.as_ref().and_then(|(bytes, _)| Manifest::parse(bytes).ok());
            let manifest = collect(storage, self.publishing_time(old.as_ref()), None)?;
            let version = before.as_ref().map(|(_, version)| version.as_ref());
            if swap(storage, version, &manifest, self.durability)? != Swap::Lost {
                let (files, bytes) = total(&manifest);
                return Ok(Publication { time: manifest.time(), files, bytes });
            }
        }
        Err(Error::refused(WHAT, "other writers keep replacing the manifest"))
    }

    /// The manifest that [`Self::publish_storage`] would write if there were none, without writing
    /// it: for servers that make it when it is asked for.
    ///
    /// ```
    /// use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
    /// use tdb_array::storage::{MemoryStorage, Storage};
    /// use tdb_array::{WriteOptions, publish::MANIFEST};
    ///
    /// let schema = ArraySchema::dense()
    ///     .dimension(Dimension::new("x", 1i32..=4))
    ///     .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
    ///     .build()?;
    /// let storage = MemoryStorage::default();
    /// WriteOptions::new().create_storage(&storage, &schema)?;
    /// assert_eq!(WriteOptions::new().manifest_of(&storage)?.files().count(), 1);
    /// assert!(storage.size(MANIFEST).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Self::publish`].
    pub fn manifest_of(&self, storage: &dyn Storage) -> Result<Manifest> {
        collect(storage, self.publishing_time(None), None)
    }

    /// The time of a manifest: later than that of the previous one, so that no two are the same.
    fn publishing_time(&self, old: Option<&Manifest>) -> u64 {
        let now = clock::present().or(self.given_time()).unwrap_or(0);
        now.max(old.map_or(0, |old| old.time().saturating_add(1)))
    }
}

fn total(manifest: &Manifest) -> (u64, u64) {
    let bytes = manifest.files().fold(0u64, |bytes, (_, size)| bytes.saturating_add(size));
    (to_u64(manifest.files().count()), bytes)
}

impl ArrayWriter {
    /// Renews the manifest of the array after a write, if the array is published. It does not list
    /// the files and folders in `without`, which are about to be removed. Labels are in the folder
    /// of their array, and are published with it.
    ///
    /// # Errors
    /// [`WriteError::NotRenewed`]: the write itself has taken effect.
    #[doc(hidden)]
    pub fn renew_manifest(&self, without: &[&str]) -> Result<()> {
        // Nobody reads what is not an array yet.
        if self.is_new {
            return Ok(());
        }
        renew(&*self.storage, &self.options, without)?;
        let Some((outer, place)) = &self.outer else { return Ok(()) };
        let without: Vec<String> = without.iter().map(|key| join(place, key)).collect();
        let without: Vec<&str> = without.iter().map(String::as_str).collect();
        renew(&**outer, &self.options, &without)
    }
}

impl GroupWriter {
    /// As for [`ArrayWriter::renew_manifest`].
    #[doc(hidden)]
    pub fn renew_manifest(&self, without: &[&str]) -> Result<()> {
        renew(&**self.storage(), self.options(), without)
    }
}

/// Renews the manifest in a storage, if there is one.
pub(super) fn renew(storage: &dyn WriteStorage, options: &WriteOptions, without: &[&str]) -> Result<()> {
    renew_once(storage, options, without).map_err(|error| {
        WriteError::NotRenewed { path: storage.describe(MANIFEST), why: error.to_string() }.into()
    })
}

fn renew_once(storage: &dyn WriteStorage, options: &WriteOptions, without: &[&str]) -> Result<()> {
    let fail = |error| Error::io(storage.describe(MANIFEST), error);
    for _ in 0..MAX_REPLACEMENTS {
        let Some((bytes, version)) = current(storage).map_err(fail)? else { return Ok(()) };
        let old = Manifest::parse(&bytes).ok();
        let mut manifest = collect(storage, options.publishing_time(old.as_ref()), old.as_ref())?;
        without.iter().for_each(|key| manifest.remove(key));
        match swap(storage, Some(version.as_ref()), &manifest, options.durability)? {
            // If someone removed it, it is not wanted any more.
            Swap::Done | Swap::Gone => return Ok(()),
            Swap::Lost => {}
        }
    }
    Err(Error::refused(WHAT, "other writers keep replacing the manifest"))
}

/// The current manifest, and its version if the storage has versions.
fn current(storage: &dyn WriteStorage) -> io::Result<Option<(bytes::Bytes, Option<FileVersion>)>> {
    let read = match storage.read_versioned(MANIFEST) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            storage.read(MANIFEST).map(|bytes| (bytes, None))
        }
        read => read.map(|(bytes, version)| (bytes, Some(version))),
    };
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// The result of replacing a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swap {
    Done,
    /// Another manifest was put there in the meantime.
    Lost,
    /// The manifest no longer exists.
    Gone,
}

/// Replaces the manifest that was read, or creates one if there was none (`before` is `None`).
fn swap(
    storage: &dyn WriteStorage,
    before: Option<Option<&FileVersion>>,
    manifest: &Manifest,
    durability: Durability,
) -> Result<Swap> {
    let bytes = manifest.to_bytes();
    let swapped = match before {
        // A storage without versions: the last writer wins.
        Some(None) => Err(io::ErrorKind::Unsupported.into()),
        before => storage.swap_file(MANIFEST, before.flatten(), &bytes, durability).map(drop),
    };
    let put = match swapped {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Swap::Lost),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swap::Gone),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            storage.replace_file(MANIFEST, &bytes, durability)
        }
        swapped => swapped,
    };
    put.map_err(|error| Error::io(storage.describe(MANIFEST), error))?;
    sync_folder(storage, "", durability)?;
    Ok(Swap::Done)
}

/// The current files. Fragments contained in `known` are not listed again: they never change.
fn collect(storage: &dyn Storage, time: u64, known: Option<&Manifest>) -> Result<Manifest> {
    let mut last = Error::refused(WHAT, "files keep appearing and disappearing");
    for _ in 0..MAX_LISTINGS {
        let mut walk = Walk { storage, known, manifest: Manifest::new(time) };
        match walk.object("") {
            Ok(true) => return Ok(walk.manifest),
            Ok(false) => {}
            Err(error @ Error::Io { .. }) if is_gone(&error) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// A walk through the files that belong to an array or a group.
struct Walk<'w> {
    storage: &'w dyn Storage,
    known: Option<&'w Manifest>,
    manifest: Manifest,
}

impl Walk<'_> {
    /// Adds the array or group at a place; `false` if a part of it was removed in the meantime.
    fn object(&mut self, place: &str) -> Result<bool> {
        let own = Below::new(self.storage, place);
        let (root, kind) = list_root(&own, &[ObjectType::Array, ObjectType::Group])?;
        let folder = |name: &str| root.iter().any(|entry| entry.is_folder && entry.name == name);
        let files: Vec<&Entry> =
            root.iter().filter(|entry| !entry.is_folder && is_of_the_format(&entry.name)).collect();
        if kind == ObjectType::Group {
            self.files(place, files.into_iter().filter(|entry| entry.name == GROUP_MARKER))?;
            for name in [GROUP_FOLDER, METADATA].into_iter().filter(|name| folder(name)) {
                self.folder(&join(place, name), MAX_DEPTH)?;
            }
            return Ok(true);
        }
        let commits = if folder(COMMITS) { self.listed(&join(place, COMMITS))? } else { Vec::new() };
        let fragments = Directory::load(&own)?.fragments;
        self.files(place, files)?;
        for name in [FRAGMENTS, COMMITS].into_iter().filter(|name| folder(name)) {
            self.empty(&join(place, name))?;
        }
        self.files(&join(place, COMMITS), commits.iter().filter(|entry| !entry.is_folder))?;
        for name in [SCHEMA_FOLDER, METADATA, FRAGMENT_META].into_iter().filter(|name| folder(name)) {
            self.folder(&join(place, name), MAX_DEPTH)?;
        }
        if !self.fragments(fragments.iter().map(|fragment| join(place, &fragment.folder)).collect())? {
            return Ok(false);
        }
        // Labels have no labels of their own.
        if place.is_empty() && folder(LABELS) {
            self.empty(LABELS)?;
            for label in self.listed(LABELS)?.into_iter().filter(|entry| entry.is_folder) {
                if !self.object(&join(LABELS, &label.name))? {
                    return Ok(false);
                }
            }
        }
        let now = self.listed(place)?;
        let commits_now = if folder(COMMITS) { self.listed(&join(place, COMMITS))? } else { Vec::new() };
        let root = root.into_iter().filter(|entry| is_of_the_format(&entry.name)).collect::<Vec<_>>();
        Ok(all_in(&root, &now) && all_in(&commits, &commits_now))
    }

    /// Adds the files of fragments; `false` if one has no metadata, because it is being removed.
    fn fragments(&mut self, folders: Vec<String>) -> Result<bool> {
        let is_known = |folder: &str| {
            self.known.is_some_and(|known| known.size(&join(folder, FRAGMENT_METADATA)).is_some())
        };
        let (known, new): (Vec<String>, Vec<String>) =
            folders.into_iter().partition(|folder| is_known(folder));
        for (key, size) in
            known.iter().flat_map(|folder| self.known.into_iter().flat_map(|k| k.files_in(folder)))
        {
            add(&mut self.manifest, key, size)?;
        }
        let requests: Vec<Request> = new.iter().cloned().map(Request::List).collect();
        let replies = if requests.is_empty() { Vec::new() } else { self.storage.fetch(&requests) };
        if replies.len() != new.len() {
            // It is unknown which reply is missing.
            return Err(Error::io(self.storage.describe(FRAGMENTS), io::ErrorKind::UnexpectedEof.into()));
        }
        for (folder, reply) in new.iter().zip(replies) {
            let entries = reply.and_then(Reply::into_entries);
            let entries = entries.map_err(|error| Error::io(self.storage.describe(folder), error))?;
            self.files(folder, entries.iter().filter(|entry| !entry.is_folder))?;
            if self.manifest.size(&join(folder, FRAGMENT_METADATA)).is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds a folder and everything in it, at most `depth` folders deep.
    fn folder(&mut self, folder: &str, depth: usize) -> Result<()> {
        self.empty(folder)?;
        let entries = self.listed(folder)?;
        self.files(folder, entries.iter().filter(|entry| !entry.is_folder))?;
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        let folders = entries.iter().filter(|entry| entry.is_folder);
        folders.into_iter().try_for_each(|entry| self.folder(&join(folder, &entry.name), depth))
    }

    fn files<'e>(&mut self, folder: &str, entries: impl IntoIterator<Item = &'e Entry>) -> Result<()> {
        for entry in entries.into_iter().filter(|entry| !entry.name.ends_with(PARTIAL)) {
            let key = join(folder, &entry.name);
            let size = match entry.size {
                Some(size) => size,
                None => {
                    self.storage.size(&key).map_err(|error| Error::io(self.storage.describe(&key), error))?
                }
            };
            add(&mut self.manifest, &key, size)?;
        }
        Ok(())
    }

    /// Adds a folder, which stays empty unless an entry in it follows.
    fn empty(&mut self, folder: &str) -> Result<()> {
        self.manifest.add_folder(folder).map_err(|error| refuse(folder, &error))
    }

    fn listed(&self, folder: &str) -> Result<Vec<Entry>> {
        self.storage.list(folder).map_err(|error| Error::io(self.storage.describe(folder), error))
    }
}

fn add(manifest: &mut Manifest, key: &str, size: u64) -> Result<()> {
    manifest.add_file(key, size).map_err(|error| refuse(key, &error))
}

fn refuse(key: &str, error: &ManifestError) -> Error {
    Error::refused(WHAT, format!("{}: {:?}", key.escape_debug(), error.kind))
}

/// Whether a name in the folder of an array or a group belongs to the format.
fn is_of_the_format(name: &str) -> bool {
    name.starts_with("__") && !name.ends_with(PARTIAL) && name != UNFINISHED
}

/// Whether all of these entries still exist, unchanged.
fn all_in(before: &[Entry], now: &[Entry]) -> bool {
    let now: HashSet<(&str, Option<u64>)> =
        now.iter().map(|entry| (entry.name.as_str(), entry.size)).collect();
    before.iter().all(|entry| now.contains(&(entry.name.as_str(), entry.size)))
}
