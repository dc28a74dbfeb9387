//! `tdb import`: imports cells from files of other formats.

mod csv;
mod npy;
mod table;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};
use serde_json::Value;
use tdb_array::{ArraySchema, ArrayWriter, is_free};

use self::npy::Npy;
use self::table::Table;
use crate::args::ChangeArgs;
use crate::failure::{Failure, Result};
use crate::place::Stores;
use crate::ranges::parse_names;
use crate::schema::{self, At};

/// Write the cells of a CSV or NPY file into an array, which is created if it does not exist.
///
/// The schema of a new array is derived from the file: --dry-run shows it, in the format that tdb create takes. A CSV
/// file must begin with the names of its columns. With --dims, these columns become the coordinates of a sparse array;
/// without, the array is dense, with one dimension for the rows. An NPY file becomes a dense array.
#[derive(Debug, Group)]
#[command(after_help = "\
An empty cell of a CSV file is null, \"\" is an empty string. A column contains integers, booleans, numbers or dates if all of its \
cells do, otherwise text. An existing array determines the types: a sparse one takes CSV files, a dense one NPY files of its \
shape, from the low end of its domain on. The whole file is read into memory. A new array exists only once it is complete: if an import \
fails, there is no array, and what a killed one leaves is replaced by the next one.

Examples:
  tdb import weather weather.csv --dims station,time --dry-run
  tdb import weather weather.csv --dims station,time
  tdb import image image.npy")]
pub(crate) struct ImportArgs {
    /// Folder of the array, which is created if it does not exist.
    pub(crate) array: PathBuf,
    /// The file.
    file: PathBuf,
    /// Columns of a CSV file to use as coordinates of a new array, separated by commas.
    #[arg(long, value_name = "A,B")]
    dims: Option<String>,
    /// Allow several cells of a new array to have the same coordinates.
    #[arg(long)]
    allow_duplicates: bool,
    /// Format of the file. Default: from the ending of its name.
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// Print the schema of the new array, or how many cells would be written; write nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    change: ChangeArgs,
}

/// A supported file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    /// Values separated by commas, with a header.
    Csv,
    /// A `NumPy` array.
    Npy,
}

/// The contents of a file.
enum Source {
    Csv(Table),
    Npy(Npy),
}

/// Runs the command.
pub(crate) fn run(args: &ImportArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let source = Source::read(args)?;
    let storage = stores.storage(&args.array)?;
    if !is_free(&storage).unwrap_or(false) {
        let writer = args.change.options()?.open_storage(storage).map_err(failed)?;
        args.refuse_what_is_for_new_arrays(writer.schema())?;
        let cells = source.write(args, &writer)?;
        writeln!(out, "{cells} cells {}", if args.dry_run { "would be written" } else { "written" })?;
        return Ok(());
    }
    let json = source.schema(args)?;
    let described = schema::parse(&At::root(&json), None).map_err(|error| Failure::at(&args.file, error))?;
    if args.dry_run {
        writeln!(out, "{json:#}")?;
        return Ok(());
    }
    let array = args.change.options()?.begin_storage(storage, &described.schema).map_err(failed)?;
    let cells = source.write(args, array.writer())?;
    array.finish().map_err(failed)?;
    writeln!(out, "{cells} cells written")?;
    Ok(())
}

impl ImportArgs {
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
        match (self.allow_duplicates, schema.allows_duplicates) {
            (false, _) => Ok(()),
            (true, true) => refuse("--allow-duplicates", "this one allows duplicates already".to_owned()),
            (true, false) => refuse("--allow-duplicates", "this one does not allow duplicates".to_owned()),
        }
    }
}

impl Source {
    fn read(args: &ImportArgs) -> Result<Self> {
        let extension = args.file.extension().and_then(|extension| extension.to_str());
        let format = match (args.format, extension.map(str::to_ascii_lowercase).as_deref()) {
            (Some(format), _) => format,
            (None, Some("csv")) => FileFormat::Csv,
            (None, Some("npy")) => FileFormat::Npy,
            _ => {
                return Err(Failure::Usage(format!(
                    "{}: --format csv or npy is needed",
                    args.file.display()
                )));
            }
        };
        let bytes = fs::read(&args.file).map_err(|error| Failure::at(&args.file, error))?;
        let wrong = |error: String| Failure::at(&args.file, error);
        match format {
            FileFormat::Csv => Ok(Self::Csv(Table::new(csv::parse(&bytes).map_err(wrong)?).map_err(wrong)?)),
            FileFormat::Npy => Ok(Self::Npy(Npy::parse(bytes).map_err(wrong)?)),
        }
    }

    /// The schema of a new array, as JSON.
    fn schema(&self, args: &ImportArgs) -> Result<Value> {
        match self {
            Self::Csv(table) => {
                let dims = args.dims.as_deref().map(parse_names).unwrap_or_default();
                let schema = table.schema(&dims, args.allow_duplicates);
                schema.map_err(|error| Failure::Usage(format!("{}: {error}", args.file.display())))
            }
            Self::Npy(_) if args.dims.is_some() || args.allow_duplicates => {
                let option = if args.dims.is_some() { "--dims" } else { "--allow-duplicates" };
                Err(Failure::Usage(format!("{}: {option} is only for CSV files", args.file.display())))
            }
            Self::Npy(npy) => Ok(npy.schema()),
        }
    }

    /// Writes the cells, except in a dry run; returns how many there are.
    fn write(&self, args: &ImportArgs, writer: &ArrayWriter) -> Result<u64> {
        let wrong = |error: String| Failure::at(&args.file, error);
        match self {
            Self::Csv(table) => {
                let columns = table.columns(writer.schema()).map_err(wrong)?;
                if !args.dry_run {
                    let write =
                        columns.iter().fold(writer.write(), |write, column| write.column(column.column()));
                    write.commit().map_err(|error| Failure::of_array(&args.array, error))?;
                }
                Ok(table.len())
            }
            Self::Npy(npy) => {
                let write = npy.write(writer).map_err(wrong)?;
                if !args.dry_run {
                    write.commit().map_err(|error| Failure::of_array(&args.array, error))?;
                }
                Ok(npy.len())
            }
        }
    }
}
