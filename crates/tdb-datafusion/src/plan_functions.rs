//! The functions of this crate that plans of other processes name.

use std::sync::Arc;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

use crate::{checked, dates};

/// The functions of this crate that plans of clusters name. A plan that is decoded elsewhere must
/// not take DataFusion's function of the same name.
#[derive(Clone, Copy, Debug)]
pub struct PlanFunctions;

impl PlanFunctions {
    /// The function of this name that takes values.
    #[must_use]
    pub fn scalar(name: &str) -> Option<Arc<ScalarUDF>> {
        checked::scalar_named(name).or_else(|| dates::named(name)).cloned()
    }

    /// The function of this name that takes rows.
    #[must_use]
    pub fn aggregate(name: &str) -> Option<Arc<AggregateUDF>> {
        checked::aggregate_named(name)
    }

    /// Whether a function is one of these.
    #[must_use]
    pub fn has_scalar(function: &ScalarUDF) -> bool {
        checked::has_scalar(function) || dates::has(function)
    }

    /// Whether a function is one of these.
    #[must_use]
    pub fn has_aggregate(function: &AggregateUDF) -> bool {
        checked::has_aggregate(function)
    }
}
