//! What random histories do not cover: dense arrays, purges, limits, cancelling, schemas that
//! change, and refusals.

use core::ops::ControlFlow;

use tdb_array::error::WriteError;
use tdb_array::maintain::{Consolidation, Stored, Vacuum, verify};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::testing::FaultyStorage;
use tdb_array::storage::{MemoryStorage, Storage};
use tdb_array::write::SchemaEvolution;
use tdb_array::{Error, OpenOptions, TimeWindow, WriteColumn, WriteOptions};
use tdb_fragment::{Comparison, Condition};
use tdb_schema::{Attribute, Dimension, Range};

use crate::maintain::model::{Change, Model, cells, change};
use crate::maintain::{assert_same, create, history, time, write};

pub(crate) fn at(time: u64) -> WriteOptions {
    WriteOptions::new().threads(1).timestamp(time)
}

pub(crate) fn run(storage: &MemoryStorage, consolidation: &Consolidation) -> Result<(), Error> {
    let writer = at(0).open_storage(storage.clone()).unwrap();
    consolidation.plan(&writer)?.run(&writer, &mut |_| ControlFlow::Continue(()))
}

pub(crate) fn vacuum(storage: &MemoryStorage, vacuum: &Vacuum) -> Vec<String> {
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let plan = vacuum.plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    plan.notes().to_vec()
}

fn int(name: &str) -> Attribute {
    Attribute::new(name, Datatype::Int32, CellValNum::ONE)
}

fn dense() -> MemoryStorage {
    let schema =
        ArraySchema::dense().dimension(Dimension::new("x", 0i32..=19).with_tile(4i32)).attribute(int("a"));
    let storage = MemoryStorage::default();
    at(1000).create_storage(&storage, &schema.build().unwrap()).unwrap();
    for (time, (low, high)) in [(1001, (2, 9)), (1002, (6, 12)), (1003, (13, 13))] {
        let values: Vec<i32> = (low..=high).map(|x| x * 10_000 + time).collect();
        let writer = at(u64::try_from(time).unwrap()).open_storage(storage.clone()).unwrap();
        writer.write().range("x", low..=high).column(WriteColumn::fixed("a", &values)).commit().unwrap();
    }
    storage
}

fn line(storage: &MemoryStorage, window: TimeWindow) -> Vec<i32> {
    let array = OpenOptions::new().threads(1).window(window).open_storage(storage.clone()).unwrap();
    array.read().collect().unwrap().field("a").unwrap().values().unwrap().to_vec()
}

#[test]
fn a_dense_array_keeps_its_past_until_it_is_told_to_drop_it() {
    let storage = dense();
    let windows: Vec<TimeWindow> = (1000..=1004)
        .flat_map(|end| (1000..=end).map(move |start| TimeWindow::between(start, end)))
        .collect();
    let look = || windows.iter().map(|window| line(&storage, *window)).collect::<Vec<_>>();
    let before = look();
    let wide = Consolidation::new(Stored::Fragments).amplification(2.0);
    for memory in [1, 1 << 20] {
        run(&storage, &wide.clone().memory(memory)).unwrap();
        assert_eq!(look(), before, "{memory}");
    }
    let notes = vacuum(&storage, &Vacuum::new(Stored::Fragments));
    assert!(notes[0].contains("3 fragments replaced by") && notes[0].contains("see them"), "{notes:?}");
    assert_eq!(look(), before);
    vacuum(&storage, &Vacuum::new(Stored::Fragments).drop_history(true));
    let all = windows.iter().position(|window| *window == TimeWindow::between(1000, 1004)).unwrap();
    assert_eq!(line(&storage, TimeWindow::ALL), before[all]);
    assert_eq!(line(&storage, TimeWindow::until(1002)), [i32::MIN; 20]);
    assert!(verify(storage.clone()).is_clean());
    assert_eq!(storage.list("__fragments").unwrap().len(), 1);
}

#[test]
fn a_vacuum_is_refused_whose_new_fragment_was_itself_replaced_and_removed() {
    let storage = dense();
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let names: Vec<String> = {
        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        array.fragments().iter().take(2).map(|fragment| fragment.name().to_owned()).collect()
    };
    let wide = Consolidation::new(Stored::Fragments).amplification(2.0);
    let drop = Vacuum::new(Stored::Fragments).drop_history(true);
    run(&storage, &wide.clone().fragments(names)).unwrap();
    let planned = drop.plan(&writer).unwrap();
    // Another process goes on before that one begins.
    run(&storage, &wide).unwrap();
    vacuum(&storage, &drop);
    let left = line(&storage, TimeWindow::ALL);
    let refused = planned.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(refused, Error::Write(WriteError::Refused { .. })), "{refused:?}");
    assert!(refused.to_string().contains("replaced and removed by another maintenance"), "{refused}");
    assert_eq!(line(&storage, TimeWindow::ALL), left);
}

#[test]
fn dense_fragments_far_apart_or_over_others_stay_as_they_are() {
    let storage = dense();
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let names: Vec<String> = {
        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        array.fragments().iter().map(|fragment| fragment.name().to_owned()).collect()
    };
    let why = |consolidation: Consolidation| match consolidation.plan(&writer) {
        Err(error) => error.to_string(),
        Ok(plan) => plan.notes().join("; "),
    };
    let [a, b, c] = <[String; 3]>::try_from(names).unwrap();
    let tight = Consolidation::new(Stored::Fragments).amplification(0.5);
    assert!(why(tight.clone().fragments([&a, &b])).contains("common box has 11 cells"), "{}", why(tight));
    let over = Consolidation::new(Stored::Fragments).amplification(9.0).fragments([a.clone(), c.clone()]);
    assert!(why(over).contains("has cells in the same area"));
    assert!(why(Consolidation::new(Stored::Fragments).fragments([c])).contains("at least two"));
    assert!(why(Consolidation::new(Stored::Fragments).fragments(["x", "y"])).contains("no visible fragment"));
}

fn filled(duplicates: bool) -> (MemoryStorage, Model) {
    let (storage, mut model) = (create(duplicates), Model::new(duplicates));
    for (index, next) in history().iter().enumerate() {
        change(storage.clone(), time(index), next).unwrap();
        model.apply(time(index), next);
    }
    (storage, model)
}

#[test]
fn a_limit_to_what_fragments_hold_makes_several_that_count_at_once() {
    let (storage, model) = filled(false);
    run(&storage, &Consolidation::new(Stored::Fragments).fragment_bytes(700)).unwrap();
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert!(array.fragments().len() > 1, "{}", array.fragments().len());
    assert_same(&storage, &model, 130, "in parts");
    vacuum(&storage, &Vacuum::new(Stored::Fragments));
    assert_same(&storage, &model, 130, "in parts, vacuumed");
    run(&storage, &Consolidation::new(Stored::Fragments)).unwrap();
    assert_same(&storage, &model, 130, "parts consolidated again");
}

#[test]
fn a_purge_leaves_what_reads_now_see_and_nothing_to_undelete() {
    let (storage, model) = filled(false);
    run(&storage, &Consolidation::new(Stored::Fragments).purge(true)).unwrap();
    vacuum(&storage, &Vacuum::new(Stored::Fragments));
    assert_eq!(cells(&storage, TimeWindow::ALL), model.cells(TimeWindow::ALL));
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert!(!array.fragments()[0].footer().has_delete_metadata);
    change(storage.clone(), 190, &Change::Delete(-1000)).unwrap();
    change(storage.clone(), 191, &write(&[(9, 3, 1)])).unwrap();
    change(storage.clone(), 192, &Change::Delete(-1000)).unwrap();
    let error = run(&storage, &Consolidation::new(Stored::Fragments).purge(true)).unwrap_err();
    assert!(error.to_string().contains("there is nothing to write"), "{error}");
}

#[test]
fn a_cancelled_consolidation_leaves_nothing_behind() {
    let (storage, model) = filled(false);
    let before = storage.keys();
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    let mut stop = 0;
    loop {
        let mut calls = 0;
        let result = plan.run(&writer, &mut |_| {
            calls += 1;
            if calls > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Err(error) = result else { break };
        assert!(matches!(error, Error::Write(WriteError::Cancelled)), "{error}");
        assert_eq!(storage.keys(), before);
        stop += 1;
    }
    // Even after the last cell, the written files can be dropped.
    assert!(stop > 2, "{stop}");
    assert_ne!(storage.keys(), before);
    assert_same(&storage, &model, 130, "cancelled");
}

#[test]
fn too_little_memory_is_told_before_anything_is_written() {
    let (storage, _) = filled(false);
    let before = storage.keys();
    let error = run(&storage, &Consolidation::new(Stored::Fragments).memory(100)).unwrap_err();
    assert!(error.to_string().contains("of the 100 that are allowed"), "{error}");
    assert_eq!(storage.keys(), before);
}

#[test]
fn a_dropped_attribute_is_still_there_at_earlier_times_after_consolidation() {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=99))
        .attribute(int("a"))
        .attribute(int("b"));
    let storage = MemoryStorage::default();
    at(1000).create_storage(&storage, &schema.build().unwrap()).unwrap();
    let put = |time: u64, x: i32, names: &[&str]| {
        let writer = at(time).open_storage(storage.clone()).unwrap();
        let values = [x * 10];
        let mut write = writer.write().order(tdb_array::Layout::GlobalOrder);
        let coordinates = [x];
        write = write.column(WriteColumn::fixed("x", &coordinates));
        for name in names {
            write = write.column(WriteColumn::fixed(name, &values));
        }
        write.commit().unwrap();
    };
    put(1001, 1, &["a", "b"]);
    put(1002, 2, &["a", "b"]);
    let evolve =
        |time, evolution: SchemaEvolution| at(time).evolve_storage(storage.clone(), &evolution).map(drop);
    evolve(1003, SchemaEvolution::new().drop_attribute("b").add_attribute(int("c"))).unwrap();
    put(1004, 3, &["a", "c"]);
    let look = |end| {
        let array = OpenOptions::new().window(TimeWindow::until(end)).open_storage(storage.clone()).unwrap();
        format!("{:?}", array.read().order(tdb_array::Layout::RowMajor).collect().unwrap().into_columns())
    };
    let before = [look(1002), look(1003), look(1004)];
    // The first two can be merged with the schema they have; with the third they cannot.
    run(&storage, &Consolidation::new(Stored::Fragments)).unwrap();
    vacuum(&storage, &Vacuum::new(Stored::Fragments));
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert_eq!(array.fragments().len(), 2);
    assert_eq!([look(1002), look(1003), look(1004)], before);
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    assert!(plan.is_empty() && plan.notes()[0].contains("\"b\" would be lost"), "{plan}");
    let again = SchemaEvolution::new().drop_attribute("a").drop_attribute("c");
    assert!(evolve(1005, again).unwrap_err().to_string().contains("last attribute"));
    let shrink = SchemaEvolution::new()
        .expand_current_domain(vec![Range::new(0i32.to_le_bytes(), 50i32.to_le_bytes())]);
    evolve(1005, shrink).unwrap();
    let shrink = SchemaEvolution::new()
        .expand_current_domain(vec![Range::new(0i32.to_le_bytes(), 40i32.to_le_bytes())]);
    assert!(evolve(1006, shrink).unwrap_err().to_string().contains("would shrink"));
    assert!(evolve(1006, SchemaEvolution::new().upgrade()).unwrap_err().to_string().contains("already"));
}

#[test]
fn deletes_that_no_reader_could_apply_are_refused() {
    let storage = create(false);
    let writer = at(150).open_storage(storage.clone()).unwrap();
    let value = |field: &str, operand: &[u8]| {
        let (field, comparison) = (field.to_owned(), Comparison::Equal);
        writer.delete(&Condition::Value { field, comparison, operands: vec![operand.to_vec()] })
    };
    assert!(value("nothing", &[1]).unwrap_err().to_string().contains("not a field of the array"));
    assert!(value("a", &[]).unwrap_err().to_string().contains("null"));
    assert!(value("a", &[1, 2]).unwrap_err().to_string().contains("another size"));
    let dense = at(1010).open_storage(dense()).unwrap();
    let condition = Condition::Value {
        field: "a".into(),
        comparison: Comparison::Less,
        operands: vec![0i32.to_le_bytes().to_vec()],
    };
    assert!(dense.delete(&condition).unwrap_err().to_string().contains("sparse arrays only"));
    assert!(!storage.keys().iter().any(|key| key.ends_with(".del")));
}

#[test]
fn orphans_are_found_and_cleared_and_nothing_else() {
    let (storage, model) = filled(false);
    storage.insert("__fragments/__5_5_0123456789abcdef0123456789abcdef_22/a0.tdb", &b"x"[..]);
    storage.insert(".tdb-__5_5_0123456789abcdef0123456789abcdef.tmp", &b"x"[..]);
    let before = storage.keys().len();
    assert_eq!(vacuum(&storage, &Vacuum::orphans().before(5)).len(), 1, "too young");
    assert_eq!(storage.keys().len(), before);
    // A write that began a minute ago may still be in progress.
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() - 60_000;
    let young = format!("__fragments/__{now}_{now}_0123456789abcdef0123456789abcdef_22");
    storage.insert(format!("{young}/a0.tdb"), &b"x"[..]);
    let notes = vacuum(&storage, &Vacuum::orphans());
    assert!(notes.len() == 1 && notes[0].contains(&young), "{notes:?}");
    assert_eq!(storage.keys().len(), before - 1);
    // What others hold is not an orphan.
    storage.insert(".tdb-lease", &b"{}"[..]);
    vacuum(&storage, &Vacuum::orphans().before(u64::MAX));
    assert!(storage.remove(".tdb-lease").is_some());
    assert_eq!(storage.keys().len(), before - 2);
    assert_same(&storage, &model, 130, "without orphans");
}

#[test]
fn zeros_of_both_signs_stay_two_cells_and_two_versions_of_one_become_one() {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", -1f64..=1.0))
        .dimension(Dimension::new("i", 0i32..=9))
        .attribute(int("a"));
    let storage = MemoryStorage::default();
    at(1000).create_storage(&storage, &schema.build().unwrap()).unwrap();
    let put = |time: u64, x: &[f64], i: &[i32], a: &[i32]| {
        let writer = at(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(tdb_array::Layout::Unordered);
        let write = write.column(WriteColumn::fixed("x", x)).column(WriteColumn::fixed("i", i));
        write.column(WriteColumn::fixed("a", a)).commit().unwrap();
    };
    put(1001, &[-0.0, 0.0, -0.0], &[5, 5, 3], &[1, 2, 3]);
    put(1002, &[0.0, -0.0], &[4, 5], &[4, 5]);
    let look = |window: TimeWindow, order| {
        let array = OpenOptions::new().window(window).open_storage(storage.clone()).unwrap();
        let cells = array.read().order(order).collect().unwrap();
        let x: Vec<u64> =
            cells.field("x").unwrap().values::<f64>().unwrap().iter().map(|x| x.to_bits()).collect();
        let a: Vec<i32> = cells.field("a").unwrap().values().unwrap().to_vec();
        let mut rows: Vec<_> = x.into_iter().zip(a).collect();
        rows.sort_unstable();
        rows
    };
    let windows = [TimeWindow::ALL, TimeWindow::until(1001), TimeWindow::between(1002, 1002)];
    let orders = [tdb_array::Layout::RowMajor, tdb_array::Layout::GlobalOrder, tdb_array::Layout::Unordered];
    let all = || windows.map(|window| orders.map(|order| look(window, order)));
    let before = all();
    assert_eq!(before[0][0].len(), 4);
    run(&storage, &Consolidation::new(Stored::Fragments)).unwrap();
    vacuum(&storage, &Vacuum::new(Stored::Fragments));
    assert_eq!(all(), before);
    // What was merged must be in order when it is merged again.
    put(1003, &[0.5], &[1], &[6]);
    let between = all();
    run(&storage, &Consolidation::new(Stored::Fragments)).unwrap();
    assert_eq!(all(), between);
}

#[test]
fn without_locks_arrays_are_written_but_neither_evolved_nor_maintained_unless_the_caller_says_so() {
    let storage = std::sync::Arc::new(FaultyStorage::new(dense()).without_locks());
    let options = || at(1005);
    let writer = options().open_storage(storage.clone()).unwrap();
    writer.write().range("x", 0..=0).column(WriteColumn::fixed("a", &[7])).commit().unwrap();
    let before = line(storage.inner(), TimeWindow::ALL);

    let is_refused = |done: Result<(), Error>| {
        let error = done.unwrap_err();
        assert!(matches!(&error, Error::Write(WriteError::NoLock(_))), "{error}");
        assert!(error.to_string().contains("--without-lock"), "{error}");
    };
    let evolve = |options: WriteOptions| {
        let evolution = SchemaEvolution::new().add_attribute(int("b"));
        options.evolve_storage(storage.clone(), &evolution).map(drop)
    };
    let consolidate = |options: WriteOptions, what: Stored| {
        let writer = options.open_storage(storage.clone()).unwrap();
        let plan = Consolidation::new(what).plan(&writer).unwrap();
        assert!(!plan.is_empty());
        plan.run(&writer, &mut |_| ControlFlow::Continue(()))
    };
    let vacuum = |options: WriteOptions| {
        let writer = options.open_storage(storage.clone()).unwrap();
        let plan = Vacuum::new(Stored::Fragments).drop_history(true).plan(&writer).unwrap();
        assert!(!plan.is_empty());
        plan.run(&writer, &mut |_| ControlFlow::Continue(()))
    };
    is_refused(evolve(options()));
    is_refused(consolidate(options(), Stored::Commits));
    is_refused(consolidate(options(), Stored::Fragments));
    assert_eq!(line(storage.inner(), TimeWindow::ALL), before);

    consolidate(options().without_lock(), Stored::Fragments).unwrap();
    is_refused(vacuum(options()));
    vacuum(options().without_lock()).unwrap();
    evolve(options().without_lock()).unwrap();
    assert_eq!(line(storage.inner(), TimeWindow::ALL), before);
}
