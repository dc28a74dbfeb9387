//! Aggregates: of every pattern of NaNs over tiles and fragments; extremes of all fields of the
//! fixtures.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use std::cmp::Ordering;
use std::sync::Arc;

use tdb_array::error::QueryError;
use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Column, Error, MemoryBudget, OpenOptions, Read, WriteColumn, WriteOptions};

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
            let has_nan = values.iter().any(|value| value.is_nan());
            assert!(
                whole.iter().all(|end| end.has_nan() == has_nan),
                "{values:?}, dense {dense}, cut at {cut}"
            );
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

/// The order of two values of a column; NaN is behind all numbers, or before them.
fn compare(column: &Column, a: &[u8], b: &[u8], nan: Ordering) -> Ordering {
    let physical = column.datatype.physical();
    if column.cell_val_num != CellValNum::ONE || column.datatype.is_string() {
        return a.cmp(b);
    }
    let mut wide = [[0u8; 8]; 2];
    for (wide, bytes) in wide.iter_mut().zip([a, b]) {
        let negative = physical.is_signed_integer() && bytes[bytes.len() - 1] >= 0x80;
        wide.fill(if negative { 0xff } else { 0 });
        wide[..bytes.len()].copy_from_slice(bytes);
    }
    match (physical.is_float(), physical.is_signed_integer(), a.len()) {
        (true, _, size) => {
            let real = |wide: [u8; 8]| match size {
                4 => f64::from(f32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]])),
                _ => f64::from_le_bytes(wide),
            };
            let (a, b) = (real(wide[0]), real(wide[1]));
            a.partial_cmp(&b).unwrap_or(if a.is_nan() { nan } else { nan.reverse() })
        }
        (false, true, _) => i64::from_le_bytes(wide[0]).cmp(&i64::from_le_bytes(wide[1])),
        (false, false, _) => u64::from_le_bytes(wide[0]).cmp(&u64::from_le_bytes(wide[1])),
    }
}

/// Compares the extremes of each field of a sparse array with those of the cells that a read
/// returns; returns of how many fields.
fn compare_extremes(id: &str, array: &Array) -> usize {
    let names: Vec<_> = array.schema().fields().map(|own| own.name.to_owned()).collect();
    let cells = array.read().fields(names.clone()).collect().unwrap();
    let mut compared = 0;
    for name in names {
        let found = match array.read().aggregate([Aggregate::min(&name), Aggregate::max(&name)]) {
            Ok(found) => found,
            // The field has no extremes.
            Err(Error::Query(QueryError::Aggregate(_))) => continue,
            Err(error) => panic!("{id}: {name}: {error}"),
        };
        let column = cells.field(&name).unwrap();
        let values =
            || (0..cells.len()).filter(|cell| !column.is_null(*cell)).filter_map(|cell| column.cell(cell));
        let min = values().min_by(|a, b| compare(column, a, b, Ordering::Greater));
        let max = values().max_by(|a, b| compare(column, a, b, Ordering::Less));
        for (found, expected) in found.iter().zip([min, max]) {
            let same = match (found.bytes(), expected) {
                (Some(found), Some(expected)) => {
                    found == expected || compare(column, found, expected, Ordering::Less).is_eq()
                }
                (found, expected) => found == expected,
            };
            assert!(same, "{id}: {} is {:?} instead of {expected:?}", found.aggregate, found.bytes());
        }
        compared += 1;
    }
    compared
}

#[test]
fn extremes_of_every_field_are_those_of_the_cells_of_fixtures_of_all_versions() {
    let mut compared = 0;
    for (id, path) in crate::common::arrays() {
        let array = Array::open(path).unwrap();
        if array.schema().array_type == ArrayType::Sparse {
            compared += compare_extremes(&id, &array);
        }
    }
    assert!(compared > 500, "only {compared} fields");
}
