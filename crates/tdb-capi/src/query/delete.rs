//! Queries that delete.

use tdb_array::schema::ArrayType;

use super::{Query, QueryObject, Status, failure};
use crate::context::Ctx;
use crate::ffi::{Data, Failure, In, Outcome, Text};

/// A failure of a delete.
fn refused(why: &str) -> Failure {
    Failure::of("Deletes", format!("Cannot initialize deletes; {why}"))
}

impl Query {
    /// Checks what was set, before anything is deleted.
    ///
    /// # Errors
    /// There is no condition, the array is dense, or something was set that deletes do not have.
    pub(super) fn check_delete(&self) -> Outcome {
        if self.schema.array_type == ArrayType::Dense {
            return Err(refused("Only supported for sparse arrays"));
        }
        if self.condition.is_none() {
            return Err(refused("One condition is needed"));
        }
        Ok(())
    }

    /// Deletes the cells that the condition finds.
    pub(super) fn submit_delete(&mut self) -> Outcome {
        let condition = self.condition.as_ref().ok_or_else(|| refused("One condition is needed"))?;
        let writer = self.writer()?;
        let stored = condition.resolve(&*writer)?.to_stored(&*writer)?;
        writer.delete(&stored)?;
        self.status = Status::Completed;
        Ok(())
    }
}

exported! {
    fn tiledb_query_add_update_value(ctx: Ctx, query: In<QueryObject>, field: Text, value: Data, size: u64) -> Code for ctx {
        // No array can be opened for updates.
        query.get()?;
        field.get("field_name")?;
        value.bytes(size)?;
        Err(failure("Cannot add query update value; Operation only applicable to update queries"))
    }
}
