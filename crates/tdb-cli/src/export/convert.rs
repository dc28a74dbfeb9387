//! From an array to a file.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use tdb_array::error::QueryError;
use tdb_array::schema::{ArrayType, Range};
use tdb_array::{Array, Layout, MemoryBudget, Read};
use tdb_arrow::{Booleans, Days, Enumerations, Options, Text};
use tdb_convert::{Compression, Error, Export, Format, SinkOptions, Subarray};

use super::destination::{Destination, Kind, is_standard_output};
use super::{ExportArgs, ExportCompression, ExportFormat};
use crate::bounds::Bounds;
use crate::condition;
use crate::copy::boxes::DenseBox;
use crate::count::count;
use crate::failure::{Failure, Result};
use crate::notes;
use crate::place::Stores;
use crate::progress::{Meter, Unit};
use crate::ranges;
use crate::thresholds::{EXPORT_BATCH_DIVISOR, EXPORT_MEMORY, EXPORT_READ_DIVISOR, MAX_EXPORT_BATCH};

/// Runs the command.
pub(super) fn run(
    args: &ExportArgs,
    stores: &Stores,
    is_terminal: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let format = args.format()?;
    let destination = Destination::new(&args.file, args.force, is_terminal)?;
    let bytes = usize::try_from(args.batch_bytes()).unwrap_or(usize::MAX);
    let options = SinkOptions::new().compression(args.compression(format)?).row_group(bytes);
    let array = args.open(stores)?;
    // Standard output may be the same terminal.
    let is_seen = !is_standard_output(&args.file);
    let meter = Arc::new(if is_seen {
        args.progress.bar("", Unit::Share, Some(Meter::WHOLE))
    } else {
        Meter::none()
    });
    let shown = meter.clone();
    let (read, part) = args.query(&array, err)?;
    let read = read.on_progress(move |progress| shown.show(progress));
    let failed = |error| args.failed(error);
    let export = Export::new(read, part.as_ref(), args.arrow()).map_err(failed)?;
    let schema = export.schema().clone();
    let kind = Kind { format, schema: &schema, options: &options };
    let cells = destination.write(kind, out, |sink| export.into_sink(format, sink), failed);
    meter.clear();
    let cells = cells?;
    if !is_standard_output(&args.file) {
        writeln!(out, "{} written", count(cells, "cell"))?;
    }
    Ok(())
}

impl ExportArgs {
    fn format(&self) -> Result<Format> {
        if self.zarr.is_some() {
            return Err(Failure::Usage(format!("{}: --zarr is only for Zarr folders", self.file.display())));
        }
        let given = self.format.and_then(|format| match format {
            ExportFormat::Parquet => Some(Format::Parquet),
            ExportFormat::Arrow => Some(Format::Arrow),
            ExportFormat::Arrows => Some(Format::ArrowStream),
            // That is a folder, not a file.
            ExportFormat::Zarr => None,
        });
        let stream = is_standard_output(&self.file).then_some(Format::ArrowStream);
        given.or(stream).or_else(|| of_name(&self.file)).ok_or_else(|| {
            Failure::Usage(format!(
                "{}: --format parquet, arrow or arrows is needed; tdb read --format csv --out FILE writes text",
                self.file.display()
            ))
        })
    }

    fn compression(&self, format: Format) -> Result<Compression> {
        Ok(match self.compression {
            None => Compression::Usual,
            Some(ExportCompression::None) => Compression::None,
            Some(ExportCompression::Zstd) => Compression::Zstd,
            Some(ExportCompression::Lz4) => Compression::Lz4,
            Some(ExportCompression::Snappy) if format == Format::Parquet => Compression::Snappy,
            Some(ExportCompression::Snappy) => {
                return Err(Failure::Usage("--compression snappy: Arrow files have zstd and lz4".to_owned()));
            }
        })
    }

    /// The Arrow types of values.
    fn arrow(&self) -> Options {
        let options = Options::new();
        if self.as_stored {
            let options = options.text(Text::Binary).days(Days::Int64).booleans(Booleans::UInt8);
            return options.enumerations(Enumerations::Numbers);
        }
        options.days(Days::Date32)
    }

    fn open(&self, stores: &Stores) -> Result<Array> {
        let mut options = self.window.options(&self.key)?;
        if let Some(threads) = self.threads {
            options = options.threads(usize::from(threads.get()));
        }
        let array = options.open_storage(stores.storage(&self.array)?);
        array.map_err(|error| Failure::of_array(&self.array, error))
    }

    fn memory(&self) -> MemoryBudget {
        self.memory.unwrap_or(EXPORT_MEMORY)
    }

    fn batch_bytes(&self) -> u64 {
        (self.memory().bytes() / EXPORT_BATCH_DIVISOR).min(MAX_EXPORT_BATCH)
    }

    /// The query, and the part of a dense array that its cells are, if they are a box in the order
    /// of the tiles.
    fn query(&self, array: &Array, err: &mut dyn Write) -> Result<(Read, Option<Subarray>)> {
        let schema = array.schema();
        let mut asked = ranges::query_ranges(&self.ranges, &self.array, schema)?;
        notes::print(&self.array, schema, &asked.notes, self.condition.as_deref(), err);
        let is_one = asked.labels.is_empty() && asked.dimensions.iter().all(|ranges| ranges.len() <= 1);
        let (read, part) = match schema.array_type {
            ArrayType::Dense if is_one => {
                let found = DenseBox::of_query(array, &asked);
                let found =
                    found.map_err(|error| Failure::Usage(format!("{}: {error}", self.array.display())))?;
                let ends = found.map(|found| found.ends(&schema.domain.dimensions));
                let ranges =
                    ends.map(|ends| ends.into_iter().map(|(low, high)| Range::new(low, high)).collect());
                match ranges.map(|ranges| Subarray::new(schema, ranges)) {
                    Some(part) => (part.read(array), Some(part)),
                    None => (nothing(array), None),
                }
            }
            ArrayType::Dense => {
                // A dimension may be much longer than what was written.
                let written = array.bounds().unwrap_or_default();
                for (ranges, written) in
                    asked.dimensions.iter_mut().zip(written).filter(|(own, _)| own.is_empty())
                {
                    ranges.push(Bounds { low: Some(written.low), high: Some(written.high) });
                }
                (asked.apply(array.read(), schema), None)
            }
            ArrayType::Sparse => (asked.apply(array.read(), schema), None),
        };
        let names = self.fields.as_deref().map(ranges::parse_names);
        let names = names.unwrap_or_else(|| schema.fields().map(|field| field.name.to_owned()).collect());
        let mut read = read.fields(names);
        let mut part = part;
        if let Some(order) = self.order.map(Layout::from) {
            read = read.order(order);
            part = part.filter(|part| part.order() == order);
        }
        if let Some(text) = &self.condition {
            let condition = tdb_text::condition::parse(text, schema);
            let condition = condition.map_err(|error| condition::bad(&self.array, text, &error))?;
            read = read.condition(condition).selection(true);
            part = None;
        }
        let of_read = MemoryBudget::from_bytes(self.memory().bytes() / EXPORT_READ_DIVISOR);
        let of_batch = MemoryBudget::from_bytes(self.batch_bytes());
        Ok((read.memory(of_read).batch_memory(of_batch), part))
    }

    fn failed(&self, error: Error) -> Failure {
        use tdb_arrow::Error as Arrow;
        let as_stored = |column: &str, what: &str| {
            Failure::at(
                &self.array,
                format!("column {column:?}: {what}: --as-stored exports numbers and bytes"),
            )
        };
        match error {
            Error::Array(tdb_array::Error::Query(QueryError::BudgetTooSmall { budget, min })) => {
                let is_of_read = budget.bytes() == self.memory().bytes() / EXPORT_READ_DIVISOR;
                let times = if is_of_read { EXPORT_READ_DIVISOR } else { EXPORT_BATCH_DIVISOR };
                let min = MemoryBudget::from_bytes(min.bytes().saturating_mul(times));
                let (array, memory) = (self.array.display(), self.memory());
                Failure::Usage(format!(
                    "{array}: --memory: {memory} is not enough for this export, which needs at least {min}"
                ))
            }
            Error::Array(error) => condition::failed(&self.array, self.condition.as_deref(), error),
            Error::Output(what) => Failure::at(&self.file, what),
            Error::Enumerated { column, why } => {
                as_stored(&column, &format!("{why}, and Parquet stores values"))
            }
            Error::Arrow(error) => match *error {
                Arrow::NotUtf8 { column, .. } => as_stored(&column, "there is text that is not UTF-8"),
                Arrow::DayRange { column, day, .. } => {
                    as_stored(&column, &format!("day {day} is outside the range of dates"))
                }
                Arrow::NotBoolean { column, value, .. } => {
                    as_stored(&column, &format!("{value} is not a boolean"))
                }
                other => Failure::at(&self.array, other),
            },
            other => Failure::at(&self.array, other),
        }
    }
}

/// A read of a dense array to which nothing was written.
fn nothing(array: &Array) -> Read {
    let none: [core::ops::Range<i64>; 0] = [];
    let dimensions = array.schema().domain.dimensions.iter();
    dimensions.fold(array.read(), |read, dimension| read.ranges(&dimension.name, none.clone()))
}

/// The format that the ending of a file's name says.
fn of_name(path: &Path) -> Option<Format> {
    Format::of_ending(&path.extension()?.to_str()?.to_ascii_lowercase())
}
