//! What a page asks of TileDB arrays, and what it gets: requests in JSON, answers as blocks of
//! bytes.
//!
//! `tdb-wasm-reader` makes WebAssembly modules of this, and the folder `npm` the package
//! `tdb-arrays` of those: arrays read over HTTP. A module says which ranges of which files it wants
//! ([`Exchange`]), its host fetches them in parallel and gives them, until the answer is there. So
//! it is the engine's awaited reading (`tdb_array::storage::AsyncStorage`), with the same few
//! requests.
//!
//! # Requests
//!
//! ```text
//! {"op": "open", "url", "start", "end", "key"?, "files"?}    the bytes are the manifest, unless files are named: [[key, size], …]
//! {"op": "fragments" | "metadata", "array"}
//! {"op": "enumeration", "array", "name"}
//! {"op": "read" | "batches", "array", "fields"?, "ranges"?, "where"?, "order"?, "selection"?, "batchBytes"?, "first"?}
//! {"op": "aggregate", "array", "ranges"?, "where"?, "aggregates", "groupBy"?, "maxGroups"?}
//! {"op": "zarr", "array", "version"?, "rows"?, "key"?, "between"?, "last"?}    the array or group as Zarr
//! ```
//!
//! Answers are described in [`message`].
//!
//! This crate does not know files, clocks or randomness.
#![forbid(unsafe_code)]

pub mod describe;
mod failure;
pub mod message;
pub mod open;
pub mod query;
pub mod thresholds;
pub mod zarr;

pub use failure::Failure;
#[doc(inline)]
pub use tdb_storage::replay::{Exchange, Wanted};
