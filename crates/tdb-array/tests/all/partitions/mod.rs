//! Queries in parts, and queries as bytes: together the parts return the whole result, wherever
//! they are read.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

mod described;

use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use tdb_array::query::{Aggregate, QueryDescription};
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension, Range};
use tdb_array::storage::MemoryStorage;
use tdb_array::storage::testing::FarStorage;
use tdb_array::{Array, Cells, Key, Layout, OpenOptions, Read, TimeWindow, WriteColumn, WriteOptions, field};

use crate::common::Strings;

const COUNTS: [usize; 4] = [1, 2, 3, 7];
const ORDERS: [Layout; 4] = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];

/// The path and the key of every array fixture.
fn fixtures() -> Vec<(PathBuf, Option<Key>)> {
    let manifest = fs::read(crate::common::fixtures().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entries = manifest.as_array().unwrap().iter().filter(|entry| entry["object"].is_null());
    let key = |entry: &serde_json::Value| {
        entry["key"].as_str().map(|key| Key::new(key.as_bytes().try_into().unwrap()))
    };
    let path = |entry: &serde_json::Value| {
        crate::common::fixtures().join("arrays").join(entry["id"].as_str().unwrap())
    };
    entries.map(|entry| (path(entry), key(entry))).collect()
}

fn options(key: Option<&Key>) -> OpenOptions {
    key.cloned().into_iter().fold(OpenOptions::new().threads(1), OpenOptions::key)
}

/// One row per cell: its values, their lengths, and which are null.
fn rows(cells: &Cells) -> Vec<Vec<u8>> {
    let row = |at: usize| {
        let mut row = Vec::new();
        for column in cells.columns() {
            let value = column.cell(at).unwrap_or_default();
            row.push(u8::from(column.is_null(at)));
            row.extend_from_slice(&u64::try_from(value.len()).unwrap().to_le_bytes());
            row.extend_from_slice(value);
        }
        row
    };
    (0..cells.len()).map(row).collect()
}

/// Whether the cells of all parts are in the order of the whole result.
fn follow_each_other(array: &Array, order: Layout) -> bool {
    let schema = array.schema();
    let dimensions = &schema.domain.dimensions;
    if schema.array_type == ArrayType::Dense {
        return true;
    }
    // Ranges of strings compare unsigned bytes, cells are stored in the order of signed ones.
    let high = |end: &[u8]| end.iter().any(|byte| *byte > 127);
    let bounds = array.bounds().unwrap_or_default();
    let texts = dimensions
        .iter()
        .zip(&bounds)
        .any(|(own, range)| own.is_var() && (high(&range.low) || high(&range.high)));
    // Global order of one fragment is its stored order, whatever that is: early releases had other
    // tiles, especially of reals.
    let reals = dimensions.iter().any(|own| own.tile_extent.is_some() && own.datatype.physical().is_float());
    let early = array.fragments().iter().any(|fragment| fragment.version().number() < 5);
    match order {
        Layout::RowMajor | Layout::ColMajor => !texts || dimensions.len() > 1,
        Layout::GlobalOrder => schema.cell_order != Layout::Hilbert && !texts && !reals && !early,
        _ => false,
    }
}

/// Reads a query whole and in parts, which must be the same. Returns how many parts there were.
fn check(
    place: &str,
    array: &Array,
    read: &Read,
    order: Layout,
    most: usize,
    part: impl Fn(Read) -> Cells,
) -> usize {
    let read = read.clone().order(order);
    let mut expected = rows(&read.clone().collect().unwrap());
    let parts = read.partitions(most).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(!parts.is_empty() && parts.len() <= most.max(1), "{place}: {} parts of {most}", parts.len());
    let count = parts.len();
    let mut found: Vec<Vec<u8>> = parts.into_iter().flat_map(|read| rows(&part(read))).collect();
    if !follow_each_other(array, order) {
        expected.sort();
        found.sort();
    }
    assert!(
        found == expected,
        "{place}, {order:?} in {count} parts of {most}: {} cells, {} expected",
        found.len(),
        expected.len()
    );
    count
}

/// A query of the range that the newest fragment covers in one dimension, and of its end alone:
/// other fragments are partly outside.
fn in_ranges(array: &Array, at: usize) -> Option<Read> {
    let dimensions = &array.schema().domain.dimensions;
    let at = at % dimensions.len();
    let Range { low, high } = array.fragments().last()?.non_empty_domain()?[at].clone();
    let name = &dimensions[at].name;
    let read = array.read().range_bytes(name, Some(high.clone()), Some(high.clone()));
    let read = read.range_bytes(name, Some(low), Some(high));
    read.clone().explain().is_ok().then_some(read)
}

/// A query with a condition on the first attribute that can be compared with a number, if there is
/// one.
fn conditioned(array: &Array) -> Option<Read> {
    let attribute = array.schema().attributes.first()?;
    let read = array.read().condition(field(&*attribute.name).ge(3));
    read.clone().explain().is_ok().then_some(read)
}

#[test]
fn parts_of_every_fixture_are_the_whole() {
    let (mut several, mut checked) = (0, 0);
    for (number, (path, key)) in fixtures().into_iter().enumerate() {
        let Ok(array) = options(key.as_ref()).open(&path) else { continue };
        if array.read().collect().is_err() {
            continue;
        }
        let place = path.display().to_string();
        let mut asked = |read: &Read, order, most| {
            several +=
                usize::from(check(&place, &array, read, order, most, |read| read.collect().unwrap()) > 1);
            checked += 1;
        };
        for (at, most) in COUNTS.into_iter().enumerate() {
            asked(&array.read(), ORDERS[(number + at) % 4], most);
        }
        let (order, most) = (ORDERS[number / 4 % 4], COUNTS[1 + number % 3]);
        in_ranges(&array, number).iter().for_each(|read| asked(read, order, most));
        conditioned(&array).iter().for_each(|read| asked(read, order, most));
    }
    assert!(checked > 2500 && several > 1200, "{several} of {checked} were cut");
}

/// The cells of a query in parts that are made of tiles, read in small batches, and how many
/// aggregates of the parts count.
fn of_tiles(read: &Read, most: usize) -> (Vec<Vec<u8>>, u64) {
    let parts = read.clone().tile_partitions(most).unwrap();
    let (mut found, mut counted) = (Vec::new(), 0);
    for part in parts {
        counted += part.clone().aggregate([Aggregate::count()]).unwrap()[0].as_u64().unwrap();
        let batches = part.memory("64 MiB".parse().unwrap()).batch_memory("2 MiB".parse().unwrap()).batches();
        batches.unwrap().for_each(|batch| found.append(&mut rows(&batch.unwrap())));
    }
    found.sort();
    (found, counted)
}

#[test]
fn parts_of_every_sparse_fixture_that_are_made_of_tiles_are_the_whole() {
    let (mut several, mut checked) = (0, 0);
    for (number, (path, key)) in fixtures().into_iter().enumerate() {
        let Ok(array) = options(key.as_ref()).open(&path) else { continue };
        if array.schema().array_type == ArrayType::Dense || array.read().collect().is_err() {
            continue;
        }
        for read in [Some(array.read()), in_ranges(&array, number), conditioned(&array)].into_iter().flatten()
        {
            let most = COUNTS[number % 4];
            let mut expected = rows(&read.clone().collect().unwrap());
            expected.sort();
            let (found, counted) = of_tiles(&read, most);
            assert!(
                found == expected,
                "{}: {} cells, {} expected",
                path.display(),
                found.len(),
                expected.len()
            );
            assert_eq!(counted, u64::try_from(expected.len()).unwrap(), "{}", path.display());
            several += usize::from(read.tile_partitions(most).unwrap().len() > 1);
            checked += 1;
        }
    }
    assert!(checked > 500 && several > 100, "{several} of {checked} were cut");
}

#[test]
fn parts_of_every_fixture_are_read_from_their_bytes() {
    let mut checked = 0;
    for (number, (path, key)) in fixtures().into_iter().enumerate() {
        let Ok(array) = options(key.as_ref()).open(&path) else { continue };
        if array.read().collect().is_err() {
            continue;
        }
        let elsewhere = |part: Read| {
            let bytes = part.describe("anywhere").unwrap().to_bytes();
            let description = QueryDescription::from_bytes(&bytes).unwrap();
            assert_eq!(description.to_bytes(), bytes);
            let found = description.open(options(key.as_ref()), &path).unwrap();
            assert_eq!(found.describe("anywhere").unwrap().fragments(), description.fragments());
            found.collect().unwrap()
        };
        let reads = [Some(array.read()), in_ranges(&array, number), conditioned(&array)];
        for (at, read) in reads.iter().enumerate() {
            let Some(read) = read else { continue };
            let (order, most) = (ORDERS[(number + at) % 4], COUNTS[(number + at) % 4]);
            check(&path.display().to_string(), &array, read, order, most, elsewhere);
            checked += 1;
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn labels_and_timestamps_go_along() {
    let folder = crate::common::fixtures().join("arrays/2.30.0");
    for (name, fields) in [("label-increasing-int64", "label"), ("fragments-sparse", "__timestamps")] {
        let Some((_, path)) =
            crate::common::arrays().into_iter().find(|(id, _)| id.replace('_', "-").ends_with(name))
        else {
            panic!("{name} is gone from {}", folder.display());
        };
        let array = Array::open(&path).unwrap();
        let mut names: Vec<String> = array.schema().fields().map(|field| field.name.to_owned()).collect();
        names.extend(array.schema().labels.iter().map(|label| label.name.clone()));
        if fields == "__timestamps" {
            names.push(fields.to_owned());
        }
        let mut read = array.read().fields(names);
        for label in &array.schema().labels {
            read = read.label_range_bytes(label.name.clone(), None, None);
        }
        for most in COUNTS {
            let part = |part: Read| {
                let description = part.describe(path.display().to_string()).unwrap();
                description.open(OpenOptions::new(), description.uri()).unwrap().collect().unwrap()
            };
            check(name, &array, &read, Layout::RowMajor, most, part);
        }
    }
}

fn dense(rows: i32, columns: i32, extents: (i32, i32), orders: (Layout, Layout)) -> MemoryStorage {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("r", 1..=rows).with_tile(extents.0))
        .dimension(Dimension::new("c", 0..=columns - 1).with_tile(extents.1))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .tile_order(orders.0)
        .cell_order(orders.1)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
    let values: Vec<i32> = (0..rows * columns).collect();
    writer.write().range("r", 1..=rows).column(WriteColumn::fixed("a", &values)).commit().unwrap();
    storage
}

fn open(storage: &MemoryStorage) -> Array {
    OpenOptions::new().threads(2).window(TimeWindow::ALL).open_storage(storage.clone()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn dense_ranges_in_any_order_keep_it(
        extents in (1..12i32, 1..12i32),
        tile in any::<bool>(),
        cell in any::<bool>(),
        rows in prop::collection::vec((1..=23i32, 0..9i32), 0..4),
        columns in prop::collection::vec((0..17i32, 0..9i32), 0..4),
        order in 0..4usize,
        most in 1..9usize,
    ) {
        let layout = |column: bool| if column { Layout::ColMajor } else { Layout::RowMajor };
        let array = open(&dense(23, 17, extents, (layout(tile), layout(cell))));
        let mut read = array.read().fields(["r", "c", "a"]);
        for (low, len) in rows {
            read = read.range("r", low..=(low + len).min(23));
        }
        for (low, len) in columns {
            read = read.range("c", low..=(low + len).min(16));
        }
        check("random", &array, &read, ORDERS[order], most, |part| part.collect().unwrap());
    }
}

/// A random number generator for the tests.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A sparse array of reals, strings and integers, written in some fragments that overlap.
fn sparse(dimension: &str, cells: u64, fragments: u64, capacity: u64, cell_order: Layout) -> MemoryStorage {
    let first = match dimension {
        "real" => Dimension::new("x", -1000.0f64..=1000.0),
        "text" => Dimension::string("x"),
        "tiled" => Dimension::new("x", 0i64..=1_000_000_000).with_tile(10_000_000i64),
        _ => Dimension::new("x", i64::MIN / 2..=i64::MAX / 2),
    };
    let mut schema = ArraySchema::sparse().dimension(first);
    if cell_order != Layout::Hilbert || dimension != "text" {
        schema = schema.dimension(Dimension::new("y", 0i32..=99));
    }
    let schema = schema
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .capacity(capacity)
        .cell_order(cell_order)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let mut random = Random(7);
    for fragment in 0..fragments {
        let writer = WriteOptions::new().timestamp(fragment + 1).open_storage(storage.clone()).unwrap();
        let count = cells / fragments;
        let numbers: Vec<u64> = (0..count).map(|_| random.below(1_000_000_000)).collect();
        let y: Vec<i32> = (0..count).map(|_| i32::try_from(random.below(100)).unwrap()).collect();
        let a: Vec<i32> = (0..i32::try_from(count).unwrap()).collect();
        let reals: Vec<f64> = numbers.iter().map(|number| *number as f64 / 500_000.0 - 1000.0).collect();
        let integers: Vec<i64> = numbers.iter().map(|number| i64::try_from(*number).unwrap()).collect();
        let texts = Strings::new(numbers.iter().map(|number| format!("key-{number:09}")));
        let x = match dimension {
            "real" => WriteColumn::fixed("x", &reals),
            "text" => texts.column("x"),
            _ => WriteColumn::fixed("x", &integers),
        };
        let write = writer.write().column(x).column(WriteColumn::fixed("a", &a));
        let write = if schema.domain.dimensions.len() > 1 {
            write.column(WriteColumn::fixed("y", &y))
        } else {
            write
        };
        write.commit().unwrap();
    }
    storage
}

/// Asserts that no part has more than about twice as many cells as the others on average, and that
/// together they have all cells.
fn balanced(place: &str, read: Read, most: usize, cells: usize) {
    let parts = read.partitions(most).unwrap();
    assert_eq!(parts.len(), most, "{place}");
    let counts: Vec<usize> = parts.into_iter().map(|part| part.collect().unwrap().len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), cells, "{place}");
    let largest = counts.iter().copied().max().unwrap();
    assert!(largest * most <= 2 * cells, "{place}: {counts:?}");
}

#[test]
fn parts_are_about_as_large_as_each_other() {
    for dimension in ["real", "text", "tiled", "wide"] {
        for (fragments, order) in [(1, Layout::RowMajor), (5, Layout::RowMajor), (3, Layout::Hilbert)] {
            if dimension == "wide" && order == Layout::Hilbert {
                // All cells have the same place on the curve, and their tiles cover everything.
                continue;
            }
            let array = open(&sparse(dimension, 30_000, fragments, 50, order));
            let cells = array.read().collect().unwrap().len();
            for asked in ORDERS {
                for most in [2, 7, 16] {
                    let place = format!("{dimension}, {fragments} fragments, {order:?}, read in {asked:?}");
                    balanced(&place, array.read().order(asked), most, cells);
                }
            }
        }
    }
    for extents in [(1, 100), (7, 13), (64, 64), (300, 100)] {
        for order in ORDERS {
            let array = open(&dense(300, 100, extents, (Layout::RowMajor, Layout::ColMajor)));
            for most in [2, 7, 16] {
                // In global order a single tile is cut along its cells.
                balanced(&format!("{extents:?}, {order:?}"), array.read().order(order), most, 30_000);
            }
        }
    }
}

#[test]
fn points_and_ranges_of_few_cells_are_balanced_too() {
    let array = open(&sparse("tiled", 30_000, 2, 50, Layout::RowMajor));
    let all = array.read().fields(["x"]).collect().unwrap();
    let mut x: Vec<i64> = all.field("x").unwrap().values::<i64>().unwrap().to_vec();
    x.sort_unstable();
    // Most of them near the beginning.
    let points: Vec<i64> =
        x.iter().copied().take(900).chain(x.iter().copied().skip(900).step_by(300)).collect();
    let read = array.read().points("x", points);
    let cells = read.clone().collect().unwrap().len();
    let parts = read.partitions(5).unwrap();
    let counts: Vec<usize> = parts.into_iter().map(|part| part.collect().unwrap().len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), cells);
    assert_eq!(counts.len(), 5);
    balanced(
        "a range",
        array.read().range("x", 0..=50_000_000),
        4,
        array.read().range("x", 0..=50_000_000).collect().unwrap().len(),
    );
}

#[test]
fn parts_are_read_by_threads() {
    let array = open(&sparse("text", 20_000, 4, 100, Layout::RowMajor));
    let read = array.read().order(Layout::RowMajor).condition(field("a").lt(2500));
    let whole = rows(&read.clone().collect().unwrap());
    let counted = read.clone().aggregate([Aggregate::count()]).unwrap()[0].as_u64().unwrap();
    let parts = read.partitions(6).unwrap();
    assert_eq!(parts.len(), 6);
    let found: Vec<(Vec<Vec<u8>>, u64)> = std::thread::scope(|scope| {
        let run = |part: Read| {
            let batches = part.clone().memory("16 MiB".parse().unwrap()).batches().unwrap();
            let streamed: Vec<Vec<u8>> = batches.flat_map(|batch| rows(&batch.unwrap())).collect();
            (streamed, part.aggregate([Aggregate::count()]).unwrap()[0].as_u64().unwrap())
        };
        let workers: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || run(part))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), counted);
    assert!(found.into_iter().flat_map(|(rows, _)| rows).eq(whole));
}

#[test]
fn planning_from_afar_takes_few_rounds() {
    let storage = Arc::new(FarStorage::new(sparse("text", 2000, 20, 20, Layout::RowMajor), Duration::ZERO));
    let array = OpenOptions::new().threads(1).window(TimeWindow::ALL).open_storage(storage.clone()).unwrap();
    let opening = storage.rounds();
    assert_eq!(array.read().partitions(4).unwrap().len(), 4);
    assert!(storage.rounds() - opening <= 3, "{} rounds", storage.rounds() - opening);
}

#[test]
fn a_query_that_cannot_be_cut_is_one_part() {
    let array = open(&sparse("tiled", 1000, 1, 100, Layout::RowMajor));
    assert_eq!(array.read().partitions(0).unwrap().len(), 1);
    assert_eq!(array.read().points("x", [0i64; 0]).partitions(5).unwrap().len(), 1);
    assert_eq!(array.read().range("x", 999_999_990..).partitions(5).unwrap().len(), 1);
    let empty = MemoryStorage::default();
    WriteOptions::new().create_storage(&empty, array.schema()).unwrap();
    let parts = open(&empty).read().partitions(5).unwrap();
    assert_eq!((parts.len(), parts[0].clone().collect().unwrap().len()), (1, 0));
}
