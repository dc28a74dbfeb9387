//! Clauses of queries.

use datafusion::sql::sqlparser::ast::{
    Cte, CteAsMaterialized, Distinct, GroupByExpr, Join, JoinConstraint, JoinOperator, OrderBy, OrderByKind,
    PipeOperator, Query, Select, SelectFlavor, SelectInto, SelectItem, SetExpr, SetOperator, SetQuantifier,
    TableAlias, TableFactor, WildcardAdditionalOptions, With,
};

use super::{refuse_if, refused};
use crate::Result;

pub(super) fn query(query: &mut Query) -> Result<()> {
    let Query {
        with,
        body,
        order_by,
        limit_clause: _,
        fetch: _,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    refuse_if(!locks.is_empty(), "FOR UPDATE or FOR SHARE", "queries lock nothing; leave it out")?;
    refuse_if(for_clause.is_some(), "FOR XML, FOR JSON or FOR BROWSE", "results are rows; leave it out")?;
    refuse_if(settings.is_some(), "SETTINGS", "write SET name = value before the query")?;
    refuse_if(
        format_clause.is_some(),
        "FORMAT",
        "the program chooses the format of its results; leave it out",
    )?;
    if let Some(with) = with {
        let With { with_token: _, recursive, cte_tables } = with;
        for table in cte_tables {
            common_table(table, *recursive)?;
        }
    }
    set_operation(body)?;
    let is_all = matches!(order_by, Some(OrderBy { kind: OrderByKind::All(_), .. }));
    if is_all && !matches!(body.as_ref(), SetExpr::Select(_)) {
        return refused("ORDER BY ALL behind UNION, INTERSECT, EXCEPT or VALUES", "name the columns");
    }
    for operator in pipe_operators {
        if let PipeOperator::Aggregate { full_table_exprs, group_by_expr } = operator {
            let mut all = full_table_exprs.iter().chain(group_by_expr.iter());
            let is_ordered = all.any(|one| one.order_by.asc.is_some() || one.order_by.nulls_first.is_some());
            refuse_if(is_ordered, "an order inside |> AGGREGATE", "write |> ORDER BY behind it")?;
        }
        if let PipeOperator::As { alias: _ } = operator {
            continue;
        }
        if let PipeOperator::Join(join) = operator {
            check_join(join)?;
        }
    }
    Ok(())
}

/// `INTERSECT ALL` and `EXCEPT ALL` count equal rows, and the joins that the planner makes of them
/// do not.
fn set_operation(body: &SetExpr) -> Result<()> {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return Ok(()) };
    let counts = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
    let is_join = matches!(op, SetOperator::Intersect | SetOperator::Except | SetOperator::Minus);
    refuse_if(
        counts && is_join,
        &format!("{op} {set_quantifier}"),
        &format!("write {op}, or number equal rows by row_number() OVER (PARTITION BY …) before it"),
    )?;
    set_operation(left)?;
    set_operation(right)
}

fn common_table(table: &Cte, recursive: bool) -> Result<()> {
    let Cte { alias, query, from, materialized, closing_paren_token: _ } = table;
    check_alias(alias)?;
    refuse_if(from.is_some(), "FROM behind a query of WITH", "leave it out")?;
    refuse_if(
        matches!(materialized, Some(CteAsMaterialized::Materialized)),
        "AS MATERIALIZED",
        "each use of a query of WITH is planned for itself; write AS, or CREATE TABLE … AS before the query",
    )?;
    let is_union = matches!(query.body.as_ref(), SetExpr::SetOperation { op: SetOperator::Union, .. });
    if recursive && is_union {
        // The planner takes the two sides of the union, and nothing that is around them.
        let inside = "move it to the query that reads the table";
        refuse_if(query.limit_clause.is_some(), "LIMIT or OFFSET in a query of WITH RECURSIVE", inside)?;
        refuse_if(query.fetch.is_some(), "FETCH in a query of WITH RECURSIVE", inside)?;
        refuse_if(query.order_by.is_some(), "ORDER BY in a query of WITH RECURSIVE", inside)?;
        let before = "write it before the recursive query, in the same list";
        refuse_if(query.with.is_some(), "WITH inside a query of WITH RECURSIVE", before)?;
        refuse_if(!query.pipe_operators.is_empty(), "|> in a query of WITH RECURSIVE", inside)?;
    }
    Ok(())
}

pub(super) fn select(select: &mut Select) -> Result<()> {
    let Select {
        select_token: _,
        // These are comments, which other databases may leave unread, too.
        optimizer_hints: _,
        distinct,
        select_modifiers,
        top: _,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views: _,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by: _,
        distribute_by: _,
        sort_by: _,
        having: _,
        named_window: _,
        qualify: _,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    if *flavor == SelectFlavor::FromFirstNoSelect && projection.is_empty() {
        *flavor = SelectFlavor::FromFirst;
        projection.push(SelectItem::Wildcard(WildcardAdditionalOptions::default()));
    }
    refuse_if(select_modifiers.is_some(), "a modifier of SELECT from MySQL", "leave it out")?;
    refuse_if(
        exclude.is_some(),
        "EXCLUDE behind other columns",
        "write it behind *, as in SELECT * EXCLUDE (a)",
    )?;
    refuse_if(
        prewhere.is_some(),
        "PREWHERE",
        "write the condition in WHERE: tiles that it excludes are not read",
    )?;
    refuse_if(!connect_by.is_empty(), "CONNECT BY", "write WITH RECURSIVE")?;
    refuse_if(
        value_table_mode.is_some(),
        "SELECT AS VALUE or AS STRUCT",
        "select the columns, or struct(…)",
    )?;
    if let Some(SelectInto { temporary: _, unlogged, table: _, name: _ }) = into {
        refuse_if(*unlogged, "UNLOGGED", "leave it out")?;
    }
    if let Some(Distinct::On(columns)) = distinct {
        refuse_if(columns.is_empty(), "DISTINCT ON without columns", "name them")?;
    }
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
    if let Some(modifier) = modifiers.first() {
        let instead = "write GROUP BY ROLLUP (…), CUBE (…) or GROUPING SETS (…)";
        return refused(&format!("GROUP BY … {modifier}"), instead);
    }
    from.iter_mut().flat_map(|tables| &mut tables.joins).try_for_each(check_join)
}

/// `SEMI JOIN` and `ANTI JOIN` are those of the left side.
fn check_join(join: &mut Join) -> Result<()> {
    let Join { relation, global, join_operator } = join;
    let is_lateral = matches!(
        relation,
        TableFactor::Derived { lateral: true, .. }
            | TableFactor::Function { lateral: true, .. }
            | TableFactor::UNNEST { .. }
    );
    refuse_if(*global, "GLOBAL JOIN", "write JOIN")?;
    let newest = "number the rows of each place: row_number() OVER (PARTITION BY … ORDER BY … DESC), and take those with 1";
    match join_operator {
        JoinOperator::Semi(constraint) => {
            *join_operator = JoinOperator::LeftSemi(constraint.clone());
            Ok(())
        }
        JoinOperator::Anti(constraint) => {
            *join_operator = JoinOperator::LeftAnti(constraint.clone());
            Ok(())
        }
        JoinOperator::AsOf { .. } => refused("ASOF JOIN", &format!("write JOIN … ON with >=, and {newest}")),
        JoinOperator::CrossApply | JoinOperator::OuterApply => {
            refused("APPLY", "write CROSS JOIN LATERAL or LEFT JOIN LATERAL … ON true")
        }
        JoinOperator::Join(JoinConstraint::None)
        | JoinOperator::Inner(JoinConstraint::None)
        | JoinOperator::Left(JoinConstraint::None)
        | JoinOperator::LeftOuter(JoinConstraint::None)
        | JoinOperator::Right(JoinConstraint::None)
        | JoinOperator::RightOuter(JoinConstraint::None)
        | JoinOperator::FullOuter(JoinConstraint::None)
            if !is_lateral =>
        {
            refused("JOIN without ON or USING", "write the condition, or CROSS JOIN for all pairs")
        }
        JoinOperator::StraightJoin(_) => refused("STRAIGHT_JOIN", "write JOIN"),
        JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
            refused("ARRAY JOIN", "write unnest(…)")
        }
        _ => Ok(()),
    }
}

fn check_alias(alias: &TableAlias) -> Result<()> {
    let TableAlias { explicit: _, name: _, columns, at } = alias;
    refuse_if(at.is_some(), "AT behind the name of a table", "leave it out")?;
    let typed = columns.iter().any(|column| column.data_type.is_some());
    refuse_if(typed, "a type in a list of columns", "leave it out, and CAST where the column is used")
}

/// Tables behind FROM and JOIN. Those of kinds that are not here the planner refuses itself.
pub(super) fn table_factor(factor: &mut TableFactor) -> Result<()> {
    let no_sample = "write WHERE random() < 0.1 for a tenth of the rows";
    let no_order = "write row_number() OVER ()";
    let alias = match factor {
        TableFactor::Table {
            name,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            refuse_if(sample.is_some(), "TABLESAMPLE", no_sample)?;
            let at = format!(
                "for a past state of an array, write CREATE EXTERNAL TABLE before STORED AS TILEDB LOCATION '{}' \
                 OPTIONS (timestamp '…')",
                name.to_string().trim_matches(['\'', '"'])
            );
            refuse_if(version.is_some(), "a version of a table (FOR SYSTEM_TIME, AT, VERSION)", &at)?;
            refuse_if(
                !with_hints.is_empty(),
                "WITH (…) behind a table",
                "hints change no result; leave it out",
            )?;
            let hints = "hints change no result; leave it out";
            refuse_if(!index_hints.is_empty(), "an index behind a table", hints)?;
            refuse_if(!partitions.is_empty(), "PARTITION behind a table", "write a condition in WHERE")?;
            refuse_if(json_path.is_some(), "a path behind a table", "select the field")?;
            refuse_if(*with_ordinality, "WITH ORDINALITY", no_order)?;
            if let Some(args) = args {
                refuse_if(args.settings.is_some(), "SETTINGS", "leave it out")?;
            }
            alias
        }
        TableFactor::Derived { lateral: _, subquery: _, alias, sample } => {
            refuse_if(sample.is_some(), "TABLESAMPLE", no_sample)?;
            alias
        }
        TableFactor::Function { lateral: _, name: _, args: _, with_ordinality, alias } => {
            refuse_if(*with_ordinality, "WITH ORDINALITY", no_order)?;
            alias
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            table_with_joins.joins.iter_mut().try_for_each(check_join)?;
            alias
        }
        TableFactor::UNNEST { alias, .. } => alias,
        TableFactor::Pivot { .. } => {
            return refused("PIVOT", "write sum(x) FILTER (WHERE g = 1) for each value, with GROUP BY");
        }
        TableFactor::Unpivot { .. } => {
            return refused("UNPIVOT", "write a SELECT for each column, with UNION ALL between them");
        }
        _ => return Ok(()),
    };
    alias.iter().try_for_each(check_alias)
}
