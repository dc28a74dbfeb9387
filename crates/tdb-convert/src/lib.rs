//! TileDB arrays as Parquet and Arrow IPC files, and back, in bounded memory.
//!
//! [`Export`] writes the cells of a query to a [`BatchSink`], batch by batch; [`Source`] reads a
//! file in the same way, and [`append`] writes its cells into an array.
//!
//! ```
//! use std::io::Cursor;
//! use tdb_array::storage::MemoryStorage;
//! use tdb_array::{Array, OpenOptions, WriteOptions};
//! use tdb_convert::{Export, Format, NewArray, SinkOptions, Source, Subarray, append};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let array = Array::open(path)?;
//! let part = Subarray::written(&array).ok_or("nothing was written")?;
//! let export = Export::new(part.read(&array), Some(&part), tdb_arrow::Options::new())?;
//! let mut file = Vec::new();
//! export.write(Format::Parquet, &mut file, &SinkOptions::new())?;
//!
//! let mut source = Source::open(Format::Parquet, Cursor::new(file), "quickstart.parquet", 64 << 20)?;
//! let new = NewArray::stored(source.schema())?;
//! assert_eq!(new.schema(), array.schema());
//! let storage = MemoryStorage::default();
//! new.create(WriteOptions::new()).create_storage(&storage, new.schema())?;
//! let writer = WriteOptions::new().open_storage(storage.clone())?;
//! append(&writer, &new.mapping()?, &mut source, new.subarray(), 64 << 20)?;
//!
//! let copy = OpenOptions::new().open_storage(storage)?;
//! assert_eq!(copy.read().collect()?.field("a")?.values::<i32>()?[..4], [1, 2, 3, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What comes back
//!
//! A file contains the array's schema, the values of its enumerations and, for a dense array, the
//! place of its cells, as metadata of the Arrow schema. An array made from the file again has the
//! same schema and the same cells. Exceptions:
//!
//! - Parquet stores nothing for a null: the bytes that an array has under a null come back as
//!   zeros.
//! - Parquet has no numbers outside of an enumeration. An export of such a cell is refused; as
//!   numbers ([`tdb_arrow::Enumerations::Numbers`]) it is possible.
//! - Parquet has no seconds and no durations: without the Arrow schema, other software reads these
//!   as integers, and pyarrow reads seconds so in any case. Seconds that pyarrow writes to a
//!   Parquet file are milliseconds there.
//! - Values of dimension labels, key-value metadata and the history of an array are not part of a
//!   file.
//!
//! # Memory
//!
//! An export holds a batch of the query and one row group. An import holds a batch of the file and
//! the memory of the writer. A batch of an Arrow IPC file is read whole: if it is larger than the
//! memory, the import is refused.
//!
//! # Files that are wrong
//!
//! A file may have been made by anybody. Every size in a file is compared with the bytes that are
//! there, or with the memory, before anything is allocated. If the decoder of another crate panics
//! nevertheless, that is an [`Error::File`] too.
//!
//! # Features
//!
//! The codecs are those of `tdb-array`, on by default. `brotli` reads Parquet files whose pages are
//! compressed with Brotli. The crate does not open files: it works on readers and writers.
#![forbid(unsafe_code)]

mod error;
mod export;
mod format;
mod import;
mod metadata;
mod new;
mod sink;
mod source;
mod spans;

pub use self::error::{Error, FileProblem, Result};
pub use self::export::Export;
pub use self::format::Format;
pub use self::import::{append, check, fit};
pub use self::metadata::{SUBARRAY, Subarray, enumeration_key};
pub use self::new::{NewArray, Rows, dimensions, make_room, open_domain};
pub use self::sink::{BatchSink, Compression, SinkOptions, sink};
pub use self::source::{ColumnCast, SCALE, Source};
pub use self::spans::{Spans, Watch};
pub use tdb_arrow;
