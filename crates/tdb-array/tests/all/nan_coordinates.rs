//! An array whose second fragment has a cell at NaN, which comes first in its tile: libtiledb
//! stored NaN as both ends of the tile's rectangle and of the fragment's domain. Only the
//! coordinates themselves show where the other cells are.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use tdb_array::query::Aggregate;
use tdb_array::{Array, Layout, MemoryBudget, Read, field};

const ORDERS: [Layout; 4] = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];

/// The cells of all fragments whose x is a number, by x: the one at 0.25 was overwritten.
const CELLS: [(f64, i32); 4] = [(-0.5, -46), (0.25, -35), (0.5, -865_172_705), (0.75, 10)];

fn array() -> Array {
    let (_, path) =
        crate::common::arrays().into_iter().find(|(id, _)| id == "2.30.0/nan_coordinates").unwrap();
    Array::open(path).unwrap()
}

/// The cells of a read by x, those at NaN last.
fn cells(read: Read) -> Vec<(f64, i32)> {
    let mut found = Vec::new();
    for batch in read.fields(["x", "a"]).batch_memory(MemoryBudget::from_bytes(1 << 14)).batches().unwrap() {
        let batch = batch.unwrap();
        let (x, a) = (batch.field("x").unwrap(), batch.field("a").unwrap());
        let (x, a): (&[f64], &[i32]) = (x.values().unwrap(), a.values().unwrap());
        found.extend(x.iter().copied().zip(a.iter().copied()));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// Every range between two of the cells, and the cells in it.
fn ranges() -> impl Iterator<Item = ((f64, f64), Vec<(f64, i32)>)> {
    let all = CELLS.iter().flat_map(|(low, _)| CELLS.iter().map(|(high, _)| (*low, *high)));
    all.filter(|(low, high)| low <= high).map(|(low, high)| {
        ((low, high), CELLS.into_iter().filter(|(x, _)| (low..=high).contains(x)).collect())
    })
}

#[test]
fn a_range_holds_the_newest_cells_in_it_whatever_stands_beside_them_at_nan() {
    let array = array();
    for ((low, high), expected) in ranges() {
        for order in ORDERS {
            let found = cells(array.read().order(order).range("x", low..=high));
            assert_eq!(found, expected, "{low}..={high}, {order:?}");
        }
        let within = field("x").ge(low).and(field("x").le(high));
        assert_eq!(cells(array.read().condition(within)), expected, "{low}..={high} as a condition");
    }
}

#[test]
fn several_ranges_hold_their_cells_although_the_first_of_a_tile_is_at_nan() {
    let array = array();
    for order in ORDERS {
        let found = cells(array.read().order(order).ranges("x", [-0.6..=-0.4, 0.2..=0.3, 0.7..=0.8]));
        assert_eq!(found, [CELLS[0], CELLS[1], CELLS[3]], "{order:?}");
    }
}

#[test]
fn a_whole_read_has_the_cell_at_nan_and_each_other_cell_once() {
    let array = array();
    for order in ORDERS {
        let found = cells(array.read().order(order));
        assert_eq!(found[..CELLS.len()], CELLS, "{order:?}");
        assert!(found.len() == CELLS.len() + 1 && found[CELLS.len()].0.is_nan(), "{order:?}: {found:?}");
    }
}

#[test]
fn cells_beside_nan_are_counted_once() {
    let array = array();
    let count = |read: Read| read.aggregate([Aggregate::count()]).unwrap()[0].as_u64().unwrap();
    assert_eq!(count(array.read()), 5);
    for ((low, high), expected) in ranges() {
        let found = count(array.read().range("x", low..=high));
        assert_eq!(found, u64::try_from(expected.len()).unwrap(), "{low}..={high}");
    }
}

#[test]
fn parts_of_a_read_have_the_cell_at_nan_once() {
    let array = array();
    for order in ORDERS {
        for most in 1..6 {
            let parts = array.read().order(order).partitions(most).unwrap();
            let mut found: Vec<(f64, i32)> = parts.into_iter().flat_map(cells).collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(found[..CELLS.len()], CELLS, "{order:?}, {most} parts");
            assert!(found.len() == CELLS.len() + 1 && found[CELLS.len()].0.is_nan(), "{order:?}: {found:?}");
        }
    }
}

#[test]
fn batches_that_grow_from_nothing_have_the_cell_at_nan_once() {
    let array = array();
    for order in ORDERS {
        let read = array.read().order(order).fields(["x"]).initial_batch_memory(MemoryBudget::from_bytes(1));
        let mut found: Vec<f64> = Vec::new();
        for batch in read.batches().unwrap() {
            found.extend(batch.unwrap().field("x").unwrap().values::<f64>().unwrap());
        }
        assert_eq!(found.len(), CELLS.len() + 1, "{order:?}: {found:?}");
        assert_eq!(found.iter().filter(|x| x.is_nan()).count(), 1, "{order:?}: {found:?}");
    }
}
