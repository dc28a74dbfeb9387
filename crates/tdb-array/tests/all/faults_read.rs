//! A storage whose n-th read fails, for every n: a query returns an error or the right cells, and
//! can be repeated.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use core::time::Duration;
use std::io::ErrorKind;
use std::sync::Arc;

use tdb_array::storage::testing::{Call, Fault, Faults, FaultyStorage};
use tdb_array::storage::{FetchHints, LocalStorage};
use tdb_array::{Array, Cells, Column, Error, Layout, MemoryBudget, OpenOptions, Result, field};

type Faulty = Arc<FaultyStorage<LocalStorage>>;

/// Arrays of every kind: both types, old and new versions, deletes, consolidated commits and
/// metadata, labels, enumerations.
const FIXTURES: [&str; 14] = [
    "2.30.0/quickstart",
    "2.30.0/sparse2d_rr",
    "2.30.0/base_nullable_dense",
    "2.30.0/attr_strings_var_sparse",
    "2.30.0/deletes",
    "2.30.0/deletes_commits_con",
    "2.30.0/deletes_consolidated",
    "2.30.0/commits_con_vacuumed",
    "2.30.0/fragment_meta",
    "2.30.0/hilbert_string",
    "2.30.0/evolved_enumeration",
    "2.30.0/consolidated_dense_part",
    "2.4.3/fragment_meta_old",
    "1.6.3/base_sparse",
];

/// The request sizes that the storage prefers.
const HINTS: [Option<FetchHints>; 3] =
    [None, Some(FetchHints::OBJECT_STORE), Some(FetchHints::OBJECT_STORE.with_gap(0).with_largest(100))];

const FAULTS: [Fault; 6] = [
    Fault::Fail(ErrorKind::Other),
    Fault::Fail(ErrorKind::TimedOut),
    Fault::Fail(ErrorKind::UnexpectedEof),
    Fault::Short(1),
    Fault::Short(usize::MAX),
    Fault::Lost,
];

fn storage(name: &str, hints: Option<FetchHints>) -> Faulty {
    let path = crate::common::fixtures().join("arrays").join(name);
    Arc::new(FaultyStorage::new(LocalStorage::new(path)).with_hints(hints))
}

fn open(storage: &Faulty) -> Result<Array> {
    OpenOptions::new().threads(1).open_storage(storage.clone())
}

/// Values, offsets and validity of a column.
type Content = (Vec<u8>, Option<Vec<u64>>, Option<Vec<u8>>);

fn columns(cells: &Cells) -> Vec<Content> {
    let column = |column: &Column| {
        let (offsets, validity) = (column.offsets(), column.validity());
        (column.bytes().to_vec(), offsets.map(<[u64]>::to_vec), validity.map(<[u8]>::to_vec))
    };
    cells.columns().iter().map(column).collect()
}

/// The results of some queries of an array: all cells, those of a condition, and all in batches.
fn answers(array: &Array) -> Result<Vec<Vec<Content>>> {
    let mut answers = vec![columns(&array.read().order(Layout::RowMajor).collect()?)];
    if let Some(first) = array.schema().attributes.first() {
        let some = array.read().order(Layout::GlobalOrder).condition(field(&*first.name).ge(3));
        // Not every attribute can be compared with a number.
        match some.collect() {
            Err(Error::Query(_)) => {}
            cells => answers.push(columns(&cells?)),
        }
    }
    for batch in array.read().memory(MemoryBudget::from_bytes(8 << 20)).batches()? {
        answers.push(columns(&batch?));
    }
    Ok(answers)
}

fn right(storage: &Faulty) -> (Vec<Vec<Content>>, Vec<Call>) {
    storage.set(Faults::none());
    let answers = answers(&open(storage).unwrap()).unwrap();
    (answers, storage.calls())
}

/// Opens and queries an array once, and again when the fault is over. Returns whether the first
/// attempt failed.
fn ask(storage: &Faulty, right: &[Vec<Content>], what: impl Fn() -> String) -> bool {
    let opened = open(storage);
    let failed = match &opened {
        Err(error) => Some(error.to_string()),
        Ok(array) => match answers(array) {
            Ok(answers) => {
                assert!(answers == right, "{}: other cells", what());
                None
            }
            Err(error) => {
                assert!(matches!(error, Error::Io { .. } | Error::Corrupt { .. }), "{}: {error:?}", what());
                Some(error.to_string())
            }
        },
    };
    assert!(failed.as_ref().is_none_or(|text| !text.is_empty()), "{}", what());
    storage.set(Faults::none());
    if let Ok(array) = opened {
        let again = answers(&array);
        let is_right = again.as_ref().is_ok_and(|again| again == right);
        assert!(is_right, "{}: asked again it gave an error or other cells: {:?}", what(), again.err());
    }
    failed.is_some()
}

/// Fails each read of each fixture with two of the faults, so that every kind of read meets all of
/// them.
fn any_read_fails(hints: Option<FetchHints>) {
    let (mut asked, mut failed) = (0, 0);
    for name in FIXTURES {
        let storage = storage(name, hints);
        let (right, calls) = right(&storage);
        for (number, call) in calls.iter().enumerate() {
            for &fault in FAULTS.iter().cycle().skip(number % 6).step_by(3).take(2) {
                storage.set(Faults::call(call.number, fault));
                asked += 1;
                let what = || format!("{name}, {hints:?}, {fault:?} at {call:?}");
                failed += usize::from(ask(&storage, &right, what));
            }
        }
    }
    // What could not be read ahead is read when it is needed, so of those requests only what
    // opening an array needs can fail.
    let least = if hints.is_none() { asked / 3 } else { 0 };
    assert!(failed > least && asked > 500, "{failed} of {asked} failed");
}

#[test]
fn any_read_that_fails_or_is_cut_short_gives_an_error_or_the_right_cells() {
    any_read_fails(None);
}

#[test]
fn any_request_that_fails_or_is_cut_short_gives_an_error_or_the_right_cells() {
    any_read_fails(Some(FetchHints::OBJECT_STORE));
}

#[test]
fn any_small_request_that_fails_or_is_cut_short_gives_an_error_or_the_right_cells() {
    any_read_fails(Some(FetchHints::OBJECT_STORE.with_gap(0).with_largest(100)));
}

#[test]
fn reads_that_fail_at_random_give_an_error_or_the_right_cells() {
    for name in FIXTURES {
        for hints in HINTS {
            let storage = storage(name, hints);
            let (right, _) = right(&storage);
            for seed in 0..12 {
                let faults = FAULTS.into_iter().chain([Fault::Delay(Duration::from_micros(10))]);
                storage.set(Faults::random(seed, 3 + seed, faults.collect::<Vec<_>>()));
                ask(&storage, &right, || format!("{name}, {hints:?}, seed {seed}"));
            }
        }
    }
}

#[test]
fn an_array_that_cannot_be_opened_at_first_can_be_later() {
    for hints in HINTS {
        let storage = storage("2.30.0/quickstart", hints);
        let (right, calls) = right(&storage);
        let mut count = 0;
        storage.set(Faults::first(20, Fault::Fail(ErrorKind::TimedOut)));
        let array = loop {
            match open(&storage) {
                Ok(array) => break array,
                Err(error) => assert!(matches!(error, Error::Io { .. }), "{error:?}"),
            }
            count += 1;
        };
        assert!((1..=20).contains(&count) && !calls.is_empty(), "{count} attempts");
        // Opening may have succeeded without some of the reads that failed.
        storage.set(Faults::none());
        assert!(answers(&array).unwrap() == right);
    }
}
