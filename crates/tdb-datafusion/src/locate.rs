//! Finds the storage of an array by its location in SQL.

use std::fmt;
use std::sync::Arc;

use datafusion::common::plan_err;
use tdb_array::storage::{LocalStorage, WriteStorage, location_without_secrets};

use crate::Result;

/// Finds the folder that a location in SQL means.
///
/// This crate itself knows local folders only ([`LocalFolders`]), and needs no crate of object
/// stores. A program that has those hands them in with
/// [`TdbTableFactory::locate`](crate::TdbTableFactory::locate), with its own options, credentials
/// and cache: none of these is ever part of a statement.
pub trait Locate: fmt::Debug + Send + Sync {
    /// The storage at a location: a path or a URL. Nothing is read yet.
    ///
    /// # Errors
    /// A location of a kind that is not known.
    fn storage(&self, location: &str) -> Result<Arc<dyn WriteStorage>>;

    /// The location as a process in another working folder has to name it. Nothing is read.
    fn absolute(&self, location: &str) -> String {
        location.to_owned()
    }
}

/// Local folders: paths, and `file://` URLs.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFolders;

impl Locate for LocalFolders {
    fn storage(&self, location: &str) -> Result<Arc<dyn WriteStorage>> {
        match location.strip_prefix("file://") {
            Some(path) => Ok(Arc::new(LocalStorage::new(path))),
            None if location.contains("://") => {
                let location = location_without_secrets(location);
                plan_err!("{location}: this session reads arrays in local folders only")
            }
            None => Ok(Arc::new(LocalStorage::new(location))),
        }
    }

    fn absolute(&self, location: &str) -> String {
        let path = if location.contains("://") { None } else { std::path::absolute(location).ok() };
        path.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| location.to_owned())
    }
}
