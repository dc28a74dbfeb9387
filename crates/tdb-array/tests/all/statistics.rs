//! What statistics answer is not read from data files.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tdb_array::query::{Aggregate, QueryCondition};
use tdb_array::storage::{ByteRange, Entry, MemoryStorage, Storage};
use tdb_array::{Array, OpenOptions, WriteColumn, WriteOptions, field};
use tdb_codec::{ArrayType, CellValNum, Datatype};
use tdb_schema::{ArraySchema, Attribute, Dimension, Domain};

/// Counts the reads of data files.
#[derive(Debug)]
struct Counting {
    inner: MemoryStorage,
    data: Arc<AtomicUsize>,
}

impl Counting {
    fn look(&self, key: &str) {
        let name = key.rsplit('/').next().unwrap();
        if name.starts_with(['a', 'd', 't']) && name.ends_with(".tdb") {
            self.data.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Storage for Counting {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.inner.list(folder)
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        self.look(key);
        self.inner.read_tail(key, most)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.look(key);
        self.inner.read_into(key, offset, out)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        ranges.iter().for_each(|range| self.look(&range.key));
        self.inner.read_ranges(ranges)
    }

    fn describe(&self, key: &str) -> String {
        self.inner.describe(key)
    }
}

/// An open array, and a counter of the reads of its data files.
struct Opened {
    array: Array,
    data: Arc<AtomicUsize>,
}

impl Opened {
    fn new(storage: &MemoryStorage) -> Self {
        let data = Arc::new(AtomicUsize::new(0));
        let counting = Counting { inner: storage.clone(), data: data.clone() };
        Self { array: OpenOptions::new().threads(1).open_storage(counting).unwrap(), data }
    }

    fn reads(&self) -> usize {
        self.data.swap(0, Ordering::Relaxed)
    }
}

fn schema(array_type: ArrayType) -> ArraySchema {
    let mut x = Dimension::fixed("x", Datatype::Int64, 0i64.to_le_bytes(), 99_999i64.to_le_bytes());
    x.tile_extent = Some(1000i64.to_le_bytes().to_vec());
    let mut schema = ArraySchema::new(array_type, Domain::new(vec![x]));
    schema.capacity = 1000;
    let mut maybe = Attribute::new("maybe", Datatype::Uint16, CellValNum::ONE);
    maybe.nullable = true;
    schema
        .with_attribute(Attribute::new("v", Datatype::Int64, CellValNum::ONE))
        .with_attribute(Attribute::new("f", Datatype::Float64, CellValNum::ONE))
        .with_attribute(maybe)
}

/// An array with 10,000 cells per fragment; each fragment begins at one of `starts`.
fn written(array_type: ArrayType, starts: &[i64]) -> MemoryStorage {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema(array_type)).unwrap();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    for start in starts {
        let x: Vec<i64> = (*start..start + 10_000).collect();
        let f: Vec<f64> = x.iter().map(|x| *x as f64 / 2.0).collect();
        let maybe: Vec<u16> = x.iter().map(|x| u16::try_from(x % 1000).unwrap()).collect();
        let valid: Vec<u8> = x.iter().map(|x| u8::from(x % 4 != 0)).collect();
        let mut write = writer.write();
        if array_type == ArrayType::Sparse {
            write = write.column(WriteColumn::fixed("x", &x));
        } else {
            write = write.range("x", *start..start + 10_000);
        }
        write
            .column(WriteColumn::fixed("v", &x))
            .column(WriteColumn::fixed("f", &f))
            .column(WriteColumn::fixed("maybe", &maybe).nullable(&valid))
            .commit()
            .unwrap();
    }
    storage
}

fn exact() -> Vec<Aggregate> {
    let mut list = vec![Aggregate::count()];
    for name in ["v", "maybe"] {
        list.extend([
            Aggregate::sum(name),
            Aggregate::min(name),
            Aggregate::max(name),
            Aggregate::mean(name),
        ]);
        list.push(Aggregate::null_count(name));
    }
    list.extend([Aggregate::min("f"), Aggregate::max("f")]);
    list
}

fn shown(opened: &Opened, aggregates: Vec<Aggregate>) -> Vec<Option<f64>> {
    opened
        .array
        .read()
        .aggregate(aggregates)
        .unwrap()
        .iter()
        .map(tdb_array::query::AggregateValue::as_f64)
        .collect()
}

#[test]
fn a_whole_array_is_summed_up_without_a_look_at_its_data() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let opened = Opened::new(&written(array_type, &[0, 20_000, 40_000]));
        let found = shown(&opened, exact());
        assert_eq!(opened.reads(), 0, "{array_type}");
        let sum = 3.0 * 49_995_000.0 + 60_000.0 * 10_000.0;
        let cells = if array_type == ArrayType::Dense { 100_000.0 } else { 30_000.0 };
        assert_eq!(
            found[..6].to_vec(),
            [cells, sum, 0.0, 49_999.0, sum / 30_000.0, 0.0].map(Some),
            "{array_type}"
        );
        let valid: f64 = (0..1000).filter(|x| x % 4 != 0).map(f64::from).sum::<f64>() * 30.0;
        assert_eq!(found[6..11].to_vec(), [valid, 1.0, 999.0, valid / 22_500.0, 7_500.0].map(Some));
        assert_eq!(found[11..].to_vec(), [0.0, 24_999.5].map(Some));
        // The sum of reals depends on the order of adding: it is not taken from statistics.
        assert_eq!(shown(&opened, vec![Aggregate::sum("f")]), [Some(sum / 2.0)]);
        assert!(opened.reads() > 0);
    }
}

#[test]
fn only_tiles_that_a_range_cuts_or_another_fragment_shares_are_read() {
    let opened = Opened::new(&written(ArrayType::Sparse, &[0, 20_000]));
    let cut = |from: i64| opened.array.read().range("x", from..).aggregate([Aggregate::sum("v")]).unwrap();
    assert_eq!(cut(5000)[0].as_i64(), Some((5000..10_000).chain(20_000..30_000).sum()));
    assert_eq!(opened.reads(), 0, "the range begins where a tile does");
    assert_eq!(cut(5500)[0].as_i64(), Some((5500..10_000).chain(20_000..30_000).sum()));
    let reads = opened.reads();
    assert!((1..=4).contains(&reads), "{reads} reads for one tile of two fields");

    let opened = Opened::new(&written(ArrayType::Sparse, &[0, 9_000]));
    assert_eq!(shown(&opened, vec![Aggregate::count(), Aggregate::sum("v")])[0], Some(19_000.0));
    let reads = opened.reads();
    assert!((1..=8).contains(&reads), "{reads} reads for two tiles of two fields");
}

#[test]
fn a_condition_reads_only_tiles_where_statistics_leave_it_open() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let opened = Opened::new(&written(array_type, &[0, 20_000]));
        let read = |condition: QueryCondition| {
            let cells = opened.array.read().fields(["maybe"]).condition(condition).collect().unwrap();
            let valid = cells.columns()[0].validity().unwrap().iter().filter(|valid| **valid != 0).count();
            (valid, opened.reads())
        };
        let (valid, reads) = read(field("v").gt(50_000));
        assert_eq!((valid, reads), (0, 0), "{array_type}: no tile can have it");
        let (valid, reads) = read(field("v").eq(25_001));
        assert_eq!(valid, 1);
        assert!((1..=6).contains(&reads), "{array_type}: {reads} reads for one tile");
        let (valid, reads) = read(field("f").ge(14_000.25).and(field("f").lt(14_000.75)));
        assert_eq!(valid, 1, "28,001 is halved");
        assert!((1..=6).contains(&reads), "{array_type}: {reads} reads for one tile");
        let found = opened.array.read().condition(field("v").ge(29_000)).aggregate([Aggregate::sum("v")]);
        assert_eq!(found.unwrap()[0].as_i64(), Some((29_000..30_000).sum()));
        // All cells of the last tile satisfy it. In a dense array the cells must still be put
        // together.
        let reads = opened.reads();
        assert!(array_type == ArrayType::Dense || reads == 0, "{reads}");
    }
}

#[test]
fn a_nan_makes_a_tile_one_that_must_be_read() {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema(ArrayType::Sparse)).unwrap();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let x: Vec<i64> = (0..2000).collect();
    let mut f: Vec<f64> = x.iter().map(|x| *x as f64).collect();
    f[500] = f64::NAN;
    let maybe = vec![1u16; 2000];
    writer
        .write()
        .column(WriteColumn::fixed("x", &x))
        .column(WriteColumn::fixed("v", &x))
        .column(WriteColumn::fixed("f", &f))
        .column(WriteColumn::fixed("maybe", &maybe).nullable(&[1; 2000]))
        .commit()
        .unwrap();
    let opened = Opened::new(&storage);
    let not_five = opened.array.read().fields(["v"]).condition(field("f").ne(-5.0)).collect().unwrap();
    assert_eq!(not_five.len(), 2000, "a NaN differs from everything");
    opened.reads();
    assert_eq!(shown(&opened, vec![Aggregate::min("f"), Aggregate::max("f")]), [Some(0.0), Some(1999.0)]);
    let reads = opened.reads();
    assert!((1..=2).contains(&reads), "{reads} reads for the tile with the NaN");
}

#[test]
fn nulls_of_strings_that_libtiledb_did_not_count_are_found() {
    // Written by libtiledb 2.30 (`xtask/peer/cases.py`): nullable strings of five types and of
    // fixed size, then STRING_ASCII and BLOB.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/nulls_of_strings");
    let array = OpenOptions::new().threads(1).open(path).unwrap();
    for attribute in &array.schema().attributes {
        let name = attribute.name.as_str();
        let cells = array.read().fields([name]).collect().unwrap();
        let validity = cells.field(name).unwrap().validity().unwrap();
        let nulls = validity.iter().filter(|valid| **valid == 0).count();
        assert!(nulls > 0 && nulls < cells.len, "{name}: the array has both");
        let counted = array.read().aggregate([Aggregate::null_count(name), Aggregate::count()]).unwrap();
        assert_eq!(counted[0].as_u64().unwrap(), nulls as u64, "{name}");
        let found = |condition| array.read().fields(["x"]).condition(condition).collect().unwrap().len;
        assert_eq!(found(field(name).is_null()), nulls, "{name}");
        assert_eq!(found(field(name).is_not_null()), cells.len - nulls, "{name}");
    }
}
