//! The command line.

mod key;
mod kind;
mod parse;
mod window;

use core::num::NonZeroU16;
use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use tdb_array::{Layout, MemoryBudget, WriteOptions};

use crate::cluster::ClusterArgs;
use crate::copy::CopyArgs;
use crate::create::CreateArgs;
use crate::delete::DeleteArgs;
use crate::evolve::EvolveArgs;
use crate::export::ExportArgs;
use crate::failure::Result;
use crate::fragments::FragmentsArgs;
use crate::group::change::GroupChange;
use crate::import::ImportArgs;
use crate::maintain::{ConsolidateArgs, VacuumArgs};
use crate::meta::change::MetaChange;
use crate::place::StoreArgs;
use crate::progress::ProgressArgs;
use crate::publish::PublishArgs;
use crate::shell::{self, CompletionsArgs, ManArgs};
use crate::show::ShowArgs;
use crate::sql::SqlArgs;
use crate::trace::VerboseArgs;
use crate::write::WriteArgs;

pub(crate) use self::key::KeyArgs;
pub(crate) use self::kind::Kind;
pub(crate) use self::parse::{parse_count, parse_end, parse_threads, parse_time};
pub(crate) use self::window::WindowArgs;

/// Look at, read, write and maintain TileDB arrays.
#[derive(Debug, Parser)]
#[command(name = "tdb", version, long_version = shell::version(), arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) stores: StoreArgs,
    #[command(flatten)]
    pub(crate) verbose: VerboseArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(InfoArgs),
    Read(ReadArgs),
    Show(ShowArgs),
    Explain(ExplainArgs),
    Sql(SqlArgs),
    Cluster(ClusterArgs),
    Dump(DumpArgs),
    Verify(VerifyArgs),
    Group(GroupArgs),
    Meta(MetaArgs),
    Log(LogArgs),
    Fragments(FragmentsArgs),
    Create(CreateArgs),
    Write(WriteArgs),
    Import(ImportArgs),
    Export(ExportArgs),
    Copy(CopyArgs),
    Delete(DeleteArgs),
    Evolve(EvolveArgs),
    Consolidate(ConsolidateArgs),
    Vacuum(VacuumArgs),
    Publish(PublishArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// Whether the command only shows what is in an array or a group, so that it may use a cache. A
    /// command that checks or changes files must read the actual files.
    pub(crate) const fn only_shows(&self) -> bool {
        match self {
            // INSERT adds files, and changes none that a cache keeps.
            Self::Info(_)
            | Self::Read(_)
            | Self::Show(_)
            | Self::Explain(_)
            | Self::Export(_)
            | Self::Sql(_)
            | Self::Cluster(_) => true,
            Self::Group(args) => args.change.is_none(),
            Self::Meta(args) => args.change.is_none(),
            _ => false,
        }
    }
}

/// Show what an array is: schema, fragments, metadata.
#[derive(Debug, Group)]
#[command(
    after_help = "Examples:\n  tdb info weather\n  tdb info weather --json | jq '.fragments[].timestamps'"
)]
pub(crate) struct InfoArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The part of an array that a query reads.
#[derive(Debug, Group)]
pub(crate) struct RangeArgs {
    /// One range for each dimension, separated by commas; an empty one means the whole dimension.
    #[arg(long, value_name = "0:9,3:7", conflicts_with_all = ["range", "points"], allow_hyphen_values = true)]
    pub(crate) subarray: Option<String>,
    /// A range of a dimension or dimension label. Several ranges of the same one are combined.
    /// Dense cells are in the order of the ranges.
    #[arg(long, value_name = "DIM=LO:HI", allow_hyphen_values = true)]
    pub(crate) range: Vec<String>,
    /// Single coordinates of a dimension, separated by commas or, after an @, from a file with one
    /// per line.
    #[arg(long, value_name = "DIM=A,B or DIM=@FILE", allow_hyphen_values = true)]
    pub(crate) points: Vec<String>,
}

/// Show what a query would read, and what it can skip, using only metadata.
///
/// Fragments outside the time window or the ranges are listed with the reason; for the others, the
/// number of tiles that remain after searching the R-tree. Requests and bytes are those of whole
/// tiles.
#[derive(Debug, Group)]
#[command(after_help = "\
Ranges are written as for tdb read.

Examples:
  tdb explain weather --range 'time=2020-01-01..2020-01-31' --fields temperature
  tdb explain weather --where 'temperature > 30' --run
  tdb explain weather --json | jq .bytes")]
pub(crate) struct ExplainArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    /// Fields to read, separated by commas (\, in a name). Default: all attributes; for sparse
    /// arrays also the coordinates.
    #[arg(long, value_name = "A,B")]
    pub(crate) fields: Option<String>,
    #[command(flatten)]
    pub(crate) ranges: RangeArgs,
    /// Only cells that satisfy a condition; see tdb read.
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) condition: Option<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Order of the cells. Default: row for dense arrays, unordered for sparse ones.
    #[arg(long, value_enum)]
    pub(crate) order: Option<Order>,
    /// Also run the query, batch by batch, and print its requests, bytes, chunks, and the time of
    /// each stage.
    #[arg(long)]
    pub(crate) run: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the cells of an array, or of a part of it.
#[derive(Debug, Group)]
#[command(after_help = "\
Values are written alike in ranges, points and conditions: numbers; dates such as '2020-02', '2020-02-29' or \
'2020-02-29T12:30+01:00', which are all of what they name, here a month, a day and a minute (< is before it, <= up to its end, = inside \
of it), or an instant if they have a fraction of a second; integers in a date field's unit; strings such as 'OSLO', with \\xNN for any byte and \\\\ \\' \\n for \
characters with a special meaning. In ranges and points quotes may be left out; then \\: \\, \\. are characters that do not separate. \
Both ends of a range are included, an empty end is open, a single value is a range of one, and the separator may be .. \
or : between the ends. Ranges and points that reach out of the domain are cut to it.

A condition compares fields with values, = (or ==) != < <= > >= in (..) not in (..) is null, is nan, is not null, joined by \
and, or, not and parentheses. Here strings and dates must be in quotes, and so must names that are not plain words. A cell that is \
older than a field has the field's fill value, and satisfies no test of it, also not is null; tdb sql compares the fill value. Aggregates \
are over the cells that satisfy the condition. They are read from statistics instead of data wherever these are exact.

Examples:
  tdb read weather
  tdb read weather --fields temperature --subarray 0:9,3:7
  tdb read weather --range 'time=2020-01-01..2020-01-31' --range 'station=OSLO' --range 'station=S:T'
  tdb read weather --points 'station=OSLO,BERGEN' --points time=@days.txt
  tdb read weather --where \"temperature > 30 and station in ('OSLO', 'ROMA')\"
  tdb read weather --aggregate 'count, mean(temperature)' --range 'station=OSLO'
  tdb read weather --at 2020-06-01 --format csv --out june.csv
  tdb read weather --format ndjson --out weather.ndjson
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
    /// Print count, or sum, mean, min, max or null_count of a field, or several of these, instead
    /// of cells.
    #[arg(long, value_name = "sum(F),count", conflicts_with_all = ["fields", "order", "limit"])]
    pub(crate) aggregate: Option<String>,
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
    /// How to print the cells.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Write to this file instead of standard output; for raw, to files in this folder.
    #[arg(long, value_name = "DIR-or-FILE")]
    pub(crate) out: Option<PathBuf>,
}

impl ReadArgs {
    /// Whether attributes with an enumeration are shown by their values. Raw buffers are what is
    /// stored, unless values are wanted.
    pub(crate) fn shows_values(&self) -> bool {
        !self.codes && (self.values || self.format != Format::Raw)
    }
}

/// Explain a file of an array byte by byte.
#[derive(Debug, Group)]
#[command(after_help = "\
The kind of the file is determined from its name and its neighbours; for a file without these, give --kind. Damaged files are \
explained up to the first byte that cannot be interpreted, whose offset is shown. --json omits no byte: each field has \
its bytes in hexadecimal and, if it is more than bytes, its exact value.

Examples:
  tdb dump weather/__schema/__1577836800000_1577836800000_0123456789abcdef0123456789abcdef
  tdb dump weather/__fragments/*/__fragment_metadata.tdb --json
  tdb dump stray.tdb --kind schema")]
pub(crate) struct DumpArgs {
    /// The file.
    pub(crate) file: PathBuf,
    /// What kind of file it is.
    #[arg(long, value_enum)]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check every structure, chunk and checksum of an array, and what is stated about its cells.
///
/// Cells of sparse arrays must be in order, without forbidden duplicates, and within their
/// rectangles; statistics must match the cells. Prints a line for each problem and continues after
/// it; of each kind, only the first few of a fragment are shown. The exit code is 1 if there was
/// any problem. Odd but harmless findings are notes.
#[derive(Debug, Group)]
#[command(after_help = "Examples:\n  tdb verify weather\n  tdb verify weather --json")]
pub(crate) struct VerifyArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show a group: its members, what is at their locations, and its metadata; or change it.
#[derive(Debug, Group)]
#[command(
    after_help = "\
Members are shown with their names in the group. With --recursive, or if the group itself is in a store, members in stores are \
looked up, too; otherwise their URIs are shown.

Examples:
  tdb group stations
  tdb group stations --recursive --json
  tdb group create stations
  tdb group add stations oslo --relative --name Oslo
  tdb group remove stations Oslo",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct GroupArgs {
    #[command(subcommand)]
    pub(crate) change: Option<GroupChange>,
    /// Folder of the group.
    #[arg(required = true)]
    pub(crate) group: Option<PathBuf>,
    /// Also show the members of member groups, recursively, and look up members in stores.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the key-value metadata of an array or a group, or one value of it; or change it.
#[derive(Debug, Group)]
#[command(
    after_help = "\
Keys may contain any bytes: \\xNN is any byte, \\\\ a backslash. Without --json, a single value is printed unchanged, \
followed by a line feed for strings; --json also contains the bytes of every value in hexadecimal.

Examples:
  tdb meta weather
  tdb meta weather units
  tdb meta stations --at 2020-06-01 --json | jq '.[].key'
  tdb meta set weather units kelvin
  tdb meta set weather limits 180 330 --type float64
  tdb meta rm weather draft",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct MetaArgs {
    #[command(subcommand)]
    pub(crate) change: Option<MetaChange>,
    /// Folder of the array or group.
    #[arg(required = true)]
    pub(crate) object: Option<PathBuf>,
    /// Show only the value of this key; the exit code is 1 if there is none.
    #[arg(name = "KEY")]
    pub(crate) entry: Option<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Print JSON: a list, or one object if KEY is given.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the history of an array: schemas, writes, deletes, metadata, consolidation.
#[derive(Debug, Group)]
#[command(after_help = "\
An entry is live, or shows why it is not: superseded by a later schema, shadowed by a consolidated fragment, \
overwritten by one newer dense fragment, vacuumed, uncommitted, partly written, or damaged.

Examples:
  tdb log weather
  tdb log weather --json | jq '.events[] | select(.state == \"live\")'")]
pub(crate) struct LogArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of commands that write changes.
#[derive(Debug, Group)]
pub(crate) struct ChangeArgs {
    /// Write at this time instead of now: milliseconds since 1970, or a date in UTC.
    #[arg(long, value_name = "MS|DATE", value_parser = parse_time)]
    pub(crate) time: Option<u64>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

impl ChangeArgs {
    /// Options for writing with this key at this time.
    pub(crate) fn options(&self) -> Result<WriteOptions> {
        let options = WriteOptions::new();
        let options = match self.time {
            Some(time) => options.timestamp(time),
            None => options,
        };
        Ok(match self.key.key()? {
            Some(key) => options.key(key),
            None => options,
        })
    }
}

/// What to do where a storage has no locks.
#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct LockArgs {
    /// Go on where the storage has no locks: no other process may evolve or maintain the array
    /// meanwhile.
    #[arg(long)]
    without_lock: bool,
}

impl LockArgs {
    pub(crate) fn apply(self, options: WriteOptions) -> WriteOptions {
        if self.without_lock { options.without_lock() } else { options }
    }
}

/// An order of cells.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Order {
    /// The last dimension varies fastest.
    Row,
    /// The first dimension varies fastest.
    Col,
    /// Tile by tile, as stored.
    Global,
    /// Whatever is fastest.
    Unordered,
}

impl From<Order> for Layout {
    fn from(order: Order) -> Self {
        match order {
            Order::Row => Self::RowMajor,
            Order::Col => Self::ColMajor,
            Order::Global => Self::GlobalOrder,
            Order::Unordered => Self::Unordered,
        }
    }
}

/// How cells are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns, or a grid for a plane of one attribute.
    Table,
    /// A header and a line for each cell; nulls are empty.
    Csv,
    /// One object of columns. What does not fit into memory is in a temporary file until the end.
    Json,
    /// An object on a line for each cell, written as it is read.
    Ndjson,
    /// Little-endian buffers, and a manifest that describes them.
    Raw,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
