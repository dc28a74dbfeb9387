//! Compares what explain promises with what queries do.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

use tdb_array::query::{Explain, FieldPlan, Outcome, Purpose};
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Layout, MemoryBudget, OpenOptions, TimeWindow, WriteColumn, WriteOptions, field};
use tdb_filters::Pipeline;
use tdb_schema::{Attribute, Dimension};

use crate::common::{arrays, fixtures};

fn outcomes(explain: &Explain) -> Vec<Outcome> {
    explain.fragments.iter().map(|fragment| fragment.outcome).collect()
}

/// A sparse array with a fragment of ten tiles of ten cells, starting at each of these numbers.
fn sparse(starts: &[i64]) -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=9999).with_tile(10i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .capacity(10)
        .allow_duplicates()
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, start) in (1..).zip(starts) {
        let x: Vec<i64> = (0..100).map(|i| start + i).collect();
        let strings = crate::common::Strings::new(x.iter().map(|x| format!("cell {x}")));
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x));
        write.column(WriteColumn::fixed("a", &x)).column(strings.column("s")).commit().unwrap();
    }
    storage
}

#[test]
fn fragments_outside_the_ranges_or_the_window_are_named_with_the_reason() {
    let storage = sparse(&[0, 1000, 50]);
    let array = OpenOptions::new().window(TimeWindow::until(2)).open_storage(storage).unwrap();
    let explain = array.read().range("x", 25..=49).explain().unwrap();
    let read = Outcome::Read { tiles: 3, whole: 2 };
    assert_eq!(outcomes(&explain), [read, Outcome::OutsideRanges, Outcome::OutsideWindow]);
    let field = |name: &str, asked: bool| {
        let is_asked = |field: &FieldPlan| field.purpose == Purpose::Result;
        let field =
            explain.fields.iter().find(|field| field.name == name && is_asked(field) == asked).unwrap();
        (field.tiles, field.requests)
    };
    assert_eq!(field("a", true), (3, 3));
    assert_eq!(field("s", true), (3, 6), "offsets and values");
    assert_eq!(field("x", false), (1, 1), "only the tile that is cut is compared");
    assert_eq!((explain.cells, explain.exact), (30, false));
    let whole = array.read().range("x", 20..=49).explain().unwrap();
    assert_eq!((whole.cells, whole.exact), (30, true));
    assert!(whole.fields.iter().all(|field| field.purpose == Purpose::Result), "nothing is compared");
}

#[test]
fn what_was_planned_is_what_is_read() {
    let array = OpenOptions::new().threads(1).open_storage(sparse(&[0, 1000, 50])).unwrap();
    for (range, order) in [
        (0..=9999, Layout::Unordered),
        (25..=61, Layout::Unordered),
        (25..=1061, Layout::RowMajor),
        (5000..=6000, Layout::ColMajor),
    ] {
        let query = || array.read().range("x", range.clone()).order(order);
        query().collect().unwrap();
        // The sections are known now: only data is read.
        let explain = query().explain().unwrap();
        let (cells, stats) = query().collect_with_stats().unwrap();
        assert_eq!((stats.requests, stats.bytes_read), (explain.requests(), explain.bytes()), "{range:?}");
        assert_eq!((stats.chunks, stats.bytes_decoded), (explain.chunks(), explain.decoded()), "{range:?}");
        let bytes: usize = cells.columns().iter().map(|column| column.bytes().len()).sum();
        assert!(explain.cells >= u64::try_from(cells.len()).unwrap());
        assert!(explain.result_bytes >= u64::try_from(bytes).unwrap());
        assert!(explain.memory_bytes >= explain.result_bytes);
        assert!(stats.total >= stats.select + stats.order + stats.decode);
        assert!(stats.sections.is_zero(), "{stats:?}");
    }
}

#[test]
fn the_chunks_of_a_plan_are_those_that_writers_cut_whatever_the_max_chunk_size_says() {
    for (size, chunks) in [(0, 1), (7, 13), (65_536, 13), (u32::MAX, 13)] {
        let filters = Pipeline { max_chunk_size: size, filters: Vec::new() };
        let schema = ArraySchema::dense()
            .dimension(Dimension::new("x", 0i64..=99_999).with_tile(100_000i64))
            .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(filters))
            .build()
            .unwrap();
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema).unwrap();
        let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
        writer.write().column(WriteColumn::fixed("a", &[7i64; 100_000])).commit().unwrap();
        let array = OpenOptions::new().threads(1).open_storage(storage).unwrap();
        let explain = array.read().explain().unwrap();
        let (_, stats) = array.read().collect_with_stats().unwrap();
        assert_eq!((explain.chunks(), stats.chunks), (chunks, chunks), "max chunk size {size}");
        // Nor does a budget count it.
        let batches = array.read().memory(MemoryBudget::from_bytes(16 << 20)).batches().unwrap();
        assert_eq!(
            batches.map(|batch| batch.unwrap().len()).sum::<usize>(),
            100_000,
            "max chunk size {size}"
        );
    }
}

/// Tiles and requests of a field, for one purpose.
fn planned(explain: &Explain, name: &str, purpose: Purpose) -> (u64, u64) {
    let is_it = |field: &&FieldPlan| field.name == name && field.purpose == purpose;
    explain.fields.iter().find(is_it).map_or((0, 0), |field| (field.tiles, field.requests))
}

#[test]
fn tiles_that_statistics_exclude_are_counted_and_not_read() {
    let array = OpenOptions::new().threads(1).open_storage(sparse(&[0, 1000, 50])).unwrap();
    let query = || array.read().range("x", 20..).condition(field("a").ge(1085));
    query().collect().unwrap();
    let explain = query().explain().unwrap();
    let read = Outcome::Read { tiles: 2, whole: 2 };
    assert_eq!(outcomes(&explain), [Outcome::OutsideCondition, read, Outcome::OutsideCondition]);
    assert_eq!(explain.fragments.iter().map(|f| f.ruled_out).collect::<Vec<_>>(), [8, 8, 10]);
    assert_eq!(explain.ruled_out(), 26);
    assert_eq!(planned(&explain, "a", Purpose::Condition), (1, 1), "of one tile all cells satisfy it");
    assert_eq!(planned(&explain, "s", Purpose::Result), (2, 4));
    assert_eq!((explain.cells, explain.matching, explain.exact), (20, Some(15), false));
    let (cells, stats) = query().collect_with_stats().unwrap();
    assert_eq!(cells.len(), 15);
    assert_eq!((stats.requests, stats.bytes_read), (explain.requests(), explain.bytes()));
    let none = array.read().condition(field("a").lt(-5)).explain().unwrap();
    assert_eq!((outcomes(&none), none.requests()), (vec![Outcome::OutsideCondition; 3], 0));
    assert_eq!(none.matching, Some(0));
    let of_strings = array.read().condition(field("s").eq("cell 5")).explain().unwrap();
    assert_eq!(of_strings.matching, None, "where a string lies between two others is not known");
    assert_eq!(array.read().explain().unwrap().matching, None);
}

#[test]
fn older_versions_are_looked_for_where_a_match_may_have_some() {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=9999).with_tile(10i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .capacity(10)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, by) in [(1, 0), (2, 500)] {
        let x: Vec<i64> = (0..100).collect();
        let a: Vec<i64> = x.iter().map(|x| x + by).collect();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x));
        write.column(WriteColumn::fixed("a", &a)).commit().unwrap();
    }
    let array = OpenOptions::new().threads(1).open_storage(storage).unwrap();
    let query = || array.read().condition(field("a").lt(10));
    query().collect().unwrap();
    let explain = query().explain().unwrap();
    // The older fragment's first tile matches; the newer one's first tile contains what replaced
    // its cells.
    assert_eq!(outcomes(&explain), [Outcome::Read { tiles: 1, whole: 1 }; 2]);
    assert_eq!(
        planned(&explain, "x", Purpose::Search),
        (2, 2),
        "of the matches and of all their versions, each once"
    );
    let (cells, stats) = query().collect_with_stats().unwrap();
    assert!(cells.is_empty());
    assert!(stats.requests <= explain.requests() && stats.bytes_decoded <= explain.decoded());
}

#[test]
fn tiles_of_dense_arrays_that_statistics_exclude_are_not_read() {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i32..=99).with_tile(10))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("b", Datatype::Int8, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, (low, high)) in (1..).zip([(0, 49), (50, 99)]) {
        let a: Vec<i32> = (low..=high).collect();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().range("x", low..=high).column(WriteColumn::fixed("a", &a));
        write.column(WriteColumn::fixed("b", &[7i8; 50])).commit().unwrap();
    }
    let array = OpenOptions::new().threads(1).open_storage(storage).unwrap();
    let query = || array.read().range("x", 5..).condition(field("a").ge(85)).fields(["b"]);
    query().collect().unwrap();
    let explain = query().explain().unwrap();
    assert_eq!(outcomes(&explain), [Outcome::OutsideCondition, Outcome::Read { tiles: 2, whole: 2 }]);
    assert_eq!(explain.fragments.iter().map(|f| f.ruled_out).collect::<Vec<_>>(), [5, 3]);
    assert_eq!(planned(&explain, "a", Purpose::Condition), (1, 1));
    assert_eq!(planned(&explain, "b", Purpose::Result), (2, 2));
    let (cells, stats) = query().collect_with_stats().unwrap();
    assert_eq!(cells.len(), 95);
    assert_eq!((stats.requests, stats.bytes_read), (explain.requests(), explain.bytes()));
}

#[test]
fn hidden_fragments_of_dense_arrays_are_not_read() {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i32..=99).with_tile(10))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, (low, high)) in (1..).zip([(0, 49), (0, 99), (90, 99)]) {
        let values: Vec<i32> = (low..=high).collect();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        writer.write().range("x", low..=high).column(WriteColumn::fixed("a", &values)).commit().unwrap();
    }
    let array = OpenOptions::new().threads(1).open_storage(storage).unwrap();
    let query = || array.read().points("x", [3, 41, 3]);
    let explain = query().explain().unwrap();
    let read = Outcome::Read { tiles: 2, whole: 2 };
    assert_eq!(outcomes(&explain), [Outcome::Hidden, read, Outcome::OutsideRanges]);
    assert_eq!((explain.cells, explain.exact, explain.result_bytes), (3, true, 12));
    query().collect().unwrap();
    let (cells, stats) = query().collect_with_stats().unwrap();
    assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [3, 41, 3]);
    assert_eq!((stats.requests, stats.bytes_read), (explain.requests(), explain.bytes()));
    assert_eq!(
        (stats.tiles, stats.bytes_decoded),
        (2, 80),
        "a tile is decoded once, however many ranges fall into it"
    );
}

#[test]
fn every_fixture_can_be_explained_and_no_result_is_larger_than_said() {
    for (id, path) in arrays() {
        let array = Array::open(&path).unwrap();
        let mut query = array.read();
        if array.schema().array_type == ArrayType::Dense {
            let Some(domain) = array.non_empty_domain() else { continue };
            for (range, dimension) in domain.iter().zip(&array.schema().domain.dimensions) {
                query = query.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
            }
        }
        let explain = query.clone().explain().unwrap();
        let (cells, stats) = query.collect_with_stats().unwrap();
        let count = u64::try_from(cells.len()).unwrap();
        assert!(
            if explain.exact { explain.cells == count } else { explain.cells >= count },
            "{id}: {explain:?}"
        );
        let stored = array.stored_cells().unwrap();
        let agrees = if stored.is_exact { stored.cells == count } else { stored.cells >= count };
        assert!(agrees, "{id}: {stored:?}, {count}");
        assert!(explain.fragments.len() >= array.fragments().len(), "{id}");
        assert_eq!(stats.tiles == 0, stats.bytes_decoded == 0, "{id}: {stats:?}");
    }
    let consolidated = fixtures().join("arrays/2.30.0/consolidated_sparse");
    if consolidated.exists() {
        let explain = Array::open(consolidated).unwrap().read().explain().unwrap();
        assert!(outcomes(&explain).iter().any(|outcome| matches!(outcome, Outcome::Read { .. })));
    }
}
