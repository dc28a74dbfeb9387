//! Lists the folder of an array, and finds the files in it that are used: schemas, visible
//! fragments, deletes, metadata files.

mod commits;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use tdb_codec::{FormatVersion, Gate, UnsupportedVersion};
use tdb_fragment::{CommitKind, TimestampedName, is_hidden_name};
use tdb_schema::ObjectType;
use tdb_tile::{Encryption, GenericTile};

use self::commits::{Commits, settled_commits};
use crate::context::Context;
use crate::object::{list_root, root_of};
use crate::paths::{
    COMMITS, ENUMERATIONS, FRAGMENT_META, FRAGMENTS, LOCK_FILE, METADATA, OLD_SCHEMA, PARTIAL, SCHEMA_FOLDER,
};
use crate::storage::{Entry, PrefetchedStorage, ReadSet, Reply, Request, Storage, join};
use crate::thresholds::MAX_ATTEMPTS;
use crate::timed::{TimedFiles, last_part};
use crate::{Error, Result, TimeWindow};

/// A committed fragment, before its metadata is read.
#[derive(Clone, Debug)]
pub struct FragmentEntry {
    /// Its folder's name.
    pub name: Arc<str>,
    /// Its folder's key.
    pub folder: Arc<str>,
    /// The parsed name.
    pub parsed: TimestampedName,
}

impl FragmentEntry {
    /// A fragment, given the key of its folder.
    pub fn new(storage: &dyn Storage, folder: String) -> Result<Self> {
        let name = last_part(&folder);
        let parsed =
            TimestampedName::parse(name).map_err(|error| Error::corrupt(storage.describe(&folder), error))?;
        if parsed.version.is_none() {
            let number = name.rsplit('_').next().and_then(|number| number.parse().ok());
            let what = format!("a fragment of {}", UnsupportedVersion(number.unwrap_or_default()));
            return Err(Error::unsupported(storage.describe(&folder), what));
        }
        Ok(Self { name: name.into(), folder: folder.as_str().into(), parsed })
    }

    /// The version that its name contains or implies.
    pub fn version(&self) -> FormatVersion {
        self.parsed.version.unwrap_or(FormatVersion::OLDEST)
    }
}

/// A delete condition (or that of an update), before it is read.
#[derive(Clone, Debug)]
pub(crate) struct DeleteEntry {
    /// When cells were deleted.
    pub time: u64,
    /// The array-relative path of its file. It identifies the delete, even after it was
    /// consolidated.
    pub path: String,
    /// The file that contains it.
    pub key: String,
    /// Its offset and bytes in a consolidated commits file.
    pub inside: Option<(u64, bytes::Bytes)>,
}

impl DeleteEntry {
    /// Whether the file is an update.
    pub(crate) fn is_update(&self) -> bool {
        self.path.ends_with(CommitKind::Update.suffix())
    }
}

/// The only files of an array that are to be used: the keys of its schema, of its fragments'
/// folders, and of its deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactFiles {
    /// The schema.
    pub schema: String,
    /// The fragments.
    pub fragments: Vec<String>,
    /// The deletes.
    pub deletes: Vec<String>,
}

/// The contents of an array's folder, according to listings and commit files.
#[derive(Debug)]
pub struct Directory {
    /// Keys of all schema files: `__array_schema.tdb` first, then `__schema/*` in byte order of
    /// their names.
    pub schemas: Vec<String>,
    /// All committed fragments, oldest first: by first timestamp, then by key.
    pub fragments: Vec<FragmentEntry>,
    /// For each vacuum file its key, its name, and the folders it lists.
    pub vacuums: Vec<(String, TimestampedName, Vec<String>)>,
    /// Delete conditions, oldest first.
    pub(crate) deletes: Vec<DeleteEntry>,
    /// Array metadata files.
    pub metadata: TimedFiles,
    /// Whether there is an empty lock file (version 10 and before).
    pub(crate) has_lock: bool,
    /// Keys of consolidated fragment metadata in the root (version 11 and before).
    pub(crate) root_meta: Vec<String>,
    /// Whether there is a folder for such files.
    pub(crate) has_fragment_meta: bool,
}

impl Directory {
    /// Lists the array's folders and reads its commit files, as they are at one moment.
    pub fn load(storage: &dyn Storage) -> Result<Self> {
        retry_if_vacuumed(|| Self::load_once(storage, None))
    }

    /// The same through a storage that may prefetch.
    pub(crate) fn load_prefetched(context: &Context) -> Result<Self> {
        retry_if_vacuumed(|| Self::load_once(&*context.storage, context.prefetched.as_deref()))
    }

    fn load_once(storage: &dyn Storage, prefetched: Option<&PrefetchedStorage>) -> Result<Self> {
        if let Some(prefetched) = prefetched {
            // This may be another attempt, because something that was fetched before no longer
            // exists.
            prefetched.forget();
            // Old arrays do not have all of these: listing a folder that does not exist costs a
            // request, but no time.
            let folders = ["", SCHEMA_FOLDER, COMMITS, METADATA, FRAGMENT_META];
            let files = folders.map(|folder| Request::List(folder.to_owned())).into();
            prefetched.prefetch(&ReadSet { files, ..ReadSet::default() });
        }
        let fail = |key: &str, error| Error::io(storage.describe(key), error);
        let (root, _) = list_root(storage, &[ObjectType::Array])?;
        let has = |name: &str, folder| root.iter().any(|e| e.name == name && e.is_folder == folder);
        let list = |folder: &str| -> Result<Vec<Entry>> {
            if !has(folder, true) {
                return Ok(Vec::new());
            }
            let mut entries = storage.list(folder).map_err(|error| fail(folder, error))?;
            entries.sort_unstable();
            Ok(entries)
        };

        let schemas = schemas(storage, &root, || storage.list(SCHEMA_FOLDER))?;
        let Commits { fragments, vacuums, deletes } =
            settled_commits(storage, prefetched, &root, list(COMMITS)?)?;
        let metadata = TimedFiles::load(storage, &root, METADATA)?;
        let has_lock = has(LOCK_FILE, false);
        let has_fragment_meta = has(FRAGMENT_META, true);
        let is_meta = |entry: &&Entry| {
            !entry.is_folder
                && matches!(CommitKind::of(&entry.name), Some((CommitKind::ConsolidatedMetadata, _)))
        };
        let root_meta = root.iter().filter(is_meta).map(|entry| entry.name.clone()).collect();
        Ok(Self { schemas, fragments, vacuums, deletes, metadata, has_lock, root_meta, has_fragment_meta })
    }

    /// The keys of all schema files, as in `schemas`. This is all that a writer needs, even if
    /// there are many fragments.
    pub fn schemas(storage: &dyn Storage) -> Result<Vec<String>> {
        // Both are requested at once, so that a slow storage needs to be waited for only once.
        let requests = ["", SCHEMA_FOLDER].map(|folder| Request::List(folder.to_owned()));
        let mut listed =
            storage.fetch(&requests).into_iter().map(|reply| reply.and_then(Reply::into_entries));
        let mut next = || listed.next().unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
        let (root, named) = (next(), next());
        let (root, _) = root_of(storage, root, &[ObjectType::Array])?;
        schemas(storage, &root, || named)
    }

    /// The schema of an array that is opened until `end`: the last file, in byte order of names,
    /// that was written by then; the first file if none was.
    pub(crate) fn latest_schema(&self, storage: &dyn Storage, end: u64) -> Result<&str> {
        let mut latest = None;
        for key in &self.schemas {
            let written = if key == OLD_SCHEMA { 0 } else { schema_time(storage, key)? };
            if written <= end {
                latest = Some(key);
            }
        }
        Ok(latest.or(self.schemas.first()).map_or(OLD_SCHEMA, String::as_str))
    }

    /// Removes all fragments and deletes except those with these keys. Returns the keys that do not
    /// exist. A fragment that was consolidated exists until it is vacuumed.
    pub(crate) fn keep_only(&mut self, files: &ExactFiles) -> Vec<String> {
        let fragments: HashSet<&str> = files.fragments.iter().map(String::as_str).collect();
        let deletes: HashSet<&str> = files.deletes.iter().map(String::as_str).collect();
        self.fragments.retain(|fragment| fragments.contains(&*fragment.folder));
        self.deletes.retain(|delete| deletes.contains(delete.path.as_str()));
        self.vacuums.clear();
        let mut there: HashSet<&str> = self.fragments.iter().map(|fragment| &*fragment.folder).collect();
        there.extend(self.deletes.iter().map(|delete| delete.path.as_str()));
        there.extend(self.schemas.iter().filter(|key| **key == files.schema).map(String::as_str));
        let all = [&files.schema].into_iter().chain(&files.fragments).chain(&files.deletes);
        all.filter(|key| !there.contains(key.as_str())).cloned().collect()
    }

    /// The fragments visible in `window`, oldest first.
    ///
    /// Fragments of dense arrays, and those of versions before 15, must be inside the window;
    /// others need only overlap it. Fragments that a visible consolidated one replaces are left
    /// out.
    pub fn visible(&self, window: TimeWindow, dense: bool) -> Vec<FragmentEntry> {
        let sees = |name: &TimestampedName| Self::sees(window, dense, name);
        let replaced: HashSet<&str> = self
            .vacuums
            .iter()
            .filter(|(_, name, _)| sees(name))
            .flat_map(|(_, _, folders)| folders.iter().map(String::as_str))
            .collect();
        let seen = self.fragments.iter().filter(|fragment| sees(&fragment.parsed));
        seen.filter(|fragment| !replaced.contains(&*fragment.folder)).cloned().collect()
    }

    /// Whether something with this name is visible in a window.
    pub(crate) fn sees(window: TimeWindow, dense: bool, name: &TimestampedName) -> bool {
        let overlap = !dense && name.version.is_some_and(|version| version.has(Gate::OverlappingTimeWindows));
        if overlap { window.overlaps(name.timestamps) } else { window.contains(name.timestamps) }
    }

    /// The deletes visible in `window`, oldest first.
    pub(crate) fn visible_deletes(&self, window: TimeWindow) -> impl Iterator<Item = &DeleteEntry> {
        self.deletes.iter().filter(move |delete| window.contains((delete.time, delete.time)))
    }
}

/// Whether an array is encrypted: its newest schema is, then. No key is needed to find this out.
///
/// ```
/// use tdb_array::schema::is_encrypted;
/// use tdb_array::storage::LocalStorage;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// assert!(!is_encrypted(&LocalStorage::new(path))?);
/// # Ok::<(), tdb_array::Error>(())
/// ```
///
/// # Errors
/// The storage contains no array, or its newest schema is damaged.
pub fn is_encrypted(storage: &dyn Storage) -> Result<bool> {
    let schemas = Directory::schemas(storage)?;
    let key = schemas.last().map_or(OLD_SCHEMA, String::as_str);
    let (_, bytes) =
        storage.read_tail(key, u64::MAX).map_err(|error| Error::io(storage.describe(key), error))?;
    let tile = GenericTile::parse(&bytes, 0);
    let tile = tile.map_err(|error| Error::from_tile(storage.describe(key), None, error))?;
    Ok(tile.encryption == Encryption::Aes256Gcm)
}

/// The keys of all schema files, given the entries in an array's root, and those in its schema
/// folder if it has one. There is at least one.
fn schemas(
    storage: &dyn Storage,
    root: &[Entry],
    listed: impl FnOnce() -> io::Result<Vec<Entry>>,
) -> Result<Vec<String>> {
    let mut schemas = Vec::new();
    if root.iter().any(|entry| entry.name == OLD_SCHEMA && !entry.is_folder) {
        schemas.push(OLD_SCHEMA.to_owned());
    }
    if root.iter().any(|entry| entry.name == SCHEMA_FOLDER && entry.is_folder) {
        let mut named = listed().map_err(|error| Error::io(storage.describe(SCHEMA_FOLDER), error))?;
        named.sort_unstable();
        let is_schema = |entry: &&Entry| {
            let other = entry.name == ENUMERATIONS || entry.name.ends_with(PARTIAL);
            !other && !entry.is_folder && !is_hidden_name(&entry.name)
        };
        let files = named.iter().filter(is_schema);
        schemas.extend(files.map(|entry| join(SCHEMA_FOLDER, &entry.name)));
    }
    if schemas.is_empty() {
        return Err(Error::NotAnArray {
            path: storage.describe(SCHEMA_FOLDER),
            why: "the array has no schema file",
        });
    }
    Ok(schemas)
}

/// The time when a schema file was written.
fn schema_time(storage: &dyn Storage, key: &str) -> Result<u64> {
    let name = last_part(key);
    let parsed =
        TimestampedName::parse(name).map_err(|error| Error::corrupt(storage.describe(key), error))?;
    Ok(parsed.timestamps.1)
}

/// Repeats a read that failed because a file no longer exists: a vacuum may have removed what was
/// listed a moment ago.
pub(crate) fn retry_if_vacuumed<R>(read: impl Fn() -> Result<R>) -> Result<R> {
    let gone = |result: &Result<R>| matches!(result, Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound);
    let mut result = read();
    for _ in 1..MAX_ATTEMPTS {
        if !gone(&result) {
            break;
        }
        result = read();
    }
    result
}

/// Keys of the folders that look like fragments, committed or not.
pub fn fragment_folders(root: &[Entry], fragments: &[Entry]) -> Vec<String> {
    let named = |entry: &&Entry| entry.is_folder && TimestampedName::parse(&entry.name).is_ok();
    let old = root.iter().filter(named).map(|entry| entry.name.clone());
    old.chain(fragments.iter().filter(named).map(|entry| join(FRAGMENTS, &entry.name))).collect()
}
