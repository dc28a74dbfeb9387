//! Queries that read.

use super::Query;
use crate::context::Context;
use crate::ffi::{Failure, Outcome};

/// A read that was begun.
pub(crate) struct Reading;

impl Query {
    /// Reads as many cells as the buffers hold.
    #[expect(clippy::unused_self, reason = "reads are not written yet")]
    pub(super) fn submit_read(&mut self, _context: &Context) -> Outcome {
        Err(Failure::not_supported("tiledb_query_submit of a read"))
    }
}
