//! Ranges of labels.

use tdb_scan::labels::{LabelValues, label_values};
use tdb_schema::{ArraySchema, Range};

use super::Read;
use crate::ranges::check_ends;
use crate::requested::{Bounds, RangeRequest};
use crate::{Array, OrInternal, QueryError, Result};

impl Array {
    /// The positions of a dimension whose label is in an inclusive range, given as the label's
    /// little-endian bytes; `None` is an open end, and the result if there are none. They are the
    /// range of the dimension that a read of the label's range has
    /// ([`Read::label_range_bytes`]).
    ///
    /// # Errors
    /// The array has no such label, the range does not fit it, its values are not ordered, or they
    /// cannot be read.
    pub fn label_positions(
        &self,
        label: &str,
        low: Option<Vec<u8>>,
        high: Option<Vec<u8>>,
    ) -> Result<Option<Range>> {
        let (_, positions) = self.positions_of(label, &RangeRequest::Bytes(Bounds { low, high }))?;
        let Some(Bounds { low, high }) = positions else { return Ok(None) };
        let ends = low.zip(high).or_internal("a range of positions has no ends")?;
        Ok(Some(Range::new(ends.0, ends.1)))
    }

    /// The number of a label, and its positions in a range.
    fn positions_of(&self, name: &str, range: &RangeRequest) -> Result<(usize, Option<Bounds>)> {
        let schema = self.schema();
        let number = schema.labels.iter().position(|label| label.name == name);
        let label = number.and_then(|number| Some((number, schema.labels.get(number)?)));
        let (number, label) = label.ok_or_else(|| {
            let known = schema.labels.iter().map(|label| label.name.as_str());
            QueryError::UnknownLabel { name: name.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
        })?;
        let as_dimension = LabelValues::dimension(label);
        let ends = check_ends(&as_dimension, range.resolve(&as_dimension)?)?;
        let snapshot = self.snapshot();
        let values = snapshot.context().stage(|| label_values(snapshot, label))?;
        Ok((number, ends.map_or(Ok(None), |ends| values.positions(&ends))?))
    }
}

impl Read {
    /// Ranges that were given in labels, as ranges of their dimensions.
    pub(super) fn ranges_by_label(&self) -> Result<Vec<(usize, Vec<RangeRequest>)>> {
        let schema = self.array.schema();
        let mut found = Vec::with_capacity(self.labels.len());
        for (name, range) in &self.labels {
            let (number, positions) = self.array.positions_of(name, range)?;
            found.push((
                label_dimension(schema, number)?,
                positions.into_iter().map(RangeRequest::Bytes).collect(),
            ));
        }
        Ok(found)
    }
}

/// The number of a label's dimension.
pub(super) fn label_dimension(schema: &ArraySchema, label: usize) -> Result<usize> {
    let dimension = schema.labels.get(label).and_then(|label| usize::try_from(label.dimension).ok());
    dimension.or_internal("a label has no dimension")
}
