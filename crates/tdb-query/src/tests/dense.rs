//! Attributes that are dropped and added again: what a fragment without an attribute hides of older
//! ones.

use core::ops::RangeInclusive;

use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::write::SchemaEvolution;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_codec::{CellValNum, Datatype, Layout};
use tdb_schema::{ArraySchema, Attribute, Dimension};

use crate::budget::MemoryBudget;
use crate::expression::field;
use crate::storage::MemoryStorage;
use crate::{Aggregate, Array, Cells, Error, OpenOptions, QueryError, TimeWindow};

const ROWS: i32 = 7;
const COLUMNS: i32 = 5;
const CELLS: usize = 35;
const FILL: i32 = i32::MIN;

/// The number of a cell.
fn number(y: i32, x: i32) -> usize {
    usize::try_from((y - 1) * COLUMNS + x - 1).unwrap()
}

/// A cell of all attributes, as a reader sees it: `a`, `text` and `maybe` are fill values if the
/// newest fragment lacks them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cell {
    always: Option<i32>,
    a: Option<i32>,
    text: Option<String>,
    /// The outer `None` is the fill value, the inner one a null.
    maybe: Option<Option<i32>>,
}

/// A history of writes and schema evolutions, with the state after each.
struct History {
    storage: MemoryStorage,
    /// Which of the optional attributes exist, and whether `a` is an INT32.
    has: [bool; 3],
    is_int: bool,
    cells: Vec<Cell>,
    /// What readers see at the time of each write whose attributes are those of the current schema.
    states: Vec<(u64, [bool; 3], Vec<Cell>)>,
    time: u64,
    random: u64,
}

impl History {
    fn new(seed: u64) -> Self {
        let schema = ArraySchema::dense()
            .dimension(Dimension::new("y", 1i32..=ROWS).with_tile_bytes(3i32.to_le_bytes()))
            .dimension(Dimension::new("x", 1i32..=COLUMNS).with_tile_bytes(2i32.to_le_bytes()))
            .attribute(int("always"))
            .attribute(int("a"))
            .attribute(text())
            .attribute(maybe())
            .build()
            .unwrap();
        let storage = MemoryStorage::default();
        WriteOptions::new().timestamp(1000).create_storage(&storage, &schema).unwrap();
        let cells = vec![Cell::default(); CELLS];
        let (has, is_int) = ([true; 3], true);
        Self { storage, has, is_int, cells, states: Vec::new(), time: 1000, random: seed * 2 + 1 }
    }

    fn draw(&mut self, below: i32) -> i32 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i32::try_from(self.random >> 33).unwrap() % below
    }

    fn side(&mut self, end: i32) -> RangeInclusive<i32> {
        let mut draw = || 1 + self.draw(end);
        let (a, b) = (draw(), draw());
        a.min(b)..=a.max(b)
    }

    /// Drops or adds an attribute, sometimes `a` with another type.
    fn evolve(&mut self) {
        self.time += 1;
        let which = usize::try_from(self.draw(3)).unwrap();
        let mut evolution = SchemaEvolution::new();
        if self.has[which] {
            evolution = evolution.drop_attribute(["a", "text", "maybe"][which]);
        } else {
            let other = self.draw(3) == 0;
            let attribute = match which {
                0 if other => Attribute::new("a", Datatype::Float32, CellValNum::ONE),
                0 => int("a"),
                1 => text(),
                _ => maybe(),
            };
            evolution = evolution.add_attribute(attribute);
            if which == 0 {
                self.is_int = !other;
            }
        }
        self.has[which] = !self.has[which];
        let options = WriteOptions::new().timestamp(self.time);
        options.evolve_storage(self.storage.clone(), &evolution).unwrap();
    }

    /// Overwrites a box in all attributes of the current schema.
    fn write(&mut self) {
        self.time += 1;
        let (rows, columns) = (self.side(ROWS), self.side(COLUMNS));
        let (rows, columns) = if self.draw(4) == 0 { (1..=ROWS, columns) } else { (rows, columns) };
        let places: Vec<usize> =
            rows.clone().flat_map(|y| columns.clone().map(move |x| number(y, x))).collect();
        let values: Vec<i32> = places.iter().map(|_| self.draw(100)).collect();
        let reals: Vec<f32> = values.iter().map(|value| *value as f32).collect();
        let texts: Vec<String> =
            values.iter().map(|value| "t".repeat(usize::try_from(*value).unwrap() % 4) + "!").collect();
        let mut offsets = vec![0u64];
        texts.iter().for_each(|text| offsets.push(offsets.last().unwrap() + text.len() as u64));
        let joined = texts.concat();
        let valid: Vec<u8> = values.iter().map(|value| u8::from(value % 3 != 0)).collect();
        let writer = WriteOptions::new().timestamp(self.time).open_storage(self.storage.clone()).unwrap();
        let mut write = writer.write().range("y", rows).range("x", columns);
        write = write.column(WriteColumn::fixed("always", &values));
        if self.has[0] {
            write = write.column(match self.is_int {
                true => WriteColumn::fixed("a", &values),
                false => WriteColumn::fixed("a", &reals),
            });
        }
        if self.has[1] {
            write = write.column(WriteColumn::var("text", joined.as_bytes(), &offsets));
        }
        if self.has[2] {
            write = write.column(WriteColumn::fixed("maybe", &values).nullable(&valid));
        }
        write.commit().unwrap();
        for (at, place) in places.into_iter().enumerate() {
            self.cells[place] = Cell {
                always: Some(values[at]),
                a: (self.has[0] && self.is_int).then_some(values[at]),
                text: self.has[1].then(|| texts[at].clone()),
                maybe: self.has[2].then(|| (valid[at] == 1).then_some(values[at])),
            };
        }
    }

    /// Records what readers see now.
    fn note(&mut self) {
        let has = [self.has[0] && self.is_int, self.has[1], self.has[2]];
        self.states.push((self.time, has, self.cells.clone()));
    }

    fn at(&self, time: u64) -> Array {
        OpenOptions::new()
            .window(TimeWindow::until(time))
            .threads(1)
            .open_storage(self.storage.clone())
            .unwrap()
    }
}

fn int(name: &str) -> Attribute {
    Attribute::new(name, Datatype::Int32, CellValNum::ONE)
}

fn text() -> Attribute {
    Attribute::new("text", Datatype::StringUtf8, CellValNum::Var)
}

fn maybe() -> Attribute {
    int("maybe").with_nulls()
}

/// Compares a result with the cells at these places.
fn compare(cells: &Cells, expected: &[&Cell], has: [bool; 3], what: &str) {
    assert_eq!(cells.len(), expected.len(), "{what}");
    let values = |name: &str| -> Vec<i32> { cells.field(name).unwrap().values::<i32>().unwrap().to_vec() };
    let wanted = |pick: fn(&Cell) -> Option<i32>| -> Vec<i32> {
        expected.iter().map(|cell| pick(cell).unwrap_or(FILL)).collect()
    };
    assert_eq!(values("always"), wanted(|cell| cell.always), "always: {what}");
    if has[0] {
        assert_eq!(values("a"), wanted(|cell| cell.a), "a: {what}");
    }
    if has[1] {
        let column = cells.field("text").unwrap();
        let found: Vec<&[u8]> = (0..cells.len()).map(|at| column.cell(at).unwrap()).collect();
        let fill = b"\0".as_slice();
        let wanted: Vec<&[u8]> =
            expected.iter().map(|cell| cell.text.as_ref().map_or(fill, String::as_bytes)).collect();
        assert_eq!(found, wanted, "text: {what}");
    }
    if has[2] {
        let column = cells.field("maybe").unwrap();
        let found: Vec<Option<i32>> = column
            .values::<i32>()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(at, value)| (!column.is_null(at)).then_some(*value))
            .collect();
        let wanted: Vec<Option<i32>> = expected.iter().map(|cell| cell.maybe.flatten()).collect();
        assert_eq!(found, wanted, "maybe: {what}");
    }
}

/// Reads the whole array and a part of it, in every possible way.
fn check(history: &History, time: u64, has: [bool; 3], cells: &[Cell], what: &str) {
    let array = history.at(time);
    let what = format!("{what}, read at {time}");
    let place = |y: i32, x: i32| &cells[number(y, x)];
    for (rows, columns) in [(1..=ROWS, 1..=COLUMNS), (2..=6, 2..=4), (4..=4, 1..=5)] {
        let read = || array.read().range("y", rows.clone()).range("x", columns.clone());
        let by_row: Vec<&Cell> = rows
            .clone()
            .flat_map(|y| columns.clone().map(move |x| (y, x)))
            .map(|(y, x)| place(y, x))
            .collect();
        let by_column: Vec<&Cell> = columns
            .clone()
            .flat_map(|x| rows.clone().map(move |y| (y, x)))
            .map(|(y, x)| place(y, x))
            .collect();
        compare(&read().collect().unwrap(), &by_row, has, &what);
        compare(&read().order(Layout::ColMajor).collect().unwrap(), &by_column, has, &what);
        let mut from = 0;
        for batch in read().batch_memory(MemoryBudget::from_bytes(1024)).batches().unwrap() {
            let batch = batch.unwrap();
            let end = from + batch.len();
            compare(&batch, &by_row[from..end], has, &what);
            from = end;
        }
        assert_eq!(from, by_row.len(), "{what}");
        add_up(&read(), Some(by_row.len()), has, &what);
        selected(&read(), &by_row, &by_column, &what);
        if has[0] {
            let passes = |cell: &&Cell| cell.a.is_some_and(|a| a >= 40);
            let nothing = Cell::default();
            let filtered: Vec<&Cell> =
                by_row.iter().map(|cell| if passes(cell) { *cell } else { &nothing }).collect();
            let condition = || field("a").ge(40);
            compare(&read().condition(condition()).collect().unwrap(), &filtered, has, &what);
            let found: Vec<&Cell> = by_row.iter().copied().filter(passes).collect();
            let cells = read().condition(condition()).selection(true).collect().unwrap();
            compare(&cells.into_selected().unwrap(), &found, has, &what);
            // A consolidated fragment has fill values where nobody wrote.
            if !what.contains("consolidated") {
                let written = by_row.iter().filter(|cell| cell.always.is_some());
                let values: Vec<i32> = written.map(|cell| cell.a.unwrap_or(FILL)).collect();
                aggregates(read().aggregate(ASKED.map(|make| make("a"))).unwrap(), &values, &what);
            }
            let within = |from: i32, to: i32| field("a").ge(from).and(field("always").le(to));
            for condition in [condition(), !condition(), within(10, 50), field("a").lt(0)] {
                add_up(&read().condition(condition.clone()), None, has, &format!("{what}: {condition}"));
            }
            let values: Vec<i32> = by_row.iter().copied().filter(passes).filter_map(|cell| cell.a).collect();
            let found = read().condition(condition()).aggregate(ASKED.map(|make| make("a")));
            aggregates(found.unwrap(), &values, &what);
            read().condition(condition()).explain().unwrap();
        }
    }
}

/// Compares aggregates with the cells that the same read marks, and `count` with this number, if it
/// is another.
fn add_up(read: &crate::Read, count: Option<usize>, has: [bool; 3], what: &str) {
    let read = || read.clone();
    let cells = read().selection(true).collect().unwrap().into_selected().unwrap();
    let count = u64::try_from(count.unwrap_or(cells.len())).unwrap();
    let counted = read().aggregate([Aggregate::count()]).unwrap();
    assert_eq!(counted[0].as_u64(), Some(count), "count alone: {what}");
    for (name, _) in [("always", true), ("a", has[0]), ("maybe", has[2])].iter().filter(|(_, has)| *has) {
        let column = cells.field(name).unwrap();
        let values = column.values::<i32>().unwrap().iter().enumerate();
        let values: Vec<i64> =
            values.filter(|(at, _)| !column.is_null(*at)).map(|(_, value)| i64::from(*value)).collect();
        let asked = [
            Aggregate::null_count(*name),
            Aggregate::sum(*name),
            Aggregate::min(*name),
            Aggregate::max(*name),
            Aggregate::mean(*name),
            Aggregate::count(),
        ];
        let real = |value: i64| value as f64;
        let sum: i64 = values.iter().sum();
        let some = (!values.is_empty()).then_some(());
        let expected = [
            Some((cells.len() - values.len()) as f64),
            if *name == "maybe" { some.map(|()| real(sum)) } else { Some(real(sum)) },
            values.iter().min().copied().map(real),
            values.iter().max().copied().map(real),
            some.map(|()| real(sum) / values.len() as f64),
            Some(count as f64),
        ];
        let mut bytes = 300;
        let in_parts = loop {
            match read().batch_memory(MemoryBudget::from_bytes(bytes)).aggregate(asked.clone()) {
                Ok(found) => break found,
                Err(Error::Query(QueryError::BudgetTooSmall { .. })) => bytes = bytes * 3 / 2,
                Err(error) => panic!("{what}: {error}"),
            }
        };
        for found in [read().aggregate(asked.clone()).unwrap(), in_parts] {
            let found: Vec<Option<f64>> = found.iter().map(crate::AggregateValue::as_f64).collect();
            assert_eq!(found, expected, "{name}: {what}");
        }
    }
}

/// Checks which cells count as written: those of fragments, and what consolidation filled in.
fn selected(read: &crate::Read, by_row: &[&Cell], by_column: &[&Cell], what: &str) {
    let read = || read.clone().selection(true);
    let marks = |cells: Cells| cells.selected().unwrap().to_vec();
    let written =
        |cells: &[&Cell]| cells.iter().map(|cell| u8::from(cell.always.is_some())).collect::<Vec<_>>();
    let by_row_found = marks(read().collect().unwrap());
    let by_column_found = marks(read().order(Layout::ColMajor).collect().unwrap());
    for (found, wanted) in [(&by_row_found, written(by_row)), (&by_column_found, written(by_column))] {
        if what.contains("consolidated") {
            assert!(found.iter().zip(&wanted).all(|(found, wanted)| found >= wanted), "{what}");
        } else {
            assert_eq!(*found, wanted, "{what}");
        }
    }
    let batches = read().batch_memory(MemoryBudget::from_bytes(1024)).batches().unwrap();
    let batches: Vec<u8> = batches.flat_map(|batch| marks(batch.unwrap())).collect();
    assert_eq!(batches, by_row_found, "{what}");
}

#[test]
fn a_selection_has_the_order_of_the_ranges() {
    let mut history = History::new(0);
    history.time += 1;
    let writer = WriteOptions::new().timestamp(history.time).open_storage(history.storage.clone()).unwrap();
    let values = [1, 2, 3, 4];
    let write =
        writer.write().range("y", 2..=3).range("x", 1..=2).column(WriteColumn::fixed("always", &values));
    let write = write.column(WriteColumn::fixed("a", &values)).column(WriteColumn::var("text", b"", &[0; 5]));
    write.column(WriteColumn::fixed("maybe", &values).nullable(&[1; 4])).commit().unwrap();
    let array = history.at(history.time);
    let read = || array.read().fields(["y", "always"]).range("y", 4..=4).range("y", 2..=3).range("y", 2..=2);
    let cells = read().range("x", 2..=3).selection(true).collect().unwrap();
    assert_eq!(cells.selected().unwrap(), [0, 0, 1, 0, 1, 0, 1, 0]);
    let found = cells.into_selected().unwrap();
    assert_eq!(found.field("always").unwrap().values::<i32>().unwrap(), [2, 4, 2]);
    assert_eq!(found.field("y").unwrap().values::<i32>().unwrap(), [2, 3, 2]);
    // A cell that was never written satisfies no condition, even if its fill value would.
    let below = read().condition(field("always").lt(2)).selection(true).collect().unwrap();
    let below = below.into_selected().unwrap();
    assert_eq!(below.field("always").unwrap().values::<i32>().unwrap(), [1, 1], "not those without a value");
    assert_eq!(read().collect().unwrap().selected(), None);
}

const ASKED: [fn(&'static str) -> Aggregate; 3] = [Aggregate::sum, Aggregate::min, Aggregate::max];

fn aggregates(found: Vec<crate::AggregateValue>, values: &[i32], what: &str) {
    let found: Vec<Option<i64>> = found.iter().map(crate::AggregateValue::as_i64).collect();
    let sum = values.iter().map(|value| i64::from(*value)).sum();
    let end = |value: Option<&i32>| value.map(|value| i64::from(*value));
    assert_eq!(found, [Some(sum), end(values.iter().min()), end(values.iter().max())], "{what}: {values:?}");
}

#[test]
fn a_cell_has_fill_values_for_what_its_newest_fragment_lacks() {
    for seed in 0..60 {
        let mut history = History::new(seed);
        for _ in 0..8 {
            if history.draw(5) < 2 {
                history.evolve();
            } else {
                history.write();
            }
            history.note();
        }
        for (time, has, cells) in &history.states {
            check(&history, *time, *has, cells, &format!("seed {seed}"));
        }
        // As many fragments as possible are consolidated; no read at any time may see a difference.
        let writer = WriteOptions::new().open_storage(history.storage.clone()).unwrap();
        let plan = Consolidation::new(Stored::Fragments).amplification(10.0).plan(&writer).unwrap();
        plan.run(&writer, &mut |_| core::ops::ControlFlow::Continue(())).unwrap();
        for (time, has, cells) in &history.states {
            check(&history, *time, *has, cells, &format!("seed {seed}, consolidated"));
        }
    }
}

#[test]
fn a_window_with_an_older_schema_hides_what_newer_fragments_cover() {
    let mut history = History::new(0);
    history.write();
    let drop = ["a", "text", "maybe"];
    let evolution =
        drop.iter().fold(SchemaEvolution::new(), |evolution, name| evolution.drop_attribute(*name));
    WriteOptions::new().timestamp(1020).evolve_storage(history.storage.clone(), &evolution).unwrap();
    // Writers use the newest schema, whatever time they write at.
    let writer = WriteOptions::new().timestamp(1010).open_storage(history.storage.clone()).unwrap();
    let write = writer.write().range("y", 1..=2).range("x", 2..=4);
    write.column(WriteColumn::fixed("always", &[7; 6])).commit().unwrap();
    let cells = history.at(1015).read().range("y", 1..=2).range("x", 2..=4).collect().unwrap();
    assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [FILL; 6]);
    assert_eq!(cells.field("always").unwrap().values::<i32>().unwrap(), [7; 6]);
}
