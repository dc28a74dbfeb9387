//! Cells on a terminal: the first and the last rows, and as many columns as fit the width.

use std::convert::Infallible;

use super::rows::{heading, text, title};
use super::shown::ShownColumn;
use super::{Out, Sink, Summary};
use crate::failure::Result;
use crate::head_tail::{HeadTail, Row, Words};
use crate::screen::Screen;

const WORDS: Words = Words { rows: "cells", choose: "--fields chooses, " };

/// Rows and columns that a terminal has room for.
pub(super) struct Preview<'a, 'o> {
    out: &'a mut Out<'o>,
    ends: HeadTail,
}

impl<'a, 'o> Preview<'a, 'o> {
    /// For all rows, or for those at both ends.
    pub(super) fn new(out: &'a mut Out<'o>, screen: Screen, all_rows: bool) -> Self {
        Self { out, ends: HeadTail::new(screen, all_rows, WORDS) }
    }

    /// Writes what was kept.
    pub(super) fn write(&mut self) -> Result {
        let ends = &mut self.ends;
        self.out.write(|out| ends.write(out))
    }
}

impl Sink for Preview<'_, '_> {
    fn take(&mut self, columns: &[ShownColumn], cells: usize) -> Result {
        let headings = || columns.iter().map(|shown| heading(&title(&shown.column), &shown.column)).collect();
        self.ends.headings(headings);
        let row = |at: usize| -> Result<Row, Infallible> {
            Ok(columns.iter().map(|column| text(column, at)).collect())
        };
        let Ok(()) = self.ends.take(cells, row);
        Ok(())
    }

    fn finish(&mut self, _: &Summary<'_>) -> Result {
        self.write()
    }
}
