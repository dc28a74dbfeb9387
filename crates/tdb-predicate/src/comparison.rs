//! Tests of single cells: a comparison, and the bytes of its operands.

use core::cmp::Ordering;

use tdb_codec::{CellValNum, Datatype, Physical};
use tdb_fragment::Comparison;

use crate::expression::Pattern;

/// A test of one cell of a field.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// Always has this result, also for null.
    Always(bool),
    /// The cell is null, or is not.
    Null(bool),
    /// The cell is NaN, or is neither NaN nor null.
    Nan { is: bool, physical: Physical },
    /// A comparison with a number.
    Number { comparison: Comparison, operand: Vec<u8>, physical: Physical },
    /// A comparison of bytes; `string` if that is how the field's values are ordered.
    Bytes { comparison: Comparison, operand: Vec<u8>, string: bool },
    /// The cell's text is like the pattern, or is not; `padded` if zero bytes fill it up.
    Like { pattern: Pattern, is: bool, padded: bool },
    /// The cell's bytes are in the list (sorted), or are not; `physical` for numbers.
    List { is_in: bool, operands: Vec<Vec<u8>>, physical: Option<Physical> },
}

impl Test {
    /// A comparison as it is stored in a file.
    pub(super) fn stored(
        comparison: Comparison,
        operands: &[Vec<u8>],
        datatype: Datatype,
        cells: CellValNum,
    ) -> Self {
        let string = is_text(datatype);
        let Some(operand) = operands.first().filter(|_| !comparison.takes_list()) else {
            return Self::new(comparison, operands.to_vec(), string, datatype);
        };
        // An operand without bytes means null if a value cannot be empty. Nothing is less or
        // greater than null, but text is compared with the empty string then.
        if operand.is_empty() && !cells.is_var() {
            match comparison {
                Comparison::Equal => return Self::Null(true),
                Comparison::NotEqual => return Self::Null(false),
                Comparison::AlwaysTrue => return Self::Always(true),
                _ if !string => return Self::Always(false),
                // Other comparisons of text go on.
                _ => {}
            }
        }
        let text = string || cells.is_var() || operand.len() != datatype.size();
        Self::new(comparison, vec![operand.clone()], text, datatype)
    }

    /// A comparison with an operand that is already in the bytes of the field.
    pub(super) fn new(
        comparison: Comparison,
        mut operands: Vec<Vec<u8>>,
        text: bool,
        datatype: Datatype,
    ) -> Self {
        match comparison {
            Comparison::AlwaysTrue => Self::Always(true),
            Comparison::AlwaysFalse => Self::Always(false),
            Comparison::In | Comparison::NotIn => {
                operands.sort_unstable();
                operands.dedup();
                let physical = (!text).then(|| datatype.physical());
                Self::List { is_in: comparison == Comparison::In, operands, physical }
            }
            _ => match operands.pop() {
                None => Self::Always(false),
                Some(operand) if text => Self::Bytes { comparison, operand, string: is_text(datatype) },
                Some(operand) => Self::Number { comparison, operand, physical: datatype.physical() },
            },
        }
    }
}

/// Whether values are compared as bytes.
pub(super) fn is_text(datatype: Datatype) -> bool {
    datatype.is_string() || datatype == Datatype::Char
}

/// Whether a comparison holds for values with this ordering; `None` if one is a NaN.
pub(crate) fn holds(comparison: Comparison, ordering: Option<Ordering>) -> bool {
    match comparison {
        Comparison::Less => ordering == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => ordering == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        Comparison::Equal => ordering == Some(Ordering::Equal),
        // Also for NaN, which is unequal to everything.
        Comparison::NotEqual => ordering != Some(Ordering::Equal),
        Comparison::In | Comparison::NotIn | Comparison::AlwaysTrue | Comparison::AlwaysFalse => false,
    }
}
