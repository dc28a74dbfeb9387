//! Tracks jobs and the tasks that executors have.

use core::time::Duration;
use std::collections::{HashMap, HashSet};

use ballista_core::JobId;
use ballista_scheduler::state::execution_graph::ExecutionGraphBox;
use tokio::time::Instant;

use crate::thresholds::{IDLE_POLL_LIFETIME, LOST_TASK_TIMEOUT, PLANNING_TIMEOUT, STOPPED_JOB_TIMEOUT};

/// A task of a job: its stage, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Task {
    pub(crate) stage: u32,
    pub(crate) number: u32,
}

/// The message of an executor that asks for work.
#[derive(Debug)]
pub(crate) struct Poll {
    pub(crate) executor: String,
    /// The number of tasks that it can run at once.
    pub(crate) threads: u32,
    /// The number of tasks that it could run in addition to those that it runs now.
    pub(crate) free: u32,
    /// The tasks that ended since its last poll.
    pub(crate) ended: Vec<(JobId, Task)>,
}

/// A job that runs.
struct Job {
    /// The job as it was when it began.
    graph: ExecutionGraphBox,
    begun: Instant,
    /// The tasks that executors have.
    tasks: HashMap<Task, String>,
    /// All executors that ever had one.
    executors: HashSet<String>,
    /// Since when nothing of it runs, although executors wait for work.
    stopped: Option<Instant>,
}

/// An executor that asks for work.
#[derive(Default)]
struct Executor {
    /// When it asked last and got none.
    idle: Option<Instant>,
    /// Since when it runs fewer tasks than it was handed.
    short: Option<Instant>,
}

/// All jobs that run, and the executors that ask for work.
#[derive(Default)]
pub(super) struct TaskTracker {
    running: HashMap<JobId, Job>,
    /// Jobs whose clients know that they failed, while their tasks may still run.
    failed: HashSet<JobId>,
    /// Jobs that clients asked for and that are not planned yet.
    asked: HashMap<JobId, Instant>,
    executors: HashMap<String, Executor>,
    /// How often each executor was lost.
    losses: HashMap<String, u64>,
}

impl TaskTracker {
    /// How often an executor was lost: one that was only silent for a while comes back.
    pub(super) fn losses(&self, executor: &str) -> u64 {
        self.losses.get(executor).copied().unwrap_or(0)
    }

    pub(super) fn asked(&mut self, job: &JobId, now: Instant) {
        self.asked.insert(job.clone(), now);
    }

    /// Whether a client has been waiting for a plan, and not for too long.
    pub(super) fn may_be_planned(&self, job: &JobId, now: Instant) -> bool {
        self.asked.get(job).is_some_and(|asked| now.duration_since(*asked) < PLANNING_TIMEOUT)
    }

    /// A job begins.
    pub(super) fn begin(&mut self, job: &JobId, graph: ExecutionGraphBox, begun: Instant) {
        let state = Job { graph, begun, tasks: HashMap::new(), executors: HashSet::new(), stopped: None };
        self.running.insert(job.clone(), state);
    }

    /// A job ends. `true` if its client knows already that it failed.
    pub(super) fn end(&mut self, job: &JobId) -> bool {
        self.asked.remove(job);
        self.running.remove(job);
        self.failed.remove(job)
    }

    pub(super) fn is_failed(&self, job: &JobId) -> bool {
        self.failed.contains(job)
    }

    /// Fails a job that runs; returns it as it was when it began.
    pub(super) fn fail(&mut self, job: JobId) -> Option<(JobId, ExecutionGraphBox)> {
        let state = self.running.remove(&job)?;
        self.failed.insert(job.clone());
        Some((job, state.graph))
    }

    /// The executors that ever had a task of a job.
    pub(super) fn executors(&self, job: &JobId) -> HashSet<String> {
        self.running.get(job).map(|state| state.executors.clone()).unwrap_or_default()
    }

    /// The jobs that have been running for some time.
    pub(super) fn running(&self, time: Duration, now: Instant) -> Vec<JobId> {
        self.jobs(|state| now.duration_since(state.begun) > time)
    }

    /// Forgets an executor; returns the jobs that ever had a task there.
    pub(super) fn lose(&mut self, executor: &str) -> Vec<JobId> {
        let losses = self.losses(executor) + 1;
        self.losses.insert(executor.to_owned(), losses);
        self.executors.remove(executor);
        self.jobs(|state| state.executors.contains(executor))
    }

    /// Notes what ended; returns the jobs of an executor that has been running fewer tasks than it
    /// was handed for too long.
    pub(super) fn reported(&mut self, poll: &Poll, now: Instant) -> Vec<JobId> {
        for (job, task) in &poll.ended {
            // The task may be of a job that has failed in the meantime.
            if let Some(state) = self.running.get_mut(job) {
                state.tasks.remove(task);
            }
        }
        // An executor sends both numbers: if it has more free threads than threads, it runs
        // nothing.
        let runs = usize::try_from(poll.threads.saturating_sub(poll.free)).unwrap_or(usize::MAX);
        let has = |state: &Job| state.tasks.values().filter(|executor| **executor == poll.executor).count();
        let handed: usize = self.running.values().map(has).sum();
        let executor = self.executors.entry(poll.executor.clone()).or_default();
        if handed <= runs {
            executor.short = None;
            return Vec::new();
        }
        let since = *executor.short.get_or_insert(now);
        if now.duration_since(since) < LOST_TASK_TIMEOUT {
            return Vec::new();
        }
        executor.short = None;
        self.jobs(|state| has(state) > 0)
    }

    /// Notes what an executor gets. If it was lost since the number of its losses was read, returns
    /// the jobs of these tasks, which then have to fail.
    pub(super) fn handed(
        &mut self,
        poll: &Poll,
        tasks: &[(JobId, Task)],
        losses: u64,
        now: Instant,
    ) -> Vec<JobId> {
        if losses != self.losses(&poll.executor) {
            return tasks.iter().map(|(job, _)| job.clone()).collect();
        }
        for (job, task) in tasks {
            // A job that has failed in the meantime needs no tasks.
            if let Some(state) = self.running.get_mut(job) {
                state.tasks.insert(*task, poll.executor.clone());
                state.executors.insert(poll.executor.clone());
            }
        }
        let executor = self.executors.entry(poll.executor.clone()).or_default();
        executor.idle = (poll.free > 0 && tasks.is_empty()).then_some(now);
        Vec::new()
    }

    /// The jobs of which nothing has been running for too long, although executors wait for work.
    pub(super) fn stopped(&mut self, now: Instant) -> Vec<JobId> {
        self.asked.retain(|_, asked| now.duration_since(*asked) < PLANNING_TIMEOUT);
        let is_idle = |executor: &Executor| {
            executor.idle.is_some_and(|idle| now.duration_since(idle) < IDLE_POLL_LIFETIME)
        };
        let one_waits = self.executors.values().any(is_idle);
        for state in self.running.values_mut() {
            let stands = one_waits && state.tasks.is_empty();
            state.stopped = stands.then(|| state.stopped.unwrap_or(now));
        }
        self.jobs(|state| state.stopped.is_some_and(|since| now.duration_since(since) > STOPPED_JOB_TIMEOUT))
    }

    fn jobs(&self, which: impl Fn(&Job) -> bool) -> Vec<JobId> {
        self.running.iter().filter(|(_, state)| which(state)).map(|(job, _)| job.clone()).collect()
    }
}
