//! Record batches of every type, into arrays and back: also slices, nulls, dictionaries, and what
//! is rejected.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Int32Builder, LargeListBuilder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use tdb_array::Layout;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_arrow::types::{arrow_rows, rows};
use tdb_arrow::{
    Days, Enumerations, Error, Mapping, Offsets, Options, SchemaOptions, enumerations_of, schema_of,
};

use crate::common::{sparse, written};

/// A batch of a column `a`, and a column of keys that keep its order.
fn batch(column: impl Array + 'static, nullable: bool) -> RecordBatch {
    let keys: StringArray = (0..column.len()).map(|row| Some(format!("{row:04}"))).collect();
    let columns: [(&str, ArrayRef, bool); 2] =
        [("key", Arc::new(keys), false), ("a", Arc::new(column), nullable)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn inferred(batch: &RecordBatch) -> Result<ArraySchema, Error> {
    schema_of(batch.schema_ref(), &SchemaOptions::sparse().dimension(Dimension::string("key")))
}

/// Writes the batch into a new array, and reads column `a` of it.
fn through(batch: &RecordBatch, options: Options) -> Result<ArrayRef, Error> {
    let schema = inferred(batch)?;
    let array = written(batch, &schema, enumerations_of(batch, &schema)?)?;
    let cells = array.read().fields(["a"]).order(Layout::RowMajor).collect()?;
    Ok(Mapping::of(&array, options)?.record_batch(cells)?.column(0).clone())
}

/// Asserts that a column is read back as `expected`.
fn comes_back(given: impl Array + 'static, expected: &dyn Array) {
    let nullable = given.is_nullable();
    let given = batch(given, nullable);
    let back = through(&given, Options::new()).unwrap();
    assert_eq!(&back.to_data(), &expected.to_data());
}

fn same(column: impl Array + Clone + 'static) {
    comes_back(column.clone(), &column);
}

#[test]
fn numbers_truth_values_dates_and_times_come_back_as_they_were() {
    same(Int8Array::from(vec![Some(-128), None, Some(127)]));
    same(UInt8Array::from(vec![0, 255]));
    same(Int16Array::from(vec![i16::MIN, 7]));
    same(UInt16Array::from(vec![u16::MAX, 7]));
    same(Int32Array::from(vec![Some(i32::MIN), None]));
    same(UInt32Array::from(vec![u32::MAX, 7]));
    same(Int64Array::from(vec![i64::MIN, 7]));
    same(UInt64Array::from(vec![u64::MAX, 7]));
    same(Float32Array::from(vec![Some(f32::MAX), None, Some(-0.0)]));
    same(Float64Array::from(vec![f64::NEG_INFINITY, 0.5]));
    same(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]));
    same(TimestampSecondArray::from(vec![i64::MIN, 7]));
    same(TimestampMillisecondArray::from(vec![i64::MAX, 7]));
    same(TimestampMicrosecondArray::from(vec![Some(1), None]));
    same(TimestampNanosecondArray::from(vec![-1, 7]));
    same(DurationSecondArray::from(vec![-1, 7]));
    same(DurationMillisecondArray::from(vec![-1, 7]));
    same(DurationMicrosecondArray::from(vec![-1, 7]));
    same(DurationNanosecondArray::from(vec![Some(-1), None]));
}

#[test]
fn what_the_format_stores_otherwise_comes_back_as_that() {
    let instants = [5, -6];
    let plain = TimestampNanosecondArray::from(instants.to_vec());
    comes_back(plain.clone().with_timezone("UTC"), &plain);
    comes_back(plain.clone().with_timezone("Europe/Rome"), &plain);
    comes_back(Date64Array::from(instants.to_vec()), &TimestampMillisecondArray::from(instants.to_vec()));
    comes_back(
        Time64MicrosecondArray::from(instants.to_vec()),
        &DurationMicrosecondArray::from(instants.to_vec()),
    );
    comes_back(
        Time64NanosecondArray::from(instants.to_vec()),
        &DurationNanosecondArray::from(instants.to_vec()),
    );
    comes_back(Time32SecondArray::from(vec![5, -6]), &DurationSecondArray::from(instants.to_vec()));
    comes_back(Time32MillisecondArray::from(vec![5, -6]), &DurationMillisecondArray::from(instants.to_vec()));
    comes_back(Date32Array::from(vec![5, -6]), &Int64Array::from(instants.to_vec()));
    let texts = vec![Some("a"), None, Some(""), Some("grüße, longer than twelve bytes")];
    let large = LargeStringArray::from(texts.clone());
    comes_back(StringArray::from(texts.clone()), &large);
    comes_back(StringViewArray::from(texts), &large);
    same(large);
    let blobs: Vec<&[u8]> = vec![b"\xff", b"", b"a blob that is longer than twelve"];
    let large = LargeBinaryArray::from(blobs.clone());
    comes_back(BinaryArray::from(blobs.clone()), &large);
    comes_back(BinaryViewArray::from(blobs), &large);
    same(large);
    same(FixedSizeBinaryArray::try_from_iter([[1u8, 2, 3], [4, 5, 6]].into_iter()).unwrap());
}

/// Three cells of lists: with values, empty, null.
fn lists<O: OffsetSizeTrait>(nullable_items: bool) -> GenericListArray<O> {
    let item = Field::new("item", DataType::Int32, nullable_items);
    let mut lists = builder::GenericListBuilder::<O, _>::new(Int32Builder::new()).with_field(item);
    lists.values().append_slice(&[1, 2, 3]);
    lists.append(true);
    lists.append(true);
    lists.append(false);
    lists.finish()
}

#[test]
fn lists_of_numbers_are_cells_of_several_values() {
    let expected = lists::<i64>(false);
    comes_back(lists::<i32>(true), &expected);
    comes_back(lists::<i64>(true), &expected);
    let fixed = |nullable_items| {
        let item = Field::new("item", DataType::Int32, nullable_items);
        let mut lists = FixedSizeListBuilder::new(Int32Builder::new(), 2).with_field(item);
        for value in 0..6 {
            lists.values().append_value(value);
        }
        (0..3).for_each(|row| lists.append(row != 1));
        lists.finish()
    };
    comes_back(fixed(true), &fixed(false));
    let back = through(&batch(fixed(true), true), Options::new()).unwrap();
    assert_eq!(back.as_fixed_size_list().value_length(), 2);
}

#[test]
fn a_null_among_the_values_of_a_cell_is_refused_with_its_row_but_not_in_a_cell_that_is_null() {
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1)]);
    lists.append_value([Some(1), None]);
    let error = through(&batch(lists.finish(), true), Options::new()).unwrap_err();
    assert!(matches!(error, Error::NullItem { row: 1, .. }), "{error}");
    let mut fixed = FixedSizeListBuilder::new(Int32Builder::new(), 2);
    fixed.values().append_nulls(2);
    fixed.append(false);
    fixed.values().append_slice(&[1, 2]);
    fixed.append(true);
    let back = through(&batch(fixed.finish(), true), Options::new()).unwrap();
    assert!(back.is_null(0) && back.is_valid(1));
}

#[test]
fn slices_are_written_as_what_they_show() {
    let check = |column: ArrayRef, expected: ArrayRef| {
        let whole = batch(column, true);
        let back = through(&whole.slice(2, 3), Options::new()).unwrap();
        assert_eq!(back.to_data(), expected.slice(2, 3).to_data(), "{}", expected.data_type());
    };
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), None, Some(5), Some(6)]));
    check(numbers.clone(), numbers);
    let bits: ArrayRef = Arc::new(BooleanArray::from(vec![true, true, false, true, false, true]));
    check(bits.clone(), bits);
    let texts = vec![Some("one"), Some("two"), Some("three"), None, Some("five"), Some("six")];
    let large: ArrayRef = Arc::new(LargeStringArray::from(texts.clone()));
    check(Arc::new(StringArray::from(texts.clone())), large.clone());
    check(Arc::new(StringViewArray::from(texts.clone())), large.clone());
    check(large.clone(), large.clone());
    let dictionary: DictionaryArray<Int8Type> = texts.into_iter().collect();
    check(Arc::new(dictionary), large);
    let fixed: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter((0u8..6).map(|n| [n, n])).unwrap());
    check(fixed.clone(), fixed);
    let item = Field::new("item", DataType::Int32, false);
    let mut lists = LargeListBuilder::new(Int32Builder::new()).with_field(item.clone());
    let mut pairs = FixedSizeListBuilder::new(Int32Builder::new(), 2).with_field(item);
    for row in 0..6 {
        lists.append_value((0..row).map(Some));
        pairs.values().append_slice(&[row, -row]);
        pairs.append(row != 3);
    }
    let (lists, pairs): (ArrayRef, ArrayRef) = (Arc::new(lists.finish()), Arc::new(pairs.finish()));
    check(lists.clone(), lists);
    check(pairs.clone(), pairs);
    let days: ArrayRef = Arc::new(Date32Array::from((0..6).collect::<Vec<_>>()));
    check(days, Arc::new(Int64Array::from((0..6).collect::<Vec<_>>())));
}

#[test]
fn days_of_32_bits_come_back_on_request_and_one_that_does_not_fit_is_named() {
    let days = Date32Array::from(vec![Some(5), None, Some(-6)]);
    let options = Options::new().days(Days::Date32);
    let back = through(&batch(days.clone(), true), options).unwrap();
    assert_eq!(back.as_primitive::<Date32Type>(), &days);
    let schema = sparse(vec![Attribute::new("a", Datatype::DatetimeDay, CellValNum::ONE)]);
    let far = batch(Int64Array::from(vec![0, i64::MIN]), false);
    let array = written(&far, &schema, vec![]).unwrap();
    let cells = array.read().fields(["a"]).order(Layout::RowMajor).collect().unwrap();
    let error = Mapping::of(&array, options).unwrap().record_batch(cells).unwrap_err();
    assert!(matches!(error, Error::DayRange { index: 1, day: i64::MIN, .. }), "{error}");
}

#[test]
fn small_offsets_are_those_of_32_bits() {
    let texts = StringArray::from(vec![Some("a"), None, Some("bc")]);
    let options = Options::new().offsets(Offsets::Small);
    let back = through(&batch(texts.clone(), true), options).unwrap();
    assert_eq!(back.as_string::<i32>(), &texts);
    let back = through(&batch(lists::<i32>(true), true), options).unwrap();
    assert_eq!(back.to_data(), lists::<i32>(false).to_data());
}

#[test]
fn a_null_in_a_field_that_has_none_is_refused_with_its_row() {
    let schema = sparse(vec![Attribute::new("a", Datatype::Int32, CellValNum::ONE)]);
    let nulls = batch(Int32Array::from(vec![Some(1), Some(2), None]), true);
    let error = written(&nulls, &schema, vec![]).unwrap_err();
    assert!(matches!(&error, Error::Null { row: 2, column } if column == "a"), "{error}");
    let keys = DictionaryArray::<Int8Type>::from_iter([Some("x"), None]);
    let schema = sparse(vec![Attribute::new("a", Datatype::StringUtf8, CellValNum::Var)]);
    assert!(matches!(written(&batch(keys, true), &schema, vec![]), Err(Error::Null { row: 1, .. })));
}

#[test]
fn columns_of_another_type_or_without_a_field_are_refused_by_name() {
    let schema = sparse(vec![Attribute::new("a", Datatype::Int32, CellValNum::ONE)]);
    for column in [
        Arc::new(Int64Array::from(vec![1])) as ArrayRef,
        // The same bits would be a different number.
        Arc::new(UInt32Array::from(vec![u32::MAX])),
        Arc::new(Float32Array::from(vec![1.0])),
        Arc::new(StringArray::from(vec!["1"])),
        Arc::new(Date32Array::from(vec![1])),
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(lists::<i32>(true).slice(0, 1)),
    ] {
        let given = column.data_type().to_string();
        let error = written(&batch(column, true), &schema, vec![]).unwrap_err();
        let Error::WrongType { column, given: named, field, expected } = &error else { panic!("{error}") };
        assert_eq!(
            (column.as_str(), named, field.as_str(), expected.as_str()),
            ("a", &given, "INT32", "Int32")
        );
    }
    let decimal = Decimal128Array::from(vec![1]);
    let error = written(&batch(decimal, true), &schema, vec![]).unwrap_err();
    assert!(
        error.to_string().contains("Decimal128") && error.to_string().contains("cast it to Float64"),
        "{error}"
    );
    let nothing = written(&batch(NullArray::new(2), true), &schema, vec![]).unwrap_err();
    assert!(nothing.to_string().contains("of type Null"), "{nothing}");
    let runs = RunArray::try_new(&Int32Array::from(vec![2]), &Int32Array::from(vec![7])).unwrap();
    let runs = written(&batch(runs, false), &schema, vec![]).unwrap_err();
    assert!(matches!(&runs, Error::Refused { advice, .. } if advice.contains("expand it")), "{runs}");
    let other = sparse(vec![Attribute::new("b", Datatype::Int32, CellValNum::ONE)]);
    let error = written(&batch(Int32Array::from(vec![1]), false), &other, vec![]).unwrap_err();
    assert!(matches!(&error, Error::UnknownColumn { column } if column == "a"), "{error}");
}

#[test]
fn every_type_of_the_table_that_is_refused_is_refused_by_name_when_a_schema_is_inferred() {
    let (mut refused, mut taken) = (0, 0);
    for (data_type, expected) in arrow_rows() {
        let name = data_type.to_string();
        let fields = vec![Field::new("key", DataType::Utf8, false), Field::new("a", data_type, true)];
        let options = SchemaOptions::sparse().dimension(Dimension::string("key"));
        match (schema_of(&Schema::new(fields), &options), expected) {
            (Ok(schema), Ok((datatype, cell_val_num))) => {
                let attribute = schema.attribute("a").unwrap();
                assert_eq!((attribute.datatype, attribute.cell_val_num), (datatype, cell_val_num), "{name}");
                assert!(attribute.nullable);
                taken += 1;
            }
            (Err(Error::Refused { column, arrow, advice }), Err(expected)) => {
                assert_eq!((column.as_str(), arrow, advice), ("a", name, expected));
                refused += 1;
            }
            (other, expected) => panic!("{name}: {other:?}, not {expected:?}"),
        }
    }
    assert!(taken > 30 && refused > 8, "{taken} {refused}");
}

#[test]
fn every_datatype_goes_to_arrow_and_back_in_cells_of_every_kind() {
    for row in rows() {
        let kinds = [
            (CellValNum::ONE, row.one),
            (CellValNum::from_code(2).unwrap(), row.several),
            (CellValNum::Var, row.variable),
        ];
        for (cell_val_num, expected) in kinds {
            // The format has no cells of several ANY.
            let schema = ArraySchema::sparse()
                .dimension(Dimension::string("key"))
                .attribute(Attribute::new("a", row.datatype, cell_val_num).with_nulls())
                .build();
            let Ok(schema) = schema else { continue };
            let what = format!("{} {cell_val_num}", row.datatype);
            let mapping = Mapping::new(&schema, [], Options::new()).unwrap();
            let arrow = mapping.whole_arrow_schema().unwrap();
            assert_eq!(arrow.field(1).data_type(), &expected, "{what}");
            assert_eq!(schema_of(&arrow, &SchemaOptions::stored()).unwrap(), schema, "{what}");
            let nulls = new_null_array(&expected, 3);
            let back = written(&batch(nulls, true), &schema, vec![]).unwrap();
            let cells = back.read().fields(["a"]).collect().unwrap();
            let column = mapping.record_batch(cells).unwrap().column(0).clone();
            assert_eq!((column.data_type(), column.null_count()), (&expected, 3), "{what}");
            // The metadata of the field alone names the datatype too.
            let options = SchemaOptions::sparse().dimension(Dimension::string("key"));
            let again = schema_of(&arrow, &options).unwrap();
            assert_eq!(again.attribute("a"), schema.attribute("a"), "{what}");
        }
    }
}

#[test]
fn a_dictionary_becomes_an_enumeration_on_request_and_its_values_otherwise() {
    let colours: DictionaryArray<Int8Type> =
        [Some("red"), None, Some("blue"), Some("red")].into_iter().collect();
    let batch = batch(colours.clone(), true);
    let plain = through(&batch, Options::new()).unwrap();
    assert_eq!(plain.as_string::<i64>().value(3), "red");
    assert!(plain.is_null(1));
    let options = SchemaOptions::sparse().dimension(Dimension::string("key")).enumerations();
    let schema = schema_of(batch.schema_ref(), &options).unwrap();
    assert_eq!(schema.attribute("a").unwrap().enumeration.as_deref(), Some("a"));
    let array = written(&batch, &schema, enumerations_of(&batch, &schema).unwrap()).unwrap();
    let read = |options| {
        let cells = array.read().fields(["a"]).order(Layout::RowMajor).collect().unwrap();
        Mapping::of(&array, options).unwrap().record_batch(cells).unwrap()
    };
    let back = read(Options::new());
    let back = back.column(0).as_dictionary::<Int8Type>();
    assert_eq!(back.keys(), colours.keys());
    assert_eq!(back.values().as_string::<i64>().value(1), "blue");
    let numbers = read(Options::new().enumerations(Enumerations::Numbers));
    assert_eq!(numbers.column(0).as_primitive::<Int8Type>(), colours.keys());
}

/// An array with an enumerated attribute that has three colours as values, and a mapping of it.
fn coloured(nullable: bool) -> (ArraySchema, Mapping) {
    let colours: DictionaryArray<Int8Type> = ["red", "green", "blue"].into_iter().collect();
    let batch = batch(colours, nullable);
    let options = SchemaOptions::sparse().dimension(Dimension::string("key")).enumerations();
    let schema = schema_of(batch.schema_ref(), &options).unwrap();
    let enumerations = enumerations_of(&batch, &schema).unwrap();
    let mapping = Mapping::new(&schema, enumerations, Options::new()).unwrap();
    (schema, mapping)
}

#[test]
fn dictionaries_with_other_values_and_plain_texts_are_looked_up_in_the_enumeration() {
    let (_, mapping) = coloured(true);
    let numbers = |column: ArrayRef| {
        let cells =
            mapping.write_batch(&batch(column, true)).map(|cells| format!("{:?}", cells.columns()[1]));
        cells.map_err(|error| error.to_string())
    };
    let expected = numbers(Arc::new(Int8Array::from(vec![Some(2), None, Some(0)]))).unwrap();
    let other: DictionaryArray<UInt32Type> = [Some("blue"), None, Some("red")].into_iter().collect();
    assert_eq!(numbers(Arc::new(other)).unwrap(), expected);
    let texts = StringArray::from(vec![Some("blue"), None, Some("red")]);
    assert_eq!(numbers(Arc::new(texts)).unwrap(), expected);
    let error = numbers(Arc::new(StringArray::from(vec!["red", "mauve"]))).unwrap_err();
    assert!(
        error.contains("row 1") && error.contains("enumeration \"a\" does not have this value"),
        "{error}"
    );
    let unknown: DictionaryArray<Int8Type> = [Some("red"), Some("mauve")].into_iter().collect();
    assert!(numbers(Arc::new(unknown)).unwrap_err().contains("row 1"));
}

#[test]
fn a_number_that_an_enumeration_does_not_have_is_null_in_arrow_and_comes_back_as_it_was() {
    let (schema, mapping) = coloured(false);
    let enumerations = {
        let colours: DictionaryArray<Int8Type> = ["red", "green", "blue"].into_iter().collect();
        enumerations_of(&batch(colours, false), &schema).unwrap()
    };
    let numbers = batch(Int8Array::from(vec![1, -7, 3, 0]), false);
    let array = written(&numbers, &schema, enumerations.clone()).unwrap();
    let read = |array: &tdb_array::Array| {
        array.read().fields(["key", "a"]).order(Layout::RowMajor).collect().unwrap()
    };
    let arrow = Mapping::of(&array, Options::new()).unwrap().record_batch(read(&array)).unwrap();
    let nulls: Vec<bool> = (0..4).map(|row| arrow.column(1).is_null(row)).collect();
    assert_eq!(nulls, [false, true, true, false]);
    let again = written(&arrow, &schema, enumerations).unwrap();
    assert_eq!(read(&again).field("a").unwrap().values::<i8>().unwrap(), [1, -7, 3, 0]);
    // A null over a number of the enumeration is not allowed.
    let null: DictionaryArray<Int8Type> = DictionaryArray::new(
        Int8Array::from(vec![Some(0), None]),
        Arc::new(LargeStringArray::from(vec!["red", "green", "blue"])),
    );
    assert!(matches!(mapping.write_batch(&batch(null, true)), Err(Error::Null { row: 1, .. })));
}

#[test]
fn a_changed_batch_of_an_array_keeps_what_is_known_of_its_columns() {
    let array = crate::common::fixture("quickstart");
    let mapping = Mapping::of(&array, Options::new()).unwrap();
    let arrow = mapping.whole_arrow_schema().unwrap();
    let mut fields: Vec<Field> = arrow.fields().iter().map(|field| field.as_ref().clone()).collect();
    fields.push(Field::new("twice", DataType::Timestamp(TimeUnit::Second, None), true));
    let more = Schema::new_with_metadata(fields.clone(), arrow.metadata().clone());
    let schema = schema_of(&more, &SchemaOptions::stored()).unwrap();
    assert_eq!(schema.domain, array.schema().domain);
    assert_eq!(schema.attributes.len(), 2);
    assert_eq!(schema.attribute("a"), array.schema().attribute("a"));
    assert_eq!(schema.attribute("twice").unwrap().datatype, Datatype::DatetimeSec);
    // With another type it becomes another attribute; a dense array's dimensions need no column.
    let other = vec![Field::new("a", DataType::Float64, false)];
    let other = Schema::new_with_metadata(other, arrow.metadata().clone());
    let schema = schema_of(&other, &SchemaOptions::stored()).unwrap();
    assert_eq!(schema.attribute("a").unwrap().datatype, Datatype::Float64);
}

#[test]
fn schemas_without_dimensions_and_damaged_metadata_are_refused() {
    let plain = Schema::new(vec![Field::new("a", DataType::Int32, false)]);
    assert!(matches!(schema_of(&plain, &SchemaOptions::stored()), Err(Error::NoDimensions)));
    assert!(matches!(schema_of(&plain, &SchemaOptions::sparse()), Err(Error::NoDimensions)));
    let options = SchemaOptions::sparse().dimension(Dimension::string("key"));
    assert!(matches!(schema_of(&plain, &options), Err(Error::UnknownColumn { .. })));
    let options = SchemaOptions::sparse().dimension(Dimension::string("a"));
    assert!(matches!(schema_of(&plain, &options), Err(Error::WrongType { .. })));
    for damaged in ["zz", "0", "16000000", "ä"] {
        let schema = plain.clone().with_metadata([("tdb:schema".to_owned(), damaged.to_owned())].into());
        let error = schema_of(&schema, &SchemaOptions::stored()).unwrap_err();
        assert!(matches!(&error, Error::Metadata { key, .. } if key == "tdb:schema"), "{damaged}: {error}");
    }
    let field = |key: &str, value: &str| {
        let said = [("tdb:datatype", "INT32"), ("tdb:cell_val_num", "1"), (key, value)];
        let said = said.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        let fields = vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("a", DataType::Int32, false).with_metadata(said.collect()),
        ];
        schema_of(&Schema::new(fields), &SchemaOptions::sparse().dimension(Dimension::string("key")))
    };
    assert!(field("tdb:datatype", "INT32").is_ok());
    assert!(matches!(field("tdb:datatype", "INT33"), Err(Error::Metadata { .. })));
    assert!(matches!(field("tdb:cell_val_num", "0"), Err(Error::Metadata { .. })));
    // Metadata that no longer fits the column is ignored.
    assert_eq!(field("tdb:datatype", "FLOAT64").unwrap().attribute("a").unwrap().datatype, Datatype::Int32);
}

#[test]
fn numbers_of_another_sign_are_refused_and_plain_numbers_fit_dates_code_units_and_bytes() {
    let attribute = |datatype| sparse(vec![Attribute::new("a", datatype, CellValNum::ONE)]);
    let fits = |datatype, column: ArrayRef| written(&batch(column, false), &attribute(datatype), vec![]);
    let refused = |datatype, column| matches!(fits(datatype, column), Err(Error::WrongType { .. }));
    assert!(refused(Datatype::Int8, Arc::new(UInt8Array::from(vec![200]))));
    assert!(refused(Datatype::Uint8, Arc::new(Int8Array::from(vec![-1]))));
    assert!(refused(Datatype::Bool, Arc::new(Int8Array::from(vec![1]))));
    assert!(refused(Datatype::DatetimeNs, Arc::new(UInt64Array::from(vec![1]))));
    assert!(refused(Datatype::DatetimeNs, Arc::new(TimestampSecondArray::from(vec![1]))));
    assert!(fits(Datatype::DatetimeNs, Arc::new(Int64Array::from(vec![1]))).is_ok());
    assert!(fits(Datatype::StringUtf16, Arc::new(UInt16Array::from(vec![1]))).is_ok());
    assert!(fits(Datatype::Char, Arc::new(Int8Array::from(vec![1]))).is_ok());
    assert!(fits(Datatype::Blob, Arc::new(UInt8Array::from(vec![255]))).is_ok());
}

#[test]
fn columns_stay_where_they_are_on_their_way_into_an_array() {
    let numbers = Int32Array::from(vec![1, 2]);
    let texts = LargeStringArray::from(vec!["a", "bc"]);
    let addresses = [numbers.values().as_ptr() as usize, texts.values().as_ptr() as usize];
    let offsets = texts.offsets().as_ptr() as usize;
    let columns: [(&str, ArrayRef); 2] = [("key", Arc::new(texts)), ("a", Arc::new(numbers))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let schema = sparse(vec![Attribute::new("a", Datatype::Int32, CellValNum::ONE)]);
    let cells = Mapping::new(&schema, [], Options::new()).unwrap().write_batch(&batch).unwrap();
    let [key, a] = &cells.columns()[..] else { panic!("two columns") };
    assert_eq!([a.values().as_ptr() as usize, key.values().as_ptr() as usize], addresses);
    assert_eq!(key.offsets().unwrap().as_ptr() as usize, offsets);
}
