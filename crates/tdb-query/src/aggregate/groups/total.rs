//! All groups of a query.

use tdb_codec::{Layout, to_u64};

use super::Asked;
use super::fold::Fold;
use super::keys::Values;
use super::part::Part;
use super::result::{Grouped, GroupedValues};
use super::table::{Fresh, Lens, Table};
use crate::buffers::index_of;
use crate::expression::AggregateFunction;
use crate::{Cells, Column};

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
    fn learn(&mut self, fresh: &Fresh, table: &mut Table) {
        self.keys.resize(fresh.keys.len(), Vec::new());
        self.pairs.resize(fresh.pairs.len(), Vec::new());
        for ((own, values), known) in table.keys.iter_mut().zip(&fresh.keys).zip(&mut self.keys) {
            known.extend(own.merge(values));
        }
        for (level, (own, pairs)) in table.pairs.iter_mut().zip(&fresh.pairs).enumerate() {
            let number = |list: Option<&Vec<u32>>, number: &u32| {
                list.and_then(|list| list.get(index_of(*number))).copied().unwrap_or(0)
            };
            let right = self.keys.get(level.saturating_add(1));
            let left = match level.checked_sub(1) {
                Some(before) => self.pairs.get(before),
                None => self.keys.first(),
            };
            let numbers: Vec<u32> = pairs
                .iter()
                .map(|(first, second)| own.number_of(number(left, first), number(right, second)))
                .collect();
            self.pairs.get_mut(level).into_iter().for_each(|known| known.extend(&numbers));
        }
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

    pub(super) fn merge(&mut self, part: Part) {
        let Part { thread, fresh, some, counts, folds, .. } = part;
        // Without cells there is no group, not even where there are no keys.
        if counts.is_empty() {
            return;
        }
        if self.threads.len() <= thread {
            self.threads.resize(thread.saturating_add(1), Known::default());
        }
        let Some(known) = self.threads.get_mut(thread) else { return };
        known.learn(&fresh, &mut self.table);
        let all = known.groups();
        let some = some.map(|some| {
            let known = some.iter().map(|group| all.get(index_of(*group)).copied().unwrap_or(0));
            known.collect::<Vec<_>>()
        });
        let known = some.as_deref().unwrap_or(all);
        add(&mut self.counts, &mut self.folds, self.table.groups(), known, &counts, folds);
    }

    pub(super) fn merge_all(&mut self, other: Self) {
        if self.counts.is_empty() {
            *self = Self { threads: Vec::new(), ..other };
            return;
        }
        let mut known = Known::default();
        let none = Lens { keys: vec![0; other.table.keys.len()], pairs: vec![0; other.table.pairs.len()] };
        known.learn(&other.table.since(&none), &mut self.table);
        let groups = self.table.groups();
        add(&mut self.counts, &mut self.folds, groups, known.groups(), &other.counts, other.folds);
    }

    /// The numbers of the keys' values, key by key, of each group.
    fn key_numbers(&self) -> Vec<Vec<u32>> {
        let mut groups: Vec<u32> = (0u32..).take(self.counts.len()).collect();
        let mut keys = Vec::with_capacity(self.table.keys.len());
        for pairs in self.table.pairs.iter().rev() {
            let of = |group: &u32| pairs.all().get(index_of(*group)).copied().unwrap_or_default();
            keys.push(groups.iter().map(|group| of(group).1).collect());
            groups = groups.iter().map(|group| of(group).0).collect();
        }
        if !self.table.keys.is_empty() {
            keys.push(groups);
        }
        keys.reverse();
        keys
    }

    pub(super) fn result(&self, asked: &Asked) -> Grouped {
        let numbers = self.key_numbers();
        let keys = self.table.keys.iter().zip(&asked.keys).zip(&numbers);
        let columns = keys.map(|((values, key), numbers)| values.column(&key.spec, numbers)).collect();
        grouped(asked, columns, &self.counts, &self.folds)
    }

    /// For each key, the words of its values in all groups, and whether they are null.
    pub(super) fn words(&self) -> Vec<Vec<(u64, bool)>> {
        let numbers = self.key_numbers();
        let keys = self.table.keys.iter().zip(&numbers);
        keys.map(|(values, numbers)| numbers.iter().map(|number| values.word(*number)).collect()).collect()
    }

    /// The values of the keys, the number of cells of each group, and what is added up.
    pub(super) fn into_parts(self) -> (Vec<Values>, Vec<u64>, Vec<Fold>) {
        (self.table.keys, self.counts, self.folds)
    }
}

/// Groups with these keys, of so many cells, and what their cells add up to.
pub(super) fn grouped(asked: &Asked, columns: Vec<Column>, counts: &[u64], folds: &[Fold]) -> Grouped {
    let values = asked.aggregates.iter().zip(&asked.places).map(|(aggregate, place)| {
        let field = place.and_then(|place| Some((asked.wanted.get(place)?, folds.get(place)?)));
        match field {
            Some((field, fold)) if aggregate.function() != AggregateFunction::Count => {
                fold.values(field, aggregate, counts)
            }
            _ => GroupedValues::counts(aggregate, counts),
        }
    });
    let (len, order) = (counts.len(), Layout::Unordered);
    Grouped { keys: Cells { len, shape: None, order, columns, selected: None }, values: values.collect() }
}

/// Adds what other groups have, of which `known` are the numbers here.
pub(super) fn add(
    counts: &mut Vec<u64>,
    folds: &mut [Fold],
    groups: usize,
    known: &[u32],
    more: &[u64],
    other: Vec<Fold>,
) {
    counts.resize(groups, 0);
    for (group, cells) in known.iter().zip(more) {
        counts.get_mut(index_of(*group)).into_iter().for_each(|slot| *slot = slot.saturating_add(*cells));
    }
    for (own, other) in folds.iter_mut().zip(other) {
        own.merge(other, known, groups);
    }
}
