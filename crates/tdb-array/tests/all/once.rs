//! Nothing is fetched or decoded twice in a query that has the memory to keep it.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::{ByteRange, Entry, LocalStorage, MemoryStorage, Storage};
use tdb_array::stored::Fragment;
use tdb_array::{Array, Cells, Layout, OpenOptions, Read, WriteColumn, WriteOptions, field};
use tdb_filters::{Filter, TileContext};

use crate::common::arrays;

/// A storage that records the reads of data files.
#[derive(Debug)]
struct Noting<S> {
    inner: S,
    reads: Mutex<Vec<(String, u64)>>,
}

impl<S: Storage> Noting<S> {
    fn new(inner: S) -> Arc<Self> {
        Arc::new(Self { inner, reads: Mutex::default() })
    }

    /// The reads since the last call that were made more than once.
    fn repeated(&self) -> Vec<(String, u64)> {
        let reads = core::mem::take(&mut *self.reads.lock().unwrap());
        assert!(!reads.is_empty(), "nothing was read at all");
        let mut seen = BTreeSet::new();
        // Up to version 5 the coordinates of all dimensions are in one tile, which each dimension
        // reads.
        let tiles = reads.into_iter().filter(|(key, _)| !key.contains("__coords"));
        tiles.filter(|read| !seen.insert(read.clone())).collect()
    }
}

impl<S: Storage> Storage for Noting<S> {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.inner.list(folder)
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        self.inner.read_tail(key, most)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.reads.lock().unwrap().push((key.to_owned(), offset));
        self.inner.read_into(key, offset, out)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        self.inner.read_ranges(ranges)
    }

    fn describe(&self, key: &str) -> String {
        self.inner.describe(key)
    }
}

/// Queries in which everything in the result is also looked at before: by ranges that cut tiles, by
/// a condition, by both.
fn queries(array: &Array) -> Vec<Read> {
    let mut found = vec![array.read()];
    let schema = array.schema();
    let cut = |mut read: Read| {
        for (range, dimension) in
            array.non_empty_domain().into_iter().flatten().zip(&schema.domain.dimensions)
        {
            if !dimension.is_var() {
                // All cells except those at the low end, or nearly all.
                read = read.range_bytes(&dimension.name, Some(range.low.clone()), None);
            }
        }
        read
    };
    found.push(cut(array.read()));
    for attribute in &schema.attributes {
        // In a dense array, a condition on values of variable length is evaluated before the place
        // of any value is known.
        if schema.array_type == ArrayType::Dense && attribute.cell_val_num.is_var() {
            continue;
        }
        for condition in [
            field(&*attribute.name).ge(3),
            field(&*attribute.name).ne("b"),
            field(&*attribute.name).is_not_null(),
        ] {
            found.push(array.read().condition(condition.clone()));
            found.push(cut(array.read().condition(condition)));
        }
    }
    for dimension in &schema.domain.dimensions {
        found.push(cut(array.read().condition(field(&*dimension.name).ne(2))));
    }
    let orders = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];
    found.into_iter().zip(orders.into_iter().cycle()).map(|(read, order)| read.order(order)).collect()
}

#[test]
fn no_query_of_a_fixture_reads_a_tile_twice() {
    let mut seen = 0;
    for (name, path) in arrays() {
        let storage = Noting::new(LocalStorage::new(path));
        let Ok(array) = OpenOptions::new().threads(1).open_storage(storage.clone()) else { continue };
        let schema = array.schema();
        // Cells of sparse fragments of dense arrays are looked up one by one; deletes read fields
        // separately.
        let old =
            schema.array_type == ArrayType::Dense && array.fragments().iter().any(|own| !own.is_dense());
        // Where nothing else tells how validity was filtered, values are decoded with it to find
        // out.
        let typed = |own: &Arc<Fragment>| {
            TileContext::validity(own.version()).typed_validity(Datatype::Int32).is_some() && own.is_dense()
        };
        let doubtful = schema.validity_filters.filters.iter().any(Filter::depends_on_type)
            && array.fragments().iter().any(typed);
        if old || doubtful || array.has_deletes() || !schema.labels.is_empty() {
            continue;
        }
        for read in queries(&array) {
            // The first query also reads sections of metadata, which are counted as well.
            let Ok(cells) = read.clone().collect() else { continue };
            storage.reads.lock().unwrap().clear();
            let Ok(again) = read.clone().collect() else { continue };
            assert_eq!(cells.len(), again.len());
            if storage.reads.lock().unwrap().is_empty() {
                continue;
            }
            let repeated = storage.repeated();
            assert!(repeated.is_empty(), "{name}: {repeated:?} of {read:?}");
            assert_eq!(read.explain().unwrap().again(), 0, "{name}");
            seen += 1;
        }
    }
    assert!(seen > 1000, "{seen} were looked at");
}

/// A sparse array of two fragments, the newer of which replaces every third cell of the older.
fn versions(duplicates: bool) -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=99_999).with_tile(1000i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_nulls())
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .capacity(100);
    let schema = if duplicates { schema.allow_duplicates() } else { schema }.build().unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, step) in [(1u64, 1usize), (2, 3)] {
        let x: Vec<i64> = (0..6000).step_by(step).collect();
        let a: Vec<i64> = x.iter().map(|x| x * 7919 % 1000).collect();
        let valid: Vec<u8> = x.iter().map(|x| u8::from(x % 11 != 0)).collect();
        let strings = crate::common::Strings::new(x.iter().map(|x| format!("{}", x * 31 % 97)));
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x));
        let write = write.column(WriteColumn::fixed("a", &a).nullable(&valid));
        write.column(strings.column("s")).commit().unwrap();
    }
    storage
}

/// Values, offsets and validity of a column.
type Content<'c> = (&'c [u8], Option<&'c [u64]>, Option<&'c [u8]>);

/// Everything of some cells, column by column.
fn content(cells: &Cells) -> Vec<Content<'_>> {
    let columns = cells.columns().iter();
    columns.map(|column| (column.bytes(), column.offsets(), column.validity())).collect()
}

#[test]
fn what_is_kept_of_some_cells_is_what_is_decoded_of_all() {
    for duplicates in [false, true] {
        let storage = Noting::new(versions(duplicates));
        let array = OpenOptions::new().threads(2).open_storage(storage.clone()).unwrap();
        for (number, condition) in [
            field("a").lt(3),
            field("a").ge(500).and(field("s").gt("5")),
            field("s").eq("7").or(field("a").is_null()),
            field("x").lt(77).and(field("s").ne("none")),
        ]
        .into_iter()
        .enumerate()
        {
            let order = [Layout::RowMajor, Layout::Unordered, Layout::GlobalOrder][number % 3];
            let query = || array.read().order(order).range("x", 5..=5511);
            query().condition(condition.clone()).collect().unwrap();
            storage.reads.lock().unwrap().clear();
            let found = query().condition(condition.clone()).collect().unwrap();
            assert_eq!(storage.repeated(), [], "{duplicates} {condition:?}");
            assert!(!found.is_empty());
            // One by one, so that each column is kept or not independently.
            for (name, column) in ["x", "a", "s"].into_iter().zip(content(&found)) {
                let alone = query().fields([name]).condition(condition.clone()).collect().unwrap();
                assert_eq!(content(&alone), [column], "{name} {duplicates} {condition:?}");
            }
            let small =
                query().condition(condition.clone()).memory("2 MiB".parse().unwrap()).batches().unwrap();
            let small: Vec<Cells> = small.map(Result::unwrap).collect();
            let values = |cells: &[Cells]| -> Vec<i64> {
                let all = cells.iter().flat_map(|cells| cells.field("a").unwrap().values::<i64>().unwrap());
                let mut all: Vec<i64> = all.copied().collect();
                // Batches are unordered by default.
                if order == Layout::Unordered {
                    all.sort_unstable();
                }
                all
            };
            assert_eq!(values(&small), values(&[found]), "{duplicates} {condition:?}");
        }
    }
}

#[test]
fn a_budget_that_cannot_hold_what_was_looked_at_decodes_it_again_and_explain_says_so() {
    let array = OpenOptions::new().threads(1).open_storage(versions(true)).unwrap();
    let query = || array.read().fields(["a", "s"]).condition(field("a").lt(500));
    assert_eq!(query().explain().unwrap().again(), 0);
    let explain = query().memory("100 KiB".parse().unwrap()).explain().unwrap();
    assert_eq!(explain.again(), 80, "every tile of the field in both fragments");
    assert_eq!(explain.tiles(), query().explain().unwrap().tiles() + 80);
}

#[test]
fn aggregates_of_dense_arrays_take_what_the_condition_has_decoded() {
    let path = arrays().into_iter().find(|(name, _)| name == "2.30.0/quickstart").unwrap().1;
    let storage = Noting::new(LocalStorage::new(path));
    let array = OpenOptions::new().threads(1).open_storage(storage.clone()).unwrap();
    let query = || array.read().condition(field("a").ge(4)).aggregate([Aggregate::sum("a")]).unwrap();
    query();
    storage.reads.lock().unwrap().clear();
    assert_eq!(query()[0].as_i64(), Some((4..=16).sum()));
    assert_eq!(storage.repeated(), []);
}

#[test]
fn aggregates_take_what_the_condition_has_decoded() {
    for duplicates in [false, true] {
        let storage = Noting::new(versions(duplicates));
        let array = OpenOptions::new().threads(1).open_storage(storage.clone()).unwrap();
        let asked =
            || [Aggregate::count(), Aggregate::sum("a"), Aggregate::max("s"), Aggregate::null_count("a")];
        let condition = field("a").lt(333).and(field("s").gt("2"));
        let query = || array.read().condition(condition.clone());
        query().aggregate(asked()).unwrap();
        storage.reads.lock().unwrap().clear();
        let found = query().aggregate(asked()).unwrap();
        assert_eq!(storage.repeated(), []);
        let cells = query().collect().unwrap();
        let sum: i64 = cells.field("a").unwrap().values::<i64>().unwrap().iter().sum();
        assert_eq!(found[1].as_i64(), Some(sum));
    }
}

#[test]
fn what_a_part_of_a_disjunction_left_out_is_decoded_for_the_result() {
    const CELLS: i64 = 60_000;
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=CELLS - 1).with_tile(CELLS))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("b", Datatype::Int64, CellValNum::ONE).with_nulls())
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .capacity(60_000)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let x: Vec<i64> = (0..CELLS).collect();
    // Of the cells whose `a` is 1, all lie in the first chunks.
    let a: Vec<i64> = x.iter().map(|x| if *x < 3000 { x % 2 } else { x % 5000 + 2 }).collect();
    let b: Vec<i64> = x.iter().map(|x| x * 7).collect();
    let valid: Vec<u8> = x.iter().map(|x| u8::from(x % 3 != 0)).collect();
    let strings = crate::common::Strings::new(x.iter().map(|x| format!("string {x:09}")));
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &a));
    let write = write.column(WriteColumn::fixed("b", &b).nullable(&valid)).column(strings.column("s"));
    write.commit().unwrap();
    let array = OpenOptions::new().threads(1).open_storage(storage).unwrap();
    let all = array.read().collect().unwrap();
    // The second part looks at `b` and `s` only where `a` is 1.
    let second = field("a").eq(1).and(field("b").lt(9000)).and(field("s").lt("string 000001000"));
    let found = array.read().condition(field("a").eq(77).or(second)).collect().unwrap();
    let kept = (0..all.len()).filter(|cell| {
        let x = x[*cell];
        a[*cell] == 77 || a[*cell] == 1 && valid[*cell] != 0 && b[*cell] < 9000 && x < 1000
    });
    let expected: Vec<String> = kept.map(|cell| crate::common::row(&all, cell)).collect();
    let rows: Vec<String> = (0..found.len()).map(|cell| crate::common::row(&found, cell)).collect();
    assert_eq!(rows, expected);
    assert!(rows.len() > 300 && found.field("x").unwrap().values::<i64>().unwrap().last() > Some(&55_000));
}
