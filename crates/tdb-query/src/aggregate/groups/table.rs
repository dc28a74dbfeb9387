//! The numbers of groups.

use super::Asked;
use super::keys::Values;
use super::pairs::Pairs;
use crate::Result;

/// Numbers of groups.
pub(super) struct Table {
    pub(super) keys: Vec<Values>,
    /// With several keys, the pairs of the first two, then of these and the third, and so on.
    pub(super) pairs: Vec<Pairs>,
}

impl Table {
    pub(super) fn new(asked: &Asked) -> Self {
        let keys = asked.keys.iter().map(|key| Values::new(&key.spec)).collect();
        Self { keys, pairs: asked.keys.iter().skip(1).map(|_| Pairs::default()).collect() }
    }

    pub(super) fn groups(&self) -> usize {
        match (self.keys.as_slice(), self.pairs.last()) {
            (_, Some(pairs)) => pairs.len(),
            ([key, ..], None) => key.len(),
            ([], None) => 1,
        }
    }

    /// How many values each key has, and how many pairs there are.
    pub(super) fn lens(&self) -> Lens {
        let pairs = self.pairs.iter().map(Pairs::len).collect();
        Lens { keys: self.keys.iter().map(Values::len).collect(), pairs }
    }

    /// What was added since there were as many.
    pub(super) fn since(&self, from: &Lens) -> Result<Fresh> {
        let keys = self.keys.iter().zip(&from.keys).map(|(key, from)| key.since(*from));
        let pairs = self.pairs.iter().zip(&from.pairs).map(|(own, from)| Ok(own.since(*from)?.to_vec()));
        Ok(Fresh { keys: keys.collect::<Result<_>>()?, pairs: pairs.collect::<Result<_>>()? })
    }

    pub(super) fn held(&self) -> usize {
        let keys = self.keys.iter().map(Values::held);
        keys.chain(self.pairs.iter().map(Pairs::held)).fold(0, usize::saturating_add)
    }
}

/// How much a table has.
#[derive(Default)]
pub(super) struct Lens {
    pub(super) keys: Vec<usize>,
    pub(super) pairs: Vec<usize>,
}

/// Values and pairs that a table has had for a short time, in the order of their numbers.
pub(super) struct Fresh {
    pub(super) keys: Vec<Values>,
    pub(super) pairs: Vec<Vec<(u32, u32)>>,
}
