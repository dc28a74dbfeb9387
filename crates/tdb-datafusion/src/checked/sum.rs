//! `sum` of integers and durations that fails where the sum does not fit.
//!
//! Partial sums are exact (128 bits). So whether it fails depends neither on the order of the rows,
//! nor on how a query is split: sums of fewer than 2^63 values of 64 bits fit in 128 bits, so none
//! of the additions here can overflow. Sums of other types are DataFusion's.

mod groups;
mod rows;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, PrimitiveArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{ScalarValue, exec_err, internal_datafusion_err, internal_err};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
};

use self::groups::SumGroupsAccumulator;
use self::rows::{DistinctSumAccumulator, SumAccumulator};
use crate::Result;

/// The type of partial sums.
const PARTIAL_SUM: DataType = DataType::Decimal128(38, 0);

/// The function.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CheckedSum {
    original: Sum,
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
        self.original.name()
    }

    fn signature(&self) -> &Signature {
        self.original.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.original.return_type(arguments)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let sum = arguments.return_type();
        match (is_checked(sum), arguments.is_distinct) {
            (false, _) => self.original.accumulator(arguments),
            (true, true) => Ok(Box::new(DistinctSumAccumulator::new(sum))),
            (true, false) => Ok(Box::new(SumAccumulator::new(sum))),
        }
    }

    fn create_sliding_accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if is_checked(arguments.return_type()) {
            self.accumulator(arguments)
        } else {
            self.original.create_sliding_accumulator(arguments)
        }
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if arguments.is_distinct || !is_checked(arguments.return_type()) {
            return self.original.state_fields(arguments);
        }
        Ok(vec![Field::new(format_state_name(arguments.name, "sum"), PARTIAL_SUM, true).into()])
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        self.original.groups_accumulator_supported(arguments)
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let sum = arguments.return_type();
        if !is_checked(sum) {
            return self.original.create_groups_accumulator(arguments);
        }
        Ok(Box::new(SumGroupsAccumulator::new(sum)))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.original.reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.original.order_sensitivity()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.original.set_monotonicity(data_type)
    }
}

/// The first of the columns that an accumulator is given.
fn first(columns: &[ArrayRef]) -> Result<&ArrayRef> {
    columns.first().ok_or_else(|| internal_datafusion_err!("sum has no arguments"))
}

/// A column of one of the types that are added up.
enum Summands<'a> {
    Signed(&'a PrimitiveArray<Int64Type>),
    Unsigned(&'a PrimitiveArray<UInt64Type>),
    Partial(&'a Decimal128Array),
}

/// The integers of a column: those of a duration count its unit.
fn integers(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Duration(_) => Ok(cast(column, &DataType::Int64)?),
        _ => Ok(ArrayRef::clone(column)),
    }
}

impl<'a> Summands<'a> {
    fn of(column: &'a ArrayRef) -> Result<Self> {
        match column.data_type() {
            DataType::Int64 => Ok(Self::Signed(column.as_primitive())),
            DataType::UInt64 => Ok(Self::Unsigned(column.as_primitive())),
            DataType::Decimal128(..) => Ok(Self::Partial(column.as_primitive::<Decimal128Type>())),
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
            Self::Partial(numbers) => some(numbers, &mut each),
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
                total += value;
                values += 1;
            });
            (total, values)
        })
    }
}

/// The number of values whose halves are added up in 64 bits, which takes a fraction of the time of
/// 128. More than twice as many could overflow.
const CHUNK: usize = 1 << 30;
/// The lower half of an integer.
const LOW: i64 = 0xffff_ffff;

/// Converts a sum to a value of its type, or returns the error of a sum that does not fit.
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
