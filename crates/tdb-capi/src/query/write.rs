//! Queries that write.

use super::Query;
use crate::context::Context;
use crate::ffi::{Failure, Outcome};

/// A write in global order that was begun.
pub(crate) struct Writing;

impl Query {
    /// Writes the cells of the buffers: as a fragment, or as more cells of one in global order.
    #[expect(clippy::unused_self, reason = "writes are not written yet")]
    pub(super) fn submit_write(&mut self, _context: &Context) -> Outcome {
        Err(Failure::not_supported("tiledb_query_submit of a write"))
    }

    /// Ends a write in global order; nothing for others.
    #[expect(clippy::unused_self, reason = "writes are not written yet")]
    pub(super) fn finalize_write(&mut self, _context: &Context) -> Outcome {
        Ok(())
    }
}
