//! Calls of functions and casts.

use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, ObjectNamePart, UnaryOperator, Value,
    ValueWithSpan,
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
        // The planner takes it for a regular expression that may stand anywhere in the text.
        Expr::SimilarTo { .. } => refused("SIMILAR TO", "write LIKE, or ~ '^(…)$' with a regular expression"),
        Expr::BinaryOp {
            op: BinaryOperator::DuckIntegerDivide | BinaryOperator::MyIntegerDivide, ..
        } => refused("//", "write /: the quotient of integers is an integer"),
        Expr::BinaryOp { op: BinaryOperator::PGOverlap, .. } => refused("&&", "write AND"),
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, .. } => refused("~x", "write -1 - x"),
        _ => Ok(()),
    }
}

/// Writes `LIKE 'a#_b' ESCAPE '#'` with the escape that the planner knows, the backslash.
pub(super) fn escape(expression: &mut Expr) {
    let (Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. }) = expression
    else {
        return;
    };
    let Some(Value::SingleQuotedString(escape)) = escape_char.as_ref().map(|escape| &escape.value) else {
        return;
    };
    let mut chars = escape.chars();
    let escape = (chars.next(), chars.next());
    let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = pattern.as_mut() else {
        return;
    };
    // An empty text says that there is no escape.
    let escape = match escape {
        (Some('\\'), None) => return,
        (escape, None) => escape,
        _ => return,
    };
    let (mut written, mut is_escaped) = (String::with_capacity(text.len()), false);
    for c in text.chars() {
        match c {
            c if !is_escaped && Some(c) == escape => is_escaped = true,
            c => {
                if is_escaped && matches!(c, '%' | '_') || c == '\\' {
                    written.push('\\');
                }
                written.push(c);
                is_escaped = false;
            }
        }
    }
    if is_escaped {
        // An escape at the end escapes nothing: the planner refuses it.
        return;
    }
    *text = written;
    *escape_char = None;
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
    let has_star = list.is_some_and(|list| {
        let is_star = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
        list.args.iter().any(is_star)
    });
    let counts = shown.eq_ignore_ascii_case("count");
    refuse_if(has_star && !counts, &format!("{shown}(*)"), "name a column; only count takes *")?;
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
