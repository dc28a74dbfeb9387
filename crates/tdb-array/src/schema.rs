//! The types that describe an array: dimensions, attributes, filters and metadata.
//!
//! A program that creates an array describes it with these types, and
//! [`Array::schema`](crate::Array::schema) returns them. Start with [`ArraySchema::dense`] or
//! [`ArraySchema::sparse`]: both return a [`SchemaBuilder`], which checks the schema and fills in
//! the defaults.
//!
//! ```
//! use tdb_array::schema::{ArraySchema, Attribute, Dimension, Filter, Pipeline};
//!
//! let schema = ArraySchema::dense()
//!     .dimension(Dimension::new("row", 1i32..=1000).with_tile(100i32))
//!     .dimension(Dimension::new("column", 1i32..=500).with_tile(50i32))
//!     .attribute(
//!         Attribute::of::<f32>("temperature")
//!             .with_filters(Pipeline::new(vec![Filter::ByteShuffle, Filter::Zstd { level: 5 }])),
//!     )
//!     .attribute(Attribute::string("remark").with_nulls())
//!     .build()?;
//! assert_eq!(schema.domain.dimensions.len(), 2);
//! # Ok::<(), tdb_array::error::SchemaProblem>(())
//! ```
//!
//! | To describe | Use |
//! |---|---|
//! | an array | [`ArraySchema`], [`SchemaBuilder`], [`ArrayType`], [`Layout`](crate::Layout), [`FormatVersion`] |
//! | its dimensions | [`Dimension`], [`Domain`], [`CurrentDomain`], [`DimensionLabel`], [`Range`] |
//! | its attributes | [`Attribute`], [`Datatype`], [`CellValNum`], [`DataOrder`] |
//! | how values are compressed | [`Pipeline`], [`Filter`] |
//! | named values | [`Enumeration`], [`EnumerationName`] |
//! | key-value metadata | [`ArrayMetadata`], [`MetadataValue`], [`MetadataChanges`](crate::write::MetadataChanges), [`field_key`], [`TIMEZONE`] |
//!
//! An [`Enumeration`] is stored in a separate file:
//! [`enumeration_file_name`] makes a name for it, and
//! [`WriteOptions::enumeration`](crate::WriteOptions::enumeration) adds its values to the new
//! array.
//!
//! The types come from the crates `tdb-codec`, `tdb-filters` and `tdb-schema`. Some of their
//! methods parse or write bytes; these use types, such as `Reader`, that only those crates have.

#[doc(inline)]
pub use tdb_codec::{
    ArrayType, CellValNum, DataOrder, Datatype, DatatypeClass, FormatVersion, Gate, Native, Physical,
    PhysicalVisitor, UnsupportedVersion,
};
#[doc(inline)]
pub use tdb_filters::{ByteWidth, Filter, Pipeline, PixelFormat, ScaleFloat, WebP};
#[doc(inline)]
pub use tdb_schema::{
    ArrayMetadata, ArraySchema, Attribute, CurrentDomain, Dimension, DimensionLabel, Domain, Enumeration,
    EnumerationName, Field, FieldKind, MetadataEntry, MetadataValue, Range, SchemaBuilder, TIMEZONE,
    field_key,
};
#[doc(inline)]
pub use tdb_snapshot::is_encrypted;
#[doc(inline)]
pub use tdb_write::enumeration_file_name;
