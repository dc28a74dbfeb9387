//! What no read sees now, but one may see later: maintenance keeps it, and does not show it before.

use core::ops::ControlFlow;

use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::schema::{ArraySchema, ByteWidth, CellValNum, Datatype, Filter, Pipeline, Range, ScaleFloat};
use tdb_array::storage::{MemoryStorage, Storage};
use tdb_array::write::SchemaEvolution;
use tdb_array::{OpenOptions, TimeWindow, WriteColumn};
use tdb_fragment::{Comparison, Condition};
use tdb_schema::{Attribute, Dimension};

use crate::maintain::rest::{at, run, vacuum};

fn number(name: &str) -> Attribute {
    Attribute::new(name, Datatype::Int32, CellValNum::ONE)
}

/// The cells in a window: x, y if there is one, and a.
fn seen(storage: &MemoryStorage, window: TimeWindow) -> Vec<Vec<i32>> {
    let array = OpenOptions::new().threads(1).window(window).open_storage(storage.clone()).unwrap();
    let names: Vec<&str> =
        ["x", "y", "a"].into_iter().filter(|name| array.schema().field(name).is_some()).collect();
    let cells = array.read().fields(names.clone()).order(tdb_array::Layout::RowMajor).collect().unwrap();
    let columns: Vec<&[i32]> =
        names.iter().map(|name| cells.field(name).unwrap().values().unwrap()).collect();
    (0..cells.len()).map(|cell| columns.iter().map(|column| column[cell]).collect()).collect()
}

fn grow(storage: &MemoryStorage, time: u64, ranges: &[(i32, i32)]) {
    let ranges = ranges.iter().map(|(low, high)| Range::new(low.to_le_bytes(), high.to_le_bytes())).collect();
    at(time).evolve_storage(storage.clone(), &SchemaEvolution::new().expand_current_domain(ranges)).unwrap();
}

fn consolidate_and_drop_the_past(storage: &MemoryStorage) {
    run(storage, &Consolidation::new(Stored::Fragments).amplification(100.0)).unwrap();
    vacuum(storage, &Vacuum::new(Stored::Fragments).drop_history(true));
    assert_eq!(storage.list("__fragments").unwrap().len(), 1);
}

#[test]
fn dense_cells_outside_of_a_current_domain_are_consolidated_with_the_others() {
    for (side, tile, current, second) in [(9, 5, (0, 4), 5), (9, 5, (3, 6), 5), (94, 10, (0, 54), 45)] {
        let storage = MemoryStorage::default();
        let side_of = |name| Dimension::new(name, 0i32..=99).with_tile(tile);
        let schema = ArraySchema::dense()
            .dimension(side_of("x"))
            .dimension(Dimension::new("y", 0i32..=1).with_tile(2));
        at(1).create_storage(&storage, &schema.attribute(number("a")).build().unwrap()).unwrap();
        for (time, (low, high)) in [(2, (0, second - 1)), (3, (second, side))] {
            let values: Vec<i32> = (low * 2..=high * 2 + 1).collect();
            let writer = at(time).open_storage(storage.clone()).unwrap();
            let write = writer.write().range("x", low..=high).range("y", 0..=1);
            write.column(WriteColumn::fixed("a", &values)).commit().unwrap();
        }
        let all = seen(&storage, TimeWindow::until(3));
        grow(&storage, 4, &[current, (0, 1)]);
        let some = seen(&storage, TimeWindow::ALL);
        let expected: Vec<Vec<i32>> =
            all.iter().filter(|cell| (current.0..=current.1).contains(&cell[0])).cloned().collect();
        assert_eq!(some, expected, "{current:?}");
        consolidate_and_drop_the_past(&storage);
        assert_eq!(seen(&storage, TimeWindow::ALL), some, "{current:?}");
        grow(&storage, 5, &[(0, 99), (0, 1)]);
        assert_eq!(seen(&storage, TimeWindow::ALL), all, "{current:?}: the rest is seen when it grows");
    }
}

/// A sparse array of these cells, written at 2, 3 and so on.
fn sparse(coords: &Pipeline, writes: &[&[(i32, i32)]]) -> MemoryStorage {
    let storage = MemoryStorage::default();
    let schema =
        ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=99).with_tile(10)).attribute(number("a"));
    at(1).create_storage(&storage, &schema.coords_filters(coords.clone()).build().unwrap()).unwrap();
    for (time, cells) in (2..).zip(writes) {
        put(&storage, time, cells);
    }
    storage
}

fn put(storage: &MemoryStorage, time: u64, cells: &[(i32, i32)]) {
    let (x, a): (Vec<i32>, Vec<i32>) = cells.iter().copied().unzip();
    let writer = at(time).open_storage(storage.clone()).unwrap();
    writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &a)).commit().unwrap();
}

fn delete_above(storage: &MemoryStorage, time: u64, least: i32) {
    let (field, comparison, operands) =
        ("a".to_owned(), Comparison::Greater, vec![least.to_le_bytes().to_vec()]);
    let writer = at(time).open_storage(storage.clone()).unwrap();
    writer.delete(&Condition::Value { field, comparison, operands }).unwrap();
}

#[test]
fn sparse_cells_outside_of_a_current_domain_are_consolidated_with_the_others() {
    let storage = sparse(&Pipeline::default(), &[&[(1, 10), (50, 20)], &[(3, 30), (70, 40)]]);
    grow(&storage, 4, &[(2, 55)]);
    let some = vec![vec![3, 30], vec![50, 20]];
    assert_eq!(seen(&storage, TimeWindow::ALL), some);
    consolidate_and_drop_the_past(&storage);
    assert_eq!(seen(&storage, TimeWindow::ALL), some);
    grow(&storage, 5, &[(0, 99)]);
    assert_eq!(seen(&storage, TimeWindow::ALL), [[1, 10], [3, 30], [50, 20], [70, 40]]);
}

#[test]
fn a_purge_of_some_fragments_shows_no_older_version_of_a_deleted_cell() {
    let storage = sparse(&Pipeline::default(), &[&[(1, 5)], &[(1, 50)], &[(2, 1)]]);
    delete_above(&storage, 5, 10);
    let look = || (2..=6).map(|end| seen(&storage, TimeWindow::until(end))).collect::<Vec<_>>();
    let before = look();
    assert_eq!(before[4], [[2, 1]]);
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    let names: Vec<String> = array.fragments().iter().map(|fragment| fragment.name().to_string()).collect();
    let purge = |names: &[String]| {
        run(&storage, &Consolidation::new(Stored::Fragments).purge(true).fragments(names.iter().cloned()))
    };
    let refused = purge(&names[1..]).unwrap_err().to_string();
    assert!(refused.contains("older versions of deleted cells"), "{refused}");
    assert_eq!(look(), before);
    purge(&names).unwrap();
    assert_eq!(seen(&storage, TimeWindow::ALL), [[2, 1]]);
}

#[test]
fn a_purge_looks_at_the_times_of_versions_and_not_at_the_order_of_fragments() {
    let storage = sparse(&Pipeline::default(), &[]);
    put(&storage, 3, &[(1, 5)]);
    put(&storage, 9, &[(1, 50)]);
    run(&storage, &Consolidation::new(Stored::Fragments)).unwrap();
    vacuum(&storage, &Vacuum::new(Stored::Fragments).drop_history(true));
    put(&storage, 2, &[(1, 4)]);
    // Behind the consolidated fragment, but older than its newest cell.
    put(&storage, 4, &[(1, 3)]);
    delete_above(&storage, 10, 10);
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert_eq!(array.fragments().len(), 3);
    assert!(seen(&storage, TimeWindow::ALL).is_empty());
    let names = array.fragments().iter().take(2).map(|fragment| fragment.name().to_string());
    let refused = run(&storage, &Consolidation::new(Stored::Fragments).purge(true).fragments(names));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("older versions of deleted cells"), "{refused}");
    assert!(seen(&storage, TimeWindow::ALL).is_empty());
}

#[test]
fn a_write_that_is_committed_during_a_consolidation_with_an_earlier_time_is_noticed() {
    let storage = MemoryStorage::default();
    let schema = ArraySchema::dense().dimension(Dimension::new("x", 1i32..=4).with_tile(4));
    at(1).create_storage(&storage, &schema.attribute(number("a")).build().unwrap()).unwrap();
    let write = |time, value: i32| {
        let writer = at(time).open_storage(storage.clone()).unwrap();
        writer.write().column(WriteColumn::fixed("a", &[value; 4])).commit().unwrap();
    };
    write(2, 1);
    write(4, 3);
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    assert!(!plan.is_empty());
    write(3, 2);
    let refused = plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(refused.contains("cells in the same area") && refused.contains("in the meantime"), "{refused}");
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert_eq!(array.read().collect().unwrap().field("a").unwrap().values::<i32>().unwrap(), [3; 4]);
    assert_eq!(storage.list("__fragments").unwrap().len(), 3, "nothing is left behind");
    // What does not lie among them is no hindrance.
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    write(9, 8);
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
}

#[test]
fn a_purge_keeps_cells_that_are_to_be_deleted_later() {
    let storage = sparse(&Pipeline::default(), &[&[(1, 50), (2, 5)], &[(3, 70), (4, 1)]]);
    delete_above(&storage, 4, 60);
    let future = u64::MAX - 10;
    delete_above(&storage, future, 10);
    let now = TimeWindow::until(future - 1);
    assert_eq!(seen(&storage, now), [[1, 50], [2, 5], [4, 1]]);
    run(&storage, &Consolidation::new(Stored::Fragments).purge(true)).unwrap();
    vacuum(&storage, &Vacuum::new(Stored::Fragments).drop_history(true));
    assert_eq!(seen(&storage, now), [[1, 50], [2, 5], [4, 1]]);
    assert_eq!(seen(&storage, TimeWindow::ALL), [[2, 5], [4, 1]]);
}

#[test]
fn times_of_cells_are_not_stored_with_filters_that_change_them() {
    let scale = ScaleFloat { scale: 0.01, offset: 0.0, byte_width: ByteWidth::Four };
    let storage = MemoryStorage::default();
    let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0.0f64..=99.0)).attribute(number("a"));
    let schema = schema.coords_filters(Pipeline::new(vec![Filter::ScaleFloat(scale)])).build().unwrap();
    at(1).create_storage(&storage, &schema).unwrap();
    for time in [2, 3] {
        let writer = at(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().column(WriteColumn::fixed("x", &[1.0f64]));
        write.column(WriteColumn::fixed("a", &[7i32])).commit().unwrap();
    }
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    assert!(plan.is_empty() && plan.notes()[0].contains("times of cells"), "{plan}");
}

#[test]
fn metadata_that_is_written_among_the_files_of_a_plan_is_noticed() {
    let storage = sparse(&Pipeline::default(), &[]);
    let put = |time: u64, value: i32| {
        let changes = tdb_array::write::MetadataChanges::new().put_values("k", Datatype::Int32, &[value]);
        at(time).open_storage(storage.clone()).unwrap().write_metadata(&changes).unwrap();
    };
    put(10, 1);
    put(30, 3);
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Metadata).plan(&writer).unwrap();
    put(20, 2);
    let refused = plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(refused.contains("changed since the plan"), "{refused}");
    let plan = Consolidation::new(Stored::Metadata).plan(&writer).unwrap();
    put(40, 4);
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
}

#[test]
fn a_key_that_was_removed_stays_so_although_an_older_value_comes_later() {
    let storage = sparse(&Pipeline::default(), &[]);
    let change = |time: u64, value: Option<i32>| {
        let writer = at(time).open_storage(storage.clone()).unwrap();
        let changes = match value {
            Some(value) => {
                tdb_array::write::MetadataChanges::new().put_values("k", Datatype::Int32, &[value])
            }
            None => tdb_array::write::MetadataChanges::new().remove("k"),
        };
        writer.write_metadata(&changes).unwrap();
    };
    change(10, Some(1));
    change(20, None);
    run(&storage, &Consolidation::new(Stored::Metadata)).unwrap();
    vacuum(&storage, &Vacuum::new(Stored::Metadata).drop_history(true));
    assert_eq!(storage.list("__meta").unwrap().len(), 1);
    change(5, Some(2));
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert!(array.metadata().unwrap().get("k").is_none());
}
