//! Opens an array: the options, and the steps from the listing of its folder to a snapshot.

use std::path::PathBuf;
use std::sync::Arc;

use tdb_codec::{ArrayType, Budget, Limits};
use tdb_filters::Key;

use super::Snapshot;
use crate::consolidated::ConsolidatedFooters;
use crate::context::Context;
use crate::deletes::Delete;
use crate::directory::{Directory, ExactFiles, FragmentEntry, retry_if_vacuumed};
use crate::fragment::Fragment;
use crate::replay::{AsyncStorage, ReplayStorage, Spawn, replay};
use crate::schemas::Schemas;
use crate::stats::{Counted, Counters};
use crate::storage::{LocalStorage, PrefetchedStorage, Request, Storage};
use crate::thresholds::{MAX_FILES_NAMED, MAX_SCHEMAS_FETCHED};
use crate::{Error, QueryError, Result, TimeWindow, clock, parallel};

/// Options for opening an array or a group. Programs use `OpenOptions`, which open arrays whose
/// cells can be read.
#[derive(Clone, Debug)]
#[must_use = "options do nothing until an array is opened with them"]
pub struct SnapshotOptions {
    start: u64,
    /// `None` is the present time.
    end: Option<u64>,
    /// `None` means as many threads as the machine has for callers that block, and none for
    /// asynchronous callers.
    threads: Option<usize>,
    limits: Limits,
    key: Option<Key>,
    spawner: Option<Arc<dyn Spawn>>,
}

/// The input of each attempt to open an array in an asynchronous storage.
struct Attempt {
    options: SnapshotOptions,
    /// The only files to use, if not all.
    files: Option<ExactFiles>,
    /// The storage, with the bytes that were fetched so far.
    replay_storage: Arc<ReplayStorage>,
    counters: Arc<Counters>,
}

impl SnapshotOptions {
    /// The default options: the array as it is at the moment of opening, as many threads as the
    /// machine has, default limits. As in libtiledb, data written with a later timestamp is not
    /// seen. What this process wrote is seen, unless it chose a later timestamp itself.
    pub fn new() -> Self {
        Self { start: 0, end: None, threads: None, limits: Limits::default(), key: None, spawner: None }
    }

    /// Sees only what was written in this window, which may extend into the future:
    /// [`TimeWindow::ALL`] sees everything. Where there is no clock, as in a browser, this is the
    /// only way to choose the time.
    pub fn window(mut self, window: TimeWindow) -> Self {
        (self.start, self.end) = (window.start, Some(window.end));
        self
    }

    /// Sees only what was written from `start` until now; if `start` is in the future, everything
    /// written from then on.
    pub fn since(mut self, start: u64) -> Self {
        (self.start, self.end) = (start, None);
        self
    }

    /// Uses at most this many threads. Each query starts them and ends them when it is done; with
    /// 1, no thread is started.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Limits the size of any single allocation that a file requests.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens an encrypted array with its key. The commit files, names and footers of encrypted
    /// arrays are not encrypted; everything else is AES-256-GCM.
    pub fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Makes `spawner` run work that keeps a processor busy for a while, for callers that await it.
    pub fn spawner(mut self, spawner: Arc<dyn Spawn>) -> Self {
        self.spawner = Some(spawner);
        self
    }

    /// Opens the array in a local folder.
    ///
    /// # Errors
    /// The folder contains no array, a file is damaged, or the array uses something that this build
    /// does not support.
    pub fn open(self, path: impl Into<PathBuf>) -> Result<Snapshot> {
        self.open_storage(LocalStorage::new(path))
    }

    /// The context of an array in this storage, with these settings.
    pub fn context(&self, storage: Box<dyn Storage>) -> Context {
        let counters = Arc::<Counters>::default();
        let storage: Arc<dyn Storage> = Arc::new(Counted::new(storage, counters.clone()));
        let prefetched = PrefetchedStorage::wrap(storage.clone()).map(Arc::new);
        Context {
            storage: prefetched.clone().map_or(storage, |prefetched| prefetched as Arc<dyn Storage>),
            prefetched,
            replay_storage: None,
            spawner: self.spawner.clone(),
            counters,
            threads: self.threads.unwrap_or_else(parallel::available).max(1),
            by_chunk: false,
            limits: self.limits,
            budget: Arc::new(Budget::new(self.limits.scratch_bytes)),
            key: self.key.clone(),
        }
    }

    /// The window to open in; an open end becomes the present time.
    pub(crate) fn time_window(&self) -> Result<TimeWindow> {
        let end = match self.end {
            Some(end) => end,
            None => clock::present().ok_or(QueryError::NoClock)?,
        };
        let open = self.end.is_none() && self.start > end;
        Ok(TimeWindow::between(self.start, if open { u64::MAX } else { end }))
    }

    /// Opens the array in a storage.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_storage(self, storage: impl Storage + 'static) -> Result<Snapshot> {
        let storage = Arc::new(storage);
        retry_if_vacuumed(|| self.open_once(self.context(Box::new(storage.clone())), None))
    }

    /// Opens the array in an asynchronous storage.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_async(self, storage: Arc<dyn AsyncStorage>) -> Result<Snapshot> {
        self.open_awaited(storage, None).await
    }

    async fn open_awaited(
        self,
        storage: Arc<dyn AsyncStorage>,
        files: Option<ExactFiles>,
    ) -> Result<Snapshot> {
        // The window is fixed here: what is written while the array is opened must not be seen by
        // one attempt and missed by another.
        let threads = self.threads.unwrap_or(1);
        let options = self.clone().window(self.time_window()?).threads(threads);
        let counters = Arc::<Counters>::default();
        let replay_storage = Arc::new(ReplayStorage::new(storage, counters.clone()));
        let (base, place) = (replay_storage.clone(), replay_storage.describe(""));
        let step = |Attempt { options, files, replay_storage, counters }: &mut Attempt| {
            retry_if_vacuumed(|| {
                let context = options.context(Box::new(replay_storage.clone()));
                let context = Context { counters: counters.clone(), ..context };
                options.open_once(context.behind(replay_storage.clone()), files.as_ref())
            })
        };
        let spawner = self.spawner.clone();
        let done =
            replay(&base, spawner.as_ref(), Attempt { options, files, replay_storage, counters }, step).await;
        done.map_err(|error| Error::io(place, error))?.1
    }

    /// Opens the array in a storage as if it contained only these files, whatever else is in the
    /// window.
    ///
    /// # Errors
    /// As [`Self::open`], and [`Error::FilesGone`] if one of them does not exist.
    pub fn open_exactly(self, storage: impl Storage + 'static, files: &ExactFiles) -> Result<Snapshot> {
        let storage = Arc::new(storage);
        retry_if_vacuumed(|| self.open_once(self.context(Box::new(storage.clone())), Some(files)))
    }

    /// [`Self::open_exactly`] in an asynchronous storage.
    ///
    /// # Errors
    /// As [`Self::open_exactly`].
    pub async fn open_exactly_async(
        self,
        storage: Arc<dyn AsyncStorage>,
        files: ExactFiles,
    ) -> Result<Snapshot> {
        self.open_awaited(storage, Some(files)).await
    }

    fn open_once(&self, context: Context, exactly: Option<&ExactFiles>) -> Result<Snapshot> {
        let window = self.time_window()?;
        let mut directory = Directory::load_prefetched(&context)?;
        let schema_key = match exactly {
            Some(files) => keep_only(&mut directory, files, &context)?,
            None => directory.latest_schema(&*context.storage, window.end)?.to_owned(),
        };
        let schemas = Schemas::new(&context);
        // It is not known yet whether the array is dense: all fragments that overlap the window may
        // be visible. The footer of a single one is read from its own file.
        let overlapping = directory.visible(window, false);
        let consolidated = match overlapping.len() {
            0 | 1 => Vec::new(),
            _ => ConsolidatedFooters::keys(&context, &directory),
        };
        context.need(|read_set| {
            read_set.files.extend(schemas_needed(&directory, &schema_key).map(Request::whole));
            read_set.files.extend(consolidated.iter().map(Request::whole));
            let deletes = directory.visible_deletes(window).filter(|delete| delete.inside.is_none());
            read_set.files.extend(deletes.map(|delete| Request::whole(&*delete.key)));
            if consolidated.is_empty() {
                read_set.files.extend(overlapping.iter().flat_map(Fragment::requests));
            }
            Ok(())
        })?;
        let schema = schemas.at(&schema_key)?;
        let dense = schema.array_type == ArrayType::Dense;
        let entries = if dense { directory.visible(window, true) } else { overlapping };
        let footers = if entries.len() > 1 {
            ConsolidatedFooters::load(&context, &consolidated)
        } else {
            ConsolidatedFooters::default()
        };
        context.need(|read_set| {
            let others = entries.iter().filter(|entry| footers.get(&entry.name).is_none());
            read_set.files.extend(others.flat_map(Fragment::requests));
            Ok(())
        })?;
        let named = |name: Option<&str>| schemas.named(name);
        let open = |entry: &FragmentEntry| {
            let footer = footers.get(&entry.name);
            let known = footer.and_then(|footer| Fragment::from_consolidated(entry, footer, &named));
            known.map_or_else(|| Fragment::open(&context, entry.clone(), &named), Ok)
        };
        let fragments = parallel::filter_map(context.threads, &entries, |entry| {
            open(entry).map(|fragment| Some(Arc::new(fragment)))
        })?;
        let deletes = directory.visible_deletes(window);
        let deletes = deletes.map(|entry| Delete::load(&context, entry)).collect::<Result<_>>()?;
        if let Some(prefetched) = &context.prefetched {
            prefetched.forget();
        }
        Ok(Snapshot {
            context: Arc::new(context),
            directory: Arc::new(directory),
            schema,
            schema_key: schema_key.into(),
            fragments: Arc::new(fragments),
            deletes: Arc::new(deletes),
            window,
            memo: Arc::default(),
        })
    }
}

/// Keeps only these files in a directory, which must contain all of them. Returns the schema's key.
fn keep_only(directory: &mut Directory, files: &ExactFiles, context: &Context) -> Result<String> {
    let mut names = directory.keep_only(files);
    if names.is_empty() {
        return Ok(files.schema.clone());
    }
    let count = names.len();
    names.truncate(MAX_FILES_NAMED);
    Err(Error::FilesGone { path: context.describe(""), names, count })
}

/// The keys of the schemas that fragments may have: all of them, unless there are many.
fn schemas_needed<'d>(directory: &'d Directory, latest: &'d str) -> impl Iterator<Item = &'d str> {
    let all = directory.schemas.len() <= MAX_SCHEMAS_FETCHED;
    directory.schemas.iter().map(String::as_str).filter(move |key| all || *key == latest)
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_a_time_is_until_now_or_without_an_end_if_the_time_is_to_come() {
        let window = |options: SnapshotOptions| options.time_window().unwrap();
        let past = window(SnapshotOptions::new().since(5));
        assert!(past.start == 5 && (6..u64::MAX).contains(&past.end));
        let future = u64::MAX / 2;
        assert_eq!(window(SnapshotOptions::new().since(future)), TimeWindow::between(future, u64::MAX));
        let again = SnapshotOptions::new().window(TimeWindow::between(3, 4)).since(5);
        assert!(window(again).end > 5);
        let threads = SnapshotOptions::new().threads(7).since(5).threads;
        assert_eq!(threads, Some(7));
    }
}
