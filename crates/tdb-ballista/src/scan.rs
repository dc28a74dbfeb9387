//! Scans that are cut into tasks.
//!
//! Before the scheduler sends a plan to an executor, it leaves only those partitions of each leaf
//! that the task is about. It can do so for leaves that it knows, and ours is none of these. A
//! [`RemoteScanExec`] therefore has a child which the scheduler knows: a table in memory, whose
//! partitions have one row each, the description of a partition of the array. An executor gets the
//! scan with the rows of its own partitions.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BinaryArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Statistics, exec_err, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use tdb_datafusion::datafusion;
use tdb_datafusion::{Result, ScanDescription, TdbExec, TdbTableFactory};

use crate::message::{read_part, read_scan, write_scan};

/// Replaces scans of arrays by those that can be cut into tasks. The last rule of the scheduler's
/// sessions.
#[derive(Debug)]
pub(crate) struct RemoteScans;

impl PhysicalOptimizerRule for RemoteScans {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let replace = |plan: Arc<dyn ExecutionPlan>| {
            let Some(scan) = plan.downcast_ref::<TdbExec>() else { return Ok(Transformed::no(plan)) };
            Ok(Transformed::yes(RemoteScanExec::planned(scan)?))
        };
        plan.transform_up(replace).data()
    }

    fn name(&self) -> &str {
        "tiledb_remote_scans"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A scan of an array, cut into the partitions of its child.
#[derive(Clone, Debug)]
pub(crate) struct RemoteScanExec {
    /// The columns, the order and the limit; the partitions are those of the child.
    header: Arc<ScanDescription>,
    /// On the scheduler, the scan that was planned; on an executor, what it reads. `None` if that
    /// is nothing.
    scan: Option<Arc<TdbExec>>,
    is_open: bool,
    /// A table in memory with the descriptions of the partitions.
    parts: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl RemoteScanExec {
    /// A scan that the scheduler has planned.
    fn planned(scan: &TdbExec) -> Result<Arc<dyn ExecutionPlan>> {
        let mut header = scan.describe()?;
        let parts = core::mem::take(&mut header.parts);
        if parts.is_empty() {
            // There can be no rows.
            return Ok(Arc::new(EmptyExec::new(header.schema)));
        }
        let schema = schema_of_parts();
        let rows = parts.iter().map(|part| {
            let bytes = part.to_bytes();
            let column = Arc::new(BinaryArray::from_vec(vec![bytes.as_slice()]));
            Ok(vec![RecordBatch::try_new(schema.clone(), vec![column])?])
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let table = MemorySourceConfig::try_new(&rows, schema, None)?;
        Ok(Arc::new(Self {
            properties: properties(scan.properties().eq_properties.clone(), rows.len()),
            header: Arc::new(header),
            scan: Some(Arc::new(scan.clone())),
            is_open: false,
            parts: DataSourceExec::from_data_source(table),
        }))
    }

    /// A scan that an executor was sent, with the table of its partitions.
    pub(crate) fn read(
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        factory: &TdbTableFactory,
    ) -> Result<Self> {
        let mut header = read_scan(bytes)?;
        let [table] = inputs else { return exec_err!("a scan of an array with {} inputs", inputs.len()) };
        header.parts = described(table)?;
        let (scan, equivalence) = match header.parts.len() {
            0 => (None, EquivalenceProperties::new(header.schema.clone())),
            _ => {
                let scan = factory.open_scan(&header)?;
                let equivalence = scan.properties().eq_properties.clone();
                (Some(Arc::new(scan)), equivalence)
            }
        };
        Ok(Self {
            properties: properties(equivalence, header.parts.len()),
            header: Arc::new(header),
            scan,
            is_open: true,
            parts: table.clone(),
        })
    }

    /// The bytes for an executor; the partitions are in the child.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) -> Result<()> {
        write_scan(&self.header, bytes)
    }

    /// Whether the child has all partitions that were planned.
    fn is_whole(&self) -> bool {
        let all = self.scan.as_ref().map(|scan| scan.properties().partitioning.partition_count());
        all == Some(self.properties.partitioning.partition_count())
    }
}

fn properties(equivalence: EquivalenceProperties, partitions: usize) -> Arc<PlanProperties> {
    let partitions = Partitioning::UnknownPartitioning(partitions);
    Arc::new(PlanProperties::new(equivalence, partitions, EmissionType::Incremental, Boundedness::Bounded))
}

/// The table of partitions.
fn schema_of_parts() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("part", DataType::Binary, false)]))
}

/// The partitions that a table describes.
fn described(table: &Arc<dyn ExecutionPlan>) -> Result<Vec<tdb_array::query::QueryDescription>> {
    let source = table.downcast_ref::<DataSourceExec>().map(|scan| scan.data_source().as_ref());
    let source =
        source.and_then(|source| (source as &dyn core::any::Any).downcast_ref::<MemorySourceConfig>());
    let Some(source) = source else {
        return exec_err!("a scan of an array whose input is not a table in memory");
    };
    let parts = source.partitions().iter().map(|batches| {
        let bytes = match batches.as_slice() {
            [batch] => batch.columns().first().and_then(|column| column.as_binary_opt::<i32>()),
            _ => None,
        };
        match bytes {
            Some(bytes) if Array::len(bytes) == 1 => read_part(bytes.value(0)),
            _ => exec_err!("a partition of an array that is not one row of bytes"),
        }
    });
    parts.collect()
}

impl DisplayAs for RemoteScanExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions = self.properties.partitioning.partition_count();
        write!(f, "RemoteScanExec: partitions={partitions}")?;
        match &self.scan {
            Some(scan) => {
                write!(f, ", ")?;
                scan.fmt_as(kind, f)
            }
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for RemoteScanExec {
    fn name(&self) -> &str {
        "RemoteScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.parts]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    /// A partition of the table is a partition of the array.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [parts] = children.as_slice() else {
            return internal_err!("a scan of an array has one child, not {}", children.len());
        };
        let count = parts.output_partitioning().partition_count();
        if self.is_open && count != self.properties.partitioning.partition_count() {
            return internal_err!("the partitions of a scan that is open cannot change");
        }
        let properties = properties(self.properties.eq_properties.clone(), count);
        Ok(Arc::new(Self { parts: parts.clone(), properties, ..self.as_ref().clone() }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        match &self.scan {
            Some(scan) if self.is_open => scan.execute(partition, context),
            _ => internal_err!("partition {partition} of a scan that only an executor can run"),
        }
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.scan.as_ref().and_then(|scan| scan.metrics())
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        match &self.scan {
            Some(scan) if self.is_whole() => {
                let args = StatisticsArgs::new().with_partition(partition);
                StatisticsContext::new().compute(scan.as_ref(), &args)
            }
            _ => Ok(Arc::new(Statistics::new_unknown(&self.header.schema))),
        }
    }
}
