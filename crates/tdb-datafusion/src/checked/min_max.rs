//! `min` and `max` where DataFusion's own are wrong.
//!
//! In groups of floating-point numbers, DataFusion's functions start from the greatest finite
//! number instead of infinity, and leave out NaN, which SQL orders after all numbers. And if all
//! functions of a query without groups are `min` and `max`, DataFusion filters the rows of a scan
//! by those of plain columns alone, and loses rows that only the minimum or maximum of another
//! expression needs. Such an expression gets a function of another name here, which keeps
//! DataFusion from filtering.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::common::{DFSchema, ScalarValue, internal_datafusion_err, internal_err};
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, Expr, ExprSchemable, GroupsAccumulator,
    ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
};

use crate::Result;

/// The function: `min` or `max`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MinMax {
    original: Original,
    /// Whether the argument is an expression and not a plain column, so that no rows may be left
    /// out because of other functions.
    of_expression: bool,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Original {
    Min(Min),
    Max(Max),
}

impl MinMax {
    /// All functions of this type that plans may contain.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let both = || [Original::Min(Min::new()), Original::Max(Max::new())];
        [false, true]
            .into_iter()
            .flat_map(move |of_expression| both().map(|original| Self { original, of_expression }))
    }

    /// The function that replaces a function of DataFusion, if that may be wrong.
    pub(super) fn instead_of(function: &AggregateFunction, schema: &DFSchema) -> Option<Self> {
        let original = if function.func.inner().is::<Min>() {
            Original::Min(Min::new())
        } else if function.func.inner().is::<Max>() {
            Original::Max(Max::new())
        } else {
            return None;
        };
        let argument = function.params.args.first()?;
        let of_expression = !matches!(argument, Expr::Column(_));
        let is_real = argument.get_type(schema).is_ok_and(|data_type| is_real(&data_type));
        (of_expression || is_real).then_some(Self { original, of_expression })
    }

    fn original(&self) -> &dyn AggregateUDFImpl {
        match &self.original {
            Original::Min(min) => min,
            Original::Max(max) => max,
        }
    }

    /// How a value compares with the result so far if it replaces it.
    const fn wanted(&self) -> Ordering {
        match self.original {
            Original::Min(_) => Ordering::Less,
            Original::Max(_) => Ordering::Greater,
        }
    }
}

const fn is_real(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

impl AggregateUDFImpl for MinMax {
    fn name(&self) -> &str {
        match (&self.original, self.of_expression) {
            (Original::Min(_), true) => "tiledb_min",
            (Original::Max(_), true) => "tiledb_max",
            (_, false) => self.original().name(),
        }
    }

    /// Columns are called as those of DataFusion's function are.
    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.original().schema_name(params)
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.original().display_name(params)
    }

    fn signature(&self) -> &Signature {
        self.original().signature()
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.original().coerce_types(arguments)
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.original().return_type(arguments)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.original().accumulator(arguments)
    }

    fn create_sliding_accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.original().create_sliding_accumulator(arguments)
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.original().state_fields(arguments)
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        self.original().groups_accumulator_supported(arguments)
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let wanted = self.wanted();
        match arguments.return_field.data_type() {
            DataType::Float32 => {
                Ok(Box::new(MinMaxGroupsAccumulator::<Float32Type>::new(wanted, f32::total_cmp)))
            }
            DataType::Float64 => {
                Ok(Box::new(MinMaxGroupsAccumulator::<Float64Type>::new(wanted, f64::total_cmp)))
            }
            _ => self.original().create_groups_accumulator(arguments),
        }
    }

    fn is_descending(&self) -> Option<bool> {
        self.original().is_descending()
    }

    fn value_from_stats(&self, arguments: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.original().value_from_stats(arguments)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.original().order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.original().reverse_expr()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.original().set_monotonicity(data_type)
    }
}

/// The minima or maxima of groups of floating-point numbers, in SQL's order of these.
#[derive(Debug)]
struct MinMaxGroupsAccumulator<T: ArrowPrimitiveType> {
    wanted: Ordering,
    compare: fn(&T::Native, &T::Native) -> Ordering,
    extremes: Vec<Option<T::Native>>,
}

impl<T: ArrowPrimitiveType> MinMaxGroupsAccumulator<T> {
    fn new(wanted: Ordering, compare: fn(&T::Native, &T::Native) -> Ordering) -> Self {
        Self { wanted, compare, extremes: Vec::new() }
    }

    fn add(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        all: usize,
    ) -> Result<()> {
        let Some(values) = values.first() else { return internal_err!("an extreme has no arguments") };
        self.extremes.resize(all, None);
        let values = values.as_primitive::<T>();
        if values.len() != groups.len() {
            return internal_err!("{} rows of an extreme with {} groups", values.len(), groups.len());
        }
        for (row, (value, group)) in values.iter().zip(groups).enumerate() {
            let Some(value) =
                value.filter(|_| filter.is_none_or(|kept| kept.is_valid(row) && kept.value(row)))
            else {
                continue;
            };
            let slot = self.extremes.get_mut(*group);
            let slot = slot.ok_or_else(|| internal_datafusion_err!("there is no group {group}"))?;
            if slot.is_none_or(|min_max| (self.compare)(&value, &min_max) == self.wanted) {
                *slot = Some(value);
            }
        }
        Ok(())
    }
}

impl<T: ArrowPrimitiveType + Send> GroupsAccumulator for MinMaxGroupsAccumulator<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        all: usize,
    ) -> Result<()> {
        self.add(values, groups, filter, all)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], all: usize) -> Result<()> {
        self.add(values, groups, None, all)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let found: PrimitiveArray<T> = emit.take_needed(&mut self.extremes).into_iter().collect();
        Ok(Arc::new(found))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let Some(values) = values.first() else { return internal_err!("an extreme has no arguments") };
        let kept = |row: usize| filter.is_none_or(|kept| kept.is_valid(row) && kept.value(row));
        let rows = values.as_primitive::<T>().iter().enumerate();
        let state: PrimitiveArray<T> = rows.map(|(row, value)| value.filter(|_| kept(row))).collect();
        Ok(vec![Arc::new(state)])
    }

    fn size(&self) -> usize {
        self.extremes.capacity().saturating_mul(size_of::<Option<T::Native>>())
    }
}

/// The function as plans have it.
pub(super) fn function(min_max: MinMax) -> Arc<AggregateUDF> {
    Arc::new(min_max.into())
}
