//! Random numbers.

/// A generator that returns the same numbers on every machine: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// A number of an inclusive range.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// A small number of an inclusive range, as a length.
    pub(crate) fn length(&mut self, low: usize, high: usize) -> usize {
        let drawn = self.between(tdb_codec::to_u64(low), tdb_codec::to_u64(high));
        usize::try_from(drawn).unwrap_or(low)
    }

    /// True once in `times` calls on average.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of some values; `None` if there are none.
    pub(crate) fn pick<'a, T>(&mut self, values: &'a [T]) -> Option<&'a T> {
        let at = self.below(tdb_codec::to_u64(values.len()).max(1));
        values.get(usize::try_from(at).unwrap_or(0))
    }
}
