//! Dimension labels: values that identify the positions of a dimension.
//!
//! A label's values are in a dense array of one dimension below the array's folder, in ascending or
//! descending order, so a range of values is a range of positions.

use core::cmp::Ordering;
use std::sync::Arc;

use tdb_codec::{Buffer, DataOrder, to_u64, to_usize};
use tdb_schema::{Dimension, DimensionLabel, Range};

use crate::buffers::lengths_to_offsets;
use crate::engine;
use crate::plan::Plan;
use crate::requested::{Bounds, RangeRequest};
use crate::spec::ColumnSpec;
use crate::storage::Below;
use crate::{Cells, Column, Error, OrInternal, Result, Snapshot, SnapshotOptions};

/// The values of a label, in the order of its dimension.
#[derive(Debug)]
pub struct LabelValues {
    label: DimensionLabel,
    /// The dimension of the label's array: its coordinates are the positions.
    positions: Dimension,
    /// Ordinal of the first value's position.
    first: u64,
    values: Column,
    count: usize,
    /// Index of the first position between written ones that has no value.
    gap: Option<usize>,
    spec: ColumnSpec,
    /// The place of the label's array, for messages.
    place: String,
}

/// Opens the array of a dimension label, in the same window.
pub fn open_label(array: &Snapshot, label: &DimensionLabel) -> Result<Snapshot> {
    let inside = label.uri.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\\'));
    if label.external || !label.relative || !inside {
        let what =
            format!("dimension label \"{}\" is stored outside the array, in {}", label.name, label.uri);
        return Err(Error::unsupported(array.describe(array.schema_key()), what));
    }
    let mut options = SnapshotOptions::new().window(array.window()).threads(array.context().threads);
    options = options.limits(array.context().limits);
    if let Some(key) = &array.context().key {
        options = options.key(key.clone());
    }
    options.open_storage(Below::new(array.context().storage.clone(), label.uri.as_str()))
}

/// Reads a label's values.
pub fn label_values(array: &Snapshot, label: &DimensionLabel) -> Result<LabelValues> {
    let array = open_label(array, label)?;
    let path = || array.describe(array.schema_key());
    let wrong = |detail: &str| Error::inconsistent(path(), "dimension label", 0, detail.to_owned());
    let [positions] = array.schema().domain.dimensions.as_slice() else {
        return Err(wrong("a label's array must have one dimension"));
    };
    let field = array
        .schema()
        .field(&label.attribute)
        .ok_or_else(|| wrong("the array does not have the label's attribute"))?;
    if field.datatype != label.datatype || field.cell_val_num != label.cell_val_num {
        return Err(wrong("the attribute does not have the label's type"));
    }
    let spec = ColumnSpec::new(array.schema(), &field);
    let domain = array.non_empty_domain();
    let range = domain.as_deref().and_then(<[Range]>::first);
    let whole = |range: &Range| {
        RangeRequest::Bytes(Bounds { low: Some(range.low.clone()), high: Some(range.high.clone()) })
    };
    let asked = [Some(range.map(whole).into_iter().collect())];
    let cells = engine::read(&Plan { marks: true, ..Plan::new(&array, vec![field.kind], &asked, None)? })?;
    let gap = cells.selected().and_then(|written| written.iter().position(|is_written| *is_written == 0));
    let outside = || wrong("its values lie outside its dimension");
    let first = range.map(|range| positions.ordinal(&range.low).ok_or_else(outside)).transpose()?;
    let first = first.unwrap_or(0);
    let count = cells.len();
    let values = cells.into_columns().pop().ok_or_else(|| wrong("the label's attribute was not read"))?;
    if count > 0 && values.cell(count.saturating_sub(1)).is_none() {
        return Err(Error::internal("a label lacks some of its values"));
    }
    let place = path();
    let (label, positions) = (label.clone(), positions.clone());
    Ok(LabelValues { label, positions, first, values, count, gap, spec, place })
}

impl LabelValues {
    /// A dimension of the label's type, used to check ranges of the label.
    pub fn dimension(label: &DimensionLabel) -> Dimension {
        let mut dimension = Dimension::string(label.name.clone());
        (dimension.datatype, dimension.cell_val_num) = (label.datatype, label.cell_val_num);
        dimension
    }

    /// The range of positions whose values lie in a range; `None` if there are none.
    ///
    /// Values without a position between them, or out of order, are an error, as in libtiledb:
    /// writes check only their own cells.
    pub fn positions(&self, ends: &Bounds) -> Result<Option<Bounds>> {
        if let Some(index) = self.gap {
            return Err(self.unordered(index, "was never written, but values before and after it were"));
        }
        if let Some(index) = self.first_out_of_order() {
            return Err(self.unordered(index, "is out of order with the value before it"));
        }
        self.between(ends)
    }

    /// Index of the first value that does not follow the one before it.
    fn first_out_of_order(&self) -> Option<usize> {
        let wanted = match self.label.order {
            DataOrder::Increasing => Ordering::Less,
            DataOrder::Decreasing => Ordering::Greater,
            DataOrder::Unordered => return None,
        };
        let value = |index: usize| self.values.cell(index).unwrap_or_default();
        let order =
            |index: &usize| Range::compare(self.label.datatype, value(index.wrapping_sub(1)), value(*index));
        (1..self.count).find(|index| order(index) != wanted)
    }

    fn unordered(&self, index: usize, what: &str) -> Error {
        let position = to_u64(index).saturating_add(self.first);
        let detail = format!(
            "label \"{}\": its value at position {position} from the start of the dimension {what}, so that ranges of it cannot be found: \
             write all its values again",
            self.label.name
        );
        Error::inconsistent(self.place.clone(), "dimension label", 0, detail)
    }

    /// The range of positions of ordered values that lie in a range.
    fn between(&self, ends: &Bounds) -> Result<Option<Bounds>> {
        let is = |index: usize, end: &[u8], side: Ordering| {
            let value = self.values.cell(index).unwrap_or_default();
            Range::compare(self.label.datatype, value, end) == side
        };
        let before =
            |index: usize, end: &Option<Vec<u8>>, side| end.as_ref().is_some_and(|end| is(index, end, side));
        let (from, to) = match self.label.order {
            DataOrder::Decreasing => (
                self.partition(|index| before(index, &ends.high, Ordering::Greater)),
                self.partition(|index| !before(index, &ends.low, Ordering::Less)),
            ),
            _ => (
                self.partition(|index| before(index, &ends.low, Ordering::Less)),
                self.partition(|index| !before(index, &ends.high, Ordering::Greater)),
            ),
        };
        let Some(last) = to.checked_sub(1).filter(|last| *last >= from) else { return Ok(None) };
        let at = |index: usize| {
            let ordinal = self.first.checked_add(to_u64(index));
            ordinal.and_then(|ordinal| self.positions.coordinate(ordinal)).or_internal(NO_POSITION)
        };
        Ok(Some(Bounds { low: Some(at(from)?), high: Some(at(last)?) }))
    }

    /// The number of values at the beginning that satisfy `holds`; no later value may satisfy it.
    fn partition(&self, holds: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0usize, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if holds(middle) { low = middle.saturating_add(1) } else { high = middle }
        }
        low
    }

    /// Converts a column of the dimension's coordinates to a column of labels. Positions without a
    /// value get the fill value.
    fn column(&self, coordinates: &Column, cells: usize) -> Result<Column> {
        let value = |cell: usize| -> Result<&[u8]> {
            let coordinate = coordinates.cell(cell).or_internal("a cell has no coordinate")?;
            let ordinal = self.positions.ordinal(coordinate);
            let index = ordinal.and_then(|ordinal| to_usize(ordinal.checked_sub(self.first)?));
            let value = index.filter(|index| *index < self.count).and_then(|index| self.values.cell(index));
            Ok(value.unwrap_or(&self.spec.fill))
        };
        let mut data = Buffer::new();
        let mut lengths = Vec::with_capacity(cells.saturating_add(1));
        for cell in 0..cells {
            let value = value(cell)?;
            data.extend_from_slice(value);
            lengths.push(to_u64(value.len()));
        }
        lengths.push(0);
        lengths_to_offsets(&mut lengths)?;
        let mut spec = self.spec.clone();
        spec.name.clone_from(&self.label.name);
        let offsets = spec.cell_size.is_none().then_some(lengths);
        Ok(spec.column(data, offsets, None))
    }
}

/// A value of a label lies outside the label's dimension.
const NO_POSITION: &str = "a value of a label has no position";
/// A query asks for a label that its result or its schema lacks.
const NO_LABEL: &str = "a label of the query has no column";

/// The values of the labels that were asked for. `wanted` has the place of each column that becomes
/// one of labels, and the number of its label in the schema.
pub(crate) fn values_of(array: &Snapshot, wanted: &[(usize, usize)]) -> Result<Vec<Arc<LabelValues>>> {
    let label = |label: &usize| array.schema().labels.get(*label).or_internal(NO_LABEL);
    let values = |(_, number): &(usize, usize)| {
        let label = label(number)?;
        array.context().stage(|| label_values(array, label))
    };
    wanted.iter().map(values).collect()
}

/// Replaces columns of coordinates by columns of labels, whose values are in the order of `wanted`.
pub(crate) fn resolve(
    wanted: &[(usize, usize)],
    values: &[Arc<LabelValues>],
    mut cells: Cells,
) -> Result<Cells> {
    for ((place, _), values) in wanted.iter().zip(values) {
        let column = cells.columns.get_mut(*place).or_internal(NO_LABEL)?;
        *column = values.column(column, cells.len)?;
    }
    Ok(cells)
}
