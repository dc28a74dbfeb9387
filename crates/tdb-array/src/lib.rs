//! Read and write TileDB arrays in pure Rust.
//!
//! An array is a folder: schema files, fragments (one per write), commit files that mark complete
//! fragments, and metadata files. [`Array::open`] lists it and reads the schema and the footers of
//! the visible fragments; [`Array::read`] starts a query, which plans byte ranges, fetches them,
//! decodes tiles and puts cells in order:
//!
//! ```text
//! ARRAY/__schema/__t_t_uuid                        what the cells are
//!       __fragments/__t_t_uuid_22/a0.tdb, d0.tdb   their values, tile after tile
//!       __fragments/__t_t_uuid_22/__fragment_metadata.tdb
//!       __commits/__t_t_uuid_22.wrt                the fragment counts
//!       __meta/__t_t_uuid                          key-value metadata
//! ```
//!
//! ```
//! use tdb_array::{Array, Layout};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let array = Array::open(path)?;
//! let cells = array.read().fields(["a"]).range("rows", 1..=2).order(Layout::RowMajor).collect()?;
//! let a: &[i32] = cells.field("a")?.values()?;
//! assert_eq!(cells.shape(), Some(&[2, 4][..]));
//! assert_eq!(a, [1, 2, 3, 4, 5, 6, 7, 8]);
//! # Ok::<(), tdb_array::Error>(())
//! ```
//!
//! [`WriteOptions`] creates arrays and opens them for writing; a write makes one fragment.
//!
//! A program needs no other crate of this project. The names that most programs use are here; the
//! others are in a module for each topic:
//!
//! | Module | Contents |
//! |---|---|
//! | [`schema`] | what describes an array: dimensions, attributes, filters, metadata |
//! | [`query`] | conditions, aggregates, groups, batches, plans and statistics of queries |
//! | [`write`](mod@write) | other ways to write than [`Write`], and changes of schema and metadata |
//! | [`maintain`] | consolidation, vacuum, verification |
//! | [`history`] | what happened to an array over time |
//! | [`group`] | groups of arrays |
//! | [`storage`] | where the bytes are: [`storage::Storage`], to implement, and the ones there are |
//! | [`cache`] | what was read of files that never change, kept |
//! | [`publish`] | manifests, by which plain web servers give arrays to readers |
//! | [`error`] | the errors inside [`Error`], and the reasons inside these |
//! | [`stored`] | the contents of files, in the form in which the format stores them |
//!
//! The folder `examples` has a short program for each usual task.
//!
//! Results are columns with the layout that Arrow uses: values back to back, offsets (one more than
//! cells) and validity, a byte per cell; [`Column::values`] views them as `&[T]` without a copy.
//!
//! [`Read::collect`] returns a whole result; [`Read::batches`] returns it in pieces that keep the
//! whole query inside a memory budget ([`MemoryBudget`]), however large it is. [`Read::partitions`]
//! divides a query into several, for other threads or, as a [`query::QueryDescription`],
//! for other processes.
//!
//! If an array needs something that this build does not support, the call fails with
//! [`Error::Unsupported`], which names it; nothing is skipped silently.
//!
//! # Features
//!
//! Each codec that has a dependency is a feature. On by default: `gzip`, `zstd` (the C library),
//! `lz4`, `bzip2`, `checksum`, `encryption`, `webp`, and `large-pages` (results in pages of 2 MiB,
//! on Linux). Off: `zstd-rust` (Zstandard without C; with both, the C library does the work),
//! `webp-lossy` (writes lossy images, with C), and `async` ([`query::BackgroundBatches`] is a
//! `futures_core::Stream`). Reading a field with a filter that was left out fails, and the error
//! names the feature. Keep `gzip`: schemas and fragment metadata are stored with it. Without any C:
//!
//! ```toml
//! [dependencies.tdb-array]
//! version = "0.1"
//! default-features = false
//! features = ["gzip", "zstd-rust", "lz4", "bzip2", "checksum", "encryption", "webp", "large-pages"]
//! ```
//!
//! This crate has no code of its own: it re-exports what programs need of the crates below it, and
//! its tests check that all of them do what this page says. It must not contain anything else.
#![forbid(unsafe_code)]

pub mod cache;
pub mod error;
pub mod group;
pub mod history;
pub mod maintain;
pub mod publish;
pub mod query;
pub mod schema;
pub mod storage;
pub mod stored;
pub mod write;

#[doc(inline)]
pub use tdb_cells::{Cells, Column, Error, MemoryBudget, Result, TimeWindow, field};
#[doc(inline)]
pub use tdb_codec::{Layout, Limits};
#[doc(inline)]
pub use tdb_filters::Key;
#[doc(inline)]
pub use tdb_query::{Array, OpenOptions, Read};
#[doc(inline)]
pub use tdb_write::{ArrayWriter, Write, WriteColumn, WriteOptions};

/// The example of the page for programs in Rust, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Page;
