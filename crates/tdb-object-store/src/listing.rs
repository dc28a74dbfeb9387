//! Names in folders of a store. A store has no folders: keys that contain `/` represent files in
//! folders.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::ListResult;
use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use tdb_storage::{Entry, Reply, Request, named};

use crate::error::io_error;
use crate::folder::Folder;

/// The maximum number of objects below a folder that are listed at once, instead of listing each of
/// its folders. Every store returns at least this many per page, so this is one request.
const PAGE: usize = 1000;

/// The minimum number of listings in one call at which all objects are listed with one request: the
/// folder's own listing, and some of folders in it.
const SEVERAL: usize = 3;

/// Everything below a folder: entries by name, by folder.
pub(crate) type Below = BTreeMap<String, BTreeMap<String, Entry>>;

impl Folder {
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
        let mut entries = BTreeMap::new();
        note_listed(&mut entries, &listed, prefix.as_ref());
        names(folder, entries)
    }

    /// The entries of a folder whose names begin with `beginning`; none if there is no such folder.
    pub(crate) async fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        let _permit = self.permit().await?;
        let Some(pages) = &self.pages else { return named(self.list(folder).await, beginning) };
        let folder = self.path(folder)?;
        let prefix = [folder.as_ref(), if folder.as_ref().is_empty() { "" } else { "/" }, beginning].concat();
        let (mut entries, mut next) = (BTreeMap::new(), None);
        loop {
            let options = PaginatedListOptions {
                delimiter: Some("/".into()),
                page_token: next,
                ..PaginatedListOptions::default()
            };
            let page = pages.list_paginated(Some(&prefix), options).await.map_err(io_error)?;
            note_listed(&mut entries, &page.result, None);
            next = page.page_token;
            if next.is_none() {
                return Ok(entries.into_values().collect());
            }
        }
    }

    /// Removes everything below a folder.
    pub(crate) async fn remove_folder(&self, key: &str) -> io::Result<()> {
        let prefix = self.path(key)?;
        // Collect all names first: a store that limits its requests has none left for removals
        // while it lists.
        let objects = self.store.list(Some(&prefix)).map_ok(|object| object.location);
        let objects: Vec<Path> = objects.try_collect().await.map_err(io_error)?;
        let objects = stream::iter(objects.into_iter().map(Ok)).boxed();
        let removed: Vec<Path> = self.store.delete_stream(objects).try_collect().await.map_err(io_error)?;
        if removed.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
    }

    /// Everything below this folder, if many of the requests are listings in it and it is small
    /// enough for one request.
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
                // The next object may be on another page. Later calls do not wait for another
                // attempt.
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

/// Adds what a store says of the folder `own`.
fn note_listed(entries: &mut BTreeMap<String, Entry>, listed: &ListResult, own: Option<&Path>) {
    let name = |path: &Path| path.filename().unwrap_or_default().to_owned();
    for object in &listed.objects {
        let name = name(&object.location);
        // Some tools create an object with the folder's own name, to represent the folder.
        if !name.is_empty() && Some(&object.location) != own {
            entries.insert(name.clone(), Entry::sized(name, object.size));
        }
    }
    for folder in &listed.common_prefixes {
        let name = name(folder);
        if !name.is_empty() {
            entries.insert(name.clone(), Entry::folder(name));
        }
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use object_store::list::{PaginatedListResult, PaginatedListStore};
    use object_store::memory::InMemory;
    use tdb_storage::WriteStorage;

    use super::*;
    use crate::folder::Client;
    use crate::store::ObjectStorage;

    /// A store that answers with one folder a page, and notes what it was asked.
    #[derive(Default)]
    struct Pages(Mutex<Vec<(String, Option<String>)>>);

    #[async_trait]
    impl PaginatedListStore for Pages {
        async fn list_paginated(
            &self,
            prefix: Option<&str>,
            options: PaginatedListOptions,
        ) -> object_store::Result<PaginatedListResult> {
            assert_eq!(options.delimiter.as_deref(), Some("/"));
            let prefix = prefix.unwrap_or_default();
            let number = options.page_token.as_deref().map_or(0, |token| token.parse::<u32>().unwrap());
            self.0.lock().unwrap().push((prefix.to_owned(), options.page_token));
            let common_prefixes = vec![Path::parse(format!("{prefix}{number}")).unwrap()];
            let result = ListResult { common_prefixes, objects: Vec::new() };
            let page_token = (number < 2).then(|| (number + 1).to_string());
            Ok(PaginatedListResult { result, page_token })
        }
    }

    #[test]
    fn a_store_is_asked_for_the_names_that_begin_so_and_for_all_pages_of_them() {
        let pages = Arc::new(Pages::default());
        for (root, asked) in [("data/a", "data/a/__fragments/__5_"), ("", "__fragments/__5_")] {
            let client = Client { store: Arc::new(InMemory::new()), pages: Some(pages.clone()) };
            let storage = ObjectStorage::shown_as(client, root.to_owned(), root.to_owned());
            let found = storage.list_named("__fragments", "__5_").unwrap();
            assert_eq!(found, ["__5_0", "__5_1", "__5_2"].map(Entry::folder));
            let [first, .., last] = &core::mem::take(&mut *pages.0.lock().unwrap())[..] else {
                panic!("pages")
            };
            assert_eq!((first, last), (&(asked.to_owned(), None), &(asked.to_owned(), Some("2".to_owned()))));
        }
        let client = Client { store: Arc::new(InMemory::new()), pages: Some(pages) };
        let storage = ObjectStorage::shown_as(client, String::new(), String::new());
        assert_eq!(storage.list_named("", "__5_").unwrap().len(), 3);
    }
}
