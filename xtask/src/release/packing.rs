//! Folders as one compressed file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::trial::call;

/// The bytes of a file, or of all files in a folder.
pub(super) fn size(path: &Path) -> Result<u64, String> {
    let failed = |error| format!("{}: {error}", path.display());
    let found = fs::symlink_metadata(path).map_err(failed)?;
    if !found.is_dir() {
        // A link has its own few bytes, not those of what it leads to.
        return Ok(found.len());
    }
    let mut sum = 0u64;
    for entry in fs::read_dir(path).map_err(failed)? {
        sum = sum.saturating_add(size(&entry.map_err(failed)?.path())?);
    }
    Ok(sum)
}

/// Packs a folder beside itself, under its own name, and returns the file.
pub(super) fn pack(folder: &Path) -> Result<PathBuf, String> {
    let (name, parent) = name_and_parent(folder)?;
    let file = parent.join(format!("{name}.tar.gz"));
    call(Command::new("tar").current_dir(parent).arg("-czf").arg(&file).arg(name))?;
    Ok(file)
}

/// Unpacks a file into a folder, and returns the folder that was packed.
pub(super) fn unpack(file: &Path, into: &Path) -> Result<PathBuf, String> {
    let (name, _) = name_and_parent(file)?;
    call(Command::new("tar").current_dir(into).arg("-xzf").arg(file))?;
    Ok(into.join(name.strip_suffix(".tar.gz").unwrap_or(name)))
}

fn name_and_parent(path: &Path) -> Result<(&str, &Path), String> {
    let parts = path.file_name().and_then(|name| name.to_str()).zip(path.parent());
    parts.ok_or_else(|| format!("{}: it has no name", path.display()))
}

/// Copies a file into a folder, under its own name.
pub(super) fn copy_into(file: &Path, folder: &Path) -> Result<(), String> {
    let (name, _) = name_and_parent(file)?;
    fs::copy(file, folder.join(name)).map(drop).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::super::empty_folder;
    use super::*;

    #[test]
    fn what_is_packed_is_there_again() {
        let folder = std::env::temp_dir().join(format!("tdb-packing-{}", std::process::id()));
        let own = folder.join("a");
        empty_folder(&own.join("b")).unwrap();
        fs::write(own.join("b/c.txt"), "hello").unwrap();
        copy_into(&own.join("b/c.txt"), &own).unwrap();
        assert_eq!(size(&own).unwrap(), 10);
        let file = pack(&own).unwrap();
        assert_eq!(file, folder.join("a.tar.gz"));
        let other = folder.join("other");
        empty_folder(&other).unwrap();
        let found = unpack(&file, &other).unwrap();
        assert_eq!(fs::read_to_string(found.join("b/c.txt")).unwrap(), "hello");
        assert!(size(&folder.join("nothing")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
