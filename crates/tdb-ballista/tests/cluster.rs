//! A cluster in this process: a scheduler and two executors that talk over the loopback interface.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests: a panic is a failure")]

use std::sync::Arc;

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::{SessionConfig, SessionContext};
use tdb_ballista::{Cluster, ClusterError, Executor, Scheduler};
use tdb_datafusion::{TdbTableFactory, datafusion};
use tokio::net::TcpListener;

/// Starts a cluster; its address.
async fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Scheduler::new(TdbTableFactory::new()).serve(listener));
    for _ in 0..2 {
        let executor = Executor::new(TdbTableFactory::new(), "127.0.0.1", address.port());
        tokio::spawn(executor.threads(2).serve());
    }
    address.to_string()
}

fn with_names(session: SessionContext) -> SessionContext {
    TdbTableFactory::new().register_names(&session);
    session
}

fn here() -> SessionContext {
    with_names(SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4)))
}

fn there(address: &str) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(4);
    with_names(Cluster::new(address).session(config, Arc::new(RuntimeEnv::default())))
}

/// The rows as text, sorted.
async fn rows(session: &SessionContext, sql: &str) -> Vec<String> {
    let batches = session.sql(sql).await.unwrap().collect().await;
    let batches = batches.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut rows: Vec<String> =
        pretty_format_batches(&batches).unwrap().to_string().lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

const ARRAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0");

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cluster_answers_as_one_process_does() {
    let address = start().await;
    let (here, there) = (here(), there(&address));
    let quickstart = format!("'{ARRAYS}/quickstart'");
    let sparse = format!("'{ARRAYS}/sparse2d_rr'");
    for sql in [
        format!("SELECT * FROM {quickstart}"),
        format!("SELECT * FROM {sparse}"),
        format!("SELECT count(*) FROM {sparse}"),
        format!("SELECT rows, sum(a) FROM {quickstart} WHERE a > 3 GROUP BY rows"),
        format!("SELECT a FROM {quickstart} WHERE rows > 4 AND rows < 4"),
        format!("SELECT rows, cols FROM {quickstart} ORDER BY cols DESC, rows LIMIT 3"),
        format!("SELECT x.a, y.cols FROM {quickstart} AS x JOIN {quickstart} AS y ON x.rows = y.cols"),
        format!("SELECT a FROM {quickstart} UNION ALL SELECT rows FROM {quickstart} WHERE cols = 1"),
        format!("SELECT a FROM {quickstart} WHERE a > (SELECT avg(a) FROM {quickstart})"),
        format!("SELECT upper('x'), max(a) OVER (PARTITION BY rows) FROM {quickstart}"),
        "SELECT 1 + 1".to_owned(),
    ] {
        assert_eq!(rows(&there, &sql).await, rows(&here, &sql).await, "{sql}");
    }
    let explained = rows(&there, &format!("EXPLAIN SELECT a FROM {quickstart} WHERE rows = 1")).await;
    assert!(explained.iter().any(|row| row.contains("TdbExec")), "{explained:?}");
    // An error of a query is told once, and as what it is.
    let sql = format!("SELECT 1 / (a - a) FROM {quickstart}");
    let error = there.sql(&sql).await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("DivideByZero") && !error.contains("attempts"), "{error}");
    for sql in [
        format!("INSERT INTO {sparse} SELECT * FROM {sparse}"),
        format!("EXPLAIN ANALYZE SELECT a FROM {quickstart}"),
    ] {
        let refused = match there.sql(&sql).await {
            Ok(frame) => frame.collect().await.map(|_| ()),
            Err(error) => Err(error),
        };
        assert!(refused.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn without_a_scheduler_the_error_says_where_none_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let session = there(&address);
    let frame = session.sql(&format!("SELECT a FROM '{ARRAYS}/quickstart'")).await.unwrap();
    let error = frame.collect().await.unwrap_err();
    let datafusion::error::DataFusionError::External(error) = error.find_root() else { panic!("{error}") };
    assert!(
        matches!(error.downcast_ref(), Some(ClusterError::NoScheduler { address: said, .. }) if *said == address)
    );
}
