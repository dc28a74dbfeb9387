//! Compares tdb's answer to a query with libtiledb's answer.

use std::path::Path;

use serde_json::Value;
use tdb_array::error::QueryError;
use tdb_array::query::{Aggregate, AggregateFunction, AggregateValue};
use tdb_array::schema::{ArrayType, CellValNum};
use tdb_array::stored::Fragment;
use tdb_array::{Array, Error, MemoryBudget};
use tdb_schema::Dimension;

use super::{groups, question};
use crate::conform::expected::{compare_rows, open, rows};
use crate::conform::form::{Cell, hex, list, text, wanted_cells};

/// libtiledb returns a cell once for every range that contains it; the peer found this by querying
/// the joined ranges.
const REPEATED: &str = "\"Several ranges\": cells come twice that lie in two ranges";
/// libtiledb's aggregate of some cells is not the one that follows from the cells it returns for
/// the same query; tdb's value is.
const AGGREGATES: &str = "\"Aggregates\": a value that contradicts its own cells";
/// In a dense array, the cells for which `is null` is true are not the null cells that it returns
/// without a condition; tdb's are.
const NULLS: &str = "\"Tile statistics\": `is null` by wrong counts of nulls in a dense array";
/// The same for any nullable field, if the query's order is not the array's cell order: libtiledb
/// uses the validity of neighbouring cells in the tile.
const ACROSS: &str = "\"Tile statistics\": `is null` of a dense array across the order of its cells";
/// In a dense array with sparse fragments, libtiledb's result differs from its own result for one
/// range in row-major order; tdb's does not.
const MIXED: &str = "\"Sparse fragments in dense arrays\": several ranges, or another order";
/// For several ranges of strings, it returns cells that are in none of them.
const OUTSIDE: &str = "\"Several ranges\": cells outside all ranges of strings";
/// In row- or column-major reads, it cuts a range of strings in two by their bytes as signed
/// numbers.
const HALVES: &str = "\"Several ranges\": one range of strings with bytes from 0x80 on is cut in two";
/// In row- or column-major reads, null cells compare as different from a value that is not in the
/// enumeration.
const UNKNOWN: &str = "\"A value that an enumeration does not have\" differs from null";
/// Some schemas of a time window have a smaller current domain, and both refuse ranges outside it.
const OUTSIDE_CURRENT: &str = "outside of the current domain";
/// Faults in which the result depends on accidents of merging and sorting: fragments of strings
/// with bytes from 0x80 on are merged in another order than they are stored in, and so are ties of
/// a Hilbert order; of a cell that was written twice at the same time, either one is returned;
/// values that are read as a wider type contain bytes from memory.
const ACCIDENTS: [&str; 5] = [
    "\"Order of string coordinates\"",
    "\"Ties of a Hilbert order, libtiledb 2.2 to 2.22\"",
    "\"Fragments of the same first timestamp\"",
    "\"Attributes whose type changed\"",
    "\"Versions of a cell, libtiledb 2.10 and 2.11\"",
];
/// Dense fragments are consolidated in tiles that are cut at the current domain and contain too few
/// cells: reading them fails, or cells are at wrong positions.
const CUT: &str = "\"Consolidation within a current domain\"";
/// A release up to 2.2 stored fewer tiles than the boxes cover.
const LOST: &str = "\"Old versions\": up to 2.2 it computes places in dense arrays in floating point";
/// For a value of no cells, it leaves arbitrary bytes.
const NO_CELLS: &str = "an aggregate of no cells that is not null has some value";

/// The outcome of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Equal {
        cells: u64,
        batches: u64,
        /// The known fault in libtiledb's answer; tdb's answer is correct.
        known: Option<String>,
    },
    /// libtiledb does not answer; tdb's answer is what was written, as far as that is known.
    Refused(String),
    Differs(String),
}

/// Runs the query of a case with tdb, and compares.
pub(super) fn judge(path: &Path, case: &Value, query: &Value) -> Verdict {
    match compare(path, case, query) {
        Ok(verdict) => verdict,
        Err(difference) => Verdict::Differs(difference),
    }
}

fn compare(path: &Path, case: &Value, query: &Value) -> Result<Verdict, String> {
    let array = open(path, case, query)?;
    let failed = |error: Error| format!("tdb fails: {error}");
    let refused = query.get("refused").map(|_| text(query, "refused"));
    // Neither the steps nor libtiledb determine the correct answer.
    let mut rules = list(query, "rules").iter().filter_map(Value::as_str);
    let accident = rules.find(|rule| ACCIDENTS.contains(rule));
    let undecided = accident.or_else(|| is(query, "cut").then_some(CUT));
    let undecided = undecided.or_else(|| is(query, "lost").then_some(LOST));
    let undecided = undecided.filter(|_| refused.is_none() && !is(query, "decided"));
    // What libtiledb makes of tiles with too few cells is an error, or it has cells in other
    // places; tdb refuses them.
    let cut = is(query, "cut") && (refused.is_some() || undecided == Some(CUT));
    let of_cut = || Ok(Verdict::Refused(format!("{CUT}: {}", refused.unwrap_or("cells in other places"))));
    let ask = || question::read(&array, query);
    if !list(query, "aggregates").is_empty() {
        let found = ask()?.aggregate(question::aggregates(query)?);
        if matches!(found, Err(Error::Corrupt { .. })) && cut {
            return of_cut();
        }
        if matches!(found, Err(Error::Corrupt { .. })) && is(query, "lost") {
            return Ok(Verdict::Refused(LOST.to_owned()));
        }
        if let Some(why) = refused {
            match found {
                Err(Error::Query(QueryError::OutsideDomain { .. })) if why.contains(OUTSIDE_CURRENT) => {}
                found => drop(found.map_err(failed)?),
            }
            return Ok(Verdict::Refused(why.to_owned()));
        }
        let found = found.map_err(failed)?;
        if let Some(why) = undecided {
            return Ok(Verdict::Equal { cells: 0, batches: 0, known: Some(format!("{why}: not decided")) });
        }
        for how in [How::Least, How::Small(64)] {
            let again = allowed(how, repeats(&array), |budget| {
                let read = question::read(&array, query)?;
                let read = match how {
                    How::Least => read.memory(budget),
                    How::Small(_) => read.batch_memory(budget),
                };
                Ok(read.aggregate(question::aggregates(query)?)?)
            })?;
            let other = found.iter().zip(&again).find(|(one, other)| !same(one, other.bytes()));
            if let Some((one, other)) = other {
                let (aggregate, one, other) = (&one.aggregate, one.bytes(), other.bytes());
                return Err(format!("{aggregate} is {one:?}, and in parts ({how:?}) {other:?}"));
            }
        }
        return values(&array, query, &found);
    }
    let cells = match ask()?.collect() {
        Err(Error::Query(QueryError::OutsideDomain { .. }))
            if refused.is_some_and(|why| why.contains(OUTSIDE_CURRENT)) =>
        {
            return Ok(Verdict::Refused(refused.unwrap_or_default().to_owned()));
        }
        Err(Error::Corrupt { .. }) if cut => return of_cut(),
        Err(Error::Corrupt { .. }) if is(query, "lost") => return Ok(Verdict::Refused(LOST.to_owned())),
        cells => cells.map_err(failed)?,
    };
    if let Some(why) = undecided {
        let cells = tdb_codec::to_u64(cells.len());
        return Ok(Verdict::Equal { cells, batches: 0, known: Some(format!("{why}: not decided")) });
    }
    let (mut order, dimensions) = (text(query, "order"), array.schema().domain.dimensions.len());
    let mut known = None;
    let answer = match (refused, query.get("model").filter(|_| is(query, "written"))) {
        (Some(why), None) => return Ok(Verdict::Refused(why.to_owned())),
        (_, Some(written)) => {
            if array.schema().array_type == ArrayType::Sparse && text(query, "layout") == "global-order" {
                // The written cells do not determine the order of the result.
                order = "canonical";
            }
            written
        }
        (None, None) => query,
    };
    let wanted = wanted_cells(answer)?;
    let count = tdb_codec::to_u64(wanted.len());
    let found = rows(&cells, fields(answer))?;
    let wanted = match (compare_rows(order, dimensions, found.clone(), wanted.clone()), query.get("model")) {
        (Ok(()), Some(_)) if is(query, "written") && refused.is_none() => {
            known =
                Some(own_fault(&array, query).ok_or("libtiledb does not return what was written, tdb does")?);
            wanted
        }
        (Ok(()), _) => wanted,
        (Err(error), Some(_)) if is(query, "written") => {
            return Err(format!("{error}, which was written; libtiledb does not return it either"));
        }
        (Err(error), Some(model)) => {
            known = Some(own_fault(&array, query).ok_or_else(|| contradicting(&error))?);
            let wanted = wanted_cells(model)?;
            compare_rows(order, dimensions, found, wanted.clone())?;
            wanted
        }
        (Err(error), None) => return Err(error),
    };
    if known.is_none() && is(query, "repeats") {
        known = Some(REPEATED.to_owned());
    }
    let bytes: usize = cells.columns().iter().map(|column| column.bytes().len()).sum();
    let mut batches = 0;
    for how in [How::Least, How::Small(tdb_codec::to_u64(bytes))] {
        let (found, count) = batched(&array, query, answer, how)?;
        compare_rows(order, dimensions, found, wanted.clone())
            .map_err(|error| format!("in {count} batches ({how:?}), {error}"))?;
        batches = count;
    }
    if array.schema().array_type == ArrayType::Sparse {
        groups::check(&ask()?, &cells)?;
    }
    match refused {
        Some(why) => Ok(Verdict::Refused(why.to_owned())),
        None => Ok(Verdict::Equal { cells: count, batches, known }),
    }
}

fn is(query: &Value, what: &str) -> bool {
    query.get(what).and_then(Value::as_bool) == Some(true)
}

fn contradicting(error: &str) -> String {
    format!("{error} (libtiledb contradicts its own cells)")
}

/// The known fault of libtiledb for such a query, according to schema and history, if its answer is
/// not what was written or what follows from its own cells.
fn own_fault(array: &Array, query: &Value) -> Option<String> {
    let rules: Vec<&str> = list(query, "rules").iter().filter_map(Value::as_str).collect();
    if rules.is_empty() {
        return by_query(array, query).map(str::to_owned);
    }
    Some(rules.join("; "))
}

fn by_query(array: &Array, query: &Value) -> Option<&'static str> {
    let schema = array.schema();
    let condition = query.get("condition").unwrap_or(&Value::Null);
    let several_of_text = |(dimension, ranges): (&Dimension, &Value)| {
        dimension.cell_val_num == CellValNum::Var && ranges.as_array().is_some_and(|ranges| ranges.len() > 1)
    };
    if schema.domain.dimensions.iter().zip(list(query, "ranges")).any(several_of_text) {
        return Some(OUTSIDE);
    }
    if schema.array_type == ArrayType::Sparse {
        let ordered = ["row-major", "col-major"].contains(&text(query, "layout"));
        let beyond_ascii =
            |end: &Value| end.as_str().is_some_and(|end| hex(end).is_ok_and(|end| !end.is_ascii()));
        // Where cells lie outside the current domain, it is the range of a dimension that has none.
        let is_cut = (0..schema.domain.dimensions.len()).any(|at| !array.is_inside_current_domain(at));
        let current = schema.current_domain.as_ref().filter(|_| is_cut);
        let of_such_text = |(at, (dimension, ranges)): (usize, (&Dimension, &Value))| {
            let own = current.and_then(|current| current.ranges.get(at));
            let mut ends =
                ranges.as_array().into_iter().flatten().filter_map(Value::as_array).flatten().peekable();
            let beyond = match ends.peek() {
                Some(_) => ends.any(beyond_ascii),
                None => own.is_some_and(|own| !own.low.is_ascii() || !own.high.is_ascii()),
            };
            dimension.cell_val_num == CellValNum::Var && beyond
        };
        let dimensions = schema.domain.dimensions.iter().zip(list(query, "ranges"));
        if ordered && dimensions.enumerate().any(of_such_text) {
            return Some(HALVES);
        }
        let enumerated =
            |name: &str| schema.attribute(name).is_some_and(|own| own.nullable && own.enumeration.is_some());
        return (ordered && question::tests(condition).into_iter().any(|(name, _)| enumerated(name)))
            .then_some(UNKNOWN);
    }
    if is(query, "mixed") {
        return Some(MIXED);
    }
    let tests = question::tests(condition).into_iter();
    let names: Vec<&str> = tests.filter_map(|(name, null)| null.then_some(name)).collect();
    let nullable = || names.iter().filter_map(|name| schema.field(name)).filter(|field| field.nullable);
    let across = ["row-major", "col-major"].contains(&text(query, "layout"))
        && text(query, "layout") != schema.cell_order.name();
    if nullable().any(|field| field.cell_val_num == CellValNum::Var) {
        Some(NULLS)
    } else if across && nullable().next().is_some() {
        Some(ACROSS)
    } else {
        None
    }
}

/// Names and types of the answer's fields.
fn fields(query: &Value) -> impl Iterator<Item = (&str, &str)> {
    let fields = query.get("fields").and_then(Value::as_object).into_iter().flatten();
    fields.map(|(name, field)| (name.as_str(), text(field, "type")))
}

/// The memory budget for batches.
#[derive(Clone, Copy, Debug)]
enum How {
    /// The smallest budget that works for the whole query.
    Least,
    /// This many bytes for the cells of a batch, or the smallest larger budget that works.
    Small(u64),
}

/// The query's cells, read in batches, and the number of batches.
fn batched(array: &Array, query: &Value, answer: &Value, how: How) -> Result<(Vec<Cell>, u64), String> {
    allowed(how, repeats(array), |budget| {
        let read = question::read(array, query)?;
        let read = match how {
            How::Least => read.memory(budget),
            How::Small(_) => read.batch_memory(budget),
        };
        let (mut found, mut count) = (Vec::new(), 0u64);
        for batch in read.batches()? {
            found.extend(rows(&batch?, fields(answer))?);
            count = count.saturating_add(1);
        }
        Ok((found, count))
    })
}

/// Whether several cells of a fragment may have the same coordinates.
fn repeats(array: &Array) -> bool {
    let history = |fragment: &std::sync::Arc<Fragment>| fragment.timestamps().0 != fragment.timestamps().1;
    array.schema().allows_duplicates || array.fragments().iter().any(history)
}

/// The result of `ask` with this budget, or with the smallest larger one that works. The budget
/// that is reported as the smallest for a whole query must work, unless coordinates repeat: no
/// metadata contains how often they do.
fn allowed<T>(
    how: How,
    repeats: bool,
    mut ask: impl FnMut(MemoryBudget) -> Result<T, Stop>,
) -> Result<T, String> {
    let mut budget = MemoryBudget::from_bytes(match how {
        How::Least => 1,
        How::Small(bytes) => bytes.max(1),
    });
    let mut named = false;
    loop {
        match ask(budget) {
            Ok(found) => return Ok(found),
            Err(Stop::Error(Error::Query(QueryError::BudgetTooSmall { min, .. }))) if min > budget => {
                if matches!(how, How::Least) && named && !repeats {
                    return Err(format!("{budget} was named as the least that works, and then {min}"));
                }
                (budget, named) = (min, true);
            }
            Err(Stop::Error(error)) => return Err(format!("within {budget}, tdb fails: {error}")),
            Err(Stop::Text(text)) => return Err(format!("within {budget}, {text}")),
        }
    }
}

/// Why batches end early.
enum Stop {
    Error(Error),
    Text(String),
}

impl From<String> for Stop {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Compares aggregates.
fn values(array: &Array, query: &Value, found: &[AggregateValue]) -> Result<Verdict, String> {
    let theirs = list(query, "values");
    if theirs.len() != found.len() {
        return Err(format!("{} aggregates instead of {}", found.len(), theirs.len()));
    }
    let mut known = None;
    for (place, (mine, theirs)) in found.iter().zip(theirs).enumerate() {
        let theirs = value(theirs)?;
        if same(mine, theirs.as_deref()) {
            continue;
        }
        let nullable = |aggregate: &Aggregate| {
            aggregate.field().and_then(|name| array.schema().field(name)).is_some_and(|field| field.nullable)
        };
        let truth = list(query, "truth").get(place).map(value).transpose()?;
        if mine.is_null()
            && !nullable(&mine.aggregate)
            && theirs.is_some()
            && truth.as_ref().is_none_or(Option::is_none)
        {
            known = known.or_else(|| Some(NO_CELLS.to_owned()));
        } else if truth.as_ref().is_some_and(|truth| same(mine, truth.as_deref())) {
            known = Some(AGGREGATES.to_owned());
        } else {
            let (aggregate, bytes) = (&mine.aggregate, mine.bytes());
            return Err(format!(
                "{aggregate} is {bytes:?} instead of {theirs:?}; by libtiledb's cells {truth:?}"
            ));
        }
    }
    Ok(Verdict::Equal { cells: 0, batches: 0, known })
}

fn value(text: &Value) -> Result<Option<Vec<u8>>, String> {
    text.as_str().map(hex).transpose()
}

/// Whether two values are equal; sums and means of reals depend on the order of cells and need to
/// be only nearly equal.
fn same(mine: &AggregateValue, theirs: Option<&[u8]>) -> bool {
    if mine.bytes() == theirs {
        return true;
    }
    let added = matches!(mine.aggregate.function(), AggregateFunction::Sum | AggregateFunction::Mean);
    let real = |bytes: &[u8]| bytes.try_into().ok().map(f64::from_le_bytes);
    match (mine.bytes().and_then(real), theirs.and_then(real)) {
        (Some(mine_real), Some(theirs)) if added && mine.datatype.physical().is_float() => {
            near(mine_real, theirs)
        }
        _ => false,
    }
}

fn near(a: f64, b: f64) -> bool {
    let close = a.is_finite() && b.is_finite() && (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
    // If a sum exceeds the largest number on the way, its result depends on the order of summation.
    let past = |value: f64| !value.is_finite() || value.abs() > f64::MAX / 4.0;
    a == b || (a.is_nan() && b.is_nan()) || close || (past(a) && past(b))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A fixture, and the query for all its cells with libtiledb's answer.
    fn whole() -> (std::path::PathBuf, Value) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let expected = std::fs::read(root.join("expected/2.8.2/base_nullable_sparse.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let mut query = expected["queries"][0].clone();
        query["ranges"] = json!([[]]);
        query["aggregates"] = json!([]);
        (root.join("arrays/2.8.2/base_nullable_sparse"), query)
    }

    #[test]
    fn an_answer_is_equal_as_a_whole_and_in_batches_and_a_changed_one_is_not() {
        let (path, mut query) = whole();
        let Verdict::Equal { cells, batches, known } = judge(&path, &Value::Null, &query) else {
            panic!("it differs")
        };
        assert_eq!((cells, known), (query["cells"].as_u64().unwrap(), None));
        assert!(batches >= 1);
        query["repeats"] = true.into();
        assert!(
            matches!(judge(&path, &Value::Null, &query), Verdict::Equal { known: Some(known), .. } if known == REPEATED)
        );
        query["condition"] = json!(["k", "==", "00", "UINT8"]);
        assert!(matches!(judge(&path, &Value::Null, &query), Verdict::Differs(_)));
        query["refused"] = "no".into();
        assert_eq!(judge(&path, &Value::Null, &query), Verdict::Refused("no".into()));
        query["condition"] = json!(["none", "==", "00", "UINT8"]);
        assert!(matches!(judge(&path, &Value::Null, &query), Verdict::Differs(_)));
    }

    #[test]
    fn what_was_written_must_come_and_a_rule_says_why_libtiledb_returns_something_else() {
        let (path, mut query) = whole();
        query["written"] = true.into();
        query["model"] = query.clone();
        assert!(matches!(judge(&path, &Value::Null, &query), Verdict::Differs(_)));
        query["rules"] = json!(["a known fault"]);
        assert!(
            matches!(judge(&path, &Value::Null, &query), Verdict::Equal { known: Some(why), .. } if why == "a known fault")
        );
        query["refused"] = "no".into();
        assert_eq!(judge(&path, &Value::Null, &query), Verdict::Refused("no".into()));
        query["model"]["cells"] = 1.into();
        assert!(matches!(judge(&path, &Value::Null, &query), Verdict::Differs(_)));
    }

    #[test]
    fn an_aggregate_is_equal_or_a_fault_that_libtiledbs_own_cells_prove() {
        let (path, mut query) = whole();
        let count = hex_of(query["cells"].as_u64().unwrap());
        query["aggregates"] = json!([["count", null]]);
        let mut told = |values: Value, truth: Value| {
            query["values"] = values;
            query["truth"] = truth;
            judge(&path, &Value::Null, &query)
        };
        let equal = |known| Verdict::Equal { cells: 0, batches: 0, known };
        assert_eq!(told(json!([count]), Value::Null), equal(None));
        assert_eq!(told(json!([hex_of(1)]), json!([count])), equal(Some(AGGREGATES.to_owned())));
        assert!(matches!(told(json!([hex_of(1)]), json!([hex_of(1)])), Verdict::Differs(_)));
        assert!(matches!(told(json!([hex_of(1)]), Value::Null), Verdict::Differs(_)));
        assert!(matches!(told(json!([]), Value::Null), Verdict::Differs(_)));
    }

    fn hex_of(value: u64) -> String {
        value.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn reals_are_compared_up_to_the_order_of_additions() {
        assert!(near(0.1 + 0.2, 0.3) && near(f64::NAN, f64::NAN) && near(f64::INFINITY, f64::INFINITY));
        assert!(near(f64::NAN, f64::NEG_INFINITY) && near(f64::MAX, f64::INFINITY));
        assert!(!near(1.0, 1.001) && !near(f64::INFINITY, 1.0) && !near(f64::NAN, 1.0));
    }
}
