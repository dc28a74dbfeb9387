//! An array whose files are in memory: tests, fuzzers, browsers.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bytes::Bytes;

use super::{ByteRange, Entry, Storage, StoredFile, range_len};

/// Files in memory, by key.
///
/// ```
/// use tdb_array::{MemoryStorage, Storage};
///
/// let storage = MemoryStorage::new([("__meta/x", &b"abc"[..])]);
/// assert_eq!(storage.list("")?[0].name, "__meta");
/// assert_eq!(&storage.read_tail("__meta/x", 2)?.1[..], b"bc");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    files: BTreeMap<String, Bytes>,
}

impl MemoryStorage {
    /// A storage of these files.
    pub fn new<K: Into<String>, V: Into<Bytes>>(files: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { files: files.into_iter().map(|(key, bytes)| (key.into(), bytes.into())).collect() }
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, key: impl Into<String>, bytes: impl Into<Bytes>) {
        self.files.insert(key.into(), bytes.into());
    }

    /// Removes a file.
    pub fn remove(&mut self, key: &str) -> Option<Bytes> {
        self.files.remove(key)
    }

    /// Keys of all files.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    fn file(&self, key: &str) -> io::Result<&Bytes> {
        self.files.get(key).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn slice(&self, range: &ByteRange) -> io::Result<Bytes> {
        let file = self.file(&range.key)?;
        let len = range_len(&range.range, tdb_codec::to_u64(file.len()))?;
        // In bounds: the range was compared with the file's length.
        let start = usize::try_from(range.range.start).unwrap_or(usize::MAX);
        Ok(file.slice(start..start.saturating_add(len)))
    }
}

#[derive(Debug)]
struct MemoryFile<'a>(&'a Bytes);

impl StoredFile for MemoryFile<'_> {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.saturating_add(tdb_codec::to_u64(out.len()));
        range_len(&(offset..end), tdb_codec::to_u64(self.0.len()))?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.0.get(start..start.saturating_add(out.len()));
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Storage for MemoryStorage {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = BTreeSet::new();
        for key in self.files.keys() {
            if let Some(rest) = key.strip_prefix(&prefix) {
                let (name, is_folder) = match rest.split_once('/') {
                    Some((name, _)) => (name, true),
                    None => (rest, false),
                };
                entries.insert(Entry { name: name.to_owned(), is_folder });
            }
        }
        if entries.is_empty() && !folder.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(entries.into_iter().collect())
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        let file = self.file(key)?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok((tdb_codec::to_u64(file.len()), file.slice(file.len().saturating_sub(most)..)))
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let range = offset..offset.saturating_add(tdb_codec::to_u64(out.len()));
        let bytes = self.slice(&ByteRange { key: key.to_owned(), range })?;
        out.copy_from_slice(&bytes);
        Ok(())
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        Ok(Some(Box::new(MemoryFile(self.file(key)?))))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        ranges.iter().map(|range| self.slice(range)).collect()
    }

    fn describe(&self, key: &str) -> String {
        format!("memory:{key}")
    }
}
