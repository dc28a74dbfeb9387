//! Checks a query against the schema and makes the plan that the engine runs.

use tdb_codec::ArrayType;
use tdb_predicate::Program;
use tdb_schema::{ArraySchema, FieldKind};

use super::conjunction;
use super::labels::label_dimension;
use super::tiles::TilePart;
use crate::partition::Ranges;
use crate::plan::{Plan, TIMESTAMPS};
use crate::requested::{Bounds, RangeRequest};
use crate::{OrInternal, QueryError, Read, Result};

impl Read {
    /// Makes the plan: every name is known, ranges lie in their domains, and the condition is a
    /// program.
    pub(crate) fn plan(mut self) -> Result<Plan> {
        if self.tiles.is_some() && !(self.ranges.is_empty() && self.labels.is_empty()) {
            return Err(QueryError::TilePartition.into());
        }
        let array = self.array.snapshot().for_query()?;
        let schema = array.schema();
        let (mut timestamps, mut labels) = (None, Vec::new());
        let fields = match &self.fields {
            Some(names) => {
                let mut fields = Vec::with_capacity(names.len());
                for (place, name) in names.iter().enumerate() {
                    if name == TIMESTAMPS && schema.array_type == ArrayType::Sparse && timestamps.is_none() {
                        timestamps = Some(place);
                    } else if let Some(label) = schema.labels.iter().position(|label| label.name == *name) {
                        labels.push((place, label));
                        fields.push(FieldKind::Dimension(label_dimension(schema, label)?));
                    } else {
                        fields.push(find_field(schema, name)?);
                    }
                }
                fields
            }
            None => {
                let dense = schema.array_type == ArrayType::Dense;
                let wanted = |kind: &FieldKind| !dense || matches!(kind, FieldKind::Attribute(_));
                schema.fields().map(|field| field.kind).filter(wanted).collect()
            }
        };
        let requested = self.requested_ranges()?;
        let plan = Plan::new(&array, fields, &requested, self.order)?;
        let condition = conjunction(self.condition, self.later_condition);
        let condition = condition.map(|condition| Program::of_query(&condition, self.array.snapshot()));
        let mut plan = plan.with_condition(condition.transpose()?)?;
        plan.scope.tiles = self.tiles.map(TilePart::into_tiles);
        Ok(Plan { marks: self.selection, memory: self.column_memory, timestamps, labels, ..plan })
    }

    /// Takes the ranges of each dimension, as they were asked for; `None` for dimensions without
    /// ranges.
    fn requested_ranges(&mut self) -> Result<Vec<Option<Vec<RangeRequest>>>> {
        let array = self.array.clone();
        let schema = array.schema();
        let dimensions = &schema.domain.dimensions;
        let mut requested = match &self.resolved {
            Some(resolved) => as_asked(resolved, dimensions.len())?,
            None => vec![None; dimensions.len()],
        };
        for (index, mut ranges) in self.ranges_by_label()? {
            let slot = requested.get_mut(index).or_internal("a label without its dimension")?;
            slot.get_or_insert_default().append(&mut ranges);
        }
        for (name, mut wanted) in core::mem::take(&mut self.ranges) {
            let index = schema.dimension_index(&name);
            let slot = index.and_then(|index| requested.get_mut(index)).ok_or_else(|| {
                let known = dimensions.iter().map(|dimension| dimension.name.as_str());
                let known = known.collect::<Vec<_>>().join(", ");
                QueryError::UnknownDimension { name: name.clone(), known }
            })?;
            slot.get_or_insert_default().append(&mut wanted);
        }
        Ok(requested)
    }
}

/// Ranges that were checked before, in the form of requested ranges.
fn as_asked(resolved: &Ranges, dimensions: usize) -> Result<Vec<Option<Vec<RangeRequest>>>, QueryError> {
    if resolved.len() != dimensions {
        return Err(QueryError::RangeCount { given: resolved.len(), dimensions });
    }
    let wanted = |ends: &Vec<Bounds>| ends.iter().cloned().map(RangeRequest::Bytes).collect();
    Ok(resolved.iter().map(|ends| ends.as_ref().map(wanted)).collect())
}

fn find_field(schema: &ArraySchema, name: &str) -> Result<FieldKind, QueryError> {
    schema.field(name).map(|field| field.kind).ok_or_else(|| {
        let known = schema.fields().map(|field| field.name).collect::<Vec<_>>().join(", ");
        QueryError::UnknownField { name: name.to_owned(), known }
    })
}
