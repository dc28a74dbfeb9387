//! What was found: problems and notes. Of each kind a fragment shows the first few, and says how many more there are.

use tdb_codec::to_u64;

/// Something wrong with, or worth knowing about, a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub path: String,
    /// Offset in the file of the structure at fault, where there is one.
    pub offset: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// What [`verify`](super::verify) found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// What is wrong, in the order it was found.
    pub problems: Vec<Problem>,
    /// What is odd but harmless, such as fragments that no commit file names.
    pub notes: Vec<Problem>,
    /// Number of files checked.
    pub files: u64,
    /// Number of tiles decoded, generic ones included.
    pub tiles: u64,
    /// Sum of the files' sizes.
    pub bytes: u64,
}

impl Verification {
    /// Whether there are no problems.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// What is checked in a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Files and tiles can be read.
    Readable,
    /// Cells stand in the fragment's order.
    Order,
    /// No coordinates are there twice.
    Repeated,
    /// Versions of a cell stand in the order of their times, newest first.
    Times,
    /// Cells lie in their tile's rectangle.
    Rectangle,
    /// A tile's rectangle is no larger than its cells need.
    Tight,
    /// Rectangles lie in those above them.
    Parent,
    /// Cells lie in the fragment's non-empty domain, which is that of its tiles.
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
    /// What more than a few of are called, after their number.
    const fn others(self) -> &'static str {
        match self {
            Self::Readable => "files and tiles that cannot be read",
            Self::Order => "cells that are out of order",
            Self::Repeated => "cells whose coordinates are there already",
            Self::Times => "cells that stand after an older one of the same coordinates",
            Self::Rectangle => "cells outside their tile's rectangle",
            Self::Tight => "rectangles that are larger than their cells need",
            Self::Parent => "rectangles outside the one above them",
            Self::Domain => "cells outside the fragment's non-empty domain",
            Self::Smallest | Self::WholeSmallest => "smallest values that are not those of the cells",
            Self::Largest | Self::WholeLargest => "largest values that are not those of the cells",
            Self::Sum | Self::WholeSum => "sums that are not those of the cells",
            Self::Nulls | Self::WholeNulls => "numbers of nulls that are not those of the cells",
        }
    }
}

/// Problems of one kind that are shown of a fragment.
const SHOWN: u64 = 8;

/// What was found in one fragment.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Kind>);

/// Findings of one check that are, or are not, explained in the same way.
#[derive(Debug)]
struct Kind {
    check: Check,
    /// Why it is a note.
    known: Option<&'static str>,
    shown: Vec<Problem>,
    count: u64,
}

impl Findings {
    /// Adds a finding, which is a problem unless it is known why it is none. It is only put into words if it is shown.
    pub(super) fn add(
        &mut self,
        check: Check,
        known: Option<&'static str>,
        problem: impl FnOnce() -> Problem,
    ) {
        let place = self.0.iter().position(|kind| kind.check == check && kind.known == known);
        let place = place.unwrap_or_else(|| {
            self.0.push(Kind { check, known, shown: Vec::new(), count: 0 });
            self.0.len().saturating_sub(1)
        });
        let Some(kind) = self.0.get_mut(place) else { return };
        // A note says what it is about once.
        if kind.count < if known.is_some() { 1 } else { SHOWN } {
            kind.shown.push(problem());
        }
        kind.count = kind.count.saturating_add(1);
    }

    /// Hands everything over to the report of the array.
    pub(super) fn finish(self, report: &mut Verification) {
        for Kind { check, known, mut shown, count } in self.0 {
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
