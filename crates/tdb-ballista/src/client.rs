//! The client: sends queries to a scheduler, and runs them again when an executor is lost.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::config::BALLISTA_CLIENT_PULL;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::CancelJobParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::utils::create_grpc_client_endpoint;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{DataFusionError, internal_err, not_impl_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::protobuf::LogicalPlanNode;
use futures_util::StreamExt;
use tdb_datafusion::datafusion;
use tdb_datafusion::{Result, TdbTable, TdbTableFactory};
use tokio::net::TcpStream;
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};

use crate::codec::Codec;
use crate::error::{ClusterError, LOST, NOBODY, STOPPED};
use crate::net::with_connections;
use crate::session::builder;
use crate::thresholds::{BUFFERED_BATCHES, CONNECT_TIMEOUT, MAX_ATTEMPTS, MAX_HELD_BYTES, RETRY_PAUSE};

/// The names of Ballista's errors for rows that could not be fetched from another executor.
const UNFETCHED: [&str; 4] = ["FetchFailed", "FetchPartitionError", "GrpcConnectionError", "GrpcActionError"];

/// A cluster, as its clients see it.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use tdb_ballista::Cluster;
/// use tdb_datafusion::TdbTableFactory;
/// use tdb_datafusion::datafusion::execution::runtime_env::RuntimeEnv;
/// use tdb_datafusion::datafusion::prelude::SessionConfig;
///
/// # async fn ask() -> tdb_datafusion::Result<()> {
/// let cluster = Cluster::new("localhost:50050");
/// let session = cluster.session(SessionConfig::new(), Arc::new(RuntimeEnv::default()));
/// TdbTableFactory::new().register_names(&session);
/// session.sql("SELECT count(*) FROM '/data/trips' WHERE price > 10").await?.show().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cluster {
    address: Arc<str>,
}

impl Cluster {
    /// The cluster whose scheduler listens on a host and a port. Nothing is sent yet.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Self {
        Self { address: address.into().into() }
    }

    /// A session whose queries of arrays run in the cluster. Queries of nothing else, and
    /// `EXPLAIN`, run here; statements that write rows are refused.
    #[must_use]
    pub fn session(&self, config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionContext {
        let planner = Planner { cluster: self.clone(), here: DefaultPhysicalPlanner::default() };
        let state = builder(with_connections(config.upgrade_for_ballista()))
            .with_runtime_env(runtime)
            .with_query_planner(Arc::new(planner))
            .build();
        SessionContext::new_with_state(state)
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// An error if nobody listens at the address.
    async fn reach(&self) -> Result<(), ClusterError> {
        let reason = match timeout(CONNECT_TIMEOUT, TcpStream::connect(&*self.address)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer in {CONNECT_TIMEOUT:?}"),
        };
        Err(ClusterError::NoScheduler { address: self.address.to_string(), reason })
    }

    /// Ends a job, whose result nobody wants any more. If the scheduler does not answer, there is
    /// nothing to end.
    pub(crate) async fn cancel(&self, job: &JobId) {
        let Ok(endpoint) = create_grpc_client_endpoint(self.url(), None) else { return };
        if let Ok(channel) =
            endpoint.connect_timeout(CONNECT_TIMEOUT).timeout(CONNECT_TIMEOUT).connect().await
        {
            let job_id = job.as_str().to_owned();
            let _ = SchedulerGrpcClient::new(channel).cancel_job(CancelJobParams { job_id }).await;
        }
    }
}

/// Decides where a query runs.
struct Planner {
    cluster: Cluster,
    here: DefaultPhysicalPlanner,
}

impl fmt::Debug for Planner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planner").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match plan {
            LogicalPlan::Dml(_) | LogicalPlan::Copy(_) => {
                return not_impl_err!("a cluster only reads: run statements that write without it");
            }
            LogicalPlan::Analyze(_) => {
                return not_impl_err!("EXPLAIN ANALYZE measures one process: run it without the cluster");
            }
            // It shows the plan of one process.
            LogicalPlan::Explain(_) => return self.here.create_physical_plan(plan, session).await,
            _ => {}
        }
        let (plan, arrays) = pinned(plan, session)?;
        if arrays == 0 {
            return self.here.create_physical_plan(&plan, session).await;
        }
        Ok(Arc::new(ClusterExec::new(self.cluster.clone(), plan, session)))
    }
}

/// The same plan, in which arrays stay in their present state, and the number of arrays.
fn pinned(plan: &LogicalPlan, session: &dyn Session) -> Result<(LogicalPlan, usize)> {
    let mut arrays = 0usize;
    let pin = |node: LogicalPlan| {
        let LogicalPlan::TableScan(mut scan) = node else { return Ok(Transformed::no(node)) };
        let Ok(provider) = source_as_provider(&scan.source) else {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        let Some(table) = provider.downcast_ref::<TdbTable>() else {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        arrays += 1;
        scan.source = provider_as_source(Arc::new(table.pinned(session)));
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    };
    let plan = plan.clone().transform_up_with_subqueries(pin).data()?;
    Ok((plan, arrays))
}

/// A query that runs in a cluster.
#[derive(Clone, Debug)]
struct ClusterExec {
    cluster: Cluster,
    plan: LogicalPlan,
    session: String,
    properties: Arc<PlanProperties>,
}

impl ClusterExec {
    fn new(cluster: Cluster, plan: LogicalPlan, session: &dyn Session) -> Self {
        let schema: SchemaRef = plan.schema().inner().clone();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let session = session.session_id().to_owned();
        Self { cluster, plan, session, properties: Arc::new(properties) }
    }

    /// Runs the query until an attempt was not disturbed.
    async fn run(self, context: Arc<TaskContext>, rows: Sender<Result<RecordBatch>>) -> Result<()> {
        // Each request for the status of the job has a timeout. A connection on which the scheduler
        // pushes it has none.
        let config = context.session_config().clone().set_bool(BALLISTA_CLIENT_PULL, true);
        let context = Arc::new(TaskContext::default().with_session_config(config));
        let mut attempts = 1;
        loop {
            self.cluster.reach().await?;
            let mut attempt = Attempt::new(&self, &context);
            let Err(error) = attempt.run(&context, &rows).await else { return Ok(()) };
            let Some(reason) = attempt.loss(&error) else { return Err(error) };
            if reason.contains(NOBODY) {
                return Err(ClusterError::NoExecutors { reason }.into());
            }
            attempt.cancel().await;
            if attempt.passed > 0 {
                return Err(ClusterError::RowsLost { rows: attempt.rows_passed(), reason }.into());
            }
            if attempts >= MAX_ATTEMPTS {
                return Err(ClusterError::ExecutorsLost { attempts, reason }.into());
            }
            sleep(RETRY_PAUSE * attempts).await;
            attempts += 1;
        }
    }
}

impl From<ClusterError> for DataFusionError {
    fn from(error: ClusterError) -> Self {
        crate::error::external(error)
    }
}

/// One job of the scheduler. If it is dropped before it has ended, it is cancelled.
struct Attempt {
    cluster: Cluster,
    query: DistributedQueryExec<LogicalPlanNode>,
    /// The number of rows that were passed on.
    passed: usize,
    has_ended: bool,
}

impl Attempt {
    fn new(exec: &ClusterExec, context: &TaskContext) -> Self {
        let query = DistributedQueryExec::with_extension(
            exec.cluster.url(),
            context.session_config().ballista_config(),
            exec.plan.clone(),
            // Nothing is decoded here.
            Arc::new(Codec::new(TdbTableFactory::new())),
            exec.session.clone(),
        );
        Self { cluster: exec.cluster.clone(), query, passed: 0, has_ended: false }
    }

    /// Passes on the result, once all of it or as much as can be held is there.
    async fn run(&mut self, context: &Arc<TaskContext>, rows: &Sender<Result<RecordBatch>>) -> Result<()> {
        let mut batches = self.query.execute(0, context.clone())?;
        let (mut held, mut bytes) = (Vec::new(), 0usize);
        while let Some(batch) = batches.next().await.transpose()? {
            // Once so much was held, each batch is passed on, and need not be counted.
            if bytes <= MAX_HELD_BYTES {
                bytes += batch.get_array_memory_size();
            }
            held.push(batch);
            if bytes > MAX_HELD_BYTES && !self.pass(&mut held, rows).await {
                return Ok(());
            }
        }
        self.has_ended = true;
        self.pass(&mut held, rows).await;
        Ok(())
    }

    /// Passes on batches; false if nobody receives them any more.
    async fn pass(&mut self, held: &mut Vec<RecordBatch>, rows: &Sender<Result<RecordBatch>>) -> bool {
        for batch in held.drain(..) {
            self.passed += batch.num_rows();
            if rows.send(Ok(batch)).await.is_err() {
                return false;
            }
        }
        true
    }

    /// The number of rows that were passed on, for an error message.
    fn rows_passed(&self) -> u64 {
        u64::try_from(self.passed).unwrap_or(u64::MAX)
    }

    /// The text of an error that is about a lost executor: then another attempt may succeed.
    fn loss(&self, error: &DataFusionError) -> Option<String> {
        let text = error.to_string();
        let job = self.query.job_id()?;
        // The scheduler's answer. Any other error came after the job had succeeded, when its result
        // was fetched from the executors that have it.
        let failed = text.contains(&format!("Job {job} failed"));
        let again = [LOST, STOPPED, NOBODY].into_iter().chain(UNFETCHED);
        let lost = again.into_iter().any(|name| text.contains(name));
        (!failed || lost).then_some(text)
    }

    async fn cancel(&mut self) {
        self.has_ended = true;
        if let Some(job) = self.query.job_id() {
            self.cluster.cancel(&job).await;
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let Some(job) = self.query.job_id().filter(|_| !self.has_ended) else { return };
        let cluster = self.cluster.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { cluster.cancel(&job).await });
        }
    }
}

impl DisplayAs for ClusterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterExec: scheduler={}", self.cluster.address)?;
        self.plan.display_indent().to_string().lines().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl ExecutionPlan for ClusterExec {
    fn name(&self) -> &str {
        "ClusterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition > 0 {
            return internal_err!("partition {partition} of 1");
        }
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema(), BUFFERED_BATCHES);
        let rows = stream.tx();
        stream.spawn(self.clone().run(context, rows));
        Ok(stream.build())
    }
}
