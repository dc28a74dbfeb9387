//! Conditions as people write them, and stored ones in words.

use tdb_array::error::ConditionError;
use tdb_array::query::{Operand, QueryCondition};
use tdb_codec::CellValNum;
use tdb_fragment::{Comparison, Condition, Junction};
use tdb_schema::{ArraySchema, Field};

use crate::parse::date_span;
use crate::value::{cell_text, escape_bytes, hex_text};

/// Parses a condition, with dates of date fields in quotes: they mean all that is inside of them,
/// such as the seconds of a day.
///
/// # Errors
/// The fault, and its place in the text.
pub fn parse(text: &str, schema: &ArraySchema) -> Result<QueryCondition, ConditionError> {
    with_dates(QueryCondition::parse(text)?, schema)
}

/// The condition with ticks instead of texts where a field of dates is compared. A text such as
/// `2020-02` is all of what it names: `<` is before it, `<=` up to its end, `>` after it, `>=` from
/// its beginning on, `=` and `in` inside of it.
///
/// # Errors
/// A text that is not a date of the field's unit.
pub fn with_dates(condition: QueryCondition, schema: &ArraySchema) -> Result<QueryCondition, ConditionError> {
    condition.map_operands(|name, operand| match (schema.field(name), operand) {
        (Some(field), Operand::Bytes(date)) if field.datatype.is_datetime() => {
            let (first, last) = date_span(field.datatype, &String::from_utf8_lossy(date))?;
            Ok(Some(Operand::Int(first.into())..=Operand::Int(last.into())))
        }
        _ => Ok(None),
    })
}

/// A condition as stored in a file: `a <= 20 and (b = 3 or b = 4)`. The file does not contain the
/// types of the operands; those of fields that the schema does not have are shown in hexadecimal.
pub fn text(condition: &Condition, schema: Option<&ArraySchema>) -> String {
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
