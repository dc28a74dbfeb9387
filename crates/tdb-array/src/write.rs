//! Writes besides [`Write`](crate::Write), and changes of schemas and metadata.
//!
//! [`WriteOptions`](crate::WriteOptions) creates an array, or opens it for these:
//!
//! | To | Use |
//! |---|---|
//! | write what does not fit memory | [`DenseStream`], [`SparseStream`], [`FragmentWriter`], [`WriteBatch`] |
//! | say what happens to equal coordinates | [`Duplicates`] |
//! | change the schema | [`SchemaEvolution`] |
//! | change key-value metadata | [`MetadataChanges`] |
//! | create an array, or many, whole or not at all | [`NewArray`], [`FilledArray`], [`is_vacant`] |

#[doc(inline)]
pub use tdb_write::{
    DenseStream, Duplicates, FilledArray, FragmentWriter, MetadataChanges, NewArray, SchemaEvolution,
    SparseStream, WriteBatch, is_vacant,
};
