//! Runs a query that was checked: reads the cells of dense and sparse arrays.

use tdb_codec::ArrayType;

use crate::plan::Plan;
use crate::prefetch::prefetch;
use crate::stats::Stage;
use crate::{Cells, Result, dense, labels, sparse};

/// Runs a query.
pub fn run(plan: &Plan) -> Result<Cells> {
    let _clock = plan.array.context().counters.time(Stage::Total);
    let values = labels::values_of(&plan.array, &plan.labels)?;
    prefetch(plan)?;
    let cells = match plan.array.schema().array_type {
        ArrayType::Dense => dense::read(plan)?,
        ArrayType::Sparse => sparse::read(plan)?,
    };
    labels::resolve(&plan.labels, &values, cells)
}
