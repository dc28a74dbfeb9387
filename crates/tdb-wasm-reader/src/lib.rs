//! A WebAssembly module that reads TileDB arrays from memory.
//!
//! The host gives the module the files of an array and a time, and gets cells as bytes. The module
//! imports nothing: no clock, no randomness, no files. It is built for `wasm32-unknown-unknown` by
//! `cargo xtask wasm`, which also runs it in Node on some fixtures; `tests/read.mjs` is a complete
//! example of a host.
//!
//! # Exports
//!
//! Numbers are `i32`, except times, which are `i64` (`BigInt` in JavaScript): unsigned milliseconds
//! since 1970-01-01 UTC. The memory is exported as `memory`. It may grow in any call, so the host
//! must create its views again after each call.
//!
//! ```text
//! tdb_input(len) -> address            allocates len bytes for the host to fill; 0 if there is not enough memory
//! tdb_file(key_len) -> status          the input is a file: its key, of key_len bytes, then its content
//! tdb_key() -> status                  the input is the key of an encrypted array: 32 bytes
//! tdb_read(start, end, order) -> status
//!                                      opens the array in the time window start..=end and reads all its cells
//! tdb_output() -> address              the output of the last tdb_file, tdb_key or tdb_read
//! tdb_output_len() -> len              the length of that output in bytes
//! tdb_clear()                          removes files, key, input and output
//! ```
//!
//! A file's key is its path relative to the array's folder, with slashes: `__schema/__1_1_…`. An
//! order is given by its number in the format: 0 row-major, 1 column-major, 2 global, 3 unordered.
//! Status 0 is success and 1 a failure; then the output is its message, as UTF-8. Storing a file or
//! key consumes the input, which is empty afterwards.
//!
//! [`Session`] is the implementation of the exports, with slices:
//!
//! ```
//! use tdb_array::TimeWindow;
//! use tdb_wasm_reader::Session;
//!
//! # use std::{fs, path::Path};
//! # let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! # let mut files: Vec<(String, Vec<u8>)> = Vec::new();
//! # let mut folders = vec![Path::new(root).to_path_buf()];
//! # while let Some(folder) = folders.pop() {
//! #     for entry in fs::read_dir(folder)? {
//! #         let path = entry?.path();
//! #         if path.is_dir() {
//! #             folders.push(path);
//! #         } else {
//! #             files.push((path.strip_prefix(root)?.display().to_string(), fs::read(&path)?));
//! #         }
//! #     }
//! # }
//! let mut session = Session::default();
//! for (key, content) in files {
//!     let input = session.input(key.len() + content.len()).ok_or("no memory")?;
//!     input.copy_from_slice(&[key.as_bytes(), &content].concat());
//!     session.file(key.len())?;
//! }
//! session.read(TimeWindow::ALL, 0)?;
//! assert_eq!(session.output()[..8], 16u64.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cells
//!
//! Cells are encoded by [`encode`], little-endian and without padding:
//!
//! ```text
//! u64                  number of cells
//! u32                  number of dimensions; 0 if the cells are not a box (sparse arrays, global order)
//!   u64                  number of cells along each
//! u32                  number of fields; for each:
//!   u32, bytes           length and UTF-8 of its name
//!   u8                   datatype, by its number in the format
//!   u32                  values per cell; 2^32 - 1 for cells of variable length
//!   u8                   1 if cells may be null
//!   u64, bytes           length and bytes of the values of all cells, back to back
//!   u64 × (cells + 1)    only for variable length: the start of each cell in these bytes, and the end of the last one
//!   u8 × cells           only if cells may be null: 0 is null
//! ```
//!
//! This crate does not know files, clocks or randomness.
#![deny(unsafe_code)]

mod cells;
pub mod exports;
mod session;

pub use cells::encode;
pub use session::{Session, SessionError};
