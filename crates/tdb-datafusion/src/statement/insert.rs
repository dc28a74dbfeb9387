//! `INSERT INTO name …` without a list of columns.

use datafusion::common::plan_err;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{self, Ident, Insert, ObjectName, Query, SetExpr, TableObject};
use tdb_array::Array;
use tdb_array::schema::ArrayType;

use crate::Result;
use crate::table::TdbTable;

/// Names the columns of an INSERT into an array that numbers its rows, if its values have one
/// column fewer than the array: they are all columns but the number. Numbers of columns that do
/// not go together are an error that names the columns.
pub(super) async fn name_columns(statement: &mut Statement, session: &SessionState) -> Result<()> {
    let Statement::Statement(statement) = statement else { return Ok(()) };
    let ast::Statement::Insert(insert) = statement.as_mut() else { return Ok(()) };
    let TableObject::TableName(name) = &insert.table else { return Ok(()) };
    let Some(source) = &insert.source else { return Ok(()) };
    let Some(table) = named(name, session).await else { return Ok(()) };
    let Some(given) = width(source, session).await else { return Ok(()) };
    let schema = table.schema();
    let all: Vec<&str> = schema.fields().map(|field| field.name).collect();
    let wanted = if insert.columns.is_empty() { all.len() } else { insert.columns.len() };
    if given == wanted {
        return Ok(());
    }
    let numbers = schema.domain.row_numbers(ArrayType::Sparse);
    let numbers = numbers.filter(|_| schema.array_type == ArrayType::Sparse);
    match numbers {
        Some(numbers) if insert.columns.is_empty() && given.checked_add(1) == Some(wanted) => {
            let others = all.iter().filter(|name| **name != numbers.name);
            insert.columns = others.map(|name| Ident::with_quote('"', *name).into()).collect();
            Ok(())
        }
        _ => mismatch(insert, given, wanted, &all),
    }
}

/// The error of numbers of columns that do not go together.
fn mismatch(insert: &Insert, given: usize, wanted: usize, all: &[&str]) -> Result<()> {
    let table = &insert.table;
    let columns = |count: usize| if count == 1 { "1 column".to_owned() } else { format!("{count} columns") };
    let (given, wanted) = (columns(given), columns(wanted));
    if insert.columns.is_empty() {
        let all = all.join(", ");
        return plan_err!(
            "the values have {given}, and {table} has {wanted} ({all}): INSERT INTO {table} (…) names those that the values are for"
        );
    }
    plan_err!("the values have {given}, and INSERT INTO {table} (…) names {wanted}")
}

/// The array that a statement names, if it is one. What is wrong with a name, its planning says.
async fn named(name: &ObjectName, session: &SessionState) -> Option<Array> {
    let name = object_name_to_table_reference(name.clone(), true).ok()?;
    let schema = session.schema_for_ref(name.clone()).ok()?;
    let table = schema.table(name.table()).await.ok()??;
    Some(table.downcast_ref::<TdbTable>()?.array())
}

/// The number of columns of a query; `None` if it cannot be planned, which has an error of its own.
async fn width(query: &Query, session: &SessionState) -> Option<usize> {
    if let SetExpr::Values(values) = query.body.as_ref() {
        return values.rows.first().map(|row| row.content.len());
    }
    let query = Statement::Statement(Box::new(ast::Statement::Query(Box::new(query.clone()))));
    let plan = session.statement_to_plan(query).await.ok()?;
    Some(plan.schema().fields().len())
}
