//! What happened to an array over time, and what of it still counts.

#[doc(inline)]
pub use tdb_snapshot::{Event, EventKind, History, State, history};
