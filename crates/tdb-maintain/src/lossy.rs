//! Filters that refuse some values: positive delta and double delta.

use tdb_filters::{Filter, Pipeline};

/// Whether some values of the right type cannot be written: those that decrease, or whose
/// differences are too large.
pub(crate) fn refuses_values(pipeline: &Pipeline) -> bool {
    let refuses =
        |filter: &Filter| matches!(filter, Filter::PositiveDelta { .. } | Filter::DoubleDelta { .. });
    pipeline.filters.iter().any(refuses)
}
