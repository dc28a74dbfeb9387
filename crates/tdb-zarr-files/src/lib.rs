//! Zarr hierarchies in folders, versions 2 and 3, as TileDB arrays and groups, and back.
//!
//! [`import`] makes an array of an array of Zarr, and a group with all that is in it of a group.
//! [`export`] and [`export_group`] write what [`tdb_zarr`] shows to a folder, with compressed
//! chunks.
//!
//! ```
//! use std::sync::Arc;
//! use tdb_array::storage::{LocalStorage, WriteStorage};
//! use tdb_array::{Array, OpenOptions};
//! use tdb_zarr_files::{ExportOptions, ImportOptions, export, import};
//!
//! # let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! # let folder = std::env::temp_dir().join(format!("tdb-zarr-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let (array, zarr, copy) = (std::path::PathBuf::from(fixture), folder.join("a.zarr"), folder.join("copy"));
//! let exported = export(&Array::open(&array)?, &zarr, &ExportOptions::new())?;
//! println!("{} chunks, {} bytes", exported.chunks, exported.bytes);
//!
//! // Below the place of a group, its members have places of their own.
//! let place = |path: &str| Ok(Arc::new(LocalStorage::new(copy.join(path))) as Arc<dyn WriteStorage>);
//! # let zarr = zarr.join("a");
//! let imported = import(&zarr, &place, &ImportOptions::new())?;
//! for note in &imported.notes {
//!     println!("{}: {}", note.path, note.what);
//! }
//! let cells = Array::open(&copy)?.read().range("rows", 0..=0).collect()?;
//! assert_eq!(cells.field("values")?.values::<i32>()?[..2], [1, 2]);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Reader`] opens the nodes of a folder one by one, for callers that make something else of
//! them.
//!
//! # What becomes of what
//!
//! | Zarr | TileDB |
//! |---|---|
//! | an array | a dense array with the attribute `values` |
//! | a group | a group |
//! | a chunk, also one of a shard | a tile |
//! | a chunk that is not there | nothing is written |
//! | names of axes | names of dimensions, which count from 0 |
//! | the fill value | that of the attribute |
//! | attributes | metadata, which [`tdb_zarr`] shows as the same attributes |
//! | codecs | filters, where arrays have the same |
//! | values that codecs change (`delta`, `fixedscaleoffset`, …) | the values as readers see them |
//!
//! A [`Note`] says what is otherwise. Data types and codecs that arrays do not have are refused by
//! name, before anything is written.
//!
//! # Whole or not at all
//!
//! Nobody sees an imported array before all are complete, nor an exported folder. What fails is
//! removed; what a killed process leaves, the next one replaces.
//!
//! # Folders that are wrong
//!
//! A folder may have been made by anybody. Links in it are not followed. Every size is compared
//! with the bytes that are there, or with the memory, before anything is allocated, and every codec
//! stops where the chunk should end.
//!
//! # Features
//!
//! The codecs `gzip` (also for zlib), `zstd`, `lz4` and `bzip2`, and `checksum` for arrays whose
//! chunks had one, on by default. What needs one that is left out is an error that names it.
#![forbid(unsafe_code)]

mod arrays;
mod blosc;
mod blosclz;
mod boxes;
mod chain;
mod checksum;
mod chunks;
mod compressed;
mod document;
mod element;
mod error;
mod export;
mod fill;
mod filters;
mod folder;
mod import;
mod metadata;
mod number;
mod options;
mod output;
mod packed;
mod reader;
mod room;
mod runs;
mod shuffle;
mod slab;
mod target;
mod thresholds;
mod tiles;
mod transpose;
mod tree;

pub use crate::error::{Error, Problem, Result};
pub use crate::export::{Exported, export, export_experiment, export_group};
pub use crate::import::Imported;
pub use crate::options::{ExportOptions, ImportOptions, Note, Version};
pub use crate::reader::{ArrayReader, Block, Blocks, Opened, Reader};
pub use crate::tree::{Kind, import, kind, schemas};
