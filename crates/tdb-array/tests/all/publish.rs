//! Published arrays: every change renews the manifest, whatever happens in between, and the files
//! it names exist.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use core::ops::ControlFlow;
use std::io::ErrorKind;
use std::sync::Arc;

use tdb_array::error::WriteError;
use tdb_array::group::{GroupMember, ObjectType};
use tdb_array::maintain::{Consolidation, MaintainedObject, Stored, Vacuum};
use tdb_array::publish::{MANIFEST, Manifest, Published};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::testing::{CallKind, Fault, Faults, FaultyStorage};
use tdb_array::storage::{MemoryStorage, Storage, WriteStorage};
use tdb_array::write::{MetadataChanges, SchemaEvolution};
use tdb_array::{Array, Error, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions};

fn schema() -> ArraySchema {
    ArraySchema::sparse()
        .dimension(Dimension::new("i", 0i32..=999).with_tile(100i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap()
}

/// A published array of two fragments.
fn published() -> MemoryStorage {
    let storage = MemoryStorage::default();
    WriteOptions::new().timestamp(1).create_storage(&storage, &schema()).unwrap();
    write(&storage, 10, 1).unwrap();
    write(&storage, 20, 2).unwrap();
    WriteOptions::new().publish_storage(&storage).unwrap();
    storage
}

fn write(storage: &(impl WriteStorage + Clone + 'static), time: u64, cell: i32) -> tdb_array::Result<String> {
    let writer = at(time).open_storage(storage.clone())?;
    let (cells, values) = ([cell, 500], [i64::from(cell); 2]);
    let write = writer.write().column(WriteColumn::fixed("i", &cells));
    let write = write.column(WriteColumn::fixed("a", &values));
    // Whether an evolution has added an attribute.
    let more = writer.schema().attribute("b").is_some();
    if more { write.column(WriteColumn::fixed("b", &[1i8, 2])) } else { write }.commit()
}

fn manifest(storage: &MemoryStorage) -> Manifest {
    Manifest::parse(&storage.read(MANIFEST).unwrap()).unwrap()
}

/// The contents of an array: cells at several times, and metadata.
fn said(storage: impl Storage + Clone + 'static) -> Vec<String> {
    let windows = [TimeWindow::ALL, TimeWindow::until(10), TimeWindow::until(25)];
    let open = |window| OpenOptions::new().window(window).open_storage(storage.clone()).unwrap();
    let mut said: Vec<String> = windows.map(|window| cells(&open(window))).into();
    said.push(format!("{:?}", open(TimeWindow::ALL).metadata().unwrap()));
    said
}

fn cells(array: &Array) -> String {
    let cells = array.read().order(Layout::RowMajor).collect().unwrap();
    let rows: Vec<String> = (0..cells.len()).map(|cell| crate::common::row(&cells, cell)).collect();
    rows.join("\n")
}

/// Asserts that the published state is equal to the array, file by file.
fn assert_up_to_date(storage: &MemoryStorage, what: &str) {
    let own = |key: &String| key != MANIFEST;
    let there: Vec<String> = storage.keys().into_iter().filter(own).collect();
    let manifest = manifest(storage);
    let named: Vec<String> = manifest.files().map(|(key, _)| key.to_owned()).collect();
    assert_eq!(named, there, "{what}");
    assert!(manifest.files().all(|(key, size)| storage.size(key).unwrap() == size), "{what}");
    let read = Published::open(Arc::new(storage.clone())).unwrap();
    assert_eq!(said(Arc::new(read)), said(storage.clone()), "{what}");
}

fn maintain(
    storage: impl WriteStorage + 'static,
    plan: impl Fn(MaintainedObject<'_>) -> tdb_array::Result<tdb_array::maintain::MaintenancePlan>,
) -> tdb_array::Result<()> {
    let writer = WriteOptions::new().open_storage(storage)?;
    let plan = plan((&writer).into())?;
    assert!(!plan.is_empty(), "there is nothing to do");
    plan.run(&writer, &mut |_| ControlFlow::Continue(()))
}

type Faulty = Arc<FaultyStorage<MemoryStorage>>;

/// A change, by its name.
type Change = (&'static str, fn(Faulty) -> tdb_array::Result<()>);

const CHANGES: [Change; 9] = [
    ("a write", |storage| write(&storage, 30, 3).map(drop)),
    ("a stream", |storage| {
        let writer = at(40).open_storage(storage)?;
        let mut stream = writer.sparse_stream(1 << 20)?;
        stream.append(&[WriteColumn::fixed("i", &[700i32, 701]), WriteColumn::fixed("a", &[7i64, 8])])?;
        stream.commit().map(drop)
    }),
    ("a delete", |storage| at(45).open_storage(storage)?.delete(&delete(2)).map(drop)),
    ("metadata", |storage| {
        let changes = MetadataChanges::new().put_text("key", "value");
        at(50).open_storage(storage)?.write_metadata(&changes).map(drop)
    }),
    ("an evolution", |storage| {
        let added =
            SchemaEvolution::new().add_attribute(Attribute::new("b", Datatype::Int8, CellValNum::ONE));
        at(60).evolve_storage(storage, &added).map(drop)
    }),
    ("a consolidation of footers", |storage| {
        maintain(storage, |object| Consolidation::new(Stored::FragmentMetadata).plan(object))
    }),
    ("a consolidation of fragments", |storage| {
        maintain(storage, |object| Consolidation::new(Stored::Fragments).plan(object))
    }),
    ("a consolidation and a vacuum of commits", |storage| {
        maintain(storage.clone(), |object| Consolidation::new(Stored::Commits).plan(object))?;
        maintain(storage, |object| Vacuum::new(Stored::Commits).plan(object))
    }),
    ("a consolidation and a vacuum of fragments", |storage| {
        maintain(storage.clone(), |object| Consolidation::new(Stored::Fragments).plan(object))?;
        maintain(storage, |object| Vacuum::new(Stored::Fragments).plan(object))
    }),
];

fn at(time: u64) -> WriteOptions {
    WriteOptions::new().threads(1).timestamp(time)
}

fn delete(below: i32) -> tdb_fragment::Condition {
    let comparison = tdb_fragment::Comparison::Less;
    tdb_fragment::Condition::Value {
        field: "i".into(),
        comparison,
        operands: vec![below.to_le_bytes().to_vec()],
    }
}

#[test]
fn every_change_renews_the_manifest() {
    for (name, change) in CHANGES {
        let storage = published();
        assert_up_to_date(&storage, "published");
        let time = manifest(&storage).time();
        change(Arc::new(FaultyStorage::new(storage.clone()))).unwrap();
        assert_up_to_date(&storage, name);
        assert!(manifest(&storage).time() > time, "{name} did not renew it");
    }
}

#[test]
fn an_array_that_is_not_published_gets_no_manifest() {
    for (name, change) in CHANGES {
        let storage = published();
        storage.remove(MANIFEST);
        change(Arc::new(FaultyStorage::new(storage.clone()))).unwrap();
        assert_eq!(storage.size(MANIFEST).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
    }
}

/// A reader of the published state reads cells of the array, or gets the error that it is older
/// than the array: nothing else.
fn assert_readable(storage: &MemoryStorage, states: &[String], name: &str) {
    let read = Published::open(Arc::new(storage.clone())).unwrap();
    let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(read).unwrap();
    let cells = cells(&array);
    assert!(states.contains(&cells), "{name}: {cells}");
}

#[test]
fn after_a_crash_at_any_change_the_published_state_is_an_old_or_a_new_one_and_the_next_write_renews_it() {
    for (name, change) in CHANGES {
        let whole = published();
        let all = |storage: &MemoryStorage| {
            cells(&OpenOptions::new().window(TimeWindow::ALL).open_storage(storage.clone()).unwrap())
        };
        let old = all(&whole);
        change(Arc::new(FaultyStorage::new(whole.clone()))).unwrap();
        let states = [old, all(&whole)];
        let mut behind = 0;
        for changes in 0.. {
            let storage = published();
            let plan = Faults::changes_from(changes, Fault::Fail(ErrorKind::StorageFull));
            let done = change(Arc::new(FaultyStorage::new(storage.clone()).with(plan)));
            // The name of a list may be replaced a moment before the manifest is renewed; this is
            // not the case here.
            assert_readable(&storage, &states, name);
            let manifest = manifest(&storage);
            assert!(manifest.files().all(|(key, size)| storage.size(key).unwrap() == size), "{name}");
            behind += u64::from(all(&storage) == states[1] && done.is_err());
            write(&storage, 90, 9).unwrap();
            assert!(self::manifest(&storage).files().all(|(key, _)| storage.size(key).is_ok()), "{name}");
            let read = Published::open(Arc::new(storage.clone())).unwrap();
            assert_eq!(said(Arc::new(read)), said(storage), "{name}");
            if done.is_ok() {
                break;
            }
        }
        assert!(behind > 0, "{name}: no crash came between the change and its renewal");
    }
}

#[test]
fn a_write_whose_renewal_fails_counts_and_says_so() {
    let storage = published();
    let before = manifest(&storage);
    let faulty: Faulty = Arc::new(FaultyStorage::new(storage.clone()).with(Faults::new(|call| {
        (call.kind == CallKind::SwapFile).then_some(Fault::Fail(ErrorKind::PermissionDenied))
    })));
    let error = write(&faulty, 30, 3).unwrap_err();
    assert!(matches!(error, Error::Write(WriteError::NotRenewed { .. })), "{error}");
    assert!(error.to_string().contains("is committed") && error.to_string().contains(MANIFEST), "{error}");
    assert_eq!(manifest(&storage), before);
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert_eq!(array.fragments().len(), 3);
    WriteOptions::new().publish_storage(&storage).unwrap();
    assert_up_to_date(&storage, "published again");
}

#[test]
fn a_vacuum_that_cannot_renew_the_manifest_removes_nothing() {
    let storage = published();
    maintain(storage.clone(), |object| Consolidation::new(Stored::Fragments).plan(object)).unwrap();
    let before = storage.keys();
    let faulty: Faulty = Arc::new(FaultyStorage::new(storage.clone()).with(Faults::new(|call| {
        (call.kind == CallKind::SwapFile).then_some(Fault::Fail(ErrorKind::PermissionDenied))
    })));
    maintain(faulty, |object| Vacuum::new(Stored::Fragments).plan(object)).unwrap_err();
    assert_eq!(storage.keys(), before);
}

#[test]
fn of_writers_that_race_none_undoes_what_another_published() {
    let storage = published();
    std::thread::scope(|scope| {
        for writer in 0..4u64 {
            let storage = storage.clone();
            scope.spawn(move || {
                for round in 0..5u64 {
                    write(&storage, 100 + writer * 10 + round, 3).unwrap();
                }
            });
        }
    });
    assert_up_to_date(&storage, "22 writes");
    assert_eq!(
        OpenOptions::new().window(TimeWindow::ALL).open_storage(storage).unwrap().fragments().len(),
        22
    );
}

#[test]
fn what_is_not_committed_and_what_is_not_the_arrays_is_not_published() {
    let storage = published();
    let files = ["__fragments/__5_5_0123456789abcdef0123456789abcdef_22/a0.tdb", ".tdb-lease", "notes.txt"];
    for key in files.iter().chain(&["__schema/__9_9_ab.tmp", "__unfinished.tdb", "sub/x"]) {
        storage.insert(*key, &b"x"[..]);
    }
    WriteOptions::new().publish_storage(&storage).unwrap();
    let manifest = manifest(&storage);
    assert_eq!(manifest.files().count(), storage.keys().len() - 7);
    assert!(files.iter().all(|key| manifest.size(key).is_none()));
}

#[test]
fn an_array_without_cells_opens_from_its_manifest_and_so_does_every_kind_of_array() {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema()).unwrap();
    WriteOptions::new().publish_storage(&storage).unwrap();
    assert_eq!(manifest(&storage).list("__fragments"), Some(Vec::new()));
    assert_up_to_date(&storage, "empty");
    for (id, folder) in crate::common::arrays().into_iter().step_by(9) {
        let local = Arc::new(tdb_array::storage::LocalStorage::new(&folder));
        let copy = MemoryStorage::default();
        copy_folder(&folder, "", &copy);
        WriteOptions::new().publish_storage(&copy).unwrap();
        let open =
            |storage: Arc<dyn Storage>| OpenOptions::new().window(TimeWindow::ALL).open_storage(storage);
        let read = open(Arc::new(Published::open(copy).unwrap())).map(|array| cells(&array));
        assert_eq!(read.ok(), open(local).map(|array| cells(&array)).ok(), "{id}");
    }
}

fn copy_folder(root: &std::path::Path, folder: &str, to: &MemoryStorage) {
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let key = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            to.create_folder(&key).unwrap();
            copy_folder(root, &key, to);
        } else {
            to.insert(key, std::fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn a_write_to_a_label_renews_the_manifest_of_its_array() {
    let root = crate::common::fixtures().join("arrays/2.30.0");
    let labelled = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let labelled = labelled.into_iter().find(|path| path.join("__labels").is_dir()).unwrap();
    let storage = MemoryStorage::default();
    copy_folder(&labelled, "", &storage);
    WriteOptions::new().publish_storage(&storage).unwrap();
    let before = manifest(&storage);
    assert!(before.files().any(|(key, _)| key.starts_with("__labels/")));
    let writer = at(1 << 40).open_storage(storage.clone()).unwrap();
    let name = writer.schema().labels.iter().find(|label| !label.external).unwrap().name.clone();
    let changes = MetadataChanges::new().put_text("key", "value");
    writer.label(&name).unwrap().write_metadata(&changes).unwrap();
    let after = manifest(&storage);
    assert_eq!(after.files().count(), before.files().count() + 1);
}

#[test]
fn changes_of_a_group_renew_its_manifest_which_names_no_members() {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_group_storage(&storage).unwrap();
    WriteOptions::new().publish_storage(&storage).unwrap();
    storage.insert("member/__schema/__1_1_ab", &b"x"[..]);
    let mut group = WriteOptions::new().open_group_storage(storage.clone()).unwrap();
    let member = GroupMember::new(ObjectType::Array, "member").with_name("m").with_relative_uri();
    group.add(member).unwrap();
    group.metadata(MetadataChanges::new().put_text("key", "value"));
    group.commit().unwrap();
    let manifest = manifest(&storage);
    assert!(manifest.files().all(|(key, _)| !key.starts_with("member")), "{manifest:?}");
    assert_eq!(manifest.list("__group").unwrap().len(), 1);
    assert_eq!(manifest.list("__meta").unwrap().len(), 1);
}
