//! Conditions checked against a schema: fields found, operands in the fields' own bytes.

use std::collections::HashMap;

use tdb_codec::{CellValNum, Datatype, DatatypeClass};
use tdb_fragment::{Comparison, Condition, Junction};
use tdb_schema::{ArraySchema, Enumeration, Field, FieldKind};

use super::evaluate::Test;
use crate::coordinate::{int_to_float, integer_limits};
use crate::expression::{
    ConditionError, ConditionErrorKind as Kind, Operand, Place, Predicate, QueryCondition, Tree,
};
use crate::spec::ColumnSpec;
use crate::{Array, Error, QueryError, Result};

/// Conditions ready to run: trees of tests over a common list of fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) fields: Vec<ProgramField>,
    pub(super) roots: Vec<Node>,
}

/// A field that a program looks at.
#[derive(Clone, Debug)]
pub(crate) struct ProgramField {
    /// Which field of the array's schema.
    pub(crate) kind: FieldKind,
    pub(crate) spec: ColumnSpec,
}

/// A node of a program.
#[derive(Clone, Debug)]
pub(super) enum Node {
    All(Vec<Self>),
    Any(Vec<Self>),
    /// Only of stored conditions: in those of queries negations have reached the tests.
    Not(Box<Self>),
    Test {
        field: usize,
        test: Test,
    },
}

impl Program {
    /// A query's condition.
    pub(crate) fn of_query(condition: &QueryCondition, array: &Array) -> Result<Self> {
        let mut program = Self::default();
        let root = program.resolve(&condition.tree, false, array)?;
        program.roots.push(root);
        Ok(program)
    }

    /// Conditions as files hold them: one root each. `unknown` makes the error about a field the schema does not have,
    /// of the number of the condition and the field's name.
    pub(crate) fn of_stored<'c>(
        conditions: impl Iterator<Item = &'c Condition>,
        schema: &ArraySchema,
        unknown: impl Fn(usize, &str) -> Error,
    ) -> Result<Self> {
        let mut program = Self::default();
        for (index, condition) in conditions.enumerate() {
            let root = program.stored(condition, schema, &|name| unknown(index, name))?;
            program.roots.push(root);
        }
        Ok(program)
    }

    /// Number of a field among the program's.
    pub(crate) fn field(&mut self, schema: &ArraySchema, field: &Field<'_>) -> usize {
        let known = self.fields.iter().position(|known| known.kind == field.kind);
        known.unwrap_or_else(|| {
            self.fields.push(ProgramField { kind: field.kind, spec: ColumnSpec::new(schema, field) });
            self.fields.len().saturating_sub(1)
        })
    }

    fn stored(
        &mut self,
        condition: &Condition,
        schema: &ArraySchema,
        unknown: &dyn Fn(&str) -> Error,
    ) -> Result<Node> {
        match condition {
            Condition::Expression { junction, children } => {
                let children = children.iter().map(|child| self.stored(child, schema, unknown));
                let children = children.collect::<Result<Vec<_>>>()?;
                Ok(match junction {
                    Junction::And => Node::All(children),
                    Junction::Or => Node::Any(children),
                    Junction::Not => Node::Not(Box::new(Node::Any(children))),
                })
            }
            Condition::Value { field: name, comparison, operands } => {
                let field = schema.field(name).ok_or_else(|| unknown(name))?;
                let test = Test::stored(*comparison, operands, field.datatype, field.cell_val_num);
                Ok(Node::Test { field: self.field(schema, &field), test })
            }
        }
    }

    /// A tree, or its negation: which is pushed down to the comparisons, so that null cells satisfy neither.
    fn resolve(&mut self, tree: &Tree, negated: bool, array: &Array) -> Result<Node> {
        let (list, all) = match tree {
            Tree::Not(inner) => return self.resolve(inner, !negated, array),
            Tree::Test { name, place, predicate } => {
                return self.test(name, *place, predicate, negated, array);
            }
            Tree::And(list) => (list, !negated),
            Tree::Or(list) => (list, negated),
        };
        let mut nodes =
            list.iter().map(|tree| self.resolve(tree, negated, array)).collect::<Result<Vec<_>>>()?;
        // What is cheap to decode and to compare comes first: it may leave nothing to do for the rest.
        nodes.sort_by_key(|node| self.cost(node));
        Ok(if all { Node::All(nodes) } else { Node::Any(nodes) })
    }

    fn cost(&self, node: &Node) -> usize {
        match node {
            Node::Test { field, .. } => {
                let size = self.fields.get(*field).and_then(|field| field.spec.cell_size);
                size.unwrap_or(64)
            }
            Node::All(nodes) | Node::Any(nodes) => {
                nodes.iter().fold(0, |sum: usize, node| sum.saturating_add(self.cost(node)))
            }
            Node::Not(node) => self.cost(node),
        }
    }

    fn test(
        &mut self,
        name: &str,
        place: Place,
        predicate: &Predicate,
        negated: bool,
        array: &Array,
    ) -> Result<Node> {
        let field = field_of(array, name, place)?;
        let test = match predicate {
            Predicate::Null { is } => {
                let is = *is != negated;
                if field.nullable { Test::Null(is) } else { Test::Always(!is) }
            }
            Predicate::Compare { comparison, operands } => {
                let comparison = if negated { comparison.negated() } else { *comparison };
                match enumeration_of(array, &field)? {
                    Some(enumeration) => enumerated(&field, place, comparison, operands, &enumeration)?,
                    None => {
                        let compared = Compared::of(&field, field.datatype, field.cell_val_num);
                        let compared = compared.map_err(|kind| query(ConditionError::at(place, kind)))?;
                        let operands = compared.all(operands).map_err(query)?;
                        Test::new(comparison, operands, compared.is_text(), field.datatype)
                    }
                }
            }
        };
        Ok(Node::Test { field: self.field(array.schema(), &field), test })
    }
}

fn query(error: ConditionError) -> Error {
    QueryError::Condition(error).into()
}

/// The field that stands at a place of a condition.
pub(super) fn field_of<'a>(array: &'a Array, name: &str, place: Place) -> Result<Field<'a>> {
    let schema = array.schema();
    schema.field(name).ok_or_else(|| {
        let known = schema.fields().map(|field| field.name).collect::<Vec<_>>().join(", ");
        query(ConditionError::at(place, Kind::UnknownField { name: name.to_owned(), known }))
    })
}

pub(super) fn enumeration_of(array: &Array, field: &Field<'_>) -> Result<Option<Enumeration>> {
    let FieldKind::Attribute(index) = field.kind else { return Ok(None) };
    let attribute = array.schema().attributes.get(index);
    match attribute.and_then(|attribute| attribute.enumeration.as_deref()) {
        Some(name) => array.enumeration(name),
        None => Ok(None),
    }
}

/// A comparison with the values of an enumeration, as one with their indices.
fn enumerated(
    field: &Field<'_>,
    place: Place,
    comparison: Comparison,
    operands: &[(Operand, Place)],
    enumeration: &Enumeration,
) -> Result<Test> {
    use Comparison::{In, NotEqual, NotIn};
    let found = indices(field, place, comparison, operands, enumeration)?;
    let found: Vec<Vec<u8>> = found.into_iter().flatten().collect();
    Ok(match (comparison, found.is_empty()) {
        (In | NotIn, _) => Test::new(comparison, found, false, field.datatype),
        // What the enumeration does not know differs from every cell that is not null.
        (NotEqual, true) if field.nullable => Test::Null(false),
        (NotEqual, true) => Test::Always(true),
        (_, true) => Test::Always(false),
        _ => Test::new(comparison, found, false, field.datatype),
    })
}

/// The index of each operand in an enumeration, in the field's bytes; `None` for one that no cell can hold.
pub(super) fn indices(
    field: &Field<'_>,
    place: Place,
    comparison: Comparison,
    operands: &[(Operand, Place)],
    enumeration: &Enumeration,
) -> Result<Vec<Option<Vec<u8>>>> {
    use Comparison::{Equal, In, NotEqual, NotIn};
    if !enumeration.ordered && !matches!(comparison, Equal | NotEqual | In | NotIn) {
        let (field, enumeration) = (field.name.to_owned(), enumeration.name.clone());
        return Err(query(ConditionError::at(place, Kind::Unordered { field, enumeration })));
    }
    let compared = Compared::of(field, enumeration.datatype, enumeration.cell_val_num);
    let compared = compared.map_err(|kind| query(ConditionError::at(place, kind)))?;
    let wanted = compared.all(operands).map_err(query)?;
    let entries = (0..enumeration.len()).filter_map(|index| Some((enumeration.value(index)?, index)));
    let indices: Vec<Option<usize>> = match wanted.as_slice() {
        [one] => vec![entries.into_iter().find(|(value, _)| value == one).map(|(_, index)| index)],
        _ => {
            let entries: HashMap<&[u8], usize> = entries.collect();
            wanted.iter().map(|value| entries.get(value.as_slice()).copied()).collect()
        }
    };
    // An index that the attribute's type cannot hold is in no cell.
    let (_, most) = integer_limits(field.datatype);
    let bytes = |index: usize| {
        let index = i128::try_from(index).ok().filter(|index| *index <= most)?;
        index.to_le_bytes().get(..field.datatype.size()).map(<[u8]>::to_vec)
    };
    Ok(indices.into_iter().map(|index| bytes(index?)).collect())
}

/// How operands become bytes of a field.
pub(super) struct Compared<'f> {
    field: &'f Field<'f>,
    datatype: Datatype,
    text: bool,
}

impl<'f> Compared<'f> {
    /// Of a field whose values, or whose enumeration's values, are these.
    pub(super) fn of(field: &'f Field<'f>, datatype: Datatype, cells: CellValNum) -> Result<Self, Kind> {
        let text = matches!(datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8);
        let number = matches!(
            datatype.class(),
            DatatypeClass::Integer | DatatypeClass::Real | DatatypeClass::Datetime | DatatypeClass::Time
        );
        if text || (number && cells == CellValNum::ONE) {
            return Ok(Self { field, datatype, text });
        }
        let cells = match cells {
            CellValNum::ONE => datatype.name().to_owned(),
            CellValNum::Fixed(count) => format!("{count} × {datatype}"),
            CellValNum::Var => format!("var-length {datatype}"),
        };
        Err(Kind::NotComparable { field: field.name.to_owned(), cells })
    }

    const fn is_text(&self) -> bool {
        self.text
    }

    pub(super) fn all(&self, operands: &[(Operand, Place)]) -> Result<Vec<Vec<u8>>, ConditionError> {
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
                Operand::Bytes(bytes) => Ok(bytes.clone()),
                _ => Err(wrong(field)),
            };
        }
        if self.datatype.physical().is_float() {
            let value = match operand {
                Operand::Float(value) => *value,
                Operand::Int(value) => int_to_float(*value),
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
            Operand::Float(value) if value.fract() == 0.0 && value.abs() < 1e30 => *value as i128,
            _ => return Err(wrong(field)),
        };
        let (least, most) = integer_limits(self.datatype);
        if value < least || value > most {
            return Err(too_far(field));
        }
        Ok(value.to_le_bytes().get(..self.datatype.size()).unwrap_or_default().to_vec())
    }
}
