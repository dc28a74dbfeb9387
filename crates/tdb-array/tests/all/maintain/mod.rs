//! Maintenance in any order, checked at every time.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]
#![expect(clippy::indexing_slicing, reason = "of results whose length the test knows")]

mod evolved;
mod fragile;
mod hidden;
mod model;
mod removal;
mod rest;
mod stops;

use std::collections::BTreeMap;

use proptest::prelude::*;
use tdb_array::maintain::{Stored, verify};
use tdb_array::storage::MemoryStorage;
use tdb_array::{TimeWindow, WriteOptions};

use crate::maintain::fragile::Fragile;
use crate::maintain::model::{Change, FIRST, Model, change, schema};

pub(crate) fn create(duplicates: bool) -> MemoryStorage {
    let storage = MemoryStorage::default();
    WriteOptions::new().timestamp(FIRST).create_storage(&storage, &schema(duplicates)).unwrap();
    storage
}

/// Compares every window between the times until `last`.
pub(crate) fn assert_same(storage: &MemoryStorage, model: &Model, last: u64, what: &str) {
    for end in (FIRST..=last).chain([u64::MAX]) {
        for start in (FIRST..=end.min(last)).step_by(3).chain([0]) {
            let window = TimeWindow::between(start, end);
            assert_eq!(model::cells(storage, window), model.cells(window), "{what}: {start}..={end}");
        }
        assert_eq!(model::metadata(storage, end), model.metadata(end), "{what}: metadata at {end}");
    }
    assert_eq!(model::added(storage), model.added(), "{what}");
}

const KINDS: [Stored; 4] = [Stored::Fragments, Stored::FragmentMetadata, Stored::Commits, Stored::Metadata];

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let cells = prop::collection::btree_map((0i32..10, 0u8..4), -40i32..40, 1..12);
    let kind = || prop::sample::select(KINDS.to_vec());
    let change = prop_oneof![
        6 => cells.prop_map(Change::Write),
        2 => (-30i32..40).prop_map(Change::Delete),
        3 => kind().prop_map(Change::Consolidate),
        2 => (2usize..5).prop_map(Change::ConsolidateFew),
        3 => kind().prop_map(Change::Vacuum),
        1 => Just(Change::VacuumOrphans),
        1 => Just(Change::Evolve),
        2 => (0u8..3, prop::option::of(any::<i32>())).prop_map(|(key, value)| Change::Metadata(key, value)),
    ];
    prop::collection::vec(change, 1..14)
}

/// Often there are several changes in a millisecond, so that ties between them are tested: before a
/// consolidation, and after it.
fn time(index: usize) -> u64 {
    FIRST + 2 + [0, 0, 0, 0, 0, 2, 3, 3, 3, 3, 6, 7, 7, 8][index]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn maintenance_in_any_order_changes_no_read_at_any_time(changes in changes(), duplicates: bool) {
        let storage = create(duplicates);
        let mut model = Model::new(duplicates);
        let mut evolved = None;
        for (index, next) in changes.iter().enumerate() {
            // Evolutions name their attribute after the time: a second one in the same millisecond
            // would add the same attribute.
            if matches!(next, Change::Evolve) && evolved.replace(time(index)) == Some(time(index)) {
                continue;
            }
            change(storage.clone(), time(index), next).unwrap();
            model.apply(time(index), next);
            assert_same(&storage, &model, time(index) + 1, &format!("after {index}, {next:?}"));
        }
        let found = verify(storage);
        prop_assert!(found.is_clean(), "{:?}", found.problems);
    }
}

fn write(cells: &[(i32, u8, i32)]) -> Change {
    Change::Write(cells.iter().map(|(x, y, a)| ((*x, *y), *a)).collect::<BTreeMap<_, _>>())
}

/// A history that gives every kind of maintenance something to do.
fn history() -> Vec<Change> {
    vec![
        write(&[(0, 0, 1), (1, 1, 20), (7, 3, 30)]),
        Change::Metadata(1, Some(5)),
        write(&[(0, 0, 25), (2, 2, 7)]),
        Change::Delete(22),
        Change::Consolidate(Stored::Commits),
        write(&[(0, 0, 3), (7, 3, 2), (9, 0, 8)]),
        Change::Metadata(2, Some(6)),
        Change::Metadata(1, None),
        Change::ConsolidateFew(2),
        write(&[(4, 1, 11), (7, 3, 50)]),
    ]
}

/// Every change after the history, stopped at every call, read after a crash and after a loss of
/// power.
fn stops(last: &Change, duplicates: bool) {
    let storage = create(duplicates);
    let mut before = Model::new(duplicates);
    let history = history();
    for (index, next) in history.iter().enumerate() {
        change(storage.clone(), time(index), next).unwrap();
        before.apply(time(index), next);
    }
    let now = time(history.len()) + 1;
    let mut after = before.clone();
    after.apply(now, last);
    let mut calls = 0;
    loop {
        let fragile = Fragile::of(&storage);
        fragile.fail_after(calls);
        let done = change(fragile.clone(), now, last);
        for (left, how) in fragile.after_stops() {
            let what = format!("{last:?} stopped at call {calls}, {how}");
            let found = verify(left.clone());
            assert!(found.is_clean(), "{what}: {:?}", found.problems);
            let cells = |model: &Model| model.cells(TimeWindow::ALL);
            let read = model::cells(&left, TimeWindow::ALL);
            let metadata = model::metadata(&left, u64::MAX);
            let new = read == cells(&after) && metadata == after.metadata(u64::MAX);
            assert!(new || done.is_err(), "{what}: done, but not durable");
            assert_same(&left, if new { &after } else { &before }, now + 1, &what);
            // Whatever is left over, the same change succeeds now.
            if done.is_err() {
                change(left.clone(), now + 1, last).unwrap();
                let mut again = if new { after.clone() } else { before.clone() };
                again.apply(now + 1, last);
                assert_same(&left, &again, now + 2, &what);
            }
        }
        if done.is_ok() {
            break;
        }
        calls += 1;
    }
    assert!(calls > 2, "{last:?}: {calls}");
}

#[test]
fn a_write_a_delete_and_metadata_that_stop_anywhere_count_whole_or_not_at_all() {
    for last in [write(&[(0, 0, 9), (5, 3, 1)]), Change::Delete(4), Change::Metadata(2, Some(9))] {
        stops(&last, false);
        stops(&last, true);
    }
}

#[test]
fn a_consolidation_that_stops_anywhere_changes_no_read() {
    for kind in KINDS {
        stops(&Change::Consolidate(kind), false);
    }
    stops(&Change::Consolidate(Stored::Fragments), true);
}

#[test]
fn a_vacuum_that_stops_anywhere_changes_no_read() {
    stops(&Change::Vacuum(Stored::Fragments), false);
    stops(&Change::Vacuum(Stored::Commits), false);
}
