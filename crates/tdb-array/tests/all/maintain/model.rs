//! A model of a sparse array in memory, as reads at any time must see it, and the same changes
//! through tdb.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::{Storage, WriteStorage};
use tdb_array::write::SchemaEvolution;
use tdb_array::{Layout, OpenOptions, Result, TimeWindow, WriteColumn, WriteOptions};
use tdb_fragment::{Comparison, Condition};
use tdb_schema::{Attribute, Dimension};

/// When arrays are created. Schemas are ordered by their names, so all times have the same number
/// of digits.
pub(crate) const FIRST: u64 = 100;

/// A cell: coordinates, a number, a text that may be null, and the numbers in attributes that
/// evolutions added.
pub(crate) type Cell = ((i32, u8), i32, Option<String>, Vec<i32>);

/// Cells of one write: coordinates and number.
pub(crate) type Numbers = BTreeMap<(i32, u8), i32>;

/// A change of an array.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Cells by coordinates.
    Write(Numbers),
    /// Deletes the cells whose number is greater.
    Delete(i32),
    Consolidate(Stored),
    /// Consolidates between two and this many fragments at a time.
    ConsolidateFew(usize),
    Vacuum(Stored),
    VacuumOrphans,
    /// A key-value pair, or its removal.
    Metadata(u8, Option<i32>),
    /// Adds an attribute.
    Evolve,
}

/// Everything that was written, by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    duplicates: bool,
    /// Times, cells, and how many attributes evolutions had added by then.
    writes: Vec<(u64, Numbers, usize)>,
    evolved: Vec<u64>,
    deletes: Vec<(u64, i32)>,
    metadata: Vec<(u64, u8, Option<i32>)>,
}

impl Model {
    pub(crate) fn new(duplicates: bool) -> Self {
        Self { duplicates, ..Self::default() }
    }

    pub(crate) fn apply(&mut self, time: u64, change: &Change) {
        match change {
            Change::Write(cells) => self.writes.push((time, cells.clone(), self.evolved.len())),
            Change::Evolve => self.evolved.push(time),
            Change::Delete(most) => self.deletes.push((time, *most)),
            Change::Metadata(key, value) => self.metadata.push((time, *key, *value)),
            _ => {}
        }
    }

    /// The attributes that evolutions added. For an array without cells, nothing else shows whether
    /// there was an evolution.
    pub(crate) fn added(&self) -> Vec<String> {
        self.evolved.iter().map(|time| format!("b{time}")).collect()
    }

    /// The cells a read in `window` returns, sorted.
    pub(crate) fn cells(&self, window: TimeWindow) -> Vec<Cell> {
        let inside = |time: u64| window.start <= time && time <= window.end;
        let mut versions: Vec<((i32, u8), u64, i32, usize)> = Vec::new();
        for (time, cells, more) in self.writes.iter().filter(|(time, ..)| inside(*time)) {
            for (at, value) in cells {
                if !self.duplicates {
                    versions.retain(|(other, ..)| other != at);
                }
                versions.push((*at, *time, *value, *more));
            }
        }
        let deleted = |(_, written, value, _): &((i32, u8), u64, i32, usize)| {
            let mut deletes = self.deletes.iter().filter(|(time, _)| inside(*time));
            deletes.any(|(time, most)| time >= written && value > most)
        };
        versions.retain(|version| !deleted(version));
        let attributes = self.evolved.iter().filter(|time| **time <= window.end).count();
        // Cells that were written before an attribute existed have its fill value.
        let more = |value: i32, own: usize| -> Vec<i32> {
            (0..attributes).map(|index| if index < own { value } else { i32::MIN }).collect()
        };
        let mut cells: Vec<Cell> = versions
            .into_iter()
            .map(|(at, _, value, own)| (at, value, text(value), more(value, own)))
            .collect();
        cells.sort();
        cells
    }

    pub(crate) fn metadata(&self, end: u64) -> BTreeMap<u8, i32> {
        let mut left = BTreeMap::new();
        for (_, key, value) in self.metadata.iter().filter(|(time, ..)| *time <= end) {
            match value {
                Some(value) => drop(left.insert(*key, *value)),
                None => drop(left.remove(key)),
            }
        }
        left
    }
}

/// A text derived from a number.
fn text(value: i32) -> Option<String> {
    (value % 3 != 0).then(|| "x".repeat(value.unsigned_abs() as usize % 5))
}

pub(crate) fn schema(duplicates: bool) -> ArraySchema {
    let mut text = Attribute::new("s", Datatype::StringAscii, CellValNum::Var);
    text.nullable = true;
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=9).with_tile(5i32))
        .dimension(Dimension::new("y", 0u8..=3).with_tile(2u8))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(text)
        .capacity(3);
    let schema = if duplicates { schema.allow_duplicates() } else { schema };
    schema.build().unwrap()
}

/// Makes a change through tdb.
pub(crate) fn change(storage: impl WriteStorage + 'static, time: u64, change: &Change) -> Result<()> {
    let options = WriteOptions::new().threads(1).timestamp(time);
    if matches!(change, Change::Evolve) {
        let name = format!("b{time}");
        let added = Attribute::new(name, Datatype::Int32, CellValNum::ONE);
        return options.evolve_storage(storage, &SchemaEvolution::new().add_attribute(added)).map(drop);
    }
    let writer = options.open_storage(storage)?;
    let go = &mut |_: &_| ControlFlow::Continue(());
    match change {
        Change::Write(cells) => {
            let mut cells: Vec<_> = cells.iter().map(|(at, value)| (*at, *value)).collect();
            // The global order: space tiles, then cells.
            cells.sort_by_key(|((x, y), _)| (x / 5, y / 2, *x, *y));
            let x: Vec<i32> = cells.iter().map(|(at, _)| at.0).collect();
            let y: Vec<u8> = cells.iter().map(|(at, _)| at.1).collect();
            let a: Vec<i32> = cells.iter().map(|(_, value)| *value).collect();
            let texts: Vec<Option<String>> = a.iter().map(|value| text(*value)).collect();
            let valid: Vec<u8> = texts.iter().map(|text| u8::from(text.is_some())).collect();
            let mut offsets = vec![0u64];
            let mut bytes = Vec::new();
            for text in &texts {
                bytes.extend(text.as_deref().unwrap_or_default().bytes());
                offsets.push(bytes.len() as u64);
            }
            let write = writer.write().order(Layout::GlobalOrder);
            let write = write.column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("y", &y));
            let write = write.column(WriteColumn::fixed("a", &a));
            let write = write.column(WriteColumn::var("s", &bytes, &offsets).nullable(&valid));
            let added = writer.schema().attributes.iter().filter(|attribute| attribute.name.starts_with('b'));
            added.fold(write, |write, b| write.column(WriteColumn::fixed(&b.name, &a))).commit().map(drop)
        }
        Change::Delete(most) => {
            let operands = vec![most.to_le_bytes().to_vec()];
            let condition = Condition::Value { field: "a".into(), comparison: Comparison::Greater, operands };
            writer.delete(&condition).map(drop)
        }
        Change::Consolidate(what) => Consolidation::new(*what).plan(&writer)?.run(&writer, go),
        Change::ConsolidateFew(most) => {
            let few = Consolidation::new(Stored::Fragments).counts(2, *most).steps(2).memory(1 << 20);
            few.plan(&writer)?.run(&writer, go)
        }
        Change::Vacuum(what) => Vacuum::new(*what).plan(&writer)?.run(&writer, go),
        Change::VacuumOrphans => Vacuum::orphans().plan(&writer)?.run(&writer, go),
        Change::Metadata(key, value) => {
            let changes = tdb_array::write::MetadataChanges::new();
            let changes = match value {
                Some(value) => changes.put_values([*key], Datatype::Int32, &[*value]),
                None => changes.remove([*key]),
            };
            writer.write_metadata(&changes).map(drop)
        }
        // Done above: it needs no writer.
        Change::Evolve => Ok(()),
    }
}

/// The attributes of the array that evolutions added, in the order of their times.
pub(crate) fn added(storage: &(impl Storage + Clone + 'static)) -> Vec<String> {
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    let names = array.schema().attributes.iter().map(|attribute| attribute.name.clone());
    let mut added: Vec<String> = names.filter(|name| name.starts_with('b')).collect();
    added.sort_by_key(|name| (name.len(), name.clone()));
    added
}

/// The cells tdb reads in `window`, sorted.
pub(crate) fn cells(storage: &(impl Storage + Clone + 'static), window: TimeWindow) -> Vec<Cell> {
    let array = OpenOptions::new().threads(1).window(window).open_storage(storage.clone()).unwrap();
    let read = array.read().order(Layout::Unordered).collect().unwrap();
    let x: &[i32] = read.field("x").unwrap().values().unwrap();
    let y: &[u8] = read.field("y").unwrap().values().unwrap();
    let a: &[i32] = read.field("a").unwrap().values().unwrap();
    let s = read.field("s").unwrap();
    let text = |at: usize| {
        let text = String::from_utf8(s.cell(at).unwrap().to_vec()).unwrap();
        (!s.is_null(at)).then_some(text)
    };
    let added: Vec<&[i32]> = read
        .columns()
        .iter()
        .filter(|column| column.name.starts_with('b'))
        .map(|column| column.values().unwrap())
        .collect();
    let more = |at: usize| added.iter().map(|values| values[at]).collect();
    let mut cells: Vec<Cell> =
        (0..read.len()).map(|at| ((x[at], y[at]), a[at], text(at), more(at))).collect();
    cells.sort();
    cells
}

pub(crate) fn metadata(storage: &(impl Storage + Clone + 'static), end: u64) -> BTreeMap<u8, i32> {
    let array = OpenOptions::new().window(TimeWindow::until(end)).open_storage(storage.clone()).unwrap();
    let metadata = array.metadata().unwrap();
    let number = |data: &[u8]| i32::from_le_bytes(data.try_into().unwrap());
    metadata.iter().map(|(key, value)| (key[0], number(&value.data))).collect()
}
