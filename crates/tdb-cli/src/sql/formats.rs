//! Writes the results of statements to their destination in the requested format.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value};
use tdb_convert::Format;
use tdb_datafusion::datafusion::arrow::array::RecordBatch;
use tdb_datafusion::datafusion::arrow::datatypes::Schema;
use tdb_datafusion::datafusion::arrow::error::ArrowError;
use tdb_datafusion::datafusion::error::DataFusionError;

use super::columns::Columns;
use super::error::StatementError;
use super::values::{Values, heading};
use super::{SqlArgs, SqlFormat};
use crate::failure::{Failure, Result};
use crate::head_tail::{HeadTail, Row, Words};
use crate::names::Unique;
use crate::new_file::{NewFile, NewName};
use crate::output::Out;
use crate::read::csv::quoted;
use crate::screen::Screen;
use crate::table::{Heading, Pages};

/// The destination of the rows of one result, batch by batch, so that a long one needs no memory.
///
/// A further format is a variant of [`SqlFormat`], its ending in [`of_name`], and a type with this
/// trait.
pub(super) trait Sink {
    /// Writes the rows of a batch.
    fn take(&mut self, batch: &RecordBatch) -> Result<(), StatementError>;

    /// Writes what is left after the last batch.
    fn finish(self: Box<Self>) -> Result;
}

/// All results of a command, one after the other.
pub(super) struct Results<'o> {
    format: SqlFormat,
    /// The terminal that results are written to.
    screen: Option<Screen>,
    /// Whether tables have all rows and columns, although a terminal shows fewer.
    all: bool,
    out: &'o mut dyn Write,
    /// The file that is written instead, and its name. It is made for the first result.
    file: Option<(NewName, Option<NewFile>)>,
    /// Whether there was a result before.
    begun: bool,
    /// Whether standard output is a terminal, which shows no bytes.
    terminal: bool,
}

impl<'o> Results<'o> {
    pub(super) fn new(args: &SqlArgs, screen: Option<Screen>, out: &'o mut dyn Write) -> Result<Self> {
        let screen = screen.filter(|_| args.out.is_none());
        let terminal = screen.is_some();
        let default = if screen.is_some() { SqlFormat::Table } else { SqlFormat::Csv };
        let of_file = args.out.as_deref().and_then(of_name);
        let format = args.format.or(of_file).unwrap_or(default);
        let file = args.out.as_ref().map(|path| NewName::new(path, args.force)).transpose()?;
        let file = file.map(|name| (name, None));
        Ok(Self { format, screen, all: args.all, out, file, begun: false, terminal })
    }

    /// Tables with aligned columns, all of them.
    pub(super) const fn tables(out: &'o mut dyn Write) -> Self {
        Self {
            format: SqlFormat::Table,
            screen: None,
            all: true,
            out,
            file: None,
            begun: false,
            terminal: false,
        }
    }

    /// Prints the next results so, on a terminal and in files of text.
    pub(super) const fn set_format(&mut self, format: SqlFormat) {
        self.format = format;
    }

    /// Whether the next tables have all rows and columns, also on a terminal.
    pub(super) const fn set_all(&mut self, all: bool) {
        self.all = all;
    }

    /// Begins a result with these columns. The text of a plan is not put into a table.
    pub(super) fn begin(&mut self, schema: &Schema, is_plan: bool) -> Result<Box<dyn Sink + '_>> {
        let (format, screen) = (self.format, self.screen.filter(|_| !self.all));
        if let Some(binary) = binary(format) {
            return Ok(Box::new(self.begin_binary(binary, schema)?));
        }
        let mut out = self.next()?;
        let headings = || schema.fields().iter().map(|field| heading(field)).collect();
        Ok(match (format, screen) {
            (SqlFormat::Table, _) if is_plan => Box::new(Plan { out }),
            (SqlFormat::Table, Some(screen)) => Box::new(Shown::new(out, screen, headings())),
            (SqlFormat::Table, None) => {
                Box::new(Paged { out, pages: Pages::new(headings()), rows: Vec::new(), begun: false })
            }
            (SqlFormat::Csv, _) => Box::new(Delimited::new(out, ',', schema)?),
            (SqlFormat::Tsv, _) => Box::new(Delimited::new(out, '\t', schema)?),
            (SqlFormat::Json, _) => {
                out.write(|out| write!(out, "["))?;
                Box::new(Objects::new(out, true, schema))
            }
            // The others are begun above.
            (SqlFormat::Ndjson | SqlFormat::Parquet | SqlFormat::Arrow | SqlFormat::Arrows, _) => {
                Box::new(Objects::new(out, false, schema))
            }
        })
    }

    /// Begins a file of bytes, which has one result.
    fn begin_binary(&mut self, format: Format, schema: &Schema) -> Result<Columns<'_>> {
        let usage = |what: &str| Failure::Usage(format!("--format {}: {what}", format.name()));
        if self.terminal {
            return Err(usage("standard output is a terminal: give a file with --out"));
        }
        if self.begun {
            return Err(usage("the file has one result: run each query on its own"));
        }
        let path = self.file.as_ref().map(|(name, _)| name.shown().to_owned());
        Columns::new(self.next()?, path, format, schema)
    }

    /// Writes a text as it is.
    pub(super) fn plain(&mut self, text: &str) -> Result {
        if let Some(format) = binary(self.format) {
            let what = "a plan is text";
            return Err(Failure::Usage(format!("--format {}: {what}", format.name())));
        }
        let text = text.trim_end();
        self.next()?.write(|out| writeln!(out, "{text}"))
    }

    /// Hands everything on that was written. The next result is the first one that a prompt's user
    /// sees below a statement.
    pub(super) fn pause(&mut self) -> Result {
        if self.file.is_none() {
            self.begun = false;
        }
        self.destination()?.write(|out| out.flush())
    }

    /// Writes everything to the file, which is there even if there was no result: text without any
    /// is empty.
    pub(super) fn finish(mut self) -> Result {
        if binary(self.format).is_some() && !self.begun {
            return Ok(());
        }
        self.destination()?.write(|out| out.flush())?;
        match self.file {
            Some((_, Some(file))) => file.finish(),
            _ => Ok(()),
        }
    }

    /// The destination of the next result, after what separates it from the one before.
    fn next(&mut self) -> Result<Out<'_>> {
        let separate =
            self.begun && matches!(self.format, SqlFormat::Table | SqlFormat::Csv | SqlFormat::Tsv);
        self.begun = true;
        let mut out = self.destination()?;
        if separate {
            out.write(|out| writeln!(out))?;
        }
        Ok(out)
    }

    fn destination(&mut self) -> Result<Out<'_>> {
        let Some((name, file)) = &mut self.file else { return Ok(Out { out: self.out, path: None }) };
        let file = match file {
            Some(file) => file,
            None => file.insert(name.begin()?),
        };
        Ok(Out { out: file, path: Some(name.shown()) })
    }
}

/// The format that the ending of a file's name says.
fn of_name(path: &Path) -> Option<SqlFormat> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(SqlFormat::Csv),
        "tsv" | "tab" => Some(SqlFormat::Tsv),
        "json" => Some(SqlFormat::Json),
        "ndjson" | "jsonl" => Some(SqlFormat::Ndjson),
        ending => match Format::of_ending(ending)? {
            Format::Parquet => Some(SqlFormat::Parquet),
            Format::Arrow => Some(SqlFormat::Arrow),
            Format::ArrowStream => Some(SqlFormat::Arrows),
            _ => None,
        },
    }
}

/// The format of files of bytes; the others are text.
const fn binary(format: SqlFormat) -> Option<Format> {
    match format {
        SqlFormat::Parquet => Some(Format::Parquet),
        SqlFormat::Arrow => Some(Format::Arrow),
        SqlFormat::Arrows => Some(Format::ArrowStream),
        _ => None,
    }
}

/// The columns of a batch.
fn columns(batch: &RecordBatch) -> Result<Vec<Values<'_>>, StatementError> {
    batch.columns().iter().map(|column| Values::of(column).map_err(wrong)).collect()
}

/// A value that cannot be written as text.
fn wrong(error: ArrowError) -> StatementError {
    DataFusionError::from(error).into()
}

/// A row as texts for display.
fn shown(columns: &[Values<'_>], row: usize) -> Result<Row, StatementError> {
    columns.iter().map(|column| column.shown(row).map_err(wrong)).collect()
}

/// A table on a terminal.
struct Shown<'o> {
    out: Out<'o>,
    ends: HeadTail,
}

impl<'o> Shown<'o> {
    const WORDS: Words = Words { rows: "rows", choose: "" };

    fn new(out: Out<'o>, screen: Screen, headings: Vec<Heading>) -> Self {
        let mut ends = HeadTail::new(screen, false, Self::WORDS);
        ends.headings(|| headings);
        Self { out, ends }
    }
}

impl Sink for Shown<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), StatementError> {
        let columns = columns(batch)?;
        self.ends.take(batch.num_rows(), |row| shown(&columns, row))
    }

    fn finish(mut self: Box<Self>) -> Result {
        let ends = &mut self.ends;
        self.out.write(|out| ends.write(out))
    }
}

/// A table of all rows.
struct Paged<'o> {
    out: Out<'o>,
    pages: Pages,
    rows: Vec<Row>,
    begun: bool,
}

impl Paged<'_> {
    /// Rows that are held to find the widths of columns.
    const PAGE: usize = 1000;

    fn page(&mut self) -> Result {
        let (pages, rows) = (&mut self.pages, &self.rows);
        self.out.write(|out| pages.write(out, rows))?;
        self.rows.clear();
        self.begun = true;
        Ok(())
    }
}

impl Sink for Paged<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), StatementError> {
        let columns = columns(batch)?;
        for row in 0..batch.num_rows() {
            self.rows.push(shown(&columns, row)?);
            if self.rows.len() >= Self::PAGE {
                self.page()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result {
        if self.rows.is_empty() && self.begun { Ok(()) } else { self.page() }
    }
}

/// The text of plans, which has lines of its own.
struct Plan<'o> {
    out: Out<'o>,
}

impl Sink for Plan<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), StatementError> {
        let columns = columns(batch)?;
        for row in 0..batch.num_rows() {
            for column in &columns {
                let text = column.plain(row).map_err(wrong)?.unwrap_or_default();
                self.out.write(|out| writeln!(out, "{}", text.trim_end()))?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result {
        Ok(())
    }
}

/// CSV and TSV: lines of values with a delimiter between them (RFC 4180).
struct Delimited<'o> {
    out: Out<'o>,
    delimiter: char,
}

impl<'o> Delimited<'o> {
    fn new(out: Out<'o>, delimiter: char, schema: &Schema) -> Result<Self> {
        let mut sink = Self { out, delimiter };
        sink.line(schema.fields().iter().map(|field| Some(field.name().clone())))?;
        Ok(sink)
    }

    /// Null is nothing.
    fn line(&mut self, values: impl Iterator<Item = Option<String>>) -> Result {
        let mut line = String::new();
        for (at, value) in values.enumerate() {
            if at > 0 {
                line.push(self.delimiter);
            }
            line.push_str(
                &value.as_deref().map_or_else(Default::default, |text| quoted(text, self.delimiter)),
            );
        }
        line.push('\n');
        self.out.write(|out| out.write_all(line.as_bytes()))
    }
}

impl Sink for Delimited<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), StatementError> {
        let columns = columns(batch)?;
        for row in 0..batch.num_rows() {
            let values = columns.iter().map(|column| column.plain(row));
            let values = values.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            self.line(values.into_iter())?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result {
        Ok(())
    }
}

/// Objects in JSON: a list of them, or one on each line.
struct Objects<'o> {
    out: Out<'o>,
    list: bool,
    /// The keys: different ones, also where columns have the same name.
    names: Vec<String>,
    begun: bool,
}

impl<'o> Objects<'o> {
    fn new(out: Out<'o>, list: bool, schema: &Schema) -> Self {
        let mut unique = Unique::exact();
        let names = schema.fields().iter().map(|field| unique.name(field.name())).collect();
        Self { out, list, names, begun: false }
    }
}

impl Sink for Objects<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), StatementError> {
        let columns = columns(batch)?;
        for row in 0..batch.num_rows() {
            let mut object = Map::new();
            for (name, column) in self.names.iter().zip(&columns) {
                object.insert(name.clone(), column.json(row).map_err(wrong)?);
            }
            let object = Value::Object(object);
            let (before, after) = match (self.list, self.begun) {
                (true, true) => (",\n", ""),
                (true, false) => ("", ""),
                (false, _) => ("", "\n"),
            };
            self.begun = true;
            self.out.write(|out| write!(out, "{before}{object}{after}"))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result {
        if self.list { self.out.write(|out| writeln!(out, "]")) } else { Ok(()) }
    }
}
