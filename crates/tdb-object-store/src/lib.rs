//! TileDB arrays in object stores: S3, Azure Blob Storage, Google Cloud Storage, and reading from
//! plain HTTP servers.
//!
//! [`ObjectStorage`] turns a folder of any store of the `object_store` crate into a storage of
//! `tdb-array`, for reading and writing. [`open`] finds the store of a URL, with credentials from
//! the environment and from options; [`Locations`] does the same for URLs and paths as users type
//! them, and for the members of groups. `tdb-array` plans reads and announces what each step needs;
//! this crate makes those requests together.
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
//! Blocking calls may come from any thread, including workers of a runtime: this crate makes
//! requests on its own runtime. For asynchronous callers there is [`AwaitedStorage`], which makes
//! them on the caller's own tokio runtime.
//!
//! Writing follows the same protocol as in local folders: data objects are complete before the
//! commit marker is created, and the marker is created only if it does not exist. Evolving and
//! maintaining an array takes a lease where the store has conditional puts; a lease binds tdb's
//! writers, not libtiledb's.
//!
//! Folders on web servers are read using the manifest that publishing creates
//! (`WriteOptions::publish`), with GET requests only; without a manifest, WebDAV listings are used.
//!
//! Each kind of store is a feature, on by default: `aws`, `azure`, `gcp`, `http`.
//!
//! This crate does not know the format, cells or queries. It decodes nothing.
#![forbid(unsafe_code)]

mod attempts;
mod awaited;
mod error;
mod folder;
mod lease;
mod listing;
mod locations;
mod published;
mod requests;
mod runtime;
mod store;
mod uploads;
mod url;
mod version;
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp", feature = "http"))]
mod watched;
mod web;
mod writer;

pub use self::awaited::AwaitedStorage;
pub use self::folder::{PROCESS_REQUESTS, REQUESTS};
pub use self::locations::Locations;
pub use self::runtime::handle as runtime;
pub use self::store::ObjectStorage;
pub use self::url::{LocationError, is_url, open};
pub use object_store;
