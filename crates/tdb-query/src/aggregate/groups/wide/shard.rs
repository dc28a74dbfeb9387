//! The groups of a shard.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::super::Asked;
use super::super::fold::{Fold, each_group};
use super::super::keys::NONE;
use super::super::total::add;
use super::cells::ShardCells;
use crate::Result;
use crate::buffers::index_of;

/// Groups, numbered from 0 in the order in which they first appear.
pub(super) struct Shard {
    /// The words of all groups.
    words: Vec<Vec<u64>>,
    /// The numbers of the groups, each beside what decides nearly all comparisons: the only word,
    /// or a hash of all.
    table: HashTable<(u64, u32)>,
    hasher: RandomState,
    pub(super) counts: Vec<u64>,
    pub(super) folds: Vec<Fold>,
}

impl Shard {
    /// Without groups; `words` is how many words a group has.
    pub(super) fn new(asked: &Asked, words: usize) -> Self {
        let (table, hasher) = (HashTable::new(), RandomState::default());
        Self { words: vec![Vec::new(); words], table, hasher, counts: Vec::new(), folds: asked.folds() }
    }

    pub(super) const fn len(&self) -> usize {
        self.counts.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let words = self.words.iter().map(Vec::capacity).fold(self.counts.capacity(), usize::saturating_add);
        let folds =
            self.folds.iter().map(Fold::held).fold(self.table.allocation_size(), usize::saturating_add);
        folds.saturating_add(words.saturating_mul(8))
    }

    /// The words of all groups.
    pub(super) fn words(&self) -> &[Vec<u64>] {
        &self.words
    }

    /// Adds cells.
    pub(super) fn add(&mut self, asked: &Asked, cells: &ShardCells<'_>) -> Result<()> {
        let numbers = self.numbers(&cells.words()?);
        let count = self.words.first().map_or(0, Vec::len);
        self.counts.resize(count, 0);
        each_group(&mut self.counts, &numbers, core::iter::repeat(()), |cells: u64, ()| {
            cells.wrapping_add(1)
        })?;
        for (at, (field, fold)) in asked.wanted.iter().zip(&mut self.folds).enumerate() {
            fold.grow(count);
            fold.add(field, cells.view(at)?, (cells.len(), None), (&numbers, count))?;
        }
        Ok(())
    }

    /// Adds groups that are known by their words.
    pub(super) fn merge(&mut self, words: &[&[u64]], counts: &[u64], folds: Vec<Fold>) -> Result<()> {
        let numbers = self.numbers(words);
        let count = self.words.first().map_or(0, Vec::len);
        add(&mut self.counts, &mut self.folds, count, &numbers, counts, folds)
    }

    /// Adds the groups of another shard.
    pub(super) fn merge_shard(&mut self, other: Self) -> Result<()> {
        if self.counts.is_empty() {
            *self = other;
            return Ok(());
        }
        let words: Vec<&[u64]> = other.words.iter().map(Vec::as_slice).collect();
        self.merge(&words, &other.counts, other.folds)
    }

    /// The numbers of groups, to which new ones are added.
    fn numbers(&mut self, words: &[&[u64]]) -> Vec<u32> {
        let Self { words: own, table, hasher, .. } = self;
        if let ([words], [own]) = (words, own.as_mut_slice()) {
            let hash = |word: u64| hasher.hash_one(word);
            let number = |word: &u64| {
                let found = table.entry(hash(*word), |(own, _)| own == word, |(own, _)| hash(*own));
                found.or_insert_with(|| (*word, push(own, *word))).get().1
            };
            return words.iter().map(number).collect();
        }
        let len = words.first().map_or(0, |words| words.len());
        let cell = |at: usize| words.iter().map(move |words| words.get(at).copied().unwrap_or(0));
        let number = |at: usize| {
            let mut state = hasher.build_hasher();
            cell(at).for_each(|word| state.write_u64(word));
            let hash = state.finish();
            let of_group =
                |number: u32| own.iter().map(move |own| own.get(index_of(number)).copied().unwrap_or(0));
            let same = |(tag, number): &(u64, u32)| *tag == hash && of_group(*number).eq(cell(at));
            if let Some((_, number)) = table.find(hash, same) {
                return *number;
            }
            let mut number = NONE;
            own.iter_mut().zip(cell(at)).for_each(|(own, word)| number = push(own, word));
            table.insert_unique(hash, (hash, number), |(tag, _)| *tag);
            number
        };
        (0..len).map(number).collect()
    }
}

/// Appends a word; returns its place.
fn push(words: &mut Vec<u64>, word: u64) -> u32 {
    let number = u32::try_from(words.len()).unwrap_or(NONE);
    words.push(word);
    number
}
