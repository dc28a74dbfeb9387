//! Manifests: one file that names the files of an array or a group, so that plain web servers,
//! which list no folders, can give it to readers.
//!
//! [`Manifest`] is the file's contents. [`Published`] is a storage that lists what the manifest
//! names. [`WriteOptions::publish`](crate::WriteOptions::publish) writes a manifest, and returns a
//! [`Publication`].

#[doc(inline)]
pub use tdb_storage::{MANIFEST, Manifest, ManifestError, ManifestErrorKind, OutdatedManifest, Published};
#[doc(inline)]
pub use tdb_write::Publication;
