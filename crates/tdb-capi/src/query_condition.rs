//! Conditions of queries: which cells a query reads or deletes.

use tdb_array::query::{ConditionTarget, QueryCondition};

use crate::ffi::{Failure, Object};
use crate::shared::Shared;

/// A condition as the caller made it, before the array is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condition;

impl Condition {
    /// Whether nothing was said yet.
    #[expect(clippy::unused_self, reason = "conditions have no content yet")]
    pub(crate) const fn is_empty(&self) -> bool {
        true
    }

    /// The condition for an array.
    ///
    /// # Errors
    /// It does not fit the array's fields.
    #[expect(clippy::unused_self, reason = "conditions have no content yet")]
    pub(crate) fn resolve(&self, _target: &impl ConditionTarget) -> Result<QueryCondition, Failure> {
        Err(Failure::not_supported("query conditions"))
    }
}

/// A condition behind a pointer.
pub(crate) struct QueryConditionObject(pub(crate) Shared<Condition>);

impl Object for QueryConditionObject {
    const NAME: &'static str = "query condition";
}
