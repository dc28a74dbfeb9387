//! Cells as objects in JSON, one on each line.

use std::io::{self, Write};

use serde_json::json;

use super::json::value;
use super::shown::ShownColumn;
use super::{Out, Sink, Summary};
use crate::failure::Result;
use crate::names::Unique;

/// Writes an object for each cell as soon as it is read.
pub(super) struct Ndjson<'a, 'o> {
    out: &'a mut Out<'o>,
    /// The text before each value of an object: its key.
    keys: Vec<String>,
}

impl<'a, 'o> Ndjson<'a, 'o> {
    pub(super) fn new(out: &'a mut Out<'o>) -> Self {
        Self { out, keys: Vec::new() }
    }
}

impl Sink for Ndjson<'_, '_> {
    fn take(&mut self, columns: &[ShownColumn], cells: usize) -> Result {
        if self.keys.is_empty() {
            let mut names = Unique::exact();
            let key = |(index, shown): (usize, &ShownColumn)| {
                let before = if index == 0 { "{" } else { "," };
                format!("{before}{}:", json!(names.name(&shown.column.name)))
            };
            self.keys = columns.iter().enumerate().map(key).collect();
        }
        let keys = &self.keys;
        self.out.write(|out| (0..cells).try_for_each(|row| object(keys, columns, row, out)))
    }

    fn finish(&mut self, _: &Summary<'_>) -> Result {
        Ok(())
    }
}

fn object(keys: &[String], columns: &[ShownColumn], row: usize, out: &mut dyn Write) -> io::Result<()> {
    for (key, column) in keys.iter().zip(columns) {
        write!(out, "{key}{}", value(column, row))?;
    }
    writeln!(out, "}}")
}
