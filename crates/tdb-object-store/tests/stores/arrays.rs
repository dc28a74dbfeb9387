//! Arrays in a store in memory: read like from a folder, written, evolved and maintained.

use core::ops::ControlFlow;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::{Durability, Entry, Storage, WriteStorage};
use tdb_array::write::SchemaEvolution;
use tdb_array::{Array, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions};
use tdb_object_store::ObjectStorage;

use crate::common::{bytes, fixtures, upload};

fn storage(store: &Arc<InMemory>, root: &str) -> ObjectStorage {
    ObjectStorage::new(store.clone(), root).unwrap()
}

#[test]
fn arrays_of_every_kind_read_as_from_a_folder() {
    for name in [
        "2.30.0/quickstart",
        "2.30.0/sparse2d_rr",
        "2.30.0/deletes",
        "2.30.0/base_nullable_sparse",
        "2.12.3/deletes_processed",
        "2.4.3/fragment_meta_old",
        "1.6.3/base_sparse",
    ] {
        let far = storage(&Arc::new(InMemory::new()), "some/where");
        upload(&fixtures().join(name), &far);
        let near = Array::open(fixtures().join(name)).unwrap();
        let far = OpenOptions::new().open_storage(far).unwrap();
        for order in [Layout::RowMajor, Layout::GlobalOrder] {
            let (near, far) = (near.read().order(order).collect(), far.read().order(order).collect());
            assert_eq!(bytes(&near.unwrap()), bytes(&far.unwrap()), "{name}");
        }
    }
}

fn schema() -> ArraySchema {
    ArraySchema::sparse()
        .dimension(Dimension::new("i", 0i32..=999).with_tile(100i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap()
}

fn write(storage: &ObjectStorage, time: u64, range: core::ops::Range<i32>) {
    let keys: Vec<i32> = range.clone().collect();
    let values: Vec<i64> = range.map(|i| i64::from(i) * 10 + i64::try_from(time).unwrap()).collect();
    let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("i", &keys));
    write.column(WriteColumn::fixed("a", &values)).commit().unwrap();
}

fn values(storage: &ObjectStorage) -> Vec<i64> {
    let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage.clone()).unwrap();
    let cells = array.read().fields(["a"]).order(Layout::RowMajor).collect().unwrap();
    cells.field("a").unwrap().values::<i64>().unwrap().to_vec()
}

#[test]
fn an_array_is_written_evolved_consolidated_and_vacuumed() {
    let store = Arc::new(InMemory::new());
    let storage = storage(&store, "data/50% new+x ü");
    WriteOptions::new().create_storage(&storage, &schema()).unwrap();
    write(&storage, 10, 0..300);
    write(&storage, 20, 200..500);
    let expected: Vec<i64> = (0..500).map(|i| i * 10 + if i < 200 { 10 } else { 20 }).collect();
    assert_eq!(values(&storage), expected);
    let added = SchemaEvolution::new().add_attribute(Attribute::new("b", Datatype::Int8, CellValNum::ONE));
    WriteOptions::new().timestamp(30).evolve_storage(storage.clone(), &added).unwrap();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    let plan = Vacuum::new(Stored::Fragments).plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(values(&storage), expected);
    let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage.clone()).unwrap();
    assert_eq!(array.fragments().len(), 1);
    assert_eq!(array.schema().attributes.len(), 2);
    let names: Vec<String> = storage.list("").unwrap().into_iter().map(|entry| entry.name).collect();
    assert!(!names.iter().any(|name| name.starts_with('.')), "no lease is left: {names:?}");
}

#[test]
fn a_file_is_made_once_and_folders_are_what_keys_say() {
    let store = Arc::new(InMemory::new());
    let storage = storage(&store, "");
    storage.put_file("a/b", b"1", Durability::Synced).unwrap();
    let error = storage.put_file("a/b", b"2", Durability::Synced).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    let mut file = storage.create_file("a/b").unwrap();
    file.append(b"3").unwrap();
    assert_eq!(file.finish(Durability::Synced).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    storage.replace_file("a/b", b"four", Durability::Synced).unwrap();
    assert_eq!(&storage.read("a/b").unwrap()[..], b"four");
    assert_eq!(storage.list("a").unwrap(), [Entry::sized("b", 4)]);
    assert_eq!(storage.list("").unwrap(), [Entry::folder("a")]);
    assert_eq!(storage.list("none").unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(storage.size("none").unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(storage.read_tail("a/b", 2).unwrap(), (4, (&b"ur"[..]).into()));
    let mut out = [0; 3];
    assert_eq!(storage.read_into("a/b", 2, &mut out).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(storage.remove_file("a/c").unwrap_err().kind(), io::ErrorKind::NotFound);
    storage.remove_folder("a").unwrap();
    assert_eq!(storage.remove_folder("a").unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_large_file_goes_up_in_parts_and_counts_once_it_is_finished() {
    let store = Arc::new(InMemory::new());
    let storage = storage(&store, "x");
    let mut file = storage.create_file("large").unwrap();
    let piece: Vec<u8> = (0..=255).cycle().take(7 << 20).collect();
    for _ in 0..5 {
        file.append(&piece).unwrap();
    }
    assert_eq!(storage.size("large").unwrap_err().kind(), io::ErrorKind::NotFound);
    file.finish(Durability::Synced).unwrap();
    let bytes = storage.read("large").unwrap();
    assert!(bytes.len() == 35 << 20 && bytes.chunks(7 << 20).all(|part| part == piece));
}

#[test]
fn an_object_named_like_its_folder_is_not_an_entry_of_it() {
    let store = Arc::new(InMemory::new());
    let storage = storage(&store, "x");
    storage.put_file("__meta/a", b"1", Durability::Synced).unwrap();
    storage.put_file("__meta", b"", Durability::Synced).unwrap();
    assert_eq!(storage.list("__meta").unwrap(), [Entry::sized("a", 1)]);
    assert_eq!(storage.list("").unwrap(), [Entry::folder("__meta")]);
}

#[test]
fn one_holds_the_lease_and_the_next_waits_for_it() {
    let store = Arc::new(InMemory::new());
    let inside = Arc::new(AtomicUsize::new(0));
    let work = |_| {
        let (storage, inside) = (storage(&store, "x"), inside.clone());
        std::thread::spawn(move || {
            let lock = storage.lock().unwrap();
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
            std::thread::sleep(Duration::from_millis(20));
            inside.fetch_sub(1, Ordering::SeqCst);
            drop(lock);
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(storage(&store, "x").list("").unwrap().is_empty(), "the lease is gone");
}

#[test]
fn a_lease_whose_holder_is_dead_is_taken_over() {
    let store = Arc::new(InMemory::new());
    let storage = storage(&store, "x");
    storage.put_file(".tdb-lease", br#"{"owner":"somebody","until":1000}"#, Durability::Synced).unwrap();
    let begun = Instant::now();
    let lock = storage.lock().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
    let held = storage.read(".tdb-lease").unwrap();
    assert!(!held.windows(8).any(|part| part == b"somebody"));
    drop(lock);
    assert_eq!(storage.size(".tdb-lease").unwrap_err().kind(), io::ErrorKind::NotFound);
    // A lease that is not ours any more is not removed.
    let lock = storage.lock().unwrap();
    let path = object_store::path::Path::from("x/.tdb-lease");
    let other = store.clone();
    futures_util::FutureExt::now_or_never(async move { other.put(&path, "another".into()).await })
        .unwrap()
        .unwrap();
    drop(lock);
    assert_eq!(&storage.read(".tdb-lease").unwrap()[..], b"another");
    let _: &dyn ObjectStore = &*store;
}
