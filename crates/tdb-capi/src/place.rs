//! Where the URIs of callers lead: folders of the local file system, and keys of stores.

use std::sync::Arc;

use tdb_array::group::{LocalPlaces, Places};
use tdb_array::storage::{LocalStorage, Storage, WriteStorage};
use tdb_array::{OpenOptions, WriteOptions};

use crate::config::Config;
use crate::context::Context;
use crate::ffi::Failure;
use crate::stores::{FILE, Store, Stores};

/// A URI, and the storage that it leads to.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A path of the local file system.
    Local(String),
    /// A key of a store: files in memory, or a bucket.
    Stored(Store, String),
}

impl Place {
    /// The place of a URI, in the stores of a context.
    ///
    /// # Errors
    /// As [`Stores::find`].
    pub(crate) fn of(context: &Context, uri: &str) -> Result<Self, Failure> {
        Self::in_stores(context.stores(), uri)
    }

    /// The place of a URI.
    ///
    /// # Errors
    /// As [`Stores::find`].
    pub(crate) fn in_stores(stores: &Stores, uri: &str) -> Result<Self, Failure> {
        Ok(match stores.find(uri)? {
            Some((store, key)) => Self::Stored(store, key),
            None => Self::Local(uri.strip_prefix(FILE).unwrap_or(uri).to_owned()),
        })
    }

    /// The URI as libtiledb shows it: absolute, with its scheme.
    pub(crate) fn uri(&self) -> String {
        match self {
            Self::Local(path) => {
                let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
                format!("file://{}", absolute.to_string_lossy().trim_end_matches('/'))
            }
            Self::Stored(store, key) => store.uri(key),
        }
    }

    /// A file or folder below this one.
    pub(crate) fn below(&self, name: &str) -> Self {
        match self {
            Self::Local(path) => Self::Local(format!("{}/{name}", path.trim_end_matches('/'))),
            Self::Stored(store, key) if key.is_empty() => Self::Stored(store.clone(), name.to_owned()),
            Self::Stored(store, key) => Self::Stored(store.clone(), format!("{key}/{name}")),
        }
    }

    /// The folder as the storage of an array or a group.
    ///
    /// # Errors
    /// The object store cannot be used.
    pub(crate) fn storage(&self) -> Result<Arc<dyn WriteStorage>, Failure> {
        match self {
            Self::Local(path) => Ok(Arc::new(LocalStorage::new(path))),
            Self::Stored(store, key) => store.folder(key),
        }
    }
}

/// The places of the members of groups: those of URIs.
#[derive(Clone, Debug)]
pub(crate) struct ContextPlaces(pub(crate) Stores);

impl Places for ContextPlaces {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        Some(Box::new(Place::in_stores(&self.0, location).ok()?.storage().ok()?))
    }

    fn identity(&self, location: &str) -> String {
        match Place::in_stores(&self.0, location) {
            Ok(Place::Local(path)) => LocalPlaces.identity(&path),
            Ok(place) => place.uri(),
            Err(_) => location.to_owned(),
        }
    }
}

/// The key that a configuration has for arrays.
///
/// # Errors
/// It does not have the length of a key.
pub(crate) fn key(config: &Config) -> Result<Option<tdb_array::Key>, Failure> {
    if config.get("sm.encryption_type").as_deref() != Some("AES_256_GCM") {
        return Ok(None);
    }
    let text = config.get("sm.encryption_key").unwrap_or_default();
    let bytes: [u8; 32] = text
        .as_bytes()
        .try_into()
        .map_err(|_| Failure::new("Invalid encryption key; AES-256 keys have 32 bytes"))?;
    Ok(Some(tdb_array::Key::new(bytes)))
}

/// Options to open an array or a group, as a context and a configuration say.
///
/// # Errors
/// The key is none.
pub(crate) fn open_options(context: &Context, config: &Config) -> Result<OpenOptions, Failure> {
    let mut options = OpenOptions::new();
    if let Some(threads) = context.threads() {
        options = options.threads(threads);
    }
    if let Some(key) = key(config)? {
        options = options.key(key);
    }
    Ok(options)
}

/// Options to write, as a context and a configuration say.
///
/// # Errors
/// The key is none.
pub(crate) fn write_options(context: &Context, config: &Config) -> Result<WriteOptions, Failure> {
    // Schemas and codes of enumerations may be what libtiledb accepts: SOMA extends an enumeration
    // while the array is open, and writes the new codes.
    let mut options = WriteOptions::new().any_filters().older_schema().any_codes();
    if let Some(threads) = context.threads() {
        options = options.threads(threads);
    }
    if let Some(key) = key(config)? {
        options = options.key(key);
    }
    Ok(options)
}
