//! Statistics of tables and scans for DataFusion, from metadata alone. It answers `count(*)`, `min`
//! and `max` from those that are exact.

use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use tdb_array::query::Explain;
use tdb_array::stored::StoredCells;

use crate::Result;
use crate::pushdown::PushedFilters;
use crate::ranges::{Coordinates, of_bounds};
use crate::scan::ScanRequest;
use crate::state::TableState;

/// The statistics of a whole table.
pub(crate) fn of_table(state: &TableState) -> Result<Statistics> {
    let mut statistics = Statistics::new_unknown(&state.table.schema);
    statistics.num_rows = if state.table.dense {
        let dimensions = state.array.schema().domain.dimensions.iter().enumerate();
        match state.array.bounds() {
            None => Precision::Exact(0),
            Some(bounds) => {
                let sets = dimensions.map(|(index, dimension)| match bounds.get(index) {
                    Some(range) => of_bounds(dimension, Some(range)),
                    None => Ok(None),
                });
                product(&sets.collect::<Result<Vec<_>>>()?)
            }
        }
    } else {
        stored_cells(state)
    };
    Ok(statistics)
}

/// The statistics of an empty result.
pub(crate) fn of_nothing(schema: &Schema) -> Statistics {
    Statistics { num_rows: Precision::Exact(0), ..Statistics::new_unknown(schema) }
}

/// The statistics of what a scan reads.
pub(crate) fn of_scan(
    state: &TableState,
    request: &ScanRequest,
    pushed: &PushedFilters,
    coordinates: &[Option<Coordinates>],
    explained: &Explain,
) -> Result<Statistics> {
    // Where the read applies filters exactly, no operator above it estimates how many rows pass
    // them. A join has to know which side is small: the minima and maxima of tiles tell, or else
    // the session's assumption.
    let filtered = pushed.condition.is_some() && pushed.exact;
    let passing = |count: usize| match filtered {
        true => count.saturating_mul(usize::from(request.selectivity)) / 100,
        false => count,
    };
    let all = pushed.condition.is_none() && pushed.coordinates.iter().all(Option::is_none);
    let num_rows = if state.table.dense {
        let box_of_ranges = product(coordinates);
        if pushed.condition.is_some() { box_of_ranges.to_inexact() } else { box_of_ranges }
    } else if explained.exact {
        exactly(explained.cells)
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
    let columns = request.columns.iter().map(|column| {
        let mut statistics = ColumnStatistics::new_unknown();
        if !state.table.may_be_null(*column) {
            statistics.null_count = Precision::Exact(0);
        }
        let set = match state.table.dimension(*column) {
            Some(dimension) => match (occupied(state, dimension)?, coordinates.get(dimension)) {
                (Some(own), Some(Some(set))) => Some(own.and(set)?),
                (own, set) => own.or_else(|| set.cloned().flatten()),
            },
            None => None,
        };
        if let Some((min, max)) = set.as_ref().and_then(Coordinates::min_max) {
            // Dense rows have every coordinate of their ranges, unless a condition leaves out some.
            // Sparse rows are somewhere in theirs.
            let is_exact = state.table.dense && pushed.condition.is_none();
            let precision = if is_exact { Precision::Exact } else { Precision::Inexact };
            let data_type = state.table.data_type(*column);
            let known = |value| scalar(value, data_type).map_or(Precision::Absent, precision);
            (statistics.min_value, statistics.max_value) = (known(min), known(max));
        }
        Ok(statistics)
    });
    let column_statistics = columns.collect::<Result<_>>()?;
    let all_bytes = rows(explained.result_bytes);
    let total_byte_size = Precision::Inexact(match (explained.matching, num_rows.get_value()) {
        (Some(_), Some(count)) if filtered => {
            let bytes = explained.result_bytes.checked_div(explained.cells).unwrap_or(0).max(1);
            count.saturating_mul(rows(bytes)).min(all_bytes)
        }
        _ => passing(all_bytes),
    });
    Ok(Statistics { num_rows, total_byte_size, column_statistics })
}

/// The coordinates of a dimension in the non-empty domain.
fn occupied(state: &TableState, dimension: usize) -> Result<Option<Coordinates>> {
    let (bounds, dimensions) = (state.array.bounds(), &state.array.schema().domain.dimensions);
    match (bounds.as_ref().and_then(|bounds| bounds.get(dimension)), dimensions.get(dimension)) {
        (Some(range), Some(own)) => of_bounds(own, Some(range)),
        _ => Ok(None),
    }
}

/// An estimate of a number of rows or bytes.
fn rows(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// An exact number of rows, unless it is too large for one.
fn exactly(count: u64) -> Precision<usize> {
    usize::try_from(count).map_or(Precision::Absent, Precision::Exact)
}

/// The number of cells of a box.
fn product(sets: &[Option<Coordinates>]) -> Precision<usize> {
    let count = sets.iter().try_fold(1u64, |cells, set| cells.checked_mul(set.as_ref()?.count()?));
    count.map_or(Precision::Absent, exactly)
}

/// The number of cells of a sparse array.
fn stored_cells(state: &TableState) -> Precision<usize> {
    match state.array.stored_cells() {
        Some(StoredCells { cells, is_exact: true }) => exactly(cells),
        Some(StoredCells { cells, is_exact: false }) => Precision::Inexact(rows(cells)),
        None => Precision::Absent,
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
        D::Timestamp(TimeUnit::Second, zone) => {
            S::TimestampSecond(Some(value.try_into().ok()?), zone.clone())
        }
        D::Timestamp(TimeUnit::Millisecond, zone) => {
            S::TimestampMillisecond(Some(value.try_into().ok()?), zone.clone())
        }
        D::Timestamp(TimeUnit::Microsecond, zone) => {
            S::TimestampMicrosecond(Some(value.try_into().ok()?), zone.clone())
        }
        D::Timestamp(TimeUnit::Nanosecond, zone) => {
            S::TimestampNanosecond(Some(value.try_into().ok()?), zone.clone())
        }
        _ => return None,
    })
}
