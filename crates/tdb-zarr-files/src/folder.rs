//! The folder of a hierarchy. Nothing outside of it is read: links in it are refused.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::compressed::Limit;
use crate::error::{Error, Problem, Result};

const LINK: &str = "this is a link, and links in a Zarr folder are not followed";

/// A folder that was named, and what is in it.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All, of at most so many.
    All(u64),
    /// So many from an offset on.
    From(u64, u64),
    /// So many at the end.
    Last(u64),
}

impl Folder {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// A path in it, for messages.
    pub(crate) fn shown(&self, path: &str) -> String {
        if path.is_empty() {
            self.root.display().to_string()
        } else {
            self.root.join(path).display().to_string()
        }
    }

    /// What is at a path, which has plain names only. `None` if there is nothing.
    fn find(&self, path: &str) -> Result<Option<(PathBuf, Metadata)>> {
        let mut place = self.root.clone();
        // The folder itself may be a link of the caller's.
        let mut found = fs::metadata(&place);
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if matches!(name, "." | "..") || name.contains('\\') || name.contains('\0') {
                return Err(Problem::unsupported("this name has a meaning of its own").at(self.shown(path)));
            }
            place.push(name);
            found = fs::symlink_metadata(&place);
            if found.as_ref().is_ok_and(Metadata::is_symlink) {
                return Err(Problem::unsupported(LINK).at(self.shown(path)));
            }
        }
        match found {
            Ok(found) => Ok(Some((place, found))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(Problem::Io(error).at(self.shown(path))),
        }
    }

    /// A part of a file; `None` if there is no such file.
    pub(crate) fn read(&self, path: &str, part: Part) -> Result<Option<Vec<u8>>> {
        let Some((place, found)) = self.find(path)?.filter(|(_, found)| found.is_file()) else {
            return Ok(None);
        };
        self.bytes(&place, found.len(), part).map(Some).map_err(|problem| problem.at(self.shown(path)))
    }

    fn bytes(&self, place: &Path, size: u64, part: Part) -> Result<Vec<u8>, Problem> {
        let end = || Problem::damaged(format!("the file has {size} bytes, and more are looked for"));
        let (start, len) = match part {
            Part::All(memory) if size > memory => {
                return Err(Problem::TooLarge { what: "a file", bytes: size, memory });
            }
            Part::All(_) => (0, size),
            Part::From(start, len) => (start, len),
            Part::Last(len) => (size.checked_sub(len).ok_or_else(end)?, len),
        };
        if start.checked_add(len).is_none_or(|end| end > size) {
            return Err(end());
        }
        let mut file = File::open(place)?;
        if start > 0 {
            file.seek(SeekFrom::Start(start))?;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
        file.take(len).read_to_end(&mut bytes)?;
        Limit::exactly(usize::try_from(len).unwrap_or(usize::MAX)).check(bytes.len())?;
        Ok(bytes)
    }

    /// The names in a folder, sorted; none if there is no such folder. Names that are not UTF-8 are
    /// those of nothing in Zarr.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Name>> {
        let Some((place, _)) = self.find(path)?.filter(|(_, found)| found.is_dir()) else {
            return Ok(Vec::new());
        };
        let failed = |error| Problem::Io(error).at(self.shown(path));
        let mut names = Vec::new();
        for entry in fs::read_dir(place).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let is_folder = kind.is_dir();
            if let Ok(name) = entry.file_name().into_string() {
                if kind.is_symlink() {
                    let path = join(path, &name);
                    return Err(Problem::unsupported(LINK).at(self.shown(&path)));
                }
                names.push(Name { name, is_folder });
            }
        }
        names.sort();
        Ok(names)
    }

    /// An error about a path.
    pub(crate) fn error(&self, path: &str, problem: Problem) -> Error {
        problem.at(self.shown(path))
    }
}

/// A name below a path.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_and_names_that_lead_elsewhere_are_refused() {
        let root = std::env::temp_dir().join(format!("tdb-zarr-folder-{}", std::process::id()));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::write(root.join("a/0"), b"0123456789").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.join("a/1")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("b")).unwrap();
        let folder = Folder::new(&root);
        assert_eq!(folder.read("a/0", Part::All(10)).unwrap().unwrap(), b"0123456789");
        assert_eq!(folder.read("a/0", Part::From(2, 3)).unwrap().unwrap(), b"234");
        assert_eq!(folder.read("a/0", Part::Last(2)).unwrap().unwrap(), b"89");
        assert_eq!(folder.read("a/2", Part::All(10)).unwrap(), None);
        assert_eq!(folder.read("a/0/0", Part::All(10)).unwrap(), None);
        for part in [Part::All(9), Part::From(8, 3), Part::From(u64::MAX, 1), Part::Last(11)] {
            assert!(folder.read("a/0", part).is_err(), "{part:?}");
        }
        for path in ["a/1", "b/hostname", "../x", "a/../a/0", "a\\0"] {
            let error = folder.read(path, Part::All(10)).unwrap_err().to_string();
            assert!(error.contains("link") || error.contains("meaning"), "{error}");
        }
        assert!(folder.list("").unwrap_err().to_string().contains("link"));
        fs::remove_file(root.join("b")).unwrap();
        assert_eq!(folder.list("").unwrap(), [Name { name: "a".to_owned(), is_folder: true }]);
        fs::remove_dir_all(&root).unwrap();
    }
}
