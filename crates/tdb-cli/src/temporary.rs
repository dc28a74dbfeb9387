//! Files for what does not fit into memory, for as long as a command runs; and files that take the
//! place of another one when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file in the folder for temporary files that has no name any more: nobody else can open it, and
/// however the process ends, nothing is left of it.
pub(crate) fn unnamed() -> io::Result<File> {
    let folder = std::env::temp_dir();
    let (path, file) = create(|process, number| folder.join(format!("tdb-{process}-{number}")))?;
    unname(&path)?;
    Ok(file)
}

/// Creates a file with the first name that is free.
fn create(name: impl Fn(u32, u64) -> PathBuf) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    loop {
        let path = name(std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        match options.open(&path) {
            Ok(file) => return Ok((path, file)),
            // A leftover of an earlier process with the same id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn unname(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Elsewhere the name goes with the last program that has the file open, as soon as the system
/// allows it.
#[cfg(not(unix))]
fn unname(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or(Ok(()))
}

/// A reader of a file from its beginning: several can read one file, each at a place of its own.
#[derive(Debug)]
pub(crate) struct Reader {
    file: Arc<File>,
    place: u64,
}

impl Reader {
    pub(crate) const fn new(file: Arc<File>) -> Self {
        Self { file, place: 0 }
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = read_at(&self.file, out, self.place)?;
        self.place = self.place.saturating_add(tdb_codec::to_u64(len));
        Ok(len)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(place) => (place, 0),
            SeekFrom::Current(by) => (self.place, by),
            SeekFrom::End(by) => (self.file.metadata()?.len(), by),
        };
        let place = from.checked_add_signed(by);
        self.place = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.place)
    }
}

#[cfg(unix)]
fn read_at(file: &File, out: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, place)
}

#[cfg(windows)]
fn read_at(file: &File, out: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, place)
}

#[cfg(not(any(unix, windows)))]
fn read_at(mut file: &File, out: &mut [u8], place: u64) -> io::Result<usize> {
    file.seek(SeekFrom::Start(place))?;
    file.read(out)
}

/// A file that is removed with its owner, unless it took the place of another one.
#[cfg(feature = "convert")]
#[derive(Debug)]
pub(crate) struct Temporary {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

#[cfg(feature = "convert")]
impl Temporary {
    /// A file in the folder of another one, which it can replace.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A long name leaves no room for more.
        let name: String = name.chars().take(48).collect();
        let beside = |process, number| path.with_file_name(format!(".{name}.{process}-{number}.part"));
        create(beside).map(|(path, file)| Self { path, file })
    }

    /// Makes the file the one at this path, which must be in the same folder. What is there is
    /// replaced.
    pub(crate) fn replace(self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, path)
    }
}

#[cfg(feature = "convert")]
impl Drop for Temporary {
    fn drop(&mut self) {
        // If it cannot be removed, it stays where it is. After `replace`, nothing has its name any
        // more.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_unnamed_file_is_in_no_folder_and_has_several_readers() {
        let mut file = unnamed().unwrap();
        file.write_all(b"0123456789").unwrap();
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::MetadataExt;
            assert_eq!(file.metadata().unwrap().nlink(), 0);
        }
        let file = Arc::new(file);
        let (mut one, mut other) = (Reader::new(file.clone()), Reader::new(file));
        let mut start = [0; 3];
        one.read_exact(&mut start).unwrap();
        let mut all = Vec::new();
        other.read_to_end(&mut all).unwrap();
        assert_eq!((&start, &all[..]), (b"012", &b"0123456789"[..]));
        assert_eq!(one.seek(SeekFrom::End(-2)).unwrap(), 8);
        assert_eq!(one.seek(SeekFrom::Current(-4)).unwrap(), 4);
        assert!(one.seek(SeekFrom::Current(-5)).is_err());
        all.clear();
        one.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"456789");
    }

    #[cfg(feature = "convert")]
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
