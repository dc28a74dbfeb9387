//! Turns a query on a table into a plan that reads it.

use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{Statistics, exec_err};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use tdb_array::{Explain, Layout, Outcome, Read};
use tdb_arrow::Mapping;

use crate::Result;
use crate::columns::Comparable;
use crate::error::of_array;
use crate::exec::TdbExec;
use crate::pushdown::Pushed;
use crate::ranges::{Coordinates, of_bounds, of_current_domain};
use crate::state::State;
use crate::statistics;

/// The memory of a session is enough for so many tiles of each partition, or it is scarce.
const TILES_OF_MEMORY: u64 = 16;

/// What a query requests from a table.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) columns: Vec<usize>,
    pub(crate) filters: Vec<Expr>,
    pub(crate) limit: Option<usize>,
    pub(crate) partitions: usize,
    pub(crate) batch_rows: usize,
    /// The memory of the session, if it is limited.
    pub(crate) memory: Option<usize>,
    /// Of how many rows in 100 the session believes that they pass a filter of which nothing is
    /// known.
    pub(crate) selectivity: u8,
}

/// What is read for a query, and what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// Empty if there can be no rows.
    pub(crate) parts: Vec<Read>,
    /// If the parts are made of tiles: the query that was cut. Other parts are boxes.
    pub(crate) whole: Option<Read>,
    pub(crate) mapping: Mapping,
    pub(crate) schema: SchemaRef,
    pub(crate) statistics: Arc<Statistics>,
    /// The approximate number of bytes of a row in memory.
    pub(crate) row_bytes: u64,
    /// The columns by which rows in row-major order are sorted.
    pub(crate) sortable: Vec<usize>,
    /// Whether rows are read in this order.
    pub(crate) is_sorted: bool,
    /// What is read, and its columns.
    pub(crate) state: Arc<State>,
    /// The bytes of all rows in memory, at most.
    pub(crate) bytes: u64,
    pub(crate) about: About,
}

impl Scan {
    /// The same rows, those of each partition sorted by the dimensions.
    pub(crate) fn in_row_major_order(&self) -> Result<Self> {
        let boxes = self.in_boxes()?.into_iter();
        let parts = boxes.map(|part| part.order(Layout::RowMajor)).collect();
        Ok(Self { parts, whole: None, is_sorted: true, ..self.clone() })
    }

    /// Whether an aggregate asks the array once: what several parts find out of groups would have
    /// to be put together.
    pub(crate) fn asks_once(&self) -> bool {
        self.whole.is_some() || self.parts.len() == 1
    }

    /// The parts, as boxes: queries that can be put in order, and described for other processes.
    pub(crate) fn in_boxes(&self) -> Result<Vec<Read>> {
        match &self.whole {
            Some(whole) => {
                let mut boxes = whole.clone().partitions(self.parts.len()).map_err(of_array)?;
                // There are as many as were planned, some of them without cells.
                boxes.resize(self.parts.len(), whole.clone().nothing());
                Ok(boxes)
            }
            None => Ok(self.parts.clone()),
        }
    }
}

/// What a plan shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) fields: String,
    pub(crate) ranges: String,
    pub(crate) condition: String,
    /// How many fragments are read, of how many, and how many tiles of them.
    pub(crate) fragments: (usize, usize),
    pub(crate) tiles: u64,
}

/// The coordinates of each dimension that a read covers. `None` if a dimension has none.
fn coordinates(state: &State, pushed: &Pushed) -> Option<Vec<Option<Coordinates>>> {
    let dimensions = &state.array.schema().domain.dimensions;
    let bounds = state.array.bounds();
    if pushed.nothing || (state.table.dense && bounds.is_none()) {
        return None;
    }
    let found = dimensions.iter().zip(&pushed.coordinates).enumerate().map(|(index, (dimension, pushed))| {
        // The rows of a dense array are the cells of its non-empty domain; those of a sparse array
        // are at their own coordinates.
        let own = bounds.as_ref().filter(|_| state.table.dense).and_then(|bounds| bounds.get(index));
        let own = match (of_bounds(dimension, own), of_current_domain(state.array.schema(), index)) {
            (Some(own), Some(current)) => Some(own.and(&current)),
            (own, current) => own.or(current),
        };
        match (own, pushed) {
            // Ranges are cut to where there may be cells.
            (Some(own), Some(pushed)) => Some(own.and(pushed)),
            (Some(own), None) if state.table.dense => Some(own),
            (_, pushed) => pushed.clone(),
        }
    });
    let found: Vec<_> = found.collect();
    (!found.iter().flatten().any(Coordinates::is_empty)).then_some(found)
}

/// Makes the plan. Reads metadata.
pub(crate) fn plan(state: &Arc<State>, asked: Asked) -> Result<TdbExec> {
    let (array, table) = (&state.array, &state.table);
    let pushed = Pushed::of(&asked.filters, table, array.schema());
    let schema: Schema = table.schema.project(&asked.columns)?;
    let mut scan = Scan {
        parts: Vec::new(),
        whole: None,
        mapping: table.mapping.clone(),
        schema: Arc::new(schema),
        statistics: Arc::default(),
        row_bytes: 1,
        sortable: sortable(state, &asked.columns),
        is_sorted: state.table.dense,
        state: state.clone(),
        bytes: 0,
        about: About::default(),
    };
    scan.about.fields = names(state, &asked.columns).join(", ");
    let found = coordinates(state, &pushed);
    let Some(coordinates) = found else {
        scan.statistics = Arc::new(statistics::of_nothing(&scan.schema));
        return Ok(TdbExec::new(scan, asked.limit, None));
    };
    let mut read = array.read();
    // To count rows without columns, a cheap column is read.
    let wanted = if asked.columns.is_empty() { vec![0] } else { asked.columns.clone() };
    read = read.fields(names(state, &wanted));
    let mut ranges = Vec::new();
    for (dimension, set) in array.schema().domain.dimensions.iter().zip(&coordinates) {
        if let Some(set) = set {
            read = read.ranges(dimension.name.as_str(), set.ranges());
            ranges.push(format!("{} in {set}", dimension.name));
        }
    }
    scan.about.ranges = ranges.join(", ");
    if let Some(condition) = &pushed.condition {
        scan.about.condition = condition.to_string();
        // A condition on a dense read replaces cells by fill values, unless they are selected.
        read = read.condition(condition.clone()).selection(table.dense);
    }
    let explained = read.clone().explain().map_err(of_array)?;
    describe(&mut scan, &explained);
    scan.statistics = Arc::new(statistics::of_scan(state, &asked, &pushed, &coordinates, &explained));
    // For few rows, several readers are not worth it, because each would read as many.
    let few = asked.limit.is_some_and(|limit| limit <= asked.batch_rows);
    scan.parts = match asked.partitions {
        0 | 1 => vec![read],
        _ if few => vec![read],
        // A reader that may end early begins with a box, which needs nothing of other tiles.
        max if state.for_others || asked.limit.is_some() || is_scarce(state, &scan, &asked) => {
            read.partitions(max).map_err(of_array)?
        }
        max => {
            let parts = read.clone().tile_partitions(max).map_err(of_array)?;
            scan.whole = parts.iter().any(Read::is_made_of_tiles).then_some(read);
            parts
        }
    };
    if scan.parts.is_empty() {
        return exec_err!("a query has no partitions");
    }
    let ordering = state.table.dense.then(|| ordering(state, &asked.columns, &scan)).flatten();
    Ok(TdbExec::new(scan, asked.limit, ordering))
}

/// What a cell takes while its tile is read, besides two copies of its row: keys, and what selects
/// it.
const BESIDE_ROW: u64 = 100;

/// Whether memory may be too little for whole tiles in each partition. Boxes are cut inside tiles.
fn is_scarce(state: &State, scan: &Scan, asked: &Asked) -> bool {
    let Some(memory) = asked.memory.and_then(|memory| u64::try_from(memory).ok()) else { return false };
    let cells = state.array.fragments().iter().map(|fragment| {
        let (footer, capacity) = (fragment.footer(), fragment.schema().capacity);
        footer.sparse_tile_cells(0, capacity)
    });
    let each = scan.row_bytes.saturating_mul(2).saturating_add(BESIDE_ROW);
    let tile = cells.max().unwrap_or(0).saturating_mul(each);
    let partitions = u64::try_from(asked.partitions).unwrap_or(u64::MAX);
    tile.saturating_mul(partitions).saturating_mul(TILES_OF_MEMORY) > memory
}

fn names(state: &State, columns: &[usize]) -> Vec<String> {
    columns.iter().map(|column| state.table.name(*column).to_owned()).collect()
}

fn describe(scan: &mut Scan, explained: &Explain) {
    let read = explained.fragments.iter().filter(|plan| matches!(plan.outcome, Outcome::Read { .. }));
    scan.about.fragments = (read.count(), explained.fragments.len());
    scan.about.tiles = explained.tiles();
    scan.bytes = explained.result_bytes;
    scan.row_bytes = explained.result_bytes.checked_div(explained.cells).unwrap_or(0).max(1);
}

/// The indexes of the first dimensions among the columns, as long as SQL orders them in the same
/// way as tdb: not strings, whose bytes tdb compares as signed in arrays with one dimension, and
/// not floating-point numbers, which may be NaN.
fn sortable(state: &State, columns: &[usize]) -> Vec<usize> {
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

/// The order of rows in row-major order.
fn ordering(state: &State, columns: &[usize], scan: &Scan) -> Option<EquivalenceProperties> {
    let order = scan.sortable.iter().filter_map(|place| {
        let column = Arc::new(Column::new(state.table.name(*columns.get(*place)?), *place));
        Some(PhysicalSortExpr::new(column, SortOptions { descending: false, nulls_first: false }))
    });
    let order: Vec<_> = order.collect();
    (!order.is_empty()).then(|| EquivalenceProperties::new_with_orderings(scan.schema.clone(), [order]))
}
