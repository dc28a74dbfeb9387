//! The command line of `tdb import`.

use core::cell::OnceCell;
use core::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args as Group;
use tdb_array::MemoryBudget;
use tdb_array::schema::{ArraySchema, ArrayType};

use super::duplicates::Rule;
use super::format::FileFormat;
use super::input;
#[cfg(feature = "sql")]
use super::result::ResultFile;
use super::text_args::TextArgs;
use crate::args::{ChangeArgs, LockArgs};
use crate::compress::Compress;
use crate::failure::{Failure, Result, one_line};
use crate::progress::ProgressArgs;
use crate::ranges::parse_names;

/// Write the cells of CSV, TSV, JSON, NPY, Parquet or Arrow files, or of a Zarr folder, into an
/// array, which is created if it does not exist.
///
/// Several files are imported together: all of them or none. The schema of a new array is derived
/// from the files: --dry-run shows it, in the format that tdb create takes. A CSV or TSV file
/// begins with the names of its columns, unless --header no says that it does not. A table becomes
/// a sparse array. With --dims, these columns become the coordinates; without, a dimension numbers
/// the rows, and the rows of later files follow those that are there. With --dense, the array is
/// dense along the rows. An NPY file becomes a dense array, and a file that tdb export wrote the
/// array that it is from. A Zarr folder of version 2 or 3 becomes a new dense array, or a group of
/// them. Text may be compressed with gzip or Zstandard. Builds with the feature convert read
/// Parquet and Arrow files.
#[derive(Debug, Group)]
#[command(after_help = "\
An empty cell of a CSV file is null, \"\" is an empty string; --null NA says that NA is null, too. Blank lines are no rows, except in a \
file of one column, where they are empty cells. A column contains integers, booleans (true, True, TRUE), numbers \
(also nan and inf) or dates if all of its cells do, otherwise text. Integers with leading zeros (01234) are text in a new array, and \
a note says so. Of a long file, the first 4 MiB decide, and all columns may be null; a later row that does not fit is an error, and \
--types gives the right type. NDJSON files have one object on each line, JSON files a list of objects; their keys are the columns, and a key that is missing is null.

The columns of Parquet and Arrow files have types, which arrays keep; --types casts columns. Times with a zone are stored in UTC, \
decimals of up to 18 digits as integers, and the metadata of the array says so. An error names a type that arrays do not have: --drop leaves its column out. Without --dims and --dense, the schema in a file that tdb export wrote is used.

An existing array determines the types: a sparse one takes tables, a dense one NPY files of its shape, from the \
low end of its domain on, and what was exported from a dense array, where it was; cells that are there only with --overwrite. The domain of a sparse array is wide, so that later files \
find room, and its current domain is that of its cells: it grows before cells outside of it are written. A new array exists only \
once it is complete: if an import fails, there is no array, and what a killed one leaves is replaced by the next one. Memory is \
bounded whatever the size of a table. Rows of a file with the same coordinates are refused, unless --duplicates says what becomes \
of them; cells that were in the array before are replaced, unless it allows duplicates.

A column of an attribute with an enumeration has its values, as tdb read prints them.

The cells of a Zarr array become the attribute values, its chunks tiles, its codecs filters where arrays have the same, and its attributes metadata. Chunks that are not there are not written. Notes say what is otherwise. What arrays do not have is refused before anything is written.

Examples:
  tdb import weather weather.csv
  tdb import weather weather.csv --dims station,time --dry-run
  tdb import weather weather.csv --dims station,time --compress small
  tdb import weather weather.csv --dims station,time --domain 'time=2000-01-01..2099-12-31'
  tdb import weather more.csv.gz --delimiter ';' --null NA --null -999
  tdb import log log.txt --format csv --header no --names time,level,text --comment '#'
  tdb import people people.csv --types 'zip=string,height=float32' --force
  tdb import events events.ndjson --dims id
  tdb import weather '2024-*.csv' s3://bucket/weather/2025.csv
  curl https://example.com/table.tsv | tdb import table - --format tsv
  tdb import image image.npy
  tdb import ocean ocean.zarr
  tdb import trips trips.parquet --dims pickup")]
pub(crate) struct ImportArgs {
    /// Folder of the array, which is created if it does not exist.
    pub(super) array: PathBuf,
    /// The files, which are imported together, or one Zarr folder; - for standard input. A name in
    /// quotes with *, ? or [ is a pattern. Also URLs of stores, such as s3://bucket/table.csv.
    #[arg(required = true, value_name = "FILE")]
    pub(super) given: Vec<PathBuf>,
    /// The files that are meant by that.
    #[arg(skip)]
    pub(super) found: OnceCell<Vec<PathBuf>>,
    /// Rows of the program itself, which take the place of a file.
    #[cfg(feature = "sql")]
    #[arg(skip)]
    pub(super) rows: OnceCell<ResultFile>,
    /// Columns to use as coordinates of a new array, separated by commas.
    #[arg(long, value_name = "A,B")]
    pub(super) dims: Option<String>,
    /// The types of columns of a new array, instead of those that fit the first rows or that a
    /// Parquet or Arrow file has; tdb create --help lists types. With ? after a type, cells may be
    /// null, also if the files have none that is.
    #[arg(long, value_name = "NAME=TYPE[?],…")]
    pub(super) types: Vec<String>,
    /// Make an array that is dense along the rows, which has no room for more rows. Without --dims
    /// only.
    #[arg(long, conflicts_with = "dims")]
    pub(super) dense: bool,
    /// The domain of a dimension of a new array, outside which no cell can ever be written.
    /// Default: wide.
    #[arg(long, value_name = "DIM=LO..HI", allow_hyphen_values = true)]
    pub(super) domain: Vec<String>,
    /// Choose the filters of a new array by datatype and by a sample of the data, and print them.
    /// Default: zstd 3.
    #[arg(long, value_enum)]
    pub(super) compress: Option<Compress>,
    /// What becomes of rows of the file with the same coordinates. Default: error, except in an
    /// array that allows duplicates.
    #[arg(long, value_enum, value_name = "RULE")]
    pub(super) duplicates: Option<Rule>,
    /// The same as --duplicates allow, but only for a new array, so that repeating a command does
    /// not import its cells twice.
    #[arg(long, conflicts_with = "duplicates")]
    pub(super) allow_duplicates: bool,
    /// Columns of attributes with an enumeration have codes: positions of values, counted from 0.
    #[arg(long)]
    pub(super) codes: bool,
    /// Add values to the array's enumerations that these lack, before the cells are written.
    #[arg(long, conflicts_with = "codes")]
    pub(super) extend_enumerations: bool,
    /// Format of the file. Default: from the ending of its name (.csv, .tsv, .ndjson, .jsonl,
    /// .json, .npy, also before .gz or .zst; .parquet, .pq, .arrow, .feather, .ipc, .arrows,
    /// .zarr), or zarr for a folder with zarr.json, .zarray or .zgroup.
    #[arg(long, value_enum)]
    pub(super) format: Option<FileFormat>,
    #[command(flatten)]
    pub(super) text: TextArgs,
    /// Make a new array in place of the one that is there, which is removed once every cell of the
    /// file was found to fit its field, and its coordinates to be allowed.
    #[arg(long)]
    pub(super) force: bool,
    /// Write over the cells of a dense array.
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Keep memory below this for a Parquet or Arrow file, or a Zarr folder, e.g. 2GiB or 500MB. A
    /// batch of an Arrow file must fit half of it, a chunk of Zarr a sixth. Default: 512 MiB.
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<MemoryBudget>,
    /// Print the schema of the new array, or how many cells would be written; write nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one JSON object: the array, whether it is new, the number of cells, and what
    /// --compress chose and how the current domain grew, field by field. A dry run for a new array
    /// prints its schema.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) progress: ProgressArgs,
    #[command(flatten)]
    pub(super) lock: LockArgs,
    #[command(flatten)]
    pub(super) change: ChangeArgs,
}

/// A file, for messages.
pub(super) fn shown(file: &Path) -> &Path {
    if input::is_standard_input(file) { Path::new("standard input") } else { file }
}

impl ImportArgs {
    /// The files.
    pub(super) fn files(&self) -> &[PathBuf] {
        self.found.get().unwrap_or(&self.given)
    }

    /// The only file, for messages; `None` if there are several, whose names messages have where
    /// they are about one of them.
    fn only_file(&self) -> Option<&Path> {
        match self.files() {
            [one] => Some(shown(one)),
            _ => None,
        }
    }

    /// A failure about the contents of the files.
    pub(super) fn wrong(&self, what: impl Display) -> Failure {
        match self.only_file() {
            Some(file) => Failure::at(file, what),
            None => Failure::Failed(what.to_string()),
        }
    }

    /// A failure of a temporary file.
    pub(super) fn temporary(&self, error: &std::io::Error) -> Failure {
        Failure::at(&std::env::temp_dir(), format!("a temporary file of this import: {error}"))
    }

    /// The command line does not fit the file.
    pub(super) fn usage(&self, what: impl Display) -> Failure {
        match self.only_file() {
            Some(file) => Failure::Usage(format!("{}: {what}", file.display())),
            None => Failure::Usage(what.to_string()),
        }
    }

    /// A note about the files.
    pub(super) fn note(&self, what: &str) -> String {
        let file = self.only_file().map_or_else(String::new, |file| format!("{}: ", file.display()));
        format!("note: {file}{}", one_line(what))
    }

    /// The given format, or that of the name.
    pub(super) fn file_format(&self) -> Option<FileFormat> {
        self.format.or_else(|| FileFormat::of_name(self.files().first()?))
    }

    /// Whether the file is one of Parquet or Arrow.
    pub(super) fn has_batches(&self) -> bool {
        matches!(self.file_format(), Some(FileFormat::Parquet | FileFormat::Arrow | FileFormat::Arrows))
    }

    /// Whether the file is a folder of Zarr.
    pub(super) fn is_zarr(&self) -> bool {
        let found = || self.files().iter().any(|file| tdb_zarr_files::kind(file).is_some());
        self.file_format() == Some(FileFormat::Zarr) || self.format.is_none() && found()
    }

    /// Returns an error for options about the schema of a new array if the array exists and does
    /// not match them. Allowing duplicates is always an error then: if an import was finished but
    /// killed before it reported so, repeating the same command would write its cells a second
    /// time.
    pub(super) fn refuse_what_is_for_new_arrays(&self, schema: &ArraySchema) -> Result {
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
    pub(super) fn refuse_what_is_for_tables(&self) -> Result {
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

    /// Returns an error for an option about the text of a file of this format that has none of it.
    pub(super) fn refuse_what_is_for_text(&self, format: FileFormat) -> Result {
        let (of_cells, of_text) = (self.text.of_cells(), self.text.of_text());
        let refused = match format {
            FileFormat::Csv | FileFormat::Tsv => None,
            FileFormat::Ndjson | FileFormat::Json => {
                of_cells.map(|option| format!("{option} is only for CSV files"))
            }
            FileFormat::Npy => {
                let option = of_cells.or(of_text).or_else(|| self.text.of_columns());
                option.map(|option| format!("{option} is not for NPY files"))
            }
            FileFormat::Parquet | FileFormat::Arrow | FileFormat::Arrows => {
                let of_cells = of_cells.map(|option| format!("{option} is only for CSV files"));
                of_cells.or_else(|| of_text.map(|option| format!("{option} is only for text")))
            }
            FileFormat::Zarr => {
                let option = of_cells.or(of_text).or_else(|| self.text.of_columns());
                option.map(|option| format!("{option} is not for Zarr"))
            }
        };
        refused.map_or(Ok(()), |why| Err(self.usage(why)))
    }
}
