//! `UPDATE … SET … WHERE …`: the rows that satisfy the condition are read with all of their
//! columns, and written again with the new values.
//!
//! A rule of the session makes each such statement a write of rows that replaces the cells at their
//! coordinates, from a query of the table. So its condition and its values may be anything that a
//! query has, they are stored exactly or not at all, and all of them count at one moment.

use std::sync::Arc;

use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, not_impl_err, plan_err};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Cast, DmlStatement, Expr, LogicalPlan, Projection, WriteOp, cast};
use datafusion::optimizer::AnalyzerRule;

use crate::Result;
use crate::table::TdbTable;

/// Makes `UPDATE` of arrays a write of rows.
#[derive(Debug)]
pub(crate) struct Updates;

impl AnalyzerRule for Updates {
    fn name(&self) -> &str {
        "tiledb_updates"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_down(|plan| match plan {
            LogicalPlan::Dml(update) if is_update(&update) => {
                let input = rows(&update)?;
                let write = WriteOp::Insert(InsertOp::Replace);
                let target = Arc::clone(&update.target);
                let update = DmlStatement::new(update.table_name, target, write, Arc::new(input));
                Ok(Transformed::yes(LogicalPlan::Dml(update)))
            }
            plan => Ok(Transformed::no(plan)),
        })?;
        Ok(changed.data)
    }
}

fn is_update(statement: &DmlStatement) -> bool {
    matches!(statement.op, WriteOp::Update)
        && source_as_provider(&statement.target).is_ok_and(|table| table.is::<TdbTable>())
}

/// The rows of an UPDATE as an INSERT has them: values as they are given, and then a cast to the
/// type of each column that is set.
fn rows(update: &DmlStatement) -> Result<LogicalPlan> {
    let provider = source_as_provider(&update.target)?;
    let LogicalPlan::Projection(Projection { expr, input, .. }) = update.input.as_ref() else {
        return not_impl_err!("UPDATE of an array with anything but SET and WHERE");
    };
    let is_dimension = |name: &str| {
        let table = provider.downcast_ref::<TdbTable>();
        table.is_some_and(|table| table.array().schema().dimension_index(name).is_some())
    };
    let (mut given, mut stored) = (Vec::with_capacity(expr.len()), Vec::with_capacity(expr.len()));
    for (value, field) in expr.iter().zip(update.target.schema().fields()) {
        let name = field.name();
        let value = value.clone().unalias();
        let is_kept = matches!(&value, Expr::Column(column) if column.name == *name);
        if is_kept {
            given.push(value.alias(name));
            stored.push(Expr::Column(Column::from_name(name)));
            continue;
        }
        if is_dimension(name) {
            return plan_err!(
                "UPDATE … SET {name}: the coordinates of a cell cannot change; INSERT it at other ones, and DELETE it here"
            );
        }
        // DataFusion has put a cast around a value of another type.
        let value = match value {
            Expr::Cast(Cast { expr, field: to }) if to.data_type() == field.data_type() => *expr,
            value => value,
        };
        given.push(value.alias(name));
        stored.push(cast(Expr::Column(Column::from_name(name)), field.data_type().clone()).alias(name));
    }
    let given = LogicalPlan::Projection(Projection::try_new(given, Arc::clone(input))?);
    Ok(LogicalPlan::Projection(Projection::try_new(stored, Arc::new(given))?))
}
