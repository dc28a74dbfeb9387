//! Files for what does not fit into memory, for as long as a command runs; and files and folders
//! that take a place when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::thresholds::LEFTOVER_AGE;

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

/// A file that is gone with its owner, unless it took the place of another one. On Linux it has no
/// name before, where the file system can do that: nothing is left of it if the process is killed.
/// Elsewhere the next file of the same name removes what a killed process left.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// The name that it has, if it has one.
    path: Option<PathBuf>,
    pub(crate) file: File,
}

impl Temporary {
    /// A file in the folder of another one, which it can replace.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        if let Some(file) = nameless(folder_of(path)) {
            return Ok(Self { path: None, file });
        }
        remove_leftovers(path);
        let (name, file) = create(|process, number| part(path, process, number))?;
        // Locks that a file system does not have leave a file for good if the process is killed.
        let _ = file.try_lock();
        Ok(Self { path: Some(name), file })
    }

    /// Makes the file the one at this path, which must be in the same folder. What is there is
    /// replaced.
    pub(crate) fn replace(mut self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        if self.path.is_none() {
            self.path = Some(name(&self.file, path)?);
        }
        match self.path.as_ref() {
            Some(named) => fs::rename(named, path),
            None => Ok(()),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // If it cannot be removed, it stays where it is. After `replace`, nothing has its name any
        // more.
        let _ = self.path.as_ref().map(fs::remove_file);
    }
}

/// The beginning and the end of names of files beside another one.
fn around(path: &Path) -> (String, &'static str) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A long name leaves no room for more.
    let name: String = name.chars().take(48).collect();
    (format!(".{name}."), ".part")
}

fn part(path: &Path, process: u32, number: u64) -> PathBuf {
    let (start, end) = around(path);
    path.with_file_name(format!("{start}{process}-{number}{end}"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name in the folder of a path that nothing has.
pub(crate) fn free_name_beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let name = part(path, std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        if name.symlink_metadata().is_err() {
            return name;
        }
    }
}

/// The folder in which Linux shows the files that this process has open.
#[cfg(target_os = "linux")]
const OPEN_FILES: &str = "/proc/self/fd";

/// A file without a name, where the system has such files that can get one later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};

    // Without this folder (a bare container), it could not get a name.
    if !Path::new(OPEN_FILES).is_dir() {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    open(folder, flags, Mode::from_raw_mode(0o666)).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> Option<File> {
    None
}

/// Gives a file without a name one beside a path.
#[cfg(target_os = "linux")]
fn name(file: &File, path: &Path) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};

    static NEXT: AtomicU64 = AtomicU64::new(0);
    let open = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    loop {
        let named = part(path, std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        match linkat(CWD, &open, CWD, &named, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => return Ok(named),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn name(_: &File, _: &Path) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The file in a folder that is being made, which its process has locked. The names of arrays and
/// groups do not begin with a dot.
const LOCK: &str = ".lock";

/// A folder beside another one, until it is given a name of its own. It is gone with its owner. If
/// the process is killed, the next one that makes a folder for the same name removes it.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    /// Locked for as long as the folder is being made.
    lock: Option<File>,
}

impl TemporaryFolder {
    /// A new folder in that of a path.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        remove_leftovers(path);
        let path = loop {
            let path = free_name_beside(path);
            match fs::create_dir(&path) {
                Ok(()) => break path,
                // Another thread was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let mut folder = Self { path, lock: None };
        let lock = File::create(folder.path.join(LOCK))?;
        // Locks that a file system does not have leave a folder for good if the process is killed.
        let _ = lock.try_lock();
        folder.lock = Some(lock);
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder a name in the folder that it is in.
    pub(crate) fn rename(mut self, name: &Path) -> io::Result<()> {
        // From here on the folder is new again, so that nobody takes it for left over.
        fs::remove_file(self.path.join(LOCK))?;
        self.lock = None;
        fs::rename(&self.path, name)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        self.lock = None;
        // What cannot be removed, the next one removes. After `rename`, nothing has its name.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed processes left of files and folders of this name: nobody has them locked.
/// What is new may not be locked yet.
fn remove_leftovers(path: &Path) {
    let (start, end) = around(path);
    let Ok(entries) = fs::read_dir(folder_of(path)) else { return };
    for entry in entries.filter_map(Result::ok) {
        let found = entry.file_name();
        let is_part = found.to_str().is_some_and(|name| name.starts_with(&start) && name.ends_with(end));
        let Some(is_folder) = entry.file_type().ok().filter(|_| is_part).map(|found| found.is_dir()) else {
            continue;
        };
        let own = entry.path();
        // The lock is held until the file is gone: so whoever finished in this moment is new below.
        let lock = File::open(if is_folder { own.join(LOCK) } else { own.clone() });
        let is_left = match &lock {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(error) => is_folder && error.kind() == io::ErrorKind::NotFound,
        };
        let modified = fs::symlink_metadata(&own).and_then(|found| found.modified());
        let age = modified.ok().and_then(|time| time.elapsed().ok());
        if is_left && age.is_some_and(|age| age >= LEFTOVER_AGE) {
            // Another process may have removed it.
            let _ = if is_folder { fs::remove_dir_all(&own) } else { fs::remove_file(&own) };
        }
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

    #[test]
    fn a_file_takes_the_place_of_another_one_or_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("tdb-temporary-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("é".repeat(100));
        let names = || fs::read_dir(&folder).unwrap().count();
        drop(Temporary::beside(&path).unwrap());
        assert_eq!(names(), 0);
        fs::write(&path, "old").unwrap();
        let mut new = Temporary::beside(&path).unwrap();
        new.file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        new.replace(&path).unwrap();
        assert_eq!((names(), fs::read(&path).unwrap()), (1, b"new".to_vec()));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed_unless_they_are_new_or_locked() {
        let folder = std::env::temp_dir().join(format!("tdb-leftovers-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.csv");
        let old = std::time::SystemTime::now() - 2 * LEFTOVER_AGE;
        let make = |number: u64| {
            let file = File::create(part(&path, 1, number)).unwrap();
            file.set_modified(old).unwrap();
            file
        };
        drop(make(0));
        let locked = make(1);
        locked.try_lock().unwrap();
        File::create(part(&path, 1, 2)).unwrap();
        File::create(folder.join(".x.tsv.1-0.part")).unwrap().set_modified(old).unwrap();
        remove_leftovers(&path);
        let left = [part(&path, 1, 0), part(&path, 1, 1), part(&path, 1, 2)].map(|path| path.exists());
        assert_eq!((left, fs::read_dir(&folder).unwrap().count()), ([false, true, true], 3));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn folders_of_a_killed_process_are_removed_unless_they_are_new_or_locked() {
        let root = std::env::temp_dir().join(format!("tdb-left-folders-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let place = root.join("x.soma");
        let old = std::time::SystemTime::now() - 2 * LEFTOVER_AGE;
        let age = |path: &Path| File::open(path).unwrap().set_modified(old).unwrap();
        // A process that is killed leaves its folder and the file, which nobody has locked then.
        let killed = TemporaryFolder::beside(&place).unwrap();
        fs::create_dir(killed.path().join("obs")).unwrap();
        let left = root.join("left");
        fs::rename(killed.path(), &left).unwrap();
        drop(killed);
        let killed = part(&place, 1, 0);
        fs::rename(&left, &killed).unwrap();
        age(&killed);
        let working = TemporaryFolder::beside(&place).unwrap();
        assert!(!killed.exists());
        age(working.path());
        fs::create_dir(part(&place, 1, 1)).unwrap();
        drop(TemporaryFolder::beside(&place).unwrap());
        assert!(working.path().exists() && part(&place, 1, 1).exists());
        working.rename(&place).unwrap();
        assert_eq!((fs::read_dir(&place).unwrap().count(), fs::read_dir(&root).unwrap().count()), (0, 2));
        fs::remove_dir_all(&root).unwrap();
    }
}
