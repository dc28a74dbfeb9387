//! Cells written and read back, cell by cell.

use std::collections::BTreeMap;

use tdb_array::maintain::verify_with;
use tdb_array::{Array, OpenOptions};
use tdb_codec::{ArrayType, CellValNum, Datatype, FormatVersion, Layout};
use tdb_filters::{Filter, Key, Pipeline};
use tdb_schema::{ArraySchema, Attribute, Dimension, Domain};

use crate::storage::{Durability, MemoryStorage, Storage, WriteStorage};
use crate::{ArrayWriter, FragmentWriter, Write, WriteColumn, WriteOptions};
use crate::{Error, Result, WriteError};

mod create;
mod dense;
mod sparse;

fn two() -> CellValNum {
    CellValNum::from_code(2).unwrap()
}

fn filtered(mut attribute: Attribute, filters: Vec<Filter>) -> Attribute {
    attribute.filters = Pipeline::new(filters);
    attribute
}

fn nullable(mut attribute: Attribute) -> Attribute {
    attribute.nullable = true;
    attribute
}

/// One attribute of each shape.
fn attributes(mut schema: ArraySchema) -> ArraySchema {
    schema.offsets_filters = Pipeline::new(vec![Filter::BitWidthReduction { max_window: 256 }]);
    schema.validity_filters = Pipeline::new(vec![Filter::Rle { level: -1 }]);
    let shuffled = vec![Filter::ByteShuffle, Filter::Lz4 { level: -1 }];
    schema
        .with_attribute(filtered(Attribute::new("fixed", Datatype::Int32, CellValNum::ONE), shuffled))
        .with_attribute(Attribute::new("pair", Datatype::Float64, two()))
        .with_attribute(nullable(Attribute::new("maybe", Datatype::Uint16, CellValNum::ONE)))
        .with_attribute(filtered(
            nullable(Attribute::new("text", Datatype::StringAscii, CellValNum::Var)),
            vec![Filter::Rle { level: -1 }],
        ))
        .with_attribute(filtered(
            Attribute::new("words", Datatype::StringUtf8, CellValNum::Var),
            vec![Filter::Gzip { level: 1 }],
        ))
        .with_attribute(Attribute::new("numbers", Datatype::Int64, CellValNum::Var))
}

/// Cells of every attribute; each value is a function of the cell's number.
struct Data {
    fixed: Vec<i32>,
    pair: Vec<f64>,
    maybe: Vec<u16>,
    valid: Vec<u8>,
    text: (Vec<u8>, Vec<u64>),
    words: (Vec<u8>, Vec<u64>),
    numbers: (Vec<u8>, Vec<u64>),
}

fn var(cells: u32, cell: impl Fn(u32) -> Vec<u8>) -> (Vec<u8>, Vec<u64>) {
    let (mut values, mut offsets) = (Vec::new(), vec![0]);
    for index in 0..cells {
        values.extend(cell(index));
        offsets.push(values.len() as u64);
    }
    (values, offsets)
}

impl Data {
    fn new(cells: u32) -> Self {
        Self {
            fixed: (0..cells).map(|i| i32::try_from(i).unwrap() * 7 - 100).collect(),
            pair: (0..cells).flat_map(|i| [f64::from(i), -f64::from(i) / 3.0]).collect(),
            maybe: (0..cells).map(|i| u16::try_from(i % 1000).unwrap()).collect(),
            valid: (0..cells).map(|i| u8::from(i % 3 != 1)).collect(),
            text: var(cells, |i| "ab".repeat(usize::try_from(i / 4 % 5).unwrap()).into_bytes()),
            words: var(cells, |i| format!("wört {i}").into_bytes()),
            numbers: var(cells, |i| (0..i % 4).flat_map(|k| i64::from(i * k).to_le_bytes()).collect()),
        }
    }

    fn columns(&self) -> Vec<WriteColumn<'_>> {
        vec![
            WriteColumn::var("numbers", &self.numbers.0, &self.numbers.1),
            WriteColumn::fixed("fixed", &self.fixed),
            WriteColumn::fixed("pair", &self.pair),
            WriteColumn::fixed("maybe", &self.maybe).nullable(&self.valid),
            WriteColumn::var("text", &self.text.0, &self.text.1).nullable(&self.valid),
            WriteColumn::var("words", &self.words.0, &self.words.1),
        ]
    }

    /// Compares cell `at` of a result with cell `index` of this.
    fn assert_cell(&self, cells: &crate::Cells, at: usize, index: usize) {
        let bytes = |values: &(Vec<u8>, Vec<u64>)| {
            let bound = |i: usize| usize::try_from(values.1[i]).unwrap();
            values.0[bound(index)..bound(index + 1)].to_vec()
        };
        let pair = &self.pair[2 * index..2 * index + 2];
        let expected = [
            ("fixed", self.fixed[index].to_le_bytes().to_vec()),
            ("pair", pair.iter().flat_map(|value| value.to_le_bytes()).collect()),
            ("maybe", self.maybe[index].to_le_bytes().to_vec()),
            ("text", bytes(&self.text)),
            ("words", bytes(&self.words)),
            ("numbers", bytes(&self.numbers)),
        ];
        for (name, expected) in expected {
            let column = cells.field(name).unwrap();
            assert_eq!(column.cell(at).unwrap(), expected, "{name} {index}");
            if ["maybe", "text"].contains(&name) {
                assert_eq!(column.is_null(at), self.valid[index] == 0, "{name} {index}");
            }
        }
    }
}

fn dimension(name: &str, low: i32, high: i32, extent: i32) -> Dimension {
    Dimension::fixed(name, Datatype::Int32, low.to_le_bytes(), high.to_le_bytes())
        .with_tile_bytes(extent.to_le_bytes())
}

fn at(schema: &ArraySchema, version: u32) -> ArraySchema {
    let mut schema = schema.clone();
    schema.version = FormatVersion::parse(version).unwrap();
    schema
}

fn key() -> Key {
    Key::new(*b"0123456789abcdeF0123456789abcdeF")
}

fn assert_sound(storage: &MemoryStorage, key: Option<Key>) {
    let found = verify_with(storage.clone(), key);
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

fn open(storage: &MemoryStorage) -> Array {
    OpenOptions::new().open_storage(storage.clone()).unwrap()
}

#[test]
fn a_dense_line_reads_back_at_every_version_and_with_every_number_of_threads() {
    let domain = Domain::new(vec![dimension("i", -5, 94, 16)]);
    let schema = attributes(ArraySchema::new(ArrayType::Dense, domain));
    let data = Data::new(100);
    for version in 7..=22 {
        for threads in [1, 3] {
            let storage = MemoryStorage::default();
            let options = WriteOptions::new().threads(threads);
            options.clone().create_storage(&storage, &at(&schema, version)).unwrap();
            let writer = options.open_storage(storage.clone()).unwrap();
            let mut write = writer.write();
            for column in data.columns() {
                write = write.column(column);
            }
            write.commit().unwrap();
            assert_sound(&storage, None);
            let array = open(&storage);
            assert_eq!(array.has_lock_file(), version <= 10);
            assert_eq!(array.fragments()[0].version().number(), version);
            let cells = array.read().collect().unwrap();
            (0..100).for_each(|index| data.assert_cell(&cells, index, index));
        }
    }
}

#[test]
fn boxes_of_any_alignment_read_back_in_all_orders() {
    for (tile_order, cell_order) in [
        (Layout::RowMajor, Layout::RowMajor),
        (Layout::ColMajor, Layout::RowMajor),
        (Layout::RowMajor, Layout::ColMajor),
        (Layout::ColMajor, Layout::ColMajor),
    ] {
        let domain = Domain::new(vec![dimension("y", 1, 12, 5), dimension("x", -3, 6, 4)]);
        let mut schema = attributes(ArraySchema::new(ArrayType::Dense, domain));
        (schema.tile_order, schema.cell_order) = (tile_order, cell_order);
        for order in [Layout::RowMajor, Layout::ColMajor] {
            for ((y0, y1), (x0, x1)) in [
                ((1, 12), (-3, 6)),
                ((6, 10), (1, 4)),
                ((1, 10), (-3, 4)),
                ((3, 7), (0, 2)),
                ((11, 12), (5, 6)),
            ] {
                let storage = MemoryStorage::default();
                WriteOptions::new().create_storage(&storage, &schema).unwrap();
                let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
                let count = u32::try_from((y1 - y0 + 1) * (x1 - x0 + 1)).unwrap();
                let data = Data::new(count);
                let mut write = writer.write().range("y", y0..=y1).range("x", x0..=x1).order(order);
                for column in data.columns() {
                    write = write.column(column);
                }
                write.commit().unwrap();
                assert_sound(&storage, None);
                let array = open(&storage);
                let cells =
                    array.read().range("y", y0..=y1).range("x", x0..=x1).order(order).collect().unwrap();
                assert_eq!(cells.len(), usize::try_from(count).unwrap());
                (0..cells.len()).for_each(|index| data.assert_cell(&cells, index, index));
            }
        }
    }
}

fn sparse_schema(dimensions: Vec<Dimension>) -> ArraySchema {
    let mut schema = attributes(ArraySchema::new(ArrayType::Sparse, Domain::new(dimensions)));
    schema.capacity = 7;
    schema.coords_filters = Pipeline::new(vec![Filter::Zstd { level: 3 }]);
    schema
}

#[test]
fn sparse_cells_given_in_pieces_read_back_with_strings_and_reals_as_coordinates() {
    let real = Dimension::fixed("f", Datatype::Float32, 0f32.to_le_bytes(), 1000f32.to_le_bytes());
    let schema = sparse_schema(vec![Dimension::string("s"), real.with_tile_bytes(50f32.to_le_bytes())]);
    let data = Data::new(60);
    // Space tiles of the floating-point dimension come first: 50 values each.
    let names = var(60, |i| format!("{:02}", i % 30).into_bytes());
    let reals: Vec<f32> = (0..60u8).map(|i| f32::from(i / 30) * 50.0 + f32::from(i % 30)).collect();
    for pieces in [vec![60], vec![1, 2, 3, 54], vec![7, 7, 46], vec![20, 0, 20, 20]] {
        for version in [7, 9, 11, 12, 15, 22] {
            let storage = MemoryStorage::default();
            WriteOptions::new().create_storage(&storage, &at(&schema, version)).unwrap();
            let writer = WriteOptions::new().threads(2).open_storage(storage.clone()).unwrap();
            let mut fragment = writer.sparse_fragment().unwrap();
            let mut start = 0;
            for piece in &pieces {
                let end = start + piece;
                let text = WriteColumn::var("text", &data.text.0, &data.text.1[start..=end]);
                let words = WriteColumn::var("words", &data.words.0, &data.words.1[start..=end]);
                let maybe = WriteColumn::fixed("maybe", &data.maybe[start..end]);
                let columns = [
                    WriteColumn::var("s", &names.0, &names.1[start..=end]),
                    WriteColumn::fixed("f", &reals[start..end]),
                    WriteColumn::fixed("fixed", &data.fixed[start..end]),
                    WriteColumn::fixed("pair", &data.pair[2 * start..2 * end]),
                    maybe.nullable(&data.valid[start..end]),
                    text.nullable(&data.valid[start..end]),
                    words,
                    WriteColumn::var("numbers", &data.numbers.0, &data.numbers.1[start..=end]),
                ];
                fragment.append(&columns).unwrap();
                start = end;
            }
            fragment.commit().unwrap();
            assert_sound(&storage, None);
            let array = open(&storage);
            assert_eq!(array.fragments()[0].cell_count(), 60);
            let cells = array.read().order(Layout::GlobalOrder).collect().unwrap();
            assert_eq!(cells.len(), 60);
            (0..60).for_each(|index| data.assert_cell(&cells, index, index));
            assert_eq!(cells.field("f").unwrap().values::<f32>().unwrap(), reals);
            assert_eq!(cells.field("s").unwrap().bytes(), names.0);
        }
    }
}

#[test]
fn an_encrypted_array_reads_back_with_its_key_only() {
    let schema = sparse_schema(vec![dimension("i", 0, 99, 10)]);
    let data = Data::new(40);
    let numbers: Vec<i32> = (0..40).map(|i| i * 2).collect();
    let storage = MemoryStorage::default();
    let options = WriteOptions::new().key(key());
    options.clone().create_storage(&storage, &schema).unwrap();
    let writer = options.open_storage(storage.clone()).unwrap();
    let mut write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("i", &numbers));
    for column in data.columns() {
        write = write.column(column);
    }
    write.commit().unwrap();
    assert_sound(&storage, Some(key()));
    let array = OpenOptions::new().key(key()).open_storage(storage.clone()).unwrap();
    let cells = array.read().order(Layout::GlobalOrder).collect().unwrap();
    (0..40).for_each(|index| data.assert_cell(&cells, index, index));
    assert!(OpenOptions::new().open_storage(storage.clone()).is_err());
    assert!(WriteOptions::new().open_storage(storage).is_err(), "writing needs the key, too");
}

#[test]
fn an_array_in_a_local_folder_is_written_and_read_back() {
    let folder = std::env::temp_dir().join(format!("tdb-write-{}", std::process::id()));
    let path = folder.join("array");
    std::fs::create_dir_all(&folder).unwrap();
    let schema = ArraySchema::new(ArrayType::Dense, Domain::new(vec![dimension("i", 0, 9, 5)]))
        .with_attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE));
    WriteOptions::new().create(&path, &schema).unwrap();
    assert!(matches!(WriteOptions::new().create(&path, &schema), Err(Error::Write(WriteError::Exists))));
    let writer = WriteOptions::new().timestamp(5).open(&path).unwrap();
    let values: Vec<i32> = (0..10).collect();
    let name = writer.write().column(WriteColumn::fixed("a", &values)).commit().unwrap();
    assert!(name.starts_with("__5_5_") && name.ends_with("_22"), "{name}");
    let cells = Array::open(&path).unwrap().read().collect().unwrap();
    assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), values);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The files of a storage, by key.
fn files(storage: &MemoryStorage) -> BTreeMap<String, bytes::Bytes> {
    let keys = storage.keys().into_iter();
    keys.map(|key| (key.clone(), storage.read(&key).unwrap())).collect()
}

#[test]
fn a_refused_write_leaves_the_array_as_it_was() {
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![dimension("i", 0, 9, 5)]))
        .with_attribute(filtered(
            Attribute::new("a", Datatype::Int32, CellValNum::ONE),
            vec![Filter::PositiveDelta { max_window: 1024 }],
        ));
    schema.capacity = 2;
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let before = files(&storage);
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let refusal = |i: &[i32], a: &[i32]| {
        let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("i", i));
        let error = write.column(WriteColumn::fixed("a", a)).commit().unwrap_err();
        assert_eq!(files(&storage), before);
        assert_eq!(storage.list("__fragments").unwrap(), []);
        let Error::Write(error) = error else { panic!("{error}") };
        error
    };
    assert_eq!(refusal(&[1, 3, 2], &[1, 2, 3]), WriteError::NotSorted { cell: 2 });
    assert_eq!(refusal(&[1, 3, 3], &[1, 2, 3]), WriteError::Duplicate { first: 1 });
    assert!(matches!(refusal(&[1, 3, 10], &[1, 2, 3]), WriteError::OutsideDomain { cell: 2, .. }));
    assert!(matches!(refusal(&[1, 3], &[1, 2, 3]), WriteError::CellCount { given: 2, expected: 3, .. }));
    assert!(matches!(refusal(&[1, 2, 3, 4], &[1, 2, 5, 4]), WriteError::Filter { .. }));
    assert_eq!(refusal(&[], &[]), WriteError::NoCells);
    let missing = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("i", &[1])).commit();
    assert!(matches!(missing, Err(Error::Write(WriteError::MissingField(name))) if name == "a"));
    let typed = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("i", &[1u32])).commit();
    assert!(matches!(typed, Err(Error::Write(WriteError::Column { .. }))));
    assert_eq!(files(&storage), before);
}

/// A sparse array of one 32-bit dimension.
fn line() -> ArraySchema {
    let dimension = Dimension::fixed("i", Datatype::Int32, 0i32.to_le_bytes(), 99i32.to_le_bytes());
    let domain = Domain::new(vec![dimension.with_tile_bytes(100i32.to_le_bytes())]);
    let mut schema = ArraySchema::new(ArrayType::Sparse, domain).with_attribute(Attribute::new(
        "a",
        Datatype::Int32,
        CellValNum::ONE,
    ));
    schema.capacity = 2;
    schema
}

#[test]
fn a_fragment_whose_append_failed_takes_no_more_cells_and_does_not_commit() {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &line()).unwrap();
    let array = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let mut fragment = array.sparse_fragment().unwrap();
    let mut append =
        |cells: &[i32]| fragment.append(&[WriteColumn::fixed("i", cells), WriteColumn::fixed("a", cells)]);
    append(&[1, 2, 3]).unwrap();
    assert!(append(&[0]).is_err());
    assert!(append(&[2]).is_err());
    assert!(fragment.commit().is_err());
    assert!(storage.keys().iter().all(|key| !key.starts_with("__fragments")));
}

#[test]
fn space_tiles_of_reals_are_those_of_the_dimension_s_own_precision() {
    // 0.7 / 0.1 is 7 in 32 bits, and a little less in 64.
    let x = Dimension::fixed("x", Datatype::Float32, 0f32.to_le_bytes(), 1f32.to_le_bytes());
    let y = Dimension::fixed("y", Datatype::Int32, 0i32.to_le_bytes(), 9i32.to_le_bytes());
    let domain =
        Domain::new(vec![x.with_tile_bytes(0.1f32.to_le_bytes()), y.with_tile_bytes(10i32.to_le_bytes())]);
    let mut schema = ArraySchema::new(ArrayType::Sparse, domain).with_attribute(Attribute::new(
        "a",
        Datatype::Int32,
        CellValNum::ONE,
    ));
    schema.cell_order = Layout::ColMajor;
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let array = WriteOptions::new().open_storage(storage).unwrap();
    let write = |xs: &[f32], ys: &[i32]| {
        let mut fragment = array.sparse_fragment()?;
        let columns = [WriteColumn::fixed("x", xs), WriteColumn::fixed("y", ys), WriteColumn::fixed("a", ys)];
        fragment.append(&columns)?;
        fragment.commit()
    };
    write(&[0.69, 0.7], &[5, 0]).unwrap();
    assert!(write(&[0.7, 0.69], &[0, 5]).is_err());
}
