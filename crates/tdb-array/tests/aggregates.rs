//! Aggregates of arrays that are not fixtures: every pattern of NaNs over tiles and fragments.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use std::sync::Arc;

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::{
    Aggregate, Array, Error, MemoryBudget, MemoryStorage, OpenOptions, QueryError, Read, WriteColumn,
    WriteOptions,
};

/// Number of cells of an array, two per tile.
const CELLS: u32 = 4;
const VALUES: [f64; 3] = [f64::NAN, -0.5, 2.0];

/// An array with these cells, written in fragments that end at `cut`.
fn array(dense: bool, values: &[f64], cut: usize) -> Array {
    let storage = Arc::new(MemoryStorage::default());
    let last = i32::try_from(values.len()).unwrap() - 1;
    let schema = if dense { ArraySchema::dense() } else { ArraySchema::sparse().capacity(2) }
        .dimension(Dimension::new("x", 0i32..=last).with_tile(2i32))
        .attribute(Attribute::new("a", Datatype::Float64, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().create_storage(&*storage, &schema).unwrap();
    let coordinates: Vec<i32> = (0..=last).collect();
    for (time, part) in [(1, 0..cut), (2, cut..values.len())] {
        if part.is_empty() {
            continue;
        }
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let (x, a) = (&coordinates[part.clone()], WriteColumn::fixed("a", &values[part]));
        let write = writer.write();
        let write = match dense {
            true => write.range("x", x[0]..=x[x.len() - 1]),
            false => write.column(WriteColumn::fixed("x", x)),
        };
        write.column(a).commit().unwrap();
    }
    OpenOptions::new().open_storage(storage).unwrap()
}

/// The least and the greatest value, read with the least memory that the query needs.
fn ends(read: &Read) -> [Option<f64>; 2] {
    let mut bytes = 16;
    loop {
        let list = [Aggregate::min("a"), Aggregate::max("a")];
        match read.clone().batch_memory(MemoryBudget::from_bytes(bytes)).aggregate(list) {
            Ok(found) => return [found[0].as_f64(), found[1].as_f64()],
            Err(Error::Query(QueryError::BudgetTooSmall { .. })) => bytes += 8,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_nan_gives_way_to_a_number_wherever_tiles_fragments_and_batches_end() {
    let bits =
        |ends: [Option<f64>; 2]| ends.map(|end| end.map(|end| if end.is_nan() { 0 } else { end.to_bits() }));
    for pattern in 0..3usize.pow(CELLS) {
        let values: Vec<f64> = (0..CELLS).map(|cell| VALUES[pattern / 3usize.pow(cell) % 3]).collect();
        let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        // They ignore NaNs, too.
        let expected = bits([fold(f64::min), fold(f64::max)]);
        for (dense, cut) in [(false, 0), (false, pattern % 5), (true, 0), (true, pattern % 5)] {
            let array = array(dense, &values, cut.min(values.len()));
            let whole = array.read().aggregate([Aggregate::min("a"), Aggregate::max("a")]).unwrap();
            let whole = [whole[0].as_f64(), whole[1].as_f64()];
            assert_eq!(bits(whole), expected, "{values:?}, dense {dense}, cut at {cut}");
            assert_eq!(
                bits(ends(&array.read())),
                expected,
                "{values:?} in parts, dense {dense}, cut at {cut}"
            );
            // A condition, which statistics cannot answer.
            let all = array.read().condition(tdb_array::field("a").ge(f64::NEG_INFINITY));
            let numbers = values.iter().copied().filter(|value| !value.is_nan());
            let least = numbers.clone().reduce(f64::min);
            assert_eq!(ends(&all)[0], least, "{values:?} of a condition, dense {dense}, cut at {cut}");
        }
    }
}
