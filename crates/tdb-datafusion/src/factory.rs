//! Tables that `CREATE EXTERNAL TABLE … STORED AS TILEDB` makes.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::plan_err;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::CreateExternalTable;
use datafusion::prelude::SessionContext;
use tdb_array::{Key, TimeWindow};
use tdb_arrow::Days;
use tdb_codec::calendar::span_millis;

use crate::aggregate::AggregateArrays;
use crate::tasks::blocking;
use crate::{LocalFolders, Locate, Result, TableOptions, dates, functions, rules};

/// The name of the format in SQL.
const FORMAT: &str = "TILEDB";

/// Registers `CREATE EXTERNAL TABLE … STORED AS TILEDB LOCATION '…' OPTIONS (…)` with a session,
/// for local folders.
///
/// A [`TdbTableFactory`] does the same for other locations. The options are:
///
/// | Option | Meaning |
/// |---|---|
/// | `timestamp` | the state of the array at this time, milliseconds since 1970 or the end of a date in UTC (`2026-11-28T17:02`), or in a window of two times, as in `1000,2000`; such tables are read-only |
/// | `key` | the key of an encrypted array: 64 hex digits |
/// | `days` | `date`: days become dates (a day that is not a valid date then causes an error); `number`, the default |
/// | `threads` | number of threads of each partition; 1 by default |
pub fn register(session: &SessionContext) {
    TdbTableFactory::new().register(session);
}

/// Creates tables from locations.
///
/// ```
/// use datafusion::prelude::SessionContext;
/// use tdb_datafusion::TdbTableFactory;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> datafusion::error::Result<()> {
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0");
/// let session = SessionContext::new();
/// let factory = TdbTableFactory::new();
/// factory.clone().register(&session);
/// factory.register_names(&session);
/// let query = format!("SELECT sum(a) FROM '{folder}/quickstart' WHERE rows <= 2");
/// assert_eq!(session.sql(&query).await?.count().await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TdbTableFactory {
    pub(crate) places: Arc<dyn Locate>,
    pub(crate) options: TableOptions,
}

impl Default for TdbTableFactory {
    fn default() -> Self {
        Self { places: Arc::new(LocalFolders), options: TableOptions::new() }
    }
}

impl TdbTableFactory {
    /// For arrays in local folders, in their present state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds arrays elsewhere.
    #[must_use]
    pub fn locate(mut self, places: Arc<dyn Locate>) -> Self {
        self.places = places;
        self
    }

    /// Opens tables with these options, unless a statement has others.
    #[must_use]
    pub fn options(mut self, options: TableOptions) -> Self {
        self.options = options;
        self
    }

    /// Registers `CREATE EXTERNAL TABLE … STORED AS TILEDB` with a session, and the rules without
    /// which tables of arrays refuse `DELETE` and read every cell for aggregates. Also registers
    /// the [functions](crate::FUNCTIONS) that tell what an array is made of.
    pub fn register(self, session: &SessionContext) {
        functions::register(session, &self.places, &self.options);
        dates::register(session);
        let state = session.state_ref();
        let mut state = state.write();
        let rules = rules::with_own(&state.analyzer().rules);
        let builder = SessionStateBuilder::new_from_existing(state.clone()).with_analyzer_rules(rules);
        *state = builder.with_physical_optimizer_rule(Arc::new(AggregateArrays)).build();
        state.table_factories_mut().insert(FORMAT.to_owned(), Arc::new(self));
    }
}

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
        let options = options(self.options.clone(), command)?;
        let (places, location) = (self.places.clone(), location.clone());
        let table = blocking(move || {
            options.location(places.absolute(&location)).open_storage(places.storage(&location)?)
        })
        .await?;
        Ok(Arc::new(table))
    }
}

/// The options of a statement, on top of those of the factory.
fn options(mut options: TableOptions, command: &CreateExternalTable) -> Result<TableOptions> {
    for (name, value) in &command.options {
        // DataFusion adds this prefix to names without a dot.
        options = match name.strip_prefix("format.").unwrap_or(name) {
            "timestamp" => match window(value) {
                Some(window) => options.window(window),
                None => {
                    return plan_err!(
                        "timestamp must be a number of milliseconds or a date such as 2026-11-28T17:02, or two of them as in 1000,2000, not {value}"
                    );
                }
            },
            "key" => match Key::from_hex(value.trim()) {
                Some(key) => options.key(key),
                // Keys must not appear in messages.
                None => return plan_err!("key must be 64 hex digits"),
            },
            "days" => match value.as_str() {
                "date" => {
                    let arrow = options.arrow.days(Days::Date32);
                    options.arrow(arrow)
                }
                "number" => {
                    let arrow = options.arrow.days(Days::Int64);
                    options.arrow(arrow)
                }
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

/// A time, or two: from the beginning of the first one to the end of the second.
fn window(text: &str) -> Option<TimeWindow> {
    // A date has dashes, too.
    let two = text.split_once(',').or_else(|| {
        let is_number = |part: &str| part.trim().parse::<u64>().is_ok();
        text.split_once('-').filter(|(start, end)| is_number(start) && is_number(end))
    });
    match two {
        Some((start, end)) => {
            let ((start, _), (_, end)) = (span(start)?, span(end)?);
            (start <= end).then(|| TimeWindow::between(start, end))
        }
        None => Some(TimeWindow::until(span(text)?.1)),
    }
}

/// The first and the last millisecond of a time: a number of them, or a date.
fn span(text: &str) -> Option<(u64, u64)> {
    let text = text.trim();
    text.parse().map_or_else(|_| span_millis(text).ok(), |millis| Some((millis, millis)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_with_a_number_or_with_the_end_of_a_date() {
        assert_eq!(window("17"), Some(TimeWindow::until(17)));
        assert_eq!(window("5-9"), Some(TimeWindow::between(5, 9)));
        assert_eq!(window(" 5 , 9"), Some(TimeWindow::between(5, 9)));
        assert_eq!(window("1970-01-01"), Some(TimeWindow::until(86_399_999)));
        assert_eq!(window("1970-01-01T00:00:01"), Some(TimeWindow::until(1999)));
        assert_eq!(window("1970-01-02,1970-01-02"), Some(TimeWindow::between(86_400_000, 172_799_999)));
        for wrong in ["9-5", "yesterday", "", "1970-01-02,1970-01-01", "5,"] {
            assert_eq!(window(wrong), None, "{wrong}");
        }
    }
}
