//! TileDB arrays in object stores: S3, Azure Blob Storage, Google Cloud Storage, and reading from plain HTTP servers.
//!
//! [`ObjectStorage`] turns a folder of any store of the `object_store` crate into a storage of `tdb-array`, to read and
//! to write. [`open`] finds the store that a URL names, with credentials from the environment and from options;
//! [`Locations`] does it for whatever people type, paths included, and for the members of groups.
//! `tdb-array` plans reads and says what each step needs; this crate makes those requests at once.
//!
//! ```no_run
//! use tdb_array::OpenOptions;
//!
//! let storage = tdb_object_store::open("s3://bucket/path/to/array", [("aws_region", "eu-west-1")])?;
//! let array = OpenOptions::new().open_storage(storage)?;
//! let cells = array.read().range("row", 0..=99).collect()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Blocking calls may come from any thread, a worker of a runtime included: this crate makes requests on a runtime of its own.
//! For callers that await there is [`AwaitedStorage`], which makes them on the caller's own tokio runtime.
//!
//! Writing follows the protocol of local folders: data objects are complete before the commit marker is created, and
//! the marker is created only if it is not there. Evolving and maintaining an array takes a lease where the store has
//! conditional puts; a lease binds tdb's writers, not libtiledb's.
//!
//! Folders on web servers are read by the manifest that publishing puts there (`WriteOptions::publish`), with nothing but GET requests;
//! where there is none, by WebDAV listings.
//!
//! Each kind of store is a feature, on by default: `aws`, `azure`, `gcp`, `http`.
//!
//! What this crate does not know: the format, cells, queries. It decodes nothing.
#![forbid(unsafe_code)]

mod awaited;
mod error;
mod lease;
mod listing;
mod locations;
mod published;
mod runtime;
mod store;
mod url;
mod writer;

pub use self::awaited::AwaitedStorage;
pub use self::locations::Locations;
pub use self::store::{ObjectStorage, PROCESS_REQUESTS, REQUESTS};
pub use self::url::{LocationError, is_url, open};
pub use object_store;
