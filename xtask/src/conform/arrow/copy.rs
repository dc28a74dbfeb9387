//! An array as record batches, and record batches as a new array: `tdb-arrow` alone.

use std::path::Path;

use tdb_array::error::QueryError;
use tdb_array::schema::{ArraySchema, ArrayType, Enumeration, Filter, FormatVersion, Range};
use tdb_array::{Array, Layout, MemoryBudget, Read, WriteOptions};
use tdb_arrow::arrow_array::{RecordBatch, RecordBatchReader as _};
use tdb_arrow::arrow_schema::{ArrowError, Schema};
use tdb_arrow::{Error, Mapping, Options, SchemaOptions, Text, batches, enumerations_of, schema_of};

/// The name that libtiledb 1.x gave to an attribute without a name; it has been reserved since.
const OLD_ANONYMOUS: &str = "__attr";
/// The size of a batch, so that many arrays have several; a larger one for those with larger cells.
const BATCHES: [MemoryBudget; 3] =
    [MemoryBudget::from_bytes(1 << 15), MemoryBudget::from_bytes(1 << 18), MemoryBudget::from_bytes(1 << 26)];
/// The memory of a stream of cells into an array.
const STREAM: usize = 64 << 20;
/// Boxes of more cells are not read: libtiledb, pyarrow and `DuckDB` compare them cell by cell in
/// Python.
const MOST_CELLS: u64 = 200_000;

/// The part of an array that is converted.
pub(super) struct Part {
    /// Of a dense array, the box of all that was written, and the order of its cells.
    pub(super) ranges: Option<Vec<Range>>,
    pub(super) order: Layout,
}

impl Part {
    /// Everything that was written; an error is why the array is not converted.
    pub(super) fn of(array: &Array) -> Result<Self, &'static str> {
        let schema = array.schema();
        let lossy = |filter: &Filter| matches!(filter, Filter::WebP(options) if !options.lossless);
        if schema.attributes.iter().flat_map(|attribute| &attribute.filters.filters).any(lossy) {
            return Err("lossy images are others each time");
        }
        let bounds = array.bounds().ok_or("nothing was written")?;
        if schema.array_type == ArrayType::Sparse {
            return Ok(Self { ranges: None, order: Layout::RowMajor });
        }
        let mut sides = bounds.iter().zip(&schema.domain.dimensions).map(|(range, dimension)| {
            let (low, high) = (dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?);
            high.checked_sub(low)?.checked_add(1)
        });
        let cells = sides.try_fold(1u64, |cells, side| cells.checked_mul(side?));
        if cells.is_none_or(|cells| cells > MOST_CELLS) {
            return Err("the box of what was written has too many cells");
        }
        let order = if schema.tile_order == Layout::ColMajor { Layout::ColMajor } else { Layout::RowMajor };
        Ok(Self { ranges: Some(bounds), order })
    }

    fn read(&self, array: &Array, batch: MemoryBudget) -> Read {
        let schema = array.schema();
        let names: Vec<String> = schema.fields().map(|field| field.name.to_owned()).collect();
        let read = array.read().fields(names).order(self.order).batch_memory(batch);
        let ranges = self.ranges.iter().flatten().zip(&schema.domain.dimensions);
        ranges.fold(read, |read, (range, dimension)| {
            read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()))
        })
    }
}

/// What became of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) cells: u64,
    pub(super) batches: u64,
    /// There is text that is not UTF-8.
    pub(super) binary: bool,
}

/// Makes a new array of an array's record batches, whose metadata alone says which one.
pub(super) fn copy(array: &Array, part: &Part, to: &Path) -> Result<Copied, Error> {
    let [mut batch, larger @ ..] = BATCHES;
    let mut larger = larger.into_iter();
    let (mut options, mut binary) = (Options::new(), false);
    loop {
        let copied = convert(array, part, to, (options, batch));
        let next = match copied.as_ref().map_err(inner) {
            Err(Error::NotUtf8 { .. }) if !binary => {
                (binary, options) = (true, options.text(Text::Binary));
                Some(batch)
            }
            Err(Error::Array(tdb_array::Error::Query(QueryError::BudgetTooSmall { .. }))) => larger.next(),
            _ => None,
        };
        let Some(next) = next else { return copied.map(|copied| Copied { binary, ..copied }) };
        batch = next;
        let _ = std::fs::remove_dir_all(to);
    }
}

/// The error itself: readers of batches hand errors on as errors of Arrow.
fn inner(error: &Error) -> &Error {
    match error {
        Error::Arrow(ArrowError::ExternalError(external)) => external.downcast_ref().unwrap_or(error),
        _ => error,
    }
}

fn convert(
    array: &Array,
    part: &Part,
    to: &Path,
    (options, batch): (Options, MemoryBudget),
) -> Result<Copied, Error> {
    let mut reader = batches(part.read(array, batch), options)?;
    let arrow = reader.schema();
    let stored = schema_of(&arrow, &SchemaOptions::stored())?;
    let schema = todays(&stored);
    let first = reader.next().transpose()?;
    let enumerations = enumerations(array, &stored, first.as_ref())?;
    let create = enumerations.iter().cloned().fold(WriteOptions::new(), WriteOptions::enumeration);
    create.threads(1).create(to, &schema)?;
    let writer = WriteOptions::new().threads(1).any_codes().open(to)?;
    let mapping = Mapping::new(&schema, enumerations, options)?;
    let mut count = 0;
    let batches = first.map(Ok).into_iter().chain(reader).map(|batch| {
        count += 1;
        renamed(&batch?)
    });
    let cells = match &part.ranges {
        None => {
            let mut stream = writer.sparse_stream(STREAM)?;
            let cells = mapping.append_all(batches, |columns| stream.append(columns))?;
            if cells > 0 {
                stream.commit()?;
            }
            cells
        }
        Some(ranges) => {
            let ranges = ranges.iter().zip(&schema.domain.dimensions);
            let write = ranges.fold(writer.write().order(part.order), |write, (range, dimension)| {
                write.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()))
            });
            let mut stream = write.stream(STREAM)?;
            let cells = mapping.append_all(batches, |columns| stream.append(columns))?;
            stream.commit()?;
            cells
        }
    };
    Ok(Copied { cells, batches: count, binary: false })
}

/// The schema that the array would have if it were new: the current version, with names as they are
/// now.
fn todays(schema: &ArraySchema) -> ArraySchema {
    let mut schema = schema.clone();
    schema.version = FormatVersion::CURRENT;
    let old = schema.attributes.iter_mut().filter(|attribute| attribute.name == OLD_ANONYMOUS);
    old.for_each(|attribute| attribute.name.clear());
    schema
}

/// The batch with the names of the [`todays`] schema.
fn renamed(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let fields = batch.schema_ref().fields().iter().map(|field| match field.name().as_str() {
        OLD_ANONYMOUS => field.as_ref().clone().with_name(""),
        _ => field.as_ref().clone(),
    });
    let metadata = batch.schema_ref().metadata().clone();
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata);
    RecordBatch::try_new(schema.into(), batch.columns().to_vec())
}

/// The enumerations of a new array: those in the dictionaries of a batch, and those that no column
/// has.
fn enumerations(
    array: &Array,
    schema: &ArraySchema,
    batch: Option<&RecordBatch>,
) -> Result<Vec<Enumeration>, Error> {
    let mut found = batch.map(|batch| enumerations_of(batch, schema)).transpose()?.unwrap_or_default();
    for entry in &schema.enumerations {
        if found.iter().all(|known| known.name != entry.name) {
            found.extend(array.enumeration(&entry.name)?);
        }
    }
    Ok(found)
}
