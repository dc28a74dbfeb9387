//! A table of text, and its cells as bytes.

use serde_json::Value;
use tdb_array::{ArraySchema, ArrayType};
use tdb_codec::{CellValNum, Datatype, to_u64};
use tdb_schema::Field;

use crate::buffers::Buffers;
use crate::value::{is_text, json_cell};

/// What is known about the type of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It is null.
    Null,
    /// The text may be of any type.
    Open,
    /// It is text, which may be a date.
    Text,
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell<'t> {
    pub(super) text: &'t str,
    pub(super) mark: Mark,
}

/// What a row lacks.
const MISSING: Cell<'_> = Cell { text: "", mark: Mark::Null };

/// Columns with names, and rows. All cells are in one buffer, one after the other.
#[derive(Debug, Default)]
pub(super) struct Table {
    names: Vec<String>,
    rows: Vec<Row>,
    text: String,
    /// Where the text of each cell ends.
    ends: Vec<usize>,
    marks: Vec<Mark>,
    /// Whether the next row contains the names.
    wants_header: bool,
}

/// The line where a row begins, and its first cell.
#[derive(Clone, Copy, Debug)]
struct Row {
    line: usize,
    first: usize,
}

impl Table {
    /// A table whose first row will contain the names of the columns.
    pub(super) fn with_header() -> Self {
        Self { wants_header: true, ..Self::default() }
    }

    pub(super) fn add_column(&mut self, name: String) {
        self.names.push(name);
    }

    pub(super) fn begin_row(&mut self, line: usize) {
        self.rows.push(Row { line, first: self.ends.len() });
    }

    /// Adds to the text of the cell that has not ended yet.
    pub(super) fn extend(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn end_cell(&mut self, mark: Mark) {
        self.ends.push(self.text.len());
        self.marks.push(mark);
    }

    /// Ends a row, which must have a cell for each column.
    pub(super) fn end_row(&mut self) -> Result<(), String> {
        let Some(Row { line, first }) = self.rows.last().copied() else { return Ok(()) };
        if self.wants_header {
            self.names = (0..self.ends.len()).map(|cell| self.cell(cell).text.to_owned()).collect();
            self.wants_header = false;
            self.rows.clear();
            self.text.clear();
            self.ends.clear();
            self.marks.clear();
            return Ok(());
        }
        let cells = self.ends.len().saturating_sub(first);
        if cells != self.names.len() {
            return Err(format!("line {line}: there are {cells} cells for {} columns", self.names.len()));
        }
        Ok(())
    }

    /// The table, after its last row.
    pub(super) fn finish(self) -> Result<Self, String> {
        match (self.wants_header, self.rows.is_empty()) {
            (true, _) => Err("there is no header".to_owned()),
            (_, true) => Err("there are no cells".to_owned()),
            _ => Ok(self),
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The line where a row begins.
    pub(super) fn line(&self, row: usize) -> Option<usize> {
        self.rows.get(row).map(|row| row.line)
    }

    pub(super) fn len(&self) -> u64 {
        to_u64(self.rows.len())
    }

    fn cell(&self, index: usize) -> Cell<'_> {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end);
        let text = self.ends.get(index).and_then(|end| self.text.get(start..*end));
        text.zip(self.marks.get(index)).map_or(MISSING, |(text, mark)| Cell { text, mark: *mark })
    }

    /// The cells of a column with their lines. Rows may be shorter than the table is now.
    pub(super) fn cells(&self, column: usize) -> impl Iterator<Item = (usize, Cell<'_>)> {
        let ends = self.rows.iter().skip(1).map(|row| row.first).chain([self.ends.len()]);
        self.rows.iter().zip(ends).map(move |(row, end)| {
            let index = row.first.saturating_add(column);
            (row.line, if index < end { self.cell(index) } else { MISSING })
        })
    }

    /// The column of a name.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The cells, converted for an array with this schema.
    pub(super) fn columns(&self, schema: &ArraySchema) -> Result<Vec<Buffers>, String> {
        let along_rows = schema.domain.dimensions.len() == 1 && schema.dimension("row").is_some();
        if schema.array_type == ArrayType::Dense && !along_rows {
            return Err("a table can only be written to a sparse array, or to a dense one with one dimension for the rows".to_owned());
        }
        let column = |(index, name): (usize, &String)| {
            let field = schema.field(name).ok_or_else(|| format!("the array has no field {name:?}"))?;
            self.buffers(index, &field)
        };
        self.names.iter().enumerate().map(column).collect()
    }

    fn buffers(&self, index: usize, field: &Field<'_>) -> Result<Buffers, String> {
        let size = field.cell_size();
        let (mut data, mut offsets, mut validity) = (Vec::new(), vec![0u64], Vec::new());
        for (line, cell) in self.cells(index) {
            let wrong = |error: String| format!("line {line}, column {:?}: {error}", field.name);
            let null = cell.mark == Mark::Null;
            let bytes = match size {
                _ if !null => value(field, cell.text).map_err(wrong)?,
                Some(size) if field.nullable => vec![0; size],
                Some(_) => return Err(wrong("is empty, but cells cannot be null".to_owned())),
                None => Vec::new(),
            };
            if let Some(size) = size.filter(|size| *size != bytes.len()) {
                return Err(wrong(format!("has {} bytes, but cells have {size}", bytes.len())));
            }
            data.extend_from_slice(&bytes);
            if size.is_none() {
                offsets.push(to_u64(data.len()));
            }
            if field.nullable {
                validity.push(u8::from(!null));
            }
        }
        let name = field.name.to_owned();
        Ok(Buffers {
            name,
            data,
            offsets: size.is_none().then_some(offsets),
            validity: field.nullable.then_some(validity),
        })
    }
}

/// One value that is not text, as other programs write it, too: booleans and NaN in any case.
pub(super) fn one(datatype: Datatype, text: &str) -> Result<Vec<u8>, String> {
    let is_nan = || text.parse().is_ok_and(f64::is_nan);
    let text = if datatype == Datatype::Bool && is_boolean(text) {
        text.to_ascii_lowercase()
    } else if datatype.physical().is_float() && is_nan() {
        "NaN".to_owned()
    } else {
        text.to_owned()
    };
    json_cell(datatype, CellValNum::ONE, &Value::String(text))
}

/// Whether a text is `true` or `false`, in any case.
pub(super) const fn is_boolean(text: &str) -> bool {
    text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
}

/// A cell of a field, in the notation of `tdb read --format csv`.
fn value(field: &Field<'_>, text: &str) -> Result<Vec<u8>, String> {
    if is_text(field.datatype) {
        json_cell(field.datatype, field.cell_val_num, &Value::String(text.to_owned()))
    } else if field.cell_val_num == CellValNum::ONE {
        one(field.datatype, text)
    } else {
        let list = serde_json::from_str(text).map_err(|error| error.to_string())?;
        json_cell(field.datatype, field.cell_val_num, &list)
    }
}

#[cfg(test)]
impl Table {
    /// The cells of a row.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = Cell<'_>> {
        (0..self.names.len()).map(move |column| self.cells(column).nth(row).unwrap().1)
    }
}
