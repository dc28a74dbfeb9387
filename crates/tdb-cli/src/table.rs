//! Aligned columns of text.

use std::io::{self, Write};

/// A column's header and alignment.
#[derive(Clone, Debug)]
pub(crate) struct Heading {
    text: String,
    right: bool,
}

impl Heading {
    /// A column of text.
    pub(crate) fn left(text: impl Into<String>) -> Self {
        Self { text: text.into(), right: false }
    }

    /// A column of numbers.
    pub(crate) fn right(text: impl Into<String>) -> Self {
        Self { text: text.into(), right: true }
    }

    /// The number of characters.
    pub(crate) fn width(&self) -> usize {
        width(&self.text)
    }

    /// Whether the column has numbers.
    pub(crate) const fn is_right(&self) -> bool {
        self.right
    }
}

/// Whether a line of dashes separates the headings from the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Dashes,
    None,
}

/// Prints `rows` rows whose cells are made by `cell(row, column)`. Each cell is made twice, first
/// to measure its width, so that a long result needs no memory.
pub(crate) fn write(
    out: &mut dyn Write,
    indent: usize,
    headings: &[Heading],
    rule: Rule,
    rows: usize,
    cell: impl Fn(usize, usize) -> String,
) -> io::Result<()> {
    let mut lines = Lines::new(indent, headings);
    lines.widen(rows, &cell);
    lines.head(out, rule)?;
    (0..rows).try_for_each(|row| lines.line(out, &|column| cell(row, column)))
}

/// Lines of a table, and how wide its columns are.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    indent: usize,
    headings: &'a [Heading],
    pub(crate) widths: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// As wide as the headings.
    pub(crate) fn new(indent: usize, headings: &'a [Heading]) -> Self {
        Self { indent, headings, widths: headings.iter().map(Heading::width).collect() }
    }

    /// Makes room for these cells.
    pub(crate) fn widen(&mut self, rows: usize, cell: &dyn Fn(usize, usize) -> String) {
        for (column, most) in self.widths.iter_mut().enumerate() {
            *most = (0..rows).map(|row| width(&cell(row, column))).chain([*most]).max().unwrap_or(0);
        }
    }

    pub(crate) fn head(&self, out: &mut dyn Write, rule: Rule) -> io::Result<()> {
        let heading = |column: usize| self.headings.get(column).map(|heading| heading.text.clone());
        self.line(out, &|column| heading(column).unwrap_or_default())?;
        if rule == Rule::Dashes {
            self.line(out, &|column| "-".repeat(self.widths.get(column).copied().unwrap_or(0)))?;
        }
        Ok(())
    }

    pub(crate) fn line(&self, out: &mut dyn Write, text: &dyn Fn(usize) -> String) -> io::Result<()> {
        let mut line = " ".repeat(self.indent);
        for (column, (heading, width)) in self.headings.iter().zip(&self.widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let text = text(column);
            // Not with a width in a format string: those are limited to 65,535.
            let blanks = " ".repeat(width.saturating_sub(self::width(&text)));
            let (before, after) = if heading.right { (blanks.as_str(), "") } else { ("", blanks.as_str()) };
            line.extend([before, &text, after]);
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// A table whose rows come page by page, so that a long one needs no memory: each page is as wide
/// as the widest cell up to its end.
#[cfg(feature = "sql")]
#[derive(Debug)]
pub(crate) struct Pages {
    headings: Vec<Heading>,
    /// The widths of the columns so far, once there was a page.
    widths: Option<Vec<usize>>,
}

#[cfg(feature = "sql")]
impl Pages {
    pub(crate) const fn new(headings: Vec<Heading>) -> Self {
        Self { headings, widths: None }
    }

    /// Prints further rows; before the first ones, the headings.
    pub(crate) fn write(&mut self, out: &mut dyn Write, rows: &[Vec<String>]) -> io::Result<()> {
        let cell = |row, column| text_of(rows, row, column);
        let mut lines = Lines::new(0, &self.headings);
        let known = self.widths.take();
        let is_first = known.is_none();
        lines.widths = known.unwrap_or(lines.widths);
        lines.widen(rows.len(), &cell);
        if is_first {
            lines.head(out, Rule::Dashes)?;
        }
        (0..rows.len()).try_for_each(|row| lines.line(out, &|column| cell(row, column)))?;
        self.widths = Some(lines.widths);
        Ok(())
    }
}

fn text_of(rows: &[Vec<String>], row: usize, column: usize) -> String {
    let row: Option<&Vec<String>> = rows.get(row);
    row.and_then(|row| row.get(column)).cloned().unwrap_or_default()
}

/// Prints rows that already exist.
pub(crate) fn write_rows(
    out: &mut dyn Write,
    indent: usize,
    headings: &[Heading],
    rows: &[Vec<String>],
) -> io::Result<()> {
    write(out, indent, headings, Rule::Dashes, rows.len(), |row, column| text_of(rows, row, column))
}

/// The number of characters.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// A text of at most `max` characters; a longer one is shortened and ends with an ellipsis.
pub(crate) fn shortened(text: String, max: usize) -> String {
    if width(&text) <= max {
        return text;
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_text_left_without_trailing_blanks() {
        let rows = [vec!["1".to_owned(), "Oslo".to_owned()], vec!["100".to_owned(), "x".to_owned()]];
        let mut out = Vec::new();
        write_rows(&mut out, 1, &[Heading::right("n"), Heading::left("city")], &rows).unwrap();
        let expected = "   n  city\n ---  ----\n   1  Oslo\n 100  x\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_cell_may_be_wider_than_a_format_string_allows() {
        let (wide, mut out) = ("x".repeat(70_000), Vec::new());
        let rows = [vec![wide.clone(), "y".to_owned()]];
        write_rows(&mut out, 0, &[Heading::right("a"), Heading::left("b")], &rows).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().last(), Some(&*format!("{wide}  y")));
        assert_eq!(shortened(wide, 4), "xxx…");
        assert_eq!(shortened("four".to_owned(), 4), "four");
    }
}
