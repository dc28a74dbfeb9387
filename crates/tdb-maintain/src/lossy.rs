//! Filters that do not return every value as it was written.

use tdb_filters::{Filter, Pipeline};

/// Whether values may come back changed: numbers with fewer digits, lossy images.
pub(crate) fn changes_values(pipeline: &Pipeline) -> bool {
    pipeline.filters.iter().any(|filter| match filter {
        Filter::ScaleFloat(_) => true,
        Filter::WebP(options) => !options.lossless,
        _ => false,
    })
}

/// Whether some values of the right type cannot be written: those that decrease, or whose differences are too large.
pub(crate) fn refuses_values(pipeline: &Pipeline) -> bool {
    let refuses =
        |filter: &Filter| matches!(filter, Filter::PositiveDelta { .. } | Filter::DoubleDelta { .. });
    pipeline.filters.iter().any(refuses)
}
