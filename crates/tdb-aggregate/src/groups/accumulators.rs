//! Accumulators of grouped aggregates: the null counts, sums, minima and maxima of a field, for
//! each group.

mod add_numbers;
mod extremes;

use std::borrow::Cow;

use tdb_codec::{Buffer, CellValNum, Datatype, to_u64};
use tdb_predicate::{ColumnView, numbered, picked};

use self::add_numbers::AddNumbers;
use self::extremes::{Extremes, GREATER, LESS};
use super::super::tally::{Sum, WantedField};
use super::ordered_bits::AppendNumber;
use super::result::GroupedValues;
use crate::buffers::index_of;
use crate::expression::{Aggregate, AggregateFunction};
use crate::{Column, Error, OrInternal, Result};

/// The null counts, sums, minima and maxima of a field, each a list by group id.
#[derive(Debug)]
pub(super) struct Accumulators {
    /// Null cells of each group; empty if there are none.
    nulls: Vec<u64>,
    sums: Sums,
    minima: Extremes,
    maxima: Extremes,
    /// Whether a NaN was left out of extremes.
    has_nan: bool,
}

#[derive(Debug)]
enum Sums {
    None,
    Integers(Vec<i128>),
    Reals(Vec<f64>),
}

/// Runs a function on the slot of each of some groups and its value.
pub(super) fn each<S, V>(
    slots: &mut [S],
    groups: &[u32],
    values: impl IntoIterator<Item = V>,
    mut run: impl FnMut(&mut S, V),
) -> Result<()> {
    let values = values.into_iter();
    check_count(groups, &values)?;
    for (group, value) in groups.iter().zip(values) {
        run(slot_of(slots, *group)?, value);
    }
    Ok(())
}

/// Fails if there is not one value for each group, which would leave cells out in silence.
fn check_count(groups: &[u32], values: &impl Iterator) -> Result<()> {
    match values.size_hint() {
        (_, Some(count)) if count != groups.len() => {
            Err(Error::internal("groups and their values differ in number"))
        }
        _ => Ok(()),
    }
}

fn slot_of<S>(slots: &mut [S], group: u32) -> Result<&mut S> {
    slots.get_mut(index_of(group)).or_internal("a group has no slot")
}

/// Replaces the slot of each of some groups by the result of a function of it and a value.
pub(super) fn each_group<S: Copy, V>(
    slots: &mut [S],
    groups: &[u32],
    values: impl IntoIterator<Item = V>,
    mut run: impl FnMut(S, V) -> S,
) -> Result<()> {
    let Some((first, others)) = groups.split_first() else { return Ok(()) };
    let values = values.into_iter();
    check_count(groups, &values)?;
    let changes = groups.iter().zip(others).filter(|(group, next)| group != next).count();
    if changes > groups.len() / 4 {
        return each(slots, groups, values, |slot, value| *slot = run(*slot, value));
    }
    // The slot is held while the group is the same: to write and read it again takes longer than to
    // compute.
    let (mut at, mut held) = (*first, *slot_of(slots, *first)?);
    for (group, value) in groups.iter().zip(values) {
        if *group != at {
            *slot_of(slots, at)? = held;
            (at, held) = (*group, *slot_of(slots, *group)?);
        }
        held = run(held, value);
    }
    *slot_of(slots, at)? = held;
    Ok(())
}

impl Accumulators {
    /// The accumulators of no groups that the aggregates of a field need.
    pub(super) fn new(field: &WantedField, aggregates: &[Aggregate]) -> Self {
        let is_needed = |function: AggregateFunction| {
            let own = |aggregate: &&Aggregate| aggregate.field() == Some(field.spec.name.as_str());
            aggregates.iter().filter(own).any(|aggregate| aggregate.function() == function)
        };
        let sums = is_needed(AggregateFunction::Sum) || is_needed(AggregateFunction::Mean);
        let sums = match field.nothing().total {
            _ if !sums => Sums::None,
            Sum::Integer(_) => Sums::Integers(Vec::new()),
            Sum::Real(_) => Sums::Reals(Vec::new()),
        };
        let minima = Extremes::new(is_needed(AggregateFunction::Min), field);
        let maxima = Extremes::new(is_needed(AggregateFunction::Max), field);
        Self { nulls: Vec::new(), sums, minima, maxima, has_nan: false }
    }

    /// Whether there are minima or maxima of strings.
    pub(super) const fn has_strings(&self) -> bool {
        matches!(self.minima, Extremes::Strings(_)) || matches!(self.maxima, Extremes::Strings(_))
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let sums = match &self.sums {
            Sums::None => 0,
            Sums::Integers(sums) => sums.capacity().saturating_mul(16),
            Sums::Reals(sums) => sums.capacity().saturating_mul(8),
        };
        let nulls = self.nulls.capacity().saturating_mul(8);
        let extremes = self.minima.held().saturating_add(self.maxima.held());
        sums.saturating_add(nulls).saturating_add(extremes)
    }

    /// Adds groups without cells until there are `groups`.
    pub(super) fn grow(&mut self, groups: usize) {
        match &mut self.sums {
            Sums::None => {}
            Sums::Integers(sums) => sums.resize(groups, 0),
            Sums::Reals(sums) => sums.resize(groups, 0.0),
        }
        self.minima.grow(groups, u64::MAX);
        self.maxima.grow(groups, 0);
        if !self.nulls.is_empty() {
            self.nulls.resize(groups, 0);
        }
    }

    /// Adds cells of the field: those with the numbers `chosen`, or all `cells`. `groups`
    /// has the group of each of them.
    pub(super) fn add(
        &mut self,
        field: &WantedField,
        view: ColumnView<'_>,
        (cells, chosen): (usize, Option<&[u32]>),
        (groups, count): (&[u32], usize),
    ) -> Result<()> {
        let Some(valid) = view.valid(cells, chosen) else {
            return self.add_valid(field, view, (cells, chosen), groups);
        };
        self.nulls.resize(count, 0);
        let numbers = numbered(cells, chosen);
        check_count(groups, &numbers.iter())?;
        let mut groups_of_valid = Vec::with_capacity(valid.len());
        for (cell, group) in numbers.iter().zip(groups) {
            if !view.is_null(*cell) {
                groups_of_valid.push(*group);
            } else {
                *slot_of(&mut self.nulls, *group)? += 1;
            }
        }
        self.add_valid(field, view, (cells, Some(&valid)), &groups_of_valid)
    }

    fn add_valid(
        &mut self,
        field: &WantedField,
        view: ColumnView<'_>,
        (cells, chosen): (usize, Option<&[u32]>),
        groups: &[u32],
    ) -> Result<()> {
        if field.is_number() {
            let numbers = AddNumbers { to: self, view, cells, chosen, groups };
            return numbers.with_type(field.spec.datatype.physical());
        }
        for (extremes, replaces) in [(&mut self.minima, LESS), (&mut self.maxima, GREATER)] {
            let strings = match extremes {
                Extremes::None => continue,
                Extremes::Strings(strings) => strings,
                Extremes::Numbers(_) => return Err(Error::internal("strings have extremes of numbers")),
            };
            for (at, group) in groups.iter().enumerate() {
                let cell = chosen.map_or(Some(at), |chosen| chosen.get(at).map(|cell| index_of(*cell)));
                let value = cell.and_then(|cell| view.cell(cell, field.spec.cell_size));
                let value = value.or_internal("a cell has no bytes")?;
                match slot_of(strings, *group)? {
                    own @ None => *own = Some(value.to_vec()),
                    Some(own) if replaces(value, own) => {
                        own.clear();
                        own.extend_from_slice(value);
                    }
                    // The old value stays.
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The accumulators of some groups. Queries with extremes of strings do not need them.
    pub(super) fn pick(&self, groups: &[u32]) -> Result<Self> {
        let extremes = |extremes: &Extremes| {
            Ok(match extremes {
                Extremes::None => Extremes::None,
                Extremes::Numbers(all) => Extremes::Numbers(picked(all, groups)?),
                Extremes::Strings(all) => Extremes::Strings(picked(all, groups)?),
            })
        };
        let sums = match &self.sums {
            Sums::None => Sums::None,
            Sums::Integers(all) => Sums::Integers(picked(all, groups)?),
            Sums::Reals(all) => Sums::Reals(picked(all, groups)?),
        };
        let nulls = if self.nulls.is_empty() { Vec::new() } else { picked(&self.nulls, groups)? };
        let (minima, maxima): (Result<_>, Result<_>) = (extremes(&self.minima), extremes(&self.maxima));
        Ok(Self { nulls, sums, minima: minima?, maxima: maxima?, has_nan: self.has_nan })
    }

    /// Adds other groups, whose ids here are `groups`. `count` is the number of groups here.
    pub(super) fn merge(&mut self, other: Self, groups: &[u32], count: usize) -> Result<()> {
        self.grow(count);
        self.has_nan |= other.has_nan;
        match (&mut self.sums, other.sums) {
            (Sums::None, Sums::None) => {}
            (Sums::Integers(sums), Sums::Integers(more)) => {
                each(sums, groups, more, |sum, more| *sum += more)?;
            }
            (Sums::Reals(sums), Sums::Reals(more)) => each(sums, groups, more, |sum, more| *sum += more)?,
            _ => return Err(Error::internal("groups have sums of another kind")),
        }
        self.minima.merge(other.minima, groups, u64::min, LESS)?;
        self.maxima.merge(other.maxima, groups, u64::max, GREATER)?;
        if other.nulls.is_empty() {
            return Ok(());
        }
        self.nulls.resize(count, 0);
        each(&mut self.nulls, groups, other.nulls, |nulls, more| *nulls += more)
    }

    /// The values of an aggregate that looks at the field. `counts` is the number of cells of each
    /// group.
    pub(super) fn values(
        &self,
        field: &WantedField,
        aggregate: &Aggregate,
        counts: &[u64],
    ) -> Result<GroupedValues> {
        let valid = self.valid(counts)?;
        let (mut data, mut offsets, mut overflowed) = (Vec::new(), Vec::new(), false);
        let (datatype, cell_val_num) = match aggregate.function() {
            AggregateFunction::Count | AggregateFunction::NullCount => (Datatype::Uint64, CellValNum::ONE),
            AggregateFunction::Sum => (field.nothing().total.value(field.is_unsigned()).0, CellValNum::ONE),
            AggregateFunction::Mean => (Datatype::Float64, CellValNum::ONE),
            AggregateFunction::Min | AggregateFunction::Max => (field.spec.datatype, field.spec.cell_val_num),
        };
        for (group, (valid, cells)) in valid.iter().zip(counts).enumerate() {
            match aggregate.function() {
                AggregateFunction::Count | AggregateFunction::NullCount => {
                    data.extend_from_slice(&(cells - valid).to_le_bytes());
                }
                AggregateFunction::Sum => {
                    let (_, bytes, over) = self.sum(group)?.value(field.is_unsigned());
                    overflowed |= over;
                    data.extend_from_slice(&bytes);
                }
                AggregateFunction::Mean => {
                    // A group without valid cells is null.
                    let mean = self.sum(group)?.mean(*valid).unwrap_or(0.0);
                    data.extend_from_slice(&mean.to_le_bytes());
                }
                AggregateFunction::Min | AggregateFunction::Max => {
                    offsets.push(to_u64(data.len()));
                    let min = aggregate.function() == AggregateFunction::Min;
                    self.push_extreme(field, group, min, &mut data)?;
                }
            }
        }
        offsets.push(to_u64(data.len()));
        let counts_cells =
            matches!(aggregate.function(), AggregateFunction::Count | AggregateFunction::NullCount);
        let validity = (field.spec.nullable && !counts_cells)
            .then(|| valid.iter().map(|valid| u8::from(*valid > 0)).collect());
        let column = Column {
            name: aggregate.to_string(),
            datatype,
            cell_val_num,
            data: Buffer::from(data.as_slice()),
            offsets: (cell_val_num == CellValNum::Var).then_some(offsets),
            validity,
            codes: None,
        };
        Ok(GroupedValues { aggregate: aggregate.clone(), column, overflowed, has_nan: self.has_nan })
    }

    /// The number of cells of each group that are not null; `counts` is that of all cells.
    fn valid<'c>(&self, counts: &'c [u64]) -> Result<Cow<'c, [u64]>> {
        // Without any null there is no list of them.
        if self.nulls.is_empty() {
            return Ok(counts.into());
        }
        if self.nulls.len() != counts.len() {
            return Err(Error::internal("a group has no count of its nulls"));
        }
        let valid = counts.iter().zip(&self.nulls).map(|(cells, nulls)| cells.checked_sub(*nulls));
        let valid = valid.collect::<Option<Vec<u64>>>();
        Ok(valid.or_internal("a group has more nulls than cells")?.into())
    }

    fn sum(&self, group: usize) -> Result<Sum> {
        let sum = match &self.sums {
            Sums::Integers(sums) => sums.get(group).copied().map(Sum::Integer),
            Sums::Reals(sums) => sums.get(group).copied().map(Sum::Real),
            Sums::None => None,
        };
        sum.or_internal("a group has no sum")
    }

    /// Appends the minimum or maximum of a group; zeros or no bytes if it has none.
    fn push_extreme(&self, field: &WantedField, group: usize, min: bool, data: &mut Vec<u8>) -> Result<()> {
        match if min { &self.minima } else { &self.maxima } {
            Extremes::None => {
                return Err(Error::internal("extremes are asked for that were not looked for"));
            }
            Extremes::Numbers(all) => {
                let none = if min { u64::MAX } else { 0 };
                let bits = all.get(group).copied().or_internal("a group has no extreme")?;
                field.spec.datatype.physical().visit(AppendNumber { bits, none, data });
            }
            Extremes::Strings(all) => match all.get(group).or_internal("a group has no extreme")? {
                Some(string) => data.extend_from_slice(string),
                None => data.resize(data.len() + field.spec.cell_size.unwrap_or(0), 0),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_without_a_slot_is_a_fault_and_not_a_cell_less() {
        for groups in [[0u32, 1, 0, 1], [1, 1, 1, 1], [0, 0, 1, 1]] {
            let mut sums = [0u64; 2];
            each_group(&mut sums, &groups, 1.., |sum, value| sum + value).unwrap();
            let of =
                |group: u32| (1..).zip(groups).filter(move |(_, own)| *own == group).map(|(value, _)| value);
            assert_eq!(sums, [of(0).sum::<u64>(), of(1).sum()]);
            assert!(each_group(&mut sums[..1], &groups, 1.., |sum, value| sum + value).is_err());
            assert!(each(&mut sums[..1], &groups, 1.., |sum, value: u64| *sum += value).is_err());
        }
        assert!(each_group(&mut [0u64; 0], &[], [1u64], |sum, value| sum + value).is_ok());
    }

    #[test]
    fn a_cell_without_a_value_is_a_fault_and_not_left_out() {
        let mut sums = [0u64; 2];
        for groups in [[0u32, 1, 0], [0, 0, 0]] {
            assert!(each_group(&mut sums, &groups, [1u64, 2], |sum, value| sum + value).is_err());
            assert!(each(&mut sums, &groups, [1u64, 2], |sum, value| *sum += value).is_err());
        }
        assert_eq!(sums, [0, 0]);
    }

    #[test]
    fn sums_of_one_kind_are_not_added_to_those_of_another() {
        let accumulator = |sums: Sums, minima: Extremes| Accumulators {
            nulls: Vec::new(),
            sums,
            minima,
            maxima: Extremes::None,
            has_nan: false,
        };
        let integers = || accumulator(Sums::Integers(vec![1]), Extremes::Numbers(vec![3]));
        assert!(integers().merge(integers(), &[0], 1).is_ok());
        assert!(
            integers()
                .merge(accumulator(Sums::Reals(vec![1.0]), Extremes::Numbers(vec![3])), &[0], 1)
                .is_err()
        );
        assert!(integers().merge(accumulator(Sums::Integers(vec![1]), Extremes::None), &[0], 1).is_err());
        assert!(integers().merge(integers(), &[1], 1).is_err(), "the other group has no slot");
    }
}
