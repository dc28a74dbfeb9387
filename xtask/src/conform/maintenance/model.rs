//! The contents of an array after a history.

use std::collections::BTreeMap;

use tdb_array::Array;

use super::cases::{Case, Kind, Step};
use super::cells::{Added, is_valid, real, text};

/// Values of a cell by field; `None` is null.
type Row = BTreeMap<String, Option<Vec<u8>>>;

/// A written cell: its coordinates, its time, "a", and "b" if it had one.
type Written = ((i32, i32), u64, i32, Option<Added>);

impl Case {
    /// Checks the array as read over all times; the error is the difference.
    pub(super) fn check(&self, array: &Array) -> Result<(), String> {
        if self.kind == Kind::Group {
            return Ok(());
        }
        let cells = array.read().collect().map_err(|error| error.to_string())?;
        let mut found: Vec<Row> = (0..cells.len())
            .map(|at| {
                let value = |column: &tdb_array::Column| {
                    column.cell(at).filter(|_| !column.is_null(at)).map(<[u8]>::to_vec)
                };
                cells.columns().iter().map(|column| (column.name.clone(), value(column))).collect()
            })
            .collect();
        let mut expected = self.rows();
        if !self.kind.is_dense() {
            found.sort();
            expected.sort();
        }
        if found.len() != expected.len() {
            return Err(format!("{} cells, not {} as the model says", found.len(), expected.len()));
        }
        match found.iter().zip(&expected).position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(at) => {
                let (found, expected) = (found.get(at), expected.get(at));
                Err(format!("cell {at} is {found:?}, not {expected:?} as the model says"))
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        let newest = self.newest_b();
        let mut cells: Vec<Written> = Vec::new();
        for (time, written) in self.writes() {
            for (at, a) in &written.cells {
                if self.kind != Kind::Duplicates {
                    cells.retain(|(other, ..)| other != at);
                }
                cells.push((*at, time, *a, written.b));
            }
        }
        let deletes = || {
            self.steps.iter().filter_map(|step| match step {
                Step::Delete { time, max } => Some((*time, *max)),
                _ => None,
            })
        };
        cells.retain(|(_, written, a, _)| !deletes().any(|(time, max)| time >= *written && *a > max));
        let row = |(x, y): (i32, i32), a: Option<(i32, Option<Added>)>| self.row((x, y), a, newest);
        if self.kind.is_dense() {
            let all = (0..10).flat_map(|x| (0..4).map(move |y| (x, y)));
            let value = |at| cells.iter().find(|(other, ..)| *other == at).map(|(_, _, a, b)| (*a, *b));
            return all.map(|at| row(at, value(at))).collect();
        }
        cells.into_iter().map(|(at, _, a, b)| row(at, Some((a, b)))).collect()
    }

    fn row(&self, (x, y): (i32, i32), a: Option<(i32, Option<Added>)>, newest: Option<Added>) -> Row {
        let mut row = Row::new();
        let mut set = |name: &str, value: Option<Vec<u8>>| row.insert(name.to_owned(), value);
        if !self.kind.is_dense() {
            let bytes = |value: i32, high: i32| match self.kind {
                Kind::Reals => real(value, high).to_le_bytes().to_vec(),
                _ => value.to_le_bytes().to_vec(),
            };
            let word = || format!("{x}{}", "w".repeat(usize::try_from(x).unwrap_or(0) % 3)).into_bytes();
            set("x", Some(if self.kind == Kind::Words { word() } else { bytes(x, 9) }));
            set("y", Some(bytes(y, 3)));
        }
        set("a", Some(a.map_or(i32::MIN, |(a, _)| a).to_le_bytes().to_vec()));
        set("s", a.filter(|(a, _)| is_valid(*a)).map(|(a, _)| text(self.kind, a)));
        if let Some(newest) = newest {
            let written = a.filter(|(_, b)| *b == Some(newest)).map(|(a, _)| newest.value(a));
            set("b", Some(written.unwrap_or_else(|| newest.attribute().fill_value)));
        }
        row
    }
}
