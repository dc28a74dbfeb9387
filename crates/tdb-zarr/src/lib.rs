//! TileDB arrays and groups shown as Zarr hierarchies, versions 2 and 3, key by key.
//!
//! Readers of Zarr ask a store for keys: documents in JSON that say what there is, and chunks of
//! cells. A [`Hierarchy`] answers such keys from an opened array. Nothing is copied or written, and
//! a key reads the tiles that it needs.
//!
//! ```
//! use tdb_array::Array;
//! use tdb_zarr::{Hierarchy, Options, Span};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let hierarchy = Hierarchy::new(&Array::open(path)?, &Options::new())?;
//! let document = hierarchy.get("a/zarr.json", Span::All)?.ok_or("no such key")?;
//! assert!(document.starts_with(b"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4,4],\"data_type\":\"int32\""));
//!
//! // The second space tile of the first two rows.
//! let chunk = hierarchy.get("a/c/0/1", Span::All)?.ok_or("no such key")?;
//! assert_eq!(chunk[..4], 3i32.to_le_bytes());
//! assert_eq!(chunk, hierarchy.get("a/0.1", Span::All)?.ok_or("no such key")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is shown how
//!
//! | TileDB | Zarr |
//! |---|---|
//! | an array | a group; its metadata are the group's attributes |
//! | a group | a group of its members |
//! | an attribute of a dense array | an array; its chunks are space tiles, uncompressed |
//! | a position | its distance from the low end of the domain |
//! | a dimension of a dense array | an axis; if it does not count from 0, an array of its coordinates, too |
//! | a label of a dimension | an array of one dimension |
//! | the current domain | the shape, which ends where it ends |
//! | a field of a sparse array | an array of one dimension: the cells in row-major order (with several chunks and one dimension of texts with bytes above 127: in another order, the same for all fields) |
//! | the attribute without a name | `values` |
//! | validity of the attribute `a` | `a_validity`, truth values: whether the cell has a value |
//! | an enumeration `e` | the array `enumerations/e`; the fields hold numbers of its values |
//! | metadata of fields (`__tiledb_attr.a.units`) | attributes of the field's array (`units`) |
//! | metadata as JSON (`__zarr_json.a`, see [`JSON`]) | the attribute `a`, parsed |
//! | several values a cell | a last axis |
//! | texts of any length | `string`; in version 2, objects with `vlen-utf8` |
//! | bytes of any length | `variable_length_bytes`; in version 2, objects with `vlen-bytes` |
//! | texts and bytes of a fixed length | `null_terminated_bytes`, `fixed_length_utf32`, `raw_bytes`; `S`, `U`, `V` |
//! | dates and times | `numpy.datetime64`, `numpy.timedelta64`; `M8`, `m8` |
//!
//! Chunks of a dense array in which nothing was written have no key, unless readers in JavaScript
//! would take another fill value. A tile of more than 256 MiB is shown as several chunks. Sparse
//! arrays have chunks of a number of cells ([`Options::rows`]), of which the widest field of a
//! fixed size has 256 MiB at most: to know how many there are, they are counted once, and an array
//! of several chunks is cut into parts, whose cells are counted once.
//!
//! Names that fields have are left to them: where an attribute is called `a_validity`, the validity
//! of `a` is `a_validity_2`, and likewise with `values` and `enumerations`. The attributes
//! `tdb_validity` and `tdb_enumeration` of a field's array say which names there are.
//!
//! [`Hierarchy::of_experiment`] shows a measurement of an experiment of SOMA in the layout of
//! AnnData.
//!
//! # What is not shown
//!
//! [`Hierarchy::refused`] lists it with the reasons: lists of numbers of any length, cells of more
//! than 256 MiB, texts and bytes of a fixed length of more than 1 MiB, names that Zarr cannot have
//! (with a slash, or beginning with two underscores), dimensions whose name an attribute has, too,
//! dense arrays with more than 64 dimensions or with 2^63 positions and more along one, the
//! coordinates of a dense dimension with more than 2^24 positions, enumerations with a value that
//! is not the text that its type says, labels that are stored outside the array, members of groups
//! that cannot be opened. A chunk with a cell that is not such a text fails, and the error names
//! the cell.
//!
//! This crate knows no files, clocks or threads, and has no C.
#![forbid(unsafe_code)]

mod anndata;
mod attributes;
mod chunk;
mod column;
mod csr;
mod described;
mod document;
mod encoded;
mod ends;
mod error;
mod form;
mod grid;
mod group;
mod hierarchy;
mod key;
mod listing;
mod matrix;
mod names;
mod node;
mod options;
mod thresholds;

pub use crate::attributes::JSON;
pub use crate::document::DIMENSIONS;
pub use crate::error::{Error, Result};
pub use crate::hierarchy::Hierarchy;
pub use crate::options::{Formats, Options, Refusal, Span};
