//! The vocabulary of the TileDB storage format: bounded little-endian reads and writes, datatypes,
//! and the version gate table. This crate knows no structure larger than a field.
//!
//! Every structure of the format is a run of little-endian fields without padding or alignment. A
//! string is a `u32` (sometimes `u64`) length followed by its bytes; a list is a count followed by
//! its items:
//!
//! ```text
//! offset  0        4        8                 12
//!         +--------+--------+-----------------+---
//!         | u32 =2 | u32 =3 | 'd' 'i' 'm'     | …     count, then length-prefixed names
//!         +--------+--------+-----------------+---
//! ```
//!
//! Bytes from a file are hostile. [`Reader`] therefore never indexes, never trusts a count before
//! it has compared it with the bytes that are left, and reports every failure with the absolute
//! offset, the field's name and the offending value:
//!
//! ```
//! use tdb_codec::{ErrorKind, Reader};
//!
//! let bytes = [2, 0, 0, 0, 3, 0, 0, 0, b'd', b'i', b'm', 1, 0, 0, 0, b'x'];
//! let mut reader = Reader::new(&bytes);
//! // A name takes at least its four length bytes, so the bytes that are left bound the count.
//! let count = reader.count_u32(4, "dimension count")?;
//! let mut names = Vec::with_capacity(count);
//! for _ in 0..count {
//!     names.push(reader.string_u32("dimension name")?);
//! }
//! reader.finish("dimension list")?;
//! assert_eq!(names, ["dim", "x"]);
//!
//! let mut truncated = Reader::new(&bytes[..10]);
//! truncated.u32("dimension count")?;
//! let error = truncated.string_u32("dimension name").unwrap_err();
//! assert_eq!(error.offset, 8);
//! assert_eq!(error.what, "dimension name");
//! assert_eq!(error.kind, ErrorKind::UnexpectedEnd { missing: 1 });
//! # Ok::<(), tdb_codec::Error>(())
//! ```
//!
//! Differences between format versions are rows of one table, [`Gate`]; no other crate contains a
//! version number:
//!
//! ```
//! use tdb_codec::{FormatVersion, Gate};
//!
//! let version = FormatVersion::parse(6)?;
//! assert!(version.has(Gate::FillValues));
//! assert!(!version.has(Gate::Nullable));
//! assert_eq!(version.to_string(), "6");
//! # Ok::<(), tdb_codec::UnsupportedVersion>(())
//! ```
//!
//! A caller that reads untrusted bytes also sets how much memory they may use: [`Limits`] bounds
//! single allocations, and a [`Budget`] is charged before a buffer grows and released afterwards.
//!
//! This crate does not know: any structure larger than a field, filters, files, paths,
//! threads, clocks.
#![forbid(unsafe_code)]

mod be;
mod buffer;
pub mod calendar;
mod cell;
mod datatype;
pub mod digits;
mod error;
mod limits;
mod native;
mod num;
mod reader;
mod structure;
mod trace;
mod version;
mod writer;

pub use be::{read_be_uint, write_be_uint};
pub use buffer::{Buffer, Memory};
pub use cell::{ArrayType, CellValNum, DataOrder, Layout};
pub use datatype::{Datatype, DatatypeClass, Physical};
pub use error::{Error, ErrorKind, Result};
pub use limits::{Budget, Limits};
pub use native::{Native, PhysicalVisitor};
pub use num::{to_u32, to_u64, to_usize};
pub use reader::Reader;
pub use structure::{FieldRow, Structure, TableMismatch, Times, Wire};
pub use trace::{Trace, TracedField};
pub use version::{FormatVersion, Gate, UnsupportedVersion};
pub use writer::Writer;
