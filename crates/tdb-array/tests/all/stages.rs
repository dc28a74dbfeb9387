//! Awaited queries decode nothing twice: what they count is what blocking ones count.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;

use tdb_array::query::{Aggregate, QueryCondition, QueryStats};
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::testing::FarStorage;
use tdb_array::storage::{AsyncStorage, Fetching, Immediate, LocalStorage, MemoryStorage, Request, Storage};
use tdb_array::{
    Array, Cells, Layout, MemoryBudget, OpenOptions, Read, TimeWindow, WriteColumn, WriteOptions, field,
};

use crate::common::{Strings, arrays, block_on, row};

/// An array in a far storage, for callers that block, and for those that await.
struct Both {
    blocking: Array,
    awaited: Array,
}

impl Both {
    fn open<S: Storage + Clone + 'static>(storage: &S) -> Option<Self> {
        let options = || OpenOptions::new().window(TimeWindow::ALL).threads(1);
        let far = Arc::new(FarStorage::new(storage.clone(), Duration::ZERO));
        let blocking = options().open_storage(far).ok()?;
        let awaited = block_on(options().open_async(Immediate::new(storage.clone()))).ok()?;
        Some(Self { blocking, awaited })
    }

    /// The batches of a query and what they cost, for both callers. A query without a limit has one
    /// batch.
    fn run(
        &self,
        query: impl Fn(&Array) -> Read,
        memory: Option<MemoryBudget>,
    ) -> Option<[(Vec<Cells>, QueryStats); 2]> {
        let before = self.blocking.stats();
        let read = query(&self.blocking);
        let cells = match memory {
            None => vec![read.collect().ok()?],
            Some(memory) => read.batch_memory(memory).batches().ok()?.collect::<Result<_, _>>().ok()?,
        };
        let blocking = (cells, self.blocking.stats().since(&before));
        let before = self.awaited.stats();
        let read = query(&self.awaited);
        let cells = match memory {
            None => vec![block_on(read.collect_async()).unwrap()],
            Some(memory) => {
                let (mut batches, mut found) = (read.batch_memory(memory).batches_async(), Vec::new());
                while let Some(batch) = block_on(batches.next()) {
                    found.push(batch.unwrap());
                }
                found
            }
        };
        Some([blocking, (cells, self.awaited.stats().since(&before))])
    }
}

/// Checks that awaiting a query gives the cells of the blocking one, decodes as much and takes no
/// more rounds. Returns the rounds and the batches.
fn compare(name: &str, both: [(Vec<Cells>, QueryStats); 2]) -> (u64, usize) {
    let [(cells, blocking), (found, awaited)] = both;
    let rows = |batches: &[Cells]| -> Vec<String> {
        batches.iter().flat_map(|cells| (0..cells.len()).map(|cell| row(cells, cell))).collect()
    };
    assert_eq!(cells.len(), found.len(), "{name}: batches");
    assert!(rows(&cells) == rows(&found), "{name}: other cells");
    let decoded = |stats: &QueryStats| (stats.tiles, stats.chunks, stats.bytes_decoded);
    assert_eq!(decoded(&blocking), decoded(&awaited), "{name}");
    assert!(
        awaited.rounds <= blocking.rounds && awaited.bytes_read <= blocking.bytes_read,
        "{name}: {awaited:?}, not {blocking:?}"
    );
    (awaited.rounds, found.len())
}

const SMALL: MemoryBudget = MemoryBudget::from_bytes(300_000);

/// A sparse array of fragments that replace cells of each other.
fn versions(duplicates: bool) -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=99_999).with_tile(1000i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_nulls())
        .attribute(Attribute::new("b", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .capacity(100);
    let schema = if duplicates { schema.allow_duplicates() } else { schema }.build().unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, step) in [(1u64, 1usize), (2, 3), (3, 7)] {
        let x: Vec<i64> = (0..30_000).step_by(step).collect();
        let a: Vec<i64> = x.iter().map(|x| x * 7919 % 1000).collect();
        let valid: Vec<u8> = x.iter().map(|x| u8::from(x % 11 != 0)).collect();
        let strings = Strings::new(x.iter().map(|x| format!("{}", x * 31 % 97)));
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x));
        let write = write.column(WriteColumn::fixed("a", &a).nullable(&valid));
        let write = write.column(WriteColumn::fixed("b", &a));
        write.column(strings.column("s")).commit().unwrap();
    }
    storage
}

/// A dense array of two fragments.
fn dense() -> MemoryStorage {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("i", 0i32..=29_999).with_tile(500i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("b", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, end) in [(1u64, 29_999i32), (2, 7_499)] {
        let a: Vec<i64> = (0..=i64::from(end)).map(|i| i * 31 % 1000).collect();
        let strings = Strings::new(a.iter().map(|a| format!("{}", a * 31 % 97)));
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().range("i", 0..=end).column(WriteColumn::fixed("a", &a));
        write.column(WriteColumn::fixed("b", &a)).column(strings.column("s")).commit().unwrap();
    }
    storage
}

/// Conditions that leave few of the cells of these arrays, about half, and most.
fn conditions() -> [QueryCondition; 3] {
    [field("a").lt(3), field("a").ge(500).and(field("s").gt("5")), field("a").ge(10)]
}

#[test]
fn sparse_queries_with_a_condition_and_duplicates_decode_each_tile_once() {
    for duplicates in [false, true] {
        let both = Both::open(&versions(duplicates)).unwrap();
        for order in [Layout::RowMajor, Layout::Unordered, Layout::GlobalOrder] {
            for condition in conditions() {
                for fields in [&["x", "a", "b", "s"][..], &["b", "s"]] {
                    let name = format!("{duplicates} {order:?} {condition:?} {fields:?}");
                    let query = |array: &Array| {
                        let read = array.read().order(order).range("x", 5..=25_000);
                        read.fields(fields.iter().copied()).condition(condition.clone())
                    };
                    assert_eq!(compare(&name, both.run(query, None).unwrap()), (2, 1), "{name}");
                }
            }
        }
    }
}

#[test]
fn streams_of_sparse_cells_within_a_limit_decode_what_blocking_ones_do() {
    let mut most = 0;
    for duplicates in [false, true] {
        let both = Both::open(&versions(duplicates)).unwrap();
        for order in [Layout::RowMajor, Layout::Unordered] {
            for condition in conditions() {
                let name = format!("{duplicates} {order:?} {condition:?}");
                let query = |array: &Array| {
                    array.read().order(order).range("x", 5..=25_000).condition(condition.clone())
                };
                most = most.max(compare(&name, both.run(query, Some(SMALL)).unwrap()).1);
            }
            let query = |array: &Array| array.read().order(order);
            compare(&format!("{duplicates} {order:?}"), both.run(query, Some(SMALL)).unwrap());
        }
    }
    assert!(most > 40, "at most {most} batches");
}

#[test]
fn dense_queries_with_a_condition_decode_each_tile_once() {
    let both = Both::open(&dense()).unwrap();
    for condition in conditions() {
        for fields in [&["a", "b", "s"][..], &["b"]] {
            for memory in [None, Some(SMALL)] {
                let name = format!("{condition:?} {fields:?} {memory:?}");
                let query =
                    |array: &Array| array.read().fields(fields.iter().copied()).condition(condition.clone());
                let (rounds, batches) = compare(&name, both.run(query, memory).unwrap());
                assert!(rounds <= 2 * u64::try_from(batches).unwrap(), "{name}: {rounds} rounds");
            }
        }
    }
}

#[test]
fn aggregates_part_by_part_decode_what_blocking_ones_do() {
    for duplicates in [false, true] {
        let both = Both::open(&versions(duplicates)).unwrap();
        for memory in [None, Some(MemoryBudget::from_bytes(2_000_000))] {
            let query = |array: &Array| {
                let read = array.read().condition(field("a").lt(300));
                memory.map_or(read.clone(), |memory| read.memory(memory))
            };
            let asked = || [Aggregate::count(), Aggregate::sum("b"), Aggregate::max("s")];
            let before = both.blocking.stats();
            let expected = query(&both.blocking).aggregate(asked()).unwrap();
            let blocking = both.blocking.stats().since(&before);
            let before = both.awaited.stats();
            assert_eq!(block_on(query(&both.awaited).aggregate_async(asked())).unwrap(), expected);
            let awaited = both.awaited.stats().since(&before);
            assert_eq!(awaited.bytes_decoded, blocking.bytes_decoded, "{memory:?}");
            assert!(awaited.rounds <= blocking.rounds, "{memory:?}: {awaited:?}, not {blocking:?}");
        }
    }
}

#[test]
fn no_fixture_is_decoded_more_often_for_callers_that_await() {
    let (mut seen, mut overlays) = (0, 0);
    for (name, path) in arrays() {
        let Some(both) = Both::open(&Arc::new(LocalStorage::new(path))) else { continue };
        let query = |array: &Array| match array.schema().attributes.first() {
            Some(attribute) => array.read().condition(field(&*attribute.name).ge(3)),
            None => array.read(),
        };
        let Some(run) = both.run(query, None) else { continue };
        let (rounds, _) = compare(&name, run);
        seen += 1;
        // Sparse fragments of dense arrays: their cells are found, then looked at, then returned.
        let array = &both.blocking;
        if array.schema().array_type == ArrayType::Dense
            && !array.fragments().iter().all(|own| own.is_dense())
        {
            assert!(rounds <= 3, "{name}: {rounds} rounds");
            overlays += 1;
        }
    }
    assert!(seen > 500 && overlays > 5, "{seen} were read, {overlays} with overlays");
}

/// A storage whose answers arrive when they are asked for again.
#[derive(Debug)]
struct Later(Immediate<MemoryStorage>);

impl AsyncStorage for Later {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        let (mut fetching, mut asked) = (self.0.fetch(requests), false);
        Box::pin(poll_fn(move |context| {
            if !core::mem::replace(&mut asked, true) {
                return Poll::Pending;
            }
            fetching.as_mut().poll(context)
        }))
    }

    fn describe(&self, key: &str) -> String {
        self.0.describe(key)
    }
}

#[test]
fn a_query_goes_on_as_it_began_when_another_finds_out_that_no_cell_is_there_twice() {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=99_999).with_tile(1000i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("b", Datatype::Int64, CellValNum::ONE))
        .capacity(100);
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
    for (time, first) in [(1u64, 0i64), (2, 1)] {
        let x: Vec<i64> = (first..2000).step_by(2).collect();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x));
        write.column(WriteColumn::fixed("a", &x)).column(WriteColumn::fixed("b", &x)).commit().unwrap();
    }
    // How often the first query is polled before the other one runs.
    for polls in 0..8 {
        let array = block_on(OpenOptions::new().open_async(Later(Immediate::new(storage.clone())))).unwrap();
        let query = array.read().order(Layout::RowMajor).condition(field("a").ge(1990)).collect_async();
        let mut query = pin!(query);
        let mut context = Context::from_waker(Waker::noop());
        let early = (0..polls).find_map(|_| match query.as_mut().poll(&mut context) {
            Poll::Ready(cells) => Some(cells),
            Poll::Pending => None,
        });
        assert_eq!(block_on(array.read().collect_async()).unwrap().len(), 2000);
        let cells = early.unwrap_or_else(|| block_on(query)).unwrap();
        assert_eq!(cells.field("b").unwrap().values::<i64>().unwrap(), (1990..2000).collect::<Vec<_>>());
    }
}
