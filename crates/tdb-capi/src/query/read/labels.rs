//! Labels of a read: their values along the dimension, not cell by cell.

use tdb_array::Array;
use tdb_array::schema::{DimensionLabel, Range};

use super::cells::Stream;
use crate::ffi::Failure;
use crate::query::buffers::{FieldType, Origin};
use crate::query::{Query, failure};
use crate::subarray::DimensionRanges;

impl Query {
    /// Takes the fields that are read from the arrays of labels out of `fields`: labels, and if the
    /// query is about nothing else, the dimension that they are of.
    pub(super) fn label_streams(
        &self,
        array: &Array,
        fields: &mut Vec<(String, FieldType)>,
        has_label_ranges: bool,
    ) -> Result<Vec<Stream>, Failure> {
        let (labels, others): (Vec<_>, Vec<_>) =
            core::mem::take(fields).into_iter().partition(|(_, field)| field.origin == Origin::Label);
        *fields = others;
        let mut streams = Vec::new();
        let named = |name: &str| self.schema.labels.iter().find(|label| label.name == *name);
        for (name, field) in labels {
            let label = named(&name).ok_or_else(|| failure(format!("There is no label {name}")))?;
            streams.push(self.label_stream(array, label, (name, field))?);
        }
        // Without other fields, the one dimension goes along the label, too.
        let is_alone = matches!(fields.as_slice(), [(_, field)] if field.origin == Origin::Dimension);
        if is_alone && (!streams.is_empty() || has_label_ranges) {
            let index = fields.first().and_then(|(name, _)| self.schema.dimension_index(name));
            let of_it = |label: &&DimensionLabel| usize::try_from(label.dimension).ok() == index;
            if let Some(label) = self.schema.labels.iter().find(of_it)
                && let Some(field) = fields.pop()
            {
                streams.push(self.label_stream(array, label, field)?);
            }
        }
        Ok(streams)
    }

    /// The values of a label, or their positions, in the ranges of its dimension.
    fn label_stream(
        &self,
        array: &Array,
        label: &DimensionLabel,
        (name, field): (String, FieldType),
    ) -> Result<Stream, Failure> {
        let missing = || failure(format!("The label {} has no array", label.name));
        let values = array.label(&label.name)?.ok_or_else(missing)?;
        let position = values.schema().domain.dimensions.first().ok_or_else(missing)?.name.clone();
        let wanted = if field.origin == Origin::Label { label.attribute.clone() } else { position.clone() };
        let mut read = values.read().fields([wanted]).memory(self.memory());
        let index = usize::try_from(label.dimension).unwrap_or(usize::MAX);
        if let Some(DimensionRanges::Own(list)) = self.subarray.dimensions().get(index) {
            let ends = |range: &Range| (Some(range.low.clone()), Some(range.high.clone()));
            read = read.ranges_bytes(position, list.ranges().iter().map(ends));
        }
        Ok(Stream::new(vec![(name, field)], read.batch_memory(self.batch_memory()).batches()?))
    }
}
