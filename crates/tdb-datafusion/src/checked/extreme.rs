//! `min` and `max` where DataFusion's own are wrong.
//!
//! Of groups of reals, DataFusion's begin with the greatest finite number instead of infinity, and
//! leave out NaN, which SQL has after all numbers. And where all functions of a query without
//! groups are extremes, DataFusion filters the rows of a scan by those of plain columns alone: rows
//! that only the extreme of another expression needs are lost. Such an expression gets a function
//! of another name here, which keeps DataFusion from filtering.

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
pub(super) struct Extreme {
    theirs: Theirs,
    /// Whether its argument is no plain column, so that no rows may be left out for the sake of
    /// other extremes.
    apart: bool,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Theirs {
    Min(Min),
    Max(Max),
}

impl Extreme {
    /// All that plans may contain.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let both = || [Theirs::Min(Min::new()), Theirs::Max(Max::new())];
        [false, true].into_iter().flat_map(move |apart| both().map(|theirs| Self { theirs, apart }))
    }

    /// The function that takes the place of a function of DataFusion, if that may be wrong.
    pub(super) fn instead_of(function: &AggregateFunction, schema: &DFSchema) -> Option<Self> {
        let theirs = if function.func.inner().is::<Min>() {
            Theirs::Min(Min::new())
        } else if function.func.inner().is::<Max>() {
            Theirs::Max(Max::new())
        } else {
            return None;
        };
        let argument = function.params.args.first()?;
        let apart = !matches!(argument, Expr::Column(_));
        let is_real = argument.get_type(schema).is_ok_and(|data_type| is_real(&data_type));
        (apart || is_real).then_some(Self { theirs, apart })
    }

    fn theirs(&self) -> &dyn AggregateUDFImpl {
        match &self.theirs {
            Theirs::Min(min) => min,
            Theirs::Max(max) => max,
        }
    }

    /// How a value stands to the extreme so far, if it takes its place.
    const fn wanted(&self) -> Ordering {
        match self.theirs {
            Theirs::Min(_) => Ordering::Less,
            Theirs::Max(_) => Ordering::Greater,
        }
    }
}

const fn is_real(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        match (&self.theirs, self.apart) {
            (Theirs::Min(_), true) => "tiledb_min",
            (Theirs::Max(_), true) => "tiledb_max",
            (_, false) => self.theirs().name(),
        }
    }

    /// Columns are called as those of DataFusion's function are.
    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.theirs().schema_name(params)
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.theirs().display_name(params)
    }

    fn signature(&self) -> &Signature {
        self.theirs().signature()
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.theirs().coerce_types(arguments)
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.theirs().return_type(arguments)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.theirs().accumulator(arguments)
    }

    fn create_sliding_accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.theirs().create_sliding_accumulator(arguments)
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.theirs().state_fields(arguments)
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        self.theirs().groups_accumulator_supported(arguments)
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let wanted = self.wanted();
        match arguments.return_field.data_type() {
            DataType::Float32 => Ok(Box::new(Groups::<Float32Type>::new(wanted, f32::total_cmp))),
            DataType::Float64 => Ok(Box::new(Groups::<Float64Type>::new(wanted, f64::total_cmp))),
            _ => self.theirs().create_groups_accumulator(arguments),
        }
    }

    fn is_descending(&self) -> Option<bool> {
        self.theirs().is_descending()
    }

    fn value_from_stats(&self, arguments: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.theirs().value_from_stats(arguments)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.theirs().order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.theirs().reverse_expr()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.theirs().set_monotonicity(data_type)
    }
}

/// The extremes of groups of reals, in SQL's order of them.
#[derive(Debug)]
struct Groups<T: ArrowPrimitiveType> {
    wanted: Ordering,
    compare: fn(&T::Native, &T::Native) -> Ordering,
    extremes: Vec<Option<T::Native>>,
}

impl<T: ArrowPrimitiveType> Groups<T> {
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
        for (row, (value, group)) in values.iter().zip(groups).enumerate() {
            let Some(value) =
                value.filter(|_| filter.is_none_or(|kept| kept.is_valid(row) && kept.value(row)))
            else {
                continue;
            };
            let slot = self.extremes.get_mut(*group);
            let slot = slot.ok_or_else(|| internal_datafusion_err!("there is no group {group}"))?;
            if slot.is_none_or(|extreme| (self.compare)(&value, &extreme) == self.wanted) {
                *slot = Some(value);
            }
        }
        Ok(())
    }
}

impl<T: ArrowPrimitiveType + Send> GroupsAccumulator for Groups<T> {
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
pub(super) fn function(extreme: Extreme) -> Arc<AggregateUDF> {
    Arc::new(extreme.into())
}
