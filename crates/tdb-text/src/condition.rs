//! Conditions as people write them, and stored ones in words.

use core::ops::RangeInclusive;

use tdb_array::error::ConditionError;
use tdb_array::query::{Operand, QueryCondition};
use tdb_codec::{CellValNum, DatatypeClass};
use tdb_fragment::{Comparison, Condition, Junction};
use tdb_schema::{ArraySchema, Field, FieldKind};

use crate::parse::{date_span, parse_integer};
use crate::value::{cell_text, escape_bytes, hex_text};

/// Parses a condition, with dates of date fields in quotes: they mean all that is inside of them,
/// such as the seconds of a day. A number between two integers is compared with a field of integers
/// as what it is: `k > 1.5` begins with 2, and `k = 1.5` holds for no cell.
///
/// # Errors
/// The fault, and its place in the text.
pub fn parse(text: &str, schema: &ArraySchema) -> Result<QueryCondition, ConditionError> {
    with_fractions(with_dates(QueryCondition::parse(text)?, schema)?, schema)
}

/// The condition with the integers beside it instead of a number between two of them, where a field
/// of integers is compared. Such a number stands for no value: what is less than it is less than
/// the integer above, and what is greater is greater than the one below.
fn with_fractions(condition: QueryCondition, schema: &ArraySchema) -> Result<QueryCondition, ConditionError> {
    condition.map_operands(|name, operand| {
        let field = schema.field(name).filter(|field| is_integer(schema, field));
        let (Some(field), Operand::Float(_) | Operand::Decimal(_)) = (field, operand) else {
            return Ok(None);
        };
        let Some((below, above)) = beside(&operand.to_string()) else { return Ok(None) };
        let fits = |value: i128| matches!(parse_integer(field.datatype, &value.to_string()), Ok(Some(_)));
        if !(fits(below) && fits(above)) {
            let datatype = field.datatype;
            return Err(format!("{operand} does not fit field \"{name}\" of type {datatype}"));
        }
        Ok(Some(RangeInclusive::new(Operand::Int(above), Operand::Int(below))))
    })
}

/// Whether the values of a field are integers, and not the codes of an enumeration.
fn is_integer(schema: &ArraySchema, field: &Field<'_>) -> bool {
    let has_codes = match field.kind {
        FieldKind::Attribute(index) => {
            schema.attributes.get(index).is_some_and(|attribute| attribute.enumeration.is_some())
        }
        FieldKind::Dimension(_) => false,
    };
    field.datatype.class() == DatatypeClass::Integer && !has_codes
}

/// The integers below and above a number as it is written; `None` for an integer, for one that is
/// too large, and for what is no number.
fn beside(text: &str) -> Option<(i128, i128)> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{behind}");
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // So many digits are before the point.
    let point = i64::try_from(before.len()).ok()?.checked_add(exponent.into())?;
    let point = usize::try_from(point.max(0)).ok()?;
    let (whole, fraction) = digits.split_at_checked(point)?;
    if fraction.bytes().all(|digit| digit == b'0') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let next = whole.checked_add(1)?;
    Some(if negative { (next.checked_neg()?, whole.checked_neg()?) } else { (whole, next) })
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

/// What a delete removes, in words: the stored condition says which cells it keeps. Cells for which
/// that is unknown, because a value is null or NaN, or older than the field, are removed, too.
pub fn removed_text(kept: &Condition, schema: Option<&ArraySchema>) -> String {
    let unknown = if may_be_unknown(kept, schema) { ", or unknown" } else { "" };
    format!("{}{unknown}", text(&negated(kept), schema))
}

fn negated(condition: &Condition) -> Condition {
    match condition {
        Condition::Value { field, comparison, operands } => Condition::Value {
            field: field.clone(),
            comparison: comparison.negated(),
            operands: operands.clone(),
        },
        Condition::Expression { junction: Junction::Not, children } => match children.as_slice() {
            [child] => child.clone(),
            _ => Condition::Expression { junction: Junction::Or, children: children.clone() },
        },
        Condition::Expression { junction, children } => Condition::Expression {
            junction: if *junction == Junction::And { Junction::Or } else { Junction::And },
            children: children.iter().map(negated).collect(),
        },
    }
}

/// Whether the schema allows cells for which a condition is unknown.
fn may_be_unknown(condition: &Condition, schema: Option<&ArraySchema>) -> bool {
    match condition {
        Condition::Expression { children, .. } => children.iter().any(|child| may_be_unknown(child, schema)),
        Condition::Value { field, .. } => {
            let own = schema.and_then(|schema| schema.field(field));
            own.is_none_or(|own| own.nullable || own.datatype.physical().is_float())
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

#[cfg(test)]
mod tests {
    use tdb_codec::Datatype;
    use tdb_schema::{Attribute, Dimension};

    use super::*;

    #[test]
    fn the_integers_beside_a_number_are_exact() {
        for (text, expected) in [
            ("1.5", Some((1, 2))),
            ("-1.5", Some((-2, -1))),
            ("-0.5", Some((-1, 0))),
            (".5", Some((0, 1))),
            ("1e-7", Some((0, 1))),
            ("12.5e1", None),
            ("12.55e1", Some((125, 126))),
            ("9007199254740993.5", Some((9_007_199_254_740_993, 9_007_199_254_740_994))),
            ("1.00000000000000000000000001", Some((1, 2))),
            ("2.0", None),
            ("1e300", None),
            ("inf", None),
            ("nan", None),
        ] {
            assert_eq!(beside(text), expected, "{text}");
        }
    }

    #[test]
    fn a_number_between_two_integers_is_compared_exactly() {
        let one = |name: &str, datatype| Attribute::new(name, datatype, CellValNum::ONE);
        let schema = ArraySchema::sparse()
            .dimension(Dimension::new("x", 0i32..=99))
            .attribute(one("k", Datatype::Int8))
            .attribute(one("r", Datatype::Float64))
            .attribute(one("t", Datatype::DatetimeDay))
            .build()
            .unwrap();
        let shown = |text: &str| parse(text, &schema).map(|condition| condition.to_string());
        for (text, expected) in [
            ("k > 1.5", "k > 1"),
            ("k >= 1.5", "k >= 2"),
            ("k < -1.5", "k < -1"),
            ("k <= -1.5", "k <= -2"),
            ("k = 1.5", "k >= 2 and k <= 1"),
            ("k != 1.5", "k < 2 or k > 1"),
            ("k in (1, 1.5)", "k in (1) or (k >= 2 and k <= 1)"),
            ("x between 0.5 and 2.5", "x >= 1 and x <= 2"),
            ("k > 1.0", "k > 1.0"),
            ("r > 1.5", "r > 1.5"),
            ("t > 1.5", "t > 1.5"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        let error = shown("k < 127.5").unwrap_err();
        assert_eq!(error.to_string(), "column 5: 127.5 does not fit field \"k\" of type INT8");
    }
}
