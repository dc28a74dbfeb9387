//! What the read of an array has taken, as figures of a plan: `EXPLAIN ANALYZE` shows them.

use std::sync::{Arc, OnceLock};

use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, Metric, MetricValue, MetricsSet,
};
use tdb_array::Array;
use tdb_array::query::QueryStats;

/// The figures of one plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    metrics: ExecutionPlanMetricsSet,
    /// What the array had read before the first partition began.
    before: Arc<OnceLock<QueryStats>>,
}

impl Figures {
    /// Begins a partition. The figures of the array are those since the first one began.
    pub(crate) fn begin(&self, array: &Array, partition: usize) -> BaselineMetrics {
        self.before.get_or_init(|| array.stats());
        BaselineMetrics::new(&self.metrics, partition)
    }

    /// All figures. What other plans read of the same array at the same time is in them.
    pub(crate) fn of(&self, array: &Array) -> MetricsSet {
        let mut all = self.metrics.clone_inner();
        let Some(before) = self.before.get() else { return all };
        let took = array.stats().since(before);
        let figures = [
            ("requests", took.requests),
            ("bytes_read", took.bytes_read),
            ("tiles_decoded", took.tiles),
            ("bytes_decoded", took.bytes_decoded),
        ];
        for (name, figure) in figures {
            let count = Count::new();
            count.add(usize::try_from(figure).unwrap_or(usize::MAX));
            all.push(Arc::new(Metric::new(MetricValue::Count { name: name.into(), count }, None)));
        }
        all
    }
}
