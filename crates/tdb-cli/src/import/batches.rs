//! Parquet and Arrow files: their columns have types, and one that was exported has the schema of
//! its array.

mod columns;
mod existing;
mod failure;
mod new;

use std::io::{Read as _, Write};
use std::sync::Arc;

use tdb_array::ArrayWriter;
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_array::write::is_vacant;
use tdb_arrow::Mapping;
use tdb_arrow::arrow_schema::SchemaRef;
use tdb_convert::{ColumnCast, Format, Source, Spans, Subarray, append};
use tdb_schema::Dimension;
use tdb_text::suggest::hint;
use tdb_text::value::coordinate_text;

use super::args::{ImportArgs, shown};
use super::duplicates::{Finder, Keys, LeftOut, Rule};
use super::format::FileFormat;
use super::input::Input;
use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;
use crate::thresholds::{IMPORT_MEMORY, IMPORT_MEMORY_DIVISOR};

/// A file, which is read from its beginning several times.
struct BatchFile<'a> {
    args: &'a ImportArgs,
    inputs: Vec<(String, Input, Format)>,
    /// Columns that get other types.
    casts: Vec<ColumnCast>,
    schema: SchemaRef,
}

/// Runs the command.
pub(super) fn run(args: &ImportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    args.refuse_what_is_for_text(FileFormat::Parquet)?;
    if args.compress.is_some() {
        return Err(args.usage(
            "--compress is for text and NPY files: tdb copy --filters changes the filters of the array that is made",
        ));
    }
    let mut file = BatchFile::new(args, stores)?;
    let storage = stores.storage(&args.array)?;
    let vacant = is_vacant(&storage).unwrap_or(false);
    if args.force || vacant {
        return file.create(storage, !vacant, out, err);
    }
    let array = args.array(&storage)?;
    args.refuse_what_is_for_new_arrays(array.schema())?;
    file.fit_decimals(&array)?;
    file.append(&storage, out)
}

impl<'a> BatchFile<'a> {
    /// Opens the file.
    fn new(args: &'a ImportArgs, stores: &Stores) -> Result<Self> {
        let format = match args.file_format() {
            Some(FileFormat::Arrow) => Format::Arrow,
            Some(FileFormat::Arrows) => Format::ArrowStream,
            _ => Format::Parquet,
        };
        let mut inputs = Vec::with_capacity(args.files().len());
        for file in args.files() {
            let input = args.input(file, stores)?;
            let mut start = Vec::new();
            let read = input.seekable().and_then(|file| file.take(8).read_to_end(&mut start));
            read.map_err(|error| Failure::at(shown(file), error))?;
            // Both kinds of Arrow files have either ending.
            let format = match Format::of_start(&start) {
                Some(found) if format != Format::Parquet && found != Format::Parquet => found,
                _ => format,
            };
            inputs.push((shown(file).display().to_string(), input, format));
        }
        let casts = columns::casts(args)?;
        let mut file =
            Self { args, inputs, casts, schema: Arc::new(tdb_arrow::arrow_schema::Schema::empty()) };
        file.schema = file.open()?.schema().clone();
        Ok(file)
    }

    /// The files from their beginnings, one after the other.
    fn open(&self) -> Result<Source> {
        let failed = |error| self.failed(error);
        let mut sources = self.inputs.iter().map(|(name, input, format)| self.open_one(name, input, *format));
        let first = sources.next().ok_or_else(|| Failure::internal("an import has a file"))??;
        let others = sources.collect::<Result<Vec<Source>>>()?;
        let several = !others.is_empty();
        let source = first.followed_by(others).map_err(failed)?;
        if several && Subarray::stored(source.schema()).map_err(failed)?.is_some() {
            return Err(self
                .args
                .usage("files that were exported from a dense array are imported one at a time"));
        }
        Ok(source)
    }

    /// A file from its beginning, with the columns that are wanted.
    fn open_one(&self, name: &str, input: &Input, format: Format) -> Result<Source> {
        let memory = self.memory();
        let wrong = |error| Failure::Failed(format!("{name}: {error}"));
        let source = match format {
            Format::ArrowStream => Source::stream(input.open().map_err(wrong)?, name, memory),
            format => Source::open(format, input.seekable().map_err(wrong)?, name, memory),
        };
        let source = source.map_err(|error| self.failed(error))?;
        let names: Vec<String> = source.schema().fields().iter().map(|field| field.name().clone()).collect();
        if let Some(cast) = self.casts.iter().find(|cast| !names.iter().any(|name| name == cast.name())) {
            let hint = hint(cast.name(), names.iter().map(String::as_str));
            let (name, all) = (cast.name(), names.join(", "));
            return Err(self
                .args
                .usage(format!("--types: there is no column {name:?} (there are {all}){hint}")));
        }
        let source = source.cast(&self.casts).map_err(|error| self.failed(error))?;
        let chosen = self.args.text.choice().of(&names, true).map_err(|error| self.args.usage(error))?;
        let Some(chosen) = chosen else { return Ok(source) };
        let chosen: Vec<&String> = chosen.iter().filter_map(|column| names.get(*column)).collect();
        source.only(&chosen).map_err(|error| self.failed(error))
    }

    /// Half of the memory.
    fn memory(&self) -> u64 {
        self.args.memory.unwrap_or(IMPORT_MEMORY).bytes() / IMPORT_MEMORY_DIVISOR
    }

    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn count(&self) -> Result<u64> {
        Ok(self.spans(&[], None)?.rows)
    }

    /// Reads the coordinates, and shows them to a finder of duplicates.
    fn spans(&self, dimensions: &[Dimension], mut finder: Option<&mut Finder>) -> Result<Spans> {
        let keys = Keys::of(dimensions);
        let mut watch = |number: u64, values: &[&[u8]]| {
            let Some(finder) = finder.as_deref_mut() else { return Ok(()) };
            let mut row = Keys::row(number);
            values.iter().for_each(|value| keys.add(&mut row, value));
            finder.add([row])
        };
        Spans::watched(self.open()?, dimensions, &mut watch).map_err(|error| self.failed(error))
    }

    /// The rows that are left out because others have the same coordinates. `finder` has seen all
    /// rows; if there is none, they are read.
    fn left_out(
        &self,
        schema: &ArraySchema,
        numbered: bool,
        finder: Option<Finder>,
        is_new: bool,
    ) -> Result<LeftOut> {
        let dimensions = &schema.domain.dimensions;
        let has_coordinates = schema.array_type == ArrayType::Sparse && !numbered;
        let rule = self.args.rule(schema.allows_duplicates, has_coordinates)?;
        if rule == Rule::Allow {
            return Ok(LeftOut::default());
        }
        let finder = match finder {
            Some(finder) => finder,
            None => {
                let mut finder = Finder::default();
                self.spans(dimensions, Some(&mut finder))?;
                finder
            }
        };
        let may = schema.allows_duplicates || is_new && self.args.dims.is_some();
        let coordinates = |place| self.coordinates_at(dimensions, place);
        self.args.left_out(finder, rule, &|a, b| format!("rows {a} and {b}"), may, &coordinates)
    }

    /// The coordinates of a row.
    fn coordinates_at(&self, dimensions: &[Dimension], place: u64) -> Result<String> {
        let mut found = String::new();
        let mut watch = |number: u64, values: &[&[u8]]| {
            if number == place {
                let text = |(own, value): (&Dimension, &&[u8])| {
                    format!("{}={}", own.name, coordinate_text(own, value))
                };
                found = dimensions.iter().zip(values).map(text).collect::<Vec<_>>().join(", ");
            }
            Ok(())
        };
        Spans::watched(self.open()?, dimensions, &mut watch).map_err(|error| self.failed(error))?;
        Ok(one_line(&found))
    }

    fn write(
        &self,
        writer: &ArrayWriter,
        mapping: &Mapping,
        source: &mut Source,
        part: Option<&Subarray>,
    ) -> Result<u64> {
        let memory = usize::try_from(self.memory()).unwrap_or(usize::MAX);
        let _waiting = self.args.progress.wait("writing cells");
        append(writer, mapping, source, part, memory).map_err(|error| self.failed(error))
    }
}
