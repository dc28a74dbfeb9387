//! Plans scans: turns a query on a table into a plan that reads its array.

use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::Schema;
use datafusion::common::exec_err;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use tdb_array::Read;
use tdb_array::query::{Explain, Outcome};

use crate::Result;
use crate::columns::Comparable;
use crate::error::{internal, of_array};
use crate::exec::TdbExec;
use crate::pushdown::PushedFilters;
use crate::ranges::{Coordinates, of_bounds, of_current_domain};
use crate::scan::{Scan, ScanRequest, ScanSummary};
use crate::state::TableState;
use crate::statistics;
use crate::thresholds::{CELL_OVERHEAD, MIN_TILES_IN_MEMORY};

/// Makes the plan. Reads metadata.
pub(crate) fn plan(state: &Arc<TableState>, request: ScanRequest) -> Result<TdbExec> {
    let (array, table) = (&state.array, &state.table);
    let pushed = PushedFilters::of(&request.filters, table, array.schema());
    let schema: Schema = table.schema.project(&request.columns)?;
    let mut scan = Scan {
        parts: Vec::new(),
        whole: None,
        mapping: table.mapping.clone(),
        schema: Arc::new(schema),
        statistics: Arc::default(),
        row_bytes: 1,
        sortable: sortable(state, &request.columns),
        is_sorted: state.table.dense,
        state: state.clone(),
        bytes: 0,
        summary: ScanSummary::default(),
    };
    scan.summary.fields = names(state, &request.columns).join(", ");
    let found = coordinates(state, &pushed)?;
    let Some(coordinates) = found else {
        scan.statistics = Arc::new(statistics::of_nothing(&scan.schema));
        return Ok(TdbExec::new(scan, request.limit, None));
    };
    let mut read = array.read();
    // To count rows without columns, a cheap column is read.
    let wanted = if request.columns.is_empty() { vec![0] } else { request.columns.clone() };
    read = read.fields(names(state, &wanted));
    let mut ranges = Vec::new();
    for (dimension, set) in array.schema().domain.dimensions.iter().zip(&coordinates) {
        if let Some(set) = set {
            read = read.ranges(dimension.name.as_str(), set.ranges());
            ranges.push(format!("{} in {set}", dimension.name));
        }
    }
    scan.summary.ranges = ranges.join(", ");
    if let Some(condition) = &pushed.condition {
        scan.summary.condition = condition.to_string();
        // A condition on a dense read replaces cells by fill values, unless they are selected.
        read = read.condition(condition.clone()).selection(table.dense);
    }
    let explained = read.clone().explain().map_err(of_array)?;
    describe(&mut scan, &explained);
    scan.statistics = Arc::new(statistics::of_scan(state, &request, &pushed, &coordinates, &explained)?);
    // For few rows, several readers are not worth it, because each would read as many.
    let few = request.limit.is_some_and(|limit| limit <= request.batch_rows);
    scan.parts = match request.partitions {
        0 | 1 => vec![read],
        _ if few => vec![read],
        // A reader that may end early begins with a box, which needs no cells of other tiles.
        max if state.for_others || request.limit.is_some() || is_scarce(state, &scan, &request) => {
            read.partitions(max).map_err(of_array)?
        }
        max => {
            let parts = read.clone().tile_partitions(max).map_err(of_array)?;
            scan.whole = parts.iter().any(Read::is_tile_partition).then_some(read);
            parts
        }
    };
    if scan.parts.is_empty() {
        return exec_err!("a query has no partitions");
    }
    let ordering = state.table.dense.then(|| ordering(state, &request.columns, &scan)).flatten();
    Ok(TdbExec::new(scan, request.limit, ordering))
}

/// The coordinates of each dimension that a read covers, where they are limited. `None` if the read
/// covers no cell.
fn coordinates(state: &TableState, pushed: &PushedFilters) -> Result<Option<Vec<Option<Coordinates>>>> {
    let dimensions = &state.array.schema().domain.dimensions;
    let bounds = state.array.bounds();
    if pushed.nothing || (state.table.dense && bounds.is_none()) {
        return Ok(None);
    }
    let is_of_dimensions = |count: usize| count == dimensions.len();
    if !is_of_dimensions(pushed.coordinates.len())
        || bounds.as_ref().is_some_and(|bounds| !is_of_dimensions(bounds.len()))
    {
        return Err(internal("there are not as many sets of coordinates as dimensions"));
    }
    let found = dimensions.iter().zip(&pushed.coordinates).enumerate().map(|(index, (dimension, pushed))| {
        // The rows of a dense array are the cells of its non-empty domain; those of a sparse array
        // are at their own coordinates.
        let own = bounds.as_ref().filter(|_| state.table.dense).and_then(|bounds| bounds.get(index));
        let own = match (of_bounds(dimension, own)?, of_current_domain(state.array.schema(), index)) {
            (Some(own), Some(current)) => Some(own.and(&current)?),
            (own, current) => own.or(current),
        };
        Ok(match (own, pushed) {
            // Ranges are cut to where there may be cells.
            (Some(own), Some(pushed)) => Some(own.and(pushed)?),
            (Some(own), None) if state.table.dense => Some(own),
            (_, pushed) => pushed.clone(),
        })
    });
    let found = found.collect::<Result<Vec<_>>>()?;
    Ok((!found.iter().flatten().any(Coordinates::is_empty)).then_some(found))
}

/// Whether memory may be too little for whole tiles in each partition. Boxes are cut inside tiles.
/// All numbers are estimates.
fn is_scarce(state: &TableState, scan: &Scan, request: &ScanRequest) -> bool {
    let Some(memory) = request.memory.and_then(|memory| u64::try_from(memory).ok()) else { return false };
    let cells = state.array.fragments().iter().map(|fragment| {
        let (footer, capacity) = (fragment.footer(), fragment.schema().capacity);
        footer.sparse_tile_cells(0, capacity)
    });
    let each = scan.row_bytes.saturating_mul(2).saturating_add(CELL_OVERHEAD);
    let tile = cells.max().unwrap_or(0).saturating_mul(each);
    let partitions = u64::try_from(request.partitions).unwrap_or(u64::MAX);
    tile.saturating_mul(partitions).saturating_mul(MIN_TILES_IN_MEMORY) > memory
}

fn names(state: &TableState, columns: &[usize]) -> Vec<String> {
    columns.iter().map(|column| state.table.name(*column).to_owned()).collect()
}

fn describe(scan: &mut Scan, explained: &Explain) {
    let read = explained.fragments.iter().filter(|plan| matches!(plan.outcome, Outcome::Read { .. }));
    scan.summary.fragments = (read.count(), explained.fragments.len());
    scan.summary.tiles = explained.tiles();
    scan.bytes = explained.result_bytes;
    // Without cells, a row has no size.
    scan.row_bytes = explained.result_bytes.checked_div(explained.cells).unwrap_or(0).max(1);
}

/// The indexes of the first dimensions among the columns, as long as SQL orders them in the same
/// way as tdb: not strings, whose bytes tdb compares as signed in arrays with one dimension, and
/// not floating-point numbers, which may be NaN.
fn sortable(state: &TableState, columns: &[usize]) -> Vec<usize> {
    let dimensions = 0..state.array.schema().domain.dimensions.len();
    let places = dimensions.map_while(|dimension| {
        let is = |column: &usize| {
            let comparable = state.table.comparable(*column);
            state.table.dimension(*column) == Some(dimension) && comparable == Comparable::Integer
        };
        columns.iter().position(is)
    });
    places.collect()
}

/// The columns by which the rows of a dense array are sorted.
fn ordering(state: &TableState, columns: &[usize], scan: &Scan) -> Option<EquivalenceProperties> {
    let order = scan.sortable.iter().map(|index| {
        let column = Arc::new(Column::new(state.table.name(*columns.get(*index)?), *index));
        Some(PhysicalSortExpr::new(column, SortOptions { descending: false, nulls_first: false }))
    });
    // Nothing may be promised if one of them is unknown.
    let order = order.collect::<Option<Vec<_>>>()?;
    (!order.is_empty()).then(|| EquivalenceProperties::new_with_orderings(scan.schema.clone(), [order]))
}
