//! Conditions of queries in the form that files of deletes hold.

use core::slice;

use tdb_fragment::{Condition, Junction};

use super::resolve::{Compared, enumeration_of, field_of, indices};
use crate::expression::{ConditionError, ConditionErrorKind as Kind, Place, Predicate, QueryCondition, Tree};
use crate::{Array, QueryError, Result};

impl QueryCondition {
    /// The condition as [`ArrayWriter::delete`](crate::ArrayWriter::delete) takes it: operands in the bytes of their fields,
    /// those of an enumeration as its indices.
    ///
    /// # Errors
    /// A field that the array does not have, an operand that does not fit its field or its enumeration, and questions for
    /// null, which such files cannot hold; each with its place in the text.
    pub fn to_stored(&self, array: &Array) -> Result<Condition> {
        stored(&self.tree, array)
    }
}

fn stored(tree: &Tree, array: &Array) -> Result<Condition> {
    let (junction, children) = match tree {
        Tree::And(list) => (Junction::And, list.as_slice()),
        Tree::Or(list) => (Junction::Or, list.as_slice()),
        Tree::Not(inner) => (Junction::Not, slice::from_ref(&**inner)),
        Tree::Test { name, place, predicate } => return value(name, *place, predicate, array),
    };
    let children = children.iter().map(|child| stored(child, array)).collect::<Result<_>>()?;
    Ok(Condition::Expression { junction, children })
}

fn value(name: &str, place: Place, predicate: &Predicate, array: &Array) -> Result<Condition> {
    let at = |place, kind| QueryError::Condition(ConditionError::at(place, kind));
    let field = field_of(array, name, place)?;
    let Predicate::Compare { comparison, operands } = predicate else {
        let why = "files of deletes cannot hold whether a field is null".to_owned();
        return Err(at(place, Kind::Operand { why }).into());
    };
    let values = match enumeration_of(array, &field)? {
        Some(enumeration) => {
            let found =
                indices(&field, place, *comparison, operands, &enumeration)?.into_iter().zip(operands);
            let known = found.map(|(index, (operand, place))| {
                let why = format!("the enumeration \"{}\" has no {operand}", enumeration.name);
                index.ok_or_else(|| at(*place, Kind::Operand { why }).into())
            });
            known.collect::<Result<Vec<_>>>()?
        }
        None => {
            let compared = Compared::of(&field, field.datatype, field.cell_val_num);
            let compared = compared.map_err(|kind| at(place, kind))?;
            compared.all(operands).map_err(QueryError::Condition)?
        }
    };
    Ok(Condition::Value { field: name.to_owned(), comparison: *comparison, operands: values })
}
