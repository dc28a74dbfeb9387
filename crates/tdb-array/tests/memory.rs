//! A child process streams whole arrays twenty times as large as the budget, reading and writing;
//! its resident memory, as the system counts it, grows by less than the budget.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "helpers of tests: a panic is a failure"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::Durability;
use tdb_array::{Layout, MemoryBudget, OpenOptions, WriteColumn, WriteOptions};
use tdb_filters::{Filter, Pipeline};
use tdb_schema::{Attribute, Dimension, Domain};

const MIB: u64 = 1 << 20;
const BUDGET: u64 = 4 * MIB;

/// A folder that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tdb-memory-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options() -> WriteOptions {
    WriteOptions::new().durability(Durability::Buffered).threads(2)
}

fn zstd() -> Pipeline {
    Pipeline::new(vec![Filter::Zstd { level: 1 }])
}

/// The bytes in a line of this process's status.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Runs in the child: it streams an array and prints what that took.
#[test]
fn child() {
    let Ok(path) = env::var("TDB_MEMORY_ARRAY") else { return };
    if let Ok(kind) = env::var("TDB_MEMORY_WRITE") {
        return write_in_child(&path, &kind);
    }
    let budget: MemoryBudget = env::var("TDB_MEMORY_BUDGET").unwrap().parse().unwrap();
    let array = OpenOptions::new().threads(2).open(path).unwrap();
    let order = match env::var("TDB_MEMORY_ORDER").unwrap().as_str() {
        "row" => Layout::RowMajor,
        "global" => Layout::GlobalOrder,
        _ => Layout::Unordered,
    };
    // Resets the peak, if the system allows it; otherwise the test is only stricter.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (before, code) = (status("VmRSS"), status("RssFile"));
    let (mut cells, mut bytes, mut batches) = (0, 0, 0);
    let mut read = array.read().order(order).memory(budget);
    if let Ok(condition) = env::var("TDB_MEMORY_WHERE") {
        read = read.condition(condition.parse().unwrap());
    }
    if let Ok(aggregates) = env::var("TDB_MEMORY_AGGREGATE") {
        let found = read.aggregate(Aggregate::parse(&aggregates).unwrap()).unwrap();
        let code = status("RssFile").saturating_sub(code);
        let grown = status("VmHWM").saturating_sub(before + code);
        println!("measured {} 0 0 {grown}", found[0].as_u64().unwrap());
        return;
    }
    let mut stream = read.batches().unwrap();
    for batch in stream.by_ref() {
        let batch = batch.unwrap();
        cells += batch.len();
        batches += 1;
        for column in batch.columns() {
            bytes += column.bytes().len() + column.offsets().map_or(0, |offsets| offsets.len() * 8);
        }
    }
    // Pages of the program itself that are used for the first time do not belong to the query.
    let code = status("RssFile").saturating_sub(code);
    let grown = status("VmHWM").saturating_sub(before + code);
    println!("measured {cells} {bytes} {batches} {grown}");
}

/// Streams an array in a child. Checks its cells, and the memory it took.
fn stream(array: &Path, order: &str, budget: u64, cells: u64) {
    let bytes = measure(array, order, &[], budget, cells);
    let name = array.file_name().unwrap().to_string_lossy();
    assert!(bytes >= 20 * budget, "{name} has only {} MiB", bytes / MIB);
}

/// The same, of the cells that satisfy a condition.
fn stream_where(array: &Path, order: &str, condition: &str, budget: u64, cells: u64) {
    measure(array, order, &[("TDB_MEMORY_WHERE", condition)], budget, cells);
}

/// Computes aggregates of the cells that satisfy a condition in a child; the first one is their
/// number.
fn aggregate(array: &Path, aggregates: &str, condition: &str, budget: u64, cells: u64) {
    let more = [("TDB_MEMORY_WHERE", condition), ("TDB_MEMORY_AGGREGATE", aggregates)];
    measure(array, "global", &more, budget, cells);
}

/// Runs a child process as the variables say, and returns the numbers that it measured.
fn in_child<const N: usize>(array: &Path, budget: u64, variables: &[(&str, &str)]) -> [u64; N] {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env("TDB_MEMORY_ARRAY", array)
        .env("TDB_MEMORY_BUDGET", budget.to_string())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let out = String::from_utf8(child.stdout).unwrap();
    let found = out.lines().find_map(|line| line.split("measured ").nth(1));
    let Some(found) = found else { panic!("{out}\n{}", String::from_utf8_lossy(&child.stderr)) };
    let found: Vec<u64> = found.split(' ').map(|number| number.parse().unwrap()).collect();
    found.try_into().unwrap_or_else(|_| panic!("{out}"))
}

/// Runs a query in a child. Checks the number of its cells, and the memory it took; returns the
/// bytes of its result.
fn measure(array: &Path, order: &str, more: &[(&str, &str)], budget: u64, cells: u64) -> u64 {
    let asked = [&[("TDB_MEMORY_ORDER", order)], more].concat();
    let [read, bytes, batches, grown] = in_child(array, budget, &asked);
    let name = array.file_name().unwrap().to_string_lossy();
    println!(
        "{name}, {order} {more:?}: {cells} cells, {} MiB in {batches} batches; {} KiB of {}",
        bytes / MIB,
        grown >> 10,
        budget >> 10
    );
    assert_eq!(read, cells, "{more:?}");
    assert!(grown < budget, "{name}, {order}, {more:?}: {} KiB of {}", grown >> 10, budget >> 10);
    bytes
}

/// The child's part of a write: as many bytes as `kind` says in batches of 10,500 cells, none of
/// which it keeps.
fn write_in_child(path: &str, kind: &str) {
    let budget: usize = env::var("TDB_MEMORY_BUDGET").unwrap().parse().unwrap();
    let array = options().open(path).unwrap();
    let (mut a, mut x, mut y) = (vec![0i64; 10_500], vec![0u64; 10_500], vec![0u64; 10_500]);
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (before, code) = (status("VmRSS"), status("RssFile"));
    let batches = if kind.starts_with("dense") { 1000 } else { 340 };
    let mut fill = |batch: u64, each: &mut dyn FnMut(&[WriteColumn<'_>])| {
        for (cell, ((a, x), y)) in (0u64..).zip(a.iter_mut().zip(&mut x).zip(&mut y)) {
            *a = (batch * 3 + cell / 1000).cast_signed();
            // In order, or scattered: every pair once.
            let number = batch * 10_500 + cell;
            let place = if kind == "sorted" { number } else { number * 7_368_787 % (batches * 10_500) };
            (*x, *y) = (place / 1000, place % 1000);
        }
        let columns = [WriteColumn::fixed("a", &a), WriteColumn::fixed("x", &x), WriteColumn::fixed("y", &y)];
        each(if kind.starts_with("dense") { &columns[..1] } else { &columns });
    };
    let fragments = match kind {
        "dense" | "dense, global order" => {
            let order = if kind == "dense" { Layout::RowMajor } else { Layout::GlobalOrder };
            let mut stream = array.write().order(order).stream(budget).unwrap();
            (0..batches).for_each(|batch| fill(batch, &mut |columns| stream.append(columns).unwrap()));
            stream.commit().unwrap().len()
        }
        "sorted" => {
            let mut fragment = array.sparse_fragment().unwrap();
            (0..batches).for_each(|batch| fill(batch, &mut |columns| fragment.append(columns).unwrap()));
            fragment.commit_all().unwrap().len()
        }
        _ => {
            let mut stream = array.sparse_stream(budget).unwrap();
            (0..batches).for_each(|batch| fill(batch, &mut |columns| stream.append(columns).unwrap()));
            stream.commit().unwrap().len()
        }
    };
    let code = status("RssFile").saturating_sub(code);
    println!("measured {fragments} {}", status("VmHWM").saturating_sub(before + code));
}

/// How often a write is measured at most.
const ATTEMPTS: usize = 3;

/// Writes an array in a child. Checks its cells, and the memory it took.
fn write(kind: &str, schema: &ArraySchema, cells: u64) {
    let attempt = |number: usize| {
        let scratch = Scratch::new(&format!("write {kind} {number}"));
        options().create(&scratch.0, schema).unwrap();
        let [fragments, grown] = in_child(&scratch.0, BUDGET, &[("TDB_MEMORY_WRITE", kind)]);
        println!("written {kind}: {fragments} fragments; {} KiB of {}", grown >> 10, BUDGET >> 10);
        (grown < BUDGET).then_some(scratch)
    };
    // What else runs on the machine decides how much freed memory the allocator keeps for each
    // thread. A write that needs more than its budget needs it each time.
    let scratch = (0..ATTEMPTS).find_map(attempt);
    let scratch =
        scratch.unwrap_or_else(|| panic!("{kind}: each of {ATTEMPTS} writes took more than {BUDGET} bytes"));
    let array = OpenOptions::new().threads(2).open(&scratch.0).unwrap();
    let read = array.read().collect().unwrap();
    let values = read.field("a").unwrap().values::<i64>().unwrap();
    assert_eq!(values.len() as u64, cells);
    let size = if kind.starts_with("dense") { 8 } else { 24 };
    assert!(cells * size >= 20 * BUDGET);
    let sum = |batch: i64| (0..10_500i64).map(|cell| batch * 3 + cell / 1000).sum::<i64>();
    let batches = cells.cast_signed() / 10_500;
    assert_eq!(values.iter().sum::<i64>(), (0..batches).map(sum).sum::<i64>());
}

#[test]
fn dense_cells_are_written_inside_their_budget() {
    let dimension = |name, count: u64, tile: u64| Dimension::new(name, 0..=count - 1).with_tile(tile);
    let domain = Domain::new(vec![dimension("row", 1000, 10), dimension("column", 10_500, 100)]);
    let schema = ArraySchema::new(ArrayType::Dense, domain)
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(zstd()));
    write("dense", &schema, 10_500_000);
    write("dense, global order", &schema, 10_500_000);
}

#[test]
fn sparse_cells_are_written_inside_their_budget() {
    let dimension =
        |name| Dimension::new(name, 0u64..=9_999_999).with_tile(10_000_000u64).with_filters(zstd());
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![dimension("x"), dimension("y")]))
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(zstd()));
    schema.capacity = 2000;
    write("sorted", &schema, 340 * 10_500);
    write("unordered", &schema, 340 * 10_500);
}

#[test]
fn a_dense_array_streams_inside_its_budget() {
    let scratch = Scratch::new("dense");
    let (rows, columns, tile) = (1000u64, 10500u64, 100u64);
    let dimension = |name, count: u64| Dimension::new(name, 0..=count - 1).with_tile(tile);
    let domain = Domain::new(vec![dimension("row", rows), dimension("column", columns)]);
    let schema = ArraySchema::new(ArrayType::Dense, domain)
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(zstd()));
    options().create(&scratch.0, &schema).unwrap();
    let writer = options().open(&scratch.0).unwrap();
    for row in (0..rows).step_by(tile as usize) {
        let values: Vec<i64> = (0..tile * columns).map(|cell| (row + cell / 1000).cast_signed()).collect();
        let write = writer.write().range("row", row..row + tile).column(WriteColumn::fixed("a", &values));
        write.commit().unwrap();
    }
    // A row of tiles is twice the budget.
    stream(&scratch.0, "row", BUDGET, rows * columns);
    stream(&scratch.0, "global", BUDGET, rows * columns);
    // In dense arrays, cells that fail the condition have the fill value, and are no part of
    // aggregates: 500 is in six of the fragments, 600 in seven, in a thousand cells each.
    stream_where(&scratch.0, "row", "a != 500 and a != 600", BUDGET, rows * columns);
    aggregate(&scratch.0, "count, sum(a), max(a)", "a != 500 and a != 600", BUDGET, rows * columns - 13_000);
}

#[test]
fn a_dense_tile_that_is_twenty_times_the_budget_streams_inside_it() {
    let scratch = Scratch::new("tile");
    let (rows, columns) = (1000u64, 10_500u64);
    let dimension = |name, count: u64| Dimension::new(name, 0..=count - 1).with_tile(count);
    let domain = Domain::new(vec![dimension("row", rows), dimension("column", columns)]);
    let filters = Pipeline::new(vec![Filter::ByteShuffle, Filter::Zstd { level: 1 }]);
    let schema = ArraySchema::new(ArrayType::Dense, domain)
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(filters));
    options().create(&scratch.0, &schema).unwrap();
    let values: Vec<i64> = (0..rows * columns).map(|cell| (cell / 1000 % 1000).cast_signed()).collect();
    let writer = options().open(&scratch.0).unwrap();
    let write = writer.write().range("row", 0..rows).range("column", 0..columns);
    write.column(WriteColumn::fixed("a", &values)).commit().unwrap();
    drop(values);
    stream(&scratch.0, "row", BUDGET, rows * columns);
    stream_where(&scratch.0, "row", "a != 500 and a != 600", BUDGET, rows * columns);
    aggregate(&scratch.0, "count, sum(a), max(a)", "a != 500 and a != 600", BUDGET, rows * columns - 20_000);
}

#[test]
fn strings_of_a_dense_array_stream_inside_their_budget() {
    let scratch = Scratch::new("strings");
    let (cells, piece) = (1_600_000u64, 160_000u64);
    let domain = Domain::new(vec![Dimension::new("i", 0..=cells - 1).with_tile(2000u64)]);
    let schema = ArraySchema::new(ArrayType::Dense, domain)
        .with_attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var).with_filters(zstd()));
    options().create(&scratch.0, &schema).unwrap();
    let writer = options().open(&scratch.0).unwrap();
    for first in (0..cells).step_by(piece as usize) {
        let (mut values, mut offsets) = (Vec::new(), vec![0u64]);
        for cell in first..first + piece {
            values.extend(std::iter::repeat_n(b'a' + (cell % 7) as u8, (cell * 7919 % 96) as usize));
            offsets.push(values.len() as u64);
        }
        let write = writer.write().range("i", first..first + piece);
        write.column(WriteColumn::var("s", &values, &offsets)).commit().unwrap();
    }
    stream(&scratch.0, "row", BUDGET, cells);
    stream_where(&scratch.0, "row", "s != 'aa' and s > 'a'", BUDGET, cells);
    let left = (0..cells).filter(|cell| cell % 7 != 0 || cell * 7919 % 96 != 2).count() as u64;
    aggregate(&scratch.0, "count, max(s)", "s != 'aa'", BUDGET, left);
}

/// Writes cells of `fragments` fragments, which all span the same rows.
fn sparse(path: &Path, fragments: u64, rows: u64, duplicates: bool) -> u64 {
    let x = Dimension::new("x", 0u64..=9_999_999).with_tile(1000u64).with_filters(zstd());
    let y = Dimension::new("y", 0u64..=9_999_999).with_tile(10_000_000u64).with_filters(zstd());
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![x, y]))
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(zstd()));
    schema.allows_duplicates = duplicates;
    schema.capacity = 2000;
    options().create(path, &schema).unwrap();
    let writer = options().open(path).unwrap();
    let across = 250u64;
    for number in 0..fragments {
        let mut fragment = writer.sparse_fragment().unwrap();
        for first in (0..rows).step_by(1000) {
            let cells = 0..1000.min(rows - first) * across;
            let x: Vec<u64> = cells.clone().map(|cell| first + cell / across).collect();
            let y: Vec<u64> = cells.clone().map(|cell| cell % across * fragments + number).collect();
            let a: Vec<i64> = cells.map(|cell| (cell / 100).cast_signed()).collect();
            let columns =
                [WriteColumn::fixed("x", &x), WriteColumn::fixed("y", &y), WriteColumn::fixed("a", &a)];
            fragment.append(&columns).unwrap();
        }
        fragment.commit().unwrap();
    }
    fragments * rows * across
}

#[test]
fn sparse_cells_in_order_stream_inside_their_budget() {
    let scratch = Scratch::new("sparse");
    let cells = sparse(&scratch.0, 4, 3500, false);
    stream(&scratch.0, "row", BUDGET, cells);
    // Without an order, duplicates between the fragments are still searched for.
    stream(&scratch.0, "unordered", BUDGET, cells);
    // Neither condition is decided by statistics; the second leaves few cells. Each piece of 1000
    // rows has 100 cells of every a, one of which has that y.
    let of_a = 4 * 4 * 100;
    for (condition, left) in [("a != 7 and y != 9", cells - of_a - 3500 + 4), ("a = 7 and y < 5000", of_a)] {
        stream_where(&scratch.0, "row", condition, BUDGET, left);
        stream_where(&scratch.0, "unordered", condition, BUDGET, left);
        aggregate(&scratch.0, "count, sum(a), min(y), mean(x)", condition, BUDGET, left);
    }
}

#[test]
fn sparse_cells_with_duplicates_stream_inside_their_budget() {
    let scratch = Scratch::new("duplicates");
    let cells = sparse(&scratch.0, 4, 3500, true);
    stream(&scratch.0, "unordered", BUDGET, cells);
    stream(&scratch.0, "global", BUDGET, cells);
    stream_where(&scratch.0, "unordered", "a >= 0 and y != 9", BUDGET, cells - 3500);
    aggregate(&scratch.0, "count, sum(a), max(x)", "a >= 0 and y != 9", BUDGET, cells - 3500);
}

#[test]
fn cells_with_string_coordinates_stream_inside_their_budget() {
    let scratch = Scratch::new("words");
    let word = Dimension::string("word").with_filters(zstd());
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![word]))
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(zstd()));
    schema.capacity = 1000;
    options().create(&scratch.0, &schema).unwrap();
    let writer = options().open(&scratch.0).unwrap();
    let (fragments, cells, piece) = (2u64, 600_000u64, 100_000u64);
    for number in 0..fragments {
        let mut fragment = writer.sparse_fragment().unwrap();
        for first in (0..cells).step_by(piece as usize) {
            let (mut words, mut offsets) = (Vec::new(), vec![0u64]);
            for cell in first..first + piece {
                words.extend(format!("{:0>56}", cell * fragments + number).into_bytes());
                offsets.push(words.len() as u64);
            }
            let a: Vec<i64> = (0..piece.cast_signed()).collect();
            let columns = [WriteColumn::var("word", &words, &offsets), WriteColumn::fixed("a", &a)];
            fragment.append(&columns).unwrap();
        }
        fragment.commit().unwrap();
    }
    stream(&scratch.0, "row", BUDGET, fragments * cells);
}

#[test]
fn five_thousand_fragments_stream_inside_their_budget() {
    let scratch = Scratch::new("fragments");
    let x = Dimension::new("x", 0u64..=9_999_999).with_tile(1000u64).with_filters(zstd());
    let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![x]))
        .with_attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(zstd()))
        .with_attribute(Attribute::new("b", Datatype::Int64, CellValNum::ONE).with_filters(zstd()));
    options().create(&scratch.0, &schema).unwrap();
    let writer = options().threads(1).open(&scratch.0).unwrap();
    let (fragments, each) = (5000u64, 700u64);
    let b = vec![7i64; each as usize];
    for number in 0..fragments {
        // Every second cell of a stretch that two fragments share.
        let first = number / 2 * 2 * each + number % 2;
        let x: Vec<u64> = (0..each).map(|cell| first + cell * 2).collect();
        let columns = [WriteColumn::fixed("x", &x), WriteColumn::fixed("a", &b), WriteColumn::fixed("b", &b)];
        let mut fragment = writer.sparse_fragment().unwrap();
        fragment.append(&columns).unwrap();
        fragment.commit().unwrap();
    }
    stream(&scratch.0, "row", BUDGET, fragments * each);
}
