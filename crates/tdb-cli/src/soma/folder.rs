//! Folders that commands make: nobody sees one before it is complete.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::temporary::TemporaryFolder;

/// A folder beside its place. It gets its name when it is finished, and is removed if it never is.
#[derive(Debug)]
pub(super) struct NewFolder {
    beside: TemporaryFolder,
    place: PathBuf,
}

impl NewFolder {
    pub(super) fn beside(place: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| Failure::at(place, error);
        if place.symlink_metadata().is_ok() {
            return Err(exists(place));
        }
        let place = std::path::absolute(place).map_err(failed)?;
        let (Some(above), Some(_)) = (place.parent(), place.file_name()) else {
            return Err(exists(&place));
        };
        fs::create_dir_all(above).map_err(failed)?;
        let beside = TemporaryFolder::beside(&place).map_err(failed)?;
        Ok(Self { beside, place })
    }

    /// Where it is until it is finished.
    pub(super) fn path(&self) -> &Path {
        self.beside.path()
    }

    /// Gives the folder its name.
    pub(super) fn finish(self) -> Result {
        // Another process may have made it meanwhile.
        if self.place.symlink_metadata().is_ok() {
            return Err(exists(&self.place));
        }
        self.beside.rename(&self.place).map_err(|error| Failure::at(&self.place, error))
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
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        assert_eq!(fs::read_dir(root.join("above")).unwrap().count(), 1);
        fs::remove_dir_all(&root).unwrap();
    }
}
