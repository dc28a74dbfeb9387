//! The mapping between one array and Arrow: its schema, its cells, and batches that become its
//! cells.

mod from_arrow;
mod to_arrow;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype, Enumeration, FieldKind};
use tdb_array::{Array, Cells};

pub use self::from_arrow::ArrowCells;
pub use self::to_arrow::BATCH_ROWS;
use crate::error::{Error, Result};
use crate::options::{Enumerations, Options};
use crate::{dictionary, keys, metadata, types};

/// The field of sparse arrays with the time when each cell was written.
const TIMESTAMPS: &str = "__timestamps";

/// The mapping between one array and Arrow: made once, used for many batches. Clones are cheap.
///
/// ```
/// use arrow_array::cast::AsArray;
/// use arrow_array::types::Int32Type;
/// use tdb_array::Array;
/// use tdb_arrow::{Mapping, Options};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// let array = Array::open(path)?;
/// let mapping = Mapping::of(&array, Options::new())?;
/// let cells = array.read().fields(["a"]).range("rows", 1..=1).collect()?;
/// let batch = mapping.record_batch(cells)?;
/// assert_eq!(batch.column(0).as_primitive::<Int32Type>().values(), &[1, 2, 3, 4]);
/// # Ok::<(), tdb_arrow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mapping {
    schema: Arc<ArraySchema>,
    options: Options,
    enumerations: Arc<HashMap<String, Known>>,
    /// Whether plain columns of enumerated attributes have values.
    plain_values: bool,
    /// The time zones of fields, whose times are those of UTC.
    zones: Arc<HashMap<String, Arc<str>>>,
}

/// An enumeration, and its values as an array if they are needed.
#[derive(Clone, Debug)]
struct Known {
    enumeration: Enumeration,
    values: Option<ArrayRef>,
}

impl Mapping {
    /// The mapping of an open array. Reads the enumerations of all attributes, and where there are
    /// times the metadata, which may name their zones ([`TIMEZONE`](tdb_array::schema::TIMEZONE)).
    ///
    /// # Errors
    /// A missing or damaged enumeration, or one whose text is not UTF-8.
    pub fn of(array: &Array, options: Options) -> Result<Self> {
        let names: Vec<&str> =
            array.schema().attributes.iter().map(|attribute| attribute.name.as_str()).collect();
        Self::of_fields(array, &names, options)
    }

    /// The mapping of an open array, for these fields only: enumerations of others are not read.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn of_fields(array: &Array, fields: &[&str], options: Options) -> Result<Self> {
        let zones = Arc::new(metadata::zones(array)?);
        Ok(Self { zones, ..Self::new(array.schema(), enumerations(array, fields)?, options)? })
    }

    /// The mapping of an array with this schema and these enumerations, which may be anywhere, or
    /// may not exist yet.
    ///
    /// # Errors
    /// An enumeration whose text is not UTF-8.
    pub fn new(
        schema: &ArraySchema,
        enumerations: impl IntoIterator<Item = Enumeration>,
        options: Options,
    ) -> Result<Self> {
        let known = enumerations.into_iter().map(|enumeration| {
            let wanted = options.enumerations == Enumerations::Dictionary;
            let values = wanted.then(|| dictionary::values(&enumeration, &options)).transpose()?;
            Ok((enumeration.name.clone(), Known { enumeration, values }))
        });
        let enumerations = Arc::new(known.collect::<Result<HashMap<_, _>>>()?);
        Ok(Self {
            schema: Arc::new(schema.clone()),
            options,
            enumerations,
            plain_values: false,
            zones: Arc::default(),
        })
    }

    /// The same, but batches that are written have values in plain columns of enumerated
    /// attributes, also where these could be codes. Columns whose metadata says that they are of an
    /// enumeration have codes nevertheless: they come from an array.
    #[must_use]
    pub const fn plain_values(mut self) -> Self {
        self.plain_values = true;
        self
    }

    /// The array's schema.
    #[must_use]
    pub fn array_schema(&self) -> &ArraySchema {
        &self.schema
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> Options {
        self.options
    }

    /// The Arrow schema of these fields: dimensions, attributes, labels, `__timestamps`. Its
    /// metadata contains what Arrow cannot represent ([`metadata`]), so that
    /// [`schema_of`](crate::schema_of) returns the same array schema again.
    ///
    /// # Errors
    /// A field that the array does not have.
    pub fn arrow_schema<S: AsRef<str>>(&self, fields: impl IntoIterator<Item = S>) -> Result<Schema> {
        let fields = fields.into_iter().map(|name| {
            let name = name.as_ref();
            let unknown = || Error::UnknownColumn { column: name.to_owned() };
            let label = || self.schema.labels.iter().find(|label| label.name == name);
            let (datatype, cell_val_num) = match self.schema.field(name) {
                Some(field) => (field.datatype, field.cell_val_num),
                None if name == TIMESTAMPS => (Datatype::Uint64, CellValNum::ONE),
                None => label().map(|label| (label.datatype, label.cell_val_num)).ok_or_else(unknown)?,
            };
            Ok(self.field(name, datatype, cell_val_num))
        });
        let fields = fields.collect::<Result<Vec<_>>>()?;
        Ok(Schema::new_with_metadata(fields, metadata::of_schema(&self.schema)?))
    }

    /// The Arrow schema of all dimensions and attributes, in this order.
    ///
    /// # Errors
    /// None for schemas that were read or built.
    pub fn whole_arrow_schema(&self) -> Result<Schema> {
        self.arrow_schema(self.schema.fields().map(|field| field.name))
    }

    /// The schema of the batch that these cells are converted to.
    pub(crate) fn schema_of_cells(&self, cells: &Cells) -> Result<SchemaRef> {
        let columns = cells.columns().iter();
        let fields: Vec<Field> =
            columns.map(|column| self.field(&column.name, column.datatype, column.cell_val_num)).collect();
        Ok(Arc::new(Schema::new_with_metadata(fields, metadata::of_schema(&self.schema)?)))
    }

    /// The enumeration of an attribute, if its values are known.
    fn known(&self, name: &str) -> Option<&Known> {
        self.enumerations.get(self.schema.attribute(name)?.enumeration.as_ref()?)
    }

    /// The Arrow field of a column.
    fn field(&self, name: &str, datatype: Datatype, cell_val_num: CellValNum) -> Field {
        let found = self.schema.field(name);
        let nullable = found.as_ref().is_some_and(|field| field.nullable);
        let kind = match found.map(|field| field.kind) {
            Some(FieldKind::Dimension(_)) => "dimension",
            Some(FieldKind::Attribute(_)) => "attribute",
            None if name == TIMESTAMPS => "timestamps",
            None => "label",
        };
        let mut said = metadata::of_field(kind, datatype, cell_val_num, nullable);
        let known = self.known(name);
        let enumeration = self.schema.attribute(name).and_then(|attribute| attribute.enumeration.as_ref());
        if let Some(enumeration) = enumeration {
            metadata::put_enumeration(&mut said, enumeration, known.map(|known| &known.enumeration));
        }
        let values = known.and_then(|known| known.values.as_ref());
        let field = match values.zip(keys::key_type(datatype, cell_val_num)) {
            Some((values, key)) => {
                let data_type = DataType::Dictionary(Box::new(key), Box::new(values.data_type().clone()));
                let ordered = known.is_some_and(|known| known.enumeration.ordered);
                Field::new(name, data_type, true).with_dict_is_ordered(ordered)
            }
            None => {
                let zone = self.zones.get(name);
                let data_type = match zone.zip(types::unit_of(datatype, cell_val_num)) {
                    Some((zone, unit)) => DataType::Timestamp(unit, Some(zone.clone())),
                    None => types::data_type(datatype, cell_val_num, &self.options),
                };
                Field::new(name, data_type, nullable)
            }
        };
        field.with_metadata(said)
    }
}

/// The enumerations of some fields.
pub(crate) fn enumerations(array: &Array, fields: &[&str]) -> Result<Vec<Enumeration>, tdb_array::Error> {
    let mut found: Vec<Enumeration> = Vec::new();
    let attributes = fields.iter().filter_map(|name| array.schema().attribute(name));
    for name in attributes.filter_map(|attribute| attribute.enumeration.as_ref()) {
        if found.iter().all(|known| known.name != *name) {
            found.extend(array.enumeration(name)?);
        }
    }
    Ok(found)
}
