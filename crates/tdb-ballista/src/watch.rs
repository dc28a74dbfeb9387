//! Jobs that an executor's loss must not change, and jobs that must not wait for ever.
//!
//! Ballista 55 tries to save a job when an executor is lost. It takes back what the lost executor
//! wrote, and runs these tasks again. But a stage that had begun to read goes back to its beginning
//! as a whole (`StaticExecutionGraph::rollback_running_stage`), while what its finished tasks wrote
//! on the other executors stays in the inputs of the next stage (`update_stage_output_links`), or
//! in the result (`output_locations`). The second attempt adds the same rows again, and the job
//! succeeds with a wrong answer.
//!
//! So jobs are not saved here. All that had a task on a lost executor fail at once, and a client
//! runs its query again. As a job's status reaches clients through [`Watch`] alone, no job of which
//! any stage began again can succeed, whatever else happens to it.
//!
//! Ballista also forgets tasks: those in an answer that an executor did not receive, and those
//! whose end it could not report. Such a job would wait for ever, and so would one whose stages do
//! not follow each other any more. The executors' polls (the module `gate`) show both: a job fails
//! here if an executor runs fewer tasks than it was handed, or if nothing of it runs while
//! executors have nothing to do.

mod states;
mod tasks;

use core::convert::Infallible;
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::{FailedJob, JobStatus};
use ballista_core::serde::scheduler::ExecutorMetadata;
use ballista_scheduler::cluster::{BallistaCluster, ClusterState, JobState};
use ballista_scheduler::state::execution_graph::ExecutionGraphBox;
use futures_util::future::join_all;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use self::tasks::TaskTracker;
pub(crate) use self::tasks::{Poll, Task};
use crate::client::Cluster;
use crate::error::{LOST, NOBODY, STOPPED};
use crate::thresholds::{
    CANCEL_TIMEOUT, EXECUTOR_CONNECT_TIMEOUT, FIRST_EXECUTOR_TIMEOUT, PLANNING_TIMEOUT, WATCH_PAUSE,
};

/// The state of a cluster in which no job survives the loss of an executor that had a part of it.
pub(crate) struct Watch {
    jobs: Arc<dyn JobState>,
    executors: Arc<dyn ClusterState>,
    tracker: Mutex<TaskTracker>,
    /// The scheduler is told to cancel jobs as its clients tell it.
    scheduler: Cluster,
}

impl Watch {
    pub(crate) fn new(cluster: &BallistaCluster, scheduler: Cluster) -> Arc<Self> {
        let (jobs, executors) = (cluster.job_state(), cluster.cluster_state());
        Arc::new(Self { jobs, executors, tracker: Mutex::default(), scheduler })
    }

    /// The same state, for a scheduler.
    pub(crate) fn cluster(self: &Arc<Self>) -> BallistaCluster {
        BallistaCluster::new(self.clone(), self.clone())
    }

    fn tracker(&self) -> MutexGuard<'_, TaskTracker> {
        // No code that can panic runs while this is locked.
        self.tracker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for executors and jobs that are gone, as long as it is polled.
    pub(crate) async fn keep(&self) -> Infallible {
        let mut refused = HashSet::new();
        let mut alone = Instant::now();
        loop {
            sleep(WATCH_PAUSE).await;
            let executors = self.executors.registered_executor_metadata().await;
            if !executors.is_empty() {
                alone = Instant::now();
            }
            refused = self.look_at(&executors, &refused).await;
            let stopped = self.tracker().stopped(Instant::now());
            self.fail(stopped, &format!("{STOPPED}: nothing of it runs, and executors wait for work")).await;
            if alone.elapsed() > FIRST_EXECUTOR_TIMEOUT {
                let waiting = self.tracker().running(FIRST_EXECUTOR_TIMEOUT, Instant::now());
                self.fail(waiting, &format!("{NOBODY} for more than {FIRST_EXECUTOR_TIMEOUT:?}")).await;
            }
        }
    }

    /// Removes the executors that refuse connections for the second time; returns those that do it
    /// for the first time.
    async fn look_at(&self, executors: &[ExecutorMetadata], refused: &HashSet<String>) -> HashSet<String> {
        let mut first = HashSet::new();
        for executor in unreachable(executors).await {
            if refused.contains(&executor) {
                // It cannot fail: the state is in memory.
                let _ = self.lose(&executor, "nobody listens at its address").await;
            } else {
                first.insert(executor);
            }
        }
        first
    }

    /// Removes an executor, and fails the jobs that had tasks there. The executors that are left
    /// end the tasks that they run, and the scheduler forgets what these say.
    async fn lose(&self, executor: &str, why: &str) -> Result<()> {
        let removed = self.executors.remove_executor(executor).await;
        let jobs = self.tracker().lose(executor);
        self.fail(jobs, &format!("{LOST}: {executor}: {why}")).await;
        removed
    }

    /// Fails jobs: their clients are told, and the scheduler is asked to forget them.
    async fn fail(&self, jobs: Vec<JobId>, why: &str) {
        let graphs: Vec<_> = {
            let mut tracker = self.tracker();
            jobs.into_iter().filter_map(|job| tracker.fail(job)).collect()
        };
        for (job, mut graph) in graphs {
            graph.fail_job(why.to_owned());
            // It fails only if the job has ended.
            let _ = self.jobs.save_job(&job, &graph).await;
            // If the scheduler does not take the order, the job may use executors until it ends,
            // but nobody learns of that.
            let _ = timeout(CANCEL_TIMEOUT, self.scheduler.cancel(&job)).await;
        }
    }

    /// The executor because of which a job that fails has to run again: it had a part of the job
    /// and does not listen any more.
    async fn gone(&self, executors: &HashSet<String>) -> Option<String> {
        let registered = self.executors.registered_executor_metadata().await;
        let concerned: Vec<_> =
            registered.into_iter().filter(|executor| executors.contains(&executor.id)).collect();
        unreachable(&concerned).await.into_iter().next()
    }

    /// A client asked for the answer to a query.
    pub(crate) fn asked(&self, job: &JobId) {
        self.tracker().asked(job, Instant::now());
    }

    /// The status of a job for its client.
    pub(crate) async fn status(&self, job: &JobId) -> Result<Option<JobStatus>> {
        let status = self.jobs.get_job_status(job).await?;
        let waits =
            matches!(status.as_ref().map(|status| &status.status), None | Some(Some(Status::Queued(_))));
        if !waits || self.tracker().may_be_planned(job, Instant::now()) {
            return Ok(status);
        }
        let error = match status {
            None => format!("{STOPPED}: the scheduler does not know it"),
            Some(_) => format!("{STOPPED}: it was not planned in {PLANNING_TIMEOUT:?}"),
        };
        let status = Some(Status::Failed(FailedJob { error, queued_at: 0, started_at: 0, ended_at: 0 }));
        Ok(Some(JobStatus { job_id: job.as_str().to_owned(), job_name: String::new(), status }))
    }

    /// Notes what an executor reports with a poll; returns how often it was lost so far.
    pub(crate) async fn reported(&self, poll: &Poll) -> u64 {
        let (jobs, losses) = {
            let mut tracker = self.tracker();
            (tracker.reported(poll, Instant::now()), tracker.losses(&poll.executor))
        };
        if !jobs.is_empty() {
            let why = format!(
                "{STOPPED}: the executor {} does not run all tasks that it was handed",
                poll.executor
            );
            self.fail(jobs, &why).await;
        }
        losses
    }

    /// Notes what the scheduler hands to an executor after [`reported`](Self::reported) returned a
    /// number of losses. `false` if the tasks must not reach it, because it has been lost in the
    /// meantime.
    pub(crate) async fn handed(&self, poll: &Poll, tasks: &[(JobId, Task)], losses: u64) -> bool {
        let jobs = self.tracker().handed(poll, tasks, losses, Instant::now());
        let keeps_them = jobs.is_empty();
        self.fail(jobs, &format!("{LOST}: {}: it got tasks at that moment", poll.executor)).await;
        keeps_them
    }
}

/// The executors that refuse connections.
async fn unreachable(executors: &[ExecutorMetadata]) -> Vec<String> {
    let tries = executors.iter().map(|executor| async {
        let connecting = TcpStream::connect((executor.host.as_str(), executor.port));
        // One that says nothing may be slow: its polls tell whether it is there.
        let refuses = matches!(
            timeout(EXECUTOR_CONNECT_TIMEOUT, connecting).await,
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused
        );
        refuses.then(|| executor.id.clone())
    });
    join_all(tries).await.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
