//! Joins several `IN` lists of constants over one expression into one list.
//!
//! The optimizer joins `x IN (1, 2) AND x IN (2, 3)` too. But if nothing is left, it makes `false`
//! or `true` of it even where `x` is null, and it considers two constants different if they are
//! written differently. After this module there is nothing left for it to join.

use std::collections::HashSet;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, binary_expr, lit};

use super::position::values_of;
use super::{Comparisons, always, never};

/// A term of a chain: a list, or anything else.
enum Term {
    List(ValueSet),
    Other(Expr),
}

/// The values in a list, or all others.
struct ValueSet {
    expr: Expr,
    negated: bool,
    values: Vec<ScalarValue>,
}

impl Comparisons<'_> {
    /// A chain of `AND` or of `OR` with one list for each expression; `None` if it has no more than
    /// that.
    pub(super) fn joined_lists(&self, chain: &Expr, op: Operator) -> Option<Expr> {
        let mut terms = Vec::new();
        flatten(chain, op, &mut terms);
        terms.iter().filter(|term| list_of(term).is_some()).nth(1)?;
        let (mut kept, mut joined): (Vec<Term>, bool) = (Vec::with_capacity(terms.len()), false);
        for term in terms {
            let Some(set) = self.set(term) else {
                kept.push(Term::Other(term.clone()));
                continue;
            };
            let same = kept.iter_mut().find_map(|other| match other {
                Term::List(other) if other.expr == set.expr => Some(other),
                _ => None,
            });
            match same {
                Some(other) => {
                    joined = true;
                    other.join(set, op);
                }
                None => kept.push(Term::List(set)),
            }
        }
        let terms = kept.into_iter().map(|term| match term {
            Term::List(set) => set.into_expr(),
            Term::Other(expr) => expr,
        });
        terms.reduce(|left, right| binary_expr(left, op, right)).filter(|_| joined)
    }

    /// The set of a list of constants.
    fn set(&self, expr: &Expr) -> Option<ValueSet> {
        let (InList { expr, list, .. }, negated) = list_of(expr)?;
        let own = self.type_of(expr)?;
        let values = list.iter().map(|element| {
            let value = self.constant(element).filter(|value| !value.is_null())?;
            value.cast_to(values_of(&own)).ok()
        });
        let values = values.collect::<Option<Vec<_>>>()?;
        (!expr.is_volatile()).then(|| ValueSet { expr: (**expr).clone(), negated, values })
    }
}

impl ValueSet {
    /// The values in both sets (`AND`), or in at least one of them (`OR`).
    fn join(&mut self, mut other: Self, op: Operator) {
        // A value in neither of two sets is not in their union: `OR` is `AND` of the complements.
        let both = op == Operator::And;
        match (self.negated != both, other.negated != both) {
            (true, true) => self.keep(&other, true),
            (false, false) => {
                other.keep(self, false);
                self.values.append(&mut other.values);
            }
            (true, false) => self.keep(&other, false),
            (false, true) => {
                other.keep(self, false);
                *self = other;
            }
        }
    }

    /// Keeps the values that are listed in another set, or those that are not.
    fn keep(&mut self, other: &Self, listed: bool) {
        let others: HashSet<_> = other.values.iter().collect();
        self.values.retain(|value| others.contains(value) == listed);
    }

    fn into_expr(self) -> Expr {
        match (self.values.is_empty(), self.negated) {
            (true, true) => always(&self.expr),
            (true, false) => never(&self.expr),
            (false, negated) => self.expr.in_list(self.values.into_iter().map(lit).collect(), negated),
        }
    }
}

/// A list, and whether its negation is meant.
fn list_of(expr: &Expr) -> Option<(&InList, bool)> {
    match expr {
        Expr::InList(list) => Some((list, list.negated)),
        Expr::Not(inner) => list_of(inner).map(|(list, negated)| (list, !negated)),
        _ => None,
    }
}

/// The terms of a chain of one operator.
fn flatten<'a>(expr: &'a Expr, op: Operator, terms: &mut Vec<&'a Expr>) {
    let mut left = vec![expr];
    while let Some(expr) = left.pop() {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left: first, op: own, right }) if *own == op => {
                left.extend([right.as_ref(), first.as_ref()]);
            }
            term => terms.push(term),
        }
    }
}
