//! `tdb import`: imports cells from files of other formats.

mod csv;
mod grow;
mod infer;
mod ndjson;
mod npy;
mod table;
mod text;

use core::fmt::Display;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args as Group, ValueEnum};
use tdb_array::{ArraySchema, ArrayWriter, SchemaEvolution, is_free};
use tdb_schema::Range;

use self::infer::{Inferred, Wanted};
use self::npy::Npy;
use self::table::Table;
use crate::args::{ChangeArgs, LockArgs};
use crate::buffers::Buffers;
use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;
use crate::ranges::parse_names;
use crate::schema::{self, At};

/// Write the cells of a CSV, TSV, NDJSON or NPY file into an array, which is created if it does not exist.
///
/// The schema of a new array is derived from the file: --dry-run shows it, in the format that tdb create takes. A CSV or
/// TSV file must begin with the names of its columns. With --dims, these columns become the coordinates of a sparse array;
/// without, the array is dense, with one dimension for the rows. An NPY file becomes a dense array. A file may be
/// compressed with gzip or Zstandard.
#[derive(Debug, Group)]
#[command(after_help = "\
An empty cell of a CSV file is null, \"\" is an empty string. A column contains integers, booleans (true, True, TRUE), numbers \
(also nan and inf) or dates if all of its cells do, otherwise text. Integers with leading zeros (01234) are text in a new array, and \
a note says so. NDJSON files have one object on each line; its keys are the columns, and a key that is missing is null. An existing \
array determines the types: a sparse one takes CSV, TSV and NDJSON files, a dense one NPY files of its shape, from the low end of its \
domain on. All cells of the file are held in memory. The domain of a sparse array is wide, so that later files find room, and its \
current domain is that of its cells: it grows before cells outside of it are written. A new array exists only once it is complete: if \
an import fails, there is no array, and what a killed one leaves is replaced by the next one.

Examples:
  tdb import weather weather.csv --dims station,time --dry-run
  tdb import weather weather.csv --dims station,time
  tdb import weather weather.csv --dims station,time --domain 'time=2000-01-01..2099-12-31'
  tdb import weather more.csv.gz --delimiter ';'
  tdb import events events.ndjson --dims id
  curl https://example.com/table.tsv | tdb import table - --format tsv
  tdb import image image.npy")]
pub(crate) struct ImportArgs {
    /// Folder of the array, which is created if it does not exist.
    pub(crate) array: PathBuf,
    /// The file; - for standard input.
    file: PathBuf,
    /// Columns to use as coordinates of a new array, separated by commas.
    #[arg(long, value_name = "A,B")]
    dims: Option<String>,
    /// The domain of a dimension of a new array, outside which no cell can ever be written. Default: wide.
    #[arg(long, value_name = "DIM=LO..HI", allow_hyphen_values = true)]
    domain: Vec<String>,
    /// Allow several cells of a new array to have the same coordinates.
    #[arg(long)]
    allow_duplicates: bool,
    /// Format of the file. Default: from the ending of its name (.csv, .tsv, .ndjson, .jsonl, .npy, also before .gz or .zst).
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// The character between the cells of a CSV file; tab for a tabulator. Default: a comma, in TSV files a tabulator.
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<char>,
    /// Print the schema of the new array, or how many cells would be written; write nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

/// A supported file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    /// Values separated by commas, with a header.
    Csv,
    /// Values separated by tabulators, with a header.
    Tsv,
    /// Objects in JSON, one on each line.
    #[value(alias = "jsonl")]
    Ndjson,
    /// A `NumPy` array.
    Npy,
}

impl FileFormat {
    /// The format that the ending of a file's name says, before that of a compression.
    fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "npy" => Some(Self::Npy),
            _ => None,
        }
    }
}

/// One character, or a word for a tabulator.
fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (text, chars.next(), chars.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(c), None) if !matches!(c, '"' | '\r' | '\n') => Ok(c),
        _ => Err("a single character is needed, other than a quote and the end of a line".to_owned()),
    }
}

/// The contents of a file.
enum Source {
    Table(Table),
    Npy(Npy),
}

/// Runs the command.
pub(crate) fn run(args: &ImportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let source = Source::read(args)?;
    let storage = stores.storage(&args.array)?;
    if !is_free(&storage).unwrap_or(false) {
        let mut writer = args.change.options()?.open_storage(storage.clone()).map_err(failed)?;
        args.refuse_what_is_for_new_arrays(writer.schema())?;
        let columns = source.columns(args, writer.schema())?;
        if let Some(ranges) = source.growth(args, writer.schema(), &columns)? {
            let shown = grow::shown(writer.schema(), &ranges).join(", ");
            // It grows before the cells are written: if the process is killed in between, the array has room for them.
            if !args.dry_run {
                let evolution = SchemaEvolution::new().expand_current_domain(ranges);
                let options = args.lock.apply(args.change.options()?);
                options.evolve_storage(storage.clone(), &evolution).map_err(failed)?;
                writer = args.change.options()?.open_storage(storage).map_err(failed)?;
            }
            writeln!(
                out,
                "the current domain {}: {}",
                if args.dry_run { "would grow" } else { "grew" },
                one_line(&shown)
            )?;
        }
        let cells = source.write(args, &writer, &columns)?;
        writeln!(out, "{cells} cells {}", if args.dry_run { "would be written" } else { "written" })?;
        return Ok(());
    }
    let Inferred { schema: json, notes } = source.schema(args)?;
    for note in notes {
        // If standard error is closed, the array is nevertheless as the note would say.
        let _ = writeln!(err, "note: {}: {}", args.shown().display(), one_line(&note));
    }
    let described = schema::parse(&At::root(&json), None).map_err(|error| args.wrong(error))?;
    if args.dry_run {
        writeln!(out, "{json:#}")?;
        return Ok(());
    }
    let array = args.change.options()?.begin_storage(storage, &described.schema).map_err(failed)?;
    let columns = source.columns(args, array.writer().schema())?;
    let cells = source.write(args, array.writer(), &columns)?;
    array.finish().map_err(failed)?;
    writeln!(out, "{cells} cells written")?;
    Ok(())
}

impl ImportArgs {
    /// The file, for messages.
    fn shown(&self) -> &Path {
        if text::is_standard_input(&self.file) { Path::new("standard input") } else { &self.file }
    }

    /// A failure about the contents of the file.
    fn wrong(&self, what: impl Display) -> Failure {
        Failure::at(self.shown(), what)
    }

    /// The command line does not fit the file.
    fn usage(&self, what: impl Display) -> Failure {
        Failure::Usage(format!("{}: {what}", self.shown().display()))
    }

    /// Returns an error for options about the schema of a new array if the array exists and does not match them.
    /// Allowing duplicates is always an error then: if an import was finished but killed before it reported so,
    /// repeating the same command would write its cells a second time.
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
        if !self.domain.is_empty() {
            return refuse("--domain", "the domain of this one cannot change".to_owned());
        }
        match (self.allow_duplicates, schema.allows_duplicates) {
            (false, _) => Ok(()),
            (true, true) => refuse("--allow-duplicates", "this one allows duplicates already".to_owned()),
            (true, false) => refuse("--allow-duplicates", "this one does not allow duplicates".to_owned()),
        }
    }
}

impl Source {
    fn read(args: &ImportArgs) -> Result<Self> {
        let format = args.format.or_else(|| FileFormat::of_name(&args.file));
        let format = format.ok_or_else(|| args.usage("--format csv, tsv, ndjson or npy is needed"))?;
        let delimiter = match (format, args.delimiter) {
            (FileFormat::Csv, given) => given.unwrap_or(','),
            (FileFormat::Tsv, given) => given.unwrap_or('\t'),
            (_, None) => ',',
            (_, Some(_)) => return Err(args.usage("--delimiter is only for CSV files")),
        };
        let mut file = text::open(&args.file).map_err(|error| args.wrong(error))?;
        let source = match format {
            FileFormat::Csv | FileFormat::Tsv => csv::parse(file, delimiter).map(Self::Table),
            FileFormat::Ndjson => ndjson::parse(file).map(Self::Table),
            FileFormat::Npy => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(|error| args.wrong(error))?;
                Npy::parse(bytes).map(Self::Npy)
            }
        };
        source.map_err(|error| args.wrong(error))
    }

    /// The schema of a new array.
    fn schema(&self, args: &ImportArgs) -> Result<Inferred> {
        match self {
            Self::Table(table) => {
                let dims = args.dims.as_deref().map(parse_names).unwrap_or_default();
                let wanted = Wanted { dims, domains: &args.domain, allow_duplicates: args.allow_duplicates };
                infer::schema(table, &wanted).map_err(|error| args.usage(error))
            }
            Self::Npy(_) if args.dims.is_some() => Err(args.usage("--dims is not for NPY files")),
            Self::Npy(_) if !args.domain.is_empty() => Err(args.usage("--domain is not for NPY files")),
            Self::Npy(_) if args.allow_duplicates => {
                Err(args.usage("--allow-duplicates is not for NPY files"))
            }
            Self::Npy(npy) => Ok(Inferred { schema: npy.schema(), notes: Vec::new() }),
        }
    }

    /// The cells of a table, converted for an array with this schema.
    fn columns(&self, args: &ImportArgs, schema: &ArraySchema) -> Result<Vec<Buffers>> {
        match self {
            Self::Table(table) => table.columns(schema).map_err(|error| args.wrong(error)),
            Self::Npy(_) => Ok(Vec::new()),
        }
    }

    /// The current domain that the array needs, if it must grow.
    fn growth(
        &self,
        args: &ImportArgs,
        schema: &ArraySchema,
        columns: &[Buffers],
    ) -> Result<Option<Vec<Range>>> {
        match self {
            Self::Table(table) => grow::growth(schema, table, columns).map_err(|error| args.wrong(error)),
            Self::Npy(_) => Ok(None),
        }
    }

    /// Writes the cells, except in a dry run; returns how many there are.
    fn write(&self, args: &ImportArgs, writer: &ArrayWriter, columns: &[Buffers]) -> Result<u64> {
        let (write, cells) = match self {
            Self::Table(table) => {
                let write =
                    columns.iter().fold(writer.write(), |write, column| write.column(column.column()));
                (write, table.len())
            }
            Self::Npy(npy) => (npy.write(writer).map_err(|error| args.wrong(error))?, npy.len()),
        };
        if !args.dry_run {
            write.commit().map_err(|error| Failure::of_array(&args.array, error))?;
        }
        Ok(cells)
    }
}
