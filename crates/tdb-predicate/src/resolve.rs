//! Checks conditions against a schema: finds the fields, and converts operands to the fields' own
//! bytes.

use tdb_codec::{CellValNum, Datatype};
use tdb_fragment::{Comparison, Condition, Junction};
use tdb_schema::{ArraySchema, Enumeration, Field, FieldKind};

use super::comparison::{Test, is_text};
use super::program::{Node, Program, ProgramField};
use crate::expression::{
    ConditionError, ConditionErrorKind, Operand, Place, Predicate, QueryCondition, Tree,
};
use crate::operands::{Compared, Like, enumeration_of, field_of, indices, like, members, of_several, query};
use crate::spec::ColumnSpec;
use crate::{Error, Result, Snapshot};

/// The field of a stored condition that only fragments have: the array's attribute was dropped.
const DROPPED: FieldKind = FieldKind::Attribute(usize::MAX);

/// Whether a stored operand can be a value of a field: it is as long as one, the lengths of values
/// differ, or it means null.
fn may_be_of(operand: &[u8], field: &Field<'_>) -> bool {
    operand.is_empty()
        || is_text(field.datatype)
        || field.cell_size().is_none_or(|size| operand.len() == size)
}

impl Program {
    /// A query's condition.
    pub fn of_query(condition: &QueryCondition, array: &Snapshot) -> Result<Self> {
        let mut program = Self::default();
        let root = program.resolve(&condition.tree, false, array)?;
        program.roots.push(root);
        Ok(program)
    }

    /// Conditions as they are stored in files, with one root each. `others` are the schemas of
    /// fragments, in which an attribute may have another type. For a field that no schema has,
    /// `unknown` makes the error from the number of the condition and the field's name.
    pub fn of_stored<'c>(
        conditions: impl Iterator<Item = &'c Condition>,
        schema: &ArraySchema,
        others: &[&ArraySchema],
        unknown: impl Fn(usize, &str) -> Error,
    ) -> Result<Self> {
        let mut program = Self::default();
        for (index, condition) in conditions.enumerate() {
            let root = program.stored(condition, (schema, others), &|name| unknown(index, name))?;
            program.roots.push(root);
        }
        Ok(program)
    }

    /// The number of a field in the program; the field is added if it is new.
    pub fn field(&mut self, schema: &ArraySchema, field: &Field<'_>) -> usize {
        let known = self.fields.iter().position(|known| known.kind == field.kind);
        known.unwrap_or_else(|| {
            let spec = ColumnSpec::new(schema, field);
            self.fields.push(ProgramField { kind: field.kind, spec, is_current: true });
            self.fields.len() - 1
        })
    }

    /// A test of a stored condition; `None` if neither the array nor a fragment has the field. If
    /// fragments have the attribute with other types, and the operands fit these, each fragment's
    /// cells are tested with its own type: a fragment has at most one of the fields, and its cells
    /// fail the tests of the others.
    fn stored_test(
        &mut self,
        name: &str,
        (comparison, operands): (Comparison, &[Vec<u8>]),
        (schema, others): (&ArraySchema, &[&ArraySchema]),
    ) -> Option<Node> {
        let current = schema.field(name);
        let kind = current.map_or(DROPPED, |field| field.kind);
        let mut fields: Vec<ProgramField> = current
            .map(|field| ProgramField { kind, spec: ColumnSpec::new(schema, &field), is_current: true })
            .into_iter()
            .collect();
        for other in others.iter().filter(|_| matches!(kind, FieldKind::Attribute(_))) {
            let own = other.field(name).filter(|own| matches!(own.kind, FieldKind::Attribute(_)));
            let Some(own) = own else { continue };
            let same = fields.iter_mut().find(|known| {
                (known.spec.datatype, known.spec.cell_val_num) == (own.datatype, own.cell_val_num)
            });
            match same {
                // There, null cells are not what is stored in their place.
                Some(known) if own.nullable && !known.spec.nullable => {
                    known.spec.nullable = true;
                    known.is_current = false;
                }
                Some(_) => {}
                None if operands.iter().all(|operand| may_be_of(operand, &own)) => {
                    let spec = ColumnSpec::new(other, &own);
                    fields.push(ProgramField { kind, spec, is_current: false });
                }
                None => {}
            }
        }
        let tests = fields.into_iter().map(|field| {
            let test = Test::stored(comparison, operands, field.spec.datatype, field.spec.cell_val_num);
            Node::Test { field: self.number_of(field), test }
        });
        let mut tests: Vec<Node> = tests.collect();
        let last = tests.pop()?;
        Some(if tests.is_empty() { last } else { Node::Any(tests.into_iter().chain([last]).collect()) })
    }

    /// The number of a field with this type in the program; the field is added if it is new.
    fn number_of(&mut self, field: ProgramField) -> usize {
        fn of(ProgramField { spec, .. }: &ProgramField) -> (&str, Datatype, CellValNum, bool) {
            (&spec.name, spec.datatype, spec.cell_val_num, spec.nullable)
        }
        let known = self.fields.iter().position(|known| of(known) == of(&field));
        known.unwrap_or_else(|| {
            self.fields.push(field);
            self.fields.len() - 1
        })
    }

    fn stored(
        &mut self,
        condition: &Condition,
        schemas: (&ArraySchema, &[&ArraySchema]),
        unknown: &dyn Fn(&str) -> Error,
    ) -> Result<Node> {
        match condition {
            Condition::Expression { junction, children } => {
                let children = children.iter().map(|child| self.stored(child, schemas, unknown));
                let children = children.collect::<Result<Vec<_>>>()?;
                Ok(match junction {
                    Junction::And => Node::All(children),
                    Junction::Or => Node::Any(children),
                    Junction::Not => Node::Not(Box::new(Node::Any(children))),
                })
            }
            Condition::Value { field: name, comparison, operands } => {
                self.stored_test(name, (*comparison, operands), schemas).ok_or_else(|| unknown(name))
            }
        }
    }

    /// A tree, or its negation, which is pushed down to the comparisons, so that null cells satisfy
    /// neither.
    fn resolve(&mut self, tree: &Tree, negated: bool, array: &Snapshot) -> Result<Node> {
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
        // Fields that are cheap to decode and to compare come first: they may leave no cells for
        // the rest.
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
        array: &Snapshot,
    ) -> Result<Node> {
        let field = field_of(array, name, place)?;
        let test = match predicate {
            Predicate::Null { is } => {
                let is = *is != negated;
                if field.nullable { Test::Null(is) } else { Test::Always(!is) }
            }
            Predicate::Nan { is } => {
                // An enumerated field has indices, which are integers.
                if !field.datatype.physical().is_float() || field.cell_val_num != CellValNum::ONE {
                    let (field, datatype) = (field.name.to_owned(), field.datatype.name());
                    return Err(query(ConditionError::at(
                        place,
                        ConditionErrorKind::NotReal { field, datatype },
                    )));
                }
                Test::Nan { is: *is != negated, physical: field.datatype.physical() }
            }
            Predicate::Like { pattern, is } => {
                let is = *is != negated;
                match like(array, &field, place, pattern)? {
                    Like::Text => {
                        Test::Like { pattern: pattern.clone(), is, padded: !field.cell_val_num.is_var() }
                    }
                    Like::Codes(codes) => {
                        let set = if is { Comparison::In } else { Comparison::NotIn };
                        Test::new(set, codes, false, field.datatype)
                    }
                }
            }
            Predicate::Compare { comparison, operands } => {
                let comparison = if negated { comparison.negated() } else { *comparison };
                match enumeration_of(array, &field)? {
                    Some(enumeration) => enumerated(&field, place, comparison, operands, &enumeration)?,
                    None => {
                        let compared = Compared::of(&field, field.datatype, field.cell_val_num);
                        let compared = compared.map_err(|kind| query(ConditionError::at(place, kind)))?;
                        let mut operands = compared.all(operands).map_err(query)?;
                        if comparison.takes_list() {
                            operands = members(field.datatype, &operands);
                        }
                        Test::new(comparison, operands, compared.is_text(), field.datatype)
                    }
                }
            }
        };
        Ok(Node::Test { field: self.field(array.schema(), &field), test })
    }
}

/// A comparison with the values of an enumeration, converted to one with their indices.
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
    Ok(match (of_several(comparison, found.len()), found.is_empty()) {
        (set @ (In | NotIn), _) => Test::new(set, found, false, field.datatype),
        // A value outside the enumeration differs from every cell that is not null.
        (NotEqual, true) if field.nullable => Test::Null(false),
        (NotEqual, true) => Test::Always(true),
        (_, true) => Test::Always(false),
        _ => Test::new(comparison, found, false, field.datatype),
    })
}

#[cfg(test)]
mod tests {
    use tdb_schema::{Attribute, Dimension, SchemaBuilder};

    use super::*;

    fn schema(attributes: Vec<Attribute>) -> ArraySchema {
        let new = ArraySchema::sparse().dimension(Dimension::new("d", 0i32..=9));
        attributes.into_iter().fold(new, SchemaBuilder::attribute).build().unwrap()
    }

    fn number(datatype: Datatype) -> Attribute {
        Attribute::new("a", datatype, CellValNum::ONE)
    }

    /// What a comparison with a number becomes, for a field with the values 10, 20 and 30.
    fn of_ten_to_thirty(nullable: bool, comparison: Comparison, operand: i128) -> Test {
        let mut attribute = number(Datatype::Uint8);
        attribute.nullable = nullable;
        let schema = schema(vec![attribute]);
        let values = [10i32, 20, 30].map(i32::to_le_bytes);
        let tens = Enumeration::new("tens", "tens", Datatype::Int32, CellValNum::ONE, values).unwrap();
        let operands = [(Operand::Int(operand), Place::default())];
        enumerated(&schema.field("a").unwrap(), Place::default(), comparison, &operands, &tens).unwrap()
    }

    #[test]
    fn a_value_that_an_enumeration_lacks_equals_no_cell_and_differs_from_all_that_are_not_null() {
        use Comparison::{Equal, In, NotEqual};
        let found = of_ten_to_thirty(false, Equal, 20);
        assert!(matches!(found, Test::Number { operand, .. } if operand == [1]));
        assert!(matches!(of_ten_to_thirty(false, Equal, 25), Test::Always(false)));
        assert!(matches!(of_ten_to_thirty(true, Equal, 25), Test::Always(false)));
        assert!(matches!(of_ten_to_thirty(false, NotEqual, 25), Test::Always(true)));
        assert!(matches!(of_ten_to_thirty(true, NotEqual, 25), Test::Null(false)));
        let list = of_ten_to_thirty(false, In, 25);
        assert!(matches!(list, Test::List { is_in: true, operands, .. } if operands.is_empty()));
    }

    #[test]
    fn a_stored_condition_looks_at_each_type_that_its_attribute_has_had() {
        let fields = |own: Datatype, others: &[Datatype]| {
            let others: Vec<ArraySchema> = others.iter().map(|other| schema(vec![number(*other)])).collect();
            let condition = Condition::Value {
                field: "a".into(),
                comparison: Comparison::Equal,
                operands: vec![Vec::new()],
            };
            let others: Vec<&ArraySchema> = others.iter().collect();
            let unknown = |_: usize, _: &str| unreachable!("the field is known");
            let own = schema(vec![number(own)]);
            let program = Program::of_stored([&condition].into_iter(), &own, &others, unknown).unwrap();
            let types = program.fields.iter().map(|field| (field.spec.datatype, field.is_current));
            types.collect::<Vec<_>>()
        };
        let (int, long) = (Datatype::Int32, Datatype::Int64);
        assert_eq!(fields(int, &[]), [(int, true)]);
        assert_eq!(fields(int, &[int, int]), [(int, true)]);
        assert_eq!(fields(int, &[long, int, long]), [(int, true), (long, false)]);
    }
}
