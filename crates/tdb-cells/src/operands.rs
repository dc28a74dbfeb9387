//! Checks conditions against an array: the fields they name, their operands in the bytes of those
//! fields, and the form that delete files contain.

mod like;

use core::slice;
use std::collections::HashMap;

use tdb_codec::digits::{is_integer, nearest_bytes, whole};
use tdb_codec::{CellValNum, Datatype, DatatypeClass, to_usize};
use tdb_fragment::{Comparison, Condition, Junction};
use tdb_schema::{ArraySchema, Enumeration, Field, FieldKind};

use crate::coordinate::integer_limits;
use crate::expression::{
    ConditionError, ConditionErrorKind as Kind, MAX_INTEGER, Operand, Place, Predicate, QueryCondition, Tree,
};
use crate::{Error, OrInternal, QueryError, Result};

pub use self::like::{Like, like, unpadded};

/// The parts of an array that are needed to check a condition.
pub trait ConditionTarget {
    /// The schema, which has the fields.
    fn schema(&self) -> &ArraySchema;

    /// An enumeration of the schema, by name; `None` if the schema has none of that name.
    ///
    /// # Errors
    /// A missing or damaged enumeration file.
    fn enumeration(&self, name: &str) -> Result<Option<Enumeration>>;
}

impl QueryCondition {
    /// The condition in the form that `ArrayWriter::delete` takes: operands in the bytes of their
    /// fields, and values of an enumeration as its indices.
    ///
    /// # Errors
    /// A field that the array does not have, an operand that does not fit its field or its
    /// enumeration, or a test for null, which delete files cannot contain; each with its place in
    /// the text.
    pub fn to_stored(&self, array: &impl ConditionTarget) -> Result<Condition> {
        stored(&self.tree, array)
    }
}

fn stored(tree: &Tree, array: &impl ConditionTarget) -> Result<Condition> {
    let (junction, children) = match tree {
        Tree::And(list) => (Junction::And, list.as_slice()),
        Tree::Or(list) => (Junction::Or, list.as_slice()),
        Tree::Not(inner) => (Junction::Not, slice::from_ref(&**inner)),
        Tree::Test { name, place, predicate } => return value(name, *place, predicate, array),
    };
    let children = children.iter().map(|child| stored(child, array)).collect::<Result<_>>()?;
    Ok(Condition::Expression { junction, children })
}

fn value(name: &str, place: Place, predicate: &Predicate, array: &impl ConditionTarget) -> Result<Condition> {
    let at = |place, kind| QueryError::Condition(ConditionError::at(place, kind));
    let field = field_of(array, name, place)?;
    let refused = |what| Err(at(place, Kind::NotStored { what }).into());
    let (comparison, operands) = match predicate {
        Predicate::Compare { comparison, operands } => (comparison, operands),
        Predicate::Null { .. } => return refused("null"),
        Predicate::Nan { .. } => return refused("NaN"),
        Predicate::Like { pattern, is } => {
            let like = match like(array, &field, place, pattern)? {
                // As for a value that the enumeration lacks.
                Like::Codes(codes) if codes.is_empty() => {
                    let pattern = String::from_utf8_lossy(pattern.text());
                    let why = format!("the enumeration of field \"{name}\" has no value like '{pattern}'");
                    return Err(at(place, Kind::Operand { why }).into());
                }
                Like::Codes(codes) => {
                    let comparison = of_several(Comparison::Equal, codes.len());
                    Condition::Value { field: name.to_owned(), comparison, operands: codes }
                }
                Like::Text => match like::as_order(name, pattern) {
                    Some(tree) => stored(&tree, array)?,
                    None => return refused("like a pattern, unless % is at its end and nowhere else"),
                },
            };
            return Ok(if *is {
                like
            } else {
                Condition::Expression { junction: Junction::Not, children: vec![like] }
            });
        }
    };
    let mut comparison = *comparison;
    let values = match enumeration_of(array, &field)? {
        Some(enumeration) => {
            let found = indices(&field, place, comparison, operands, &enumeration)?;
            if let Some((_, (operand, place))) = found.iter().zip(operands).find(|(own, _)| own.is_empty()) {
                let why = format!("the enumeration \"{}\" has no {operand}", enumeration.name);
                return Err(at(*place, Kind::Operand { why }).into());
            }
            let found: Vec<Vec<u8>> = found.into_iter().flatten().collect();
            comparison = of_several(comparison, found.len());
            found
        }
        None => {
            let compared = Compared::of(&field, field.datatype, field.cell_val_num);
            let compared = compared.map_err(|kind| at(place, kind))?;
            compared.all(operands).map_err(QueryError::Condition)?
        }
    };
    Ok(Condition::Value { field: name.to_owned(), comparison, operands: values })
}

/// The error of a query whose condition does not fit the array.
pub fn query(error: ConditionError) -> Error {
    QueryError::Condition(error).into()
}

/// The field that is named at a place of a condition.
pub fn field_of<'a>(array: &'a impl ConditionTarget, name: &str, place: Place) -> Result<Field<'a>> {
    let schema = array.schema();
    schema.field(name).ok_or_else(|| {
        let known = schema.fields().map(|field| field.name).collect::<Vec<_>>().join(", ");
        query(ConditionError::at(place, Kind::UnknownField { name: name.to_owned(), known }))
    })
}

/// The enumeration of a field; `None` if it has none.
pub fn enumeration_of(array: &impl ConditionTarget, field: &Field<'_>) -> Result<Option<Enumeration>> {
    let FieldKind::Attribute(index) = field.kind else { return Ok(None) };
    let attribute = array.schema().attributes.get(index);
    match attribute.and_then(|attribute| attribute.enumeration.as_deref()) {
        Some(name) => array.enumeration(name),
        None => Ok(None),
    }
}

/// The comparison with this many operands that says the same of each: a set's, if they are several.
pub const fn of_several(comparison: Comparison, operands: usize) -> Comparison {
    match comparison {
        Comparison::Equal if operands > 1 => Comparison::In,
        Comparison::NotEqual if operands > 1 => Comparison::NotIn,
        other => other,
    }
}

/// The indices of each operand in an enumeration, in the field's bytes; none for an operand that no
/// cell can have. They are several for a zero, if the enumeration has both.
pub fn indices(
    field: &Field<'_>,
    place: Place,
    comparison: Comparison,
    operands: &[(Operand, Place)],
    enumeration: &Enumeration,
) -> Result<Vec<Vec<Vec<u8>>>> {
    use Comparison::{Equal, In, NotEqual, NotIn};
    let in_order = !matches!(comparison, Equal | NotEqual | In | NotIn);
    if !enumeration.ordered && in_order {
        let (field, enumeration) = (field.name.to_owned(), enumeration.name.clone());
        return Err(query(ConditionError::at(place, Kind::Unordered { field, enumeration })));
    }
    let compared = Compared::of(field, enumeration.datatype, enumeration.cell_val_num);
    let mut compared = compared.map_err(|kind| query(ConditionError::at(place, kind)))?;
    // A file without values may state any length of them.
    compared.len = compared.len.filter(|_| !enumeration.is_empty());
    let wanted = compared.all(operands).map_err(query)?;
    let mut entries = (0..enumeration.len()).map(|index| {
        let value = enumeration.value(index).or_internal("an enumeration without one of its values")?;
        Ok::<_, Error>((value, index))
    });
    let other_zero = |value: &Vec<u8>| other_zero(enumeration.datatype, value).filter(|_| !in_order);
    let indices: Vec<Vec<usize>> = match wanted.as_slice() {
        [one] => {
            let zero = other_zero(one);
            let same = |value: &[u8]| value == one || zero.as_deref() == Some(value);
            let own = entries.try_fold(Vec::new(), |mut own, entry| {
                let (value, index) = entry?;
                own.extend(same(value).then_some(index));
                Ok::<_, Error>(own)
            });
            vec![own?]
        }
        _ => {
            let entries: HashMap<&[u8], usize> = entries.collect::<Result<_>>()?;
            let of = |value: &Vec<u8>| entries.get(value.as_slice()).copied();
            let all = |value| of(value).into_iter().chain(other_zero(value).as_ref().and_then(of)).collect();
            wanted.iter().map(all).collect()
        }
    };
    let bytes = |index| code(field.datatype, index);
    Ok(indices.into_iter().map(|own| own.into_iter().filter_map(bytes).collect()).collect())
}

/// The index of a value in the bytes of a field. No cell can have one that is too large for the
/// field's type.
fn code(datatype: Datatype, index: usize) -> Option<Vec<u8>> {
    let (_, max) = integer_limits(datatype);
    let index = i128::try_from(index).ok().filter(|index| *index <= max)?;
    index.to_le_bytes().get(..datatype.size()).map(<[u8]>::to_vec)
}

/// The members of a set of reals, whose bits are compared, that make the set say what `=` says of
/// each: both zeros for a zero, and none for a NaN, which equals nothing. Members of other types
/// are as they are.
pub fn members(datatype: Datatype, operands: &[Vec<u8>]) -> Vec<Vec<u8>> {
    if !datatype.physical().is_float() {
        return operands.to_vec();
    }
    let numbers =
        operands.iter().filter(|operand| real(datatype, operand).is_some_and(|value| !value.is_nan()));
    let mut members: Vec<Vec<u8>> = Vec::with_capacity(operands.len());
    for operand in numbers {
        members.extend(other_zero(datatype, operand).filter(|zero| !operands.contains(zero)));
        members.push(operand.clone());
    }
    members
}

/// The other zero, if a value is a zero of reals.
fn other_zero(datatype: Datatype, value: &[u8]) -> Option<Vec<u8>> {
    real(datatype, value).filter(|value| *value == 0.0)?;
    let mut other = value.to_vec();
    if let Some(sign) = other.last_mut() {
        *sign ^= 0x80;
    }
    Some(other)
}

/// A real number from its bytes; `None` for bytes of another size, and of other types.
fn real(datatype: Datatype, value: &[u8]) -> Option<f64> {
    match datatype {
        Datatype::Float32 => value.try_into().ok().map(|bytes| f64::from(f32::from_le_bytes(bytes))),
        Datatype::Float64 => value.try_into().ok().map(f64::from_le_bytes),
        _ => None,
    }
}

/// Converts operands to the bytes of a field.
pub struct Compared<'f> {
    field: &'f Field<'f>,
    datatype: Datatype,
    /// Whether values are text.
    text: bool,
    /// How long each of them is; `None` if lengths differ.
    len: Option<usize>,
}

impl<'f> Compared<'f> {
    /// For a field whose values, or whose enumeration's values, have this type.
    pub fn of(field: &'f Field<'f>, datatype: Datatype, cells: CellValNum) -> Result<Self, Kind> {
        let text = matches!(datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8);
        let number = matches!(
            datatype.class(),
            DatatypeClass::Integer | DatatypeClass::Real | DatatypeClass::Datetime | DatatypeClass::Time
        );
        if text || (number && cells == CellValNum::ONE) {
            let len = match cells {
                CellValNum::Fixed(count) => to_usize(count.get().into()),
                CellValNum::Var => None,
            };
            return Ok(Self { field, datatype, text, len });
        }
        let cells = match cells {
            CellValNum::ONE => datatype.name().to_owned(),
            CellValNum::Fixed(count) => format!("{count} × {datatype}"),
            CellValNum::Var => format!("var-length {datatype}"),
        };
        Err(Kind::NotComparable { field: field.name.to_owned(), cells })
    }

    /// Whether the field's values are text.
    pub const fn is_text(&self) -> bool {
        self.text
    }

    /// A text as cells of fixed size hold it: with zero bytes behind it. One that is longer than
    /// they are equals none.
    fn padded(&self, text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        text.resize(self.len.unwrap_or(0).max(text.len()), 0);
        text
    }

    /// The bytes of these operands.
    pub fn all(&self, operands: &[(Operand, Place)]) -> Result<Vec<Vec<u8>>, ConditionError> {
        let bytes = |(operand, place): &(Operand, Place)| {
            self.bytes(operand).map_err(|kind| ConditionError::at(*place, kind))
        };
        operands.iter().map(bytes).collect()
    }

    fn bytes(&self, operand: &Operand) -> Result<Vec<u8>, Kind> {
        let (field, datatype) = (self.field.name.to_owned(), self.datatype.name());
        let wrong = |field| Kind::Type { field, datatype, operand: operand.to_string() };
        let too_far = |field| Kind::OutOfRange { field, datatype, operand: operand.to_string() };
        if self.text {
            return match operand {
                Operand::Bytes(bytes) => Ok(self.padded(bytes)),
                _ => Err(wrong(field)),
            };
        }
        if self.datatype.physical().is_float() {
            let value = match operand {
                Operand::Float(value) => *value,
                // Rounded once, in the field's type.
                Operand::Int(_) | Operand::Decimal(_) => {
                    return nearest_bytes(self.datatype, &operand.to_string()).map_err(|_| too_far(field));
                }
                _ => return Err(wrong(field)),
            };
            if self.datatype.size() == 8 {
                return Ok(value.to_le_bytes().to_vec());
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the nearest value of the field's type is meant"
            )]
            let near = value as f32;
            return if near.is_infinite() && value.is_finite() {
                Err(too_far(field))
            } else {
                Ok(near.to_le_bytes().to_vec())
            };
        }
        let value = match operand {
            Operand::Int(value) => *value,
            Operand::Bool(value) if self.datatype == Datatype::Bool => i128::from(*value),
            // 1e6 is as good an integer as 1000000.
            #[expect(clippy::cast_possible_truncation, reason = "a whole number well inside the range")]
            Operand::Float(value) if value.fract() == 0.0 && value.abs() < MAX_INTEGER => *value as i128,
            Operand::Decimal(text) => match whole(text) {
                Some(value) => value,
                None if is_integer(text) => return Err(too_far(field)),
                None => return Err(wrong(field)),
            },
            _ => return Err(wrong(field)),
        };
        let (min, max) = integer_limits(self.datatype);
        if value < min || value > max {
            return Err(too_far(field));
        }
        Ok(value.to_le_bytes().get(..self.datatype.size()).unwrap_or_default().to_vec())
    }
}
