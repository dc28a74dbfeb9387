//! New arrays for the cells of a file.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use tdb_array::schema::{
    ArraySchema, Attribute, CellValNum, CurrentDomain, Datatype, Dimension, Enumeration, Filter,
    FormatVersion, Pipeline, Range, SchemaBuilder,
};
use tdb_array::{Layout, WriteOptions};
use tdb_arrow::{Mapping, Options, SchemaOptions, enumerations_of, schema_of};

use crate::error::Result;
use crate::metadata::{self, Subarray};
#[cfg(doc)]
use crate::source::Source;
use crate::spans::{Spans, is_text, wide};

/// The name that libtiledb 1.x gave to an attribute without a name; it has been reserved since.
pub(crate) const OLD_ANONYMOUS: &str = "__attr";
/// Cells of a tile of such an array.
const ROW_TILE: u64 = 10_000;
/// The high end of the current domain of text: a byte that is in no text. With an open end,
/// libtiledb 2.30 refuses ranges of the dimension, and finds no cells in global order.
const AFTER_TEXT: &[u8] = b"\xff";

/// An array that is to be made of a file: its schema, the values of its enumerations, and where its
/// cells belong.
#[derive(Clone, Debug)]
pub struct NewArray {
    schema: ArraySchema,
    enumerations: Vec<Enumeration>,
    subarray: Option<Subarray>,
}

/// The rows of a file as cells of a dense array with one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows(
    /// Their number.
    pub u64,
);

impl NewArray {
    /// The array that the metadata of a file describes, in today's format version.
    ///
    /// # Errors
    /// No such metadata ([`tdb_arrow::Error::NoDimensions`]), or columns that do not fit it.
    pub fn stored(arrow: &Schema) -> Result<Self> {
        let mut schema = schema_of(arrow, &SchemaOptions::stored())?;
        schema.version = FormatVersion::CURRENT;
        let old = schema.attributes.iter_mut().filter(|attribute| attribute.name == OLD_ANONYMOUS);
        old.for_each(|attribute| attribute.name.clear());
        let mut enumerations = metadata::enumerations(arrow)?;
        enumerations.retain(|known| schema.enumerations.iter().any(|entry| entry.name == known.name));
        Ok(Self { schema, enumerations, subarray: metadata::subarray(arrow)? })
    }

    /// A dense array of the rows of a file, in their order, with a dimension of this name, which
    /// counts from 0.
    ///
    /// # Errors
    /// A column whose type the format does not have, or that is called like the dimension.
    pub fn of_rows(arrow: &Schema, name: &str, Rows(rows): Rows) -> Result<Self> {
        let last = rows.saturating_sub(1).min(i64::MAX.unsigned_abs() / 2);
        let last = i64::try_from(last).unwrap_or(0);
        let tile = i64::try_from(rows.clamp(1, ROW_TILE)).unwrap_or(1);
        let row = Dimension::new(name, 0..=last).with_tile(tile);
        let schema = compressed(schema_of(&plain(arrow), &SchemaOptions::dense().dimension(row))?);
        let subarray = (rows > 0).then(|| Subarray {
            order: Layout::RowMajor,
            ranges: vec![Range::new(0i64.to_le_bytes(), last.to_le_bytes())],
        });
        Ok(Self { schema, enumerations: Vec::new(), subarray })
    }

    /// A sparse array whose dimensions are columns of the file (see [`dimensions`]), or one that
    /// [`Source::numbered`] adds. With the [`Spans`] of the file, they become the current domain,
    /// which grows with later files.
    ///
    /// # Errors
    /// A column whose type the format does not have, or a schema that breaks another rule of the
    /// format.
    pub fn sparse(
        arrow: &Schema,
        dimensions: &[Dimension],
        allow_duplicates: bool,
        spans: Option<&Spans>,
    ) -> Result<Self> {
        let all = columns(arrow)?;
        let mut builder = ArraySchema::sparse();
        if allow_duplicates {
            builder = builder.allow_duplicates();
        }
        builder = dimensions.iter().cloned().fold(builder, SchemaBuilder::dimension);
        let is_dimension = |name: &str| dimensions.iter().any(|dimension| dimension.name == name);
        let attributes = all.into_iter().filter(|attribute| !is_dimension(&attribute.name));
        let mut schema =
            attributes.fold(builder, SchemaBuilder::attribute).build().map_err(tdb_arrow::Error::from)?;
        let ranges = spans.map(|spans| current(dimensions, spans)).filter(|ranges| {
            let numbers = dimensions.iter().any(|dimension| dimension.domain.is_some());
            numbers && ranges.len() == dimensions.len()
        });
        if let Some(ranges) = ranges {
            schema.current_domain = Some(CurrentDomain::new(ranges));
            schema.check_new().map_err(tdb_arrow::Error::from)?;
        }
        Ok(Self { schema: compressed(schema), enumerations: Vec::new(), subarray: None })
    }

    /// Takes the values of enumerations that the metadata does not contain from the dictionaries of
    /// a file's first batch.
    ///
    /// # Errors
    /// Dictionaries that are not the values of an enumeration.
    pub fn complete(&mut self, first: &RecordBatch) -> Result<()> {
        let known = |name: &str| self.enumerations.iter().any(|known| known.name == name);
        let found =
            if self.lacks_enumerations() { enumerations_of(first, &self.schema)? } else { Vec::new() };
        let missing: Vec<Enumeration> = found.into_iter().filter(|found| !known(&found.name)).collect();
        self.enumerations.extend(missing);
        Ok(())
    }

    /// Gives attributes enumerations: those that are called like the columns of a batch, which are
    /// dictionaries of all values. The cells of the file are values, not their numbers.
    ///
    /// # Errors
    /// Dictionaries that are not the values of an enumeration.
    pub fn enumerate(&mut self, dictionaries: &RecordBatch) -> Result<()> {
        let arrow = dictionaries.schema_ref();
        let made = schema_of(arrow, &SchemaOptions::dense().dimension(other(arrow)).enumerations())?;
        for own in &mut self.schema.attributes {
            if let Some(enumerated) = made.attribute(&own.name) {
                let filters = core::mem::take(&mut own.filters);
                *own = enumerated.clone().with_filters(filters);
            }
        }
        let used = |name: &str| {
            let name = Some(name);
            self.schema.attributes.iter().any(|attribute| attribute.enumeration.as_deref() == name)
        };
        let entries = made.enumerations.into_iter().filter(|entry| used(&entry.name)).collect();
        self.schema.enumerations = entries;
        self.schema.check_new().map_err(tdb_arrow::Error::from)?;
        self.enumerations = enumerations_of(dictionaries, &self.schema)?;
        Ok(())
    }

    /// The schema of the array.
    #[must_use]
    pub const fn schema(&self) -> &ArraySchema {
        &self.schema
    }

    /// The values of its enumerations, as far as they are known.
    #[must_use]
    pub fn enumerations(&self) -> &[Enumeration] {
        &self.enumerations
    }

    /// Whether the metadata lacks values of enumerations: see [`Self::complete`].
    #[must_use]
    pub const fn lacks_enumerations(&self) -> bool {
        self.enumerations.len() < self.schema.enumerations.len()
    }

    /// The part of a dense array that the cells of the file are.
    #[must_use]
    pub const fn subarray(&self) -> Option<&Subarray> {
        self.subarray.as_ref()
    }

    /// The options with the values of all enumerations: with them, the array can be created or
    /// begun.
    pub fn create(&self, options: WriteOptions) -> WriteOptions {
        self.enumerations.iter().cloned().fold(options, WriteOptions::enumeration)
    }

    /// The mapping of the file's cells to the array.
    ///
    /// # Errors
    /// An enumeration whose text is not UTF-8.
    pub fn mapping(&self) -> Result<Mapping> {
        // Values that are not text are compared as bytes.
        let options = Options::new().text(tdb_arrow::Text::Binary);
        Ok(Mapping::new(&self.schema, self.enumerations.iter().cloned(), options)?)
    }
}

/// The dimensions of a new sparse array, with wide domains: the columns with these names.
///
/// # Errors
/// A column that the file does not have, or whose type no dimension can have.
pub fn dimensions<S: AsRef<str>>(arrow: &Schema, names: &[S]) -> Result<Vec<Dimension>> {
    let all = columns(arrow)?;
    let dimension = |name: &S| {
        let name = name.as_ref();
        let unknown = || tdb_arrow::Error::UnknownColumn { column: name.to_owned() };
        let column = all.iter().find(|column| column.name == name).ok_or_else(unknown)?;
        if is_text(column.datatype, column.cell_val_num) {
            return Ok(Dimension::string(name));
        }
        let one = column.cell_val_num == CellValNum::ONE;
        let domain = wide(column.datatype).filter(|_| one && column.datatype != Datatype::Bool);
        let domain = domain.ok_or_else(|| tdb_arrow::Error::Refused {
            column: name.to_owned(),
            arrow: arrow.field_with_name(name).map(|field| field.data_type().to_string()).unwrap_or_default(),
            advice: "coordinates are numbers, dates or text: choose another column as a dimension",
        })?;
        Ok(Dimension::fixed(name, column.datatype, domain.low, domain.high))
    };
    Ok(names.iter().map(dimension).collect::<tdb_arrow::Result<_>>()?)
}

/// Forgets the domain of a dimension of integers or dates, so that [`Spans::of`] takes all its
/// coordinates. Real numbers keep theirs, in which NaN is not.
pub fn open_domain(dimension: &mut Dimension) {
    if !dimension.datatype.physical().is_float() {
        dimension.domain = None;
    }
}

/// Widens the domains of dimensions so that they hold the coordinates of a file. A domain that
/// would be too long for its type is no longer than the file needs.
pub fn make_room(dimensions: &mut [Dimension], spans: &Spans) {
    for (dimension, span) in dimensions.iter_mut().zip(&spans.ranges) {
        if let (Some((low, high)), Some(span)) = (&dimension.domain, span) {
            let mut domain = Range::new(low.as_slice(), high.as_slice());
            domain.unite(dimension.datatype, span);
            dimension.domain = Some((domain.low, domain.high));
            if !dimension.fits_its_type() {
                dimension.domain = Some((span.low.clone(), span.high.clone()));
            }
        }
    }
}

/// All columns as attributes.
fn columns(arrow: &Schema) -> Result<Vec<Attribute>> {
    Ok(schema_of(&plain(arrow), &SchemaOptions::dense().dimension(other(arrow)))?.attributes)
}

/// A dimension with a name that no column has.
fn other(arrow: &Schema) -> Dimension {
    let longest = arrow.fields().iter().map(|field| field.name().len()).max().unwrap_or(0);
    Dimension::new("r".repeat(longest.saturating_add(1)), 0i64..=0)
}

/// The schema without names of enumerations: a file whose metadata is not used has plain values.
fn plain(arrow: &Schema) -> Schema {
    let field = |field: &arrow_schema::FieldRef| {
        let mut known = field.metadata().clone();
        known.remove(tdb_arrow::metadata::ENUMERATION);
        field.as_ref().clone().with_metadata(known)
    };
    Schema::new(arrow.fields().iter().map(field).collect::<Vec<_>>())
}

/// The current domain of a new array.
fn current(dimensions: &[Dimension], spans: &Spans) -> Vec<Range> {
    let ranges =
        dimensions.iter().zip(&spans.ranges).filter_map(|(dimension, span)| match &dimension.domain {
            None => {
                // Bytes that are no text may lie behind it.
                let high = span.as_ref().map_or(AFTER_TEXT, |span| span.high.as_slice());
                Some(Range::new([], high.max(AFTER_TEXT)))
            }
            Some(_) => span.clone(),
        });
    ranges.collect()
}

/// The schema with compressed attributes, as arrays of imported text have.
fn compressed(mut schema: ArraySchema) -> ArraySchema {
    for attribute in &mut schema.attributes {
        attribute.filters = Pipeline::new(vec![Filter::Zstd { level: 3 }]);
    }
    schema
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    #[test]
    fn a_domain_that_nobody_gave_holds_all_coordinates_of_the_file() {
        let arrow = Schema::new(vec![
            Field::new("i", DataType::Int32, false),
            Field::new("u", DataType::UInt8, false),
            Field::new("f", DataType::Float32, false),
        ]);
        let mut dimensions = dimensions(&arrow, &["i", "u", "f"]).unwrap();
        let real = dimensions[2].domain.clone();
        let i = Range::new(5i32.to_le_bytes(), 1_700_000_000i32.to_le_bytes());
        let f = Range::new(0f32.to_le_bytes(), 1f32.to_le_bytes());
        make_room(&mut dimensions, &Spans::new(2, vec![Some(i), Some(Range::new([7u8], [255u8])), Some(f)]));
        let ends = |low: &[u8], high: &[u8]| Some((low.to_vec(), high.to_vec()));
        assert_eq!(dimensions[0].domain, ends(&5i32.to_le_bytes(), &1_700_000_000i32.to_le_bytes()));
        assert_eq!(dimensions[1].domain, ends(&[7], &[255]), "not 0 to 255, which no domain can be");
        assert_eq!(dimensions[2].domain, real);
        dimensions.iter_mut().for_each(open_domain);
        assert!(dimensions[0].domain.is_none() && dimensions[1].domain.is_none());
        assert_eq!(dimensions[2].domain, real);
    }

    #[test]
    fn the_current_domain_of_bytes_reaches_the_last_of_them_and_that_of_text_the_end_of_all_text() {
        let arrow = Schema::new(vec![Field::new("t", DataType::Binary, false)]);
        let dimensions = dimensions(&arrow, &["t"]).unwrap();
        let high = |last: &[u8]| {
            let spans = Spans::new(1, vec![Some(Range::new(*b"a", last))]);
            current(&dimensions, &spans).first().map(|range| range.high.clone())
        };
        assert_eq!(high(b"zz"), Some(vec![0xff]));
        assert_eq!(high(b"\xffz"), Some(b"\xffz".to_vec()));
    }
}
