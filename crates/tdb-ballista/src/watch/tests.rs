//! What becomes of a job whose executors are lost.

use core::time::Duration;

use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::{FailedTask, FetchPartitionError, SuccessfulJob, task_status};
use ballista_core::serde::scheduler::{ExecutorOperatingSystemSpecification, ExecutorSpecification};
use ballista_core::utils::{default_config_producer, default_session_builder};
use ballista_scheduler::planner::DefaultDistributedPlanner;
use ballista_scheduler::state::execution_graph::StaticExecutionGraph;
use tdb_datafusion::datafusion::prelude::{SessionConfig, SessionContext};
use tokio::net::TcpListener;

use super::states::lost;
use super::*;

fn watch() -> Arc<Watch> {
    let cluster = BallistaCluster::new_memory(
        "scheduler",
        Arc::new(default_session_builder),
        Arc::new(default_config_producer),
    );
    // Nobody listens there.
    Watch::new(&cluster, Cluster::new("127.0.0.1:1"))
}

/// A job of two stages.
async fn graph(job: &JobId) -> ExecutionGraphBox {
    let config = SessionConfig::new_with_ballista().with_target_partitions(2);
    let session = SessionContext::new_with_config(config.clone());
    let frame = session.sql("SELECT a, count(*) FROM (VALUES (1), (2)) AS t (a) GROUP BY a").await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let mut planner = DefaultDistributedPlanner::new();
    let graph = StaticExecutionGraph::new(
        "scheduler",
        job,
        "",
        "session",
        plan,
        0,
        Arc::new(config),
        &mut planner,
        None,
    );
    Box::new(graph.unwrap())
}

async fn submitted(watch: &Watch) -> (JobId, ExecutionGraphBox) {
    let job = JobId::from("job");
    let graph = graph(&job).await;
    watch.asked(&job);
    watch.accept_job(&job, "", 0).unwrap();
    watch.submit_job(job.clone(), &graph, None).await.unwrap();
    (job, graph)
}

/// What an executor with one thread says.
fn says(executor: &str, free: u32, ended: &[(JobId, Task)]) -> Poll {
    Poll { executor: executor.to_owned(), threads: 1, free, ended: ended.to_vec() }
}

/// An executor asks for work, and gets tasks.
async fn polls(watch: &Watch, poll: &Poll, tasks: &[(JobId, Task)]) -> bool {
    let losses = watch.reported(poll).await;
    watch.handed(poll, tasks, losses).await
}

const TASK: Task = Task { stage: 1, number: 0 };

fn succeed(graph: &mut ExecutionGraphBox) {
    let job_id = graph.job_id().as_str().to_owned();
    let status = Some(Status::Successful(SuccessfulJob::default()));
    graph.update_status(JobStatus { job_id, job_name: String::new(), status });
}

/// What the client is told.
async fn told(watch: &Watch, job: &JobId) -> Option<Status> {
    watch.status(job).await.unwrap().unwrap().status
}

/// Whether it is told that the query failed for this reason.
async fn has_failed(watch: &Watch, job: &JobId, reason: &str) -> bool {
    matches!(told(watch, job).await, Some(Status::Failed(failed)) if failed.error.starts_with(reason))
}

#[tokio::test]
async fn a_job_with_a_task_on_a_lost_executor_fails_at_once_and_stays_failed() {
    let watch = watch();
    let (job, mut graph) = submitted(&watch).await;
    graph.revive();
    watch.save_job(&job, &graph).await.unwrap();
    assert!(polls(&watch, &says("one", 1, &[]), &[(job.clone(), TASK)]).await);
    watch.remove_executor("another").await.unwrap();
    assert!(matches!(told(&watch, &job).await, Some(Status::Running(_))));
    watch.remove_executor("one").await.unwrap();
    assert!(has_failed(&watch, &job, LOST).await);
    // Its tasks go on for a while, and may even end well.
    watch.save_job(&job, &graph).await.unwrap();
    succeed(&mut graph);
    watch.save_job(&job, &graph).await.unwrap();
    assert!(has_failed(&watch, &job, LOST).await);
}

#[tokio::test]
async fn a_job_whose_task_ended_on_an_executor_that_is_lost_later_fails_too() {
    let watch = watch();
    let (job, _) = submitted(&watch).await;
    polls(&watch, &says("one", 1, &[]), &[(job.clone(), TASK)]).await;
    polls(&watch, &says("one", 1, &[(job.clone(), TASK)]), &[]).await;
    watch.remove_executor("one").await.unwrap();
    assert!(has_failed(&watch, &job, LOST).await);
}

#[tokio::test]
async fn a_job_that_ends_before_an_executor_is_lost_keeps_its_result() {
    let watch = watch();
    let (job, mut graph) = submitted(&watch).await;
    polls(&watch, &says("one", 1, &[]), &[(job.clone(), TASK)]).await;
    succeed(&mut graph);
    watch.save_job(&job, &graph).await.unwrap();
    watch.remove_executor("one").await.unwrap();
    assert!(matches!(told(&watch, &job).await, Some(Status::Successful(_))));
}

#[tokio::test]
async fn an_executor_that_is_lost_while_it_asks_gets_nothing() {
    let watch = watch();
    let (job, _) = submitted(&watch).await;
    let poll = says("one", 1, &[]);
    let losses = watch.reported(&poll).await;
    watch.remove_executor("one").await.unwrap();
    assert!(!watch.handed(&poll, &[(job.clone(), TASK)], losses).await);
    assert!(has_failed(&watch, &job, LOST).await);
}

#[tokio::test]
async fn a_stage_that_begins_again_fails_its_job_however_it_came_about() {
    let watch = watch();
    let (job, mut graph) = submitted(&watch).await;
    graph.revive();
    let stage = graph.running_stages()[0];
    graph.rollback_running_stage(stage, HashSet::new()).unwrap();
    watch.save_job(&job, &graph).await.unwrap();
    assert!(has_failed(&watch, &job, LOST).await);
}

/// An executor at a port.
fn executor(id: &str, port: u16) -> ExecutorMetadata {
    ExecutorMetadata {
        id: id.to_owned(),
        host: "127.0.0.1".to_owned(),
        port,
        grpc_port: port,
        specification: ExecutorSpecification::default().with_vcores(1),
        os_info: ExecutorOperatingSystemSpecification::default(),
    }
}

#[tokio::test]
async fn an_error_while_an_executor_is_gone_is_its_loss_and_any_other_is_the_querys() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let there = listener.local_addr().unwrap().port();
    for (port, reason) in [(there, "division by zero"), (1, LOST)] {
        let watch = watch();
        let (job, mut graph) = submitted(&watch).await;
        watch.save_executor_metadata(executor("one", port)).await.unwrap();
        polls(&watch, &says("one", 1, &[]), &[(job.clone(), TASK)]).await;
        graph.fail_job("division by zero".to_owned());
        watch.save_job(&job, &graph).await.unwrap();
        assert!(has_failed(&watch, &job, reason).await, "{reason}");
    }
}

#[tokio::test]
async fn an_executor_that_refuses_connections_twice_is_lost() {
    let watch = watch();
    let (job, _) = submitted(&watch).await;
    let gone = [executor("one", 1)];
    watch.save_executor_metadata(gone[0].clone()).await.unwrap();
    polls(&watch, &says("one", 1, &[]), &[(job.clone(), TASK)]).await;
    let refused = watch.look_at(&gone, &HashSet::new()).await;
    assert_eq!(refused, HashSet::from(["one".to_owned()]));
    assert!(matches!(told(&watch, &job).await, Some(Status::Running(_))));
    assert!(watch.look_at(&gone, &refused).await.is_empty());
    assert!(has_failed(&watch, &job, LOST).await);
    assert!(watch.registered_executor_metadata().await.is_empty());
}

/// A job that runs, and a time.
async fn known() -> (TaskTracker, JobId, Instant) {
    let (mut known, job, now) = (TaskTracker::default(), JobId::from("job"), Instant::now());
    known.begin(&job, graph(&job).await, now);
    (known, job, now)
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_task_that_its_executor_does_not_run_fails_its_job() {
    let (mut known, job, mut now) = known().await;
    known.handed(&says("one", 1, &[]), &[(job.clone(), TASK)], 0, now);
    // While it runs, its executor has no free thread.
    now += 1000 * SECOND;
    assert!(known.reported(&says("one", 0, &[]), now).is_empty());
    // It may have ended since the executor collected what had ended.
    assert!(known.reported(&says("one", 1, &[]), now).is_empty());
    assert!(known.reported(&says("one", 1, &[]), now + 4 * SECOND).is_empty());
    assert_eq!(known.reported(&says("one", 1, &[]), now + 5 * SECOND), core::slice::from_ref(&job));
    // It is told once, and another executor's task says nothing of it.
    assert!(known.reported(&says("one", 1, &[]), now + 5 * SECOND).is_empty());
    assert!(known.reported(&says("one", 1, &[(job, TASK)]), now + 99 * SECOND).is_empty());
}

#[tokio::test]
async fn a_job_of_which_nothing_runs_while_executors_wait_comes_to_an_end() {
    let (mut known, job, now) = known().await;
    let waits = |known: &mut TaskTracker, from: u32, to: u32| {
        let mut stopped = Vec::new();
        for second in from..=to {
            let now = now + second * SECOND;
            known.handed(&says("another", 1, &[]), &[], 0, now);
            stopped = known.stopped(now);
        }
        stopped
    };
    assert!(waits(&mut known, 0, 30).is_empty(), "not yet");
    known.handed(&says("one", 1, &[]), &[(job.clone(), TASK)], 0, now + 30 * SECOND);
    assert!(waits(&mut known, 31, 99).is_empty(), "a task of it runs");
    known.reported(&says("one", 1, &[(job.clone(), TASK)]), now + 99 * SECOND);
    assert!(waits(&mut known, 100, 130).is_empty(), "not yet");
    assert!(known.stopped(now + 150 * SECOND).is_empty(), "no executor waits any more");
    assert!(waits(&mut known, 151, 181).is_empty(), "not yet again");
    assert_eq!(waits(&mut known, 182, 182), [job]);
}

#[tokio::test]
async fn a_query_that_is_not_planned_in_time_or_has_no_executor_does_not_wait_for_ever() {
    let (mut known, job, now) = known().await;
    assert!(!known.may_be_planned(&job, now));
    known.asked(&job, now);
    assert!(known.may_be_planned(&job, now + 299 * SECOND));
    assert!(!known.may_be_planned(&job, now + 300 * SECOND));
    assert!(known.running(FIRST_EXECUTOR_TIMEOUT, now + FIRST_EXECUTOR_TIMEOUT).is_empty());
    assert_eq!(known.running(FIRST_EXECUTOR_TIMEOUT, now + FIRST_EXECUTOR_TIMEOUT + SECOND), [job]);
}

#[tokio::test]
async fn a_query_that_the_scheduler_does_not_know_has_to_be_asked_again() {
    let watch = watch();
    let job = JobId::from("job");
    assert!(has_failed(&watch, &job, STOPPED).await);
    watch.asked(&job);
    assert!(watch.status(&job).await.unwrap().is_none());
    watch.accept_job(&job, "", 0).unwrap();
    assert!(matches!(told(&watch, &job).await, Some(Status::Queued(_))));
}

#[test]
fn only_results_that_are_gone_are_losses() {
    let failed = |failed_reason| {
        task_status::Status::Failed(FailedTask {
            error: "x".to_owned(),
            failed_reason,
            ..FailedTask::default()
        })
    };
    assert_eq!(
        lost(&failed(Some(FailedReason::FetchPartitionError(FetchPartitionError::default())))),
        Some("x")
    );
    assert_eq!(lost(&failed(Some(FailedReason::ResultLost(Default::default())))), Some("x"));
    assert_eq!(lost(&failed(Some(FailedReason::IoError(Default::default())))), None);
    assert_eq!(lost(&failed(None)), None);
}
