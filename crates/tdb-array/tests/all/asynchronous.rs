//! Asynchronous arrays: nothing blocks, the results are the same, and they take as few rounds as
//! blocking ones.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tdb_array::query::{Aggregate, QueryDescription};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::testing::FarStorage;
use tdb_array::storage::{AsyncStorage, Fetching, Immediate, LocalStorage, MemoryStorage, Request, Spawn};
use tdb_array::{
    Array, Cells, MemoryBudget, OpenOptions, Read, TimeWindow, WriteColumn, WriteOptions, field,
};

use crate::common::block_on;

/// A storage whose answers arrive when they are requested again.
#[derive(Clone, Debug)]
struct Later {
    storage: Immediate<LocalStorage>,
    rounds: Arc<AtomicU64>,
    /// Answers never arrive.
    stuck: Arc<AtomicBool>,
    given_up: Arc<AtomicU64>,
}

/// Counts how often it is dropped before its answers arrived.
struct Asked(Arc<AtomicU64>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl AsyncStorage for Later {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let (mut polls, stuck) = (0, self.stuck.clone());
        let (storage, asked) = (self.storage.clone(), Asked(self.given_up.clone()));
        Box::pin(async move {
            poll_fn(move |context| {
                polls += 1;
                context.waker().wake_by_ref();
                if polls < 3 || stuck.load(Ordering::Relaxed) { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
            let replies = storage.fetch(requests).await;
            std::mem::forget(asked);
            replies
        })
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }
}

fn later(path: impl Into<PathBuf>) -> Later {
    let storage = Immediate::new(LocalStorage::new(path));
    Later { storage, rounds: Arc::default(), stuck: Arc::default(), given_up: Arc::default() }
}

fn arrays() -> impl Iterator<Item = (String, PathBuf)> {
    crate::common::arrays().into_iter()
}

fn quickstart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0/quickstart")
}

fn opened(storage: Later) -> tdb_array::Result<Array> {
    block_on(OpenOptions::new().window(TimeWindow::ALL).open_async(storage))
}

/// Values, offsets and validity of a column.
type Content = (Vec<u8>, Option<Vec<u64>>, Option<Vec<u8>>);

fn bytes(cells: &Cells) -> Vec<Content> {
    let parts = |column: &tdb_array::Column| {
        let (offsets, validity) =
            (column.offsets().map(<[u64]>::to_vec), column.validity().map(<[u8]>::to_vec));
        (column.bytes().to_vec(), offsets, validity)
    };
    cells.columns().iter().map(parts).collect()
}

fn conditioned(array: &Array, read: Read) -> Read {
    match array.schema().attributes.first() {
        Some(attribute) => read.condition(field(&*attribute.name).ge(3)),
        None => read,
    }
}

/// All batches of a query.
fn batches(read: Read) -> tdb_array::Result<Vec<Cells>> {
    let mut batches = read.batches_async();
    let mut found = Vec::new();
    while let Some(batch) = block_on(batches.next()) {
        found.push(batch?);
    }
    assert!(block_on(batches.next()).is_none(), "nothing follows the last");
    Ok(found)
}

#[test]
fn every_fixture_reads_as_it_does_for_callers_that_block() {
    let (mut read, mut refused) = (0, 0);
    for (name, path) in arrays() {
        let blocking = OpenOptions::new().window(TimeWindow::ALL).threads(1).open(&path);
        let awaited = opened(later(&path));
        let (blocking, awaited) = match (blocking, awaited) {
            (Ok(blocking), Ok(awaited)) => (blocking, awaited),
            (Err(blocking), Err(awaited)) => {
                assert_eq!(blocking.to_string(), awaited.to_string(), "{name}");
                refused += 1;
                continue;
            }
            (blocking, awaited) => panic!("{name}: {:?} and {:?}", blocking.err(), awaited.err()),
        };
        for condition in [false, true] {
            let of = |array: &Array| match condition {
                true => conditioned(array, array.read()),
                false => array.read(),
            };
            match (of(&blocking).collect(), block_on(of(&awaited).collect_async())) {
                (Ok(blocking), Ok(cells)) => {
                    assert_eq!(bytes(&blocking), bytes(&cells), "{name}");
                    let small = of(&awaited).memory(MemoryBudget::from_bytes(8 << 20));
                    let found = batches(small).unwrap();
                    assert_eq!(found.iter().map(Cells::len).sum::<usize>(), blocking.len(), "{name}");
                    read += 1;
                }
                (Err(blocking), Err(awaited)) => {
                    assert_eq!(blocking.to_string(), awaited.to_string(), "{name}");
                }
                (blocking, awaited) => panic!("{name}: {:?} and {:?}", blocking.err(), awaited.err()),
            }
        }
        let metadata = block_on(awaited.run_async(Array::metadata));
        assert_eq!(metadata.ok(), blocking.metadata().ok(), "{name}");
    }
    assert!(read > 500 && refused < 60, "{read} were read, {refused} refused");
}

#[test]
fn it_takes_as_many_rounds_as_for_callers_that_block() {
    let mut seen = 0;
    for (name, path) in arrays() {
        let far = Arc::new(FarStorage::new(LocalStorage::new(&path), Duration::ZERO));
        let options = || OpenOptions::new().window(TimeWindow::ALL).threads(1);
        let Ok(blocking) = options().open_storage(far.clone()) else { continue };
        let storage = later(&path);
        let awaited = opened(storage.clone()).unwrap();
        assert!(storage.rounds.load(Ordering::Relaxed) <= far.rounds(), "{name}: opening");
        let (before, before_far) = (storage.rounds.load(Ordering::Relaxed), far.rounds());
        let (Ok(near), Ok(cells)) = (
            conditioned(&blocking, blocking.read()).collect(),
            block_on(conditioned(&awaited, awaited.read()).collect_async()),
        ) else {
            continue;
        };
        assert_eq!(near.len(), cells.len());
        let (rounds, far) = (storage.rounds.load(Ordering::Relaxed) - before, far.rounds() - before_far);
        assert!(rounds <= far, "{name}: {rounds} rounds, not {far}");
        seen += 1;
    }
    assert!(seen > 200, "{seen} arrays");
}

#[test]
fn a_batch_that_fills_its_memory_decodes_each_tile_once_and_takes_one_round() {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("i", 0i32..=99_999).with_tile(1_000i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let values: Vec<i64> = (0..100_000).collect();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    writer.write().range("i", 0..=99_999).column(WriteColumn::fixed("a", &values)).commit().unwrap();
    let array = block_on(OpenOptions::new().open_async(Immediate::new(storage))).unwrap();
    let before = array.stats();
    let batches = batches(array.read().batch_memory(MemoryBudget::from_bytes(400_000))).unwrap();
    let found: Vec<i64> =
        batches.iter().flat_map(|batch| batch.field("a").unwrap().values().unwrap().to_vec()).collect();
    assert_eq!(found, values);
    assert!(batches.len() > 3, "{} batches", batches.len());
    let (stats, batches) = (array.stats(), u64::try_from(batches.len()).unwrap());
    assert_eq!(stats.tiles - before.tiles, 100);
    // One more for the sections.
    assert!(stats.rounds - before.rounds <= batches + 1, "{stats:?} of {batches} batches, after {before:?}");
}

#[test]
fn aggregates_explanations_and_dimension_labels_are_awaited() {
    let array = opened(later(quickstart())).unwrap();
    let sums = block_on(array.read().range("rows", 1..=2).aggregate_async([Aggregate::sum("a")])).unwrap();
    assert_eq!(sums[0].as_i64(), Some(36));
    let sparse = quickstart().join("../sparse2d_rr");
    let (near, far) = (Array::open(&sparse).unwrap(), opened(later(sparse)).unwrap());
    let name = near.schema().domain.dimensions[0].name.as_str();
    let groups = block_on(far.read().group_by([name]).aggregate_async([Aggregate::count()])).unwrap();
    let expected = near.read().group_by([name]).aggregate([Aggregate::count()]).unwrap();
    assert!(groups.len() > 1);
    assert_eq!(groups.keys().field(name).unwrap().bytes(), expected.keys().field(name).unwrap().bytes());
    assert_eq!(groups.values()[0].integers(), expected.values()[0].integers());
    let explained = block_on(array.read().explain_async()).unwrap();
    assert_eq!(explained.cells, array_cells());
    let fixture = quickstart().join("../label_var");
    if fixture.exists() {
        let array = opened(later(fixture)).unwrap();
        let name = array.schema().labels[0].name.clone();
        let label = block_on(array.run_async(move |array| array.label(&name))).unwrap();
        assert!(label.is_some());
    }
}

/// The cells of the quickstart fixture.
fn array_cells() -> u64 {
    16
}

#[test]
fn a_dropped_future_gives_its_requests_up_and_the_batch_is_the_next_one_still() {
    let storage = later(quickstart());
    let array = opened(storage.clone()).unwrap();
    let mut batches = array.read().batches_async();
    storage.stuck.store(true, Ordering::Relaxed);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..5 {
        assert!(pin!(batches.next()).poll(&mut context).is_pending());
    }
    storage.stuck.store(false, Ordering::Relaxed);
    assert_eq!(block_on(batches.next()).unwrap().unwrap().len(), 16);
    assert_eq!(storage.given_up.load(Ordering::Relaxed), 0);
    let mut other = array.read().batches_async();
    assert!(pin!(other.next()).poll(&mut context).is_pending());
    drop(other);
    assert_eq!(storage.given_up.load(Ordering::Relaxed), 1);
}

#[test]
fn queries_of_one_array_are_awaited_at_the_same_time() {
    let array = opened(later(quickstart())).unwrap();
    let mut futures: Vec<_> =
        (1i32..=4).map(|row| Box::pin(array.read().range("rows", row..=row).collect_async())).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut found = Vec::new();
    while found.len() < futures.len() {
        for (row, future) in futures.iter_mut().enumerate() {
            if found.iter().any(|(done, _)| *done == row) {
                continue;
            }
            if let Poll::Ready(cells) = future.as_mut().poll(&mut context) {
                found.push((row, cells.unwrap().field("a").unwrap().values::<i32>().unwrap().to_vec()));
            }
        }
    }
    for (row, values) in found {
        let first = i32::try_from(row).unwrap() * 4 + 1;
        assert_eq!(values, (first..first + 4).collect::<Vec<_>>());
    }
}

#[test]
fn calls_that_would_block_say_what_to_call_instead() {
    let array = opened(later(quickstart())).unwrap();
    let error = array.read().collect().unwrap_err().to_string();
    assert!(error.contains("_async"), "{error}");
    // And this breaks nothing.
    assert_eq!(block_on(array.read().collect_async()).unwrap().len(), 16);
}

#[derive(Debug)]
struct Threads(Arc<AtomicU64>);

impl Spawn for Threads {
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(job);
    }
}

#[test]
fn a_spawner_does_the_work() {
    let jobs = Arc::<AtomicU64>::default();
    let options = OpenOptions::new().spawner(Arc::new(Threads(jobs.clone())));
    let array = block_on(options.open_async(later(quickstart()))).unwrap();
    let opening = jobs.load(Ordering::Relaxed);
    assert!(opening > 0);
    assert_eq!(batches(array.read()).unwrap().iter().map(Cells::len).sum::<usize>(), 16);
    assert!(jobs.load(Ordering::Relaxed) > opening);
}

#[test]
fn futures_can_be_sent_to_other_threads() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let array = opened(later(quickstart())).unwrap();
    drop(sent(OpenOptions::new().open_async(later(quickstart()))));
    drop(sent(array.read().collect_async()));
    let mut batches = sent(array.read().batches_async());
    drop(sent(batches.next()));
}

#[test]
fn parts_that_another_process_described_are_opened_and_read_by_awaiting() {
    let path = quickstart();
    let array = Array::open(&path).unwrap();
    let mut rows = Vec::new();
    for part in array.read().partitions(3).unwrap() {
        let described = part.describe("anywhere").unwrap().to_bytes();
        let described = QueryDescription::from_bytes(&described).unwrap();
        let read = block_on(described.open_async(OpenOptions::new(), later(&path))).unwrap();
        let cells = block_on(read.collect_async()).unwrap();
        assert_eq!(bytes(&cells), bytes(&part.collect().unwrap()));
        rows.push(cells.len());
    }
    assert_eq!(rows.iter().sum::<usize>(), array.read().collect().unwrap().len());
    assert!(rows.len() > 1, "there are several parts");
}
