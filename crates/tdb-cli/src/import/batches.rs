//! Parquet and Arrow files: their columns have types, and one that was exported has the schema of
//! its array.

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
use tdb_convert::{Format, Source, Spans, Subarray, append};
use tdb_schema::Dimension;
use tdb_text::value::coordinate_text;

use super::args::ImportArgs;
use super::duplicates::{Finder, Keys, LeftOut, Rule};
use super::format::FileFormat;
use super::input::Input;
use crate::failure::{Result, one_line};
use crate::place::Stores;
use crate::thresholds::{IMPORT_MEMORY, IMPORT_MEMORY_DIVISOR};

/// A file, which is read from its beginning several times.
struct BatchFile<'a> {
    args: &'a ImportArgs,
    input: Input,
    format: Format,
    schema: SchemaRef,
}

/// Runs the command.
pub(super) fn run(args: &ImportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    args.refuse_what_is_for_text(FileFormat::Parquet)?;
    if !args.types.is_empty() {
        return Err(args.usage("--types is only for text: the columns of this file have types"));
    }
    if args.compress.is_some() {
        return Err(args.usage(
            "--compress is for text and NPY files: tdb copy --filters changes the filters of the array that is made",
        ));
    }
    let file = BatchFile::new(args)?;
    let storage = stores.storage(&args.array)?;
    let vacant = is_vacant(&storage).unwrap_or(false);
    if args.force || vacant { file.create(storage, !vacant, out, err) } else { file.append(&storage, out) }
}

impl<'a> BatchFile<'a> {
    /// Opens the file.
    fn new(args: &'a ImportArgs) -> Result<Self> {
        let format = match args.file_format() {
            Some(FileFormat::Arrow) => Format::Arrow,
            Some(FileFormat::Arrows) => Format::ArrowStream,
            _ => Format::Parquet,
        };
        let input = Input::new(&args.file).map_err(|error| args.wrong(error))?;
        let mut start = Vec::new();
        let read = input.seekable().and_then(|file| file.take(8).read_to_end(&mut start));
        read.map_err(|error| args.wrong(error))?;
        // Both kinds of Arrow files have either ending.
        let format = match Format::of_start(&start) {
            Some(found) if format != Format::Parquet && found != Format::Parquet => found,
            _ => format,
        };
        let mut file =
            Self { args, input, format, schema: Arc::new(tdb_arrow::arrow_schema::Schema::empty()) };
        file.schema = file.open()?.schema().clone();
        Ok(file)
    }

    /// The file from its beginning.
    fn open(&self) -> Result<Source> {
        let name = self.args.shown().display().to_string();
        let (memory, wrong) = (self.memory(), |error| self.args.wrong(error));
        let source = match self.format {
            Format::ArrowStream => Source::stream(self.input.open().map_err(wrong)?, name, memory),
            format => Source::open(format, self.input.seekable().map_err(wrong)?, name, memory),
        };
        let source = source.map_err(|error| self.failed(error))?;
        let names: Vec<String> = source.schema().fields().iter().map(|field| field.name().clone()).collect();
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
        self.args.left_out(finder, rule, "rows", may, &coordinates)
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
