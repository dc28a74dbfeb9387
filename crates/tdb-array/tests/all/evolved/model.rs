//! The attributes, and conditions on them: what a cell reads as, and whether it satisfies one.

use core::cmp::Ordering;
use core::num::NonZeroU32;
use std::collections::BTreeMap;

use tdb_array::field;
use tdb_array::query::{Operand, QueryCondition};
use tdb_array::schema::{Attribute, CellValNum, Datatype};

/// The attributes: `a` is always there, the others come and go.
pub(crate) const NAMES: [&str; 6] = ["a", "k", "n", "r", "c", "s"];

pub(crate) fn attribute(name: &str) -> Attribute {
    let three = CellValNum::Fixed(NonZeroU32::new(3).unwrap());
    match name {
        "a" => Attribute::new("a", Datatype::Int32, CellValNum::ONE),
        "k" => Attribute::new("k", Datatype::Int32, CellValNum::ONE).with_fill(3i32.to_le_bytes()),
        "n" => Attribute::new("n", Datatype::Int16, CellValNum::ONE).with_nulls(),
        "r" => Attribute::new("r", Datatype::Float64, CellValNum::ONE).with_fill((-0.0f64).to_le_bytes()),
        "c" => Attribute::new("c", Datatype::Char, three).with_fill(*b"ab\0"),
        _ => Attribute::new("s", Datatype::StringAscii, CellValNum::Var).with_fill(*b"z"),
    }
}

/// The bytes of a value; `None` for null.
pub(crate) type Value = Option<Vec<u8>>;

/// What a read returns for a cell that is older than the attribute.
pub(crate) fn fill(name: &str) -> Value {
    match name {
        "k" => Some(3i32.to_le_bytes().to_vec()),
        "r" => Some((-0.0f64).to_le_bytes().to_vec()),
        "c" => Some(b"ab\0".to_vec()),
        "s" => Some(b"z".to_vec()),
        _ => None,
    }
}

/// What was written to a cell: the values of the attributes that there were.
pub(crate) type Cell = BTreeMap<&'static str, Value>;

/// A condition, as the model has it.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Compare(&'static str, Op, Vec<Constant>),
    Null(&'static str, bool),
    Nan(bool),
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    In,
    NotIn,
}

#[derive(Clone, Debug)]
pub(crate) enum Constant {
    Int(i32),
    Real(f64),
    Text(&'static str),
}

impl Asked {
    pub(crate) fn condition(&self) -> QueryCondition {
        let constant = |constant: &Constant| -> Operand {
            match constant {
                Constant::Int(value) => (*value).into(),
                Constant::Real(value) => (*value).into(),
                Constant::Text(value) => (*value).into(),
            }
        };
        let join = |list: &[Self], join: fn(QueryCondition, QueryCondition) -> QueryCondition| {
            list.iter().map(Self::condition).reduce(join).unwrap()
        };
        match self {
            Self::Compare(name, op, constants) => {
                let (field, one) = (field(*name), constant(&constants[0]));
                match op {
                    Op::Less => field.lt(one),
                    Op::LessOrEqual => field.le(one),
                    Op::Greater => field.gt(one),
                    Op::GreaterOrEqual => field.ge(one),
                    Op::Equal => field.eq(one),
                    Op::NotEqual => field.ne(one),
                    Op::In => field.is_in(constants.iter().map(constant)),
                    Op::NotIn => field.not_in(constants.iter().map(constant)),
                }
            }
            Self::Null(name, true) => field(*name).is_null(),
            Self::Null(name, false) => field(*name).is_not_null(),
            Self::Nan(true) => field("r").is_nan(),
            Self::Nan(false) => field("r").is_not_nan(),
            Self::All(list) => join(list, QueryCondition::and),
            Self::Any(list) => join(list, QueryCondition::or),
            Self::Not(inner) => !inner.condition(),
        }
    }

    /// The rule: a cell that is older than the field satisfies no test of it, nor the test's
    /// negation; null satisfies `is null` alone.
    pub(crate) fn holds(&self, cell: &Cell, negated: bool) -> bool {
        match self {
            Self::Not(inner) => inner.holds(cell, !negated),
            Self::All(list) if negated => list.iter().any(|one| one.holds(cell, true)),
            Self::Any(list) if negated => list.iter().all(|one| one.holds(cell, true)),
            Self::All(list) => list.iter().all(|one| one.holds(cell, false)),
            Self::Any(list) => list.iter().any(|one| one.holds(cell, false)),
            Self::Null(name, is) => cell.get(name).is_some_and(|own| own.is_none() == (*is != negated)),
            Self::Nan(is) => {
                let own = cell.get("r").and_then(Option::as_ref);
                own.is_some_and(|own| real("r", own).is_nan() == (*is != negated))
            }
            Self::Compare(name, op, constants) => {
                let own = cell.get(name).and_then(Option::as_ref);
                own.is_some_and(|own| {
                    let orders = constants.iter().map(|constant| order(name, own, constant));
                    let any = |wanted: &[Ordering]| {
                        orders.clone().any(|order| order.is_some_and(|order| wanted.contains(&order)))
                    };
                    let (less, equal, greater) = (Ordering::Less, Ordering::Equal, Ordering::Greater);
                    match (op, negated) {
                        (Op::Less, false) | (Op::GreaterOrEqual, true) => any(&[less]),
                        (Op::LessOrEqual, false) | (Op::Greater, true) => any(&[less, equal]),
                        (Op::Greater, false) | (Op::LessOrEqual, true) => any(&[greater]),
                        (Op::GreaterOrEqual, false) | (Op::Less, true) => any(&[greater, equal]),
                        (Op::Equal | Op::In, false) | (Op::NotEqual | Op::NotIn, true) => any(&[equal]),
                        (Op::NotEqual | Op::NotIn, false) | (Op::Equal | Op::In, true) => !any(&[equal]),
                    }
                })
            }
        }
    }
}

/// A number from its bytes.
pub(crate) fn real(name: &str, bytes: &[u8]) -> f64 {
    match name {
        "n" => i16::from_le_bytes(bytes.try_into().unwrap()).into(),
        "r" => f64::from_le_bytes(bytes.try_into().unwrap()),
        _ => i32::from_le_bytes(bytes.try_into().unwrap()).into(),
    }
}

fn order(name: &str, own: &[u8], constant: &Constant) -> Option<Ordering> {
    match constant {
        Constant::Int(value) => real(name, own).partial_cmp(&f64::from(*value)),
        Constant::Real(value) => real(name, own).partial_cmp(value),
        // Cells of fixed size have zero bytes behind a shorter value.
        Constant::Text(text) => {
            let mut text = text.as_bytes().to_vec();
            text.resize(text.len().max(if name == "c" { 3 } else { 0 }), 0);
            Some(own.cmp(&text))
        }
    }
}
