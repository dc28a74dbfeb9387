//! Arrays through a cache: the results are the same, even if the array changes, and they take fewer
//! requests.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use core::ops::ControlFlow;
use core::time::Duration;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tdb_array::cache::{Cache, Origin};
use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::query::QueryStats;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::testing::FarStorage;
use tdb_array::storage::{AsyncStorage, Immediate, LocalStorage, MemoryStorage, Storage, WriteStorage};
use tdb_array::{ArrayWriter, Cells, OpenOptions, TimeWindow, WriteColumn, WriteOptions, field};

type Far<S> = Arc<FarStorage<S>>;

fn far<S: Storage>(storage: S) -> Far<S> {
    Arc::new(FarStorage::new(storage, Duration::ZERO))
}

/// Values, offsets and validity of all columns.
type Content = Vec<(Vec<u8>, Option<Vec<u64>>, Option<Vec<u8>>)>;

fn content(cells: &Cells) -> Content {
    let column = |column: &tdb_array::Column| {
        (
            column.bytes().to_vec(),
            column.offsets().map(<[u64]>::to_vec),
            column.validity().map(<[u8]>::to_vec),
        )
    };
    cells.columns().iter().map(column).collect()
}

/// Opens an array and reads it whole.
fn read(storage: impl Storage + 'static) -> tdb_array::Result<(Content, QueryStats)> {
    let array = OpenOptions::new().threads(1).window(TimeWindow::ALL).open_storage(storage)?;
    let cells = array.read().collect()?;
    Ok((content(&cells), array.stats()))
}

/// A folder of the local file system, in memory.
fn in_memory(folder: &Path) -> MemoryStorage {
    fn add(storage: &MemoryStorage, folder: &Path, key: &str) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let key = if key.is_empty() { name } else { format!("{key}/{name}") };
            if entry.path().is_dir() {
                add(storage, &entry.path(), &key);
            } else {
                storage.insert(key, fs::read(entry.path()).unwrap());
            }
        }
    }
    let storage = MemoryStorage::default();
    add(&storage, folder, "");
    storage
}

fn fixture(name: &str) -> MemoryStorage {
    in_memory(&crate::common::fixtures().join("arrays").join(name))
}

fn here() -> Origin {
    Origin::of(["here"])
}

#[test]
fn every_fixture_reads_the_same_through_a_cache_in_fewer_requests() {
    let (mut compared, mut first, mut second, mut at_once) = (0, (0, 0), (0, 0), 0);
    for (number, (name, path)) in crate::common::arrays().into_iter().enumerate() {
        let Ok((plain, _)) = read(LocalStorage::new(&path)) else { continue };
        let (far, cache) = (far(LocalStorage::new(&path)), Cache::memory(64 << 20));
        let cache = cache.with_tiles(number % 2 == 0);
        let cached = || read(cache.over(far.clone(), here())).unwrap();
        let (cold, cost) = cached();
        assert_eq!(far.rounds(), cost.rounds, "{name}");
        let (asked, rounds) = (far.requests().len(), far.rounds());
        let (warm, less) = cached();
        assert!(plain == cold && plain == warm, "{name}");
        assert_eq!(
            (far.requests().len() as u64, far.rounds() - rounds),
            (less.requests, less.rounds),
            "{name}"
        );
        assert!(less.requests <= cost.requests && less.rounds <= cost.rounds, "{name}");
        assert_eq!(cost.requests, asked as u64, "{name}");
        first = (first.0 + cost.rounds, first.1 + cost.requests);
        second = (second.0 + less.rounds, second.1 + less.requests);
        at_once += cost.cache_hits;
        compared += 1;
    }
    println!("{compared} arrays: {first:?} rounds and requests cold, {second:?} warm; {at_once} hits cold");
    assert!(compared > 500, "{compared} were read");
    assert!(second.0 * 10 < first.0 * 7 && second.1 * 10 < first.1 * 7, "{first:?} cold, {second:?} warm");
}

#[test]
fn what_a_second_reader_asks_for_is_listings_and_tiles_or_listings_alone() {
    for (tiles, expected) in [(false, (3, 2)), (true, (3, 1))] {
        let far = far(fixture("2.30.0/quickstart"));
        let cache = Cache::memory(1 << 20).with_tiles(tiles);
        let (cells, cold) = read(cache.over(far.clone(), here())).unwrap();
        let first = far.requests().len();
        let (again, warm) = read(cache.over(far.clone(), here())).unwrap();
        assert_eq!(cells, again);
        assert_eq!((cold.rounds, warm.rounds), expected);
        let listings = far
            .requests()
            .iter()
            .filter(|request| matches!(request, tdb_array::storage::Request::List(_)))
            .count();
        // Five listings, the schema, the end of the metadata, and one range of the cells.
        assert_eq!((first, listings, warm.requests), (8, 5, if tiles { 5 } else { 6 }));
        assert_eq!((warm.cache_hits, cold.cache_hits), (if tiles { 3 } else { 2 }, 0));
    }
}

#[test]
fn a_second_reader_that_awaits_asks_for_as_little() {
    let far = far(fixture("2.30.0/quickstart"));
    let cache = Cache::memory(1 << 20);
    let read = || {
        let storage: Arc<dyn AsyncStorage> =
            Arc::new(cache.over_awaited(Immediate::new(far.clone()), here(), None));
        let mut future = Box::pin(async move {
            let options = OpenOptions::new().window(TimeWindow::ALL);
            let array = options.open_async(storage).await.unwrap();
            (content(&array.read().collect_async().await.unwrap()), array.stats())
        });
        let mut context = core::task::Context::from_waker(core::task::Waker::noop());
        loop {
            if let core::task::Poll::Ready(done) = future.as_mut().poll(&mut context) {
                return done;
            }
        }
    };
    let ((cells, cold), (again, warm)) = (read(), read());
    assert_eq!(cells, again);
    assert_eq!((cold.rounds, cold.requests, cold.cache_hits), (3, 8, 0));
    assert_eq!((warm.rounds, warm.requests, warm.cache_hits), (2, 6, 2));
    assert_eq!(far.rounds(), 5);
}

#[test]
fn an_array_that_is_made_again_at_the_same_place_never_shows_what_it_was() {
    // Arrays with a schema file whose name never changes, and current ones.
    for (old, new) in [
        ("1.6.3/dense2d_rr", "1.6.3/dense_dim_int64"),
        ("2.2.9/base_dense", "2.2.9/base_sparse"),
        ("2.30.0/quickstart", "2.30.0/base_strings"),
        ("2.30.0/deletes", "2.30.0/fragments_sparse"),
    ] {
        let (storage, cache) = (MemoryStorage::default(), Cache::memory(16 << 20).with_tiles(true));
        for name in [old, new, old] {
            storage.keys().iter().for_each(|key| drop(storage.remove(key)));
            let files = fixture(name);
            files.keys().into_iter().for_each(|key| {
                let bytes = files.read(&key).unwrap();
                storage.insert(key, bytes);
            });
            let expected = read(files).unwrap().0;
            for _ in 0..2 {
                let cached = read(cache.over(far(storage.clone()), here())).unwrap().0;
                assert_eq!(cached, expected, "{name} after {old}");
            }
        }
        assert!(cache.stats().hits > 0);
    }
}

fn write(writer: &ArrayWriter, x: [i32; 2], a: [i32; 2]) {
    let write = writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &a));
    write.commit().unwrap();
}

/// A sparse array of one dimension with one attribute.
fn schema() -> ArraySchema {
    ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=999).with_tile(100i32))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap()
}

#[test]
fn a_reader_with_a_warm_cache_sees_each_change_at_once() {
    let (storage, cache) = (MemoryStorage::default(), Cache::memory(16 << 20).with_tiles(true));
    let same = |what: &str| {
        let plain = read(storage.clone()).unwrap().0;
        // Once through a cache that has the previous state of the array, once through one that was
        // just filled.
        for _ in 0..2 {
            assert_eq!(read(cache.over(far(storage.clone()), here())).unwrap().0, plain, "{what}");
        }
        plain
    };
    for round in 0..2 {
        WriteOptions::new().create_storage(&storage, &schema()).unwrap();
        let at = |time| WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        for (time, first, value) in [(1, 0, 1), (2, 5, 2), (3, 3, 3)] {
            write(&at(time), [first, first + 1], [value + round, value * 10]);
            same("a fragment");
        }
        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        let condition = field("a").eq(20).to_stored(&array).unwrap();
        at(4).delete(&condition).unwrap();
        assert_eq!(same("a delete")[0].0.len(), 5 * 4, "of six cells five are left");
        for what in [Stored::Fragments, Stored::Commits, Stored::FragmentMetadata] {
            let writer = at(5);
            Consolidation::new(what)
                .plan(&writer)
                .unwrap()
                .run(&writer, &mut |_| ControlFlow::Continue(()))
                .unwrap();
            let consolidated = same("consolidated");
            Vacuum::new(what)
                .plan(&writer)
                .unwrap()
                .run(&writer, &mut |_| ControlFlow::Continue(()))
                .unwrap();
            assert_eq!(same("vacuumed"), consolidated);
        }
        storage.keys().iter().for_each(|key| drop(storage.remove(key)));
        // An empty folder of a fragment would still have a name that later ones must come behind.
        storage.remove_folder("__fragments").unwrap();
        assert!(read(cache.over(far(storage.clone()), here())).is_err(), "it is gone");
    }
    assert!(cache.stats().hits > 50, "{:?}", cache.stats());
}

/// Removes the folder of a fragment.
fn remove_folder(storage: &MemoryStorage, folder: &str) {
    let keys = storage.keys().into_iter().filter(|key| key.starts_with(&format!("{folder}/")));
    keys.for_each(|key| drop(storage.remove(&key)));
}

#[test]
fn a_fragment_that_is_ignored_and_gone_does_not_come_back_from_the_cache() {
    let storage = fixture("2.30.0/fragments_sparse");
    let cache = Cache::memory(16 << 20).with_tiles(true);
    let cached = || read(cache.over(far(storage.clone()), here())).unwrap().0;
    let all = cached();
    let commits: Vec<String> = storage.keys().into_iter().filter(|key| key.ends_with(".wrt")).collect();
    let name = commits[0].trim_start_matches("__commits/").trim_end_matches(".wrt");
    // This is how libtiledb leaves an array whose commits were consolidated: the commit file stays,
    // and is ignored.
    storage.insert("__commits/__1_1_0123456789abcdef0123456789abcdef_22.ign", format!("{}\n", commits[0]));
    remove_folder(&storage, &format!("__fragments/{name}"));
    let plain = read(storage.clone()).unwrap().0;
    assert_ne!(plain, all);
    assert_eq!(cached(), plain);
}

#[test]
fn an_old_fragment_whose_metadata_file_is_gone_does_not_come_back_from_the_cache() {
    for name in ["1.6.3/fragments_sparse", "1.4.0/sparse_6_fragments"] {
        let path = crate::common::fixtures().join("arrays").join(name);
        if !path.exists() {
            continue;
        }
        let (storage, cache) = (in_memory(&path), Cache::memory(16 << 20).with_tiles(true));
        let cached = || read(cache.over(far(storage.clone()), here())).unwrap().0;
        let all = cached();
        let metadata =
            storage.keys().into_iter().find(|key| key.ends_with("/__fragment_metadata.tdb")).unwrap();
        // The folder is still there, after an interrupted removal.
        storage.remove(&metadata);
        let plain = read(storage.clone()).unwrap().0;
        assert_ne!(plain, all, "{name}");
        assert_eq!(cached(), plain, "{name}");
    }
}

#[test]
fn one_array_that_is_read_and_written_through_a_cache_is_as_without() {
    let storage = MemoryStorage::default();
    let cache = Cache::memory(1 << 20).with_tiles(true);
    let cached: Arc<dyn WriteStorage> = Arc::new(cache.over(storage.clone(), here()));
    WriteOptions::new().create_storage(&cached, &schema()).unwrap();
    write(&WriteOptions::new().open_storage(cached.clone()).unwrap(), [1, 2], [3, 4]);
    assert_eq!(read(cached).unwrap().0, read(storage).unwrap().0);
}
