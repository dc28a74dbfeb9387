//! Ranges of labels.

use tdb_scan::labels::{LabelValues, label_values};
use tdb_schema::ArraySchema;

use super::Read;
use crate::ranges::check_ends;
use crate::requested::RangeRequest;
use crate::{OrInternal, QueryError, Result};

impl Read {
    /// Ranges that were given in labels, as ranges of their dimensions.
    pub(super) fn ranges_by_label(&self) -> Result<Vec<(usize, Vec<RangeRequest>)>> {
        let schema = self.array.schema();
        let mut found = Vec::with_capacity(self.labels.len());
        for (name, range) in &self.labels {
            let number = schema.labels.iter().position(|label| label.name == *name);
            let label = number.and_then(|number| Some((number, schema.labels.get(number)?)));
            let (number, label) = label.ok_or_else(|| {
                let known = schema.labels.iter().map(|label| label.name.as_str());
                QueryError::UnknownLabel { name: name.clone(), known: known.collect::<Vec<_>>().join(", ") }
            })?;
            let as_dimension = LabelValues::dimension(label);
            let ends = check_ends(&as_dimension, range.resolve(&as_dimension)?)?;
            let snapshot = self.array.snapshot();
            let values = snapshot.context().stage(|| label_values(snapshot, label))?;
            let positions = ends.map_or(Ok(None), |ends| values.positions(&ends))?;
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
