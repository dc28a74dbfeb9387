//! Conditions on the command line: what is wrong with them, and where.

use std::path::Path;

use tdb_array::error::{ConditionError, QueryError};

use crate::failure::{Failure, hint_of_condition};

/// An error of opening or reading an array; for an error in the text of `--where`, also shows the
/// position.
pub(crate) fn failed(array: &Path, text: Option<&str>, error: tdb_array::Error) -> Failure {
    match error {
        tdb_array::Error::Query(QueryError::Condition(error)) => bad(array, text.unwrap_or_default(), &error),
        error => Failure::of_array(array, error),
    }
}

/// An error in the text of `--where`.
pub(crate) fn bad(array: &Path, text: &str, error: &ConditionError) -> Failure {
    let dates = if is_in_date(text, error.offset()) { "; dates must be in quotes" } else { "" };
    let what = format!("{error}{}{dates}", hint_of_condition(error));
    Failure::at_column(array, "--where", text, error.column(), what)
}

/// Whether an error is about the part `-01-01` of a date such as `2020-01-01` that is not in
/// quotes.
fn is_in_date(text: &str, offset: Option<usize>) -> bool {
    let Some((before, rest)) = offset.and_then(|offset| text.split_at_checked(offset)) else { return false };
    let digits =
        |text: &str, count: usize| text.bytes().take(count).filter(u8::is_ascii_digit).count() == count;
    let year = before.len().checked_sub(4).and_then(|start| before.get(start..));
    year.is_some_and(|year| digits(year, 4)) && rest.strip_prefix('-').is_some_and(|month| digits(month, 2))
}
