//! Files and folders, on the local file system and in stores.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::{fs, io::ErrorKind};

use tdb_array::storage::Durability;

use crate::ffi::Failure;
use crate::place::Place;
use crate::stores::Store;

/// A file or folder that a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its URI.
    pub(crate) uri: String,
    /// Its size in bytes; 0 for a folder.
    pub(crate) size: u64,
    /// Whether it is a folder.
    pub(crate) is_folder: bool,
}

fn failed(what: &str, uri: &str, error: &io::Error) -> Failure {
    Failure::of("VFS", format!("Cannot {what} '{uri}'; {error}"))
}

/// Whether a store has a file of this key. All keys with this one before a slash are in a folder.
fn is_stored_file(store: &Store, key: &str) -> bool {
    !key.is_empty() && store.files().size(key).is_ok()
}

/// Whether a store has a folder of this key: one of its own, or what is below it.
fn is_stored_folder(store: &Store, key: &str) -> bool {
    let files = store.files();
    match files.list(key) {
        Ok(found) => !found.is_empty() || files.has_folders(),
        Err(_) => false,
    }
}

impl Place {
    /// Whether it is a file.
    pub(crate) fn is_file(&self) -> bool {
        match self {
            Self::Local(path) => Path::new(path).is_file(),
            Self::Stored(store, key) => is_stored_file(store, key),
        }
    }

    /// Whether it is a folder.
    pub(crate) fn is_folder(&self) -> bool {
        match self {
            Self::Local(path) => Path::new(path).is_dir(),
            Self::Stored(store, key) => !is_stored_file(store, key) && is_stored_folder(store, key),
        }
    }

    /// The size of a file.
    pub(crate) fn size(&self) -> Result<u64, Failure> {
        let size = match self {
            // A folder has a size, too, as for libtiledb.
            Self::Local(path) => fs::metadata(path).map(|found| found.len()),
            Self::Stored(store, key) => store.files().size(key),
        };
        size.map_err(|error| failed("get size of", &self.uri(), &error))
    }

    /// Makes a folder, and those above it. One that exists stays.
    pub(crate) fn create_folder(&self) -> Result<(), Failure> {
        let made = match self {
            Self::Local(path) => fs::create_dir_all(path),
            Self::Stored(store, key) if is_stored_file(store, key) => {
                return Err(failed("create directory", key, &ErrorKind::AlreadyExists.into()));
            }
            // Elsewhere a folder is there once something is in it.
            Self::Stored(store, _) if !store.files().has_folders() => Ok(()),
            Self::Stored(store, key) => {
                let ends = key.match_indices('/').map(|(at, _)| at).chain([key.len()]);
                let mut parts = ends.filter_map(|end| key.get(..end));
                parts.try_for_each(|part| store.files().create_folder(part))
            }
        };
        made.map_err(|error| failed("create directory", &self.uri(), &error))
    }

    /// Makes an empty file; one that exists stays.
    pub(crate) fn touch(&self) -> Result<(), Failure> {
        if self.is_file() {
            return Ok(());
        }
        self.write(&[])
    }

    /// Removes a file.
    pub(crate) fn remove_file(&self) -> Result<(), Failure> {
        let removed = match self {
            Self::Local(path) => fs::remove_file(path),
            Self::Stored(store, key) => store.files().remove_file(key),
        };
        removed.map_err(|error| failed("delete file", &self.uri(), &error))
    }

    /// Removes a folder with all that is in it.
    pub(crate) fn remove_folder(&self) -> Result<(), Failure> {
        let removed = match self {
            Self::Local(path) => fs::remove_dir_all(path),
            Self::Stored(store, key) => store.files().remove_folder(key),
        };
        removed.map_err(|error| failed("delete directory", &self.uri(), &error))
    }

    /// Files and folders in a folder, in the order of their URIs.
    pub(crate) fn list(&self) -> Result<Vec<Found>, Failure> {
        let listed = match self {
            Self::Local(path) => list_local(path, &self.uri()),
            Self::Stored(store, key) => store.files().list(key).map(|entries| {
                let found = entries.into_iter().map(|entry| {
                    let (size, is_folder) = (entry.size.unwrap_or(0), entry.is_folder);
                    Found { uri: self.below(&entry.name).uri(), size, is_folder }
                });
                found.collect()
            }),
        };
        let mut found: Vec<Found> = listed.map_err(|error| failed("list", &self.uri(), &error))?;
        found.sort_by(|one, other| one.uri.cmp(&other.uri));
        Ok(found)
    }

    /// All that is below a folder, each folder before what is in it. Object stores have no folders:
    /// there it is objects alone.
    pub(crate) fn walk(&self) -> Result<Vec<Found>, Failure> {
        let has_folders = match self {
            Self::Local(_) => true,
            Self::Stored(store, _) => store.files().has_folders(),
        };
        let mut all = Vec::new();
        for found in self.list()? {
            let below = found.is_folder.then(|| self.below(found.uri.rsplit('/').next().unwrap_or_default()));
            if below.is_none() || has_folders {
                all.push(found);
            }
            if let Some(below) = below {
                all.extend(below.walk()?);
            }
        }
        Ok(all)
    }

    /// The bytes of a file from an offset on, into all of `out`.
    pub(crate) fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<(), Failure> {
        let read = match self {
            Self::Local(path) => fs::File::open(path).and_then(|mut file| {
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(out)
            }),
            Self::Stored(store, key) => store.files().read_into(key, offset, out),
        };
        read.map_err(|error| failed("read from file", &self.uri(), &error))
    }

    /// A whole file.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        let read = match self {
            Self::Local(path) => fs::read(path),
            Self::Stored(store, key) => store.files().read(key).map(|bytes| bytes.to_vec()),
        };
        read.map_err(|error| failed("read from file", &self.uri(), &error))
    }

    /// Makes or replaces a file.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match self {
            Self::Local(path) => make_parent(path).and_then(|()| fs::write(path, bytes)),
            Self::Stored(store, key) => store.files().replace_file(key, bytes, Durability::Buffered),
        };
        written.map_err(|error| failed("write to file", &self.uri(), &error))
    }

    /// Adds bytes to the end of a file, which is made if there is none.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Local(path) => make_parent(path)
                .and_then(|()| fs::OpenOptions::new().append(true).create(true).open(path))
                .and_then(|mut file| file.write_all(bytes))
                .map_err(|error| failed("write to file", &self.uri(), &error)),
            Self::Stored(..) => {
                let mut whole = if self.is_file() { self.read()? } else { Vec::new() };
                whole.extend_from_slice(bytes);
                self.write(&whole)
            }
        }
    }

    /// Moves a file or a folder, on the same file system.
    pub(crate) fn move_to(&self, new: &Self) -> Result<(), Failure> {
        match (self, new) {
            (Self::Local(old), Self::Local(new)) => make_parent(new)
                .and_then(|()| fs::rename(old, new))
                .map_err(|error| failed("move", &self.uri(), &error)),
            (Self::Stored(old, _), Self::Stored(other, _)) if old.is(other) && self.is_file() => {
                new.write(&self.read()?)?;
                self.remove_file()
            }
            (Self::Stored(old, _), Self::Stored(other, _)) if old.is(other) => {
                self.copy_folder(new)?;
                self.remove_folder()
            }
            _ => Err(Failure::of("VFS", "Moving files across filesystems is not supported")),
        }
    }

    /// Copies a file.
    pub(crate) fn copy_file(&self, new: &Self) -> Result<(), Failure> {
        new.write(&self.read()?)
    }

    /// Copies a folder with all that is in it.
    pub(crate) fn copy_folder(&self, new: &Self) -> Result<(), Failure> {
        let base = self.uri();
        let all = self.walk()?;
        new.create_folder()?;
        for found in all {
            let Some(name) = found.uri.strip_prefix(&base).map(|name| name.trim_start_matches('/')) else {
                continue;
            };
            if found.is_folder {
                new.below(name).create_folder()?;
            } else {
                self.below(name).copy_file(&new.below(name))?;
            }
        }
        Ok(())
    }
}

fn list_local(path: &str, uri: &str) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let metadata = fs::metadata(entry.path()).or_else(|_| entry.metadata())?;
        let is_folder = metadata.is_dir();
        let size = if is_folder { 0 } else { metadata.len() };
        found.push(Found { uri: format!("{uri}/{}", entry.file_name().to_string_lossy()), size, is_folder });
    }
    Ok(found)
}

fn make_parent(path: &str) -> io::Result<()> {
    match Path::new(path).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::create_dir_all(parent),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "stores")]
    use std::sync::Arc;

    use tdb_array::storage::MemoryStorage;

    use super::*;

    #[test]
    fn files_in_memory_are_listed_copied_and_moved() {
        let storage = MemoryStorage::default();
        let place = |key: &str| Place::Stored(Store::memory(&storage), key.to_owned());
        place("a/b").create_folder().unwrap();
        assert!(place("a").is_folder() && place("a/b").is_folder() && !place("a/c").is_folder());
        place("a/b/file").append(b"12").unwrap();
        place("a/b/file").append(b"3").unwrap();
        place("a/c").touch().unwrap();
        let shown = |found: Vec<Found>| found.into_iter().map(|one| (one.uri, one.size)).collect::<Vec<_>>();
        let expected = [("mem://a/b", 0), ("mem://a/b/file", 3), ("mem://a/c", 0)];
        assert_eq!(shown(place("a").walk().unwrap()), expected.map(|(uri, size)| (uri.to_owned(), size)));
        place("a").move_to(&place("d/e")).unwrap();
        assert!(!place("a").is_folder());
        assert_eq!(place("d/e/b/file").read().unwrap(), b"123");
        let mut bytes = [0; 2];
        place("d/e/b/file").read_into(1, &mut bytes).unwrap();
        assert_eq!(&bytes, b"23");
        assert!(place("d/e/b/file").read_into(2, &mut bytes).is_err());
    }

    #[cfg(feature = "stores")]
    #[test]
    fn a_walk_of_an_object_store_finds_objects_alone() {
        let objects = Arc::new(tdb_object_store::object_store::memory::InMemory::new());
        let objects = tdb_object_store::ObjectStorage::new(objects, "").unwrap();
        let store = Store::of_bucket(Arc::new(objects));
        let place = |key: &str| Place::Stored(store.clone(), key.to_owned());
        for key in ["a/b/file", "a/c/d/file", "a/file"] {
            place(key).append(b"1").unwrap();
        }
        let found = place("a").walk().unwrap().into_iter().map(|one| one.uri).collect::<Vec<_>>();
        assert_eq!(found, ["s3://bucket/a/b/file", "s3://bucket/a/c/d/file", "s3://bucket/a/file"]);
    }
}
