//! Where arrays and groups are, and what is needed to open them.

use std::sync::Arc;

use pyo3::prelude::*;
use tdb_array::group::Places;
use tdb_array::storage::WriteStorage;
use tdb_array::{Key, OpenOptions, TimeWindow, WriteOptions};
use tdb_object_store::Locations;

use crate::errors::Failure;
use crate::watch::Watched;

/// The length of keys.
const KEY_BYTES: usize = 32;
/// The prefix of environment variables that are options of stores.
const PREFIX: &str = "TDB_STORE_";

/// A location, the options of its store, and a key. Options and key are never shown, and never
/// leave the process.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Place {
    uri: String,
    locations: Locations,
    key: Option<Key>,
    threads: Option<usize>,
}

impl Place {
    /// The folder there, for reading: Ctrl-C ends a read of it.
    pub(crate) fn storage(&self) -> Result<Watched<Arc<dyn WriteStorage>>, Failure> {
        self.write_storage().map(Watched)
    }

    /// The folder there, for writing.
    pub(crate) fn write_storage(&self) -> Result<Arc<dyn WriteStorage>, Failure> {
        self.locations.storage(&self.uri).map_err(|error| Failure::Location(error.to_string()))
    }

    /// All places, for the members of groups.
    pub(crate) fn places(&self) -> Arc<dyn Places> {
        Arc::new(self.locations.clone())
    }

    /// All places, with the options of this one.
    #[cfg(feature = "sql")]
    pub(crate) const fn locations(&self) -> &Locations {
        &self.locations
    }

    /// The location.
    pub(crate) fn location(&self) -> &str {
        &self.uri
    }

    /// The key, if there is one.
    pub(crate) fn key(&self) -> Option<Key> {
        self.key.clone()
    }

    /// How it is opened for reading, at a time.
    pub(crate) fn open_options(&self, window: Option<(u64, u64)>) -> OpenOptions {
        let mut options = OpenOptions::new();
        if let Some((start, end)) = window {
            options = options.window(TimeWindow::between(start, end));
        }
        if let Some(key) = self.key() {
            options = options.key(key);
        }
        match self.threads {
            Some(threads) => options.threads(threads),
            None => options,
        }
    }

    /// How it is written to, at a time.
    pub(crate) fn write_options(&self, time: Option<u64>) -> WriteOptions {
        let mut options = WriteOptions::new();
        if let Some(time) = time {
            options = options.timestamp(time);
        }
        if let Some(key) = self.key() {
            options = options.key(key);
        }
        match self.threads {
            Some(threads) => options.threads(threads),
            None => options,
        }
    }
}

/// The options of stores in the environment.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.to_str()?.strip_prefix(PREFIX)?.to_lowercase();
        Some((name, value.to_str()?.to_owned()))
    })
}

#[pymethods]
impl Place {
    /// A location with options for its store, as pairs of names and values, and a key of 32 bytes.
    /// Options in the environment apply, too, unless one of the same name is given.
    #[new]
    #[pyo3(signature = (uri, options, key=None, threads=None))]
    fn new(
        uri: String,
        options: Vec<(String, String)>,
        key: Option<Vec<u8>>,
        threads: Option<usize>,
    ) -> Result<Self, Failure> {
        let mut locations = Locations::new();
        let others = environment().filter(|(name, _)| options.iter().all(|(given, _)| given != name));
        for (name, value) in others.collect::<Vec<_>>().into_iter().chain(options) {
            locations =
                locations.option(&name, value).map_err(|error| Failure::Location(error.to_string()))?;
        }
        let key = match key {
            Some(bytes) => {
                let count = bytes.len();
                let bytes = <[u8; KEY_BYTES]>::try_from(bytes).map_err(|_| {
                    Failure::Argument(format!("a key has {KEY_BYTES} bytes, but this one has {count}"))
                })?;
                Some(Key::new(bytes))
            }
            None => None,
        };
        Ok(Self { uri, locations, key, threads })
    }

    /// The location.
    #[getter]
    fn uri(&self) -> &str {
        &self.uri
    }

    fn __repr__(&self) -> String {
        format!("Place({:?})", tdb_array::storage::without_secrets(&self.uri))
    }
}
