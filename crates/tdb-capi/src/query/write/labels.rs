//! Writes of the values of dimension labels.

use tdb_array::schema::{ArrayType, Dimension, DimensionLabel, Range};
use tdb_array::{ArrayWriter, Layout, WriteColumn};

use super::columns::Column;
use super::{OffsetsFormat, Origin, explained};
use crate::codes::integer_of;
use crate::ffi::{Failure, Outcome};
use crate::query::buffers::{FieldBuffers, FieldType};
use crate::query::{Kind, Query, failure};
use crate::subarray::DimensionRanges;

impl Query {
    /// Writes the values of the labels that have buffers, each to its own array.
    pub(super) fn write_labels(&self, writer: &ArrayWriter) -> Outcome {
        for (name, buffers) in &self.buffers {
            let field = self.field(name)?;
            if field.origin == Origin::Label {
                self.write_label(writer, name, &field, buffers).map_err(|why| {
                    failure(format!("Failed to process data query for label '{name}'. {why}"))
                })?;
            }
        }
        Ok(())
    }

    fn write_label(
        &self,
        writer: &ArrayWriter,
        name: &str,
        field: &FieldType,
        buffers: &FieldBuffers,
    ) -> Outcome {
        if self.kind != Kind::Write {
            return Err(failure("[set_data_buffer] Unsupported query type."));
        }
        if self.layout == Layout::GlobalOrder {
            let what = "The global order layout is not supported when querying dimension labels";
            return Err(failure(format!("Cannot init query; {what}")));
        }
        if self.subarray.has_labels() {
            let what = "Cannot set both label buffer and label range on a write query.";
            return Err(failure(format!("Failed to add dimension label queries. {what}")));
        }
        let label = self.schema.labels.iter().find(|label| label.name == name);
        let label = label.ok_or_else(|| failure(format!("there is no label '{name}'")))?;
        let own = writer.label(name)?;
        let values = Column::new(name, field, buffers, OffsetsFormat::of(&self.config)?)?;
        let values = values.named(&label.attribute);
        if values.is_empty() {
            return Ok(());
        }
        let dimension = own.schema().domain.dimensions.first();
        let dimension = dimension.ok_or_else(|| failure("the label's array has no dimension"))?;
        let coordinates = self.coordinates_of(label)?;
        let mut write = own.write().column(values.written());
        let points;
        if own.schema().array_type == ArrayType::Dense {
            let range = match coordinates {
                Some(points) => Some(consecutive(dimension, points)?),
                None => self.range_of(label)?,
            };
            if let Some(Range { low, high }) = range {
                write = write.range_bytes(dimension.name.as_str(), Some(low), Some(high));
            }
        } else {
            points = match coordinates {
                Some(points) => points.to_vec(),
                None => all_of(dimension, self.range_of(label)?, values.cells(field))?,
            };
            write = write.column(WriteColumn::bytes(&dimension.name, &points));
        }
        write.commit().map_err(explained)?;
        Ok(())
    }

    /// The coordinates that the caller gives for the dimension of a label.
    fn coordinates_of(&self, label: &DimensionLabel) -> Result<Option<&[u8]>, Failure> {
        let index = usize::try_from(label.dimension).unwrap_or(usize::MAX);
        let dimension = self.schema.domain.dimensions.get(index);
        let data = dimension.and_then(|dimension| self.buffers.get(&dimension.name));
        data.and_then(|buffers| buffers.data.as_ref()).map(|data| data.bytes()).transpose()
    }

    /// The range of the dimension of a label; `None` for all of it.
    fn range_of(&self, label: &DimensionLabel) -> Result<Option<Range>, Failure> {
        let index = usize::try_from(label.dimension).unwrap_or(usize::MAX);
        match self.subarray.dimensions().get(index) {
            Some(DimensionRanges::Own(list)) => match list.ranges() {
                [range] => Ok(Some(range.clone())),
                _ => Err(failure("Dimension label writes can only be set for a single range.")),
            },
            _ => Ok(None),
        }
    }
}

/// The range of coordinates that follow each other.
fn consecutive(dimension: &Dimension, points: &[u8]) -> Result<Range, Failure> {
    let size = dimension.datatype.size().max(1);
    let numbers: Vec<i128> =
        points.chunks_exact(size).map(|point| integer_of(dimension.datatype, point)).collect();
    let follows = |pair: &[i128]| matches!(pair, [a, b] if a.checked_add(1) == Some(*b));
    if !numbers.windows(2).all(follows) {
        let what = "The dimension data must contain consecutive points when writing to a dimension label.";
        return Err(failure(what));
    }
    let ends = points.chunks_exact(size).next().zip(points.chunks_exact(size).next_back());
    let (low, high) = ends.ok_or_else(|| failure("no coordinates are given for the label"))?;
    Ok(Range::new(low, high))
}

/// All coordinates of a range, or of the dimension: as many as there are cells.
fn all_of(dimension: &Dimension, range: Option<Range>, cells: usize) -> Result<Vec<u8>, Failure> {
    let domain = || dimension.domain.clone().map(|(low, high)| Range::new(low, high));
    let range = range.or_else(domain).ok_or_else(|| failure("the label's dimension has no domain"))?;
    let (low, high) =
        (integer_of(dimension.datatype, &range.low), integer_of(dimension.datatype, &range.high));
    let expected = high.saturating_sub(low).saturating_add(1);
    if i128::try_from(cells).ok() != Some(expected) {
        return Err(failure(format!("{cells} values are given for a range of {expected} coordinates")));
    }
    let size = dimension.datatype.size();
    let bytes = (low..=high).flat_map(|number| number.to_le_bytes().into_iter().take(size));
    Ok(bytes.collect())
}
