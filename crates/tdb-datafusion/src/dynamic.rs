//! Dynamic filters, which other operators of a plan make while it runs: the keys that a join has
//! collected on its other side, and the worst row that a top-k sort still keeps.
//!
//! A read applies the state that such filters have when it begins. So that it learns more as the
//! sort proceeds, a partition is read in several parts, each with the state of that moment.

use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::common::Column as Name;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr as Binary, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};
use tdb_array::query::QueryCondition;

use crate::pushdown::PushedFilters;
use crate::state::TableState;
use crate::thresholds::MAX_FILTER_DEPTH;

/// Filters on the columns of a scan that become stricter while a plan runs. Rows that do not pass
/// them are not needed, but may be returned.
#[derive(Clone, Debug, Default)]
pub(crate) struct DynamicFilters {
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Whether they excluded rows when the first partition began.
    from_join: Arc<OnceLock<bool>>,
}

impl DynamicFilters {
    /// Adds those of the filters that change while a plan runs: they count their states, beginning
    /// at 1.
    pub(crate) fn and(&self, filters: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>) -> Self {
        let more = filters.into_iter().filter(|filter| snapshot_generation(filter) != 0);
        Self { filters: self.filters.iter().cloned().chain(more).collect(), from_join: Arc::default() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.filters.len()
    }

    pub(crate) fn filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.filters
    }

    /// Whether the filters excluded rows before the first row of the scan: then they are those of a
    /// join, which knows its other side, and do not change.
    pub(crate) fn are_from_join(&self, state: &TableState) -> bool {
        *self.from_join.get_or_init(|| self.now(state).is_some())
    }

    /// The condition that the filters now put on the cells of a sparse array. `None` if they
    /// exclude none. A filter that cannot be translated excludes none: the operator that made it
    /// filters again.
    pub(crate) fn now(&self, state: &TableState) -> Option<CurrentFilter> {
        let filters: Vec<Expr> = self
            .filters
            .iter()
            .filter_map(|filter| snapshot_physical_expr(filter.clone()).ok())
            .filter_map(|filter| logical(&filter, MAX_FILTER_DEPTH))
            .collect();
        let pushed = PushedFilters::as_condition(&filters, &state.table);
        match pushed {
            _ if filters.is_empty() => None,
            PushedFilters { nothing: true, .. } => Some(CurrentFilter::Nothing),
            PushedFilters { condition: Some(condition), .. } => Some(CurrentFilter::Where(condition)),
            PushedFilters { .. } => None,
        }
    }
}

impl fmt::Display for DynamicFilters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, filter) in self.filters.iter().enumerate() {
            write!(f, "{}{filter}", if index > 0 { " AND " } else { "" })?;
        }
        Ok(())
    }
}

/// The state of dynamic filters at one time.
#[derive(Debug)]
pub(crate) enum CurrentFilter {
    /// No row is needed any more.
    Nothing,
    /// Only these rows are needed.
    Where(QueryCondition),
}

/// Translates a physical filter back to the logical expression that it was made of. Parts of `AND`
/// that cannot be translated are left out. `None` if nothing is left.
fn logical(filter: &Arc<dyn PhysicalExpr>, depth: usize) -> Option<Expr> {
    let depth = depth.checked_sub(1)?;
    let inner = |filter: &Arc<dyn PhysicalExpr>| logical(filter, depth).map(Box::new);
    if let Some(column) = filter.downcast_ref::<Column>() {
        return Some(Expr::Column(Name::from_name(column.name())));
    }
    if let Some(literal) = filter.downcast_ref::<Literal>() {
        return Some(Expr::Literal(literal.value().clone(), None));
    }
    if let Some(binary) = filter.downcast_ref::<Binary>() {
        use datafusion::logical_expr::Operator;
        let sides = (inner(binary.left()), inner(binary.right()));
        return match (*binary.op(), sides) {
            (op, (Some(left), Some(right))) => Some(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            // A row that passes both sides passes one.
            (Operator::And, (Some(one), None) | (None, Some(one))) => Some(*one),
            _ => None,
        };
    }
    if let Some(list) = filter.downcast_ref::<InListExpr>() {
        let values = list.list().iter().map(|value| logical(value, depth)).collect::<Option<Vec<_>>>()?;
        return Some(Expr::InList(InList {
            expr: inner(list.expr())?,
            list: values,
            negated: list.negated(),
        }));
    }
    if let Some(null) = filter.downcast_ref::<IsNullExpr>() {
        return Some(Expr::IsNull(inner(null.arg())?));
    }
    if let Some(null) = filter.downcast_ref::<IsNotNullExpr>() {
        return Some(Expr::IsNotNull(inner(null.arg())?));
    }
    // Below a negation or a cast, nothing may be left out.
    if let Some(not) = filter.downcast_ref::<NotExpr>() {
        return complete(not.arg(), depth).map(|inner| Expr::Not(Box::new(inner)));
    }
    if let Some(cast) = filter.downcast_ref::<CastExpr>() {
        let inner = complete(cast.expr(), depth)?;
        return Some(datafusion::logical_expr::cast(inner, cast.cast_type().clone()));
    }
    None
}

/// As [`logical`], but `None` if any part of the filter cannot be translated.
fn complete(filter: &Arc<dyn PhysicalExpr>, depth: usize) -> Option<Expr> {
    let below = depth.checked_sub(1)?;
    let all = filter.children().iter().all(|part| complete(part, below).is_some());
    all.then(|| logical(filter, depth)).flatten()
}
