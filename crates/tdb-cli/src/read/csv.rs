//! Cells as values with commas or tabulators between them (RFC 4180).

use std::borrow::Cow;
use std::io::{self, Write};

use tdb_text::value::cell_plain;

use super::shown::ShownColumn;
use super::{Out, Sink, Summary};
use crate::failure::Result;

/// Writes a header with the columns' names, then one line per cell.
pub(super) struct Csv<'a, 'o> {
    out: &'a mut Out<'o>,
    /// What is between the values of a line.
    delimiter: char,
    begun: bool,
}

impl<'a, 'o> Csv<'a, 'o> {
    pub(super) fn new(out: &'a mut Out<'o>, delimiter: char) -> Self {
        Self { out, delimiter, begun: false }
    }
}

impl Sink for Csv<'_, '_> {
    fn take(&mut self, columns: &[ShownColumn], cells: usize) -> Result {
        let delimiter = self.delimiter;
        if !self.begun {
            self.out.write(|out| heading(columns, delimiter, out))?;
            self.begun = true;
        }
        self.out.write(|out| rows(columns, cells, delimiter, out))
    }

    fn finish(&mut self, _: &Summary<'_>) -> Result {
        Ok(())
    }
}

fn heading(columns: &[ShownColumn], delimiter: char, out: &mut dyn Write) -> io::Result<()> {
    for (index, ShownColumn { column, .. }) in columns.iter().enumerate() {
        separate(index, delimiter, out)?;
        write!(out, "{}", quoted(&column.name, delimiter))?;
    }
    writeln!(out)
}

fn rows(columns: &[ShownColumn], cells: usize, delimiter: char, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..cells {
        for (index, shown) in columns.iter().enumerate() {
            separate(index, delimiter, out)?;
            if let Some(cell) = shown.value(row) {
                let text = cell_plain(shown.column.datatype, shown.column.cell_val_num, cell);
                write!(out, "{}", quoted(&text, delimiter))?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn separate(index: usize, delimiter: char, out: &mut dyn Write) -> io::Result<()> {
    if index == 0 { Ok(()) } else { write!(out, "{delimiter}") }
}

/// Quotes a value that needs it; also an empty string, because no text at all means null.
pub(crate) fn quoted(text: &str, delimiter: char) -> Cow<'_, str> {
    if text.is_empty() || text.contains([delimiter, '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_where_rfc_4180_asks_for_it() {
        assert_eq!(quoted("plain", ','), "plain");
        assert_eq!(quoted("a,b", ','), "\"a,b\"");
        assert_eq!(quoted("a,b", '\t'), "a,b");
        assert_eq!(quoted("a\tb", '\t'), "\"a\tb\"");
        assert_eq!(quoted("say \"x\"\n", ','), "\"say \"\"x\"\"\n\"");
        assert_eq!(quoted("", ','), "\"\"");
    }
}
