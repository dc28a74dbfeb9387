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
}

/// Whether a line of dashes separates the headings from the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Dashes,
    None,
}

/// Prints `rows` rows whose cells are made by `cell(row, column)`. Each cell is made twice, first to measure its width,
/// so that a long result needs no memory.
pub(crate) fn write(
    out: &mut dyn Write,
    indent: usize,
    headings: &[Heading],
    rule: Rule,
    rows: usize,
    cell: impl Fn(usize, usize) -> String,
) -> io::Result<()> {
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(column, heading)| {
            let cells = (0..rows).map(|row| width(&cell(row, column)));
            cells.chain([width(&heading.text)]).max().unwrap_or(0)
        })
        .collect();
    let line = |out: &mut dyn Write, text: &dyn Fn(usize) -> String| -> io::Result<()> {
        let mut line = " ".repeat(indent);
        for (column, (heading, width)) in headings.iter().zip(&widths).enumerate() {
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
    };
    line(out, &|column| headings.get(column).map(|heading| heading.text.clone()).unwrap_or_default())?;
    if rule == Rule::Dashes {
        line(out, &|column| "-".repeat(widths.get(column).copied().unwrap_or(0)))?;
    }
    (0..rows).try_for_each(|row| line(out, &|column| cell(row, column)))
}

/// Prints rows that already exist.
pub(crate) fn write_rows(
    out: &mut dyn Write,
    indent: usize,
    headings: &[Heading],
    rows: &[Vec<String>],
) -> io::Result<()> {
    let cell = |row, column| -> String {
        let row: Option<&Vec<String>> = rows.get(row);
        row.and_then(|row| row.get(column)).cloned().unwrap_or_default()
    };
    write(out, indent, headings, Rule::Dashes, rows.len(), cell)
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
