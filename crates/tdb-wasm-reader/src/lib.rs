//! A WebAssembly module that reads TileDB arrays out of memory.
//!
//! The host gives the module the files of an array and a time, and gets cells as bytes. The module imports nothing: no clock, no
//! randomness, no files. It is built for `wasm32-unknown-unknown` by `cargo xtask wasm`, which also runs it in Node on some
//! fixtures; `tests/read.mjs` shows a whole host.
//!
//! # Exports
//!
//! Numbers are `i32`, except times, which are `i64` (`BigInt` in JavaScript): unsigned milliseconds since 1970-01-01 UTC. The
//! memory is exported as `memory`. It may grow in any call, so the host makes its views anew afterwards.
//!
//! ```text
//! tdb_input(len) -> address            sets aside len bytes for the host to fill; 0 if there is no memory
//! tdb_file(key_len) -> status          the input is a file: its key, of key_len bytes, then its content
//! tdb_key() -> status                  the input is the 32 bytes of the key of an encrypted array
//! tdb_read(start, end, order) -> status
//!                                      opens the array as of the window start..=end and reads all its cells
//! tdb_output() -> address              what the last tdb_file, tdb_key or tdb_read left
//! tdb_output_len() -> len              how many bytes that is
//! tdb_clear()                          forgets files, key, input and output
//! ```
//!
//! A file's key is its path below the array's folder, with slashes: `__schema/__1_1_…`. An order is the format's number: 0
//! row-major, 1 column-major, 2 global, 3 unordered. Status 0 is success, and 1 a failure, whose message is then the output, as UTF-8.
//! A file or key is taken out of the input, which is empty afterwards.
//!
//! # Cells
//!
//! Cells are encoded by [`encode`], little-endian and without padding:
//!
//! ```text
//! u64                  number of cells
//! u32                  number of dimensions; 0 where the cells are no box (sparse arrays, global order)
//!   u64                  cells along each
//! u32                  number of fields; of each:
//!   u32, bytes           length and UTF-8 of its name
//!   u8                   datatype, as the format numbers them
//!   u32                  values a cell; 2^32 - 1 if cells have any number of values
//!   u8                   1 if cells may be null
//!   u64, bytes           length and bytes of the values of all cells, back to back
//!   u64 × (cells + 1)    only for any number of values: where each cell begins in these bytes, and where the last one ends
//!   u8 × cells           only if cells may be null: 0 is null
//! ```
#![deny(unsafe_code)]

mod cells;
pub mod exports;
mod session;

pub use cells::encode;
pub use session::{Session, SessionError};
