//! A WebAssembly module that reads TileDB arrays out of memory.
//!
//! The host gives the module the files of an array and a time, and gets cells as bytes. The module imports nothing: no
//! clock, no randomness, no files. It is built for `wasm32-unknown-unknown` by `cargo xtask wasm`, which also runs it
//! in Node on some fixtures; `tests/read.mjs` shows a whole host.
//!
//! # Exports
//!
//! Numbers are `i32`, except times, which are `i64` (`BigInt` in JavaScript): unsigned milliseconds since 1970-01-01
//! UTC. The memory is exported as `memory`. It may grow in any call, so the host has to make its views again after each
//! call.
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
//! A file's key is its path below the array's folder, with slashes: `__schema/__1_1_…`. An order is the format's
//! number: 0 row-major, 1 column-major, 2 global, 3 unordered. Status 0 is success and 1 a failure, whose message is
//! then the output, as UTF-8. A file or key is taken out of the input, which is empty afterwards.
//!
//! [`Session`] is what the exports do, in terms of slices:
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
//! u32                  number of dimensions; 0 where the cells are not a box (sparse arrays, global order)
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
//!
//! What this crate does not know: files, clocks, randomness.
#![deny(unsafe_code)]

mod cells;
pub mod exports;
mod session;

pub use cells::encode;
pub use session::{Session, SessionError};
