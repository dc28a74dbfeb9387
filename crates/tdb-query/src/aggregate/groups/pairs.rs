//! Numbers of pairs of numbers.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::keys::{NEAR, NONE};
use crate::buffers::index_of;
use crate::{OrInternal, Result};

/// Pairs of numbers, numbered from 0 in the order in which they first appear.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pairs: Vec<(u32, u32)>,
    table: HashTable<(u32, u32, u32)>,
    hasher: RandomState,
    /// The numbers of pairs without hashes, if there are few: `width` for each left number.
    near: Vec<u32>,
    width: usize,
}

impl Pairs {
    pub(super) const fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn held(&self) -> usize {
        let lists =
            self.pairs.capacity().saturating_mul(8).saturating_add(self.near.capacity().saturating_mul(4));
        lists.saturating_add(self.table.allocation_size())
    }

    /// Replaces each left number by the number of the pair that it makes with the right one.
    /// `counts` is how many left and right numbers there are.
    pub(super) fn number(&mut self, left: &mut [u32], right: &[u32], counts: (usize, usize)) {
        let near = self.cover(counts);
        let width = self.width;
        for (left, right) in left.iter_mut().zip(right) {
            let at = index_of(*left).saturating_mul(width).saturating_add(index_of(*right));
            *left = match self.near.get(at) {
                Some(number) if near && *number != NONE => *number,
                _ => {
                    let number = self.number_of(*left, *right);
                    if near && let Some(slot) = self.near.get_mut(at) {
                        *slot = number;
                    }
                    number
                }
            };
        }
    }

    pub(super) fn number_of(&mut self, left: u32, right: u32) -> u32 {
        let hasher = &self.hasher;
        let hash = hasher.hash_one((left, right));
        if let Some(found) = self.table.find(hash, |own| (own.0, own.1) == (left, right)) {
            return found.2;
        }
        let number = u32::try_from(self.pairs.len()).unwrap_or(NONE);
        self.pairs.push((left, right));
        self.table.insert_unique(hash, (left, right, number), |own| hasher.hash_one((own.0, own.1)));
        number
    }

    /// Both numbers of each pair.
    pub(super) fn all(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// Both numbers of each pair from this one on.
    pub(super) fn since(&self, from: usize) -> Result<&[(u32, u32)]> {
        self.pairs.get(from..).or_internal("a table of pairs has become shorter")
    }

    /// Makes the table without hashes contain all pairs, if they are few; returns whether it does.
    fn cover(&mut self, (left, right): (usize, usize)) -> bool {
        let width = right.next_power_of_two();
        if left.saturating_mul(width) > NEAR {
            self.near = Vec::new();
            return false;
        }
        if width != self.width || self.near.is_empty() {
            self.width = width;
            self.near.clear();
            self.near.resize(left.saturating_mul(width), NONE);
            for (number, (left, right)) in (0u32..).zip(&self.pairs) {
                let at = index_of(*left).saturating_mul(width).saturating_add(index_of(*right));
                self.near.get_mut(at).into_iter().for_each(|slot| *slot = number);
            }
        }
        if self.near.len() < left.saturating_mul(width) {
            self.near.resize(left.saturating_mul(width), NONE);
        }
        true
    }
}
