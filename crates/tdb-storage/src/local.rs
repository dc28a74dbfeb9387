//! An array in a folder of the local file system.

mod lock;
mod new_file;
mod place;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;

use self::new_file::{NewFile, OpenFile};
use crate::opening::{self, open_described, open_file};
use crate::{
    ByteRange, Durability, Entry, FileVersion, FileWriter, Storage, StorageLock, StoredFile, WriteStorage,
    named, range_from, range_len,
};

/// The prefix of temporary files in the array's own folder, which are later moved to their final
/// place.
pub const TEMPORARY: &str = ".tdb-";

/// The beginning of the names of the format's folders, and of its files that define the contents of
/// an array.
const PREFIX: &str = "__";

/// A folder of the local file system.
#[derive(Clone, Debug)]
pub struct LocalStorage {
    root: PathBuf,
}

impl LocalStorage {
    /// The array in folder `root`, a path or, as libtiledb writes it, a `file://` URL.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let path = root.to_str().and_then(|text| text.strip_prefix("file://")).map(PathBuf::from);
        Self { root: path.unwrap_or(root) }
    }

    /// Rejects URLs of object stores: they could be paths, but are not meant as such.
    fn refuse_urls(&self) -> io::Result<()> {
        match self.root.to_str().and_then(|root| root.split_once("://")) {
            Some((scheme, _))
                if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !self.root.exists() =>
            {
                let why = "this is the URL of an object store: create its storage with the crate tdb-object-store, and open \
                           the array with open_storage or open_async";
                Err(io::Error::new(io::ErrorKind::Unsupported, why))
            }
            _ => Ok(()),
        }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the folder with access for its owner only, on systems that have owners. A folder
    /// that exists already is left unchanged.
    ///
    /// # Errors
    /// Any I/O error of the storage.
    pub fn create_private(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&self.root)
    }

    /// Sets the time of a file to now, so that it counts as used ([`Self::last_use`]).
    ///
    /// # Errors
    /// Any I/O error of the storage.
    pub fn touch(&self, key: &str) -> io::Result<()> {
        open_file(&self.path(key))?.set_modified(SystemTime::now())
    }

    /// When a file was last written or touched, and its size. Links are not followed.
    ///
    /// # Errors
    /// Any I/O error of the storage; [`io::ErrorKind::InvalidInput`] if it is not a regular file.
    pub fn last_use(&self, key: &str) -> io::Result<(SystemTime, u64)> {
        let metadata = fs::symlink_metadata(self.path(key))?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok((metadata.modified()?, metadata.len()))
    }

    fn path(&self, key: &str) -> PathBuf {
        if key.is_empty() { self.root.clone() } else { self.root.join(key) }
    }

    /// The entries of a folder with the wanted names.
    fn listed(&self, folder: &str, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let listed = fs::read_dir(self.path(folder)).or_else(|error| self.refuse_urls().and(Err(error)))?;
        for entry in listed {
            let entry = entry?;
            // A name that is not UTF-8 cannot belong to the format.
            let Ok(name) = entry.file_name().into_string() else { continue };
            if !wanted(&name) {
                continue;
            }
            let kind = entry.file_type()?;
            let is_folder = if kind.is_symlink() { leads_to_folder(&entry, &name)? } else { kind.is_dir() };
            entries.push(Entry { name, is_folder, size: None });
        }
        Ok(entries)
    }
}

impl Storage for LocalStorage {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.listed(folder, |_| true)
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        Ok(open_described(&self.path(key))?.1.len())
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        let (mut file, metadata) = open_described(&self.path(key))?;
        let size = metadata.len();
        let start = size.saturating_sub(most);
        if start > 0 {
            file.seek(SeekFrom::Start(start))?;
        }
        let mut bytes = Vec::with_capacity(range_len(&(start..size), size)?);
        file.take(size.saturating_sub(start)).read_to_end(&mut bytes)?;
        Ok((size, bytes.into()))
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_exact_at(&open_file(&self.path(key))?, offset, out)
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        Ok(Some(Box::new(open_file(&self.path(key))?)))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let mut open: Option<(&str, File, u64)> = None;
        let mut results = Vec::with_capacity(ranges.len());
        for ByteRange { key, range } in ranges {
            let (file, size) = match &mut open {
                Some((name, file, size)) if name == key => (file, *size),
                slot => {
                    let (file, metadata) = open_described(&self.path(key))?;
                    let (_, file, size) = slot.insert((key, file, metadata.len()));
                    (file, *size)
                }
            };
            let len = range_len(range, size)?;
            let mut bytes = Vec::with_capacity(len);
            file.seek(SeekFrom::Start(range.start))?;
            // Reading through `take` fills spare capacity without zeroing it first.
            file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
            if bytes.len() != len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            results.push(bytes.into());
        }
        Ok(results)
    }

    fn describe(&self, key: &str) -> String {
        self.path(key).display().to_string()
    }
}

#[deny(clippy::missing_trait_methods)]
impl WriteStorage for LocalStorage {
    /// Other entries are skipped without asking for their metadata: a writer calls this for each of
    /// its files, and there may be many.
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        named(self.listed(folder, |name| name.starts_with(beginning)), beginning)
    }

    fn has_folders(&self) -> bool {
        true
    }

    fn create_folder(&self, key: &str) -> io::Result<()> {
        let folder = self.path(key);
        if key.is_empty() {
            self.refuse_urls()?;
            // Nobody syncs the folders above the array later, except the nearest one.
            let missing = folder.ancestors().skip(1).take_while(|above| !is_there(above));
            for above in missing.collect::<Vec<_>>().into_iter().rev() {
                fs::create_dir_all(above)?;
                sync(parent_of(above))?;
            }
        }
        fs::create_dir_all(folder)
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        let path = self.path(key);
        let file = File::create_new(&path)?;
        Ok(Box::new(NewFile { open: OpenFile::keep(file), path }))
    }

    /// A hard link gives the file its name; if several callers create it, the system lets one
    /// succeed. Where there are no hard links, callers of this method exclude each other by locks;
    /// other programs may not respect these.
    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.place_new(key, bytes, durability).map(drop)
    }

    /// A version consists of the file's number in its file system, its time, and its whole
    /// contents. There are no versions on systems other than Unix.
    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        self.versioned(key)
    }

    /// Among all processes of this machine, and all that share a file system with shared locks
    /// (`flock`), only one replaces a version. Locks of other kinds and programs other than tdb are
    /// not considered.
    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        if cfg!(not(unix)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let metadata = match expected {
            None => self.place_new(key, bytes, durability)?,
            Some(expected) => self.place_over(key, expected, bytes, durability)?,
        };
        place::version(&metadata, bytes)
    }

    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.place(key, bytes, durability).map(drop)
    }

    /// On Unix, the array's own folder is locked (`flock`), so a lock leaves no file and ends with
    /// its process. Where Linux keeps locks of folders to itself although other machines may share
    /// them (NFS, SMB, FUSE), and where folders cannot be opened, a file in the array's folder is
    /// locked. That lock ends with its process, too, and the empty file stays.
    fn lock(&self) -> io::Result<StorageLock> {
        self.locked()
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        let folder = self.path(key);
        sync(&folder)?;
        if key.is_empty() { sync(parent_of(&folder)) } else { Ok(()) }
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        fs::remove_file(self.path(key))
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        fs::remove_dir_all(self.path(key))
    }
}

/// Whether a link counts as a folder: it counts as what it points to, and as a file if that cannot
/// be found out, for instance because it is gone. Whoever reads or removes such a file gets the
/// error of the link itself.
fn leads_to_folder(link: &fs::DirEntry, name: &str) -> io::Result<bool> {
    match fs::metadata(link.path()) {
        Ok(target) => Ok(target.is_dir()),
        // A part of the array may be on a disk that is not there now. If its folder counted as a
        // file, the array would look as if it had nothing in it. Callers take `NotFound` for an
        // absent folder, so the kind is another one.
        Err(error) if name.starts_with(PREFIX) => {
            let link = link.path().display().to_string();
            let what =
                format!("the link {link} cannot be followed ({error}): mend what it points to, or remove it");
            Err(io::Error::other(what))
        }
        Err(_) => Ok(false),
    }
}

fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}

/// The folder above a folder: the working directory for a bare name, and the root for itself.
fn parent_of(folder: &Path) -> &Path {
    match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => folder,
    }
}

/// Forces the names in a folder to the medium, on systems that can open folders.
#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    opening::open_folder(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}

impl StoredFile for File {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_exact_at(self, offset, out)
    }

    #[cfg(target_os = "linux")]
    fn will_need(&self, range: &core::ops::Range<u64>) -> bool {
        let mut start = range.start;
        while let Some(left) = std::num::NonZeroU64::new(range.end.saturating_sub(start)) {
            let len = left.min(LONGEST_HINT);
            if rustix::fs::fadvise(self, start, Some(len), rustix::fs::Advice::WillNeed).is_err() {
                return false;
            }
            start = start.saturating_add(len.get());
        }
        true
    }
}

/// The maximum length in bytes of a range given to `fadvise`: Linux reads no more of a longer range
/// than the device's read-ahead, which is usually at least this.
#[cfg(target_os = "linux")]
const LONGEST_HINT: std::num::NonZeroU64 = std::num::NonZeroU64::new(128 << 10).unwrap();

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    let offset = range_from(offset, out.len())?.start;
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(not(unix))]
fn read_exact_at(mut file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    let offset = range_from(offset, out.len())?.start;
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_url_is_the_path_in_it_with_its_characters_as_they_are() {
        assert_eq!(LocalStorage::new("file:///data/a%20b c").root(), Path::new("/data/a%20b c"));
        assert_eq!(LocalStorage::new("data/file:///x").root(), Path::new("data/file:///x"));
    }

    #[test]
    fn the_url_of_a_store_is_refused_with_what_to_do_and_no_folder_is_made_of_it() {
        let storage = LocalStorage::new("s3://bucket/array");
        for error in [storage.list("").unwrap_err(), storage.create_folder("").unwrap_err()] {
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains("tdb-object-store"), "{error}");
        }
        assert!(!Path::new("s3:").exists());
    }
    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_is_a_file_unless_it_may_be_a_part_of_the_array() {
        use std::os::unix::fs::symlink;
        let folder = std::env::temp_dir().join(format!("tdb-links-{}", std::process::id()));
        let storage = LocalStorage::new(&folder);
        storage.create_folder("target").unwrap();
        for (target, name) in [("gone", "editor"), ("round", "round"), ("target", "linked")] {
            symlink(folder.join(target), folder.join(name)).unwrap();
        }
        let mut listed = storage.list("").unwrap();
        listed.sort_unstable();
        let listed: Vec<_> = listed.iter().map(|entry| (&*entry.name, entry.is_folder)).collect();
        assert_eq!(listed, [("editor", false), ("linked", true), ("round", false), ("target", true)]);
        assert_eq!(storage.size("editor").unwrap_err().kind(), io::ErrorKind::NotFound);
        storage.remove_file("editor").unwrap();

        symlink(folder.join("gone"), folder.join("__fragments")).unwrap();
        let error = storage.list("").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Other);
        assert!(error.to_string().contains("__fragments cannot be followed"), "{error}");
        storage.remove_folder("").unwrap();
        assert!(!folder.exists());
    }
}
