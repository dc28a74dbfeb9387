//! Cells as comma-separated values (RFC 4180).

use std::borrow::Cow;
use std::io::{self, Write};

use super::Answer;
use crate::value::cell_plain;

pub(super) fn write(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    for (index, column) in answer.columns.iter().enumerate() {
        write!(out, "{}{}", separator(index), quoted(&column.name))?;
    }
    writeln!(out)?;
    for row in 0..answer.cells {
        for (index, column) in answer.columns.iter().enumerate() {
            let text = match column.cell(row).filter(|_| !column.is_null(row)) {
                Some(cell) => cell_plain(column.datatype, column.cell_val_num, cell),
                None => {
                    write!(out, "{}", separator(index))?;
                    continue;
                }
            };
            write!(out, "{}{}", separator(index), quoted(&text))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

const fn separator(index: usize) -> &'static str {
    if index == 0 { "" } else { "," }
}

/// Quotes a value that needs it; an empty string too, since nothing at all is null.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    if text.is_empty() || text.contains([',', '"', '\r', '\n']) {
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
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
