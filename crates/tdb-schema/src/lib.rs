//! The structures that describe a TileDB array: schema, enumerations, current domain and key-value
//! metadata; and those of a group.
//!
//! A schema file is one generic tile (crate `tdb-tile`); [`ArraySchema::parse`] reads its
//! unfiltered payload. The payload contains, in this order (specification, "Array schema"):
//!
//! ```text
//! u32  format version          decides which of the fields below exist
//! u8   allows duplicates       version 5 on
//! u8   array type              0 dense, 1 sparse
//! u8   tile order, u8 cell order
//! u64  capacity                cells in a sparse data tile
//!      coords filters, offsets filters, validity filters (7 on)
//!      domain                  dimensions: name, type, domain, tile extent, filters
//!      attributes              name, type, values per cell, filters, fill value, nullability, order, enumeration
//!      dimension labels        18 on
//!      enumeration names       20 on
//!      current domain          22 on
//! ```
//!
//! ```
//! use tdb_codec::{ArrayType, CellValNum, Datatype, FormatVersion, Layout};
//! use tdb_schema::{ArraySchema, Attribute, Dimension, Domain};
//!
//! let rows = Dimension::fixed("rows", Datatype::Int32, 1i32.to_le_bytes(), 4i32.to_le_bytes())
//!     .with_tile_bytes(2i32.to_le_bytes());
//! let schema = ArraySchema::new(ArrayType::Dense, Domain::new(vec![rows]))
//!     .with_attribute(Attribute::new("a", Datatype::Float64, CellValNum::ONE));
//!
//! let payload = schema.to_bytes(FormatVersion::CURRENT)?;
//! let read = ArraySchema::parse(&payload)?;
//! assert_eq!(read.domain.dimensions[0].name, "rows");
//! assert_eq!(read.cell_order, Layout::RowMajor);
//! assert_eq!(read.attribute("a").unwrap().fill_value, f64::NAN.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`schema`](ArraySchema) that was parsed has passed [`ArraySchema::check`]: extents are
//! positive, domains are not inverted, names are unique, and dense arrays have integral dimensions
//! of one type. Code that uses the schema can therefore do arithmetic on them.
//!
//! This crate does not know: fragments, positions of tiles, timestamps of schemas, files.
#![forbid(unsafe_code)]

use tdb_codec::Structure;

mod attribute;
mod builder;
mod check;
mod codes;
mod current_domain;
mod dimension;
mod domain;
mod enumeration;
mod error;
mod express;
mod group;
mod images;
mod label;
mod metadata;
mod pipeline;
mod range;
mod schema;

pub use attribute::{Attribute, OLD_ANONYMOUS};
pub use builder::SchemaBuilder;
pub use check::{MAX_HILBERT_DIMENSIONS, SchemaProblem};
pub use codes::{Codes, position};
pub use current_domain::CurrentDomain;
pub use dimension::Dimension;
pub use domain::Domain;
pub use enumeration::Enumeration;
pub use error::{Error, Result};
pub use group::{GroupDetails, GroupMember, GroupMembers, GroupVersion, ObjectType};
pub use label::DimensionLabel;
pub use metadata::{ArrayMetadata, MetadataEntry, MetadataValue, TIMEZONE, field_key};
pub use range::Range;
pub use schema::{ArraySchema, EnumerationName, Field, FieldKind};

/// The tables of this crate's structures, one for each parser, including those of their parts. The
/// pages in `docs/format` show them.
pub static STRUCTURES: [&Structure; 4] =
    [&schema::TABLE, &enumeration::TABLE, &metadata::TABLE, &group::TABLE];
