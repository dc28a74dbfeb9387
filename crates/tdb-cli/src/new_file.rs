//! Files that commands make: nobody sees one before it is complete, and nothing is left of it where
//! the command fails or is killed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::temporary::Temporary;

/// The name that a file will have. It is checked before anything is computed for the file.
#[derive(Clone, Debug)]
pub(crate) struct NewName {
    /// The name on the command line, which may be that of a link.
    shown: PathBuf,
    place: Place,
    force: bool,
}

#[derive(Clone, Debug)]
enum Place {
    /// A device or a pipe, which cannot be replaced.
    Special,
    /// A file that is not there, or may be replaced.
    File(PathBuf),
}

impl NewName {
    /// The name, if there is no file of it; or if `force` says that it may be replaced.
    pub(crate) fn new(path: &Path, force: bool) -> Result<Self> {
        let place = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(Failure::at(path, "this is a folder")),
            Ok(found) if !found.is_file() => Place::Special,
            Ok(_) if !force => return Err(exists(path)),
            // A link stays, and what it leads to is replaced.
            Ok(_) => Place::File(path.canonicalize().map_err(|error| Failure::at(path, error))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Place::File(path.to_owned()),
            Err(error) => return Err(Failure::at(path, error)),
        };
        Ok(Self { shown: path.to_owned(), place, force })
    }

    /// The name on the command line.
    pub(crate) fn shown(&self) -> &Path {
        &self.shown
    }

    /// Begins the file.
    pub(crate) fn begin(&self) -> Result<NewFile> {
        let failed = |error| Failure::at(&self.shown, error);
        let (file, temporary) = match &self.place {
            Place::Special => (File::options().write(true).open(&self.shown).map_err(failed)?, None),
            Place::File(path) => {
                let temporary = Temporary::beside(path).map_err(failed)?;
                (temporary.file.try_clone().map_err(failed)?, Some((temporary, path.clone())))
            }
        };
        Ok(NewFile { name: self.clone(), temporary, out: BufWriter::new(file) })
    }
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct NewFile {
    name: NewName,
    /// The file that gets the name.
    temporary: Option<(Temporary, PathBuf)>,
    out: BufWriter<File>,
}

impl NewFile {
    /// Gives the file its name. What has it is replaced if that is allowed.
    pub(crate) fn finish(mut self) -> Result {
        let failed = |error| Failure::at(&self.name.shown, error);
        self.out.flush().map_err(failed)?;
        let Some((temporary, path)) = self.temporary else { return Ok(()) };
        // Another process may have made it meanwhile.
        if !self.name.force && path.try_exists().map_err(failed)? {
            return Err(exists(&self.name.shown));
        }
        temporary.replace(&path).map_err(failed)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn exists(path: &Path) -> Failure {
    Failure::at(path, "there is a file here already; --force replaces it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_when_it_is_complete_and_another_one_only_by_force() {
        let folder = std::env::temp_dir().join(format!("tdb-new-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.csv");
        let write = |name: &NewName, text: &str| {
            let mut file = name.begin().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file
        };
        let name = NewName::new(&path, false).unwrap();
        drop(write(&name, "half"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        write(&name, "whole").finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert!(NewName::new(&path, false).is_err() && write(&name, "late").finish().is_err());
        write(&NewName::new(&path, true).unwrap(), "other").finish().unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read_dir(&folder).unwrap().count()),
            (b"other".to_vec(), 1)
        );
        assert!(NewName::new(&folder, true).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_as_they_are() {
        let mut file = NewName::new(Path::new("/dev/null"), false).unwrap().begin().unwrap();
        file.write_all(b"x").unwrap();
        file.finish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
