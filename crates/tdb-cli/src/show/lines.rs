//! Values along one axis: profiles and histograms.

use tdb_array::query::Aggregate;
use tdb_array::schema::ArrayType;
use tdb_draw::{Histogram, Profile};
use tdb_schema::{Field, FieldKind};
use tdb_text::value::is_text;

use super::axis::BinnedAxis;
use super::plane::counted;
use super::scan::Scan;
use super::target::Target;
use super::value::Value;
use crate::failure::Result;

/// Least, mean and greatest value of a field along a dimension.
pub(super) fn profile(scan: &mut Scan<'_>, x: usize, field: &Field<'_>, target: &Target) -> Result<Profile> {
    let all: Vec<usize> = (0..scan.array.schema().domain.dimensions.len()).collect();
    scan.fix(&all);
    let mut along = scan.axis(x, target.points()?, false)?;
    let Some(dimension) = scan.array.schema().domain.dimensions.get(x) else {
        return Err(scan.args.usage("there is no such dimension"));
    };
    let parts = along.parts();
    let mut sums = vec![(0u64, 0.0f64); parts];
    let mut spans = vec![(f64::NAN, f64::NAN); parts];
    let mut step = 0;
    let (mut cells, mut blank) = (0u64, 0u64);
    scan.each("drawing", &[&dimension.name, field.name], &mut |row| {
        cells = cells.saturating_add(1);
        let found = match row {
            [Some(place), Some(value)] => {
                along.part(dimension.datatype, place).zip(Value::of(field.datatype, value).map(Value::real))
            }
            _ => None,
        };
        let Some((part, value)) = found else {
            blank = blank.saturating_add(1);
            return Ok(());
        };
        if let Some(Some(place)) = row.first() {
            step = along.common_step(step, dimension.datatype, place);
        }
        if let (Some((count, sum)), Some((low, high))) = (sums.get_mut(part), spans.get_mut(part)) {
            *count = count.saturating_add(1);
            *sum += value;
            // The other one, where one is NaN.
            (*low, *high) = (low.min(value), high.max(value));
        }
        Ok(())
    })?;
    // If all values are further apart than parts are wide, no part between them is shown.
    if let Some((axis, before)) = along.stepped(step) {
        sums = before.iter().filter_map(|part| sums.get(*part).copied()).collect();
        spans = before.iter().filter_map(|part| spans.get(*part).copied()).collect();
        along = axis;
    }
    let several = sums.iter().any(|(count, _)| *count > 1);
    let mut note = counted(cells, blank, true);
    if several {
        note += "; mean, and least to greatest";
    }
    Ok(Profile {
        title: format!("{}: {}", scan.name(), field.name),
        note,
        x: along.axis(&dimension.name),
        unit: field.name.to_owned(),
        means: sums
            .into_iter()
            .map(|(count, sum)| if count == 0 { f64::NAN } else { sum / count as f64 })
            .collect(),
        spans,
    })
}

/// A histogram of the values of a field.
pub(super) fn histogram(scan: &mut Scan<'_>, field: &Field<'_>, target: &Target) -> Result<Histogram> {
    let all: Vec<usize> = (0..scan.array.schema().domain.dimensions.len()).collect();
    scan.fix(&all);
    let most = target.bars()?;
    let along = match field.kind {
        FieldKind::Dimension(index) => scan.axis(index, most, true)?,
        FieldKind::Attribute(_) if is_text(field.datatype) => scan.words(field.name, field.datatype, most)?,
        FieldKind::Attribute(_) => match ends(scan, field)? {
            Some((low, high)) => BinnedAxis::between(field.datatype, low, high, most, true),
            None => BinnedAxis::of_texts(field.datatype, Vec::new(), most),
        },
    };
    let mut counts = vec![0u64; along.parts()];
    let (mut cells, mut blank) = (0u64, 0u64);
    scan.each("counting", &[field.name], &mut |row| {
        cells = cells.saturating_add(1);
        let part = row.first().copied().flatten().and_then(|bytes| along.part(field.datatype, bytes));
        match part.and_then(|part| counts.get_mut(part)) {
            Some(count) => *count = count.saturating_add(1),
            None => blank = blank.saturating_add(1),
        }
        Ok(())
    })?;
    Ok(Histogram {
        title: format!("{}: {}", scan.name(), field.name),
        note: counted(cells, blank, true),
        x: along.axis(field.name),
        unit: "cells".to_owned(),
        counts,
    })
}

/// The least and the greatest number of an attribute; `None` if there are no numbers.
fn ends(scan: &Scan<'_>, field: &Field<'_>) -> Result<Option<(Value, Value)>> {
    if scan.array.schema().array_type == ArrayType::Sparse {
        // Statistics often know them. Of reals they may be infinite, and no ends of an axis.
        let asked = [Aggregate::min(field.name), Aggregate::max(field.name)];
        let found = scan.read()?.aggregate(asked).map_err(|error| scan.failed(error))?;
        let value = |at: usize| Value::of(field.datatype, found.get(at)?.bytes()?);
        if let (Some(low), Some(high)) = (value(0), value(1)) {
            return Ok(Some((low, high)));
        }
    }
    let mut ends: Option<(Value, Value)> = None;
    scan.each("looking for the ends", &[field.name], &mut |row| {
        if let Some(value) = row.first().copied().flatten().and_then(|bytes| Value::of(field.datatype, bytes))
        {
            let (low, high) = ends.unwrap_or((value, value));
            ends = Some((low.least(value), high.greatest(value)));
        }
        Ok(())
    })?;
    Ok(ends)
}
