//! Deletes of cells whose attribute was dropped later and added again with another type.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use core::ops::ControlFlow;

use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::query::{Aggregate, Purpose};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::stored::{Comparison, Condition};
use tdb_array::write::SchemaEvolution;
use tdb_array::{Array, OpenOptions, TimeWindow, WriteColumn, WriteOptions};

fn at(time: u64) -> WriteOptions {
    WriteOptions::new().timestamp(time)
}

/// The attribute `a` with a type, and the bytes of its values 0 to 9.
#[derive(Clone, Copy, Debug)]
struct Kind {
    datatype: Datatype,
    var: bool,
    nullable: bool,
}

impl Kind {
    fn attribute(self) -> Attribute {
        let count = if self.var { CellValNum::Var } else { CellValNum::ONE };
        let attribute = Attribute::new("a", self.datatype, count);
        if self.nullable { attribute.with_nulls() } else { attribute }
    }

    fn value(self, number: u8) -> Vec<u8> {
        match self.datatype {
            Datatype::StringAscii | Datatype::StringUtf8 => vec![b'a' + number],
            Datatype::Float32 => f32::from(number).to_le_bytes().to_vec(),
            Datatype::Int64 => i64::from(number).to_le_bytes().to_vec(),
            _ => i32::from(number).to_le_bytes().to_vec(),
        }
    }
}

/// An array whose cells 0 to 9 have the values 0 to 9 in `a` and in `b`; if `a` may be null, it is
/// in the odd ones, where 0 is stored.
fn create(kind: Kind) -> MemoryStorage {
    let storage = MemoryStorage::default();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=99).with_tile(10i32))
        .attribute(kind.attribute())
        .attribute(Attribute::new("b", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    at(1).create_storage(&storage, &schema).unwrap();
    write(&storage, 2, kind, 0);
    storage
}

fn write(storage: &MemoryStorage, time: u64, kind: Kind, first: i32) {
    let x: Vec<i32> = (first..first + 10).collect();
    let valid: Vec<u8> = (0..10).map(|cell| u8::from(cell % 2 == 0)).collect();
    let stored = |cell: u8| if kind.nullable && cell % 2 == 1 { kind.value(0) } else { kind.value(cell) };
    let values: Vec<u8> = (0..10).flat_map(stored).collect();
    let offsets: Vec<u64> = (0..=10).collect();
    let writer = at(time).open_storage(storage.clone()).unwrap();
    let a = match kind.var {
        true => WriteColumn::var("a", &values, &offsets),
        false => WriteColumn::bytes("a", &values),
    };
    let a = if kind.nullable { a.nullable(&valid) } else { a };
    let write = writer.write().column(WriteColumn::fixed("x", &x)).column(a);
    write.column(WriteColumn::fixed("b", &x)).commit().unwrap();
}

/// Drops `a` and adds it with another type; then a delete as if it had been there before.
fn retype(storage: &MemoryStorage, kind: Kind, comparison: Comparison, operand: Vec<u8>) {
    let evolve = |time, change| at(time).evolve_storage(storage.clone(), &change).unwrap();
    evolve(4, SchemaEvolution::new().drop_attribute("a"));
    evolve(5, SchemaEvolution::new().add_attribute(kind.attribute()));
    let condition = Condition::Value { field: "a".into(), comparison, operands: vec![operand] };
    at(3).open_storage(storage.clone()).unwrap().delete(&condition).unwrap();
}

fn open(storage: &MemoryStorage) -> Array {
    OpenOptions::new().open_storage(storage.clone()).unwrap()
}

fn left(storage: &MemoryStorage) -> Vec<i32> {
    let cells = open(storage).read().fields(["b"]).collect().unwrap();
    let mut left = cells.field("b").unwrap().values::<i32>().unwrap().to_vec();
    left.sort_unstable();
    left
}

const fn kind(datatype: Datatype, var: bool, nullable: bool) -> Kind {
    Kind { datatype, var, nullable }
}

#[test]
fn a_delete_tests_what_an_attribute_was_when_the_cells_were_written() {
    let kinds = [
        (kind(Datatype::StringAscii, true, false), kind(Datatype::StringUtf8, true, false)),
        (kind(Datatype::Int32, false, false), kind(Datatype::Uint32, false, false)),
        (kind(Datatype::Int32, false, true), kind(Datatype::Uint32, false, true)),
        (kind(Datatype::Float32, false, false), kind(Datatype::Int32, false, true)),
    ];
    for (old, new) in kinds {
        let storage = create(old);
        retype(&storage, new, Comparison::Equal, old.value(4));
        // To null, nothing is equal, so that the delete leaves it. But what stays is what is not
        // equal, and null is not that either.
        let others = |cell: &i32| *cell != 4 && (!old.nullable || cell % 2 == 0);
        let expected: Vec<i32> = (0..10).filter(others).collect();
        assert_eq!(left(&storage), expected, "{old:?} {new:?}");
        write(&storage, 6, new, 10);
        let expected: Vec<i32> = expected.into_iter().chain(10..20).collect();
        assert_eq!(left(&storage), expected, "{old:?} {new:?}: and later cells");
        let count = open(&storage).read().aggregate([Aggregate::count()]).unwrap()[0].as_u64();
        assert_eq!(count, u64::try_from(expected.len()).ok());
        let a = open(&storage).read().fields(["x", "a"]).collect().unwrap();
        assert_eq!(a.len(), expected.len(), "the attribute's own cells");
        // Fragments with other types are not merged, or nothing is lost by it.
        let writer = at(0).open_storage(storage.clone()).unwrap();
        let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
        plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(left(&storage), expected, "{old:?} {new:?}: after consolidation");
    }
}

#[test]
fn null_cells_that_a_delete_removed_stay_so_when_the_attribute_cannot_be_null_any_more() {
    let old = kind(Datatype::Int32, false, true);
    for new in [kind(Datatype::Int32, false, false), old] {
        let storage = create(old);
        retype(&storage, new, Comparison::Greater, old.value(5));
        assert_eq!(left(&storage), [0, 2, 4], "{new:?}");
        let cells = open(&storage).read().fields(["a", "b"]).collect().unwrap();
        assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [0, 2, 4]);
    }
}

#[test]
fn a_delete_by_an_attribute_that_was_dropped_is_applied_to_the_fragments_that_have_it() {
    let old = kind(Datatype::Int32, false, false);
    let storage = create(old);
    retype(&storage, old, Comparison::Less, old.value(7));
    at(6)
        .evolve_storage(
            storage.clone(),
            &SchemaEvolution::new().add_attribute(Attribute::new("c", Datatype::Int8, CellValNum::ONE)),
        )
        .unwrap();
    // Between 4 and 5 there is no attribute of that name.
    let window = TimeWindow::until(4);
    let array = OpenOptions::new().window(window).open_storage(storage.clone()).unwrap();
    let cells = array.read().collect().unwrap();
    assert_eq!(cells.columns().iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["x", "b"]);
    assert_eq!(cells.field("b").unwrap().values::<i32>().unwrap(), [7, 8, 9]);
    let explained = array.read().explain().unwrap();
    let looked = explained.fields.iter().find(|field| field.purpose == Purpose::Delete).unwrap();
    assert_eq!((looked.name.as_str(), looked.tiles), ("a", 1));
    assert_eq!(left(&storage), [7, 8, 9]);
}

#[test]
fn a_delete_whose_operand_is_no_value_of_the_older_type_removes_what_the_array_did_not_have_then() {
    let (old, new) = (kind(Datatype::Int64, false, false), kind(Datatype::Int32, false, false));
    let storage = create(old);
    retype(&storage, new, Comparison::Equal, new.value(4));
    assert_eq!(left(&storage), [0; 0]);
    write(&storage, 6, new, 10);
    assert_eq!(left(&storage), (10..20).collect::<Vec<_>>());
}
