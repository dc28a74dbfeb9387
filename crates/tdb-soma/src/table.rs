//! New tables, whose rows come in parts.

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Enumeration, enumeration_file_name};
use tdb_array::write::{FragmentWriter, MetadataChanges};
use tdb_array::{ArrayWriter, WriteColumn};

use crate::create::{Build, INDEX, RESERVED, TILE, axis, finished, marked, size_of, zstd};
use crate::facts::JOINID;
use crate::{Error, Kind, Result};

/// The most categories of texts that are kept as an enumeration; tiledbsoma has the same threshold.
pub const MAX_CATEGORIES: usize = 4096;

/// A column of a new table. Any of its cells may be null.
#[derive(Clone, Debug)]
pub struct NewField {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub cells: NewCells,
}

/// What the cells of a new column are.
#[derive(Clone, Debug)]
pub enum NewCells {
    /// Numbers, truth values, or dates.
    Plain(Datatype),
    /// Texts.
    Texts,
    /// Categories: the cells are `INT32`, the number of a category.
    Categories {
        /// The type of the categories; of texts, `STRING_UTF8`.
        datatype: Datatype,
        /// The bytes of each.
        values: Vec<Vec<u8>>,
        /// Whether their order has a meaning.
        ordered: bool,
    },
}

/// A column of a new table.
pub(crate) struct NewColumn<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: NewValues<'a>,
}

/// The values of a column.
pub(crate) enum NewValues<'a> {
    Texts(Vec<&'a str>),
    /// Texts of which few are different, kept as an enumeration.
    Categories(Vec<&'a str>),
    /// Whole numbers, of which some may be missing.
    Numbers(Vec<Option<i64>>),
}

/// A table that has been created, and has no rows yet.
#[derive(Debug)]
pub struct NewTable {
    writer: ArrayWriter,
    rows: u64,
}

/// The rows of a new table, in the order of their ids, which are counted from 0.
#[derive(Debug)]
pub struct NewRows<'a> {
    /// None if the table has no rows.
    fragment: Option<FragmentWriter<'a>>,
    done: u64,
    rows: u64,
}

impl Build<'_> {
    /// Creates a table for so many rows. `index` is the name of the column that was the index of
    /// the table, if the index had that name; `more` are further entries of the metadata.
    ///
    /// # Errors
    /// A name that a column cannot have, or that is there twice; a category that is there twice;
    /// any error of writing.
    pub fn new_table(
        &self,
        path: &str,
        columns: &[NewField],
        rows: u64,
        index: Option<&str>,
        more: MetadataChanges,
    ) -> Result<NewTable> {
        let size = size_of(rows);
        let mut schema = ArraySchema::sparse().dimension(axis(JOINID, TILE.min(size)));
        let mut options = self.target.options.clone();
        for NewField { name, cells } in columns {
            if let Some(what) = wrong_column_name(name) {
                let what = format!("column {name:?} has a name {what}: rename it");
                return Err(Error::Input { file: path.to_owned(), line: None, what });
            }
            let attribute = match cells {
                NewCells::Plain(datatype) => Attribute::new(name, *datatype, CellValNum::ONE),
                NewCells::Texts => Attribute::new(name, Datatype::StringUtf8, CellValNum::Var),
                NewCells::Categories { datatype, values, ordered } => {
                    let file = enumeration_file_name().map_err(tdb_array::Error::from)?;
                    let count = if datatype.is_string() { CellValNum::Var } else { CellValNum::ONE };
                    let made = Enumeration::new(name, file, *datatype, count, values);
                    let mut made = made.map_err(Error::Schema)?;
                    made.ordered = *ordered;
                    schema = schema.enumeration(&made);
                    options = options.enumeration(made);
                    Attribute::new(name, Datatype::Int32, CellValNum::ONE).with_enumeration(name)
                }
            };
            schema = schema.attribute(attribute.with_nulls().with_filters(zstd(-1)));
        }
        let schema = finished(schema, &[size])?;
        let own = index.map_or_else(|| "null".to_owned(), json_text);
        let entries = marked(Kind::DataFrame, more).put_text(INDEX, &own);
        Ok(NewTable { writer: self.array(path, options, &schema, &entries)?, rows })
    }

    /// Creates a table with these columns, whose ids are counted.
    pub(crate) fn table(
        &self,
        path: &str,
        columns: &[NewColumn<'_>],
        rows: usize,
        index: Option<&str>,
    ) -> Result<()> {
        let columns: Vec<Encoded<'_>> = columns.iter().map(Encoded::of).collect::<Result<_>>()?;
        let fields: Vec<NewField> = columns.iter().map(Encoded::field).collect();
        let count = u64::try_from(rows).unwrap_or(u64::MAX);
        let table = self.new_table(path, &fields, count, index, MetadataChanges::new())?;
        let columns: Vec<WriteColumn<'_>> = columns.iter().map(Encoded::cells).collect();
        let mut writing = table.rows()?;
        writing.append(&columns, rows)?;
        writing.finish()
    }
}

impl NewTable {
    /// Begins to write the rows, which are there all at once when all are written.
    ///
    /// # Errors
    /// Any error of writing.
    pub fn rows(&self) -> Result<NewRows<'_>> {
        let fragment = if self.rows == 0 { None } else { Some(self.writer.sparse_fragment()?) };
        Ok(NewRows { fragment, done: 0, rows: self.rows })
    }
}

impl NewRows<'_> {
    /// Adds so many rows, with all columns but the ids.
    ///
    /// # Errors
    /// Columns that do not fit, or any error of writing.
    pub fn append(&mut self, columns: &[WriteColumn<'_>], count: usize) -> Result<()> {
        let Some(fragment) = &mut self.fragment else { return Ok(()) };
        let end = self.done.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        let last = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let ids: Vec<i64> = (last(self.done)..last(end)).collect();
        let mut all = vec![WriteColumn::fixed(JOINID, &ids)];
        all.extend_from_slice(columns);
        fragment.append(&all)?;
        self.done = end;
        Ok(())
    }

    /// Makes the rows part of the table.
    ///
    /// # Errors
    /// There are other than as many rows as the table was made for; any error of writing.
    pub fn finish(self) -> Result<()> {
        if self.done != self.rows {
            let what = format!("{} of {} rows were written", self.done, self.rows);
            return Err(Error::Input { file: String::new(), line: None, what });
        }
        if let Some(fragment) = self.fragment {
            fragment.commit()?;
        }
        Ok(())
    }
}

/// A column as it is stored.
struct Encoded<'a> {
    name: &'a str,
    valid: Vec<u8>,
    stored: Stored<'a>,
}

enum Stored<'a> {
    Texts { bytes: Vec<u8>, offsets: Vec<u64> },
    Codes { codes: Vec<i32>, categories: Vec<&'a str> },
    Numbers(Vec<i64>),
}

impl<'a> Encoded<'a> {
    fn of(column: &NewColumn<'a>) -> Result<Self> {
        let (len, stored) = match &column.values {
            NewValues::Texts(values) => {
                let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
                for value in values {
                    bytes.extend_from_slice(value.as_bytes());
                    offsets.push(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                }
                (values.len(), Stored::Texts { bytes, offsets })
            }
            NewValues::Categories(values) => {
                let mut categories = values.clone();
                categories.sort_unstable();
                categories.dedup();
                let code = |value: &&str| i32::try_from(categories.binary_search(value).ok()?).ok();
                let codes: Option<Vec<i32>> = values.iter().map(code).collect();
                let codes = codes.ok_or_else(|| tdb_array::Error::internal("a value is no category"))?;
                (values.len(), Stored::Codes { codes, categories })
            }
            NewValues::Numbers(values) => {
                // What a null has below it is nobody's value.
                let numbers = values.iter().map(|value| value.unwrap_or(0)).collect();
                let valid = values.iter().map(|value| u8::from(value.is_some())).collect();
                return Ok(Self { name: column.name, valid, stored: Stored::Numbers(numbers) });
            }
        };
        Ok(Self { name: column.name, valid: vec![1; len], stored })
    }

    fn field(&self) -> NewField {
        let bytes = |value: &&str| value.as_bytes().to_vec();
        let cells = match &self.stored {
            Stored::Texts { .. } => NewCells::Texts,
            Stored::Numbers(_) => NewCells::Plain(Datatype::Int64),
            Stored::Codes { categories, .. } => NewCells::Categories {
                datatype: Datatype::StringUtf8,
                values: categories.iter().map(bytes).collect(),
                ordered: false,
            },
        };
        NewField { name: self.name.to_owned(), cells }
    }

    fn cells(&self) -> WriteColumn<'_> {
        let column = match &self.stored {
            Stored::Texts { bytes, offsets } => WriteColumn::var(self.name, bytes, offsets),
            Stored::Numbers(numbers) => WriteColumn::fixed(self.name, numbers),
            Stored::Codes { codes, .. } => WriteColumn::fixed(self.name, codes),
        };
        column.nullable(&self.valid)
    }
}

/// What is wrong with the name of a column: nothing, or how "it has a name …" goes on.
#[must_use]
pub fn wrong_column_name(name: &str) -> Option<&'static str> {
    match name {
        _ if name.starts_with("soma_") => Some("that begins with soma_, which is for SOMA's own"),
        _ if name.starts_with(RESERVED) => Some("that begins with __, which is for the format's own"),
        _ if name.contains('\0') => Some("with a null byte"),
        _ => None,
    }
}

/// A text in the notation of JSON, in ASCII as Python writes it.
fn json_text(text: &str) -> String {
    let mut out = String::from("\"");
    for unit in text.chars() {
        match unit {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(unit),
            other => {
                for half in other.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{half:04x}"));
                }
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_python_writes_them() {
        assert_eq!(json_text("gene_ids"), "\"gene_ids\"");
        assert_eq!(json_text("a\"\\\n\u{1}\u{7f}"), "\"a\\\"\\\\\\n\\u0001\\u007f\"");
        assert_eq!(json_text("é😀"), "\"\\u00e9\\ud83d\\ude00\"");
    }

    #[test]
    fn names_of_soma_are_refused() {
        assert!(wrong_column_name("soma_x").is_some_and(|what| what.contains("SOMA's own")));
        assert!(wrong_column_name("__x").is_some_and(|what| what.contains("the format's own")));
        assert!(wrong_column_name("a\0").is_some() && wrong_column_name("soma").is_none());
    }
}
