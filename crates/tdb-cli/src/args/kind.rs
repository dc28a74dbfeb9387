//! The kinds of files that `tdb dump` explains.

use clap::ValueEnum;

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// An array schema.
    Schema,
    /// An enumeration.
    Enumeration,
    /// A fragment's metadata.
    FragmentMetadata,
    /// Cells of a field.
    Data,
    /// Key-value metadata.
    Metadata,
    /// Consolidated commits (.con).
    Commits,
    /// A list of paths (.ign, .vac).
    Paths,
    /// A delete condition (.del).
    Condition,
    /// An update (.upd).
    Update,
    /// Consolidated fragment metadata (.meta).
    ConsolidatedMetadata,
    /// A group's members.
    Group,
    /// Any structure in a generic tile.
    GenericTile,
    /// Bytes without further meaning.
    Raw,
}
