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

/// Teaches a session `CREATE EXTERNAL TABLE … STORED AS TILEDB LOCATION '…' OPTIONS (…)`.
///
/// The location is a local folder. The options:
///
/// | Option | Meaning |
/// |---|---|
/// | `timestamp` | the array as it was at this millisecond since 1970, or in a window of two, as in `1000-2000`; such tables are read-only |
/// | `key` | the key of an encrypted array: 64 hex digits |
/// | `days` | `date`: days become dates (a day that no date can be then fails); `number`, the default |
/// | `threads` | threads of each partition; 1 by default |
pub fn register(session: &SessionContext) {
    let state = session.state_ref();
    state.write().table_factories_mut().insert(FORMAT.to_owned(), Arc::new(TdbTableFactory));
}

/// Makes tables of locations: what [`register`] registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct TdbTableFactory;

#[async_trait]
impl TableProviderFactory for TdbTableFactory {
    async fn create(&self, _: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let [location] = command.locations.as_slice() else {
            return plan_err!("a table of an array has one location, not {}", command.locations.len());
        };
        if !command.schema.fields().is_empty() {
            return plan_err!("the columns of an array are in its schema: leave them out");
        }
        if !command.table_partition_cols.is_empty() || !command.order_exprs.is_empty() {
            return plan_err!("an array knows itself how it is partitioned and ordered");
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
        // DataFusion puts this before names without a point.
        options = match name.strip_prefix("format.").unwrap_or(name) {
            "timestamp" => match window(value) {
                Some(window) => options.window(window),
                None => return plan_err!("timestamp is a number of milliseconds, or two as in 1000-2000"),
            },
            "key" => match Key::from_hex(value.trim()) {
                Some(key) => options.key(key),
                // Keys are not for messages.
                None => return plan_err!("key is 64 hex digits"),
            },
            "days" => match value.as_str() {
                "date" => options.arrow(Options::new().days(Days::Date32)),
                "number" => options,
                _ => return plan_err!("days is date or number, not {value}"),
            },
            "threads" => match value.parse() {
                Ok(threads) => options.threads(threads),
                Err(_) => return plan_err!("threads is a number, not {value}"),
            },
            other => {
                return plan_err!("{other} is no option of arrays: timestamp, key, days and threads are");
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
