//! Parquet and Arrow files: their columns have types, and one that was exported has the schema of
//! its array.

use std::io::{Read as _, Write};
use std::sync::Arc;

use tdb_array::{
    Array, ArraySchema, ArrayType, ArrayWriter, MemoryBudget, WriteError, WriteStorage, is_free,
};
use tdb_arrow::arrow_schema::SchemaRef;
use tdb_arrow::{Mapping, Options, Text};
use tdb_convert::{
    Error, FileProblem, Format, NewArray, Rows, Source, Spans, Subarray, append, check, dimensions,
    make_room, open_domain,
};
use tdb_schema::{Dimension, Range};
use tdb_text::suggest::hint;
use tdb_text::value::coordinate_text;

use super::args::ImportArgs;
use super::duplicates::{Finder, Keys, LeftOut, Rule};
use super::enumerations::{Additions, Enumerated};
use super::existing::Needs;
use super::format::FileFormat;
use super::grow::{self, Growth};
use super::input::Input;
use super::report::Report;
use super::rows;
use crate::condition;
use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;
use crate::ranges::parse_names;

/// The default memory of an import. Half of it is for the file, the other half for the cells that
/// are being written.
const MEMORY: MemoryBudget = MemoryBudget::from_bytes(512 << 20);
const HALVES: u64 = 2;

/// A file, which is read from its beginning several times.
struct BatchFile<'a> {
    args: &'a ImportArgs,
    input: Input,
    format: Format,
    schema: SchemaRef,
}

/// An array that is to be made.
struct New {
    array: NewArray,
    /// The dimension that numbers the rows of a sparse array.
    numbered: Option<String>,
}

/// Runs the command.
pub(super) fn run(args: &ImportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    if args.delimiter.is_some() {
        return Err(args.usage("--delimiter is only for CSV files"));
    }
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
    let free = is_free(&storage).unwrap_or(false);
    if args.force || free { file.create(storage, !free, out, err) } else { file.append(&storage, out) }
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
        source.map_err(|error| self.failed(error))
    }

    /// Half of the memory.
    fn memory(&self) -> u64 {
        self.args.memory.unwrap_or(MEMORY).bytes() / HALVES
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

    /// Makes an array of the file. `replaces` says whether there is something that is removed.
    fn create(
        &self,
        storage: Arc<dyn WriteStorage>,
        replaces: bool,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> Result {
        let of_array = |error| Failure::of_array(&self.args.array, error);
        let New { array: new, numbered } = self.new_array()?;
        let left_out = self.left_out(new.schema(), numbered.is_some(), None, true)?;
        let left = left_out.len();
        if self.args.dry_run {
            writeln!(out, "{:#}", tdb_text::schema::to_json(new.schema(), new.enumerations()))?;
            return Ok(());
        }
        let mapping = new.mapping().map_err(|error| self.failed(error))?;
        let open = || -> Result<Source> {
            let source = self.open()?;
            Ok(match &numbered {
                Some(name) => source.numbered(name, 0),
                None => source,
            })
        };
        if replaces {
            // What is wrong with the file is found before anything is removed.
            for batch in open()? {
                let batch = batch.map_err(|error| self.failed(error))?;
                tdb_convert::fit(&mapping, &batch, &self.args.shown().display().to_string())
                    .map_err(|error| self.failed(error))?;
            }
        }
        let options = self.args.change.options()?;
        let options = new.create(if self.args.force { options.replace() } else { options });
        let made = match options.begin_storage(storage.clone(), new.schema()) {
            Err(tdb_array::Error::Write(WriteError::Exists)) if self.args.comes_late(&storage, err) => {
                return self.append(&storage, out);
            }
            begun => begun.map_err(of_array)?,
        };
        let cells = self.write(made.writer(), &mapping, &mut open()?.without(left_out), new.subarray())?;
        made.finish().map_err(of_array)?;
        Report { is_new: true, cells, left_out: left, ..Report::default() }.print(self.args, out)
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

    /// The array that the options say, or the one that the file is from.
    fn new_array(&self) -> Result<New> {
        let failed = |error| self.failed(error);
        let plain = |array: NewArray| New { array, numbered: None };
        if let Some(dims) = self.args.dims.as_deref().map(parse_names) {
            let mut chosen = dimensions(&self.schema, &dims).map_err(|error| self.bad_dims(error))?;
            let limited =
                grow::limit(&mut chosen, &self.args.domain).map_err(|error| self.args.usage(error))?;
            // A domain that nobody gave is as wide as the file needs it.
            let mut sought = chosen.clone();
            for (_, dimension) in sought.iter_mut().enumerate().filter(|(at, _)| !limited.contains(at)) {
                open_domain(dimension);
            }
            let spans = self.spans(&sought, None)?;
            make_room(&mut chosen, &spans);
            for dimension in &chosen {
                let cast = |wider: &str| format!("cast the column to {wider}");
                grow::refuse_whole_type(dimension, cast).map_err(|error| self.args.usage(error))?;
            }
            let duplicates = self.args.allow_duplicates || self.args.duplicates == Some(Rule::Allow);
            return NewArray::sparse(&self.schema, &chosen, duplicates, Some(&spans))
                .map(plain)
                .map_err(failed);
        }
        let columns = self.columns();
        if self.args.dense {
            grow::limit(&mut [], &self.args.domain).map_err(|error| self.args.usage(error))?;
            let rows = Rows(self.count()?);
            return NewArray::of_rows(&self.schema, &rows::name(&columns), rows).map(plain).map_err(failed);
        }
        if let Some(stored) = self.stored()? {
            return Ok(plain(stored));
        }
        let count = self.count()?;
        let (mut dimension, span) = rows::dimension(&columns, count);
        grow::limit(core::slice::from_mut(&mut dimension), &self.args.domain)
            .map_err(|error| self.args.usage(error))?;
        let (numbered, spans) = (Some(dimension.name.clone()), Spans::new(count, vec![Some(span)]));
        // Two imports at the same time may number rows alike; neither may hide those of the other.
        let array = NewArray::sparse(&self.schema, &[dimension], true, Some(&spans)).map_err(failed)?;
        Ok(New { array, numbered })
    }

    /// The array whose schema the file has; `None` if it has none, or lacks the coordinates.
    fn stored(&self) -> Result<Option<NewArray>> {
        let mut new = match NewArray::stored(&self.schema) {
            Ok(new) => new,
            Err(Error::Arrow(error))
                if matches!(
                    *error,
                    tdb_arrow::Error::NoDimensions | tdb_arrow::Error::UnknownColumn { .. }
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(self.failed(error)),
        };
        if new.schema().array_type == ArrayType::Dense && new.subarray().is_none() && self.count()? > 0 {
            let names: Vec<&str> =
                new.schema().domain.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
            if names.iter().any(|name| self.schema.field_with_name(name).is_err()) {
                return Ok(None);
            }
            return Err(self.args.usage(format!(
                "the cells are from a dense array, and are no box of it: --dims {} makes a sparse array of them",
                names.join(",")
            )));
        }
        let options =
            [("--domain", !self.args.domain.is_empty()), ("--allow-duplicates", self.args.allow_duplicates)];
        if let Some((option, _)) = options.into_iter().find(|(_, given)| *given) {
            let why = "the file has the schema of an array, which is used without --dims and --dense";
            return Err(self.args.usage(format!("{option}: {why}")));
        }
        if new.lacks_enumerations()
            && let Some(first) = self.open()?.next()
        {
            first.and_then(|first| new.complete(&first)).map_err(|error| self.failed(error))?;
        }
        Ok(Some(new))
    }

    /// Adds the cells of the file to an array.
    fn append(&self, storage: &Arc<dyn WriteStorage>, out: &mut dyn Write) -> Result {
        let args = self.args;
        let of_array = |error| Failure::of_array(&args.array, error);
        let writer = args.change.options()?.open_storage(storage.clone()).map_err(of_array)?;
        args.refuse_what_is_for_new_arrays(writer.schema())?;
        let array = args.array(storage)?;
        let schema = array.schema().clone();
        let along = rows::along(&schema, &self.columns());
        let numbered = along.filter(|_| schema.array_type == ArrayType::Sparse);
        let first = numbered.map_or(0, |dimension| rows::next(&array, dimension));
        let open = || -> Result<Source> {
            let source = self.open()?;
            Ok(match numbered {
                Some(dimension) => source.numbered(&dimension.name, first),
                None => source,
            })
        };
        let mapping = self.mapping(&array)?;
        check(&mapping, &open()?).map_err(|error| self.unknown(error, &schema))?;
        let mut report = Report::default();
        let mut needs = Needs::default();
        if args.extend_enumerations {
            needs.additions = self.additions(&mapping, open()?)?;
            report.extended = Enumerated::of(&writer, false, true).map_err(of_array)?.shown(&needs.additions);
        }
        let mut left_out = LeftOut::default();
        let (count, part) = match schema.array_type {
            ArrayType::Sparse => {
                let mut finder = Finder::default();
                let spans = self.room(&schema, numbered, first, &mut finder)?;
                left_out = self.left_out(&schema, numbered.is_some(), Some(finder), false)?;
                report.left_out = left_out.len();
                let mut growth = Growth::new(&schema);
                growth.unite(&spans.ranges);
                needs.ranges = growth.finish();
                (spans.rows, None)
            }
            ArrayType::Dense => {
                let count = self.count()?;
                let part = self.place(&schema, along, count)?;
                if let Some(part) = part.as_ref().filter(|_| count > 0) {
                    args.refuse_overwriting(storage, sides(&schema, part).into_iter())?;
                }
                (count, part)
            }
        };
        let writer = args.evolve(storage, writer, needs, &mut report, out)?;
        report.cells = count.saturating_sub(left_out.len());
        if args.dry_run || report.cells == 0 {
            return report.print(args, out);
        }
        // The schema of an array that has grown is another one.
        let mapping = self.mapping(&args.array(storage)?)?;
        report.cells = self.write(&writer, &mapping, &mut open()?.without(left_out), part.as_ref())?;
        report.print(args, out)
    }

    /// How batches of the file become cells of an array that is there.
    fn mapping(&self, array: &Array) -> Result<Mapping> {
        let mapping = Mapping::of(array, Options::new().text(Text::Binary));
        let mapping = mapping.map_err(|error| self.failed(error.into()))?;
        Ok(if self.args.codes { mapping } else { mapping.plain_values() })
    }

    /// The values of the file that the array's enumerations lack.
    fn additions(&self, mapping: &Mapping, source: Source) -> Result<Additions> {
        let mut found = Additions::default();
        for batch in source {
            let batch = batch.map_err(|error| self.failed(error))?;
            let missing = mapping.missing_values(&batch).map_err(|error| self.failed(error.into()))?;
            missing.into_iter().for_each(|(name, value)| found.add(&name, value));
        }
        Ok(found)
    }

    /// The coordinates of the file, which must be in the domain of an array.
    fn room(
        &self,
        schema: &ArraySchema,
        numbered: Option<&Dimension>,
        first: u64,
        finder: &mut Finder,
    ) -> Result<Spans> {
        let Some(dimension) = numbered else { return self.spans(&schema.domain.dimensions, Some(finder)) };
        let rows = self.count()?;
        if rows == 0 {
            return Ok(Spans::new(rows, vec![None]));
        }
        let last = first.saturating_add(rows.saturating_sub(1)).to_le_bytes();
        if !grow::is_inside(dimension, &last) {
            return Err(self.args.wrong(grow::outside(dimension, "the last row", &last)));
        }
        Ok(Spans::new(rows, vec![Some(Range::new(first.to_le_bytes(), last))]))
    }

    /// The part of a dense array that the cells are: where they were exported from, or the first
    /// rows.
    fn place(&self, schema: &ArraySchema, along: Option<&Dimension>, count: u64) -> Result<Option<Subarray>> {
        if let Some(stored) = Subarray::stored(&self.schema).map_err(|error| self.failed(error))? {
            return Ok(Some(stored));
        }
        let Some(dimension) = along.filter(|_| count > 0) else { return Ok(None) };
        let (first, last) = (dimension.coordinate(0), dimension.coordinate(count.saturating_sub(1)));
        if dimension.last_ordinal().is_some_and(|last| count.saturating_sub(1) > last) {
            let last = last.unwrap_or_default();
            return Err(self.args.wrong(grow::outside(dimension, "the last row", &last)));
        }
        Ok(first.zip(last).map(|(first, last)| Subarray::new(schema, vec![Range::new(first, last)])))
    }

    /// The failure of an error, with what its user can do about it.
    fn failed(&self, error: Error) -> Failure {
        let args = self.args;
        match error {
            Error::Array(error) => condition::failed(&args.array, None, error),
            Error::File { problem: FileProblem::TooLarge { bytes, .. }, .. } => {
                let size = MemoryBudget::from_bytes(bytes.saturating_mul(HALVES));
                args.usage(format!("--memory: a batch of the file needs at least {size}"))
            }
            Error::Outside { ref dimension, .. } => {
                let remedy = format!(
                    "; a domain cannot grow: import all cells into a new array with --domain '{dimension}=LO..HI'"
                );
                Failure::Failed(format!("{error}{remedy}"))
            }
            Error::NoPlace { .. } => args.wrong(
                "it does not say to which part of a dense array its cells belong: import it into a sparse array, with --dims",
            ),
            Error::Arrow(error) => args.wrong(error),
            // These name the file.
            other => Failure::Failed(other.to_string()),
        }
    }

    /// The same for a column that an array does not have.
    fn unknown(&self, error: Error, schema: &ArraySchema) -> Failure {
        if let Error::Cells { why, .. } = &error
            && let tdb_arrow::Error::UnknownColumn { column } = &**why
        {
            let known = || schema.fields().map(|field| field.name);
            let list = known().collect::<Vec<_>>().join(", ");
            let hint = hint(column, known());
            return self.args.wrong(format!("the array has no field {column:?} (it has {list}){hint}"));
        }
        self.failed(error)
    }

    /// The failure of `--dims`.
    fn bad_dims(&self, error: Error) -> Failure {
        match error {
            Error::Arrow(error) => match *error {
                tdb_arrow::Error::UnknownColumn { column } => {
                    let columns = self.columns();
                    let hint = hint(&column, columns.iter().map(String::as_str));
                    let there = columns.join(", ");
                    self.args
                        .usage(format!("--dims: there is no column {column:?} (there are {there}){hint}"))
                }
                other => self.args.usage(format!("--dims: {other}")),
            },
            other => self.failed(other),
        }
    }
}

/// The sides of a box, as distances from the low end of the domain.
fn sides(schema: &ArraySchema, part: &Subarray) -> Vec<core::ops::Range<u64>> {
    let side = |(dimension, range): (&Dimension, &Range)| {
        let end = |value: &[u8]| dimension.ordinal(value).unwrap_or(0);
        end(&range.low)..end(&range.high).saturating_add(1)
    };
    schema.domain.dimensions.iter().zip(part.ranges()).map(side).collect()
}
