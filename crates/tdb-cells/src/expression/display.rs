//! Prints conditions as text that parses back to the same condition.

use core::fmt;

use super::{Operand, Predicate, QueryCondition, Tree, numbers, text};

impl fmt::Display for QueryCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tree.fmt(f)
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, list: &[Self], word: &str| {
            for (index, tree) in list.iter().enumerate() {
                if index > 0 {
                    f.write_str(word)?;
                }
                match tree {
                    Self::And(_) | Self::Or(_) => write!(f, "({tree})")?,
                    Self::Not(_) | Self::Test { .. } => tree.fmt(f)?,
                }
            }
            Ok(())
        };
        match self {
            Self::And(children) => list(f, children, " and "),
            Self::Or(children) => list(f, children, " or "),
            Self::Not(inner) => write!(f, "not ({inner})"),
            Self::Test { name, predicate, .. } => {
                write_name(f, name)?;
                match predicate {
                    Predicate::Null { is: true } => f.write_str(" is null"),
                    Predicate::Null { is: false } => f.write_str(" is not null"),
                    Predicate::Nan { is: true } => f.write_str(" is nan"),
                    Predicate::Nan { is: false } => f.write_str(" is not nan"),
                    Predicate::Like { pattern, is } => {
                        f.write_str(if *is { " like " } else { " not like " })?;
                        write_quoted(f, pattern.text(), '\'')
                    }
                    Predicate::Compare { comparison, operands } => {
                        write!(f, " {} ", comparison.sign())?;
                        if !comparison.takes_list() {
                            return operands.iter().try_for_each(|(operand, _)| operand.fmt(f));
                        }
                        f.write_str("(")?;
                        for (index, (operand, _)) in operands.iter().enumerate() {
                            write!(f, "{}{operand}", if index > 0 { ", " } else { "" })?;
                        }
                        f.write_str(")")
                    }
                }
            }
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => f.write_str(&numbers::shown_real(*value)),
            Self::Decimal(text) => f.write_str(text),
            Self::Bytes(bytes) => write_quoted(f, bytes, '\''),
            Self::Bool(value) => value.fmt(f),
        }
    }
}

/// A field's name, in quotes if it is not a plain word.
pub(super) fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if text::is_plain_name(name) { f.write_str(name) } else { write_quoted(f, name.as_bytes(), '"') }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, bytes: &[u8], quote: char) -> fmt::Result {
    write!(f, "{quote}")?;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if c == '\\' || c == quote => write!(f, "\\{c}")?,
                c if c.is_control() => {
                    let mut bytes = [0; 4];
                    write_escaped(f, c.encode_utf8(&mut bytes).as_bytes())?;
                }
                c => write!(f, "{c}")?,
            }
        }
        write_escaped(f, chunk.invalid())?;
    }
    write!(f, "{quote}")
}

fn write_escaped(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))
}
