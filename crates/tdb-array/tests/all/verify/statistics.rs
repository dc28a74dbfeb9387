//! Statistics of tiles and fragments that do not match the cells.

use tdb_array::schema::ArrayType;
use tdb_array::storage::MemoryStorage;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_codec::{CellValNum, Datatype};
use tdb_fragment::{
    FieldStatistics, Section, parse_fragment_statistics, parse_u64_list, write_fragment_statistics,
    write_u64_list,
};
use tdb_schema::{ArraySchema, Attribute, Dimension, Domain};

use crate::verify::problems;
use crate::verify::remake::section;

/// Slots of the attributes.
const NUMBER: usize = 0;
const REAL: usize = 1;
const MAYBE: usize = 2;
const TEXT: usize = 3;

/// 20 cells in tiles of ten: numbers 100 to 119, reals whose sum depends on the order of adding, a
/// null in every fourth cell, and texts. A dense array covers cells 5 to 24.
fn array(array_type: ArrayType) -> MemoryStorage {
    let dimension = Dimension::new("x", 0i32..=99).with_tile(10i32);
    let mut schema = ArraySchema::new(array_type, Domain::new(vec![dimension]))
        .with_attribute(Attribute::new("number", Datatype::Int32, CellValNum::ONE))
        .with_attribute(Attribute::new("real", Datatype::Float64, CellValNum::ONE));
    let mut maybe = Attribute::new("maybe", Datatype::Uint16, CellValNum::ONE);
    maybe.nullable = true;
    schema = schema.with_attribute(maybe);
    schema = schema.with_attribute(Attribute::new("text", Datatype::StringAscii, CellValNum::Var));
    schema.capacity = 10;
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().threads(1).open_storage(storage.clone()).unwrap();
    let x: Vec<i32> = (5..25).collect();
    let number: Vec<i32> = (100..120).collect();
    let real: Vec<f64> = (0..20).map(|i| f64::from(i) * 0.1 + if i % 3 == 0 { 1e9 } else { -1e9 }).collect();
    let maybe: Vec<u16> = (0..20).collect();
    let valid: Vec<u8> = (0..20).map(|i| u8::from(i % 4 != 0)).collect();
    let offsets: Vec<u64> = (0..=20).map(|cell| cell * 2).collect();
    let text: String = ('a'..='t').flat_map(|letter| [letter, 'x']).collect();
    let mut write = writer.write();
    match array_type {
        ArrayType::Sparse => write = write.column(WriteColumn::fixed("x", &x)),
        ArrayType::Dense => write = write.range("x", 5..=24),
    }
    write
        .column(WriteColumn::fixed("number", &number))
        .column(WriteColumn::fixed("real", &real))
        .column(WriteColumn::fixed("maybe", &maybe).nullable(&valid))
        .column(WriteColumn::var("text", text.as_bytes(), &offsets))
        .commit()
        .unwrap();
    storage
}

/// Changes a statistic of tile 1.
fn tile(storage: &MemoryStorage, wanted: Section, value: &[u8]) {
    section(storage, wanted, |payload| {
        // Lists of values begin with their lengths in bytes, other lists with their length.
        let head = if matches!(wanted, Section::Mins(_) | Section::Maxes(_)) { 16 } else { 8 };
        let at = head + value.len();
        payload[at..at + value.len()].copy_from_slice(value);
    });
}

fn whole(storage: &MemoryStorage, slot: usize, change: impl FnOnce(&mut FieldStatistics)) {
    section(storage, Section::FragmentStatistics, |payload| {
        let slots =
            (1..20).find(|slots| parse_fragment_statistics(tdb_codec::Reader::new(payload), *slots).is_ok());
        let mut all = parse_fragment_statistics(tdb_codec::Reader::new(payload), slots.unwrap()).unwrap();
        change(&mut all[slot]);
        *payload = write_fragment_statistics(&all);
    });
}

const BOTH: [ArrayType; 2] = [ArrayType::Sparse, ArrayType::Dense];

#[test]
fn statistics_as_they_are_written_are_clean() {
    for array_type in BOTH {
        let storage = array(array_type);
        assert_eq!(problems(&storage), [""; 0], "{array_type}");
        assert_eq!(crate::verify::notes(&storage), [""; 0], "{array_type}");
    }
}

#[test]
fn wrong_statistics_of_a_tile_are_named() {
    for array_type in BOTH {
        // A dense array has five cells in its first tile.
        let (low, sum) = if array_type == ArrayType::Dense { (105, 1095) } else { (110, 1145) };
        let storage = array(array_type);
        tile(&storage, Section::Mins(NUMBER), &(-7i32).to_le_bytes());
        tile(&storage, Section::Maxes(NUMBER), &999i32.to_le_bytes());
        tile(&storage, Section::Sums(NUMBER), &3i64.to_le_bytes());
        section(&storage, Section::NullCounts(MAYBE), |payload| {
            let mut counts = parse_u64_list(tdb_codec::Reader::new(payload), "counts").unwrap();
            counts[1] = 9;
            *payload = write_u64_list(&counts);
        });
        let last = if array_type == ArrayType::Dense { 114 } else { 119 };
        assert_eq!(
            problems(&storage),
            [
                format!("the smallest value of tile 1 of attribute \"number\" is stored as -7, but that of the cells is {low}"),
                format!("the largest value of tile 1 of attribute \"number\" is stored as 999, but that of the cells is {last}"),
                format!("the sum of tile 1 of attribute \"number\" is stored as 3, but that of the cells is {sum}"),
                "the number of nulls of tile 1 of attribute \"maybe\" is stored as 9, but that of the cells is 2".to_owned(),
            ],
            "{array_type}"
        );
    }
}

#[test]
fn wrong_statistics_of_a_fragment_are_named() {
    for array_type in BOTH {
        let storage = array(array_type);
        whole(&storage, NUMBER, |found| {
            found.min = 0i32.to_le_bytes().to_vec();
            found.max = 1i32.to_le_bytes().to_vec();
            found.sum = 2i64.to_le_bytes();
        });
        whole(&storage, MAYBE, |found| found.null_count = 4);
        assert_eq!(
            problems(&storage),
            [
                "the smallest value of attribute \"number\" is stored as 0, but that of the cells is 100",
                "the largest value of attribute \"number\" is stored as 1, but that of the cells is 119",
                "the sum of attribute \"number\" is stored as 2, but that of the cells is 2190",
                "the number of nulls of attribute \"maybe\" is stored as 4, but that of the cells is 5",
            ],
            "{array_type}"
        );
    }
}

#[test]
fn extremes_of_strings_are_compared_where_libtiledb_has_them_right() {
    let storage = array(ArrayType::Sparse);
    whole(&storage, TEXT, |found| found.max = b"zz".to_vec());
    assert_eq!(
        problems(&storage),
        ["the largest value of attribute \"text\" is stored as \"zz\", but that of the cells is \"tx\""]
    );
    // In dense arrays libtiledb takes them from the wrong place.
    let storage = array(ArrayType::Dense);
    whole(&storage, TEXT, |found| found.max = b"zz".to_vec());
    assert_eq!(problems(&storage), [""; 0]);
    assert!(crate::verify::notes(&storage)[0].contains("from the wrong place"));
}

#[test]
fn a_sum_of_reals_may_differ_by_the_order_of_additions_and_no_further() {
    let storage = array(ArrayType::Sparse);
    let real = |i: i32| f64::from(i) * 0.1 + if i % 3 == 0 { 1e9 } else { -1e9 };
    let (forth, back) = ((10..20).map(real).sum::<f64>(), (10..20).rev().map(real).sum::<f64>());
    assert_ne!(forth.to_bits(), back.to_bits());
    tile(&storage, Section::Sums(REAL), &back.to_le_bytes());
    assert_eq!(problems(&storage), [""; 0]);
    for wrong in [forth + 0.1, f64::NAN, f64::INFINITY, f64::MAX] {
        let storage = array(ArrayType::Sparse);
        tile(&storage, Section::Sums(REAL), &wrong.to_le_bytes());
        let found = problems(&storage);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("the sum of tile 1 of attribute \"real\" is stored as"), "{found:?}");
    }
}

#[test]
fn wrong_sums_of_coordinates_are_named() {
    let storage = array(ArrayType::Sparse);
    // After the attributes and the slot of coordinates.
    tile(&storage, Section::Sums(5), &1i64.to_le_bytes());
    let expected = "the sum of tile 1 of dimension \"x\" is stored as 1, but that of the cells is 195";
    assert_eq!(problems(&storage), [expected]);
}
