//! Histories of arrays.

use std::collections::{BTreeMap, BTreeSet};

use tdb_array::TimeWindow;
use tdb_array::maintain::Stored;
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_fragment::{Comparison, Condition};
use tdb_schema::{Attribute, Dimension};

use super::cells::{Added, Cells, TILE};
use crate::conform::random::Random;
use crate::conform::writes::FUTURE;

/// The start time of histories. Schemas are ordered by their names, so all times have the same
/// number of digits.
pub(super) const START: u64 = 1000;

/// The kind of array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sparse,
    Duplicates,
    Hilbert,
    Dense,
    /// Sparse, with strings as one of the coordinates.
    Words,
    /// Sparse, in Hilbert order of reals, with cells at both ends of the domain.
    Reals,
    /// Encrypted.
    Secret,
    SecretDense,
    /// A group instead of an array.
    Group,
}

/// The key of encrypted arrays.
pub(super) const KEY: &str = "0123456789abcdeF0123456789abcdeF";

/// A history.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Create,
    Write {
        time: u64,
        cells: Cells,
    },
    Delete {
        time: u64,
        max: i32,
    },
    Consolidate(Stored),
    /// Consolidates fragments, without the deleted cells.
    Purge,
    Vacuum(Stored),
    /// Adds or removes a member of a group.
    Member {
        time: u64,
        name: String,
        added: bool,
    },
    Metadata {
        time: u64,
        key: String,
        value: Option<i32>,
    },
    /// Adds attribute "b" with some type, or drops it.
    Evolve {
        time: u64,
        added: Option<Added>,
    },
}

impl Step {
    /// The time of the step; `None` for maintenance.
    const fn time(&self) -> Option<u64> {
        match self {
            Self::Write { time, .. }
            | Self::Delete { time, .. }
            | Self::Member { time, .. }
            | Self::Metadata { time, .. }
            | Self::Evolve { time, .. } => Some(*time),
            Self::Create | Self::Consolidate(_) | Self::Purge | Self::Vacuum(_) => None,
        }
    }
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sparse => "sparse",
            Self::Duplicates => "duplicates",
            Self::Hilbert => "hilbert",
            Self::Dense => "dense",
            Self::Words => "string dimension",
            Self::Reals => "hilbert of reals",
            Self::Secret => "encrypted",
            Self::SecretDense => "encrypted dense",
            Self::Group => "group",
        }
    }

    pub(super) const fn is_dense(self) -> bool {
        matches!(self, Self::Dense | Self::SecretDense)
    }

    /// The key, as text.
    pub(super) const fn key(self) -> Option<&'static str> {
        match self {
            Self::Secret | Self::SecretDense => Some(KEY),
            _ => None,
        }
    }

    pub(super) fn schema(self) -> ArraySchema {
        let builder = if self.is_dense() { ArraySchema::dense() } else { ArraySchema::sparse() };
        let dimension = |name: &str, high: i32, tile: i32| {
            let dimension = Dimension::new(name, 0i32..=high);
            if self == Self::Hilbert { dimension } else { dimension.with_tile(tile) }
        };
        let real = |name: &str| Dimension::new(name, -10f64..=10f64);
        let [x, y] = match self {
            Self::Words => [Dimension::string("x"), dimension("y", 3, TILE.1)],
            Self::Reals => [real("x"), real("y")],
            _ => [dimension("x", 9, TILE.0), dimension("y", 3, TILE.1)],
        };
        let builder = builder.dimension(x).dimension(y).capacity(3);
        let builder = match self {
            Self::Duplicates => builder.allow_duplicates(),
            Self::Hilbert | Self::Reals => builder.cell_order(tdb_array::Layout::Hilbert),
            _ => builder,
        };
        let text = Attribute::new("s", Datatype::StringAscii, CellValNum::Var).with_nulls();
        let builder =
            builder.attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE)).attribute(text);
        // The parts are valid for every kind.
        builder.build().unwrap_or_else(|problem| {
            eprintln!("{problem}");
            std::process::exit(1)
        })
    }
}

/// "a > most".
pub(super) fn greater(max: i32) -> Condition {
    let operands = vec![max.to_le_bytes().to_vec()];
    Condition::Value { field: "a".into(), comparison: Comparison::Greater, operands }
}

const KINDS: [Kind; 11] = [
    Kind::Sparse,
    Kind::Dense,
    Kind::Dense,
    Kind::Reals,
    Kind::Reals,
    Kind::Duplicates,
    Kind::Hilbert,
    Kind::Words,
    Kind::Secret,
    Kind::SecretDense,
    Kind::Group,
];
const STORED: [Stored; 4] = [Stored::Fragments, Stored::FragmentMetadata, Stored::Commits, Stored::Metadata];

/// The history with this number of a seed.
pub(super) fn random(seed: u64, number: u64) -> Case {
    let random = &mut Random::new(seed.wrapping_mul(1 << 32).wrapping_add(number));
    let kind = random.pick(&KINDS).copied().unwrap_or(Kind::Sparse);
    if kind == Kind::Group {
        return group(seed, number, random);
    }
    let mut steps = vec![Step::Create];
    let mut b = None;
    let mut clock =
        Clock { next: START + 10, floor: START + 5, used: BTreeSet::new(), future: random.one_in(6) };
    let count = 4 + random.below(9);
    // Some histories mostly add and drop attributes, some mostly delete.
    let few: &[u64] = match random.below(4) {
        0 => &[0, 0, 0, 14, 14, 19],
        1 if kind.is_dense() => &[0, 0, 0, 14, 14],
        1 => &[0, 0, 0, 7, 7, 9, 19],
        _ => &[],
    };
    for index in 0..count {
        let draw = match few {
            [] => random.below(20),
            few => random.pick(few).copied().unwrap_or(0),
        };
        steps.push(match draw {
            0..=6 => Step::Write { time: clock.any(random), cells: cells(random, kind, b) },
            7 | 8 if !kind.is_dense() => {
                // Deletes all cells, some, or none.
                Step::Delete { time: clock.any(random), max: drawn(random, -50, 50) }
            }
            9 if !kind.is_dense() && random.one_in(3) => Step::Purge,
            7..=10 => {
                clock.settle();
                Step::Consolidate(pick(random, &STORED))
            }
            11..=13 => Step::Vacuum(pick(random, &STORED)),
            // libtiledb writes the schema of an evolved encrypted array without encryption, and can
            // then no longer open the array.
            14..=17 if kind.key().is_none() => {
                let types = if few.is_empty() {
                    [Added::Long, Added::Long, Added::Int, Added::Text]
                } else {
                    [Added::Long; 4]
                };
                b = if b.is_some() { None } else { Some(pick(random, &types)) };
                Step::Evolve { time: clock.later(), added: b }
            }
            _ => {
                let key = format!("k{}", random.below(3));
                let value = (random.below(3) > 0).then(|| drawn(random, -9, 9));
                Step::Metadata { time: clock.any(random), key, value }
            }
        });
        if clock.future && index == count / 2 {
            clock.jump();
        }
    }
    // Always adds one write, so there is something to read.
    steps.insert(1, Step::Write { time: START + 5, cells: cells(random, kind, None) });
    Case { name: format!("h{seed}_{number}"), kind, steps }
}

/// Times of steps: mostly one after another, sometimes out of order, and late ones in the future.
struct Clock {
    next: u64,
    /// No later step may have an earlier time than this, after a consolidation or an evolution.
    floor: u64,
    used: BTreeSet<u64>,
    future: bool,
}

impl Clock {
    /// A time after all earlier ones.
    fn later(&mut self) -> u64 {
        let time = self.next;
        self.next += 2;
        self.floor = time;
        time
    }

    /// Any time that no other step has.
    fn any(&mut self, random: &mut Random) -> u64 {
        // Odd times are between other times.
        let between = (self.floor + 1..self.next).filter(|time| time % 2 == 1 && !self.used.contains(time));
        let between: Vec<u64> = between.collect();
        let early = random.one_in(3);
        if let Some(time) = random.pick(&between).filter(|_| early) {
            self.used.insert(*time);
            return *time;
        }
        let time = self.next;
        self.next += 2;
        time
    }

    /// No later write may be before the earlier ones.
    const fn settle(&mut self) {
        self.floor = self.next;
    }

    const fn jump(&mut self) {
        self.next += FUTURE;
        self.floor = self.next;
    }
}

/// A group's members and metadata.
fn group(seed: u64, number: u64, random: &mut Random) -> Case {
    let mut steps = vec![Step::Create];
    let mut members: Vec<String> = Vec::new();
    for index in 0..4 + random.below(9) {
        let time = START + 10 + 2 * index;
        steps.push(match random.below(10) {
            0..=4 => {
                let key = format!("k{}", random.below(3));
                let value = (random.below(3) > 0).then(|| drawn(random, -9, 9));
                Step::Metadata { time, key, value }
            }
            5 | 6 => Step::Consolidate(Stored::Metadata),
            7 | 8 => Step::Vacuum(Stored::Metadata),
            _ => {
                let name = format!("m{}", random.below(3));
                let added = !members.contains(&name);
                members.retain(|member| *member != name);
                members.extend(added.then(|| name.clone()));
                Step::Member { time, name, added }
            }
        });
    }
    Case { name: format!("h{seed}_{number}"), kind: Kind::Group, steps }
}

/// A number of an inclusive range.
fn drawn(random: &mut Random, low: i32, high: i32) -> i32 {
    let span = u64::from(high.abs_diff(low)).saturating_add(1);
    low.saturating_add(i32::try_from(random.below(span)).unwrap_or(0))
}

fn pick<T: Copy>(random: &mut Random, of: &[T; 4]) -> T {
    let [a, b, c, d] = *of;
    match random.below(4) {
        0 => a,
        1 => b,
        2 => c,
        _ => d,
    }
}

fn cells(random: &mut Random, kind: Kind, b: Option<Added>) -> Cells {
    let mut cells = BTreeMap::new();
    if kind.is_dense() {
        let (x, y) = (drawn(random, 0, 9), drawn(random, 0, 3));
        let (x_end, y_end) = (drawn(random, x, 9), drawn(random, y, 3));
        for x in x..=x_end {
            for y in y..=y_end {
                cells.insert((x, y), drawn(random, -40, 40));
            }
        }
    } else {
        for _ in 0..=random.below(9) {
            cells.insert((drawn(random, 0, 9), drawn(random, 0, 3)), drawn(random, -40, 40));
        }
    }
    Cells { cells, b }
}

impl Case {
    /// Windows for every time of a step, some windows that begin later, and now (`None`).
    pub(super) fn windows(&self) -> Vec<Option<TimeWindow>> {
        // libtiledb treats the largest number as the present time.
        let mut windows = vec![Some(TimeWindow::until(u64::MAX - 1))];
        if self.steps.iter().any(|step| matches!(step, Step::Purge)) {
            // Deleted cells are gone at all times, and the handling of cells that they had replaced
            // is libtiledb's own.
            windows.push(None);
            return windows;
        }
        let length = 12 + 2 * u64::try_from(self.steps.len()).unwrap_or(0);
        let to_come = self.steps.iter().any(|step| step.time().is_some_and(|time| time > FUTURE));
        for start in [START].into_iter().chain(to_come.then_some(START + FUTURE)) {
            let last = start + length;
            windows.extend((start + 4..=last).map(TimeWindow::until).map(Some));
            windows.extend((start + 6..last).step_by(3).map(|from| Some(TimeWindow::between(from, last))));
            windows
                .extend((start + 6..last).step_by(5).map(|from| Some(TimeWindow::between(from, from + 4))));
        }
        windows.push(None);
        windows
    }

    /// The writes, in the order of their times.
    pub(super) fn writes(&self) -> Vec<(u64, &Cells)> {
        let writes = self.steps.iter().filter_map(|step| match step {
            Step::Write { time, cells } => Some((*time, cells)),
            _ => None,
        });
        let mut writes: Vec<_> = writes.collect();
        writes.sort_by_key(|(time, _)| *time);
        writes
    }

    /// The state of "b" in the newest schema.
    pub(super) fn newest_b(&self) -> Option<Added> {
        let mut added = self.steps.iter().filter_map(|step| match step {
            Step::Evolve { added, .. } => Some(*added),
            _ => None,
        });
        added.next_back().flatten()
    }
}
