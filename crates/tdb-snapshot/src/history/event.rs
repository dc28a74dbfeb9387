//! Events in the history of an array, and whether they still have an effect.

use std::sync::Arc;

use tdb_codec::{ArrayType, FormatVersion};
use tdb_fragment::Condition;
use tdb_schema::{ArraySchema, Range};

use crate::Error;

/// An event in the history of an array, according to one of its files or folders.
#[derive(Debug)]
pub struct Event {
    /// First and last millisecond that it covers; `None` if no name contains them.
    pub timestamps: Option<(u64, u64)>,
    /// The kind of event.
    pub kind: EventKind,
    /// The key of the file or folder.
    pub key: String,
    /// The format version of what was written, if it has one.
    pub version: Option<FormatVersion>,
    /// Cells of a fragment: for a sparse one the stored cells, for a dense one those of its domain.
    pub cells: Option<u64>,
    /// Bytes of its files.
    pub bytes: u64,
    /// The domain of the cells of a fragment: one interval per dimension.
    pub bounds: Option<Vec<Range>>,
    /// Whether it still has an effect.
    pub state: State,
}

/// The kind of an event. Events of the same millisecond are in this order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// A schema was written: the array was created, evolved or upgraded.
    Schema,
    /// An enumeration was written.
    Enumeration,
    /// Cells were written.
    Fragment(Option<ArrayType>),
    /// Cells were deleted: those for which the condition does not hold.
    Delete(Option<Condition>),
    /// Cells were updated; libtiledb, and this crate, read this as a delete.
    Update(Option<Condition>),
    /// Key-value pairs were written or deleted.
    Metadata,
    /// Several fragments were consolidated into one.
    ConsolidatedFragment(Option<ArrayType>),
    /// Several metadata files were consolidated into one.
    ConsolidatedMetadata,
    /// Commit files were consolidated into one, with these paths.
    Commits(Vec<String>),
    /// Footers were consolidated into one file.
    Footers,
    /// These files or folders were replaced by a consolidated one, and may be vacuumed.
    Replaced(Vec<String>),
    /// These commits of consolidated commit files were taken back.
    Ignored(Vec<String>),
}

impl EventKind {
    /// The kind as a word or two, for people and for programs.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Enumeration => "enumeration",
            Self::Fragment(_) => "write",
            Self::Delete(_) => "delete",
            Self::Update(_) => "update",
            Self::Metadata => "metadata",
            Self::ConsolidatedFragment(_) => "consolidated fragment",
            Self::ConsolidatedMetadata => "consolidated metadata",
            Self::Commits(_) => "consolidated commits",
            Self::Footers => "consolidated footers",
            Self::Replaced(_) => "vacuum list",
            Self::Ignored(_) => "ignore list",
        }
    }

    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Schema => 0,
            Self::Enumeration => 1,
            Self::Fragment(_) => 2,
            Self::Delete(_) => 3,
            Self::Update(_) => 4,
            Self::Metadata => 5,
            Self::ConsolidatedFragment(_) => 6,
            Self::ConsolidatedMetadata => 7,
            Self::Commits(_) => 8,
            Self::Footers => 9,
            Self::Replaced(_) => 10,
            Self::Ignored(_) => 11,
        }
    }
}

/// Whether an event still has an effect for a reader that sees everything that was written,
/// including what has a time in the future.
#[derive(Debug)]
#[non_exhaustive]
pub enum State {
    /// It has an effect.
    Live,
    /// A later schema is in force; fragments may still need this one.
    Superseded,
    /// It was replaced by a consolidated one, according to this vacuum file. Earlier windows may
    /// still see it.
    Shadowed(String),
    /// All its cells are inside the domain of this newer dense fragment.
    Overwritten(String),
    /// No commit file names it.
    Uncommitted,
    /// It is named in a file, but no longer exists.
    Vacuumed,
    /// It was only partly written.
    Partial,
    /// No schema names it.
    Unused,
    /// It cannot be read.
    Damaged(Error),
}

impl State {
    /// The state as a word or two, for people and for programs.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Superseded => "superseded",
            Self::Shadowed(_) => "shadowed",
            Self::Overwritten(_) => "overwritten",
            Self::Uncommitted => "uncommitted",
            Self::Vacuumed => "vacuumed",
            Self::Partial => "partly written",
            Self::Unused => "unused",
            Self::Damaged(_) => "damaged",
        }
    }
}

/// The history of an array.
#[derive(Debug)]
pub struct History {
    /// The newest schema, whatever its time, unless its file is damaged. It is needed to interpret
    /// conditions.
    pub schema: Option<Arc<ArraySchema>>,
    /// The events, in order of time.
    pub events: Vec<Event>,
}
