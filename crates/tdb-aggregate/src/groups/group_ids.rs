//! The ids of groups: those of their keys' values, and with several keys those of pairs of ids.

use super::GroupQuery;
use super::composite_keys::CompositeKeys;
use super::key_values::KeyValues;
use crate::Result;

/// The ids of the groups that a thread, or the whole query, has found.
pub(super) struct GroupIds {
    pub(super) keys: Vec<KeyValues>,
    /// With several keys, the pairs of the first two, then of these and the third, and so on.
    pub(super) pairs: Vec<CompositeKeys>,
}

impl GroupIds {
    pub(super) fn new(query: &GroupQuery) -> Self {
        let keys = query.keys.iter().map(|key| KeyValues::new(&key.spec)).collect();
        Self { keys, pairs: query.keys.iter().skip(1).map(|_| CompositeKeys::default()).collect() }
    }

    /// The number of groups. Without keys, all cells are one group.
    pub(super) fn groups(&self) -> usize {
        match (self.keys.as_slice(), self.pairs.last()) {
            (_, Some(pairs)) => pairs.len(),
            ([key, ..], None) => key.len(),
            ([], None) => 1,
        }
    }

    /// The number of values of each key, and of pairs.
    pub(super) fn counts(&self) -> IdCounts {
        let pairs = self.pairs.iter().map(CompositeKeys::len).collect();
        IdCounts { keys: self.keys.iter().map(KeyValues::len).collect(), pairs }
    }

    /// The values and pairs that were added since there were as many as in `from`.
    pub(super) fn since(&self, from: &IdCounts) -> Result<NewIds> {
        let keys = self.keys.iter().zip(&from.keys).map(|(key, from)| key.since(*from));
        let pairs = self.pairs.iter().zip(&from.pairs).map(|(own, from)| Ok(own.since(*from)?.to_vec()));
        Ok(NewIds { keys: keys.collect::<Result<_>>()?, pairs: pairs.collect::<Result<_>>()? })
    }

    /// Approximate bytes that they take.
    pub(super) fn held(&self) -> usize {
        let keys = self.keys.iter().map(KeyValues::held);
        keys.chain(self.pairs.iter().map(CompositeKeys::held)).fold(0, usize::saturating_add)
    }
}

/// The number of values of each key, and of pairs, at some time.
#[derive(Default)]
pub(super) struct IdCounts {
    pub(super) keys: Vec<usize>,
    pub(super) pairs: Vec<usize>,
}

/// Values and pairs that were added after some time, in the order of their ids.
pub(super) struct NewIds {
    pub(super) keys: Vec<KeyValues>,
    pub(super) pairs: Vec<Vec<(u32, u32)>>,
}
