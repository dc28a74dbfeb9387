//! `sum` of all rows, or of the rows of a window.

use std::collections::HashMap;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::Accumulator;

use super::{Summands, first, fitting, integers};
use crate::Result;

/// The error of a window that gives up a row which it never had.
fn not_added() -> DataFusionError {
    internal_datafusion_err!("a window takes rows from its sum that were not added")
}

/// The sum of all rows, or of those of a window.
#[derive(Debug)]
pub(super) struct SumAccumulator {
    sum: DataType,
    total: i128,
    values: usize,
}

impl SumAccumulator {
    pub(super) fn new(sum: &DataType) -> Self {
        Self { sum: sum.clone(), total: 0, values: 0 }
    }
}

impl Accumulator for SumAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (total, values) = Summands::of(&integers(first(values)?)?)?.total();
        self.total += total;
        self.values += values;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (total, values) = Summands::of(&integers(first(values)?)?)?.total();
        self.total -= total;
        self.values = self.values.checked_sub(values).ok_or_else(not_added)?;
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
pub(super) struct DistinctSumAccumulator {
    sum: DataType,
    total: i128,
    /// The number of rows that have each value.
    times: HashMap<i128, usize>,
}

impl DistinctSumAccumulator {
    pub(super) fn new(sum: &DataType) -> Self {
        Self { sum: sum.clone(), total: 0, times: HashMap::new() }
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        Summands::of(&integers(values)?)?.for_each(|_, value| {
            let times = self.times.entry(value).or_insert(0);
            if *times == 0 {
                self.total += value;
            }
            *times += 1;
        });
        Ok(())
    }
}

impl Accumulator for DistinctSumAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(first(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut are_there = true;
        Summands::of(&integers(first(values)?)?)?.for_each(|_, value| match self.times.get_mut(&value) {
            Some(1) => {
                self.times.remove(&value);
                self.total -= value;
            }
            Some(times) => *times -= 1,
            None => are_there = false,
        });
        if are_there { Ok(()) } else { Err(not_added()) }
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    /// The state of DataFusion's own sum of different values: a list of them.
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
