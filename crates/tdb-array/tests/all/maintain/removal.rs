//! Fragments that are removed, and what is known of those that others replace.

use core::ops::ControlFlow;
use std::collections::BTreeSet;

use tdb_array::maintain::{Consolidation, FragmentRemoval, MaintenancePlan, Stored, Vacuum};
use tdb_array::schema::{ArraySchema, Attribute, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::write::SchemaEvolution;
use tdb_array::{Array, ArrayWriter, OpenOptions, WriteColumn, WriteOptions};

/// An array with a cell at each time of 1 to 4, in fragments of their own.
fn array() -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=99))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().timestamp(1).create_storage(&storage, &schema).unwrap();
    (1..=4).for_each(|time| write(&storage, time));
    storage
}

fn write(storage: &MemoryStorage, time: i32) {
    let options = WriteOptions::new().timestamp(u64::try_from(time).unwrap());
    let cell = [time];
    let writer = options.open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &cell));
    write.column(WriteColumn::fixed("a", &cell)).commit().unwrap();
}

fn open(storage: &MemoryStorage) -> Array {
    OpenOptions::new().open_storage(storage.clone()).unwrap()
}

fn writer(storage: &MemoryStorage) -> ArrayWriter {
    WriteOptions::new().open_storage(storage.clone()).unwrap()
}

fn run(storage: &MemoryStorage, plan: &MaintenancePlan) {
    plan.run(&writer(storage), &mut |_| ControlFlow::Continue(())).unwrap();
}

fn maintain(storage: &MemoryStorage, options: &Consolidation) {
    run(storage, &options.plan(&writer(storage)).unwrap());
}

fn cells(storage: &MemoryStorage) -> Vec<i32> {
    let cells = open(storage).read().collect().unwrap();
    cells.field("a").unwrap().values().unwrap().to_vec()
}

#[test]
fn fragments_between_two_times_are_removed_with_their_cells() {
    let storage = array();
    let removal = FragmentRemoval::between(2, 3);
    let plan = removal.plan(&writer(&storage)).unwrap();
    assert_eq!((plan.steps().len(), plan.steps()[0].inputs.len()), (1, 2));
    run(&storage, &plan);
    assert_eq!(cells(&storage), [1, 4]);
    // Nothing is left of them, and a second run finds nothing to do.
    run(&storage, &plan);
    assert!(removal.plan(&writer(&storage)).unwrap().is_empty());
    assert!(Vacuum::orphans().before(u64::MAX).plan(&writer(&storage)).unwrap().is_empty());
    assert_eq!(cells(&storage), [1, 4]);
}

#[test]
fn only_fragments_that_are_inside_the_times_as_a_whole_are_removed() {
    let storage = array();
    maintain(&storage, &Consolidation::new(Stored::Fragments).between(2, 3));
    run(&storage, &Vacuum::new(Stored::Fragments).drop_history(true).plan(&writer(&storage)).unwrap());
    run(&storage, &FragmentRemoval::between(3, 4).plan(&writer(&storage)).unwrap());
    assert_eq!(cells(&storage), [1, 2, 3]);
}

#[test]
fn a_fragment_is_removed_by_its_name_wherever_its_commit_is() {
    for consolidated in [false, true] {
        let storage = array();
        if consolidated {
            maintain(&storage, &Consolidation::new(Stored::Commits));
            run(&storage, &Vacuum::new(Stored::Commits).plan(&writer(&storage)).unwrap());
        }
        let name = open(&storage).fragments()[2].name().to_owned();
        let removal = FragmentRemoval::named([name]);
        run(&storage, &removal.plan(&writer(&storage)).unwrap());
        assert_eq!(cells(&storage), [1, 2, 4], "{consolidated}");
        let error = removal.plan(&writer(&storage)).unwrap_err();
        assert!(error.to_string().contains("there is no visible fragment"), "{error}");
        write(&storage, 5);
        assert_eq!(cells(&storage), [1, 2, 4, 5]);
    }
}

#[test]
fn only_fragments_between_the_times_are_consolidated() {
    let storage = array();
    let options = Consolidation::new(Stored::Fragments).between(2, 3);
    maintain(&storage, &options);
    let times: Vec<(u64, u64)> = open(&storage).fragments().iter().map(|one| one.timestamps()).collect();
    assert_eq!(times, [(1, 1), (2, 3), (4, 4)]);
    let plan = options.plan(&writer(&storage)).unwrap();
    assert!(plan.is_empty() && plan.notes()[0].contains("are not between 2 and 3"), "{plan}");
    assert_eq!(cells(&storage), [1, 2, 3, 4]);
}

#[test]
fn replaced_fragments_are_known_until_a_vacuum_removes_them() {
    let storage = array();
    assert!(open(&storage).replaced_fragments().unwrap().is_empty());
    let before: BTreeSet<String> =
        open(&storage).fragments().iter().map(|one| one.folder().to_owned()).collect();
    maintain(&storage, &Consolidation::new(Stored::Fragments));
    assert_eq!(open(&storage).replaced_fragments().unwrap(), before.into_iter().collect::<Vec<_>>());
    run(&storage, &Vacuum::new(Stored::Fragments).drop_history(true).plan(&writer(&storage)).unwrap());
    assert!(open(&storage).replaced_fragments().unwrap().is_empty());
}

#[test]
fn an_array_with_one_of_its_fragments_has_its_schema_and_its_cells() {
    let storage = array();
    let evolution = SchemaEvolution::new().add_attribute(Attribute::of::<u8>("b"));
    WriteOptions::new().timestamp(9).evolve_storage(storage.clone(), &evolution).unwrap();
    let array = open(&storage);
    let only = array.only(&array.fragments()[1]);
    assert_eq!((array.schema().attributes.len(), only.schema().attributes.len()), (2, 1));
    assert_eq!(only.schema_key(), array.schema_keys()[0]);
    assert_eq!(only.read().collect().unwrap().field("a").unwrap().values::<i32>().unwrap(), [2]);
}

#[test]
fn a_footer_is_known_to_be_in_consolidated_metadata() {
    let storage = array();
    let there = |storage: &MemoryStorage| -> Vec<bool> {
        open(storage).fragments().iter().map(|one| one.is_in_consolidated_metadata()).collect()
    };
    assert_eq!(there(&storage), [false; 4]);
    maintain(&storage, &Consolidation::new(Stored::FragmentMetadata));
    write(&storage, 5);
    assert_eq!(there(&storage), [true, true, true, true, false]);
}

#[test]
fn a_dense_fragment_stores_whole_tiles() {
    let dimension = |name| Dimension::new(name, 1i32..=10).with_tile(4i32);
    let schema = ArraySchema::dense()
        .dimension(dimension("x"))
        .dimension(dimension("y"))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().timestamp(1).create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().timestamp(2).open_storage(storage.clone()).unwrap();
    let write = writer.write().range("x", 4..=5).range("y", 9..=9);
    write.column(WriteColumn::fixed("a", &[1i32, 2])).commit().unwrap();
    let array = open(&storage);
    let fragment = &array.fragments()[0];
    assert_eq!((fragment.cell_count(), fragment.stored_cell_count().unwrap()), (2, 32));
}
