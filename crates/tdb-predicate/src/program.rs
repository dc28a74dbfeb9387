//! Conditions that were checked: trees of tests over a list of fields.

use tdb_schema::FieldKind;

use super::comparison::Test;
use crate::spec::ColumnSpec;

/// Conditions ready to run: trees of tests over a common list of fields.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The fields that the conditions look at.
    pub fields: Vec<ProgramField>,
    pub(super) roots: Vec<Node>,
}

/// A field that a program looks at.
#[derive(Clone, Debug)]
pub struct ProgramField {
    /// The field in the array's schema; an attribute that does not exist if the array does not have
    /// it any more.
    pub kind: FieldKind,
    /// The type of its column.
    pub spec: ColumnSpec,
    /// Whether this is its type in the array's schema, too. It is not that of a stored condition's
    /// field in fragments that were written before the attribute was dropped and added again with
    /// another type.
    pub is_current: bool,
}

/// A node of a program.
#[derive(Clone, Debug)]
pub(super) enum Node {
    All(Vec<Self>),
    Any(Vec<Self>),
    /// Only in stored conditions: in those of queries, negations were pushed down to the tests.
    Not(Box<Self>),
    Test {
        field: usize,
        test: Test,
    },
}
