//! Cells as comma-separated values (RFC 4180).

use std::borrow::Cow;
use std::io::{self, Write};

use tdb_text::value::cell_plain;

use super::shown::ShownColumn;
use super::{Out, Sink, Summary};
use crate::failure::Result;

/// Writes a header with the columns' names, then one line per cell.
pub(super) struct Csv<'a, 'o> {
    out: &'a mut Out<'o>,
    begun: bool,
}

impl<'a, 'o> Csv<'a, 'o> {
    pub(super) fn new(out: &'a mut Out<'o>) -> Self {
        Self { out, begun: false }
    }
}

impl Sink for Csv<'_, '_> {
    fn take(&mut self, columns: &[ShownColumn], cells: usize) -> Result {
        if !self.begun {
            self.out.write(|out| heading(columns, out))?;
            self.begun = true;
        }
        self.out.write(|out| rows(columns, cells, out))
    }

    fn finish(&mut self, _: &Summary<'_>) -> Result {
        Ok(())
    }
}

fn heading(columns: &[ShownColumn], out: &mut dyn Write) -> io::Result<()> {
    for (index, ShownColumn { column, .. }) in columns.iter().enumerate() {
        write!(out, "{}{}", separator(index), quoted(&column.name, ','))?;
    }
    writeln!(out)
}

fn rows(columns: &[ShownColumn], cells: usize, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..cells {
        for (index, shown) in columns.iter().enumerate() {
            let text = match shown.value(row) {
                Some(cell) => cell_plain(shown.column.datatype, shown.column.cell_val_num, cell),
                None => {
                    write!(out, "{}", separator(index))?;
                    continue;
                }
            };
            write!(out, "{}{}", separator(index), quoted(&text, ','))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

const fn separator(index: usize) -> &'static str {
    if index == 0 { "" } else { "," }
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
