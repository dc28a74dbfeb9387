//! The command line of `tdb read`.

use core::num::NonZeroU16;
use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};
use tdb_array::MemoryBudget;

use crate::args::{KeyArgs, Order, RangeArgs, WindowArgs, parse_count, parse_threads};
use crate::failure::{Failure, Result};
use crate::new_file::NewName;
use crate::progress::ProgressArgs;

/// Print the cells of an array, or of a part of it.
#[derive(Debug, Group)]
#[command(after_help = "\
Values are written alike in ranges, points and conditions: numbers; dates such as '2020-02', '2020-02-29' or \
'2020-02-29T12:30+01:00', which are all of what they name, here a month, a day and a minute (< is before it, <= up to its end, = inside \
of it), or an instant if they have a fraction of a second; integers in a date field's unit; strings such as 'OSLO', with \\xNN for any byte and \\\\ \\' \\n for \
characters with a special meaning. In ranges and points quotes may be left out; then \\: \\, \\. are characters that do not separate. \
Both ends of a range are included, an empty end is open, a single value is a range of one, and the separator may be .. \
or : between the ends. Ranges and points that reach out of the domain are cut to it.

A condition compares fields with values, = (or ==) != < <= > >= in (..) not in (..) between .. and .., is null, is nan, is not null, \
joined by and, or, not and parentheses. A text is like 'JF%' if it begins with JF: % stands for any characters, _ for one, a backslash \
before them for themselves. 1.5 is between two integers: x > 1.5 begins with 2, and x = 1.5 holds for none. Here \
strings and dates must be in quotes, and so must names that are not plain words. A cell that is \
older than a field has the field's fill value, and satisfies no test of it, also not is null; tdb sql compares the fill value. Aggregates \
are over the cells that satisfy the condition. They are read from statistics instead of data wherever these are exact.

Examples:
  tdb read weather
  tdb read weather --fields temperature --subarray 0:9,3:7
  tdb read weather --range 'time=2020-01-01..2020-01-31' --range 'station=OSLO' --range 'station=S:T'
  tdb read weather --points 'station=OSLO,BERGEN' --points time=@days.txt
  tdb read weather --where \"temperature > 30 and station in ('OSLO', 'ROMA')\"
  tdb read weather --aggregate 'count, mean(temperature)' --range 'station=OSLO'
  tdb read weather --at 2020-06-01 --out june.csv
  tdb read weather --out weather.ndjson
  tdb read weather --aggregate 'count, avg(temperature)' --group-by station
  tdb read weather --format raw --out buffers")]
pub(crate) struct ReadArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    /// Fields to read, separated by commas (\, in a name). Default: all attributes, with
    /// coordinates.
    #[arg(long, value_name = "A,B")]
    pub(crate) fields: Option<String>,
    #[command(flatten)]
    pub(crate) ranges: RangeArgs,
    /// Only cells that satisfy a condition. With --format raw, the others of a dense array have
    /// fill values.
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) condition: Option<String>,
    /// Print count, or sum, mean (avg), min, max or null_count of a field, or several of these,
    /// instead of cells.
    #[arg(long, value_name = "sum(F),count", conflicts_with_all = ["fields", "order", "limit"])]
    pub(crate) aggregate: Option<String>,
    /// Print a row for each different value of these fields, separated by commas, with the
    /// aggregates of its cells. Of sparse arrays only.
    #[arg(long, value_name = "A,B", conflicts_with_all = ["fields", "order", "limit"])]
    pub(crate) group_by: Option<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Order of the cells. Default: row for dense arrays, unordered for sparse ones.
    #[arg(long, value_enum)]
    pub(crate) order: Option<Order>,
    /// Print only the first N cells.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) limit: Option<usize>,
    /// On a terminal, print all rows and columns of a table. Default: the first and the last rows,
    /// and the columns that fit.
    #[arg(long)]
    pub(crate) all: bool,
    /// Use at most N threads. Default: as many as the machine has.
    #[arg(long, value_name = "N", value_parser = parse_threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<NonZeroU16>,
    /// Keep memory below this, e.g. 2GiB or 500MB. csv, json and raw write batches as they are
    /// read; a table must fit as a whole. Default: batches of up to 1 GiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemoryBudget>,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    /// Print the codes of attributes with an enumeration: positions of values, counted from 0.
    /// Default: the values, except with --format raw.
    #[arg(long, conflicts_with = "values")]
    pub(crate) codes: bool,
    /// Print the values of attributes with an enumeration, with --format raw, too.
    #[arg(long)]
    pub(crate) values: bool,
    /// Print statistics of reading on standard error: requests, bytes, tiles, times.
    #[arg(long)]
    pub(crate) stats: bool,
    /// How to print the cells. Default: from the ending of the file's name after --out, or a table.
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Write to this file instead of standard output; for raw, to files in this folder. A name that
    /// ends with .parquet or .arrow makes what tdb export makes, in builds with the feature
    /// convert.
    #[arg(long, value_name = "DIR-or-FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file that --out names, once the new one is complete.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

impl ReadArgs {
    /// The file that is written, if it is one; raw buffers are files of a folder.
    pub(super) fn file(&self) -> Result<Option<NewName>> {
        let file = self.out.as_ref().filter(|_| self.format() != Format::Raw);
        file.map(|path| NewName::new(path, self.force)).transpose()
    }

    /// How cells are printed.
    pub(super) fn format(&self) -> Format {
        self.format.or_else(|| Format::of_ending(self.ending()?.as_str())).unwrap_or(Format::Table)
    }

    /// Whether the name of the file asks for what `tdb export` makes.
    pub(crate) fn is_export(&self) -> bool {
        let is_columnar = |ending: String| {
            matches!(ending.as_str(), "parquet" | "pq" | "arrow" | "feather" | "ipc" | "arrows")
        };
        self.format.is_none() && self.ending().is_some_and(is_columnar)
    }

    /// The ending of the file's name.
    fn ending(&self) -> Option<String> {
        Some(self.out.as_ref()?.extension()?.to_str()?.to_ascii_lowercase())
    }

    /// Whether attributes with an enumeration are shown by their values. Raw buffers are what is
    /// stored, unless values are wanted.
    pub(super) fn shows_values(&self) -> bool {
        !self.codes && (self.values || self.format() != Format::Raw)
    }
}

/// Refuses options that were given and that some kind of file does not have.
pub(crate) fn refuse(options: &[(&str, bool)], file: &str) -> Result {
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::Usage(format!("{option} does not go with {file}"))),
        None => Ok(()),
    }
}

/// How cells are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns, or a grid for a plane of one attribute.
    Table,
    /// A header and a line for each cell; nulls are empty.
    Csv,
    /// The same with tabulators.
    Tsv,
    /// One object of columns; tdb sql makes a list of rows. What does not fit into memory is in a
    /// temporary file until the end.
    Json,
    /// An object on a line for each cell, written as it is read.
    #[value(alias = "jsonl")]
    Ndjson,
    /// Little-endian buffers, and a manifest that describes them.
    Raw,
}

impl Format {
    /// The format that the ending of a file's name says.
    pub(crate) fn of_ending(ending: &str) -> Option<Self> {
        Some(match ending {
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "json" => Self::Json,
            "ndjson" | "jsonl" => Self::Ndjson,
            _ => return None,
        })
    }
}
