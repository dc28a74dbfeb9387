//! Enumerations of reals that have a zero of either sign: what equals one zero equals the other.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use tdb_array::query::QueryCondition;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Enumeration};
use tdb_array::storage::MemoryStorage;
use tdb_array::{OpenOptions, WriteColumn, WriteOptions, field};

/// An array whose cells 0 to 3 have the values 0.0, 1.5, -0.0 and 2.0.
fn create() -> MemoryStorage {
    let values: Vec<[u8; 8]> = [0.0f64, 1.5, -0.0, 2.0].map(f64::to_le_bytes).to_vec();
    let name = "__0123456789abcdef0123456789abcdef_0";
    let reals = Enumeration::new("reals", name, Datatype::Float64, CellValNum::ONE, values).unwrap();
    let attribute = Attribute::new("r", Datatype::Uint8, CellValNum::ONE).with_enumeration("reals");
    let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=9)).attribute(attribute);
    let schema = schema.enumeration(&reals).build().unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().timestamp(1).enumeration(reals).create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().timestamp(2).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &[0i32, 1, 2, 3]));
    write.column(WriteColumn::fixed("r", &[0u8, 1, 2, 3])).commit().unwrap();
    storage
}

fn found(storage: &MemoryStorage, condition: Option<QueryCondition>) -> Vec<i32> {
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    let read = condition.into_iter().fold(array.read().fields(["x"]), tdb_array::Read::condition);
    let mut cells = read.collect().unwrap().field("x").unwrap().values::<i32>().unwrap().to_vec();
    cells.sort_unstable();
    cells
}

#[test]
fn a_zero_of_an_enumeration_equals_the_other_one_in_reads_and_deletes() {
    for zero in [0.0, -0.0] {
        for (condition, expected) in [
            (field("r").eq(zero), vec![0, 2]),
            (field("r").ne(zero), vec![1, 3]),
            (field("r").is_in([zero, 2.0]), vec![0, 2, 3]),
            (field("r").not_in([zero]), vec![1, 3]),
            (!field("r").eq(zero), vec![1, 3]),
        ] {
            let storage = create();
            assert_eq!(found(&storage, Some(condition.clone())), expected, "{condition}");
            let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
            let stored = condition.to_stored(&array).unwrap();
            WriteOptions::new().timestamp(3).open_storage(storage.clone()).unwrap().delete(&stored).unwrap();
            let left: Vec<i32> = (0..4).filter(|cell| !expected.contains(cell)).collect();
            assert_eq!(found(&storage, None), left, "left by a delete where {condition}");
        }
    }
}
