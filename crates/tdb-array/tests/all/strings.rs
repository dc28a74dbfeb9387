//! The order of strings of any bytes: signed bytes in the stored order, and unsigned bytes in row-
//! and column-major order of several dimensions, as in libtiledb. The results are compared with a
//! plain model.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use core::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;
use tdb_array::error::QueryError;
use tdb_array::maintain::verify;
use tdb_array::schema::{ArraySchema, CellValNum, Datatype, FormatVersion, Pipeline};
use tdb_array::storage::{Durability, MemoryStorage};
use tdb_array::{Array, Cells, Error, Layout, MemoryBudget, OpenOptions, WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

/// A coordinate: of a dimension of strings, or of numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Text(Vec<u8>),
    Number(i32),
}

type Cell = Vec<Value>;

const EXTENT: i32 = 3;

/// How cells must be ordered, computed from the definition of the order.
fn compare(order: Layout, signed: bool, a: &Cell, b: &Cell) -> Ordering {
    let value = |a: &Value, b: &Value| match (a, b) {
        (Value::Text(a), Value::Text(b)) if signed => {
            a.iter().map(|byte| byte.cast_signed()).cmp(b.iter().map(|byte| byte.cast_signed()))
        }
        (a, b) => a.cmp(b),
    };
    let pairs = || a.iter().zip(b);
    let rows = || pairs().fold(Ordering::Equal, |found, (a, b)| found.then(value(a, b)));
    match order {
        Layout::ColMajor => pairs().rev().fold(Ordering::Equal, |found, (a, b)| found.then(value(a, b))),
        Layout::GlobalOrder => {
            let tile = |value: &Value| if let Value::Number(number) = value { number / EXTENT } else { 0 };
            let tiles = |cell: &Cell| cell.iter().map(tile).collect::<Vec<_>>();
            tiles(a).cmp(&tiles(b)).then_with(rows)
        }
        _ => rows(),
    }
}

/// An array of dimensions that are strings or not, with one fragment for each list of cells.
fn array(texts: &[bool], duplicates: bool, fragments: &[Vec<Cell>]) -> Array {
    let mut builder = ArraySchema::sparse();
    for (index, text) in texts.iter().enumerate() {
        let name = format!("d{index}");
        let number = || Dimension::new(name.clone(), 0i32..=9).with_tile(EXTENT);
        builder = builder.dimension(if *text { Dimension::string(name) } else { number() });
    }
    let builder = builder.attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE)).capacity(4);
    let builder = if duplicates { builder.allow_duplicates() } else { builder };
    let storage = MemoryStorage::default();
    let options = || WriteOptions::new().threads(1).durability(Durability::Buffered);
    options().create_storage(&storage, &builder.build().unwrap()).unwrap();
    for (time, cells) in (1..).zip(fragments) {
        let writer = options().timestamp(time).open_storage(storage.clone()).unwrap();
        let (mut texts_of, mut numbers_of) = (BTreeMap::new(), BTreeMap::new());
        for (index, value) in cells.iter().flat_map(|cell| cell.iter().enumerate()) {
            match value {
                Value::Text(text) => {
                    let (values, offsets): &mut (Vec<u8>, Vec<u64>) =
                        texts_of.entry(format!("d{index}")).or_insert((Vec::new(), vec![0]));
                    values.extend(text);
                    offsets.push(values.len() as u64);
                }
                Value::Number(number) => {
                    numbers_of.entry(format!("d{index}")).or_insert(Vec::new()).push(*number);
                }
            }
        }
        let a = vec![i32::try_from(time).unwrap(); cells.len()];
        let write = writer.write().column(WriteColumn::fixed("a", &a));
        let write =
            numbers_of.iter().fold(write, |write, (name, own)| write.column(WriteColumn::fixed(name, own)));
        let columns = texts_of.iter();
        let write = columns.fold(write, |write, (name, (values, offsets))| {
            write.column(WriteColumn::var(name, values, offsets))
        });
        write.commit().unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

/// The cells of a result, each with its value.
fn cells_of(texts: &[bool], cells: &Cells) -> Vec<(Cell, i32)> {
    let a = cells.field("a").unwrap().values::<i32>().unwrap();
    let value = |at: usize, index: usize| {
        let bytes = cells.field(&format!("d{index}")).unwrap().cell(at).unwrap();
        if texts[index] {
            Value::Text(bytes.to_vec())
        } else {
            Value::Number(i32::from_le_bytes(bytes.try_into().unwrap()))
        }
    };
    (0..cells.len()).map(|at| ((0..texts.len()).map(|index| value(at, index)).collect(), a[at])).collect()
}

/// The cells of a stream in the smallest possible batches, and the number of batches.
fn in_batches(texts: &[bool], array: &Array, order: Layout) -> (Vec<(Cell, i32)>, usize) {
    let mut room = MemoryBudget::from_bytes(8_000);
    loop {
        let batches = array.read().order(order).batch_memory(room).batches().unwrap();
        match batches.map(|batch| Ok(cells_of(texts, &batch?))).collect::<Result<Vec<_>, Error>>() {
            Ok(batches) => return (batches.concat(), batches.len()),
            Err(Error::Query(QueryError::BudgetTooSmall { min, .. })) => room = min,
            Err(error) => panic!("{error}"),
        }
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(0x7f), Just(0x80), Just(0xff), Just(b'a'), any::<u8>()];
    prop_oneof![
        proptest::collection::vec(byte.clone(), 0..4),
        proptest::collection::vec(byte, 0..3).prop_map(|end| [b"a common beginning", &end[..]].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn strings_of_any_bytes_come_in_the_order_that_libtiledb_gives_them(
        texts in prop_oneof![
            Just(vec![true]), Just(vec![true, true]), Just(vec![true, false]), Just(vec![false, true]),
            Just(vec![true, true, true]), Just(vec![true, false, true]), Just(vec![false, true, false]),
        ],
        drawn in proptest::collection::vec(proptest::collection::vec((bytes(), 0..10i32), 3), 1..250),
        duplicates: bool,
        two: bool,
    ) {
        let cell = |values: &Vec<(Vec<u8>, i32)>| -> Cell {
            let values = values.iter().zip(&texts);
            values.map(|((own, number), text)| if *text { Value::Text(own.clone()) } else { Value::Number(*number) }).collect()
        };
        let mut first: Vec<Cell> = drawn.iter().map(cell).collect();
        first.sort();
        first.dedup();
        // Every third cell is written a second time.
        let second: Vec<Cell> = first.iter().step_by(3).cloned().collect();
        let fragments = if two { vec![first.clone(), second.clone()] } else { vec![first.clone()] };
        let array = array(&texts, duplicates, &fragments);
        let mut expected: Vec<(Cell, i32)> = first.iter().map(|cell| (cell.clone(), 1)).collect();
        if two {
            expected.extend(second.iter().map(|cell| (cell.clone(), 2)));
            if !duplicates {
                expected.retain(|(cell, time)| *time == 2 || !second.contains(cell));
            }
        }
        for order in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
            let signed = texts.len() == 1 || order == Layout::GlobalOrder;
            // Cells with equal coordinates may be in any order.
            expected.sort_by(|a, b| compare(order, signed, &a.0, &b.0).then(a.1.cmp(&b.1)));
            let settle = |mut found: Vec<(Cell, i32)>| {
                found.chunk_by_mut(|a, b| a.0 == b.0).for_each(<[_]>::sort);
                found
            };
            let found = settle(cells_of(&texts, &array.read().order(order).collect().unwrap()));
            prop_assert_eq!(&found, &expected, "{:?}", order);
            let (found, parts) = in_batches(&texts, &array, order);
            prop_assert_eq!(&settle(found), &expected, "{:?} in {} batches", order, parts);
            prop_assert!(parts > 1 || expected.len() < 150, "{:?}: one batch of {} cells", order, expected.len());
        }
    }
}

#[test]
fn old_rectangles_that_begin_with_the_empty_string_hold_what_lies_behind_their_end() {
    for (version, found) in [(6, 1), (9, 1), (10, 1), (12, 0)] {
        let version = FormatVersion::parse(version).unwrap();
        let schema = ArraySchema::sparse()
            .dimension(Dimension::string("d"))
            .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
            .coords_filters(Pipeline::default())
            .version(version)
            .build()
            .unwrap();
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema).unwrap();
        let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
        let write = writer.write().column(WriteColumn::var("d", b"ak", &[0, 0, 1, 2]));
        write.column(WriteColumn::fixed("a", &[1i32, 2, 3])).commit().unwrap();
        // The rectangle ends at "k". libtiledb 2.3 would have written it so although there is a
        // cell at "s".
        let ends = ["d_var.tdb", "d0_var.tdb"];
        let key = storage.keys().into_iter().find(|key| ends.iter().any(|end| key.ends_with(end))).unwrap();
        let mut file = storage.remove(&key).unwrap().to_vec();
        assert_eq!(file.split_off(file.len() - 2), b"ak");
        file.extend_from_slice(b"as");
        storage.insert(key, file);

        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        let read = || array.read().fields(["a"]);
        for (read, number) in
            [(read().range("d", "p"..="z"), found), (read().range("d", "b"..), 1), (read(), 3)]
        {
            assert_eq!(read.collect().unwrap().len(), number, "version {version}");
        }
        let behind = array.read().condition(tdb_array::field("d").ge("p")).collect().unwrap().len();
        assert!(behind == 1 || found == 0, "version {version}");
        // In newer versions, that is damage.
        let report = verify(storage);
        assert_eq!(
            (report.problems.is_empty(), report.notes.is_empty()),
            (found == 1, found == 0),
            "{report:?}"
        );
    }
}
