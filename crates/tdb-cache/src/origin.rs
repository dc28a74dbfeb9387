//! The origin of files, so that files of two places are never confused.

use core::fmt;

use sha2::{Digest, Sha256};
use tdb_codec::to_u64;

/// A SHA-256 that identifies something.
pub(crate) type Hash = [u8; 32];

/// The origin of a storage's files: files with equal keys are the same file only if their origins
/// are equal.
///
/// It must be made of everything that determines what a key means and who may see it: the service,
/// the bucket, the folder, and whose credentials are used. Only its SHA-256 is stored.
///
/// ```
/// use tdb_array::cache::Origin;
///
/// assert_ne!(Origin::of(["https://host", "bucket", "a/b"]), Origin::of(["https://host", "bucket/a", "b"]));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin(Hash);

impl Origin {
    /// An origin that is identified by these parts, in this order.
    pub fn of<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        Self(hash(parts))
    }

    /// The identity of one of its files.
    pub(crate) fn file(&self, key: &str) -> FileId {
        FileId(hash([&self.0[..], key.as_bytes()]))
    }
}

impl fmt::Debug for Origin {
    /// Without the parts it was made of.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Origin")
    }
}

/// A file of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(Hash);

impl FileId {
    pub(crate) const fn bytes(&self) -> &Hash {
        &self.0
    }

    /// As lower-case hex digits.
    pub(crate) fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The hash of parts with their lengths, so that different lists of parts have different hashes.
fn hash<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(to_u64(part.as_ref().len()).to_le_bytes());
        hasher.update(part.as_ref());
    }
    hasher.finalize().into()
}
