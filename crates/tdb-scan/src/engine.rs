//! Reads the cells of a checked query: dense or sparse.

use tdb_codec::ArrayType;

use crate::plan::Plan;
use crate::prefetch::prefetch;
use crate::stats::Stage;
use crate::{Cells, Result, dense, sparse};

/// Reads the cells of a query; positions stay where labels were asked for.
pub(crate) fn read(plan: &Plan) -> Result<Cells> {
    let _clock = plan.array.context().counters.time(Stage::Total);
    prefetch(plan)?;
    match plan.array.schema().array_type {
        ArrayType::Dense => dense::read(plan),
        ArrayType::Sparse => sparse::read(plan),
    }
}
