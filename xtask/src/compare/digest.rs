//! Digests of cells: one number for each cell, so that the order of unordered results does not
//! matter.
//!
//! `xtask/peer/compare_peer.py` computes the same numbers. `benches/peers` includes this file.

/// One hash for each cell, over the columns that were added.
pub(crate) struct Digest(Vec<u64>);

impl Digest {
    /// The digest of so many cells without columns.
    pub(crate) fn new(cells: usize) -> Self {
        Self(vec![0; cells])
    }

    /// Adds a column, a number for each cell; `false` if it has another number of cells.
    #[must_use]
    pub(crate) fn add(&mut self, values: impl ExactSizeIterator<Item = u64>) -> bool {
        let fits = values.len() == self.0.len();
        for (hash, value) in self.0.iter_mut().zip(values) {
            *hash = mix(*hash ^ value);
        }
        fits
    }

    /// The sum of all hashes; with `ordered`, each includes the position of its cell.
    pub(crate) fn sum(&self, ordered: bool) -> u64 {
        self.0.iter().zip(0u64..).fold(0u64, |sum, (hash, position)| {
            sum.wrapping_add(if ordered { mix(*hash ^ position) } else { *hash })
        })
    }
}

/// A cell of at most 8 bytes as a number: its little-endian bytes.
pub(crate) fn fixed(bytes: &[u8]) -> Option<u64> {
    let mut value = [0; 8];
    value.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(value))
}

/// A cell of variable length as a number: a polynomial of its bytes.
pub(crate) fn variable(bytes: &[u8]) -> u64 {
    const POWER: u64 = 0x0100_0000_01b3;
    let (mut sum, mut power, mut len) = (0u64, POWER, 0u64);
    for byte in bytes {
        sum = sum.wrapping_add((u64::from(*byte) + 1).wrapping_mul(power));
        power = power.wrapping_mul(POWER);
        len += 1;
    }
    sum.wrapping_add(mix(len))
}

/// The finalizer of splitmix64.
const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
