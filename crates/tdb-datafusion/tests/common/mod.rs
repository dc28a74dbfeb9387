//! Helpers for several tests.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "no test uses all of it, and a test that panics has failed"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray,
    RecordBatch, TimestampMillisecondArray, UInt8Array,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;
use tdb_array::schema::{
    ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension, Enumeration, SchemaBuilder,
};
use tdb_array::storage::MemoryStorage;
use tdb_array::write::Duplicates;
use tdb_array::{Array, Layout, OpenOptions, Write, WriteOptions, field};
use tdb_arrow::{Mapping, Options};

/// Pseudo-random numbers, the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }
}

/// The folder of a fixture of the newest release.
pub(crate) fn fixture(name: &str) -> String {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0");
    root.join(name).to_str().unwrap().to_owned()
}

/// The rows of batches as texts.
pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::new().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<_> = columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(cells.join(" | "));
        }
    }
    rows
}

/// The rows of a query, in its order.
pub(crate) async fn ask(session: &SessionContext, sql: &str) -> Vec<String> {
    let frame = session.sql(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows(&frame.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}")))
}

/// All cells of an array, as in its table.
pub(crate) fn cells(array: &Array) -> RecordBatch {
    let names: Vec<_> = array.schema().fields().map(|field| field.name.to_owned()).collect();
    let mut read = array.read().fields(names).order(Layout::RowMajor);
    if array.schema().array_type == ArrayType::Dense {
        let bounds = array.bounds().unwrap();
        for (range, dimension) in bounds.iter().zip(&array.schema().domain.dimensions) {
            read = read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
        }
    }
    Mapping::of(array, Options::new()).unwrap().record_batch(read.collect().unwrap()).unwrap()
}

/// Attributes of all kinds that filters use.
fn attributes() -> Vec<Attribute> {
    let attribute = |name: &str, datatype| Attribute::new(name, datatype, CellValNum::ONE);
    vec![
        attribute("count", Datatype::Int64).with_nulls(),
        attribute("small", Datatype::Uint8),
        attribute("real", Datatype::Float64).with_nulls(),
        attribute("single", Datatype::Float32),
        Attribute::new("name", Datatype::StringUtf8, CellValNum::Var).with_nulls(),
        attribute("flag", Datatype::Bool).with_nulls(),
        attribute("time", Datatype::DatetimeMs),
        attribute("colour", Datatype::Int8).with_nulls().with_enumeration("colours"),
    ]
}

pub(crate) fn colours() -> Enumeration {
    let values = ["red", "green", "blue", "grün"];
    Enumeration::new("colours", "__colours_0", Datatype::StringUtf8, CellValNum::Var, values).unwrap()
}

/// Values of these attributes for `count` cells, including extreme values.
fn values(random: &mut Random, count: usize) -> Vec<(&'static str, ArrayRef)> {
    const REALS: [f64; 12] =
        [f64::NAN, -f64::NAN, 0.0, -0.0, 1.5, -1.5, 1e300, f64::INFINITY, f64::NEG_INFINITY, 3.0, 7.25, -8.0];
    const NAMES: [&str; 7] = ["", "a", "aa", "b", "Ä", "zz\u{10ffff}", "b c"];
    let mut some = |most: usize| (0..count).map(|_| random.below(most)).collect::<Vec<_>>();
    let null = |value: &usize, every: usize| value.is_multiple_of(every);
    let counts = some(50).into_iter().map(|v| (!null(&v, 7)).then_some(v as i64 - 25));
    let counts: Int64Array = counts.collect();
    let small: UInt8Array = some(256).into_iter().map(|v| Some(v as u8)).collect();
    let reals: Float64Array = some(24).into_iter().map(|v| REALS.get(v % 13).copied()).collect();
    let singles: Float32Array = some(12).into_iter().map(|v| Some(REALS[v] as f32)).collect();
    let names: LargeStringArray = some(40).into_iter().map(|v| NAMES.get(v % 8).copied()).collect();
    let flags: BooleanArray = some(30).into_iter().map(|v| [Some(true), Some(false), None][v % 3]).collect();
    let times: TimestampMillisecondArray =
        some(20).into_iter().map(|v| Some(1_700_000_000_000 + v as i64 * 86_400_000)).collect();
    // The numbers of colours, not all of which are in the enumeration.
    let numbers = [Some(0), Some(1), Some(2), Some(3), Some(77), None];
    let colours: Int8Array = some(30).into_iter().map(|v| numbers[v % 6]).collect();
    vec![
        ("count", Arc::new(counts) as _),
        ("small", Arc::new(small) as _),
        ("real", Arc::new(reals) as _),
        ("single", Arc::new(singles) as _),
        ("name", Arc::new(names) as _),
        ("flag", Arc::new(flags) as _),
        ("time", Arc::new(times) as _),
        ("colour", Arc::new(colours) as _),
    ]
}

fn built(schema: &ArraySchema) -> MemoryStorage {
    let storage = MemoryStorage::default();
    WriteOptions::new().enumeration(colours()).create_storage(&storage, schema).unwrap();
    storage
}

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// Writes a batch at a time, to a box of a dense array if one is given.
fn write(
    storage: &MemoryStorage,
    schema: &ArraySchema,
    time: u64,
    batch: &RecordBatch,
    to: &[(&str, i32, i32)],
) {
    let writer =
        WriteOptions::new().threads(1).timestamp(time).any_codes().open_storage(storage.clone()).unwrap();
    let mapping = Mapping::new(schema, [colours()], Options::new()).unwrap();
    let cells = mapping.write_batch(batch).unwrap();
    let mut write = cells.columns().into_iter().fold(writer.write(), Write::column);
    for (dimension, low, high) in to {
        write = write.range(*dimension, *low..=*high);
    }
    if to.is_empty() {
        write = write.duplicates(Duplicates::KeepFirst);
    }
    write.commit().unwrap();
}

/// A sparse array of three fragments that overlap, some of whose cells are deleted.
pub(crate) fn sparse() -> MemoryStorage {
    let builder = ArraySchema::sparse()
        .dimension(Dimension::new("x", -20i32..=99).with_tile(10i32))
        .dimension(Dimension::new("y", -10.0f64..=10.0).with_tile(2.5f64))
        .enumeration(&colours())
        .capacity(7);
    let schema = attributes().into_iter().fold(builder, SchemaBuilder::attribute).build().unwrap();
    let storage = built(&schema);
    let mut random = Random::new(1);
    for time in 1..=3 {
        let count = 120;
        let xs: Int32Array = (0..count).map(|_| Some(random.below(40) as i32 - 20)).collect();
        let ys: Float64Array = (0..count).map(|_| Some(random.below(9) as f64 * 2.5 - 10.0)).collect();
        let mut columns: Vec<(&str, ArrayRef)> = vec![("x", Arc::new(xs)), ("y", Arc::new(ys))];
        columns.extend(values(&mut random, count));
        write(&storage, &schema, time, &batch(columns), &[]);
    }
    let writer = WriteOptions::new().timestamp(4).any_codes().open_storage(storage.clone()).unwrap();
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    let condition = field("small").lt(30).to_stored(&array).unwrap();
    writer.delete(&condition).unwrap();
    storage
}

/// A sparse array of strings and numbers that allows several cells at the same coordinates.
pub(crate) fn duplicates() -> MemoryStorage {
    let builder = ArraySchema::sparse()
        .dimension(Dimension::string("key"))
        .dimension(Dimension::new("z", 0u64..=1000).with_tile(100u64))
        .enumeration(&colours())
        .allow_duplicates()
        .capacity(5);
    let schema = attributes().into_iter().fold(builder, SchemaBuilder::attribute).build().unwrap();
    let storage = built(&schema);
    let mut random = Random::new(2);
    const KEYS: [&str; 6] = ["", "a", "aa", "ab", "b", "~"];
    for time in 1..=2 {
        let count = 90;
        let keys: LargeStringArray = (0..count).map(|_| Some(KEYS[random.below(6)])).collect();
        let zs = (0..count).map(|_| Some(random.below(12) as u64 * 90));
        let zs: datafusion::arrow::array::UInt64Array = zs.collect();
        let mut columns: Vec<(&str, ArrayRef)> = vec![("key", Arc::new(keys)), ("z", Arc::new(zs))];
        columns.extend(values(&mut random, count));
        write(&storage, &schema, time, &batch(columns), &[]);
    }
    storage
}

/// A dense array with two overlapping boxes of cells.
pub(crate) fn dense() -> MemoryStorage {
    boxes(&[(1, (2, 13), (3, 12)), (2, (9, 20), (8, 15))])
}

/// A dense array in which the second of two boxes is inside the first one.
pub(crate) fn whole() -> MemoryStorage {
    boxes(&[(1, (2, 13), (3, 12)), (2, (6, 9), (5, 12))])
}

/// A box of cells: when it is written, its rows and its columns.
type Written = (u64, (i32, i32), (i32, i32));

/// A dense array of boxes.
fn boxes(boxes: &[Written]) -> MemoryStorage {
    let builder = ArraySchema::dense()
        .dimension(Dimension::new("row", 1i32..=40).with_tile(4i32))
        .dimension(Dimension::new("col", 0i32..=30).with_tile(7i32))
        .enumeration(&colours());
    let schema = attributes().into_iter().fold(builder, SchemaBuilder::attribute).build().unwrap();
    let storage = built(&schema);
    let mut random = Random::new(3);
    for (time, rows, cols) in boxes.iter().copied() {
        let count = ((rows.1 - rows.0 + 1) * (cols.1 - cols.0 + 1)) as usize;
        let batch = batch(values(&mut random, count));
        write(&storage, &schema, time, &batch, &[("row", rows.0, rows.1), ("col", cols.0, cols.1)]);
    }
    storage
}
