//! Paths and URLs of any kind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tdb_cache::{Cache, Origin};
use tdb_storage::AsyncStorage;
use tdb_storage::{LocalPlaces, LocalStorage, Places, Storage, WriteStorage};

use crate::awaited::{AwaitedStorage, BlockingThreads};
use crate::store::ObjectStorage;
use crate::url::{self, LocationError, is_url};

/// Turns locations into storages: paths, `file://` URLs, and URLs of stores, all with the same
/// options.
///
/// It also implements [`Places`] for groups, so that members in stores are found wherever the group
/// is.
///
/// ```
/// use tdb_object_store::Locations;
/// use tdb_array::storage::Storage;
///
/// let locations = Locations::new().option("aws_region", "eu-west-1")?.option("aws_skip_signature", "true")?;
/// assert_eq!(locations.storage("s3://bucket/array")?.describe("x"), "s3://bucket/array/x");
/// assert_eq!(locations.storage("file:///data/array")?.describe("x"), "/data/array/x");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Locations {
    options: Vec<(String, String)>,
    /// The cache in front of all stores.
    cache: Option<Cache>,
    /// Storages of stores that were opened already: their connections are reused.
    open: Arc<Mutex<HashMap<String, (ObjectStorage, Origin)>>>,
}

impl core::fmt::Debug for Locations {
    /// Options are shown by name only: their values may be secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names: Vec<&str> = self.options.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Locations")
            .field("options", &names)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

impl Locations {
    /// Locations whose stores take their options only from the environment.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an option, such as `aws_region`, for all stores that have it.
    ///
    /// # Errors
    /// [`LocationError::UnknownOption`] if no store of this build has it.
    pub fn option(mut self, name: &str, value: impl Into<String>) -> Result<Self, LocationError> {
        let name = name.to_ascii_lowercase();
        if !url::is_option(&name) {
            return Err(LocationError::UnknownOption { key: name });
        }
        self.options.push((name, value.into()));
        self.open = Arc::default();
        Ok(self)
    }

    /// Uses a cache for all stores, but not for paths. Cached data is identified by the URL of the
    /// store, the folder, and all options, including those of the environment: what was read with
    /// some credentials is not available with others.
    #[must_use]
    pub fn cached(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The same locations without a cache.
    #[must_use]
    pub fn uncached(mut self) -> Self {
        self.cache = None;
        self
    }

    /// The storage for a location. Nothing is read yet.
    ///
    /// # Errors
    /// A URL that no store of this build supports, or a store that cannot be used, for instance
    /// because credentials or a region are missing.
    pub fn storage(&self, location: &str) -> Result<Arc<dyn WriteStorage>, LocationError> {
        Ok(match local_path(location) {
            Some(path) => Arc::new(LocalStorage::new(path)),
            None => {
                let (storage, origin) = self.store(location)?;
                match &self.cache {
                    Some(cache) => Arc::new(cache.over(storage, origin)),
                    None => Arc::new(storage),
                }
            }
        })
    }

    /// The folder of a store's URL, for asynchronous callers. Each call creates a separate client.
    ///
    /// # Errors
    /// As for [`Self::storage`]; also if the location is a path.
    pub fn awaited(&self, location: &str) -> Result<Arc<dyn AsyncStorage>, LocationError> {
        let (storage, origin) = self.open(location)?;
        let storage = AwaitedStorage::from(storage);
        Ok(match &self.cache {
            Some(cache) => Arc::new(cache.over_awaited(storage, origin, Some(Arc::new(BlockingThreads)))),
            None => Arc::new(storage),
        })
    }

    /// The storage of a store's URL, and the origin of its files.
    fn store(&self, location: &str) -> Result<(ObjectStorage, Origin), LocationError> {
        if let Some(known) = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(location) {
            return Ok(known.clone());
        }
        let opened = self.open(location)?;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(location.to_owned(), opened.clone());
        Ok(opened)
    }

    fn open(&self, location: &str) -> Result<(ObjectStorage, Origin), LocationError> {
        let own = self.options.iter().filter(|(name, _)| url::has_option(location, name));
        let resolved = url::resolve(location, own.map(|(name, value)| (name, value.clone())))?;
        Ok((resolved.storage()?, resolved.origin()))
    }
}

/// The path of a location in the local file system; `None` for URLs of stores.
fn local_path(location: &str) -> Option<&str> {
    // libtiledb writes such URLs with the characters as they are, not percent-encoded.
    let path = location.strip_prefix("file://").map(|rest| rest.strip_prefix("localhost").unwrap_or(rest));
    path.or_else(|| (!is_url(location)).then_some(location))
}

impl Places for Locations {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        match local_path(location) {
            Some(path) => LocalPlaces.storage(path),
            // With the cache, if there is one.
            None => Some(Box::new(self.storage(location).ok()?)),
        }
    }

    fn identity(&self, location: &str) -> String {
        match local_path(location) {
            Some(path) => LocalPlaces.identity(path),
            None => location.trim_end_matches('/').to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls_of_files_are_local() {
        for (location, path) in [
            ("a/b", "a/b"),
            ("file:///a b/%20", "/a b/%20"),
            ("file://localhost/a", "/a"),
            ("C:\\a", "C:\\a"),
        ] {
            assert_eq!(local_path(location), Some(path));
        }
        assert_eq!(local_path("s3://bucket/a"), None);
    }

    #[test]
    fn an_option_goes_to_the_stores_that_have_it() {
        let locations = Locations::new()
            .option("AWS_REGION", "x")
            .and_then(|all| all.option("aws_skip_signature", "true"))
            .and_then(|all| all.option("google_skip_signature", "true"))
            .unwrap();
        assert!(locations.storage("s3://bucket/a").is_ok());
        assert!(locations.storage("gs://bucket/a").is_ok());
        let error = Locations::new().option("aws_regoin", "x").unwrap_err();
        assert!(error.to_string().contains("aws_regoin"), "{error}");
    }

    #[test]
    fn values_of_options_are_not_shown() {
        let locations = Locations::new().option("aws_secret_access_key", "hidden").unwrap();
        let shown = format!("{locations:?}");
        assert!(shown.contains("aws_secret_access_key") && !shown.contains("hidden"), "{shown}");
    }

    #[test]
    fn a_store_that_is_not_known_is_no_place() {
        assert!(Places::storage(&Locations::new(), "ftp://host/a").is_none());
        assert_eq!(Places::identity(&Locations::new(), "s3://b/a/"), "s3://b/a");
    }
}
