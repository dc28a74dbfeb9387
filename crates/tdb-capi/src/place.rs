//! Where the URIs of callers lead: folders of the local file system, and `mem://` of a context.

use std::sync::Arc;

use tdb_array::group::Places;
use tdb_array::storage::{Below, LocalStorage, MemoryStorage, Storage, WriteStorage};
use tdb_array::{OpenOptions, WriteOptions};

use crate::config::Config;
use crate::context::Context;
use crate::ffi::Failure;

/// The beginning of URIs in memory.
const MEMORY: &str = "mem://";

/// A URI, and the storage that it leads to.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A path of the local file system.
    Local(String),
    /// A key of a context's files in memory.
    Memory(MemoryStorage, String),
}

impl Place {
    /// The place of a URI.
    ///
    /// # Errors
    /// The URI is empty, or of a store that this build does not have.
    pub(crate) fn of(context: &Context, uri: &str) -> Result<Self, Failure> {
        if uri.is_empty() {
            return Err("Invalid URI: it is empty".into());
        }
        if let Some(key) = uri.strip_prefix(MEMORY) {
            return Ok(Self::Memory(context.memory().clone(), key.trim_matches('/').to_owned()));
        }
        let path = uri.strip_prefix("file://").unwrap_or(uri);
        if path.contains("://") {
            return Err(Failure::new(format!("Unsupported URI scheme: {uri}: not supported by tdb")));
        }
        Ok(Self::Local(path.to_owned()))
    }

    /// The URI as libtiledb shows it: absolute, with its scheme.
    pub(crate) fn uri(&self) -> String {
        match self {
            Self::Local(path) => {
                let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
                format!("file://{}", absolute.to_string_lossy().trim_end_matches('/'))
            }
            Self::Memory(_, key) => format!("{MEMORY}{key}"),
        }
    }

    /// A file or folder below this one.
    pub(crate) fn below(&self, name: &str) -> Self {
        match self {
            Self::Local(path) => Self::Local(format!("{}/{name}", path.trim_end_matches('/'))),
            Self::Memory(storage, key) if key.is_empty() => Self::Memory(storage.clone(), name.to_owned()),
            Self::Memory(storage, key) => Self::Memory(storage.clone(), format!("{key}/{name}")),
        }
    }

    /// The folder or file as a storage.
    pub(crate) fn storage(&self) -> Arc<dyn WriteStorage> {
        match self {
            Self::Local(path) => Arc::new(LocalStorage::new(path)),
            Self::Memory(storage, key) => Arc::new(Below::new(Arc::new(storage.clone()), key.clone())),
        }
    }
}

/// The places of the members of groups: those of URIs.
#[derive(Clone, Debug)]
pub(crate) struct ContextPlaces(pub(crate) MemoryStorage);

impl Places for ContextPlaces {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        match location.strip_prefix(MEMORY) {
            Some(key) => Places::storage(&self.0, key.trim_matches('/')),
            None => tdb_array::group::LocalPlaces.storage(location),
        }
    }

    fn identity(&self, location: &str) -> String {
        match location.strip_prefix(MEMORY) {
            Some(key) => format!("{MEMORY}{}", self.0.identity(key)),
            None => tdb_array::group::LocalPlaces.identity(location),
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
    // Schemas may be what libtiledb accepts.
    let mut options = WriteOptions::new().any_filters().older_schema();
    if let Some(threads) = context.threads() {
        options = options.threads(threads);
    }
    if let Some(key) = key(config)? {
        options = options.key(key);
    }
    Ok(options)
}
