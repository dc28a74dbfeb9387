//! Queries that delete.

use super::Query;
use crate::context::Context;
use crate::ffi::{Failure, Outcome};

impl Query {
    /// Deletes the cells that the condition finds.
    #[expect(clippy::unused_self, reason = "deletes are not written yet")]
    pub(super) fn submit_delete(&mut self, _context: &Context) -> Outcome {
        Err(Failure::not_supported("tiledb_query_submit of a delete"))
    }
}
