//! Every array of the fixtures: to Arrow, into a new array, and back.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::collections::BTreeMap;

use arrow_array::{Array as _, RecordBatch};
use arrow_buffer::Buffer;
use tdb_array::schema::{ArraySchema, ArrayType, Filter, FormatVersion};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Cells, Layout, OpenOptions, WriteOptions};
use tdb_arrow::{Error, Mapping, Options, SchemaOptions, Text, enumerations_of, schema_of};

use crate::common::{assert_same, fixtures, open, whole};

/// The name that libtiledb 1.x gave to an attribute without a name; it has been reserved since.
const OLD_ANONYMOUS: &str = "__attr";
/// An array with a cell at NaN, which libtiledb writes and tdb rejects.
const NAN: &str = "nan_coordinates";

/// The addresses of the columns of cells: values, and offsets.
fn addresses(cells: &Cells) -> Vec<(*const u8, Option<*const u8>)> {
    let offsets = |column: &tdb_array::Column| column.offsets().map(|offsets| offsets.as_ptr().cast());
    cells.columns().iter().map(|column| (column.bytes().as_ptr(), offsets(column))).collect()
}

/// Numbers of buffers (values, offsets) that stayed at their address, and of those that did not.
#[derive(Debug, Default)]
struct Copies {
    kept: usize,
    copied: usize,
}

/// Converts cells to a batch, and asserts that only columns that the table of types marks as copied
/// were moved.
fn to_arrow(mapping: &Mapping, cells: Cells, id: &str, copies: &mut Copies) -> Result<RecordBatch, Error> {
    let before = addresses(&cells);
    let bools: Vec<bool> =
        cells.columns().iter().map(|column| column.datatype == tdb_array::schema::Datatype::Bool).collect();
    let batch = mapping.record_batch(cells)?;
    for (((values, offsets), column), is_bool) in before.into_iter().zip(batch.columns()).zip(bools) {
        let data = column.to_data();
        let own: Vec<*const u8> = data.buffers().iter().map(Buffer::as_ptr).collect();
        let is_dictionary = matches!(data.data_type(), arrow_schema::DataType::Dictionary(..));
        let child = data.child_data().first().filter(|_| !is_dictionary);
        let child = child.and_then(|data| data.buffers().first()).map(Buffer::as_ptr);
        if column.is_empty() {
            continue;
        }
        for address in offsets.into_iter().chain([values]) {
            let kept = own.iter().chain(&child).any(|own| *own == address);
            // Of the values of `BOOL`, eight become a byte; their offsets stay.
            let packed = is_bool && address == values;
            assert!(kept || packed, "{id}: {} was copied", column.data_type());
            *(if kept { &mut copies.kept } else { &mut copies.copied }) += 1;
        }
    }
    Ok(batch)
}

/// Converts a batch to cells of its array, and asserts that values, and the offsets of texts, are
/// those of the batch.
fn from_arrow(mapping: &Mapping, batch: &RecordBatch, id: &str, copies: &mut Copies) {
    let cells = mapping.write_batch(batch).unwrap();
    let fields = batch.schema_ref().fields().iter();
    for ((given, column), field) in cells.columns().iter().zip(batch.columns()).zip(fields) {
        let data = column.to_data();
        if column.is_empty() {
            continue;
        }
        let is_dictionary = matches!(data.data_type(), arrow_schema::DataType::Dictionary(..));
        let children = data.child_data().iter().filter(|_| !is_dictionary);
        let buffers = data.buffers().iter().chain(children.flat_map(arrow_data::ArrayData::buffers));
        let own: Vec<*const u8> = buffers.map(Buffer::as_ptr).collect();
        let is_list = matches!(data.data_type(), arrow_schema::DataType::LargeList(_));
        let is_bool =
            mapping.array_schema().field(field.name()).unwrap().datatype == tdb_array::schema::Datatype::Bool;
        let offsets = given.offsets().map(|offsets| (offsets.as_ptr().cast::<u8>(), is_list));
        for (address, may_be_copied) in offsets.into_iter().chain([(given.values().as_ptr(), is_bool)]) {
            let kept = own.contains(&address);
            assert!(kept || may_be_copied, "{id}: {} was copied into the array", column.data_type());
            *(if kept { &mut copies.kept } else { &mut copies.copied }) += 1;
        }
    }
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

/// The batch with the names of the [`todays`] schema.
fn renamed(batch: &RecordBatch) -> RecordBatch {
    let fields = batch.schema_ref().fields().iter().map(|field| match field.name().as_str() {
        OLD_ANONYMOUS => field.as_ref().clone().with_name(""),
        _ => field.as_ref().clone(),
    });
    let schema = arrow_schema::Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        batch.schema_ref().metadata().clone(),
    );
    RecordBatch::try_new(schema.into(), batch.columns().to_vec()).unwrap()
}

/// Writes a batch to a new array: in two slices if it is sparse, so that offsets do not begin at 0.
fn write(id: &str, array: &Array, batch: &RecordBatch) -> Result<Array, Error> {
    let stored = schema_of(batch.schema_ref(), &SchemaOptions::stored())?;
    assert_eq!(&stored, array.schema(), "{id}: the schema comes back as it was");
    let schema = todays(&stored);
    let mut enumerations = enumerations_of(batch, &stored)?;
    for entry in &schema.enumerations {
        let original = array.enumeration(&entry.name)?.unwrap();
        match enumerations.iter().find(|made| made.name == entry.name) {
            Some(made) => assert_eq!(made, &original, "{id}: the enumeration comes back as it was"),
            None => enumerations.push(original),
        }
    }
    let storage = MemoryStorage::default();
    let create = enumerations.iter().cloned().fold(WriteOptions::new(), WriteOptions::enumeration);
    create.create_storage(&storage, &schema)?;
    let writer = WriteOptions::new().threads(1).any_codes().open_storage(storage.clone())?;
    let mapping = Mapping::new(&schema, enumerations, Options::new())?;
    let batch = renamed(batch);
    if schema.array_type == ArrayType::Sparse {
        let (half, rows) = (batch.num_rows() / 3, batch.num_rows());
        let mut stream = writer.sparse_stream(64 << 20)?;
        let slices = [batch.slice(0, half), batch.slice(half, rows - half)];
        mapping.append_all(slices.map(Ok), |columns| stream.append(columns))?;
        stream.commit()?;
    } else {
        let cells = mapping.write_batch(&batch)?;
        let mut write = writer.write().order(Layout::RowMajor);
        for (range, dimension) in array.bounds().unwrap().iter().zip(&schema.domain.dimensions) {
            write = write.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
        }
        cells.columns().into_iter().fold(write, tdb_array::Write::column).commit()?;
    }
    Ok(OpenOptions::new().threads(1).open_storage(storage)?)
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

#[test]
fn every_array_comes_back_from_arrow_as_it_was() {
    let (mut same, mut binary, mut excused) = (0, Vec::new(), BTreeMap::<_, Vec<String>>::new());
    let (mut out, mut back) = (Copies::default(), Copies::default());
    for (id, folder, key) in fixtures() {
        let array = open(&folder, key.as_deref());
        let Some(cells) = whole(&array).map(|read| read.collect().unwrap()) else {
            excused.entry("nothing was written").or_default().push(id);
            continue;
        };
        let mapping = Mapping::of(&array, Options::new()).unwrap();
        let batch = match to_arrow(&mapping, cells.clone(), &id, &mut out) {
            Err(Error::NotUtf8 { .. }) => {
                binary.push(id.clone());
                let mapping = Mapping::of(&array, Options::new().text(Text::Binary)).unwrap();
                to_arrow(&mapping, cells.clone(), &id, &mut out).unwrap()
            }
            batch => batch.unwrap_or_else(|error| panic!("{id}: {error}")),
        };
        assert_eq!(batch.num_rows(), cells.len(), "{id}");
        from_arrow(&mapping, &batch, &id, &mut back);
        if let Some(excuse) = excuse(&id, &array, &cells) {
            excused.entry(excuse).or_default().push(id);
            continue;
        }
        let copy = write(&id, &array, &batch).unwrap_or_else(|error| panic!("{id}: {error}"));
        let again = whole(&copy).unwrap().collect().unwrap();
        assert_same(&again, &cells, &id);
        same += 1;
    }
    println!("buffers to Arrow: {out:?}; from Arrow: {back:?}");
    assert!(out.copied * 20 < out.kept, "to Arrow: {out:?}");
    assert!(back.copied * 5 < back.kept, "from Arrow: {back:?}");
    println!("{same} the same; text that is not UTF-8: {binary:?}; {excused:?}");
    assert!(binary.iter().all(|id| id.contains("sparse_bytes_")), "text everywhere else: {binary:?}");
    let excused: usize = excused.values().map(Vec::len).sum();
    assert!(same > 500 && excused * 20 < same, "{same} came back, {excused} were excused");
}
