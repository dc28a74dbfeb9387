//! Serializes conditions, to send a query from one process to another.
//!
//! A tree in prefix order, integers little-endian. Stored conditions (`tdb_fragment::Condition`)
//! have another form: their operands are in the bytes of fields, so they need a schema, and they
//! cannot distinguish null from an empty text.
//!
//! | Node | Bytes |
//! |---|---|
//! | and, or | `0` or `1`; a count of at least 1 (`u64`); that many nodes |
//! | not | `2`; a node |
//! | comparison | `3`; the field (`u64` length, name); the code of the operator; a count (`u64`); that many operands |
//! | null, not null | `4` or `5`; the field |
//! | NaN, not NaN | `6` or `7`; the field |
//! | like, not like | `8` or `9`; the field; the pattern (`u64` length, text) |
//!
//! | Operand | Bytes |
//! |---|---|
//! | integer | `0`; 16 bytes |
//! | real | `1`; 8 bytes |
//! | string | `2`; `u64` length, bytes |
//! | boolean | `3`; a byte |
//! | number as it is written | `4`; `u64` length, text |

use tdb_codec::{ErrorKind, Reader, Result, Writer, to_u64};
use tdb_fragment::Comparison;

use super::{ConditionError, ConditionErrorKind, Operand, Pattern, Place, Predicate, QueryCondition, Tree};

/// The deepest tree that is written and read: more than in the text form, where parentheses limit
/// it.
const MAX_DEPTH: usize = 256;
/// The least number of bytes of a node.
const MIN_NODE_BYTES: usize = 2;
/// The least number of bytes of an operand.
const MIN_OPERAND_BYTES: usize = 2;

impl QueryCondition {
    /// Writes the condition; [`Self::read_from`] reads it.
    ///
    /// # Errors
    /// A condition that is nested more than 256 levels deep.
    #[doc(hidden)]
    pub fn write_to(&self, writer: &mut Writer) -> core::result::Result<(), ConditionError> {
        write(&self.tree, writer, MAX_DEPTH)
    }

    /// Reads a condition, and leaves what follows it.
    ///
    /// # Errors
    /// Truncation, unknown codes, counts that do not fit in the bytes, a comparison with the wrong
    /// number of operands, or a tree more than 256 levels deep.
    #[doc(hidden)]
    pub fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        read(reader, MAX_DEPTH).map(|tree| Self { tree })
    }
}

fn write(tree: &Tree, writer: &mut Writer, depth: usize) -> core::result::Result<(), ConditionError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(ConditionError::at(Place::default(), ConditionErrorKind::TooDeep { max: MAX_DEPTH }));
    };
    match tree {
        Tree::And(list) | Tree::Or(list) => {
            writer.u8(u8::from(matches!(tree, Tree::Or(_))));
            writer.u64(to_u64(list.len()));
            return list.iter().try_for_each(|tree| write(tree, writer, depth));
        }
        Tree::Not(inner) => {
            writer.u8(2);
            return write(inner, writer, depth);
        }
        Tree::Test { name, predicate: Predicate::Compare { comparison, operands }, .. } => {
            writer.u8(3);
            writer.bytes_u64(name.as_bytes());
            writer.u8(comparison.code());
            writer.u64(to_u64(operands.len()));
            operands.iter().for_each(|(operand, _)| write_operand(operand, writer));
        }
        Tree::Test { name, predicate: Predicate::Null { is }, .. } => {
            writer.u8(if *is { 4 } else { 5 });
            writer.bytes_u64(name.as_bytes());
        }
        Tree::Test { name, predicate: Predicate::Nan { is }, .. } => {
            writer.u8(if *is { 6 } else { 7 });
            writer.bytes_u64(name.as_bytes());
        }
        Tree::Test { name, predicate: Predicate::Like { pattern, is }, .. } => {
            writer.u8(if *is { 8 } else { 9 });
            writer.bytes_u64(name.as_bytes());
            writer.bytes_u64(pattern.text());
        }
    }
    Ok(())
}

fn write_operand(operand: &Operand, writer: &mut Writer) {
    match operand {
        Operand::Int(value) => {
            writer.u8(0);
            writer.bytes(&value.to_le_bytes());
        }
        Operand::Float(value) => {
            writer.u8(1);
            writer.f64(*value);
        }
        Operand::Bytes(bytes) => {
            writer.u8(2);
            writer.bytes_u64(bytes);
        }
        Operand::Bool(value) => {
            writer.u8(3);
            writer.bool(*value);
        }
        Operand::Decimal(text) => {
            writer.u8(4);
            writer.bytes_u64(text.as_bytes());
        }
    }
}

fn read(reader: &mut Reader<'_>, depth: usize) -> Result<Tree> {
    let Some(depth) = depth.checked_sub(1) else {
        let kind = ErrorKind::LimitExceeded { size: to_u64(MAX_DEPTH) };
        return Err(reader.error("condition depth", kind));
    };
    let code = reader.code("condition node", |code| (code <= 9).then_some(code))?;
    if code == 2 {
        return Ok(Tree::Not(Box::new(read(reader, depth)?)));
    }
    if code < 2 {
        let start = *reader;
        let count = reader.count_u64(MIN_NODE_BYTES, "condition child count")?;
        if count == 0 {
            return Err(start.error("condition child count", ErrorKind::InvalidValue { value: 0 }));
        }
        let list = (0..count).map(|_| read(reader, depth)).collect::<Result<_>>()?;
        return Ok(if code == 0 { Tree::And(list) } else { Tree::Or(list) });
    }
    let (name, place) = (reader.string_u64("condition field name")?, Place::default());
    let predicate = if code == 3 {
        let comparison = reader.code("condition operator", Comparison::from_code)?;
        let start = *reader;
        let count = reader.count_u64(MIN_OPERAND_BYTES, "condition operand count")?;
        if count != 1 && !comparison.takes_list() {
            let kind = ErrorKind::InvalidValue { value: to_u64(count) };
            return Err(start.error("condition operand count", kind));
        }
        let operands =
            (0..count).map(|_| Ok((read_operand(reader)?, Place::default()))).collect::<Result<_>>()?;
        Predicate::Compare { comparison, operands }
    } else if code < 6 {
        Predicate::Null { is: code == 4 }
    } else if code < 8 {
        Predicate::Nan { is: code == 6 }
    } else {
        Predicate::Like { pattern: Pattern::new(reader.bytes_u64("condition pattern")?), is: code == 8 }
    };
    Ok(Tree::Test { name, place, predicate })
}

fn read_operand(reader: &mut Reader<'_>) -> Result<Operand> {
    Ok(match reader.code("condition operand", |code| (code <= 4).then_some(code))? {
        0 => Operand::Int(i128::from_le_bytes(reader.array("condition integer")?)),
        1 => Operand::Float(reader.f64("condition real")?),
        2 => Operand::Bytes(reader.bytes_u64("condition string")?.to_vec()),
        3 => Operand::Bool(reader.bool("condition truth value")?),
        _ => Operand::Decimal(reader.string_u64("condition number")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field;

    fn bytes(condition: &QueryCondition) -> Vec<u8> {
        let mut writer = Writer::new();
        condition.write_to(&mut writer).unwrap();
        writer.into_vec()
    }

    fn sample() -> QueryCondition {
        let list = field("n").is_in([i128::MIN, 7, i128::MAX]).or(!field("b").eq(true));
        let texts = field("s")
            .not_in(["", "a\0b"])
            .and(field("r").gt(-0.0))
            .and(field("r").ne(f64::NAN))
            .and(field("r").eq(Operand::Decimal("1e400".to_owned())));
        let nans = field("r").is_nan().or(field("q").is_not_nan());
        let patterns = field("s").like("a%\\_").or(field("s").not_like([0xff, b'%']));
        list.and(texts).and(nans).and(patterns).and(field("x").is_null().or(field("y").is_not_null()))
    }

    #[test]
    fn conditions_round_trip_and_every_truncation_is_refused() {
        let written = bytes(&sample());
        let mut reader = Reader::new(&written);
        assert_eq!(QueryCondition::read_from(&mut reader), Ok(sample()));
        assert!(reader.is_empty());
        for len in 0..written.len() {
            assert!(QueryCondition::read_from(&mut Reader::new(&written[..len])).is_err(), "{len}");
        }
    }

    #[test]
    fn bytes_are_as_the_table_says() {
        let written = bytes(&!field("a").lt(-2));
        let mut expected = vec![2, 3, 1, 0, 0, 0, 0, 0, 0, 0, b'a', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe];
        expected.extend([0xff; 15]);
        assert_eq!(written, expected);
    }

    #[test]
    fn trees_too_deep_for_the_stack_are_neither_read_nor_written() {
        let error = QueryCondition::read_from(&mut Reader::new(&[2; 100_000])).unwrap_err();
        assert_eq!((error.what, error.offset), ("condition depth", 256));
        let mut deep = field("a").eq(1);
        for level in 0..300 {
            deep = if level % 2 == 0 { deep.and(field("a").eq(2)) } else { deep.or(field("a").eq(3)) };
        }
        let error = deep.write_to(&mut Writer::new()).unwrap_err();
        assert!(matches!(error.kind(), ConditionErrorKind::TooDeep { max: 256 }), "{error}");
    }

    #[test]
    fn wrong_counts_and_codes_are_refused_where_they_stand() {
        let refused = |bytes: &[u8]| {
            let error = QueryCondition::read_from(&mut Reader::new(bytes)).unwrap_err();
            (error.what, error.offset)
        };
        assert_eq!(refused(&[10]), ("condition node", 0));
        let mut none = vec![0];
        none.extend([0; 8]);
        assert_eq!(refused(&none), ("condition child count", 1));
        let mut many = vec![1];
        many.extend(u64::MAX.to_le_bytes());
        assert_eq!(refused(&many), ("condition child count", 1));
        let mut two = bytes(&field("a").is_in([1, 2]));
        two[10] = Comparison::Equal.code();
        assert_eq!(refused(&two), ("condition operand count", 11));
    }
}
