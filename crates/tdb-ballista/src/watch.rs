//! Jobs that an executor's loss must not change.
//!
//! Ballista 55 tries to save a job when an executor is lost. It takes back what the lost executor wrote, and runs these
//! tasks again. But a stage that had begun to read goes back to its beginning as a whole
//! (`StaticExecutionGraph::rollback_running_stage`), while what its finished tasks wrote on the other executors stays in
//! the inputs of the next stage (`update_stage_output_links`), or in the result (`output_locations`). The second attempt
//! adds the same rows again, and the job succeeds with a wrong answer.
//!
//! So jobs are not saved here. All that run when an executor is lost fail at once, and a client runs its query again. As a
//! job's status reaches clients through the state of jobs alone, which is wrapped here, no job of which any stage began
//! again can succeed, whatever else happens to it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::{ExecutorHeartbeat, FailedTask, JobStatus, task_status};
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_core::{JobId, JobStatusSubscriber};
use ballista_scheduler::cluster::{
    BallistaCluster, BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot, JobState,
    JobStateEventStream,
};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::state::execution_graph::ExecutionGraphBox;
use ballista_scheduler::state::execution_stage::{ExecutionStage, TaskInfo};
use ballista_scheduler::state::task_manager::JobInfoCache;
use tdb_datafusion::datafusion::prelude::{SessionConfig, SessionContext};

use crate::client::Cluster;

/// How the error of a job begins that has to run again.
pub(crate) const LOST: &str = "an executor was lost";

/// The state of a cluster in which no job survives the loss of an executor. The scheduler is told to cancel such jobs as its clients
/// tell it.
pub(crate) fn watched(cluster: &BallistaCluster, scheduler: Cluster) -> BallistaCluster {
    let jobs = Arc::new(Jobs { inner: cluster.job_state(), known: Mutex::default(), scheduler });
    let executors = Executors { inner: cluster.cluster_state(), jobs: jobs.clone() };
    BallistaCluster::new(Arc::new(executors), jobs)
}

/// The state of jobs.
struct Jobs {
    inner: Arc<dyn JobState>,
    known: Mutex<Known>,
    scheduler: Cluster,
}

#[derive(Default)]
struct Known {
    /// The jobs that run, as they were when they began.
    running: HashMap<JobId, ExecutionGraphBox>,
    /// Jobs whose clients know that they failed, while their tasks may still run.
    failed: HashSet<JobId>,
}

impl Jobs {
    fn known(&self) -> MutexGuard<'_, Known> {
        // No code that can panic runs while this is locked.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails all jobs that run. The scheduler takes the order to cancel a job before it learns of the loss, because events wait in
    /// one line. So it finds no job whose stages could begin again, and the executors that are left get back the threads that the
    /// job's tasks had there. (Ballista 55 never gives back the threads of tasks whose stage begins again.)
    async fn fail_all(&self, executor: &str) -> Result<()> {
        let jobs: Vec<_> = {
            let mut known = self.known();
            let jobs: Vec<_> = known.running.drain().collect();
            known.failed.extend(jobs.iter().map(|(job, _)| job.clone()));
            jobs
        };
        for (job, mut graph) in jobs {
            self.scheduler.cancel(&job).await;
            graph.fail_job(format!("{LOST}: {executor}"));
            self.inner.save_job(&job, &graph).await?;
        }
        Ok(())
    }
}

/// Why a job has to run again, if it has to: a stage began again, or a task could not read what another one wrote.
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

/// What a task says about results that are gone.
fn lost(status: &task_status::Status) -> Option<&str> {
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
impl JobState for Jobs {
    fn accept_job(&self, job: &JobId, name: &str, queued: u64) -> Result<()> {
        self.inner.accept_job(job, name, queued)
    }

    fn pending_job_number(&self) -> usize {
        self.inner.pending_job_number()
    }

    async fn submit_job(
        &self,
        job: JobId,
        graph: &ExecutionGraphBox,
        subscriber: Option<JobStatusSubscriber>,
    ) -> Result<()> {
        self.inner.submit_job(job.clone(), graph, subscriber).await?;
        self.known().running.insert(job, graph.cloned());
        Ok(())
    }

    async fn get_jobs(&self) -> Result<HashSet<JobId>> {
        self.inner.get_jobs().await
    }

    async fn get_all_jobs(&self) -> Result<HashSet<JobId>> {
        self.inner.get_all_jobs().await
    }

    async fn get_job_status(&self, job: &JobId) -> Result<Option<JobStatus>> {
        self.inner.get_job_status(job).await
    }

    async fn get_execution_graph(&self, job: &JobId) -> Result<Option<ExecutionGraphBox>> {
        self.inner.get_execution_graph(job).await
    }

    /// A job that was disturbed is saved as one that failed.
    async fn save_job(&self, job: &JobId, graph: &ExecutionGraphBox) -> Result<()> {
        let ended = matches!(graph.status().status, Some(Status::Successful(_) | Status::Failed(_)));
        let was_failed = {
            let mut known = self.known();
            if ended {
                known.running.remove(job);
                known.failed.remove(job)
            } else {
                known.failed.contains(job)
            }
        };
        if was_failed {
            // Its client has been told, and its status stays what it is.
            return Ok(());
        }
        let Some(why) = disturbance(graph) else { return self.inner.save_job(job, graph).await };
        if !ended {
            let mut known = self.known();
            known.running.remove(job);
            known.failed.insert(job.clone());
        }
        let mut failed = graph.cloned();
        failed.fail_job(format!("{LOST}: {why}"));
        self.inner.save_job(job, &failed).await
    }

    async fn fail_unscheduled_job(&self, job: &JobId, reason: String) -> Result<()> {
        self.inner.fail_unscheduled_job(job, reason).await
    }

    async fn remove_job(&self, job: &JobId) -> Result<()> {
        self.inner.remove_job(job).await
    }

    async fn try_acquire_job(&self, job: &JobId) -> Result<Option<ExecutionGraphBox>> {
        self.inner.try_acquire_job(job).await
    }

    async fn job_state_events(&self) -> Result<JobStateEventStream> {
        self.inner.job_state_events().await
    }

    async fn create_or_update_session(
        &self,
        session: &str,
        config: &SessionConfig,
    ) -> Result<Arc<SessionContext>> {
        self.inner.create_or_update_session(session, config).await
    }

    async fn remove_session(&self, session: &str) -> Result<()> {
        self.inner.remove_session(session).await
    }

    fn produce_config(&self) -> SessionConfig {
        self.inner.produce_config()
    }
}

/// The state of executors.
struct Executors {
    inner: Arc<dyn ClusterState>,
    jobs: Arc<Jobs>,
}

#[async_trait]
impl ClusterState for Executors {
    async fn init(&self) -> Result<()> {
        self.inner.init().await
    }

    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        self.inner.bind_schedulable_tasks(distribution, jobs, executors).await
    }

    async fn unbind_tasks(&self, slots: Vec<ExecutorSlot>) -> Result<()> {
        self.inner.unbind_tasks(slots).await
    }

    async fn register_executor(&self, metadata: ExecutorMetadata, data: ExecutorData) -> Result<()> {
        self.inner.register_executor(metadata, data).await
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        self.inner.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor: &str) -> Result<ExecutorMetadata> {
        self.inner.get_executor_metadata(executor).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.inner.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.inner.save_executor_heartbeat(heartbeat).await
    }

    /// Every loss comes here before any stage of a job is changed.
    async fn remove_executor(&self, executor: &str) -> Result<()> {
        let removed = self.inner.remove_executor(executor).await;
        self.jobs.fail_all(executor).await?;
        removed
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        self.inner.executor_heartbeats()
    }

    fn get_executor_heartbeat(&self, executor: &str) -> Option<ExecutorHeartbeat> {
        self.inner.get_executor_heartbeat(executor)
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.inner.cluster_state_events().await
    }
}

#[cfg(test)]
mod tests;
