//! All groups of a query.

use tdb_codec::{Layout, to_u64};

use super::Asked;
use super::fold::{Fold, each};
use super::keys::Values;
use super::part::Part;
use super::result::{Grouped, GroupedValues};
use super::table::{Fresh, Lens, Table};
use crate::buffers::index_of;
use crate::condition::picked;
use crate::expression::AggregateFunction;
use crate::{Cells, Column, OrInternal, Result};

/// All groups.
pub(super) struct Total {
    table: Table,
    /// For each thread the numbers here of its own numbers.
    threads: Vec<Known>,
    counts: Vec<u64>,
    folds: Vec<Fold>,
}

/// The numbers here of values and pairs of a thread.
#[derive(Clone, Default)]
struct Known {
    keys: Vec<Vec<u32>>,
    pairs: Vec<Vec<u32>>,
}

impl Known {
    /// Adds what is new in another table to this one.
    fn learn(&mut self, fresh: &Fresh, table: &mut Table) -> Result<()> {
        self.keys.resize(fresh.keys.len(), Vec::new());
        self.pairs.resize(fresh.pairs.len(), Vec::new());
        for ((own, values), known) in table.keys.iter_mut().zip(&fresh.keys).zip(&mut self.keys) {
            known.extend(own.merge(values)?);
        }
        for (level, (own, pairs)) in table.pairs.iter_mut().zip(&fresh.pairs).enumerate() {
            let number = |list: Option<&Vec<u32>>, number: &u32| {
                let known = list.and_then(|list| list.get(index_of(*number)));
                known.copied().or_internal("a part of a pair has no number")
            };
            let right = self.keys.get(level.saturating_add(1));
            let left = match level.checked_sub(1) {
                Some(before) => self.pairs.get(before),
                None => self.keys.first(),
            };
            let mut numbers = Vec::with_capacity(pairs.len());
            for (first, second) in pairs {
                numbers.push(own.number_of(number(left, first)?, number(right, second)?));
            }
            self.pairs.get_mut(level).or_internal("a key has no pairs")?.extend(&numbers);
        }
        Ok(())
    }

    /// The numbers here of the groups there.
    fn groups(&self) -> &[u32] {
        self.pairs.last().or(self.keys.first()).map_or(&[0], Vec::as_slice)
    }
}

impl Total {
    pub(super) fn new(asked: &Asked) -> Self {
        Self { table: Table::new(asked), threads: Vec::new(), counts: Vec::new(), folds: asked.folds() }
    }

    pub(super) const fn groups(&self) -> usize {
        self.counts.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> u64 {
        let folds = self.folds.iter().map(Fold::held).fold(self.table.held(), usize::saturating_add);
        to_u64(folds.saturating_add(self.counts.capacity().saturating_mul(8)))
    }

    pub(super) fn merge(&mut self, part: Part) -> Result<()> {
        let Part { thread, fresh, some, counts, folds, .. } = part;
        // Without cells there is no group, not even where there are no keys.
        if counts.is_empty() {
            return Ok(());
        }
        if self.threads.len() <= thread {
            self.threads.resize(thread.saturating_add(1), Known::default());
        }
        let known = self.threads.get_mut(thread).or_internal("a thread has no numbers of groups")?;
        known.learn(&fresh, &mut self.table)?;
        let all = known.groups();
        let some = some.map(|some| picked(all, &some)).transpose()?;
        let known = some.as_deref().unwrap_or(all);
        add(&mut self.counts, &mut self.folds, self.table.groups(), known, &counts, folds)
    }

    pub(super) fn merge_all(&mut self, other: Self) -> Result<()> {
        if self.counts.is_empty() {
            *self = Self { threads: Vec::new(), ..other };
            return Ok(());
        }
        let mut known = Known::default();
        let none = Lens { keys: vec![0; other.table.keys.len()], pairs: vec![0; other.table.pairs.len()] };
        known.learn(&other.table.since(&none)?, &mut self.table)?;
        let groups = self.table.groups();
        add(&mut self.counts, &mut self.folds, groups, known.groups(), &other.counts, other.folds)
    }

    /// The numbers of the keys' values, key by key, of each group.
    fn key_numbers(&self) -> Result<Vec<Vec<u32>>> {
        let mut groups: Vec<u32> = (0u32..).take(self.counts.len()).collect();
        let mut keys = Vec::with_capacity(self.table.keys.len());
        for pairs in self.table.pairs.iter().rev() {
            let (left, right) = picked(pairs.all(), &groups)?.into_iter().unzip();
            keys.push(right);
            groups = left;
        }
        if !self.table.keys.is_empty() {
            keys.push(groups);
        }
        keys.reverse();
        Ok(keys)
    }

    pub(super) fn result(&self, asked: &Asked) -> Result<Grouped> {
        let numbers = self.key_numbers()?;
        let keys = self.table.keys.iter().zip(&asked.keys).zip(&numbers);
        let columns = keys.map(|((values, key), numbers)| values.column(&key.spec, numbers));
        grouped(asked, columns.collect::<Result<_>>()?, &self.counts, &self.folds)
    }

    /// For each key, the words of its values in all groups, and whether they are null.
    pub(super) fn words(&self) -> Result<Vec<Vec<(u64, bool)>>> {
        let numbers = self.key_numbers()?;
        let keys = self.table.keys.iter().zip(&numbers);
        keys.map(|(values, numbers)| numbers.iter().map(|number| values.word(*number)).collect()).collect()
    }

    /// The values of the keys, the number of cells of each group, and what is added up.
    pub(super) fn into_parts(self) -> (Vec<Values>, Vec<u64>, Vec<Fold>) {
        (self.table.keys, self.counts, self.folds)
    }
}

/// Groups with these keys, of so many cells, and what their cells add up to.
pub(super) fn grouped(
    asked: &Asked,
    columns: Vec<Column>,
    counts: &[u64],
    folds: &[Fold],
) -> Result<Grouped> {
    let values = asked.aggregates.iter().zip(&asked.places).map(|(aggregate, place)| {
        let field = place.and_then(|place| Some((asked.wanted.get(place)?, folds.get(place)?)));
        match field {
            Some((field, fold)) if aggregate.function() != AggregateFunction::Count => {
                fold.values(field, aggregate, counts)
            }
            // The number of cells, of whichever field.
            _ => Ok(GroupedValues::counts(aggregate, counts)),
        }
    });
    let (len, order) = (counts.len(), Layout::Unordered);
    let values = values.collect::<Result<_>>()?;
    Ok(Grouped { keys: Cells { len, shape: None, order, columns, selected: None }, values })
}

/// Adds what other groups have, of which `known` are the numbers here.
pub(super) fn add(
    counts: &mut Vec<u64>,
    folds: &mut [Fold],
    groups: usize,
    known: &[u32],
    more: &[u64],
    other: Vec<Fold>,
) -> Result<()> {
    counts.resize(groups, 0);
    each(counts, known, more, |slot, cells| *slot = slot.saturating_add(*cells))?;
    for (own, other) in folds.iter_mut().zip(other) {
        own.merge(other, known, groups)?;
    }
    Ok(())
}
