//! The terminal that the output goes to.

use std::io::IsTerminal;

use crate::table::width;

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Characters in a line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

impl Screen {
    /// The terminal that standard output goes to, if it is one.
    #[must_use]
    pub fn of_output() -> Option<Self> {
        let output = std::io::stdout();
        if !output.is_terminal() {
            return None;
        }
        let (columns, rows) = match terminal_size::terminal_size_of(output) {
            Some((columns, rows)) => (columns.0, rows.0),
            None => (80, 24),
        };
        Some(Self { columns: columns.into(), rows: rows.into() })
    }

    /// Whether a text fits, with a line for the next prompt.
    pub(crate) fn fits(self, text: &[u8]) -> bool {
        let text = String::from_utf8_lossy(text);
        text.lines().count() < self.rows && text.lines().all(|line| width(line) <= self.columns)
    }
}
