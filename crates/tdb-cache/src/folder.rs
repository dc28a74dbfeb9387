//! Segments in a folder that several processes use at once.
//!
//! ```text
//! FOLDER/tdb-cache-1/0a/1b2c…/0-1000-x     a directory for each file, an entry for each segment
//! ```
//!
//! There is no index and no lock: an entry is written beside and renamed, and whoever finds one that is damaged, or is
//! gone when it looks again, has found nothing. So another process can do nothing here that makes a query fail, and what this
//! one cannot do (the disk is full, the folder may only be read) is counted and otherwise nothing.

use core::time::Duration;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::SystemTime;

use bytes::Bytes;
use tdb_storage::storage::{TEMPORARY, join};
use tdb_storage::{Durability, LocalStorage, Storage, WriteStorage};

use crate::entry;
use crate::origin::FileId;
use crate::segment::Segment;

/// The folder in the user's, with the version of what lies in it.
const OWN: &str = "tdb-cache-1";
/// One segment takes at most this part of the folder.
const LARGEST: u64 = 16;
/// After so many parts of the bound were written, somebody looks how much there is.
const LOOKED: u64 = 16;
/// What is written beside belongs to nobody any more when it is so old.
const ABANDONED: Duration = Duration::from_secs(600);

/// A folder, and a bound of the bytes in it.
#[derive(Debug)]
pub(crate) struct Folder {
    storage: LocalStorage,
    bound: u64,
    /// Bytes that were written since somebody looked how much there is; `None` before the first look.
    written: Mutex<Option<u64>>,
}

/// What was found in the place of an entry.
#[derive(Debug)]
pub(crate) enum Found {
    Bytes(Bytes),
    /// Something else: it was removed.
    Damaged,
    /// Nothing: another process removed it, or it cannot be read.
    Nothing,
}

/// An entry that may have to go.
struct Old {
    used: SystemTime,
    size: u64,
    key: String,
}

/// The directory of a file's segments.
fn directory(file: &FileId) -> String {
    let hex = file.hex();
    let (first, rest) = hex.split_at(2);
    join(first, rest)
}

fn is_hex(name: &str, digits: usize) -> bool {
    name.len() == digits && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

impl Folder {
    pub(crate) fn new(path: PathBuf, bound: u64) -> Self {
        Self { storage: LocalStorage::new(path.join(OWN)), bound, written: Mutex::default() }
    }

    /// The segments of a file that are there. What is no segment, and a folder that cannot be listed, is none.
    pub(crate) fn segments(&self, file: &FileId) -> Vec<Segment> {
        let listed = self.storage.list(&directory(file)).unwrap_or_default();
        let all: Vec<Segment> = listed.iter().filter_map(|entry| Segment::parse(&entry.name)).collect();
        let agree = |own: &Segment| all.iter().all(|other| own.agrees(other));
        if all.iter().all(agree) {
            return all;
        }
        // Files that never change have one size: some of these are not of the file.
        self.forget(file);
        Vec::new()
    }

    /// The bytes of a segment.
    pub(crate) fn read(&self, file: &FileId, segment: &Segment) -> Found {
        let key = join(&directory(file), &segment.name());
        let Some(expected) = entry::size(segment).filter(|_| self.takes(segment)) else {
            return Found::Nothing;
        };
        let bytes = match self.storage.read_tail(&key, expected) {
            Ok((size, bytes)) if size == expected => entry::read(file, segment, &bytes),
            Ok(_) => None,
            Err(error) if is_gone(&error) => return Found::Nothing,
            Err(_) => None,
        };
        let Some(bytes) = bytes else {
            // If it is a directory, it stays.
            let _ = self.storage.remove_file(&key);
            return Found::Damaged;
        };
        // If the time cannot be set, it goes the earlier.
        let _ = self.storage.touch(&key);
        Found::Bytes(bytes)
    }

    /// Whether a segment is small enough.
    pub(crate) fn takes(&self, segment: &Segment) -> bool {
        let largest = self.bound.checked_div(LARGEST).unwrap_or(0);
        entry::size(segment).is_some_and(|size| size <= largest)
    }

    /// Writes a segment, and removes what was used longest ago, if there are too many bytes.
    ///
    /// # Errors
    /// Any I/O error of the system: then it is not kept.
    pub(crate) fn keep(&self, file: &FileId, segment: &Segment, bytes: &Bytes) -> io::Result<()> {
        let folder = directory(file);
        let key = join(&folder, &segment.name());
        let entry = entry::write(file, segment, bytes);
        let size = entry::size(segment).unwrap_or(0);
        self.storage.create_private()?;
        // Another process may remove the empty folder before there is something in it.
        let mut attempts = 0..3;
        loop {
            let put = self
                .storage
                .create_folder(&folder)
                .and_then(|()| self.storage.replace_file(&key, &entry, Durability::Buffered));
            match put {
                Err(error) if is_gone(&error) && attempts.next().is_some() => {}
                put => break put?,
            }
        }
        for other in self.segments(file) {
            if other != *segment && segment.covers(&other) {
                let _ = self.storage.remove_file(&join(&folder, &other.name()));
            }
        }
        self.wrote(size);
        Ok(())
    }

    /// Forgets a file.
    pub(crate) fn forget(&self, file: &FileId) {
        let folder = directory(file);
        for entry in self.storage.list(&folder).unwrap_or_default() {
            if Segment::parse(&entry.name).is_some() {
                let _ = self.storage.remove_file(&join(&folder, &entry.name));
            }
        }
    }

    /// Counts what was written, and looks how much there is when it is time to.
    fn wrote(&self, bytes: u64) {
        let mut written = match self.written.try_lock() {
            Ok(written) => written,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            // Another thread looks just now. What it does not see, the next look does.
            Err(TryLockError::WouldBlock) => return,
        };
        let sum = written.map(|sum| sum.saturating_add(bytes));
        *written = match sum {
            Some(sum) if sum < self.bound.checked_div(LOOKED).unwrap_or(0) => Some(sum),
            _ => {
                self.sweep();
                Some(0)
            }
        };
    }

    /// Removes what was used longest ago, until what is left and what is written up to the next look is within the bound. Whatever
    /// fails, fails because another process did the same, or is tried again the next time.
    pub(crate) fn sweep(&self) {
        let mut entries = self.entries();
        let mut sum = entries.iter().map(|entry| entry.size).fold(0, u64::saturating_add);
        let eighth = self.bound.checked_div(8).unwrap_or(0);
        if sum <= self.bound.saturating_sub(eighth) {
            return;
        }
        let enough = self.bound.saturating_sub(eighth.saturating_mul(2));
        entries.sort_unstable_by_key(|entry| entry.used);
        for entry in entries {
            if sum <= enough {
                break;
            }
            let _ = self.storage.remove_file(&entry.key);
            sum = sum.saturating_sub(entry.size);
            if let Some((folder, _)) = entry.key.rsplit_once('/')
                && self.storage.list(folder).is_ok_and(|left| left.is_empty())
            {
                // What somebody writes into it just now is lost: a cache may do that.
                let _ = self.storage.remove_folder(folder);
            }
        }
    }

    /// All entries. What has other names is left alone, but for what was written beside and given up.
    fn entries(&self) -> Vec<Old> {
        let list = |folder: &str| self.storage.list(folder).unwrap_or_default().into_iter();
        let mut found = Vec::new();
        for first in list("") {
            if !first.is_folder && first.name.starts_with(TEMPORARY) {
                self.remove_abandoned(&first.name);
            }
            if !is_hex(&first.name, 2) {
                continue;
            }
            for rest in list(&first.name).filter(|entry| is_hex(&entry.name, 62)) {
                let folder = join(&first.name, &rest.name);
                for entry in list(&folder).filter(|entry| Segment::parse(&entry.name).is_some()) {
                    let key = join(&folder, &entry.name);
                    if let Ok((used, size)) = self.storage.last_use(&key) {
                        found.push(Old { used, size, key });
                    }
                }
            }
        }
        found
    }

    fn remove_abandoned(&self, key: &str) {
        let age = self.storage.last_use(key).ok().and_then(|(used, _)| used.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED) {
            let _ = self.storage.remove_file(key);
        }
    }

    /// Bytes of all entries.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.entries().iter().map(|entry| entry.size).sum()
    }
}
