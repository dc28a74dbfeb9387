//! What the aggregates of groups add up: counts, sums and extremes of a field, for each group.

use bytemuck::Pod;
use tdb_codec::{Buffer, CellValNum, Datatype, Physical, to_u64};

use super::super::tally::{Total, WantedField};
use super::result::GroupedValues;
use super::word;
use crate::buffers::index_of;
use crate::condition::{ColumnView, numbered, picked};
use crate::expression::{Aggregate, AggregateFunction};
use crate::{Column, Error, OrInternal, Result};

/// The counts, sums and extremes of a field.
#[derive(Debug)]
pub(super) struct Fold {
    /// Null cells of each group; empty if there are none.
    nulls: Vec<u64>,
    sums: Sums,
    least: Ends,
    greatest: Ends,
    /// Whether a NaN was left out of extremes.
    has_nan: bool,
}

#[derive(Debug)]
enum Sums {
    None,
    Integers(Vec<i128>),
    Reals(Vec<f64>),
}

/// The smallest or the largest value of each group.
#[derive(Debug)]
enum Ends {
    None,
    /// As words that have the same order (`word`).
    Numbers(Vec<u64>),
    Strings(Vec<Option<Vec<u8>>>),
}

impl Ends {
    fn new(wanted: bool, field: &WantedField) -> Self {
        match wanted {
            true if field.is_number() => Self::Numbers(Vec::new()),
            true => Self::Strings(Vec::new()),
            false => Self::None,
        }
    }

    /// `none` is the word that any other replaces.
    fn grow(&mut self, groups: usize, none: u64) {
        match self {
            Self::None => {}
            Self::Numbers(ends) => ends.resize(groups, none),
            Self::Strings(ends) => ends.resize(groups, None),
        }
    }

    fn held(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Numbers(ends) => ends.capacity().saturating_mul(8),
            Self::Strings(ends) => {
                let bytes = ends.iter().flatten().map(Vec::capacity).fold(0, usize::saturating_add);
                bytes.saturating_add(ends.capacity().saturating_mul(size_of::<Option<Vec<u8>>>()))
            }
        }
    }

    /// Adds those of other groups, of which `groups` are the numbers here.
    fn merge(
        &mut self,
        other: Self,
        groups: &[u32],
        numbers: fn(u64, u64) -> u64,
        is_end: IsEnd,
    ) -> Result<()> {
        match (self, other) {
            (Self::None, Self::None) => Ok(()),
            (Self::Numbers(ends), Self::Numbers(more)) => {
                each(ends, groups, more, |end, more| *end = numbers(*end, more))
            }
            (Self::Strings(ends), Self::Strings(more)) => each(ends, groups, more, |end, more| {
                let replaces = |end: &Vec<u8>, more: &Vec<u8>| is_end(more, end);
                if let Some(more) = more
                    && end.as_ref().is_none_or(|end| replaces(end, &more))
                {
                    *end = Some(more);
                }
            }),
            _ => Err(Error::internal("groups have extremes of another kind")),
        }
    }
}

/// Whether the first string is before (or after) the second.
type IsEnd = fn(&[u8], &[u8]) -> bool;

const LESS: IsEnd = |a, b| a < b;
const GREATER: IsEnd = |a, b| a > b;

/// Runs a function on the slot of each group and its value.
pub(super) fn each<S, V>(
    slots: &mut [S],
    groups: &[u32],
    values: impl IntoIterator<Item = V>,
    mut run: impl FnMut(&mut S, V),
) -> Result<()> {
    for (group, value) in groups.iter().zip(values) {
        run(slot_of(slots, *group)?, value);
    }
    Ok(())
}

fn slot_of<S>(slots: &mut [S], group: u32) -> Result<&mut S> {
    slots.get_mut(index_of(group)).or_internal("a group has no slot")
}

/// Replaces the slot of each group by what a function makes of it and a value.
pub(super) fn each_group<S: Copy, V>(
    slots: &mut [S],
    groups: &[u32],
    values: impl IntoIterator<Item = V>,
    mut run: impl FnMut(S, V) -> S,
) -> Result<()> {
    let Some((first, others)) = groups.split_first() else { return Ok(()) };
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

impl Fold {
    /// Of no groups, for what the aggregates of the field need.
    pub(super) fn new(field: &WantedField, aggregates: &[Aggregate]) -> Self {
        let needs = |function: AggregateFunction| {
            let own = |aggregate: &&Aggregate| aggregate.field() == Some(field.spec.name.as_str());
            aggregates.iter().filter(own).any(|aggregate| aggregate.function() == function)
        };
        let sums = needs(AggregateFunction::Sum) || needs(AggregateFunction::Mean);
        let sums = match field.nothing().total {
            _ if !sums => Sums::None,
            Total::Integer(_) => Sums::Integers(Vec::new()),
            Total::Real(_) => Sums::Reals(Vec::new()),
        };
        let least = Ends::new(needs(AggregateFunction::Min), field);
        let greatest = Ends::new(needs(AggregateFunction::Max), field);
        Self { nulls: Vec::new(), sums, least, greatest, has_nan: false }
    }

    /// Whether it has extremes of strings.
    pub(super) const fn has_strings(&self) -> bool {
        matches!(self.least, Ends::Strings(_)) || matches!(self.greatest, Ends::Strings(_))
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let sums = match &self.sums {
            Sums::None => 0,
            Sums::Integers(sums) => sums.capacity().saturating_mul(16),
            Sums::Reals(sums) => sums.capacity().saturating_mul(8),
        };
        let nulls = self.nulls.capacity().saturating_mul(8);
        let ends = self.least.held().saturating_add(self.greatest.held());
        sums.saturating_add(nulls).saturating_add(ends)
    }

    pub(super) fn grow(&mut self, groups: usize) {
        match &mut self.sums {
            Sums::None => {}
            Sums::Integers(sums) => sums.resize(groups, 0),
            Sums::Reals(sums) => sums.resize(groups, 0.0),
        }
        self.least.grow(groups, u64::MAX);
        self.greatest.grow(groups, 0);
        if !self.nulls.is_empty() {
            self.nulls.resize(groups, 0);
        }
    }

    /// Adds cells of the field: those with the numbers `chosen`, or all `cells`. `groups` has the
    /// group of each of them.
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
        let mut groups_of_valid = Vec::with_capacity(valid.len());
        for (cell, group) in numbered(cells, chosen).iter().zip(groups) {
            if !view.is_null(*cell) {
                groups_of_valid.push(*group);
            } else {
                let nulls = slot_of(&mut self.nulls, *group)?;
                *nulls = nulls.saturating_add(1);
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
            return AddNumbers { fold: self, view, cells, chosen, groups }.of(field.spec.datatype.physical());
        }
        let ends = [(&mut self.least, LESS), (&mut self.greatest, GREATER)];
        for (ends, is_end) in ends {
            let Ends::Strings(ends) = ends else { continue };
            for (at, group) in groups.iter().enumerate() {
                let cell = chosen.map_or(Some(at), |chosen| chosen.get(at).map(|cell| index_of(*cell)));
                let value = cell.and_then(|cell| view.cell(cell, field.spec.cell_size));
                let value = value.or_internal("a cell has no bytes")?;
                match slot_of(ends, *group)? {
                    end @ None => *end = Some(value.to_vec()),
                    Some(end) if is_end(value, end) => {
                        end.clear();
                        end.extend_from_slice(value);
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// What some groups have. It is not asked where there are extremes of strings.
    pub(super) fn pick(&self, groups: &[u32]) -> Result<Self> {
        let ends = |ends: &Ends| {
            Ok(match ends {
                Ends::None => Ends::None,
                Ends::Numbers(all) => Ends::Numbers(picked(all, groups)?),
                Ends::Strings(all) => Ends::Strings(picked(all, groups)?),
            })
        };
        let sums = match &self.sums {
            Sums::None => Sums::None,
            Sums::Integers(all) => Sums::Integers(picked(all, groups)?),
            Sums::Reals(all) => Sums::Reals(picked(all, groups)?),
        };
        let nulls = if self.nulls.is_empty() { Vec::new() } else { picked(&self.nulls, groups)? };
        let (least, greatest): (Result<Ends>, Result<Ends>) = (ends(&self.least), ends(&self.greatest));
        Ok(Self { nulls, sums, least: least?, greatest: greatest?, has_nan: self.has_nan })
    }

    /// Adds other groups, of which `groups` are the numbers here.
    pub(super) fn merge(&mut self, other: Self, groups: &[u32], count: usize) -> Result<()> {
        self.grow(count);
        self.has_nan |= other.has_nan;
        match (&mut self.sums, other.sums) {
            (Sums::None, Sums::None) => {}
            (Sums::Integers(sums), Sums::Integers(more)) => {
                each(sums, groups, more, |sum, more| *sum = sum.saturating_add(more))?;
            }
            (Sums::Reals(sums), Sums::Reals(more)) => each(sums, groups, more, |sum, more| *sum += more)?,
            _ => return Err(Error::internal("groups have sums of another kind")),
        }
        self.least.merge(other.least, groups, u64::min, LESS)?;
        self.greatest.merge(other.greatest, groups, u64::max, GREATER)?;
        if other.nulls.is_empty() {
            return Ok(());
        }
        self.nulls.resize(count, 0);
        each(&mut self.nulls, groups, other.nulls, |nulls, more| *nulls = nulls.saturating_add(more))
    }

    /// The values of an aggregate that looks at the field. `counts` is the number of cells of each
    /// group.
    pub(super) fn values(
        &self,
        field: &WantedField,
        aggregate: &Aggregate,
        counts: &[u64],
    ) -> Result<GroupedValues> {
        // Without any null there is no list of them.
        let nulls = |group: usize| self.nulls.get(group).copied().unwrap_or(0);
        let valid = |(group, cells): (usize, &u64)| cells.saturating_sub(nulls(group));
        let groups = counts.iter().enumerate();
        let (mut data, mut offsets, mut overflowed) = (Vec::new(), Vec::new(), false);
        let (datatype, cell_val_num) = match aggregate.function() {
            AggregateFunction::Count | AggregateFunction::NullCount => (Datatype::Uint64, CellValNum::ONE),
            AggregateFunction::Sum => (field.nothing().total.value(field.is_unsigned()).0, CellValNum::ONE),
            AggregateFunction::Mean => (Datatype::Float64, CellValNum::ONE),
            AggregateFunction::Min | AggregateFunction::Max => (field.spec.datatype, field.spec.cell_val_num),
        };
        for (group, cells) in groups.clone() {
            match aggregate.function() {
                AggregateFunction::Count | AggregateFunction::NullCount => {
                    data.extend_from_slice(&nulls(group).to_le_bytes());
                }
                AggregateFunction::Sum => {
                    let (_, bytes, over) = self.total(group)?.value(field.is_unsigned());
                    overflowed |= over;
                    data.extend_from_slice(&bytes);
                }
                AggregateFunction::Mean => {
                    // A group without valid cells is null.
                    let mean = self.total(group)?.mean(valid((group, cells))).unwrap_or(0.0);
                    data.extend_from_slice(&mean.to_le_bytes());
                }
                AggregateFunction::Min | AggregateFunction::Max => {
                    offsets.push(to_u64(data.len()));
                    let min = aggregate.function() == AggregateFunction::Min;
                    self.push_end(field, group, min, &mut data)?;
                }
            }
        }
        offsets.push(to_u64(data.len()));
        let counts_cells =
            matches!(aggregate.function(), AggregateFunction::Count | AggregateFunction::NullCount);
        let validity = (field.spec.nullable && !counts_cells)
            .then(|| groups.map(|group| u8::from(valid(group) > 0)).collect());
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

    fn total(&self, group: usize) -> Result<Total> {
        let total = match &self.sums {
            Sums::Integers(sums) => sums.get(group).copied().map(Total::Integer),
            Sums::Reals(sums) => sums.get(group).copied().map(Total::Real),
            Sums::None => None,
        };
        total.or_internal("a group has no sum")
    }

    /// Appends the smallest or largest value of a group; zeros or nothing if it has none.
    fn push_end(&self, field: &WantedField, group: usize, min: bool, data: &mut Vec<u8>) -> Result<()> {
        match if min { &self.least } else { &self.greatest } {
            Ends::None => return Err(Error::internal("extremes are asked for that were not looked for")),
            Ends::Numbers(ends) => {
                let none = if min { u64::MAX } else { 0 };
                let end = ends.get(group).copied().or_internal("a group has no extreme")?;
                field.spec.datatype.physical().visit(word::Push { word: end, none, data });
            }
            Ends::Strings(ends) => match ends.get(group).or_internal("a group has no extreme")? {
                Some(end) => data.extend_from_slice(end),
                None => data.resize(data.len().saturating_add(field.spec.cell_size.unwrap_or(0)), 0),
            },
        }
        Ok(())
    }
}

struct AddNumbers<'a> {
    fold: &'a mut Fold,
    view: ColumnView<'a>,
    cells: usize,
    chosen: Option<&'a [u32]>,
    groups: &'a [u32],
}

impl AddNumbers<'_> {
    fn run<T: Pod>(
        self,
        word: impl Fn(T) -> Option<u64>,
        add: impl Fn(&mut Sums, &[u32], &[T]) -> Result<()>,
    ) -> Result<()> {
        let values = self.view.numbers::<T>(self.cells, self.chosen)?;
        let values = values.as_ref();
        add(&mut self.fold.sums, self.groups, values)?;
        // A NaN has no word, and replaces nothing.
        let mut has_nan = false;
        let mut word = |value: T, none: u64| {
            word(value).unwrap_or_else(|| {
                has_nan = true;
                none
            })
        };
        if let Ends::Numbers(ends) = &mut self.fold.least {
            each_group(ends, self.groups, values, |end, value| end.min(word(*value, u64::MAX)))?;
        }
        if let Ends::Numbers(ends) = &mut self.fold.greatest {
            each_group(ends, self.groups, values, |end, value| end.max(word(*value, 0)))?;
        }
        self.fold.has_nan |= has_nan;
        Ok(())
    }

    fn integers<T: Pod>(self, wide: impl Fn(T) -> i128, word: impl Fn(T) -> u64) -> Result<()> {
        self.run(
            |value| Some(word(value)),
            |sums, groups, values: &[T]| match sums {
                Sums::None => Ok(()),
                Sums::Integers(sums) => {
                    each_group(sums, groups, values, |sum, value| sum.wrapping_add(wide(*value)))
                }
                Sums::Reals(_) => Err(Error::internal("integers have a sum of reals")),
            },
        )
    }

    fn reals<T: Pod>(self, wide: impl Fn(T) -> f64, word: impl Fn(T) -> Option<u64>) -> Result<()> {
        self.run(word, |sums, groups, values: &[T]| match sums {
            Sums::None => Ok(()),
            Sums::Reals(sums) => each_group(sums, groups, values, |sum, value| sum + wide(*value)),
            Sums::Integers(_) => Err(Error::internal("reals have a sum of integers")),
        })
    }

    /// The arms are not in a generic function: each type would get the code of all ten.
    fn of(self, physical: Physical) -> Result<()> {
        match physical {
            Physical::I8 => self.integers(|value: i8| value.into(), |value| word::of_integer(value.into())),
            Physical::I16 => self.integers(|value: i16| value.into(), |value| word::of_integer(value.into())),
            Physical::I32 => self.integers(|value: i32| value.into(), |value| word::of_integer(value.into())),
            Physical::I64 => self.integers(|value: i64| value.into(), word::of_integer),
            Physical::U8 => self.integers(|value: u8| value.into(), u64::from),
            Physical::U16 => self.integers(|value: u16| value.into(), u64::from),
            Physical::U32 => self.integers(|value: u32| value.into(), u64::from),
            Physical::U64 => self.integers(|value: u64| value.into(), core::convert::identity),
            Physical::F32 => self.reals(|value: f32| value.into(), |value| word::of_real(value.into())),
            Physical::F64 => self.reals(|value: f64| value, word::of_real),
        }
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
    fn sums_of_one_kind_are_not_added_to_those_of_another() {
        let fold = |sums: Sums, least: Ends| Fold {
            nulls: Vec::new(),
            sums,
            least,
            greatest: Ends::None,
            has_nan: false,
        };
        let integers = || fold(Sums::Integers(vec![1]), Ends::Numbers(vec![3]));
        assert!(integers().merge(integers(), &[0], 1).is_ok());
        assert!(integers().merge(fold(Sums::Reals(vec![1.0]), Ends::Numbers(vec![3])), &[0], 1).is_err());
        assert!(integers().merge(fold(Sums::Integers(vec![1]), Ends::None), &[0], 1).is_err());
        assert!(integers().merge(integers(), &[1], 1).is_err(), "the other group has no slot");
    }
}
