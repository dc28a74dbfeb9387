//! The physical plan that reads an array.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::stream::{RecordBatchReceiverStreamBuilder, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, EmptyRecordBatchStream, ExecutionPlan, PlanProperties,
    SortOrderPushdownResult,
};
use futures_util::{TryStreamExt, stream};

use crate::Result;
use crate::dynamic::DynamicFilters;
use crate::figures::Figures;
use crate::reading::{self, PartitionRead};
use crate::scan::Scan;
use crate::thresholds::BUFFERED_BATCHES;

/// Reads an array. Ranges, conditions, columns and limits of the query are pushed down to the read,
/// and its partitions are read at the same time.
#[derive(Clone, Debug)]
pub struct TdbExec {
    scan: Arc<Scan>,
    limit: Option<usize>,
    dynamic: DynamicFilters,
    properties: Arc<PlanProperties>,
    figures: Figures,
}

impl TdbExec {
    pub(crate) fn new(scan: Scan, limit: Option<usize>, ordering: Option<EquivalenceProperties>) -> Self {
        let properties = Arc::new(properties(&scan, ordering));
        Self {
            scan: Arc::new(scan),
            limit,
            dynamic: DynamicFilters::default(),
            properties,
            figures: Figures::default(),
        }
    }

    /// The scan, if there is no limit on the number of rows.
    pub(crate) fn unlimited_scan(&self) -> Option<Arc<Scan>> {
        self.limit.is_none().then(|| self.scan.clone())
    }

    pub(crate) fn scan(&self) -> &Scan {
        &self.scan
    }

    /// The maximum number of rows of each partition.
    pub(crate) const fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// The indexes of the columns by which rows are to be sorted, if the order is ascending and
    /// consists of columns only.
    fn sorted_by(order: &[PhysicalSortExpr]) -> Option<Vec<usize>> {
        let place = |part: &PhysicalSortExpr| {
            let column = part.expr.downcast_ref::<Column>()?;
            (!part.options.descending).then(|| column.index())
        };
        order.iter().map(place).collect()
    }
}

/// Reads a partition on a thread that may block.
fn start(part: PartitionRead, context: Arc<TaskContext>) -> SendableRecordBatchStream {
    let mut stream = RecordBatchReceiverStreamBuilder::new(part.scan.schema.clone(), BUFFERED_BATCHES);
    let batches = stream.tx();
    stream.spawn_blocking(move || reading::run(part, &context, &batches));
    stream.build()
}

fn properties(scan: &Scan, ordering: Option<EquivalenceProperties>) -> PlanProperties {
    let equivalence = ordering.unwrap_or_else(|| EquivalenceProperties::new(scan.schema.clone()));
    let partitions = Partitioning::UnknownPartitioning(scan.parts.len().max(1));
    PlanProperties::new(equivalence, partitions, EmissionType::Incremental, Boundedness::Bounded)
}

impl DisplayAs for TdbExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = &self.scan.summary;
        let (read, all) = summary.fragments;
        let (partitions, tiles) = (self.scan.parts.len(), summary.tiles);
        let mut said = vec![
            ("fields", format!("[{}]", summary.fields)),
            ("ranges", format!("[{}]", summary.ranges)),
            ("condition", summary.condition.clone()),
            ("order", if self.scan.is_sorted { "row-major" } else { "" }.to_owned()),
            ("fragments", format!("{read} of {all}")),
            ("tiles", tiles.to_string()),
            ("partitions", partitions.to_string()),
            ("limit", self.limit.map_or_else(String::new, |limit| limit.to_string())),
            ("dynamic_filter", self.dynamic.to_string()),
        ];
        said.retain(|(_, value)| !value.is_empty() && value != "[]");
        match kind {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let said: Vec<_> = said.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "TdbExec: {}", said.join(", "))
            }
            DisplayFormatType::TreeRender => {
                said.iter().try_for_each(|(name, value)| writeln!(f, "{name}={value}"))
            }
        }
    }
}

impl ExecutionPlan for TdbExec {
    fn name(&self) -> &str {
        "TdbExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for filter in self.dynamic.filters() {
            if visit(filter)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.scan.schema.clone();
        if self.scan.parts.is_empty() && partition == 0 {
            return Ok(Box::pin(EmptyRecordBatchStream::new(schema)));
        }
        let Some(read) = self.scan.parts.get(partition) else {
            return internal_err!("partition {partition} of {}", self.scan.parts.len());
        };
        let part = PartitionRead {
            read: read.clone(),
            scan: self.scan.clone(),
            limit: self.limit,
            partition,
            dynamic: self.dynamic.clone(),
            metrics: self.figures.begin(&self.scan.state.array, partition),
        };
        if self.dynamic.is_empty() {
            return Ok(start(part, context));
        }
        // Not before the first row is wanted: then the other side of a join is known.
        let lazy = stream::once(async move { Ok::<_, DataFusionError>(start(part, context)) }).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, lazy)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.figures.of(&self.scan.state.array))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let whole = &self.scan.statistics;
        let statistics = match partition {
            // All parts have about the same number of rows; the exact number is not known before
            // they are read. Filters that change leave out an unknown number of rows.
            Some(_) if self.scan.parts.len() > 1 => {
                let mut part = whole.as_ref().clone().to_inexact();
                // A part of an estimate; there are several parts.
                let share = |all: &usize| all.checked_div(self.scan.parts.len()).unwrap_or(0);
                part.num_rows = part.num_rows.map_inexact(share);
                part.total_byte_size = part.total_byte_size.map_inexact(share);
                part
            }
            _ if !self.dynamic.is_empty() => whole.as_ref().clone().to_inexact(),
            _ => whole.as_ref().clone(),
        };
        match self.limit {
            Some(limit) => {
                let parts = if partition.is_some() { 1 } else { self.scan.parts.len().max(1) };
                Ok(Arc::new(statistics.with_fetch(Some(limit), 0, parts)?))
            }
            None => Ok(Arc::new(statistics)),
        }
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        // Filters from above a limit would choose its rows.
        if limit.is_some() && !self.dynamic.is_empty() {
            return None;
        }
        Some(Arc::new(Self { limit, figures: Figures::default(), ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        // The limit applies to each partition: if there are several, there may be more rows.
        self.limit.filter(|_| self.scan.parts.len() <= 1)
    }

    /// Filters that change while the plan runs leave out tiles; the operators that made them filter
    /// again.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        given: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let unapplied = given.parent_filters.iter().map(|_| PushedDown::No).collect();
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(unapplied);
        // The rows of a limit are chosen before the filters of operators above it.
        let is_limited = self.limit.is_some();
        if !matches!(phase, FilterPushdownPhase::Post) || self.scan.state.table.dense || is_limited {
            return Ok(answer);
        }
        let dynamic = self.dynamic.and(given.parent_filters.into_iter().map(|filter| filter.filter));
        if dynamic.len() == self.dynamic.len() {
            return Ok(answer);
        }
        let node = Self { dynamic, figures: Figures::default(), ..self.clone() };
        Ok(answer.with_updated_node(Arc::new(node)))
    }

    /// Sparse cells can be returned in row-major order on request: sorted by dimensions that SQL
    /// orders in the same way as tdb.
    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let by = Self::sorted_by(order).filter(|by| !by.is_empty() && self.scan.sortable.starts_with(by));
        if by.is_none() || self.scan.parts.is_empty() {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let scan = self.scan.in_row_major_order()?;
        let sorted = EquivalenceProperties::new_with_orderings(scan.schema.clone(), [order.to_vec()]);
        let inner = Self { dynamic: self.dynamic.clone(), ..Self::new(scan, self.limit, Some(sorted)) };
        Ok(SortOrderPushdownResult::Exact { inner: Arc::new(inner) })
    }
}

/// [`Precision`] without exactness.
trait MapInexact {
    fn map_inexact(&self, map: impl Fn(&usize) -> usize) -> Self;
}

impl MapInexact for datafusion::common::stats::Precision<usize> {
    fn map_inexact(&self, map: impl Fn(&usize) -> usize) -> Self {
        self.get_value().map_or(Self::Absent, |value| Self::Inexact(map(value)))
    }
}
