//! Segments in a folder that several processes use at once.
//!
//! ```text
//! FOLDER/tdb-cache-1/0a/1b2c…/0-1000-x     a directory for each file, an entry for each segment
//! ```
//!
//! There is no index and no lock: an entry is written to a temporary file and renamed; an entry
//! that is damaged, or gone when it is opened, counts as not found. So nothing that another process
//! does here can make a query fail, and what this process cannot do (the disk is full, the folder
//! is read-only) is counted and has no other effect.

use core::time::Duration;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::SystemTime;

use bytes::Bytes;
use tdb_storage::{Durability, LocalStorage, Storage, WriteStorage};
use tdb_storage::{TEMPORARY, join};

use crate::entry;
use crate::origin::FileId;
use crate::segment::Segment;

/// The subfolder of the user's folder, with the version of its contents.
const OWN: &str = "tdb-cache-1";
/// The maximum size of a segment is the folder's limit divided by this.
const LARGEST: u64 = 16;
/// The total size is checked each time the limit divided by this was written.
const LOOKED: u64 = 16;
/// Temporary files of this age are abandoned.
const ABANDONED: Duration = Duration::from_secs(600);

/// A folder, and the limit of its size.
#[derive(Debug)]
pub(crate) struct Folder {
    storage: LocalStorage,
    bound: u64,
    /// Bytes written since the last check of the total size; `None` before the first check.
    written: Mutex<Option<u64>>,
}

/// The outcome of the search for an entry.
#[derive(Debug)]
pub(crate) enum Found {
    Bytes(Bytes),
    /// A damaged or foreign file: it was removed.
    Damaged,
    /// Nothing: another process removed it, or it cannot be read.
    Nothing,
}

/// An entry that may have to be removed.
struct Old {
    used: SystemTime,
    size: u64,
    key: String,
}

/// The directory with a file's segments.
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

    /// The existing segments of a file. Other files are ignored; if the folder cannot be listed,
    /// there are none.
    pub(crate) fn segments(&self, file: &FileId) -> Vec<Segment> {
        let listed = self.storage.list(&directory(file)).unwrap_or_default();
        let all: Vec<Segment> = listed.iter().filter_map(|entry| Segment::parse(&entry.name)).collect();
        let agree = |own: &Segment| all.iter().all(|other| own.agrees(other));
        if all.iter().all(agree) {
            return all;
        }
        // Files that never change have one size: some of these segments are wrong.
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
        // If the time cannot be set, the entry is removed earlier.
        let _ = self.storage.touch(&key);
        Found::Bytes(bytes)
    }

    /// Whether a segment is small enough to be cached.
    pub(crate) fn takes(&self, segment: &Segment) -> bool {
        let largest = self.bound.checked_div(LARGEST).unwrap_or(0);
        entry::size(segment).is_some_and(|size| size <= largest)
    }

    /// Writes a segment, and removes the least recently used ones if the folder is too large.
    ///
    /// # Errors
    /// Any I/O error of the storage: the segment is not cached then.
    pub(crate) fn keep(&self, file: &FileId, segment: &Segment, bytes: &Bytes) -> io::Result<()> {
        let folder = directory(file);
        let key = join(&folder, &segment.name());
        let entry = entry::write(file, segment, bytes);
        let size = entry::size(segment).unwrap_or(0);
        self.storage.create_private()?;
        // Another process may remove the empty folder before a file is written to it.
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

    /// Removes a file from the cache.
    pub(crate) fn forget(&self, file: &FileId) {
        let folder = directory(file);
        for entry in self.storage.list(&folder).unwrap_or_default() {
            if Segment::parse(&entry.name).is_some() {
                let _ = self.storage.remove_file(&join(&folder, &entry.name));
            }
        }
    }

    /// Counts written bytes, and checks the total size when it is time to.
    fn wrote(&self, bytes: u64) {
        let mut written = match self.written.try_lock() {
            Ok(written) => written,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            // Another thread is checking right now. What it misses, the next check finds.
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

    /// Removes the least recently used entries, until the rest and what will be written before the
    /// next check are within the limit. If a removal fails, another process did the same, or the
    /// next sweep tries again.
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
                // Bytes that another process is just writing into it are lost: a cache may do that.
                let _ = self.storage.remove_folder(folder);
            }
        }
    }

    /// All entries. Files with other names are left alone, except abandoned temporary files.
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

    /// The number of bytes of all entries.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.entries().iter().map(|entry| entry.size).sum()
    }
}
