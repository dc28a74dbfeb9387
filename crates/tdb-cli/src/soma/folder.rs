//! Folders that commands make: nobody sees one before it is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::{Failure, Result};

/// A folder beside its place. It gets its name when it is finished, and is removed if it never is.
#[derive(Debug)]
pub(super) struct NewFolder {
    beside: PathBuf,
    place: PathBuf,
    is_finished: bool,
}

impl NewFolder {
    pub(super) fn beside(place: &Path) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let failed = |error: io::Error| Failure::at(place, error);
        if place.symlink_metadata().is_ok() {
            return Err(exists(place));
        }
        let place = std::path::absolute(place).map_err(failed)?;
        let (Some(above), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(exists(&place));
        };
        fs::create_dir_all(above).map_err(failed)?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let own = format!(".{}.{}-{number}.tmp", name.to_string_lossy(), std::process::id());
            let beside = above.join(own);
            match fs::create_dir(&beside) {
                Ok(()) => return Ok(Self { beside, place, is_finished: false }),
                // A leftover of an earlier process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Where it is until it is finished.
    pub(super) fn path(&self) -> &Path {
        &self.beside
    }

    /// Gives the folder its name.
    pub(super) fn finish(mut self) -> Result {
        // Another process may have made it meanwhile.
        if self.place.symlink_metadata().is_ok() {
            return Err(exists(&self.place));
        }
        fs::rename(&self.beside, &self.place).map_err(|error| Failure::at(&self.place, error))?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.is_finished {
            // What cannot be removed has a name that says what it is.
            let _ = fs::remove_dir_all(&self.beside);
        }
    }
}

fn exists(place: &Path) -> Failure {
    Failure::at(place, "there is something here already")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_when_it_is_finished_and_not_at_all_if_it_never_is() {
        let root = std::env::temp_dir().join(format!("tdb-new-folder-{}", std::process::id()));
        let place = root.join("above/x");
        let folder = NewFolder::beside(&place).unwrap();
        fs::write(folder.path().join("file"), "half").unwrap();
        assert!(!place.exists());
        drop(folder);
        assert_eq!(fs::read_dir(root.join("above")).unwrap().count(), 0);
        let (first, second) = (NewFolder::beside(&place).unwrap(), NewFolder::beside(&place).unwrap());
        first.finish().unwrap();
        assert!(place.is_dir() && second.finish().is_err() && NewFolder::beside(&place).is_err());
        assert_eq!(fs::read_dir(root.join("above")).unwrap().count(), 1);
        fs::remove_dir_all(&root).unwrap();
    }
}
