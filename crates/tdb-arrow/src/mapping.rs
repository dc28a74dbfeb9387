//! The mapping between one array and Arrow: its schema, its cells, and batches that become its
//! cells.

use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use tdb_array::schema::{Enumeration, FieldKind};
use tdb_array::{
    Array, ArraySchema, ArrayType, CellValNum, Cells, Datatype, WriteBatch, WriteColumn, parallel,
};

use crate::cells::{FieldCells, Target};
use crate::columns::Parts;
use crate::error::{Error, Result};
use crate::options::{Enumerations, Options};
use crate::{dictionary, metadata, types};

/// The field of sparse arrays with the time when each cell was written.
const TIMESTAMPS: &str = "__timestamps";

/// The most rows of a batch that [`Mapping::record_batches`] makes.
pub const BATCH_ROWS: usize = 1 << 17;

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
}

/// An enumeration, and its values as an array if they are needed.
#[derive(Clone, Debug)]
struct Known {
    enumeration: Enumeration,
    values: Option<ArrayRef>,
}

impl Mapping {
    /// The mapping of an open array. Reads the enumerations of all attributes.
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
        Self::new(array.schema(), enumerations(array, fields)?, options)
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
        Ok(Self { schema: Arc::new(schema.clone()), options, enumerations, plain_values: false })
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

    /// Converts cells to a batch: values and offsets are not copied, except for types that the
    /// table of types marks as copied.
    ///
    /// # Errors
    /// Text that is not UTF-8, or another value that the type chosen with [`Options`] cannot
    /// represent.
    pub fn record_batch(&self, cells: Cells) -> Result<RecordBatch> {
        let schema = self.schema_of_cells(&cells)?;
        self.record_batch_of(cells, &schema)
    }

    /// The schema of the batch that these cells are converted to.
    pub(crate) fn schema_of_cells(&self, cells: &Cells) -> Result<SchemaRef> {
        let columns = cells.columns().iter();
        let fields: Vec<Field> =
            columns.map(|column| self.field(&column.name, column.datatype, column.cell_val_num)).collect();
        Ok(Arc::new(Schema::new_with_metadata(fields, metadata::of_schema(&self.schema)?)))
    }

    /// Converts cells to a batch with this schema, which must be that of the cells.
    pub(crate) fn record_batch_of(&self, cells: Cells, schema: &SchemaRef) -> Result<RecordBatch> {
        let rows = cells.len();
        let parts = cells.into_columns().into_iter().map(|column| Ok(Parts::new(column, rows)));
        self.batch_of(parts, rows, schema)
    }

    /// Converts columns of `rows` cells to a batch with this schema.
    fn batch_of(
        &self,
        columns: impl Iterator<Item = Result<Parts>>,
        rows: usize,
        schema: &SchemaRef,
    ) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let columns = columns.zip(schema.fields()).map(|(parts, field)| {
            let parts = parts?;
            let known = self.known(&parts.name).and_then(|known| known.values.as_ref());
            match (field.data_type(), known) {
                (DataType::Dictionary(..), Some(values)) => parts.into_dictionary(field.data_type(), values),
                (data_type, _) => parts.into_array(data_type),
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
    }

    /// Converts cells to batches of at most [`BATCH_ROWS`] rows with `threads` threads: what is
    /// checked and converted, above all text, takes as many times less time. At least one batch,
    /// even without cells.
    ///
    /// ```
    /// use tdb_array::Array;
    /// use tdb_arrow::{Mapping, Offsets, Options};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let mapping = Mapping::of(&array, Options::new().offsets(Offsets::Views))?;
    /// let batches = mapping.record_batches(array.read().collect()?, 2)?;
    /// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 16);
    /// # Ok::<(), tdb_arrow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::record_batch`].
    pub fn record_batches(&self, cells: Cells, threads: usize) -> Result<Vec<RecordBatch>> {
        let schema = self.schema_of_cells(&cells)?;
        let rows = cells.len();
        if rows <= BATCH_ROWS {
            return Ok(vec![self.record_batch_of(cells, &schema)?]);
        }
        let columns = cells.into_columns().into_iter().zip(schema.fields()).map(|(column, field)| {
            let mut parts = Parts::new(column, rows);
            parts.convert_strings(field.data_type(), threads)?;
            Ok(parts)
        });
        let columns: Vec<Parts> = columns.collect::<Result<_>>()?;
        let bands = (0..rows).step_by(BATCH_ROWS);
        let bands: Vec<_> = bands.map(|start| start..start.saturating_add(BATCH_ROWS).min(rows)).collect();
        let convert = |band: Range<usize>, (): &mut ()| {
            let parts = columns.iter().map(|column| column.band(band.clone()));
            Ok(self.batch_of(parts, band.len(), &schema))
        };
        parallel::run(threads, bands, || (), convert)?.into_iter().collect()
    }

    /// Converts a batch to cells of this array, for a write or a stream. Columns are not copied,
    /// except for types that the table of types marks as copied. Dimensions of dense arrays are
    /// left out: the caller passes the range of the cells to the write.
    ///
    /// # Errors
    /// A column that the array does not have, one whose type does not fit its field, a null in a
    /// field that is not nullable, or a value that an enumeration does not have.
    pub fn write_batch(&self, batch: &RecordBatch) -> Result<ArrowCells> {
        let dense = self.schema.array_type == ArrayType::Dense;
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let unknown = || Error::UnknownColumn { column: field.name().clone() };
            let found = self.schema.field(field.name()).ok_or_else(unknown)?;
            if dense && matches!(found.kind, FieldKind::Dimension(_)) {
                continue;
            }
            let target = Target::of(&found);
            let codes = !self.plain_values || field.metadata().contains_key(metadata::ENUMERATION);
            columns.push((field.name().clone(), self.field_cells(array, &target, codes)?));
        }
        Ok(ArrowCells { columns, rows: batch.num_rows() })
    }

    /// Passes the batches of a reader to a stream, one after the other, and returns the number of
    /// cells.
    ///
    /// ```no_run
    /// # fn example(mapping: tdb_arrow::Mapping, writer: tdb_array::ArrayWriter, reader: impl arrow_array::RecordBatchReader)
    /// # -> tdb_arrow::Result<()> {
    /// let mut stream = writer.sparse_stream(256 << 20)?;
    /// mapping.append_all(reader, |columns| stream.append(columns))?;
    /// stream.commit()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the reader, of [`Self::write_batch`] and of the stream.
    pub fn append_all(
        &self,
        batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
        mut append: impl FnMut(&[WriteColumn<'_>]) -> tdb_array::Result<()>,
    ) -> Result<u64> {
        let mut cells = 0u64;
        for batch in batches {
            let batch = self.write_batch(&batch?)?;
            append(&batch.columns())?;
            cells = cells.saturating_add(u64::try_from(batch.rows).unwrap_or(u64::MAX));
        }
        Ok(cells)
    }

    /// The values of a batch that enumerations lack, each once: the enumeration's name, and the
    /// value. Columns that are no fields are skipped.
    ///
    /// # Errors
    /// As [`Self::write_batch`].
    pub fn missing_values(&self, batch: &RecordBatch) -> Result<Vec<(String, Vec<u8>)>> {
        let mut found = Vec::new();
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let Some(own) = self.schema.field(field.name()) else { continue };
            let target = Target::of(&own);
            let codes = !self.plain_values || field.metadata().contains_key(metadata::ENUMERATION);
            if let Some(enumeration) = self.enumeration_of(array, &target, codes)? {
                let missing = dictionary::missing(array, &target, enumeration)?;
                found.extend(missing.into_iter().map(|value| (enumeration.name.clone(), value)));
            }
        }
        Ok(found)
    }

    /// The cells of one column. A column of an enumerated attribute contains the stored codes, if
    /// these are allowed, or the values of the enumeration.
    fn field_cells(&self, array: &ArrayRef, target: &Target<'_>, codes: bool) -> Result<FieldCells> {
        match self.enumeration_of(array, target, codes)? {
            Some(enumeration) => dictionary::enumerated(array, target, enumeration),
            None => FieldCells::new(array, target),
        }
    }

    /// The enumeration whose values a column has; `None` if it has what is stored.
    fn enumeration_of(
        &self,
        array: &ArrayRef,
        target: &Target<'_>,
        codes: bool,
    ) -> Result<Option<&Enumeration>> {
        let attribute = self.schema.attribute(target.name);
        let Some(name) = attribute.and_then(|attribute| attribute.enumeration.as_ref()) else {
            return Ok(None);
        };
        let plain = types::fits(array.data_type(), target.datatype, target.cell_val_num)
            && !matches!(array.data_type(), DataType::Dictionary(..));
        if plain && codes {
            return Ok(None);
        }
        let (column, enumeration) = (target.name.to_owned(), name.clone());
        let Some(known) = self.enumerations.get(name) else {
            return Err(Error::NoEnumeration { column, enumeration });
        };
        let Enumeration { datatype, cell_val_num, .. } = known.enumeration;
        if plain && !types::fits(array.data_type(), datatype, cell_val_num) {
            return Err(Error::Codes { column, enumeration, values: describe(datatype, cell_val_num) });
        }
        Ok(Some(&known.enumeration))
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
        let field = match values.zip(dictionary::key_type(datatype, cell_val_num)) {
            Some((values, key)) => {
                let data_type = DataType::Dictionary(Box::new(key), Box::new(values.data_type().clone()));
                let ordered = known.is_some_and(|known| known.enumeration.ordered);
                Field::new(name, data_type, true).with_dict_is_ordered(ordered)
            }
            None => Field::new(name, types::data_type(datatype, cell_val_num, &self.options), nullable),
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

/// A field's type in the terms of the format, for messages.
pub(crate) fn describe(datatype: Datatype, cell_val_num: CellValNum) -> String {
    match cell_val_num {
        CellValNum::ONE => datatype.name().to_owned(),
        CellValNum::Fixed(count) => format!("{count} {datatype} per cell"),
        CellValNum::Var => format!("{datatype} of variable length"),
    }
}

/// A batch as cells of an array: made by [`Mapping::write_batch`].
#[derive(Clone, Debug)]
pub struct ArrowCells {
    columns: Vec<(String, FieldCells)>,
    rows: usize,
}

impl ArrowCells {
    /// Number of cells.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no cells.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The bytes of a cell of a column; `None` if there is no such column or row, and for cells
    /// that are null.
    #[must_use]
    pub fn cell(&self, column: &str, row: usize) -> Option<&[u8]> {
        let (_, cells) = self.columns.iter().find(|(name, _)| name == column)?;
        let valid =
            cells.validity.as_ref().is_none_or(|validity| validity.get(row).is_some_and(|byte| *byte != 0));
        cells.cell(row).filter(|_| valid)
    }

    /// The columns, in the form that writes and streams take.
    #[must_use]
    pub fn columns(&self) -> Vec<WriteColumn<'_>> {
        self.columns.iter().map(|(name, cells)| cells.column(name)).collect()
    }
}

impl WriteBatch for ArrowCells {
    fn columns(&self) -> Vec<WriteColumn<'_>> {
        Self::columns(self)
    }
}
