//! A table of text: detects the types of its columns, and converts its cells to bytes.

use serde_json::{Map, Value, json};
use tdb_array::{ArraySchema, ArrayType};
use tdb_codec::{CellValNum, Datatype, to_u64};
use tdb_schema::{Field, Range};

use super::csv::{Cell, Record};
use crate::buffers::Buffers;
use crate::value::{cell_json, is_text, json_cell};

/// Types that a column may have, other than text: the first one that fits all of its cells is used.
const TYPES: [Datatype; 6] = [
    Datatype::Int64,
    Datatype::Uint64,
    Datatype::Bool,
    Datatype::Float64,
    Datatype::DatetimeDay,
    Datatype::DatetimeMs,
];

/// Columns with names, and rows.
#[derive(Debug)]
pub(super) struct Table {
    names: Vec<String>,
    rows: Vec<Record>,
}

impl Table {
    /// The first record contains the names; all others must have as many cells.
    pub(super) fn new(records: Vec<Record>) -> Result<Self, String> {
        let mut rows = records.into_iter();
        let header = rows.next().ok_or("there is no header")?;
        let names: Vec<String> = header.cells.into_iter().map(|cell| cell.text).collect();
        let rows: Vec<Record> = rows.collect();
        if let Some(row) = rows.iter().find(|row| row.cells.len() != names.len()) {
            let (line, cells) = (row.line, row.cells.len());
            return Err(format!("line {line}: there are {cells} cells for {} columns", names.len()));
        }
        if rows.is_empty() {
            return Err("there are no cells".to_owned());
        }
        Ok(Self { names, rows })
    }

    pub(super) fn len(&self) -> u64 {
        to_u64(self.rows.len())
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = (usize, &Cell)> {
        self.rows.iter().filter_map(move |row| Some((row.line, row.cells.get(column)?)))
    }

    /// The schema of an array for the table, with these columns as dimensions.
    pub(super) fn schema(&self, dims: &[String], allow_duplicates: bool) -> Result<Value, String> {
        if let Some(stray) = dims.iter().find(|name| !self.names.contains(name)) {
            return Err(format!(
                "--dims: there is no column {stray:?} (there are {})",
                self.names.join(", ")
            ));
        }
        let mut dimensions = Vec::new();
        for name in dims {
            let column = self.names.iter().position(|known| known == name).unwrap_or(0);
            dimensions.push(self.dimension(name, column)?);
        }
        let attributes = self.names.iter().enumerate().filter(|(_, name)| !dims.contains(name));
        let attributes: Vec<Value> = attributes.map(|(column, name)| self.attribute(name, column)).collect();
        let kind = if dims.is_empty() { ArrayType::Dense } else { ArrayType::Sparse };
        if dims.is_empty() {
            let last = self.rows.len().saturating_sub(1);
            let extent = self.rows.len().min(10_000);
            let row = json!({"name": "row", "datatype": "INT64", "domain": [0, last], "extent": extent});
            dimensions.push(row);
        }
        let mut schema = json!({"type": kind.name(), "dimensions": dimensions, "attributes": attributes});
        if let Some(schema) = schema.as_object_mut().filter(|_| allow_duplicates) {
            schema.insert("allows_duplicates".to_owned(), json!(true));
        }
        Ok(schema)
    }

    /// The type of a column; `None` for text.
    fn datatype(&self, column: usize) -> Option<Datatype> {
        let given: Vec<&Cell> =
            self.cells(column).map(|(_, cell)| cell).filter(|cell| !is_null(cell)).collect();
        let fits = |datatype: &Datatype| given.iter().all(|cell| one(*datatype, cell).is_ok());
        TYPES.into_iter().find(fits).filter(|_| !given.is_empty())
    }

    /// A dimension whose domain is the range of the coordinates.
    fn dimension(&self, name: &str, column: usize) -> Result<Value, String> {
        if let Some((line, _)) = self.cells(column).find(|(_, cell)| is_null(cell)) {
            return Err(format!("line {line}: column {name:?} is empty, but coordinates cannot be null"));
        }
        let datatype = self.datatype(column).filter(|datatype| *datatype != Datatype::Bool);
        let Some(datatype) = datatype else {
            return Ok(json!({"name": name, "datatype": Datatype::StringAscii.name()}));
        };
        let mut span: Option<Range> = None;
        for (_, cell) in self.cells(column) {
            let value = one(datatype, cell)?;
            let value = Range::new(value.clone(), value);
            match &mut span {
                Some(span) => span.unite(datatype, &value),
                None => span = Some(value),
            }
        }
        let span = span.ok_or("there are no cells")?;
        let end = |value: &[u8]| cell_json(datatype, CellValNum::ONE, value);
        let domain = [end(&span.low), end(&span.high)];
        Ok(json!({"name": name, "datatype": datatype.name(), "domain": domain, "extent": null}))
    }

    fn attribute(&self, name: &str, column: usize) -> Value {
        let datatype = self.datatype(column);
        let mut attribute = Map::new();
        let mut tell = |key: &str, value: Value| drop(attribute.insert(key.to_owned(), value));
        tell("name", json!(name));
        tell("datatype", json!(datatype.unwrap_or(Datatype::StringUtf8).name()));
        if datatype.is_none() {
            tell("cell_val_num", json!("var"));
        }
        tell("nullable", json!(self.cells(column).any(|(_, cell)| is_null(cell))));
        tell("filters", json!([{"name": "zstd", "level": 3}]));
        Value::Object(attribute)
    }

    /// The cells, converted for an array with this schema.
    pub(super) fn columns(&self, schema: &ArraySchema) -> Result<Vec<Buffers>, String> {
        let along_rows = schema.domain.dimensions.len() == 1 && schema.dimension("row").is_some();
        if schema.array_type == ArrayType::Dense && !along_rows {
            return Err("a table can only be written to a sparse array, or to a dense one with one dimension for the rows".to_owned());
        }
        let column = |(index, name): (usize, &String)| {
            let field = schema.field(name).ok_or_else(|| format!("the array has no field {name:?}"))?;
            self.column(index, &field)
        };
        self.names.iter().enumerate().map(column).collect()
    }

    fn column(&self, index: usize, field: &Field<'_>) -> Result<Buffers, String> {
        let size = field.cell_size();
        let (mut data, mut offsets, mut validity) = (Vec::new(), vec![0u64], Vec::new());
        for (line, cell) in self.cells(index) {
            let wrong = |error: String| format!("line {line}, column {:?}: {error}", field.name);
            let null = is_null(cell);
            let bytes = match size {
                _ if !null => value(field, cell).map_err(wrong)?,
                Some(size) if field.nullable => vec![0; size],
                Some(_) => return Err(wrong("is empty, but cells cannot be null".to_owned())),
                None => Vec::new(),
            };
            if let Some(size) = size.filter(|size| *size != bytes.len()) {
                return Err(wrong(format!("has {} bytes, but cells have {size}", bytes.len())));
            }
            data.extend_from_slice(&bytes);
            offsets.push(to_u64(data.len()));
            validity.push(u8::from(!null));
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

const fn is_null(cell: &Cell) -> bool {
    cell.text.is_empty() && !cell.quoted
}

/// A cell with a single value.
fn one(datatype: Datatype, cell: &Cell) -> Result<Vec<u8>, String> {
    json_cell(datatype, CellValNum::ONE, &Value::String(cell.text.clone()))
}

/// A cell of a field, in the notation of `tdb read --format csv`.
fn value(field: &Field<'_>, cell: &Cell) -> Result<Vec<u8>, String> {
    let is_list = !is_text(field.datatype) && field.cell_val_num != CellValNum::ONE;
    let value = if is_list {
        serde_json::from_str(&cell.text).map_err(|error| error.to_string())?
    } else {
        Value::String(cell.text.clone())
    };
    json_cell(field.datatype, field.cell_val_num, &value)
}
