//! Queries as readers and streams of record batches.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, LargeBinaryArray, RecordBatch, RecordBatchReader, UInt8Array};
use arrow_schema::{ArrowError, DataType};
use tdb_array::schema::{Attribute, CellValNum, Datatype};
use tdb_array::{Cells, Column, Layout, MemoryBudget};
use tdb_arrow::{Booleans, Chars, Days, Error, Mapping, Offsets, Options, Text, batches};

use crate::common::{fixture, sparse, written};

fn is_sent<T: Send>(_: &T) {}

/// A batch of a column `a`, and a column of keys.
fn batch(column: impl arrow_array::Array + 'static) -> RecordBatch {
    let keys: arrow_array::StringArray = (0..column.len()).map(|row| Some(format!("{row:05}"))).collect();
    let columns: [(&str, arrow_array::ArrayRef); 2] =
        [("key", std::sync::Arc::new(keys)), ("a", std::sync::Arc::new(column))];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A sparse array with this many cells.
fn numbers(count: i32) -> tdb_array::Array {
    let schema = sparse(vec![Attribute::new("a", Datatype::Int32, CellValNum::ONE)]);
    written(&batch(arrow_array::Int32Array::from_iter_values(0..count)), &schema, vec![]).unwrap()
}

#[test]
fn a_query_in_many_batches_has_one_schema_and_all_cells_in_order() {
    let array = numbers(20_000);
    let read = array.read().order(Layout::RowMajor).batch_memory(MemoryBudget::from_bytes(1 << 17));
    let reader = batches(read, Options::new()).unwrap();
    is_sent(&reader);
    let schema = reader.schema();
    let (mut next, mut count) = (0, 0);
    for batch in reader {
        let batch = batch.unwrap();
        assert_eq!(batch.schema(), schema);
        for value in
            batch.column_by_name("a").unwrap().as_primitive::<arrow_array::types::Int32Type>().values()
        {
            assert_eq!(*value, next);
            next += 1;
        }
        count += 1;
    }
    assert!(next == 20_000 && count > 1, "{next} cells in {count} batches");
}

#[test]
fn a_query_without_cells_has_a_schema_and_no_batches() {
    let reader = batches(numbers(3).read().range("key", "x"..="y"), Options::new()).unwrap();
    assert_eq!(reader.schema().fields().len(), 2);
    assert_eq!(reader.count(), 0);
}

#[test]
fn a_query_that_the_array_cannot_answer_fails_when_it_begins() {
    let error = batches(numbers(3).read().fields(["b"]), Options::new()).unwrap_err();
    assert!(matches!(error, Error::Array(_)), "{error}");
}

#[test]
fn a_cell_that_is_no_text_is_named_and_ends_the_reader_and_can_be_read_as_bytes() {
    let schema = sparse(vec![Attribute::new("a", Datatype::StringUtf8, CellValNum::Var)]);
    let cells: Vec<&[u8]> = vec![b"a", b"\xff\xfe", "ü".as_bytes()];
    let array = written(&batch(LargeBinaryArray::from(cells.clone())), &schema, vec![]).unwrap();
    let read = || array.read().fields(["a"]).order(Layout::RowMajor);
    let mut reader = batches(read(), Options::new()).unwrap();
    let Some(Err(ArrowError::ExternalError(error))) = reader.next() else { panic!("a batch") };
    let error = error.downcast_ref::<Error>().unwrap();
    assert!(matches!(error, Error::NotUtf8 { row: 1, column } if column == "a"), "{error}");
    assert!(reader.next().is_none());
    let mut reader = batches(read(), Options::new().text(Text::Binary)).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().column(0).as_binary::<i64>(), &LargeBinaryArray::from(cells));
}

#[test]
fn a_character_that_a_cell_cuts_is_no_text_even_if_all_cells_together_are() {
    let schema = sparse(vec![Attribute::new("a", Datatype::Char, CellValNum::Var)]);
    let cells: Vec<&[u8]> = vec![b"a", b"\xc3", b"\xbc"];
    let array = written(&batch(LargeBinaryArray::from(cells)), &schema, vec![]).unwrap();
    let read = || array.read().fields(["a"]).order(Layout::RowMajor).collect().unwrap();
    let bytes = Mapping::of(&array, Options::new()).unwrap().record_batch(read()).unwrap();
    assert_eq!(bytes.column(0).data_type(), &DataType::LargeBinary);
    let error = Mapping::of(&array, Options::new().chars(Chars::Utf8)).unwrap().record_batch(read());
    assert!(matches!(error, Err(Error::NotUtf8 { row: 1, .. })));
}

#[test]
fn a_bool_that_is_no_truth_value_is_named_and_can_be_read_as_a_number() {
    let schema = sparse(vec![Attribute::new("a", Datatype::Bool, CellValNum::ONE)]);
    let array = written(&batch(UInt8Array::from(vec![0, 1, 7])), &schema, vec![]).unwrap();
    let read = || array.read().fields(["a"]).order(Layout::RowMajor).collect().unwrap();
    let error = Mapping::of(&array, Options::new()).unwrap().record_batch(read());
    assert!(matches!(error, Err(Error::NotBoolean { index: 2, value: 7, .. })));
    let numbers = Mapping::of(&array, Options::new().booleans(Booleans::UInt8)).unwrap();
    let numbers = numbers.record_batch(read()).unwrap();
    assert_eq!(numbers.column(0).as_primitive::<arrow_array::types::UInt8Type>().values(), &[0, 1, 7]);
}

#[test]
fn coordinates_of_dense_arrays_and_times_of_cells_can_be_columns_too() {
    let array = fixture("quickstart");
    let reader = batches(array.read().fields(["rows", "a"]).range("cols", 1..=1), Options::new()).unwrap();
    let batch = reader.into_iter().next().unwrap().unwrap();
    assert_eq!(batch.column(0).as_primitive::<arrow_array::types::Int32Type>().values(), &[1, 2, 3, 4]);
    // They are not part of what is written.
    let mapping = Mapping::of(&array, Options::new()).unwrap();
    assert_eq!(mapping.write_batch(&batch).unwrap().columns().len(), 1);
    let array = numbers(2);
    let mapping = Mapping::of(&array, Options::new()).unwrap();
    let arrow = mapping.arrow_schema(["a", "__timestamps"]).unwrap();
    assert_eq!(arrow.field(1).data_type(), &DataType::UInt64);
    let batch = mapping.record_batch(array.read().fields(["a", "__timestamps"]).collect().unwrap()).unwrap();
    assert_eq!(batch.schema_ref().as_ref(), &arrow);
    assert!(matches!(mapping.arrow_schema(["b"]), Err(Error::UnknownColumn { .. })));
}

#[test]
fn large_results_are_not_copied_either_and_live_as_long_as_their_arrays() {
    use tdb_array::schema::{ArraySchema, Dimension};

    let count = 1_500_000i32;
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("row", 1..=count).with_tile(100_000))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = tdb_array::storage::MemoryStorage::default();
    tdb_array::WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let writer = tdb_array::WriteOptions::new().open_storage(storage.clone()).unwrap();
    let values: Vec<i32> = (0..count).collect();
    writer.write().column(tdb_array::WriteColumn::fixed("a", &values)).commit().unwrap();
    let array = tdb_array::OpenOptions::new().open_storage(storage).unwrap();
    let cells = array.read().collect().unwrap();
    let address = cells.columns()[0].bytes().as_ptr() as usize;
    let batch = Mapping::of(&array, Options::new()).unwrap().record_batch(cells).unwrap();
    let column = batch.column(0).slice(1_000_000, 2);
    drop((batch, array));
    let column = column.as_primitive::<arrow_array::types::Int32Type>();
    assert_eq!(column.values(), &[1_000_000, 1_000_001]);
    assert_eq!(column.values().as_ptr() as usize, address + 4_000_000);
}

#[cfg(feature = "async")]
#[test]
fn a_stream_has_the_batches_of_the_reader() {
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use tdb_array::query::Stream;

    fn wait<T>(future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return value;
            }
            std::thread::yield_now();
        }
    }

    let array = numbers(20_000);
    let read = || array.read().order(Layout::RowMajor).batch_memory(MemoryBudget::from_bytes(1 << 17));
    let expected: Vec<RecordBatch> =
        batches(read(), Options::new()).unwrap().collect::<Result<_, _>>().unwrap();
    let mut stream = pin!(wait(tdb_arrow::batches_async(read(), Options::new())).unwrap());
    is_sent(&stream);
    assert_eq!(stream.schema(), expected[0].schema());
    let mut found = Vec::new();
    while let Some(batch) = wait(core::future::poll_fn(|context| stream.as_mut().poll_next(context))) {
        found.push(batch.unwrap());
    }
    assert_eq!(found, expected);
    let mapping = wait(Mapping::of_async(&array, Options::new())).unwrap();
    assert_eq!(mapping.whole_arrow_schema().unwrap(), *expected[0].schema());
    assert!(wait(tdb_arrow::batches_async(array.read().fields(["b"]), Options::new())).is_err());
}

#[test]
fn columns_that_contradict_themselves_are_refused() {
    let schema = sparse(vec![
        Attribute::new("n", Datatype::Int32, CellValNum::ONE),
        Attribute::new("l", Datatype::Int32, CellValNum::Var),
        Attribute::new("t", Datatype::StringUtf8, CellValNum::Var),
        Attribute::new("d", Datatype::DatetimeDay, CellValNum::ONE),
    ]);
    let options = Options::new().days(Days::Date32);
    let error = |options, name: &str, bytes: usize, offsets: Option<Vec<u64>>, validity| {
        let field = schema.field(name).unwrap();
        let column = Column {
            name: name.to_owned(),
            datatype: field.datatype,
            cell_val_num: field.cell_val_num,
            data: vec![0u8; bytes].as_slice().into(),
            offsets,
            validity,
            codes: None,
        };
        let cells =
            Cells { len: 2, shape: None, order: Layout::RowMajor, columns: vec![column], selected: None };
        Mapping::new(&schema, [], options).unwrap().record_batch(cells).err()
    };
    let refused = |name, bytes, offsets, validity| error(options, name, bytes, offsets, validity).is_some();
    assert!(!refused("n", 8, None, None));
    assert!(refused("n", 7, None, None));
    assert!(refused("n", 12, None, None));
    assert!(refused("n", 8, None, Some(vec![0])));
    assert!(refused("d", 17, None, None));
    assert!(!refused("l", 8, Some(vec![0, 4, 8]), None));
    assert!(refused("l", 8, Some(vec![0, 4]), None));
    assert!(refused("l", 7, Some(vec![0, 4, 7]), None));
    assert!(refused("l", 8, None, None));
    assert!(!refused("t", 2, Some(vec![0, 1, 2]), None));
    assert!(refused("t", 2, Some(vec![0, 2, 1]), None));
    assert!(refused("t", 2, Some(vec![0, 1, 3]), None));
    assert!(refused("t", 2, Some(vec![u64::MAX, 1, 2]), None));
    // 32-bit offsets do not reach it.
    let far = error(options.offsets(Offsets::Small), "t", 2, Some(vec![0, 1, 1 << 31]), None).unwrap();
    assert!(matches!(&far, Error::SmallOffsets { column, len: 0x8000_0000 } if column == "t"), "{far}");
}
