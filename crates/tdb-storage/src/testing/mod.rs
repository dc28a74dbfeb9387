//! What the tests of a storage, and of programs on one, need: a suite of checks, and storages that are slow or fail.
//!
//! Whoever brings a storage of their own has [`conformance`] check it, from a test:
//!
//! ```
//! use tdb_array::testing::conformance;
//! use tdb_array::{Bytes, MemoryStorage};
//!
//! // A storage of these files.
//! conformance::check_storage(|files: &[(&str, Bytes)]| MemoryStorage::new(files.iter().cloned()))?;
//! // Storages that are empty, and can be written to.
//! let checked = conformance::check_write_storage(MemoryStorage::default)?;
//! assert!(checked.not_offered.is_empty());
//! // A place that two have opened, as two processes do.
//! conformance::check_openings(|| {
//!     let storage = MemoryStorage::default();
//!     (storage.clone(), storage)
//! })?;
//! # Ok::<(), conformance::BrokenRules>(())
//! ```
//!
//! [`FarStorage`] is a storage each of whose calls takes a while; it counts them. [`FaultyStorage`] is one whose calls fail as a
//! plan says: the n-th, the first ones, some at random; with an error, with replies that are too short, or after what was asked
//! for was done.

pub mod conformance;
mod far;
mod faults;
mod faulty;

pub use far::FarStorage;
pub use faults::{Call, CallKind, Fault, Faults};
pub use faulty::FaultyStorage;
