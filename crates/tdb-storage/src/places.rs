//! Storages for the locations of the members of a group.

use core::fmt::Debug;
use std::fs;
use std::sync::Arc;

use crate::{Below, LocalStorage, MemoryStorage, Storage};

/// Turns locations into storages: paths of local folders, or any URIs that an implementation
/// supports.
pub trait Places: Debug + Send + Sync {
    /// The storage for a location; `None` if this implementation does not support it.
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>>;

    /// One text for all locations that mean the same folder, so that a walk over groups notices
    /// where it has been.
    fn identity(&self, location: &str) -> String;
}

/// The local file system: locations are paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalPlaces;

impl Places for LocalPlaces {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        if location.contains("://") {
            return None;
        }
        Some(Box::new(LocalStorage::new(location)))
    }

    fn identity(&self, location: &str) -> String {
        // Links may lead a group into itself under longer and longer names.
        let real = fs::canonicalize(location);
        real.map_or_else(|_| location.to_owned(), |path| path.to_string_lossy().into_owned())
    }
}

/// The folders of a storage in memory: locations are keys.
impl Places for MemoryStorage {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        if location.contains("://") || location.starts_with('/') {
            return None;
        }
        Some(Box::new(Below::new(Arc::new(self.clone()), self.identity(location))))
    }

    fn identity(&self, location: &str) -> String {
        let mut parts: Vec<&str> = Vec::new();
        for part in location.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        parts.join("/")
    }
}
