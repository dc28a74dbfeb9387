//! Checks the rules of storages on a server.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::testing::conformance::{check_openings, check_write_storage};
use tdb_array::storage::{Durability, Storage, WriteStorage};
use tdb_array::{Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions};
use tdb_object_store::object_store::ObjectStore;
use tdb_object_store::object_store::limit::LimitStore;
use tdb_object_store::{ObjectStorage, open};

use super::said;
use crate::servers::Server;

/// Runs all rules.
pub(super) fn all(server: &Server) -> Result<String, String> {
    one_of_many_makes_a_file(server)?;
    writers_at_once_lose_nothing(server)?;
    the_lease_is_held_by_one(server)?;
    let rules = suite(server)?;
    Ok(format!(
        "{rules} rules kept; of several who make a file one does; writers at once lose nothing; one holds the lease"
    ))
}

fn storage(server: &Server, path: &str) -> Result<ObjectStorage, String> {
    open(&server.url(path), server.options()).map_err(said)
}

/// The store of a server, with one request at a time. moto checks whether an object exists and
/// creates it in two steps, and other threads of moto may do the same in between. Real servers do
/// both in one step.
fn one_at_a_time(server: &Server) -> Result<Arc<dyn ObjectStore>, String> {
    Ok(Arc::new(LimitStore::new(storage(server, "")?.object_store(), 1)))
}

/// Runs the conformance suite for storages.
fn suite(server: &Server) -> Result<usize, String> {
    let store = one_at_a_time(server)?;
    let places = AtomicUsize::new(0);
    let next = || format!("rules/{}", places.fetch_add(1, Ordering::Relaxed));
    let at = |place: &str| {
        ObjectStorage::new(store.clone(), place)
            .unwrap_or_else(|error| unreachable!("{place} is a path: {error}"))
    };
    let alone = check_write_storage(|| at(&next())).map_err(|broken| format!("{broken:?}"))?;
    let two = check_openings(|| {
        let place = next();
        (at(&place), at(&place))
    });
    let two = two.map_err(|broken| format!("{broken:?}"))?;
    let missing: Vec<_> = alone.not_offered.iter().chain(&two.not_offered).collect();
    if missing.is_empty() {
        Ok(alone.kept.len() + two.kept.len())
    } else {
        Err(format!("not offered: {missing:?}"))
    }
}

fn one_of_many_makes_a_file(server: &Server) -> Result<(), String> {
    let storage = ObjectStorage::new(one_at_a_time(server)?, "race").map_err(said)?;
    let made = || storage.put_file("x", b"mine", Durability::Synced).is_ok();
    let count = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(made)).collect();
        threads
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .filter(|made| matches!(made, Ok(true)))
            .count()
    });
    if count == 1 { Ok(()) } else { Err(format!("{count} of 8 made the same file")) }
}

fn writers_at_once_lose_nothing(server: &Server) -> Result<(), String> {
    const PATH: &str = "made here/50% + x";
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("i", 0i32..=9999).with_tile(100i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .map_err(said)?;
    WriteOptions::new().create_storage(&storage(server, PATH)?, &schema).map_err(said)?;
    let write = |writer: i32| -> Result<(), String> {
        for turn in 0..3 {
            let keys: Vec<i32> = (0..10).map(|cell| writer * 1000 + turn * 10 + cell).collect();
            let values: Vec<i64> = keys.iter().map(|key| i64::from(*key) * 7).collect();
            let array =
                WriteOptions::new().timestamp(10).open_storage(storage(server, PATH)?).map_err(said)?;
            let write = array.write().column(WriteColumn::fixed("i", &keys));
            write.column(WriteColumn::fixed("a", &values)).commit().map_err(said)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|writer| scope.spawn(move || write(writer))).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a writer panicked".to_owned())?)
    })?;
    let array =
        OpenOptions::new().window(TimeWindow::ALL).open_storage(storage(server, PATH)?).map_err(said)?;
    let cells = array.read().order(Layout::RowMajor).collect().map_err(said)?;
    let values: &[i64] = cells.field("a").and_then(|column| column.values()).map_err(said)?;
    let keys: &[i32] = cells.field("i").and_then(|column| column.values()).map_err(said)?;
    let right =
        keys.len() == 120 && keys.iter().zip(values).all(|(key, value)| i64::from(*key) * 7 == *value);
    if right { Ok(()) } else { Err(format!("{} of 120 cells are there", keys.len())) }
}

fn the_lease_is_held_by_one(server: &Server) -> Result<(), String> {
    let (first, second) = (storage(server, "leased")?, storage(server, "leased")?);
    let lock = first.lock().map_err(said)?;
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let lock = second.lock();
            let _ = told.send(lock.is_ok());
        });
        if heard.recv_timeout(Duration::from_millis(600)).is_ok() {
            return Err("two hold the lease".to_owned());
        }
        drop(lock);
        match heard.recv_timeout(Duration::from_secs(20)) {
            Ok(true) => Ok(()),
            other => Err(format!("the lease is not handed on: {other:?}")),
        }
    })?;
    let left = Storage::list(&first, "").map_err(said)?;
    if left.is_empty() { Ok(()) } else { Err(format!("the lease left {left:?}")) }
}
