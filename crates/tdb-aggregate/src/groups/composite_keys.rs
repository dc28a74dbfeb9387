//! Ids of composite group keys: pairs of ids, for a query that is grouped by several keys.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::key_values::{NO_ID, check_ids, next_id};
use super::thresholds::MAX_DIRECT_SLOTS;
use crate::buffers::index_of;
use crate::{Error, OrInternal, Result};

/// Pairs of ids, numbered from 0 in the order in which they first appear.
#[derive(Debug, Default)]
pub(super) struct CompositeKeys {
    pairs: Vec<(u32, u32)>,
    table: HashTable<(u32, u32, u32)>,
    hasher: RandomState,
    /// The ids of pairs without hashes, if there are few: `width` slots for each left id.
    direct: Vec<u32>,
    width: usize,
}

impl CompositeKeys {
    pub(super) const fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let lists =
            self.pairs.capacity().saturating_mul(8).saturating_add(self.direct.capacity().saturating_mul(4));
        lists.saturating_add(self.table.allocation_size())
    }

    /// Replaces each left id by the id of the pair that it makes with the right one. `counts` is
    /// how many left and right ids there are.
    pub(super) fn replace_ids(
        &mut self,
        left: &mut [u32],
        right: &[u32],
        counts: (usize, usize),
    ) -> Result<()> {
        if left.len() != right.len() {
            return Err(Error::internal("a cell lacks one of its keys"));
        }
        let direct = self.cover(counts)?;
        let width = self.width;
        for (left, right) in left.iter_mut().zip(right) {
            let at = index_of(*left).saturating_mul(width).saturating_add(index_of(*right));
            *left = match self.direct.get(at) {
                Some(id) if direct && *id != NO_ID => *id,
                _ => {
                    let id = self.id_of(*left, *right);
                    // Without its slot, a pair is found by its hash.
                    if direct && let Some(slot) = self.direct.get_mut(at) {
                        *slot = id;
                    }
                    id
                }
            };
        }
        check_ids(self.pairs.len())
    }

    /// The id of a pair, which is added if it is new.
    pub(super) fn id_of(&mut self, left: u32, right: u32) -> u32 {
        let hasher = &self.hasher;
        let hash = hasher.hash_one((left, right));
        if let Some(found) = self.table.find(hash, |own| (own.0, own.1) == (left, right)) {
            return found.2;
        }
        let id = next_id(self.pairs.len());
        self.pairs.push((left, right));
        self.table.insert_unique(hash, (left, right, id), |own| hasher.hash_one((own.0, own.1)));
        id
    }

    /// The two ids of each pair.
    pub(super) fn all(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// The two ids of each pair from this one on.
    pub(super) fn since(&self, from: usize) -> Result<&[(u32, u32)]> {
        self.pairs.get(from..).or_internal("a table of pairs has become shorter")
    }

    /// Makes the table without hashes contain all pairs, if they are few; returns whether it does.
    fn cover(&mut self, (left, right): (usize, usize)) -> Result<bool> {
        let width = right.next_power_of_two();
        let Some(slots) = left.checked_mul(width).filter(|slots| *slots <= MAX_DIRECT_SLOTS) else {
            self.direct = Vec::new();
            return Ok(false);
        };
        if width != self.width || self.direct.is_empty() {
            self.width = width;
            self.direct.clear();
            self.direct.resize(slots, NO_ID);
            for (id, (left, right)) in (0u32..).zip(&self.pairs) {
                let at = index_of(*left) * width + index_of(*right);
                *self.direct.get_mut(at).or_internal("a pair has an id that its key does not have")? = id;
            }
        }
        if self.direct.len() < slots {
            self.direct.resize(slots, NO_ID);
        }
        Ok(true)
    }
}
