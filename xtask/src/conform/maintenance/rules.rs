//! Known cases in which libtiledb treats a history differently. Each rule has a paragraph in
//! docs/correctness_issues.md, and was observed with libtiledb alone; whether a rule applies
//! depends on the history, never on an answer.

use tdb_array::maintain::Stored;

use super::cases::{Case, Step};
use super::cells::{Added, Cells};

/// Cells that a newer fragment wrote without the attribute have its fill value. libtiledb returns
/// the fill value where the fragment covers a space tile, and older values elsewhere.
const HIDDEN: &str =
    "\"Dense fragments without an attribute\": values of an attribute that was dropped and added again";
/// libtiledb consolidates fragments of several schemas even if earlier times then lose the values
/// of an attribute that is gone.
const FORGOTTEN: &str =
    "\"Vacuum\": values of an attribute that was dropped before fragments were consolidated";
/// libtiledb reads numbers as if they had the attribute's new type; the bytes after them come from
/// memory outside the file's data.
const RETYPED: &str =
    "\"Attributes whose type changed\": values of an attribute that was added again with another type";
/// libtiledb divides by the number of cells in fragments that have the attribute, which is zero.
const ADDED: &str =
    "\"Consolidation after an attribute of variable length was added\": libtiledb dies of SIGFPE";
/// libtiledb crashes when it writes a box of a dense array, into an array that only libtiledb
/// worked on, or one that leaves out a part of a space tile.
pub(super) const EMPTY: &str = "\"Dense writes of empty strings\": libtiledb dies of SIGSEGV";
/// What its side says before such a write.
pub(super) const WRITES: &str = "libtiledb writes a box";
/// What is said of a crash that has nothing to do with what tdb wrote.
pub(super) const ALONE: &str = "and dies there as well if it takes all steps itself";

impl Case {
    /// The rule by which libtiledb's values of "b" are ignored, if one applies to the history.
    pub(super) fn ignored(&self) -> Option<&'static str> {
        if self.retypes() {
            Some(RETYPED)
        } else if self.hides() {
            Some(HIDDEN)
        } else if self.forgets() {
            Some(FORGOTTEN)
        } else {
            None
        }
    }

    /// The reason why libtiledb may crash when it consolidates, if a rule applies to the history:
    /// two fragments without "b", which is now a string.
    pub(super) fn may_crash(&self) -> Option<&'static str> {
        let (mut now, mut without) = (None, 0);
        for step in &self.steps {
            match step {
                Step::Evolve { added, .. } => now = *added,
                Step::Write { cells, .. } if cells.b.is_none() => without += 1,
                Step::Consolidate(Stored::Fragments) | Step::Purge
                    if without > 1 && now == Some(Added::Text) =>
                {
                    return Some(ADDED);
                }
                _ => {}
            }
        }
        None
    }

    /// Whether "b" was written as a number, and added again as another kind of number; or was a
    /// number once, and another kind of number when fragments were consolidated, which windows of
    /// both times read.
    fn retypes(&self) -> bool {
        let (mut now, mut written, mut known) = (None, Vec::new(), Vec::new());
        let other = |number: Option<Added>, numbers: &[Added]| {
            number.is_some_and(|number| number != Added::Text && numbers.iter().any(|other| *other != number))
        };
        self.steps.iter().any(|step| match step {
            Step::Write { cells, .. } => {
                written.extend(cells.b.filter(|b| *b != Added::Text));
                false
            }
            Step::Evolve { added, .. } => {
                now = *added;
                let again = other(now, &written);
                known.extend(now.filter(|b| *b != Added::Text));
                again
            }
            Step::Consolidate(Stored::Fragments) | Step::Purge => other(now, &known),
            _ => false,
        })
    }

    /// Whether cells of a dense array were written with "b", then by fragments that have no such
    /// attribute and do not fill the cells' space tiles, and "b" was added again.
    fn hides(&self) -> bool {
        if !self.kind.is_dense() {
            return false;
        }
        let mut writes: Vec<&Cells> = Vec::new();
        self.steps.iter().any(|step| match step {
            Step::Write { cells, .. } => {
                writes.push(cells);
                false
            }
            Step::Evolve { added: Some(added), .. } => {
                let had = |cells: &&&Cells| cells.b == Some(*added);
                let mut older: Vec<&Cells> = Vec::new();
                writes.iter().any(|cells| {
                    if had(&cells) {
                        older.push(cells);
                        return false;
                    }
                    older.iter().any(|older| older.cells.keys().any(|at| cells.lies_in_part_of_tile(*at)))
                })
            }
            _ => false,
        })
    }

    /// Whether fragments were consolidated while "b" was different from when one of them was
    /// written.
    fn forgets(&self) -> bool {
        let (mut now, mut written, mut count) = (None, Vec::new(), 0);
        for step in &self.steps {
            match step {
                Step::Evolve { added, .. } => now = *added,
                Step::Write { cells, .. } => {
                    written.extend(cells.b);
                    count += 1;
                }
                Step::Consolidate(Stored::Fragments) | Step::Purge
                    if count > 1 && written.iter().any(|b| Some(*b) != now) =>
                {
                    return true;
                }
                _ => {}
            }
        }
        false
    }
}
