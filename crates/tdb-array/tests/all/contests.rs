//! Fragments that lie apart hold no versions of each other's cells: nothing is compared then, and
//! nothing else changes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tdb_array::error::QueryError;
use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::query::{Aggregate, Explain, Purpose};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Error, Layout, MemoryBudget, OpenOptions, Read, WriteColumn, WriteOptions, field};

use crate::common::Strings;

type Storage = Arc<MemoryStorage>;
type Pair = (i32, i32);

/// The dimensions of an array: what can prove that fragments are apart differs.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Two of integers.
    Plane,
    /// Strings, then integers.
    Named,
    /// Reals, then integers.
    Real,
}

/// The cells of a fragment: coordinates and values.
type Cells = BTreeMap<Pair, i64>;

const ORDERS: [Layout; 4] = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];

fn create(shape: Shape, capacity: u64) -> Storage {
    let first = match shape {
        Shape::Plane => Dimension::new("x", -40i32..=99).with_tile(10i32),
        Shape::Named => Dimension::string("x"),
        Shape::Real => Dimension::new("x", -40.0f64..=99.0).with_tile(10.0f64),
    };
    let schema = ArraySchema::sparse()
        .dimension(first)
        .dimension(Dimension::new("y", 0i32..=99).with_tile(10i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringUtf8, CellValNum::Var))
        .capacity(capacity)
        .build()
        .unwrap();
    let storage = Arc::new(MemoryStorage::default());
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    storage
}

/// The string of a cell whose number is `a`: some are empty.
fn text(a: i64) -> String {
    "é".repeat(usize::try_from(a % 4).unwrap()) + &"7".repeat(usize::try_from(a % 3).unwrap())
}

fn write(storage: &Storage, shape: Shape, time: u64, cells: &Cells) {
    let x: Vec<i32> = cells.keys().map(|(x, _)| *x).collect();
    let reals: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let names = Strings::new(x.iter().map(|x| format!("n{:03}", x + 40)));
    let y: Vec<i32> = cells.keys().map(|(_, y)| *y).collect();
    let a: Vec<i64> = cells.values().copied().collect();
    let first = match shape {
        Shape::Plane => WriteColumn::fixed("x", &x),
        Shape::Named => names.column("x"),
        Shape::Real => WriteColumn::fixed("x", &reals),
    };
    let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
    let strings = Strings::new(a.iter().map(|a| text(*a)));
    let write = writer.write().column(first).column(WriteColumn::fixed("y", &y));
    write.column(WriteColumn::fixed("a", &a)).column(strings.column("s")).commit().unwrap();
}

fn open(storage: &Storage) -> Array {
    OpenOptions::new().threads(2).open_storage(storage.clone()).unwrap()
}

/// The values of `a`, ascending, read in batches of a few cells.
fn values(read: Read) -> Vec<i64> {
    let mut found = Vec::new();
    for batch in read.fields(["a"]).batch_memory(MemoryBudget::from_bytes(1 << 15)).batches().unwrap() {
        found.extend_from_slice(batch.unwrap().field("a").unwrap().values::<i64>().unwrap());
    }
    found.sort_unstable();
    found
}

/// How many tiles of coordinates a query looks at to find and compare cells.
fn compared(explain: &Explain) -> u64 {
    explain.fields.iter().filter(|own| own.purpose == Purpose::Search).map(|own| own.tiles).sum()
}

/// Twelve cells of a row, beginning at a place.
fn line(x: i32, from: i32) -> Cells {
    (0..12).map(|step| ((x, from + step), i64::from(1000 * x + from + step))).collect()
}

#[test]
fn fragments_along_a_line_are_not_compared_unless_one_reaches_into_the_other() {
    for (second, expected) in [(12, 0), (11, 12)] {
        let storage = create(Shape::Plane, 4);
        write(&storage, Shape::Plane, 1, &line(7, 0));
        write(&storage, Shape::Plane, 2, &line(7, second));
        let read = || open(&storage).read().fields(["a"]);
        assert_eq!(compared(&read().explain().unwrap()), expected, "{second}");
        let count = u64::try_from(values(read()).len()).unwrap();
        assert_eq!(count, if second == 12 { 24 } else { 23 });
        assert_eq!(read().explain().unwrap().exact, second == 12);
        let stored = open(&storage).stored_cells().unwrap();
        assert_eq!((stored.cells, stored.is_exact), (24, second == 12));
    }
}

#[test]
fn a_range_that_meets_one_of_several_overlapping_fragments_compares_nothing() {
    let storage = create(Shape::Named, 4);
    for (time, x, from) in [(1, 1, 0), (2, 1, 5), (3, 50, 0)] {
        write(&storage, Shape::Named, time, &line(x, from));
    }
    let read = open(&storage).read().fields(["a"]);
    assert!(compared(&read.clone().explain().unwrap()) > 0);
    let one = read.range("x", "n080"..="n100");
    assert_eq!(compared(&one.clone().explain().unwrap()), 0);
    assert_eq!(values(one).len(), 12);
}

#[test]
fn a_fragment_with_a_history_is_compared_although_it_is_the_only_one() {
    let storage = create(Shape::Plane, 4);
    write(&storage, Shape::Plane, 1, &line(7, 0));
    write(&storage, Shape::Plane, 2, &line(7, 0));
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    let array = open(&storage);
    assert_eq!(array.fragments().len(), 1);
    assert!(array.fragments()[0].footer().has_timestamps);
    assert!(compared(&array.read().fields(["a"]).explain().unwrap()) > 0);
    assert_eq!(values(array.read()).len(), 12);
    let stored = array.stored_cells().unwrap();
    assert_eq!((stored.cells, stored.is_exact), (24, false));
}

/// A query and its name.
type Ask = (&'static str, fn(Read));

/// Every second cell of a row, beginning at a place, in a fragment whose tiles others overlap.
fn every_second(from: i32) -> Cells {
    (0..12).map(|step| ((7, from + 2 * step), i64::from(from + 2 * step))).collect()
}

#[test]
fn what_a_query_of_all_cells_found_out_spares_later_ones_the_search() {
    let sum = |read: Read| read.aggregate([Aggregate::sum("a")]).unwrap()[0].as_i64().unwrap();
    let asks: [Ask; 7] = [
        ("unordered", |read| drop(read.collect().unwrap())),
        ("row-major", |read| drop(read.order(Layout::RowMajor).collect().unwrap())),
        ("global order", |read| drop(read.order(Layout::GlobalOrder).fields(["a"]).collect().unwrap())),
        ("totals", |read| drop(read.aggregate([Aggregate::count()]).unwrap())),
        ("totals in a budget", |read| {
            let read = read.memory(MemoryBudget::from_bytes(1 << 21));
            drop(read.aggregate([Aggregate::count()]).unwrap());
        }),
        ("groups", |read| drop(read.group_by(["x"]).aggregate([Aggregate::count()]).unwrap())),
        ("parts", |read| read.tile_partitions(2).unwrap()[0].find_visible_cells().unwrap()),
    ];
    for is_twice in [false, true] {
        let storage = create(Shape::Plane, 4);
        write(&storage, Shape::Plane, 1, &every_second(0));
        let mut second = every_second(1);
        if is_twice {
            second.insert((7, 10), 1010);
        }
        write(&storage, Shape::Plane, 2, &second);
        let expected = (0..24).sum::<i64>() + if is_twice { 1000 } else { 0 };
        for (name, ask) in asks {
            let array = open(&storage);
            let searched = || compared(&array.read().fields(["a"]).explain().unwrap());
            assert!(searched() > 0, "{name}");
            // Of some cells it says nothing about the others.
            ask(array.read().range("y", 0..=8));
            array.read().condition(field("a").lt(5i64)).collect().unwrap();
            assert!(searched() > 0, "{name}");
            ask(array.read());
            assert_eq!(searched() > 0, is_twice, "{name}");
            assert_eq!(sum(array.read()), expected, "{name}");
            assert_eq!(values(array.read()).iter().sum::<i64>(), expected, "{name}");
            assert_eq!(sum(open(&storage).read()), expected, "{name}");
        }
    }
}

/// The least memory that is enough for all cells, and how many these are.
fn in_least_memory(array: &Array) -> (u64, usize) {
    let mut budget = MemoryBudget::from_bytes(1);
    loop {
        let batches = array.read().memory(budget).batches();
        let cells = batches.and_then(|batches| batches.map(|batch| Ok(batch?.len())).sum());
        match cells {
            Ok(cells) => return (budget.bytes(), cells),
            Err(Error::Query(QueryError::BudgetTooSmall { min, .. })) if min.bytes() > budget.bytes() => {
                budget = min;
            }
            Err(error) => panic!("{} bytes: {error}", budget.bytes()),
        }
    }
}

#[test]
fn a_query_that_is_spared_the_search_needs_no_more_memory() {
    let storage = create(Shape::Plane, 10_000);
    for (time, odd) in [(1, 0), (2, 1)] {
        let all = (-40i32..=99).flat_map(|x| (0..=99).map(move |y| (x, y)));
        let own = all.filter(|(x, y)| (x + y).rem_euclid(2) == odd);
        write(&storage, Shape::Plane, time, &own.map(|(x, y)| ((x, y), i64::from(x + 40 + y))).collect());
    }
    let array = open(&storage);
    let before = in_least_memory(&array);
    assert_eq!(before.1, 14_000);
    let count = |memory: Option<u64>| {
        let read = memory.map(MemoryBudget::from_bytes).into_iter().fold(array.read(), Read::memory);
        read.aggregate([Aggregate::count()]).unwrap()[0].as_u64()
    };
    assert_eq!(count(None), Some(14_000));
    assert_eq!(compared(&array.read().fields(["a"]).explain().unwrap()), 0);
    assert_eq!(in_least_memory(&array), before);
    assert_eq!(count(Some(before.0)), Some(14_000));
}

#[test]
fn what_was_found_out_about_a_past_says_nothing_about_the_present() {
    let storage = create(Shape::Plane, 4);
    write(&storage, Shape::Plane, 1, &every_second(0));
    write(&storage, Shape::Plane, 2, &every_second(1));
    let before = open(&storage);
    assert_eq!(before.read().collect().unwrap().len(), 24);
    write(&storage, Shape::Plane, 3, &every_second(0));
    assert_eq!(open(&storage).read().collect().unwrap().len(), 24);
    assert_eq!(values(open(&storage).read()).len(), 24);
    assert_eq!(values(before.read()).len(), 24);
}

/// Fragments in some arrangement: one after the other, in a grid, or anywhere; neighbours may share
/// a cell.
fn fragments() -> impl Strategy<Value = Vec<Cells>> {
    let place = |kind: u8, index: i32, (x, y): Pair, (wide, high): Pair| match kind {
        0 => ((-3, index * 12), (1, 12 + i32::from(wide == 5))),
        1 => ((index * 12 - 40, 0), (12 + i32::from(high == 5), 3)),
        2 => (((index % 3) * 20, (index / 3) * 20), (18 + wide / 2, 18 + high / 2)),
        _ => ((x, y), (wide * 4, high * 4)),
    };
    let own = ((-40..60, 0..60), (1..6, 1..6), any::<u64>());
    (0..4u8, prop::collection::vec(own, 1..7)).prop_map(move |(kind, all)| {
        let cells = |(index, (at, size, seed)): (usize, (Pair, Pair, u64))| {
            let ((x, y), (wide, high)) = place(kind, i32::try_from(index).unwrap(), at, size);
            // The corners, and some cells between them.
            let mut cells = Cells::new();
            let mut state = seed | 1;
            for step in 0..80 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let some = |most: i32, shift: u32| {
                    i32::try_from((state >> shift) % u64::try_from(most).unwrap()).unwrap()
                };
                let place = match step {
                    0 => (x, y),
                    1 => (x + wide - 1, y + high - 1),
                    _ => (x + some(wide, 40), y + some(high, 20)),
                };
                cells.insert(place, i64::try_from(index).unwrap() * 1000 + step);
            }
            cells
        };
        all.into_iter().enumerate().map(cells).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_arrangement_reads_as_the_newest_cells(
        fragments in fragments(),
        kind in 0..3usize,
        (low, high) in (0..99i32, 0..99i32),
        least in 0..6000i64,
        capacity in prop::sample::select(vec![4u64, 20, 100]),
        again in any::<bool>(),
    ) {
        let shape = [Shape::Plane, Shape::Named, Shape::Real][kind];
        let storage = create(shape, capacity);
        let mut newest = Cells::new();
        for (time, cells) in (1..).zip(&fragments) {
            write(&storage, shape, time, cells);
            newest.extend(cells.iter().map(|(place, value)| (*place, *value)));
        }
        // One array knows what earlier queries found out, others find it out each time.
        let known = open(&storage);
        let start = || if again { known.read() } else { open(&storage).read() };
        let model = |keep: &dyn Fn(i32, i64) -> bool| {
            let mut found: Vec<i64> =
                newest.iter().filter(|((_, y), a)| keep(*y, **a)).map(|(_, a)| *a).collect();
            found.sort_unstable();
            found
        };
        let (low, high) = (low.min(high), low.max(high));
        for order in ORDERS {
            let read = || start().order(order);
            prop_assert_eq!(values(read()), model(&|_, _| true), "{:?}", order);
            prop_assert_eq!(values(read().range("y", low..=high)), model(&|y, _| (low..=high).contains(&y)));
            let condition = field("a").ge(least);
            prop_assert_eq!(values(read().condition(condition)), model(&|_, a| a >= least));
            // So few cells of a tile that others are looked for by their fingerprints.
            let few = || field("a").ge(least).and(field("a").lt(least + 3));
            prop_assert_eq!(values(read().condition(few())), model(&|_, a| (least..least + 3).contains(&a)));
            let inside = |y: i32, a: i64| (low..=high).contains(&y) && (least..least + 3).contains(&a);
            prop_assert_eq!(values(read().range("y", low..=high).condition(few())), model(&inside));
            let whole = read().condition(few()).fields(["y", "a"]).collect().unwrap();
            let mut found = whole.field("a").unwrap().values::<i64>().unwrap().to_vec();
            found.sort_unstable();
            prop_assert_eq!(found, model(&|_, a| (least..least + 3).contains(&a)));
            let whole = read().fields(["x", "y", "a", "s"]).collect().unwrap();
            prop_assert_eq!(whole.len(), newest.len());
            let strings = whole.field("s").unwrap();
            for (cell, a) in whole.field("a").unwrap().values::<i64>().unwrap().iter().enumerate() {
                let expected = text(*a);
                prop_assert_eq!(strings.cell(cell).unwrap(), expected.as_bytes());
            }
            for asked in [read(), read().range("y", low..=high)] {
                let explain = asked.clone().explain().unwrap();
                let found = u64::try_from(asked.collect().unwrap().len()).unwrap();
                prop_assert!(explain.cells == found || (explain.cells > found && !explain.exact));
            }
            let stored = open(&storage).stored_cells().unwrap();
            let found = u64::try_from(newest.len()).unwrap();
            prop_assert!(stored.cells == found || (stored.cells > found && !stored.is_exact));
        }
        // In global order, batches and the whole are in the same order.
        let whole = start().order(Layout::GlobalOrder).range("y", low..=high).fields(["a"]).collect().unwrap();
        let mut streamed = Vec::new();
        let read = start().order(Layout::GlobalOrder).range("y", low..=high).fields(["a"]);
        for batch in read.batch_memory(MemoryBudget::from_bytes(1 << 15)).batches().unwrap() {
            streamed.extend_from_slice(batch.unwrap().field("a").unwrap().values::<i64>().unwrap());
        }
        prop_assert_eq!(whole.field("a").unwrap().values::<i64>().unwrap(), streamed.as_slice());
        let in_order = |layout: Layout| start().order(layout).fields(["a"]).collect().unwrap();
        let all = in_order(Layout::RowMajor);
        let rows: Vec<i64> = newest.values().copied().collect();
        prop_assert_eq!(all.field("a").unwrap().values::<i64>().unwrap(), rows.as_slice());
        for budget in [None, Some(MemoryBudget::from_bytes(1 << 21))] {
            let count = |read: Read| {
                let read = budget.iter().fold(read, |read, budget| read.memory(*budget));
                usize::try_from(read.aggregate([Aggregate::count()]).unwrap()[0].as_u64().unwrap()).unwrap()
            };
            prop_assert_eq!(count(start()), newest.len());
            let inside = model(&|y, _| (low..=high).contains(&y)).len();
            prop_assert_eq!(count(start().range("y", low..=high)), inside);
            let larger = model(&|_, a| a >= least).len();
            prop_assert_eq!(count(start().condition(field("a").ge(least))), larger);
        }
        for most in [1, 2, 5] {
            let parts = |read: Read| read.tile_partitions(most).unwrap();
            let sorted = |parts: Vec<Read>| {
                let mut found: Vec<i64> = parts.into_iter().flat_map(values).collect();
                found.sort_unstable();
                found
            };
            prop_assert_eq!(sorted(parts(start())), model(&|_, _| true), "{} parts of tiles", most);
            let larger = field("a").ge(least);
            let read = start().range("y", low..=high).condition(larger.clone());
            let expected = model(&|y, a| (low..=high).contains(&y) && a >= least);
            prop_assert_eq!(sorted(parts(read.clone())), expected.clone());
            // Of what the parts have found out, some is asked for, and a part of a part.
            let within = || field("y").ge(low).and(field("y").le(high));
            let narrowed = parts(start().condition(larger.clone())).into_iter().map(|part| part.and_condition(within()));
            let cut = narrowed.flat_map(|part| part.tile_partitions(2).unwrap());
            prop_assert_eq!(sorted(cut.collect()), expected.clone());
            let narrowed = parts(start()).into_iter().map(|part| part.and_condition(within().and(larger.clone())));
            prop_assert_eq!(sorted(narrowed.collect()), expected.clone());
            let conditioned = parts(start()).into_iter().map(|part| part.condition(within().and(larger.clone())));
            prop_assert_eq!(sorted(conditioned.collect()), expected.clone());
            // Up to ten threads.
            for budget in [None, Some(MemoryBudget::from_bytes(1 << 23))] {
                let count = |read: Read| {
                    let read = budget.iter().fold(read, |read, budget| read.memory(*budget));
                    read.aggregate([Aggregate::count(), Aggregate::sum("a")]).unwrap()
                };
                let found: Vec<_> = parts(read.clone()).into_iter().map(count).collect();
                let counted: u64 = found.iter().map(|found| found[0].as_u64().unwrap()).sum();
                let sum: i64 = found.iter().filter_map(|found| found[1].as_i64()).sum();
                prop_assert_eq!((usize::try_from(counted).unwrap(), sum), (expected.len(), expected.iter().sum::<i64>()));
            }
            let in_rows = parts(start()).into_iter().map(|part| part.order(Layout::RowMajor));
            prop_assert_eq!(sorted(in_rows.collect()), model(&|_, _| true));
        }
        let parts = start().fields(["a"]).partitions(3).unwrap();
        let mut of_parts: Vec<i64> = parts.into_iter().flat_map(values).collect();
        of_parts.sort_unstable();
        prop_assert_eq!(of_parts, model(&|_, _| true));
    }
}

#[test]
fn cells_outside_the_domain_of_their_fragment_are_still_compared() {
    let storage = create(Shape::Plane, 4);
    let cells: Cells = (3..=90).map(|x| ((x, x % 50), i64::from(x))).collect();
    for time in [1, 2] {
        write(&storage, Shape::Plane, time, &cells);
        let written = format!("__{time}_{time}_");
        let has_x = |key: &String| key.contains(&written) && key.ends_with("/d0.tdb");
        let key = storage.keys().into_iter().find(has_x).unwrap();
        let mut bytes = storage.remove(&key).unwrap().to_vec();
        // The keys of all other cells are as narrow as the domain.
        let at = bytes.windows(4).rposition(|own| own == 52i32.to_le_bytes()).unwrap();
        bytes[at..at + 4].copy_from_slice(&99_999i32.to_le_bytes());
        storage.insert(key, bytes);
    }
    let (all, sum) = (cells.len() as u64, cells.values().sum::<i64>());
    for budget in [None, Some(MemoryBudget::from_bytes(1 << 20))] {
        let read = budget.into_iter().fold(open(&storage).read(), Read::batch_memory);
        let found = read.aggregate([Aggregate::count(), Aggregate::sum("a")]).unwrap();
        assert_eq!(found[0].as_u64(), Some(all));
        assert_eq!(found[1].as_i64(), Some(sum));
    }
    let found = open(&storage).read().fields(["x", "a"]).collect().unwrap();
    assert!(found.field("x").unwrap().values::<i32>().unwrap().contains(&99_999));
    assert_eq!(found.len, cells.len());
}
