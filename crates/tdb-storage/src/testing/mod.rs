//! Helpers for the tests of a storage, and of programs that use one: a conformance suite, and
//! storages that are slow or fail.
//!
//! If you implement a storage, check it with [`conformance`] in a test:
//!
//! ```
//! use tdb_array::storage::{Bytes, MemoryStorage};
//! use tdb_array::storage::testing::conformance;
//!
//! // A storage of these files.
//! conformance::check_storage(|files: &[(&str, Bytes)]| MemoryStorage::new(files.iter().cloned()))?;
//! // Storages that are empty, and can be written to.
//! let checked = conformance::check_write_storage(MemoryStorage::default)?;
//! assert!(checked.not_offered.is_empty());
//! // The same place opened twice, as by two processes.
//! conformance::check_openings(|| {
//!     let storage = MemoryStorage::default();
//!     (storage.clone(), storage)
//! })?;
//! # Ok::<(), conformance::BrokenRules>(())
//! ```
//!
//! [`FarStorage`] is a storage each of whose calls takes a while; it counts them. [`FaultyStorage`]
//! is one whose calls fail according to a plan: the n-th call, the first ones, or random ones; with
//! an error, with replies that are too short, or after the operation was done.

pub mod conformance;
mod far;
mod faults;
mod faulty;

pub use far::FarStorage;
pub use faults::{Call, CallKind, Fault, Faults};
pub use faulty::FaultyStorage;
