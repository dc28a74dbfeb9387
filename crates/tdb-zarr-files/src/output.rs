//! A folder that is being written: it gets its name once it is complete.
//!
//! Beside a folder `x` are, while it is written, `.x.tdb-lock`, which the process has locked, and
//! `.x.tdb-part`, which becomes `x`. What is replaced is called `.x.tdb-old` until it is removed.
//! If the process is killed, the next one that writes `x` finds them: the part is removed, and so
//! is the old folder if `x` is there; if `x` is not, the old one is `x` again.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Problem, Result};
use crate::tree::kind;

/// A folder that is removed again if it is not finished.
#[derive(Debug)]
pub(crate) struct Output {
    target: PathBuf,
    part: PathBuf,
    replace: bool,
    finished: bool,
    /// Held for as long as the folder is written.
    _lock: NameLock,
}

/// The lock of a name, so that one process at a time writes a folder of it.
#[derive(Debug)]
struct NameLock {
    path: PathBuf,
    file: File,
}

/// A name beside a path.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(ending);
    path.with_file_name(name)
}

/// An error about a path.
fn at(path: &Path) -> impl Fn(io::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |error| Problem::Io(error).at(path.clone())
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Removes what a path leads to, if there is something.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

impl NameLock {
    fn new(target: &Path) -> Result<Self> {
        let path = beside(target, ".tdb-lock");
        let refused = |what: String| Err(Problem::unsupported(what).at(target.display().to_string()));
        loop {
            let open = |options: &mut OpenOptions| options.write(true).open(&path);
            let (file, is_new) = match open(OpenOptions::new().create_new(true)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    (open(OpenOptions::new().create(true).truncate(false)), false)
                }
                opened => (opened, true),
            };
            let file = file.map_err(at(target))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return refused("another process writes this folder now".to_owned());
                }
                // Where a file system has no locks, the file itself is one.
                Err(TryLockError::Error(_)) if is_new => {}
                Err(TryLockError::Error(_)) => {
                    let path = path.display();
                    return refused(format!(
                        "another process writes this folder now, or was killed: then remove {path}"
                    ));
                }
            }
            // Whoever had it before has removed the file; what is locked may be no file of a name.
            if is_same(&file, &path) {
                return Ok(Self { path, file });
            }
        }
    }
}

/// Whether an open file has this name still.
#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata().ok().map(identity) == path.symlink_metadata().ok().map(identity)
}

/// Elsewhere the file stays.
#[cfg(not(unix))]
fn is_same(_: &File, _: &Path) -> bool {
    true
}

impl Drop for NameLock {
    fn drop(&mut self) {
        // While it is locked, so that nobody locks a file that is gone and goes on.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

impl Output {
    /// Begins a folder. What is there is replaced only if it is one of Zarr.
    pub(crate) fn begin(target: &Path, replace: bool) -> Result<Self> {
        if target.file_name().is_none() {
            let what = "this is no name of a new folder";
            return Err(Problem::unsupported(what).at(target.display().to_string()));
        }
        let lock = NameLock::new(target)?;
        restore(target)?;
        refuse_taken(target, replace)?;
        let part = beside(target, ".tdb-part");
        remove(&part)?;
        fs::create_dir(&part).map_err(at(target))?;
        Ok(Self { target: target.to_owned(), part, replace, finished: false, _lock: lock })
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
        // Another program may have made something meanwhile.
        refuse_taken(&self.target, self.replace)?;
        let old = beside(&self.target, ".tdb-old");
        let replaces = is_there(&self.target);
        if replaces {
            fs::rename(&self.target, &old).map_err(&failed)?;
        }
        if let Err(error) = fs::rename(&self.part, &self.target) {
            // If this fails, too, the next one that writes the folder does it.
            restore(&self.target)?;
            return Err(failed(error));
        }
        self.finished = true;
        remove(&old)
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

/// Returns an error if there is something that may not be replaced.
fn refuse_taken(target: &Path, replace: bool) -> Result<()> {
    let shown = || target.display().to_string();
    match is_there(target) {
        true if !replace => Err(Error::Exists { path: shown() }),
        true if kind(target).is_none() => {
            Err(Problem::unsupported("this is no Zarr folder, and is not replaced").at(shown()))
        }
        _ => Ok(()),
    }
}

/// Ends a replacement in which a process was killed: the old folder gets its name back if the new
/// one did not get it, and is removed otherwise.
fn restore(target: &Path) -> Result<()> {
    let old = beside(target, ".tdb-old");
    if is_there(target) {
        return remove(&old);
    }
    match fs::rename(&old, target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(&old)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder, and the names in it.
    fn scratch(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("tdb-zarr-output-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        root
    }

    fn names(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Writes a folder with one file.
    fn written(target: &Path, file: &str, replace: bool) -> Result<()> {
        let output = Output::begin(target, replace)?;
        output.write(file, b"{}")?;
        output.finish()
    }

    #[test]
    fn a_folder_is_there_when_it_is_complete_and_nothing_else_is_replaced() {
        let root = scratch("whole");
        let target = root.join("x.zarr");
        let output = Output::begin(&target, false).unwrap();
        output.write("a/b/c", b"1").unwrap();
        assert!(output.write("a/b/c", b"2").is_err());
        assert!(!target.exists());
        drop(output);
        assert!(names(&root).is_empty());
        written(&target, ".zgroup", false).unwrap();
        assert_eq!((names(&root), names(&target)), (vec!["x.zarr".into()], vec![".zgroup".into()]));
        assert!(matches!(Output::begin(&target, false), Err(Error::Exists { .. })));
        written(&target, "zarr.json", true).unwrap();
        assert_eq!((names(&root), names(&target)), (vec!["x.zarr".into()], vec!["zarr.json".into()]));
        fs::write(root.join("precious"), b"1").unwrap();
        assert!(
            Output::begin(&root.join("precious"), true).unwrap_err().to_string().contains("no Zarr folder")
        );
        // Somebody makes it while it is written.
        let output = Output::begin(&root.join("y"), true).unwrap();
        fs::write(root.join("y"), b"1").unwrap();
        assert!(output.finish().unwrap_err().to_string().contains("no Zarr folder"));
        assert!(Output::begin(Path::new("/"), true).is_err());
        assert_eq!(names(&root), ["precious", "x.zarr", "y"]);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn of_those_that_write_a_folder_at_once_one_does_and_the_others_are_refused() {
        let root = scratch("race");
        let target = root.join("x.zarr");
        let first = Output::begin(&target, false).unwrap();
        first.write("zarr.json", b"{}").unwrap();
        assert!(Output::begin(&target, true).unwrap_err().to_string().contains("another process"));
        // Those that were refused take nothing away.
        first.finish().unwrap();
        let results: Vec<Result<()>> = std::thread::scope(|scope| {
            let target = &target;
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(move || (0..25).try_for_each(|_| written(target, "zarr.json", true))))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for error in results.into_iter().filter_map(Result::err) {
            assert!(error.to_string().contains("another process writes this folder now"), "{error}");
        }
        assert_eq!((names(&root), names(&target)), (vec!["x.zarr".into()], vec!["zarr.json".into()]));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn what_a_killed_process_leaves_is_put_in_order_by_the_next_one() {
        let root = scratch("killed");
        let target = root.join("x.zarr");
        let leave = |name: &str, file: &str| {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join(file), b"{}").unwrap();
        };
        // While it wrote.
        leave(".x.zarr.tdb-part", "a");
        fs::write(root.join(".x.zarr.tdb-lock"), []).unwrap();
        written(&target, ".zgroup", false).unwrap();
        assert_eq!((names(&root), names(&target)), (vec!["x.zarr".into()], vec![".zgroup".into()]));
        // Between the two names: the old folder is there again, also if nothing becomes of the new.
        fs::rename(&target, root.join(".x.zarr.tdb-old")).unwrap();
        leave(".x.zarr.tdb-part", "zarr.json");
        assert!(matches!(Output::begin(&target, false), Err(Error::Exists { .. })));
        assert_eq!(names(&target), [".zgroup"]);
        fs::rename(&target, root.join(".x.zarr.tdb-old")).unwrap();
        written(&target, "zarr.json", true).unwrap();
        assert_eq!((names(&root), names(&target)), (vec!["x.zarr".into()], vec!["zarr.json".into()]));
        // While it removed the old folder.
        leave(".x.zarr.tdb-old", "c");
        written(&target, "zarr.json", true).unwrap();
        assert_eq!(names(&root), ["x.zarr"]);
        fs::remove_dir_all(&root).unwrap();
    }
}
