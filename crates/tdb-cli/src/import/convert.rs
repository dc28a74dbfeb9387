//! Cells of tables as bytes, for the fields of an array.

use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_codec::digits::{keeps_integer, nearest};
use tdb_codec::{CellValNum, Datatype, to_u64};
use tdb_schema::{Field, FieldKind};
use tdb_text::json::Json;
use tdb_text::parse::date_ticks;
use tdb_text::suggest::hint;
use tdb_text::value::{is_text, json_cell};

use super::dates::DateFormats;
use super::enumerations::Enumerated;
use super::infer::{is_padded, remedy as remedy_of_type};
use super::notation::null_remedy;
use super::rows;
use super::table::{Mark, Table};
use crate::buffers::Buffers;

/// The conversion of the tables of a file to cells of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion<'s> {
    pub(super) schema: &'s ArraySchema,
    /// The names of the columns of a new array whose types were inferred; those of others were
    /// given. `None` if the array was there.
    pub(super) inferred: Option<&'s [String]>,
    /// The number of the file's first row, if the array numbers rows.
    pub(super) first_row: u64,
    /// The enumerations of an array that is there.
    pub(super) enumerated: Option<&'s Enumerated>,
    /// The notations of dates.
    pub(super) dates: &'s DateFormats,
}

impl<'s> Conversion<'s> {
    /// For a new array.
    pub(super) const fn of_new(
        schema: &'s ArraySchema,
        inferred: &'s [String],
        dates: &'s DateFormats,
    ) -> Self {
        Self { schema, inferred: Some(inferred), first_row: 0, enumerated: None, dates }
    }

    /// Returns an error if the array cannot take a table with these columns.
    pub(super) fn check(&self, table: &Table) -> Result<(), String> {
        let numbered = rows::along(self.schema, table.names());
        if self.schema.array_type == ArrayType::Dense && numbered.is_none() {
            return Err("a table can only be written to a sparse array, or to a dense one with one dimension for the rows".to_owned());
        }
        if let Some(name) = table.names().iter().find(|name| self.schema.field(name).is_none()) {
            return Err(self.unknown(name));
        }
        let dated = |name: &&str| self.schema.field(name).is_some_and(|field| !has_dates(&field));
        if let Some(name) = self.dates.names().find(dated) {
            return Err(format!("--date-format {name:?}: this field has no dates"));
        }
        if let Some(format) = self.dates.for_all()
            && !self.schema.fields().any(|field| has_dates(&field))
        {
            return Err(format!("--date-format {format:?}: no field has dates"));
        }
        let lacks = |name: &str| table.column(name).is_none() && numbered.is_none_or(|row| row.name != name);
        match self.schema.fields().find(|field| lacks(field.name) && !table.is_of_objects()) {
            Some(field) => {
                Err(format!("field {:?} is missing: the file has {}", field.name, table.names().join(", ")))
            }
            None => Ok(()),
        }
    }

    /// The cells of all columns.
    pub(super) fn columns(&self, table: &Table) -> Result<Vec<Buffers>, String> {
        self.chosen(table, |_| true)
    }

    /// The cells of the dimensions.
    pub(super) fn coordinates(&self, table: &Table) -> Result<Vec<Buffers>, String> {
        self.chosen(table, |field| matches!(field.kind, FieldKind::Dimension(_)))
    }

    fn chosen(&self, table: &Table, wanted: impl Fn(&Field<'_>) -> bool) -> Result<Vec<Buffers>, String> {
        let numbered = rows::along(self.schema, table.names());
        let mut columns = Vec::with_capacity(table.names().len());
        for (index, name) in table.names().iter().enumerate() {
            let field = self.schema.field(name).ok_or_else(|| self.unknown_in(table, index, name))?;
            if wanted(&field) {
                columns.push(self.buffers(table, index, &field)?);
            }
        }
        if table.is_of_objects() {
            let lacks =
                |name: &str| table.column(name).is_none() && numbered.is_none_or(|row| row.name != name);
            let others = self.schema.fields().filter(|field| lacks(field.name) && wanted(field));
            let others = others.map(|field| self.buffers(table, usize::MAX, &field));
            columns.extend(others.collect::<Result<Vec<_>, _>>()?);
        }
        if let Some(dimension) = numbered.filter(|_| self.schema.array_type == ArrayType::Sparse) {
            let first = self.first_row.saturating_add(table.before());
            columns.push(rows::column(dimension, first, table.len()));
        }
        Ok(columns)
    }

    /// The same as [`Self::unknown`], with the line where a field first occurs.
    fn unknown_in(&self, table: &Table, index: usize, name: &str) -> String {
        let first = table.cells(index).find(|(_, cell)| cell.mark != Mark::Null);
        let line = first.map_or_else(String::new, |(line, _)| format!("{}: ", table.at(line)));
        format!("{line}{}", self.unknown(name))
    }

    fn unknown(&self, name: &str) -> String {
        let known = || self.schema.fields().map(|field| field.name);
        let list = known().collect::<Vec<_>>().join(", ");
        let header = match name.parse::<f64>() {
            Ok(_) => "; --header no and --names say that the first line has cells",
            Err(_) => "",
        };
        format!("the array has no field {name:?} (it has {list}){}{header}", hint(name, known()))
    }

    /// Appends a cell of a field: of an attribute with an enumeration, the position of its value.
    fn append(&self, field: &Field<'_>, text: &str, data: &mut Vec<u8>) -> Result<(), String> {
        let code = self.enumerated.map(|enumerated| enumerated.code(field, text)).transpose()?.flatten();
        match code {
            Some(code) => data.extend_from_slice(&code),
            None => append(field.datatype, field.cell_val_num, text, data)?,
        }
        Ok(())
    }

    fn buffers(&self, table: &Table, index: usize, field: &Field<'_>) -> Result<Buffers, String> {
        let size = field.cell_size();
        let inferred = self.inferred.is_some_and(|inferred| inferred.iter().any(|name| name == field.name));
        // If the user gives a floating-point type, integers are rounded.
        let exact = (inferred || self.inferred.is_none()) && field.datatype.physical().is_float();
        let guards = inferred && is_number(field.datatype);
        let dates = has_dates(field).then(|| self.dates.of_column(field.name, field.datatype)).flatten();
        let (mut data, mut offsets, mut validity) = (Vec::new(), vec![0u64], Vec::new());
        for (line, cell) in table.cells(index) {
            let wrong = |error: String| {
                let remedy = match null_remedy(cell) {
                    remedy if remedy.is_empty() && inferred => remedy_of_type(field.name, cell),
                    remedy => remedy,
                };
                format!("{}, column {:?}: {error}{remedy}", table.at(line), field.name)
            };
            let (start, null) = (data.len(), cell.mark == Mark::Null);
            match size {
                _ if guards && is_padded(cell.text) => {
                    return Err(wrong(format!(
                        "{} would lose its leading zeros as {}",
                        cell.text, field.datatype
                    )));
                }
                _ if exact && !null && !keeps_integers(field, cell.text) => {
                    return Err(wrong(changed(field.datatype, cell.text)));
                }
                _ if !null => {
                    let text =
                        dates.as_ref().map(|dates| dates.text(cell.text)).transpose().map_err(wrong)?;
                    self.append(field, text.as_deref().unwrap_or(cell.text), &mut data).map_err(wrong)?;
                }
                Some(size) if field.nullable => data.resize(start.saturating_add(size), 0),
                Some(_) => return Err(wrong(null_refused(field))),
                None => {}
            }
            let len = data.len().saturating_sub(start);
            if let Some(size) = size.filter(|size| *size != len) {
                return Err(wrong(format!("has {len} bytes, but cells have {size}")));
            }
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

/// The error of an empty cell of a field that has no nulls.
fn null_refused(field: &Field<'_>) -> String {
    let remedy = match field.kind {
        FieldKind::Attribute(_) => "; an array that is made with --types 'NAME=TYPE?' has room for null",
        FieldKind::Dimension(_) => "",
    };
    format!("is empty, but cells cannot be null{remedy}")
}

/// Whether each cell of a field is a date or a time of day.
fn has_dates(field: &Field<'_>) -> bool {
    (field.datatype.is_datetime() || field.datatype.is_time()) && field.cell_val_num == CellValNum::ONE
}

/// Whether a type is one of numbers, which lose leading zeros.
pub(super) const fn is_number(datatype: Datatype) -> bool {
    matches!(datatype, Datatype::Int64 | Datatype::Uint64 | Datatype::Float64)
}

/// A value of the most frequent kinds, without a detour; `None` for everything else.
fn usual(datatype: Datatype, text: &str) -> Option<[u8; 8]> {
    let plain =
        || text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'e' | b'E'));
    match datatype {
        Datatype::Int64 if plain() => text.parse::<i64>().ok().map(i64::to_le_bytes),
        Datatype::Float64 if plain() => nearest::<f64>(text).ok().map(f64::to_le_bytes),
        // Such a text could also be an integer.
        Datatype::DatetimeDay | Datatype::DatetimeMs if text.contains('-') && !text.starts_with('-') => {
            date_ticks(datatype, text).ok().map(i64::to_le_bytes)
        }
        _ => None,
    }
}

/// The error of an integer that a floating-point type would change.
pub(super) fn changed(datatype: Datatype, text: &str) -> String {
    format!("{text} is an integer that {datatype} would change")
}

/// Whether a cell of reals has the integers of its text.
fn keeps_integers(field: &Field<'_>, text: &str) -> bool {
    if field.cell_val_num == CellValNum::ONE {
        return keeps_integer(field.datatype, text);
    }
    // A value that is no list is refused by the conversion.
    let list = Json::parse(text.as_bytes()).ok();
    let items = list.as_ref().and_then(Json::as_list).unwrap_or_default();
    items.iter().filter_map(Json::as_number).all(|digits| keeps_integer(field.datatype, digits))
}

/// One value that is not text, as other programs write it, too: booleans in any case.
pub(super) fn one(datatype: Datatype, text: &str) -> Result<Vec<u8>, String> {
    if let Some(value) = usual(datatype, text) {
        return Ok(value.to_vec());
    }
    let text = if datatype == Datatype::Bool && is_boolean(text) {
        text.to_ascii_lowercase()
    } else {
        text.to_owned()
    };
    json_cell(datatype, CellValNum::ONE, &Json::Text(text))
}

/// Whether a text is `true` or `false`, in any case.
pub(super) const fn is_boolean(text: &str) -> bool {
    text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
}

/// Appends a cell of this type, given in the notation of `tdb read --format csv`.
pub(super) fn append(
    datatype: Datatype,
    cell_val_num: CellValNum,
    text: &str,
    data: &mut Vec<u8>,
) -> Result<(), String> {
    let is_one = cell_val_num == CellValNum::ONE;
    if matches!(datatype, Datatype::StringUtf8 | Datatype::StringAscii) && !text.contains('\\') {
        data.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    if let Some(value) = usual(datatype, text).filter(|_| is_one) {
        data.extend_from_slice(&value);
        return Ok(());
    }
    let bytes = if is_text(datatype) {
        json_cell(datatype, cell_val_num, &Json::Text(text.to_owned()))?
    } else if is_one {
        one(datatype, text)?
    } else {
        let list = Json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        json_cell(datatype, cell_val_num, &list)?
    };
    data.extend_from_slice(&bytes);
    Ok(())
}
