//! Objects in JSON, one on each line.

use std::collections::HashMap;

use tdb_text::json::Json;

use super::chunks::Chunk;
use super::notation::Nulls;
use super::table::{Mark, Table};
use super::text::Lines;

/// The rows of a chunk. It has these columns, and one for each other key, in the order in which the
/// keys first occur; what an object lacks is null. Lists and objects in an object become text, in
/// JSON.
pub(super) fn parse(chunk: &Chunk, nulls: &Nulls, names: &[String]) -> Result<Table, String> {
    let mut objects = Objects::new(names, chunk.before, nulls);
    let mut lines = Lines::new(chunk);
    while let Some((number, line)) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |what: String| {
            let list = line.trim_start().starts_with('[');
            let remedy = if list { "; --format json reads a list of objects" } else { "" };
            format!("line {number}: an object in JSON is expected: {what}{remedy}")
        };
        let parsed = Json::parse(line.as_bytes());
        match parsed.map_err(|error| wrong(format!("{} at column {}", error.what, error.column)))? {
            Json::Object(object) => objects.add(number, object)?,
            _ => return Err(wrong("this is another value".to_owned())),
        }
    }
    Ok(objects.finish())
}

/// Objects that become rows.
#[derive(Debug)]
pub(super) struct Objects<'n> {
    table: Table,
    columns: HashMap<String, usize>,
    nulls: &'n Nulls,
}

impl<'n> Objects<'n> {
    /// With these columns, behind so many rows of the file.
    pub(super) fn new(names: &[String], before: u64, nulls: &'n Nulls) -> Self {
        let columns = names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect();
        Self { table: Table::of_objects(names, before), columns, nulls }
    }

    pub(super) fn finish(self) -> Table {
        self.table
    }

    /// Adds an object that begins on this line as a row, and a column for each new key.
    pub(super) fn add(&mut self, number: usize, object: Vec<(String, Json)>) -> Result<(), String> {
        if is_of_columns(&object) {
            return Err(format!(
                "line {number}: this is what tdb read --format json prints, a list for each field; what tdb read --format \
                 ndjson prints has rows"
            ));
        }
        let Self { table, columns, nulls } = self;
        let mut row: Vec<Option<Json>> = vec![None; columns.len()];
        for (name, value) in object {
            match columns.get(&name).and_then(|column| row.get_mut(*column)) {
                Some(Some(_)) => return Err(format!("line {number}: the key {name:?} is there twice")),
                Some(cell) => *cell = Some(value),
                None => {
                    columns.insert(name.clone(), row.len());
                    table.add_column(name);
                    row.push(Some(value));
                }
            }
        }
        table.begin_row(number);
        let is_null =
            |value: &Json| matches!(value, Json::Text(text) | Json::Number(text) if nulls.has(text));
        for value in row {
            let value = value.filter(|value| !is_null(value));
            let mark = match &value {
                None | Some(Json::Null) => Mark::Null,
                Some(Json::Bool(_) | Json::Number(_)) => Mark::Open,
                Some(Json::Text(_) | Json::List(_) | Json::Object(_)) => Mark::Text,
            };
            match value {
                None | Some(Json::Null) => {}
                Some(Json::Text(text) | Json::Number(text)) => table.extend(&text),
                Some(other) => table.extend(&other.to_string()),
            }
            table.end_cell(mark);
        }
        table.end_row()
    }
}

/// Whether an object is a result of `tdb read` by columns.
fn is_of_columns(object: &[(String, Json)]) -> bool {
    let is_part = |(name, value): &(String, Json)| match (name.as_str(), value) {
        ("cells", Json::Number(_)) | ("shape", Json::List(_)) => true,
        ("fields", Json::Object(fields)) => {
            !fields.is_empty() && fields.iter().all(|(_, cells)| matches!(cells, Json::List(_)))
        }
        _ => false,
    };
    object.iter().all(is_part) && object.iter().any(|(name, _)| name == "fields")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of a file.
    fn parse(text: &[u8]) -> Result<Table, String> {
        super::parse(&Chunk { text: text.to_vec(), line: 1, before: 0, file: 0 }, &Nulls::default(), &[])
    }

    fn shown(table: &Table, row: usize) -> Vec<(&str, Mark)> {
        table.row(row).map(|cell| (cell.text, cell.mark)).collect()
    }

    #[test]
    fn objects_become_rows_and_what_one_lacks_is_null() {
        let table = parse(&b"{\"a\":1,\"b\":\"x\"}\n\n{\"c\":[1,2],\"a\":null}\r\n"[..]).unwrap();
        assert_eq!(table.names(), ["a", "b", "c"]);
        assert_eq!(shown(&table, 0), [("1", Mark::Open), ("x", Mark::Text), ("", Mark::Null)]);
        assert_eq!(shown(&table, 1), [("", Mark::Null), ("", Mark::Null), ("[1,2]", Mark::Text)]);
        assert_eq!((table.len(), table.line(1)), (2, Some(3)));
        let names = ["b".to_owned()];
        let chunk = Chunk { text: b"{\"a\":1}".to_vec(), line: 7, before: 5, file: 0 };
        let table = super::parse(&chunk, &Nulls::default(), &names).unwrap();
        assert_eq!((table.names().join(" "), table.before()), ("b a".to_owned(), 5));
        assert_eq!(shown(&table, 0), [("", Mark::Null), ("1", Mark::Open)]);
    }

    #[test]
    fn a_line_that_is_no_object_is_named() {
        let wrong = |text: &[u8]| parse(text).unwrap_err();
        assert!(wrong(b"{\"a\":1}\n{\"a\":}\n").starts_with("line 2: an object in JSON is expected: "));
        assert!(wrong(b"[1]\n").starts_with("line 1: an object in JSON is expected: "));
        assert!(wrong(b"[\n").ends_with("; --format json reads a list of objects"));
        assert!(wrong(b"{\"a\":1}{\"a\":2}\n").starts_with("line 1: "));
        assert!(wrong(b"{\"a\":1,\"a\":2}\n").starts_with("line 1: the key \"a\" is there twice"));
        assert!(
            wrong(b"{\"cells\":1,\"shape\":[1],\"fields\":{\"a\":[1]}}\n")
                .ends_with("--format ndjson prints has rows")
        );
        assert_eq!(parse(b"{\"cells\":1,\"fields\":{\"a\":1}}\n").unwrap().len(), 1);
        assert_eq!(parse(b"\n").unwrap().len(), 0);
    }

    #[test]
    fn strings_and_numbers_may_mean_null() {
        let nulls = Nulls::new(&["NA".to_owned(), "-999".to_owned()]);
        let text = b"{\"a\":\"NA\",\"b\":-999,\"c\":\"x\"}".to_vec();
        let table = super::parse(&Chunk { text, line: 1, before: 0, file: 0 }, &nulls, &[]).unwrap();
        assert_eq!(shown(&table, 0), [("", Mark::Null), ("", Mark::Null), ("x", Mark::Text)]);
    }
}
