//! Attributes that were dropped and came back as others: consolidation must not show the one where
//! the other was.

use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::MemoryStorage;
use tdb_array::write::SchemaEvolution;
use tdb_array::{OpenOptions, TimeWindow, WriteColumn};
use tdb_filters::{ByteWidth, Filter, Pipeline, ScaleFloat};
use tdb_schema::{Attribute, Dimension};

use crate::maintain::rest::{at, run};

const NAMES: [&str; 2] = ["a", "b"];

fn real(name: &str) -> Attribute {
    Attribute::new(name, Datatype::Float64, CellValNum::ONE)
}

fn filled(fill: f64) -> Attribute {
    real("a").with_fill(fill.to_le_bytes())
}

/// Two fragments, at times 1001 and 1002, of these cells; then `a` goes and comes back as another.
fn evolved(array_type: ArrayType, (first, second): ([i32; 2], [i32; 2]), again: Attribute) -> MemoryStorage {
    let x = Dimension::new("x", 0i32..=19).with_tile(4i32);
    let schema = match array_type {
        ArrayType::Dense => ArraySchema::dense(),
        ArrayType::Sparse => ArraySchema::sparse(),
    };
    let schema = schema.dimension(x).attribute(filled(7.0)).attribute(real("b")).build().unwrap();
    let storage = MemoryStorage::default();
    at(1000).create_storage(&storage, &schema).unwrap();
    for (time, [low, high]) in [(1001, first), (1002, second)] {
        let x: Vec<i32> = (low..=high).collect();
        let values: Vec<f64> = x.iter().map(|x| f64::from(*x) / 3.0).collect();
        let writer = at(time).open_storage(storage.clone()).unwrap();
        let mut write = writer.write();
        write = match array_type {
            ArrayType::Dense => write.range("x", low..=high),
            ArrayType::Sparse => write.column(WriteColumn::fixed("x", &x)),
        };
        NAMES
            .iter()
            .fold(write, |write, name| write.column(WriteColumn::fixed(name, &values)))
            .commit()
            .unwrap();
    }
    at(1003).evolve_storage(storage.clone(), &SchemaEvolution::new().drop_attribute("a")).unwrap();
    at(1004).evolve_storage(storage.clone(), &SchemaEvolution::new().add_attribute(again)).unwrap();
    storage
}

/// What is seen until each time: bits of `a`, where there is one.
fn seen(storage: &MemoryStorage) -> Vec<Option<Vec<u64>>> {
    let at_time = |time: u64| {
        let options = OpenOptions::new().threads(1).window(TimeWindow::until(time));
        let array = options.open_storage(storage.clone()).unwrap();
        array.schema().attribute("a")?;
        let cells = array.read().fields(["a"]).collect().unwrap();
        Some(cells.field("a").unwrap().values::<f64>().unwrap().iter().map(|real| real.to_bits()).collect())
    };
    (1001..=1005).map(at_time).collect()
}

/// Consolidates; returns the notes of the plan, and the number of fragments that are read now.
fn consolidated(storage: &MemoryStorage) -> (String, usize) {
    let wide = Consolidation::new(Stored::Fragments).amplification(100.0);
    let writer = at(0).open_storage(storage.clone()).unwrap();
    let notes = wide.plan(&writer).unwrap().notes().join("; ");
    run(storage, &wide).unwrap();
    let array = OpenOptions::new().threads(1).open_storage(storage.clone()).unwrap();
    (notes, array.fragments().len())
}

#[test]
fn cells_of_a_box_that_nobody_wrote_keep_the_fill_value_of_each_time() {
    let (apart, together) = (([1, 3], [8, 10]), ([1, 10], [4, 6]));
    for (boxes, fill, expected) in [(apart, 9.0, 2), (apart, 7.0, 1), (together, 9.0, 1)] {
        let storage = evolved(ArrayType::Dense, boxes, filled(fill));
        let before = seen(&storage);
        let (notes, fragments) = consolidated(&storage);
        assert_eq!(seen(&storage), before, "{boxes:?} {fill}");
        assert_eq!(fragments, expected, "{boxes:?} {fill}: {notes}");
        assert_eq!(notes.contains("another fill value at another time"), expected == 2, "{notes}");
    }
}

#[test]
fn values_are_not_put_through_filters_that_may_not_keep_them() {
    let scale = ScaleFloat { scale: 0.5, offset: 0.0, byte_width: ByteWidth::Two };
    let lossy = Pipeline { filters: vec![Filter::ScaleFloat(scale)], ..Pipeline::default() };
    let shuffled = Pipeline { filters: vec![Filter::ByteShuffle], ..Pipeline::default() };
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        for filters in [lossy.clone(), shuffled.clone()] {
            let again = filled(7.0).with_filters(filters);
            let storage = evolved(array_type, ([1, 5], [4, 8]), again);
            let before = seen(&storage);
            let (notes, fragments) = consolidated(&storage);
            assert_eq!(seen(&storage), before, "{array_type:?}");
            // Where the newest filters lose digits, the schema that the fragments were written with
            // is written again.
            assert_eq!(fragments, 1, "{notes}");
        }
    }
}
