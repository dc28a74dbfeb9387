//! Names of results, and names as people write them.

use core::ops::ControlFlow;
use std::collections::BTreeSet;

use datafusion::common::{Column, DataFusionError, SchemaError, TableReference};
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    self, AssignmentTarget, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, OrderBy,
    OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Value,
    VisitorMut,
};

/// Gives each expression in a list of columns the name under which the statement has it:
/// DataFusion names it after its plan (`sum(t.a) + Int64(1)`).
pub(super) fn name_expressions(select: &mut Select) {
    if select.distinct.is_some() && has_wildcard(select) {
        // An order could not say which column it means (`order_by_position`).
        return;
    }
    let mut taken = BTreeSet::new();
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expression) = item else { continue };
        if has_own_name(expression) {
            continue;
        }
        let text = expression.to_string();
        let mut name = text.clone();
        let mut number = 1u32;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{text} ({number})");
        }
        let alias = Ident::with_quote('"', name);
        *item = SelectItem::ExprWithAlias { expr: expression.clone(), alias };
    }
}

/// Names the columns of an order by their positions where rows are distinct: DataFusion wants to
/// see there the expressions that it has selected, and does not see them behind their names.
pub(super) fn order_by_position(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else { return };
    let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = &mut query.order_by else { return };
    if select.distinct.is_none() || has_wildcard(select) {
        return;
    }
    for one in order {
        let is_same = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(own) if *own == one.expr);
        if !has_own_name(&one.expr)
            && let Some(at) = select.projection.iter().position(is_same)
        {
            one.expr = Expr::value(Value::Number((at + 1).to_string(), false));
        }
    }
}

/// `ORDER BY ALL`, which the parser takes for the name of a column: the positions of all columns,
/// because DataFusion takes nothing but names of columns behind it. What the positions of `*` are
/// is not known here, but all of them are names.
pub(super) fn order_by_all(query: &mut Query) {
    let select = match query.body.as_ref() {
        SetExpr::Select(select) => Some(select),
        _ => None,
    };
    let Some(OrderBy { kind, .. }) = &mut query.order_by else { return };
    if let OrderByKind::Expressions(list) = kind
        && let [OrderByExpr { expr: Expr::Identifier(name), options, with_fill: None }] = list.as_slice()
        && name.quote_style.is_none()
        && name.value.eq_ignore_ascii_case("all")
        && !select.is_some_and(|select| select.projection.iter().any(is_named_all))
    {
        let options = *options;
        *kind = match select {
            Some(select) if !has_wildcard(select) => {
                let position = |number: usize| OrderByExpr {
                    expr: Expr::value(Value::Number(number.to_string(), false)),
                    options,
                    with_fill: None,
                };
                OrderByKind::Expressions((1..=select.projection.len()).map(position).collect())
            }
            _ => OrderByKind::All(options),
        };
    }
}

/// Whether a column of a result has the name `all`, which an order can mean, too.
fn is_named_all(item: &SelectItem) -> bool {
    let name = match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last(),
        _ => None,
    };
    name.is_some_and(|name| name.value.eq_ignore_ascii_case("all"))
}

fn has_wildcard(select: &Select) -> bool {
    let is_wildcard =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    select.projection.iter().any(is_wildcard)
}

/// Columns have names of their own, and lists and structs that become rows and columns have many.
fn has_own_name(expression: &Expr) -> bool {
    match expression {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } => true,
        Expr::Nested(inner) => has_own_name(inner),
        other => other.to_string().to_ascii_lowercase().contains("unnest"),
    }
}

/// A name that a statement has in another case than what it names.
pub(super) enum Respelled {
    /// A column and, where it was written with one, its table, with their names as they are.
    Column { name: String, table: Option<String> },
    /// A table, with its name in lower case.
    Table { name: String },
}

impl Respelled {
    /// The name that an error is about, if only its case is wrong.
    pub(super) fn of(error: &DataFusionError) -> Option<Self> {
        match error.find_root() {
            DataFusionError::SchemaError(error, _) => {
                let SchemaError::FieldNotFound { field, valid_fields } = error.as_ref() else { return None };
                let written = field.relation.as_ref().map(TableReference::table);
                let is_same = |valid: &&Column| {
                    let table = valid.relation.as_ref().map(TableReference::table);
                    same(&valid.name, &field.name)
                        && written.is_none_or(|written| table.is_some_and(|table| same(table, written)))
                };
                let named = |valid: &Column| {
                    let table = written.and(valid.relation.as_ref()).map(|table| table.table().to_owned());
                    (valid.name.clone(), table)
                };
                let found: BTreeSet<_> = valid_fields.iter().filter(is_same).map(named).collect();
                let mut found = found.into_iter();
                let ((name, table), more) = (found.next()?, found.next());
                let differs = name != field.name || table.as_deref() != written;
                (more.is_none() && differs).then_some(Self::Column { name, table })
            }
            DataFusionError::Plan(message) => {
                let name = message.strip_prefix("table 'datafusion.public.")?.strip_suffix("' not found")?;
                Some(Self::Table { name: name.to_owned() })
            }
            _ => None,
        }
    }

    /// Writes the name as it is; says whether the statement had it in another case.
    pub(super) fn apply(&self, statement: &mut Statement) -> bool {
        let mut respell = Respell { respelled: self, done: false };
        // It never stops before the end.
        let _ = super::visit_all(statement, &mut respell);
        respell.done
    }
}

struct Respell<'a> {
    respelled: &'a Respelled,
    done: bool,
}

impl Respell<'_> {
    /// An identifier of a column: without quotes, its case says nothing.
    fn column(&mut self, identifier: &mut Ident) {
        if let Respelled::Column { name, table: None } = self.respelled {
            self.identifier(identifier, name);
        }
    }

    /// One of a column behind that of its table. Columns of other tables may have the same name in
    /// another case.
    fn column_of_table(&mut self, table: &mut Ident, identifier: &mut Ident) {
        let Respelled::Column { name, table: Some(of) } = self.respelled else { return };
        if same(&table.value, of) && same(&identifier.value, name) {
            self.identifier(table, of);
            self.identifier(identifier, name);
        }
    }

    fn identifier(&mut self, identifier: &mut Ident, name: &str) {
        if identifier.quote_style.is_none() && same(&identifier.value, name) {
            *identifier = Ident { value: name.to_owned(), quote_style: Some('"'), span: identifier.span };
            self.done = true;
        }
    }

    fn columns(&mut self, names: &mut [ObjectName]) {
        for name in names {
            if let [ObjectNamePart::Identifier(identifier)] = name.0.as_mut_slice() {
                self.column(identifier);
            }
        }
    }

    /// The name of a table, which keeps the case that it is written in.
    fn table(&mut self, table: &mut ObjectName) {
        let Respelled::Table { name } = self.respelled else { return };
        if let [ObjectNamePart::Identifier(identifier)] = table.0.as_mut_slice() {
            let differs = identifier.value != *name && identifier.value.to_lowercase() == *name;
            if identifier.quote_style.is_none() && differs {
                identifier.quote_style = Some('"');
                self.done = true;
            }
        }
    }

    fn tables(&mut self, tables: &mut TableWithJoins) {
        for join in &mut tables.joins {
            if let Some(JoinConstraint::Using(names)) = constraint(&mut join.join_operator) {
                self.columns(names);
            }
        }
    }
}

impl VisitorMut for Respell<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(identifier) = expression {
            self.column(identifier);
        } else if let Expr::CompoundIdentifier(identifiers) = expression
            && let [.., table, column] = identifiers.as_mut_slice()
        {
            self.column_of_table(table, column);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.from.iter_mut().for_each(|tables| self.tables(tables));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            self.tables(table_with_joins);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        self.table(relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<()> {
        if let ast::Statement::Insert(insert) = statement {
            self.columns(&mut insert.columns);
        } else if let ast::Statement::Update(update) = statement {
            for assignment in &mut update.assignments {
                if let AssignmentTarget::ColumnName(name) = &mut assignment.target {
                    self.columns(core::slice::from_mut(name));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name of an array in a named group, `e.rna.X.data`, with one dot: DataFusion knows no names
/// of more than three parts, and takes the first of three for a catalog. The name of a group is
/// found in any case.
pub(super) fn join_path(relation: &mut ObjectName, session: &SessionState) {
    let mut parts: Vec<&Ident> = relation.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    if parts.len() < 2 || parts.len() != relation.0.len() {
        return;
    }
    let options = &session.config().options().catalog;
    let catalogs = session.catalog_list();
    let first = parts.remove(0);
    if parts.len() > 1 && catalogs.catalog_names().contains(&first.value) {
        return;
    }
    let Some(catalog) = catalogs.catalog(&options.default_catalog) else { return };
    let schemas = catalog.schema_names();
    let is_quoted = first.quote_style.is_some();
    let mut named =
        schemas.iter().filter(|own| **own == first.value || (!is_quoted && same(own, &first.value)));
    let (Some(schema), None) = (named.next(), named.next()) else { return };
    let plain = match parts.as_slice() {
        [one] if one.quote_style.is_none() && *schema == first.value.to_lowercase() => return,
        [one] => (*one).clone(),
        several => Ident {
            value: several.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("."),
            quote_style: Some('"'),
            span: first.span,
        },
    };
    let schema = Ident { value: schema.clone(), quote_style: Some('"'), span: first.span };
    relation.0 = vec![ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(plain)];
}

/// Whether two names differ in case alone, or not at all.
fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn constraint(join: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match join {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}
