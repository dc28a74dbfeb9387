//! Dimension labels, enumerations, current domains and timestamps: features of queries in addition
//! to plain ranges.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

use tdb_array::error::QueryError;
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Column, Error, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions};
use tdb_codec::DataOrder;
use tdb_schema::{Attribute, Dimension, DimensionLabel, Range};

use crate::common::{arrays, fixtures, row};

fn open(id: &str) -> Array {
    Array::open(fixtures().join("arrays").join(id)).unwrap()
}

fn cells_of(column: &Column, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|cell| column.cell(cell).unwrap().to_vec()).collect()
}

#[test]
fn a_range_of_labels_reads_what_the_range_of_their_positions_does() {
    let mut labels = 0;
    for (id, path) in arrays() {
        let array = Array::open(&path).unwrap();
        for label in &array.schema().labels {
            let dimension = &array.schema().domain.dimensions[usize::try_from(label.dimension).unwrap()];
            let own = array.label(&label.name).unwrap().unwrap();
            let domain = own.non_empty_domain().unwrap().remove(0);
            let first = dimension.ordinal(&domain.low).unwrap();
            let read = own.read().fields([&label.attribute]);
            let positions = &own.schema().domain.dimensions[0].name;
            let read = read.range_bytes(positions, Some(domain.low), Some(domain.high)).collect().unwrap();
            let values = cells_of(read.field(&label.attribute).unwrap(), read.len());
            assert!(values.len() > 1, "{id}");
            let rows = |query: tdb_array::Read| {
                let cells = query.collect().unwrap();
                (0..cells.len()).map(|cell| row(&cells, cell)).collect::<Vec<_>>()
            };
            for from in 0..values.len() {
                for to in from..values.len() {
                    // In a decreasing label the greater value comes first.
                    let mut ends = [values[from].clone(), values[to].clone()];
                    if label.order == DataOrder::Decreasing {
                        ends.reverse();
                    }
                    let [low, high] = ends.map(Some);
                    let at = |index: usize| dimension.coordinate(first + u64::try_from(index).unwrap());
                    assert_eq!(
                        rows(array.read().label_range_bytes(&label.name, low, high)),
                        rows(array.read().range_bytes(&dimension.name, at(from), at(to))),
                        "{id}, label {}, {from} to {to}",
                        label.name
                    );
                }
            }
            // As a column: the label of each cell's position.
            let fields = [dimension.name.clone(), label.name.clone()];
            let cells =
                array.read().fields(fields).label_range_bytes(&label.name, None, None).collect().unwrap();
            assert!(!cells.is_empty(), "{id}");
            let (at, named) = (cells.field(&dimension.name).unwrap(), cells.field(&label.name).unwrap());
            assert_eq!((named.datatype, named.cell_val_num), (label.datatype, label.cell_val_num));
            for cell in 0..cells.len() {
                let index = dimension.ordinal(at.cell(cell).unwrap()).unwrap() - first;
                assert_eq!(named.cell(cell).unwrap(), values[usize::try_from(index).unwrap()], "{id}");
            }
            labels += 1;
        }
    }
    assert!(labels > 15, "only {labels} labels were looked at");
}

/// A dense array with a label of ten positions, whose values are written in these parts: the first
/// position, and the values.
fn labelled(order: DataOrder, parts: &[(i64, &[i64])]) -> Array {
    let mut schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i64..=9).with_tile(5i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap();
    let mut label = DimensionLabel::new(0, "l", "__labels/l0", Datatype::Int64, CellValNum::ONE);
    label.order = order;
    schema.labels.push(label);
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, (first, values)) in (1u64..).zip(parts) {
        let writer =
            WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap().label("l").unwrap();
        let last = first + i64::try_from(values.len()).unwrap() - 1;
        let dimension = writer.schema().domain.dimensions[0].name.clone();
        let write = writer.write().range(dimension, *first..=last);
        write.column(WriteColumn::fixed("label", values)).commit().unwrap();
    }
    OpenOptions::new().open_storage(storage).unwrap()
}

#[test]
fn ranges_of_labels_with_a_gap_or_out_of_order_are_errors() {
    let found = |array: &Array, label: i64| {
        Ok::<_, Error>(array.read().label_range("l", label..=label).collect()?.len())
    };
    let whole = labelled(DataOrder::Increasing, &[(2, &[1, 2, 3]), (5, &[4, 10])]);
    assert_eq!((found(&whole, 4).unwrap(), found(&whole, 5).unwrap()), (1, 0));
    let falling = labelled(DataOrder::Decreasing, &[(0, &[5, 4]), (2, &[3, -7])]);
    assert_eq!((found(&falling, -7).unwrap(), found(&falling, 6).unwrap()), (1, 0));
    for (parts, position, why) in [
        (&[(0, &[1, 2, 3, 4][..]), (6, &[7, 8])][..], 4, "was never written"),
        (&[(0, &[1, 2, 3, 4]), (1, &[10, 11])], 3, "out of order"),
        (&[(0, &[1, 2]), (2, &[2, 3])], 2, "out of order"),
    ] {
        let array = labelled(DataOrder::Increasing, parts);
        let error = found(&array, 4).unwrap_err().to_string();
        let place = format!("position {position} ");
        assert!(error.contains(why) && error.contains(&place), "{error}");
        // Its values can be shown all the same.
        assert_eq!(array.read().fields(["a", "l"]).collect().unwrap().len(), 10);
    }
}

#[test]
fn labels_between_the_values_and_labels_of_another_type() {
    let array = open("2.30.0/label_two");
    let label = array.label("m").unwrap().unwrap();
    let cells = label.read().collect().unwrap();
    let values = cells.field("label").unwrap().values::<i8>().unwrap();
    assert!(values.is_sorted_by(|a, b| a > b), "the label is a decreasing one: {values:?}");
    let gap = (-128..=127i8).find(|value| !values.contains(value)).unwrap();
    assert!(array.read().label_range("m", gap..=gap).collect().unwrap().is_empty());
    assert_eq!(array.read().label_range("m", ..=values[0]).collect().unwrap().shape(), Some(&[10, 4][..]));
    let error = array.read().label_range("m", 1.5..=2.5).collect().unwrap_err();
    assert!(matches!(error, Error::Query(QueryError::RangeType { .. })), "{error}");
    let error = array.read().label_range("nope", 1..=2).collect().unwrap_err();
    assert!(matches!(error, Error::Query(QueryError::UnknownLabel { .. })), "{error}");
    assert!(array.label("nope").unwrap().is_none());
}

#[test]
fn numbers_of_an_enumeration_become_its_values() {
    let array = open("2.30.0/enumeration");
    let cells = array.read().collect().unwrap();
    let fruit = array.enumerated(cells.field("f").unwrap()).unwrap().unwrap();
    let text: Vec<_> = (0..4).map(|cell| fruit.cell(cell).unwrap()).collect();
    assert_eq!(text, [&b"apple"[..], b"fig", b"kiwi", b"apple"]);
    assert!(fruit.validity().is_none(), "all numbers stand for something");
    let level = array.enumerated(cells.field("n").unwrap()).unwrap().unwrap();
    assert_eq!(level.values::<i64>().unwrap()[..2], [-5, 0]);
    assert!(level.is_null(2) && !level.is_null(1));
}

#[test]
fn a_number_without_a_value_is_null() {
    // Before its first write all cells of the array have the fill value, which is not an index of
    // the enumeration.
    let path = fixtures().join("arrays/2.30.0/enumeration");
    let array = Array::open_at(path, TimeWindow::until(9)).unwrap();
    let cells = array.read().collect().unwrap();
    let numbers = cells.field("f").unwrap();
    assert!(numbers.values::<u8>().unwrap().iter().all(|number| *number == 0xff));
    let fruit = array.enumerated(numbers).unwrap().unwrap();
    assert!(fruit.validity().is_some() && (0..10).all(|cell| fruit.is_null(cell)));
    let mut other = numbers.clone();
    other.name = "x".to_owned();
    assert!(array.enumerated(&other).unwrap().is_none(), "no enumerated attribute");
}

#[test]
fn open_ranges_end_where_the_current_domain_does() {
    let array = open("2.30.0/current_domain_dense");
    let cells = array.read().fields(["x", "y", "a"]).collect().unwrap();
    assert_eq!(cells.shape(), Some(&[8, 7][..]));
    assert_eq!(cells.field("y").unwrap().values::<i32>().unwrap()[..7], [3, 4, 5, 6, 7, 8, 9]);
    let cells = array.read().range("x", 7..).range("y", ..=4).collect().unwrap();
    assert_eq!(cells.shape(), Some(&[2, 2][..]));
    assert_eq!(array.read().range("x", 9..=10).collect().unwrap().len(), 0);
    let error = array.read().range("x", 9..=10).refuse_outside().unwrap_err();
    let Error::Query(QueryError::OutsideDomain { low, high, .. }) = &error else { panic!("{error}") };
    assert_eq!((low.as_str(), high.as_str()), ("1", "8"));
    let sparse = open("2.30.0/current_domain_sparse");
    assert_eq!(
        sparse.read().range("x", 1..).collect().unwrap().len(),
        sparse.read().collect().unwrap().len()
    );
    assert_eq!(sparse.read().range("x", 900..).collect().unwrap().len(), 0);
    let read = || sparse.read().range("s", "r"..="z");
    assert_eq!(read().collect().unwrap().len(), 0, "the current domain ends with q");
    assert!(read().refuse_outside().is_err());
}

#[test]
fn an_expanded_current_domain_is_that_of_the_time_of_reading() {
    let array = open("2.30.0/current_domain_expanded_dense");
    let now = array.schema().current_domain.clone().unwrap();
    let path = fixtures().join("arrays/2.30.0/current_domain_expanded_dense");
    let first = array.fragments()[0].timestamps().1;
    let before = Array::open_at(path, TimeWindow::until(first)).unwrap();
    let then = before.schema().current_domain.clone().unwrap();
    let shape = |array: &Array, ranges: &[Range]| {
        let pairs = ranges.iter().zip(&array.schema().domain.dimensions);
        let counts: Vec<usize> = pairs
            .map(|(range, d)| {
                usize::try_from(d.ordinal(&range.high).unwrap() - d.ordinal(&range.low).unwrap()).unwrap() + 1
            })
            .collect();
        assert_eq!(array.read().collect().unwrap().shape(), Some(&counts[..]));
    };
    assert_ne!(now, then);
    shape(&array, &now.ranges);
    shape(&before, &then.ranges);
}

/// A sparse array of fragments at these times, each with the cell (1, its own number) and a cell
/// that only it has.
fn timed(times: &[u64]) -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=999).with_tile(10i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (number, time) in (0i64..).zip(times) {
        let writer = WriteOptions::new().timestamp(*time).open_storage(storage.clone()).unwrap();
        let (x, a) = ([1, 10 + number], [number, number]);
        let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x));
        write.column(WriteColumn::fixed("a", &a)).commit().unwrap();
    }
    storage
}

#[test]
fn cells_say_when_they_were_written() {
    let array = OpenOptions::new().open_storage(timed(&[5, 7, 6])).unwrap();
    for order in [Layout::RowMajor, Layout::GlobalOrder] {
        let cells = array.read().fields(["a", "__timestamps", "x"]).order(order).collect().unwrap();
        let names: Vec<_> = cells.columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "__timestamps", "x"]);
        assert_eq!(cells.field("x").unwrap().values::<i64>().unwrap(), [1, 10, 11, 12]);
        let times = cells.field("__timestamps").unwrap();
        assert_eq!(times.values::<u64>().unwrap(), [7, 5, 7, 6], "the newest of the overwritten cells");
    }
    let only = array.read().fields(["__timestamps"]).collect().unwrap();
    assert_eq!((only.len(), only.columns().len()), (4, 1));
}

#[test]
fn consolidated_cells_keep_the_times_they_were_written_at() {
    let mut found = 0;
    for (id, path) in arrays() {
        let array = Array::open(&path).unwrap();
        let schema = array.schema();
        if schema.array_type == ArrayType::Dense {
            let error = array.read().fields(["__timestamps"]).collect();
            assert!(matches!(error, Err(Error::Query(QueryError::UnknownField { .. }))), "{id}");
            continue;
        }
        let cells = array.read().fields(["__timestamps"]).collect().unwrap();
        let times = cells.field("__timestamps").unwrap().values::<u64>().unwrap();
        assert_eq!(times.len(), array.read().collect().unwrap().len(), "{id}");
        let spans: Vec<_> = array.fragments().iter().map(|fragment| fragment.timestamps()).collect();
        let known = |time: &u64| spans.iter().any(|(first, last)| first <= time && time <= last);
        assert!(times.iter().all(known), "{id}: {times:?}");
        if array.fragments().len() == 1 && times.iter().any(|time| *time != spans[0].0) {
            found += 1;
        }
    }
    assert!(found > 3, "only {found} consolidated arrays had cells of several times");
}
