//! What an array holds after a history, and what libtiledb is known to make of it otherwise.

use std::collections::BTreeMap;

use tdb_array::{Array, Stored};

use super::cases::{Added, Case, Kind, Step, is_valid, real, text};

/// Values of a cell by field; `None` is null.
type Row = BTreeMap<String, Option<Vec<u8>>>;

/// Cells that a newer fragment wrote without the attribute have its fill value; libtiledb has it where the fragment covers a
/// space tile, and older values elsewhere.
const HIDDEN: &str =
    "\"A dense fragment without an attribute\": values of an attribute that was dropped and added again";
/// libtiledb consolidates fragments of several schemas even if earlier times then lose the values of an attribute that is gone.
const FORGOTTEN: &str =
    "\"Vacuum\": values of an attribute that was dropped before fragments were consolidated";
/// libtiledb reads what was written under another type as if it were of the new one.
const RETYPED: &str =
    "\"Attributes whose type changed\": values of an attribute that was added again with another type";
/// It divides by a size that no fragment has when it consolidates what was written before an attribute of variable length came.
const ADDED: &str =
    "\"Consolidation after an attribute of variable length was added\": libtiledb dies of SIGFPE";

impl Case {
    /// The rule by which libtiledb's values of "b" do not count, if one fits the history.
    pub(super) fn ignored(&self) -> Option<&'static str> {
        let mut types = Vec::new();
        for step in &self.steps {
            if let Step::Evolve { added: Some(added), .. } = step {
                types.push(*added);
            }
        }
        if types.windows(2).any(|pair| pair.first() != pair.last()) {
            Some(RETYPED)
        } else if types.len() > 1 && self.kind.is_dense() {
            Some(HIDDEN)
        } else if !types.is_empty() && self.forgets_b() {
            Some(FORGOTTEN)
        } else {
            None
        }
    }

    /// Why libtiledb may crash when it consolidates, if a rule fits the history.
    pub(super) fn may_crash(&self) -> Option<&'static str> {
        let (mut now, mut without, mut other) = (None, false, false);
        for step in &self.steps {
            match step {
                Step::Evolve { added, .. } => {
                    other |= added.is_some() && now.is_some_and(|of: Option<Added>| of != *added);
                    if added.is_some() {
                        now = Some(*added);
                    }
                }
                Step::Write { cells, .. } => without |= cells.b.is_none(),
                Step::Consolidate(Stored::Fragments) | Step::Purge if other => return Some(RETYPED),
                Step::Consolidate(Stored::Fragments) | Step::Purge
                    if without && now == Some(Some(Added::Text)) =>
                {
                    return Some(ADDED);
                }
                _ => {}
            }
        }
        None
    }

    /// The array as it must be when all times are seen, or how it differs.
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
        let names: Vec<&String> = cells.columns().iter().map(|column| &column.name).collect();
        for row in &mut expected {
            row.retain(|name, _| names.contains(&name));
        }
        if self.forgets_b() {
            found.iter_mut().chain(&mut expected).for_each(|row| drop(row.remove("b")));
        }
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

    /// Whether values of "b" may be gone: fragments were consolidated while the schema was another than that which they were
    /// written with.
    fn forgets_b(&self) -> bool {
        let (mut now, mut written) = (None, Vec::new());
        for step in &self.steps {
            match step {
                Step::Evolve { added, .. } => now = *added,
                Step::Write { cells, .. } => written.extend(cells.b),
                Step::Consolidate(Stored::Fragments) | Step::Purge
                    if written.iter().any(|b| Some(*b) != now) =>
                {
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    fn rows(&self) -> Vec<Row> {
        let newest = self.newest_b();
        let mut cells: Vec<((i32, i32), u64, i32, Option<Added>)> = Vec::new();
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
                Step::Delete { time, most } => Some((*time, *most)),
                _ => None,
            })
        };
        cells.retain(|(_, written, a, _)| !deletes().any(|(time, most)| time >= *written && *a > most));
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
        set("s", a.filter(|(a, _)| is_valid(*a)).map(|(a, _)| text(a)));
        if let Some(newest) = newest {
            let written = a.filter(|(_, b)| *b == Some(newest)).map(|(a, _)| newest.value(a));
            set("b", Some(written.unwrap_or_else(|| newest.attribute().fill_value)));
        }
        row
    }
}
