//! The groups of one partition: a hash table whose keys are packed words.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::super::GroupQuery;
use super::super::accumulators::{Accumulators, each_group};
use super::super::group_table::add;
use super::super::key_values::{NO_ID, check_ids, next_id};
use super::run_cells::PartitionCells;
use crate::buffers::index_of;
use crate::{Error, Result};

/// Groups, numbered from 0 in the order in which they first appear.
pub(super) struct Partition {
    /// The words of the groups' keys: for each word, that of each group.
    words: Vec<Vec<u64>>,
    /// The ids of the groups, each beside a tag that decides nearly all comparisons: the only word
    /// of the key, or a hash of all words.
    table: HashTable<(u64, u32)>,
    hasher: RandomState,
    pub(super) counts: Vec<u64>,
    pub(super) accumulators: Vec<Accumulators>,
}

impl Partition {
    /// A partition without groups, whose keys have this many words.
    pub(super) fn new(query: &GroupQuery, words: usize) -> Self {
        let (table, hasher) = (HashTable::new(), RandomState::default());
        Self {
            words: vec![Vec::new(); words],
            table,
            hasher,
            counts: Vec::new(),
            accumulators: query.accumulators(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.counts.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let words = self.words.iter().map(Vec::capacity).fold(self.counts.capacity(), usize::saturating_add);
        let accumulators = self
            .accumulators
            .iter()
            .map(Accumulators::held)
            .fold(self.table.allocation_size(), usize::saturating_add);
        accumulators.saturating_add(words.saturating_mul(8))
    }

    /// The words of the groups' keys.
    pub(super) fn words(&self) -> &[Vec<u64>] {
        &self.words
    }

    /// Adds cells.
    pub(super) fn add(&mut self, query: &GroupQuery, cells: &PartitionCells<'_>) -> Result<()> {
        let ids = self.assign_ids(&cells.words()?)?;
        let count = self.words.first().map_or(0, Vec::len);
        self.counts.resize(count, 0);
        each_group(&mut self.counts, &ids, core::iter::repeat(()), |cells: u64, ()| cells.wrapping_add(1))?;
        for (at, (field, accumulator)) in query.wanted.iter().zip(&mut self.accumulators).enumerate() {
            accumulator.grow(count);
            accumulator.add(field, cells.view(at)?, (cells.len(), None), (&ids, count))?;
        }
        Ok(())
    }

    /// Adds groups with these keys.
    pub(super) fn merge(
        &mut self,
        words: &[&[u64]],
        counts: &[u64],
        accumulators: Vec<Accumulators>,
    ) -> Result<()> {
        let ids = self.assign_ids(words)?;
        let count = self.words.first().map_or(0, Vec::len);
        add(&mut self.counts, &mut self.accumulators, count, &ids, counts, accumulators)
    }

    /// Adds the groups of another partition.
    pub(super) fn merge_partition(&mut self, other: Self) -> Result<()> {
        if self.counts.is_empty() {
            *self = other;
            return Ok(());
        }
        let words: Vec<&[u64]> = other.words.iter().map(Vec::as_slice).collect();
        self.merge(&words, &other.counts, other.accumulators)
    }

    /// The ids of the groups with these keys; new groups are added.
    fn assign_ids(&mut self, words: &[&[u64]]) -> Result<Vec<u32>> {
        let Self { words: own, table, hasher, .. } = self;
        let len = words.first().map_or(0, |words| words.len());
        if words.len() != own.len() || words.iter().any(|words| words.len() != len) {
            return Err(Error::internal("a key has another number of words than those before it"));
        }
        if let ([words], [own]) = (words, own.as_mut_slice()) {
            let hash = |word: u64| hasher.hash_one(word);
            let id = |word: &u64| {
                let found = table.entry(hash(*word), |(own, _)| own == word, |(own, _)| hash(*own));
                found.or_insert_with(|| (*word, push(own, *word))).get().1
            };
            let ids = words.iter().map(id).collect();
            check_ids(own.len())?;
            return Ok(ids);
        }
        // All lists are equally long, so that no word is missing.
        let cell = |at: usize| words.iter().map(move |words| words.get(at).copied().unwrap_or(0));
        let id = |at: usize| {
            let mut state = hasher.build_hasher();
            cell(at).for_each(|word| state.write_u64(word));
            let hash = state.finish();
            let of_group = |id: u32| own.iter().map(move |own| own.get(index_of(id)).copied().unwrap_or(0));
            let same = |(tag, id): &(u64, u32)| *tag == hash && of_group(*id).eq(cell(at));
            if let Some((_, id)) = table.find(hash, same) {
                return *id;
            }
            let mut id = NO_ID;
            own.iter_mut().zip(cell(at)).for_each(|(own, word)| id = push(own, word));
            table.insert_unique(hash, (hash, id), |(tag, _)| *tag);
            id
        };
        let ids = (0..len).map(id).collect();
        check_ids(self.words.first().map_or(0, Vec::len))?;
        Ok(ids)
    }
}

/// Appends a word of a key; returns the id of its group.
fn push(words: &mut Vec<u64>, word: u64) -> u32 {
    let id = next_id(words.len());
    words.push(word);
    id
}
