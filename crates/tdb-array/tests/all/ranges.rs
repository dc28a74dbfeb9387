//! Several ranges per dimension: equal to the result of a full read, cell by cell.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

use proptest::prelude::*;
use tdb_array::error::QueryError;
use tdb_array::query::{Aggregate, Operand};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Cells, Error, Layout, OpenOptions, Read, WriteColumn, WriteOptions, field};
use tdb_schema::{Attribute, Dimension};

use crate::common::{Strings, row};

const ROWS: i32 = 23;
const COLUMNS: i32 = 17;

/// The value of a cell in the arrays below: different at every place and in every fragment.
fn value(row: i32, column: i32, fragment: i32) -> i32 {
    fragment * 10_000 + row * 100 + column
}

/// First and last row, first and last column.
type Rectangle = ((i32, i32), (i32, i32));

/// A dense array of two dimensions with three kinds of attributes, written in boxes, one fragment
/// each.
fn dense(extents: (i32, i32), orders: (Layout, Layout), boxes: &[Rectangle]) -> Array {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("r", 1..=ROWS).with_tile(extents.0))
        .dimension(Dimension::new("c", 0..=COLUMNS - 1).with_tile(extents.1))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("n", Datatype::Uint16, CellValNum::ONE).with_nulls())
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .tile_order(orders.0)
        .cell_order(orders.1)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (fragment, (rows, columns)) in (1..).zip(boxes) {
        let writer = WriteOptions::new().timestamp(fragment).open_storage(storage.clone()).unwrap();
        let fragment = i32::try_from(fragment).unwrap();
        let cells = (rows.0..=rows.1).flat_map(|r| (columns.0..=columns.1).map(move |c| (r, c)));
        let a: Vec<i32> = cells.map(|(r, c)| value(r, c, fragment)).collect();
        let n: Vec<u16> = a.iter().map(|a| u16::try_from(a % 50_000).unwrap()).collect();
        let valid: Vec<u8> = a.iter().map(|a| u8::from(a % 3 != 0)).collect();
        let strings =
            Strings::new(a.iter().map(|a| "x".repeat(usize::try_from(a % 4).unwrap()) + &a.to_string()));
        let write = writer.write().range("r", rows.0..=rows.1).range("c", columns.0..=columns.1);
        let write =
            write.column(WriteColumn::fixed("a", &a)).column(WriteColumn::fixed("n", &n).nullable(&valid));
        write.column(strings.column("s")).commit().unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

/// Every cell of a result as text, all columns.
fn rows(cells: &Cells) -> Vec<String> {
    (0..cells.len()).map(|cell| row(cells, cell)).collect()
}

fn coordinates(ranges: &[(i32, i32)]) -> Vec<i32> {
    ranges.iter().flat_map(|(low, high)| *low..=*high).collect()
}

fn with_ranges(mut read: Read, dimension: &str, ranges: Option<&Vec<(i32, i32)>>) -> Read {
    if let Some(ranges) = ranges {
        read = read.ranges(dimension, ranges.iter().map(|(low, high)| *low..=*high));
    }
    read
}

fn some_ranges(low: i32, high: i32) -> impl Strategy<Value = Option<Vec<(i32, i32)>>> {
    let one = (low..=high, 0..8i32).prop_map(move |(from, len)| (from, (from + len).min(high)));
    proptest::option::weighted(0.85, proptest::collection::vec(one, 0..6))
}

fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn dense_ranges_give_the_cells_of_a_full_read_in_the_order_asked_for(
        extents in (1..=ROWS, 1..=COLUMNS),
        orders in (layout(), layout()),
        boxes in proptest::collection::vec(((1..=ROWS, 0..12i32), (0..COLUMNS, 0..9i32)), 0..4),
        asked in (some_ranges(1, ROWS), some_ranges(0, COLUMNS - 1)),
        order in prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor), Just(Layout::GlobalOrder)],
    ) {
        let boxes: Vec<_> = boxes
            .into_iter()
            .map(|(r, c)| ((r.0, (r.0 + r.1).min(ROWS)), (c.0, (c.0 + c.1).min(COLUMNS - 1))))
            .collect();
        let array = dense(extents, orders, &boxes);
        let fields = ["r", "a", "s", "c", "n"];
        let all = rows(&array.read().fields(fields).collect().unwrap());
        let read = with_ranges(array.read().fields(fields).order(order), "r", asked.0.as_ref());
        let cells = with_ranges(read, "c", asked.1.as_ref()).collect().unwrap();
        let r = asked.0.as_ref().map_or_else(|| (1..=ROWS).collect(), |ranges| coordinates(ranges));
        let c = asked.1.as_ref().map_or_else(|| (0..COLUMNS).collect(), |ranges| coordinates(ranges));
        let cell = |r: i32, c: i32| all[usize::try_from((r - 1) * COLUMNS + c).unwrap()].clone();
        let expected: Vec<String> = match order {
            Layout::RowMajor => r.iter().flat_map(|r| c.iter().map(|c| cell(*r, *c))).collect(),
            Layout::ColMajor => c.iter().flat_map(|c| r.iter().map(|r| cell(*r, *c))).collect(),
            _ => {
                // Global order has no place for repeated cells: the result is that of a full read,
                // filtered.
                let full = array.read().fields(fields).order(order).collect().unwrap();
                let (rs, cs) = (full.field("r").unwrap(), full.field("c").unwrap());
                let inside = |cell: &usize| {
                    r.contains(&rs.values().unwrap()[*cell]) && c.contains(&cs.values().unwrap()[*cell])
                };
                (0..full.len()).filter(inside).map(|cell| row(&full, cell)).collect()
            }
        };
        if order != Layout::GlobalOrder {
            prop_assert_eq!(cells.shape(), Some(&[r.len(), c.len()][..]));
        }
        prop_assert_eq!(rows(&cells), expected);
    }
}

#[test]
fn dense_ranges_come_in_the_order_they_were_added() {
    let array = dense((4, 5), (Layout::RowMajor, Layout::RowMajor), &[((1, ROWS), (0, COLUMNS - 1))]);
    let read = array.read().fields(["a"]).range("r", 6..=6).range("r", 2..=3).range("c", 1..2);
    let cells = read.collect().unwrap();
    assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [10_601, 10_201, 10_301]);
    let twice = array.read().fields(["a"]).points("r", [3, 3]).points("c", [2, 1, 2]).collect().unwrap();
    assert_eq!(
        twice.field("a").unwrap().values::<i32>().unwrap(),
        [10_302, 10_301, 10_302, 10_302, 10_301, 10_302]
    );
}

#[test]
fn ranges_outside_the_domain_have_no_cells_and_are_refused_on_demand() {
    let array = dense((4, 5), (Layout::RowMajor, Layout::RowMajor), &[((1, 9), (0, 9))]);
    for order in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
        let read = || array.read().order(order);
        let cells = read().range("r", 24..=30).collect().unwrap();
        assert_eq!((cells.len(), cells.columns().len()), (0, 3));
        let rows = |read: Read| read.fields(["r"]).range("c", 0..=0).collect().unwrap().len();
        assert_eq!(rows(read().points("r", [1, 24])), 1);
        let streamed: usize =
            read().range("r", 24..=30).batches().unwrap().map(|batch| batch.unwrap().len()).sum();
        assert_eq!(streamed, 0);
        assert_eq!(read().range("r", 24..=30).explain().unwrap().cells, 0);
        let found = read().range("r", 24..=30).aggregate([Aggregate::count()]).unwrap();
        assert_eq!(found[0].as_u64(), Some(0));
        let parts = read().range("r", 24..=30).partitions(3).unwrap();
        assert_eq!(parts.into_iter().map(|part| part.collect().unwrap().len()).sum::<usize>(), 0);
    }
    let refused = |read: Read| match read.refuse_outside() {
        Err(Error::Query(error)) => matches!(error, QueryError::OutsideDomain { .. }),
        Err(error) => panic!("{error}"),
        Ok(_) => false,
    };
    assert!(refused(array.read().range("r", 24..=30)) && refused(array.read().points("r", [1, 24])));
    assert!(!refused(array.read().range("r", 1..=30)));
}

#[test]
fn ranges_that_do_not_fit_are_refused_one_by_one() {
    let array = dense((4, 5), (Layout::RowMajor, Layout::RowMajor), &[]);
    let error = |read: Read| match read.collect() {
        Err(Error::Query(error)) => error,
        other => panic!("{other:?}"),
    };
    let read = || array.read().range("r", 1..=2);
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let reversed = read().range("r", 5..=4);
    assert!(matches!(error(reversed), QueryError::InvertedRange { .. }));
    assert!(matches!(error(read().points("r", ["x"])), QueryError::RangeType { .. }));
    assert!(matches!(error(read().points("r", [1.5])), QueryError::RangeType { .. }));
    assert!(matches!(error(read().range("rr", 1..=2)), QueryError::UnknownDimension { .. }));
}

#[test]
fn no_ranges_give_no_cells_and_columns_all_the_same() {
    let array = dense((4, 5), (Layout::RowMajor, Layout::RowMajor), &[((1, 9), (0, 9))]);
    for order in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
        let cells = array.read().points("c", [0i32; 0]).order(order).collect().unwrap();
        assert_eq!((cells.len(), cells.columns().len()), (0, 3));
        assert!(cells.columns().iter().all(|column| column.bytes().is_empty()));
        assert_eq!(cells.field("s").unwrap().offsets(), Some(&[0][..]));
    }
    let array = sparse(false, &[vec![(1, 1), (2, 2)]]);
    let cells = array.read().ranges("x", Vec::<core::ops::Range<i64>>::new()).collect().unwrap();
    assert_eq!((cells.len(), cells.columns().len()), (0, 4));
}

/// A sparse array of a number and a string; each list of cells is a fragment.
fn sparse(duplicates: bool, fragments: &[Vec<(i64, i64)>]) -> Array {
    let mut schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=999).with_tile(100i64))
        .dimension(Dimension::string("name"))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .capacity(7);
    if duplicates {
        schema = schema.allow_duplicates();
    }
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
    for (fragment, cells) in (1..).zip(fragments) {
        let mut cells: Vec<(i64, String)> = cells.iter().map(|(x, n)| (*x, format!("{n:03}"))).collect();
        cells.sort();
        if !duplicates {
            cells.dedup();
        }
        let x: Vec<i64> = cells.iter().map(|cell| cell.0).collect();
        let a: Vec<i64> =
            (0..).zip(&x).map(|(i, x)| x * 1000 + i64::try_from(fragment).unwrap() * 100 + i).collect();
        let names = Strings::new(cells.iter().map(|cell| cell.1.clone()));
        let s = Strings::new(a.iter().map(i64::to_string));
        let writer = WriteOptions::new().timestamp(fragment).open_storage(storage.clone()).unwrap();
        let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x));
        write
            .column(names.column("name"))
            .column(WriteColumn::fixed("a", &a))
            .column(s.column("s"))
            .commit()
            .unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn sparse_ranges_give_the_cells_of_a_full_read_once_each(
        duplicates in any::<bool>(),
        fragments in proptest::collection::vec(proptest::collection::vec((0i64..1000, 0i64..40), 1..60), 0..4),
        x in proptest::option::weighted(0.8, proptest::collection::vec((0i64..1000, 0i64..120), 0..9)),
        names in proptest::option::weighted(0.8, proptest::collection::vec((0i64..40, 0i64..8), 0..5)),
        order in prop_oneof![
            Just(Layout::RowMajor), Just(Layout::ColMajor), Just(Layout::GlobalOrder), Just(Layout::Unordered)
        ],
    ) {
        let array = sparse(duplicates, &fragments);
        let full = array.read().order(order).collect().unwrap();
        let mut read = array.read().order(order);
        if let Some(x) = &x {
            read = read.ranges("x", x.iter().map(|(low, len)| *low..=(low + len).min(999)));
        }
        let text = |n: i64| format!("{n:03}");
        if let Some(names) = &names {
            read = read.ranges("name", names.iter().map(|(low, len)| text(*low)..=text(low + len)));
        }
        let xs = full.field("x").unwrap().values::<i64>().unwrap();
        let inside = |cell: &usize| {
            let name = std::str::from_utf8(full.field("name").unwrap().cell(*cell).unwrap()).unwrap();
            let mut within = true;
            if let Some(x) = &x {
                within &= x.iter().any(|(low, len)| (*low..=low + len).contains(&xs[*cell]));
            }
            if let Some(names) = &names {
                within &= names.iter().any(|(low, len)| text(*low).as_str() <= name && name <= text(low + len).as_str());
            }
            within
        };
        let mut expected: Vec<String> = (0..full.len()).filter(inside).map(|cell| row(&full, cell)).collect();
        let mut found = rows(&read.collect().unwrap());
        if order == Layout::Unordered || duplicates {
            expected.sort();
            found.sort();
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn sparse_points_are_ranges_of_one(points in proptest::collection::vec(0i64..1000, 0..200)) {
        let cells: Vec<(i64, i64)> = (0..500).map(|i| (i * 7 % 1000, i % 40)).collect();
        let array = sparse(true, core::slice::from_ref(&cells));
        let found = array.read().points("x", points.clone()).fields(["x"]).collect().unwrap();
        let expected = cells.iter().filter(|(x, _)| points.contains(x)).count();
        prop_assert_eq!(found.len(), expected);
        prop_assert!(found.field("x").unwrap().values::<i64>().unwrap().iter().all(|x| points.contains(x)));
    }
}

#[test]
fn half_ranges_of_every_fixture_make_up_a_full_read() {
    let mut arrays = 0;
    for (id, path) in crate::common::arrays() {
        let array = Array::open(&path).unwrap();
        let schema = array.schema();
        let Some(domain) = array.non_empty_domain() else { continue };
        let dimension = &schema.domain.dimensions[0];
        let Some(last) = dimension.ordinal(&domain[0].high) else { continue };
        let first = dimension.ordinal(&domain[0].low).unwrap();
        let middle = first + (last - first) / 2;
        let at = |ordinal| dimension.coordinate(ordinal);
        if middle == last || last - first > 10_000 {
            continue;
        }
        let whole = |read: Read| -> Vec<String> {
            let mut read = read;
            for (range, dimension) in domain.iter().zip(&schema.domain.dimensions).skip(1) {
                read = read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
            }
            let fields = schema.fields().map(|field| field.name.to_owned());
            rows(&read.fields(fields).order(Layout::RowMajor).collect().unwrap())
        };
        let low = whole(array.read().range_bytes(&dimension.name, at(first), at(middle)));
        let high = whole(array.read().range_bytes(&dimension.name, at(middle + 1), at(last)));
        let read = array.read().range_bytes(&dimension.name, at(middle + 1), at(last));
        let both = whole(read.range_bytes(&dimension.name, at(first), at(middle)));
        // Sparse cells are in the result's order, whatever the order of ranges; dense ones as they
        // were asked for.
        let dense = schema.array_type == tdb_array::schema::ArrayType::Dense;
        let expected = if dense { [high, low].concat() } else { [low, high].concat() };
        if schema.allows_duplicates {
            let sorted = |mut rows: Vec<String>| {
                rows.sort();
                rows
            };
            assert_eq!(sorted(both), sorted(expected), "{id}");
        } else {
            assert_eq!(both, expected, "{id}");
        }
        arrays += 1;
    }
    assert!(arrays > 100, "only {arrays} arrays were looked at");
}

/// The cells of a sparse array whose dimensions have all values of their types: `i8`, and `u64` of
/// which only the ends are used.
fn at_the_ends(fragments: &[Vec<(i8, u64)>]) -> Array {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", i8::MIN..=i8::MAX - 1).with_tile(1i8))
        .dimension(Dimension::new("y", 0u64..=u64::MAX - 1).with_tile(1u64))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .capacity(4)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    for (time, cells) in (1..).zip(fragments) {
        let mut cells = cells.clone();
        cells.sort_unstable();
        cells.dedup();
        let (x, y): (Vec<i8>, Vec<u64>) = cells.into_iter().unzip();
        let a: Vec<i32> = (0..).take(x.len()).collect();
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let write = writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("y", &y));
        write.column(WriteColumn::fixed("a", &a)).commit().unwrap();
    }
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

/// A coordinate near the ends of its type, or anywhere in it.
fn far() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..4, (u64::MAX - 5)..u64::MAX, any::<u64>().prop_map(|any| any.min(u64::MAX - 1))]
}

/// What a comparison of a kind says of an ordering.
fn says(kind: u8, ordering: core::cmp::Ordering) -> bool {
    [
        ordering.is_lt(),
        ordering.is_le(),
        ordering.is_gt(),
        ordering.is_ge(),
        ordering.is_eq(),
        ordering.is_ne(),
    ][usize::from(kind)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

    #[test]
    fn comparisons_of_dimensions_leave_the_cells_that_satisfy_them(
        fragments in proptest::collection::vec(proptest::collection::vec((-128i8..127, far()), 1..30), 1..4),
        tests in proptest::collection::vec((any::<bool>(), 0u8..6, any::<i8>(), far()), 1..4),
        or_of_values: bool,
        order in layout(),
        memory: bool,
    ) {
        let array = at_the_ends(&fragments);
        let mut read = array.read().order(order);
        for (is_x, kind, x, y) in &tests {
            let own = field(if *is_x { "x" } else { "y" });
            let operand = if *is_x { Operand::from(i64::from(*x)) } else { Operand::from(*y) };
            let compared = match kind {
                0 => own.lt(operand),
                1 => own.le(operand),
                2 => own.gt(operand),
                3 => own.ge(operand),
                4 => own.eq(operand),
                _ => own.ne(operand),
            };
            // In a disjunction, a comparison restricts nothing.
            read = read.condition(if or_of_values { compared.or(field("a").lt(3)) } else { compared });
        }
        let holds = |x: i8, y: u64, a: i32| {
            let test = |(is_x, kind, ox, oy): &(bool, u8, i8, u64)| {
                says(*kind, if *is_x { x.cmp(ox) } else { y.cmp(oy) }) || or_of_values && a < 3
            };
            tests.iter().all(test)
        };
        let all = array.read().order(order).collect().unwrap();
        let [x, y, a] = ["x", "y", "a"].map(|name| all.field(name).unwrap());
        let (x, y, a) = (x.values::<i8>().unwrap(), y.values::<u64>().unwrap(), a.values::<i32>().unwrap());
        let kept = (0..all.len()).filter(|cell| holds(x[*cell], y[*cell], a[*cell]));
        let expected: Vec<String> = kept.map(|cell| row(&all, cell)).collect();
        let found = match memory {
            false => rows(&read.clone().collect().unwrap()),
            true => {
                let batches = read.clone().memory("8 MiB".parse().unwrap()).batches().unwrap();
                batches.flat_map(|batch| rows(&batch.unwrap())).collect()
            }
        };
        let sorted = |mut rows: Vec<String>| {
            rows.sort();
            rows
        };
        if order == Layout::Unordered {
            prop_assert_eq!(sorted(found), sorted(expected.clone()));
        } else {
            prop_assert_eq!(&found, &expected);
        }
        let counted = read.aggregate([Aggregate::count()]).unwrap()[0].as_u64();
        prop_assert_eq!(counted, u64::try_from(expected.len()).ok());
    }
}

#[test]
fn a_comparison_of_a_dimension_leaves_out_tiles_as_a_range_does() {
    let array = sparse(false, &[(0..200).map(|x| (x, 0)).collect(), (100..300).map(|x| (x, 1)).collect()]);
    let explain = |read: Read| {
        let explain = read.explain().unwrap();
        (explain.tiles(), explain.cells, explain.bytes())
    };
    let range = explain(array.read().range("x", 20i64..=140));
    let condition = field("x").ge(20).and(field("x").lt(141));
    assert_eq!(explain(array.read().condition(condition)), range);
    assert!(range.0 < explain(array.read()).0);
}
