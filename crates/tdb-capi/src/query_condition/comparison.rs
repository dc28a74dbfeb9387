//! Comparisons of a single field, and the values that it is compared with.

use tdb_array::field;
use tdb_array::query::{ConditionTarget, Operand, QueryCondition};
use tdb_array::schema::{CellValNum, Datatype, DatatypeClass, Enumeration, Field, FieldKind};
use tdb_array::stored::Comparison;

use super::failure;
use crate::codes::integer_of;
use crate::ffi::Failure;

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
    pub(super) operator: Comparison,
    pub(super) value: Value,
    /// Whether the value of an enumerated field is one of the enumeration, or else a number.
    pub(super) use_enumeration: bool,
}

/// The comparison with one value of a number of the C API, which has those of files.
pub(super) fn of_value(number: u32) -> Result<Comparison, Failure> {
    match known(number) {
        Some(comparison) if comparison.takes_list() => {
            Err(failure("Invalid query condition operation for set membership."))
        }
        Some(comparison) => Ok(comparison),
        None => Err(failure(format!("Invalid Query Condition Op {number}"))),
    }
}

/// The comparison with a set.
pub(super) fn of_set(number: u32) -> Result<Comparison, Failure> {
    let found = known(number).filter(|comparison| comparison.takes_list());
    found.ok_or_else(|| failure("invalid set membership operator in set membership constructor."))
}

/// Callers have no comparisons that are always true or false.
fn known(number: u32) -> Option<Comparison> {
    let found = u8::try_from(number).ok().and_then(Comparison::from_code);
    found.filter(|found| !matches!(found, Comparison::AlwaysTrue | Comparison::AlwaysFalse))
}

fn compare(comparison: Comparison, name: &str, operands: Vec<Operand>) -> Result<QueryCondition, Failure> {
    let field = field(name);
    let mut rest = operands;
    let mut one = || rest.pop().ok_or_else(|| failure("a comparison without a value"));
    Ok(match comparison {
        Comparison::Less => field.lt(one()?),
        Comparison::LessOrEqual => field.le(one()?),
        Comparison::Greater => field.gt(one()?),
        Comparison::GreaterOrEqual => field.ge(one()?),
        Comparison::Equal => field.eq(one()?),
        Comparison::NotEqual => field.ne(one()?),
        Comparison::In => field.is_in(rest),
        Comparison::NotIn => field.not_in(rest),
        Comparison::AlwaysTrue | Comparison::AlwaysFalse => {
            return Err(failure("a comparison that compares nothing"));
        }
    })
}

impl Test {
    /// The test for an array.
    pub(super) fn resolve(&self, target: &impl ConditionTarget) -> Result<QueryCondition, Failure> {
        let name = &self.field;
        let known = target.schema().field(name);
        let known = known.ok_or_else(|| failure(format!("Field doesn't exist: '{name}'")))?;
        let values = match (&self.value, self.operator) {
            (Value::Null, Comparison::Equal) => return Ok(field(name.as_str()).is_null()),
            (Value::Null, Comparison::NotEqual) => return Ok(field(name.as_str()).is_not_null()),
            (Value::Null, _) => {
                return Err(failure("Null value can only be used with equality operators"));
            }
            (Value::One(value), _) => std::slice::from_ref(value),
            (Value::Set(values), _) => values.as_slice(),
        };
        match enumeration_of(target, &known)? {
            Some(enumeration) if self.use_enumeration => {
                let ends = [Comparison::Equal, Comparison::NotEqual, Comparison::In, Comparison::NotIn];
                if !enumeration.ordered && !ends.contains(&self.operator) {
                    let why = "Cannot apply an inequality operator against an unordered Enumeration";
                    return Err(failure(why));
                }
                let (datatype, count) = (enumeration.datatype, enumeration.cell_val_num);
                compare(self.operator, name, operands(name, datatype, count, values)?)
            }
            Some(enumeration) => self.by_number(&known, &enumeration, values),
            None => compare(self.operator, name, operands(name, known.datatype, known.cell_val_num, values)?),
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
                Comparison::Less => any(i128::lt),
                Comparison::LessOrEqual => any(i128::le),
                Comparison::Greater => any(i128::gt),
                Comparison::GreaterOrEqual => any(i128::ge),
                Comparison::Equal | Comparison::In => asked.contains(&number),
                Comparison::NotEqual | Comparison::NotIn => !asked.contains(&number),
                Comparison::AlwaysTrue => true,
                Comparison::AlwaysFalse => false,
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
        let operator = if others_pass { Comparison::NotIn } else { Comparison::In };
        compare(operator, &self.field, found)
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
            _ if expected == given => return Ok(Operand::Int(integer_of(datatype, value))),
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
    Ok(integer_of(known.datatype, value))
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

    fn one(field: &str, operator: Comparison, value: &[u8]) -> Condition {
        Condition::test(field, operator, Value::One(value.to_vec()))
    }

    #[test]
    fn values_are_those_of_their_fields_type() {
        assert_eq!(text(&one("a", Comparison::Less, &[0xfe, 0xff])), "a < -2");
        assert_eq!(text(&one("x", Comparison::GreaterOrEqual, &[1, 0, 0, 0, 0, 0, 0, 0])), "x >= 1");
        assert_eq!(text(&one("f", Comparison::NotEqual, &1.5f32.to_le_bytes())), "f != 1.5");
        assert_eq!(text(&one("s", Comparison::Equal, b"")), "s = ''");
        assert_eq!(text(&Condition::test("s", Comparison::Equal, Value::Null)), "s is null");
        assert!(text(&one("a", Comparison::Less, &[1])).contains("value size mismatch: 2 != 1"));
        assert!(text(&one("b", Comparison::Less, &[1])).contains("Field doesn't exist"));
        assert!(text(&Condition::test("s", Comparison::Less, Value::Null)).contains("Null value"));
        assert!(text(&Condition::default()).contains("must not be empty"));
    }

    #[test]
    fn members_are_cut_at_their_offsets() {
        let offsets =
            |starts: &[u64]| starts.iter().flat_map(|start| start.to_le_bytes()).collect::<Vec<_>>();
        let found = members(b"abbccc", &offsets(&[0, 1, 3])).unwrap();
        assert_eq!(found, [b"a".to_vec(), b"bb".to_vec(), b"ccc".to_vec()]);
        let set = Condition::test("s", Comparison::NotIn, Value::Set(found));
        assert_eq!(text(&set), "s not in ('a', 'bb', 'ccc')");
        for (wrong, why) in [(&[3u64, 1][..], "decrease"), (&[7], "data size"), (&[0, 7], "data size")] {
            assert!(members(b"abbccc", &offsets(wrong)).unwrap_err().text().contains(why), "{wrong:?}");
        }
        assert!(members(b"abc", &[0; 9]).unwrap_err().text().contains("multiple"));
    }

    #[test]
    fn a_negation_reaches_the_tests_and_lists_stay_flat() {
        let a = one("a", Comparison::Equal, &[1, 0]);
        let b = one("x", Comparison::Less, &[2, 0, 0, 0, 0, 0, 0, 0]);
        let both = a.clone().joined(b.clone(), Junction::All).unwrap();
        let more = both.joined(a, Junction::All).unwrap().joined(b, Junction::Any).unwrap();
        assert_eq!(text(&more), "(a = 1 and x < 2 and a = 1) or x < 2");
        assert_eq!(text(&more.negated().unwrap()), "(a != 1 or x >= 2 or a != 1) and x >= 2");
    }

    #[test]
    fn an_enumerated_field_is_compared_by_value_or_by_number() {
        assert_eq!(text(&one("code", Comparison::Equal, b"green")), "code = 'green'");
        assert!(text(&one("code", Comparison::Less, b"green")).contains("unordered Enumeration"));
        let by_number = |operator, value: i8| {
            let mut made = one("code", operator, &value.to_le_bytes());
            made.use_enumerations(false);
            text(&made)
        };
        assert_eq!(by_number(Comparison::Equal, 1), "code in ('green')");
        assert_eq!(by_number(Comparison::Less, 2), "code in ('red', 'green')");
        assert_eq!(by_number(Comparison::Greater, 0), "code not in ('red')");
        assert_eq!(by_number(Comparison::NotEqual, 7), "code not in ()");
        assert_eq!(by_number(Comparison::Equal, -1), "code in ()");
    }

    #[test]
    fn conditions_are_nested_only_so_deep() {
        let test = || one("a", Comparison::Equal, &[1, 0]);
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
