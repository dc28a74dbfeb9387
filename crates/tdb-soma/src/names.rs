//! The names of the rows of a table, as texts.

use std::collections::HashMap;

use tdb_array::schema::{CellValNum, Datatype, FieldKind};
use tdb_array::{Array, Cells, Column, MemoryBudget};

use crate::facts::{JOINID, whole};
use crate::{Error, Object, Result};

/// The rows of a table in the order of their ids, as texts.
pub(crate) struct Names {
    pub(crate) ids: Vec<i64>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Names {
    /// The columns of these names, of which the first one tells the rows apart; where there is
    /// none, `otherwise`.
    ///
    /// # Errors
    /// Two rows with the same id, or the same name; a name that is null, or that a line cannot
    /// have.
    pub(crate) fn of(
        table: &Object,
        columns: &[Option<&str>],
        otherwise: &str,
        memory: MemoryBudget,
    ) -> Result<Self> {
        let array = table.array().ok_or_else(|| wrong(table, "this is no table"))?;
        let texts: Vec<Option<Text>> = columns
            .iter()
            .map(|name| name.map(|name| Text::of(table, array, name)).transpose())
            .collect::<Result<_>>()?;
        let mut wanted: Vec<&str> = columns.iter().flatten().copied().chain([JOINID]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut all: Vec<(i64, Vec<String>)> = Vec::new();
        for batch in array.read().fields(wanted).memory(memory).batches()? {
            let batch: Cells = batch?;
            let ids = batch.field(JOINID)?.values::<i64>()?;
            for (at, id) in ids.iter().enumerate() {
                let cell = |text: &Option<Text>| match text {
                    Some(text) => text.cell(table, *id, batch.field(&text.name)?, at),
                    None => Ok(otherwise.to_owned()),
                };
                all.push((*id, texts.iter().map(cell).collect::<Result<_>>()?));
            }
        }
        all.sort_by_key(|(id, _)| *id);
        expect_unique(table, columns.first().copied().flatten(), &all)?;
        let (ids, rows) = all.into_iter().unzip();
        Ok(Self { ids, rows })
    }

    /// The position of an id, counted from 0.
    pub(crate) fn position(&self, id: i64) -> Option<usize> {
        // Those of most tables are counted from 0.
        let at = usize::try_from(id).ok().filter(|at| self.ids.get(*at) == Some(&id));
        at.or_else(|| self.ids.binary_search(&id).ok())
    }
}

/// Refuses rows that nobody could tell apart: by their ids, which values are of, or by their names.
fn expect_unique(table: &Object, column: Option<&str>, rows: &[(i64, Vec<String>)]) -> Result<()> {
    let mut same = rows.windows(2).filter_map(|pair| match pair {
        [(one, _), (other, _)] if one == other => Some(*one),
        _ => None,
    });
    if let Some(id) = same.next() {
        return Err(wrong(table, format!("two rows have the id {id}, so values of it may be of either")));
    }
    let mut seen: HashMap<&str, i64> = HashMap::with_capacity(rows.len());
    for (id, row) in rows {
        let Some(name) = row.first() else { continue };
        if let Some(before) = seen.insert(name, *id) {
            let column = column.unwrap_or_default();
            let what = format!(
                "column {column:?}: the rows with the ids {before} and {id} are both called {name:?}"
            );
            return Err(wrong(table, what));
        }
    }
    Ok(())
}

/// How a column becomes texts.
struct Text {
    name: String,
    datatype: Datatype,
    /// The values of an enumeration.
    values: Option<Vec<String>>,
}

impl Text {
    fn of(table: &Object, array: &Array, name: &str) -> Result<Self> {
        let schema = array.schema();
        let field = schema.field(name).ok_or_else(|| {
            let known: Vec<&str> = schema.fields().map(|field| field.name).collect();
            wrong(table, format!("there is no column {name:?} (there are {})", known.join(", ")))
        })?;
        let enumeration = match field.kind {
            FieldKind::Attribute(at) => schema.attributes.get(at).and_then(|own| own.enumeration.as_deref()),
            _ => None,
        };
        let values = enumeration.map(|name| array.enumeration(name)).transpose()?.flatten();
        let is_text = |datatype: Datatype, count: CellValNum| datatype.is_string() && count.is_var();
        let kept = match &values {
            Some(values) => is_text(values.datatype, values.cell_val_num),
            None => is_text(field.datatype, field.cell_val_num) || field.datatype == Datatype::Int64,
        };
        if !kept {
            return Err(wrong(table, format!("column {name:?} is {}: texts are names", field.datatype)));
        }
        let values = values.map(|own| {
            let text = |at: usize| {
                let value = own.value(at).and_then(|value| str::from_utf8(value).ok()).map(str::to_owned);
                value.ok_or_else(|| wrong(table, format!("column {name:?}: its category {at} is not UTF-8")))
            };
            (0..own.len()).map(text).collect::<Result<Vec<_>>>()
        });
        Ok(Self { name: name.to_owned(), datatype: field.datatype, values: values.transpose()? })
    }

    /// The name of the row with an id.
    fn cell(&self, table: &Object, id: i64, column: &Column, at: usize) -> Result<String> {
        let wrong = |what: &str| {
            wrong(table, format!("column {:?}: the name of the row with the id {id} {what}", self.name))
        };
        let cell = column.cell(at).filter(|_| !column.is_null(at)).ok_or_else(|| wrong("is null"))?;
        let code = || whole(self.datatype, cell);
        let text = match &self.values {
            Some(values) => {
                // A code that no value has is a null, whether its type has a sign or not.
                let code = code().and_then(|code| usize::try_from(code).ok());
                code.and_then(|code| values.get(code)).cloned().ok_or_else(|| wrong("is null"))?
            }
            None if self.datatype == Datatype::Int64 => {
                code().ok_or_else(|| wrong("has no 8 bytes"))?.to_string()
            }
            None => str::from_utf8(cell).map_err(|_| wrong("is not UTF-8"))?.to_owned(),
        };
        if text.contains(['\t', '\n', '\r']) {
            return Err(wrong(&format!(
                "is {text:?}, which has a tabulator or a line end, and the files cannot keep these"
            )));
        }
        Ok(text)
    }
}

fn wrong(object: &Object, what: impl Into<String>) -> Error {
    Error::Input { file: object.path.clone(), line: None, what: what.into() }
}
