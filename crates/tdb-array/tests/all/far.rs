//! Arrays in a slow storage: the results are the same, and they take few rounds of requests.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use core::ops::ControlFlow;
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::testing::FarStorage;
use tdb_array::storage::{FetchHints, LocalStorage, MemoryStorage, Request, Storage};
use tdb_array::{
    Array, Cells, Key, Layout, MemoryBudget, OpenOptions, Read, TimeWindow, WriteColumn, WriteOptions, field,
};

type Far = Arc<FarStorage<LocalStorage>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures")
}

/// The name and the key of every array fixture.
fn fixtures() -> Vec<(String, Option<Key>)> {
    let manifest = fs::read(folder().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entries = manifest.as_array().unwrap().iter().filter(|entry| entry.get("object").is_none());
    let key = |entry: &serde_json::Value| {
        entry["key"].as_str().map(|key| Key::new(key.as_bytes().try_into().unwrap()))
    };
    entries.map(|entry| (entry["id"].as_str().unwrap().to_owned(), key(entry))).collect()
}

fn far(name: &str, hints: FetchHints) -> Far {
    let storage = LocalStorage::new(folder().join("arrays").join(name));
    Arc::new(FarStorage::new(storage, Duration::ZERO).with_hints(hints))
}

fn open<S: Storage + 'static>(storage: Arc<FarStorage<S>>, key: Option<Key>) -> tdb_array::Result<Array> {
    key.into_iter().fold(OpenOptions::new().threads(1), OpenOptions::key).open_storage(storage)
}

/// Values, offsets and validity of a column.
type Content = (Vec<u8>, Option<Vec<u64>>, Option<Vec<u8>>);

fn columns(cells: &Cells) -> Vec<Content> {
    let column = |column: &tdb_array::Column| {
        (
            column.bytes().to_vec(),
            column.offsets().map(<[u64]>::to_vec),
            column.validity().map(<[u8]>::to_vec),
        )
    };
    cells.columns().iter().map(column).collect()
}

/// A query with a condition on the first attribute that can be compared with a number, if there is
/// one.
fn conditioned(array: &Array) -> Option<Read> {
    let attribute = array.schema().attributes.first()?;
    let read = array.read().condition(field(&*attribute.name).ge(3));
    read.clone().explain().is_ok().then_some(read)
}

#[test]
fn every_fixture_reads_the_same_from_afar() {
    let (mut read, mut refused) = (0, 0);
    for (number, (name, key)) in fixtures().into_iter().enumerate() {
        let path = folder().join("arrays").join(&name);
        let near = key.clone().into_iter().fold(OpenOptions::new().threads(1), OpenOptions::key).open(path);
        let hints =
            [FetchHints::OBJECT_STORE, FetchHints::OBJECT_STORE.with_gap(0).with_largest(100)][number % 2];
        let far = open(far(&name, hints), key);
        let (near, far) = match (near, far) {
            (Ok(near), Ok(far)) => (near, far),
            (Err(near), Err(far)) => {
                assert_eq!(near.to_string(), far.to_string(), "{name}");
                refused += 1;
                continue;
            }
            (near, far) => panic!("{name}: {:?} and {:?}", near.err(), far.err()),
        };
        let order = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered][number % 4];
        let queries = [
            (Some(near.read().order(order)), Some(far.read().order(order))),
            (conditioned(&near), conditioned(&far)),
        ];
        for (near, far) in queries {
            let (Some(near), Some(far)) = (near, far) else { continue };
            match (near.collect(), far.clone().collect()) {
                (Ok(near), Ok(cells)) => {
                    assert_eq!(columns(&near), columns(&cells), "{name}");
                    // And inside a budget, in batches.
                    let batches = far.memory(MemoryBudget::from_bytes(8 << 20)).batches();
                    let count: usize = batches.unwrap().map(|batch| batch.unwrap().len()).sum();
                    assert_eq!(count, near.len(), "{name}");
                    read += 1;
                }
                (Err(near), Err(far)) => assert_eq!(near.to_string(), far.to_string(), "{name}"),
                (near, far) => panic!("{name}: {:?} and {:?}", near.err(), far.err()),
            }
        }
    }
    assert!(read > 600 && refused < 60, "{read} were read, {refused} refused");
}

/// Rounds of opening an array and of a query, and the requests of the query.
fn rounds(name: &str, query: impl Fn(&Array) -> Read) -> (u64, u64, Vec<Request>) {
    let storage = far(name, FetchHints::OBJECT_STORE);
    let array = open(storage.clone(), None).unwrap();
    let opening = storage.rounds();
    storage.requests();
    query(&array).collect().unwrap();
    (opening, storage.rounds() - opening, storage.requests())
}

#[test]
fn opening_takes_two_rounds_and_a_dense_window_one() {
    let name = "2.30.0/quickstart";
    let (opening, query, asked) = rounds(name, |array| array.read().range("rows", 1..=2));
    assert!(opening == 2 && query == 1, "{opening} rounds of opening, {query} of the query: {asked:?}");
    assert!(asked.iter().all(|request| matches!(request, Request::Range(_))), "{asked:?}");
}

#[test]
fn a_sparse_query_with_a_condition_takes_few_rounds() {
    let mut seen = 0;
    for (name, key) in fixtures() {
        let storage = far(&name, FetchHints::OBJECT_STORE);
        let Ok(array) = open(storage.clone(), key) else { continue };
        if array.schema().array_type != ArrayType::Sparse || !array.schema().labels.is_empty() {
            continue;
        }
        let opening = storage.rounds();
        let Some(read) = conditioned(&array) else { continue };
        if read.collect().is_err() {
            continue;
        }
        let query = storage.rounds() - opening;
        seen += 1;
        assert!(
            opening <= 4 && query <= 3,
            "{name}: {opening} rounds of opening, {query} of the query: {:?}",
            storage.requests()
        );
    }
    assert!(seen > 100, "{seen} were looked at");
}

#[test]
fn aggregates_from_afar_are_those_from_nearby() {
    for name in ["2.30.0/quickstart", "2.30.0/sparse2d_rr", "2.30.0/deletes"] {
        let near = Array::open(folder().join("arrays").join(name)).unwrap();
        let far = open(far(name, FetchHints::OBJECT_STORE), None).unwrap();
        let field = near.schema().attributes[0].name.clone();
        let asked = || [Aggregate::count(), Aggregate::min(field.as_str()), Aggregate::max(field.as_str())];
        assert_eq!(near.read().aggregate(asked()).unwrap(), far.read().aggregate(asked()).unwrap(), "{name}");
    }
}

/// Fragments of one cell each. Their footers and commits are consolidated in one file each.
fn many_fragments(count: i32) -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=100_000))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for x in 0..count {
        let time = u64::try_from(x).unwrap() + 1;
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let (x, a) = ([x * 10], [x]);
        writer
            .write()
            .column(WriteColumn::fixed("x", &x))
            .column(WriteColumn::fixed("a", &a))
            .commit()
            .unwrap();
    }
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    for what in [Stored::FragmentMetadata, Stored::Commits] {
        let plan = Consolidation::new(what).plan(&writer).unwrap();
        plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
        let plan = Vacuum::new(what).plan(&writer).unwrap();
        plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    }
    storage
}

#[test]
fn many_fragments_with_gathered_footers_take_few_rounds_and_those_outside_the_ranges_no_requests() {
    // docs/performance.md has the numbers for 5,000.
    let count = std::env::var("TDB_FRAGMENTS").map_or(300, |count| count.parse().unwrap());
    let storage = Arc::new(FarStorage::new(many_fragments(count), Duration::ZERO));
    let array = OpenOptions::new().threads(1).window(TimeWindow::ALL).open_storage(storage.clone()).unwrap();
    let count = usize::try_from(count).unwrap();
    assert_eq!(array.fragments().len(), count);
    let (opening, asked) = (storage.rounds(), storage.requests());
    assert!(opening <= 4 && asked.len() <= 12, "{opening} rounds: {asked:?}");
    let cells = array.read().range("x", 1000..=1040).condition(field("a").ge(102)).collect().unwrap();
    let query = storage.rounds() - opening;
    let asked = storage.requests();
    assert_eq!(cells.len(), 3);
    assert!(query <= 3, "{query} rounds, {} requests", asked.len());
    // Five fragments have cells there: their metadata and three files of each are read.
    assert!(asked.len() <= 20, "{} requests", asked.len());
    let all = array.read().collect().unwrap();
    assert_eq!(all.len(), count);
    assert!(storage.rounds() - opening - query <= 3, "{} rounds", storage.rounds() - opening - query);
}

#[test]
fn a_fragment_of_one_tile_is_read_without_its_own_metadata_if_its_footer_is_known() {
    let count = 40;
    let storage = Arc::new(FarStorage::new(many_fragments(count), Duration::ZERO));
    let array = OpenOptions::new().threads(1).window(TimeWindow::ALL).open_storage(storage.clone()).unwrap();
    let (opening, _) = (storage.rounds(), storage.requests());
    let all = array.read().order(Layout::RowMajor).collect().unwrap();
    assert_eq!(
        all.field("x").unwrap().values::<i32>().unwrap(),
        (0..count).map(|x| x * 10).collect::<Vec<_>>()
    );
    assert_eq!(all.field("a").unwrap().values::<i32>().unwrap(), (0..count).collect::<Vec<_>>());
    let asked = storage.requests();
    assert_eq!(
        (storage.rounds() - opening, asked.len()),
        (1, 2 * usize::try_from(count).unwrap()),
        "{asked:?}"
    );
    // A range takes no more: where the cells are follows from the footer, too.
    let some = array.read().range("x", 95..=205).collect().unwrap();
    assert_eq!(some.field("a").unwrap().values::<i32>().unwrap(), (10..=20).collect::<Vec<_>>());
    assert_eq!((storage.rounds() - opening, storage.requests().len()), (2, 22));
}

#[test]
fn batches_from_afar_fetch_their_tiles_together_and_each_tile_once() {
    let side = 1024i32;
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0..=side - 1).with_tile(32i32))
        .dimension(Dimension::new("y", 0..=side - 1).with_tile(32i32))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let values: Vec<i32> = (0..side * side).map(|value| value.wrapping_mul(2_654_435)).collect();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    writer.write().column(WriteColumn::fixed("a", &values)).commit().unwrap();

    let storage = Arc::new(FarStorage::new(storage, Duration::ZERO));
    let array = OpenOptions::new().threads(1).open_storage(storage.clone()).unwrap();
    let (rounds, bytes) = (storage.rounds(), storage.bytes());
    let stream = array.read().memory(MemoryBudget::from_bytes(5 << 20)).batches().unwrap();
    let batches: Vec<Cells> = stream.map(Result::unwrap).collect();
    let found: Vec<i32> = batches
        .iter()
        .flat_map(|batch| batch.field("a").unwrap().values::<i32>().unwrap().to_vec())
        .collect();
    assert!(found == values, "other cells");
    let (rounds, bytes) = (storage.rounds() - rounds, storage.bytes() - bytes);
    let batches = u64::try_from(batches.len()).unwrap();
    assert!(batches > 2, "{batches} batches: nothing was cut");
    assert!(rounds <= batches + 2, "{rounds} rounds for {batches} batches");
    assert!(bytes < 5 << 20, "{bytes} bytes of an array of 4 MiB");
}
