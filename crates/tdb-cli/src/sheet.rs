//! Lines and tables for people, which fit a terminal's width if they go to one.

use std::io::{self, Write};

use tdb_text::calendar::{format_millis, span_text};

use crate::screen::Screen;
use crate::table::{Heading, Lines, Rule, shortened, width};
use crate::thresholds::MIN_SHORTENED_WIDTH;

/// Blanks between columns.
const GAP: usize = 2;

/// Output for people. What goes to a file or a pipe is never shortened.
pub(crate) struct Sheet<'o> {
    out: &'o mut dyn Write,
    /// The width to fit.
    columns: Option<usize>,
    shortened: bool,
}

impl<'o> Sheet<'o> {
    /// For a terminal, or for anything else.
    pub(crate) fn new(out: &'o mut dyn Write, screen: Option<Screen>) -> Self {
        Self { out, columns: screen.map(|screen| screen.columns), shortened: false }
    }

    /// The times of an entry. On a terminal, dates are enough: it has no room for milliseconds as
    /// well.
    pub(crate) fn span(&self, first: u64, last: u64) -> String {
        match self.columns {
            None => span_text(first, last),
            Some(_) if first == last => format_millis(first),
            Some(_) => format!("{} to {}", format_millis(first), format_millis(last)),
        }
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, line: String) -> io::Result<()> {
        let line = match self.columns {
            Some(most) if width(&line) > most => {
                self.shortened = true;
                shortened(line, most)
            }
            _ => line,
        };
        writeln!(self.out, "{line}")
    }

    /// Prints a table. Texts of the widest columns are shortened until it fits.
    pub(crate) fn table(&mut self, headings: &[Heading], rows: &[Vec<String>]) -> io::Result<()> {
        self.write(0, headings, Some(Rule::Dashes), rows)
    }

    /// Prints rows without headings. `columns` says only how they are aligned.
    pub(crate) fn bare(
        &mut self,
        indent: usize,
        columns: &[Heading],
        rows: &[Vec<String>],
    ) -> io::Result<()> {
        self.write(indent, columns, None, rows)
    }

    /// Says how to see what was shortened, if something was.
    pub(crate) fn end(self) -> io::Result<()> {
        if !self.shortened {
            return Ok(());
        }
        let how = "what goes to a file or a pipe is whole, and so is --json";
        writeln!(self.out, "… stands for what does not fit; {how}")
    }

    fn write(
        &mut self,
        indent: usize,
        headings: &[Heading],
        rule: Option<Rule>,
        rows: &[Vec<String>],
    ) -> io::Result<()> {
        let mut lines = Lines::new(indent, headings);
        if rule.is_none() {
            lines.widths.fill(0);
        }
        lines.widen(rows.len(), &|row, column| cell(rows, row, column));
        if let Some(most) = self.columns {
            let gaps = headings.len().saturating_sub(1).saturating_mul(GAP);
            let room = most.saturating_sub(indent).saturating_sub(gaps);
            self.shortened |= fit(&mut lines.widths, headings, room);
        }
        let widths = lines.widths.clone();
        let cut = |text: String, column: usize| {
            let most = widths.get(column).copied().unwrap_or(usize::MAX);
            shortened(text, most)
        };
        let mut text = Vec::new();
        if let Some(rule) = rule {
            lines.head(&mut text, rule)?;
        }
        for row in 0..rows.len() {
            lines.line(&mut text, &|column| cut(cell(rows, row, column), column))?;
        }
        // A terminal may be too narrow for the shortest columns.
        for line in String::from_utf8_lossy(&text).lines() {
            self.line(line.to_owned())?;
        }
        Ok(())
    }
}

fn cell(rows: &[Vec<String>], row: usize, column: usize) -> String {
    rows.get(row).and_then(|row| row.get(column)).cloned().unwrap_or_default()
}

/// Narrows columns of text, the widest first, until all of them fit. Numbers stay whole. Returns
/// whether a column was narrowed.
fn fit(widths: &mut [usize], headings: &[Heading], room: usize) -> bool {
    let mut narrowed = false;
    loop {
        let total = widths.iter().fold(0, |sum: usize, width| sum.saturating_add(*width));
        let over = total.saturating_sub(room);
        let texts = widths.iter_mut().zip(headings).filter(|(_, heading)| !heading.is_right());
        let narrowest = |heading: &Heading| heading.width().max(MIN_SHORTENED_WIDTH);
        let mut texts: Vec<_> = texts.filter(|(width, heading)| **width > narrowest(heading)).collect();
        texts.sort_by_key(|(width, _)| core::cmp::Reverse(**width));
        let next = texts.get(1).map_or(0, |(width, _)| **width);
        let Some((widest, heading)) = texts.into_iter().next().filter(|_| over > 0) else { return narrowed };
        // Down to the next one, so that none is cut to nothing beside another long one.
        let least = widest.saturating_sub(over).max(next.saturating_sub(1)).max(narrowest(heading));
        *widest = least.min(widest.saturating_sub(1));
        narrowed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(columns: usize, rows: &[[&str; 3]]) -> String {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        let headings = [Heading::left("name"), Heading::right("cells"), Heading::left("state")];
        let mut out = Vec::new();
        let mut sheet = Sheet::new(&mut out, Some(Screen { columns, rows: 24 }));
        sheet.table(&headings, &rows).unwrap();
        sheet.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_widest_texts_are_shortened_and_numbers_are_not() {
        let rows = [["a-very-long-name-of-a-file", "1234567890123", "shadowed by another long name"]];
        let text = printed(50, &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().take(3).all(|line| width(line) <= 50), "{text}");
        assert!(lines[2].contains("1234567890123"), "{text}");
        assert_eq!(lines[2].matches('…').count(), 2, "{text}");
        assert!(lines[3].starts_with("… stands for what does not fit; "), "{text}");
    }

    #[test]
    fn what_fits_is_as_it_is_and_lines_end_where_the_terminal_does() {
        let wide = printed(80, &[["short", "1", "live"]]);
        assert_eq!(wide, "name   cells  state\n-----  -----  -----\nshort      1  live\n");
        let narrow = printed(10, &[["short", "1", "live"]]);
        assert!(narrow.lines().take(3).all(|line| width(line) <= 10), "{narrow}");
    }

    #[test]
    fn what_goes_to_no_terminal_is_whole() {
        let long = "x".repeat(500);
        let mut out = Vec::new();
        let mut sheet = Sheet::new(&mut out, None);
        sheet.line(long.clone()).unwrap();
        sheet.bare(2, &[Heading::left("")], &[vec![long.clone()]]).unwrap();
        sheet.end().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("{long}\n  {long}\n"));
    }
}
