//! Limits of time, memory and attempts. They were chosen by reasoning and not measured.

use core::time::Duration;

/// Runs of a query before its executors are given up.
pub(crate) const MAX_ATTEMPTS: u32 = 5;
/// The pause before a query is run again, times the number of attempts so far.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Bytes of a result that are held until all of it is there. When an executor is lost after that,
/// the query cannot be run again without passing on the same rows twice.
pub(crate) const MAX_HELD_BYTES: usize = 128 << 20;
/// Batches that wait for the caller.
pub(crate) const BUFFERED_BATCHES: usize = 1;

/// Time in which a connection must be made.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Seconds in which an executor must reach the scheduler.
pub(crate) const SCHEDULER_CONNECT_SECONDS: u16 = 20;
/// The pause between two pings of a connection.
pub(crate) const PING_PAUSE: Duration = Duration::from_secs(10);
/// Time in which the other side must answer a ping. Ballista's own connections between executors,
/// and those for results, wait for ever.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Seconds in which a scheduler must answer a call: it opens the arrays of a query before it
/// accepts the query.
pub(crate) const CALL_SECONDS: usize = 60;

/// Failures of a task for reasons that may pass, such as a store that does not answer.
pub(crate) const MAX_TASK_FAILURES: usize = 4;
/// Failures of a stage. It never begins again: the client runs the whole query again. See the
/// module `watch`.
pub(crate) const MAX_STAGE_FAILURES: usize = 1;

/// The pause between two looks at executors and jobs, for the watch, and in seconds for Ballista.
pub(crate) const WATCH_PAUSE: Duration = Duration::from_secs(WATCH_SECONDS);
pub(crate) const WATCH_SECONDS: u64 = 1;
/// Time in which an executor must accept a connection, else it counts as one that says nothing.
pub(crate) const EXECUTOR_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time in which the scheduler must accept that a job is cancelled.
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time that a query waits for the first executor.
pub(crate) const FIRST_EXECUTOR_TIMEOUT: Duration = Duration::from_secs(60);
/// Time in which the scheduler must plan a query.
pub(crate) const PLANNING_TIMEOUT: Duration = Duration::from_secs(300);

/// Time that an executor may seem to run fewer tasks than it has. A task that ends between the two
/// parts of a poll seems lost until the next poll.
pub(crate) const LOST_TASK_TIMEOUT: Duration = Duration::from_secs(5);
/// Time that nothing of a job may run while executors wait for work: stages follow each other
/// within milliseconds.
pub(crate) const STOPPED_JOB_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which the poll of an executor shows that it waits for work.
pub(crate) const IDLE_POLL_LIFETIME: Duration = Duration::from_secs(10);
