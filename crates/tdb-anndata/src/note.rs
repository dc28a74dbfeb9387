//! What an import says beside its result.

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its path in the folder.
    pub path: String,
    /// The reason.
    pub what: String,
}
