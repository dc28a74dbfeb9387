//! Turns comparisons of dimensions into ranges of the query: a tile whose MBR lies inside is taken
//! whole, and a tile outside is not read.
//!
//! All versions of a cell have the same coordinates, so it makes no difference whether a range or a
//! condition leaves them out. This is not so for NaN and for zeros with different signs, so only
//! integers, dates and times are looked at.

use tdb_fragment::Comparison;
use tdb_schema::FieldKind;

use super::comparison::Test;
use super::program::{Node, Program, ProgramField};
use crate::coordinate::integer;
use crate::requested::Bounds;

impl Program {
    /// Takes comparisons of dimensions out of a query's condition, if each of its cells must
    /// satisfy them: dimensions, and intervals of coordinates.
    pub fn take_intervals(&mut self) -> Vec<(usize, Bounds)> {
        let mut taken = Vec::new();
        if let Some(root) = self.roots.first_mut() {
            take(root, &self.fields, &mut taken);
        }
        taken
    }

    /// Whether all cells satisfy a query's condition, whatever their values.
    pub fn is_empty(&self) -> bool {
        self.roots.iter().all(|root| matches!(root, Node::All(nodes) if nodes.is_empty()))
    }
}

/// Takes comparisons out of a node. A node without the rest becomes a conjunction without parts.
fn take(node: &mut Node, fields: &[ProgramField], taken: &mut Vec<(usize, Bounds)>) {
    if let Some(own) = interval(node, fields) {
        taken.push(own);
        *node = Node::All(Vec::new());
    }
    if let Node::All(nodes) = node {
        nodes.iter_mut().for_each(|node| take(node, fields, taken));
        nodes.retain(|node| !matches!(node, Node::All(nodes) if nodes.is_empty()));
    }
}

/// The dimension and the coordinates that a test allows.
fn interval(node: &Node, fields: &[ProgramField]) -> Option<(usize, Bounds)> {
    let Node::Test { field, test: Test::Number { comparison, operand, physical } } = node else {
        return None;
    };
    let FieldKind::Dimension(dimension) = fields.get(*field)?.kind else { return None };
    if physical.is_float() {
        return None;
    }
    let signed = physical.is_signed_integer();
    // The operand moved by one; `None` if there is no such number.
    let next = |step: i128| {
        let moved = integer(operand, signed).checked_add(step)?;
        let bytes = moved.to_le_bytes().get(..operand.len())?.to_vec();
        (integer(&bytes, signed) == moved).then_some(bytes)
    };
    let (low, high) = match comparison {
        Comparison::Less => (None, Some(next(-1)?)),
        Comparison::LessOrEqual => (None, Some(operand.clone())),
        Comparison::Greater => (Some(next(1)?), None),
        Comparison::GreaterOrEqual => (Some(operand.clone()), None),
        Comparison::Equal => (Some(operand.clone()), Some(operand.clone())),
        _ => return None,
    };
    Some((dimension, Bounds { low, high }))
}
