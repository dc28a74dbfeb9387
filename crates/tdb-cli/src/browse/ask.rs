//! What is asked of the thread that reads, and what it answers.

use crate::tree::Object;

/// What the pane shows of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Schema,
    Fragments,
    Columns,
    Cells,
    Metadata,
    History,
}

impl View {
    pub(super) const ALL: [Self; 6] =
        [Self::Schema, Self::Fragments, Self::Columns, Self::Cells, Self::Metadata, Self::History];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Fragments => "fragments",
            Self::Columns => "columns",
            Self::Cells => "cells",
            Self::Metadata => "metadata",
            Self::History => "history",
        }
    }

    /// The view of a key: 1 for the first one.
    pub(super) fn of_digit(digit: char) -> Option<Self> {
        let place = usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?;
        Self::ALL.get(place).copied()
    }
}

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// Answers have the number of what they answer.
    pub(super) number: u64,
    pub(super) object: Object,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// What is in it.
    Inside,
    /// What the pane shows of it.
    View(View),
    /// So many of its cells, from this one on.
    Cells { first: u128, count: usize },
}

/// What was read, or the error.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) number: u64,
    pub(super) result: Result<Content, String>,
}

#[derive(Debug)]
pub(super) enum Content {
    Inside(Vec<Object>),
    Page(Page),
}

/// Lines of the pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Lines that stay above the others.
    pub(super) head: Vec<String>,
    pub(super) lines: Vec<String>,
    /// For cells: which ones these are.
    pub(super) cells: Option<CellRange>,
}

/// The cells of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CellRange {
    pub(super) first: u128,
    pub(super) count: usize,
    /// The number of all cells, if it is known.
    pub(super) all: Option<u128>,
    /// Whether there are more cells after these.
    pub(super) more: bool,
}
