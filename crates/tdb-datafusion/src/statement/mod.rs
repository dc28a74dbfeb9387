//! Statements, before DataFusion plans them.
//!
//! Its parser knows the clauses of many databases, and its planner drops some of them without a
//! word: `TABLESAMPLE`, `GROUP BY … WITH ROLLUP`, `DROP TABLE … CASCADE`. An answer that leaves out
//! a part of the question is wrong, so each of these either gets its meaning here or is refused by
//! its name. Structs are taken apart field by field: a field that a later version of the parser
//! adds must be looked at before this compiles.

mod clauses;
mod functions;
mod insert;
mod names;
mod statements;

use core::ops::ControlFlow;

use datafusion::common::{DataFusionError, not_impl_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, ExplainStatement, Statement};
use datafusion::sql::sqlparser::ast::{self, Expr, Query, Select, TableFactor, VisitMut, VisitorMut};

use self::names::Respelled;
use crate::Result;

/// Plans a statement, none of whose words DataFusion drops. Beside that, `FROM t` is
/// `SELECT * FROM t`, an expression without a name is named as it is written, names without quotes
/// are found in any case if only one is meant, names of arrays in a group
/// ([`TdbTableFactory::name_place`](crate::TdbTableFactory::name_place)) may have any number of
/// dots, and values that lack only the number of a row are those of the other columns.
///
/// # Errors
/// [`DataFusionError::NotImplemented`] with the name of a clause that would have no effect, and
/// with what to write instead; all errors of [`SessionState::statement_to_plan`].
pub async fn plan_statement(session: &SessionState, statement: Statement) -> Result<LogicalPlan> {
    let mut statement = prepared(statement, session)?;
    loop {
        // Before it knows how many columns the values have, DataFusion gives them types.
        insert::name_columns(&mut statement, session).await?;
        let error = match session.statement_to_plan(statement.clone()).await {
            Ok(plan) => return Ok(plan),
            Err(error) => error,
        };
        // Each round puts quotes around a name that had none, so this ends.
        if !Respelled::of(&error).is_some_and(|name| name.apply(&mut statement)) {
            return Err(error);
        }
    }
}

/// The statement with what DataFusion does not do itself.
fn prepared(mut statement: Statement, session: &SessionState) -> Result<Statement> {
    if let Statement::CreateExternalTable(table) = &statement {
        statements::external_table(table)?;
    }
    if let Statement::CopyTo(CopyToStatement { source: CopyToSource::Relation(relation), .. }) =
        &mut statement
    {
        names::join_path(relation, session);
    }
    match visit_all(&mut statement, &mut Clauses { session }) {
        ControlFlow::Continue(()) => Ok(statement),
        ControlFlow::Break(refused) => Err(refused),
    }
}

/// Visits the nodes of all that the parser of SQL makes; DataFusion's own parser makes the rest.
fn visit_all<V: VisitorMut>(statement: &mut Statement, visitor: &mut V) -> ControlFlow<V::Break> {
    match statement {
        Statement::Statement(statement) => statement.visit(visitor),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(visitor),
        Statement::Explain(ExplainStatement { options: _, statement }) => visit_all(statement, visitor),
        Statement::CopyTo(_) | Statement::CreateExternalTable(_) | Statement::Reset(_) => {
            ControlFlow::Continue(())
        }
    }
}

/// An error that a clause has no effect.
fn refused<T>(clause: &str, instead: &str) -> Result<T> {
    not_impl_err!("{clause} is not supported: {instead}")
}

/// Refuses a clause if it is there.
fn refuse_if(is_there: bool, clause: &str, instead: &str) -> Result<()> {
    if is_there { refused(clause, instead) } else { Ok(()) }
}

/// Looks at each node of a statement.
struct Clauses<'a> {
    session: &'a SessionState,
}

/// What a visitor returns for a check.
fn flow(checked: Result<()>) -> ControlFlow<DataFusionError> {
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(refused) => ControlFlow::Break(refused),
    }
}

impl VisitorMut for Clauses<'_> {
    type Break = DataFusionError;

    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<Self::Break> {
        flow(statements::check(statement))
    }

    fn pre_visit_relation(&mut self, relation: &mut ast::ObjectName) -> ControlFlow<Self::Break> {
        names::join_path(relation, self.session);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        names::order_by_all(query);
        names::order_by_position(query);
        flow(clauses::query(query))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        names::name_expressions(select);
        flow(clauses::select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        flow(clauses::table_factor(factor))
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Self::Break> {
        functions::escape(expression);
        flow(functions::expression(expression, self.session))
    }
}

#[cfg(test)]
mod tests;
