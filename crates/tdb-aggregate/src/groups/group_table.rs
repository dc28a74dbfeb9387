//! One table of all groups of a query: the groups of runs are merged into it.

use tdb_codec::{Layout, to_u64};
use tdb_predicate::picked;

use super::GroupQuery;
use super::accumulators::{Accumulators, each};
use super::group_ids::{GroupIds, IdCounts, NewIds};
use super::key_values::{KeyValues, check_ids};
use super::result::{Grouped, GroupedValues};
use super::run_groups::RunGroups;
use crate::buffers::index_of;
use crate::expression::AggregateFunction;
use crate::{Cells, Column, OrInternal, Result};

/// All groups.
pub(super) struct GroupTable {
    ids: GroupIds,
    /// For each thread, the ids of this table by its own ids.
    threads: Vec<SharedIds>,
    /// The number of cells of each group.
    counts: Vec<u64>,
    accumulators: Vec<Accumulators>,
}

/// The ids of this table, by the ids of a thread.
#[derive(Clone, Default)]
struct SharedIds {
    keys: Vec<Vec<u32>>,
    pairs: Vec<Vec<u32>>,
}

impl SharedIds {
    /// Adds the ids that a thread has assigned to the table.
    fn add(&mut self, new: &NewIds, table: &mut GroupIds) -> Result<()> {
        self.keys.resize(new.keys.len(), Vec::new());
        self.pairs.resize(new.pairs.len(), Vec::new());
        for ((own, values), shared) in table.keys.iter_mut().zip(&new.keys).zip(&mut self.keys) {
            shared.extend(own.merge(values)?);
        }
        for (level, (own, pairs)) in table.pairs.iter_mut().zip(&new.pairs).enumerate() {
            let shared = |list: Option<&Vec<u32>>, id: &u32| {
                let shared = list.and_then(|list| list.get(index_of(*id)));
                shared.copied().or_internal("a part of a pair has no number")
            };
            let right = self.keys.get(level + 1);
            let left = match level.checked_sub(1) {
                Some(before) => self.pairs.get(before),
                None => self.keys.first(),
            };
            let mut ids = Vec::with_capacity(pairs.len());
            for (first, second) in pairs {
                ids.push(own.id_of(shared(left, first)?, shared(right, second)?));
            }
            check_ids(own.len())?;
            self.pairs.get_mut(level).or_internal("a key has no pairs")?.extend(&ids);
        }
        Ok(())
    }

    /// The ids of this table of the thread's groups. Without keys there is one group.
    fn groups(&self) -> &[u32] {
        self.pairs.last().or(self.keys.first()).map_or(&[0], Vec::as_slice)
    }
}

impl GroupTable {
    pub(super) fn new(query: &GroupQuery) -> Self {
        let (ids, accumulators) = (GroupIds::new(query), query.accumulators());
        Self { ids, threads: Vec::new(), counts: Vec::new(), accumulators }
    }

    /// The number of groups.
    pub(super) const fn groups(&self) -> usize {
        self.counts.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> u64 {
        let held = self.accumulators.iter().map(Accumulators::held);
        let held = held.fold(self.ids.held(), usize::saturating_add);
        to_u64(held.saturating_add(self.counts.capacity().saturating_mul(8)))
    }

    /// Adds the groups of a run. Runs of the same thread must come in their order.
    pub(super) fn merge_run(&mut self, run: RunGroups) -> Result<()> {
        let RunGroups { thread, new_ids, thread_ids, counts, accumulators, .. } = run;
        // Without cells there is no group, not even where there are no keys.
        if counts.is_empty() {
            return Ok(());
        }
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, SharedIds::default());
        }
        let shared = self.threads.get_mut(thread).or_internal("a thread has no numbers of groups")?;
        shared.add(&new_ids, &mut self.ids)?;
        let all = shared.groups();
        let some = thread_ids.map(|ids| picked(all, &ids)).transpose()?;
        let groups = some.as_deref().unwrap_or(all);
        add(&mut self.counts, &mut self.accumulators, self.ids.groups(), groups, &counts, accumulators)
    }

    /// Adds the groups of another table.
    pub(super) fn merge_table(&mut self, other: Self) -> Result<()> {
        // Without cells there is no group, not even where there are no keys.
        if other.counts.is_empty() {
            return Ok(());
        }
        if self.counts.is_empty() {
            *self = Self { threads: Vec::new(), ..other };
            return Ok(());
        }
        let mut shared = SharedIds::default();
        let none = IdCounts { keys: vec![0; other.ids.keys.len()], pairs: vec![0; other.ids.pairs.len()] };
        shared.add(&other.ids.since(&none)?, &mut self.ids)?;
        let (count, groups) = (self.ids.groups(), shared.groups());
        add(&mut self.counts, &mut self.accumulators, count, groups, &other.counts, other.accumulators)
    }

    /// For each key, the id of its value in each group.
    fn key_ids(&self) -> Result<Vec<Vec<u32>>> {
        let mut groups: Vec<u32> = (0u32..).take(self.counts.len()).collect();
        let mut keys = Vec::with_capacity(self.ids.keys.len());
        for pairs in self.ids.pairs.iter().rev() {
            let (left, right) = picked(pairs.all(), &groups)?.into_iter().unzip();
            keys.push(right);
            groups = left;
        }
        if !self.ids.keys.is_empty() {
            keys.push(groups);
        }
        keys.reverse();
        Ok(keys)
    }

    pub(super) fn result(&self, query: &GroupQuery) -> Result<Grouped> {
        let ids = self.key_ids()?;
        let keys = self.ids.keys.iter().zip(&query.keys).zip(&ids);
        let columns = keys.map(|((values, key), ids)| values.column(&key.spec, ids));
        grouped(query, columns.collect::<Result<_>>()?, &self.counts, &self.accumulators)
    }

    /// For each key, its value in each group as 64 bits, and whether it is null.
    pub(super) fn key_bits(&self) -> Result<Vec<Vec<(u64, bool)>>> {
        let ids = self.key_ids()?;
        let keys = self.ids.keys.iter().zip(&ids);
        keys.map(|(values, ids)| ids.iter().map(|id| values.bits(*id)).collect()).collect()
    }

    /// The values of the keys, the number of cells of each group, and the accumulators.
    pub(super) fn into_parts(self) -> (Vec<KeyValues>, Vec<u64>, Vec<Accumulators>) {
        (self.ids.keys, self.counts, self.accumulators)
    }
}

/// The result of a query, made from the keys of its groups, their number of cells, and their
/// accumulators.
pub(super) fn grouped(
    query: &GroupQuery,
    columns: Vec<Column>,
    counts: &[u64],
    accumulators: &[Accumulators],
) -> Result<Grouped> {
    let values = query.aggregates.iter().zip(&query.field_positions).map(|(aggregate, position)| {
        match position {
            Some(position) if aggregate.function() != AggregateFunction::Count => {
                let field = query.wanted.get(*position).zip(accumulators.get(*position));
                let (field, own) = field.or_internal("an aggregate has no field")?;
                own.values(field, aggregate, counts)
            }
            // The number of cells, of whichever field.
            _ => Ok(GroupedValues::counts(aggregate, counts)),
        }
    });
    let (len, order) = (counts.len(), Layout::Unordered);
    let values = values.collect::<Result<_>>()?;
    Ok(Grouped { keys: Cells { len, shape: None, order, columns, selected: None }, values })
}

/// Adds other groups, whose ids here are `groups`, to `counts` and `accumulators`, which then have
/// `count` groups.
pub(super) fn add(
    counts: &mut Vec<u64>,
    accumulators: &mut [Accumulators],
    count: usize,
    groups: &[u32],
    more: &[u64],
    others: Vec<Accumulators>,
) -> Result<()> {
    counts.resize(count, 0);
    each(counts, groups, more, |slot, cells| *slot += *cells)?;
    for (own, other) in accumulators.iter_mut().zip(others) {
        own.merge(other, groups, count)?;
    }
    Ok(())
}
