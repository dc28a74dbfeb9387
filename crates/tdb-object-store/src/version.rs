//! Versions of objects as versions of files.

use std::io;

use object_store::UpdateVersion;
use tdb_storage::FileVersion;

/// The tags by which a store identifies versions of an object, as a version of a file.
pub(crate) fn file_version(UpdateVersion { e_tag, version }: &UpdateVersion) -> io::Result<FileVersion> {
    if e_tag.is_none() && version.is_none() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the store does not support versions of objects",
        ));
    }
    Ok(FileVersion::new(serde_json::json!([e_tag, version]).to_string()))
}

/// The same in the other direction.
pub(crate) fn update(version: &FileVersion) -> io::Result<UpdateVersion> {
    let parsed: Option<[Option<String>; 2]> = serde_json::from_slice(version.token()).ok();
    let [e_tag, version] = parsed.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "this version does not belong to a file of an object store",
        )
    })?;
    Ok(UpdateVersion { e_tag, version })
}
