//! Arrays and groups are opened at the present time: what has a time in the future is seen only on
//! request.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

use core::ops::ControlFlow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tdb_array::group::{Group, GroupMember, ObjectType};
use tdb_array::history::history;
use tdb_array::maintain::{Consolidation, MaintainedObject, Stored, Vacuum, verify};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::{Entry, MemoryStorage, Storage};
use tdb_array::write::{MetadataChanges, SchemaEvolution};
use tdb_array::{Array, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions, field};
use tdb_schema::{Attribute, Dimension, Enumeration};

/// Far in the future, whenever this test runs.
const FUTURE: u64 = 32_503_680_000_000;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

fn int(name: &str) -> Attribute {
    Attribute::new(name, Datatype::Int32, CellValNum::ONE)
}

/// An array of cells 1 to 8 with an attribute `a`, created at a time.
fn created(dense: bool, time: u64) -> MemoryStorage {
    let builder = if dense { ArraySchema::dense() } else { ArraySchema::sparse() };
    let dimension = Dimension::new("x", 1i32..=8).with_tile_bytes(4i32.to_le_bytes());
    let schema = builder.dimension(dimension).attribute(int("a")).build().unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().timestamp(time).create_storage(&storage, &schema).unwrap();
    storage
}

fn at(time: Option<u64>) -> WriteOptions {
    time.map_or_else(WriteOptions::new, |time| WriteOptions::new().timestamp(time))
}

/// Writes cells `low..=high` with one value of all attributes.
fn write(storage: &MemoryStorage, time: Option<u64>, (low, high): (i32, i32), value: i32) {
    let writer = at(time).open_storage(storage.clone()).unwrap();
    let x: Vec<i32> = (low..=high).collect();
    let values = vec![value; x.len()];
    let write = match writer.schema().array_type {
        tdb_array::schema::ArrayType::Dense => writer.write().range("x", low..=high),
        tdb_array::schema::ArrayType::Sparse => writer.write().column(WriteColumn::fixed("x", &x)),
    };
    let names: Vec<&str> =
        writer.schema().attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    names.iter().fold(write, |write, name| write.column(WriteColumn::fixed(name, &values))).commit().unwrap();
}

fn open(storage: &MemoryStorage) -> Array {
    OpenOptions::new().open_storage(storage.clone()).unwrap()
}

fn open_in(storage: &MemoryStorage, window: TimeWindow) -> Array {
    OpenOptions::new().window(window).open_storage(storage.clone()).unwrap()
}

fn cells(array: &Array) -> Vec<i32> {
    array.read().order(Layout::RowMajor).collect().unwrap().field("a").unwrap().values().unwrap().to_vec()
}

fn attributes(array: &Array) -> Vec<&str> {
    array.schema().attributes.iter().map(|attribute| attribute.name.as_str()).collect()
}

fn list(storage: &MemoryStorage, folder: &str) -> Vec<String> {
    let entries: Vec<Entry> = storage.list(folder).unwrap_or_default();
    entries.into_iter().map(|entry| entry.name).collect()
}

fn maintain<'a>(object: impl Into<MaintainedObject<'a>>, plan: &tdb_array::maintain::MaintenancePlan) {
    plan.run(object, &mut |_| ControlFlow::Continue(())).unwrap();
}

#[test]
fn cells_and_deletes_of_the_future_are_seen_by_who_asks_for_it() {
    for dense in [true, false] {
        let storage = created(dense, 1);
        write(&storage, Some(10), (1, 8), 1);
        write(&storage, None, (3, 3), 2);
        write(&storage, Some(FUTURE), (4, 8), 3);
        if !dense {
            let writer = at(Some(FUTURE + 1)).open_storage(storage.clone()).unwrap();
            let condition = field("a").eq(1).to_stored(&open(&storage)).unwrap();
            writer.delete(&condition).unwrap();
        }
        let present = open(&storage);
        assert_eq!(cells(&present), [1, 1, 2, 1, 1, 1, 1, 1], "dense: {dense}");
        assert_eq!(present.fragments().len(), 2);
        let window = present.window();
        // Another test uses a clock that is some seconds ahead.
        let about = now() - 60_000..now() + 10_000;
        assert!(window.start == 0 && about.contains(&window.end), "{window:?}");
        for later in [TimeWindow::until(FUTURE), TimeWindow::until(u64::MAX), TimeWindow::ALL] {
            let deleted = !dense && later.end > FUTURE;
            let expected: &[i32] = if deleted { &[2, 3, 3, 3, 3, 3] } else { &[1, 1, 2, 3, 3, 3, 3, 3] };
            assert_eq!(cells(&open_in(&storage, later)), expected, "{later:?}");
        }
        assert_eq!(cells(&open_in(&storage, TimeWindow::until(15))), [1; 8]);
    }
}

#[test]
fn a_window_that_is_open_at_its_end_ends_now_unless_it_begins_later() {
    let storage = created(false, 1);
    write(&storage, Some(10), (1, 2), 1);
    write(&storage, Some(20), (3, 4), 2);
    write(&storage, Some(FUTURE), (5, 6), 3);
    let since = |start| cells(&OpenOptions::new().since(start).open_storage(storage.clone()).unwrap());
    assert_eq!(since(0), [1, 1, 2, 2]);
    assert_eq!(since(15), [2, 2]);
    assert_eq!(since(FUTURE), [3, 3]);
    assert_eq!(since(FUTURE + 1), [0; 0]);
}

#[test]
fn metadata_of_the_future_is_seen_by_who_asks_for_it() {
    let storage = created(true, 1);
    let put = |time, text| {
        let writer = at(time).open_storage(storage.clone()).unwrap();
        writer.write_metadata(&MetadataChanges::new().put_text("k", text)).unwrap();
    };
    put(Some(10), "past");
    put(Some(FUTURE), "future");
    let value = |array: Array| array.metadata().unwrap().get(b"k").map(|value| value.data.clone());
    assert_eq!(value(open(&storage)).unwrap(), b"past");
    assert_eq!(value(open_in(&storage, TimeWindow::ALL)).unwrap(), b"future");
    put(None, "now");
    assert_eq!(value(open(&storage)).unwrap(), b"now");
    assert_eq!(value(open_in(&storage, TimeWindow::until(FUTURE))).unwrap(), b"future");
}

#[test]
fn a_schema_of_the_future_is_used_by_writers_and_seen_by_who_asks_for_it() {
    let storage = created(false, 1_000_000_000_000);
    let add = SchemaEvolution::new().add_attribute(int("b"));
    at(Some(FUTURE)).evolve_storage(storage.clone(), &add).unwrap();
    assert_eq!(attributes(&open(&storage)), ["a"]);
    assert_eq!(attributes(&open_in(&storage, TimeWindow::until(FUTURE))), ["a", "b"]);
    write(&storage, None, (1, 2), 5);
    let present = open(&storage);
    assert_eq!((attributes(&present), cells(&present)), (vec!["a"], vec![5, 5]));
    let later = open_in(&storage, TimeWindow::ALL).read().fields(["b"]).collect().unwrap();
    assert_eq!(later.field("b").unwrap().values::<i32>().unwrap(), [5, 5]);
}

#[test]
fn where_all_schemas_are_of_the_future_the_first_counts() {
    let storage = created(true, FUTURE);
    assert_eq!(attributes(&open(&storage)), ["a"]);
    let add = SchemaEvolution::new().add_attribute(int("b"));
    at(Some(FUTURE + 5)).evolve_storage(storage.clone(), &add).unwrap();
    assert_eq!(attributes(&open(&storage)), ["a"]);
    assert_eq!(attributes(&open_in(&storage, TimeWindow::until(FUTURE + 5))), ["a", "b"]);
    write(&storage, None, (1, 1), 7);
    assert_eq!(cells(&open(&storage))[0], 7);
}

#[test]
fn an_enumeration_has_the_values_of_the_time() {
    let values = ["red", "green"];
    let enumeration =
        Enumeration::new("colours", "__0123_0", Datatype::StringUtf8, CellValNum::Var, values).unwrap();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 1i32..=8))
        .attribute(int("a").with_enumeration("colours"))
        .enumeration(&enumeration)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    let created = at(Some(1_000_000_000_000)).enumeration(enumeration);
    created.create_storage(&storage, &schema).unwrap();
    let extend = SchemaEvolution::new().extend_enumeration("colours", ["blue"]);
    at(Some(FUTURE)).evolve_storage(storage.clone(), &extend).unwrap();
    let count = |array: Array| array.enumeration("colours").unwrap().unwrap().len();
    assert_eq!(count(open(&storage)), 2);
    assert_eq!(count(open_in(&storage, TimeWindow::ALL)), 3);
}

#[test]
fn members_of_the_future_are_seen_by_who_asks_for_it() {
    let storage = MemoryStorage::default();
    at(None).create_group_storage(&storage).unwrap();
    let member = |name: &str| GroupMember::new(ObjectType::Array, name).with_name(name).with_relative_uri();
    let change = |time, name: &str| {
        let mut group = at(time).open_group_storage(storage.clone()).unwrap();
        group.add(member(name)).unwrap();
        group.metadata(MetadataChanges::new().put_text("last", name));
        group.commit().unwrap();
    };
    change(Some(10), "past");
    change(Some(FUTURE), "future");
    let seen = |options: OpenOptions| {
        let group = options.open_group_in(Arc::new(storage.clone()), "").unwrap();
        let names: Vec<String> = group.members().map(|member| member.key().to_owned()).collect();
        (names, group.metadata().unwrap().get(b"last").map(|value| value.data.clone()).unwrap())
    };
    assert_eq!(seen(OpenOptions::new()), (vec!["past".to_owned()], b"past".to_vec()));
    let all = vec!["future".to_owned(), "past".to_owned()];
    assert_eq!(seen(OpenOptions::new().window(TimeWindow::ALL)), (all, b"future".to_vec()));
    // A member with a future time does not exist yet, so one with the same name may be added now,
    // and it cannot be removed.
    let mut group = at(None).open_group_storage(storage.clone()).unwrap();
    assert!(group.remove("future").is_err());
    group.add(member("now")).unwrap();
    group.commit().unwrap();
    let all = vec!["future".to_owned(), "now".to_owned(), "past".to_owned()];
    assert_eq!(seen(OpenOptions::new().window(TimeWindow::ALL)).0, all);
    assert_eq!(seen(OpenOptions::new()).0, ["now", "past"]);
}

#[test]
fn members_are_opened_as_of_the_time_of_their_group() {
    let storage = MemoryStorage::default();
    at(None).create_group_storage(&storage).unwrap();
    storage.insert("inner/__tiledb_group.tdb", b"".as_slice());
    let mut group = at(Some(10)).open_group_storage(storage.clone()).unwrap();
    let inner = GroupMember::new(ObjectType::Group, "inner").with_relative_uri();
    group.add(inner).unwrap();
    group.commit().unwrap();
    let outer: Group = OpenOptions::new().open_group_in(Arc::new(storage), "").unwrap();
    let inner = outer.open_member(outer.members().next().unwrap()).unwrap();
    assert_eq!(inner.window(), outer.window());
}

#[test]
fn what_this_process_wrote_is_seen_at_once() {
    for dense in [true, false] {
        let storage = created(dense, 1_000_000_000_000);
        for round in 0..40i32 {
            let name = format!("b{round}");
            at(None)
                .evolve_storage(storage.clone(), &SchemaEvolution::new().add_attribute(int(&name)))
                .unwrap();
            let array = open(&storage);
            assert_eq!(
                attributes(&array).len(),
                usize::try_from(round).unwrap() + 2,
                "an evolution of this moment"
            );
            write(&storage, None, (1, 8), round);
            let found = open(&storage).read().fields([&name]).collect().unwrap();
            assert_eq!(found.field(&name).unwrap().values::<i32>().unwrap(), [round; 8]);
        }
    }
}

#[test]
fn an_evolution_follows_a_clock_that_is_a_little_ahead_and_refuses_what_nobody_would_see() {
    let storage = created(false, 1_000_000_000_000);
    // The clock of another machine.
    let ahead = now() + 3000;
    at(Some(ahead)).evolve_storage(storage.clone(), &SchemaEvolution::new().add_attribute(int("b"))).unwrap();
    // Cells with the attribute are not older than the attribute.
    write(&storage, None, (1, 2), 4);
    let array = open(&storage);
    assert_eq!((attributes(&array), cells(&array)), (vec!["a", "b"], vec![4, 4]));
    at(None).evolve_storage(storage.clone(), &SchemaEvolution::new().add_attribute(int("c"))).unwrap();
    assert_eq!(attributes(&open(&storage)), ["a", "b", "c"]);

    let storage = created(false, FUTURE);
    let add = SchemaEvolution::new().add_attribute(int("b"));
    let error = at(None).evolve_storage(storage.clone(), &add).unwrap_err().to_string();
    assert!(error.contains("time in the future"), "{error}");
    at(Some(FUTURE + 1)).evolve_storage(storage.clone(), &add).unwrap();
    assert_eq!(attributes(&open_in(&storage, TimeWindow::ALL)), ["a", "b"]);
}

#[test]
fn the_log_and_verification_look_at_the_future_too() {
    let storage = created(true, 1);
    write(&storage, Some(10), (1, 8), 1);
    write(&storage, Some(FUTURE), (1, 4), 2);
    let events = history(storage.clone(), None).unwrap().events;
    assert!(events.iter().any(|event| event.timestamps == Some((FUTURE, FUTURE))), "{events:?}");
    let folder = open_in(&storage, TimeWindow::ALL).fragments()[1].folder().to_owned();
    assert!(verify(storage.clone()).is_clean());
    storage.insert(format!("{folder}/a0.tdb"), b"damaged".to_vec());
    assert!(!verify(storage).is_clean());
}

#[test]
fn maintenance_keeps_what_is_seen_now_and_what_will_be() {
    for dense in [true, false] {
        let storage = created(dense, 1);
        write(&storage, Some(10), (1, 8), 1);
        write(&storage, Some(20), (3, 4), 2);
        write(&storage, Some(FUTURE), (4, 5), 3);
        write(&storage, Some(FUTURE + 1), (5, 6), 4);
        let expected = |what: &str| {
            assert_eq!(cells(&open(&storage)), [1, 1, 2, 2, 1, 1, 1, 1], "{what}, dense: {dense}");
            let later = cells(&open_in(&storage, TimeWindow::until(FUTURE)));
            assert_eq!(later, [1, 1, 2, 3, 3, 1, 1, 1], "{what}, dense: {dense}");
            let last = cells(&open_in(&storage, TimeWindow::ALL));
            assert_eq!(last, [1, 1, 2, 3, 4, 4, 1, 1], "{what}, dense: {dense}");
        };
        let drop_history = |what: &str| {
            let writer = at(None).open_storage(storage.clone()).unwrap();
            let plan = Vacuum::new(Stored::Fragments).drop_history(true).plan(&writer).unwrap();
            maintain(&writer, &plan);
            expected(what);
        };
        let writer = at(None).open_storage(storage.clone()).unwrap();
        let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
        assert_eq!(plan.steps()[0].inputs.len(), 2, "what is still to come is left out");
        assert!(plan.notes().iter().any(|note| note.contains("in the future")), "{:?}", plan.notes());
        maintain(&writer, &plan);
        drop_history("consolidated");
        assert_eq!(list(&storage, "__fragments").len(), 3);
        // All of them can be consolidated into one if they are named explicitly.
        let all: Vec<String> =
            open_in(&storage, TimeWindow::ALL).fragments().iter().map(|f| f.name().to_owned()).collect();
        let plan = Consolidation::new(Stored::Fragments).fragments(all).plan(&writer).unwrap();
        maintain(&writer, &plan);
        expected("all in one");
        let commits = Consolidation::new(Stored::Commits).plan(&writer).unwrap();
        maintain(&writer, &commits);
        drop_history("all in one, vacuumed");
        for what in [Stored::Commits, Stored::FragmentMetadata] {
            let plan = Consolidation::new(what).plan(&writer).unwrap();
            maintain(&writer, &plan);
            let plan = Vacuum::new(what).plan(&writer).unwrap();
            maintain(&writer, &plan);
            expected("gathered");
        }
        assert!(verify(storage.clone()).is_clean());
    }
}

#[test]
fn metadata_of_the_future_stays_out_of_what_is_consolidated() {
    let storage = created(true, 1);
    let put = |time, key: &str, text: &str| {
        let writer = at(Some(time)).open_storage(storage.clone()).unwrap();
        writer.write_metadata(&MetadataChanges::new().put_text(key, text)).unwrap();
    };
    put(10, "k", "1");
    put(20, "k", "2");
    put(20, "gone", "x");
    put(FUTURE, "k", "3");
    put(FUTURE + 1, "l", "4");
    let read = |window| {
        let metadata = open_in(&storage, window).metadata().unwrap();
        metadata.iter().map(|(key, value)| [key, &value.data].concat()).collect::<Vec<_>>()
    };
    let windows = [10, 20, now(), FUTURE, u64::MAX].map(TimeWindow::until);
    let before = windows.map(read);
    let writer = at(None).open_storage(storage.clone()).unwrap();
    for round in 0..2 {
        let plan = Consolidation::new(Stored::Metadata).plan(&writer).unwrap();
        assert_eq!(plan.steps().first().map(|step| step.inputs.len()), (round == 0).then_some(3));
        maintain(&writer, &plan);
        // The first vacuum removes what earlier times would show.
        let kept = if round == 0 { 0 } else { 2 };
        assert_eq!(windows.map(read)[kept..], before[kept..]);
        let plan = Vacuum::new(Stored::Metadata).drop_history(true).plan(&writer).unwrap();
        maintain(&writer, &plan);
        assert_eq!(windows.map(read)[2..], before[2..]);
    }
    assert_eq!(list(&storage, "__meta").len(), 3);
}
