//! Reads the commit files of an array: which fragments and deletes are committed, and which files
//! are replaced by others.

use std::collections::HashSet;
use std::io;

use tdb_fragment::{
    CommitKind, TimestampedName, parse_consolidated_commits, parse_path_lines, vacuum_target,
};

use super::{DeleteEntry, FragmentEntry, fragment_folders};
use crate::paths::{COMMITS, FRAGMENT_META, FRAGMENT_METADATA, FRAGMENTS, LABELS, METADATA, SCHEMA_FOLDER};
use crate::storage::{Entry, PrefetchedStorage, ReadSet, Request, Storage, join};
use crate::thresholds::{MAX_ATTEMPTS, MAX_NAMES_LISTED_AT_ONCE, METADATA_TAIL_BYTES};
use crate::timed::last_part;
use crate::{Error, Result};

/// Folders in an array's root that are not fragments.
const KNOWN_FOLDERS: [&str; 6] = [SCHEMA_FOLDER, METADATA, LABELS, FRAGMENTS, COMMITS, FRAGMENT_META];

/// The contents of the commit files at one moment. A commit file that is added while they are
/// listed belongs to another write and may be missed. But a file that replaces others must not be
/// seen without them, nor they without it.
pub(super) fn settled_commits(
    storage: &dyn Storage,
    prefetched: Option<&PrefetchedStorage>,
    root: &[Entry],
    mut listed: Vec<Entry>,
) -> Result<Commits> {
    let replaces = |entry: &Entry| {
        let kind = CommitKind::of(&entry.name).map(|(kind, _)| kind);
        matches!(kind, Some(CommitKind::Consolidated | CommitKind::Ignore | CommitKind::Vacuum))
    };
    for _ in 1..MAX_ATTEMPTS {
        if let Some(prefetched) = prefetched {
            let in_commits = listed.iter().filter(|entry| replaces(entry)).map(|e| join(COMMITS, &e.name));
            let in_root = root.iter().filter(|entry| replaces(entry)).map(|e| e.name.clone());
            let mut files: Vec<Request> = in_commits.chain(in_root).map(Request::whole).collect();
            // The metadata file shows whether an old fragment is complete; opening the fragment
            // needs it too.
            let old = fragment_folders(root, &[]).into_iter().map(|folder| join(&folder, FRAGMENT_METADATA));
            files.extend(old.map(|key| Request::Tail(key, METADATA_TAIL_BYTES)));
            prefetched.prefetch(&ReadSet { files, ..ReadSet::default() });
        }
        let found = commits(storage, root, &listed)?;
        if listed.len() < MAX_NAMES_LISTED_AT_ONCE && !listed.iter().any(replaces) {
            return Ok(found);
        }
        let mut now = storage.list(COMMITS).map_err(|error| Error::io(storage.describe(COMMITS), error))?;
        now.sort_unstable();
        if now == listed {
            return Ok(found);
        }
        let gone = listed.iter().any(|entry| now.binary_search(entry).is_err());
        if !gone
            && now.iter().filter(|entry| replaces(entry)).all(|entry| listed.binary_search(entry).is_ok())
        {
            return Ok(found);
        }
        listed = now;
    }
    commits(storage, root, &listed)
}

/// The contents of the commit files.
#[derive(Default)]
pub(super) struct Commits {
    pub(super) fragments: Vec<FragmentEntry>,
    pub(super) vacuums: Vec<(String, TimestampedName, Vec<String>)>,
    pub(super) deletes: Vec<DeleteEntry>,
}

/// Committed fragments, vacuum files and condition files of all format versions.
fn commits(storage: &dyn Storage, root: &[Entry], commits: &[Entry]) -> Result<Commits> {
    // Commit paths that are in a `.con` file and in no `.ign` file. A delete inside a `.con` is
    // used even if it is ignored, as in libtiledb.
    let mut ignored = HashSet::new();
    let mut listed = Vec::new();
    let Commits { mut fragments, mut vacuums, mut deletes } = Commits::default();
    let in_commits = commits.iter().filter(|e| !e.is_folder).map(|e| (join(COMMITS, &e.name), &e.name));
    let in_root = root.iter().filter(|e| !e.is_folder).map(|e| (e.name.clone(), &e.name));
    let files: Vec<_> = in_root.chain(in_commits).collect();
    let corrupt = |key: &str, error: tdb_codec::Error| Error::corrupt(storage.describe(key), error);
    let name_of = |key: &str, stem: &str| {
        TimestampedName::parse(stem).map_err(|error| Error::corrupt(storage.describe(key), error))
    };
    for (key, name) in &files {
        match CommitKind::of(name) {
            Some((CommitKind::Ignore, _)) => {
                let lines = parse_path_lines(&read_all(storage, key)?);
                ignored.extend(lines.map_err(|error| corrupt(key, error))?);
            }
            Some((CommitKind::Consolidated, _)) => {
                let bytes = read_all(storage, key)?;
                for record in parse_consolidated_commits(&bytes).map_err(|error| corrupt(key, error))? {
                    let stem = last_part(&record.path);
                    match record.delete {
                        Some((offset, tile)) => deletes.push(DeleteEntry {
                            time: name_of(key, stem)?.timestamps.0,
                            key: key.clone(),
                            inside: Some((offset, bytes.slice_ref(tile))),
                            path: record.path,
                        }),
                        None => listed.push(record.path),
                    }
                }
            }
            // libtiledb reads an update as a delete of what it updates; see `Delete`.
            Some((CommitKind::Delete | CommitKind::Update, stem)) => deletes.push(DeleteEntry {
                time: name_of(key, stem)?.timestamps.0,
                path: key.clone(),
                key: key.clone(),
                inside: None,
            }),
            Some((CommitKind::Vacuum, stem)) => {
                let lines =
                    parse_path_lines(&read_all(storage, key)?).map_err(|error| corrupt(key, error))?;
                let folders = lines.iter().map(|line| vacuum_target(line).to_owned()).collect();
                vacuums.push((key.clone(), name_of(key, stem)?, folders));
            }
            // Commits of fragments are looked at below, and consolidated footers when they are
            // read.
            Some(_) | None => {}
        }
    }
    listed.retain(|path| !ignored.contains(path));

    let committed = listed.iter().map(String::as_str).chain(files.iter().map(|(key, _)| key.as_str()));
    let folders = committed_folders(storage, root, committed, &ignored)?;
    for folder in folders {
        fragments.push(FragmentEntry::new(storage, folder)?);
    }
    // libtiledb orders by the first timestamp alone, so the order of ties depends on its sort; here
    // the key decides.
    fragments
        .sort_unstable_by(|a, b| (a.parsed.timestamps.0, &a.folder).cmp(&(b.parsed.timestamps.0, &b.folder)));
    // A delete that is both in a `.con` and in a separate file is used once.
    deletes.sort_by(|a, b| (a.time, &a.path).cmp(&(b.time, &b.path)));
    deletes.dedup_by(|a, b| a.path == b.path);
    Ok(Commits { fragments, vacuums, deletes })
}

/// The folders of the committed fragments: those that the commit files `committed` name, and those
/// of versions that had no commit files.
fn committed_folders<'c>(
    storage: &dyn Storage,
    root: &[Entry],
    committed: impl Iterator<Item = &'c str>,
    ignored: &HashSet<String>,
) -> Result<HashSet<String>> {
    // The fragment folder of each commit path. A path that is both in a `.con` and a separate file
    // is used once.
    let mut folders: HashSet<String> = HashSet::new();
    let root_folders: HashSet<&str> =
        root.iter().filter(|entry| entry.is_folder).map(|entry| entry.name.as_str()).collect();
    for path in committed {
        let name = last_part(path);
        match CommitKind::of(name) {
            Some((CommitKind::Write, stem)) => {
                let folder = join(FRAGMENTS, stem);
                // If fragments with consolidated commits are vacuumed before their commit files,
                // libtiledb leaves these commit files there, and then no libtiledb opens the array.
                // An ignored path whose fragment no longer exists was replaced.
                if !ignored.contains(path) || has_metadata(storage, &folder)? {
                    folders.insert(folder);
                }
            }
            // An `.ok` file without its folder is harmless: the listing of the root decides.
            Some((CommitKind::Ok, stem)) => {
                folders.extend(root_folders.contains(stem).then(|| stem.to_owned()));
            }
            // All other files commit no fragment.
            Some(_) | None => {}
        }
    }
    for name in root_folders {
        let candidate = name.starts_with("__") && !name.contains('.') && !KNOWN_FOLDERS.contains(&name);
        if candidate && !folders.contains(name) {
            // Versions up to 4 have no commit file: the metadata file shows that the fragment is
            // complete.
            let old = TimestampedName::parse(name).is_ok_and(|parsed| !parsed.states_version);
            if old && has_metadata(storage, name)? {
                folders.insert(name.to_owned());
            }
        }
    }
    Ok(folders)
}

/// Whether a fragment's folder has its metadata file now. This requests its size, which no cache
/// answers.
fn has_metadata(storage: &dyn Storage, folder: &str) -> Result<bool> {
    let key = join(folder, FRAGMENT_METADATA);
    match storage.size(&key) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(storage.describe(&key), error)),
    }
}

fn read_all(storage: &dyn Storage, key: &str) -> Result<bytes::Bytes> {
    storage.read(key).map_err(|error| Error::io(storage.describe(key), error))
}
