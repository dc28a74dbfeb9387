//! The results: problems and notes. The first few of each kind in a fragment are shown, with the
//! number of the others.

use tdb_codec::to_u64;

use crate::thresholds::MAX_SHOWN;

/// A problem with a file, or a fact about it that is worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub path: String,
    /// Offset in the file of the faulty structure, if there is one.
    pub offset: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// The result of [`verify`](super::verify).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Problems, in the order in which they were found.
    pub problems: Vec<Problem>,
    /// Odd but harmless findings, such as fragments that are not committed.
    pub notes: Vec<Problem>,
    /// Number of files checked.
    pub files: u64,
    /// Number of tiles decoded, including generic ones.
    pub tiles: u64,
    /// Sum of the files' sizes in bytes.
    pub bytes: u64,
}

impl Verification {
    /// Whether there are no problems.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// The checks of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Files and tiles can be read.
    Readable,
    /// Cells are in the fragment's order.
    Order,
    /// No coordinates appear twice.
    Repeated,
    /// Versions of a cell are in the order of their times, newest first.
    Times,
    /// Cells are in their tile's rectangle.
    Rectangle,
    /// Codes are those of values of their enumeration.
    Codes,
    /// A tile's rectangle is no larger than its cells need.
    Tight,
    /// Rectangles are within those above them.
    Parent,
    /// Cells are in the fragment's non-empty domain, which is that of its tiles.
    Domain,
    /// Statistics of tiles.
    Smallest,
    Largest,
    Sum,
    Nulls,
    /// Statistics of the fragment.
    WholeSmallest,
    WholeLargest,
    WholeSum,
    WholeNulls,
}

impl Check {
    /// The plural name of such findings, used after their number.
    const fn others(self) -> &'static str {
        match self {
            Self::Readable => "files and tiles that cannot be read",
            Self::Order => "cells that are out of order",
            Self::Repeated => "cells with the same coordinates as another cell",
            Self::Times => "cells that come after an older version of the same cell",
            Self::Rectangle => "cells outside their tile's rectangle",
            Self::Codes => "codes past the end of their enumeration",
            Self::Tight => "rectangles that are larger than their cells need",
            Self::Parent => "rectangles outside the one above them",
            Self::Domain => "cells outside the fragment's non-empty domain",
            Self::Smallest | Self::WholeSmallest => "smallest values that do not match the cells",
            Self::Largest | Self::WholeLargest => "largest values that do not match the cells",
            Self::Sum | Self::WholeSum => "sums that do not match the cells",
            Self::Nulls | Self::WholeNulls => "numbers of nulls that do not match the cells",
        }
    }
}

/// The findings in one fragment.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<FindingGroup>);

/// Findings of one check that have the same explanation, or none.
#[derive(Debug)]
struct FindingGroup {
    check: Check,
    /// The reason why it is a note.
    known: Option<&'static str>,
    shown: Vec<Problem>,
    count: u64,
}

impl Findings {
    /// Adds a finding. It is a problem unless `known` has an explanation. Its text is only made if
    /// it is shown.
    pub(super) fn add(
        &mut self,
        check: Check,
        known: Option<&'static str>,
        problem: impl FnOnce() -> Problem,
    ) {
        let same = |kind: &FindingGroup| kind.check == check && kind.known == known;
        let place = self.0.iter().position(same).unwrap_or(self.0.len());
        if place == self.0.len() {
            self.0.push(FindingGroup { check, known, shown: Vec::new(), count: 0 });
        }
        // It was found there, or just pushed.
        let Some(kind) = self.0.get_mut(place) else { return };
        // A note of the same kind is shown only once.
        if kind.count < if known.is_some() { 1 } else { MAX_SHOWN } {
            kind.shown.push(problem());
        }
        kind.count = kind.count.saturating_add(1);
    }

    /// Adds everything to the report of the array.
    pub(super) fn finish(self, report: &mut Verification) {
        for FindingGroup { check, known, mut shown, count } in self.0 {
            let more = count.saturating_sub(to_u64(shown.len()));
            let Some(last) = shown.last_mut() else { continue };
            if let Some(known) = known {
                let more =
                    if more > 0 { format!(", and there are {more} more like it") } else { String::new() };
                last.what = format!("{}{more}: {known}", last.what);
                report.notes.append(&mut shown);
                continue;
            }
            let (path, offset) = (last.path.clone(), None);
            report.problems.append(&mut shown);
            if more > 0 {
                let what = format!("and {more} more {}", check.others());
                report.problems.push(Problem { path, offset, what });
            }
        }
    }
}
