//! Tests of a single field, and the values that it is compared with.

use tdb_array::field;
use tdb_array::query::{ConditionTarget, Operand, QueryCondition};
use tdb_array::schema::{CellValNum, Datatype, DatatypeClass, Enumeration, Field, FieldKind};

use super::failure;
use crate::ffi::Failure;

/// `tiledb_query_condition_op_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    In,
    NotIn,
}

/// What a field is compared with.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Nothing.
    Null,
    /// The bytes of a value.
    One(Vec<u8>),
    /// Those of several.
    Set(Vec<Vec<u8>>),
}

/// A test of a field.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) field: String,
    pub(super) operator: Operator,
    pub(super) value: Value,
    /// Whether the value of an enumerated field is one of the enumeration, or else a number.
    pub(super) use_enumeration: bool,
}

impl Operator {
    /// The comparison with one value of a number.
    pub(super) fn of_value(number: u32) -> Result<Self, Failure> {
        Ok(match number {
            0 => Self::Less,
            1 => Self::LessOrEqual,
            2 => Self::Greater,
            3 => Self::GreaterOrEqual,
            4 => Self::Equal,
            5 => Self::NotEqual,
            6 | 7 => return Err(failure("Invalid query condition operation for set membership.")),
            _ => return Err(failure(format!("Invalid Query Condition Op {number}"))),
        })
    }

    /// The comparison with a set of a number.
    pub(super) fn of_set(number: u32) -> Result<Self, Failure> {
        match number {
            6 => Ok(Self::In),
            7 => Ok(Self::NotIn),
            _ => Err(failure("invalid set membership operator in set membership constructor.")),
        }
    }

    /// The comparison that holds for all other cells but null.
    pub(super) const fn opposite(self) -> Self {
        match self {
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::In => Self::NotIn,
            Self::NotIn => Self::In,
        }
    }

    fn compare(self, name: &str, operands: Vec<Operand>) -> Result<QueryCondition, Failure> {
        let field = field(name);
        let mut rest = operands;
        let mut one = || rest.pop().ok_or_else(|| failure("a comparison without a value"));
        Ok(match self {
            Self::Less => field.lt(one()?),
            Self::LessOrEqual => field.le(one()?),
            Self::Greater => field.gt(one()?),
            Self::GreaterOrEqual => field.ge(one()?),
            Self::Equal => field.eq(one()?),
            Self::NotEqual => field.ne(one()?),
            Self::In => field.is_in(rest),
            Self::NotIn => field.not_in(rest),
        })
    }
}

impl Test {
    /// The test for an array.
    pub(super) fn resolve(&self, target: &impl ConditionTarget) -> Result<QueryCondition, Failure> {
        let name = &self.field;
        let known = target.schema().field(name);
        let known = known.ok_or_else(|| failure(format!("Field doesn't exist: '{name}'")))?;
        let values = match (&self.value, self.operator) {
            (Value::Null, Operator::Equal) => return Ok(field(name.as_str()).is_null()),
            (Value::Null, Operator::NotEqual) => return Ok(field(name.as_str()).is_not_null()),
            (Value::Null, _) => {
                return Err(failure("Null value can only be used with equality operators"));
            }
            (Value::One(value), _) => std::slice::from_ref(value),
            (Value::Set(values), _) => values.as_slice(),
        };
        match enumeration_of(target, &known)? {
            Some(enumeration) if self.use_enumeration => {
                let ends = [Operator::Equal, Operator::NotEqual, Operator::In, Operator::NotIn];
                if !enumeration.ordered && !ends.contains(&self.operator) {
                    let why = "Cannot apply an inequality operator against an unordered Enumeration";
                    return Err(failure(why));
                }
                let (datatype, count) = (enumeration.datatype, enumeration.cell_val_num);
                self.operator.compare(name, operands(name, datatype, count, values)?)
            }
            Some(enumeration) => self.by_number(&known, &enumeration, values),
            None => self.operator.compare(name, operands(name, known.datatype, known.cell_val_num, values)?),
        }
    }

    /// The test of the numbers of an enumerated field: whether its value is one of those whose
    /// numbers pass. Numbers that the enumeration does not have pass if larger ones do.
    fn by_number(
        &self,
        known: &Field<'_>,
        enumeration: &Enumeration,
        values: &[Vec<u8>],
    ) -> Result<QueryCondition, Failure> {
        let asked: Vec<i128> = values.iter().map(|value| integer(known, value)).collect::<Result<_, _>>()?;
        let passes = |number: i128| {
            let any = |test: fn(&i128, &i128) -> bool| asked.iter().any(|value| test(&number, value));
            match self.operator {
                Operator::Less => any(i128::lt),
                Operator::LessOrEqual => any(i128::le),
                Operator::Greater => any(i128::gt),
                Operator::GreaterOrEqual => any(i128::ge),
                Operator::Equal | Operator::In => asked.contains(&number),
                Operator::NotEqual | Operator::NotIn => !asked.contains(&number),
            }
        };
        let others_pass = passes(i128::MAX);
        let mut found = Vec::new();
        for (index, number) in (0..enumeration.len()).zip(0i128..) {
            if passes(number) != others_pass {
                found.extend(enumeration.value(index).map(<[u8]>::to_vec));
            }
        }
        let (datatype, count) = (enumeration.datatype, enumeration.cell_val_num);
        let found = operands(&self.field, datatype, count, &found)?;
        let operator = if others_pass { Operator::NotIn } else { Operator::In };
        operator.compare(&self.field, found)
    }
}

/// The enumeration of a field; `None` if it has none.
fn enumeration_of(target: &impl ConditionTarget, known: &Field<'_>) -> Result<Option<Enumeration>, Failure> {
    let FieldKind::Attribute(index) = known.kind else { return Ok(None) };
    let attribute = target.schema().attributes.get(index);
    match attribute.and_then(|attribute| attribute.enumeration.as_deref()) {
        Some(name) => Ok(target.enumeration(name)?),
        None => Ok(None),
    }
}

/// Cuts the members of a set at their offsets.
pub(super) fn members(data: &[u8], offsets: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
    let (chunks, rest) = offsets.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(failure("set membership offsets is not a multiple of uint64_t size."));
    }
    let starts: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
    if !starts.is_sorted() {
        return Err(failure("set membership offsets must not decrease."));
    }
    let ends = starts.iter().skip(1).copied().chain([crate::number(data.len())]);
    let cut = |(start, end): (&u64, u64)| {
        data.get(usize::try_from(*start).ok()?..usize::try_from(end).ok()?).map(<[u8]>::to_vec)
    };
    let found: Option<Vec<Vec<u8>>> = starts.iter().zip(ends).map(cut).collect();
    found.ok_or_else(|| failure("invalid set membership offsets invalid for data size"))
}

/// Values of a field as the engine takes them.
fn operands(
    name: &str,
    datatype: Datatype,
    count: CellValNum,
    values: &[Vec<u8>],
) -> Result<Vec<Operand>, Failure> {
    let text = matches!(datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8);
    let class = datatype.class();
    let number = matches!(
        class,
        DatatypeClass::Integer | DatatypeClass::Real | DatatypeClass::Datetime | DatatypeClass::Time
    );
    if !text && !number {
        return Err(failure(format!("Unsupported value node attribute type {datatype} on field {name}")));
    }
    if !text && count != CellValNum::ONE {
        let why = if count == CellValNum::Var {
            "attribute may only be var-sized for ASCII strings"
        } else {
            "attribute must have one value per cell for non-string fixed size attributes"
        };
        return Err(failure(format!("Value node {why}: {name}")));
    }
    let one = |value: &Vec<u8>| {
        if text {
            return Ok(Operand::Bytes(value.clone()));
        }
        let (expected, given) = (datatype.size(), value.len());
        let wrong = || failure(format!("Value node condition value size mismatch: {expected} != {given}"));
        let real = match datatype {
            Datatype::Float32 => {
                value.as_slice().try_into().ok().map(|bytes| f64::from(f32::from_le_bytes(bytes)))
            }
            Datatype::Float64 => value.as_slice().try_into().ok().map(f64::from_le_bytes),
            _ if expected == given => return Ok(Operand::Int(signed(datatype, value))),
            _ => None,
        };
        real.map(Operand::Float).ok_or_else(wrong)
    };
    values.iter().map(one).collect()
}

/// The number of an enumerated field in its bytes.
fn integer(known: &Field<'_>, value: &[u8]) -> Result<i128, Failure> {
    let (expected, given) = (known.datatype.size(), value.len());
    if expected != given {
        return Err(failure(format!("Value node condition value size mismatch: {expected} != {given}")));
    }
    Ok(signed(known.datatype, value))
}

fn signed(datatype: Datatype, value: &[u8]) -> i128 {
    let is_negative =
        datatype.physical().is_signed_integer() && value.last().is_some_and(|byte| *byte >= 0x80);
    let start: i128 = if is_negative { -1 } else { 0 };
    value.iter().rev().fold(start, |number, byte| (number << 8) | i128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Condition, Junction};
    use super::*;
    use tdb_array::schema::{ArraySchema, Attribute, Dimension};

    struct Target(ArraySchema, Enumeration);

    impl ConditionTarget for Target {
        fn schema(&self) -> &ArraySchema {
            &self.0
        }

        fn enumeration(&self, name: &str) -> tdb_array::Result<Option<Enumeration>> {
            Ok(Some(self.1.clone()).filter(|known| known.name == name))
        }
    }

    fn target() -> Target {
        let colours = ["red", "green", "blue"];
        let colours =
            Enumeration::new("colours", "f", Datatype::StringAscii, CellValNum::Var, colours).unwrap();
        let code = Attribute::new("code", Datatype::Int8, CellValNum::ONE).with_enumeration("colours");
        let schema = ArraySchema::sparse()
            .dimension(Dimension::new("x", 0i64..=99))
            .attribute(Attribute::new("a", Datatype::Int16, CellValNum::ONE))
            .attribute(Attribute::new("f", Datatype::Float32, CellValNum::ONE))
            .attribute(Attribute::new("s", Datatype::StringUtf8, CellValNum::Var))
            .attribute(code)
            .enumeration(&colours);
        let schema = schema.build().unwrap();
        Target(schema, colours)
    }

    fn text(condition: &Condition) -> String {
        condition.resolve(&target()).map_or_else(|failure| failure.text().to_owned(), |made| made.to_string())
    }

    fn one(field: &str, operator: Operator, value: &[u8]) -> Condition {
        Condition::test(field, operator, Value::One(value.to_vec()))
    }

    #[test]
    fn values_are_those_of_their_fields_type() {
        assert_eq!(text(&one("a", Operator::Less, &[0xfe, 0xff])), "a < -2");
        assert_eq!(text(&one("x", Operator::GreaterOrEqual, &[1, 0, 0, 0, 0, 0, 0, 0])), "x >= 1");
        assert_eq!(text(&one("f", Operator::NotEqual, &1.5f32.to_le_bytes())), "f != 1.5");
        assert_eq!(text(&one("s", Operator::Equal, b"")), "s = ''");
        assert_eq!(text(&Condition::test("s", Operator::Equal, Value::Null)), "s is null");
        assert!(text(&one("a", Operator::Less, &[1])).contains("value size mismatch: 2 != 1"));
        assert!(text(&one("b", Operator::Less, &[1])).contains("Field doesn't exist"));
        assert!(text(&Condition::test("s", Operator::Less, Value::Null)).contains("Null value"));
        assert!(text(&Condition::default()).contains("must not be empty"));
    }

    #[test]
    fn members_are_cut_at_their_offsets() {
        let offsets =
            |starts: &[u64]| starts.iter().flat_map(|start| start.to_le_bytes()).collect::<Vec<_>>();
        let found = members(b"abbccc", &offsets(&[0, 1, 3])).unwrap();
        assert_eq!(found, [b"a".to_vec(), b"bb".to_vec(), b"ccc".to_vec()]);
        let set = Condition::test("s", Operator::NotIn, Value::Set(found));
        assert_eq!(text(&set), "s not in ('a', 'bb', 'ccc')");
        for (wrong, why) in [(&[3u64, 1][..], "decrease"), (&[7], "data size"), (&[0, 7], "data size")] {
            assert!(members(b"abbccc", &offsets(wrong)).unwrap_err().text().contains(why), "{wrong:?}");
        }
        assert!(members(b"abc", &[0; 9]).unwrap_err().text().contains("multiple"));
    }

    #[test]
    fn a_negation_reaches_the_tests_and_lists_stay_flat() {
        let a = one("a", Operator::Equal, &[1, 0]);
        let b = one("x", Operator::Less, &[2, 0, 0, 0, 0, 0, 0, 0]);
        let both = a.clone().joined(b.clone(), Junction::All).unwrap();
        let more = both.joined(a, Junction::All).unwrap().joined(b, Junction::Any).unwrap();
        assert_eq!(text(&more), "(a = 1 and x < 2 and a = 1) or x < 2");
        assert_eq!(text(&more.negated().unwrap()), "(a != 1 or x >= 2 or a != 1) and x >= 2");
    }

    #[test]
    fn an_enumerated_field_is_compared_by_value_or_by_number() {
        assert_eq!(text(&one("code", Operator::Equal, b"green")), "code = 'green'");
        assert!(text(&one("code", Operator::Less, b"green")).contains("unordered Enumeration"));
        let by_number = |operator, value: i8| {
            let mut made = one("code", operator, &value.to_le_bytes());
            made.use_enumerations(false);
            text(&made)
        };
        assert_eq!(by_number(Operator::Equal, 1), "code in ('green')");
        assert_eq!(by_number(Operator::Less, 2), "code in ('red', 'green')");
        assert_eq!(by_number(Operator::Greater, 0), "code not in ('red')");
        assert_eq!(by_number(Operator::NotEqual, 7), "code not in ()");
        assert_eq!(by_number(Operator::Equal, -1), "code in ()");
    }

    #[test]
    fn conditions_are_nested_only_so_deep() {
        let test = || one("a", Operator::Equal, &[1, 0]);
        let mut made = test();
        let mut junctions = [Junction::All, Junction::Any].into_iter().cycle();
        let refused = loop {
            match made.joined(test(), junctions.next().unwrap()) {
                Ok(next) => made = next,
                Err(refused) => break refused,
            }
        };
        assert!(refused.text().contains("nested"));
    }
}
