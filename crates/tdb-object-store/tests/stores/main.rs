//! The tests of object stores in one program: linking one takes as long as linking each of five.
//! `cargo test -p tdb-object-store --test stores -- MODULE` runs one file.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod arrays;
mod common;
mod conformance;
#[cfg(feature = "http")]
mod server;
#[cfg(feature = "http")]
mod store_examples;
mod store_faults;
#[cfg(feature = "http")]
mod web;
