//! What happened, and whether it still counts.

use std::sync::Arc;

use tdb_codec::{ArrayType, FormatVersion};
use tdb_fragment::Condition;
use tdb_schema::ArraySchema;

use crate::Error;

/// Something that happened to an array, as one of its files or folders tells.
#[derive(Debug)]
pub struct Event {
    /// First and last millisecond it is about; `None` where no name says.
    pub timestamps: Option<(u64, u64)>,
    /// What happened.
    pub kind: EventKind,
    /// The key of the file or folder.
    pub key: String,
    /// The format version of what was written, where it has one.
    pub version: Option<FormatVersion>,
    /// Cells of a fragment: the stored ones of a sparse one, those of the domain of a dense one.
    pub cells: Option<u64>,
    /// Bytes of its files.
    pub bytes: u64,
    /// Whether it still counts.
    pub state: State,
}

/// What happened. The order is that of events of one millisecond.
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
    /// Cells were updated, which libtiledb, and this crate, read as a delete.
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

/// Whether something still counts for who sees all that was written, also under a time that is still to come.
#[derive(Debug)]
#[non_exhaustive]
pub enum State {
    /// It does.
    Live,
    /// A later schema is in force; fragments may still need it.
    Superseded,
    /// A consolidated one stands for it, as this vacuum file says. Earlier windows may still see it.
    Shadowed(String),
    /// All its cells lie inside the domain of this newer dense fragment.
    Overwritten(String),
    /// No commit file names it.
    Uncommitted,
    /// It is named, and gone.
    Vacuumed,
    /// Partly written.
    Partial,
    /// No schema names it.
    Unused,
    /// It cannot be read.
    Damaged(Error),
}

/// An array's past.
#[derive(Debug)]
pub struct History {
    /// The newest schema, whatever its time, unless its file is damaged. Conditions need it to make sense.
    pub schema: Option<Arc<ArraySchema>>,
    /// What happened, in the order of time.
    pub events: Vec<Event>,
}
