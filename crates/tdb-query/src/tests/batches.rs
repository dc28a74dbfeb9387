//! The batches of a stream, joined, are equal to a whole read: for every fixture, in every order.

use std::path::Path;

use tdb_codec::{Layout, to_u64};

use super::{fixtures, open};
use crate::budget::MemoryBudget;
use crate::{Array, Batches, Cells, Error, QueryError, Read, Result};

const ORDERS: [Layout; 4] = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];

fn batches_in(read: Read, bytes: u64) -> Result<Batches> {
    read.batch_memory(MemoryBudget::from_bytes(bytes)).batches()
}

/// One row per cell: its values, lengths and validity.
fn rows(cells: &Cells) -> Vec<Vec<u8>> {
    let row = |at: usize| {
        let mut row = Vec::new();
        for column in cells.columns() {
            let value = column.cell(at).unwrap();
            row.push(u8::from(column.is_null(at)));
            row.extend_from_slice(&to_u64(value.len()).to_le_bytes());
            row.extend_from_slice(value);
        }
        row
    };
    (0..cells.len()).map(row).collect()
}

/// All rows of a stream and the number of its batches; fails if the room is too small for it.
fn stream(read: Read, bytes: u64) -> Result<(Vec<Vec<u8>>, usize)> {
    let (mut all, mut count) = (Vec::new(), 0);
    let mut batches = batches_in(read, bytes)?;
    for batch in batches.by_ref() {
        all.extend(rows(&batch?));
        count += 1;
    }
    assert!(batches.progress().finished && batches.progress().cells == to_u64(all.len()));
    assert!(batches.next().is_none());
    Ok((all, count))
}

/// The rows of a stream with the first of these budgets that is large enough.
fn stream_in_some(read: &Read, mut bytes: u64) -> (Vec<Vec<u8>>, usize) {
    loop {
        match stream(read.clone(), bytes) {
            Ok(found) => return found,
            Err(Error::Query(QueryError::BudgetTooSmall { .. })) => bytes = bytes * 3 / 2,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Checks a query with room for a few cells, and with a size between that and the whole query.
/// Returns the number of batches.
fn check(read: &Read, order: Layout, place: &str, random: u64) -> usize {
    let read = read.clone().order(order);
    let whole = read.clone().collect().unwrap();
    let mut expected = rows(&whole);
    let mut max = 0;
    let rooms = [150, 300 + random % 20_000];
    for bytes in rooms.into_iter().take(if random.is_multiple_of(3) { 2 } else { 1 }) {
        let (mut found, batches) = stream_in_some(&read, bytes);
        if order == Layout::Unordered {
            expected.sort();
            found.sort();
        }
        assert!(
            found == expected,
            "{place}, {order:?} in {bytes} bytes: {} cells, {} expected",
            found.len(),
            expected.len()
        );
        max = max.max(batches);
    }
    // Batches that grow from too little for a single cell.
    let growing = read.initial_batch_memory(MemoryBudget::from_bytes(1 + random % 1000)).batches().unwrap();
    let mut found: Vec<_> = growing.flat_map(|batch| rows(&batch.unwrap())).collect();
    if order == Layout::Unordered {
        found.sort();
    }
    assert!(found == expected, "{place}, {order:?}, growing: {} of {}", found.len(), expected.len());
    max
}

#[test]
fn batches_of_every_fixture_are_what_a_whole_read_returns() {
    let (mut several, mut checked) = (0, 0);
    let mut random = 1u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    for (path, key) in fixtures() {
        let Ok(array) = open(&path, key) else { continue };
        if array.read().collect().is_err() {
            continue;
        }
        for order in ORDERS {
            several += usize::from(check(&array.read(), order, &path.display().to_string(), next()) > 1);
            checked += 1;
        }
        // The range that the newest fragment covers in one dimension: other fragments are partly
        // outside.
        let dimensions = &array.schema().domain.dimensions;
        let at = usize::try_from(next()).unwrap() % dimensions.len();
        let Some(domain) = array.fragments().last().and_then(|fragment| fragment.non_empty_domain()) else {
            continue;
        };
        let (low, high) = (domain[at].low.clone(), domain[at].high.clone());
        // NaNs have no values between them.
        let nan = |value: &[u8]| value.try_into().is_ok_and(|value| f64::from_le_bytes(value).is_nan());
        if dimensions[at].datatype == tdb_codec::Datatype::Float64 && (nan(&low) || nan(&high)) {
            continue;
        }
        let read = array.read().range_bytes(&dimensions[at].name, Some(low), Some(high));
        check(&read, ORDERS[at % ORDERS.len()], &format!("{} in part", path.display()), next());
    }
    assert!(checked > 2000 && several > checked / 2, "{several} of {checked} were cut");
}

#[test]
fn batches_of_several_ranges_come_as_they_were_asked_for() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0");
    let array = Array::open(folder.join("quickstart")).unwrap();
    let read = || array.read();
    let asked = [
        read().range("rows", 4..=4).range("rows", 1..=2),
        read().range("rows", 3..=4).range("cols", 3..=4).range("cols", 2..=3).range("cols", 1..=1),
        read().points("rows", [1, 4]).points("cols", [4, 2]),
        read().points("cols", [1, 4, 2]),
        read().points("rows", [2; 0]),
    ];
    for (number, read) in asked.iter().enumerate() {
        for order in ORDERS {
            check(read, order, &format!("query {number}"), 0);
            check(read, order, &format!("query {number}"), 120);
        }
    }
}

#[test]
fn progress_goes_up_to_the_end() {
    use std::sync::{Arc, Mutex};

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0");
    let cases = [
        ("quickstart", Layout::RowMajor, 60, 3),
        // Their fragments cost more than their cells: there is one batch, and then the end.
        ("deletes", Layout::RowMajor, 100_000, 2),
        ("deletes", Layout::Unordered, 100_000, 2),
    ];
    for (name, order, room, min) in cases {
        let array = Array::open(folder.join(name)).unwrap();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let sink = reports.clone();
        let read = array
            .read()
            .order(order)
            .on_progress(move |progress| sink.lock().unwrap().push(progress.clone()));
        let mut batches = batches_in(read, room).unwrap();
        let cells: usize = batches.by_ref().map(|batch| batch.unwrap().len()).sum();
        let reports = reports.lock().unwrap();
        assert!(reports.len() >= min, "{name}: {} reports", reports.len());
        assert!(reports.windows(2).all(|pair| pair[0].fraction() <= pair[1].fraction()));
        assert!(
            reports.windows(2).all(|pair| pair[0].tiles <= pair[1].tiles && pair[0].bytes <= pair[1].bytes)
        );
        let last = reports.last().unwrap();
        assert!(last.finished && last.fraction() == 1.0 && last.tiles == last.tiles_estimate);
        assert_eq!(last.cells, to_u64(cells));
        assert!(last.cells <= last.cells_estimate && last.tiles_estimate > 0, "{last:?}");
    }
}

#[test]
fn a_whole_result_that_does_not_fit_its_budget_is_refused_and_says_how_large_it_is() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0");
    for name in ["quickstart", "deletes", "base_nullable_sparse"] {
        let array = open(&folder.join(name), None).unwrap();
        let error = array.read().memory(MemoryBudget::from_bytes(1 << 12)).collect().unwrap_err();
        let Error::Query(QueryError::BudgetTooSmall { min, .. }) = error else { panic!("{name}: {error}") };
        assert!(array.read().memory(min).collect().is_ok(), "{name} in {min}");
        let error = array.read().memory(MemoryBudget::from_bytes(1 << 12)).batches().unwrap_err();
        assert!(matches!(error, Error::Query(QueryError::BudgetTooSmall { .. })), "{name}: {error}");
    }
}
