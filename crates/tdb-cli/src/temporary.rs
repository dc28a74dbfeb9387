//! Files for what does not fit into memory, for as long as a command runs; and files that take the place of another one
//! when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io;
#[cfg(feature = "convert")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is removed with its owner.
#[derive(Debug)]
pub(crate) struct Temporary {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

impl Temporary {
    /// A file in the folder for temporary files.
    pub(crate) fn new() -> io::Result<Self> {
        Self::named(|process, number| std::env::temp_dir().join(format!("tdb-{process}-{number}")))
    }

    /// A file in the folder of another one, which it can replace.
    #[cfg(feature = "convert")]
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A long name leaves no room for more.
        let name: String = name.chars().take(48).collect();
        Self::named(|process, number| path.with_file_name(format!(".{name}.{process}-{number}.part")))
    }

    fn named(name: impl Fn(u32, u64) -> PathBuf) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = name(std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                // A leftover of an earlier process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the file the one at this path, which must be in the same folder. What is there is replaced.
    #[cfg(feature = "convert")]
    pub(crate) fn replace(self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // If it cannot be removed, it stays where it is. After `replace`, nothing has its name any more.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(all(test, feature = "convert"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_the_place_of_another_one_or_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("tdb-temporary-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("é".repeat(100));
        let names = || fs::read_dir(&folder).unwrap().count();
        drop(Temporary::beside(&path).unwrap());
        assert_eq!(names(), 0);
        fs::write(&path, "old").unwrap();
        let new = Temporary::beside(&path).unwrap();
        fs::write(&new.path, "new").unwrap();
        assert_eq!((names(), fs::read(&path).unwrap()), (2, b"old".to_vec()));
        new.replace(&path).unwrap();
        assert_eq!((names(), fs::read(&path).unwrap()), (1, b"new".to_vec()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
