//! Compares what libtiledb read from an array, in the form of `xtask/peer/expect.py`, with what tdb
//! reads.
//!
//! The rules are those of `xtask/fixtures/README.md`: floats by their bits, no value under validity
//! 0, and positions as far as the query's order determines them.

use std::path::Path;

use serde_json::Value;
use tdb_array::{Array, Cells, Error, Layout, OpenOptions, Read, TimeWindow};
use tdb_codec::Datatype;
use tdb_filters::Key;
use tdb_schema::Range;

use super::form::{Cell, base64, hex, list, text, wanted_cells};

/// Neither the release that wrote an array nor the newest release can read it.
const UNREAD: &str = "no libtiledb reads it";
/// In addition, its writer stored the validity of cells in the tiles of other cells, which tdb
/// detects in the first and the last tile (docs/correctness_issues.md).
const SHIFTED: &str = "Validity in the wrong tiles";
/// The note on a query that differs, but for which tdb returns the cells as they were written.
pub(crate) const NO_RULE: &str = "libtiledb does not return what was written, tdb does, and no rule says why";

/// The comparisons and the differences.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Queries whose cells are equal.
    pub(crate) equal: usize,
    /// Queries whose cells are not equal: their positions in the file, and the differences.
    pub(crate) differing: Vec<(usize, String)>,
    /// How often array metadata and the non-empty domain, at some time, are equal.
    pub(crate) facts_equal: usize,
    /// Array metadata and non-empty domains that are not equal.
    pub(crate) facts: Vec<String>,
    /// Queries for which tdb returns what was written and libtiledb does not, or for which the
    /// correct answer is unknown: the rules that apply to them.
    pub(crate) written: Vec<Vec<String>>,
    /// Queries for which neither tdb nor libtiledb returns what was written.
    pub(crate) unlike: Vec<String>,
}

/// Reads the array for every query of `expected` and compares the results.
pub(crate) fn compare(array: &Path, expected: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    for (index, query) in list(expected, "queries").iter().enumerate() {
        if let Some(model) = query.get("model") {
            let rules: Vec<String> =
                list(query, "rules").iter().filter_map(Value::as_str).map(str::to_owned).collect();
            match check_written(array, expected, query, model) {
                Ok(()) if rules.is_empty() => {
                    outcome.differing.push((index, NO_RULE.to_owned()));
                }
                Ok(()) => outcome.written.push(rules),
                // tdb cannot read it either, and reports an error: the stored data is not readable.
                Err(_) if rules.iter().any(|rule| rule == UNREAD) && refuses(array, expected, query) => {
                    outcome.written.push(vec![format!("{UNREAD}, and tdb refuses it")]);
                }
                Err(_) if rules.iter().any(|rule| rule == SHIFTED) => outcome.written.push(rules),
                Err(error) => outcome.unlike.push(format!("query {index}: not what was written: {error}")),
            }
            continue;
        }
        match check(array, expected, query) {
            Ok(()) => outcome.equal = outcome.equal.saturating_add(1),
            Err(_) if query.get("undecided").is_some() => {
                outcome.written.push(vec![text(query, "undecided").to_owned()]);
            }
            Err(error) => outcome.differing.push((index, error)),
        }
    }
    let now = std::iter::once(expected).filter(|now| now.get("metadata").is_some_and(Value::is_array));
    for then in now.chain(list(expected, "time_travel")) {
        match check_facts(array, expected, then) {
            Ok(()) => outcome.facts_equal = outcome.facts_equal.saturating_add(1),
            Err(error) => outcome.facts.push(error),
        }
    }
    outcome
}

/// The same query in another reading.
pub(crate) fn same_query<'a>(query: &Value, others: &'a Value) -> Option<&'a Value> {
    let asks = |query: &Value| ["ranges", "layout", "timestamps"].map(|part| query.get(part).cloned());
    list(others, "queries").iter().find(|other| asks(other) == asks(query))
}

/// Whether libtiledb returned several cells with the same coordinates although the array does not
/// allow that.
pub(crate) fn has_duplicates(expected: &Value, query: &Value) -> bool {
    let schema = expected.get("schema").unwrap_or(&Value::Null);
    let allowed = schema.get("allows_dups").and_then(Value::as_bool) != Some(false);
    let Ok(mut cells) = wanted_cells(query) else { return false };
    if allowed || text(schema, "array_type") == "dense" {
        return false;
    }
    cells.iter_mut().for_each(|cell| cell.truncate(list(schema, "dimensions").len()));
    cells.sort();
    cells.windows(2).any(|pair| pair.first() == pair.last())
}

/// Whether the array has sparse fragments with date dimensions of 1.6 or 1.7, whose rectangles are
/// wrong.
pub(crate) fn has_old_dates(expected: &Value) -> bool {
    let dimensions = expected.get("schema").map_or(&[][..], |schema| list(schema, "dimensions"));
    dimensions.iter().any(|dimension| text(dimension, "type").starts_with("DATETIME"))
        && list(expected, "fragments").iter().any(|fragment| {
            let before_2 = fragment.get("version").and_then(Value::as_u64).is_some_and(|version| version < 5);
            before_2 && fragment.get("dense").and_then(Value::as_bool) == Some(false)
        })
}

/// The cells of a range query according to libtiledb's own reading of the whole array, if they
/// differ from those it returned for the query. libtiledb then contradicts itself, and its result
/// for the query proves nothing.
pub(crate) fn contradiction(expected: &Value, query: &Value) -> Option<Vec<Cell>> {
    let schema = expected.get("schema")?;
    if text(schema, "array_type") != "sparse" || query.get("ranges")?.is_null() {
        return None;
    }
    let whole = list(expected, "queries").iter().find(|whole| {
        let same = |part| whole.get(part) == query.get(part);
        whole.get("ranges").is_some_and(Value::is_null) && same("layout") && same("timestamps")
    })?;
    let mut cells = wanted_cells(whole).ok()?;
    cells.retain(|cell| {
        cell.iter().zip(list(schema, "dimensions")).zip(list(query, "ranges")).all(
            |((value, dimension), range)| {
                let Some([low, high]) = range.as_array().map(Vec::as_slice) else { return true };
                let end = |end: &Value| hex(end.as_str().unwrap_or_default()).unwrap_or_default();
                let datatype = Datatype::from_name(text(dimension, "type"));
                datatype.zip(value.as_ref()).is_some_and(|(datatype, value)| {
                    Range::compare(datatype, value, &end(low)).is_ge()
                        && Range::compare(datatype, value, &end(high)).is_le()
                })
            },
        )
    });
    let (mut before, mut after) = (wanted_cells(query).ok()?, cells.clone());
    before.sort();
    after.sort();
    (before != after).then_some(cells)
}

/// Runs one query and compares its cells with those that libtiledb returned.
pub(crate) fn check(array: &Path, expected: &Value, query: &Value) -> Result<(), String> {
    check_against(array, expected, query, wanted_cells(query)?)
}

/// Whether tdb reports for a query that the stored data is damaged.
fn refuses(array: &Path, expected: &Value, query: &Value) -> bool {
    let Ok(array) = open(array, expected, query) else { return false };
    let asked = read_of(&array, expected, query).map(Read::collect);
    asked.is_ok_and(|cells| matches!(cells, Err(Error::Corrupt { .. })))
}

/// Runs one query and compares its cells with those that were written.
fn check_written(array: &Path, expected: &Value, query: &Value, model: &Value) -> Result<(), String> {
    let sparse = expected.get("schema").is_some_and(|schema| text(schema, "array_type") == "sparse");
    let mut written = model.clone();
    if let (Some(written), Some(query)) = (written.as_object_mut(), query.as_object()) {
        for part in ["layout", "timestamps", "ranges", "order"] {
            written.insert(part.to_owned(), query.get(part).cloned().unwrap_or_default());
        }
        if sparse && written.get("layout").is_some_and(|layout| layout == "global-order") {
            // The written cells do not determine the order of the result.
            written.insert("order".to_owned(), "canonical".into());
        }
    }
    check_against(array, expected, &written, wanted_cells(model)?)
}

/// Runs one query and compares its cells with others.
pub(crate) fn check_against(
    array: &Path,
    expected: &Value,
    query: &Value,
    wanted: Vec<Cell>,
) -> Result<(), String> {
    let array = open(array, expected, query)?;
    let cells = read_of(&array, expected, query)?.collect().map_err(|error| error.to_string())?;
    let dimensions = expected.get("schema").map_or(0, |schema| list(schema, "dimensions").len());
    compare_cells(&cells, dimensions, query, wanted)
}

/// Converts a query to one of tdb.
fn read_of(array: &Array, expected: &Value, query: &Value) -> Result<Read, String> {
    let mut read = array.read().order(match text(query, "layout") {
        "row-major" => Layout::RowMajor,
        "col-major" => Layout::ColMajor,
        "global-order" => Layout::GlobalOrder,
        _ => Layout::Unordered,
    });
    let dimensions = expected.get("schema").map_or(&[][..], |schema| list(schema, "dimensions"));
    for (dimension, range) in dimensions.iter().zip(list(query, "ranges")) {
        if let Some([low, high]) = range.as_array().map(Vec::as_slice) {
            let end = |end: &Value| hex(end.as_str().unwrap_or_default());
            read = read.range_bytes(text(dimension, "name"), Some(end(low)?), Some(end(high)?));
        }
    }
    Ok(read)
}

/// Opens an array with the key of `expected`, in a query's time window.
pub(super) fn open(array: &Path, expected: &Value, query: &Value) -> Result<Array, String> {
    options(expected, query)?.open(array).map_err(|error| error.to_string())
}

/// How an array or a group is opened: with the key of the case, at the times of the query.
pub(super) fn options(expected: &Value, query: &Value) -> Result<OpenOptions, String> {
    let mut options = OpenOptions::new().threads(1);
    if let Some(key) = key(expected)? {
        options = options.key(key);
    }
    if let [start, end] = list(query, "timestamps") {
        // Without an end, both libraries open an array at the present time.
        match (start.as_u64(), end.as_u64()) {
            (None, None) => {}
            (start, end) => {
                options = options.window(TimeWindow::between(start.unwrap_or(0), end.unwrap_or_else(now)));
            }
        }
    }
    Ok(options)
}

/// The key of an encrypted array.
pub(super) fn key(expected: &Value) -> Result<Option<Key>, String> {
    let Some(key) = expected.get("key").and_then(Value::as_str) else { return Ok(None) };
    let key: [u8; 32] = key.as_bytes().try_into().map_err(|_| "a key of another length".to_owned())?;
    Ok(Some(Key::new(key)))
}

/// The present time in milliseconds.
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or(u64::MAX)
}

/// Compares array metadata and the non-empty domain.
pub(super) fn check_facts(array: &Path, expected: &Value, then: &Value) -> Result<(), String> {
    let array = open(array, expected, then)?;
    let window = then.get("timestamps").map_or(String::new(), |window| format!(" within {window}"));
    let found = array.metadata().map_err(|error| error.to_string())?;
    let found: Vec<(Vec<u8>, String, Vec<u8>)> = found
        .iter()
        .map(|(key, value)| (key.to_vec(), value.datatype.name().to_owned(), value.data.clone()))
        .collect();
    let mut wanted = Vec::new();
    for entry in list(then, "metadata") {
        let key = text(entry, "key").as_bytes().to_vec();
        wanted.push((key, text(entry, "type").to_owned(), base64(text(entry, "value"))?));
    }
    if found != wanted {
        return Err(format!("array metadata{window} is {found:?} instead of {wanted:?}"));
    }
    let found = array.non_empty_domain();
    let wanted = match then.get("non_empty_domain").and_then(Value::as_array) {
        None => None,
        Some(ranges) => {
            let end =
                |range: &Value, at: usize| hex(range.get(at).and_then(Value::as_str).ok_or("no range")?);
            let ranges: Result<Vec<_>, String> =
                ranges.iter().map(|range| Ok((end(range, 0)?, end(range, 1)?))).collect();
            Some(ranges?)
        }
    };
    let found = found.map(|ranges| ranges.into_iter().map(|range| (range.low, range.high)).collect());
    if found == wanted {
        Ok(())
    } else {
        Err(format!("the non-empty domain{window} is {found:?} instead of {wanted:?}"))
    }
}

fn compare_cells(cells: &Cells, dimensions: usize, query: &Value, wanted: Vec<Cell>) -> Result<(), String> {
    let none = serde_json::Map::new();
    let fields = query.get("fields").and_then(Value::as_object).unwrap_or(&none);
    if cells.len() != wanted.len() {
        return Err(format!("{} cells instead of {}", cells.len(), wanted.len()));
    }
    // Fields for which the written values are unknown.
    let without = list(query, "without").len();
    if cells.columns().len() != fields.len().saturating_add(without) {
        return Err(format!("{} fields instead of {}", cells.columns().len(), fields.len()));
    }
    let found = rows(cells, fields.iter().map(|(name, field)| (name.as_str(), text(field, "type"))))?;
    compare_rows(text(query, "order"), dimensions, found, wanted)
}

/// Cells with the fields of these names and types, in this order.
pub(super) fn rows<'f>(
    cells: &Cells,
    fields: impl IntoIterator<Item = (&'f str, &'f str)>,
) -> Result<Vec<Cell>, String> {
    let mut found = vec![Cell::new(); cells.len()];
    for (name, datatype) in fields {
        let column = cells.field(name).map_err(|error| error.to_string())?;
        if column.datatype.name() != datatype {
            return Err(format!("{name}: {} instead of {datatype}", column.datatype));
        }
        for (index, cell) in found.iter_mut().enumerate() {
            let value = column.cell(index).ok_or_else(|| format!("{name}: no cell {index}"))?;
            cell.push((!column.is_null(index)).then(|| value.to_vec()));
        }
    }
    Ok(found)
}

/// Compares cells as far as the order determines their positions; in a sparse array, the
/// coordinates (their number is a parameter) come first.
pub(super) fn compare_rows(
    order: &str,
    dimensions: usize,
    mut found: Vec<Cell>,
    mut wanted: Vec<Cell>,
) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!("{} cells instead of {}", found.len(), wanted.len()));
    }
    match order {
        "canonical" => {
            found.sort();
            wanted.sort();
        }
        "layout" => {
            // Only cells with equal coordinates may be in a different order.
            for cells in [&mut found, &mut wanted] {
                let same = |a: &Cell, b: &Cell| a.get(..dimensions) == b.get(..dimensions);
                cells.chunk_by_mut(same).for_each(<[Cell]>::sort);
            }
        }
        _ => {}
    }
    match found.iter().zip(&wanted).position(|(found, wanted)| found != wanted) {
        None => Ok(()),
        Some(at) => Err(format!("cell {at} is {:?} instead of {:?}", found.get(at), wanted.get(at))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn fixture() -> (PathBuf, Value) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let expected = std::fs::read(root.join("expected/2.8.2/base_nullable_sparse.json")).unwrap();
        (root.join("arrays/2.8.2/base_nullable_sparse"), serde_json::from_slice(&expected).unwrap())
    }

    #[test]
    fn what_was_written_counts_more_than_what_libtiledb_returns_and_a_rule_must_say_why() {
        let (array, mut expected) = fixture();
        let right = expected["queries"][0].clone();
        expected["queries"] = serde_json::json!([right.clone()]);
        expected["queries"][0]["model"] = right.clone();
        let outcome = compare(&array, &expected);
        assert_eq!((outcome.equal, outcome.differing.len(), outcome.written.len()), (0, 1, 0));
        expected["queries"][0]["rules"] = serde_json::json!(["a known fault"]);
        assert_eq!(compare(&array, &expected).written, [["a known fault"]]);
        expected["queries"][0]["model"]["cells"] = 1.into();
        let outcome = compare(&array, &expected);
        assert_eq!((outcome.unlike.len(), outcome.written.len()), (1, 0));
    }

    #[test]
    fn a_fixture_is_equal_in_all_its_queries_and_facts() {
        let (array, expected) = fixture();
        let outcome = compare(&array, &expected);
        assert_eq!(outcome.equal, expected["queries"].as_array().unwrap().len());
        assert!(outcome.differing.is_empty() && outcome.facts.is_empty(), "{outcome:?}");
    }

    #[test]
    fn a_changed_cell_order_type_or_domain_is_found() {
        let (array, expected) = fixture();
        let differing = |change: &dyn Fn(&mut Value)| {
            let mut changed = expected.clone();
            change(&mut changed);
            let outcome = compare(&array, &changed);
            outcome.differing.len() + outcome.facts.len()
        };
        assert_eq!(differing(&|_| ()), 0);
        assert_eq!(differing(&|e| e["queries"][0]["cells"] = 1.into()), 1);
        assert_eq!(differing(&|e| e["queries"][0]["fields"]["k"]["type"] = "INT8".into()), 1);
        assert_eq!(differing(&|e| e["queries"][0]["fields"]["k"]["data"] = "AAAAAAAAAAAAAAAAAAAA".into()), 1);
        assert_eq!(differing(&|e| e["non_empty_domain"] = Value::Null), 1);
        assert_eq!(differing(&|e| e["metadata"] = serde_json::json!([{"key": "k", "type": "INT8"}])), 1);
    }

    #[test]
    fn a_range_query_that_contradicts_the_whole_array_is_found_out() {
        let (array, expected) = fixture();
        let ranged = expected["queries"].as_array().unwrap().iter();
        let query = ranged.clone().find(|query| !query["ranges"].is_null() && query["layout"] == "unordered");
        let query = query.expect("an unordered query with ranges").clone();
        assert_eq!(contradiction(&expected, &query), None);
        let mut other = query.clone();
        other["ranges"][0][1] = other["ranges"][0][0].clone();
        let cells = contradiction(&expected, &other).expect("fewer cells are in the smaller range");
        assert_eq!(cells.len(), 1);
        assert_eq!(check_against(&array, &expected, &other, cells), Ok(()));
        assert!(check(&array, &expected, &other).is_err());
    }

    #[test]
    fn only_sparse_fragments_of_1_x_with_dates_have_wrong_rectangles() {
        let (_, expected) = fixture();
        let with = |datatype: &str, version: u64| {
            let mut changed = expected.clone();
            changed["schema"]["dimensions"][0]["type"] = datatype.into();
            changed["fragments"][0]["version"] = version.into();
            has_old_dates(&changed)
        };
        assert!(with("DATETIME_DAY", 3));
        assert!(!with("DATETIME_DAY", 5) && !with("INT32", 3));
    }

    #[test]
    fn repeated_coordinates_are_noticed_where_they_are_not_allowed() {
        let (_, mut expected) = fixture();
        let mut query = expected["queries"][0].clone();
        assert!(!has_duplicates(&expected, &query));
        let first = query["fields"]["x"]["data"].as_str().unwrap()[..16].to_owned();
        let rest = query["fields"]["x"]["data"].as_str().unwrap()[16..].to_owned();
        // twelve bytes are sixteen letters: three coordinates, now each twice
        query["fields"]["x"]["data"] = format!("{first}{first}{}", &rest[16..]).into();
        assert!(has_duplicates(&expected, &query));
        expected["schema"]["allows_dups"] = true.into();
        assert!(!has_duplicates(&expected, &query));
    }

    #[test]
    fn the_same_question_is_found_in_another_reading() {
        let (_, expected) = fixture();
        let queries = expected["queries"].as_array().unwrap();
        assert_eq!(same_query(&queries[1], &expected), Some(&queries[1]));
        let mut other = queries[1].clone();
        other["layout"] = "diagonal".into();
        assert_eq!(same_query(&other, &expected), None);
    }
}
