//! Comparisons of text with patterns.

use tdb_schema::Field;

use super::{Compared, ConditionTarget, code, enumeration_of, query};
use crate::expression::{self, ConditionError, ConditionErrorKind as Kind, Pattern, Place, Tree};
use crate::{OrInternal, Result};

/// What a field's cells are compared with to see whether they are like a pattern.
pub enum Like {
    /// Their text is compared with the pattern.
    Text,
    /// The codes of the values that are like it.
    Codes(Vec<Vec<u8>>),
}

/// How a field is compared with a pattern.
///
/// # Errors
/// A field that has no text.
pub fn like(
    array: &impl ConditionTarget,
    field: &Field<'_>,
    place: Place,
    pattern: &Pattern,
) -> Result<Like> {
    let enumeration = enumeration_of(array, field)?;
    let (datatype, cells) = match &enumeration {
        Some(enumeration) => (enumeration.datatype, enumeration.cell_val_num),
        None => (field.datatype, field.cell_val_num),
    };
    let compared =
        Compared::of(field, datatype, cells).map_err(|kind| query(ConditionError::at(place, kind)))?;
    if !compared.is_text() {
        let why = format!("field \"{}\" is of type {datatype}: only text can be like a pattern", field.name);
        return Err(query(ConditionError::at(place, Kind::Operand { why })));
    }
    let Some(enumeration) = enumeration else { return Ok(Like::Text) };
    let is_fixed = !cells.is_var();
    let mut codes = Vec::new();
    for index in 0..enumeration.len() {
        let value = enumeration.value(index).or_internal("an enumeration without one of its values")?;
        if pattern.matches(if is_fixed { unpadded(value) } else { value }) {
            codes.extend(code(field.datatype, index));
        }
    }
    Ok(Like::Codes(codes))
}

/// The comparisons by order that say the same as a pattern that is a prefix or one text.
pub(super) fn as_order(name: &str, pattern: &Pattern) -> Option<Tree> {
    if let Some(only) = pattern.only() {
        return Some(expression::field(name).eq(only).tree);
    }
    if !pattern.is_prefix() {
        return None;
    }
    let prefix = pattern.prefix();
    let from = expression::field(name).ge(prefix);
    // The first text behind all those with the prefix.
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xff) {
        end.pop();
    }
    match end.last_mut() {
        Some(last) => *last += 1,
        None => return Some(from.tree),
    }
    Some(from.and(expression::field(name).lt(end.as_slice())).tree)
}

/// A text of a cell of fixed size, without the zero bytes that fill it up.
#[must_use]
pub const fn unpadded(mut cell: &[u8]) -> &[u8] {
    while let [text @ .., 0] = cell {
        cell = text;
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_an_interval_of_texts() {
        let shown = |pattern: &[u8]| {
            as_order("s", &Pattern::new(pattern)).map(|tree| crate::QueryCondition { tree }.to_string())
        };
        assert_eq!(shown(b"JF%").unwrap(), "s >= 'JF' and s < 'JG'");
        assert_eq!(shown(b"a\xff%").unwrap(), "s >= 'a\\xff' and s < 'b'");
        assert_eq!(shown(b"\xff%").unwrap(), "s >= '\\xff'");
        assert_eq!(shown(b"%").unwrap(), "s >= ''");
        assert_eq!(shown(b"JFK").unwrap(), "s = 'JFK'");
        assert_eq!((shown(b"%K"), shown(b"J_"), shown(b"J%K")), (None, None, None));
    }

    #[test]
    fn zero_bytes_fill_a_text_up() {
        assert_eq!(unpadded(b"ab\0\0"), b"ab");
        assert_eq!(unpadded(b"a\0b"), b"a\0b");
        assert_eq!((unpadded(b"\0\0"), unpadded(b"")), (&b""[..], &b""[..]));
    }
}
