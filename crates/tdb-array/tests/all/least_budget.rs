//! The least budget of a query, found by bisection over random arrays: it is the one that errors
//! name, it is enough, and not a byte of it can be spared. What is read within it is what is read
//! without a budget.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed, and its numbers are small"
)]

use core::ops::RangeInclusive;

use proptest::prelude::*;
use tdb_array::error::QueryError;
use tdb_array::query::Aggregate;
use tdb_array::schema::{
    ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline, SchemaBuilder,
};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Error, Layout, MemoryBudget, OpenOptions, Read, WriteColumn, WriteOptions, field};

use crate::common::{Strings, row};

/// A random number for each place.
fn mixed(place: u64, salt: u64) -> u64 {
    let seed = (place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd134_2543_de82_ef95);
    (seed ^ (seed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

/// The attributes that an array may have.
const NAMES: [&str; 5] = ["byte", "number", "triple", "maybe", "text"];

fn attribute(name: &str, filters: Pipeline) -> Attribute {
    match name {
        "byte" => Attribute::new(name, Datatype::Uint8, CellValNum::ONE),
        "number" => Attribute::new(name, Datatype::Int64, CellValNum::ONE),
        "triple" => Attribute::new(name, Datatype::Uint16, CellValNum::Fixed(3.try_into().unwrap())),
        "maybe" => Attribute::new(name, Datatype::Int32, CellValNum::ONE).with_nulls(),
        _ => Attribute::new(name, Datatype::StringAscii, CellValNum::Var).with_nulls(),
    }
    .with_filters(filters)
}

/// The cells of one write, a number each.
struct Written {
    bytes: Vec<u8>,
    numbers: Vec<i64>,
    triples: Vec<u16>,
    maybe: Vec<i32>,
    valid: Vec<u8>,
    texts: Strings,
}

impl Written {
    /// Of some writes, few of the texts are very long.
    fn new(cells: u64, salt: u64) -> Self {
        let of = |cell: u64| mixed(cell, salt);
        let text = |cell: u64| {
            let len = if of(cell) % 4001 == 7 { 3000 } else { of(cell) % 9 };
            "abcdefghi"[..9].chars().cycle().skip((of(cell) % 5) as usize).take(len as usize).collect()
        };
        Self {
            bytes: (0..cells).map(|cell| (of(cell) % 50) as u8).collect(),
            numbers: (0..cells).map(|cell| (of(cell) % 1000).cast_signed()).collect(),
            triples: (0..3 * cells).map(|cell| (of(cell) % 300) as u16).collect(),
            maybe: (0..cells).map(|cell| (of(cell) % 77) as i32).collect(),
            valid: (0..cells).map(|cell| u8::from(of(cell) % 5 != 0)).collect(),
            texts: Strings::new((0..cells).map(text)),
        }
    }

    fn column<'w>(&'w self, name: &'w str) -> WriteColumn<'w> {
        match name {
            "byte" => WriteColumn::fixed(name, &self.bytes),
            "number" => WriteColumn::fixed(name, &self.numbers),
            "triple" => WriteColumn::fixed(name, &self.triples),
            "maybe" => WriteColumn::fixed(name, &self.maybe).nullable(&self.valid),
            _ => self.texts.column(name).nullable(&self.valid),
        }
    }
}

type Sides = [RangeInclusive<i64>; 2];

/// A random array, and a random query of it.
#[derive(Clone, Debug)]
struct Case {
    dense: bool,
    duplicates: bool,
    domain: [i64; 2],
    tile: [i64; 2],
    capacity: u64,
    orders: (Layout, Layout),
    names: Vec<&'static str>,
    filters: Vec<Filter>,
    writes: Vec<Sides>,
    asked: [Vec<RangeInclusive<i64>>; 2],
    order: Layout,
    condition: bool,
    threads: usize,
}

fn filters() -> impl Strategy<Value = Vec<Filter>> {
    prop_oneof![
        Just(vec![]),
        Just(vec![Filter::Zstd { level: 1 }]),
        Just(vec![Filter::ByteShuffle, Filter::Zstd { level: 1 }]),
        Just(vec![Filter::BitShuffle, Filter::Lz4 { level: 1 }]),
        Just(vec![Filter::Rle { level: 0 }]),
        Just(vec![Filter::Bzip2 { level: 1 }]),
    ]
}

/// A part of `0..side` by two numbers between 0 and 1.
fn part(side: i64, ends: (f64, f64)) -> RangeInclusive<i64> {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let at = |end: f64| ((end * side as f64) as i64).min(side - 1);
    at(ends.0.min(ends.1))..=at(ends.0.max(ends.1))
}

fn ends() -> impl Strategy<Value = (f64, f64)> {
    prop_oneof![Just((0.0, 1.0)), (0.0..1.0, 0.0..1.0), (0.0..1.0f64).prop_map(|at| (at, at))]
}

fn case(dense: impl Strategy<Value = bool>) -> impl Strategy<Value = Case> {
    // Tiles of one chunk, and of many.
    let sides = prop_oneof![
        (Just([60, 50]), Just([20, 25])),
        (Just([500, 700]), Just([250, 700])),
        (Just([900, 40]), Just([900, 40])),
        (Just([40, 9000]), Just([40, 9000])),
        (Just([1, 300_000]), Just([1, 300_000])),
    ];
    let orders = prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)];
    let names = proptest::sample::subsequence(NAMES.to_vec(), 1..=3);
    let order = prop_oneof![
        Just(Layout::RowMajor),
        Just(Layout::ColMajor),
        Just(Layout::GlobalOrder),
        Just(Layout::Unordered)
    ];
    let kind = (dense, any::<bool>(), sides, prop_oneof![Just(7u64), Just(500), Just(20_000)]);
    let schema = (orders.clone(), orders, names, filters());
    let writes = proptest::collection::vec((ends(), ends()), 1..4);
    let asked = (proptest::collection::vec(ends(), 0..3), proptest::collection::vec(ends(), 0..2));
    (kind, schema, writes, asked, (order, any::<bool>(), 1usize..3)).prop_map(
        |(
            (dense, duplicates, (domain, tile), capacity),
            schema,
            writes,
            asked,
            (order, condition, threads),
        )| Case {
            dense,
            duplicates,
            domain,
            tile,
            capacity,
            orders: (schema.0, schema.1),
            names: schema.2,
            filters: schema.3,
            writes: writes
                .into_iter()
                .map(|(rows, columns)| [part(domain[0], rows), part(domain[1], columns)])
                .collect(),
            asked: [
                asked.0.into_iter().map(|ends| part(domain[0], ends)).collect(),
                asked.1.into_iter().map(|ends| part(domain[1], ends)).collect(),
            ],
            order,
            condition,
            threads,
        },
    )
}

impl Case {
    fn array(&self) -> Array {
        let pipeline = || Pipeline::new(self.filters.clone());
        let dimension =
            |name: &str, at: usize| Dimension::new(name, 0..=self.domain[at] - 1).with_tile(self.tile[at]);
        let schema = if self.dense { ArraySchema::dense() } else { ArraySchema::sparse() };
        let schema = schema.dimension(dimension("y", 0)).dimension(dimension("x", 1));
        let schema = schema.tile_order(self.orders.0).cell_order(self.orders.1);
        let schema =
            self.names.iter().fold(schema, |schema, name| schema.attribute(attribute(name, pipeline())));
        let sparse = |schema: SchemaBuilder| {
            let schema = schema.capacity(self.capacity);
            if self.duplicates { schema.allow_duplicates() } else { schema }
        };
        let schema = if self.dense { schema } else { sparse(schema) };
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
        for (time, sides) in (1u64..).zip(&self.writes) {
            self.write(&storage, time, sides);
        }
        OpenOptions::new().threads(self.threads).open_storage(storage).unwrap()
    }

    fn write(&self, storage: &MemoryStorage, time: u64, [rows, columns]: &Sides) {
        let places = || rows.clone().flat_map(|y| columns.clone().map(move |x| (y, x)));
        // Of sparse arrays, a few thousand cells.
        let all = places().count() as u64;
        let step = if self.dense { 1 } else { all / 4000 + 1 };
        let kept: Vec<(i64, i64)> = (0u64..)
            .zip(places())
            .filter(|(at, _)| mixed(*at, time).is_multiple_of(step))
            .map(|(_, place)| place)
            .collect();
        if kept.is_empty() {
            return;
        }
        let written = Written::new(kept.len() as u64, time);
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let (y, x): (Vec<i64>, Vec<i64>) = kept.into_iter().unzip();
        let mut write = writer.write();
        write = if self.dense {
            write.range("y", rows.clone()).range("x", columns.clone())
        } else {
            write
                .order(Layout::Unordered)
                .column(WriteColumn::fixed("y", &y))
                .column(WriteColumn::fixed("x", &x))
        };
        self.names.iter().fold(write, |write, name| write.column(written.column(name))).commit().unwrap();
    }

    fn read(&self, array: &Array) -> Read {
        let mut read = array.read().order(self.order);
        for (name, asked) in ["y", "x"].iter().zip(&self.asked) {
            read = asked.iter().fold(read, |read, range| read.range(*name, range.clone()));
        }
        match (self.condition, self.names[0]) {
            (true, name @ ("byte" | "number")) => read.condition(field(name).lt(30)),
            (true, "text") => read.condition(field("text").ne("ab")),
            _ => read,
        }
    }
}

fn budget(bytes: u64) -> MemoryBudget {
    MemoryBudget::from_bytes(bytes)
}

/// What came of a query: its cells as bytes, or the budget that it says it needs.
type Outcome = Result<Vec<Vec<u8>>, u64>;

fn outcome(result: tdb_array::Result<Vec<Vec<u8>>>) -> Outcome {
    result.map_err(|error| match error {
        Error::Query(QueryError::BudgetTooSmall { min, .. } | QueryError::OverBudget { needed: min, .. }) => {
            min.bytes()
        }
        other => panic!("{other}"),
    })
}

/// The cells of all batches: their columns, or sorted rows where a query has no order.
fn streamed(read: Read, has_order: bool) -> tdb_array::Result<Vec<Vec<u8>>> {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for batch in read.batches()? {
        let batch = batch?;
        columns.resize(3 * batch.columns().len(), Vec::new());
        if !has_order {
            rows.extend((0..batch.len()).map(|cell| row(&batch, cell).into_bytes()));
            continue;
        }
        for (column, slots) in batch.columns().iter().zip(columns.chunks_mut(3)) {
            slots[0].extend_from_slice(column.bytes());
            slots[1].extend_from_slice(column.validity().unwrap_or_default());
            let lens = column
                .offsets()
                .unwrap_or_default()
                .windows(2)
                .flat_map(|ends| (ends[1] - ends[0]).to_le_bytes());
            slots[2].extend(lens);
        }
    }
    rows.sort();
    Ok(if has_order { columns } else { rows })
}

fn aggregated(read: Read, name: &str) -> tdb_array::Result<Vec<Vec<u8>>> {
    let list = match name {
        "triple" => vec![Aggregate::count()],
        name => vec![Aggregate::count(), Aggregate::max(name)],
    };
    Ok(read.aggregate(list)?.iter().map(|value| format!("{value:?}").into_bytes()).collect())
}

/// Finds the least budget of a query by bisection; it must be the one that a budget of a byte is
/// told.
fn check(what: &str, case: &Case, expected: &[Vec<u8>], ask: impl Fn(MemoryBudget) -> Outcome) {
    let named = match ask(budget(1)) {
        Ok(_) => panic!("{what}: one byte is enough for {case:?}"),
        Err(named) => named,
    };
    let works = |bytes: u64| match ask(budget(bytes)) {
        Ok(found) => {
            assert!(found == expected, "{what}: other cells in {bytes} bytes: {case:?}");
            true
        }
        Err(least) => {
            assert_eq!(least, named, "{what}: {bytes} bytes are told something else: {case:?}");
            false
        }
    };
    let (mut refused, mut enough) = (1u64, 2 * named);
    assert!(works(enough), "{what}: not even {enough} bytes are enough: {case:?}");
    for step in 0.. {
        // The least one should be the one that was named; whether a smaller one is enough is looked
        // for in a few steps first.
        let middle = match step {
            0 => named,
            1..6 => refused.midpoint(enough),
            6 if enough == named => named - 1,
            _ if enough - refused > 1 => refused.midpoint(enough),
            _ => break,
        };
        if works(middle) {
            enough = middle;
        } else {
            refused = middle;
        }
    }
    assert_eq!(enough, named, "{what}: the least budget is another: {case:?}");
}

fn check_case(case: &Case) {
    let array = case.array();
    let has_order = case.dense || case.order != Layout::Unordered;
    let stream = |memory| streamed(case.read(&array).memory(memory), has_order);
    check("stream", case, &stream(budget(1 << 34)).unwrap(), |memory| outcome(stream(memory)));
    let name = *case.names.last().unwrap();
    let aggregate = |memory| aggregated(case.read(&array).memory(memory), name);
    // What statistics answer takes no memory.
    if aggregate(budget(1)).is_err() {
        let whole = aggregated(case.read(&array), name).unwrap();
        check("aggregate", case, &whole, |memory| outcome(aggregate(memory)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_least_budget_of_a_dense_query_is_named_and_not_a_byte_of_it_can_be_spared(case in case(Just(true))) {
        check_case(&case);
    }

    #[test]
    fn the_least_budget_of_a_sparse_query_is_named_and_not_a_byte_of_it_can_be_spared(case in case(Just(false))) {
        check_case(&case);
    }
}

/// Tiles of `cells` bytes, shuffled and compressed in chunks, as vector searches store them.
fn of_one_tile(columns: i64, threads: usize) -> Array {
    let filters = Pipeline::new(vec![Filter::ByteShuffle, Filter::Zstd { level: 1 }]);
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("row", 0..=127i64).with_tile(128i64))
        .dimension(Dimension::new("column", 0..=columns - 1).with_tile(columns))
        .cell_order(Layout::ColMajor)
        .attribute(Attribute::new("a", Datatype::Uint8, CellValNum::ONE).with_filters(filters));
    let storage = MemoryStorage::default();
    let options = WriteOptions::new();
    options.clone().create_storage(&storage, &schema.build().unwrap()).unwrap();
    let cells: Vec<u8> = (0..128 * columns.cast_unsigned()).map(|cell| mixed(cell, 3) as u8).collect();
    let write = options.open_storage(storage.clone()).unwrap();
    let write = write.write().range("row", 0..=127).range("column", 0..=columns - 1);
    write.column(WriteColumn::fixed("a", &cells)).commit().unwrap();
    OpenOptions::new().threads(threads).open_storage(storage).unwrap()
}

#[test]
fn a_few_cells_of_a_tile_that_is_far_larger_than_the_budget_are_read_chunk_by_chunk() {
    let array = of_one_tile(100_000, 2);
    let memory = budget(4 << 20);
    let read = || array.read().range("row", 0..=127).range("column", 0..=0);
    let whole = read().collect().unwrap();
    let within = read().memory(memory).collect().unwrap();
    assert_eq!(within.columns()[0].bytes(), whole.columns()[0].bytes());
    let across = || array.read().range("row", 77..=77);
    let whole = across().collect().unwrap();
    for order in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
        let mut found = Vec::new();
        for batch in across().order(order).memory(memory).batches().unwrap() {
            found.extend_from_slice(batch.unwrap().columns()[0].bytes());
        }
        assert_eq!(found, whole.columns()[0].bytes(), "{order:?}");
    }
    let sum = across().memory(memory).aggregate([Aggregate::sum("a")]).unwrap();
    let expected = whole.columns()[0].bytes().iter().map(|byte| u64::from(*byte)).sum::<u64>();
    assert_eq!(sum[0].as_u64(), Some(expected));
}
