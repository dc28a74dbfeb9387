//! The tables of a session: those that statements have made, and the arrays around it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tdb_array::Array;
use tdb_array::group::{ObjectType, object_type};
use tdb_array::storage::{LocalStorage, WriteStorage};
use tdb_datafusion::datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use tdb_datafusion::datafusion::logical_expr::TableType;
use tdb_datafusion::datafusion::prelude::SessionContext;
use tdb_datafusion::datafusion::sql::parser::Statement;
use tdb_datafusion::datafusion::sql::sqlparser::ast;

use super::session::Places;
use crate::failure::{Failure, Result};
use crate::thresholds::MAX_COMPLETED_ARRAYS;

/// Whether a statement is `SHOW TABLES`; DataFusion refuses it with more words.
pub(super) fn is_list(statement: &Statement) -> bool {
    let Statement::Statement(statement) = statement else { return false };
    let ast::Statement::ShowTables { extended, full, terse, history, external, show_options } =
        statement.as_ref()
    else {
        return false;
    };
    let ast::ShowStatementOptions { show_in, starts_with, limit, limit_from, filter_position } = show_options;
    let is_more = *extended || *full || *terse || *history || *external;
    let is_less = show_in.is_some() || starts_with.is_some() || limit.is_some() || limit_from.is_some();
    !is_more && !is_less && filter_position.is_none()
}

/// The names that statements have given to tables, in order.
pub(super) fn given(context: &SessionContext) -> Vec<String> {
    let options = context.state().config().options().catalog.clone();
    let schema =
        context.catalog(&options.default_catalog).and_then(|all| all.schema(&options.default_schema));
    let mut names = schema.map_or_else(Vec::new, |schema| schema.table_names());
    names.sort_unstable();
    names
}

/// The arrays of the groups that the command line names, in order.
pub(super) fn grouped(context: &SessionContext) -> Vec<String> {
    let options = context.state().config().options().catalog.clone();
    let Some(catalog) = context.catalog(&options.default_catalog) else { return Vec::new() };
    let own = |name: &String| *name != options.default_schema && name != "information_schema";
    let mut names = Vec::new();
    for group in catalog.schema_names().into_iter().filter(own) {
        let tables = catalog.schema(&group).map_or_else(Vec::new, |schema| schema.table_names());
        names.extend(tables.into_iter().map(|table| format!("{group}.{table}")));
    }
    names.sort_unstable();
    names
}

/// The tables that statements have made, those of the groups that the command line names, and the
/// arrays in the working folder.
pub(super) async fn list(context: &SessionContext) -> Result<RecordBatch> {
    let mut tables: Vec<(String, &str)> = Vec::new();
    for name in given(context) {
        let table = context.table_provider(name.as_str()).await;
        let kind = table.map_or("table", |table| match table.table_type() {
            TableType::View => "view",
            TableType::Base | TableType::Temporary => "table",
        });
        tables.push((name, kind));
    }
    tables.extend(grouped(context).into_iter().map(|name| (name, "array")));
    let mut arrays = arrays_in(Path::new("."))?;
    arrays.retain(|array| tables.iter().all(|(name, _)| name != array));
    tables.extend(arrays.into_iter().map(|name| (name, "array")));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(tables.iter().map(|(name, _)| name)));
    let kinds: ArrayRef = Arc::new(StringArray::from_iter_values(tables.iter().map(|(_, kind)| kind)));
    RecordBatch::try_from_iter([("table", names), ("kind", kinds)])
        .map_err(|error| Failure::Fault(error.to_string()))
}

/// The names of all tables, and those of the columns of arrays in the working folder, which a
/// prompt completes. What cannot be opened has none.
pub(super) fn names(context: &SessionContext) -> (Vec<String>, Vec<String>) {
    let mut tables = given(context);
    tables.extend(grouped(context));
    let arrays = arrays_in(Path::new(".")).unwrap_or_default();
    let mut columns = Vec::new();
    for array in arrays.iter().take(MAX_COMPLETED_ARRAYS) {
        if let Ok(array) = Array::open(array) {
            let schema = array.schema();
            columns.extend(schema.fields().map(|field| field.name.to_owned()));
        }
    }
    tables.extend(arrays);
    (tables, columns)
}

/// The names of the arrays in a folder, in order. A folder that cannot be looked into is left out.
fn arrays_in(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::at(folder, error))?;
    let mut arrays: Vec<String> = entries
        .filter_map(core::result::Result::ok)
        .filter(|entry| matches!(object_type(&LocalStorage::new(entry.path())), Ok(ObjectType::Array)))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    arrays.sort_unstable();
    Ok(arrays)
}

/// The storage of the array that a name without a table is the place of.
pub(super) fn array_at(places: &Places, name: &str) -> Result<Option<Arc<dyn WriteStorage>>> {
    let place = Path::new(name);
    let storage = places.0.storage(place)?;
    match object_type(&*storage) {
        Ok(ObjectType::Array) => Ok(Some(storage)),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::at(place, error)),
    }
}
