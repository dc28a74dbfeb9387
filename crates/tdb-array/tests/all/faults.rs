//! A storage that fails at the n-th call of a change, for every n, or from there on: the array is
//! in the state before the change, or in the state after it.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use core::ops::ControlFlow;
use std::io::ErrorKind;
use std::sync::Arc;

use tdb_array::error::WriteError;
use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::testing::{CallKind, Fault, Faults, FaultyStorage};
use tdb_array::storage::{MemoryStorage, WriteStorage};
use tdb_array::write::{MetadataChanges, SchemaEvolution};
use tdb_array::{Array, Error, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions, field};
use tdb_schema::{Attribute, Dimension, Domain, SchemaBuilder};

type Faulty = Arc<FaultyStorage<MemoryStorage>>;

/// Allows this many changes, and none after them.
fn full_after(storage: &MemoryStorage, changes: u64) -> Faulty {
    let plan = Faults::changes_from(changes, Fault::Fail(ErrorKind::StorageFull));
    Arc::new(FaultyStorage::new(storage.clone()).with(plan))
}

/// Folders that were synced, in the order of the calls.
fn synced(storage: &Faulty) -> Vec<String> {
    let synced = storage.calls().into_iter().filter(|call| call.kind == CallKind::SyncFolder);
    synced.map(|call| call.key).collect()
}

fn schema() -> ArraySchema {
    let low = 0i32.to_le_bytes();
    let dimension = Dimension::fixed("i", Datatype::Int32, low, 9i32.to_le_bytes());
    let domain = Domain::new(vec![dimension.with_tile_bytes(5i32.to_le_bytes())]);
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
        let result = write(full_after(&storage, failures), 100);
        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        match result {
            Ok(_) => {
                assert_eq!(first_cell(&array), 100);
                break;
            }
            Err(_) => {
                let found = first_cell(&array);
                assert!([0, 100].contains(&found), "{found}");
                kept += u64::from(found == 0);
            }
        }
        // Whatever is left over must not disturb the next write.
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
        let created = WriteOptions::new().create_storage(&full_after(&storage, failures), &schema());
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
    // Copies made by tools that skip empty folders lack them.
    storage.remove_folder("__fragments").unwrap();
    storage.remove_folder("__commits").unwrap();
    let recording = full_after(&storage, u64::MAX);
    let name = write(recording.clone(), 0).unwrap();
    let fragment = format!("__fragments/{name}");
    assert_eq!(synced(&recording), [&fragment, "__fragments", "", "__commits"]);
    recording.set(Faults::none());
    let name = write(recording.clone(), 0).unwrap();
    let fragment = format!("__fragments/{name}");
    assert_eq!(synced(&recording), [&fragment, "__fragments", "__commits"]);
}

/// A sparse array of some fragments, metadata and a delete.
fn history() -> MemoryStorage {
    history_of(sparse())
}

fn sparse() -> SchemaBuilder {
    ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=99).with_tile(10i32))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
}

fn history_of(schema: SchemaBuilder) -> MemoryStorage {
    let storage = MemoryStorage::default();
    at(1001).create_storage(&storage, &schema.build().unwrap()).unwrap();
    (1002..1005).for_each(|time| append(storage.clone(), time).unwrap());
    at(1005).open_storage(storage.clone()).unwrap().delete(&delete(3)).unwrap();
    let changes = MetadataChanges::new().put_text("key", "old");
    at(1005).open_storage(storage.clone()).unwrap().write_metadata(&changes).unwrap();
    storage
}

fn at(time: u64) -> WriteOptions {
    WriteOptions::new().threads(1).timestamp(time)
}

fn delete(below: i32) -> tdb_fragment::Condition {
    let comparison = tdb_fragment::Comparison::Less;
    tdb_fragment::Condition::Value {
        field: "x".into(),
        comparison,
        operands: vec![below.to_le_bytes().to_vec()],
    }
}

fn append(storage: impl WriteStorage + 'static, time: u64) -> tdb_array::Result<()> {
    let x: Vec<i32> = (0..20).map(|x| x * 2 + i32::try_from(time % 100).unwrap()).collect();
    let writer = at(time).open_storage(storage)?;
    let write = writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &x));
    // Whether an evolution has added an attribute.
    let more = writer.schema().attributes.iter().any(|attribute| attribute.name == "b");
    let write = if more { write.column(WriteColumn::fixed("b", &x)) } else { write };
    write.commit().map(drop)
}

/// Everything that a reader sees.
fn look(storage: &MemoryStorage) -> String {
    let array = OpenOptions::new().threads(1).window(TimeWindow::ALL).open_storage(storage.clone()).unwrap();
    let cells = array.read().order(Layout::RowMajor).collect().unwrap();
    let few = array.read().condition(field("a").ge(20)).collect().unwrap();
    let columns: Vec<&[u8]> = cells.columns().iter().map(tdb_array::Column::bytes).collect();
    format!("{columns:?} {} {:?}", few.len(), array.metadata().unwrap())
}

/// A change, by its name.
type Change = (&'static str, fn(Faulty) -> tdb_array::Result<()>);

const CHANGES: [Change; 7] = [
    ("a write", |storage| append(storage, 1010)),
    ("a delete", |storage| at(1010).open_storage(storage)?.delete(&delete(20)).map(drop)),
    ("metadata", |storage| {
        let changes = MetadataChanges::new().put_text("key", "new");
        at(1010).open_storage(storage)?.write_metadata(&changes).map(drop)
    }),
    ("an evolution", |storage| {
        let added = Attribute::new("b", Datatype::Int32, CellValNum::ONE);
        at(1010).evolve_storage(storage, &SchemaEvolution::new().add_attribute(added)).map(drop)
    }),
    ("a consolidation of fragments", |storage| consolidate(storage, Stored::Fragments)),
    ("a consolidation of commits", |storage| consolidate(storage, Stored::Commits)),
    ("a consolidation and a vacuum", |storage| {
        consolidate(storage.clone(), Stored::Fragments)?;
        let writer = at(1010).open_storage(storage)?;
        Vacuum::new(Stored::Fragments).plan(&writer)?.run(&writer, &mut |_| ControlFlow::Continue(()))
    }),
];

fn consolidate(storage: Faulty, what: Stored) -> tdb_array::Result<()> {
    let writer = at(1010).open_storage(storage)?;
    let consolidation = Consolidation::new(what).amplification(1e9);
    consolidation.plan(&writer)?.run(&writer, &mut |_| ControlFlow::Continue(()))
}

fn copy(storage: &MemoryStorage) -> MemoryStorage {
    use tdb_array::storage::Storage;
    MemoryStorage::new(storage.keys().into_iter().map(|key| (key.clone(), storage.read(&key).unwrap())))
}

/// Runs a change once for each of its calls, with only that call failing: the array is in the state
/// before or after the change, and the change can be repeated.
fn each_call_fails((name, change): Change, fault: Fault) {
    let (before, after) = (history(), history());
    let (old, mut new) = (look(&before), String::new());
    let storage: Faulty = Arc::new(FaultyStorage::new(after.clone()));
    change(storage.clone()).unwrap();
    new += &look(&after);
    let calls = u64::try_from(storage.calls().len()).unwrap();
    assert!(calls > 5, "{name}");
    let mut failed = 0;
    for number in 0..calls {
        let left = copy(&before);
        let storage: Faulty = Arc::new(FaultyStorage::new(left.clone()).with(Faults::call(number, fault)));
        let changed = change(storage.clone());
        let call = storage.calls().into_iter().nth(usize::try_from(number).unwrap());
        let seen = look(&left);
        let what = || format!("{name}, {fault:?} at {call:?}: {:?}", changed.as_ref().err());
        match &changed {
            Ok(()) => assert!(seen == new, "{}", what()),
            Err(error) => {
                // Whether a manifest must be renewed is checked after the change is committed.
                let not_renewed = matches!(error, Error::Write(WriteError::NotRenewed { .. })) && seen == new;
                let of_files = matches!(error, Error::Io { .. } | Error::Corrupt { .. });
                assert!(of_files || not_renewed, "{}", what());
                assert!(seen == old || seen == new, "{}", what());
                failed += 1;
            }
        }
        // What it left disturbs nothing: neither the same change, unless it was made, nor another
        // one.
        if seen == old {
            let again = change(Arc::new(FaultyStorage::new(left.clone())));
            assert!(again.is_ok(), "again, {}: {:?}", what(), again.err());
            assert!(look(&left) == new, "again, {}", what());
        }
        append(left.clone(), 1020).unwrap();
        assert_ne!(look(&left), new, "{}", what());
    }
    assert!(failed * 2 > calls, "{name}, {fault:?}: {failed} of {calls} failed");
}

#[test]
fn a_change_of_which_any_call_fails_leaves_the_old_state_or_the_new_one() {
    for change in CHANGES {
        each_call_fails(change, Fault::Fail(ErrorKind::StorageFull));
        each_call_fails(change, Fault::Fail(ErrorKind::TimedOut));
    }
}

#[test]
fn a_change_of_which_any_call_is_done_and_said_to_have_failed_leaves_the_old_state_or_the_new_one() {
    for change in CHANGES {
        each_call_fails(change, Fault::FailAfter(ErrorKind::TimedOut));
        each_call_fails(change, Fault::FailAfter(ErrorKind::StorageFull));
    }
}

#[test]
fn a_change_of_which_any_call_is_cut_short_leaves_the_old_state_or_the_new_one() {
    for change in CHANGES {
        each_call_fails(change, Fault::Short(1));
    }
}

#[test]
fn a_storage_that_puts_nothing_on_a_condition_is_written_all_the_same() {
    let refuses = |call: &tdb_array::storage::testing::Call| {
        let on_a_condition =
            matches!(call.kind, CallKind::PutFile | CallKind::SwapFile | CallKind::ReadVersioned);
        on_a_condition.then_some(Fault::Fail(ErrorKind::Unsupported))
    };
    for schema in [sparse(), sparse().allow_duplicates()] {
        let storage = history_of(schema);
        for (name, change) in CHANGES {
            let (there, same) = (copy(&storage), copy(&storage));
            let refusing: Faulty = Arc::new(FaultyStorage::new(there.clone()).with(Faults::new(refuses)));
            change(refusing.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
            change(Arc::new(FaultyStorage::new(same.clone()))).unwrap();
            assert!(refusing.faults() > 0 && look(&there) == look(&same), "{name}");
        }
    }
}

#[test]
fn a_list_of_commits_that_somebody_else_replaced_meanwhile_is_not_replaced() {
    // As if a lease expired, and another process took it.
    let storage = history_of(sparse().allow_duplicates());
    consolidate(Arc::new(FaultyStorage::new(storage.clone())), Stored::Commits).unwrap();
    let before = look(&storage);
    let other = storage.clone();
    let plan = Faults::new(move |call| {
        if call.kind == CallKind::SwapFile {
            use tdb_array::storage::Storage;
            // Repeated lines count once.
            let list = other.read(&call.key).unwrap();
            other.insert(call.key.clone(), [&list[..], &list].concat());
        }
        None
    });
    let faulty: Faulty = Arc::new(FaultyStorage::new(storage.clone()).with(plan));
    let error = consolidate(faulty.clone(), Stored::Fragments).unwrap_err();
    assert!(error.to_string().contains("changed by another program"), "{error}");
    assert_eq!(look(&storage), before);
}
