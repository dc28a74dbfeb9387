//! Sessions with the functions and the rules of clusters.

use std::sync::Arc;

use ballista_core::config::BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK;
use ballista_core::extension::{
    SessionConfigExt, ballista_aggregate_functions, ballista_scalar_functions, ballista_window_functions,
};
use ballista_core::optimizer::ballista_default_optimizer_rules;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use tdb_datafusion::Result;
use tdb_datafusion::datafusion;

use crate::scan::RemoteScans;

/// A session that plans a query for executors.
pub(crate) fn session(config: SessionConfig) -> Result<SessionState> {
    // The module `watch` knows how this planner handles the loss of an executor; the adaptive one
    // plans stages anew while others run.
    let config = config.with_ballista_adaptive_query_planner(false);
    // An executor that asks for work counts tasks, and not their partitions.
    let config = config.set_usize(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1);
    let state = builder(config).with_runtime_env(Arc::new(RuntimeEnvBuilder::new().build()?));
    Ok(state.with_physical_optimizer_rule(Arc::new(RemoteScans)).build())
}

/// A session with the functions and the rules of clusters.
pub(crate) fn builder(config: SessionConfig) -> SessionStateBuilder {
    SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_optimizer_rules(ballista_default_optimizer_rules())
        .with_scalar_functions(ballista_scalar_functions())
        .with_aggregate_functions(ballista_aggregate_functions())
        .with_window_functions(ballista_window_functions())
}
