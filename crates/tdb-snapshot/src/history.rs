//! The history of an array: everything that was written to it, as far as its files show it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tdb_codec::{ArrayType, FormatVersion, to_u64};
use tdb_filters::Key;
use tdb_fragment::{
    CommitKind, TimestampedName, is_hidden_name, parse_consolidated_commits, parse_path_lines,
};
use tdb_schema::ArraySchema;

use crate::context::Context;
use crate::deletes::Delete;
use crate::directory::{DeleteEntry, Directory, FragmentEntry, fragment_folders};
use crate::fragment::Fragment;
use crate::paths::{
    COMMITS, ENUMERATIONS, FRAGMENT_META, FRAGMENTS, METADATA, OLD_SCHEMA, PARTIAL, SCHEMA_FOLDER,
};
use crate::schemas::Schemas;
use crate::storage::{Entry, Storage, join};
use crate::timed::TimedFiles;
use crate::timed::last_part;
use crate::{Error, OrInternal, Result, SnapshotOptions, TimeWindow};

mod event;

pub use event::{Event, EventKind, History, State};

/// Everything that happened to an array, in order of time, as far as its files still show it. What
/// cannot be read is in the list with its error.
///
/// ```
/// use tdb_array::history::{EventKind, history};
/// use tdb_array::storage::LocalStorage;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// let events = history(LocalStorage::new(path), None)?.events;
/// assert_eq!(events[0].kind, EventKind::Schema);
/// assert_eq!((events[1].timestamps, events[1].cells), (Some((10, 10)), Some(16)));
/// # Ok::<(), tdb_array::Error>(())
/// ```
///
/// # Errors
/// The storage contains no array, or it has invalid names or commit files.
pub fn history(storage: impl Storage + 'static, key: Option<Key>) -> Result<History> {
    let options = SnapshotOptions::new();
    let options = if let Some(key) = key { options.key(key) } else { options };
    let context = options.context(Box::new(storage));
    let directory = Directory::load(&*context.storage)?;
    let log =
        Log { context: &context, directory: &directory, schemas: Schemas::new(&context), events: Vec::new() };
    log.events()
}

struct Log<'a> {
    context: &'a Context,
    directory: &'a Directory,
    schemas: Schemas<'a>,
    events: Vec<Event>,
}

impl Log<'_> {
    fn events(mut self) -> Result<History> {
        let root = self.list("")?;
        let latest = self.directory.latest_schema(&*self.context.storage, u64::MAX)?.to_owned();
        self.schema_files(&root, &latest)?;
        let schema = self.schemas.at(&latest).ok();
        let dense = schema.as_ref().is_some_and(|schema| schema.array_type == ArrayType::Dense);
        self.fragments(&root, dense)?;
        for entry in &self.directory.deletes {
            self.delete(entry);
        }
        self.commit_files(&root)?;
        self.metadata(&root)?;
        self.events.sort_by(|a, b| {
            let at = |event: &Event| (event.timestamps.map(|(_, last)| last), event.kind.rank());
            (at(a), &a.key).cmp(&(at(b), &b.key))
        });
        Ok(History { schema, events: self.events })
    }

    /// A sorted listing, without hidden names.
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        let listed = self.context.storage.list(folder);
        let mut entries = listed.map_err(|error| Error::io(self.context.describe(folder), error))?;
        entries.retain(|entry| !is_hidden_name(&entry.name));
        entries.sort_unstable();
        Ok(entries)
    }

    /// The files of one of the root's folders; none if there is no such folder.
    fn files(&self, root: &[Entry], folder: &str) -> Result<Vec<Entry>> {
        if !root.iter().any(|entry| entry.is_folder && entry.name == folder) {
            return Ok(Vec::new());
        }
        Ok(self.list(folder)?.into_iter().filter(|entry| !entry.is_folder).collect())
    }

    /// The size of a file; 0 if it cannot be found out, as with a file that is gone by now.
    fn size(&self, key: &str) -> u64 {
        self.context.storage.size(key).unwrap_or(0)
    }

    /// Adds a file whose name contains the time when it was written.
    fn file(&mut self, kind: EventKind, key: &str, version: Option<FormatVersion>, state: State) {
        let timestamps = TimestampedName::parse(last_part(key)).ok().map(|name| name.timestamps);
        self.file_at(timestamps, kind, key, version, state);
    }

    /// Adds a file that was written at a time.
    fn file_at(
        &mut self,
        timestamps: Option<(u64, u64)>,
        kind: EventKind,
        key: &str,
        version: Option<FormatVersion>,
        state: State,
    ) {
        let bytes = self.size(key);
        let key = key.to_owned();
        self.events.push(Event { timestamps, kind, key, version, cells: None, bytes, bounds: None, state });
    }

    fn schema_files(&mut self, root: &[Entry], latest: &str) -> Result<()> {
        // The time when each enumeration was first named.
        let mut named: HashMap<String, Option<(u64, u64)>> = HashMap::new();
        for key in &self.directory.schemas {
            let loaded = self.schemas.at(key);
            let version = loaded.as_ref().ok().map(|schema| schema.version);
            let time = TimestampedName::parse(last_part(key)).ok().map(|name| name.timestamps);
            for entry in loaded.iter().flat_map(|schema| &schema.enumerations) {
                let first = named.entry(entry.file_name.clone()).or_insert(time);
                *first = (*first).min(time);
            }
            let state = match loaded {
                Err(error) => State::Damaged(error),
                Ok(_) if key == latest => State::Live,
                Ok(_) => State::Superseded,
            };
            let time = time.filter(|_| key != OLD_SCHEMA);
            self.file_at(time, EventKind::Schema, key, version, state);
        }
        for entry in self.files(root, SCHEMA_FOLDER)?.iter().filter(|entry| entry.name.ends_with(PARTIAL)) {
            self.file(EventKind::Schema, &join(SCHEMA_FOLDER, &entry.name), None, State::Partial);
        }
        let folder = join(SCHEMA_FOLDER, ENUMERATIONS);
        let exists = root.iter().any(|entry| entry.is_folder && entry.name == SCHEMA_FOLDER)
            && self.list(SCHEMA_FOLDER)?.iter().any(|entry| entry.is_folder && entry.name == ENUMERATIONS);
        let entries = if exists { self.list(&folder)? } else { Vec::new() };
        for entry in entries.iter().filter(|entry| !entry.is_folder) {
            let state = match named.contains_key(&entry.name) {
                true => State::Live,
                false if entry.name.ends_with(PARTIAL) => State::Partial,
                false => State::Unused,
            };
            let time = named.get(&entry.name).copied().flatten();
            self.file_at(time, EventKind::Enumeration, &join(&folder, &entry.name), None, state);
        }
        Ok(())
    }

    fn fragments(&mut self, root: &[Entry], dense: bool) -> Result<()> {
        let visible = self.directory.visible(TimeWindow::ALL, dense);
        let visible: HashSet<Arc<str>> = visible.into_iter().map(|entry| entry.folder).collect();
        let mut opened: Vec<(Fragment, usize)> = Vec::new();
        for entry in &self.directory.fragments {
            let mut state = State::Live;
            if !visible.contains(&entry.folder) {
                let by = |(_, _, folders): &&(String, TimestampedName, Vec<String>)| {
                    folders.iter().any(|folder| *folder == *entry.folder)
                };
                let (key, ..) = self.directory.vacuums.iter().find(by).or_internal(NOT_REPLACED)?;
                state = State::Shadowed(key.clone());
            }
            let event = self.events.len();
            if let Some(fragment) = self.fragment(entry, state)
                && visible.contains(&entry.folder)
            {
                opened.push((fragment, event));
            }
        }
        // Only a dense fragment hides everything inside its domain; if it lacks a field, its cells
        // have the fill value.
        for (index, (older, event)) in opened.iter().enumerate() {
            let mut newer = opened.iter().skip(index + 1);
            let hides = |newer: &Fragment| dense && newer.is_dense() && covers(newer, older);
            if let Some((newer, _)) = newer.find(|(newer, _)| hides(newer)) {
                let event = self.events.get_mut(*event).or_internal("a fragment without its event")?;
                event.state = State::Overwritten(newer.folder().to_owned());
            }
        }
        let stored =
            if root.iter().any(|entry| entry.name == FRAGMENTS) { self.list(FRAGMENTS)? } else { Vec::new() };
        let committed: HashSet<&str> = self.directory.fragments.iter().map(|entry| &*entry.folder).collect();
        let folders = fragment_folders(root, &stored);
        for folder in folders.iter().filter(|folder| !committed.contains(folder.as_str())) {
            if let Ok(entry) = FragmentEntry::new(&*self.context.storage, folder.clone()) {
                self.fragment(&entry, State::Uncommitted);
            }
        }
        let here: HashSet<&str> = folders.iter().map(String::as_str).collect();
        let mut gone: HashSet<String> = HashSet::new();
        for folder in self.directory.vacuums.iter().flat_map(|(_, _, folders)| folders) {
            let entry = FragmentEntry::new(&*self.context.storage, folder.clone());
            if !here.contains(folder.as_str())
                && gone.insert(folder.clone())
                && let Ok(entry) = entry
            {
                self.fragment_event(&entry, None, State::Vacuumed);
            }
        }
        Ok(())
    }

    /// Opens a fragment and adds it. A damaged fragment is marked as damaged, unless it is not used
    /// anyway.
    fn fragment(&mut self, entry: &FragmentEntry, state: State) -> Option<Fragment> {
        let opened = Fragment::open(self.context, entry.clone(), &|name| self.schemas.named(name));
        match opened {
            Ok(fragment) => {
                self.fragment_event(entry, Some(&fragment), state);
                Some(fragment)
            }
            Err(error) => {
                let state = if matches!(state, State::Uncommitted) { state } else { State::Damaged(error) };
                self.fragment_event(entry, None, state);
                None
            }
        }
    }

    fn fragment_event(&mut self, entry: &FragmentEntry, fragment: Option<&Fragment>, state: State) {
        let array_type =
            fragment.map(|fragment| if fragment.is_dense() { ArrayType::Dense } else { ArrayType::Sparse });
        let (first, last) = entry.parsed.timestamps;
        let replaces = self.directory.vacuums.iter().any(|(_, name, _)| *name == entry.parsed);
        let kind = if first != last || replaces {
            EventKind::ConsolidatedFragment(array_type)
        } else {
            EventKind::Fragment(array_type)
        };
        self.events.push(Event {
            timestamps: Some((first, last)),
            kind,
            key: entry.folder.to_string(),
            version: fragment.map_or(entry.parsed.version, |fragment| Some(fragment.version())),
            cells: fragment.map(Fragment::cell_count),
            bytes: fragment.map_or(0, Fragment::size),
            bounds: fragment.and_then(Fragment::bounds).map(<[_]>::to_vec),
            state,
        });
    }

    fn delete(&mut self, entry: &DeleteEntry) {
        let (condition, state) = match Delete::load(self.context, entry) {
            Ok(delete) => (Some(delete.condition), State::Live),
            Err(error) => (None, State::Damaged(error)),
        };
        let inside = entry.inside.as_ref().map(|(_, bytes)| to_u64(bytes.len()));
        let kind =
            if entry.is_update() { EventKind::Update(condition) } else { EventKind::Delete(condition) };
        let name = TimestampedName::parse(last_part(&entry.path)).ok();
        self.events.push(Event {
            timestamps: Some((entry.time, entry.time)),
            kind,
            key: entry.path.clone(),
            version: name.and_then(|name| name.version),
            cells: None,
            bytes: inside.unwrap_or_else(|| self.size(&entry.key)),
            bounds: None,
            state,
        });
    }

    /// Adds files that refer to other files.
    fn commit_files(&mut self, root: &[Entry]) -> Result<()> {
        let mut keys: Vec<String> =
            root.iter().filter(|entry| !entry.is_folder).map(|entry| entry.name.clone()).collect();
        for folder in [COMMITS, FRAGMENT_META] {
            keys.extend(self.files(root, folder)?.iter().map(|entry| join(folder, &entry.name)));
        }
        for key in keys {
            let Some((kind, _)) = CommitKind::of(&key) else { continue };
            let version = TimestampedName::parse(last_part(&key)).ok().and_then(|name| name.version);
            let corrupt = |error: tdb_codec::Error| Error::corrupt(self.context.describe(&key), error);
            let lines = || parse_path_lines(&self.context.read_all(&key)?).map_err(corrupt);
            let kind = match kind {
                CommitKind::Consolidated => {
                    let bytes = self.context.read_all(&key)?;
                    let records = parse_consolidated_commits(&bytes).map_err(corrupt)?;
                    EventKind::Commits(records.into_iter().map(|record| record.path).collect())
                }
                CommitKind::Ignore => EventKind::Ignored(lines()?),
                CommitKind::Vacuum => EventKind::Replaced(lines()?),
                CommitKind::ConsolidatedMetadata => EventKind::Footers,
                _ => continue,
            };
            self.file(kind, &key, version, State::Live);
        }
        Ok(())
    }

    fn metadata(&mut self, root: &[Entry]) -> Result<()> {
        let files: &TimedFiles = &self.directory.metadata;
        let consolidated: HashSet<(u64, u64)> =
            files.vacuums.iter().map(|(_, name, _)| name.timestamps).collect();
        for (key, name) in &files.files {
            let by = files.vacuums.iter().find(|(_, _, keys)| keys.contains(key));
            let state = by.map_or(State::Live, |(vacuum, ..)| State::Shadowed(vacuum.clone()));
            let (first, last) = name.timestamps;
            let merged = first != last || consolidated.contains(&name.timestamps);
            let kind = if merged { EventKind::ConsolidatedMetadata } else { EventKind::Metadata };
            self.file(kind, key, None, state);
        }
        for (key, _, keys) in &files.vacuums {
            self.file(EventKind::Replaced(keys.clone()), key, None, State::Live);
        }
        for entry in self.files(root, METADATA)?.iter().filter(|entry| entry.name.ends_with(PARTIAL)) {
            self.file(EventKind::Metadata, &join(METADATA, &entry.name), None, State::Partial);
        }
        Ok(())
    }
}

/// The fault if a fragment is not visible at any time, but no vacuum file lists it.
const NOT_REPLACED: &str = "an invisible fragment that no vacuum file lists";

/// Whether one fragment's domain contains the other's.
fn covers(newer: &Fragment, older: &Fragment) -> bool {
    let schema: &ArraySchema = newer.schema();
    let (Some(outer), Some(inner)) = (newer.non_empty_domain(), older.bounds()) else {
        return false;
    };
    let pairs = outer.iter().zip(inner).zip(&schema.domain.dimensions);
    outer.len() == inner.len()
        && pairs.into_iter().all(|((outer, inner), dimension)| {
            outer.contains(dimension.datatype, &inner.low) && outer.contains(dimension.datatype, &inner.high)
        })
}
