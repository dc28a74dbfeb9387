//! The places of arrays, groups and files: paths, and with the feature `object-store` also URLs of
//! stores.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args as Group;
use tdb_array::MemoryBudget;
use tdb_array::cache::Cache;
use tdb_array::group::Places;
use tdb_array::storage::{WriteStorage, without_secrets};
#[cfg(feature = "object-store")]
use tdb_object_store::Locations;
use tdb_text::suggest::hint;

#[cfg(not(feature = "object-store"))]
use self::without::Locations;
use crate::failure::{Failure, Result};
use crate::suggest::hint_of_place;
use crate::thresholds::{CACHE_FOLDER_SIZE, CACHE_MEMORY_SIZE};
use crate::trace::{Traced, TracedPlaces};

/// The prefix of environment variables that are options of stores.
const PREFIX: &str = "TDB_STORE_";

/// The options that are most often given, for messages about a name that is none.
const OPTIONS: [&str; 20] = [
    "aws_region",
    "aws_endpoint",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_skip_signature",
    "aws_virtual_hosted_style_request",
    "aws_request_payer",
    "azure_storage_account_name",
    "azure_storage_account_key",
    "azure_storage_sas_key",
    "azure_storage_token",
    "azure_storage_endpoint",
    "azure_skip_signature",
    "google_service_account",
    "google_service_account_key",
    "google_skip_signature",
    "allow_http",
    "proxy_url",
    "timeout",
];

/// The prefix of environment variables for the cache.
const CACHE: &str = "TDB_CACHE";
const CACHE_SIZE: &str = "TDB_CACHE_SIZE";

/// The option that was probably meant, unless this is one.
fn hint_of_option(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    if OPTIONS.contains(&name.as_str()) { String::new() } else { hint(&name, OPTIONS) }
}

/// Options for object stores.
#[derive(Debug, Default, Group)]
pub(crate) struct StoreArgs {
    /// An option for object stores, e.g. aws_region=eu-west-1, aws_endpoint=http://localhost:9000,
    /// aws_skip_signature=true. Also read from the environment: TDB_STORE_AWS_REGION, and the
    /// AWS_..., AZURE_... and GOOGLE_... variables of other tools.
    #[arg(long, value_name = "KEY=VALUE", global = true, help_heading = "Stores")]
    store_option: Vec<String>,
    /// Cache in this folder what info, read, explain, export, sql, group and meta read from stores,
    /// as far as it never changes: schemas and metadata of fragments. Several processes may use the
    /// folder at once. Also read from the environment: TDB_CACHE.
    #[arg(long, value_name = "FOLDER", global = true, help_heading = "Stores")]
    cache: Option<PathBuf>,
    /// Maximum size of the cache folder, e.g. 10GiB. Default: 1GiB. Also read from the environment:
    /// TDB_CACHE_SIZE.
    #[arg(long, value_name = "SIZE", global = true, help_heading = "Stores")]
    cache_size: Option<MemoryBudget>,
    /// Also cache cells.
    #[arg(long, global = true, help_heading = "Stores")]
    cache_tiles: bool,
}

impl StoreArgs {
    /// The cache given on the command line or in the environment.
    fn cache(&self) -> Result<Option<Cache>> {
        let own = self.cache.clone();
        let Some(folder) = own.or_else(|| std::env::var_os(CACHE).map(PathBuf::from)) else {
            return Ok(None);
        };
        if folder.as_os_str().is_empty() {
            return Ok(None);
        }
        let size = match (self.cache_size, std::env::var(CACHE_SIZE).ok().filter(|size| !size.is_empty())) {
            (Some(size), _) => size,
            (None, Some(size)) => {
                size.parse().map_err(|error| Failure::Usage(format!("{CACHE_SIZE}: {error}")))?
            }
            (None, None) => MemoryBudget::from_bytes(CACHE_FOLDER_SIZE),
        };
        let cache = Cache::folder(folder, size.bytes()).with_memory(CACHE_MEMORY_SIZE.min(size.bytes()));
        Ok(Some(cache.with_tiles(self.cache_tiles)))
    }
}

/// The storages of all places that the command line can refer to.
#[derive(Clone, Debug)]
pub(crate) struct Stores {
    locations: Locations,
    /// Whether the storages report their calls.
    traced: bool,
}

impl Stores {
    /// Uses the options of the environment and of the command line, which take precedence.
    pub(crate) fn new(args: &StoreArgs) -> Result<Self> {
        let mut locations = Locations::new();
        for (name, value) in std::env::vars_os() {
            let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
            if let (Some(name), Some(value)) = (name, value.to_str()) {
                locations = locations.option(name, value).map_err(|error| {
                    Failure::Usage(format!("{PREFIX}{name}: {error}{}", hint_of_option(name)))
                })?;
            }
        }
        for option in &args.store_option {
            // The invalid text is not repeated: it may be a secret.
            let (name, value) = option
                .split_once('=')
                .ok_or_else(|| Failure::Usage("--store-option: KEY=VALUE is needed".to_owned()))?;
            locations = locations.option(name, value).map_err(|error| {
                Failure::Usage(format!("--store-option: {error}{}", hint_of_option(name)))
            })?;
        }
        let locations = match args.cache()? {
            Some(cache) => locations.cached(cache),
            None => locations,
        };
        Ok(Self { locations, traced: false })
    }

    /// The same places without a cache: for commands that check or change what is stored.
    pub(crate) fn uncached(self) -> Self {
        Self { locations: self.locations.uncached(), ..self }
    }

    /// The same places, whose storages report their calls if `traced` is set.
    pub(crate) fn traced(self, traced: bool) -> Self {
        Self { traced, ..self }
    }

    /// Whether the storages report their calls.
    #[cfg(feature = "browse")]
    pub(crate) const fn are_traced(&self) -> bool {
        self.traced
    }

    /// The folder at a place.
    pub(crate) fn storage(&self, place: &Path) -> Result<Arc<dyn WriteStorage>> {
        let storage = match place.to_str() {
            Some(location) => {
                self.locations.storage(location).map_err(|error| Failure::Failed(error.to_string()))?
            }
            // Not UTF-8, so not a URL.
            None => Arc::new(tdb_array::storage::LocalStorage::new(place)),
        };
        Ok(if self.traced { Arc::new(Traced(storage)) } else { storage })
    }

    /// The locations of the members of groups.
    pub(crate) fn places(&self) -> Arc<dyn Places> {
        let places = self.locations.clone();
        if self.traced { Arc::new(TracedPlaces(places)) } else { Arc::new(places) }
    }

    /// Reads a whole file.
    pub(crate) fn read(&self, file: &Path) -> Result<Vec<u8>> {
        let failed = |error| Failure::at(file, error);
        if !is_url(file) {
            return std::fs::read(file).map_err(|error| match error.kind() {
                std::io::ErrorKind::IsADirectory => Failure::at(
                    file,
                    format!("{error}; tdb info shows an array, tdb dump explains one of its files"),
                ),
                std::io::ErrorKind::NotFound => Failure::at(file, format!("{error}{}", hint_of_place(file))),
                _ => failed(error),
            });
        }
        let (Some(folder), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str()))
        else {
            return Err(Failure::at(file, "this is not a file"));
        };
        let storage = self.storage(folder)?;
        let (size, bytes) = storage.read_tail(name, u64::MAX).map_err(failed)?;
        if u64::try_from(bytes.len()).is_ok_and(|len| len == size) {
            Ok(bytes.to_vec())
        } else {
            Err(failed(std::io::ErrorKind::UnexpectedEof.into()))
        }
    }
}

/// A place as it is shown: without what is secret in a URL.
pub(crate) fn shown(place: &Path) -> String {
    without_secrets(&place.to_string_lossy()).into_owned()
}

/// The place of a group as a text, which URIs of its members are made of.
pub(crate) fn location(place: &Path) -> Result<&str> {
    let location = place.to_str().map(|location| location.strip_prefix("file://").unwrap_or(location));
    location.ok_or_else(|| Failure::at(place, "the path is not valid UTF-8, which URIs of groups must be"))
}

/// Whether a place is a URL, and not a path.
pub(crate) fn is_url(place: &Path) -> bool {
    place.to_str().is_some_and(|place| place.contains("://"))
}

/// The path of a place on the local disk, which may be a URL; `None` for one of a store.
pub(crate) fn local(place: &Path) -> Option<&Path> {
    match place.to_str().and_then(|place| place.strip_prefix("file://")) {
        Some(path) => Some(Path::new(path.strip_prefix("localhost").unwrap_or(path))),
        None => (!is_url(place)).then_some(place),
    }
}

/// A place as an absolute path or URL.
pub(crate) fn absolute(place: &Path) -> Option<Cow<'_, Path>> {
    if is_url(place) { Some(place.into()) } else { Some(std::path::absolute(place).ok()?.into()) }
}

/// Replaces locations in a build without object stores.
#[cfg(not(feature = "object-store"))]
mod without {
    use std::sync::Arc;

    use tdb_array::cache::Cache;
    use tdb_array::group::{LocalPlaces, Places};
    use tdb_array::storage::{LocalStorage, Storage, WriteStorage};

    #[derive(Clone, Debug)]
    pub(crate) struct Locations;

    impl Locations {
        pub(super) const fn new() -> Self {
            Self
        }

        pub(super) fn option(self, _: &str, _: &str) -> Result<Self, String> {
            Err("this build of tdb does not support object stores (the feature object-store)".to_owned())
        }

        /// There are no stores, so there is nothing to cache.
        pub(super) fn cached(self, _: Cache) -> Self {
            self
        }

        pub(super) fn uncached(self) -> Self {
            self
        }

        pub(super) fn storage(&self, location: &str) -> Result<Arc<dyn WriteStorage>, String> {
            match location.strip_prefix("file://") {
                Some(path) => Ok(Arc::new(LocalStorage::new(path))),
                None if location.contains("://") => Err(format!(
                    "{location}: this build of tdb does not support object stores (the feature object-store)"
                )),
                None => Ok(Arc::new(LocalStorage::new(location))),
            }
        }
    }

    impl Places for Locations {
        fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
            LocalPlaces.storage(location)
        }

        fn identity(&self, location: &str) -> String {
            LocalPlaces.identity(location)
        }
    }
}
