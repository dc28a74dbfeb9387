//! Cells as one JSON object of columns.

use std::io::{self, Write};

use serde_json::{Value, json};
use tdb_array::Column;

use super::Answer;
use crate::names::Unique;
use crate::value::cell_json;

/// Written value by value, so that a long result is not held twice.
pub(super) fn write(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"cells\":{},\"shape\":{},\"fields\":{{", answer.cells, json!(answer.shape))?;
    let mut names = Unique::exact();
    for (index, column) in answer.columns.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{}:[", json!(names.name(&column.name)))?;
        for row in 0..answer.cells {
            let comma = if row == 0 { "" } else { "," };
            write!(out, "{comma}{}", value(column, row))?;
        }
        write!(out, "]")?;
    }
    writeln!(out, "}}}}")
}

fn value(column: &Column, row: usize) -> Value {
    match column.cell(row).filter(|_| !column.is_null(row)) {
        Some(cell) => cell_json(column.datatype, column.cell_val_num, cell),
        None => Value::Null,
    }
}
