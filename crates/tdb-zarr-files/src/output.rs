//! A folder that is being written: it gets its name once it is complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Problem, Result};
use crate::tree::kind;

/// The file that says that a process still writes a folder.
const LOCK: &str = ".lock";

/// A folder that is removed again if it is not finished. If the process is killed, the next one
/// that writes a folder of the same name removes it.
#[derive(Debug)]
pub(crate) struct Output {
    target: PathBuf,
    part: PathBuf,
    replace: bool,
    /// Locked for as long as the folder is written.
    _lock: File,
    finished: bool,
}

/// A name beside a path.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(ending);
    path.with_file_name(name)
}

/// An error about a path.
fn at(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.display().to_string();
    move |error| Problem::Io(error).at(path.clone())
}

impl Output {
    /// Begins a folder. What is there is replaced only if it is one of Zarr.
    pub(crate) fn begin(target: &Path, replace: bool) -> Result<Self> {
        let shown = || target.display().to_string();
        if target.file_name().is_none() {
            return Err(Problem::unsupported("this is no name of a new folder").at(shown()));
        }
        if target.symlink_metadata().is_ok() {
            if !replace {
                return Err(Error::Exists { path: shown() });
            }
            if kind(target).is_none() {
                return Err(Problem::unsupported("this is no Zarr folder, and is not replaced").at(shown()));
            }
        }
        let part = beside(target, ".part");
        loop {
            match fs::create_dir(&part) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    remove_leftover(&part, &shown())?;
                }
                Err(error) => return Err(at(target)(error)),
            }
        }
        let lock = File::create(part.join(LOCK)).map_err(at(&part))?;
        // Locks that a file system does not have leave a folder for good if the process is killed.
        let _ = lock.try_lock();
        Ok(Self { target: target.to_owned(), part, replace, _lock: lock, finished: false })
    }

    /// Writes a file, whose name may have slashes.
    pub(crate) fn write(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let path = self.part.join(key);
        let failed = |error| Problem::Io(error).at(self.target.join(key).display().to_string());
        let mut options = OpenOptions::new();
        // Names that a file system does not tell apart are noticed.
        options.write(true).create_new(true);
        let mut file = match (options.open(&path), path.parent()) {
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder).and_then(|()| options.open(&path))
            }
            (opened, _) => opened,
        }
        .map_err(failed)?;
        file.write_all(bytes).map_err(failed)
    }

    /// Gives the folder its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        let failed = at(&self.target);
        fs::remove_file(self.part.join(LOCK)).map_err(&failed)?;
        let old = beside(&self.target, ".old");
        let replaces = self.target.symlink_metadata().is_ok();
        if replaces {
            if !self.replace {
                return Err(Error::Exists { path: self.target.display().to_string() });
            }
            fs::rename(&self.target, &old).map_err(&failed)?;
        }
        if let Err(error) = fs::rename(&self.part, &self.target) {
            if replaces {
                fs::rename(&old, &self.target).map_err(&failed)?;
            }
            return Err(failed(error));
        }
        self.finished = true;
        if replaces { fs::remove_dir_all(&old).map_err(at(&old)) } else { Ok(()) }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be removed, the next one removes.
            let _ = fs::remove_dir_all(&self.part);
        }
    }
}

/// Removes the folder of a process that was killed.
fn remove_leftover(part: &Path, shown: &str) -> Result<()> {
    if let Ok(lock) = File::open(part.join(LOCK))
        && lock.try_lock().is_err()
    {
        return Err(Problem::unsupported("another process writes this folder now").at(shown));
    }
    fs::remove_dir_all(part).map_err(at(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_when_it_is_complete_and_nothing_else_is_replaced() {
        let root = std::env::temp_dir().join(format!("tdb-zarr-output-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let names = || -> Vec<OsString> {
            fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        let target = root.join("x.zarr");
        let output = Output::begin(&target, false).unwrap();
        output.write("a/b/c", b"1").unwrap();
        assert!(output.write("a/b/c", b"2").is_err());
        assert!(Output::begin(&target, false).unwrap_err().to_string().contains("another process"));
        drop(output);
        assert!(names().is_empty());
        // A process that was killed has no lock.
        fs::create_dir_all(root.join(".x.zarr.part/a")).unwrap();
        let output = Output::begin(&target, false).unwrap();
        output.write(".zgroup", b"{}").unwrap();
        output.finish().unwrap();
        assert_eq!(
            (names(), fs::read(target.join(".zgroup")).unwrap()),
            (vec!["x.zarr".into()], b"{}".to_vec())
        );
        assert!(matches!(Output::begin(&target, false), Err(Error::Exists { .. })));
        let output = Output::begin(&target, true).unwrap();
        output.write("zarr.json", b"{}").unwrap();
        output.finish().unwrap();
        assert!(!target.join(".zgroup").exists() && target.join("zarr.json").exists());
        assert_eq!(names(), ["x.zarr"]);
        fs::write(root.join("precious"), b"1").unwrap();
        assert!(
            Output::begin(&root.join("precious"), true).unwrap_err().to_string().contains("no Zarr folder")
        );
        assert!(Output::begin(Path::new("/"), true).is_err());
        fs::remove_dir_all(&root).unwrap();
    }
}
