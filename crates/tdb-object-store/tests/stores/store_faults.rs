//! Stores that fail at any request of a change: the old state stays or the new one is complete, and
//! nothing is left over that a vacuum does not find.

use core::fmt;
use core::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::stream::{BoxStream, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result as StoreResult,
};
use tdb_array::maintain::{Consolidation, Stored, Vacuum, verify};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::write::{MetadataChanges, SchemaEvolution};
use tdb_array::{ArrayWriter, OpenOptions, Result, TimeWindow, WriteColumn, WriteOptions, field};
use tdb_object_store::ObjectStorage;

/// How a request fails.
#[derive(Clone, Copy, Debug)]
enum How {
    /// It is not done; later ones are.
    Refused,
    /// It is done, but the answer is lost; later ones are done.
    Unanswered,
    /// Neither it nor any later one is done: the process has died.
    Gone,
}

/// A store in which one request fails.
#[derive(Debug)]
struct Failing {
    store: Arc<InMemory>,
    how: How,
    /// Number of requests that succeed before.
    left: AtomicUsize,
}

const NEVER: usize = usize::MAX;

impl Failing {
    /// Whether this request fails.
    fn fails(&self) -> bool {
        let gone = matches!(self.how, How::Gone);
        let next = |left: usize| match left {
            NEVER => None,
            0 if gone => Some(0),
            left => Some(left.checked_sub(1).unwrap_or(NEVER)),
        };
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next) == Ok(0)
    }

    fn done(&self) -> bool {
        matches!(self.how, How::Unanswered)
    }
}

fn failure<T>() -> StoreResult<T> {
    Err(StoreError::Generic { store: "failing", source: "the request failed".into() })
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failing")
    }
}

#[async_trait]
impl ObjectStore for Failing {
    async fn put_opts(&self, path: &Path, bytes: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        if !self.fails() {
            return self.store.put_opts(path, bytes, options).await;
        }
        if self.done() {
            self.store.put_opts(path, bytes, options).await?;
        }
        failure()
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        if self.fails() { failure() } else { self.store.put_multipart_opts(path, options).await }
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> StoreResult<GetResult> {
        if self.fails() { failure() } else { self.store.get_opts(path, options).await }
    }

    /// Each object counts as a request.
    fn delete_stream(
        &self,
        paths: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        let (store, fails, done) = (self.store.clone(), self.fails(), self.done());
        if fails && !done {
            return futures_util::stream::once(async { failure() }).boxed();
        }
        let deleted = store.delete_stream(paths);
        if fails { deleted.map(|_| failure()).boxed() } else { deleted }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        if self.fails() {
            futures_util::stream::once(async { failure() }).boxed()
        } else {
            self.store.list(prefix)
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        if self.fails() { failure() } else { self.store.list_with_delimiter(prefix).await }
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        if self.fails() { failure() } else { self.store.copy_opts(from, to, options).await }
    }
}

/// The contents of an array, as text.
fn state(store: &Arc<InMemory>) -> String {
    let storage = ObjectStorage::new(store.clone(), "a").unwrap();
    let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage).unwrap();
    let cells = array.read().order(tdb_array::Layout::RowMajor).collect().unwrap();
    let columns: Vec<_> = cells.columns().iter().map(|column| column.bytes().to_vec()).collect();
    let names: Vec<&str> =
        array.schema().attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    let metadata: Vec<String> =
        array.metadata().unwrap().iter().map(|(key, value)| format!("{key:?} {value:?}")).collect();
    format!("{columns:?} {names:?} {metadata:?}")
}

/// The objects of a store, and a copy of the store.
fn copied(store: &Arc<InMemory>) -> (Vec<String>, Arc<InMemory>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (copy, mut names) = (InMemory::new(), Vec::new());
        let mut objects = store.list(None);
        while let Some(object) = objects.next().await {
            let path = object.unwrap().location;
            let bytes = store.get(&path).await.unwrap().bytes().await.unwrap();
            copy.put(&path, bytes.into()).await.unwrap();
            names.push(path.to_string());
        }
        (names, Arc::new(copy))
    })
}

fn remove(store: &Arc<InMemory>, path: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _ = runtime.block_on(store.delete(&Path::from(path)));
}

fn cells(writer: &ArrayWriter, from: i32) -> Result<()> {
    let x: Vec<i32> = (from..from + 20).collect();
    let a: Vec<i64> = x.iter().map(|x| i64::from(*x) * 7).collect();
    writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &a)).commit().map(drop)
}

/// An array of three fragments, two of which were consolidated, as were their commits; with
/// metadata.
fn base() -> Arc<InMemory> {
    let store = Arc::new(InMemory::new());
    let storage = ObjectStorage::new(store.clone(), "a").unwrap();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=999).with_tile(10i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .capacity(7)
        .build()
        .unwrap();
    WriteOptions::new().timestamp(10).create_storage(&storage, &schema).unwrap();
    let at = |time| at(&storage, time).unwrap();
    cells(&at(11), 0).unwrap();
    cells(&at(12), 10).unwrap();
    consolidate(Stored::Fragments, &at(13)).unwrap();
    consolidate(Stored::Commits, &at(13)).unwrap();
    cells(&at(14), 100).unwrap();
    at(15).write_metadata(&MetadataChanges::new().put_text("unit", "K")).unwrap();
    store
}

fn consolidate(what: Stored, writer: &ArrayWriter) -> Result<()> {
    Consolidation::new(what).plan(writer)?.run(writer, &mut |_| ControlFlow::Continue(()))
}

fn vacuum(vacuum: Vacuum, writer: &ArrayWriter) -> Result<()> {
    vacuum.plan(writer)?.run(writer, &mut |_| ControlFlow::Continue(()))
}

type Change = fn(&ObjectStorage) -> Result<()>;

/// Opens the array to change it.
fn at(storage: &ObjectStorage, time: u64) -> Result<ArrayWriter> {
    WriteOptions::new().timestamp(time).open_storage(storage.clone())
}

const CHANGES: [(&str, Change); 9] = [
    ("write", |storage| cells(&at(storage, 20)?, 500)),
    ("delete", |storage| {
        let array = OpenOptions::new().open_storage(storage.clone())?;
        at(storage, 20)?.delete(&field("a").lt(50i64).to_stored(&array)?).map(drop)
    }),
    ("metadata", |storage| {
        at(storage, 20)?.write_metadata(&MetadataChanges::new().put_text("unit", "C")).map(drop)
    }),
    ("evolve", |storage| {
        let more = Attribute::new("b", Datatype::Int8, CellValNum::ONE);
        let evolution = SchemaEvolution::new().add_attribute(more);
        WriteOptions::new().timestamp(20).evolve_storage(storage.clone(), &evolution).map(drop)
    }),
    ("consolidate fragments", |storage| consolidate(Stored::Fragments, &at(storage, 20)?)),
    ("consolidate commits", |storage| consolidate(Stored::Commits, &at(storage, 20)?)),
    ("consolidate footers", |storage| consolidate(Stored::FragmentMetadata, &at(storage, 20)?)),
    ("vacuum fragments", |storage| vacuum(Vacuum::new(Stored::Fragments), &at(storage, 20)?)),
    ("vacuum commits", |storage| vacuum(Vacuum::new(Stored::Commits), &at(storage, 20)?)),
];

#[test]
fn a_change_that_fails_at_any_request_leaves_the_old_state_or_the_new_one_and_nothing_that_a_vacuum_does_not_find()
 {
    let base = base();
    let old = state(&base);
    for (name, change) in CHANGES {
        let (_, whole) = copied(&base);
        run(&whole, change, How::Gone, NEVER).0.unwrap();
        let new = state(&whole);
        let mut requests = 0;
        for how in [How::Refused, How::Unanswered, How::Gone] {
            for left in 0.. {
                let (_, store) = copied(&base);
                let (done, asked) = run(&store, change, how, left);
                let found = state(&store);
                let what = format!("{name}, {how:?}, request {left}: {done:?}");
                assert!(found == new || (found == old && done.is_err()), "{what}");
                nothing_is_left(&store, &what);
                assert_eq!(state(&store), found, "{what}, and vacuumed");
                requests += 1;
                if asked <= left {
                    break;
                }
            }
        }
        assert!(requests > 6, "{name}: {requests} requests");
    }
}

/// Runs a change on a store whose requests fail from one on; also returns how many requests were
/// made.
fn run(store: &Arc<InMemory>, change: Change, how: How, left: usize) -> (Result<()>, usize) {
    let failing = Arc::new(Failing { store: store.clone(), how, left: AtomicUsize::new(left) });
    let storage = ObjectStorage::new(failing.clone(), "a").unwrap();
    let done = change(&storage);
    let now = failing.left.load(Ordering::SeqCst);
    // The counter goes down to the failure, and then stays at 0 or continues with `NEVER`.
    (done, if now == NEVER || now == 0 { left.saturating_add(1) } else { left.saturating_sub(now) })
}

/// Checks that an array is valid, and has no unused files after orphans were removed.
fn nothing_is_left(store: &Arc<InMemory>, what: &str) {
    // Its holder is gone: another process would wait half a minute.
    remove(store, "a/.tdb-lease");
    let storage = ObjectStorage::new(store.clone(), "a").unwrap();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    vacuum(Vacuum::orphans().before(u64::MAX), &writer).unwrap();
    let found = verify(storage.clone());
    assert!(found.is_clean(), "{what}: {:?}", found.problems);
    let plan = Vacuum::orphans().before(u64::MAX).plan(&writer).unwrap();
    assert!(plan.is_empty(), "{what}: {:?}", plan.steps());
    let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage).unwrap();
    let known: Vec<String> = array.fragments().iter().map(|fragment| fragment.name().to_string()).collect();
    for path in copied(store).0 {
        let Some(rest) = path.strip_prefix("a/__fragments/") else { continue };
        let fragment = rest.split('/').next().unwrap();
        // Fragments that were consolidated stay until a vacuum of fragments.
        let replaced =
            copied(store).0.iter().any(|path| path.contains("__commits/") && path.contains(fragment));
        let listed = copied(store).0.iter().any(|path| path.ends_with(".con"));
        assert!(replaced || listed || known.iter().any(|name| name == fragment), "{what}: {path}");
    }
}
