//! Reads a sparse array in batches, so that the program never holds all cells at once.
//!
//! The array has one dimension `x` and one attribute `a` of type INT16, and its cells are in 115
//! tiles.
//!
//! Run it with `cargo run -p tdb-array --example stream_sparse`.

use std::error::Error;

use tdb_array::query::Aggregate;
use tdb_array::{Array, MemoryBudget, field};

/// An array that libtiledb 2.30.0 wrote.
const ARRAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/rtree_3_levels");

/// Adds up the values of `a` batch by batch, and compares the sum with the one that tdb computes.
pub fn main() -> Result<(), Box<dyn Error>> {
    let array = Array::open(ARRAY)?;

    // A condition selects cells by their values. Cells that do not satisfy it are not in the
    // result.
    let positive = field("a").gt(0);

    // `memory` limits what the whole query may hold. `batch_memory` limits the cells of one batch:
    // it is very small here, because the array is small and this example wants to show several
    // batches.
    let batches = array
        .read()
        .fields(["x", "a"])
        .condition(positive.clone())
        .memory("64 MiB".parse()?)
        .batch_memory(MemoryBudget::from_bytes(8 * 1024))
        .batches()?;

    let (mut batch_count, mut cell_count, mut sum) = (0u64, 0u64, 0i64);
    for batch in batches {
        // Each batch is a result. Reading it can fail, for example because a file is damaged.
        let batch = batch?;
        let a: &[i16] = batch.field("a")?.values()?;
        assert!(a.iter().all(|value| *value > 0));
        batch_count += 1;
        cell_count += a.len() as u64;
        sum += a.iter().copied().map(i64::from).sum::<i64>();
    }
    println!("{cell_count} cells in {batch_count} batches, their sum is {sum}");

    // A program that needs only the sum can ask for it. tdb then returns no cells at all.
    let aggregates = array.read().condition(positive).aggregate([Aggregate::count(), Aggregate::sum("a")])?;
    let [count, total] = aggregates.as_slice() else { return Err("two aggregates have two values".into()) };
    assert_eq!((count.as_u64(), total.as_i64()), (Some(cell_count), Some(sum)));
    assert!(batch_count > 1, "the array was read in one batch");
    Ok(())
}
