//! The stores behind URIs: the files in memory of a context, and object stores.

mod options;

use std::sync::Arc;

use tdb_array::storage::{Below, MemoryStorage, WriteStorage};
#[cfg(feature = "stores")]
use tdb_object_store::Locations;

use crate::config::Config;
use crate::ffi::Failure;

/// The beginning of URIs in memory.
const MEMORY: &str = "mem://";
/// The beginning of URIs of the local file system.
pub(crate) const FILE: &str = "file://";

/// The stores of a context or of a virtual file system, which share the files in memory.
#[derive(Clone, Debug)]
pub(crate) struct Stores {
    memory: MemoryStorage,
    #[cfg(feature = "stores")]
    remote: Remote,
}

/// Object stores with the options of a configuration.
#[cfg(feature = "stores")]
#[derive(Clone, Debug)]
struct Remote {
    locations: Locations,
    /// What is set, and cannot be followed.
    refused: Vec<String>,
}

/// One of the stores, whose files have keys.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// The beginning of its URIs: `mem://`, `s3://bucket/`.
    root: String,
    files: Arc<dyn WriteStorage>,
    #[cfg(feature = "stores")]
    locations: Option<Locations>,
}

impl Stores {
    /// The stores that a configuration describes, with these files in memory.
    pub(crate) fn new(memory: MemoryStorage, config: &Config) -> Self {
        #[cfg(not(feature = "stores"))]
        let _ = config;
        Self {
            memory,
            #[cfg(feature = "stores")]
            remote: Remote { locations: options::locations(config), refused: options::refused(config) },
        }
    }

    /// The same files in memory, and the object stores of another configuration.
    pub(crate) fn with_config(&self, config: &Config) -> Self {
        Self::new(self.memory.clone(), config)
    }

    /// The store of a URI, and the key there; nothing for a path of the local file system.
    ///
    /// # Errors
    /// The URI is empty, or of a store that this build does not have, or the configuration asks
    /// for something that tdb does not do.
    pub(crate) fn find(&self, uri: &str) -> Result<Option<(Store, String)>, Failure> {
        if uri.is_empty() {
            return Err("Invalid URI: it is empty".into());
        }
        if let Some(key) = uri.strip_prefix(MEMORY) {
            return Ok(Some((Store::memory(&self.memory), key.trim_matches('/').to_owned())));
        }
        if uri.strip_prefix(FILE).unwrap_or(uri).contains("://") {
            return self.remote(uri).map(Some);
        }
        Ok(None)
    }

    #[cfg(feature = "stores")]
    fn remote(&self, uri: &str) -> Result<(Store, String), Failure> {
        if let (Some(key), true) = (self.remote.refused.first(), uri.starts_with("s3://")) {
            return Err(Failure::not_supported(key));
        }
        let (scheme, rest) = uri.split_once("://").ok_or("Invalid URI")?;
        if !options::SCHEMES.contains(&scheme) {
            return Err(unsupported(uri));
        }
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let root = format!("{scheme}://{bucket}/");
        let locations = self.remote.locations.clone();
        let files = locations.storage(&root).map_err(|error| Failure::of("VFS", error))?;
        let store = Store { root, files, locations: Some(locations) };
        Ok((store, key.trim_matches('/').to_owned()))
    }

    #[cfg(not(feature = "stores"))]
    #[expect(clippy::unused_self, reason = "a build with object stores uses it")]
    fn remote(&self, uri: &str) -> Result<(Store, String), Failure> {
        Err(unsupported(uri))
    }
}

fn unsupported(uri: &str) -> Failure {
    Failure::new(format!("Unsupported URI scheme: {uri}: not supported by tdb"))
}

impl Store {
    /// Files in memory.
    pub(crate) fn memory(files: &MemoryStorage) -> Self {
        Self {
            root: MEMORY.to_owned(),
            files: Arc::new(files.clone()),
            #[cfg(feature = "stores")]
            locations: None,
        }
    }

    /// Other files in the place of a bucket.
    #[cfg(all(test, feature = "stores"))]
    pub(crate) fn of_bucket(files: Arc<dyn WriteStorage>) -> Self {
        Self { root: "s3://bucket/".to_owned(), files, locations: None }
    }

    /// All its files, by key.
    pub(crate) fn files(&self) -> &dyn WriteStorage {
        &*self.files
    }

    /// The URI of a key.
    pub(crate) fn uri(&self, key: &str) -> String {
        format!("{}{key}", self.root)
    }

    /// Whether it is in memory.
    pub(crate) fn is_memory(&self) -> bool {
        self.root == MEMORY
    }

    /// Whether both are one store.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.root == other.root
    }

    /// A folder as the storage of an array or a group.
    ///
    /// # Errors
    /// The object store cannot be used.
    pub(crate) fn folder(&self, key: &str) -> Result<Arc<dyn WriteStorage>, Failure> {
        #[cfg(feature = "stores")]
        if let Some(locations) = &self.locations {
            // A storage of its own has a lease of its own.
            return locations.storage(&self.uri(key)).map_err(|error| Failure::of("VFS", error));
        }
        Ok(Arc::new(Below::new(self.files.clone(), key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stores(settings: &[(&str, &str)]) -> Stores {
        let mut config = Config::default();
        settings.iter().for_each(|(key, value)| config.set(key, value).unwrap());
        Stores::new(MemoryStorage::default(), &config)
    }

    #[test]
    fn uris_lead_to_paths_files_in_memory_and_objects() {
        let stores = stores(&[("vfs.s3.region", "eu-west-1"), ("vfs.s3.no_sign_request", "true")]);
        assert!(stores.find("a/b").unwrap().is_none());
        assert!(stores.find("file:///a").unwrap().is_none());
        let (store, key) = stores.find("mem://a/b/").unwrap().unwrap();
        assert_eq!((store.uri(&key), store.is_memory()), ("mem://a/b".to_owned(), true));
        assert!(stores.find("").is_err());
        assert!(stores.find("hdfs://host/a").unwrap_err().text().contains("Unsupported URI scheme"));
        #[cfg(feature = "stores")]
        {
            let (store, key) = stores.find("s3://bucket/path/to/array/").unwrap().unwrap();
            assert_eq!(store.uri(&key), "s3://bucket/path/to/array");
            assert_eq!(store.folder(&key).unwrap().describe("f"), "s3://bucket/path/to/array/f");
        }
        #[cfg(not(feature = "stores"))]
        assert!(stores.find("s3://bucket/a").is_err());
    }

    #[cfg(feature = "stores")]
    #[test]
    fn a_setting_that_cannot_be_followed_is_refused_by_name() {
        let stores = stores(&[("vfs.s3.ca_file", "/etc/own.pem")]);
        let failure = stores.find("s3://bucket/a").unwrap_err();
        assert!(failure.text().contains("vfs.s3.ca_file"), "{failure}");
        assert!(stores.find("mem://a").is_ok());
    }
}
