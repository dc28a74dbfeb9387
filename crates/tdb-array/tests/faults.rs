//! A storage that fails at the n-th call of a write, for every n: the array is as it was, or has the new fragment.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tdb_array::{
    Array, ArraySchema, ArrayType, ByteRange, CellValNum, Datatype, Durability, Entry, FileWriter,
    MemoryStorage, OpenOptions, Storage, StorageLock, WriteColumn, WriteOptions, WriteStorage,
};
use tdb_schema::{Attribute, Dimension, Domain};

/// Fails every changing call once so many have succeeded.
#[derive(Clone, Debug, Default)]
struct Failing {
    storage: MemoryStorage,
    left: Arc<AtomicUsize>,
    /// Folders that were synced, in that order.
    synced: Arc<Mutex<Vec<String>>>,
}

impl Failing {
    fn step(&self) -> io::Result<()> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| io::ErrorKind::StorageFull.into())
    }
}

impl Storage for Failing {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.storage.list(folder)
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        self.storage.read_tail(key, most)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.storage.read_into(key, offset, out)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        self.storage.read_ranges(ranges)
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }
}

#[derive(Debug)]
struct FailingFile<'a> {
    file: Box<dyn FileWriter + 'a>,
    storage: Failing,
}

impl FileWriter for FailingFile<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.step()?;
        self.file.append(bytes)
    }

    fn finish(self: Box<Self>, durability: Durability) -> io::Result<()> {
        self.storage.step()?;
        self.file.finish(durability)
    }
}

impl WriteStorage for Failing {
    fn create_folder(&self, key: &str) -> io::Result<()> {
        self.step()?;
        self.storage.create_folder(key)
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        self.step()?;
        Ok(Box::new(FailingFile { file: self.storage.create_file(key)?, storage: self.clone() }))
    }

    fn lock(&self) -> io::Result<StorageLock> {
        self.storage.lock()
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        self.step()?;
        self.synced.lock().unwrap().push(key.to_owned());
        self.storage.sync_folder(key)
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        self.step()?;
        self.storage.remove_file(key)
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        self.step()?;
        self.storage.remove_folder(key)
    }
}

fn schema() -> ArraySchema {
    let low = 0i32.to_le_bytes();
    let dimension = Dimension::fixed("i", Datatype::Int32, low, 9i32.to_le_bytes());
    let domain = Domain::new(vec![dimension.with_extent(5i32.to_le_bytes())]);
    ArraySchema::new(ArrayType::Dense, domain)
        .with_attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .with_attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
}

fn write(storage: impl WriteStorage + 'static, first: i32) -> tdb_array::Result<String> {
    let values: Vec<i32> = (first..first + 10).collect();
    let offsets: Vec<u64> = (0..=10).collect();
    let writer = WriteOptions::new().open_storage(storage)?;
    let write = writer.write().column(WriteColumn::fixed("a", &values));
    write.column(WriteColumn::var("s", b"abcdefghij", &offsets)).commit()
}

fn first_cell(array: &Array) -> i32 {
    let cells = array.read().collect().unwrap();
    let values: &[i32] = cells.field("a").unwrap().values().unwrap();
    assert!(values.windows(2).all(|pair| matches!(pair, [a, b] if *b == a + 1)), "cells of two writes mixed");
    *values.first().unwrap()
}

#[test]
fn a_write_that_fails_at_any_call_leaves_the_old_array_or_the_new_one() {
    let (mut failures, mut kept) = (0, 0);
    loop {
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema()).unwrap();
        write(storage.clone(), 0).unwrap();
        let left = Arc::new(AtomicUsize::new(failures));
        let result = write(Failing { storage: storage.clone(), left, ..Failing::default() }, 100);
        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        match result {
            Ok(_) => {
                assert_eq!(first_cell(&array), 100);
                break;
            }
            Err(_) => {
                let found = first_cell(&array);
                assert!([0, 100].contains(&found), "{found}");
                kept += usize::from(found == 0);
            }
        }
        // Whatever is left over, the next write is not disturbed by it.
        write(storage.clone(), 200).unwrap();
        assert_eq!(first_cell(&OpenOptions::new().open_storage(storage).unwrap()), 200);
        failures += 1;
    }
    assert!(failures > 15 && kept + 1 >= failures, "{failures} failures, {kept} of them without effect");
}

#[test]
fn a_creation_that_fails_leaves_no_array_or_one_that_can_be_written() {
    let mut failures = 0;
    loop {
        let storage = MemoryStorage::default();
        let left = Arc::new(AtomicUsize::new(failures));
        let failing = Failing { storage: storage.clone(), left, ..Failing::default() };
        let created = WriteOptions::new().create_storage(&failing, &schema());
        let opened = OpenOptions::new().open_storage(storage.clone());
        if created.is_ok() {
            assert!(opened.is_ok());
            break;
        }
        match opened {
            Ok(_) => assert!(write(storage, 0).is_ok()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        failures += 1;
    }
    assert!(failures > 8, "{failures}");
}

#[test]
fn folders_that_a_write_makes_anew_have_their_names_synced_before_it_counts() {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema()).unwrap();
    // Copies through tools that know no empty folders lack them.
    storage.remove_folder("__fragments").unwrap();
    storage.remove_folder("__commits").unwrap();
    let recording = Failing { storage, left: Arc::new(AtomicUsize::new(usize::MAX)), ..Failing::default() };
    let name = write(recording.clone(), 0).unwrap();
    let fragment = format!("__fragments/{name}");
    assert_eq!(*recording.synced.lock().unwrap(), [&fragment, "__fragments", "", "__commits"]);
    recording.synced.lock().unwrap().clear();
    let name = write(recording.clone(), 0).unwrap();
    let fragment = format!("__fragments/{name}");
    assert_eq!(*recording.synced.lock().unwrap(), [&fragment, "__fragments", "__commits"]);
}
