//! The gRPC service of the scheduler, for clients and executors.
//!
//! Three of Ballista's calls go through a [`Watch`]: the tasks that executors get, new queries, and
//! the status of a query. The scheduler itself would answer the last one with the state of its
//! graph of stages, which may have succeeded although the watch knows better.

use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::serde::protobuf::execute_query_result::Result as QueryResult;
use ballista_core::serde::protobuf::executor_resource::Resource;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpc;
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CleanJobDataParams, CleanJobDataResult, CreateUpdateSessionParams,
    CreateUpdateSessionResult, ExecuteQueryParams, ExecuteQueryResult, ExecutorStoppedParams,
    ExecutorStoppedResult, GetJobMetricsParams, GetJobMetricsResult, GetJobStatusParams, GetJobStatusResult,
    HeartBeatParams, HeartBeatResult, PollWorkParams, PollWorkResult, RegisterExecutorParams,
    RegisterExecutorResult, RemoveSessionParams, RemoveSessionResult, UpdateTaskStatusParams,
    UpdateTaskStatusResult,
};
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tonic::{Request, Response, Status};

use crate::watch::{Poll, Task, Watch};

/// The scheduler, without its type: the compiler would look through all of it for each function
/// below, to find out whether a thread may have the function's answer, and would take half a
/// minute.
type Server = dyn SchedulerGrpc<ExecuteQueryPushStream = PushStream>;
type PushStream =
    <SchedulerServer<LogicalPlanNode, PhysicalPlanNode> as SchedulerGrpc>::ExecuteQueryPushStream;
type Answer<T> = Result<Response<T>, Status>;

/// A scheduler that is watched.
pub(crate) struct Gate {
    pub(crate) server: Box<Server>,
    pub(crate) watch: Arc<Watch>,
}

/// The poll of an executor; `None` if it does not say who it is, or how many threads it has.
fn poll(params: &PollWorkParams) -> Option<Poll> {
    let executor = params.metadata.as_ref()?;
    let resources = &executor.specification.as_ref()?.resources;
    let threads =
        resources.iter().find_map(|resource| resource.resource.map(|Resource::Vcores(threads)| threads))?;
    let ended = params
        .task_status
        .iter()
        .map(|task| (JobId::from(task.job_id.clone()), Task { stage: task.stage_id, number: task.task_id }));
    Some(Poll {
        executor: executor.id.clone(),
        threads,
        free: params.num_free_vcores,
        ended: ended.collect(),
    })
}

#[async_trait]
impl SchedulerGrpc for Gate {
    type ExecuteQueryPushStream = PushStream;

    async fn poll_work(&self, request: Request<PollWorkParams>) -> Answer<PollWorkResult> {
        let Some(poll) = poll(request.get_ref()) else {
            return Err(Status::invalid_argument(
                "an executor has to say who it is and how many threads it has",
            ));
        };
        let losses = self.watch.reported(&poll).await;
        let mut answer = self.server.poll_work(request).await?;
        let tasks: Vec<_> = answer
            .get_ref()
            .tasks
            .iter()
            .map(|task| {
                (JobId::from(task.job_id.clone()), Task { stage: task.stage_id, number: task.task_id })
            })
            .collect();
        if !self.watch.handed(&poll, &tasks, losses).await {
            answer.get_mut().tasks.clear();
        }
        Ok(answer)
    }

    async fn register_executor(
        &self,
        request: Request<RegisterExecutorParams>,
    ) -> Answer<RegisterExecutorResult> {
        self.server.register_executor(request).await
    }

    async fn heart_beat_from_executor(&self, request: Request<HeartBeatParams>) -> Answer<HeartBeatResult> {
        self.server.heart_beat_from_executor(request).await
    }

    async fn update_task_status(
        &self,
        request: Request<UpdateTaskStatusParams>,
    ) -> Answer<UpdateTaskStatusResult> {
        self.server.update_task_status(request).await
    }

    async fn create_update_session(
        &self,
        request: Request<CreateUpdateSessionParams>,
    ) -> Answer<CreateUpdateSessionResult> {
        self.server.create_update_session(request).await
    }

    async fn remove_session(&self, request: Request<RemoveSessionParams>) -> Answer<RemoveSessionResult> {
        self.server.remove_session(request).await
    }

    async fn execute_query_push(
        &self,
        request: Request<ExecuteQueryParams>,
    ) -> Answer<Self::ExecuteQueryPushStream> {
        self.server.execute_query_push(request).await
    }

    async fn execute_query(&self, request: Request<ExecuteQueryParams>) -> Answer<ExecuteQueryResult> {
        let answer = self.server.execute_query(request).await?;
        if let Some(QueryResult::Success(success)) = &answer.get_ref().result {
            self.watch.asked(&JobId::from(success.job_id.clone()));
        }
        Ok(answer)
    }

    async fn get_job_status(&self, request: Request<GetJobStatusParams>) -> Answer<GetJobStatusResult> {
        let job = JobId::from(request.into_inner().job_id);
        let status = self.watch.status(&job).await.map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(GetJobStatusResult { status, flight_proxy: None }))
    }

    async fn get_job_metrics(&self, request: Request<GetJobMetricsParams>) -> Answer<GetJobMetricsResult> {
        self.server.get_job_metrics(request).await
    }

    async fn executor_stopped(
        &self,
        request: Request<ExecutorStoppedParams>,
    ) -> Answer<ExecutorStoppedResult> {
        self.server.executor_stopped(request).await
    }

    async fn cancel_job(&self, request: Request<CancelJobParams>) -> Answer<CancelJobResult> {
        self.server.cancel_job(request).await
    }

    async fn clean_job_data(&self, request: Request<CleanJobDataParams>) -> Answer<CleanJobDataResult> {
        self.server.clean_job_data(request).await
    }
}
