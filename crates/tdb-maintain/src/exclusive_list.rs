//! Removes the commits of some fragments in a single step, which can commit others at the same
//! moment.
//!
//! The format has no such step: a fragment is committed by its own file or by a line in a list of
//! commits, and each file is created or removed separately. But one list can be replaced by another
//! in one step. So first one list is made the only file that commits the fragments. No reader
//! notices this, because a fragment that is committed in several places exists only once:
//!
//! ```text
//! __commits/<list>.con        holds all of them (an older list may do that already)
//! __commits/<other>.con       written again under another name without them, then removed
//! __commits/<fragment>.wrt    removed
//! __commits/<list>.con        replaced by a list without them, but with what is committed now: this is the moment

use std::collections::BTreeSet;
use std::io;

use tdb_fragment::{CommitKind, CommitRecord, write_consolidated_commits};

use crate::commits::{CommitFiles, Record, parse_records, times_of};
use crate::paths::COMMITS;
use crate::storage::{FileVersion, join};
use crate::write::Transaction;
use crate::{ArrayWriter, Error, Result};

const WHAT: &str = "replacing commits";

/// A list that alone commits some fragments. The array must be locked until the list is replaced.
#[derive(Debug)]
pub(super) struct ExclusiveCommitList<'a> {
    writer: &'a ArrayWriter,
    transaction: &'a Transaction<'a>,
    /// Key of the list.
    list: String,
    /// Its version, if the storage has versions: nobody else may replace it, whatever happened to
    /// the lock.
    version: Option<FileVersion>,
    /// The other records in it.
    rest: Vec<Record>,
}

impl<'a> ExclusiveCommitList<'a> {
    /// Makes one list the only file that commits `markers` (paths of commit files).
    pub(super) fn new(
        writer: &'a ArrayWriter,
        transaction: &'a Transaction<'a>,
        markers: &[String],
    ) -> Result<Self> {
        let storage = &**writer.storage();
        let files = CommitFiles::load(writer.context())?;
        if let Some(ignored) = markers.iter().find(|marker| files.is_ignored(marker)) {
            let why = format!("an ignore file lists {ignored}, which also has its own commit file");
            return Err(Error::refused(WHAT, why));
        }
        let claimed = |path: &str| markers.iter().any(|marker| marker == path);
        let whole =
            |records: &[Record]| markers.iter().all(|marker| records.iter().any(|(path, _)| path == marker));
        let held = files.consolidated.iter().find(|(_, (_, records))| whole(records));
        let (list, records) = match held {
            Some((key, (_, records))) => (key.clone(), records.clone()),
            None => {
                let records: Vec<Record> = markers.iter().map(|marker| (marker.clone(), None)).collect();
                (add(writer, transaction, &records)?, records)
            }
        };
        for (key, (_, records)) in &files.consolidated {
            if *key == list || !records.iter().any(|(path, _)| claimed(path)) {
                continue;
            }
            // Only one list is ever replaced: a reader that has read one of two lists may read the
            // other one later.
            let rest: Vec<Record> = records.iter().filter(|(path, _)| !claimed(path)).cloned().collect();
            if !rest.is_empty() {
                add(writer, transaction, &rest)?;
            }
            replace(writer, transaction, key, None, &[])?;
        }
        let version = version_of(writer, &list, &records)?;
        let mut touched = BTreeSet::new();
        for marker in markers.iter().filter(|marker| files.single.contains_key(*marker)) {
            storage.remove_file(marker).map_err(|error| Error::io(storage.describe(marker), error))?;
            touched.insert(marker.rsplit_once('/').map_or("", |(folder, _)| folder));
        }
        for folder in touched {
            transaction.sync_folder(folder)?;
        }
        let rest = records.into_iter().filter(|(path, _)| !claimed(path)).collect();
        Ok(Self { writer, transaction, list, version, rest })
    }

    /// Commits `markers` from now on, and no longer the claimed ones.
    pub(super) fn swap(mut self, markers: Vec<String>) -> Result<()> {
        self.rest.extend(markers.into_iter().map(|marker| (marker, None)));
        replace(self.writer, self.transaction, &self.list, self.version.as_ref(), &self.rest)
    }
}

/// Adds a list.
fn add(writer: &ArrayWriter, transaction: &Transaction<'_>, records: &[Record]) -> Result<String> {
    // Records that other programs have named otherwise have no times.
    let times = records.iter().filter_map(|(path, _)| times_of(path));
    let (first, last) = times.fold((u64::MAX, 0), |(low, high), (a, b)| (low.min(a), high.max(b)));
    let name = transaction.name((first.min(last), last), Some(writer.schema().version))?;
    let key = join(COMMITS, &format!("{name}{}", CommitKind::Consolidated.suffix()));
    transaction.put(&key, &list_of(writer, records)?)?;
    Ok(key)
}

/// The version of a list that contains these records; `None` if the storage has no versions.
fn version_of(writer: &ArrayWriter, key: &str, records: &[Record]) -> Result<Option<FileVersion>> {
    let storage = &**writer.storage();
    match storage.read_versioned(key) {
        Ok((bytes, version)) if parse_records(&bytes).is_ok_and(|there| there == records) => {
            Ok(Some(version))
        }
        Ok(_) => Err(changed(key)),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(Error::io(storage.describe(key), error)),
    }
}

fn changed(key: &str) -> Error {
    Error::refused(WHAT, format!("{key} was changed by another program in the meantime"))
}

/// Replaces a list, whose version may be known, or removes it if it has become empty.
fn replace(
    writer: &ArrayWriter,
    transaction: &Transaction<'_>,
    key: &str,
    version: Option<&FileVersion>,
    records: &[Record],
) -> Result<()> {
    let (storage, durability) = (transaction.storage(), transaction.durability());
    let replaced = if records.is_empty() {
        storage.remove_file(key)
    } else {
        let bytes = list_of(writer, records)?;
        let swapped = version.map(|version| storage.swap_file(key, Some(version), &bytes, durability));
        match swapped {
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => return Err(changed(key)),
            Some(Err(error)) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            Some(Ok(_)) => Ok(()),
            // Only the lock excludes others.
            _ => storage.replace_file(key, &bytes, durability),
        }
    };
    replaced.map_err(|error| Error::io(storage.describe(key), error))?;
    transaction.sync_folder(key.rsplit_once('/').map_or("", |(folder, _)| folder))
}

fn list_of(writer: &ArrayWriter, records: &[Record]) -> Result<Vec<u8>> {
    let records: Vec<CommitRecord<'_>> = records
        .iter()
        .map(|(path, delete)| CommitRecord {
            path: path.clone(),
            delete: delete.as_ref().map(|delete| (0, &delete[..])),
        })
        .collect();
    write_consolidated_commits(&records, writer.schema().version)
        .map_err(|error| Error::refused(WHAT, error.to_string()))
}
