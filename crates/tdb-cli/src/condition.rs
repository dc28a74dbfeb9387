//! Conditions on the command line, and stored conditions in words.

use std::path::Path;

use tdb_array::{ConditionError, Operand, QueryCondition, QueryError};
use tdb_codec::CellValNum;
use tdb_fragment::{Comparison, Condition, Junction};
use tdb_schema::{ArraySchema, Field};

use crate::failure::{Failure, hint_of_condition};
use crate::ranges::date_ticks;
use crate::value::{cell_text, escape_bytes, hex_text};

/// Parses `--where`: a condition, with dates of date fields in quotes.
pub(crate) fn parse(text: &str, schema: &ArraySchema) -> Result<QueryCondition, ConditionError> {
    QueryCondition::parse(text)?.map_operands(|name, operand| match (schema.field(name), operand) {
        (Some(field), Operand::Bytes(date)) if field.datatype.is_datetime() => {
            let ticks = date_ticks(field.datatype, &String::from_utf8_lossy(date))?;
            Ok(Some(Operand::Int(ticks.into())))
        }
        _ => Ok(None),
    })
}

/// An error of opening or reading an array; for an error in the text of `--where`, also shows the position.
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

/// Whether an error is about the part `-01-01` of a date such as `2020-01-01` that is not in quotes.
fn is_in_date(text: &str, offset: Option<usize>) -> bool {
    let Some((before, rest)) = offset.and_then(|offset| text.split_at_checked(offset)) else { return false };
    let digits =
        |text: &str, count: usize| text.bytes().take(count).filter(u8::is_ascii_digit).count() == count;
    let year = before.len().checked_sub(4).and_then(|start| before.get(start..));
    year.is_some_and(|year| digits(year, 4)) && rest.strip_prefix('-').is_some_and(|month| digits(month, 2))
}

/// A condition as stored in a file: `a <= 20 and (b = 3 or b = 4)`. The file does not contain the types of the
/// operands; those of fields that the schema does not have are shown in hexadecimal.
pub(crate) fn text(condition: &Condition, schema: Option<&ArraySchema>) -> String {
    let text = |child: &Condition| text(child, schema);
    match condition {
        Condition::Expression { junction, children } => {
            let word = match junction {
                Junction::And => " and ",
                Junction::Or => " or ",
                Junction::Not => {
                    return children.first().map_or(String::new(), |child| format!("not ({})", text(child)));
                }
            };
            let part = |child: &Condition| match child {
                Condition::Value { .. } => text(child),
                Condition::Expression { .. } => format!("({})", text(child)),
            };
            children.iter().map(part).collect::<Vec<_>>().join(word)
        }
        Condition::Value { field, comparison, operands } => {
            let sign = comparison.sign();
            if matches!(comparison, Comparison::AlwaysTrue | Comparison::AlwaysFalse) {
                return sign.to_owned();
            }
            let known = schema.and_then(|schema| schema.field(field));
            let shown: Vec<String> =
                operands.iter().map(|operand| operand_text(operand, known.as_ref())).collect();
            let shown =
                if comparison.takes_list() { format!("({})", shown.join(", ")) } else { shown.join(", ") };
            format!("{} {sign} {shown}", escape_bytes(field.as_bytes()))
        }
    }
}

fn operand_text(operand: &[u8], field: Option<&Field<'_>>) -> String {
    match field {
        _ if operand.is_empty() => "null or empty".to_owned(),
        Some(field) => {
            let single = operand.len() == field.datatype.size();
            cell_text(field.datatype, if single { CellValNum::ONE } else { CellValNum::Var }, operand)
        }
        None => format!("0x{}", hex_text(operand)),
    }
}
