//! Columns of Parquet and Arrow files that arrays have in another form: casts, decimals, and times
//! with a zone.

use std::sync::Arc;

use tdb_array::Array;
use tdb_array::schema::{ArraySchema, FieldKind, field_key};
use tdb_array::write::MetadataChanges;
use tdb_arrow::arrow_schema::{Field, Schema};
use tdb_arrow::metadata::{CELL_VAL_NUM, DATATYPE};
use tdb_arrow::types::rows_with;
use tdb_arrow::{Days, Options};
use tdb_codec::{CellValNum, Datatype};
use tdb_convert::{ColumnCast, SCALE};
use tdb_text::schema::usual_cells;

use super::super::args::ImportArgs;
use super::super::infer::{GivenType, parse_types};
use super::BatchFile;
use crate::failure::{Failure, Result};

/// In the metadata of an array: the number by which the integers of a field are multiplied.
const SCALE_FACTOR: &str = "scale_factor";

/// The types of columns that the command line gives.
pub(super) fn casts(args: &ImportArgs) -> Result<Vec<ColumnCast>> {
    let types = parse_types(&args.types).map_err(|error| args.usage(error))?;
    types
        .iter()
        .map(|given| cast(given).ok_or_else(|| Failure::internal("each type is in the table")))
        .collect()
}

/// A column of this type.
fn cast(given: &GivenType) -> Option<ColumnCast> {
    let cells = usual_cells(given.datatype);
    let row = rows_with(Options::new().days(Days::Date32)).find(|row| row.datatype == given.datatype)?;
    let arrow = if cells == CellValNum::ONE { row.one } else { row.variable };
    let said = [(DATATYPE, given.datatype.name().to_owned()), (CELL_VAL_NUM, cells.to_string())];
    let said = said.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Some(ColumnCast::new(Field::new(&given.column, arrow, given.nullable).with_metadata(said)))
}

/// The number by which the integers of this many digits behind the point are multiplied.
fn factor(scale: &str) -> Option<f64> {
    let scale: i32 = scale.parse().ok()?;
    format!("1e{}", scale.checked_neg()?).parse().ok()
}

/// The metadata of a new array: the zones of its times, and the factors of its decimals.
pub(super) fn metadata(arrow: &Schema, schema: &ArraySchema) -> MetadataChanges {
    let mut changes = tdb_arrow::metadata::zone_changes(arrow, schema);
    for field in arrow.fields() {
        let Some(own) = schema.field(field.name()) else { continue };
        if let Some(factor) = field.metadata().get(SCALE).and_then(|scale| factor(scale)) {
            let key = field_key(own.name, matches!(own.kind, FieldKind::Dimension(_)), SCALE_FACTOR);
            changes = changes.put_values(key, Datatype::Float64, &[factor]);
        }
    }
    changes
}

/// What becomes of the decimals of a file in an array, a line for each column.
pub(super) fn decimal_notes(arrow: &Schema, schema: &ArraySchema) -> Vec<String> {
    let note = |field: &Arc<Field>| {
        let factor = field.metadata().get(SCALE).and_then(|scale| factor(scale))?;
        let own = schema.field(field.name()).filter(|own| !own.datatype.physical().is_float())?;
        let name = own.name;
        Some(format!(
            "column {name:?} has decimals, which are kept as whole numbers in units of {factor}: SQL and \
             conditions see these; --types '{name}=float64' makes real numbers of them"
        ))
    };
    arrow.fields().iter().filter_map(note).collect()
}

impl BatchFile<'_> {
    /// Casts the decimals of the file to the reals that an array has. Integers must be of the same
    /// unit.
    pub(super) fn fit_decimals(&mut self, array: &Array) -> Result {
        let mut metadata = None;
        for field in self.schema.clone().fields() {
            let scale = field.metadata().get(SCALE);
            let is_decimal = scale.is_some() || field.data_type().is_decimal();
            let Some(own) = array.schema().field(field.name()).filter(|_| is_decimal) else { continue };
            if own.datatype.physical().is_float() && own.cell_val_num == CellValNum::ONE {
                let nullable = field.is_nullable();
                let given = GivenType { column: field.name().clone(), datatype: own.datatype, nullable };
                self.casts.extend(cast(&given));
                continue;
            }
            let Some(wanted) = scale.and_then(|scale| factor(scale)) else { continue };
            let known = match &metadata {
                Some(known) => known,
                None => {
                    let read =
                        array.metadata().map_err(|error| Failure::of_array(&self.args.array, error))?;
                    metadata.insert(read)
                }
            };
            let key = field_key(own.name, matches!(own.kind, FieldKind::Dimension(_)), SCALE_FACTOR);
            let same = known.get(key.as_bytes()).is_some_and(|value| value.data == wanted.to_le_bytes());
            if !same {
                return Err(self.args.wrong(format!(
                    "column {:?} has decimals in units of {wanted}, but the array's metadata has no {key} that says so",
                    field.name()
                )));
            }
        }
        self.schema = self.open()?.schema().clone();
        Ok(())
    }
}
