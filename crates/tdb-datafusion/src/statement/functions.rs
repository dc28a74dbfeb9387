//! Calls of functions and casts.

use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{
    DataType, DuplicateTreatment, Expr, Function, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, ObjectNamePart,
};

use super::{refuse_if, refused};
use crate::Result;

/// Functions for which it makes a difference whether nulls are left out, beside what their name
/// says: the others ignore the words.
const HEED_NULLS: [&str; 6] = ["first_value", "last_value", "nth_value", "lead", "lag", "array_agg"];

pub(super) fn expression(expression: &Expr, session: &SessionState) -> Result<()> {
    match expression {
        Expr::Function(function) => call(function, session),
        Expr::Cast { data_type, .. } => length(data_type),
        _ => Ok(()),
    }
}

/// The planner casts to text of any length.
fn length(data_type: &DataType) -> Result<()> {
    let (DataType::Varchar(length) | DataType::Nvarchar(length) | DataType::Char(length)) = data_type else {
        return Ok(());
    };
    let instead = "cast to VARCHAR, and write left(…, n) to shorten a text";
    refuse_if(length.is_some(), &format!("a cast to {data_type}"), instead)
}

fn call(function: &Function, session: &SessionState) -> Result<()> {
    let Function { name, uses_odbc_syntax: _, parameters, args, filter, null_treatment, over, within_group } =
        function;
    let shown = name.to_string();
    if *parameters != FunctionArguments::None {
        return refused(&format!("{shown}(…)(…)"), "write all arguments in one list");
    }
    let list = match args {
        FunctionArguments::None => None,
        FunctionArguments::Subquery(_) => {
            return refused(&format!("{shown}(SELECT …)"), "write the query in parentheses of its own");
        }
        FunctionArguments::List(list) => Some(list),
    };
    let is_distinct = list.is_some_and(|list| {
        let FunctionArgumentList { duplicate_treatment, args: _, clauses: _ } = list;
        matches!(duplicate_treatment, Some(DuplicateTreatment::Distinct))
    });
    let clauses = list.map_or(&[][..], |list| list.clauses.as_slice());
    let is_ordered = clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_)));
    let treats_nulls = null_treatment.is_some()
        || clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_)));
    let found = match name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] if name.quote_style.is_none() => name.value.to_lowercase(),
        [ObjectNamePart::Identifier(name)] => name.value.clone(),
        _ => shown.clone(),
    };
    let heeds_nulls = HEED_NULLS.contains(&found.as_str());
    let only_some = "only first_value, last_value, nth_value, lead, lag and array_agg tell nulls apart";
    refuse_if(treats_nulls && !heeds_nulls, &format!("IGNORE NULLS or RESPECT NULLS of {shown}"), only_some)?;
    let is_scalar = session.scalar_functions().contains_key(&found);
    let is_window = session.window_functions().contains_key(&found) && over.is_some();
    if !is_scalar && !is_window {
        return Ok(());
    }
    let of = |clause: &str| format!("{clause} of {shown}");
    let kind = if is_scalar { "it is no aggregate" } else { "it is a window function" };
    refuse_if(is_distinct, &of("DISTINCT"), kind)?;
    refuse_if(is_ordered, &of("ORDER BY"), kind)?;
    refuse_if(filter.is_some(), &of("FILTER"), kind)?;
    refuse_if(!within_group.is_empty(), &of("WITHIN GROUP"), kind)?;
    refuse_if(is_scalar && over.is_some(), &of("OVER"), kind)
}
