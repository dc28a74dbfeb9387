//! `sum` of groups.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Decimal128Array, PrimitiveArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, UInt64Type};
use datafusion::common::internal_err;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use super::{Summands, first, fitting, integers};
use crate::Result;

/// The sums of groups.
#[derive(Debug)]
pub(super) struct SumGroupsAccumulator {
    sum: DataType,
    totals: Vec<i128>,
    /// The groups that have a value.
    seen: Vec<bool>,
}

impl SumGroupsAccumulator {
    pub(super) fn new(sum: &DataType) -> Self {
        Self { sum: sum.clone(), totals: Vec::new(), seen: Vec::new() }
    }

    fn add(
        &mut self,
        column: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        all: usize,
    ) -> Result<()> {
        self.totals.resize(all, 0);
        self.seen.resize(all, false);
        let integers = integers(column)?;
        let (totals, seen) = (&mut self.totals, &mut self.seen);
        // Checked after the loop, which is the same work for each row as no check.
        let mut have_groups = true;
        let mut add = |row: usize, value: i128| {
            let group = groups.get(row).copied().unwrap_or(usize::MAX);
            if let (Some(total), Some(seen)) = (totals.get_mut(group), seen.get_mut(group)) {
                *total += value;
                *seen = true;
            } else {
                have_groups = false;
            }
        };
        let numbers = Summands::of(&integers)?;
        match filter {
            None => numbers.for_each(&mut add),
            Some(filter) => numbers.for_each(|row, value| {
                if filter.is_valid(row) && filter.value(row) {
                    add(row, value);
                }
            }),
        }
        if !have_groups {
            return internal_err!("rows of a sum that are in none of its {all} groups");
        }
        Ok(())
    }

    /// The sums of some groups, null where there was no value.
    fn taken(&mut self, emit: EmitTo) -> impl Iterator<Item = Option<i128>> + use<> {
        let (totals, seen) = (emit.take_needed(&mut self.totals), emit.take_needed(&mut self.seen));
        totals.into_iter().zip(seen).map(|(total, seen)| seen.then_some(total))
    }
}

/// Sums as a column of the type of partial sums.
fn partial_sums(totals: impl Iterator<Item = Option<i128>>) -> Result<ArrayRef> {
    let totals: Decimal128Array = totals.collect();
    Ok(Arc::new(totals.with_precision_and_scale(38, 0)?))
}

impl GroupsAccumulator for SumGroupsAccumulator {
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
        Ok(vec![partial_sums(self.taken(emit))?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let integers = integers(first(values)?)?;
        let mut rows = vec![None; integers.len()];
        Summands::of(&integers)?.for_each(|row, value| {
            if filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
                // Every row of a column is one of its rows.
                && let Some(sum) = rows.get_mut(row)
            {
                *sum = Some(value);
            }
        });
        Ok(vec![partial_sums(rows.into_iter())?])
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
