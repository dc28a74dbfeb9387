//! Results as several batches that several threads make, and as views.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Int16Builder, LargeListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch,
    StringArray,
};
use arrow_schema::DataType;
use tdb_array::schema::{Attribute, CellValNum, Datatype, Filter, Pipeline};
use tdb_array::{Array, Cells, Layout};
use tdb_arrow::{BATCH_ROWS, Error, Mapping, Offsets, Options, Text};

use crate::common::{sparse, written};

/// More rows than two batches have.
const ROWS: usize = 2 * BATCH_ROWS + 1000;

/// An array with these columns and a column of keys, which give the order.
fn array(attributes: Vec<Attribute>, columns: Vec<(&str, ArrayRef)>) -> Array {
    let keys: StringArray = (0..ROWS).map(|row| Some(format!("{row:08}"))).collect();
    let keys: (&str, ArrayRef) = ("key", Arc::new(keys));
    let batch = RecordBatch::try_from_iter(std::iter::once(keys).chain(columns)).unwrap();
    written(&batch, &sparse(attributes), vec![]).unwrap()
}

fn nullable(mut attribute: Attribute) -> Attribute {
    attribute.nullable = true;
    attribute
}

fn cells(array: &Array) -> Cells {
    array.read().order(Layout::RowMajor).collect().unwrap()
}

fn text(row: usize) -> String {
    match row % 5 {
        0 => String::new(),
        1 => "é".repeat(row % 11),
        _ => format!("{row}, a text that is longer than a view"),
    }
}

#[test]
fn batches_of_many_threads_have_the_rows_of_one_batch_in_its_order() {
    let fixed = CellValNum::from_code(2).unwrap();
    let attributes = vec![
        nullable(Attribute::new("text", Datatype::StringUtf8, CellValNum::Var)),
        nullable(Attribute::new("number", Datatype::Int64, CellValNum::ONE)),
        Attribute::new("bool", Datatype::Bool, CellValNum::ONE),
        Attribute::new("pair", Datatype::Int16, fixed),
        Attribute::new("list", Datatype::Int16, CellValNum::Var),
    ];
    let texts: LargeStringArray = (0..ROWS).map(|row| (row % 7 != 3).then(|| text(row))).collect();
    let numbers: Int64Array = (0i64..).take(ROWS).map(|row| (row % 3 != 1).then_some(row * row)).collect();
    let bools: BooleanArray = (0..ROWS).map(|row| Some(row.is_multiple_of(3))).collect();
    let mut pairs = FixedSizeListBuilder::new(Int16Builder::new(), 2);
    let mut lists = LargeListBuilder::new(Int16Builder::new());
    for row in (0i16..1000).cycle().take(ROWS) {
        pairs.values().append_slice(&[row, -row]);
        pairs.append(true);
        (0..row % 4).for_each(|value| lists.values().append_value(row + value));
        lists.append(true);
    }
    let array = array(
        attributes,
        vec![
            ("text", Arc::new(texts)),
            ("number", Arc::new(numbers)),
            ("bool", Arc::new(bools)),
            ("pair", Arc::new(pairs.finish())),
            ("list", Arc::new(lists.finish())),
        ],
    );
    let mapping = Mapping::of(&array, Options::new()).unwrap();
    let one = mapping.record_batch(cells(&array)).unwrap();
    for threads in [1, 3] {
        let several = mapping.record_batches(cells(&array), threads).unwrap();
        let rows: Vec<usize> = several.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [BATCH_ROWS, BATCH_ROWS, 1000]);
        for (start, batch) in (0..).step_by(BATCH_ROWS).zip(&several) {
            assert_eq!(*batch, one.slice(start, batch.num_rows()));
        }
    }
}

#[test]
fn views_have_the_texts_and_bytes_that_offsets_have_and_come_back_as_they_were() {
    let attributes = vec![
        nullable(Attribute::new("text", Datatype::StringUtf8, CellValNum::Var)),
        Attribute::new("bytes", Datatype::Blob, CellValNum::Var),
    ];
    let texts: LargeStringArray = (0..ROWS).map(|row| (row % 7 != 3).then(|| text(row))).collect();
    let bytes: LargeBinaryArray = (0..ROWS).map(|row| Some([0xFF, 0x00].repeat(row % 20))).collect();
    let array = array(
        attributes,
        vec![("text", Arc::new(texts.clone()) as ArrayRef), ("bytes", Arc::new(bytes.clone()))],
    );
    let mapping = Mapping::of(&array, Options::new().offsets(Offsets::Views)).unwrap();
    let schema = mapping.whole_arrow_schema().unwrap();
    assert_eq!(schema.field_with_name("text").unwrap().data_type(), &DataType::Utf8View);
    assert_eq!(schema.field_with_name("bytes").unwrap().data_type(), &DataType::BinaryView);
    let mut row = 0;
    for batch in mapping.record_batches(cells(&array), 2).unwrap() {
        let found = batch.column_by_name("text").unwrap().as_string_view();
        let found_bytes = batch.column_by_name("bytes").unwrap().as_binary_view();
        for at in 0..batch.num_rows() {
            assert_eq!(
                found.is_valid(at).then(|| found.value(at)),
                texts.is_valid(row).then(|| texts.value(row))
            );
            assert_eq!(found_bytes.value(at), bytes.value(row));
            row += 1;
        }
        let back = mapping.write_batch(&batch).unwrap();
        assert_eq!(
            back.cell("text", 9),
            texts.is_valid(row - batch.num_rows() + 9).then(|| found.value(9).as_bytes())
        );
    }
    assert_eq!(row, ROWS);
}

#[test]
fn a_wrong_cell_of_a_later_batch_is_named_by_its_row_in_the_result() {
    let wrong = BATCH_ROWS + 77;
    let attributes = vec![
        Attribute::new("text", Datatype::StringUtf8, CellValNum::Var),
        Attribute::new("bool", Datatype::Bool, CellValNum::ONE),
    ];
    let texts: LargeBinaryArray =
        (0..ROWS).map(|row| Some(if row == wrong { &b"\xff"[..] } else { b"text" })).collect();
    let bools: arrow_array::UInt8Array = (0..ROWS).map(|row| Some(u8::from(row == wrong) * 9)).collect();
    let array = array(attributes, vec![("text", Arc::new(texts)), ("bool", Arc::new(bools))]);
    for offsets in [Offsets::Large, Offsets::Views] {
        let options = Options::new().offsets(offsets);
        let error = Mapping::of(&array, options).unwrap().record_batches(cells(&array), 2).unwrap_err();
        assert!(matches!(&error, Error::NotUtf8 { row, .. } if *row == wrong), "{error}");
        let options = options.text(Text::Binary);
        let error = Mapping::of(&array, options).unwrap().record_batches(cells(&array), 2).unwrap_err();
        assert!(matches!(&error, Error::NotBoolean { index, value: 9, .. } if *index == wrong), "{error}");
    }
}

#[test]
fn codes_become_the_texts_that_they_stand_for() {
    let filters = |filter| Pipeline::new(vec![filter]);
    let attribute = |name: &str, filter| {
        Attribute::new(name, Datatype::StringAscii, CellValNum::Var).with_filters(filters(filter))
    };
    let attributes = vec![
        nullable(attribute("dictionary", Filter::Dictionary { level: 0 })),
        attribute("runs", Filter::Rle { level: 0 }),
    ];
    // Every row of a tile has a string of its own in the dictionary: more than one thread converts
    // at a time.
    let texts: LargeStringArray =
        (0..ROWS).map(|row| (row % 7 != 3).then(|| format!("{}, a long text", row % 9000))).collect();
    let runs: LargeStringArray = (0..ROWS).map(|row| Some("x".repeat(row / 5000))).collect();
    let array = array(attributes, vec![("dictionary", Arc::new(texts)), ("runs", Arc::new(runs))]);
    let read = || array.read().order(Layout::RowMajor).dictionary_codes(true).collect().unwrap();
    assert!(read().columns().iter().filter(|column| column.codes().is_some()).count() >= 2);
    for offsets in [Offsets::Large, Offsets::Small, Offsets::Views] {
        let mapping = Mapping::of(&array, Options::new().offsets(offsets)).unwrap();
        let plain = mapping.record_batch(cells(&array)).unwrap();
        assert_eq!(mapping.record_batch(read()).unwrap(), plain);
        for (start, batch) in (0..).step_by(BATCH_ROWS).zip(mapping.record_batches(read(), 3).unwrap()) {
            assert_eq!(batch, plain.slice(start, batch.num_rows()));
        }
    }
}

#[test]
fn a_wrong_text_of_a_dictionary_is_named_by_the_first_cell_that_has_it_and_else_ignored() {
    let attribute = Attribute::new("text", Datatype::StringUtf8, CellValNum::Var);
    let attributes = vec![attribute.with_filters(Pipeline::new(vec![Filter::Dictionary { level: 0 }]))];
    let wrong = ROWS - 5;
    let texts: LargeBinaryArray =
        (0..ROWS).map(|row| Some(if row == wrong { &b"\xff"[..] } else { b"text" })).collect();
    let array = array(attributes, vec![("text", Arc::new(texts))]);
    let mapping = Mapping::of(&array, Options::new()).unwrap();
    let read = || array.read().order(Layout::RowMajor).dictionary_codes(true);
    assert!(read().collect().unwrap().field("text").unwrap().codes().is_some());
    for threads in [1, 2] {
        let error = mapping.record_batches(read().collect().unwrap(), threads).unwrap_err();
        assert!(matches!(&error, Error::NotUtf8 { row, .. } if *row == wrong), "{error}");
    }
    let last = format!("{:08}", wrong - 1);
    let others = read().range("key", ""..=last.as_str()).collect().unwrap();
    assert!(others.field("text").unwrap().codes().is_some());
    let batches = mapping.record_batches(others, 2).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), wrong);
}
