//! Conditions as callers make them: tests that are joined, before the array is known.

use tdb_array::query::{ConditionTarget, QueryCondition};
use tdb_array::stored::Comparison;

use super::comparison::{Test, Value};
use super::failure;
use crate::ffi::Failure;

/// How deep conditions may be nested: far more than anybody writes, and little enough for the
/// stacks of threads.
const MAX_DEPTH: usize = 500;

/// A condition as the caller made it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condition {
    tree: Option<Tree>,
}

/// How conditions are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Junction {
    /// All of them hold.
    All,
    /// One of them holds.
    Any,
}

#[derive(Clone, Debug)]
enum Tree {
    Test(Test),
    List(Junction, Vec<Self>),
}

impl Condition {
    /// A test of a field.
    pub(super) fn test(field: &str, operator: Comparison, value: Value) -> Self {
        let test = Test { field: field.to_owned(), operator, value, use_enumeration: true };
        Self { tree: Some(Tree::Test(test)) }
    }

    /// Whether nothing was said yet.
    pub(crate) const fn is_empty(&self) -> bool {
        self.tree.is_none()
    }

    /// Both, or one of both.
    pub(super) fn joined(self, other: Self, junction: Junction) -> Result<Self, Failure> {
        let mut list = self.known()?.flattened(junction);
        list.extend(other.known()?.flattened(junction));
        let tree = Tree::List(junction, list);
        if tree.depth() > MAX_DEPTH {
            return Err(failure(format!(
                "Cannot combine query conditions; they are nested more than {MAX_DEPTH} times"
            )));
        }
        Ok(Self { tree: Some(tree) })
    }

    /// The opposite: of the tests, so that null cells satisfy neither.
    pub(super) fn negated(self) -> Result<Self, Failure> {
        Ok(Self { tree: Some(self.known()?.negated()) })
    }

    /// Whether values that enumerated fields are compared with are those of the enumeration, or
    /// else their numbers in it.
    pub(super) fn use_enumerations(&mut self, yes: bool) {
        if let Some(tree) = &mut self.tree {
            tree.use_enumerations(yes);
        }
    }

    /// The condition for an array.
    ///
    /// # Errors
    /// It is empty, or does not fit the array's fields.
    pub(crate) fn resolve(&self, target: &impl ConditionTarget) -> Result<QueryCondition, Failure> {
        self.tree.as_ref().ok_or_else(empty)?.resolve(target)
    }

    fn known(self) -> Result<Tree, Failure> {
        self.tree.ok_or_else(empty)
    }
}

fn empty() -> Failure {
    failure("Query conditions must not be empty")
}

impl Tree {
    /// The parts of a list that is joined like this; anything else is the only part.
    fn flattened(self, junction: Junction) -> Vec<Self> {
        match self {
            Self::List(own, list) if own == junction => list,
            other => vec![other],
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::Test(_) => 1,
            Self::List(_, list) => 1 + list.iter().map(Self::depth).max().unwrap_or(0),
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Test(test) => Self::Test(Test { operator: test.operator.negated(), ..test }),
            Self::List(junction, list) => {
                let other = match junction {
                    Junction::All => Junction::Any,
                    Junction::Any => Junction::All,
                };
                Self::List(other, list.into_iter().map(Self::negated).collect())
            }
        }
    }

    fn use_enumerations(&mut self, yes: bool) {
        match self {
            Self::Test(test) => test.use_enumeration = yes,
            Self::List(_, list) => list.iter_mut().for_each(|tree| tree.use_enumerations(yes)),
        }
    }

    fn resolve(&self, target: &impl ConditionTarget) -> Result<QueryCondition, Failure> {
        let (junction, list) = match self {
            Self::Test(test) => return test.resolve(target),
            Self::List(junction, list) => (junction, list),
        };
        let mut made: Option<QueryCondition> = None;
        for tree in list {
            let next = tree.resolve(target)?;
            made = Some(match (made, junction) {
                (None, _) => next,
                (Some(made), Junction::All) => made.and(next),
                (Some(made), Junction::Any) => made.or(next),
            });
        }
        made.ok_or_else(empty)
    }
}
