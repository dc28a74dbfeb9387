//! What DataFusion says, in words of people who write SQL, and with what would be right.

use std::path::Path;

use tdb_array::group::{ObjectType, object_type};
use tdb_array::storage::LocalStorage;
use tdb_datafusion::datafusion::common::SchemaError;
use tdb_text::suggest::{hint, meant};

use super::functions;
use crate::suggest::hint_of_place;

/// Characters of a message about a file: some quote all of it.
const MAX_QUOTED: usize = 160;
/// Words that a statement begins with, or that begin its parts.
const WORDS: [&str; 33] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "JOIN",
    "LEFT",
    "INNER",
    "CROSS",
    "UNION",
    "WITH",
    "INSERT",
    "INTO",
    "VALUES",
    "UPDATE",
    "SET",
    "DELETE",
    "CREATE",
    "EXTERNAL",
    "TABLE",
    "DROP",
    "COPY",
    "STORED",
    "OPTIONS",
    "DESCRIBE",
    "EXPLAIN",
    "SUMMARIZE",
    "SHOW",
    "USING",
    "QUALIFY",
];
/// Types of casts.
const TYPES: [&str; 18] = [
    "INT",
    "INTEGER",
    "BIGINT",
    "SMALLINT",
    "TINYINT",
    "REAL",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "NUMERIC",
    "VARCHAR",
    "TEXT",
    "STRING",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "BOOLEAN",
    "INTERVAL",
];
/// Parts of times that `extract` and `date_part` know.
const PARTS: [&str; 13] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "dow",
    "doy",
    "epoch",
];
/// Functions behind FROM.
const TABLE_FUNCTIONS: [&str; 7] = [
    "tiledb_fragments",
    "tiledb_history",
    "tiledb_metadata",
    "tiledb_schema",
    "tiledb_members",
    "generate_series",
    "range",
];

/// What the parser says, with the word that was probably meant.
pub(super) fn parsed_of(message: &str) -> String {
    let message = one_sentence(message);
    let found = message.rsplit_once("found: ").map(|(_, found)| found);
    let hint = found.and_then(|found| meant(found, WORDS).filter(|word| !word.eq_ignore_ascii_case(found)));
    match hint {
        Some(word) => format!("{message}; did you mean {word}?"),
        None => message,
    }
}

/// A column that is not there.
pub(super) fn field_of(error: &SchemaError, message: &str) -> String {
    let message = one_sentence(message);
    match error {
        SchemaError::FieldNotFound { field, .. } if !message.contains("Did you mean") => {
            format!("{message} If this is a text, write '{}'", field.name)
        }
        _ => message,
    }
}

/// A message about tables says what a name may also be.
pub(super) fn message_of(message: &str) -> String {
    if let Some(signature) = signature_of(message) {
        return signature;
    }
    if let Some(function) = function_of(message) {
        return function;
    }
    if message.starts_with("Column count doesn't match insert query") {
        return "INSERT has more or fewer values than columns: name the columns, as in INSERT INTO t (a, b) …".to_owned();
    }
    if message.starts_with("Format not explicitly set and unable to get file extension") {
        return "COPY … TO: the ending of the name says the format of a file (.csv, .json, .parquet, .arrow); STORED AS TILEDB makes an \
                array of the rows"
            .to_owned();
    }
    let name = message.strip_prefix("table 'datafusion.public.");
    if let Some(other) = words_of(message) {
        return other;
    }
    match name.and_then(|name| name.strip_suffix("' not found")) {
        Some(name) if is_group(name) => format!(
            "{name} is a group, and only arrays are tables: --table e={name} names its arrays, as e.MEMBER, and SELECT * FROM \
             tiledb_members('{name}') lists its members"
        ),
        Some(name) => {
            // Only names of files have an ending.
            let files = if name.contains('.') {
                "; of files, SQL reads those that end with .csv, .json, .parquet or .arrow, and `tdb import` makes arrays of others"
            } else {
                ""
            };
            let hint = hint_of_place(Path::new(name));
            format!(
                "{name}: there is no table of this name, and no array in a folder of this name{files}{hint}"
            )
        }
        None => of_schema(message).unwrap_or_else(|| one_sentence(message)),
    }
}

/// A table of a group that has no name yet.
fn of_schema(message: &str) -> Option<String> {
    let name = message.strip_prefix("table 'datafusion.")?.strip_suffix("' not found")?;
    let (group, _) = name.split_once('.')?;
    let place = if is_group(group) { group } else { "PLACE" };
    Some(format!("{name}: no group is called {group} here: tdb sql --table {group}={place} names one"))
}

/// Whether there is a group in a local folder.
fn is_group(folder: &str) -> bool {
    matches!(object_type(&LocalStorage::new(folder)), Ok(ObjectType::Group))
}

/// Short messages that do not say what would be right.
fn words_of(message: &str) -> Option<String> {
    let quoted = |before: &str| message.split_once(before)?.1.split_once('\'').map(|(name, _)| name);
    if let Some(name) = quoted("table function '") {
        return Some(format!("there is no function {name} behind FROM{}", hint(name, TABLE_FUNCTIONS)));
    }
    if let Some(ending) = message.strip_prefix("There is no registered file format with ext ") {
        return Some(format!(
            "COPY … TO: no format is called .{ending}; files end with .csv, .json, .parquet or .arrow"
        ));
    }
    if let Some((_, key)) = message.split_once("could not find config namespace for key ") {
        return Some(format!("{} is no setting: SHOW ALL lists them", key.trim_matches('"')));
    }
    if let Some((_, rest)) = message.split_once("Column in SELECT must be in GROUP BY")
        && let Some((_, rest)) = rest.split_once("column \"")
        && let Some((column, _)) = rest.split_once('"')
    {
        let name = column.rsplit('.').next().unwrap_or(column);
        return Some(format!(
            "{column} is neither in GROUP BY nor inside of a function of groups: write GROUP BY ALL, or max({name}), first_value({name}), …"
        ));
    }
    if let Some((_, types)) = message.split_once("Cannot coerce arithmetic expression ") {
        let types = in_words(types.strip_suffix(" to valid types").unwrap_or(types));
        return Some(format!("there is no {types}: CAST(… AS …) converts one side, || puts texts together"));
    }
    None
}

/// Types of texts in a message as SQL has them.
fn in_words(text: &str) -> String {
    let text = text.replace("LargeUtf8", "text").replace("Utf8View", "text").replace("Utf8", "text");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A function that does not exist, and what other databases mean by it.
fn function_of(message: &str) -> Option<String> {
    let (_, rest) =
        message.split_once("Invalid function '").or_else(|| message.split_once("table function '"))?;
    let (name, _) = rest.split_once('\'')?;
    Some(format!("there is no function {name}: write {}", functions::instead(name)?))
}

/// What is not supported, without the words in which the parser and the planner describe it to
/// each other.
pub(super) fn unsupported_of(message: &str) -> String {
    if message.contains("OuterReferenceColumn") || message.contains("ScalarSubquery") {
        return "a subquery may refer to the query around it by = only, and not with LIMIT: write a JOIN, or a window function"
            .to_owned();
    }
    if let Some(name) = message.strip_prefix("Unsupported SQL type ") {
        return format!("there is no type {name}{}", hint(name, TYPES));
    }
    if let Some(part) =
        message.strip_prefix("Date part '").and_then(|rest| rest.strip_suffix("' not supported"))
    {
        return format!("a time has no part {part:?}: there are {}{}", PARTS.join(", "), hint(part, PARTS));
    }
    if let Some(name) = message.strip_prefix("Unable to find factory for ") {
        let formats = ["TILEDB", "CSV", "JSON", "PARQUET", "ARROW", "AVRO"];
        return format!("STORED AS {name}: the formats are {}{}", formats.join(", "), hint(name, formats));
    }
    for start in ["Unsupported ast node in sqltorel: ", "Unsupported ast node ", "Unsupported JOIN operator "]
    {
        if let Some(node) = message.strip_prefix(start) {
            let name = node.split([' ', '(', '{']).next().unwrap_or(node);
            return format!("{} is not supported", name.to_uppercase());
        }
    }
    one_sentence(message)
}

/// A function that does not take such arguments, and what it takes. DataFusion calls some of these
/// errors of its own.
fn signature_of(message: &str) -> Option<String> {
    if let Some((_, own)) = message.split_once("coercion failed with: ") {
        let own = own.split(" No function matches").next().unwrap_or(own);
        let own = own.strip_prefix("Error during planning: ").unwrap_or(own);
        return Some(one_sentence(own.trim_end_matches('.')));
    }
    let (_, call) = message.split_once("given name and argument types '")?;
    let (call, rest) = call.split_once("'. ")?;
    let (_, candidates) = rest.split_once("Candidate functions:")?;
    let candidates = in_words(candidates).replace(") ", "), ");
    Some(format!("there is no {}, but {candidates}; CAST(… AS …) converts an argument", in_words(call)))
}

/// A text that could not be converted, and what to write instead.
pub(super) fn conversion_of(message: &str) -> String {
    let quoted = |before: &str| {
        let (_, rest) = message.split_once(before)?;
        rest.split_once('\'')
    };
    if let Some((text, rest)) = quoted("Cannot cast string '")
        && rest.starts_with(" to value of Date")
    {
        return format!(
            "'{text}' is no date: dates are written '2024-12-31'; TRY_CAST(… AS DATE) makes null of other text"
        );
    }
    if message.contains("Invalid input syntax for type interval") {
        return format!(
            "{}; write INTERVAL '3 days', with years, months, days, hours, minutes or seconds",
            one_sentence(message)
        );
    }
    if let Some((text, rest)) = quoted("Cannot cast string '")
        && let Some(to) = rest.strip_prefix(" to value of ").and_then(|rest| rest.strip_suffix(" type"))
    {
        let number = to.contains("Int") || to.contains("Float") || to.contains("Decimal");
        let what = if number { "number" } else { "value" };
        return format!(
            "'{text}' is no {what} ({to}), and text beside a {what} or cast to one must be: write '5' instead of 5 to compare texts, or \
             TRY_CAST(… AS …), which makes null of other text"
        );
    }
    if let Some((text, _)) = quoted("Error parsing timestamp from '") {
        return format!(
            "'{text}' is no time, and text beside a time or cast to one must be: TRY_CAST(… AS TIMESTAMP) makes null of other text"
        );
    }
    one_sentence(message)
}

/// A file that is not written as its format usually is, and what reads it.
pub(super) fn file_of(message: &str) -> Option<String> {
    let plain = one_sentence(message);
    let remedy = if message.contains("Csv error: ") {
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '…' OPTIONS ('format.delimiter' ';') says how a file of cells is written, and \
         `tdb import` reads more of them (--delimiter, --skip, --comment, --encoding)"
    } else if message.contains("Json error: ") {
        "SQL reads one object of JSON on each line; `tdb import --format json` also lists of objects, and objects of several lines"
    } else {
        return None;
    };
    Some(format!("{}; {remedy}", shortened(&plain)))
}

/// A message without the rest of the file that it quotes.
fn shortened(message: &str) -> &str {
    let end = message.char_indices().nth(MAX_QUOTED).map_or(message.len(), |(at, _)| at);
    message.get(..end).unwrap_or(message)
}

/// The memory that was not available, without the list of its users.
pub(super) fn shortage(message: &str) -> String {
    let what = message.rsplit_once("Error: ").map_or(message, |(_, what)| what);
    one_sentence(what.split_once(" - ").map_or(what, |(what, _)| what))
}

/// The lines of a message as one.
pub(super) fn one_sentence(message: &str) -> String {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_were_meant_are_named() {
        for (said, wanted) in [
            (parsed_of("Expected: an SQL statement, found: SELEC"), "found: SELEC; did you mean SELECT?"),
            (parsed_of("Expected: end of statement, found: FORM"), "did you mean FROM?"),
            (parsed_of("Expected: an expression, found: WHERE"), "found: WHERE"),
            (message_of("table function 'tiledb_fragmens' not found"), "did you mean \"tiledb_fragments\"?"),
            (message_of("could not find config namespace for key \"x\""), "x is no setting: SHOW ALL"),
            (
                message_of("Cannot coerce arithmetic expression LargeUtf8 + Int64 to valid types"),
                "no text + Int64: CAST",
            ),
            (unsupported_of("Unsupported SQL type INTT"), "there is no type INTT; did you mean \"INT\"?"),
            (unsupported_of("Date part 'yaer' not supported"), "did you mean \"year\"?"),
            (unsupported_of("Unable to find factory for TILDB"), "did you mean \"TILEDB\"?"),
            (message_of("There is no registered file format with ext xlsx"), "no format is called .xlsx"),
            (
                conversion_of("Cast error: Cannot cast string '2024-13-01' to value of Date32 type"),
                "is no date: dates are",
            ),
            (
                conversion_of("Parser error: Invalid input syntax for type interval: \"1 moth\""),
                "write INTERVAL '3 days'",
            ),
        ] {
            assert!(said.ends_with(wanted) || said.contains(wanted), "{said}");
        }
    }

    #[test]
    fn functions_and_conversions_are_said_in_words_of_sql() {
        let said = |message: &str| message_of(message);
        assert_eq!(
            said(
                "Internal error: Function 'avg' failed to match. No function matches the given name and argument types 'avg(Utf8)'. You \
                 might need to add explicit type casts.\n\tCandidate functions:\n\tavg(Decimal)\n\tavg(Float64)"
            ),
            "there is no avg(text), but avg(Decimal), avg(Float64); CAST(… AS …) converts an argument"
        );
        assert_eq!(
            said(
                "Function 'f' user-defined coercion failed with: Error during planning: f needs a time. No function matches the given name \
                 and argument types 'f(Utf8)'. You might"
            ),
            "f needs a time"
        );
        let converted = conversion_of("Cast error: Cannot cast string 'AA' to value of Int64 type");
        assert!(converted.starts_with("'AA' is no number (Int64), and text beside a number"), "{converted}");
        let time = conversion_of("Parser error: Error parsing timestamp from 'AA': too short");
        assert!(time.starts_with("'AA' is no time"), "{time}");
        assert_eq!(conversion_of("Divide by\nzero error"), "Divide by zero error");
    }

    #[test]
    fn what_is_not_supported_is_said_in_words_of_sql() {
        let year = message_of("Invalid function 'Year'. Did you mean 'var'?");
        assert_eq!(year, "there is no function Year: write extract(year FROM a), extract(month FROM a), …");
        assert!(message_of("Invalid function 'yaer'.").contains("yaer"));
        let said = unsupported_of("Unsupported ast node in sqltorel: Collate { expr: Identifier(…) }");
        assert_eq!(said, "COLLATE is not supported");
        let said =
            unsupported_of("Physical plan does not support logical expression ScalarSubquery(<subquery>)");
        assert!(said.starts_with("a subquery may refer to the query around it by = only"), "{said}");
        assert_eq!(unsupported_of("the disk\nis full"), "the disk is full");
    }

    #[test]
    fn a_file_in_another_notation_says_what_reads_it() {
        let csv = file_of("Csv error: Expected 1 records,\nfound 2").unwrap();
        assert!(csv.starts_with("Csv error: Expected 1 records, found 2; CREATE EXTERNAL TABLE"), "{csv}");
        let json = file_of(&format!("Json error: not {}", "x".repeat(999))).unwrap();
        assert!(json.len() < 400 && json.contains("tdb import --format json"), "{json}");
        assert_eq!(file_of("Divide by zero error"), None);
    }
}
