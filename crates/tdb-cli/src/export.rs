//! `tdb export`: the cells of an array as a file for other software.

#[cfg(feature = "convert")]
mod convert;
#[cfg(feature = "convert")]
mod destination;
mod zarr;

use core::num::NonZeroU16;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args as Group, ValueEnum, value_parser};
use tdb_array::MemoryBudget;

use crate::args::{KeyArgs, Order, RangeArgs, WindowArgs, parse_threads};
use crate::failure::Result;
use crate::place::Stores;
use crate::progress::ProgressArgs;
use crate::read::{self, Format, ReadArgs, refuse};
use crate::screen::Screen;

/// Write the cells of an array, or of a part of it, to a Parquet or Arrow file, or to a text; or a
/// whole array or group to a Zarr folder.
///
/// A Parquet or Arrow file contains the array's schema, too: tdb import makes the same array of it.
/// Memory is bounded whatever the size of the array, and the file is there only once it is
/// complete. These need a build with the feature convert. A name that ends with .csv, .tsv, .json
/// or .ndjson makes the text that tdb read --out makes. A name that ends with .zarr makes what tdb
/// serve shows as Zarr, with compressed chunks.
#[derive(Debug, Group)]
#[command(after_help = "\
Ranges and conditions are written as for tdb read. Of a dense array, the smallest box around all written cells is exported, or \
the part of it that is in the ranges; cells in it that were never written have their fill values. With --where, only the cells that \
satisfy the condition. A file with such a selection, with several ranges of one dimension, in another order than that of the tiles, \
or without coordinates cannot become the same dense array again.

Enumerated attributes become dictionaries, days dates, and booleans bits. A cell that these types cannot represent, and text that is \
not UTF-8, is an error; --as-stored exports numbers and bytes instead.

Zarr has no parts, orders or conditions of an array: all of it is exported. An array becomes a group with an array for each attribute, or, if that is all there is, that array. Tiles become chunks, filters the codecs that do the same, and notes say what is otherwise. The folder is there only once it is complete.

Examples:
  tdb export weather weather.parquet
  tdb export weather june.parquet --range 'time=2020-06-01..2020-06-30' --fields station,temperature
  tdb export weather old.arrow --at 2020-06-01 --compression zstd
  tdb export image image.zarr --zarr 2
  tdb export s3://bucket/weather hot.parquet --where 'temperature > 30' --memory 256MiB
  tdb export weather - | python -c 'import pyarrow, sys; print(pyarrow.ipc.open_stream(sys.stdin.buffer).read_all())'")]
pub(crate) struct ExportArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    /// The new file; - for standard output.
    pub(crate) file: PathBuf,
    /// Fields to write, separated by commas (\, in a name). Default: all coordinates and
    /// attributes.
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
    /// Order of the cells. Default: that of the tiles for dense arrays, unordered for sparse ones.
    #[arg(long, value_enum)]
    pub(crate) order: Option<Order>,
    /// Format of the file. Default: from the ending of its name (.parquet, .pq, .arrow, .feather,
    /// .ipc, .arrows, .zarr); on standard output, arrows.
    #[arg(long, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    /// Version of Zarr. Default: 3.
    #[arg(long, value_name = "2|3", value_parser = value_parser!(u8).range(2..=3))]
    pub(crate) zarr: Option<u8>,
    /// How values are compressed. Default: zstd in Parquet files, none in Arrow files, which can
    /// then be mapped into memory.
    #[arg(long, value_enum)]
    pub(crate) compression: Option<ExportCompression>,
    /// Write the numbers and bytes that the array has, instead of values of enumerations, dates,
    /// booleans and text.
    #[arg(long)]
    pub(crate) as_stored: bool,
    /// Replace the file that is there, once the new one is complete.
    #[arg(long)]
    pub(crate) force: bool,
    /// Use at most N threads. Default: as many as the machine has.
    #[arg(long, value_name = "N", value_parser = parse_threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<NonZeroU16>,
    /// Keep memory below this, e.g. 2GiB or 500MB. Batches and row groups become smaller. Default:
    /// 1 GiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemoryBudget>,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

impl ExportArgs {
    /// The arguments of the export that a name after `tdb read --out` asks for.
    fn of_read(args: ReadArgs) -> Result<Self> {
        let not_there = [
            ("--aggregate", args.aggregate.is_some()),
            ("--group-by", args.group_by.is_some()),
            ("--limit", args.limit.is_some()),
            ("--all", args.all),
            ("--codes", args.codes),
            ("--values", args.values),
            ("--stats", args.stats),
        ];
        refuse(&not_there, "a Parquet or Arrow file; other files are csv, tsv, json and ndjson")?;
        Ok(Self {
            array: args.array,
            file: args.out.unwrap_or_default(),
            fields: args.fields,
            ranges: args.ranges,
            condition: args.condition,
            window: args.window,
            key: args.key,
            order: args.order,
            format: None,
            zarr: None,
            compression: None,
            as_stored: false,
            force: args.force,
            threads: args.threads,
            memory: args.memory,
            progress: args.progress,
        })
    }

    /// Whether a folder of Zarr is asked for.
    fn is_zarr(&self) -> bool {
        let ending = self.file.extension().and_then(|ending| ending.to_str());
        match self.format {
            Some(format) => format == ExportFormat::Zarr,
            None => ending.is_some_and(|ending| ending.eq_ignore_ascii_case("zarr")),
        }
    }

    /// Whether the name of the file asks for text, as `tdb read` writes it.
    fn is_text(&self) -> bool {
        let ending = self.file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        self.format.is_none() && ending.is_some_and(|ending| Format::of_ending(&ending).is_some())
    }

    /// The arguments of the `tdb read` that writes this text.
    fn into_read(self) -> Result<ReadArgs> {
        let not_there = [
            ("--compression", self.compression.is_some()),
            ("--as-stored", self.as_stored),
            ("--zarr", self.zarr.is_some()),
        ];
        refuse(&not_there, "a text; .parquet, .arrow and .zarr have it")?;
        Ok(ReadArgs {
            array: self.array,
            fields: self.fields,
            ranges: self.ranges,
            condition: self.condition,
            aggregate: None,
            group_by: None,
            window: self.window,
            key: self.key,
            order: self.order,
            limit: None,
            all: true,
            threads: self.threads,
            memory: self.memory,
            progress: self.progress,
            codes: false,
            values: false,
            stats: false,
            format: None,
            out: Some(self.file),
            force: self.force,
        })
    }
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
    /// A folder of Zarr.
    Zarr,
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

/// Runs the command.
pub(crate) fn run(
    args: ExportArgs,
    stores: &Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    if args.is_text() {
        read::run(&args.into_read()?, stores, screen, out, err)
    } else if args.is_zarr() {
        zarr::run(&args, stores, out, err)
    } else {
        convert(&args, stores, screen, out, err)
    }
}

/// Runs the export that a name after `tdb read --out` asks for.
pub(crate) fn of_read(
    args: ReadArgs,
    stores: &Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    convert(&ExportArgs::of_read(args)?, stores, screen, out, err)
}

/// Without the feature, the command is known, and says how to get it.
#[cfg(not(feature = "convert"))]
fn convert(_: &ExportArgs, _: &Stores, _: Option<Screen>, _: &mut dyn Write, _: &mut dyn Write) -> Result {
    Err(crate::failure::Failure::Failed(crate::features::NO_CONVERT.to_owned()))
}

/// Makes a Parquet or Arrow file.
#[cfg(feature = "convert")]
fn convert(
    args: &ExportArgs,
    stores: &Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    convert::run(args, stores, screen.is_some(), out, err)
}
