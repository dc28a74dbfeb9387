//! The contents of the files of an array, in the form in which the format stores them.
//!
//! Few programs need these types. [`ArrayWriter::delete`](crate::ArrayWriter::delete) takes a
//! [`Condition`], which [`QueryCondition::to_stored`](crate::query::QueryCondition::to_stored)
//! makes. [`Fragment::footer`] returns a [`Footer`], which contains the basic metadata of a
//! fragment.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/sparse2d_rr");
//! use tdb_array::stored::{Comparison, Condition};
//! use tdb_array::{Array, field};
//!
//! let array = Array::open(path)?;
//! let attribute = array.schema().attributes[0].name.as_str();
//! let condition = field(attribute).gt(5).to_stored(&array)?;
//! assert!(matches!(condition, Condition::Value { comparison: Comparison::Greater, .. }));
//! # Ok::<(), tdb_array::Error>(())
//! ```

#[doc(inline)]
pub use tdb_fragment::{
    Comparison, Condition, Footer, Junction, OptionalSection, Section, SectionOffsets, Slots,
};
#[doc(inline)]
pub use tdb_query::StoredCells;
#[doc(inline)]
pub use tdb_snapshot::Fragment;
