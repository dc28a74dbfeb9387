//! Random histories of writes, evolutions and deletes: what a read returns for cells that are older
//! than a field, which of them satisfy conditions, what deletes leave, what aggregates are over,
//! and what consolidation makes of all that, compared with a model of the rule that
//! `QueryCondition` states.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod model;

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use model::{Asked, Cell, Constant, NAMES, Op, Value, attribute, fill, real};
use tdb_array::error::QueryError;
use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::query::{Aggregate, AggregateValue};
use tdb_array::schema::{ArraySchema, Dimension};
use tdb_array::storage::MemoryStorage;
use tdb_array::write::SchemaEvolution;
use tdb_array::{Array, Cells, Column, Error, MemoryBudget, OpenOptions, Read, WriteColumn, WriteOptions};

const LAST: i32 = 19;

const REALS: [f64; 6] = [0.0, -0.0, f64::NAN, 1.5, -1.5, 2.0];
const CHARS: [&str; 5] = ["a\0\0", "ab\0", "abc", "\0\0\0", "b\0\0"];
const TEXTS: [&str; 5] = ["", "a", "ab", "z", "q\0"];
/// What is compared with the above, some of it longer than cells are.
const CONSTANTS: [&str; 9] = ["", "a", "ab", "abc", "abcd", "a\0", "b", "z", "q\0"];

/// The name of a column, its bytes, offsets and validity.
type Parts<'a> = (&'a str, Vec<u8>, Vec<u64>, Vec<u8>);

/// A history, and the cells that it leaves.
struct History {
    storage: MemoryStorage,
    dense: bool,
    /// The attributes of the newest schema.
    names: Vec<&'static str>,
    cells: BTreeMap<i32, Cell>,
    has_deletes: bool,
    time: u64,
    random: u64,
}

impl History {
    fn new(dense: bool, seed: u64) -> Self {
        let schema = if dense { ArraySchema::dense() } else { ArraySchema::sparse().capacity(3) };
        let schema = schema
            .dimension(Dimension::new("x", 0i32..=LAST).with_tile(4i32))
            .attribute(attribute("a"))
            .build()
            .unwrap();
        let storage = MemoryStorage::default();
        WriteOptions::new().timestamp(1000).create_storage(&storage, &schema).unwrap();
        let (names, cells) = (vec!["a"], BTreeMap::new());
        Self { storage, dense, names, cells, has_deletes: false, time: 1000, random: seed * 2 + 1 }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).unwrap() % below
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.draw(list.len())]
    }

    fn small(&mut self) -> i32 {
        i32::try_from(self.draw(9)).unwrap() - 2
    }

    fn writer(&mut self) -> WriteOptions {
        self.time += 10;
        WriteOptions::new().timestamp(self.time)
    }

    fn array(&self) -> Array {
        OpenOptions::new().threads(1).open_storage(self.storage.clone()).unwrap()
    }

    fn step(&mut self) {
        match self.draw(6) {
            0 | 1 => self.evolve(),
            2 if !self.dense => self.delete(),
            _ => self.write(),
        }
    }

    /// Adds an attribute, or drops one; deletes have taken a liking to what there is.
    fn evolve(&mut self) {
        let name = NAMES[1 + self.draw(NAMES.len() - 1)];
        let evolution = if !self.names.contains(&name) {
            self.names.push(name);
            SchemaEvolution::new().add_attribute(attribute(name))
        } else if self.has_deletes {
            return;
        } else {
            self.names.retain(|own| *own != name);
            SchemaEvolution::new().drop_attribute(name)
        };
        let storage = self.storage.clone();
        self.writer().evolve_storage(storage, &evolution).unwrap();
    }

    fn value(&mut self, name: &str) -> Value {
        Some(match name {
            "n" if self.draw(3) == 0 => return None,
            "n" => i16::try_from(self.small()).unwrap().to_le_bytes().to_vec(),
            "r" => self.pick(&REALS).to_le_bytes().to_vec(),
            "c" => self.pick(&CHARS).into(),
            "s" => self.pick(&TEXTS).into(),
            _ => self.small().to_le_bytes().to_vec(),
        })
    }

    fn write(&mut self) {
        let (one, other) = (self.small_place(), self.small_place());
        let (low, high) = (one.min(other), one.max(other));
        let places: Vec<i32> = (low..=high).filter(|_| self.dense || self.draw(3) > 0).collect();
        let names = self.names.clone();
        if places.is_empty() {
            return;
        }
        let mut written: Vec<(&str, Vec<Value>)> = Vec::new();
        for name in names {
            written.push((name, places.iter().map(|_| self.value(name)).collect()));
        }
        let columns: Vec<Parts<'_>> = written
            .iter()
            .map(|(name, values)| {
                let bytes = |value: &Value| value.clone().unwrap_or_else(|| vec![0; 2]);
                let mut offsets = vec![0u64];
                values
                    .iter()
                    .for_each(|value| offsets.push(offsets.last().unwrap() + bytes(value).len() as u64));
                let valid = values.iter().map(|value| u8::from(value.is_some())).collect();
                (*name, values.iter().flat_map(bytes).collect(), offsets, valid)
            })
            .collect();
        let storage = self.storage.clone();
        let writer = self.writer().open_storage(storage).unwrap();
        let mut write = writer.write();
        write = match self.dense {
            true => write.range("x", low..=high),
            false => write.column(WriteColumn::fixed("x", &places)),
        };
        for (name, values, offsets, valid) in &columns {
            let column = match *name {
                "s" => WriteColumn::var(name, values, offsets),
                _ => WriteColumn::bytes(name, values),
            };
            write = write.column(if *name == "n" { column.nullable(valid) } else { column });
        }
        write.commit().unwrap();
        for (at, place) in places.into_iter().enumerate() {
            let own = written.iter().map(|(name, values)| {
                (*NAMES.iter().find(|known| *known == name).unwrap(), values[at].clone())
            });
            self.cells.insert(place, own.collect());
        }
    }

    fn small_place(&mut self) -> i32 {
        i32::try_from(self.draw(usize::try_from(LAST).unwrap() + 1)).unwrap()
    }

    /// Deletes cells: the file states which stay, which those that are older than a field do not.
    fn delete(&mut self) {
        let asked = self.asked(2, true);
        let condition = asked.condition().to_stored(&self.array()).unwrap();
        let counts = self.array().delete_counts(&asked.condition()).unwrap();
        let storage = self.storage.clone();
        self.writer().open_storage(storage).unwrap().delete(&condition).unwrap();
        let before = self.cells.len();
        self.cells.retain(|_, cell| asked.holds(cell, true));
        let removed = u64::try_from(before - self.cells.len()).unwrap();
        assert_eq!(counts.removed, removed, "delete where {}", asked.condition());
        self.has_deletes = true;
    }

    /// A random condition on the attributes that there are; for deletes without what these cannot
    /// contain.
    fn asked(&mut self, depth: usize, stored: bool) -> Asked {
        match if depth == 0 { 9 } else { self.draw(10) } {
            0 => Asked::Not(self.asked(depth - 1, stored).into()),
            kind @ 1..=4 => {
                let list = (0..2 + self.draw(2)).map(|_| self.asked(depth - 1, stored)).collect();
                if kind < 3 { Asked::All(list) } else { Asked::Any(list) }
            }
            _ => {
                let names = self.names.clone();
                let name = self.pick(&names);
                match self.draw(5) {
                    0 if !stored => Asked::Null(name, self.draw(2) == 0),
                    1 if !stored && name == "r" => Asked::Nan(self.draw(2) == 0),
                    _ => self.compare(name, stored),
                }
            }
        }
    }

    fn compare(&mut self, name: &'static str, stored: bool) -> Asked {
        let in_order = [Op::Less, Op::LessOrEqual, Op::Greater, Op::GreaterOrEqual];
        // libtiledb compares one byte of CHAR where the order matters.
        let op = match self.draw(8) {
            some @ 0..4 if !(stored && name == "c") => in_order[some],
            some => [Op::Equal, Op::NotEqual, Op::In, Op::NotIn][some % 4],
        };
        let count = match op {
            Op::In | Op::NotIn => 1 + if self.draw(2) == 0 { self.draw(3) } else { 8 + self.draw(6) },
            _ => 1,
        };
        let constant = |history: &mut Self| match name {
            "r" => Constant::Real(history.pick(&REALS)),
            "c" | "s" => Constant::Text(history.pick(&CONSTANTS)),
            _ => Constant::Int(history.small()),
        };
        Asked::Compare(name, op, (0..count).map(|_| constant(self)).collect())
    }

    /// Compares reads, conditions and aggregates with the model.
    fn check(&mut self, what: &str) {
        let array = self.array();
        let all =
            |read: Read| read.fields(["x"].into_iter().chain(self.names.iter().copied())).selection(true);
        let cells = all(array.read()).collect().unwrap().into_selected().unwrap();
        let expected: BTreeMap<i32, Vec<Value>> =
            self.cells.iter().map(|(x, cell)| (*x, self.row(cell))).collect();
        assert_eq!(rows(&cells, &self.names), expected, "{what}");
        for turn in 0..12 {
            let asked = (turn > 0).then(|| self.asked(2, false));
            let (one, other) = (self.small_place(), self.small_place());
            let range = one.min(other)..=one.max(other);
            let part = self.draw(2) == 0;
            let read = || {
                let read = array.read();
                let read = if part { read.range("x", range.clone()) } else { read };
                match &asked {
                    Some(asked) => read.condition(asked.condition()),
                    None => read,
                }
            };
            let text = asked.as_ref().map_or(String::new(), |asked| asked.condition().to_string());
            let what = format!("{what}, {part} {range:?} where {text}");
            let all =
                |read: Read| read.fields(["x"].into_iter().chain(self.names.iter().copied())).selection(true);
            let cells = all(read()).collect().unwrap();
            let whole = cells.len();
            let cells = cells.into_selected().unwrap();
            let holds = |x: &i32, cell: &Cell| {
                (!part || range.contains(x)) && asked.as_ref().is_none_or(|asked| asked.holds(cell, false))
            };
            let found = self.cells.iter().filter(|(x, cell)| holds(x, cell));
            let expected: BTreeMap<i32, Vec<Value>> = found.map(|(x, cell)| (*x, self.row(cell))).collect();
            assert_eq!(rows(&cells, &self.names), expected, "{what}");
            let count = if asked.is_none() && self.dense { whole } else { cells.len() };
            aggregates(&read, &cells, (&self.names, count), &what);
            if !self.dense {
                groups(&read, &cells, &self.names, &what);
            }
        }
    }

    /// What a read returns for a cell.
    fn row(&self, cell: &Cell) -> Vec<Value> {
        self.names.iter().map(|name| cell.get(name).cloned().unwrap_or_else(|| fill(name))).collect()
    }

    /// Makes one fragment of all, if it can: it holds what a read returned, and where nobody wrote,
    /// dense ones have fill values.
    fn consolidate(&mut self, what: &str) -> bool {
        let several = self.array().fragments().len() > 1;
        let writer = WriteOptions::new().open_storage(self.storage.clone()).unwrap();
        let plan = Consolidation::new(Stored::Fragments).amplification(20.0).plan(&writer).unwrap();
        plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
        let array = self.array();
        let names = self.names.clone();
        let read = array.read().fields(["x"].into_iter().chain(names.iter().copied())).selection(true);
        let found = rows(&read.collect().unwrap().into_selected().unwrap(), &names);
        let expected: BTreeMap<i32, Vec<Value>> =
            self.cells.iter().map(|(x, cell)| (*x, self.row(cell))).collect();
        for (x, row) in &expected {
            assert_eq!(found.get(x), Some(row), "{what}: cell {x}");
        }
        let more = found.iter().filter(|(x, _)| !expected.contains_key(x));
        for (x, row) in more {
            let nothing: Cell = [("a", Some(i32::MIN.to_le_bytes().to_vec()))].into();
            assert_eq!((self.dense, row), (true, &self.row(&nothing)), "{what}: cell {x}");
        }
        let made = several && array.fragments().len() == 1;
        if made {
            // The new fragment has the newest schema that loses nothing at any time, which may be
            // older than an attribute.
            let schema = array.fragments()[0].schema();
            let has = |name: &&str| schema.attribute(name).is_some();
            let cell = |row: &Vec<Value>| {
                names.iter().copied().zip(row.iter().cloned()).filter(|(name, _)| has(name)).collect()
            };
            self.cells = found.iter().map(|(x, row)| (*x, cell(row))).collect();
        }
        made
    }
}

/// The cells of a read by their coordinates.
fn rows(cells: &Cells, names: &[&str]) -> BTreeMap<i32, Vec<Value>> {
    let x = cells.field("x").unwrap().values::<i32>().unwrap();
    let row = |at: usize| names.iter().map(|name| value(cells.field(name).unwrap(), at)).collect();
    x.iter().enumerate().map(|(at, x)| (*x, row(at))).collect()
}

fn value(column: &Column, at: usize) -> Value {
    (!column.is_null(at)).then(|| column.cell(at).unwrap().to_vec())
}

/// Compares each aggregate, alone and with others, at once and in parts, with the cells that the
/// same read returned.
fn aggregates(read: &dyn Fn() -> Read, cells: &Cells, (names, count): (&[&str], usize), what: &str) {
    let check = |found: &AggregateValue, expected: &Expected| {
        let same = match expected {
            Expected::Nothing => found.is_null(),
            Expected::Number(wanted) => {
                found.as_f64().is_some_and(|own| own == *wanted || (own.is_nan() && wanted.is_nan()))
            }
            Expected::Bytes(wanted) => found.bytes() == Some(wanted),
        };
        assert!(same, "{} is {found:?} instead of {expected:?}: {what}", found.aggregate);
    };
    let mut asked = vec![(Aggregate::count(), Expected::Number(count as f64))];
    for name in names {
        let column = cells.field(name).unwrap();
        let values: Vec<Vec<u8>> = (0..cells.len()).filter_map(|at| value(column, at)).collect();
        let nulls = (cells.len() - values.len()) as f64;
        asked.push((Aggregate::null_count(*name), Expected::Number(nulls)));
        if ["c", "s"].contains(name) {
            let end = |value: Option<&Vec<u8>>| value.cloned().map_or(Expected::Nothing, Expected::Bytes);
            asked.push((Aggregate::min(*name), end(values.iter().min())));
            asked.push((Aggregate::max(*name), end(values.iter().max())));
            continue;
        }
        let numbers: Vec<f64> = values.iter().map(|bytes| real(name, bytes)).collect();
        let some = |value: f64| if numbers.is_empty() { Expected::Nothing } else { Expected::Number(value) };
        let sum = numbers.iter().sum::<f64>();
        // They pass over NaNs, too.
        let end = |pick: fn(f64, f64) -> f64| some(numbers.iter().copied().fold(f64::NAN, pick));
        let whole = if *name == "n" { some(sum) } else { Expected::Number(sum) };
        asked.push((Aggregate::sum(*name), whole));
        asked.push((Aggregate::mean(*name), some(sum / numbers.len() as f64)));
        asked.push((Aggregate::min(*name), end(f64::min)));
        asked.push((Aggregate::max(*name), end(f64::max)));
    }
    let list: Vec<Aggregate> = asked.iter().map(|(aggregate, _)| aggregate.clone()).collect();
    for (aggregate, expected) in &asked {
        check(&read().aggregate([aggregate.clone()]).unwrap()[0], expected);
    }
    let mut bytes = 300;
    let parts = loop {
        match read().batch_memory(MemoryBudget::from_bytes(bytes)).aggregate(list.clone()) {
            Ok(found) => break found,
            Err(Error::Query(QueryError::BudgetTooSmall { .. })) => bytes = bytes * 3 / 2,
            Err(error) => panic!("{what}: {error}"),
        }
    };
    let all = read().aggregate(list).unwrap();
    for found in [all, parts] {
        found.iter().zip(&asked).for_each(|(found, (_, expected))| check(found, expected));
    }
}

#[derive(Debug)]
enum Expected {
    Nothing,
    Number(f64),
    Bytes(Vec<u8>),
}

/// Compares the groups by each attribute, and the sum of `a` in each, with the cells that the same
/// read returned.
fn groups(read: &dyn Fn() -> Read, cells: &Cells, names: &[&str], what: &str) {
    let a = cells.field("a").unwrap().values::<i32>().unwrap();
    for name in names {
        let mut expected: BTreeMap<Value, (u64, i64)> = BTreeMap::new();
        for (at, a) in a.iter().enumerate() {
            let group = expected.entry(value(cells.field(name).unwrap(), at)).or_default();
            *group = (group.0 + 1, group.1 + i64::from(*a));
        }
        let found = read().group_by([*name]).aggregate([Aggregate::count(), Aggregate::sum("a")]).unwrap();
        let counts: &[u64] = found.values()[0].column.values().unwrap();
        let sums: &[i64] = found.values()[1].column.values().unwrap();
        let keys = found.keys().field(name).unwrap();
        let found = counts.iter().zip(sums).enumerate();
        let found: BTreeMap<Value, (u64, i64)> =
            found.map(|(at, (count, sum))| (value(keys, at), (*count, *sum))).collect();
        assert_eq!(found, expected, "by {name}: {what}");
    }
}

#[test]
fn reads_conditions_deletes_aggregates_and_consolidation_agree_on_cells_older_than_a_field() {
    let mut consolidated = 0;
    for seed in 0..40 {
        for dense in [true, false] {
            let mut history = History::new(dense, seed);
            for step in 0..7 {
                history.step();
                if step % 3 == 0 {
                    history.check(&format!("seed {seed}, dense {dense}, step {step}"));
                }
            }
            let what = format!("seed {seed}, dense {dense}, consolidated");
            if history.consolidate(&what) {
                consolidated += 1;
                history.check(&what);
            }
        }
    }
    assert!(consolidated > 30, "{consolidated}");
}
