//! An array whose files are in memory, for tests, fuzzers and browsers.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use crate::{
    ByteRange, Durability, Entry, FileVersion, FileWriter, Storage, StorageLock, StoredFile, WriteStorage,
    named, range_from, range_len,
};

/// Files in memory, by key. Clones share their files, like two openings of the same folder.
///
/// ```
/// use tdb_array::storage::{MemoryStorage, Storage};
///
/// let storage = MemoryStorage::new([("__meta/x", &b"abc"[..])]);
/// assert_eq!(storage.list("")?[0].name, "__meta");
/// assert_eq!(&storage.read_tail("__meta/x", 2)?.1[..], b"bc");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    content: Arc<RwLock<Content>>,
    locked: Arc<Locked>,
}

/// Whether the lock is held, and how waiting threads are notified when it is released.
#[derive(Debug, Default)]
struct Locked {
    held: Mutex<bool>,
    free: Condvar,
}

/// Releases the lock when it is dropped.
#[derive(Debug)]
struct Held(Arc<Locked>);

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.held.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}

#[derive(Debug, Default)]
struct Content {
    files: BTreeMap<String, Bytes>,
    /// Folders that were created explicitly; those that only follow from a file's key are not in
    /// here.
    folders: BTreeSet<String>,
}

impl Content {
    fn file(&self, key: &str) -> io::Result<&Bytes> {
        self.files.get(key).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn add(&mut self, key: &str, bytes: Bytes) -> io::Result<()> {
        if self.files.contains_key(key) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.files.insert(key.to_owned(), bytes);
        Ok(())
    }

    fn slice(&self, range: &ByteRange) -> io::Result<Bytes> {
        let file = self.file(&range.key)?;
        let len = range_len(&range.range, tdb_codec::to_u64(file.len()))?;
        // In bounds: the range was compared with the file's length.
        let start = usize::try_from(range.range.start).unwrap_or(usize::MAX);
        Ok(file.slice(start..start.saturating_add(len)))
    }
}

impl MemoryStorage {
    /// A storage of these files.
    pub fn new<K: Into<String>, V: Into<Bytes>>(files: impl IntoIterator<Item = (K, V)>) -> Self {
        let files = files.into_iter().map(|(key, bytes)| (key.into(), bytes.into())).collect();
        Self {
            content: Arc::new(RwLock::new(Content { files, folders: BTreeSet::new() })),
            ..Self::default()
        }
    }

    /// Adds or replaces a file.
    pub fn insert(&self, key: impl Into<String>, bytes: impl Into<Bytes>) {
        self.write().files.insert(key.into(), bytes.into());
    }

    /// Removes a file.
    pub fn remove(&self, key: &str) -> Option<Bytes> {
        self.write().files.remove(key)
    }

    /// Keys of all files, sorted.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.read().files.keys().cloned().collect()
    }

    // No call panics while it holds the lock, so the contents behind a poisoned lock are sound.
    fn read(&self) -> RwLockReadGuard<'_, Content> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Content> {
        self.content.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct MemoryFile(Bytes);

impl StoredFile for MemoryFile {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        range_len(&range_from(offset, out.len())?, tdb_codec::to_u64(self.0.len()))?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.0.get(start..start.saturating_add(out.len()));
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn will_need(&self, _: &core::ops::Range<u64>) -> bool {
        true
    }
}

impl Storage for MemoryStorage {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let content = self.read();
        let mut entries = BTreeSet::new();
        let files = content.files.iter().map(|(key, bytes)| (key, Some(bytes.len())));
        for (key, file) in files.chain(content.folders.iter().map(|key| (key, None))) {
            if let Some(rest) = key.strip_prefix(&prefix) {
                entries.insert(match (rest.split_once('/'), file) {
                    (Some((name, _)), _) => Entry::folder(name),
                    (None, Some(size)) => Entry::sized(rest, tdb_codec::to_u64(size)),
                    (None, None) => Entry::folder(rest),
                });
            }
        }
        if entries.is_empty() && !folder.is_empty() && !content.folders.contains(folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(entries.into_iter().collect())
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        let content = self.read();
        let file = content.file(key)?;
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        Ok((tdb_codec::to_u64(file.len()), file.slice(file.len().saturating_sub(max)..)))
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let range = range_from(offset, out.len())?;
        let bytes = self.read().slice(&ByteRange { key: key.to_owned(), range })?;
        out.copy_from_slice(&bytes);
        Ok(())
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        Ok(Some(Box::new(MemoryFile(self.read().file(key)?.clone()))))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let content = self.read();
        ranges.iter().map(|range| content.slice(range)).collect()
    }

    fn describe(&self, key: &str) -> String {
        format!("memory:{key}")
    }
}

/// A file that is being written: it appears once it is finished, as on an object store.
#[derive(Debug)]
struct NewFile {
    storage: MemoryStorage,
    key: String,
    bytes: Vec<u8>,
}

impl FileWriter for NewFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>, _: Durability) -> io::Result<()> {
        let Self { storage, key, bytes } = *self;
        storage.write().add(&key, bytes.into())
    }
}

#[deny(clippy::missing_trait_methods)]
impl WriteStorage for MemoryStorage {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        named(self.list(folder), beginning)
    }

    fn has_folders(&self) -> bool {
        true
    }

    fn create_folder(&self, key: &str) -> io::Result<()> {
        if !key.is_empty() {
            self.write().folders.insert(key.to_owned());
        }
        Ok(())
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        if self.read().files.contains_key(key) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Box::new(NewFile { storage: self.clone(), key: key.to_owned(), bytes: Vec::new() }))
    }

    fn put_file(&self, key: &str, bytes: &[u8], _: Durability) -> io::Result<()> {
        self.write().add(key, Bytes::copy_from_slice(bytes))
    }

    /// The version is the contents of the file.
    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        let bytes = self.read().file(key)?.clone();
        Ok((bytes.clone(), FileVersion::new(bytes)))
    }

    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        _: Durability,
    ) -> io::Result<FileVersion> {
        let bytes = Bytes::copy_from_slice(bytes);
        let mut content = self.write();
        match expected {
            None => content.add(key, bytes.clone())?,
            Some(expected) if content.file(key)?[..] == *expected.token() => {
                content.files.insert(key.to_owned(), bytes.clone());
            }
            Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        Ok(FileVersion::new(bytes))
    }

    fn replace_file(&self, key: &str, bytes: &[u8], _: Durability) -> io::Result<()> {
        self.insert(key, bytes.to_vec());
        Ok(())
    }

    fn lock(&self) -> io::Result<StorageLock> {
        let mut held = self.locked.held.lock().unwrap_or_else(PoisonError::into_inner);
        while *held {
            held = self.locked.free.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held = true;
        Ok(StorageLock::new(Held(self.locked.clone())))
    }

    fn sync_folder(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        self.remove(key).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        let prefix = format!("{key}/");
        let outside = |other: &String| other != key && !other.starts_with(&prefix);
        let mut content = self.write();
        let before = content.files.len().saturating_add(content.folders.len());
        content.files.retain(|other, _| outside(other));
        content.folders.retain(outside);
        let after = content.files.len().saturating_add(content.folders.len());
        if before == after { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_it_is_finished_and_is_never_overwritten() {
        let storage = MemoryStorage::default();
        storage.create_folder("a/b").unwrap();
        assert_eq!(storage.list("a").unwrap(), [Entry::folder("b")]);
        assert!(storage.list("a/b").unwrap().is_empty());
        let mut file = storage.create_file("a/b/c").unwrap();
        file.append(b"12").unwrap();
        file.append(b"3").unwrap();
        assert!(storage.keys().is_empty());
        file.finish(Durability::Synced).unwrap();
        assert_eq!(&storage.read_tail("a/b/c", 9).unwrap().1[..], b"123");
        let error = storage.create_file("a/b/c").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        storage.replace_file("a/b/c", b"4", Durability::Synced).unwrap();
        assert_eq!(&storage.read_tail("a/b/c", 9).unwrap().1[..], b"4");
        storage.remove_folder("a/b").unwrap();
        assert!(storage.keys().is_empty());
        assert_eq!(storage.remove_folder("a/b").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn one_holds_the_lock_and_the_next_waits_for_it() {
        let storage = MemoryStorage::default();
        let lock = storage.lock().unwrap();
        let other = storage.clone();
        let (told, heard) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            let _lock = other.lock().unwrap();
            told.send(()).unwrap();
        });
        assert!(heard.recv_timeout(std::time::Duration::from_millis(30)).is_err());
        drop(lock);
        heard.recv().unwrap();
        waiting.join().unwrap();
        drop(storage.lock().unwrap());
    }
}
