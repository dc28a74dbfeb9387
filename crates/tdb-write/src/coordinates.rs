//! Checks that the coordinates of sparse cells are inside the domain and the current domain.

use core::ops::Range as Cells;

use tdb_codec::{Native, PhysicalVisitor, to_u64};
use tdb_schema::{ArraySchema, Dimension, FieldKind, Range};

use crate::column::{CheckedColumn, check_whole, column_of};
use crate::coordinate::show_coordinate;
use crate::thresholds::BAND_CELLS;
use crate::{OrInternal, Result, WriteError, parallel};

/// The area that may be written: an interval for each dimension, and none for strings without a
/// current domain.
#[derive(Debug)]
pub(super) struct CoordinateBounds {
    dimensions: Vec<(Dimension, Option<Range>)>,
}

impl CoordinateBounds {
    pub(super) fn new(schema: &ArraySchema) -> Self {
        let dimensions = schema.domain.dimensions.iter().enumerate();
        let dimensions = dimensions.map(|(index, dimension)| {
            let current = schema.current_domain.as_ref().and_then(|current| current.ranges.get(index));
            let whole = || dimension.domain.clone().map(|(low, high)| Range::new(low, high));
            (dimension.clone(), current.cloned().or_else(whole))
        });
        Self { dimensions: dimensions.collect() }
    }

    /// Returns an error that names the first cell outside, if there is one. A NaN is always
    /// outside.
    pub(super) fn check(
        &self,
        threads: usize,
        coordinates: &[CheckedColumn<'_>],
        cells: usize,
        first_number: u64,
    ) -> Result<()> {
        check_whole(coordinates, cells)?;
        let found =
            parallel::run(threads, bands(cells), || (), |band, ()| self.first_outside(coordinates, &band))?;
        match found.into_iter().flatten().next() {
            None => Ok(()),
            Some((cell, dimension, value)) => {
                let cell = first_number.saturating_add(to_u64(cell));
                Err(WriteError::OutsideDomain { dimension, cell, value }.into())
            }
        }
    }

    /// The first cell of a band that is outside, with the name of the dimension and the coordinate.
    fn first_outside(
        &self,
        coordinates: &[CheckedColumn<'_>],
        band: &Cells<usize>,
    ) -> Result<Option<(usize, String, String)>> {
        let mut first: Option<(usize, &Dimension, &CheckedColumn<'_>)> = None;
        for ((dimension, bounds), column) in self.dimensions.iter().zip(coordinates) {
            // All strings are inside.
            let Some(bounds) = bounds else { continue };
            let outside = if column.cell_size.is_some() {
                let visitor = FirstOutside { values: column.run(band.clone())?, bounds };
                let at = dimension.datatype.physical().visit(visitor)?;
                at.map(|at| band.start.saturating_add(at))
            } else {
                band.clone().find(|cell| !column.cell(*cell).is_some_and(|value| holds_string(bounds, value)))
            };
            if let Some(cell) = outside.filter(|cell| first.is_none_or(|(before, ..)| *cell < before)) {
                first = Some((cell, dimension, column));
            }
        }
        let Some((cell, dimension, column)) = first else { return Ok(None) };
        let value = column.cell(cell).or_internal("a tile without a coordinate of a cell")?;
        Ok(Some((cell, dimension.name.clone(), show_coordinate(dimension, value))))
    }
}

/// Whether a string is in an interval of a current domain; an empty high end means that the
/// interval is open.
fn holds_string(bounds: &Range, value: &[u8]) -> bool {
    value >= bounds.low.as_slice() && (bounds.high.is_empty() || value <= bounds.high.as_slice())
}

/// Divides cells into bands for parallel jobs.
pub(super) fn bands(cells: usize) -> Vec<Cells<usize>> {
    let band = |start: usize| start..start.saturating_add(BAND_CELLS).min(cells);
    (0..cells).step_by(BAND_CELLS).map(band).collect()
}

/// The same bands for comparing each cell with the previous one: each begins with the last cell of
/// the band before it.
pub(super) fn overlapping_bands(cells: usize) -> Vec<Cells<usize>> {
    bands(cells).into_iter().map(|band| band.start.saturating_sub(1)..band.end).collect()
}

struct FirstOutside<'a> {
    values: &'a [u8],
    bounds: &'a Range,
}

impl PhysicalVisitor for FirstOutside<'_> {
    type Output = Result<Option<usize>>;

    fn visit<T: Native>(self) -> Result<Option<usize>> {
        let ends = T::from_le(&self.bounds.low).zip(T::from_le(&self.bounds.high));
        let (low, high) = ends.or_internal("a domain without two values")?;
        // Not written as "less or greater", because a NaN is neither.
        let inside = |value: &[u8]| T::from_le(value).is_some_and(|value| low <= value && value <= high);
        Ok(self.values.chunks_exact(T::SIZE).position(|value| !inside(value)))
    }
}

/// The columns of the dimensions, in the schema's order.
pub(super) fn of_dimensions<'a>(
    columns: &[CheckedColumn<'a>],
    dimensions: usize,
) -> Result<Vec<CheckedColumn<'a>>> {
    (0..dimensions).map(|index| column_of(columns, FieldKind::Dimension(index)).copied()).collect()
}
