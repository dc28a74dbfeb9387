//! TileDB arrays as Apache Arrow record batches, and back, without copying values.
//!
//! [`batches`] turns a query into a `RecordBatchReader`, the type that DataFusion, Polars, Parquet
//! writers and other Arrow software read from. A tdb result already has the layout of Arrow: values
//! and 64-bit offsets become Arrow buffers without a copy. Only validity is written anew, one bit
//! per cell, if a cell is null.
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
//! [`schema_of`] makes the schema of a new array; [`Mapping::write_batch`] turns batches into
//! columns for writes and streams:
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{Float64Array, RecordBatch, StringArray};
//! use tdb_array::WriteOptions;
//! use tdb_array::schema::Dimension;
//! use tdb_array::storage::MemoryStorage;
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
//! [`Mapping::append_all`] feeds a stream from a reader. A dictionary becomes an enumerated
//! attribute if it came from one, or if [`SchemaOptions::enumerations`] is set; otherwise it
//! becomes plain values.
//!
//! # Types
//!
//! [`docs/tables/arrow.md`](https://github.com/tdb-rs/tdb/blob/main/docs/tables/arrow.md) is the
//! table of all types, made from [`types`]. No value is lost by default: a value whose unit Arrow
//! does not have stays a number, and the field's metadata names its datatype ([`metadata`]). With
//! that metadata, [`schema_of`] returns exactly the schema that the array had: dimensions, tile
//! extents, filters, fill values. For a type that the format does not have, the error names the
//! type and says what to do instead.
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
//! The codecs are those of `tdb-array`, on by default. `async` adds `batches_async`, a
//! `futures_core::Stream` of record batches.
//!
//! The Arrow crates are re-exported, because their types are in this crate's signatures: a new
//! major version of theirs is also a new major version of this crate. This crate knows nothing of
//! files, byte layouts, or how queries are answered.
#![forbid(unsafe_code)]

mod cells;
mod columns;
mod coordinates;
mod dictionary;
mod error;
mod infer;
mod keys;
mod mapping;
pub mod metadata;
mod options;
mod reader;
#[cfg(feature = "async")]
mod stream;
pub mod types;
mod views;

pub use self::coordinates::Coordinates;
pub use self::error::{Error, Result};
pub use self::infer::{SchemaOptions, enumerations_of, schema_of};
pub use self::mapping::{ArrowCells, BATCH_ROWS, Mapping};
pub use self::options::{Booleans, Chars, Days, Enumerations, Offsets, Options, Text};
pub use self::reader::{BatchReader, batches};
#[cfg(feature = "async")]
pub use self::stream::{AsyncBatchReader, batches_async};
pub use arrow_array;
pub use arrow_schema;
