//! Filters in pipelines, with every codec, in one program: linking one takes as long as linking each
//! of two. `cargo test -p tdb-tile --test pipelines -- MODULE` runs one file.

#![cfg(all(
    feature = "gzip",
    any(feature = "zstd", feature = "zstd-rust"),
    feature = "lz4",
    feature = "bzip2",
    feature = "checksum",
    feature = "encryption",
    feature = "webp"
))]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a panic is a failure"
)]

mod chains;
mod common;
mod matrix;
