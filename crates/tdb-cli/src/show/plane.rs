//! Means or counts on the plane of two dimensions.

use tdb_draw::{Grid, Plane, Ramp};
use tdb_schema::{Dimension, Field};

use super::axis::BinnedAxis;
use super::footprints;
use super::scan::Scan;
use super::target::Target;
use super::value::Value;
use crate::failure::Result;

/// The cells of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    count: u64,
    sum: f64,
}

/// An axis while cells are read.
struct Side<'s> {
    dimension: &'s Dimension,
    along: BinnedAxis,
    /// The greatest number of which all distances are multiples.
    step: i128,
}

/// The bins of a plane while cells are read.
struct Bins<'s> {
    x: Side<'s>,
    y: Side<'s>,
    bins: Vec<Bin>,
    cells: u64,
    /// Cells that are in no bin.
    blank: u64,
}

impl<'s> Side<'s> {
    fn new(scan: &Scan<'s>, index: usize, most: usize) -> Result<Self> {
        let along = scan.axis(index, most, false)?;
        let dimension = scan.array.schema().domain.dimensions.get(index);
        let dimension = dimension.ok_or_else(|| scan.args.usage("there is no such dimension"))?;
        Ok(Self { dimension, along, step: 0 })
    }

    /// The part of a coordinate.
    fn part(&mut self, bytes: &[u8]) -> Option<usize> {
        self.step = self.along.common_step(self.step, self.dimension.datatype, bytes);
        self.along.part(self.dimension.datatype, bytes)
    }

    /// Leaves out the parts between values, where all values are further apart than parts are wide.
    /// Returns which part each part was before.
    fn settle(&mut self) -> Vec<usize> {
        match self.along.stepped(self.step) {
            Some((along, before)) => {
                self.along = along;
                before
            }
            None => (0..self.along.parts()).collect(),
        }
    }
}

impl<'s> Bins<'s> {
    fn new(x: Side<'s>, y: Side<'s>) -> Self {
        let bins = vec![Bin::default(); x.along.parts().saturating_mul(y.along.parts())];
        Self { x, y, bins, cells: 0, blank: 0 }
    }

    fn add(&mut self, x: Option<&[u8]>, y: Option<&[u8]>, number: Option<f64>) {
        self.cells = self.cells.saturating_add(1);
        let place = x.and_then(|x| self.x.part(x)).zip(y.and_then(|y| self.y.part(y)));
        let index =
            place.map(|(column, row)| row.saturating_mul(self.x.along.parts()).saturating_add(column));
        match (index.and_then(|index| self.bins.get_mut(index)), number) {
            (Some(bin), Some(number)) => {
                bin.count = bin.count.saturating_add(1);
                bin.sum += number;
            }
            _ => self.blank = self.blank.saturating_add(1),
        }
    }

    /// Leaves out the bins between values.
    fn settle(&mut self) {
        let columns = self.x.along.parts();
        let (across, along) = (self.x.settle(), self.y.settle());
        let bin = |column: usize, row: usize| {
            self.bins.get(row.saturating_mul(columns).saturating_add(column)).copied().unwrap_or_default()
        };
        self.bins =
            along.iter().flat_map(|row| across.iter().map(move |column| bin(*column, *row))).collect();
    }
}

/// Draws the mean of a field, or the number of cells.
pub(super) fn draw(
    scan: &mut Scan<'_>,
    x: usize,
    y: usize,
    value: Option<&Field<'_>>,
    target: &Target,
) -> Result<Plane> {
    let fixed = scan.fix(&[x, y]);
    // The cells of a sparse array rarely fill small bins.
    let (columns, rows) = target.cells(!scan.is_dense())?;
    let mut bins = Bins::new(Side::new(scan, x, columns)?, Side::new(scan, y, rows)?);
    let mut fields = vec![bins.x.dimension.name.as_str(), bins.y.dimension.name.as_str()];
    fields.extend(value.map(|field| field.name));
    scan.each("drawing", &fields, &mut |row| {
        let number = match (value, row.get(2)) {
            (None, _) => Some(1.0),
            (Some(field), Some(Some(bytes))) => Value::of(field.datatype, bytes).map(Value::real),
            _ => None,
        };
        bins.add(row.first().copied().flatten(), row.get(1).copied().flatten(), number);
        Ok(())
    })?;
    bins.settle();
    let Bins { x: across, y: along, bins, cells, blank } = bins;
    let mean = |bin: &Bin| match bin.count {
        0 => f64::NAN,
        count if value.is_none() => count as f64,
        count => bin.sum / count as f64,
    };
    let what = value.map_or("density", |field| field.name);
    let axis = |side: &Side<'_>| side.along.axis(&side.dimension.name);
    let mut plane = Plane::new(format!("{}: {what}", scan.name()), axis(&across), axis(&along));
    let grid = bins.iter().map(mean).collect();
    plane.grid = Grid::new(across.along.parts(), along.along.parts(), grid);
    plane.up = !scan.is_dense();
    plane.square = scan.is_dense() && are_squares(&across, &along);
    match value {
        Some(field) => plane.unit = field.name.to_owned(),
        None => {
            plane.unit = "cells".to_owned();
            (plane.roots, plane.ramp) = (true, Ramp::Blues);
        }
    }
    let mut note = vec![counted(cells, blank, value.is_some())];
    if value.is_some() && bins.iter().any(|bin| bin.count > 1) {
        note.push("mean of each bin".to_owned());
    }
    note.extend(fixed);
    if value.is_none() || scan.args.tiles {
        let found = footprints::find(scan, [(x, &across.along), (y, &along.along)])?;
        note.push(found.note());
        plane.footprints = found.footprints;
    }
    plane.note = note.join("; ");
    Ok(plane)
}

/// The number of cells that were drawn, in words.
pub(super) fn counted(cells: u64, blank: u64, values: bool) -> String {
    let cells = match cells {
        0 => "no cells".to_owned(),
        1 => "1 cell".to_owned(),
        cells => format!("{cells} cells"),
    };
    match (blank, values) {
        (0, _) => cells,
        (blank, true) => format!("{cells}, {blank} of them without a number"),
        (blank, false) => format!("{cells}, {blank} of them in no place"),
    }
}

/// Whether both axes count the same steps, so that the plane is an image, and is not too long for
/// one.
fn are_squares(across: &Side<'_>, along: &Side<'_>) -> bool {
    let (columns, rows) = (across.along.parts(), along.along.parts());
    let like_image = columns <= rows.saturating_mul(4) && rows <= columns.saturating_mul(4);
    let numbers = [across, along].iter().all(|side| !side.dimension.datatype.is_datetime());
    let same = match (&across.along, &along.along) {
        (BinnedAxis::Whole { width, .. }, BinnedAxis::Whole { width: other, .. }) => width == other,
        _ => false,
    };
    same && numbers && like_image
}
