//! Who answers the queries of a file: arrays through this crate, or the same cells in tables in
//! memory.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::{MemTable, Session, TableProvider, TableProviderFactory};
use datafusion::common::{DataFusionError, plan_err};
use datafusion::logical_expr::CreateExternalTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use sqllogictest::{AsyncDB, ColumnType, DBOutput};
use tdb_array::storage::{LocalStorage, MemoryStorage, WriteStorage};
use tdb_datafusion::{Locate, Result, TdbTableFactory};

use crate::cells::{Recorded, root};

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Arrays, through this crate.
    Arrays,
    /// Tables in memory that hold the cells which libtiledb read.
    Memory,
}

/// A session in which `CREATE EXTERNAL TABLE … STORED AS TILEDB LOCATION 'name'` makes a table of a
/// fixture.
pub(crate) struct Engine {
    session: SessionContext,
    by: By,
}

impl Engine {
    pub(crate) fn new(by: By) -> Self {
        let config =
            SessionConfig::new().with_target_partitions(2).with_batch_size(64).with_information_schema(true);
        let session = SessionContext::new_with_config(config);
        let factory = TdbTableFactory::new().locate(Arc::new(Fixtures));
        factory.clone().register(&session);
        if by == By::Memory {
            let tables = Arc::new(InMemory(factory));
            session.state_ref().write().table_factories_mut().insert("TILEDB".to_owned(), tables);
        }
        Self { session, by }
    }

    async fn answer(&self, sql: &str) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let frame = self.session.sql(sql).await?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        Ok((schema, frame.collect().await?))
    }
}

#[async_trait]
impl AsyncDB for Engine {
    type Error = DataFusionError;
    type ColumnType = Letter;

    async fn run(&mut self, sql: &str) -> std::result::Result<DBOutput<Letter>, DataFusionError> {
        let (schema, batches) = self.answer(sql).await?;
        if sql.starts_with("EXPLAIN") {
            return Ok(DBOutput::Rows { types: vec![Letter('T')], rows: plan(&batches)? });
        }
        let types = schema.fields().iter().map(|field| letter(field.data_type())).collect::<Vec<_>>();
        if types.is_empty() {
            return Ok(DBOutput::StatementComplete(0));
        }
        Ok(DBOutput::Rows { types, rows: rows(&batches)? })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        match self.by {
            By::Arrays => "arrays",
            By::Memory => "memory",
        }
    }
}

/// The rows of batches as texts; an empty text is `(empty)`.
fn rows(batches: &[RecordBatch]) -> Result<Vec<Vec<String>>> {
    let options = FormatOptions::new().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let text = |column: &ArrayFormatter<'_>| match column.value(row).to_string() {
                text if text.is_empty() => "(empty)".to_owned(),
                text => text,
            };
            rows.push(columns.iter().map(text).collect());
        }
    }
    Ok(rows)
}

/// The lines of a plan, indented by hyphens.
fn plan(batches: &[RecordBatch]) -> Result<Vec<Vec<String>>> {
    let rows = rows(batches)?;
    let lines = rows.iter().filter_map(|row| row.last()).flat_map(|plan| plan.lines());
    let indented = lines.map(|line| {
        let text = line.trim_start();
        vec![format!("{}{text}", "-".repeat(line.len() - text.len()))]
    });
    Ok(indented.collect())
}

/// The type of a column: B, I, R, T, D (dates), P (points in time) or ? for all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Letter(char);

impl ColumnType for Letter {
    fn from_char(letter: char) -> Option<Self> {
        "BIRTDP?".contains(letter).then_some(Self(letter))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

fn letter(data_type: &DataType) -> Letter {
    Letter(match data_type {
        DataType::Boolean => 'B',
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        DataType::Dictionary(_, values) => return letter(values),
        DataType::Date32 | DataType::Date64 => 'D',
        DataType::Timestamp(..) => 'P',
        data_type if data_type.is_integer() => 'I',
        data_type if data_type.is_floating() || matches!(data_type, DataType::Decimal128(..)) => 'R',
        _ => '?',
    })
}

/// Fixtures by their names; `copy/name` is a copy in memory, which may be written to.
#[derive(Debug)]
struct Fixtures;

impl Locate for Fixtures {
    fn storage(&self, location: &str) -> Result<Arc<dyn WriteStorage>> {
        let arrays = root().join("arrays/2.30.0");
        let Some(name) = location.strip_prefix("copy/") else {
            return Ok(Arc::new(LocalStorage::new(arrays.join(location))));
        };
        let storage = MemoryStorage::default();
        copy(&arrays.join(name), "", &storage)?;
        Ok(Arc::new(storage))
    }
}

fn copy(folder: &Path, prefix: &str, to: &MemoryStorage) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &format!("{name}/"), to)?;
        } else {
            to.insert(name, std::fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// Tables in memory of the cells that libtiledb read. Only the types of their columns come from
/// this crate.
#[derive(Debug)]
struct InMemory(TdbTableFactory);

#[async_trait]
impl TableProviderFactory for InMemory {
    async fn create(
        &self,
        session: &dyn Session,
        command: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        let schema = self.0.create(session, command).await?.schema();
        let [location] = command.locations.as_slice() else { return plan_err!("one location") };
        let window = command.options.get("format.timestamp").or_else(|| command.options.get("timestamp"));
        let name = location.strip_prefix("copy/").unwrap_or(location);
        let batch =
            Recorded::of(name).and_then(|recorded| recorded.batch(window.map(String::as_str), &schema));
        let batch = batch.map_err(|what| DataFusionError::Execution(format!("{location}: {what}")))?;
        Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
    }
}
