//! Rows on a terminal: the first and the last ones, and as many columns as fit the width.

use std::collections::VecDeque;
use std::io::{self, Write};

use crate::screen::Screen;
use crate::table::{self, Heading, shortened, width};
use crate::thresholds::{MAX_TEXT_WIDTH, MIN_END_ROWS, OTHER_LINES};

/// The text in place of rows and columns that are left out.
const LEFT_OUT: &str = "…";
/// Blanks between columns.
const GAP: usize = 2;

/// The texts of a row, one for each column.
pub(crate) type Row = Vec<String>;

/// Words for the lines below a table, which say what was left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// The name of rows.
    pub(crate) rows: &'static str,
    /// A hint how to choose columns.
    pub(crate) choose: &'static str,
}

/// The first and the last rows of a table.
#[derive(Debug)]
pub(crate) struct HeadTail {
    screen: Screen,
    words: Words,
    /// The number of rows that are shown at each end; `None` for all rows.
    most: Option<usize>,
    headings: Vec<Heading>,
    first: Vec<Row>,
    last: VecDeque<Row>,
    rows: usize,
}

impl HeadTail {
    /// For all rows, or for those at both ends.
    pub(crate) fn new(screen: Screen, all_rows: bool, words: Words) -> Self {
        let room = screen.rows.saturating_sub(OTHER_LINES) / 2;
        let most = (!all_rows).then_some(room.max(MIN_END_ROWS));
        let (headings, first, last) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { screen, words, most, headings, first, last, rows: 0 }
    }

    /// Sets the headings, unless there are some.
    pub(crate) fn headings(&mut self, headings: impl FnOnce() -> Vec<Heading>) {
        if self.headings.is_empty() {
            self.headings = headings();
        }
    }

    /// Takes further rows; `row` makes the text of those that are kept.
    pub(crate) fn take<E>(
        &mut self,
        rows: usize,
        mut row: impl FnMut(usize) -> Result<Row, E>,
    ) -> Result<(), E> {
        let most = self.most.unwrap_or(usize::MAX);
        let begin = rows.min(most.saturating_sub(self.first.len()));
        for at in 0..begin {
            self.first.push(row(at)?);
        }
        for at in begin.max(rows.saturating_sub(most))..rows {
            if self.last.len() >= most {
                self.last.pop_front();
            }
            self.last.push_back(row(at)?);
        }
        self.rows = self.rows.saturating_add(rows);
        Ok(())
    }

    /// Writes what was kept.
    pub(crate) fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let left_out = self.rows.saturating_sub(self.first.len()).saturating_sub(self.last.len());
        let (first, last) = (self.first.len(), self.last.len());
        let mut rows = core::mem::take(&mut self.first);
        if left_out > 0 {
            rows.push(vec![LEFT_OUT.to_owned(); self.headings.len()]);
        }
        rows.extend(self.last.drain(..));
        let all = self.headings.len();
        let chosen = fit(&self.headings, &mut rows, self.screen.columns);
        let shown = chosen.iter().flatten().count();
        let pick = |row: &Row| -> Row {
            let cell =
                |at: &Option<usize>| at.and_then(|at| row.get(at)).map_or(LEFT_OUT.to_owned(), Clone::clone);
            chosen.iter().map(cell).collect()
        };
        let headings: Vec<_> = chosen
            .iter()
            .map(|at| {
                at.and_then(|at| self.headings.get(at)).cloned().unwrap_or_else(|| Heading::left(LEFT_OUT))
            })
            .collect();
        let rows: Vec<Row> = rows.iter().map(pick).collect();
        let (count, Words { rows: name, choose }) = (self.rows, self.words);
        table::write_rows(out, 0, &headings, &rows)?;
        if left_out > 0 {
            writeln!(
                out,
                "{count} {name}, of which the first {first} and the last {last} are shown; --all shows all"
            )?;
        }
        if shown < all {
            writeln!(out, "{all} columns, of which {shown} fit; {choose}--all shows all")?;
        }
        Ok(())
    }
}

/// Chooses the columns that fit a width, and shortens long texts if they must be; `None` stands for
/// the columns that are left out. The first and the last columns stay longest.
fn fit(headings: &[Heading], rows: &mut [Row], most: usize) -> Vec<Option<usize>> {
    let all = || (0..headings.len()).map(Some).collect::<Vec<_>>();
    let widths = |rows: &[Row]| -> Vec<usize> {
        let of = |(at, heading): (usize, &Heading)| {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell));
            cells.chain([heading.width()]).max().unwrap_or(0)
        };
        headings.iter().enumerate().map(of).collect()
    };
    let total = |chosen: &[Option<usize>], widths: &[usize]| {
        let each = chosen.iter().map(|at| at.and_then(|at| widths.get(at)).copied().unwrap_or(1));
        each.fold(0, |sum: usize, width| sum.saturating_add(width).saturating_add(GAP)).saturating_sub(GAP)
    };
    if total(&all(), &widths(rows)) <= most {
        return all();
    }
    for cell in rows.iter_mut().flatten() {
        *cell = shortened(core::mem::take(cell), MAX_TEXT_WIDTH);
    }
    let widths = widths(rows);
    let mut chosen = all();
    // The column in the middle goes first, then its neighbours, alternately behind and before it.
    while total(&chosen, &widths) > most && chosen.len() > 1 {
        match chosen.iter().position(Option::is_none) {
            None => {
                let middle = chosen.len() / 2;
                if let Some(column) = chosen.get_mut(middle) {
                    *column = None;
                }
            }
            Some(gap) if chosen.len() > gap.saturating_mul(2) => {
                chosen.remove(gap.saturating_add(1));
            }
            Some(gap) => drop(chosen.remove(gap.saturating_sub(1))),
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(widths: &[usize], most: usize) -> Vec<Option<usize>> {
        let headings: Vec<_> = widths.iter().map(|_| Heading::left("h")).collect();
        let mut rows = vec![widths.iter().map(|width| "x".repeat(*width)).collect::<Row>()];
        fit(&headings, &mut rows, most)
    }

    #[test]
    fn columns_in_the_middle_are_left_out_until_the_rest_fits() {
        assert_eq!(chosen(&[10, 10, 10], 34), [Some(0), Some(1), Some(2)]);
        assert_eq!(chosen(&[10, 10, 10], 33), [Some(0), None, Some(2)]);
        assert_eq!(chosen(&[10; 7], 40), [Some(0), Some(1), None, Some(6)]);
        assert_eq!(chosen(&[10; 7], 1), [None], "nothing fits one column of text");
    }

    #[test]
    fn long_texts_are_cut_before_columns_are_left_out() {
        assert_eq!(chosen(&[100, 10], 42), [Some(0), Some(1)]);
        assert_eq!(chosen(&[100, 10], 112), [Some(0), Some(1)]);
    }
}
