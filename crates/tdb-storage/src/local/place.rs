//! Files that appear whole: they are written under a temporary name, then renamed.
//!
//! A hard link gives the name where no file of that name may exist yet (the system guarantees
//! that); renaming gives it where one may exist. Where one version is to be replaced by another,
//! and on file systems without hard links, the process that gives the name holds a lock on it,
//! which other processes of tdb respect.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::LocalStorage;
use super::TEMPORARY;
use crate::{Durability, FileVersion};

/// A temporary file that waits for its final name. If it cannot be removed when this is dropped, it
/// is harmless.
#[derive(Debug)]
struct TemporaryFile {
    path: PathBuf,
    /// It no longer has its temporary name.
    gone: bool,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.gone {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl TemporaryFile {
    /// Gives the file its name, replacing any file that has it.
    fn rename(mut self, to: &Path) -> io::Result<()> {
        let renamed = fs::rename(&self.path, to);
        self.gone = renamed.is_ok();
        renamed
    }
}

/// Whether the error of creating a hard link means that the file system may not support them.
fn has_no_links(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, TooManyLinks, Unsupported};
    matches!(error.kind(), PermissionDenied | TooManyLinks | Unsupported)
}

impl LocalStorage {
    /// Writes a temporary file. Readers of every release ignore names that begin with a dot in the
    /// array's own folder, but not strange files in the folders of schemas and metadata.
    fn write_beside(
        &self,
        key: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<(TemporaryFile, Metadata)> {
        let name = key.rsplit('/').next().unwrap_or_default();
        let mut number = 0u32;
        let (mut file, waiting) = loop {
            // Another caller that writes the same file at the same time has a temporary file, too;
            // and a crash may have left one.
            let end = if number == 0 { ".tmp".to_owned() } else { format!(".{number}.tmp") };
            let path = self.path(&format!("{TEMPORARY}{name}{end}"));
            match File::create_new(&path) {
                Ok(file) => break (file, TemporaryFile { path, gone: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < u32::MAX => {
                    number = number.saturating_add(1);
                }
                Err(error) => return Err(error),
            }
        };
        file.write_all(bytes)?;
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        let metadata = file.metadata()?;
        Ok((waiting, metadata))
    }

    /// Puts a file in its place, whether or not there is one already.
    pub(super) fn place(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<Metadata> {
        let (waiting, metadata) = self.write_beside(key, bytes, durability)?;
        waiting.rename(&self.path(key))?;
        Ok(metadata)
    }

    /// Puts a file in its place, unless there is one already.
    pub(super) fn place_new(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<Metadata> {
        let path = self.path(key);
        if bytes.is_empty() {
            // Nobody can see a part of an empty file.
            let file = File::create_new(&path)?;
            if durability == Durability::Synced {
                file.sync_all()?;
            }
            return file.metadata();
        }
        if path.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let (waiting, metadata) = self.write_beside(key, bytes, durability)?;
        match fs::hard_link(&waiting.path, &path) {
            Err(error) if has_no_links(&error) => self.rename_new(key, waiting)?,
            linked => linked?,
        }
        Ok(metadata)
    }

    /// Gives a file its name unless that name is in use, where the system cannot guarantee it: only
    /// among processes that take the lock of the name.
    fn rename_new(&self, key: &str, waiting: TemporaryFile) -> io::Result<()> {
        let _guard = self.guard(key)?;
        let path = self.path(key);
        if fs::symlink_metadata(&path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        waiting.rename(&path)
    }

    /// Replaces one version of a file.
    pub(super) fn place_over(
        &self,
        key: &str,
        expected: &FileVersion,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<Metadata> {
        let _guard = self.guard(key)?;
        if self.versioned(key)?.1 != *expected {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.place(key, bytes, durability)
    }

    /// The contents of a file, and its version.
    pub(super) fn versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        let (mut file, metadata) = super::open_described(&self.path(key))?;
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        let bytes = Bytes::from(bytes);
        let version = version(&metadata, &bytes)?;
        Ok((bytes, version))
    }
}

#[cfg(unix)]
pub(super) use unix::version;

/// The version, made of which file this is and what it holds.
#[cfg(not(unix))]
pub(super) fn version(_: &Metadata, _: &[u8]) -> io::Result<FileVersion> {
    Err(no_guard())
}

#[cfg(not(unix))]
impl LocalStorage {
    fn guard(&self, _: &str) -> io::Result<()> {
        Err(no_guard())
    }
}

#[cfg(not(unix))]
fn no_guard() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "this system does not support replacing a file conditionally")
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    use super::{FileVersion, LocalStorage, TEMPORARY};
    use crate::opening;

    /// The version, made of which file this is, when it was last written, and what it holds.
    ///
    /// A file is never changed in place, so another file has another number, another time or other
    /// bytes. A number is reused once its file is gone, and the times of file systems have limited
    /// precision: a file that is replaced and then put back with the same bytes within some
    /// milliseconds may have its old version again.
    pub(crate) fn version(metadata: &Metadata, bytes: &[u8]) -> io::Result<FileVersion> {
        let (device, number) = (metadata.dev(), metadata.ino());
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        let mut token = format!("{device}/{number} {seconds}.{nanoseconds} ").into_bytes();
        token.extend_from_slice(bytes);
        Ok(FileVersion::new(token))
    }

    /// The lock of a name: a locked temporary file, which is removed with the lock. The next
    /// process that needs the lock takes over a file left by a crash.
    #[derive(Debug)]
    pub(super) struct NameLock {
        path: PathBuf,
        _file: File,
    }

    impl Drop for NameLock {
        fn drop(&mut self) {
            // Removed while still locked: a process that waits for the lock then finds that the
            // name belongs to another file.
            let _ = fs::remove_file(&self.path);
        }
    }

    impl LocalStorage {
        /// Waits until no other process is naming a file. This is not the lock of the whole
        /// storage.
        pub(super) fn guard(&self, key: &str) -> io::Result<NameLock> {
            let path = self.path(&format!("{TEMPORARY}{}.lock", key.replace('/', "!")));
            loop {
                let mut options = OpenOptions::new();
                let file = opening::open(options.write(true).create(true).truncate(false), &path)?;
                file.lock()?;
                let own = file.metadata()?;
                match fs::metadata(&path) {
                    Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => {
                        return Ok(NameLock { path, _file: file });
                    }
                    // The previous holder removed it.
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Storage, WriteStorage};

    fn storage(name: &str) -> LocalStorage {
        let path = std::env::temp_dir().join(format!("tdb-place-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        LocalStorage::new(path)
    }

    #[test]
    #[cfg(unix)]
    fn without_hard_links_one_of_many_gives_a_file_its_name_all_the_same() {
        let storage = storage("no-links");
        let put = |text: String| {
            let (waiting, _) = storage.write_beside("a", text.as_bytes(), Durability::Buffered)?;
            storage.rename_new("a", waiting)
        };
        let made = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || put(format!("{n}")))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(io::Result::is_ok).count()
        });
        assert_eq!(made, 1);
        assert_eq!(storage.list("").unwrap(), [crate::Entry::file("a")], "nothing is left beside");
        storage.remove_folder("").unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn what_a_crash_left_beside_is_in_nobodys_way() {
        let storage = storage("left");
        for left in [".tdb-a.tmp", ".tdb-a.1.tmp", ".tdb-x!a.lock"] {
            fs::write(storage.path(left), b"left").unwrap();
        }
        storage.put_file("a", b"1", Durability::Synced).unwrap();
        storage.create_folder("x").unwrap();
        let first = storage.swap_file("x/a", None, b"1", Durability::Synced).unwrap();
        storage.swap_file("x/a", Some(&first), b"2", Durability::Synced).unwrap();
        assert_eq!(&storage.read("x/a").unwrap()[..], b"2");
        assert!(!storage.path(".tdb-x!a.lock").exists());
        storage.remove_folder("").unwrap();
    }
}
