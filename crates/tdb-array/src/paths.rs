//! The names that folders and files have in every array and group.

/// The schema file of arrays of version 9 and before.
pub(crate) const OLD_SCHEMA: &str = "__array_schema.tdb";
/// The folder of schemas from version 10 on.
pub(crate) const SCHEMA_FOLDER: &str = "__schema";
/// The folder of enumerations, inside that of schemas.
pub(crate) const ENUMERATIONS: &str = "__enumerations";
/// The folder of fragments.
pub(crate) const FRAGMENTS: &str = "__fragments";
/// The metadata file of a fragment.
pub(crate) const FRAGMENT_METADATA: &str = "__fragment_metadata.tdb";
/// The folder of consolidated fragment metadata.
pub(crate) const FRAGMENT_META: &str = "__fragment_meta";
/// The folder of commit files.
pub(crate) const COMMITS: &str = "__commits";
/// The folder of the arrays that dimension labels keep their values in.
pub(crate) const LABELS: &str = "__labels";
/// The folder of key-value metadata.
pub(crate) const METADATA: &str = "__meta";
/// The empty file of arrays of version 10 and before.
pub(crate) const LOCK_FILE: &str = "__lock.tdb";

/// The empty file that marks a group.
pub(crate) const GROUP_MARKER: &str = "__tiledb_group.tdb";
/// The folder of a group's details.
pub(crate) const GROUP_FOLDER: &str = "__group";

/// Suffix of partly written files.
pub(crate) const PARTIAL: &str = ".tmp";
