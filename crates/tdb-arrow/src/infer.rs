//! Makes the schema of an array for batches that are to be written.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema};
use tdb_array::schema::{
    ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension, Enumeration, EnumerationName,
    SchemaBuilder, enumeration_file_name,
};

use crate::cells::{FieldCells, Target};
use crate::error::{Error, Result};
use crate::metadata::{self, CELL_VAL_NUM, DATATYPE, ENUMERATION, NULLABLE};
use crate::types;

/// The properties of an array that an Arrow schema does not contain.
///
/// ```
/// use arrow_schema::{DataType, Field, Schema};
/// use tdb_array::schema::Dimension;
/// use tdb_arrow::{SchemaOptions, schema_of};
///
/// let arrow = Schema::new(vec![
///     Field::new("station", DataType::Utf8, false),
///     Field::new("day", DataType::Date32, false),
///     Field::new("rain", DataType::Float64, true),
/// ]);
/// let day = Dimension::new("day", 0i64..=100_000).with_tile(365i64);
/// let options = SchemaOptions::sparse().dimension(Dimension::string("station")).dimension(day);
/// let schema = schema_of(&arrow, &options)?;
/// assert_eq!(schema.dimension("day").unwrap().datatype.name(), "DATETIME_DAY");
/// assert!(schema.attribute("rain").unwrap().nullable);
/// # Ok::<(), tdb_arrow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SchemaOptions {
    /// `None`: the type in the metadata.
    array_type: Option<ArrayType>,
    dimensions: Vec<Dimension>,
    allow_duplicates: bool,
    enumerations: bool,
}

impl SchemaOptions {
    /// The array that is described in the metadata.
    #[must_use]
    pub const fn stored() -> Self {
        Self { array_type: None, dimensions: Vec::new(), allow_duplicates: false, enumerations: false }
    }

    /// A sparse array, with the dimensions that are added here.
    #[must_use]
    pub fn sparse() -> Self {
        Self { array_type: Some(ArrayType::Sparse), ..Self::stored() }
    }

    /// A dense array, with the dimensions that are added here. They need no columns.
    #[must_use]
    pub fn dense() -> Self {
        Self { array_type: Some(ArrayType::Dense), ..Self::stored() }
    }

    /// Adds a dimension; the column with its name is not an attribute. If the column has another
    /// type with the same numbers, such as timestamps, the dimension gets that type.
    #[must_use]
    pub fn dimension(mut self, dimension: Dimension) -> Self {
        self.dimensions.push(dimension);
        self
    }

    /// Lets several cells of a sparse array have the same coordinates.
    #[must_use]
    pub const fn allow_duplicates(mut self) -> Self {
        self.allow_duplicates = true;
        self
    }

    /// Makes dictionaries enumerated attributes, whose values [`enumerations_of`] takes from a
    /// batch. Without this, only dictionaries that were enumerations of an array become enumerated
    /// attributes; others become plain values, because later batches may have other dictionaries.
    #[must_use]
    pub const fn enumerations(mut self) -> Self {
        self.enumerations = true;
        self
    }
}

/// The schema of an array for batches of an Arrow schema.
///
/// If the metadata contains the schema of an array and `options` has no dimensions, that schema is
/// used, and the columns determine which of its attributes are kept and which are new: with the
/// same columns it is the same schema. Columns of labels and of cell timestamps are not attributes.
/// Otherwise columns become attributes according to the [table of types](types), or to the metadata
/// of each. Fields of the result are public: filters, orders and the version can be set there.
///
/// # Errors
/// No dimensions, a dimension without a column in a sparse array, a column whose type the format
/// does not have, or a schema that breaks any other rule of the format. rule of the format the
/// schema breaks.
pub fn schema_of(arrow: &Schema, options: &SchemaOptions) -> Result<ArraySchema> {
    if options.array_type.is_none() && options.dimensions.is_empty() {
        let stored = metadata::schema(arrow.metadata())?.ok_or(Error::NoDimensions)?;
        return changed(stored, arrow, options);
    }
    if options.dimensions.is_empty() {
        return Err(Error::NoDimensions);
    }
    let dense = options.array_type == Some(ArrayType::Dense);
    let mut builder = if dense { ArraySchema::dense() } else { ArraySchema::sparse() };
    if options.allow_duplicates {
        builder = builder.allow_duplicates();
    }
    for dimension in &options.dimensions {
        builder = builder.dimension(match arrow.field_with_name(&dimension.name) {
            Ok(field) => fitted(dimension, field)?,
            Err(_) if dense => dimension.clone(),
            Err(_) => return Err(Error::UnknownColumn { column: dimension.name.clone() }),
        });
    }
    let is_dimension = |name: &str| options.dimensions.iter().any(|dimension| dimension.name == name);
    let columns = arrow.fields().iter().filter(|field| !is_dimension(field.name()));
    let attributes = columns.map(|field| attribute(field, options)).collect::<Result<Vec<_>>>()?;
    // A builder needs the values of enumerations, which arrive with the first batch.
    let plain = attributes.iter().cloned().map(|mut attribute| {
        attribute.enumeration = None;
        attribute
    });
    let mut schema = plain.fold(builder, SchemaBuilder::attribute).build()?;
    schema.attributes = attributes;
    with_enumerations(schema)
}

/// The stored schema, with the attributes of the columns.
fn changed(stored: ArraySchema, arrow: &Schema, options: &SchemaOptions) -> Result<ArraySchema> {
    let column = |name: &str| arrow.field_with_name(name).ok();
    for dimension in &stored.domain.dimensions {
        match column(&dimension.name) {
            Some(field) => require(field, dimension.datatype, dimension.cell_val_num)?,
            None if stored.array_type == ArrayType::Dense => {}
            None => return Err(Error::UnknownColumn { column: dimension.name.clone() }),
        }
    }
    let mut attributes = Vec::with_capacity(arrow.fields().len());
    let mut left_out = Vec::new();
    for known in &stored.attributes {
        match arrow.fields().iter().find(|field| is_attribute(&stored, known, field.name())) {
            Some(field) if holds(known, field) => attributes.push(known.clone()),
            other => {
                left_out.extend(known.enumeration.clone());
                attributes.extend(other.map(|field| attribute(field, options)).transpose()?);
            }
        }
    }
    let is_new = |field: &&std::sync::Arc<Field>| {
        let kind = field.metadata().get(metadata::KIND).map(String::as_str);
        stored.field(field.name()).is_none() && !matches!(kind, Some("label" | "timestamps"))
    };
    for field in arrow.fields().iter().filter(is_new) {
        attributes.push(attribute(field, options)?);
    }
    let same = attributes == stored.attributes;
    let mut schema = stored;
    schema.attributes = attributes;
    if same {
        return Ok(schema);
    }
    let used = |name: &String| {
        schema.attributes.iter().any(|attribute| attribute.enumeration.as_ref() == Some(name))
    };
    left_out.retain(|name| !used(name));
    schema.enumerations.retain(|entry| !left_out.contains(&entry.name));
    with_enumerations(schema)
}

/// Whether a column with this name belongs to that attribute.
fn is_attribute(schema: &ArraySchema, attribute: &Attribute, column: &str) -> bool {
    use tdb_array::schema::FieldKind;
    let found = schema.field(column).map(|field| field.kind);
    matches!(found, Some(FieldKind::Attribute(index)) if schema.attributes.get(index) == Some(attribute))
}

/// Whether a column can be written to an attribute without conversion.
fn holds(attribute: &Attribute, field: &Field) -> bool {
    let enumerated = attribute.enumeration.is_some() && matches!(field.data_type(), DataType::Dictionary(..));
    enumerated || types::fits(field.data_type(), attribute.datatype, attribute.cell_val_num)
}

/// The schema, with a file name for each enumeration that has none yet.
fn with_enumerations(mut schema: ArraySchema) -> Result<ArraySchema> {
    for name in schema.attributes.iter().filter_map(|attribute| attribute.enumeration.clone()) {
        if schema.enumerations.iter().all(|known| known.name != name) {
            let file_name = enumeration_file_name().map_err(tdb_array::Error::from)?;
            schema.enumerations.push(EnumerationName { name, file_name });
        }
    }
    schema.check_new()?;
    Ok(schema)
}

/// Rejects a column whose type differs from that of a dimension.
fn require(field: &Field, datatype: Datatype, cell_val_num: CellValNum) -> Result<()> {
    if types::fits(field.data_type(), datatype, cell_val_num) {
        return Ok(());
    }
    let target = Target { name: field.name(), datatype, cell_val_num, nullable: false };
    Err(target.wrong_type(field.data_type()))
}

/// The dimension, with the type of its column if both are stored in the same way.
fn fitted(dimension: &Dimension, field: &Field) -> Result<Dimension> {
    let mut dimension = dimension.clone();
    let (datatype, cell_val_num) = column_type(field, field.data_type())?;
    let alike = datatype.physical() == dimension.datatype.physical() && !datatype.is_string();
    if alike && cell_val_num == dimension.cell_val_num && dimension.datatype == Datatype::Int64 {
        dimension.datatype = datatype;
    }
    require(field, dimension.datatype, dimension.cell_val_num)?;
    Ok(dimension)
}

/// The type of a column's field: the one in its metadata, if that fits, otherwise the one in the
/// table.
fn column_type(field: &Field, arrow: &DataType) -> Result<(Datatype, CellValNum)> {
    let said = metadata::type_of(field.metadata(), DATATYPE, CELL_VAL_NUM)?;
    if let Some((datatype, count)) = said.filter(|(datatype, count)| types::fits(arrow, *datatype, *count)) {
        return Ok((datatype, count));
    }
    let refused = |advice| Error::Refused { column: field.name().clone(), arrow: arrow.to_string(), advice };
    types::infer(arrow).map_err(refused)
}

/// The attribute for a column.
fn attribute(field: &Field, options: &SchemaOptions) -> Result<Attribute> {
    let name = field.metadata().get(ENUMERATION);
    let (arrow, enumeration) = match field.data_type() {
        DataType::Dictionary(key, _) if name.is_some() || options.enumerations => {
            (key.as_ref(), Some(name.unwrap_or_else(|| field.name()).clone()))
        }
        DataType::Dictionary(_, values) => (values.as_ref(), None),
        other => (other, None),
    };
    let (datatype, cell_val_num) = column_type(field, arrow)?;
    let said = metadata::flag(field.metadata(), NULLABLE).filter(|_| enumeration.is_some());
    let mut attribute = Attribute::new(field.name(), datatype, cell_val_num);
    if said.unwrap_or_else(|| field.is_nullable()) {
        attribute = attribute.with_nulls();
    }
    attribute.enumeration = enumeration;
    Ok(attribute)
}

/// The enumerations of an array that is to be created, from the dictionaries of a batch: pass them
/// to [`WriteOptions::enumeration`](tdb_array::WriteOptions::enumeration) and to
/// [`Mapping::new`](crate::Mapping::new).
///
/// # Errors
/// An enumerated attribute whose column is not a dictionary, a dictionary with a null or a repeated
/// value, or a type that the format does not have.
pub fn enumerations_of(batch: &RecordBatch, schema: &ArraySchema) -> Result<Vec<Enumeration>> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for attribute in &schema.attributes {
        let Some(name) = attribute.enumeration.as_ref().filter(|name| seen.insert(name.as_str())) else {
            continue;
        };
        let entry = schema.enumerations.iter().find(|entry| entry.name == *name);
        let missing = || Error::NoEnumeration { column: attribute.name.clone(), enumeration: name.clone() };
        let entry = entry.ok_or_else(missing)?;
        let field = batch.schema_ref().field_with_name(&attribute.name).map_err(|_| missing())?;
        let column = batch.column_by_name(&attribute.name).ok_or_else(missing)?;
        let values = column.as_any_dictionary_opt().ok_or_else(missing)?.values();
        let enumeration = enumeration(entry, field, values.as_ref())?;
        schema.check_enumeration(&enumeration)?;
        found.push(enumeration);
    }
    Ok(found)
}

/// An enumeration with these values.
fn enumeration(
    entry: &EnumerationName,
    field: &Field,
    values: &dyn arrow_array::Array,
) -> Result<Enumeration> {
    use metadata::{ENUMERATION_CELL_VAL_NUM, ENUMERATION_DATATYPE, ENUMERATION_ORDERED};
    let said = metadata::type_of(field.metadata(), ENUMERATION_DATATYPE, ENUMERATION_CELL_VAL_NUM)?;
    let fitting = said.filter(|(datatype, count)| types::fits(values.data_type(), *datatype, *count));
    let (datatype, cell_val_num) = match fitting {
        Some(said) => said,
        None => types::infer(values.data_type()).map_err(|advice| Error::Refused {
            column: field.name().clone(),
            arrow: values.data_type().to_string(),
            advice,
        })?,
    };
    let target = Target { name: field.name(), datatype, cell_val_num, nullable: false };
    let cells = FieldCells::new(values, &target)?;
    let wanted = (0..cells.len()).map(|index| cells.cell(index).unwrap_or_default());
    let mut made = Enumeration::new(&entry.name, &entry.file_name, datatype, cell_val_num, wanted)?;
    // Not all software that keeps the metadata keeps Arrow's own flag.
    let said = metadata::flag(field.metadata(), ENUMERATION_ORDERED).unwrap_or(false);
    made.ordered = said || field.dict_is_ordered() == Some(true);
    Ok(made)
}
