//! Sessions of `tdb sql` for a program that has a way of its own to wait, and to name tables: the
//! Python package. Nothing here is part of a release's promise.

mod failures;
mod threads;

use core::num::NonZeroU16;
use std::sync::Arc;

use futures_util::StreamExt;
use tdb_array::{Array, MemoryBudget};
use tdb_arrow::{Days, Options};
use tdb_datafusion::datafusion::arrow::array::RecordBatch;
use tdb_datafusion::datafusion::arrow::datatypes::SchemaRef;
use tdb_datafusion::datafusion::common::{TableReference, internal_err, not_impl_err, plan_err};
use tdb_datafusion::datafusion::datasource::MemTable;
use tdb_datafusion::datafusion::error::DataFusionError;
use tdb_datafusion::datafusion::execution::SendableRecordBatchStream;
use tdb_datafusion::datafusion::logical_expr::{DdlStatement, LogicalPlan};
use tdb_datafusion::datafusion::prelude::SessionContext;
use tdb_datafusion::datafusion::sql::parser::Statement;
use tdb_datafusion::datafusion::sql::sqlparser::ast;
use tdb_datafusion::{TableOptions, TdbTable, TdbTableFactory, plan_statement};

use super::columns::{distinct, renamed};
use super::copy::ArrayCopy;
use super::error::StatementError;
use super::formats::Results;
use super::session::{config, environment, is_explanation, written};
use super::statements::{self, SqlStatement};
use super::{summary, tables};
use crate::failure::Failure;

pub use self::failures::{SqlError, SqlErrorKind};
pub use self::threads::Look;
use self::threads::Threads;

/// The tables of one text of SQL.
pub struct SqlSession {
    context: SessionContext,
    threads: Option<NonZeroU16>,
}

impl SqlSession {
    /// A session in which places are tables, as the factory finds them.
    ///
    /// # Errors
    /// There are no temporary files.
    pub fn new(
        factory: &TdbTableFactory,
        options: TableOptions,
        memory: Option<MemoryBudget>,
        threads: Option<NonZeroU16>,
    ) -> Result<Self, SqlError> {
        let environment = environment(memory).map_err(|error| SqlError::of(error, ""))?;
        let context = SessionContext::new_with_config_rt(config(threads, memory), Arc::new(environment));
        let factory = factory.clone().options(options.arrow(types()));
        factory.clone().register(&context);
        factory.register_names(&context);
        Ok(Self { context, threads })
    }

    /// Names an array, which is read in the state in which it is open.
    ///
    /// # Errors
    /// The name is taken; a damaged enumeration.
    pub fn name_array(&self, name: &str, array: Array) -> Result<(), SqlError> {
        let table = || {
            let table = TdbTable::with_types(array, types())?;
            self.context.register_table(TableReference::bare(name), Arc::new(table))
        };
        table().map(drop).map_err(|error| SqlError::of(error, ""))
    }

    /// Names rows, which no statement changes.
    ///
    /// # Errors
    /// The name is taken.
    pub fn name_rows(
        &self,
        name: &str,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<(), SqlError> {
        let view = || {
            let rows = self.context.read_table(Arc::new(MemTable::try_new(schema, vec![batches])?))?;
            self.context.register_table(TableReference::bare(name), rows.into_view())
        };
        view().map(drop).map_err(|error| SqlError::of(error, ""))
    }

    /// Runs all statements of a text but the last one, and that too if it is no query. The answer
    /// is the last one's.
    ///
    /// # Errors
    /// All of a statement: those before it have been carried out.
    pub fn run(self, text: &str, look: Look<'_>) -> Result<SqlAnswer, SqlError> {
        let wrong = |error| SqlError::of(error, text);
        let mut statements = statements::parse(text).map_err(wrong)?;
        let last = statements.pop().ok_or_else(|| SqlError::of_failure(&no_statement()))?;
        only_for_others(&last).map_err(wrong)?;
        let threads = Threads::new(self.threads)?;
        for statement in statements {
            let plan = threads.wait(look, plan(self.context.clone(), statement))?.map_err(wrong)?;
            // A query whose rows nobody sees is no more than planned.
            if let Plan::Statement(plan) = plan {
                let context = self.context.clone();
                threads.wait(look, carried_out(context, plan))?.map_err(wrong)?;
            }
        }
        let plan = threads.wait(look, plan(self.context.clone(), last))?.map_err(wrong)?;
        let plan = match plan {
            Plan::Statement(plan) => {
                let done = threads.wait(look, carried_out(self.context.clone(), plan))?;
                let (schema, batches) = done.map_err(wrong)?;
                Plan::Ready(schema, batches)
            }
            plan => plan,
        };
        Ok(SqlAnswer { context: self.context, plan, threads: self.threads, text: text.to_owned() })
    }
}

impl core::fmt::Debug for SqlSession {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SqlSession").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// The types of columns, in tables that have names and in places: days are dates.
fn types() -> Options {
    Options::new().days(Days::Date32)
}

fn no_statement() -> Failure {
    Failure::Usage("there is no statement".to_owned())
}

/// Refuses a last statement that only others after it would see.
fn only_for_others(last: &SqlStatement) -> Result<(), DataFusionError> {
    let SqlStatement::Plain(statement) = last else { return Ok(()) };
    let only = match statement {
        Statement::CreateExternalTable(_) | Statement::Reset(_) => true,
        Statement::Statement(statement) => matches!(
            statement.as_ref(),
            ast::Statement::CreateTable(_)
                | ast::Statement::CreateView(_)
                | ast::Statement::CreateSchema { .. }
                | ast::Statement::Set(_)
        ),
        _ => false,
    };
    if only {
        return plan_err!(
            "what this statement makes is gone at its end: write the query that needs it behind it, in the same text"
        );
    }
    Ok(())
}

/// A statement that is planned.
enum Plan {
    /// A query, which is answered each time it is asked for.
    Query(LogicalPlan),
    /// A statement that does something, once.
    Statement(LogicalPlan),
    /// The answer itself.
    Ready(SchemaRef, Vec<RecordBatch>),
}

async fn plan(context: SessionContext, statement: SqlStatement) -> Result<Plan, DataFusionError> {
    let statement = match statement {
        SqlStatement::Plain(statement) => statement,
        SqlStatement::Summarize(query) => {
            let state = context.state();
            let schema = plan_statement(&state, query.clone()).await?.schema().as_arrow().clone();
            let plan = plan_statement(&state, summary::query(&query, &schema)?).await?;
            let figures = context.execute_logical_plan(plan).await?.collect().await?;
            let Some(figures) = figures.first() else { return internal_err!("a summary has one row") };
            let table = summary::table(&schema, figures)?;
            return Ok(Plan::Ready(table.schema(), vec![table]));
        }
    };
    if tables::is_list(&statement) {
        let list = tables::list(&context).await;
        let list = list.map_err(|failure| DataFusionError::External(failure.text().to_owned().into()))?;
        return Ok(Plan::Ready(list.schema(), vec![list]));
    }
    if ArrayCopy::of(&statement)?.is_some() {
        return not_impl_err!(
            "COPY … STORED AS TILEDB is not supported here: from_arrow(place, sql(query), dimensions) makes an array of an answer, and the \
             command `tdb sql` has this statement"
        );
    }
    let plan = plan_statement(&context.state(), statement).await?;
    if let LogicalPlan::Ddl(DdlStatement::DropTable(drop)) = &plan {
        let name = drop.name.table();
        let is_given = tables::given(&context).iter().any(|given| given == name);
        if !is_given && context.table_provider(TableReference::bare(name)).await.is_ok() {
            return not_impl_err!(
                "DROP TABLE of an array is not supported here: `tdb rm {name}` removes the array and all of its history"
            );
        }
    }
    let acts = matches!(plan, LogicalPlan::Ddl(_) | LogicalPlan::Statement(_)) || written(&plan).is_some();
    Ok(if acts { Plan::Statement(plan) } else { Plan::Query(plan) })
}

/// Carries out a statement; the rows are those of its answer, which is how many rows it wrote.
async fn carried_out(
    context: SessionContext,
    plan: LogicalPlan,
) -> Result<(SchemaRef, Vec<RecordBatch>), DataFusionError> {
    let frame = context.execute_logical_plan(plan).await?;
    let schema = Arc::new(frame.schema().as_arrow().clone());
    let batches = frame.collect().await?;
    Ok((batches.first().map_or(schema, RecordBatch::schema), batches))
}

/// The answer of a text. Its rows are computed each time they are asked for, except for those of a
/// statement that did something.
pub struct SqlAnswer {
    context: SessionContext,
    plan: Plan,
    threads: Option<NonZeroU16>,
    text: String,
}

impl SqlAnswer {
    /// The columns. No two have the same name.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        match &self.plan {
            Plan::Query(plan) | Plan::Statement(plan) => distinct(plan.schema().as_arrow()),
            Plan::Ready(schema, _) => distinct(schema),
        }
    }

    /// The rows.
    ///
    /// # Errors
    /// All of a query.
    pub fn rows(&self, look: Look<'_>) -> Result<SqlRows, SqlError> {
        let (schema, from) = match &self.plan {
            Plan::Ready(schema, batches) => (distinct(schema), Source::Memory(batches.clone().into_iter())),
            Plan::Query(plan) | Plan::Statement(plan) => {
                let threads = Threads::new(self.threads)?;
                let (context, plan) = (self.context.clone(), plan.clone());
                let begun = async move { context.execute_logical_plan(plan).await?.execute_stream().await };
                let begun = threads.wait(look, begun)?.map_err(|error| SqlError::of(error, &self.text))?;
                (distinct(&begun.schema()), Source::Query(threads, Some(begun)))
            }
        };
        Ok(SqlRows { schema, from, text: self.text.clone() })
    }

    /// The first rows as a table for people, and whether there are more.
    ///
    /// # Errors
    /// All of a query.
    pub fn table(&self, first: usize, look: Look<'_>) -> Result<(String, bool), SqlError> {
        let mut rows = self.rows(look)?;
        let (mut out, mut left, mut is_cut) = (Vec::new(), first, false);
        let mut results = Results::tables(&mut out);
        let explains = matches!(&self.plan, Plan::Query(plan) if is_explanation(plan));
        let mut table = results.begin(&rows.schema(), explains)?;
        let failed = |error: StatementError| SqlError::of_failure(&error.failure(&self.text));
        while let Some(batch) = rows.next(look)? {
            is_cut = batch.num_rows() > left;
            table.take(&batch.slice(0, batch.num_rows().min(left))).map_err(failed)?;
            left = left.saturating_sub(batch.num_rows());
            if is_cut {
                break;
            }
        }
        table.finish()?;
        results.finish()?;
        Ok((String::from_utf8_lossy(&out).into_owned(), is_cut))
    }
}

impl core::fmt::Debug for SqlAnswer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SqlAnswer").field("text", &self.text).finish_non_exhaustive()
    }
}

/// Where rows come from.
enum Source {
    Memory(std::vec::IntoIter<RecordBatch>),
    Query(Threads, Option<SendableRecordBatchStream>),
}

/// The rows of an answer, batch by batch.
pub struct SqlRows {
    schema: SchemaRef,
    from: Source,
    text: String,
}

impl SqlRows {
    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// All of a query. There are no rows after it.
    pub fn next(&mut self, look: Look<'_>) -> Result<Option<RecordBatch>, SqlError> {
        let batch = match &mut self.from {
            Source::Memory(batches) => batches.next(),
            Source::Query(threads, rows) => {
                let Some(mut stream) = rows.take() else { return Ok(None) };
                let next = async move { stream.next().await.map(|batch| (batch, stream)) };
                match threads.wait(look, next)? {
                    None => None,
                    Some((batch, stream)) => {
                        let batch = batch.map_err(|error| SqlError::of(error, &self.text))?;
                        *rows = Some(stream);
                        Some(batch)
                    }
                }
            }
        };
        let renamed = batch.map(|batch| renamed(&batch, &self.schema)).transpose();
        renamed.map_err(|error| SqlError::of(error, &self.text))
    }
}

impl core::fmt::Debug for SqlRows {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SqlRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
