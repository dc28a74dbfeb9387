//! The WebAssembly modules of the npm package `tdb-arrays`: TileDB arrays read over HTTP.
//!
//! A module imports nothing: no clock, no randomness, no network. The host begins a task, and polls
//! it: the module says which ranges of which files it wants, the host fetches them and gives them,
//! until the answer is there. `cargo xtask wasm` builds the modules for `wasm32-unknown-unknown`,
//! and tests them in Node and in a browser; `crates/tdb-web/npm/engine.js` is the host. Requests
//! and answers are described in [`tdb_web`], cells in [`encode`].
//!
//! # Exports
//!
//! Numbers are `i32`, except sizes, which are `i64` (`BigInt` in JavaScript). The memory is
//! exported as `memory`. It may grow in any call, so the host must create its views again after
//! each call.
//!
//! ```text
//! tdb_input(len) -> address        allocates len bytes for the host to fill; 0 if there is not enough memory
//! tdb_begin(len) -> task           the input is a request: a document in JSON, of len bytes, and the bytes that belong to it
//! tdb_poll(task) -> progress       0: the output is the answer; 1: it is the error; 2: it is what to fetch; 3: no more batches
//! tdb_end(task)                    ends a task, finished or not
//! tdb_give(id, size)               the input is what was wanted under this number, of a file that the server says has this size
//! tdb_fail(id, missing)            it cannot be had: the input says why
//! tdb_close(array)                 frees an array
//! tdb_output() -> address          the output of the last tdb_poll
//! tdb_output_len() -> len          its length in bytes
//! ```
//!
//! What to fetch is a list of `[id, key, start, end, size]`. If it is empty, the host lets other
//! work run, and polls again.
//!
//! This crate does not know files, clocks or randomness.
#![deny(unsafe_code)]

mod cells;
pub mod exports;
mod session;

pub use cells::encode;
pub use session::{Progress, Session};
