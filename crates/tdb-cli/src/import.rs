//! `tdb import`: imports cells from files of other formats.

#[cfg(feature = "convert")]
mod batches;
mod chunks;
mod convert;
mod csv;
mod duplicates;
mod enumerations;
mod existing;
mod format;
mod grow;
mod infer;
mod input;
mod ndjson;
mod npy;
mod report;
mod rows;
mod sorter;
mod survey;
mod table;
mod tables;
mod target;
mod text;
mod write;

use core::fmt::Display;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args as Group;
use serde_json::Value;
use tdb_array::{ArraySchema, ArrayType, Error, MemoryBudget, WriteError, WriteStorage, is_free};
use tdb_text::json::Json;
use tdb_text::schema::{self, At};

use self::convert::Conversion;
use self::duplicates::{Finder, LeftOut, Pair, Rule};
use self::existing::append;
use self::format::{FileFormat, parse_delimiter};
use self::infer::parse_types;
use self::input::Input;
use self::npy::Npy;
use self::report::Report;
use self::survey::{Survey, Surveyed, Wanted};
use self::table::Table;
use self::tables::{Notation, Tables};
use crate::args::{ChangeArgs, LockArgs};
use crate::buffers::Buffers;
use crate::compress::{self, Compress};
use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;
use crate::progress::{ProgressArgs, Unit};
use crate::ranges::parse_names;

/// Write the cells of a CSV, TSV, NDJSON, NPY, Parquet or Arrow file into an array, which is
/// created if it does not exist.
///
/// The schema of a new array is derived from the file: --dry-run shows it, in the format that tdb
/// create takes. A CSV or TSV file must begin with the names of its columns. A table becomes a
/// sparse array. With --dims, these columns become the coordinates; without, a dimension numbers
/// the rows, and the rows of later files follow those that are there. With --dense, the array is
/// dense along the rows. An NPY file becomes a dense array, and a file that tdb export wrote the
/// array that it is from. Text may be compressed with gzip or Zstandard. Builds with the feature
/// convert read Parquet and Arrow files.
#[derive(Debug, Group)]
#[command(after_help = "\
An empty cell of a CSV file is null, \"\" is an empty string. A column contains integers, booleans (true, True, TRUE), numbers \
(also nan and inf) or dates if all of its cells do, otherwise text. Integers with leading zeros (01234) are text in a new array, and \
a note says so. Of a long file, the first 4 MiB decide, and all columns may be null; a later row that does not fit is an error, and \
--types gives the right type. NDJSON files have one object on each line; its keys are the columns, and a key that is missing is null.

The columns of Parquet and Arrow files have types, which arrays keep; an error names a type that arrays do not have. Without --dims and --dense, the schema in a file that tdb export wrote is used.

An existing array determines the types: a sparse one takes tables, a dense one NPY files of its shape, from the \
low end of its domain on, and what was exported from a dense array, where it was; cells that are there only with --overwrite. The domain of a sparse array is wide, so that later files \
find room, and its current domain is that of its cells: it grows before cells outside of it are written. A new array exists only \
once it is complete: if an import fails, there is no array, and what a killed one leaves is replaced by the next one. Memory is \
bounded whatever the size of a table. Rows of a file with the same coordinates are refused, unless --duplicates says what becomes \
of them; cells that were in the array before are replaced, unless it allows duplicates.

A column of an attribute with an enumeration has its values, as tdb read prints them.

Examples:
  tdb import weather weather.csv
  tdb import weather weather.csv --dims station,time --dry-run
  tdb import weather weather.csv --dims station,time --compress small
  tdb import weather weather.csv --dims station,time --domain 'time=2000-01-01..2099-12-31'
  tdb import weather more.csv.gz --delimiter ';'
  tdb import people people.csv --types 'zip=string,height=float32' --force
  tdb import events events.ndjson --dims id
  curl https://example.com/table.tsv | tdb import table - --format tsv
  tdb import image image.npy
  tdb import trips trips.parquet --dims pickup")]
pub(crate) struct ImportArgs {
    /// Folder of the array, which is created if it does not exist.
    pub(crate) array: PathBuf,
    /// The file; - for standard input.
    file: PathBuf,
    /// Columns to use as coordinates of a new array, separated by commas.
    #[arg(long, value_name = "A,B")]
    dims: Option<String>,
    /// The types of columns of a new array, instead of those that fit the first rows; tdb create
    /// --help lists types.
    #[arg(long, value_name = "NAME=TYPE,…")]
    types: Vec<String>,
    /// Make an array that is dense along the rows, which has no room for more rows. Without --dims
    /// only.
    #[arg(long, conflicts_with = "dims")]
    dense: bool,
    /// The domain of a dimension of a new array, outside which no cell can ever be written.
    /// Default: wide.
    #[arg(long, value_name = "DIM=LO..HI", allow_hyphen_values = true)]
    domain: Vec<String>,
    /// Choose the filters of a new array by datatype and by a sample of the data, and print them.
    /// Default: zstd 3.
    #[arg(long, value_enum)]
    compress: Option<Compress>,
    /// What becomes of rows of the file with the same coordinates. Default: error, except in an
    /// array that allows duplicates.
    #[arg(long, value_enum, value_name = "RULE")]
    duplicates: Option<Rule>,
    /// The same as --duplicates allow, but only for a new array, so that repeating a command does
    /// not import its cells twice.
    #[arg(long, conflicts_with = "duplicates")]
    allow_duplicates: bool,
    /// Columns of attributes with an enumeration have codes: positions of values, counted from 0.
    #[arg(long)]
    codes: bool,
    /// Add values to the array's enumerations that these lack, before the cells are written.
    #[arg(long, conflicts_with = "codes")]
    extend_enumerations: bool,
    /// Format of the file. Default: from the ending of its name (.csv, .tsv, .ndjson, .jsonl, .npy,
    /// also before .gz or .zst; .parquet, .pq, .arrow, .feather, .ipc, .arrows).
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// The character between the cells of a CSV file; tab for a tabulator. Default: a comma, in TSV
    /// files a tabulator.
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<char>,
    /// Make a new array in place of the one that is there, which is removed once every cell of the
    /// file was found to fit its field, and its coordinates to be allowed.
    #[arg(long)]
    force: bool,
    /// Write over the cells of a dense array.
    #[arg(long)]
    overwrite: bool,
    /// Keep memory below this for a Parquet or Arrow file, e.g. 2GiB or 500MB. A batch of an Arrow
    /// file must fit half of it. Default: 512 MiB.
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemoryBudget>,
    /// Print the schema of the new array, or how many cells would be written; write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object: the array, whether it is new, the number of cells, and what
    /// --compress chose and how the current domain grew, field by field. A dry run for a new array
    /// prints its schema.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

/// The contents of a file.
enum Source {
    Table(Tables),
    Npy(Npy),
}

/// Runs the command.
pub(crate) fn run(args: &ImportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    if args.has_batches() {
        return args.import_batches(stores, out, err);
    }
    let source = args.source()?;
    let storage = stores.storage(&args.array)?;
    if args.force || is_free(&storage).unwrap_or(false) {
        create(args, &source, storage, out, err)
    } else {
        append(args, &source, &storage, out)
    }
}

/// Makes an array of a file.
fn create(
    args: &ImportArgs,
    source: &Source,
    storage: Arc<dyn WriteStorage>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let Surveyed { schema, inferred, rows, mut left_out } = match source {
        Source::Table(tables) => args.survey(tables, err)?,
        Source::Npy(npy) => {
            args.refuse_what_is_for_tables()?;
            Surveyed { schema: npy.schema(), ..Surveyed::default() }
        }
    };
    let mut json = Json::from(schema);
    let parse = |json: &Json| schema::parse(&At::root(json), None).map_err(|error| args.wrong(error));
    let mut described = parse(&json)?;
    let mut report = Report { is_new: true, ..Report::default() };
    if let Some(compress) = args.compress {
        let samples = args.samples(source, &described.schema, &inferred)?;
        compress::forget(&mut json);
        report.filters = compress.fill(&mut json, &described.schema, &samples);
        described = parse(&json)?;
    }
    if args.dry_run {
        if let Source::Table(tables) = source {
            args.check_tables(tables, Conversion::of_new(&described.schema, &inferred))?;
        }
        writeln!(out, "{:#}", Value::from(&json))?;
        return Ok(());
    }
    let mut options = args.change.options()?;
    if args.force {
        options = options.replace();
        // The array that is there is removed first: a file that is wrong somewhere must not cost
        // it.
        if let Source::Table(tables) = source
            && !is_free(&storage).unwrap_or(false)
        {
            args.check_tables(tables, Conversion::of_new(&described.schema, &inferred))?;
        }
    }
    let array = match options.begin_storage(storage.clone(), &described.schema) {
        Err(Error::Write(WriteError::Exists)) if args.comes_late(&storage, err) => {
            return append(args, source, &storage, out);
        }
        begun => begun.map_err(failed)?,
    };
    report.cells = match source {
        Source::Npy(npy) => args.write_npy(npy, array.writer())?,
        Source::Table(tables) => {
            let conversion = Conversion::of_new(array.writer().schema(), &inferred);
            args.write_tables(tables, array.writer(), conversion, rows, &mut left_out)?
        }
    };
    report.left_out = left_out.len();
    array.finish().map_err(failed)?;
    report.print(args, out)
}

impl ImportArgs {
    /// The file, for messages.
    fn shown(&self) -> &Path {
        if input::is_standard_input(&self.file) { Path::new("standard input") } else { &self.file }
    }

    /// A failure about the contents of the file.
    fn wrong(&self, what: impl Display) -> Failure {
        Failure::at(self.shown(), what)
    }

    /// A failure of a temporary file.
    fn temporary(&self, error: &std::io::Error) -> Failure {
        Failure::at(&std::env::temp_dir(), format!("a temporary file of this import: {error}"))
    }

    /// Whether another process has made the array since this one looked for it. Then its cells are
    /// added, and a note says so.
    fn comes_late(&self, storage: &Arc<dyn WriteStorage>, err: &mut dyn Write) -> bool {
        let late = !self.force && !is_free(storage).unwrap_or(true);
        if late {
            // If standard error is closed, the cells are nevertheless added.
            let _ = writeln!(
                err,
                "note: {}: another process has made this array in the meantime: the cells are added to it",
                self.array.display()
            );
        }
        late
    }

    /// What becomes of rows with the same coordinates.
    fn rule(&self, allows: bool, has_coordinates: bool) -> Result<Rule> {
        let given = self.duplicates.or(self.allow_duplicates.then_some(Rule::Allow));
        match given {
            None | Some(Rule::Allow) if !has_coordinates => Ok(Rule::Allow),
            None => Ok(if allows { Rule::Allow } else { Rule::Error }),
            Some(_) if !has_coordinates => Err(self.usage(
                "--duplicates is for rows with coordinates, and here rows are numbered: --dims makes columns of a new array coordinates",
            )),
            Some(Rule::Allow) if !allows => Err(Failure::Usage(format!(
                "{}: --duplicates allow: this array does not allow duplicates; first or last keeps one of such rows",
                self.array.display()
            ))),
            Some(rule) => Ok(rule),
        }
    }

    /// The rows that are left out, of those that a finder has seen. `of` says what the places are,
    /// and `coordinates` those of one row; `may` says whether the array may allow duplicates.
    fn left_out(
        &self,
        finder: Finder,
        rule: Rule,
        of: &str,
        may: bool,
        coordinates: &dyn Fn(u64) -> Result<String>,
    ) -> Result<LeftOut> {
        let failed = |error| self.temporary(&error);
        match rule {
            Rule::Allow => Ok(LeftOut::default()),
            Rule::First | Rule::Last => finder.left_out(rule == Rule::Last).map_err(failed),
            Rule::Error => {
                let Some(Pair { first, second }) = finder.first_pair().map_err(failed)? else {
                    return Ok(LeftOut::default());
                };
                let allow = if may { ", --duplicates allow keeps all of them" } else { "" };
                Err(self.wrong(format!(
                    "{of} {first} and {second} have the same coordinates, {}: --duplicates first or last keeps one of such rows{allow}",
                    coordinates(second)?
                )))
            }
        }
    }

    /// The coordinates of a row, as they are in the file.
    fn coordinates_at(&self, tables: &Tables, dimensions: &[String], place: u64) -> Result<String> {
        let wrong = |error: String| self.wrong(error);
        let mut found = None;
        let text = |table: &Table| {
            let row = duplicates::places(table).position(|one| one == place)?;
            let text = |name: &String| {
                let (_, cell) = table.cells(table.column(name)?).nth(row)?;
                Some(format!("{name}={}", cell.text))
            };
            Some(dimensions.iter().filter_map(text).collect::<Vec<_>>().join(", "))
        };
        // What stops the search is no failure.
        let searched = tables.for_each(&wrong, text, &mut |text| {
            found = text;
            if found.is_some() { Err(Failure::Usage(String::new())) } else { Ok(()) }
        });
        match found {
            Some(text) => Ok(one_line(&text)),
            None => searched.map(|()| String::new()),
        }
    }

    /// The command line does not fit the file.
    fn usage(&self, what: impl Display) -> Failure {
        Failure::Usage(format!("{}: {what}", self.shown().display()))
    }

    /// Returns an error for options about the schema of a new array if the array exists and does
    /// not match them. Allowing duplicates is always an error then: if an import was finished but
    /// killed before it reported so, repeating the same command would write its cells a second
    /// time.
    fn refuse_what_is_for_new_arrays(&self, schema: &ArraySchema) -> Result {
        let refuse = |option: &str, why: String| {
            Err(Failure::Usage(format!(
                "{}: {option} is only for a new array, and {why}",
                self.array.display()
            )))
        };
        let names: Vec<&str> = schema.domain.dimensions.iter().map(|own| own.name.as_str()).collect();
        if self.dims.as_deref().map(parse_names).is_some_and(|dims| dims != names) {
            return refuse("--dims", format!("this one has the dimensions {}", names.join(", ")));
        }
        if self.dense && schema.array_type == ArrayType::Sparse {
            return refuse("--dense", "this one is sparse".to_owned());
        }
        if self.compress.is_some() {
            return refuse(
                "--compress",
                "this one has its filters: tdb copy --filters changes them".to_owned(),
            );
        }
        if !self.types.is_empty() {
            return refuse("--types", "the types of this one are known".to_owned());
        }
        if !self.domain.is_empty() {
            return refuse("--domain", "the domain of this one cannot change".to_owned());
        }
        match (self.allow_duplicates, schema.allows_duplicates) {
            (false, _) => Ok(()),
            (true, true) => refuse("--allow-duplicates", "this one allows duplicates already".to_owned()),
            (true, false) => refuse("--allow-duplicates", "this one does not allow duplicates".to_owned()),
        }
    }

    /// Returns an error for options that an NPY file has no use for.
    fn refuse_what_is_for_tables(&self) -> Result {
        let options = [
            ("--dims", self.dims.is_some()),
            ("--domain", !self.domain.is_empty()),
            ("--types", !self.types.is_empty()),
            ("--allow-duplicates", self.allow_duplicates),
            ("--duplicates", self.duplicates.is_some()),
        ];
        match options.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(self.usage(format!("{option} is not for NPY files"))),
            None => Ok(()),
        }
    }

    /// The given format, or that of the name.
    fn file_format(&self) -> Option<FileFormat> {
        self.format.or_else(|| FileFormat::of_name(&self.file))
    }

    /// Whether the file is one of Parquet or Arrow.
    fn has_batches(&self) -> bool {
        matches!(self.file_format(), Some(FileFormat::Parquet | FileFormat::Arrow | FileFormat::Arrows))
    }

    #[cfg(feature = "convert")]
    fn import_batches(&self, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
        batches::run(self, stores, out, err)
    }

    #[cfg(not(feature = "convert"))]
    fn import_batches(&self, _: &Stores, _: &mut dyn Write, _: &mut dyn Write) -> Result {
        Err(self.wrong(crate::features::NO_CONVERT))
    }

    /// Opens the file.
    fn source(&self) -> Result<Source> {
        let needed = "--format csv, tsv, ndjson, npy, parquet, arrow or arrows is needed";
        let format = self.file_format().ok_or_else(|| self.usage(needed))?;
        if self.memory.is_some() {
            return Err(self.usage("--memory is only for Parquet and Arrow files"));
        }
        let notation = match (format, self.delimiter) {
            (FileFormat::Csv, given) => Notation::Delimited(given.unwrap_or(',')),
            (FileFormat::Tsv, given) => Notation::Delimited(given.unwrap_or('\t')),
            (_, None) => Notation::Ndjson,
            (_, Some(_)) => return Err(self.usage("--delimiter is only for CSV files")),
        };
        let input = Input::new(&self.file).map_err(|error| self.wrong(error))?;
        let source = if format == FileFormat::Npy {
            let mut bytes = Vec::new();
            let read = input.open().and_then(|mut file| file.read_to_end(&mut bytes));
            read.map_err(|error| self.wrong(error))?;
            Npy::parse(bytes).map(Source::Npy)
        } else {
            Tables::new(input, notation).map(Source::Table)
        };
        source.map_err(|error| self.wrong(error))
    }

    /// The schema of a new array for a table.
    fn survey(&self, tables: &Tables, err: &mut dyn Write) -> Result<Surveyed> {
        let usage = |error: String| self.usage(error);
        let wanted = Wanted {
            dims: self.dims.as_deref().map(parse_names).unwrap_or_default(),
            domains: &self.domain,
            types: parse_types(&self.types).map_err(usage)?,
            dense: self.dense,
            allow_duplicates: self.allow_duplicates || self.duplicates == Some(Rule::Allow),
        };
        if tables.is_whole() && tables.first().len() == 0 {
            return Err(
                self.wrong("there are no cells, which say what types the columns of a new array have")
            );
        }
        let rule = self.rule(wanted.allow_duplicates, !wanted.dims.is_empty())?;
        let (mut survey, notes) = Survey::begin(tables.first(), tables.is_whole(), &wanted).map_err(usage)?;
        for note in notes {
            // If standard error is closed, the array is nevertheless as the note would say.
            let _ = writeln!(err, "note: {}: {}", self.shown().display(), one_line(&note));
        }
        let meter = self.progress.bar("looking at types and coordinates", Unit::Rows, None);
        let wrong = |error: String| self.wrong(error);
        let mut left_out = LeftOut::default();
        if survey.counts_only() {
            survey.add_rows(tables.count().map_err(wrong)?);
        } else {
            let limits = survey.limits().map_err(usage)?;
            let keys = (rule != Rule::Allow).then(|| survey.keys());
            let (mut found, mut finder) = (Vec::new(), Finder::default());
            let look = |table: &Table| (table.len(), survey.look(&limits, table, keys.as_ref()));
            tables.for_each(&wrong, look, &mut |(count, looked)| {
                meter.add(count);
                let (spans, rows) = looked.map_err(usage)?;
                finder.add(rows).map_err(|error| self.temporary(&error))?;
                found.push((count, spans));
                Ok(())
            })?;
            found.into_iter().for_each(|(rows, spans)| survey.unite(rows, spans));
            let coordinates = |place| self.coordinates_at(tables, &wanted.dims, place);
            left_out = self.left_out(finder, rule, "lines", true, &coordinates)?;
        }
        meter.clear();
        Ok(Surveyed { left_out, ..survey.finish().map_err(usage)? })
    }

    /// The first cells of each field of a new array.
    fn samples(&self, source: &Source, schema: &ArraySchema, inferred: &[String]) -> Result<Vec<Buffers>> {
        match source {
            Source::Npy(npy) => Ok(vec![npy.sample(compress::SAMPLE)]),
            Source::Table(tables) => Conversion::of_new(schema, inferred)
                .columns(tables.first())
                .map_err(|error| self.wrong(error)),
        }
    }
}
