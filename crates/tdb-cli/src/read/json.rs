//! Cells as one JSON object of columns.

use std::io::Write;

use serde_json::{Value, json};
use tdb_text::value::cell_json;

use super::shown::ShownColumn;
use super::spool::Spool;
use super::{Out, Sink, Summary};
use crate::failure::Result;
use crate::names::Unique;

/// Writes one column after the other, so everything except short columns is buffered in files until
/// the last batch.
pub(super) struct Json<'a, 'o> {
    out: &'a mut Out<'o>,
    columns: Vec<(String, Spool)>,
}

impl<'a, 'o> Json<'a, 'o> {
    pub(super) fn new(out: &'a mut Out<'o>) -> Self {
        Self { out, columns: Vec::new() }
    }
}

impl Sink for Json<'_, '_> {
    fn take(&mut self, columns: &[ShownColumn], cells: usize) -> Result {
        if self.columns.is_empty() {
            let mut names = Unique::exact();
            let spool = |shown: &ShownColumn| (names.name(&shown.column.name), Spool::default());
            self.columns = columns.iter().map(spool).collect();
        }
        for (column, (_, spool)) in columns.iter().zip(&mut self.columns) {
            for row in 0..cells {
                let comma = if spool.is_empty() { "" } else { "," };
                write!(spool, "{comma}{}", value(column, row)).map_err(Spool::failed)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, summary: &Summary<'_>) -> Result {
        let (cells, shape) = (summary.cells, json!(summary.shape));
        self.out.write(|out| write!(out, "{{\"cells\":{cells},\"shape\":{shape},\"fields\":{{"))?;
        for (index, (name, spool)) in self.columns.drain(..).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            self.out.write(|out| write!(out, "{comma}{}:[", json!(name)))?;
            spool.copy_to(self.out)?;
            self.out.write(|out| write!(out, "]"))?;
        }
        self.out.write(|out| writeln!(out, "}}}}"))
    }
}

/// A cell in JSON; null where there is none.
pub(super) fn value(shown: &ShownColumn, row: usize) -> Value {
    match shown.value(row) {
        Some(cell) => cell_json(shown.column.datatype, shown.column.cell_val_num, cell),
        None => Value::Null,
    }
}
