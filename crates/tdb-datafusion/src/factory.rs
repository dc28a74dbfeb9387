//! `CREATE EXTERNAL TABLE … STORED AS TILEDB`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, plan_err};
use datafusion::logical_expr::CreateExternalTable;
use datafusion::prelude::SessionContext;
use tdb_array::{Key, TimeWindow};
use tdb_arrow::{Days, Options};

use crate::{Result, TableOptions};

/// The name of the format in SQL.
const FORMAT: &str = "TILEDB";

/// Registers `CREATE EXTERNAL TABLE … STORED AS TILEDB LOCATION '…' OPTIONS (…)` with a session.
///
/// The location is a local folder. The options are:
///
/// | Option | Meaning |
/// |---|---|
/// | `timestamp` | the state of the array at this time in milliseconds since 1970, or in a window of two times, as in `1000-2000`; such tables are read-only |
/// | `key` | the key of an encrypted array: 64 hex digits |
/// | `days` | `date`: days become dates (a day that is not a valid date then causes an error); `number`, the default |
/// | `threads` | number of threads of each partition; 1 by default |
pub fn register(session: &SessionContext) {
    let state = session.state_ref();
    state.write().table_factories_mut().insert(FORMAT.to_owned(), Arc::new(TdbTableFactory));
}

/// Creates tables from locations; [`register`] registers this factory.
#[derive(Clone, Copy, Debug, Default)]
pub struct TdbTableFactory;

#[async_trait]
impl TableProviderFactory for TdbTableFactory {
    async fn create(&self, _: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let [location] = command.locations.as_slice() else {
            return plan_err!("a table of an array must have one location, not {}", command.locations.len());
        };
        if !command.schema.fields().is_empty() {
            return plan_err!("the columns of an array are in its schema: leave them out");
        }
        if !command.table_partition_cols.is_empty() || !command.order_exprs.is_empty() {
            return plan_err!("partitioning and order are defined by the array: leave them out");
        }
        let options = options(command)?;
        let folder = location.strip_prefix("file://").unwrap_or(location).to_owned();
        // Opening reads listings and metadata.
        let table = SpawnedTask::spawn_blocking(move || options.open(folder)).await;
        let table = table.map_err(|error| DataFusionError::External(Box::new(error)))??;
        Ok(Arc::new(table))
    }
}

fn options(command: &CreateExternalTable) -> Result<TableOptions> {
    let mut options = TableOptions::new();
    for (name, value) in &command.options {
        // DataFusion adds this prefix to names without a dot.
        options = match name.strip_prefix("format.").unwrap_or(name) {
            "timestamp" => match window(value) {
                Some(window) => options.window(window),
                None => {
                    return plan_err!("timestamp must be a number of milliseconds, or two as in 1000-2000");
                }
            },
            "key" => match Key::from_hex(value.trim()) {
                Some(key) => options.key(key),
                // Keys must not appear in messages.
                None => return plan_err!("key must be 64 hex digits"),
            },
            "days" => match value.as_str() {
                "date" => options.arrow(Options::new().days(Days::Date32)),
                "number" => options,
                _ => return plan_err!("days must be date or number, not {value}"),
            },
            "threads" => match value.parse() {
                Ok(threads) => options.threads(threads),
                Err(_) => return plan_err!("threads must be a number, not {value}"),
            },
            other => {
                return plan_err!(
                    "{other} is not an option of arrays: the options are timestamp, key, days and threads"
                );
            }
        };
    }
    Ok(options)
}

fn window(text: &str) -> Option<TimeWindow> {
    match text.split_once('-') {
        Some((start, end)) => {
            let (start, end) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
            (start <= end).then(|| TimeWindow::between(start, end))
        }
        None => Some(TimeWindow::until(text.trim().parse().ok()?)),
    }
}
