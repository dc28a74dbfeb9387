//! The names that folders and files have in every array and group.

/// The schema file of arrays of version 9 and before.
pub const OLD_SCHEMA: &str = "__array_schema.tdb";
/// The folder of schemas from version 10 on.
pub const SCHEMA_FOLDER: &str = "__schema";
/// The folder of enumerations, inside that of schemas.
pub const ENUMERATIONS: &str = "__enumerations";
/// The folder of fragments.
pub const FRAGMENTS: &str = "__fragments";
/// The metadata file of a fragment.
pub const FRAGMENT_METADATA: &str = "__fragment_metadata.tdb";
/// The folder of consolidated fragment metadata.
pub const FRAGMENT_META: &str = "__fragment_meta";
/// The folder of commit files.
pub const COMMITS: &str = "__commits";
/// The folder of the arrays that contain the values of dimension labels.
pub const LABELS: &str = "__labels";
/// The folder of key-value metadata.
pub const METADATA: &str = "__meta";
/// The empty file of arrays of version 10 and before.
pub const LOCK_FILE: &str = "__lock.tdb";

/// The empty file that marks a group.
pub const GROUP_MARKER: &str = "__tiledb_group.tdb";
/// The folder of a group's details.
pub const GROUP_FOLDER: &str = "__group";

/// Suffix of partly written files.
pub const PARTIAL: &str = ".tmp";
