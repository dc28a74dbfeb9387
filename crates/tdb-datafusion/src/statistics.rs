//! What is known about rows without reading them: exact only where metadata are.

use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use tdb_array::Explain;

use crate::pushdown::Pushed;
use crate::ranges::{Coordinates, of_bounds};
use crate::scan::Asked;
use crate::state::State;

/// The statistics of a whole table.
pub(crate) fn of_table(state: &State) -> Statistics {
    let mut statistics = Statistics::new_unknown(&state.table.schema);
    statistics.num_rows = if state.table.dense {
        let dimensions = state.array.schema().domain.dimensions.iter();
        match state.array.bounds() {
            None => Precision::Exact(0),
            Some(bounds) => {
                let sets =
                    dimensions.zip(&bounds).map(|(dimension, range)| of_bounds(dimension, Some(range)));
                product(&sets.collect::<Vec<_>>())
            }
        }
    } else {
        stored_cells(state)
    };
    statistics
}

/// The statistics of an empty result.
pub(crate) fn of_nothing(schema: &Schema) -> Statistics {
    Statistics { num_rows: Precision::Exact(0), ..Statistics::new_unknown(schema) }
}

/// The statistics of what a scan reads.
pub(crate) fn of_scan(
    state: &State,
    asked: &Asked,
    pushed: &Pushed,
    coordinates: &[Option<Coordinates>],
    explained: &Explain,
) -> Statistics {
    // Where the read applies filters exactly, no operator above it says how many rows pass them. A
    // join has to know which side is small: the least and the greatest values of tiles tell, or
    // else the session's assumption.
    let filtered = pushed.condition.is_some() && pushed.exact;
    let passing = |count: usize| match filtered {
        true => count.saturating_mul(usize::from(asked.selectivity)) / 100,
        false => count,
    };
    let all = pushed.condition.is_none() && pushed.coordinates.iter().all(Option::is_none);
    let num_rows = if state.table.dense {
        let box_of_ranges = product(coordinates);
        if pushed.condition.is_some() { box_of_ranges.to_inexact() } else { box_of_ranges }
    } else if explained.exact {
        Precision::Exact(rows(explained.cells))
    } else if all {
        stored_cells(state)
    } else {
        Precision::Inexact(rows(explained.cells))
    };
    let num_rows = match explained.matching {
        Some(matching) if filtered => Precision::Inexact(rows(matching)),
        _ if filtered => num_rows.to_inexact().map(passing),
        _ => num_rows,
    };
    let columns = asked.columns.iter().map(|column| {
        let mut statistics = ColumnStatistics::new_unknown();
        if !state.table.may_be_null(*column) {
            statistics.null_count = Precision::Exact(0);
        }
        let set = state.table.dimension(*column).and_then(|dimension| {
            match (occupied(state, dimension), coordinates.get(dimension)?) {
                (Some(own), Some(set)) => Some(own.and(set)),
                (own, set) => own.or_else(|| set.clone()),
            }
        });
        if let Some((min, max)) = set.as_ref().and_then(Coordinates::ends) {
            // Dense rows have every coordinate of their ranges, unless a condition leaves out some.
            // Sparse rows are somewhere in theirs.
            let is_exact = state.table.dense && pushed.condition.is_none();
            let exactly = if is_exact { Precision::Exact } else { Precision::Inexact };
            let data_type = state.table.data_type(*column);
            let known = |value| scalar(value, data_type).map_or(Precision::Absent, exactly);
            (statistics.min_value, statistics.max_value) = (known(min), known(max));
        }
        statistics
    });
    let column_statistics = columns.collect();
    let all_bytes = rows(explained.result_bytes);
    let total_byte_size = Precision::Inexact(match (explained.matching, num_rows.get_value()) {
        (Some(_), Some(count)) if filtered => {
            let bytes = explained.result_bytes.checked_div(explained.cells).unwrap_or(0).max(1);
            count.saturating_mul(rows(bytes)).min(all_bytes)
        }
        _ => passing(all_bytes),
    });
    Statistics { num_rows, total_byte_size, column_statistics }
}

/// The coordinates of a dimension between which all cells lie.
fn occupied(state: &State, dimension: usize) -> Option<Coordinates> {
    let bounds = state.array.bounds()?;
    of_bounds(state.array.schema().domain.dimensions.get(dimension)?, bounds.get(dimension))
}

fn rows(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The number of cells of a box.
fn product(sets: &[Option<Coordinates>]) -> Precision<usize> {
    let count = sets.iter().try_fold(1u64, |cells, set| cells.checked_mul(set.as_ref()?.count()?));
    match count.and_then(|count| usize::try_from(count).ok()) {
        Some(count) => Precision::Exact(count),
        None => Precision::Absent,
    }
}

/// The number of cells of a sparse array. It equals the number of rows if no write can have
/// replaced a cell of another one, nothing was deleted, no fragment contains a history, and none
/// lies outside the current domain.
fn stored_cells(state: &State) -> Precision<usize> {
    let array = &state.array;
    let fragments = array.fragments();
    let cells = fragments.iter().fold(0u64, |sum, fragment| sum.saturating_add(fragment.cell_count()));
    let plain = fragments
        .iter()
        .all(|fragment| !fragment.footer().has_timestamps && !fragment.footer().has_delete_metadata);
    let plain =
        plain && (0..array.schema().domain.dimensions.len()).all(|at| array.is_inside_current_domain(at));
    let alone = array.schema().allows_duplicates || fragments.len() <= 1;
    if plain && alone && array.deletes().is_empty() {
        Precision::Exact(rows(cells))
    } else {
        Precision::Inexact(rows(cells))
    }
}

/// A coordinate as a value of its column.
pub(crate) fn scalar(value: i128, data_type: &DataType) -> Option<ScalarValue> {
    use DataType as D;
    use ScalarValue as S;
    Some(match data_type {
        D::Int8 => S::Int8(Some(value.try_into().ok()?)),
        D::Int16 => S::Int16(Some(value.try_into().ok()?)),
        D::Int32 => S::Int32(Some(value.try_into().ok()?)),
        D::Int64 => S::Int64(Some(value.try_into().ok()?)),
        D::UInt8 => S::UInt8(Some(value.try_into().ok()?)),
        D::UInt16 => S::UInt16(Some(value.try_into().ok()?)),
        D::UInt32 => S::UInt32(Some(value.try_into().ok()?)),
        D::UInt64 => S::UInt64(Some(value.try_into().ok()?)),
        D::Date32 => S::Date32(Some(value.try_into().ok()?)),
        D::Decimal128(precision, scale @ 0) => S::Decimal128(Some(value), *precision, *scale),
        D::Timestamp(TimeUnit::Second, None) => S::TimestampSecond(Some(value.try_into().ok()?), None),
        D::Timestamp(TimeUnit::Millisecond, None) => {
            S::TimestampMillisecond(Some(value.try_into().ok()?), None)
        }
        D::Timestamp(TimeUnit::Microsecond, None) => {
            S::TimestampMicrosecond(Some(value.try_into().ok()?), None)
        }
        D::Timestamp(TimeUnit::Nanosecond, None) => {
            S::TimestampNanosecond(Some(value.try_into().ok()?), None)
        }
        _ => return None,
    })
}
