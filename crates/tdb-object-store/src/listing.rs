//! Names in folders of a store. A store has no folders: keys that contain `/` represent files in folders.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use object_store::path::Path;
use tdb_storage::storage::{Entry, Reply, Request};

use crate::error::io_error;
use crate::store::Inner;

/// The maximum number of objects below a folder that are listed at once, instead of listing each of its folders. Every
/// store returns at least this many per page, so this is one request.
const PAGE: usize = 1000;

/// The minimum number of listings in one call at which all objects are listed with one request: the folder's own
/// listing, and some of folders in it.
const SEVERAL: usize = 3;

/// Everything below a folder: entries by name, by folder.
pub(crate) type Below = BTreeMap<String, BTreeMap<String, Entry>>;

impl Inner {
    /// The names in a folder.
    pub(crate) async fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        if let Some(manifest) = self.published().await? {
            return manifest.listed(folder);
        }
        let prefix = self.path(folder)?;
        let prefix = (!prefix.as_ref().is_empty()).then_some(prefix);
        let listed = match &self.web {
            Some(web) => web.list(prefix.as_ref()).await?,
            None => self.store.list_with_delimiter(prefix.as_ref()).await.map_err(io_error)?,
        };
        let name = |path: &Path| path.filename().unwrap_or_default().to_owned();
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for object in &listed.objects {
            let name = name(&object.location);
            // Some tools create an object with the folder's own name, to represent the folder.
            if !name.is_empty() && Some(&object.location) != prefix.as_ref() {
                entries.insert(name.clone(), Entry::sized(name, object.size));
            }
        }
        for folder in &listed.common_prefixes {
            let name = name(folder);
            if !name.is_empty() {
                entries.insert(name.clone(), Entry::folder(name));
            }
        }
        names(folder, entries)
    }

    /// Everything below this folder, if many of the requests are listings in it and it is small enough for one request.
    pub(crate) async fn all_below(&self, requests: &[Request]) -> Option<Below> {
        let listings = requests.iter().filter(|request| matches!(request, Request::List(_))).count();
        let whole =
            requests.iter().any(|request| matches!(request, Request::List(folder) if folder.is_empty()));
        // Web servers have a manifest, or answer for one folder at a time.
        if !whole || listings < SEVERAL || self.web.is_some() || self.is_large.load(Ordering::Relaxed) {
            return None;
        }
        let prefix = self.path("").ok().filter(|prefix| !prefix.as_ref().is_empty())?;
        let _permit = self.permit().await.ok()?;
        let mut objects = self.store.list(Some(&prefix));
        let (mut below, mut sizes, mut count) = (Below::new(), HashMap::new(), 0usize);
        while let Some(object) = objects.next().await {
            count = count.saturating_add(1);
            if count >= PAGE {
                // The next object may be on another page. Later calls do not wait for another attempt.
                self.is_large.store(true, Ordering::Relaxed);
                return None;
            }
            // If the store has an error, the requested listings will report it.
            let object = object.ok()?;
            let Some(key) = object.location.as_ref().strip_prefix(prefix.as_ref()) else { continue };
            let key = key.trim_start_matches('/');
            if key.is_empty() {
                continue;
            }
            note(&mut below, key, object.size);
            sizes.insert(key.to_owned(), object.size);
        }
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).extend(sizes);
        Some(below)
    }
}

/// Adds an object, and the folders that contain it.
fn note(below: &mut Below, key: &str, size: u64) {
    let (mut folder, name) = key.rsplit_once('/').unwrap_or(("", key));
    if !name.is_empty() {
        let files = below.entry(folder.to_owned()).or_default();
        files.entry(name.to_owned()).or_insert_with(|| Entry::sized(name, size));
    }
    while !folder.is_empty() {
        let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        // A folder replaces a file of the same name, as when a single folder is listed.
        below.entry(above.to_owned()).or_default().insert(name.to_owned(), Entry::folder(name));
        folder = above;
    }
}

/// The answer to a listing, from everything below the folder.
pub(crate) fn answer(below: &Below, folder: &str) -> io::Result<Reply> {
    names(folder, below.get(folder).cloned().unwrap_or_default()).map(Reply::Entries)
}

/// The entries of a folder; for a store, a folder without entries does not exist.
fn names(folder: &str, entries: BTreeMap<String, Entry>) -> io::Result<Vec<Entry>> {
    if entries.is_empty() && !folder.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(entries.into_values().collect())
}
