//! Several files as one: their columns have the same names and types.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};

use super::Source;
use crate::error::{Error, Result};

/// The schema of the batches of a file and of another one that follows it.
pub(super) fn schema(first: &Source, other: &Source) -> Result<SchemaRef> {
    let differs = |what: String| Error::Differs { file: other.name.clone(), what };
    let (known, found) = (first.schema.fields(), other.schema.fields());
    if let Some(field) = found.iter().find(|field| !known.iter().any(|own| own.name() == field.name())) {
        return Err(differs(format!("column {:?} is not in {}", field.name(), first.name)));
    }
    let merged = |field: &FieldRef| {
        let mut same = found.iter().filter(|other| other.name() == field.name());
        let (Some(other), None) = (same.next(), same.next()) else {
            return Err(differs(format!("there is not one column {:?}, as in {}", field.name(), first.name)));
        };
        if other.data_type() != field.data_type() {
            return Err(differs(format!(
                "column {:?} is of type {}, but in {} of type {}",
                field.name(),
                other.data_type(),
                first.name,
                field.data_type()
            )));
        }
        let nullable = field.is_nullable() || other.is_nullable();
        Ok(Arc::new(Field::clone(field).with_nullable(nullable)))
    };
    let fields = known.iter().map(merged).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new_with_metadata(fields, first.schema.metadata().clone())))
}

/// A batch with the first fields of a schema, so many of them; `None` if it has other columns.
pub(super) fn fitted(batch: RecordBatch, schema: &SchemaRef, own: usize) -> Option<RecordBatch> {
    let fields: Vec<FieldRef> = schema.fields().iter().take(own).cloned().collect();
    if batch.schema_ref().fields().iter().eq(&fields) {
        return Some(batch);
    }
    if batch.num_columns() != own {
        return None;
    }
    let column = |field: &FieldRef| {
        let column = batch.column_by_name(field.name())?;
        (column.data_type() == field.data_type()).then(|| column.clone())
    };
    let columns = fields.iter().map(column).collect::<Option<Vec<_>>>()?;
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).ok()
}
