//! The two states of a Ballista scheduler, as [`Watch`] lets clients and the scheduler see them.

use async_trait::async_trait;
use ballista_core::JobStatusSubscriber;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::{ExecutorHeartbeat, FailedTask, task_status};
use ballista_core::serde::scheduler::ExecutorData;
use ballista_scheduler::cluster::{BoundTask, ClusterStateEventStream, ExecutorSlot, JobStateEventStream};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::state::execution_stage::{ExecutionStage, TaskInfo};
use ballista_scheduler::state::task_manager::JobInfoCache;
use tdb_datafusion::datafusion::prelude::{SessionConfig, SessionContext};

use super::*;

/// The reason for which a job has to run again, if there is one: a stage began again, or a task
/// could not read the results of another one.
fn disturbance(graph: &ExecutionGraphBox) -> Option<String> {
    graph.stages().values().find_map(|stage| {
        let (id, attempts, tasks): (_, _, &[TaskInfo]) = match stage {
            ExecutionStage::UnResolved(stage) => (stage.stage_id, stage.stage_attempt_num, &[]),
            ExecutionStage::Resolved(stage) => (stage.stage_id, stage.stage_attempt_num, &[]),
            ExecutionStage::Running(stage) => (stage.stage_id, stage.stage_attempt_num, &stage.task_infos),
            ExecutionStage::Successful(stage) => (stage.stage_id, stage.stage_attempt_num, &stage.task_infos),
            ExecutionStage::Failed(stage) => (stage.stage_id, stage.stage_attempt_num, &stage.task_infos),
        };
        if attempts > 0 {
            return Some(format!("stage {id} began again"));
        }
        tasks.iter().find_map(|task| lost(&task.task_status)).map(|why| format!("stage {id}: {why}"))
    })
}

/// The error of a task that could not read results which are gone.
pub(super) fn lost(status: &task_status::Status) -> Option<&str> {
    let task_status::Status::Failed(FailedTask { failed_reason: Some(reason), error, .. }) = status else {
        return None;
    };
    matches!(
        reason,
        FailedReason::FetchPartitionError(_) | FailedReason::ExecutorLost(_) | FailedReason::ResultLost(_)
    )
    .then_some(error)
}

#[async_trait]
impl JobState for Watch {
    fn accept_job(&self, job: &JobId, name: &str, queued: u64) -> Result<()> {
        self.jobs.accept_job(job, name, queued)
    }

    fn pending_job_number(&self) -> usize {
        self.jobs.pending_job_number()
    }

    async fn submit_job(
        &self,
        job: JobId,
        graph: &ExecutionGraphBox,
        subscriber: Option<JobStatusSubscriber>,
    ) -> Result<()> {
        self.jobs.submit_job(job.clone(), graph, subscriber).await?;
        self.tracker().begin(&job, graph.cloned(), Instant::now());
        Ok(())
    }

    async fn get_jobs(&self) -> Result<HashSet<JobId>> {
        self.jobs.get_jobs().await
    }

    async fn get_all_jobs(&self) -> Result<HashSet<JobId>> {
        self.jobs.get_all_jobs().await
    }

    async fn get_job_status(&self, job: &JobId) -> Result<Option<JobStatus>> {
        self.jobs.get_job_status(job).await
    }

    async fn get_execution_graph(&self, job: &JobId) -> Result<Option<ExecutionGraphBox>> {
        self.jobs.get_execution_graph(job).await
    }

    /// A job that was disturbed is saved as one that failed.
    async fn save_job(&self, job: &JobId, graph: &ExecutionGraphBox) -> Result<()> {
        let status = graph.status().status.as_ref();
        let fails = matches!(status, Some(Status::Failed(_)));
        let ends = fails || matches!(status, Some(Status::Successful(_)));
        let (executors, was_failed) = {
            let mut tracker = self.tracker();
            let executors = tracker.executors(job);
            (executors, if ends { tracker.end(job) } else { tracker.is_failed(job) })
        };
        if was_failed {
            // Its client has been told, and its status stays what it is.
            return Ok(());
        }
        let why = match disturbance(graph) {
            None if fails => self.gone(&executors).await,
            why => why,
        };
        let Some(why) = why else { return self.jobs.save_job(job, graph).await };
        if !ends {
            self.tracker().fail(job.clone());
        }
        let mut failed = graph.cloned();
        failed.fail_job(format!("{LOST}: {why}"));
        self.jobs.save_job(job, &failed).await
    }

    async fn fail_unscheduled_job(&self, job: &JobId, reason: String) -> Result<()> {
        self.tracker().end(job);
        self.jobs.fail_unscheduled_job(job, reason).await
    }

    async fn remove_job(&self, job: &JobId) -> Result<()> {
        self.jobs.remove_job(job).await
    }

    async fn try_acquire_job(&self, job: &JobId) -> Result<Option<ExecutionGraphBox>> {
        self.jobs.try_acquire_job(job).await
    }

    async fn job_state_events(&self) -> Result<JobStateEventStream> {
        self.jobs.job_state_events().await
    }

    async fn create_or_update_session(
        &self,
        session: &str,
        config: &SessionConfig,
    ) -> Result<Arc<SessionContext>> {
        self.jobs.create_or_update_session(session, config).await
    }

    async fn remove_session(&self, session: &str) -> Result<()> {
        self.jobs.remove_session(session).await
    }

    fn produce_config(&self) -> SessionConfig {
        self.jobs.produce_config()
    }
}

#[async_trait]
impl ClusterState for Watch {
    async fn init(&self) -> Result<()> {
        self.executors.init().await
    }

    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        self.executors.bind_schedulable_tasks(distribution, jobs, executors).await
    }

    async fn unbind_tasks(&self, slots: Vec<ExecutorSlot>) -> Result<()> {
        self.executors.unbind_tasks(slots).await
    }

    async fn register_executor(&self, metadata: ExecutorMetadata, data: ExecutorData) -> Result<()> {
        self.executors.register_executor(metadata, data).await
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        self.executors.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor: &str) -> Result<ExecutorMetadata> {
        self.executors.get_executor_metadata(executor).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.executors.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.executors.save_executor_heartbeat(heartbeat).await
    }

    /// Every loss that Ballista finds comes here before any stage of a job is changed.
    async fn remove_executor(&self, executor: &str) -> Result<()> {
        self.lose(executor, "it says nothing any more").await
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        self.executors.executor_heartbeats()
    }

    fn get_executor_heartbeat(&self, executor: &str) -> Option<ExecutorHeartbeat> {
        self.executors.get_executor_heartbeat(executor)
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.executors.cluster_state_events().await
    }
}
