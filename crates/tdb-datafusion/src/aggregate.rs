//! Aggregates without groups, computed by the array: where statistics of tiles and fragments are exact, no cell is
//! decoded.
//!
//! A rule of the session replaces the aggregation of a scan of a sparse array if all its functions mean here what they
//! mean in SQL: `count`, `sum` and `avg` of numbers, `min` and `max` of integers, dates and times. (SQL orders NaN, and
//! a dense array's fill values are rows in SQL, but no values here.) A sum that does not fit in 64 bits, and an average
//! whose sum is not exact in a double, are left to DataFusion, which then runs the plan that was replaced.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, ScalarValue, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures_util::{TryStreamExt, stream};
use tdb_array::{Aggregate, AggregateValue, Error, MemoryBudget, QueryError};

use crate::columns::Comparable;
use crate::error::of_array;
use crate::exec::TdbExec;
use crate::scan::Scan;
use crate::statistics::scalar;
use crate::{Result, reading};

/// The largest sum of integers that is exact as a double, and so are all sums on the way to it.
const EXACT: i128 = 1 << 53;

/// Replaces aggregations that arrays can compute.
#[derive(Debug)]
pub(crate) struct AggregateArrays;

impl PhysicalOptimizerRule for AggregateArrays {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let replace = |plan: Arc<dyn ExecutionPlan>| {
            let replaced = TdbAggregateExec::of(&plan);
            Ok(match replaced {
                Some(replaced) => Transformed::yes(Arc::new(replaced) as _),
                None => Transformed::no(plan),
            })
        };
        plan.transform_down(replace).data()
    }

    fn name(&self) -> &str {
        "tiledb_aggregate"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What a function needs of a column.
#[derive(Clone, Debug)]
enum Function {
    /// The number of rows.
    Rows,
    /// The number of rows in which a column is not null.
    NotNull(String),
    /// The sum of a column.
    Sum(String),
    /// The sum of a column divided by the number of values; `bounded` if the column has integers, whose sum must be
    /// exact.
    Mean { column: String, bounded: bool },
    /// The smallest value of a column.
    Min(String),
    /// The largest value of a column.
    Max(String),
}

impl Function {
    /// A function of a scan's columns; `None` if it means something else in SQL.
    fn of(function: &AggregateFunctionExpr, scan: &Scan) -> Option<Self> {
        let arguments = function.expressions();
        let [argument] = arguments.as_slice() else { return None };
        if function.is_distinct() || !function.order_bys().is_empty() {
            return None;
        }
        let name = function.fun().name();
        if let Some(literal) = argument.downcast_ref::<Literal>() {
            return (name == "count" && !literal.value().is_null()).then_some(Self::Rows);
        }
        let to = argument.downcast_ref::<CastExpr>();
        let inner = to.map_or(argument, CastExpr::expr);
        let column = inner.downcast_ref::<Column>()?;
        let table = &scan.state.table;
        let position = table.position(column.name())?;
        let (from, comparable) = (table.data_type(position), table.comparable(position));
        let same = to.is_none_or(|cast| is_exact(from, cast.cast_type()));
        let column = column.name().to_owned();
        match (name, comparable) {
            _ if !same => None,
            ("count", Comparable::Integer | Comparable::Real | Comparable::Boolean | Comparable::Bytes) => {
                Some(if table.may_be_null(position) { Self::NotNull(column) } else { Self::Rows })
            }
            ("sum", Comparable::Integer) if from.is_integer() => Some(Self::Sum(column)),
            ("sum", Comparable::Real) => Some(Self::Sum(column)),
            ("avg", Comparable::Integer) if from.is_integer() => Some(Self::Mean { column, bounded: true }),
            ("avg", Comparable::Real) => Some(Self::Mean { column, bounded: false }),
            ("min", Comparable::Integer) => Some(Self::Min(column)),
            ("max", Comparable::Integer) => Some(Self::Max(column)),
            _ => None,
        }
    }

    /// The aggregates of the array from which it is computed.
    fn needs(&self) -> Vec<Aggregate> {
        match self {
            Self::Rows => vec![Aggregate::count()],
            Self::NotNull(column) => vec![Aggregate::count(), Aggregate::null_count(column)],
            Self::Sum(column) => {
                vec![Aggregate::count(), Aggregate::null_count(column), Aggregate::sum(column)]
            }
            Self::Mean { column, bounded } => {
                let mut needs = Self::Sum(column.clone()).needs();
                if *bounded {
                    needs.extend([Aggregate::min(column), Aggregate::max(column)]);
                }
                needs
            }
            Self::Min(column) => vec![Aggregate::min(column)],
            Self::Max(column) => vec![Aggregate::max(column)],
        }
    }

    /// The value of the function, given those of the aggregates that it needs. `None` if DataFusion's value may differ.
    fn value(&self, found: &[Found], data_type: &DataType) -> Option<ScalarValue> {
        let null = || ScalarValue::try_from(data_type).ok();
        let count = |at: usize| match found.get(at)? {
            Found::Integer(Some(count)) => Some(*count),
            _ => None,
        };
        let values = || Some(count(0)?.saturating_sub(count(1)?));
        let integer = |value: i128| scalar(value, data_type);
        match self {
            Self::Rows => integer(count(0)?),
            Self::NotNull(_) => integer(values()?),
            Self::Sum(_) if values()? == 0 => null(),
            Self::Sum(_) => match found.get(2)? {
                Found::Integer(sum) => integer((*sum)?),
                Found::Real(sum) => Some(ScalarValue::Float64(Some((*sum)?))),
                Found::Unknown => None,
            },
            Self::Mean { .. } if values()? == 0 => null(),
            Self::Mean { bounded, .. } => {
                let sum = match found.get(2)? {
                    Found::Integer(sum) if *bounded => {
                        let largest = count(3)?.abs().max(count(4)?.abs());
                        largest.checked_mul(values()?).filter(|most| *most < EXACT)?;
                        (*sum)? as f64
                    }
                    Found::Real(sum) => (*sum)?,
                    _ => return None,
                };
                Some(ScalarValue::Float64(Some(sum / values()? as f64)))
            }
            Self::Min(_) | Self::Max(_) => match found.first()? {
                Found::Integer(Some(value)) => integer(*value),
                Found::Integer(None) => null(),
                _ => None,
            },
        }
    }
}

/// Whether a cast changes no value: what DataFusion puts around the arguments of sums and averages.
fn is_exact(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    let narrow = matches!(from, D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 | D::UInt32);
    match to {
        D::Int64 => narrow || *from == D::Int64,
        D::UInt64 => matches!(from, D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64),
        // Averages of wide integers are checked when they are known.
        D::Float64 => from.is_integer() || matches!(from, D::Float32 | D::Float64),
        _ => false,
    }
}

/// An aggregate of some parts of an array.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// `None` if there is no value.
    Integer(Option<i128>),
    Real(Option<f64>),
    /// It does not fit.
    Unknown,
}

impl Found {
    fn of(value: &AggregateValue) -> Self {
        if value.overflowed() {
            Self::Unknown
        } else if value.datatype.physical().is_float() {
            Self::Real(value.as_f64())
        } else {
            let integer = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
            Self::Integer(integer)
        }
    }

    /// The aggregate of two sets of cells.
    fn and(self, other: Self, aggregate: &Aggregate) -> Self {
        use tdb_array::AggregateFunction::{Max, Min};
        let of_two = |a: i128, b: i128| match aggregate.function() {
            Min => a.min(b),
            Max => a.max(b),
            _ => a.saturating_add(b),
        };
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Self::Integer(match (a, b) {
                (Some(a), Some(b)) => Some(of_two(a, b)),
                (one, other) => one.or(other),
            }),
            (Self::Real(a), Self::Real(b)) => Self::Real(match (a, b) {
                (Some(a), Some(b)) => Some(a + b),
                (one, other) => one.or(other),
            }),
            _ => Self::Unknown,
        }
    }
}

/// Computes aggregates of an array.
#[derive(Clone, Debug)]
struct TdbAggregateExec {
    scan: Arc<Scan>,
    functions: Arc<Vec<Function>>,
    /// The plan that this one replaces.
    otherwise: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl TdbAggregateExec {
    /// What computes the same as a plan; `None` if it is not an aggregation that arrays can compute.
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let last = plan.downcast_ref::<AggregateExec>()?;
        let first = match last.mode() {
            AggregateMode::Single | AggregateMode::SinglePartitioned => last,
            AggregateMode::Final => {
                let input = last.input();
                let input = input.downcast_ref::<CoalescePartitionsExec>().map_or(input, |all| all.input());
                let partial = input.downcast_ref::<AggregateExec>()?;
                (*partial.mode() == AggregateMode::Partial).then_some(partial)?
            }
            _ => return None,
        };
        let plain = |part: &AggregateExec| {
            part.group_expr().is_true_no_grouping() && part.filter_expr().iter().all(Option::is_none)
        };
        let input = first.input();
        let input = input.downcast_ref::<CooperativeExec>().map_or(input, |inner| inner.input());
        let scan = input.downcast_ref::<TdbExec>()?.whole()?;
        if !plain(last) || !plain(first) || scan.state.table.dense || scan.parts.is_empty() {
            return None;
        }
        let functions = first.aggr_expr().iter().map(|function| Function::of(function, &scan));
        let functions = functions.collect::<Option<Vec<_>>>()?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(last.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Some(Self {
            scan,
            functions: Arc::new(functions),
            otherwise: plan.clone(),
            properties: Arc::new(properties),
        })
    }

    /// The aggregates of the whole array, each once.
    fn needs(&self) -> Vec<Aggregate> {
        let mut needs: Vec<Aggregate> = Vec::new();
        for aggregate in self.functions.iter().flat_map(Function::needs) {
            if !needs.contains(&aggregate) {
                needs.push(aggregate);
            }
        }
        needs
    }

    /// The row of the result, given the values of the aggregates.
    fn row(&self, needs: &[Aggregate], found: &[Found]) -> Result<Option<RecordBatch>> {
        let schema = self.schema();
        let mut columns = Vec::with_capacity(self.functions.len());
        for (function, field) in self.functions.iter().zip(schema.fields()) {
            let own = function.needs();
            let own = own.iter().filter_map(|need| {
                let at = needs.iter().position(|aggregate| aggregate == need)?;
                found.get(at).copied()
            });
            let Some(value) = function.value(&own.collect::<Vec<_>>(), field.data_type()) else {
                return Ok(None);
            };
            if value.data_type() != *field.data_type() {
                return Ok(None);
            }
            columns.push(value.to_array()?);
        }
        Ok(Some(RecordBatch::try_new(schema, columns)?))
    }
}

/// Computes aggregates of the query: if its parts are made of tiles, of the whole, with a thread for each part; of boxes, of each of them at
/// the same time, and adds them up. `None` if memory is too small.
async fn compute(
    scan: Arc<Scan>,
    needs: Vec<Aggregate>,
    memory: Arc<MemoryReservation>,
) -> Result<Option<Vec<Found>>> {
    let whole = scan.whole.clone().map(|whole| whole.threads(scan.parts.len()));
    let parts = whole.as_ref().map_or(scan.parts.as_slice(), core::slice::from_ref);
    let budget = memory.size().checked_div(parts.len()).unwrap_or(0);
    let budget = MemoryBudget::from_bytes(u64::try_from(budget).unwrap_or(u64::MAX));
    let run = |part: &tdb_array::Read| {
        let (part, needs, memory) = (part.clone().memory(budget), needs.clone(), memory.clone());
        SpawnedTask::spawn_blocking(move || {
            let found = part.aggregate(needs);
            drop(memory);
            found
        })
    };
    let tasks: Vec<_> = parts.iter().map(run).collect();
    let mut sum: Option<Vec<Found>> = None;
    for task in tasks {
        let found = match task.await.map_err(|error| DataFusionError::External(Box::new(error)))? {
            Ok(found) => found,
            Err(Error::Query(QueryError::BudgetTooSmall { .. } | QueryError::OverBudget { .. })) => {
                return Ok(None);
            }
            Err(error) => return Err(of_array(error)),
        };
        let found = found.iter().map(Found::of);
        sum = Some(match sum {
            None => found.collect(),
            Some(sum) => {
                let both = sum.into_iter().zip(found).zip(&needs);
                both.map(|((one, other), aggregate)| one.and(other, aggregate)).collect()
            }
        });
    }
    Ok(sum)
}

impl DisplayAs for TdbAggregateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needs: Vec<_> = self.needs().iter().map(ToString::to_string).collect();
        let about = &self.scan.about;
        write!(f, "TdbAggregateExec: [{}]", needs.join(", "))?;
        if !about.ranges.is_empty() {
            write!(f, ", ranges=[{}]", about.ranges)?;
        }
        if !about.condition.is_empty() {
            write!(f, ", condition={}", about.condition)?;
        }
        let (read, all) = about.fragments;
        write!(f, ", fragments={read} of {all}, partitions={}", self.scan.parts.len())
    }
}

impl ExecutionPlan for TdbAggregateExec {
    fn name(&self) -> &str {
        "TdbAggregateExec"
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
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition > 0 {
            return internal_err!("partition {partition} of 1");
        }
        let (this, schema) = (self.clone(), self.schema());
        let run = async move {
            let needs = this.needs();
            let memory = MemoryConsumer::new("TdbAggregateExec").register(context.memory_pool());
            let memory = reading::reserve(memory, 1, &context)?;
            let found = compute(this.scan.clone(), needs.clone(), Arc::new(memory)).await?;
            let row = found.map(|found| this.row(&needs, &found)).transpose()?.flatten();
            match row {
                Some(row) => {
                    let rows = stream::iter([Ok(row)]);
                    Ok::<SendableRecordBatchStream, DataFusionError>(Box::pin(RecordBatchStreamAdapter::new(
                        this.schema(),
                        rows,
                    )))
                }
                None => this.otherwise.execute(0, context),
            }
        };
        let rows = stream::once(run).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
