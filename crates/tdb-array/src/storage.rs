//! Where bytes come from and go to.
//!
//! A [`Storage`] reads the files of one array, and a [`WriteStorage`] writes them, too. A program
//! can implement them for a place of its own; [`testing`] checks that it keeps their rules. An
//! [`AsyncStorage`] answers callers that await.
//!
//! ```
//! use tdb_array::schema::{ArraySchema, Attribute, Dimension};
//! use tdb_array::storage::MemoryStorage;
//! use tdb_array::{OpenOptions, WriteOptions};
//!
//! let schema = ArraySchema::dense()
//!     .dimension(Dimension::new("row", 1i32..=4))
//!     .attribute(Attribute::of::<i32>("a"))
//!     .build()?;
//! let storage = MemoryStorage::default();
//! WriteOptions::new().create_storage(&storage, &schema)?;
//! assert_eq!(OpenOptions::new().open_storage(storage)?.schema(), &schema);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use bytes::Bytes;
#[doc(inline)]
pub use tdb_storage::{
    AsyncStorage, Below, ByteRange, Durability, Entry, FetchHints, Fetching, FileVersion, FileWriter,
    Immediate, LocalStorage, MemoryStorage, Reply, Request, Spawn, Storage, StorageLock, StoredFile,
    TEMPORARY, Tally, WriteStorage, location_without_secrets, testing, without_secrets, write_file,
};
