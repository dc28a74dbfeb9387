//! Rewrites comparisons whose operands stand for several values as comparisons with one value.

use core::ops::RangeInclusive;

use tdb_fragment::Comparison;

use super::{ConditionError, ConditionErrorKind, Operand, Place, Predicate, Tree, flattened};

/// The tree with other operands: see `QueryCondition::map_operands`.
pub(super) fn map_operands(
    tree: Tree,
    replace: &mut impl FnMut(&str, &Operand) -> Result<Option<RangeInclusive<Operand>>, String>,
) -> Result<Tree, ConditionError> {
    let mut all = |list: Vec<Tree>| -> Result<Vec<Tree>, ConditionError> {
        list.into_iter().map(|tree| map_operands(tree, replace)).collect()
    };
    Ok(match tree {
        // One comparison may have become a list of the same kind.
        Tree::And(list) => Tree::And(joined(all(list)?, Tree::And)),
        Tree::Or(list) => Tree::Or(joined(all(list)?, Tree::Or)),
        Tree::Not(inner) => Tree::Not(Box::new(map_operands(*inner, replace)?)),
        Tree::Test { name, place, predicate: Predicate::Compare { comparison, operands } } => {
            let mut test = Test { name, place, comparison, single: Vec::new(), spans: Vec::new() };
            for (operand, place) in operands {
                let other = replace(&test.name, &operand)
                    .map_err(|why| ConditionError::at(place, ConditionErrorKind::Operand { why }))?;
                match other.map(RangeInclusive::into_inner) {
                    None => test.single.push((operand, place)),
                    Some((first, last)) if first == last => test.single.push((first, place)),
                    Some((first, last)) => test.spans.push((first, last, place)),
                }
            }
            test.into_tree()
        }
        other @ Tree::Test { .. } => other,
    })
}

/// The trees, in which each tree of the kind that `make` makes is replaced by its children.
fn joined(list: Vec<Tree>, make: fn(Vec<Tree>) -> Tree) -> Vec<Tree> {
    list.into_iter().flat_map(|tree| flattened(tree, make)).collect()
}

/// A comparison of a field.
struct Test {
    name: String,
    place: Place,
    comparison: Comparison,
    /// Operands that stand for themselves.
    single: Vec<(Operand, Place)>,
    /// Operands that stand for several values: the first and the last of them.
    spans: Vec<(Operand, Operand, Place)>,
}

impl Test {
    fn into_tree(self) -> Tree {
        use Comparison::{Equal, Greater, GreaterOrEqual, In, Less, LessOrEqual, NotEqual, NotIn};
        let Self { name, place, comparison, single, spans } = self;
        let compare = |comparison, operands| {
            let predicate = Predicate::Compare { comparison, operands };
            Tree::Test { name: name.clone(), place, predicate }
        };
        if spans.is_empty() {
            return compare(comparison, single);
        }
        let mut parts = Vec::with_capacity(spans.len() + 1);
        if !single.is_empty() {
            parts.push(compare(comparison, single));
        }
        let outside = matches!(comparison, NotEqual | NotIn);
        for (first, last, at) in spans {
            let one = |comparison, operand| compare(comparison, vec![(operand, at)]);
            match comparison {
                Equal | In => {
                    let both = vec![one(GreaterOrEqual, first), one(LessOrEqual, last)];
                    parts.push(Tree::And(both));
                }
                NotEqual | NotIn => parts.push(Tree::Or(vec![one(Less, first), one(Greater, last)])),
                Less | GreaterOrEqual => parts.push(one(comparison, first)),
                _ => parts.push(one(comparison, last)),
            }
        }
        match <[Tree; 1]>::try_from(parts) {
            Ok([only]) => only,
            Err(parts) if outside => Tree::And(parts),
            Err(parts) => Tree::Or(parts),
        }
    }
}
