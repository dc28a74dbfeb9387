//! A session: the tables, the memory and the threads of statements.

use core::num::NonZeroU16;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use tdb_array::storage::WriteStorage;
use tdb_array::{MemoryBudget, TimeWindow};
use tdb_arrow::{Days, Options};
use tdb_datafusion::datafusion::arrow::array::{AsArray, RecordBatch};
use tdb_datafusion::datafusion::arrow::datatypes::UInt64Type;
use tdb_datafusion::datafusion::dataframe::DataFrame;
use tdb_datafusion::datafusion::error::DataFusionError;
use tdb_datafusion::datafusion::execution::SendableRecordBatchStream;
use tdb_datafusion::datafusion::execution::disk_manager::DiskManagerBuilder;
use tdb_datafusion::datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use tdb_datafusion::datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

use tdb_datafusion::datafusion::logical_expr::dml::WriteOp;
use tdb_datafusion::datafusion::logical_expr::{DdlStatement, DropTable, LogicalPlan};
use tdb_datafusion::datafusion::physical_plan::displayable;
use tdb_datafusion::datafusion::prelude::{SessionConfig, SessionContext};
use tdb_datafusion::datafusion::sql::parser::Statement;
use tdb_datafusion::{Locate, TableOptions, TdbTableFactory, plan_statement};

use super::copy::{ArrayCopy, Spool};
use super::error::StatementError;
use super::formats::Results;
use super::prompt::Names;
use super::runner::Runner;
use super::spill::UnnamedFiles;
use super::statements::SqlStatement;
use super::{SqlArgs, error, summary, tables};
use crate::args::{KeyArgs, WindowArgs};
use crate::count::count;
use crate::failure::{Failure, Result};
use crate::import::ResultImport;
use crate::objects;
use crate::place::{Stores, absolute};
use crate::thresholds::{MAX_NAMED_CONSUMERS, MERGE_MEMORY_DIVISOR};

/// Runs statements, one after the other.
pub(super) struct Session {
    context: SessionContext,
    runner: Runner,
    explain: bool,
    /// Where arrays are.
    places: Arc<Places>,
    /// Whether DROP TABLE removes arrays.
    allow_drop: bool,
    /// The memory and the key of copies to arrays, and whether there can be some.
    memory: Option<MemoryBudget>,
    key_file: Option<PathBuf>,
    only_reads: bool,
}

impl Session {
    pub(super) fn new(args: &SqlArgs, stores: Stores) -> Result<Self> {
        let runner = Runner::new(args.threads)?;
        let environment = environment(args.memory).map_err(|error| Failure::Failed(error.to_string()))?;
        let context = context(args, Arc::new(environment))?;
        let places = Arc::new(Places(stores));
        let factory = TdbTableFactory::new().locate(places.clone());
        let factory = factory.options(table_options(&args.window, &args.key)?);
        factory.clone().register(&context);
        factory.clone().register_names(&context);
        for (name, place) in &args.table {
            factory.name_place(&context, name, place).map_err(|error| match error::of_error(&error, "") {
                Failure::Failed(line) => Failure::Failed(line),
                other => Failure::Usage(format!("--table {name}: {}", other.text())),
            })?;
        }
        let (explain, allow_drop) = (args.explain, args.allow_drop);
        let (memory, key_file, only_reads) = (args.memory, args.key.key_file.clone(), args.cluster.is_some());
        Ok(Self { context, runner, explain, places, allow_drop, memory, key_file, only_reads })
    }

    /// From now on, an interrupt ends the query that runs.
    pub(super) fn interruptible(self) -> Result<Self> {
        Ok(Self { runner: self.runner.interruptible()?, ..self })
    }

    /// The names that a prompt completes.
    pub(super) fn names(&self) -> Names {
        let state = self.context.state();
        let functions = state.scalar_functions().keys().chain(state.aggregate_functions().keys());
        let functions = functions.chain(state.window_functions().keys()).cloned().collect();
        let (tables, columns) = tables::names(&self.context);
        Names { tables, columns, functions }
    }

    /// Runs a statement. Its result goes to `results`, and the number of rows that it wrote to
    /// `err`.
    pub(super) fn run(
        &mut self,
        statement: SqlStatement,
        results: &mut Results<'_>,
        err: &mut dyn Write,
    ) -> Result<(), StatementError> {
        let done = self.runner.block_on(self.execute(statement, results, err))?;
        if matches!(done, Err(StatementError::Interrupted)) {
            self.runner.renew()?;
        }
        done
    }

    async fn execute(
        &self,
        statement: SqlStatement,
        results: &mut Results<'_>,
        err: &mut dyn Write,
    ) -> Result<(), StatementError> {
        let statement = match statement {
            SqlStatement::Plain(statement) => statement,
            SqlStatement::Summarize(query) => return self.summarize(&query, results).await,
        };
        if tables::is_list(&statement) {
            let context = self.context.clone();
            let tables = self.runner.run(async move { tables::list(&context).await }).await??;
            let mut result = results.begin(&tables.schema(), false)?;
            result.take(&tables)?;
            return Ok(result.finish()?);
        }
        if let Some(copy) = ArrayCopy::of(&statement)? {
            return self.copy(copy, results, err).await;
        }
        let plan = self.plan(statement).await?;
        let changes_session = matches!(plan, LogicalPlan::Ddl(_) | LogicalPlan::Statement(_));
        if self.explain && !changes_session && !is_explanation(&plan) {
            return self.explain(plan, results).await;
        }
        if let LogicalPlan::Ddl(DdlStatement::DropTable(drop)) = &plan
            && self.drop_array(drop, err)?
        {
            return Ok(());
        }
        if let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table)) = &plan {
            let name = table.name.table();
            // If standard error is closed, the table is made nevertheless.
            let _ = writeln!(
                err,
                "note: table {name} is in memory, and gone with this session; COPY {name} TO 'FOLDER' STORED AS TILEDB makes an array of it"
            );
        }
        let context = self.context.clone();
        // A statement that makes a table of a query runs the query here.
        let executing = async move { context.execute_logical_plan(plan).await };
        let frame = self.runner.run(executing).await??;
        if let Some(what) = written(frame.logical_plan()) {
            let rows = self.count(frame).await?;
            // If standard error is closed, the rows are written nevertheless.
            let _ = writeln!(err, "{} {what}", count(rows, "row"));
            return Ok(());
        }
        if frame.schema().fields().is_empty() {
            self.runner.run(frame.collect()).await??;
            return Ok(());
        }
        let explains = is_explanation(frame.logical_plan());
        let rows = self.runner.run(frame.execute_stream()).await??;
        let schema = rows.schema();
        // A query that fails before it has rows leaves no header and no file.
        let mut next = self.next(rows).await?;
        let mut result = results.begin(&schema, explains)?;
        while let Some((batch, rows)) = next.take() {
            result.take(&batch)?;
            drop(batch);
            next = self.next(rows).await?;
        }
        Ok(result.finish()?)
    }

    async fn plan(&self, statement: Statement) -> Result<LogicalPlan, StatementError> {
        let state = self.context.state();
        Ok(self.runner.run(async move { plan_statement(&state, statement).await }).await??)
    }

    /// Prints how a query would be answered.
    async fn explain(&self, plan: LogicalPlan, results: &mut Results<'_>) -> Result<(), StatementError> {
        let context = self.context.clone();
        let planning = async move { context.execute_logical_plan(plan).await?.create_physical_plan().await };
        let plan = self.runner.run(planning).await??;
        let text = displayable(plan.as_ref()).indent(false).to_string();
        Ok(results.plain(&text)?)
    }

    /// Prints what is in each column of a query.
    async fn summarize(&self, of: &Statement, results: &mut Results<'_>) -> Result<(), StatementError> {
        let schema = self.plan(of.clone()).await?.schema().as_arrow().clone();
        let plan = self.plan(summary::query(of, &schema)?).await?;
        if self.explain {
            return self.explain(plan, results).await;
        }
        let context = self.context.clone();
        let executing = async move { context.execute_logical_plan(plan).await?.collect().await };
        let figures = self.runner.run(executing).await??;
        let figures = figures.first().ok_or_else(|| Failure::internal("an aggregate has one row"))?;
        let table = summary::table(&schema, figures)?;
        let mut result = results.begin(&table.schema(), false)?;
        result.take(&table)?;
        Ok(result.finish()?)
    }

    /// Copies the rows of a query to an array.
    async fn copy(
        &self,
        copy: ArrayCopy,
        results: &mut Results<'_>,
        err: &mut dyn Write,
    ) -> Result<(), StatementError> {
        if self.only_reads {
            let what = "a cluster only reads: run statements that write without it";
            return Err(Failure::Failed(what.to_owned()).into());
        }
        let ArrayCopy { query, target, options } = copy;
        let plan = self.plan(query).await?;
        let import = ResultImport::new(&target, &options, self.memory, self.key_file.clone())?;
        if self.explain {
            return self.explain(plan, results).await;
        }
        let context = self.context.clone();
        let executing = async move { context.execute_logical_plan(plan).await?.execute_stream().await };
        let rows = self.runner.run(executing).await??;
        let mut spool = Spool::new(&rows.schema())?;
        let mut next = self.next(rows).await?;
        while let Some((batch, rows)) = next.take() {
            spool.write(&batch)?;
            drop(batch);
            next = self.next(rows).await?;
        }
        let pending = spool.finish(import, self.places.0.clone())?;
        let (copied, notes) = self.runner.run(pending.run()).await??;
        // If standard error is closed, the rows are written nevertheless.
        let _ = err.write_all(&notes);
        let left_out = match copied.left_out {
            0 => String::new(),
            1 => "; 1 row was left out, whose coordinates another row has".to_owned(),
            rows => format!("; {rows} rows were left out, whose coordinates another row has"),
        };
        let _ = writeln!(err, "{} written to the array {target}{left_out}", count(copied.rows, "row"));
        Ok(())
    }

    /// The next batch, and the rows behind it.
    async fn next(
        &self,
        mut rows: SendableRecordBatchStream,
    ) -> Result<Option<(RecordBatch, SendableRecordBatchStream)>, StatementError> {
        let next = async move { rows.next().await.map(|batch| batch.map(|batch| (batch, rows))) };
        Ok(self.runner.run(next).await?.transpose()?)
    }

    /// Runs what writes rows; returns how many.
    async fn count(&self, frame: DataFrame) -> Result<u64, StatementError> {
        let mut rows = self.runner.run(frame.execute_stream()).await??;
        let mut count = 0u64;
        while let Some((batch, rest)) = self.next(rows).await? {
            let counts = batch.columns().first().and_then(|counts| counts.as_primitive_opt::<UInt64Type>());
            let counts = counts.into_iter().flat_map(|counts| counts.iter().flatten());
            count = counts.fold(count, u64::saturating_add);
            rows = rest;
        }
        Ok(count)
    }

    /// Removes an array that DROP TABLE names by its place; `false` if the name is one that a
    /// statement has given, which DataFusion forgets.
    fn drop_array(&self, drop: &DropTable, err: &mut dyn Write) -> Result<bool, StatementError> {
        let name = drop.name.table();
        if tables::given(&self.context).iter().any(|given| given == name) {
            return Ok(false);
        }
        let Some(storage) = tables::array_at(&self.places, name)? else { return Ok(false) };
        if !self.allow_drop {
            let what = format!(
                "DROP TABLE would remove the array {name} and all of its history; --allow-drop allows it"
            );
            return Err(Failure::Usage(what).into());
        }
        objects::remove(Path::new(name), &*storage)?;
        // If standard error is closed, the array is gone nevertheless.
        let _ = writeln!(err, "array {name} removed");
        Ok(true)
    }
}

/// Arrays at all places that the command line can name, with its options.
#[derive(Debug)]
pub(crate) struct Places(pub(crate) Stores);

impl Locate for Places {
    fn storage(&self, location: &str) -> tdb_datafusion::Result<Arc<dyn WriteStorage>> {
        let found = self.0.storage(Path::new(location));
        found.map_err(|failure| DataFusionError::External(failure.text().to_owned().into()))
    }

    fn absolute(&self, location: &str) -> String {
        let absolute = absolute(Path::new(location));
        absolute.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| location.to_owned())
    }
}

/// The tables and the functions of a session: one that answers here, or one that asks a cluster.
fn context(args: &SqlArgs, environment: Arc<RuntimeEnv>) -> Result<SessionContext> {
    match &args.cluster {
        #[cfg(feature = "cluster")]
        Some(address) => {
            let config = config(args.threads, args.memory).with_target_partitions(tdb_ballista::PARTITIONS);
            Ok(tdb_ballista::Cluster::new(address.as_str()).session(config, environment))
        }
        #[cfg(not(feature = "cluster"))]
        Some(_) => Err(Failure::Failed(crate::features::NO_CLUSTER.to_owned())),
        None => Ok(SessionContext::new_with_config_rt(config(args.threads, args.memory), environment)),
    }
}

pub(super) fn config(threads: Option<NonZeroU16>, memory: Option<MemoryBudget>) -> SessionConfig {
    let mut config = SessionConfig::new().with_information_schema(true);
    if let Some(threads) = threads {
        config = config.with_target_partitions(usize::from(threads.get()));
    }
    // Errors know where in the text they are.
    config.options_mut().sql_parser.collect_spans = true;
    if let Some(memory) = memory {
        let share = bytes(memory) / MERGE_MEMORY_DIVISOR / config.target_partitions().max(1);
        let default = config.options().execution.sort_spill_reservation_bytes;
        config = config.with_sort_spill_reservation_bytes(share.min(default));
    }
    config
}

/// Memory, and temporary files for what does not fit it.
pub(super) fn environment(memory: Option<MemoryBudget>) -> tdb_datafusion::Result<RuntimeEnv> {
    let files = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(UnnamedFiles));
    let builder = RuntimeEnvBuilder::new().with_disk_manager_builder(files);
    let builder = match memory {
        Some(memory) => {
            let pool = TrackConsumersPool::new(FairSpillPool::new(bytes(memory)), MAX_NAMED_CONSUMERS);
            builder.with_memory_pool(Arc::new(pool))
        }
        None => builder,
    };
    builder.build()
}

fn bytes(memory: MemoryBudget) -> usize {
    usize::try_from(memory.bytes()).unwrap_or(usize::MAX)
}

/// The options for arrays that a statement names without options.
fn table_options(window: &WindowArgs, key: &KeyArgs) -> Result<TableOptions> {
    // In SQL, days are dates.
    let options = TableOptions::new().arrow(Options::new().days(Days::Date32));
    let options = match window.asked() {
        Some(window) => match window.end {
            Some(end) => options.window(TimeWindow::between(window.start, end)),
            None => options.since(window.start),
        },
        None => options,
    };
    Ok(match key.key()? {
        Some(key) => options.key(key),
        None => options,
    })
}

/// Whether the rows are about a plan.
pub(super) const fn is_explanation(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_))
}

/// The word for what a statement did with rows, if it writes them instead of returning them.
pub(super) const fn written(plan: &LogicalPlan) -> Option<&'static str> {
    match plan {
        LogicalPlan::Dml(change) => Some(match change.op {
            WriteOp::Delete => "deleted",
            WriteOp::Update => "updated",
            _ => "inserted",
        }),
        LogicalPlan::Copy(_) => Some("written"),
        _ => None,
    }
}
