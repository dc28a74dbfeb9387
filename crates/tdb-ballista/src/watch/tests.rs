//! What becomes of a job whose executors are lost.

use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::{FetchPartitionError, SuccessfulJob};
use ballista_core::utils::{default_config_producer, default_session_builder};
use ballista_scheduler::planner::DefaultDistributedPlanner;
use ballista_scheduler::state::execution_graph::StaticExecutionGraph;
use tokio::sync::mpsc::{Receiver, channel};

use super::*;

fn cluster() -> BallistaCluster {
    let cluster = BallistaCluster::new_memory(
        "scheduler",
        Arc::new(default_session_builder),
        Arc::new(default_config_producer),
    );
    // Nobody listens there.
    watched(&cluster, Cluster::new("127.0.0.1:1"))
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

async fn submitted(cluster: &BallistaCluster) -> (JobId, ExecutionGraphBox, Receiver<JobStatus>) {
    let job = JobId::from("job");
    let graph = graph(&job).await;
    let (sender, receiver) = channel(16);
    cluster.job_state().accept_job(&job, "", 0).unwrap();
    cluster.job_state().submit_job(job.clone(), &graph, Some(sender)).await.unwrap();
    (job, graph, receiver)
}

/// What the client has been told last.
fn told(receiver: &mut Receiver<JobStatus>) -> Option<Status> {
    let mut last = None;
    while let Ok(status) = receiver.try_recv() {
        last = status.status;
    }
    last
}

fn is_lost(status: Option<&Status>) -> bool {
    matches!(status, Some(Status::Failed(failed)) if failed.error.starts_with(LOST))
}

#[tokio::test]
async fn a_job_that_runs_when_an_executor_is_lost_fails_at_once_and_stays_failed() {
    let cluster = cluster();
    let (job, mut graph, mut receiver) = submitted(&cluster).await;
    graph.revive();
    cluster.job_state().save_job(&job, &graph).await.unwrap();
    assert!(matches!(told(&mut receiver), Some(Status::Running(_))));
    cluster.cluster_state().remove_executor("executor").await.unwrap();
    assert!(is_lost(told(&mut receiver).as_ref()));
    // Its tasks go on for a while, and may even end well.
    cluster.job_state().save_job(&job, &graph).await.unwrap();
    let succeeded = Status::Successful(SuccessfulJob::default());
    let job_id = job.as_str().to_owned();
    graph.update_status(JobStatus { job_id, job_name: String::new(), status: Some(succeeded) });
    cluster.job_state().save_job(&job, &graph).await.unwrap();
    let status = cluster.job_state().get_job_status(&job).await.unwrap().unwrap().status;
    assert!(is_lost(status.as_ref()), "{status:?}");
}

#[tokio::test]
async fn a_job_that_ends_before_an_executor_is_lost_keeps_its_result() {
    let cluster = cluster();
    let (job, mut graph, mut receiver) = submitted(&cluster).await;
    let succeeded = Status::Successful(SuccessfulJob::default());
    let job_id = job.as_str().to_owned();
    graph.update_status(JobStatus { job_id, job_name: String::new(), status: Some(succeeded) });
    cluster.job_state().save_job(&job, &graph).await.unwrap();
    cluster.cluster_state().remove_executor("executor").await.unwrap();
    assert!(matches!(told(&mut receiver), Some(Status::Successful(_))));
}

#[tokio::test]
async fn a_stage_that_begins_again_fails_its_job_however_it_came_about() {
    let cluster = cluster();
    let (job, mut graph, mut receiver) = submitted(&cluster).await;
    graph.revive();
    let stage = graph.running_stages()[0];
    graph.rollback_running_stage(stage, HashSet::new()).unwrap();
    cluster.job_state().save_job(&job, &graph).await.unwrap();
    assert!(is_lost(told(&mut receiver).as_ref()));
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
