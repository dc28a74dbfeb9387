//! Every array of the fixtures: to a file of each format, into a new array, and back.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests: a panic is a failure")]

#[path = "../../tdb-arrow/tests/arrow/common.rs"]
mod common;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::{Array as _, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use common::{fixture, fixtures, open, whole, written};
use tdb_array::schema::{ArraySchema, Dimension, Filter, FormatVersion};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Cells, Column, OpenOptions, WriteOptions};
use tdb_arrow::{Enumerations, Options, SchemaOptions, Text, enumerations_of, schema_of};
use tdb_convert::{Error, Export, Format, NewArray, Result, SinkOptions, Source, Subarray, append};

/// The name that libtiledb 1.x gave to an attribute without a name; it has been reserved since.
const OLD_ANONYMOUS: &str = "__attr";
/// An array with a cell at NaN, which libtiledb writes and tdb rejects.
const NAN: &str = "nan_coordinates";
const MEMORY: u64 = 64 << 20;

/// A file of everything that was written to an array.
fn file(array: &Array, format: Format, options: Options) -> Result<Vec<u8>> {
    let part = Subarray::written(array);
    let read = part.as_ref().map(|part| part.read(array)).or_else(|| whole(array)).unwrap();
    let mut file = Vec::new();
    let small = SinkOptions::new().row_group(1 << 12);
    Export::new(read, part.as_ref(), options)?.write(format, &mut file, &small)?;
    Ok(file)
}

/// A new array of a file.
fn array_of(format: Format, file: Vec<u8>) -> Result<(ArraySchema, Array)> {
    let mut source = Source::open(format, Cursor::new(file), "the file", MEMORY)?;
    let new = NewArray::stored(source.schema())?;
    let storage = MemoryStorage::default();
    new.create(WriteOptions::new()).create_storage(&storage, new.schema())?;
    let writer = WriteOptions::new().threads(1).any_codes().open_storage(storage.clone())?;
    append(&writer, &new.mapping()?, &mut source, new.subarray(), 64 << 20)?;
    Ok((new.schema().clone(), OpenOptions::new().threads(1).open_storage(storage)?))
}

/// The schema that the array would have if it were new: the current version, with names as they are
/// now.
fn todays(schema: &ArraySchema) -> ArraySchema {
    let mut schema = schema.clone();
    schema.version = FormatVersion::CURRENT;
    let old = schema.attributes.iter_mut().filter(|attribute| attribute.name == OLD_ANONYMOUS);
    old.for_each(|attribute| attribute.name.clear());
    schema
}

/// The bytes of the cells of a column, `None` for null ones.
fn cells(column: &Column, rows: usize) -> Vec<Option<&[u8]>> {
    (0..rows).map(|row| column.cell(row).filter(|_| !column.is_null(row))).collect()
}

/// Asserts that all cells are the same; what is under a null only if the format keeps it.
fn assert_same(mine: &Cells, theirs: &Cells, format: Format, what: &str) {
    if format != Format::Parquet {
        return common::assert_same(mine, theirs, what);
    }
    assert_eq!(mine.len(), theirs.len(), "{what}");
    assert_eq!(mine.columns().len(), theirs.columns().len(), "{what}");
    for (mine, theirs) in mine.columns().iter().zip(theirs.columns()) {
        let rows = theirs.validity().map_or(usize::MAX, <[u8]>::len).min(1 << 20);
        assert_eq!(mine.validity(), theirs.validity(), "{what}: {}", theirs.name);
        if theirs.validity().is_none() {
            assert_eq!(mine.offsets(), theirs.offsets(), "{what}: {}", theirs.name);
            assert_eq!(mine.bytes(), theirs.bytes(), "{what}: {}", theirs.name);
        } else {
            assert_eq!(cells(mine, rows), cells(theirs, rows), "{what}: {}", theirs.name);
        }
    }
}

/// Why an array is not written again.
fn excuse(id: &str, array: &Array, cells: &Cells) -> Option<&'static str> {
    if cells.is_empty() {
        return Some("nothing was written");
    }
    let lossy = |filter: &Filter| matches!(filter, Filter::WebP(options) if !options.lossless);
    let filters = array.schema().attributes.iter().flat_map(|attribute| &attribute.filters.filters);
    if filters.into_iter().any(lossy) {
        return Some("lossy images are others each time");
    }
    id.ends_with(NAN).then_some("a coordinate is no number, which tdb does not write")
}

fn every_array_comes_back(format: Format) {
    let (mut same, mut other, mut excused) =
        (0, BTreeMap::<_, Vec<String>>::new(), BTreeMap::<_, usize>::new());
    for (id, folder, key) in fixtures() {
        let array = open(&folder, key.as_deref());
        let Some(theirs) = whole(&array).map(|read| read.collect().unwrap()) else {
            *excused.entry("nothing was written").or_default() += 1;
            continue;
        };
        if let Some(excuse) = excuse(&id, &array, &theirs) {
            *excused.entry(excuse).or_default() += 1;
            continue;
        }
        let written = match file(&array, format, Options::new()) {
            Err(Error::Arrow(error)) if matches!(*error, tdb_arrow::Error::NotUtf8 { .. }) => {
                other.entry("text as bytes").or_default().push(id.clone());
                file(&array, format, Options::new().text(Text::Binary))
            }
            Err(Error::Enumerated { .. }) => {
                other.entry("enumerations as numbers").or_default().push(id.clone());
                file(&array, format, Options::new().enumerations(Enumerations::Numbers))
            }
            written => written,
        };
        let written = written.unwrap_or_else(|error| panic!("{id}: {error}"));
        let (schema, copy) = array_of(format, written).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(schema, todays(array.schema()), "{id}: the schema comes back as it was");
        for entry in &array.schema().enumerations {
            let (mine, theirs) =
                (copy.enumeration(&entry.name).unwrap(), array.enumeration(&entry.name).unwrap());
            assert_eq!(mine, theirs, "{id}: the enumeration comes back as it was");
        }
        assert_same(&whole(&copy).unwrap().collect().unwrap(), &theirs, format, &id);
        same += 1;
    }
    println!("{format:?}: {same} the same; {other:?}; {excused:?}");
    let excused: usize = excused.values().sum();
    assert!(same > 500 && excused * 20 < same, "{same} came back, {excused} were excused");
    let text = other.remove("text as bytes").unwrap_or_default();
    assert!(text.iter().all(|id| id.contains("sparse_bytes_")), "text everywhere else: {text:?}");
    let numbers = other.remove("enumerations as numbers").unwrap_or_default();
    assert!(format == Format::Parquet || numbers.is_empty(), "{numbers:?}");
}

#[test]
fn every_array_comes_back_from_parquet_as_it_was() {
    every_array_comes_back(Format::Parquet);
}

#[test]
fn every_array_comes_back_from_an_arrow_file_as_it_was() {
    every_array_comes_back(Format::Arrow);
}

#[test]
fn every_array_comes_back_from_an_arrow_stream_as_it_was() {
    every_array_comes_back(Format::ArrowStream);
}

#[test]
fn files_say_for_everyone_whether_the_values_of_an_enumeration_have_an_order() {
    let labels = StringArray::from(vec!["low", "high"]);
    for ordered in [true, false] {
        let keys = Int8Array::from(vec![Some(1), Some(0), None]);
        let column = DictionaryArray::new(keys, Arc::new(labels.clone()));
        let field = Field::new("a", column.data_type().clone(), true).with_dict_is_ordered(ordered);
        let schema = Schema::new(vec![Field::new("x", DataType::Int64, false), field]);
        let x = Arc::new(Int64Array::from(vec![0, 1, 2]));
        let batch = RecordBatch::try_new(Arc::new(schema), vec![x, Arc::new(column)]).unwrap();
        let options = SchemaOptions::sparse().dimension(Dimension::new("x", 0i64..=9)).enumerations();
        let schema = schema_of(batch.schema_ref(), &options).unwrap();
        let array = written(&batch, &schema, enumerations_of(&batch, &schema).unwrap()).unwrap();
        assert_eq!(array.enumeration("a").unwrap().unwrap().ordered, ordered);
        for format in Format::ALL {
            let written = file(&array, format, Options::new()).unwrap();
            let source = Source::open(format, Cursor::new(written.clone()), "the file", MEMORY).unwrap();
            let field = source.schema().field_with_name("a").unwrap();
            assert_eq!(field.dict_is_ordered(), Some(ordered), "{format:?}");
            let (_, copy) = array_of(format, written).unwrap();
            assert_eq!(copy.enumeration("a").unwrap().unwrap().ordered, ordered, "{format:?}");
        }
    }
}

#[test]
fn a_part_of_a_dense_array_keeps_its_place() {
    let array = fixture("quickstart");
    let ranges = vec![
        tdb_array::schema::Range::new(2i32.to_le_bytes(), 3i32.to_le_bytes()),
        tdb_array::schema::Range::new(3i32.to_le_bytes(), 4i32.to_le_bytes()),
    ];
    let part = Subarray::new(array.schema(), ranges.clone());
    for format in Format::ALL {
        let mut written = Vec::new();
        let export = Export::new(part.read(&array), Some(&part), Options::new()).unwrap();
        assert_eq!(export.write(format, &mut written, &SinkOptions::new()).unwrap(), 4);
        let (_, copy) = array_of(format, written).unwrap();
        assert_eq!(copy.bounds().unwrap(), ranges);
        assert_eq!(copy.read().collect().unwrap().field("a").unwrap().values::<i32>().unwrap()[6..8], [7, 8]);
    }
}

#[test]
fn rows_of_a_dense_array_that_were_sorted_are_not_taken_for_its_cells() {
    let array = fixture("quickstart");
    let part = Subarray::written(&array).unwrap();
    let export = Export::new(part.read(&array), Some(&part), Options::new()).unwrap();
    let mut written = Vec::new();
    export.write(Format::Arrow, &mut written, &SinkOptions::new()).unwrap();
    let mut source = Source::open(Format::Arrow, Cursor::new(written), "sorted.arrow", MEMORY).unwrap();
    let (schema, batch) = (source.schema().clone(), source.next().unwrap().unwrap());
    let halves = [batch.slice(8, 8), batch.slice(0, 8)];
    let mut moved = Vec::new();
    let mut rows = tdb_convert::sink(Format::Arrow, &mut moved, &schema, &SinkOptions::new()).unwrap();
    halves.iter().for_each(|half| rows.write(half).unwrap());
    rows.finish().unwrap();
    let error = array_of(Format::Arrow, moved).unwrap_err();
    assert!(matches!(&error, Error::Moved { row: 0, dimension, .. } if dimension == "rows"), "{error}");
}

#[test]
fn only_the_table_at_its_end_says_where_the_messages_of_an_arrow_file_are() {
    let array = fixture("enumeration");
    let plain = file(&array, Format::Arrow, Options::new()).unwrap();
    let length = u32::from_le_bytes(plain[12..16].try_into().unwrap());
    // Polars writes something else in place of the schema, which is in the table, too.
    let mut other = plain.clone();
    other[8..16 + usize::try_from(length).unwrap()].fill(0xab);
    let (schema, read) = array_of(Format::Arrow, plain).unwrap();
    let (other_schema, other_read) = array_of(Format::Arrow, other.clone()).unwrap();
    assert_eq!(schema.attributes, other_schema.attributes);
    let cells = |array: &Array| whole(array).unwrap().collect().unwrap();
    let columns = |array: &Array| format!("{:?}", cells(array).columns());
    assert_eq!(columns(&read), columns(&other_read));
    // A table that is cut, or whose length is wrong.
    let end = other.len() - 10;
    other[end..end + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = array_of(Format::Arrow, other).unwrap_err().to_string();
    assert!(error.contains("table of messages is too long"), "{error}");
}
