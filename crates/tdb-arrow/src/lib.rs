//! TileDB arrays as Apache Arrow record batches, and back, without copying values.
//!
//! [`batches`] turns a query into a `RecordBatchReader`, which DataFusion, Polars, Parquet writers and whatever else knows
//! Arrow read from. A tdb result has the layout of Arrow already: values and 64-bit offsets become buffers where they are, and
//! only validity is written anew, a bit a cell, where a cell is null.
//!
//! ```
//! use arrow_array::cast::AsArray;
//! use arrow_array::types::Int32Type;
//! use tdb_array::Array;
//! use tdb_arrow::Options;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let array = Array::open(path)?;
//! let mut sum = 0;
//! for batch in tdb_arrow::batches(array.read().fields(["a"]).range("rows", 1..=2), Options::new())? {
//!     sum += batch?.column(0).as_primitive::<Int32Type>().values().iter().sum::<i32>();
//! }
//! assert_eq!(sum, 36);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From Arrow
//!
//! [`schema_of`] makes the schema of a new array; [`Mapping::write_batch`] turns batches into what writes and streams take:
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{Float64Array, RecordBatch, StringArray};
//! use tdb_array::schema::Dimension;
//! use tdb_array::{MemoryStorage, WriteOptions};
//! use tdb_arrow::{Mapping, Options, SchemaOptions, schema_of};
//!
//! let stations = Arc::new(StringArray::from(vec!["Oslo", "Bergen"]));
//! let rain = Arc::new(Float64Array::from(vec![Some(0.5), None]));
//! let batch = RecordBatch::try_from_iter_with_nullable([("station", stations as _, false), ("rain", rain as _, true)])?;
//!
//! let options = SchemaOptions::sparse().dimension(Dimension::string("station"));
//! let schema = schema_of(batch.schema_ref(), &options)?;
//! let storage = MemoryStorage::default();
//! WriteOptions::new().create_storage(&storage, &schema)?;
//!
//! let writer = WriteOptions::new().open_storage(storage)?;
//! let mapping = Mapping::new(&schema, [], Options::new())?;
//! let cells = mapping.write_batch(&batch)?;
//! cells.columns().into_iter().fold(writer.write(), |write, column| write.column(column)).commit()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Mapping::append_all`] feeds a stream from a reader. A dictionary becomes an enumerated attribute if it came from one, or
//! if [`SchemaOptions::enumerations`] asks for it, and plain values otherwise.
//!
//! # Types
//!
//! [`docs/tables/arrow.md`](https://github.com/tdb-rs/tdb/blob/main/docs/tables/arrow.md) is the table of all types, made
//! from [`types`]. No value is lost by default: what Arrow has no unit for stays a number, and the field's metadata names its
//! datatype ([`metadata`]). With that metadata, [`schema_of`] gives exactly the schema that the array had: dimensions,
//! tile extents, filters, fill values. A type that the format lacks is refused by name, with what to do instead.
//!
//! # What is copied
//!
//! | | To Arrow | From Arrow |
//! |---|---|---|
//! | numbers, bytes, keys of dictionaries | no | no |
//! | 64-bit offsets of text and bytes | no | those of slices |
//! | 64-bit offsets of lists | divided in place | yes |
//! | 32-bit offsets, views | yes | yes |
//! | `BOOL` | packed | unpacked |
//! | validity | packed, if a cell is null | unpacked |
//! | 32-bit dates and times | on request | yes |
//! | dictionaries with other values than the enumeration has | | yes |
//!
//! # Features
//!
//! Codecs are those of `tdb-array`, on by default. `async` adds `batches_async`, a `futures_core::Stream` of record batches.
//!
//! The Arrow crates are re-exported, because their types are in this crate's signatures and a new major version of theirs is
//! one of this crate. What this crate does not know: files, byte layouts, how queries are answered.
#![forbid(unsafe_code)]

mod cells;
mod columns;
mod dictionary;
mod error;
mod infer;
mod mapping;
pub mod metadata;
mod options;
mod reader;
#[cfg(feature = "async")]
mod stream;
pub mod types;

pub use self::error::{Error, Result};
pub use self::infer::{SchemaOptions, enumerations_of, schema_of};
pub use self::mapping::{ArrowCells, Mapping};
pub use self::options::{Booleans, Chars, Days, Enumerations, Offsets, Options, Text};
pub use self::reader::{BatchReader, batches};
#[cfg(feature = "async")]
pub use self::stream::{AsyncBatchReader, batches_async};
pub use arrow_array;
pub use arrow_schema;
