//! Runs a query that was checked: reads its cells, and the values of labels in place of positions.

use crate::plan::Plan;
use crate::stats::Stage;
use crate::{Cells, Result, engine, labels};

/// Runs a query.
///
/// # Errors
/// What reading the array, or the arrays of its labels, gives.
pub fn run(plan: &Plan) -> Result<Cells> {
    let clock = || plan.array.context().counters.time(Stage::Total);
    let values = {
        let _clock = clock();
        labels::values_of(&plan.array, &plan.labels)?
    };
    let cells = engine::read(plan)?;
    let _clock = clock();
    labels::resolve(&plan.labels, &values, cells)
}
