//! `sum` of integers and durations that fails where the sum does not fit. Sums of parts are exact
//! (128 bits), so that it does not depend on the order of the rows, or on how a query is split,
//! whether it fails. Sums of other types are DataFusion's.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{ScalarValue, exec_err, internal_datafusion_err, internal_err};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
};

use crate::Result;

/// The type of a sum of parts.
const PART: DataType = DataType::Decimal128(38, 0);

/// The function.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CheckedSum {
    theirs: Sum,
}

impl CheckedSum {
    pub(super) fn new() -> Self {
        Self::default()
    }
}

/// Whether sums of a type are checked here.
const fn is_checked(sum: &DataType) -> bool {
    matches!(sum, DataType::Int64 | DataType::UInt64 | DataType::Duration(_))
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.theirs.name()
    }

    fn signature(&self) -> &Signature {
        self.theirs.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.theirs.return_type(arguments)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let sum = arguments.return_type();
        match (is_checked(sum), arguments.is_distinct) {
            (false, _) => self.theirs.accumulator(arguments),
            (true, true) => Ok(Box::new(Distinct::new(sum))),
            (true, false) => Ok(Box::new(Total::new(sum))),
        }
    }

    fn create_sliding_accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if is_checked(arguments.return_type()) {
            self.accumulator(arguments)
        } else {
            self.theirs.create_sliding_accumulator(arguments)
        }
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if arguments.is_distinct || !is_checked(arguments.return_type()) {
            return self.theirs.state_fields(arguments);
        }
        Ok(vec![Field::new(format_state_name(arguments.name, "sum"), PART, true).into()])
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        self.theirs.groups_accumulator_supported(arguments)
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let sum = arguments.return_type();
        if !is_checked(sum) {
            return self.theirs.create_groups_accumulator(arguments);
        }
        Ok(Box::new(Groups { sum: sum.clone(), totals: Vec::new(), seen: Vec::new() }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.theirs.reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.theirs.order_sensitivity()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.theirs.set_monotonicity(data_type)
    }
}

/// The first of the columns that an accumulator is given.
fn first(columns: &[ArrayRef]) -> Result<&ArrayRef> {
    columns.first().ok_or_else(|| internal_datafusion_err!("sum has no arguments"))
}

/// Whole numbers of one of the types that are added up.
enum Numbers<'a> {
    Signed(&'a PrimitiveArray<Int64Type>),
    Unsigned(&'a PrimitiveArray<UInt64Type>),
    Parts(&'a Decimal128Array),
}

/// What integers a column is made of: durations are counts.
fn counts(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Duration(_) => Ok(cast(column, &DataType::Int64)?),
        _ => Ok(ArrayRef::clone(column)),
    }
}

impl<'a> Numbers<'a> {
    fn of(column: &'a ArrayRef) -> Result<Self> {
        match column.data_type() {
            DataType::Int64 => Ok(Self::Signed(column.as_primitive())),
            DataType::UInt64 => Ok(Self::Unsigned(column.as_primitive())),
            DataType::Decimal128(..) => Ok(Self::Parts(column.as_primitive::<Decimal128Type>())),
            other => internal_err!("sum of {other}"),
        }
    }

    /// Calls a function with each number that is not null and its row.
    fn for_each(&self, mut each: impl FnMut(usize, i128)) {
        fn some<T>(numbers: &PrimitiveArray<T>, mut each: impl FnMut(usize, i128))
        where
            T: ArrowPrimitiveType<Native: Into<i128>>,
        {
            match numbers.nulls().filter(|nulls| nulls.null_count() > 0) {
                None => {
                    numbers.values().iter().enumerate().for_each(|(row, value)| each(row, (*value).into()));
                }
                Some(nulls) => {
                    let values = numbers.values().iter().zip(nulls).enumerate();
                    values
                        .filter(|(_, (_, valid))| *valid)
                        .for_each(|(row, (value, _))| each(row, (*value).into()));
                }
            }
        }
        match self {
            Self::Signed(numbers) => some(numbers, &mut each),
            Self::Unsigned(numbers) => some(numbers, &mut each),
            Self::Parts(numbers) => some(numbers, &mut each),
        }
    }

    /// The sum and the number of the values that are not null.
    fn total(&self) -> (i128, usize) {
        let all = match self {
            Self::Signed(numbers) if numbers.null_count() == 0 => {
                let halves = |chunk: &[i64]| {
                    let low: i64 = chunk.iter().map(|value| value & LOW).sum();
                    let high: i64 = chunk.iter().map(|value| value >> 32).sum();
                    (i128::from(high) << 32) + i128::from(low)
                };
                Some((numbers.values().chunks(CHUNK).map(halves).sum(), numbers.len()))
            }
            _ => None,
        };
        all.unwrap_or_else(|| {
            let (mut total, mut values) = (0i128, 0usize);
            self.for_each(|_, value| {
                total = total.saturating_add(value);
                values = values.saturating_add(1);
            });
            (total, values)
        })
    }
}

/// The halves of so many values are added up in 64 bits, which takes a fraction of the time of 128.
const CHUNK: usize = 1 << 30;
/// The lower half of an integer.
const LOW: i64 = 0xffff_ffff;

/// A sum as a value of its type.
fn fitting(total: i128, sum: &DataType) -> Result<ScalarValue> {
    let value = match sum {
        DataType::UInt64 => u64::try_from(total).ok().map(|total| ScalarValue::UInt64(Some(total))),
        _ => i64::try_from(total).ok().map(|total| ScalarValue::Int64(Some(total))),
    };
    match value {
        Some(value) if value.data_type() == *sum => Ok(value),
        Some(value) => value.cast_to(sum),
        None => exec_err!(
            "overflow: a sum is {total}, which does not fit into {sum}. Cast what is added up to a type that it fits, as DECIMAL(38, 0) or DOUBLE"
        ),
    }
}

/// The sum of all rows, or of those of a window.
#[derive(Debug)]
struct Total {
    sum: DataType,
    total: i128,
    values: usize,
}

impl Total {
    fn new(sum: &DataType) -> Self {
        Self { sum: sum.clone(), total: 0, values: 0 }
    }
}

impl Accumulator for Total {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (total, values) = Numbers::of(&counts(first(values)?)?)?.total();
        self.total = self.total.saturating_add(total);
        self.values = self.values.saturating_add(values);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (total, values) = Numbers::of(&counts(first(values)?)?)?.total();
        self.total = self.total.saturating_sub(total);
        self.values = self.values.saturating_sub(values);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let total = (self.values > 0).then_some(self.total);
        Ok(vec![ScalarValue::Decimal128(total, 38, 0)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.values == 0 { ScalarValue::try_from(&self.sum) } else { fitting(self.total, &self.sum) }
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of the different values of all rows, or of those of a window.
#[derive(Debug)]
struct Distinct {
    sum: DataType,
    total: i128,
    /// How often each value is there.
    times: HashMap<i128, usize>,
}

impl Distinct {
    fn new(sum: &DataType) -> Self {
        Self { sum: sum.clone(), total: 0, times: HashMap::new() }
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        Numbers::of(&counts(values)?)?.for_each(|_, value| {
            let times = self.times.entry(value).or_insert(0);
            if *times == 0 {
                self.total = self.total.saturating_add(value);
            }
            *times = times.saturating_add(1);
        });
        Ok(())
    }
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(first(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        Numbers::of(&counts(first(values)?)?)?.for_each(|_, value| {
            if let Some(times) = self.times.get_mut(&value) {
                *times = times.saturating_sub(1);
                if *times == 0 {
                    self.times.remove(&value);
                    self.total = self.total.saturating_sub(value);
                }
            }
        });
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    /// The values, as DataFusion's own sum of different values hands them on.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = self.times.keys().map(|value| fitting(*value, &self.sum));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &self.sum))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        first(states)?.as_list::<i32>().iter().flatten().try_for_each(|values| self.add(&values))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.times.is_empty() { ScalarValue::try_from(&self.sum) } else { fitting(self.total, &self.sum) }
    }

    fn size(&self) -> usize {
        let entry = size_of::<(i128, usize)>();
        size_of_val(self).saturating_add(self.times.capacity().saturating_mul(entry))
    }
}

/// The sums of groups.
#[derive(Debug)]
struct Groups {
    sum: DataType,
    totals: Vec<i128>,
    /// The groups that have a value.
    seen: Vec<bool>,
}

impl Groups {
    fn add(
        &mut self,
        column: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        all: usize,
    ) -> Result<()> {
        self.totals.resize(all, 0);
        self.seen.resize(all, false);
        let counts = counts(column)?;
        let (totals, seen) = (&mut self.totals, &mut self.seen);
        let mut add = |row: usize, value: i128| {
            let group = groups.get(row).copied().unwrap_or(usize::MAX);
            if let (Some(total), Some(seen)) = (totals.get_mut(group), seen.get_mut(group)) {
                *total = total.saturating_add(value);
                *seen = true;
            }
        };
        let numbers = Numbers::of(&counts)?;
        match filter {
            None => numbers.for_each(add),
            Some(filter) => numbers.for_each(|row, value| {
                if filter.is_valid(row) && filter.value(row) {
                    add(row, value);
                }
            }),
        }
        Ok(())
    }

    /// The sums of some groups, null where there was no value.
    fn taken(&mut self, emit: EmitTo) -> impl Iterator<Item = Option<i128>> + use<> {
        let (totals, seen) = (emit.take_needed(&mut self.totals), emit.take_needed(&mut self.seen));
        totals.into_iter().zip(seen).map(|(total, seen)| seen.then_some(total))
    }
}

fn parts(totals: impl Iterator<Item = Option<i128>>) -> Result<ArrayRef> {
    let totals: Decimal128Array = totals.collect();
    Ok(Arc::new(totals.with_precision_and_scale(38, 0)?))
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        all: usize,
    ) -> Result<()> {
        self.add(first(values)?, groups, filter, all)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], all: usize) -> Result<()> {
        self.add(first(states)?, groups, None, all)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let sum = self.sum.clone();
        let totals = self.taken(emit);
        let column: ArrayRef = match sum {
            DataType::UInt64 => Arc::new(fitting_all::<UInt64Type>(totals, &sum)?),
            _ => Arc::new(fitting_all::<Int64Type>(totals, &sum)?),
        };
        if *column.data_type() == sum { Ok(column) } else { Ok(cast(&column, &sum)?) }
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![parts(self.taken(emit))?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let counts = counts(first(values)?)?;
        let mut rows = vec![None; counts.len()];
        Numbers::of(&counts)?.for_each(|row, value| {
            if filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
                && let Some(place) = rows.get_mut(row)
            {
                *place = Some(value);
            }
        });
        Ok(vec![parts(rows.into_iter())?])
    }

    fn size(&self) -> usize {
        let group = size_of::<i128>().saturating_add(1);
        self.totals.capacity().saturating_mul(group)
    }
}

/// Sums as a column of their type.
fn fitting_all<T>(totals: impl Iterator<Item = Option<i128>>, sum: &DataType) -> Result<PrimitiveArray<T>>
where
    T: ArrowPrimitiveType<Native: TryFrom<i128>>,
{
    let mut values = PrimitiveArray::<T>::builder(totals.size_hint().0);
    for total in totals {
        match total.map(|total| T::Native::try_from(total).map_err(|_| total)) {
            None => values.append_null(),
            Some(Ok(value)) => values.append_value(value),
            Some(Err(total)) => {
                return fitting(total, sum).and_then(|_| internal_err!("{total} fits after all"));
            }
        }
    }
    Ok(values.finish())
}
