//! Objects in JSON, one on each line.

use std::collections::HashMap;

use tdb_text::json::Json;

use super::chunks::Chunk;
use super::table::{Mark, Table};
use super::text::Lines;

/// The rows of a chunk. It has these columns, and one for each other key, in the order in which the
/// keys first occur; what an object lacks is null. Lists and objects in an object become text, in
/// JSON.
pub(super) fn parse(chunk: &Chunk, names: &[String]) -> Result<Table, String> {
    let mut table = Table::of_objects(names, chunk.before);
    let mut columns = names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect();
    let mut lines = Lines::new(chunk);
    while let Some((number, line)) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |what: String| format!("line {number}: an object in JSON is expected: {what}");
        let parsed = Json::parse(line.as_bytes());
        match parsed.map_err(|error| wrong(format!("{} at column {}", error.what, error.column)))? {
            Json::Object(object) => add(&mut table, &mut columns, number, object)?,
            _ => return Err(wrong("this is another value".to_owned())),
        }
    }
    Ok(table)
}

/// Adds an object as a row, and a column for each new key.
fn add(
    table: &mut Table,
    columns: &mut HashMap<String, usize>,
    number: usize,
    object: Vec<(String, Json)>,
) -> Result<(), String> {
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
    for value in row {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of a file.
    fn parse(text: &[u8]) -> Result<Table, String> {
        super::parse(&Chunk { text: text.to_vec(), line: 1, before: 0 }, &[])
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
        let chunk = Chunk { text: b"{\"a\":1}".to_vec(), line: 7, before: 5 };
        let table = super::parse(&chunk, &names).unwrap();
        assert_eq!((table.names().join(" "), table.before()), ("b a".to_owned(), 5));
        assert_eq!(shown(&table, 0), [("", Mark::Null), ("1", Mark::Open)]);
    }

    #[test]
    fn a_line_that_is_no_object_is_named() {
        let wrong = |text: &[u8]| parse(text).unwrap_err();
        assert!(wrong(b"{\"a\":1}\n{\"a\":}\n").starts_with("line 2: an object in JSON is expected: "));
        assert!(wrong(b"[1]\n").starts_with("line 1: an object in JSON is expected: "));
        assert!(wrong(b"{\"a\":1}{\"a\":2}\n").starts_with("line 1: "));
        assert!(wrong(b"{\"a\":1,\"a\":2}\n").starts_with("line 1: the key \"a\" is there twice"));
        assert_eq!(parse(b"\n").unwrap().len(), 0);
    }
}
