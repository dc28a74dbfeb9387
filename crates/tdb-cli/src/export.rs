//! `tdb export`: the cells of an array as a file for other software.

#[cfg(feature = "convert")]
mod convert;
#[cfg(feature = "convert")]
mod destination;

use core::num::NonZeroU16;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};
use tdb_array::MemoryBudget;

use crate::args::{KeyArgs, Order, RangeArgs, WindowArgs, parse_threads};
use crate::failure::Result;
use crate::place::Stores;
use crate::progress::ProgressArgs;

/// Write the cells of an array, or of a part of it, to a Parquet or Arrow file.
///
/// The file contains the array's schema, too: tdb import makes the same array of it. Memory is
/// bounded whatever the size of the array, and the file is there only once it is complete. Builds
/// with the feature convert have this command; tdb read --format csv writes text.
#[derive(Debug, Group)]
#[command(after_help = "\
Ranges and conditions are written as for tdb read. Of a dense array, the smallest box around all written cells is exported, or \
the part of it that is in the ranges; cells in it that were never written have their fill values. With --where, only the cells that \
satisfy the condition. A file with such a selection, with several ranges of one dimension, in another order than that of the tiles, \
or without coordinates cannot become the same dense array again.

Enumerated attributes become dictionaries, days dates, and booleans bits. A cell that these types cannot represent, and text that is \
not UTF-8, is an error; --as-stored exports numbers and bytes instead.

Examples:
  tdb export weather weather.parquet
  tdb export weather june.parquet --range 'time=2020-06-01..2020-06-30' --fields station,temperature
  tdb export weather old.arrow --at 2020-06-01 --compression zstd
  tdb export s3://bucket/weather hot.parquet --where 'temperature > 30' --memory 256MiB
  tdb export weather - | python -c 'import pyarrow, sys; print(pyarrow.ipc.open_stream(sys.stdin.buffer).read_all())'")]
pub(crate) struct ExportArgs {
    /// Folder of the array.
    array: PathBuf,
    /// The new file; - for standard output.
    file: PathBuf,
    /// Fields to write, separated by commas (\, in a name). Default: all coordinates and
    /// attributes.
    #[arg(long, value_name = "A,B")]
    fields: Option<String>,
    #[command(flatten)]
    ranges: RangeArgs,
    /// Only cells that satisfy a condition; see tdb read.
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Order of the cells. Default: that of the tiles for dense arrays, unordered for sparse ones.
    #[arg(long, value_enum)]
    order: Option<Order>,
    /// Format of the file. Default: from the ending of its name (.parquet, .pq, .arrow, .feather,
    /// .ipc, .arrows); on standard output, arrows.
    #[arg(long, value_enum)]
    format: Option<ExportFormat>,
    /// How values are compressed. Default: zstd in Parquet files, none in Arrow files, which can
    /// then be mapped into memory.
    #[arg(long, value_enum)]
    compression: Option<ExportCompression>,
    /// Write the numbers and bytes that the array has, instead of values of enumerations, dates,
    /// booleans and text.
    #[arg(long)]
    as_stored: bool,
    /// Replace the file that is there, once the new one is complete.
    #[arg(long)]
    force: bool,
    /// Use at most N threads. Default: as many as the machine has.
    #[arg(long, value_name = "N", value_parser = parse_threads, allow_negative_numbers = true)]
    threads: Option<NonZeroU16>,
    /// Keep memory below this, e.g. 2GiB or 500MB. Batches and row groups become smaller. Default:
    /// 1 GiB.
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemoryBudget>,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// A format of files that are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Parquet.
    #[value(alias = "pq")]
    Parquet,
    /// An Arrow IPC file, also called Feather.
    #[value(aliases = ["feather", "ipc"])]
    Arrow,
    /// An Arrow IPC stream, which is read from front to back.
    Arrows,
}

/// How the values of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportCompression {
    None,
    Zstd,
    Lz4,
    /// For Parquet files only.
    Snappy,
}

/// Without the feature, the command is known, and says how to get it.
#[cfg(not(feature = "convert"))]
pub(crate) fn run(_: &ExportArgs, _: &Stores, _: bool, _: &mut dyn Write, _: &mut dyn Write) -> Result {
    Err(crate::failure::Failure::Failed(crate::features::NO_CONVERT.to_owned()))
}

/// Runs the command. `is_terminal` says whether standard output is one.
#[cfg(feature = "convert")]
pub(crate) fn run(
    args: &ExportArgs,
    stores: &Stores,
    is_terminal: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    convert::run(args, stores, is_terminal, out, err)
}
