//! Statements other than queries.

use datafusion::sql::parser::CreateExternalTable;
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, CreateView, Delete, DescribeAlias, Insert, Statement,
    TableConstraint, Update,
};

use super::{refuse_if, refused};
use crate::Result;

/// Statements of kinds that are not here the planner takes whole, or refuses itself.
pub(super) fn check(statement: &Statement) -> Result<()> {
    match statement {
        Statement::Drop {
            object_type,
            if_exists: _,
            names: _,
            cascade,
            restrict,
            purge,
            temporary,
            table,
        } => {
            let only = "a name is dropped, and nothing else; leave it out";
            let of = |word: &str| format!("DROP {object_type} … {word}");
            // Schemas are dropped with their tables, or not.
            let is_schema = object_type.to_string() == "SCHEMA";
            refuse_if(*cascade && !is_schema, &of("CASCADE"), only)?;
            refuse_if(*restrict, &of("RESTRICT"), only)?;
            refuse_if(*purge, &of("PURGE"), only)?;
            refuse_if(*temporary, "DROP TEMPORARY", only)?;
            refuse_if(table.is_some(), &of("ON"), only)
        }
        Statement::CreateTable(CreateTable { columns, constraints, .. }) => table(columns, constraints),
        Statement::CreateView(CreateView { params, or_alter, secure, .. }) => {
            refuse_if(params.is_some(), "ALGORITHM, DEFINER or SQL SECURITY", "leave it out")?;
            refuse_if(*or_alter, "CREATE OR ALTER VIEW", "write CREATE OR REPLACE VIEW")?;
            refuse_if(*secure, "CREATE SECURE VIEW", "write CREATE VIEW")
        }
        Statement::CreateSchema {
            schema_name: _,
            if_not_exists: _,
            with,
            options,
            default_collate_spec,
            clone,
        } => {
            let is_more =
                with.is_some() || options.is_some() || default_collate_spec.is_some() || clone.is_some();
            refuse_if(is_more, "an option of CREATE SCHEMA", "write CREATE SCHEMA name")
        }
        Statement::Delete(Delete { from: _, limit, .. }) => {
            let instead = "DELETE takes all rows that satisfy the condition; make the condition stricter";
            refuse_if(limit.is_some(), "DELETE … LIMIT", instead)
        }
        Statement::Update(Update { table, .. }) => {
            refuse_if(!table.joins.is_empty(), "UPDATE with JOIN", "write a condition with IN (SELECT …)")
        }
        Statement::ExplainTable { describe_alias, hive_format, has_table_keyword: _, table_name: _ } => {
            refuse_if(
                hive_format.is_some(),
                &format!("{describe_alias} EXTENDED or FORMATTED"),
                "write DESCRIBE",
            )?;
            let is_explain = matches!(describe_alias, DescribeAlias::Explain);
            refuse_if(is_explain, "EXPLAIN of a table", "write DESCRIBE")
        }
        Statement::Explain { query_plan, estimate, options, .. } => {
            refuse_if(*query_plan, "EXPLAIN QUERY PLAN", "write EXPLAIN")?;
            refuse_if(*estimate, "EXPLAIN ESTIMATE", "write EXPLAIN")?;
            refuse_if(options.is_some(), "an option of EXPLAIN", "write EXPLAIN")
        }
        other => elsewhere(other),
    }
}

/// Statements of other databases: what does here what they do.
fn elsewhere(statement: &Statement) -> Result<()> {
    let (name, instead) = match statement {
        Statement::AlterTable(_) => {
            ("ALTER TABLE", "`tdb evolve` changes schemas: tdb evolve ARRAY --add 'x=int32?' --drop y")
        }
        Statement::Truncate(_) => {
            ("TRUNCATE", "DELETE FROM … WHERE … deletes cells, and `tdb rm` an array with its history")
        }
        Statement::Merge(_) => ("MERGE", "write UPDATE, or INSERT: it replaces the cells that are there"),
        Statement::Insert(Insert { on: Some(_), .. }) => {
            ("ON CONFLICT", "leave it out: a row replaces the cell that is at its coordinates")
        }
        Statement::CreateIndex(_) => (
            "CREATE INDEX",
            "cells are found by their coordinates, which OPTIONS (dims '…') of COPY … STORED AS TILEDB chooses",
        ),
        Statement::Vacuum(_) => {
            ("VACUUM", "`tdb consolidate` and `tdb vacuum` make one write of many, and remove those")
        }
        Statement::Use(_) => ("USE", "an array is named by its path or URL: FROM 'folder/array'"),
        Statement::StartTransaction { .. } | Statement::Commit { .. } | Statement::Rollback { .. } => {
            ("a transaction", "each statement takes effect as a whole, or not at all")
        }
        Statement::Pragma { .. } => ("PRAGMA", "DESCRIBE name lists columns, SHOW ALL settings"),
        Statement::ShowColumns { .. } => ("SHOW COLUMNS", "write DESCRIBE name"),
        _ => return Ok(()),
    };
    refused(name, instead)
}

/// Columns and constraints of a table that a statement makes.
fn table(columns: &[ColumnDef], constraints: &[TableConstraint]) -> Result<()> {
    let options = columns.iter().flat_map(|column| &column.options);
    for option in options.map(|option| &option.option) {
        match option {
            ColumnOption::Null | ColumnOption::NotNull | ColumnOption::Default(_) => {}
            other => return refused(&format!("{other} of a column"), UNCHECKED),
        }
    }
    match constraints.first() {
        Some(constraint) => refused(&constraint.to_string(), UNCHECKED),
        None => Ok(()),
    }
}

const UNCHECKED: &str = "tables have names, types, NOT NULL and DEFAULT; no row would be checked against it";

/// `CREATE EXTERNAL TABLE`.
pub(super) fn external_table(statement: &CreateExternalTable) -> Result<()> {
    table(&statement.columns, &statement.constraints)?;
    refuse_if(statement.temporary, "CREATE TEMPORARY EXTERNAL TABLE", "its name ends with the session anyhow")
}
