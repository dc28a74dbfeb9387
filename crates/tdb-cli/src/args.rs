//! Groups of arguments that several commands have.

mod key;
mod parse;
mod window;

use clap::{Args as Group, ValueEnum};
use tdb_array::{Layout, WriteOptions};

use crate::failure::Result;

pub(crate) use self::key::KeyArgs;
pub(crate) use self::parse::{parse_count, parse_end, parse_threads, parse_time};
pub(crate) use self::window::WindowArgs;

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
    #[value(alias = "row-major")]
    Row,
    /// The first dimension varies fastest.
    #[value(alias = "col-major")]
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
